#include "rayql/rayql.h"
#include "own.h"
#include "util/u.h"
#include "api/a.h"

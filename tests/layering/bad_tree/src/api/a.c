#include "rayql/rayql.h"
#include "exec/e.h"

#include "util/u.h"
#include "column/c.h"

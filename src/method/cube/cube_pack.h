/* The packed columns of a cube are column/pack.h's. */
#ifndef RQL_METHOD_CUBE_CUBE_PACK_H
#define RQL_METHOD_CUBE_CUBE_PACK_H

#include "column/pack.h"
#include "method/cube/cube.h"

#endif

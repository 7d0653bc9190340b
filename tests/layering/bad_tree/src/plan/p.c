#include "method/method.h"
#include "method/cube/cube.h"
#include "exec/e.h"

#include "exec/e.h"

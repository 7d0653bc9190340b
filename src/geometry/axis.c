#include "geometry/axis.h"

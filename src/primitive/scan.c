#include "primitive/primitive.h"

#include "method/method.h"

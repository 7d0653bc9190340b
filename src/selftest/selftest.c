#include "selftest/selftest.h"

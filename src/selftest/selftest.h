/* The conformance suite: what every device must do, run by the tests on lavapipe and by `rayql selftest` anywhere. */
#ifndef RQL_SELFTEST_SELFTEST_H
#define RQL_SELFTEST_SELFTEST_H

#include "device/device.h"

#endif

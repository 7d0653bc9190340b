#include "device/device_internal.h"
#include <volk.h>

#include "method/cube/cube.h"
#include "method/method_internal.h"
#include "method/scan/scan.h"
#include <vulkan/vulkan.h>

/* volk's body: opens the Vulkan loader at run time, so that RayQL starts without one. */
#define VK_NO_PROTOTYPES
#define VOLK_IMPLEMENTATION
#include <volk.h>

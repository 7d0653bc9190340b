/* What every test of the Vulkan device needs. */
#ifndef RQL_TESTS_VULKAN_FIXTURE_H
#define RQL_TESTS_VULKAN_FIXTURE_H

#include <dlfcn.h>

/* What drivers and layers leave behind can be suppressed by name (lsan.supp) only while they are loaded, so they stay
 * loaded until the process ends. */
static inline void vulkan_keep_drivers(void)
{
	static const char *const names[] = {"libVkLayer_khronos_validation.so", "libvulkan_lvp.so", "libvulkan.so.1"};
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
		(void)dlopen(names[i], RTLD_LAZY | RTLD_NODELETE);
}

#endif

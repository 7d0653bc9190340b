/* The loader, the process's one instance, and the list of physical devices. */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "device/vulkan/vulkan_internal.h"

#define VALIDATION_LAYER "VK_LAYER_KHRONOS_validation"

/* Our submissions are ordered by a timeline semaphore and by the host that waits for it. Layers of these versions compare
 * the accesses of different submissions without knowing about that, and see hazards where there are none
 * (Vulkan-ValidationLayers issues 7457 and 7600; 1.3.275 of Ubuntu 24.04 does, 1.4.309 does not, 1.3.239 does not compare
 * them). They check everything but synchronization. */
#define SYNC_BLIND_FROM VK_MAKE_API_VERSION(0, 1, 3, 240)
#define SYNC_BLIND_TO VK_MAKE_API_VERSION(0, 1, 4, 309)

/* volk keeps the functions of one instance in global variables, so the instance belongs to the process: the first list
 * of devices makes it, the last one destroys it. Everybody else reads those variables while holding a reference, which
 * they took under this lock. */
static pthread_mutex_t process_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rql_vk_instance process_instance;
static _Atomic uint64_t validation_errors;

uint64_t rql_vulkan_validation_errors(void)
{
	return validation_errors;
}

static VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                                 VkDebugUtilsMessageTypeFlagsEXT types,
                                                 const VkDebugUtilsMessengerCallbackDataEXT *data, void *user)
{
	(void)user;
	(void)severity;
	if (types & VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT) {
		validation_errors++;
		fprintf(stderr, "rayql: Vulkan validation: %s\n", data->pMessage ? data->pMessage : "(no text)");
	}
	return VK_FALSE;
}

static bool validation_wanted(void)
{
	const char *wanted = getenv("RAYQL_VULKAN_VALIDATION");
	return wanted && wanted[0] && strcmp(wanted, "0") != 0;
}

/* The layer with what it needs of extensions; without it the wish is refused aloud, since a silent test proves nothing. */
static bool validation_there(bool *synchronization)
{
	uint32_t count = 0, version = 0;
	bool there = false;
	VkLayerProperties *layers = NULL;
	if (vkEnumerateInstanceLayerProperties(&count, NULL) == VK_SUCCESS && count > 0)
		layers = calloc(count, sizeof(*layers));
	if (layers && vkEnumerateInstanceLayerProperties(&count, layers) == VK_SUCCESS)
		for (uint32_t i = 0; i < count && !there; i++) {
			there = strcmp(layers[i].layerName, VALIDATION_LAYER) == 0;
			version = layers[i].specVersion;
		}
	free(layers);
	if (!there)
		fprintf(stderr, "rayql: RAYQL_VULKAN_VALIDATION is set but there is no " VALIDATION_LAYER
		                "; install vulkan-validationlayers\n");
	*synchronization = version < SYNC_BLIND_FROM || version >= SYNC_BLIND_TO;
	return there;
}

static VkResult instance_create(struct rql_vk_instance *instance)
{
	static const VkValidationFeatureEnableEXT enables[] = {VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT};
	static const char *const layers[] = {VALIDATION_LAYER};
	static const char *const extensions[] = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME,
	                                         VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME};
	bool synchronization = false, validate = validation_wanted() && validation_there(&synchronization);
	VkValidationFeaturesEXT features = {
		.sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT,
		.enabledValidationFeatureCount = synchronization ? 1 : 0,
		.pEnabledValidationFeatures = enables,
	};
	VkDebugUtilsMessengerCreateInfoEXT messages = {
		.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
		.pNext = &features,
		.messageSeverity =
			VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
		.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT,
		.pfnUserCallback = on_message,
	};
	const VkApplicationInfo application = {
		.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
		.pApplicationName = "RayQL",
		.pEngineName = "RayQL",
		.apiVersion = VK_API_VERSION_1_2,
	};
	const VkInstanceCreateInfo info = {
		.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
		.pNext = validate ? &messages : NULL,
		.pApplicationInfo = &application,
		.enabledLayerCount = validate ? 1 : 0,
		.ppEnabledLayerNames = layers,
		.enabledExtensionCount = validate ? 2 : 0,
		.ppEnabledExtensionNames = extensions,
	};
	VkResult result = vkCreateInstance(&info, NULL, &instance->handle);
	if (result != VK_SUCCESS)
		return result;
	volkLoadInstanceOnly(instance->handle);
	messages.pNext = NULL;
	if (validate && vkCreateDebugUtilsMessengerEXT)
		result = vkCreateDebugUtilsMessengerEXT(instance->handle, &messages, NULL, &instance->messenger);
	if (result == VK_SUCCESS)
		return VK_SUCCESS;
	vkDestroyInstance(instance->handle, NULL);
	*instance = (struct rql_vk_instance){0};
	return result;
}

/* LeakSanitizer names a leak by its module and suppresses it by that name (tests/lsan.supp), which it cannot when the
 * driver or layer is no longer loaded at the end of the process: in such builds they stay. */
#if defined(__SANITIZE_ADDRESS__)
#define KEEP_MODULES 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define KEEP_MODULES 1
#endif
#endif
#ifdef KEEP_MODULES
struct module_names {
	char *name[256];
	unsigned count;
};

static int note_module(struct dl_phdr_info *info, size_t size, void *state)
{
	(void)size;
	struct module_names *names = state;
	if (info->dlpi_name && info->dlpi_name[0] && names->count < sizeof(names->name) / sizeof(names->name[0]))
		names->name[names->count++] = strdup(info->dlpi_name);
	return 0;
}

static void keep_modules(void)
{
	struct module_names names = {.count = 0};
	dl_iterate_phdr(note_module, &names); /* dlopen in there would take the linker's locks in the wrong order */
	for (unsigned i = 0; i < names.count; i++) {
		if (names.name[i])
			(void)dlopen(names.name[i], RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
		free(names.name[i]);
	}
}
#else
static void keep_modules(void)
{
}
#endif

/* Takes a reference; NULL and a reason (static or in `text`) when there is no instance. */
static struct rql_vk_instance *instance_get(char *text, size_t size)
{
	struct rql_vk_instance *instance = &process_instance;
	VkResult result;
	pthread_mutex_lock(&process_lock);
	if (instance->references > 0) {
		instance->references++;
		goto done;
	}
	result = volkInitialize();
	if (result != VK_SUCCESS) {
		snprintf(text, size, "there is no Vulkan loader (libvulkan.so.1): install libvulkan1 and the GPU's driver");
		instance = NULL;
		goto done;
	}
	uint32_t version = volkGetInstanceVersion();
	if (version < VK_API_VERSION_1_2) {
		snprintf(text, size, "the Vulkan loader knows version %u.%u only, 1.2 is needed: update libvulkan1",
		         (unsigned)VK_API_VERSION_MAJOR(version), (unsigned)VK_API_VERSION_MINOR(version));
		instance = NULL;
		goto done;
	}
	result = instance_create(instance);
	keep_modules();
	if (result == VK_SUCCESS) {
		instance->references = 1;
		goto done;
	}
	snprintf(text, size, "vkCreateInstance failed (%s): %s", rql_vk_result_name(result),
	         result == VK_ERROR_INCOMPATIBLE_DRIVER
	             ? "no Vulkan driver could be loaded; install the GPU's driver or mesa-vulkan-drivers"
	             : "vulkaninfo shows more");
	instance = NULL;
done:
	pthread_mutex_unlock(&process_lock);
	return instance;
}

static void instance_put(struct rql_vk_instance *instance)
{
	pthread_mutex_lock(&process_lock);
	if (--instance->references == 0) {
		if (instance->messenger)
			vkDestroyDebugUtilsMessengerEXT(instance->handle, instance->messenger, NULL);
		vkDestroyInstance(instance->handle, NULL);
		*instance = (struct rql_vk_instance){0};
	}
	pthread_mutex_unlock(&process_lock);
}

/* ---- one physical device ---- */

static void gpu_free(struct rql_vk_gpu *gpu)
{
	rql_vk_stop(gpu);
	pthread_mutex_destroy(&gpu->start_lock);
	pthread_mutex_destroy(&gpu->submit_lock);
	pthread_mutex_destroy(&gpu->memory_lock);
	pthread_mutex_destroy(&gpu->pipeline_lock);
	pthread_cond_destroy(&gpu->pipeline_made);
	pthread_mutex_destroy(&gpu->image_lock);
	pthread_mutex_destroy(&gpu->commands_lock);
	free(gpu);
}

static rql_status gpu_new(struct rql_vk_instance *instance, VkPhysicalDevice physical, const struct rql_device *cpu,
                          struct rql_device *device, struct rql_error *err)
{
	struct rql_vk_gpu *gpu = calloc(1, sizeof(*gpu));
	if (!gpu)
		return rql_error_memory(err, sizeof(*gpu), "a Vulkan device");
	gpu->device = device;
	gpu->instance = instance;
	gpu->physical = physical;
	gpu->pool = cpu->pool;
	pthread_mutex_init(&gpu->start_lock, NULL);
	pthread_mutex_init(&gpu->submit_lock, NULL);
	pthread_mutex_init(&gpu->memory_lock, NULL);
	pthread_mutex_init(&gpu->pipeline_lock, NULL);
	pthread_cond_init(&gpu->pipeline_made, NULL);
	pthread_mutex_init(&gpu->image_lock, NULL);
	pthread_mutex_init(&gpu->commands_lock, NULL);
	rql_status status = rql_vk_adapter_describe(gpu, device, err);
	if (status != RQL_OK) {
		gpu_free(gpu);
		*device = (struct rql_device){0};
		return status;
	}
	device->ops = &rql_vk_ops;
	device->impl = gpu;
	device->pool = cpu->pool;
	device->host = cpu;
	device->simd = cpu->simd;
	return RQL_OK;
}

/* `why` stays empty when there is at least one. */
static uint32_t find_all(struct rql_vk_instance *instance, struct rql_devices *devices, char *why, size_t size)
{
	VkPhysicalDevice physical[RQL_DEVICES_MAX - 1];
	uint32_t count = RQL_DEVICES_MAX - 1, found = 0;
	VkResult result = vkEnumeratePhysicalDevices(instance->handle, &count, physical);
	if (result != VK_SUCCESS && result != VK_INCOMPLETE) {
		snprintf(why, size, "vkEnumeratePhysicalDevices failed (%s): vulkaninfo shows more",
		         rql_vk_result_name(result));
		return 0;
	}
	if (count == 0)
		snprintf(why, size, "the Vulkan driver lists no device");
	for (uint32_t i = 0; i < count; i++) {
		struct rql_error err = {0};
		struct rql_device *device = &devices->device[1 + found];
		device->index = 1 + found;
		if (gpu_new(instance, physical[i], &devices->device[0], device, &err) == RQL_OK)
			found++;
		else
			snprintf(why, size, "%s", rql_error_message(&err));
		rql_error_clear(&err);
	}
	if (found > 0)
		why[0] = '\0';
	return found;
}

uint32_t rql_vulkan_find(struct rql_devices *devices)
{
	char why[512] = "";
	uint32_t found = 0;
	const char *wanted = getenv("RAYQL_VULKAN");
	struct rql_vk_instance *instance = NULL;
	if (wanted && (strcasecmp(wanted, "off") == 0 || strcmp(wanted, "0") == 0))
		snprintf(why, sizeof(why), "RAYQL_VULKAN=%s", wanted);
	else
		instance = instance_get(why, sizeof(why));
	if (instance)
		found = find_all(instance, devices, why, sizeof(why));
	if (instance && found == 0)
		instance_put(instance);
	else
		devices->vulkan = instance;
	if (why[0])
		devices->no_gpu = strdup(why); /* NULL: the reason is lost, the fact is not */
	return found;
}

void rql_vulkan_close(struct rql_devices *devices)
{
	for (uint32_t i = 1; i < RQL_DEVICES_MAX; i++) {
		struct rql_device *device = &devices->device[i];
		if (!device->impl)
			continue;
		gpu_free(device->impl);
		rql_vk_adapter_free(device);
		*device = (struct rql_device){0};
	}
	if (devices->vulkan)
		instance_put(devices->vulkan);
	devices->vulkan = NULL;
	free((char *)(uintptr_t)devices->no_gpu);
	devices->no_gpu = NULL;
}

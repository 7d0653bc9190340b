/* The CPU as a device. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/device_internal.h"

static const char *simd_name(enum rql_simd simd)
{
	return simd == RQL_SIMD_AVX512 ? "avx512" : simd == RQL_SIMD_AVX2 ? "avx2" : "portable";
}

static enum rql_simd machine_simd(void)
{
#if defined(__x86_64__)
	__builtin_cpu_init();
	/* 512-bit kernels permute bytes (VBMI); processors before that have the AVX2 ones. */
	if (__builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512bw") &&
	    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
		return RQL_SIMD_AVX512;
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2"))
		return RQL_SIMD_AVX2;
#endif
	return RQL_SIMD_PORTABLE;
}

/* The widest instruction set of the machine that RAYQL_SIMD allows. */
static enum rql_simd widest_simd(void)
{
	enum rql_simd best = machine_simd();
	const char *wanted = getenv("RAYQL_SIMD");
	if (!wanted)
		return best;
	for (enum rql_simd simd = RQL_SIMD_PORTABLE; simd < best; simd++)
		if (strcmp(wanted, simd_name(simd)) == 0)
			return simd;
	return best; /* wider than the machine, or no such name */
}

/* The processor's own name; /proc/cpuinfo has it on x86 but not on every ARM. */
static char *processor_name(void)
{
	char line[512];
	char *name = NULL;
	FILE *file = fopen("/proc/cpuinfo", "re");
	while (file && !name && fgets(line, sizeof(line), file)) {
		char *value = strchr(line, ':');
		if (strncmp(line, "model name", 10) != 0 || !value)
			continue;
		value += 1 + strspn(value + 1, " \t");
		value[strcspn(value, "\n")] = '\0';
		name = strdup(value);
	}
	if (file)
		fclose(file);
#if defined(__aarch64__)
	return name ? name : strdup("ARM 64-bit processor");
#else
	return name ? name : strdup("processor");
#endif
}

static uint64_t machine_memory(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
	return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : 0;
}

rql_status rql_cpu_open(unsigned threads, struct rql_device *device, struct rql_error *err)
{
	static const char no_gpu[] = "a unit of GPUs, which are devices of their own (vulkan:0 and on)";
	char *name = processor_name(), *driver = NULL;
	struct rql_pool *pool = NULL;
	enum rql_simd simd = widest_simd();
	rql_status status = RQL_OK;
	if (asprintf(&driver, "native %s", simd_name(simd)) < 0)
		driver = NULL; /* its content is undefined after a failure */
	if (!name || !driver)
		status = rql_error_memory(err, 256, "the CPU's name");
	if (status == RQL_OK)
		status = rql_pool_new(threads, &pool, err);
	if (status != RQL_OK) {
		free(name);
		free(driver);
		return status;
	}
	*device = (struct rql_device){
		.index = 0,
		.id = "cpu",
		.name = name,
		.driver = driver,
		.memory_bytes = machine_memory(),
		.simd = simd,
		.pool = pool,
		.profile = rql_profile_guess,
	};
	for (unsigned unit = 0; unit < RQL_UNIT_COUNT; unit++)
		device->missing[unit] = no_gpu;
	device->units[RQL_UNIT_CPU] = true;
	device->missing[RQL_UNIT_CPU] = NULL;
	return RQL_OK;
}

void rql_cpu_close(struct rql_device *device)
{
	rql_pool_free(device->pool);
	free((char *)(uintptr_t)device->name);
	free((char *)(uintptr_t)device->driver);
}

/* What the cost model needs to know of a GPU whatever the method: streaming reads, the price of a submission and of one
 * pass more, the link. A constant that cannot be measured keeps its guess. Everything goes through the front door. */
#include "device/vulkan/vulkan_internal.h"

#include <stdlib.h>
#include <string.h>

#include "device/vulkan/measure_kernels.h"
#include "shaders/device/measure_read.comp.h"
#include "shaders/device/measure_step.comp.h"
#include "util/threads.h"

#define GROUP 256u /* or what the device can */
#define MIB ((uint64_t)1 << 20)
#define CHAIN 64u /* dependent passes */
#define ROUNDS_MAX 256u
#define ATTEMPTS 4u /* at telling two times apart on a busy machine */
/* An H200 idles at 345 MHz, is there three seconds after its last work of any size, and goes back to 1,980 MHz within
 * half a second of heavy work. */
#define WAKE_NS UINT64_C(500000000)
#define AWAKE 1.15 /* times what a chain of passes took when it was awake */

static const struct rql_kernel read_kernel = {
	.name = "measure.read",
	.spirv = rql_spv_measure_read_comp,
	.spirv_bytes = sizeof(rql_spv_measure_read_comp),
	.args_bytes = sizeof(struct rql_measure_args),
};
static const struct rql_kernel step_kernel = {
	.name = "measure.step",
	.spirv = rql_spv_measure_step_comp,
	.spirv_bytes = sizeof(rql_spv_measure_step_comp),
	.args_bytes = sizeof(struct rql_measure_args),
};

static int ascending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

/* The median wall time of submitting c and waiting for it; 0 when something failed. Ends and frees c. */
static double time_submissions(struct rql_device *device, struct rql_commands *c, unsigned rounds)
{
	uint64_t took[ROUNDS_MAX];
	unsigned done = 0;
	rounds = rounds < ROUNDS_MAX ? rounds : ROUNDS_MAX;
	bool good = rql_commands_end(c, NULL) == RQL_OK;
	if (good)
		good = rql_commands_run(c, NULL, NULL) == RQL_OK; /* the first one loads the kernel */
	while (good && done < rounds) {
		uint64_t ticket, start = rql_now_ns();
		good = rql_submit(c, &ticket, NULL) == RQL_OK && rql_wait(device, ticket, NULL, NULL) == RQL_OK;
		if (good)
			took[done++] = rql_now_ns() - start;
	}
	rql_commands_free(c);
	if (!good || done == 0)
		return 0;
	qsort(took, done, sizeof(*took), ascending);
	return took[done / 2] > 0 ? (double)took[done / 2] : 1;
}

static double time_chain(struct rql_device *device, const struct rql_pipeline *step, struct rql_buffer *word,
                         unsigned length, unsigned rounds)
{
	struct rql_commands *c;
	if (rql_commands_new(device, 0, &c, NULL) != RQL_OK)
		return 0;
	struct rql_measure_args args = {.sums = word->address};
	struct rql_use use = {word, RQL_READ_WRITE};
	for (unsigned i = 0; i < length; i++)
		rql_record_dispatch(c, "step", step, &args, 1, &use, 1);
	return time_submissions(device, c, rounds);
}

/* What chains are made of. */
static bool open_step(struct rql_device *device, const struct rql_pipeline **step, struct rql_buffer **word)
{
	uint32_t one = 1;
	return rql_pipeline_get(device, &step_kernel, &one, 1, step, NULL) == RQL_OK &&
	       rql_buffer_new(device, 4, RQL_MEMORY_DEVICE, "measuring", word, NULL) == RQL_OK;
}

static void measure_submissions(struct rql_device *device, unsigned rounds)
{
	const struct rql_pipeline *step;
	struct rql_buffer *word;
	if (!open_step(device, &step, &word))
		return;
	double single = 0, chain = 0;
	for (unsigned i = 0; i < ATTEMPTS && chain <= single; i++) {
		single = time_chain(device, step, word, 1, rounds);
		chain = time_chain(device, step, word, CHAIN, rounds);
		if (single <= 0)
			break;
	}
	rql_buffer_free(word);
	if (single > 0)
		device->profile.submit_ns = single;
	if (single > 0 && chain > single)
		device->profile.pass_ns = (chain - single) / (CHAIN - 1);
}

/* The fastest of some rounds, in ns: device time, or wall time where the device has no clock. 0: failed. */
static double time_reads(struct rql_commands *c, unsigned rounds)
{
	double best = 0;
	bool good = rql_commands_end(c, NULL) == RQL_OK;
	for (unsigned r = 0; good && r <= rounds; r++) {
		uint64_t start = rql_now_ns();
		good = rql_commands_run(c, NULL, NULL) == RQL_OK;
		double wall = (double)(rql_now_ns() - start), clock = 0;
		(void)rql_commands_times(c, NULL, 0, &clock);
		double took = clock > 0 ? clock : wall;
		if (good && r > 0 && (best == 0 || took < best)) /* the first one loads the kernel */
			best = took;
	}
	rql_commands_free(c);
	return good ? best : 0;
}

/* Bytes a nanosecond; 0: not known. */
static double read_rate(struct rql_device *device, uint64_t bytes, unsigned rounds)
{
	double ns = 0;
	const struct rql_pipeline *read;
	struct rql_buffer *data = NULL, *sums = NULL;
	struct rql_commands *c, *fill;
	uint32_t group = device->limits.group_size < GROUP ? device->limits.group_size : GROUP;
	uint64_t quads = bytes / 16, each = (uint64_t)group * RQL_MEASURE_LOADS, groups = (quads + each - 1) / each;
	if (rql_pipeline_get(device, &read_kernel, &group, 1, &read, NULL) != RQL_OK ||
	    rql_buffer_new(device, bytes, RQL_MEMORY_DEVICE, "measuring", &data, NULL) != RQL_OK ||
	    rql_buffer_new(device, groups * 4, RQL_MEMORY_DEVICE, "measuring", &sums, NULL) != RQL_OK)
		goto done;
	if (rql_commands_new(device, 0, &fill, NULL) != RQL_OK)
		goto done;
	rql_record_fill(fill, data, 0, bytes, 0x01020304);
	bool filled = rql_commands_end(fill, NULL) == RQL_OK && rql_commands_run(fill, NULL, NULL) == RQL_OK;
	rql_commands_free(fill);
	if (!filled || rql_commands_new(device, RQL_COMMANDS_TIMED, &c, NULL) != RQL_OK)
		goto done;
	struct rql_measure_args args = {.data = data->address, .sums = sums->address, .quads = quads};
	struct rql_use uses[2] = {{data, RQL_READ}, {sums, RQL_WRITE}};
	rql_record_dispatch(c, "read", read, &args, groups, uses, 2);
	ns = time_reads(c, rounds);
done:
	rql_buffer_free(data);
	rql_buffer_free(sums);
	return ns > 0 ? (double)bytes / ns : 0;
}

static void measure_link(struct rql_device *device, uint64_t bytes, unsigned rounds)
{
	struct rql_buffer *buffer = NULL;
	uint8_t *data = malloc(bytes);
	uint64_t up = UINT64_MAX, down = UINT64_MAX;
	bool good = data && rql_buffer_new(device, bytes, RQL_MEMORY_DEVICE, "measuring", &buffer, NULL) == RQL_OK;
	if (good)
		memset(data, 1, bytes); /* its pages exist before they are timed */
	for (unsigned r = 0; good && r <= rounds; r++) {
		uint64_t start = rql_now_ns();
		good = rql_buffer_upload(buffer, 0, data, bytes, NULL) == RQL_OK;
		uint64_t middle = rql_now_ns();
		good = good && rql_buffer_download(buffer, 0, data, bytes, NULL) == RQL_OK;
		uint64_t end = rql_now_ns();
		if (r > 0) { /* the first one makes the staging memory */
			up = middle - start < up ? middle - start : up;
			down = end - middle < down ? end - middle : down;
		}
	}
	if (good && up > 0)
		device->profile.upload_gbps = (double)bytes / (double)up;
	if (good && down > 0)
		device->profile.download_gbps = (double)bytes / (double)down;
	rql_buffer_free(buffer);
	free(data);
}

/* Well beyond the caches (an H200's L2 has 50 MiB), but no more than a quarter of what is there. */
static uint64_t read_bytes(struct rql_device *device, bool thorough)
{
	uint64_t available = 0, total = 0;
	uint64_t bytes = device->kind == RQL_DEVICE_SOFTWARE ? 64 * MIB : thorough ? 1024 * MIB : 256 * MIB;
	rql_device_memory(device, &available, &total);
	while (bytes > MIB &&
	       (bytes > available / 4 || (device->limits.buffer_bytes && bytes > device->limits.buffer_bytes)))
		bytes /= 2;
	return bytes;
}

/* ---- clocks ---- */

/* What a chain of passes takes is the clock's; 0: not known. */
static double time_clock(struct rql_device *device)
{
	const struct rql_pipeline *step;
	struct rql_buffer *word;
	if (!open_step(device, &step, &word))
		return 0;
	const double ns = time_chain(device, step, word, CHAIN, 5);
	rql_buffer_free(word);
	return ns;
}

void rql_vk_wake(struct rql_device *device)
{
	struct rql_vk_gpu *gpu = device->impl;
	const double before = time_clock(device);
	if (gpu->awake_ns > 0 && before > 0 && before < AWAKE * gpu->awake_ns)
		return;
	for (uint64_t start = rql_now_ns(); rql_now_ns() - start < WAKE_NS && !device->lost;)
		(void)read_rate(device, read_bytes(device, false), 64);
	gpu->awake_ns = time_clock(device);
}

void rql_vk_measure(struct rql_device *device, bool thorough)
{
	bool slow = device->kind == RQL_DEVICE_SOFTWARE;
	measure_submissions(device, slow ? 32 : thorough ? 256 : 64);
	const double rate = read_rate(device, read_bytes(device, thorough), slow ? 2 : thorough ? 9 : 4);
	if (rate > 0)
		device->profile.read_gbps = rate;
	measure_link(device, slow ? 16 * MIB : thorough ? 256 * MIB : 64 * MIB, slow ? 2 : thorough ? 5 : 3);
}

/* Recordings, submissions, waiting, pipelines and their cache on disk, through the front door (device/work.h), on the
 * device that RAYQL_TEST_DEVICE names or on vulkan:0, with the validation layer watching. */
#include <dirent.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "../scratch.h"
#include "device/compile.h"
#include "device/vulkan/vulkan_internal.h"
#include "shaders/tests/vulkan_affine.comp.h"
#include "shaders/tests/vulkan_groups.comp.h"
#include "shaders/tests/vulkan_subgroups.comp.h"
#include "shaders/vulkan_commands_args.h"
#include "util/budget.h"
#include "vulkan_fixture.h"

#define GROUP 64u
#define LONG_ROUNDS                                                                                                    \
	100000000u /* some tenths of a second everywhere: one invocation, one multiplication after another */

static const struct rql_kernel groups_kernel = {
	.name = "test.groups",
	.spirv = rql_spv_vulkan_groups_comp,
	.spirv_bytes = sizeof(rql_spv_vulkan_groups_comp),
	.args_bytes = sizeof(struct test_args),
};
static const struct rql_kernel affine_kernel = {
	.name = "test.affine",
	.spirv = rql_spv_vulkan_affine_comp,
	.spirv_bytes = sizeof(rql_spv_vulkan_affine_comp),
	.args_bytes = sizeof(struct test_args),
};

static const struct rql_kernel subgroups_kernel = {
	.name = "test.subgroups",
	.spirv = rql_spv_vulkan_subgroups_comp,
	.spirv_bytes = sizeof(rql_spv_vulkan_subgroups_comp),
	.args_bytes = sizeof(struct test_args),
};

static struct rql_devices *devices;
static struct rql_device *device;

static void ok(rql_status status, struct rql_error *err)
{
	if (status != RQL_OK)
		print_message("%s: %s\n", rql_status_name(status), rql_error_message(err));
	assert_int_equal(status, RQL_OK);
}
#define OK(call)                                                                                                       \
	do {                                                                                                               \
		struct rql_error err = {0};                                                                                    \
		ok(call, &err);                                                                                                \
		rql_error_clear(&err);                                                                                         \
	} while (0)

static bool open_device(void)
{
	const char *name = getenv("RAYQL_TEST_DEVICE");
	if (rql_devices_open(1, &devices, NULL) != RQL_OK)
		return false;
	device = rql_devices_get(devices, name && name[0] ? name : "vulkan:0");
	if (!device)
		print_message("no device: %s\n", devices->no_gpu ? devices->no_gpu : "?");
	return device != NULL;
}

static void close_device(void)
{
	rql_devices_close(devices);
	devices = NULL;
	device = NULL;
}

static int set_up(void **state)
{
	(void)state;
	if (!open_device())
		return -1;
	vulkan_keep_drivers();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	close_device();
	return 0;
}

/* ---- helpers ---- */
static struct rql_buffer *new_buffer(uint64_t bytes, enum rql_memory memory)
{
	struct rql_buffer *buffer = NULL;
	OK(rql_buffer_new(device, bytes, memory, "a test", &buffer, &err));
	return buffer;
}

static struct rql_commands *new_commands(unsigned flags)
{
	struct rql_commands *c = NULL;
	OK(rql_commands_new(device, flags, &c, &err));
	return c;
}

static const struct rql_pipeline *pipeline_of(const struct rql_kernel *kernel, uint32_t group, uint32_t extra)
{
	const struct rql_pipeline *pipeline = NULL;
	uint32_t constants[2] = {group, extra};
	OK(rql_pipeline_get(device, kernel, constants, 2, &pipeline, &err));
	return pipeline;
}

static void affine(struct rql_commands *c, const char *pass, struct rql_buffer *words, uint32_t factor, uint32_t term,
                   uint32_t rounds)
{
	uint64_t count = words->bytes / 4;
	struct test_args args = {.words = words->address, .count = count, .factor = factor, .term = term, .rounds = rounds};
	struct rql_use use = {words, RQL_READ_WRITE};
	rql_record_dispatch(c, pass, pipeline_of(&affine_kernel, GROUP, 0), &args, (count + GROUP - 1) / GROUP, &use, 1);
}

static void end_and_run(struct rql_commands *c)
{
	OK(rql_commands_end(c, &err));
	OK(rql_commands_run(c, NULL, &err));
}

static uint64_t submit(struct rql_commands *c)
{
	uint64_t ticket = 0;
	OK(rql_submit(c, &ticket, &err));
	assert_true(ticket > 0);
	return ticket;
}

static void wait_for(uint64_t ticket)
{
	OK(rql_wait(device, ticket, NULL, &err));
	assert_true(rql_is_done(device, ticket));
}

/* Every word of a mapped buffer. */
static void assert_words(const struct rql_buffer *buffer, uint32_t value)
{
	const uint32_t *words = buffer->map;
	for (uint64_t i = 0; i < buffer->bytes / 4; i++)
		if (words[i] != value) {
			print_message("word %llu is %u, not %u\n", (unsigned long long)i, words[i], value);
			fail();
		}
}

/* ---- tests ---- */
static void test_group_counts(void **state)
{
	(void)state;
	static const uint64_t counts[] = {0, 1, 65535, 65536, 100000};
	const struct rql_pipeline *pipeline = pipeline_of(&groups_kernel, 8, 0);
	for (unsigned k = 0; k < sizeof(counts) / sizeof(*counts); k++) {
		uint64_t groups = counts[k];
		struct rql_buffer *words = new_buffer((groups + 1) * 4, RQL_MEMORY_READBACK);
		struct rql_commands *c = new_commands(0);
		rql_record_fill(c, words, 0, words->bytes, 0);
		rql_record_fill(c, words, groups * 4, 4, 1); /* one past the last group: nobody may count there */
		struct test_args args = {.words = words->address, .count = groups};
		struct rql_use use = {words, RQL_READ_WRITE};
		rql_record_dispatch(c, "groups", pipeline, &args, groups, &use, 1);
		end_and_run(c);
		assert_words(words, 1);
		rql_commands_free(c);
		rql_buffer_free(words);
	}
}

/* fill -> kernel -> copy -> kernel -> copy back over the first, and again: each step reads what the one before wrote. */
static void test_dependencies(void **state)
{
	(void)state;
	uint64_t bytes = 40000; /* no multiple of the workgroup */
	struct rql_buffer *a = new_buffer(bytes, RQL_MEMORY_DEVICE), *b = new_buffer(bytes, RQL_MEMORY_DEVICE);
	struct rql_buffer *result = new_buffer(bytes, RQL_MEMORY_READBACK);
	struct rql_commands *c = new_commands(0);
	uint32_t expected = 7;
	rql_record_fill(c, a, 0, bytes, expected);
	for (unsigned i = 0; i < 10; i++) {
		affine(c, "first", a, 3, i, 1);
		rql_record_copy(c, a, 0, b, 0, bytes);
		affine(c, "second", b, 5, 1, 2);
		affine(c, "disturb", a, 0, 99, 1); /* writes what the copy read */
		rql_record_copy(c, b, 0, a, 0, bytes);
		expected = ((expected * 3 + i) * 5 + 1) * 5 + 1;
	}
	rql_record_copy(c, a, 0, result, 0, bytes);
	end_and_run(c);
	assert_words(result, expected);
	/* The fill is part of the recording: it gives the same again. */
	memset(result->map, 0, bytes);
	OK(rql_commands_run(c, NULL, &err));
	assert_words(result, expected);
	rql_commands_free(c);
	rql_buffer_free(a);
	rql_buffer_free(b);
	rql_buffer_free(result);
}

/* Pieces of buffers: offsets, and words around them that stay. */
static void test_ranges(void **state)
{
	(void)state;
	struct rql_buffer *a = new_buffer(64, RQL_MEMORY_DEVICE), *result = new_buffer(64, RQL_MEMORY_READBACK);
	uint32_t words[16];
	for (uint32_t i = 0; i < 16; i++)
		words[i] = i;
	OK(rql_buffer_upload(a, 0, words, sizeof(words), &err));
	struct rql_commands *c = new_commands(0);
	rql_record_fill(c, a, 8, 12, 100);    /* words 2 to 4 */
	rql_record_copy(c, a, 12, a, 40, 16); /* words 3 to 6 to words 10 to 13 */
	rql_record_copy(c, a, 0, result, 0, 64);
	end_and_run(c);
	static const uint32_t expected[16] = {0, 1, 100, 100, 100, 5, 6, 7, 8, 9, 100, 100, 5, 6, 14, 15};
	assert_memory_equal(result->map, expected, 64);
	OK(rql_buffer_download(a, 40, words, 8, &err));
	assert_int_equal(words[0], 100);
	assert_int_equal(words[1], 100);
	rql_commands_free(c);
	rql_buffer_free(a);
	rql_buffer_free(result);
}

static void test_constants(void **state)
{
	(void)state;
	const struct rql_pipeline *plain = pipeline_of(&affine_kernel, GROUP, 0),
							  *more = pipeline_of(&affine_kernel, 16, 5);
	assert_ptr_equal(plain, pipeline_of(&affine_kernel, GROUP, 0));
	assert_ptr_not_equal(plain, more);
	assert_ptr_not_equal(more, pipeline_of(&affine_kernel, 32, 5));
	struct rql_buffer *words = new_buffer(4000, RQL_MEMORY_READBACK);
	struct rql_commands *c = new_commands(0);
	rql_record_fill(c, words, 0, words->bytes, 1);
	struct test_args args = {.words = words->address, .count = 1000, .factor = 2, .term = 1, .rounds = 1};
	struct rql_use use = {words, RQL_READ_WRITE};
	rql_record_dispatch(c, "more", more, &args, (1000 + 15) / 16, &use, 1);
	end_and_run(c);
	assert_words(words, 1 * 2 + 1 + 5);
	rql_commands_free(c);
	rql_buffer_free(words);

	struct rql_error err = {0};
	uint32_t large = device->limits.group_size + 1;
	const struct rql_pipeline *none = NULL;
	assert_int_equal(rql_pipeline_get(device, &affine_kernel, &large, 1, &none, &err), RQL_ERROR_INTERNAL);
	assert_null(none);
	assert_non_null(strstr(rql_error_message(&err), "test.affine"));
	rql_error_clear(&err);

	/* What a thread waits for a compiler is known, once. */
	const uint64_t before = rql_compiled_ns();
	pipeline_of(&affine_kernel, 8, 77);
	const uint64_t after = rql_compiled_ns();
	assert_true(after > before);
	pipeline_of(&affine_kernel, 8, 77);
	assert_int_equal(rql_compiled_ns(), after);
}

/* ---- generated kernels ---- */
#define VARIANTS 12u
#define KEPT 3u

/* Kernel `variant`, by words that say so where the generator of a module names itself; it adds `extra`. */
static const struct rql_pipeline *generated_of(uint32_t variant, uint32_t extra)
{
	uint32_t words[sizeof(rql_spv_vulkan_affine_comp) / 4], constants[2] = {GROUP, extra};
	struct rql_kernel kernel = affine_kernel;
	const struct rql_pipeline *pipeline = NULL;
	memcpy(words, rql_spv_vulkan_affine_comp, sizeof(words));
	words[2] = variant;
	kernel.spirv = words;
	OK(rql_pipeline_get_generated(device, &kernel, constants, 2, &pipeline, &err));
	memset(words, 0, sizeof(words)); /* they were copied */
	return pipeline;
}

static uint32_t generated_count(void)
{
	uint32_t count = 0;
	for (const struct rql_vk_pipeline *p = rql_vk_of(device)->generated; p; p = p->next)
		count++;
	assert_int_equal(count, rql_vk_of(device)->generated_count);
	return count;
}

static bool is_kept(const struct rql_pipeline *pipeline)
{
	for (const struct rql_vk_pipeline *p = rql_vk_of(device)->generated; p; p = p->next)
		if (&p->base == pipeline)
			return true;
	return false;
}

static struct rql_commands *generated_commands(const struct rql_pipeline *pipeline, struct rql_buffer *words,
                                               uint32_t rounds)
{
	struct rql_commands *c = new_commands(0);
	struct test_args args = {.words = words->address, .count = 100, .factor = 1, .rounds = rounds};
	struct rql_use use = {words, RQL_READ_WRITE};
	rql_record_dispatch(c, "generated", pipeline, &args, 2, &use, 1);
	OK(rql_commands_end(c, &err));
	return c;
}

static void open_with_few_pipelines(void)
{
	char most[16];
	snprintf(most, sizeof(most), "%u", KEPT);
	close_device();
	setenv("RAYQL_VULKAN_PIPELINES", most, 1);
	assert_true(open_device());
	unsetenv("RAYQL_VULKAN_PIPELINES");
}

/* Many more than are kept: recordings hold theirs, also while they run and when they are submitted again. */
static void test_generated(void **state)
{
	(void)state;
	struct rql_commands *commands[VARIANTS];
	struct rql_buffer *words[VARIANTS];
	open_with_few_pipelines();
	for (uint32_t i = 0; i < VARIANTS; i++) {
		words[i] = new_buffer(400, RQL_MEMORY_READBACK);
		memset(words[i]->map, 0, 400);
		const struct rql_pipeline *pipeline = generated_of(i, i + 1);
		commands[i] = generated_commands(pipeline, words[i], i == 0 ? LONG_ROUNDS / 100 : 1);
		(void)submit(commands[i]);
		rql_pipeline_release(pipeline);
		assert_true(generated_count() <= KEPT);
	}
	uint64_t last = 0;
	for (unsigned again = 0; again < 2; again++)
		for (uint32_t i = 1; i < VARIANTS; i++) {
			wait_for(rql_vk_of(device)->submitted);
			last = submit(commands[i]);
		}
	wait_for(last);
	assert_words(words[0], LONG_ROUNDS / 100);
	for (uint32_t i = 1; i < VARIANTS; i++)
		assert_words(words[i], 3 * (i + 1));
	for (uint32_t i = 0; i < VARIANTS; i++) {
		rql_commands_free(commands[i]);
		rql_buffer_free(words[i]);
	}
	/* One that went is made again; a recording that waits for its burial when the device goes takes its pipeline along. */
	struct rql_buffer *more = new_buffer(400, RQL_MEMORY_READBACK);
	memset(more->map, 0, 400);
	const struct rql_pipeline *pipeline = generated_of(1, 2);
	struct rql_commands *c = generated_commands(pipeline, more, 2);
	wait_for(submit(c));
	assert_words(more, 4);
	(void)submit(c);
	rql_pipeline_release(pipeline);
	rql_commands_free(c);
	rql_buffer_free(more);
	close_device();
	assert_true(open_device());
}

/* What is referred to stays, whatever the limit; of the others the one goes that was asked for longest ago. */
static void test_generated_order(void **state)
{
	(void)state;
	const struct rql_pipeline *held[VARIANTS];
	open_with_few_pipelines();
	for (uint32_t i = 0; i < VARIANTS; i++)
		held[i] = generated_of(i, 0);
	assert_int_equal(generated_count(), VARIANTS);
	for (uint32_t i = 0; i < VARIANTS; i++) { /* the same words and constants: the same one */
		assert_ptr_equal(generated_of(i, 0), held[i]);
		rql_pipeline_release(held[i]);
	}
	assert_int_equal(generated_count(), VARIANTS);
	const struct rql_pipeline *other = generated_of(0, 7);
	assert_ptr_not_equal(other, held[0]);
	rql_pipeline_release(other); /* too many there are: what nobody has goes */
	assert_int_equal(generated_count(), VARIANTS);
	for (uint32_t i = VARIANTS; i-- > 0;)
		rql_pipeline_release(held[i]);
	assert_int_equal(generated_count(), KEPT); /* 0, 1 and 2 */
	assert_ptr_equal(generated_of(0, 0), held[0]);
	rql_pipeline_release(held[0]);
	rql_pipeline_release(generated_of(VARIANTS, 0)); /* takes the place of 1, as 0 has just been asked for */
	assert_int_equal(generated_count(), KEPT);
	assert_true(is_kept(held[0]) && is_kept(held[2]));
	rql_pipeline_release(NULL);

	/* A refusal leaves nothing behind. */
	struct rql_error err = {0};
	const struct rql_pipeline *none = NULL;
	uint32_t constants[2] = {device->limits.group_size + 1, 0};
	assert_int_equal(rql_pipeline_get_generated(device, &affine_kernel, constants, 2, &none, &err), RQL_ERROR_INTERNAL);
	assert_null(none);
	rql_error_clear(&err);
	assert_int_equal(generated_count(), KEPT);
	close_device();
	assert_true(open_device());
}

#define ASKING 4u

static void *ask_for_one(void *out)
{
	const struct rql_pipeline *pipeline = generated_of(VARIANTS + 1, 0);
	*(const struct rql_pipeline **)out = pipeline;
	return NULL;
}

/* Who wants a kernel that is being compiled waits for it; who wants another one does not. */
static void test_generated_at_once(void **state)
{
	(void)state;
	struct rql_vk_gpu *gpu = rql_vk_of(device);
	const struct rql_pipeline *got[ASKING] = {0};
	pthread_t threads[ASKING];
	const uint32_t before = generated_count();
	for (uint32_t i = 0; i < ASKING; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, ask_for_one, &got[i]), 0);
	for (uint32_t i = 0; i < ASKING; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(generated_count(), before + 1); /* compiled once */
	for (uint32_t i = 1; i < ASKING; i++)
		assert_ptr_equal(got[i], got[0]);

	/* As if the driver were at it: */
	struct rql_vk_pipeline *p = (struct rql_vk_pipeline *)(uintptr_t)got[0];
	pthread_mutex_lock(&gpu->pipeline_lock);
	p->compiling = true;
	pthread_mutex_unlock(&gpu->pipeline_lock);
	assert_int_equal(pthread_create(&threads[0], NULL, ask_for_one, &got[1]), 0);
	const struct rql_pipeline *other = generated_of(VARIANTS + 2, 0);
	assert_ptr_not_equal(other, got[0]);
	pthread_mutex_lock(&gpu->pipeline_lock);
	p->compiling = false;
	pthread_cond_broadcast(&gpu->pipeline_made);
	pthread_mutex_unlock(&gpu->pipeline_lock);
	assert_int_equal(pthread_join(threads[0], NULL), 0);
	assert_ptr_equal(got[1], got[0]);
	rql_pipeline_release(other);
	for (uint32_t i = 0; i <= ASKING; i++)
		rql_pipeline_release(got[0]);
}

static void test_resubmission(void **state)
{
	(void)state;
	struct rql_buffer *words = new_buffer(4096, RQL_MEMORY_READBACK);
	memset(words->map, 0, 4096);
	struct rql_commands *c = new_commands(0);
	affine(c, "step", words, 1, 3, 1);
	OK(rql_commands_end(c, &err));
	uint64_t before = 0;
	for (uint32_t i = 1; i <= 20; i++) {
		uint64_t ticket = submit(c);
		assert_true(ticket > before);
		before = ticket;
		wait_for(ticket);
		assert_words(words, 3 * i);
	}
	rql_commands_free(c);
	rql_buffer_free(words);
}

/* The second starts from what the first leaves; both are in the queue before anybody waits, and everything is freed
 * while they run. */
static void test_two_in_flight(void **state)
{
	(void)state;
	struct rql_buffer *words = new_buffer(4096, RQL_MEMORY_DEVICE), *result = new_buffer(4096, RQL_MEMORY_READBACK);
	struct rql_commands *first = new_commands(0), *second = new_commands(0);
	rql_record_fill(first, words, 0, 4096, 1);
	affine(first, "long", words, 1, 1, 10000000);
	affine(second, "more", words, 2, 0, 1);
	rql_record_copy(second, words, 0, result, 0, 4096);
	OK(rql_commands_end(first, &err));
	OK(rql_commands_end(second, &err));
	uint64_t one = submit(first), two = submit(second);
	assert_true(two > one);
	rql_commands_free(first);
	rql_commands_free(second);
	uint64_t address = words->address;
	rql_buffer_free(words);
	struct rql_buffer *other = new_buffer(4096, RQL_MEMORY_DEVICE);
	if (!rql_is_done(device, two)) /* the memory is still theirs */
		assert_true(other->address != address);
	rql_buffer_free(other);
	wait_for(two);
	assert_true(rql_is_done(device, one));
	assert_words(result, 2 * 10000001);
	rql_buffer_free(result);
}

/* The numbers of workgroups are made by a kernel of the same recording. */
static void test_indirect(void **state)
{
	(void)state;
	uint32_t groups = 1234;
	struct rql_buffer *words = new_buffer(2000 * 4, RQL_MEMORY_READBACK), *counts = new_buffer(64, RQL_MEMORY_DEVICE);
	struct rql_commands *c = new_commands(RQL_COMMANDS_TIMED);
	rql_record_fill(c, words, 0, words->bytes, 0);
	rql_record_fill(c, counts, 0, 64, 1);
	struct test_args count_args = {
		.words = counts->address + 16, .count = 1, .factor = 1, .term = groups - 1, .rounds = 1};
	struct rql_use count_use = {counts, RQL_READ_WRITE};
	rql_record_dispatch(c, "count", pipeline_of(&affine_kernel, GROUP, 0), &count_args, 1, &count_use, 1);
	struct test_args args = {.words = words->address, .count = 2000};
	struct rql_use use = {words, RQL_READ_WRITE};
	const struct rql_pipeline *pipeline = pipeline_of(&groups_kernel, 8, 0);
	rql_record_dispatch_indirect(c, "counted", pipeline, &args, counts, 16, &use, 1);
	rql_record_fill(c, counts, 16, 4, 7); /* after the read of them */
	rql_record_dispatch_indirect(c, "again", pipeline, &args, counts, 16, &use, 1);
	end_and_run(c);
	for (uint32_t i = 0; i < 2000; i++)
		assert_int_equal(((const uint32_t *)words->map)[i], (i < groups) + (i < 7));
	struct rql_pass_time times[8];
	assert_int_equal(rql_commands_times(c, times, 8, NULL), 6);
	assert_string_equal(times[3].pass, "counted");
	rql_commands_free(c);
	rql_buffer_free(words);
	rql_buffer_free(counts);
}

/* How many barriers a recording has got so far: lavapipe runs one pass after another whatever they are, so a missing
 * one would not show in results, nor would one too many. */
static void test_barriers(void **state)
{
	(void)state;
	struct rql_buffer *a = new_buffer(400, RQL_MEMORY_DEVICE), *b = new_buffer(400, RQL_MEMORY_DEVICE);
	struct rql_buffer *x = new_buffer(400, RQL_MEMORY_DEVICE), *y = new_buffer(400, RQL_MEMORY_READBACK);
	struct rql_commands *c = new_commands(0);
	const uint32_t *barriers = &((struct rql_vk_commands *)c)->barriers;
	uint32_t start = *barriers;
	affine(c, "a", a, 1, 1, 1);
	affine(c, "b", b, 1, 1, 1);
	assert_int_equal(*barriers, start); /* independent */
	affine(c, "a", a, 1, 1, 1);
	assert_int_equal(*barriers, start + 1); /* written before */
	affine(c, "b", b, 1, 1, 1);
	assert_int_equal(*barriers, start + 1); /* the same one serves it */
	rql_record_copy(c, a, 0, x, 0, 400);
	assert_int_equal(*barriers, start + 2);
	rql_record_copy(c, a, 0, y, 0, 400);
	rql_record_copy(c, b, 0, y, 0, 0);
	assert_int_equal(*barriers, start + 2); /* both read */
	affine(c, "a", a, 1, 1, 1);
	assert_int_equal(*barriers, start + 3); /* read before */
	struct test_args args = {.words = b->address, .count = 1};
	struct rql_use use = {b, RQL_READ_WRITE};
	rql_record_dispatch_indirect(c, "by x", pipeline_of(&groups_kernel, 8, 0), &args, x, 0, &use, 1);
	/* The last barrier waited for the copy to x and for b, but not on behalf of indirect reads. */
	assert_int_equal(*barriers, start + 4);
	rql_record_fill(c, x, 0, 400, 1);
	assert_int_equal(*barriers, start + 5); /* the counts were read */
	rql_record_fill(c, a, 0, 400, 1);
	assert_int_equal(*barriers, start + 5);
	rql_record_dispatch_indirect(c, "by x", pipeline_of(&groups_kernel, 8, 0), &args, x, 0, &use, 1);
	assert_int_equal(*barriers, start + 6);
	OK(rql_commands_end(c, &err));
	assert_int_equal(*barriers, start + 7); /* for the host, which reads y */
	rql_commands_free(c);                   /* nothing of it is meant to run */
	c = new_commands(0);
	barriers = &((struct rql_vk_commands *)c)->barriers;
	rql_record_fill(c, a, 0, 400, 1);
	/* Passes that update a buffer wait for who wrote it and for who read it, and who reads it for all of them. */
	use = (struct rql_use){a, RQL_UPDATE};
	for (uint32_t i = 0; i < 3; i++)
		rql_record_dispatch(c, "update", pipeline_of(&groups_kernel, 8, 0), &args, 1, &use, 1);
	assert_int_equal(*barriers, start + 1);
	rql_record_copy(c, a, 0, x, 0, 400);
	assert_int_equal(*barriers, start + 2);
	rql_record_dispatch(c, "update", pipeline_of(&groups_kernel, 8, 0), &args, 1, &use, 1);
	assert_int_equal(*barriers, start + 3);
	rql_record_fill(c, a, 0, 400, 1);
	assert_int_equal(*barriers, start + 4);
	OK(rql_commands_end(c, &err));
	assert_int_equal(*barriers, start + 4);
	rql_commands_free(c);
	rql_buffer_free(a);
	rql_buffer_free(b);
	rql_buffer_free(x);
	rql_buffer_free(y);
}

static void test_times(void **state)
{
	(void)state;
	struct rql_buffer *words = new_buffer(4096, RQL_MEMORY_DEVICE);
	struct rql_commands *c = new_commands(RQL_COMMANDS_TIMED);
	rql_record_fill(c, words, 0, 4096, 1);
	affine(c, "one", words, 3, 1, 1000);
	struct test_args args = {.words = words->address};
	struct rql_use use = {words, RQL_READ_WRITE};
	rql_record_dispatch(c, "nothing", pipeline_of(&affine_kernel, GROUP, 0), &args, 0, &use, 1);
	affine(c, "two", words, 3, 1, 1000);
	OK(rql_commands_end(c, &err));
	for (unsigned round = 0; round < 3; round++) {
		OK(rql_commands_run(c, NULL, &err));
		struct rql_pass_time times[4] = {{0}};
		double total = -1, sum = 0;
		assert_int_equal(rql_commands_times(c, times, 3, &total), 4);
		static const char *const names[] = {"fill", "one", "nothing"};
		for (unsigned i = 0; i < 3; i++) {
			assert_string_equal(times[i].pass, names[i]);
			assert_true(times[i].ns >= 0);
			sum += times[i].ns;
		}
		assert_null(times[3].pass); /* no more than asked for */
		assert_true(times[2].ns == 0);
		assert_true(sum <= total);
		assert_int_equal(rql_commands_times(c, NULL, 0, &total), 4);
	}
	rql_commands_free(c);
	rql_buffer_free(words);
}

/* A queue may have no clock at all: everything takes 0 ns then. */
static void test_no_clock(void **state)
{
	(void)state;
	close_device(); /* with its recordings, which have queries already */
	assert_true(open_device());
	struct rql_vk_gpu *gpu = rql_vk_of(device);
	gpu->timestamp_bits = 0;
	struct rql_buffer *words = new_buffer(400, RQL_MEMORY_READBACK);
	struct rql_commands *c = new_commands(RQL_COMMANDS_TIMED);
	rql_record_fill(c, words, 0, 400, 1);
	affine(c, "one", words, 3, 1, 1);
	end_and_run(c);
	OK(rql_commands_run(c, NULL, &err));
	struct rql_pass_time times[2] = {{0}};
	double total = -1;
	assert_int_equal(rql_commands_times(c, times, 2, &total), 2);
	assert_string_equal(times[1].pass, "one");
	assert_true(times[0].ns == 0 && times[1].ns == 0 && total == 0);
	assert_words(words, 4);
	rql_commands_free(c);
	rql_buffer_free(words);
	close_device();
	assert_true(open_device());
}

/* What a recording names was freed before it is submitted, once and again: its memory is nobody else's meanwhile. */
static void test_freed_before(void **state)
{
	(void)state;
	struct rql_buffer *result = new_buffer(4096, RQL_MEMORY_READBACK), *gone = new_buffer(4096, RQL_MEMORY_DEVICE);
	struct rql_commands *c = new_commands(0), *never = new_commands(0);
	rql_record_fill(never, gone, 0, 4096, 9);
	rql_record_fill(c, gone, 0, 4096, 5);
	affine(c, "one", gone, 3, 1, 1);
	rql_record_copy(c, gone, 0, result, 0, 4096);
	OK(rql_commands_end(c, &err));
	uint64_t address = gone->address;
	rql_buffer_free(gone);
	for (unsigned round = 0; round < 2; round++) {
		struct rql_buffer *other = new_buffer(4096, RQL_MEMORY_DEVICE);
		assert_true(other->address != address);
		memset(result->map, 0, 4096);
		OK(rql_commands_run(c, NULL, &err));
		assert_words(result, 16);
		rql_buffer_free(other);
	}
	rql_commands_free(c);
	rql_commands_free(never); /* the last holder */
	gone = new_buffer(4096, RQL_MEMORY_DEVICE);
	assert_int_equal(gone->address, address);
	rql_buffer_free(gone);
	rql_buffer_free(result);
}

static void check_subgroups(uint32_t group)
{
	struct rql_buffer *words = new_buffer(4 * (group + 1), RQL_MEMORY_READBACK);
	const struct rql_pipeline *pipeline = NULL;
	struct test_args args = {.words = words->address, .count = group + 1};
	struct rql_use use = {words, RQL_READ_WRITE};
	memset(words->map, 0, words->bytes);
	OK(rql_pipeline_get(device, &subgroups_kernel, &group, 1, &pipeline, &err));
	struct rql_commands *c = new_commands(0);
	rql_record_dispatch(c, "subgroups", pipeline, &args, 1, &use, 1);
	end_and_run(c);
	const uint32_t *got = words->map;
	for (uint32_t i = 0; i < group && group % device->limits.subgroup_size == 0; i++)
		assert_int_equal(got[i], 1);
	assert_int_equal(got[group], device->limits.subgroup_size);
	rql_commands_free(c);
	rql_buffer_free(words);
}

/* Kernels rely on full subgroups of the size that limits says; also when a pipeline has to ask for it, which only devices
 * of several sizes need. */
static void test_subgroups(void **state)
{
	(void)state;
	static const uint32_t groups[] = {1, 24, 64, 128, 256};
	for (unsigned pinned = 0; pinned < 2; pinned++) {
		if (pinned) {
			struct rql_vk_features features;
			close_device();
			assert_true(open_device());
			rql_vk_features_get(rql_vk_of(device)->physical, &features);
			if (!features.subgroup.subgroupSizeControl || !features.subgroup.computeFullSubgroups)
				break;
			rql_vk_of(device)->pinned_subgroup = device->limits.subgroup_size;
		}
		for (unsigned i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
			check_subgroups(groups[i]);
	}
}

/* More passes than have a time of their own, in a recording that was used for something else before. */
static void test_many_passes(void **state)
{
	(void)state;
	struct rql_buffer *words = new_buffer(400, RQL_MEMORY_READBACK);
	struct rql_commands *c = new_commands(RQL_COMMANDS_TIMED);
	rql_record_fill(c, words, 0, 400, 0);
	for (unsigned i = 0; i < 600; i++)
		affine(c, "step", words, 1, 1, 1);
	end_and_run(c);
	assert_words(words, 600);
	struct rql_pass_time times[300];
	double total = 0, sum = 0;
	uint32_t count = rql_commands_times(c, times, 300, &total);
	assert_true(count >= 100 && count <= 300);
	for (uint32_t i = 0; i < count; i++) {
		assert_true(times[i].ns >= 0);
		sum += times[i].ns;
	}
	assert_true(sum <= total);
	assert_string_equal(times[1].pass, "step");
	assert_string_equal(times[count - 1].pass, "further passes");
	rql_commands_free(c);
	rql_buffer_free(words);
}

static void *cancel_soon(void *argument)
{
	struct rql_progress *progress = argument;
	struct timespec soon = {.tv_nsec = 5000000};
	nanosleep(&soon, NULL);
	atomic_store(&progress->cancel, true);
	return NULL;
}

static void test_cancel(void **state)
{
	(void)state;
	struct rql_buffer *words = new_buffer(4, RQL_MEMORY_READBACK);
	struct rql_commands *c = new_commands(0);
	rql_record_fill(c, words, 0, 4, 1);
	affine(c, "long", words, 1664525, 1013904223, LONG_ROUNDS);
	OK(rql_commands_end(c, &err));
	uint64_t ticket = submit(c);
	struct rql_progress progress = {0};
	struct rql_error err = {0};
	pthread_t thread;
	assert_int_equal(pthread_create(&thread, NULL, cancel_soon, &progress), 0);
	assert_int_equal(rql_wait(device, ticket, &progress, &err), RQL_ERROR_INTERRUPTED);
	pthread_join(thread, NULL);
	assert_int_equal(rql_wait(device, ticket, &progress, &err), RQL_ERROR_INTERRUPTED);
	uint64_t again = 0;
	assert_int_equal(rql_submit(c, &again, &err), RQL_ERROR_MISUSE);
	assert_int_equal(again, 0);
	rql_error_clear(&err);
	wait_for(ticket); /* the work went on */
	uint32_t expected = 1;
	for (uint32_t r = 0; r < LONG_ROUNDS; r++)
		expected = expected * 1664525 + 1013904223;
	assert_words(words, expected);
	OK(rql_wait(device, ticket, &progress, &err)); /* done is done, cancelled or not */
	rql_commands_free(c);
	rql_buffer_free(words);
}

static void test_misuse(void **state)
{
	(void)state;
	struct rql_error err = {0};
	uint64_t ticket = 0;
	struct rql_buffer *words = new_buffer(400, RQL_MEMORY_DEVICE);
	struct rql_commands *c = new_commands(0);
	assert_int_equal(rql_submit(c, &ticket, &err), RQL_ERROR_INTERNAL); /* not ended */
	rql_record_copy(c, words, 0, words, 4, 8);                          /* onto itself */
	rql_record_fill(c, words, 0, 400, 1);
	assert_int_equal(rql_commands_end(c, &err), RQL_ERROR_INTERNAL);
	assert_non_null(strstr(rql_error_message(&err), "overlap"));
	assert_int_equal(rql_submit(c, &ticket, &err), RQL_ERROR_INTERNAL);
	rql_commands_free(c);
	rql_commands_free(NULL);
	assert_int_equal(rql_wait(device, UINT64_MAX - 1, NULL, &err), RQL_ERROR_MISUSE);
	assert_int_equal(ticket, 0);
	c = new_commands(0); /* of the same place as the failed one */
	rql_record_fill(c, words, 0, 400, 5);
	end_and_run(c);
	rql_commands_free(c);
	c = new_commands(0); /* never ended */
	rql_record_fill(c, words, 0, 400, 5);
	rql_commands_free(c);
	rql_buffer_free(words);
	rql_error_clear(&err);
}

static void test_measure(void **state)
{
	(void)state;
	/* The price of a pass is a difference of two times: where other work hides it, the guess stays. */
	device->profile = (struct rql_profile){.pass_ns = 12345};
	rql_device_measure(device, false);
	assert_true(device->profile.read_gbps > 0);
	assert_true(device->profile.submit_ns > 0);
	assert_true(device->profile.pass_ns > 0 && isfinite(device->profile.pass_ns));
	assert_true(device->profile.upload_gbps > 0);
	assert_true(device->profile.download_gbps > 0);
	print_message("read %.2f GB/s, submit %.1f us, pass %.2f us, up %.2f GB/s, down %.2f GB/s\n",
	              device->profile.read_gbps, device->profile.submit_ns / 1e3, device->profile.pass_ns / 1e3,
	              device->profile.upload_gbps, device->profile.download_gbps);
}

/* A device that has clocks, as a GPU has: work brings it back, and what was measured before stays. */
static void test_wake(void **state)
{
	(void)state;
	const enum rql_device_kind kind = device->kind;
	const uint64_t start = rql_now_ns();
	device->profile = (struct rql_profile){.read_gbps = 7};
	rql_device_wake(device); /* of software: nothing */
	assert_true(kind != RQL_DEVICE_SOFTWARE || rql_now_ns() - start < 400000000);
	struct rql_vk_gpu *gpu = device->impl;
	device->kind = RQL_DEVICE_DISCRETE;
	rql_device_wake(device);
	assert_true(rql_now_ns() - start > 400000000);
	assert_true(gpu->awake_ns > 0);
	gpu->awake_ns *= 1000; /* whatever else the machine does, it is awake */
	const uint64_t again = rql_now_ns();
	rql_device_wake(device);
	assert_true(rql_now_ns() - again < 400000000);
	gpu->awake_ns = 0;
	device->kind = kind;
	assert_true(device->profile.read_gbps == 7);
}

/* cmocka's assertions belong to the main thread: the others say what they found. */
struct worker {
	pthread_t thread;
	uint32_t number;
	bool good;
};

static bool work_once(uint32_t seed)
{
	struct rql_buffer *words = NULL, *result = NULL;
	struct rql_commands *c = NULL;
	const struct rql_pipeline *pipeline = NULL;
	uint32_t constants[2] = {GROUP, 1000 + seed % 8}; /* kernels that others ask for at the same time */
	bool good = rql_buffer_new(device, 4000, RQL_MEMORY_DEVICE, "a test", &words, NULL) == RQL_OK &&
	            rql_buffer_new(device, 4000, RQL_MEMORY_READBACK, "a test", &result, NULL) == RQL_OK &&
	            rql_pipeline_get(device, &affine_kernel, constants, 2, &pipeline, NULL) == RQL_OK &&
	            rql_commands_new(device, seed % 2 ? RQL_COMMANDS_TIMED : 0, &c, NULL) == RQL_OK;
	if (good) {
		struct test_args args = {.words = words->address, .count = 1000, .factor = 3, .rounds = 1};
		struct rql_use use = {words, RQL_READ_WRITE};
		rql_record_fill(c, words, 0, 4000, seed);
		rql_record_dispatch(c, "step", pipeline, &args, (1000 + GROUP - 1) / GROUP, &use, 1);
		rql_record_copy(c, words, 0, result, 0, 4000);
		good = rql_commands_end(c, NULL) == RQL_OK;
	}
	for (unsigned r = 0; good && r < 2; r++) {
		memset(result->map, 0, 4000);
		good = rql_commands_run(c, NULL, NULL) == RQL_OK;
		for (unsigned i = 0; good && i < 1000; i++)
			good = ((const uint32_t *)result->map)[i] == 3 * seed + constants[1];
	}
	rql_buffer_free(words);
	rql_commands_free(c);
	rql_buffer_free(result);
	return good;
}

static void *work(void *argument)
{
	struct worker *worker = argument;
	worker->good = true;
	for (uint32_t i = 0; i < 20; i++)
		worker->good &= work_once(worker->number * 20 + i);
	return NULL;
}

static void test_threads(void **state)
{
	(void)state;
	struct worker workers[4] = {{0}};
	for (uint32_t i = 0; i < 4; i++) {
		workers[i].number = i;
		assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
	}
	for (uint32_t i = 0; i < 4; i++)
		pthread_join(workers[i].thread, NULL);
	for (uint32_t i = 0; i < 4; i++)
		assert_true(workers[i].good);
}

/* ---- the cache on disk ---- */
static bool cache_file(char *out, size_t size)
{
	char path[256];
	snprintf(path, sizeof(path), "%s/rayql", scratch());
	DIR *entries = opendir(path);
	bool found = false;
	for (struct dirent *entry = entries ? readdir(entries) : NULL; entry; entry = readdir(entries)) {
		assert_null(strstr(entry->d_name, ".tmp")); /* nothing is left behind */
		if (strncmp(entry->d_name, "pipelines-", 10) == 0) {
			assert_false(found);
			found = true;
			snprintf(out, size, "%s/%s", path, entry->d_name);
		}
	}
	if (entries)
		closedir(entries);
	return found;
}

/* One life of a process: a kernel is compiled and works. */
static void live_once(void)
{
	assert_true(open_device());
	struct rql_buffer *words = new_buffer(400, RQL_MEMORY_READBACK);
	memset(words->map, 0, 400);
	struct rql_commands *c = new_commands(0);
	affine(c, "step", words, 1, 42, 1);
	end_and_run(c);
	assert_words(words, 42);
	rql_commands_free(c);
	rql_buffer_free(words);
	close_device();
}

static size_t read_file(const char *path, uint8_t *out, size_t size)
{
	FILE *file = fopen(path, "rb");
	assert_non_null(file);
	size_t length = fread(out, 1, size, file);
	fclose(file);
	return length;
}

static void write_file(const char *path, const uint8_t *data, size_t length)
{
	FILE *file = fopen(path, "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, length, file), length);
	assert_int_equal(fclose(file), 0);
}

static void test_cache(void **state)
{
	(void)state;
	static uint8_t good[1 << 20], now[1 << 20];
	char path[512], moved[520];
	bool same = device->kind == RQL_DEVICE_SOFTWARE; /* two compilations give the same bytes: elsewhere not promised */
	close_device();
	if (cache_file(path, sizeof(path)))
		assert_int_equal(unlink(path), 0);
	live_once();
	assert_true(cache_file(path, sizeof(path)));
	size_t length = read_file(path, good, sizeof(good));
	assert_true(length > 56);
	assert_memory_equal(good, "RQLPIPE", 8);

	/* Read by the second life, which therefore has nothing new to write: the file is the same one. */
	struct stat before, after;
	assert_int_equal(stat(path, &before), 0);
	snprintf(moved, sizeof(moved), "%s.kept", path);
	assert_int_equal(link(path, moved), 0); /* so that its number is not given to a new file */
	live_once();
	assert_int_equal(stat(path, &after), 0);
	if (same)
		assert_int_equal(before.st_ino, after.st_ino);
	assert_int_equal(unlink(moved), 0);

	/* Damaged, cut, foreign, empty, no cache at all: ignored, and replaced by a good one. */
	static const struct {
		size_t at, length;
	} cases[] = {{0, 0}, {60, 0}, {16, 0}, {20, 0}, {30, 0}, {40, 0}, {49, 0}, {0, 57}, {0, 56}, {0, 20}, {0, 1}};
	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		uint8_t kept = good[cases[i].at];
		good[cases[i].at] ^= 0x40;
		size_t bad_length = cases[i].length ? cases[i].length : length;
		write_file(path, good, bad_length);
		live_once();
		size_t now_length = read_file(path, now, sizeof(now));
		assert_true(now_length != bad_length || memcmp(now, good, now_length) != 0);
		good[cases[i].at] = kept;
		assert_memory_equal(now, good, 40); /* the head but checksum and length */
		if (same) {
			assert_int_equal(now_length, length);
			assert_memory_equal(now, good, length);
		}
	}
	write_file(path, good, 0);
	live_once();
	assert_true(read_file(path, now, sizeof(now)) > 56);

	/* A folder that cannot be written is no error. */
	assert_int_equal(setenv("XDG_CACHE_HOME", "/proc/self/no-such-folder", 1), 0);
	live_once();
	assert_int_equal(setenv("XDG_CACHE_HOME", scratch(), 1), 0);
	assert_true(open_device());
}

/* The last one: of all the tests before, and of closing the device. */
static void test_validation(void **state)
{
	(void)state;
	close_device();
	assert_int_equal(rql_vulkan_validation_errors(), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_group_counts), cmocka_unit_test(test_dependencies), cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_constants),    cmocka_unit_test(test_resubmission), cmocka_unit_test(test_two_in_flight),
		cmocka_unit_test(test_indirect),     cmocka_unit_test(test_barriers),     cmocka_unit_test(test_times),
		cmocka_unit_test(test_no_clock),     cmocka_unit_test(test_freed_before), cmocka_unit_test(test_subgroups),
		cmocka_unit_test(test_many_passes),  cmocka_unit_test(test_cancel),       cmocka_unit_test(test_misuse),
		cmocka_unit_test(test_measure), cmocka_unit_test(test_wake),      cmocka_unit_test(test_threads),      cmocka_unit_test(test_cache),
		cmocka_unit_test(test_generated),    cmocka_unit_test(test_generated_order),
		cmocka_unit_test(test_generated_at_once),
		cmocka_unit_test(test_validation),
	};
	if (setenv("XDG_CACHE_HOME", scratch(), 1) != 0 || setenv("RAYQL_VULKAN_VALIDATION", "1", 0) != 0)
		return 1;
	const int skipped = vulkan_skip_without(RQL_UNIT_COMPUTE);
	return skipped ? skipped : cmocka_run_group_tests(tests, set_up, tear_down);
}

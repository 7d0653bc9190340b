/* The compiling thread of a device (device/compile.h), over a device that only tests have: its "driver" takes as long
 * as it is told to and fails when it is told to. No Vulkan, so TSan can watch. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "device/device_internal.h"

#define KERNELS 256u
#define THREADS 4u

/* device->impl. A kernel is known by its first word. */
struct driver {
	pthread_mutex_t lock;
	pthread_cond_t opened;
	bool held;              /* compilations wait until it is not */
	uint32_t failing;       /* the kernel that fails; 0: none */
	bool made[KERNELS];
	struct rql_pipeline pipelines[KERNELS];
	_Atomic uint32_t compiled, references;
};

static rql_status start(struct rql_device *device, struct rql_error *err)
{
	(void)device;
	(void)err;
	return RQL_OK;
}

static rql_status get(struct rql_device *device, const struct rql_kernel *kernel, const uint32_t *constants,
                      uint32_t count, const struct rql_pipeline **out, struct rql_error *err)
{
	struct driver *d = device->impl;
	const uint32_t number = kernel->spirv[0];
	(void)constants;
	(void)count;
	if (number == d->failing)
		return rql_error_set(err, RQL_ERROR_DEVICE, "kernel %u is bad", number);
	pthread_mutex_lock(&d->lock);
	while (d->held)
		pthread_cond_wait(&d->opened, &d->lock);
	d->compiled += !d->made[number];
	d->made[number] = true;
	pthread_mutex_unlock(&d->lock);
	d->references++;
	d->pipelines[number].device = device;
	*out = &d->pipelines[number];
	return RQL_OK;
}

/* A kernel that is compiled in: drivers' lists know it by its address. */
static const uint32_t built_in_words[2] = {200, 1};
static const struct rql_kernel built_in = {.name = "built in", .spirv = built_in_words, .spirv_bytes = 8};

static rql_status get_built_in(struct rql_device *device, const struct rql_kernel *kernel, const uint32_t *constants,
                               uint32_t count, const struct rql_pipeline **out, struct rql_error *err)
{
	if (kernel != &built_in)
		return rql_error_set(err, RQL_ERROR_DEVICE, "another address");
	return get(device, kernel, constants, count, out, err);
}

static enum rql_kernel_state look(struct rql_device *device, const struct rql_kernel_use *use)
{
	struct driver *d = device->impl;
	pthread_mutex_lock(&d->lock);
	bool made = d->made[use->kernel->spirv[0]];
	pthread_mutex_unlock(&d->lock);
	return made ? RQL_KERNEL_READY : RQL_KERNEL_MISSING;
}

static void release(const struct rql_pipeline *pipeline)
{
	((struct driver *)pipeline->device->impl)->references--;
}

static const struct rql_device_ops ops = {
	.start = start, .pipeline = get_built_in, .pipeline_generated = get, .pipeline_look = look, .pipeline_release = release};

struct rig {
	struct rql_device device;
	struct driver driver;
};

static int set_up(void **state)
{
	struct rig *r = calloc(1, sizeof *r);
	r->device = (struct rql_device){.id = "toy", .name = "toy", .ops = &ops, .impl = &r->driver};
	r->device.limits.group_size = 64;
	pthread_mutex_init(&r->driver.lock, NULL);
	pthread_cond_init(&r->driver.opened, NULL);
	rql_compiler_open(&r->device);
	assert_non_null(r->device.compiler);
	*state = r;
	return 0;
}

static int tear_down(void **state)
{
	struct rig *r = *state;
	rql_compiler_close(&r->device);
	pthread_cond_destroy(&r->driver.opened);
	pthread_mutex_destroy(&r->driver.lock);
	free(r);
	return 0;
}

static void hold(struct rig *r, bool held)
{
	pthread_mutex_lock(&r->driver.lock);
	r->driver.held = held;
	pthread_cond_broadcast(&r->driver.opened);
	pthread_mutex_unlock(&r->driver.lock);
}

/* The words are the caller's for the call alone. */
static void later(struct rig *r, uint32_t number, struct rql_awaited *awaited)
{
	uint32_t *words = malloc(2 * sizeof *words), constants[2] = {32, 7};
	assert_non_null(words);
	words[0] = number;
	words[1] = 1;
	const struct rql_kernel kernel = {.name = "toy", .spirv = words, .spirv_bytes = 8};
	const struct rql_kernel_use use = {&kernel, constants, 2, true};
	assert_int_equal(rql_kernel_compile_later(&r->device, &use, awaited, NULL), RQL_OK);
	free(words);
}

static rql_status state_of(struct rig *r, uint32_t number, enum rql_kernel_state *out, struct rql_error *err)
{
	const uint32_t words[2] = {number, 1}, constants[2] = {32, 7};
	const struct rql_kernel kernel = {.name = "toy", .spirv = words, .spirv_bytes = 8};
	const struct rql_kernel_use use = {&kernel, constants, 2, true};
	return rql_kernel_look(&r->device, &use, out, err);
}

static void in_the_background(void **state)
{
	struct rig *r = *state;
	struct rql_awaited *awaited = rql_awaited_new();
	enum rql_kernel_state found;
	hold(r, true);
	for (uint32_t i = 1; i <= 10; i++)
		later(r, i, awaited);
	assert_false(rql_awaited_settled(awaited));
	assert_int_equal(state_of(r, 3, &found, NULL), RQL_OK);
	assert_int_equal(found, RQL_KERNEL_MISSING);
	assert_int_equal(r->driver.compiled, 0); /* to look is not to compile */
	hold(r, false);
	rql_kernels_finish(&r->device);
	assert_true(rql_awaited_settled(awaited));
	assert_int_equal(r->driver.compiled, 10);
	assert_int_equal(r->driver.references, 0);
	assert_int_equal(state_of(r, 3, &found, NULL), RQL_OK);
	assert_int_equal(found, RQL_KERNEL_READY);
	rql_awaited_release(awaited);
}

static void by_address(void **state)
{
	struct rig *r = *state;
	struct rql_awaited *awaited = rql_awaited_new();
	const uint32_t constants[1] = {32};
	const struct rql_kernel_use use = {&built_in, constants, 1, false};
	enum rql_kernel_state found;
	assert_int_equal(rql_kernel_compile_later(&r->device, &use, awaited, NULL), RQL_OK);
	rql_kernels_finish(&r->device);
	assert_true(rql_awaited_settled(awaited));
	assert_int_equal(rql_kernel_look(&r->device, &use, &found, NULL), RQL_OK);
	assert_int_equal(found, RQL_KERNEL_READY);
	rql_awaited_release(awaited);
}

static void failing(void **state)
{
	struct rig *r = *state;
	struct rql_awaited *awaited = rql_awaited_new();
	struct rql_error err = {0};
	enum rql_kernel_state found;
	r->driver.failing = 5;
	later(r, 5, awaited);
	later(r, 6, awaited);
	rql_kernels_finish(&r->device);
	assert_true(rql_awaited_settled(awaited));
	assert_int_equal(state_of(r, 5, &found, &err), RQL_ERROR_DEVICE);
	assert_non_null(strstr(rql_error_message(&err), "kernel 5 is bad"));
	rql_error_clear(&err);
	assert_int_equal(state_of(r, 6, &found, NULL), RQL_OK);
	assert_int_equal(found, RQL_KERNEL_READY);
	rql_awaited_release(awaited);
}

/* What finds no room is not lost: it is settled once there is some, so that it can be asked for again. */
static void full(void **state)
{
	struct rig *r = *state;
	struct rql_awaited *first = rql_awaited_new(), *second = rql_awaited_new();
	hold(r, true);
	for (uint32_t i = 0; i < RQL_COMPILE_QUEUE + 1; i++) /* one of them may be at work already */
		later(r, 1 + i, first);
	later(r, 200, second);
	later(r, 201, second);
	assert_false(rql_awaited_settled(second));
	hold(r, false);
	rql_kernels_finish(&r->device);
	assert_true(rql_awaited_settled(first) && rql_awaited_settled(second));
	assert_true(r->driver.compiled >= RQL_COMPILE_QUEUE);
	rql_awaited_release(first);
	rql_awaited_release(second);
}

static void *let_go(void *state)
{
	nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
	hold(state, false);
	return NULL;
}

/* Closing waits for the kernel at hand and gives the others up. */
static void closing(void **state)
{
	struct rig *r = *state;
	struct rql_awaited *awaited = rql_awaited_new();
	pthread_t thread;
	hold(r, true);
	for (uint32_t i = 1; i <= 30; i++)
		later(r, i, awaited);
	assert_int_equal(pthread_create(&thread, NULL, let_go, r), 0);
	rql_compiler_close(&r->device);
	assert_null(r->device.compiler);
	assert_true(r->driver.compiled <= 1);
	assert_int_equal(r->driver.references, 0);
	assert_true(rql_awaited_settled(awaited));
	rql_awaited_release(awaited);
	pthread_join(thread, NULL);
}

static void *many(void *state)
{
	struct rig *r = state;
	enum rql_kernel_state found;
	for (uint32_t i = 1; i < 60; i++) {
		struct rql_awaited *awaited = rql_awaited_new();
		later(r, i, awaited);
		assert_int_equal(state_of(r, i, &found, NULL), RQL_OK);
		while (i % 16 == 0 && !rql_awaited_settled(awaited))
			nanosleep(&(struct timespec){.tv_nsec = 1000}, NULL);
		rql_awaited_release(awaited);
	}
	return NULL;
}

static void from_many_threads(void **state)
{
	struct rig *r = *state;
	pthread_t threads[THREADS];
	for (uint32_t t = 0; t < THREADS; t++)
		assert_int_equal(pthread_create(&threads[t], NULL, many, r), 0);
	for (uint32_t t = 0; t < THREADS; t++)
		pthread_join(threads[t], NULL);
	rql_kernels_finish(&r->device);
	assert_true(r->driver.compiled > 0 && r->driver.compiled <= 59);
	assert_int_equal(r->driver.references, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(in_the_background, set_up, tear_down),
		cmocka_unit_test_setup_teardown(by_address, set_up, tear_down),
		cmocka_unit_test_setup_teardown(failing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(full, set_up, tear_down),
		cmocka_unit_test_setup_teardown(closing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(from_many_threads, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

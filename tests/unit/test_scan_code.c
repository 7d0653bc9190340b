/* The modules that scans generate, valid for Vulkan 1.2 as spirv-val (SPIRV-Tools) reads it: of random groups and selections,
 * also under ROWS. No driver compiles them here, so that there may be many. */
#include "scan_aggregates.h"

#include <unistd.h>

#include "device/device_internal.h"
#include "scan_choice.h"
#include "scan_device.h"
#include "../toy/toy.h"

#ifndef SPIRV_VAL
#error "SPIRV_VAL names the program"
#endif
#define CASES (SLOW ? 12u : 60u)

static char folder[] = "/tmp/rayql-scan-code-XXXXXX";
static unsigned modules, groups, selections, under, different;
static uint64_t last_bytes;

/* Does an instruction with this opcode name the id at this place? */
static bool names(const uint32_t *words, uint64_t count, uint32_t op, uint32_t place, uint32_t id)
{
	for (uint64_t at = 5; at < count; at += words[at] >> 16)
		if ((words[at] & 0xffff) == op && words[at + place] == id)
			return true;
	return false;
}

/* No function stays that neither is the entry point (OpEntryPoint, 15) nor is called (OpFunctionCall, 57). */
static void expect_reached(const uint32_t *words, uint64_t count)
{
	unsigned functions = 0;
	for (uint64_t at = 5; at < count; at += words[at] >> 16) {
		if ((words[at] & 0xffff) != 54)
			continue;
		functions++;
		assert_true(names(words, count, 57, 3, words[at + 2]) || names(words, count, 15, 2, words[at + 2]));
	}
	assert_true(functions > 10);
}

static void put_module(const uint32_t *words, uint64_t bytes)
{
	expect_reached(words, bytes / sizeof(*words));
	char path[64];
	snprintf(path, sizeof(path), "%s/%u.spv", folder, modules++);
	FILE *file = need(fopen(path, "wb"));
	assert_int_equal(fwrite(words, 1, bytes, file), bytes);
	assert_int_equal(fclose(file), 0);
	different += bytes != last_bytes;
	last_bytes = bytes;
}

/* All rows come in, as a bitmap or as lists, so that nothing else of the request changes. */
static void put_under(const struct rql_request *from, struct rql_request *out)
{
	const struct rql_request rows = {.snapshot = from->snapshot, .wants = RQL_PORT_ROWS};
	struct rql_error err = {0};
	*out = *from;
	out->under = (struct rql_rows_source){.method = &rql_method_toy_all_compute, .share = 1, .lists = under % 2};
	ok(rql_method_toy_all_compute.prepare(&rows, gpu, &out->under.prepared, &err), &err);
}

/* The kernels of one look: the words of the generated one, and a hash of all words and constants. */
struct seen {
	bool writes;
	uint64_t hash;
	unsigned generated;
};

static rql_status see_kernel(void *state, const struct rql_kernel_use *use, struct rql_error *err)
{
	struct seen *seen = state;
	(void)err;
	seen->hash = (seen->hash ^ rql_kernel_hash(use->kernel)) * UINT64_C(0xff51afd7ed558ccd);
	for (uint32_t i = 0; i < use->count; i++)
		seen->hash = (seen->hash ^ use->constants[i]) * UINT64_C(0xff51afd7ed558ccd);
	seen->generated += use->generated;
	if (seen->writes && use->generated)
		put_module(use->kernel->spirv, use->kernel->spirv_bytes);
	return RQL_OK;
}

/* Whoever looks twice sees the same kernels: what was compiled ahead must be what the run wants. */
static bool write_code(const struct rql_request *request)
{
	struct rql_prepared *p = NULL;
	struct rql_error err = {0};
	if (rql_method_scan_compute.offer(request, gpu, NULL) == RQL_OFFER_NO ||
	    rql_method_scan_compute.prepare(request, gpu, &p, &err) != RQL_OK) {
		rql_error_clear(&err);
		if (request->under.method)
			request->under.method->free(request->under.prepared);
		return false;
	}
	struct seen first = {.writes = true}, second = {.hash = 0};
	ok(rql_method_scan_compute.kernels(p, see_kernel, &first, &err), &err);
	ok(rql_method_scan_compute.kernels(p, see_kernel, &second, &err), &err);
	assert_int_equal(first.generated, 1);
	assert_int_equal(first.hash, second.hash);
	rql_method_scan_compute.free(p);
	return true;
}

static void write_both(const struct rql_request *request, unsigned *count)
{
	struct rql_request with;
	*count += write_code(request);
	if (roll(4))
		return;
	put_under(request, &with);
	under += write_code(&with);
}

static void test_modules(void **state)
{
	(void)state;
	need(mkdtemp(folder));
	for (uint64_t seed = 1; seed <= CASES; seed++) {
		struct table t;
		struct query q;
		struct choice c;
		random_state = seed * UINT64_C(0x9e3779b97f4a7c15) + 3;
		table_make(&t, (uint32_t)roll(9000));
		query_make(&q, &t);
		write_both(&q.request, &groups);
		query_free(&q);
		choice_make(&c, &t);
		write_both(&c.request, &selections);
		choice_free(&c);
		table_free(&t);
	}
	char command[512];
	snprintf(command, sizeof(command),
	         "cd %s && bad=0; for f in *.spv; do %s --target-env vulkan1.2 --scalar-block-layout $f || bad=1; done; "
	         "cd / && rm -r %s; exit $bad",
	         folder, SPIRV_VAL, folder);
	int status = system(command);
	print_message("%u modules: %u of groups, %u of selections, %u under ROWS\n", modules, groups, selections, under);
	assert_int_equal(status, 0);
	assert_true(groups && selections && under && different > modules / 2);
}

int main(void)
{
	int skip = vulkan_skip_without(RQL_UNIT_COMPUTE);
	if (skip)
		return skip;
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_modules)};
	return cmocka_run_group_tests(tests, open_device, close_device);
}

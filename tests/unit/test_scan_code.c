/* The modules that scans generate, valid for Vulkan 1.2 as spirv-val (SPIRV-Tools) reads it: of random groups and selections,
 * also under ROWS. No driver compiles them here, so that there may be many. */
#include "scan_aggregates.h"

#include <unistd.h>

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

static void put_module(const uint32_t *words, uint64_t bytes)
{
	char path[64];
	snprintf(path, sizeof(path), "%s/%u.spv", folder, modules++);
	FILE *file = need(fopen(path, "wb"));
	assert_int_equal(fwrite(words, 1, bytes, file), bytes);
	assert_int_equal(fclose(file), 0);
	different += bytes != last_bytes;
	last_bytes = bytes;
}

/* All rows come in, so that nothing else of the request changes. */
static void put_under(const struct rql_request *from, struct rql_request *out)
{
	const struct rql_request rows = {.snapshot = from->snapshot, .wants = RQL_PORT_ROWS};
	struct rql_error err = {0};
	*out = *from;
	out->under = (struct rql_rows_source){.method = &rql_method_toy_all_compute, .share = 1};
	ok(rql_method_toy_all_compute.prepare(&rows, gpu, &out->under.prepared, &err), &err);
}

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
	uint32_t *words;
	uint64_t bytes;
	ok(rql_scan_code(&p->plan, &words, &bytes, &err), &err);
	put_module(words, bytes);
	free(words);
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

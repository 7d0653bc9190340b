/* Scans under ROWS that another method gives (tests/toy), on the CPU and on a Vulkan device, against the same scans without:
 * random stores and requests with joins, groups and aggregates. On the device both methods are one submission. */
#include "scan_aggregates.h"

#include "scan_answers.h"
#include "scan_device.h"
#include "../toy/toy.h"

extern const struct rql_method rql_method_scan_cpu;

#define CASES (is_long() ? 30u : 4u)

static unsigned ran[2][2], joined, grouped, shorter, refused, untested; /* ran: [GPU][exact] */

/* The request under the ROWS of a method, which answers what it takes of the conjuncts. False: none. */
static bool put_under(const struct rql_request *from, const struct rql_method *select, struct rql_device *device,
                      struct rql_conjunct *asked, struct rql_conjunct *rest, struct rql_request *out)
{
	struct rql_request rows = {.snapshot = from->snapshot, .wants = RQL_PORT_ROWS, .conjuncts = asked};
	struct rql_error err = {0};
	*out = *from;
	out->conjuncts = rest;
	out->conjunct_count = 0;
	for (uint32_t c = 0; c < from->conjunct_count; c++) {
		const struct rql_request one = {
			.snapshot = from->snapshot, .wants = RQL_PORT_ROWS, .conjunct_count = 1, .conjuncts = &from->conjuncts[c]};
		enum rql_offer offer =
			from->conjuncts[c].test == RQL_TEST_IS_TRUE ? RQL_OFFER_NO : select->offer(&one, device, NULL);
		if (offer != RQL_OFFER_NO)
			asked[rows.conjunct_count++] = from->conjuncts[c];
		if (offer != RQL_OFFER_FULL)
			rest[out->conjunct_count++] = from->conjuncts[c];
	}
	if (!rows.conjunct_count)
		return false;
	shorter += out->conjunct_count < from->conjunct_count;
	ok(select->prepare(&rows, device, &out->under.prepared, &err), &err);
	out->under.method = select;
	out->under.share = 1.0 / (1 + roll(1000)); /* as wrong as can be */
	return true;
}

/* On a GPU: rows that are only counted or added up under ROWS do not cost what tested rows do. */
static void check_price(const struct rql_method *scan, const struct rql_prepared *prepared,
                        const struct rql_request *under, double before)
{
	const double test_ns = gpu->profile.scan.tested_row_ns, more_ns = 1000, rows = (double)under->snapshot->rows;
	struct rql_cost cost;
	if (under->conjunct_count || under->lookup_count)
		return;
	gpu->profile.scan.tested_row_ns = test_ns + more_ns;
	scan->price(prepared, gpu, &cost);
	gpu->profile.scan.tested_row_ns = test_ns;
	assert_true(cost.run_ns - before <= rows * more_ns / 2);
	untested += rows > 0;
}

static void check(const struct rql_request *request, const struct rql_method *scan, const struct rql_method *select,
                  struct rql_device *device, const struct rql_port *want)
{
	struct rql_conjunct *asked = need(calloc(request->conjunct_count + 1, sizeof(*asked)));
	struct rql_conjunct *rest = need(calloc(request->conjunct_count + 1, sizeof(*rest)));
	struct rql_request under;
	struct rql_prepared *prepared = NULL;
	struct rql_error err = {0};
	bool on_gpu = device == gpu;
	if (put_under(request, select, device, asked, rest, &under)) {
		rql_status status = scan->offer(&under, device, NULL) == RQL_OFFER_NO
		                        ? RQL_ERROR_UNSUPPORTED
		                        : scan->prepare(&under, device, &prepared, &err);
		if (status == RQL_OK) {
			for (unsigned again = 0; again < 3; again++) {
				struct rql_arena *arena = need(rql_arena_new());
				struct rql_port have = {0};
				struct rql_cost cost;
				scan->price(prepared, device, &cost);
				assert_true(cost.run_ns >= 0 && cost.rows_out >= 0);
				if (on_gpu)
					check_price(scan, prepared, &under, cost.run_ns);
				ok(rql_fault_set(gpu, RQL_FAULT_SUBMISSION, 0, &err), &err);
				ok(scan->run(prepared, device, &(struct rql_run){.flags = again == 1 ? RQL_RUN_TIMED : 0, .arena = arena}, &have, &err), &err);
				uint64_t submissions = rql_fault_count(gpu, RQL_FAULT_SUBMISSION);
				rql_fault_remove(gpu);
				same_answer(want, &have, request->group_count, request->agg_count);
				assert_int_equal(have.cells_covered, want->cells_covered);
				if (on_gpu && again)
					assert_int_equal(submissions, have.runs != 0);
				rql_arena_free(arena);
			}
			ran[on_gpu][select == &rql_method_toy_exact_cpu || select == &rql_method_toy_exact_compute]++;
			joined += under.lookup_count > 1;
			grouped += under.group_count > 0;
			assert_true(scan->bytes(prepared) > select->bytes(under.under.prepared));
			scan->free(prepared);
		} else {
			assert_int_equal(status, RQL_ERROR_UNSUPPORTED);
			rql_error_clear(&err);
			select->free(under.under.prepared);
			refused++;
		}
	}
	free(asked);
	free(rest);
}

static void compare(const struct rql_request *request)
{
	struct rql_device host = cpu(RQL_SIMD_AVX2, 0);
	struct rql_arena *arena = need(rql_arena_new());
	struct rql_scan *scan = NULL;
	struct rql_port want = {0};
	struct rql_error err = {0};
	ok(rql_scan_prepare(request, &host, &scan, &err), &err);
	rql_status status = rql_scan_run(scan, &host, NULL, arena, NULL, &want, NULL, &err);
	rql_error_clear(&err);
	if (status == RQL_OK) {
		check(request, &rql_method_scan_cpu, &rql_method_toy_all_cpu, &host, &want);
		check(request, &rql_method_scan_cpu, &rql_method_toy_exact_cpu, &host, &want);
		check(request, &rql_method_scan_compute, &rql_method_toy_all_compute, gpu, &want);
		check(request, &rql_method_scan_compute, &rql_method_toy_exact_compute, gpu, &want);
	}
	rql_scan_free(scan);
	rql_arena_free(arena);
}

static void test_random(void **state)
{
	(void)state;
	static const uint32_t sizes[] = {0, 1, 65, 4095, 4096, 4097, 9000, 20000};
	for (uint64_t seed = 1; seed <= CASES; seed++) {
		random_state = seed * UINT64_C(0x9e3779b97f4a7c15) + 5;
		struct table t;
		table_make(&t, sizes[seed % 8]);
		for (unsigned i = 0; i < 3; i++) {
			struct query q;
			query_make(&q, &t);
			compare(&q.request);
			query_free(&q);
		}
		table_free(&t);
	}
	print_message("cpu %u and %u, gpu %u and %u; %u with joins, %u with groups, %u refused\n", ran[0][0], ran[0][1],
	              ran[1][0], ran[1][1], joined, grouped, refused);
	assert_true(ran[0][0] && ran[0][1] && ran[1][0] && ran[1][1] && joined && grouped && shorter && untested);
}

int main(void)
{
	int skip = vulkan_skip_without(RQL_UNIT_COMPUTE);
	if (skip)
		return skip;
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_random)};
	return cmocka_run_group_tests(tests, open_device, close_device);
}

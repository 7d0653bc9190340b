/* Sieves on a Vulkan device: the same worlds as on the CPU (sieve_world.h), by each form of refinement on the unit that it
 * is for, with the validation layer watching; and a device that fails at each of its calls. */
#ifdef __SANITIZE_ADDRESS__
#define CASES 4u
#define NEXT_FAULT(at) ((at) + 1)
#else
#define CASES 8u
#define NEXT_FAULT(at) ((at) + 1 + (at) / 2) /* ASan, which sees what is not freed, has all of them */
#endif
#include "sieve_world.h"

#include "device/fault/fault.h"
#include "device/vulkan/vulkan_internal.h"
#include "method/sieve/gpu/sieve_gpu.h"
#include "method/sieve/gpu/sieve_rank.h"
#include "method/sieve/space/sieve_places.h"
#include "vulkan_fixture.h"

extern const struct rql_method rql_method_sieve_compute, rql_method_sieve_positions, rql_method_sieve_blocks,
	rql_method_sieve_rt, rql_method_sieve_raster;

static struct rql_devices *devices;
static struct rql_device *gpu;
static unsigned ran[RQL_SIEVE_REFINES], failed, asked_forms;
static uint64_t as_lists, beyond; /* blocks whose rows came as lists, and that had more of them */

static int open_device(void **state)
{
	const char *name = getenv("RAYQL_TEST_DEVICE");
	vulkan_keep_drivers();
	if (setenv("RAYQL_VULKAN_VALIDATION", "1", 0) != 0 || rql_devices_open(2, &devices, NULL) != RQL_OK)
		return -1;
	gpu = rql_devices_get(devices, name ? name : "vulkan:0");
	return gpu ? open_pools(state) : -1;
}

static int close_device(void **state)
{
	const uint64_t errors = rql_vulkan_validation_errors();
	const uint64_t left = rql_placements_bytes(gpu, false) + gpu->request_bytes; /* everything was given back */
	rql_devices_close(devices);
	return close_pools(state) || errors || left ? -1 : 0;
}

static const struct rql_method *method_of(enum rql_sieve_refine refine)
{
	const struct rql_method *own = refine >= RQL_SIEVE_RTC1     ? &rql_method_sieve_rt
	                               : refine == RQL_SIEVE_DRAWN ? &rql_method_sieve_raster
	                                                           : &rql_method_sieve_compute;
	return gpu->units[own->unit] ? own : &rql_method_sieve_compute;
}

static uint64_t tested, hits;

/* Whatever is tested was read, by rays only what they have hit; the passes leave the bitmap as it was. */
static void check_counts(const struct rql_prepared *p, const struct rql_selected *s)
{
	const bool traced = rql_sieve_is_traced(p->gpu->refine) && p->gpu->group_count;
	assert_true(traced || (!s->hits && !s->rays));
	assert_true(s->bytes >= s->tested && (!s->hits || (s->rays && s->tested)));
	assert_int_equal(s->rays, p->gpu->rays);
	if (p->gpu->lists)
		assert_true(s->forms[RQL_ROWS_LIST] + s->forms[RQL_ROWS_BITMAP] <= p->snapshot->blocks);
	else
		assert_int_equal(s->forms[RQL_ROWS_BITMAP], p->snapshot->blocks);
	tested += s->tested;
	hits += s->hits;
}

/* Puts the bits of blocks that have a list: its rows ascend, and nothing stands behind them. */
static void put_lists(const uint16_t *lists, uint64_t blocks, const struct rql_selected *s, uint64_t *bits)
{
	uint64_t found = 0, full = 0;
	for (uint64_t b = 0; b < blocks; b++) {
		const uint16_t *list = lists + b * RQL_ROWS_LIST_MOST;
		uint32_t count = 0;
		full += list[0] == RQL_ROWS_LIST_BITMAP;
		if (list[0] == RQL_ROWS_LIST_BITMAP)
			continue;
		memset(bits + b * RQL_SIEVE_WORDS, 0, RQL_SIEVE_WORDS * sizeof(*bits));
		for (; count < RQL_ROWS_LIST_MOST && list[count] != RQL_ROWS_LIST_END; count++) {
			assert_true(list[count] < RQL_STORE_BLOCK && (!count || list[count] > list[count - 1]));
			bits[b * RQL_SIEVE_WORDS + list[count] / 64] |= UINT64_C(1) << list[count] % 64;
		}
		found += count > 0;
		for (; count < RQL_ROWS_LIST_MOST; count++)
			assert_int_equal(list[count], RQL_ROWS_LIST_END);
	}
	assert_int_equal(s->forms[RQL_ROWS_LIST], found);
	assert_int_equal(s->forms[RQL_ROWS_BITMAP], full);
	as_lists += found;
	beyond += full;
}

static rql_status take_lists(const struct rql_rows *rows, uint64_t blocks, const struct rql_selected *s, uint64_t *bits,
                             struct rql_error *err)
{
	uint16_t *lists = need(malloc((blocks + 1) * RQL_ROWS_LIST_BYTES));
	rql_status status =
		rql_buffer_download(rows->buffer, rows->offset + rows->lists, lists, blocks * RQL_ROWS_LIST_BYTES, err);
	if (status == RQL_OK)
		put_lists(lists, blocks, s, bits);
	free(lists);
	return status;
}

/* Runs the stage alone and takes its rows. */
static rql_status rows_of_gpu(const struct rql_method *method, const struct rql_prepared *p, uint64_t *bits,
                              struct rql_error *err)
{
	struct rql_stage *stage = method->stage(p);
	struct rql_stage_context *x = NULL;
	struct rql_commands *commands = NULL;
	struct rql_rows rows = {0};
	struct rql_port port = {0};
	bool nothing = false;
	RQL_TRY(stage->ops->place(stage, NULL, &nothing, err));
	assert_false(nothing);
	rql_status status = stage->ops->open(stage, NULL, &x, err);
	if (status == RQL_OK)
		status = rql_commands_new(gpu, 0, &commands, err);
	if (status == RQL_OK)
		status = stage->ops->record(stage, x, commands, err);
	if (status == RQL_OK)
		status = rql_commands_end(commands, err);
	if (status == RQL_OK)
		status = rql_commands_run(commands, NULL, err);
	if (status == RQL_OK)
		status = stage->ops->count(stage, x, &port, err);
	if (status == RQL_OK)
		check_counts(p, &port.selected);
	if (status == RQL_OK)
		stage->ops->rows(stage, x, &rows);
	if (status == RQL_OK && p->snapshot->blocks)
		status = rql_buffer_download(rows.buffer, rows.offset, bits, p->snapshot->blocks * RQL_SIEVE_WORDS * 8, err);
	if (status == RQL_OK && p->snapshot->blocks && rows.lists)
		status = take_lists(&rows, p->snapshot->blocks, &port.selected, bits, err);
	rql_commands_free(commands);
	if (x)
		stage->ops->close(stage, x);
	return status;
}

static void same_bits(const struct rql_store_snapshot *snapshot, const uint64_t *have, const uint64_t *want)
{
	for (uint64_t b = 0; b < snapshot->blocks; b++) {
		const struct rql_store_segment *segment = rql_store_locate(snapshot, b);
		const uint32_t rows = segment->columns[0].blocks[b - segment->first_block].rows;
		for (uint32_t r = 0; r < rows; r++) {
			const uint64_t at = b * RQL_SIEVE_WORDS + r / 64;
			if ((have[at] ^ want[at]) >> r % 64 & 1)
				fail_msg("block %llu, row %u: not %u", (unsigned long long)b, r, (unsigned)(want[at] >> r % 64 & 1));
		}
	}
}

static void in_form(const struct rql_request *request, const struct rql_method *method, const uint64_t *want)
{
	struct rql_prepared *p = NULL;
	struct rql_error err = {0};
	struct rql_cost cost;
	uint64_t *bits = need(calloc(request->snapshot->blocks * RQL_SIEVE_WORDS + 1, sizeof(*bits)));
	assert_int_not_equal(method->offer(request, gpu, NULL), RQL_OFFER_NO);
	ok(method->prepare(request, gpu, &p, &err), &err);
	method->price(p, gpu, &cost);
	assert_true(cost.run_ns > 0 && cost.device_bytes >= cost.placed_bytes);
	for (unsigned again = 0; again < 2; again++) { /* placed, and there already */
		ok(rows_of_gpu(method, p, bits, &err), &err);
		same_bits(request->snapshot, bits, want);
	}
	method->price(p, gpu, &cost);
	assert_true(cost.setup_ns == 0 && method->bytes(p) > sizeof(*p));
	method->free(p);
	free(bits);
}

/* What sieves leave to RayQL is answered in three ways, which are priced apart; of other forms there is one. */
static void in_each_form(const struct rql_request *request, enum rql_sieve_refine refine, const uint64_t *want)
{
	static const struct rql_method *const automatic[] = {&rql_method_sieve_compute, &rql_method_sieve_positions,
	                                                     &rql_method_sieve_blocks};
	if (refine != RQL_SIEVE_AUTO) {
		for (unsigned m = 1; m < 3; m++)
			assert_int_equal(automatic[m]->offer(request, gpu, NULL), RQL_OFFER_NO);
		in_form(request, method_of(refine), want);
		return;
	}
	const struct rql_method *method = automatic[ran[RQL_SIEVE_AUTO] % 3];
	struct rql_prepared *p = NULL;
	struct rql_error err = {0};
	ok(method->prepare(request, gpu, &p, &err), &err);
	assert_int_equal(p->gpu->refine, RQL_SIEVE_VALUES + ran[RQL_SIEVE_AUTO] % 3);
	method->free(p);
	in_form(request, method, want);
}

/* The same sieves in a form; the other columns' are left as they are where `some` is set. */
static void give_form(const struct rql_request *request, enum rql_sieve_refine refine, bool some,
                      struct rql_index_of *out)
{
	for (uint32_t i = 0; i < request->index_count; i++) {
		out[i] = request->indexes[i];
		out[i].sieve.interval = 40 + asked_forms * 7 % 61; /* nearer rays are too many for lavapipe */
		out[i].sieve.spacing = asked_forms * 13 % 101;
		out[i].sieve.by_value = asked_forms / 3 % 4 == 0;
		out[i].sieve.rows = (enum rql_sieve_rows)(asked_forms / RQL_SIEVE_REFINES % RQL_SIEVE_ROWS_FORMS);
		if (!some || i % 2 == asked_forms / 2 % 2 || (refine != RQL_SIEVE_AUTO && refine < RQL_SIEVE_RTC1))
			out[i].sieve.refine = refine;
		else
			out[i].sieve.refine = RQL_SIEVE_RTC1 + asked_forms % 4;
	}
}

static void on_gpu(const struct rql_request *request, const uint64_t *want)
{
	struct rql_index_of of[COLUMNS];
	struct rql_request asked = *request;
	asked.indexes = of;
	static unsigned large;
	if (request->snapshot->rows > 20000 && large++ % 3) /* lavapipe takes its time */
		return;
	const enum rql_sieve_refine refine = asked_forms % RQL_SIEVE_REFINES;
	give_form(request, refine, refine && asked_forms % 5 == 0, of);
	asked_forms++;
	/* Where places are values, skew puts most rows in one: each of many rays then meets all (RTScan 3.2). */
	const bool by_value = refine == RQL_SIEVE_RTC1 || refine == RQL_SIEVE_RTC3 ||
	                      (refine == RQL_SIEVE_MATRIX && of[0].sieve.by_value);
	if (by_value && request->snapshot->rows > 20000)
		return;
	in_each_form(&asked, refine, want);
	ran[refine]++;
}

/* Whichever call fails, the error is the device's, nothing is lost, and the next run is right. */
static void fail_each(const struct rql_request *request, const uint64_t *want)
{
	static const enum rql_fault_kind faults[] = {RQL_FAULT_ALLOCATION, RQL_FAULT_SUBMISSION, RQL_FAULT_WAIT};
	const struct rql_method *method = method_of(request->indexes[0].sieve.refine);
	uint64_t *bits = need(calloc(request->snapshot->blocks * RQL_SIEVE_WORDS + 1, sizeof(*bits)));
	for (unsigned f = 0; f < 3; f++)
		for (uint64_t at = 1; at < 60; at = NEXT_FAULT(at)) {
			struct rql_prepared *p = NULL;
			struct rql_error err = {0};
			rql_placements_drop(request->snapshot->segments[0].identity);
			ok(method->prepare(request, gpu, &p, &err), &err);
			ok(rql_fault_set(gpu, faults[f], at, &err), &err);
			rql_status status = rows_of_gpu(method, p, bits, &err);
			const bool reached = rql_fault_count(gpu, faults[f]) >= at;
			rql_fault_remove(gpu);
			failed += status != RQL_OK;
			rql_error_clear(&err);
			if (status != RQL_OK)
				ok(rows_of_gpu(method, p, bits, &err), &err);
			same_bits(request->snapshot, bits, want);
			method->free(p);
			if (!reached)
				break;
		}
	free(bits);
}

static void test_faults(void **state)
{
	(void)state;
	int64_t values[9000];
	bool pass[9000];
	random_state = 12;
	for (uint32_t r = 0; r < 9000; r++)
		values[r] = (int64_t)roll(1u << 20);
	struct column x = column_of(RQL_TYPE_BIGINT, values, 8, 9000);
	struct rql_device device = cpu(RQL_SIMD_AVX2, 0);
	struct rql_index_of of = {.form = RQL_INDEX_SIEVE, .sieve = {.vectors = 26, .components = 2}};
	struct rql_conjunct c = {.test = RQL_TEST_IN_RANGE, .least = 1000, .greatest = 700000};
	const struct rql_request request = {.snapshot = x.snapshot,
	                                    .index_count = 1,
	                                    .indexes = &of,
	                                    .wants = RQL_PORT_ROWS,
	                                    .conjunct_count = 1,
	                                    .conjuncts = &c};
	for (uint32_t r = 0; r < 9000; r++)
		pass[r] = c.least <= values[r] && values[r] <= c.greatest;
	also = fail_each;
	for (of.sieve.refine = RQL_SIEVE_VALUES; of.sieve.refine < RQL_SIEVE_REFINES; of.sieve.refine++) {
		failed = 0;
		of.sieve.interval = of.sieve.spacing = 100;
		check_rows(&request, &device, pass);
		assert_true(failed > 5);
	}
	also = on_gpu;
	column_free(&x);
}

/* Keys of a segment's rows by number, and the numbers of those that have one, ascending by key. */
struct sorted {
	uint64_t *keys;
	uint32_t *rows;
	uint32_t count;
};
static const uint64_t *keys_to_sort;

static int by_key(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const uint64_t p = keys_to_sort[x], q = keys_to_sort[y];
	return p != q ? (p > q) - (p < q) : (x > y) - (x < y);
}

static struct sorted sort_segment(const struct rql_store_segment *segment, const struct rql_store_view *view)
{
	const struct rql_store_kernels *kernels = rql_store_kernels_for(RQL_SIMD_PORTABLE);
	struct sorted s = {.keys = need(calloc(segment->blocks, RQL_STORE_BLOCK * sizeof(*s.keys))),
	                   .rows = need(calloc(segment->blocks, RQL_STORE_BLOCK * sizeof(*s.rows)))};
	for (uint32_t b = 0; b < segment->blocks; b++) {
		uint64_t valid[RQL_SIEVE_WORDS];
		rql_sieve_decode(kernels, view, b, 0, view->blocks[b].rows, s.keys + (uint64_t)b * RQL_STORE_BLOCK, valid);
		for (uint32_t r = 0; r < view->blocks[b].rows; r++)
			if (valid[r / 64] >> r % 64 & 1)
				s.rows[s.count++] = b * RQL_STORE_BLOCK + r;
	}
	keys_to_sort = s.keys;
	qsort(s.rows, s.count, sizeof(*s.rows), by_key);
	return s;
}

static void sorted_free(struct sorted *s)
{
	free(s->keys);
	free(s->rows);
}

/* The device sorts a segment's rows, equal keys and marks included. */
static uint64_t same_order(const struct table *t, uint32_t segment, const struct rql_index_of *of,
                           struct rql_device *device)
{
	const struct rql_store_view *view = &t->snapshot->segments[segment].columns[of->column];
	struct sorted sorted = sort_segment(&t->snapshot->segments[segment], view);
	struct rql_sieve_placed *placed;
	struct rql_sieve_axis have;
	struct rql_buffer *rows;
	struct rql_error err = {0};
	uint64_t uploaded = 0;
	ok(rql_sieve_placed_get(t->snapshot, segment, of, gpu, device, NULL, &uploaded, &placed, &err), &err);
	ok(rql_sieve_rank(placed, view, gpu, NULL, &rows, &have, &err), &err);
	assert_true(have.size == sorted.count && have.mark_count == (sorted.count + RQL_SIEVE_MARK - 1) / RQL_SIEVE_MARK);
	if (sorted.count)
		assert_true(have.least == sorted.keys[sorted.rows[0]] &&
		            have.greatest == sorted.keys[sorted.rows[sorted.count - 1]]);
	for (uint32_t m = 0; m < have.mark_count; m++)
		assert_true(have.marks[m] == sorted.keys[sorted.rows[m * RQL_SIEVE_MARK]]);
	uint32_t *list = need(calloc(sorted.count + 1u, sizeof(*list)));
	ok(rql_buffer_download(rows, 0, list, sorted.count * sizeof(*list), &err), &err);
	for (uint32_t i = 0; i < sorted.count; i++)
		if (list[i] != sorted.rows[i])
			fail_msg("column %u, rank %u: row %u instead of %u", of->column, i, list[i], sorted.rows[i]);
	const uint64_t count = sorted.count;
	free(list);
	rql_buffer_free(rows);
	rql_sieve_axis_free(&have);
	rql_placement_release(&placed->placement);
	sorted_free(&sorted);
	return count;
}

/* Where each number of a segment is on an axis: of a row by its key, NULL behind all, of no row where the block's first
 * is. */
static void same_places(const struct table *t, uint32_t segment, const struct rql_index_of *of,
                        enum rql_sieve_axis_kind kind, struct rql_device *device)
{
	const struct rql_store_segment *s = &t->snapshot->segments[segment];
	const struct rql_store_view *view = &s->columns[of->column];
	struct sorted sorted = sort_segment(s, view);
	struct rql_sieve_axis axis = {0};
	struct rql_buffer *places;
	struct rql_error err = {0};
	uint64_t uploaded = 0;
	const uint32_t numbers = rql_sieve_numbers(s);
	const struct rql_sieve_places_of asked = {.snapshot = t->snapshot, .segment = segment, .of = of, .axis_count = 1,
	                                          .kind = kind, .gpu = gpu, .cpu = device, .uploaded = &uploaded};
	uint32_t *have = need(calloc(numbers, sizeof(*have))), *want = need(calloc(numbers, sizeof(*want)));
	ok(rql_sieve_places_make(&asked, &axis, &places, &err), &err);
	ok(rql_buffer_download(places, 0, have, numbers * sizeof(*have), &err), &err);
	assert_true((axis.size > 0) == (sorted.count > 0));
	for (uint32_t i = 0; i < numbers; i++)
		want[i] = axis.size;
	for (uint32_t i = 0; i < sorted.count; i++) {
		const uint64_t key = sorted.keys[sorted.rows[i]];
		want[sorted.rows[i]] = kind == RQL_SIEVE_BY_RANK  ? i
		                       : kind == RQL_SIEVE_BY_BIN ? rql_sieve_bin_of(&axis.bins, key)
		                                                  : (uint32_t)((key - axis.least) >> axis.shift);
	}
	for (uint32_t i = 0; i < numbers; i++) {
		const uint32_t first = i / RQL_STORE_BLOCK * RQL_STORE_BLOCK;
		const bool there = i - first < view->blocks[i / RQL_STORE_BLOCK].rows;
		if (have[i] != want[there ? i : first] || have[i] > axis.size)
			fail_msg("column %u, number %u, kind %u: place %u instead of %u", of->column, i, kind, have[i],
			         want[there ? i : first]);
	}
	rql_buffer_free(places);
	rql_sieve_axis_free(&axis);
	sorted_free(&sorted);
	free(have);
	free(want);
}

static void test_order(void **state)
{
	static const uint32_t sizes[] = {1, 65, 4097, 20000};
	uint64_t sorted = 0;
	(void)state;
	for (uint64_t seed = 0; seed < 4; seed++) {
		struct rql_index_of of[COLUMNS];
		struct rql_device device = cpu(RQL_SIMD_AVX2, 1);
		struct table t;
		random_state = seed * 77 + 5;
		table_make(&t, sizes[seed]);
		forms_of(t.snapshot, of);
		for (uint32_t s = 0; s < t.snapshot->segment_count; s++)
			for (uint32_t c = 0; c < t.snapshot->column_count; c++)
				if (rql_sieve_can(&t.snapshot->columns[c])) {
					sorted += same_order(&t, s, &of[c], &device);
					same_places(&t, s, &of[c], (enum rql_sieve_axis_kind)((s + c) % 3), &device);
				}
		table_free(&t);
	}
	assert_true(sorted > 100000);
}

static double price_of(const struct rql_method *method, const struct rql_request *request)
{
	struct rql_prepared *p = NULL;
	struct rql_error err = {0};
	struct rql_cost cost;
	ok(method->prepare(request, gpu, &p, &err), &err);
	method->price(p, gpu, &cost);
	method->free(p);
	return cost.run_ns;
}

/* Of few vectors many rows stay open, and blocks read least of them; of many vectors values are cheaper. */
static void test_prices(void **state)
{
	(void)state;
	static int64_t values[300000];
	const struct rql_profile own = gpu->profile;
	gpu->profile.read_gbps = 4300; /* as of an H200 */
	gpu->profile.scan.tested_row_ns = 0.001;
	random_state = 5;
	for (uint32_t r = 0; r < 300000; r++)
		values[r] = (int64_t)roll(1u << 30);
	struct column x = column_of(RQL_TYPE_BIGINT, values, 8, 300000);
	struct rql_index_of of = {.form = RQL_INDEX_SIEVE, .sieve = {.vectors = 2, .components = 1}};
	struct rql_conjunct c = {.test = RQL_TEST_IN_RANGE, .least = -1, .greatest = 400000000};
	const struct rql_request request = {.snapshot = x.snapshot,
	                                    .index_count = 1,
	                                    .indexes = &of,
	                                    .wants = RQL_PORT_ROWS,
	                                    .conjunct_count = 1,
	                                    .conjuncts = &c};
	const double few = price_of(&rql_method_sieve_blocks, &request);
	assert_true(few < price_of(&rql_method_sieve_compute, &request));
	assert_true(few < price_of(&rql_method_sieve_positions, &request));
	of.sieve.vectors = 1000;
	assert_true(price_of(&rql_method_sieve_compute, &request) < price_of(&rql_method_sieve_blocks, &request));
	gpu->profile = own;
	column_free(&x);
}

int main(void)
{
	const int skip = vulkan_skip_without(RQL_UNIT_COMPUTE);
	if (skip)
		return skip;
	also = on_gpu;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wide_keys), cmocka_unit_test(test_random), cmocka_unit_test(test_reals),
		cmocka_unit_test(test_integers),  cmocka_unit_test(test_order),  cmocka_unit_test(test_prices),
		cmocka_unit_test(test_faults),
	};
	const int result = cmocka_run_group_tests(tests, open_device, close_device);
	for (unsigned r = 0; r < RQL_SIEVE_REFINES; r++)
		printf("form %u: %u requests on the device\n", r, ran[r]);
	printf("%llu blocks came as lists, %llu had more rows\n", (unsigned long long)as_lists, (unsigned long long)beyond);
	return result || ran[RQL_SIEVE_AUTO] < 3 || !ran[RQL_SIEVE_VALUES] || !ran[RQL_SIEVE_CELLS] || !tested || !as_lists ||
	       !beyond;
}

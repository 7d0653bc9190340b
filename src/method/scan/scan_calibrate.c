/* The cost constants of scans: small requests over a made-up store, each dominated by one constant (scan_cost.c and
 * scan_compute_price.c have the formulas that they go into). The CPU's store is larger than the second-level cache. */
#include "expr/building/build.h"
#include "method/scan/scan_query.h"

#include <math.h>

#define ROWS (UINT64_C(1) << 20)
#define GPU_ROWS (UINT64_C(1) << 22)
#define SOFTWARE_ROWS (UINT64_C(1) << 18)
#define BATCH 65536u
#define SMALL 1000u       /* values of column 0 */
#define KEYS 65536u       /* of column 1 */
#define VALUES (1u << 24) /* of column 2 */
#define COLUMNS 3u
/* Runs of a request: for so long, but so many. */
#define LEAST_RUNS 3u
#define SHORT_NS 4000000u
#define THOROUGH_NS 40000000u

struct rig {
	struct rql_store *store;
	const struct rql_store_snapshot *snapshot;
	struct rql_map *map; /* every other key */
	struct rql_arena *arena;
	struct rql_device device;    /* the CPU with one thread */
	struct rql_program *program; /* over columns 2 and 0 */
};

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 31) * UINT64_C(0x9e3779b97f4a7c15);
	return x ^ x >> 29;
}

static rql_status make_store(struct rig *rig, uint64_t rows, struct rql_error *err)
{
	const struct rql_type type = rql_type_simple(RQL_TYPE_INTEGER);
	struct rql_type types[COLUMNS] = {type, type, type};
	struct rql_store_column_spec columns[COLUMNS];
	const char *names[COLUMNS] = {"a", "k", "v"};
	for (uint32_t c = 0; c < COLUMNS; c++)
		columns[c] = (struct rql_store_column_spec){
			.name = names[c], .type = type, .coding = RQL_STORE_VALUES, .encoding = RQL_STORE_PACKED};
	struct rql_store_spec spec = {.name = "calibration", .column_count = COLUMNS, .columns = columns};
	struct rql_store_builder *builder;
	RQL_TRY(rql_store_builder_new(&spec, &builder, err));
	for (uint64_t row = 0; row < rows; row += BATCH) {
		struct rql_batch *batch = rql_batch_new(COLUMNS, types, BATCH);
		rql_status status = batch ? RQL_OK : rql_error_memory(err, BATCH * 12, "calibrating scans");
		for (uint64_t i = 0; batch && i < BATCH; i++) {
			uint64_t random = mix(row + i + 1);
			((int32_t *)batch->columns[0].data)[i] = (int32_t)(random % SMALL);
			((int32_t *)batch->columns[1].data)[i] = (int32_t)(random / SMALL % KEYS);
			((int32_t *)batch->columns[2].data)[i] = (int32_t)(random >> 32 & (VALUES - 1));
		}
		if (status == RQL_OK)
			status = rql_store_builder_add(builder, 0, batch, NULL, err);
		rql_batch_release(batch);
		if (status != RQL_OK) {
			rql_store_builder_abort(builder);
			return status;
		}
	}
	RQL_TRY(rql_store_builder_finish(builder, &rig->store, err));
	rig->snapshot = rql_store_snapshot(rig->store);
	return RQL_OK;
}

static rql_status make_map(struct rig *rig, struct rql_error *err)
{
	int64_t *keys = RQL_NEW_ARRAY(rig->arena, int64_t, KEYS / 2);
	int32_t *payloads = RQL_NEW_ARRAY(rig->arena, int32_t, KEYS / 2);
	if (!keys || !payloads)
		return rql_error_memory(err, KEYS * 6, "calibrating scans");
	for (uint32_t i = 0; i < KEYS / 2; i++) {
		keys[i] = 2 * (int64_t)i;
		payloads[i] = (int32_t)(i % SMALL);
	}
	return rql_map_build(keys, payloads, KEYS / 2, &rig->map, err);
}

/* p := v * a - v, greatest of p and v + a, times a: what queries are made of, as BIGINT. */
static rql_status make_program(struct rig *rig, struct rql_error *err)
{
	const struct rql_type type = rql_type_simple(RQL_TYPE_BIGINT);
	struct rql_builder *b = rql_builder_new(rig->arena);
	if (!b)
		return rql_error_memory(err, 1024, "calibrating scans");
	struct rql_input_spec input = {.type = type, .kind = RQL_LANE_I64, .bounds = {0, VALUES}};
	rql_value_number v = rql_build_input(b, &input);
	input.column = 1;
	input.bounds.high = SMALL;
	rql_value_number a = rql_build_input(b, &input);
	rql_value_number p = rql_build_arithmetic(b, "-", rql_build_arithmetic(b, "*", v, a, type, true), v, type, true);
	rql_value_number q = rql_build_arithmetic(b, "+", v, a, type, true);
	rql_value_number most = rql_build_choose(b, rql_build_compare(b, RQL_STEP_LT, p, q), q, p);
	rql_value_number result = rql_build_arithmetic(b, "*", most, a, type, true);
	return rql_builder_finish(b, &result, 1, &rig->program, err);
}

/* Least processor time of the runs of budget_ns: with one thread that is what they take on a machine that does nothing
 * else. */
static rql_status time_request(struct rig *rig, struct rql_request *request, uint64_t budget_ns, double *ns,
                               struct rql_scan_counts *counts, struct rql_error *err)
{
	struct rql_scan *scan;
	request->snapshot = rig->snapshot;
	RQL_TRY(rql_scan_prepare(request, &rig->device, &scan, err));
	rql_status status = RQL_OK;
	uint64_t best = UINT64_MAX, used = 0;
	for (unsigned r = 0; (r < LEAST_RUNS || used < budget_ns) && status == RQL_OK; r++) {
		struct rql_arena *arena = rql_arena_new();
		struct rql_port answer;
		uint64_t start = rql_thread_ns();
		status = arena ? rql_scan_run(scan, &rig->device, NULL, arena, NULL, &answer, counts, err)
		               : rql_error_memory(err, 4096, "calibrating scans");
		uint64_t took = rql_thread_ns() - start;
		best = took < best ? took : best;
		used += took;
		rql_arena_free(arena);
	}
	rql_scan_free(scan);
	*ns = (double)best;
	return status;
}

/* Never 0 and never absurd: a price must stay comparable. */
static double clamp(double value, double least, double most)
{
	return value >= least ? value > most ? most : value : least;
}

enum { SKIPPED, TESTED, SUMMED, FEW_COUNTED, FEW, SOME, PROBED, GROUPED, MANY, STEPS, REQUESTS };

/* Columns that are summed where few rows are left cost something a block and something a row: two shares tell which. */
static void settle(const double *ns, const struct rql_scan_counts *counts, double steps, struct rql_scan_profile *out)
{
	double rows = (double)ROWS, few = (double)counts[FEW].rows_passed, some = (double)counts[SOME].rows_passed;
	double few_ns = (ns[FEW] - ns[FEW_COUNTED]) / COLUMNS, some_ns = (ns[SOME] - ns[FEW_COUNTED]) / COLUMNS;
	out->block_ns = clamp(ns[SKIPPED] / (double)counts[SKIPPED].blocks, 2, 5000);
	out->test_ns = clamp((ns[TESTED] - ns[SKIPPED]) / (2 * rows), 0.01, 20);
	out->value_ns = clamp((ns[SUMMED] - ns[SKIPPED]) / (COLUMNS * rows), 0.02, 20);
	out->gather_ns = clamp((some_ns - few_ns) / (some - few), 0.1, 50);
	out->touch_ns = clamp((few_ns - few * out->gather_ns) / (double)counts[FEW].blocks, 10, 5000);
	out->probe_ns = clamp(ns[PROBED] / rows - out->value_ns, 0.05, 50);
	out->row_ns = clamp(ns[GROUPED] / rows - 2 * out->value_ns, 0.2, 50);
	out->group_ns = clamp((ns[MANY] - ns[GROUPED]) / (KEYS - SMALL), 1, 1000);
	out->step_ns = clamp((ns[STEPS] / rows - 2 * out->value_ns) / steps, 0.02, 20);
}

static rql_status measure(struct rig *rig, uint64_t budget_ns, struct rql_scan_profile *out, struct rql_error *err)
{
	struct rql_conjunct nothing = {.test = RQL_TEST_IN_RANGE, .least = SMALL, .greatest = SMALL};
	struct rql_conjunct halves[2] = {{.test = RQL_TEST_IN_RANGE, .greatest = SMALL / 2 - 1},
	                                 {.test = RQL_TEST_IN_RANGE, .index = 1, .greatest = KEYS / 2 - 1}};
	struct rql_conjunct few = {.test = RQL_TEST_IN_RANGE, .greatest = SMALL / 100 - 1};
	struct rql_conjunct some = {.test = RQL_TEST_IN_RANGE, .greatest = SMALL / 10 - 1};
	struct rql_lookup semi = {.kind = RQL_LOOKUP_SEMI, .column = 1, .map = rig->map};
	struct rql_source inputs[2] = {{.index = 2}, {.index = 0}}, computed = {.kind = RQL_SOURCE_PROGRAM};
	struct rql_row_program program = {.program = rig->program, .inputs = inputs};
	struct rql_group_key by_small = {.source = {.index = 0}, .key_count = SMALL, .null_key = RQL_NONE};
	struct rql_group_key by_key = {.source = {.index = 1}, .key_count = KEYS, .null_key = RQL_NONE};
	struct rql_agg count = {.kind = RQL_AGG_COUNT_STAR}, sums[COLUMNS];
	for (uint32_t c = 0; c < COLUMNS; c++)
		sums[c] = (struct rql_agg){.kind = RQL_AGG_SUM, .source = {.index = COLUMNS - 1 - c}};
	struct rql_agg sum_computed = {.kind = RQL_AGG_SUM, .source = computed};
	struct rql_request requests[REQUESTS] = {
		[SKIPPED] = {.conjunct_count = 1, .conjuncts = &nothing, .agg_count = 1, .aggs = &count},
		[TESTED] = {.conjunct_count = 2, .conjuncts = halves, .agg_count = 1, .aggs = &count},
		[SUMMED] = {.agg_count = COLUMNS, .aggs = sums},
		[FEW_COUNTED] = {.conjunct_count = 1, .conjuncts = &few, .agg_count = 1, .aggs = &count},
		[FEW] = {.conjunct_count = 1, .conjuncts = &few, .agg_count = COLUMNS, .aggs = sums},
		[SOME] = {.conjunct_count = 1, .conjuncts = &some, .agg_count = COLUMNS, .aggs = sums},
		[PROBED] = {.lookup_count = 1, .lookups = &semi, .agg_count = 1, .aggs = &count},
		[GROUPED] = {.group_count = 1, .groups = &by_small, .agg_count = 1, .aggs = sums},
		[MANY] = {.group_count = 1, .groups = &by_key, .agg_count = 1, .aggs = sums},
		[STEPS] = {.program_count = 1, .programs = &program, .agg_count = 1, .aggs = &sum_computed},
	};
	double ns[REQUESTS];
	struct rql_scan_counts counts[REQUESTS];
	for (unsigned i = 0; i < REQUESTS; i++)
		RQL_TRY(time_request(rig, &requests[i], budget_ns, &ns[i], &counts[i], err));
	settle(ns, counts, rig->program->step_count, out);
	return RQL_OK;
}

static void free_rig(struct rig *rig)
{
	rql_map_free(rig->map);
	rql_store_snapshot_release(rig->snapshot);
	rql_store_release(rig->store);
	rql_pool_free(rig->device.pool);
	rql_arena_free(rig->arena);
}

rql_status rql_scan_calibrate(const struct rql_device *device, bool thorough, struct rql_scan_profile *out,
                              struct rql_error *err)
{
	struct rig rig = {.arena = rql_arena_new()};
	rql_status status = rig.arena ? RQL_OK : rql_error_memory(err, 4096, "calibrating scans");
	struct rql_scan_profile measured = *out;
	rig.device.units[RQL_UNIT_CPU] = true;
	rig.device.simd = device->simd;
	if (status == RQL_OK)
		status = rql_pool_new(1, &rig.device.pool, err);
	if (status == RQL_OK)
		status = make_store(&rig, ROWS, err);
	if (status == RQL_OK)
		status = make_map(&rig, err);
	if (status == RQL_OK)
		status = make_program(&rig, err);
	if (status == RQL_OK)
		status = measure(&rig, thorough ? THOROUGH_NS : SHORT_NS, &measured, err);
	if (status == RQL_OK)
		*out = measured;
	free_rig(&rig);
	return status;
}

/* ---- a GPU ---- */

#define SMALL_ROWS BATCH /* what takes no time beside the run itself */
#define MOST_RUNS 2000u
#define GPU_SHORT_NS 20000000u /* of runs: one that was idle needs some until its clock is what it will be */
#define GPU_THOROUGH_NS 100000000u
#define OPERATIONS 12u

extern const struct rql_method rql_method_scan_compute;

/* Least times of some runs; first: of the run that places columns and makes the pipeline. */
struct gpu_timing {
	double first_ns, wall_ns, device_ns, groups;
};

/* Additions and subtractions as the clock has it: a pipeline of this shape is in no driver's cache. */
static rql_status make_shape(struct rig *rig, struct rql_error *err)
{
	const struct rql_type type = rql_type_simple(RQL_TYPE_BIGINT);
	struct rql_builder *b = rql_builder_new(rig->arena);
	if (!b)
		return rql_error_memory(err, 1024, "calibrating scans");
	struct rql_input_spec input = {.type = type, .kind = RQL_LANE_I64, .bounds = {0, VALUES}};
	rql_value_number v = rql_build_input(b, &input), sum = v;
	uint64_t shape = mix(rql_now_ns());
	for (unsigned i = 0; i < OPERATIONS; i++)
		sum = rql_build_arithmetic(b, shape >> i & 1 ? "-" : "+", i % 2 ? v : sum, i % 2 ? sum : v, type, true);
	return rql_builder_finish(b, &sum, 1, &rig->program, err);
}

static rql_status run_once(const struct rql_prepared *prepared, struct rql_device *device, double *wall_ns,
                           double *device_ns, double *groups, struct rql_error *err)
{
	struct rql_arena *arena = rql_arena_new();
	struct rql_port answer = {0};
	if (!arena)
		return rql_error_memory(err, 4096, "calibrating scans");
	uint64_t start = rql_now_ns();
	rql_status status = rql_method_scan_compute.run(
		prepared, device, &(struct rql_run){.flags = RQL_RUN_TIMED, .arena = arena}, &answer, err);
	*wall_ns = (double)(rql_now_ns() - start);
	*device_ns = answer.device_ns;
	*groups = (double)answer.group_count;
	rql_arena_free(arena);
	return status;
}

static rql_status time_on(struct rig *rig, struct rql_device *device, struct rql_request *request, bool thorough,
                          struct gpu_timing *out, struct rql_error *err)
{
	struct rql_prepared *prepared = NULL;
	const char *why = "it cannot answer a scan";
	double wall, on_device;
	request->snapshot = rig->snapshot;
	if (rql_method_scan_compute.offer(request, device, &why) != RQL_OFFER_FULL)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "scans cannot be measured on %s: %s", device->id, why);
	RQL_TRY(rql_method_scan_compute.prepare(request, device, &prepared, err));
	rql_status status = run_once(prepared, device, &out->first_ns, &on_device, &out->groups, err);
	uint64_t until = rql_now_ns() + (thorough ? GPU_THOROUGH_NS : GPU_SHORT_NS);
	out->wall_ns = out->device_ns = HUGE_VAL;
	for (unsigned i = 0; status == RQL_OK && i < MOST_RUNS && (i < LEAST_RUNS || rql_now_ns() < until); i++) {
		status = run_once(prepared, device, &wall, &on_device, &out->groups, err);
		out->wall_ns = fmin(out->wall_ns, wall);
		out->device_ns = fmin(out->device_ns, on_device);
	}
	rql_method_scan_compute.free(prepared);
	return status;
}

/* Two tests that no row passes, and all rows into groups, each beside a store of nearly nothing. */
static rql_status measure_gpu(struct rig *large, struct rig *small, struct rql_device *device, bool thorough,
                              struct rql_scan_profile *out, struct rql_error *err)
{
	struct rql_conjunct tests[2] = {{.test = RQL_TEST_IN_RANGE, .greatest = SMALL / 2 - 1},
	                                {.test = RQL_TEST_IN_RANGE, .index = 2, .least = 12345, .greatest = 12345}};
	struct rql_source v = {.index = 2};
	struct rql_row_program program = {.program = large->program, .inputs = &v};
	struct rql_group_key key = {.source = {.index = 0}, .key_count = SMALL, .null_key = RQL_NONE};
	struct rql_agg count = {.kind = RQL_AGG_COUNT_STAR};
	struct rql_agg sum = {.kind = RQL_AGG_SUM, .source = {.kind = RQL_SOURCE_PROGRAM}};
	struct rql_request filter = {.conjunct_count = 2, .conjuncts = tests, .agg_count = 1, .aggs = &count};
	struct rql_request dense = {
		.program_count = 1, .programs = &program, .group_count = 1, .groups = &key, .agg_count = 1, .aggs = &sum};
	struct gpu_timing idle, filtered, few, grouped;
	RQL_TRY(time_on(small, device, &filter, thorough, &idle, err));
	RQL_TRY(time_on(large, device, &filter, thorough, &filtered, err));
	RQL_TRY(time_on(large, device, &dense, thorough, &grouped, err));
	RQL_TRY(time_on(small, device, &dense, thorough, &few, err));
	double rows = (double)(large->snapshot->rows - small->snapshot->rows), groups = few.groups;
	out->tested_row_ns = clamp((filtered.device_ns - idle.device_ns) / rows, 1e-5, 100);
	out->taken_row_ns = clamp((grouped.device_ns - few.device_ns) / rows, 1e-4, 1000);
	out->compile_ns = clamp(grouped.first_ns - grouped.wall_ns, 1e6, 1e10);
	/* What the host does to its one row, the other request's runs have, too. */
	out->answer_group_ns = clamp((few.wall_ns - few.device_ns - (idle.wall_ns - idle.device_ns)) / groups, 2, 1000);
	return RQL_OK;
}

rql_status rql_scan_calibrate_gpu(struct rql_device *device, bool thorough, struct rql_scan_profile *out,
                                  struct rql_error *err)
{
	struct rig large = {.arena = rql_arena_new()}, small = {0};
	struct rql_scan_profile measured = *out;
	rql_status status = large.arena ? RQL_OK : rql_error_memory(err, 4096, "calibrating scans");
	if (status == RQL_OK)
		status = make_shape(&large, err);
	if (status == RQL_OK)
		status = make_store(&large, device->kind == RQL_DEVICE_SOFTWARE ? SOFTWARE_ROWS : GPU_ROWS, err);
	if (status == RQL_OK)
		status = make_store(&small, SMALL_ROWS, err);
	if (status == RQL_OK)
		status = measure_gpu(&large, &small, device, thorough, &measured, err);
	if (status == RQL_OK)
		*out = measured;
	free_rig(&large);
	free_rig(&small);
	return status;
}

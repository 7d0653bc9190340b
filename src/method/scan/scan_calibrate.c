/* The cost constants of scans on this CPU: small requests over a made-up store that is larger than the second-level
 * cache, each dominated by one constant (scan_cost.c has the formulas that they go into). */
#include "method/scan/scan_query.h"
#include "expr/build.h"

#include <stdlib.h>

#define ROWS (UINT64_C(1) << 20)
#define BATCH 65536u
#define SMALL 1000u       /* values of column 0 */
#define KEYS 65536u       /* of column 1 */
#define VALUES (1u << 24) /* of column 2 */

struct rig {
	struct rql_store *store;
	const struct rql_store_snapshot *snapshot;
	struct rql_scan_map *map; /* every other key */
	struct rql_arena *arena;
	struct rql_device device;    /* a copy with one thread */
	struct rql_program *program; /* 8 steps or so over column 2 */
};

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 31) * UINT64_C(0x9e3779b97f4a7c15);
	return x ^ x >> 29;
}

static rql_status make_store(struct rig *rig, struct rql_error *err)
{
	const struct rql_type type = rql_type_simple(RQL_TYPE_INTEGER);
	struct rql_type types[3] = {type, type, type};
	struct rql_store_column_spec columns[3];
	const char *names[3] = {"a", "k", "v"};
	for (uint32_t c = 0; c < 3; c++)
		columns[c] = (struct rql_store_column_spec){
			.name = names[c], .type = type, .coding = RQL_STORE_VALUES, .encoding = RQL_STORE_PACKED};
	struct rql_store_spec spec = {.name = "calibration", .column_count = 3, .columns = columns};
	struct rql_store_builder *builder;
	RQL_TRY(rql_store_builder_new(&spec, &builder, err));
	for (uint64_t row = 0; row < ROWS; row += BATCH) {
		struct rql_batch *batch = rql_batch_new(3, types, BATCH);
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
	return rql_scan_map_build(keys, payloads, KEYS / 2, &rig->map, err);
}

/* ((v + v) + v) + ... as BIGINT. */
static rql_status make_program(struct rig *rig, struct rql_error *err)
{
	struct rql_builder *b = rql_builder_new(rig->arena);
	if (!b)
		return rql_error_memory(err, 1024, "calibrating scans");
	struct rql_input_spec input = {
		.column = 0, .type = rql_type_simple(RQL_TYPE_BIGINT), .kind = RQL_LANE_I64, .bounds = {0, VALUES}};
	rql_value_number v = rql_build_input(b, &input), sum = v;
	for (unsigned i = 0; i < 8; i++)
		sum = rql_build_arithmetic(b, "+", sum, v, rql_type_simple(RQL_TYPE_BIGINT), true);
	return rql_builder_finish(b, &sum, 1, &rig->program, err);
}

/* Fastest of `rounds` runs in nanoseconds. */
static rql_status time_request(struct rig *rig, struct rql_scan_request *request, unsigned rounds, double *ns,
                               struct rql_scan_counts *counts, struct rql_error *err)
{
	struct rql_scan *scan;
	request->snapshot = rig->snapshot;
	RQL_TRY(rql_scan_prepare(request, &rig->device, &scan, err));
	rql_status status = RQL_OK;
	uint64_t best = UINT64_MAX;
	for (unsigned r = 0; r < rounds && status == RQL_OK; r++) {
		struct rql_arena *arena = rql_arena_new();
		struct rql_answer answer;
		uint64_t start = rql_now_ns();
		status = arena ? rql_scan_run(scan, &rig->device, arena, NULL, &answer, counts, err)
		               : rql_error_memory(err, 4096, "calibrating scans");
		uint64_t took = rql_now_ns() - start;
		best = took < best ? took : best;
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

static rql_status measure(struct rig *rig, unsigned rounds, struct rql_scan_profile *out, struct rql_error *err)
{
	struct rql_scan_conjunct nothing = {.test = RQL_SCAN_IN_RANGE, .least = SMALL, .greatest = SMALL};
	struct rql_scan_conjunct half = {.test = RQL_SCAN_IN_RANGE, .greatest = SMALL / 2 - 1};
	struct rql_scan_conjunct few = {.test = RQL_SCAN_IN_RANGE, .greatest = SMALL / 100 - 1};
	struct rql_scan_join semi = {.kind = RQL_SCAN_SEMI, .column = 1, .map = rig->map};
	struct rql_scan_source v = {.index = 2}, computed = {.kind = RQL_SCAN_PROGRAM};
	struct rql_scan_program program = {.program = rig->program, .inputs = &v};
	struct rql_scan_group_key by_small = {.source = {.index = 0}, .key_count = SMALL, .null_key = RQL_SCAN_NONE};
	struct rql_scan_group_key by_key = {.source = {.index = 1}, .key_count = KEYS, .null_key = RQL_SCAN_NONE};
	struct rql_scan_agg count = {.kind = RQL_AGG_COUNT_STAR, .filter = RQL_SCAN_NONE};
	struct rql_scan_agg sum = {.kind = RQL_AGG_SUM, .source = v, .filter = RQL_SCAN_NONE};
	struct rql_scan_agg sum_computed = {.kind = RQL_AGG_SUM, .source = computed, .filter = RQL_SCAN_NONE};
	struct rql_scan_request skipped = {.conjunct_count = 1, .conjuncts = &nothing, .agg_count = 1, .aggs = &count};
	struct rql_scan_request tested = {.conjunct_count = 1, .conjuncts = &half, .agg_count = 1, .aggs = &count};
	struct rql_scan_request fetched = {.conjunct_count = 1, .conjuncts = &few, .agg_count = 1, .aggs = &sum};
	struct rql_scan_request probed = {.join_count = 1, .joins = &semi, .agg_count = 1, .aggs = &count};
	struct rql_scan_request grouped = {.group_count = 1, .groups = &by_small, .agg_count = 1, .aggs = &sum};
	struct rql_scan_request many = {.group_count = 1, .groups = &by_key, .agg_count = 1, .aggs = &sum};
	struct rql_scan_request steps = {.program_count = 1, .programs = &program, .agg_count = 1, .aggs = &sum_computed};
	struct rql_scan_request *all[7] = {&skipped, &tested, &fetched, &probed, &grouped, &many, &steps};
	double ns[7], rows = (double)ROWS;
	struct rql_scan_counts counts[7];
	for (unsigned i = 0; i < 7; i++)
		RQL_TRY(time_request(rig, all[i], rounds, &ns[i], &counts[i], err));
	out->block_ns = clamp(ns[0] / (double)counts[0].blocks, 5, 5000);
	out->value_ns = clamp(ns[1] / rows, 0.02, 20);
	out->gather_ns = clamp((ns[2] - ns[1]) / (double)counts[2].rows_passed, 0.2, 50);
	out->probe_ns = clamp(ns[3] / rows - out->value_ns, 0.1, 50);
	out->row_ns = clamp(ns[4] / rows - 2 * out->value_ns, 0.2, 50);
	out->group_ns = clamp((ns[5] - ns[4]) / (KEYS - SMALL), 1, 1000);
	out->step_ns = clamp((ns[6] / rows - 2 * out->value_ns) / rig->program->step_count, 0.02, 20);
	return RQL_OK;
}

rql_status rql_scan_calibrate(struct rql_device *device, bool thorough, struct rql_scan_profile *out,
                              struct rql_error *err)
{
	struct rig rig = {.arena = rql_arena_new()};
	rql_status status = rig.arena ? RQL_OK : rql_error_memory(err, 4096, "calibrating scans");
	struct rql_scan_profile measured;
	rig.device.units[RQL_UNIT_CPU] = true;
	rig.device.simd = device->simd;
	if (status == RQL_OK)
		status = rql_pool_new(1, &rig.device.pool, err);
	if (status == RQL_OK)
		status = make_store(&rig, err);
	if (status == RQL_OK)
		status = make_map(&rig, err);
	if (status == RQL_OK)
		status = make_program(&rig, err);
	if (status == RQL_OK)
		status = measure(&rig, thorough ? 20 : 2, &measured, err);
	if (status == RQL_OK)
		*out = measured;
	rql_scan_map_free(rig.map);
	rql_store_snapshot_release(rig.snapshot);
	rql_store_release(rig.store);
	rql_pool_free(rig.device.pool);
	rql_arena_free(rig.arena);
	return status;
}

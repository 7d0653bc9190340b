/* The rt unit's structure of row-level cubes: what the device makes of keys that many cells share, against what the CPU
 * reads in them. The cases of selftest_cube.c have few cells a key; there runs that begin twice go unnoticed. */
#include "method/cube/rt/cube_rt.h"

#include <stdlib.h>
#include <string.h>

#include "selftest/selftest_cube.h"

#define SLICE 2048u
#define MOST_DIMENSIONS 4u
#define MOST_CODES 5000u
#define REQUESTS 12u
#define MAX_RAYS 1e5

struct shape {
	uint64_t rows; /* thorough: ten times as many */
	uint32_t dimensions;
	uint32_t codes[MOST_DIMENSIONS];
};
static const struct shape shapes[] = {
	/* The directory has all digits: long runs, short ones, a few of more digits, some keys without cells. */
	{300000, 1, {1000}},
	{100000, 2, {100, 100}},
	{100000, 3, {40, 30, 25}},
	{9000, 1, {1}},
	/* Residual digits, which split the directory's runs. */
	{50000, 2, {70, 5000}},
	{50000, 4, {4, 10, 300, 40}},
};

/* ---- cubes ---- */

static rql_status add_rows(struct rql_selftest *t, const struct shape *shape, uint64_t rows,
                           struct rql_relation_builder *builder, struct rql_error *err)
{
	struct rql_column columns[MOST_DIMENSIONS + 1] = {0};
	for (uint32_t c = 0; c <= shape->dimensions; c++) {
		columns[c].type = rql_type_simple(RQL_TYPE_INTEGER);
		RQL_TRY(rql_selftest_alloc(t, SLICE, sizeof(int32_t), &columns[c].data, err));
	}
	for (uint64_t done = 0; done < rows; done += SLICE) {
		struct rql_batch batch = {.rows = rows - done < SLICE ? rows - done : SLICE,
		                          .column_count = shape->dimensions + 1,
		                          .columns = columns};
		for (uint32_t c = 0; c <= shape->dimensions; c++) {
			uint64_t values = c < shape->dimensions ? shape->codes[c] : 7; /* the last one is the measure */
			for (uint64_t r = 0; r < batch.rows; r++)
				((int32_t *)columns[c].data)[r] = (int32_t)rql_selftest_below(t, values);
		}
		RQL_TRY(rql_cube_builder_add(builder, 0, &batch, err));
	}
	return RQL_OK;
}

static rql_status make_cube(struct rql_selftest *t, const struct shape *shape, struct rql_cube **out,
                            struct rql_error *err)
{
	static const char *const names[MOST_DIMENSIONS] = {"a", "b", "c", "d"};
	const struct rql_type integer = rql_type_simple(RQL_TYPE_INTEGER);
	const struct rql_type types[MOST_DIMENSIONS] = {integer, integer, integer, integer};
	const struct rql_measure_spec measure = {.type = integer, .name = "m", .sum = true};
	const struct rql_relation_spec spec = {.name = "selftest",
	                                   .dimension_count = shape->dimensions,
	                                   .dimension_types = types,
	                                   .dimension_names = names,
	                                   .measure_count = 1,
	                                   .measures = &measure,
	                                   .rollup = RQL_ROLLUP_OFF,
	                                   .device = t->cpu};
	struct rql_relation_builder *builder;
	RQL_TRY(rql_cube_builder_new(&spec, &builder, err));
	rql_status status = add_rows(t, shape, shape->rows * (t->thorough ? 10 : 1), builder, err);
	if (status == RQL_OK)
		return rql_cube_builder_finish(builder, out, err);
	rql_cube_builder_abort(builder);
	return status;
}

/* ---- the structure ---- */

static uint64_t cell_of(const struct rql_cube *cube, uint64_t key)
{
	return cube->directory32 ? cube->directory32[key] : cube->directory64[key];
}

/* What the geometry has of a cell's digits. */
static void read_digits(const struct rql_cube *cube, const struct rql_rt_axes *axes, uint64_t key, uint64_t cell,
                        uint32_t values[RQL_CUBE_MAX_DIMENSIONS])
{
	for (uint32_t d = cube->digit_count; d-- > 0;) {
		if (d < cube->directory_digits) {
			values[d] = (uint32_t)(key % cube->digits[d].radix);
			key /= cube->digits[d].radix;
		} else {
			values[d] = (uint32_t)rql_packed_get(&cube->residual[d - cube->directory_digits], cell);
		}
		if (d < axes->depth)
			values[d] >>= axes->digits[d].coarse;
	}
}

/* The device's side of a comparison, and where the two part. */
struct table {
	const char *what;
	uint32_t *got;
	uint64_t wrong, first, first_got, first_wanted;
};

static void compare_at(struct table *table, uint64_t run, uint64_t runs, uint64_t wanted)
{
	uint64_t got = run < runs ? table->got[run] : UINT64_MAX;
	if (got == wanted || table->wrong++)
		return;
	table->first = run;
	table->first_got = got;
	table->first_wanted = wanted;
}

static rql_status judge(const struct table *table, uint64_t got, uint64_t wanted, struct rql_error *err)
{
	if (table->wrong)
		return rql_selftest_wrong(err,
		                          "%s of %llu runs instead of %llu: %llu differ, first that of run %llu: %llu "
		                          "instead of %llu",
		                          table->what, (unsigned long long)got, (unsigned long long)wanted,
		                          (unsigned long long)table->wrong, (unsigned long long)table->first,
		                          (unsigned long long)table->first_got, (unsigned long long)table->first_wanted);
	if (got != wanted)
		return rql_selftest_wrong(err, "%llu runs instead of %llu", (unsigned long long)got,
		                          (unsigned long long)wanted);
	return RQL_OK;
}

static uint32_t height_of(const struct rql_rt_axes *axes, const uint32_t *values)
{
	uint32_t height = 0;
	for (uint32_t d = 0; d < axes->depth; d++)
		if (axes->digits[d].axis == 2)
			height += values[d] * axes->digits[d].stride;
	return height;
}

static rql_status compare_runs(const struct rql_cube *cube, const struct rql_cube_rt *rt, struct table *starts,
                               struct table *heights, struct rql_error *err)
{
	uint32_t last[RQL_CUBE_MAX_DIMENSIONS] = {0}, now[RQL_CUBE_MAX_DIMENSIONS] = {0};
	uint64_t runs = 0, bytes = rt->axes.depth * sizeof(*now);
	for (uint64_t key = 0; key < cube->directory_size; key++) {
		for (uint64_t cell = cell_of(cube, key); cell < cell_of(cube, key + 1); cell++) {
			read_digits(cube, &rt->axes, key, cell, now);
			if (cell && !memcmp(last, now, bytes))
				continue;
			memcpy(last, now, bytes);
			if (starts->got)
				compare_at(starts, runs, rt->primitives, cell);
			compare_at(heights, runs++, rt->primitives, height_of(&rt->axes, now));
		}
	}
	if (starts->got)
		compare_at(starts, rt->primitives, rt->primitives + 1, cube->relation.cells);
	RQL_TRY(judge(starts, rt->primitives, runs, err));
	return judge(heights, rt->primitives, runs, err);
}

static rql_status check_structure(struct rql_selftest *t, const struct rql_cube *cube, struct rql_error *err)
{
	struct rql_cube_rt *rt;
	struct table starts = {.what = "starts"}, heights = {.what = "heights"};
	RQL_TRY(rql_cube_rt_get(cube, t->device, NULL, &rt, err));
	uint64_t runs = rt->primitives;
	rql_status status = rql_selftest_alloc(t, runs, sizeof(uint32_t), &heights.got, err);
	if (status == RQL_OK)
		status = rql_buffer_download(rt->z, 0, heights.got, runs * sizeof(uint32_t), err);
	if (status == RQL_OK && rt->starts)
		status = rql_selftest_alloc(t, runs + 1, sizeof(uint32_t), &starts.got, err);
	if (status == RQL_OK && rt->starts) /* of 4 bytes: these cubes have few cells */
		status = rql_buffer_download(rt->starts, 0, starts.got, (runs + 1) * sizeof(uint32_t), err);
	if (status == RQL_OK)
		status = compare_runs(cube, rt, &starts, &heights, err);
	rql_placement_release(&rt->placement);
	return status;
}

static rql_status check_runs(struct rql_selftest *t, struct rql_error *err)
{
	for (unsigned s = 0; s < sizeof(shapes) / sizeof(*shapes); s++) {
		struct rql_cube *cube;
		RQL_TRY(make_cube(t, &shapes[s], &cube, err));
		rql_status status = check_structure(t, cube, err);
		rql_cube_release(cube);
		RQL_TRY(status);
	}
	return RQL_OK;
}

/* ---- intervals of it ---- */

/* A range of one dimension, of short and long ones alike, with groups every other time. */
static rql_status check_range(struct rql_selftest *t, const struct rql_cube *cube, uint32_t number, uint32_t *compared,
                              struct rql_error *err)
{
	static const struct rql_agg aggs[2] = {{.kind = RQL_AGG_COUNT_STAR}, {.kind = RQL_AGG_SUM}};
	uint64_t set[(MOST_CODES + 63) / 64] = {0};
	const uint64_t *pass[MOST_DIMENSIONS] = {0};
	const struct rql_box box = {pass};
	uint32_t dimension = (uint32_t)rql_selftest_below(t, cube->relation.dimension_count);
	uint32_t codes = cube->relation.dimensions[dimension].count, low = (uint32_t)rql_selftest_below(t, codes);
	uint32_t high = low + 1 + (uint32_t)rql_selftest_below(t, codes - low);
	for (uint32_t c = low; c < high; c++)
		rql_bit_set(set, c);
	pass[dimension] = set;
	const struct rql_group_key group = {.source = {.index = dimension}, .key_count = codes};
	const struct rql_request request = {.relation = &cube->relation,
	                                    .group_count = number % 2,
	                                    .groups = &group,
	                                    .box_count = 1,
	                                    .boxes = &box,
	                                    .agg_count = 2,
	                                    .aggs = aggs};
	struct rql_port got, wanted;
	bool ran;
	RQL_TRY(rql_selftest_cube_answer(&rql_method_cube_rt, MAX_RAYS, &request, t->device, t->arena, &got, &ran, err));
	if (!ran)
		return RQL_OK;
	RQL_TRY(rql_selftest_cube_answer(&rql_method_cube_cpu, 0, &request, t->cpu, t->arena, &wanted, &ran, err));
	++*compared;
	return rql_selftest_cube_compare(t, &request, &got, &wanted, number, err);
}

static rql_status check_rows(struct rql_selftest *t, struct rql_error *err)
{
	for (unsigned s = 0; s < sizeof(shapes) / sizeof(*shapes); s++) {
		struct rql_cube *cube;
		uint32_t compared = 0;
		RQL_TRY(make_cube(t, &shapes[s], &cube, err));
		rql_status status = RQL_OK;
		for (uint32_t i = 0; i < REQUESTS && status == RQL_OK; i++)
			status = check_range(t, cube, i, &compared, err);
		rql_cube_release(cube);
		RQL_TRY(status);
		if (compared < REQUESTS / 2)
			return rql_selftest_wrong(err, "only %u of %u requests were answered at all", compared, REQUESTS);
	}
	return RQL_OK;
}

const struct rql_selftest_case rql_selftest_cube_rt[] = {
	{"cube.rt runs", RQL_SELFTEST_UNIT(RQL_UNIT_RT), check_runs},
	{"cube.rt rows", RQL_SELFTEST_UNIT(RQL_UNIT_RT), check_rows},
	{0},
};

/* Cubes on a device, against the CPU's method: the same random cubes (built by the real builder from rows with a
 * hierarchy, skew and NULLs) and the same random requests for every method that answers from cubes. */
#include "selftest/selftest_cube.h"

#include <stdlib.h>
#include <string.h>

#define DIMENSIONS 6u
#define MEASURES 3u
#define MAX_CODES 2000u
#define SLICE 2048u
#define REQUESTS 12u
/* Requests of more rays are left out: a software device traces a few million a second, or far fewer through the rows of
 * the paper's layout, which are not in its builder's order. */
#define MAX_RAYS(thorough) ((thorough) ? 4e6 : 2e4)
#define ROWS(thorough) ((thorough) ? UINT64_C(3000000) : UINT64_C(16000))

/* ---- a cube ---- */

/* day and month are levels of one digit; the others are independent. */
static const uint32_t radix[DIMENSIONS] = {700, 23, 11, 50, 25, 1200};

static void draw_row(struct rql_selftest *t, int32_t dims[DIMENSIONS], int64_t measures[MEASURES])
{
	for (uint32_t d = 0; d < DIMENSIONS; d++)
		dims[d] = (int32_t)rql_selftest_below(t, 1 + rql_selftest_below(t, radix[d])); /* small ones are frequent */
	dims[1] = dims[0] / 31;
	measures[0] = (int64_t)rql_selftest_below(t, 11);
	measures[1] = (int64_t)rql_selftest_below(t, 10000000) - 90000; /* 24 bits: more than an axis has */
	measures[2] = (int64_t)(rql_selftest_random(t) >> 20) - (INT64_C(1) << 42);
}

static rql_status add_rows(struct rql_selftest *t, struct rql_relation_builder *builder, uint64_t rows,
                           struct rql_error *err)
{
	struct rql_column columns[DIMENSIONS + MEASURES] = {0};
	uint64_t *valid;
	RQL_TRY(rql_selftest_alloc(t, SLICE / 64, 8, &valid, err));
	for (uint32_t c = 0; c < DIMENSIONS + MEASURES; c++) {
		columns[c].type = rql_type_simple(c < DIMENSIONS ? RQL_TYPE_INTEGER : RQL_TYPE_BIGINT);
		RQL_TRY(rql_selftest_alloc(t, SLICE, 8, &columns[c].data, err));
	}
	columns[DIMENSIONS].validity = valid;
	for (uint64_t done = 0; done < rows; done += SLICE) {
		struct rql_batch batch = {.rows = rows - done < SLICE ? rows - done : SLICE,
		                          .column_count = DIMENSIONS + MEASURES,
		                          .columns = columns};
		memset(valid, 0, SLICE / 8);
		for (uint64_t r = 0; r < batch.rows; r++) {
			int32_t dims[DIMENSIONS];
			int64_t measures[MEASURES];
			draw_row(t, dims, measures);
			for (uint32_t d = 0; d < DIMENSIONS; d++)
				((int32_t *)columns[d].data)[r] = dims[d];
			for (uint32_t m = 0; m < MEASURES; m++)
				((int64_t *)columns[DIMENSIONS + m].data)[r] = measures[m];
			if (rql_selftest_below(t, 8))
				rql_bit_set(valid, r);
		}
		RQL_TRY(rql_cube_builder_add(builder, 0, &batch, err));
	}
	return RQL_OK;
}

static rql_status make_cube(struct rql_selftest *t, uint64_t rows, enum rql_rollup rollup, struct rql_cube **out,
                            struct rql_error *err)
{
	static const char *const names[DIMENSIONS] = {"day", "month", "a", "b", "c", "d"};
	struct rql_type types[DIMENSIONS];
	struct rql_measure_spec measures[MEASURES];
	for (uint32_t d = 0; d < DIMENSIONS; d++)
		types[d] = rql_type_simple(RQL_TYPE_INTEGER);
	for (uint32_t m = 0; m < MEASURES; m++)
		measures[m] = (struct rql_measure_spec){
			.type = rql_type_simple(RQL_TYPE_BIGINT), .name = "m", .sum = true, .min = true, .max = true};
	struct rql_relation_spec spec = {.name = "selftest",
	                             .dimension_count = DIMENSIONS,
	                             .dimension_types = types,
	                             .dimension_names = names,
	                             .measure_count = MEASURES,
	                             .measures = measures,
	                             .rollup = rollup,
	                             .device = t->cpu};
	struct rql_relation_builder *builder;
	RQL_TRY(rql_cube_builder_new(&spec, &builder, err));
	rql_status status = add_rows(t, builder, rows, err);
	if (status == RQL_OK)
		return rql_cube_builder_finish(builder, out, err);
	rql_cube_builder_abort(builder);
	return status;
}

/* ---- requests ---- */

struct request {
	struct rql_request request;
	struct rql_group_key groups[3];
	struct rql_box box;
	const uint64_t *pass[DIMENSIONS];
	uint64_t sets[DIMENSIONS][(MAX_CODES + 63) / 64];
	struct rql_agg aggs[4];
};

/* A range, a few values, or anything. */
static void draw_set(struct rql_selftest *t, uint64_t *set, uint32_t codes)
{
	uint32_t low = (uint32_t)rql_selftest_below(t, codes);
	uint32_t high = low + 1 + (uint32_t)rql_selftest_below(t, codes - low);
	uint64_t kind = rql_selftest_below(t, 4);
	memset(set, 0, (codes + 63) / 64 * 8);
	for (uint32_t c = 0; c < codes; c++)
		if (kind == 0 ? c == low || c == high % codes : kind == 1 ? rql_selftest_below(t, 2) : c >= low && c < high)
			rql_bit_set(set, c);
}

static void draw_request(struct rql_selftest *t, const struct rql_relation *relation, const char *layout,
                         struct request *out)
{
	static const enum rql_agg_kind kinds[] = {RQL_AGG_SUM, RQL_AGG_SUM, RQL_AGG_COUNT, RQL_AGG_MIN, RQL_AGG_MAX};
	memset(out, 0, sizeof(*out));
	for (uint32_t d = 0; d < DIMENSIONS; d++) {
		if (rql_selftest_below(t, 3))
			continue;
		draw_set(t, out->sets[d], relation->dimensions[d].count);
		out->pass[d] = out->sets[d];
	}
	out->box.pass = out->pass;
	uint32_t groups = (uint32_t)rql_selftest_below(t, 4);
	for (uint32_t g = 0; g < groups; g++) {
		uint32_t d = (uint32_t)rql_selftest_below(t, DIMENSIONS);
		out->groups[g] = (struct rql_group_key){.source = {.index = d}, .key_count = relation->dimensions[d].count};
	}
	out->aggs[0].kind = RQL_AGG_COUNT_STAR;
	uint32_t aggs = 1 + (uint32_t)rql_selftest_below(t, 3);
	for (uint32_t a = 1; a < aggs; a++)
		out->aggs[a] = (struct rql_agg){.kind = kinds[rql_selftest_below(t, 5)],
		                                .source = {.index = (uint32_t)rql_selftest_below(t, MEASURES)}};
	out->request = (struct rql_request){.relation = relation,
	                                    .group_count = groups,
	                                    .groups = out->groups,
	                                    .box_count = 1,
	                                    .boxes = &out->box,
	                                    .agg_count = aggs,
	                                    .aggs = out->aggs,
	                                    .layout = layout};
}

/* ---- comparing ---- */

struct place {
	uint64_t tuple; /* the keys as one number: at most 3 dictionaries of 2000 */
	uint64_t group;
};

static int by_tuple(const void *left, const void *right)
{
	const struct place *a = left, *b = right;
	return a->tuple < b->tuple ? -1 : a->tuple > b->tuple;
}

static rql_status order(struct rql_selftest *t, const struct rql_request *request, const struct rql_port *answer,
                        struct place **out, struct rql_error *err)
{
	struct place *places;
	RQL_TRY(rql_selftest_alloc(t, answer->group_count + 1, sizeof(*places), &places, err));
	for (uint64_t g = 0; g < answer->group_count; g++) {
		places[g].group = g;
		for (uint32_t k = 0; k < request->group_count; k++)
			places[g].tuple = places[g].tuple * request->groups[k].key_count + answer->keys[k][g];
	}
	qsort(places, answer->group_count, sizeof(*places), by_tuple);
	*out = places;
	return RQL_OK;
}

rql_status rql_selftest_cube_compare(struct rql_selftest *t, const struct rql_request *request,
                                     const struct rql_port *got, const struct rql_port *wanted, uint32_t number,
                                     struct rql_error *err)
{
	struct place *g, *w;
	if (got->group_count != wanted->group_count)
		return rql_selftest_wrong(err, "request %u has %llu groups instead of %llu", number,
		                          (unsigned long long)got->group_count, (unsigned long long)wanted->group_count);
	RQL_TRY(order(t, request, got, &g, err));
	RQL_TRY(order(t, request, wanted, &w, err));
	for (uint64_t i = 0; i < got->group_count; i++) {
		bool same = g[i].tuple == w[i].tuple;
		for (uint32_t a = 0; a < request->agg_count && same; a++) {
			const struct rql_agg_values *x = &got->aggs[a], *y = &wanted->aggs[a];
			same = rql_bit_valid(x->valid, g[i].group) == rql_bit_valid(y->valid, w[i].group);
			same &= !rql_bit_valid(y->valid, w[i].group) || x->integer[g[i].group] == y->integer[w[i].group];
		}
		if (!same)
			return rql_selftest_wrong(err, "request %u differs in group %llu of %llu", number, (unsigned long long)i,
			                          (unsigned long long)got->group_count);
	}
	return RQL_OK;
}

/* ---- running ---- */

rql_status rql_selftest_cube_answer(const struct rql_method *method, double most_rays,
                                    const struct rql_request *request, struct rql_device *device,
                                    struct rql_arena *arena, struct rql_port *out, bool *ran, struct rql_error *err)
{
	const char *reason = NULL;
	struct rql_prepared *prepared;
	struct rql_cost cost;
	*ran = method->offer(request, device, &reason) == RQL_OFFER_FULL;
	if (!*ran)
		return RQL_OK;
	RQL_TRY(method->prepare(request, device, &prepared, err));
	method->price(prepared, device, &cost);
	*ran = cost.rays <= most_rays;
	rql_status status = *ran ? method->run(prepared, device, &(struct rql_run){.arena = arena}, out, err) : RQL_OK;
	method->free(prepared);
	return status;
}

static rql_status check_requests(struct rql_selftest *t, const struct rql_cube *cube, const struct rql_method *method,
                                 const char *layout, uint32_t *compared, struct rql_error *err)
{
	struct request *request;
	RQL_TRY(rql_selftest_alloc(t, 1, sizeof(*request), &request, err));
	for (uint32_t i = 0; i < REQUESTS; i++) {
		struct rql_port got, wanted;
		bool ran;
		draw_request(t, &cube->relation, layout, request);
		RQL_TRY(rql_selftest_cube_answer(method, MAX_RAYS(t->thorough), &request->request, t->device, t->arena, &got,
		                                 &ran, err));
		if (!ran)
			continue;
		RQL_TRY(
			rql_selftest_cube_answer(&rql_method_cube_cpu, 0, &request->request, t->cpu, t->arena, &wanted, &ran, err));
		RQL_TRY(rql_selftest_cube_compare(t, &request->request, &got, &wanted, i, err));
		++*compared;
	}
	return RQL_OK;
}

static rql_status check_method(struct rql_selftest *t, const struct rql_method *method, const char *layout,
                               struct rql_error *err)
{
	static const enum rql_rollup rollups[] = {RQL_ROLLUP_OFF, RQL_ROLLUP_ON};
	uint32_t compared = 0;
	for (unsigned i = 0; i < 2; i++) {
		struct rql_cube *cube;
		RQL_TRY(make_cube(t, ROWS(t->thorough), rollups[i], &cube, err));
		rql_status status = check_requests(t, cube, method, layout, &compared, err);
		rql_cube_release(cube);
		RQL_TRY(status);
	}
	if (compared < REQUESTS / 2)
		return rql_selftest_wrong(err, "only %u of %u requests were answered at all", compared, 2 * REQUESTS);
	return RQL_OK;
}

static rql_status check_paper(struct rql_selftest *t, struct rql_error *err)
{
	return check_method(t, &rql_method_cube_paper, "paper", err);
}

static rql_status check_split_scan(struct rql_selftest *t, struct rql_error *err)
{
	return check_method(t, &rql_method_cube_paper, "paper:split-scan", err);
}

static rql_status check_split_group(struct rql_selftest *t, struct rql_error *err)
{
	return check_method(t, &rql_method_cube_paper, "paper:split-group", err);
}

static rql_status check_operators(struct rql_selftest *t, struct rql_error *err)
{
	return check_method(t, &rql_method_cube_paper, "paper:operators", err);
}

static rql_status check_compute(struct rql_selftest *t, struct rql_error *err)
{
	return check_method(t, &rql_method_cube_compute, NULL, err);
}

static rql_status check_rt(struct rql_selftest *t, struct rql_error *err)
{
	return check_method(t, &rql_method_cube_rt, NULL, err);
}

const struct rql_selftest_case rql_selftest_cube[] = {
	{"cube.compute", RQL_SELFTEST_UNIT(RQL_UNIT_COMPUTE), check_compute},
	{"cube.rt", RQL_SELFTEST_UNIT(RQL_UNIT_RT), check_rt},
	{"cube.paper", RQL_SELFTEST_UNIT(RQL_UNIT_RT), check_paper},
	{"cube.paper split scan", RQL_SELFTEST_UNIT(RQL_UNIT_RT), check_split_scan},
	{"cube.paper split group", RQL_SELFTEST_UNIT(RQL_UNIT_RT), check_split_group},
	{"cube.paper operators", RQL_SELFTEST_UNIT(RQL_UNIT_RT), check_operators},
	{0},
};

#include "rival.h"

#include <stdlib.h>
#include <string.h>

#include "rival_data.h"
#include "rival_kernels.h"
#include "shaders/bench/rival_dictionary.comp.h"
#include "shaders/bench/rival_plain.comp.h"
#include "stats.h"

const char *const rql_rival_names[RQL_RIVAL_FORMS] = {"plain", "dictionary"};

#define GROUP_SIZE 256u
/* Enough workgroups to fill the largest GPUs several times over; each takes many tiles. */
#define MOST_WORKGROUPS 2048u

/* ---- the 13 queries over codes ---- */

#define NONE (-1)
struct predicate {
	enum rql_rival_column column;
	int32_t least, greatest, other; /* other: one value more, or NONE */
};
struct group {
	enum rql_rival_column column;
	int32_t first;
	uint32_t count;
};
struct query {
	uint32_t predicate_count;
	struct predicate predicates[RQL_RIVAL_PREDICATES];
	uint32_t group_count;
	struct group groups[RQL_RIVAL_GROUPS];
	uint32_t operation;
	enum rql_rival_column a, b;
};

#define P(column, least, greatest) {RQL_RIVAL_##column, least, greatest, NONE}
#define EQUALS(column, value) P(column, value, value)
#define EITHER(column, one, other) {RQL_RIVAL_##column, one, one, other}
#define G(column, first, count) {RQL_RIVAL_##column, first, count}
#define PRICE_TIMES_DISCOUNT 1, RQL_RIVAL_PRICE, RQL_RIVAL_DISCOUNT
#define REVENUE 0, RQL_RIVAL_REVENUE, RQL_RIVAL_REVENUE
#define PROFIT 2, RQL_RIVAL_REVENUE, RQL_RIVAL_COST
/* Nations: AMERICA is region 1 with the UNITED STATES as its fifth, ASIA 2, EUROPE 3 with the UNITED KINGDOM. */
#define US 9
#define UK1 191
#define UK5 195

static const struct query queries[13] = {
	{3, {EQUALS(YEAR, 1993), P(DISCOUNT, 1, 3), P(QUANTITY, 1, 24)}, 0, {G(YEAR, 0, 0)}, PRICE_TIMES_DISCOUNT},
	{3, {EQUALS(YEARMONTH, 199401), P(DISCOUNT, 4, 6), P(QUANTITY, 26, 35)}, 0, {G(YEAR, 0, 0)}, PRICE_TIMES_DISCOUNT},
	{4,
     {EQUALS(WEEK, 6), EQUALS(YEAR, 1994), P(DISCOUNT, 5, 7), P(QUANTITY, 26, 35)},
     0,
     {G(YEAR, 0, 0)},
     PRICE_TIMES_DISCOUNT},
	{2, {EQUALS(P_CATEGORY, 1), EQUALS(S_REGION, 1)}, 2, {G(YEAR, 1992, 7), G(P_BRAND, 40, 40)}, REVENUE},
	{2, {P(P_BRAND, 260, 267), EQUALS(S_REGION, 2)}, 2, {G(YEAR, 1992, 7), G(P_BRAND, 260, 8)}, REVENUE},
	{2, {EQUALS(P_BRAND, 278), EQUALS(S_REGION, 3)}, 2, {G(YEAR, 1992, 7), G(P_BRAND, 278, 1)}, REVENUE},
	{3,
     {EQUALS(C_REGION, 2), EQUALS(S_REGION, 2), P(YEAR, 1992, 1997)},
     3,
     {G(C_NATION, 10, 5), G(S_NATION, 10, 5), G(YEAR, 1992, 6)},
     REVENUE},
	{3,
     {EQUALS(C_NATION, US), EQUALS(S_NATION, US), P(YEAR, 1992, 1997)},
     3,
     {G(C_CITY, US * 10, 10), G(S_CITY, US * 10, 10), G(YEAR, 1992, 6)},
     REVENUE},
	{3,
     {EITHER(C_CITY, UK1, UK5), EITHER(S_CITY, UK1, UK5), P(YEAR, 1992, 1997)},
     3,
     {G(C_CITY, UK1, 5), G(S_CITY, UK1, 5), G(YEAR, 1992, 6)},
     REVENUE},
	{3,
     {EITHER(C_CITY, UK1, UK5), EITHER(S_CITY, UK1, UK5), EQUALS(YEARMONTH, 199712)},
     3,
     {G(C_CITY, UK1, 5), G(S_CITY, UK1, 5), G(YEAR, 1992, 7)},
     REVENUE},
	{3,
     {EQUALS(C_REGION, 1), EQUALS(S_REGION, 1), P(P_MFGR, 0, 1)},
     2,
     {G(YEAR, 1992, 7), G(C_NATION, 5, 5)},
     PROFIT},
	{4,
     {EQUALS(C_REGION, 1), EQUALS(S_REGION, 1), P(YEAR, 1997, 1998), P(P_MFGR, 0, 1)},
     3,
     {G(YEAR, 1997, 2), G(S_NATION, 5, 5), G(P_CATEGORY, 0, 10)},
     PROFIT},
	{3,
     {EQUALS(S_NATION, US), P(YEAR, 1997, 1998), EQUALS(P_CATEGORY, 3)},
     3,
     {G(YEAR, 1997, 2), G(S_CITY, US * 10, 10), G(P_BRAND, 120, 40)},
     PROFIT},
};

/* ---- the rival ---- */

struct rql_rival {
	struct rql_device *device;
	struct rql_rival_columns columns;
	const struct rql_pipeline *pipelines[RQL_RIVAL_FORMS];
	struct rql_buffer *scan, *sums, *result;
};

static const struct rql_kernel kernels[RQL_RIVAL_FORMS] = {
	{"bench.rival_plain", rql_spv_rival_plain_comp, sizeof rql_spv_rival_plain_comp, sizeof(struct rql_rival_args)},
	{"bench.rival_dictionary", rql_spv_rival_dictionary_comp, sizeof rql_spv_rival_dictionary_comp,
     sizeof(struct rql_rival_args)},
};

static rql_status open_rival(struct rql_rival *r, struct rql_pool *pool, double scale, int64_t seed,
                             struct rql_error *err)
{
	const uint32_t constants[1] = {GROUP_SIZE};
	for (uint32_t f = 0; f < RQL_RIVAL_FORMS; f++)
		RQL_TRY(rql_pipeline_get(r->device, &kernels[f], constants, 1, &r->pipelines[f], err));
	uint64_t bytes = RQL_RIVAL_MOST_GROUPS * sizeof(uint64_t);
	RQL_TRY(rql_buffer_new(r->device, sizeof(struct rql_rival_scan), RQL_MEMORY_UPLOAD, "a rival's query", &r->scan, err));
	RQL_TRY(rql_buffer_new(r->device, bytes, RQL_MEMORY_DEVICE, "a rival's sums", &r->sums, err));
	RQL_TRY(rql_buffer_new(r->device, bytes, RQL_MEMORY_READBACK, "a rival's result", &r->result, err));
	return rql_rival_columns_make(r->device, pool, scale, seed, &r->columns, err);
}

rql_status rql_rival_new(struct rql_device *device, struct rql_pool *pool, double scale, int64_t seed,
                         struct rql_rival **out, struct rql_error *err)
{
	struct rql_rival *r = calloc(1, sizeof *r);
	if (!r)
		return rql_error_memory(err, sizeof *r, "a rival");
	r->device = device;
	rql_status status = open_rival(r, pool, scale, seed, err);
	if (status != RQL_OK) {
		rql_rival_free(r);
		return status;
	}
	*out = r;
	return RQL_OK;
}

void rql_rival_free(struct rql_rival *r)
{
	if (!r)
		return;
	rql_rival_columns_free(&r->columns);
	rql_buffer_free(r->scan);
	rql_buffer_free(r->sums);
	rql_buffer_free(r->result);
	free(r);
}

uint64_t rql_rival_rows(const struct rql_rival *r)
{
	return r->columns.rows;
}

/* ---- a query ---- */

/* The column in this form, and bytes of a value. */
static uint64_t column_of(const struct rql_rival *r, enum rql_rival_form form, enum rql_rival_column column,
                          uint32_t *bytes)
{
	bool codes = form == RQL_RIVAL_DICTIONARY && r->columns.codes[column];
	*bytes = codes ? rql_rival_code_bytes(column) : 4;
	return codes ? r->columns.codes[column]->address : r->columns.plain[column]->address;
}

static uint32_t value_of(enum rql_rival_form form, enum rql_rival_column column, int32_t value)
{
	return form == RQL_RIVAL_DICTIONARY ? rql_rival_code(column, value) : (uint32_t)value;
}

/* Fills *scan; returns the bytes of a row's needed columns. */
static uint64_t describe(const struct rql_rival *r, enum rql_rival_form form, const struct query *q,
                         struct rql_rival_scan *scan)
{
	uint32_t needed[RQL_RIVAL_COLUMN_COUNT] = {0}, bytes;
	*scan = (struct rql_rival_scan){.rows = r->columns.rows,
	                                .sums = r->sums->address,
	                                .predicate_count = q->predicate_count,
	                                .group_count = q->group_count,
	                                .operation = q->operation,
	                                .sum_count = 1};
	for (uint32_t i = 0; i < q->predicate_count; i++) {
		const struct predicate *p = &q->predicates[i];
		struct rql_rival_predicate *out = &scan->predicates[i];
		out->column = column_of(r, form, p->column, &out->bytes);
		out->low = value_of(form, p->column, p->least);
		out->span = (uint32_t)(p->greatest - p->least);
		out->other = p->other == NONE ? out->low : value_of(form, p->column, p->other);
		needed[p->column] = out->bytes;
	}
	for (uint32_t i = q->group_count; i-- > 0;) {
		const struct group *g = &q->groups[i];
		struct rql_rival_group *out = &scan->groups[i];
		out->column = column_of(r, form, g->column, &out->bytes);
		out->low = value_of(form, g->column, g->first);
		out->stride = scan->sum_count;
		scan->sum_count *= g->count;
		needed[g->column] = out->bytes;
	}
	scan->a = column_of(r, form, q->a, &bytes);
	needed[q->a] = bytes;
	scan->b = column_of(r, form, q->b, &scan->b_bytes);
	needed[q->b] = scan->b_bytes;
	uint64_t sum = 0;
	for (uint32_t c = 0; c < RQL_RIVAL_COLUMN_COUNT; c++)
		sum += needed[c];
	return sum;
}

static int ascending(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return x < y ? -1 : x > y;
}

static rql_status take_sums(struct rql_rival *r, uint32_t count, struct rql_rival_answer *out, struct rql_error *err)
{
	const int64_t *sums = r->result->map;
	out->sums = malloc(RQL_RIVAL_MOST_GROUPS * sizeof *out->sums);
	if (!out->sums)
		return rql_error_memory(err, RQL_RIVAL_MOST_GROUPS * sizeof *out->sums, "a rival's answer");
	/* Every line brings something, so a group is there when its sum is not 0. */
	for (uint32_t i = 0; i < count; i++)
		if (sums[i])
			out->sums[out->count++] = sums[i];
	qsort(out->sums, out->count, sizeof *out->sums, ascending);
	return RQL_OK;
}

static rql_status record(struct rql_rival *r, enum rql_rival_form form, struct rql_commands *c, struct rql_error *err)
{
	uint64_t rows_a_group = GROUP_SIZE * (form == RQL_RIVAL_PLAIN ? 4 : 16);
	uint64_t groups = (r->columns.rows + rows_a_group - 1) / rows_a_group;
	if (groups > MOST_WORKGROUPS)
		groups = MOST_WORKGROUPS;
	struct rql_rival_args args = {.scan = r->scan->address, .groups = groups};
	struct rql_use uses[2] = {{r->scan, RQL_READ}, {r->sums, RQL_READ_WRITE}};
	rql_record_fill(c, r->sums, 0, r->sums->bytes, 0);
	rql_record_dispatch(c, "scan", r->pipelines[form], &args, groups, uses, 2);
	rql_record_copy(c, r->sums, 0, r->result, 0, r->sums->bytes);
	return rql_commands_end(c, err);
}

/* The pass called "scan" alone: filling and copying are no part of what a database would do each time. */
static double scan_ns(struct rql_commands *c)
{
	struct rql_pass_time times[8];
	uint32_t count = rql_commands_times(c, times, 8, NULL);
	for (uint32_t i = 0; i < count && i < 8; i++)
		if (!strcmp(times[i].pass, "scan"))
			return times[i].ns;
	return 0;
}

rql_status rql_rival_run(struct rql_rival *r, enum rql_rival_form form, uint32_t query, uint32_t runs,
                         struct rql_rival_answer *out, struct rql_error *err)
{
	struct rql_rival_scan scan;
	struct rql_rival_answer answer = {0};
	struct rql_samples samples = {0};
	struct rql_commands *c;
	answer.bytes = describe(r, form, &queries[query], &scan) * r->columns.rows;
	memcpy(r->scan->map, &scan, sizeof scan);
	RQL_TRY(rql_commands_new(r->device, RQL_COMMANDS_TIMED, &c, err));
	rql_status status = record(r, form, c, err);
	for (uint32_t i = 0; i <= runs && status == RQL_OK; i++) {
		status = rql_commands_run(c, NULL, err);
		if (status == RQL_OK && i > 0)
			rql_samples_add(&samples, scan_ns(c));
	}
	if (status == RQL_OK)
		status = take_sums(r, scan.sum_count, &answer, err);
	rql_commands_free(c);
	RQL_TRY(status);
	answer.median_ns = rql_samples_median(&samples);
	answer.least_ns = rql_samples_min(&samples);
	*out = answer;
	return RQL_OK;
}

/* The rivals' scans: requests described for their kernels, variants tried, the fastest kept. */
#include "bench/flat/rival.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/stats.h"
#include "bench/flat/rival_data.h"
#include "bench/flat/rival_kernels.h"
#include "shaders/bench/rival_dictionary.comp.h"
#include "shaders/bench/rival_plain.comp.h"
#include "util/threads.h"

const char *const rql_rival_names[RQL_RIVAL_FORMS] = {"plain", "dictionary"};
static const char *const rql_rival_places[] = {"register", "shared", "global"};

#define GROUP_SIZE 512u
/* Workgroups at most; each takes many rows. The first fills the largest GPUs once, so that few sums are added up at the
 * end; with the last each takes few rows, so that none is left behind. */
static const uint32_t launches[] = {528, 2112, 65535};
#define LAUNCHES (sizeof launches / sizeof *launches)
#define MOST_EAGER 2u /* more were never the fastest (H200, scale 20) */
#define MOST_VARIANTS (2 * LAUNCHES * MOST_EAGER)
/* Besides what rql_flat_wake does before each query, the first one is run until it gets no faster for long, and the kernels
 * of all are compiled before it: a rival that was timed at a low clock would flatter everything beside it. */
#define FIRST_SETTLED_NS (UINT64_C(2000) * 1000000) /* without getting faster */
#define SETTLED_NS (UINT64_C(50) * 1000000)

/* ---- the 13 queries over codes ---- */
/* The fewest rows first. Ranges are over codes below 128 (brands: 2^15), either-or over bytes, as rival_dictionary.comp
 * wants them. */

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
	struct predicate predicates[RQL_RIVAL_TESTS];
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
     2, /* the month has one year */
     {G(C_CITY, UK1, 5), G(S_CITY, UK1, 5)},
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
     {EQUALS(S_NATION, US), EQUALS(P_CATEGORY, 3), P(YEAR, 1997, 1998)},
     3,
     {G(YEAR, 1997, 2), G(S_CITY, US * 10, 10), G(P_BRAND, 120, 40)},
     PROFIT},
};

/* ---- the rival ---- */

struct rql_rival {
	struct rql_device *device;
	struct rql_rival_columns columns;
	struct rql_buffer *sums, *result;
	bool settled; /* the device has left the clocks of idling */
};

static const struct rql_kernel kernels[RQL_RIVAL_FORMS] = {
	{"bench.rival_plain", rql_spv_rival_plain_comp, sizeof rql_spv_rival_plain_comp, sizeof(struct rql_rival_args)},
	{"bench.rival_dictionary", rql_spv_rival_dictionary_comp, sizeof rql_spv_rival_dictionary_comp,
     sizeof(struct rql_rival_args)},
};

static rql_status open_rival(struct rql_rival *r, struct rql_pool *pool, double scale, int64_t seed,
                             struct rql_error *err)
{
	uint64_t bytes = RQL_RIVAL_MOST_SUMS * sizeof(uint64_t);
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
	rql_buffer_free(r->sums);
	rql_buffer_free(r->result);
	free(r);
}

uint64_t rql_rival_rows(const struct rql_rival *r)
{
	return r->columns.rows;
}

/* ---- a query as a kernel ---- */

/* A query in one of the forms: what its kernels have in common. */
struct scan {
	enum rql_rival_form form;
	struct rql_rival_args args;
	uint32_t constants[RQL_RIVAL_CONSTANTS]; /* but PLACE and EAGER */
	uint32_t tests, sums;
	uint64_t row_bytes;  /* of the columns that are named */
	uint64_t workgroups; /* that would take all rows in one go */
};

/* What may differ between kernels of one query: which is fastest depends on the device and on how much qualifies. */
struct variant {
	uint32_t place, eager, workgroups;
};

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

static void describe_tests(const struct rql_rival *r, const struct query *q, struct scan *s, uint32_t *needed)
{
	s->tests = q->predicate_count;
	for (uint32_t i = 0; i < q->predicate_count; i++) {
		const struct predicate *p = &q->predicates[i];
		struct rql_rival_test *test = &s->args.tests[i];
		uint32_t bytes, kind = p->other == NONE ? RQL_RIVAL_RANGE : RQL_RIVAL_EITHER;
		test->column = column_of(r, s->form, p->column, &bytes);
		test->low = value_of(s->form, p->column, p->least);
		test->span = (uint32_t)((p->other == NONE ? p->greatest : p->other) - p->least);
		s->constants[RQL_RIVAL_CONSTANT_TESTS] |= kind << 4 * i;
		s->constants[RQL_RIVAL_CONSTANT_TEST_BYTES] |= bytes << 4 * i;
		needed[p->column] = bytes;
	}
}

/* The last column's neighbours are neighbouring groups; with fewer than three columns the first places are empty. */
static void describe_groups(const struct rql_rival *r, const struct query *q, struct scan *s, uint32_t *needed)
{
	uint32_t strides[RQL_RIVAL_GROUPS] = {0};
	s->sums = 1;
	for (uint32_t i = q->group_count; i-- > 0;) {
		const struct group *g = &q->groups[i];
		uint32_t bytes, at = i + RQL_RIVAL_GROUPS - q->group_count;
		s->args.groups[at] = column_of(r, s->form, g->column, &bytes);
		strides[at] = s->sums;
		s->args.base += s->sums * value_of(s->form, g->column, g->first);
		s->constants[RQL_RIVAL_CONSTANT_GROUP_BYTES] |= bytes << 4 * at;
		s->sums *= g->count;
		needed[g->column] = bytes;
	}
	s->constants[RQL_RIVAL_CONSTANT_STRIDE_0] = strides[0];
	s->constants[RQL_RIVAL_CONSTANT_STRIDE_1] = strides[1];
	s->constants[RQL_RIVAL_CONSTANT_SUMS] = s->sums;
}

static void describe(const struct rql_rival *r, enum rql_rival_form form, const struct query *q, struct scan *s)
{
	uint32_t needed[RQL_RIVAL_COLUMN_COUNT] = {0}, a_bytes, b_bytes;
	uint64_t rows_a_group = GROUP_SIZE * (form == RQL_RIVAL_PLAIN ? 4 : 16);
	*s = (struct scan){.form = form,
	                   .constants = {GROUP_SIZE},
	                   .workgroups = (r->columns.rows + rows_a_group - 1) / rows_a_group};
	s->args.rows = r->columns.rows;
	s->args.sums = r->sums->address;
	describe_tests(r, q, s, needed);
	describe_groups(r, q, s, needed);
	s->args.a = column_of(r, form, q->a, &a_bytes);
	needed[q->a] = a_bytes;
	s->args.b = column_of(r, form, q->b, &b_bytes);
	needed[q->b] = b_bytes;
	s->constants[RQL_RIVAL_CONSTANT_OPERATION] = q->operation;
	s->constants[RQL_RIVAL_CONSTANT_B_BYTES] = b_bytes;
	for (uint32_t c = 0; c < RQL_RIVAL_COLUMN_COUNT; c++)
		s->row_bytes += needed[c];
}

/* The same for all devices; small tables have fewer. */
static uint32_t list_variants(const struct scan *s, struct variant *out)
{
	uint32_t count = 0, first = 1, last = s->tests < MOST_EAGER ? s->tests : MOST_EAGER;
	if (s->form == RQL_RIVAL_PLAIN)
		first = last = s->tests;
	for (uint32_t l = 0; l < LAUNCHES && (!l || launches[l - 1] < s->workgroups); l++)
		for (uint32_t eager = first; eager <= last; eager++) {
			uint32_t workgroups = s->workgroups < launches[l] ? (uint32_t)s->workgroups : launches[l];
			out[count++] = (struct variant){s->sums == 1 ? RQL_RIVAL_REGISTER : RQL_RIVAL_SHARED, eager, workgroups};
			if (s->sums > 1)
				out[count++] = (struct variant){RQL_RIVAL_GLOBAL, eager, workgroups};
		}
	return count;
}

/* ---- running it ---- */

static int ascending(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return x < y ? -1 : x > y;
}

static rql_status take_sums(const struct rql_rival *r, const struct scan *s, struct rql_rival_answer *out,
                            struct rql_error *err)
{
	const int64_t *sums = r->result->map;
	out->sums = malloc(RQL_RIVAL_MOST_SUMS * sizeof *out->sums);
	if (!out->sums)
		return rql_error_memory(err, RQL_RIVAL_MOST_SUMS * sizeof *out->sums, "a rival's answer");
	/* Every line brings something, so a group is there when its sum is not 0. */
	for (uint32_t i = 0; i < s->sums; i++)
		if (sums[i])
			out->sums[out->count++] = sums[i];
	qsort(out->sums, out->count, sizeof *out->sums, ascending);
	return RQL_OK;
}

static rql_status specialise(struct rql_rival *r, struct scan *s, struct variant v, const struct rql_pipeline **out,
                             struct rql_error *err)
{
	s->constants[RQL_RIVAL_CONSTANT_PLACE] = v.place;
	s->constants[RQL_RIVAL_CONSTANT_EAGER] = v.eager;
	s->args.workgroups = v.workgroups;
	return rql_pipeline_get(r->device, &kernels[s->form], s->constants, RQL_RIVAL_CONSTANTS, out, err);
}

static rql_status record(struct rql_rival *r, struct scan *s, struct variant v, struct rql_commands *c,
                         struct rql_error *err)
{
	const struct rql_pipeline *pipeline;
	struct rql_use use = {r->sums, RQL_READ_WRITE};
	RQL_TRY(specialise(r, s, v, &pipeline, err));
	rql_record_fill(c, r->sums, 0, r->sums->bytes, 0);
	rql_record_dispatch(c, "scan", pipeline, &s->args, s->args.workgroups, &use, 1);
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

static rql_status run_variant(struct rql_rival *r, struct scan *s, struct variant v, uint32_t runs,
                              struct rql_rival_answer *out, struct rql_error *err)
{
	struct rql_rival_answer answer = {.bytes = s->row_bytes * r->columns.rows, .eager = v.eager, .workgroups = v.workgroups};
	struct rql_samples samples = {0};
	struct rql_commands *c;
	RQL_TRY(rql_commands_new(r->device, RQL_COMMANDS_TIMED, &c, err));
	rql_status status = record(r, s, v, c, err);
	for (uint32_t i = 0; i <= runs && status == RQL_OK; i++) {
		status = rql_commands_run(c, NULL, err);
		if (status == RQL_OK && i > 0)
			rql_samples_add(&samples, scan_ns(c));
	}
	if (status == RQL_OK)
		status = take_sums(r, s, &answer, err);
	rql_commands_free(c);
	RQL_TRY(status);
	answer.median_ns = rql_samples_median(&samples);
	answer.least_ns = rql_samples_min(&samples);
	answer.place = rql_rival_places[v.place];
	*out = answer;
	return RQL_OK;
}

/* Runs the query until the device gets no faster by it; nothing on software devices. */
static rql_status settle(struct rql_rival *r, struct scan *s, struct variant v, struct rql_error *err)
{
	struct rql_commands *c;
	if (r->device->kind == RQL_DEVICE_SOFTWARE)
		return RQL_OK;
	RQL_TRY(rql_commands_new(r->device, RQL_COMMANDS_TIMED, &c, err));
	rql_status status = record(r, s, v, c, err);
	uint64_t wait = r->settled ? SETTLED_NS : FIRST_SETTLED_NS;
	double least = INFINITY;
	for (uint64_t faster = rql_now_ns(); status == RQL_OK && rql_now_ns() - faster < wait;) {
		status = rql_commands_run(c, NULL, err);
		double ns = scan_ns(c);
		if (ns >= 0.99 * least) /* also 0, of a device without a clock */
			continue;
		least = ns;
		faster = rql_now_ns();
	}
	rql_commands_free(c);
	r->settled = status == RQL_OK;
	return status;
}

/* The kernels' answers are compared here: of several only the fastest one's goes on to be compared with DuckDB's. */
static rql_status keep_faster(struct rql_rival_answer *best, struct rql_rival_answer *one, struct rql_error *err)
{
	bool same = !best->sums || (best->count == one->count &&
	                            (!best->count || !memcmp(best->sums, one->sums, best->count * sizeof *best->sums)));
	bool faster = !best->sums || one->median_ns < best->median_ns;
	free(faster ? best->sums : one->sums);
	if (faster)
		*best = *one;
	return same ? RQL_OK : rql_error_set(err, RQL_ERROR_INTERNAL, "two kernels of one rival scan differ in their sums");
}

rql_status rql_rival_compile(struct rql_rival *r, uint32_t query_mask, struct rql_error *err)
{
	struct scan s;
	struct variant variants[MOST_VARIANTS];
	const struct rql_pipeline *pipeline;
	for (uint32_t form = 0; form < RQL_RIVAL_FORMS; form++)
		for (uint32_t q = 0; q < sizeof queries / sizeof *queries; q++) {
			if (!(query_mask >> q & 1))
				continue;
			describe(r, form, &queries[q], &s);
			uint32_t count = list_variants(&s, variants);
			for (uint32_t i = 0; i < count; i++)
				RQL_TRY(specialise(r, &s, variants[i], &pipeline, err));
		}
	return RQL_OK;
}

rql_status rql_rival_run(struct rql_rival *r, enum rql_rival_form form, uint32_t query, uint32_t runs,
                         struct rql_rival_answer *out, struct rql_error *err)
{
	struct scan s;
	struct variant variants[MOST_VARIANTS];
	struct rql_rival_answer best = {0}, one;
	describe(r, form, &queries[query], &s);
	uint32_t count = list_variants(&s, variants);
	rql_status status = settle(r, &s, variants[0], err);
	for (uint32_t i = 0; i < count && status == RQL_OK; i++) {
		status = run_variant(r, &s, variants[i], runs, &one, err);
		if (status == RQL_OK)
			status = keep_faster(&best, &one, err);
	}
	if (status != RQL_OK) {
		free(best.sums);
		return status;
	}
	best.variants = count;
	*out = best;
	return RQL_OK;
}

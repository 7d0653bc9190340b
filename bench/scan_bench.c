/* The 13 SSB queries as scan requests made by hand, over columns that the generator fills: on the flat table, and
 * with the joins as maps. Statement to rows is not in it: what is timed is one warm run of a prepared scan.
 *
 *   scan_bench [scale [threads [runs [auto|packed [device [GB/s]]]]]]   (1, 2, 15, auto: the store chooses encodings)
 *
 * With a device ("vulkan:0") the same requests run there too, and a query like TPC-H's first; what is printed is the
 * device's time, bytes read over it, and that as a share of the read bandwidth that is given (4580).
 *
 * Every answer is checked against a plain loop over int32 columns. Beside each time stand the bytes read, their
 * floor at this machine's bandwidth (measured here, all threads), and the time of that plain loop without any
 * column store, one thread: the honest rival inside this program. DuckDB's figures are those of bench/results/. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "expr/build.h"
#include "device/work.h"
#include "gen/ssb_row.h"
#include "method/scan/scan.h"

#define DATE_KEY(y, m, d) ((y)*10000 + (m)*100 + (d))

enum {
	DATE_CODE,
	DISCOUNT,
	QUANTITY,
	PRICE,
	REVENUE,
	COST,
	C_REGION,
	C_NATION,
	C_CITY,
	S_REGION,
	S_NATION,
	S_CITY,
	P_MFGR,
	P_CATEGORY,
	P_BRAND,
	DATE_KEYS,
	CUSTOMER,
	SUPPLIER,
	PART,
	COLUMNS
};
static const struct {
	const char *name;
	rql_type_id type;
	enum rql_store_coding coding;
} kinds[COLUMNS] = {
	{"LO_ORDERDATE", RQL_TYPE_DATE, RQL_STORE_CODES},     {"LO_DISCOUNT", RQL_TYPE_UTINYINT, RQL_STORE_VALUES},
	{"LO_QUANTITY", RQL_TYPE_UTINYINT, RQL_STORE_VALUES}, {"LO_EXTENDEDPRICE", RQL_TYPE_UINTEGER, RQL_STORE_VALUES},
	{"LO_REVENUE", RQL_TYPE_UINTEGER, RQL_STORE_VALUES},  {"LO_SUPPLYCOST", RQL_TYPE_UINTEGER, RQL_STORE_VALUES},
	{"C_REGION", RQL_TYPE_INTEGER, RQL_STORE_CODES},      {"C_NATION", RQL_TYPE_INTEGER, RQL_STORE_CODES},
	{"C_CITY", RQL_TYPE_INTEGER, RQL_STORE_CODES},        {"S_REGION", RQL_TYPE_INTEGER, RQL_STORE_CODES},
	{"S_NATION", RQL_TYPE_INTEGER, RQL_STORE_CODES},      {"S_CITY", RQL_TYPE_INTEGER, RQL_STORE_CODES},
	{"P_MFGR", RQL_TYPE_INTEGER, RQL_STORE_CODES},        {"P_CATEGORY", RQL_TYPE_INTEGER, RQL_STORE_CODES},
	{"P_BRAND", RQL_TYPE_INTEGER, RQL_STORE_CODES},       {"lo_orderdate", RQL_TYPE_INTEGER, RQL_STORE_VALUES},
	{"lo_custkey", RQL_TYPE_INTEGER, RQL_STORE_VALUES},   {"lo_suppkey", RQL_TYPE_INTEGER, RQL_STORE_VALUES},
	{"lo_partkey", RQL_TYPE_INTEGER, RQL_STORE_VALUES},
};

/* ---- data ---- */

struct day {
	int32_t year, month, week, key;
};
struct data {
	struct rql_ssb ssb;
	uint64_t rows;
	int32_t *plain[COLUMNS];
	struct day days[RQL_SSB_DATES];
	uint8_t *customer, *supplier; /* city of key - 1 */
	uint16_t *part;               /* brand */
	struct rql_store *store;
	const struct rql_store_snapshot *snapshot;
	double build_ms;
};

static void check(rql_status status, const struct rql_error *err)
{
	if (status == RQL_OK)
		return;
	fprintf(stderr, "scan_bench: %s: %s\n", rql_status_name(status), rql_error_message(err));
	exit(1);
}

static void *need(void *p)
{
	if (p)
		return p;
	fprintf(stderr, "scan_bench: out of memory\n");
	exit(1);
}

/* Every date with its ISO 8601 week: the week's Thursday decides whose week it is. */
static void fill_days(struct day *days)
{
	static const int32_t lengths[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	int32_t year = 1992, month = 1, day = 1, of_year = 1;
	for (uint32_t i = 0; i < RQL_SSB_DATES; i++) {
		int32_t thursday = of_year - (int32_t)(i + 2) % 7 + 3, length = year % 4 ? 365 : 366;
		if (thursday < 1)
			thursday += (year - 1) % 4 ? 365 : 366;
		else if (thursday > length)
			thursday -= length;
		days[i] = (struct day){year, month, (thursday - 1) / 7 + 1, DATE_KEY(year, month, day)};
		day++;
		of_year++;
		if (day > lengths[month - 1] + (month == 2 && year % 4 == 0)) {
			day = 1;
			month++;
		}
		if (month > 12) {
			month = of_year = 1;
			year++;
		}
	}
}

static void put_line(struct data *d, uint64_t row, const struct rql_ssb_line *l)
{
	int32_t day = l->order_day - RQL_SSB_FIRST_DAY, c = d->customer[l->customer_key - 1];
	int32_t s = d->supplier[l->supplier_key - 1], b = d->part[l->part_key - 1];
	const int32_t values[COLUMNS] = {l->order_day,
	                                 l->discount,
	                                 l->quantity,
	                                 l->extended_price,
	                                 l->revenue,
	                                 l->supply_cost,
	                                 c / 50,
	                                 c / 10,
	                                 c,
	                                 s / 50,
	                                 s / 10,
	                                 s,
	                                 b / 200,
	                                 b / 40,
	                                 b,
	                                 d->days[day].key,
	                                 (int32_t)l->customer_key,
	                                 (int32_t)l->supplier_key,
	                                 (int32_t)l->part_key};
	for (uint32_t i = 0; i < COLUMNS; i++)
		d->plain[i][row] = values[i];
}

static uint8_t city_of(struct rql_ssb_party p)
{
	return (uint8_t)((p.region * 5 + p.nation) * 10 + p.city);
}

/* Orders are dealt out in runs; where a run's rows begin is known after all runs before it were counted. */
#define RUN_ORDERS 16384u
struct generating {
	struct data *data;
	uint64_t *rows; /* of a run, then of its first row */
	bool count;
};
static void generate_run(void *state, uint64_t run, unsigned worker)
{
	struct generating *g = state;
	struct rql_ssb_line lines[RQL_SSB_MAX_LINES];
	uint64_t order = run * RUN_ORDERS, end = order + RUN_ORDERS, row = g->count ? 0 : g->rows[run];
	(void)worker;
	for (; order < end && order < g->data->ssb.orders; order++) {
		unsigned count = rql_ssb_order(&g->data->ssb, order, lines);
		for (unsigned i = 0; i < count && !g->count; i++)
			put_line(g->data, row + i, &lines[i]);
		row += count;
	}
	if (g->count)
		g->rows[run] = row;
}

static void generate_lines(struct data *d, struct rql_pool *pool)
{
	uint64_t runs = (d->ssb.orders + RUN_ORDERS - 1) / RUN_ORDERS, sum = 0;
	struct generating g = {.data = d, .rows = need(calloc(runs, sizeof(uint64_t))), .count = true};
	rql_pool_run(pool, runs, generate_run, &g);
	for (uint64_t r = 0; r < runs; r++) {
		uint64_t rows = g.rows[r];
		g.rows[r] = sum;
		sum += rows;
	}
	g.count = false;
	rql_pool_run(pool, runs, generate_run, &g);
	free(g.rows);
}

static void generate(struct data *d, double scale, struct rql_pool *pool)
{
	struct rql_error err = {0};
	check(rql_ssb_init(&d->ssb, "lineorder", scale, 42, &err), &err);
	d->rows = d->ssb.rows;
	fill_days(d->days);
	d->customer = need(malloc(d->ssb.customers));
	d->supplier = need(malloc(d->ssb.suppliers));
	d->part = need(malloc(d->ssb.parts * sizeof(*d->part)));
	for (uint64_t i = 0; i < d->ssb.customers; i++)
		d->customer[i] = city_of(rql_ssb_customer(&d->ssb, (uint32_t)i + 1));
	for (uint64_t i = 0; i < d->ssb.suppliers; i++)
		d->supplier[i] = city_of(rql_ssb_supplier(&d->ssb, (uint32_t)i + 1));
	for (uint64_t i = 0; i < d->ssb.parts; i++) {
		struct rql_ssb_part_row p = rql_ssb_part(&d->ssb, (uint32_t)i + 1);
		d->part[i] = (uint16_t)(((p.manufacturer - 1) * 5 + p.category - 1) * 40 + p.brand - 1);
	}
	for (uint32_t c = 0; c < COLUMNS; c++)
		d->plain[c] = need(malloc(d->rows * sizeof(int32_t)));
	generate_lines(d, pool);
}

#define LOAD_ROWS 2048u
/* Rows of one batch to the builder. */
struct loading {
	const struct data *data;
	struct rql_store_builder *builder;
	const struct rql_type *types;
};
static void load_batch(void *state, uint64_t index, unsigned worker)
{
	const struct loading *l = state;
	const struct data *d = l->data;
	struct rql_error err = {0};
	uint64_t at = index * LOAD_ROWS, n = d->rows - at < LOAD_ROWS ? d->rows - at : LOAD_ROWS;
	struct rql_batch *batch = need(rql_batch_new(COLUMNS, l->types, n));
	for (uint32_t c = 0; c < COLUMNS; c++)
		for (uint64_t i = 0; i < n; i++)
			if (kinds[c].type == RQL_TYPE_UTINYINT)
				((uint8_t *)batch->columns[c].data)[i] = (uint8_t)d->plain[c][at + i];
			else
				((int32_t *)batch->columns[c].data)[i] = d->plain[c][at + i];
	check(rql_store_builder_add(l->builder, worker, batch, NULL, &err), &err);
	rql_batch_release(batch);
}

static void load(struct data *d, struct rql_pool *pool, enum rql_store_encoding encoding)
{
	struct rql_error err = {0};
	struct rql_type types[COLUMNS];
	struct rql_store_column_spec columns[COLUMNS];
	for (uint32_t c = 0; c < COLUMNS; c++) {
		types[c] = rql_type_simple(kinds[c].type);
		columns[c] = (struct rql_store_column_spec){
			.name = kinds[c].name, .type = types[c], .coding = kinds[c].coding, .encoding = encoding};
	}
	struct rql_store_spec spec = {
		.name = "columns of lineorder", .column_count = COLUMNS, .columns = columns, .pool = pool};
	struct rql_store_builder *builder = NULL;
	uint64_t start = rql_now_ns();
	check(rql_store_builder_new(&spec, &builder, &err), &err);
	struct loading loading = {.data = d, .builder = builder, .types = types};
	rql_pool_run(pool, (d->rows + LOAD_ROWS - 1) / LOAD_ROWS, load_batch, &loading);
	check(rql_store_builder_finish(builder, &d->store, &err), &err);
	d->snapshot = rql_store_snapshot(d->store);
	d->build_ms = (double)(rql_now_ns() - start) / 1e6;
}

/* ---- queries ---- */

#define MOST 4u
enum attribute { YEAR, YEARMONTH, WEEK, OTHER };
struct predicate {
	uint32_t column; /* DATE_CODE with an attribute, or a number */
	enum attribute attribute;
	int32_t least, greatest, other; /* other: one value more, or -1 */
};
struct group {
	uint32_t column; /* DATE_CODE: the year */
	int32_t first;
	uint32_t count;
};
struct query {
	const char *name;
	struct predicate predicates[MOST];
	uint32_t predicate_count;
	struct group groups[3];
	uint32_t group_count;
	enum { PRODUCT, SUM, PROFIT } operation;
	double duckdb_flat_ms; /* bench/results/2026-11-20-epyc-2cpu-ssb.json, SF 1, 2 threads */
};

#define YEARS(a, b)                                                                                                    \
	{                                                                                                                  \
		DATE_CODE, YEAR, a, b, -1                                                                                      \
	}
#define MONTH(a)                                                                                                       \
	{                                                                                                                  \
		DATE_CODE, YEARMONTH, a, a, -1                                                                                 \
	}
#define P(c, a, b)                                                                                                     \
	{                                                                                                                  \
		c, OTHER, a, b, -1                                                                                             \
	}
#define IS(c, a)                                                                                                       \
	{                                                                                                                  \
		c, OTHER, a, a, -1                                                                                             \
	}
#define EITHER(c, a, b)                                                                                                \
	{                                                                                                                  \
		c, OTHER, a, a, b                                                                                              \
	}
#define G(c, first, count)                                                                                             \
	{                                                                                                                  \
		c, first, count                                                                                                \
	}
/* AMERICA is region 1 with the UNITED STATES as its fifth nation, ASIA 2, EUROPE 3 with the UNITED KINGDOM. */
#define US 9
#define UK1 191
#define UK5 195
static const struct query queries[13] = {
	{"q1.1", {YEARS(1993, 1993), P(DISCOUNT, 1, 3), P(QUANTITY, 1, 24)}, 3, {G(0, 0, 0)}, 0, PRODUCT, 15.48},
	{"q1.2", {MONTH(199401), P(DISCOUNT, 4, 6), P(QUANTITY, 26, 35)}, 3, {G(0, 0, 0)}, 0, PRODUCT, 13.63},
	{"q1.3",
     {{DATE_CODE, WEEK, 6, 6, -1}, YEARS(1994, 1994), P(DISCOUNT, 5, 7), P(QUANTITY, 26, 35)},
     4,
     {G(0, 0, 0)},
     0,
     PRODUCT,
     14.30},
	{"q2.1", {IS(P_CATEGORY, 1), IS(S_REGION, 1)}, 2, {G(DATE_CODE, 1992, 7), G(P_BRAND, 40, 40)}, 2, SUM, 15.92},
	{"q2.2", {P(P_BRAND, 260, 267), IS(S_REGION, 2)}, 2, {G(DATE_CODE, 1992, 7), G(P_BRAND, 260, 8)}, 2, SUM, 23.06},
	{"q2.3", {IS(P_BRAND, 278), IS(S_REGION, 3)}, 2, {G(DATE_CODE, 1992, 7), G(P_BRAND, 278, 1)}, 2, SUM, 14.79},
	{"q3.1",
     {IS(C_REGION, 2), IS(S_REGION, 2), YEARS(1992, 1997)},
     3,
     {G(C_NATION, 10, 5), G(S_NATION, 10, 5), G(DATE_CODE, 1992, 7)},
     3,
     SUM,
     23.28},
	{"q3.2",
     {IS(C_NATION, US), IS(S_NATION, US), YEARS(1992, 1997)},
     3,
     {G(C_CITY, US * 10, 10), G(S_CITY, US * 10, 10), G(DATE_CODE, 1992, 7)},
     3,
     SUM,
     16.68},
	{"q3.3",
     {EITHER(C_CITY, UK1, UK5), EITHER(S_CITY, UK1, UK5), YEARS(1992, 1997)},
     3,
     {G(C_CITY, UK1, 5), G(S_CITY, UK1, 5), G(DATE_CODE, 1992, 7)},
     3,
     SUM,
     19.15},
	{"q3.4",
     {EITHER(C_CITY, UK1, UK5), EITHER(S_CITY, UK1, UK5), MONTH(199712)},
     3,
     {G(C_CITY, UK1, 5), G(S_CITY, UK1, 5), G(DATE_CODE, 1992, 7)},
     3,
     SUM,
     19.41},
	{"q4.1",
     {IS(C_REGION, 1), IS(S_REGION, 1), P(P_MFGR, 0, 1)},
     3,
     {G(DATE_CODE, 1992, 7), G(C_NATION, 5, 5)},
     2,
     PROFIT,
     25.25},
	{"q4.2",
     {IS(C_REGION, 1), IS(S_REGION, 1), YEARS(1997, 1998), P(P_MFGR, 0, 1)},
     4,
     {G(DATE_CODE, 1992, 7), G(S_NATION, 5, 5), G(P_CATEGORY, 0, 10)},
     3,
     PROFIT,
     26.89},
	{"q4.3",
     {IS(S_NATION, US), YEARS(1997, 1998), IS(P_CATEGORY, 3)},
     3,
     {G(DATE_CODE, 1992, 7), G(S_CITY, US * 10, 10), G(P_BRAND, 120, 40)},
     3,
     PROFIT,
     21.76},
};

static int32_t attribute_of(const struct day *d, enum attribute a)
{
	return a == YEAR ? d->year : a == YEARMONTH ? d->year * 100 + d->month : d->week;
}

static bool matches(const struct predicate *p, int32_t value)
{
	return (value >= p->least && value <= p->greatest) || value == p->other;
}

/* ---- the plain loop: the oracle, and a rival ---- */

static void plain_run(const struct data *d, const struct query *q, uint64_t first, uint64_t end, int64_t *sums)
{
	const int32_t *a = d->plain[q->operation == PRODUCT ? PRICE : REVENUE];
	const int32_t *b = d->plain[q->operation == PRODUCT ? DISCOUNT : COST];
	const int32_t *dates = d->plain[DATE_CODE];
	for (uint64_t r = first; r < end; r++) {
		const struct day *day = &d->days[dates[r] - RQL_SSB_FIRST_DAY];
		bool pass = true;
		for (uint32_t i = 0; i < q->predicate_count && pass; i++) {
			const struct predicate *p = &q->predicates[i];
			pass = matches(p, p->column == DATE_CODE ? attribute_of(day, p->attribute) : d->plain[p->column][r]);
		}
		if (!pass)
			continue;
		uint64_t group = 0;
		for (uint32_t g = 0; g < q->group_count; g++) {
			int32_t value = q->groups[g].column == DATE_CODE ? day->year : d->plain[q->groups[g].column][r];
			group = group * q->groups[g].count + (uint32_t)(value - q->groups[g].first);
		}
		sums[group] += q->operation == PRODUCT ? (int64_t)a[r] * b[r] : q->operation == SUM ? a[r] : a[r] - b[r];
	}
}

/* ---- requests ---- */

struct request {
	struct rql_scan_request request;
	struct rql_scan_conjunct conjuncts[MOST + 1];
	struct rql_scan_join joins[4];
	struct rql_scan_map *maps[4];
	struct rql_scan_group_key groups[3];
	struct rql_scan_source inputs[2];
	struct rql_scan_program program;
	struct rql_scan_agg agg;
	struct rql_arena *arena;
};

/* LO_EXTENDEDPRICE * LO_DISCOUNT or LO_REVENUE - LO_SUPPLYCOST. */
static void make_aggregate(struct request *r, const struct data *d, const struct query *q)
{
	struct rql_error err = {0};
	r->agg = (struct rql_scan_agg){.kind = RQL_AGG_SUM, .source = {.index = REVENUE}, .filter = RQL_SCAN_NONE};
	r->request.agg_count = 1;
	r->request.aggs = &r->agg;
	if (q->operation == SUM)
		return;
	uint32_t columns[2] = {q->operation == PRODUCT ? PRICE : REVENUE, q->operation == PRODUCT ? DISCOUNT : COST};
	struct rql_builder *b = need(rql_builder_new(r->arena));
	rql_value_number v[2];
	for (uint32_t i = 0; i < 2; i++) {
		const struct rql_store_column *c = &d->snapshot->columns[columns[i]];
		struct rql_input_spec spec = {.column = i,
		                              .type = rql_type_simple(RQL_TYPE_BIGINT),
		                              .kind = RQL_LANE_I64,
		                              .bounds = {c->least, c->greatest}};
		v[i] = rql_build_input(b, &spec);
		r->inputs[i] = (struct rql_scan_source){.index = columns[i]};
	}
	rql_value_number result = rql_build_arithmetic(b, q->operation == PRODUCT ? "*" : "-", v[0], v[1],
	                                               rql_type_simple(RQL_TYPE_BIGINT), true);
	struct rql_program *program = NULL;
	check(rql_builder_finish(b, &result, 1, &program, &err), &err);
	r->program = (struct rql_scan_program){.program = program, .inputs = r->inputs};
	r->request.program_count = 1;
	r->request.programs = &r->program;
	r->agg.source = (struct rql_scan_source){.kind = RQL_SCAN_PROGRAM};
}

static uint32_t code_count(const struct data *d, uint32_t column)
{
	const struct rql_dimension *dimension = d->snapshot->columns[column].dimension;
	return dimension->count;
}

/* The number that a code of a coded column stands for. */
static int32_t value_of(const struct data *d, uint32_t column, uint32_t code)
{
	return ((const int32_t *)d->snapshot->columns[column].dimension->values.data)[code];
}

static void flat_predicate(struct request *r, const struct data *d, const struct predicate *p)
{
	struct rql_scan_conjunct *c = &r->conjuncts[r->request.conjunct_count++];
	*c = (struct rql_scan_conjunct){
		.test = RQL_SCAN_IN_RANGE, .index = p->column, .least = p->least, .greatest = p->greatest};
	if (kinds[p->column].coding != RQL_STORE_CODES)
		return;
	uint32_t count = code_count(d, p->column);
	uint64_t *set = need(RQL_NEW_ARRAY(r->arena, uint64_t, count / 64 + 1));
	for (uint32_t code = 0; code < count; code++) {
		int32_t value = value_of(d, p->column, code);
		if (p->column == DATE_CODE)
			value = attribute_of(&d->days[value - RQL_SSB_FIRST_DAY], p->attribute);
		if (matches(p, value))
			set[code / 64] |= UINT64_C(1) << code % 64;
	}
	c->test = RQL_SCAN_IN_CODES;
	c->codes = set;
}

static void flat_request(struct request *r, const struct data *d, const struct query *q)
{
	*r = (struct request){.arena = need(rql_arena_new())};
	r->request = (struct rql_scan_request){
		.snapshot = d->snapshot, .conjuncts = r->conjuncts, .groups = r->groups, .joins = r->joins};
	make_aggregate(r, d, q);
	for (uint32_t i = 0; i < q->predicate_count; i++)
		flat_predicate(r, d, &q->predicates[i]);
	for (uint32_t g = 0; g < q->group_count; g++) {
		uint32_t column = q->groups[g].column, count = code_count(d, column);
		uint32_t *keys = need(RQL_NEW_ARRAY(r->arena, uint32_t, count));
		for (uint32_t code = 0; code < count; code++) {
			int32_t value = value_of(d, column, code);
			value = (column == DATE_CODE ? d->days[value - RQL_SSB_FIRST_DAY].year : value) - q->groups[g].first;
			keys[code] = value >= 0 && (uint32_t)value < q->groups[g].count ? (uint32_t)value : 0; /* 0: never passes */
		}
		r->groups[r->request.group_count++] = (struct rql_scan_group_key){.source = {.index = column},
		                                                                  .key_of_code = keys,
		                                                                  .key_count = q->groups[g].count,
		                                                                  .null_key = RQL_SCAN_NONE};
	}
}

/* Which dimension a flat column comes from: 0 date, 1 customer, 2 supplier, 3 part, 4 none. */
static unsigned dimension_of(uint32_t column)
{
	return column == DATE_CODE                      ? 0
	       : column >= C_REGION && column <= C_CITY ? 1
	       : column >= S_REGION && column <= S_CITY ? 2
	       : column >= P_MFGR && column <= P_BRAND  ? 3
	                                                : 4;
}

/* What row i of a dimension has in a flat column. */
static int32_t attribute_at(const struct data *d, uint32_t column, enum attribute attribute, uint64_t i)
{
	switch (column) {
	case DATE_CODE:
		return attribute_of(&d->days[i], attribute);
	case C_REGION:
		return d->customer[i] / 50;
	case C_NATION:
		return d->customer[i] / 10;
	case C_CITY:
		return d->customer[i];
	case S_REGION:
		return d->supplier[i] / 50;
	case S_NATION:
		return d->supplier[i] / 10;
	case S_CITY:
		return d->supplier[i];
	case P_MFGR:
		return d->part[i] / 200;
	case P_CATEGORY:
		return d->part[i] / 40;
	default:
		return d->part[i];
	}
}

/* The dimension filtered by the query's predicates on it, its payload the group keys' mixed radix. false: not used. */
static bool make_map(struct request *r, const struct data *d, const struct query *q, unsigned dimension)
{
	const uint64_t counts[4] = {RQL_SSB_DATES, d->ssb.customers, d->ssb.suppliers, d->ssb.parts};
	uint64_t n = counts[dimension];
	bool used = false;
	for (uint32_t i = 0; i < q->predicate_count; i++)
		used |= dimension_of(q->predicates[i].column) == dimension;
	for (uint32_t g = 0; g < q->group_count; g++)
		used |= dimension_of(q->groups[g].column) == dimension;
	if (!used)
		return false;
	struct rql_error err = {0};
	int64_t *keys = need(malloc(n * sizeof(*keys)));
	int32_t *payloads = need(malloc(n * sizeof(*payloads)));
	for (uint64_t row = 0; row < n; row++) {
		bool pass = true;
		int32_t payload = 0;
		for (uint32_t i = 0; i < q->predicate_count; i++)
			if (dimension_of(q->predicates[i].column) == dimension)
				pass &= matches(&q->predicates[i],
				                attribute_at(d, q->predicates[i].column, q->predicates[i].attribute, row));
		for (uint32_t g = 0; g < q->group_count && pass; g++)
			if (dimension_of(q->groups[g].column) == dimension)
				payload = payload * (int32_t)q->groups[g].count + attribute_at(d, q->groups[g].column, YEAR, row) -
				          q->groups[g].first;
		keys[row] = dimension == 0 ? d->days[row].key : (int64_t)row + 1;
		payloads[row] = pass ? payload : -1;
	}
	check(rql_scan_map_build(keys, payloads, n, &r->maps[r->request.join_count], &err), &err);
	free(keys);
	free(payloads);
	return true;
}

/* Every dimension has at most one group key in these queries. */
static void star_request(struct request *r, const struct data *d, const struct query *q)
{
	static const uint32_t columns[4] = {DATE_KEYS, CUSTOMER, SUPPLIER, PART};
	uint32_t join_of[4] = {0};
	*r = (struct request){.arena = need(rql_arena_new())};
	r->request = (struct rql_scan_request){
		.snapshot = d->snapshot, .conjuncts = r->conjuncts, .groups = r->groups, .joins = r->joins};
	make_aggregate(r, d, q);
	for (uint32_t i = 0; i < q->predicate_count; i++)
		if (dimension_of(q->predicates[i].column) == 4)
			flat_predicate(r, d, &q->predicates[i]);
	for (unsigned dimension = 0; dimension < 4; dimension++) {
		bool grouped = false;
		if (!make_map(r, d, q, dimension))
			continue;
		for (uint32_t g = 0; g < q->group_count; g++)
			grouped |= dimension_of(q->groups[g].column) == dimension;
		uint32_t j = join_of[dimension] = r->request.join_count++;
		r->joins[j] = (struct rql_scan_join){
			.kind = grouped ? RQL_SCAN_INNER : RQL_SCAN_SEMI, .column = columns[dimension], .map = r->maps[j]};
	}
	for (uint32_t g = 0; g < q->group_count; g++)
		r->groups[r->request.group_count++] = (struct rql_scan_group_key){
			.source = {.kind = RQL_SCAN_JOIN, .index = join_of[dimension_of(q->groups[g].column)]},
			.key_count = q->groups[g].count,
			.null_key = RQL_SCAN_NONE};
}

/* ---- measuring ---- */

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void verify(const struct query *q, const struct rql_answer *answer, const int64_t *sums, uint64_t groups)
{
	uint64_t at = 0;
	for (uint64_t g = 0; g < groups; g++) {
		if (!sums[g] && q->group_count)
			continue;
		uint64_t rest = g;
		bool same = at < answer->group_count && answer->aggs[0].integer[at] == sums[g];
		for (uint32_t k = q->group_count; same && k-- > 0; rest /= q->groups[k].count)
			same = answer->keys[k][at] == rest % q->groups[k].count;
		if (!same) {
			fprintf(stderr, "scan_bench: %s: group %llu differs\n", q->name, (unsigned long long)g);
			exit(1);
		}
		at++;
	}
	if (at != answer->group_count) {
		fprintf(stderr, "scan_bench: %s: %llu groups, not %llu\n", q->name, (unsigned long long)answer->group_count,
		        (unsigned long long)at);
		exit(1);
	}
}

struct timing {
	double ms, least_ms, cpu_ms, plain_ms, price_ms;
	struct rql_scan_counts counts;
};

/* Of all threads; on a machine that others use too, it says more than the wall clock. */
static double cpu_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void measure(const struct data *d, const struct query *q, const struct request *r, struct rql_device *device,
                    const struct rql_scan_profile *profile, unsigned runs, struct timing *out)
{
	struct rql_error err = {0};
	struct rql_scan *scan = NULL;
	struct rql_cost cost;
	double times[1000], cpu[1000];
	uint64_t groups = 1;
	for (uint32_t g = 0; g < q->group_count; g++)
		groups *= q->groups[g].count;
	int64_t *sums = need(calloc(groups, sizeof(*sums)));
	uint64_t start = rql_now_ns();
	plain_run(d, q, 0, d->rows, sums);
	out->plain_ms = (double)(rql_now_ns() - start) / 1e6;
	check(rql_scan_prepare(&r->request, device, &scan, &err), &err);
	rql_scan_price(scan, device, profile, &cost);
	out->price_ms = cost.run_ns / 1e6;
	for (unsigned i = 0; i < runs + 2; i++) { /* two to warm up */
		struct rql_arena *arena = need(rql_arena_new());
		struct rql_answer answer;
		double cpu_start = cpu_ms();
		start = rql_now_ns();
		check(rql_scan_run(scan, device, arena, NULL, &answer, &out->counts, &err), &err);
		times[i < 2 ? 0 : i - 2] = (double)(rql_now_ns() - start) / 1e6;
		cpu[i < 2 ? 0 : i - 2] = cpu_ms() - cpu_start;
		verify(q, &answer, sums, groups);
		rql_arena_free(arena);
	}
	qsort(times, runs, sizeof(*times), ascending);
	out->ms = times[runs / 2];
	out->least_ms = times[0];
	qsort(cpu, runs, sizeof(*cpu), ascending);
	out->cpu_ms = cpu[runs / 2];
	rql_scan_free(scan);
	free(sums);
}

/* ---- on a device ---- */

extern const struct rql_method rql_method_scan_compute;

#define WARM_NS 800000000u
struct device_timing {
	double first_ms, device_us, wall_us, bytes;
	uint64_t passed;
};

static void check_same(const char *name, const struct rql_answer *a, const struct rql_answer *b, uint32_t aggs,
                       uint32_t keys)
{
	bool same = a->group_count == b->group_count;
	for (uint32_t k = 0; same && k < keys; k++)
		same = memcmp(a->keys[k], b->keys[k], a->group_count * sizeof(uint32_t)) == 0;
	for (uint32_t i = 0; same && i < aggs; i++)
		for (uint64_t g = 0; same && g < a->group_count; g++)
			same = a->aggs[i].integer[g] == b->aggs[i].integer[g];
	if (same)
		return;
	fprintf(stderr, "scan_bench: %s: the device's answer differs\n", name);
	exit(1);
}

/* The CPU's answer is compared with every run's. */
static void measure_device(const char *name, const struct rql_scan_request *request, struct rql_device *cpu,
                           struct rql_device *gpu, unsigned runs, struct device_timing *out)
{
	const struct rql_method *method = &rql_method_scan_compute;
	struct rql_error err = {0};
	struct rql_scan *scan = NULL;
	struct rql_prepared *prepared = NULL;
	struct rql_arena *arena = need(rql_arena_new());
	struct rql_answer want, have;
	double times[1000], walls[1000];
	const char *why = "";
	if (method->can_scan(request, gpu, &why) == RQL_SERVE_NO) {
		fprintf(stderr, "scan_bench: %s: %s\n", name, why);
		exit(1);
	}
	check(rql_scan_prepare(request, cpu, &scan, &err), &err);
	check(rql_scan_run(scan, cpu, arena, NULL, &want, NULL, &err), &err);
	uint64_t start = rql_now_ns();
	check(method->prepare_scan(request, gpu, &prepared, &err), &err);
	check(method->run(prepared, gpu, 0, arena, NULL, &have, &err), &err);
	out->first_ms = (double)(rql_now_ns() - start) / 1e6;
	/* A device that has idled while the kernel was compiled runs at a low clock for a while. */
	for (start = rql_now_ns(); rql_now_ns() - start < WARM_NS;) {
		struct rql_arena *scratch = need(rql_arena_new());
		check(method->run(prepared, gpu, 0, scratch, NULL, &have, &err), &err);
		rql_arena_free(scratch);
	}
	for (unsigned i = 0; i < 2 * runs; i++) {
		start = rql_now_ns();
		check(method->run(prepared, gpu, i % 2 ? RQL_RUN_TIMED : 0, arena, NULL, &have, &err), &err);
		walls[i / 2] = i % 2 ? walls[i / 2] : (double)(rql_now_ns() - start) / 1e3;
		times[i / 2] = have.device_ns / 1e3;
		check_same(name, &want, &have, request->agg_count, request->group_count);
	}
	qsort(times, runs, sizeof(*times), ascending);
	qsort(walls, runs, sizeof(*walls), ascending);
	out->device_us = times[runs / 2];
	out->wall_us = walls[runs / 2];
	out->bytes = (double)have.bytes_read;
	out->passed = have.cells_covered;
	method->free_prepared(prepared);
	rql_scan_free(scan);
	rql_arena_free(arena);
}

static void print_device(const char *name, const struct device_timing *t, double gbps)
{
	double rate = t->bytes / t->device_us / 1e3;
	printf("%s  %9.1f %9.1f %9.1f %9.1f %9.0f %6.1f%%  %9.1f  %llu\n", name, t->device_us, t->wall_us,
	       t->wall_us - t->device_us, t->bytes / 1e6, rate, 100 * rate / gbps, t->first_ms,
	       (unsigned long long)t->passed);
	fflush(stdout);
}

static void report_device(const char *form, const struct data *d, struct rql_device *cpu, struct rql_device *gpu,
                          unsigned runs, double gbps)
{
	double log_us = 0, log_wall = 0;
	printf("\n%s on %s, %llu rows, warm runs, median\nquery  device us   wall us    beside   MB read      GB/s  of "
	       "%.0f  first ms  rows passed\n",
	       form, gpu->name, (unsigned long long)d->rows, gbps);
	for (unsigned i = 0; i < 13; i++) {
		struct request r;
		struct device_timing t;
		if (strcmp(form, "flat") == 0)
			flat_request(&r, d, &queries[i]);
		else
			star_request(&r, d, &queries[i]);
		measure_device(queries[i].name, &r.request, cpu, gpu, runs, &t);
		print_device(queries[i].name, &t, gbps);
		log_us += log(t.device_us);
		log_wall += log(t.wall_us);
		for (uint32_t j = 0; j < r.request.join_count; j++)
			rql_scan_map_free(r.maps[j]);
		rql_arena_free(r.arena);
	}
	printf("geometric mean %.1f us on the device, %.1f us wall\n", exp(log_us / 13), exp(log_wall / 13));
}

/* As TPC-H's first query: nearly all rows, few groups (two columns), sums of a column, of products of two and three. */
static void report_wide(const struct data *d, struct rql_device *cpu, struct rql_device *gpu, unsigned runs,
                        double gbps)
{
	static const uint32_t columns[3] = {PRICE, DISCOUNT, QUANTITY};
	struct rql_arena *arena = need(rql_arena_new());
	struct rql_builder *b = need(rql_builder_new(arena));
	struct rql_type bigint = rql_type_simple(RQL_TYPE_BIGINT);
	struct rql_scan_source inputs[3];
	struct rql_error err = {0};
	rql_value_number v[3], results[2];
	for (uint32_t i = 0; i < 3; i++) {
		const struct rql_store_column *c = &d->snapshot->columns[columns[i]];
		struct rql_input_spec spec = {
			.column = i, .type = bigint, .kind = RQL_LANE_I64, .bounds = {c->least, c->greatest}};
		v[i] = rql_build_input(b, &spec);
		inputs[i] = (struct rql_scan_source){.index = columns[i]};
	}
	results[0] = rql_build_arithmetic(b, "*", v[0], v[1], bigint, true);
	results[1] =
		rql_build_arithmetic(b, "*", results[0], rql_build_arithmetic(b, "+", v[1], v[2], bigint, true), bigint, true);
	struct rql_program *program = NULL;
	check(rql_builder_finish(b, results, 2, &program, &err), &err);
	struct rql_scan_program programs = {.program = program, .inputs = inputs};
	struct rql_scan_conjunct date = {
		.test = RQL_SCAN_IN_RANGE, .index = DATE_CODE, .least = 0, .greatest = RQL_SSB_DATES - 60};
	struct rql_scan_group_key groups[2] = {{.source = {.index = P_MFGR}, .key_count = 5, .null_key = RQL_SCAN_NONE},
	                                       {.source = {.index = S_REGION}, .key_count = 5, .null_key = RQL_SCAN_NONE}};
	struct rql_scan_agg aggs[5] = {
		{.kind = RQL_AGG_SUM, .source = {.index = QUANTITY}, .filter = RQL_SCAN_NONE},
		{.kind = RQL_AGG_SUM, .source = {.index = PRICE}, .filter = RQL_SCAN_NONE},
		{.kind = RQL_AGG_SUM, .source = {.kind = RQL_SCAN_PROGRAM}, .filter = RQL_SCAN_NONE},
		{.kind = RQL_AGG_SUM, .source = {.kind = RQL_SCAN_PROGRAM, .result = 1}, .filter = RQL_SCAN_NONE},
		{.kind = RQL_AGG_COUNT_STAR, .filter = RQL_SCAN_NONE}};
	struct rql_scan_request request = {.snapshot = d->snapshot,
	                                   .program_count = 1,
	                                   .programs = &programs,
	                                   .conjunct_count = 1,
	                                   .conjuncts = &date,
	                                   .group_count = 2,
	                                   .groups = groups,
	                                   .agg_count = 5,
	                                   .aggs = aggs};
	struct device_timing t;
	printf("\nlike TPC-H's first query, with and without groups\n");
	measure_device("h1", &request, cpu, gpu, runs, &t);
	print_device("h1  ", &t, gbps);
	request.group_count = 1;
	measure_device("h1 with five groups", &request, cpu, gpu, runs, &t);
	print_device("h1.5", &t, gbps);
	request.group_count = 0;
	measure_device("h1 without groups", &request, cpu, gpu, runs, &t);
	print_device("h1.0", &t, gbps);
	rql_arena_free(arena);
}

static void run_device(const struct data *d, struct rql_device *cpu, const char *name, unsigned runs, double gbps)
{
	struct rql_devices *devices = NULL;
	struct rql_error err = {0};
	check(rql_devices_open(rql_pool_threads(cpu->pool), &devices, &err), &err);
	struct rql_device *gpu = rql_devices_get(devices, name);
	if (!gpu) {
		fprintf(stderr, "scan_bench: no device %s: %s\n", name, devices->no_gpu ? devices->no_gpu : "not there");
		exit(1);
	}
	report_device("flat", d, cpu, gpu, runs, gbps);
	report_device("star", d, cpu, gpu, runs, gbps);
	report_wide(d, cpu, gpu, runs, gbps);
	rql_devices_close(devices);
}

static _Atomic uint64_t sink;
static void read_share(void *state, uint64_t index, unsigned worker)
{
	const uint64_t *words = (const uint64_t *)state + index * (1 << 17);
	uint64_t sum = 0;
	(void)worker;
	for (uint64_t i = 0; i < 1 << 17; i++)
		sum += words[i];
	sink += sum;
}

/* All threads reading 256 MB, bytes/ns. */
static double bandwidth(struct rql_pool *pool)
{
	uint64_t bytes = UINT64_C(256) << 20, best = UINT64_MAX;
	uint64_t *words = need(malloc(bytes));
	memset(words, 1, bytes);
	for (unsigned i = 0; i < 7; i++) {
		uint64_t start = rql_now_ns();
		rql_pool_run(pool, bytes >> 20, read_share, words);
		uint64_t took = rql_now_ns() - start;
		best = took < best ? took : best;
	}
	free(words);
	return (double)bytes / (double)best;
}

static double load_average(void)
{
	double load = -1;
	FILE *f = fopen("/proc/loadavg", "r");
	if (f && fscanf(f, "%lf", &load) != 1)
		load = -1;
	if (f)
		fclose(f);
	return load;
}

static void report(const char *form, const struct data *d, struct rql_device *device,
                   const struct rql_scan_profile *profile, unsigned runs, bool duckdb)
{
	double log_ms = 0, log_duckdb = 0, log_plain = 0;
	printf("\n%s: %s, %llu rows, %u threads, load %.2f\n", form, "one warm run of a prepared scan, median",
	       (unsigned long long)d->rows, rql_pool_threads(device->pool), load_average());
	printf("query   ms      least   cpu     price   plain1  MB read floor   x floor %s  rows passed\n",
	       duckdb ? "duckdb  ratio" : "");
	for (unsigned i = 0; i < 13; i++) {
		const struct query *q = &queries[i];
		struct request r;
		struct timing t;
		if (strcmp(form, "flat") == 0)
			flat_request(&r, d, q);
		else
			star_request(&r, d, q);
		measure(d, q, &r, device, profile, runs, &t);
		double floor_ms = (double)t.counts.bytes_read / device->profile.read_gbps / 1e6;
		printf("%s  %7.3f %7.3f %7.3f %7.3f %7.2f %7.2f %7.3f %7.1f", q->name, t.ms, t.least_ms, t.cpu_ms, t.price_ms,
		       t.plain_ms, (double)t.counts.bytes_read / 1e6, floor_ms, t.ms / floor_ms);
		if (duckdb)
			printf("  %6.2f %6.1f", q->duckdb_flat_ms, q->duckdb_flat_ms / t.ms);
		printf("  %llu\n", (unsigned long long)t.counts.rows_passed);
		log_ms += log(t.ms);
		log_plain += log(t.plain_ms);
		log_duckdb += log(q->duckdb_flat_ms);
		for (uint32_t j = 0; j < r.request.join_count; j++)
			rql_scan_map_free(r.maps[j]);
		rql_arena_free(r.arena);
	}
	printf("geometric mean %.3f ms, plain loop %.2f ms", exp(log_ms / 13), exp(log_plain / 13));
	if (duckdb)
		printf(", DuckDB %.2f ms: %.1f times", exp(log_duckdb / 13), exp((log_duckdb - log_ms) / 13));
	printf("\n");
}

int main(int argc, char **argv)
{
	double scale = argc > 1 ? atof(argv[1]) : 1;
	unsigned threads = argc > 2 ? (unsigned)atoi(argv[2]) : 2, runs = argc > 3 ? (unsigned)atoi(argv[3]) : 15;
	struct rql_error err = {0};
	static struct data d;
	struct rql_scan_profile profile = rql_profile_guess.scan;
	struct rql_device device = {.simd = RQL_SIMD_AVX512};
	const char *simd = getenv("RAYQL_SIMD");
	if (simd && strcmp(simd, "avx2") == 0)
		device.simd = RQL_SIMD_AVX2;
	else if (simd && strcmp(simd, "portable") == 0)
		device.simd = RQL_SIMD_PORTABLE;
	device.units[RQL_UNIT_CPU] = true;
	runs = runs < 1 ? 1 : runs > 900 ? 900 : runs;
	check(rql_pool_new(threads, &device.pool, &err), &err);
	uint64_t start = rql_now_ns();
	generate(&d, scale, device.pool);
	printf("%llu rows generated in %.0f ms\n", (unsigned long long)d.rows, (double)(rql_now_ns() - start) / 1e6);
	load(&d, device.pool, argc > 4 && strcmp(argv[4], "packed") == 0 ? RQL_STORE_PACKED : RQL_STORE_AUTO);
	device.profile.read_gbps = bandwidth(device.pool);
	device.profile.handover_ns = 2000;
	check(rql_scan_calibrate(&device, argc <= 5, &profile, &err), &err);
	uint64_t flat_bytes = 0;
	for (uint32_t c = 0; c <= P_BRAND; c++)
		flat_bytes += d.snapshot->columns[c].bytes;
	printf("bandwidth %.1f GB/s; store built in %.0f ms\n", device.profile.read_gbps, d.build_ms);
	printf("flat columns %.1f MB, %.2f bytes a row; as int32 %.1f MB: %.2f of it\n", (double)flat_bytes / 1e6,
	       (double)flat_bytes / (double)d.rows, (double)d.rows * 60 / 1e6, (double)flat_bytes / ((double)d.rows * 60));
	printf("profile: test %.3f value %.3f gather %.3f touch %.1f probe %.3f row %.3f group %.2f step %.3f block %.1f ns\n",
	       profile.test_ns, profile.value_ns, profile.gather_ns, profile.touch_ns, profile.probe_ns, profile.row_ns,
	       profile.group_ns, profile.step_ns, profile.block_ns);
	if (argc > 5) {
		run_device(&d, &device, argv[5], runs, argc > 6 ? atof(argv[6]) : 4580);
	} else {
		report("flat", &d, &device, &profile, runs, scale == 1);
		report("star", &d, &device, &profile, runs, false);
	}
	rql_store_snapshot_release(d.snapshot);
	rql_store_release(d.store);
	rql_pool_free(device.pool);
	for (uint32_t c = 0; c < COLUMNS; c++)
		free(d.plain[c]);
	free(d.customer);
	free(d.supplier);
	free(d.part);
	return 0;
}

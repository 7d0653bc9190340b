/* SSB's flat table as int32 columns, made by the generator, and as a column store. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/alone/scan_bench.h"

#define DATE_KEY(y, m, d) ((y)*10000 + (m)*100 + (d))

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

void bench_check(rql_status status, const struct rql_error *err)
{
	if (status == RQL_OK)
		return;
	fprintf(stderr, "scan_bench: %s: %s\n", rql_status_name(status), rql_error_message(err));
	exit(1);
}

void *bench_need(void *p)
{
	if (p)
		return p;
	fprintf(stderr, "scan_bench: out of memory\n");
	exit(1);
}

bool bench_is_coded(uint32_t column)
{
	return kinds[column].coding == RQL_STORE_CODES;
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
	struct generating g = {.data = d, .rows = bench_need(calloc(runs, sizeof(uint64_t))), .count = true};
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

void bench_generate(struct data *d, double scale, struct rql_pool *pool)
{
	struct rql_error err = {0};
	bench_check(rql_ssb_init(&d->ssb, "lineorder", scale, 42, &err), &err);
	d->rows = d->ssb.rows;
	fill_days(d->days);
	d->customer = bench_need(malloc(d->ssb.customers));
	d->supplier = bench_need(malloc(d->ssb.suppliers));
	d->part = bench_need(malloc(d->ssb.parts * sizeof(*d->part)));
	for (uint64_t i = 0; i < d->ssb.customers; i++)
		d->customer[i] = city_of(rql_ssb_customer(&d->ssb, (uint32_t)i + 1));
	for (uint64_t i = 0; i < d->ssb.suppliers; i++)
		d->supplier[i] = city_of(rql_ssb_supplier(&d->ssb, (uint32_t)i + 1));
	for (uint64_t i = 0; i < d->ssb.parts; i++) {
		struct rql_ssb_part_row p = rql_ssb_part(&d->ssb, (uint32_t)i + 1);
		d->part[i] = (uint16_t)(((p.manufacturer - 1) * 5 + p.category - 1) * 40 + p.brand - 1);
	}
	for (uint32_t c = 0; c < COLUMNS; c++)
		d->plain[c] = bench_need(malloc(d->rows * sizeof(int32_t)));
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
	struct rql_batch *batch = bench_need(rql_batch_new(COLUMNS, l->types, n));
	for (uint32_t c = 0; c < COLUMNS; c++)
		for (uint64_t i = 0; i < n; i++)
			if (kinds[c].type == RQL_TYPE_UTINYINT)
				((uint8_t *)batch->columns[c].data)[i] = (uint8_t)d->plain[c][at + i];
			else
				((int32_t *)batch->columns[c].data)[i] = d->plain[c][at + i];
	bench_check(rql_store_builder_add(l->builder, worker, batch, NULL, &err), &err);
	rql_batch_release(batch);
}

void bench_load(struct data *d, struct rql_pool *pool, enum rql_store_encoding encoding)
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
	bench_check(rql_store_builder_new(&spec, &builder, &err), &err);
	struct loading loading = {.data = d, .builder = builder, .types = types};
	rql_pool_run(pool, (d->rows + LOAD_ROWS - 1) / LOAD_ROWS, load_batch, &loading);
	bench_check(rql_store_builder_finish(builder, &d->store, &err), &err);
	d->snapshot = rql_store_snapshot(d->store);
	d->build_ms = (double)(rql_now_ns() - start) / 1e6;
}

/* The Star Schema Benchmark's generator: counts, independence of threads and chunks, distributions, the selectivities
 * of the 13 queries (RTCUDB, table 1), and flat rows as the join of the others. The argument is the scale of the
 * selectivities. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <cmocka.h>

#include "gen/ssb.h"
#include "util/threads.h"

static double selectivity_scale = 0.1;

static void put(struct rql_batch *out, uint32_t column, uint64_t row, const char *data, uint32_t length)
{
	assert_true(rql_batch_set_string(out, column, row, data, length));
}

static struct rql_ssb make(const char *table, double scale, int64_t seed)
{
	struct rql_ssb ssb;
	struct rql_error err = {0};
	if (rql_ssb_init(&ssb, table, scale, seed, &err))
		fail_msg("%s", rql_error_message(&err));
	return ssb;
}

static struct rql_batch *new_batch(const struct rql_ssb *ssb, uint64_t rows)
{
	struct rql_type types[64];
	uint32_t count;
	const struct rql_gen_column *columns = rql_ssb_columns(ssb->table, &count);
	for (uint32_t i = 0; i < count; i++)
		types[i] = rql_type_simple(columns[i].type);
	struct rql_batch *batch = rql_batch_new(count, types, rows);
	assert_non_null(batch);
	return batch;
}

static struct rql_batch *fill(const struct rql_ssb *ssb, uint64_t first, uint32_t count)
{
	struct rql_batch *batch = new_batch(ssb, count);
	struct rql_ssb_scratch *scratch = rql_ssb_scratch_new();
	assert_non_null(scratch);
	rql_ssb_fill(ssb, first, count, batch, scratch, put);
	rql_ssb_scratch_free(scratch);
	return batch;
}

static uint32_t column_of(const struct rql_ssb *ssb, const char *name)
{
	uint32_t count;
	const struct rql_gen_column *columns = rql_ssb_columns(ssb->table, &count);
	for (uint32_t i = 0; i < count; i++)
		if (!strcmp(columns[i].name, name))
			return i;
	fail_msg("no column %s", name);
	return 0;
}

static int64_t get_int(const struct rql_batch *batch, uint32_t column, uint64_t row)
{
	const struct rql_column *c = &batch->columns[column];
	if (c->type.id == RQL_TYPE_UTINYINT)
		return ((const uint8_t *)c->data)[row];
	return ((const int32_t *)c->data)[row];
}

static const char *get_text(const struct rql_batch *batch, uint32_t column, uint64_t row, char out[64])
{
	const struct rql_string *s = &((const struct rql_string *)batch->columns[column].data)[row];
	assert_true(s->length < 64);
	memcpy(out, rql_string_data(s), s->length);
	out[s->length] = '\0';
	return out;
}

/* FNV-1a over all values of a row */
static uint64_t row_hash(const struct rql_batch *batch, uint64_t row)
{
	uint64_t h = 0xcbf29ce484222325u;
	for (uint32_t c = 0; c < batch->column_count; c++) {
		const struct rql_column *column = &batch->columns[c];
		const char *data;
		size_t length = rql_type_bytes(column->type);
		if (column->type.id == RQL_TYPE_VARCHAR) {
			const struct rql_string *s = &((const struct rql_string *)column->data)[row];
			data = rql_string_data(s);
			length = s->length;
		} else {
			data = (const char *)column->data + row * length;
		}
		for (size_t i = 0; i < length; i++)
			h = (h ^ (uint8_t)data[i]) * 0x100000001b3u;
		h = (h ^ 0xff) * 0x100000001b3u;
	}
	return h;
}

/* ---- counts ---- */

static void test_row_counts(void **state)
{
	(void)state;
	assert_int_equal(make("customer", 1, 42).rows, 30000);
	assert_int_equal(make("supplier", 1, 42).rows, 2000);
	assert_int_equal(make("part", 1, 42).rows, 200000);
	assert_int_equal(make("date", 7, 42).rows, 2556);
	assert_int_equal(make("customer", 10, 42).rows, 300000);
	assert_int_equal(make("supplier", 10, 42).rows, 20000);
	assert_int_equal(make("part", 10, 42).rows, 800000);
	assert_int_equal(make("part", 20, 42).rows, 1000000);
	assert_int_equal(make("customer", 0.1, 42).rows, 3000);
	assert_int_equal(make("supplier", 0.1, 42).rows, 250);
	assert_int_equal(make("part", 0.01, 42).rows, 2000);
	static const double scales[] = {0.001, 0.01, 0.1, 1, 3.5, 10, 100, 300};
	for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
		struct rql_ssb lines = make("lineorder", scales[i], 42), flat = make("LINEORDER_FLAT", scales[i], 42);
		assert_int_equal(lines.rows, flat.rows);
		assert_int_equal(lines.orders, (uint64_t)llround(1500000 * scales[i]));
		/* seven orders have 28 lines */
		uint64_t whole = lines.orders / 7 * 28;
		assert_in_range(lines.rows, whole, whole + 27);
	}
}

static void test_bad_arguments(void **state)
{
	(void)state;
	struct rql_ssb ssb;
	struct rql_error err = {0};
	assert_int_equal(rql_ssb_init(&ssb, "orders", 1, 42, &err), RQL_ERROR_STATEMENT);
	assert_non_null(strstr(rql_error_message(&err), "\"orders\""));
	static const double scales[] = {0, -1, 301, 1e-9, NAN, INFINITY};
	for (size_t i = 0; i < sizeof scales / sizeof *scales; i++)
		assert_int_equal(rql_ssb_init(&ssb, "part", scales[i], 42, &err), RQL_ERROR_STATEMENT);
	rql_error_clear(&err);
}

/* ---- independence of chunks and threads ---- */

static const char *const table_names[] = {"lineorder", "customer", "supplier", "part", "date", "lineorder_flat"};

struct parallel {
	const struct rql_ssb *ssb;
	uint32_t step;
	const uint64_t *hashes;
	_Atomic uint64_t wrong;
};

static void check_chunk(void *state, uint64_t index, unsigned worker)
{
	struct parallel *p = state;
	(void)worker;
	/* Backwards, so that no chunk can depend on the one before. */
	uint64_t chunks = (p->ssb->rows + p->step - 1) / p->step;
	uint64_t first = (chunks - 1 - index) * p->step;
	uint64_t rest = p->ssb->rows - first;
	uint32_t count = rest < p->step ? (uint32_t)rest : p->step;
	struct rql_batch *batch = fill(p->ssb, first, count);
	uint64_t wrong = batch->rows != count;
	for (uint32_t i = 0; i < count; i++)
		wrong += row_hash(batch, i) != p->hashes[first + i];
	atomic_fetch_add(&p->wrong, wrong);
	rql_batch_release(batch);
}

static void test_chunks_and_threads(void **state)
{
	(void)state;
	struct rql_pool *pool;
	assert_int_equal(rql_pool_new(3, &pool, NULL), RQL_OK);
	for (size_t t = 0; t < sizeof table_names / sizeof *table_names; t++) {
		struct rql_ssb ssb = make(table_names[t], 0.003, 7);
		uint64_t *hashes = malloc(ssb.rows * sizeof *hashes);
		assert_non_null(hashes);
		for (uint64_t first = 0; first < ssb.rows; first += RQL_SSB_CHUNK) {
			uint64_t rest = ssb.rows - first;
			uint32_t count = rest < RQL_SSB_CHUNK ? (uint32_t)rest : RQL_SSB_CHUNK;
			struct rql_batch *batch = fill(&ssb, first, count);
			for (uint32_t i = 0; i < count; i++)
				hashes[first + i] = row_hash(batch, i);
			rql_batch_release(batch);
		}
		static const uint32_t steps[] = {2048, 1000, 13, 1};
		for (size_t s = 0; s < sizeof steps / sizeof *steps; s++) {
			if (steps[s] == 1 && ssb.rows > 5000)
				continue;
			struct parallel p = {.ssb = &ssb, .step = steps[s], .hashes = hashes};
			rql_pool_run(pool, (ssb.rows + p.step - 1) / p.step, check_chunk, &p);
			assert_int_equal(p.wrong, 0);
		}
		/* Another seed gives other rows, but for the calendar. */
		struct rql_ssb other = make(table_names[t], 0.003, 8);
		struct rql_batch *batch = fill(&other, 0, 100);
		unsigned same = 0;
		for (uint32_t i = 0; i < 100; i++)
			same += row_hash(batch, i) == hashes[i];
		assert_true(ssb.table == RQL_SSB_DATE ? same == 100 : same == 0);
		rql_batch_release(batch);
		free(hashes);
	}
	rql_pool_free(pool);
}

/* ---- orders ---- */

static void test_orders(void **state)
{
	(void)state;
	struct rql_ssb ssb = make("lineorder", 0.01, 42);
	uint32_t key = column_of(&ssb, "lo_orderkey"), number = column_of(&ssb, "lo_linenumber");
	uint32_t total = column_of(&ssb, "lo_ordtotalprice"), revenue = column_of(&ssb, "lo_revenue");
	uint32_t price = column_of(&ssb, "lo_extendedprice"), discount = column_of(&ssb, "lo_discount");
	uint32_t tax = column_of(&ssb, "lo_tax"), quantity = column_of(&ssb, "lo_quantity");
	uint32_t part = column_of(&ssb, "lo_partkey"), cost = column_of(&ssb, "lo_supplycost");
	int64_t last_key = 0, last_number = 0, sum = 0, stated = 0;
	uint64_t orders = 0, lengths[8] = {0};
	for (uint64_t first = 0; first < ssb.rows; first += RQL_SSB_CHUNK) {
		uint64_t rest = ssb.rows - first;
		struct rql_batch *b = fill(&ssb, first, rest < RQL_SSB_CHUNK ? (uint32_t)rest : RQL_SSB_CHUNK);
		for (uint64_t i = 0; i < b->rows; i++) {
			if (get_int(b, key, i) != last_key) {
				assert_int_equal(sum, stated);
				assert_true(get_int(b, key, i) > last_key);
				assert_true((get_int(b, key, i) - 1) % 32 < 8);
				lengths[last_number]++;
				orders++;
				last_key = get_int(b, key, i);
				last_number = 0;
				sum = 0;
			}
			assert_int_equal(get_int(b, number, i), ++last_number);
			int64_t pkey = get_int(b, part, i);
			int64_t piece = 90000 + pkey / 10 % 20001 + 100 * (pkey % 1000);
			assert_int_equal(get_int(b, price, i), piece * get_int(b, quantity, i));
			assert_int_equal(get_int(b, revenue, i), get_int(b, price, i) * (100 - get_int(b, discount, i)) / 100);
			assert_int_equal(get_int(b, cost, i), piece * 6 / 10);
			/* a difference of the two never needs a sign that unsigned types lack */
			assert_true(get_int(b, revenue, i) > get_int(b, cost, i));
			sum += get_int(b, revenue, i) * (100 + get_int(b, tax, i)) / 100;
			stated = get_int(b, total, i);
		}
		rql_batch_release(b);
	}
	assert_int_equal(sum, stated);
	assert_int_equal(orders, ssb.orders);
	for (unsigned n = 1; n <= 7; n++)
		assert_in_range(lengths[n], ssb.orders / 7 - 1, ssb.orders / 7 + 1);
}

/* ---- distributions ---- */

/* Every value of [least, least + n) is there, each about equally often: chi-square within 6 standard deviations. */
static void check_uniform(const struct rql_ssb *ssb, const char *name, int64_t least, uint32_t n, double cluster)
{
	uint32_t column = column_of(ssb, name);
	uint64_t *counts = calloc(n, sizeof *counts);
	assert_non_null(counts);
	for (uint64_t first = 0; first < ssb->rows; first += RQL_SSB_CHUNK) {
		uint64_t rest = ssb->rows - first;
		struct rql_batch *b = fill(ssb, first, rest < RQL_SSB_CHUNK ? (uint32_t)rest : RQL_SSB_CHUNK);
		for (uint64_t i = 0; i < b->rows; i++) {
			int64_t value = get_int(b, column, i) - least;
			assert_in_range(value, 0, n - 1);
			counts[value]++;
		}
		rql_batch_release(b);
	}
	double expected = (double)ssb->rows / n, chi2 = 0;
	for (uint32_t v = 0; v < n; v++)
		chi2 += ((double)counts[v] - expected) * ((double)counts[v] - expected) / expected;
	free(counts);
	if (chi2 / cluster > n - 1 + 6 * sqrt(2.0 * (n - 1)))
		fail_msg("%s: chi-square %.1f for %u values", name, chi2 / cluster, n);
}

static void test_distributions(void **state)
{
	(void)state;
	struct rql_ssb ssb = make("lineorder_flat", 0.05, 42);
	check_uniform(&ssb, "LO_QUANTITY", 1, 50, 1);
	check_uniform(&ssb, "LO_DISCOUNT", 0, 11, 1);
	check_uniform(&ssb, "LO_TAX", 0, 9, 1);
	check_uniform(&ssb, "LO_SUPPKEY", 1, (uint32_t)ssb.suppliers, 1);
	check_uniform(&ssb, "LO_PARTKEY", 1, (uint32_t)ssb.parts, 1);
	check_uniform(&ssb, "LO_ORDERDATE", 8035, 2406, 5); /* an order's lines share it: 5 = E(lines^2) / E(lines) */
	check_uniform(&ssb, "LO_CUSTKEY", 1, (uint32_t)ssb.customers, 5);
}

/* Each of the `distinct` texts of a column is in the table equally often. */
static void check_balanced(const char *table, double scale, const char *name, uint64_t distinct)
{
	struct rql_ssb ssb = make(table, scale, 42);
	uint32_t column = column_of(&ssb, name);
	struct text {
		char text[64];
		uint64_t count;
	} *seen = calloc(distinct, sizeof *seen);
	assert_non_null(seen);
	uint64_t used = 0;
	for (uint64_t first = 0; first < ssb.rows; first += RQL_SSB_CHUNK) {
		uint64_t rest = ssb.rows - first;
		struct rql_batch *b = fill(&ssb, first, rest < RQL_SSB_CHUNK ? (uint32_t)rest : RQL_SSB_CHUNK);
		for (uint64_t i = 0, k; i < b->rows; i++) {
			char text[64];
			get_text(b, column, i, text);
			for (k = 0; k < used && strcmp(seen[k].text, text); k++)
				;
			if (k == used) {
				assert_true(used < distinct);
				memcpy(seen[used++].text, text, sizeof text);
			}
			seen[k].count++;
		}
		rql_batch_release(b);
	}
	assert_int_equal(used, distinct);
	for (uint64_t k = 0; k < used; k++)
		assert_int_equal(seen[k].count, ssb.rows / distinct);
	free(seen);
}

static void test_balance(void **state)
{
	(void)state;
	check_balanced("supplier", 0.1, "s_city", 250);
	check_balanced("supplier", 1, "s_city", 250);
	check_balanced("supplier", 1, "s_nation", 25);
	check_balanced("customer", 0.1, "c_city", 250);
	check_balanced("customer", 0.1, "c_region", 5);
	check_balanced("part", 0.1, "p_brand1", 1000);
	check_balanced("part", 0.1, "p_category", 25);
	check_balanced("part", 0.1, "p_mfgr", 5);
}

/* ---- the calendar ---- */

static void test_dates(void **state)
{
	(void)state;
	struct rql_ssb ssb = make("date", 1, 42);
	for (uint64_t first = 0; first < ssb.rows; first += RQL_SSB_CHUNK) {
		uint64_t rest = ssb.rows - first;
		struct rql_batch *b = fill(&ssb, first, rest < RQL_SSB_CHUNK ? (uint32_t)rest : RQL_SSB_CHUNK);
		for (uint64_t i = 0; i < b->rows; i++) {
			char text[64], expected[64];
			struct tm tm;
			time_t seconds = (time_t)(8035 + first + i) * 86400;
			gmtime_r(&seconds, &tm);
			assert_int_equal(get_int(b, column_of(&ssb, "d_datekey"), i),
			                 (tm.tm_year + 1900) * 10000 + (tm.tm_mon + 1) * 100 + tm.tm_mday);
			strftime(expected, sizeof expected, "%B ", &tm);
			snprintf(expected + strlen(expected), 32, "%d, %d", tm.tm_mday, tm.tm_year + 1900);
			assert_string_equal(get_text(b, column_of(&ssb, "d_date"), i, text), expected);
			strftime(expected, sizeof expected, "%A", &tm);
			assert_string_equal(get_text(b, column_of(&ssb, "d_dayofweek"), i, text), expected);
			strftime(expected, sizeof expected, "%b%Y", &tm);
			assert_string_equal(get_text(b, column_of(&ssb, "d_yearmonth"), i, text), expected);
			assert_int_equal(get_int(b, column_of(&ssb, "d_daynuminweek"), i), tm.tm_wday + 1);
			assert_int_equal(get_int(b, column_of(&ssb, "d_daynuminyear"), i), tm.tm_yday + 1);
			assert_int_equal(get_int(b, column_of(&ssb, "d_weeknuminyear"), i), tm.tm_yday / 7 + 1);
			struct tm next = tm;
			next.tm_mday++;
			timegm(&next);
			assert_int_equal(get_int(b, column_of(&ssb, "d_lastdayinmonthfl"), i), next.tm_mday == 1);
		}
		rql_batch_release(b);
	}
}

/* ---- flat rows are the join ---- */

static void same_value(const struct rql_batch *flat, uint32_t flat_column, uint64_t flat_row,
                       const struct rql_batch *table, uint32_t column, uint64_t row)
{
	char a[64], b[64];
	if (table->columns[column].type.id == RQL_TYPE_VARCHAR) {
		assert_string_equal(get_text(flat, flat_column, flat_row, a), get_text(table, column, row, b));
	} else if (flat->columns[flat_column].type.id == RQL_TYPE_DATE) {
		struct tm tm;
		time_t seconds = (time_t)get_int(flat, flat_column, flat_row) * 86400;
		gmtime_r(&seconds, &tm);
		assert_int_equal((tm.tm_year + 1900) * 10000 + (tm.tm_mon + 1) * 100 + tm.tm_mday, get_int(table, column, row));
	} else {
		assert_int_equal(get_int(flat, flat_column, flat_row), get_int(table, column, row));
	}
}

static void test_flat_is_the_join(void **state)
{
	(void)state;
	struct rql_ssb flat = make("lineorder_flat", 0.02, 9), lines = make("lineorder", 0.02, 9);
	static const struct {
		const char *table, *key;
	} joined[] = {{"customer", "lo_custkey"}, {"supplier", "lo_suppkey"}, {"part", "lo_partkey"}};
	uint32_t flat_columns, line_columns, columns;
	const struct rql_gen_column *names = rql_ssb_columns(flat.table, &flat_columns);
	rql_ssb_columns(lines.table, &line_columns);
	assert_int_equal(flat_columns, 38);
	for (uint64_t first = 0; first + 500 < flat.rows; first += 7919) {
		struct rql_batch *f = fill(&flat, first, 500), *l = fill(&lines, first, 500);
		for (uint64_t i = 0; i < 500; i++) {
			for (uint32_t c = 0; c < line_columns; c++)
				same_value(f, c, i, l, c, i);
			uint32_t at = line_columns;
			for (unsigned t = 0; t < 3; t++) {
				struct rql_ssb dimension = make(joined[t].table, 0.02, 9);
				const struct rql_gen_column *own = rql_ssb_columns(dimension.table, &columns);
				int64_t key = get_int(l, column_of(&lines, joined[t].key), i);
				struct rql_batch *d = fill(&dimension, (uint64_t)key - 1, 1);
				assert_int_equal(get_int(d, 0, 0), key);
				for (uint32_t c = 1; c < columns; c++, at++) {
					assert_int_equal(strncasecmp(own[c].name, names[at].name, strlen(names[at].name)), 0);
					same_value(f, at, i, d, c, 0);
				}
				rql_batch_release(d);
			}
			assert_int_equal(at, flat_columns);
		}
		rql_batch_release(f);
		rql_batch_release(l);
	}
}

/* ---- the 13 queries ---- */

struct flat_row {
	int year, month, week;
	int64_t discount, quantity;
	char c_region[64], c_nation[64], c_city[64], s_region[64], s_nation[64], s_city[64], mfgr[64], category[64],
		brand[64];
};

static bool between(int64_t value, int64_t low, int64_t high)
{
	return value >= low && value <= high;
}

static bool is(const char *a, const char *b)
{
	return !strcmp(a, b);
}

static bool two_cities(const char *city)
{
	return is(city, "UNITED KI1") || is(city, "UNITED KI5");
}

static void count_row(const struct flat_row *r, uint64_t counts[13])
{
	bool america = is(r->c_region, "AMERICA") && is(r->s_region, "AMERICA");
	bool to_1997 = between(r->year, 1992, 1997), late = between(r->year, 1997, 1998);
	bool mfgr = is(r->mfgr, "MFGR#1") || is(r->mfgr, "MFGR#2");
	counts[0] += r->year == 1993 && between(r->discount, 1, 3) && r->quantity < 25;
	counts[1] += r->year == 1994 && r->month == 1 && between(r->discount, 4, 6) && between(r->quantity, 26, 35);
	counts[2] += r->year == 1994 && r->week == 6 && between(r->discount, 5, 7) && between(r->quantity, 26, 35);
	counts[3] += is(r->category, "MFGR#12") && is(r->s_region, "AMERICA");
	counts[4] += strcmp(r->brand, "MFGR#2221") >= 0 && strcmp(r->brand, "MFGR#2228") <= 0 && is(r->s_region, "ASIA");
	counts[5] += is(r->brand, "MFGR#2239") && is(r->s_region, "EUROPE");
	counts[6] += is(r->c_region, "ASIA") && is(r->s_region, "ASIA") && to_1997;
	counts[7] += is(r->c_nation, "UNITED STATES") && is(r->s_nation, "UNITED STATES") && to_1997;
	counts[8] += two_cities(r->c_city) && two_cities(r->s_city) && to_1997;
	counts[9] += two_cities(r->c_city) && two_cities(r->s_city) && r->year == 1997 && r->month == 12;
	counts[10] += america && mfgr;
	counts[11] += america && mfgr && late;
	counts[12] += is(r->s_nation, "UNITED STATES") && is(r->category, "MFGR#14") && late;
}

struct day {
	int year, month, week;
};

static void read_row(const struct rql_batch *b, uint64_t i, const uint32_t *columns, const struct day *days,
                     struct flat_row *r)
{
	const struct day *day = &days[get_int(b, columns[0], i) - 8035];
	r->year = day->year;
	r->month = day->month;
	r->week = day->week;
	r->discount = get_int(b, columns[1], i);
	r->quantity = get_int(b, columns[2], i);
	char(*texts[9])[64] = {&r->c_region, &r->c_nation, &r->c_city, &r->s_region, &r->s_nation, &r->s_city, &r->mfgr,
		&r->category, &r->brand};
	for (unsigned t = 0; t < 9; t++)
		get_text(b, columns[3 + t], i, *texts[t]);
}

static void test_selectivities(void **state)
{
	(void)state;
	struct rql_ssb ssb = make("lineorder_flat", selectivity_scale, 42);
	static const char *const names[12] = {"LO_ORDERDATE", "LO_DISCOUNT", "LO_QUANTITY", "C_REGION",
	                                      "C_NATION",     "C_CITY",      "S_REGION",    "S_NATION",
	                                      "S_CITY",       "P_MFGR",      "P_CATEGORY",  "P_BRAND"};
	uint32_t columns[12];
	for (unsigned i = 0; i < 12; i++)
		columns[i] = column_of(&ssb, names[i]);
	struct day days[2556];
	for (int i = 0; i < 2556; i++) {
		struct tm tm;
		char week[8];
		time_t seconds = (time_t)(8035 + i) * 86400;
		gmtime_r(&seconds, &tm);
		strftime(week, sizeof week, "%V", &tm);
		days[i] = (struct day){tm.tm_year + 1900, tm.tm_mon + 1, atoi(week)};
	}
	uint64_t counts[13] = {0};
	struct rql_ssb_scratch *scratch = rql_ssb_scratch_new();
	assert_non_null(scratch);
	for (uint64_t first = 0; first < ssb.rows; first += RQL_SSB_CHUNK) {
		uint64_t rest = ssb.rows - first;
		uint32_t count = rest < RQL_SSB_CHUNK ? (uint32_t)rest : RQL_SSB_CHUNK;
		struct rql_batch *b = new_batch(&ssb, count);
		rql_ssb_fill(&ssb, first, count, b, scratch, put);
		for (uint64_t i = 0; i < b->rows; i++) {
			struct flat_row row;
			read_row(b, i, columns, days, &row);
			count_row(&row, counts);
		}
		rql_batch_release(b);
	}
	rql_ssb_scratch_free(scratch);
	/* RTCUDB, table 1, in percent, with further digits; 4.3 as the flat form has it */
	static const double published[13] = {1.99,  0.070,   0.016,     0.80, 0.16, 0.020, 3.67,
	                                     0.145, 0.00576, 0.0000733, 1.59, 0.38, 0.0385};
	for (unsigned q = 0; q < 13; q++) {
		double expected = published[q] / 100 * (double)ssb.rows;
		/* An order's lines share date and customer, so counts scatter as if there were a fifth as many rows. */
		double tolerance = 0.03 * expected + 4 * sqrt(5 * expected) + 1;
		if (fabs((double)counts[q] - expected) > tolerance)
			fail_msg("query %u: %llu rows, expected %.1f +- %.1f", q, (unsigned long long)counts[q], expected,
			         tolerance);
	}
}

int main(int argc, char **argv)
{
	if (argc > 1)
		selectivity_scale = atof(argv[1]);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_row_counts),
		cmocka_unit_test(test_bad_arguments),
		cmocka_unit_test(test_chunks_and_threads),
		cmocka_unit_test(test_orders),
		cmocka_unit_test(test_distributions),
		cmocka_unit_test(test_balance),
		cmocka_unit_test(test_dates),
		cmocka_unit_test(test_flat_is_the_join),
		cmocka_unit_test(test_selectivities),
	};
	return cmocka_run_group_tests_name("ssb_gen", tests, NULL, NULL);
}

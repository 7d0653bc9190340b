/* The rivals' columns: made by the generator in slices, encoded, uploaded. */
#include "bench/flat/rival_data.h"

#include <stdlib.h>
#include <string.h>

#include "gen/ssb_row.h"
#include "util/threads.h"

#define SLICE_ORDERS (UINT64_C(1) << 20) /* generated at once: 4.2 million lines, 285 MB */
#define CHUNK_ORDERS (UINT64_C(1) << 13)

static const struct {
	uint32_t bytes;
	int32_t first;
} kinds[RQL_RIVAL_COLUMN_COUNT] = {
#define X(name, bytes, first) {bytes, first},
	RQL_RIVAL_COLUMNS(X)
#undef X
};

uint32_t rql_rival_code_bytes(enum rql_rival_column column)
{
	return kinds[column].bytes;
}

uint32_t rql_rival_code(enum rql_rival_column column, int32_t value)
{
	if (column == RQL_RIVAL_YEARMONTH)
		return (uint32_t)((value / 100 - 1992) * 12 + value % 100 - 1);
	return (uint32_t)(value - kinds[column].first);
}

/* ---- what lines refer to ---- */

struct day {
	int32_t year, yearmonth, week;
};

struct source {
	struct rql_ssb ssb;
	uint8_t *customer_city, *supplier_city; /* [key - 1] */
	uint16_t *part_brand;
	struct day *days; /* [RQL_SSB_DATES] */
};

static bool is_leap(int32_t year)
{
	return year % 4 == 0; /* 1992 to 1998 */
}

/* Every date with its ISO 8601 week, as DuckDB's weekofyear: the week's Thursday decides whose week it is. */
static void fill_days(struct day *days)
{
	static const int32_t lengths[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	int32_t year = 1992, month = 1, day = 1, of_year = 1;
	for (uint32_t i = 0; i < RQL_SSB_DATES; i++) {
		int32_t weekday = (int32_t)(i + 2) % 7; /* 1992-01-01 was a Wednesday; Monday is 0 */
		int32_t thursday = of_year - weekday + 3;
		int32_t length = is_leap(year) ? 366 : 365;
		if (thursday < 1)
			thursday += is_leap(year - 1) ? 366 : 365;
		else if (thursday > length)
			thursday -= length;
		days[i] = (struct day){year, year * 100 + month, (thursday - 1) / 7 + 1};
		day++;
		of_year++;
		if (day > lengths[month - 1] + (month == 2 && is_leap(year))) {
			day = 1;
			month++;
		}
		if (month > 12) {
			month = of_year = 1;
			year++;
		}
	}
}

static void source_free(struct source *s)
{
	free(s->customer_city);
	free(s->supplier_city);
	free(s->part_brand);
	free(s->days);
}

static uint8_t city_of(struct rql_ssb_party party)
{
	return (uint8_t)((party.region * 5 + party.nation) * 10 + party.city);
}

static rql_status source_open(struct source *s, double scale, int64_t seed, struct rql_error *err)
{
	*s = (struct source){0};
	RQL_TRY(rql_ssb_init(&s->ssb, "lineorder", scale, seed, err));
	s->customer_city = malloc(s->ssb.customers);
	s->supplier_city = malloc(s->ssb.suppliers);
	s->part_brand = malloc(s->ssb.parts * sizeof *s->part_brand);
	s->days = malloc(RQL_SSB_DATES * sizeof *s->days);
	if (!s->customer_city || !s->supplier_city || !s->part_brand || !s->days) {
		source_free(s);
		return rql_error_memory(err, s->ssb.customers + s->ssb.suppliers + 2 * s->ssb.parts, "the rivals' dimensions");
	}
	for (uint64_t i = 0; i < s->ssb.customers; i++)
		s->customer_city[i] = city_of(rql_ssb_customer(&s->ssb, (uint32_t)i + 1));
	for (uint64_t i = 0; i < s->ssb.suppliers; i++)
		s->supplier_city[i] = city_of(rql_ssb_supplier(&s->ssb, (uint32_t)i + 1));
	for (uint64_t i = 0; i < s->ssb.parts; i++) {
		struct rql_ssb_part_row part = rql_ssb_part(&s->ssb, (uint32_t)i + 1);
		s->part_brand[i] = (uint16_t)(((part.manufacturer - 1) * 5 + part.category - 1) * 40 + part.brand - 1);
	}
	fill_days(s->days);
	return RQL_OK;
}

/* ---- lines to columns ---- */

struct slice {
	const struct source *source;
	uint64_t first_order, orders, first_row;
	int32_t *values[RQL_RIVAL_COLUMN_COUNT];
	uint8_t *codes[RQL_RIVAL_COLUMN_COUNT]; /* NULL as in rql_rival_columns */
};

static void put_line(const struct slice *s, uint64_t row, const struct rql_ssb_line *line)
{
	const struct source *source = s->source;
	const struct day *day = &source->days[line->order_day - RQL_SSB_FIRST_DAY];
	int32_t customer = source->customer_city[line->customer_key - 1];
	int32_t supplier = source->supplier_city[line->supplier_key - 1];
	int32_t brand = source->part_brand[line->part_key - 1];
	const int32_t values[RQL_RIVAL_COLUMN_COUNT] = {
		[RQL_RIVAL_YEAR] = day->year,
		[RQL_RIVAL_YEARMONTH] = day->yearmonth,
		[RQL_RIVAL_WEEK] = day->week,
		[RQL_RIVAL_DISCOUNT] = line->discount,
		[RQL_RIVAL_QUANTITY] = line->quantity,
		[RQL_RIVAL_PRICE] = line->extended_price,
		[RQL_RIVAL_REVENUE] = line->revenue,
		[RQL_RIVAL_COST] = line->supply_cost,
		[RQL_RIVAL_C_REGION] = customer / 50,
		[RQL_RIVAL_C_NATION] = customer / 10,
		[RQL_RIVAL_C_CITY] = customer,
		[RQL_RIVAL_S_REGION] = supplier / 50,
		[RQL_RIVAL_S_NATION] = supplier / 10,
		[RQL_RIVAL_S_CITY] = supplier,
		[RQL_RIVAL_P_MFGR] = brand / 200,
		[RQL_RIVAL_P_CATEGORY] = brand / 40,
		[RQL_RIVAL_P_BRAND] = brand,
	};
	for (uint32_t c = 0; c < RQL_RIVAL_COLUMN_COUNT; c++) {
		uint32_t code = rql_rival_code(c, values[c]);
		s->values[c][row] = values[c];
		if (s->codes[c])
			memcpy(s->codes[c] + row * kinds[c].bytes, &code, kinds[c].bytes); /* little-endian, as the shaders read */
	}
}

static void fill_chunk(void *state, uint64_t index, unsigned worker)
{
	(void)worker;
	const struct slice *s = state;
	struct rql_ssb_line lines[RQL_SSB_MAX_LINES];
	uint64_t order = s->first_order + index * CHUNK_ORDERS, end = order + CHUNK_ORDERS;
	if (end > s->first_order + s->orders)
		end = s->first_order + s->orders;
	uint64_t row = rql_ssb_lines_before(&s->source->ssb, order) - s->first_row;
	for (; order < end; order++) {
		unsigned count = rql_ssb_order(&s->source->ssb, order, lines);
		for (unsigned i = 0; i < count; i++)
			put_line(s, row++, &lines[i]);
	}
}

static rql_status upload_slice(const struct slice *s, uint64_t rows, struct rql_rival_columns *out,
                               struct rql_error *err)
{
	for (uint32_t c = 0; c < RQL_RIVAL_COLUMN_COUNT; c++) {
		uint32_t bytes = kinds[c].bytes;
		RQL_TRY(rql_buffer_upload(out->plain[c], s->first_row * 4, s->values[c], rows * 4, err));
		if (s->codes[c])
			RQL_TRY(rql_buffer_upload(out->codes[c], s->first_row * bytes, s->codes[c], rows * bytes, err));
	}
	return RQL_OK;
}

static bool slice_open(struct slice *s, uint64_t most)
{
	bool memory = true;
	for (uint32_t c = 0; c < RQL_RIVAL_COLUMN_COUNT; c++) {
		memory &= (s->values[c] = malloc(most * sizeof(int32_t))) != NULL;
		if (kinds[c].bytes < 4)
			memory &= (s->codes[c] = malloc(most * kinds[c].bytes)) != NULL;
	}
	return memory;
}

static void slice_close(struct slice *s)
{
	for (uint32_t c = 0; c < RQL_RIVAL_COLUMN_COUNT; c++) {
		free(s->values[c]);
		free(s->codes[c]);
	}
}

static rql_status fill_columns(struct rql_pool *pool, const struct source *source, struct rql_rival_columns *out,
                               struct rql_error *err)
{
	uint64_t most = SLICE_ORDERS * RQL_SSB_MAX_LINES;
	struct slice s = {.source = source};
	rql_status status = slice_open(&s, most) ? RQL_OK : rql_error_memory(err, most * 83, "the rivals' columns");
	for (; s.first_order < source->ssb.orders && status == RQL_OK; s.first_order += SLICE_ORDERS) {
		uint64_t left = source->ssb.orders - s.first_order;
		s.orders = left < SLICE_ORDERS ? left : SLICE_ORDERS;
		s.first_row = rql_ssb_lines_before(&source->ssb, s.first_order);
		rql_pool_run(pool, (s.orders + CHUNK_ORDERS - 1) / CHUNK_ORDERS, fill_chunk, &s);
		uint64_t rows = rql_ssb_lines_before(&source->ssb, s.first_order + s.orders) - s.first_row;
		status = upload_slice(&s, rows, out, err);
	}
	slice_close(&s);
	return status;
}

void rql_rival_columns_free(struct rql_rival_columns *columns)
{
	for (uint32_t c = 0; c < RQL_RIVAL_COLUMN_COUNT; c++) {
		rql_buffer_free(columns->plain[c]);
		rql_buffer_free(columns->codes[c]);
	}
	*columns = (struct rql_rival_columns){0};
}

rql_status rql_rival_columns_make(struct rql_device *device, struct rql_pool *pool, double scale, int64_t seed,
                                  struct rql_rival_columns *out, struct rql_error *err)
{
	struct source source;
	struct rql_rival_columns columns = {0};
	RQL_TRY(source_open(&source, scale, seed, err));
	columns.rows = source.ssb.rows;
	rql_status status = RQL_OK;
	for (uint32_t c = 0; c < RQL_RIVAL_COLUMN_COUNT && status == RQL_OK; c++) {
		/* 64 bytes more: a thread reads whole quads of 16 rows. */
		status = rql_buffer_new(device, columns.rows * 4 + 64, RQL_MEMORY_DEVICE, "a rival's column", &columns.plain[c],
		                        err);
		if (status == RQL_OK && kinds[c].bytes < 4)
			status = rql_buffer_new(device, columns.rows * kinds[c].bytes + 64, RQL_MEMORY_DEVICE, "a rival's column",
			                        &columns.codes[c], err);
	}
	if (status == RQL_OK)
		status = fill_columns(pool, &source, &columns, err);
	source_free(&source);
	if (status != RQL_OK)
		rql_rival_columns_free(&columns);
	else
		*out = columns;
	return status;
}

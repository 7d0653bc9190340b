/* The benchmark's tables: their columns and sizes, and filling batches with rows of ssb_row.c. */
#include "gen/ssb.h"

#include <math.h>
#include <stdlib.h>
#include <strings.h>
#include "gen/ssb_row.h"
#include "gen/ssb_text.h"

struct rql_ssb_scratch {
	struct rql_ssb_line lines[RQL_SSB_CHUNK];
	struct rql_ssb_party customers[RQL_SSB_CHUNK], suppliers[RQL_SSB_CHUNK];
	struct rql_ssb_part_row parts[RQL_SSB_CHUNK];
	struct rql_ssb_day days[RQL_SSB_CHUNK];
};

struct fill {
	const struct rql_ssb *ssb;
	const struct rql_ssb_scratch *rows;
	struct rql_batch *out;
	uint32_t count;
	rql_gen_put_fn *put;
};

/* ---- the columns: one line each -------------------------------------------------------------------------------
 * INT(name, value): INTEGER; SMALL: UTINYINT; DAY: DATE; TEXT(name, length of the text written to t): VARCHAR. The
 * values see the row's number i and the pointers of WITH_ROW. */
#define LINEORDER_COLUMNS(INT, TEXT)                                                                                   \
	INT(lo_orderkey, line->order_key)                                                                                  \
	INT(lo_linenumber, line->number)                                                                                   \
	INT(lo_custkey, line->customer_key)                                                                                \
	INT(lo_partkey, line->part_key)                                                                                    \
	INT(lo_suppkey, line->supplier_key)                                                                                \
	INT(lo_orderdate, rql_ssb_day_key(line->order_day))                                                                \
	TEXT(lo_orderpriority, rql_ssb_text_priority(t, line->priority))                                                   \
	INT(lo_shippriority, 0)                                                                                            \
	INT(lo_quantity, line->quantity)                                                                                   \
	INT(lo_extendedprice, line->extended_price)                                                                        \
	INT(lo_ordtotalprice, line->order_total)                                                                           \
	INT(lo_discount, line->discount)                                                                                   \
	INT(lo_revenue, line->revenue)                                                                                     \
	INT(lo_supplycost, line->supply_cost)                                                                              \
	INT(lo_tax, line->tax)                                                                                             \
	INT(lo_commitdate, rql_ssb_day_key(line->commit_day))                                                              \
	TEXT(lo_shipmode, rql_ssb_text_mode(t, line->mode))

#define CUSTOMER_COLUMNS(INT, TEXT)                                                                                    \
	INT(c_custkey, customer->key)                                                                                      \
	TEXT(c_name, rql_ssb_text_name(t, "Customer", customer->key))                                                      \
	TEXT(c_address, rql_ssb_text_address(t, ssb, RQL_SSB_STREAM_CUSTOMER_TEXT, customer->key))                         \
	TEXT(c_city, rql_ssb_text_city(t, customer))                                                                       \
	TEXT(c_nation, rql_ssb_text_nation(t, customer))                                                                   \
	TEXT(c_region, rql_ssb_text_region(t, customer))                                                                   \
	TEXT(c_phone, rql_ssb_text_phone(t, ssb, RQL_SSB_STREAM_CUSTOMER_TEXT, customer))                                  \
	TEXT(c_mktsegment, rql_ssb_text_segment(t, customer->segment))

#define SUPPLIER_COLUMNS(INT, TEXT)                                                                                    \
	INT(s_suppkey, supplier->key)                                                                                      \
	TEXT(s_name, rql_ssb_text_name(t, "Supplier", supplier->key))                                                      \
	TEXT(s_address, rql_ssb_text_address(t, ssb, RQL_SSB_STREAM_SUPPLIER_TEXT, supplier->key))                         \
	TEXT(s_city, rql_ssb_text_city(t, supplier))                                                                       \
	TEXT(s_nation, rql_ssb_text_nation(t, supplier))                                                                   \
	TEXT(s_region, rql_ssb_text_region(t, supplier))                                                                   \
	TEXT(s_phone, rql_ssb_text_phone(t, ssb, RQL_SSB_STREAM_SUPPLIER_TEXT, supplier))

#define PART_COLUMNS(INT, TEXT)                                                                                        \
	INT(p_partkey, part->key)                                                                                          \
	TEXT(p_name, rql_ssb_text_part_name(t, part))                                                                      \
	TEXT(p_mfgr, rql_ssb_text_mfgr(t, part))                                                                           \
	TEXT(p_category, rql_ssb_text_category(t, part))                                                                   \
	TEXT(p_brand1, rql_ssb_text_brand(t, part))                                                                        \
	TEXT(p_color, rql_ssb_text_color(t, part))                                                                         \
	TEXT(p_type, rql_ssb_text_type(t, part))                                                                           \
	INT(p_size, part->size)                                                                                            \
	TEXT(p_container, rql_ssb_text_container(t, part))

#define DATE_COLUMNS(INT, TEXT)                                                                                        \
	INT(d_datekey, rql_ssb_day_key(day->day))                                                                          \
	TEXT(d_date, rql_ssb_text_date(t, day))                                                                            \
	TEXT(d_dayofweek, rql_ssb_text_weekday(t, day))                                                                    \
	TEXT(d_month, rql_ssb_text_month(t, day))                                                                          \
	INT(d_year, day->year)                                                                                             \
	INT(d_yearmonthnum, day->year * 100 + day->month)                                                                  \
	TEXT(d_yearmonth, rql_ssb_text_year_month(t, day))                                                                 \
	INT(d_daynuminweek, day->weekday)                                                                                  \
	INT(d_daynuminmonth, day->day_of_month)                                                                            \
	INT(d_daynuminyear, day->day_of_year)                                                                              \
	INT(d_monthnuminyear, day->month)                                                                                  \
	INT(d_weeknuminyear, (day->day_of_year - 1) / 7 + 1)                                                               \
	TEXT(d_sellingseason, rql_ssb_text_season(t, day))                                                                 \
	INT(d_lastdayinweekfl, day->weekday == 7)                                                                          \
	INT(d_lastdayinmonthfl, day->last_of_month)                                                                        \
	INT(d_holidayfl, rql_ssb_is_holiday(day))                                                                          \
	INT(d_weekdayfl, day->weekday >= 2 && day->weekday <= 6)

#define FLAT_COLUMNS(INT, SMALL, DAY, TEXT)                                                                            \
	INT(LO_ORDERKEY, line->order_key)                                                                                  \
	SMALL(LO_LINENUMBER, line->number)                                                                                 \
	INT(LO_CUSTKEY, line->customer_key)                                                                                \
	INT(LO_PARTKEY, line->part_key)                                                                                    \
	INT(LO_SUPPKEY, line->supplier_key)                                                                                \
	DAY(LO_ORDERDATE, line->order_day)                                                                                 \
	TEXT(LO_ORDERPRIORITY, rql_ssb_text_priority(t, line->priority))                                                   \
	SMALL(LO_SHIPPRIORITY, 0)                                                                                          \
	SMALL(LO_QUANTITY, line->quantity)                                                                                 \
	INT(LO_EXTENDEDPRICE, line->extended_price)                                                                        \
	INT(LO_ORDTOTALPRICE, line->order_total)                                                                           \
	SMALL(LO_DISCOUNT, line->discount)                                                                                 \
	INT(LO_REVENUE, line->revenue)                                                                                     \
	INT(LO_SUPPLYCOST, line->supply_cost)                                                                              \
	SMALL(LO_TAX, line->tax)                                                                                           \
	DAY(LO_COMMITDATE, line->commit_day)                                                                               \
	TEXT(LO_SHIPMODE, rql_ssb_text_mode(t, line->mode))                                                                \
	TEXT(C_NAME, rql_ssb_text_name(t, "Customer", customer->key))                                                      \
	TEXT(C_ADDRESS, rql_ssb_text_address(t, ssb, RQL_SSB_STREAM_CUSTOMER_TEXT, customer->key))                         \
	TEXT(C_CITY, rql_ssb_text_city(t, customer))                                                                       \
	TEXT(C_NATION, rql_ssb_text_nation(t, customer))                                                                   \
	TEXT(C_REGION, rql_ssb_text_region(t, customer))                                                                   \
	TEXT(C_PHONE, rql_ssb_text_phone(t, ssb, RQL_SSB_STREAM_CUSTOMER_TEXT, customer))                                  \
	TEXT(C_MKTSEGMENT, rql_ssb_text_segment(t, customer->segment))                                                     \
	TEXT(S_NAME, rql_ssb_text_name(t, "Supplier", supplier->key))                                                      \
	TEXT(S_ADDRESS, rql_ssb_text_address(t, ssb, RQL_SSB_STREAM_SUPPLIER_TEXT, supplier->key))                         \
	TEXT(S_CITY, rql_ssb_text_city(t, supplier))                                                                       \
	TEXT(S_NATION, rql_ssb_text_nation(t, supplier))                                                                   \
	TEXT(S_REGION, rql_ssb_text_region(t, supplier))                                                                   \
	TEXT(S_PHONE, rql_ssb_text_phone(t, ssb, RQL_SSB_STREAM_SUPPLIER_TEXT, supplier))                                  \
	TEXT(P_NAME, rql_ssb_text_part_name(t, part))                                                                      \
	TEXT(P_MFGR, rql_ssb_text_mfgr(t, part))                                                                           \
	TEXT(P_CATEGORY, rql_ssb_text_category(t, part))                                                                   \
	TEXT(P_BRAND, rql_ssb_text_brand(t, part))                                                                         \
	TEXT(P_COLOR, rql_ssb_text_color(t, part))                                                                         \
	TEXT(P_TYPE, rql_ssb_text_type(t, part))                                                                           \
	SMALL(P_SIZE, part->size)                                                                                          \
	TEXT(P_CONTAINER, rql_ssb_text_container(t, part))

/* ---- one function per column ---- */

#define WITH_ROW                                                                                                       \
	const struct rql_ssb *ssb = f->ssb;                                                                                \
	const struct rql_ssb_line *line = &f->rows->lines[i];                                                              \
	const struct rql_ssb_party *customer = &f->rows->customers[i], *supplier = &f->rows->suppliers[i];                 \
	const struct rql_ssb_part_row *part = &f->rows->parts[i];                                                          \
	const struct rql_ssb_day *day = &f->rows->days[i];                                                                 \
	(void)ssb, (void)line, (void)customer, (void)supplier, (void)part, (void)day

#define FIXED_WRITER(name, ctype, value)                                                                               \
	static void write_##name(const struct fill *f, uint32_t column)                                                    \
	{                                                                                                                  \
		ctype *to = f->out->columns[column].data;                                                                      \
		for (uint32_t i = 0; i < f->count; i++) {                                                                      \
			WITH_ROW;                                                                                                  \
			to[i] = (ctype)(value);                                                                                    \
		}                                                                                                              \
	}
#define INT_WRITER(name, value) FIXED_WRITER(name, int32_t, value)
#define SMALL_WRITER(name, value) FIXED_WRITER(name, uint8_t, value)

#define TEXT_WRITER(name, make)                                                                                        \
	static void write_##name(const struct fill *f, uint32_t column)                                                    \
	{                                                                                                                  \
		char t[RQL_SSB_TEXT];                                                                                          \
		for (uint32_t i = 0; i < f->count; i++) {                                                                      \
			WITH_ROW;                                                                                                  \
			uint32_t length = make;                                                                                    \
			rql_gen_put_text(f->put, f->out, column, i, t, length);                                                                      \
		}                                                                                                              \
	}

LINEORDER_COLUMNS(INT_WRITER, TEXT_WRITER)
CUSTOMER_COLUMNS(INT_WRITER, TEXT_WRITER)
SUPPLIER_COLUMNS(INT_WRITER, TEXT_WRITER)
PART_COLUMNS(INT_WRITER, TEXT_WRITER)
DATE_COLUMNS(INT_WRITER, TEXT_WRITER)
FLAT_COLUMNS(INT_WRITER, SMALL_WRITER, INT_WRITER, TEXT_WRITER)

#define WRITER(name, value) write_##name,
#define INT_COLUMN(name, value) {#name, RQL_TYPE_INTEGER},
#define SMALL_COLUMN(name, value) {#name, RQL_TYPE_UTINYINT},
#define DAY_COLUMN(name, value) {#name, RQL_TYPE_DATE},
#define TEXT_COLUMN(name, value) {#name, RQL_TYPE_VARCHAR},

typedef void write_fn(const struct fill *f, uint32_t column);

#define TABLE(list)                                                                                                    \
	static const struct rql_gen_column list##_names[] = {list(INT_COLUMN, TEXT_COLUMN)};                               \
	static write_fn *const list##_writers[] = {list(WRITER, WRITER)};
TABLE(LINEORDER_COLUMNS)
TABLE(CUSTOMER_COLUMNS)
TABLE(SUPPLIER_COLUMNS)
TABLE(PART_COLUMNS)
TABLE(DATE_COLUMNS)
static const struct rql_gen_column FLAT_COLUMNS_names[] = {
	FLAT_COLUMNS(INT_COLUMN, SMALL_COLUMN, DAY_COLUMN, TEXT_COLUMN)};
static write_fn *const FLAT_COLUMNS_writers[] = {FLAT_COLUMNS(WRITER, WRITER, WRITER, WRITER)};

#define TABLE_ENTRY(name, list) {name, list##_names, list##_writers, sizeof list##_names / sizeof *list##_names}
static const struct {
	const char *name;
	const struct rql_gen_column *columns;
	write_fn *const *writers;
	uint32_t count;
} tables[] = {
	[RQL_SSB_LINEORDER] = TABLE_ENTRY("lineorder", LINEORDER_COLUMNS),
	[RQL_SSB_CUSTOMER] = TABLE_ENTRY("customer", CUSTOMER_COLUMNS),
	[RQL_SSB_SUPPLIER] = TABLE_ENTRY("supplier", SUPPLIER_COLUMNS),
	[RQL_SSB_PART] = TABLE_ENTRY("part", PART_COLUMNS),
	[RQL_SSB_DATE] = TABLE_ENTRY("date", DATE_COLUMNS),
	[RQL_SSB_FLAT] = TABLE_ENTRY("lineorder_flat", FLAT_COLUMNS),
};
#define TABLE_COUNT (sizeof tables / sizeof *tables)

const struct rql_gen_column *rql_ssb_columns(enum rql_ssb_table table, uint32_t *count)
{
	*count = tables[table].count;
	return tables[table].columns;
}

/* ---- sizes ---- */

/* Below scale 1, for which the specification has no rule, tables shrink in proportion, but not below one key per city
 * or brand: then some query would have nothing to select. */
static uint64_t scaled(double per_scale, double scale, uint64_t least)
{
	uint64_t rows = (uint64_t)llround(per_scale * scale);
	return rows < least ? least : rows;
}

static uint64_t table_rows(const struct rql_ssb *ssb)
{
	switch (ssb->table) {
	case RQL_SSB_CUSTOMER:
		return ssb->customers;
	case RQL_SSB_SUPPLIER:
		return ssb->suppliers;
	case RQL_SSB_PART:
		return ssb->parts;
	case RQL_SSB_DATE:
		return RQL_SSB_DATES;
	default:
		return rql_ssb_lines_before(ssb, ssb->orders);
	}
}

rql_status rql_ssb_init(struct rql_ssb *out, const char *name, double scale, int64_t seed, struct rql_error *err)
{
	unsigned table = 0;
	while (table < TABLE_COUNT && strcasecmp(tables[table].name, name))
		table++;
	if (table == TABLE_COUNT)
		return rql_error_set(
			err, RQL_ERROR_STATEMENT,
			"the Star Schema Benchmark has no table \"%s\": use lineorder, customer, supplier, part, date or "
			"lineorder_flat",
			name);
	if (!(scale >= RQL_SSB_MIN_SCALE && scale <= RQL_SSB_MAX_SCALE))
		return rql_error_set(err, RQL_ERROR_STATEMENT,
		                     "a scale of %g is not possible: use %g to %g (scale 1 is 6 million lines)", scale,
		                     RQL_SSB_MIN_SCALE, RQL_SSB_MAX_SCALE);
	struct rql_ssb ssb = {.table = (enum rql_ssb_table)table, .seed = (uint64_t)seed};
	ssb.orders = scaled(1500000, scale, 1);
	ssb.customers = scaled(30000, scale, 250);
	ssb.suppliers = scaled(2000, scale, 250);
	ssb.parts = scale < 1 ? scaled(200000, scale, 1000) : 200000 * (1 + (uint64_t)floor(log2(scale)));
	ssb.rows = table_rows(&ssb);
	*out = ssb;
	return RQL_OK;
}

/* ---- filling ---- */

struct rql_ssb_scratch *rql_ssb_scratch_new(void)
{
	return calloc(1, sizeof(struct rql_ssb_scratch));
}

void rql_ssb_scratch_free(struct rql_ssb_scratch *scratch)
{
	free(scratch);
}

static void fill_lines(const struct rql_ssb *ssb, uint64_t first, uint32_t count, struct rql_ssb_scratch *rows)
{
	struct rql_ssb_line lines[RQL_SSB_MAX_LINES];
	uint64_t line;
	uint64_t order = rql_ssb_order_of_line(ssb, first, &line);
	unsigned skip = (unsigned)(first - line); /* lines of the first order that come before the range */
	for (uint32_t filled = 0; filled < count; order++, skip = 0) {
		unsigned n = rql_ssb_order(ssb, order, lines);
		for (unsigned i = skip; i < n && filled < count; i++)
			rows->lines[filled++] = lines[i];
	}
}

static void fill_flat(const struct rql_ssb *ssb, uint64_t first, uint32_t count, struct rql_ssb_scratch *rows)
{
	fill_lines(ssb, first, count, rows);
	for (uint32_t i = 0; i < count; i++) {
		rows->customers[i] = rql_ssb_customer(ssb, rows->lines[i].customer_key);
		rows->suppliers[i] = rql_ssb_supplier(ssb, rows->lines[i].supplier_key);
		rows->parts[i] = rql_ssb_part(ssb, rows->lines[i].part_key);
	}
}

void rql_ssb_fill(const struct rql_ssb *ssb, uint64_t first, uint32_t count, struct rql_batch *out,
                  struct rql_ssb_scratch *scratch, rql_gen_put_fn *put)
{
	switch (ssb->table) {
	case RQL_SSB_LINEORDER:
		fill_lines(ssb, first, count, scratch);
		break;
	case RQL_SSB_FLAT:
		fill_flat(ssb, first, count, scratch);
		break;
	case RQL_SSB_CUSTOMER:
		for (uint32_t i = 0; i < count; i++)
			scratch->customers[i] = rql_ssb_customer(ssb, (uint32_t)(first + i + 1));
		break;
	case RQL_SSB_SUPPLIER:
		for (uint32_t i = 0; i < count; i++)
			scratch->suppliers[i] = rql_ssb_supplier(ssb, (uint32_t)(first + i + 1));
		break;
	case RQL_SSB_PART:
		for (uint32_t i = 0; i < count; i++)
			scratch->parts[i] = rql_ssb_part(ssb, (uint32_t)(first + i + 1));
		break;
	case RQL_SSB_DATE:
		for (uint32_t i = 0; i < count; i++)
			scratch->days[i] = rql_ssb_day_of(RQL_SSB_FIRST_DAY + (int32_t)(first + i));
		break;
	}
	struct fill f = {.ssb = ssb, .rows = scratch, .out = out, .count = count, .put = put};
	for (uint32_t column = 0; column < tables[ssb->table].count; column++)
		tables[ssb->table].writers[column](&f, column);
	out->rows = count;
}

/* Expressions compiled by flow/compute/compile.c and run by expr/, against DuckDB over the same rows: random typed expressions
 * over random data with extremes. Values, types and NULLs are equal; where a program raises an error, DuckDB raises one
 * too; errors of single operations have DuckDB's words. test_expr_host [EXPRESSIONS [SEED]] */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "flow/compute/compile.h"
#include "host_fixture.h"

#define ROWS 5000
#define MAX_BATCHES 16

static unsigned expression_count = 1500;
static uint64_t seed = 20261120;

static uint32_t roll(uint32_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 20) % n;
}

/* ---- the tables ---- */
static const char *const schema =
	"i8 tinyint, i16 smallint, i32 integer, i64 bigint, hg hugeint, u8 utinyint, u16 usmallint, u32 uinteger,"
	"u64 ubigint, d4 decimal(4,2), d9 decimal(9,3), d18 decimal(18,2), d38 decimal(38,4), f4 float, f8 double,"
	"dt date, ts timestamp, bo boolean, s varchar";

static void sql(struct fixture *f, const char *text)
{
	struct rql_error err = {0};
	if (rql_host_query(f->con, text, NULL, &err) != RQL_OK)
		fail_msg("%s\n%s", text, rql_error_message(&err));
}

/* mild: small numbers, zeros, NULLs. wild: the ends of every type among them. */
static void make_tables(struct fixture *f)
{
	char text[4096];
	for (unsigned wild = 0; wild < 2; wild++) {
		snprintf(text, sizeof(text), "create table %s(%s)", wild ? "wild" : "mild", schema);
		sql(f, text);
		snprintf(text, sizeof(text),
		         "insert into %s select n(r,1,h(r,1)%%21-10), n(r,2,h(r,2)%%201-100), n(r,3,h(r,3)%%2001-1000),"
		         "n(r,4,h(r,4)%%20001-10000), n(r,5,h(r,5)%%2001-1000), n(r,6,h(r,6)%%11), n(r,7,h(r,7)%%200),"
		         "n(r,8,h(r,8)%%2000), n(r,9,h(r,9)%%3000), n(r,10,(h(r,10)%%2001-1000)/100), "
		         "n(r,11,(h(r,11)%%200001-100000)/1000), n(r,12,(h(r,12)%%20000001-10000000)/100),"
		         "n(r,13,(h(r,13)%%20000001-10000000)/10000), n(r,14,(h(r,14)%%401-200)/8), "
		         "n(r,15,(h(r,15)%%40001-20000)/16), n(r,16,date '1992-01-01'+(h(r,16)%%9000)::int),"
		         "n(r,17,timestamp '1960-01-01'+to_seconds(h(r,17)%%3000000000)), n(r,18,h(r,18)%%3=0),"
		         "n(r,19,['pear','plum','fig','apple','kiwi',''][1+h(r,19)%%6]) from range(%u) t(r)",
		         wild ? "wild" : "mild", ROWS);
		sql(f, text);
	}
	static const char *const extremes[][3] = {
		{"i8", "-128", "127"},
		{"i16", "-32768", "32767"},
		{"i32", "-2147483648", "2147483647"},
		{"i64", "-9223372036854775808", "9223372036854775807"},
		{"hg", "-170141183460469231731687303715884105728", "170141183460469231731687303715884105727"},
		{"u8", "255", "254"},
		{"u16", "65535", "65534"},
		{"u32", "4294967295", "2147483648"},
		{"u64", "18446744073709551615", "9223372036854775808"},
		{"d4", "99.99", "-99.99"},
		{"d9", "999999.999", "-999999.999"},
		{"d18", "9999999999999999.99", "-9999999999999999.99"},
		{"d38", "9999999999999999999999999999999999.9999", "-9999999999999999999999999999999999.9999"},
		{"f4", "'nan'", "3.4e38"},
		{"f8", "'inf'", "-1.7e308"},
		{"f8", "'nan'", "9007199254740993.0"},
		{"dt", "'infinity'", "'5877641-06-24'"},
		{"dt", "'-infinity'", "'0044-03-15 (BC)'"},
		{"ts", "'infinity'", "'294246-12-31 23:59:59.999999'"},
		{"ts", "'-infinity'", "'290308-12-22 (BC) 00:00:00'"},
	};
	for (size_t i = 0; i < sizeof(extremes) / sizeof(extremes[0]); i++)
		for (unsigned k = 1; k < 3; k++) {
			snprintf(text, sizeof(text), "update wild set %s = %s where rowid %% 97 = %zu", extremes[i][0],
			         extremes[i][k], 2 * i + k + 5);
			sql(f, text);
		}
}

struct table {
	const char *name;
	struct rql_batch *batches[MAX_BATCHES];
	unsigned batch_count;
	struct rql_host_result *result;
	struct rql_bounds bounds[32]; /* of integral columns */
};

static void fetch_all(struct rql_host_result *result, struct rql_batch **batches, unsigned *count)
{
	struct rql_error err = {0};
	*count = 0;
	for (;;) {
		struct rql_batch *batch = NULL;
		if (rql_host_fetch(result, &batch, &err) != RQL_OK)
			fail_msg("%s", rql_error_message(&err));
		if (!batch)
			return;
		assert_true(*count < MAX_BATCHES);
		batches[(*count)++] = batch;
	}
}

static void open_table(struct fixture *f, struct table *t, const char *name)
{
	char text[100];
	struct rql_error err = {0};
	t->name = name;
	/* the strings as codes of an ordered dictionary */
	snprintf(text, sizeof(text), "select * replace (s::fruits as s) from %s", name);
	if (rql_host_query(f->con, text, &t->result, &err) != RQL_OK)
		fail_msg("%s", rql_error_message(&err));
	fetch_all(t->result, t->batches, &t->batch_count);
	for (uint32_t c = 0; c < t->batches[0]->column_count; c++) {
		t->bounds[c] = (struct rql_bounds){1, 0};
		for (unsigned i = 0; i < t->batch_count; i++)
			for (uint64_t r = 0; rql_type_is_integral(t->batches[0]->columns[c].type) && r < t->batches[i]->rows; r++) {
				struct rql_value v = rql_column_get(&t->batches[i]->columns[c], r);
				struct rql_bounds *b = &t->bounds[c];
				if (v.is_null)
					continue;
				bool first = b->low > b->high;
				b->low = first || v.integer < b->low ? v.integer : b->low;
				b->high = first || v.integer > b->high ? v.integer : b->high;
			}
	}
}

static void close_table(struct table *t)
{
	for (unsigned i = 0; i < t->batch_count; i++)
		rql_batch_release(t->batches[i]);
	rql_host_result_free(t->result);
}

/* ---- random expressions ---- */
struct text {
	char data[6000];
	size_t length;
};

static void put(struct text *t, const char *fmt, ...) RQL_PRINTF(2, 3);
static void put(struct text *t, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	int n = vsnprintf(t->data + t->length, sizeof(t->data) - t->length, fmt, args);
	va_end(args);
	if (n > 0 && t->length + (size_t)n < sizeof(t->data))
		t->length += (size_t)n;
}

#define PICK(list) (list)[roll(sizeof(list) / sizeof((list)[0]))]
static const char *const number_columns[] = {"i8", "i16", "i32", "i64", "hg", "u8", "u16", "u32", "u64",
                                             "d4", "d9",  "d18", "d38", "f4", "f8", "i32", "d18", "i64"};
static const char *const integer_columns[] = {"i8", "i16", "i32", "i64", "u8", "u16", "u32", "i32", "i64", "hg", "u64"};
static const char *const constants[] = {
	"0",          "1",     "2",           "-1",         "3",    "7",         "100",         "1.5",
	"0.01",       "-2.75", "1e3::double", "0.5::float", "NULL", "1::bigint", "12345678901", "-100::smallint",
	"10::hugeint"};
static const char *const number_types[] = {
	"tinyint",       "smallint",      "integer",      "bigint",       "hugeint",       "utinyint",      "usmallint",
	"uinteger",      "ubigint",       "decimal(4,1)", "decimal(9,2)", "decimal(12,4)", "decimal(18,0)", "float",
	"decimal(38,6)", "decimal(18,6)", "double",       "integer",      "bigint",        "double"};

static void gen_bool(struct text *t, unsigned depth);

static void gen_date(struct text *t, unsigned depth)
{
	switch (depth ? roll(6) : 0) {
	case 1:
		put(t, "CAST(ts AS DATE)");
		break;
	case 2:
		put(t, "CAST(date_trunc('%s', %s) AS DATE)",
		    PICK(((const char *const[]){"day", "month", "year", "quarter", "week"})), roll(2) ? "dt" : "ts");
		break;
	case 3:
		put(t, "(dt %c %u)", roll(2) ? '+' : '-', roll(500));
		break;
	default:
		put(t, roll(8) ? "dt" : "DATE '1995-06-17'");
	}
}

static void gen_number(struct text *t, unsigned depth)
{
	static const char *const parts[] = {"year",   "month",     "day",  "quarter", "week",  "dayofweek",
	                                    "isodow", "dayofyear", "hour", "minute",  "second"};
	static const char *const ops[] = {"+", "-", "*", "+", "-", "*", "/", "//", "%"};
	unsigned kind = depth ? roll(20) : roll(4) == 0;
	if (kind == 0 || kind >= 18) {
		put(t, "%s", PICK(number_columns));
	} else if (kind == 1) {
		put(t, "%s", PICK(constants));
	} else if (kind < 9) {
		put(t, "(");
		gen_number(t, depth - 1);
		put(t, " %s ", PICK(ops));
		gen_number(t, depth - 1);
		put(t, ")");
	} else if (kind == 9) {
		put(t, roll(2) ? "-(" : "abs(");
		gen_number(t, depth - 1);
		put(t, ")");
	} else if (kind < 13) {
		put(t, roll(4) ? "CAST(" : "TRY_CAST(");
		gen_number(t, depth - 1);
		put(t, " AS %s)", PICK(number_types));
	} else if (kind < 15) {
		put(t, "CASE WHEN ");
		gen_bool(t, depth - 1);
		put(t, " THEN ");
		gen_number(t, depth - 1);
		if (roll(3)) {
			put(t, " ELSE ");
			gen_number(t, depth - 1);
		}
		put(t, " END");
	} else if (kind == 15) {
		put(t, "coalesce(");
		gen_number(t, depth - 1);
		put(t, ", ");
		gen_number(t, depth - 1);
		put(t, ")");
	} else if (kind == 16) {
		unsigned part = roll(11);
		put(t, "%s(", parts[part]);
		if (part >= 8)
			put(t, "ts");
		else if (roll(2))
			put(t, "ts");
		else
			gen_date(t, depth - 1);
		put(t, ")");
	} else {
		put(t, roll(2) ? "(dt - DATE '1999-12-31')" : "length(s)");
	}
}

static void gen_list(struct text *t)
{
	for (unsigned i = 0, n = 1 + roll(12); i < n; i++)
		put(t, "%s%d", i ? ", " : "", (int)roll(30) - 10);
	if (roll(4) == 0)
		put(t, ", NULL");
}

static void gen_bool(struct text *t, unsigned depth)
{
	static const char *const compare[] = {"=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"};
	switch (depth ? roll(12) : 0) {
	case 0:
		put(t, "%s",
		    PICK(((const char *const[]){"bo", "s = 'plum'", "s LIKE '%p%'", "s IS NULL", "i32 > 5", "u8 < 6",
		                                "upper(coalesce(s, 'x')) > 'K'"})));
		break;
	case 1:
	case 2:
	case 3:
		gen_number(t, depth - 1);
		put(t, " %s ", PICK(compare));
		gen_number(t, depth - 1);
		break;
	case 4:
		put(t, "(");
		gen_bool(t, depth - 1);
		put(t, " AND ");
		gen_bool(t, depth - 1);
		put(t, ")");
		break;
	case 5:
		put(t, "(");
		gen_bool(t, depth - 1);
		put(t, " OR ");
		gen_bool(t, depth - 1);
		put(t, ")");
		break;
	case 6:
		put(t, "NOT (");
		gen_bool(t, depth - 1);
		put(t, ")");
		break;
	case 7:
		put(t, "(");
		gen_number(t, depth - 1);
		put(t, roll(2) ? ") IS NULL" : ") IS NOT NULL");
		break;
	case 8:
		gen_number(t, depth - 1);
		put(t, " BETWEEN ");
		gen_number(t, 0);
		put(t, " AND ");
		gen_number(t, 0);
		break;
	case 9:
		put(t, "%s %sIN (", PICK(integer_columns), roll(3) ? "" : "NOT ");
		gen_list(t);
		put(t, ")");
		break;
	case 10:
		gen_date(t, depth - 1);
		put(t, " %s ", PICK(compare));
		gen_date(t, depth - 1);
		break;
	default:
		put(t, "(");
		gen_bool(t, depth - 1);
		put(t, ") %s (", PICK(compare));
		gen_bool(t, depth - 1);
		put(t, ")");
	}
}

/* ---- compiling ---- */
struct world {
	struct fixture *f;
	struct rql_arena *arena;
	const struct table *table;
	const struct rql_rel *get;
	unsigned how; /* 0: bounds as they are; 1: not known; 2: in the widest kind */
	struct rql_batch *dictionary;
	struct rql_host_result *looked_up[64];
	struct rql_batch *tables[64];
	unsigned table_count;
};

static bool column_of(void *state, const struct rql_expr *ref, struct rql_compile_column *out)
{
	struct world *w = state;
	uint32_t column = w->get->column_ids[ref->index];
	if (column == UINT32_MAX)
		return false;
	const struct rql_column *c = &w->table->batches[0]->columns[column];
	*out = (struct rql_compile_column){.input = {.column = column, .type = ref->type, .nullable = true}};
	out->coded = ref->type.id == RQL_TYPE_VARCHAR;
	out->input.bounds =
		w->how == 0 && rql_type_is_integral(c->type) ? w->table->bounds[column] : (struct rql_bounds){1, 0};
	if (!rql_lane_kind_of(ref->type, out->input.bounds, &out->input.kind))
		return false;
	if (w->how == 2 && (out->input.kind == RQL_LANE_I32 || out->input.kind == RQL_LANE_I64) && !out->coded)
		out->input.kind = RQL_LANE_I128;
	return true;
}

static void print_code(struct rql_strbuf *out, uint32_t index, void *state)
{
	(void)index;
	(void)state;
	rql_strbuf_put(out, "c0");
}

/* The host evaluates over the dictionary, whose last row is NULL. */
static rql_status table_of(void *state, const struct rql_expr *expr, const struct rql_expr *column,
                           struct rql_compile_table *out, struct rql_error *err)
{
	struct world *w = state;
	struct rql_strbuf text = {0};
	unsigned batches;
	(void)column;
	if (w->table_count == 64 || expr->type.id == RQL_TYPE_VARCHAR)
		return RQL_ERROR_UNSUPPORTED;
	uint64_t number = rql_host_lend(w->f->db, w->dictionary);
	rql_strbuf_put(&text, "select ");
	bool printed = rql_expr_print(&text, expr, print_code, NULL);
	rql_strbuf_printf(&text, " from rayql_batch(%llu)", (unsigned long long)number);
	rql_status status = printed ? rql_host_query(w->f->con, rql_strbuf_text(&text), &w->looked_up[w->table_count], err)
	                            : RQL_ERROR_UNSUPPORTED;
	rql_host_unlend(w->f->db, number);
	rql_strbuf_free(&text);
	if (status != RQL_OK)
		return RQL_ERROR_UNSUPPORTED;
	fetch_all(w->looked_up[w->table_count], &w->tables[w->table_count], &batches);
	assert_int_equal(batches, 1);
	struct rql_batch *values = w->tables[w->table_count++];
	assert_int_equal(values->rows, w->dictionary->rows);
	out->values = &values->columns[0];
	out->count = (uint32_t)values->rows - 1;
	out->null_value = rql_column_get(&values->columns[0], values->rows - 1);
	return RQL_OK;
}

static void forget_tables(struct world *w)
{
	for (unsigned i = 0; i < w->table_count; i++) {
		rql_batch_release(w->tables[i]);
		rql_host_result_free(w->looked_up[i]);
	}
	w->table_count = 0;
}

/* The plan's only expression, over the columns of *get. NULL: the plan is of another shape (folded, ...). */
static const struct rql_expr *planned(struct world *w, const char *query)
{
	char *json = NULL;
	struct rql_rel *rel = NULL;
	struct rql_error err = {0};
	const struct rql_expr *expr = NULL;
	enum rql_plan_dialect dialect = rql_plan_dialect_of(rql_host_library_version());
	if (dialect == RQL_PLAN_2) /* RayQL refuses plans without it there */
		sql(w->f, "PRAGMA enable_optimizer");
	if (rql_host_plan(w->f->con, query, &json, &err) == RQL_OK &&
	    rql_rel_parse(w->arena, dialect, json, strlen(json), &rel, &err) == RQL_OK && rel->kind == RQL_REL_PROJECT &&
	    rel->children[0]->kind == RQL_REL_GET && rel->expr_count == 1) {
		w->get = rel->children[0];
		expr = rel->exprs[0];
	}
	if (dialect == RQL_PLAN_2)
		sql(w->f, "PRAGMA disable_optimizer");
	free(json);
	rql_error_clear(&err);
	return expr;
}

/* ---- running and comparing ---- */
static _Alignas(64) uint8_t input_data[20][RQL_VECTOR_ROWS * 16];
static uint64_t input_valid[20][RQL_VECTOR_WORDS];

static struct rql_value lane_value(struct rql_type type, enum rql_lane_kind kind, struct rql_lanes lanes, uint32_t row)
{
	struct rql_value v = {.type = type};
	if (lanes.valid && !(lanes.valid[row >> 6] >> (row & 63) & 1))
		return rql_value_null(type);
	switch (kind) {
	case RQL_LANE_BOOL:
		v.integer = ((const uint64_t *)lanes.data)[row >> 6] >> (row & 63) & 1;
		break;
	case RQL_LANE_I32:
		v.integer = ((const int32_t *)lanes.data)[row];
		break;
	case RQL_LANE_I64:
		v.integer = ((const int64_t *)lanes.data)[row];
		break;
	case RQL_LANE_I128:
		v.integer = ((const rql_int128 *)lanes.data)[row];
		break;
	case RQL_LANE_F32:
		v.real = ((const float *)lanes.data)[row];
		break;
	default:
		v.real = ((const double *)lanes.data)[row];
	}
	return v;
}

static bool same_value(const struct rql_value *a, const struct rql_value *b)
{
	if (a->is_null || b->is_null)
		return a->is_null && b->is_null;
	if (a->type.id == RQL_TYPE_FLOAT || a->type.id == RQL_TYPE_DOUBLE)
		return memcmp(&a->real, &b->real, sizeof(double)) == 0 || (a->real != a->real && b->real != b->real);
	return a->integer == b->integer;
}

struct expected {
	struct rql_batch *batches[MAX_BATCHES];
	unsigned count, at;
	uint64_t row;
};

static struct rql_value next_expected(struct expected *e)
{
	while (e->at < e->count && e->row == e->batches[e->at]->rows) {
		e->at++;
		e->row = 0;
	}
	assert_true(e->at < e->count);
	return rql_column_get(&e->batches[e->at]->columns[0], e->row++);
}

static void report(const char *query, const struct rql_program *program, const struct rql_value *got,
                   const struct rql_value *want, uint64_t row)
{
	struct rql_strbuf text = {0};
	rql_program_print(&text, program);
	rql_strbuf_printf(&text, "row %llu: ", (unsigned long long)row);
	rql_value_print(&text, got);
	rql_strbuf_put(&text, " where DuckDB has ");
	rql_value_print(&text, want);
	fail_msg("%s\n%s", query, rql_strbuf_text(&text));
}

/* All rows; RQL_ERROR_HOST when the program raises. expected NULL: the values are not looked at. */
static rql_status run_all(const char *query, const struct table *t, const struct rql_program *program,
                          enum rql_simd simd, struct expected *expected, struct rql_error *err)
{
	struct rql_program_state *state;
	struct rql_lanes lanes[20];
	rql_status status = RQL_OK;
	uint64_t row = 0;
	assert_int_equal(rql_program_state_new(program, simd, &state, err), RQL_OK);
	assert_true(program->input_count <= 20);
	for (unsigned i = 0; i < t->batch_count && status == RQL_OK; i++) {
		const struct rql_batch *batch = t->batches[i];
		for (uint64_t first = 0; first < batch->rows && status == RQL_OK; first += RQL_VECTOR_ROWS) {
			uint32_t rows = (uint32_t)(batch->rows - first < RQL_VECTOR_ROWS ? batch->rows - first : RQL_VECTOR_ROWS);
			for (uint32_t c = 0; c < program->input_count; c++)
				assert_true(rql_lanes_load(&batch->columns[program->inputs[c].column], first, rows,
				                           program->inputs[c].kind, input_data[c], input_valid[c], &lanes[c]));
			status = rql_program_run(state, lanes, rows, NULL, err);
			struct rql_lanes out = rql_program_result(state, 0);
			for (uint32_t r = 0; status == RQL_OK && expected && r < rows; r++, row++) {
				struct rql_value got = lane_value(program->results[0].type, program->results[0].kind, out, r);
				struct rql_value want = next_expected(expected);
				bool untyped = want.type.id == RQL_TYPE_SQLNULL && got.is_null; /* DuckDB 2 has a type of NULL */
				if (!untyped && (!rql_type_equal(got.type, want.type) || !same_value(&got, &want)))
					report(query, program, &got, &want, row);
				if (got.is_null
				        ? !program->results[0].nullable
				        : program->results[0].kind >= RQL_LANE_I32 && program->results[0].kind <= RQL_LANE_I128 &&
				              (got.integer < program->results[0].bounds.low ||
				               got.integer > program->results[0].bounds.high))
					fail_msg("%s\na value outside the bounds that were told, or a NULL that was not", query);
			}
		}
	}
	rql_program_state_free(state);
	return status;
}

struct tally {
	unsigned bound, compiled, equal, both_fail, only_host;
};

/* One expression; when texts: an error must have the host's words. */
static void try_expression(struct world *w, const char *expression, struct tally *tally, bool texts)
{
	char query[8000];
	struct rql_error err = {0}, host_err = {0};
	struct rql_host_result *result = NULL;
	struct rql_program *program;
	struct expected expected = {.count = 0};
	snprintf(query, sizeof(query), "select %s as r from %s", expression, w->table->name);
	const struct rql_expr *expr = planned(w, query);
	tally->bound += expr != NULL;
	struct rql_compile_context ctx = {.arena = w->arena, .column = column_of, .table = table_of, .state = w};
	rql_status status = expr ? rql_compile_expressions(&ctx, &expr, 1, &program, &err) : RQL_ERROR_UNSUPPORTED;
	if (status == RQL_OK) {
		tally->compiled++;
		enum rql_simd simd = (enum rql_simd)roll(3);
		if (rql_host_query(w->f->con, query, &result, &host_err) == RQL_OK) {
			fetch_all(result, expected.batches, &expected.count);
			if (run_all(query, w->table, program, simd, &expected, &err) != RQL_OK)
				fail_msg("%s\nraises what DuckDB does not: %s", query, rql_error_message(&err));
			tally->equal++;
		} else if (run_all(query, w->table, program, simd, NULL, &err) == RQL_OK) {
			if (texts)
				fail_msg("%s\nraises nothing, but DuckDB: %s", query, rql_error_message(&host_err));
			tally->only_host++;
		} else {
			size_t n = strlen(rql_error_message(&err));
			if (texts && strncmp(rql_error_message(&host_err), rql_error_message(&err), n) != 0)
				fail_msg("%s\nDuckDB: %s\nRayQL:  %s", query, rql_error_message(&host_err), rql_error_message(&err));
			tally->both_fail++;
		}
	} else if (status != RQL_ERROR_UNSUPPORTED || texts) {
		fail_msg("%s\n%s", query, expr ? rql_error_message(&err) : "no such plan");
	} else if (getenv("RAYQL_TEST_TALK")) {
		print_message("not compiled: %s (%s)\n", query, rql_error_message(&err));
	}
	for (unsigned i = 0; i < expected.count; i++)
		rql_batch_release(expected.batches[i]);
	rql_host_result_free(result);
	rql_error_clear(&err);
	rql_error_clear(&host_err);
	forget_tables(w);
}

static void open_world(struct world *w, struct fixture *f, struct table *mild, struct table *wild)
{
	static const char *const fruits[] = {"", "apple", "fig", "kiwi", "pear", "plum"};
	const struct rql_type type = rql_type_simple(RQL_TYPE_VARCHAR);
	sql(f, "create or replace type fruits as enum ('', 'apple', 'fig', 'kiwi', 'pear', 'plum')");
	open_table(f, mild, "mild");
	open_table(f, wild, "wild");
	*w = (struct world){.f = f, .dictionary = rql_batch_new(1, &type, 7)};
	assert_non_null(w->dictionary);
	for (uint32_t i = 0; i < 6; i++)
		assert_true(rql_batch_set_string(w->dictionary, 0, i, fruits[i], (uint32_t)strlen(fruits[i])));
	assert_true(rql_batch_set_null(w->dictionary, 0, 6));
}

static void test_random(void **state)
{
	struct table mild, wild;
	struct world w;
	struct tally tally = {0};
	open_world(&w, *state, &mild, &wild);
	for (unsigned i = 0; i < expression_count; i++) {
		struct text text = {.length = 0};
		w.arena = rql_arena_new();
		w.table = roll(3) ? &mild : &wild;
		w.how = roll(4) ? 0 : 1 + roll(2);
		if (roll(3))
			gen_number(&text, 1 + roll(3));
		else
			gen_bool(&text, 1 + roll(3));
		try_expression(&w, text.data, &tally, false);
		rql_arena_free(w.arena);
	}
	print_message("%u expressions: %u plans, %u compiled: %u equal, %u failed as in DuckDB, %u failed there alone\n",
	              expression_count, tally.bound, tally.compiled, tally.equal, tally.both_fail, tally.only_host);
	assert_int_equal(tally.only_host, 0); /* no error of the host's is missed */
	assert_true(tally.compiled > expression_count / 3);
	assert_true(tally.equal > expression_count / 4);
	close_table(&mild);
	close_table(&wild);
	rql_batch_release(w.dictionary);
}

/* Single operations over the extremes: all compile, and fail in DuckDB's words. */
static void test_errors(void **state)
{
	static const char *const expressions[] = {
		"i8 + i8",
		"i8 * i8",
		"i8 - 100::tinyint",
		"i16 + i16",
		"i16 * i16",
		"i32 + i32",
		"i32 - 2000000000",
		"i32 * i32",
		"i64 + i64",
		"i64 - -1::bigint",
		"i64 * i64",
		"u8 + u8",
		"u8 * u8",
		"u8 - u8 - u8",
		"u16 * u16",
		"u32 + u32",
		"u32 * u32",
		"u64 + u64",
		"u64 * u64",
		"hg + hg",
		"hg * hg",
		"hg - 1::hugeint",
		"d18 + d18",
		"d18 * d9",
		"d18 * d18",
		"d38 + d38",
		"d38 * d38",
		"-i8",
		"-i64",
		"-hg",
		"abs(i32)",
		"abs(i64)",
		"abs(hg)",
		"i64 // -1::bigint",
		"i64 % -1::bigint",
		"i32 // -1::integer",
		"i32 % -1",
		"CAST(i64 AS integer)",
		"CAST(i32 AS tinyint)",
		"CAST(hg AS bigint)",
		"CAST(u64 AS bigint)",
		"CAST(i8 AS utinyint)",
		"CAST(i64 AS ubigint)",
		"CAST(u32 AS integer)",
		"CAST(d9 AS tinyint)",
		"CAST(d38 AS bigint)",
		"CAST(d18 AS decimal(5,2))",
		"CAST(d18 AS decimal(9,1))",
		"CAST(d9 AS decimal(12,8))",
		"CAST(i32 AS decimal(5,2))",
		"CAST(i64 AS decimal(18,2))",
		"CAST(hg AS decimal(38,2))",
		"CASE WHEN i32 > 0 THEN i32 + 2000000000 ELSE 0 END",
	};
	struct table mild, wild;
	struct world w;
	struct tally tally = {0};
	size_t skipped = 0;
	open_world(&w, *state, &mild, &wild);
	for (size_t i = 0; i < sizeof(expressions) / sizeof(expressions[0]); i++) {
		w.arena = rql_arena_new();
		w.table = &wild;
		w.how = (unsigned)i % 3;
		try_expression(&w, expressions[i], &tally, true);
		rql_arena_free(w.arena);
		bool widened = rql_host_major() >= 2 && strcmp(expressions[i], "d18 + d18") == 0; /* to DECIMAL(19, 2) */
		if (tally.both_fail + skipped != i + 1 && !widened)
			fail_msg("%s does not fail", expressions[i]);
		skipped += widened;
	}
	close_table(&mild);
	close_table(&wild);
	rql_batch_release(w.dictionary);
}

/* Rows that an earlier operand has decided raise nothing. */
static void test_masks(void **state)
{
	static const char *const expressions[] = {
		"CASE WHEN abs(i8::integer) < 100 THEN i8 + i8 ELSE 0::tinyint END",
		"CASE WHEN i64 BETWEEN -10000 AND 10000 THEN CAST(i64 AS smallint) ELSE 7::smallint END",
		"CASE WHEN i32 IS NULL THEN 0 WHEN i32 > 1000 OR i32 < -1000 THEN 1 ELSE i32 * 1000 END",
		"CASE WHEN s = 'plum' AND i16 BETWEEN -100 AND 100 THEN i16 * 100::smallint END",
		"coalesce(CASE WHEN i32 BETWEEN -1000 AND 1000 THEN i32 END, i16::integer)",
	};
	struct table mild, wild;
	struct world w;
	struct tally tally = {0};
	open_world(&w, *state, &mild, &wild);
	for (size_t i = 0; i < sizeof(expressions) / sizeof(expressions[0]); i++)
		for (w.how = 0; w.how < 3; w.how++) {
			w.arena = rql_arena_new();
			w.table = &wild;
			try_expression(&w, expressions[i], &tally, true);
			rql_arena_free(w.arena);
		}
	assert_int_equal(tally.equal, 3 * sizeof(expressions) / sizeof(expressions[0]));
	close_table(&mild);
	close_table(&wild);
	rql_batch_release(w.dictionary);
}

/* Rows that pass program, of all of the table. */
static int64_t passing(const struct table *t, const struct rql_program *program)
{
	struct rql_program_state *state;
	struct rql_lanes lanes[20];
	struct rql_error err = {0};
	int64_t sum = 0;
	assert_int_equal(rql_program_state_new(program, RQL_SIMD_AVX512, &state, NULL), RQL_OK);
	for (unsigned i = 0; i < t->batch_count; i++)
		for (uint64_t first = 0; first < t->batches[i]->rows; first += RQL_VECTOR_ROWS) {
			uint64_t live[RQL_VECTOR_WORDS], rest = t->batches[i]->rows - first;
			uint32_t rows = (uint32_t)(rest < RQL_VECTOR_ROWS ? rest : RQL_VECTOR_ROWS), left;
			memset(live, 0xff, sizeof(live));
			for (uint32_t c = 0; c < program->input_count; c++)
				assert_true(rql_lanes_load(&t->batches[i]->columns[program->inputs[c].column], first, rows,
				                           program->inputs[c].kind, input_data[c], input_valid[c], &lanes[c]));
			if (rql_program_filter(state, lanes, rows, live, &left, &err) != RQL_OK)
				fail_msg("%s", rql_error_message(&err));
			sum += left;
		}
	rql_program_state_free(state);
	return sum;
}

/* Rows that pass conjuncts separated by '|', as DuckDB counts them one after the other: in nested CASEs. */
static int64_t counted(struct fixture *f, const char *conjuncts)
{
	struct text query = {.length = 0};
	struct rql_error err = {0};
	unsigned depth = 0;
	int64_t count;
	put(&query, "select count(");
	for (const char *at = conjuncts; at; depth++) {
		const char *end = strchr(at, '|');
		put(&query, "CASE WHEN %.*s THEN ", end ? (int)(end - at) : (int)strlen(at), at);
		at = end ? end + 1 : NULL;
	}
	put(&query, "1");
	while (depth--)
		put(&query, " END");
	put(&query, ") from wild");
	if (rql_host_query_int(f->con, query.data, &count, &err) != RQL_OK)
		fail_msg("%s\n%s", query.data, rql_error_message(&err));
	return count;
}

/* The conjuncts of a filter, in their order: what one leaves out, false or NULL, the next ones do not see. */
static void test_filters(void **state)
{
	static const char *const conditions[] = {
		"i32 BETWEEN -1000 AND 1000|i32 * i32 > 5|s <> 'plum'", "i64 > -20000|i64 < 20000|i64 * 100 < 5000|bo",
		"s LIKE 'p%'|d18 < 50000|d18 > -50000|d18 * d18 > 10",  "(i8 = 3 OR u8 IN (1, 5, 9))|year(dt) = 1997",
		"i8 BETWEEN -50 AND 50|i8 + 40::tinyint > 30",
	};
	struct table mild, wild;
	struct world w;
	open_world(&w, *state, &mild, &wild);
	for (size_t i = 0; i < sizeof(conditions) / sizeof(conditions[0]); i++)
		for (w.how = 0; w.how < 3; w.how++) {
			struct text query = {.length = 0};
			struct rql_program *program;
			struct rql_error err = {0};
			w.arena = rql_arena_new();
			w.table = &wild;
			put(&query, "select ");
			for (const char *at = conditions[i]; *at; at++)
				if (*at == '|')
					put(&query, " AND ");
				else
					put(&query, "%c", *at);
			put(&query, " as r from wild");
			const struct rql_expr *expr = planned(&w, query.data);
			assert_non_null(expr);
			assert_int_equal(expr->kind, RQL_EXPR_AND);
			struct rql_compile_context ctx = {.arena = w.arena, .column = column_of, .table = table_of, .state = &w};
			if (rql_compile_filter(&ctx, (const struct rql_expr *const *)expr->children, expr->child_count, &program,
			                       &err) != RQL_OK)
				fail_msg("%s\n%s", query.data, rql_error_message(&err));
			assert_int_equal(passing(&wild, program), counted(w.f, conditions[i]));
			forget_tables(&w);
			rql_arena_free(w.arena);
		}
	close_table(&mild);
	close_table(&wild);
	rql_batch_release(w.dictionary);
}

static int set_up(void **state)
{
	if (setup(state) != 0)
		return -1;
	struct fixture *f = *state;
	sql(f, "PRAGMA disable_optimizer"); /* programs are made of the bound expression: DuckDB is to evaluate just that */
	sql(f, "create macro h(r, k) as (hash(r * 41 + k) % 1000000007)::bigint");
	sql(f, "create macro n(r, k, v) as case when h(r, k + 100) % 11 = 0 then null else v end");
	make_tables(f);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_masks),
		cmocka_unit_test(test_filters),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_random),
	};
	if (argc > 1)
		expression_count = (unsigned)strtoul(argv[1], NULL, 10);
	if (argc > 2)
		seed = strtoull(argv[2], NULL, 10) * 2654435761u + 1;
	return cmocka_run_group_tests(tests, set_up, teardown);
}

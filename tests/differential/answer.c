/* Fetching answers as text, and comparing them. */
#include "diff.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOLERANCE 1e-9

void dt_answer_free(struct dt_answer *a)
{
	free(a->error);
	free(a->cells);
	dt_arena_clear(&a->arena);
	*a = (struct dt_answer){0};
}

__extension__ typedef __int128 int128;

static char *print_int128(struct dt_arena *arena, int128 v, bool is_signed)
{
	char digits[48];
	size_t at = sizeof digits - 1;
	__extension__ unsigned __int128 u = (unsigned __int128)v;
	bool negative = is_signed && v < 0;
	if (negative)
		u = -u;
	digits[at] = '\0';
	do
		digits[--at] = (char)('0' + (int)(u % 10));
	while (u /= 10);
	if (negative)
		digits[--at] = '-';
	return dt_printf(arena, "%s", digits + at);
}

static char *print_real(struct dt_arena *arena, double v)
{
	if (isnan(v))
		return dt_printf(arena, "nan");                 /* whatever its sign and payload */
	return dt_printf(arena, "%.17g", v == 0 ? 0.0 : v); /* -0.0 groups with 0.0, and either may stand for the group */
}

static unsigned decimal_bytes(const char *type)
{
	int width = atoi(strchr(type, '(') ? strchr(type, '(') + 1 : "38");
	return width <= 4 ? 2 : width <= 9 ? 4 : width <= 18 ? 8 : 16;
}

static char *print_integer(struct dt_arena *arena, const char *at, unsigned bytes, bool is_signed)
{
	int128 wide = 0;
	int64_t v = 0;
	if (bytes == 16) {
		memcpy(&wide, at, 16);
		return print_int128(arena, wide, is_signed);
	}
	memcpy(&v, at, bytes); /* little-endian, as everything here */
	if (is_signed && bytes < 8)
		v = (int64_t)((uint64_t)v << (64 - 8 * bytes)) >> (64 - 8 * bytes);
	return is_signed ? dt_printf(arena, "%lld", (long long)v) : dt_printf(arena, "%llu", (unsigned long long)v);
}

/* NULL: this type is to be printed by the host. */
static char *print_value(struct dt_arena *arena, const rayql_result *res, const rayql_batch *batch, uint32_t c,
                         uint64_t row)
{
	const char *data = rayql_batch_data(batch, c);
	size_t length;
	float single;
	double real;
	const char *text;
	switch (rayql_column_type(res, c)) {
	case RAYQL_TYPE_BOOLEAN:
	case RAYQL_TYPE_UTINYINT:
		return print_integer(arena, data + row, 1, false);
	case RAYQL_TYPE_TINYINT:
		return print_integer(arena, data + row, 1, true);
	case RAYQL_TYPE_SMALLINT:
		return print_integer(arena, data + 2 * row, 2, true);
	case RAYQL_TYPE_USMALLINT:
		return print_integer(arena, data + 2 * row, 2, false);
	case RAYQL_TYPE_INTEGER:
	case RAYQL_TYPE_DATE:
		return print_integer(arena, data + 4 * row, 4, true);
	case RAYQL_TYPE_UINTEGER:
		return print_integer(arena, data + 4 * row, 4, false);
	case RAYQL_TYPE_BIGINT:
	case RAYQL_TYPE_TIME:
	case RAYQL_TYPE_TIMESTAMP:
	case RAYQL_TYPE_TIMESTAMP_S:
	case RAYQL_TYPE_TIMESTAMP_MS:
	case RAYQL_TYPE_TIMESTAMP_NS:
	case RAYQL_TYPE_TIMESTAMP_TZ:
		return print_integer(arena, data + 8 * row, 8, true);
	case RAYQL_TYPE_UBIGINT:
		return print_integer(arena, data + 8 * row, 8, false);
	case RAYQL_TYPE_HUGEINT:
	case RAYQL_TYPE_UUID:
		return print_integer(arena, data + 16 * row, 16, true);
	case RAYQL_TYPE_UHUGEINT:
		return print_integer(arena, data + 16 * row, 16, false);
	case RAYQL_TYPE_DECIMAL: {
		unsigned bytes = decimal_bytes(rayql_column_type_name(res, c));
		return print_integer(arena, data + bytes * row, bytes, true);
	}
	case RAYQL_TYPE_FLOAT:
		memcpy(&single, data + 4 * row, 4);
		return print_real(arena, (double)single);
	case RAYQL_TYPE_DOUBLE:
		memcpy(&real, data + 8 * row, 8);
		return print_real(arena, real);
	case RAYQL_TYPE_VARCHAR:
	case RAYQL_TYPE_BLOB:
		text = rayql_batch_text(batch, c, row, &length);
		if (memchr(text, '\0', length)) { /* a blob: its bytes must tell */
			char *hex = dt_alloc(arena, 2 * length + 3);
			for (size_t i = 0; i < length; i++)
				snprintf(hex + 2 * i, 3, "%02x", (unsigned)(unsigned char)text[i]);
			return hex;
		}
		return dt_printf(arena, "%.*s", (int)length, text);
	default:
		return NULL;
	}
}

static bool printed_by_host(const rayql_result *res)
{
	for (uint32_t c = 0; c < rayql_column_count(res); c++)
		if (rayql_column_type(res, c) == RAYQL_TYPE_ENUM || rayql_column_type(res, c) == RAYQL_TYPE_INTERVAL ||
		    rayql_column_type(res, c) == RAYQL_TYPE_OTHER || rayql_column_type(res, c) == RAYQL_TYPE_SQLNULL)
			return true;
	return false;
}

static rayql_status add_batch(struct dt_answer *a, rayql_result *res, const rayql_batch *batch, rayql_error **err)
{
	uint64_t rows = rayql_batch_rows(batch);
	rayql_batch *texts = NULL;
	if (printed_by_host(res)) {
		rayql_status status = rayql_batch_to_text(res, batch, &texts, err);
		if (status != RAYQL_OK)
			return status;
	}
	if (a->row_count + rows > a->row_capacity) {
		a->row_capacity = 2 * (a->row_count + rows);
		a->cells = realloc(a->cells, a->row_capacity * a->column_count * sizeof *a->cells);
		if (!a->cells)
			exit(2);
	}
	for (uint64_t r = 0; r < rows; r++) {
		for (uint32_t c = 0; c < a->column_count; c++) {
			char **cell = &a->cells[(a->row_count + r) * a->column_count + c];
			*cell = NULL;
			if (rayql_batch_is_null(batch, c, r))
				continue;
			if (!(*cell = print_value(&a->arena, res, batch, c, r))) {
				size_t length;
				const char *text = rayql_batch_text(texts, c, r, &length);
				*cell = dt_printf(&a->arena, "%.*s", (int)length, text);
			}
		}
	}
	a->row_count += rows;
	rayql_batch_free(texts);
	return RAYQL_OK;
}

static rayql_status fetch(struct dt_answer *a, rayql_result *res, rayql_error **err)
{
	snprintf(a->method, sizeof a->method, "%s", rayql_result_method(res));
	snprintf(a->reason, sizeof a->reason, "%s", rayql_result_reason(res));
	a->column_count = rayql_column_count(res);
	a->names = dt_alloc(&a->arena, a->column_count * sizeof(char *));
	a->types = dt_alloc(&a->arena, a->column_count * sizeof(char *));
	for (uint32_t c = 0; c < a->column_count; c++) {
		a->names[c] = dt_printf(&a->arena, "%s", rayql_column_name(res, c));
		a->types[c] = dt_printf(&a->arena, "%s", rayql_column_type_name(res, c));
	}
	for (;;) {
		rayql_batch *batch = NULL;
		rayql_status status = rayql_fetch(res, &batch, err);
		if (status == RAYQL_OK && batch)
			status = add_batch(a, res, batch, err);
		rayql_batch_free(batch);
		if (status != RAYQL_OK || !batch)
			return status;
	}
}

void dt_answer_of(rayql_connection *con, const char *sql, bool prepared, struct dt_answer *out)
{
	rayql_error *err = NULL;
	rayql_result *res = NULL;
	rayql_statement *stmt = NULL;
	*out = (struct dt_answer){0};
	if (prepared) {
		out->status = rayql_prepare(con, sql, &stmt, &err);
		if (out->status == RAYQL_OK)
			out->status = rayql_execute(stmt, &res, &err);
	} else {
		out->status = rayql_query(con, sql, &res, &err);
	}
	if (out->status == RAYQL_OK)
		out->status = fetch(out, res, &err);
	if (out->status != RAYQL_OK) {
		struct dt_text text = {0};
		dt_put(&text, "%s", rayql_error_message(err));
		out->error = text.data;
	}
	rayql_error_free(err);
	rayql_result_free(res);
	rayql_statement_free(stmt);
}

/* ---- comparing ---- */

/* Errors name values, and which value is met first depends on the order of the rows: digits and quoted texts do not
 * count. Where a query says the same wrong thing twice, the host's threads decide which of the places it shows. */
static bool same_error(const char *a, const char *b)
{
	if (!strncmp(a, "INTERNAL Error", 14) && !strncmp(b, "INTERNAL Error", 14))
		return true; /* DuckDB's own bug, with a stack trace of addresses */
	while (*a && *b) {
		if (!strncmp(a, "\n\nLINE ", 7) && !strncmp(b, "\n\nLINE ", 7))
			return true;
		size_t digits_a = strspn(a, "0123456789-."), digits_b = strspn(b, "0123456789-.");
		if (digits_a && digits_b) {
			a += digits_a;
			b += digits_b;
		} else if ((*a == '\'' || *a == '"') && *a == *b) {
			const char *end_a = strchr(a + 1, *a), *end_b = strchr(b + 1, *b);
			if (!end_a || !end_b)
				return true;
			a = end_a + 1;
			b = end_b + 1;
		} else if (*a++ != *b++) {
			return false;
		}
	}
	return *a == *b;
}

static bool same_cell(const char *a, const char *b, bool approximate)
{
	if (!a || !b)
		return a == b;
	if (!strcmp(a, b))
		return true;
	if (!approximate)
		return false;
	double x = strtod(a, NULL), y = strtod(b, NULL);
	if (isnan(x) || isnan(y) || isinf(x) || isinf(y))
		return (isnan(x) && isnan(y)) || x == y;
	/* Inputs lie within 1e5 and their products within 1e10, whatever cancels between them. */
	return fabs(x - y) <= TOLERANCE * (fabs(x) + fabs(y)) + TOLERANCE * 10;
}

/* Under a collation, texts that differ in case alone are one: either may stand for a group, and come first. */
void dt_answer_fold(struct dt_answer *a)
{
	for (uint64_t i = 0; i < a->row_count * a->column_count; i++)
		for (char *c = a->cells[i]; c && *c; c++)
			*c = (char)tolower((unsigned char)*c);
}

struct sorting {
	uint32_t columns;
	const bool *approximate;
};

static int compare_cells(const char *a, const char *b)
{
	if (!a || !b)
		return (a != NULL) - (b != NULL);
	return strcmp(a, b);
}

static int compare_numbers(const char *a, const char *b)
{
	if (!a || !b)
		return (a != NULL) - (b != NULL);
	double x = strtod(a, NULL), y = strtod(b, NULL);
	if (isnan(x) || isnan(y))
		return (int)isnan(x) - (int)isnan(y);
	return (x > y) - (x < y);
}

static int compare_rows(const void *pa, const void *pb, void *state)
{
	const struct sorting *sorting = state;
	char *const *a = *(char *const *const *)pa, *const *b = *(char *const *const *)pb;
	for (uint32_t c = 0; c < sorting->columns; c++) {
		int order = sorting->approximate[c] ? 0 : compare_cells(a[c], b[c]);
		if (order)
			return order;
	}
	for (uint32_t c = 0; c < sorting->columns; c++) {
		int order = sorting->approximate[c] ? compare_numbers(a[c], b[c]) : 0;
		if (order)
			return order;
	}
	return 0;
}

static char ***sorted_rows(const struct dt_answer *a, const bool *approximate)
{
	char ***rows = malloc((a->row_count + 1) * sizeof *rows);
	if (!rows)
		exit(2);
	for (uint64_t r = 0; r < a->row_count; r++)
		rows[r] = &a->cells[r * a->column_count];
	struct sorting sorting = {a->column_count, approximate};
	qsort_r(rows, a->row_count, sizeof *rows, compare_rows, &sorting);
	return rows;
}

static void put_row(struct dt_text *out, const char *who, char *const *row, uint32_t columns)
{
	dt_put(out, "  %s", who);
	for (uint32_t c = 0; c < columns; c++)
		dt_put(out, "%s%s", c ? " | " : "", row[c] ? row[c] : "NULL");
	dt_put(out, "\n");
}

static bool same_row(char *const *a, char *const *b, uint32_t columns, const bool *approximate)
{
	for (uint32_t c = 0; c < columns; c++)
		if (!same_cell(a[c], b[c], approximate[c]))
			return false;
	return true;
}

/* Both sorted: rows that only one of them has. all: ours must have every row of the other's, not only its own among
 * them. */
static void compare_sets(struct dt_text *out, const struct dt_answer *ours, const struct dt_answer *hosts,
                         const bool *approximate, bool all)
{
	struct sorting sorting = {ours->column_count, approximate};
	char ***a = sorted_rows(ours, approximate), ***b = sorted_rows(hosts, approximate);
	uint64_t i = 0, k = 0, shown = 0;
	while ((i < ours->row_count || (all && k < hosts->row_count)) && shown < 10) {
		bool have_a = i < ours->row_count, have_b = k < hosts->row_count;
		if (have_a && have_b && same_row(a[i], b[k], ours->column_count, approximate)) {
			i++;
			k++;
			continue;
		}
		int order = !have_a ? 1 : !have_b ? -1 : compare_rows(&a[i], &b[k], &sorting);
		if (order == 0) /* only the approximate columns differ, by too much; or text that the numbers hide */
			order = -1;
		if (order < 0) {
			put_row(out, "only RayQL: ", a[i++], ours->column_count);
			shown++;
		} else {
			if (all) {
				put_row(out, "only DuckDB: ", b[k], ours->column_count);
				shown++;
			}
			k++;
		}
	}
	free(a);
	free(b);
}

static void compare_order(struct dt_text *out, const struct dt_select *s, const struct dt_answer *ours,
                          const struct dt_answer *hosts)
{
	uint32_t columns[DT_MAX_KEYS + DT_MAX_AGGS], n = dt_select_order(s, columns);
	for (uint64_t r = 0; r < ours->row_count && r < hosts->row_count && n; r++) {
		char *const *a = &ours->cells[r * ours->column_count], *const *b = &hosts->cells[r * hosts->column_count];
		for (uint32_t i = 0; i < n; i++) {
			if (same_cell(a[columns[i]], b[columns[i]], dt_select_approximate(s, columns[i])))
				continue;
			dt_put(out, "row %llu differs in the ORDER BY column %u:\n", (unsigned long long)r, columns[i] + 1);
			put_row(out, "RayQL:  ", a, ours->column_count);
			put_row(out, "DuckDB: ", b, hosts->column_count);
			return;
		}
	}
}

static bool compare_columns(struct dt_text *out, const struct dt_answer *ours, const struct dt_answer *hosts)
{
	if (ours->column_count != hosts->column_count) {
		dt_put(out, "RayQL gives %u columns, DuckDB %u\n", ours->column_count, hosts->column_count);
		return false;
	}
	for (uint32_t c = 0; c < ours->column_count; c++)
		if (strcmp(ours->names[c], hosts->names[c]) != 0 || strcmp(ours->types[c], hosts->types[c]) != 0)
			dt_put(out, "column %u: RayQL %s %s, DuckDB %s %s\n", c + 1, ours->names[c], ours->types[c],
			       hosts->names[c], hosts->types[c]);
	return true;
}

static char *compare_errors(const struct dt_answer *ours, const struct dt_answer *hosts)
{
	struct dt_text out = {0};
	if (ours->error && hosts->error && same_error(ours->error, hosts->error))
		return NULL;
	/* An assertion of DuckDB's own has failed: RayQL's answer stands alone (docs/sql.md). */
	if (!ours->error && !strncmp(hosts->error, "INTERNAL Error", 14))
		return NULL;
	/* Inside a transaction the first of two errors is the one that says what happened. */
	static const char aborted[] = "Current transaction is aborted";
	if (ours->error && hosts->error && (strstr(ours->error, aborted) || strstr(hosts->error, aborted)))
		return NULL;
	dt_put(&out, "RayQL: %s (%s)\n  DuckDB: %s\n", ours->error ? ours->error : "an answer", ours->method,
	       hosts->error ? hosts->error : "an answer");
	return out.data;
}

/* Rows of one table without an order of their own: DuckDB keeps the table's. */
static bool in_table_order(const struct dt_select *s)
{
	uint32_t columns[DT_MAX_KEYS + DT_MAX_AGGS];
	return s->source->is_table && s->ungrouped && !s->distinct && s->wrap == DT_PLAIN && !dt_select_order(s, columns);
}

static void compare_rows_in_order(struct dt_text *out, const struct dt_answer *ours, const struct dt_answer *hosts,
                                  const bool *approximate)
{
	uint32_t columns = ours->column_count;
	for (uint64_t r = 0; r < ours->row_count && r < hosts->row_count; r++) {
		char *const *a = &ours->cells[r * columns], *const *b = &hosts->cells[r * columns];
		if (same_row(a, b, columns, approximate))
			continue;
		dt_put(out, "row %llu differs, in the order of the table:\n", (unsigned long long)r);
		put_row(out, "RayQL:  ", a, columns);
		put_row(out, "DuckDB: ", b, columns);
		return;
	}
}

char *dt_answer_compare(const struct dt_select *s, const struct dt_answer *ours, const struct dt_answer *hosts,
                        const struct dt_answer *whole)
{
	struct dt_text out = {0};
	bool approximate[DT_MAX_KEYS + DT_MAX_AGGS + 2];
	if (ours->error || hosts->error)
		return compare_errors(ours, hosts);
	if (!compare_columns(&out, ours, hosts))
		return out.data;
	for (uint32_t c = 0; c < sizeof approximate; c++)
		approximate[c] = c < ours->column_count && dt_select_approximate(s, c);
	if (ours->row_count != hosts->row_count)
		dt_put(&out, "RayQL gives %llu rows, DuckDB %llu\n", (unsigned long long)ours->row_count,
		       (unsigned long long)hosts->row_count);
	if (in_table_order(s))
		compare_rows_in_order(&out, ours, hosts, approximate);
	else if (whole && !whole->error)
		compare_sets(&out, ours, whole, approximate, false);
	else if (!whole)
		compare_sets(&out, ours, hosts, approximate, true);
	if (!out.length)
		compare_order(&out, s, ours, hosts);
	return out.data;
}

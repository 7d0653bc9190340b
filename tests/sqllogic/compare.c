/* Two answers to one statement: equal in every respect that the statement promises, or what differs. */
#include "sqllogic.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define TOLERANCE 1e-9
#define TOLERANCE_SINGLE 1e-5

struct shape { /* what comparing two rows needs to know */
	uint32_t columns;
	double *tolerance; /* per column: 0 for exact */
};

/* ---- cells and rows ---- */
static int compare_bytes(const struct sl_cell *a, const struct sl_cell *b)
{
	if (!a->data || !b->data)
		return (a->data != NULL) - (b->data != NULL);
	size_t n = a->length < b->length ? a->length : b->length;
	int order = memcmp(a->data, b->data, n);
	return order ? order : (a->length > b->length) - (a->length < b->length);
}

static bool near(const struct sl_cell *a, const struct sl_cell *b, double tolerance)
{
	if (!a->data || !b->data)
		return a->data == b->data;
	double x = strtod(a->data, NULL), y = strtod(b->data, NULL);
	if (isnan(x) || isnan(y) || isinf(x) || isinf(y))
		return (isnan(x) && isnan(y)) || x == y;
	return fabs(x - y) <= tolerance * (fabs(x) + fabs(y));
}

static bool same_row(const struct shape *s, const struct sl_cell *a, const struct sl_cell *b, bool rounded)
{
	for (uint32_t c = 0; c < s->columns; c++)
		if (compare_bytes(&a[c], &b[c]) && !(rounded && s->tolerance[c] && near(&a[c], &b[c], s->tolerance[c])))
			return false;
	return true;
}

/* Exact columns decide first, so that rows that differ by rounding still meet. */
static int compare_rows(const void *pa, const void *pb, void *state)
{
	const struct shape *s = state;
	const struct sl_cell *a = *(const struct sl_cell *const *)pa, *b = *(const struct sl_cell *const *)pb;
	for (uint32_t c = 0; c < s->columns; c++) {
		int order = s->tolerance[c] ? 0 : compare_bytes(&a[c], &b[c]);
		if (order)
			return order;
	}
	for (uint32_t c = 0; c < s->columns; c++) {
		if (!s->tolerance[c] || !a[c].data || !b[c].data) {
			if (s->tolerance[c] && (a[c].data != NULL) != (b[c].data != NULL))
				return (a[c].data != NULL) - (b[c].data != NULL);
			continue;
		}
		double x = strtod(a[c].data, NULL), y = strtod(b[c].data, NULL);
		int order = isnan(x) || isnan(y) ? isnan(x) - isnan(y) : (x > y) - (x < y);
		if (order)
			return order;
	}
	return 0;
}

static const struct sl_cell **rows_of(struct rql_arena *arena, const struct shape *s, const struct sl_answer *a,
                                      bool sorted)
{
	const struct sl_cell **rows = sl_alloc(arena, (a->kept_rows + 1) * sizeof *rows);
	for (uint64_t r = 0; r < a->kept_rows; r++)
		rows[r] = &a->cells[r * a->column_count];
	if (sorted)
		qsort_r(rows, a->kept_rows, sizeof *rows, compare_rows, (void *)s);
	return rows;
}

/* UINT64_MAX: all equal. Else the first row that is not. */
static uint64_t first_difference(const struct shape *s, const struct sl_cell **a, const struct sl_cell **b,
                                 uint64_t rows,
                                 bool rounded)
{
	for (uint64_t r = 0; r < rows; r++)
		if (!same_row(s, a[r], b[r], rounded))
			return r;
	return UINT64_MAX;
}

/* ---- order ---- */

/* The answer's column that an ORDER BY item names, or -1. */
static int order_column(const struct sl_answer *a, const char *item)
{
	char *end;
	unsigned long number = strtoul(item, &end, 10);
	if (*item && !*end)
		return number >= 1 && number <= a->column_count ? (int)number - 1 : -1;
	for (uint32_t c = 0; *item && c < a->column_count; c++)
		if (!strcasecmp(a->names[c], item))
			return (int)c;
	return -1;
}

/* Both have the same values in the columns that they are ordered by, row for row, as far as these are columns of the
 * answer. *all: every item is one. */
static bool same_keys(const struct sl_facts *f, const struct shape *s, const struct sl_answer *ours,
                      const struct sl_answer *hosts, bool *all)
{
	*all = true;
	for (uint32_t i = 0; i < f->order.count; i++) {
		int c = order_column(ours, f->order.items[i]);
		if (c < 0) {
			*all = f->order_all;
			return true;
		}
		for (uint64_t r = 0; r < ours->kept_rows && r < hosts->kept_rows; r++) {
			const struct sl_cell *a = &ours->cells[r * s->columns + (unsigned)c];
			const struct sl_cell *b = &hosts->cells[r * s->columns + (unsigned)c];
			if (compare_bytes(a, b) && !(s->tolerance[c] && near(a, b, s->tolerance[c])))
				return false;
		}
	}
	return true;
}

/* ---- what differs, in words ---- */
static void put_row(struct rql_strbuf *out, const char *who, const struct sl_cell *row, uint32_t columns)
{
	rql_strbuf_put(out, who);
	for (uint32_t c = 0; c < columns; c++) {
		size_t n = row[c].length < 200 ? row[c].length : 200;
		rql_strbuf_printf(out, "%s%.*s", c ? " | " : "", row[c].data ? (int)n : 4, row[c].data ? row[c].data : "NULL");
	}
	rql_strbuf_put(out, "\n");
}

static const char *finish(struct rql_arena *arena, struct rql_strbuf *text)
{
	const char *copy = sl_copy(arena, rql_strbuf_text(text), text->length);
	rql_strbuf_free(text);
	return copy;
}

static const char *row_difference(struct rql_arena *arena, const struct shape *s, const struct sl_cell **a,
                                  const struct sl_cell **b, uint64_t row, const char *what)
{
	struct rql_strbuf text = {0};
	rql_strbuf_printf(&text, "%s, first in row %llu:\n", what, (unsigned long long)row);
	put_row(&text, "  RayQL:  ", a[row], s->columns);
	put_row(&text, "  DuckDB: ", b[row], s->columns);
	return finish(arena, &text);
}

/* ---- messages and columns ---- */

/* An INTERNAL error of DuckDB's ends in addresses. Others end in hints, which name what the transaction has met of the
 * catalogue, and in an excerpt of the statement, which is what DuckDB has made of it when it is a PRAGMA. */
static size_t message_length(const char *m, bool hints)
{
	static const char *const ends[] = {"\n\nStack Trace", "\nDid you mean", "\nCandidate bindings", "\n\nLINE "};
	size_t n = strlen(m);
	for (size_t i = 0; i < (hints ? 1 : sizeof ends / sizeof ends[0]); i++) {
		const char *end = strstr(m, ends[i]);
		n = end && (size_t)(end - m) < n ? (size_t)(end - m) : n;
	}
	return n;
}

static bool same_messages(const struct sl_answer *ours, const struct sl_answer *hosts, bool hints)
{
	size_t n = message_length(ours->message, hints), m = message_length(hosts->message, hints);
	return n == m && !memcmp(ours->message, hosts->message, n);
}

static const char *different_messages(struct rql_arena *arena, const struct sl_answer *ours,
                                      const struct sl_answer *hosts)
{
	if (ours->message && hosts->message) {
		if (same_messages(ours, hosts, false))
			return NULL;
		return sl_printf(arena, "another message:\n  RayQL:  %s\n  DuckDB: %s\n", ours->message, hosts->message);
	}
	return sl_printf(arena, "another status:\n  RayQL:  %s\n  DuckDB: %s\n",
	                 ours->message ? ours->message : "an answer",
	                 hosts->message ? hosts->message : "an answer");
}

static const char *different_columns(struct rql_arena *arena, const struct sl_answer *ours,
                                     const struct sl_answer *hosts)
{
	static const char *const shapes[] = {"nothing", "a number of changed rows", "rows"};
	if (ours->shape != hosts->shape)
		return sl_printf(arena, "RayQL gives %s, DuckDB %s\n", shapes[ours->shape], shapes[hosts->shape]);
	if (ours->column_count != hosts->column_count)
		return sl_printf(arena, "RayQL gives %u columns, DuckDB %u\n", ours->column_count, hosts->column_count);
	for (uint32_t c = 0; c < ours->column_count; c++)
		if (strcmp(ours->names[c], hosts->names[c]) || strcmp(ours->types[c], hosts->types[c]))
			return sl_printf(arena, "column %u is \"%s\" %s, DuckDB's \"%s\" %s\n", c + 1, ours->names[c],
			                 ours->types[c],
			                 hosts->names[c], hosts->types[c]);
	return NULL;
}

static struct shape shape_of(struct rql_arena *arena, const struct sl_answer *a)
{
	struct shape s = {a->column_count, sl_alloc(arena, (a->column_count + 1) * sizeof(double))};
	for (uint32_t c = 0; c < a->column_count; c++)
		s.tolerance[c] = !strcmp(a->types[c], "DOUBLE")  ? TOLERANCE
		                 : !strcmp(a->types[c], "FLOAT") ? TOLERANCE_SINGLE
		                                                 : 0;
	return s;
}

static enum sl_verdict compare_rows_of(struct rql_arena *arena, const struct sl_facts *f, const struct sl_answer *ours,
                                       const struct sl_answer *hosts, const char **out)
{
	struct shape s = shape_of(arena, ours);
	const struct sl_cell **a = rows_of(arena, &s, ours, false), **b = rows_of(arena, &s, hosts, false);
	bool all, rest = ours->hash == hosts->hash;
	uint64_t exact = first_difference(&s, a, b, ours->kept_rows, false);
	if (exact == UINT64_MAX && rest)
		return SL_EQUAL;
	uint64_t row = first_difference(&s, a, b, ours->kept_rows, true);
	if (row == UINT64_MAX && rest)
		return SL_ROUNDED;
	const struct sl_cell **c = rows_of(arena, &s, ours, true), **d = rows_of(arena, &s, hosts, true);
	uint64_t other = first_difference(&s, c, d, ours->kept_rows, true);
	bool keys = same_keys(f, &s, ours, hosts, &all);
	if (other == UINT64_MAX && ours->sum == hosts->sum) {
		if (keys && !f->one_table && !(f->order_all && f->ordered))
			return SL_OTHER_ORDER;
		*out = row == UINT64_MAX ? "other rows beyond those that are kept, or another order of them\n"
		                         : row_difference(arena, &s, a, b, row, "another order");
		return SL_DIFFERENT;
	}
	if (f->limited && keys && all && !f->one_table)
		return SL_TIES;
	*out = other == UINT64_MAX ? "other rows beyond those that are kept\n"
	                           : row_difference(arena, &s, c, d, other, "other values (rows sorted)");
	return SL_DIFFERENT;
}

enum sl_verdict sl_compare(struct rql_arena *arena, const char *sql, const struct sl_answer *ours,
                           const struct sl_answer *hosts, const char **out)
{
	struct sl_facts f;
	sl_facts_of(arena, sql, &f);
	*out = NULL;
	if (f.special && !ours->message == !hosts->message) {
		*out = f.special;
		return SL_SPECIAL;
	}
	if (ours->message || hosts->message)
		*out = different_messages(arena, ours, hosts);
	else if (!(*out = different_columns(arena, ours, hosts)) && ours->row_count != hosts->row_count)
		*out = sl_printf(arena, "RayQL gives %llu rows, DuckDB %llu\n", (unsigned long long)ours->row_count,
		                 (unsigned long long)hosts->row_count);
	if (*out)
		return SL_DIFFERENT;
	if (ours->message)
		return same_messages(ours, hosts, true) ? SL_EQUAL : SL_OTHER_HINT;
	return compare_rows_of(arena, &f, ours, hosts, out);
}

bool sl_same(const struct sl_answer *a, const struct sl_answer *b)
{
	if (!a->message != !b->message || a->shape != b->shape || a->column_count != b->column_count ||
	    a->row_count != b->row_count || a->kept_rows != b->kept_rows || a->hash != b->hash)
		return false;
	if (a->message && strcmp(a->message, b->message))
		return false;
	for (uint32_t c = 0; c < a->column_count; c++)
		if (strcmp(a->names[c], b->names[c]) || strcmp(a->types[c], b->types[c]))
			return false;
	for (uint64_t i = 0; i < a->kept_rows * a->column_count; i++)
		if (compare_bytes(&a->cells[i], &b->cells[i]))
			return false;
	return true;
}

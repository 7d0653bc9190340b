/* What a file expects of an answer: reported apart, since the measure is DuckDB's own answer. */
#include "sqllogic.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* As sqllogictest writes values down. */
static const char *shown(struct rql_arena *arena, const struct sl_cell *cell, const char *type)
{
	if (!cell->data)
		return "NULL";
	if (!strcmp(type, "BOOLEAN"))
		return !strcmp(cell->data, "true") ? "1" : "0";
	if (!cell->length)
		return "(empty)";
	char *text = sl_copy(arena, cell->data, cell->length);
	for (size_t i = 0; i < cell->length; i++)
		if (!text[i])
			return sl_replace(arena, text, "\n", "\\n"); /* behind a NUL: not looked at */
	return text;
}

static bool same_value(const char *a, const char *b)
{
	char *end_a, *end_b;
	if (!strcmp(a, b) || !strncmp(b, "<REGEX>:", 8) || !strncmp(b, "<!REGEX>:", 9))
		return true;
	if ((!strcmp(a, "1") && !strcasecmp(b, "true")) || (!strcmp(a, "0") && !strcasecmp(b, "false")))
		return true;
	double x = strtod(a, &end_a), y = strtod(b, &end_b);
	if (end_a == a || end_b == b || *end_a || *end_b)
		return false;
	return fabs(x - y) <= 0.01 * fabs(y) + 1e-9 || (isnan(x) && isnan(y));
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

struct sorting {
	uint32_t columns;
};

static int compare_text_rows(const void *a, const void *b, void *state)
{
	const char *const *x = a, *const *y = b;
	for (uint32_t c = 0; c < ((struct sorting *)state)->columns; c++) {
		int order = strcmp(x[c], y[c]);
		if (order)
			return order;
	}
	return 0;
}

/* The values of the answer, or of the file, in the order that the file's sort mode gives. */
static void sort_values(const char **values, uint64_t count, uint32_t columns, enum sl_sort sort)
{
	struct sorting sorting = {columns};
	if (sort == SL_SORT_VALUES)
		qsort(values, count, sizeof *values, compare_texts);
	else if (sort == SL_SORT_ROWS && columns)
		qsort_r(values, count / columns, columns * sizeof *values, compare_text_rows, &sorting);
}

/* Lines as values: one each, or a row of them with tabs. NULL when they are as many as no answer has. */
static const char **expected_values(struct rql_arena *arena, const struct sl_list *lines, uint32_t columns,
                                    uint64_t rows)
{
	const char **values = sl_alloc(arena, (rows * columns + 1) * sizeof *values);
	bool tabs = lines->count > 0;
	for (uint32_t i = 0; i < lines->count; i++)
		tabs &= strchr(lines->items[i], '\t') != NULL;
	bool by_row = columns > 1 && (lines->count == rows || tabs);
	if (lines->count != (by_row ? rows : rows * columns))
		return NULL;
	for (uint32_t i = 0; i < lines->count; i++) {
		const char *at = lines->items[i];
		if (!by_row) {
			values[i] = at;
			continue;
		}
		for (uint32_t c = 0; c < columns; c++) {
			size_t n = strcspn(at, "\t");
			values[i * columns + c] = sl_copy(arena, at, n);
			at += n + (at[n] == '\t');
		}
	}
	return values;
}

static bool is_hash(const struct sl_list *lines)
{
	return lines->count == 1 && (strstr(lines->items[0], " values hashing to ") || !strncmp(lines->items[0],
	                                                                                        "<FILE>:", 7));
}

enum sl_met sl_expectation(const struct sl_command *c, const struct sl_answer *a, const struct sl_list *result)
{
	if (c->expected == SL_EXPECT_ANY)
		return SL_MET_UNKNOWN;
	if (c->kind == SL_STATEMENT || a->message)
		return (a->message != NULL) == (c->expected == SL_EXPECT_ERROR) ? SL_MET : SL_NOT_MET;
	if (c->labelled || is_hash(result) || a->kept_rows != a->row_count)
		return SL_MET_UNKNOWN;
	struct rql_arena *arena = sl_arena_new();
	uint64_t count = a->row_count * a->column_count;
	const char **found = sl_alloc(arena, (count + 1) * sizeof *found);
	const char **values = expected_values(arena, result, a->column_count, a->row_count);
	bool same = values != NULL;
	for (uint64_t i = 0; i < count; i++)
		found[i] = shown(arena, &a->cells[i], a->types[i % a->column_count]);
	sort_values(found, count, a->column_count, c->sort);
	if (values)
		sort_values(values, count, a->column_count, c->sort);
	for (uint64_t i = 0; same && i < count; i++)
		same = same_value(found[i], values[i]);
	rql_arena_free(arena);
	return same ? SL_MET : SL_NOT_MET;
}

/* Answers fetched as texts, compared row by row, and where they differ judged by whether both may take those places. */
#include "bench/common/answer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/hash.h"

#define NULL_TEXT "\\N"

void rql_answer_free(struct rql_answer *answer)
{
	for (uint64_t i = 0; answer->values && i < answer->rows * answer->columns; i++)
		free(answer->values[i]);
	for (uint32_t c = 0; c < answer->columns; c++) {
		free(answer->names ? answer->names[c] : NULL);
		free(answer->types ? answer->types[c] : NULL);
	}
	free(answer->names);
	free(answer->types);
	free(answer->is_real);
	free(answer->values);
	*answer = (struct rql_answer){0};
}

/* ---- reading ---- */

static bool begin(void *state, const rayql_result *result)
{
	struct rql_answer *a = state;
	uint32_t columns = rayql_column_count(result);
	a->names = calloc(columns ? columns : 1, sizeof *a->names);
	a->types = calloc(columns ? columns : 1, sizeof *a->types);
	a->is_real = calloc(columns ? columns : 1, sizeof *a->is_real);
	if (!a->names || !a->types || !a->is_real)
		return false;
	a->columns = columns;
	for (uint32_t c = 0; c < columns; c++) {
		rayql_type type = rayql_column_type(result, c);
		a->names[c] = strdup(rayql_column_name(result, c));
		a->types[c] = strdup(rayql_column_type_name(result, c));
		a->is_real[c] = type == RAYQL_TYPE_FLOAT || type == RAYQL_TYPE_DOUBLE;
		if (!a->names[c] || !a->types[c])
			return false;
	}
	return true;
}

static bool add_row(void *state, const rayql_batch *text, uint64_t row)
{
	struct rql_answer *a = state;
	if (a->rows == a->capacity) {
		uint64_t capacity = a->capacity ? a->capacity * 2 : 64;
		char **grown = realloc(a->values, capacity * (a->columns ? a->columns : 1) * sizeof *grown);
		if (!grown)
			return false;
		a->values = grown;
		a->capacity = capacity;
	}
	char **to = a->values + a->rows * a->columns;
	memset(to, 0, a->columns * sizeof *to);
	a->rows++;
	for (uint32_t c = 0; c < a->columns; c++) {
		if (rayql_batch_is_null(text, c, row))
			continue;
		size_t length;
		const char *data = rayql_batch_text(text, c, row, &length);
		if (!(to[c] = malloc(length + 1))) /* the text has no NUL of its own */
			return false;
		memcpy(to[c], data, length);
		to[c][length] = 0;
	}
	return true;
}

rql_status rql_answer_of(rayql_connection *con, const char *sql, double *ms, struct rql_answer *out,
                         struct rql_error *err)
{
	struct rql_answer answer = {0};
	rql_status status = rql_client_each(con, sql, ms, begin, add_row, &answer, err);
	if (status == RQL_OK)
		*out = answer;
	else
		rql_answer_free(&answer);
	return status;
}

/* ---- comparing ---- */

static bool reals_are_close(const char *a, const char *b)
{
	double x = strtod(a, NULL), y = strtod(b, NULL);
	if (!isfinite(x) || !isfinite(y))
		return !strcmp(a, b);
	return fabs(x - y) <= 1e-9 * fmax(fabs(x), fabs(y));
}

/* reals false: the other columns only */
static bool rows_are_equal(const struct rql_answer *types, char *const *a, char *const *b, bool reals)
{
	for (uint32_t c = 0; c < types->columns; c++) {
		if (types->is_real[c] && !reals)
			continue;
		if (!a[c] || !b[c]) {
			if (a[c] || b[c])
				return false;
		} else if (strcmp(a[c], b[c]) && !(types->is_real[c] && reals_are_close(a[c], b[c]))) {
			return false;
		}
	}
	return true;
}

static bool shapes_are_equal(const struct rql_answer *ours, const struct rql_answer *host, struct rql_strbuf *why)
{
	if (ours->columns != host->columns || ours->rows != host->rows) {
		rql_strbuf_printf(why, "%llu rows of %u columns instead of %llu of %u", (unsigned long long)ours->rows,
		                  ours->columns, (unsigned long long)host->rows, host->columns);
		return false;
	}
	for (uint32_t c = 0; c < ours->columns; c++) {
		if (strcmp(ours->names[c], host->names[c]) || strcmp(ours->types[c], host->types[c])) {
			rql_strbuf_printf(why, "column %u is %s %s instead of %s %s", c + 1, ours->names[c], ours->types[c],
			                  host->names[c], host->types[c]);
			return false;
		}
	}
	return true;
}

static void put_row(struct rql_strbuf *why, const struct rql_answer *answer, uint64_t row)
{
	for (uint32_t c = 0; c < answer->columns && c < 12; c++) {
		const char *value = answer->values[row * answer->columns + c];
		rql_strbuf_printf(why, "%s%.60s", c ? " | " : "", value ? value : NULL_TEXT);
	}
}

/* A row and where it may stand. */
struct place {
	char *const *values;
	uint64_t hash; /* of the values that are compared as they are: answers may have millions of rows */
	uint64_t first, last; /* from 1 */
	uint64_t row;
	bool taken;
};

/* qsort has no argument for this; the program has one thread. */
static const struct rql_answer *sorting;

static uint64_t hash_row(const struct rql_answer *types, char *const *values)
{
	uint64_t hash = RQL_HASH_START;
	for (uint32_t c = 0; c < types->columns; c++)
		if (!types->is_real[c])
			hash = rql_hash_text(hash, values[c] ? values[c] : NULL_TEXT);
	return hash;
}

static int compare_rows(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	for (uint32_t c = 0; c < sorting->columns; c++) {
		if (sorting->is_real[c])
			continue;
		int order = strcmp(x->values[c] ? x->values[c] : NULL_TEXT, y->values[c] ? y->values[c] : NULL_TEXT);
		if (order)
			return order;
	}
	return (x->last > y->last) - (x->last < y->last);
}

/* Every row of ours, which stands at place offset + its number, takes a row of the sorted places: of those equal to
 * it, the one that must stand first. That finds a way to take them all where there is one, since the places of equal
 * rows are either the same or disjoint. */
static bool take_places(const struct rql_answer *ours, const struct rql_suite_query *query, struct place *places,
                        uint64_t count, struct rql_strbuf *why)
{
	for (uint64_t row = 0; row < ours->rows; row++) {
		uint64_t at = row + 1 + query->offset, low = 0, high = count;
		char *const *values = ours->values + row * ours->columns;
		const struct place wanted = {.values = values, .hash = hash_row(ours, values), .last = 0};
		while (low < high) {
			uint64_t middle = low + (high - low) / 2;
			if (compare_rows(&places[middle], &wanted) < 0)
				low = middle + 1;
			else
				high = middle;
		}
		bool found = false, exists = false;
		for (; low < count && !found && rows_are_equal(ours, places[low].values, wanted.values, false); low++) {
			if (places[low].taken || !rows_are_equal(ours, places[low].values, wanted.values, true))
				continue;
			exists = true;
			found = places[low].taken = places[low].first <= at && at <= places[low].last;
		}
		if (!found) {
			rql_strbuf_printf(why, "row %llu %s: ", (unsigned long long)row + 1,
			                  exists ? "stands at the wrong place" : "is not in DuckDB's answer");
			put_row(why, ours, row);
			return false;
		}
	}
	return true;
}

/* Rows of `from`, whose columns beyond those of ours, if any, are first and last place; else every row may be
 * anywhere. */
static rql_status check_places(const struct rql_answer *ours, const struct rql_suite_query *query,
                               const struct rql_answer *from, bool *same, struct rql_strbuf *why, struct rql_error *err)
{
	struct place *places = calloc(from->rows ? from->rows : 1, sizeof *places);
	if (!places)
		return rql_error_memory(err, from->rows * sizeof *places, "comparing answers");
	for (uint64_t row = 0; row < from->rows; row++) {
		char **values = from->values + row * from->columns;
		places[row] =
			(struct place){.values = values, .hash = hash_row(ours, values), .first = 0, .last = UINT64_MAX, .row = row};
		if (from->columns == ours->columns + 2) {
			places[row].first = strtoull(values[ours->columns], NULL, 10);
			places[row].last = strtoull(values[ours->columns + 1], NULL, 10);
		}
	}
	sorting = ours;
	qsort(places, from->rows, sizeof *places, compare_rows);
	*same = take_places(ours, query, places, from->rows, why);
	free(places);
	return RQL_OK;
}

/* ---- asking for the places ---- */

/* (coalesce("a"::VARCHAR, '\N'), ...) IN ((...), ...): the rows of ours by all columns that are not real. */
static void put_filter(struct rql_strbuf *sql, const struct rql_answer *ours)
{
	rql_strbuf_put(sql, " WHERE (");
	for (uint32_t c = 0; c < ours->columns; c++) {
		if (ours->is_real[c])
			continue;
		rql_strbuf_put(sql, "coalesce(");
		rql_strbuf_put_ident(sql, ours->names[c]);
		rql_strbuf_put(sql, "::VARCHAR, '" NULL_TEXT "'), ");
	}
	rql_strbuf_put(sql, "'') IN (");
	for (uint64_t row = 0; row < ours->rows; row++) {
		rql_strbuf_put(sql, row ? ", (" : "(");
		for (uint32_t c = 0; c < ours->columns; c++) {
			if (ours->is_real[c])
				continue;
			const char *value = ours->values[row * ours->columns + c];
			value = value ? value : NULL_TEXT;
			rql_strbuf_put_literal(sql, value, strlen(value));
			rql_strbuf_put(sql, ", ");
		}
		rql_strbuf_put(sql, "'')");
	}
	rql_strbuf_put(sql, ")");
}

/* The rows of the whole answer that ours could have, each with the first and the last place that the order allows:
 * rank, and the number of rows up to the last of its peers. */
static char *places_text(const struct rql_suite_query *query, const struct rql_answer *ours)
{
	struct rql_strbuf sql = {0};
	const char *order = query->key_order ? query->key_order : query->order;
	rql_strbuf_put(&sql, "SELECT ");
	for (uint32_t c = 0; c < ours->columns; c++) {
		rql_strbuf_put_ident(&sql, ours->names[c]);
		rql_strbuf_put(&sql, ", ");
	}
	rql_strbuf_put(&sql,
	               "first_place, last_place FROM (SELECT *, rank() OVER places AS first_place, count(*) OVER places AS "
	               "last_place FROM (SELECT ");
	rql_strbuf_printf(&sql, "%s%s%s %s) WINDOW places AS (%s%s))", query->select, query->keys ? ", " : "",
	                  query->keys ? query->keys : "", query->rest, order ? "ORDER BY " : "", order ? order : "");
	if (query->limit && ours->rows)
		put_filter(&sql, ours);
	return rql_strbuf_take(&sql);
}

rql_status rql_answer_check(rayql_connection *con, const struct rql_suite_query *query, const struct rql_answer *ours,
                            const struct rql_answer *host, bool *same, struct rql_strbuf *why, struct rql_error *err)
{
	*same = shapes_are_equal(ours, host, why);
	if (!*same)
		return RQL_OK;
	bool equal = true;
	for (uint64_t row = 0; row < ours->rows && equal; row++)
		equal = rows_are_equal(ours, ours->values + row * ours->columns, host->values + row * ours->columns, true);
	if (equal)
		return RQL_OK;
	if (!query->order && !query->limit)
		return check_places(ours, query, host, same, why, err);
	char *sql = places_text(query, ours);
	if (!sql)
		return rql_error_memory(err, 4096, "a statement");
	struct rql_answer places;
	rql_status status = rql_answer_of(con, sql, NULL, &places, err);
	free(sql);
	if (status != RQL_OK)
		return status;
	if (places.columns != ours->columns + 2)
		status = rql_error_set(err, RQL_ERROR_INTERNAL, "the check of %s has %u columns", query->name, places.columns);
	else
		status = check_places(ours, query, &places, same, why, err);
	rql_answer_free(&places);
	return status;
}

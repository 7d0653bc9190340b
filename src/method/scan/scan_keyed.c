/* A map to build: of every row that passes its keys and the number of its group, which becomes the payload. Nothing else is
 * made of the rows, so that a dimension goes from its compressed columns to a map without being materialised.
 *
 * Floor for a row that passes: 8 bytes a key and 4 of the group written, and read once more when the workers' lists are put
 * together, about 2 ns on one thread. */
#include "method/scan/scan_query.h"

#include <stdlib.h>

#define LIST_ROWS (16u * RQL_VECTOR_ROWS)

struct rql_scan_keyed {
	struct rql_scan_keyed *next;
	uint32_t count;
	int64_t *keys[2]; /* behind it */
	uint32_t *groups;
};

static struct rql_scan_keyed *more(struct rql_scan_worker *w)
{
	uint32_t keys = w->scan->keyed_count;
	struct rql_scan_keyed *list =
		malloc(sizeof *list + LIST_ROWS * (keys * sizeof(int64_t) + (w->scan->scalar ? 0 : sizeof(uint32_t))));
	if (!list)
		return NULL;
	*list = (struct rql_scan_keyed){.next = w->keyed};
	for (uint32_t k = 0; k < keys; k++)
		list->keys[k] = (int64_t *)(list + 1) + (size_t)k * LIST_ROWS;
	list->groups = (uint32_t *)((int64_t *)(list + 1) + (size_t)keys * LIST_ROWS);
	w->keyed = list;
	return list;
}

void rql_scan_keyed_free(struct rql_scan_worker *w)
{
	while (w->keyed) {
		struct rql_scan_keyed *next = w->keyed->next;
		free(w->keyed);
		w->keyed = next;
	}
	w->keyed_nulls = 0;
}

/* Is row i (of the loaded ones) NULL? */
static bool is_null(const struct rql_scan_column *column, const struct rql_scan_loaded *loaded, uint32_t i)
{
	if (column->lane == RQL_LANE_I32)
		return column->null_code != RQL_NONE && ((const uint32_t *)loaded->data)[i] == column->null_code;
	return column->nullable && loaded->nulls && !(loaded->valid[i >> 6] >> (i & 63) & 1);
}

static void copy_keys(const struct rql_scan_column *column, const struct rql_scan_loaded *loaded, uint32_t first,
                      uint32_t n, int64_t *to)
{
	if (column->lane == RQL_LANE_I64) {
		memcpy(to, (const int64_t *)loaded->data + first, n * sizeof *to);
		return;
	}
	const uint32_t *codes = (const uint32_t *)loaded->data + first;
	for (uint32_t i = 0; i < n; i++)
		to[i] = codes[i];
}

/* Closes up the last n rows of the list around those with a NULL key. */
static uint32_t drop_nulls(struct rql_scan_worker *w, const struct rql_scan_loaded *const *loaded, uint32_t first,
                           uint32_t n, struct rql_scan_keyed *list)
{
	const struct rql_scan *scan = w->scan;
	uint32_t kept = 0, at = list->count;
	for (uint32_t i = 0; i < n; i++) {
		bool null = false;
		for (uint32_t k = 0; k < scan->keyed_count; k++)
			null |= is_null(&scan->columns[scan->keyed[k]], loaded[k], first + i);
		for (uint32_t k = 0; k < scan->keyed_count; k++)
			list->keys[k][at + kept] = list->keys[k][at + i];
		if (!scan->scalar)
			list->groups[at + kept] = list->groups[at + i];
		kept += !null;
	}
	return kept;
}

rql_status rql_scan_keyed_add(struct rql_scan_worker *w, uint32_t first, uint32_t n)
{
	const struct rql_scan *scan = w->scan;
	const struct rql_scan_loaded *loaded[2] = {NULL, NULL};
	struct rql_scan_keyed *list = w->keyed;
	bool nulls = false;
	if ((!list || list->count + n > LIST_ROWS) && !(list = more(w)))
		return rql_error_memory(&w->error, LIST_ROWS * 20u, "the keys of a map");
	for (uint32_t k = 0; k < scan->keyed_count; k++) {
		const struct rql_scan_column *column = &scan->columns[scan->keyed[k]];
		loaded[k] = rql_scan_load_column(w, scan->keyed[k]);
		copy_keys(column, loaded[k], first, n, list->keys[k] + list->count);
		nulls |= column->null_code != RQL_NONE || (column->nullable && loaded[k]->nulls);
	}
	for (uint32_t i = 0; i < n && !scan->scalar; i++)
		list->groups[list->count + i] = (uint32_t)w->groups[i];
	uint32_t kept = nulls ? drop_nulls(w, loaded, first, n, list) : n;
	w->keyed_nulls += n - kept;
	list->count += kept;
	return RQL_OK;
}

/* ---- the answer ---- */

/* numbers[group number] = its place among the groups that exist, as rql_scan_answer puts them out. */
static uint32_t *number(const struct rql_scan_groups *g)
{
	uint32_t *numbers = malloc((g->capacity + 1) * sizeof *numbers), found = 0;
	for (uint64_t i = 0; i < g->capacity && numbers; i++) {
		numbers[i] = found;
		found += g->rows[i * g->scan->row_words] != 0;
	}
	return numbers;
}

static void put_list(const struct rql_scan *scan, const struct rql_scan_keyed *list, const uint32_t *numbers,
                     uint64_t at, struct rql_keyed_rows *out)
{
	for (uint32_t k = 0; k < scan->keyed_count; k++)
		memcpy(out->keys[k] + at, list->keys[k], list->count * sizeof(int64_t));
	for (uint32_t i = 0; i < list->count && numbers; i++)
		out->groups[at + i] = numbers[list->groups[i]];
}

rql_status rql_scan_keyed_answer(struct rql_scan_worker *const *workers, uint32_t count, const struct rql_scan_groups *g,
                                 struct rql_arena *arena, struct rql_keyed_rows *out, struct rql_error *err)
{
	const struct rql_scan *scan = g->scan;
	struct rql_keyed_rows rows = {0};
	for (uint32_t t = 0; t < count; t++) {
		rows.nulls += workers[t]->keyed_nulls;
		for (const struct rql_scan_keyed *list = workers[t]->keyed; list; list = list->next)
			rows.count += list->count;
	}
	uint32_t *numbers = scan->scalar ? NULL : number(g);
	bool ok = scan->scalar || numbers;
	for (uint32_t k = 0; k < scan->keyed_count; k++)
		ok = ok && (rows.keys[k] = RQL_NEW_ARRAY(arena, int64_t, rows.count));
	if (!scan->scalar)
		ok = ok && (rows.groups = RQL_NEW_ARRAY(arena, uint32_t, rows.count));
	uint64_t at = 0;
	for (uint32_t t = 0; t < count && ok; t++) {
		for (const struct rql_scan_keyed *list = workers[t]->keyed; list; list = list->next) {
			put_list(scan, list, numbers, at, &rows);
			at += list->count;
		}
	}
	free(numbers);
	if (!ok)
		return rql_error_memory(err, rows.count * 12, "the keys of a map");
	*out = rows;
	return RQL_OK;
}

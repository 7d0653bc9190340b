/* A map to build: of every row that passes its keys and the number of its group, which becomes the payload. Nothing else is
 * made of the rows, so that a dimension goes from its compressed columns to a map without being materialised.
 *
 * Floor for a row that passes: 8 bytes a key and 4 of the group written once, about 1 ns on one thread. The lists that
 * workers fill are the answer. */
#include "method/scan/scan_query.h"

#include <stdlib.h>

/* The first list is short: most maps are of a few rows. */
#define FIRST_ROWS (2u * RQL_VECTOR_ROWS)
#define LIST_ROWS (64u * RQL_VECTOR_ROWS) /* as many bytes as util/large.h keeps */

static struct rql_keyed_list *more(struct rql_scan_worker *w)
{
	if (!w->keyed_arena && !(w->keyed_arena = rql_arena_new()))
		return NULL;
	struct rql_keyed_list *list = RQL_NEW(w->keyed_arena, struct rql_keyed_list);
	uint32_t keys = w->scan->keyed_count, rows = w->keyed ? LIST_ROWS : FIRST_ROWS;
	bool ok = list != NULL;
	char *room = ok ? rql_arena_array(w->keyed_arena, rows, keys * sizeof(int64_t) + (w->scan->layout.scalar ? 0 : 4)) : NULL;
	if (!room)
		return NULL;
	for (uint32_t k = 0; k < keys; k++)
		list->keys[k] = (int64_t *)(void *)room + (uint64_t)k * rows;
	if (!w->scan->layout.scalar)
		list->groups = (uint32_t *)(void *)((int64_t *)(void *)room + (uint64_t)keys * rows);
	list->next = w->keyed;
	w->keyed = list;
	w->keyed_room = rows;
	return list;
}

void rql_scan_keyed_free(struct rql_scan_worker *w)
{
	rql_arena_free(w->keyed_arena);
	w->keyed_arena = NULL;
	w->keyed = NULL;
	w->keyed_nulls = 0;
}

/* Is row i (of the loaded ones) NULL? */
static bool is_null(const struct rql_scan_column *column, const struct rql_scan_loaded *loaded, uint32_t i)
{
	if (column->lane == RQL_LANE_I32)
		return column->null_code != RQL_NONE && ((const uint32_t *)loaded->data)[i] == column->null_code;
	return column->nullable && loaded->nulls && !rql_bit(loaded->valid, i);
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
                           uint32_t n, struct rql_keyed_list *list)
{
	const struct rql_scan *scan = w->scan;
	uint32_t kept = 0;
	uint64_t at = list->count;
	for (uint32_t i = 0; i < n; i++) {
		bool null = false;
		for (uint32_t k = 0; k < scan->keyed_count; k++)
			null |= is_null(&scan->columns[scan->keyed[k]], loaded[k], first + i);
		for (uint32_t k = 0; k < scan->keyed_count; k++)
			list->keys[k][at + kept] = list->keys[k][at + i];
		if (!scan->layout.scalar)
			list->groups[at + kept] = list->groups[at + i];
		kept += !null;
	}
	return kept;
}

rql_status rql_scan_keyed_add(struct rql_scan_worker *w, uint32_t first, uint32_t n)
{
	const struct rql_scan *scan = w->scan;
	const struct rql_scan_loaded *loaded[2] = {NULL, NULL};
	struct rql_keyed_list *list = w->keyed;
	bool nulls = false;
	if ((!list || list->count + n > w->keyed_room) && !(list = more(w)))
		return rql_error_memory(&w->error, LIST_ROWS * 20u, "the keys of a map");
	for (uint32_t k = 0; k < scan->keyed_count; k++) {
		const struct rql_scan_column *column = &scan->columns[scan->keyed[k]];
		loaded[k] = rql_scan_load_column(w, scan->keyed[k]);
		copy_keys(column, loaded[k], first, n, list->keys[k] + list->count);
		nulls |= column->null_code != RQL_NONE || (column->nullable && loaded[k]->nulls);
	}
	for (uint32_t i = 0; i < n && !scan->layout.scalar; i++)
		list->groups[list->count + i] = (uint32_t)w->groups[i];
	uint32_t kept = nulls ? drop_nulls(w, loaded, first, n, list) : n;
	w->keyed_nulls += n - kept;
	list->count += kept;
	return RQL_OK;
}

/* ---- the answer ---- */

/* numbers[group number] = its place among the groups that exist, as rql_groups_answer puts them out. */
static uint32_t *number(const struct rql_groups *g)
{
	uint32_t *numbers = malloc((g->capacity + 1) * sizeof *numbers), found = 0;
	for (uint64_t begin = 0; begin < g->capacity && numbers; begin += RQL_GROUPS_RUN) {
		const uint64_t *row = rql_groups_run(g, begin);
		uint64_t end = begin + RQL_GROUPS_RUN < g->capacity ? begin + RQL_GROUPS_RUN : g->capacity;
		for (uint64_t i = begin; i < end && row; i++, row += g->layout->row_words) {
			numbers[i] = found;
			found += *row != 0;
		}
	}
	return numbers;
}

struct numbering {
	const uint32_t *numbers;
	struct rql_keyed_list **lists;
};

static void number_list(void *state, uint64_t index, unsigned worker)
{
	const struct numbering *n = state;
	struct rql_keyed_list *list = n->lists[index];
	(void)worker;
	for (uint64_t i = 0; i < list->count; i++)
		list->groups[i] = n->numbers[list->groups[i]];
}

/* The lists themselves are the answer: no key is copied. */
rql_status rql_scan_keyed_answer(struct rql_scan_worker *const *workers, uint32_t count, const struct rql_groups *g,
                                 struct rql_arena *arena, struct rql_keyed_rows *out, struct rql_error *err)
{
	struct rql_keyed_rows rows = {0};
	for (uint32_t t = 0; t < count; t++)
		for (const struct rql_keyed_list *list = workers[t]->keyed; list; list = list->next)
			rows.list_count++;
	struct numbering n = {.numbers = g->layout->scalar ? NULL : number(g)};
	rows.lists = n.lists = RQL_NEW_ARRAY(arena, struct rql_keyed_list *, rows.list_count);
	if (!rows.lists || (!n.numbers && !g->layout->scalar)) {
		free((void *)n.numbers);
		return rql_error_memory(err, rows.list_count * sizeof *rows.lists, "the keys of a map");
	}
	uint64_t at = 0;
	for (uint32_t t = 0; t < count; t++) {
		struct rql_scan_worker *w = workers[t];
		rows.nulls += w->keyed_nulls;
		for (struct rql_keyed_list *list = w->keyed; list; list = list->next) {
			rows.count += list->count;
			rows.lists[at++] = list;
		}
		if (w->keyed_arena)
			rql_arena_join(arena, w->keyed_arena);
		w->keyed_arena = NULL;
		w->keyed = NULL;
	}
	if (n.numbers && g->pool)
		rql_pool_run(g->pool, rows.list_count, number_list, &n);
	else
		for (uint64_t i = 0; i < rows.list_count && n.numbers; i++)
			number_list(&n, i, 0);
	free((void *)n.numbers);
	*out = rows;
	return RQL_OK;
}

/* Maps of dimensions: a subtree's rows, from RayQL's own structures or the host, as a map from key to payload. */
#include "plan/star/scan_dim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "bind/star/distinct.h"
#include "bind/star/scan_key_codes.h"
#include "bind/star/scan_subtree.h"
#include "plan/leaf.h"
#include "plan/map_cache.h"
#include "util/large.h"

/* So many rows are looked at before all are read: most keys that are none show at once. Tables of fewer than SAMPLED_FROM
 * are read as fast as they are looked at. */
#define SAMPLE_ROWS 16384u
#define SAMPLED_FROM (8 * SAMPLE_ROWS)

struct making {
	struct rql_planning *p;
	struct rql_arena *arena; /* of what the map keeps */
	struct rql_kept_map *kept;
	const struct rql_star *star;
	const struct rql_star_subtree *tree;
	uint32_t number; /* of the subtree */
	struct rql_rel *rel; /* its rows */
	const struct rql_scan_keys *at;
	uint64_t most;            /* rows */
	uint64_t count, capacity; /* of keys */
	int64_t *keys;
	int32_t *payloads;
	struct rql_map_part lying;    /* keys that are taken as they lie, instead of these */
	struct rql_subplan_map keyed; /* lists of keys beside these, once they are found */
	bool null_key;
	bool few;     /* rows are those of keys that are asked for */
	bool passing; /* the refusal: the next time it may be well again */
	struct rql_distinct *distinct; /* NULL: no outputs, or a MARK's */
	struct rql_column *values;     /* of the payloads, when they are not numbered by `distinct` */
	bool repeats;                  /* ... and may be the same */
	uint32_t payload_count;
	uint32_t absent; /* LEFT: the payload of rows without a match, plus 1 */
	uint32_t unique; /* as in struct rql_scan_dim */
	struct rql_error *err;
};

static const char *table_of(const struct making *m)
{
	return rql_star_table(m->star, m->number);
}

static bool is_attached(const struct making *m, uint32_t side)
{
	return m->star->owner[RQL_BLOCK_SIDE(side)] == m->number && m->tree->side != &m->star->block->sides[side];
}

/* ---- a side without rows ---- */

/* The side's columns where it has no row: a row of NULLs. */
static struct rql_rel *absent_row(struct rql_arena *arena, const struct rql_rel *rel)
{
	struct rql_rel *row = RQL_NEW(arena, struct rql_rel), *dummy = RQL_NEW(arena, struct rql_rel);
	struct rql_rel **children = RQL_NEW_ARRAY(arena, struct rql_rel *, 1);
	struct rql_expr **exprs = RQL_NEW_ARRAY(arena, struct rql_expr *, rel->column_count);
	if (!row || !dummy || !children || !exprs)
		return NULL;
	*dummy = (struct rql_rel){.kind = RQL_REL_DUMMY, .name = "LOGICAL_DUMMY_SCAN"};
	children[0] = dummy;
	*row = (struct rql_rel){.kind = RQL_REL_PROJECT,
	                        .name = "LOGICAL_PROJECTION",
	                        .column_count = rel->column_count,
	                        .types = rel->types,
	                        .names = rel->names,
	                        .child_count = 1,
	                        .children = children,
	                        .expr_count = rel->column_count,
	                        .exprs = exprs};
	for (uint32_t i = 0; i < rel->column_count; i++) {
		if (!(exprs[i] = rql_expr_new(arena, RQL_EXPR_CONSTANT, rel->types[i], 0)))
			return NULL;
		exprs[i]->value = rql_value_null(rel->types[i]);
	}
	return row;
}

/* An error of the host's inside a transaction would abort it, and the statement itself might meet no such row. */
static bool cannot_fail(const struct rql_expr *e)
{
	static const char *const functions[] = {"~~", "!~~", "prefix", "suffix", "contains"};
	bool ok = e->kind != RQL_EXPR_CAST || e->try_cast;
	if (e->kind == RQL_EXPR_FUNCTION) {
		ok = false;
		for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
			ok |= strcmp(e->name, functions[i]) == 0;
	}
	for (uint32_t i = 0; i < e->child_count && ok; i++)
		ok = cannot_fail(e->children[i]);
	return ok;
}

static bool rel_cannot_fail(const struct rql_rel *rel)
{
	bool ok = rel->kind != RQL_REL_WINDOW && (rel->kind != RQL_REL_JOIN || rel->join != RQL_JOIN_SINGLE);
	for (uint32_t i = 0; i < rel->expr_count && ok; i++) {
		const struct rql_expr *e = rel->exprs[i];
		ok = cannot_fail(e);
		if (e->kind == RQL_EXPR_AGGREGATE)
			ok = ok && (!strncmp(e->name, "count", 5) || !strcmp(e->name, "min") || !strcmp(e->name, "max"));
	}
	for (uint32_t i = 0; i < rel->order_count && ok; i++)
		ok = cannot_fail(rel->orders[i].expr);
	for (uint32_t i = 0; i < rel->child_count && ok; i++)
		ok = rel_cannot_fail(rel->children[i]);
	return ok;
}

/* attached: the host computes the outer keys, too. */
static bool side_cannot_fail(const struct rql_block_side *side, bool attached)
{
	bool ok = rel_cannot_fail(side->rel);
	for (uint32_t k = 0; k < side->key_count; k++)
		ok = ok && cannot_fail(side->keys[k].inner) && (!attached || cannot_fail(side->keys[k].outer));
	return ok;
}

static rql_status check_transaction(struct making *m)
{
	bool ok = true;
	if (!m->p->ctx->snapshot_stamp)
		return RQL_OK;
	for (uint32_t i = 0; i < m->star->block->side_count; i++)
		if (m->star->owner[RQL_BLOCK_SIDE(i)] == m->number)
			ok = ok && side_cannot_fail(&m->star->block->sides[i], is_attached(m, i));
	for (uint32_t i = 0; i < m->tree->conjuncts.count; i++)
		ok = ok && cannot_fail(m->tree->conjuncts.items[i]);
	for (uint32_t i = 0; i < m->tree->outputs.count; i++)
		ok = ok && cannot_fail(m->tree->outputs.items[i]);
	return ok ? RQL_OK
	          : rql_error_set(m->err, RQL_ERROR_UNSUPPORTED,
	                          "inside a transaction expressions are not evaluated ahead over table %s", table_of(m));
}

/* ---- keys ---- */

/* In memory that is kept for the next map: pages that the system has to clear cost more than all else does here. */
static void *more_room(void *old, uint64_t held, uint64_t bytes)
{
	void *room = rql_large_alloc(bytes);
	if (room && held)
		memcpy(room, old, held);
	if (room)
		rql_large_free(old);
	return room;
}

static bool room_for(struct making *m, uint64_t rows)
{
	if (m->count + rows <= m->capacity)
		return true;
	uint64_t capacity = m->capacity ? 2 * m->capacity : 4096;
	capacity = capacity < m->count + rows ? m->count + rows : capacity;
	int64_t *keys = more_room(m->keys, m->count * sizeof *keys, capacity * sizeof *keys);
	m->keys = keys ? keys : m->keys;
	int32_t *payloads = keys ? more_room(m->payloads, m->count * sizeof *payloads, capacity * sizeof *payloads) : NULL;
	m->payloads = payloads ? payloads : m->payloads;
	m->capacity = payloads ? capacity : m->capacity;
	return payloads != NULL;
}

static rql_status take_rows(struct making *m, const struct rql_batch *batch)
{
	if (!room_for(m, batch->rows))
		return rql_error_memory(m->err, 0, "a join");
	if (!batch->rows)
		return RQL_OK;
	int32_t *payloads = m->payloads + m->count;
	if (m->distinct)
		RQL_TRY(rql_distinct_add(m->distinct, batch->columns + (m->at->second ? 2 : 1), batch->rows, payloads, m->err));
	else
		memset(payloads, 0, batch->rows * sizeof *payloads);
	for (uint64_t r = 0; r < batch->rows; r++) {
		m->null_key |=
			!rql_column_valid(&batch->columns[0], r) || (m->at->second && !rql_column_valid(&batch->columns[1], r));
		if (!rql_key_of_row(m->at, batch->columns, r, &m->keys[m->count]))
			continue;
		m->payloads[m->count++] = payloads[r];
	}
	return RQL_OK;
}

/* ---- the whole ---- */

static rql_status check_types(struct making *m, const struct rql_host_result *result)
{
	uint32_t keys = m->tree->key2 ? 2 : 1;
	bool same = rql_type_equal(rql_host_result_type(result, 0), m->tree->key->type) &&
	            (keys == 1 || rql_type_equal(rql_host_result_type(result, 1), m->tree->key2->type));
	for (uint32_t o = 0; o < m->tree->outputs.count && m->distinct; o++)
		same = same && rql_type_equal(rql_host_result_type(result, o + keys), m->tree->outputs.items[o]->type);
	return same ? RQL_OK
	            : rql_error_set(m->err, RQL_ERROR_UNSUPPORTED, "the query of table %s gives other types than the plan",
	                            table_of(m));
}

static rql_status fetch_rows(struct making *m, const char *sql, uint64_t *rows)
{
	struct rql_host_result *result = NULL;
	struct rql_batch *batch = NULL;
	rql_status status = rql_host_query(m->p->ctx->host, sql, &result, m->err);
	if (status == RQL_ERROR_HOST) { /* the statement itself may meet other rows first, or none: the host decides */
		m->passing = true;
		if (m->err)
			m->err->status = RQL_ERROR_UNSUPPORTED;
		return RQL_ERROR_UNSUPPORTED;
	}
	RQL_TRY(status);
	status = check_types(m, result);
	while (status == RQL_OK && (status = rql_host_fetch(result, &batch, m->err)) == RQL_OK && batch) {
		*rows += batch->rows;
		status = take_rows(m, batch);
		rql_batch_release(batch);
		batch = NULL;
	}
	rql_host_result_free(result);
	return status;
}

static rql_status ask_host(struct making *m, struct rql_rel *rel, uint64_t most, uint64_t *rows)
{
	struct rql_strbuf sql = {0};
	rql_status status = RQL_OK;
	struct rql_rel *limited = rql_subtree_limit(m->p->arena, rel, most == UINT64_MAX ? most : most + 1);
	if (!limited)
		return rql_error_memory(m->err, 0, "a join");
	if (!rql_rel_print(&sql, limited, NULL, NULL))
		status = rql_error_set(m->err, RQL_ERROR_UNSUPPORTED,
		                       "what is asked of table %s cannot be written as SQL again", table_of(m));
	if (status == RQL_OK)
		status = fetch_rows(m, rql_strbuf_text(&sql), rows);
	rql_strbuf_free(&sql);
	return status;
}

/* ---- keys beside groups ---- */

/* Of a LEFT side the payloads must agree with that of rows without a match: they are numbered together. */
static rql_status number_groups(struct making *m, const struct rql_batch *values, int32_t **out)
{
	struct rql_arena *arena = m->p->arena;
	if (m->tree->side && m->distinct) {
		if (!(*out = RQL_NEW_ARRAY(arena, int32_t, values->rows + 1)))
			return rql_error_memory(m->err, 0, "a join");
		return rql_distinct_add(m->distinct, values->columns, values->rows, *out, m->err);
	}
	*out = NULL;
	m->payload_count = values->rows ? (uint32_t)values->rows : 1;
	m->values = RQL_NEW_ARRAY(m->arena, struct rql_column, values->column_count);
	for (uint32_t c = 0; c < values->column_count && m->values; c++)
		if (!rql_column_copy(m->arena, &values->columns[c], values->rows, &m->values[c]))
			return rql_error_memory(m->err, 0, "a join");
	return m->values ? RQL_OK : rql_error_memory(m->err, 0, "a join");
}

struct translating {
	struct rql_key_codes first, second;
	const struct rql_key_pair *pair; /* NULL: there is one key */
	const int32_t *payloads;         /* of groups; NULL: a group is its payload */
	struct rql_keyed_list **lists;
};

/* Keys as the fact table's column has them, groups as payloads, in their places. */
static void translate(void *state, uint64_t index, unsigned worker)
{
	const struct translating *t = state;
	struct rql_keyed_list *list = t->lists[index];
	uint64_t kept = 0;
	(void)worker;
	for (uint64_t i = 0; i < list->count; i++) {
		int64_t key, other;
		if (!rql_key_code(&t->first, list->keys[0][i], &key))
			continue;
		if (t->pair) {
			if (!rql_key_code(&t->second, list->keys[1][i], &other))
				continue;
			key = rql_pair_key(t->pair, key, other);
		}
		if (list->groups)
			list->groups[kept] = t->payloads ? (uint32_t)t->payloads[list->groups[i]] : list->groups[i];
		list->keys[0][kept++] = key;
	}
	list->count = kept;
}

static struct rql_pool *pool_of(const struct making *m)
{
	return m->p->ctx->devices->device[0].pool;
}

/* Of a LEFT side: the payload of rows without a match, which is all that is numbered yet, comes behind the map's. */
static rql_status put_absent(struct making *m, const struct rql_batch *values)
{
	const uint64_t rows = values->rows, words = rows / 64 + 1;
	struct rql_column *absent;
	m->values = RQL_NEW_ARRAY(m->arena, struct rql_column, values->column_count);
	if (!m->values)
		return rql_error_memory(m->err, 0, "a join");
	RQL_TRY(rql_distinct_columns(m->distinct, m->p->arena, &absent, m->err));
	for (uint32_t c = 0; c < values->column_count; c++) {
		const struct rql_column *from = &values->columns[c];
		const size_t bytes = rql_type_bytes(from->type);
		struct rql_column all = {.type = from->type,
		                         .data = rql_arena_array(m->p->arena, rows + 1, bytes),
		                         .validity = RQL_NEW_ARRAY(m->p->arena, uint64_t, words)};
		if (!all.data || !all.validity)
			return rql_error_memory(m->err, 0, "a join");
		memcpy(all.data, from->data, rows * bytes);
		memcpy((char *)all.data + rows * bytes, absent[c].data, bytes);
		memcpy(all.validity, from->validity, words * sizeof(uint64_t));
		rql_bit_or(all.validity, rows, rql_column_valid(&absent[c], 0));
		if (!rql_column_copy(m->arena, &all, rows + 1, &m->values[c]))
			return rql_error_memory(m->err, 0, "a join");
	}
	m->payload_count = m->absent = (uint32_t)rows + 1;
	m->repeats = true;
	return RQL_OK;
}

/* A map that a GPU has made: what its payloads stand for is left to be kept. */
static rql_status take_made(struct making *m, uint64_t *rows)
{
	int32_t *none = NULL;
	const bool left = m->tree->side && m->distinct;
	*rows = m->keyed.made_rows;
	m->null_key |= m->keyed.made_nulls > 0;
	m->repeats |= m->keyed.repeats;
	if (!m->keyed.values)
		return RQL_OK;
	return left ? put_absent(m, m->keyed.values) : number_groups(m, m->keyed.values, &none);
}

static rql_status take_keyed(struct making *m)
{
	struct rql_subplan_map *found = &m->keyed;
	const struct rql_keyed_rows *rows = &found->map.rows;
	struct translating t = {.lists = rows->lists};
	int32_t *payloads = NULL;
	RQL_TRY(rql_key_codes_make(m->p->arena, found->keys[0], m->at->first, &t.first, m->err));
	if (m->at->second) {
		RQL_TRY(rql_key_codes_make(m->p->arena, found->keys[1], m->at->second, &t.second, m->err));
		t.pair = &m->at->pair;
	}
	if (m->tree->outputs.count)
		RQL_TRY(number_groups(m, found->map.values, &payloads));
	t.payloads = payloads;
	rql_pool_run(pool_of(m), rows->list_count, translate, &t);
	m->null_key |= rows->nulls > 0;
	return RQL_OK;
}

/* Who gives the rows, and why no GPU has made the map of them. */
static const char *say_why(const struct making *m, const char *how)
{
	if (!m->keyed.no_gpu)
		return how;
	const char *text = rql_arena_printf(m->p->arena, "%s (no GPU made the map: %s)", how, m->keyed.no_gpu);
	return text ? text : how;
}

/* The subtree's rows go from its columns to the map without being made. */
static rql_status ask_keyed(struct making *m, uint64_t *rows, bool *found, const char **how)
{
	RQL_TRY(rql_subplan_map(m->p, m->rel, !m->tree->side, m->tree->key2 ? 2 : 1, m->at, &m->keyed, found, how, m->err));
	if (!*found)
		return RQL_OK;
	if (m->keyed.made)
		return take_made(m, rows);
	*how = say_why(m, *how);
	*rows = m->keyed.map.rows.count + m->keyed.map.rows.nulls;
	return take_keyed(m);
}

/* The rows are the values of the payloads. The batch is the map's then. */
static rql_status take_as_values(struct making *m, struct rql_batch *batch)
{
	uint32_t outputs = m->tree->outputs.count, keys = m->tree->key2 ? 2 : 1;
	bool null;
	if (batch->rows > INT32_MAX)
		return rql_error_set(m->err, RQL_ERROR_UNSUPPORTED, "a dimension has more than 2^31 different rows");
	if (!(m->values = RQL_NEW_ARRAY(m->arena, struct rql_column, outputs)))
		return rql_error_memory(m->err, 0, "a join");
	for (uint32_t o = 0; o < outputs; o++) {
		m->values[o] = batch->columns[o + keys];
		if (m->values[o].validity)
			continue;
		if (!(m->values[o].validity = RQL_NEW_ARRAY(m->arena, uint64_t, batch->rows / 64 + 1)))
			return rql_error_memory(m->err, 0, "a join");
		memset(m->values[o].validity, 0xff, (batch->rows / 64 + 1) * sizeof(uint64_t));
	}
	m->payload_count = batch->rows ? (uint32_t)batch->rows : 1;
	if (rql_keys_as_they_lie(m->at, batch->columns, &m->lying)) {
		m->lying.count = batch->rows;
		return RQL_OK;
	}
	if (!room_for(m, batch->rows))
		return rql_error_memory(m->err, 0, "a join");
	rql_keys_of_rows(m->at, batch->columns, batch->rows, pool_of(m), m->keys, m->payloads, &null);
	m->null_key |= null;
	m->count = batch->rows;
	return RQL_OK;
}

static rql_status make_distinct(struct making *m)
{
	const struct rql_expr_list *outputs = &m->tree->outputs;
	struct rql_type *types = RQL_NEW_ARRAY(m->arena, struct rql_type, outputs->count);
	if (!types)
		return rql_error_memory(m->err, 0, "a join");
	for (uint32_t o = 0; o < outputs->count; o++)
		types[o] = outputs->items[o]->type;
	RQL_TRY(rql_distinct_new(types, outputs->count, &m->distinct, m->err));
	rql_distinct_relax(m->distinct);
	return RQL_OK;
}

/* Rows that all differ, as their keys do, or that nearly all do, become the map's as they lie. Where the row of a side that
 * is not there comes first, they are numbered behind it instead. */
static rql_status owns_rows(struct making *m, struct rql_batch *batch)
{
	bool differ = m->unique;
	if (!batch->release || !batch->rows || m->tree->side)
		return RQL_OK;
	if (!differ && m->distinct)
		RQL_TRY(rql_distinct_most_differ(m->distinct, batch->columns + (m->tree->key2 ? 2 : 1), batch->rows, &differ,
		                                 m->err));
	if (!differ)
		return RQL_OK;
	m->repeats = !m->unique;
	rql_kept_map_take(m->kept, batch);
	return RQL_OK;
}

/* All is planned again once a structure is made that this plan needs first. What the host would read for it until then
 * is read for nothing. */
static rql_status put_off(struct making *m)
{
	m->passing = true;
	return rql_error_set(m->err, RQL_ERROR_UNSUPPORTED, "rows of table %s are not read before %s is made", table_of(m),
	                     m->p->to_refresh->name);
}

/* RayQL's own structures give the rows where they can, else the host does. */
static rql_status ask(struct making *m, uint64_t *rows, const char **how)
{
	struct rql_batch *batch = NULL;
	bool found = false;
	RQL_TRY(ask_keyed(m, rows, &found, how));
	if (found)
		return RQL_OK;
	if (m->p->refresh_first)
		return put_off(m);
	RQL_TRY(m->keyed.priced ? rql_subplan_rows_priced(m->p, &m->keyed, &batch, how)
	                        : rql_subplan_rows(m->p, m->rel, !m->tree->side, &batch, how, m->err));
	*how = batch ? say_why(m, *how) : *how;
	if (!batch && m->p->refresh_first)
		return put_off(m);
	*rows = batch ? batch->rows : 0;
	rql_status status = batch ? owns_rows(m, batch) : RQL_OK;
	if (status == RQL_OK && batch && m->kept->batch)
		return take_as_values(m, batch);
	if (status == RQL_OK && m->unique)
		status = make_distinct(m);
	if (status == RQL_OK && !batch)
		return ask_host(m, m->rel, m->most, rows);
	status = status == RQL_OK ? take_rows(m, batch) : status;
	rql_batch_release(batch);
	return status;
}

static int compare_keys(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

static rql_status refuse_twice(struct making *m)
{
	return rql_error_set(m->err, RQL_ERROR_UNSUPPORTED,
	                     "keys occur twice on the side of table %s: rows would be multiplied", table_of(m));
}

/* Columns of the side itself are NULL in a row of NULLs. */
static bool outputs_are_columns(const struct making *m)
{
	for (uint32_t o = 0; o < m->tree->outputs.count; o++)
		if (m->tree->outputs.items[o]->kind != RQL_EXPR_COLUMN || m->tree->outputs.items[o]->table != m->tree->root)
			return false;
	return true;
}

static rql_status take_nulls(struct making *m, struct rql_arena *arena)
{
	uint32_t keys = m->tree->key2 ? 2 : 1, count = keys + m->tree->outputs.count;
	struct rql_type *types = RQL_NEW_ARRAY(arena, struct rql_type, count);
	if (!types)
		return rql_error_memory(m->err, 0, "a join");
	for (uint32_t i = 0; i < count; i++)
		types[i] = i >= keys ? m->tree->outputs.items[i - keys]->type : i ? m->tree->key2->type : m->tree->key->type;
	struct rql_batch *batch = rql_batch_new(count, types, 1);
	bool ok = batch != NULL;
	for (uint32_t i = 0; i < count && ok; i++)
		ok = rql_batch_set_null(batch, i, 0);
	rql_status status = ok ? take_rows(m, batch) : rql_error_memory(m->err, 0, "a join");
	rql_batch_release(batch);
	return status;
}

static rql_status ask_nulls(struct making *m, struct rql_arena *arena, uint64_t *rows)
{
	struct rql_rel *row = absent_row(arena, m->tree->side->rel);
	struct rql_rel *rel = row ? rql_subtree_rel(arena, m->star, m->number, row, false) : NULL;
	return rel ? ask_host(m, rel, UINT64_MAX, rows) : rql_error_memory(m->err, 0, "a join");
}

/* What the outputs are where the side has no row: the first payload. */
static rql_status ask_absent(struct making *m, struct rql_arena *arena)
{
	uint64_t rows = 1;
	if (outputs_are_columns(m)) {
		RQL_TRY(take_nulls(m, arena));
	} else {
		rows = 0;
		RQL_TRY(ask_nulls(m, arena, &rows));
	}
	m->null_key = false;
	if (rows != 1 || m->count)
		return rql_error_set(m->err, RQL_ERROR_UNSUPPORTED,
		                     "an outer join of table %s with rows of which one is not "
		                     "there gives several",
		                     table_of(m));
	return RQL_OK;
}

/* Two payloads: there is a row, and there is none. */
static rql_status make_marks(struct making *m, struct rql_arena *arena, struct rql_scan_dim *out)
{
	bool null_safe = m->tree->side->keys[0].null_safe;
	bool of_null = null_safe && m->null_key; /* TRUE, else FALSE, or open: */
	bool open[] = {[RQL_MARK_OF_KEY] = !null_safe && m->null_key, [RQL_MARK_OF_NULL] = !null_safe && out->rows > 0};
	out->values = RQL_NEW_ARRAY(arena, struct rql_column, m->tree->outputs.count);
	if (!out->values)
		return rql_error_memory(m->err, 0, "a join");
	for (uint32_t o = 0; o < m->tree->outputs.count; o++) {
		const struct rql_expr *e = m->tree->outputs.items[o];
		bool key = e->index == RQL_MARK_OF_KEY;
		uint8_t *truth = RQL_NEW_ARRAY(arena, uint8_t, 2);
		uint64_t *valid = RQL_NEW_ARRAY(arena, uint64_t, 1);
		if (!truth || !valid)
			return rql_error_memory(m->err, 0, "a join");
		truth[0] = key || of_null;
		truth[1] = !key && of_null;
		*valid = open[e->index] ? key : 3;
		out->values[o] = (struct rql_column){.type = e->type, .data = truth, .validity = valid};
	}
	out->payload_count = 2;
	out->absent = 2;
	return RQL_OK;
}

/* ---- keys that come twice ---- */

/* The only table that rel reads, with nothing but conditions and projections above it; NULL: there are several. */
static const struct rql_table_ref *only_table(const struct rql_rel *rel)
{
	while ((rel->kind == RQL_REL_PROJECT || rel->kind == RQL_REL_FILTER) && rel->child_count == 1)
		rel = rel->children[0];
	return rel->kind == RQL_REL_GET ? &rel->table : NULL;
}

/* Looks for a key that comes twice among the first rows of a large table that has columns. */
static rql_status look_for_twice(struct making *m)
{
	const struct rql_table_ref *table = only_table(m->rel);
	struct making look = {.p = m->p, .star = m->star, .tree = m->tree, .number = m->number, .at = m->at, .err = m->err};
	struct rql_rel *rel = NULL;
	struct rql_batch *batch = NULL;
	struct rql_map *map = NULL;
	const char *how;
	uint64_t rows;
	if (!table || !rql_subplan_has_columns(m->p, table))
		return RQL_OK;
	RQL_TRY(rql_scan_table_rows(m->p, table, &rows, m->err));
	if (rows < SAMPLED_FROM)
		return RQL_OK;
	rel = rql_subtree_rel(m->p->arena, m->star, m->number, NULL, true);
	if (!rel || !(rel = rql_subtree_limit(m->p->arena, rel, SAMPLE_ROWS)))
		return rql_error_memory(m->err, 0, "a join");
	RQL_TRY(rql_subplan_rows(m->p, rel, !m->tree->side, &batch, &how, m->err));
	if (!batch)
		return RQL_OK;
	rql_status status = take_rows(&look, batch);
	if (status == RQL_OK)
		status = rql_map_build(look.keys, look.payloads, look.count, &map, m->err);
	rql_map_free(map);
	rql_large_free(look.keys);
	rql_large_free(look.payloads);
	rql_batch_release(batch);
	return status;
}

/* An output that is the key itself; plus 1, 0: there is none. */
static uint32_t key_output(const struct making *m)
{
	for (uint32_t o = 0; o < m->tree->outputs.count && !m->tree->key2 && !m->tree->side; o++)
		if (rql_expr_equal(m->tree->outputs.items[o], m->tree->key))
			return o + 1;
	return 0;
}

static rql_status build(struct making *m, bool set, struct rql_map **out)
{
	if (m->keyed.made) {
		if (!set && m->keyed.made_twice)
			return refuse_twice(m);
		*out = m->keyed.made;
		m->keyed.made = NULL;
		return RQL_OK;
	}
	const struct rql_keyed_rows *rows = &m->keyed.map.rows;
	struct rql_map_part *parts = RQL_NEW_ARRAY(m->p->arena, struct rql_map_part, rows->list_count + 1);
	if (!parts)
		return rql_error_memory(m->err, 0, "a join");
	parts[0] = (struct rql_map_part){.keys = m->keys, .payloads = set ? NULL : m->payloads, .count = m->count, .once = !set};
	if (m->lying.count)
		parts[0] = m->lying;
	for (uint64_t i = 0; i < rows->list_count; i++) {
		const struct rql_keyed_list *list = rows->lists[i];
		parts[i + 1] = (struct rql_map_part){.keys = list->keys[0],
		                                     .payloads = set ? NULL : (const int32_t *)list->groups,
		                                     .count = list->count,
		                                     .once = !set};
	}
	return rql_map_build_parts(parts, rows->list_count + 1, pool_of(m), out, m->err);
}

static rql_status make(struct making *m, struct rql_arena *arena, struct rql_scan_dim *out, bool *twice)
{
	const struct rql_block_side *side = m->tree->side;
	bool left = side && side->kind == RQL_SIDE_LEFT, mark = side && side->kind == RQL_SIDE_MARK;
	m->unique = key_output(m);
	if (m->tree->outputs.count && !mark && !m->unique)
		RQL_TRY(make_distinct(m));
	if (left)
		RQL_TRY(ask_absent(m, arena));
	*twice = true;
	if ((!side || left) && !m->few)
		RQL_TRY(look_for_twice(m));
	*twice = false;
	RQL_TRY(ask(m, &out->rows, &out->how));
	out->null_key = m->null_key;
	out->absent = m->absent ? m->absent : left;
	out->payload_count = m->values ? m->payload_count : m->distinct ? rql_distinct_count(m->distinct) : 1;
	out->values = m->values;
	out->unique = m->unique;
	out->repeats = m->repeats || (m->distinct && !m->values && rql_distinct_repeats(m->distinct));
	if (m->distinct && !m->values)
		RQL_TRY(rql_distinct_columns(m->distinct, arena, &out->values, m->err));
	if (mark)
		RQL_TRY(make_marks(m, arena, out));
	if (side && !left)
		return build(m, true, &out->map);
	*twice = true;
	if (out->rows > m->most)
		return refuse_twice(m);
	rql_status status = build(m, false, &out->map);
	*twice = status == RQL_ERROR_UNSUPPORTED;
	return status;
}

/* ---- maps of earlier plans ---- */

static void put_key(struct rql_strbuf *out, const struct rql_store_column *column)
{
	if (!column)
		return;
	rql_strbuf_printf(out, "; %d ", (int)column->kind);
	if (column->kind == RQL_STORE_CODED) /* the structure that has it lives as long as its epoch, and the map no longer */
		rql_strbuf_printf(out, "codes of %p", (const void *)column->dimension);
	else
		rql_strbuf_printf(out, "%lld to %lld", (long long)column->least, (long long)column->greatest);
}

/* All that the map depends on but the rows of its tables: what is asked of them, and what is made of it. */
static bool describe(const struct making *m, struct rql_strbuf *out)
{
	const struct rql_block_side *side = m->tree->side;
	bool ok = rql_rel_print(out, m->rel, NULL, NULL);
	rql_strbuf_printf(out, "; %llu", (unsigned long long)m->most);
	put_key(out, m->at->first);
	put_key(out, m->at->second);
	if (side)
		rql_strbuf_printf(out, "; side %d %d", (int)side->kind, side->not_in);
	for (uint32_t k = 0; side && k < side->key_count; k++)
		rql_strbuf_printf(out, " %d", side->keys[k].null_safe);
	for (uint32_t o = 0; side && side->kind == RQL_SIDE_MARK && o < m->tree->outputs.count; o++)
		rql_strbuf_printf(out, " mark %u", m->tree->outputs.items[o]->index);
	return ok && !out->failed;
}

#define TABLES_MOST 32u
struct tables {
	uint32_t count;
	bool temporary; /* one of them is */
	struct rql_table *list[TABLES_MOST];
};

/* false: there are others than these, or too many. */
static bool collect_tables(const struct making *m, const struct rql_rel *rel, struct tables *out)
{
	if (rel->kind == RQL_REL_GET) {
		const struct rql_table_ref *ref = &rel->table;
		if (out->count == TABLES_MOST)
			return false;
		out->temporary |= strcasecmp(ref->catalog, "temp") == 0;
		out->list[out->count] = rql_catalog_table(m->p->ctx->catalog, ref->catalog, ref->schema, ref->table);
		return out->list[out->count++] != NULL;
	}
	bool known = rel->kind != RQL_REL_OPAQUE;
	for (uint32_t i = 0; i < rel->child_count && known; i++)
		known = collect_tables(m, rel->children[i], out);
	return known;
}

/* What cannot be made is remembered, too: the ways in which tables may be joined are many, and meet again. */
static rql_status make_new(struct making *m, struct rql_kept_map **out)
{
	struct rql_kept_map *map = rql_kept_map_new();
	if (!map)
		return rql_error_memory(m->err, 0, "a join");
	m->arena = map->arena;
	m->kept = map;
	uint64_t start = rql_now_ns();
	rql_status status = make(m, map->arena, &map->dim, &map->twice);
	map->dim.build_ms = (double)(rql_now_ns() - start) / 1e6;
	rql_distinct_free(m->distinct);
	rql_subplan_map_free(&m->keyed);
	rql_large_free(m->keys);
	rql_large_free(m->payloads);
	const char *how = map->dim.how ? map->dim.how : "";
	if (status == RQL_ERROR_UNSUPPORTED) {
		map->refusal = rql_arena_strdup(map->arena, rql_error_message(m->err));
		rql_error_clear(m->err);
		status = map->refusal ? RQL_OK : rql_error_memory(m->err, 0, "a join");
	}
	if (status == RQL_OK && !(map->dim.how = rql_arena_strdup(map->arena, how)))
		status = rql_error_memory(m->err, 0, "a join");
	if (status != RQL_OK) {
		rql_kept_map_release(map);
		return status;
	}
	*out = map;
	return RQL_OK;
}

/* Takes the reference over when the map is a refusal. */
static rql_status refuse_kept(struct making *m, struct rql_kept_map *map, bool *twice)
{
	if (!map->refusal)
		return RQL_OK;
	*twice = map->twice;
	rql_status status = rql_error_set(m->err, RQL_ERROR_UNSUPPORTED, "%s", map->refusal);
	rql_kept_map_release(map);
	return status;
}

/* What the cache knows the map by; false: it is none that is shared. */
static bool name_map(struct making *m, struct rql_strbuf *text, struct tables *tables)
{
	return m->p->shares_maps && m->p->ctx->maps && describe(m, text) && collect_tables(m, m->rel, tables);
}

static struct rql_kept_map *find_map(struct making *m, struct rql_strbuf *text, const struct tables *tables)
{
	return rql_map_cache_find(m->p->ctx->maps, m->p->ctx->catalog, m->p->ctx->map_epochs, rql_strbuf_text(text),
	                          tables->temporary);
}

bool rql_scan_dim_is_kept(struct rql_planning *p, const struct rql_star *star, uint32_t subtree,
                          const struct rql_scan_keys *keys, uint64_t most)
{
	struct making m = {
		.p = p, .star = star, .tree = &star->subtrees[subtree], .number = subtree, .at = keys, .most = most};
	struct rql_strbuf text = {0};
	struct tables tables = {0};
	m.rel = rql_subtree_rel(p->arena, star, subtree, NULL, false);
	struct rql_kept_map *map = m.rel && name_map(&m, &text, &tables) ? find_map(&m, &text, &tables) : NULL;
	rql_strbuf_free(&text);
	rql_kept_map_release(map);
	return map != NULL;
}

rql_status rql_scan_dim_make(struct rql_planning *p, const struct rql_star *star, uint32_t subtree,
                             const struct rql_scan_keys *keys, const struct rql_rel *reduced, uint64_t most,
                             struct rql_kept_map **out, bool *twice, struct rql_error *err)
{
	struct making m = {.p = p,
	                   .star = star,
	                   .tree = &star->subtrees[subtree],
	                   .number = subtree,
	                   .at = keys,
	                   .most = most,
	                   .few = star->subtrees[subtree].few,
	                   .err = err};
	struct rql_strbuf text = {0};
	struct tables tables = {0};
	*twice = false;
	RQL_TRY(check_transaction(&m));
	if (!(m.rel = rql_subtree_rel(p->arena, star, subtree, reduced, false)))
		return rql_error_memory(m.err, 0, "a join");
	bool kept = name_map(&m, &text, &tables);
	*out = kept ? find_map(&m, &text, &tables) : NULL;
	bool found = *out != NULL;
	rql_status status = found ? RQL_OK : make_new(&m, out);
	if (status == RQL_OK && kept && !found && !m.passing)
		rql_map_cache_put(p->ctx->maps, p->ctx->catalog, p->ctx->map_epochs, rql_strbuf_text(&text),
		                  &(struct rql_map_origin){tables.list, tables.count, tables.temporary, p->stamp},
		                  rql_plan_most_bytes(p->ctx->budget), *out);
	rql_strbuf_free(&text);
	return status == RQL_OK ? refuse_kept(&m, *out, twice) : status;
}

static bool host_reads_rel(const struct making *m, const struct rql_rel *rel)
{
	bool found = rel->kind == RQL_REL_GET && !rql_subplan_has_columns(m->p, &rel->table);
	for (uint32_t i = 0; i < rel->child_count && !found; i++)
		found = host_reads_rel(m, rel->children[i]);
	return found;
}

/* Some table of the subtree's is read by the host. */
static bool host_reads(const struct making *m)
{
	bool found = m->tree->side && host_reads_rel(m, m->tree->side->rel);
	for (uint32_t t = 0; t < m->star->block->table_count && !found; t++)
		found = m->star->owner[t] == m->number && !rql_subplan_has_columns(m->p, &m->star->block->tables[t]);
	return found;
}

rql_status rql_scan_dim_sample(struct rql_planning *p, const struct rql_star *star, uint32_t subtree,
                               const struct rql_scan_keys *keys, uint64_t most, bool *twice, struct rql_error *err)
{
	const struct rql_block_side *side = star->subtrees[subtree].side;
	struct making m = {.p = p,
	                   .star = star,
	                   .tree = &star->subtrees[subtree],
	                   .number = subtree,
	                   .at = keys,
	                   .most = SAMPLE_ROWS - 1,
	                   .err = err};
	uint64_t rows = 0;
	*twice = false;
	if ((side && side->kind != RQL_SIDE_LEFT) || most <= 2 * SAMPLE_ROWS || !host_reads(&m))
		return RQL_OK;
	RQL_TRY(check_transaction(&m));
	if (p->refresh_first)
		return put_off(&m);
	struct rql_rel *rel = rql_subtree_rel(p->arena, star, subtree, NULL, true);
	rql_status status = rel ? ask_host(&m, rel, m.most, &rows) : rql_error_memory(m.err, 0, "a join");
	if (status == RQL_OK && m.count)
		qsort(m.keys, m.count, sizeof *m.keys, compare_keys);
	for (uint64_t i = 1; status == RQL_OK && i < m.count; i++)
		*twice |= m.keys[i] == m.keys[i - 1];
	rql_large_free(m.keys);
	rql_large_free(m.payloads);
	return status == RQL_OK && *twice ? refuse_twice(&m) : status;
}

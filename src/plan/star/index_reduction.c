/* Which joins are reduced because an index finds the rows that are asked for, or because few are. */
#include "plan/star/index_reduction.h"

#include "bind/block/price_host.h"
#include "bind/normal/stability.h"
#include "bind/star/scan_subtree.h"
#include "flow/join/join_keys.h"
#include "plan/key_list.h"
#include "plan/price/price_rows.h"
#include "plan/star/scan_asked.h"
#include "plan/star/scan_index.h"
#include "plan/star/scan_reduction.h"
#include "sql/rel/rel_edit.h"

/* ---- what there is ---- */

/* Reals and integers beyond 64 bits are no keys of maps, by which rows are asked for: they are listed. */
static bool is_listed(const struct rql_store_column *column)
{
	return column->kind == RQL_STORE_REAL || (column->kind == RQL_STORE_INTEGER && column->wide);
}

/* The columns that are looked up. */
struct wanted {
	const uint32_t *columns;
	uint32_t count;
	bool listed; /* one, of a type that is listed; else none is */
};

/* The first columns of the index are these, in any order. */
static bool begins_with(const struct rql_structure *s, const struct rql_index_of *of, const struct wanted *wanted)
{
	const uint32_t count = wanted->count;
	bool all = of->form != RQL_INDEX_SIEVE && count <= 1 + of->more_count;
	for (uint32_t i = 0; i < count && all; i++) {
		const uint32_t column = i ? of->more[i - 1] : of->column;
		bool is_key = false;
		for (uint32_t k = 0; k < count && is_listed(&s->snapshot->columns[column]) == wanted->listed; k++)
			is_key |= wanted->columns[k] == s->column_ids[column];
		all = is_key;
	}
	return all;
}

static bool has_index(const struct rql_planning *p, const struct rql_structure *s, const struct wanted *wanted)
{
	struct rql_request request = {0};
	bool found = false;
	if (!rql_scan_indexes(p, s, &request))
		return false;
	for (uint32_t i = 0; i < request.index_count && !found; i++)
		found = begins_with(s, &request.indexes[i], wanted);
	return found;
}

static bool table_has_index(const struct rql_planning *p, const struct rql_table_ref *table, const struct wanted *wanted)
{
	bool found = false;
	for (uint32_t i = 0; i < p->structure_count && !found; i++) {
		const struct rql_structure *s = p->structures[i];
		found = s->reads == RQL_READS_STORE && s->state == RQL_STATE_READY && s->table_count &&
		        rql_structure_is_of(s, table) && has_index(p, s, wanted);
	}
	return found;
}

/* May a method that looks up in one index be chosen? */
static bool may_look_up(const struct rql_planning *p)
{
	bool may = false;
	for (uint32_t m = 0; rql_methods()[m] && !may; m++)
		may = rql_methods()[m]->index && !(p->ctx->settings->disabled_methods >> m & 1);
	return may;
}

static bool can_look_up(const struct rql_planning *p, const struct rql_block_side *side, bool listed)
{
	uint32_t columns[RQL_SIDE_KEYS];
	const struct rql_rel *get = may_look_up(p) ? rql_side_key_table(p->arena, side, columns) : NULL;
	const struct wanted wanted = {.columns = columns, .count = side->key_count, .listed = listed};
	return get && table_has_index(p, &get->table, &wanted);
}

bool rql_look_ups_can(const struct rql_planning *p, const struct rql_block_side *side)
{
	return can_look_up(p, side, false);
}

/* ---- what it is worth ---- */

/* A key costs what a scan takes for some hundred rows, and keys are planned and read before. */
#define ROWS_OF_KEY 64.0
#define ROWS_OF_PLAN 25000.0
/* Of so few rows rayql_force asks for no gain, so that tests reach all this. */
#define FORCED_ROWS (UINT64_C(1) << 17)

bool rql_look_ups_pay(const struct rql_planning *p, double keys, uint64_t rows)
{
	if (keys < 0 || keys > RQL_LOOKED_UP_KEYS)
		return false;
	return (double)rows >= ROWS_OF_PLAN + keys * ROWS_OF_KEY || (p->ctx->settings->force && rows < FORCED_ROWS);
}

/* ---- joins ---- */

/* May rows of this child be dropped that have none of the other one's keys? */
static bool may_drop(enum rql_join_type join, uint32_t child)
{
	switch (join) {
	case RQL_JOIN_INNER:
	case RQL_JOIN_SEMI:
	case RQL_JOIN_RIGHT_SEMI:
		return true;
	case RQL_JOIN_LEFT:
	case RQL_JOIN_ANTI:
	case RQL_JOIN_ASOF:
	case RQL_JOIN_ASOF_LEFT:
		return child == 1;
	case RQL_JOIN_RIGHT:
	case RQL_JOIN_RIGHT_ANTI:
		return child == 0;
	default:
		return false;
	}
}

static void add_key(struct rql_block_side *side, const struct rql_join_keys *keys, uint32_t child, uint32_t k)
{
	side->keys[side->key_count++] = (struct rql_side_key){
		.outer = keys->sides[!child][k], .inner = keys->sides[child][k], .null_safe = keys->nulls_equal[k]};
}

static bool is_found(const struct rql_planning *p, const struct rql_block_side *side)
{
	return rql_side_can_reduce(side) && rql_look_ups_can(p, side);
}

/* A key of the child that an index finds, of a type that is listed. */
static bool choose_listed(const struct rql_planning *p, const struct rql_join_keys *keys, const struct rql_rel *rel,
                          uint32_t child, struct rql_block_side *out)
{
	for (uint32_t a = 0; a < keys->key_count; a++) {
		*out = (struct rql_block_side){.kind = RQL_SIDE_SEMI, .rel = rel};
		add_key(out, keys, child, a);
		if (!out->keys[0].null_safe && rql_side_can_reduce(out) && can_look_up(p, out, true))
			return true;
	}
	return false;
}

/* Of so many keys several may be looked up together. */
#define TUPLE_KEYS 6u

/* The keys of the child that an index finds: two of them, or one. False: none does. */
static bool choose_keys(const struct rql_planning *p, const struct rql_join_keys *keys, const struct rql_rel *rel,
                        uint32_t child, struct rql_block_side *out)
{
	const struct rql_block_side none = {.kind = RQL_SIDE_SEMI, .rel = rel};
	for (uint32_t a = 0; a < keys->key_count; a++)
		for (uint32_t b = a + 1; b < keys->key_count; b++) {
			*out = none;
			add_key(out, keys, child, a);
			add_key(out, keys, child, b);
			if (is_found(p, out))
				return true;
		}
	for (uint32_t a = 0; a < keys->key_count; a++) {
		*out = none;
		add_key(out, keys, child, a);
		if (is_found(p, out))
			return true;
	}
	return false;
}

/* The most keys of the child, three at least, that are an index's first columns. */
static bool choose_tuples(const struct rql_planning *p, const struct rql_join_keys *keys, const struct rql_rel *rel,
                          uint32_t child, struct rql_block_side *out)
{
	const uint32_t all = keys->key_count < TUPLE_KEYS ? keys->key_count : TUPLE_KEYS;
	for (int count = RQL_SIDE_KEYS; count > 2; count--)
		for (uint32_t set = 0; set < UINT32_C(1) << all; set++) {
			bool null_safe = false;
			if (__builtin_popcount(set) != count)
				continue;
			*out = (struct rql_block_side){.kind = RQL_SIDE_SEMI, .rel = rel};
			for (uint32_t k = 0; k < all; k++)
				if (set >> k & 1) {
					add_key(out, keys, child, k);
					null_safe |= keys->nulls_equal[k];
				}
			if (!null_safe && is_found(p, out))
				return true;
		}
	return false;
}

static const struct rql_expr *first_column(const struct rql_expr *e)
{
	const struct rql_expr *found = e->kind == RQL_EXPR_REF ? e : NULL;
	for (uint32_t i = 0; i < e->child_count && !found; i++)
		found = first_column(e->children[i]);
	return found;
}

/* The other child's keys. counted: columns that they are made of, since only of these it is known how many rows there are. */
static struct rql_rel *keys_of(struct rql_planning *p, const struct rql_rel *rel, const struct rql_block_side *side,
                               bool counted)
{
	struct rql_expr *exprs[RQL_SIDE_KEYS];
	for (uint32_t k = 0; k < side->key_count; k++) {
		const struct rql_expr *e = counted ? first_column(side->keys[k].outer) : side->keys[k].outer;
		if (!(exprs[k] = (struct rql_expr *)(uintptr_t)e))
			return NULL;
	}
	return rql_rel_project(p->arena, (struct rql_rel *)(uintptr_t)rel, exprs, side->key_count);
}

/* The rows of the table that the keys are of. */
static rql_status count_side(struct rql_planning *p, const struct rql_block_side *side, uint64_t *rows)
{
	uint32_t columns[RQL_SIDE_KEYS];
	const struct rql_rel *get = rql_side_key_table(p->arena, side, columns);
	*rows = 0;
	return get ? rql_scan_table_rows(p, &get->table, rows, p->err) : RQL_OK;
}

static double price_in_host(const struct rql_planning *p, const struct rql_rel *rel, uint64_t rows)
{
	const struct rql_device *cpu = &p->ctx->devices->device[0];
	return (double)rows * (rel->column_count + 1.0) * rql_host_idle_factor(rql_pool_threads(cpu->pool), rows) *
	       cpu->profile.host_value_ns;
}

/* *few: so many keys are expected that look-ups pay among so many rows. */
static rql_status expect_keys(struct rql_planning *p, const struct rql_rel *other, const struct rql_block_side *side,
                              uint64_t rows, bool *few)
{
	struct rql_rel *counted = keys_of(p, other, side, true);
	double count;
	*few = false;
	if (!counted)
		return RQL_OK;
	RQL_TRY(rql_subplan_expect(p, counted, side->key_count, &count, p->err));
	*few = rql_look_ups_pay(p, count, rows);
	return RQL_OK;
}

static rql_status reduce(struct rql_planning *p, const struct rql_rel *other, const struct rql_block_side *side,
                         struct rql_reduced *out)
{
	struct rql_rel *keys = keys_of(p, other, side, false);
	uint64_t rows;
	bool few;
	if (!keys)
		return rql_error_memory(p->err, 0, "a plan");
	RQL_TRY(count_side(p, side, &rows));
	RQL_TRY(expect_keys(p, other, side, rows, &few));
	if (!few)
		return RQL_OK;
	RQL_TRY(rql_reduction_note_keys(p, keys, p->err));
	out->host_ns = price_in_host(p, side->rel, rows);
	out->rel = rql_side_reduce(p->arena, side, keys);
	return out->rel ? RQL_OK : rql_error_memory(p->err, 0, "a plan");
}

/* ---- keys that are listed, alone or three at least together: they are read while planning, as a dimension's are ---- */

/* So many keys pay. */
static uint64_t most_keys(const struct rql_planning *p, uint64_t rows)
{
	uint64_t most = RQL_LOOKED_UP_KEYS - 1;
	while (most && !rql_look_ups_pay(p, (double)most, rows))
		most /= 2;
	return most;
}

/* The batch's rows, each once, but those with a NULL. *out NULL: they are of other types than the side's keys. */
static rql_status list_rows(struct rql_planning *p, const struct rql_batch *batch, const struct rql_block_side *side,
                            struct rql_expr_tuples **out)
{
	uint32_t columns[RQL_SIDE_KEYS];
	*out = NULL;
	for (uint32_t k = 0; k < side->key_count; k++) {
		columns[k] = k;
		if (!rql_type_equal(batch->columns[k].type, side->keys[k].inner->type))
			return RQL_OK;
	}
	*out = rql_key_list(p->arena, batch, columns, side->key_count);
	return *out ? RQL_OK : rql_error_memory(p->err, 0, "a plan");
}

static rql_status reduce_listed(struct rql_planning *p, const struct rql_rel *other, const struct rql_block_side *side,
                                struct rql_reduced *out)
{
	struct rql_rel *keys = keys_of(p, other, side, false);
	struct rql_expr_tuples *tuples = NULL;
	struct rql_batch *batch = NULL;
	const char *how;
	uint64_t rows;
	bool few = true;
	RQL_TRY(count_side(p, side, &rows));
	const uint64_t most = most_keys(p, rows);
	if (most && side->key_count > 1)
		RQL_TRY(expect_keys(p, other, side, rows, &few));
	if (!most || !few)
		return RQL_OK;
	if (!keys || !(keys = rql_subtree_limit(p->arena, keys, most + 1)))
		return rql_error_memory(p->err, 0, "a plan");
	RQL_TRY(rql_subplan_rows(p, keys, false, &batch, &how, p->err));
	if (!batch)
		return RQL_OK;
	rql_status status = batch->rows > most ? RQL_OK : list_rows(p, batch, side, &tuples);
	rql_batch_release(batch);
	if (status != RQL_OK || !tuples)
		return status;
	out->host_ns = price_in_host(p, side->rel, rows);
	out->rel = rql_side_list(p->arena, side, tuples);
	return out->rel ? RQL_OK : rql_error_memory(p->err, 0, "a plan");
}

/* ---- few keys of a large table that has no index: a scan drops what is not asked for, and nothing is joined with it ---- */

/* A row that is joined by an operator, instead of being dropped by a scan. */
#define JOINED_ROW_NS 10.0

/* Some rows of one table. */
static bool is_selection(const struct rql_rel *rel)
{
	bool restricted = false;
	for (; rel->kind == RQL_REL_FILTER || rel->kind == RQL_REL_PROJECT; rel = rel->children[0])
		restricted |= rel->kind == RQL_REL_FILTER;
	return restricted && rel->kind == RQL_REL_GET;
}

/* The first key that a scan of a large table may test. */
static rql_status choose_scanned(struct rql_planning *p, const struct rql_join_keys *keys, const struct rql_rel *rel,
                                 uint32_t child, struct rql_block_side *out, uint64_t *rows)
{
	*rows = 0;
	for (uint32_t a = 0; a < keys->key_count && !*rows; a++) {
		*out = (struct rql_block_side){.kind = RQL_SIDE_SEMI, .rel = rel};
		add_key(out, keys, child, a);
		if (!out->keys[0].null_safe && rql_side_can_reduce(out))
			RQL_TRY(count_side(p, out, rows));
	}
	return RQL_OK;
}

static rql_status reduce_scanned(struct rql_planning *p, const struct rql_join_keys *join, const struct rql_rel *rel,
                                 const struct rql_rel *other, uint32_t child, struct rql_reduced *out)
{
	struct rql_block_side side;
	struct rql_expr_tuples *tuples = NULL;
	struct rql_batch *batch = NULL;
	uint64_t rows;
	if (p->is_subplan || !is_selection(other))
		return RQL_OK;
	RQL_TRY(choose_scanned(p, join, rel, child, &side, &rows));
	struct rql_rel *keys = rows >= RQL_ASKED_LEAST_ROWS ? keys_of(p, other, &side, false) : NULL;
	if (!keys)
		return RQL_OK;
	RQL_TRY(rql_subplan_few(p, keys, RQL_LOOKED_UP_KEYS - 1, (double)rows * JOINED_ROW_NS / RQL_ASKED_LOOK_PART, &batch, p->err));
	if (!batch)
		return RQL_OK;
	rql_status status = list_rows(p, batch, &side, &tuples);
	rql_batch_release(batch);
	if (status != RQL_OK || !tuples)
		return status;
	out->host_ns = price_in_host(p, side.rel, rows);
	out->rel = rql_side_list(p->arena, &side, tuples);
	return out->rel ? RQL_OK : rql_error_memory(p->err, 0, "a plan");
}

/* ---- the whole ---- */

rql_status rql_join_reduction(struct rql_planning *p, const struct rql_rel *join, uint32_t child,
                              struct rql_reduced *out)
{
	struct rql_join_keys keys;
	struct rql_block_side side;
	/* Copies: what takes the child's place has it below, and the other one, whose place may be taken, too. */
	struct rql_rel *both = NULL;
	*out = (struct rql_reduced){0};
	if (join->kind != RQL_REL_JOIN || !may_drop(join->join, child) || p->ctx->snapshot_stamp)
		return RQL_OK;
	if (rql_reduction_is_keys(p, join->children[child]) || !rql_subplan_reads_columns(p, join->children[child]) ||
	    !rql_rel_is_repeatable(join->children[!child]))
		return RQL_OK;
	if (!rql_join_keys_find(p->arena, join, &keys) || !(both = RQL_NEW_ARRAY(p->arena, struct rql_rel, 2)))
		return rql_error_memory(p->err, 0, "a plan");
	both[0] = *join->children[child];
	both[1] = *join->children[!child];
	if (choose_tuples(p, &keys, &both[0], child, &side))
		RQL_TRY(reduce_listed(p, &both[1], &side, out));
	if (out->rel)
		return RQL_OK;
	if (choose_keys(p, &keys, &both[0], child, &side))
		return reduce(p, &both[1], &side, out);
	if (choose_listed(p, &keys, &both[0], child, &side))
		return reduce_listed(p, &both[1], &side, out);
	return reduce_scanned(p, &keys, &both[0], &both[1], child, out);
}

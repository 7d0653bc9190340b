/* Few keys that are asked for: see the header. */
#include "plan/star/scan_asked.h"

#include <string.h>
#include "bind/block/tuples.h"
#include "bind/star/scan_reduce.h"
#include "bind/star/scan_subtree.h"
#include "plan/key_list.h"
#include "plan/price/price_rows.h"

/* ---- the rows that ask ---- */

struct collecting {
	struct rql_scan_asked *asked;
	uint32_t fact;
};

static bool add_column(const struct rql_expr *leaf, void *state)
{
	struct collecting *c = state;
	struct rql_scan_asked *asked = c->asked;
	bool there = leaf->kind != RQL_EXPR_COLUMN || leaf->table != c->fact;
	for (uint32_t i = 0; i < asked->column_count && !there; i++)
		there = asked->columns[i]->index == leaf->index;
	if (!there && asked->column_count < RQL_ASKED_COLUMNS)
		asked->columns[asked->column_count++] = leaf;
	return true;
}

/* The columns of the fact table by which others hang on it. */
static void collect_columns(const struct rql_block *block, uint32_t fact, struct rql_scan_asked *asked)
{
	struct collecting c = {asked, fact};
	for (uint32_t i = 0; i < block->conjunct_count; i++)
		if (rql_expr_is_equijoin(block->conjuncts[i]))
			rql_expr_leaves(block->conjuncts[i], add_column, &c);
	for (uint32_t i = 0; i < block->side_count; i++)
		for (uint32_t k = 0; k < block->sides[i].key_count; k++)
			if (block->sides[i].keys[k].outer->kind == RQL_EXPR_COLUMN)
				rql_expr_leaves(block->sides[i].keys[k].outer, add_column, &c);
}

/* Does an equality join the table with the part? */
static bool hangs_on(const struct rql_block *block, const struct rql_star_part *part, uint32_t table)
{
	const struct rql_star_part with = {.tables = part->tables | UINT32_C(1) << table};
	const struct rql_star_part alone = {.tables = UINT32_C(1) << table};
	bool found = false;
	for (uint32_t i = 0; i < block->conjunct_count && !found; i++) {
		const struct rql_expr *e = block->conjuncts[i];
		found = rql_expr_is_equijoin(e) && rql_star_part_reads(&with, e) && !rql_star_part_reads(part, e) &&
		        !rql_star_part_reads(&alone, e);
	}
	return found;
}

/* The fact table, and small ones that drop rows of it. */
static struct rql_star_part make_part(const struct rql_block *block, uint32_t fact, const uint64_t *rows)
{
	struct rql_star_part part = {.tables = UINT32_C(1) << fact};
	bool grows = true;
	while (grows) {
		grows = false;
		for (uint32_t t = 0; t < block->table_count; t++) {
			const struct rql_star_part alone = {.tables = UINT32_C(1) << t};
			if (part.tables & alone.tables || rows[t] >= RQL_ASKED_LEAST_ROWS || !rql_star_part_is_restricted(&alone, block) ||
			    !hangs_on(block, &part, t))
				continue;
			part.tables |= alone.tables;
			grows = true;
		}
	}
	return part;
}

rql_status rql_scan_asked_read(struct rql_planning *p, const struct rql_block *block, uint32_t fact, const uint64_t *rows,
                               double saves_ns, struct rql_scan_asked *out, struct rql_error *err)
{
	const struct rql_star_part part = make_part(block, fact, rows);
	out->known = true;
	collect_columns(block, fact, out);
	if (!out->column_count || p->ctx->snapshot_stamp || !rql_star_part_is_restricted(&part, block))
		return RQL_OK;
	struct rql_star *star = RQL_NEW(p->arena, struct rql_star);
	if (!star)
		return rql_error_memory(err, 0, "a plan");
	star->block = block;
	star->fact = fact;
	struct rql_rel *rel = rql_star_part_rows(p->arena, star, &part, out->columns, out->column_count);
	if (!rel)
		return rql_error_memory(err, 0, "a plan");
	return rql_subplan_few(p, rel, RQL_LOOKED_UP_KEYS - 1, saves_ns, &out->batch, err);
}

void rql_scan_asked_free(struct rql_scan_asked *asked)
{
	rql_batch_release(asked->batch);
	asked->batch = NULL;
}

/* ---- what is asked ---- */

/* The batch's column that the fact table's column is; RQL_NONE: it has none. */
static uint32_t column_of(const struct rql_scan_asked *asked, const struct rql_expr *fact, const struct rql_expr *key)
{
	for (uint32_t i = 0; i < asked->column_count; i++)
		if (asked->columns[i]->index == fact->index && rql_type_equal(asked->batch->columns[i].type, key->type))
			return i;
	return RQL_NONE;
}

static bool nulls_join(const struct rql_block_side *side)
{
	bool some = false;
	for (uint32_t k = 0; k < side->key_count; k++)
		some |= side->keys[k].null_safe;
	return some;
}

/* The keys are the first condition, since it drops most. */
static bool put_condition(struct rql_arena *arena, const struct rql_expr_tuples *tuples, struct rql_star_subtree *tree)
{
	const struct rql_expr *keys[] = {tree->key, tree->key2};
	const struct rql_expr_list old = tree->conjuncts;
	tree->conjuncts = (struct rql_expr_list){0};
	bool ok = rql_keys_listed(arena, keys, tuples, &tree->conjuncts);
	for (uint32_t i = 0; i < old.count; i++)
		ok = ok && rql_expr_list_add(arena, &tree->conjuncts, old.items[i]);
	return ok;
}

rql_status rql_scan_asked_put(struct rql_planning *p, const struct rql_scan_asked *asked, uint32_t subtree,
                              const struct rql_star **star, const struct rql_rel **reduced, struct rql_error *err)
{
	const struct rql_star_subtree *tree = &(*star)->subtrees[subtree];
	const struct rql_block_side *side = tree->side;
	uint32_t columns[2] = {RQL_NONE, RQL_NONE};
	const uint32_t parts = tree->key2 ? 2 : 1;
	if (!asked->batch || (side && (nulls_join(side) || !rql_side_can_reduce(side))))
		return RQL_OK;
	columns[0] = column_of(asked, tree->fact, tree->key);
	columns[1] = parts > 1 ? column_of(asked, tree->fact2, tree->key2) : 0;
	if (columns[0] == RQL_NONE || columns[1] == RQL_NONE)
		return RQL_OK;
	const struct rql_expr_tuples *tuples = rql_key_list(p->arena, asked->batch, columns, parts);
	struct rql_star *copy = RQL_NEW(p->arena, struct rql_star);
	if (!tuples || !copy)
		return rql_error_memory(err, 0, "a plan");
	*copy = **star;
	copy->subtrees[subtree].few = true;
	*star = copy;
	if (side)
		*reduced = rql_side_list(p->arena, side, tuples);
	return (side ? *reduced != NULL : put_condition(p->arena, tuples, &copy->subtrees[subtree]))
	           ? RQL_OK
	           : rql_error_memory(err, 0, "a plan");
}

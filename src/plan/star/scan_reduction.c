/* Whether a side is reduced by the keys of the fact table's rows. The keys are planned, but not read: a sample says how many
 * rows would have them. Then the side's own plan reads them, as a SEMI join of its own.
 *
 * What it saves: a row of the side that is not asked for costs a test of one bit instead of a place in a table of groups
 * (some 10 ns where these are many), and its group no place in the map. What it costs: a pass over the fact table's
 * conditions, which is that of the query itself once more. Where the side's keys have an index (index_reduction.h), the rows
 * that are not asked for are not even read. */
#include "plan/star/index_reduction.h"
#include "plan/star/scan_asked.h"
#include "plan/star/scan_reduction.h"

/* The fact table may have so many times the side's rows, and another table of the keys this part of them. */
#define FACT_FACTOR 4u
#define TABLE_FACTOR 3u
/* Keys are worth to be looked for when at most one row in so many has one that is asked for. */
#define LEAST_DROP 4.0

static rql_status count_rows(struct rql_planning *p, const struct rql_rel *rel, uint64_t *sum, struct rql_error *err)
{
	uint64_t rows = 0;
	if (rel->kind == RQL_REL_GET)
		RQL_TRY(rql_scan_table_rows(p, &rel->table, &rows, err));
	*sum += rows;
	for (uint32_t i = 0; i < rel->child_count; i++)
		RQL_TRY(count_rows(p, rel->children[i], sum, err));
	return RQL_OK;
}

/* Where both sides are small, rayql_force asks for no gain, so that tests reach all this. */
static bool is_tried(const struct rql_planning *p, uint64_t rows)
{
	return p->ctx->settings->force && rows < RQL_ASKED_LEAST_ROWS;
}

/* The tables of a subtree belong to the part where they drop rows, and are small beside the side. */
static rql_status add_subtree(struct rql_planning *p, const struct rql_star *star, uint32_t subtree, uint64_t side_rows,
                              struct rql_star_part *part, struct rql_error *err)
{
	struct rql_star_part tree = {0};
	uint64_t sum = 0, rows;
	for (uint32_t t = 0; t < star->block->table_count; t++) {
		if (star->owner[t] != subtree)
			continue;
		tree.tables |= UINT32_C(1) << t;
		RQL_TRY(rql_scan_table_rows(p, &star->block->tables[t], &rows, err));
		sum += rows;
	}
	if ((sum <= side_rows / TABLE_FACTOR || is_tried(p, sum)) && rql_star_part_is_restricted(&tree, star->block))
		part->tables |= tree.tables;
	return RQL_OK;
}

static rql_status add_side(struct rql_planning *p, const struct rql_star *star, uint32_t i, uint64_t side_rows,
                           struct rql_star_part *part, struct rql_error *err)
{
	const struct rql_block_side *side = &star->block->sides[i];
	uint64_t rows = 0;
	for (uint32_t k = 0; k < side->key_count; k++)
		if (!rql_star_part_reads(part, side->keys[k].outer))
			return RQL_OK;
	if (side->kind != RQL_SIDE_SEMI)
		return RQL_OK;
	RQL_TRY(count_rows(p, side->rel, &rows, err));
	if (rows <= side_rows / TABLE_FACTOR || is_tried(p, rows))
		part->sides |= UINT32_C(1) << i;
	return RQL_OK;
}

static rql_status make_part(struct rql_planning *p, const struct rql_star *star, uint32_t subtree, uint64_t side_rows,
                            struct rql_star_part *part, struct rql_error *err)
{
	const struct rql_block *block = star->block;
	*part = (struct rql_star_part){.tables = UINT32_C(1) << star->fact};
	for (uint32_t i = 0; i < star->subtree_count; i++)
		if (!star->subtrees[i].side)
			RQL_TRY(add_subtree(p, star, i, side_rows, part, err));
	for (uint32_t i = 0; i < block->side_count; i++)
		if (&block->sides[i] != star->subtrees[subtree].side)
			RQL_TRY(add_side(p, star, i, side_rows, part, err));
	return RQL_OK;
}

/* ---- keys, which are reduced by nothing ---- */

bool rql_reduction_is_keys(const struct rql_planning *p, const struct rql_rel *rel)
{
	const struct rql_reduction *r = p->reductions;
	while (r && r->keys != rel)
		r = r->next;
	return r != NULL;
}

rql_status rql_reduction_note_keys(struct rql_planning *p, const struct rql_rel *keys, struct rql_error *err)
{
	struct rql_reduction *reduction = RQL_NEW(p->arena, struct rql_reduction);
	if (!reduction)
		return rql_error_memory(err, 0, "a plan");
	*reduction = (struct rql_reduction){keys, p->reductions};
	p->reductions = reduction;
	return RQL_OK;
}

/* ---- sides ---- */

static bool may_reduce(const struct rql_planning *p, const struct rql_block_side *side)
{
	return side && !p->ctx->snapshot_stamp && !rql_reduction_is_keys(p, side->rel) && rql_subplan_reads_columns(p, side->rel) &&
	       rql_side_can_reduce(side);
}

/* What there is to gain. */
struct gain {
	uint64_t side_rows, fact_rows;
	bool reads_less; /* rows of the side need no place in its map */
	bool looks_up;   /* an index finds the side's rows by their keys */
};

static rql_status are_few(struct rql_planning *p, struct rql_rel *keys, uint32_t key_count, const struct gain *gain,
                          bool *few, struct rql_error *err)
{
	double rows;
	RQL_TRY(rql_subplan_expect(p, keys, key_count, &rows, err));
	*few = rows >= 0 && ((gain->reads_less && (rows * LEAST_DROP <= (double)gain->fact_rows || is_tried(p, gain->fact_rows))) ||
	                     (gain->looks_up && rql_look_ups_pay(p, rows, gain->side_rows)));
	return RQL_OK;
}

static bool is_large(const struct rql_planning *p, const struct gain *gain)
{
	return is_tried(p, gain->side_rows) ||
	       (gain->side_rows >= RQL_ASKED_LEAST_ROWS && gain->fact_rows / FACT_FACTOR <= gain->side_rows);
}

rql_status rql_scan_reduction(struct rql_planning *p, const struct rql_star *star, uint32_t subtree, uint64_t fact_rows,
                              const struct rql_rel **out, struct rql_error *err)
{
	const struct rql_block_side *side = star->subtrees[subtree].side;
	struct gain gain = {.fact_rows = fact_rows};
	struct rql_star_part part;
	bool few = false;
	*out = NULL;
	if (!may_reduce(p, side))
		return RQL_OK;
	RQL_TRY(count_rows(p, side->rel, &gain.side_rows, err));
	gain.looks_up = rql_look_ups_can(p, side);
	if (!is_large(p, &gain) && !gain.looks_up)
		return RQL_OK;
	RQL_TRY(make_part(p, star, subtree, gain.side_rows, &part, err));
	gain.reads_less = is_large(p, &gain) && (rql_star_part_is_restricted(&part, star->block) || part.sides);
	if (!gain.reads_less && !gain.looks_up)
		return RQL_OK;
	struct rql_rel *keys = rql_star_part_keys(p->arena, star, &part, side);
	if (!keys)
		return rql_error_memory(err, 0, "a plan");
	RQL_TRY(are_few(p, keys, side->key_count, &gain, &few, err));
	if (!few)
		return RQL_OK;
	RQL_TRY(rql_reduction_note_keys(p, keys, err));
	*out = rql_side_reduce(p->arena, side, keys);
	return *out ? RQL_OK : rql_error_memory(err, 0, "a plan");
}

/* Groups of an aggregate over a join, numbered by its sides: see the header. */
#include "flow/aggregate/aggregate_sides.h"

#include <string.h>

#include "flow/join/join_keys.h"
#include "sql/rel/rel.h"

unsigned rql_sides_of(const struct rql_expr *aggregate, uint32_t lefts)
{
	return rql_join_reads(aggregate, lefts) == 2;
}

static bool is_extreme(const struct rql_expr *e)
{
	return !strcmp(e->name, "min") || !strcmp(e->name, "max");
}

/* An aggregate: of one side, or of none, as count(*) is. */
static bool is_of_side(const struct rql_expr *e, uint32_t lefts)
{
	return (!e->distinct || is_extreme(e)) && !e->order_count && e->child_count <= 1 && rql_join_reads(e, lefts) != 3;
}

bool rql_sides_can(const struct rql_rel *rel, const struct rql_rel *join)
{
	if (rel->kind != RQL_REL_AGGREGATE || join->kind != RQL_REL_JOIN || join->join != RQL_JOIN_INNER)
		return false;
	const struct rql_join_way way = rql_join_way_of(join);
	const uint32_t lefts = join->children[0]->column_count;
	bool can = way.keys && !way.bounds && !way.tested;
	for (uint32_t i = 0; i < rel->expr_count && can; i++) {
		const unsigned sides = rql_join_reads(rel->exprs[i], lefts);
		can = i < rel->group_count ? sides == 1 || sides == 2 : is_of_side(rel->exprs[i], lefts);
	}
	return can;
}

const struct rql_expr *rql_sides_counted(void)
{
	static const struct rql_expr pairs = {.kind = RQL_EXPR_AGGREGATE, .name = "", .type = {.id = RQL_TYPE_BIGINT}};
	return &pairs;
}

rql_status rql_side_number(struct rql_running *r, const struct rql_rel *rel, const struct rql_rel *join, unsigned s,
                           struct aggregate_side *side)
{
	const uint32_t lefts = join->children[0]->column_count;
	side->groups.count = 1;
	if (!(side->keys = RQL_NEW_ARRAY(r->arena, uint32_t, rel->group_count + 1)) ||
	    !(side->vectors = RQL_NEW_ARRAY(r->arena, struct rql_vector, rel->group_count + 1)))
		return rql_error_memory(r->err, 0, "groups of rows");
	for (uint32_t k = 0; k < rel->group_count; k++) {
		if (rql_join_reads(rel->exprs[k], lefts) != 1u << s)
			continue;
		const struct rql_expr *e = rql_expr_lowered(r->arena, rel->exprs[k], s ? lefts : 0);
		if (!e)
			return rql_error_memory(r->err, 0, "groups of rows");
		RQL_TRY(rql_rowset_compute(r, side->set, e, &side->vectors[side->key_count]));
		side->keys[side->key_count++] = k;
	}
	return side->key_count ? rql_key_groups_of(r, side->set, side->vectors, side->key_count, &side->groups) : RQL_OK;
}

/* A side's group keys, of the first row of each group. */
static rql_status place_keys(struct rql_running *r, const struct aggregate_side *const sides[2], unsigned s,
                             struct rql_rowset *out)
{
	const struct aggregate_side *side = sides[s];
	const uint64_t rights = sides[1]->groups.count;
	struct rql_rowset of = {.capacity = side->set->rows, .vector_count = side->key_count, .vectors = side->vectors};
	struct rql_vector *keys = RQL_NEW_ARRAY(r->arena, struct rql_vector, side->key_count + 1);
	uint32_t *rows;
	if (!keys)
		return rql_error_memory(r->err, 0, "groups of rows");
	RQL_TRY(RQL_ROOM(r, rows, out->capacity));
	for (uint64_t i = 0; i < out->capacity && side->key_count; i++)
		rows[i] = side->groups.first[s ? i % rights : i / rights];
	RQL_TRY(rql_vectors_at(r, &of, rows, out->capacity, false, keys));
	for (uint32_t k = 0; k < side->key_count; k++)
		out->vectors[side->keys[k]] = keys[k];
	return RQL_OK;
}

rql_status rql_sides_finish(struct aggregating *agg, const struct aggregate_side *const sides[2], struct rql_rowset *out,
                            uint64_t *pairs)
{
	const struct rql_rel *rel = agg->rel;
	struct rql_running *r = agg->r;
	struct aggregate *counted = &agg->aggs[agg->agg_count - 1];
	struct rql_vector ignored;
	*out = (struct rql_rowset){.arena = r->arena, .capacity = agg->groups.count, .vector_count = rel->expr_count};
	if (!(out->vectors = RQL_NEW_ARRAY(r->arena, struct rql_vector, rel->expr_count)))
		return rql_error_memory(r->err, 0, "groups of rows");
	for (uint32_t i = 0; i < agg->agg_count; i++)
		RQL_TRY(rql_aggregate_finish(agg, &agg->aggs[i],
		                             &agg->aggs[i] == counted ? &ignored : &out->vectors[rel->group_count + i]));
	for (unsigned s = 0; s < 2 && rel->group_count; s++)
		RQL_TRY(place_keys(r, sides, s, out));
	RQL_TRY(RQL_ROOM(r, out->selection, out->capacity));
	for (uint64_t i = 0; i < out->capacity; i++) {
		*pairs += counted->states[0].count[i];
		if (counted->states[0].count[i] || !rel->group_count)
			out->selection[out->rows++] = (uint32_t)i;
	}
	return RQL_OK;
}

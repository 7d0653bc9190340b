/* What EXPLAIN says of a graph of joins, and what the host would need for the same. */
#include "bind/block/price_host.h"
#include "plan/join/join.h"
#include "util/threads.h"

/* "  join with orders by o_custkey ..." */
static void put_joins(struct rql_strbuf *text, const struct rql_join_graph *g)
{
	static const char *const kinds[] = {[RQL_LOOKUP_INNER] = "join with",
	                                    [RQL_LOOKUP_LEFT] = "left join with",
	                                    [RQL_LOOKUP_SEMI] = "semi join with",
	                                    [RQL_LOOKUP_ANTI] = "anti join with"};
	const struct rql_join_relation *first = &g->relations[g->largest];
	uint32_t branches = 0;
	for (const struct rql_join_graph *below = first->groups; below && below->rows; below = below->next, branches++)
		put_joins(text, below);
	if (branches > 1)
		rql_strbuf_printf(text, "  rows of %u inputs, one behind the other, on the device\n", branches);
	if (first->groups && !branches) {
		put_joins(text, first->groups);
		rql_strbuf_printf(text, "  groups of %u key%s and %u aggregate%s by %s, which stay on the device\n",
		                  first->groups->block->group_count, first->groups->block->group_count == 1 ? "" : "s",
		                  first->groups->block->agg_count, first->groups->block->agg_count == 1 ? "" : "s", first->by);
	}
	if (g->order)
		rql_strbuf_put(text, g->order);
	for (uint32_t r = 0; r < g->relation_count; r++)
		if (g->relations[r].under)
			rql_strbuf_printf(text, "  rows of %s under rows of %s\n", g->relations[r].table, g->relations[r].under);
	for (uint32_t s = 0; s < g->step_count; s++) {
		const struct rql_join_step *step = &g->steps[s];
		const struct rql_join_relation *r = &g->relations[step->relation];
		const struct rql_structure *of = r->groups ? rql_join_base(r->groups) : r->structure;
		const bool rows = r->groups && r->groups->rows, joins = rows && !r->groups->next;
		if (joins)
			put_joins(text, r->groups);
		rql_strbuf_printf(text, "  %s %s%s (%llu rows, structure %s) by %u column%s",
		                  step->ranges ? step->kind == RQL_LOOKUP_LEFT ? "range left join with" : "range join with"
		                  : step->nearest ? step->kind == RQL_LOOKUP_LEFT ? "asof left join with" : "asof join with"
		                  : step->mark ? "mark join with"
		                  : step->full ? "full join with"
		                               : kinds[step->kind],
		                  joins       ? "joined rows of "
		                  : rows      ? "rows of a union of "
		                  : r->groups ? "groups of "
		                              : "",
		                  r->groups ? of->name : r->table, (unsigned long long)of->snapshot->rows, of->name, step->key_count,
		                  step->key_count == 1 ? "" : "s");
		const uint32_t conditions = step->condition_count - step->beside;
		if (conditions)
			rql_strbuf_printf(text, " and %u condition%s", conditions, conditions == 1 ? "" : "s");
		rql_strbuf_printf(text, ", by %s on the device, %s%s\n", step->unit ? step->unit : "?",
		                  step->ranges    ? "counts and sums of each row's matches"
		                  : step->nearest ? "the nearest row of each"
		                                  : "keys need not be unique",
		                  step->texts ? ", texts of two dictionaries by hash, compared by bytes" : "");
		rql_put_drawing(text, &step->drawn, 2);
	}
}

const char *rql_join_explain(const struct rql_join_graph *g)
{
	struct rql_strbuf text = {0};
	put_joins(&text, g);
	const char *copy = rql_arena_strdup(g->p->arena, rql_strbuf_text(&text));
	rql_strbuf_free(&text);
	return copy;
}

double rql_join_host_values(const struct rql_join_graph *g, const struct rql_cost *cost)
{
	uint64_t rows[RQL_BLOCK_MAX_TABLES];
	double inner = 0, selected = 0, below = 0, sorted = 0;
	for (uint32_t r = 0; r < g->relation_count; r++) {
		const struct rql_join_relation *relation = &g->relations[r];
		uint64_t all = relation->groups ? (uint64_t)relation->cost.rows_out : rql_join_rows(relation);
		for (const struct rql_join_graph *b = relation->groups; b; b = b->next)
			below += rql_join_host_values(b, b->rows ? &b->cost : &relation->cost);
		if (g->relations[r].side)
			inner += (double)all;
		else
			rows[r] = all;
		selected += r == g->largest ? 0 : (double)all;
	}
	for (uint32_t s = 0; s < g->step_count; s++) {
		const double left = g->relations[g->steps[s].owner].rows, right = g->relations[g->steps[s].relation].rows;
		if (g->steps[s].nearest)
			sorted += (left + right) * RQL_HOST_ASOF_ROW;
		if (g->steps[s].ranges)
			sorted += rql_host_work_ranges(g->steps[s].condition_count, left, right);
	}
	const struct rql_structure *s = g->relations[g->largest].structure;
	const uint64_t rows_largest = rows[g->largest];
	const struct rql_host_work work = {.block = g->block,
	                                   .fact = g->largest,
	                                   .rows = rows,
	                                   .inner_rows = inner,
	                                   .selected = selected,
	                                   .passed = cost->cells,
	                                   .groups = g->rows ? 0 : cost->groups > 0 ? cost->groups : cost->rows_out,
	                                   .snapshot = s->snapshot,
	                                   .column_ids = s->column_ids};
	unsigned threads = rql_pool_threads(g->p->ctx->devices->device[0].pool);
	const double given = g->rows ? rql_join_rows_host_values(g->rows, cost) : 0;
	return below + (rql_host_work_values(&work) + given + sorted) * rql_host_idle_factor(threads, rows_largest);
}

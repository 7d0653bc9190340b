/* Rows that a plan needs while it is made: of a dimension's tables, or of a subquery that joins by its keys. They are
 * planned as a statement of their own would be, and run at once. */
#include <string.h>
#include "plan/leaf.h"

static bool is_table(const struct rql_structure *s, const struct rql_table_ref *ref)
{
	const char *database, *schema, *table;
	if (s->kind != RQL_STRUCTURE_COLUMNS || !s->table_count)
		return s->kind == RQL_STRUCTURE_COLUMNS && s->state != RQL_STATE_INVALID; /* not bound yet: it may be */
	rql_table_name(s->tables[0], &database, &schema, &table);
	return !strcmp(table, ref->table) && !strcmp(schema, ref->schema) && !strcmp(database, ref->catalog);
}

bool rql_subplan_has_columns(const struct rql_planning *p, const struct rql_table_ref *table)
{
	for (uint32_t i = 0; i < p->structure_count; i++)
		if (is_table(p->structures[i], table))
			return true;
	return false;
}

static bool reads_columns(const struct rql_planning *p, const struct rql_rel *rel)
{
	bool found = rel->kind == RQL_REL_GET && rql_subplan_has_columns(p, &rel->table);
	for (uint32_t i = 0; i < rel->child_count && !found; i++)
		found = reads_columns(p, rel->children[i]);
	return found;
}

static rql_status run(struct rql_planning *sub, struct rql_batch **out)
{
	struct rql_flow flow = rql_plan_flow(sub->ctx, sub->ctx->progress);
	struct rql_run_stats stats;
	const struct rql_leaf *failed;
	struct rql_error why = {0};
	rql_status status = rql_flow_run(&flow, sub->nodes->tree, out, &stats, NULL, &failed, &why);
	if (status == RQL_ERROR_MEMORY || status == RQL_ERROR_INTERRUPTED) {
		rql_error_move(sub->err, &why);
		return status;
	}
	rql_error_clear(&why); /* whatever it was, the host decides */
	return RQL_OK;
}

static rql_status plan_and_run(struct rql_planning *sub, const struct rql_rel *rel, struct rql_batch **out)
{
	bool covered = false;
	RQL_TRY(rql_planning_cover(sub, rel, &covered));
	if (!covered || !sub->nodes->leaf_count)
		return RQL_OK;
	RQL_TRY(rql_planning_decide(sub));
	return sub->plan->kind == RQL_PLAN_METHOD ? run(sub, out) : RQL_OK;
}

/* For EXPLAIN; in p's arena. */
static const char *describe(const struct rql_planning *p, const struct rql_planning *sub, const struct rql_batch *rows)
{
	const char *text = rows ? rql_arena_printf(p->arena, "by %s of %s%s", sub->plan->method, sub->plan->structure,
	                                           rql_operator_needs_host(sub->nodes->tree) ? ", finished by the host" : "")
	                        : rql_arena_printf(p->arena, "by the host: %s", sub->why_not ? sub->why_not : "no columns index serves it");
	return text ? text : "";
}

rql_status rql_subplan_rows(struct rql_planning *p, struct rql_rel *rel, struct rql_batch **out, const char **how,
                            struct rql_error *err)
{
	struct rql_arena *arena = rql_arena_new();
	struct rql_settings settings = *p->ctx->settings;
	struct rql_plan_context ctx = *p->ctx;
	struct rql_plan plan = {.kind = RQL_PLAN_HOST, .arena = arena, .reason = "", .structure = ""};
	struct rql_plan_nodes nodes = {.root = rel};
	struct rql_planning sub = {.ctx = &ctx,
	                           .arena = arena,
	                           .plan = &plan,
	                           .nodes = &nodes,
	                           .is_subplan = true,
	                           .structures = p->structures,
	                           .structure_count = p->structure_count,
	                           .err = err};
	*out = NULL;
	*how = "";
	if (!arena)
		return rql_error_memory(err, 0, "a plan");
	/* The rows become a map in the host's memory, and a shape that a GPU's driver has not seen takes longer than that. */
	settings.only = NULL;
	settings.unit_forced = true;
	settings.unit = RQL_UNIT_CPU;
	settings.layout[0] = 0;
	settings.auto_columns = false;
	ctx.settings = &settings;
	rql_status status = reads_columns(p, rel) ? plan_and_run(&sub, rel, out) : RQL_OK;
	*how = describe(p, &sub, *out);
	if (!*out && !p->to_refresh)
		p->to_refresh = sub.to_refresh;
	p->refresh_first |= !*out && sub.to_refresh;
	while (nodes.leaf_count) /* the last first: a node may have been replaced twice */
		rql_leaf_drop(&nodes.leaves[--nodes.leaf_count]);
	rql_arena_free(arena);
	return status;
}

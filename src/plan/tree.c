/* The operators of a plan: its leaves, what RayQL does with their rows itself, and the host for all else. */
#include "plan/plan_nodes.h"

struct building {
	struct rql_plan_nodes *nodes;
	struct rql_arena *arena;
	const char *reason; /* the first thing that RayQL does not do itself */
	bool failed;        /* out of memory */
};

static struct rql_operator *new_operator(struct building *b, enum rql_operator_kind kind, const struct rql_rel *rel,
                                         uint32_t inputs)
{
	struct rql_operator *op = RQL_NEW(b->arena, struct rql_operator);
	struct rql_operator **list = RQL_NEW_ARRAY(b->arena, struct rql_operator *, inputs);
	b->failed |= !op || !list;
	if (b->failed)
		return NULL;
	*op = (struct rql_operator){.kind = kind, .rel = rel, .input_count = inputs, .inputs = list};
	return op;
}

static const struct rql_leaf *leaf_of(const struct building *b, const struct rql_rel *rel)
{
	for (uint32_t i = 0; i < b->nodes->leaf_count; i++)
		if (b->nodes->leaves[i].rel == rel)
			return &b->nodes->leaves[i];
	return NULL;
}

static struct rql_operator *method(struct building *b, const struct rql_leaf *leaf)
{
	struct rql_operator *op = new_operator(b, RQL_OPERATOR_METHOD, leaf->rel, 0);
	if (op)
		op->leaf = leaf;
	return op;
}

/* Without the host, or NULL: something in rel is not for RayQL. */
static struct rql_operator *native(struct building *b, const struct rql_rel *rel)
{
	const struct rql_leaf *leaf = leaf_of(b, rel);
	const char *reason = NULL;
	if (leaf)
		return method(b, leaf);
	if (!rql_operator_is_native(b->arena, rel, &reason)) {
		b->reason = b->reason ? b->reason : reason;
		return NULL;
	}
	struct rql_operator *op = new_operator(b, RQL_OPERATOR_NATIVE, rel, rel->child_count);
	for (uint32_t i = 0; op && i < rel->child_count; i++)
		if (!(op->inputs[i] = native(b, rel->children[i])))
			return NULL;
	return op;
}

static bool is_below(const struct rql_rel *rel, const struct rql_rel *below)
{
	bool found = rel == below;
	for (uint32_t i = 0; i < rel->child_count && !found; i++)
		found = is_below(rel->children[i], below);
	return found;
}

/* rel as SQL over the leaves below it. */
static struct rql_operator *host(struct building *b, const struct rql_rel *rel)
{
	struct rql_operator *op = new_operator(b, RQL_OPERATOR_HOST, rel, b->nodes->leaf_count);
	if (!op)
		return NULL;
	op->input_count = 0;
	for (uint32_t i = 0; i < b->nodes->leaf_count && !b->failed; i++)
		if (is_below(rel, b->nodes->leaves[i].rel))
			op->inputs[op->input_count++] = method(b, &b->nodes->leaves[i]);
	op->reads_tables = b->nodes->partial;
	op->reason = b->nodes->partial                ? "other tables are the host's"
	             : b->nodes->leaf_count > 1 ? "several results are put together"
	                                        : b->reason;
	return op;
}

static bool print_input(struct rql_strbuf *out, const struct rql_rel *rel, void *state)
{
	const struct rql_operator *op = state;
	for (uint32_t i = 0; i < op->input_count; i++) {
		if (op->inputs[i]->rel == rel) {
			rql_strbuf_put(out, "input");
			return true;
		}
	}
	return false;
}

static bool can_print(struct rql_operator *op)
{
	struct rql_strbuf trial = {0};
	bool possible = rql_rel_print(&trial, op->rel, print_input, op);
	rql_strbuf_free(&trial);
	return possible;
}

rql_status rql_plan_tree(struct rql_plan_nodes *nodes, struct rql_arena *arena, bool *possible, const char **reason,
                         struct rql_error *err)
{
	struct building b = {.nodes = nodes, .arena = arena};
	nodes->tree = nodes->partial ? NULL : native(&b, nodes->root);
	if (!nodes->tree && !b.failed)
		nodes->tree = host(&b, nodes->root);
	if (b.failed)
		return rql_error_memory(err, 0, "a plan");
	*possible = nodes->tree->kind != RQL_OPERATOR_HOST || can_print(nodes->tree);
	*reason = nodes->tree->reason;
	return RQL_OK;
}

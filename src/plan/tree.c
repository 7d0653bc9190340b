/* The operators of a plan: its leaves, what RayQL does with their rows itself, and the host for all else. RayQL's parts are
 * as large as they can be; the host gets what is left as one statement over their rows. Where both could, the price says. */
#include "plan/price_tree.h"

struct building {
	struct rql_plan_nodes *nodes;
	struct rql_arena *arena;
	struct rql_known_rows known; /* and the common table expressions whose rows RayQL has */
	double host_statement_ns;
	const char *reason; /* the first thing that RayQL does not do itself */
	bool without_host;  /* what needs the host is not built */
	bool failed;        /* out of memory */
};

static struct rql_operator *build(struct building *b, const struct rql_rel *rel);

static struct rql_operator *new_operator(struct building *b, enum rql_operator_kind kind, const struct rql_rel *rel,
                                         uint32_t inputs)
{
	struct rql_operator *op = RQL_NEW(b->arena, struct rql_operator);
	struct rql_operator **list = RQL_NEW_ARRAY(b->arena, struct rql_operator *, inputs);
	b->failed |= !op || !list;
	if (b->failed)
		return NULL;
	*op = (struct rql_operator){.kind = kind, .rel = rel, .input_count = inputs, .inputs = list};
	op->rows = rql_expected_rows(&b->known, rel);
	if (kind == RQL_OPERATOR_NATIVE)
		op->ns = rql_price_native(&b->known, rel);
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

static bool is_shared(const struct building *b, const struct rql_rel *rel)
{
	for (const struct rql_known_cte *c = b->known.ctes; c && rel->kind == RQL_REL_CTE_REF; c = c->next)
		if (c->cte == rel->cte)
			return true;
	return false;
}

static bool is_native(struct building *b, const struct rql_rel *rel)
{
	const char *reason = NULL;
	if (is_shared(b, rel) || rql_operator_is_native(b->arena, rel, &reason))
		return true;
	if (rel->kind != RQL_REL_GET)
		b->reason = b->reason ? b->reason : reason;
	return false;
}

/* ---- HOST ---- */

static uint32_t node_count(const struct rql_rel *rel)
{
	uint32_t n = 1;
	for (uint32_t i = 0; i < rel->child_count; i++)
		n += node_count(rel->children[i]);
	return n;
}

static bool has_rows(const struct rql_operator *op)
{
	bool has = op->kind == RQL_OPERATOR_METHOD || op->rel->kind == RQL_REL_CTE_REF;
	for (uint32_t i = 0; i < op->input_count && !has; i++)
		has = has_rows(op->inputs[i]);
	return has;
}

/* Is it cheaper to lend the host these rows than those that they are made of? */
static double lending(const struct rql_operator *op)
{
	if (op->kind != RQL_OPERATOR_NATIVE || !op->input_count)
		return rql_price_lending(op->rows, op->rel->column_count);
	double sum = 0;
	for (uint32_t i = 0; i < op->input_count; i++)
		sum += lending(op->inputs[i]);
	return sum;
}

static bool pays(struct building *b, const struct rql_operator *op)
{
	if (op->kind == RQL_OPERATOR_METHOD || op->rel->kind == RQL_REL_CTE_REF)
		return true;
	return has_rows(op) && rql_price_tree(op) + rql_price_lending(op->rows, op->rel->column_count) <
	                           lending(op) + rql_price_in_host(&b->known, op->rel);
}

/* RayQL's rows below rel, each as large a part as pays; what the host does with them. */
static void collect(struct building *b, const struct rql_rel *rel, struct rql_operator *host)
{
	bool before = b->without_host;
	const struct rql_known_rows alone = {b->known.nodes, 1, b->known.ctes}; /* rows in memory are read by one thread */
	host->ns += rql_price_in_host(&alone, rel);
	host->reads_tables |= rel->kind == RQL_REL_GET;
	for (uint32_t i = 0; i < rel->child_count && !b->failed; i++) {
		b->without_host = true;
		struct rql_operator *op = build(b, rel->children[i]);
		b->without_host = before;
		if (!op || !pays(b, op)) {
			collect(b, rel->children[i], host);
			continue;
		}
		host->inputs[host->input_count++] = op;
		host->ns += rql_price_lending(op->rows, op->rel->column_count);
	}
}

/* rel as SQL over rows of operators below it. */
static struct rql_operator *host(struct building *b, const struct rql_rel *rel)
{
	struct rql_operator *op = new_operator(b, RQL_OPERATOR_HOST, rel, node_count(rel));
	const char *reason = b->reason;
	if (!op)
		return NULL;
	op->input_count = 0;
	op->ns = b->host_statement_ns;
	collect(b, rel, op);
	op->reason = op->reads_tables ? "other tables are the host's" : reason ? reason : "the host is cheaper";
	return op;
}

/* ---- NATIVE ---- */

static bool reads_tables(const struct rql_operator *op)
{
	bool reads = op->reads_tables;
	for (uint32_t i = 0; i < op->input_count && !reads; i++)
		reads = reads_tables(op->inputs[i]);
	return reads;
}

/* The host reads its own tables, and does what is above them, in one statement; and one is better than two. */
static bool better_by_host(const struct rql_operator *op)
{
	uint32_t hosts = 0;
	for (uint32_t i = 0; i < op->input_count; i++)
		hosts += rql_operator_needs_host(op->inputs[i]);
	return hosts > 1 || reads_tables(op);
}

static struct rql_operator *native(struct building *b, const struct rql_rel *rel)
{
	struct rql_operator *op = new_operator(b, RQL_OPERATOR_NATIVE, rel, rel->child_count);
	struct rql_known_cte cte = {.cte = rel->cte, .next = b->known.ctes};
	for (uint32_t i = 0; op && i < rel->child_count; i++) {
		if (rel->kind == RQL_REL_CTE && i == 1) {
			cte.rows = op->inputs[0]->rows;
			b->known.ctes = &cte;
		}
		op->inputs[i] = build(b, rel->children[i]);
		b->known.ctes = cte.next;
		if (!op->inputs[i])
			return NULL;
	}
	return op;
}

static struct rql_operator *build(struct building *b, const struct rql_rel *rel)
{
	const struct rql_leaf *leaf = leaf_of(b, rel);
	if (b->failed)
		return NULL;
	if (leaf)
		return method(b, leaf);
	if (!is_native(b, rel))
		return b->without_host ? NULL : host(b, rel);
	struct rql_operator *op = native(b, rel);
	return op && better_by_host(op) ? host(b, rel) : op;
}

/* ---- the whole ---- */

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

/* What the host would have to do can be written as SQL. */
static bool can_print(struct rql_operator *op)
{
	bool possible = true;
	if (op->kind == RQL_OPERATOR_HOST) {
		struct rql_strbuf trial = {0};
		possible = rql_rel_print(&trial, op->rel, print_input, op);
		rql_strbuf_free(&trial);
	}
	for (uint32_t i = 0; i < op->input_count && possible; i++)
		possible = can_print(op->inputs[i]);
	return possible;
}

static const char *reason_of(const struct rql_operator *op)
{
	const char *reason = op->reason;
	for (uint32_t i = 0; i < op->input_count && !reason; i++)
		reason = reason_of(op->inputs[i]);
	return reason;
}

rql_status rql_plan_tree(struct rql_plan_nodes *nodes, struct rql_arena *arena, const struct rql_known_rows *known,
                         double host_statement_ns, bool *possible, const char **reason, struct rql_error *err)
{
	struct building b = {
		.nodes = nodes, .arena = arena, .known = *known, .host_statement_ns = host_statement_ns};
	nodes->tree = build(&b, nodes->root);
	if (nodes->tree && !rql_operator_needs_host(nodes->tree) && nodes->tree->kind == RQL_OPERATOR_NATIVE) {
		struct rql_operator *other = host(&b, nodes->root);
		if (other && rql_price_tree(other) < rql_price_tree(nodes->tree) && can_print(other))
			nodes->tree = other;
	}
	if (b.failed || !nodes->tree)
		return rql_error_memory(err, 0, "a plan");
	*possible = can_print(nodes->tree);
	*reason = reason_of(nodes->tree);
	return RQL_OK;
}

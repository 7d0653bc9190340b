/* Covers of a plan: see the header. */
#include "plan/price/memo.h"

#include <math.h>
#include <string.h>

#define NEVER ((double)INFINITY)
enum way { BY_METHOD, BY_OPERATOR, BY_HOST, WAYS };

struct group {
	const struct rql_rel *rel;
	const struct rql_known_cte *ctes;
	struct group *next;
	uint32_t child_count;     /* 0: nothing was found below a leaf */
	struct group **children;  /* as RayQL's operator has them */
	struct group **in_host;   /* as a statement of the host's has them: it has its shared rows itself */
	const struct rql_leaf *leaf;
	struct group *as;         /* what is made of leaves in its place; NULL: nothing is */
	const char *not_native;   /* why it is no operator of RayQL's; NULL: it is one */
	double saved_ns;          /* what RayQL's operator above does not ask of a join: its pairs; */
	double own_ns;            /* RayQL's operator, without what is below it; */
	const struct rql_pairs_offer *pairs; /* of a join: who finds its pairs for it; NULL: it does itself */
	double rows;
	double ns[WAYS];          /* until its rows are RayQL's */
	enum way best;
	double alone;             /* RayQL's rows without the host: a method or operators; */
	double alone_found;       /* by what was found */
	/* What the host takes for it within a statement: reading its tables only; with rows of nodes below it lent; itself lent;
	 * the lesser of these two. */
	double of_tables, over, lent, mixed;
	bool over_as;             /* `over` is of `as` */
	double host_ns;           /* of_tables, also where leaves are forced */
	bool by_itself;           /* RayQL's operator is over children without the host */
	uint32_t hosts;           /* statements in the best way */
	bool reads_tables;        /* ... one of which reads tables */
	bool has_rows;            /* a leaf or known shared rows are in it */
	bool serial;              /* one thread of the host's works on its rows */
	bool feeds;               /* its rows were read for a GPU, and no method there has taken them yet */
	bool unprintable;         /* as SQL */
};

struct rql_memo {
	const struct rql_memo_spec *spec;
	struct group *groups;
	bool failed; /* out of memory */
};

/* ---- groups ---- */

static struct group *group_of(struct rql_memo *m, const struct rql_rel *rel, const struct rql_known_cte *ctes,
                              double saved_ns);

static bool has_leaf_below(const struct rql_memo *m, const struct rql_rel *rel)
{
	bool has = false;
	for (uint32_t i = 0; i < rel->child_count && !has; i++)
		has = rql_plan_leaf_of(m->spec->nodes, rel->children[i]) || rql_plan_alternative(m->spec->nodes, rel->children[i]) ||
		      has_leaf_below(m, rel->children[i]);
	return has;
}

/* What was found gives its rows: what is below is seldom looked at. */
static bool is_found(const struct group *g)
{
	return g->leaf || g->as;
}

static bool is_known(const struct group *g)
{
	for (const struct rql_known_cte *c = g->ctes; c && g->rel->kind == RQL_REL_CTE_REF; c = c->next)
		if (c->cte == g->rel->cte)
			return true;
	return false;
}

static struct rql_known_rows known(const struct rql_memo *m, const struct group *g, unsigned threads)
{
	return (struct rql_known_rows){m->spec->nodes, threads, g->ctes, m->spec->size_count, m->spec->sizes, false};
}

/* The children that see what an operator of RayQL's, or the host, leaves them of shared rows. */
static bool add_children(struct rql_memo *m, struct group *g)
{
	const struct rql_known_rows all = known(m, g, m->spec->threads);
	const double saved = g->child_count ? rql_price_saved(&all, g->rel) : 0;
	struct rql_known_cte *cte = g->child_count && g->rel->kind == RQL_REL_CTE ? RQL_NEW(m->spec->arena, struct rql_known_cte) : NULL;
	g->children = RQL_NEW_ARRAY(m->spec->arena, struct group *, g->child_count + 1u);
	g->in_host = RQL_NEW_ARRAY(m->spec->arena, struct group *, g->child_count + 1u);
	if (!g->children || !g->in_host || (g->child_count && g->rel->kind == RQL_REL_CTE && !cte))
		return false;
	for (uint32_t i = 0; i < g->child_count; i++) {
		g->children[i] = g->in_host[i] = group_of(m, g->rel->children[i], g->ctes, saved);
		if (!g->children[i])
			return false;
		if (!cte || i != 1)
			continue;
		*cte = (struct rql_known_cte){g->rel->cte, g->children[0]->rows, g->ctes};
		if (!(g->children[i] = group_of(m, g->rel->children[i], cte, saved)))
			return false;
	}
	return true;
}

/* ---- what the host takes ---- */

static void price_of_tables(const struct rql_memo *m, struct group *g)
{
	const struct rql_alternative *alternative = rql_plan_alternative_of(m->spec->nodes, g->rel);
	struct rql_known_rows all = known(m, g, m->spec->threads);
	all.whole = true;
	g->host_ns = alternative && alternative->host_ns > 0 ? alternative->host_ns
	             : g->as                                 ? g->as->host_ns
	             : g->leaf ? m->spec->leaf_host_ns(m->spec->state, g->leaf)
	                       : rql_price_in_host(&all, g->rel);
	g->of_tables = is_known(g) || (is_found(g) && m->spec->forced) ? NEVER : g->host_ns; /* RayQL has known ones */
	for (uint32_t i = 0; i < g->child_count && !is_found(g); i++) {
		g->host_ns += g->in_host[i]->host_ns;
		g->of_tables += g->in_host[i]->of_tables;
	}
}

static bool better_lent(const struct group *child)
{
	return child->mixed < child->of_tables;
}

/* Rows that are lent are read by one thread of the host's, and so is what they become: the most rows decide. */
static bool is_serial(const struct group *g)
{
	double lent = 0, read = 0;
	for (uint32_t i = 0; i < g->child_count; i++) {
		double *most = better_lent(g->in_host[i]) && g->in_host[i]->serial ? &lent : &read;
		*most = fmax(*most, g->in_host[i]->rows);
	}
	return lent > read;
}

/* At least one of its children is lent in part. */
static double price_over_lent(const struct rql_memo *m, const struct group *g)
{
	struct rql_known_rows of = known(m, g, is_serial(g) ? 1 : m->spec->threads);
	double sum = 0, more = NEVER;
	for (uint32_t i = 0; i < g->child_count; i++)
		of.whole |= !better_lent(g->in_host[i]);
	sum += rql_price_in_host(&of, g->rel);
	for (uint32_t i = 0; i < g->child_count; i++) {
		const struct group *child = g->in_host[i];
		const double least = fmin(child->mixed, child->of_tables);
		sum += least;
		if (child->mixed < NEVER)
			more = fmin(more, child->mixed - least);
	}
	return more < NEVER ? sum + more : NEVER;
}

static void price_in_host(const struct rql_memo *m, struct group *g)
{
	const bool lends = g->has_rows && g->alone < NEVER && !g->feeds;
	price_of_tables(m, g);
	g->lent = lends ? g->alone + rql_price_lending(g->rows, g->rel->column_count) : NEVER;
	g->over = price_over_lent(m, g);
	if ((g->over_as = g->as && g->as->mixed < g->over))
		g->over = g->as->mixed;
	g->mixed = fmin(g->lent, g->over);
	g->serial = g->lent <= g->over || is_serial(g);
}

/* ---- what RayQL takes ---- */

/* The host reads its own tables, and does what is above them, in one statement; and one is better than two. */
static bool takes_children(const struct group *g)
{
	uint32_t hosts = 0;
	bool reads = false;
	for (uint32_t i = 0; i < g->child_count; i++) {
		hosts += g->children[i]->hosts;
		reads |= g->children[i]->reads_tables;
	}
	return hosts <= 1 && !reads;
}

/* Does the host read tables for it, within a statement? */
static bool reads_within(const struct group *g)
{
	bool reads = g->rel->kind == RQL_REL_GET || (is_found(g) && !g->child_count);
	if (g->lent <= g->of_tables && g->lent <= g->over)
		return false;
	for (uint32_t i = 0; i < g->child_count && !reads; i++)
		reads = reads_within(g->in_host[i]);
	return reads;
}

static void price_ways(const struct rql_memo *m, struct group *g)
{
	const struct rql_known_rows all = known(m, g, m->spec->threads);
	g->own_ns = g->not_native ? NEVER : rql_price_native(&all, g->rel) - g->saved_ns;
	if (g->own_ns < NEVER && m->spec->pairs_ns)
		g->own_ns = m->spec->pairs_ns(m->spec->planning, &all, g->rel, g->own_ns, &g->pairs);
	double operators = g->own_ns, alone = g->own_ns;
	for (uint32_t i = 0; i < g->child_count; i++) {
		operators += g->children[i]->ns[g->children[i]->best];
		alone += g->children[i]->alone;
	}
	g->feeds = g->leaf ? g->leaf->feeds : g->as && g->as->feeds;
	for (uint32_t i = 0; i < g->child_count && !is_found(g); i++)
		g->feeds |= !g->pairs && g->children[i]->feeds;
	g->ns[BY_METHOD] = g->leaf ? m->spec->leaf_ns(g->leaf) : g->as ? g->as->ns[g->as->best] : NEVER;
	g->by_itself = !takes_children(g);
	g->ns[BY_OPERATOR] = g->by_itself ? alone : operators;
	g->alone_found = g->leaf ? g->ns[BY_METHOD] : g->as ? g->as->alone : NEVER;
	g->alone = g->alone_found < NEVER && m->spec->leaf_first ? g->alone_found : fmin(g->alone_found, alone);
}

/* NULL: RayQL does the node itself. */
static const char *not_native(const struct rql_memo *m, const struct group *g)
{
	const char *reason = NULL;
	if (g->child_count < g->rel->child_count)
		return "a method gives its rows";
	return rql_operator_is_native(m->spec->arena, g->rel, &reason) ? NULL : reason;
}

/* ---- solving ----
 *
 * A group's key is its node and the scope that the node is read in. Both are addresses, which tell groups apart for these
 * reasons:
 * - A memo lives as long as one cover is looked for, and nothing is taken out of the arena meanwhile: no address is another
 *   node's before. Nodes, leaves and what stands for them do not change while it lives.
 * - The values of parameters are constants in the tree, and all of it is of one snapshot. Neither is part of a key.
 * - A scope is made once for each group of a CTE's node, below which alone it is seen. So it has one address, also where the
 *   same number of a CTE is in scope with other rows.
 * - What is above a node is not in the key. A leaf may give the rows alone that its place asks for (wanted.h). So a node
 *   stands in one place of a plan. What takes its place has a copy of it (index_reduction.c), or has it below aggregates
 *   that all see it alike (scan_distinct_leaf.c). */

static void choose(const struct rql_memo *m, struct group *g)
{
	price_in_host(m, g);
	g->ns[BY_HOST] = g->unprintable || g->over_as ? NEVER : m->spec->host_statement_ns + g->over + rql_price_giving(g->rows, g->rel->column_count);
	g->best = BY_METHOD;
	for (enum way w = BY_OPERATOR; w < WAYS; w++)
		if (g->ns[w] < g->ns[g->best] && !(is_found(g) && m->spec->leaf_first))
			g->best = w;
	g->hosts = g->best == BY_HOST ? 1 : g->best == BY_METHOD && g->as ? g->as->hosts : 0;
	g->reads_tables = g->best == BY_METHOD && g->as && g->as->reads_tables;
	for (uint32_t i = 0; i < g->child_count; i++) {
		g->hosts += g->best == BY_OPERATOR && !g->by_itself ? g->children[i]->hosts : 0;
		g->reads_tables |= (g->best == BY_OPERATOR && !g->by_itself && g->children[i]->reads_tables) ||
		                   (g->best == BY_HOST && reads_within(g->in_host[i]));
	}
}

static struct group *group_of(struct rql_memo *m, const struct rql_rel *rel, const struct rql_known_cte *ctes, double saved_ns)
{
	for (struct group *g = m->groups; g; g = g->next)
		if (g->rel == rel && g->ctes == ctes)
			return g;
	struct group *g = RQL_NEW(m->spec->arena, struct group);
	m->failed |= !g;
	if (!g)
		return NULL;
	*g = (struct group){.rel = rel, .ctes = ctes, .leaf = rql_plan_leaf_of(m->spec->nodes, rel), .saved_ns = saved_ns};
	const struct rql_rel *as = rql_plan_alternative(m->spec->nodes, rel);
	if (as && !(g->as = group_of(m, as, ctes, 0)))
		return NULL;
	g->child_count = is_found(g) && !has_leaf_below(m, rel) ? 0 : rel->child_count;
	if (!add_children(m, g)) {
		m->failed = true;
		return NULL;
	}
	const struct rql_known_rows all = known(m, g, m->spec->threads);
	g->rows = rql_expected_rows(&all, rel);
	if (!is_known(g))
		g->not_native = not_native(m, g);
	/* That there are no rows RayQL knows as well as the host; it is worth a plan of its own only where that is all. */
	g->has_rows = is_found(g) || is_known(g) || (rel->kind == RQL_REL_EMPTY && !m->spec->nodes->leaf_count);
	for (uint32_t i = 0; i < g->child_count; i++)
		g->has_rows |= g->children[i]->has_rows;
	price_ways(m, g);
	choose(m, g);
	g->next = m->groups;
	m->groups = g;
	return g;
}

/* ---- the operators of the cheapest ---- */

static struct rql_operator *build(struct rql_memo *m, const struct group *g, bool without_host);

static struct rql_operator *new_operator(struct rql_memo *m, enum rql_operator_kind kind, const struct group *g,
                                         uint32_t inputs)
{
	struct rql_operator *op = RQL_NEW(m->spec->arena, struct rql_operator);
	struct rql_operator **list = RQL_NEW_ARRAY(m->spec->arena, struct rql_operator *, inputs + 1u);
	m->failed |= !op || !list;
	if (m->failed)
		return NULL;
	*op = (struct rql_operator){.kind = kind, .rel = g->rel, .gives = g->rel, .inputs = list, .rows = g->rows};
	return op;
}

static uint32_t node_count(const struct rql_rel *rel)
{
	uint32_t n = 1;
	for (uint32_t i = 0; i < rel->child_count; i++)
		n += node_count(rel->children[i]);
	return n;
}

static void lend_below(struct rql_memo *m, const struct group *g, struct rql_operator *host);

/* The node is lent, or some of what is below it. */
static void lend(struct rql_memo *m, const struct group *g, struct rql_operator *host)
{
	if (g->lent <= g->over) {
		host->inputs[host->input_count++] = build(m, g, true);
		return;
	}
	if (!g->over_as) {
		lend_below(m, g, host);
		return;
	}
	struct rql_alternative *grown = RQL_NEW_ARRAY(m->spec->arena, struct rql_alternative, host->instead_count + 1u);
	if ((m->failed |= !grown))
		return;
	for (uint32_t i = 0; i < host->instead_count; i++)
		grown[i] = host->instead[i];
	grown[host->instead_count++] = (struct rql_alternative){g->rel, g->as->rel, 0};
	host->instead = grown;
	lend(m, g->as, host);
}

/* What of the node's children the host is lent; the others it does itself. */
static void lend_below(struct rql_memo *m, const struct group *g, struct rql_operator *host)
{
	bool some = false;
	uint32_t least = 0;
	for (uint32_t i = 0; i < g->child_count; i++) {
		some |= better_lent(g->in_host[i]);
		if (g->in_host[i]->mixed - g->in_host[i]->of_tables < g->in_host[least]->mixed - g->in_host[least]->of_tables)
			least = i;
	}
	for (uint32_t i = 0; i < g->child_count && !m->failed; i++) {
		const struct group *child = g->in_host[i];
		if (!better_lent(child) && (some || i != least))
			continue;
		lend(m, child, host);
	}
}

static bool is_input(const struct group *g, const struct rql_operator *host)
{
	bool is = false;
	for (uint32_t i = 0; i < host->input_count && !is; i++)
		is = host->inputs[i]->gives == g->rel;
	return is;
}

static bool is_instead(const struct group *g, const struct rql_operator *host)
{
	bool is = false;
	for (uint32_t i = 0; i < host->instead_count && !is; i++)
		is = host->instead[i].of == g->rel;
	return is;
}

static const char *first_reason(const struct group *g, const struct rql_operator *host)
{
	const char *reason = g->rel->kind == RQL_REL_GET ? NULL : g->not_native;
	if (is_input(g, host))
		return NULL;
	if (is_instead(g, host))
		return first_reason(g->as, host);
	for (uint32_t i = 0; i < g->child_count && !reason; i++)
		reason = first_reason(g->in_host[i], host);
	return reason;
}

static bool reads_within_operator(const struct group *g, const struct rql_operator *host)
{
	bool reads = g->rel->kind == RQL_REL_GET || (is_found(g) && !g->child_count);
	if (is_input(g, host))
		return false;
	if (is_instead(g, host))
		return reads_within_operator(g->as, host);
	for (uint32_t i = 0; i < g->child_count && !reads; i++)
		reads = reads_within_operator(g->in_host[i], host);
	return reads;
}

static struct rql_operator *build_host(struct rql_memo *m, const struct group *g)
{
	struct rql_operator *op = new_operator(m, RQL_OPERATOR_HOST, g, node_count(g->rel));
	if (!op)
		return NULL;
	lend_below(m, g, op);
	if (m->failed)
		return NULL;
	op->ns = g->ns[BY_HOST];
	op->reads_tables = reads_within_operator(g, op);
	const char *reason = first_reason(g, op);
	op->reason = op->reads_tables ? "other tables are the host's" : reason ? reason : "the host is cheaper";
	return op;
}

static struct rql_operator *build(struct rql_memo *m, const struct group *g, bool without_host)
{
	const bool method = without_host ? g->alone == g->alone_found : g->best == BY_METHOD;
	if (!without_host && g->best == BY_HOST)
		return build_host(m, g);
	if (method && g->as && !g->leaf) {
		struct rql_operator *as = build(m, g->as, without_host);
		if (as)
			as->gives = g->rel;
		return as;
	}
	struct rql_operator *op =
		new_operator(m, method ? RQL_OPERATOR_METHOD : RQL_OPERATOR_NATIVE, g, method ? 0 : g->child_count);
	if (!op)
		return NULL;
	if (method) {
		op->leaf = g->leaf;
		return op;
	}
	op->ns = g->own_ns;
	op->pairs = g->pairs;
	op->input_count = g->child_count;
	for (uint32_t i = 0; i < g->child_count; i++)
		if (!(op->inputs[i] = build(m, g->children[i], without_host || g->by_itself)))
			return NULL;
	return op;
}

/* ---- the whole ---- */

static bool print_input(struct rql_strbuf *out, const struct rql_rel *rel, void *state)
{
	const struct rql_operator *op = state;
	for (uint32_t i = 0; i < op->input_count; i++) {
		if (op->inputs[i]->gives == rel) {
			rql_strbuf_put(out, "input");
			return true;
		}
	}
	return rql_operator_print_instead(out, op, rel, print_input, state);
}

/* The first operator of the host's that is no SQL; NULL: all are. */
static const struct rql_operator *find_unprintable(struct rql_operator *op)
{
	const struct rql_operator *found = NULL;
	if (op->kind == RQL_OPERATOR_HOST) {
		struct rql_strbuf trial = {0};
		found = rql_rel_print(&trial, op->rel, print_input, op) ? NULL : op;
		rql_strbuf_free(&trial);
	}
	for (uint32_t i = 0; i < op->input_count && !found; i++)
		found = find_unprintable(op->inputs[i]);
	return found;
}

static const char *reason_of(const struct rql_operator *op)
{
	const char *reason = op->reason;
	for (uint32_t i = 0; i < op->input_count && !reason; i++)
		reason = reason_of(op->inputs[i]);
	return reason;
}

/* All prices once more: a node cannot be the host's. Groups stand behind those of their children. */
static void price_again(struct rql_memo *m, struct group *g)
{
	if (!g)
		return;
	price_again(m, g->next);
	price_ways(m, g);
	choose(m, g);
}

/* The nodes of the cover that could be had in another way. */
static void add_ways(const struct group *g, struct rql_memo_cover *out)
{
	uint32_t ways = 0;
	for (enum way w = 0; w < WAYS; w++)
		ways += g->ns[w] < NEVER;
	if (ways > 1 && out->way_count < RQL_MEMO_WAYS) {
		struct rql_memo_ways *to = &out->ways[out->way_count++];
		*to = (struct rql_memo_ways){.rel = g->rel, .taken = (uint32_t)g->best};
		memcpy(to->ns, g->ns, sizeof(g->ns));
	}
	if (g->best == BY_METHOD && g->as)
		add_ways(g->as, out);
	for (uint32_t i = 0; g->best == BY_OPERATOR && i < g->child_count; i++)
		add_ways(g->children[i], out);
}

/* What a node would take without its leaf: by others, or within the host's statement in the place of rows that are lent. */
static double against(const struct group *g)
{
	const double others = fmin(g->ns[BY_OPERATOR], g->ns[BY_HOST]);
	return others < NEVER ? others : g->host_ns - rql_price_lending(g->rows, g->rel->column_count);
}

static void note_against(const struct rql_memo *m, double *out)
{
	for (const struct group *g = m->groups; g; g = g->next)
		if (g->leaf)
			out[g->leaf - m->spec->nodes->leaves] = against(g);
	for (const struct group *g = m->groups; g; g = g->next)
		if (g->as && g->as->child_count == 1 && g->as->children[0]->leaf) /* a projection */
			out[g->as->children[0]->leaf - m->spec->nodes->leaves] =
				against(g) - (g->ns[BY_METHOD] - g->as->children[0]->ns[BY_METHOD]);
}

rql_status rql_memo_cover(const struct rql_memo_spec *spec, struct rql_memo_cover *out, struct rql_error *err)
{
	struct rql_memo m = {.spec = spec};
	struct group *root = group_of(&m, spec->nodes->root, NULL, 0);
	const struct rql_operator *bad = NULL;
	*out = (struct rql_memo_cover){0};
	do {
		if (m.failed)
			return rql_error_memory(err, 0, "a plan");
		if (root->ns[root->best] == NEVER)
			break;
		if (!(out->tree = build(&m, root, false)))
			return rql_error_memory(err, 0, "a plan");
		out->reason = reason_of(out->tree);
		bad = find_unprintable(out->tree);
		for (struct group *g = m.groups; g && bad; g = g->next)
			g->unprintable |= g->rel == bad->rel;
		if (bad)
			price_again(&m, m.groups);
	} while (bad);
	if (bad)
		out->tree = NULL;
	if (!(out->against = RQL_NEW_ARRAY(spec->arena, double, spec->nodes->leaf_count + 1u)))
		return rql_error_memory(err, 0, "a plan");
	note_against(&m, out->against);
	out->ns = root->ns[root->best];
	out->host_ns = spec->host_statement_ns + root->host_ns;
	add_ways(root, out);
	return RQL_OK;
}

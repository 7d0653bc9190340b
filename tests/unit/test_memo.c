/* Covers of a plan beside all that there are: random trees of UNIONs over tables, of which some have leaves; what RayQL does
 * not do itself; leaves that are forced; leaves above leaves; what stands for a node. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plan/price/memo.h"

#define MOST 15u
#define STATEMENT 3000.0

static uint64_t random_state = 88172645463325252;

static uint64_t below(uint64_t n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state % n;
}

struct world {
	struct rql_arena *arena;
	uint32_t count;
	struct rql_rel *rels[MOST]; /* children before their parents */
	uint32_t children[MOST][2];
	struct rql_leaf leaves[MOST];
	struct rql_plan_nodes nodes;
	struct rql_memo_spec spec;
};

static double leaf_ns(const struct rql_leaf *leaf)
{
	return leaf->cost.run_ns;
}

static double leaf_host_ns(const void *state, const struct rql_leaf *leaf)
{
	(void)state;
	return leaf->cost.setup_ns;
}

static struct rql_rel *new_rel(struct world *w, enum rql_rel_kind kind, rql_type_id type)
{
	struct rql_rel *rel = RQL_NEW(w->arena, struct rql_rel);
	*rel = (struct rql_rel){.kind = kind,
	                        .column_count = 1,
	                        .types = RQL_NEW(w->arena, struct rql_type),
	                        .names = RQL_NEW(w->arena, const char *),
	                        .children = RQL_NEW_ARRAY(w->arena, struct rql_rel *, 2),
	                        .column_ids = RQL_NEW(w->arena, uint32_t),
	                        .column_names = RQL_NEW(w->arena, const char *),
	                        .table = {"memory", "main", "t"}};
	rel->types[0].id = type;
	rel->names[0] = rel->column_names[0] = "c";
	w->rels[w->count] = rel;
	w->children[w->count][0] = w->children[w->count][1] = MOST;
	w->count++;
	return rel;
}

static void add_leaf(struct world *w, const struct rql_rel *rel, double ns, double host_ns, double rows)
{
	w->leaves[w->nodes.leaf_count++] =
		(struct rql_leaf){.rel = rel, .cost = {.run_ns = ns, .setup_ns = host_ns, .rows_out = rows}};
}

/* Intervals are no keys of RayQL's, so that it does not make a UNION of them. */
static uint32_t make_node(struct world *w, rql_type_id type, uint32_t depth)
{
	if (!depth || below(4) == 0) {
		const struct rql_rel *rel = new_rel(w, RQL_REL_GET, type);
		if (below(4))
			add_leaf(w, rel, (double)below(20000), (double)below(20000), 1 + (double)below(300));
		return w->count - 1;
	}
	const uint32_t left = make_node(w, type, depth - 1), right = make_node(w, type, depth - 1);
	struct rql_rel *rel = new_rel(w, RQL_REL_SETOP, type);
	rel->setop = RQL_SETOP_UNION;
	rel->setop_all = below(2);
	rel->child_count = 2;
	rel->children[0] = w->rels[w->children[w->count - 1][0] = left];
	rel->children[1] = w->rels[w->children[w->count - 1][1] = right];
	return w->count - 1;
}

static void finish_world(struct world *w, const struct rql_rel *root)
{
	static const struct rql_table_ref table = {"memory", "main", "t"};
	static const struct rql_table_size size = {&table, 100};
	w->nodes.root = root;
	w->nodes.leaves = w->leaves;
	w->spec = (struct rql_memo_spec){.nodes = &w->nodes,
	                                 .arena = w->arena,
	                                 .threads = 1,
	                                 .size_count = 1,
	                                 .sizes = &size,
	                                 .host_statement_ns = STATEMENT,
	                                 .leaf_ns = leaf_ns,
	                                 .leaf_host_ns = leaf_host_ns};
}

static struct world *open_world(void)
{
	struct world *w = calloc(1, sizeof *w);
	assert_non_null(w);
	w->arena = rql_arena_new();
	return w;
}

static void close_world(struct world *w)
{
	rql_arena_free(w->arena);
	free(w);
}

/* ---- one cover: who does each node ---- */

#define NEVER ((double)INFINITY)

struct pricing {
	const struct world *w;
	struct rql_known_rows known;
	uint32_t by_host; /* a bit for each node */
	bool lent, reads; /* of the statement at hand */
	uint32_t hosts;   /* below the node at hand */
	bool reading;     /* ... one reads tables */
};

static const struct rql_leaf *leaf_at(const struct world *w, uint32_t i)
{
	for (uint32_t k = 0; k < w->nodes.leaf_count; k++)
		if (w->leaves[k].rel == w->rels[i])
			return &w->leaves[k];
	return NULL;
}

static double by_rayql(struct pricing *p, uint32_t i, bool within);

static double by_host(struct pricing *p, uint32_t i)
{
	const struct rql_rel *rel = p->w->rels[i];
	double sum = rql_price_in_host(&p->known, rel);
	if (rel->kind == RQL_REL_GET) {
		p->reads = true;
		return leaf_at(p->w, i) ? leaf_at(p->w, i)->cost.setup_ns : sum;
	}
	for (uint32_t c = 0; c < rel->child_count; c++) {
		const uint32_t child = p->w->children[i][c];
		if (p->by_host >> child & 1) {
			sum += by_host(p, child);
			continue;
		}
		p->lent = true;
		sum += by_rayql(p, child, true) + rql_price_lending(rql_expected_rows(&p->known, p->w->rels[child]), 1);
	}
	return sum;
}

static double statement(struct pricing *p, uint32_t i)
{
	struct pricing own = *p;
	own.lent = own.reads = false;
	const struct rql_rel *rel = p->w->rels[i];
	const double sum =
		STATEMENT + by_host(&own, i) + rql_price_giving(rql_expected_rows(&p->known, rel), rel->column_count);
	p->hosts++;
	p->reading |= own.reads;
	return own.lent ? sum : NEVER;
}

static double by_rayql(struct pricing *p, uint32_t i, bool within)
{
	const struct rql_rel *rel = p->w->rels[i];
	const char *reason;
	if (rel->kind == RQL_REL_GET)
		return leaf_at(p->w, i) ? leaf_at(p->w, i)->cost.run_ns : NEVER;
	if (!rql_operator_is_native(p->w->arena, rel, &reason))
		return NEVER;
	double sum = rql_price_native(&p->known, rel);
	for (uint32_t c = 0; c < rel->child_count; c++) {
		const uint32_t child = p->w->children[i][c];
		const bool host = p->by_host >> child & 1;
		sum += host ? within ? NEVER : statement(p, child) : by_rayql(p, child, within);
	}
	return p->hosts > 1 || p->reading ? NEVER : sum;
}

static double best_of_all(const struct world *w, uint32_t root)
{
	double best = NEVER;
	for (uint32_t by = 0; by < 1u << w->count; by++) {
		struct pricing p = {.w = w, .known = {.nodes = &w->nodes, .threads = 1, .size_count = 1, .sizes = w->spec.sizes}, .by_host = by};
		const double ns = by >> root & 1 ? statement(&p, root) : by_rayql(&p, root, false);
		best = ns < best ? ns : best;
	}
	return best;
}

/* What the tree costs by its own prices. */
static double price_tree(const struct rql_operator *op)
{
	double sum = op->kind == RQL_OPERATOR_METHOD ? leaf_ns(op->leaf) : op->ns;
	for (uint32_t i = 0; i < op->input_count && op->kind == RQL_OPERATOR_NATIVE; i++)
		sum += price_tree(op->inputs[i]); /* a statement's price has those of what it is lent */
	return sum;
}

static bool near(double a, double b)
{
	return fabs(a - b) <= 1e-6 * fmax(1, fmax(a, b));
}

static void trees(void **state)
{
	uint32_t mixed = 0, whole = 0;
	(void)state;
	for (uint32_t i = 0; i < 200; i++) {
		struct world *w = open_world();
		struct rql_memo_cover cover;
		const uint32_t root = make_node(w, below(4) ? RQL_TYPE_BIGINT : RQL_TYPE_INTERVAL, 3);
		finish_world(w, w->rels[root]);
		if (w->count <= 9) {
			assert_int_equal(rql_memo_cover(&w->spec, &cover, NULL), RQL_OK);
			const double best = best_of_all(w, root);
			assert_true(best == NEVER ? !cover.tree : cover.tree && near(cover.ns, best));
			assert_true(!cover.tree || near(price_tree(cover.tree), best));
			const bool host = cover.tree && rql_operator_needs_host(cover.tree);
			mixed += host;
			whole += cover.tree && !host;
		}
		close_world(w);
	}
	assert_true(mixed > 10 && whole > 10);
}

/* However dear, each leaf has its part. */
static uint32_t count_methods(const struct rql_operator *op)
{
	uint32_t n = op->kind == RQL_OPERATOR_METHOD;
	for (uint32_t i = 0; i < op->input_count; i++)
		n += count_methods(op->inputs[i]);
	return n;
}

static void forced(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 200; i++) {
		struct world *w = open_world();
		struct rql_memo_cover cover;
		const uint32_t root = make_node(w, below(2) ? RQL_TYPE_BIGINT : RQL_TYPE_INTERVAL, 3);
		finish_world(w, w->rels[root]);
		w->spec.forced = w->spec.leaf_first = true;
		assert_int_equal(rql_memo_cover(&w->spec, &cover, NULL), RQL_OK);
		assert_true(w->count > 9 || !cover.tree == (best_of_all(w, root) == NEVER));
		assert_true(!cover.tree || count_methods(cover.tree) == w->nodes.leaf_count);
		assert_true(cover.host_ns < NEVER);
		close_world(w);
	}
}

/* A leaf of the whole, and two below it: the cheaper ones are taken, and what lost is told. */
static void leaf_above_leaves(void **state)
{
	(void)state;
	for (uint32_t above = 0; above < 2; above++) {
		struct world *w = open_world();
		struct rql_memo_cover cover;
		struct rql_rel *a = new_rel(w, RQL_REL_GET, RQL_TYPE_BIGINT), *b = new_rel(w, RQL_REL_GET, RQL_TYPE_BIGINT);
		struct rql_rel *both = new_rel(w, RQL_REL_SETOP, RQL_TYPE_BIGINT);
		both->setop = RQL_SETOP_UNION;
		both->setop_all = true;
		both->child_count = 2;
		both->children[0] = a;
		both->children[1] = b;
		add_leaf(w, a, 500, 90000, 10);
		add_leaf(w, b, 600, 90000, 10);
		add_leaf(w, both, above ? 100 : 2000, 90000, 20);
		finish_world(w, both);
		assert_int_equal(rql_memo_cover(&w->spec, &cover, NULL), RQL_OK);
		assert_int_equal(cover.tree->kind, above ? RQL_OPERATOR_METHOD : RQL_OPERATOR_NATIVE);
		assert_true(cover.ns < 1400);
		assert_true(near(cover.against[2], cover.ways[0].ns[1]));
		assert_int_equal(cover.ways[0].taken, above ? 0 : 1);
		w->spec.leaf_first = true;
		assert_int_equal(rql_memo_cover(&w->spec, &cover, NULL), RQL_OK);
		assert_int_equal(cover.tree->kind, RQL_OPERATOR_METHOD);
		close_world(w);
	}
}

static bool print_input(struct rql_strbuf *out, const struct rql_rel *rel, void *state)
{
	const struct rql_operator *op = state;
	for (uint32_t i = 0; i < op->input_count; i++)
		if (op->inputs[i]->gives == rel) {
			rql_strbuf_put(out, "lent");
			return true;
		}
	return rql_operator_print_instead(out, op, rel, print_input, state);
}

/* What stands for a node is RayQL's part, or, where it does not do that itself, is written in the node's place. */
static void instead(void **state)
{
	(void)state;
	for (uint32_t native = 0; native < 2; native++) {
		const rql_type_id type = native ? RQL_TYPE_BIGINT : RQL_TYPE_INTERVAL;
		struct world *w = open_world();
		struct rql_memo_cover cover;
		struct rql_alternative alternative;
		struct rql_rel *table = new_rel(w, RQL_REL_GET, type), *found = new_rel(w, RQL_REL_OPAQUE, type);
		struct rql_rel *as = new_rel(w, RQL_REL_SETOP, type), *top = new_rel(w, RQL_REL_SETOP, RQL_TYPE_INTERVAL);
		as->setop = top->setop = RQL_SETOP_UNION;
		as->child_count = top->child_count = 2;
		as->children[0] = as->children[1] = found;
		top->children[0] = top->children[1] = table;
		add_leaf(w, found, 100, 900000, 10);
		alternative = (struct rql_alternative){table, as, 0};
		w->nodes.alternative_count = 1;
		w->nodes.alternatives = &alternative;
		finish_world(w, top);
		assert_int_equal(rql_memo_cover(&w->spec, &cover, NULL), RQL_OK);
		assert_int_equal(cover.tree->kind, RQL_OPERATOR_HOST);
		assert_false(cover.tree->reads_tables);
		assert_int_equal(cover.tree->instead_count > 0, !native);
		assert_ptr_equal(cover.tree->inputs[0]->gives, native ? table : found);
		struct rql_strbuf sql = {0};
		assert_true(rql_rel_print(&sql, cover.tree->rel, print_input, cover.tree));
		assert_null(strstr(rql_strbuf_text(&sql), "memory"));
		assert_non_null(strstr(rql_strbuf_text(&sql), "lent"));
		rql_strbuf_free(&sql);
		close_world(w);
	}
}

/* One node that is read in two scopes is two groups: the same number of a CTE has few rows in one, and many in the other. */
static void scopes(void **state)
{
	static const double rows[] = {10, 100000};
	struct world *w = open_world();
	struct rql_memo_cover cover;
	struct rql_rel *use = new_rel(w, RQL_REL_SETOP, RQL_TYPE_BIGINT), *top = new_rel(w, RQL_REL_SETOP, RQL_TYPE_BIGINT);
	(void)state;
	use->child_count = top->child_count = 2;
	top->setop_all = true;
	for (uint32_t i = 0; i < 2; i++) {
		struct rql_rel *table = new_rel(w, RQL_REL_GET, RQL_TYPE_BIGINT);
		use->children[i] = new_rel(w, RQL_REL_CTE_REF, RQL_TYPE_BIGINT);
		top->children[i] = new_rel(w, RQL_REL_CTE, RQL_TYPE_BIGINT);
		top->children[i]->cte = use->children[i]->cte = 1;
		top->children[i]->child_count = 2;
		top->children[i]->children[0] = table;
		top->children[i]->children[1] = use;
		add_leaf(w, table, 500, 9e9, rows[i]);
	}
	finish_world(w, top);
	assert_int_equal(rql_memo_cover(&w->spec, &cover, NULL), RQL_OK);
	for (uint32_t i = 0; i < 2; i++) {
		const struct rql_operator *cte = cover.tree->inputs[i];
		assert_ptr_equal(cte->inputs[0]->leaf, &w->leaves[i]);
		assert_ptr_equal(cte->inputs[1]->rel, use);
		assert_true(near(cte->inputs[1]->rows, 2 * rows[i]));
	}
	assert_true(cover.tree->inputs[1]->inputs[1]->ns > 100 * cover.tree->inputs[0]->inputs[1]->ns);
	close_world(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trees),
		cmocka_unit_test(forced),
		cmocka_unit_test(leaf_above_leaves),
		cmocka_unit_test(instead),
		cmocka_unit_test(scopes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

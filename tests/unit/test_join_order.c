/* Orders of joins beside the best of all permutations: random trees and graphs with cycles, with outer, semi and anti
 * joins; more relations than are enumerated; what is not connected; EXPLAIN's orders that lost. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "plan/join/join_order.h"

#define MOST 7u

static uint64_t random_state = 88172645463325252;

static uint64_t below(uint64_t n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state % n;
}

/* Any price will do that depends on all that it is given. */
static double price(const struct rql_profile *profile, const struct rql_pair_size *size)
{
	return profile->pass_ns + (size->rows[0] * size->row_bytes[0] + size->rows[1] * size->row_bytes[1]) * 3 +
	       size->out_rows * size->out_bytes;
}

struct world {
	struct rql_join_order_relation relations[RQL_JOIN_ORDER_RELATIONS];
	struct rql_join_order_edge edges[64];
	struct rql_profile profile;
	struct rql_join_order_graph graph;
};

static void add_edge(struct world *w, uint32_t a, uint32_t b)
{
	const double rows = fmax(w->relations[a].rows, w->relations[b].rows);
	w->edges[w->graph.edge_count++] = (struct rql_join_order_edge){
		.a = a, .b = b, .distinct = 1 + (double)below((uint64_t)rows), .bytes = below(2) ? 4 : 8};
}

static bool has_edge(const struct world *w, uint32_t a, uint32_t b)
{
	for (uint32_t e = 0; e < w->graph.edge_count; e++)
		if ((w->edges[e].a == a && w->edges[e].b == b) || (w->edges[e].a == b && w->edges[e].b == a))
			return true;
	return false;
}

/* A tree, more edges between inner relations, and perhaps sides at the end. */
static void make_world(struct world *w, uint32_t count, uint32_t more)
{
	static const enum rql_lookup_kind kinds[] = {RQL_LOOKUP_LEFT, RQL_LOOKUP_SEMI, RQL_LOOKUP_ANTI};
	const uint32_t sides = count > 2 ? (uint32_t)below(3) : 0;
	*w = (struct world){.profile = {.pass_ns = 100}};
	w->graph = (struct rql_join_order_graph){.relation_count = count,
	                                         .relations = w->relations,
	                                         .edges = w->edges,
	                                         .pair_ns = price,
	                                         .profile = &w->profile};
	for (uint32_t r = 0; r < count; r++) {
		w->relations[r] = (struct rql_join_order_relation){.rows = pow(10, (double)below(60) / 10),
		                                                   .bytes = (double)(4 * below(5)),
		                                                   .kind = RQL_LOOKUP_INNER};
		if (r + sides >= count && r)
			w->relations[r].kind = kinds[below(3)];
		if (r)
			add_edge(w, (uint32_t)below(r), r);
	}
	for (uint32_t i = 0; i < more; i++) {
		const uint32_t a = (uint32_t)below(count - sides), b = (uint32_t)below(count - sides);
		if (a != b && !has_edge(w, a, b))
			add_edge(w, a, b);
	}
}

/* ---- the price of one order, and the best of all ---- */

static bool gives(const struct world *w, uint32_t r)
{
	return w->relations[r].kind == RQL_LOOKUP_INNER || w->relations[r].kind == RQL_LOOKUP_LEFT;
}

static double width(const struct world *w, uint32_t set)
{
	double sum = 0;
	for (uint32_t r = 0; r < w->graph.relation_count; r++)
		sum += set >> r & 1 && gives(w, r) ? w->relations[r].bytes : 0;
	for (uint32_t e = 0; e < w->graph.edge_count; e++)
		sum += (set >> w->edges[e].a & 1) != (set >> w->edges[e].b & 1) ? w->edges[e].bytes : 0;
	return sum < 4 ? 4 : sum;
}

/* Of those that lead from the set to r, the most selective; NULL: none does, or a side's owner is not there. */
static const struct rql_join_order_edge *best_edge(const struct world *w, uint32_t set, uint32_t r)
{
	const struct rql_join_order_edge *best = NULL;
	for (uint32_t e = 0; e < w->graph.edge_count; e++) {
		const struct rql_join_order_edge *edge = &w->edges[e];
		const uint32_t other = edge->a == r ? edge->b : edge->a;
		if ((edge->a != r && edge->b != r) || !(set >> other & 1) ||
		    (w->relations[r].kind != RQL_LOOKUP_INNER && edge->b != r))
			continue;
		if (!best || edge->distinct > best->distinct)
			best = edge;
	}
	return best;
}

/* Infinity: it is no order. */
static double add_price(const struct world *w, uint32_t set, uint32_t r, double *rows)
{
	const struct rql_join_order_edge *edge = best_edge(w, set, r);
	double bytes = edge ? edge->bytes + (gives(w, r) ? w->relations[r].bytes : 0) : 0;
	if (!edge)
		return (double)INFINITY;
	for (uint32_t e = 0; e < w->graph.edge_count; e++) {
		const uint32_t other = w->edges[e].a == r ? w->edges[e].b : w->edges[e].a;
		if ((w->edges[e].a == r || w->edges[e].b == r) && !(set >> other & 1))
			bytes += w->edges[e].bytes;
	}
	struct rql_pair_size size = {.rows = {*rows, w->relations[r].rows}, .row_bytes = {width(w, set), bytes}};
	*rows = rql_join_order_rows(w->relations[r].kind, *rows, w->relations[r].rows, edge->distinct);
	size.out_rows = *rows;
	size.out_bytes = width(w, set | 1u << r);
	return price(&w->profile, &size);
}

static double best_of_all(const struct world *w, uint32_t set, double rows)
{
	double best = (double)INFINITY;
	if (set == (1u << w->graph.relation_count) - 1)
		return 0;
	for (uint32_t r = 0; r < w->graph.relation_count; r++) {
		double next = rows, ns;
		if (set >> r & 1)
			continue;
		if (!set)
			ns = w->relations[r].kind == RQL_LOOKUP_INNER ? best_of_all(w, 1u << r, w->relations[r].rows) : (double)INFINITY;
		else if ((ns = add_price(w, set, r, &next)) < (double)INFINITY)
			ns += best_of_all(w, set | 1u << r, next);
		best = ns < best ? ns : best;
	}
	return best;
}

/* What was found is an order, and costs what it says. */
static double check_order(const struct world *w, const struct rql_join_order *order)
{
	uint32_t set = 1u << order->first;
	double rows = w->relations[order->first].rows, ns = 0;
	assert_int_equal(w->relations[order->first].kind, RQL_LOOKUP_INNER);
	assert_int_equal(order->step_count, w->graph.relation_count - 1);
	for (uint32_t s = 0; s < order->step_count; s++) {
		const uint32_t r = order->steps[s].relation;
		assert_false(set >> r & 1);
		assert_ptr_equal(best_edge(w, set, r), &w->edges[order->steps[s].edge]);
		ns += add_price(w, set, r, &rows);
		set |= 1u << r;
	}
	assert_true(fabs(ns - order->ns) <= 1e-6 * ns);
	assert_true(fabs(rows - order->rows) <= 1e-6 * rows);
	return ns;
}

static bool near(double a, double b)
{
	return fabs(a - b) <= 1e-6 * fmax(a, b);
}

static void find(const struct world *w, struct rql_join_order *order)
{
	struct rql_arena *arena = rql_arena_new();
	bool enough = false;
	assert_true(rql_join_order_find(arena, &w->graph, order, &enough));
	assert_true(enough);
	rql_arena_free(arena);
}

static void trees(void **state)
{
	struct rql_join_order order;
	struct world w;
	(void)state;
	for (uint32_t i = 0; i < 600; i++) {
		make_world(&w, 1 + (uint32_t)below(MOST), 0);
		find(&w, &order);
		assert_true(near(check_order(&w, &order), best_of_all(&w, 0, 0)));
	}
}

/* Orders differ in rows, too, of which a few are remembered. */
static void cycles(void **state)
{
	uint32_t best = 0, n = 400;
	struct rql_join_order order;
	struct world w;
	(void)state;
	for (uint32_t i = 0; i < n; i++) {
		make_world(&w, 3 + (uint32_t)below(MOST - 2), 1 + (uint32_t)below(5));
		find(&w, &order);
		const double ns = check_order(&w, &order), all = best_of_all(&w, 0, 0);
		assert_true(ns >= all * (1 - 1e-6));
		assert_true(ns <= all * 1.5);
		best += near(ns, all);
	}
	assert_true(best >= n * 99 / 100);
}

/* The runner-up ends with another relation, and is the best of those that do. */
static void lost(void **state)
{
	struct rql_join_order order;
	struct world w;
	(void)state;
	for (uint32_t i = 0; i < 200; i++) {
		make_world(&w, 3 + (uint32_t)below(4), 0);
		find(&w, &order);
		for (uint32_t k = 0; k < order.lost_count; k++) {
			const uint32_t last = order.lost[k].last, all = (1u << w.graph.relation_count) - 1;
			assert_int_not_equal(last, order.steps[order.step_count - 1].relation);
			assert_true(order.lost[k].ns >= order.ns * (1 - 1e-6));
			assert_true(!k || order.lost[k].ns >= order.lost[k - 1].ns);
			assert_true(last < w.graph.relation_count && best_edge(&w, all & ~(1u << last), last) != NULL);
		}
	}
}

static void many(void **state)
{
	struct rql_join_order order;
	struct world w;
	(void)state;
	for (uint32_t count = RQL_JOIN_ORDER_EXACT - 1; count <= RQL_JOIN_ORDER_RELATIONS; count++) {
		make_world(&w, count, 6);
		find(&w, &order);
		check_order(&w, &order);
	}
}

/* A chain that begins with few rows: the largest is not where to begin. */
static void selective_end(void **state)
{
	struct rql_join_order order;
	struct world w = {.profile = {.pass_ns = 100},
	                  .relations = {{6e6, 4, RQL_LOOKUP_INNER}, {1.5e6, 4, RQL_LOOKUP_INNER}, {10, 4, RQL_LOOKUP_INNER}},
	                  .edges = {{0, 1, 1.5e6, 4}, {1, 2, 1e5, 4}}};
	w.graph = (struct rql_join_order_graph){3, 2, w.relations, w.edges, price, &w.profile};
	(void)state;
	find(&w, &order);
	check_order(&w, &order);
	assert_int_equal(order.steps[1].relation, 0);
	assert_true(near(order.rows, 600));
}

static void apart(void **state)
{
	struct rql_arena *arena = rql_arena_new();
	struct rql_join_order order;
	struct world w;
	bool enough = false;
	(void)state;
	for (uint32_t count = 3; count < RQL_JOIN_ORDER_RELATIONS; count += 11) {
		make_world(&w, count, 0);
		w.graph.edge_count = count - 2; /* nothing leads to the last */
		assert_false(rql_join_order_find(arena, &w.graph, &order, &enough));
		assert_true(enough);
	}
	rql_arena_free(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trees), cmocka_unit_test(cycles),        cmocka_unit_test(lost),
		cmocka_unit_test(many),  cmocka_unit_test(selective_end), cmocka_unit_test(apart),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

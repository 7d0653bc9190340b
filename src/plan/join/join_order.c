/* Orders of joins: see the header. */
#include "plan/join/join_order.h"

#include <math.h>
#include <string.h>

#define ANTI_SHARE 0.5    /* of rows without a match, a guess */
#define FIELD_BYTES 4.0   /* some column is handed on, so that there are rows to count */
#define OFFERS 3u         /* of a set: edges that no order uses are tested above, so that orders differ in rows, too */
#define NO_OFFER UINT8_MAX

/* One way to have the rows of a set. */
struct offer {
	double ns, rows;
	uint32_t edge;
	uint8_t last, before; /* the relation that was joined last; the offer of the set without it. NO_OFFER: there is none */
};
struct group {
	double bytes; /* of a row: what is read above, and the keys that lead out of the set */
	uint32_t offer_count;
	struct offer offers[OFFERS];
};

struct ordering {
	const struct rql_join_order_graph *graph;
	struct rql_join_order *out;
	uint32_t edge_of[RQL_JOIN_ORDER_RELATIONS][RQL_JOIN_ORDER_RELATIONS]; /* plus 1; 0: none */
	uint32_t next_to[RQL_JOIN_ORDER_RELATIONS];                      /* relations that it has edges to, a bit each */
};

double rql_join_order_rows(enum rql_lookup_kind kind, double outer, double inner, double distinct)
{
	const double pairs = outer * inner / distinct, share = fmin(1, inner / distinct);
	switch (kind) {
	case RQL_LOOKUP_INNER:
		return pairs;
	case RQL_LOOKUP_LEFT:
		return fmax(pairs, outer);
	case RQL_LOOKUP_SEMI:
		return outer * share;
	default:
		return outer * (1 - ANTI_SHARE * share);
	}
}

static const struct rql_join_order_relation *relation(const struct ordering *o, uint32_t r)
{
	return &o->graph->relations[r];
}

static bool hands_on(enum rql_lookup_kind kind)
{
	return kind == RQL_LOOKUP_INNER || kind == RQL_LOOKUP_LEFT;
}

static double set_bytes(const struct ordering *o, uint32_t set)
{
	double sum = 0;
	for (uint32_t r = 0; r < o->graph->relation_count; r++)
		sum += set >> r & 1 && hands_on(relation(o, r)->kind) ? relation(o, r)->bytes : 0;
	for (uint32_t e = 0; e < o->graph->edge_count; e++) {
		const struct rql_join_order_edge *edge = &o->graph->edges[e];
		sum += (set >> edge->a & 1) != (set >> edge->b & 1) ? edge->bytes : 0;
	}
	return fmax(FIELD_BYTES, sum);
}

/* The edge by which a relation is joined to the set: of several the one that leaves the fewest rows. RQL_NONE: it cannot
 * be joined yet. */
static uint32_t edge_to(const struct ordering *o, uint32_t set, uint32_t r)
{
	uint32_t best = RQL_NONE;
	if (set >> r & 1 || !(o->next_to[r] & set) || relation(o, r)->needs & ~set)
		return RQL_NONE;
	for (uint32_t owner = 0; owner < o->graph->relation_count; owner++) {
		const uint32_t e = set >> owner & 1 ? o->edge_of[r][owner] : 0;
		if (!e || (relation(o, r)->kind != RQL_LOOKUP_INNER && o->graph->edges[e - 1].b != r))
			continue;
		if (best == RQL_NONE || o->graph->edges[e - 1].distinct > o->graph->edges[best].distinct)
			best = e - 1;
	}
	return best;
}

/* The set's rows by this offer, joined with r. */
static struct offer make_step(const struct ordering *o, const struct offer *from, double from_bytes, uint32_t set,
                              double bytes, uint32_t r, uint32_t edge)
{
	const struct rql_join_order_relation *inner = relation(o, r);
	const double rows = rql_join_order_rows(inner->kind, from->rows, inner->rows, o->graph->edges[edge].distinct);
	double inner_bytes = o->graph->edges[edge].bytes + (hands_on(inner->kind) ? inner->bytes : 0);
	for (uint32_t x = 0; x < o->graph->relation_count; x++)
		if (o->next_to[r] >> x & 1 && !(set >> x & 1))
			inner_bytes += o->graph->edges[o->edge_of[r][x] - 1].bytes;
	const struct rql_pair_size size = {.rows = {from->rows, inner->rows},
	                                   .row_bytes = {from_bytes, inner_bytes},
	                                   .out_rows = rows,
	                                   .out_bytes = bytes};
	o->out->compared++;
	return (struct offer){.ns = from->ns + o->graph->pair_ns(o->graph->profile, &size),
	                      .rows = rows,
	                      .edge = edge,
	                      .last = (uint8_t)r,
	                      .before = NO_OFFER};
}

static bool is_cheaper(const struct offer *a, const struct offer *b)
{
	return a->ns < b->ns || (a->ns == b->ns && a->rows < b->rows);
}

/* Kept where none is as good in both; the cheapest stands first, and the dearest has to go where there is no room. */
static void keep(struct group *g, const struct offer *offer)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < g->offer_count; i++)
		if (g->offers[i].ns <= offer->ns && g->offers[i].rows <= offer->rows * (1 + 1e-9))
			return;
	for (uint32_t i = 0; i < g->offer_count; i++)
		if (offer->ns > g->offers[i].ns || offer->rows * (1 - 1e-9) > g->offers[i].rows)
			g->offers[n++] = g->offers[i];
	uint32_t at = 0;
	while (at < n && is_cheaper(&g->offers[at], offer))
		at++;
	if (at == OFFERS)
		return;
	n -= n == OFFERS;
	memmove(&g->offers[at + 1], &g->offers[at], (n - at) * sizeof(*offer));
	g->offers[at] = *offer;
	g->offer_count = n + 1;
}

/* ---- what lost ---- */

/* An order of all that ends with `last`. */
static void note_last(struct rql_join_order *out, uint32_t last, double ns)
{
	uint32_t at = 0;
	while (at < out->lost_count && out->lost[at].last != last)
		at++;
	if (at < out->lost_count && out->lost[at].ns <= ns)
		return;
	if (at == RQL_JOIN_ORDER_LOST && out->lost[--at].ns <= ns)
		return;
	out->lost_count += at == out->lost_count;
	for (; at && out->lost[at - 1].ns > ns; at--)
		out->lost[at] = out->lost[at - 1];
	out->lost[at] = (struct rql_join_order_lost){last, ns};
}

/* The one that was taken is none of them. */
static void forget_chosen(struct rql_join_order *out)
{
	const uint32_t last = out->steps[out->step_count - 1].relation;
	uint32_t n = 0;
	for (uint32_t i = 0; i < out->lost_count; i++)
		if (out->lost[i].last != last)
			out->lost[n++] = out->lost[i];
	out->lost_count = n;
}

/* ---- all sets ---- */

static void extend(const struct ordering *o, struct group *groups, uint32_t set)
{
	const uint32_t all = (1u << o->graph->relation_count) - 1;
	for (uint32_t r = 0; r < o->graph->relation_count; r++) {
		const uint32_t edge = edge_to(o, set, r), with = set | 1u << r;
		if (edge == RQL_NONE)
			continue;
		struct group *to = &groups[with];
		if (to->bytes == 0)
			to->bytes = set_bytes(o, with);
		for (uint32_t i = 0; i < groups[set].offer_count; i++) {
			struct offer offer = make_step(o, &groups[set].offers[i], groups[set].bytes, set, to->bytes, r, edge);
			offer.before = (uint8_t)i;
			keep(to, &offer);
			if (with == all)
				note_last(o->out, r, offer.ns);
		}
	}
}

static void read_back(const struct ordering *o, const struct group *groups)
{
	uint32_t set = (1u << o->graph->relation_count) - 1, at = 0;
	o->out->ns = groups[set].offers[0].ns;
	o->out->rows = groups[set].offers[0].rows;
	for (uint32_t s = o->out->step_count; s--;) {
		const struct offer *offer = &groups[set].offers[at];
		o->out->steps[s] = (struct rql_join_order_step){offer->last, offer->edge};
		set &= ~(1u << offer->last);
		at = offer->before;
	}
	o->out->first = groups[set].offers[at].last;
}

static bool find_exact(struct rql_arena *arena, const struct ordering *o, bool *enough)
{
	const uint32_t sets = 1u << o->graph->relation_count;
	struct group *groups = RQL_NEW_ARRAY(arena, struct group, sets);
	*enough = groups != NULL;
	if (!groups)
		return false;
	for (uint32_t r = 0; r < o->graph->relation_count; r++)
		if (relation(o, r)->kind == RQL_LOOKUP_INNER)
			groups[1u << r] = (struct group){.bytes = set_bytes(o, 1u << r),
			                                 .offer_count = 1,
			                                 .offers = {{.rows = relation(o, r)->rows,
			                                             .edge = RQL_NONE,
			                                             .last = (uint8_t)r,
			                                             .before = NO_OFFER}}};
	for (uint32_t set = 1; set < sets; set++)
		if (groups[set].offer_count)
			extend(o, groups, set);
	if (!groups[sets - 1].offer_count)
		return false;
	read_back(o, groups);
	return true;
}

/* ---- step by step ---- */

/* False: no edge leads on. */
static bool take_next(const struct ordering *o, uint32_t *set, struct offer *now)
{
	struct offer best = {.edge = RQL_NONE};
	for (uint32_t r = 0; r < o->graph->relation_count; r++) {
		const uint32_t edge = edge_to(o, *set, r), with = *set | 1u << r;
		if (edge == RQL_NONE)
			continue;
		const struct offer offer = make_step(o, now, set_bytes(o, *set), *set, set_bytes(o, with), r, edge);
		if (best.edge == RQL_NONE || offer.rows < best.rows || (offer.rows == best.rows && offer.ns < best.ns))
			best = offer;
	}
	if (best.edge == RQL_NONE)
		return false;
	*set |= 1u << best.last;
	*now = best;
	return true;
}

/* Begins with the most rows, and takes what leaves the fewest. */
static bool find_greedy(const struct ordering *o)
{
	uint32_t first = RQL_NONE, set;
	for (uint32_t r = 0; r < o->graph->relation_count; r++)
		if (relation(o, r)->kind == RQL_LOOKUP_INNER &&
		    (first == RQL_NONE || relation(o, r)->rows > relation(o, first)->rows))
			first = r;
	if (first == RQL_NONE)
		return false;
	struct offer now = {.rows = relation(o, first)->rows};
	set = 1u << first;
	o->out->first = first;
	for (uint32_t s = 0; s < o->out->step_count; s++) {
		if (!take_next(o, &set, &now))
			return false;
		o->out->steps[s] = (struct rql_join_order_step){now.last, now.edge};
	}
	o->out->ns = now.ns;
	o->out->rows = now.rows;
	return true;
}

bool rql_join_order_find(struct rql_arena *arena, const struct rql_join_order_graph *graph, struct rql_join_order *out, bool *enough)
{
	struct ordering o = {.graph = graph, .out = out};
	*out = (struct rql_join_order){.step_count = graph->relation_count - 1};
	*enough = true;
	for (uint32_t e = 0; e < graph->edge_count; e++) {
		const struct rql_join_order_edge *edge = &graph->edges[e];
		o.edge_of[edge->a][edge->b] = o.edge_of[edge->b][edge->a] = e + 1;
		o.next_to[edge->a] |= 1u << edge->b;
		o.next_to[edge->b] |= 1u << edge->a;
	}
	const bool found = graph->relation_count <= RQL_JOIN_ORDER_EXACT ? find_exact(arena, &o, enough) : find_greedy(&o);
	if (found && out->step_count)
		forget_chosen(out);
	return found;
}

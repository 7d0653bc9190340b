/* EXPLAIN: what answers, its operators, what else was considered, and what a run measured. */
#include <float.h>
#include <stdio.h>
#include <string.h>
#include "flow/join/join_keys.h"
#include "method/request.h"
#include "plan/map_cache.h"
#include "plan/plan_nodes.h"

static void put_ms(struct rql_strbuf *out, double ns)
{
	rql_strbuf_printf(out, "%.3f ms", ns / 1e6);
}

static void put_count(struct rql_strbuf *out, double n)
{
	rql_strbuf_printf(out, n < 1e7 ? "%.0f" : "%.3g", n);
}

static void put_duration(struct rql_strbuf *out, double ns)
{
	if (ns < 1e6)
		rql_strbuf_printf(out, "%.1f us", ns / 1e3);
	else
		put_ms(out, ns);
}

/* What the price is made of, where there is more than running. */
static void put_parts(struct rql_strbuf *out, const struct rql_cost *c)
{
	if (c->rays > 0) {
		rql_strbuf_put(out, ", ");
		put_count(out, c->rays);
		rql_strbuf_put(out, " rays, ");
		put_count(out, c->hits);
		rql_strbuf_put(out, " hits");
	}
	if (c->setup_ns <= 0 && c->transfer_ns <= 0 && c->compile_ns <= 0)
		return;
	rql_strbuf_put(out, "; run ");
	put_duration(out, c->run_ns);
	rql_strbuf_put(out, ", transfer ");
	put_duration(out, c->transfer_ns);
	if (c->setup_ns > 0) {
		rql_strbuf_put(out, ", setup ");
		put_duration(out, c->setup_ns);
		rql_strbuf_printf(out, " once, of which 1/%.0f counts", RQL_SETUP_REUSES);
	}
	if (c->compile_ns > 0) {
		rql_strbuf_put(out, ", compiling ");
		put_duration(out, c->compile_ns);
	}
}

static void put_candidate(struct rql_strbuf *out, const struct rql_candidate *c)
{
	rql_strbuf_printf(out, "  %c %s", c->chosen ? '*' : ' ', c->structure ? c->structure : "?");
	if (c->method[0])
		rql_strbuf_printf(out, " by %s%s%s on %s%s", c->method, c->under ? " under " : "", c->under ? c->under : "",
		                  c->unit, c->joined ? " over rows joined there" : "");
	if (c->device && c->device->kind != RQL_DEVICE_CPU) {
		rql_strbuf_put(out, " (");
		rql_put_device(out, c->device);
		rql_strbuf_putc(out, ')');
	}
	rql_strbuf_put(out, ": ");
	if (c->reason) {
		rql_strbuf_put(out, c->reason);
	} else {
		put_ms(out, rql_cost_expected(&c->cost));
		rql_strbuf_put(out, ", ");
		put_count(out, c->cost.cells);
		rql_strbuf_put(out, c->rows ? " rows of " : " cells in ");
		put_count(out, c->cost.runs);
		rql_strbuf_put(out, c->rows ? " blocks, " : " intervals, ");
		put_count(out, c->cost.rows_out);
		rql_strbuf_put(out, c->selects ? " rows out" : " groups");
		put_parts(out, &c->cost);
		if (c->dominated)
			rql_strbuf_put(out, " (dominated)");
	}
	rql_strbuf_putc(out, '\n');
}

static void put_selection(struct rql_strbuf *out, const struct rql_rows_block *rows)
{
	rql_strbuf_printf(out, "  rows: %u columns", rows->output_count);
	if (rows->order_count)
		rql_strbuf_printf(out, ", ordered by %u keys", rows->order_count);
	if (rows->limit != UINT64_MAX)
		rql_strbuf_printf(out, ", limit %llu", (unsigned long long)rows->limit);
	if (rows->offset)
		rql_strbuf_printf(out, ", offset %llu", (unsigned long long)rows->offset);
	rql_strbuf_putc(out, '\n');
}

/* Whose ROWS it is under, and what they are found by. */
static void put_under(struct rql_strbuf *out, const struct rql_leaf *leaf)
{
	if (!leaf->under)
		return;
	rql_strbuf_printf(out, "  under rows of %s on %s%s%s, by ", rql_method_called(leaf->under), rql_unit_name(leaf->under->unit),
	                  leaf->under_index ? ", in " : "", leaf->under_index ? leaf->under_index : "");
	if (leaf->under_tests || !leaf->under_joins)
		rql_strbuf_printf(out, "%u condition%s", leaf->under_tests, leaf->under_tests == 1 ? "" : "s");
	if (leaf->under_joins)
		rql_strbuf_printf(out, "%sthe keys of %u join%s", leaf->under_tests ? " and " : "", leaf->under_joins,
		                  leaf->under_joins == 1 ? "" : "s");
	rql_strbuf_printf(out, "%s, mostly as %s\n", leaf->under_superset ? ", tested again" : "",
	                  rql_rows_form_name(leaf->under_form));
}

static void put_scan(struct rql_strbuf *out, const struct rql_leaf *leaf)
{
	const struct rql_leaf_scan *scan = leaf->scan;
	bool cpu = leaf->device->kind == RQL_DEVICE_CPU;
	rql_strbuf_printf(out, "method: %s on %s (%s%s%s), structure %s: columns of table %s, %llu rows in %llu blocks\n",
	                  leaf->method->name, rql_unit_name(leaf->method->unit), leaf->device->name, cpu ? "" : ", ",
	                  cpu ? "" : leaf->device->id, leaf->structure->name, scan->table, (unsigned long long)scan->rows,
	                  (unsigned long long)scan->blocks);
	if (leaf->ordered_of)
		rql_strbuf_printf(out, "  ordered there, of rows by %s on %s\n", leaf->ordered_of->name,
		                  rql_unit_name(leaf->ordered_of->unit));
	put_under(out, leaf);
	const char *way = leaf->method->way ? leaf->method->way(leaf->prepared) : NULL;
	if (way)
		rql_strbuf_printf(out, "  %s\n", way);
	for (uint32_t m = 0; m < scan->map_count; m++) {
		const struct rql_map *map = scan->maps[m]->dim.map;
		rql_strbuf_printf(out, "  join with %s: %llu keys, %u combinations of values, %s map of %llu bytes; rows %s\n",
		                  scan->dimensions[m], (unsigned long long)rql_map_entries(map),
		                  rql_map_payloads(map),
		                  rql_map_is_dense(map) ? "dense" : "hashed",
		                  (unsigned long long)rql_map_bytes(map), scan->sources[m]);
	}
	if (scan->joins)
		rql_strbuf_put(out, scan->joins);
	if (scan->wanted)
		rql_strbuf_put(out, scan->wanted);
	if (scan->selection)
		put_selection(out, scan->selection);
}

static void put_leaf(struct rql_strbuf *out, const struct rql_leaf *leaf)
{
	const struct rql_relation *r = leaf->relation;
	if (leaf->scan) {
		put_scan(out, leaf);
		return;
	}
	rql_strbuf_printf(
		out, "method: %s on %s (%s%s%s), structure %s: %s of %llu rows in %llu cells\n", leaf->method->name,
		rql_unit_name(leaf->method->unit), leaf->device->name, leaf->device->kind == RQL_DEVICE_CPU ? "" : ", ",
		leaf->device->kind == RQL_DEVICE_CPU ? "" : leaf->device->id, leaf->structure->name,
		r->rolled_up ? "rolled up" : "row-level", (unsigned long long)r->rows, (unsigned long long)r->cells);
}

static void put_passes(struct rql_strbuf *out, const struct rql_run_profile *profile, const struct rql_leaf *leaf,
                       unsigned depth)
{
	for (uint32_t i = 0; profile && i < profile->pass_count; i++) {
		if (profile->pass_of[i] != leaf)
			continue;
		rql_strbuf_printf(out, "%*spass %s: ", (int)(2 * depth), "", profile->pass[i].pass);
		put_duration(out, profile->pass[i].ns);
		if (profile->pass_times[i] > 1)
			rql_strbuf_printf(out, ", %u times", profile->pass_times[i]);
		rql_strbuf_putc(out, '\n');
	}
}

static void put_some(struct rql_strbuf *out, const char *before, uint64_t n, const char *what)
{
	rql_strbuf_printf(out, "%s%llu %s%s", before, (unsigned long long)n, what, n == 1 ? "" : "s");
}

/* Points, what they are drawn into, and what that moves: as it was, or is expected to be. */
static void put_points(struct rql_strbuf *out, const struct rql_drawn *drawn)
{
	put_some(out, "", drawn->points, "point");
	if (drawn->passes)
		rql_strbuf_printf(out, " in %llu pass%s", (unsigned long long)drawn->passes, drawn->passes == 1 ? "" : "es");
	put_some(out, ", ", drawn->partitions, "partition");
	put_some(out, ", ", drawn->layers, "layer");
	if (drawn->rounds)
		put_some(out, ", ", drawn->rounds, "round");
	if (drawn->pauses)
		put_some(out, ", ", drawn->pauses, "full stack");
	if (drawn->flattened)
		rql_strbuf_printf(out, ", %llu flattened", (unsigned long long)drawn->flattened);
	if (drawn->swapped)
		rql_strbuf_printf(out, ", %llu built on the other side", (unsigned long long)drawn->swapped);
	if (drawn->image_side) {
		if (drawn->stack_layers)
			rql_strbuf_printf(out, "; stacks of %u layers of", drawn->stack_layers);
		else
			rql_strbuf_put(out, "; dense images of");
		rql_strbuf_printf(out, " %u x %u pixels of %u bytes", drawn->image_side, drawn->image_side, drawn->pixel_bytes);
		if (drawn->pixels)
			rql_strbuf_printf(out, " (%s)", drawn->pixels);
	}
	rql_strbuf_printf(out, "; %llu bytes moved, %llu bytes of images\n", (unsigned long long)drawn->bytes,
	                  (unsigned long long)drawn->image_bytes);
}

static void put_drawn(struct rql_strbuf *out, const struct rql_drawn *drawn)
{
	if (!drawn->points)
		return;
	rql_strbuf_put(out, "  drawn: ");
	put_points(out, drawn);
}

void rql_put_drawing(struct rql_strbuf *out, const struct rql_drawn *drawn, unsigned depth)
{
	if (!drawn->points && !drawn->image_side)
		return;
	rql_strbuf_printf(out, "%*sestimated: ", (int)(2 * depth), "");
	put_points(out, drawn);
}

/* On a GPU: its own clock, each pass, and what was expected of it. */
static void put_device_measured(struct rql_strbuf *out, const struct rql_plan *plan, const struct rql_run_stats *s,
                                const struct rql_run_profile *profile)
{
	double rays = 0, hits = 0, bytes = 0, run = 0;
	for (uint32_t i = 0; i < plan->nodes->leaf_count; i++) {
		const struct rql_cost *c = &plan->nodes->leaves[i].cost;
		rays += c->rays;
		hits += c->hits;
		bytes += c->bytes;
		run += c->run_ns;
	}
	for (const struct rql_pairs_offer *offer = plan->nodes->pairs; offer; offer = offer->next)
		run += offer->cost.run_ns;
	rql_strbuf_put(out, "device: ");
	put_duration(out, s->device_ns);
	rql_strbuf_put(out, ", expected ");
	put_duration(out, run);
	rql_strbuf_printf(out, "; %llu bytes, expected ", (unsigned long long)s->bytes_read);
	put_count(out, bytes);
	if (plan->nodes->leaf_count && plan->nodes->leaves[0].scan)
		rql_strbuf_printf(out, "; %llu bytes uploaded", (unsigned long long)s->bytes_uploaded);
	if (s->rays || rays > 0) {
		rql_strbuf_printf(out, "; %llu rays, expected ", (unsigned long long)s->rays);
		put_count(out, rays);
		rql_strbuf_printf(out, "; %llu hits, expected ", (unsigned long long)s->hits);
		put_count(out, hits);
	}
	rql_strbuf_putc(out, '\n');
	put_drawn(out, &s->drawn);
	if (plan->nodes->leaf_count && !plan->nodes->tree->input_count) /* else each operator has its own, in the tree */
		put_passes(out, profile, &plan->nodes->leaves[0], 1);
}

/* What the ROWS took under which methods ran. */
static void put_selected(struct rql_strbuf *out, const struct rql_selected *s)
{
	uint64_t blocks = 0;
	for (unsigned f = 0; f < RQL_ROWS_FORMS; f++)
		blocks += s->forms[f];
	if (!blocks && !s->bytes)
		return;
	rql_strbuf_put(out, "  rows found:");
	if (s->rays)
		rql_strbuf_printf(out, " %llu rays, %llu hits,", (unsigned long long)s->rays, (unsigned long long)s->hits);
	rql_strbuf_printf(out, " %llu rows tested at bounds, %llu bytes;", (unsigned long long)s->tested,
	                  (unsigned long long)s->bytes);
	for (unsigned f = 0; f < RQL_ROWS_FORMS; f++)
		rql_strbuf_printf(out, "%s %llu %s", f ? "," : " blocks as", (unsigned long long)s->forms[f],
		                  rql_rows_form_name((enum rql_rows_form)f));
	rql_strbuf_putc(out, '\n');
}

static void put_measured(struct rql_strbuf *out, const struct rql_plan *plan, const struct rql_run_stats *s,
                         const struct rql_run_profile *profile)
{
	rql_strbuf_put(out, "measured: ");
	put_ms(out, s->run_ns);
	rql_strbuf_put(out, " method, ");
	put_ms(out, s->finish_ns);
	rql_strbuf_printf(out, " finishing; estimated ");
	put_ms(out, plan->estimated_ns);
	if (profile && profile->together) {
		rql_strbuf_printf(out, "\n  %u methods in one submission, under way after ", profile->together);
		put_duration(out, profile->together_ns);
	}
	uint64_t blocks = 0;
	for (uint32_t i = 0; i < plan->nodes->leaf_count; i++)
		blocks += plan->nodes->leaves[i].scan ? plan->nodes->leaves[i].scan->blocks : 0;
	bool scans = plan->nodes->leaf_count && plan->nodes->leaves[0].scan;
	rql_strbuf_printf(out, scans ? "\n  %llu blocks read, " : "\n  %llu intervals, ", (unsigned long long)s->runs);
	if (scans)
		rql_strbuf_printf(out, "%llu skipped, ", (unsigned long long)(blocks > s->runs ? blocks - s->runs : 0));
	rql_strbuf_printf(out,
	                  scans ? "%llu rows passed, %llu rows read, %llu bytes, %llu groups, %llu rows\n"
	                        : "%llu cells covered, %llu cells read, %llu bytes, %llu groups, %llu rows\n",
	                  (unsigned long long)s->cells_covered, (unsigned long long)s->cells_read,
	                  (unsigned long long)s->bytes_read, (unsigned long long)s->groups, (unsigned long long)s->rows);
	put_selected(out, &s->selected);
}

/* ---- the tree ---- */

static const char *host_reason(const struct rql_operator *op)
{
	const char *reason = op->kind == RQL_OPERATOR_HOST ? op->reason : NULL;
	for (uint32_t i = 0; i < op->input_count && !reason; i++)
		reason = host_reason(op->inputs[i]);
	return reason;
}

static const char *join_name(enum rql_join_type join)
{
	static const char *const names[] = {
		[RQL_JOIN_INNER] = "inner join",           [RQL_JOIN_LEFT] = "left join",
		[RQL_JOIN_RIGHT] = "right join",           [RQL_JOIN_FULL] = "full join",
		[RQL_JOIN_SEMI] = "semi join",             [RQL_JOIN_ANTI] = "anti join",
		[RQL_JOIN_RIGHT_SEMI] = "right semi join", [RQL_JOIN_RIGHT_ANTI] = "right anti join",
		[RQL_JOIN_MARK] = "mark join",             [RQL_JOIN_SINGLE] = "single join",
		[RQL_JOIN_CROSS] = "cross join",           [RQL_JOIN_ASOF] = "asof join",
		[RQL_JOIN_ASOF_LEFT] = "asof left join"};
	return names[join];
}

static const char *node_name(const struct rql_rel *rel)
{
	static const char *const setops[] = {"union", "except", "intersect"};
	static const char *const names[] = {
		[RQL_REL_FILTER] = "filter",       [RQL_REL_PROJECT] = "project",   [RQL_REL_AGGREGATE] = "aggregate",
		[RQL_REL_ORDER] = "order",         [RQL_REL_TOP_N] = "top-N",       [RQL_REL_LIMIT] = "limit",
		[RQL_REL_DISTINCT] = "distinct",   [RQL_REL_DISTINCT_ON] = "distinct on",
		[RQL_REL_VALUES] = "values",     [RQL_REL_EMPTY] = "no rows",
		[RQL_REL_DUMMY] = "one row",       [RQL_REL_CTE] = "shared rows",   [RQL_REL_CTE_REF] = "shared rows again",
		[RQL_REL_WINDOW] = "window",       [RQL_REL_OPAQUE] = "SQL",        [RQL_REL_GET] = "table"};
	if (rel->kind == RQL_REL_JOIN)
		return join_name(rel->join);
	return rel->kind == RQL_REL_SETOP ? setops[rel->setop] : names[rel->kind];
}

/* The index in which a join by a range looks up, as far as it is known how many rows do. */
static void put_index(struct rql_strbuf *out, const struct rql_operator *op)
{
	if (op->rel->kind != RQL_REL_JOIN || op->input_count != 2)
		return;
	const struct rql_join_way way = rql_join_way_of(op->rel);
	const struct rql_leaf_sorted *sorted =
		rql_leaf_sorted_by(op->inputs[way.points]->leaf, way.column, op->inputs[!way.points]->rows);
	if (sorted)
		rql_strbuf_printf(out, " in index %s", sorted->index);
}

/* How RayQL's own operator goes about it, where that is not said by its name. */
static const char *native_way(const struct rql_operator *op)
{
	const struct rql_rel *rel = op->rel, *below = op->input_count ? op->inputs[0]->rel : NULL;
	unsigned keeper;
	if (rel->kind == RQL_REL_SETOP)
		return rel->setop_all ? " all" : "";
	if (rql_operator_takes_pairs(op))
		return " of pairs as they come";
	if (rel->kind == RQL_REL_AGGREGATE && op->inputs[0]->kind == RQL_OPERATOR_NATIVE)
		return rql_ranges_keep(rel, below, &keeper) && !rql_join_way_of(below).keys ? " of ranges, without their pairs" : "";
	if (rel->kind != RQL_REL_JOIN || rql_join_is_asof(rel->join))
		return "";
	const struct rql_join_way way = rql_join_way_of(rel);
	return way.bounds ? (way.keys ? " by keys and a range" : " by a range") : "";
}

static const struct rql_measured *measured(const struct rql_run_profile *profile, const struct rql_operator *op)
{
	for (uint32_t i = 0; profile && i < profile->count; i++)
		if (profile->part[i].op == op)
			return &profile->part[i];
	return NULL;
}

/* What an operator gave and took, once it has run. */
static void put_part(struct rql_strbuf *out, const struct rql_measured *part)
{
	if (!part)
		return;
	rql_strbuf_printf(out, "; %llu in ", (unsigned long long)part->rows);
	put_duration(out, part->ns);
	if (part->met)
		rql_strbuf_printf(out, " as %llu pairs of groups", (unsigned long long)part->met);
	if (part->device_ns > 0) {
		rql_strbuf_put(out, ", device ");
		put_duration(out, part->device_ns);
	}
}

/* Who finds the pairs of a join, or the groups, of rows that lie in the host's memory, and what that moves. */
static void put_pairs(struct rql_strbuf *out, const struct rql_pairs_offer *offer, const struct rql_measured *part,
                      unsigned depth)
{
	rql_strbuf_printf(out, "%*s%s by %s on %s (", (int)(2 * depth), "",
	                  offer->of->kind == RQL_REL_AGGREGATE ? "groups" : "pairs", offer->method->name, rql_unit_name(offer->method->unit));
	for (uint32_t i = 0; i < offer->on.count; i++) {
		rql_strbuf_put(out, i ? "; " : "");
		rql_put_device(out, offer->on.device[i]);
	}
	rql_strbuf_put(out, "): about ");
	put_count(out, offer->cost.runs);
	rql_strbuf_printf(out, " partition%s, ", offer->cost.runs > 1 ? "s" : "");
	put_count(out, offer->cost.bytes);
	rql_strbuf_printf(out, " bytes moved, %.3g ms", rql_cost_expected(&offer->cost) / 1e6);
	const char *way = offer->method->way ? offer->method->way(offer->prepared) : NULL;
	if (way)
		rql_strbuf_printf(out, ", %s", way);
	if (part) {
		const struct rql_moved *m = &part->moved;
		rql_strbuf_printf(out, "; %llu partition%s in %llu pass%s, %llu bytes in, %llu out, %llu spilled; at most %llu bytes of "
		                  "the device, %llu of the host for partitions", (unsigned long long)m->partitions,
		                  m->partitions == 1 ? "" : "s", (unsigned long long)m->passes, m->passes == 1 ? "" : "es",
		                  (unsigned long long)m->in_bytes, (unsigned long long)m->out_bytes,
		                  (unsigned long long)m->spilled_bytes, (unsigned long long)m->device_peak,
		                  (unsigned long long)m->host_peak);
		for (uint32_t i = 0; i < offer->on.count; i++)
			rql_put_left_device(out, &m->left, offer->on.device[i]);
	}
	rql_strbuf_putc(out, '\n');
	rql_put_drawing(out, &offer->drawn, depth + 1);
}

/* An operator a line, its inputs indented below it. */
static void put_operator(struct rql_strbuf *out, const struct rql_operator *op, const struct rql_run_profile *profile,
                         unsigned depth)
{
	rql_strbuf_printf(out, "%*s", (int)(2 * depth), "");
	if (op->kind == RQL_OPERATOR_METHOD)
		rql_strbuf_printf(out, "method %s on %s", op->leaf->method->name, op->leaf->structure->name);
	else if (op->kind == RQL_OPERATOR_NATIVE)
		rql_strbuf_printf(out, "RayQL %s%s", node_name(op->rel), native_way(op));
	else
		rql_strbuf_printf(out, "host %s and below (%s)", node_name(op->rel), op->reason ? op->reason : "");
	if (op->kind == RQL_OPERATOR_NATIVE)
		put_index(out, op);
	rql_strbuf_put(out, ", about ");
	put_count(out, op->rows);
	rql_strbuf_put(out, " rows");
	put_part(out, measured(profile, op));
	rql_strbuf_putc(out, '\n');
	if (op->pairs)
		put_pairs(out, op->pairs, measured(profile, op), depth + 1);
	if (op->kind == RQL_OPERATOR_METHOD)
		put_passes(out, profile, op->leaf, depth + 1);
	for (uint32_t i = 0; i < op->input_count; i++)
		put_operator(out, op->inputs[i], profile, depth + 1);
}

/* "  join: by RayQL's operators 1.200 ms *, by the host over RayQL's rows 3.400 ms" */
static void put_ways(struct rql_strbuf *out, const struct rql_memo_ways *ways)
{
	static const char *const names[] = {"by a method", "by RayQL's operators", "by the host over RayQL's rows"};
	const char *comma = "";
	rql_strbuf_printf(out, "  %s: ", node_name(ways->rel));
	for (uint32_t w = 0; w < sizeof names / sizeof *names; w++) {
		if (ways->ns[w] > DBL_MAX)
			continue;
		rql_strbuf_printf(out, "%s%s ", comma, names[w]);
		put_ms(out, ways->ns[w]);
		rql_strbuf_put(out, w == ways->taken ? " *" : "");
		comma = ", ";
	}
	rql_strbuf_putc(out, '\n');
}

void rql_plan_explain(const struct rql_plan *plan, const struct rql_run_stats *stats,
                      const struct rql_run_profile *profile, struct rql_strbuf *out)
{
	const struct rql_plan_nodes *n = plan->nodes;
	if (plan->kind == RQL_PLAN_METHOD) {
		for (uint32_t i = 0; i < n->leaf_count; i++)
			put_leaf(out, &n->leaves[i]);
		const char *reason = host_reason(n->tree);
		if (!reason)
			rql_strbuf_put(out, "finish: RayQL\n");
		else
			rql_strbuf_printf(out, "finish: host, over %s rows (%s)\n",
			                  n->leaves[0].scan && n->leaves[0].scan->selection ? "the selected" : "the aggregated",
			                  reason);
		if (n->tree->input_count)
			put_operator(out, n->tree, stats ? profile : NULL, 1);
	} else {
		rql_strbuf_put(out, "method: host\n");
	}
	rql_strbuf_printf(out, "reason: %s\n", plan->reason);
	if (n->candidate_count || plan->host_estimated_ns > 0) {
		rql_strbuf_put(out, "candidates:\n");
		for (uint32_t i = 0; i < n->candidate_count; i++)
			put_candidate(out, &n->candidates[i]);
		if (plan->host_estimated_ns > 0) {
			rql_strbuf_printf(out, "  %c host: ", plan->kind == RQL_PLAN_METHOD ? ' ' : '*');
			put_ms(out, plan->host_estimated_ns);
			rql_strbuf_putc(out, '\n');
		}
	}
	if (plan->kind == RQL_PLAN_METHOD && n->way_count)
		rql_strbuf_put(out, "covers:\n");
	for (uint32_t i = 0; plan->kind == RQL_PLAN_METHOD && i < n->way_count; i++)
		put_ways(out, &n->ways[i]);
	if (stats)
		put_measured(out, plan, stats, profile);
	if (stats && (stats->device_ns > 0 || stats->rays))
		put_device_measured(out, plan, stats, profile);
}

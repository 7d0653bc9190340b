#include <stdio.h>
#include <string.h>
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
	if (c->setup_ns <= 0 && c->transfer_ns <= 0)
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
}

static void put_candidate(struct rql_strbuf *out, const struct rql_candidate *c)
{
	rql_strbuf_printf(out, "  %c %s", c->chosen ? '*' : ' ', c->structure ? c->structure : "?");
	if (c->method[0])
		rql_strbuf_printf(out, " by %s on %s", c->method, c->unit);
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
		rql_strbuf_put(out, " cells in ");
		put_count(out, c->cost.runs);
		rql_strbuf_put(out, " intervals, ");
		put_count(out, c->cost.rows_out);
		rql_strbuf_put(out, " groups");
		put_parts(out, &c->cost);
		if (c->dominated)
			rql_strbuf_put(out, " (dominated)");
	}
	rql_strbuf_putc(out, '\n');
}

static void put_leaf(struct rql_strbuf *out, const struct rql_leaf *leaf)
{
	const struct rql_relation *r = leaf->relation;
	rql_strbuf_printf(
		out, "method: %s on %s (%s%s%s), structure %s: %s of %llu rows in %llu cells\n", leaf->method->name,
		rql_unit_name(leaf->method->unit), leaf->device->name, leaf->device->kind == RQL_DEVICE_CPU ? "" : ", ",
		leaf->device->kind == RQL_DEVICE_CPU ? "" : leaf->device->id, leaf->structure->name,
		r->rolled_up ? "rolled up" : "row-level", (unsigned long long)r->rows, (unsigned long long)r->cells);
}

/* On a GPU: its own clock, each pass, and what was expected of it. */
static void put_device_measured(struct rql_strbuf *out, const struct rql_plan *plan, const struct rql_run_stats *s,
                                const struct rql_run_passes *passes)
{
	double rays = 0, hits = 0, bytes = 0, run = 0;
	for (uint32_t i = 0; i < plan->nodes->leaf_count; i++) {
		const struct rql_cost *c = &plan->nodes->leaves[i].cost;
		rays += c->rays;
		hits += c->hits;
		bytes += c->bytes;
		run += c->run_ns;
	}
	rql_strbuf_put(out, "device: ");
	put_duration(out, s->device_ns);
	rql_strbuf_put(out, ", expected ");
	put_duration(out, run);
	rql_strbuf_printf(out, "; %llu bytes, expected ", (unsigned long long)s->bytes_read);
	put_count(out, bytes);
	if (s->rays || rays > 0) {
		rql_strbuf_printf(out, "; %llu rays, expected ", (unsigned long long)s->rays);
		put_count(out, rays);
		rql_strbuf_printf(out, "; %llu hits, expected ", (unsigned long long)s->hits);
		put_count(out, hits);
	}
	rql_strbuf_putc(out, '\n');
	for (uint32_t i = 0; passes && i < passes->count; i++) {
		rql_strbuf_printf(out, "  pass %s: ", passes->pass[i].pass);
		put_duration(out, passes->pass[i].ns);
		rql_strbuf_putc(out, '\n');
	}
}

static void put_measured(struct rql_strbuf *out, const struct rql_plan *plan, const struct rql_run_stats *s)
{
	rql_strbuf_put(out, "measured: ");
	put_ms(out, s->run_ns);
	rql_strbuf_put(out, " method, ");
	put_ms(out, s->finish_ns);
	rql_strbuf_printf(out, " finishing; estimated ");
	put_ms(out, plan->estimated_ns);
	rql_strbuf_printf(
		out, "\n  %llu intervals, %llu cells covered, %llu cells read, %llu bytes, %llu groups, %llu rows\n",
		(unsigned long long)s->runs, (unsigned long long)s->cells_covered, (unsigned long long)s->cells_read,
		(unsigned long long)s->bytes_read, (unsigned long long)s->groups, (unsigned long long)s->rows);
}

void rql_plan_explain(const struct rql_plan *plan, const struct rql_run_stats *stats,
                      const struct rql_run_passes *passes, struct rql_strbuf *out)
{
	const struct rql_plan_nodes *n = plan->nodes;
	if (plan->kind == RQL_PLAN_METHOD) {
		for (uint32_t i = 0; i < n->leaf_count; i++)
			put_leaf(out, &n->leaves[i]);
		if (n->native_finish)
			rql_strbuf_put(out, "finish: RayQL\n");
		else
			rql_strbuf_printf(out, "finish: host, over the aggregated rows (%s)\n",
			                  n->finish_reason ? n->finish_reason : "");
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
	if (stats)
		put_measured(out, plan, stats);
	if (stats && (stats->device_ns > 0 || stats->rays))
		put_device_measured(out, plan, stats, passes);
}

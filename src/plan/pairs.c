/* Offers of methods for joins of rows in the host's memory: see the header. */
#include "plan/pairs.h"

#include <math.h>

#include "flow/aggregate_groups.h"
#include "flow/join_keys.h"
#include "plan/await.h"

/* Below it no GPU is looked for. */
#define WORTH_NS 2e6

/* A unit that is named is not to lose a join by its price. Groups it makes in other ways, too: these are forced alone. */
static bool is_forced(const struct rql_settings *settings, const struct rql_rel *rel)
{
	if (rel->kind == RQL_REL_AGGREGATE)
		return settings->force_pairs && !settings->unit_forced;
	return settings->unit_forced ? settings->unit == RQL_UNIT_COMPUTE : settings->force_pairs;
}

/* Of such joins the rows of one side are wanted, by whether they have a partner. */
static bool filters(enum rql_join_type join, bool *right)
{
	*right = join == RQL_JOIN_RIGHT_SEMI || join == RQL_JOIN_RIGHT_ANTI;
	return *right || join == RQL_JOIN_SEMI || join == RQL_JOIN_ANTI || join == RQL_JOIN_MARK;
}

/* What a node asks for: one of the two. */
struct asked {
	struct rql_sides sides;
	struct rql_grouping grouping;
	bool groups;
};

static bool describe_groups(const struct rql_planning *p, const struct rql_known_rows *known, const struct rql_rel *rel,
                            struct rql_grouping *out)
{
	uint32_t values;
	unsigned keeper;
	if (!rql_aggregate_by_groups(rel, &values) || rql_ranges_keep(rel, rel->children[0], &keeper))
		return false;
	*out = (struct rql_grouping){.rows = rql_expected_rows(known, rel->children[0]),
	                             .groups = rql_expected_rows(known, rel),
	                             .value_count = values,
	                             .host_bytes = rql_pairs_host_bytes(p->ctx->budget)};
	return true;
}

/* What a join asks for; false: none that pairs are of use to. */
static bool describe_join(const struct rql_planning *p, const struct rql_known_rows *known, const struct rql_rel *rel,
                          struct rql_sides *out)
{
	if (rel->kind != RQL_REL_JOIN || rql_join_is_asof(rel->join))
		return false;
	const struct rql_join_way way = rql_join_way_of(rel);
	const double left = rql_expected_rows(known, rel->children[0]), right = rql_expected_rows(known, rel->children[1]);
	bool of_right;
	const bool hits = filters(rel->join, &of_right);
	const bool left_probes = hits ? !of_right : rel->join == RQL_JOIN_SINGLE || left >= right;
	*out = (struct rql_sides){.rows = {left_probes ? right : left, left_probes ? left : right},
	                          .pairs = fmax(rql_expected_rows(known, rel), way.tested ? fmax(left, right) : 0),
	                          .hits = hits && !way.tested,
	                          .key_bits = 64,
	                          .host_bytes = rql_pairs_host_bytes(p->ctx->budget)};
	return way.keys && !way.bounds;
}

static bool describe(const struct rql_planning *p, const struct rql_known_rows *known, const struct rql_rel *rel,
                     struct asked *out)
{
	out->groups = rel->kind == RQL_REL_AGGREGATE;
	return out->groups ? describe_groups(p, known, rel, &out->grouping) : describe_join(p, known, rel, &out->sides);
}

/* ---- the cheapest ---- */

static void free_offer(struct rql_pairs_offer *offer)
{
	if (offer->prepared)
		offer->method->free(offer->prepared);
	offer->prepared = NULL;
}

/* By the method on the device; prepared NULL: not so. */
static void try_device(struct rql_planning *p, const struct rql_method *method, struct rql_device *device,
                       struct asked asked, struct rql_pairs_offer *out)
{
	struct rql_error why = {0};
	const char *reason = NULL;
	const struct rql_request request = {.sides = asked.groups ? NULL : &asked.sides,
	                                    .grouping = asked.groups ? &asked.grouping : NULL,
	                                    .wants = asked.groups ? RQL_PORT_GROUPS : RQL_PORT_PAIRS};
	asked.sides.device_bytes = p->ctx->device_room ? p->ctx->device_room(p->ctx->load_state, device) : 0;
	asked.grouping.device_bytes = asked.sides.device_bytes;
	*out = (struct rql_pairs_offer){.method = method, .device = device};
	if (!rql_method_takes(method, &request) || method->offer(&request, device, &reason) != RQL_OFFER_FULL)
		return;
	if (method->prepare(&request, device, &out->prepared, &why) != RQL_OK)
		out->prepared = NULL;
	rql_error_clear(&why);
	if (!out->prepared)
		return;
	method->price(out->prepared, device, &out->cost);
	if (!rql_await_price(p, method, out->prepared, device, &out->cost, &reason))
		free_offer(out);
}

/* Whoever forces pairs has them of a driver in software, too, though nothing names it. */
static bool may_run(const struct rql_planning *p, struct rql_device *device)
{
	struct rql_settings settings = *p->ctx->settings;
	if (settings.force_pairs && !settings.only)
		settings.only = device;
	return device->kind != RQL_DEVICE_CPU && !rql_device_refused(&settings, device, RQL_UNIT_COMPUTE) &&
	       rql_await_device(p, device, false);
}

static void choose(struct rql_planning *p, const struct asked *asked, struct rql_pairs_offer *best)
{
	struct rql_devices *devices = p->ctx->devices;
	const enum rql_reads reads = asked->groups ? RQL_READS_GROUPING : RQL_READS_SIDES;
	for (uint32_t d = 0; d < atomic_load(&devices->count); d++) {
		if (!may_run(p, &devices->device[d]))
			continue;
		for (uint32_t m = 0; rql_methods()[m]; m++) {
			struct rql_pairs_offer here;
			if (rql_methods()[m]->reads != reads || p->ctx->settings->disabled_methods >> m & 1)
				continue;
			try_device(p, rql_methods()[m], &devices->device[d], *asked, &here);
			if (here.prepared && (!best->prepared || rql_cost_expected(&here.cost) < rql_cost_expected(&best->cost))) {
				free_offer(best);
				*best = here;
			} else {
				free_offer(&here);
			}
		}
	}
}

/* The offer is the plan's; NULL: there is none, or no memory. */
static const struct rql_pairs_offer *keep(struct rql_planning *p, const struct rql_rel *rel, struct rql_pairs_offer *offer)
{
	struct rql_pairs_offer *kept = offer->prepared ? RQL_NEW(p->arena, struct rql_pairs_offer) : NULL;
	if (!kept) {
		free_offer(offer);
		return NULL;
	}
	*kept = *offer;
	kept->of = rel;
	kept->next = p->nodes->pairs;
	p->nodes->pairs = kept;
	return kept;
}

/* Where compiling alone is in the way, that is begun. */
static void await(struct rql_planning *p, const struct rql_pairs_offer *offer, double against_ns)
{
	const struct rql_leaf leaf = {
		.method = offer->method, .device = offer->device, .prepared = offer->prepared, .cost = offer->cost};
	rql_await_leaf(p, &leaf, against_ns);
}

double rql_pairs_price(struct rql_planning *p, const struct rql_known_rows *known, const struct rql_rel *rel,
                       double cpu_ns, const struct rql_pairs_offer **out)
{
	const struct rql_settings *settings = p->ctx->settings;
	const bool forced = is_forced(settings, rel);
	struct rql_pairs_offer best = {.prepared = NULL};
	struct asked asked = {.groups = false};
	*out = NULL;
	if ((settings->unit_forced && !forced) || (!forced && cpu_ns < WORTH_NS) || !describe(p, known, rel, &asked))
		return cpu_ns;
	const struct rql_pairs_offer *offer = p->nodes->pairs;
	while (offer && offer->of != rel)
		offer = offer->next;
	if (!offer) {
		rql_await_devices(p, false);
		choose(p, &asked, &best);
		offer = keep(p, rel, &best);
	}
	if (!offer)
		return cpu_ns;
	const double ns = rql_price_keys(known, rel) + rql_cost_expected(&offer->cost);
	if (!forced && ns >= cpu_ns) {
		await(p, offer, cpu_ns - rql_price_keys(known, rel));
		return cpu_ns;
	}
	*out = offer;
	return forced ? 0 : ns; /* the unit that the session names is not to lose by its price */
}

void rql_pairs_clear(struct rql_plan_nodes *nodes, const struct rql_operator *tree)
{
	struct rql_pairs_offer **at = &nodes->pairs;
	while (*at) {
		struct rql_pairs_offer *offer = *at;
		if (tree && rql_operator_takes(tree, offer)) {
			at = &offer->next;
			continue;
		}
		*at = offer->next;
		free_offer(offer);
	}
}

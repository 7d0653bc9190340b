/* Offers of methods for joins of rows in the host's memory: see the header. */
#include "plan/join/pairs.h"

#include <math.h>

#include "flow/aggregate/aggregate_groups.h"
#include "flow/join/join_keys.h"
#include "plan/price/await.h"
#include "util/threads.h"

/* Below it no GPU is looked for. */
#define WORTH_NS 2e6

/* Were its rows read for a GPU, and has nothing below it taken them? */
static bool is_fed(const struct rql_plan_nodes *nodes, const struct rql_rel *rel)
{
	const struct rql_leaf *leaf = rql_plan_leaf_of(nodes, rel);
	const struct rql_rel *as = leaf ? NULL : rql_plan_alternative(nodes, rel);
	bool fed = leaf ? leaf->feeds : as && is_fed(nodes, as);
	for (uint32_t i = 0; i < rel->child_count && !leaf && !as && !fed; i++) {
		const struct rql_pairs_offer *taken = nodes->pairs;
		while (taken && taken->of != rel->children[i])
			taken = taken->next;
		fed = !taken && is_fed(nodes, rel->children[i]);
	}
	return fed;
}

/* Is its price of no account? A unit that is named is not to lose a join by it. Groups it makes in other ways, too: these are
 * forced alone, and where rows were read for it. */
static bool is_forced(const struct rql_settings *settings, const struct rql_rel *rel, bool fed)
{
	const bool unit = settings->unit_forced && settings->unit != RQL_UNIT_CPU;
	if (rel->kind == RQL_REL_AGGREGATE && !fed)
		return settings->force_pairs && !settings->unit_forced;
	return settings->unit_forced ? unit : settings->force_pairs;
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
	bool fed; /* nobody else takes the rows: why a method does not is the plan's reason */
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

/* By the method on the devices, which share the work. prepared NULL: not so; then why not, in `why` or as the answer. */
static const char *prepare(const struct rql_planning *p, const struct rql_method *method, const struct rql_sharers *on,
                           struct asked asked, struct rql_pairs_offer *out, struct rql_error *why)
{
	const char *reason = NULL;
	struct rql_device *device = on->device[0];
	const struct rql_request request = {.sides = asked.groups ? NULL : &asked.sides,
	                                    .grouping = asked.groups ? &asked.grouping : NULL,
	                                    .wants = asked.groups ? RQL_PORT_GROUPS : RQL_PORT_PAIRS,
	                                    .totals = p->ctx->settings->totals};
	struct rql_device *limited;
	asked.sides.device_bytes = rql_pairs_room(p->ctx->device_room, p->ctx->load_state, on, &limited);
	asked.grouping.device_bytes = asked.sides.device_bytes;
	asked.sides.on = asked.grouping.on = *on;
	*out = (struct rql_pairs_offer){.method = method, .device = device, .on = *on};
	rql_error_clear(why);
	if (method->offer(&request, device, &reason) != RQL_OFFER_FULL)
		return reason;
	if (method->prepare(&request, device, &out->prepared, why) == RQL_OK)
		return NULL;
	out->prepared = NULL;
	return rql_error_message(why);
}

/* What no plan uses, or other plans keep there, gives way. False: there is nothing. */
static bool make_room(const struct rql_planning *p, const struct rql_sharers *on, uint64_t since)
{
	const struct rql_plan_context *ctx = p->ctx;
	bool made = false;
	for (uint32_t i = 0; i < on->count && ctx->device_make_room; i++) {
		const uint64_t more = ctx->device_room(ctx->load_state, on->device[i]) + 1;
		made |= ctx->device_make_room(ctx->load_state, on->device[i], more, more, since);
	}
	return made;
}

/* An offer is refused for good where there is room: what is asked for is then not the method's. */
static bool wants_room(const struct rql_planning *p, const struct rql_sharers *on, const struct rql_error *why)
{
	struct rql_device *limited;
	return rql_error_message(why)[0] || !rql_pairs_room(p->ctx->device_room, p->ctx->load_state, on, &limited);
}

static void try_devices(struct rql_planning *p, const struct rql_method *method, const struct rql_sharers *on,
                        const struct asked *asked, struct rql_pairs_offer *out)
{
	const uint64_t since = rql_now_ns();
	struct rql_error why = {0};
	const char *reason = prepare(p, method, on, *asked, out, &why);
	while (!out->prepared && asked->fed && wants_room(p, on, &why) && make_room(p, on, since))
		reason = prepare(p, method, on, *asked, out, &why);
	/* Whoever names the unit is to know why it does not join, too. */
	if (!out->prepared && (asked->fed || p->ctx->settings->unit_forced) && reason)
		rql_planning_reason(p, wants_room(p, on, &why) ? RQL_REASON_NO_ROOM : RQL_REASON_UNIT, "%s by %s on %s: %s",
		                    asked->groups ? "groups" : "pairs", method->name, out->device->id, reason);
	rql_error_clear(&why);
	if (!out->prepared)
		return;
	method->price(out->prepared, out->device, &out->cost);
	if (method->draws)
		method->draws(out->prepared, &out->drawn);
	if (!rql_await_price(p, method, out->prepared, out->device, &out->cost, &reason))
		free_offer(out);
}

static void try_and_compare(struct rql_planning *p, const struct rql_method *method, const struct rql_sharers *on,
                            const struct asked *asked, struct rql_pairs_offer *best)
{
	struct rql_pairs_offer here;
	try_devices(p, method, on, asked, &here);
	if (here.prepared && (!best->prepared || rql_cost_expected(&here.cost) < rql_cost_expected(&best->cost))) {
		free_offer(best);
		*best = here;
	} else {
		free_offer(&here);
	}
}

/* Whoever forces pairs has them of a driver in software, too, though nothing names it. */
static bool may_run(const struct rql_planning *p, struct rql_device *device, enum rql_unit unit)
{
	struct rql_settings settings = *p->ctx->settings;
	if (settings.force_pairs && !settings.only)
		settings.only = device;
	return device->kind != RQL_DEVICE_CPU && !atomic_load(&device->left) &&
	       (!settings.unit_forced || settings.unit == unit) && !rql_device_refused(&settings, device, unit) &&
	       rql_await_device(p, device, false);
}

/* Each device alone, then all of the first one's kind together. */
static void choose_devices(struct rql_planning *p, const struct rql_method *method, const struct asked *asked,
                           struct rql_pairs_offer *best)
{
	struct rql_devices *devices = p->ctx->devices;
	struct rql_sharers all = {.count = 0};
	for (uint32_t d = 0; d < atomic_load(&devices->count); d++) {
		struct rql_device *device = &devices->device[d];
		const struct rql_sharers alone = {.count = 1, .device = {device}};
		if (!may_run(p, device, method->unit))
			continue;
		try_and_compare(p, method, &alone, asked, best);
		if (!all.count || all.device[0]->kind == device->kind)
			all.device[all.count++] = device;
	}
	if (all.count > 1)
		try_and_compare(p, method, &all, asked, best);
}

static void choose(struct rql_planning *p, const struct asked *asked, struct rql_pairs_offer *best)
{
	const enum rql_reads reads = asked->groups ? RQL_READS_GROUPING : RQL_READS_SIDES;
	for (uint32_t m = 0; rql_methods()[m]; m++)
		if (rql_methods()[m]->reads == reads && !(p->ctx->settings->disabled_methods >> m & 1))
			choose_devices(p, rql_methods()[m], asked, best);
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
	const bool fed = is_fed(p->nodes, rel), forced = is_forced(settings, rel, fed);
	struct rql_pairs_offer best = {.prepared = NULL};
	struct asked asked = {.fed = fed};
	*out = NULL;
	if ((settings->unit_forced && !forced) || (!forced && !fed && cpu_ns < WORTH_NS) || !describe(p, known, rel, &asked))
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
	if (!forced && !fed && ns >= cpu_ns) {
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

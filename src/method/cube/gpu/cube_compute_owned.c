/* Entries of plain sums dealt out to workgroups that have all entries of their groups, once per prepared request
 * (shaders/cube_owned.comp). */
#include "method/cube/gpu/cube_compute.h"

#include <math.h>
#include <stdlib.h>

#define MOST_STEPS 2u   /* dependent rounds of loads: each is 1 to 1.5 us, meeting in global memory 2 us */
#define BLOCK_EDGES 64u /* cells of an entry that are read one by one, at most */
#define TESTED_ROUND 4u /* CUBE_ROUND of cube_owned.comp */
/* Lanes of a tile, and edge cells that each has in flight. */
static const struct {
	uint32_t lanes, round;
} shapes[] = {{32, 2}, {8, 2}, {4, 2}, {1, 2}, {8, 8}, {4, 16}};
/* What a step takes, in cycles of an H200: a load, instructions of an entry and of a cell, which a subgroup alone issues
 * one in three cycles, and the schedulers that share them when there are many subgroups. Measured roughly; only the
 * order of shapes depends on it. */
#define LOAD 700.0
#define ENTRY_INSTRUCTIONS 150.0
#define CELL_INSTRUCTIONS 25.0
#define CYCLES_ALONE 3.0
#define SCHEDULED (528.0 * 32.0) /* invocations */

struct group {
	uint32_t count, taken; /* entries: all, and those that are dealt out */
	uint64_t slot;         /* where its first goes */
};
struct deal {
	uint64_t group_count;
	struct group *groups;
	uint64_t most; /* entries of one group */
	uint32_t lanes, round, tiles, rounds;
	uint64_t workgroups;
};

/* Tiles that a group takes: one even without entries, so that a workgroup's groups have no gaps and every row is
 * written. */
static uint32_t tiles_of(const struct deal *d, uint64_t group)
{
	uint32_t count = d->groups[group].count;
	return count ? (count + d->rounds - 1) / d->rounds : 1;
}

static uint64_t count_workgroups(const struct deal *d)
{
	uint64_t workgroups = 0;
	uint32_t used = d->tiles;
	for (uint64_t g = 0; g < d->group_count; g++) {
		uint32_t tiles = tiles_of(d, g);
		if (used + tiles > d->tiles) {
			workgroups++;
			used = 0;
		}
		used += tiles;
	}
	return workgroups;
}

static bool try_shape(struct deal *d, double cells, const struct rql_cube_compute *plan, double *cycles)
{
	d->tiles = RQL_CUBE_WORKGROUP / d->lanes;
	if (d->most > (uint64_t)d->tiles * MOST_STEPS)
		return false;
	d->rounds = d->most > d->tiles ? (uint32_t)((d->most + d->tiles - 1) / d->tiles) : 1;
	double round = plan->tests ? TESTED_ROUND : d->round, loads = fmax(1, ceil(cells / (round * d->lanes)));
	double steps = d->rounds * loads, instructions = ENTRY_INSTRUCTIONS + CELL_INSTRUCTIONS * round;
	if (steps > MOST_STEPS)
		return false;
	d->workgroups = count_workgroups(d);
	double invocations = (double)d->workgroups * RQL_CUBE_WORKGROUP;
	*cycles = steps * (LOAD + instructions * (CYCLES_ALONE + invocations / SCHEDULED));
	return invocations <= RQL_CUBE_ONE_WAVE;
}

static bool choose_shape(struct deal *d, uint32_t most_lanes, const struct rql_cube_compute *plan)
{
	double cells = rql_cube_compute_cells(plan), best = INFINITY;
	if (!plan->tests) /* twice the average, since the longest in a workgroup decides */
		cells = fmin(2 * cells, BLOCK_EDGES);
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
		struct deal try = *d;
		double cycles;
		try.lanes = shapes[i].lanes;
		try.round = shapes[i].round;
		if (try.lanes <= most_lanes && try_shape(&try, cells, plan, &cycles) && cycles < best) {
			best = cycles;
			*d = try;
		}
	}
	return isfinite(best);
}

/* Entries without cells everywhere, which add nothing where no other comes, and what a group's first tile says. */
static void place_groups(const struct deal *d, struct rql_cube_entry *out)
{
	struct rql_cube_entry *first = out, *last = NULL; /* the workgroup's first tile, its last group's */
	uint32_t used = 0;
	memset(out, 0, d->workgroups * d->rounds * d->tiles * sizeof(*out));
	for (uint64_t g = 0; g < d->group_count; g++) {
		uint32_t tiles = tiles_of(d, g);
		if (used + tiles > d->tiles) {
			first += (uint64_t)d->rounds * d->tiles;
			used = 0;
		} else if (last) {
			last->rest &= ~(RQL_CUBE_OWNED_LAST << 16);
		}
		last = first + used;
		*last = (struct rql_cube_entry){.group = (uint32_t)g, .rest = (tiles | RQL_CUBE_OWNED_LAST) << 16};
		d->groups[g].slot = (uint64_t)(last - out);
		used += tiles;
	}
}

static void deal_out(const struct deal *d, const struct rql_cube_entry *entries, uint64_t count,
                     struct rql_cube_entry *out)
{
	place_groups(d, out);
	for (uint64_t i = 0; i < count; i++) {
		struct group *group = &d->groups[entries[i].group];
		uint32_t tiles = tiles_of(d, entries[i].group), at = group->taken++;
		struct rql_cube_entry *to = out + group->slot + at / tiles * d->tiles + at % tiles;
		uint32_t group_tiles = to->rest; /* of a first tile */
		*to = entries[i];
		to->rest = (to->rest & 0xffffu) | group_tiles;
	}
}

static void count_entries(struct deal *d, const struct rql_cube_entry *entries, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		uint64_t now = ++d->groups[entries[i].group].count;
		d->most = now > d->most ? now : d->most;
	}
}

/* The dealt entries in the device's memory, in place of those that were resolved. */
static rql_status replace(struct rql_cube_unit *unit, const struct deal *d, const struct rql_cube_entry *entries,
                          struct rql_error *err)
{
	struct rql_cube_compute *plan = unit->method;
	uint64_t slots = d->workgroups * d->rounds * d->tiles, bytes = slots * sizeof(*entries);
	struct rql_buffer *buffer = NULL;
	struct rql_cube_entry *dealt = malloc(bytes);
	if (!dealt)
		return rql_error_memory(err, bytes, "the intervals of a query");
	deal_out(d, entries, plan->entry_count, dealt);
	rql_status status =
		rql_buffer_new(unit->stage.device, bytes, RQL_MEMORY_DEVICE, "the intervals of a query", &buffer, err);
	if (status == RQL_OK)
		status = rql_buffer_upload(buffer, 0, dealt, bytes, err);
	free(dealt);
	if (status != RQL_OK) {
		rql_buffer_free(buffer);
		return status;
	}
	rql_buffer_free(plan->entries);
	plan->entries = buffer;
	plan->owned = true;
	plan->entry_lanes = d->lanes;
	plan->entry_round = d->round;
	plan->entry_workgroups = d->workgroups;
	plan->rounds = d->rounds;
	return RQL_OK;
}

rql_status rql_cube_compute_own(struct rql_cube_unit *unit, struct rql_error *err)
{
	struct rql_cube_compute *plan = unit->method;
	uint64_t count = plan->entry_count, groups = unit->prepared->layout.group_count;
	if (!plan->plain || count > plan->most_owned)
		return RQL_OK;
	struct deal d = {.group_count = groups, .groups = calloc(groups, sizeof(struct group))};
	struct rql_cube_entry *entries = malloc((count + 1) * sizeof(*entries));
	rql_status status = RQL_OK;
	if (!d.groups || !entries)
		status = rql_error_memory(err, count * sizeof(*entries), "the intervals of a query");
	if (status == RQL_OK && count)
		status = rql_buffer_download(plan->entries, 0, entries, count * sizeof(*entries), err);
	if (status == RQL_OK) {
		count_entries(&d, entries, count);
		if (choose_shape(&d, rql_cube_compute_lanes(unit->stage.device), plan))
			status = replace(unit, &d, entries, err);
	}
	free(d.groups);
	free(entries);
	return status;
}

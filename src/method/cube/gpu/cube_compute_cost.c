/* How a request is spread over a GPU, and its price there (design.md, "Cost model"). The constants here are of shape,
 * not of time: the profile has the times. */
#include "method/cube/gpu/cube_compute.h"

#include <math.h>

/* Invocations that fill a large GPU (H200: 132 multiprocessors of 2048). With fewer items, more lanes share one. */
#define FULL 262144.0
/* Workgroups of a dispatch at most: beyond, each takes several items. Few where each flushes rows of its own. */
#define MOST_GROUPS 2048u
#define MOST_SCALAR_GROUPS 528u
#define MOST_SHARED_GROUPS 528u
#define MOST_PIECE_GROUPS 1056u
#define MOST_ENTRY_GROUPS 1056u
/* Entries that are dealt out to the groups' workgroups: with more, bandwidth decides, and dealing takes 20 ns each. */
#define MOST_OWNED_ENTRIES 131072u
#define MOST_PIECES_RESOLVED 4.0 /* entries for each item that may be resolved */
/* Additions to a row's address in one plain run before there are copies of the rows: 32 of them take 50 ns. */
#define COPY_ADDITIONS 32.0
/* Additions to one address that global memory takes in its stride (about 1.5 ns each on an H200). */
#define CONTENDED 512.0
/* Of shared memory that rows may take: four workgroups of 256 fill a multiprocessor of 228 KiB even then. */
#define ROW_BYTES 32768u
#define OTHER_SHARED_BYTES 2048u /* counters, slots and the like */
#define CELLS_PER_LANE 8.0
#define LANE_CELLS 64u /* of an interval that is read whole, at most: cube_intervals.comp keeps one bit for each */
#define LANE_CELLS_AT_ONCE 4u /* its CUBE_ROUND: fewer cells a lane only make more entries */
/* So many intervals are looked up to know the longest (100 ns each, once per plan): when one tile can take it, the pass
 * for long ones is left out. */
#define LOOKED_UP 8192u

static double power_of_two(double least, double most)
{
	double power = 1;
	while (power < least && power * 2 <= most)
		power *= 2;
	return power;
}

double rql_cube_compute_cells(const struct rql_cube_compute *plan)
{
	unsigned counter = plan->tests ? RQL_CUBE_COUNTER_TESTED : RQL_CUBE_COUNTER_EDGES;
	return plan->entry_count ? (double)plan->totals[counter] / (double)plan->entry_count : 0;
}

uint32_t rql_cube_compute_lanes(const struct rql_device *device)
{
	uint32_t subgroup = device->limits.subgroup_size;
	return (uint32_t)power_of_two(32, subgroup > 1 ? subgroup : 1);
}

/* Cells of an item that are read one by one, on average. */
static double cells_per_item(const struct rql_prepared *p, double items, bool reads)
{
	double cells = items > 0 ? p->cells / items : 0;
	return reads ? cells : fmin(cells, RQL_CUBE_BLOCK / 2);
}

static bool groups_by_cell(const struct rql_prepared *p)
{
	for (uint32_t b = 0; b < p->box_count; b++)
		if (p->boxes[b].test_count && p->boxes[b].tests_group)
			return true;
	return false;
}

static uint64_t most_groups(enum rql_cube_mode mode)
{
	return mode == RQL_CUBE_SCALAR ? MOST_SCALAR_GROUPS : mode == RQL_CUBE_SHARED ? MOST_SHARED_GROUPS : MOST_GROUPS;
}

static uint64_t at_most(double wanted, uint64_t most)
{
	return wanted < 1 ? 1 : wanted < (double)most ? (uint64_t)ceil(wanted) : most;
}

static void plan_mode(const struct rql_prepared *p, const struct rql_device *device, double items,
                      struct rql_cube_compute *out)
{
	uint32_t room =
		device->limits.shared_bytes > OTHER_SHARED_BYTES ? device->limits.shared_bytes - OTHER_SHARED_BYTES : 0;
	room = room < ROW_BYTES ? room : ROW_BYTES;
	uint64_t words = p->layout.group_count * p->layout.row_words;
	double pieces = out->reads ? p->cells / (32 * LANE_CELLS) : 0;
	double additions = groups_by_cell(p) ? p->qualifying : items + pieces;
	bool fits = words <= room / sizeof(uint64_t);
	if (p->layout.scalar && fits)
		out->mode = RQL_CUBE_SCALAR;
	else if (fits && additions > CONTENDED * (double)p->layout.group_count)
		out->mode = RQL_CUBE_SHARED;
	else
		out->mode = RQL_CUBE_GLOBAL;
	/* Compiling a pipeline takes longer than any query: one for each of a few sizes. */
	static const uint32_t sizes[] = {64, 512, 2048, 4032, ROW_BYTES / sizeof(uint64_t)};
	uint32_t size = 0;
	while (sizes[size] < words && size < 4)
		size++;
	out->shared_words = out->mode == RQL_CUBE_GLOBAL             ? 1
	                    : sizes[size] * sizeof(uint64_t) <= room ? sizes[size]
	                                                             : (uint32_t)words;
}

/* As above: 1, 4, 8 and 32 lanes are as good as all powers of two. */
static uint32_t round_lanes(double lanes, double most)
{
	double rounded = lanes == 2 || lanes == 16 ? 2 * lanes : lanes;
	return (uint32_t)fmin(rounded, most);
}

/* Cells of the longest interval; UINT64_MAX: not known. */
static uint64_t longest_interval(const struct rql_prepared *p)
{
	uint64_t longest = 0, intervals = 0;
	for (uint32_t b = 0; b < p->box_count; b++)
		intervals += p->boxes[b].combination_count * p->boxes[b].segment_count;
	if (intervals > LOOKED_UP)
		return UINT64_MAX;
	for (uint32_t b = 0; b < p->box_count; b++) {
		const struct rql_cube_bound_box *box = &p->boxes[b];
		for (uint64_t i = 0; i < box->combination_count * box->segment_count; i++) {
			uint64_t begin, end, group;
			rql_cube_interval(box, i, &begin, &end, &group);
			uint64_t cells = rql_cube_cell_of(p->cube, end) - rql_cube_cell_of(p->cube, begin);
			longest = cells > longest ? cells : longest;
		}
	}
	return longest;
}

/* The pass for intervals that are longer than a tile takes. */
static void plan_pieces(const struct rql_prepared *p, double items, double most_lanes, struct rql_cube_compute *out)
{
	uint64_t longest = longest_interval(p);
	/* A few lanes more than there is work for are cheaper than another pass. */
	while (longest > out->lanes * LANE_CELLS && out->lanes * 2 <= most_lanes && longest <= most_lanes * LANE_CELLS)
		out->lanes = round_lanes(2 * out->lanes, most_lanes);
	out->queues = longest > out->lanes * LANE_CELLS;
	double cells = (double)p->cube->relation.cells, wanted = fmin(p->cells * 1.25 + out->piece, cells);
	out->piece_workgroups = at_most(wanted / out->piece * most_lanes / RQL_CUBE_WORKGROUP, MOST_PIECE_GROUPS);
	/* A long interval has more than lanes * LANE_CELLS cells, and no cell is in two of one box. */
	out->queue_entries = (uint64_t)fmin(items, p->box_count * cells / (out->lanes * LANE_CELLS)) + 1;
}

/* What cube_owned.comp and cube_entries.comp do: sums of up to 64 bits that all have cumulative sums, into few rows;
 * cells that are tested for little are in one box. */
static bool is_plain(const struct rql_prepared *p)
{
	bool plain = p->slot_count <= RQL_CUBE_PLAIN_SLOTS && p->layout.row_words == p->slot_count + 1u &&
	             p->layout.group_count <= RQL_CUBE_WHOLE_WORDS / p->layout.row_words;
	for (uint32_t s = 0; s < p->slot_count; s++) {
		const struct rql_cube_slot *slot = &p->slots[s];
		plain &= (slot->state.kind == RQL_STATE_COUNT || slot->state.kind == RQL_STATE_SUM) && slot->state.word == s + 1u && slot->values &&
		         slot->values->bits <= 64 && slot->cumulative;
	}
	for (uint32_t b = 0; b < p->box_count; b++) {
		const struct rql_cube_bound_box *box = &p->boxes[b];
		plain &=
			!box->test_count || (p->box_count == 1 && box->test_count <= RQL_CUBE_PLAIN_TESTS && !box->tests_group);
	}
	return plain;
}

/* Entries have so many bits for each part. */
static bool fits_entries(const struct rql_prepared *p, double items, uint64_t resolved)
{
	return items > 0 && items <= (double)resolved && p->cube->relation.cells >> RQL_CUBE_ENTRY_CELL_BITS == 0 &&
	       (p->layout.group_count - 1) >> RQL_CUBE_ENTRY_GROUP_BITS == 0 && p->box_count >> RQL_CUBE_ENTRY_BOX_BITS == 0;
}

/* false, and nothing is changed: there are too many. */
static bool plan_resolved(const struct rql_prepared *p, double items, double most_lanes, uint64_t resolved,
                          struct rql_cube_compute *out)
{
	/* A tile takes LANE_CELLS cells a lane that it must read: entries are cut so. An interval that is cut has more than
	 * a piece's cells, lies in no more pieces than 1 and twice its cells over that, and no cell is in two intervals of
	 * one box. */
	uint32_t lanes = out->reads ? round_lanes(fmax(out->lanes, fmin(8, most_lanes)), most_lanes) : out->lanes;
	double cells = (double)p->cube->relation.cells, most_pieces = MOST_PIECES_RESOLVED * (double)resolved - items;
	double lane_cells = power_of_two(fmax(p->cells / (double)RQL_CUBE_ONE_WAVE, LANE_CELLS_AT_ONCE), LANE_CELLS);
	while (lane_cells < LANE_CELLS && p->box_count * 2 * cells / (lanes * lane_cells) > most_pieces)
		lane_cells *= 2;
	double pieces = out->reads ? p->box_count * 2 * cells / (lanes * lane_cells) : 0, most = items + pieces;
	if (!fits_entries(p, items, resolved) || pieces > most_pieces)
		return false;
	out->lanes = lanes;
	out->piece = lanes * (uint32_t)lane_cells;
	out->capacity = (uint64_t)most + 1;
	out->resolves = true;
	out->plain = is_plain(p);
	out->tests = out->plain && p->box_count ? p->boxes[0].test_count : 0;
	out->most_owned = MOST_OWNED_ENTRIES;
	out->most_workgroups = out->plain ? MOST_ENTRY_GROUPS : most_groups(out->mode);
	return true;
}

void rql_cube_compute_plan(const struct rql_prepared *p, const struct rql_device *device, uint64_t resolved,
                           struct rql_cube_compute *out)
{
	double items = (double)rql_cube_items(p), most_lanes = rql_cube_compute_lanes(device);
	*out = (struct rql_cube_compute){.reads = rql_cube_reads_cells(p)};
	plan_mode(p, device, items, out);
	double cells = cells_per_item(p, items, out->reads), lanes = power_of_two(cells / CELLS_PER_LANE, most_lanes);
	while (lanes * 2 <= fmin(8, most_lanes) && items * lanes * 2 <= FULL && cells > lanes)
		lanes *= 2; /* the device would idle otherwise */
	out->lanes = round_lanes(lanes, most_lanes);
	out->piece_lanes = (uint32_t)most_lanes;
	out->piece = out->piece_lanes * LANE_CELLS;
	out->passes = 1;
	if (!plan_resolved(p, items, most_lanes, resolved, out) && out->reads) {
		plan_pieces(p, items, most_lanes, out);
		out->passes += out->queues;
	}
	out->workgroups = at_most(items * out->lanes / RQL_CUBE_WORKGROUP, most_groups(out->mode));
}

/* Lanes enough to have an entry's edges in flight at once, while there is a quarter of a wave of them or, with the
 * widest, fewer: what every lane computes beside its cells is paid for by each. */
static void spread_plain(const struct rql_prepared *p, double most_lanes, struct rql_cube_compute *plan)
{
	double entries = (double)plan->entry_count;
	double cells = rql_cube_compute_cells(plan), lanes = 1;
	static const double widths[] = {4, 8, 32}, waves[] = {1, 1, 0.25};
	for (uint32_t w = 0; w < 3; w++) {
		double wide = fmin(widths[w], most_lanes);
		if (entries * wide <= waves[w] * RQL_CUBE_ONE_WAVE && cells > lanes)
			lanes = wide;
	}
	plan->entry_round = lanes >= 32 ? 2 : lanes == 4 ? 16 : 8;
	plan->entry_lanes = (uint32_t)lanes;
	plan->entry_workgroups = at_most(entries * lanes / RQL_CUBE_WORKGROUP, plan->most_workgroups);
	uint64_t words = p->layout.group_count * p->layout.row_words;
	double rows = (double)p->layout.group_count, additions = p->layout.scalar ? (double)plan->entry_workgroups : entries;
	plan->copies = 1;
	while (plan->copies * 2 <= most_lanes && 2 * plan->copies * words <= RQL_CUBE_WHOLE_WORDS &&
	       additions > COPY_ADDITIONS * rows * plan->copies)
		plan->copies *= 2;
}

void rql_cube_compute_spread(const struct rql_prepared *p, const struct rql_device *device,
                             struct rql_cube_compute *plan)
{
	double most_lanes = rql_cube_compute_lanes(device);
	plan->entry_lanes = plan->lanes;
	plan->copies = 1;
	plan->entry_workgroups =
		at_most((double)plan->entry_count * plan->lanes / RQL_CUBE_WORKGROUP, plan->most_workgroups);
	if (plan->plain)
		spread_plain(p, most_lanes, plan);
}

/* Cells that are read whole, and those of them that are tested, in units of one value. */
static void count_reads(const struct rql_prepared *p, double *scanned, double *tested)
{
	double slots = 0, tests = 0;
	for (uint32_t s = 0; s < p->slot_count; s++)
		slots += !p->slots[s].cumulative && !p->slots[s].cumulative128;
	for (uint32_t b = 0; b < p->box_count; b++)
		tests = fmax(tests, p->boxes[b].test_count);
	*tested = tests > 0 ? p->cells * (tests + p->slot_count) / 2 : 0;
	*scanned = tests > 0 ? 0 : p->cells * slots;
}

void rql_cube_compute_price(const struct rql_prepared *p, const struct rql_device *device, struct rql_cost *out)
{
	const struct rql_profile *profile = &device->profile;
	const struct rql_cube_unit *unit = p->unit;
	const struct rql_cube_compute *plan = unit->method;
	uint64_t arrays = rql_cube_arrays_bytes(p->cube);
	bool placed = rql_cube_is_placed(p->cube, device, RQL_CUBE_ARRAYS, NULL, NULL);
	double scanned, tested, groups = p->groups;
	count_reads(p, &scanned, &tested);
	double cells = scanned * profile->cell_ns + tested * profile->tested_cell_ns;
	double work = fmax((double)unit->items * profile->run_ns, fmax(cells, p->bytes / profile->read_gbps));
	double passes = plan->passes - 1 + !unit->rows_whole;
	*out = (struct rql_cost){
		.setup_ns = placed ? 0 : (double)arrays / profile->upload_gbps + profile->submit_ns,
		.run_ns = profile->submit_ns + passes * profile->pass_ns + work + groups * profile->group_ns,
		.transfer_ns = rql_cube_unit_answer_ns(unit, device),
		.rows_out = groups,
		.device_bytes = arrays + rql_cube_unit_bytes(unit) + plan->capacity * sizeof(struct rql_cube_entry),
		.cells = p->qualifying,
		.runs = p->runs,
		.bytes = p->bytes,
	};
}

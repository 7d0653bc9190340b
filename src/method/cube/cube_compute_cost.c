/* How a request is spread over a GPU, and its price there (design.md, "Cost model"). The constants here are of shape,
 * not of time: the profile has the times. */
#include "method/cube/cube_compute.h"

#include <math.h>

/* Invocations that fill a large GPU (H200: 132 multiprocessors of 2048). With fewer items, more lanes share one. */
#define FULL 262144.0
/* Workgroups of a dispatch at most: beyond, each takes several items. Few where each flushes rows of its own. */
#define MOST_GROUPS 2048u
#define MOST_SCALAR_GROUPS 528u
#define MOST_SHARED_GROUPS 528u
#define MOST_PIECE_GROUPS 1056u
/* Additions to one address that global memory takes in its stride (about 1.5 ns each on an H200). */
#define CONTENDED 512.0
/* Of shared memory that rows may take: four workgroups of 256 fill a multiprocessor of 228 KiB even then. */
#define ROW_BYTES 32768u
#define OTHER_SHARED_BYTES 256u /* counters and the like */
#define CELLS_PER_LANE 8.0
#define LANE_CELLS 64u /* of an interval that is read whole, at most: cube_intervals.comp keeps one bit for each */
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
	uint64_t words = p->group_count * p->row_words;
	double additions = groups_by_cell(p) ? p->qualifying : items;
	bool fits = words <= room / sizeof(uint64_t);
	if (p->scalar && fits)
		out->mode = RQL_CUBE_SCALAR;
	else if (fits && additions > CONTENDED * (double)p->group_count)
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
	/* A long interval has more than lanes * LANE_CELLS cells, and no cell is in two. */
	out->queue_entries = (uint64_t)fmin(items, cells / (out->lanes * LANE_CELLS)) + 1;
}

void rql_cube_compute_plan(const struct rql_prepared *p, const struct rql_device *device, struct rql_cube_compute *out)
{
	uint32_t subgroup = device->limits.subgroup_size;
	double items = (double)rql_cube_items(p), most_lanes = power_of_two(32, subgroup > 1 ? subgroup : 1);
	*out = (struct rql_cube_compute){.reads = rql_cube_reads_cells(p)};
	plan_mode(p, device, items, out);
	double cells = cells_per_item(p, items, out->reads), lanes = power_of_two(cells / CELLS_PER_LANE, most_lanes);
	while (lanes * 2 <= fmin(8, most_lanes) && items * lanes * 2 <= FULL && cells > lanes)
		lanes *= 2; /* the device would idle otherwise */
	out->lanes = round_lanes(lanes, most_lanes);
	out->piece_lanes = (uint32_t)most_lanes;
	out->piece = out->piece_lanes * LANE_CELLS;
	if (out->reads)
		plan_pieces(p, items, most_lanes, out);
	out->passes = 1 + out->queues;
	uint64_t most = out->mode == RQL_CUBE_SCALAR   ? MOST_SCALAR_GROUPS
	                : out->mode == RQL_CUBE_SHARED ? MOST_SHARED_GROUPS
	                                               : MOST_GROUPS;
	out->workgroups = at_most(items * out->lanes / RQL_CUBE_WORKGROUP, most);
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
	bool placed = rql_cube_is_placed(p->cube, device, RQL_CUBE_ARRAYS, "", NULL);
	double scanned, tested, groups = p->groups;
	count_reads(p, &scanned, &tested);
	double cells = scanned * profile->cell_ns + tested * profile->tested_cell_ns;
	double work = fmax((double)unit->items * profile->run_ns, fmax(cells, p->bytes / profile->read_gbps));
	double result = unit->rows_whole ? (double)p->group_count * p->row_words : groups * (p->row_words + 1);
	double passes = plan->passes - 1 + !unit->rows_whole;
	*out = (struct rql_cost){
		.setup_ns = placed ? 0 : (double)arrays / profile->upload_gbps + profile->submit_ns,
		.run_ns = profile->submit_ns + passes * profile->pass_ns + work + groups * profile->group_ns,
		.transfer_ns = result * sizeof(uint64_t) / profile->download_gbps,
		.rows_out = groups,
		.device_bytes = arrays + rql_cube_unit_bytes(unit),
		.cells = p->qualifying,
		.runs = p->runs,
		.bytes = p->bytes,
	};
}

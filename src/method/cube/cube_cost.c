/* What a bound request will read, and its price (design.md, "Cost model"). Cells are counted in the directory itself:
 * exactly when the intervals are few, else over an even sample of them. */
#include "method/cube/cube_query.h"

#include <math.h>

#define SAMPLE 512u
/* Less work than this stays with the caller: profile.handover_ns is that of workers that are awake, and waking one
 * that sleeps takes longer than the work. */
#define LEAST_SHARED_NS 15000.0
/* Memory that was never touched before: a page fault and the zeroing. */
#define FRESH_BYTE_NS 0.25
/* Intervals are cut only when that gives every thread at least so much to do. */
#define PART_NS 20000.0

void rql_cube_interval(const struct rql_cube_bound_box *box, uint64_t interval, uint64_t *begin, uint64_t *end,
                       uint64_t *group)
{
	const struct rql_cube_segment *segment = &box->segments[interval % box->segment_count];
	uint64_t combination = interval / box->segment_count, key = 0, part = 0;
	for (uint32_t l = box->level_count; l-- > 0;) {
		const struct rql_cube_step *step = &box->levels[l].steps[combination % box->levels[l].count];
		combination /= box->levels[l].count;
		key += step->key;
		part += step->group;
	}
	*begin = key + segment->begin;
	*end = key + segment->end;
	*group = part + segment->group;
}

/* Cells of all intervals of a box. */
static double count_cells(const struct rql_cube *cube, const struct rql_cube_bound_box *box)
{
	uint64_t intervals = box->combination_count * box->segment_count;
	uint64_t samples = intervals < SAMPLE ? intervals : SAMPLE, sum = 0;
	for (uint64_t s = 0; s < samples; s++) {
		uint64_t begin, end, group;
		/* The middles of equal shares; intervals are below 2^63 / 1024 (a directory has that many entries). */
		rql_cube_interval(box, (2 * s + 1) * intervals / (2 * samples), &begin, &end, &group);
		sum += rql_cube_cell_of(cube, end) - rql_cube_cell_of(cube, begin);
	}
	return samples ? (double)sum * (double)intervals / (double)samples : 0;
}

/* Slots that cumulative sums serve, and those that read every cell. */
static void count_slots(const struct rql_prepared *p, double *summed, double *scanned, double *bits)
{
	*summed = *scanned = *bits = 0;
	for (uint32_t s = 0; s < p->slot_count; s++) {
		const struct rql_cube_slot *slot = &p->slots[s];
		bool cumulative = slot->cumulative || slot->cumulative128;
		*summed += cumulative;
		*scanned += !cumulative;
		*bits += slot->values ? slot->values->bits : 64;
	}
}

static void estimate_box(struct rql_prepared *p, const struct rql_cube_bound_box *box,
                         const struct rql_profile *profile)
{
	double cells = count_cells(p->cube, box), intervals = (double)(box->combination_count * box->segment_count);
	double summed, scanned, value_bits, code_bits = 0;
	count_slots(p, &summed, &scanned, &value_bits);
	for (uint32_t t = 0; t < box->test_count; t++)
		code_bits += box->tests[t].codes->bits;
	double runs = box->search_count ? intervals * box->search_count : intervals;
	/* The profile's interval has its directory look-ups and one sum, about half of the time each. */
	double work = profile->run_ns / 2 * intervals, bytes = 8 * intervals;
	double reached = cells; /* by what follows the search */
	if (box->search_count) {
		uint64_t values = 0;
		for (uint32_t i = 0; i < box->search_count; i++)
			values += box->searches[i].end - box->searches[i].begin;
		reached = cells * (double)values / box->search_radix;
		work += runs * 2 * RQL_CUBE_SEARCH_NS;
		bytes += runs * 64;
	}
	if (box->test_count) {
		work += reached * profile->tested_cell_ns * (box->test_count + p->slot_count) / 2;
		bytes += reached * (code_bits + value_bits * fmin(1, 8 * box->pass_fraction)) / 8;
	} else {
		double edges = fmin(reached, runs * RQL_CUBE_BLOCK / 2);
		work += runs * profile->run_ns / 2 * (summed > 1 ? summed : 1) + reached * scanned * profile->cell_ns;
		bytes += (edges * value_bits + runs * summed * 128) / 8;
	}
	p->cells += cells;
	p->qualifying += cells * box->pass_fraction;
	p->runs += runs;
	p->work_ns += work;
	p->bytes += bytes;
	if (box->test_count && (double)p->byte_bits < code_bits + value_bits)
		p->byte_bits = (uint64_t)(code_bits + value_bits);
}

void rql_cube_estimate(struct rql_prepared *p, const struct rql_device *device)
{
	bool reads_cells = false; /* so that cutting an interval divides its work */
	uint64_t intervals = 0;
	for (uint32_t i = 0; i < p->box_count; i++) {
		const struct rql_cube_bound_box *box = &p->boxes[i];
		estimate_box(p, box, &device->profile);
		intervals += box->combination_count * box->segment_count;
		reads_cells |= box->test_count > 0;
	}
	double summed, scanned, bits;
	count_slots(p, &summed, &scanned, &bits);
	reads_cells |= scanned > 0;
	/* Qualifying cells thrown into the groups at random leave some of them empty. */
	double groups = (double)p->layout.group_count;
	p->groups = p->layout.scalar ? 1 : groups ? groups * -expm1(-p->qualifying / groups) : 0;
	p->work_ns += p->groups * device->profile.group_ns * (1 + p->layout.value_count) / 2;
	/* The constant was measured over few groups; many come with fresh memory: rows, then the answer's columns. */
	p->layout.hashed = rql_groups_should_hash(&p->layout, p->groups);
	double rows = (p->layout.hashed ? 4 * p->groups : groups) * p->layout.row_words * sizeof(uint64_t);
	double columns = p->groups * (16.0 + 4 * p->layout.key_count + 16 * p->layout.value_count);
	p->work_ns += (rows + columns) * FRESH_BYTE_NS;

	unsigned threads = device->pool ? rql_pool_threads(device->pool) : 1;
	double wanted = 8.0 * threads;
	p->parts = 1;
	if (threads > 1 && reads_cells && (double)intervals < wanted && p->work_ns > PART_NS * threads)
		p->parts = (uint32_t)(wanted / (double)intervals) + 1;
	p->unit_count = 0;
	for (uint32_t i = 0; i < p->box_count; i++) {
		p->boxes[i].first_unit = p->unit_count;
		p->unit_count += p->boxes[i].combination_count * p->boxes[i].segment_count * p->parts;
	}
}

bool rql_cube_is_shared(const struct rql_prepared *p, const struct rql_device *device)
{
	return rql_pool_threads(device->pool) > 1 && p->unit_count > 1 &&
	       p->work_ns > LEAST_SHARED_NS + 2 * device->profile.handover_ns;
}

void rql_cube_price(const struct rql_prepared *p, const struct rql_device *device, struct rql_cost *out)
{
	double threads = rql_pool_threads(device->pool), work = p->work_ns;
	if (rql_cube_is_shared(p, device)) {
		double shared = fmax(work / threads, p->bytes / device->profile.read_gbps) + device->profile.handover_ns;
		work = fmin(work, shared);
	}
	*out = (struct rql_cost){
		.run_ns = work,
		.rows_out = p->groups,
		.device_bytes = p->cube->bytes,
		.cells = p->qualifying,
		.runs = p->runs,
	};
}

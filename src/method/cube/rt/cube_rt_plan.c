/* How many rays, how long: the choice among the ways to find a box's runs, by the device's measured costs.
 *
 * Digits on x and y are enumerated: a ray has one (x, y). On z the digits before the split are enumerated too, and the
 * split digit's segments are the intervals. A later split means more rays and fewer hits to test; PAIR tests nothing, so
 * its split is the last digit that matters. */
#include <math.h>

#include "method/cube/rt/cube_rt.h"

#define RAY_HITS 16.0  /* any-hit calls of one ray: they come one after the other */
#define PAIR_HITS 12.0 /* runs between a pair's ends: measured on an H200, 371 of them 342 us, 16 of them 150 us */
#define CALL_RAYS 1.5  /* an any-hit call, alone on its ray, takes as long as so many rays */
#define RAY_CELLS 64.0 /* cells that a ray reads one by one, likewise */
#define MOST_CUT_RAYS 1048576 /* cutting serves to fill the device: it is full then */
/* The profile's times are those of a full device. One thing after another on one ray takes so many times as long: some
 * 100 ns of memory and traversal, against fractions of one. A GPU with so many rays (times FILL) is far from idle. */
#define ALONE 2048.0
#define FILL 32.0
/* What holds until a device is measured (notes/h200.md: 2.4 to 3.8 G rays/s, 1 to 2.3 G hits/s by software). */
#define GUESSED_RAY_NS 0.4
#define GUESSED_HIT_NS 0.7

/* ---- a box over the axes ---- */

static rql_status coarsen(const struct rql_rt_view *view, uint32_t radix, const struct rql_rt_axis_digit *digit,
                          struct rql_arena *arena, struct rql_rt_view *out, struct rql_error *err)
{
	*out = (struct rql_rt_view){.passing = digit->size};
	if (!view->gid)
		return RQL_OK;
	out->gid = RQL_NEW_ARRAY(arena, int32_t, digit->size);
	if (!out->gid)
		return rql_error_memory(err, digit->size * sizeof(int32_t), "binding a query to rays");
	memset(out->gid, 0xff, digit->size * sizeof(int32_t));
	for (uint32_t v = 0; v < radix; v++)
		if (view->gid[v] >= 0)
			out->gid[v >> digit->coarse] = 0;
	out->passing = 0;
	for (uint32_t v = 0; v < digit->size; v++)
		out->passing += out->gid[v] == 0;
	return RQL_OK;
}

static rql_status box_axes_of(const struct rql_cube *cube, const struct rql_rt_axes *axes,
                              const struct rql_rt_view *views, struct rql_arena *arena, struct rql_rt_box_axes *out,
                              struct rql_error *err)
{
	*out = (struct rql_rt_box_axes){.axes = axes, .views = views, .first_z = axes->depth};
	out->places = RQL_NEW_ARRAY(arena, struct rql_rt_view, axes->depth + 1u);
	if (!out->places)
		return rql_error_memory(err, axes->depth * sizeof(*out->places), "binding a query to rays");
	for (uint32_t d = axes->depth; d-- > 0;) {
		if (axes->digits[d].axis == 2)
			out->first_z = d;
		out->places[d] = views[d];
		if (axes->digits[d].coarse)
			RQL_TRY(coarsen(&views[d], cube->digits[d].radix, &axes->digits[d], arena, &out->places[d], err));
	}
	return RQL_OK;
}

bool rql_rt_tests_cells(const struct rql_rt_box_axes *box, uint32_t digit)
{
	return box->views[digit].gid && (digit >= box->axes->depth || box->axes->digits[digit].coarse);
}

uint64_t rql_rt_each_segment(const struct rql_rt_box_axes *box, uint32_t digit, bool by_pass,
                             void (*put)(void *state, uint32_t low, uint32_t high, uint64_t group), void *state)
{
	const struct rql_rt_view *place = &box->places[digit];
	uint32_t size = box->axes->digits[digit].size;
	if (!place->gid) {
		if (put)
			put(state, 0, size - 1, 0);
		return 1;
	}
	uint64_t count = 0;
	for (uint32_t v = 0; v < size;) {
		int32_t gid = place->gid[v];
		uint32_t end = v + 1;
		while (end < size && (by_pass ? (place->gid[end] < 0) == (gid < 0) : place->gid[end] == gid))
			end++;
		if (gid >= 0) {
			if (put)
				put(state, v, end - 1, by_pass ? 0 : (uint64_t)gid * place->stride);
			count++;
		}
		v = end;
	}
	return count;
}

static bool has_groups(const struct rql_rt_view *view, uint32_t size)
{
	for (uint32_t v = 0; v < size && view->gid; v++)
		if (view->gid[v] > 0)
			return true;
	return false;
}

/* ---- one way ---- */

struct planning {
	const struct rql_prepared *p;
	const struct rql_rt_box_axes *box;
	const struct rql_profile *profile;
	double primitives, ray_ns, hit_ns;
	double alone;           /* times as long on one ray */
	double summed, scanned; /* slots with cumulative sums, and those that read every cell */
	uint32_t cell_tests;
	bool cell_groups; /* cell tests tell groups apart */
};

static double fraction(const struct planning *s, uint32_t digit)
{
	return (double)s->box->places[digit].passing / s->box->axes->digits[digit].size;
}

/* Reading `cells` cells in `spans` intervals, of which `long_ones` are worth their cumulative sums. */
static double cells_ns(const struct planning *s, double spans, double cells)
{
	if (s->cell_tests)
		return cells * s->profile->tested_cell_ns * (s->cell_tests + s->summed + s->scanned) / 2;
	double one_by_one = cells * s->profile->cell_ns * s->summed;
	double by_sums = spans * s->profile->run_ns / 2 * fmax(s->summed, 1);
	return fmin(one_by_one + spans * s->profile->cell_ns, by_sums) + cells * s->profile->cell_ns * s->scanned;
}

/* Cuts intervals so that a ray has at most `most` of the `items` to do, and fewer while the device is not full. */
static void cut(const struct planning *s, double items, double most, struct rql_rt_box_plan *plan)
{
	double whole = (double)(plan->rays / plan->cuts), rays = fmax(whole, 1), each = items / rays;
	double wanted = fmax(each / most, fmin(each, FILL * s->alone / rays));
	double cuts = fmin(fmin(ceil(wanted), MOST_CUT_RAYS / rays), s->box->axes->size[2]);
	if (cuts <= plan->cuts)
		return;
	plan->rays = plan->rays / plan->cuts * (uint32_t)cuts;
	plan->cuts = (uint32_t)cuts;
}

/* Traversal passes what lies between a pair's ends after all, in order or not, so long intervals are cut as well, until
 * the device is full. Every piece has its own additions, and edges of blocks. */
static void cut_pairs(const struct planning *s, struct rql_rt_box_plan *plan)
{
	double rays = fmax((double)plan->rays, 1), wanted = ceil(plan->reached / rays / PAIR_HITS);
	double cuts = floor(fmin(fmin(wanted, FILL * s->alone / rays), s->box->axes->size[2]));
	if (cuts < 2)
		return;
	plan->cuts = (uint32_t)cuts;
	plan->rays *= plan->cuts;
}

/* false: too many rays. */
static bool count_rays(const struct planning *s, uint32_t levels, struct rql_rt_box_plan *plan)
{
	double rays = 1;
	plan->rays = 1;
	plan->reached = s->primitives;
	for (uint32_t d = 0; d < levels; d++) {
		rays *= (double)s->box->places[d].passing;
		plan->rays *= s->box->places[d].passing;
		plan->reached *= fraction(s, d);
	}
	if (plan->split != RQL_RT_NO_SPLIT) {
		uint64_t segments = rql_rt_each_segment(s->box, plan->split, plan->by_pass, NULL, NULL);
		rays *= (double)segments;
		plan->rays *= segments;
		plan->reached *= fraction(s, plan->split);
	}
	return rays <= (double)RQL_RT_MAX_RAYS;
}

static bool plan_way(const struct planning *s, enum rql_rt_mode mode, uint32_t split, bool by_pass,
                     struct rql_rt_box_plan *out)
{
	const struct rql_rt_box_axes *box = s->box;
	*out = (struct rql_rt_box_plan){.split = split, .by_pass = by_pass, .cuts = 1, .groups_apart = s->cell_groups};
	uint32_t levels = split == RQL_RT_NO_SPLIT ? box->first_z : split;
	if (!count_rays(s, levels, out))
		return false;
	if (mode == RQL_RT_PAIR)
		cut_pairs(s, out);
	out->found = out->reached;
	for (uint32_t d = split == RQL_RT_NO_SPLIT ? box->first_z : split; d < box->axes->depth; d++) {
		bool tested = box->places[d].gid && (d != split || by_pass);
		out->groups_apart |= tested && has_groups(&box->places[d], box->axes->digits[d].size);
		if (tested && d != split)
			out->found *= fraction(s, d);
	}
	double rays = (double)out->rays, per_run = (double)s->p->cube->relation.cells / fmax(s->primitives, 1);
	out->cells = out->found * per_run;
	bool reads = s->cell_tests || s->scanned > 0;
	double spans = mode == RQL_RT_PAIR ? fmin(rays, out->reached) : out->found;
	if (reads)
		cut(s, out->cells, RAY_CELLS, out);
	if (mode == RQL_RT_HITS)
		cut(s, out->reached, RAY_HITS, out);
	double traced =
		(double)out->rays * s->ray_ns + (mode == RQL_RT_PAIR ? spans * s->ray_ns : out->reached * s->hit_ns);
	out->work_ns = traced + cells_ns(s, spans, out->cells);
	/* The time of a ray that has something to do, which no number of others shortens. */
	double busy = fmax(fmin((double)out->rays, out->reached), 1);
	double longest = s->ray_ns + (out->work_ns - (double)out->rays * s->ray_ns) / busy;
	if (mode == RQL_RT_HITS)
		longest += CALL_RAYS * s->ray_ns * out->reached / busy;
	out->work_ns = fmax(out->work_ns, longest * s->alone);
	return true;
}

/* ---- the cheapest ---- */

/* The last digit of z that matters, or RQL_RT_NO_SPLIT. */
static uint32_t last_active(const struct rql_rt_box_axes *box)
{
	for (uint32_t d = box->axes->depth; d-- > box->first_z;)
		if (box->places[d].gid)
			return d;
	return RQL_RT_NO_SPLIT;
}

static bool plan_box(const struct planning *s, enum rql_rt_mode mode, struct rql_rt_box_plan *best)
{
	uint32_t last = last_active(s->box);
	if (mode == RQL_RT_PAIR || last == RQL_RT_NO_SPLIT)
		return plan_way(s, mode, last, false, best);
	bool any = plan_way(s, mode, RQL_RT_NO_SPLIT, false, best);
	for (uint32_t split = s->box->first_z; split <= last; split++) {
		for (unsigned by_pass = 0; by_pass < 2; by_pass++) {
			struct rql_rt_box_plan plan;
			if (by_pass && !has_groups(&s->box->places[split], s->box->axes->digits[split].size))
				continue;
			if (plan_way(s, mode, split, by_pass, &plan) && (!any || plan.work_ns < best->work_ns)) {
				*best = plan;
				any = true;
			}
		}
	}
	return any;
}

static void describe_work(struct planning *s)
{
	for (uint32_t i = 0; i < s->p->slot_count; i++) {
		bool sums = s->p->slots[i].cumulative || s->p->slots[i].cumulative128;
		s->summed += sums;
		s->scanned += !sums;
	}
}

static void describe_tests(struct planning *s)
{
	s->cell_tests = 0;
	s->cell_groups = false;
	for (uint32_t d = 0; d < s->p->cube->digit_count; d++) {
		if (!rql_rt_tests_cells(s->box, d))
			continue;
		s->cell_tests++;
		s->cell_groups |= has_groups(&s->box->views[d], s->p->cube->digits[d].radix);
	}
}

/* Bits of a tested cell: its codes and values, the most of any box. */
static uint64_t cell_bits(const struct rql_prepared *p, const struct rql_rt_box_axes *boxes)
{
	const struct rql_cube *cube = p->cube;
	uint64_t values = 0, most = 0;
	for (uint32_t s = 0; s < p->slot_count; s++)
		values += p->slots[s].values ? p->slots[s].values->bits : 64;
	for (uint32_t b = 0; b < p->box_count; b++) {
		uint64_t bits = values;
		for (uint32_t d = cube->directory_digits; d < cube->digit_count; d++)
			if (rql_rt_tests_cells(&boxes[b], d))
				bits += cube->residual[d - cube->directory_digits].bits;
		most = bits > most ? bits : most;
	}
	return most;
}

static bool plan_mode(struct planning *s, enum rql_rt_mode mode, struct rql_rt_box_axes *axes, struct rql_rt_plan *out)
{
	out->mode = mode;
	for (uint32_t b = 0; b < s->p->box_count; b++) {
		s->box = &axes[b];
		describe_tests(s);
		struct rql_rt_box_plan *box = &out->boxes[b];
		if (!plan_box(s, mode, box) || (out->rays += box->rays) > RQL_RT_MAX_RAYS)
			return false;
		out->reached += box->reached;
		out->found += box->found;
		out->cells += box->cells;
		out->work_ns += box->work_ns;
		out->second_rays += mode == RQL_RT_PAIR ? fmin((double)box->rays, box->reached) : 0;
	}
	return true;
}

rql_status rql_rt_plan_rays(const struct rql_prepared *p, struct rql_rt_view *const *views,
                            const struct rql_rt_axes *axes, double primitives, const struct rql_device *device,
                            struct rql_arena *arena, struct rql_rt_plan *out, struct rql_error *err)
{
	const struct rql_profile *profile = &device->profile;
	struct planning s = {.p = p, .profile = profile, .primitives = primitives};
	s.alone = device->kind == RQL_DEVICE_SOFTWARE ? 8 : ALONE;
	s.ray_ns = profile->ray_ns > 0 ? profile->ray_ns : GUESSED_RAY_NS;
	s.hit_ns = profile->hit_ns > 0 ? profile->hit_ns : GUESSED_HIT_NS;
	describe_work(&s);
	struct rql_rt_box_axes *boxes = RQL_NEW_ARRAY(arena, struct rql_rt_box_axes, p->box_count + 1u);
	struct rql_rt_plan plans[2] = {0};
	for (unsigned m = 0; m < 2; m++)
		plans[m].boxes = RQL_NEW_ARRAY(arena, struct rql_rt_box_plan, p->box_count + 1u);
	if (!boxes || !plans[0].boxes || !plans[1].boxes)
		return rql_error_memory(err, p->box_count * sizeof(*boxes), "binding a query to rays");
	for (uint32_t b = 0; b < p->box_count; b++)
		RQL_TRY(box_axes_of(p->cube, axes, views[b], arena, &boxes[b], err));
	bool pair = plan_mode(&s, RQL_RT_PAIR, boxes, &plans[0]), hits = plan_mode(&s, RQL_RT_HITS, boxes, &plans[1]);
	if (!pair && !hits)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "the rt unit would need more than 10^10 rays for it");
	*out = plans[!pair || (hits && plans[1].work_ns < plans[0].work_ns)];
	out->axes = boxes;
	out->cell_bits = cell_bits(p, boxes);
	return RQL_OK;
}

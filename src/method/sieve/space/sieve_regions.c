/* Boxes of space where vectors may be wrong, as regions of rays (RTScan 4.3.2, 4.4.3).
 *
 * Of predicate i the rows of a box have keys that are open, of the predicates before it keys that are known, of those
 * behind it either: so boxes are disjoint, and outside of them vectors are right. Known and open keys are ranges; where
 * there are many, one range from the first to the last stands for them, as rows are tested in the end. */
#include <string.h>
#include "geometry/matrix.h"
#include "method/sieve/gpu/sieve_gpu.h"
#include "method/sieve/gpu/sieve_kernels.h"

#define LISTED_MOST 3u /* ranges of the other columns, of which each combination is a region */

struct interval {
	uint32_t low, high;
};
struct intervals {
	uint32_t count;
	struct interval *at;
};
struct visiting {
	const struct rql_sieve_space *space;
	struct intervals known[RQL_SIEVE_AXES], open[RQL_SIEVE_AXES], any[RQL_SIEVE_AXES];
	rql_sieve_emit *emit;
	void *state;
};

/* ---- intervals of places ---- */
static void put(struct intervals *list, uint32_t low, uint32_t high)
{
	uint32_t at = list->count++;
	for (; at && list->at[at - 1].low > low; at--)
		list->at[at] = list->at[at - 1];
	list->at[at] = (struct interval){low, high};
}

/* Neighbours become one; too many, too. */
static void join(struct intervals *list, uint32_t most)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < list->count; i++) {
		struct interval *last = count ? &list->at[count - 1] : NULL, now = list->at[i];
		if (last && now.low <= last->high + 1)
			last->high = now.high > last->high ? now.high : last->high;
		else
			list->at[count++] = now;
	}
	if (count > most) {
		list->at[0].high = list->at[count - 1].high;
		count = 1;
	}
	list->count = count;
}

static void put_keys(struct intervals *list, const struct rql_sieve_axis *axis, const struct rql_sieve_range *ranges,
                     uint32_t count, bool null)
{
	uint32_t low, high;
	for (uint32_t r = 0; r < count; r++)
		if (rql_sieve_axis_places(axis, ranges[r].least, ranges[r].greatest, &low, &high))
			put(list, low, high);
	if (null)
		put(list, axis->size, axis->size);
}

static rql_status list_axis(struct visiting *v, uint32_t axis, const struct rql_sieve_bound *b, struct rql_arena *arena,
                            struct rql_error *err)
{
	const uint64_t most = (uint64_t)b->known_count + b->open_count + 2;
	const struct rql_sieve_axis *of = &v->space->axes[axis];
	struct interval *at = RQL_NEW_ARRAY(arena, struct interval, 3 * most);
	if (!at)
		return rql_error_memory(err, 3 * most * sizeof(*at), "regions of rays");
	v->known[axis].at = at;
	v->open[axis].at = at + most;
	v->any[axis].at = at + 2 * most;
	put_keys(&v->known[axis], of, b->known, b->known_count, b->null_known);
	put_keys(&v->open[axis], of, b->open, b->open_count, b->null_open);
	put_keys(&v->any[axis], of, b->known, b->known_count, b->null_known);
	put_keys(&v->any[axis], of, b->open, b->open_count, b->null_open);
	join(&v->known[axis], LISTED_MOST);
	join(&v->open[axis], UINT32_MAX);
	join(&v->any[axis], LISTED_MOST);
	return RQL_OK;
}

/* ---- rays over a box ---- */
static void set_dimension(struct rql_sieve_kernel_region *r, unsigned dimension, unsigned axis,
                          const struct rql_matrix_line *line)
{
	float *origin = axis == 0 ? &r->x : axis == 1 ? &r->y : &r->z;
	float *step = dimension == 0 ? &r->step0 : dimension == 1 ? &r->step1 : &r->step2;
	*origin += line->first;
	*step = line->step;
	r->axes |= axis << 2 * dimension;
}

static uint64_t over_legs(const struct rql_sieve_space *s, const struct interval *box, struct rql_sieve_kernel_region *r)
{
	const struct rql_matrix_line x = rql_matrix_legs(box[0].low, box[0].high, s->center[0], s->interval);
	set_dimension(r, 0, 0, &x);
	r->count0 = x.count;
	r->count1 = 1;
	r->y = -0.5f * (float)s->interval;
	r->extent = 2 * (float)s->interval;
	r->axes |= 1u << 6;
	return x.count;
}

static uint64_t over_cubes(const struct rql_sieve_space *s, const struct interval *box,
                           struct rql_sieve_kernel_region *r)
{
	const struct rql_matrix_line x = rql_matrix_across(box[0].low, box[0].high, s->center[0], s->interval);
	struct rql_matrix_line y = {.count = 1}, z = {.count = 1};
	if (s->axis_count > 1)
		y = rql_matrix_across(box[1].low, box[1].high, s->center[1], s->interval);
	if (s->axis_count > 2) {
		const uint32_t whole = box[2].high - box[2].low + 1; /* RTc3: one ray through all */
		const uint32_t length = s->length && s->length < whole ? s->length : whole;
		z = rql_matrix_along(box[2].low, box[2].high, s->center[2], length, s->spacing);
		r->extent = (float)length;
	} else { /* 4.4.5: through the plane in which all centres lie */
		z.first = -0.5f * (float)s->width;
		r->extent = (float)s->width;
	}
	set_dimension(r, 0, 0, &x);
	set_dimension(r, 1, 1, &y);
	set_dimension(r, 2, 2, &z);
	r->count0 = x.count;
	r->count1 = y.count;
	r->axes |= 2u << 6;
	return (uint64_t)x.count * y.count * z.count;
}

/* The fullest cell among those whose column `open` has a place of the box. */
static uint32_t pieces_in(const struct rql_sieve_space *s, const struct interval *box, uint32_t open)
{
	uint32_t most = 1;
	for (uint32_t p = box[open].low; p <= box[open].high; p++)
		most = s->pieces_of[open][p] > most ? s->pieces_of[open][p] : most;
	return most;
}

static uint64_t over_cells(const struct rql_sieve_space *s, const struct interval *box, uint32_t open,
                           struct rql_sieve_kernel_region *r)
{
	const struct interval none = {0, 0}, y = s->axis_count > 1 ? box[1] : none, z = s->axis_count > 2 ? box[2] : none;
	const bool along_y = y.high - y.low > z.high - z.low; /* along the longer: fewer rays, each of which hits more */
	const struct interval across = along_y ? z : y, along = along_y ? y : z;
	const struct rql_matrix_line piece = {.step = s->unit_x, .count = pieces_in(s, box, open)};
	const struct rql_matrix_line x = rql_matrix_lines(box[0].low, box[0].high, s->unit_x * (float)s->pieces);
	const struct rql_matrix_line other = rql_matrix_lines(across.low, across.high, 1);
	set_dimension(r, 0, 0, &piece);
	set_dimension(r, 1, along_y ? 2 : 1, &other);
	set_dimension(r, 2, 0, &x);
	r->count0 = piece.count;
	r->count1 = other.count;
	r->axes |= (along_y ? 1u : 2u) << 6;
	*(along_y ? &r->y : &r->z) = (float)along.low - 0.5f;
	r->extent = (float)(along.high - along.low + 1);
	return (uint64_t)piece.count * x.count * other.count;
}

static void emit_box(const struct visiting *v, const struct interval *box, uint32_t open)
{
	const struct rql_sieve_space *s = v->space;
	struct rql_sieve_kernel_region r = {.accel = s->accel->address,
	                                    .cells = s->cells ? s->cells->address : 0,
	                                    .order = s->order ? s->order->address : 0,
	                                    .part_primitives = (uint32_t)s->part_primitives};
	const uint64_t rays = s->refine == RQL_SIEVE_RTC1    ? over_legs(s, box, &r)
	                      : s->refine == RQL_SIEVE_CELLS ? over_cells(s, box, open, &r)
	                                                     : over_cubes(s, box, &r);
	v->emit(v->state, &r, rays);
}

/* Each combination of the columns' intervals, predicate `open` having open ones. */
static void combine(const struct visiting *v, uint32_t open)
{
	const struct intervals *lists[RQL_SIEVE_AXES];
	uint64_t all = 1;
	for (uint32_t a = 0; a < v->space->axis_count; a++) {
		lists[a] = a < open ? &v->known[a] : a == open ? &v->open[a] : &v->any[a];
		all *= lists[a]->count;
	}
	for (uint64_t i = 0; i < all; i++) {
		struct interval box[RQL_SIEVE_AXES];
		uint64_t left = i;
		for (uint32_t a = 0; a < v->space->axis_count; a++) {
			box[a] = lists[a]->at[left % lists[a]->count];
			left /= lists[a]->count;
		}
		emit_box(v, box, open);
	}
}

rql_status rql_sieve_regions(const struct rql_sieve_space *space, const struct rql_sieve_group *group,
                             const struct rql_sieve_bound *bounds, struct rql_arena *arena, rql_sieve_emit *emit,
                             void *state, struct rql_error *err)
{
	struct visiting v = {.space = space, .emit = emit, .state = state};
	for (uint32_t a = 0; a < group->count; a++)
		RQL_TRY(list_axis(&v, a, &bounds[group->predicates[a]], arena, err));
	/* Without vectors everything is open: one box holds all. */
	const uint32_t last = rql_sieve_takes_vectors(space->refine) ? group->count : 1;
	for (uint32_t open = 0; open < last; open++)
		combine(&v, open);
	return RQL_OK;
}

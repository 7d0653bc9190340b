/* What a bound box asks of every digit by itself. cube_prepare.c arranges digits for the directory (levels, segments,
 * searches, tests); rays arrange them otherwise, so its decisions are read back into one map per digit. */
#include "method/cube/rt/cube_rt.h"

struct reading {
	const struct rql_prepared *p;
	const struct rql_cube_bound_box *box;
	struct rql_arena *arena;
	struct rql_rt_view *views;
};

/* The part of the group number as a gid. */
static int32_t gid_of(const struct rql_rt_view *view, uint64_t group)
{
	return view->stride ? (int32_t)(group / view->stride) : 0;
}

static rql_status start(struct reading *r, uint32_t digit, struct rql_error *err)
{
	uint32_t radix = r->p->cube->digits[digit].radix;
	r->views[digit].gid = RQL_NEW_ARRAY(r->arena, int32_t, radix);
	if (!r->views[digit].gid)
		return rql_error_memory(err, radix * sizeof(int32_t), "binding a query to rays");
	for (uint32_t v = 0; v < radix; v++)
		r->views[digit].gid[v] = -1;
	return RQL_OK;
}

static rql_status read_level(struct reading *r, uint32_t digit, uint64_t key_stride, struct rql_error *err)
{
	const struct rql_cube_level *level = &r->box->levels[digit];
	RQL_TRY(start(r, digit, err));
	for (uint32_t s = 0; s < level->count; s++)
		r->views[digit].gid[level->steps[s].key / key_stride] = gid_of(&r->views[digit], level->steps[s].group);
	return RQL_OK;
}

static rql_status read_segments(struct reading *r, uint32_t digit, const struct rql_cube_segment *segments,
                                uint32_t count, uint64_t scale, struct rql_error *err)
{
	RQL_TRY(start(r, digit, err));
	for (uint32_t s = 0; s < count; s++)
		for (uint64_t v = segments[s].begin / scale; v < segments[s].end / scale; v++)
			r->views[digit].gid[v] = gid_of(&r->views[digit], segments[s].group);
	return RQL_OK;
}

static rql_status read_test(struct reading *r, const struct rql_cube_test *test, struct rql_error *err)
{
	const struct rql_cube *cube = r->p->cube;
	uint32_t digit = cube->directory_digits + (uint32_t)(test->codes - cube->residual);
	if (!r->views[digit].gid)
		RQL_TRY(start(r, digit, err));
	/* A searched digit may be tested as well: then only the test has its gids. */
	memcpy(r->views[digit].gid, test->gid, cube->digits[digit].radix * sizeof(int32_t));
	return RQL_OK;
}

/* Counts what passes, and forgets maps that say nothing. */
static void settle(struct reading *r, uint32_t digit)
{
	struct rql_rt_view *view = &r->views[digit];
	uint32_t radix = r->p->cube->digits[digit].radix;
	bool plain = true;
	view->passing = view->gid ? 0 : radix;
	for (uint32_t v = 0; v < radix && view->gid; v++) {
		view->passing += view->gid[v] >= 0;
		plain &= view->gid[v] == 0;
	}
	if (plain)
		view->gid = NULL;
}

rql_status rql_rt_views(const struct rql_prepared *p, const struct rql_cube_bound_box *box, struct rql_arena *arena,
                        struct rql_rt_view **out, struct rql_error *err)
{
	const struct rql_cube *cube = p->cube;
	struct reading r = {.p = p, .box = box, .arena = arena};
	r.views = RQL_NEW_ARRAY(arena, struct rql_rt_view, cube->digit_count + 1u);
	if (!r.views)
		return rql_error_memory(err, cube->digit_count * sizeof(*r.views), "binding a query to rays");
	for (uint32_t g = 0; g < p->group_digit_count; g++)
		r.views[p->group_digits[g].digit].stride = p->group_digits[g].stride;
	uint64_t key_stride = cube->directory_size;
	for (uint32_t d = 0; d < cube->directory_digits && d <= box->level_count; d++) {
		key_stride /= cube->digits[d].radix;
		if (d < box->level_count)
			RQL_TRY(read_level(&r, d, key_stride, err));
		else
			RQL_TRY(read_segments(&r, d, box->segments, box->segment_count, key_stride, err));
	}
	if (box->search_count)
		RQL_TRY(read_segments(&r, cube->directory_digits, box->searches, box->search_count, 1, err));
	for (uint32_t t = 0; t < box->test_count; t++)
		RQL_TRY(read_test(&r, &box->tests[t], err));
	for (uint32_t d = 0; d < cube->digit_count; d++)
		settle(&r, d);
	*out = r.views;
	return RQL_OK;
}

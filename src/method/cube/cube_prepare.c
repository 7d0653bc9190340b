/* Binds a request to a cube: code sets become steps and segments of the digits (RTCUDB section 4.2: a conjunction
 * over encoded attributes is a set of intervals of the key), group keys become group numbers. Nothing here depends on
 * the run. */
#include "method/cube/cube_query.h"

/* One box while it is bound: which values of each digit pass. */
struct box_pass {
	uint8_t **pass;    /* [digit]; NULL: all */
	uint64_t *passing; /* [digit] */
	bool empty;
};

struct binding {
	struct rql_prepared *p;
	const struct rql_request *request;
	const struct rql_device *device;
	struct rql_arena *scratch;
	struct box_pass *boxes;
	int32_t **gid;        /* [digit]: group number part of each value; NULL: no group key there */
	uint64_t *stride;     /* [digit]; 0: no group key there */
	uint32_t *gids;       /* [digit]; 1: no group key there, or only one value of it */
	uint64_t *key_stride; /* [directory digit] */
};

/* ---- which values pass ---- */

static rql_status pass_digit(struct binding *b, const struct rql_box *box, uint32_t digit, struct box_pass *out,
                             struct rql_error *err)
{
	const struct rql_cube *cube = b->p->cube;
	uint32_t radix = cube->digits[digit].radix;
	uint8_t *pass = NULL;
	for (uint32_t d = 0; d < cube->relation.dimension_count; d++) {
		const uint64_t *set = box->pass ? box->pass[d] : NULL;
		if (!set || cube->dimensions[d].digit != digit)
			continue;
		const uint32_t *code = cube->dimensions[d].code_of_digit;
		if (!pass) {
			pass = RQL_NEW_ARRAY(b->scratch, uint8_t, radix);
			if (!pass)
				return rql_error_memory(err, 0, "binding a query to a cube");
			memset(pass, 1, radix);
		}
		for (uint32_t v = 0; v < radix; v++)
			pass[v] &= rql_bit(set, code[v]);
	}
	uint64_t passing = radix;
	if (pass) {
		passing = 0;
		for (uint32_t v = 0; v < radix; v++)
			passing += pass[v];
	}
	out->pass[digit] = passing == radix ? NULL : pass;
	out->passing[digit] = passing;
	out->empty |= passing == 0;
	return RQL_OK;
}

static rql_status pass_boxes(struct binding *b, struct rql_error *err)
{
	const struct rql_cube *cube = b->p->cube;
	b->boxes = RQL_NEW_ARRAY(b->scratch, struct box_pass, b->request->box_count);
	if (!b->boxes)
		return rql_error_memory(err, 0, "binding a query to a cube");
	for (uint32_t i = 0; i < b->request->box_count; i++) {
		struct box_pass *out = &b->boxes[i];
		out->pass = RQL_NEW_ARRAY(b->scratch, uint8_t *, cube->digit_count);
		out->passing = RQL_NEW_ARRAY(b->scratch, uint64_t, cube->digit_count);
		if (!out->pass || !out->passing)
			return rql_error_memory(err, 0, "binding a query to a cube");
		out->empty = cube->relation.cells == 0;
		for (uint32_t d = 0; d < cube->digit_count && !out->empty; d++)
			RQL_TRY(pass_digit(b, &b->request->boxes[i], d, out, err));
	}
	return RQL_OK;
}

/* Values that pass in any box, for the digits that have group keys. */
static rql_status pass_any(struct binding *b, uint8_t **any, struct rql_error *err)
{
	const struct rql_cube *cube = b->p->cube;
	for (uint32_t g = 0; g < b->request->group_count; g++) {
		uint32_t digit = cube->dimensions[b->request->groups[g].source.index].digit, radix = cube->digits[digit].radix;
		if (any[digit])
			continue;
		any[digit] = RQL_NEW_ARRAY(b->scratch, uint8_t, radix);
		if (!any[digit])
			return rql_error_memory(err, 0, "binding a query to a cube");
		for (uint32_t i = 0; i < b->request->box_count; i++) {
			if (b->boxes[i].empty)
				continue;
			const uint8_t *pass = b->boxes[i].pass[digit];
			for (uint32_t v = 0; v < radix; v++)
				any[digit][v] |= pass ? pass[v] : 1;
		}
	}
	return RQL_OK;
}

/* ---- boxes ---- */

static int32_t gid_of(const struct binding *b, const struct box_pass *box, uint32_t digit, uint32_t value)
{
	if (box->pass[digit] && !box->pass[digit][value])
		return -1;
	return b->gid[digit] ? b->gid[digit][value] : 0;
}

static bool is_active(const struct binding *b, const struct box_pass *box, uint32_t digit)
{
	return box->pass[digit] || b->gids[digit] > 1;
}

/* What is one segment of a digit: a run of values with one gid, a passing value, or a run of passing values (whose gids
 * are looked up elsewhere). */
enum segments { BY_GID, BY_VALUE, BY_PASS };

/* The segments of a digit, begin and end times `scale`. */
static rql_status make_segments(struct binding *b, const struct box_pass *box, uint32_t digit, uint64_t scale,
                                enum segments kind, struct rql_cube_segment **out, uint32_t *count,
                                struct rql_error *err)
{
	uint32_t radix = b->p->cube->digits[digit].radix, n = 0;
	for (unsigned round = 0; round < 2; round++) {
		n = 0;
		for (uint32_t v = 0; v < radix;) {
			int32_t gid = gid_of(b, box, digit, v);
			uint32_t end = v + 1;
			for (; end < radix && !(kind == BY_VALUE && gid >= 0); end++) {
				int32_t next = gid_of(b, box, digit, end);
				if (kind == BY_PASS ? (next < 0) != (gid < 0) : next != gid)
					break;
			}
			uint64_t group = kind == BY_PASS ? 0 : (uint64_t)gid * b->stride[digit];
			if (gid >= 0 && round == 1)
				(*out)[n] = (struct rql_cube_segment){v * scale, end * scale, group};
			n += gid >= 0;
			v = end;
		}
		if (round == 0 && !(*out = RQL_NEW_ARRAY(b->p->arena, struct rql_cube_segment, n)))
			return rql_error_memory(err, 0, "binding a query to a cube");
	}
	*count = n;
	return RQL_OK;
}

static rql_status make_level(struct binding *b, const struct box_pass *box, uint32_t digit, struct rql_cube_level *out,
                             struct rql_error *err)
{
	out->count = (uint32_t)box->passing[digit];
	out->steps = RQL_NEW_ARRAY(b->p->arena, struct rql_cube_step, out->count);
	if (!out->steps)
		return rql_error_memory(err, 0, "binding a query to a cube");
	uint32_t n = 0;
	for (uint32_t v = 0; v < b->p->cube->digits[digit].radix; v++) {
		int32_t gid = gid_of(b, box, digit, v);
		if (gid >= 0)
			out->steps[n++] = (struct rql_cube_step){v * b->key_stride[digit], (uint64_t)gid * b->stride[digit]};
	}
	return RQL_OK;
}

/* Levels for the digits before `last`, segments for it. last < 0: the whole directory is one segment. */
static rql_status bind_directory(struct binding *b, const struct box_pass *box, int64_t last, enum segments kind,
                                 struct rql_cube_bound_box *out, struct rql_error *err)
{
	out->combination_count = 1;
	if (last < 0) {
		out->segments = RQL_NEW(b->p->arena, struct rql_cube_segment);
		if (!out->segments)
			return rql_error_memory(err, 0, "binding a query to a cube");
		out->segment_count = 1;
		*out->segments = (struct rql_cube_segment){0, b->p->cube->directory_size, 0};
		return RQL_OK;
	}
	out->level_count = (uint32_t)last;
	out->levels = RQL_NEW_ARRAY(b->p->arena, struct rql_cube_level, (uint64_t)last);
	if (!out->levels)
		return rql_error_memory(err, 0, "binding a query to a cube");
	for (uint32_t d = 0; d < (uint32_t)last; d++) {
		RQL_TRY(make_level(b, box, d, &out->levels[d], err));
		out->combination_count *= out->levels[d].count;
	}
	return make_segments(b, box, (uint32_t)last, b->key_stride[last], kind, &out->segments, &out->segment_count, err);
}

static rql_status bind_test(struct binding *b, const struct box_pass *box, uint32_t digit,
                            struct rql_cube_bound_box *out, struct rql_error *err)
{
	const struct rql_cube *cube = b->p->cube;
	uint32_t radix = cube->digits[digit].radix;
	int32_t *gid = RQL_NEW_ARRAY(b->p->arena, int32_t, radix);
	if (!gid)
		return rql_error_memory(err, 0, "binding a query to a cube");
	for (uint32_t v = 0; v < radix; v++)
		gid[v] = gid_of(b, box, digit, v);
	out->tests[out->test_count++] = (struct rql_cube_test){
		.codes = &cube->residual[digit - cube->directory_digits], .gid = gid, .stride = b->stride[digit]};
	out->tests_group |= b->gids[digit] > 1;
	return RQL_OK;
}

/* What is done about the first residual digit, by which the cells of each key are sorted. */
enum first_residual {
	TEST_IT,         /* as the others: in every cell of the intervals */
	SEARCH_GROUPS,   /* every key alone: the ends of its segments of one gid are searched */
	SEARCH_AND_TEST, /* every key alone: the ends of what passes are searched, gids are looked up in these cells */
};

/* SSB q4.2 on an H200: 46,000 cells in 23 us, 30,000 that are tested for passing in 4. */
#define GPU_GROUPED_TEST 4.0

/* The cheapest, by what one key costs. tests: active residual digits. */
static enum first_residual plan_search(const struct binding *b, const struct box_pass *box, uint32_t tests)
{
	const struct rql_cube *cube = b->p->cube;
	const struct rql_profile *profile = &b->device->profile;
	uint32_t digit = cube->directory_digits, radix = cube->digits[digit].radix, gid_ends = 0, pass_ends = 0;
	int32_t before = gid_of(b, box, digit, 0);
	for (uint32_t v = 1; v < radix; v++) {
		int32_t gid = gid_of(b, box, digit, v);
		gid_ends += gid != before;
		pass_ends += (gid < 0) != (before < 0);
		before = gid;
	}
	/* On a GPU the steps of a search wait for each other as an interval's look-ups do. */
	bool cpu = b->device->kind == RQL_DEVICE_CPU;
	double search = cpu ? RQL_CUBE_SEARCH_NS : profile->run_ns;
	double cells = (double)cube->relation.cells / (double)cube->directory_size;
	double found = cells * (double)box->passing[digit] / radix, test = profile->tested_cell_ns;
	/* Cells whose tests say the group are added one by one. */
	double own = b->gids[digit] > 1 && !cpu ? test * GPU_GROUPED_TEST : test;
	double groups = profile->run_ns + gid_ends * search;
	groups += tests > 1 ? found * test * tests / 2 : gid_ends * profile->run_ns;
	double narrow =
		profile->run_ns + pass_ends * (search + profile->run_ns) + found * own * (tests + 1) / 2;
	double all = cells * own * (tests + 1) / 2;
	if (groups <= narrow || b->gids[digit] == 1 || pass_ends == 0)
		return groups < all ? SEARCH_GROUPS : TEST_IT;
	return narrow < all ? SEARCH_AND_TEST : TEST_IT;
}

static rql_status bind_box(struct binding *b, const struct box_pass *box, struct rql_cube_bound_box *out,
                           struct rql_error *err)
{
	const struct rql_cube *cube = b->p->cube;
	uint32_t p = cube->directory_digits, active = 0;
	out->pass_fraction = 1;
	for (uint32_t d = p; d < cube->digit_count; d++) {
		active += is_active(b, box, d);
		out->pass_fraction *= (double)box->passing[d] / cube->digits[d].radix;
	}
	enum first_residual plan = active && is_active(b, box, p) ? plan_search(b, box, active) : TEST_IT;
	int64_t last = (int64_t)p - 1;
	while (plan == TEST_IT && last >= 0 && !is_active(b, box, (uint32_t)last))
		last--;
	enum segments kind = plan == TEST_IT ? BY_GID : BY_VALUE;
	RQL_TRY(bind_directory(b, box, last, kind, out, err));
	if (plan != TEST_IT) {
		kind = plan == SEARCH_GROUPS ? BY_GID : BY_PASS;
		RQL_TRY(make_segments(b, box, p, 1, kind, &out->searches, &out->search_count, err));
		out->search_codes = &cube->residual[0];
		out->search_radix = cube->digits[p].radix;
	}
	out->tests = RQL_NEW_ARRAY(b->p->arena, struct rql_cube_test, active);
	if (!out->tests)
		return rql_error_memory(err, 0, "binding a query to a cube");
	for (uint32_t d = p + (plan == SEARCH_GROUPS); d < cube->digit_count; d++)
		if (is_active(b, box, d))
			RQL_TRY(bind_test(b, box, d, out, err));
	return RQL_OK;
}

static rql_status bind_boxes(struct binding *b, struct rql_error *err)
{
	struct rql_prepared *p = b->p;
	const struct rql_cube *cube = p->cube;
	for (uint32_t i = 0; i < p->group_digit_count; i++) {
		b->stride[p->group_digits[i].digit] = p->group_digits[i].stride;
		b->gids[p->group_digits[i].digit] = p->group_digits[i].count;
	}
	uint64_t stride = 1;
	for (uint32_t d = cube->directory_digits; d-- > 0;) {
		b->key_stride[d] = stride;
		stride *= cube->digits[d].radix;
	}
	p->boxes = RQL_NEW_ARRAY(p->arena, struct rql_cube_bound_box, b->request->box_count);
	if (!p->boxes)
		return rql_error_memory(err, 0, "binding a query to a cube");
	for (uint32_t i = 0; i < b->request->box_count; i++)
		if (!b->boxes[i].empty)
			RQL_TRY(bind_box(b, &b->boxes[i], &p->boxes[p->box_count++], err));
	return RQL_OK;
}

/* ---- the whole ---- */

static rql_status bind(struct binding *b, struct rql_error *err)
{
	uint64_t digits = b->p->cube->digit_count;
	uint8_t **any = RQL_NEW_ARRAY(b->scratch, uint8_t *, digits);
	b->gid = RQL_NEW_ARRAY(b->scratch, int32_t *, digits);
	b->stride = RQL_NEW_ARRAY(b->scratch, uint64_t, digits);
	b->gids = RQL_NEW_ARRAY(b->scratch, uint32_t, digits);
	b->key_stride = RQL_NEW_ARRAY(b->scratch, uint64_t, digits);
	if (!any || !b->gid || !b->stride || !b->gids || !b->key_stride)
		return rql_error_memory(err, 0, "binding a query to a cube");
	for (uint64_t d = 0; d < digits; d++)
		b->gids[d] = 1;
	RQL_TRY(rql_cube_bind_aggregates(b->p, b->request, err));
	RQL_TRY(pass_boxes(b, err));
	RQL_TRY(pass_any(b, any, err));
	RQL_TRY(rql_cube_number_groups(b->p, b->request, any, b->scratch, b->gid, err));
	RQL_TRY(bind_boxes(b, err));
	rql_cube_estimate(b->p, b->device);
	return RQL_OK;
}

rql_status rql_cube_prepare(const struct rql_request *request, struct rql_device *device, struct rql_prepared **out,
                            struct rql_error *err)
{
	struct rql_arena *arena = rql_arena_new(), *scratch = rql_arena_new();
	struct rql_prepared *p = arena ? RQL_NEW(arena, struct rql_prepared) : NULL;
	rql_status status = p && scratch ? RQL_OK : rql_error_memory(err, 0, "binding a query to a cube");
	if (status == RQL_OK) {
		p->arena = arena;
		p->cube = (const struct rql_cube *)request->relation; /* its first member */
		p->kernels = rql_cube_kernels_for(device->simd);
		struct binding b = {.p = p, .request = request, .device = device, .scratch = scratch};
		status = bind(&b, err);
	}
	rql_arena_free(scratch);
	if (status == RQL_OK)
		*out = p;
	else
		rql_arena_free(arena);
	return status;
}

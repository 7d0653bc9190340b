/* Which steps of a request can test 32 rows at once on a GPU, by planes or sets. */
#include "method/scan/gpu/scan_compute.h"

#include <stdlib.h>

/* A join that drops less of the rows is no test of its own. */
#define USELESS_PASS 0.95
/* Widest fields that are looked up in sets 32 at once. */
#define KEY_BITS 31u

void rql_scan_survey(const struct rql_store_snapshot *snapshot, uint32_t column, uint32_t *widest, uint32_t *most)
{
	uint64_t blocks[129] = {0};
	*widest = *most = 0;
	for (uint32_t s = 0; s < snapshot->segment_count; s++) {
		const struct rql_store_segment *segment = &snapshot->segments[s];
		for (uint32_t b = 0; b < segment->blocks; b++)
			blocks[rql_scan_placed_bits(&segment->columns[column].blocks[b])]++;
	}
	for (uint32_t bits = 1; bits <= 128; bits++) {
		*widest = blocks[bits] ? bits : *widest;
		*most = blocks[bits] > blocks[*most] || (blocks[bits] && !*most) ? bits : *most;
	}
}

bool rql_scan_is_translated(const struct rql_store_snapshot *snapshot, uint32_t column)
{
	bool some = false;
	for (uint32_t s = 0; s < snapshot->segment_count; s++)
		some |= snapshot->segments[s].columns[column].translate != NULL;
	return some;
}

static bool has(const uint32_t *set, uint32_t i)
{
	return set[i / 32] >> i % 32 & 1;
}

/* The set as ranges, from `first` on, when it has few runs. */
static void shape_set(struct rql_scan_chunk_test *t, int64_t first)
{
	uint32_t runs = 0;
	t->kind = RQL_SCAN_TEST_PLANES;
	t->range_count = 0;
	for (uint32_t i = 0; i < t->span; i++) {
		if (!has(t->set, i))
			continue;
		if (!i || !has(t->set, i - 1)) {
			if (runs == RQL_SCAN_RANGES_MAX) {
				t->kind = RQL_SCAN_TEST_SET;
				return;
			}
			t->low[runs++] = first + (int64_t)i;
		}
		t->high[runs - 1] = first + (int64_t)i;
	}
	if (!runs) { /* nothing passes */
		t->low[0] = first;
		t->high[0] = first - 1;
	}
	t->range_count = runs ? runs : 1;
}

/* A test of a coded column as a set of codes. */
static bool code_test(const struct rql_scan_plan *plan, const struct rql_scan_step *step, struct rql_scan_chunk_test *t)
{
	const struct rql_dimension *d = plan->scan->snapshot->columns[step->index].dimension;
	uint32_t *set = RQL_NEW_ARRAY(plan->arena, uint32_t, d->count / 32 + 2);
	if (!set)
		return false;
	for (uint32_t code = 0; code < d->count; code++)
		if (rql_scan_passes_code(step, code, d->has_null && code + 1 == d->count))
			set[code / 32] |= UINT32_C(1) << code % 32;
	t->set = set;
	t->span = d->count;
	shape_set(t, 0);
	return true;
}

/* Where segments share their numbers and have no codes of their own: the low planes that none wants. */
static void skip_planes(const struct rql_store_snapshot *snapshot, struct rql_scan_chunk_test *t)
{
	uint32_t skip = t->bits;
	t->skip = 0;
	t->shared = false;
	t->single = snapshot->columns[t->column].type.id != RQL_TYPE_DATE; /* calendar numbers may be rounded */
	for (uint32_t r = 0; r < t->range_count; r++)
		t->single &= t->low[r] == t->high[r];
	if (t->single)
		return;
	for (uint32_t s = 0; s < snapshot->segment_count; s++) {
		const struct rql_store_segment *segment = &snapshot->segments[s];
		struct rql_scan_range ranges[RQL_SCAN_RANGES_MAX];
		struct rql_scan_numbers numbers;
		if (segment->columns[t->column].translate ||
		    !rql_scan_numbers_of_segment(snapshot, segment, t->column, &numbers))
			return;
		for (uint32_t r = 0; r < t->range_count; r++)
			ranges[r] = rql_scan_numbers_range(&numbers, t->low[r], t->high[r]);
		uint32_t wanted = rql_scan_planes_wanted(&numbers, ranges, t->range_count);
		uint32_t low = wanted ? (uint32_t)__builtin_ctz(wanted) : skip;
		skip = low < skip ? low : skip;
	}
	t->skip = skip < t->bits ? skip : t->bits - 1; /* one is there, for blocks where nothing passes */
	t->shared = true;
}

static void join_test(const struct rql_scan_plan *plan, const struct rql_scan_bound_join *join,
                      struct rql_scan_chunk_test *t)
{
	const struct rql_scan_column *c = &plan->scan->columns[join->column];
	const struct rql_map *map = join->map;
	t->set = map->bits;
	t->least = map->least;
	t->span = map->span;
	t->negate = join->kind == RQL_LOOKUP_ANTI;
	/* NULL's code is the last, and joins nothing. */
	if (c->null_code != RQL_NONE && map->least + (int64_t)map->span > (int64_t)c->null_code)
		t->span = map->least < (int64_t)c->null_code ? (uint32_t)((int64_t)c->null_code - map->least) : 0;
	shape_set(t, map->least);
}

bool rql_scan_payload_used(const struct rql_scan *scan, uint32_t join)
{
	bool used = false;
#define USES(s) ((s).kind == RQL_SOURCE_LOOKUP && (s).index == join)
	for (uint32_t p = 0; p < scan->part_count; p++)
		used |= USES(scan->parts[p].source);
	for (uint32_t o = 0; o < scan->operand_count; o++)
		used |= USES(scan->operands[o].source);
	for (uint32_t p = 0; p < scan->program_count; p++)
		for (uint32_t i = 0; i < scan->programs[p].program->input_count; i++)
			used |= USES(scan->programs[p].inputs[i]);
#undef USES
	return used;
}

/* Planes of 32 bits at most; sets of narrow fields. */
static bool may_test(const struct rql_scan_plan *plan, struct rql_scan_chunk_test *t, uint32_t widest_field)
{
	if (t->kind == RQL_SCAN_TEST_NULL)
		return true;
	if (t->kind == RQL_SCAN_TEST_SET)
		return widest_field <= KEY_BITS;
	t->bits = rql_scan_numbers_widest(plan->scan->snapshot, t->column);
	t->bits = t->bits ? t->bits : 1;
	skip_planes(plan->scan->snapshot, t);
	return t->bits <= RQL_SCAN_PLANES_MAX;
}

/* Two tests of one coded column are one of the codes that pass both. false: there is none to join. */
static bool merge_test(struct rql_scan_plan *plan, const struct rql_scan_chunk_test *t)
{
	if (plan->scan->snapshot->columns[t->column].kind != RQL_STORE_CODED || !t->own)
		return false;
	for (uint32_t i = 0; i < plan->test_count; i++) {
		struct rql_scan_chunk_test *o = &plan->tests[i];
		if (o->column != t->column || !o->own || o->also != RQL_NONE)
			continue;
		uint32_t codes = 0, *set = (uint32_t *)(uintptr_t)o->set; /* made by code_test */
		for (uint32_t word = 0; word < t->span / 32 + 1; word++) {
			set[word] &= t->set[word];
			codes += (uint32_t)__builtin_popcount(set[word]);
		}
		struct rql_scan_chunk_test both = *o;
		uint32_t widest;
		both.also = t->step;
		both.run = o->run > t->run ? o->run : t->run;
		both.pass = (double)codes / t->span;
		rql_scan_survey(plan->scan->snapshot, both.column, &widest, &both.bits);
		shape_set(&both, 0); /* planes perhaps where neither had some, or a set where one had */
		if (!may_test(plan, &both, widest))
			return false;
		*o = both;
		return true;
	}
	return false;
}

/* Whether a step can be a test; *out: with what it needs. */
static rql_status make_test(const struct rql_scan_plan *plan, uint32_t s, struct rql_scan_chunk_test *out, bool *can,
                            struct rql_error *err)
{
	const struct rql_scan *scan = plan->scan;
	const struct rql_scan_step *step = &scan->steps[s];
	struct rql_scan_chunk_test t = {.step = s,
	                                .also = RQL_NONE,
	                                .map = RQL_NONE,
	                                .column = step->index,
	                                .or_null = step->or_null,
	                                .pass = step->pass,
	                                .run = step->run};
	const struct rql_scan_bound_join *join = NULL;
	uint32_t widest;
	*can = false;
	if (step->kind == RQL_SCAN_BY_PROGRAM || rql_is_form(scan->snapshot)) /* which has neither planes nor zone maps */
		return RQL_OK;
	if (step->kind == RQL_SCAN_BY_JOIN) {
		join = &scan->joins[step->index];
		t.column = scan->columns[join->column].column;
	}
	const struct rql_store_column *column = &scan->snapshot->columns[t.column];
	rql_scan_survey(scan->snapshot, t.column, &widest, &t.bits);
	t.nullable = column->kind != RQL_STORE_CODED && column->nulls > 0;
	if (join) {
		/* One that drops next to nothing is left to the look-up of its payload. */
		bool useless = step->pass > USELESS_PASS && rql_scan_payload_used(scan, step->index);
		if (useless || join->second != RQL_NONE || !join->map->dense ||
		    rql_scan_is_translated(scan->snapshot, t.column))
			return RQL_OK;
		join_test(plan, join, &t);
	} else if (column->kind == RQL_STORE_CODED) {
		if (!code_test(plan, step, &t))
			return rql_error_memory(err, column->dimension->count / 8, "a set of codes");
	} else if (step->filter.kind == RQL_FILTER_IS_NULL || step->filter.kind == RQL_FILTER_IS_NOT_NULL) {
		t.kind = RQL_SCAN_TEST_NULL;
		t.negate = step->filter.kind == RQL_FILTER_IS_NULL;
	} else if (step->filter.kind == RQL_FILTER_INTEGER_RANGE) {
		t.kind = RQL_SCAN_TEST_PLANES;
		t.range_count = 1;
		/* Open ends are the ends of int128, whose distances overflow. */
		t.low[0] = step->filter.least > INT64_MIN ? step->filter.least : INT64_MIN;
		t.high[0] = step->filter.greatest < INT64_MAX ? step->filter.greatest : INT64_MAX;
	} else {
		return RQL_OK;
	}
	t.own = !join && column->kind == RQL_STORE_CODED;
	*out = t;
	*can = may_test(plan, out, widest);
	return RQL_OK;
}

/* The bits of a join's map, where they lie by themselves. */
static uint32_t map_part(const struct rql_scan_plan *plan, const struct rql_scan_chunk_test *t)
{
	const uint32_t join = plan->scan->steps[t->step].index;
	if (!rql_scan_map_apart(plan->scan->joins[join].map, RQL_SCAN_MAP_BITS))
		return RQL_NONE;
	return join * RQL_SCAN_MAP_PARTS + RQL_SCAN_MAP_BITS;
}

/* Sets go into half of what shared memory there is, as long as there is room; the small ones first would leave the most
 * for it, but they are few: in the order of the tests. */
static void place_sets(struct rql_scan_plan *plan, const struct rql_device *device)
{
	uint32_t room = rql_scan_shared_room(plan, device) / 2 / sizeof(uint32_t);
	room = room < RQL_SCAN_SET_WORDS ? room : RQL_SCAN_SET_WORDS;
	for (uint32_t i = 0; i < plan->test_count; i++) {
		struct rql_scan_chunk_test *t = &plan->tests[i];
		uint32_t words = t->kind == RQL_SCAN_TEST_SET ? t->span / 32 + 1 : 0;
		t->global = words > room - plan->set_words;
		t->set_at = plan->set_words;
		plan->set_words += t->global ? 0 : words;
		t->map = t->global && !t->own ? map_part(plan, t) : RQL_NONE;
		if (t->map != RQL_NONE)
			plan->maps[t->map] = true;
	}
}

/* ---- the whole ---- */

rql_status rql_scan_compute_tests(struct rql_scan_plan *plan, const struct rql_device *device, struct rql_error *err)
{
	const struct rql_scan *scan = plan->scan;
	for (uint32_t s = 0; s < scan->step_count; s++) {
		struct rql_scan_chunk_test t;
		bool can;
		RQL_TRY(make_test(plan, s, &t, &can, err));
		if (!can)
			rql_scan_leave_step(plan, s, scan->steps[s].pass);
		else if (!merge_test(plan, &t))
			plan->tests[plan->test_count++] = t;
	}
	if (!rql_scan_choose_tests(plan, device->limits.subgroup_size))
		return rql_error_memory(err, plan->test_count * sizeof(uint32_t), "the tests of a query");
	for (uint32_t i = 0; i < plan->test_count; i++)
		if (scan->steps[plan->tests[i].step].kind == RQL_SCAN_BY_JOIN)
			plan->joined[scan->steps[plan->tests[i].step].index] = true;
	place_sets(plan, device);
	return RQL_OK;
}

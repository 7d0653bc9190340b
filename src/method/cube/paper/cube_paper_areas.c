/* Query areas (RTCUDB section 4.2): a conjunction over the encoded attributes is a set of intervals of z. */
#include "method/cube/paper/cube_paper.h"

uint32_t rql_paper_finest(const struct rql_cube *cube, uint32_t dimension)
{
	return cube->digits[cube->dimensions[dimension].digit].dimension;
}

bool rql_paper_has(const struct rql_cube *cube, const uint32_t *attributes, uint32_t count, uint32_t dimension)
{
	uint32_t finest = rql_paper_finest(cube, dimension);
	for (uint32_t i = 0; i < count; i++)
		if (attributes[i] == dimension || attributes[i] == finest)
			return true;
	return false;
}

uint32_t rql_paper_passing(const struct rql_cube *cube, const struct rql_request *request, uint32_t dimension)
{
	uint32_t count = cube->relation.dimensions[dimension].count, least = count;
	for (uint32_t b = 0; b < request->box_count; b++) {
		const uint64_t *set = request->boxes[b].pass ? request->boxes[b].pass[dimension] : NULL;
		uint32_t passing = set ? 0 : count;
		for (uint32_t c = 0; set && c < count; c++)
			passing += rql_bit(set, c);
		least = passing < least ? passing : least;
	}
	return least;
}

/* ---- one attribute in one box ---- */

static bool is_scanned(const struct rql_paper_spec *spec, uint32_t dimension)
{
	for (uint32_t i = 0; i < spec->scan_count; i++)
		if (spec->scan[i] == dimension)
			return true;
	return false;
}

/* The codes of `attribute` that a box lets pass. Predicates on what it determines count, where these are no scan
 * attributes themselves: a structure of cities answers for nations. NULL: all; *passing says how many. */
static rql_status attribute_set(const struct rql_cube *cube, const struct rql_paper_spec *spec,
                                const struct rql_box *box, uint32_t attribute, struct rql_arena *arena, uint64_t **out,
                                uint32_t *passing, struct rql_error *err)
{
	uint32_t count = cube->relation.dimensions[attribute].count, words = (count + 63) / 64;
	uint32_t digit = cube->dimensions[attribute].digit;
	uint64_t *set = RQL_NEW_ARRAY(arena, uint64_t, words);
	if (!set)
		return rql_error_memory(err, 0, "the query areas of a cube");
	rql_bits_fill(set, count);
	const uint64_t *own = box->pass ? box->pass[attribute] : NULL;
	for (uint32_t w = 0; own && w < words; w++)
		set[w] &= own[w];
	const uint32_t *code = cube->dimensions[attribute].code_of_digit;
	bool finest = rql_paper_finest(cube, attribute) == attribute;
	for (uint32_t d = 0; finest && box->pass && d < cube->relation.dimension_count; d++) {
		if (d == attribute || !box->pass[d] || cube->dimensions[d].digit != digit || is_scanned(spec, d))
			continue;
		const uint32_t *coarse = cube->dimensions[d].code_of_digit;
		for (uint32_t v = 0; v < cube->digits[digit].radix; v++)
			if (!rql_bit(box->pass[d], coarse[v]))
				rql_bit_clear(set, code[v]);
	}
	uint32_t n = (uint32_t)rql_bits_count(set, count);
	*out = n == count ? NULL : set;
	*passing = n;
	return RQL_OK;
}

/* ---- intervals ---- */

struct list {
	uint64_t count;
	struct rql_paper_interval *at;
};

/* Appends, joining what touches. */
static void append(struct list *list, uint64_t low, uint64_t high, uint32_t box)
{
	struct rql_paper_interval *last = list->count ? &list->at[list->count - 1] : NULL;
	if (last && last->high + UINT64_C(1) == low)
		last->high = (uint32_t)high;
	else
		list->at[list->count++] = (struct rql_paper_interval){(uint32_t)low, (uint32_t)high, box};
}

static bool passes_at(const uint64_t *set, uint32_t value, uint32_t shift, uint32_t count)
{
	if (!set)
		return true;
	uint64_t end = ((uint64_t)value + 1) << shift;
	for (uint64_t c = (uint64_t)value << shift; c < end && c < count; c++)
		if (rql_bit(set, (uint32_t)c))
			return true;
	return false;
}

/* One more attribute in front of intervals over `width` values. */
static rql_status prepend(const struct list *in, uint64_t width, const uint64_t *set, uint32_t passing, uint32_t count,
                          uint32_t shift, uint32_t box, struct rql_arena *arena, struct list *out,
                          struct rql_error *err)
{
	uint64_t most = in->count * passing;
	if (most > 4 * RQL_PAPER_MAX_AREAS)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED,
		                     "the predicates make more than 2^20 query areas of the cube; leave the choice of its "
		                     "layout to RayQL");
	*out = (struct list){.at = RQL_NEW_ARRAY(arena, struct rql_paper_interval, most ? most : 1)};
	if (!out->at)
		return rql_error_memory(err, 0, "the query areas of a cube");
	uint32_t size = ((count - 1) >> shift) + 1;
	for (uint32_t v = 0; v < size; v++)
		for (uint64_t i = 0; i < in->count && passes_at(set, v, shift, count); i++)
			append(out, v * width + in->at[i].low, v * width + in->at[i].high, box);
	return RQL_OK;
}

static rql_status box_areas(const struct rql_cube *cube, const struct rql_paper_spec *spec, const struct rql_box *box,
                            uint32_t number, struct rql_arena *arena, struct rql_arena *scratch,
                            struct rql_paper_areas *areas, struct list *out, struct rql_error *err)
{
	struct rql_paper_interval unit = {0, 0, number};
	struct list list = {1, &unit};
	uint32_t tests[RQL_PAPER_TESTS], test_count = rql_paper_tests(spec, tests), passing;
	uint64_t width = 1, *set;
	*out = (struct list){0};
	for (uint32_t t = 0; t < test_count; t++) {
		RQL_TRY(attribute_set(cube, spec, box, tests[t], arena, &set, &passing, err));
		areas->sets[number * test_count + t] = set;
		if (passing == 0)
			return RQL_OK;
	}
	for (uint32_t i = spec->encoded_count; i-- > 0;) {
		uint32_t count = cube->relation.dimensions[spec->scan[i]].count;
		RQL_TRY(attribute_set(cube, spec, box, spec->scan[i], scratch, &set, &passing, err));
		if (passing == 0)
			return RQL_OK;
		struct list longer;
		RQL_TRY(prepend(&list, width, set, passing, count, spec->z_shift, number, scratch, &longer, err));
		list = longer;
		width *= ((count - 1) >> spec->z_shift) + 1;
	}
	*out = list;
	if (out->at == &unit) {
		out->at = RQL_NEW(scratch, struct rql_paper_interval);
		if (!out->at)
			return rql_error_memory(err, 0, "the query areas of a cube");
		*out->at = unit;
	}
	return RQL_OK;
}

rql_status rql_paper_make_areas(const struct rql_cube *cube, const struct rql_paper_spec *spec,
                                const struct rql_request *request, struct rql_arena *arena, struct rql_paper_areas *out,
                                struct rql_error *err)
{
	struct rql_arena *scratch = rql_arena_new();
	uint32_t tests[RQL_PAPER_TESTS];
	struct rql_paper_areas areas = {.box_count = request->box_count, .test_count = rql_paper_tests(spec, tests)};
	areas.sets = RQL_NEW_ARRAY(arena, uint64_t *, (uint64_t)areas.box_count * areas.test_count);
	areas.set_words = RQL_NEW_ARRAY(arena, uint32_t, areas.test_count);
	struct list *boxes = scratch ? RQL_NEW_ARRAY(scratch, struct list, areas.box_count) : NULL;
	rql_status status = areas.sets && areas.set_words && boxes
	                        ? RQL_OK
	                        : rql_error_memory(err, 0, "the query areas of a cube");
	for (uint32_t t = 0; t < areas.test_count && status == RQL_OK; t++)
		areas.set_words[t] = (cube->relation.dimensions[tests[t]].count + 63) / 64;
	for (uint32_t b = 0; b < areas.box_count && status == RQL_OK; b++) {
		status = box_areas(cube, spec, &request->boxes[b], b, arena, scratch, &areas, &boxes[b], err);
		areas.count += status == RQL_OK ? boxes[b].count : 0;
	}
	if (status == RQL_OK && areas.count > RQL_PAPER_MAX_AREAS)
		status = rql_error_set(err, RQL_ERROR_UNSUPPORTED,
		                       "the predicates make %llu query areas of the cube, more than 2^20; leave the choice of "
		                       "its layout to RayQL",
		                       (unsigned long long)areas.count);
	if (status == RQL_OK) {
		areas.intervals = RQL_NEW_ARRAY(arena, struct rql_paper_interval, areas.count);
		status = areas.intervals ? RQL_OK : rql_error_memory(err, 0, "the query areas of a cube");
	}
	uint64_t at = 0;
	for (uint32_t b = 0; b < areas.box_count && status == RQL_OK; b++)
		for (uint64_t i = 0; i < boxes[b].count; i++)
			areas.intervals[at++] = boxes[b].at[i];
	rql_arena_free(scratch);
	if (status == RQL_OK)
		*out = areas;
	return status;
}

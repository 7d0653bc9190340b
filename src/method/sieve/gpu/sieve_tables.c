/* Everything that the kernels of a request read beside vectors, keys and structures, as one piece of memory: tests,
 * workgroups' parts, then lists of rows or regions of rays, spans and ranges. */
#include <stdlib.h>
#include "method/sieve/gpu/sieve_gpu.h"
#include "method/sieve/gpu/sieve_kernels.h"

_Static_assert(RQL_SIEVE_KERNEL_NO_ROW == RQL_SIEVE_NO_ROW && RQL_SIEVE_KERNEL_EVERY_ROW == RQL_SIEVE_EVERY_ROW,
               "numbers of no vector");

struct tables {
	struct rql_sieve_gpu *gpu;
	struct rql_arena *arena;
	uint8_t *bytes; /* NULL: they are only counted */
	uint64_t size, base; /* base: its address on the device */
	struct rql_sieve_bound *bounds; /* [segments][predicates], of open ones */
	struct rql_sieve_predicate *here; /* the same: in the segment's codes */
	/* While regions are emitted. */
	uint32_t segment, maps;
	struct rql_sieve_kernel_region *region; /* the next one's; NULL: they are only counted */
	uint64_t tests;
	uint32_t test_count;
};

/* Room for so many bytes at the end. */
static void *extend(struct tables *t, uint64_t bytes, uint64_t *address)
{
	void *at = t->bytes ? t->bytes + t->size : NULL;
	*address = t->base + t->size;
	t->size += (bytes + 15) / 16 * 16;
	return at;
}

/* ---- tests ---- */
static void put_spans(struct tables *t, const struct rql_sieve_shape *shape, const struct rql_sieve_spans *spans,
                      struct rql_sieve_kernel_test *test)
{
	struct rql_sieve_kernel_span *to = extend(t, spans->count * sizeof(*to), &test->spans);
	uint32_t asks = test->nulls ? RQL_SIEVE_BLOCKS_PLAIN : RQL_SIEVE_BLOCKS_ONE;
	test->span_count = spans->count;
	for (uint32_t s = 0; to && s < spans->count; s++) {
		const struct rql_sieve_vectors low = rql_sieve_cut_vectors(shape, spans->spans[s].from);
		const struct rql_sieve_vectors high = rql_sieve_cut_vectors(shape, spans->spans[s].to);
		to[s] = (struct rql_sieve_kernel_span){.from_first = low.first,
		                                       .from_second = low.second,
		                                       .from_third = low.third,
		                                       .to_first = high.first,
		                                       .to_second = high.second,
		                                       .to_third = high.third,
		                                       .sure = spans->spans[s].sure};
		const bool any = spans->count > 1 || !spans->spans[s].sure || low.third != RQL_SIEVE_NO_ROW ||
		                 high.third != RQL_SIEVE_NO_ROW;
		asks = any ? RQL_SIEVE_BLOCKS_ANY : low.first != RQL_SIEVE_NO_ROW ? RQL_SIEVE_BLOCKS_PLAIN : asks;
	}
	t->gpu->asks = asks > t->gpu->asks ? asks : t->gpu->asks;
}

/* As distances from the least key; what lies outside all keys goes. */
static void put_ranges(struct tables *t, const struct rql_sieve_placed *placed,
                       const struct rql_sieve_predicate *predicate, struct rql_sieve_kernel_test *test)
{
	struct rql_sieve_kernel_range *to = extend(t, predicate->count * sizeof(*to), &test->ranges);
	const uint64_t least = placed->least, greatest = placed->least + placed->span;
	for (uint32_t r = 0; r < predicate->count; r++) {
		const struct rql_sieve_range *range = &predicate->ranges[r];
		if (range->greatest < least || range->least > greatest)
			continue;
		if (to)
			to[test->range_count] = (struct rql_sieve_kernel_range){
				.least = range->least > least ? range->least - least : 0,
				.greatest = (range->greatest < greatest ? range->greatest : greatest) - least};
		test->range_count++;
	}
	if (to && test->range_count) {
		test->least = to[0].least;
		test->span = to[0].greatest - to[0].least;
	}
}

/* What the vectors of an open predicate say, and what is left. */
static rql_status make_bound(struct tables *t, uint32_t segment, uint32_t predicate,
                             const struct rql_sieve_predicate *here, struct rql_error *err)
{
	const struct rql_sieve_gpu *gpu = t->gpu;
	const uint64_t at = (uint64_t)segment * gpu->p->count + predicate;
	const struct rql_sieve_axis *axis = gpu->orders[at] ? &gpu->orders[at]->axis : NULL;
	const bool nearest = gpu->refine == RQL_SIEVE_POSITIONS || gpu->refine == RQL_SIEVE_MATRIX ||
	                     gpu->refine == RQL_SIEVE_BLOCKS;
	const enum rql_sieve_taking taking = !rql_sieve_takes_vectors(gpu->refine) ? RQL_SIEVE_TAKE_NOTHING
	                                     : nearest                             ? RQL_SIEVE_TAKE_NEAREST
	                                                                           : RQL_SIEVE_TAKE_BELOW;
	/* Blocks have no ranks of a segment: nearer is by value, within a bin. */
	const struct rql_sieve_axis values = {.kind = RQL_SIEVE_BY_VALUE,
	                                      .size = (uint32_t)(gpu->placed[at]->span >> 1) + 1,
	                                      .shift = 1,
	                                      .least = gpu->placed[at]->least,
	                                      .greatest = gpu->placed[at]->least + gpu->placed[at]->span};
	if (gpu->refine == RQL_SIEVE_BLOCKS)
		axis = &values;
	for (uint32_t g = 0; g < gpu->group_count && !axis; g++)
		for (uint32_t a = 0; a < gpu->groups[g].count; a++)
			if (gpu->groups[g].predicates[a] == predicate && gpu->spaces[(uint64_t)segment * gpu->group_count + g])
				axis = &gpu->spaces[(uint64_t)segment * gpu->group_count + g]->axes[a];
	return rql_sieve_bound_make(&gpu->placed[at]->shape.bins, here, taking, axis, t->arena, &t->bounds[at], err);
}

/* first: as the first pass has it, which takes an open one's vectors as they are; else as rows are tested. */
static rql_status put_test(struct tables *t, uint32_t segment, uint32_t predicate, bool first,
                           struct rql_sieve_kernel_test *to, struct rql_error *err)
{
	const struct rql_prepared *p = t->gpu->p;
	const uint64_t at = (uint64_t)segment * p->count + predicate;
	const struct rql_sieve_placed *placed = t->gpu->placed[at];
	const struct rql_sieve_shape *shape = &placed->shape;
	const uint64_t vector = (uint64_t)shape->block_count * RQL_STORE_BLOCK / 8;
	const struct rql_store_view *view = &p->snapshot->segments[segment].columns[p->of[predicate].column];
	struct rql_sieve_kernel_test test = {.vectors = placed->buffer->address,
	                                     .keys = placed->buffer->address + placed->keys_at,
	                                     .lanes = shape->block_count * RQL_SIEVE_BLOCK_LANES,
	                                     .wide = placed->wide};
	struct rql_sieve_predicate here;
	struct rql_sieve_spans spans = {0};
	RQL_TRY(rql_sieve_predicate_in(&p->predicates[predicate], view, t->arena, &here, err));
	if (first && rql_sieve_is_open(t->gpu, segment, predicate))
		spans = t->bounds[at].taken;
	else if (first)
		RQL_TRY(rql_sieve_spans_make(&shape->bins, &here, t->arena, &spans, err));
	else if (rql_sieve_is_open(t->gpu, segment, predicate))
		RQL_TRY(make_bound(t, segment, predicate, &here, err));
	t->here[at] = here;
	if (shape->has_null)
		test.valid = test.vectors + (shape->highs + shape->lows) * vector;
	if (here.nulls)
		test.nulls = test.valid;
	put_spans(t, shape, &spans, &test);
	put_ranges(t, placed, &here, &test);
	if (to)
		*to = test;
	return RQL_OK;
}

static rql_status put_tests(struct tables *t, bool first, struct rql_sieve_kernel_test *tests, struct rql_error *err)
{
	const struct rql_sieve_gpu *gpu = t->gpu;
	for (uint32_t s = 0; s < gpu->p->snapshot->segment_count; s++)
		for (uint32_t k = 0; k < gpu->p->count; k++) {
			if (first && gpu->open[k] && !rql_sieve_takes_vectors(gpu->refine))
				continue;
			RQL_TRY(put_test(t, s, k, first, tests, err));
			tests = tests ? tests + 1 : NULL;
		}
	return RQL_OK;
}

/* Workgroups' lanes; returns how many workgroups there are. */
static uint32_t put_parts(struct tables *t, uint64_t *address)
{
	const struct rql_store_snapshot *snapshot = t->gpu->p->snapshot;
	uint32_t count = 0, size = t->gpu->workgroup;
	for (uint32_t s = 0; s < snapshot->segment_count; s++)
		count += (snapshot->segments[s].blocks * RQL_SIEVE_BLOCK_LANES + size - 1) / size;
	struct rql_sieve_kernel_part *to = extend(t, count * sizeof(*to), address);
	for (uint32_t s = 0; s < snapshot->segment_count && to; s++) {
		const struct rql_store_segment *segment = &snapshot->segments[s];
		const uint32_t lanes = segment->blocks * RQL_SIEVE_BLOCK_LANES;
		for (uint32_t first = 0; first < lanes; first += size)
			*to++ = (struct rql_sieve_kernel_part){
				.test = s * t->gpu->select_count,
				.first = first,
				.last = lanes,
				.place = (uint32_t)segment->first_block * RQL_SIEVE_BLOCK_LANES + first};
	}
	return count;
}

/* ---- rows of lists ---- */
static uint32_t place_of(const struct tables *t, uint32_t segment)
{
	return (uint32_t)(t->gpu->p->snapshot->segments[segment].first_block * (RQL_STORE_BLOCK / 32));
}

/* Of one open predicate in a segment; returns how many workgroups take them. */
static uint32_t put_list(const struct tables *t, uint32_t segment, uint32_t predicate,
                         struct rql_sieve_kernel_list *to)
{
	const struct rql_prepared *p = t->gpu->p;
	const uint64_t at = (uint64_t)segment * p->count + predicate;
	const struct rql_sieve_bound *bound = &t->bounds[at];
	const struct rql_sieve_order *order = t->gpu->orders[at];
	uint32_t count = 0, low, high;
	for (uint32_t r = 0; r < bound->open_count; r++) {
		if (!rql_sieve_axis_places(&order->axis, bound->open[r].least, bound->open[r].greatest, &low, &high))
			continue;
		for (uint32_t i = low; i <= high; i += RQL_SIEVE_LIST_ROWS, count++)
			if (to)
				to[count] = (struct rql_sieve_kernel_list){
					.list = order->rows->address + (uint64_t)i * sizeof(uint32_t),
					.tests = t->base + t->gpu->tests_at +
				             (uint64_t)segment * p->count * sizeof(struct rql_sieve_kernel_test),
					.count = high - i + 1 < RQL_SIEVE_LIST_ROWS ? high - i + 1 : RQL_SIEVE_LIST_ROWS,
					.place = place_of(t, segment)};
	}
	return count;
}

static uint32_t put_lists(const struct tables *t, struct rql_sieve_kernel_list *to)
{
	const struct rql_sieve_gpu *gpu = t->gpu;
	uint32_t count = 0;
	for (uint32_t s = 0; s < gpu->p->snapshot->segment_count; s++)
		for (uint32_t k = 0; k < gpu->p->count; k++)
			if (gpu->orders[(uint64_t)s * gpu->p->count + k])
				count += put_list(t, s, k, to ? to + count : NULL);
	return count;
}

/* ---- open ranges of blocks ---- */
/* One predicate's in a segment; returns how many. */
static uint32_t put_open(const struct tables *t, uint32_t segment, uint32_t predicate, struct rql_sieve_kernel_open *to)
{
	const struct rql_prepared *p = t->gpu->p;
	const uint64_t at = (uint64_t)segment * p->count + predicate;
	const struct rql_sieve_bound *bound = &t->bounds[at];
	const struct rql_sieve_placed *placed = t->gpu->placed[at];
	const struct rql_sieve_blocks *blocks = t->gpu->blocks[at];
	const struct rql_sieve_bins *bins = &placed->shape.bins;
	const uint64_t least = placed->least, greatest = least + placed->span;
	uint32_t count = 0;
	for (uint32_t r = 0; r < bound->open_count; r++) {
		const struct rql_sieve_range *open = &bound->open[r];
		if (open->greatest < least || open->least > greatest)
			continue;
		const uint64_t from = open->least > least ? open->least : least;
		const uint64_t last = open->greatest < greatest ? open->greatest : greatest;
		const uint32_t first = rql_sieve_bin_of(bins, from), end = rql_sieve_bin_of(bins, last) + 1;
		const uint64_t below = from - (first ? bins->bounds[first - 1] : least);
		const uint64_t above = (end < bins->count ? bins->bounds[end - 1] - 1 : greatest) - last;
		if (to)
			to[count] = (struct rql_sieve_kernel_open){
				.keys = blocks->buffer->address,
				.rows = blocks->buffer->address + blocks->rows_at,
				.starts = blocks->buffer->address + blocks->starts_at,
				.stride = blocks->stride,
				.first_bin = first,
				.end_bin = end,
				.least = (uint32_t)(from - least),
				.greatest = (uint32_t)(last - least),
				.down = above < below,
				.share = (float)((double)(last - from + 1) / (double)(below + (last - from + 1) + above)),
				.test = predicate % RQL_SIEVE_BLOCK_TESTS,
				.pass = rql_sieve_passes(&t->here[at], from)};
		count++;
	}
	return count;
}

/* Those of a segment's tests that are taken together. */
static rql_status put_opens_of(struct tables *t, uint32_t segment, uint32_t first, struct rql_sieve_kernel_opens *to,
                               struct rql_error *err)
{
	const uint32_t all = t->gpu->p->count;
	const uint32_t end = first + RQL_SIEVE_BLOCK_TESTS < all ? first + RQL_SIEVE_BLOCK_TESTS : all;
	uint32_t count = 0, put = 0;
	uint64_t address;
	for (uint32_t k = first; k < end; k++)
		count += rql_sieve_is_open(t->gpu, segment, k) ? put_open(t, segment, k, NULL) : 0;
	if (count > RQL_SIEVE_BLOCK_OPENS)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "a sieve has %u ranges to look at, more than %u", count,
		                     RQL_SIEVE_BLOCK_OPENS);
	struct rql_sieve_kernel_open *opens = extend(t, count * sizeof(*opens), &address);
	for (uint32_t k = first; k < end && opens; k++)
		put += rql_sieve_is_open(t->gpu, segment, k) ? put_open(t, segment, k, opens + put) : 0;
	if (to)
		*to = (struct rql_sieve_kernel_opens){.at = address, .count = count};
	return RQL_OK;
}

static rql_status put_opens(struct tables *t, struct rql_error *err)
{
	struct rql_sieve_gpu *gpu = t->gpu;
	const uint32_t groups = (gpu->p->count + RQL_SIEVE_BLOCK_TESTS - 1) / RQL_SIEVE_BLOCK_TESTS;
	struct rql_sieve_kernel_opens *to =
		extend(t, (uint64_t)gpu->p->snapshot->segment_count * groups * sizeof(*to), &gpu->opens_at);
	gpu->opens_at -= t->base;
	for (uint32_t s = 0; s < gpu->p->snapshot->segment_count; s++)
		for (uint32_t g = 0; g < groups; g++)
			RQL_TRY(put_opens_of(t, s, g * RQL_SIEVE_BLOCK_TESTS, to ? to + (uint64_t)s * groups + g : NULL, err));
	return RQL_OK;
}

/* ---- regions of rays ---- */
static void emit(void *state, struct rql_sieve_kernel_region *region, uint64_t rays)
{
	struct tables *t = state;
	region->first = t->gpu->rays;
	region->tests = t->tests;
	region->test_count = t->test_count;
	region->rows = t->maps * rql_sieve_rows_bytes(t->gpu);
	region->place = place_of(t, t->segment);
	t->gpu->rays += rays;
	t->gpu->region_count++;
	if (t->region)
		*t->region++ = *region;
}

static rql_status put_regions(struct tables *t, struct rql_sieve_kernel_region *to, struct rql_error *err)
{
	struct rql_sieve_gpu *gpu = t->gpu;
	const uint32_t count = gpu->p->count;
	gpu->rays = gpu->region_count = 0;
	t->region = to;
	for (t->segment = 0; t->segment < gpu->p->snapshot->segment_count; t->segment++)
		for (uint32_t g = 0; g < gpu->group_count; g++) {
			const struct rql_sieve_group *group = &gpu->groups[g];
			const bool alone = gpu->refine == RQL_SIEVE_RTC1; /* a bitmap for each column, ANDed in the end */
			const uint64_t first = (uint64_t)t->segment * count + (alone ? group->predicates[0] : 0);
			t->tests = t->base + gpu->tests_at + first * sizeof(struct rql_sieve_kernel_test);
			t->test_count = alone ? 1 : count;
			t->maps = alone ? g + 1 : 0;
			RQL_TRY(rql_sieve_regions(gpu->spaces[(uint64_t)t->segment * gpu->group_count + g], group,
			                          t->bounds + (uint64_t)t->segment * count, t->arena, emit, t, err));
			if (gpu->refine == RQL_SIEVE_RTC3)
				break; /* rows of the first group's box are tested for all predicates */
		}
	return RQL_OK;
}

/* ---- all together ---- */
static rql_status put_tables(struct tables *t, struct rql_error *err)
{
	struct rql_sieve_gpu *gpu = t->gpu;
	const struct rql_prepared *p = gpu->p;
	uint64_t address;
	t->size = 0;
	struct rql_sieve_kernel_test *tests = extend(t, rql_sieve_placed_count(p) * sizeof(*tests), &address);
	gpu->tests_at = address - t->base;
	struct rql_sieve_kernel_test *select = extend(
		t, (uint64_t)p->snapshot->segment_count * gpu->select_count * sizeof(*select), &address);
	gpu->select_at = address - t->base;
	gpu->part_count = put_parts(t, &gpu->parts_at);
	gpu->parts_at -= t->base;
	RQL_TRY(put_tests(t, false, tests, err));
	RQL_TRY(put_tests(t, true, select, err));
	if (gpu->refine == RQL_SIEVE_BLOCKS)
		RQL_TRY(put_opens(t, err));
	gpu->list_count = put_lists(t, NULL);
	struct rql_sieve_kernel_list *lists = extend(t, gpu->list_count * sizeof(*lists), &gpu->lists_at);
	gpu->lists_at -= t->base;
	if (lists)
		put_lists(t, lists);
	RQL_TRY(put_regions(t, NULL, err));
	struct rql_sieve_kernel_region *regions = extend(t, gpu->region_count * sizeof(*regions), &gpu->regions_at);
	gpu->regions_at -= t->base;
	return regions ? put_regions(t, regions, err) : RQL_OK;
}

static rql_status upload(struct tables *t, struct rql_error *err)
{
	struct rql_sieve_gpu *gpu = t->gpu;
	const uint64_t placed = rql_sieve_placed_count(gpu->p);
	t->bounds = RQL_NEW_ARRAY(t->arena, struct rql_sieve_bound, placed + 1);
	t->here = RQL_NEW_ARRAY(t->arena, struct rql_sieve_predicate, placed + 1);
	if (!t->bounds || !t->here)
		return rql_error_memory(err, placed * sizeof(*t->bounds), "a query on a GPU");
	RQL_TRY(put_tables(t, err));
	const uint64_t bytes = t->size + 16;
	RQL_TRY(rql_stage_buffer_new(gpu->stage.device, bytes, RQL_MEMORY_DEVICE, "the tables of a query", &gpu->tables,
	                             err));
	t->bytes = calloc(1, bytes);
	if (!t->bytes)
		return rql_error_memory(err, bytes, "a query on a GPU");
	t->base = gpu->tables->address;
	RQL_TRY(put_tables(t, err));
	return rql_buffer_upload(gpu->tables, 0, t->bytes, bytes, err);
}

rql_status rql_sieve_tables_upload(struct rql_sieve_gpu *gpu, struct rql_error *err)
{
	struct tables t = {.gpu = gpu, .arena = rql_arena_new()};
	rql_status status = t.arena ? upload(&t, err) : rql_error_memory(err, 0, "a query on a GPU");
	free(t.bytes);
	rql_arena_free(t.arena);
	return status;
}

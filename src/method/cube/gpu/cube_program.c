/* From a bound request to its form on the device, and what a GPU does not serve. */
#include "method/cube/gpu/cube_program.h"

#include <stdlib.h>

#include "method/cube/cube_pack.h"

_Static_assert(RQL_CUBE_COUNT == RQL_STATE_COUNT && RQL_CUBE_SUM == RQL_STATE_SUM &&
                   RQL_CUBE_SUM_WIDE == RQL_STATE_SUM_WIDE && RQL_CUBE_SUM_REAL == RQL_STATE_SUM_REAL &&
                   RQL_CUBE_MIN == RQL_STATE_MIN_FIELD && RQL_CUBE_MAX == RQL_STATE_MAX_FIELD &&
                   RQL_CUBE_MIN_REAL == RQL_STATE_MIN_REAL && RQL_CUBE_MAX_REAL == RQL_STATE_MAX_REAL,
               "the kinds of slots have the same numbers on the device");
_Static_assert(sizeof(struct rql_cube_step) == sizeof(struct rql_cube_step_entry) &&
                   sizeof(struct rql_cube_segment) == sizeof(struct rql_cube_segment_entry),
               "steps and segments are copied as they are");

/* ---- refusals ---- */

static bool is_wide_extreme(const struct rql_cube *cube, const struct rql_agg *agg)
{
	const struct rql_cube_measure *m = &cube->measures[agg->source.index];
	if (cube->relation.measures[agg->source.index].kind == RQL_MEASURE_REAL)
		return false;
	const struct rql_packed *values = !cube->relation.rolled_up  ? &m->sum
	                                  : agg->kind == RQL_AGG_MAX ? &m->max
	                                                             : &m->min;
	return values->bits > 64;
}

const char *rql_cube_gpu_refusal(const struct rql_request *request, const struct rql_device *device)
{
	const struct rql_relation *relation = request->relation;
	const struct rql_cube *cube = (const struct rql_cube *)relation;
	const char *why = rql_cube_refusal(request);
	for (uint32_t a = 0; a < request->agg_count && !why; a++) {
		const struct rql_agg *agg = &request->aggs[a];
		if ((agg->kind == RQL_AGG_MIN || agg->kind == RQL_AGG_MAX) && is_wide_extreme(cube, agg))
			why = "minimum and maximum of values wider than 64 bits are not done on a GPU";
		if (agg->kind == RQL_AGG_SUM && relation->measures[agg->source.index].kind == RQL_MEASURE_REAL &&
		    !device->limits.float64)
			why = "the device has no double arithmetic";
	}
	return why;
}

/* ---- the shape of a request ---- */

static uint64_t box_items(const struct rql_cube_bound_box *box)
{
	uint64_t searches = box->search_count ? box->search_count : 1;
	return box->combination_count * box->segment_count * searches;
}

uint64_t rql_cube_items(const struct rql_prepared *p)
{
	uint64_t items = 0;
	for (uint32_t b = 0; b < p->box_count; b++)
		items += box_items(&p->boxes[b]);
	return items;
}

static bool is_summed(const struct rql_cube_slot *slot)
{
	return slot->cumulative || slot->cumulative128;
}

bool rql_cube_reads_cells(const struct rql_prepared *p)
{
	bool reads = false;
	for (uint32_t s = 0; s < p->slot_count; s++)
		reads |= !is_summed(&p->slots[s]);
	for (uint32_t b = 0; b < p->box_count; b++)
		reads |= p->boxes[b].test_count > 0;
	return reads;
}

bool rql_cube_has_real_sum(const struct rql_prepared *p)
{
	for (uint32_t s = 0; s < p->slot_count; s++)
		if (p->slots[s].state.kind == RQL_STATE_SUM_REAL)
			return true;
	return false;
}

/* ---- the image ---- */

/* Its address. */
static uint64_t append(struct rql_cube_image *image, const void *data, uint64_t bytes)
{
	uint64_t at = rql_cube_image_reserve(image, bytes);
	rql_cube_image_write(image, at, data, bytes);
	return image->base + at;
}

static struct rql_cube_column column_of(const struct rql_cube_image *image, const struct rql_packed *packed)
{
	struct rql_cube_column column = {.bits = packed->bits, .base_low = (uint64_t)packed->base};
	column.base_high = (uint64_t)((rql_uint128)packed->base >> 64);
	column.data = rql_cube_arrays_address(image->arrays, packed->data);
	return column;
}

static struct rql_cube_slot_entry slot_of(const struct rql_cube_image *image, const struct rql_cube_slot *slot)
{
	struct rql_cube_slot_entry entry = {.kind = slot->state.kind, .word = slot->state.word};
	if (slot->real)
		entry.values = (struct rql_cube_column){.data = rql_cube_arrays_address(image->arrays, slot->real), .bits = 64};
	else if (slot->values)
		entry.values = column_of(image, slot->values);
	if (slot->valid) {
		entry.valid = column_of(image, slot->valid);
		entry.flags |= RQL_CUBE_SLOT_VALID;
	}
	if (is_summed(slot)) {
		const void *sums = slot->cumulative ? (const void *)slot->cumulative : (const void *)slot->cumulative128;
		entry.cumulative = rql_cube_arrays_address(image->arrays, sums);
		entry.flags |= RQL_CUBE_SLOT_CUMULATIVE;
	}
	return entry;
}

/* Where no group hangs on the digit and one run of codes passes, a comparison does: a load less in a chain of few. */
static void find_run(const int32_t *gid, uint32_t radix, struct rql_cube_test_entry *entry)
{
	uint32_t first = 0, end = radix;
	while (first < end && gid[first] < 0)
		first++;
	while (end > first && gid[end - 1] < 0)
		end--;
	for (uint32_t v = first; v < end; v++)
		if (gid[v] != 0)
			return;
	entry->first = first;
	entry->passing = end - first;
}

static uint64_t put_tests(struct rql_cube_image *image, const struct rql_cube_bound_box *box)
{
	const struct rql_cube *cube = image->p->cube;
	uint64_t at = rql_cube_image_reserve(image, box->test_count * sizeof(struct rql_cube_test_entry));
	for (uint32_t t = 0; t < box->test_count; t++) {
		const struct rql_cube_test *test = &box->tests[t];
		uint64_t digit = cube->directory_digits + (uint64_t)(test->codes - cube->residual);
		struct rql_cube_test_entry entry = {.codes = column_of(image, test->codes), .stride = test->stride};
		entry.gids = append(image, test->gid, cube->digits[digit].radix * sizeof(*test->gid));
		find_run(test->gid, cube->digits[digit].radix, &entry);
		rql_cube_image_write(image, at + t * sizeof(entry), &entry, sizeof(entry));
	}
	return image->base + at;
}

static uint64_t put_levels(struct rql_cube_image *image, const struct rql_cube_bound_box *box)
{
	uint64_t at = rql_cube_image_reserve(image, box->level_count * sizeof(struct rql_cube_level_entry));
	for (uint32_t l = 0; l < box->level_count; l++) {
		struct rql_cube_level_entry entry = {.count = box->levels[l].count};
		entry.steps = append(image, box->levels[l].steps, entry.count * sizeof(struct rql_cube_step));
		rql_cube_image_write(image, at + l * sizeof(entry), &entry, sizeof(entry));
	}
	return image->base + at;
}

static struct rql_cube_box_entry box_of(struct rql_cube_image *image, const struct rql_cube_bound_box *box)
{
	struct rql_cube_box_entry entry = {.level_count = box->level_count,
	                                   .segment_count = box->segment_count,
	                                   .search_count = box->search_count,
	                                   .search_radix = box->search_radix,
	                                   .test_count = box->test_count,
	                                   .tests_group = box->tests_group};
	entry.levels = put_levels(image, box);
	entry.segments = append(image, box->segments, box->segment_count * sizeof(*box->segments));
	entry.searches = append(image, box->searches, box->search_count * sizeof(*box->searches));
	entry.tests = put_tests(image, box);
	if (box->search_count)
		entry.search_codes = column_of(image, box->search_codes);
	return entry;
}

/* The device's templates are the values' identities (rql_state_identity), not the CPU's: extremes of doubles are keys
 * there. */
static uint64_t put_template(struct rql_cube_image *image)
{
	const struct rql_prepared *p = image->p;
	uint64_t at = rql_cube_image_reserve(image, p->layout.row_words * sizeof(uint64_t)), zero = 0, ones = UINT64_MAX;
	for (uint32_t w = 0; w < p->layout.row_words; w++)
		rql_cube_image_write(image, at + w * sizeof(zero), &zero, sizeof(zero));
	for (uint32_t s = 0; s < p->slot_count; s++)
		if (p->slots[s].state.kind == RQL_STATE_MIN_FIELD || p->slots[s].state.kind == RQL_STATE_MIN_REAL)
			rql_cube_image_write(image, at + p->slots[s].state.word * sizeof(ones), &ones, sizeof(ones));
	return image->base + at;
}

static struct rql_cube_program write_image(struct rql_cube_image *image)
{
	const struct rql_prepared *p = image->p;
	const struct rql_cube *cube = p->cube;
	const void *directory = cube->directory32 ? (const void *)cube->directory32 : (const void *)cube->directory64;
	struct rql_cube_program program = {.directory = rql_cube_arrays_address(image->arrays, directory),
	                                   .directory_wide = cube->directory32 == NULL,
	                                   .cells = cube->relation.cells,
	                                   .items = rql_cube_items(p),
	                                   .group_count = p->layout.group_count,
	                                   .slot_count = p->slot_count,
	                                   .box_count = p->box_count,
	                                   .row_words = p->layout.row_words};
	image->used = 0;
	uint64_t head = rql_cube_image_reserve(image, sizeof(program));
	uint64_t slots = rql_cube_image_reserve(image, p->slot_count * sizeof(struct rql_cube_slot_entry));
	for (uint32_t s = 0; s < p->slot_count; s++) {
		struct rql_cube_slot_entry entry = slot_of(image, &p->slots[s]);
		rql_cube_image_write(image, slots + s * sizeof(entry), &entry, sizeof(entry));
	}
	uint64_t boxes = rql_cube_image_reserve(image, p->box_count * sizeof(struct rql_cube_box_entry)), first = 0;
	for (uint32_t b = 0; b < p->box_count; b++) {
		struct rql_cube_box_entry entry = box_of(image, &p->boxes[b]);
		program.tests = b ? program.tests : entry.tests;
		entry.first_item = first;
		first += box_items(&p->boxes[b]);
		rql_cube_image_write(image, boxes + b * sizeof(entry), &entry, sizeof(entry));
	}
	program.slots = image->base + slots;
	program.boxes = image->base + boxes;
	program.row_template = put_template(image);
	rql_cube_image_write(image, head, &program, sizeof(program));
	return program;
}

rql_status rql_cube_program_new(const struct rql_prepared *p, const struct rql_cube_arrays *arrays,
                                struct rql_buffer **out, struct rql_cube_program *head, struct rql_error *err)
{
	struct rql_cube_program program = {0};
	struct rql_cube_image image = {.p = p, .arrays = arrays};
	write_image(&image);
	uint64_t bytes = image.used;
	struct rql_buffer *buffer = NULL;
	image.data = calloc(1, bytes);
	if (!image.data)
		return rql_error_memory(err, bytes, "a query's form on the device");
	rql_status status =
		rql_buffer_new(arrays->placement.device, bytes, RQL_MEMORY_DEVICE, "a bound query", &buffer, err);
	if (status == RQL_OK) {
		image.base = buffer->address;
		program = write_image(&image);
		status = rql_buffer_upload(buffer, 0, image.data, bytes, err);
	}
	free(image.data);
	if (status == RQL_OK) {
		*out = buffer;
		*head = program;
	} else {
		rql_buffer_free(buffer);
	}
	return status;
}

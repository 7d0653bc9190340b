/* Conditions over the strings of a dictionary on a GPU: the strings placed there, and the pass over them. */
#include "primitive/text.h"

#include <stdlib.h>
#include <string.h>
#include "column/text/text.h"
#include "device/work.h"
#include "primitive/text_kernels.h"
#include "util/threads.h"

#include "shaders/primitive/text_select.comp.h"

#define BYTES_MOST (UINT32_MAX - 64u) /* places of bytes have 32 bits */
#define BEHIND 32u                    /* readable bytes */
#define CHUNK 4096u                   /* entries copied by one thread at a time: a multiple of 64 */
#define STAGE_BYTES (UINT64_C(64) << 20)

static const struct rql_kernel kernel = {"primitive.text_select", rql_spv_text_select_comp,
                                         sizeof(rql_spv_text_select_comp), sizeof(struct rql_text_args)};
static const uint32_t constants[] = {RQL_TEXT_THREADS};

/* ---- placing ---- */

static uint64_t round_up(uint64_t bytes)
{
	return (bytes + 255) / 256 * 256;
}

static uint64_t string_bytes(const struct rql_dimension *d)
{
	const struct rql_string *strings = d->values.data;
	uint64_t sum = 0;
	for (uint32_t i = 0; i < d->count - d->has_null; i++)
		sum += strings[i].length;
	return sum;
}

struct layout {
	uint64_t offsets, wide, bytes; /* places, and in all */
};

static struct layout layout_of(uint64_t bytes, uint64_t count)
{
	struct layout l = {.offsets = round_up(bytes + BEHIND)};
	l.wide = l.offsets + round_up((count + 1) * 4);
	l.bytes = l.wide + round_up((count + 63) / 64 * 8);
	return l;
}

uint64_t rql_texts_bytes(const struct rql_dimension *d, const struct rql_device *device)
{
	uint32_t count = d->count - d->has_null;
	if (d->type.id != RQL_TYPE_VARCHAR || !d->watch || !count || !device->units[RQL_UNIT_COMPUTE])
		return 0;
	uint64_t bytes = string_bytes(d), all = layout_of(bytes, count).bytes;
	return bytes > BYTES_MOST || all > device->limits.buffer_bytes ? 0 : all;
}

static struct rql_place place_of(const struct rql_dimension *d)
{
	return (struct rql_place){.owner = d->watch, .kind = "texts"};
}

bool rql_texts_are_placed(const struct rql_dimension *d, const struct rql_device *device)
{
	const struct rql_place at = place_of(d);
	return d->watch && rql_placement_there(&at, device, NULL);
}

/* Strings go to the device through memory for some of them at a time. */
struct copying {
	const struct rql_string *strings;
	uint32_t count, first, end; /* those at hand */
	const struct rql_text_kernels *kernels;
	uint32_t *offsets;
	char *bytes; /* of those at hand */
	uint64_t *wide;
};

static void copy_chunk(void *state, uint64_t chunk, unsigned worker)
{
	const struct copying *c = state;
	uint32_t first = c->first + (uint32_t)chunk * CHUNK, end = c->end - first < CHUNK ? c->end : first + CHUNK;
	(void)worker;
	for (uint32_t i = first; i < end; i++) {
		const struct rql_string *s = &c->strings[i];
		if (!s->length)
			continue;
		memcpy(c->bytes + (c->offsets[i] - c->offsets[c->first]), rql_string_data(s), s->length);
		rql_bit_or(c->wide, i, !c->kernels->is_ascii(rql_string_data(s), s->length));
	}
}

/* Behind the chunks that fit in `room`, which any single one does. */
static uint32_t stage_end(const struct copying *c, uint32_t first, uint64_t room)
{
	uint32_t end = first;
	do
		end = c->count - end < CHUNK ? c->count : end + CHUNK;
	while (end < c->count && c->offsets[c->count - end < CHUNK ? c->count : end + CHUNK] - c->offsets[first] <= room);
	return end;
}

static uint64_t stage_bytes(const struct copying *c)
{
	uint64_t most = STAGE_BYTES < c->offsets[c->count] ? STAGE_BYTES : c->offsets[c->count];
	for (uint32_t first = 0; first < c->count; first += c->count - first < CHUNK ? c->count - first : CHUNK) {
		uint32_t end = c->count - first < CHUNK ? c->count : first + CHUNK, bytes = c->offsets[end] - c->offsets[first];
		most = bytes > most ? bytes : most;
	}
	return most;
}

static rql_status upload_strings(struct rql_texts *t, struct copying *c, uint64_t room, struct rql_error *err)
{
	const struct rql_device *device = t->placement.device;
	for (c->first = 0; c->first < c->count; c->first = c->end) {
		c->end = stage_end(c, c->first, room);
		rql_pool_run(device->pool, (c->end - c->first + CHUNK - 1) / CHUNK, copy_chunk, c);
		uint32_t from = c->offsets[c->first], bytes = c->offsets[c->end] - from;
		if (bytes)
			RQL_TRY(rql_buffer_upload(t->buffer, from, c->bytes, bytes, err));
	}
	return RQL_OK;
}

static rql_status upload(struct rql_texts *t, struct copying *c, struct rql_error *err)
{
	struct rql_device *device = t->placement.device;
	uint32_t at = 0;
	if (!(c->offsets = malloc((t->count + 1ull) * sizeof *c->offsets)))
		return rql_error_memory(err, (t->count + 1ull) * sizeof *c->offsets, "a dictionary on a device");
	for (uint32_t i = 0; i < t->count; i++) {
		c->offsets[i] = at;
		at += c->strings[i].length;
	}
	c->offsets[t->count] = at;
	const struct layout l = layout_of(at, t->count);
	const uint64_t room = stage_bytes(c);
	t->offsets = l.offsets;
	t->wide_at = l.wide;
	if (!(c->bytes = malloc(room + 1)) || !(c->wide = calloc(t->count / 64 + 1ull, sizeof *c->wide)))
		return rql_error_memory(err, room, "a dictionary on a device");
	t->wide = c->wide;
	RQL_TRY(rql_buffer_new(device, l.bytes, RQL_MEMORY_DEVICE, "a dictionary's strings", &t->buffer, err));
	RQL_TRY(upload_strings(t, c, room, err));
	RQL_TRY(rql_buffer_upload(t->buffer, l.offsets, c->offsets, (t->count + 1ull) * sizeof *c->offsets, err));
	return rql_buffer_upload(t->buffer, l.wide, c->wide, (t->count + 63ull) / 64 * sizeof *c->wide, err);
}

static void destroy(struct rql_placement *placement)
{
	struct rql_texts *t = (struct rql_texts *)placement;
	rql_buffer_free(t->buffer);
	free(t->wide);
	free(t);
}

static rql_status make(const struct rql_place *at, struct rql_device *device, void *state, struct rql_placement **out,
                       struct rql_error *err)
{
	const struct rql_dimension *d = state;
	struct rql_texts *t = calloc(1, sizeof *t);
	(void)at;
	if (!rql_texts_bytes(d, device)) {
		free(t);
		return rql_error_set(err, RQL_ERROR_LIMIT, "%s cannot hold a dictionary's strings", device->id);
	}
	if (!t)
		return rql_error_memory(err, sizeof *t, "a dictionary on a device");
	t->placement = (struct rql_placement){.device = device, .destroy = destroy};
	t->count = d->count - d->has_null;
	struct copying c = {
		.strings = d->values.data, .count = t->count, .kernels = rql_text_kernels_for(device->simd)};
	rql_status status = upload(t, &c, err);
	free(c.offsets);
	free(c.bytes);
	if (status != RQL_OK) {
		destroy(&t->placement);
		return status;
	}
	t->placement.bytes = t->buffer->bytes;
	*out = &t->placement;
	return RQL_OK;
}

rql_status rql_texts_place(const struct rql_dimension *d, struct rql_device *device, struct rql_texts **out,
                           struct rql_error *err)
{
	const struct rql_place at = place_of(d);
	struct rql_placement *placement = NULL;
	if (!d->watch)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "a dictionary without a watch was to be placed");
	atomic_store(&d->watch->gone, rql_placements_drop);
	RQL_TRY(rql_placement_get(&at, device, make, (void *)(uintptr_t)d, &placement, err));
	*out = (struct rql_texts *)placement;
	return RQL_OK;
}

void rql_texts_release(struct rql_texts *texts)
{
	if (texts)
		rql_placement_release(&texts->placement);
}

/* ---- selecting ---- */

struct rql_kernel_use rql_texts_kernel(void)
{
	return (struct rql_kernel_use){.kernel = &kernel, .constants = constants, .count = 1};
}

struct pass {
	struct rql_buffer *program, *set;
	struct rql_commands *commands;
};

static rql_status run(struct rql_texts *t, const struct rql_text_program *program, struct pass *p,
                      struct rql_progress *progress, struct rql_error *err)
{
	struct rql_device *device = t->placement.device;
	const struct rql_pipeline *pipeline;
	uint64_t tiles = (t->count + RQL_TEXT_TILE - UINT64_C(1)) / RQL_TEXT_TILE;
	RQL_TRY(rql_pipeline_get(device, &kernel, constants, 1, &pipeline, err));
	RQL_TRY(rql_buffer_new(device, program->count * sizeof *program->words, RQL_MEMORY_UPLOAD,
	                       "a condition over strings", &p->program, err));
	RQL_TRY(rql_buffer_new(device, tiles * RQL_TEXT_TILE / 8, RQL_MEMORY_READBACK, "a set of codes", &p->set, err));
	memcpy(p->program->map, program->words, program->count * sizeof *program->words);
	const struct rql_text_args args = {.bytes = t->buffer->address,
	                                   .offsets = t->buffer->address + t->offsets,
	                                   .wide = t->buffer->address + t->wide_at,
	                                   .program = p->program->address,
	                                   .set = p->set->address,
	                                   .count = t->count,
	                                   .searches = program->search_count,
	                                   .steps = program->step_count,
	                                   .steps_at = program->steps_at};
	const struct rql_use uses[] = {{t->buffer, RQL_READ}, {p->program, RQL_READ}, {p->set, RQL_WRITE}};
	RQL_TRY(rql_commands_new(device, 0, &p->commands, err));
	rql_record_dispatch(p->commands, "text.select", pipeline, &args, tiles, uses, 3);
	RQL_TRY(rql_commands_end(p->commands, err));
	return rql_commands_run(p->commands, progress, err);
}

rql_status rql_texts_select(struct rql_texts *texts, const struct rql_text_program *program,
                            struct rql_progress *progress, uint64_t *set, struct rql_error *err)
{
	struct pass pass = {NULL, NULL, NULL};
	rql_status status = run(texts, program, &pass, progress, err);
	if (status == RQL_OK)
		memcpy(set, pass.set->map, (texts->count + 63) / 64 * sizeof *set);
	rql_commands_free(pass.commands);
	rql_buffer_free(pass.set);
	rql_buffer_free(pass.program);
	return status;
}

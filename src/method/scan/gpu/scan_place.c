/* What of a segment's column goes to a device's memory: fields as they lie in the store or written out, or planes. */
#include "method/scan/gpu/scan_place.h"

#include <stdlib.h>

#include "column/pack.h"
#include "util/threads.h"

/* ---- writing out runs and steps ---- */

static bool is_direct(const struct rql_store_block *b)
{
	return b->encoding == RQL_STORE_CONSTANT || b->encoding == RQL_STORE_PACKED;
}

static uint64_t field_of(const uint8_t *data, uint32_t bits, uint64_t i)
{
	const struct rql_packed p = {.data = (uint8_t *)(uintptr_t)data, .count = RQL_STORE_BLOCK, .bits = bits};
	return rql_packed_field(&p, i);
}

/* The fields of a block of runs, or the values of one of steps; base and bits as they will be. */
static void expand(const struct rql_store_block *b, const uint8_t *data, uint64_t *out, uint64_t *base, uint32_t *bits)
{
	*base = b->base[0];
	*bits = b->bits;
	if (b->encoding == RQL_STORE_RUNS) {
		const uint8_t *fields = data + ((uint64_t)b->runs * 2 + 63) / 64 * 64;
		uint16_t end;
		for (uint32_t k = 0, row = 0; k < b->runs; k++) {
			memcpy(&end, data + (uint64_t)k * 2, sizeof(end));
			for (; row < end; row++)
				out[row] = field_of(fields, b->bits, k);
		}
		return;
	}
	int64_t least = INT64_MAX, greatest = INT64_MIN;
	for (uint32_t row = 0; row < b->rows; row++) {
		if (row % RQL_STORE_DELTA_GROUP == 0)
			memcpy(&out[row], data + (uint64_t)(row / RQL_STORE_DELTA_GROUP) * 8, 8);
		else
			out[row] = out[row - 1] + b->base[0] + field_of(data + 128, b->bits, row);
		least = (int64_t)out[row] < least ? (int64_t)out[row] : least;
		greatest = (int64_t)out[row] > greatest ? (int64_t)out[row] : greatest;
	}
	*base = (uint64_t)least;
	*bits = rql_packed_width(rql_bits_for((uint64_t)greatest - (uint64_t)least));
	for (uint32_t row = 0; row < b->rows; row++)
		out[row] -= (uint64_t)least;
}

/* Bytes of packed fields, padded to 64 rows and 64 bytes. */
static uint64_t packed_bytes(uint32_t rows, uint32_t bits)
{
	return ((uint64_t)(rows + 63) / 64 * 64 * bits / 8 + 63) / 64 * 64;
}

static void pack(const uint64_t *fields, uint32_t rows, uint32_t bits, uint8_t *to)
{
	struct rql_packer packer = {.at = to, .bits = bits};
	for (uint32_t row = 0; row < rows; row++)
		rql_packer_put(&packer, fields[row]);
	rql_packer_flush(&packer);
}

/* Copies a column's blocks, all packed, to `to` (NULL: only counts), and says where they are. */
static uint64_t write_fields(struct rql_scan_placed *p, const struct rql_store_view *view, uint32_t blocks, uint8_t *to)
{
	struct rql_scan_placed_block *out = p->blocks;
	uint64_t used = 0, *fields = malloc(RQL_STORE_BLOCK * sizeof(*fields));
	for (uint32_t i = 0; i < blocks && fields; i++) {
		const struct rql_store_block *b = &view->blocks[i];
		const uint8_t *data = view->bytes + (uint64_t)b->data * 64;
		uint64_t base = b->base[0];
		uint32_t bits = b->encoding == RQL_STORE_CONSTANT ? 0 : b->bits;
		if (!is_direct(b))
			expand(b, data, fields, &base, &bits);
		uint64_t bytes = packed_bytes(b->rows, bits), valid = b->validity == RQL_STORE_NONE ? 0 : RQL_STORE_BLOCK / 8;
		out[i] = (struct rql_scan_placed_block){.base = base,
		                                        .bits = bits,
		                                        .data = (uint32_t)(used / 64),
		                                        .validity = valid ? (uint32_t)((used + bytes) / 64) : RQL_STORE_NONE};
		if (to && !is_direct(b))
			pack(fields, b->rows, bits, to + used);
		else if (to && bits)
			memcpy(to + used, data, bytes);
		if (to && valid)
			memcpy(to + used + bytes, view->bytes + (uint64_t)b->validity * 64, valid);
		used += bytes + valid;
	}
	used = fields ? used + 64 : 0; /* readable bytes behind the last field */
	free(fields);
	return used;
}

/* Where the blocks' planes will be; how many bytes in all. */
static uint64_t lay_planes(struct rql_scan_placed *p, const struct rql_scan_numbering *numbering,
                           const struct rql_store_view *view, uint32_t blocks)
{
	uint64_t used = 0;
	for (uint32_t i = 0; i < blocks; i++) {
		const struct rql_store_block *b = &view->blocks[i];
		struct rql_scan_numbers numbers = rql_scan_numbers_in(numbering, b);
		uint64_t bytes = (uint64_t)numbers.bits * RQL_SCAN_PLANE_BYTES;
		uint64_t valid = b->validity == RQL_STORE_NONE ? 0 : RQL_STORE_BLOCK / 8;
		p->blocks[i] =
			(struct rql_scan_placed_block){.bits = numbers.bits,
		                                   .data = (uint32_t)(used / 64),
		                                   .validity = valid ? (uint32_t)((used + bytes) / 64) : RQL_STORE_NONE};
		used += bytes + valid;
	}
	return used;
}

struct plane_writing {
	const struct rql_scan_placed *placed;
	const struct rql_scan_numbering *numbering;
	const struct rql_store_view *view;
	const struct rql_store_kernels *kernels;
	const uint32_t *table;
	uint8_t *to;
	_Atomic bool out_of_memory;
};

static void write_planes(void *state, uint64_t index, unsigned worker)
{
	struct plane_writing *w = state;
	const struct rql_scan_placed_block *b = &w->placed->blocks[index];
	const struct rql_store_block *block = &w->view->blocks[index];
	struct rql_scan_numbers numbers = rql_scan_numbers_in(w->numbering, block);
	uint32_t *planes = (uint32_t *)(void *)(w->to + (uint64_t)b->data * 64);
	(void)worker;
	if (b->bits && !rql_scan_planes_write(&numbers, w->table, w->kernels, w->view, (uint32_t)index, planes))
		w->out_of_memory = true;
	if (b->validity != RQL_STORE_NONE)
		memcpy(w->to + (uint64_t)b->validity * 64, w->view->bytes + (uint64_t)block->validity * 64,
		       RQL_STORE_BLOCK / 8);
}

/* ---- placing ---- */

static rql_status upload(struct rql_scan_placed *p, const void *data, uint64_t bytes, struct rql_error *err)
{
	RQL_TRY(rql_buffer_new(p->placement.device, bytes, RQL_MEMORY_DEVICE, "columns of a table", &p->buffer, err));
	return rql_buffer_upload(p->buffer, 0, data, bytes, err);
}

static rql_status make_copy(struct rql_scan_placed *p, const struct rql_store_view *view, uint32_t blocks,
                            struct rql_error *err)
{
	uint64_t bytes = write_fields(p, view, blocks, NULL);
	uint8_t *copy = bytes ? calloc(1, bytes) : NULL;
	rql_status status = rql_error_memory(err, bytes, "a column's copy for a device");
	if (copy && write_fields(p, view, blocks, copy) == bytes) {
		rql_error_clear(err);
		status = upload(p, copy, bytes, err);
	}
	free(copy);
	return status;
}

static rql_status make_fields(struct rql_scan_placed *p, const struct rql_store_view *view, uint32_t blocks,
                              struct rql_error *err)
{
	bool direct = true;
	for (uint32_t i = 0; i < blocks; i++)
		direct &= is_direct(&view->blocks[i]);
	if (!direct)
		return make_copy(p, view, blocks, err);
	for (uint32_t i = 0; i < blocks; i++) {
		const struct rql_store_block *b = &view->blocks[i];
		p->blocks[i] = (struct rql_scan_placed_block){.base = b->base[0],
		                                              .data = b->data,
		                                              .validity = b->validity,
		                                              .bits = b->encoding == RQL_STORE_CONSTANT ? 0 : b->bits};
	}
	return view->byte_count ? upload(p, view->bytes, view->byte_count, err) : RQL_OK;
}

static rql_status make_planes(struct rql_scan_placed *p, const struct rql_store_snapshot *snapshot,
                              const struct rql_store_segment *segment, uint32_t column, struct rql_error *err)
{
	const struct rql_store_view *view = &segment->columns[column];
	const struct rql_scan_numbering numbering = rql_scan_numbering_of(snapshot, segment, column);
	uint64_t bytes = lay_planes(p, &numbering, view, segment->blocks);
	if (!bytes)
		return RQL_OK; /* constants without NULLs */
	uint32_t *table = numbering.shared ? rql_scan_numbers_table(&numbering.numbers) : NULL;
	struct plane_writing w = {.placed = p,
	                          .numbering = &numbering,
	                          .view = view,
	                          .kernels = rql_store_kernels_for(p->placement.device->simd),
	                          .table = table,
	                          .to = malloc(bytes)};
	rql_status status = w.to ? RQL_OK : rql_error_memory(err, bytes, "a column's copy for a device");
	if (status == RQL_OK)
		rql_pool_run(p->placement.device->pool, segment->blocks, write_planes, &w);
	if (status == RQL_OK && w.out_of_memory)
		status = rql_error_memory(err, sizeof(uint64_t) * RQL_STORE_BLOCK, "a block of a column");
	if (status == RQL_OK)
		status = upload(p, w.to, bytes, err);
	free(w.to);
	free(table);
	return status;
}

static void destroy(struct rql_placement *placement)
{
	struct rql_scan_placed *p = (struct rql_scan_placed *)placement;
	rql_buffer_free(p->buffer);
	free(p->blocks);
	free(p);
}

struct wanted {
	const struct rql_store_snapshot *snapshot;
	const struct rql_store_segment *segment;
	enum rql_scan_layout layout;
	uint64_t *uploaded;
};

static rql_status make(const struct rql_place *at, struct rql_device *device, void *state, struct rql_placement **out,
                       struct rql_error *err)
{
	const struct wanted *w = state;
	const struct rql_store_segment *segment = w->segment;
	struct rql_scan_placed *p = calloc(1, sizeof(*p));
	struct rql_scan_placed_block *blocks = calloc(segment->blocks, sizeof(*blocks));
	if (!p || !blocks) {
		free(p);
		free(blocks);
		return rql_error_memory(err, segment->blocks * sizeof(*blocks), "a column on a device");
	}
	p->blocks = blocks;
	p->placement = (struct rql_placement){.device = device, .destroy = destroy};
	rql_status status = w->layout == RQL_SCAN_PLANES
	                        ? make_planes(p, w->snapshot, segment, at->part, err)
	                        : make_fields(p, &segment->columns[at->part], segment->blocks, err);
	if (status != RQL_OK) {
		destroy(&p->placement);
		return status;
	}
	p->placement.bytes = p->buffer ? p->buffer->bytes : 0;
	*w->uploaded += p->placement.bytes;
	*out = &p->placement;
	return RQL_OK;
}

static struct rql_place place_of(const struct rql_store_segment *segment, uint32_t column, enum rql_scan_layout layout)
{
	return (struct rql_place){
		.owner = segment->identity, .kind = layout == RQL_SCAN_PLANES ? "planes" : "fields", .part = column};
}

rql_status rql_scan_place(const struct rql_store_snapshot *snapshot, const struct rql_store_segment *segment,
                          uint32_t column, enum rql_scan_layout layout, struct rql_device *device, uint64_t *uploaded,
                          struct rql_scan_placed **out, struct rql_error *err)
{
	const struct rql_place at = place_of(segment, column, layout);
	struct wanted wanted = {.snapshot = snapshot, .segment = segment, .layout = layout, .uploaded = uploaded};
	struct rql_placement *placement = NULL;
	rql_store_segment_watch(segment, rql_placements_drop);
	RQL_TRY(rql_placement_get(&at, device, make, &wanted, &placement, err));
	*out = (struct rql_scan_placed *)placement;
	return RQL_OK;
}

void rql_scan_placed_release(struct rql_scan_placed *placed)
{
	rql_placement_release(&placed->placement);
}

bool rql_scan_is_placed(const struct rql_store_segment *segment, uint32_t column, enum rql_scan_layout layout,
                        const struct rql_device *device)
{
	const struct rql_place at = place_of(segment, column, layout);
	return rql_placement_there(&at, device, NULL);
}

/* ---- how much ---- */

uint32_t rql_scan_placed_bits(const struct rql_store_block *b)
{
	if (b->encoding == RQL_STORE_CONSTANT)
		return 0;
	return b->encoding == RQL_STORE_DELTA ? rql_packed_width(rql_bits_for(b->greatest[0] - b->least[0])) : b->bits;
}

static uint64_t fields_bound(const struct rql_store_view *view, uint32_t blocks)
{
	uint64_t bytes = 64;
	for (uint32_t i = 0; i < blocks; i++) {
		const struct rql_store_block *b = &view->blocks[i];
		bytes +=
			packed_bytes(b->rows, rql_scan_placed_bits(b)) + (b->validity == RQL_STORE_NONE ? 0 : RQL_STORE_BLOCK / 8);
	}
	return bytes > view->byte_count ? bytes : view->byte_count;
}

uint64_t rql_scan_place_bound(const struct rql_store_snapshot *snapshot, const struct rql_store_segment *segment,
                              uint32_t column, enum rql_scan_layout layout)
{
	const struct rql_store_view *view = &segment->columns[column];
	uint64_t bytes = 0;
	if (layout == RQL_SCAN_FIELDS)
		return fields_bound(view, segment->blocks);
	const struct rql_scan_numbering numbering = rql_scan_numbering_of(snapshot, segment, column);
	for (uint32_t i = 0; i < segment->blocks; i++) {
		bytes += (uint64_t)rql_scan_numbers_in(&numbering, &view->blocks[i]).bits * RQL_SCAN_PLANE_BYTES;
		bytes += view->blocks[i].validity == RQL_STORE_NONE ? 0 : RQL_STORE_BLOCK / 8;
	}
	return bytes;
}

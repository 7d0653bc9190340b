/* ROWS from a loop over all rows: the simplest methods that there can be. */
#include "toy.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "util/simd.h"

/* ---- which rows pass ---- */

struct rql_prepared {
	const struct rql_store_snapshot *snapshot; /* one reference */
	bool all;
	uint32_t conjunct_count;
	struct rql_conjunct *conjuncts; /* with codes of their own */
	/* on a GPU */
	struct rql_stage stage;
	struct rql_buffer *bits; /* NULL: not uploaded yet */
};

static bool takes(const struct rql_request *r, const struct rql_conjunct *c)
{
	if (c->index >= r->snapshot->column_count)
		return false;
	const struct rql_store_column *column = &r->snapshot->columns[c->index];
	switch (c->test) {
	case RQL_TEST_IN_CODES:
		return column->kind == RQL_STORE_CODED;
	case RQL_TEST_IN_RANGE:
		return column->kind == RQL_STORE_INTEGER && !column->wide;
	case RQL_TEST_IS_NULL:
	case RQL_TEST_IS_NOT_NULL:
		return true;
	default:
		return false;
	}
}

static bool passes(const struct rql_conjunct *c, bool valid, int64_t value, uint32_t code)
{
	if (c->test == RQL_TEST_IS_NULL || c->test == RQL_TEST_IS_NOT_NULL)
		return valid == (c->test == RQL_TEST_IS_NOT_NULL);
	if (!valid)
		return c->or_null;
	if (c->test == RQL_TEST_IN_CODES)
		return c->codes[code / 64] >> code % 64 & 1;
	return c->least <= value && value <= c->greatest;
}

static void test_block(const struct rql_store_view *view, uint32_t block, const struct rql_conjunct *c, uint64_t *bits)
{
	const struct rql_store_kernels *k = rql_store_kernels_for(RQL_SIMD_PORTABLE);
	const uint32_t rows = view->blocks[block].rows;
	uint64_t valid[RQL_ROWS_BLOCK_WORDS];
	static _Thread_local int64_t values[RQL_STORE_BLOCK];
	static _Thread_local uint32_t codes[RQL_STORE_BLOCK];
	(void)rql_store_decode_validity(k, view, block, 0, rows, valid);
	if (c->test == RQL_TEST_IN_CODES)
		rql_store_decode_codes(k, view, block, 0, rows, codes);
	else if (c->test == RQL_TEST_IN_RANGE)
		rql_store_decode_int64(k, view, block, 0, rows, values);
	for (uint32_t r = 0; r < rows; r++)
		if (!passes(c, valid[r / 64] >> r % 64 & 1, values[r], codes[r]))
			bits[r / 64] &= ~(UINT64_C(1) << r % 64);
}

static void fill(const struct rql_prepared *p, uint64_t *bits)
{
	memset(bits, 0xff, p->snapshot->blocks * RQL_ROWS_BLOCK_WORDS * sizeof(*bits));
	for (uint64_t b = 0; b < p->snapshot->blocks && !p->all; b++) {
		const struct rql_store_segment *segment = rql_store_locate(p->snapshot, b);
		for (uint32_t c = 0; c < p->conjunct_count; c++)
			test_block(&segment->columns[p->conjuncts[c].index], (uint32_t)(b - segment->first_block), &p->conjuncts[c],
			           bits + b * RQL_ROWS_BLOCK_WORDS);
	}
}

static uint64_t bitmap_bytes(const struct rql_prepared *p)
{
	return (p->snapshot->blocks + !p->snapshot->blocks) * RQL_ROWS_BLOCK_WORDS * sizeof(uint64_t);
}

/* ---- on a GPU ---- */

struct context {
	struct rql_stage_context base;
	struct rql_buffer *rows;
};

static struct rql_prepared *prepared_of(const struct rql_stage *stage)
{
	return (struct rql_prepared *)((char *)(uintptr_t)stage - offsetof(struct rql_prepared, stage));
}

static rql_status place(struct rql_stage *stage, struct rql_progress *progress, bool *nothing, struct rql_error *err)
{
	struct rql_prepared *p = prepared_of(stage);
	(void)progress;
	(void)nothing;
	if (p->bits)
		return RQL_OK;
	uint64_t *bits = malloc(bitmap_bytes(p));
	if (!bits)
		return rql_error_memory(err, bitmap_bytes(p), "the rows of a toy");
	fill(p, bits);
	rql_status status =
		rql_buffer_new(stage->device, bitmap_bytes(p), RQL_MEMORY_DEVICE, "the rows of a toy", &p->bits, err);
	if (status == RQL_OK)
		status = rql_buffer_upload(p->bits, 0, bits, p->snapshot->blocks * RQL_ROWS_BLOCK_WORDS * 8, err);
	free(bits);
	if (status != RQL_OK) {
		rql_buffer_free(p->bits);
		p->bits = NULL;
	}
	return status;
}

static rql_status open_context(struct rql_stage *stage, struct rql_stage_context *const *inputs,
                               struct rql_stage_context **out, struct rql_error *err)
{
	struct context *x = calloc(1, sizeof(*x));
	(void)inputs;
	if (!x)
		return rql_error_memory(err, sizeof(*x), "the rows of a toy");
	*out = &x->base;
	return rql_buffer_new(stage->device, bitmap_bytes(prepared_of(stage)), RQL_MEMORY_DEVICE, "the rows of a toy",
	                      &x->rows, err);
}

static void close_context(struct rql_stage *stage, struct rql_stage_context *base)
{
	(void)stage;
	rql_buffer_free(((struct context *)base)->rows);
	free(base);
}

static bool fits(const struct rql_stage *stage, const struct rql_stage_context *base)
{
	return stage && base;
}

static rql_status record(struct rql_stage *stage, struct rql_stage_context *base, struct rql_commands *commands,
                         struct rql_error *err)
{
	const struct rql_prepared *p = prepared_of(stage);
	(void)err;
	rql_record_copy(commands, p->bits, 0, ((struct context *)base)->rows, 0, bitmap_bytes(p));
	return RQL_OK;
}

static void give_rows(const struct rql_stage *stage, const struct rql_stage_context *base, struct rql_rows *out)
{
	(void)stage;
	*out = (struct rql_rows){.buffer = ((const struct context *)base)->rows};
}

static uint64_t context_bytes(const struct rql_stage *stage)
{
	return bitmap_bytes(prepared_of(stage));
}

static const struct rql_stage_ops ops = {.place = place,
                                         .open = open_context,
                                         .close = close_context,
                                         .fits = fits,
                                         .record = record,
                                         .rows = give_rows,
                                         .bytes = context_bytes};

static struct rql_stage *stage_of(const struct rql_prepared *p)
{
	return &((struct rql_prepared *)(uintptr_t)p)->stage;
}

/* ---- the methods ---- */

static enum rql_offer offer_all(const struct rql_request *request, const struct rql_device *device, const char **reason)
{
	(void)reason;
	return request->under.method || (device->kind != RQL_DEVICE_CPU && !device->units[RQL_UNIT_COMPUTE])
	           ? RQL_OFFER_NO
	           : RQL_OFFER_SUPERSET;
}

static enum rql_offer offer_exact(const struct rql_request *request, const struct rql_device *device,
                                  const char **reason)
{
	bool some = offer_all(request, device, reason) != RQL_OFFER_NO;
	for (uint32_t c = 0; c < request->conjunct_count; c++)
		some &= takes(request, &request->conjuncts[c]);
	return some ? RQL_OFFER_FULL : RQL_OFFER_NO;
}

static void free_prepared(struct rql_prepared *p)
{
	if (!p)
		return;
	rql_stage_clear(&p->stage);
	rql_buffer_free(p->bits);
	rql_store_snapshot_release(p->snapshot);
	for (uint32_t c = 0; c < p->conjunct_count; c++)
		free((void *)(uintptr_t)p->conjuncts[c].codes);
	free(p->conjuncts);
	free(p);
}

static bool copy_codes(const struct rql_request *request, struct rql_conjunct *c)
{
	if (c->test != RQL_TEST_IN_CODES)
		return true;
	uint64_t words = request->snapshot->columns[c->index].dimension->count / 64 + 1, *copy = calloc(words, sizeof(*copy));
	if (copy)
		memcpy(copy, c->codes, (request->snapshot->columns[c->index].dimension->count + 63) / 64 * sizeof(*copy));
	c->codes = copy;
	return copy != NULL;
}

static rql_status prepare(const struct rql_request *request, struct rql_device *device, bool all,
                          struct rql_prepared **out, struct rql_error *err)
{
	struct rql_prepared *p = calloc(1, sizeof(*p));
	rql_status status = p ? RQL_OK : rql_error_memory(err, sizeof(*p), "a toy");
	if (p) {
		p->snapshot = rql_store_snapshot_retain(request->snapshot);
		p->all = all;
		p->conjuncts = calloc(request->conjunct_count + 1, sizeof(*p->conjuncts));
	}
	for (uint32_t c = 0; p && p->conjuncts && !all && c < request->conjunct_count && status == RQL_OK; c++) {
		struct rql_conjunct copy = request->conjuncts[c];
		if (copy.test != RQL_TEST_IN_CODES)
			copy.codes = NULL;
		status = copy_codes(request, &copy) ? RQL_OK : rql_error_memory(err, 64, "a toy");
		p->conjuncts[p->conjunct_count++] = copy;
	}
	if (p && !p->conjuncts)
		status = rql_error_memory(err, 64, "a toy");
	if (status == RQL_OK && device->kind != RQL_DEVICE_CPU)
		status = rql_stage_init(&p->stage, &ops, device, err);
	if (status == RQL_OK)
		*out = p;
	else
		free_prepared(p);
	return status;
}

static rql_status prepare_all(const struct rql_request *request, struct rql_device *device, struct rql_prepared **out,
                              struct rql_error *err)
{
	return prepare(request, device, true, out, err);
}

static rql_status prepare_exact(const struct rql_request *request, struct rql_device *device, struct rql_prepared **out,
                                struct rql_error *err)
{
	return prepare(request, device, false, out, err);
}

/* Nothing of it is true. */
static void price(const struct rql_prepared *p, const struct rql_device *device, struct rql_cost *out)
{
	static _Atomic unsigned turn;
	(void)p;
	(void)device;
	*out = (struct rql_cost){.rows_out = 1, .run_ns = atomic_fetch_add(&turn, 1) * 7 % 5};
}

static rql_status run(const struct rql_prepared *p, struct rql_device *device, const struct rql_run *how,
                      struct rql_port *out, struct rql_error *err)
{
	(void)device;
	uint64_t *bits = rql_arena_alloc(how->arena, bitmap_bytes(p));
	uint32_t *blocks = RQL_NEW_ARRAY(how->arena, uint32_t, p->snapshot->blocks + 1);
	if (!bits || !blocks)
		return rql_error_memory(err, bitmap_bytes(p), "the rows of a toy");
	fill(p, bits);
	struct rql_rows_part *parts = RQL_NEW_ARRAY(how->arena, struct rql_rows_part, p->snapshot->blocks + 1);
	struct rql_rows_room room = {.bytes = rql_arena_alloc(how->arena, rql_rows_room_bytes(p->snapshot->blocks, 1))};
	struct rql_rows_piece piece = {0};
	if (!parts || !room.bytes)
		return rql_error_memory(err, bitmap_bytes(p), "the rows of a toy");
	struct rql_rows rows = {.blocks = blocks, .parts = parts};
	for (uint64_t b = 0; b < p->snapshot->blocks; b++) { /* some of those without rows are listed, too */
		const uint64_t *from = bits + b * RQL_ROWS_BLOCK_WORDS;
		uint64_t some = b % 3 == 0;
		for (uint32_t w = 0; w < RQL_ROWS_BLOCK_WORDS; w++)
			some |= from[w];
		if (!some)
			continue;
		const struct rql_store_segment *segment = rql_store_locate(p->snapshot, b);
		const uint32_t of = segment->columns[0].blocks[b - segment->first_block].rows;
		struct rql_rows_part *part = &parts[rows.block_count];
		if (b % 2 || !rql_rows_pack(&room, &piece, from, of, part)) /* in every form */
			*part = rql_rows_part_of_bits(from);
		blocks[rows.block_count++] = (uint32_t)b;
	}
	*out = (struct rql_port){.kind = RQL_PORT_ROWS, .rows = rows};
	return RQL_OK;
}

static uint64_t bytes(const struct rql_prepared *p)
{
	return sizeof(*p) + p->conjunct_count * sizeof(*p->conjuncts);
}

#define TOY(label, at, what, how)                                                                                      \
	{.name = label,                                                                                                    \
	 .description = what,                                                                                              \
	 .paper = "none",                                                                                                  \
	 .unit = at,                                                                                                       \
	 .reads = RQL_READS_STORE,                                                                                         \
	 .gives = 1u << RQL_PORT_ROWS,                                                                                     \
	 .offer = offer_##how,                                                                                             \
	 .prepare = prepare_##how,                                                                                         \
	 .price = price,                                                                                                   \
	 .stage = at == RQL_UNIT_CPU ? NULL : stage_of,                                                                    \
	 .run = at == RQL_UNIT_CPU ? run : NULL,                                                                           \
	 .free = free_prepared,                                                                                            \
	 .bytes = bytes}

const struct rql_method rql_method_toy_all_cpu = TOY("toy_all", RQL_UNIT_CPU, "every row, as a superset", all);
const struct rql_method rql_method_toy_all_compute = TOY("toy_all", RQL_UNIT_COMPUTE, "every row, as a superset", all);
const struct rql_method rql_method_toy_exact_cpu = TOY("toy_exact", RQL_UNIT_CPU, "rows one by one", exact);
const struct rql_method rql_method_toy_exact_compute = TOY("toy_exact", RQL_UNIT_COMPUTE, "rows one by one", exact);

/* From values to blocks: bounds, runs and steps of 4096 rows are measured in one pass each, and the smallest encoding
 * is written. RUNS and DELTA cost more to read than PACKED, so they must save a quarter.
 *
 * (Frame of reference and its variants: J. Goldstein, R. Ramakrishnan, U. Shaft, ICDE 1998; M. Zukowski, S. Heman, N.
 * Nes, P. Boncz: Super-Scalar RAM-CPU Cache Compression, ICDE 2006. Blocks that decide for themselves: Abadi et al.,
 * SIGMOD 2006.) */
#include "column/store/store_internal.h"

#include <math.h>

#define FIRST_BYTES UINT64_C(4096)
#define FIRST_BLOCKS 4u

/* ---- sinks ---- */

void rql_store_sink_free(struct rql_store_sink *sink)
{
	rql_mem_free(sink->mem, sink->data);
	rql_mem_free(sink->mem, sink->blocks);
	*sink = (struct rql_store_sink){.mem = sink->mem};
}

/* Room for `bytes` more and the slack, zeroed. */
static rql_status reserve(struct rql_store_sink *sink, uint64_t bytes, struct rql_error *err)
{
	uint64_t need = sink->size + bytes + RQL_PACKED_SLACK;
	if (need > sink->capacity) {
		uint64_t capacity = sink->capacity + sink->capacity / 2;
		capacity = capacity > need ? capacity : need > FIRST_BYTES ? need : FIRST_BYTES;
		uint8_t *data;
		RQL_TRY(RQL_MEM_ARRAY(sink->mem, data, capacity, err));
		if (sink->size)
			memcpy(data, sink->data, sink->size);
		memset(data + sink->size, 0, capacity - sink->size);
		rql_mem_free(sink->mem, sink->data);
		sink->data = data;
		sink->capacity = capacity;
	}
	if (sink->block_count == sink->block_capacity) {
		uint32_t capacity = sink->block_capacity ? sink->block_capacity * 2 : FIRST_BLOCKS;
		struct rql_store_block *blocks;
		RQL_TRY(RQL_MEM_ARRAY(sink->mem, blocks, capacity, err));
		if (sink->block_count)
			memcpy(blocks, sink->blocks, sink->block_count * sizeof(*blocks));
		rql_mem_free(sink->mem, sink->blocks);
		sink->blocks = blocks;
		sink->block_capacity = capacity;
	}
	return RQL_OK;
}

static uint64_t align_up(uint64_t bytes)
{
	return (bytes + RQL_STORE_ALIGN - 1) / RQL_STORE_ALIGN * RQL_STORE_ALIGN;
}

/* ---- NULLs and bounds ---- */

static inline bool valid_at(const struct rql_store_rows *rows, uint32_t r)
{
	return !rows->has_null || rql_bit(rows->validity, r);
}

/* NULL rows take the value before them, those in front the first value: so they lengthen runs and never widen
 * anything. At least one row is valid. */
#define FILL_NULLS(array)                                                                                              \
	do {                                                                                                               \
		uint32_t first = 0;                                                                                            \
		while (!valid_at(rows, first))                                                                                 \
			first++;                                                                                                   \
		for (uint32_t r = 0; r < first; r++)                                                                           \
			(array)[r] = (array)[first];                                                                               \
		for (uint32_t r = first + 1; r < rows->rows; r++)                                                              \
			(array)[r] = valid_at(rows, r) ? (array)[r] : (array)[r - 1];                                              \
	} while (0)

bool rql_real_next(double x, bool above, double *out)
{
	uint64_t order = rql_real_place(x), infinite = rql_real_place((double)INFINITY);
	if (above ? order == UINT64_MAX : order == rql_real_place(-(double)INFINITY))
		return false;
	if (above)
		order = order == infinite ? UINT64_MAX : order + 1;
	else
		order = order == UINT64_MAX ? infinite : order - 1;
	if (order == (UINT64_C(1) << 63) - 1) /* the bits of -0.0, which is 0.0 */
		order += above ? 1 : UINT64_MAX;
	*out = rql_real_at(order);
	return true;
}

static void real_bounds(const struct rql_store_rows *rows, bool is_float, struct rql_store_block *block)
{
	uint64_t low = UINT64_MAX, high = 0;
	for (uint32_t r = 0; r < rows->rows; r++) {
		double x = rql_store_real(rows->words[r]);
		if (is_float) {
			uint32_t bits = (uint32_t)rows->words[r];
			float f;
			memcpy(&f, &bits, 4);
			x = (double)f;
		}
		uint64_t order = rql_real_place(x);
		low = order < low ? order : low;
		high = order > high ? order : high;
	}
	double least = rql_real_at(low), greatest = rql_real_at(high);
	memcpy(&block->least[0], &least, 8);
	memcpy(&block->greatest[0], &greatest, 8);
}

static void put_wide(uint64_t halves[2], rql_int128 value)
{
	halves[0] = (uint64_t)value;
	halves[1] = (uint64_t)((rql_uint128)value >> 64);
}

/* ---- measuring ---- */

struct shape {
	rql_int128 base;
	uint32_t bits; /* PACKED and RUNS */
	uint32_t runs;
	bool offsets;     /* the words are offsets from base already */
	bool steps_known; /* DELTA is possible */
	int64_t least_step;
	uint32_t step_bits;
};

static uint32_t count_runs(const uint64_t *words, uint32_t rows)
{
	uint32_t runs = 1;
	for (uint32_t r = 1; r < rows; r++)
		runs += words[r] != words[r - 1];
	return runs;
}

static void measure_steps(const uint64_t *words, uint32_t rows, uint64_t range, struct shape *shape)
{
	int64_t low = INT64_MAX, high = INT64_MIN;
	if (rows < 2 || range >> 62) /* so that no step overflows */
		return;
	for (uint32_t r = 1; r < rows; r++) {
		int64_t step = (int64_t)(words[r] - words[r - 1]);
		low = step < low ? step : low;
		high = step > high ? step : high;
	}
	shape->steps_known = true;
	shape->least_step = low;
	shape->step_bits = rql_bits_for((rql_uint128)((uint64_t)high - (uint64_t)low));
	shape->steps_known = shape->step_bits <= RQL_PACKED_MAX_BITS;
}

/* INTEGER and CODED in words. */
static struct shape measure_words(struct rql_store_rows *rows, struct rql_store_block *block)
{
	const uint64_t *words = rows->words;
	int64_t low = INT64_MAX, high = INT64_MIN;
	for (uint32_t r = 0; r < rows->rows; r++) {
		int64_t value = (int64_t)words[r];
		low = value < low ? value : low;
		high = value > high ? value : high;
	}
	struct shape shape = {.base = low, .runs = count_runs(words, rows->rows)};
	uint64_t range = (uint64_t)high - (uint64_t)low;
	shape.bits = rql_packed_width(rql_bits_for(range));
	measure_steps(words, rows->rows, range, &shape);
	put_wide(block->least, low);
	put_wide(block->greatest, high);
	return shape;
}

/* int128: becomes words when it can, of the offsets from the least value when it must. */
static struct shape measure_wide(struct rql_store_rows *rows, struct rql_type type, struct rql_store_block *block)
{
	rql_int128 low = rows->wide[0], high = low;
	for (uint32_t r = 1; r < rows->rows; r++) {
		low = rql_store_less(type, rows->wide[r], low) ? rows->wide[r] : low;
		high = rql_store_less(type, high, rows->wide[r]) ? rows->wide[r] : high;
	}
	rql_uint128 range = (rql_uint128)high - (rql_uint128)low;
	bool narrow = low == (int64_t)low && high == (int64_t)high && (type.id != RQL_TYPE_UHUGEINT || high >= 0);
	if (narrow) {
		for (uint32_t r = 0; r < rows->rows; r++)
			rows->words[r] = (uint64_t)rows->wide[r]; /* in place: word r lies before value r */
		rows->is_wide = false;
		return measure_words(rows, block);
	}
	struct shape shape = {.base = low, .runs = rows->rows, .bits = rql_packed_width(rql_bits_for(range))};
	if (!(range >> 64)) {
		for (uint32_t r = 0; r < rows->rows; r++)
			rows->words[r] = (uint64_t)((rql_uint128)rows->wide[r] - (rql_uint128)low);
		rows->is_wide = false;
		shape.offsets = true;
		shape.runs = count_runs(rows->words, rows->rows);
	}
	put_wide(block->least, low);
	put_wide(block->greatest, high);
	return shape;
}

static struct shape measure_reals(struct rql_store_rows *rows, bool is_float, struct rql_store_block *block)
{
	real_bounds(rows, is_float, block);
	return (struct shape){.bits = is_float ? 32 : 64, .runs = count_runs(rows->words, rows->rows)};
}

static uint64_t packed_bytes(uint32_t rows, uint32_t bits)
{
	return (uint64_t)rql_round64(rows) / 8 * bits;
}
static uint64_t runs_bytes(const struct shape *shape)
{
	return RQL_STORE_RUN_BYTES(shape->runs) + ((uint64_t)shape->runs * shape->bits + 7) / 8;
}
static uint64_t delta_bytes(uint32_t rows, const struct shape *shape)
{
	return RQL_STORE_ANCHOR_BYTES + packed_bytes(rows, shape->step_bits);
}

#define LEAST_RUN 16u /* rows, on average */

static enum rql_store_encoding choose(const struct rql_store_rows *rows, const struct shape *shape, bool same,
                                      enum rql_store_encoding wanted)
{
	bool can_run = !rows->is_wide && !same, can_step = shape->steps_known && !same;
	if (wanted == RQL_STORE_RUNS && can_run)
		return RQL_STORE_RUNS;
	if (wanted == RQL_STORE_DELTA && can_step)
		return RQL_STORE_DELTA;
	if (same)
		return RQL_STORE_CONSTANT;
	if (wanted != RQL_STORE_AUTO)
		return RQL_STORE_PACKED;
	uint64_t packed = packed_bytes(rows->rows, shape->bits), worth = packed - packed / 4;
	/* Short runs cost a misprediction each: SSB's lines, four to an order, took 5 % fewer bytes that way and 2.5 times the
	 * time of a scan. */
	bool long_runs = (uint64_t)shape->runs * LEAST_RUN <= rows->rows;
	uint64_t runs = can_run && long_runs ? runs_bytes(shape) : UINT64_MAX;
	uint64_t delta = can_step ? delta_bytes(rows->rows, shape) : UINT64_MAX;
	if (runs <= worth && runs <= delta)
		return RQL_STORE_RUNS;
	return delta <= worth ? RQL_STORE_DELTA : RQL_STORE_PACKED;
}

/* ---- writing ---- */

static void pack(uint8_t *at, uint32_t bits, const uint64_t *words, uint32_t count, uint64_t base)
{
	struct rql_packer packer = {.at = at, .bits = bits};
	for (uint32_t i = 0; i < count; i++)
		rql_packer_put(&packer, words[i] - base);
	/* A flush would write 8 bytes where fewer may belong to the array; in the sink that is within the slack. */
	rql_packer_flush(&packer);
}

static void write_runs(uint8_t *at, const struct shape *shape, uint32_t rows, const uint64_t *words, uint64_t base)
{
	uint16_t *ends = (uint16_t *)(void *)at; /* 64-byte aligned */
	struct rql_packer packer = {.at = at + RQL_STORE_RUN_BYTES(shape->runs), .bits = shape->bits};
	uint32_t run = 0;
	for (uint32_t r = 1; r <= rows; r++) {
		if (r < rows && words[r] == words[r - 1])
			continue;
		ends[run++] = (uint16_t)r;
		rql_packer_put(&packer, words[r - 1] - base);
	}
	rql_packer_flush(&packer);
}

static void write_delta(uint8_t *at, const struct shape *shape, uint32_t rows, const uint64_t *words)
{
	struct rql_packer packer = {.at = at + RQL_STORE_ANCHOR_BYTES, .bits = shape->step_bits};
	uint64_t step = (uint64_t)shape->least_step;
	for (uint32_t r = 0; r < rows; r++) {
		bool anchor = r % RQL_STORE_DELTA_GROUP == 0;
		if (anchor)
			memcpy(at + r / RQL_STORE_DELTA_GROUP * 8, &words[r], 8);
		rql_packer_put(&packer, anchor ? 0 : words[r] - words[r - 1] - step);
	}
	rql_packer_flush(&packer);
}

static void write_raw128(uint8_t *at, const struct rql_store_rows *rows, rql_int128 base)
{
	struct rql_packer packer = {.at = at, .bits = 128};
	for (uint32_t r = 0; r < rows->rows; r++)
		rql_packer_put128(&packer, (rql_uint128)rows->wide[r] - (rql_uint128)base);
}

static rql_status too_large(const struct rql_store_sink *sink, struct rql_error *err)
{
	return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "%s: a segment of a column is larger than 256 GiB",
	                     sink->mem->what);
}

static rql_status write_block(struct rql_store_sink *sink, struct rql_store_block block, const struct shape *shape,
                              const struct rql_store_rows *rows, uint64_t base, struct rql_error *err)
{
	uint64_t bitmap = rows->has_null && block.nulls < block.rows ? RQL_STORE_BLOCK / 8 : 0, bytes = 0;
	if (block.encoding == RQL_STORE_PACKED)
		bytes = packed_bytes(block.rows, block.bits);
	else if (block.encoding == RQL_STORE_RUNS)
		bytes = runs_bytes(shape);
	else if (block.encoding == RQL_STORE_DELTA)
		bytes = delta_bytes(block.rows, shape);
	RQL_TRY(reserve(sink, bitmap + align_up(bytes), err));
	if ((sink->size + bitmap) / RQL_STORE_ALIGN >= RQL_STORE_NONE)
		return too_large(sink, err);
	block.validity = block.data = RQL_STORE_NONE;
	if (bitmap) {
		block.validity = (uint32_t)(sink->size / RQL_STORE_ALIGN);
		memcpy(sink->data + sink->size, rows->validity, bitmap);
		sink->size += bitmap;
	}
	if (bytes) {
		uint8_t *at = sink->data + sink->size;
		block.data = (uint32_t)(sink->size / RQL_STORE_ALIGN);
		if (block.encoding == RQL_STORE_RUNS)
			write_runs(at, shape, block.rows, rows->words, base);
		else if (block.encoding == RQL_STORE_DELTA)
			write_delta(at, shape, block.rows, rows->words);
		else if (block.bits == 128)
			write_raw128(at, rows, shape->base);
		else
			pack(at, block.bits, rows->words, block.rows, base);
		sink->size += align_up(bytes);
	}
	sink->blocks[sink->block_count++] = block;
	return RQL_OK;
}

/* Blocks' bytes lie one behind the other, a bitmap before its values. */
static uint64_t block_start(const struct rql_store_block *block, uint64_t otherwise)
{
	uint32_t start = block->validity != RQL_STORE_NONE ? block->validity : block->data;
	return start != RQL_STORE_NONE ? (uint64_t)start * RQL_STORE_ALIGN : otherwise;
}

rql_status rql_store_sink_copy(struct rql_store_sink *sink, const struct rql_store_sink *from, uint32_t index,
                               struct rql_error *err)
{
	struct rql_store_block block = from->blocks[index];
	uint64_t start = block_start(&block, from->size), end = start;
	for (uint32_t b = index + 1; end == start && start < from->size; b++)
		end = b < from->block_count ? block_start(&from->blocks[b], start) : from->size;
	RQL_TRY(reserve(sink, end - start, err));
	if ((sink->size + (end - start)) / RQL_STORE_ALIGN >= RQL_STORE_NONE)
		return too_large(sink, err);
	uint32_t moved = (uint32_t)((sink->size - start) / RQL_STORE_ALIGN); /* modulo 2^32, both ways */
	memcpy(sink->data + sink->size, from->data + start, end - start);
	sink->size += end - start;
	if (block.validity != RQL_STORE_NONE)
		block.validity += moved;
	if (block.data != RQL_STORE_NONE)
		block.data += moved;
	sink->blocks[sink->block_count++] = block;
	return RQL_OK;
}

static bool all_equal_wide(const struct rql_store_rows *rows)
{
	for (uint32_t r = 1; r < rows->rows; r++)
		if (rows->wide[r] != rows->wide[0])
			return false;
	return true;
}

rql_status rql_store_encode(struct rql_store_sink *sink, struct rql_type type, enum rql_store_kind kind,
                            uint32_t null_code, enum rql_store_encoding wanted, struct rql_store_rows *rows,
                            struct rql_error *err)
{
	struct rql_store_block block = {.rows = (uint16_t)rows->rows, .encoding = RQL_STORE_CONSTANT};
	uint32_t valid = rows->has_null ? (uint32_t)rql_bits_count(rows->validity, rows->rows) : rows->rows;
	struct shape shape = {0};
	block.nulls = (uint16_t)(rows->rows - valid);
	if (valid && rows->has_null && valid < rows->rows) {
		if (rows->is_wide)
			FILL_NULLS(rows->wide);
		else
			FILL_NULLS(rows->words);
	}
	if (!valid)
		return write_block(sink, block, &shape, rows, 0, err);
	if (kind == RQL_STORE_REAL)
		shape = measure_reals(rows, type.id == RQL_TYPE_FLOAT, &block);
	else if (rows->is_wide)
		shape = measure_wide(rows, type, &block);
	else
		shape = measure_words(rows, &block);
	if (kind == RQL_STORE_CODED && null_code != RQL_STORE_NONE)
		for (uint32_t r = 0; r < rows->rows; r++)
			block.nulls = (uint16_t)(block.nulls + (rows->words[r] == null_code));
	bool same = rows->is_wide ? all_equal_wide(rows) : shape.runs == 1;
	block.encoding = (uint8_t)choose(rows, &shape, same, wanted);
	if (same && kind == RQL_STORE_REAL)
		shape.base = (rql_int128)(rql_uint128)rows->words[0];
	put_wide(block.base, block.encoding == RQL_STORE_DELTA ? shape.least_step : shape.base);
	block.runs = (uint16_t)(block.encoding == RQL_STORE_RUNS ? shape.runs : 0);
	block.bits = (uint8_t)(block.encoding == RQL_STORE_CONSTANT ? 0
	                       : block.encoding == RQL_STORE_DELTA  ? shape.step_bits
	                                                            : shape.bits);
	return write_block(sink, block, &shape, rows, shape.offsets ? 0 : (uint64_t)shape.base, err);
}

/* Blocks back to values. The packed case goes straight to a kernel; runs are filled, steps summed. */
#include "column/store/store_internal.h"

static const struct rql_store_block *block_of(const struct rql_store_view *view, uint32_t block)
{
	return &view->blocks[block];
}

static const uint8_t *data_of(const struct rql_store_view *view, const struct rql_store_block *block)
{
	return view->bytes + (uint64_t)block->data * RQL_STORE_ALIGN;
}

/* Where row `first` of a packed array lies: a multiple of 64 rows is a multiple of 8 * bits bytes. */
static const uint8_t *row_data(const uint8_t *data, uint32_t bits, uint32_t first)
{
	return data + (uint64_t)first / 8 * bits;
}

uint32_t rql_store_find_run(const uint16_t *ends, uint32_t runs, uint32_t row)
{
	uint32_t low = 0, high = runs - 1;
	while (low < high) {
		uint32_t middle = (low + high) / 2;
		if (ends[middle] <= row)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* ---- runs ---- */

#define FILL_RUNS(view, block, first, count, base, out)                                                                \
	do {                                                                                                               \
		const uint8_t *at_ = data_of(view, block);                                                                     \
		const uint16_t *ends_ = (const uint16_t *)(const void *)at_;                                                   \
		const struct rql_packed values_ = {.data = (uint8_t *)(uintptr_t)at_ + RQL_STORE_RUN_BYTES((block)->runs),     \
		                                   .bits = (block)->bits};                                                     \
		uint32_t run_ = rql_store_find_run(ends_, (block)->runs, first), row_ = first, last_ = (first) + (count);      \
		for (; row_ < last_; run_++) {                                                                                 \
			uint32_t end_ = ends_[run_] < last_ ? ends_[run_] : last_;                                                 \
			uint64_t field_ = rql_packed_field(&values_, run_);                                                        \
			for (; row_ < end_; row_++)                                                                                \
				(out)[row_ - (first)] = (base) + field_;                                                               \
		}                                                                                                              \
	} while (0)

static void fill_runs64(const struct rql_store_view *view, const struct rql_store_block *block, uint32_t first,
                        uint32_t count, uint64_t base, uint64_t *out)
{
	FILL_RUNS(view, block, first, count, base, out);
}

static void fill_runs32(const struct rql_store_view *view, const struct rql_store_block *block, uint32_t first,
                        uint32_t count, uint32_t base, uint32_t *out)
{
	const uint8_t *at = data_of(view, block);
	const uint16_t *ends = (const uint16_t *)(const void *)at;
	const struct rql_packed values = {.data = (uint8_t *)(uintptr_t)at + RQL_STORE_RUN_BYTES(block->runs),
	                                  .bits = block->bits};
	uint32_t run = rql_store_find_run(ends, block->runs, first), row = first, last = first + count;
	for (; row < last; run++) {
		uint32_t end = ends[run] < last ? ends[run] : last, value = base + (uint32_t)rql_packed_field(&values, run);
		for (; row < end; row++)
			out[row - first] = value;
	}
}

/* ---- steps ---- */

/* Groups start at anchors; `first` may lie within one (64-row granularity), so decoding starts at its anchor. */
static void sum_steps(const struct rql_store_kernels *k, const struct rql_store_view *view,
                      const struct rql_store_block *block, uint32_t first, uint32_t count, uint64_t *out)
{
	const uint8_t *data = data_of(view, block), *fields = data + RQL_STORE_ANCHOR_BYTES;
	uint64_t group[RQL_STORE_DELTA_GROUP], step = block->base[0];
	for (uint32_t row = first, last = first + count; row < last;) {
		uint32_t start = row / RQL_STORE_DELTA_GROUP * RQL_STORE_DELTA_GROUP, skip = row - start;
		uint32_t end = start + RQL_STORE_DELTA_GROUP < last ? start + RQL_STORE_DELTA_GROUP : last;
		uint32_t n = rql_round64(end - start);
		uint64_t anchor;
		memcpy(&anchor, data + start / RQL_STORE_DELTA_GROUP * 8, 8);
		/* The anchor's own field is 0 and its step does not count. */
		uint64_t *to = skip ? group : out + (row - first);
		k->unpack64(row_data(fields, block->bits, start), block->bits, n / 64, step, to);
		k->prefix(to, n, anchor - step);
		if (skip)
			memcpy(out + (row - first), group + skip, (n - skip) * sizeof(*out));
		row = end;
	}
}

/* ---- any encoding ---- */

static void low_halves(const uint8_t *data, uint32_t first, uint32_t count, uint64_t base, uint64_t *out)
{
	for (uint32_t i = 0; i < count; i++) {
		memcpy(&out[i], data + ((uint64_t)first + i) * 16, 8);
		out[i] += base;
	}
}

static void decode_with(const struct rql_store_kernels *k, const struct rql_store_view *view,
                        const struct rql_store_block *block, uint32_t first, uint32_t count, uint64_t base,
                        uint64_t *out)
{
	switch ((enum rql_store_encoding)block->encoding) {
	case RQL_STORE_RUNS:
		fill_runs64(view, block, first, count, base, out);
		break;
	case RQL_STORE_DELTA:
		sum_steps(k, view, block, first, count, out);
		break;
	case RQL_STORE_PACKED:
		if (block->bits == 128)
			low_halves(data_of(view, block), first, count, base, out);
		else
			k->unpack64(row_data(data_of(view, block), block->bits, first), block->bits, rql_round64(count) / 64, base,
			            out);
		break;
	default:
		k->unpack64(NULL, 0, rql_round64(count) / 64, base, out);
	}
}

void rql_store_decode_words(const struct rql_store_kernels *k, const struct rql_store_view *view,
                            const struct rql_store_block *block, uint32_t first, uint32_t count, uint64_t *out)
{
	decode_with(k, view, block, first, count, block->base[0], out);
}

/* 32-bit values: stored codes, floats' bits, integers that fit. */
static void decode_halves(const struct rql_store_kernels *k, const struct rql_store_view *view,
                          const struct rql_store_block *block, uint32_t first, uint32_t count, uint32_t *out)
{
	uint32_t base = (uint32_t)block->base[0];
	if (block->encoding == RQL_STORE_PACKED && block->bits <= 32) {
		k->unpack32(row_data(data_of(view, block), block->bits, first), block->bits, rql_round64(count) / 64, base,
		            out);
	} else if (block->encoding == RQL_STORE_CONSTANT) {
		k->unpack32(NULL, 0, rql_round64(count) / 64, base, out);
	} else if (block->encoding == RQL_STORE_RUNS) {
		fill_runs32(view, block, first, count, base, out);
	} else { /* steps */
		uint64_t part[RQL_STORE_DELTA_GROUP];
		for (uint32_t done = 0; done < count; done += RQL_STORE_DELTA_GROUP) {
			uint32_t n = count - done < RQL_STORE_DELTA_GROUP ? count - done : RQL_STORE_DELTA_GROUP;
			rql_store_decode_words(k, view, block, first + done, n, part);
			for (uint32_t i = 0; i < n; i++)
				out[done + i] = (uint32_t)part[i];
		}
	}
}

void rql_store_decode_codes(const struct rql_store_kernels *k, const struct rql_store_view *view, uint32_t block,
                            uint32_t first, uint32_t count, uint32_t *out)
{
	decode_halves(k, view, block_of(view, block), first, count, out);
	if (view->translate)
		k->translate(out, count, view->translate);
}

void rql_store_decode_int64(const struct rql_store_kernels *k, const struct rql_store_view *view, uint32_t block,
                            uint32_t first, uint32_t count, int64_t *out)
{
	rql_store_decode_words(k, view, block_of(view, block), first, count, (uint64_t *)out);
}

bool rql_store_fits32(const struct rql_store_view *view, uint32_t block)
{
	rql_int128 least = rql_store_wide(view->blocks[block].least),
			   greatest = rql_store_wide(view->blocks[block].greatest);
	return view->kind == RQL_STORE_INTEGER && least >= INT32_MIN && greatest <= INT32_MAX && least <= greatest;
}

void rql_store_decode_int32(const struct rql_store_kernels *k, const struct rql_store_view *view, uint32_t block,
                            uint32_t first, uint32_t count, int32_t *out)
{
	decode_halves(k, view, block_of(view, block), first, count, (uint32_t *)out);
}

void rql_store_decode_int128(const struct rql_store_kernels *k, const struct rql_store_view *view, uint32_t block,
                             uint32_t first, uint32_t count, rql_int128 *out)
{
	const struct rql_store_block *b = block_of(view, block);
	rql_uint128 base = (rql_uint128)rql_store_wide(b->base);
	if (b->encoding == RQL_STORE_PACKED && b->bits == 128) {
		const uint8_t *at = data_of(view, b) + (uint64_t)first * 16;
		for (uint32_t i = 0; i < count; i++, at += 16) {
			rql_uint128 field;
			memcpy(&field, at, 16);
			out[i] = (rql_int128)(base + field);
		}
		return;
	}
	/* Steps sum up to int64s; everything else has offsets below 2^64 from its base. */
	bool sums = b->encoding == RQL_STORE_DELTA;
	uint64_t part[RQL_STORE_DELTA_GROUP];
	for (uint32_t done = 0; done < count; done += RQL_STORE_DELTA_GROUP) {
		uint32_t n = count - done < RQL_STORE_DELTA_GROUP ? count - done : RQL_STORE_DELTA_GROUP;
		decode_with(k, view, b, first + done, n, 0, part);
		for (uint32_t i = 0; i < n; i++)
			out[done + i] = sums ? (rql_int128)(int64_t)part[i] : (rql_int128)(base + part[i]);
	}
}

void rql_store_decode_double(const struct rql_store_kernels *k, const struct rql_store_view *view, uint32_t block,
                             uint32_t first, uint32_t count, double *out)
{
	const struct rql_store_block *b = block_of(view, block);
	if (view->type.id != RQL_TYPE_FLOAT) {
		uint64_t part[RQL_STORE_DELTA_GROUP];
		for (uint32_t done = 0; done < count; done += RQL_STORE_DELTA_GROUP) {
			uint32_t n = count - done < RQL_STORE_DELTA_GROUP ? count - done : RQL_STORE_DELTA_GROUP;
			rql_store_decode_words(k, view, b, first + done, n, part);
			memcpy(out + done, part, n * sizeof(*out));
		}
		return;
	}
	for (uint32_t done = 0; done < count; done += RQL_STORE_DELTA_GROUP) {
		uint32_t n = count - done < RQL_STORE_DELTA_GROUP ? count - done : RQL_STORE_DELTA_GROUP;
		uint32_t bits[RQL_STORE_DELTA_GROUP] = {0};
		float part[RQL_STORE_DELTA_GROUP];
		decode_halves(k, view, b, first + done, n, bits);
		memcpy(part, bits, sizeof part);
		k->widen(part, rql_round64(n), out + done);
	}
}

/* ---- NULLs ---- */

bool rql_store_decode_validity(const struct rql_store_kernels *k, const struct rql_store_view *view, uint32_t block,
                               uint32_t first, uint32_t count, uint64_t *out)
{
	const struct rql_store_block *b = block_of(view, block);
	uint32_t words = rql_round64(count) / 64;
	uint64_t missing = 0;
	rql_bits_fill(out, count);
	if (!b->nulls)
		return false;
	if (b->nulls == b->rows) {
		memset(out, 0, words * sizeof(*out));
		return count > 0;
	}
	if (view->kind != RQL_STORE_CODED) {
		const uint8_t *bitmap = view->bytes + (uint64_t)b->validity * RQL_STORE_ALIGN + first / 8;
		for (uint32_t w = 0; w < words; w++) {
			uint64_t word;
			memcpy(&word, bitmap + w * 8, 8);
			missing |= out[w] & ~word;
			out[w] &= word;
		}
		return missing != 0;
	}
	const struct rql_store_filter null = {.kind = RQL_FILTER_IS_NOT_NULL};
	(void)rql_store_filter(k, view, block, &null, first, count, out);
	uint64_t all[RQL_STORE_WORDS];
	rql_bits_fill(all, count);
	return memcmp(all, out, words * sizeof(*out)) != 0;
}

/* ---- gathering ---- */

static uint32_t set_bits(const uint64_t *mask, uint32_t words)
{
	/* Compilers turn this into vectors, and __builtin_popcountll, without a target that has it, into calls. */
	uint64_t n = 0;
	for (uint32_t w = 0; w < words; w++) {
		uint64_t x = mask[w] - (mask[w] >> 1 & UINT64_C(0x5555555555555555));
		x = (x & UINT64_C(0x3333333333333333)) + (x >> 2 & UINT64_C(0x3333333333333333));
		x = (x + (x >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
		x = (x + (x >> 8)) & UINT64_C(0x00ff00ff00ff00ff);
		n += x;
	}
	/* Four sums of 16 bits, of at most 64 * 16 each. */
	n = (n & UINT64_C(0x0000ffff0000ffff)) + (n >> 16 & UINT64_C(0x0000ffff0000ffff));
	return (uint32_t)(n + (n >> 32));
}

/* Below one row in this many, packed fields are fetched one by one. */
#define SPARSE 16u

static bool fetch_sparse(const struct rql_store_block *block, uint32_t wanted, uint32_t count)
{
	return block->encoding == RQL_STORE_PACKED && block->bits != 128 && wanted * SPARSE < count;
}

#define FETCH(view, block, first, words, mask, out, expression)                                                        \
	do {                                                                                                               \
		const struct rql_packed packed_ = {.data = (uint8_t *)(uintptr_t)data_of(view, block), .bits = (block)->bits}; \
		uint32_t n_ = 0;                                                                                               \
		for (uint32_t w_ = 0; w_ < (words); w_++) {                                                                    \
			for (uint64_t left_ = (mask)[w_]; left_; left_ &= left_ - 1) {                                             \
				uint64_t field = rql_packed_field(&packed_, (first) + w_ * 64 + (uint32_t)__builtin_ctzll(left_));     \
				(out)[n_++] = expression;                                                                              \
			}                                                                                                          \
		}                                                                                                              \
	} while (0)

uint32_t rql_store_gather_codes(const struct rql_store_kernels *k, const struct rql_store_view *view, uint32_t block,
                                uint32_t first, uint32_t count, const uint64_t *mask, uint32_t *out)
{
	const struct rql_store_block *b = block_of(view, block);
	uint32_t words = rql_round64(count) / 64, n = set_bits(mask, words);
	if (fetch_sparse(b, n, count)) {
		FETCH(view, b, first, words, mask, out, (uint32_t)(b->base[0] + field));
	} else if (n) {
		decode_halves(k, view, b, first, count, out);
		if (n < count)
			k->compress32(out, mask, words, out);
	}
	if (view->translate)
		k->translate(out, n, view->translate);
	return n;
}

uint32_t rql_store_gather_int64(const struct rql_store_kernels *k, const struct rql_store_view *view, uint32_t block,
                                uint32_t first, uint32_t count, const uint64_t *mask, int64_t *out)
{
	const struct rql_store_block *b = block_of(view, block);
	uint32_t words = rql_round64(count) / 64, n = set_bits(mask, words);
	if (fetch_sparse(b, n, count)) {
		FETCH(view, b, first, words, mask, out, (int64_t)(b->base[0] + field));
	} else if (n) {
		rql_store_decode_words(k, view, b, first, count, (uint64_t *)out);
		if (n < count)
			k->compress64((uint64_t *)out, mask, words, (uint64_t *)out);
	}
	return n;
}

uint32_t rql_store_gather_double(const struct rql_store_kernels *k, const struct rql_store_view *view, uint32_t block,
                                 uint32_t first, uint32_t count, const uint64_t *mask, double *out)
{
	uint32_t words = rql_round64(count) / 64, n = set_bits(mask, words);
	if (!n)
		return 0;
	rql_store_decode_double(k, view, block, first, count, out);
	if (n < count) {
		uint32_t at = 0;
		for (uint32_t w = 0; w < words; w++)
			for (uint64_t left = mask[w]; left; left &= left - 1)
				out[at++] = out[w * 64 + (uint32_t)__builtin_ctzll(left)];
	}
	return n;
}

uint32_t rql_store_gather_int128(const struct rql_store_kernels *k, const struct rql_store_view *view, uint32_t block,
                                 uint32_t first, uint32_t count, const uint64_t *mask, rql_int128 *out)
{
	uint32_t words = rql_round64(count) / 64, n = 0;
	if (!set_bits(mask, words))
		return 0;
	rql_store_decode_int128(k, view, block, first, count, out);
	for (uint32_t w = 0; w < words; w++)
		for (uint64_t left = mask[w]; left; left &= left - 1)
			out[n++] = out[w * 64 + (uint32_t)__builtin_ctzll(left)];
	return n;
}

uint32_t rql_store_gather_validity(const struct rql_store_kernels *k, const struct rql_store_view *view, uint32_t block,
                                   uint32_t first, uint32_t count, const uint64_t *mask, uint64_t *out)
{
	uint64_t valid[RQL_STORE_WORDS];
	uint32_t words = rql_round64(count) / 64, n = 0;
	uint32_t all = set_bits(mask, words);
	if (!rql_store_decode_validity(k, view, block, first, count, valid)) {
		rql_bits_fill(out, all);
		return all;
	}
	memset(out, 0, (all + 63) / 64 * sizeof(*out));
	for (uint32_t w = 0; w < words; w++) {
		for (uint64_t left = mask[w]; left; left &= left - 1, n++)
			rql_bit_or(out, n, valid[w] >> __builtin_ctzll(left) & 1);
	}
	return n;
}

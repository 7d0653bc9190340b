/* A snapshot's invariants. Whatever passes can be read without leaving an allocation: a side file must. */
#include "column/store/store_internal.h"

#define CHECK(condition, ...)                                                                                          \
	do {                                                                                                               \
		if (!(condition))                                                                                              \
			return rql_error_set(err, RQL_ERROR_CORRUPT, "damaged columns: " __VA_ARGS__);                             \
	} while (0)

static rql_status check_dimension(const struct rql_dimension *dimension, struct rql_error *err)
{
	uint32_t values = dimension->count - dimension->has_null;
	CHECK(!dimension->has_null || dimension->count, "a dictionary's NULL is missing");
	CHECK(dimension->values.data || !dimension->count, "a dictionary is missing");
	for (uint32_t i = 0; i < values && dimension->type.id == RQL_TYPE_ENUM; i++) {
		struct rql_value value = rql_column_get(&dimension->values, i);
		CHECK(value.integer >= 0 && value.integer < dimension->type.info->name_count, "an ENUM's value has no name");
	}
	for (uint32_t i = 1; i < values; i++)
		CHECK(rql_column_compare(&dimension->values, i - 1, &dimension->values, i) < 0, "a dictionary is not sorted");
	return RQL_OK;
}

/* Does [offset, offset + bytes) lie before the slack? */
static bool lies_within(const struct rql_store_view *view, uint32_t offset, uint64_t bytes)
{
	uint64_t at = (uint64_t)offset * RQL_STORE_ALIGN, size = view->byte_count - RQL_PACKED_SLACK;
	return offset != RQL_STORE_NONE && at <= size && bytes <= size - at;
}

static rql_status check_runs(const struct rql_store_view *view, const struct rql_store_block *block,
                             struct rql_error *err)
{
	uint32_t before = 0;
	CHECK(block->runs >= 1 && block->runs <= block->rows, "a block has an impossible number of runs");
	CHECK(lies_within(view, block->data,
	                  RQL_STORE_RUN_BYTES(block->runs) + ((uint64_t)block->runs * block->bits + 7) / 8),
	      "a block's runs are not in its column");
	const uint16_t *ends = (const uint16_t *)(const void *)(view->bytes + (uint64_t)block->data * RQL_STORE_ALIGN);
	for (uint32_t i = 0; i < block->runs; i++) {
		CHECK(ends[i] > before && ends[i] <= block->rows, "a block's runs do not ascend");
		before = ends[i];
	}
	CHECK(before == block->rows, "a block's runs do not end with it");
	return RQL_OK;
}

static rql_status check_validity(const struct rql_store_view *view, const struct rql_store_block *block,
                                 struct rql_error *err)
{
	bool needs = view->kind != RQL_STORE_CODED && block->nulls && block->nulls < block->rows;
	uint32_t valid = 0;
	CHECK(needs == (block->validity != RQL_STORE_NONE), "a block's NULLs are inconsistent");
	if (!needs)
		return RQL_OK;
	CHECK(lies_within(view, block->validity, RQL_STORE_BLOCK / 8), "a block's NULLs are not in its column");
	const uint8_t *at = view->bytes + (uint64_t)block->validity * RQL_STORE_ALIGN;
	for (uint32_t w = 0; w < RQL_STORE_WORDS; w++) {
		uint64_t word, past = block->rows <= w * 64        ? UINT64_MAX
		                      : block->rows < (w + 1) * 64 ? UINT64_MAX << block->rows % 64
		                                                   : 0;
		memcpy(&word, at + w * 8, 8);
		CHECK(!(word & past), "a block's NULLs reach behind its rows");
		valid += (uint32_t)__builtin_popcountll(word);
	}
	CHECK(valid == (uint32_t)block->rows - block->nulls, "a block's NULLs are not as many as it says");
	return RQL_OK;
}

/* Every code is one of the dictionary's, those that pad the last word too: kernels look all of them up. */
static rql_status check_codes(const struct rql_store_view *view, const struct rql_store_block *block,
                              struct rql_error *err)
{
	uint64_t values[RQL_STORE_BLOCK];
	uint32_t count = block->encoding == RQL_STORE_PACKED ? rql_round64(block->rows) : block->rows;
	CHECK(block->bits <= 32, "codes have %u bits", block->bits);
	CHECK(block->least[0] <= block->greatest[0] && block->greatest[0] < view->stored_codes && !block->least[1] &&
	          !block->greatest[1],
	      "codes are out of range");
	rql_store_decode_words(&rql_store_kernels_portable, view, block, 0, count, values);
	for (uint32_t i = 0; i < count; i++)
		CHECK(values[i] < view->stored_codes, "codes are out of range");
	CHECK(!block->nulls || view->null_code != RQL_STORE_NONE, "a block's NULLs are inconsistent");
	return RQL_OK;
}

static rql_status check_block(const struct rql_store_view *view, const struct rql_store_block *block,
                              struct rql_error *err)
{
	uint32_t bits = block->bits;
	bool width = bits <= RQL_PACKED_MAX_BITS || bits == 64;
	CHECK(block->rows >= 1 && block->rows <= RQL_STORE_BLOCK && block->nulls <= block->rows, "a block has %u rows",
	      block->rows);
	CHECK(block->encoding < RQL_STORE_AUTO, "a block has encoding %u", block->encoding);
	CHECK(view->kind != RQL_STORE_REAL || block->encoding == RQL_STORE_CONSTANT ||
	          (block->encoding != RQL_STORE_DELTA && bits == (view->type.id == RQL_TYPE_FLOAT ? 32 : 64)),
	      "a block of reals has %u bits", bits);
	switch ((enum rql_store_encoding)block->encoding) {
	case RQL_STORE_PACKED:
		CHECK(bits && (width || (bits == 128 && view->kind == RQL_STORE_INTEGER)), "a block has %u bits", bits);
		CHECK(lies_within(view, block->data, (uint64_t)rql_round64(block->rows) / 8 * bits),
		      "a block's values are not in its column");
		break;
	case RQL_STORE_RUNS:
		CHECK(bits && width, "a block has %u bits", bits);
		RQL_TRY(check_runs(view, block, err));
		break;
	case RQL_STORE_DELTA:
		CHECK(bits <= RQL_PACKED_MAX_BITS, "a block has %u bits", bits);
		CHECK(lies_within(view, block->data, RQL_STORE_ANCHOR_BYTES + (uint64_t)rql_round64(block->rows) / 8 * bits),
		      "a block's values are not in its column");
		break;
	default:
		CHECK(!bits, "a block has %u bits", bits);
	}
	RQL_TRY(check_validity(view, block, err));
	return view->kind == RQL_STORE_CODED ? check_codes(view, block, err) : RQL_OK;
}

static rql_status check_map(const struct rql_store_view *view, const struct rql_dimension *dimension,
                            struct rql_error *err)
{
	CHECK(view->null_code == RQL_STORE_NONE || view->null_code < view->stored_codes, "NULL has no code");
	if (!view->translate) {
		CHECK(view->stored_codes <= dimension->count, "a segment has more codes than the dictionary");
		return RQL_OK;
	}
	for (uint32_t i = 0; i < view->stored_codes; i++) {
		CHECK(view->translate[i] < dimension->count, "a map is out of range");
		CHECK(!i || view->translate[i - 1] < view->translate[i], "a map does not ascend");
	}
	return RQL_OK;
}

rql_status rql_store_check(const struct rql_store_snapshot *snapshot, struct rql_error *err)
{
	uint64_t rows = 0, blocks = 0;
	for (uint32_t c = 0; c < snapshot->column_count; c++) {
		if (snapshot->columns[c].kind == RQL_STORE_CODED)
			RQL_TRY(check_dimension(snapshot->columns[c].dimension, err));
	}
	for (uint32_t s = 0; s < snapshot->segment_count; s++) {
		const struct rql_store_segment *segment = &snapshot->segments[s];
		uint64_t here = 0;
		CHECK(segment->blocks >= 1 && segment->blocks <= RQL_STORE_SEGMENT, "a segment has %u blocks", segment->blocks);
		CHECK(segment->first_row == rows && segment->first_block == blocks, "segments do not follow each other");
		for (uint32_t c = 0; c < snapshot->column_count; c++) {
			const struct rql_store_view *view = &segment->columns[c];
			CHECK(view->byte_count >= RQL_PACKED_SLACK, "a segment's column is too short");
			if (view->kind == RQL_STORE_CODED)
				RQL_TRY(check_map(view, snapshot->columns[c].dimension, err));
			for (uint32_t b = 0; b < segment->blocks; b++) {
				CHECK(view->blocks[b].rows == segment->columns[0].blocks[b].rows, "columns' blocks differ in rows");
				RQL_TRY(check_block(view, &view->blocks[b], err));
				here += c == 0 ? view->blocks[b].rows : 0;
			}
		}
		CHECK(here == segment->rows, "a segment has not the rows that it says");
		rows += segment->rows;
		blocks += segment->blocks;
	}
	CHECK(rows == snapshot->rows && blocks == snapshot->blocks, "the rows are not as many as they say");
	return RQL_OK;
}

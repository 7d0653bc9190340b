/* What the rows of a column can add up to at most, as statistics prove it: a column's bounds, a form's, or the blocks'. */
#include <string.h>

#include "column/store/store.h"

bool rql_store_total_add(struct rql_store_total *t, uint64_t rows, rql_int128 least, rql_int128 greatest)
{
	rql_int128 low, high;
	return !__builtin_mul_overflow(least < 0 ? least : 0, (rql_int128)rows, &low) &&
	       !__builtin_mul_overflow(greatest > 0 ? greatest : 0, (rql_int128)rows, &high) &&
	       !__builtin_add_overflow(t->low, low, &t->low) && !__builtin_add_overflow(t->high, high, &t->high) &&
	       t->low >= INT64_MIN && t->high <= INT64_MAX;
}

static rql_int128 int128_of(const uint64_t halves[2])
{
	rql_int128 value;
	memcpy(&value, halves, sizeof value);
	return value;
}

static bool add_blocks(const struct rql_store_snapshot *snapshot, uint32_t column, struct rql_store_total *t)
{
	for (uint32_t s = 0; s < snapshot->segment_count; s++) {
		const struct rql_store_segment *segment = &snapshot->segments[s];
		for (uint32_t b = 0; b < segment->blocks; b++) {
			const struct rql_store_block *block = &segment->columns[column].blocks[b];
			if (!rql_store_total_add(t, (uint64_t)block->rows - block->nulls, int128_of(block->least),
			                         int128_of(block->greatest)))
				return false;
		}
	}
	return true;
}

bool rql_store_total(const struct rql_store_snapshot *snapshot, uint32_t column, struct rql_store_total *out)
{
	const struct rql_store_column *c = &snapshot->columns[column];
	if (c->kind != RQL_STORE_INTEGER || c->type.id == RQL_TYPE_UHUGEINT)
		return false;
	*out = (struct rql_store_total){0};
	if (c->has_total)
		*out = c->total;
	if (c->has_total || rql_store_total_add(out, snapshot->rows, c->least, c->greatest))
		return true;
	*out = (struct rql_store_total){0};
	return snapshot->segment_count && add_blocks(snapshot, column, out);
}

/* Keys of a column that spans more than 64 bits: the places of its values among the segment's different ones. They are dense
 * and ascend as the values do, so that every unit looks them up as it does other keys, and finds no row too many. */
#include "method/index/index_run.h"

#include <stddef.h>
#include "util/sort.h"

struct item {
	uint64_t low, high; /* of the value; high ascends without its sign */
	uint32_t row;
};
#define SIGN (UINT64_C(1) << 63)

struct placing {
	const struct rql_store_kernels *kernels;
	const struct rql_store_segment *segment;
	uint32_t column;
	struct item *items;
	uint32_t count;
};

static void read_block(struct placing *p, uint32_t block, rql_int128 *values)
{
	const struct rql_store_view *view = &p->segment->columns[p->column];
	const uint32_t rows = view->blocks[block].rows;
	uint64_t known[RQL_STORE_BLOCK / 64];
	(void)rql_store_decode_validity(p->kernels, view, block, 0, rows, known);
	rql_index_decode_wide(p->kernels, view, block, 0, rows, values);
	for (uint32_t r = 0; r < rows; r++)
		if (rql_bit(known, r))
			p->items[p->count++] = (struct item){.low = (uint64_t)values[r],
			                                     .high = (uint64_t)(values[r] >> 64) ^ SIGN,
			                                     .row = block * RQL_STORE_BLOCK + r};
}

static rql_int128 value_of(const struct item *item)
{
	return (rql_int128)((rql_uint128)(item->high ^ SIGN) << 64 | item->low);
}

static bool is_other(const struct item *items, uint32_t i)
{
	return !i || items[i].low != items[i - 1].low || items[i].high != items[i - 1].high;
}

static rql_status number(const struct item *items, uint32_t count, struct rql_index_run *run, struct rql_index_pair *pairs,
                         struct rql_error *err)
{
	uint32_t different = 0;
	rql_int128 *values;
	for (uint32_t i = 0; i < count; i++)
		different += is_other(items, i);
	RQL_TRY(RQL_MEM_ARRAY(&run->mem, values, different, err));
	different = 0;
	for (uint32_t i = 0; i < count; i++) {
		if (is_other(items, i))
			values[different++] = value_of(&items[i]);
		pairs[i] = (struct rql_index_pair){.key = different - 1, .row = items[i].row};
	}
	run->key.values = values;
	run->key.value_count = different;
	return RQL_OK;
}

rql_status rql_index_places_make(const struct rql_store_segment *segment, const struct rql_device *cpu,
                                 struct rql_progress *progress, struct rql_index_run *run, struct rql_index_pair *pairs,
                                 uint32_t *count, struct rql_error *err)
{
	struct placing p = {
		.kernels = rql_store_kernels_for(cpu->simd), .segment = segment, .column = run->key.digits[0].column};
	struct item *spare = NULL;
	rql_int128 *room = NULL;
	struct rql_mem scratch;
	rql_mem_init(&scratch, run->mem.budget, "building an index");
	rql_status status = RQL_MEM_ARRAY(&scratch, p.items, segment->rows, err);
	if (status == RQL_OK)
		status = RQL_MEM_ARRAY(&scratch, spare, segment->rows, err);
	if (status == RQL_OK)
		status = RQL_MEM_ARRAY(&scratch, room, RQL_STORE_BLOCK, err);
	for (uint32_t b = 0; b < segment->blocks && status == RQL_OK; b++) {
		if (progress && atomic_load(&progress->cancel))
			status = rql_error_set(err, RQL_ERROR_INTERRUPTED, "INTERRUPT Error: Interrupted!");
		else
			read_block(&p, b, room);
	}
	if (status == RQL_OK) {
		struct item *sorted = rql_sort_keyed(p.items, spare, p.count, sizeof *sorted, offsetof(struct item, low));
		struct item *other = sorted == spare ? p.items : spare;
		sorted = rql_sort_keyed(sorted, other, p.count, sizeof *sorted, offsetof(struct item, high));
		status = number(sorted, p.count, run, pairs, err);
	}
	rql_mem_clear(&scratch);
	*count = p.count;
	return status;
}

rql_status rql_index_places_copy(const struct rql_index_key *from, struct rql_mem *mem, struct rql_index_key *out,
                                 struct rql_error *err)
{
	rql_int128 *values;
	*out = *from;
	if (!from->values)
		return RQL_OK;
	out->values = NULL;
	RQL_TRY(RQL_MEM_ARRAY(mem, values, from->value_count, err));
	memcpy(values, from->values, from->value_count * sizeof *values);
	out->values = values;
	return RQL_OK;
}

const char *rql_index_places_check(const struct rql_index_key *key, uint64_t greatest)
{
	bool good = key->placed == (key->values != NULL);
	if (good && key->placed)
		good = key->value_count && key->value_count <= key->digits[0].last + 1 && greatest == key->value_count - UINT64_C(1);
	for (uint32_t i = 1; key->values && i < key->value_count && good; i++)
		good = key->values[i - 1] < key->values[i];
	return good ? NULL : "a map's values are not those of its keys";
}

/* Probes of a large map, tile by tile in the order of its partitions. Then their answers go back to the
 * probes' order. Nothing is counted over all probes, and a tile's rows are read and written where they lie together. lookup.h has
 * the bytes of each pass. */
#include "primitive/lookup/lookup_internal.h"

#include "shaders/primitive/lookup_back_32.comp.h"
#include "shaders/primitive/lookup_back_64.comp.h"
#include "shaders/primitive/lookup_order_32.comp.h"
#include "shaders/primitive/lookup_order_64.comp.h"

/* Of a tile's workgroup. More of them make longer runs, which hashed maps gain from, with the most partitions. But fewer
 * workgroups run side by side. */
#define THREADS 512u
#define THREADS_HASHED 1024u
#define PARTITIONS (1u << RQL_LOOKUP_PARTITION_BITS)

static const struct rql_kernel order_kernels[2] = {
	RQL_LOOKUP_KERNEL(lookup_order_32, rql_lookup_order_args), RQL_LOOKUP_KERNEL(lookup_order_64, rql_lookup_order_args)};
static const struct rql_kernel back_kernels[2] = {
	RQL_LOOKUP_KERNEL(lookup_back_32, rql_lookup_back_args), RQL_LOOKUP_KERNEL(lookup_back_64, rql_lookup_back_args)};

/* Partitions that a kernel has room for: few sizes, as each is a pipeline. */
static uint32_t partitions_of(uint32_t bits)
{
	return bits + 1 < RQL_LOOKUP_PARTITION_BITS ? PARTITIONS / 4 : PARTITIONS;
}

struct rql_lookup_tiles rql_lookup_tiles_of(const struct rql_lookup_batch *lookup, uint32_t bits)
{
	const struct rql_device *device = rql_lookup_device(&lookup->map);
	struct rql_lookup_tiles tiles = {.bits = bits};
	tiles.threads = lookup->map.form == RQL_LOOKUP_HASHED ? THREADS_HASHED : THREADS;
	const uint32_t room = rql_relation_shared(device, tiles.threads) / 4 - 2 * PARTITIONS;
	while (tiles.threads > device->limits.group_size || tiles.threads * RQL_LOOKUP_TILE_ITEMS > room)
		tiles.threads /= 2;
	tiles.rows = tiles.threads * RQL_LOOKUP_TILE_ITEMS;
	tiles.count = rql_div_up(lookup->count, tiles.rows);
	tiles.places = tiles.count * RQL_LOOKUP_PLACES(tiles.rows, bits);
	return tiles;
}

uint64_t rql_lookup_runs_bytes(const struct rql_lookup_tiles *tiles)
{
	return (tiles->count << tiles->bits) * 4;
}

uint64_t rql_lookup_ranks_bytes(const struct rql_lookup_tiles *tiles)
{
	return tiles->count * tiles->rows * 2;
}

rql_status rql_record_lookup_order(struct rql_commands *c, const struct rql_lookup_batch *lookup,
                                   const struct rql_lookup_tiles *tiles, const struct rql_span *points,
                                   const struct rql_span *ends, struct rql_error *err)
{
	struct rql_device *device = rql_lookup_device(&lookup->map);
	uint32_t constants[] = {tiles->threads, rql_relation_subgroups(device, tiles->threads), partitions_of(tiles->bits),
	                        tiles->rows, lookup->ends.buffer != NULL, RQL_LOOKUP_PLACES(tiles->rows, tiles->bits), 0};
	struct rql_partition order = {.bits = tiles->bits, .shift = 0};
	struct rql_uses uses = {.count = 0};
	const struct rql_pipeline *pipeline;
	rql_lookup_order_by(&lookup->map, &order);
	constants[6] = order.by_range;
	const struct rql_lookup_order_args args = {
		.keys_in = rql_span_address(&lookup->points),
		.keys_out = rql_span_address(points),
		.ends_in = rql_span_address(&lookup->ends),
		.ends_out = rql_span_address(ends),
		.runs = rql_span_address(&tiles->runs),
		.ranks = rql_span_address(&tiles->ranks),
		.found = rql_span_address(&lookup->found),
		.count = lookup->count,
		.base = order.base,
		.shift = order.by_range ? order.shift : 32 - tiles->bits,
		.bits = tiles->bits,
	};
	rql_uses_add(&uses, &lookup->points, RQL_READ);
	rql_uses_add(&uses, &lookup->ends, RQL_READ);
	rql_uses_add(&uses, &lookup->found, RQL_READ);
	rql_uses_add(&uses, &tiles->runs, RQL_WRITE); /* all in one buffer, the temporary one */
	RQL_TRY(rql_pipeline_get(device, &order_kernels[lookup->map.key_bits == 64], constants, 7, &pipeline, err));
	rql_record_dispatch(c, "lookup.order", pipeline, &args, tiles->count, uses.use, uses.count);
	return RQL_OK;
}

rql_status rql_record_lookup_back(struct rql_commands *c, const struct rql_lookup_batch *lookup,
                                  const struct rql_lookup_tiles *tiles, uint32_t word_bits, const struct rql_span *in,
                                  const struct rql_span *out, struct rql_error *err)
{
	struct rql_device *device = rql_lookup_device(&lookup->map);
	uint32_t constants[] = {tiles->threads, rql_relation_subgroups(device, tiles->threads),
	                        RQL_LOOKUP_PLACES(tiles->rows, tiles->bits), tiles->rows};
	struct rql_uses uses = {.count = 0};
	const struct rql_pipeline *pipeline;
	const struct rql_lookup_back_args args = {
		.in_words = rql_span_address(in),
		.out_words = rql_span_address(out),
		.runs = rql_span_address(&tiles->runs),
		.ranks = rql_span_address(&tiles->ranks),
		.found = rql_span_address(&lookup->found),
		.count = lookup->count,
		.bits = tiles->bits,
	};
	rql_uses_add(&uses, in, RQL_READ);
	rql_uses_add(&uses, &lookup->found, RQL_READ);
	rql_uses_add(&uses, out, RQL_WRITE);
	RQL_TRY(rql_pipeline_get(device, &back_kernels[word_bits == 64], constants, 4, &pipeline, err));
	rql_record_dispatch(c, "lookup.back", pipeline, &args, tiles->count, uses.use, uses.count);
	return RQL_OK;
}

/* How many rows a device has room for under a limit, and so how many partitions there are. */
#include "primitive/host/host_internal.h"

/* Pieces: long enough that reading the build side's partitions once a piece is little beside the link, short enough that
 * the first and the last piece, beside which nothing moves the other way, are little too. */
#define PIECES 8u
#define PIECE_LEAST 16384u
#define PIECE_MOST (UINT64_C(1) << 26)
/* Of build sides on their way to all devices, two pieces each: no more than a processor's last cache has room for. So
 * memory gives each row once. Memory, not their links, is the limit of several devices. A piece takes a link 0.1 ms at least. */
#define LOADED_BYTES (UINT64_C(64) << 20)
#define LOAD_LEAST (UINT64_C(4) << 20)
#define BUILD_LEAST 4096u /* smaller build sides: the limit is refused */
/* Partitions vary with the square root of their size. */
#define SPARE 8u /* one part in so many */
#define SPARE_LEAST 512u

struct rql_join rql_host_relation(const struct rql_host_join *join, const struct rql_host_sizes *sizes,
                                  struct rql_buffer *keys)
{
	struct rql_join relation = {.kind = join->kind,
	                            .key_bits = join->build.shape.key_bits,
	                            .has_null_key = join->has_null_key,
	                            .null_key = join->null_key,
	                            .capacity = sizes->out,
	                            /* one kernel: the last piece may be short */
	                            .tuning = {.special = sizes->piece >= RQL_SPECIAL_ROWS},
	                            .ordered = sizes->ordered,
	                            .build = {.count = sizes->build, .keys.buffer = keys},
	                            .probe = {.count = sizes->piece, .keys.buffer = keys}};
	const struct rql_host_layout layout = rql_host_layout_of(join, &join->build, sizes->build);
	relation.build.column_count = rql_join_gives_pairs(join->kind) ? join->build.shape.column_count : 0;
	for (uint32_t c = 0; c < relation.build.column_count; c++)
		relation.build.columns[c] = (struct rql_relation_column){.bits = join->build.shape.column_bits[c],
		                                                         .in = {keys, layout.at[c + 1]}};
	relation.probe.column_count = join->probe.shape.column_count;
	for (uint32_t c = 0; c < relation.probe.column_count; c++)
		relation.probe.columns[c].bits = join->probe.shape.column_bits[c];
	return relation;
}

struct rql_raster_relation rql_host_drawing(const struct rql_join *relation)
{
	struct rql_raster_relation drawing = {.join = {.capacity = 0}};
	rql_raster_relation_lay(&drawing, relation);
	return drawing;
}

/* What the join itself takes. */
static uint64_t join_bytes(const struct rql_host_join *join, struct rql_join *relation)
{
	struct rql_image_spec specs[RQL_RASTER_JOIN_IMAGES];
	if (!join->drawn) {
		relation->built.buffer = relation->build.keys.buffer;
		return rql_join_built_bytes(relation) + rql_join_temp_bytes(relation);
	}
	const struct rql_raster_relation drawing = rql_host_drawing(relation);
	rql_raster_join_images(&drawing.pairs, specs);
	return rql_raster_relation_temp_bytes(&drawing) + sizeof(struct rql_raster_points) +
	       rql_raster_images_bytes(specs, RQL_RASTER_JOIN_IMAGES);
}

static bool has_images(const struct rql_host_join *join, struct rql_device *device, const struct rql_host_sizes *sizes)
{
	struct rql_buffer keys = {.device = device};
	const struct rql_join relation = rql_host_relation(join, sizes, &keys);
	const struct rql_raster_relation drawing = rql_host_drawing(&relation);
	return !rql_raster_join_refusal(&drawing.pairs, device);
}

uint64_t rql_host_sizes_bytes(const struct rql_host_join *join, struct rql_device *device,
                              const struct rql_host_sizes *sizes)
{
	struct rql_buffer keys = {.device = device};
	struct rql_join relation = rql_host_relation(join, sizes, &keys);
	return rql_host_layout_of(join, &join->build, sizes->build).bytes + join_bytes(join, &relation) +
	       2 * (rql_host_layout_of(join, &join->probe, sizes->piece).bytes +
	            rql_host_layout_of(join, NULL, sizes->out).bytes + RQL_HOST_COUNT_BYTES + RQL_EXCHANGE_TABLE_BYTES);
}

static struct rql_host_sizes sizes_of(const struct rql_host_join *join, uint32_t bits, bool ordered)
{
	struct rql_host_sizes sizes = {.bits = bits, .ordered = ordered, .build = (join->build.rows >> bits) + 1};
	sizes.shared = !bits && join->device_count > 1;
	if (bits)
		sizes.build += sizes.build / SPARE + SPARE_LEAST;
	const uint64_t probe = (join->probe.rows >> bits) + 1;
	uint64_t piece = join->drawn ? probe + (bits ? probe / SPARE + SPARE_LEAST : 0)
	                             : (sizes.build > probe ? sizes.build : probe) / PIECES / (sizes.shared ? join->device_count : 1);
	piece = piece < PIECE_LEAST ? PIECE_LEAST : piece > PIECE_MOST ? PIECE_MOST : piece;
	if (join->piece_rows && piece > join->piece_rows)
		piece = join->piece_rows;
	sizes.piece = (piece + 3) / 4 * 4;
	/* A match for each row, and some more. A full join's rows that are left come as one piece. */
	sizes.out = sizes.piece + (sizes.piece / SPARE + 3) / 4 * 4;
	sizes.out = join->kind == RQL_JOIN_FULL && sizes.build > sizes.out ? sizes.build : sizes.out;
	return sizes;
}

uint64_t rql_host_load_rows(const struct rql_host_join *join, const struct rql_host_sizes *sizes)
{
	const uint64_t share = LOADED_BYTES / 2 / join->device_count, bytes = share < LOAD_LEAST ? LOAD_LEAST : share;
	const uint64_t rows = bytes / rql_host_row_bytes(&join->build.shape) / 4 * 4;
	return join->build.in_place || rows > sizes->piece ? sizes->piece : rows;
}

/* On every device: what a join takes, and what images there are, follows from a device's limits. */
static bool fits(const struct rql_host_join *join, uint64_t limit, const struct rql_host_sizes *sizes)
{
	bool fit = sizes->build <= RQL_RELATION_ROWS && sizes->out <= RQL_RELATION_ROWS;
	for (uint32_t i = 0; i < join->device_count && fit; i++)
		fit = rql_host_sizes_bytes(join, join->devices[i], sizes) <= limit &&
		      (!join->drawn || has_images(join, join->devices[i], sizes));
	return fit;
}

/* What lies in place lies where one device reaches it. */
static bool may_share(const struct rql_host_join *join)
{
	return join->build.reader && !join->build.in_place && !join->probe.in_place && !join->drawn &&
	       join->kind != RQL_JOIN_FULL;
}

bool rql_host_sizes_choose(const struct rql_host_join *join, uint64_t limit, struct rql_host_sizes *out)
{
	const bool several = join->device_count > 1;
	const uint32_t least = several ? rql_log2_up(join->device_count) + 1 : 1; /* of partitions */
	uint32_t bits = several && !may_share(join) ? least : 0;
	for (; bits <= RQL_HOST_HASH_BITS; bits = bits ? bits + 1 : least) {
		/* A pass of partitions on the CPU costs more than tables that each piece makes anew. */
		for (int ordered = !join->drawn; ordered >= 0; ordered--) {
			*out = sizes_of(join, bits, ordered);
			if (fits(join, limit, out))
				return true;
		}
		if (out->build < BUILD_LEAST)
			break;
	}
	return false;
}

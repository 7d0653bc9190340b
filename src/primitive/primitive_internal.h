/* What the files of this folder share. */
#ifndef RQL_PRIMITIVE_INTERNAL_H
#define RQL_PRIMITIVE_INTERNAL_H

#include "primitive/primitive.h"
#include "primitive/primitive_kernels.h"

/* ---- GPU ---- */
/* name, symbol of the SPIR-V, argument struct */
#define RQL_PRIMITIVE_KERNELS(X)                                                                                       \
	X(PREFIX_SUMS_32, prefix_sums_32, prefix)                                                                          \
	X(PREFIX_SUMS_64, prefix_sums_64, prefix)                                                                          \
	X(PREFIX_TILES_32_32, prefix_tiles_32_32, prefix)                                                                  \
	X(PREFIX_TILES_32_64, prefix_tiles_32_64, prefix)                                                                  \
	X(PREFIX_TILES_64_64, prefix_tiles_64_64, prefix)                                                                  \
	X(COMPACT_COUNT_BITS, compact_count_bits, compact)                                                                 \
	X(COMPACT_COUNT_FLAGS, compact_count_flags, compact)                                                               \
	X(COMPACT_WRITE_BITS_32, compact_write_bits_32, compact)                                                           \
	X(COMPACT_WRITE_BITS_64, compact_write_bits_64, compact)                                                           \
	X(COMPACT_WRITE_FLAGS_32, compact_write_flags_32, compact)                                                         \
	X(COMPACT_WRITE_FLAGS_64, compact_write_flags_64, compact)                                                         \
	X(INDIRECT, indirect, indirect)                                                                                    \
	X(NTH, nth, nth)                                                                                                   \
	X(SORT_COUNT_32, sort_count_32, sort)                                                                              \
	X(SORT_COUNT_64, sort_count_64, sort)

enum rql_primitive_kernel {
#define X(name, symbol, args) RQL_KERNEL_##name,
	RQL_PRIMITIVE_KERNELS(X)
#undef X
		RQL_KERNEL_COUNT
};
/* constants follow the workgroup's size, which is RQL_THREADS. */
rql_status rql_primitive_pipeline(struct rql_device *device, enum rql_primitive_kernel kernel,
                                  const uint32_t *constants, uint32_t count, const struct rql_pipeline **out,
                                  struct rql_error *err) RQL_MUST_CHECK;
/* Do `items` items of `width` bytes lie in the span, aligned? what: "keys of a sort". */
rql_status rql_span_check(const struct rql_span *span, uint64_t items, uint32_t width, const char *what,
                          struct rql_error *err) RQL_MUST_CHECK;

static inline uint64_t rql_span_address(const struct rql_span *span)
{
	return span->buffer ? span->buffer->address + span->offset : 0;
}
static inline struct rql_span rql_span_at(const struct rql_span *span, uint64_t more)
{
	return (struct rql_span){span->buffer, span->offset + more};
}
/* Parts of temporary memory begin at multiples of this. */
static inline uint64_t rql_temp_round(uint64_t bytes)
{
	return (bytes + 255) / 256 * 256;
}
static inline uint64_t rql_div_up(uint64_t a, uint64_t b)
{
	return a / b + (a % b != 0);
}

/* Tiles dealt out to at most RQL_TILE_GROUPS workgroups: the pass over the workgroups' sums is one workgroup's work, so
 * it must stay small beside the rest. Up to `alone` tiles one workgroup does all of it: the other passes are saved. */
#define RQL_TILE_GROUPS 16384u
struct rql_tiling {
	uint64_t tiles, tiles_per_group, groups;
};
static inline struct rql_tiling rql_tiling_of(uint64_t items, uint32_t tile, uint64_t alone)
{
	uint64_t tiles = rql_div_up(items, tile);
	uint64_t per_group = tiles <= alone ? (tiles ? tiles : 1) : rql_div_up(tiles, RQL_TILE_GROUPS);
	return (struct rql_tiling){tiles, per_group, rql_div_up(tiles, per_group)};
}

#endif

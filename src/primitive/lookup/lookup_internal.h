/* What the building of maps and the look-ups in them share. */
#ifndef RQL_LOOKUP_INTERNAL_H
#define RQL_LOOKUP_INTERNAL_H

#include "primitive/lookup/lookup.h"
#include "primitive/lookup/lookup_kernels.h"
#include "primitive/relation/relation_internal.h"

#define RQL_LOOKUP_KERNEL(symbol, args)                                                                                \
	{"primitive." #symbol, rql_spv_##symbol##_comp, sizeof(rql_spv_##symbol##_comp), sizeof(struct args)}

/* Probes, and keys of a direct map, come into as many partitions that what one touches of a map is about this. */
#define RQL_LOOKUP_PARTITION_BYTES (UINT64_C(9) << 20)
#define RQL_LOOKUP_PARTITION_BITS 8u /* at most: more cost more than they save */

rql_status rql_lookup_check_map(const struct rql_lookup_map *map, struct rql_error *err) RQL_MUST_CHECK;

/* Of a sorted map. */
static inline uint64_t rql_lookup_last_entry(const struct rql_lookup_map *map)
{
	return (map->high - map->low) >> map->shift;
}
/* Has it ranges and sums? */
static inline bool rql_lookup_ordered(const struct rql_lookup_map *map)
{
	return map->form == RQL_LOOKUP_SORTED || map->form == RQL_LOOKUP_BTREE;
}
/* Sorted keys and their rows lie in pairs. */
static inline bool rql_lookup_paired(const struct rql_lookup_map *map)
{
	return map->form == RQL_LOOKUP_SORTED && map->key_bits == 32 && !map->rows.buffer;
}
/* Where the first row lies. */
static inline struct rql_span rql_lookup_rows(const struct rql_lookup_map *map)
{
	return rql_lookup_paired(map) ? rql_span_at(&map->keys, 4) : map->rows;
}
struct rql_lookup_args rql_lookup_args_of(const struct rql_lookup_map *map);

/* A buffer of the map, for its device. */
static inline struct rql_device *rql_lookup_device(const struct rql_lookup_map *map)
{
	const struct rql_span *span = map->form == RQL_LOOKUP_SORTED  ? &map->starts
	                              : map->form == RQL_LOOKUP_BTREE ? &map->nodes
	                              : map->form == RQL_LOOKUP_KARY  ? &map->keys
	                                                              : &map->slots;
	return span->buffer->device;
}

/* A thread for each item. */
rql_status rql_lookup_record(struct rql_commands *c, const char *pass, struct rql_device *device,
                             const struct rql_kernel *kernel, const void *args, uint64_t items,
                             const struct rql_uses *uses, struct rql_error *err) RQL_MUST_CHECK;

/* The partitions that bring keys together by the memory of a map that they meet: 0: none pays. */
uint32_t rql_lookup_order_bits(const struct rql_lookup_map *map, uint64_t keys);
/* Sets how a key's partition is chosen, of 2^bits. */
void rql_lookup_order_by(const struct rql_lookup_map *map, struct rql_partition *partition);

/* gpu_lookup_tiles.c: probes in tiles, each in the order of the partitions of the map that its probes meet. */
struct rql_lookup_tiles {
	uint32_t bits;          /* of a partition of the map; 0: probes as they lie */
	uint32_t threads, rows; /* of a workgroup, and of a tile */
	uint64_t count;         /* tiles */
	uint64_t places;        /* of all tiles, with padding: keys, ends and answers have so many */
	struct rql_span runs, ranks;
};
struct rql_lookup_tiles rql_lookup_tiles_of(const struct rql_lookup_batch *lookup, uint32_t bits);
uint64_t rql_lookup_runs_bytes(const struct rql_lookup_tiles *tiles);
uint64_t rql_lookup_ranks_bytes(const struct rql_lookup_tiles *tiles);
/* points, ends: where they go; ends may be left out. */
rql_status rql_record_lookup_order(struct rql_commands *c, const struct rql_lookup_batch *lookup,
                                   const struct rql_lookup_tiles *tiles, const struct rql_span *points,
                                   const struct rql_span *ends, struct rql_error *err) RQL_MUST_CHECK;
rql_status rql_record_lookup_back(struct rql_commands *c, const struct rql_lookup_batch *lookup,
                                  const struct rql_lookup_tiles *tiles, uint32_t word_bits, const struct rql_span *in,
                                  const struct rql_span *out, struct rql_error *err) RQL_MUST_CHECK;

/* gpu_lookup_tree.c. lines: where each level begins, from the top. */
#define RQL_LOOKUP_LEVELS 12u /* of 2^32 keys with 9 children a node */
struct rql_lookup_tree {
	uint32_t levels;
	uint32_t lines[RQL_LOOKUP_LEVELS];
	uint64_t nodes[RQL_LOOKUP_LEVELS], step[RQL_LOOKUP_LEVELS]; /* of each level; keys below a child */
};
struct rql_lookup_tree rql_lookup_tree_of(const struct rql_lookup_map *map);

/* gpu_lookup_sort.c: keys and rows of an ordered map, and the directory of a sorted one. */
uint64_t rql_lookup_sort_temp_bytes(const struct rql_lookup_build *build);
rql_status rql_record_lookup_sort(struct rql_commands *c, const struct rql_lookup_build *build,
                                  struct rql_error *err) RQL_MUST_CHECK;

/* gpu_lookup_kary.c */
static inline uint32_t rql_lookup_node_bytes(const struct rql_lookup_map *map)
{
	return map->node_bytes ? map->node_bytes : RQL_LOOKUP_NODE_BYTES;
}
uint64_t rql_lookup_kary_temp_bytes(const struct rql_lookup_build *build);
rql_status rql_record_lookup_kary(struct rql_commands *c, const struct rql_lookup_build *build,
                                  struct rql_error *err) RQL_MUST_CHECK;

/* gpu_lookup_table.c: hashed and direct maps. */
uint64_t rql_lookup_table_temp_bytes(const struct rql_lookup_build *build);
rql_status rql_record_lookup_table(struct rql_commands *c, const struct rql_lookup_build *build,
                                   struct rql_error *err) RQL_MUST_CHECK;

#endif

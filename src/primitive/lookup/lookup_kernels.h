/* Arguments of the kernels of look-ups, for C and GLSL. Addresses are uint64_t; 0 is "not given". */
#ifndef RQL_LOOKUP_KERNELS_H
#define RQL_LOOKUP_KERNELS_H

#include "device/kernel_types.h"

/* Probes in tiles, each in its own order of partitions (lookup_order.comp). A partition's rows are a run of its tile,
 * which begins at an even place, so that neighbours are read and written as pairs. A run as a word of its tile's table,
 * runs[tile << bits | partition]: its first pair << 16 | its rows. */
#define RQL_LOOKUP_TILE_ITEMS 8u /* rows of a thread: of a tile that has them times its workgroup's size */
#define RQL_LOOKUP_PLACES(tile, bits) (((tile) + (1u << (bits)) + 3u) & ~3u) /* of a tile in order, with padding */
#ifdef RQL_GLSL
uint rql_pairs_of(uint rows)
{
	return (rows + 1u) / 2u;
}
#endif

/* lookup_order.comp: partitions as of rql_partition_args. */
struct rql_lookup_order_args {
	uint64_t keys_in, keys_out, ends_in, ends_out; /* ends: 0: none */
	uint64_t runs;
	uint64_t ranks; /* 16 bits a row, its place in the tile: rows j * threads + t and (j + 1) * threads + t for even j
	                 * share word j / 2 * threads + t of the tile's */
	uint64_t found, count, base;
	uint32_t flags, shift, bits, unused;
};
RQL_KERNEL_STRUCT_SIZE(rql_lookup_order_args, 88);

/* lookup_back.comp */
struct rql_lookup_back_args {
	uint64_t in_words, out_words; /* 32 bits each, or 64 */
	uint64_t runs, ranks;
	uint64_t found, count;
	uint32_t bits, unused;
};
RQL_KERNEL_STRUCT_SIZE(rql_lookup_back_args, 56);

/* lookup_directory.comp, lookup_probe.comp: entry(key) = (key - base) >> shift, within [0, last]. Trees: starts are the
 * lines of their levels, of which there are `last`. */
struct rql_lookup_args {
	uint64_t keys, rows, starts, sums; /* of the map */
	uint64_t lows, highs;              /* probes; highs 0: points */
	uint64_t found;                    /* uint64_t: how many probes; 0: all */
	uint64_t rows_out, counts_out, sums_out;
	uint64_t probes; /* a bound */
	uint64_t base;
	uint32_t count; /* keys of the map */
	uint32_t shift, last;
	uint32_t stride; /* log2 of the words from one key, or row, to the next */
	uint64_t runs;   /* of probes in tiles */
	uint32_t run_bits;
	float slope; /* of interpolation: places a key's distance, on average */
};
RQL_KERNEL_STRUCT_SIZE(rql_lookup_args, 128);

/* lookup_sort.comp: a workgroup for each of 2^bits partitions of keys by ranges. It has 2^entries_log2 entries of the
 * directory, which `base`, `shift` and `last` describe as above. keys_in: of 32 bits with the row above each. */
#define RQL_LOOKUP_SORT_HELD 5u     /* rows of a thread at most */
#define RQL_LOOKUP_SORT_ENTRIES 12u /* log2, at most */
#define RQL_LOOKUP_SORT_WORDS(entries_log2) ((1u << (entries_log2)) / 2u + 1u)
struct rql_lookup_sort_args {
	uint64_t keys_in, rows_in, starts_in;
	uint64_t keys, rows, starts; /* of the map; starts: 0: it has no directory */
	uint64_t base;
	uint32_t count, shift, last, stride; /* as above */
	uint32_t bits, entries_log2;
};
RQL_KERNEL_STRUCT_SIZE(rql_lookup_sort_args, 80);

/* lookup_sort_choose.comp. groups_out: uint32_t[RQL_LOOKUP_CHOICES][3], of indirect dispatches. */
#define RQL_LOOKUP_CHOICE_RANGES 0u
#define RQL_LOOKUP_CHOICE_SORT 1u
#define RQL_LOOKUP_CHOICE_DIRECTORY 2u
#define RQL_LOOKUP_CHOICES 3u
struct rql_lookup_sort_choose_args {
	uint64_t starts, groups_out; /* starts: uint32_t[2^bits + 1] */
	uint32_t bits, slots;        /* slots: rows that fit a workgroup */
	uint32_t sort_groups, directory_groups;
};
RQL_KERNEL_STRUCT_SIZE(rql_lookup_sort_choose_args, 32);

/* lookup_kary.comp takes rql_lookup_args, too: keys and rows in the order of the tree. lookup_kary_build.comp puts
 * them there: `upper` nodes are above the lowest level, which has room for `lowest`. */
struct rql_lookup_kary_args {
	uint64_t keys, rows; /* ascending */
	uint64_t keys_out, rows_out;
	uint64_t places; /* keys in whole nodes */
	uint64_t upper, lowest;
	uint32_t count, node_keys;
};
RQL_KERNEL_STRUCT_SIZE(rql_lookup_kary_args, 64);

/* lookup_points.comp: points in a hashed or direct map. Hashed: the partition is the top part_bits bits of the hash, its group
 * of slots in it the next bits' share of its groups. Slots of 32-bit keys: row << 32 | key; of 64-bit keys: the
 * key, then the row; direct: a row. Row RQL_LOOKUP_EMPTY: nobody's. The key of all ones marks slots that are not claimed
 * yet, so it has a group of its own behind all partitions, in whose first slot it is. */
#define RQL_LOOKUP_EMPTY 0xffffffffu
#define RQL_LOOKUP_GROUP_BYTES 32u /* a GPU's least read: slots that are read at once, each of key_bits / 4 bytes */
#define RQL_LOOKUP_GROUP(key_bits) (4u * RQL_LOOKUP_GROUP_BYTES / (key_bits))
#define RQL_LOOKUP_POINT_ITEMS 2u /* probes of a thread */
struct rql_lookup_points_args {
	uint64_t slots, counts; /* of the map */
	uint64_t points, found; /* probes; found: uint64_t, how many; 0: all */
	uint64_t rows_out, counts_out;
	uint64_t probes; /* a bound */
	uint64_t low, high;            /* direct */
	uint32_t part_bits, part_slots; /* hashed */
	uint64_t runs;                  /* as above */
	uint32_t run_bits, unused;
};
RQL_KERNEL_STRUCT_SIZE(rql_lookup_points_args, 96);

/* lookup_hash_build.comp: rows lie together by partitions. A workgroup makes one of the table, but of one with more rows
 * than two pieces it writes empty slots; in the second dispatch (merge) workgroups take pieces of those, and merge. */
/* lookup_direct_build.comp: the same arguments without partitions. */
struct rql_lookup_table_args {
	uint64_t keys, rows;    /* rows: uint32_t each; 0: their numbers */
	uint64_t starts;        /* uint32_t[2^part_bits + 1]; 0: one partition, all rows */
	uint64_t slots, counts; /* of the map; counts 0: not kept */
	uint64_t failed;        /* uint64_t */
	uint64_t low, high;
	uint32_t count, part_bits, part_slots;
	uint32_t piece; /* rows */
	uint32_t merge, stride; /* stride: log2 of the words from one key, or row, to the next */
};
RQL_KERNEL_STRUCT_SIZE(rql_lookup_table_args, 88);

/* lookup_tree.comp: entry e of a level is the first key below its child e + 1, which has `step` keys, as each has; or
 * all ones, where there is no such child. */
struct rql_lookup_tree_args {
	uint64_t keys, out_items;
	uint64_t entries, step;
	uint32_t count, unused; /* keys */
};
RQL_KERNEL_STRUCT_SIZE(rql_lookup_tree_args, 40);

/* lookup_bits.comp: as above. starts: of hashed and direct maps where each key's rows begin in `rows`; 0: each has one.
 * A tile is as many probes as a workgroup has threads; `slices` workgroups set the bits of one. */
struct rql_lookup_bits_args {
	uint64_t keys, rows, starts, slots; /* of the map */
	uint64_t lows, highs;               /* probes; highs 0: points */
	uint64_t bits_out;
	uint64_t probes;
	uint64_t base, high;
	uint32_t count; /* keys of the map */
	uint32_t shift, last;
	uint32_t part_bits, part_slots;
	uint32_t slices;
	uint32_t stride; /* as above */
	uint32_t first_row; /* of lists: added to the rows' numbers */
};
RQL_KERNEL_STRUCT_SIZE(rql_lookup_bits_args, 112);

/* The same with LISTED: a workgroup for each map, whose arguments lie in memory. There bits_out is its list of rows, and
 * slices the list's number. */
struct rql_lookup_lists_args {
	uint64_t maps;   /* rql_lookup_bits_args each */
	uint64_t counts; /* uint32_t each: rows of a list, which may be more than there is room for */
	uint32_t map_count, room;
};
RQL_KERNEL_STRUCT_SIZE(rql_lookup_lists_args, 24);

/* lookup_values.comp: values in the order of `rows`, as words of 64 bits. */
#define RQL_LOOKUP_WIDE 1u
#define RQL_LOOKUP_SIGNED 2u
struct rql_lookup_values_args {
	uint64_t rows, values, out_items;
	uint32_t count, flags;
	uint32_t stride, unused; /* stride: of rows, as above */
};
RQL_KERNEL_STRUCT_SIZE(rql_lookup_values_args, 40);

#endif

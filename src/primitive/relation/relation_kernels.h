/* Arguments of the kernels of partitions, joins and group-bys over unindexed columns, for C and GLSL. Addresses are
 * uint64_t; 0 is "not given". Row numbers and counts of rows are below 2^32. */
#ifndef RQL_RELATION_KERNELS_H
#define RQL_RELATION_KERNELS_H

#include "device/kernel_types.h"

/* How kernels see a column: RQL_COLUMN_WORDS words in a table in device memory, `from`, `to`, flags. */
#define RQL_COLUMN_WORDS 3u
#define RQL_COLUMN_WIDE 1u   /* 64 bits */
#define RQL_COLUMN_NUMBER 2u /* a row number: of a row that is not there it is UINT32_MAX, other columns have 0 */
#define RQL_COLUMN_PAIRED 1024u /* values of 32 bits lie 8 bytes apart */
#define RQL_COLUMN_MARK 4u   /* of a join: what IN says of the row */

#define RQL_JOIN_HELD_MOST 6u /* rows of a join's table that one thread may put there */
#define RQL_JOIN_COLUMNS 8u /* of a side: RQL_RELATION_COLUMNS */

/* words_write.comp: writes words to an address: tables of columns, which are too long for push constants. */
#define RQL_POKE_WORDS 14u
struct rql_poke_args {
	uint64_t to;
	uint32_t count, unused;
	uint64_t words[RQL_POKE_WORDS];
};
RQL_KERNEL_STRUCT_SIZE(rql_poke_args, 128);

/* exchange.comp: moves of one way and then of the other, RQL_MOVE_WORDS words each: from, to, where its rows are counted
 * (0: `rows` are all), rows at most, bytes of a row. A chunk is what a workgroup moves at a time. */
#define RQL_MOVE_WORDS 5u
#define RQL_EXCHANGE_THREADS 256u
#define RQL_EXCHANGE_VECTORS 4u /* of 16 bytes, that a thread has under way */
#define RQL_EXCHANGE_CHUNK (RQL_EXCHANGE_THREADS * RQL_EXCHANGE_VECTORS * 16u)
struct rql_exchange_args {
	uint64_t moves;
	uint32_t count[2];  /* moves of each way */
	uint64_t chunks[2]; /* of each way, all moves */
};
RQL_KERNEL_STRUCT_SIZE(rql_exchange_args, 32);

/* Which rows take part, and how keys are hashed. */
#define RQL_ROWS_NULL_KEY 1u /* the key null_key is no key */
#define RQL_ROWS_RAW 2u      /* keys are random bits: they are their own hash */
#define RQL_ROWS_MATCHED 8u  /* of a join: which build rows have a match is noted */
#define RQL_ROWS_SINGLE 16u  /* of a join: whether a probe row has several is noted */
#define RQL_ROWS_PAIRED 64u  /* keys of 32 bits lie 8 bytes apart, each before a value of the first column */
#define RQL_ROWS_BATCH 32u   /* of a group-by: groups of all partitions meet in the table */
#define RQL_ROWS_VECTORS 128u /* of a group-by: keys and values of 32 bits that lie from multiples of 16 bytes on */

/* What rows that scatter have: columns of 32 bits and of 64 beside the keys, and pairs, as an earlier pass left them. */
#define RQL_PARTITION_NARROW 1u
#define RQL_PARTITION_WIDE 2u
#define RQL_PARTITION_PAIRS_IN 4u
#define RQL_PARTITION_RANGES 8u /* by ranges of keys */
#define RQL_PARTITION_ITEMS 8u /* rows of a thread: of a tile that has them times its workgroup's size */
/* partition_count.comp, partition_count_both.comp, partition_scatter.comp: by (hash >> shift) & (2^bits - 1); by a range
 * of keys min((key - base) >> (shift & 255), 2^all - 1), and 0 below base, where all are this pass's bits, those of the passes
 * behind it (shift >> 8 & 255), which are cut off, and those of the passes before (shift >> 16). */
struct rql_partition_args {
	uint64_t keys_in, keys_out, columns;
	uint64_t counts;  /* uint32_t[parents << bits]: rows; of those that scatter: places that are taken, 0 at first */
	uint64_t starts;  /* uint32_t[(parents << bits) + 1], 1 << starts_log2 words apart */
	uint64_t parents; /* uint32_t[parent_count + 1], 1 << parents_log2 apart: rows of each lie together; 0: one, all rows */
	uint64_t found, valid;   /* without parents: uint64_t, a bitmap */
	uint64_t null_key, count;
	uint64_t base, undo; /* undo: RQL_UNDO_WORDS of each tile, to take its rows back; 0: none */
	uint32_t flags, shift, bits;
	uint32_t parent_count; /* of partition_count_both.comp: workgroups to a chunk */
	uint32_t column_count;
	uint32_t chunk; /* rows of a workgroup */
	uint32_t starts_log2, parents_log2;
};
RQL_KERNEL_STRUCT_SIZE(rql_partition_args, 128);

/* What a tile of a partition leaves for its way back: of each partition, and of all behind them, where it begins in the
 * tile and what is added to a place in the tile to get one in the partitions (modulo 2^32); then each row's place in
 * the tile, 16 bits: rows j * threads + t and (j + 1) * threads + t for even j share word j / 2 * threads + t. */
#define RQL_UNDO_WORDS(bits, tile) (((1u << (bits)) + 1u) * 2u + (tile) / 2u)

/* unpartition.comp */
struct rql_unpartition_args {
	uint64_t in_words, out_words; /* 32 bits each, or 64 */
	uint64_t undo;
	uint64_t found, count;
	uint32_t bits, unused;
};
RQL_KERNEL_STRUCT_SIZE(rql_unpartition_args, 48);

/* A condition of a join: 16 bits, the first one's are the lowest; 0: there are no more. */
#define RQL_CONDITION_BITS 16u
#define RQL_CONDITION_BUILD_SHIFT 4u /* the probe side's column is in the bits before */
#define RQL_CONDITION_TEST_SHIFT 8u  /* enum rql_join_test */
#define RQL_CONDITION_REAL 0x800u
#define RQL_CONDITION_TRUE 15u /* the build side's column: none */

/* join.comp. PAIRED: the side's keys lie as RQL_ROWS_PAIRED says. */
#define RQL_JOIN_KIND 63u
#define RQL_JOIN_BUILD_PAIRED 64u
#define RQL_JOIN_PROBE_PAIRED 128u
struct rql_join_args {
	uint64_t build_keys, probe_keys, keys_out;
	uint64_t columns;                    /* those of the build side, then those of the probe side */
	uint64_t build_starts, probe_starts; /* uint32_t[partitions + 1]; 0: one partition, all rows */
	uint64_t found, capacity;            /* found: rows of the output; SINGLE: and whether a probe row has several */
	uint64_t build_valid, probe_valid;   /* bitmaps; only without starts. MATCHED: build_valid is what is noted */
	uint64_t build_found, probe_found;   /* without starts; build_found also for IN */
	uint64_t null_key;
	uint32_t build_count, probe_count; /* bounds of these */
	uint32_t partitions_piece;         /* log2 of the partitions << 8 | log2 of a piece's rows */
	/* kind | RQL_JOIN_..._PAIRED | build columns << 8 | probe columns << 16 | RQL_ROWS_... << 24 */
	uint32_t flags;
	uint64_t conditions;
};
RQL_KERNEL_STRUCT_SIZE(rql_join_args, 128);

/* join_sample.comp. groups_out: uint32_t[2][3], workgroups of an indirect dispatch: of join.comp, and of that by MANY. */
struct rql_join_sample_args {
	uint64_t keys, starts, build_found, groups_out; /* as rql_join_args has them */
	uint32_t build_count, partitions_log2, groups, flags;
};
RQL_KERNEL_STRUCT_SIZE(rql_join_sample_args, 48);

/* join_order.comp: rows of a build side, by partitions, in order of buckets (join_order.glsl). */
#define RQL_JOIN_ORDER_ROWS 4u    /* of a table, for each thread, at most */
#define RQL_JOIN_ORDER_TABLES 32u /* that are not their partition's first: a workgroup looks for so many */
struct rql_join_order_args {
	uint64_t keys, columns, starts; /* starts: uint32_t[partitions + 1] */
	uint64_t heads;                 /* uint32_t a bucket */
	uint32_t partitions_log2, column_count, flags, unused;
};
RQL_KERNEL_STRUCT_SIZE(rql_join_order_args, 48);

/* join_ordered.comp: as rql_join_args has them. */
struct rql_join_ordered_args {
	uint64_t build_keys, probe_keys, keys_out, columns, build_starts, heads, found, capacity;
	uint64_t probe_rows;        /* uint32_t: how many they are */
	uint32_t partitions_log2, flags; /* partitions: of the build side */
};
RQL_KERNEL_STRUCT_SIZE(rql_join_ordered_args, 80);

/* join_rest.comp: rows of one side as rows without a match: those without a bit in `valid`, or with the key null_key. */
#define RQL_REST_OF_BUILD 1u /* else of the probe side */
#define RQL_REST_BY_KEY 2u
#define RQL_REST_COUNT_32 4u /* side_found is a uint32_t */
#define RQL_REST_PAIRED 8u   /* keys lie as RQL_ROWS_PAIRED says */
struct rql_join_rest_args {
	uint64_t keys, keys_out, columns, found, capacity, valid, null_key, side_found, count;
	uint32_t build_columns, probe_columns;
	uint32_t flags, unused;
};
RQL_KERNEL_STRUCT_SIZE(rql_join_rest_args, 88);

/* Value columns of a group-by: RQL_GROUP_COLUMN_WORDS words each: the values' address, flags (RQL_COLUMN_WIDE and
 * below), addresses of the output's sums, minima and maxima. */
#define RQL_GROUP_COLUMN_WORDS 5u
#define RQL_GROUP_SIGNED 4u
#define RQL_GROUP_SUM 8u
#define RQL_GROUP_SUM_WIDE 16u /* two words */
#define RQL_GROUP_MIN 32u
#define RQL_GROUP_MAX 64u
#define RQL_GROUP_FIELD 128u   /* 0 is NULL, which no aggregate sees */
#define RQL_GROUP_REAL 256u    /* a FIELD of 64 bits: the complement of a double's bits. Sums, or extremes as ordered keys */
#define RQL_GROUP_PRESENT 512u /* 1 of what is not 0 */
#define RQL_GROUP_HELD_MOST 5u /* slots of a workgroup's table that one thread may have */
/* The table that pieces merge in: `slots` + 1 keys (the last is of the key that marks an empty one), then words of 64
 * bits, each an array over them: rows, and for each column sum low, sum high, least, greatest. */
#define RQL_MERGE_WORDS 4u
#define RQL_GROUP_SMALL_ROWS 5u /* of a thread of group_by_small.comp, at most */
/* group_by.comp, group_by_small.comp, group_by_begin.comp, group_by_merge.comp. control: uint64_t[2]: groups, rows that
 * found no place. */
struct rql_group_by_args {
	uint64_t keys, columns, starts, found;
	uint64_t control, keys_out, counts_out, capacity;
	uint64_t table_keys, table_words;
	/* What group_by_small.comp leaves. work: uint64_t, at first the pieces that large partitions may be cut into; and 1 of
	 * each partition, large, uint32_t. 0: it has not run. Then `large` has what group_by_begin.comp chose, uint32_t. */
	uint64_t work, large;
	uint32_t count, column_count;
	uint32_t slots; /* of the table, a power of two */
	uint32_t partitions, piece_log2;
	uint32_t copies; /* of a workgroup's accumulators, a power of two */
	uint32_t flags, unused;
};
RQL_KERNEL_STRUCT_SIZE(rql_group_by_args, 128);

#endif

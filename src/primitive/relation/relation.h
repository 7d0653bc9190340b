/* Rows of unindexed columns on a GPU: partitions by hash, joins, group-bys over any number of groups.
 *
 * As in primitive.h each has one description struct, a function that says how much temporary memory it takes, and one
 * that records it. The plan depends on the device, which is that of the keys' buffer: fill everything but `temp` before
 * asking for its size. A count is a bound, and the true number may lie on the device (`found`, uint64_t), made by an
 * earlier pass. At most RQL_RELATION_ROWS rows a side. The order of output rows is not determined.
 *
 * Outputs have a capacity in rows. Nothing is written beyond it, but the number of rows goes on counting, so that a run
 * with room for that many is the last. */
#ifndef RQL_PRIMITIVE_RELATION_H
#define RQL_PRIMITIVE_RELATION_H

#include "primitive/primitive.h"

#define RQL_RELATION_ROWS UINT64_C(0xffff0000)
#define RQL_RELATION_COLUMNS 8u /* carried, of a side */
#define RQL_GROUP_BY_COLUMNS 32u /* aggregated, where no row is moved (primitive/raster); else as many as are carried */

/* For measuring variants; 0: what is best by the device and the sizes. */
struct rql_relation_tuning {
	uint32_t bits;              /* log2 of the partitions plus 1: 1 is one partition, no pass */
	uint32_t partition_threads; /* of a workgroup: 256, 512, 1024 */
	uint32_t threads;           /* of a join's or group-by's workgroup */
	uint32_t slots, buckets;    /* of its table in shared memory; buckets: joins */
	uint32_t piece_log2;        /* rows of a piece that a large partition is cut into */
	uint32_t many;              /* of a join's build side: 1: its keys come once or a few times, 2: often; 0: a sample says it */
	uint32_t own_places;        /* of a join: 1: workgroups take places of the output, 2: subgroups */
	bool special;               /* a kernel for this shape of request, and steps of few groups, whatever the number of rows */
};

/* A column that goes with the keys. in left out: the row's number, 32 bits. */
struct rql_relation_column {
	uint32_t bits; /* 32 or 64 */
	struct rql_span in, out;
};

/* Rows in order of partitions: those of partition p are [starts[p], starts[p + 1]), in no particular order (not
 * stable). p is the top `bits` bits of a hash of the key, in one or two passes. Floor of a pass: reads the keys twice,
 * the columns once, and writes all. Rows whose key is NULL are left out. */
#define RQL_PARTITION_PASS_BITS 10u
struct rql_partition {
	uint32_t key_bits; /* 32 or 64 */
	uint32_t bits;     /* 1 to 2 * RQL_PARTITION_PASS_BITS */
	bool random_keys;  /* keys are random bits already: they are not hashed (of 64 bits the halves are combined) */
	bool by_range;     /* p is (key - base) >> shift, 0 below base, the last one above */
	uint64_t base;
	uint32_t shift;
	/* keys_out has a word of 64 bits a row: the key, of 32 bits, and above it the first column's value, of 32, which has no
	 * `out`: runs half as many and twice as long. No way back, and of 2^31 rows at most. */
	bool paired;
	bool has_null_key; /* rows with the key null_key are left out */
	uint64_t null_key;
	uint64_t count;
	struct rql_span found;          /* may be left out: then count rows */
	struct rql_span keys, keys_out; /* not the same memory */
	struct rql_span valid;          /* a bitmap as RQL_COMPACT_BITS; may be left out: then all rows take part */
	uint32_t column_count;
	struct rql_relation_column columns[RQL_RELATION_COLUMNS];
	struct rql_span starts; /* uint32_t[2^bits + 1] */
	struct rql_span undo;   /* rql_partition_undo_bytes, for the way back; may be left out. In one pass only */
	struct rql_relation_tuning tuning;
	struct rql_span temp;
};
uint64_t rql_partition_temp_bytes(const struct rql_partition *partition);
uint64_t rql_partition_undo_bytes(const struct rql_partition *partition);
rql_status rql_record_partition(struct rql_commands *c, const struct rql_partition *partition,
                                struct rql_error *err) RQL_MUST_CHECK;
/* The way back: words in the order of the partitions, one a row, go to the rows' places before. A tile's words come in
 * runs, one of each partition, and are ordered in shared memory. Rows that were left out get no word.
 * Floor over n rows and words of b bytes: n * (2 * b + 2). */
rql_status rql_record_unpartition(struct rql_commands *c, const struct rql_partition *partition, uint32_t word_bits,
                                  const struct rql_span *in, const struct rql_span *out,
                                  struct rql_error *err) RQL_MUST_CHECK;

/* ---- join of two sides by equal keys ---- */
enum rql_join_kind {
	RQL_JOIN_INNER,
	RQL_JOIN_LEFT, /* also each probe row without a match, once */
	RQL_JOIN_SEMI, /* probe rows that have a match, once; no build columns */
	RQL_JOIN_ANTI, /* probe rows that have none */
	/* The same by SQL's three-valued IN: TRUE of a row with a match; else NULL, if its own key or a build key is NULL and the
	 * build side is not empty; else FALSE. No build columns, no conditions, no bitmaps. */
	RQL_JOIN_NOT_IN, /* probe rows of which it is FALSE */
	RQL_JOIN_MARK,   /* every probe row, once, and what it is: `mark` */
	/* LEFT, and each build row without a match, once: the probe side's columns are then as the build side's of a probe row
	 * without one. No bitmaps. */
	RQL_JOIN_FULL,
};
/* Has its output rows of both sides? */
static inline bool rql_join_gives_pairs(enum rql_join_kind kind)
{
	return kind == RQL_JOIN_INNER || kind == RQL_JOIN_LEFT || kind == RQL_JOIN_FULL;
}
/* A pair of rows with equal keys is a match only where all of them hold. Values are numbers without a sign; 0 is NULL, of
 * which nothing holds. REAL: the complement of a double's bits, 64 of them; -0 is 0, and NaN is one, the greatest. */
#define RQL_JOIN_CONDITIONS 4u
enum rql_join_test { RQL_JOIN_EQ = 1, RQL_JOIN_NE, RQL_JOIN_LT, RQL_JOIN_LE, RQL_JOIN_GT, RQL_JOIN_GE };
#define RQL_JOIN_TRUE UINT32_MAX /* in place of the build side's column: the number 2, TRUE as a BOOLEAN's field */
struct rql_join_condition { /* probe <test> build */
	enum rql_join_test test;
	uint32_t probe, build; /* columns of the sides; they need no `out` */
	bool real;
};
/* Columns: a payload goes from `in` to `out`; in left out, 32 bits: the row's number in its side, which gives pairs.
 * Of a probe row without a match the build side's numbers are UINT32_MAX and its payloads 0. Without `out` a column is
 * one of conditions only. */
struct rql_join_side {
	uint64_t count;
	struct rql_span found, keys, valid; /* as in rql_partition */
	uint32_t column_count;
	struct rql_relation_column columns[RQL_RELATION_COLUMNS];
};
/* Keys may occur any number of times on both sides. A key that is NULL matches nothing; for NULL to equal NULL let it be
 * a key like any other (no null_key, no bitmap). The build side should be the smaller one. */
struct rql_join {
	enum rql_join_kind kind;
	uint32_t key_bits;
	bool random_keys, has_null_key;
	bool single; /* LEFT: of a probe row with more than one match is told: rows[1] is then not 0 */
	uint64_t null_key;
	struct rql_join_side build, probe;
	uint64_t capacity;
	uint32_t condition_count;
	struct rql_join_condition conditions[RQL_JOIN_CONDITIONS];
	struct rql_span mark;     /* MARK: uint32_t a row: 0 NULL, 1 FALSE, 2 TRUE */
	struct rql_span keys_out; /* the probe rows' keys; may be left out */
	struct rql_span rows;     /* uint64_t: rows of the output, also those beyond the capacity; single: two of them */
	struct rql_relation_tuning tuning;
	struct rql_span temp;
	struct rql_span built; /* rql_join_built_bytes: a build side that is kept; may be left out */
	bool ordered;          /* with `built`: it has the tables, too, where the plan can use them */
};
uint64_t rql_join_temp_bytes(const struct rql_join *join);
rql_status rql_record_join(struct rql_commands *c, const struct rql_join *join, struct rql_error *err) RQL_MUST_CHECK;
/* One build side for many probe sides: with `built` given, rql_record_join_built puts it there, and rql_record_join takes
 * it as it lies; but for the probe side and the output the description stays the same, and the build side's own columns
 * stay where they are. Of a FULL join the build rows without a match come at the end, after all probe sides, by
 * rql_record_join_unmatched, as an output of its own.
 *
 * `ordered`: the build side's rows are put in order of a table's buckets, once, and each probe side is looked up there. Not
 * of FULL joins, nor with conditions, nor of a build side that one table holds. Of b build rows of B bytes, for each probe side of
 * p rows:
 * - tables made anew in shared memory read b * B twice, do 2 * b atomics, and clear and sum up a head a bucket;
 * - finished tables, copied to shared memory, would read b * (B + 4), however small p is;
 * - in order, p rows read two sectors of 32 bytes each, and take one pass of partitions where the others need two.
 * It costs 4 to 8 bytes more a build row, and reads and writes the side once. */
uint64_t rql_join_built_bytes(const struct rql_join *join);
bool rql_join_is_ordered(const struct rql_join *join);
rql_status rql_record_join_built(struct rql_commands *c, const struct rql_join *join,
                                 struct rql_error *err) RQL_MUST_CHECK;
rql_status rql_record_join_unmatched(struct rql_commands *c, const struct rql_join *join,
                                     struct rql_error *err) RQL_MUST_CHECK;
/* The two halves of rql_record_join, between which other work may be recorded that shall run beside the second. */
rql_status rql_record_join_partitions(struct rql_commands *c, const struct rql_join *join,
                                      struct rql_error *err) RQL_MUST_CHECK;
rql_status rql_record_join_matches(struct rql_commands *c, const struct rql_join *join,
                                   struct rql_error *err) RQL_MUST_CHECK;

/* ---- group-by ---- */
/* Aggregates of one column of integers; what is left out is not made. Each is one word of 64 bits a group (minima and
 * maxima in the column's type, extended), wide sums two, low first. Sums of 64 bits are modular. Columns may share their
 * values: these are moved once. */
enum rql_group_by_kind {
	RQL_GROUP_BY_INTEGERS,
	/* Fields of a form (column/form.h): unsigned, 0 is NULL and seen by no aggregate. Extremes of nothing are 0. */
	RQL_GROUP_BY_FIELDS,
	/* Such fields of reals, 64 bits. Sums are doubles' bits, extremes order-preserving keys (primitive.h), those of
	 * nothing UINT64_MAX and 0. Sums and extremes are asked for as columns of their own. The device has float64. */
	RQL_GROUP_BY_REAL_FIELDS,
	RQL_GROUP_BY_PRESENT, /* 1 of each field that is not 0: its sums count what is not NULL */
};
struct rql_group_by_column {
	enum rql_group_by_kind kind;
	uint32_t bits; /* 32 or 64 */
	bool is_signed, wide_sum;
	struct rql_span values, sum, min, max;
};
struct rql_group_by {
	uint32_t key_bits;
	bool random_keys;
	uint64_t count;
	struct rql_span found, keys; /* found: may be left out. Every key is one, NULL too if the caller gave it one */
	/* How many groups there may be. The answer does not depend on it, only whether it comes: see result. */
	uint64_t guess;
	uint64_t spill; /* groups that the table of what does not fit elsewhere holds; 0: chosen */
	/* Rows come in batches, `count` at most and `found` of each: their groups stay in that table, which `spill` makes large
	 * enough, until rql_record_group_by_end. */
	bool batches;
	uint32_t column_count;
	struct rql_group_by_column columns[RQL_GROUP_BY_COLUMNS];
	uint64_t capacity; /* groups */
	struct rql_span keys_out, counts; /* counts: uint64_t a group; may be left out */
	/* uint64_t[2]: groups, also those beyond the capacity; and rows or groups that found no place. Is the second not 0,
	 * the output is useless and the first a lower bound: rql_group_by_retry, then again. */
	struct rql_span result;
	struct rql_relation_tuning tuning;
	struct rql_span temp;
};
/* Sets guess and spill higher after a run that found no place for some rows. A few times always suffice. */
void rql_group_by_retry(struct rql_group_by *group, uint64_t groups);
uint64_t rql_group_by_temp_bytes(const struct rql_group_by *group);
rql_status rql_record_group_by(struct rql_commands *c, const struct rql_group_by *group,
                               struct rql_error *err) RQL_MUST_CHECK;
/* The two halves of rql_record_group_by, between which other work may be recorded that shall run beside the second. */
rql_status rql_record_group_by_partitions(struct rql_commands *c, const struct rql_group_by *group,
                                          struct rql_error *err) RQL_MUST_CHECK;
rql_status rql_record_group_by_groups(struct rql_commands *c, const struct rql_group_by *group,
                                      struct rql_error *err) RQL_MUST_CHECK;
/* Of batches: an empty table before them, and its groups as the output behind them. Between the two `temp` and `result` keep
 * what there is. Where rows lie may differ from batch to batch. */
rql_status rql_record_group_by_begin(struct rql_commands *c, const struct rql_group_by *group,
                                     struct rql_error *err) RQL_MUST_CHECK;
rql_status rql_record_group_by_end(struct rql_commands *c, const struct rql_group_by *group,
                                   struct rql_error *err) RQL_MUST_CHECK;

#endif

/* What partitions, joins and group-bys share. */
#ifndef RQL_RELATION_INTERNAL_H
#define RQL_RELATION_INTERNAL_H

#include "primitive/primitive_internal.h"
#include "primitive/relation/relation.h"
#include "primitive/relation/relation_kernels.h"

#define RQL_SHARED_MOST 49152u /* bytes of a workgroup: more is not used, so that several run side by side */

#define RQL_SHARED_WORDS 512u  /* of them for single words and the table of columns (join_write.glsl) */

#define RQL_RELATION_KERNELS(X)                                                                                        \
	X(WORDS_WRITE, words_write, poke)                                                                                  \
	X(PARTITION_COUNT_32, partition_count_32, partition)                                                               \
	X(PARTITION_COUNT_64, partition_count_64, partition)                                                               \
	X(PARTITION_COUNT_BOTH_32, partition_count_both_32, partition)                                                     \
	X(PARTITION_COUNT_BOTH_64, partition_count_both_64, partition)                                                     \
	X(PARTITION_SCATTER_32, partition_scatter_32, partition)                                                           \
	X(PARTITION_SCATTER_64, partition_scatter_64, partition)                                                           \
	X(PARTITION_SCATTER_PAIRS, partition_scatter_pairs, partition)                                                     \
	X(SORT_SCATTER_32_0, sort_scatter_32_0, sort)                                                                      \
	X(SORT_SCATTER_32_32, sort_scatter_32_32, sort)                                                                    \
	X(SORT_SCATTER_32_64, sort_scatter_32_64, sort)                                                                    \
	X(SORT_SCATTER_64_0, sort_scatter_64_0, sort)                                                                      \
	X(SORT_SCATTER_64_32, sort_scatter_64_32, sort)                                                                    \
	X(SORT_SCATTER_64_64, sort_scatter_64_64, sort)                                                                    \
	X(UNPARTITION_32, unpartition_32, unpartition)                                                                     \
	X(UNPARTITION_64, unpartition_64, unpartition)                                                                     \
	X(JOIN_32, join_32, join)                                                                                          \
	X(JOIN_64, join_64, join)                                                                                          \
	X(JOIN_MANY_32, join_many_32, join)                                                                                \
	X(JOIN_MANY_64, join_many_64, join)                                                                                \
	X(JOIN_SAMPLE_32, join_sample_32, join_sample)                                                                     \
	X(JOIN_SAMPLE_64, join_sample_64, join_sample)                                                                     \
	X(JOIN_TESTED_32, join_tested_32, join)                                                                            \
	X(JOIN_TESTED_64, join_tested_64, join)                                                                            \
	X(JOIN_ORDER_32, join_order_32, join_order)                                                                        \
	X(JOIN_ORDER_64, join_order_64, join_order)                                                                        \
	X(JOIN_ORDERED_32, join_ordered_32, join_ordered)                                                                  \
	X(JOIN_ORDERED_64, join_ordered_64, join_ordered)                                                                  \
	X(JOIN_REST_32, join_rest_32, join_rest)                                                                           \
	X(JOIN_REST_64, join_rest_64, join_rest)                                                                           \
	X(GROUP_BY_32_32, group_by_32_32, group_by)                                                                        \
	X(GROUP_BY_32_64, group_by_32_64, group_by)                                                                        \
	X(GROUP_BY_32_REAL, group_by_32_real, group_by)                                                                    \
	X(GROUP_BY_64_32, group_by_64_32, group_by)                                                                        \
	X(GROUP_BY_64_64, group_by_64_64, group_by)                                                                        \
	X(GROUP_BY_64_REAL, group_by_64_real, group_by)                                                                    \
	X(GROUP_BY_SMALL_32_32, group_by_small_32_32, group_by)                                                            \
	X(GROUP_BY_SMALL_32_64, group_by_small_32_64, group_by)                                                            \
	X(GROUP_BY_SMALL_32_REAL, group_by_small_32_real, group_by)                                                        \
	X(GROUP_BY_SMALL_64_32, group_by_small_64_32, group_by)                                                            \
	X(GROUP_BY_SMALL_64_64, group_by_small_64_64, group_by)                                                            \
	X(GROUP_BY_SMALL_64_REAL, group_by_small_64_real, group_by)                                                        \
	X(GROUP_BY_BEGIN_32, group_by_begin_32, group_by)                                                                  \
	X(GROUP_BY_BEGIN_64, group_by_begin_64, group_by)                                                                  \
	X(GROUP_BY_MERGE_32, group_by_merge_32, group_by)                                                                  \
	X(GROUP_BY_MERGE_64, group_by_merge_64, group_by)

enum rql_relation_kernel {
#define X(name, symbol, args) RQL_RELATION_##name,
	RQL_RELATION_KERNELS(X)
#undef X
		RQL_RELATION_KERNEL_COUNT
};
/* constants[0]: the workgroup's size. constants[1] is filled in: its subgroups. */
rql_status rql_relation_pipeline(struct rql_device *device, enum rql_relation_kernel kernel, uint32_t *constants,
                                 uint32_t count, const struct rql_pipeline **out, struct rql_error *err) RQL_MUST_CHECK;

/* Of a workgroup of this size, at most. */
static inline uint32_t rql_relation_subgroups(const struct rql_device *device, uint32_t threads)
{
	return (uint32_t)rql_div_up(threads, device->limits.subgroup_size);
}
/* Shared memory that a workgroup's tables may take: less than all by what prefix sums and single words take. */
static inline uint32_t rql_relation_shared(const struct rql_device *device, uint32_t threads)
{
	uint32_t bytes = device->limits.shared_bytes;
	return (bytes < RQL_SHARED_MOST ? bytes : RQL_SHARED_MOST) - rql_relation_subgroups(device, threads) * 4 -
	       RQL_SHARED_WORDS;
}
static inline uint32_t rql_relation_threads(const struct rql_device *device, uint32_t wanted)
{
	return wanted < device->limits.group_size ? wanted : device->limits.group_size;
}

/* The least power of two that is not below the value, by its exponent; at most 63. */
static inline uint32_t rql_log2_up(uint64_t value)
{
	uint32_t log2 = 0;
	while (log2 < 63 && UINT64_C(1) << log2 < value)
		log2++;
	return log2;
}

/* From so many rows on a kernel is made for the shape of the request: code for what others need costs instructions, which
 * bound these kernels. Fewer rows do not pay for one more kernel to compile. */
#define RQL_SPECIAL_ROWS (UINT64_C(1) << 22)
static inline bool rql_relation_is_special(uint64_t rows, const struct rql_relation_tuning *tuning)
{
	return tuning->special || rows >= RQL_SPECIAL_ROWS;
}

/* Most rows of pairs: kernels number their words by 32 bits. */
#define RQL_PAIRED_ROWS (UINT64_C(1) << 31)

/* Words that a kernel finds in device memory, recorded a few a dispatch. */
#define RQL_TABLE_WORDS 192u
struct rql_word_table {
	uint64_t words[RQL_TABLE_WORDS];
	uint32_t count;
};
rql_status rql_record_words(struct rql_commands *c, const struct rql_word_table *table, const struct rql_span *to,
                            struct rql_error *err) RQL_MUST_CHECK;
static inline void rql_table_column(struct rql_word_table *table, const struct rql_span *from, const struct rql_span *to,
                                    uint64_t flags)
{
	table->words[table->count++] = rql_span_address(from);
	table->words[table->count++] = rql_span_address(to);
	table->words[table->count++] = flags;
}

/* The buffers that a dispatch touches; each once. */
#define RQL_USES_MOST 48u
struct rql_uses {
	struct rql_use use[RQL_USES_MOST];
	uint32_t count;
};
void rql_uses_add(struct rql_uses *uses, const struct rql_span *span, enum rql_access access);

/* Memory from a temporary buffer on, piece by piece. */
static inline uint64_t rql_temp_take(uint64_t *at, uint64_t bytes)
{
	uint64_t first = *at;
	*at += rql_temp_round(bytes);
	return first;
}

rql_status rql_relation_check_columns(const struct rql_relation_column *columns, uint32_t count, uint64_t rows,
                                      uint64_t capacity, bool out, const char *what, struct rql_error *err) RQL_MUST_CHECK;

#endif

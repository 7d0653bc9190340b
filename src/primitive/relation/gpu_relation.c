/* Kernels of partitions, joins and group-bys, and what their recordings share. */
#include "primitive/relation/relation_internal.h"

#include "shaders/primitive/group_by_32_32.comp.h"
#include "shaders/primitive/group_by_32_64.comp.h"
#include "shaders/primitive/group_by_32_real.comp.h"
#include "shaders/primitive/group_by_64_32.comp.h"
#include "shaders/primitive/group_by_64_64.comp.h"
#include "shaders/primitive/group_by_64_real.comp.h"
#include "shaders/primitive/group_by_begin_32.comp.h"
#include "shaders/primitive/group_by_begin_64.comp.h"
#include "shaders/primitive/group_by_merge_32.comp.h"
#include "shaders/primitive/group_by_merge_64.comp.h"
#include "shaders/primitive/group_by_small_32_32.comp.h"
#include "shaders/primitive/group_by_small_32_64.comp.h"
#include "shaders/primitive/group_by_small_32_real.comp.h"
#include "shaders/primitive/group_by_small_64_32.comp.h"
#include "shaders/primitive/group_by_small_64_64.comp.h"
#include "shaders/primitive/group_by_small_64_real.comp.h"
#include "shaders/primitive/join_32.comp.h"
#include "shaders/primitive/join_64.comp.h"
#include "shaders/primitive/join_many_32.comp.h"
#include "shaders/primitive/join_many_64.comp.h"
#include "shaders/primitive/join_order_32.comp.h"
#include "shaders/primitive/join_order_64.comp.h"
#include "shaders/primitive/join_ordered_32.comp.h"
#include "shaders/primitive/join_ordered_64.comp.h"
#include "shaders/primitive/join_rest_32.comp.h"
#include "shaders/primitive/join_rest_64.comp.h"
#include "shaders/primitive/join_sample_32.comp.h"
#include "shaders/primitive/join_sample_64.comp.h"
#include "shaders/primitive/join_tested_32.comp.h"
#include "shaders/primitive/join_tested_64.comp.h"
#include "shaders/primitive/partition_count_32.comp.h"
#include "shaders/primitive/partition_count_64.comp.h"
#include "shaders/primitive/partition_count_both_32.comp.h"
#include "shaders/primitive/partition_count_both_64.comp.h"
#include "shaders/primitive/partition_scatter_32.comp.h"
#include "shaders/primitive/partition_scatter_64.comp.h"
#include "shaders/primitive/partition_scatter_pairs.comp.h"
#include "shaders/primitive/sort_scatter_32_0.comp.h"
#include "shaders/primitive/sort_scatter_32_32.comp.h"
#include "shaders/primitive/sort_scatter_32_64.comp.h"
#include "shaders/primitive/sort_scatter_64_0.comp.h"
#include "shaders/primitive/sort_scatter_64_32.comp.h"
#include "shaders/primitive/sort_scatter_64_64.comp.h"
#include "shaders/primitive/unpartition_32.comp.h"
#include "shaders/primitive/unpartition_64.comp.h"
#include "shaders/primitive/words_write.comp.h"

#define X(name, symbol, args)                                                                                          \
	[RQL_RELATION_##name] = {"primitive." #symbol, rql_spv_##symbol##_comp, sizeof(rql_spv_##symbol##_comp),           \
	                         sizeof(struct rql_##args##_args)},
static const struct rql_kernel kernels[RQL_RELATION_KERNEL_COUNT] = {RQL_RELATION_KERNELS(X)};
#undef X

/* join_write.glsl spells them out. */
_Static_assert(RQL_JOIN_EQ == 1 && RQL_JOIN_NE == 2 && RQL_JOIN_LE == 4 && RQL_JOIN_GE == 6,
               "join_write.glsl has the same");
_Static_assert(RQL_JOIN_INNER == 0 && RQL_JOIN_LEFT == 1 && RQL_JOIN_SEMI == 2 && RQL_JOIN_ANTI == 3 &&
                   RQL_JOIN_NOT_IN == 4 && RQL_JOIN_MARK == 5,
               "join_write.glsl has the same");

_Static_assert(RQL_RELATION_COLUMNS == RQL_JOIN_COLUMNS, "relation_kernels.h has the same");

rql_status rql_relation_pipeline(struct rql_device *device, enum rql_relation_kernel kernel, uint32_t *constants,
                                 uint32_t count, const struct rql_pipeline **out, struct rql_error *err)
{
	if (count > 1)
		constants[1] = rql_relation_subgroups(device, constants[0]);
	return rql_pipeline_get(device, &kernels[kernel], constants, count, out, err);
}

rql_status rql_record_words(struct rql_commands *c, const struct rql_word_table *table, const struct rql_span *to,
                            struct rql_error *err)
{
	uint32_t constants[1] = {32};
	const struct rql_pipeline *pipeline;
	struct rql_use use = {to->buffer, RQL_WRITE};
	if (!table->count)
		return RQL_OK;
	RQL_TRY(rql_relation_pipeline(to->buffer->device, RQL_RELATION_WORDS_WRITE, constants, 1, &pipeline, err));
	for (uint32_t at = 0; at < table->count; at += RQL_POKE_WORDS) {
		uint32_t left = table->count - at;
		struct rql_poke_args args = {
			.to = rql_span_address(to) + at * 8,
			.count = left < RQL_POKE_WORDS ? left : RQL_POKE_WORDS,
		};
		memcpy(args.words, table->words + at, args.count * sizeof(args.words[0]));
		rql_record_dispatch(c, "relation.words", pipeline, &args, 1, &use, 1);
	}
	return RQL_OK;
}

void rql_uses_add(struct rql_uses *uses, const struct rql_span *span, enum rql_access access)
{
	if (!span->buffer)
		return;
	for (uint32_t i = 0; i < uses->count; i++) {
		if (uses->use[i].buffer == span->buffer) {
			uses->use[i].access |= access;
			return;
		}
	}
	uses->use[uses->count++] = (struct rql_use){span->buffer, access};
}

rql_status rql_relation_check_columns(const struct rql_relation_column *columns, uint32_t count, uint64_t rows,
                                      uint64_t capacity, bool out, const char *what, struct rql_error *err)
{
	if (count > RQL_RELATION_COLUMNS)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "%s has %u columns: at most %u go with the keys", what, count,
		                     RQL_RELATION_COLUMNS);
	for (uint32_t i = 0; i < count; i++) {
		const struct rql_relation_column *column = &columns[i];
		if ((column->bits != 32 && column->bits != 64) || (!column->in.buffer && column->bits != 32))
			return rql_error_set(err, RQL_ERROR_INTERNAL, "column %u of %s has %u bits: 32 or 64, row numbers 32", i, what,
			                     column->bits);
		if (column->in.buffer)
			RQL_TRY(rql_span_check(&column->in, rows, column->bits / 8, "values of a column that goes with keys", err));
		if (out || column->out.buffer)
			RQL_TRY(rql_span_check(&column->out, capacity, column->bits / 8, "output of a column that goes with keys",
			                       err));
	}
	return RQL_OK;
}

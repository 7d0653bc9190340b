/* A join of relation.h by drawing: the pairs of its rows, then each column of the output by them. */
#include "primitive/raster/raster.h"

#include "primitive/primitive_internal.h"
#include "primitive/raster/raster_kernels.h"
#include "primitive/relation/relation_internal.h"
#include "shaders/primitive/raster_gather.comp.h"

static const struct rql_kernel gather_kernel = {"primitive.raster_gather", rql_spv_raster_gather_comp,
                                                sizeof(rql_spv_raster_gather_comp), sizeof(struct rql_raster_gather_args)};

/* Why it is none for this pipeline; NULL: it is one. */
static const char *refusal(const struct rql_join *join)
{
	if ((unsigned)join->kind > RQL_JOIN_ANTI && join->kind != RQL_JOIN_FULL)
		return "an IN that may be NULL is not drawn";
	if (join->build.valid.buffer || join->probe.valid.buffer || join->keys_out.buffer)
		return "a join of rows that a bitmap chooses, or that gives its keys, is not drawn";
	return NULL;
}

_Static_assert(RQL_JOIN_CONDITIONS < RQL_RASTER_COMPARISONS, "beside a key's own comparison");

static void lay_condition(const struct rql_join *join, const struct rql_join_condition *from,
                          struct rql_raster_join *pairs)
{
	const struct rql_relation_column *probe = &join->probe.columns[from->probe];
	struct rql_raster_comparison *to = &pairs->comparisons[pairs->comparison_count++];
	*to = (struct rql_raster_comparison){
		.test = from->test, .real = from->real, .bits = probe->bits, .probe = {.fields = probe->in}};
	if (from->build != RQL_JOIN_TRUE)
		to->build.fields = join->build.columns[from->build].in;
}

void rql_raster_relation_lay(struct rql_raster_relation *relation, const struct rql_join *join)
{
	relation->join = *join;
	relation->pairs = (struct rql_raster_join){.kind = join->kind,
	                                           .single = join->single,
	                                           .key_bits = join->key_bits,
	                                           .has_null_key = join->has_null_key,
	                                           .null_key = join->null_key,
	                                           .build = {.count = join->build.count, .found = join->build.found, .keys = join->build.keys},
	                                           .probe = {.count = join->probe.count, .found = join->probe.found, .keys = join->probe.keys},
	                                           .capacity = join->capacity,
	                                           .rows = join->rows};
	rql_raster_join_size(&relation->pairs);
	for (uint32_t i = 0; i < join->condition_count; i++)
		lay_condition(join, &join->conditions[i], &relation->pairs);
}

static uint64_t list_bytes(const struct rql_join *join)
{
	return rql_temp_round(join->capacity * 4);
}

uint64_t rql_raster_relation_temp_bytes(const struct rql_raster_relation *relation)
{
	return 2 * list_bytes(&relation->join) + rql_raster_join_temp_bytes(&relation->pairs);
}

rql_status rql_record_raster_gather(struct rql_commands *c, const struct rql_raster_gather *gather, struct rql_error *err)
{
	const uint32_t threads = RQL_RASTER_THREADS;
	const struct rql_pipeline *pipeline;
	const struct rql_raster_gather_args args = {.rows = rql_span_address(&gather->rows),
	                                            .from = rql_span_address(&gather->from),
	                                            .to = rql_span_address(&gather->to),
	                                            .found = rql_span_address(&gather->found),
	                                            .capacity = gather->capacity,
	                                            .bits = gather->bits};
	struct rql_uses uses = {.count = 0};
	RQL_TRY(rql_pipeline_get(gather->rows.buffer->device, &gather_kernel, &threads, 1, &pipeline, err));
	rql_uses_add(&uses, &gather->rows, RQL_READ);
	rql_uses_add(&uses, &gather->from, RQL_READ);
	rql_uses_add(&uses, &gather->to, RQL_WRITE);
	rql_uses_add(&uses, &gather->found, RQL_READ);
	rql_record_dispatch(c, gather_kernel.name, pipeline, &args, rql_div_up(gather->capacity, threads), uses.use, uses.count);
	return RQL_OK;
}

static rql_status gather_side(struct rql_commands *c, const struct rql_join *join, const struct rql_join_side *side,
                              const struct rql_span *rows, struct rql_error *err)
{
	for (uint32_t i = 0; i < side->column_count; i++) {
		const struct rql_relation_column *column = &side->columns[i];
		const struct rql_raster_gather gather = {.bits = column->bits,
		                                         .rows = *rows,
		                                         .from = column->in,
		                                         .to = column->out,
		                                         .found = join->rows,
		                                         .capacity = join->capacity};
		if (column->out.buffer)
			RQL_TRY(rql_record_raster_gather(c, &gather, err));
	}
	return RQL_OK;
}

rql_status rql_record_raster_relation(struct rql_commands *c, struct rql_raster_relation *relation, struct rql_error *err)
{
	const struct rql_join *join = &relation->join;
	struct rql_raster_join *pairs = &relation->pairs;
	const char *why = refusal(join);
	if (why)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "%s", why);
	RQL_TRY(rql_relation_check_columns(join->build.columns, join->build.column_count, join->build.count, join->capacity,
	                                   false, "the build side of a join", err));
	RQL_TRY(rql_relation_check_columns(join->probe.columns, join->probe.column_count, join->probe.count, join->capacity,
	                                   false, "the probe side of a join", err));
	pairs->build_rows = join->temp;
	pairs->probe_rows = rql_span_at(&join->temp, list_bytes(join));
	pairs->temp = rql_span_at(&join->temp, 2 * list_bytes(join));
	RQL_TRY(rql_record_raster_join(c, pairs, err));
	if (rql_join_gives_pairs(join->kind))
		RQL_TRY(gather_side(c, join, &join->build, &pairs->build_rows, err));
	return gather_side(c, join, &join->probe, &pairs->probe_rows, err);
}

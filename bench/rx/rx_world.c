/* Data of rayql bench rx and thesis: keys, probes and room for answers on the device. */
#include "bench/rx/rx.h"

#include <string.h>

#include "shaders/bench/rx_data_32.comp.h"
#include "shaders/bench/rx_data_64.comp.h"

#define GROUP_SIZE 256u
#define KERNEL(bits)                                                                                                   \
	{"bench.rx." #bits, rql_spv_rx_data_##bits##_comp, sizeof rql_spv_rx_data_##bits##_comp,                           \
	 sizeof(struct rql_rx_bench_args)}
static const struct rql_kernel kernels[2] = {KERNEL(32), KERNEL(64)};

/* All memory of the case may be read and written: no care. */
rql_status rql_rx_record_data(struct rql_rx_world *w, struct rql_commands *c, const char *pass, uint32_t what,
                              const struct rql_rx_bench_args *args, struct rql_error *err)
{
	struct rql_relation_bench *b = w->b;
	const uint32_t constants[] = {GROUP_SIZE, what};
	const struct rql_pipeline *pipeline;
	struct rql_use uses[RQL_RELATION_BUFFERS + 1];
	struct rql_rx_bench_args all = *args;
	all.results = b->results->address;
	uses[0] = (struct rql_use){b->results, RQL_READ_WRITE};
	for (uint32_t i = 0; i < b->buffer_count; i++)
		uses[i + 1] = (struct rql_use){b->buffers[i], RQL_READ_WRITE};
	RQL_TRY(rql_pipeline_get(b->device, &kernels[w->shape->key_bits == 64], constants, 2, &pipeline, err));
	rql_record_dispatch(c, pass, pipeline, &all, (all.rows + GROUP_SIZE - 1) / GROUP_SIZE, uses, b->buffer_count + 1);
	return RQL_OK;
}

rql_status rql_rx_run_data(struct rql_rx_world *w, uint32_t what, const struct rql_rx_bench_args *args,
                           struct rql_error *err)
{
	struct rql_commands *c;
	RQL_TRY(rql_commands_new(w->b->device, 0, &c, err));
	return rql_commands_finish(c, rql_rx_record_data(w, c, "data", what, args, err), NULL, NULL, err);
}

static uint32_t scaled(const struct rql_relation_bench *b, int log2)
{
	int64_t at = log2 + b->options->log2_scale;
	return at < 6 ? 6 : (uint32_t)at;
}

static rql_status make_keys(struct rql_rx_world *w, struct rql_error *err)
{
	struct rql_rx_bench_args args = w->data;
	RQL_TRY(rql_relation_buffer(w->b, w->keys * w->shape->key_bits / 8, &w->key.buffer, err));
	RQL_TRY(rql_relation_buffer(w->b, w->keys * 4, &w->value.buffer, err));
	args.rows = w->keys;
	args.keys = w->key.buffer->address;
	args.values = w->value.buffer->address;
	return rql_rx_run_data(w, RQL_RX_BENCH_KEYS, &args, err);
}

static rql_status make_probes(struct rql_rx_world *w, struct rql_error *err)
{
	const uint32_t key_bytes = w->shape->key_bits / 8;
	RQL_TRY(rql_relation_buffer(w->b, w->probes * key_bytes, &w->point.buffer, err));
	w->data.keys = w->point.buffer->address;
	if (w->shape->width) {
		RQL_TRY(rql_relation_buffer(w->b, w->probes * key_bytes, &w->end.buffer, err));
		w->data.ends = w->end.buffer->address;
	}
	return rql_rx_run_data(w, RQL_RX_BENCH_PROBES, &w->data, err);
}

/* Rows of keys that come once and stay where they are, else sums. */
static rql_status make_answers(struct rql_rx_world *w, struct rql_error *err)
{
	const bool sums = w->shape->width || w->shape->log2_dups || w->shape->moved;
	RQL_TRY(rql_relation_buffer(w->b, RQL_RX_STATE_WORDS * 8, &w->state.buffer, err));
	RQL_TRY(rql_relation_buffer(w->b, w->probes * (sums ? 8 : 4), sums ? &w->sum_out.buffer : &w->row_out.buffer, err));
	w->data.rows_out = sums ? 0 : w->row_out.buffer->address;
	w->data.sums_out = sums ? w->sum_out.buffer->address : 0;
	return RQL_OK;
}

#define LOG2_PARTITIONS RQL_PARTITION_PASS_BITS

static rql_status make_partition(struct rql_rx_world *w, struct rql_error *err)
{
	struct rql_partition *p = &w->partition;
	*p = (struct rql_partition){.key_bits = w->shape->key_bits, .bits = LOG2_PARTITIONS, .by_range = true,
	                            .shift = w->bits > LOG2_PARTITIONS ? w->bits - LOG2_PARTITIONS : 0,
	                            .count = w->probes, .keys = w->point, .keys_out = w->sorted_point};
	if (w->shape->width)
		p->columns[p->column_count++] = (struct rql_relation_column){w->shape->key_bits, w->end, w->sorted_end};
	RQL_TRY(rql_relation_buffer(w->b, ((UINT64_C(1) << p->bits) + 1) * 4, &p->starts.buffer, err));
	RQL_TRY(rql_relation_buffer(w->b, rql_partition_undo_bytes(p), &p->undo.buffer, err));
	return rql_relation_buffer(w->b, rql_partition_temp_bytes(p), &p->temp.buffer, err);
}

static rql_status make_sort(struct rql_rx_world *w, struct rql_error *err)
{
	const uint32_t key_bytes = w->shape->key_bits / 8;
	const bool sums = w->sum_out.buffer != NULL;
	if (!w->shape->sorted && !w->shape->partitioned)
		return RQL_OK;
	RQL_TRY(rql_relation_buffer(w->b, w->probes * 4, &w->places.buffer, err));
	RQL_TRY(rql_relation_buffer(w->b, w->probes * key_bytes, &w->sorted_point.buffer, err));
	if (w->shape->width)
		RQL_TRY(rql_relation_buffer(w->b, w->probes * key_bytes, &w->sorted_end.buffer, err));
	RQL_TRY(rql_relation_buffer(w->b, w->probes * (sums ? 8 : 4), &w->moved_out.buffer, err));
	if (w->shape->partitioned)
		return make_partition(w, err);
	struct rql_sort sort = {.key_bits = w->shape->key_bits, .value_bits = 32, .high_bit = w->bits, .count = w->probes,
	                        .keys_in = w->point, .keys_out = w->sorted_point, .values_out = w->places};
	return rql_relation_buffer(w->b, rql_sort_temp_bytes(&sort), &w->temp.buffer, err);
}

rql_status rql_rx_world_new(struct rql_relation_bench *b, const struct rql_rx_shape *shape, struct rql_rx_world *w,
                            struct rql_error *err)
{
	*w = (struct rql_rx_world){.b = b, .shape = shape};
	struct rql_rx_bench_args *args = &w->data;
	args->log2_build = scaled(b, shape->log2_keys);
	args->log2_distinct = args->log2_build > shape->log2_dups ? args->log2_build - shape->log2_dups : 1;
	args->dense = ((UINT64_C(1) << args->log2_distinct) * (100 - shape->uniform)) / 100;
	args->ordered = shape->ordered;
	args->miss = shape->miss;
	args->width = shape->width;
	args->zipf = shape->zipf;
	w->keys = UINT64_C(1) << args->log2_build;
	args->rows = w->probes = UINT64_C(1) << scaled(b, shape->log2_probes);
	/* Dense keys that are missed lie anywhere above: probes have all bits then. */
	w->bits = shape->uniform || shape->miss ? shape->key_bits : args->log2_distinct;
	w->last = shape->uniform ? (shape->key_bits == 64 ? UINT64_MAX : UINT32_MAX) : args->dense - 1;
	RQL_TRY(make_keys(w, err));
	RQL_TRY(make_probes(w, err));
	RQL_TRY(make_answers(w, err));
	return make_sort(w, err);
}

/* Updating cgRX in nodes: a batch is put in order and checked, then applied in place; where there is no room, it is merged
 * with the structure into what is built anew. */
#include "primitive/rt/cgrx_nodes.h"

#include "primitive/rt/rt_internal.h"
#include "shaders/primitive/rt/cgrx_batch_32.comp.h"
#include "shaders/primitive/rt/cgrx_batch_64.comp.h"
#include "shaders/primitive/rt/cgrx_nodes_apply_32.comp.h"
#include "shaders/primitive/rt/cgrx_nodes_apply_64.comp.h"
#include "shaders/primitive/rt/cgrx_nodes_check_32.comp.h"
#include "shaders/primitive/rt/cgrx_nodes_check_64.comp.h"
#include "shaders/primitive/rt/cgrx_nodes_merge_32.comp.h"
#include "shaders/primitive/rt/cgrx_nodes_merge_64.comp.h"

#define KERNEL(what, bits, args)                                                                                       \
	{"primitive.cgrx." #what "." #bits, rql_spv_cgrx_##what##_##bits##_comp,                                           \
	 sizeof(rql_spv_cgrx_##what##_##bits##_comp), sizeof(struct args)}
#define KERNELS(what, args) {KERNEL(what, 32, args), KERNEL(what, 64, args)}
static const struct rql_kernel batch_kernels[2] = KERNELS(batch, rql_cgrx_batch_args);
static const struct rql_kernel check_kernels[2] = KERNELS(nodes_check, rql_cgrx_nodes_args);
static const struct rql_kernel apply_kernels[2] = KERNELS(nodes_apply, rql_cgrx_nodes_args);
static const struct rql_kernel merge_kernels[2] = KERNELS(nodes_merge, rql_cgrx_nodes_args);

struct batch {
	struct rql_cgrx_nodes *nodes;
	const struct rql_cgrx_update *update;
	struct rql_progress *progress;
	uint64_t count;
	struct rql_span given_keys, given_rows; /* what is deleted, then what is inserted */
	struct rql_span keys, rows, places, buckets, inserts, state, temp;
	struct rql_span offsets, merged_keys, merged_rows; /* to build anew */
	double ms;
};

static uint32_t key_bytes(const struct batch *b)
{
	return b->nodes->spec.cgrx.key_bits / 8;
}

/* ---- what is given ---- */

static rql_status check_part(const struct batch *b, const struct rql_span *keys, const struct rql_span *rows,
                             uint64_t count, struct rql_error *err)
{
	if (!count)
		return RQL_OK;
	RQL_TRY(rql_span_check(keys, count, key_bytes(b), "keys of an update", err));
	return rql_span_check(rows, count, 4, "rows of an update", err);
}

static rql_status check(const struct batch *b, struct rql_error *err)
{
	const struct rql_cgrx_update *u = b->update;
	if (u->before != b->nodes->version)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "an update of version %llu of a table, its cgRX has %llu",
		                     (unsigned long long)u->before, (unsigned long long)b->nodes->version);
	if (u->deletes > b->nodes->count || u->inserts > RQL_RX_KEYS ||
	    b->nodes->count - u->deletes + u->inserts > RQL_RX_KEYS)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "%llu entries go of a cgRX that has %llu, and %llu come",
		                     (unsigned long long)u->deletes, (unsigned long long)b->nodes->count,
		                     (unsigned long long)u->inserts);
	RQL_TRY(check_part(b, &u->delete_keys, &u->delete_rows, u->deletes, err));
	return check_part(b, &u->insert_keys, &u->insert_rows, u->inserts, err);
}

static struct rql_sort sort_rows(const struct batch *b)
{
	return (struct rql_sort){.key_bits = 32, .value_bits = 32, .high_bit = 32, .count = b->count,
	                         .keys_in = b->given_rows, .keys_out = b->rows, .values_out = b->places, .temp = b->temp};
}

/* Stable: equal keys keep their rows' order, and of equal rows what is deleted comes first. */
static struct rql_sort sort_keys(const struct batch *b)
{
	const uint32_t bits = b->nodes->spec.cgrx.key_bits;
	return (struct rql_sort){.key_bits = bits, .value_bits = 32, .high_bit = bits, .count = b->count,
	                         .keys_in = b->keys, .keys_out = b->keys, .values_in = b->places,
	                         .values_out = b->places, .temp = b->temp};
}

static struct rql_prefix_sum sum_inserts(const struct batch *b)
{
	return (struct rql_prefix_sum){.kind = RQL_PREFIX_U32_U32, .count = b->count + 1, .in = b->inserts,
	                               .out = b->inserts, .temp = b->temp};
}

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static rql_status make_memory(struct batch *b, struct rql_error *err)
{
	const uint64_t n = b->count;
	struct rql_device *device = b->nodes->device;
	RQL_TRY(rql_rt_memory(device, n * key_bytes(b), "keys of an update", &b->given_keys, err));
	RQL_TRY(rql_rt_memory(device, n * 4, "rows of an update", &b->given_rows, err));
	RQL_TRY(rql_rt_memory(device, n * key_bytes(b), "keys of an update", &b->keys, err));
	RQL_TRY(rql_rt_memory(device, n * 4, "rows of an update", &b->rows, err));
	RQL_TRY(rql_rt_memory(device, n * 4, "places of an update", &b->places, err));
	RQL_TRY(rql_rt_memory(device, n * 4, "buckets of an update", &b->buckets, err));
	RQL_TRY(rql_rt_memory(device, (n + 1) * 4, "inserts of an update", &b->inserts, err));
	RQL_TRY(rql_rt_memory(device, RQL_NODES_STATE_WORDS * 8, "state of an update", &b->state, err));
	const struct rql_sort rows = sort_rows(b), keys = sort_keys(b);
	const struct rql_prefix_sum prefix = sum_inserts(b);
	const uint64_t sorts = most(rql_sort_temp_bytes(&rows), rql_sort_temp_bytes(&keys));
	return rql_rt_memory(device, most(sorts, rql_prefix_temp_bytes(&prefix)), "temporary memory of an update", &b->temp,
	                     err);
}

static void free_memory(struct batch *b)
{
	struct rql_span *const all[] = {&b->given_keys, &b->given_rows, &b->keys, &b->rows, &b->places, &b->buckets,
	                                &b->inserts, &b->state, &b->temp, &b->offsets, &b->merged_keys, &b->merged_rows};
	for (uint32_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		rql_buffer_free(all[i]->buffer);
}

/* ---- in order ---- */

static void copy_part(const struct batch *b, struct rql_commands *c, const struct rql_span *keys,
                      const struct rql_span *rows, uint64_t first, uint64_t count)
{
	if (!count)
		return;
	rql_record_copy(c, keys->buffer, keys->offset, b->given_keys.buffer, first * key_bytes(b), count * key_bytes(b));
	rql_record_copy(c, rows->buffer, rows->offset, b->given_rows.buffer, first * 4, count * 4);
}

/* By their places. */
static rql_status record_reorder(const struct batch *b, struct rql_commands *c, bool keys, struct rql_error *err)
{
	const struct rql_span none = {NULL, 0};
	const struct rql_span keys_out = keys ? b->keys : none, rows_out = keys ? none : b->rows;
	const struct rql_span inserts_out = keys ? none : b->inserts;
	const uint32_t threads = RQL_RT_THREADS;
	const struct rql_pipeline *pipeline;
	struct rql_uses uses = {.count = 0};
	RQL_TRY(rql_pipeline_get(b->nodes->device, &batch_kernels[key_bytes(b) == 8], &threads, 1, &pipeline, err));
	const struct rql_span *read[] = {&b->given_keys, &b->given_rows, &b->places};
	const struct rql_span *written[] = {&keys_out, &rows_out, &inserts_out};
	for (uint32_t i = 0; i < 3; i++) {
		rql_uses_add(&uses, read[i], RQL_READ);
		rql_uses_add(&uses, written[i], RQL_WRITE);
	}
	const struct rql_cgrx_batch_args args = {.keys = rql_span_address(&b->given_keys),
	                                         .rows = rql_span_address(&b->given_rows),
	                                         .places = rql_span_address(&b->places),
	                                         .count = b->count,
	                                         .deletes = b->update->deletes,
	                                         .keys_out = rql_span_address(&keys_out),
	                                         .rows_out = rql_span_address(&rows_out),
	                                         .inserts_out = rql_span_address(&inserts_out)};
	rql_record_dispatch(c, "cgrx.batch", pipeline, &args, rql_div_up(b->count, RQL_RT_THREADS), uses.use, uses.count);
	return RQL_OK;
}

static rql_status record_order(const struct batch *b, struct rql_commands *c, struct rql_error *err)
{
	const struct rql_cgrx_update *u = b->update;
	copy_part(b, c, &u->delete_keys, &u->delete_rows, 0, u->deletes);
	copy_part(b, c, &u->insert_keys, &u->insert_rows, u->deletes, u->inserts);
	const struct rql_sort rows = sort_rows(b), keys = sort_keys(b);
	RQL_TRY(rql_record_sort(c, &rows, err));
	RQL_TRY(record_reorder(b, c, true, err));
	RQL_TRY(rql_record_sort(c, &keys, err));
	rql_record_fill(c, b->inserts.buffer, 0, (b->count + 1) * 4, 0);
	RQL_TRY(record_reorder(b, c, false, err));
	const struct rql_prefix_sum prefix = sum_inserts(b);
	return rql_record_prefix_sum(c, &prefix, err);
}

/* ---- in place ---- */

static rql_status record_pass(const struct batch *b, struct rql_commands *c, const char *what,
                              const struct rql_kernel *kernels, uint64_t threads, struct rql_error *err)
{
	const struct rql_cgrx_nodes *x = b->nodes;
	const struct rql_pipeline *pipeline;
	struct rql_uses uses = {.count = 0};
	uint32_t constants[RQL_RT_CONSTANTS];
	rql_nodes_constants(x, constants);
	RQL_TRY(rql_pipeline_get(x->device, &kernels[key_bytes(b) == 8], constants, RQL_RT_CONSTANTS, &pipeline, err));
	const struct rql_span *read[] = {&b->keys, &b->rows, &b->buckets, &b->inserts, &b->offsets, &x->last_keys,
	                                 &x->last_rows};
	const struct rql_span *written[] = {&x->keys, &x->rows, &x->next, &x->sizes, &x->header, &b->state,
	                                    &b->merged_keys, &b->merged_rows};
	for (uint32_t i = 0; i < sizeof(read) / sizeof(*read); i++)
		rql_uses_add(&uses, read[i], RQL_READ);
	for (uint32_t i = 0; i < sizeof(written) / sizeof(*written); i++)
		rql_uses_add(&uses, written[i], RQL_READ_WRITE);
	const struct rql_cgrx_nodes_args args = {.nodes = rql_span_address(&x->header),
	                                         .keys = rql_span_address(&b->keys),
	                                         .rows = rql_span_address(&b->rows),
	                                         .count = b->count,
	                                         .buckets = rql_span_address(&b->buckets),
	                                         .inserts = rql_span_address(&b->inserts),
	                                         .state = rql_span_address(&b->state),
	                                         .offsets = rql_span_address(&b->offsets),
	                                         .keys_out = rql_span_address(&b->merged_keys),
	                                         .rows_out = rql_span_address(&b->merged_rows)};
	rql_record_dispatch(c, what, pipeline, &args, rql_div_up(threads, RQL_RT_THREADS), uses.use, uses.count);
	return RQL_OK;
}

/* Changes nothing of the structure. */
static rql_status record_check(const struct batch *b, struct rql_commands *c, struct rql_error *err)
{
	rql_record_fill(c, b->state.buffer, 0, RQL_NODES_STATE_WORDS * 8, 0);
	RQL_TRY(record_order(b, c, err));
	RQL_TRY(rql_record_cgrx_locate(c, b->nodes, b->count, &b->keys, &b->rows, &b->buckets, err));
	return record_pass(b, c, "cgrx.nodes.check", check_kernels, b->count, err);
}

static rql_status apply(struct batch *b, uint64_t nodes, struct rql_error *err)
{
	struct rql_cgrx_nodes *x = b->nodes;
	struct rql_commands *c;
	RQL_TRY(rql_commands_new(x->device, RQL_COMMANDS_TIMED, &c, err));
	/* Without progress: who gives up waiting would not know which state it is in. */
	RQL_TRY(rql_rt_finish(c, record_pass(b, c, "cgrx.nodes.apply", apply_kernels, b->count, err), NULL, &b->ms, err));
	x->used += nodes;
	x->count = x->count - b->update->deletes + b->update->inserts;
	x->version = b->update->after;
	return RQL_OK;
}

/* ---- anew ---- */

static rql_status record_merge(const struct batch *b, struct rql_commands *c, const struct rql_prefix_sum *offsets,
                               struct rql_error *err)
{
	RQL_TRY(rql_record_prefix_sum(c, offsets, err));
	return record_pass(b, c, "cgrx.nodes.merge", merge_kernels, b->count + b->nodes->buckets, err);
}

/* All entries as one list. */
static rql_status merge(struct batch *b, uint64_t count, struct rql_error *err)
{
	const struct rql_cgrx_nodes *x = b->nodes;
	struct rql_commands *c;
	RQL_TRY(rql_rt_memory(x->device, x->buckets * 4, "sizes of a cgRX's buckets, summed", &b->offsets, err));
	RQL_TRY(rql_rt_memory(x->device, count * key_bytes(b), "keys of a cgRX", &b->merged_keys, err));
	RQL_TRY(rql_rt_memory(x->device, count * 4, "rows of a cgRX", &b->merged_rows, err));
	struct rql_prefix_sum offsets = {.kind = RQL_PREFIX_U32_U32, .count = x->buckets, .in = x->sizes, .out = b->offsets};
	rql_buffer_free(b->temp.buffer);
	b->temp.buffer = NULL;
	RQL_TRY(rql_rt_memory(x->device, rql_prefix_temp_bytes(&offsets), "temporary memory of an update", &b->temp, err));
	offsets.temp = b->temp;
	RQL_TRY(rql_commands_new(x->device, RQL_COMMANDS_TIMED, &c, err));
	return rql_rt_finish(c, record_merge(b, c, &offsets, err), b->progress, &b->ms, err);
}

/* The scene's bounds are those of the keys; its space stays as long as it holds them. */
static rql_status choose_space(const struct batch *b, struct rql_cgrx_spec *spec, struct rql_error *err)
{
	if (!spec->count)
		return RQL_OK;
	spec->base = spec->last = 0; /* little-endian, as all that Vulkan runs on */
	RQL_TRY(rql_buffer_download(b->merged_keys.buffer, 0, &spec->base, key_bytes(b), err));
	RQL_TRY(rql_buffer_download(b->merged_keys.buffer, (spec->count - 1) * key_bytes(b), &spec->last, key_bytes(b), err));
	if (!rql_key_fits(&spec->space, (spec->last - spec->base) >> spec->drop))
		rql_cgrx_choose_space(spec);
	return RQL_OK;
}

static rql_status build_anew(struct batch *b, struct rql_error *err)
{
	struct rql_cgrx_nodes *x = b->nodes, *anew;
	struct rql_cgrx_nodes_spec spec = x->spec;
	spec.cgrx.count = x->count - b->update->deletes + b->update->inserts;
	spec.version = b->update->after;
	RQL_TRY(merge(b, spec.cgrx.count, err));
	spec.cgrx.keys = b->merged_keys;
	spec.cgrx.rows = b->merged_rows;
	RQL_TRY(choose_space(b, &spec.cgrx, err));
	RQL_TRY(rql_cgrx_nodes_build(&spec, b->progress, &anew, err));
	b->ms += anew->build_ms;
	const struct rql_cgrx_nodes old = *x;
	*x = *anew;
	*anew = old;
	rql_cgrx_nodes_free(anew);
	return RQL_OK;
}

/* ---- all of it ---- */

static rql_status run(struct batch *b, struct rql_cgrx_updated *out, struct rql_error *err)
{
	struct rql_cgrx_nodes *x = b->nodes;
	struct rql_commands *c;
	uint64_t state[RQL_NODES_STATE_WORDS];
	RQL_TRY(make_memory(b, err));
	RQL_TRY(rql_commands_new(x->device, RQL_COMMANDS_TIMED, &c, err));
	RQL_TRY(rql_rt_finish(c, record_check(b, c, err), b->progress, &b->ms, err));
	RQL_TRY(rql_buffer_download(b->state.buffer, 0, state, sizeof(state), err));
	if (state[RQL_NODES_WRONG])
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED,
		                     "%llu entries of an update are not in the cgRX as they should be",
		                     (unsigned long long)state[RQL_NODES_WRONG]);
	out->rebuilt = b->update->rebuild || state[RQL_NODES_LONG] || state[RQL_NODES_WANTED] > x->room - x->used;
	return out->rebuilt ? build_anew(b, err) : apply(b, state[RQL_NODES_WANTED], err);
}

rql_status rql_cgrx_nodes_update(struct rql_cgrx_nodes *nodes, const struct rql_cgrx_update *update,
                                 struct rql_progress *progress, struct rql_cgrx_updated *out, struct rql_error *err)
{
	struct batch b = {.nodes = nodes, .update = update, .progress = progress,
	                  .count = update->deletes + update->inserts};
	*out = (struct rql_cgrx_updated){.rebuilt = false};
	RQL_TRY(check(&b, err));
	if (!b.count && !update->rebuild) {
		nodes->version = update->after;
		return RQL_OK;
	}
	rql_status status = run(&b, out, err);
	free_memory(&b);
	out->ms = b.ms;
	return status;
}

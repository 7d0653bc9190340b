/* Building cgRX in nodes: a cgRX as cgrx_build.c makes it, whose sorted keys move into the buckets' nodes. */
#include "primitive/rt/cgrx_nodes.h"

#include <stdlib.h>

#include "primitive/rt/rt_internal.h"
#include "shaders/primitive/rt/cgrx_nodes_load_32.comp.h"
#include "shaders/primitive/rt/cgrx_nodes_load_64.comp.h"

#define KERNEL(bits)                                                                                                   \
	{"primitive.cgrx.nodes.load." #bits, rql_spv_cgrx_nodes_load_##bits##_comp,                                        \
	 sizeof(rql_spv_cgrx_nodes_load_##bits##_comp), sizeof(struct rql_cgrx_nodes_args)}
static const struct rql_kernel load_kernels[2] = {KERNEL(32), KERNEL(64)};

static rql_status check(const struct rql_cgrx_nodes_spec *s, struct rql_error *err)
{
	const struct rql_cgrx_spec *x = &s->cgrx;
	if (x->lines || x->values.buffer || s->log2_node < x->log2_bucket || s->log2_node > RQL_CGRX_LOG2_NODE ||
	    s->chain > RQL_NODES_CHAIN)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "a cgRX of nodes of 2^%u keys, buckets of 2^%u, %u in a chain",
		                     s->log2_node, x->log2_bucket, s->chain);
	return RQL_OK;
}

/* ---- memory ---- */

static void count_nodes(struct rql_cgrx_nodes *x)
{
	const uint64_t buckets = rql_div_up(x->count, UINT64_C(1) << x->spec.cgrx.log2_bucket);
	x->buckets = buckets ? buckets : 1; /* an empty one takes what is inserted */
	x->used = x->buckets;
	x->room = x->buckets + (x->spec.spare ? x->spec.spare : rql_div_up(x->buckets, 4));
}

static rql_status make_memory(struct rql_cgrx_nodes *x, struct rql_error *err)
{
	const uint64_t slots = x->room << x->spec.log2_node, key_bytes = x->spec.cgrx.key_bits / 8;
	struct rql_span *const parts[] = {&x->keys, &x->rows, &x->next, &x->sizes, &x->last_keys, &x->last_rows, &x->header};
	const uint64_t bytes[] = {slots * key_bytes, slots * 4, x->room * 4, x->buckets * 4,
	                          x->buckets * key_bytes, x->buckets * 4, RQL_NODES_WORDS * 8};
	if (x->room >= RQL_NODES_NONE)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "a cgRX of %llu nodes", (unsigned long long)x->room);
	x->bytes = x->scene->bytes - x->count * (key_bytes + 4); /* these keys and rows go */
	for (uint32_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		RQL_TRY(rql_rt_memory(x->device, bytes[i], "nodes of a cgRX", parts[i], err));
		x->bytes += bytes[i];
	}
	return RQL_OK;
}

static rql_status upload_header(const struct rql_cgrx_nodes *x, struct rql_error *err)
{
	const uint64_t header[RQL_NODES_WORDS] = {
		[RQL_NODES_KEYS] = rql_span_address(&x->keys),
		[RQL_NODES_ROWS] = rql_span_address(&x->rows),
		[RQL_NODES_NEXT] = rql_span_address(&x->next),
		[RQL_NODES_SIZES] = rql_span_address(&x->sizes),
		[RQL_NODES_LAST_KEYS] = rql_span_address(&x->last_keys),
		[RQL_NODES_LAST_ROWS] = rql_span_address(&x->last_rows),
		[RQL_NODES_BUCKETS] = x->buckets,
		[RQL_NODES_USED] = x->used,
		[RQL_NODES_REACH_LOG2] = rql_cgrx_reach_log2(x->scene),
	};
	return rql_buffer_upload(x->header.buffer, 0, header, sizeof(header), err);
}

/* ---- from keys to nodes ---- */

static rql_status record_load(const struct rql_cgrx_nodes *x, struct rql_commands *c, struct rql_error *err)
{
	const struct rql_pipeline *pipeline;
	struct rql_uses uses = {.count = 0};
	uint32_t constants[RQL_RT_CONSTANTS];
	rql_record_fill(c, x->next.buffer, 0, x->room * 4, RQL_NODES_NONE);
	rql_record_fill(c, x->sizes.buffer, 0, x->buckets * 4, 0);
	if (!x->count)
		return RQL_OK;
	rql_nodes_constants(x, constants);
	RQL_TRY(rql_pipeline_get(x->device, &load_kernels[x->spec.cgrx.key_bits == 64], constants, RQL_RT_CONSTANTS,
	                         &pipeline, err));
	const struct rql_span *read[] = {&x->scene->keys, &x->scene->rows, &x->header};
	const struct rql_span *written[] = {&x->keys, &x->rows, &x->sizes, &x->last_keys, &x->last_rows};
	for (uint32_t i = 0; i < sizeof(read) / sizeof(*read); i++)
		rql_uses_add(&uses, read[i], RQL_READ);
	for (uint32_t i = 0; i < sizeof(written) / sizeof(*written); i++)
		rql_uses_add(&uses, written[i], RQL_WRITE);
	const struct rql_cgrx_nodes_args args = {.nodes = rql_span_address(&x->header),
	                                         .keys = rql_span_address(&x->scene->keys),
	                                         .rows = rql_span_address(&x->scene->rows),
	                                         .count = x->count,
	                                         .log2_bucket = x->spec.cgrx.log2_bucket};
	rql_record_dispatch(c, "cgrx.nodes.load", pipeline, &args, rql_div_up(x->count, RQL_RT_THREADS), uses.use,
	                    uses.count);
	return RQL_OK;
}

static rql_status build(struct rql_cgrx_nodes *x, struct rql_progress *progress, struct rql_error *err)
{
	struct rql_commands *c;
	RQL_TRY(rql_cgrx_build(&x->spec.cgrx, progress, &x->scene, err));
	x->build_ms = x->scene->build_ms;
	count_nodes(x);
	RQL_TRY(make_memory(x, err));
	RQL_TRY(upload_header(x, err));
	RQL_TRY(rql_commands_new(x->device, RQL_COMMANDS_TIMED, &c, err));
	RQL_TRY(rql_rt_finish(c, record_load(x, c, err), progress, &x->build_ms, err));
	rql_buffer_free(x->scene->keys.buffer);
	rql_buffer_free(x->scene->rows.buffer);
	x->scene->keys.buffer = x->scene->rows.buffer = NULL;
	return RQL_OK;
}

rql_status rql_cgrx_nodes_build(const struct rql_cgrx_nodes_spec *spec, struct rql_progress *progress,
                                struct rql_cgrx_nodes **out, struct rql_error *err)
{
	RQL_TRY(check(spec, err));
	struct rql_cgrx_nodes *x = calloc(1, sizeof(*x));
	if (!x)
		return rql_error_memory(err, sizeof(*x), "a cgRX");
	x->spec = *spec;
	x->spec.chain = spec->chain ? spec->chain : RQL_NODES_CHAIN;
	x->device = spec->cgrx.keys.buffer->device;
	x->count = spec->cgrx.count;
	x->version = spec->version;
	rql_status status = build(x, progress, err);
	x->spec.cgrx.keys.buffer = x->spec.cgrx.rows.buffer = NULL;
	if (status == RQL_OK)
		*out = x;
	else
		rql_cgrx_nodes_free(x);
	return status;
}

void rql_cgrx_nodes_free(struct rql_cgrx_nodes *x)
{
	if (!x)
		return;
	rql_cgrx_free(x->scene);
	rql_buffer_free(x->keys.buffer);
	rql_buffer_free(x->rows.buffer);
	rql_buffer_free(x->next.buffer);
	rql_buffer_free(x->sizes.buffer);
	rql_buffer_free(x->last_keys.buffer);
	rql_buffer_free(x->last_rows.buffer);
	rql_buffer_free(x->header.buffer);
	free(x);
}

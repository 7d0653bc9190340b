/* Records the hashes that hash images are drawn by: of texts, and of several values together. */
#include "primitive/primitive_internal.h"
#include "primitive/raster/raster.h"
#include "primitive/raster/raster_kernels.h"
#include "primitive/relation/relation_internal.h"
#include "shaders/primitive/raster_combine.comp.h"
#include "shaders/primitive/raster_hash.comp.h"

static const struct rql_kernel hash_kernel = {"primitive.raster_hash", rql_spv_raster_hash_comp,
                                              sizeof(rql_spv_raster_hash_comp), sizeof(struct rql_raster_hash_args)};
static const struct rql_kernel combine_kernel = {"primitive.raster_combine", rql_spv_raster_combine_comp,
                                                 sizeof(rql_spv_raster_combine_comp), sizeof(struct rql_raster_combine_args)};

rql_status rql_record_raster_hash(struct rql_commands *c, const struct rql_raster_hash *hash, struct rql_error *err)
{
	const uint32_t threads = RQL_RASTER_THREADS;
	const struct rql_pipeline *pipeline;
	struct rql_uses uses = {.count = 0};
	RQL_TRY(rql_span_check(&hash->starts, hash->count + 1, 4, "starts of texts", err));
	RQL_TRY(rql_span_check(&hash->bytes, 1, 4, "bytes of texts", err));
	RQL_TRY(rql_span_check(&hash->keys, hash->count, 8, "hashes of texts", err));
	if (hash->valid.buffer)
		RQL_TRY(rql_span_check(&hash->valid, rql_div_up(hash->count, 64), 8, "bitmap of texts", err));
	const struct rql_raster_hash_args args = {.keys = rql_span_address(&hash->keys),
	                                          .starts = rql_span_address(&hash->starts),
	                                          .bytes = rql_span_address(&hash->bytes),
	                                          .valid = rql_span_address(&hash->valid),
	                                          .mask = hash->mask,
	                                          .count = hash->count};
	RQL_TRY(rql_pipeline_get(hash->starts.buffer->device, &hash_kernel, &threads, 1, &pipeline, err));
	rql_uses_add(&uses, &hash->keys, RQL_WRITE);
	rql_uses_add(&uses, &hash->starts, RQL_READ);
	rql_uses_add(&uses, &hash->bytes, RQL_READ);
	rql_uses_add(&uses, &hash->valid, RQL_READ);
	rql_record_dispatch(c, hash_kernel.name, pipeline, &args, rql_div_up(hash->count, threads), uses.use, uses.count);
	return RQL_OK;
}

rql_status rql_record_raster_combine(struct rql_commands *c, const struct rql_raster_combine *combine,
                                     struct rql_error *err)
{
	const uint32_t threads = RQL_RASTER_THREADS;
	const struct rql_pipeline *pipeline;
	struct rql_uses uses = {.count = 0};
	RQL_TRY(rql_span_check(&combine->keys, combine->capacity, 8, "hashes of keys", err));
	RQL_TRY(rql_span_check(&combine->fields, combine->capacity, combine->bits / 8, "fields that are hashed", err));
	RQL_TRY(rql_span_check(&combine->found, 1, 8, "number of rows", err));
	const struct rql_raster_combine_args args = {.keys = rql_span_address(&combine->keys),
	                                             .fields = rql_span_address(&combine->fields),
	                                             .hashes = rql_span_address(&combine->hashes),
	                                             .found = rql_span_address(&combine->found),
	                                             .capacity = combine->capacity,
	                                             .bits = combine->bits};
	RQL_TRY(rql_pipeline_get(combine->keys.buffer->device, &combine_kernel, &threads, 1, &pipeline, err));
	rql_uses_add(&uses, &combine->keys, RQL_READ_WRITE);
	rql_uses_add(&uses, &combine->fields, RQL_READ);
	rql_uses_add(&uses, &combine->hashes, RQL_READ);
	rql_uses_add(&uses, &combine->found, RQL_READ);
	rql_record_dispatch(c, combine_kernel.name, pipeline, &args, rql_div_up(combine->capacity, threads), uses.use, uses.count);
	return RQL_OK;
}

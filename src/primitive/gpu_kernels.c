/* The kernels of this folder and their pipelines; checks that all recording functions share. */
#include "primitive/primitive_internal.h"

#include "shaders/primitive/compact_count_bits.comp.h"
#include "shaders/primitive/compact_count_flags.comp.h"
#include "shaders/primitive/compact_write_bits_32.comp.h"
#include "shaders/primitive/compact_write_bits_64.comp.h"
#include "shaders/primitive/compact_write_flags_32.comp.h"
#include "shaders/primitive/compact_write_flags_64.comp.h"
#include "shaders/primitive/indirect.comp.h"
#include "shaders/primitive/nth.comp.h"
#include "shaders/primitive/prefix_sums_32.comp.h"
#include "shaders/primitive/prefix_sums_64.comp.h"
#include "shaders/primitive/prefix_tiles_32_32.comp.h"
#include "shaders/primitive/prefix_tiles_32_64.comp.h"
#include "shaders/primitive/prefix_tiles_64_64.comp.h"
#include "shaders/primitive/sort_count_32.comp.h"
#include "shaders/primitive/sort_count_64.comp.h"

#define X(name, symbol, args)                                                                                          \
	[RQL_KERNEL_##name] = {"primitive." #symbol, rql_spv_##symbol##_comp, sizeof(rql_spv_##symbol##_comp),             \
	                       sizeof(struct rql_##args##_args)},
static const struct rql_kernel kernels[RQL_KERNEL_COUNT] = {RQL_PRIMITIVE_KERNELS(X)};
#undef X

rql_status rql_primitive_pipeline(struct rql_device *device, enum rql_primitive_kernel kernel,
                                  const uint32_t *constants, uint32_t count, const struct rql_pipeline **out,
                                  struct rql_error *err)
{
	uint32_t all[RQL_CONSTANTS_MAX] = {RQL_THREADS};
	if (count)
		memcpy(all + 1, constants, count * sizeof(*constants));
	return rql_pipeline_get(device, &kernels[kernel], all, count + 1, out, err);
}

rql_status rql_span_check(const struct rql_span *span, uint64_t items, uint32_t width, const char *what,
                          struct rql_error *err)
{
	if (!span->buffer)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "no memory was given for the %s", what);
	uint64_t room = span->offset <= span->buffer->bytes ? (span->buffer->bytes - span->offset) / width : 0;
	if (room < items)
		return rql_error_set(
			err, RQL_ERROR_INTERNAL,
			"the %s need room for %llu items of %u bytes, and there is room for %llu: give a larger buffer", what,
			(unsigned long long)items, width, (unsigned long long)room);
	uint32_t align = width < 8 ? width : 8;
	if (span->offset % align)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "the %s begin at byte %llu, which is no multiple of %u", what,
		                     (unsigned long long)span->offset, align);
	return RQL_OK;
}

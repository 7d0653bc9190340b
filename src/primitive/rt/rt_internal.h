/* What the structures of this folder share. */
#ifndef RQL_PRIMITIVE_RT_INTERNAL_H
#define RQL_PRIMITIVE_RT_INTERNAL_H

#include "primitive/primitive_internal.h"
#include "primitive/relation/relation_internal.h"
#include "primitive/rt/cgrx_nodes.h"
#include "primitive/rt/rt_kernels.h"

/* Constants 1 to 7. */
static inline void rql_rt_constants(const struct rql_key_space *space, uint32_t constants[RQL_RT_CONSTANTS])
{
	memset(constants, 0, RQL_RT_CONSTANTS * sizeof(*constants));
	constants[0] = RQL_RT_THREADS;
	memcpy(constants + 1, space->bits, sizeof(space->bits));
	memcpy(constants + 4, space->shift, sizeof(space->shift));
	constants[7] = space->stride;
}

/* Of a probe's first ray: beyond four buckets of their mean width there are few representatives to be met first. */
uint32_t rql_cgrx_reach_log2(const struct rql_cgrx *x);

/* Of all kernels that see nodes. */
static inline void rql_nodes_constants(const struct rql_cgrx_nodes *x, uint32_t constants[RQL_RT_CONSTANTS])
{
	memset(constants, 0, RQL_RT_CONSTANTS * sizeof(*constants));
	constants[0] = RQL_RT_THREADS;
	constants[12] = x->spec.chain;
	constants[13] = x->spec.log2_node;
}

/* log2 of a part's primitives: `parts` of them at least, none larger than the device takes. */
static inline uint32_t rql_rt_part_log2(const struct rql_device *device, uint64_t primitives, uint32_t parts)
{
	uint32_t log2 = rql_log2_up(rql_div_up(primitives ? primitives : 1, parts ? parts : 1));
	while (UINT64_C(1) << log2 > device->limits.part_primitives && log2)
		log2--;
	return log2;
}

/* Room of its own; bytes may be 0. */
static inline rql_status rql_rt_memory(struct rql_device *device, uint64_t bytes, const char *what,
                                       struct rql_span *out, struct rql_error *err)
{
	return rql_buffer_new(device, bytes ? bytes : 8, RQL_MEMORY_DEVICE, what, &out->buffer, err);
}

/* Ends, runs and frees a recording that `status` says is complete. */
static inline rql_status rql_rt_finish(struct rql_commands *c, rql_status status, struct rql_progress *progress,
                                       double *ms, struct rql_error *err)
{
	double ns = 0;
	status = rql_commands_finish(c, status, progress, &ns, err);
	if (ms)
		*ms += ns / 1e6;
	return status;
}

#endif

/* Ray tracing on a GPU, as methods see it (unit rt): acceleration structures and ray-tracing pipelines. The rules of
 * work.h hold here as well: no barrier, wait or free by hand.
 *
 * One structure is a top level over bottom levels, the PARTS: at most device->limits.part_primitives primitives each
 * (notes/h200.md: larger builds did not end; the thesis's BVH partitioning). In shaders a hit's row is
 * base(gl_InstanceCustomIndexEXT = part) + gl_PrimitiveID. */
#ifndef RQL_DEVICE_TRACE_H
#define RQL_DEVICE_TRACE_H

#include "device/work.h"

/* ---- acceleration structures ---- */
enum rql_primitive { RQL_TRIANGLES, RQL_AABBS };
#define RQL_TRIANGLE_BYTES 36u /* three corners of three floats, x y z, no index */
#define RQL_AABB_BYTES 24u     /* least x y z, greatest x y z */
enum rql_accel_aim { RQL_ACCEL_FAST_TRACE, RQL_ACCEL_FAST_BUILD, RQL_ACCEL_SMALL };

struct rql_accel_spec {
	const char *what; /* for messages */
	enum rql_primitive primitive;
	bool opaque;           /* any-hit shaders are not called: closest-hit only */
	bool one_call_per_hit; /* NO_DUPLICATE_ANY_HIT_INVOCATION: NVIDIA calls twice without it (notes/h200.md) */
	enum rql_accel_aim aim;
	bool compact; /* copied to its compacted size after the build */
	bool refit;   /* rql_accel_refit will be used (excludes nothing, costs memory) */
	uint32_t part_count;
	const uint64_t *part_primitives; /* [part_count]; 0 allowed: such a part is left out, numbers stay */
	const uint8_t *part_masks;       /* [part_count] instance masks, or NULL: 0xff */
	/* Records passes that write the part's primitives to `input` (RQL_TRIANGLE_BYTES or RQL_AABB_BYTES each). A NaN in
	 * the first x, and nowhere else, makes a triangle inactive. Boxes have no such thing (Mesa 25.0 loses neighbours of
	 * one): repeat a live one's box and let the intersection shader decide. Called once per part, possibly several parts
	 * before the first submission; `input` may be larger, and is freed or reused after the part's build. */
	rql_status (*fill)(void *state, struct rql_commands *c, uint32_t part, struct rql_buffer *input,
	                   struct rql_error *err);
	void *state;
};

/* Read-only for the callers. */
struct rql_accel {
	struct rql_device *device;
	uint64_t address; /* for shaders: accelerationStructureEXT(address) as a function argument */
	uint64_t bytes;   /* resident, both levels */
	uint64_t built_bytes; /* before compaction */
	uint64_t primitives;
	uint32_t part_count;
	double build_ms; /* from the first pass to the last, compaction and top level included */
};
/* Builds part after part, as many at once as memory allows, and waits. progress may be NULL. */
rql_status rql_accel_build(struct rql_device *device, const struct rql_accel_spec *spec, struct rql_progress *progress,
                           struct rql_accel **out, struct rql_error *err) RQL_MUST_CHECK;
/* Moves the primitives of one part (their number stays, inactive ones stay inactive); fill as above. The top level
 * follows. For structures that were built with refit in this process, not for those of rql_accel_read. */
rql_status rql_accel_refit(struct rql_accel *accel, uint32_t part,
                           rql_status (*fill)(void *state, struct rql_commands *c, uint32_t part,
                                              struct rql_buffer *input, struct rql_error *err),
                           void *state, struct rql_error *err) RQL_MUST_CHECK;
/* As rql_buffer_free: at once for the caller. NULL: nothing. */
void rql_accel_free(struct rql_accel *accel);

/* Serialised form for side files: usable by the same driver on the same kind of device only, which its head says.
 * `put` returns RQL_OK or stops the writing; `get` fills exactly bytes. Read gives RQL_ERROR_STALE for a form that
 * another driver wrote (the caller builds anew) and RQL_ERROR_CORRUPT for a damaged one. */
rql_status rql_accel_write(struct rql_accel *accel,
                           rql_status (*put)(void *state, const void *data, uint64_t bytes, struct rql_error *err),
                           void *state, struct rql_error *err) RQL_MUST_CHECK;
rql_status rql_accel_read(struct rql_device *device,
                          rql_status (*get)(void *state, void *data, uint64_t bytes, struct rql_error *err),
                          void *state, struct rql_accel **out, struct rql_error *err) RQL_MUST_CHECK;

/* ---- ray-tracing pipelines ---- */
/* One ray generation shader, one miss shader (it may be empty), one hit group. Static const data. */
struct rql_trace_kernel {
	const char *name;
	struct rql_shader raygen, miss, closest_hit, any_hit, intersection;
	uint32_t args_bytes; /* <= RQL_ARGS_MAX; see rql_record_trace */
};
/* As rql_pipeline_get; constants go to every stage. There is no constant with a fixed meaning. */
rql_status rql_trace_pipeline_get(struct rql_device *device, const struct rql_trace_kernel *kernel,
                                  const uint32_t *constants, uint32_t count, const struct rql_pipeline **out,
                                  struct rql_error *err) RQL_MUST_CHECK;
/* Launches `rays` ray generation shaders, in pieces of what the device allows. The argument struct begins with
 * `uint64_t first_ray`, the number of the first one, which the recorder raises from piece to piece: a shader's ray is
 * first_ray + rql_launch() of trace.glsl, and it must return when that is >= the number it expects.
 * accels: the structures that the shaders trace through. */
void rql_record_trace(struct rql_commands *c, const char *pass, const struct rql_pipeline *pipeline, const void *args,
                      uint64_t rays, struct rql_accel *const *accels, uint32_t accel_count, const struct rql_use *uses,
                      uint32_t use_count);
/* How many of `rays` (> 0), which take work_ns by the caller's estimate, one submission may have: all of them nearly
 * always. What is left is the caller's next submission, recorded with another first_ray and submitted after a wait:
 * an interrupt then takes effect between two, and no watchdog of a driver resets a device that only has much to do. */
uint64_t rql_trace_piece(const struct rql_device *device, uint64_t rays, double work_ns);

#endif

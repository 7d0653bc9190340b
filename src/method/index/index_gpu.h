/* Look-ups of an index on a GPU, by whichever unit: a stage that reads a run of each segment in the device's memory and the
 * keys that are sought in it, and which gives the rows that are found as bits. The keys are the request's, or those of any
 * number of rows that another stage leaves on the device: then they never come to the host. A method has it in its prepared
 * request, and says how a segment is placed, which keys are sought there, and what is recorded. */
#ifndef RQL_METHOD_INDEX_GPU_H
#define RQL_METHOD_INDEX_GPU_H

#include "device/placement.h"
#include "method/index/index_choose.h"
#include "method/index/index_keys.h"
#include "method/stage.h"
#include "primitive/lookup/lookup_bits.h"
#include "primitive/primitive.h"

struct rql_index_gpu;
/* Of one segment: where its keys lie among the probes. */
struct rql_index_batch {
	struct rql_span lows, highs; /* [count] each, as wide as the segment's keys */
	uint64_t count;
};
/* Where a run writes. */
struct rql_index_found {
	struct rql_buffer *rows;  /* bits, by block of the snapshot */
	struct rql_buffer *state; /* NULL where there is none: `state_bytes` of it from state_at on */
	uint64_t state_at;
	bool counted; /* the state is to say how many rays were launched, and what they met */
};
struct rql_index_gpu_ops {
	/* A reference. */
	rql_status (*place)(struct rql_index_gpu *gpu, uint32_t segment, struct rql_progress *progress,
	                    struct rql_placement **out, struct rql_error *err);
	uint32_t (*key_bytes)(const struct rql_index_gpu *gpu, uint32_t segment);
	/* A look-up as keys of a segment; false: it has none of them. points: of the run (struct rql_run); NULL but where runs
	 * have them. */
	bool (*probe)(const struct rql_index_gpu *gpu, uint32_t segment, uint32_t look_up,
	              const struct rql_value *const *points, uint64_t *low, uint64_t *high);
	/* What a segment's keys are made of, and the greatest; NULL: it has none. */
	const struct rql_index_key *(*key)(const struct rql_index_gpu *gpu, uint32_t segment, uint64_t *greatest);
	/* Of a segment that has some of the keys. */
	rql_status (*record)(const struct rql_index_gpu *gpu, uint32_t segment, const struct rql_index_batch *batch,
	                     const struct rql_index_found *to, struct rql_commands *commands, struct rql_error *err);
	/* The same as a look-up that gives bits or a list. NULL: the unit gives no lists. */
	void (*look_up)(const struct rql_index_gpu *gpu, uint32_t segment, const struct rql_index_batch *batch,
	                struct rql_lookup_bits *out);
};

struct rql_index_gpu {
	struct rql_stage stage; /* first */
	const struct rql_index_gpu_ops *ops;
	const struct rql_store_snapshot *snapshot; /* the method's */
	uint64_t state_bytes; /* of a look-up by rays: RQL_RX_STATE_WORDS; else 0 */
	struct rql_index_keys keys; /* in.from.method NULL: probe() has them */
	uint32_t look_ups; /* in each segment; set before the stage runs */
	bool points;       /* other values may be looked up than the request's: each context has probes, which runs write */
	/* Under the stage's lock. */
	uint32_t list_room; /* rows come as lists of each segment; 0: as bits */
	/* The same; NULL: not placed yet. */
	struct rql_placement **placed;   /* [segments]: references */
	struct rql_buffer *probes;       /* of all segments, where they stay as they are; of keys that come in what is needed to make them */
	uint64_t *digits;                /* ... [segments]: where that lies */
	struct rql_index_batch *batches; /* [segments] */
};

rql_status rql_index_gpu_init(struct rql_index_gpu *gpu, const struct rql_index_gpu_ops *ops,
                              const struct rql_store_snapshot *snapshot, struct rql_device *device,
                              struct rql_error *err) RQL_MUST_CHECK;
/* Bytes that are brought to the device for their sake. */
uint64_t rql_index_gpu_keys_bytes(const struct rql_index_gpu *gpu);
/* What making probes of them takes, and the kernel that does it. */
double rql_index_gpu_probes_ns(const struct rql_index_gpu *gpu);
rql_status rql_index_gpu_see(const struct rql_index_gpu *gpu, rql_see_kernel *see, void *state,
                             struct rql_error *err) RQL_MUST_CHECK;
/* Does the next run give lists? */
bool rql_index_gpu_lists(const struct rql_index_gpu *gpu);
/* Of the rows that a run finds. */
uint64_t rql_index_gpu_rows_bytes(const struct rql_index_gpu *gpu);

/* ---- what the methods on a GPU share ---- */
struct rql_prepared {
	struct rql_index_gpu gpu; /* first */
	struct rql_index_choice choice;
};
static inline const struct rql_prepared *rql_index_prepared_of(const struct rql_index_gpu *gpu)
{
	return (const struct rql_prepared *)gpu;
}
/* Of conditions, and of keys that come in, on a unit that has the forms; what is borrowed of the keys is copied. The rest
 * is as method.h has it. */
enum rql_offer rql_index_gpu_offer(const struct rql_request *request, const struct rql_device *device, unsigned forms,
                                   enum rql_unit unit);
enum rql_offer rql_index_gpu_offer_keys(const struct rql_request *request, const struct rql_device *device, unsigned forms,
                                        enum rql_unit unit, const char **reason);
rql_status rql_index_gpu_prepare_keys(const struct rql_request *request, struct rql_device *device, unsigned forms,
                                      const struct rql_index_gpu_ops *ops, uint64_t state_bytes,
                                      struct rql_prepared **out, struct rql_error *err) RQL_MUST_CHECK;
void rql_index_gpu_free(struct rql_prepared *p);
uint64_t rql_index_gpu_prepared_bytes(const struct rql_prepared *p);
uint32_t rql_index_gpu_number(const struct rql_prepared *p);

#endif

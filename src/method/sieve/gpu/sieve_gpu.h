/* A request on a GPU, whichever unit refines: what is placed, tables that kernels read, a stage. One pass over vectors
 * leaves a bitmap (sieve_select.comp); what refines follows it in the same recording. */
#ifndef RQL_METHOD_SIEVE_SIEVE_GPU_H
#define RQL_METHOD_SIEVE_SIEVE_GPU_H

#include "device/draw.h"
#include "method/sieve/gpu/sieve_blocks.h"
#include "method/sieve/gpu/sieve_order.h"
#include "method/sieve/gpu/sieve_place.h"
#include "method/sieve/sieve_query.h"
#include "method/sieve/space/sieve_bound.h"
#include "method/sieve/space/sieve_space.h"

/* Predicates that share a space. */
struct rql_sieve_group {
	uint32_t count;
	uint32_t predicates[RQL_SIEVE_AXES];
};
struct rql_sieve_gpu;
struct rql_sieve_context {
	struct rql_stage_context base;
	struct rql_buffer *rows; /* the bitmap, and the lists; RTC1: behind it one for each group */
	struct rql_image *image; /* DRAWN: the same as pixels */
};
/* Passes that are recorded, as they are or to count what they meet. */
struct rql_sieve_recording {
	const struct rql_sieve_gpu *gpu;
	const struct rql_sieve_context *x;
	struct rql_commands *commands;
	const struct rql_use *uses; /* the bitmap first */
	uint32_t use_count;
	uint64_t counts; /* the address of uint64_t[RQL_SIEVE_COUNTS] that they add to; 0: nothing is counted */
};
/* What a unit does of its own. */
struct rql_sieve_unit {
	enum rql_unit unit;
	enum rql_sieve_refine automatic; /* what it makes of RQL_SIEVE_AUTO; */
	bool only_automatic;             /* all that is asked for must be that */
	/* Fetches pipelines; NULL: there are none. */
	rql_status (*place)(struct rql_sieve_gpu *gpu, struct rql_error *err);
	/* Behind the pass over vectors. */
	rql_status (*record)(const struct rql_sieve_recording *r, struct rql_error *err);
	double (*refine_ns)(const struct rql_prepared *p, const struct rql_device *device);
};

struct rql_sieve_gpu {
	struct rql_stage stage;
	struct rql_prepared *p;
	struct rql_device *cpu;
	const struct rql_sieve_unit *unit;
	enum rql_sieve_refine refine;
	bool lists; /* ROWS are given so (method/rows_kernels.h) */
	bool *open; /* [predicates]: they are refined so; all others by values in the first pass */
	uint32_t group_count;
	struct rql_sieve_group *groups; /* of open predicates */
	/* Under the stage's lock; NULL: not placed yet. */
	struct rql_sieve_placed **placed; /* [segments][predicates]: references, as all three */
	struct rql_sieve_order **orders;  /* the same, of open ones; POSITIONS, DRAWN */
	struct rql_sieve_blocks **blocks; /* BLOCKS: the same; NULL: the segment has none, and its values are read */
	struct rql_sieve_space **spaces;  /* [segments][groups] */
	struct rql_buffer *tables;
	/* Bytes into them: tests that the first pass has, and those of all keys; workgroups' parts; lists; regions. */
	uint64_t select_at, tests_at, parts_at, lists_at, regions_at, opens_at;
	uint32_t select_count; /* tests of a segment in the first pass */
	uint32_t part_count, list_count, region_count, workgroup;
	uint32_t asks; /* RQL_SIEVE_BLOCKS_*: the most of its tests */
	uint64_t rays;
	const struct rql_pipeline *select, *refining[2];
};
/* Is a predicate open in a segment? */
static inline bool rql_sieve_is_open(const struct rql_sieve_gpu *gpu, uint32_t segment, uint32_t predicate)
{
	return gpu->open[predicate] &&
	       (gpu->refine != RQL_SIEVE_BLOCKS || gpu->blocks[(uint64_t)segment * gpu->p->count + predicate]);
}

bool rql_sieve_is_traced(enum rql_sieve_refine refine);
/* Does the first pass read vectors for open predicates? */
static inline bool rql_sieve_takes_vectors(enum rql_sieve_refine refine)
{
	return refine != RQL_SIEVE_RTC1 && refine != RQL_SIEVE_RTC3;
}
uint64_t rql_sieve_rows_bytes(const struct rql_sieve_gpu *gpu);
static inline uint64_t rql_sieve_placed_count(const struct rql_prepared *p)
{
	return (uint64_t)p->snapshot->segment_count * p->count;
}

/* sieve_compute.c: rows of lists, each tested alone and put right. */
rql_status rql_sieve_record_lists(const struct rql_sieve_recording *r, struct rql_error *err) RQL_MUST_CHECK;
/* Makes and uploads the tables of what is placed (sieve_tables.c). */
rql_status rql_sieve_tables_upload(struct rql_sieve_gpu *gpu, struct rql_error *err) RQL_MUST_CHECK;
/* The regions that one group's rays visit in a segment (sieve_regions.c). emit: called for each, with everything but
 * first, tests, rows and place set. bounds: of the segment's predicates. */
struct rql_sieve_kernel_region;
typedef void rql_sieve_emit(void *state, struct rql_sieve_kernel_region *region, uint64_t rays);
rql_status rql_sieve_regions(const struct rql_sieve_space *space, const struct rql_sieve_group *group,
                             const struct rql_sieve_bound *bounds, struct rql_arena *arena, rql_sieve_emit *emit,
                             void *state, struct rql_error *err) RQL_MUST_CHECK;

/* ---- for the vtables ---- */
enum rql_offer rql_sieve_gpu_offer(const struct rql_request *request, const struct rql_device *device,
                                   const struct rql_sieve_unit *unit);
rql_status rql_sieve_gpu_prepare(const struct rql_request *request, struct rql_device *device,
                                 const struct rql_sieve_unit *unit, struct rql_prepared **out,
                                 struct rql_error *err) RQL_MUST_CHECK;
void rql_sieve_gpu_price(const struct rql_prepared *p, const struct rql_device *device, struct rql_cost *out);
struct rql_stage *rql_sieve_gpu_stage(const struct rql_prepared *p);
void rql_sieve_gpu_free(struct rql_prepared *p);
uint64_t rql_sieve_gpu_bytes(const struct rql_prepared *p);

#endif

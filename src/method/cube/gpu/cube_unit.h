/* Running a bound request on a GPU, whatever adds up the rows (unit compute: cube_compute.c, rt: cube_rt.c): a stage
 * (method/stage.h), whose contexts have accumulator rows, which are at rest (templates) between runs, and a small result
 * that the host reads.
 *
 * The method records the passes that add to the rows (cube_cells.glsl); this file adds the pass that puts the groups
 * out and the rows back at rest, unless the method's last pass does that itself (context->collects: rows_whole only).
 * Included by the methods' files only. */
#ifndef RQL_METHOD_CUBE_CUBE_UNIT_H
#define RQL_METHOD_CUBE_CUBE_UNIT_H

#include "method/cube/gpu/cube_program.h"
#include "method/stage.h"

/* Up to so many words of rows are copied whole into the result by one workgroup; beyond, existing groups are put out by
 * a pass of its own. */
#define RQL_CUBE_WHOLE_WORDS 4096u
#define RQL_CUBE_USES_MAX 96u

struct rql_cube_unit;
struct rql_cube_context {
	struct rql_stage_context base;
	struct rql_buffer *rows, *keys /* hashed */, *state, *result /* READBACK */, *found /* DEVICE; NULL: in result */;
	struct rql_cube_accumulator accumulator; /* their addresses, for the shaders' arguments */
	uint64_t capacity;                       /* rows */
	struct rql_buffer *queue;                /* the method's own, or NULL; freed with the context */
	bool collects;                           /* set by record: the last recorded pass puts the groups out */
	struct rql_pass_time before;             /* what ran before this run's recording; pass NULL: nothing */
};

struct rql_cube_unit_ops {
	/* Puts more than the arrays where the device needs it, and fetches pipelines; once, before the first context. NULL:
	 * nothing. */
	rql_status (*place)(struct rql_cube_unit *unit, struct rql_error *err);
	/* Records the passes that add to the context's rows. May make context->queue. rql_cube_unit_uses() has what every
	 * such pass touches. */
	rql_status (*record)(struct rql_cube_unit *unit, struct rql_cube_context *context, struct rql_commands *commands,
	                     struct rql_error *err);
	/* What is too long for the recording's submission: runs passes that add to the context's rows in submissions of
	 * their own and waits for each, so that an interrupt takes effect between two. timed: says how long in
	 * context->before. After an error the rows are not at rest. NULL: nothing. */
	rql_status (*run_before)(const struct rql_cube_unit *unit, struct rql_cube_context *context, bool timed,
	                         struct rql_progress *progress, struct rql_error *err);
	/* Fills rays, hits and what else the method counts itself; head: RQL_CUBE_STATE_WORDS words as they were when the
	 * groups were put out. NULL: cells_read, bytes_read and runs from the counters of cube_intervals.comp. */
	void (*count)(const struct rql_cube_unit *unit, const uint64_t *head, struct rql_port *out);
	/* When the request goes. NULL: nothing. */
	void (*unplace)(struct rql_cube_unit *unit);
};

/* prepared->unit. */
struct rql_cube_unit {
	struct rql_stage stage;
	const struct rql_prepared *prepared;
	const struct rql_cube_unit_ops *ops;
	void *method; /* the method's own; in prepared->arena or freed by unplace */
	uint64_t items;
	bool rows_whole; /* dense and few: the result has every row */
	/* under the stage's lock: */
	bool placed;
	struct rql_cube_arrays *arrays;
	struct rql_buffer *program;
	struct rql_cube_program head;      /* its first struct */
	struct rql_pass_time once;         /* a pass that `place` ran: told with the next run's times; pass NULL: none */
	bool hashed;
	uint64_t capacity; /* of the next context: rows; hashed: a power of two, grows after an overflow */
};

/* Makes prepared->unit; the request belongs to the device from then on. */
rql_status rql_cube_unit_new(struct rql_prepared *p, struct rql_device *device, const struct rql_cube_unit_ops *ops,
                             void *method, struct rql_error *err) RQL_MUST_CHECK;
void rql_cube_unit_free(struct rql_cube_unit *unit); /* NULL: nothing */
/* method.h's stage, run and bytes. A device that fails is noted with the cube (rql_placements_fail). */
struct rql_stage *rql_cube_unit_stage(const struct rql_prepared *p);
rql_status rql_cube_unit_run(const struct rql_prepared *p, struct rql_device *device, const struct rql_run *run,
                             struct rql_port *out, struct rql_error *err) RQL_MUST_CHECK;
uint64_t rql_cube_unit_host_bytes(const struct rql_prepared *p);
/* cells_read, bytes_read and runs from the counters RQL_CUBE_COUNTER_*, as cube_accumulate.c counts. */
void rql_cube_unit_count(const struct rql_cube_unit *unit, const uint64_t *counter, struct rql_port *out);
/* The price of what follows the device's work: the groups' rows come to the host and become an answer there. */
double rql_cube_unit_answer_ns(const struct rql_cube_unit *unit, const struct rql_device *device);
/* Device memory of one context beside the cube's placements. */
uint64_t rql_cube_unit_bytes(const struct rql_cube_unit *unit);
/* What a pass that adds to the rows touches: the cube's arrays, the program, rows, keys, state, result, queue. Returns
 * how many, at most RQL_CUBE_USES_MAX. */
uint32_t rql_cube_unit_uses(const struct rql_cube_unit *unit, const struct rql_cube_context *context,
                            struct rql_use *uses);

#endif

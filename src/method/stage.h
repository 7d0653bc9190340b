/* A bound request's work on a GPU: passes that are recorded once and submitted again and again.
 *
 * A run needs memory that is at rest between runs, and recorded commands: a CONTEXT. Contexts are made on first need and
 * kept with the stage, so that a warm run is one submission and one wait. Several threads run one request at once with
 * a context each; one whose run was interrupted is used again when the device is done with it.
 *
 * A stage may read what other stages leave on the device, its INPUTS. They are recorded before it into the same
 * commands, so that a chain of stages is one submission, too. A stage may be the input of several of a tree: it is
 * recorded once. Stages that have nothing to do with each other can START
 * together: their recordings are one submission and each run goes on from there. */
#ifndef RQL_METHOD_STAGE_H
#define RQL_METHOD_STAGE_H

#include <pthread.h>
#include "device/rehearse.h"
#include "method/port.h"
#include "util/arena.h"

#define RQL_RUN_TIMED 1u /* flag of runs: measure the passes (EXPLAIN ANALYZE, benchmarks); costs a little */
#define RQL_STAGE_INPUTS_MAX RQL_APPEND_MOST

struct rql_stage;
struct rql_stage_ahead;

struct rql_run_groups;

/* Sides that a run joins, and who takes what it finds (request.h, rql_sides). */
#define RQL_SIDE_COLUMNS 8u
/* What a pair has of a side's row: a value of 32 or 64 bits, or the row's number. */
struct rql_side_column {
	uint32_t bits;
	const void *values; /* [rows]; NULL: the row's number, 32 bits */
};
struct rql_found {
	uint64_t count;
	const void *columns[2][RQL_SIDE_COLUMNS]; /* [count], as the sides have them */
};
struct rql_run_sides {
	struct rql_run_side {
		uint64_t rows; /* below 2^32 - 1 */
		const uint64_t *words;
		const uint64_t *none; /* bitmap: rows that have no partner whatever their words are; NULL: there are none */
		uint32_t column_count; /* 0: nothing of it is asked for; not of both sides */
		struct rql_side_column columns[RQL_SIDE_COLUMNS];
	} side[2];            /* build, probe */
	unsigned bits;         /* of the words */
	bool hits;             /* of probe rows it is asked alone whether they have a partner */
	uint64_t device_bytes; /* of the device's memory that it may have */
	struct rql_device *limited; /* of several, the one that has no more */
	uint64_t host_bytes;   /* of the host's, for partitions; 0: any number */
	const char *folder;    /* for what goes beyond; NULL: nothing may */
	uint64_t file_bytes;   /* that may be written there; 0: any number */
	struct rql_budget *budget; /* of the host's memory, for all that is not counted there; NULL: none */
	/* hits: there is nothing of the build side, and each such probe row comes once or oftener. By one thread at a time. */
	rql_status (*put)(void *state, const struct rql_found *found, struct rql_error *err);
	void *state;
};

/* Rows that a run groups, and who takes the groups (request.h, rql_grouping). */
struct rql_run_grouping {
	uint64_t rows; /* below 2^32 - 1 */
	const uint64_t *words;
	unsigned bits; /* of the words */
	uint32_t value_count;
	struct rql_run_value { /* fields (column/form.h) of so many bits, 32 or 64: 0 is NULL. What is asked for: */
		uint32_t bits;
		bool present, sum, least, greatest; /* present: how many are not NULL */
	} values[RQL_GROUPING_VALUES];
	uint64_t device_bytes, host_bytes; /* as of sides */
	struct rql_device *limited;
	uint64_t file_bytes;
	const char *folder;
	struct rql_budget *budget;
	/* Fields of `count` rows from `first` on; and groups, each once, that nobody keeps. By one thread at a time. */
	rql_status (*load)(void *state, uint32_t value, uint64_t first, uint64_t count, void *fields, struct rql_error *err);
	rql_status (*put)(void *state, const struct rql_run_groups *groups, struct rql_error *err);
	void *state;
};
struct rql_run_groups {
	uint64_t count;
	const uint64_t *first, *rows; /* a group's first row; how many it has */
	struct {
		const uint64_t *present, *sum, *least, *greatest; /* NULL: not asked for; a sum has two words, the low one first */
	} values[RQL_GROUPING_VALUES];
};

/* How a request is run. */
struct rql_run {
	unsigned flags;                /* RQL_RUN_* */
	struct rql_arena *arena;       /* of the port */
	struct rql_progress *progress; /* may be NULL; its cancel flag is polled */
	struct rql_stage_ahead *ahead; /* GPUs: the run that was started for the request; NULL: none was */
	/* [RQL_POINTS_MOST]: values that the request's points are to have in this run, of those that the method takes (points);
	 * NULL: the request's. May be NULL itself. */
	const struct rql_value *const *points;
	const struct rql_run_sides *sides; /* of requests for PAIRS; else NULL */
	const struct rql_run_grouping *grouping; /* of those that have such rows; else NULL */
};

/* The first member of a method's own struct. */
struct rql_stage_context {
	struct rql_stage_context *next;
	struct rql_stage_context *inputs[RQL_STAGE_INPUTS_MAX]; /* of the stage's inputs: owned, but for... */
	uint32_t borrowed; /* bit i: inputs[i], of a stage that another one of the tree reads, too, which owns it */
	struct rql_commands *commands, *timed;                  /* NULL: not recorded yet, or recorded by who reads it */
	uint64_t ticket;                                        /* of the last submission; 0: none */
};

/* One run, as `take` sees it. */
struct rql_stage_run {
	bool timed;
	struct rql_progress *progress; /* may be NULL */
	struct rql_arena *arena;
	struct rql_port *port; /* to be filled */
	void *own; /* the method's own, as given to rql_stage_run */
	const struct rql_value *const *points; /* as in struct rql_run */
};

/* A run that was started: its recording is submitted. */
struct rql_stage_ahead {
	struct rql_stage *stage;
	const struct rql_value *const *points; /* as in struct rql_run */
	struct rql_stage_context *context; /* NULL: nothing qualifies */
	bool started;                      /* and nobody has gone on with it yet */
	uint64_t uploaded;
};

/* What a method does. `stage` is a member of its own struct, too. */
struct rql_stage_ops {
	/* Puts what the recordings need where the device needs it, and fetches pipelines: before each run, idempotent. What
	 * fails is undone, so that a later run tries anew. *nothing: no device is needed, since nothing qualifies. Locked. NULL:
	 * all that is read is its inputs'. */
	rql_status (*place)(struct rql_stage *stage, struct rql_progress *progress, bool *nothing, struct rql_error *err);
	/* Makes a context's memory, at rest in the queue's order; after an error the stage closes what *out has. inputs: the
	 * contexts that will be its inputs'. Locked. NULL: open_on does it. */
	rql_status (*open)(struct rql_stage *stage, struct rql_stage_context *const *inputs, struct rql_stage_context **out,
	                   struct rql_error *err);
	/* The same over COLUMNS of the inputs, on whatever device: also for a rehearsal. */
	rql_status (*open_on)(struct rql_stage *stage, struct rql_device *device, const struct rql_columns_port *inputs,
	                      struct rql_stage_context **out, struct rql_error *err);
	/* Frees the memory and the context itself. */
	void (*close)(struct rql_stage *stage, struct rql_stage_context *context);
	/* Is the context as large as the next run needs it? Locked. NULL: it is, unless an input has grown, with which it is
	 * opened anew. */
	bool (*fits)(const struct rql_stage *stage, const struct rql_stage_context *context);
	/* Records the passes. The inputs' passes come before. Locked. */
	rql_status (*record)(struct rql_stage *stage, struct rql_stage_context *context, struct rql_commands *commands,
	                     struct rql_error *err);
	/* Writes what a run looks for where its recording reads it: `points` are those of struct rql_run. Not locked; the
	 * context is nobody else's. NULL: recordings have all that they need. */
	void (*write_points)(const struct rql_stage *stage, const struct rql_stage_context *context,
	                     const struct rql_value *const *points);
	/* What is too long for one submission: runs in submissions of its own and waits for each, so that an interrupt takes
	 * effect between two. After an error the memory is not at rest. NULL: nothing. */
	rql_status (*before)(struct rql_stage *stage, struct rql_stage_context *context, bool timed,
	                     struct rql_progress *progress, struct rql_error *err);
	/* The run is done. *again: something was too small, and the next context has more. RQL_ERROR_HOST: an expression failed
	 * in some row; the memory is at rest. Locked. */
	rql_status (*check)(struct rql_stage *stage, struct rql_stage_context *context, bool *again, struct rql_error *err);
	/* After a timed run: what its passes met, in port->selected, counted by passes of its own, so that neither the times
	 * nor other runs pay for it. Not locked; the context is nobody else's. NULL: it counts nothing. */
	rql_status (*count)(struct rql_stage *stage, struct rql_stage_context *context, struct rql_port *port,
	                    struct rql_error *err);
	/* Makes the port of a run that has succeeded; context NULL: nothing qualifies. NULL: the stage is only others' input. */
	rql_status (*take)(struct rql_stage *stage, struct rql_stage_context *context, const struct rql_stage_run *run,
	                   struct rql_error *err);
	/* ROWS as they lie in the context's memory when the recorded passes are done: what the reader records. NULL: the stage
	 * gives none. */
	void (*rows)(const struct rql_stage *stage, const struct rql_stage_context *context, struct rql_rows *out);
	/* Is asked to give ROWS of the next contexts as lists that the host reads when a run is done, with so much room each at
	 * least; 0: no more. false: it gives none, or not so long ones. Locks the stage. NULL: it never does. */
	bool (*list_rows)(struct rql_stage *stage, uint64_t room);
	/* The same of COLUMNS. context NULL: form and room of the next context, without buffers. */
	void (*columns)(const struct rql_stage *stage, const struct rql_stage_context *context, struct rql_columns_port *out);
	/* Adds what a run that has succeeded drew. NULL: nothing. */
	void (*tell)(const struct rql_stage *stage, const struct rql_stage_context *context, struct rql_drawn *drawn);
	/* Of the device's memory, in the next context. */
	uint64_t (*bytes)(const struct rql_stage *stage);
};

/* Fields are the stage's own but for ops, device and inputs, which its method reads. */
struct rql_stage {
	const struct rql_stage_ops *ops;
	struct rql_device *device;
	uint32_t input_count;
	struct rql_stage *inputs[RQL_STAGE_INPUTS_MAX]; /* not owned; on the same device */
	pthread_mutex_t lock;                           /* everything below, and what the ops change */
	uint64_t uploaded;                              /* bytes that `place` has put there, which no run has reported yet */
	struct rql_stage_context *contexts;             /* not in use by a thread */
};

/* Memory that a request keeps on its device: rql_buffer_new, counted in the device's request_bytes. NULL: nothing. */
rql_status rql_stage_buffer_new(struct rql_device *device, uint64_t bytes, enum rql_memory memory, const char *what,
                                struct rql_buffer **out, struct rql_error *err) RQL_MUST_CHECK;
void rql_stage_buffer_free(struct rql_buffer *buffer);

rql_status rql_stage_init(struct rql_stage *stage, const struct rql_stage_ops *ops, struct rql_device *device,
                          struct rql_error *err) RQL_MUST_CHECK;
/* Closes the contexts. A stage of zeros is fine. */
void rql_stage_clear(struct rql_stage *stage);
/* Records what a run over `input` leaves before this stage's own passes. */
void rql_stage_read(struct rql_stage *stage, struct rql_stage *input);
/* The COLUMNS that its inputs' next contexts would have, without buffers. Their locks are taken. */
void rql_stage_next_columns(const struct rql_stage *stage, struct rql_columns_port *out);
/* Shows the kernels of the stage's own passes, by a rehearsal over inputs of the room that they would have now. For stages
 * that open_on, and whose recordings need nothing that `place` makes. */
rql_status rql_stage_rehearse(struct rql_stage *stage, rql_see_kernel *see, void *state,
                              struct rql_error *err) RQL_MUST_CHECK;
/* Places, submits, waits, and again when something was too small; then takes. What was started is waited for first. */
rql_status rql_stage_run(struct rql_stage *stage, const struct rql_run *run, void *own, struct rql_port *out,
                         struct rql_error *err) RQL_MUST_CHECK;
/* Of methods whose struct rql_prepared begins with its stage: back from the stage; as rql_method's stage; and its run, where
 * the port is all that one leaves. */
static inline struct rql_prepared *rql_stage_prepared(const struct rql_stage *stage)
{
	return (struct rql_prepared *)(uintptr_t)stage;
}
struct rql_stage *rql_prepared_stage(const struct rql_prepared *prepared);
rql_status rql_prepared_run(const struct rql_prepared *prepared, struct rql_device *device, const struct rql_run *run,
                            struct rql_port *out, struct rql_error *err) RQL_MUST_CHECK;
/* Places the stages of runs[], all of one device, and submits their recordings at once: up to RQL_SUBMIT_MOST, each stage
 * once. The caller has filled in the stages and points, and zeroed the rest. After an error nothing is started. */
rql_status rql_stage_start(struct rql_stage_ahead *runs, uint32_t count, bool timed, struct rql_progress *progress,
                           struct rql_error *err) RQL_MUST_CHECK;
/* What was started and will not be gone on with. Started no longer, or never: nothing. */
void rql_stage_abandon(struct rql_stage_ahead *run);
/* The status of what the host did over a stage's result. Its want of memory is no fault of the device's, so that it becomes
 * RQL_ERROR_UNSUPPORTED: the host answers. */
rql_status rql_stage_on_host(rql_status status, struct rql_error *err) RQL_MUST_CHECK;
/* For a stage's `count`: records its passes once more, which now count in a buffer of `bytes`, zeroed before; runs them, and
 * reads the buffer to met. */
typedef rql_status rql_stage_record_counting(struct rql_stage *stage, struct rql_stage_context *context,
                                             struct rql_buffer *counts, struct rql_commands *commands,
                                             struct rql_error *err);
rql_status rql_stage_count(struct rql_stage *stage, struct rql_stage_context *context, rql_stage_record_counting *record,
                           void *met, uint64_t bytes, struct rql_error *err) RQL_MUST_CHECK;
/* The times of a timed run's passes, in arena. */
rql_status rql_stage_times(const struct rql_stage_context *context, struct rql_arena *arena, struct rql_port *out,
                           struct rql_error *err) RQL_MUST_CHECK;

#endif

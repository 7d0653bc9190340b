/* What the files of joins from the host's memory share. */
#ifndef RQL_HOST_INTERNAL_H
#define RQL_HOST_INTERNAL_H

#include <pthread.h>
#include "primitive/host/host_join.h"
#include "primitive/relation/exchange.h"
#include "primitive/relation/relation_internal.h"

struct rql_host_sizes;
/* The join on a device, without memory but for the build side's keys, whose device decides about sizes. */
struct rql_join rql_host_relation(const struct rql_host_join *join, const struct rql_host_sizes *sizes,
                                  struct rql_buffer *keys);

/* The same by drawing: sizes, without images and points. */
struct rql_raster_relation rql_host_drawing(const struct rql_join *relation);

/* Rows that a device has room for: of the build side, of a piece of the probe side and of its result. */
struct rql_host_sizes {
	uint64_t build, piece, out;
	uint32_t bits; /* log2 of the partitions that make build sides fit */
	bool shared;   /* no partitions: several devices have the build side each, and share the probe side */
	bool ordered;  /* there is room for the build side's tables, beside its partitions (relation.h) */
};
/* False: no partitioning makes a build side fit the limit. */
bool rql_host_sizes_choose(const struct rql_host_join *join, uint64_t limit, struct rql_host_sizes *out);
/* Of a piece of the build side on its way. */
uint64_t rql_host_load_rows(const struct rql_host_join *join, const struct rql_host_sizes *sizes);
/* Of a device's memory. */
uint64_t rql_host_sizes_bytes(const struct rql_host_join *join, struct rql_device *device,
                              const struct rql_host_sizes *sizes);

/* One side's rows, once, or as often as `at` is set back where they come from a store. */
struct rql_host_feed {
	const struct rql_host_side *side;
	const struct rql_host_store *store; /* NULL: from memory, or by side->next */
	const struct rql_host_rows *memory;
	void *state;           /* of side->next, where it is not the side's own */
	pthread_mutex_t *lock; /* NULL, or of those who ask side->next */
	uint64_t partition, at, rows; /* rows: of the partition, or in memory */
};
/* At most `most` rows; piece: where they may be put, and then where they are. */
rql_status rql_host_feed_next(struct rql_host_feed *feed, struct rql_device *device, uint64_t most,
                              struct rql_host_piece *piece, struct rql_error *err) RQL_MUST_CHECK;
/* Has the feed given all? Of a side's own rows that is seen by a piece without rows. */
static inline bool rql_host_feed_ended(const struct rql_host_feed *feed)
{
	return (feed->store || feed->memory) && feed->at >= feed->rows;
}

/* All rows of a feed into partitions. Those of a source are read in place, by all threads; other pieces come in memory that the device reaches; of each, so many rows at most. What was
 * made before an error is the caller's, too. */
uint64_t rql_host_read_rows(const struct rql_host_side *side);
rql_status rql_host_partition(struct rql_host_feed *feed, struct rql_device *device, const struct rql_host_store_spec *spec,
                              struct rql_progress *progress, struct rql_host_store **out,
                              struct rql_error *err) RQL_MUST_CHECK;

/* The columns of a side, or of the result, in one buffer that has room for `rows` of them. */
struct rql_host_layout {
	uint32_t count;
	uint32_t bits[1 + RQL_HOST_COLUMNS]; /* the keys first; of a result there are none: bits[0] is 0 */
	uint64_t at[1 + RQL_HOST_COLUMNS], bytes;
};
/* Of rows of one side; and of those of one of a join's, or side NULL: of its result. */
struct rql_host_layout rql_host_side_layout(const struct rql_host_side *side, uint64_t rows);
struct rql_host_layout rql_host_layout_of(const struct rql_host_join *join, const struct rql_host_side *side,
                                          uint64_t rows);
/* buffer NULL: a piece that lies nowhere yet. */
struct rql_host_piece rql_host_piece_in(const struct rql_host_layout *layout, struct rql_buffer *buffer);
/* So many rows of a piece, from row `first` of it on, to row `at` of a buffer. */
void rql_host_record_columns(struct rql_commands *c, const struct rql_host_piece *piece, uint64_t first, uint64_t rows,
                             const struct rql_host_layout *to, struct rql_buffer *buffer, uint64_t at);
/* Where the CPU finds a piece's rows. */
struct rql_host_rows rql_host_rows_in(const struct rql_host_piece *piece, const struct rql_host_shape *shape);
/* Without the first ones. */
struct rql_host_rows rql_host_rows_behind(const struct rql_host_rows *rows, const struct rql_host_shape *shape,
                                          uint64_t first);

/* ---- a device at work ---- */
/* What any of them may have of its memory: a part of what is there, and never more than `limit` (0: none). *whose: the
 * device that has no more; before, whose that limit is, NULL: the first one's. */
uint64_t rql_host_device_limit(struct rql_device *const *devices, uint32_t count, uint64_t limit,
                               struct rql_device **whose);
/* A run goes on without the device, by an error of the device's own. */
void rql_host_leave(struct rql_left_devices *left, struct rql_device *device, rql_status status, const char *why);
/* The recording becomes the step that is in flight; status: of what was recorded. */
rql_status rql_host_submit(struct rql_commands *c, rql_status status, struct rql_commands **flight, uint64_t *ticket,
                           struct rql_error *err) RQL_MUST_CHECK;
#define RQL_HOST_FLIGHT 4u /* pieces between their way in and the sink */
struct rql_host_slot {
	struct rql_host_piece host, result; /* in the host's memory */
	struct rql_buffer *staging;         /* for `host` */
	uint64_t rows;                      /* 0: nothing */
	uint64_t joined;                    /* of them, whose results were put */
};
/* A turn's `count`: rows of the result, two words; drawn, rows of the piece and of the build side. */
#define RQL_HOST_ROWS_AT 16u
#define RQL_HOST_COUNT_BYTES 32u
/* Of every other piece; and what a step, a recording, needs. */
struct rql_host_turn {
	struct rql_buffer *in, *out, *count; /* on the device */
	struct rql_buffer *staging;          /* for results */
	struct rql_buffer *table;            /* of the step's exchange */
	struct rql_commands *commands;       /* NULL: no step is in flight */
	uint64_t ticket;
};
struct rql_host_worker {
	const struct rql_host_join *join;
	struct rql_device *device;
	struct rql_host_sizes sizes;
	pthread_mutex_t *sink_lock;
	struct rql_host_layout build_layout, piece_layout, probe_layout, out_layout; /* piece: of the build side's pieces */
	struct rql_host_slot slot[RQL_HOST_FLIGHT];
	struct rql_host_turn turn[2];
	struct rql_buffer *build, *built, *temp;
	struct rql_image *images[RQL_RASTER_JOIN_IMAGES]; /* drawn */
	struct rql_buffer *points, *points_seen; /* drawn: on the device; READBACK, as `seen` has it */
	struct rql_buffer *seen;  /* READBACK, uint64_t[RQL_HOST_FLIGHT + 1]: rows of results; the last one: of what runs alone */
	struct rql_join relation; /* the build side that is there */
	uint64_t load, block;     /* rows of a piece of a build side, and of a build side, at most */
	uint64_t most;            /* rows of the next piece */
	uint64_t block_at, done;  /* rows before the build side that is there; of the probe side, whose results were put for it */
	uint64_t taken;           /* of the device's memory, in its request_bytes */
	struct rql_host_report report;
};
/* Its memory is there until it is closed. */
rql_status rql_host_worker_open(struct rql_host_worker *worker, struct rql_error *err) RQL_MUST_CHECK;
void rql_host_worker_close(struct rql_host_worker *worker);
/* Records what joins do, for a rehearsal: nothing is read. Its memory is there. */
rql_status rql_host_worker_rehearse(struct rql_host_worker *worker, struct rql_error *err) RQL_MUST_CHECK;
/* Joins all that both feeds give: with the first build side, the probe rows from where their feed stands on. */
rql_status rql_host_worker_join(struct rql_host_worker *worker, struct rql_host_feed *build, struct rql_host_feed *probe,
                                struct rql_error *err) RQL_MUST_CHECK;
/* Joins more probe rows with the build side of the last join. */
rql_status rql_host_worker_more(struct rql_host_worker *worker, struct rql_host_feed *probe,
                                struct rql_error *err) RQL_MUST_CHECK;
/* After an error: the probe rows that it took and whose results were not put, a piece each. They lie there until the worker
 * is closed. */
uint32_t rql_host_worker_left(const struct rql_host_worker *worker, struct rql_host_rows left[RQL_HOST_FLIGHT]);

#endif

/* What the files of group-bys from the host's memory share. */
#ifndef RQL_HOST_GROUP_INTERNAL_H
#define RQL_HOST_GROUP_INTERNAL_H

#include "primitive/host/host_group_by.h"
#include "primitive/host/host_internal.h"

struct rql_host_group_sizes {
	enum rql_host_way way;
	uint64_t piece;  /* rows that come in at once; of PARTS a partition's */
	uint64_t rows;   /* that are grouped at once: a piece's, or all */
	uint64_t groups; /* that there is room for */
	uint64_t guess;  /* of a table: those that are expected, so that few are not partitioned; 0: as many as have room */
	uint64_t staged; /* groups that come out at once, where the caller gives no room */
	uint32_t bits;   /* log2 of the partitions of PARTS */
};
/* Of so many rows with so many groups. False: none fits the limit. */
bool rql_host_group_sizes_choose(const struct rql_host_group_by *by, uint64_t limit, uint64_t rows, uint64_t groups,
                                 struct rql_host_group_sizes *out);
/* A table for so many groups, of any number of rows. */
bool rql_host_group_sizes_table(const struct rql_host_group_by *by, uint64_t limit, uint64_t groups,
                                struct rql_host_group_sizes *out);
uint64_t rql_host_group_sizes_bytes(const struct rql_host_group_by *by, struct rql_device *device,
                                    const struct rql_host_group_sizes *sizes);

/* What is put out, one array after the other in one buffer. */
struct rql_host_groups_layout {
	uint64_t keys, counts, sum[RQL_RELATION_COLUMNS], min[RQL_RELATION_COLUMNS], max[RQL_RELATION_COLUMNS], bytes;
};
struct rql_host_groups_layout rql_host_groups_layout_of(const struct rql_host_group_by *by, uint64_t groups);
struct rql_host_groups rql_host_groups_in(const struct rql_host_group_by *by, const struct rql_host_groups_layout *layout,
                                          struct rql_buffer *buffer);
#define RQL_HOST_GROUP_OUTPUTS (2u + 3u * RQL_RELATION_COLUMNS)
/* Moves of `rows` groups, from group `first` of the one place to the beginning of the other; how many there are. */
uint32_t rql_host_groups_moves(const struct rql_host_group_by *by, const struct rql_host_groups *from, uint64_t first,
                               const struct rql_host_groups *to, uint64_t rows, struct rql_move moves[RQL_HOST_GROUP_OUTPUTS]);
uint64_t rql_host_group_bytes(const struct rql_host_group_by *by);
/* The group-by on a device: of rows that lie in `in` as in a layout of `sizes->rows` rows. */
struct rql_group_by rql_host_group_relation(const struct rql_host_group_by *by, const struct rql_host_group_sizes *sizes,
                                            struct rql_buffer *in, struct rql_buffer *out);
/* Of the raster unit: what is drawn, its images and temp apart. */
struct rql_raster_groups rql_host_group_drawing(const struct rql_host_group_by *by,
                                                const struct rql_group_by *relation);

/* Partitions of rows, which workers take one after the other. */
struct rql_host_partitions {
	struct rql_host_store *store;
	const struct rql_host_side *side;
	uint32_t bits, used, passes; /* of this store; of the hash, and passes, until here */
	uint64_t above;              /* rows of the partition that they were made of */
	_Atomic uint64_t next;
	uint64_t end;
	const struct rql_host_partitions *of; /* those whose store it is: another's, of a partition that a device has left */
	struct rql_host_partitions *kept;     /* the next ones of those that are kept to the end */
};

struct rql_host_group_slot {
	struct rql_host_piece host;
	struct rql_host_groups result;
	struct rql_buffer *staging;
	uint64_t rows, partition;
};
struct rql_host_group_turn {
	struct rql_buffer *in, *out;  /* on the device; of WHOLE and TABLE the first one's `out` alone */
	struct rql_buffer *result;    /* uint64_t[2], then the rows of the piece */
	struct rql_buffer *staging;   /* for groups */
	struct rql_buffer *table;     /* of the step's exchange */
	struct rql_commands *commands;
	uint64_t ticket;
};
struct rql_host_group_worker {
	const struct rql_host_group_by *by;
	struct rql_device *device;
	struct rql_host_group_sizes sizes;
	bool open, from_store; /* from_store: rows come from one, whatever the group-by says of them */
	pthread_mutex_t *sink_lock;
	struct rql_host_layout in_layout, rows_layout;
	struct rql_host_groups_layout out_layout, staging_layout;
	struct rql_host_group_slot slot[RQL_HOST_FLIGHT];
	struct rql_host_group_turn turn[2];
	struct rql_buffer *rows; /* of WHOLE */
	struct rql_buffer *temp, *points;
	struct rql_buffer *points_seen; /* READBACK, as `seen` has it */
	struct rql_image *images[RQL_RASTER_GROUP_IMAGES];
	struct rql_buffer *seen;   /* READBACK, uint64_t[2 * RQL_HOST_FLIGHT] */
	uint64_t taken; /* of the device's memory, in its request_bytes */
	uint64_t *odd, odd_count, odd_room; /* partitions that had no room */
	bool refused;   /* who takes groups has failed: no other device may put these again */
	struct rql_host_group_report report;
};
/* Its memory is there until it is closed. Opened with other sizes it is closed before. */
rql_status rql_host_group_worker_open(struct rql_host_group_worker *w, const struct rql_host_group_sizes *sizes,
                                      struct rql_error *err) RQL_MUST_CHECK;
void rql_host_group_worker_close(struct rql_host_group_worker *w);
rql_status rql_host_group_worker_rehearse(struct rql_host_group_worker *w, struct rql_error *err) RQL_MUST_CHECK;
/* TABLE, WHOLE: all rows of the feed. *found: groups; more than there is room for: nothing was put out, and it is a lower
 * bound. */
rql_status rql_host_group_worker_rows(struct rql_host_group_worker *w, struct rql_host_feed *feed, uint64_t *found,
                                      struct rql_error *err) RQL_MUST_CHECK;
/* PARTS: all partitions that are left, but for those that have no room. */
rql_status rql_host_group_worker_partitions(struct rql_host_group_worker *w, struct rql_host_partitions *partitions,
                                            struct rql_error *err) RQL_MUST_CHECK;

/* TABLE on several devices. *found: of the one with the most, as of rql_host_group_worker_rows. *alone: the device whose own
 * the error is, of which nothing was put; else NULL. */
rql_status rql_host_group_tables(const struct rql_host_group_by *by, const struct rql_host_group_sizes *sizes,
                                 struct rql_host_group_report *report, uint64_t *found, struct rql_device **alone,
                                 struct rql_error *err) RQL_MUST_CHECK;
void rql_host_group_report_add(struct rql_host_group_report *to, const struct rql_host_group_report *from);

#endif

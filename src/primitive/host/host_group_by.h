/* Group-bys from the host's memory to the host's memory, of any number of rows and groups (papers/004, 4, 5 and 6.1).
 *
 * | way | when | what is on the device |
 * |---|---|---|
 * | TABLE | few groups | a table, to which piece after piece is added; only the groups come back |
 * | WHOLE | rows and groups fit | all rows, which are grouped once |
 * | PARTS | else | a partition of the CPU's (host_store.h) at a time; one comes in while another is grouped and the groups of
 *   a third go out |
 *
 * Of PARTS, a partition with too many rows or groups is partitioned again by the next bits of the hash. One that one key
 * fills goes through a table of its own. Several devices take partitions each. Of TABLE they take pieces, each into a table
 * of its own, and the CPU makes one of the tables' groups; the rows come again where one of them fails or has no more
 * room.
 *
 * Floors, of n rows of r bytes and g groups of b bytes, at a link's rates: TABLE and WHOLE n * r in, then g * b out. PARTS
 * the longer of both. Partitions cost n * r read and written on the CPU: 1.1 GB/s a thread (README.md). Made by the device
 * batch by batch they would cost n * r in and out once more, both at once: at 50 GB/s less than what 45 threads take. */
#ifndef RQL_PRIMITIVE_HOST_GROUP_BY_H
#define RQL_PRIMITIVE_HOST_GROUP_BY_H

#include "primitive/host/host_join.h"
#include "primitive/raster/group_by.h"

/* Aggregates of a column, as struct rql_group_by_column has them. Sums of 64 bits are modular: whoever does not know better
 * takes wide ones. */
struct rql_host_group_column {
	enum rql_group_by_kind kind;
	uint32_t values; /* column of the rows; two may have the same */
	bool is_signed, wide_sum, sum, min, max;
};

/* Groups in memory that the host and a device reach; a span is there as it is wanted. */
struct rql_host_groups {
	uint64_t rows;
	struct rql_span keys, counts;
	struct rql_span sum[RQL_RELATION_COLUMNS], min[RQL_RELATION_COLUMNS], max[RQL_RELATION_COLUMNS];
};

struct rql_host_group_by {
	enum rql_unit unit;        /* COMPUTE or RASTER. Tables are of compute alone */
	enum rql_raster_totals totals; /* RASTER; of BLENDING each piece in as many passes as are exact */
	struct rql_host_side rows; /* a key is any word; several columns are one word to the caller (flow/keys/keys.h) */
	/* Rows come from the first one on again, as there are more groups than was expected. NULL: then RQL_ERROR_LIMIT. */
	void (*again)(void *state); /* of `rows` */
	uint32_t column_count;
	struct rql_host_group_column columns[RQL_RELATION_COLUMNS];
	uint64_t groups; /* that are expected; 0: as many as rows */
	struct rql_device *const *devices;
	uint32_t device_count;
	uint64_t device_limit, host_limit; /* as of struct rql_host_join */
	struct rql_device *limited;
	const char *folder;
	uint64_t file_limit;
	uint64_t piece_rows; /* at most; 0: chosen */
	/* As of joins. Each group comes once. `room` may be left out. */
	rql_status (*room)(void *state, struct rql_device *device, struct rql_host_groups *groups, struct rql_error *err);
	rql_status (*put)(void *state, const struct rql_host_groups *groups, struct rql_error *err);
	void *state;
	struct rql_progress *progress; /* may be NULL */
	bool timed; /* by devices' clocks: NVIDIA's driver then runs one after the other what else runs side by side */
};

enum rql_host_way { RQL_HOST_TABLE, RQL_HOST_WHOLE, RQL_HOST_PARTS };
struct rql_host_group_report {
	enum rql_host_way way;
	uint64_t in_bytes, out_bytes; /* over the link */
	uint64_t spilled_bytes;
	uint64_t device_peak, host_peak;
	uint64_t groups;
	uint64_t partitions, passes; /* that were grouped; of partitioning on the CPU, at most */
	uint64_t pieces;
	uint64_t tables;   /* partitions that went through a table of their own */
	uint64_t restarts; /* with more groups expected */
	struct rql_raster_group_points points; /* RASTER: of all pieces; rounds: the most */
	uint64_t image_bytes, pixel_bytes;     /* RASTER: of a device's images; of a pixel that holds a row */
	struct rql_device *failed, *full;      /* as of joins */
	struct rql_left_devices left;
	/* As of joins. */
	double open_ns, partition_ns, fill_ns, wait_ns, put_ns, device_ns, link_ns;
};
/* Which way the group-by goes under its limit, and how many partitions there are; 0: none would fit. */
uint64_t rql_host_group_by_partitions(const struct rql_host_group_by *by, enum rql_host_way *way);
/* Bytes of the host's memory that pieces lie in on their way. */
uint64_t rql_host_group_by_staging(const struct rql_host_group_by *by);
/* Shows the compute kernels that it records there. */
rql_status rql_host_group_by_kernels(const struct rql_host_group_by *by, rql_see_kernel *see, void *state,
                                     struct rql_error *err) RQL_MUST_CHECK;
/* Fills in the report also after an error. */
rql_status rql_host_group_by_run(const struct rql_host_group_by *by, struct rql_host_group_report *report,
                                 struct rql_error *err) RQL_MUST_CHECK;

#endif

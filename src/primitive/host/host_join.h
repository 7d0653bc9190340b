/* Joins from the host's memory to the host's memory, of sides of any size (papers/004, 5 and 6.1). What a build side takes
 * on a device decides: does it fit the limit of the device's memory, the probe side streams past it. Of several devices
 * each has the build side then, and they share the pieces of the probe side: INNER, LEFT, SEMI and ANTI by compute, of a
 * build side that can be read more than once, and of sides that are not in place. Else both sides are
 * partitioned on the CPU (host_store.h), beyond a limit of host memory into a temporary file, and each pair of
 * partitions is a join of its own, on one of several devices. A partition that is still too large is partitioned again.
 * One key may have more build rows than a device takes: then these come block by block, and the probe rows with each
 * (INNER, and SEMI that may repeat; other kinds are RQL_ERROR_LIMIT, with need and have).
 *
 * Piece by piece, the probe rows come in, are joined (relation.h), and results go out. A recording joins a piece while the
 * next one comes in and the result of the last one goes out (exchange.h). A second recording waits in the queue behind it,
 * while the CPU takes results and fills the piece after next.
 *
 * By hash images (raster.h) a build side is not kept: each piece draws it again. So a piece is all of a partition's probe
 * rows, where it has room.
 *
 * Floor: the build side's way in, then the longer of the probe side's way in and the result's way out, at the link's
 * rate. Sides that are partitioned on the CPU are read and written once more each, twice with a temporary file. Of n
 * devices each link has the build side and an n-th of the rest. The host's memory has all of that, of what is staged
 * three times: read, written, read by the link. What a processor's cache holds between them it does not have. */
#ifndef RQL_PRIMITIVE_HOST_JOIN_H
#define RQL_PRIMITIVE_HOST_JOIN_H

#include "device/rehearse.h"
#include "primitive/host/host_store.h"
#include "primitive/raster/raster.h"

/* Rows in memory that the host and a device reach: kind READBACK, spans at multiples of 16 bytes. */
#define RQL_HOST_COLUMNS (2 * RQL_RELATION_COLUMNS)
struct rql_host_piece {
	uint64_t rows;
	struct rql_span keys, columns[RQL_HOST_COLUMNS];
};

struct rql_host_side {
	struct rql_host_shape shape;
	uint64_t rows; /* that come, at most: sizes follow from it */
	/* The next rows, piece->rows at most: written where the spans are, or the spans are made those of where they lie on
	 * `device` already and stay as they are until the join is done. piece->rows becomes their number, 0 at the end and
	 * from then on; rows that lie where they are come in multiples of 4. Of a state by one thread at a time. */
	rql_status (*next)(void *state, struct rql_device *device, struct rql_host_piece *piece, struct rql_error *err);
	bool in_place; /* all lie where they are: the spans are NULL before */
	void *state;
	/* Of the build side, for several devices: the state for device `index` of theirs, by which it reads all rows for itself.
	 * It is the caller's. NULL: they come once. */
	void *(*reader)(void *state, uint32_t index);
	struct rql_host_source source; /* the same rows, where they are partitioned on the CPU; may be left out */
};

struct rql_host_join {
	enum rql_join_kind kind; /* INNER, LEFT, SEMI, ANTI, FULL */
	bool drawn;   /* by the unit raster, into hash images: not FULL; else by compute */
	bool repeats; /* SEMI: a probe row may come once for each block of build rows */
	bool has_null_key;
	uint64_t null_key;
	struct rql_host_side build, probe; /* of one key_bits */
	struct rql_device *const *devices;
	uint32_t device_count;
	uint64_t device_limit; /* bytes of each device's memory; 0: what can be had */
	struct rql_device *limited; /* whose room that limit is; NULL: the first one's */
	uint64_t host_limit;   /* of partitions in the host's memory; 0: any */
	const char *folder;    /* for what goes beyond; NULL: nothing may */
	uint64_t file_limit;   /* bytes that may be written there; 0: any */
	uint64_t piece_rows;   /* at most; 0: chosen */
	/* The result: the build side's columns (not of SEMI and ANTI), then the probe side's. `room` gives memory of the
	 * caller's on that device for piece->rows rows, in place of the join's own, and may be left out; of a piece that was too
	 * small nothing is put, and room is asked for again. `put` takes the rows. Both by one thread at a time. */
	rql_status (*room)(void *state, struct rql_device *device, struct rql_host_piece *piece, struct rql_error *err);
	rql_status (*put)(void *state, const struct rql_host_piece *piece, struct rql_error *err);
	/* A probe row that has more matches than there is room for: the caller finds them among the build side's rows himself.
	 * NULL: RQL_ERROR_LIMIT. */
	rql_status (*heavy)(void *state, const struct rql_host_piece *row, struct rql_error *err);
	void *state;
	struct rql_progress *progress; /* may be NULL */
	bool timed; /* by devices' clocks: NVIDIA's driver then runs one after the other what else runs side by side */
};

struct rql_host_report {
	uint64_t build_bytes, probe_bytes, result_bytes; /* over the link */
	uint64_t spilled_bytes;                          /* to the temporary file */
	uint64_t device_peak, host_peak;                 /* bytes: of the device with the most; of partitions */
	uint64_t rows;                                   /* of the result */
	uint64_t partitions, passes;                     /* pairs that were joined; of partitioning on the CPU, at most */
	uint64_t blocks, pieces, repeated;               /* of build sides; of probe sides; whose result was too large */
	uint64_t ordered;                                /* of the build sides: in order of buckets (relation.h) */
	struct rql_raster_points points;                 /* drawn: of all pieces; layers: of the highest stack */
	uint64_t image_bytes, pixel_bytes;               /* drawn: of a device's images; of a pixel that holds a row */
	/* Whose error RQL_ERROR_DEVICE is; of several devices, whose work the others have taken over; else NULL. */
	struct rql_device *failed;
	struct rql_device *full;   /* after RQL_ERROR_LIMIT: whose memory had no room to begin with; NULL: not for that */
	struct rql_left_devices left; /* of several */
	/* Of the caller's clock, summed over devices: memory made, partitioning, build sides handed over, filling pieces,
	 * waiting, taking results. */
	double open_ns, partition_ns, build_ns, fill_ns, wait_ns, put_ns;
	/* Of devices' clocks: all; copies of build sides, and exchanges until the next pass ends; build sides put in order;
	 * looks for matches from the end of the exchange beside them. The rest is partitioning. */
	double device_ns, link_ns, order_ns, match_ns;
};
/* Pairs of partitions that the join is made of on each device under its limit; 0: none would fit. */
uint64_t rql_host_join_partitions(const struct rql_host_join *join);
/* Where none would fit: what the smallest ones take of a device's memory. */
uint64_t rql_host_join_least(const struct rql_host_join *join);
/* Bytes of the host's memory that pieces lie in on their way, beside partitions and what is in place. */
uint64_t rql_host_join_staging(const struct rql_host_join *join);
/* Shows the kernels that it records there. */
rql_status rql_host_join_kernels(const struct rql_host_join *join, rql_see_kernel *see, void *state,
                                 struct rql_error *err) RQL_MUST_CHECK;
/* Fills in the report also after an error. */
rql_status rql_host_join_run(const struct rql_host_join *join, struct rql_host_report *report,
                             struct rql_error *err) RQL_MUST_CHECK;

#endif

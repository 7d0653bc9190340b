/* The rows of one segment as primitives of a space of one to three columns, in an acceleration structure (RTScan 2.3,
 * 3.1, 4.4): a movable placement that the segment owns. NULL has a place of its own behind all keys, so every row is in
 * the space.
 *
 *   RTC1    a column; places are values; triangles, met by perpendicular rays
 *   RTC3    places are values; cubes, met by rays that cross the whole box
 *   MATRIX  places are ranks (or values); cubes, met by short rays
 *   CELLS   places are the bins of the vectors; a primitive is a piece of a cell, RQL_SIEVE_PIECE rows that no vector
 *           tells apart. So only rows that a bound leaves open are ever met, each by one ray. x is bin * pieces + piece.
 *
 * Bytes a row: 28 (AABBs) or 92 (triangles) on NVIDIA; of CELLS as many triangles as there are pieces, and 4 a row. */
#ifndef RQL_METHOD_SIEVE_SIEVE_SPACE_H
#define RQL_METHOD_SIEVE_SIEVE_SPACE_H

#include "device/trace.h"
#include "method/sieve/space/sieve_axis.h"

#define RQL_SIEVE_AXES 3u
#define RQL_SIEVE_PIECE 32u

struct rql_sieve_space {
	struct rql_placement placement; /* first */
	enum rql_sieve_refine refine;
	uint32_t axis_count;
	struct rql_sieve_axis axes[RQL_SIEVE_AXES];
	uint32_t center[RQL_SIEVE_AXES];
	struct rql_accel *accel;
	uint64_t part_primitives; /* of each part but the last */
	/* RTC1: legs are `interval` long. RTC3, MATRIX: matrix.h. */
	uint32_t interval, width, spacing, length;
	/* CELLS: where each primitive's rows begin in `order`, rows of the segment. */
	struct rql_buffer *cells, *order;
	uint32_t pieces;                    /* of the fullest cell */
	uint32_t *pieces_of[RQL_SIEVE_AXES]; /* by place of an axis: of the fullest cell there; malloc'ed */
	float unit_x;
};
/* The columns of of[], all in one form; as rql_sieve_placed_get. */
rql_status rql_sieve_space_get(const struct rql_store_snapshot *snapshot, uint32_t segment,
                               const struct rql_index_of *of, uint32_t axis_count, struct rql_device *gpu,
                               struct rql_device *cpu, struct rql_progress *progress, uint64_t *uploaded,
                               struct rql_sieve_space **out, struct rql_error *err) RQL_MUST_CHECK;
bool rql_sieve_space_there(const struct rql_store_segment *segment, const struct rql_index_of *of, uint32_t axis_count,
                           const struct rql_device *gpu);
/* A guess, without building it. */
double rql_sieve_space_bytes(uint64_t rows, const struct rql_index_of *of, const struct rql_device *gpu);
/* How many rays stand side by side along an axis, of a space of so many rows. */
double rql_sieve_space_side(enum rql_sieve_refine refine, double rows, uint32_t axis_count);

#endif

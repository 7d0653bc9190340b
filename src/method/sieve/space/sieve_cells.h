/* Cells of a space: rows that are in the same bin of every column, in pieces of RQL_SIEVE_PIECE or more. */
#ifndef RQL_METHOD_SIEVE_SIEVE_CELLS_H
#define RQL_METHOD_SIEVE_SIEVE_CELLS_H

#include "method/sieve/space/sieve_space.h"

struct rql_sieve_cells {
	uint32_t count;           /* pieces */
	uint32_t *starts;         /* [count + 1]: into order */
	uint32_t *places;         /* [count][axis_count]: the bins; x times the space's pieces, plus its cell's piece */
	struct rql_buffer *order; /* uint32_t[rows, and more]: rows of the segment, on the device */
};
/* bins: uint32_t[numbers][axis_count] on the GPU, as places are (sieve_places.h). The device sorts the rows, the CPU cuts
 * what is sorted. Sets the space's pieces, pieces_of and unit_x. Memory is of mem, but order's. */
rql_status rql_sieve_cells_make(struct rql_buffer *bins, const struct rql_store_segment *segment,
                                struct rql_device *gpu, struct rql_progress *progress, struct rql_sieve_space *space,
                                struct rql_mem *mem, struct rql_sieve_cells *out, struct rql_error *err) RQL_MUST_CHECK;

#endif

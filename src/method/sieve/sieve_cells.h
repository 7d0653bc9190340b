/* Cells of a space: rows that are in the same bin of every column, in pieces of RQL_SIEVE_PIECE or more. */
#ifndef RQL_METHOD_SIEVE_SIEVE_CELLS_H
#define RQL_METHOD_SIEVE_SIEVE_CELLS_H

#include "method/sieve/sieve_space.h"

struct rql_sieve_cells {
	uint32_t count;    /* pieces */
	uint64_t rows;
	uint32_t *starts;  /* [count + 1]: into order */
	uint32_t *order;   /* [rows]: rows of the segment */
	uint32_t *places;  /* [count][axis_count]: the bins, x times the space's pieces and the piece's number in its cell */
};
/* bins: [rows of the segment by number][axis_count]. Sets the space's pieces, pieces_of and unit_x. Memory is of mem. */
rql_status rql_sieve_cells_make(const uint32_t *bins, const struct rql_store_segment *segment,
                                struct rql_sieve_space *space, struct rql_mem *mem, struct rql_sieve_cells *out,
                                struct rql_error *err) RQL_MUST_CHECK;

#endif

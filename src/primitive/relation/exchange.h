/* Columns that go to a device and columns that come from it, in one pass: a kernel reads and writes the host's memory
 * (READBACK) over the link in both directions at once, which copies of one queue do one after the other. How many rows
 * come may lie on the device, so that nobody waits to know (papers/004, 5: transfers under the work of another batch).
 *
 * Floor: the longer of what goes in and what comes out, at the link's rate in each direction. */
#ifndef RQL_PRIMITIVE_EXCHANGE_H
#define RQL_PRIMITIVE_EXCHANGE_H

#include "primitive/primitive.h"

#define RQL_EXCHANGE_MOVES 28u /* of each way */

struct rql_move {
	uint64_t rows;         /* at most */
	struct rql_span found; /* uint64_t: how many; may be left out: then all */
	uint32_t bits;         /* of a row: 32, 64 or 128 */
	struct rql_span from, to; /* at multiples of 16 bytes */
};
struct rql_exchange {
	uint32_t count[2]; /* moves of each way */
	struct rql_move moves[2][RQL_EXCHANGE_MOVES];
	/* The pass waits for what was written to this buffer: then the next pass, which reads it too, need not wait for this
	 * one and runs beside it. May be left out. */
	struct rql_buffer *after;
	struct rql_buffer *table; /* UPLOAD, RQL_EXCHANGE_TABLE_BYTES: written now, to be kept until the recording has run */
};
#define RQL_EXCHANGE_TABLE_BYTES (2u * RQL_EXCHANGE_MOVES * 5u * 8u)
void rql_exchange_add(struct rql_exchange *exchange, unsigned way, const struct rql_move *move);
rql_status rql_record_exchange(struct rql_commands *c, const struct rql_exchange *exchange,
                               struct rql_error *err) RQL_MUST_CHECK;

#endif

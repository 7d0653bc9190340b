/* Joins of a build side that lies on the device, as a map of unique keys, with a probe side that does not have to: the
 * kernel reads the probe rows from the host's memory and writes the result into the host's memory, both over the link
 * at once, piece by piece. So the device needs memory for the build side alone, and a probe side of any length takes the
 * longer of its way in and the result's way out (papers/004, 5: transfers of one batch under the work of another).
 *
 * Floor of a piece: 8 bytes a probe row in, 8 bytes a match out, at the link's rate in each direction; on the device one
 * random read of the map and one of the build values, 64 bytes in sectors, a probe row. */
#ifndef RQL_PRIMITIVE_STREAM_JOIN_H
#define RQL_PRIMITIVE_STREAM_JOIN_H

#include "primitive/lookup.h"

struct rql_stream_join {
	struct rql_lookup_map map;    /* HASHED or DIRECT, keys of 32 bits that come once */
	struct rql_span build_values; /* uint32_t, a row of the build side each */
	/* The piece: uint32_t each. Memory of kind READBACK lies in the host's, where kernels reach it over the link. */
	uint64_t count;
	struct rql_span keys, values;
	uint64_t capacity; /* matches */
	struct rql_span build_out, probe_out; /* uint32_t[capacity] each: the values of both sides, in no order */
	struct rql_span rows; /* uint64_t of the device: where the piece's matches begin, and then where they end; it may go
	                       * beyond the capacity */
};
rql_status rql_record_stream_join(struct rql_commands *c, const struct rql_stream_join *join,
                                  struct rql_error *err) RQL_MUST_CHECK;

#endif

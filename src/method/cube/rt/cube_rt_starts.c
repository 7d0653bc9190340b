/* From the marks of runs to where they begin. A file of its own because primitive/primitive.h and cube_query.h each have
 * slots of their own. */
#include "method/cube/cube.h"
#include "method/cube/rt/cube_rt_structure.h"
#include "primitive/primitive.h"

static struct rql_compact compaction(const struct rql_rt_starts *s)
{
	return (struct rql_compact){.kind = RQL_COMPACT_BITS,
	                            .index_bits = s->wide ? 64 : 32,
	                            .count = s->cells,
	                            .in = {.buffer = s->marks},
	                            .out = {.buffer = s->starts},
	                            .found = {.buffer = s->found, .offset = s->found_at},
	                            .temp = {.buffer = s->temp}};
}

uint64_t rql_rt_starts_temp_bytes(const struct rql_rt_starts *s)
{
	const struct rql_compact compact = compaction(s);
	return rql_compact_temp_bytes(&compact);
}

rql_status rql_rt_record_starts(struct rql_commands *c, const struct rql_rt_starts *s, struct rql_error *err)
{
	const struct rql_compact compact = compaction(s);
	return rql_record_compact(c, &compact, err);
}

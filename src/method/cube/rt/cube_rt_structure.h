/* The rt structure from inside: what cube_rt_build.c, cube_rt_starts.c and cube_rt_file.c share. */
#ifndef RQL_METHOD_CUBE_CUBE_RT_STRUCTURE_H
#define RQL_METHOD_CUBE_CUBE_RT_STRUCTURE_H

#include "device/work.h"

struct rql_cube;
struct rql_cube_rt;
struct rql_placement;

/* With the cube's arrays placed and room for the digits, nothing else. */
rql_status rql_cube_rt_new(const struct rql_cube *cube, struct rql_device *device, struct rql_cube_rt **out,
                           struct rql_error *err) RQL_MUST_CHECK;
void rql_cube_rt_free(struct rql_placement *placement);
void rql_cube_rt_parts(struct rql_cube_rt *rt, const struct rql_device *device); /* part_primitives */
void rql_cube_rt_settle(struct rql_cube_rt *rt);                                 /* placement.bytes */

/* The positions of the marked cells, ascending, as 4 or 8 bytes each: cube_rt_starts.c. */
struct rql_rt_starts {
	struct rql_buffer *marks; /* uint64 words, bit i of word w: cell 64 * w + i */
	uint64_t cells;
	bool wide;
	struct rql_buffer *starts; /* room for all that are marked */
	struct rql_buffer *found;  /* uint64 at found_at: how many */
	uint64_t found_at;
	struct rql_buffer *temp; /* rql_rt_starts_temp_bytes; NULL when that is 0 */
};
uint64_t rql_rt_starts_temp_bytes(const struct rql_rt_starts *s);
rql_status rql_rt_record_starts(struct rql_commands *c, const struct rql_rt_starts *s,
                                struct rql_error *err) RQL_MUST_CHECK;

#endif

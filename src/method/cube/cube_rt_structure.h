/* The rt structure from inside: what cube_rt_build.c and cube_rt_file.c share. */
#ifndef RQL_METHOD_CUBE_CUBE_RT_STRUCTURE_H
#define RQL_METHOD_CUBE_CUBE_RT_STRUCTURE_H

#include "method/cube/cube_rt.h"

/* With the cube's arrays placed and room for the digits, nothing else. */
rql_status rql_cube_rt_new(const struct rql_cube *cube, struct rql_device *device, struct rql_cube_rt **out,
                           struct rql_error *err) RQL_MUST_CHECK;
void rql_cube_rt_free(struct rql_placement *placement);
void rql_cube_rt_parts(struct rql_cube_rt *rt, const struct rql_device *device); /* part_primitives */
void rql_cube_rt_settle(struct rql_cube_rt *rt);                                 /* placement.bytes */

#endif

/* The cube on a GPU's compute unit: what cube_compute.c and its cost model share. */
#ifndef RQL_METHOD_CUBE_CUBE_COMPUTE_H
#define RQL_METHOD_CUBE_CUBE_COMPUTE_H

#include "method/cube/cube_unit.h"

#define RQL_CUBE_WORKGROUP 256u

/* Where sums meet: the shader's MODE. */
enum rql_cube_mode { RQL_CUBE_SCALAR, RQL_CUBE_SHARED, RQL_CUBE_GLOBAL };

/* How a request is run; unit->method, in prepared->arena. */
struct rql_cube_compute {
	enum rql_cube_mode mode;
	uint32_t lanes;        /* of a tile, which takes one item */
	uint32_t shared_words; /* of rows in a workgroup's shared memory */
	uint64_t workgroups;
	bool reads;           /* some slot or test reads every cell */
	bool queues;          /* and some interval may be too long for one tile: a second pass takes such, in pieces */
	uint32_t piece_lanes; /* of a tile there */
	uint32_t piece;       /* cells */
	uint64_t piece_workgroups, queue_entries;
	uint32_t passes;
};
void rql_cube_compute_plan(const struct rql_prepared *p, const struct rql_device *device, struct rql_cube_compute *out);
void rql_cube_compute_price(const struct rql_prepared *p, const struct rql_device *device, struct rql_cost *out);

#endif

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
	bool resolves;            /* items become entries once, before the first run; every run is one pass over them */
	bool plain;               /* and that is cube_entries.comp */
	uint64_t capacity;        /* of the entries */
	uint64_t most_workgroups; /* over the entries: each takes several beyond */
	/* Made by rql_cube_compute_place, when the request runs first; the unit's lock guards it until then. */
	struct rql_buffer *entries;
	uint64_t entry_count;
	uint64_t totals[RQL_CUBE_TOTAL_WORDS];
	uint64_t entry_workgroups;
	uint32_t entry_lanes, copies; /* plain: copies of the rows */
};
/* At most so many items are resolved (16 MiB of entries). */
#define RQL_CUBE_RESOLVED_ITEMS ((uint64_t)1 << 20)
/* resolved: items that may be resolved, RQL_CUBE_RESOLVED_ITEMS; 0 for none. */
void rql_cube_compute_plan(const struct rql_prepared *p, const struct rql_device *device, uint64_t resolved,
                           struct rql_cube_compute *out);
/* How the entries are spread, once their number is known. */
void rql_cube_compute_spread(const struct rql_prepared *p, const struct rql_device *device,
                             struct rql_cube_compute *plan);
/* Resolves the items, if the plan says so: rql_cube_unit_ops.place and unplace. */
rql_status rql_cube_compute_place(struct rql_cube_unit *unit, struct rql_error *err) RQL_MUST_CHECK;
void rql_cube_compute_unplace(struct rql_cube_unit *unit);
void rql_cube_compute_price(const struct rql_prepared *p, const struct rql_device *device, struct rql_cost *out);

#endif

/* The cube on a GPU's compute unit: what cube_compute.c and its cost model share. */
#ifndef RQL_METHOD_CUBE_CUBE_COMPUTE_H
#define RQL_METHOD_CUBE_CUBE_COMPUTE_H

#include "method/cube/gpu/cube_unit.h"

#define RQL_CUBE_WORKGROUP 256u
/* Invocations of cube_entries.comp and cube_owned.comp that run at once on an H200, at their 60 to 70 registers. */
#define RQL_CUBE_ONE_WAVE 131072u

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
	uint32_t tests;           /* plain: digits that are tested in every cell */
	bool plain;               /* and that is cube_owned.comp or cube_entries.comp */
	uint64_t capacity;        /* of the entries */
	uint64_t most_workgroups; /* over the entries: each takes several beyond */
	uint64_t most_owned;      /* more entries are not dealt out */
	/* Made by rql_cube_compute_place, when the request runs first; the unit's lock guards it until then. */
	struct rql_buffer *entries;
	uint64_t entry_count;
	uint64_t totals[RQL_CUBE_TOTAL_WORDS];
	bool owned; /* plain: every group is one workgroup's, whose tiles take `rounds` entries each */
	uint64_t entry_workgroups;
	uint32_t entry_lanes, rounds;
	uint32_t entry_round; /* plain: edge cells that a lane has in flight */
	uint32_t copies;      /* plain, not owned: of the rows */
};
/* At most so many items are resolved (16 MiB of entries). */
#define RQL_CUBE_RESOLVED_ITEMS ((uint64_t)1 << 20)
/* resolved: items that may be resolved, RQL_CUBE_RESOLVED_ITEMS; 0 for none. */
void rql_cube_compute_plan(const struct rql_prepared *p, const struct rql_device *device, uint64_t resolved,
                           struct rql_cube_compute *out);
/* Cells of an entry that plain sums read one by one, on average. */
double rql_cube_compute_cells(const struct rql_cube_compute *plan);
uint32_t rql_cube_compute_lanes(const struct rql_device *device); /* of a tile, at most: 32 or the subgroup's size */
/* How the entries are spread, once their number is known. */
void rql_cube_compute_spread(const struct rql_prepared *p, const struct rql_device *device,
                             struct rql_cube_compute *plan);
/* Deals the entries of plain sums out to workgroups, if that pays: plan->owned. */
rql_status rql_cube_compute_own(struct rql_cube_unit *unit, struct rql_error *err) RQL_MUST_CHECK;
/* Resolves the items, if the plan says so: rql_cube_unit_ops.place and unplace. */
rql_status rql_cube_compute_place(struct rql_cube_unit *unit, struct rql_error *err) RQL_MUST_CHECK;
void rql_cube_compute_unplace(struct rql_cube_unit *unit);
void rql_cube_compute_price(const struct rql_prepared *p, const struct rql_device *device, struct rql_cost *out);

#endif

/* Placements: what a cube has in a device's memory beside itself, made on first need and kept with the cube. One for
 * its arrays (unit compute, and what the others read), one for an acceleration structure of its keys (rt), one for each
 * of the paper's structures (rt, layout = paper). */
#ifndef RQL_METHOD_CUBE_CUBE_PLACE_H
#define RQL_METHOD_CUBE_CUBE_PLACE_H

#include "device/trace.h"
#include "method/cube/cube.h"

/* First member of every placement. */
struct rql_placement {
	struct rql_device *device;
	const char *kind;            /* "arrays", "rt", "paper": static */
	const char *key;             /* tells placements of one kind apart ("" for most); owned by the placement */
	uint64_t bytes;              /* of the device's memory */
	double build_ms;
	_Atomic uint64_t references; /* the cube's and each prepared request's */
	void (*destroy)(struct rql_placement *placement);
};

/* The placement (device, kind, key) of cube, with one more reference: the present one, or made by `make`, which is
 * called by one thread at a time per placement; others wait for it, and it may place what it needs of another kind or
 * key. A failure of `make` is remembered, unless it was interrupted: later calls return it again at once (the structure
 * is marked), until rql_cube_forget_failures or a rebuild.
 * When memory does not suffice, unused placements of the same kind under other keys are given back first. */
rql_status rql_cube_place(const struct rql_cube *cube, struct rql_device *device, const char *kind, const char *key,
                          rql_status (*make)(const struct rql_cube *cube, struct rql_device *device, const char *key,
                                             void *state, struct rql_placement **out, struct rql_error *err),
                          void *state, struct rql_placement **out, struct rql_error *err) RQL_MUST_CHECK;
/* Is it there (true), so that a price need not hold its making? *failure: the remembered error's message, or NULL;
 * valid as long as the cube. */
bool rql_cube_is_placed(const struct rql_cube *cube, const struct rql_device *device, const char *kind,
                        const char *key, const char **failure);
/* Calls visit with every placement of a kind that is there, none of which can go meanwhile; visit must not place. */
void rql_cube_each_placed(const struct rql_cube *cube, const struct rql_device *device, const char *kind,
                          void (*visit)(void *state, const struct rql_placement *placement), void *state);
void rql_placement_retain(struct rql_placement *placement);
void rql_placement_release(struct rql_placement *placement); /* NULL: nothing */
/* Called by a run that failed on the device: frees the placements on it (when their last reader is done) and remembers
 * the reason, so that later plans choose another device. */
void rql_cube_mark_failed(const struct rql_cube *cube, const struct rql_device *device, const char *reason);
void rql_cube_forget_failures(const struct rql_cube *cube, const struct rql_device *device);
/* When the cube goes (cube.c). */
void rql_cube_placements_free(struct rql_cube *cube);

#endif

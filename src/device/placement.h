/* Placements: what lies in devices' memory for others to find, the one table of it, and who gives way. A placement is
 * made by the first who needs it, shared, and found again until its owner goes or the device has failed. There are two
 * ways to stay there:
 *   kept      its owner (a cube) keeps it to its end, and remembers why one could not be made. When memory does not
 *             suffice for another of the same kind, those that nobody uses are given back first.
 *   movable   (columns of a store) while nobody uses it, it gives way to what needs the room, and can be made again.
 * One table for the process; thread-safe. Nothing is made or destroyed under its lock, which prices wait for. */
#ifndef RQL_DEVICE_PLACEMENT_H
#define RQL_DEVICE_PLACEMENT_H

#include <stddef.h>
#include "device/device.h"

struct rql_place {
	const void *owner; /* what it is a copy of; rql_placements_drop when that goes */
	const char *kind;  /* "arrays", "rt": static */
	uint32_t part;     /* of the owner, as it likes to count them */
	const char *key;   /* tells placements of one kind apart; NULL: "" */
	bool kept;         /* of all of an owner's, or of none */
};

/* First member of whatever is placed. */
struct rql_placement {
	struct rql_device *device;
	uint64_t bytes; /* of the device's memory */
	double build_ms; /* 0: the time that making it took, which placement.c sets */
	void (*destroy)(struct rql_placement *placement);
	struct rql_placed *placed; /* placement.c's */
};

/* Makes what belongs at the place; `out`'s fields but `placed` are set, build_ms where it is another time. Called by one thread at a time for a place,
 * while others wait for it; it may itself get placements of other places. */
typedef rql_status rql_placement_make(const struct rql_place *at, struct rql_device *device, void *state,
                                      struct rql_placement **out, struct rql_error *err);
/* The placement with one more reference: the present one, or made. A failure to make a kept one is remembered, unless
 * it was interrupted: later calls return it again at once, until rql_placements_forgive. */
rql_status rql_placement_get(const struct rql_place *at, struct rql_device *device, rql_placement_make *make,
                             void *state, struct rql_placement **out, struct rql_error *err) RQL_MUST_CHECK;
void rql_placement_release(struct rql_placement *placement); /* NULL accepted */
/* Of each of `count` groups of `each` places the first that is there, with one more reference; NULL: none is. All of
 * them at once, for who reads many: what a point asks of a large table is little beside a lock for each. */
void rql_placements_take(const struct rql_place *at, uint32_t each, uint32_t count, const struct rql_device *device,
                         struct rql_placement **out);
void rql_placements_release(struct rql_placement *const *list, uint32_t count); /* NULLs among them accepted */
/* Is it there, so that a price need not hold its making? A movable one that is on its way is, too, and wanted as of now
 * (rql_placements_evict). *failure (which may be NULL): the remembered error's message, or NULL; it lives as the owner
 * does. */
bool rql_placement_there(const struct rql_place *at, const struct rql_device *device, const char **failure);
/* Calls visit with each that an owner has on a device, none of which can go meanwhile; visit must not come back. */
void rql_placements_each(const void *owner, const struct rql_device *device,
                         void (*visit)(void *state, const struct rql_place *at, const struct rql_placement *placement),
                         void *state);
/* What an owner has on a device in all: bytes, and milliseconds that making it took. kinds, when not NULL, gets their
 * names and times ("arrays in 0.4 ms, rt in 12.0 ms"), at most `size` bytes. *failure: why it is not used there. All
 * but the first two may be NULL. */
uint64_t rql_placements_of(const void *owner, const struct rql_device *device, char *kinds, size_t size, double *ms,
                           const char **failure);
/* What lies on a device in all, used or not; movable: of that, what would give way if nobody used it. */
uint64_t rql_placements_bytes(const struct rql_device *device, bool movable);

/* Gives up movable ones that nobody uses, those first that were not used longest, until `bytes` are freed; returns how
 * many were. Those that were wanted at `since` (rql_now_ns) or later stay: whoever needs room must not lose what it is
 * about to read. */
uint64_t rql_placements_evict(const struct rql_device *device, uint64_t bytes, uint64_t since);
/* ... of those of one kind. */
uint64_t rql_placements_evict_kind(const struct rql_device *device, const char *kind, uint64_t bytes, uint64_t since);
/* A device has failed: nobody finds what the owner has there any more, and it is freed when its last user is done. */
void rql_placements_forget(const void *owner, const struct rql_device *device);
/* The same, and the reason is remembered for all the owner's kept places there. Of two the first stays: what follows it
 * is most often its consequence. */
void rql_placements_fail(const void *owner, const struct rql_device *device, const char *reason);
/* The device may try again. */
void rql_placements_forgive(const void *owner, const struct rql_device *device);
/* The owner goes. */
void rql_placements_drop(const void *owner);
/* The device is closed: what gives way goes (device.c). Owners may outlive it. */
void rql_placements_close(const struct rql_device *device);

#endif

/* The table of placements: by owner, because all questions but how much there is are asked of one. */
#include "device/placement.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 1024u /* by owners */

enum state { MAKING, PLACED, FAILED };

/* A placement, or the memory of a failure: place.kind NULL: of the whole device (rql_placements_fail). */
struct rql_placed {
	struct rql_place place; /* key: its own; owner NULL: nobody finds it any more */
	const struct rql_device *device;
	enum state state;
	struct rql_placement *placement; /* PLACED */
	uint64_t references;             /* the maker's, and its users' */
	uint64_t wanted_ns;              /* when somebody last asked for it */
	rql_status status;               /* FAILED */
	char *failure;
	bool forgiven; /* a failure whose text a caller may still hold: it goes with its owner */
	struct rql_placed *next, *older, *newer; /* in its bucket; among those that may give way */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER; /* something was made, or failed to be */
static struct rql_placed *buckets[BUCKETS];
static struct rql_placed *oldest, *newest; /* movable ones that nobody uses, of all devices */

/* ---- the table; all with the lock held ---- */
static struct rql_placed **bucket_of(const void *owner)
{
	uint64_t hash = (uint64_t)(uintptr_t)owner * UINT64_C(0x9e3779b97f4a7c15);
	return &buckets[hash >> 54];
}

static void insert(struct rql_placed *p, const void *owner)
{
	struct rql_placed **at = bucket_of(owner);
	p->place.owner = owner;
	p->next = *at;
	*at = p;
}

static void take_out(struct rql_placed *p)
{
	struct rql_placed **at = bucket_of(p->place.owner);
	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	p->next = NULL;
}

static const char *key_of(const struct rql_place *at)
{
	return at->key ? at->key : "";
}

static bool is_at(const struct rql_placed *p, const struct rql_place *at, const struct rql_device *device)
{
	if (p->place.owner != at->owner || p->device != device || p->forgiven)
		return false;
	return !p->place.kind || (p->place.part == at->part && strcmp(p->place.kind, at->kind) == 0 &&
	                          strcmp(key_of(&p->place), key_of(at)) == 0);
}

/* The device's own failure before anything else of it. */
static struct rql_placed *find(const struct rql_place *at, const struct rql_device *device)
{
	struct rql_placed *found = NULL;
	for (struct rql_placed *p = *bucket_of(at->owner); p && !(found && !at->kept); p = p->next)
		if (is_at(p, at, device) && (!found || !p->place.kind))
			found = p;
	return found;
}

static void add_idle(struct rql_placed *p)
{
	p->older = newest;
	p->newer = NULL;
	*(newest ? &newest->newer : &oldest) = p;
	newest = p;
}

static void remove_idle(struct rql_placed *p)
{
	*(p->older ? &p->older->newer : &oldest) = p->newer;
	*(p->newer ? &p->newer->older : &newest) = p->older;
	p->older = p->newer = NULL;
}

static void doom(struct rql_placed *p, struct rql_placed **doomed)
{
	p->next = *doomed;
	*doomed = p;
}

/* Nobody finds it any more. One that nobody uses joins the list of those to be destroyed; others still take memory. */
static void disown(struct rql_placed *p, struct rql_placed **doomed)
{
	take_out(p);
	if (p->references) {
		insert(p, NULL);
		return;
	}
	if (p->state == PLACED && !p->place.kept)
		remove_idle(p);
	doom(p, doomed);
}

static struct rql_placed *add(const struct rql_place *at, const struct rql_device *device)
{
	struct rql_placed *p = calloc(1, sizeof(*p));
	char *key = at->key ? strdup(at->key) : NULL;
	if (!p || (at->key && !key)) {
		free(p);
		free(key);
		return NULL;
	}
	*p = (struct rql_placed){.place = *at, .device = device, .references = 1};
	p->place.key = key;
	insert(p, at->owner);
	return p;
}

/* What the owner has on the device (NULL: on any): what lies there, and (all) what is known of failures. */
static void disown_all(const void *owner, const struct rql_device *device, bool all, struct rql_placed **doomed)
{
	for (struct rql_placed *p = *bucket_of(owner), *next; p; p = next) {
		next = p->next;
		bool lies = p->state == PLACED || (p->state == MAKING && !p->place.kept);
		if (p->place.owner == owner && (!device || p->device == device) && (all || lies))
			disown(p, doomed);
	}
}

/* Gives back what is placed under other keys of the kind and nobody uses: it can be made again. */
static bool disown_others(const struct rql_placed *wanted, struct rql_placed **doomed)
{
	for (struct rql_placed *p = *bucket_of(wanted->place.owner), *next; p; p = next) {
		next = p->next;
		if (p != wanted && p->place.owner == wanted->place.owner && p->device == wanted->device && p->state == PLACED &&
		    strcmp(p->place.kind, wanted->place.kind) == 0 && !p->references)
			disown(p, doomed);
	}
	return *doomed != NULL;
}

/* ---- without it ---- */
static void destroy(struct rql_placed *doomed)
{
	while (doomed) {
		struct rql_placed *p = doomed;
		doomed = p->next;
		if (p->placement)
			p->placement->destroy(p->placement);
		free((char *)(uintptr_t)p->place.key);
		free(p->failure);
		free(p);
	}
}

/* Ends a change of the table. */
static void unlock(struct rql_placed *doomed)
{
	pthread_mutex_unlock(&lock);
	destroy(doomed);
}

/* ---- one placement ---- */
/* Makes p, which is in the table with its maker's reference; the lock is held before and after. */
static rql_status make_timed(struct rql_placed *p, const struct rql_place *at, struct rql_device *device,
                             rql_placement_make *make, void *state, struct rql_error *err)
{
	const uint64_t start = rql_now_ns();
	rql_status status = make(at, device, state, &p->placement, err);
	if (status == RQL_OK && !(p->placement->build_ms > 0))
		p->placement->build_ms = (double)(rql_now_ns() - start) / 1e6;
	return status;
}

static rql_status make_it(struct rql_placed *p, struct rql_device *device, rql_placement_make *make, void *state,
                          struct rql_error *err)
{
	const struct rql_place at = p->place; /* as it is now, whoever drops it meanwhile */
	struct rql_placed *doomed = NULL;
	pthread_mutex_unlock(&lock);
	rql_status status = make_timed(p, &at, device, make, state, err);
	pthread_mutex_lock(&lock);
	if (status != RQL_ERROR_LIMIT || !at.kept || !disown_others(p, &doomed))
		return status;
	unlock(doomed);
	rql_error_clear(err);
	status = make_timed(p, &at, device, make, state, err);
	pthread_mutex_lock(&lock);
	return status;
}

/* Only a failure that can be worded is remembered. */
static void settle(struct rql_placed *p, rql_status status, const struct rql_error *why, struct rql_placed **doomed)
{
	if (status == RQL_OK) {
		p->state = PLACED;
		p->placement->placed = p;
		return;
	}
	p->references = 0;
	p->placement = NULL;
	p->failure = p->place.kept && status != RQL_ERROR_INTERRUPTED ? strdup(rql_error_message(why)) : NULL;
	p->status = status;
	p->state = FAILED;
	if (!p->failure || !p->place.owner) {
		take_out(p);
		doom(p, doomed);
	}
}

rql_status rql_placement_get(const struct rql_place *at, struct rql_device *device, rql_placement_make *make,
                             void *state, struct rql_placement **out, struct rql_error *err)
{
	struct rql_placed *p, *doomed = NULL;
	struct rql_error why = {0};
	rql_status status = RQL_OK;
	uint64_t start = rql_now_ns();
	pthread_mutex_lock(&lock);
	while ((p = find(at, device)) && p->state == MAKING)
		pthread_cond_wait(&changed, &lock);
	if (p && p->state == FAILED) {
		status = rql_error_set(&why, p->status, "%s", p->failure);
	} else if (p) {
		if (p->references++ == 0 && !p->place.kept)
			remove_idle(p);
	} else if ((p = add(at, device))) {
		p->wanted_ns = start;
		status = make_it(p, device, make, state, &why);
		settle(p, status, &why, &doomed);
		pthread_cond_broadcast(&changed);
	} else {
		status = rql_error_memory(&why, sizeof(*p), "a placement");
	}
	if (status == RQL_OK) {
		p->wanted_ns = p->wanted_ns > start ? p->wanted_ns : start;
		*out = p->placement;
	}
	unlock(doomed);
	rql_error_move(err, &why);
	return status;
}

void rql_placements_take(const struct rql_place *at, uint32_t each, uint32_t count, const struct rql_device *device,
                         struct rql_placement **out)
{
	const uint64_t now = rql_now_ns();
	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < count; i++) {
		struct rql_placed *p = NULL;
		for (uint32_t k = 0; k < each && !(p && p->state == PLACED); k++)
			p = find(&at[i * each + k], device);
		const bool there = p && p->state == PLACED;
		out[i] = there ? p->placement : NULL;
		if (!there)
			continue;
		if (p->references++ == 0 && !p->place.kept)
			remove_idle(p);
		p->wanted_ns = p->wanted_ns > now ? p->wanted_ns : now;
	}
	pthread_mutex_unlock(&lock);
}

static void give_up(struct rql_placed *p, struct rql_placed **doomed)
{
	if (--p->references == 0 && !p->place.owner) {
		take_out(p);
		doom(p, doomed);
	} else if (p->references == 0 && !p->place.kept) {
		add_idle(p);
	}
}

void rql_placements_release(struct rql_placement *const *list, uint32_t count)
{
	struct rql_placed *doomed = NULL;
	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < count; i++)
		if (list[i])
			give_up(list[i]->placed, &doomed);
	unlock(doomed);
}

void rql_placement_release(struct rql_placement *placement)
{
	if (placement)
		rql_placements_release(&placement, 1);
}

bool rql_placement_there(const struct rql_place *at, const struct rql_device *device, const char **failure)
{
	uint64_t now = rql_now_ns();
	pthread_mutex_lock(&lock);
	struct rql_placed *p = find(at, device);
	bool there = p && (p->state == PLACED || (p->state == MAKING && !at->kept));
	if (there)
		p->wanted_ns = now;
	if (failure)
		*failure = p && p->state == FAILED ? p->failure : NULL;
	pthread_mutex_unlock(&lock);
	return there;
}

/* ---- an owner's ---- */
void rql_placements_each(const void *owner, const struct rql_device *device,
                         void (*visit)(void *state, const struct rql_place *at, const struct rql_placement *placement),
                         void *state)
{
	pthread_mutex_lock(&lock);
	for (const struct rql_placed *p = *bucket_of(owner); p; p = p->next)
		if (p->place.owner == owner && p->device == device && p->state == PLACED)
			visit(state, &p->place, p->placement);
	pthread_mutex_unlock(&lock);
}

uint64_t rql_placements_of(const void *owner, const struct rql_device *device, char *kinds, size_t size, double *ms,
                           const char **failure)
{
	uint64_t bytes = 0;
	size_t used = 0;
	double sum = 0;
	const char *why = NULL;
	if (kinds && size)
		kinds[0] = 0;
	pthread_mutex_lock(&lock);
	for (const struct rql_placed *p = *bucket_of(owner); p; p = p->next) {
		if (p->place.owner != owner || p->device != device || p->forgiven)
			continue;
		if (p->state == FAILED && (!why || !p->place.kind))
			why = p->failure;
		if (p->state != PLACED)
			continue;
		bytes += p->placement->bytes;
		sum += p->placement->build_ms;
		if (kinds && used < size) {
			int n = snprintf(kinds + used, size - used, "%s%s in %.1f ms", used ? ", " : "", p->place.kind,
			                 p->placement->build_ms);
			used += n > 0 ? (size_t)n : 0;
		}
	}
	pthread_mutex_unlock(&lock);
	if (ms)
		*ms = sum;
	if (failure)
		*failure = why;
	return bytes;
}

uint64_t rql_placements_bytes(const struct rql_device *device, bool movable)
{
	uint64_t bytes = 0;
	pthread_mutex_lock(&lock);
	for (uint32_t b = 0; b < BUCKETS; b++)
		for (const struct rql_placed *p = buckets[b]; p; p = p->next)
			if (p->device == device && p->state == PLACED && !(movable && p->place.kept))
				bytes += p->placement->bytes;
	pthread_mutex_unlock(&lock);
	return bytes;
}

/* ---- giving way ---- */
uint64_t rql_placements_evict(const struct rql_device *device, uint64_t bytes, uint64_t since)
{
	return rql_placements_evict_kind(device, NULL, bytes, since);
}

uint64_t rql_placements_evict_kind(const struct rql_device *device, const char *kind, uint64_t bytes, uint64_t since)
{
	struct rql_placed *doomed = NULL;
	uint64_t freed = 0;
	pthread_mutex_lock(&lock);
	for (struct rql_placed *p = oldest, *newer; p && freed < bytes; p = newer) {
		newer = p->newer;
		if (p->device != device || p->wanted_ns >= since || (kind && strcmp(p->place.kind, kind) != 0))
			continue;
		freed += p->placement->bytes;
		disown(p, &doomed);
	}
	unlock(doomed);
	return freed;
}

void rql_placements_close(const struct rql_device *device)
{
	(void)rql_placements_evict(device, UINT64_MAX, UINT64_MAX);
}

void rql_placements_forget(const void *owner, const struct rql_device *device)
{
	struct rql_placed *doomed = NULL;
	pthread_mutex_lock(&lock);
	disown_all(owner, device, false, &doomed);
	unlock(doomed);
}

void rql_placements_fail(const void *owner, const struct rql_device *device, const char *reason)
{
	const struct rql_place whole = {.owner = owner, .kept = true};
	struct rql_placed *doomed = NULL;
	bool known = false;
	pthread_mutex_lock(&lock);
	disown_all(owner, device, false, &doomed);
	for (const struct rql_placed *p = *bucket_of(owner); p; p = p->next)
		known |= p->place.owner == owner && p->device == device && !p->place.kind && !p->forgiven;
	char *failure = known ? NULL : strdup(reason);
	struct rql_placed *p = failure ? add(&whole, device) : NULL; /* without memory the next run finds out again */
	if (p) {
		p->references = 0;
		p->state = FAILED;
		p->status = RQL_ERROR_DEVICE;
		p->failure = failure;
	} else {
		free(failure);
	}
	unlock(doomed);
}

void rql_placements_forgive(const void *owner, const struct rql_device *device)
{
	pthread_mutex_lock(&lock);
	for (struct rql_placed *p = *bucket_of(owner); p; p = p->next)
		if (p->place.owner == owner && p->device == device && p->state == FAILED)
			p->forgiven = true;
	pthread_mutex_unlock(&lock);
}

void rql_placements_drop(const void *owner)
{
	struct rql_placed *doomed = NULL;
	pthread_mutex_lock(&lock);
	disown_all(owner, NULL, true, &doomed);
	unlock(doomed);
}

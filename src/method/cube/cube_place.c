/* The list of a cube's placements. Everything here happens once per cube and device, or once per plan: one lock and a
 * short list will do. The lock is never held while something is made, because that can take a second and a price must
 * not wait for it. */
#include "method/cube/cube_place.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "method/cube/cube_arrays.h"
#include "method/cube/cube_rt.h"

enum state { MAKING, PLACED, FAILED };

/* A placement, or the memory of a failure. kind NULL: of the whole device (rql_cube_mark_failed). */
struct entry {
	const struct rql_device *device;
	const char *kind;
	char *key;
	enum state state;
	struct rql_placement *placement; /* PLACED: with the cube's reference */
	rql_status status;               /* FAILED */
	char *failure;
	bool forgotten; /* a failure whose text a caller may still hold: it goes with the cube */
	struct entry *next;
};

struct rql_cube_placements {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct entry *entries;
};

/* The cube's list, made on first need; NULL: out of memory. */
static struct rql_cube_placements *placements_of(const struct rql_cube *cube)
{
	/* What is placed elsewhere is not part of what a reader of a const cube sees. */
	struct rql_cube *owner = (struct rql_cube *)(uintptr_t)cube;
	struct rql_cube_placements *now = atomic_load(&owner->placements);
	if (now)
		return now;
	struct rql_cube_placements *made = calloc(1, sizeof(*made));
	if (!made)
		return NULL;
	if (pthread_mutex_init(&made->lock, NULL) != 0) {
		free(made);
		return NULL;
	}
	if (pthread_cond_init(&made->changed, NULL) != 0) {
		pthread_mutex_destroy(&made->lock);
		free(made);
		return NULL;
	}
	if (atomic_compare_exchange_strong(&owner->placements, &now, made))
		return made;
	pthread_cond_destroy(&made->changed);
	pthread_mutex_destroy(&made->lock);
	free(made);
	return now;
}

static struct rql_cube_placements *lock_existing(const struct rql_cube *cube)
{
	struct rql_cube_placements *list = atomic_load(&((struct rql_cube *)(uintptr_t)cube)->placements);
	if (list)
		pthread_mutex_lock(&list->lock);
	return list;
}

static bool is_for(const struct entry *e, const struct rql_device *device, const char *kind, const char *key)
{
	if (e->device != device || e->forgotten)
		return false;
	return !e->kind || (strcmp(e->kind, kind) == 0 && strcmp(e->key, key) == 0);
}

/* The device's own failure before anything else of it. */
static struct entry *find(const struct rql_cube_placements *list, const struct rql_device *device, const char *kind,
                          const char *key)
{
	struct entry *found = NULL;
	for (struct entry *e = list->entries; e; e = e->next)
		if (is_for(e, device, kind, key) && (!found || !e->kind))
			found = e;
	return found;
}

static void free_entry(struct entry *e)
{
	free(e->key);
	free(e->failure);
	free(e);
}

static struct entry *add_entry(struct rql_cube_placements *list, const struct rql_device *device, const char *kind,
                               const char *key)
{
	struct entry *e = calloc(1, sizeof(*e));
	char *copy = strdup(key);
	if (!e || !copy) {
		free(e);
		free(copy);
		return NULL;
	}
	*e = (struct entry){.device = device, .kind = kind, .key = copy, .next = list->entries};
	list->entries = e;
	return e;
}

static void drop_entry(struct rql_cube_placements *list, struct entry *gone)
{
	struct entry **at = &list->entries;
	while (*at != gone)
		at = &(*at)->next;
	*at = gone->next;
	free_entry(gone);
}

/* Remembers why, and says it to err as well. Only a failure that can be worded is remembered. */
static void settle_failure(struct rql_cube_placements *list, struct entry *e, rql_status status,
                           const struct rql_error *why)
{
	e->failure = status == RQL_ERROR_INTERRUPTED ? NULL : strdup(rql_error_message(why));
	e->status = status;
	e->state = FAILED;
	if (!e->failure)
		drop_entry(list, e);
}

/* Gives back what is placed under other keys of the kind and nobody but the cube holds: structures for other query
 * shapes, which can be built again. false: there was nothing. Called with the lock held. */
static bool evict_others(struct rql_cube_placements *list, const struct entry *wanted)
{
	bool some = false;
	for (struct entry *e = list->entries, *next; e; e = next) {
		next = e->next;
		if (e == wanted || e->device != wanted->device || e->state != PLACED || strcmp(e->kind, wanted->kind) != 0 ||
		    atomic_load(&e->placement->references) != 1)
			continue;
		rql_placement_release(e->placement);
		drop_entry(list, e);
		some = true;
	}
	return some;
}

rql_status rql_cube_place(const struct rql_cube *cube, struct rql_device *device, const char *kind, const char *key,
                          rql_status (*make)(const struct rql_cube *cube, struct rql_device *device, const char *key,
                                             void *state, struct rql_placement **out, struct rql_error *err),
                          void *state, struct rql_placement **out, struct rql_error *err)
{
	struct rql_cube_placements *list = placements_of(cube);
	if (!list)
		return rql_error_memory(err, sizeof(*list), "a cube's placements");
	pthread_mutex_lock(&list->lock);
	struct entry *e;
	while ((e = find(list, device, kind, key)) && e->state == MAKING)
		pthread_cond_wait(&list->changed, &list->lock);
	rql_status status = RQL_OK;
	if (e && e->state == PLACED) {
		rql_placement_retain(e->placement);
		*out = e->placement;
	} else if (e) {
		status = rql_error_set(err, e->status, "%s", e->failure);
	} else if (!(e = add_entry(list, device, kind, key))) {
		status = rql_error_memory(err, sizeof(*e), "a cube's placement");
	} else {
		struct rql_placement *made = NULL;
		struct rql_error why = {0};
		pthread_mutex_unlock(&list->lock);
		status = make(cube, device, key, state, &made, &why);
		pthread_mutex_lock(&list->lock);
		if (status == RQL_ERROR_LIMIT && evict_others(list, e)) {
			rql_error_clear(&why);
			pthread_mutex_unlock(&list->lock);
			status = make(cube, device, key, state, &made, &why);
			pthread_mutex_lock(&list->lock);
		}
		if (status == RQL_OK) {
			e->placement = made;
			e->state = PLACED;
			rql_placement_retain(made);
			*out = made;
		} else {
			settle_failure(list, e, status, &why);
			rql_error_set(err, status, "%s", rql_error_message(&why));
		}
		rql_error_clear(&why);
		pthread_cond_broadcast(&list->changed);
	}
	pthread_mutex_unlock(&list->lock);
	return status;
}

bool rql_cube_is_placed(const struct rql_cube *cube, const struct rql_device *device, const char *kind, const char *key,
                        const char **failure)
{
	if (failure)
		*failure = NULL;
	struct rql_cube_placements *list = lock_existing(cube);
	if (!list)
		return false;
	const struct entry *e = find(list, device, kind, key);
	bool placed = e && e->state == PLACED;
	if (failure && e && e->state == FAILED)
		*failure = e->failure;
	pthread_mutex_unlock(&list->lock);
	return placed;
}

void rql_cube_each_placed(const struct rql_cube *cube, const struct rql_device *device, const char *kind,
                          void (*visit)(void *state, const struct rql_placement *placement), void *state)
{
	struct rql_cube_placements *list = lock_existing(cube);
	if (!list)
		return;
	for (const struct entry *e = list->entries; e; e = e->next)
		if (e->device == device && e->kind && e->state == PLACED && strcmp(e->kind, kind) == 0)
			visit(state, e->placement);
	pthread_mutex_unlock(&list->lock);
}

void rql_placement_retain(struct rql_placement *placement)
{
	atomic_fetch_add_explicit(&placement->references, 1, memory_order_relaxed);
}

void rql_placement_release(struct rql_placement *placement)
{
	if (placement && atomic_fetch_sub_explicit(&placement->references, 1, memory_order_acq_rel) == 1)
		placement->destroy(placement);
}

void rql_cube_mark_failed(const struct rql_cube *cube, const struct rql_device *device, const char *reason)
{
	struct rql_cube_placements *list = placements_of(cube);
	if (!list)
		return; /* no memory for a note: the next run finds out again */
	pthread_mutex_lock(&list->lock);
	struct entry *whole = NULL;
	for (struct entry *e = list->entries, *next; e; e = next) {
		next = e->next;
		if (e->device != device || e->forgotten)
			continue;
		if (!e->kind) {
			whole = e;
		} else if (e->state == PLACED) {
			rql_placement_release(e->placement);
			drop_entry(list, e);
		}
	}
	/* The first reason stays: what follows it is most often its consequence. */
	if (!whole && (whole = add_entry(list, device, NULL, ""))) {
		whole->state = FAILED;
		whole->status = RQL_ERROR_DEVICE;
		whole->failure = strdup(reason);
		if (!whole->failure)
			drop_entry(list, whole);
	}
	pthread_mutex_unlock(&list->lock);
}

void rql_cube_forget_failures(const struct rql_cube *cube, const struct rql_device *device)
{
	struct rql_cube_placements *list = lock_existing(cube);
	if (!list)
		return;
	for (struct entry *e = list->entries; e; e = e->next)
		if (e->device == device && e->state == FAILED)
			e->forgotten = true;
	pthread_mutex_unlock(&list->lock);
}

void rql_cube_placements_free(struct rql_cube *cube)
{
	struct rql_cube_placements *list = atomic_exchange(&cube->placements, NULL);
	if (!list)
		return;
	while (list->entries) {
		struct entry *e = list->entries;
		list->entries = e->next;
		rql_placement_release(e->placement);
		free_entry(e);
	}
	pthread_cond_destroy(&list->changed);
	pthread_mutex_destroy(&list->lock);
	free(list);
}

uint64_t rql_cube_device_bytes(const struct rql_cube *cube, const struct rql_device *device, char *kinds, size_t size,
                               const char **failure)
{
	uint64_t bytes = 0;
	size_t used = 0;
	if (failure)
		*failure = NULL;
	if (kinds && size)
		kinds[0] = 0;
	struct rql_cube_placements *list = lock_existing(cube);
	if (!list)
		return 0;
	for (const struct entry *e = list->entries; e; e = e->next) {
		if (e->device != device || e->forgotten)
			continue;
		if (e->state == FAILED && failure && (!*failure || !e->kind))
			*failure = e->failure;
		if (e->state != PLACED)
			continue;
		bytes += e->placement->bytes;
		if (kinds && used < size) {
			int n = snprintf(kinds + used, size - used, "%s%s in %.1f ms", used ? ", " : "", e->kind,
			                 e->placement->build_ms);
			used += n > 0 ? (size_t)n : 0;
		}
	}
	pthread_mutex_unlock(&list->lock);
	return bytes;
}

double rql_cube_device_ms(const struct rql_cube *cube, const struct rql_device *device)
{
	double ms = 0;
	struct rql_cube_placements *list = lock_existing(cube);
	if (!list)
		return 0;
	for (const struct entry *e = list->entries; e; e = e->next)
		if (e->device == device && e->state == PLACED)
			ms += e->placement->build_ms;
	pthread_mutex_unlock(&list->lock);
	return ms;
}

rql_status rql_cube_place_for(const struct rql_cube *cube, struct rql_device *device, enum rql_unit unit,
                              struct rql_error *err)
{
	if (unit == RQL_UNIT_RT) {
		struct rql_cube_rt *rt;
		RQL_TRY(rql_cube_rt_get(cube, device, NULL, &rt, err));
		rql_placement_release(&rt->placement);
		return RQL_OK;
	}
	if (unit != RQL_UNIT_COMPUTE)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "a cube is not placed for unit %s", rql_unit_name(unit));
	struct rql_cube_arrays *arrays;
	RQL_TRY(rql_cube_arrays_get(cube, device, &arrays, err));
	rql_placement_release(&arrays->placement);
	return RQL_OK;
}

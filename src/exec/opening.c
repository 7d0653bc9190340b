/* The thread that opens and measures a database's GPUs. */
#include "exec/opening.h"

#include <signal.h>
#include <stdlib.h>

#include "device/compile.h"
#include "exec/exec_internal.h"

void rql_opening_init(struct rql_opening *opening)
{
	pthread_mutex_init(&opening->lock, NULL);
	pthread_cond_init(&opening->changed, NULL);
}

static bool is_used_unnamed(const struct rql_device *device)
{
	return device->kind != RQL_DEVICE_CPU && (device->kind != RQL_DEVICE_SOFTWARE || device->as_real);
}

/* Where there is no GPU, nothing better is to be had: the plans that were made meanwhile stay. */
static void settle(struct rql_database *db)
{
	struct rql_opening *o = &db->opening;
	bool some = false;
	for (uint32_t i = 1; i < atomic_load(&db->devices->count); i++)
		some |= is_used_unnamed(&db->devices->device[i]);
	for (uint32_t i = 0; i < o->count; i++) {
		if (some)
			rql_awaited_settle(o->waiting[i]);
		rql_awaited_release(o->waiting[i]);
	}
	o->count = 0;
}

static void *open_devices(void *state)
{
	struct rql_database *db = state;
	struct rql_opening *o = &db->opening;
	if (!atomic_load(&o->stopping))
		rql_devices_find(db->devices);
	if (o->listed)
		o->listed(o->listed_state);
	for (uint32_t i = 1; i < atomic_load(&db->devices->count) && !atomic_load(&o->stopping); i++)
		rql_database_measure(db, &db->devices->device[i]);
	pthread_mutex_lock(&o->lock);
	o->done = true;
	settle(db);
	pthread_cond_broadcast(&o->changed);
	pthread_mutex_unlock(&o->lock);
	return NULL;
}

/* No signal of the program's is handled here. */
static bool start(struct rql_database *db)
{
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	bool started = pthread_create(&db->opening.thread, NULL, open_devices, db) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return started;
}

static void begin_locked(struct rql_database *db)
{
	struct rql_opening *o = &db->opening;
	if (!o->started && !o->done && !atomic_load(&o->stopping))
		o->started = start(db);
}

void rql_opening_begin(struct rql_database *db, const struct rql_settings *settings)
{
	if (settings->only || (settings->unit_forced && settings->unit == RQL_UNIT_CPU))
		return;
	pthread_mutex_lock(&db->opening.lock);
	begin_locked(db);
	pthread_mutex_unlock(&db->opening.lock);
}

/* Also by others than the thread, who waited for it. */
static bool are_measured(struct rql_database *db)
{
	bool all = rql_devices_found(db->devices);
	for (uint32_t i = 1; all && i < atomic_load(&db->devices->count); i++)
		all = !is_used_unnamed(&db->devices->device[i]) || atomic_load(&db->devices_ready) >> i & 1;
	return all;
}

static bool add(struct rql_opening *o, struct rql_awaited *awaited)
{
	if (o->count == o->capacity) {
		uint32_t capacity = o->capacity ? 2 * o->capacity : 16;
		struct rql_awaited **grown = realloc(o->waiting, capacity * sizeof *grown);
		if (!grown)
			return false;
		o->waiting = grown;
		o->capacity = capacity;
	}
	rql_awaited_count(awaited);
	o->waiting[o->count++] = rql_awaited_retain(awaited);
	return true;
}

bool rql_opening_is_over(struct rql_database *db, struct rql_awaited *awaited)
{
	struct rql_opening *o = &db->opening;
	if (are_measured(db))
		return true;
	if (!awaited)
		return false;
	pthread_mutex_lock(&o->lock);
	begin_locked(db);
	bool over = o->done || !o->started || !add(o, awaited);
	pthread_mutex_unlock(&o->lock);
	return over;
}

void rql_opening_finish(struct rql_database *db)
{
	struct rql_opening *o = &db->opening;
	pthread_mutex_lock(&o->lock);
	while (o->started && !o->done)
		pthread_cond_wait(&o->changed, &o->lock);
	pthread_mutex_unlock(&o->lock);
}

void rql_opening_end(struct rql_database *db)
{
	struct rql_opening *o = &db->opening;
	atomic_store(&o->stopping, true);
	if (o->started)
		pthread_join(o->thread, NULL);
	free(o->waiting);
	pthread_cond_destroy(&o->changed);
	pthread_mutex_destroy(&o->lock);
}

/* Callbacks of a connection: progress, told by a thread that waits beside the calls, and a log of its statements. */
#include "api/api_internal.h"
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct rql_api_watch {
	pthread_t thread;
	pthread_mutex_t lock; /* held while the callback runs, so that a call does not return before it */
	pthread_cond_t moved; /* on the monotonic clock */
	bool over;
	unsigned running; /* calls under way: 0, 1, or 2 where one of RayQL's own is inside of another */
	uint64_t serial;  /* of the call, from 1 on */
	uint64_t ended;   /* the call that the callback has ended: it is not asked again, however long the end takes */
	uint32_t interval_ms;
	rayql_progress_function *fn;
	void *state;
	rayql_connection *connection;
};

static struct timespec later(uint32_t ms)
{
	struct timespec at;
	clock_gettime(CLOCK_MONOTONIC, &at);
	at.tv_sec += ms / 1000;
	at.tv_nsec += (long)(ms % 1000) * 1000000;
	if (at.tv_nsec >= 1000000000) {
		at.tv_sec++;
		at.tv_nsec -= 1000000000;
	}
	return at;
}

/* With the lock held. */
static void tell(struct rql_api_watch *watch)
{
	rayql_progress_info info;
	rayql_progress(watch->connection, &info);
	if (watch->ended != watch->serial && watch->fn(watch->state, &info))
		return;
	watch->ended = watch->serial;
	rayql_interrupt(watch->connection);
}

static void *watch_calls(void *state)
{
	struct rql_api_watch *watch = state;
	pthread_mutex_lock(&watch->lock);
	while (!watch->over) {
		if (!watch->running) {
			pthread_cond_wait(&watch->moved, &watch->lock);
			continue;
		}
		uint64_t serial = watch->serial;
		struct timespec until = later(watch->interval_ms);
		int waited = 0;
		while (!watch->over && watch->running && watch->serial == serial && waited != ETIMEDOUT)
			waited = pthread_cond_timedwait(&watch->moved, &watch->lock, &until);
		if (waited == ETIMEDOUT && !watch->over && watch->running && watch->serial == serial)
			tell(watch);
	}
	pthread_mutex_unlock(&watch->lock);
	return NULL;
}

void rql_api_begin(rayql_connection *con)
{
	struct rql_api_watch *watch = con->watch;
	if (!watch)
		return;
	pthread_mutex_lock(&watch->lock);
	watch->running++;
	watch->serial++;
	pthread_cond_signal(&watch->moved);
	pthread_mutex_unlock(&watch->lock);
}

/* Who waits for this call to last long enough finds another serial later: nobody is woken. */
void rql_api_end(rayql_connection *con)
{
	struct rql_api_watch *watch = con->watch;
	if (!watch)
		return;
	pthread_mutex_lock(&watch->lock);
	watch->running--;
	pthread_mutex_unlock(&watch->lock);
}

void rql_api_unwatch(rayql_connection *con)
{
	struct rql_api_watch *watch = con->watch;
	if (!watch)
		return;
	con->watch = NULL;
	pthread_mutex_lock(&watch->lock);
	watch->over = true;
	pthread_cond_signal(&watch->moved);
	pthread_mutex_unlock(&watch->lock);
	pthread_join(watch->thread, NULL);
	pthread_cond_destroy(&watch->moved);
	pthread_mutex_destroy(&watch->lock);
	free(watch);
}

static bool start(struct rql_api_watch *watch)
{
	pthread_condattr_t clock;
	if (pthread_condattr_init(&clock) != 0)
		return false;
	bool ok = pthread_condattr_setclock(&clock, CLOCK_MONOTONIC) == 0 && pthread_cond_init(&watch->moved, &clock) == 0;
	pthread_condattr_destroy(&clock);
	if (!ok)
		return false;
	if (pthread_mutex_init(&watch->lock, NULL) == 0) {
		if (pthread_create(&watch->thread, NULL, watch_calls, watch) == 0)
			return true;
		pthread_mutex_destroy(&watch->lock);
	}
	pthread_cond_destroy(&watch->moved);
	return false;
}

rayql_status rayql_set_progress(rayql_connection *con, uint32_t interval_ms, rayql_progress_function *fn, void *state,
                                rayql_error **error)
{
	struct rql_error err = {0};
	if (!con)
		return rql_api_misuse(error, "rayql_set_progress: con is NULL");
	rql_api_unwatch(con);
	if (!fn)
		return RAYQL_OK;
	struct rql_api_watch *watch = calloc(1, sizeof *watch);
	if (watch) {
		watch->connection = con;
		watch->fn = fn;
		watch->state = state;
		watch->interval_ms = interval_ms ? interval_ms : 100;
	}
	if (!watch || !start(watch)) {
		free(watch);
		rql_error_memory(&err, sizeof *watch, "a thread for progress");
		return rql_api_fail(&err, error);
	}
	con->watch = watch;
	return RAYQL_OK;
}

/* ---- the log ---- */
void rayql_set_log(rayql_connection *con, rayql_log_level level, rayql_log_function *fn, void *state)
{
	if (!con)
		return;
	con->log_level = level;
	con->log = fn;
	con->log_state = state;
}

static void log_statement(rayql_connection *con)
{
	const struct rql_report *r = rql_session_report(con->session);
	char *text = NULL;
	if (asprintf(&text, "%s%s%s, %.3f ms: %s", r->method, r->device[0] ? " on " : "", r->device,
	             r->plan_ms + r->run_ms + r->finish_ms, r->reason.data ? r->reason.data : "") < 0)
		return;
	con->log(con->log_state, RAYQL_LOG_STATEMENT, text);
	free(text);
}

void rql_api_log(rayql_connection *con, const struct rql_error *err, const struct rql_result *res)
{
	if (!con->log)
		return;
	if (err) {
		con->log(con->log_state, RAYQL_LOG_ERROR, rql_error_message(err));
		return;
	}
	if (res && res->notice && con->log_level >= RAYQL_LOG_NOTICE)
		con->log(con->log_state, RAYQL_LOG_NOTICE, res->reason);
	if (con->log_level >= RAYQL_LOG_STATEMENT)
		log_statement(con);
}

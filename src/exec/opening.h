/* GPUs are opened and measured in the background: a driver takes up to seconds for both, and meanwhile the CPU or the host
 * answers (plan/price/await.h). One thread of a database, begun with its first structure or with a session that finds some.
 * Whoever names a device or a unit waits. All functions are thread-safe. */
#ifndef RQL_EXEC_OPENING_H
#define RQL_EXEC_OPENING_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct rql_awaited;
struct rql_database;
struct rql_settings;

struct rql_opening {
	pthread_mutex_t lock; /* all below */
	pthread_cond_t changed;
	pthread_t thread;
	bool started, done;
	_Atomic bool stopping; /* read without the lock, too */
	struct rql_awaited **waiting; /* [count]: a reference each, counted until it is done */
	uint32_t count, capacity;
	/* For tests: called by the thread once the devices are listed, before they are measured; NULL: nothing is. */
	void (*listed)(void *state);
	void *listed_state;
};
void rql_opening_init(struct rql_opening *opening);
/* Begins where a session with these settings may choose a GPU, once. A thread that cannot start leaves the devices to whoever
 * waits for them. */
void rql_opening_begin(struct rql_database *db, const struct rql_settings *settings);
/* What every first plan asks the host, once for a database: which functions may change (some 20 ms of the host's). */
void rql_opening_learn(struct rql_database *db);
/* Are all devices listed and measured that are used unnamed? If not, and awaited is there, opening has begun, and awaited is
 * settled once a GPU is there to be used. */
bool rql_opening_is_over(struct rql_database *db, struct rql_awaited *awaited);
/* Waits for the thread, where there is one. */
void rql_opening_finish(struct rql_database *db);
/* Of the database's closing: what is not begun is left. */
void rql_opening_end(struct rql_database *db);

#endif

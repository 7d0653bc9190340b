/* The newest answer of its kind that was given in the process, under a stamp that says of what: another with the same
 * stamp takes a copy and need not ask. */
#ifndef RQL_UTIL_KEPT_H
#define RQL_UTIL_KEPT_H

#include <pthread.h>
#include <stddef.h>

/* For the life of the process: {.lock = PTHREAD_MUTEX_INITIALIZER}. */
struct rql_kept {
	pthread_mutex_t lock; /* the innermost */
	char *stamp;          /* NULL: nothing is kept */
	void *data;
	size_t bytes;
};

/* For free(). NULL: there is nothing of the stamp, or no memory. A stamp of NULL is like no other. */
void *rql_kept_take(struct rql_kept *kept, const char *stamp, size_t *bytes);
/* Without a stamp or memory what was kept stays. */
void rql_kept_put(struct rql_kept *kept, const char *stamp, const void *data, size_t bytes);

#endif

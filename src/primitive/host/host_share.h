/* What one of several devices leaves to the others when it fails: partitions, whole or from some row on. Threads of devices
 * work on what is their own first, and then wait for that of others, as long as any is at work. */
#ifndef RQL_HOST_SHARE_H
#define RQL_HOST_SHARE_H

#include <pthread.h>
#include "device/device.h"

struct rql_host_rest {
	const void *of;         /* the caller's: whose partition */
	uint64_t partition, from[2]; /* rows that are done */
};
struct rql_host_share {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct rql_host_rest *rests;
	uint64_t count, room;
	uint32_t busy;          /* threads that may leave something */
	bool ended;             /* an error of the whole */
	/* The first failure of a device alone: it is that of the whole where nobody is left to take what it leaves. */
	struct rql_device *failed, *full; /* whose error it is, or whose memory had no room to begin with */
	struct rql_left_devices left;
	struct rql_error why;
	rql_status status;
};
void rql_host_share_open(struct rql_host_share *share, uint32_t threads);
/* By a thread that has failed, before it leaves. */
rql_status rql_host_share_put(struct rql_host_share *share, const struct rql_host_rest *rest,
                              struct rql_error *err) RQL_MUST_CHECK;
/* By a thread that has nothing more to do. False: nothing comes any more, and the thread has left. */
bool rql_host_share_wait(struct rql_host_share *share, struct rql_host_rest *rest);
/* A thread has failed, and leaves. alone: its device alone has, and it has put what it had; else all end. */
void rql_host_share_leave(struct rql_host_share *share, struct rql_device *device, bool alone, bool full, rql_status status,
                          const struct rql_error *why);
/* All threads have left, and the share is closed. done: nothing was left that no thread knew of. *failed, *full: as reports
 * have them; *left gets more. */
rql_status rql_host_share_end(struct rql_host_share *share, bool done, struct rql_device **failed, struct rql_device **full,
                              struct rql_left_devices *left, struct rql_error *err) RQL_MUST_CHECK;

#endif

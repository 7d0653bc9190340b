/* What devices leave to each other: see the header. */
#include "primitive/host/host_share.h"
#include "primitive/host/host_internal.h"

#include <stdlib.h>

void rql_host_share_open(struct rql_host_share *share, uint32_t threads)
{
	*share = (struct rql_host_share){.busy = threads, .status = RQL_OK};
	pthread_mutex_init(&share->lock, NULL);
	pthread_cond_init(&share->changed, NULL);
}

rql_status rql_host_share_put(struct rql_host_share *share, const struct rql_host_rest *rest, struct rql_error *err)
{
	rql_status status = RQL_OK;
	pthread_mutex_lock(&share->lock);
	if (share->count == share->room) {
		const uint64_t room = 2 * share->room + 16;
		struct rql_host_rest *more = realloc(share->rests, room * sizeof(*more));
		if (more) {
			share->rests = more;
			share->room = room;
		} else {
			status = rql_error_memory(err, room * sizeof(*more), "what a device leaves to others");
		}
	}
	if (status == RQL_OK)
		share->rests[share->count++] = *rest;
	pthread_mutex_unlock(&share->lock);
	return status;
}

bool rql_host_share_wait(struct rql_host_share *share, struct rql_host_rest *rest)
{
	pthread_mutex_lock(&share->lock);
	share->busy--;
	pthread_cond_broadcast(&share->changed);
	while (!share->count && share->busy && !share->ended)
		pthread_cond_wait(&share->changed, &share->lock);
	const bool more = share->count && !share->ended;
	if (more) {
		*rest = share->rests[--share->count];
		share->busy++;
	}
	pthread_mutex_unlock(&share->lock);
	return more;
}

void rql_host_share_leave(struct rql_host_share *share, struct rql_device *device, bool alone, bool full, rql_status status,
                          const struct rql_error *why)
{
	pthread_mutex_lock(&share->lock);
	share->busy--;
	if (device)
		rql_host_leave(&share->left, device, alone || status != RQL_ERROR_LIMIT ? status : RQL_OK, rql_error_message(why));
	/* An error of the whole goes before that of a device alone, which others might have mended. */
	if (status != RQL_OK && (share->status == RQL_OK || (!alone && !share->ended))) {
		share->status = rql_error_set(&share->why, status, "%s", rql_error_message(why));
		share->full = full ? device : NULL;
		share->failed = status == RQL_ERROR_DEVICE ? device : share->failed;
	}
	share->ended = share->ended || !alone;
	pthread_cond_broadcast(&share->changed);
	pthread_mutex_unlock(&share->lock);
}

rql_status rql_host_share_end(struct rql_host_share *share, bool done, struct rql_device **failed, struct rql_device **full,
                              struct rql_left_devices *left, struct rql_error *err)
{
	rql_status status = RQL_OK;
	if (share->ended || share->count || !done)
		status = rql_error_set(err, share->status, "%s", rql_error_message(&share->why));
	*failed = share->failed;
	left->failed |= share->left.failed;
	left->full |= share->left.full;
	*full = status == RQL_ERROR_LIMIT ? share->full : NULL;
	pthread_cond_destroy(&share->changed);
	pthread_mutex_destroy(&share->lock);
	rql_error_clear(&share->why);
	free(share->rests);
	return status;
}

/* Counts a device's submissions from outside, and cancels at one of them. */
#ifndef RQL_TESTS_SUBMISSIONS_H
#define RQL_TESTS_SUBMISSIONS_H

#include "device/device_internal.h"
#include "util/budget.h"

static struct {
	const struct rql_device_ops *real;
	struct rql_device_ops ops;
	unsigned count, cancel_at; /* 0: never */
	struct rql_progress *progress;
} submissions;

static rql_status counted_submit(struct rql_commands *const *list, uint32_t count, uint64_t *ticket,
                                 struct rql_error *err)
{
	rql_status status = submissions.real->submit(list, count, ticket, err);
	if (++submissions.count == submissions.cancel_at)
		atomic_store(&submissions.progress->cancel, true);
	return status;
}

/* cancel_at: the submission after which progress->cancel is set; 0: none. */
static void submissions_count(struct rql_device *device, unsigned cancel_at, struct rql_progress *progress)
{
	submissions.real = device->ops;
	submissions.ops = *device->ops;
	submissions.ops.submit = counted_submit;
	submissions.count = 0;
	submissions.cancel_at = cancel_at;
	submissions.progress = progress;
	device->ops = &submissions.ops;
}

static unsigned submissions_end(struct rql_device *device)
{
	device->ops = submissions.real;
	return submissions.count;
}

#endif

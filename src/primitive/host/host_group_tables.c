/* TABLE on several devices: pieces go to whichever asks for one, each device has a table of its own, and the CPU makes one
 * of their groups. Rows pass once, so a device that fails, or has no more room, takes its table with it: then they come
 * again, without it. One that has no room for a table to begin with leaves all rows to the others. */
#include "primitive/host/host_group_internal.h"
#include "primitive/host/host_group_merge.h"

#include <stdlib.h>

struct tables {
	const struct rql_host_group_by *of;
	struct rql_host_group_by by; /* as the workers see it: rows by turns, groups to the merge */
	const struct rql_host_group_sizes *sizes;
	struct rql_host_merge *merge;
	pthread_mutex_t rows_lock, sink_lock;
	bool ended; /* no rows come any more, or none are wanted */
};
struct thread {
	struct tables *tables;
	struct rql_host_group_worker worker;
	uint64_t found;
	bool closed; /* it took no rows: its device has no room for a table */
	rql_status status;
	struct rql_error err;
	pthread_t handle;
};

static rql_status next_rows(void *state, struct rql_device *device, struct rql_host_piece *piece, struct rql_error *err)
{
	struct tables *t = state;
	rql_status status = RQL_OK;
	pthread_mutex_lock(&t->rows_lock);
	if (t->ended)
		piece->rows = 0;
	else
		status = t->of->rows.next(t->of->rows.state, device, piece, err);
	t->ended = t->ended || status != RQL_OK || !piece->rows;
	pthread_mutex_unlock(&t->rows_lock);
	return status;
}

static void *thread_main(void *state)
{
	struct thread *t = state;
	struct tables *tables = t->tables;
	struct rql_host_feed feed = {.side = &tables->by.rows};
	t->status = rql_host_group_worker_open(&t->worker, tables->sizes, &t->err);
	t->closed = t->status != RQL_OK;
	if (!t->closed)
		t->status = rql_host_group_worker_rows(&t->worker, &feed, &t->found, &t->err);
	if (t->status != RQL_OK && !t->closed) {
		pthread_mutex_lock(&tables->rows_lock);
		tables->ended = true;
		pthread_mutex_unlock(&tables->rows_lock);
	}
	rql_host_group_worker_close(&t->worker);
	return NULL;
}

static rql_status put_merged(struct tables *t, struct rql_error *err)
{
	const uint64_t count = rql_host_merge_count(t->merge);
	const struct rql_host_groups_layout layout = rql_host_groups_layout_of(t->of, t->sizes->staged);
	struct rql_host_groups to = {.rows = count};
	struct rql_buffer *staging = NULL;
	rql_status status = RQL_OK;
	if (!t->of->room && count)
		RQL_TRY(rql_buffer_new(t->of->devices[0], layout.bytes, RQL_MEMORY_READBACK, "groups of several devices", &staging, err));
	for (uint64_t first = 0; first < count && status == RQL_OK; first += to.rows) {
		if (t->of->room)
			status = t->of->room(t->of->state, t->of->devices[0], &to, err);
		else
			to = rql_host_groups_in(t->of, &layout, staging);
		to.rows = t->of->room || count - first < t->sizes->staged ? count - first : t->sizes->staged;
		if (status != RQL_OK)
			break;
		rql_host_merge_write(t->merge, first, &to);
		status = t->of->put(t->of->state, &to, err);
	}
	rql_buffer_free(staging);
	return status;
}

/* What the threads have found, and the first error: of those that took rows, if any did. */
static rql_status gather(struct thread *threads, uint32_t count, struct rql_host_group_report *report, uint64_t *found,
                         struct rql_device **alone, struct rql_error *err)
{
	rql_status status = RQL_OK;
	bool taken = false;
	for (uint32_t i = 0; i < count; i++)
		taken = taken || !threads[i].closed;
	for (uint32_t i = 0; i < count; i++) {
		struct thread *t = &threads[i];
		t->worker.report.groups = 0; /* counted when they are one, */
		t->worker.report.partitions = !i; /* as all rows are */
		rql_host_group_report_add(report, &t->worker.report);
		*found = t->found > *found ? t->found : *found;
		rql_host_leave(&report->left, t->worker.device, t->status, rql_error_message(&t->err));
		if (t->status == RQL_ERROR_DEVICE && status == RQL_OK)
			report->failed = t->worker.device;
		if (t->status != RQL_OK && status == RQL_OK && !(t->closed && taken)) {
			status = rql_error_set(err, t->status, "%s", rql_error_message(&t->err));
			report->full = status == RQL_ERROR_LIMIT && !t->worker.report.device_peak ? t->worker.device : NULL;
			*alone = status == RQL_ERROR_DEVICE || (status == RQL_ERROR_LIMIT && !t->closed) ? t->worker.device : NULL;
		}
		rql_error_clear(&t->err);
	}
	return status;
}

rql_status rql_host_group_tables(const struct rql_host_group_by *by, const struct rql_host_group_sizes *sizes,
                                 struct rql_host_group_report *report, uint64_t *found, struct rql_device **alone,
                                 struct rql_error *err)
{
	struct thread *threads = calloc(by->device_count + 1, sizeof(*threads)); /* kilobytes each */
	bool started[RQL_DEVICES_MAX] = {false};
	struct tables tables = {.of = by, .by = *by, .sizes = sizes};
	*found = 0;
	*alone = NULL;
	rql_status status = threads ? rql_host_merge_new(by, &tables.merge, err)
	                            : rql_error_memory(err, by->device_count * sizeof(*threads), "threads for devices");
	if (status != RQL_OK) {
		free(threads);
		return status;
	}
	tables.by.rows.next = next_rows;
	tables.by.rows.state = &tables;
	tables.by.room = NULL;
	tables.by.put = rql_host_merge_put;
	tables.by.state = tables.merge;
	pthread_mutex_init(&tables.rows_lock, NULL);
	pthread_mutex_init(&tables.sink_lock, NULL);
	for (uint32_t i = 0; i < by->device_count; i++) {
		threads[i].tables = &tables;
		threads[i].worker =
			(struct rql_host_group_worker){.by = &tables.by, .device = by->devices[i], .sink_lock = &tables.sink_lock};
		threads[i].closed = true; /* until it has started */
		started[i] = i && pthread_create(&threads[i].handle, NULL, thread_main, &threads[i]) == 0;
	}
	(void)thread_main(&threads[0]);
	for (uint32_t i = 1; i < by->device_count; i++)
		if (started[i])
			pthread_join(threads[i].handle, NULL);
	status = gather(threads, by->device_count, report, found, alone, err);
	if (status == RQL_OK && *found <= sizes->groups) {
		report->groups += rql_host_merge_count(tables.merge);
		status = put_merged(&tables, err); /* groups may have been put: no device is named whose rows could come again */
	}
	pthread_mutex_destroy(&tables.rows_lock);
	pthread_mutex_destroy(&tables.sink_lock);
	rql_host_merge_free(tables.merge);
	free(threads);
	return status;
}

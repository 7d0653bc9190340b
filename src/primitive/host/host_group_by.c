/* A group-by from the host's memory: which way it goes, which partitions there are, and which device takes them. */
#include "primitive/host/host_group_internal.h"
#include "primitive/host/host_share.h"

#include <stdlib.h>
#include <string.h>

#define MORE 8u       /* times the groups, after they were too many */
#define FEW 1024u     /* groups of a partition that one key fills */

/* What all devices share. */
struct run {
	const struct rql_host_group_by *by;
	struct rql_host_memory *memory;
	uint64_t limit; /* of a device's memory */
	struct rql_host_group_sizes sizes;
	struct rql_host_partitions *partitions; /* of the first pass */
	struct rql_host_partitions *kept;       /* of which a device has left something to others; under kept_lock */
	struct rql_host_share share;
	pthread_mutex_t sink_lock, kept_lock;
	_Atomic bool failed;
	struct rql_device *limited; /* the one that has no more than `limit` */
	struct rql_device *alone;   /* of tables: whose own the last error is */
};

/* A device's thread. Tables have a worker of their own: the other's memory is given back for it. */
struct thread {
	struct run *run;
	struct rql_host_group_worker worker;
	bool alone; /* what the device's failure leaves is with the others */
	pthread_t handle;
};

static rql_status limit_reached(const struct rql_device *device, uint64_t need, uint64_t limit, struct rql_error *err)
{
	char needed[24], had[24];
	return rql_error_set(err, RQL_ERROR_LIMIT, "a group-by needs %s of device %s's memory; it may have %s",
	                     rql_format_bytes(needed, need), device->id, rql_format_bytes(had, limit));
}

/* ---- partitions ---- */

static rql_status new_partitions(const struct run *run, struct rql_host_feed *feed, uint32_t bits, uint32_t used,
                                 struct rql_host_partitions *out, struct rql_error *err)
{
	struct rql_device *device = run->by->devices[0];
	const struct rql_host_store_spec spec = {.shape = run->by->rows.shape,
	                                         .bits = bits,
	                                         .used = used,
	                                         .memory = run->memory,
	                                         .pool = device->pool};
	*out = (struct rql_host_partitions){.side = &run->by->rows, .bits = bits, .used = used + bits, .passes = 1,
	                                    .end = UINT64_C(1) << bits, .of = out};
	return rql_host_partition(feed, device, &spec, run->by->progress, &out->store, err);
}

static rql_status group_partitions(struct thread *t, struct rql_host_partitions *partitions, struct rql_error *err);

/* Of a worker that was open. */
static bool is_devices_own(const struct rql_host_group_worker *w, rql_status status)
{
	return status == RQL_ERROR_DEVICE || (status == RQL_ERROR_LIMIT && !w->refused);
}

/* A partition of which nothing was put, where a device has failed. */
static void leave_partition(struct thread *t, const struct rql_host_partitions *partitions, uint64_t partition)
{
	const struct rql_host_rest rest = {.of = partitions->of, .partition = partition};
	struct rql_error none = {0};
	t->alone = t->alone && rql_host_share_put(&t->run->share, &rest, &none) == RQL_OK;
	rql_error_clear(&none);
}

/* Those that were under way, those that had no room, and, but of those that all devices take from, those behind. */
static void leave_partitions(struct thread *t, struct rql_host_partitions *partitions)
{
	struct rql_host_group_worker *w = &t->worker;
	t->alone = true;
	for (uint32_t i = 0; i < RQL_HOST_FLIGHT; i++)
		if (w->slot[i].rows)
			leave_partition(t, partitions, w->slot[i].partition);
	for (uint64_t i = 0; i < w->odd_count; i++)
		leave_partition(t, partitions, w->odd[i]);
	for (uint64_t p = atomic_load(&partitions->next); p < partitions->end && partitions != t->run->partitions; p++)
		leave_partition(t, partitions, p);
}

static void free_partitions(struct rql_host_partitions *partitions)
{
	rql_host_store_free(partitions->store);
	free(partitions);
}

/* After an error others may need what a device has left of them. */
static void keep_or_free(struct run *run, struct rql_host_partitions *partitions, rql_status status)
{
	if (status == RQL_OK) {
		free_partitions(partitions);
		return;
	}
	pthread_mutex_lock(&run->kept_lock);
	partitions->kept = run->kept;
	run->kept = partitions;
	pthread_mutex_unlock(&run->kept_lock);
}

/* A partition once more, by the next bits of the hash. */
static rql_status group_again(struct thread *t, struct rql_host_feed *feed, const struct rql_host_partitions *from,
                              struct rql_error *err)
{
	const uint32_t left = RQL_HOST_HASH_BITS - from->used;
	const uint64_t start = rql_now_ns(), rows = feed->rows;
	/* Rows that fit have too many groups. */
	const uint64_t most = rows > t->run->sizes.piece ? t->run->sizes.piece : t->run->sizes.groups;
	uint32_t bits = rql_log2_up(rql_div_up(rows, most)) + 1;
	bits = bits < RQL_HOST_PASS_BITS ? bits : RQL_HOST_PASS_BITS;
	struct rql_host_partitions *partitions = malloc(sizeof(*partitions));
	if (!partitions)
		return rql_error_memory(err, sizeof(*partitions), "partitions of a group-by");
	rql_status status = new_partitions(t->run, feed, bits < left ? bits : left, from->used, partitions, err);
	partitions->above = rows;
	partitions->passes = from->passes + 1;
	t->worker.report.partition_ns += (double)(rql_now_ns() - start);
	if (status == RQL_OK)
		status = group_partitions(t, partitions, err);
	keep_or_free(t->run, partitions, status);
	return status;
}

/* By a table for a few groups; last: or for more, as long as there is memory for it. *done: else there is none. */
static rql_status group_by_table(struct thread *t, struct rql_host_feed *feed, bool last, bool *done, struct rql_error *err)
{
	struct rql_host_group_worker *w = &t->worker;
	struct rql_host_group_sizes sizes;
	uint64_t found = 0, groups = FEW;
	*done = false;
	w->from_store = true;
	for (; rql_host_group_sizes_table(t->run->by, t->run->limit, groups, &sizes); groups = found * 2) {
		feed->at = 0;
		const rql_status opened = rql_host_group_worker_open(w, &sizes, err);
		t->alone = opened != RQL_OK; /* nothing was put */
		RQL_TRY(opened);
		RQL_TRY(rql_host_group_worker_rows(w, feed, &found, err));
		*done = found <= sizes.groups;
		w->report.tables += *done;
		if (*done || !last)
			return RQL_OK;
	}
	return RQL_OK;
}

/* One that has too many rows, or groups. Where nearly all rows came through the last pass together, they are taken for rows
 * of one key, and a few of others. */
static rql_status group_odd(struct thread *t, struct rql_host_partitions *of, uint64_t partition, struct rql_error *err)
{
	const uint64_t rows = rql_host_store_rows(of->store, partition);
	const bool last = of->used >= RQL_HOST_HASH_BITS, same = of->above && rows > of->above - of->above / 8;
	struct rql_host_feed feed = {.side = of->side, .store = of->store, .partition = partition, .rows = rows};
	bool done = false;
	if (last || same) {
		const uint64_t groups = t->worker.report.groups;
		const rql_status status = group_by_table(t, &feed, last, &done, err);
		t->alone = t->alone || (is_devices_own(&t->worker, status) && t->worker.report.groups == groups);
		if (t->alone)
			leave_partition(t, of, partition);
		RQL_TRY(status);
	}
	feed.at = 0;
	if (!done && last) {
		const struct rql_host_group_sizes need = {.way = RQL_HOST_TABLE, .piece = 1024, .rows = 1024, .groups = rows};
		return limit_reached(t->run->limited, rql_host_group_sizes_bytes(t->run->by, t->run->limited, &need), t->run->limit,
		                     err);
	}
	if (!done)
		RQL_TRY(group_again(t, &feed, of, err));
	rql_host_store_drop(of->store, partition);
	return RQL_OK;
}

/* Odd ones come behind the others: those that this device has met. */
static rql_status group_partitions(struct thread *t, struct rql_host_partitions *partitions, struct rql_error *err)
{
	struct rql_host_group_worker *w = &t->worker;
	w->report.passes = partitions->passes > w->report.passes ? partitions->passes : w->report.passes;
	rql_status status = rql_host_group_worker_open(w, &t->run->sizes, err);
	bool own = status != RQL_OK;
	if (!own) {
		status = rql_host_group_worker_partitions(w, partitions, err);
		own = is_devices_own(w, status);
	}
	if (own)
		leave_partitions(t, partitions);
	RQL_TRY(status);
	uint64_t *odd = w->odd;
	const uint64_t count = w->odd_count;
	w->odd = NULL;
	w->odd_count = w->odd_room = 0;
	uint64_t i = 0;
	for (; i < count && status == RQL_OK && !atomic_load(&t->run->failed); i++)
		status = group_odd(t, partitions, odd[i], err);
	for (; i < count && t->alone; i++)
		leave_partition(t, partitions, odd[i]);
	free(odd);
	return status;
}

/* ---- devices ---- */

/* *left: nothing more was there to do. */
static rql_status work(struct thread *t, bool *left, struct rql_error *err)
{
	struct rql_host_rest rest;
	RQL_TRY(group_partitions(t, t->run->partitions, err));
	while (rql_host_share_wait(&t->run->share, &rest)) {
		const struct rql_host_partitions *of = rest.of;
		struct rql_host_partitions one = {.store = of->store, .side = of->side, .bits = of->bits, .used = of->used,
		                                  .passes = of->passes, .above = of->above, .next = rest.partition,
		                                  .end = rest.partition + 1, .of = of};
		RQL_TRY(group_partitions(t, &one, err));
	}
	*left = true;
	return RQL_OK;
}

static void *thread_main(void *state)
{
	struct thread *t = state;
	struct rql_error err = {0};
	bool left = false;
	const rql_status status = work(t, &left, &err);
	if (status != RQL_OK && !t->alone)
		atomic_store(&t->run->failed, true);
	if (!left)
		rql_host_share_leave(&t->run->share, t->worker.device, t->alone,
		                     status == RQL_ERROR_LIMIT && !t->worker.report.device_peak, status, &err);
	rql_error_clear(&err);
	free(t->worker.odd);
	rql_host_group_worker_close(&t->worker);
	return NULL;
}

void rql_host_group_report_add(struct rql_host_group_report *to, const struct rql_host_group_report *from)
{
	to->in_bytes += from->in_bytes;
	to->out_bytes += from->out_bytes;
	to->device_peak = from->device_peak > to->device_peak ? from->device_peak : to->device_peak;
	to->groups += from->groups;
	to->partitions += from->partitions;
	to->passes = from->passes > to->passes ? from->passes : to->passes;
	to->pieces += from->pieces;
	to->tables += from->tables;
	rql_raster_group_points_add(&to->points, &from->points);
	to->image_bytes = from->image_bytes > to->image_bytes ? from->image_bytes : to->image_bytes;
	to->pixel_bytes = from->pixel_bytes > to->pixel_bytes ? from->pixel_bytes : to->pixel_bytes;
	to->open_ns += from->open_ns;
	to->partition_ns += from->partition_ns;
	to->fill_ns += from->fill_ns;
	to->wait_ns += from->wait_ns;
	to->put_ns += from->put_ns;
	to->device_ns += from->device_ns;
	to->link_ns += from->link_ns;
}

/* The first device's work is the caller's. One whose thread does not start leaves its share to the others. */
static rql_status run_devices(struct run *run, struct rql_host_group_report *report, struct rql_error *err)
{
	const struct rql_host_group_by *by = run->by;
	struct thread *threads = calloc(by->device_count, sizeof(*threads));
	bool started[RQL_DEVICES_MAX] = {false};
	if (!threads)
		return rql_error_memory(err, by->device_count * sizeof(*threads), "devices of a group-by");
	rql_host_share_open(&run->share, by->device_count);
	for (uint32_t i = 0; i < by->device_count; i++) {
		threads[i].run = run;
		threads[i].worker =
			(struct rql_host_group_worker){.by = by, .device = by->devices[i], .sink_lock = &run->sink_lock};
		started[i] = i && pthread_create(&threads[i].handle, NULL, thread_main, &threads[i]) == 0;
		if (i && !started[i])
			rql_host_share_leave(&run->share, NULL, true, false, RQL_OK, err);
	}
	(void)thread_main(&threads[0]);
	for (uint32_t i = 0; i < by->device_count; i++) {
		if (started[i])
			pthread_join(threads[i].handle, NULL);
		rql_host_group_report_add(report, &threads[i].worker.report);
	}
	free(threads);
	const bool done = atomic_load(&run->partitions->next) >= run->partitions->end;
	const rql_status status = rql_host_share_end(&run->share, done, &report->failed, &report->full, &report->left, err);
	while (run->kept) {
		struct rql_host_partitions *partitions = run->kept;
		run->kept = partitions->kept;
		free_partitions(partitions);
	}
	return status;
}

static rql_status run_partitions(struct run *run, struct rql_host_group_report *report, struct rql_error *err)
{
	const uint32_t bits = run->sizes.bits < RQL_HOST_PASS_BITS ? run->sizes.bits : RQL_HOST_PASS_BITS;
	struct rql_host_feed feed = {.side = &run->by->rows};
	struct rql_host_partitions partitions = {.store = NULL};
	const uint64_t start = rql_now_ns();
	RQL_TRY(rql_host_memory_new(run->by->host_limit, run->by->folder, run->by->file_limit, &run->memory, err));
	rql_status status = new_partitions(run, &feed, bits, 0, &partitions, err);
	report->partition_ns += (double)(rql_now_ns() - start);
	run->partitions = &partitions;
	if (status == RQL_OK)
		status = run_devices(run, report, err);
	report->host_peak = rql_host_memory_peak(run->memory);
	report->spilled_bytes = rql_host_memory_spilled(run->memory);
	rql_host_store_free(partitions.store);
	rql_host_memory_free(run->memory);
	return status;
}

/* TABLE of one device, and WHOLE. *found: more than the sizes have room for: nothing was put out. */
static rql_status run_rows(struct run *run, struct rql_host_group_report *report, uint64_t *found, struct rql_error *err)
{
	struct rql_host_group_worker worker = {.by = run->by, .device = run->by->devices[0], .sink_lock = &run->sink_lock};
	struct rql_host_feed feed = {.side = &run->by->rows};
	rql_status status = rql_host_group_worker_open(&worker, &run->sizes, err);
	if (status == RQL_OK)
		status = rql_host_group_worker_rows(&worker, &feed, found, err);
	rql_host_group_report_add(report, &worker.report);
	if (status == RQL_ERROR_DEVICE)
		report->failed = worker.device;
	if (status == RQL_ERROR_LIMIT && !worker.report.device_peak)
		report->full = worker.device;
	rql_host_group_worker_close(&worker);
	return status;
}

static uint64_t limit_of(const struct rql_host_group_by *by, struct rql_device **whose)
{
	*whose = by->limited;
	return rql_host_device_limit(by->devices, by->device_count, by->device_limit, whose);
}

static bool choose_sizes(const struct rql_host_group_by *by, struct rql_host_group_sizes *out)
{
	struct rql_device *whose;
	return rql_host_group_sizes_choose(by, limit_of(by, &whose), by->rows.rows, by->groups, out);
}

/* ---- the whole ---- */

static rql_status check(const struct rql_host_group_by *by, struct rql_error *err)
{
	const struct rql_host_shape *shape = &by->rows.shape;
	bool good = (by->unit == RQL_UNIT_COMPUTE || by->unit == RQL_UNIT_RASTER) && by->device_count &&
	            by->device_count <= RQL_DEVICES_MAX && by->column_count <= RQL_RELATION_COLUMNS &&
	            shape->column_count <= RQL_RELATION_COLUMNS;
	for (uint32_t c = 0; good && c < by->column_count; c++)
		good = by->columns[c].values < shape->column_count;
	return good ? RQL_OK
	            : rql_error_set(err, RQL_ERROR_INTERNAL, "a group-by of %u columns from the host's memory cannot be asked for",
	                            by->column_count);
}

uint64_t rql_host_group_by_partitions(const struct rql_host_group_by *by, enum rql_host_way *way)
{
	struct rql_host_group_sizes sizes;
	if (!choose_sizes(by, &sizes))
		return 0;
	*way = sizes.way;
	return UINT64_C(1) << sizes.bits;
}

uint64_t rql_host_group_by_staging(const struct rql_host_group_by *by)
{
	struct rql_host_group_sizes sizes;
	if (!choose_sizes(by, &sizes))
		return 0;
	const uint64_t piece = rql_host_side_layout(&by->rows, sizes.piece).bytes;
	const uint64_t read = sizes.bits ? rql_host_side_layout(&by->rows, rql_host_read_rows(&by->rows)).bytes : 0;
	return by->device_count * (RQL_HOST_FLIGHT * piece + 2 * rql_host_groups_layout_of(by, sizes.staged).bytes + read);
}

rql_status rql_host_group_by_kernels(const struct rql_host_group_by *by, rql_see_kernel *see, void *state,
                                     struct rql_error *err)
{
	struct rql_device *full;
	struct rql_host_group_worker worker = {.by = by};
	struct rql_host_group_sizes sizes;
	struct rql_rehearsal *rehearsal;
	const uint64_t limit = limit_of(by, &full);
	if (!choose_sizes(by, &sizes))
		return limit_reached(full, rql_host_group_sizes_bytes(by, full, &sizes), limit, err);
	RQL_TRY(rql_rehearsal_new(by->devices[0], see, state, &rehearsal, err));
	worker.device = rql_rehearsal_device(rehearsal);
	rql_status status = rql_host_group_worker_open(&worker, &sizes, err);
	if (status == RQL_OK)
		status = rql_host_group_worker_rehearse(&worker, err);
	rql_host_group_worker_close(&worker);
	rql_rehearsal_free(rehearsal);
	return status;
}

/* Once, with so many groups expected. *more: as many as that are too few, and nothing was put out. */
static rql_status run_once(struct run *run, uint64_t groups, uint64_t *more, struct rql_host_group_report *report,
                           struct rql_error *err)
{
	const struct rql_host_group_by *by = run->by;
	uint64_t found = 0;
	*more = 0;
	run->alone = NULL;
	if (!rql_host_group_sizes_choose(by, run->limit, by->rows.rows, groups, &run->sizes)) {
		report->full = run->limited;
		return limit_reached(run->limited, rql_host_group_sizes_bytes(by, run->limited, &run->sizes), run->limit, err);
	}
	report->way = run->sizes.way;
	if (run->sizes.way == RQL_HOST_PARTS)
		return run_partitions(run, report, err);
	if (by->device_count > 1)
		RQL_TRY(rql_host_group_tables(by, &run->sizes, report, &found, &run->alone, err));
	else
		RQL_TRY(run_rows(run, report, &found, err));
	*more = found > run->sizes.groups ? found * MORE : 0;
	return RQL_OK;
}

/* The rows of a table come again, without the device that has failed or has no more room. False: none would be left, or no
 * device is known to have failed before groups were put. */
static bool drop_device(struct rql_host_group_by *by, struct rql_device **devices, const struct rql_device *failed)
{
	uint32_t count = 0;
	if (by->device_count < 2 || !failed)
		return false;
	for (uint32_t i = 0; i < by->device_count; i++)
		if (devices[i] != failed)
			devices[count++] = devices[i];
	by->device_count = count;
	return true;
}

rql_status rql_host_group_by_run(const struct rql_host_group_by *by, struct rql_host_group_report *report,
                                 struct rql_error *err)
{
	struct rql_host_group_by with = *by; /* without devices that have failed */
	struct rql_device *devices[RQL_DEVICES_MAX];
	struct run run = {.by = &with};
	*report = (struct rql_host_group_report){0};
	RQL_TRY(check(by, err));
	for (uint32_t i = 0; i < by->device_count; i++) {
		const rql_status started = rql_device_start(by->devices[i], err);
		if (started == RQL_ERROR_DEVICE)
			report->failed = by->devices[i];
		RQL_TRY(started);
	}
	memcpy(devices, by->devices, by->device_count * sizeof(*devices));
	with.devices = devices;
	run.limit = limit_of(by, &run.limited);
	pthread_mutex_init(&run.sink_lock, NULL);
	pthread_mutex_init(&run.kept_lock, NULL);
	rql_status status = RQL_OK;
	struct rql_device *dropped = NULL; /* the first */
	uint64_t more = 0, groups = by->groups;
	while ((status = run_once(&run, groups, &more, report, err)) != RQL_OK || more) {
		if (status != RQL_OK && by->again && drop_device(&with, devices, run.alone)) {
			dropped = dropped ? dropped : report->failed;
			report->failed = report->full = NULL;
			rql_error_clear(err);
		} else if (status != RQL_OK) {
			break;
		} else if (!by->again || groups >= by->rows.rows) {
			status = rql_error_set(err, RQL_ERROR_LIMIT, "a group-by has more groups than the %llu that there is room for",
			                       (unsigned long long)run.sizes.groups);
			break;
		} else {
			groups = more;
			report->restarts++;
		}
		by->again(by->rows.state);
	}
	report->failed = status == RQL_ERROR_DEVICE || !dropped ? report->failed : dropped;
	pthread_mutex_destroy(&run.sink_lock);
	pthread_mutex_destroy(&run.kept_lock);
	return status;
}

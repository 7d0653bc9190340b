/* A join from the host's memory: what goes through which partitions to which device. */
#include "primitive/host/host_internal.h"
#include "primitive/host/host_share.h"

#include <stdlib.h>

/* Stores of both sides' partitions; above: build rows of the partition that they were made of. */
struct level {
	struct level *next; /* of those that are kept to the end */
	struct rql_host_store *store[2];
	uint32_t used, passes; /* bits of the hash, and passes, until here */
	uint64_t above;
};

/* Probe rows that a device has taken, and left to others when it failed. */
struct piece {
	struct piece *next;
	struct rql_host_rows rows;
};

/* What all devices share. */
struct run {
	const struct rql_host_join *join;
	struct rql_host_memory *memory;
	struct rql_host_sizes sizes;
	uint64_t limit;             /* that sizes are made for */
	struct rql_device *limited; /* whose memory has no more */
	struct level level; /* of the first pass */
	struct rql_host_share share;
	struct level *kept; /* of which a device has left something to others; under kept_lock */
	struct piece *pieces; /* the same of a probe side that devices share */
	pthread_mutex_t sink_lock, kept_lock, feed_lock;
	_Atomic bool drained; /* shared: nothing of the probe side is left to be read */
	_Atomic uint64_t next; /* partition */
	_Atomic bool failed;
};

/* A device's thread. */
struct thread {
	struct run *run;
	uint32_t index;
	struct rql_host_worker worker;
	double partition_ns;
	bool alone;      /* what the device's failure leaves is with the others */
	bool closed;     /* the device's memory was given back */
	uint32_t passes; /* of partitioning, where more than the first were made */
	pthread_t handle;
};

static rql_status limit_reached(const struct rql_device *device, uint64_t need, uint64_t limit, struct rql_error *err)
{
	char needed[24], had[24];
	return rql_error_set(err, RQL_ERROR_LIMIT, "a join needs %s of device %s's memory; it may have %s",
	                     rql_format_bytes(needed, need), device->id, rql_format_bytes(had, limit));
}

/* ---- partitions ---- */

/* All rows of a feed into partitions. */
static rql_status partition(const struct run *run, struct rql_host_feed *feed, uint32_t bits, uint32_t used,
                            struct rql_host_store **out, struct rql_error *err)
{
	struct rql_device *device = run->join->devices[0];
	const struct rql_host_store_spec spec = {.shape = feed->side->shape,
	                                         .bits = bits,
	                                         .used = used,
	                                         .memory = run->memory,
	                                         .pool = device->pool};
	return rql_host_partition(feed, device, &spec, run->join->progress, out, err);
}

/* ---- a pair of partitions ---- */

static rql_status join_pair(struct thread *t, const struct rql_host_rest *pair, struct rql_error *err);

/* A device has failed with a pair of partitions. Others go on where its results end; but which build rows of a FULL join have
 * a match, it alone knew. */
static void leave_pair(struct thread *t, const struct rql_host_rest *pair)
{
	const struct rql_host_worker *w = &t->worker;
	const struct rql_host_rest rest = {.of = pair->of, .partition = pair->partition, .from = {w->block_at, w->done}};
	struct rql_error none = {0};
	t->alone = (!w->done || w->join->kind != RQL_JOIN_FULL) && rql_host_share_put(&t->run->share, &rest, &none) == RQL_OK;
	rql_error_clear(&none);
}

/* The pairs behind one that failed: they are the others' where the device alone has failed. Their stores are kept. */
static void leave_level(struct thread *t, struct level *level, uint64_t first, uint64_t end)
{
	struct run *run = t->run;
	struct rql_error none = {0};
	for (uint64_t p = first; p < end && t->alone; p++) {
		const struct rql_host_rest rest = {.of = level, .partition = p};
		t->alone = rql_host_share_put(&run->share, &rest, &none) == RQL_OK;
	}
	rql_error_clear(&none);
	pthread_mutex_lock(&run->kept_lock);
	level->next = run->kept;
	run->kept = level;
	pthread_mutex_unlock(&run->kept_lock);
}

static void free_level(struct level *level)
{
	rql_host_store_free(level->store[0]);
	rql_host_store_free(level->store[1]);
	free(level);
}

/* Both partitions once more, by the next bits of the hash. */
static rql_status join_again(struct thread *t, struct rql_host_feed feeds[2], uint32_t bits, const struct level *from,
                             struct rql_error *err)
{
	struct level *level = calloc(1, sizeof(*level));
	const uint64_t start = rql_now_ns(), end = UINT64_C(1) << bits;
	if (!level)
		return rql_error_memory(err, sizeof(*level), "partitions of a join");
	*level = (struct level){.used = from->used + bits, .passes = from->passes + 1, .above = feeds[0].rows};
	rql_status status = RQL_OK;
	for (int s = 0; s < 2 && status == RQL_OK; s++)
		status = partition(t->run, &feeds[s], bits, from->used, &level->store[s], err);
	t->partition_ns += (double)(rql_now_ns() - start);
	t->passes = level->passes > t->passes ? level->passes : t->passes;
	uint64_t p = 0;
	for (; p < end && status == RQL_OK; p++) {
		const struct rql_host_rest pair = {.of = level, .partition = p};
		status = join_pair(t, &pair, err);
	}
	if (status != RQL_OK)
		leave_level(t, level, p, end);
	else
		free_level(level);
	return status;
}

/* So many bits more make partitions of the build rows that fit. 0: they fit, or nothing makes them fit, as where nearly
 * all came through the last pass together: then they are taken for rows of one key. */
static uint32_t bits_for(const struct rql_host_sizes *sizes, uint64_t rows, const struct level *level)
{
	const uint32_t left = RQL_HOST_HASH_BITS - level->used;
	uint32_t bits = rql_log2_up(rql_div_up(rows, sizes->build)) + 1;
	if (rows <= sizes->build || rows > level->above - level->above / 8)
		return 0;
	bits = bits < RQL_HOST_PASS_BITS ? bits : RQL_HOST_PASS_BITS;
	return bits < left ? bits : left;
}

static rql_status too_many(struct thread *t, uint64_t rows, struct rql_error *err)
{
	const struct run *run = t->run;
	struct rql_host_sizes need = t->worker.sizes;
	need.build = rows;
	return limit_reached(run->limited, rql_host_sizes_bytes(run->join, run->limited, &need), run->limit, err);
}

/* From where `pair` says on: both sides' rows before have been joined. */
static rql_status join_pair(struct thread *t, const struct rql_host_rest *pair, struct rql_error *err)
{
	const struct rql_host_join *join = t->run->join;
	const struct level *level = pair->of;
	const uint64_t partition = pair->partition;
	const struct rql_host_side *sides[] = {&join->build, &join->probe};
	struct rql_host_feed feeds[2];
	rql_status status = RQL_OK;
	for (int s = 0; s < 2; s++)
		feeds[s] = (struct rql_host_feed){.side = sides[s], .store = level->store[s], .partition = partition,
		                                  .at = pair->from[s], .rows = rql_host_store_rows(level->store[s], partition)};
	const struct rql_host_sizes *sizes = &t->worker.sizes;
	const uint32_t bits = bits_for(sizes, feeds[0].rows, level);
	const bool whole = feeds[0].rows <= sizes->build;
	/* One probe row may match all rows of a block, which are of one key. */
	t->worker.block = whole || sizes->out > sizes->build ? sizes->build : sizes->out;
	if (bits)
		status = join_again(t, feeds, bits, level, err);
	else if (!whole && join->kind != RQL_JOIN_INNER && !(join->kind == RQL_JOIN_SEMI && join->repeats))
		status = too_many(t, feeds[0].rows, err);
	else if (feeds[0].rows || feeds[1].rows)
		status = rql_host_worker_join(&t->worker, &feeds[0], &feeds[1], err);
	if (status == RQL_ERROR_DEVICE && !bits)
		leave_pair(t, pair);
	if (t->alone && !bits)
		return status;
	rql_host_store_drop(level->store[0], partition);
	rql_host_store_drop(level->store[1], partition);
	return status;
}

/* ---- devices ---- */

/* A device has failed that shares the probe side: rows that it took are others'. */
static bool leave_rows(struct run *run, const struct rql_host_rows *rows)
{
	struct piece *piece = malloc(sizeof(*piece));
	struct rql_error none = {0};
	if (!piece)
		return false;
	pthread_mutex_lock(&run->kept_lock);
	*piece = (struct piece){.next = run->pieces, .rows = *rows};
	run->pieces = piece;
	pthread_mutex_unlock(&run->kept_lock);
	const struct rql_host_rest rest = {.of = piece};
	const bool put = rql_host_share_put(&run->share, &rest, &none) == RQL_OK;
	rql_error_clear(&none);
	return put;
}

/* behind: of a piece that another one had left, what was not read. */
static void leave_pieces(struct thread *t, const struct rql_host_feed *behind)
{
	struct rql_host_rows left[RQL_HOST_FLIGHT];
	const uint32_t count = rql_host_worker_left(&t->worker, left);
	t->alone = true;
	for (uint32_t i = 0; i < count && t->alone; i++)
		t->alone = leave_rows(t->run, &left[i]);
	if (!t->alone || !behind->memory || rql_host_feed_ended(behind))
		return;
	const struct rql_host_rows rest = rql_host_rows_behind(behind->memory, &behind->side->shape, behind->at);
	t->alone = leave_rows(t->run, &rest);
}

/* The whole build side, and pieces of the probe side as long as there are some, those that others leave, too. */
static rql_status work_shared(struct thread *t, bool *left, struct rql_error *err)
{
	struct run *run = t->run;
	const struct rql_host_side *build_side = &run->join->build;
	struct rql_host_feed build = {.side = build_side}; /* each reads for itself, beside the others */
	struct rql_host_feed probe = {.side = &run->join->probe, .lock = &run->feed_lock};
	struct rql_host_rest rest;
	build.state = build_side->reader(build_side->state, t->index);
	rql_status status = rql_host_worker_join(&t->worker, &build, &probe, err);
	while (status == RQL_OK && !atomic_load(&run->failed)) {
		atomic_store(&run->drained, true);
		if (!rql_host_share_wait(&run->share, &rest)) {
			*left = true;
			return RQL_OK;
		}
		const struct piece *piece = rest.of;
		probe = (struct rql_host_feed){.side = probe.side, .memory = &piece->rows, .rows = piece->rows.count};
		status = rql_host_worker_more(&t->worker, &probe, err);
	}
	if (status == RQL_ERROR_DEVICE)
		leave_pieces(t, &probe);
	return status;
}

/* *left: nothing more was there to do. */
static rql_status work(struct thread *t, bool *left, struct rql_error *err)
{
	struct run *run = t->run;
	const rql_status opened = rql_host_worker_open(&t->worker, err);
	t->alone = opened != RQL_OK && (run->sizes.bits || run->sizes.shared); /* it has begun nothing */
	RQL_TRY(opened);
	if (run->sizes.shared)
		return work_shared(t, left, err);
	if (!run->sizes.bits) {
		struct rql_host_feed build = {.side = &run->join->build}, probe = {.side = &run->join->probe};
		return rql_host_worker_join(&t->worker, &build, &probe, err);
	}
	while (!atomic_load(&run->failed)) {
		struct rql_host_rest pair = {.of = &run->level, .partition = atomic_fetch_add(&run->next, 1)};
		if (pair.partition >= UINT64_C(1) << run->level.used && !rql_host_share_wait(&run->share, &pair)) {
			*left = true;
			return RQL_OK;
		}
		RQL_TRY(join_pair(t, &pair, err));
	}
	return RQL_OK;
}

static void close_worker(struct thread *t)
{
	if (!t->closed)
		rql_host_worker_close(&t->worker);
	t->closed = true;
}

static void *thread_main(void *state)
{
	struct thread *t = state;
	struct rql_error err = {0};
	bool left = false;
	const rql_status status = work(t, &left, &err);
	if (status != RQL_OK && !t->alone)
		atomic_store(&t->run->failed, true);
	if (status == RQL_OK) /* else others may read what lies in its memory */
		close_worker(t);
	if (!left)
		rql_host_share_leave(&t->run->share, t->worker.device, t->alone || status == RQL_OK,
		                     status == RQL_ERROR_LIMIT && !t->worker.report.device_peak, status, &err);
	rql_error_clear(&err);
	return NULL;
}

static void add_points(struct rql_host_report *to, const struct rql_host_report *from)
{
	rql_raster_points_add(&to->points, &from->points);
	to->image_bytes = from->image_bytes > to->image_bytes ? from->image_bytes : to->image_bytes;
	to->pixel_bytes = from->pixel_bytes > to->pixel_bytes ? from->pixel_bytes : to->pixel_bytes;
}

static void add_report(struct rql_host_report *to, const struct thread *t)
{
	const struct rql_host_report *from = &t->worker.report;
	to->build_bytes += from->build_bytes;
	to->probe_bytes += from->probe_bytes;
	to->result_bytes += from->result_bytes;
	to->device_peak = from->device_peak > to->device_peak ? from->device_peak : to->device_peak;
	to->rows += from->rows;
	to->partitions += from->partitions;
	to->passes = t->passes > to->passes ? t->passes : to->passes;
	to->blocks += from->blocks;
	to->pieces += from->pieces;
	to->repeated += from->repeated;
	to->ordered += from->ordered;
	add_points(to, from);
	to->partition_ns += t->partition_ns;
	to->open_ns += from->open_ns;
	to->build_ns += from->build_ns;
	to->fill_ns += from->fill_ns;
	to->wait_ns += from->wait_ns;
	to->put_ns += from->put_ns;
	to->device_ns += from->device_ns;
	to->link_ns += from->link_ns;
	to->order_ns += from->order_ns;
	to->match_ns += from->match_ns;
}

/* The first device's work is the caller's. One whose thread does not start leaves its share to the others. */
static rql_status run_devices(struct run *run, struct rql_host_report *report, struct rql_error *err)
{
	const struct rql_host_join *join = run->join;
	const uint32_t count = run->sizes.bits || run->sizes.shared ? join->device_count : 1;
	struct thread *threads = calloc(count, sizeof(*threads));
	bool started[RQL_DEVICES_MAX] = {false};
	if (!threads)
		return rql_error_memory(err, count * sizeof(*threads), "devices of a join");
	rql_host_share_open(&run->share, count);
	for (uint32_t i = 0; i < count; i++) {
		threads[i].run = run;
		threads[i].index = i;
		threads[i].worker = (struct rql_host_worker){
			.join = join, .device = join->devices[i], .sizes = run->sizes, .sink_lock = &run->sink_lock};
		started[i] = i && pthread_create(&threads[i].handle, NULL, thread_main, &threads[i]) == 0;
		if (i && !started[i])
			rql_host_share_leave(&run->share, NULL, true, false, RQL_OK, err);
	}
	(void)thread_main(&threads[0]);
	for (uint32_t i = 0; i < count; i++) {
		if (started[i])
			pthread_join(threads[i].handle, NULL);
		add_report(report, &threads[i]);
	}
	for (uint32_t i = 0; i < count; i++)
		close_worker(&threads[i]);
	free(threads);
	if (run->sizes.shared)
		report->partitions = 1;
	const bool done = run->sizes.shared ? atomic_load(&run->drained)
	                                    : !run->sizes.bits || atomic_load(&run->next) >= UINT64_C(1) << run->level.used;
	const rql_status status = rql_host_share_end(&run->share, done, &report->failed, &report->full, &report->left, err);
	while (run->kept) {
		struct level *level = run->kept;
		run->kept = level->next;
		free_level(level);
	}
	while (run->pieces) {
		struct piece *piece = run->pieces;
		run->pieces = piece->next;
		free(piece);
	}
	return status;
}

static uint64_t limit_of(const struct rql_host_join *join, struct rql_device **whose)
{
	*whose = join->limited;
	return rql_host_device_limit(join->devices, join->device_count, join->device_limit, whose);
}

static bool choose_sizes(const struct rql_host_join *join, struct rql_host_sizes *out)
{
	struct rql_device *whose;
	return rql_host_sizes_choose(join, limit_of(join, &whose), out);
}

/* Sizes of which none fits. */
static rql_status no_sizes(const struct rql_host_join *join, const struct rql_host_sizes *sizes, struct rql_device **full,
                           struct rql_error *err)
{
	const uint64_t limit = limit_of(join, full);
	return limit_reached(*full, rql_host_sizes_bytes(join, *full, sizes), limit, err);
}

static rql_status partition_sides(struct run *run, struct rql_host_report *report, struct rql_error *err)
{
	const struct rql_host_side *sides[] = {&run->join->build, &run->join->probe};
	const uint32_t bits = run->sizes.bits < RQL_HOST_PASS_BITS ? run->sizes.bits : RQL_HOST_PASS_BITS;
	run->level = (struct level){.used = bits, .passes = 1, .above = UINT64_MAX};
	report->passes = run->level.passes;
	const uint64_t start = rql_now_ns();
	rql_status status = RQL_OK;
	for (int s = 0; s < 2 && status == RQL_OK; s++) {
		struct rql_host_feed feed = {.side = sides[s]};
		status = partition(run, &feed, bits, 0, &run->level.store[s], err);
	}
	report->partition_ns += (double)(rql_now_ns() - start);
	return status;
}

static rql_status check(const struct rql_host_join *join, struct rql_error *err)
{
	const bool known = join->kind == RQL_JOIN_INNER || join->kind == RQL_JOIN_LEFT || join->kind == RQL_JOIN_SEMI ||
	                   join->kind == RQL_JOIN_ANTI || join->kind == RQL_JOIN_FULL;
	if (!known || (join->drawn && join->kind == RQL_JOIN_FULL) || !join->device_count || join->device_count > RQL_DEVICES_MAX ||
	    join->build.shape.key_bits != join->probe.shape.key_bits ||
	    join->build.shape.column_count > RQL_RELATION_COLUMNS || join->probe.shape.column_count > RQL_RELATION_COLUMNS)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "a join of kind %d from the host's memory cannot be asked for",
		                     (int)join->kind);
	return RQL_OK;
}

uint64_t rql_host_join_partitions(const struct rql_host_join *join)
{
	struct rql_host_sizes sizes;
	return choose_sizes(join, &sizes) ? UINT64_C(1) << sizes.bits : 0;
}

uint64_t rql_host_join_least(const struct rql_host_join *join)
{
	struct rql_host_sizes sizes;
	uint64_t most = 0;
	(void)choose_sizes(join, &sizes);
	for (uint32_t i = 0; i < join->device_count; i++) {
		const uint64_t bytes = rql_host_sizes_bytes(join, join->devices[i], &sizes);
		most = bytes > most ? bytes : most;
	}
	return most;
}

uint64_t rql_host_join_staging(const struct rql_host_join *join)
{
	const struct rql_host_side *sides[] = {&join->build, &join->probe};
	struct rql_host_sizes sizes;
	uint64_t piece = 0, read = 0;
	if (!choose_sizes(join, &sizes))
		return 0;
	for (int s = 0; s < 2; s++) {
		const uint64_t rows = s ? sizes.piece : rql_host_load_rows(join, &sizes);
		const uint64_t bytes = rql_host_layout_of(join, sides[s], rows).bytes;
		const uint64_t all = rql_host_layout_of(join, sides[s], rql_host_read_rows(sides[s])).bytes; /* of a second pass, too */
		piece = bytes > piece ? bytes : piece;
		read = sizes.bits && all > read ? all : read;
	}
	return join->device_count * (RQL_HOST_FLIGHT * piece + 2 * rql_host_layout_of(join, NULL, sizes.out).bytes + read);
}

rql_status rql_host_join_kernels(const struct rql_host_join *join, rql_see_kernel *see, void *state,
                                 struct rql_error *err)
{
	struct rql_host_worker worker = {.join = join};
	struct rql_rehearsal *rehearsal;
	struct rql_device *full;
	if (!choose_sizes(join, &worker.sizes))
		return no_sizes(join, &worker.sizes, &full, err);
	RQL_TRY(rql_rehearsal_new(join->devices[0], see, state, &rehearsal, err));
	worker.device = rql_rehearsal_device(rehearsal);
	rql_status status = rql_host_worker_open(&worker, err);
	if (status == RQL_OK)
		status = rql_host_worker_rehearse(&worker, err);
	rql_host_worker_close(&worker);
	rql_rehearsal_free(rehearsal);
	return status;
}

rql_status rql_host_join_run(const struct rql_host_join *join, struct rql_host_report *report, struct rql_error *err)
{
	struct run run = {.join = join};
	*report = (struct rql_host_report){0};
	RQL_TRY(check(join, err));
	for (uint32_t i = 0; i < join->device_count; i++) {
		const rql_status started = rql_device_start(join->devices[i], err);
		if (started == RQL_ERROR_DEVICE)
			report->failed = join->devices[i];
		RQL_TRY(started);
	}
	if (!choose_sizes(join, &run.sizes))
		return no_sizes(join, &run.sizes, &report->full, err);
	run.limit = limit_of(join, &run.limited);
	RQL_TRY(rql_host_memory_new(join->host_limit, join->folder, join->file_limit, &run.memory, err));
	pthread_mutex_init(&run.sink_lock, NULL);
	pthread_mutex_init(&run.kept_lock, NULL);
	pthread_mutex_init(&run.feed_lock, NULL);
	rql_status status = run.sizes.bits ? partition_sides(&run, report, err) : RQL_OK;
	if (status == RQL_OK)
		status = run_devices(&run, report, err);
	report->host_peak = rql_host_memory_peak(run.memory);
	report->spilled_bytes = rql_host_memory_spilled(run.memory);
	rql_host_store_free(run.level.store[0]);
	rql_host_store_free(run.level.store[1]);
	rql_host_memory_free(run.memory);
	pthread_mutex_destroy(&run.sink_lock);
	pthread_mutex_destroy(&run.kept_lock);
	pthread_mutex_destroy(&run.feed_lock);
	return status;
}

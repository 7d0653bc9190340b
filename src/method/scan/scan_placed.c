/* Which columns of segments lie on devices. One table for the process: segments are shared by the snapshots of a store, and
 * the memory of a device by all. Nothing is uploaded or freed under its lock. */
#include "method/scan/scan_place_internal.h"

#include <pthread.h>
#include <stdlib.h>

#include "util/threads.h"

#define BUCKETS 1024u /* by segments' identities */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t made = PTHREAD_COND_INITIALIZER; /* or failed to be */
static struct rql_scan_placed *buckets[BUCKETS];
static struct rql_scan_placed *oldest, *newest; /* idle ones, of all devices */

/* ---- the table; all with the lock held ---- */

static struct rql_scan_placed **bucket_of(const void *identity)
{
	uint64_t hash = (uint64_t)(uintptr_t)identity * UINT64_C(0x9e3779b97f4a7c15);
	return &buckets[hash >> 54];
}

static void insert(struct rql_scan_placed *p, const void *identity)
{
	struct rql_scan_placed **at = bucket_of(identity);
	p->identity = identity;
	p->next = *at;
	*at = p;
}

static void take_out(struct rql_scan_placed *p)
{
	struct rql_scan_placed **at = bucket_of(p->identity);
	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	p->next = NULL;
}

static struct rql_scan_placed *find(const void *identity, uint32_t column, enum rql_scan_layout layout,
                                    const struct rql_device *device)
{
	for (struct rql_scan_placed *p = *bucket_of(identity); p; p = p->next)
		if (p->identity == identity && p->column == column && p->layout == layout && p->device == device)
			return p;
	return NULL;
}

static void add_idle(struct rql_scan_placed *p)
{
	p->older = newest;
	p->newer = NULL;
	*(newest ? &newest->newer : &oldest) = p;
	newest = p;
}

static void remove_idle(struct rql_scan_placed *p)
{
	*(p->older ? &p->older->newer : &oldest) = p->newer;
	*(p->newer ? &p->newer->older : &newest) = p->older;
	p->older = p->newer = NULL;
}

/* Nobody finds it any more. An idle one joins the list of those to be destroyed. */
static void disown(struct rql_scan_placed *p, struct rql_scan_placed **doomed)
{
	take_out(p);
	if (p->references) {
		insert(p, NULL); /* it still takes memory, which is counted */
		return;
	}
	remove_idle(p);
	p->next = *doomed;
	*doomed = p;
}

/* device NULL: any. */
static void disown_segment(const void *identity, const struct rql_device *device, struct rql_scan_placed **doomed)
{
	for (struct rql_scan_placed *p = *bucket_of(identity), *next; p; p = next) {
		next = p->next;
		if (p->identity == identity && (!device || p->device == device))
			disown(p, doomed);
	}
}

/* ---- without it ---- */

static void destroy(struct rql_scan_placed *doomed)
{
	while (doomed) {
		struct rql_scan_placed *p = doomed;
		doomed = p->next;
		rql_buffer_free(p->buffer);
		free(p->blocks);
		free(p);
	}
}

/* rql_store_segment_watch's. */
static void segment_gone(const void *identity)
{
	struct rql_scan_placed *doomed = NULL;
	pthread_mutex_lock(&lock);
	disown_segment(identity, NULL, &doomed);
	pthread_mutex_unlock(&lock);
	destroy(doomed);
}

void rql_scan_forget(const struct rql_store_snapshot *snapshot, const struct rql_device *device)
{
	struct rql_scan_placed *doomed = NULL;
	pthread_mutex_lock(&lock);
	for (uint32_t s = 0; s < snapshot->segment_count; s++)
		disown_segment(snapshot->segments[s].identity, device, &doomed);
	pthread_mutex_unlock(&lock);
	destroy(doomed);
}

uint64_t rql_scan_evict(const struct rql_device *device, uint64_t bytes, uint64_t since)
{
	struct rql_scan_placed *doomed = NULL;
	uint64_t freed = 0;
	pthread_mutex_lock(&lock);
	for (struct rql_scan_placed *p = oldest, *newer; p && freed < bytes; p = newer) {
		newer = p->newer;
		if (p->device != device || p->wanted_ns >= since)
			continue;
		freed += p->bytes;
		disown(p, &doomed);
	}
	pthread_mutex_unlock(&lock);
	destroy(doomed);
	return freed;
}

/* A store may outlive the devices. */
static void device_closing(const struct rql_device *device)
{
	(void)rql_scan_evict(device, UINT64_MAX, UINT64_MAX);
}

/* ---- references ---- */

/* lock held: one that is there gets a reference; else a new one (NULL: out of memory) is in the table, to be made by the
 * caller, and *make is true. */
static struct rql_scan_placed *obtain(const struct rql_store_segment *segment, uint32_t column,
                                      enum rql_scan_layout layout, struct rql_device *device, bool *make)
{
	struct rql_scan_placed *p = find(segment->identity, column, layout, device);
	for (; p && p->making; p = find(segment->identity, column, layout, device))
		pthread_cond_wait(&made, &lock);
	*make = !p;
	if (p && p->references++ == 0)
		remove_idle(p);
	if (p || !(p = calloc(1, sizeof(*p))))
		return p;
	*p = (struct rql_scan_placed){
		.device = device, .column = column, .layout = layout, .references = 1, .making = true};
	insert(p, segment->identity);
	return p;
}

rql_status rql_scan_place(const struct rql_store_snapshot *snapshot, const struct rql_store_segment *segment,
                          uint32_t column, enum rql_scan_layout layout, struct rql_device *device, uint64_t *uploaded,
                          struct rql_scan_placed **out, struct rql_error *err)
{
	rql_status status = RQL_OK;
	uint64_t start = rql_now_ns();
	bool make;
	rql_store_segment_watch(segment, segment_gone);
	atomic_store(&device->closing, device_closing);
	pthread_mutex_lock(&lock);
	struct rql_scan_placed *p = obtain(segment, column, layout, device, &make);
	if (p)
		p->wanted_ns = start;
	pthread_mutex_unlock(&lock);
	if (!p)
		return rql_error_memory(err, sizeof(*p), "a column on a device");
	if (make) {
		status = rql_scan_placed_make(p, snapshot, segment, err);
		pthread_mutex_lock(&lock);
		p->making = false;
		p->bytes = status == RQL_OK && p->buffer ? p->buffer->bytes : 0;
		p->ms = (double)(rql_now_ns() - start) / 1e6;
		if (status != RQL_OK)
			take_out(p);
		pthread_cond_broadcast(&made);
		pthread_mutex_unlock(&lock);
		*uploaded += p->bytes;
	}
	if (status == RQL_OK)
		*out = p;
	else
		destroy(p);
	return status;
}

void rql_scan_placed_release(struct rql_scan_placed *placed)
{
	struct rql_scan_placed *doomed = NULL;
	if (!placed)
		return;
	pthread_mutex_lock(&lock);
	if (--placed->references == 0) {
		add_idle(placed);
		if (!placed->identity)
			disown(placed, &doomed);
	}
	pthread_mutex_unlock(&lock);
	destroy(doomed);
}

bool rql_scan_is_placed(const struct rql_store_segment *segment, uint32_t column, enum rql_scan_layout layout,
                        const struct rql_device *device)
{
	uint64_t now = rql_now_ns();
	pthread_mutex_lock(&lock);
	struct rql_scan_placed *p = find(segment->identity, column, layout, device);
	if (p)
		p->wanted_ns = now;
	pthread_mutex_unlock(&lock);
	return p != NULL;
}

/* ---- how much ---- */

struct amount {
	uint64_t bytes;
	double ms;
	uint32_t columns;
	bool *seen; /* [columns of the snapshot], or NULL */
};

/* identity NULL: of all segments in the bucket. */
static void add_up(const struct rql_scan_placed *p, const void *identity, const struct rql_device *device,
                   struct amount *sum)
{
	for (; p; p = p->next) {
		if (p->device != device || (identity && p->identity != identity))
			continue;
		sum->bytes += p->bytes;
		sum->ms += p->ms;
		if (sum->seen && !sum->seen[p->column]) {
			sum->seen[p->column] = true;
			sum->columns++;
		}
	}
}

uint64_t rql_scan_device_bytes(const struct rql_store_snapshot *snapshot, const struct rql_device *device,
                               uint32_t *columns, double *ms)
{
	struct amount sum = {0};
	sum.seen = snapshot && columns ? calloc(snapshot->column_count + 1, sizeof(*sum.seen)) : NULL;
	pthread_mutex_lock(&lock);
	for (uint32_t b = 0; !snapshot && b < BUCKETS; b++)
		add_up(buckets[b], NULL, device, &sum);
	for (uint32_t s = 0; snapshot && s < snapshot->segment_count; s++) {
		const void *identity = snapshot->segments[s].identity;
		add_up(*bucket_of(identity), identity, device, &sum);
	}
	pthread_mutex_unlock(&lock);
	free(sum.seen);
	if (columns)
		*columns = sum.columns;
	if (ms)
		*ms = sum.ms;
	return sum.bytes;
}

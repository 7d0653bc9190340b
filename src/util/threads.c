/* Each caller has a loop of its own, and one word of it, the gate, holds everything that it and workers agree on:
 *
 *   epoch (47 bits) | open (1 bit) | joined (16 bits)
 *
 * A caller writes the loop, then stores the gate with a new epoch and the open bit. A worker that has not seen the end
 * of that epoch enters by compare-and-swap (joined + 1), takes chunks until there are none, and leaves (joined - 1).
 * The caller takes chunks as well, closes the gate, and waits for joined = 0. So a worker that wakes up too late finds
 * the gate closed and nobody waits for it: a loop of a few microseconds never pays for a sleeping thread. README.md has
 * what a hand-over costs.
 *
 * Loops of several callers share the workers. A worker enters the open loop that has the fewest. Between two chunks it
 * goes over to one that has fewer by two or more. It enters that one before it leaves its own: of workers that go over
 * at the same time each sees the one before, so that not all go. */
#include "util/threads.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define JOINED_MASK UINT64_C(0xffff)
#define OPEN (UINT64_C(1) << 16)
#define EPOCH_ONE (UINT64_C(1) << 17)
#define EPOCH_OF(gate) ((gate) / EPOCH_ONE)
#define MAX_THREADS 4096u

/* How long a thread polls before it sleeps. A warm query is about 100 us, so a worker that served one is most likely
 * still awake for its next loop; a thread that wakes from a condition variable comes about as late as this. */
#define SPIN_NS 50000
#define CACHE_LINE 64

#define LOOPS 16u /* callers that have the workers at once: as many as there may be GPUs; others work alone */

struct worker {
	struct rql_pool *pool;
	unsigned id;
	pthread_t thread;
	uint64_t served[LOOPS]; /* of each loop: the epoch that had no chunk left */
};

struct loop {
	/* Polled by every worker: alone on its line, away from the chunk counter that they all write. */
	_Alignas(CACHE_LINE) _Atomic uint64_t gate;
	_Alignas(CACHE_LINE) _Atomic uint64_t next; /* chunk */
	/* Written while the gate is closed and nobody is inside. */
	_Alignas(CACHE_LINE) uint64_t count;
	rql_chunk_fn *fn;
	void *state;
	atomic_bool busy;           /* a caller owns it */
	atomic_bool caller_waiting; /* for `left` */
};

struct rql_pool {
	/* Bit i: loop i is open. Who looks for work reads this one line, and the gates of open loops: a thread that wakes up
	 * has none of them in its cache, and holds the mutex meanwhile. */
	_Alignas(CACHE_LINE) _Atomic uint32_t open;
	struct loop loops[LOOPS];
	_Alignas(CACHE_LINE) pthread_mutex_t mutex; /* only for going to sleep and waking up */
	pthread_cond_t opened, left;
	_Atomic unsigned sleeping;  /* workers that wait for `opened` */
	atomic_bool stopping;
	uint64_t spin_ns; /* 0 when there are more threads than CPUs: polling would take the CPU from the work */
	unsigned threads;
	unsigned started; /* entries of workers with a running thread */
	struct worker *workers;
};

static _Thread_local const struct rql_pool *inside; /* whose chunk the thread is running */

static uint64_t read_clock(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

uint64_t rql_now_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

uint64_t rql_thread_ns(void)
{
	return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t rql_process_ns(void)
{
	return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

/* The CPUs this process may use: an affinity mask (taskset, a container's cpuset) can leave fewer than are online. */
static unsigned usable_cpus(void)
{
	cpu_set_t set;
	if (sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 0)
		return (unsigned)CPU_COUNT(&set);
	long online = sysconf(_SC_NPROCESSORS_ONLN); /* a machine with more CPUs than cpu_set_t holds */
	return online > 0 ? (unsigned)online : 1;
}

static bool take_chunk(struct loop *loop, unsigned worker)
{
	const uint64_t index = atomic_fetch_add_explicit(&loop->next, 1, memory_order_relaxed);
	if (index >= loop->count)
		return false;
	loop->fn(loop->state, index, worker);
	return true;
}

/* ---- workers ---------------------------------------------------------------------------------------------------- */

/* Of the open loops that it has not seen the end of, the one with the fewest workers, below `most`, and its gate. */
static struct loop *find_loop(const struct worker *worker, uint64_t most, uint64_t *gate)
{
	struct loop *found = NULL;
	for (uint32_t open = atomic_load(&worker->pool->open); open; open &= open - 1) {
		const unsigned i = (unsigned)__builtin_ctz(open);
		struct loop *loop = &worker->pool->loops[i];
		const uint64_t g = atomic_load(&loop->gate);
		if (!(g & OPEN) || (g & JOINED_MASK) >= most || EPOCH_OF(g) == worker->served[i])
			continue;
		most = g & JOINED_MASK;
		*gate = g;
		found = loop;
	}
	return found;
}

/* NULL also when another worker came or went, or when the loop ended: look again. */
static struct loop *enter(const struct worker *worker, uint64_t most)
{
	uint64_t gate = 0;
	struct loop *loop = find_loop(worker, most, &gate);
	return loop && atomic_compare_exchange_strong(&loop->gate, &gate, gate + 1) ? loop : NULL;
}

/* Waits for a loop; false when the pool is being freed. */
static bool wait_for_work(const struct worker *worker)
{
	struct rql_pool *pool = worker->pool;
	uint64_t gate, until = pool->spin_ns ? rql_now_ns() + pool->spin_ns : 0;
	do {
		for (int i = 0; i < 64; i++) {
			if (find_loop(worker, UINT64_MAX, &gate))
				return true;
			rql_relax();
		}
	} while (pool->spin_ns && !atomic_load_explicit(&pool->stopping, memory_order_relaxed) && rql_now_ns() < until);

	pthread_mutex_lock(&pool->mutex);
	/* Announced before `open` is read again; a caller sets its bit before it reads `sleeping`. One of the two sees
	 * the other (both are sequentially consistent), so no wake-up is lost. */
	atomic_fetch_add(&pool->sleeping, 1);
	bool work;
	while (!(work = find_loop(worker, UINT64_MAX, &gate)) && !atomic_load(&pool->stopping))
		pthread_cond_wait(&pool->opened, &pool->mutex);
	atomic_fetch_sub(&pool->sleeping, 1);
	pthread_mutex_unlock(&pool->mutex);
	return work;
}

static void leave(struct rql_pool *pool, struct loop *loop)
{
	uint64_t before = atomic_fetch_sub(&loop->gate, 1);
	if ((before & (OPEN | JOINED_MASK)) == 1 && atomic_load(&loop->caller_waiting)) {
		pthread_mutex_lock(&pool->mutex);
		pthread_cond_broadcast(&pool->left); /* callers share it */
		pthread_mutex_unlock(&pool->mutex);
	}
}

/* Until the loop has no chunk left, or another one lacks workers: that one, which it has entered. */
static struct loop *help(struct worker *worker, struct loop *loop)
{
	struct loop *other = NULL;
	while (!other) {
		if (!take_chunk(loop, worker->id)) {
			worker->served[loop - worker->pool->loops] = EPOCH_OF(atomic_load(&loop->gate));
			break;
		}
		const uint64_t joined = atomic_load(&loop->gate) & JOINED_MASK;
		other = joined > 1 ? enter(worker, joined - 1) : NULL;
	}
	leave(worker->pool, loop);
	return other;
}

static void *work(void *argument)
{
	struct worker *worker = argument;
	inside = worker->pool;
	while (wait_for_work(worker))
		for (struct loop *loop = enter(worker, UINT64_MAX); loop;)
			loop = help(worker, loop);
	return NULL;
}

/* ---- callers ---------------------------------------------------------------------------------------------------- */

static void wake_workers(struct rql_pool *pool, uint64_t count)
{
	unsigned sleeping = atomic_load(&pool->sleeping);
	if (sleeping == 0)
		return;
	pthread_mutex_lock(&pool->mutex);
	/* No more than there are chunks for: each costs a system call and a switch. */
	if (count > sleeping)
		pthread_cond_broadcast(&pool->opened);
	else
		for (uint64_t i = 1; i < count; i++)
			pthread_cond_signal(&pool->opened);
	pthread_mutex_unlock(&pool->mutex);
}

static void wait_for_workers(struct rql_pool *pool, struct loop *loop)
{
	uint64_t until = pool->spin_ns ? rql_now_ns() + pool->spin_ns : 0;
	do {
		for (int i = 0; i < 64; i++) {
			if ((atomic_load(&loop->gate) & JOINED_MASK) == 0)
				return;
			rql_relax();
		}
	} while (pool->spin_ns && rql_now_ns() < until);

	pthread_mutex_lock(&pool->mutex);
	atomic_store(&loop->caller_waiting, true);
	while ((atomic_load(&loop->gate) & JOINED_MASK) != 0)
		pthread_cond_wait(&pool->left, &pool->mutex);
	atomic_store(&loop->caller_waiting, false);
	pthread_mutex_unlock(&pool->mutex);
}

/* One that no caller owns, now the caller's; NULL: there is none. */
static struct loop *own_loop(struct rql_pool *pool)
{
	for (unsigned i = 0; i < LOOPS; i++)
		if (!atomic_load_explicit(&pool->loops[i].busy, memory_order_relaxed) &&
		    !atomic_exchange(&pool->loops[i].busy, true))
			return &pool->loops[i];
	return NULL;
}

void rql_pool_run(struct rql_pool *pool, uint64_t count, rql_chunk_fn *fn, void *state)
{
	const struct rql_pool *outer = inside;
	struct loop *loop = count > 1 && pool->threads > 1 && outer != pool ? own_loop(pool) : NULL;
	if (!loop) {
		for (uint64_t i = 0; i < count; i++)
			fn(state, i, 0);
		return;
	}
	const uint32_t bit = UINT32_C(1) << (loop - pool->loops);
	loop->count = count;
	loop->fn = fn;
	loop->state = state;
	atomic_store_explicit(&loop->next, 0, memory_order_relaxed);
	uint64_t closed = atomic_load(&loop->gate); /* joined is 0 and only we open it */
	atomic_store(&loop->gate, (EPOCH_OF(closed) + 1) * EPOCH_ONE | OPEN);
	atomic_fetch_or(&pool->open, bit);
	wake_workers(pool, count);
	inside = pool;
	while (take_chunk(loop, 0)) {
	}
	inside = outer;
	atomic_fetch_and(&pool->open, ~bit);
	atomic_fetch_and(&loop->gate, ~OPEN);
	wait_for_workers(pool, loop);
	atomic_store(&loop->busy, false);
}

/* ---- life ------------------------------------------------------------------------------------------------------- */

void rql_pool_free(struct rql_pool *pool)
{
	if (!pool)
		return;
	pthread_mutex_lock(&pool->mutex);
	atomic_store(&pool->stopping, true);
	pthread_cond_broadcast(&pool->opened);
	pthread_mutex_unlock(&pool->mutex);
	for (unsigned i = 0; i < pool->started; i++)
		pthread_join(pool->workers[i].thread, NULL);
	pthread_cond_destroy(&pool->left);
	pthread_cond_destroy(&pool->opened);
	pthread_mutex_destroy(&pool->mutex);
	free(pool->workers);
	free(pool);
}

/* Signals are for the program's own threads: Ctrl-C must not land in a worker. */
static int start_workers(struct rql_pool *pool)
{
	sigset_t all, before;
	sigfillset(&all);
	int rc = pthread_sigmask(SIG_SETMASK, &all, &before);
	if (rc)
		return rc;
	for (unsigned i = 0; i + 1 < pool->threads && !rc; i++) {
		struct worker *worker = &pool->workers[i];
		*worker = (struct worker){.pool = pool, .id = i + 1};
		rc = pthread_create(&worker->thread, NULL, work, worker);
		if (!rc)
			pool->started++;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}

rql_status rql_pool_new(unsigned threads, struct rql_pool **out, struct rql_error *err)
{
	unsigned cpus = usable_cpus();
	if (threads == 0)
		threads = cpus < MAX_THREADS ? cpus : MAX_THREADS;
	if (threads > MAX_THREADS)
		return rql_error_set(err, RQL_ERROR_MISUSE, "a pool of %u threads was asked for; at most %u are possible",
		                     threads, MAX_THREADS);

	struct rql_pool *pool = aligned_alloc(CACHE_LINE, sizeof(*pool));
	if (!pool)
		return rql_error_memory(err, sizeof(*pool), "a thread pool");
	memset(pool, 0, sizeof(*pool));
	pool->threads = threads;
	pool->spin_ns = threads <= cpus ? SPIN_NS : 0;
	pthread_mutex_init(&pool->mutex, NULL); /* these three cannot fail on Linux with default attributes */
	pthread_cond_init(&pool->opened, NULL);
	pthread_cond_init(&pool->left, NULL);
	rql_status status = RQL_OK;
	int rc;
	pool->workers = calloc(threads, sizeof(*pool->workers));
	if (!pool->workers) {
		status = rql_error_memory(err, threads * sizeof(*pool->workers), "a thread pool's workers");
		goto error;
	}
	rc = start_workers(pool);
	if (rc) {
		status =
			rql_error_set(err, RQL_ERROR_MEMORY,
		                  "cannot start thread %u of %u: %s; open the database with fewer (rayql_threads), or raise the "
		                  "process limit (ulimit -u)",
		                  pool->started + 2, threads, strerror(rc));
		goto error;
	}
	*out = pool;
	return RQL_OK;
error:
	rql_pool_free(pool);
	return status;
}

unsigned rql_pool_threads(const struct rql_pool *pool)
{
	return pool->threads;
}

/* A thread pool for parallel loops over independent chunks. The calling thread works too, so a pool
 * of one runs everything inline, and a loop of one chunk costs no hand-over. Workers spin briefly
 * (tens of microseconds) after a loop before they sleep: a warm query is itself that short. */
#ifndef RQL_UTIL_THREADS_H
#define RQL_UTIL_THREADS_H

#include <stdbool.h>
#include <stdint.h>
#include "util/status.h"

struct rql_pool;

/* threads counts the caller; 0 means the number of online CPUs. */
rql_status rql_pool_new(unsigned threads, struct rql_pool **out, struct rql_error *err) RQL_MUST_CHECK;
void rql_pool_free(struct rql_pool *pool);
unsigned rql_pool_threads(const struct rql_pool *pool);

/* Called with every index in [0, count) exactly once; worker in [0, rql_pool_threads) says which
 * private state to use. Chunks are taken in index order from a shared counter. */
typedef void rql_chunk_fn(void *state, uint64_t index, unsigned worker);
/* Returns when all are done. Concurrent callers share the pool's threads evenly. Beyond 16 of them a caller works alone, so
 * that nobody waits. A loop inside a chunk of the same pool runs inline with worker 0. */
void rql_pool_run(struct rql_pool *pool, uint64_t count, rql_chunk_fn *fn, void *state);

/* The same; pool NULL, or a single chunk: by the caller alone. */
static inline void rql_pool_each(struct rql_pool *pool, uint64_t count, rql_chunk_fn *fn, void *state)
{
	if (pool && count > 1) {
		rql_pool_run(pool, count, fn, state);
		return;
	}
	for (uint64_t i = 0; i < count; i++)
		fn(state, i, 0);
}

/* Monotonic nanoseconds. */
uint64_t rql_now_ns(void);
/* Processor time of the calling thread, and of all threads of the process: what a measurement takes that must not know
 * what else the machine does. */
uint64_t rql_thread_ns(void);
uint64_t rql_process_ns(void);

/* Between two looks of a thread that waits awake. */
static inline void rql_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

#endif

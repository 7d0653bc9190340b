/* Running a build's chunks on its threads, telling its watcher how far it is, and asking whether to stop. */
#include "column/crew.h"

void rql_crew_run(const struct rql_crew *crew, uint64_t count, rql_chunk_fn *fn, void *state)
{
	if (crew->pool) {
		rql_pool_run(crew->pool, count, fn, state);
		return;
	}
	for (uint64_t i = 0; i < count; i++)
		fn(state, i, 0);
}

unsigned rql_crew_threads(const struct rql_crew *crew)
{
	return crew->pool ? rql_pool_threads(crew->pool) : 1;
}

bool rql_crew_cancelled(const struct rql_crew *crew)
{
	return crew->progress && atomic_load_explicit(&crew->progress->cancel, memory_order_relaxed);
}

rql_status rql_crew_interrupted(struct rql_error *err)
{
	return rql_error_set(err, RQL_ERROR_INTERRUPTED, "Interrupted!");
}

void rql_crew_phase(const struct rql_crew *crew, const char *phase, uint64_t total)
{
	if (!crew->progress)
		return;
	atomic_store(&crew->progress->phase, phase);
	atomic_store(&crew->progress->rows, 0);
	if (total)
		atomic_store(&crew->progress->total_rows, total);
}

void rql_crew_advance(const struct rql_crew *crew, uint64_t rows)
{
	if (crew->progress)
		atomic_fetch_add_explicit(&crew->progress->rows, rows, memory_order_relaxed);
}

/* What a build works with: the memory it may charge, the threads that help, and the watcher who may cancel. */
#ifndef RQL_COLUMN_CREW_H
#define RQL_COLUMN_CREW_H

#include "util/mem.h"
#include "util/threads.h"

struct rql_crew {
	struct rql_mem *mem;
	struct rql_pool *pool;         /* NULL: the calling thread alone */
	struct rql_progress *progress; /* may be NULL */
};

/* A parallel loop on the crew's threads, or inline. */
void rql_crew_run(const struct rql_crew *crew, uint64_t count, rql_chunk_fn *fn, void *state);
unsigned rql_crew_threads(const struct rql_crew *crew);
bool rql_crew_cancelled(const struct rql_crew *crew);
rql_status rql_crew_interrupted(struct rql_error *err);
/* A new phase of total rows; 0: as many as before. */
void rql_crew_phase(const struct rql_crew *crew, const char *phase, uint64_t total);
void rql_crew_advance(const struct rql_crew *crew, uint64_t rows);

#endif

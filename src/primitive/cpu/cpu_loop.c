/* How a loop on the CPU is cut into chunks for its threads. */
#include "primitive/primitive_internal.h"

struct rql_cpu_chunks rql_cpu_chunks(const struct rql_device *cpu, uint64_t count)
{
	uint64_t threads = rql_pool_threads(cpu->pool);
	/* Several per worker, since the pool may give one of them less time than another. */
	uint64_t size = threads > 1 ? rql_div_up(count, threads * 4) : count;
	if (size < RQL_CPU_CHUNK)
		size = RQL_CPU_CHUNK;
	size = rql_div_up(size, 64) * 64; /* whole words of bitmaps */
	return (struct rql_cpu_chunks){count, size, rql_div_up(count, size)};
}

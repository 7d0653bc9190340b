/* Methods over rows that lie in the host's memory: see the header. */
#include "method/host_rows.h"

#define FILE_GBPS 1.0 /* of a temporary file, written or read */
#define PAGES_GBPS 1.5 /* a thread's first writing of memory: the system clears its pages */

const char *rql_sharers_lack(const struct rql_sharers *on, enum rql_unit unit)
{
	const char *lack = NULL;
	for (uint32_t i = 0; i < on->count && !lack; i++)
		lack = rql_device_lacks(on->device[i], unit);
	return lack;
}

double rql_host_rows_memory_ns(double partitioned, uint64_t host_bytes, double others, double threads)
{
	const double over = partitioned - (double)host_bytes / 2, beyond = host_bytes && over > 0 ? over : 0;
	return (partitioned - beyond + others) / (PAGES_GBPS * threads) + beyond * 2 / FILE_GBPS;
}

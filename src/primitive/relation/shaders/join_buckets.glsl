// Counts of a table's buckets, COUNT_OF(b) in shared memory, become where each bucket begins; returns the sum of all. Ends with a
// barrier.
uint place_buckets()
{
	uint t = rql_thread();
	uint each = (BUCKETS + THREADS - 1u) / THREADS;
	uint sum = 0u, total;
	for (uint k = 0u; k < each && t * each + k < BUCKETS; k++)
		sum += COUNT_OF(t * each + k);
	uint before = rql_before(sum, total);
	for (uint k = 0u; k < each && t * each + k < BUCKETS; k++) {
		uint own = COUNT_OF(t * each + k);
		COUNT_OF(t * each + k) = before;
		before += own;
	}
	barrier();
	return total;
}

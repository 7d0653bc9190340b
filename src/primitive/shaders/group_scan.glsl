// Prefix sum over a workgroup of RQL_THREADS threads, one RQL_SUM each, through shared memory alone: the mapping of
// threads to subgroups does not matter. RQL_THREADS is 4^4: in each of four steps every thread takes up three more
// windows, and the two sides alternate, so that a step needs one barrier. Ends with a barrier.
shared RQL_SUM rql_scan_words[2][RQL_THREADS];

RQL_SUM rql_group_exclusive(RQL_SUM value, out RQL_SUM total)
{
	uint t = gl_LocalInvocationIndex;
	uint side = 0u;
	RQL_SUM sum = value;
	rql_scan_words[0][t] = sum;
	barrier();
	for (uint step = 1u; step < RQL_THREADS; step <<= 2u) {
		for (uint k = step; k <= 3u * step && k <= t; k += step)
			sum += rql_scan_words[side][t - k];
		side ^= 1u;
		rql_scan_words[side][t] = sum;
		barrier();
	}
	total = rql_scan_words[side][RQL_THREADS - 1u];
	barrier();
	return sum - value;
}

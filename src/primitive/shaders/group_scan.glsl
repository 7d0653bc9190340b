// Prefix sum over a workgroup of RQL_THREADS threads, one RQL_SUM each, through shared memory alone: the mapping of
// threads to subgroups does not matter. Begins and ends with a barrier's guarantees.
shared RQL_SUM rql_scan_words[RQL_THREADS];

RQL_SUM rql_group_exclusive(RQL_SUM value, out RQL_SUM total)
{
	uint t = gl_LocalInvocationIndex;
	rql_scan_words[t] = value;
	barrier();
	for (uint step = 1u; step < RQL_THREADS; step <<= 1u) {
		RQL_SUM other = t >= step ? rql_scan_words[t - step] : RQL_SUM(0);
		barrier();
		rql_scan_words[t] += other;
		barrier();
	}
	total = rql_scan_words[RQL_THREADS - 1u];
	RQL_SUM before = rql_scan_words[t] - value;
	barrier();
	return before;
}

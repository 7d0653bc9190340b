// Places in a list of groups. Include after scan_rows.glsl, with the extensions for ballots.
#ifndef SCAN_ENTRY_GLSL
#define SCAN_ENTRY_GLSL

// One entry for each invocation that has a group, from the counter at this address: one atomic a subgroup.
uint64_t scan_new_entry(uint64_t counter, bool wanted)
{
	uvec4 ballot = subgroupBallot(wanted);
	uint count = subgroupBallotBitCount(ballot);
	uvec2 first = uvec2(0u);
	if (subgroupElect() && count != 0u)
		first = unpackUint2x32(atomicAdd(ScanWord(counter).v, uint64_t(count)));
	first = subgroupBroadcastFirst(first);
	return packUint2x32(first) + subgroupBallotExclusiveBitCount(ballot);
}
#endif

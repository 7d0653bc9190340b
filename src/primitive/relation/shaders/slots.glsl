// Adding to 64-bit and 128-bit accumulators in memory that many invocations share (also for other rooms' kernels).
#ifndef RQL_SLOTS_GLSL
#define RQL_SLOTS_GLSL
#include "primitive/shaders/words.glsl"

// (low, high) += (low, high) as one 128-bit number: every carry out of the low word is seen by exactly one addition,
// so the sum is right once all are done.
void rql_slot_add128(uint64_t low_at, uint64_t high_at, uint64_t low, uint64_t high)
{
	if (low != 0ul) {
		uint64_t old = atomicAdd(RQL_U64(low_at, 0), low);
		high += old + low < old ? 1ul : 0ul;
	}
	if (high != 0ul)
		atomicAdd(RQL_U64(high_at, 0), high);
}

void rql_slot_add64(uint64_t at, uint64_t value)
{
	if (value != 0ul)
		atomicAdd(RQL_U64(at, 0), value);
}

// Keys that preserve the order (ordered.glsl). The plain read first keeps most rows from an atomic; a stale value only
// costs one more.
void rql_slot_min(uint64_t at, uint64_t key)
{
	if (key < RQL_U64(at, 0))
		atomicMin(RQL_U64(at, 0), key);
}

void rql_slot_max(uint64_t at, uint64_t key)
{
	if (key > RQL_U64(at, 0))
		atomicMax(RQL_U64(at, 0), key);
}
#endif

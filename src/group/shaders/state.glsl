// Values of states on the device: how two of them fold, and how one goes into a row's word(s) that many invocations share.
// Include after device/kernel.glsl. Define before: STATE_REAL (1: there may be sums of doubles, and the module needs
// shaderFloat64), and of a kind STATE_IS_SUM, STATE_IS_WIDE, STATE_IS_SUM_REAL, STATE_IS_MIN; any other is a maximum.
// A value is a u64vec2; kinds of one word leave y 0. Extremes are unsigned keys: those of nothing all ones, or 0.
#ifndef RQL_STATE_GLSL
#define RQL_STATE_GLSL
#include "primitive/shaders/ordered.glsl"

// What other invocations of the dispatch write.
layout(buffer_reference, scalar, buffer_reference_align = 8) coherent buffer StateWord { uint64_t v; };

#if STATE_REAL
uint64_t rql_state_add_reals(uint64_t a, uint64_t b)
{
	double sum = packDouble2x32(unpackUint2x32(a)) + packDouble2x32(unpackUint2x32(b));
	return packUint2x32(unpackDouble2x32(sum));
}
#endif

u64vec2 rql_state_add128(u64vec2 a, u64vec2 b)
{
	uint64_t low = a.x + b.x;
	return u64vec2(low, a.y + b.y + (low < a.x ? 1ul : 0ul));
}

// What changes nothing. It is also what an empty group's row holds, so that rows start as templates.
uint64_t rql_state_identity(uint kind)
{
	return STATE_IS_MIN(kind) ? 0xfffffffffffffffful : 0ul;
}

u64vec2 rql_state_fold(uint kind, u64vec2 a, u64vec2 b)
{
	if (STATE_IS_SUM(kind))
		return u64vec2(a.x + b.x, 0ul);
	if (STATE_IS_WIDE(kind))
		return rql_state_add128(a, b);
#if STATE_REAL
	if (STATE_IS_SUM_REAL(kind))
		return u64vec2(rql_state_add_reals(a.x, b.x), 0ul);
#endif
	return u64vec2(STATE_IS_MIN(kind) ? min(a.x, b.x) : max(a.x, b.x), 0ul);
}

// Two-word sums: every carry out of the low word reaches the high one once, in whatever order the additions come.
void rql_state_atomic(uint kind, uint64_t word, u64vec2 value)
{
	StateWord at = StateWord(word);
	if (STATE_IS_SUM(kind)) {
		if (value.x != 0ul)
			atomicAdd(at.v, value.x);
	} else if (STATE_IS_WIDE(kind)) {
		uint64_t before = atomicAdd(at.v, value.x);
		uint64_t high = value.y + (before + value.x < before ? 1ul : 0ul);
		if (high != 0ul)
			atomicAdd(StateWord(word + 8ul).v, high);
#if STATE_REAL
	} else if (STATE_IS_SUM_REAL(kind)) {
		uint64_t now = at.v, before;
		do {
			before = now;
			now = atomicCompSwap(at.v, before, rql_state_add_reals(before, value.x));
		} while (now != before);
#endif
	} else if (STATE_IS_MIN(kind)) {
		if (value.x != 0xfffffffffffffffful)
			atomicMin(at.v, value.x);
	} else if (value.x != 0ul) {
		atomicMax(at.v, value.x);
	}
}
#endif

// The end of a run, by workgroups (compute only): who is last, what the host reads, and everything back at rest.
#ifndef CUBE_FINISH_GLSL
#define CUBE_FINISH_GLSL

shared uint cube_is_last;

// Called by all invocations of all `groups` workgroups of a dispatch, each when it is done: true in the last of them,
// which then sees what the others did. The barriers order a workgroup's own writes before its ticket, the atomic orders
// the tickets, and the last memory barrier orders the last one's reads (all of `coherent` memory) after its own. One
// workgroup alone needs no ticket, which is a round trip to the cache that all share.
bool cube_last_of(uint64_t ticket_word, uint64_t groups)
{
	memoryBarrierBuffer();
	barrier();
	if (groups > 1ul) {
		if (gl_LocalInvocationIndex == 0u) {
			uint64_t ticket = atomicAdd(CubeWord(ticket_word).v, 1ul);
			cube_is_last = ticket + 1ul == groups ? 1u : 0u;
		}
		memoryBarrierShared();
		barrier();
		if (cube_is_last == 0u)
			return false;
	}
	memoryBarrierBuffer();
	return true;
}

bool cube_last_workgroup(rql_cube_accumulator acc, uint64_t groups)
{
	return cube_last_of(acc.state + RQL_CUBE_STATE_TICKET * 8u, groups);
}

uint64_t cube_template_word(rql_cube_program p, uint word)
{
	return CubeU64(p.row_template + uint64_t(word) * 8ul).v;
}

// By the last workgroup: the state to the result's head, and zero again.
void cube_put_head(rql_cube_accumulator acc)
{
	for (uint i = gl_LocalInvocationIndex; i < RQL_CUBE_STATE_WORDS; i += gl_WorkGroupSize.x) {
		CubeWord state = CubeWord(acc.state + uint64_t(i) * 8ul);
		CubeWord(acc.result + uint64_t(i) * 8ul).v = state.v;
		state.v = 0ul;
	}
}

// By the last workgroup: every row to the result, and a template again. Four rows of loads are in flight at once: one
// load takes most of a microsecond.
void cube_put_rows(rql_cube_program p, rql_cube_accumulator acc)
{
	uint words = uint(p.group_count) * p.row_words, step = gl_WorkGroupSize.x;
	for (uint i = gl_LocalInvocationIndex; i < words; i += 4u * step) {
		uint64_t value[4];
		[[unroll]] for (uint k = 0u; k < 4u; k++)
			value[k] = i + k * step < words ? CubeWord(acc.rows + uint64_t(i + k * step) * 8ul).v : 0ul;
		[[unroll]] for (uint k = 0u; k < 4u; k++) {
			uint at = i + k * step;
			if (at >= words)
				break;
			CubeWord(acc.found + uint64_t(at) * 8ul).v = value[k];
			CubeWord(acc.rows + uint64_t(at) * 8ul).v = cube_template_word(p, at % p.row_words);
		}
	}
}
#endif

// What the three forms of group-by share: arguments, slots, one row added in global memory.
#include "primitive/shaders/words.glsl"
#include "primitive/shaders/ordered.glsl"
#include "primitive/shaders/slots.glsl"
layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint SLOTS = 0u;
layout(constant_id = 2) const uint SLOT0 = 0u;
layout(constant_id = 3) const uint SLOT1 = 0u;
layout(constant_id = 4) const uint SLOT2 = 0u;
layout(constant_id = 5) const uint SLOT3 = 0u;
layout(constant_id = 6) const uint SLOT4 = 0u;
layout(constant_id = 7) const uint SLOT5 = 0u;
layout(push_constant, scalar) uniform rql_push { rql_group_args args; };

#define KIND_COUNT 0u
#define KIND_SUM64 1u
#define KIND_SUM128 2u
#define KIND_MIN 3u
#define KIND_MAX 4u

uint slot_of(uint s)
{
	return s == 0u ? SLOT0 : s == 1u ? SLOT1 : s == 2u ? SLOT2 : s == 3u ? SLOT3 : s == 4u ? SLOT4 : SLOT5;
}

uint64_t sign_of(uint64_t bits, uint type)
{
	return type == RQL_WORD_I64 && (bits & RQL_SIGN) != 0ul ? ~0ul : 0ul;
}

void add_extreme(uint kind, uint type, uint64_t at, uint64_t bits)
{
	if (kind == KIND_MIN)
		rql_slot_min(at, rql_key_of(bits, type));
	else
		rql_slot_max(at, rql_key_of(bits, type));
}

void add_row(uint64_t row, uint64_t place)
{
	uint64_t at = args.state + place * 8ul;
	[[unroll]] for (uint s = 0u; s < 6u; s++) {
		if (s >= SLOTS)
			break;
		uint kind = slot_of(s) & 255u;
		uint type = slot_of(s) >> 8u;
		uint64_t bits = kind == KIND_COUNT ? 1ul : RQL_U64(args.values[s], row);
		if (kind == KIND_SUM128) {
			rql_slot_add128(at, at + args.places * 8ul, bits, sign_of(bits, type));
			at += args.places * 8ul;
		} else if (kind == KIND_MIN || kind == KIND_MAX) {
			add_extreme(kind, type, at, bits);
		} else {
			rql_slot_add64(at, bits);
		}
		at += args.places * 8ul;
	}
}

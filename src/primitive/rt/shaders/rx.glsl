// What the tracing shaders of RX share. WIDE: a sum or the place in a list travels with the ray.
#include "device/trace.glsl"
#include "primitive/rt/shaders/rt.glsl"
layout(push_constant, scalar) uniform rql_push { rql_rx_args args; };

struct rx_payload {
#if WIDE
	uint64_t word; // a sum; where the next pair of a list goes
#endif
	uint row, hits;
};

uint rx_row(uint part, uint primitive)
{
	uint number = (part << PART_LOG2) + primitive;
	return args.prim_rows != 0ul ? RQL_U32(args.prim_rows, number) : number;
}

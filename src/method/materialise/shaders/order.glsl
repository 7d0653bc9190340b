// What the kernels of an order share.
#include "method/materialise/materialise_kernels.h"
#include "primitive/shaders/words.glsl"
layout(local_size_x_id = 0) in;
layout(push_constant, scalar) uniform rql_push { rql_order_args args; };

uint64_t rql_rows()
{
	return min(RQL_U64(args.count, 0), args.room);
}

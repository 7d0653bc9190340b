// What the kernels of a top-N share.
#include "method/materialise/materialise_kernels.h"
layout(local_size_x_id = 0) in;
layout(push_constant, scalar) uniform rql_push { rql_top_args args; };
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer rql_u32s { uint at[]; };
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer rql_u64s { uint64_t at[]; };

uint64_t rql_rows()
{
	return min(rql_u64s(args.count).at[0], args.room);
}

// What kernels of look-ups share: a key's entry in the directory. KEY_BITS: 32 or 64.
#include "primitive/lookup_kernels.h"
#include "primitive/shaders/key_words.glsl"
layout(local_size_x_id = 0) in;
layout(push_constant, scalar) uniform rql_push { rql_lookup_args args; };

// A key, and its row, by its place.
#define KEY_AT(place) RQL_KEY(args.keys, uint64_t(place) << args.stride)
#define ROW_AT(place) RQL_U32(args.rows, uint64_t(place) << args.stride)

// Never descends as keys ascend. Keys beyond the bounds go to the first and the last entry.
uint entry_of(KEY key)
{
	uint64_t wide = uint64_t(key);
	return wide <= args.base ? 0u : uint(min((wide - args.base) >> args.shift, uint64_t(args.last)));
}

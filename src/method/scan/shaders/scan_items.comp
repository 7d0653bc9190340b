// Items for rows that come in as COLUMNS: blocks of 4096 of them, as many as there are, the last ones perhaps empty. An
// invocation each for an item's head and its references.
//
// Floor: 16 bytes and 64 for each column written for 4096 rows, beside whose columns that is nothing.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "method/scan/gpu/scan_kernels.h"
layout(local_size_x_id = 0) in;
layout(push_constant, scalar) uniform Args { rql_scan_items_args args; };
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer ItemsU64 { uint64_t v; };
layout(buffer_reference, scalar, buffer_reference_align = 16) readonly buffer ItemsTemplate { rql_scan_ref v; };
layout(buffer_reference, scalar, buffer_reference_align = 16) writeonly buffer ItemsRef { rql_scan_ref v; };
layout(buffer_reference, scalar, buffer_reference_align = 16) writeonly buffer ItemsHead { uvec4 v; };

#define ROWS 4096u

void main()
{
	uint64_t id = rql_group() * uint64_t(gl_WorkGroupSize.x) + uint64_t(gl_LocalInvocationIndex);
	uint parts = args.ref_count + 1u, item = uint(id / uint64_t(parts)), part = uint(id % uint64_t(parts));
	if (item >= args.item_count)
		return;
	uint64_t at = args.items + uint64_t(item) * uint64_t(args.item_bytes), first = uint64_t(item) * uint64_t(ROWS);
	if (part == 0u) {
		uint64_t there = min(ItemsU64(args.count).v, args.room);
		uint rows = there <= first ? 0u : uint(min(there - first, uint64_t(ROWS)));
		ItemsHead(at).v = uvec4(rows, item, 0u, 0u);
		return;
	}
	rql_scan_ref ref = ItemsTemplate(args.templates + uint64_t((part - 1u) * RQL_SCAN_REF_BYTES)).v;
	uint64_t bytes = ref.bits_how == 64u ? 8ul : 4ul;
	ref.data = args.values + args.room * ref.data + first * bytes;
	ItemsRef(at + uint64_t(RQL_SCAN_ITEM_HEAD + (part - 1u) * RQL_SCAN_REF_BYTES)).v = ref;
}

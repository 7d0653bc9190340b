// What the kernels of a partition share: which partition a key belongs to, and which parent a row.
#include "primitive/relation/shaders/partition_of.glsl"

uint parent_start(uint parent)
{
	return RQL_U32(args.parents, parent << args.parents_log2);
}

shared uint parent_found;
// The last parent that is not empty and begins at the row or before, by all threads together: the row is below the last
// one's end. Ends with a barrier.
uint parent_of(uint row)
{
	for (uint i = rql_thread(); i < args.parent_count; i += THREADS)
		if (parent_start(i) <= row && row < parent_start(i + 1u))
			parent_found = i;
	barrier();
	return parent_found;
}

// What kernels of sorted maps share. KEY_BITS: 32 or 64. TREE: 1: of B+ trees.
#include "primitive/lookup/lookup_kernels.h"
#include "primitive/relation/shaders/key_words.glsl"
layout(local_size_x_id = 0) in;
layout(push_constant, scalar) uniform rql_push { rql_lookup_args args; };
#if TREE
#include "primitive/lookup/shaders/lookup_tree.glsl"
#else
#include "primitive/lookup/shaders/lookup_search.glsl"
#endif

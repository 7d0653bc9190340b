/* The life of a cube: allocation, references, and which types it can hold. */
#include "method/cube/cube_internal.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "method/cube/cube_pack.h"
#include "method/cube/gpu/cube_place.h"

rql_status rql_cube_new(struct rql_budget *budget, const char *name, struct rql_cube_owned **out, struct rql_error *err)
{
	struct rql_cube_owned *owned = calloc(1, sizeof(*owned));
	struct rql_arena *arena = rql_arena_new();
	char *what = arena ? rql_arena_printf(arena, "cube %s", name) : NULL;
	if (!owned || !what) {
		rql_arena_free(arena);
		free(owned);
		return rql_error_memory(err, sizeof(*owned), "a cube");
	}
	owned->cube.arena = arena;
	owned->cube.budget = budget;
	rql_mem_init(&owned->mem, budget, what);
	atomic_init(&owned->references, 1);
	*out = owned;
	return RQL_OK;
}

struct rql_cube *rql_cube_retain(const struct rql_cube *cube)
{
	/* The count is not part of what a reader of a const cube sees. */
	struct rql_cube_owned *owned = (struct rql_cube_owned *)(uintptr_t)cube;
	if (owned)
		atomic_fetch_add_explicit(&owned->references, 1, memory_order_relaxed);
	return (struct rql_cube *)owned;
}

void rql_cube_release(struct rql_cube *cube)
{
	struct rql_cube_owned *owned = (struct rql_cube_owned *)cube;
	if (!owned || atomic_fetch_sub_explicit(&owned->references, 1, memory_order_acq_rel) != 1)
		return;
	rql_placements_drop(cube);
	rql_mem_clear(&owned->mem);
	rql_arena_free(cube->arena);
	free(owned);
}

rql_status rql_packed_alloc(struct rql_mem *mem, struct rql_packed *p, uint64_t count, struct rql_error *err)
{
	uint64_t bytes = rql_packed_bytes(count, p->bits);
	p->count = count;
	p->data = NULL;
	if (!bytes)
		return RQL_OK;
	RQL_TRY(RQL_MEM_ARRAY(mem, p->data, bytes, err));
	/* The last value's word may be half written, and what follows is read but not used. */
	uint64_t tail = bytes < RQL_PACKED_SLACK + 8 ? bytes : RQL_PACKED_SLACK + 8;
	memset(p->data + bytes - tail, 0, tail);
	return RQL_OK;
}

rql_status rql_cube_settle(struct rql_cube_owned *owned, struct rql_error *err)
{
	/* What the arena holds beside is small (types, the digits' and measures' structs), but it is resident as well: a
	 * block of that size stands for it. */
	uint64_t small = rql_arena_bytes(owned->cube.arena) + sizeof(*owned);
	if (owned->mem.budget) {
		RQL_TRY(rql_budget_charge(owned->mem.budget, small, owned->mem.what, err));
		owned->mem.held += small;
	}
	owned->cube.bytes = owned->mem.budget ? owned->mem.held : owned->mem.held + small;
	owned->cube.relation.bytes = owned->cube.bytes;
	return RQL_OK;
}

bool rql_cube_dimension_type(struct rql_type type)
{
	switch (type.id) {
	case RQL_TYPE_FLOAT:
	case RQL_TYPE_DOUBLE:
	case RQL_TYPE_VARCHAR:
	case RQL_TYPE_BLOB:
	case RQL_TYPE_UUID:
		return true;
	default:
		return rql_type_is_integral(type);
	}
}

bool rql_cube_measure_kind(struct rql_type type, enum rql_measure_kind *kind)
{
	if (!rql_cube_dimension_type(type))
		return false;
	switch (type.id) {
	case RQL_TYPE_FLOAT:
	case RQL_TYPE_DOUBLE:
		*kind = RQL_MEASURE_REAL;
		break;
	case RQL_TYPE_VARCHAR:
	case RQL_TYPE_BLOB:
	case RQL_TYPE_UUID:
	case RQL_TYPE_ENUM:
	case RQL_TYPE_UHUGEINT: /* does not fit rql_int128; the host sums it as DOUBLE anyway */
		*kind = RQL_MEASURE_CODE;
		break;
	default:
		*kind = RQL_MEASURE_INTEGER;
		break;
	}
	return true;
}

bool rql_cube_summable(struct rql_type type)
{
	return (rql_type_is_integer(type) && type.id != RQL_TYPE_UHUGEINT) || type.id == RQL_TYPE_DECIMAL ||
	       type.id == RQL_TYPE_FLOAT || type.id == RQL_TYPE_DOUBLE;
}

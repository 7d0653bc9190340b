/* What structures do with cubes (method/contents.h). */
#include "method/cube/gpu/cube_arrays.h"
#include "method/cube/rt/cube_rt.h"

/* A cube begins with its relation. */
static const struct rql_cube *cube_of(const struct rql_relation *relation)
{
	return (const struct rql_cube *)(const void *)relation;
}

static rql_status finish(struct rql_relation_builder *builder, const struct rql_relation **out, struct rql_error *err)
{
	struct rql_cube *cube = NULL;
	RQL_TRY(rql_cube_builder_finish(builder, &cube, err));
	*out = &cube->relation;
	return RQL_OK;
}

static void retain(const struct rql_relation *relation)
{
	(void)rql_cube_retain(cube_of(relation));
}

static void release(const struct rql_relation *relation)
{
	rql_cube_release((struct rql_cube *)(uintptr_t)relation);
}

static bool order(const struct rql_relation *relation, uint32_t i, uint32_t *dimension)
{
	const struct rql_cube *cube = cube_of(relation);
	if (!cube->order_chosen || i >= cube->digit_count)
		return false;
	*dimension = cube->order_chosen[i];
	return true;
}

static rql_status write_file(const struct rql_relation *relation, const struct rql_file_place *place,
                             const void *identity, uint32_t identity_size, struct rql_error *err)
{
	return rql_cube_write(cube_of(relation), place, identity, identity_size, err);
}

static rql_status read_file(const struct rql_file_place *place, const void *identity, uint32_t identity_size,
                            struct rql_budget *budget, const struct rql_relation **out, struct rql_error *err)
{
	struct rql_cube *cube = NULL;
	RQL_TRY(rql_cube_read(place, identity, identity_size, budget, &cube, err));
	*out = &cube->relation;
	return RQL_OK;
}

rql_status rql_cube_place_for(const struct rql_cube *cube, struct rql_device *device, enum rql_unit unit,
                              struct rql_error *err)
{
	if (unit == RQL_UNIT_RT) {
		struct rql_cube_rt *rt;
		RQL_TRY(rql_cube_rt_get(cube, device, NULL, &rt, err));
		rql_placement_release(&rt->placement);
		return RQL_OK;
	}
	if (unit != RQL_UNIT_COMPUTE)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "a cube is not placed for unit %s", rql_unit_name(unit));
	struct rql_cube_arrays *arrays;
	RQL_TRY(rql_cube_arrays_get(cube, device, &arrays, err));
	rql_placement_release(&arrays->placement);
	return RQL_OK;
}

static rql_status place(const struct rql_relation *relation, struct rql_device *device, enum rql_unit unit,
                        struct rql_error *err)
{
	return rql_cube_place_for(cube_of(relation), device, unit, err);
}

/* The arrays are the cube's own, an acceleration structure has a triangle a cell at most. */
static uint64_t place_bytes(const struct rql_relation *relation, const struct rql_device *device, enum rql_unit unit)
{
	double triangle = device->profile.primitive_bytes > 0 ? device->profile.primitive_bytes : 64;
	return relation->bytes + (unit == RQL_UNIT_RT ? (uint64_t)((double)relation->cells * triangle) : 0);
}

static rql_status write_placed(const struct rql_relation *relation, struct rql_device *device,
                               rql_status (*put)(void *state, const void *data, uint64_t bytes, struct rql_error *err),
                               void *state, struct rql_error *err)
{
	return rql_cube_rt_write(cube_of(relation), device, put, state, err);
}

static rql_status read_placed(const struct rql_relation *relation, struct rql_device *device,
                              rql_status (*get)(void *state, void *data, uint64_t bytes, struct rql_error *err),
                              void *state, struct rql_error *err)
{
	return rql_cube_rt_read(cube_of(relation), device, get, state, err);
}

const struct rql_contents rql_cube_contents = {
	.begin = rql_cube_builder_new,
	.add = rql_cube_builder_add,
	.finish = finish,
	.abort = rql_cube_builder_abort,
	.retain = retain,
	.release = release,
	.order = order,
	.write = write_file,
	.read = read_file,
	.place = place,
	.place_bytes = place_bytes,
	.write_placed = write_placed,
	.read_placed = read_placed,
	.written_kind = RQL_CUBE_RT,
};

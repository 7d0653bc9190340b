/* The side file of a cube (docs/format.md): what its walk visits. column/frame.h does the rest;
 * rql_cube_check_structure has the last word over what was read. */
#include "column/frame.h"
#include "method/cube/cube_internal.h"
#include "method/cube/cube_pack.h"

static struct rql_cube *cube_of(const struct rql_frame_file *file)
{
	return &((struct rql_cube_owned *)file->state)->cube;
}

static rql_status visit_packed(struct rql_frame_file *file, struct rql_packed *packed)
{
	RQL_FRAME_VISIT(file, packed->count);
	RQL_FRAME_VISIT(file, packed->bits);
	RQL_FRAME_VISIT(file, packed->base);
	if (packed->bits > RQL_PACKED_MAX_BITS && packed->bits != 64 && packed->bits != 128)
		return rql_frame_corrupt(file, "an impossible number of bits");
	if (packed->bits && packed->count > UINT64_MAX / 32) /* 128 bits each */
		return rql_frame_corrupt(file, "an array is impossibly large");
	RQL_FRAME_ARRAY(file, packed->data, rql_packed_bytes(packed->count, packed->bits));
	return RQL_OK;
}

static rql_status visit_measure(struct rql_frame_file *file, struct rql_measure *measure,
                                struct rql_cube_measure *stored)
{
	uint64_t cells = cube_of(file)->relation.cells, blocks = cells / RQL_CUBE_BLOCK + 1;
	RQL_TRY(rql_frame_type(file, &measure->type));
	if (!file->writing && !rql_cube_measure_kind(measure->type, &measure->kind))
		return rql_frame_corrupt(file, "a measure's type is unknown");
	RQL_TRY(rql_frame_bool(file, &measure->sum));
	RQL_TRY(rql_frame_bool(file, &measure->min));
	RQL_TRY(rql_frame_bool(file, &measure->max));
	RQL_TRY(rql_frame_bool(file, &measure->has_null));
	RQL_FRAME_VISIT(file, measure->least);
	RQL_FRAME_VISIT(file, measure->greatest);
	if (measure->kind == RQL_MEASURE_CODE)
		RQL_TRY(rql_frame_dimension(file, &measure->dictionary));
	RQL_TRY(rql_frame_bool(file, &stored->wide));
	RQL_TRY(visit_packed(file, &stored->sum));
	RQL_TRY(visit_packed(file, &stored->min));
	RQL_TRY(visit_packed(file, &stored->max));
	RQL_TRY(visit_packed(file, &stored->valid));
	RQL_FRAME_OPTIONAL(file, stored->valid_cumulative, blocks);
	RQL_FRAME_OPTIONAL(file, stored->cumulative, blocks);
	RQL_FRAME_OPTIONAL(file, stored->cumulative128, blocks);
	RQL_FRAME_OPTIONAL(file, stored->real, cells);
	RQL_FRAME_OPTIONAL(file, stored->real_min, cells);
	RQL_FRAME_OPTIONAL(file, stored->real_max, cells);
	return RQL_OK;
}

static rql_status visit_digits(struct rql_frame_file *file, struct rql_cube *cube)
{
	uint64_t size = 1;
	for (uint32_t i = 0; i < cube->digit_count; i++) {
		struct rql_cube_digit *digit = &cube->digits[i];
		RQL_FRAME_VISIT(file, digit->radix);
		RQL_FRAME_VISIT(file, digit->dimension);
		RQL_FRAME_ARRAY(file, digit->code_of_digit, digit->radix);
		if (!file->writing)
			cube->order_chosen[i] = digit->dimension;
	}
	for (uint32_t d = 0; d < cube->relation.dimension_count; d++) {
		struct rql_cube_dimension *dimension = &cube->dimensions[d];
		RQL_TRY(rql_frame_count(file, &dimension->digit, cube->digit_count - 1)); /* a dimension needs a digit */
		const struct rql_cube_digit *digit = &cube->digits[dimension->digit];
		bool own = dimension->code_of_digit != digit->code_of_digit;
		RQL_TRY(rql_frame_bool(file, &own));
		if (own)
			RQL_FRAME_ARRAY(file, dimension->code_of_digit, digit->radix);
		else if (!file->writing)
			dimension->code_of_digit = digit->code_of_digit;
	}
	RQL_TRY(rql_frame_count(file, &cube->directory_digits, cube->digit_count));
	for (uint32_t i = 0; i < cube->directory_digits; i++) {
		if (__builtin_mul_overflow(size, cube->digits[i].radix, &size))
			return rql_frame_corrupt(file, "its directory is impossibly large");
	}
	if (size == UINT64_MAX)
		return rql_frame_corrupt(file, "its directory is impossibly large");
	if (!file->writing)
		cube->directory_size = size;
	if (cube->relation.cells <= UINT32_MAX)
		RQL_FRAME_ARRAY(file, cube->directory32, size + 1);
	else
		RQL_FRAME_ARRAY(file, cube->directory64, size + 1);
	for (uint32_t i = 0; i < cube->digit_count - cube->directory_digits; i++)
		RQL_TRY(visit_packed(file, &cube->residual[i]));
	return RQL_OK;
}

/* The structs that the counts speak of, when reading. */
static rql_status make_structs(struct rql_frame_file *file, struct rql_cube *cube)
{
	if (file->writing)
		return RQL_OK;
	struct rql_relation *relation = &cube->relation;
	relation->dimensions = RQL_NEW_ARRAY(cube->arena, struct rql_dimension, relation->dimension_count);
	relation->measures = RQL_NEW_ARRAY(cube->arena, struct rql_measure, relation->measure_count);
	cube->digits = RQL_NEW_ARRAY(cube->arena, struct rql_cube_digit, cube->digit_count);
	cube->dimensions = RQL_NEW_ARRAY(cube->arena, struct rql_cube_dimension, relation->dimension_count);
	cube->measures = RQL_NEW_ARRAY(cube->arena, struct rql_cube_measure, relation->measure_count);
	cube->residual = RQL_NEW_ARRAY(cube->arena, struct rql_packed, cube->digit_count);
	cube->order_chosen = RQL_NEW_ARRAY(cube->arena, uint32_t, cube->digit_count);
	if (!relation->dimensions || !relation->measures || !cube->digits || !cube->dimensions || !cube->measures ||
	    !cube->residual || !cube->order_chosen)
		return rql_error_memory(file->err, sizeof(*cube), "reading a side file");
	return RQL_OK;
}

static rql_status visit_cube(struct rql_frame_file *file)
{
	struct rql_cube *cube = cube_of(file);
	struct rql_relation *relation = &cube->relation;
	RQL_TRY(rql_frame_count(file, &relation->dimension_count, RQL_CUBE_MAX_DIMENSIONS));
	RQL_TRY(rql_frame_count(file, &relation->measure_count, RQL_CUBE_MAX_MEASURES));
	RQL_TRY(rql_frame_count(file, &cube->digit_count, relation->dimension_count));
	if (relation->dimension_count && !cube->digit_count)
		return rql_frame_corrupt(file, "its key has no digits");
	RQL_FRAME_VISIT(file, relation->rows);
	RQL_FRAME_VISIT(file, relation->cells);
	RQL_TRY(rql_frame_bool(file, &relation->rolled_up));
	RQL_FRAME_VISIT(file, cube->read_ms);
	RQL_FRAME_VISIT(file, cube->encode_ms);
	RQL_FRAME_VISIT(file, cube->sort_ms);
	RQL_FRAME_VISIT(file, cube->pack_ms);
	RQL_TRY(make_structs(file, cube));
	/* const is for the planner; here they are being filled, or not written to. */
	for (uint32_t d = 0; d < relation->dimension_count; d++)
		RQL_TRY(rql_frame_dimension(file, (struct rql_dimension *)(uintptr_t)&relation->dimensions[d]));
	RQL_TRY(visit_digits(file, cube));
	RQL_TRY(visit_packed(file, &cube->count));
	RQL_FRAME_OPTIONAL(file, cube->count_cumulative, relation->cells / RQL_CUBE_BLOCK + 1);
	for (uint32_t m = 0; m < relation->measure_count; m++)
		RQL_TRY(visit_measure(file, (struct rql_measure *)(uintptr_t)&relation->measures[m], &cube->measures[m]));
	return RQL_OK;
}

static const struct rql_frame_kind cube_kind = {.magic = "RayQLcub",
                                                .version = 1,
                                                .what = "a cube",
                                                .advice = "the cube is built anew",
                                                .walk = visit_cube,
                                                .type_ok = rql_cube_dimension_type};

rql_status rql_cube_write(const struct rql_cube *cube, const struct rql_file_place *place, const void *identity,
                          uint32_t identity_size, struct rql_error *err)
{
	/* The walk only reads when it writes. */
	struct rql_frame_file file = {.kind = &cube_kind, .place = place, .state = (void *)(uintptr_t)cube, .err = err};
	return rql_frame_write(&file, identity, identity_size);
}

static rql_status finish_reading(struct rql_frame_file *file, struct rql_cube_owned *owned)
{
	struct rql_error inner = {0};
	rql_status status = rql_cube_check_structure(&owned->cube, &inner);
	if (status != RQL_OK)
		status = rql_frame_corrupt(file, rql_error_message(&inner));
	rql_error_clear(&inner);
	return status == RQL_OK ? rql_cube_settle(owned, file->err) : status;
}

rql_status rql_cube_read(const struct rql_file_place *place, const void *identity, uint32_t identity_size,
                         struct rql_budget *budget, struct rql_cube **out, struct rql_error *err)
{
	struct rql_cube_owned *owned;
	struct rql_frame_file file = {.kind = &cube_kind, .place = place, .err = err};
	RQL_TRY(rql_cube_new(budget, place->path, &owned, err));
	file.state = owned;
	file.mem = &owned->mem;
	file.arena = owned->cube.arena;
	rql_status status = rql_frame_read(&file, identity, identity_size);
	if (status == RQL_OK)
		status = finish_reading(&file, owned);
	if (status == RQL_OK)
		*out = &owned->cube;
	else
		rql_cube_release(&owned->cube);
	return status;
}

void rql_cube_file_seal(uint8_t *image, uint64_t size)
{
	rql_frame_seal(image, size);
}

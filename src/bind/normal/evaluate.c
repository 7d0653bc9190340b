/* Programs that run while a statement is planned. */
#include "bind/normal/evaluate.h"

#include <string.h>
#include "flow/compute/compile.h"

/* The result of a row as a value. false: of a kind that is none. */
static bool value_of(const struct rql_program_result *result, struct rql_lanes lanes, uint32_t row, struct rql_type type,
                     struct rql_value *out)
{
	*out = rql_value_null(type);
	if (!rql_bit_valid(lanes.valid, row))
		return true;
	out->is_null = false;
	switch (result->kind) {
	case RQL_LANE_BOOL:
		out->integer = (rql_int128)rql_bit((const uint64_t *)lanes.data, row);
		return true;
	case RQL_LANE_I32:
		out->integer = ((const int32_t *)lanes.data)[row];
		return true;
	case RQL_LANE_I64:
		out->integer = ((const int64_t *)lanes.data)[row];
		return true;
	case RQL_LANE_I128:
		memcpy(&out->integer, (const rql_int128 *)lanes.data + row, sizeof out->integer);
		return true;
	case RQL_LANE_F32:
		out->real = (double)((const float *)lanes.data)[row];
		return true;
	case RQL_LANE_F64:
		out->real = ((const double *)lanes.data)[row];
		return true;
	default:
		return false;
	}
}

static bool compile(struct rql_arena *arena, const struct rql_expr *e,
                    bool (*column)(void *, const struct rql_expr *, struct rql_compile_column *), void *column_state,
                    struct rql_program **program, struct rql_program_state **state)
{
	struct rql_compile_context c = {.arena = arena, .column = column, .state = column_state};
	struct rql_error why = {0};
	bool done = rql_compile_expressions(&c, &e, 1, program, &why) == RQL_OK &&
	            rql_type_equal((*program)->results[0].type, e->type) &&
	            rql_program_state_new(*program, RQL_SIMD_AVX2, state, &why) == RQL_OK;
	rql_error_clear(&why);
	return done;
}

/* ---- of constants ---- */

static bool no_column(void *state, const struct rql_expr *ref, struct rql_compile_column *out)
{
	(void)state;
	(void)ref;
	(void)out;
	return false;
}

bool rql_evaluate_constant(struct rql_arena *arena, const struct rql_expr *e, struct rql_value *out)
{
	struct rql_program *program;
	struct rql_program_state *state = NULL;
	struct rql_error why = {0};
	bool done = compile(arena, e, no_column, NULL, &program, &state) &&
	            rql_program_run(state, NULL, 1, NULL, &why) == RQL_OK &&
	            value_of(&program->results[0], rql_program_result(state, 0), 0, e->type, out);
	rql_program_state_free(state);
	rql_error_clear(&why);
	return done;
}

/* ---- of a column ---- */

static bool the_column(void *state, const struct rql_expr *ref, struct rql_compile_column *out)
{
	const struct rql_column *values = state;
	struct rql_input_spec spec = {.type = values->type, .bounds = {1, 0}, .nullable = values->validity != NULL};
	if (!rql_type_equal(ref->type, values->type) || !rql_lane_kind_of(values->type, spec.bounds, &spec.kind))
		return false;
	*out = (struct rql_compile_column){.input = spec};
	return true;
}

/* Programs take 0.0 for -0.0 and one NaN for all, as a dictionary does: nothing here may tell them apart. */
static bool is_exact(struct rql_type type)
{
	return rql_type_is_integral(type) && type.id != RQL_TYPE_ENUM;
}

/* One vector of rows, from `first` on. */
static bool run_vector(struct rql_program_state *state, const struct rql_program *program, const struct rql_column *values,
                       uint64_t first, uint32_t rows, struct rql_column *out)
{
	_Alignas(64) char data[RQL_VECTOR_ROWS * 16];
	uint64_t valid[RQL_VECTOR_WORDS];
	struct rql_lanes input = {0};
	struct rql_error why = {0};
	bool done = program->input_count == 0 ||
	            rql_lanes_load(values, first, rows, program->inputs[0].kind, data, valid, &input);
	done = done && rql_program_run(state, &input, rows, NULL, &why) == RQL_OK;
	rql_error_clear(&why);
	struct rql_lanes lanes = done ? rql_program_result(state, 0) : (struct rql_lanes){0};
	for (uint32_t r = 0; r < rows && done; r++) {
		struct rql_value value;
		done = value_of(&program->results[0], lanes, r, out->type, &value);
		if (done)
			rql_column_put(out, first + r, &value);
	}
	return done;
}

bool rql_evaluate_column(struct rql_arena *arena, const struct rql_expr *e, const struct rql_column *values,
                         uint64_t rows, struct rql_column *out)
{
	struct rql_program *program;
	struct rql_program_state *state = NULL;
	struct rql_column column = {.type = e->type};
	unsigned bytes = rql_type_bytes(e->type);
	if (!is_exact(values->type) || !is_exact(e->type) ||
	    !compile(arena, e, the_column, (void *)(uintptr_t)values, &program, &state))
		return false;
	column.data = rql_arena_array(arena, rows + 1, bytes);
	column.validity = RQL_NEW_ARRAY(arena, uint64_t, rows / 64 + 1);
	bool done = column.data && column.validity;
	if (done)
		memset(column.validity, 0xff, (rows / 64 + 1) * sizeof *column.validity);
	for (uint64_t first = 0; first < rows && done; first += RQL_VECTOR_ROWS) {
		uint64_t left = rows - first;
		done = run_vector(state, program, values, first, rql_vector_part(0, left), &column);
	}
	rql_program_state_free(state);
	if (done)
		*out = column;
	return done;
}

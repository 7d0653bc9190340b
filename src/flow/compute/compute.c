/* Expressions over vectors: programs of expr/, 1024 rows a step, on all threads. What programs do not know (strings,
 * intervals), and sets of a few rows, for which a program would take longer to make than to run, is evaluated row by row.
 *
 * What it must do for a row of a comparison of one column with a constant: read its number and its value, a compare, a bit.
 * 12 to 20 bytes of memory and some 2 ns; row by row it were 50 to 100 ns. */
#include <stdlib.h>
#include <string.h>
#include "flow/compute/compile.h"
#include "flow/compute/strings.h"

/* So few rows are done before a program is made (some 10 us). */
#define FEW_ROWS 128u

/* Some of the expressions, as one program; without it they go row by row. */
struct part {
	uint32_t first, count;
	struct rql_program *program;
	struct rql_program_state **states; /* [threads], made when first needed */
};
struct rql_evaluator {
	struct rql_running *r;
	struct rql_expr *const *exprs;
	uint32_t part_count, threads;
	struct part *parts;
	struct lane_room **rooms; /* [threads] */
	uint32_t room_inputs;
};
struct lane_room {
	_Alignas(64) rql_int128 data[RQL_VECTOR_ROWS];
	uint64_t valid[RQL_VECTOR_WORDS];
};

/* ---- making programs ---- */

struct columns {
	const struct rql_rowset *set; /* NULL: only types are known */
};

static bool column_input(void *state, const struct rql_expr *ref, struct rql_compile_column *out)
{
	const struct columns *c = state;
	const struct rql_vector *v = c->set && ref->index < c->set->vector_count ? &c->set->vectors[ref->index] : NULL;
	struct rql_bounds unknown = {1, 0};
	struct rql_type type = v ? v->type : ref->type;
	enum rql_lane_kind kind;
	if ((c->set && !v) || type.id == RQL_TYPE_ENUM || !rql_lane_kind_of(type, unknown, &kind))
		return false;
	*out = (struct rql_compile_column){.input = {.column = ref->index,
	                                             .type = type,
	                                             .kind = kind,
	                                             .bounds = unknown,
	                                             .nullable = !v || rql_vector_nullable(v)}};
	return true;
}

static rql_status make_program(struct rql_arena *arena, const struct rql_rowset *set, struct rql_expr *const *exprs,
                               uint32_t count, bool filters, struct rql_program **out, struct rql_error *err)
{
	struct columns columns = {set};
	struct rql_compile_context ctx = {.arena = arena, .column = column_input, .state = &columns};
	const struct rql_expr *const *list = (const struct rql_expr *const *)exprs;
	return filters ? rql_compile_filter(&ctx, list, count, out, err)
	               : rql_compile_expressions(&ctx, list, count, out, err);
}

bool rql_expr_has_program(struct rql_arena *arena, const struct rql_expr *e)
{
	struct rql_expr *one = (struct rql_expr *)(uintptr_t)e;
	struct rql_program *program;
	return make_program(arena, NULL, &one, 1, false, &program, NULL) == RQL_OK;
}

/* The expressions `first`, ... as one program, or none. */
static rql_status add_part(struct rql_evaluator *e, const struct rql_rowset *set, uint32_t first, uint32_t count,
                           bool filters, bool few, bool *made)
{
	struct part *part = &e->parts[e->part_count];
	struct rql_error why = {0};
	bool by_rows = true;
	for (uint32_t i = 0; i < count; i++)
		by_rows &= rql_expr_by_rows(e->exprs[first + i]);
	*part = (struct part){.first = first, .count = count};
	rql_status status = RQL_OK;
	if (!few || !by_rows)
		status = make_program(e->r->arena, set, e->exprs + first, count, filters, &part->program, &why);
	*made = status == RQL_OK;
	if (status == RQL_ERROR_UNSUPPORTED && (count > 1 || by_rows)) {
		rql_error_clear(&why);
		*made = count == 1;
		part->program = NULL;
		status = RQL_OK;
	}
	if (status != RQL_OK) {
		rql_error_move(e->r->err, &why);
		return status;
	}
	if (*made && part->program && part->program->input_count > e->room_inputs)
		e->room_inputs = part->program->input_count;
	if (*made && part->program && !(part->states = calloc(e->threads, sizeof *part->states)))
		return rql_error_memory(e->r->err, 0, "an expression");
	e->part_count += *made;
	return RQL_OK;
}

rql_status rql_evaluator_new(struct rql_running *r, const struct rql_rowset *set, struct rql_expr *const *exprs,
                             uint32_t count, bool filters, uint64_t rows, struct rql_evaluator **out)
{
	struct rql_evaluator *e = calloc(1, sizeof *e);
	rql_status status = RQL_OK;
	bool made = count == 0;
	if (e) {
		*e = (struct rql_evaluator){.r = r, .exprs = exprs, .threads = rql_running_threads(r)};
		e->parts = calloc(count + 1, sizeof *e->parts);
		e->rooms = calloc(e->threads, sizeof *e->rooms);
	}
	if (!e || !e->parts || !e->rooms)
		status = rql_error_memory(r->err, 0, "an expression");
	if (status == RQL_OK && !made)
		status = add_part(e, set, 0, count, filters, rows <= FEW_ROWS, &made);
	for (uint32_t i = 0; status == RQL_OK && !made && i < count; i++) {
		bool one = false;
		status = add_part(e, set, i, 1, filters, rows <= FEW_ROWS, &one);
	}
	if (status != RQL_OK) {
		rql_evaluator_free(e);
		return status;
	}
	*out = e;
	return RQL_OK;
}

void rql_evaluator_free(struct rql_evaluator *e)
{
	if (!e)
		return;
	for (uint32_t p = 0; e->parts && p < e->part_count; p++) {
		for (uint32_t t = 0; t < e->threads && e->parts[p].states; t++)
			rql_program_state_free(e->parts[p].states[t]);
		free(e->parts[p].states);
	}
	for (uint32_t t = 0; t < e->threads && e->rooms; t++)
		free(e->rooms[t]);
	free(e->parts);
	free(e->rooms);
	free(e);
}

/* ---- running them ---- */

/* A row that DuckDB might raise an error for: whether it does, the host knows. */
static rql_status host_decides(rql_status status, struct rql_error *err)
{
	if (status != RQL_ERROR_HOST)
		return status;
	char text[160] = "";
	if (err)
		strncat(text, rql_error_message(err), sizeof text - 1);
	return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "an expression has failed in a row: %s", text);
}

/* The inputs of a program. */
struct inputs {
	struct rql_program_state *state;
	struct rql_lanes *lanes;
};

static rql_status load_inputs(struct rql_evaluator *e, struct part *part, const struct rql_rowset *set, unsigned worker,
                              const uint32_t *rows, uint32_t n, struct rql_lanes *lanes, struct rql_error *err)
{
	const struct rql_program *p = part->program;
	if (!part->states[worker]) {
		enum rql_simd simd = e->r->flow ? e->r->flow->simd : RQL_SIMD_PORTABLE;
		RQL_TRY(rql_program_state_new(p, simd, &part->states[worker], err));
	}
	if (!e->rooms[worker] && e->room_inputs &&
	    !(e->rooms[worker] = aligned_alloc(64, e->room_inputs * sizeof(struct lane_room))))
		return rql_error_memory(err, e->room_inputs * sizeof(struct lane_room), "an expression");
	for (uint32_t i = 0; i < p->input_count; i++) {
		struct lane_room *room = &e->rooms[worker][i];
		rql_vector_load(&set->vectors[p->inputs[i].column], rows, n, p->inputs[i].kind, room->data, room->valid,
		                &lanes[i]);
	}
	return RQL_OK;
}

#define INPUTS_MOST 64u /* of a program whose lanes lie on the stack */

static rql_status filter_by_program(struct rql_evaluator *e, struct part *part, const struct rql_rowset *set,
                                    unsigned worker, const uint32_t *rows, uint32_t n, uint64_t *live, uint32_t *left,
                                    struct rql_error *err)
{
	struct rql_lanes few[INPUTS_MOST], *lanes = few;
	if (part->program->input_count > INPUTS_MOST && !(lanes = calloc(part->program->input_count, sizeof *lanes)))
		return rql_error_memory(err, 0, "an expression");
	rql_status status = load_inputs(e, part, set, worker, rows, n, lanes, err);
	if (status == RQL_OK)
		status = host_decides(rql_program_filter(part->states[worker], lanes, n, live, left, err), err);
	if (lanes != few)
		free(lanes);
	return status;
}

static rql_status filter_by_rows(const struct rql_evaluator *e, const struct part *part, const struct rql_rowset *set,
                                 const uint32_t *rows, uint32_t n, uint64_t *live, uint32_t *left,
                                 struct rql_error *err)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < n; i++) {
		bool pass = rql_bit(live, i);
		for (uint32_t c = 0; pass && c < part->count; c++) {
			struct rql_value v;
			RQL_TRY(rql_rowset_eval(set, e->exprs[part->first + c], rows[i], &v, err));
			pass = !v.is_null && v.integer;
		}
		count += pass;
		if (!pass)
			rql_bit_clear(live, i);
	}
	*left = count;
	return RQL_OK;
}

rql_status rql_evaluator_filter(struct rql_evaluator *e, const struct rql_rowset *set, unsigned worker,
                                const uint32_t *rows, uint32_t n, uint64_t *live, uint32_t *left, struct rql_error *err)
{
	*left = 0;
	for (uint32_t w = 0; w < (n + 63) / 64; w++)
		*left += (uint32_t)__builtin_popcountll(live[w]);
	for (uint32_t p = 0; p < e->part_count && *left; p++) {
		struct part *part = &e->parts[p];
		if (part->program)
			RQL_TRY(filter_by_program(e, part, set, worker, rows, n, live, left, err));
		else
			RQL_TRY(filter_by_rows(e, part, set, rows, n, live, left, err));
	}
	return RQL_OK;
}

/* ---- values ---- */

struct computing {
	struct rql_evaluator *e; /* of many rows */
	const struct rql_expr *expr;
	const struct rql_rowset *set;
	struct rql_column *column;
};

/* Lanes are of the type's own kind or a narrower one; the column's values of the type's width. */
#define STORE(S, D)                                                                                                    \
	for (uint32_t i = 0; i < n; i++)                                                                                   \
	((D *)to)[i] = (D)((const S *)lanes->data)[i]
#define STORE_INTEGERS(S)                                                                                              \
	do {                                                                                                               \
		if (bytes == 16)                                                                                               \
			STORE(S, rql_int128);                                                                                      \
		else if (bytes == 8)                                                                                           \
			STORE(S, int64_t);                                                                                         \
		else if (bytes == 4)                                                                                           \
			STORE(S, int32_t);                                                                                         \
		else if (bytes == 2)                                                                                           \
			STORE(S, int16_t);                                                                                         \
		else                                                                                                           \
			STORE(S, int8_t);                                                                                          \
	} while (0)

static void store_lanes(const struct rql_lanes *lanes, enum rql_lane_kind kind, uint32_t n, struct rql_column *column,
                        uint64_t first)
{
	unsigned bytes = rql_type_bytes(column->type);
	char *to = (char *)column->data + first * bytes;
	if (lanes->valid)
		memcpy(column->validity + first / 64, lanes->valid, (n + 63) / 64 * sizeof(uint64_t));
	else
		memset(column->validity + first / 64, 0xff, (n + 63) / 64 * sizeof(uint64_t));
	if (kind == RQL_LANE_BOOL)
		for (uint32_t i = 0; i < n; i++)
			((uint8_t *)to)[i] = rql_bit((const uint64_t *)lanes->data, i);
	else if (kind == RQL_LANE_I32)
		STORE_INTEGERS(int32_t);
	else if (kind == RQL_LANE_I64)
		STORE_INTEGERS(int64_t);
	else if (kind == RQL_LANE_I128)
		STORE_INTEGERS(rql_int128);
	else
		memcpy(to, lanes->data, (size_t)n * bytes); /* FLOAT and DOUBLE have kinds of their own */
}

static rql_status compute_vector(const struct computing *c, uint64_t first, uint32_t n, unsigned worker,
                                 struct rql_error *err)
{
	struct part *part = &c->e->parts[0];
	const struct rql_program *p = part->program;
	uint32_t room[RQL_VECTOR_ROWS];
	const uint32_t *rows = rql_rowset_rows(c->set, first, n, room);
	struct rql_lanes few[INPUTS_MOST], *lanes = few;
	if (p->input_count > INPUTS_MOST && !(lanes = calloc(p->input_count, sizeof *lanes)))
		return rql_error_memory(err, 0, "an expression");
	rql_status status = load_inputs(c->e, part, c->set, worker, rows, n, lanes, err);
	if (status == RQL_OK)
		status = host_decides(rql_program_run(part->states[worker], lanes, n, NULL, err), err);
	if (status == RQL_OK) {
		struct rql_lanes result = rql_program_result(part->states[worker], 0);
		store_lanes(&result, p->results[0].kind, n, c->column, first);
	}
	if (lanes != few)
		free(lanes);
	return status;
}

static rql_status compute_by_rows(const struct computing *c, uint64_t first, uint64_t rows, struct rql_error *err)
{
	for (uint64_t i = first; i < first + rows; i++) {
		struct rql_value v;
		RQL_TRY(rql_rowset_eval(c->set, c->expr, rql_rowset_row(c->set, i), &v, err));
		if (v.is_null)
			continue;
		v.type = c->column->type;
		rql_column_put(c->column, i, &v);
		rql_bit_set(c->column->validity, i);
	}
	return RQL_OK;
}

static rql_status compute_morsel(void *state, uint64_t first, uint64_t rows, unsigned worker, struct rql_error *err)
{
	const struct computing *c = state;
	if (!c->e->parts[0].program)
		return compute_by_rows(c, first, rows, err);
	for (uint64_t i = 0; i < rows; i += RQL_VECTOR_ROWS) {
		uint32_t n = rql_vector_part(i, rows);
		RQL_TRY(compute_vector(c, first + i, n, worker, err));
	}
	return RQL_OK;
}

/* Row by row, without an evaluator: a query of one row would make one for each column. */
static rql_status compute_few(struct rql_running *r, const struct computing *c)
{
	RQL_TRY(rql_running_ask(r, r->err));
	return compute_by_rows(c, 0, c->set->rows, r->err);
}

static rql_status compute_many(struct rql_running *r, struct computing *c)
{
	struct rql_expr *one = (struct rql_expr *)(uintptr_t)c->expr; /* an evaluator's list; it changes none */
	RQL_TRY(rql_evaluator_new(r, c->set, &one, 1, false, c->set->rows, &c->e));
	rql_status status = rql_morsels_run(r, c->set->rows, compute_morsel, c);
	rql_evaluator_free(c->e);
	return status;
}

rql_status rql_rowset_compute(struct rql_running *r, const struct rql_rowset *set, const struct rql_expr *e,
                              struct rql_vector *out)
{
	struct computing c = {.set = set, .expr = e};
	if (e->kind == RQL_EXPR_REF) {
		*out = set->vectors[e->index];
		return RQL_OK;
	}
	if (e->kind == RQL_EXPR_CONSTANT)
		return rql_vector_constant(r, &e->value, set->rows, out);
	uint32_t column;
	const bool by_rows = rql_expr_by_rows(e);
	struct rql_entry *tree = by_rows ? NULL : rql_expr_of_string(r->arena, e, &column);
	if (tree)
		return rql_rowset_compute_string(r, set, tree, column, e->type, out);
	RQL_TRY(rql_column_room(r, e->type, set->rows, true, &c.column));
	RQL_TRY(by_rows && set->rows <= FEW_ROWS ? compute_few(r, &c) : compute_many(r, &c));
	if (rql_bits_all(c.column->validity, set->rows))
		c.column->validity = NULL; /* nobody needs to look for a NULL */
	*out = (struct rql_vector){.kind = RQL_VECTOR_COLUMN, .type = e->type, .values = c.column};
	return RQL_OK;
}

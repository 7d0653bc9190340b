/* States of groups, as the device leaves them, become the port's. */
#include "column/form.h"
#include "method/group/group.h"

#include <stdatomic.h>

#include "util/threads.h"

#define PIECE UINT64_C(16384) /* groups that a thread takes at once: whole words of validity */

struct answering {
	const struct rql_group_shape *shape;
	const struct rql_group_found *found;
	struct rql_port *out;
	_Atomic uint64_t rows;
};

static uint64_t word_at(const struct answering *a, uint64_t at, uint64_t width, uint64_t group)
{
	uint64_t word = 0;
	memcpy(&word, a->found->bytes + at * a->found->room + group * width, width < 8 ? width : 8);
	return word;
}

static uint64_t rows_of(const struct answering *a, uint64_t group)
{
	return word_at(a, a->shape->key_bits / 8, 8, group);
}

/* The key code of a real's field, which is 0 of NULL (column/form.h). */
static uint64_t code_of_real(const struct rql_groups_key *key, const struct rql_group_real *real, uint64_t field)
{
	const uint64_t bits = ~field;
	double value;
	memcpy(&value, &bits, sizeof value);
	return field ? rql_real_code_same(rql_real_code(value)) - real->least : key->key_count - 1;
}

static void answer_part(const struct answering *a, uint32_t p, uint64_t first, uint64_t end)
{
	const struct rql_groups_key *key = &a->shape->layout.keys[p];
	const uint32_t column = a->shape->column_of_key ? a->shape->column_of_key[p] : 0;
	const struct rql_group_more_key *more = column ? &a->shape->more[column - 1] : NULL;
	const uint64_t width = (more ? more->bits : a->shape->key_bits) / 8, at = more ? more->at : 0;
	const struct rql_group_real *real = &a->shape->reals[p];
	for (uint64_t g = first; g < end; g++) {
		const uint64_t field = word_at(a, at, width, g), number = field - 1;
		const uint64_t code = real->is_real ? code_of_real(key, real, field)
		                      : key->wide   ? (field ? number : key->key_count - 1)
		                                    : number / key->stride % key->key_count;
		if (key->wide)
			a->out->wide_keys[p][g] = code;
		else
			a->out->keys[p][g] = (uint32_t)code;
	}
}

static uint64_t present_of(const struct answering *a, const struct rql_group_agg *agg, uint64_t group)
{
	return agg->present == RQL_NONE ? rows_of(a, group) : word_at(a, a->shape->states[agg->present].sum_at, 8, group);
}

static double real_value(const struct answering *a, const struct rql_group_agg *agg, uint64_t group)
{
	const struct rql_group_state *state = &a->shape->states[agg->value];
	if (agg->kind == RQL_AGG_SUM)
		return rql_state_real(word_at(a, state->sum_at, 8, group));
	return rql_state_real(rql_real_bits(word_at(a, agg->kind == RQL_AGG_MIN ? state->min_at : state->max_at, 8, group)));
}

static rql_int128 integer_value(const struct answering *a, const struct rql_group_agg *agg, uint64_t group,
                                uint64_t present)
{
	const struct rql_group_state *state = &a->shape->states[agg->value];
	if (agg->kind != RQL_AGG_SUM)
		return agg->before + (rql_int128)word_at(a, agg->kind == RQL_AGG_MIN ? state->min_at : state->max_at, 8, group);
	rql_uint128 fields;
	if (state->wide)
		memcpy(&fields, a->found->bytes + state->sum_at * a->found->room + group * 16, 16);
	else
		fields = word_at(a, state->sum_at, 8, group);
	const rql_int128 sum = (rql_int128)fields + agg->before * (rql_int128)present;
	if (agg->lower == RQL_NONE)
		return sum;
	const rql_int128 lower = word_at(a, a->shape->states[agg->lower].sum_at, 8, group); /* of fields, which are 1 more */
	return sum * ((rql_int128)1 << RQL_FORM_LOW_BITS) + lower - (rql_int128)present;
}

static void answer_agg(const struct answering *a, uint32_t i, uint64_t first, uint64_t end)
{
	const struct rql_group_agg *agg = &a->shape->aggs[i];
	struct rql_agg_values *to = &a->out->aggs[i];
	for (uint64_t g = first; g < end; g++) {
		const uint64_t present = present_of(a, agg, g);
		if (agg->value == RQL_NONE)
			to->integer[g] = (rql_int128)present;
		else if (to->kind == RQL_MEASURE_REAL)
			to->real[g] = real_value(a, agg, g);
		else
			to->integer[g] = integer_value(a, agg, g, present);
		if (to->valid && present)
			rql_bit_set(to->valid, g);
	}
}

static void answer_some(void *state, uint64_t index, unsigned worker)
{
	struct answering *a = state;
	const uint64_t first = index * PIECE, all = a->found->count, end = all - first < PIECE ? all : first + PIECE;
	uint64_t rows = 0;
	(void)worker;
	for (uint32_t p = 0; p < a->shape->layout.key_count; p++)
		answer_part(a, p, first, end);
	for (uint32_t i = 0; i < a->shape->layout.value_count; i++)
		answer_agg(a, i, first, end);
	for (uint64_t g = first; g < end; g++)
		rows += rows_of(a, g);
	atomic_fetch_add(&a->rows, rows);
}

rql_status rql_group_answer(const struct rql_group_shape *shape, const struct rql_group_found *found,
                            struct rql_pool *pool, struct rql_arena *arena, struct rql_port *out, struct rql_error *err)
{
	struct answering a = {.shape = shape, .found = found, .out = out};
	const bool nothing = shape->layout.scalar && !found->count; /* without a GROUP BY there is one group of no rows */
	*out = (struct rql_port){.kind = RQL_PORT_GROUPS, .group_count = nothing ? 1 : found->count};
	if (!rql_groups_columns(&shape->layout, out->group_count, nothing, arena, out))
		return rql_error_memory(err, found->count * shape->group_bytes, "the groups of a query");
	const uint64_t pieces = (found->count + PIECE - 1) / PIECE;
	rql_pool_each(pool, pieces, answer_some, &a);
	out->cells_covered = a.rows;
	return RQL_OK;
}

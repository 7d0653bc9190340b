/* Which sums and extremes a request needs: its aggregates become slots of an accumulator row, each needed one once. */
#include "method/cube/cube_query.h"

static bool has_null(const struct rql_cube *cube, uint32_t measure)
{
	return cube->relation.measures[measure].has_null;
}

/* The slot like `want`, added when it is new. */
static uint32_t slot_for(struct rql_prepared *p, struct rql_cube_slot want)
{
	for (uint32_t s = 0; s < p->slot_count; s++)
		if (p->slots[s].state.kind == want.state.kind && p->slots[s].values == want.values && p->slots[s].real == want.real)
			return s;
	want.state.word = p->layout.row_words;
	p->layout.row_words += rql_state_words(want.state.kind);
	p->slots[p->slot_count] = want;
	return p->slot_count++;
}

/* Rows: cells when each is a row, else their packed counts. */
static uint32_t rows_slot(struct rql_prepared *p)
{
	const struct rql_cube *cube = p->cube;
	if (!cube->relation.rolled_up)
		return RQL_NONE;
	struct rql_cube_slot slot = {.state.kind = RQL_STATE_COUNT, .values = &cube->count, .cumulative = cube->count_cumulative};
	return slot_for(p, slot);
}

/* Non-NULL values of a measure that has NULLs. */
static uint32_t valid_slot(struct rql_prepared *p, uint32_t measure)
{
	const struct rql_cube_measure *m = &p->cube->measures[measure];
	struct rql_cube_slot slot = {
		.state.kind = RQL_STATE_COUNT, .measure = measure, .values = &m->valid, .cumulative = m->valid_cumulative};
	return slot_for(p, slot);
}

static uint32_t sum_slot(struct rql_prepared *p, uint32_t measure)
{
	const struct rql_cube_measure *m = &p->cube->measures[measure];
	struct rql_cube_slot slot = {.measure = measure, .values = &m->sum};
	if (p->cube->relation.measures[measure].kind == RQL_MEASURE_REAL) {
		slot.state.kind = RQL_STATE_SUM_REAL;
		slot.real = m->real;
		return slot_for(p, slot);
	}
	slot.state.kind = m->wide ? RQL_STATE_SUM_WIDE : RQL_STATE_SUM;
	slot.cumulative = m->cumulative;
	slot.cumulative128 = m->cumulative128;
	return slot_for(p, slot);
}

static uint32_t extreme_slot(struct rql_prepared *p, uint32_t measure, bool max)
{
	const struct rql_cube_measure *m = &p->cube->measures[measure];
	bool rolled_up = p->cube->relation.rolled_up;
	struct rql_cube_slot slot = {.measure = measure, .valid = has_null(p->cube, measure) ? &m->valid : NULL};
	if (p->cube->relation.measures[measure].kind == RQL_MEASURE_REAL) {
		slot.state.kind = max ? RQL_STATE_MAX_REAL : RQL_STATE_MIN_REAL;
		slot.real = !rolled_up ? m->real : max ? m->real_max : m->real_min;
		return slot_for(p, slot);
	}
	slot.values = !rolled_up ? &m->sum : max ? &m->max : &m->min;
	if (slot.values->bits == 128) {
		slot.state.kind = max ? RQL_STATE_MAX_WIDE : RQL_STATE_MIN_WIDE;
		return slot_for(p, slot);
	}
	slot.state.kind = max ? RQL_STATE_MAX_FIELD : RQL_STATE_MIN_FIELD;
	slot.state.base = slot.values->base;
	return slot_for(p, slot);
}

static struct rql_groups_value bind_aggregate(struct rql_prepared *p, const struct rql_agg *agg)
{
	struct rql_groups_value out = {.kind = RQL_MEASURE_INTEGER, .valid = RQL_NONE};
	if (agg->kind == RQL_AGG_COUNT_STAR || agg->kind == RQL_AGG_COUNT) {
		bool nulls = agg->kind == RQL_AGG_COUNT && has_null(p->cube, agg->source.index);
		out.counts = true;
		out.state = nulls ? valid_slot(p, agg->source.index) : rows_slot(p);
		return out;
	}
	out.kind = p->cube->relation.measures[agg->source.index].kind;
	if (agg->kind == RQL_AGG_SUM)
		out.state = sum_slot(p, agg->source.index);
	else
		out.state = extreme_slot(p, agg->source.index, agg->kind == RQL_AGG_MAX);
	if (has_null(p->cube, agg->source.index))
		out.valid = valid_slot(p, agg->source.index);
	return out;
}

rql_status rql_cube_bind_aggregates(struct rql_prepared *p, const struct rql_request *request, struct rql_error *err)
{
	p->layout.row_words = 1;
	p->layout.value_count = request->agg_count;
	/* At most a value and a count each. */
	p->slots = RQL_NEW_ARRAY(p->arena, struct rql_cube_slot, 2 * (uint64_t)request->agg_count);
	p->layout.values = RQL_NEW_ARRAY(p->arena, struct rql_groups_value, request->agg_count);
	if (!p->slots || !p->layout.values)
		return rql_error_memory(err, request->agg_count * sizeof(*p->slots), "aggregates");
	for (uint32_t a = 0; a < request->agg_count; a++)
		p->layout.values[a] = bind_aggregate(p, &request->aggs[a]);
	p->layout.state_count = p->slot_count;
	p->layout.states = RQL_NEW_ARRAY(p->arena, struct rql_state, p->slot_count);
	if (!p->layout.states)
		return rql_error_memory(err, p->slot_count * sizeof(*p->layout.states), "aggregates");
	for (uint32_t s = 0; s < p->slot_count; s++)
		p->layout.states[s] = p->slots[s].state;
	return rql_groups_lay(&p->layout, p->arena, err);
}

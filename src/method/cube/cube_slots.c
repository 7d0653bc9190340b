/* Which sums and extremes a request needs: its aggregates become slots of an accumulator row, each needed one once. */
#include "method/cube/cube_query.h"

static bool has_null(const struct rql_cube *cube, uint32_t measure)
{
	return cube->relation.measures[measure].has_null;
}

/* The slot like `want`, added when it is new. */
static uint32_t slot_for(struct rql_prepared *p, struct rql_cube_slot want, uint32_t words)
{
	for (uint32_t s = 0; s < p->slot_count; s++)
		if (p->slots[s].kind == want.kind && p->slots[s].values == want.values && p->slots[s].real == want.real)
			return s;
	want.word = p->row_words;
	p->row_words += words;
	p->slots[p->slot_count] = want;
	return p->slot_count++;
}

/* Rows: cells when each is a row, else their packed counts. */
static uint32_t rows_slot(struct rql_prepared *p)
{
	const struct rql_cube *cube = p->cube;
	if (!cube->relation.rolled_up)
		return RQL_CUBE_NO_SLOT;
	struct rql_cube_slot slot = {.kind = RQL_SLOT_COUNT, .values = &cube->count, .cumulative = cube->count_cumulative};
	return slot_for(p, slot, 1);
}

/* Non-NULL values of a measure that has NULLs. */
static uint32_t valid_slot(struct rql_prepared *p, uint32_t measure)
{
	const struct rql_cube_measure *m = &p->cube->measures[measure];
	struct rql_cube_slot slot = {
		.kind = RQL_SLOT_COUNT, .measure = measure, .values = &m->valid, .cumulative = m->valid_cumulative};
	return slot_for(p, slot, 1);
}

static uint32_t sum_slot(struct rql_prepared *p, uint32_t measure)
{
	const struct rql_cube_measure *m = &p->cube->measures[measure];
	struct rql_cube_slot slot = {.measure = measure, .values = &m->sum};
	if (p->cube->relation.measures[measure].kind == RQL_MEASURE_REAL) {
		slot.kind = RQL_SLOT_SUM_REAL;
		slot.real = m->real;
		return slot_for(p, slot, 1);
	}
	slot.kind = m->wide ? RQL_SLOT_SUM_WIDE : RQL_SLOT_SUM;
	slot.cumulative = m->cumulative;
	slot.cumulative128 = m->cumulative128;
	return slot_for(p, slot, m->wide ? 2 : 1);
}

static uint32_t extreme_slot(struct rql_prepared *p, uint32_t measure, bool max)
{
	const struct rql_cube_measure *m = &p->cube->measures[measure];
	bool rolled_up = p->cube->relation.rolled_up;
	struct rql_cube_slot slot = {.measure = measure, .valid = has_null(p->cube, measure) ? &m->valid : NULL};
	if (p->cube->relation.measures[measure].kind == RQL_MEASURE_REAL) {
		slot.kind = max ? RQL_SLOT_MAX_REAL : RQL_SLOT_MIN_REAL;
		slot.real = !rolled_up ? m->real : max ? m->real_max : m->real_min;
		return slot_for(p, slot, 1);
	}
	slot.values = !rolled_up ? &m->sum : max ? &m->max : &m->min;
	if (slot.values->bits == 128) {
		slot.kind = max ? RQL_SLOT_MAX_WIDE : RQL_SLOT_MIN_WIDE;
		return slot_for(p, slot, 2);
	}
	slot.kind = max ? RQL_SLOT_MAX : RQL_SLOT_MIN;
	return slot_for(p, slot, 1);
}

static struct rql_cube_output bind_aggregate(struct rql_prepared *p, const struct rql_agg *agg)
{
	struct rql_cube_output out = {.kind = RQL_MEASURE_INTEGER, .valid = RQL_CUBE_NO_SLOT};
	if (agg->kind == RQL_AGG_COUNT_STAR || agg->kind == RQL_AGG_COUNT) {
		bool nulls = agg->kind == RQL_AGG_COUNT && has_null(p->cube, agg->source.index);
		out.counts = true;
		out.slot = nulls ? valid_slot(p, agg->source.index) : rows_slot(p);
		return out;
	}
	out.kind = p->cube->relation.measures[agg->source.index].kind;
	if (agg->kind == RQL_AGG_SUM)
		out.slot = sum_slot(p, agg->source.index);
	else
		out.slot = extreme_slot(p, agg->source.index, agg->kind == RQL_AGG_MAX);
	if (has_null(p->cube, agg->source.index))
		out.valid = valid_slot(p, agg->source.index);
	return out;
}

/* The values that any first value replaces. NaN is the greatest double (column/value.h). */
static void fill_template(struct rql_prepared *p)
{
	double nan = __builtin_nan(""), least = -__builtin_inf();
	rql_uint128 top = ~(rql_uint128)0 >> 1, bottom = top + 1;
	for (uint32_t s = 0; s < p->slot_count; s++) {
		uint64_t *word = p->row_template + p->slots[s].word;
		switch (p->slots[s].kind) {
		case RQL_SLOT_MIN:
			*word = UINT64_MAX;
			break;
		case RQL_SLOT_MIN_WIDE:
			memcpy(word, &top, 16);
			break;
		case RQL_SLOT_MAX_WIDE:
			memcpy(word, &bottom, 16);
			break;
		case RQL_SLOT_MIN_REAL:
			memcpy(word, &nan, 8);
			break;
		case RQL_SLOT_MAX_REAL:
			memcpy(word, &least, 8);
			break;
		default:
			break;
		}
	}
	p->row_zero = true;
	for (uint32_t w = 0; w < p->row_words; w++)
		p->row_zero &= p->row_template[w] == 0;
}

rql_status rql_cube_bind_aggregates(struct rql_prepared *p, const struct rql_request *request, struct rql_error *err)
{
	p->row_words = 1;
	p->output_count = request->agg_count;
	/* At most a value and a count each. */
	p->slots = RQL_NEW_ARRAY(p->arena, struct rql_cube_slot, 2 * (uint64_t)request->agg_count);
	p->outputs = RQL_NEW_ARRAY(p->arena, struct rql_cube_output, request->agg_count);
	if (!p->slots || !p->outputs)
		return rql_error_memory(err, request->agg_count * sizeof(*p->slots), "aggregates");
	for (uint32_t a = 0; a < request->agg_count; a++)
		p->outputs[a] = bind_aggregate(p, &request->aggs[a]);
	p->row_template = RQL_NEW_ARRAY(p->arena, uint64_t, p->row_words);
	if (!p->row_template)
		return rql_error_memory(err, p->row_words * sizeof(uint64_t), "aggregates");
	fill_template(p);
	return RQL_OK;
}

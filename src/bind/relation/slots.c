/* Slots of a block's aggregates over a cube: from sums, counts and extremes of measures, or from dimensions' codes. */
#include "bind/relation/slots.h"

#include <string.h>

/* sum(a - b) is sum(a) - sum(b), and sum(2 * a + 1) is 2 * sum(a) + count(*), when no value is NULL and no intermediate
 * result can overflow its type (the host would raise an error that the sums do not show). */

struct range {
	rql_int128 least, greatest;
};

struct linear {
	struct rql_arena *arena;
	const struct rql_definition *def;
	const struct rql_relation *relation;
	struct rql_agg *aggs;
	uint32_t *agg_count;
	struct rql_slot *slot;
	struct rql_error *err;
};

#define MAX_TERMS 16u
/* Bounds of single values stay far below 2^127, so that the arithmetic on them cannot overflow itself. */
#define MAX_BOUND ((rql_int128)1 << 100)

static rql_status no(struct rql_error *err, const char *why)
{
	return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "%s", why);
}

static rql_status not_derivable(struct rql_error *err, const struct rql_expr *e)
{
	return rql_expr_refuse(err, "", e, " cannot be derived from its aggregates");
}

static rql_status need(struct rql_agg *aggs, uint32_t *count, enum rql_agg_kind kind, uint32_t measure, uint32_t *out,
                       struct rql_error *err)
{
	if (kind == RQL_AGG_COUNT_STAR)
		measure = 0;
	for (uint32_t i = 0; i < *count; i++) {
		if (aggs[i].kind == kind && aggs[i].source.index == measure) {
			*out = i;
			return RQL_OK;
		}
	}
	if (*count == RQL_SLOT_MAX_AGGS)
		return no(err, "too many aggregates in one query");
	aggs[*count] = (struct rql_agg){.kind = kind, .source = {.index = measure}};
	*out = (*count)++;
	return RQL_OK;
}

static bool find_measure(const struct rql_definition *def, const struct rql_expr *e, uint32_t *out)
{
	for (uint32_t i = 0; i < def->measure_count; i++) {
		if (rql_expr_equal(def->measures[i].expr, e)) {
			*out = i;
			return true;
		}
	}
	return false;
}

static bool is_exact(struct rql_type type)
{
	return rql_type_is_integer(type) || type.id == RQL_TYPE_DECIMAL;
}

static rql_int128 power_of_ten(unsigned n)
{
	rql_int128 p = 1;
	while (n--)
		p *= 10;
	return p;
}

static bool in_range(struct rql_type type, const struct range *r)
{
	if (type.id == RQL_TYPE_DECIMAL) {
		rql_int128 limit = type.width > 30 ? MAX_BOUND : power_of_ten(type.width);
		return r->least > -limit && r->greatest < limit;
	}
	unsigned bits = rql_type_bytes(type) * 8;
	if (bits > 64)
		return r->least > -MAX_BOUND && r->greatest < MAX_BOUND && (rql_type_is_signed(type) || r->least >= 0);
	rql_int128 span = (rql_int128)1 << (bits - (rql_type_is_signed(type) ? 1 : 0));
	return r->greatest < span && r->least >= (rql_type_is_signed(type) ? -span : 0);
}

static rql_status add_term(struct linear *l, enum rql_agg_kind kind, uint32_t measure, rql_int128 coefficient)
{
	uint32_t agg = 0;
	RQL_TRY(need(l->aggs, l->agg_count, kind, measure, &agg, l->err));
	for (uint32_t i = 0; i < l->slot->term_count; i++) {
		if (l->slot->terms[i].agg == agg) {
			l->slot->terms[i].coefficient += coefficient;
			return RQL_OK;
		}
	}
	if (l->slot->term_count == MAX_TERMS)
		return no(l->err, "an aggregate's argument has too many terms");
	l->slot->terms[l->slot->term_count++] = (struct rql_slot_term){agg, coefficient};
	return RQL_OK;
}

static bool scaled(struct range *r, rql_int128 by)
{
	if (by > MAX_BOUND || by < -MAX_BOUND)
		return false;
	rql_int128 limit = by ? MAX_BOUND / (by < 0 ? -by : by) : MAX_BOUND;
	if (r->least < -limit || r->greatest > limit)
		return false;
	rql_int128 a = r->least * by, b = r->greatest * by;
	*r = a < b ? (struct range){a, b} : (struct range){b, a};
	return true;
}

static rql_status linear_add(struct linear *l, const struct rql_expr *e, rql_int128 coefficient, struct range *out);

static rql_status linear_measure(struct linear *l, const struct rql_expr *e, uint32_t m, rql_int128 coefficient,
                                 struct range *out)
{
	const struct rql_measure *measure = &l->relation->measures[m];
	if (measure->kind != RQL_MEASURE_INTEGER || !measure->sum)
		return not_derivable(l->err, e);
	if (measure->has_null)
		return no(l->err, "a sum of an expression follows from sums of its parts only where no value is NULL");
	*out = (struct range){measure->least, measure->greatest};
	return add_term(l, RQL_AGG_SUM, m, coefficient);
}

static rql_status linear_cast(struct linear *l, const struct rql_expr *e, rql_int128 coefficient, struct range *out)
{
	const struct rql_expr *child = e->children[0];
	unsigned from = child->type.id == RQL_TYPE_DECIMAL ? child->type.scale : 0;
	unsigned to = e->type.id == RQL_TYPE_DECIMAL ? e->type.scale : 0;
	if (!is_exact(child->type) || !is_exact(e->type) || to < from || to - from > 30)
		return not_derivable(l->err, e);
	rql_int128 factor = power_of_ten(to - from);
	RQL_TRY(linear_add(l, child, coefficient * factor, out));
	return scaled(out, factor) ? RQL_OK : not_derivable(l->err, e);
}

static rql_status linear_product(struct linear *l, const struct rql_expr *e, rql_int128 coefficient, struct range *out)
{
	const struct rql_expr *a = e->children[0], *b = e->children[1];
	if (a->kind == RQL_EXPR_CONSTANT) {
		const struct rql_expr *swap = a;
		a = b;
		b = swap;
	}
	if (b->kind != RQL_EXPR_CONSTANT || b->value.is_null || !is_exact(b->type))
		return not_derivable(l->err, e);
	unsigned scale_a = a->type.id == RQL_TYPE_DECIMAL ? a->type.scale : 0,
			 scale_b = b->type.id == RQL_TYPE_DECIMAL ? b->type.scale : 0;
	unsigned scale = e->type.id == RQL_TYPE_DECIMAL ? e->type.scale : 0;
	if (scale != scale_a + scale_b || b->value.integer > (1LL << 31) || b->value.integer < -(1LL << 31))
		return not_derivable(l->err, e);
	RQL_TRY(linear_add(l, a, coefficient * b->value.integer, out));
	return scaled(out, b->value.integer) ? RQL_OK : not_derivable(l->err, e);
}

static rql_status linear_sum(struct linear *l, const struct rql_expr *e, rql_int128 coefficient, struct range *out)
{
	bool minus = e->name[0] == '-';
	struct range a = {0, 0}, b;
	for (uint32_t i = 0; i < e->child_count; i++)
		if (!is_exact(e->children[i]->type) || e->children[i]->type.scale != e->type.scale)
			return not_derivable(l->err, e);
	if (e->child_count == 2)
		RQL_TRY(linear_add(l, e->children[0], coefficient, &a));
	RQL_TRY(linear_add(l, e->children[e->child_count - 1], minus ? -coefficient : coefficient, &b));
	*out = minus ? (struct range){a.least - b.greatest, a.greatest - b.least}
	             : (struct range){a.least + b.least, a.greatest + b.greatest};
	return out->least > -MAX_BOUND && out->greatest < MAX_BOUND ? RQL_OK : not_derivable(l->err, e);
}

static rql_status linear_add(struct linear *l, const struct rql_expr *e, rql_int128 coefficient, struct range *out)
{
	uint32_t m;
	if (coefficient > MAX_BOUND || coefficient < -MAX_BOUND || !is_exact(e->type))
		return not_derivable(l->err, e);
	if (find_measure(l->def, e, &m))
		return linear_measure(l, e, m, coefficient, out);
	rql_status status;
	if (e->kind == RQL_EXPR_CONSTANT && !e->value.is_null) {
		*out = (struct range){e->value.integer, e->value.integer};
		if (!scaled(out, 1) || !scaled(&(struct range){e->value.integer, e->value.integer}, coefficient))
			return not_derivable(l->err, e);
		status = add_term(l, RQL_AGG_COUNT_STAR, 0, coefficient * e->value.integer);
	} else if (e->kind == RQL_EXPR_CAST && !e->try_cast) {
		status = linear_cast(l, e, coefficient, out);
	} else if (e->kind == RQL_EXPR_FUNCTION && !strcmp(e->name, "*") && e->child_count == 2) {
		status = linear_product(l, e, coefficient, out);
	} else if (e->kind == RQL_EXPR_FUNCTION && (!strcmp(e->name, "+") || !strcmp(e->name, "-")) &&
	           e->child_count <= 2) {
		status = linear_sum(l, e, coefficient, out);
	} else {
		return not_derivable(l->err, e);
	}
	if (status == RQL_OK && !in_range(e->type, out))
		return no(l->err, "an expression of its measures could overflow, and the host would say so");
	return status;
}

/* The aggregate that counts the rows summed: only AVG wants it, and in a rolled-up cube it costs as much as the sum. */
static rql_status need_count(struct linear *l, enum rql_agg_kind kind, uint32_t measure)
{
	if (l->slot->kind != RQL_SLOT_AVG)
		return RQL_OK;
	return need(l->aggs, l->agg_count, kind, measure, &l->slot->count, l->err);
}

/* The sum of the argument of SUM or AVG. */
static rql_status sum_terms(struct linear *l, const struct rql_expr *arg)
{
	uint32_t m;
	l->slot->terms = RQL_NEW_ARRAY(l->arena, struct rql_slot_term, MAX_TERMS);
	if (!l->slot->terms)
		return rql_error_memory(l->err, 0, "a plan");
	if (find_measure(l->def, arg, &m)) {
		const struct rql_measure *measure = &l->relation->measures[m];
		if (!measure->sum)
			return not_derivable(l->err, arg);
		l->slot->real = measure->kind == RQL_MEASURE_REAL;
		RQL_TRY(need_count(l, measure->has_null ? RQL_AGG_COUNT : RQL_AGG_COUNT_STAR, m));
		return add_term(l, RQL_AGG_SUM, m, 1);
	}
	struct range range;
	RQL_TRY(linear_add(l, arg, 1, &range));
	/* Validity follows the first term: a sum before a count, which is valid over nothing too. */
	for (uint32_t i = 1; i < l->slot->term_count && l->aggs[l->slot->terms[0].agg].kind != RQL_AGG_SUM; i++) {
		struct rql_slot_term swap = l->slot->terms[0];
		l->slot->terms[0] = l->slot->terms[i];
		l->slot->terms[i] = swap;
	}
	if (l->aggs[l->slot->terms[0].agg].kind != RQL_AGG_SUM)
		return not_derivable(l->err, arg);
	return need_count(l, RQL_AGG_COUNT_STAR, 0);
}

static rql_status count_slot(struct linear *l, const struct rql_expr *arg)
{
	uint32_t m;
	l->slot->kind = RQL_SLOT_COUNT;
	if (find_measure(l->def, arg, &m))
		return need(l->aggs, l->agg_count, l->relation->measures[m].has_null ? RQL_AGG_COUNT : RQL_AGG_COUNT_STAR, m,
		            &l->slot->count, l->err);
	struct rql_expr *over = rql_over_dimensions(l->arena, l->def, arg, NULL);
	if (!over || over->kind != RQL_EXPR_REF || l->relation->dimensions[over->index].has_null)
		return not_derivable(l->err, arg);
	return need(l->aggs, l->agg_count, RQL_AGG_COUNT_STAR, 0, &l->slot->count, l->err);
}

static rql_status extreme_slot(struct linear *l, const struct rql_expr *agg, bool least)
{
	uint32_t m;
	if (!find_measure(l->def, agg->children[0], &m))
		return not_derivable(l->err, agg);
	const struct rql_measure *measure = &l->relation->measures[m];
	if (!(least ? measure->min : measure->max))
		return not_derivable(l->err, agg);
	l->slot->kind = RQL_SLOT_VALUE;
	l->slot->real = measure->kind == RQL_MEASURE_REAL;
	l->slot->values = measure->kind == RQL_MEASURE_CODE ? &measure->dictionary.values : NULL;
	l->slot->terms = RQL_NEW_ARRAY(l->arena, struct rql_slot_term, 1);
	if (!l->slot->terms)
		return rql_error_memory(l->err, 0, "a plan");
	return add_term(l, least ? RQL_AGG_MIN : RQL_AGG_MAX, m, 1);
}

static rql_status average_slot(struct linear *l, const struct rql_expr *agg)
{
	const struct rql_expr *arg = agg->children[0];
	if (l->slot->type.id != RQL_TYPE_DOUBLE)
		return not_derivable(l->err, arg);
	l->slot->kind = RQL_SLOT_AVG;
	l->slot->scale = arg->type.id == RQL_TYPE_DECIMAL ? arg->type.scale : 0;
	l->slot->narrow = rql_type_bytes(arg->type) == 2;
	l->slot->average = agg->average;
	return sum_terms(l, arg);
}

static rql_status measure_slot(struct linear *l, const struct rql_expr *agg)
{
	bool extreme = !strcmp(agg->name, "min") || !strcmp(agg->name, "max");
	if (agg->distinct && !extreme)
		return no(l->err, "a DISTINCT aggregate does not add up over cells");
	if (!strcmp(agg->name, "count"))
		return count_slot(l, agg->children[0]);
	if (extreme)
		return extreme_slot(l, agg, agg->name[1] == 'i');
	if (!strcmp(agg->name, "avg"))
		return average_slot(l, agg);
	if (strcmp(agg->name, "sum") != 0)
		return not_derivable(l->err, agg);
	l->slot->kind = RQL_SLOT_SUM;
	return sum_terms(l, agg->children[0]);
}

static bool key_slot_kind(const struct rql_expr *agg, enum rql_slot_kind *out)
{
	static const struct {
		const char *name;
		bool distinct, exact;
		enum rql_slot_kind kind;
	} table[] = {
		{"count", true, false, RQL_SLOT_KEY_DISTINCT}, {"count", false, false, RQL_SLOT_KEY_COUNT},
		{"sum", false, true, RQL_SLOT_KEY_SUM},        {"avg", false, true, RQL_SLOT_KEY_AVG},
		{"min", false, false, RQL_SLOT_KEY_LEAST},     {"max", false, false, RQL_SLOT_KEY_GREATEST},
		{"min", true, false, RQL_SLOT_KEY_LEAST},      {"max", true, false, RQL_SLOT_KEY_GREATEST},
	};
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		if (strcmp(table[i].name, agg->name) != 0 || table[i].distinct != agg->distinct)
			continue;
		*out = table[i].kind;
		return !table[i].exact || is_exact(agg->children[0]->type);
	}
	return false;
}

/* An aggregate of a dimension, or of an expression of dimensions. */
static rql_status key_slot(struct linear *l, const struct rql_expr *agg)
{
	l->slot->of = rql_over_dimensions(l->arena, l->def, agg->children[0], NULL);
	if (!l->slot->of || !key_slot_kind(agg, &l->slot->kind) ||
	    (l->slot->kind == RQL_SLOT_KEY_AVG && agg->type.id != RQL_TYPE_DOUBLE))
		return not_derivable(l->err, agg);
	l->slot->scale = agg->children[0]->type.id == RQL_TYPE_DECIMAL ? agg->children[0]->type.scale : 0;
	l->slot->narrow = rql_type_bytes(agg->children[0]->type) == 2;
	l->slot->average = agg->average;
	return need(l->aggs, l->agg_count, RQL_AGG_COUNT_STAR, 0, &l->slot->count, l->err);
}

rql_status rql_slot_make(struct rql_arena *arena, const struct rql_definition *def, const struct rql_relation *relation,
                         const struct rql_expr *agg, struct rql_slot *slot, struct rql_agg *aggs, uint32_t *agg_count,
                         struct rql_error *err)
{
	struct linear l = {arena, def, relation, aggs, agg_count, slot, err};
	uint32_t aggs_before = *agg_count;
	*slot = (struct rql_slot){.type = agg->type};
	if (agg->filter)
		return no(err, "an aggregate has a FILTER clause");
	if (agg->order_count)
		return no(err, "an aggregate has an ORDER BY clause");
	if (!strcmp(agg->name, "count_star")) {
		slot->kind = RQL_SLOT_COUNT;
		return need(aggs, agg_count, RQL_AGG_COUNT_STAR, 0, &slot->count, err);
	}
	if (agg->child_count != 1)
		return not_derivable(err, agg);
	struct rql_error why = {0};
	l.err = &why;
	rql_status status = measure_slot(&l, agg);
	if (status == RQL_ERROR_UNSUPPORTED) {
		struct linear again = {arena, def, relation, aggs, agg_count, slot, NULL};
		*agg_count = aggs_before;
		*slot = (struct rql_slot){.type = agg->type};
		if (key_slot(&again, agg) == RQL_OK)
			status = RQL_OK;
	}
	if (status != RQL_OK)
		rql_error_move(err, &why);
	rql_error_clear(&why);
	return status;
}

/* Joins by ranges of which only counts and sums are asked for. The points' relation is no rows then, but a few numbers beside
 * each row of what it is joined to: how many of its values lie between the row's bounds, and what their columns add up to. So
 * aggregates become sums over these numbers. */
#include <string.h>

#include "plan/join/join.h"

static rql_status refuse(struct rql_join_graph *g, const char *why)
{
	return rql_error_set(g->err, RQL_ERROR_UNSUPPORTED, "joined as columns on a GPU: %s", why);
}

/* ---- which relation has the points ---- */

struct finding {
	struct rql_join_graph *g;
	uint32_t relation, number;    /* that might have them */
	struct rql_join_ranges *out;
	uint64_t *taken;              /* conjuncts that are bounds, a bit each */
	struct rql_expr **aggs;
	bool bound, memory;           /* some condition is one; there was no memory */
};

struct reading {
	uint32_t number;
	bool found;
};

static bool note_number(const struct rql_expr *leaf, void *state)
{
	struct reading *r = state;
	r->found |= leaf->kind != RQL_EXPR_COLUMN || leaf->table == r->number;
	return !r->found;
}

static bool reads(const struct rql_expr *e, uint32_t number)
{
	struct reading r = {.number = number};
	rql_expr_leaves(e, note_number, &r);
	return r.found;
}

static bool reads_any(struct rql_expr *const *list, uint32_t count, uint32_t number)
{
	for (uint32_t i = 0; i < count; i++)
		if (reads(list[i], number))
			return true;
	return false;
}

/* Is it a bound of a value of the relation by one of a table? */
static bool take_bound(struct finding *f, const struct rql_expr *e)
{
	struct rql_join_graph *g = f->g;
	struct rql_join_test_of c = {.test = RQL_PAIR_EQ};
	if (e->kind != RQL_EXPR_COMPARE)
		return false;
	const bool flip = rql_join_reader_of(e->children[0]) == f->number;
	const struct rql_expr *inner = e->children[!flip], *outer = e->children[flip];
	const uint32_t table = rql_join_table_of(g, outer);
	if (rql_join_reader_of(inner) != f->number || table == RQL_NONE || table == f->relation ||
	    !rql_join_find_test(e->name, flip, &c) || c.null_safe || c.test == RQL_PAIR_EQ || c.test == RQL_PAIR_NE)
		return false;
	f->bound = true;
	if (f->out->condition_count == 2)
		return false;
	c.relation = table;
	c.outer = rql_join_over_own(g, &g->relations[table], outer);
	c.inner = rql_join_over_own(g, &g->relations[f->relation], inner);
	f->memory |= !c.outer || !c.inner;
	f->out->conditions[f->out->condition_count++] = c;
	return true;
}

static bool is_low(const struct rql_join_test_of *c)
{
	return c->test == RQL_PAIR_LT || c->test == RQL_PAIR_LE;
}

/* NULL: they are one least and one greatest bound at most, of one value. */
static const char *check_bounds(const struct finding *f)
{
	const struct rql_join_test_of *c = f->out->conditions;
	if (f->memory || f->out->condition_count < 2)
		return NULL;
	if (!rql_expr_equal(c[0].inner, c[1].inner))
		return "the bounds of a join by ranges are of two values";
	return is_low(&c[0]) == is_low(&c[1]) ? "a join by ranges has two bounds of one kind" : NULL;
}

/* *reads: it is the relation of a join by ranges at all. */
static const char *find_bounds(struct finding *f, bool *ranged)
{
	const struct rql_block *block = f->g->block;
	const struct rql_block_side *side = f->g->relations[f->relation].side;
	const uint32_t count = side ? side->condition_count : block->conjunct_count;
	const char *why = NULL;
	*ranged = !side || (side->kind == RQL_SIDE_LEFT && !side->key_count && !side->single);
	for (uint32_t i = 0; i < count && *ranged; i++) {
		const struct rql_expr *e = side ? side->conditions[i] : block->conjuncts[i];
		if (!side && (!reads(e, f->number) || rql_join_reader_of(e) == f->number))
			continue;
		*ranged = !rql_join_is_equality(f->g, e);
		if (!take_bound(f, e))
			why = "a join by ranges has other conditions than a least and a greatest bound";
		else if (!side)
			f->taken[i / 64] |= UINT64_C(1) << i % 64;
	}
	*ranged = *ranged && f->bound;
	return why ? why : check_bounds(f);
}

/* Does anything but its bounds and aggregates read the relation? */
static bool is_read(const struct finding *f)
{
	const struct rql_block *block = f->g->block;
	bool read = reads_any(block->groups, block->group_count, f->number) ||
	            reads_any(block->above, block->above_count, f->number);
	const bool own_side = f->g->relations[f->relation].side;
	for (uint32_t i = 0; i < block->conjunct_count && own_side; i++)
		read |= reads(block->conjuncts[i], f->number);
	for (uint32_t i = 0; i < block->side_count; i++) {
		const struct rql_block_side *side = &block->sides[i];
		for (uint32_t k = 0; k < side->key_count; k++)
			read |= reads(side->keys[k].outer, f->number);
		if (side != f->g->relations[f->relation].side)
			read |= reads_any(side->conditions, side->condition_count, f->number);
	}
	return read;
}

/* ---- aggregates as sums over numbers ---- */

/* A COLUMN of the relation of points, which is such a number; NULL: no memory, or too many. */
static struct rql_expr *number_of(struct finding *f, enum rql_pair_sum_kind kind, uint32_t relation,
                                  const struct rql_expr *of, struct rql_type type)
{
	struct rql_join_ranges *r = f->out;
	struct rql_expr *own = of ? rql_join_over_own(f->g, &f->g->relations[relation], of) : NULL;
	struct rql_expr *column = rql_expr_new(f->g->p->arena, RQL_EXPR_COLUMN, type, 0);
	uint32_t i = 0;
	f->memory |= (of && !own) || !column;
	if (f->memory)
		return NULL;
	while (i < r->sum_count && (r->sums[i].kind != kind || r->sums[i].relation != relation ||
	                            (of && !rql_expr_equal(r->sums[i].of, own))))
		i++;
	if (i == RQL_PAIR_SUMS)
		return NULL;
	r->sum_count += i == r->sum_count;
	r->sums[i] = (struct rql_join_sum){.kind = kind, .relation = relation, .of = own, .type = type};
	column->table = f->number;
	column->index = i;
	return column;
}

static struct rql_expr *aggregate(struct finding *f, const struct rql_expr *e, const char *name, uint32_t count,
                                  struct rql_expr *const *children)
{
	struct rql_expr *out = RQL_NEW(f->g->p->arena, struct rql_expr);
	struct rql_expr **copies = RQL_NEW_ARRAY(f->g->p->arena, struct rql_expr *, count);
	f->memory |= !out || !copies;
	for (uint32_t i = 0; i < count; i++)
		if (!children[i])
			return NULL;
	if (f->memory)
		return NULL;
	memcpy(copies, children, count * sizeof *copies);
	*out = *e;
	out->name = name;
	out->child_count = count;
	out->children = copies;
	return out;
}

static struct rql_expr *null_of(struct finding *f, struct rql_type type)
{
	struct rql_expr *e = rql_expr_new(f->g->p->arena, RQL_EXPR_CONSTANT, type, 0);
	if (e)
		e->value = rql_value_null(type);
	return e;
}

static bool is_exact(struct rql_type type)
{
	return (rql_type_is_integer(type) && type.id != RQL_TYPE_UHUGEINT) || type.id == RQL_TYPE_DECIMAL;
}

/* A sum of 64 bits, as a column of a form. */
static struct rql_type sum_type(struct rql_type of)
{
	struct rql_type type = rql_type_simple(RQL_TYPE_BIGINT);
	if (of.id == RQL_TYPE_DECIMAL) {
		type = of;
		type.width = 18;
	}
	return type;
}

/* The relation that an aggregate's argument reads alone; RQL_NONE: there is no such one. Of an outer join's rows without a
 * match a column alone is NULL as it is. */
static uint32_t argument_of(const struct finding *f, const struct rql_expr *e)
{
	if (rql_join_reader_of(e) != f->number)
		return rql_join_table_of(f->g, e);
	return !f->g->relations[f->relation].side || e->kind == RQL_EXPR_COLUMN ? f->relation : RQL_NONE;
}

static const char *rewrite_sum(struct finding *f, const struct rql_expr *e, struct rql_expr **out)
{
	const struct rql_expr *of = e->child_count == 1 ? e->children[0] : NULL;
	const struct rql_type bigint = rql_type_simple(RQL_TYPE_BIGINT);
	const bool average = !strcmp(e->name, "avg");
	if (!of || (!average && strcmp(e->name, "sum") != 0))
		return "an aggregate over a join by ranges that is no count, sum or average";
	const uint32_t relation = argument_of(f, of);
	if (relation == RQL_NONE)
		return "an argument over a join by ranges reads several tables, or an expression of an outer join's";
	if (!is_exact(of->type))
		return "a sum of other values than integers and decimals over a join by ranges";
	struct rql_expr *parts[] = {number_of(f, RQL_PAIR_SUM_SUM, relation, of, sum_type(of->type)),
	                            average ? number_of(f, RQL_PAIR_SUM_VALUES, relation, of, bigint) : NULL,
	                            average ? null_of(f, of->type) : NULL};
	*out = aggregate(f, e, e->name, average ? 3 : 1, parts);
	return NULL;
}

/* NULL: *out is the aggregate over numbers, or NULL itself for a reason that the caller knows. */
static const char *rewrite_agg(struct finding *f, struct rql_expr *e, struct rql_expr **out)
{
	const struct rql_type bigint = rql_type_simple(RQL_TYPE_BIGINT);
	const bool count = !strcmp(e->name, "count");
	struct rql_expr *number;
	if (!strcmp(e->name, "min") || !strcmp(e->name, "max") || (count && e->distinct)) {
		*out = e; /* of the other rows: how often they come is all the same */
		return reads(e, f->number) || (e->filter && reads(e->filter, f->number))
		           ? "an extreme, or a count of DISTINCT values, of the side that has the points of a join by ranges"
		           : NULL;
	}
	if (e->distinct || e->filter || e->order_count)
		return "an aggregate over a join by ranges is DISTINCT, or has a FILTER or an ORDER BY clause";
	if (!strcmp(e->name, "count_star")) {
		number = number_of(f, RQL_PAIR_SUM_PAIRS, f->relation, NULL, bigint);
		*out = aggregate(f, e, RQL_SUM_OF_COUNTS, 1, &number);
		return NULL;
	}
	if (!count || e->child_count != 1)
		return rewrite_sum(f, e, out);
	const uint32_t relation = argument_of(f, e->children[0]);
	if (relation == RQL_NONE)
		return "an argument over a join by ranges reads several tables, or an expression of an outer join's";
	number = number_of(f, RQL_PAIR_SUM_VALUES, relation, e->children[0], bigint);
	*out = aggregate(f, e, RQL_SUM_OF_COUNTS, 1, &number);
	return NULL;
}

static const char *rewrite_aggs(struct finding *f)
{
	const struct rql_block *block = f->g->block;
	f->aggs = RQL_NEW_ARRAY(f->g->p->arena, struct rql_expr *, block->agg_count + 1u);
	f->memory |= !f->aggs;
	for (uint32_t i = 0; i < block->agg_count && !f->memory; i++) {
		const char *why = rewrite_agg(f, block->aggs[i], &f->aggs[i]);
		if (why)
			return why;
		if (!f->aggs[i])
			return "more than 16 counts and sums over a join by ranges";
	}
	return NULL;
}

/* ---- the block above ---- */

static rql_status take(struct finding *f)
{
	struct rql_join_graph *g = f->g;
	struct rql_block *block = RQL_NEW(g->p->arena, struct rql_block);
	struct rql_expr_list rest = {0};
	if (!block)
		return rql_error_memory(g->err, 0, "a plan");
	for (uint32_t i = 0; i < g->block->conjunct_count; i++)
		if (!(f->taken[i / 64] >> i % 64 & 1) && !rql_expr_list_add(g->p->arena, &rest, g->block->conjuncts[i]))
			return rql_error_memory(g->err, 0, "a plan");
	*block = *g->block;
	block->conjunct_count = rest.count;
	block->conjuncts = rest.items;
	block->aggs = f->aggs;
	g->block = block;
	f->out->relation = f->relation;
	g->ranges = f->out;
	return RQL_OK;
}

/* *why: of a relation that has bounds, and is no such one nevertheless. */
static rql_status try_relation(struct rql_join_graph *g, uint32_t relation, const char **why)
{
	struct finding f = {.g = g, .relation = relation, .number = g->relations[relation].number};
	bool ranged;
	f.out = RQL_NEW(g->p->arena, struct rql_join_ranges);
	f.taken = RQL_NEW_ARRAY(g->p->arena, uint64_t, g->block->conjunct_count / 64 + 1u);
	if (!f.out || !f.taken)
		return rql_error_memory(g->err, 0, "a plan");
	const char *against = find_bounds(&f, &ranged);
	if (!ranged)
		return RQL_OK;
	g->bounded = true;
	if (g->block->side_count && g->block->sides[g->block->side_count - 1].kind == RQL_SIDE_FULL)
		against = "a full outer join beside a join by ranges, whose rows without a match have no numbers";
	if (!against && is_read(&f))
		against = "groups or conditions read the side that has the points of a join by ranges";
	if (!against)
		against = rewrite_aggs(&f);
	if (f.memory)
		return rql_error_memory(g->err, 0, "a plan");
	if (!against)
		return take(&f);
	*why = *why ? *why : against;
	return RQL_OK;
}

rql_status rql_join_find_ranges(struct rql_join_graph *g)
{
	const char *why = NULL;
	for (uint32_t r = g->relation_count; r-- && !g->ranges && !g->rows;)
		RQL_TRY(try_relation(g, r, &why));
	return why && !g->ranges ? refuse(g, why) : RQL_OK;
}

rql_status rql_join_add_range_edge(struct rql_join_graph *g, struct rql_join_edge *edge)
{
	const struct rql_join_ranges *ranges = g->ranges;
	*edge = (struct rql_join_edge){.a = ranges->conditions[0].relation, .b = ranges->relation};
	edge->condition_count = ranges->condition_count;
	memcpy(edge->conditions, ranges->conditions, sizeof ranges->conditions);
	for (uint32_t i = 0; i < ranges->condition_count; i++)
		g->relations[ranges->relation].needs |= 1u << ranges->conditions[i].relation;
	for (uint32_t i = 0; i < ranges->sum_count; i++) /* what is multiplied by pairs has to be there */
		if (ranges->sums[i].relation != ranges->relation)
			g->relations[ranges->relation].needs |= 1u << ranges->sums[i].relation;
	return RQL_OK;
}

/* ---- forms ---- */

#define VALUES_MOST 3u /* the points' column, and two bounds */
struct values {
	uint32_t count;
	struct rql_join_relation *of[VALUES_MOST];
	uint32_t outputs[VALUES_MOST];
	struct rql_form_column columns[VALUES_MOST];
};

static rql_status describe(struct rql_join_graph *g, struct values *v)
{
	for (uint32_t i = 0; i < v->count; i++) {
		const struct rql_request *request = &v->of[i]->request;
		RQL_TRY(rql_join_describe(g, request, v->outputs[i], &v->columns[i]));
		if (rql_join_can_fail(request, &request->outputs[v->outputs[i]].source))
			return refuse(g, "a bound of a join by ranges can raise an error in some row");
		if (v->columns[i].of.kind != v->columns[0].of.kind || !rql_type_equal(v->columns[i].of.type, v->columns[0].of.type))
			return refuse(g, "a bound of a join by ranges is of another type than what it bounds");
	}
	return RQL_OK;
}

/* Numbers have one range. False: they are codes of several dictionaries. */
static bool share(struct values *v)
{
	rql_int128 least = v->columns[0].of.least, greatest = v->columns[0].of.greatest;
	for (uint32_t i = 1; i < v->count; i++) {
		const struct rql_store_column *c = &v->columns[i].of;
		if (c->kind == RQL_STORE_CODED && c->dimension->values.data != v->columns[0].of.dimension->values.data)
			return false;
		least = c->least < least ? c->least : least;
		greatest = c->greatest > greatest ? c->greatest : greatest;
	}
	for (uint32_t i = 0; i < v->count && v->columns[0].of.kind == RQL_STORE_INTEGER; i++) {
		v->columns[i].of.least = least;
		v->columns[i].of.greatest = greatest;
	}
	return true;
}

/* Codes as places in the order of all their values. */
static rql_status rank(struct rql_join_graph *g, struct values *v, struct rql_output *outputs)
{
	const struct rql_dimension *of[VALUES_MOST];
	struct rql_group_key *parts = RQL_NEW_ARRAY(g->p->arena, struct rql_group_key, VALUES_MOST);
	uint32_t *codes[VALUES_MOST], count;
	for (uint32_t i = 0; i < v->count; i++) {
		of[i] = v->columns[i].of.dimension;
		if (!parts || !(codes[i] = RQL_NEW_ARRAY(g->p->arena, uint32_t, of[i]->count + 1u)))
			return rql_error_memory(g->err, 0, "a plan");
	}
	rql_join_rank_codes(of, codes, v->count, &count);
	for (uint32_t i = 0; i < v->count; i++) {
		parts[i] = (struct rql_group_key){
			.source = outputs[i].source, .key_of_code = codes[i], .key_count = count, .null_key = RQL_NONE};
		outputs[i] = (struct rql_output){.type = rql_type_simple(RQL_TYPE_BIGINT), .part_count = 1, .parts = &parts[i]};
		v->columns[i] = (struct rql_form_column){.of = {.name = "rank",
		                                                .type = rql_type_simple(RQL_TYPE_BIGINT),
		                                                .kind = RQL_STORE_INTEGER,
		                                                .greatest = (rql_int128)count - 1},
		                                         .nullable = true};
	}
	return RQL_OK;
}

/* What is counted or added up: as it is. */
static rql_status bind_sum(struct rql_join_graph *g, struct rql_join_sum *sum)
{
	struct rql_join_relation *r = &g->relations[sum->relation];
	struct rql_form_column column;
	if (!sum->of)
		return RQL_OK;
	RQL_TRY(rql_join_describe_any(g, &r->request, sum->output, &column));
	if (rql_join_can_fail(&r->request, &r->request.outputs[sum->output].source))
		return refuse(g, "an argument over a join by ranges can raise an error in some row");
	if (column.of.low || (sum->kind == RQL_PAIR_SUM_SUM && column.of.kind != RQL_STORE_INTEGER))
		return refuse(g, "a sum over a join by ranges may take more than 64 bits");
	struct rql_output as_it_is = r->request.outputs[sum->output];
	return rql_join_put_key(g, r, &column, &as_it_is, &sum->column);
}

rql_status rql_join_bind_ranges(struct rql_join_graph *g, struct rql_join_step *step)
{
	struct values v = {.count = 1, .of = {&g->relations[step->relation]}, .outputs = {step->conditions[0].inner_output}};
	struct rql_output outputs[VALUES_MOST];
	uint32_t columns[VALUES_MOST];
	for (uint32_t i = 0; i < step->condition_count; i++) {
		v.of[v.count] = &g->relations[step->conditions[i].relation];
		v.outputs[v.count++] = step->conditions[i].outer_output;
	}
	RQL_TRY(describe(g, &v));
	for (uint32_t i = 0; i < v.count; i++)
		outputs[i] = v.of[i]->request.outputs[v.outputs[i]];
	if (!share(&v))
		RQL_TRY(rank(g, &v, outputs));
	for (uint32_t i = 0; i < v.count; i++)
		RQL_TRY(rql_join_put_key(g, v.of[i], &v.columns[i], &outputs[i], &columns[i]));
	for (uint32_t i = 0; i < step->condition_count; i++) {
		step->conditions[i].inner_column = columns[0];
		step->conditions[i].outer_column = columns[1 + i];
	}
	for (uint32_t i = 0; i < g->ranges->sum_count; i++)
		RQL_TRY(bind_sum(g, &g->ranges->sums[i]));
	return RQL_OK;
}

/* Of so many pairs each value. */
static bool multiply(const struct rql_store_column *of, rql_int128 pairs, rql_int128 *least, rql_int128 *greatest)
{
	rql_int128 low, high;
	if (__builtin_mul_overflow(of->least, pairs, &low) || __builtin_mul_overflow(of->greatest, pairs, &high))
		return false;
	*least = low < of->least ? low : of->least;
	*greatest = high > of->greatest ? high : of->greatest;
	return *least >= INT64_MIN && *greatest <= INT64_MAX;
}

rql_status rql_join_sum_column(struct rql_join_graph *g, const struct rql_join_sum *sum,
                               const struct rql_store_snapshot *form, uint32_t column, uint64_t points,
                               struct rql_form_column *out)
{
	const bool of_points = sum->relation == g->ranges->relation;
	const rql_int128 pairs = points ? (rql_int128)points : 1;
	struct rql_store_total total;
	*out = (struct rql_form_column){.of = {.name = "pairs", .type = sum->type, .kind = RQL_STORE_INTEGER, .greatest = pairs}};
	if (sum->kind != RQL_PAIR_SUM_SUM)
		return RQL_OK;
	out->of.name = "sum";
	out->nullable = true;
	if (!of_points)
		return multiply(&form->columns[column], pairs, &out->of.least, &out->of.greatest)
		           ? RQL_OK
		           : refuse(g, "a sum over a join by ranges may take more than 64 bits");
	if (!rql_store_total(form, column, &total))
		return refuse(g, "a sum over a join by ranges may take more than 64 bits");
	out->of.least = total.low;
	out->of.greatest = total.high;
	return RQL_OK;
}

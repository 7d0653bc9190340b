/* Random selections of rows over random stores (scan_world.h), and the oracle of their results. */
#ifndef RQL_TESTS_UNIT_SCAN_CHOICE_H
#define RQL_TESTS_UNIT_SCAN_CHOICE_H

#include "method/scan/rows/scan_rows.h"
#include "scan_world.h"
#include "util/sort.h"

#define MAX_OUTPUTS 8u
#define MAX_ORDERS 4u
#define ALL UINT64_MAX

struct choice {
	struct query q;
	struct rql_request request;
	struct rql_output outputs[MAX_OUTPUTS];
	struct rql_row_order orders[MAX_ORDERS];
	struct rql_batch *texts; /* what payloads stand for, of outputs that look them up */
};

/* ---- random requests ---- */

static struct rql_source random_source(struct choice *c)
{
	struct query *q = &c->q;
	if (roll(4) == 0 && q->request.program_count < MAX) {
		make_program(q, (unsigned)roll(3));
		return (struct rql_source){.kind = RQL_SOURCE_PROGRAM, .index = q->request.program_count - 1};
	}
	if (roll(4) == 0)
		return random_input(q);
	return (struct rql_source){.index = (uint32_t)roll(COLUMNS)};
}

static struct rql_type type_of(const struct query *q, const struct rql_source *s)
{
	if (s->kind == RQL_SOURCE_COLUMN)
		return rql_type_simple(kinds[s->index].type);
	bool truth = s->kind == RQL_SOURCE_PROGRAM && q->formulas[s->index].op == LESS;
	return rql_type_simple(truth ? RQL_TYPE_BOOLEAN : RQL_TYPE_BIGINT);
}

/* Strings for payloads [0, 300), some of them NULL. */
static inline void make_texts(struct choice *c)
{
	struct rql_type type = rql_type_simple(RQL_TYPE_VARCHAR);
	char text[64];
	c->texts = need(rql_batch_new(1, &type, 300));
	for (uint32_t i = 0; i < 300; i++) {
		snprintf(text, sizeof(text), i % 2 ? "p%u" : "payload with a long name, number %u", i);
		assert_true(rql_batch_set_string(c->texts, 0, i, text, (uint32_t)strlen(text)));
		if (i % 7 == 0)
			assert_true(rql_batch_set_null(c->texts, 0, i));
	}
}

static inline void choice_make(struct choice *c, const struct table *t)
{
	*c = (struct choice){.q = {.arena = need(rql_arena_new())}};
	struct query *q = &c->q;
	q->request = (struct rql_request){
		.snapshot = t->snapshot, .programs = q->programs, .conjuncts = q->conjuncts, .lookups = q->joins};
	make_texts(c);
	for (uint64_t i = roll(3); i-- > 0;)
		make_join(q, t);
	for (uint64_t i = roll(3); i-- > 0;)
		make_conjunct(q, t);
	c->request =
		(struct rql_request){.wants = RQL_PORT_BATCH, .outputs = c->outputs, .orders = c->orders, .limit = ALL};
	for (uint64_t i = 1 + roll(MAX_OUTPUTS); i-- > 0;) {
		struct rql_output *o = &c->outputs[c->request.output_count++];
		o->source = random_source(c);
		o->type = type_of(q, &o->source);
		if (o->source.kind == RQL_SOURCE_LOOKUP && roll(2)) {
			o->type = rql_type_simple(RQL_TYPE_VARCHAR);
			o->values = &c->texts->columns[0];
			o->value_count = 300;
		}
	}
	for (uint64_t i = roll(MAX_ORDERS + 1); i-- > 0;)
		c->orders[c->request.order_count++] =
			(struct rql_row_order){.source = random_source(c), .descending = roll(2), .nulls_first = roll(2)};
	if (roll(3)) {
		c->request.limit = roll(4) ? roll(50) : roll(20000);
		c->request.offset = roll(2) ? 0 : roll(t->rows + 10);
	}
	c->request.snapshot = q->request.snapshot;
	c->request.program_count = q->request.program_count;
	c->request.programs = q->request.programs;
	c->request.conjunct_count = q->request.conjunct_count;
	c->request.conjuncts = q->request.conjuncts;
	c->request.lookup_count = q->request.lookup_count;
	c->request.lookups = q->request.lookups;
}

static inline void choice_free(struct choice *c)
{
	rql_batch_release(c->texts);
	query_free(&c->q);
}

/* ---- the oracle ---- */

struct oracle {
	const struct choice *c;
	const struct table *t;
	uint32_t count, *rows; /* of the result, in its order */
};

static bool is_real_source(const struct rql_source *s)
{
	return s->kind == RQL_SOURCE_COLUMN && s->index == REAL;
}

static int compare_rows(const void *context, uint32_t a, uint32_t b)
{
	const struct oracle *o = context;
	for (uint32_t i = 0; i < o->c->request.order_count; i++) {
		const struct rql_row_order *order = &o->c->orders[i];
		struct cell x = value_of(&o->c->q, o->t, a, &order->source), y = value_of(&o->c->q, o->t, b, &order->source);
		if (x.null || y.null) {
			if (x.null != y.null)
				return x.null == order->nulls_first ? -1 : 1;
			continue;
		}
		int c = is_real_source(&order->source) ? order_real(x.real, y.real)
		                                       : (x.integer > y.integer) - (x.integer < y.integer);
		if (c)
			return order->descending ? -c : c;
	}
	return 0;
}

static inline void expect(struct oracle *o, const struct choice *c, const struct table *t)
{
	uint32_t *rows = need(malloc((t->rows + 1) * sizeof(*rows))), *spare = need(malloc((t->rows + 1) * sizeof(*rows)));
	uint64_t count = 0, first = c->request.offset;
	*o = (struct oracle){.c = c, .t = t, .rows = rows};
	for (uint32_t r = 0; r < t->rows; r++)
		if (passes(&c->q, t, r))
			rows[count++] = r;
	rql_sort_items(rows, spare, count, compare_rows, o); /* stable */
	free(spare);
	first = first < count ? first : count;
	o->count = (uint32_t)(count - first < c->request.limit ? count - first : c->request.limit);
	memmove(rows, rows + first, o->count * sizeof(*rows));
}

static inline void check_cell(const struct oracle *o, const struct rql_batch *batch, uint32_t c, uint32_t at)
{
	const struct rql_output *output = &o->c->outputs[c];
	struct cell want = value_of(&o->c->q, o->t, o->rows[at], &output->source);
	struct rql_value have = rql_column_get(&batch->columns[c], at), text = {0};
	if (output->values && !want.null)
		text = rql_column_get(output->values, (uint64_t)want.integer);
	else if (output->type.id == RQL_TYPE_VARCHAR ||
	         (output->source.kind == RQL_SOURCE_COLUMN && kinds[output->source.index].coding == RQL_STORE_CODES))
		text = want.null ? rql_value_null(output->type)
		                 : rql_column_get(&o->t->snapshot->columns[output->source.index].dimension->values,
		                                  (uint64_t)want.integer);
	if (want.null || text.is_null) {
		assert_true(have.is_null);
	} else if (have.is_null) {
		fail_msg("row %u, output %u is NULL", at, c);
	} else if (text.type.id) {
		assert_int_equal(rql_value_compare(&have, &text), 0);
	} else if (is_real_source(&output->source)) {
		assert_int_equal(order_real(have.real, want.real), 0);
	} else {
		assert_true(have.integer == want.integer);
	}
}

/* All of a result. */
static inline void check_batch(const struct oracle *o, const struct rql_batch *batch)
{
	assert_int_equal(batch->rows, o->count);
	assert_int_equal(batch->column_count, o->c->request.output_count);
	for (uint32_t i = 0; i < o->c->request.output_count; i++)
		for (uint32_t r = 0; r < o->count; r++)
			check_cell(o, batch, i, r);
}

#endif

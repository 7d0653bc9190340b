/* Texts of several places (CASE WHEN ... THEN column ELSE 'x' END) as numbers of one list. A program computes the
 * number: the same expression, with a number for each constant and, for a column, the place of its code's text. */
#include <string.h>
#include "bind/star/distinct.h"
#include "bind/star/scan_bind.h"
#include "column/text/dict.h"

#define TEXTS_MOST (1u << 20) /* of several columns: they are numbered while the statement is planned */

/* What a leaf stands for: a constant, or a column with the number of each of its codes. */
struct leaf {
	const struct rql_expr *e;
	const struct rql_column *values; /* of a column */
	uint32_t count;
	uint32_t number;           /* of a constant */
	struct rql_expr *as_number; /* NULL: not made yet */
};

struct texts {
	struct rql_scan_binding *b;
	uint32_t leaf_count, room, columns;
	struct leaf *leaves; /* constants that are NULL are none */
};

static bool is_choice(const struct rql_expr *e)
{
	return (e->kind == RQL_EXPR_CASE || e->kind == RQL_EXPR_COALESCE) && e->type.id == RQL_TYPE_VARCHAR;
}

static bool is_null(const struct rql_expr *e)
{
	return e->kind == RQL_EXPR_CONSTANT && e->value.is_null;
}

/* Is child i one of the texts, not a condition? */
static bool is_arm(const struct rql_expr *e, uint32_t i)
{
	return e->kind == RQL_EXPR_COALESCE || i % 2 == 1 || i + 1 == e->child_count;
}

/* ---- the leaves ---- */

static struct leaf *find_leaf(struct texts *t, const struct rql_expr *e)
{
	for (uint32_t i = 0; i < t->leaf_count; i++)
		if (rql_expr_equal(t->leaves[i].e, e))
			return &t->leaves[i];
	return NULL;
}

/* false: there is no such list. */
static bool add_leaf(struct texts *t, const struct rql_expr *e)
{
	const struct rql_scan_binding *b = t->b;
	struct leaf leaf = {.e = e};
	if (is_null(e) || find_leaf(t, e))
		return true;
	if (e->type.id != RQL_TYPE_VARCHAR || t->leaf_count == t->room)
		return false;
	if (e->kind == RQL_EXPR_COLUMN) {
		uint32_t column = rql_scan_find_column(b->snapshot, b->column_ids, e);
		const struct rql_dimension *d = column == RQL_NONE ? NULL : b->snapshot->columns[column].dimension;
		if (!d)
			return false;
		leaf.values = &d->values;
		leaf.count = d->count;
	} else if (e->kind == RQL_EXPR_REF) {
		const struct rql_scan_dim *dim = &b->dims[RQL_STAR_REF_SUBTREE(e->index)];
		leaf.values = &dim->values[RQL_STAR_REF_OUTPUT(e->index)];
		leaf.count = dim->payload_count;
	} else if (e->kind != RQL_EXPR_CONSTANT) {
		return false;
	}
	t->columns += leaf.values != NULL;
	t->leaves[t->leaf_count++] = leaf;
	return true;
}

static bool collect(struct texts *t, const struct rql_expr *e)
{
	if (!is_choice(e))
		return add_leaf(t, e);
	for (uint32_t i = 0; i < e->child_count; i++)
		if (is_arm(e, i) && !collect(t, e->children[i]))
			return false;
	return true;
}

static uint32_t most_leaves(const struct rql_expr *e)
{
	uint32_t sum = 1;
	for (uint32_t i = 0; i < e->child_count && is_choice(e); i++)
		sum += is_arm(e, i) ? most_leaves(e->children[i]) : 0;
	return sum;
}

/* ---- numbers ---- */

static struct rql_expr *integer(struct rql_arena *arena, uint32_t value, bool null)
{
	struct rql_expr *e = rql_expr_new(arena, RQL_EXPR_CONSTANT, rql_type_simple(RQL_TYPE_INTEGER), 0);
	if (e)
		e->value = null ? rql_value_null(e->type) : (struct rql_value){.type = e->type, .integer = value};
	return e;
}

/* The number of a column's text, which rql_scan_text_numbers finds by its name. numbers NULL: the codes themselves. */
static struct rql_expr *number_of(struct rql_scan_binding *b, const struct rql_expr *column,
                                  const struct rql_column *numbers, uint32_t count)
{
	struct rql_expr *e = rql_expr_new(b->arena, RQL_EXPR_FUNCTION, rql_type_simple(RQL_TYPE_INTEGER), 1);
	struct rql_text_numbers *made = RQL_NEW(b->arena, struct rql_text_numbers);
	if (!e || !made)
		return NULL;
	*made = (struct rql_text_numbers){.next = b->text_numbers, .values = numbers, .count = count};
	/* Expressions are one when their names are: each table has its own. */
	made->name = numbers ? rql_arena_printf(b->arena, "text number %u", b->text_lists++) : "text number";
	b->text_numbers = made;
	e->name = made->name;
	e->children[0] = (struct rql_expr *)(uintptr_t)column;
	return e->name ? e : NULL;
}

const struct rql_text_numbers *rql_scan_text_numbers(const struct rql_scan_binding *b, const struct rql_expr *e)
{
	for (const struct rql_text_numbers *n = b->text_numbers; n && e->kind == RQL_EXPR_FUNCTION; n = n->next)
		if (e->name && !strcmp(e->name, n->name))
			return n;
	return NULL;
}

/* A list of so many texts and NULL behind them, of which the first are copied. */
static rql_status new_list(struct rql_scan_binding *b, const struct rql_column *first, uint32_t copied, uint32_t count,
                           struct rql_column **out)
{
	struct rql_column *list = RQL_NEW(b->arena, struct rql_column);
	struct rql_string *strings = rql_arena_array(b->arena, count + 1ull, sizeof *strings);
	uint64_t *validity = RQL_NEW_ARRAY(b->arena, uint64_t, count / 64 + 1u);
	if (!list || !strings || !validity)
		return rql_error_memory(b->err, 0, "a plan");
	if (copied)
		memcpy(strings, first->data, copied * sizeof *strings);
	memset(strings + copied, 0, (count + 1ull - copied) * sizeof *strings);
	rql_bits_fill(validity, count);
	*list = (struct rql_column){.type = rql_type_simple(RQL_TYPE_VARCHAR), .data = strings, .validity = validity};
	*out = list;
	return RQL_OK;
}

static struct rql_string string_of(const struct rql_value *v)
{
	return rql_string_make(v->string.data, (uint32_t)v->string.length);
}

/* One coded column and constants: its dictionary is the list, and what is not in it comes behind. */
static rql_status number_column(struct texts *t, struct leaf *column, struct rql_scan_texts *out)
{
	struct rql_scan_binding *b = t->b;
	const struct rql_dimension *d =
		b->snapshot->columns[rql_scan_find_column(b->snapshot, b->column_ids, column->e)].dimension;
	uint32_t count = d->count - d->has_null, more = 0;
	for (uint32_t i = 0; i < t->leaf_count; i++) {
		if (&t->leaves[i] == column)
			continue;
		struct rql_string s = string_of(&t->leaves[i].e->value);
		const struct rql_column one = {.type = d->type, .data = &s};
		uint32_t code = rql_dimension_find(d, &one, 0);
		t->leaves[i].number = code == RQL_DICT_NO_CODE ? count + more++ : code;
	}
	*out = (struct rql_scan_texts){.count = count + more};
	column->as_number = number_of(b, column->e, NULL, 0);
	if (!column->as_number)
		return rql_error_memory(b->err, 0, "a plan");
	RQL_TRY(new_list(b, &d->values, count, out->count, &out->values));
	for (uint32_t i = 0; i < t->leaf_count; i++)
		if (&t->leaves[i] != column && t->leaves[i].number >= count)
			((struct rql_string *)out->values->data)[t->leaves[i].number] = string_of(&t->leaves[i].e->value);
	return RQL_OK;
}

/* Several columns, or none: equal texts get one number. */
static rql_status number_leaf(struct texts *t, struct rql_distinct *distinct, struct leaf *leaf)
{
	struct rql_scan_binding *b = t->b;
	if (!leaf->values) {
		struct rql_string s = string_of(&leaf->e->value);
		const struct rql_column one = {.type = leaf->e->type, .data = &s};
		int32_t number;
		RQL_TRY(rql_distinct_add(distinct, &one, 1, &number, b->err));
		leaf->number = (uint32_t)number;
		return RQL_OK;
	}
	struct rql_column *numbers = RQL_NEW(b->arena, struct rql_column);
	if (!numbers)
		return rql_error_memory(b->err, 0, "a plan");
	*numbers = (struct rql_column){.type = rql_type_simple(RQL_TYPE_INTEGER),
	                               .data = RQL_NEW_ARRAY(b->arena, int32_t, leaf->count + 1u),
	                               .validity = leaf->values->validity};
	if (!numbers->data)
		return rql_error_memory(b->err, 0, "a plan");
	RQL_TRY(rql_distinct_add(distinct, leaf->values, leaf->count, numbers->data, b->err));
	leaf->as_number = number_of(b, leaf->e, numbers, leaf->count);
	return leaf->as_number ? RQL_OK : rql_error_memory(b->err, 0, "a plan");
}

static rql_status number_all(struct texts *t, struct rql_scan_texts *out)
{
	const struct rql_type type = rql_type_simple(RQL_TYPE_VARCHAR);
	struct rql_distinct *distinct = NULL;
	struct rql_column *all = NULL;
	uint64_t sum = 0;
	for (uint32_t i = 0; i < t->leaf_count; i++)
		sum += t->leaves[i].count;
	if (sum > TEXTS_MOST)
		return rql_error_set(t->b->err, RQL_ERROR_UNSUPPORTED, "texts of %llu values in several columns",
		                     (unsigned long long)sum);
	RQL_TRY(rql_distinct_new(&type, 1, &distinct, t->b->err));
	rql_status status = RQL_OK;
	for (uint32_t i = 0; i < t->leaf_count && status == RQL_OK; i++)
		status = number_leaf(t, distinct, &t->leaves[i]);
	out->count = rql_distinct_count(distinct);
	if (status == RQL_OK)
		status = rql_distinct_columns(distinct, t->b->arena, &all, t->b->err);
	rql_distinct_free(distinct);
	RQL_TRY(status);
	RQL_TRY(new_list(t->b, all, out->count, out->count, &out->values));
	for (uint32_t i = 0; i < out->count; i++) /* a column's NULL may have got a number */
		if (!rql_column_valid(all, i))
			rql_bit_clear(out->values->validity, i);
	return RQL_OK;
}

/* e with numbers for texts. NULL: out of memory. */
static struct rql_expr *rewrite(struct texts *t, const struct rql_expr *e)
{
	struct rql_arena *arena = t->b->arena;
	if (is_null(e))
		return integer(arena, 0, true);
	if (!is_choice(e)) {
		const struct leaf *leaf = find_leaf(t, e);
		return leaf->values ? leaf->as_number : integer(arena, leaf->number, false);
	}
	struct rql_expr *out = rql_expr_new(arena, e->kind, rql_type_simple(RQL_TYPE_INTEGER), e->child_count);
	for (uint32_t i = 0; out && i < e->child_count; i++) {
		out->children[i] = is_arm(e, i) ? rewrite(t, e->children[i]) : e->children[i];
		if (!out->children[i])
			return NULL;
	}
	return out;
}

bool rql_scan_has_texts(const struct rql_expr *e)
{
	return is_choice(e);
}

rql_status rql_scan_bind_texts(struct rql_scan_binding *b, const struct rql_expr *e, struct rql_scan_texts *out)
{
	struct texts t = {.b = b, .room = most_leaves(e)};
	struct leaf *column = NULL;
	if (!(t.leaves = RQL_NEW_ARRAY(b->arena, struct leaf, t.room)))
		return rql_error_memory(b->err, 0, "a plan");
	if (!collect(&t, e))
		return rql_error_set(b->err, RQL_ERROR_UNSUPPORTED, "texts that are neither columns nor constants");
	for (uint32_t i = 0; i < t.leaf_count; i++)
		column = t.leaves[i].values ? &t.leaves[i] : column;
	bool single = t.columns == 1 && column->e->kind == RQL_EXPR_COLUMN;
	*out = (struct rql_scan_texts){.count = 0};
	RQL_TRY(single ? number_column(&t, column, out) : number_all(&t, out));
	out->number = rewrite(&t, e);
	return out->number ? RQL_OK : rql_error_memory(b->err, 0, "a plan");
}

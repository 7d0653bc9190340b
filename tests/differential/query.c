/* Random views, and queries over them. */
#include "diff.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct making {
	struct dt_arena *arena;
	struct dt_random *r;
};

static const char *literal(struct making *m, const struct dt_item *item)
{
	return item->value_count ? item->values[dt_below(m->r, item->value_count)] : "NULL";
}

/* A literal that the binder has to bring to the item's type, or the item to its. None for date_trunc: DuckDB 1.5.6 takes
 * `date_trunc('month', d) <> x` for true where d is NULL, when x is no first of a month. */
static const char *odd_literal(struct making *m, const struct dt_item *item)
{
	static const char *const numbers[] = {
		"2.5", "-0.5", "1e2", "3::TINYINT", "100000000000", "0.30000000000000004::DOUBLE", "7.000::DECIMAL(9,3)"};
	static const char *const moments[] = {"TIMESTAMP '1995-06-17 12:00:00'", "DATE '1994-01-01'", "'1993-03-04'",
	                                      "TIMESTAMP '1998-12-31 23:59:59.999999'"};
	if (item->class == DT_INT || item->class == DT_DECIMAL || item->class == DT_REAL)
		return numbers[dt_below(m->r, 7)];
	bool truncated = strncmp(item->text, "date_trunc(", 11) == 0;
	if ((item->class == DT_DATE || item->class == DT_TIMESTAMP) && !truncated)
		return moments[dt_below(m->r, 4)];
	return literal(m, item);
}

static const char *comparison(struct making *m)
{
	static const char *const ops[] = {"=", "=", "=", "<>", "<", "<=", ">", ">="};
	return ops[dt_below(m->r, 8)];
}

/* What begins before a string's first character depends on DuckDB's statistics, so no piece is counted from the end but
 * by right(). */
static const char *string_value(struct making *m, const char *e)
{
	static const char *const functions[] = {"upper(%s)",        "lower(%s)",        "substring(%s, 2, 3)", "substr(%s, 3)",
	                                        "left(%s, 4)",      "right(%s, 3)",     "left(%s, -2)",        "right(%s, -1)",
	                                        "coalesce(%s, '%')", "reverse(%s)",
	                                        "regexp_replace(%s, '^([a-z]+)[^a-z].*$', '\\1')",
	                                        "regexp_replace(%s, '[^/]e(r)?', '<\\0>')"};
	const char *f = functions[dt_below(m->r, 12)], *at = strstr(f, "%s");
	if (dt_chance(m->r, 60))
		return e;
	if (dt_chance(m->r, 20))
		return dt_printf(m->arena, "CASE WHEN %s LIKE '%%e%%' THEN %s WHEN %s IS NULL THEN '_' END", e, e, e);
	return dt_printf(m->arena, "%.*s%s%s", (int)(at - f), f, e, at + 2);
}

static const char *like_pattern(struct making *m)
{
	static const char *const patterns[] = {
		"'a%'",     "'%e%'",         "'common prefix%'", "'_b%'",  "'%1'",      "'MFGR#1%'",      "'%é%'",
		"''",       "'level _ member 1'", "'%'",         "'%%'",   "'_'",       "'%_'",           "'_%_%'",
		"'%a%e%'",  "'%_1'",         "'%r_%x%'",         "'é_'",   "'%日_%'",   "'co%_%1'",       "'%ж%_'",
		"'%\\%%' ESCAPE '\\'", "'%!_1%' ESCAPE '!'", "'a\\_%' ESCAPE '\\'", "'%1%' ESCAPE ''", "'%x%' ESCAPE 'é'"};
	/* The last one is an error, wherever it is evaluated at all. */
	return patterns[dt_below(m->r, dt_chance(m->r, 2) ? 26 : 25)];
}

static const char *like_predicate(struct making *m, const char *e)
{
	const char *pattern = like_pattern(m), *s = string_value(m, e);
	bool escapes = strstr(pattern, "ESCAPE") != NULL;
	const char *like = !escapes && dt_chance(m->r, 15) ? "ILIKE" : "LIKE";
	return dt_printf(m->arena, "%s %s%s %s", s, dt_chance(m->r, 25) ? "NOT " : "", like, pattern);
}

static const char *string_predicate(struct making *m, const char *e)
{
	static const char *const functions[] = {"starts_with", "contains", "prefix", "suffix", "ends_with"};
	static const char *const words[] = {"a", "common", "", "1", "é", "_", "ber"};
	const char *s = string_value(m, e);
	switch (dt_below(m->r, 9)) {
	case 0:
	case 1:
		return like_predicate(m, e);
	case 2:
		return dt_printf(m->arena, "%s(%s) %s %u", dt_chance(m->r, 70) ? "length" : "strlen", s, comparison(m),
		                 dt_below(m->r, 20));
	case 3:
		return dt_printf(m->arena, "%s %s '%s'", s, comparison(m), words[dt_below(m->r, 7)]);
	case 4:
		return dt_printf(m->arena, dt_chance(m->r, 50) ? "regexp_matches(%s, '[a-c]+.*1')"
		                                               : "regexp_full_match(%s, '\\w+ ?(.*)1')", s);
	case 5:
		return dt_printf(m->arena, "(%s %s (%s OR regexp_matches(%s, '(a|b|c)+.*1')))", like_predicate(m, e),
		                 dt_chance(m->r, 50) ? "AND" : "OR", like_predicate(m, e), e);
	case 6:
		return dt_printf(m->arena, "%s %sIN ('a', '', 'member', '%s')", s, dt_chance(m->r, 30) ? "NOT " : "",
		                 words[dt_below(m->r, 7)]);
	case 7:
		return dt_printf(m->arena, "strpos(%s, '%s') %s %u", s, words[dt_below(m->r, 7)], comparison(m),
		                 dt_below(m->r, 4));
	default:
		return dt_printf(m->arena, "%s(%s, '%s')", functions[dt_below(m->r, 5)], s, words[dt_below(m->r, 7)]);
	}
}

/* A predicate that knows the item's class; NULL when there is none for it. */
static const char *class_predicate(struct making *m, const struct dt_item *item)
{
	const char *e = item->text;
	switch (item->class) {
	case DT_STRING:
		return string_predicate(m, e);
	case DT_INT:
		if (item->extremes && !dt_chance(m->r, 10))
			return dt_printf(m->arena, "%s %% 7 = 3", e);
		return dt_chance(m->r, 50) ? dt_printf(m->arena, "%s %% 3 = %u", e, dt_below(m->r, 3))
		                           : dt_printf(m->arena, "%s + 1 %s %s", e, comparison(m), literal(m, item));
	case DT_DATE:
	case DT_TIMESTAMP:
		return dt_chance(m->r, 50) ? dt_printf(m->arena, "year(%s) %s %u", e, comparison(m), 1992 + dt_below(m->r, 7))
		                           : dt_printf(m->arena, "month(%s) IN (1, 3, 6, 12)", e);
	case DT_REAL:
		return dt_chance(m->r, 50) ? dt_printf(m->arena, "isnan(%s)", e) : dt_printf(m->arena, "%s > 'inf'", e);
	case DT_BOOL:
		return dt_chance(m->r, 50) ? e : dt_printf(m->arena, "%s IS NOT TRUE", e);
	case DT_DECIMAL:
		return dt_printf(m->arena, "floor(%s) %s 10", e, comparison(m));
	default:
		return NULL;
	}
}

const char *dt_predicate(struct dt_arena *arena, struct dt_random *r, const struct dt_item *item)
{
	struct making made = {arena, r}, *m = &made;
	const char *e = item->text, *special;
	switch (dt_below(r, 16)) {
	case 0:
	case 1:
		return dt_printf(arena, "%s BETWEEN %s AND %s", e, literal(m, item), literal(m, item));
	case 2:
	case 3:
		return dt_printf(arena, "%s IN (%s, %s, %s)", e, literal(m, item), literal(m, item), literal(m, item));
	case 4:
		return dt_printf(arena, "%s NOT IN (%s, %s)", e, literal(m, item), literal(m, item));
	case 5:
		return dt_printf(arena, "%s IS %sNULL", e, dt_chance(r, 50) ? "NOT " : "");
	case 6:
		return dt_printf(arena, "%s IS %sDISTINCT FROM %s", e, dt_chance(r, 50) ? "NOT " : "",
		                 dt_chance(r, 30) ? "NULL" : literal(m, item));
	case 7:
		return dt_printf(arena, "coalesce(%s, %s) %s %s", e, literal(m, item), comparison(m), literal(m, item));
	case 8:
		return dt_printf(arena, "CASE WHEN %s %s %s THEN %s = %s ELSE %s IS NULL END", e, comparison(m),
		                 literal(m, item), e, literal(m, item), e);
	case 9:
		if (dt_chance(r, 30))
			return dt_printf(arena, "%s %sIN (%s, NULL)", e, dt_chance(r, 40) ? "NOT " : "", literal(m, item));
		/* fall through */
	case 10:
	case 11:
		special = class_predicate(m, item);
		if (special)
			return special;
		/* fall through */
	default:
		if (dt_chance(r, 10))
			return dt_printf(arena, "%s %s %s", literal(m, item), comparison(m), e);
		if (dt_chance(r, 15))
			return dt_printf(arena, "%s %s %s", e, comparison(m), odd_literal(m, item));
		return dt_printf(arena, "%s %s %s", e, comparison(m), literal(m, item));
	}
}

static struct dt_pred *atom(struct making *m, const char *text)
{
	struct dt_pred *p = dt_alloc(m->arena, sizeof *p);
	*p = (struct dt_pred){.kind = DT_ATOM, .text = text};
	return p;
}

static struct dt_pred *combine(struct making *m, enum dt_pred_kind kind, struct dt_pred *a, struct dt_pred *b)
{
	struct dt_pred *p = dt_alloc(m->arena, sizeof *p);
	*p = (struct dt_pred){.kind = kind, .a = a, .b = b};
	return p;
}

/* DuckDB 1.5.6 reads a table with `c IS DISTINCT FROM x OR c < y` as if the first were false for NULLs: within an OR it is
 * said so that DuckDB's scan does not see it. */
static void hide_from_scan(struct making *m, struct dt_pred *p)
{
	if (p->kind == DT_ATOM && strstr(p->text, " IS DISTINCT FROM "))
		p->text = dt_printf(m->arena, "coalesce(%s, true)", p->text);
	if (p->a)
		hide_from_scan(m, p->a);
	if (p->b)
		hide_from_scan(m, p->b);
}

static struct dt_pred *predicate_tree(struct making *m, const struct dt_item *items, uint32_t count, unsigned depth)
{
	uint32_t kind = dt_below(m->r, 100);
	if (depth == 0 || kind < 60)
		return atom(m, dt_predicate(m->arena, m->r, &items[dt_below(m->r, count)]));
	if (kind < 70)
		return combine(m, DT_NOT, predicate_tree(m, items, count, depth - 1), NULL);
	struct dt_pred *a = predicate_tree(m, items, count, depth - 1), *b = predicate_tree(m, items, count, depth - 1);
	struct dt_pred *both = combine(m, kind < 80 ? DT_AND : DT_OR, a, b);
	if (both->kind == DT_OR)
		hide_from_scan(m, both);
	return both;
}

static struct dt_item derived(struct making *m, enum dt_class class, const char *text, const char *values)
{
	struct dt_item item = {.text = text, .class = class, .values = dt_alloc(m->arena, DT_MAX_VALUES * sizeof(char *))};
	for (const char *at = values; *at && item.value_count < DT_MAX_VALUES;) {
		size_t n = strcspn(at, ";");
		item.values[item.value_count++] = dt_printf(m->arena, "%.*s", (int)n, at);
		at += n + (at[n] == ';');
	}
	return item;
}

struct dt_item dt_expression_of(struct dt_arena *arena, struct dt_random *r, const struct dt_item *item)
{
	struct making made = {arena, r}, *m = &made;
	const char *e = item->text;
	uint32_t pick = dt_below(r, 10);
	if (pick == 0)
		return derived(m, DT_BOOL, dt_printf(arena, "(%s IS NULL)", e), "true;false");
	if (pick == 1)
		return derived(m, DT_STRING,
		               dt_printf(arena, "(CASE WHEN %s > %s THEN 'high' WHEN %s IS NULL THEN 'none' ELSE 'low' END)", e,
		                         literal(m, item), e),
		               "'high';'low';'none';'absent'");
	if (pick == 2)
		return derived(m, DT_BOOL, dt_printf(arena, "(%s = %s)", e, literal(m, item)), "true;false");
	if (pick == 3)
		return derived(m, DT_STRING, dt_printf(arena, "(%s)::VARCHAR", e), "'1';'-5';'true';'abc';'1992-01-01'");
	switch (item->class) {
	case DT_INT:
		return pick < 6 ? derived(m, DT_INT, dt_printf(arena, "(%s %% 5)", e), "0;1;2;3;4;-1")
		                : derived(m, DT_INT, dt_printf(arena, "(%s // 10)", e), "0;1;2;3;-1;-10");
	case DT_STRING:
		if (pick == 4)
			return derived(m, DT_INT, dt_printf(arena, dt_chance(r, 70) ? "length(%s)" : "strlen(%s)", e),
			               "0;1;2;3;12;13;14");
		if (pick == 5)
			return derived(m, DT_INT, dt_printf(arena, "strpos(%s, '%s')", e, dt_chance(r, 50) ? "e" : "é"), "0;1;2;3;9");
		return derived(m, DT_STRING,
		               dt_printf(arena,
		                         pick < 7   ? "substr(%s, 1, 2)"
		                         : pick < 8 ? "left(%s, -3)"
		                         : pick < 9 ? "lower(right(%s, 5))"
		                                    : "upper(%s)",
		                         e),
		               "'a';'co';'le';'MF';'';'AB';'ABC';'COMMON PREFIX 0001'");
	case DT_DATE:
	case DT_TIMESTAMP:
		if (pick < 6)
			return derived(m, DT_INT, dt_printf(arena, "year(%s)", e), "1992;1993;1995;1998;2024;1969");
		if (pick < 8)
			return derived(m, DT_INT, dt_printf(arena, "month(%s)", e), "1;2;3;6;12");
		return derived(m, DT_DATE, dt_printf(arena, "date_trunc('month', %s)", e),
		               "'1992-01-01';'1995-06-01';'1998-12-01'");
	case DT_BOOL:
		return derived(m, DT_BOOL, dt_printf(arena, "(NOT %s)", e), "true;false");
	default:
		return derived(m, DT_BOOL, dt_printf(arena, "(%s >= %s)", e, literal(m, item)), "true;false");
	}
}

/* ---- views ---- */
static bool is_number(const struct dt_item *i)
{
	return i->class == DT_INT || i->class == DT_DECIMAL || (i->class == DT_REAL && !i->wild);
}

/* What is summed: a column, or an expression of one or two. NULL text: nothing can be. */
static struct dt_item argument(struct making *m, const struct dt_source *s)
{
	struct dt_item none = {0};
	for (unsigned tries = 0; tries < 12; tries++) {
		struct dt_item a = s->columns[dt_below(m->r, s->column_count)], b = s->columns[dt_below(m->r, s->column_count)];
		if (!is_number(&a))
			continue;
		bool plain = dt_chance(m->r, 60) || !is_number(&b) || ((a.extremes || b.extremes) && !dt_chance(m->r, 5));
		if (plain)
			return a;
		const char *a_big = a.class == DT_INT ? "::BIGINT" : "", *b_big = b.class == DT_INT ? "::BIGINT" : "";
		if (a.extremes)
			a_big = "";
		struct dt_item both = a;
		both.class = a.class == DT_REAL || b.class == DT_REAL ? DT_REAL : a.class == DT_DECIMAL ? DT_DECIMAL : b.class;
		static const char *const ops[] = {"-", "+", "*", "//", "%"};
		uint32_t op_count = a.class == DT_INT && b.class == DT_INT ? 5 : 3;
		both.text = dt_chance(m->r, 25)
		                ? dt_printf(m->arena, "%s%s + 1", a.text, a_big)
		                : dt_printf(m->arena, "%s%s %s %s%s", a.text, a_big, ops[dt_below(m->r, op_count)], b.text, b_big);
		return both;
	}
	return none;
}

static void add_aggregate(struct dt_select *s, struct making *m, const char *text, enum dt_class class,
                          bool approximate)
{
	if (s->agg_count == DT_MAX_AGGS)
		return;
	uint32_t n = s->agg_count++;
	static const char *const some[] = {"0", "1", "10", "1000", "-5"};
	s->aggs[n] = (struct dt_item){.text = text,
	                              .name = dt_printf(m->arena, "a%u", n),
	                              .class = class,
	                              .approximate = approximate,
	                              .values = dt_alloc(m->arena, DT_MAX_VALUES * sizeof(char *))};
	if (class == DT_INT || class == DT_DECIMAL || class == DT_REAL)
		for (uint32_t i = 0; i < 5; i++)
			s->aggs[n].values[s->aggs[n].value_count++] = some[i];
}

static void add_measure(struct making *m, struct dt_select *s)
{
	uint32_t kind = dt_below(m->r, 10);
	if (kind == 0) {
		add_aggregate(s, m, "count(*)", DT_INT, false);
		return;
	}
	if (kind <= 2) { /* extremes and counts of anything */
		static const char *const names[] = {"min", "max", "count"};
		const struct dt_item *c = &s->source->columns[dt_below(m->r, s->source->column_count)];
		uint32_t which = dt_below(m->r, 3);
		add_aggregate(s, m, dt_printf(m->arena, "%s(%s)", names[which], c->text), which == 2 ? DT_INT : c->class,
		              false);
		if (which != 2) {
			s->aggs[s->agg_count - 1].values = c->values;
			s->aggs[s->agg_count - 1].value_count = c->value_count;
		}
		return;
	}
	struct dt_item a = argument(m, s->source);
	if (!a.text)
		return;
	bool real = a.class == DT_REAL;
	switch (kind) {
	case 3:
		add_aggregate(s, m, dt_printf(m->arena, "avg(%s)", a.text), DT_REAL, real);
		break;
	case 4:
		add_aggregate(s, m, dt_printf(m->arena, "min(%s)", a.text), a.class, false);
		break;
	case 5:
		add_aggregate(s, m, dt_printf(m->arena, "max(%s)", a.text), a.class, false);
		break;
	default:
		add_aggregate(s, m, dt_printf(m->arena, "sum(%s)", a.text), a.class, real);
		break;
	}
}

static void add_key(struct making *m, struct dt_select *s, struct dt_item item)
{
	for (uint32_t i = 0; i < s->key_count; i++)
		if (!strcmp(s->keys[i].text, item.text))
			return;
	if (s->key_count == DT_MAX_KEYS)
		return;
	item.name = dt_printf(m->arena, "k%u", s->key_count);
	s->keys[s->key_count++] = item;
}

static void new_select(struct dt_select *s, const struct dt_source *source)
{
	*s = (struct dt_select){.source = source, .limit = -1, .offset = -1, .aliases = true};
}

static void by_name_source(struct making *m, struct dt_view *v)
{
	struct dt_source *out = &v->by_name;
	*out = (struct dt_source){.tables = v->select.source->tables};
	out->from[0] = v->name;
	for (uint32_t i = 0; i < v->select.key_count + v->select.agg_count; i++) {
		const struct dt_item *item =
			i < v->select.key_count ? &v->select.keys[i] : &v->select.aggs[i - v->select.key_count];
		out->columns[i] = *item;
		out->columns[i].text = dt_printf(m->arena, "{%u}", i);
		out->names[0][i] = item->name;
	}
	out->column_count = v->select.key_count + v->select.agg_count;
}

void dt_view_make(struct dt_arena *arena, struct dt_random *r, const struct dt_source *source, uint32_t number,
                  struct dt_view *out)
{
	struct making made = {arena, r}, *m = &made;
	*out = (struct dt_view){.name = dt_printf(arena, "mv%u", number)};
	struct dt_select *s = &out->select;
	new_select(s, source);
	s->style = dt_below(r, DT_STYLES);
	s->group_style = (enum dt_group_style)dt_below(r, 4);
	uint32_t keys = 1 + dt_below(r, 6), aggs = 1 + dt_below(r, 6);
	for (uint32_t i = 0; i < keys; i++) {
		const struct dt_item *c = &source->columns[dt_below(r, source->column_count)];
		add_key(m, s, dt_chance(r, 80) ? *c : dt_expression_of(arena, r, c));
	}
	for (uint32_t i = 0; i < aggs; i++)
		add_measure(m, s);
	if (!s->agg_count)
		add_aggregate(s, m, "count(*)", DT_INT, false);
	if (dt_chance(r, 30)) {
		out->where_item = &s->keys[dt_below(r, s->key_count)];
		s->where[s->where_count++] = atom(m, dt_predicate(arena, r, out->where_item));
	}
	static const char *const rollups[] = {"rollup = auto", "rollup = on", "rollup = off", ""};
	const char *rollup = rollups[dt_below(r, 4)];
	out->automatic = dt_chance(r, 30);
	out->options = dt_printf(arena, "%s%s%s", rollup, *rollup && out->automatic ? ", " : "",
	                         out->automatic ? "refresh = auto" : "");
	if (dt_chance(r, 20))
		out->options =
			dt_printf(arena, "%s%sorder = 'k%u'", out->options, *out->options ? ", " : "", dt_below(r, s->key_count));
	by_name_source(m, out);
}

char *dt_view_print(const struct dt_view *v)
{
	struct dt_text out = {0};
	char *select = dt_select_print(&v->select, true);
	dt_put(&out, "CREATE OR REPLACE MATERIALIZED VIEW %s ", v->name);
	if (*v->options)
		dt_put(&out, "WITH (%s) ", v->options);
	dt_put(&out, "AS %s", select);
	free(select);
	return out.data;
}

/* ---- queries ---- */

/* What follows from the aggregates of a view, or (loose) might. */
static void add_derived(struct making *m, struct dt_select *s, const struct dt_view *v, bool loose)
{
	const struct dt_item *a = &v->select.aggs[dt_below(m->r, v->select.agg_count)];
	const struct dt_item *b = &v->select.aggs[dt_below(m->r, v->select.agg_count)];
	size_t open = strcspn(a->text, "(");
	bool star = !strcmp(a->text, "count(*)"), sum = !strncmp(a->text, "sum(", 4) || !strncmp(a->text, "avg(", 4);
	const char *argument_text = a->text + open; /* with the parentheses */
	/* The argument's values tell whether its sum is exact; a count always is. */
	bool rounded = a->approximate;
	const struct dt_item *key = &v->select.keys[dt_below(m->r, v->select.key_count)];
	switch (dt_below(m->r, loose ? 15 : 8)) {
	case 0:
		add_aggregate(s, m, "count(*)", DT_INT, false);
		return;
	case 1:
		if (!star) {
			add_aggregate(s, m, dt_printf(m->arena, "count%s", argument_text), DT_INT, false);
			return;
		}
		break;
	case 2:
		if (sum) {
			add_aggregate(s, m, dt_printf(m->arena, "avg%s", argument_text), DT_REAL, rounded);
			return;
		}
		break;
	case 3:
		if (sum) {
			add_aggregate(s, m, dt_printf(m->arena, "sum%s", argument_text), a->class, rounded);
			return;
		}
		break;
	case 4:
		if (sum && !rounded) {
			add_aggregate(s, m, dt_printf(m->arena, "round(sum%s * 1.0 / count(*), 2)", argument_text), DT_REAL, true);
			return;
		}
		break;
	case 5:
		if (a->class == DT_INT && b->class == DT_INT && !strncmp(a->text, "sum(", 4) && !strncmp(b->text, "sum(", 4)) {
			add_aggregate(s, m, dt_printf(m->arena, "%s - %s", a->text, b->text), DT_INT, false);
			return;
		}
		break;
	case 8:
		add_aggregate(
			s, m, dt_printf(m->arena, "count(DISTINCT %s)", v->select.keys[dt_below(m->r, v->select.key_count)].text),
			DT_INT, false);
		return;
	case 9:
		add_aggregate(s, m,
		              dt_printf(m->arena, "%s FILTER (WHERE %s)", a->text,
		                        dt_predicate(m->arena, m->r, &v->select.keys[dt_below(m->r, v->select.key_count)])),
		              a->class, a->approximate);
		return;
	case 10:
		if (sum && (a->class == DT_INT || a->class == DT_DECIMAL) && !strncmp(b->text, "sum(", 4) &&
		    b->class == a->class) {
			static const char *const ops[] = {"+", "-"};
			add_aggregate(s, m,
			              dt_printf(m->arena, "sum(%s %s %s)", argument_text, ops[dt_below(m->r, 2)], b->text + 3),
			              a->class, false);
			return;
		}
		break;
	case 11:
		if (sum && a->class == DT_INT) {
			add_aggregate(
				s, m, dt_printf(m->arena, "sum(%u * %s + %u)", 1 + dt_below(m->r, 4), argument_text, dt_below(m->r, 5)),
				DT_INT, false);
			return;
		}
		break;
	case 12:
		add_aggregate(s, m, dt_printf(m->arena, "count(%s)", key->text), DT_INT, false);
		return;
	case 13:
		add_aggregate(s, m, dt_printf(m->arena, dt_chance(m->r, 50) ? "min(%s)" : "max(%s)", key->text), key->class,
		              false);
		return;
	case 14:
		if (key->class == DT_INT || key->class == DT_DECIMAL) {
			add_aggregate(s, m, dt_printf(m->arena, dt_chance(m->r, 50) ? "sum(%s)" : "avg(%s)", key->text), DT_REAL,
			              false);
			return;
		}
		break;
	default:
		break;
	}
	add_aggregate(s, m, a->text, a->class, a->approximate);
	s->aggs[s->agg_count - 1].values = a->values;
	s->aggs[s->agg_count - 1].value_count = a->value_count;
}

static void add_order(struct making *m, struct dt_select *s)
{
	uint32_t items = s->key_count + s->agg_count, want = 1 + dt_below(m->r, items ? items : 1);
	bool all_keys = dt_chance(m->r, 50);
	for (uint32_t i = 0; i < want && items; i++) {
		uint32_t item = dt_below(m->r, items);
		bool again = item >= s->key_count && s->aggs[item - s->key_count].approximate;
		for (uint32_t k = 0; k < s->order_count; k++)
			again |= s->order[k].item == item;
		if (!again)
			s->order[s->order_count++] = (struct dt_order){item, dt_chance(m->r, 40), (int)dt_below(m->r, 3)};
	}
	for (uint32_t i = 0; i < s->key_count && all_keys; i++) {
		bool again = false;
		for (uint32_t k = 0; k < s->order_count; k++)
			again |= s->order[k].item == i;
		if (!again)
			s->order[s->order_count++] = (struct dt_order){i, dt_chance(m->r, 40), (int)dt_below(m->r, 3)};
	}
	if (dt_chance(m->r, 45)) {
		s->limit = dt_chance(m->r, 4) ? 0 : 1 + dt_below(m->r, 12);
		if (dt_chance(m->r, 30))
			s->offset = dt_below(m->r, 5);
	}
}

static void add_having(struct making *m, struct dt_select *s)
{
	for (uint32_t i = 0; i < s->agg_count && !s->having_count; i++) {
		struct dt_item *a = &s->aggs[i];
		if (a->approximate || !a->value_count || !dt_chance(m->r, 60))
			continue;
		struct dt_item whole = *a;
		whole.text = dt_printf(m->arena, "(%s)", a->text);
		whole.class = DT_CLASSES; /* no function of its class: sums may be huge */
		s->having[s->having_count++] = dt_predicate(m->arena, m->r, &whole);
	}
}

/* ORDER BY, LIMIT, HAVING, what is above. */
static void add_clauses(struct making *m, struct dt_select *s)
{
	s->group_style = (enum dt_group_style)dt_below(m->r, 4);
	s->aggregates_first = dt_chance(m->r, 15);
	s->aliases = dt_chance(m->r, 60);
	if (s->key_count && !s->distinct && dt_chance(m->r, 20))
		add_having(m, s);
	s->how = dt_below(m->r, 48);
	if (dt_chance(m->r, 25))
		s->wrap = (enum dt_wrap)dt_below(m->r, DT_WRAPS);
	else if (dt_chance(m->r, 45))
		add_order(m, s);
}

struct dt_select *dt_query_for_view(struct dt_arena *arena, struct dt_random *r, const struct dt_view *v, bool loose)
{
	struct making made = {arena, r}, *m = &made;
	struct dt_select *s = dt_alloc(arena, sizeof *s);
	new_select(s, v->select.source);
	s->style = dt_below(r, DT_STYLES);
	s->eligible = !loose;
	uint32_t keys = dt_chance(r, 20) ? 0 : 1 + dt_below(r, v->select.key_count < 4 ? v->select.key_count : 4);
	for (uint32_t i = 0; i < keys; i++) {
		const struct dt_item *d = &v->select.keys[dt_below(r, v->select.key_count)];
		add_key(m, s, dt_chance(r, 25) ? dt_expression_of(arena, r, d) : *d);
	}
	s->distinct = s->key_count && dt_chance(r, 12);
	uint32_t aggs = s->distinct ? 0 : dt_below(r, 4) + (s->key_count ? 0 : 1);
	for (uint32_t i = 0; i < aggs; i++)
		add_derived(m, s, v, loose && dt_chance(r, 60));
	for (uint32_t i = 0; i < v->select.where_count; i++) {
		bool own = dt_chance(r, 65); /* else one that may or may not imply it */
		s->where[s->where_count++] = own ? v->select.where[i] : atom(m, dt_predicate(arena, r, v->where_item));
		s->eligible &= own;
	}
	static const uint8_t few[] = {0, 0, 0, 1, 1, 1, 1, 2, 2, 3};
	uint32_t predicates = few[dt_below(r, 10)];
	for (uint32_t i = 0; i < predicates; i++)
		s->where[s->where_count++] = predicate_tree(m, v->select.keys, v->select.key_count, 2);
	if (loose && dt_chance(r, 30))
		s->where[s->where_count++] = predicate_tree(m, s->source->columns, s->source->column_count, 1);
	add_clauses(m, s);
	bool twice = s->wrap == DT_UNION || s->wrap == DT_SCALAR_BESIDE || s->wrap == DT_JOINED || s->wrap == DT_SETOP;
	if (twice && v->select.where_count &&
	    s->where_count == v->select.where_count)
		s->wrap = DT_CTE; /* its second half would leave the view's own condition out */
	return s;
}

struct dt_select *dt_query_by_name(struct dt_arena *arena, struct dt_random *r, const struct dt_view *v)
{
	struct making made = {arena, r}, *m = &made;
	struct dt_select *s = dt_alloc(arena, sizeof *s);
	new_select(s, &v->by_name);
	s->eligible = true;
	s->ungrouped = dt_chance(r, 60);
	if (s->ungrouped) {
		uint32_t all = s->source->column_count;
		for (uint32_t i = 0; i < all && i < DT_MAX_KEYS; i++)
			if (dt_chance(r, 70) || i == 0)
				add_key(m, s, s->source->columns[i]);
	} else {
		for (uint32_t i = 0; i < v->select.key_count; i++)
			if (dt_chance(r, 40))
				add_key(m, s, s->source->columns[i]);
		add_aggregate(s, m, "count(*)", DT_INT, false);
		for (uint32_t i = v->select.key_count; i < s->source->column_count; i++)
			if (!s->source->columns[i].approximate)
				add_aggregate(s, m, dt_printf(arena, "max({%u})", i), s->source->columns[i].class, false);
	}
	if (dt_chance(r, 50))
		s->where[s->where_count++] = predicate_tree(m, s->source->columns, v->select.key_count, 1);
	add_clauses(m, s);
	if (s->ungrouped)
		s->group_style = DT_GROUP_EXPRESSIONS;
	for (uint32_t i = 0; i < s->key_count && s->ungrouped; i++)
		if (s->keys[i].approximate)
			s->order_count = 0, s->limit = s->offset = -1;
	return s;
}

static const char *within_text(struct making *m, const struct dt_source *source);

/* What scans answer and cubes do not. */
static void add_rich(struct making *m, struct dt_select *s)
{
	const struct dt_source *source = s->source;
	const struct dt_item *c = &source->columns[dt_below(m->r, source->column_count)];
	const char *condition = dt_predicate(m->arena, m->r, &source->columns[dt_below(m->r, source->column_count)]);
	struct dt_item a = argument(m, source);
	uint32_t kind = dt_below(m->r, 7);
	bool real = a.text && a.class == DT_REAL;
	const char *inner = kind == 6 && source->all ? within_text(m, source) : NULL;
	if (inner)
		add_aggregate(s, m, dt_printf(m->arena, "count(*) FILTER (WHERE %s)", inner), DT_INT, false);
	else if (kind == 0 || kind == 6)
		add_aggregate(s, m, dt_printf(m->arena, "count(DISTINCT %s)", c->text), DT_INT, false);
	else if (kind == 1)
		add_aggregate(s, m, dt_printf(m->arena, "count(*) FILTER (WHERE %s)", condition), DT_INT, false);
	else if (kind == 2 && a.text)
		add_aggregate(s, m, dt_printf(m->arena, "sum(%s) FILTER (WHERE %s)", a.text, condition), a.class, real);
	else if (kind == 3 && a.text)
		add_aggregate(s, m, dt_printf(m->arena, "sum(CASE WHEN %s THEN %s ELSE 0 END)", condition, a.text), a.class, real);
	else if (kind == 4 && a.text)
		add_aggregate(s, m, dt_printf(m->arena, "avg(coalesce(%s, 1))", a.text), DT_REAL, true);
	else
		add_aggregate(s, m, dt_printf(m->arena, "count(%s)", c->text), DT_INT, false);
}

/* Two columns compared; NULL: none of one class were found. */
static struct dt_pred *across(struct making *m, const struct dt_source *source)
{
	for (unsigned tries = 0; tries < 12; tries++) {
		const struct dt_item *a = &source->columns[dt_below(m->r, source->column_count)];
		const struct dt_item *b = &source->columns[dt_below(m->r, source->column_count)];
		if (a == b || a->class != b->class || a->class >= DT_STRING)
			continue;
		return atom(m, dt_printf(m->arena, dt_chance(m->r, 80) ? "%s %s %s" : "%s %s %s OR %s IS NULL", a->text,
		                         comparison(m), b->text, a->text));
	}
	return NULL;
}

/* A column of the table whose values compare with the item's; NULL: none was found. */
static const struct dt_item *partner_of(struct making *m, const struct dt_table *t, const struct dt_item *item)
{
	for (unsigned tries = 0; tries < 6; tries++) {
		const struct dt_item *c = &t->columns[dt_below(m->r, t->column_count)].item;
		if (c->class == item->class)
			return c;
	}
	return NULL;
}

/* The rows of a subquery: two columns of a table, e_a and *b as e_b, or *b of a dimension that the table is joined with,
 * whose key comes twice at most. */
static const char *subquery_rows(struct making *m, const struct dt_source *source, const struct dt_table *t,
                                 const struct dt_item *a, const struct dt_item **b)
{
	static const char *const joins[] = {"JOIN", "JOIN", "LEFT JOIN", "SEMI JOIN", "ANTI JOIN"};
	const uint32_t other = dt_below(m->r, source->all_count), kind = dt_below(m->r, 5);
	const struct dt_table *d = &source->all[other];
	const struct dt_item *key = other && dt_chance(m->r, 40) ? partner_of(m, t, &d->columns[0].item) : NULL;
	const struct dt_table *of = key && kind < 3 ? d : t;
	*b = &of->columns[dt_below(m->r, of->column_count)].item;
	if (!key)
		return dt_printf(m->arena, "(SELECT %s AS e_a, %s AS e_b FROM %s)", a->text, (*b)->text, t->name);
	return dt_printf(m->arena, "(SELECT x.%s AS e_a, %s.%s AS e_b FROM %s AS x %s %s AS y ON x.%s = y.%s)", a->text,
	                 of == d ? "y" : "x", (*b)->text, t->name, joins[kind], d->name, key->text, d->columns[0].item.text);
}

/* A subquery within the subquery whose column e_b is, which may look at the outermost rows, too; NULL: there is none. */
static const char *subquery_within(struct making *m, const struct dt_source *source, const struct dt_item *b)
{
	const struct dt_table *t = &source->all[dt_below(m->r, source->all_count)];
	const struct dt_item *a = partner_of(m, t, b);
	const struct dt_item *outer = &source->columns[dt_below(m->r, source->column_count)];
	const struct dt_item *other = partner_of(m, t, outer);
	if (!a)
		return NULL;
	return dt_printf(m->arena, "%sEXISTS (SELECT 1 FROM (SELECT %s AS n_a, %s AS n_b FROM %s) AS n WHERE n_a = e_b%s)",
	                 dt_chance(m->r, 40) ? "NOT " : "", a->text, other ? other->text : a->text, t->name,
	                 other && dt_chance(m->r, 60) ? dt_printf(m->arena, " AND n_b %s %s", comparison(m), outer->text) : "");
}

/* FROM and WHERE of a subquery over two columns, e_a and e_b, maybe with a condition and a second correlation. */
static const char *subquery_from(struct making *m, const struct dt_source *source, const struct dt_table *t,
                                 const struct dt_item *a, const char *correlation)
{
	const struct dt_item *b;
	const char *text = dt_printf(m->arena, "FROM %s AS e", subquery_rows(m, source, t, a, &b));
	struct dt_item named = *b;
	named.text = "e_b";
	const char *word = " WHERE ";
	if (correlation) {
		text = dt_printf(m->arena, "%s%s%s", text, word, correlation);
		word = " AND ";
	}
	if (dt_chance(m->r, 45)) {
		text = dt_printf(m->arena, "%s%s%s", text, word, dt_predicate(m->arena, m->r, &named));
		word = " AND ";
	}
	if (correlation && dt_chance(m->r, 15)) {
		const struct dt_item *other = &source->columns[dt_below(m->r, source->column_count)];
		if (other->class == b->class)
			text = dt_printf(m->arena, "%s%s%s %s e_b", text, word, other->text, comparison(m)), word = " AND ";
	}
	const char *within = dt_chance(m->r, 12) ? subquery_within(m, source, b) : NULL;
	return within ? dt_printf(m->arena, "%s%s%s", text, word, within) : text;
}

/* EXISTS, IN and what is like them, over a table of the world; NULL: there is none. */
static const char *within_text(struct making *m, const struct dt_source *source)
{
	const struct dt_item *c = &source->columns[dt_below(m->r, source->column_count)];
	const struct dt_table *t = &source->all[dt_below(m->r, source->all_count)];
	const struct dt_item *a = dt_chance(m->r, 50) ? &t->columns[0].item : partner_of(m, t, c);
	uint32_t kind = dt_below(m->r, 13);
	if (!a || a->class != c->class)
		return NULL;
	const char *equal = dt_printf(m->arena, "%s %s e_a", c->text, dt_chance(m->r, 90) ? "=" : "IS NOT DISTINCT FROM");
	if (kind < 3)
		return dt_printf(m->arena, "%s IN (SELECT e_a %s)", c->text, subquery_from(m, source, t, a, NULL));
	if (kind < 5)
		return dt_printf(m->arena, "%s NOT IN (SELECT e_a %s)", c->text, subquery_from(m, source, t, a, NULL));
	if (kind < 7)
		return dt_printf(m->arena, "EXISTS (SELECT 1 %s)", subquery_from(m, source, t, a, equal));
	if (kind < 9)
		return dt_printf(m->arena, "NOT EXISTS (SELECT 1 %s)", subquery_from(m, source, t, a, equal));
	if (kind < 10)
		return dt_printf(m->arena, "(SELECT max(e_a) %s) %s %s", subquery_from(m, source, t, a, equal), comparison(m),
		                 literal(m, a));
	static const char *const one_row[] = {"min(e_a)", "max(e_a)", "count(*)", "count(e_a)", "avg(e_a)", "sum(e_a)"};
	const bool number = c->class == DT_INT || c->class == DT_DECIMAL;
	return dt_printf(m->arena, "%s %s (SELECT %s %s)", c->text, comparison(m), one_row[dt_below(m->r, number ? 6 : 2)],
	                 subquery_from(m, source, t, a, NULL));
}

static struct dt_pred *within(struct making *m, const struct dt_source *source)
{
	const char *text = source->all ? within_text(m, source) : NULL;
	const struct dt_item *other = &source->columns[dt_below(m->r, source->column_count)];
	if (text && dt_chance(m->r, 20))
		text = dt_printf(m->arena, "(%s OR %s)", text, dt_predicate(m->arena, m->r, other));
	return text ? atom(m, text) : NULL;
}

struct dt_select *dt_query_any(struct dt_arena *arena, struct dt_random *r, const struct dt_source *source, bool rich)
{
	struct making made = {arena, r}, *m = &made;
	struct dt_select *s = dt_alloc(arena, sizeof *s);
	new_select(s, source);
	s->style = dt_below(r, DT_STYLES);
	uint32_t keys = dt_below(r, 3);
	for (uint32_t i = 0; i < keys; i++) {
		const struct dt_item *c = &source->columns[dt_below(r, source->column_count)];
		add_key(m, s, dt_chance(r, 30) ? dt_expression_of(arena, r, c) : *c);
	}
	uint32_t aggs = 1 + dt_below(r, 3);
	for (uint32_t i = 0; i < aggs; i++)
		add_measure(m, s);
	for (uint32_t i = 0; i < 3 && rich; i++)
		if (dt_chance(r, 40))
			add_rich(m, s);
	if (!s->agg_count)
		add_aggregate(s, m, "count(*)", DT_INT, false);
	uint32_t predicates = dt_below(r, 3);
	for (uint32_t i = 0; i < predicates; i++)
		s->where[s->where_count++] = predicate_tree(m, source->columns, source->column_count, 1);
	struct dt_pred *both = rich && dt_chance(r, 25) ? across(m, source) : NULL;
	if (both)
		s->where[s->where_count++] = both;
	struct dt_pred *semi = rich && dt_chance(r, 50) ? within(m, source) : NULL;
	if (semi)
		s->where[s->where_count++] = semi;
	add_clauses(m, s);
	return s;
}

struct dt_select *dt_query_rows(struct dt_arena *arena, struct dt_random *r, const struct dt_source *source)
{
	struct making made = {arena, r}, *m = &made;
	struct dt_select *s = dt_alloc(arena, sizeof *s);
	new_select(s, source);
	s->style = dt_below(r, DT_STYLES);
	s->ungrouped = true;
	uint32_t keys = 1 + dt_below(r, DT_MAX_KEYS < 5 ? DT_MAX_KEYS : 5), predicates = dt_below(r, 3);
	for (uint32_t i = 0; i < keys; i++) {
		const struct dt_item *c = &source->columns[dt_below(r, source->column_count)];
		add_key(m, s, dt_chance(r, 25) ? dt_expression_of(arena, r, c) : *c);
	}
	for (uint32_t i = 0; i < predicates; i++)
		s->where[s->where_count++] = predicate_tree(m, source->columns, source->column_count, 1);
	struct dt_pred *both = dt_chance(r, 20) ? across(m, source) : NULL;
	if (both)
		s->where[s->where_count++] = both;
	add_clauses(m, s);
	if (s->wrap == DT_PLAIN && !s->order_count && dt_chance(r, 40)) {
		s->limit = dt_below(r, 300);
		s->offset = dt_chance(r, 50) ? (int64_t)dt_below(r, 200) : -1;
	}
	s->group_style = DT_GROUP_EXPRESSIONS;
	s->having_count = 0;
	return s;
}

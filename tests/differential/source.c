/* FROM clauses: the same rows written in several ways. */
#include "diff.h"

#include <stdio.h>
#include <string.h>

static void add_column(struct dt_arena *arena, struct dt_source *s, const struct dt_column *c, const char *alias,
                       bool single)
{
	if (s->column_count == DT_MAX_SOURCE_COLUMNS)
		return;
	uint32_t n = s->column_count++;
	s->columns[n] = c->item;
	s->columns[n].text = dt_printf(arena, "{%u}", n);
	s->names[0][n] = single ? c->item.name : dt_printf(arena, "%s.%s", alias, c->item.name);
	s->names[1][n] = single ? dt_printf(arena, "x.%s", c->item.name) : s->names[0][n];
	s->names[2][n] = single ? c->item.name : s->names[0][n];
	s->names[3][n] = dt_printf(arena, "v_%s_%u", alias, n);
}

static void add_view(struct dt_arena *arena, struct dt_source *s, const char *name)
{
	struct dt_text sql = {0};
	dt_put(&sql, "CREATE VIEW %s AS SELECT ", name);
	for (uint32_t i = 0; i < s->column_count; i++)
		dt_put(&sql, "%s%s AS %s", i ? ", " : "", s->names[0][i], s->names[3][i]);
	dt_put(&sql, " FROM %s", s->from[0]);
	s->view = dt_printf(arena, "%s", sql.data);
	s->from[3] = name;
	dt_text_free(&sql);
}

static void add_columns(struct dt_arena *arena, struct dt_source *s, const struct dt_table *t, const char *alias,
                        bool single)
{
	for (uint32_t i = 0; i < t->column_count; i++)
		add_column(arena, s, &t->columns[i], alias, single);
}

void dt_source_single(struct dt_arena *arena, const struct dt_table *t, uint32_t index, struct dt_source *out)
{
	*out = (struct dt_source){.tables = 1u << index, .is_table = true};
	add_columns(arena, out, t, t->name, true);
	out->from[0] = t->name;
	out->from[1] = dt_printf(arena, "%s AS x", t->name);
	out->from[2] = dt_printf(arena, "(SELECT * FROM %s) AS y", t->name);
	add_view(arena, out, dt_printf(arena, "view_%s", t->name));
}

void dt_source_star(struct dt_arena *arena, const struct dt_table *tables, const uint32_t *dims, const uint32_t *keys,
                    uint32_t count, uint32_t number, struct dt_source *out)
{
	struct dt_text join = {0}, comma = {0}, reversed = {0}, where = {0};
	*out = (struct dt_source){.tables = 1};
	add_columns(arena, out, &tables[0], "f", false);
	dt_put(&join, "%s AS f", tables[0].name);
	for (uint32_t j = 0; j < count; j++) {
		const struct dt_table *d = &tables[dims[j]];
		char alias[16];
		snprintf(alias, sizeof alias, "d%u", j);
		out->tables |= 1u << dims[j];
		add_columns(arena, out, d, alias, false);
		dt_put(&join, " JOIN %s AS %s ON f.fk%u = %s.id", d->name, alias, keys[j], alias);
		dt_put(&comma, "%s AS %s, ", d->name, alias);
		dt_put(&where, "%s%s.id = f.fk%u", j ? " AND " : "", alias, keys[j]);
		dt_put(&reversed, "%s%s AS %s", j ? " CROSS JOIN " : "", d->name, alias);
	}
	out->from[0] = dt_printf(arena, "%s", join.data);
	out->from[1] = dt_printf(arena, "%s%s AS f", comma.data, tables[0].name);
	out->joins[1] = dt_printf(arena, "%s", where.data);
	out->from[2] = dt_printf(arena, "%s JOIN %s AS f ON %s", reversed.data, tables[0].name, where.data);
	add_view(arena, out, dt_printf(arena, "view_star%u", number));
	dt_text_free(&join);
	dt_text_free(&comma);
	dt_text_free(&reversed);
	dt_text_free(&where);
}

/* A condition over one of the columns of a table, by its alias. */
static const char *condition_on(struct dt_arena *arena, struct dt_random *r, const struct dt_table *t,
                                const char *alias)
{
	struct dt_item item = t->columns[dt_below(r, t->column_count)].item;
	item.text = dt_printf(arena, "%s.%s", alias, item.text);
	return dt_predicate(arena, r, &item);
}

/* The left side of a dimension's key: the fact table's, or an integer of a dimension before. */
static const char *outer_key(struct dt_arena *arena, struct dt_random *r, const struct dt_table *before, uint32_t j,
                             uint32_t key)
{
	for (uint32_t tries = 0; before && tries < 4 && dt_chance(r, 40); tries++) {
		const struct dt_column *c = &before->columns[dt_below(r, before->column_count)];
		if (c->item.class == DT_INT)
			return dt_printf(arena, "d%u.%s", j - 1, c->item.text);
	}
	return dt_printf(arena, "f.fk%u", key);
}

/* A comparison of a column of each table; NULL: none of one class were found. */
static const char *condition_across(struct dt_arena *arena, struct dt_random *r, const struct dt_table *f,
                                    const struct dt_table *d, const char *alias)
{
	static const char *const ops[] = {"<>", "<>", "<", "<=", ">", ">=", "="};
	for (uint32_t tries = 0; tries < 8; tries++) {
		const struct dt_item *a = &f->columns[dt_below(r, f->column_count)].item;
		const struct dt_item *b = &d->columns[dt_below(r, d->column_count)].item;
		if (a->class == b->class)
			return dt_printf(arena, "f.%s %s %s.%s", a->text, ops[dt_below(r, 7)], alias, b->text);
	}
	return NULL;
}

/* The column that a dimension is joined by: its key, or one that comes again, where that does not give too many rows. */
static const char *inner_key(struct dt_random *r, const struct dt_table *f, const struct dt_table *d, bool exists)
{
	bool many = exists ? dt_chance(r, 50) : (uint64_t)f->rows * d->rows < 100000 && dt_chance(r, 20);
	for (uint32_t tries = 0; many && tries < 4; tries++) {
		const struct dt_column *c = &d->columns[dt_below(r, d->column_count)];
		if (c->item.class == DT_INT)
			return c->item.text;
	}
	return "id";
}

/* An equality of two numbers of any types, where that does not give too many rows; else `on`. */
static const char *computed_key(struct dt_arena *arena, struct dt_random *r, const struct dt_table *f, const struct dt_table *d,
                                const char *alias, const char *on)
{
	for (uint32_t tries = 0; tries < 8 && (uint64_t)f->rows * d->rows < 100000; tries++) {
		const struct dt_item *a = &f->columns[dt_below(r, f->column_count)].item;
		const struct dt_item *b = &d->columns[dt_below(r, d->column_count)].item;
		if (a->class <= DT_REAL && b->class <= DT_REAL && (a->class != DT_INT || b->class != DT_INT))
			return dt_printf(arena, "f.%s = %s.%s", a->text, alias, b->text);
	}
	return on;
}

static bool is_ordered(enum dt_class class)
{
	return class <= DT_REAL || (class >= DT_DATE && class <= DT_TIME);
}

/* A column of the class; NULL: none was found. */
static const struct dt_column *column_of(struct dt_random *r, const struct dt_table *t, enum dt_class class)
{
	for (uint32_t tries = 0; tries < 8; tries++) {
		const struct dt_column *c = &t->columns[dt_below(r, t->column_count)];
		if (c->item.class == class)
			return c;
	}
	return NULL;
}

/* A value of one table between two of the other, where that does not give too many rows; else `on`. */
static const char *range_on(struct dt_arena *arena, struct dt_random *r, const struct dt_table *f, const struct dt_table *d,
                            const char *alias, const char *on)
{
	const struct dt_table *sides[2] = {f, d};
	const char *names[2] = {"f", alias};
	unsigned point = dt_below(r, 2);
	const struct dt_item *a = &sides[point]->columns[dt_below(r, sides[point]->column_count)].item;
	const struct dt_column *low = column_of(r, sides[!point], a->class), *high = column_of(r, sides[!point], a->class);
	if ((uint64_t)f->rows * d->rows > 50000 || !is_ordered(a->class) || !low || !high)
		return on;
	const char *range = dt_chance(r, 40)
	                        ? dt_printf(arena, "%s.%s BETWEEN %s.%s AND %s.%s", names[point], a->text, names[!point],
	                                    low->item.text, names[!point], high->item.text)
	                        : dt_printf(arena, "%s.%s %s %s.%s AND %s.%s %s %s.%s", names[!point], low->item.text,
	                                    dt_chance(r, 50) ? "<" : "<=", names[point], a->text, names[point], a->text,
	                                    dt_chance(r, 50) ? "<" : "<=", names[!point], high->item.text);
	return dt_chance(r, 30) ? dt_printf(arena, "%s AND %s", on, range) : range;
}

/* " ASOF JOIN ..." of a dimension that has one row of each time: which of several is taken is open. NULL: it has no time. */
static const char *asof_join(struct dt_arena *arena, struct dt_random *r, const struct dt_table *f, const struct dt_table *d,
                             const char *alias)
{
	static const char *const ops[] = {"<", "<=", ">", ">="};
	const struct dt_item *a = &f->columns[dt_below(r, f->column_count)].item;
	const struct dt_column *time = column_of(r, d, a->class), *key = column_of(r, d, DT_INT);
	const struct dt_column *own = column_of(r, f, DT_INT);
	struct dt_text rows = {0};
	if (!is_ordered(a->class) || !time)
		return NULL;
	dt_put(&rows, "(SELECT %s", time->item.text);
	for (uint32_t c = 0; c < d->column_count; c++)
		if (&d->columns[c] != time)
			dt_put(&rows, ", min(%s) AS %s", d->columns[c].item.text, d->columns[c].item.text);
	const char *equal = key && own && dt_chance(r, 40)
	                        ? dt_printf(arena, "f.%s = %s.%s AND ", own->item.text, alias, key->item.text)
	                        : "";
	const char *join = dt_printf(arena, " ASOF %sJOIN %s FROM %s GROUP BY %s) AS %s ON %sf.%s %s %s.%s",
	                             dt_chance(r, 50) ? "LEFT " : "", rows.data, d->name, time->item.text, alias, equal, a->text,
	                             ops[dt_below(r, 4)], alias, time->item.text);
	dt_text_free(&rows);
	return join;
}

void dt_source_outer(struct dt_arena *arena, struct dt_random *r, const struct dt_table *tables, const uint32_t *dims,
                     const uint32_t *keys, uint32_t count, uint32_t number, struct dt_source *out)
{
	struct dt_text join = {0}, filtered = {0}, first = {0}, *texts[] = {&join, &filtered, &first};
	bool seen = false; /* the dimension before */
	*out = (struct dt_source){.tables = 1, .outer = true};
	add_columns(arena, out, &tables[0], "f", false);
	dt_put(&join, "%s AS f", tables[0].name);
	dt_put(&filtered, "(SELECT * FROM %s) AS f", tables[0].name);
	for (uint32_t j = 0; j < count; j++) {
		const struct dt_table *d = &tables[dims[j]];
		char alias[16];
		snprintf(alias, sizeof alias, "d%u", j);
		out->tables |= 1u << dims[j];
		bool exists = dt_chance(r, 20); /* of its columns none is seen above */
		if (!exists)
			add_columns(arena, out, d, alias, false);
		const char *kind = exists               ? dt_chance(r, 50) ? "SEMI JOIN" : "ANTI JOIN"
		                   : j + 1 == count && dt_chance(r, 20) ? "FULL JOIN"
		                   : dt_chance(r, 75)                   ? "LEFT JOIN"
		                                                        : "JOIN";
		const char *key = outer_key(arena, r, seen ? &tables[dims[j - 1]] : NULL, j, keys[j]);
		const char *on = dt_printf(arena, "%s %s %s.%s", key, dt_chance(r, 90) ? "=" : "IS NOT DISTINCT FROM", alias,
		                           inner_key(r, &tables[0], d, exists));
		if (dt_chance(r, 15))
			on = computed_key(arena, r, &tables[0], d, alias, on);
		if (dt_chance(r, 20))
			on = range_on(arena, r, &tables[0], d, alias, on);
		const char *asof = !exists && dt_chance(r, 30) ? asof_join(arena, r, &tables[0], d, alias) : NULL;
		seen = !exists;
		for (uint32_t more = dt_chance(r, 40) ? 1 + dt_below(r, 2) : 0; more; more--) {
			const char *across = condition_across(arena, r, &tables[0], d, alias);
			on = across ? dt_printf(arena, "%s AND %s", on, across) : on;
		}
		if (dt_chance(r, 25))
			on = dt_printf(arena, "%s AND %s", on, condition_on(arena, r, d, alias));
		if (dt_chance(r, 15))
			on = dt_printf(arena, "%s AND %s", on, condition_on(arena, r, &tables[0], "f"));
		if (asof) {
			dt_put(&join, "%s", asof);
			dt_put(&filtered, "%s", asof);
			dt_put(&first, "%s%s%s", j ? "" : tables[0].name, j ? "" : " AS f", asof);
			continue;
		}
		dt_put(&join, " %s %s AS %s ON %s", kind, d->name, alias, on);
		dt_put(&filtered, " %s (SELECT * FROM %s WHERE id > %u) AS %s ON %s", kind, d->name, dt_below(r, 3), alias, on);
		if (j == 0 && exists)
			dt_put(&first, "%s AS f %s %s AS %s ON %s", tables[0].name, kind, d->name, alias, on);
		else if (j == 0)
			dt_put(&first, "%s AS %s %s %s AS f ON %s", d->name, alias,
			       strcmp(kind, "FULL JOIN") == 0 ? kind : "RIGHT JOIN", tables[0].name, on);
		else
			dt_put(&first, " %s %s AS %s ON %s", kind, d->name, alias, on);
	}
	for (uint32_t i = 0; i < 3; i++) {
		out->from[i] = dt_printf(arena, "%s", texts[i]->data);
		dt_text_free(texts[i]);
	}
	add_view(arena, out, dt_printf(arena, "view_outer%u", number));
}

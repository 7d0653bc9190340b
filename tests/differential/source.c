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

void dt_source_single(struct dt_arena *arena, const struct dt_table *t, uint32_t index, struct dt_source *out)
{
	*out = (struct dt_source){.tables = 1u << index, .is_table = true};
	for (uint32_t i = 0; i < t->column_count; i++)
		add_column(arena, out, &t->columns[i], t->name, true);
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
	for (uint32_t i = 0; i < tables[0].column_count; i++)
		add_column(arena, out, &tables[0].columns[i], "f", false);
	dt_put(&join, "%s AS f", tables[0].name);
	for (uint32_t j = 0; j < count; j++) {
		const struct dt_table *d = &tables[dims[j]];
		char alias[16];
		snprintf(alias, sizeof alias, "d%u", j);
		out->tables |= 1u << dims[j];
		for (uint32_t i = 0; i < d->column_count; i++)
			add_column(arena, out, &d->columns[i], alias, false);
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

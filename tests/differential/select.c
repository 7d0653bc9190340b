/* Printing a SELECT without the parts that the reducer has dropped. */
#include "diff.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static bool dropped(uint32_t mask, uint32_t i)
{
	return mask >> i & 1;
}

/* Items: keys first, then aggregates. */
static bool item_visible(const struct dt_select *s, uint32_t item)
{
	return item < s->key_count ? !dropped(s->dropped_keys, item) : !dropped(s->dropped_aggs, item - s->key_count);
}

static const struct dt_item *item_at(const struct dt_select *s, uint32_t item)
{
	return item < s->key_count ? &s->keys[item] : &s->aggs[item - s->key_count];
}

/* Items in the order of the select list; their number. */
static uint32_t visible_items(const struct dt_select *s, uint32_t *items)
{
	uint32_t n = 0, all = s->key_count + s->agg_count, first = s->aggregates_first ? s->key_count : 0;
	for (uint32_t i = first; i < all; i++)
		if (item_visible(s, i))
			items[n++] = i;
	for (uint32_t i = 0; i < first; i++)
		if (item_visible(s, i))
			items[n++] = i;
	return n;
}

static uint32_t position_of(const struct dt_select *s, uint32_t item)
{
	uint32_t items[DT_MAX_KEYS + DT_MAX_AGGS], n = visible_items(s, items);
	for (uint32_t i = 0; i < n; i++)
		if (items[i] == item)
			return i;
	return UINT32_MAX;
}

/* {12} becomes the name of column 12. */
static void put_template(struct dt_text *out, const struct dt_select *s, const char *text)
{
	while (*text) {
		size_t plain = strcspn(text, "{");
		dt_put_bytes(out, text, plain);
		text += plain;
		if (*text == '{') {
			char *end;
			unsigned long n = strtoul(text + 1, &end, 10);
			dt_put(out, "%s", s->source->names[s->style][n]);
			text = end + 1;
		}
	}
}

static void put_predicate(struct dt_text *out, const struct dt_select *s, const struct dt_pred *p)
{
	switch (p->kind) {
	case DT_ATOM:
		put_template(out, s, p->text);
		break;
	case DT_NOT:
		dt_put(out, "NOT (");
		put_predicate(out, s, p->a);
		dt_put(out, ")");
		break;
	case DT_AND:
	case DT_OR:
		dt_put(out, "(");
		put_predicate(out, s, p->a);
		dt_put(out, p->kind == DT_AND ? " AND " : " OR ");
		put_predicate(out, s, p->b);
		dt_put(out, ")");
		break;
	}
}

static bool named(const struct dt_select *s)
{
	return s->aliases || s->wrap != DT_PLAIN || s->group_style == DT_GROUP_ALIASES;
}

static void put_where(struct dt_text *out, const struct dt_select *s, bool weaker)
{
	const char *word = " WHERE ";
	if (s->source->joins[s->style]) {
		dt_put(out, "%s%s", word, s->source->joins[s->style]);
		word = " AND ";
	}
	bool skipped = false;
	for (uint32_t i = s->where_count; i-- > 0;) {
		if (dropped(s->dropped_where, i))
			continue;
		if (weaker && !skipped) {
			skipped = true;
			continue;
		}
		dt_put(out, "%s", word);
		put_predicate(out, s, s->where[i]);
		word = " AND ";
	}
}

static void put_group(struct dt_text *out, const struct dt_select *s)
{
	const char *word = " GROUP BY ";
	if (s->distinct || s->ungrouped)
		return;
	for (uint32_t i = 0; i < s->key_count; i++) {
		if (dropped(s->dropped_keys, i))
			continue;
		dt_put(out, "%s", word);
		if (s->group_style == DT_GROUP_ALL) {
			dt_put(out, "ALL");
			return;
		}
		if (s->group_style == DT_GROUP_NUMBERS)
			dt_put(out, "%u", position_of(s, i) + 1);
		else if (s->group_style == DT_GROUP_ALIASES)
			dt_put(out, "%s", s->keys[i].name);
		else
			put_template(out, s, s->keys[i].text);
		word = ", ";
	}
	word = " HAVING ";
	for (uint32_t i = 0; i < s->having_count; i++) {
		if (dropped(s->dropped_having, i))
			continue;
		dt_put(out, "%s", word);
		put_template(out, s, s->having[i]);
		word = " AND ";
	}
}

static void put_order(struct dt_text *out, const struct dt_select *s)
{
	const char *word = " ORDER BY ";
	for (uint32_t i = 0; i < s->order_count; i++) {
		const struct dt_order *o = &s->order[i];
		if (dropped(s->dropped_order, i) || !item_visible(s, o->item))
			continue;
		if (named(s))
			dt_put(out, "%s%s", word, item_at(s, o->item)->name);
		else
			dt_put(out, "%s%u", word, position_of(s, o->item) + 1);
		dt_put(out, "%s%s", o->descending ? " DESC" : "",
		       o->nulls == 1   ? " NULLS FIRST"
		       : o->nulls == 2 ? " NULLS LAST"
		                       : "");
		word = ", ";
	}
}

static void put_inner(struct dt_text *out, const struct dt_select *s, bool limited, bool weaker)
{
	uint32_t items[DT_MAX_KEYS + DT_MAX_AGGS], n = visible_items(s, items);
	dt_put(out, "SELECT %s", s->distinct ? "DISTINCT " : "");
	for (uint32_t i = 0; i < n; i++) {
		dt_put(out, "%s", i ? ", " : "");
		put_template(out, s, item_at(s, items[i])->text);
		if (named(s))
			dt_put(out, " AS %s", item_at(s, items[i])->name);
	}
	dt_put(out, "%s FROM %s", n ? "" : "42", s->source->from[s->style]);
	put_where(out, s, weaker);
	put_group(out, s);
	if (s->wrap != DT_PLAIN)
		return;
	put_order(out, s);
	if (limited && s->limit >= 0)
		dt_put(out, " LIMIT %lld", (long long)s->limit);
	if (limited && s->offset >= 0)
		dt_put(out, " OFFSET %lld", (long long)s->offset);
}

/* The first column that is exact, of the select list. */
static const char *exact_name(const struct dt_select *s)
{
	uint32_t items[DT_MAX_KEYS + DT_MAX_AGGS], n = visible_items(s, items);
	for (uint32_t i = 0; i < n; i++)
		if (!item_at(s, items[i])->approximate)
			return item_at(s, items[i])->name;
	return NULL;
}

static bool any_approximate(const struct dt_select *s)
{
	uint32_t items[DT_MAX_KEYS + DT_MAX_AGGS], n = visible_items(s, items);
	for (uint32_t i = 0; i < n; i++)
		if (item_at(s, items[i])->approximate)
			return true;
	return false;
}

/* Rows themselves may have any number of partners; groups have one. */
static bool joins_once(const struct dt_select *s)
{
	bool key = false;
	for (uint32_t i = 0; i < s->key_count; i++)
		key |= item_visible(s, i) && !s->keys[i].approximate;
	return !s->ungrouped && (key || s->key_count == 0);
}

static enum dt_wrap wrap_of(const struct dt_select *s)
{
	if (s->wrap == DT_JOINED && !joins_once(s))
		return DT_CTE;
	if (s->wrap == DT_LIMIT_ABOVE || s->wrap == DT_FIRST_ABOVE)
		return any_approximate(s) ? DT_CTE : s->wrap;
	if (s->wrap != DT_PLAIN && s->wrap != DT_CTE && s->wrap != DT_UNION && !exact_name(s))
		return DT_CTE;
	return s->wrap;
}

static void put_extremes(struct dt_text *out, const struct dt_select *s)
{
	uint32_t items[DT_MAX_KEYS + DT_MAX_AGGS], n = visible_items(s, items);
	for (uint32_t i = 0; i < n; i++)
		if (!item_at(s, items[i])->approximate)
			dt_put(out, ", max(%s), min(%s)", item_at(s, items[i])->name, item_at(s, items[i])->name);
}

static const char *join_of(const struct dt_select *s)
{
	static const char *const joins[] = {"JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "SEMI JOIN", "ANTI JOIN"};
	return joins[s->how % 6];
}

static bool filters(const struct dt_select *s)
{
	return wrap_of(s) == DT_JOINED && s->how % 6 >= 4;
}

/* ON for the groups of one inner query and another's: all exact keys, or what exact value there is. */
static void put_condition(struct dt_text *out, const struct dt_select *s)
{
	const char *word = " ON ", *equal = s->how / 6 % 3 ? "=" : "IS NOT DISTINCT FROM";
	for (uint32_t i = 0; i < s->key_count; i++) {
		if (!item_visible(s, i) || s->keys[i].approximate)
			continue;
		dt_put(out, "%sq.%s %s z.%s", word, s->keys[i].name, equal, s->keys[i].name);
		word = " AND ";
	}
	if (s->key_count == 0)
		dt_put(out, "%sq.%s %s z.%s", word, exact_name(s), equal, exact_name(s));
}

/* The exact columns of the inner query. */
static void put_exact(struct dt_text *out, const struct dt_select *s, bool weaker)
{
	uint32_t items[DT_MAX_KEYS + DT_MAX_AGGS], n = visible_items(s, items);
	const char *word = "SELECT ";
	for (uint32_t i = 0; i < n; i++) {
		if (item_at(s, items[i])->approximate)
			continue;
		dt_put(out, "%s%s", word, item_at(s, items[i])->name);
		word = ", ";
	}
	dt_put(out, " FROM (");
	put_inner(out, s, false, weaker);
	dt_put(out, ") AS q");
}

static void put_setop(struct dt_text *out, const struct dt_select *s)
{
	static const char *const words[] = {"UNION", "UNION ALL", "EXCEPT", "INTERSECT", "EXCEPT ALL", "INTERSECT ALL"};
	put_exact(out, s, s->how & 8);
	dt_put(out, " %s ", words[s->how % 6]);
	put_exact(out, s, !(s->how & 8));
}

/* The first row of each value of one or two columns: the columns of the select list that say which it is, the values'
 * first. Without a third kind DuckDB may choose any, of all that are equal in them, too. Their number. */
static uint32_t first_columns(const struct dt_select *s, uint32_t *columns, uint32_t *keys)
{
	uint32_t items[DT_MAX_KEYS + DT_MAX_AGGS], n = visible_items(s, items);
	*keys = 1 + (n > 2 && s->how % 3 == 0);
	uint32_t count = *keys + s->how / 12;
	count = count < n ? count : n;
	for (uint32_t i = 0; i < count; i++)
		columns[i] = (i + s->how) % n;
	return count;
}

static const char *name_at(const struct dt_select *s, uint32_t column)
{
	uint32_t items[DT_MAX_KEYS + DT_MAX_AGGS];
	visible_items(s, items);
	return item_at(s, items[column])->name;
}

static void put_firsts(struct dt_text *out, const struct dt_select *s)
{
	uint32_t columns[DT_MAX_KEYS + DT_MAX_AGGS], keys;
	first_columns(s, columns, &keys);
	dt_put(out, "SELECT DISTINCT ON (%s", name_at(s, columns[0]));
	if (keys > 1)
		dt_put(out, ", %s", name_at(s, columns[1]));
	dt_put(out, ") * FROM (");
}

static void put_first_order(struct dt_text *out, const struct dt_select *s)
{
	static const char *const nulls[] = {"", " NULLS FIRST", " NULLS LAST"};
	uint32_t columns[DT_MAX_KEYS + DT_MAX_AGGS], keys, n = first_columns(s, columns, &keys);
	for (uint32_t i = 0; i < n; i++)
		dt_put(out, "%s%s%s%s", i ? ", " : " ORDER BY ", name_at(s, columns[i]), (s->how + i) % 2 ? " DESC" : "",
		       nulls[(s->how / 2 + i) % 3]);
}

char *dt_select_print(const struct dt_select *s, bool limited)
{
	struct dt_text out = {0};
	const char *exact = exact_name(s);
	enum dt_wrap wrap = wrap_of(s);
	switch (wrap) {
	case DT_CTE:
		dt_put(&out, "WITH q AS (");
		break;
	case DT_FIRST_ABOVE:
		if (limited)
			put_firsts(&out, s);
		else
			dt_put(&out, "SELECT * FROM (");
		break;
	case DT_FILTER_ABOVE:
	case DT_LIMIT_ABOVE:
		dt_put(&out, "SELECT * FROM (");
		break;
	case DT_AGGREGATE_ABOVE:
		dt_put(&out, "SELECT count(*)");
		put_extremes(&out, s);
		dt_put(&out, " FROM (");
		break;
	case DT_GROUP_ABOVE:
		dt_put(&out, "SELECT %s, count(*)", exact);
		put_extremes(&out, s);
		dt_put(&out, " FROM (");
		break;
	case DT_WINDOW:
		dt_put(&out, "SELECT *, rank() OVER (ORDER BY %s) AS r, count(*) OVER () AS n FROM (", exact);
		break;
	case DT_SCALAR_BESIDE:
		dt_put(&out, "SELECT *, (SELECT max(%s) FROM (", exact);
		put_inner(&out, s, limited, true);
		dt_put(&out, ") AS z) AS m FROM (");
		break;
	case DT_DISTINCT_ABOVE:
		dt_put(&out, "SELECT DISTINCT %s FROM (", exact);
		break;
	case DT_JOINED:
		dt_put(&out, filters(s) ? "SELECT q.* FROM (" : "SELECT q.*, z.* FROM (");
		break;
	case DT_SETOP:
		put_setop(&out, s);
		return out.data;
	case DT_PLAIN:
	case DT_UNION:
	case DT_WRAPS:
		break;
	}
	put_inner(&out, s, limited, false);
	if (wrap == DT_JOINED) {
		dt_put(&out, ") AS q %s (", join_of(s));
		put_inner(&out, s, limited, true);
		dt_put(&out, ") AS z");
		put_condition(&out, s);
	} else if (wrap == DT_UNION) {
		dt_put(&out, " UNION ALL ");
		put_inner(&out, s, limited, true);
	} else if (wrap == DT_CTE) {
		dt_put(&out, ") SELECT * FROM q");
	} else if (wrap != DT_PLAIN) {
		dt_put(&out, ") AS q");
	}
	if (wrap == DT_FILTER_ABOVE)
		dt_put(&out, " WHERE %s IS NOT NULL", exact);
	else if (wrap == DT_GROUP_ABOVE)
		dt_put(&out, " GROUP BY %s", exact);
	else if (wrap == DT_FIRST_ABOVE && limited)
		put_first_order(&out, s);
	else if (wrap == DT_LIMIT_ABOVE)
		dt_put(&out, " ORDER BY ALL%s", limited ? " LIMIT 7" : "");
	return out.data;
}

bool dt_select_approximate(const struct dt_select *s, uint32_t column)
{
	uint32_t items[DT_MAX_KEYS + DT_MAX_AGGS], n = visible_items(s, items);
	enum dt_wrap wrap = wrap_of(s);
	if (wrap == DT_AGGREGATE_ABOVE || wrap == DT_GROUP_ABOVE || wrap == DT_DISTINCT_ABOVE || wrap == DT_SETOP)
		return false;
	if (wrap == DT_JOINED && n) /* the columns of both sides */
		column %= n;
	return column < n && item_at(s, items[column])->approximate;
}

uint32_t dt_select_order(const struct dt_select *s, uint32_t *columns)
{
	uint32_t items[DT_MAX_KEYS + DT_MAX_AGGS], n = 0;
	if (wrap_of(s) == DT_FIRST_ABOVE) {
		uint32_t keys;
		n = first_columns(s, columns, &keys);
	} else if (wrap_of(s) == DT_LIMIT_ABOVE) {
		uint32_t all = visible_items(s, items);
		for (; n < all; n++)
			columns[n] = n;
	} else if (wrap_of(s) == DT_PLAIN) {
		for (uint32_t i = 0; i < s->order_count; i++)
			if (!dropped(s->dropped_order, i) && item_visible(s, s->order[i].item))
				columns[n++] = position_of(s, s->order[i].item);
	}
	return n;
}

bool dt_select_limited(const struct dt_select *s)
{
	return wrap_of(s) == DT_LIMIT_ABOVE || wrap_of(s) == DT_FIRST_ABOVE ||
	       (wrap_of(s) == DT_PLAIN && (s->limit >= 0 || s->offset >= 0));
}

/* Prepared statements that ask for one key. */
#include "column/text/text.h"
#include "exec/query/point.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void rql_point_clear(struct rql_point *point)
{
	free(point->text);
	rql_columns_release(point->columns);
	*point = (struct rql_point){0};
}

/* Can any column of the type be asked for it? Dates and times that are infinite, NaN and texts that are none are left to
 * whoever binds them. */
static bool can_be_sought(const struct rql_value *value)
{
	const enum rql_type_id id = value->type.id;
	const rql_int128 least = id == RQL_TYPE_DATE ? INT32_MIN : INT64_MIN;
	const rql_int128 greatest = id == RQL_TYPE_DATE ? INT32_MAX : INT64_MAX;
	if (value->is_null)
		return false;
	if (rql_type_is_real(value->type))
		return !isnan(value->real);
	if (id == RQL_TYPE_VARCHAR)
		return rql_text_is_utf8(value->string.data, value->string.length);
	if (id == RQL_TYPE_BLOB)
		return true;
	if (!rql_type_is_integral(value->type) || value->integer < least || value->integer > greatest)
		return false;
	const bool number = rql_type_is_integer(value->type) || id == RQL_TYPE_DECIMAL;
	return number || (value->integer > least + 1 && value->integer < greatest);
}

/* The plan's literal that lies within the value's text, and so is the value's; 0: there is none. */
static uint32_t literal_at(const struct rql_literals *literals, const struct rql_points *points,
                           const struct rql_point_place *place, const struct rql_value *value)
{
	for (uint32_t i = 0; i < points->count; i++) {
		const uint32_t literal = points->of[i].literal;
		if (literal && literal <= literals->count && literals->items[literal - 1].start >= place->start &&
		    literals->items[literal - 1].start < place->end)
			return rql_type_equal(points->of[i].type, value->type) ? literal : 0;
	}
	return 0;
}

/* false: some value is none of a point. */
static bool find_literals(struct rql_point *point, const char *text, const struct rql_points *points,
                          const struct rql_point_place *places, const struct rql_value *values, uint32_t count)
{
	struct rql_literals literals;
	struct rql_arena *arena = rql_arena_new();
	bool all = arena && rql_literals_read(arena, text, &literals);
	for (uint32_t i = 0; i < count && all; i++) {
		point->literals[i] = literal_at(&literals, points, &places[i], &values[i]);
		all = point->literals[i] && can_be_sought(&values[i]);
	}
	rql_arena_free(arena);
	return all;
}

void rql_point_learn(struct rql_point *point, struct rql_session *s, const char *text,
                     const struct rql_point_place *places, const struct rql_value *values, uint64_t count,
                     struct rql_columns *columns)
{
	const struct rql_cache_entry *e = s->txn.open ? NULL : rql_plan_cache_find(s->cache, s, text);
	struct rql_point found = {0};
	if (count < 1 || count > RQL_POINTS_MOST || !e || !e->method || e->plan->points.count < count ||
	    !find_literals(&found, text, &e->plan->points, places, values, (uint32_t)count))
		return;
	found.text = strdup(text); /* without memory it is planned again */
	found.count = (uint32_t)count;
	found.columns = rql_columns_retain(columns);
	found.schema_epoch = e->schema_epoch;
	found.session_epoch = e->session_epoch;
	rql_point_clear(point);
	*point = found;
}

rql_status rql_point_run(const struct rql_point *point, const struct rql_call *call, const struct rql_value *values,
                         bool *done, struct rql_error *err)
{
	const struct rql_session *s = call->s;
	struct rql_call with_values = *call;
	struct rql_point_values given = {.count = point->count};
	char *why = NULL;
	*done = false;
	if (!point->text || point->schema_epoch != rql_catalog_schema_epoch(s->db->catalog) ||
	    point->session_epoch != s->epoch)
		return RQL_OK;
	for (uint32_t i = 0; i < point->count; i++) {
		if (!can_be_sought(&values[i]))
			return RQL_OK;
		given.of[i].literal = point->literals[i];
		given.of[i].value = &values[i];
	}
	with_values.sql = point->text;
	with_values.points = &given;
	with_values.names = point->columns;
	rql_status status = rql_select_cached(&with_values, done, &why, err);
	free(why); /* it is planned for these values then, and that run says what is wrong */
	return status;
}

/* Prepared statements that ask for one key. */
#include "exec/point.h"

#include <stdlib.h>
#include <string.h>

void rql_point_clear(struct rql_point *point)
{
	free(point->text);
	rql_columns_release(point->columns);
	*point = (struct rql_point){0};
}

/* The value as a column stores it. Dates and times that are infinite are left to whoever binds them. */
static bool stored_value(const struct rql_value *value, int64_t *out)
{
	const rql_int128 least = value->type.id == RQL_TYPE_DATE ? INT32_MIN : INT64_MIN;
	const rql_int128 greatest = value->type.id == RQL_TYPE_DATE ? INT32_MAX : INT64_MAX;
	const bool number = rql_type_is_integer(value->type) || value->type.id == RQL_TYPE_DECIMAL;
	if (value->is_null || value->integer < least || value->integer > greatest)
		return false;
	*out = (int64_t)value->integer;
	return number || (value->integer > least + 1 && value->integer < greatest);
}

/* The plan's literal lies within the value's text, so it is the value's. */
static bool is_the_value(const char *text, uint32_t literal, uint32_t start, uint32_t end)
{
	struct rql_literals literals;
	struct rql_arena *arena = rql_arena_new();
	bool is = arena && rql_literals_read(arena, text, &literals) && literal <= literals.count &&
	          literals.items[literal - 1].start >= start && literals.items[literal - 1].start < end;
	rql_arena_free(arena);
	return is;
}

void rql_point_learn(struct rql_point *point, struct rql_session *s, const char *text, uint32_t start, uint32_t end,
                     const struct rql_value *value, struct rql_columns *columns)
{
	int64_t stored;
	const struct rql_cache_entry *e = s->txn.open ? NULL : rql_plan_cache_find(s->cache, s, text);
	if (!e || !e->method || !e->plan->point || !rql_type_equal(e->plan->point_type, value->type) ||
	    !stored_value(value, &stored) || !is_the_value(text, e->plan->point, start, end))
		return;
	rql_point_clear(point);
	*point = (struct rql_point){.text = strdup(text), /* without memory it is planned again */
	                            .type = value->type,
	                            .columns = rql_columns_retain(columns),
	                            .schema_epoch = e->schema_epoch,
	                            .session_epoch = e->session_epoch};
}

rql_status rql_point_run(const struct rql_point *point, const struct rql_call *call, const struct rql_value *value,
                         bool *done, struct rql_error *err)
{
	const struct rql_session *s = call->s;
	struct rql_call with_value = *call;
	char *why = NULL;
	int64_t stored;
	*done = false;
	if (!point->text || !rql_type_equal(point->type, value->type) || !stored_value(value, &stored) ||
	    point->schema_epoch != rql_catalog_schema_epoch(s->db->catalog) || point->session_epoch != s->epoch)
		return RQL_OK;
	with_value.sql = point->text;
	with_value.point = &stored;
	with_value.names = point->columns;
	rql_status status = rql_select_cached(&with_value, done, &why, err);
	free(why); /* it is planned for this value then, and that run says what is wrong */
	return status;
}

/* By which key an INSERT finds the rows that it changes: the columns of ON CONFLICT, or the table's only PRIMARY KEY or
 * UNIQUE ones. What is inserted is compared as the columns will have it, so cast to their types. */
#include "exec/follow/follow.h"

#include <stdlib.h>
#include <string.h>

static void put_table(struct rql_strbuf *sql, const struct rql_table *table)
{
	const char *database, *schema, *name;
	rql_table_name(table, &database, &schema, &name);
	rql_strbuf_put(sql, " database_name = ");
	rql_strbuf_put_literal(sql, database, strlen(database));
	rql_strbuf_put(sql, " AND schema_name = ");
	rql_strbuf_put_literal(sql, schema, strlen(schema));
	rql_strbuf_put(sql, " AND table_name = ");
	rql_strbuf_put_literal(sql, name, strlen(name));
}

/* A list of names as they are written in the statement, as strings in lower case. */
static void put_names(struct rql_strbuf *sql, const char *text, struct rql_follow_span span)
{
	const char *comma = "";
	uint32_t at = span.start;
	for (struct rql_token t = rql_token_next(text, &at); t.start < span.end && t.kind != RQL_TOKEN_END;
	     t = rql_token_next(text, &at)) {
		const uint32_t quote = t.kind == RQL_TOKEN_QUOTED_WORD;
		if (t.kind != RQL_TOKEN_WORD && !quote)
			continue;
		rql_strbuf_printf(sql, "%ssystem.main.lower(", comma);
		rql_strbuf_put_literal(sql, text + t.start + quote, t.length - 2 * quote);
		rql_strbuf_put(sql, ")");
		comma = ", ";
	}
}

static char *ask(struct rql_session *s, struct rql_strbuf *sql)
{
	char *text = NULL;
	if (rql_host_query_text(s->host, rql_strbuf_sql(sql), &text, NULL) != RQL_OK)
		text = NULL;
	rql_strbuf_free(sql);
	return text;
}

/* The names of all columns, quoted. */
static char *all_columns(struct rql_session *s, const struct rql_table *table)
{
	struct rql_strbuf sql = {0};
	rql_strbuf_put(&sql, "SELECT system.main.string_agg('\"' || system.main.replace(column_name, '\"', '\"\"') || '\"', ', ' "
	                     "ORDER BY column_index) FROM system.main.duckdb_columns() WHERE");
	put_table(&sql, table);
	return ask(s, &sql);
}

/* NULL where there is no key, or more than one. */
static char *key_condition(struct rql_session *s, const char *text, const struct rql_follow_form *form,
                           const struct rql_table *table)
{
	struct rql_strbuf sql = {0};
	const bool named = form->keys.end > form->keys.start;
	rql_strbuf_put(&sql, "WITH keys AS (");
	if (named) {
		rql_strbuf_put(&sql, "SELECT [");
		put_names(&sql, text, form->keys);
		rql_strbuf_put(&sql, "] AS k");
	} else {
		rql_strbuf_put(&sql, "SELECT system.main.list_transform(constraint_column_names, lambda c: system.main.lower(c)) "
		                     "AS k FROM system.main.duckdb_constraints() WHERE constraint_type IN ('PRIMARY KEY', "
		                     "'UNIQUE') AND");
		put_table(&sql, table);
		rql_strbuf_put(&sql, " UNION ALL SELECT NULL FROM system.main.duckdb_indexes() WHERE is_unique AND");
		put_table(&sql, table);
	}
	rql_strbuf_put(&sql, ") SELECT system.main.string_agg('" RQL_FOLLOW_OLD ".' || c || ' = CAST(" RQL_FOLLOW_NEW
	                     ".' || c || ' AS ' || data_type || ')', ' AND ') FROM (SELECT '\"' || "
	                     "system.main.replace(column_name, '\"', '\"\"') || '\"' AS c, data_type FROM keys, "
	                     "system.main.duckdb_columns() WHERE (SELECT system.main.count(*) FROM keys) = 1 AND "
	                     "system.main.list_contains(k, system.main.lower(column_name)) AND");
	put_table(&sql, table);
	rql_strbuf_put(&sql, ")");
	return ask(s, &sql);
}

bool rql_follow_keys_find(struct rql_session *s, const char *sql, const struct rql_follow_form *form,
                          const struct rql_table *table, struct rql_follow_keys *out)
{
	const struct rql_follow_span given = form->columns;
	*out = (struct rql_follow_keys){
		.columns = given.end > given.start ? strndup(sql + given.start, given.end - given.start) : all_columns(s, table),
		.condition = key_condition(s, sql, form, table)};
	return out->columns && out->condition && *out->columns && *out->condition;
}

void rql_follow_keys_clear(struct rql_follow_keys *keys)
{
	free(keys->columns);
	free(keys->condition);
	*keys = (struct rql_follow_keys){0};
}

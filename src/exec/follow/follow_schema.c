/* What follow.c must know of the schema: above all which functions are the host's own and say the same again in one
 * transaction. */
#include "exec/follow/follow.h"

#include <string.h>
#include <strings.h>

/* A transaction sees the schema that it began with. Where nobody has changed it since, what the session knows holds. */
static struct rql_follow_schema *schema_of(struct rql_session *s)
{
	const bool own = s->txn.open && (s->txn.schema || s->txn.schema_epoch != rql_catalog_schema_epoch(s->db->catalog));
	return own ? &s->txn.follow_schema : &s->follow_schema;
}

/* Names of operators begin with no letter; comparisons are no functions. */
bool rql_follow_has_macro_operators(struct rql_session *s)
{
	return rql_session_finds(
		s, &schema_of(s)->operators,
		"SELECT system.main.count(*) FROM system.main.duckdb_functions() WHERE NOT internal AND function_type IN ('macro', "
		"'table_macro') AND (function_name < 'A' OR function_name >= '{' OR (function_name >= '[' AND function_name < '_'))");
}

bool rql_follow_has_sequences(struct rql_session *s)
{
	return rql_session_finds(s, &schema_of(s)->sequences,
	                         "SELECT system.main.count(*) FROM system.main.duckdb_sequences()");
}

bool rql_follow_has_namesakes(struct rql_session *s)
{
	return rql_session_finds(
		s, &schema_of(s)->namesakes,
		"SELECT system.main.count(*) - system.main.count(DISTINCT system.main.lower(n)) FROM (SELECT table_name AS n FROM "
		"system.main.duckdb_tables() WHERE NOT internal UNION ALL SELECT view_name FROM system.main.duckdb_views() WHERE NOT "
		"internal)");
}

/* A question for one integer that ends where "= the name, in lower case" follows. 0: it has failed. */
static int64_t ask(struct rql_session *s, const char *question, const char *name)
{
	struct rql_strbuf sql = {0};
	int64_t answer = 0;
	rql_strbuf_put(&sql, question);
	rql_strbuf_put(&sql, " = system.main.lower(");
	rql_strbuf_put_literal(&sql, name, strlen(name));
	rql_strbuf_put(&sql, ")");
	const bool good = rql_host_query_int(s->host, rql_strbuf_sql(&sql), &answer, NULL) == RQL_OK;
	rql_strbuf_free(&sql);
	return good ? answer : 0;
}

/* Functions of users have no promise, and macros may hold anything. */
static bool ask_stable(struct rql_session *s, const char *name)
{
	return ask(s,
	           "SELECT coalesce(system.main.bool_and(internal AND function_type IN ('scalar', 'aggregate') AND "
	           "stability IN ('CONSISTENT', 'CONSISTENT_WITHIN_QUERY')), false)::BIGINT FROM "
	           "system.main.duckdb_functions() WHERE system.main.lower(function_name)",
	           name) != 0;
}

bool rql_follow_is_stable(void *state, const char *function, uint32_t length)
{
	struct rql_session *s = state;
	struct rql_follow_schema *schema = schema_of(s);
	const uint64_t epoch = rql_catalog_schema_epoch(s->db->catalog) + 1;
	char name[RQL_FOLLOW_NAME];
	if (length >= sizeof name)
		return false;
	memcpy(name, function, length);
	name[length] = 0;
	if (schema->epoch != epoch && schema == &s->follow_schema)
		schema->count = 0;
	schema->epoch = epoch;
	for (uint32_t i = 0; i < schema->count; i++)
		if (strcasecmp(schema->functions[i].name, name) == 0)
			return schema->functions[i].stable;
	const bool stable = ask_stable(s, name);
	const uint32_t at = schema->count < RQL_FOLLOW_FUNCTIONS ? schema->count++ : 0;
	memcpy(schema->functions[at].name, name, length + 1);
	schema->functions[at].stable = stable;
	return stable;
}

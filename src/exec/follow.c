/* DELETE and UPDATE that columns of their table can follow: the ids of the rows that they will change, asked for in the
 * same transaction, so by the same snapshot. Statements of a plain form:
 *
 *   DELETE FROM t [WHERE condition]         UPDATE t SET ... [WHERE condition]
 *
 * The condition must say the same when it is asked twice. So it consists of nothing but columns that are held,
 * literals, parameters with values, the host's own operators, and functions of the host's that are not volatile: a
 * subquery may read anything. The host takes a macro of an operator's name for the operator, so while there is one,
 * nothing is followed. All other statements leave columns stale, as any write did before.
 *
 * Some UPDATEs are deletions and insertions to the host: of a column of lists, or one that an index of its own has.
 * Their rows have other ids afterwards, which is seen before they are committed. */
#include "exec/follow.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define FEW_ROWS 1024u          /* changed by one statement of a table of any size; else */
#define SHARE 4u                /* a part of it: what changes more is read faster as a whole */

/* ---- what the condition calls ---- */

/* A transaction sees the schema that it began with. Where nobody has changed it since, what the session knows holds. */
static struct rql_follow_schema *schema_of(struct rql_session *s)
{
	const bool own = s->txn.open && (s->txn.schema || s->txn.schema_epoch != rql_catalog_schema_epoch(s->db->catalog));
	return own ? &s->txn.follow_schema : &s->follow_schema;
}

/* Is an operator a macro of the user's? Names of operators begin with no letter; comparisons are no functions. */
static bool has_macro_operators(struct rql_session *s)
{
	return rql_session_finds(
		s, &schema_of(s)->operators,
		"SELECT system.main.count(*) FROM system.main.duckdb_functions() WHERE NOT internal AND function_type IN ('macro', "
		"'table_macro') AND (function_name < 'A' OR function_name >= '{' OR (function_name >= '[' AND function_name < '_'))");
}

int64_t rql_follow_ask(struct rql_session *s, const char *question, const char *name)
{
	struct rql_strbuf sql = {0};
	int64_t answer = 0;
	rql_strbuf_put(&sql, question);
	rql_strbuf_put(&sql, " = system.main.lower(");
	rql_strbuf_put_literal(&sql, name, strlen(name));
	rql_strbuf_put(&sql, ")");
	const bool good = !sql.failed && rql_host_query_int(s->host, rql_strbuf_text(&sql), &answer, NULL) == RQL_OK;
	rql_strbuf_free(&sql);
	return good ? answer : 0;
}

/* Is every function of the name the host's own, scalar and not volatile? Functions of users have no promise, and macros
 * may hold anything. */
static bool ask_stable(struct rql_session *s, const char *name)
{
	return rql_follow_ask(s,
	                      "SELECT coalesce(system.main.bool_and(internal AND function_type = 'scalar' AND stability IN "
	                      "('CONSISTENT', 'CONSISTENT_WITHIN_QUERY')), false)::BIGINT FROM "
	                      "system.main.duckdb_functions() WHERE system.main.lower(function_name)",
	                      name) != 0;
}

static bool is_stable(void *state, const char *function, uint32_t length)
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

/* ---- who follows ---- */

static bool is_called(const struct rql_structure *s, const char *name)
{
	const char *database, *schema, *table;
	rql_table_name(s->tables[0], &database, &schema, &table);
	return strcasecmp(table, name) == 0;
}

/* Columns of a table of this name, retained; NULL: there are none, or of several tables. */
static struct rql_structure *find_follower(struct rql_catalog *catalog, const char *name)
{
	struct rql_arena *arena = rql_catalog_structure_count(catalog) ? rql_arena_new() : NULL;
	struct rql_structure **list = NULL, *found = NULL;
	uint32_t count = 0;
	bool several = false;
	if (arena && rql_catalog_structures(catalog, arena, &list, &count, NULL) == RQL_OK) {
		for (uint32_t i = 0; i < count; i++) {
			struct rql_structure *s = list[i];
			if (rql_structure_follows(s) && is_called(s, name) &&
			    (rql_structure_fresh(catalog, s) || rql_structure_appendable(catalog, s))) {
				several = several || (found && found->tables[0] != s->tables[0]);
				if (!found)
					rql_structure_retain(found = s);
			}
			rql_structure_release(s);
		}
	}
	rql_arena_free(arena);
	if (several) {
		rql_structure_release(found);
		found = NULL;
	}
	return found;
}

struct rql_follow *rql_follow_new(const struct rql_call *call, const struct rql_effects *effects)
{
	struct rql_session *s = call->s;
	struct rql_follow_form form;
	struct rql_follow *f = NULL;
	if (effects->schema || effects->set.everything || effects->set.count != 1 || effects->appends.count ||
	    rql_host_watched(s->host))
		return NULL;
	struct rql_structure *follower =
		rql_follow_read(call->sql, &form) ? find_follower(s->db->catalog, effects->set.names[0]) : NULL;
	const struct rql_follow_names names = {.snapshot = follower ? follower->snapshot : NULL,
	                                       .parameters = call->prepared != NULL,
	                                       .is_stable = is_stable,
	                                       .state = s};
	if (follower && !has_macro_operators(s) && rql_follow_is_repeatable(call->sql, &form, &names))
		f = calloc(1, sizeof *f);
	if (!f) {
		rql_structure_release(follower);
		return NULL;
	}
	f->condition = rql_follow_condition(call->sql, &form, call->prepared, &f->binds);
	f->update = form.update;
	f->changes.table = follower->tables[0];
	f->structure = follower;
	if (f->condition)
		return f;
	rql_follow_free(f);
	return NULL;
}

void rql_follow_free(struct rql_follow *f)
{
	if (!f)
		return;
	rql_structure_release(f->structure);
	rql_row_changes_clear(&f->changes);
	free(f->condition);
	free(f);
}

/* ---- the rows ---- */

static bool take_ids(struct rql_follow *f, const struct rql_batch *chunk)
{
	struct rql_row_changes more = {0};
	*(f->update ? &more.renewed : &more.gone) = chunk->columns[0].data;
	*(f->update ? &more.renewed_count : &more.gone_count) = chunk->rows;
	return rql_row_changes_add(&f->changes, &more);
}

static rql_status open_query(const struct rql_follow *f, struct rql_host_con *con, uint64_t most,
                             struct rql_host_stmt **stmt)
{
	const char *database, *schema, *table;
	struct rql_strbuf sql = {0};
	rql_table_name(f->changes.table, &database, &schema, &table);
	rql_strbuf_put(&sql, "SELECT rowid FROM ");
	rql_put_qualified(&sql, f->structure->database, schema, table);
	rql_strbuf_printf(&sql, " %s\nLIMIT %llu", f->condition, (unsigned long long)most + 1);
	rql_status status = sql.failed ? RQL_ERROR_MEMORY : rql_host_prepare(con, rql_strbuf_text(&sql), stmt, NULL);
	for (uint32_t i = 0; i < f->binds.count && status == RQL_OK; i++)
		status = rql_host_bind(*stmt, i + 1, f->binds.values[i], NULL);
	rql_strbuf_free(&sql);
	return status;
}

rql_status rql_follow_find(struct rql_follow *f, struct rql_host_con *con, struct rql_error *err)
{
	const uint64_t share = f->structure->snapshot->rows / SHARE, all = RQL_FOLLOW_ROWS_MOST;
	const uint64_t most = share < FEW_ROWS ? FEW_ROWS : share < all ? share : all;
	struct rql_host_stmt *stmt = NULL;
	struct rql_host_result *res = NULL;
	struct rql_batch *chunk = NULL;
	bool room = open_query(f, con, most, &stmt) == RQL_OK; /* what does not bind has aborted nothing */
	rql_status status = room ? rql_host_execute(stmt, false, &res, err) : RQL_OK;
	while (room && status == RQL_OK && (status = rql_host_fetch(res, &chunk, err)) == RQL_OK && chunk) {
		room = take_ids(f, chunk);
		rql_batch_release(chunk);
	}
	f->found = room && status == RQL_OK && f->changes.gone_count + f->changes.renewed_count <= most;
	rql_host_result_free(res);
	rql_host_stmt_free(stmt);
	return status;
}

/* Rows that a transaction added have ids far beyond those of any table. */
#define LEAST_LOCAL_ID (UINT64_C(1) << 50)

rql_status rql_follow_count_added(const struct rql_follow *f, struct rql_host_con *con, int64_t *out,
                                  struct rql_error *err)
{
	const char *database, *schema, *table;
	struct rql_strbuf sql = {0};
	rql_table_name(f->changes.table, &database, &schema, &table);
	rql_strbuf_put(&sql, "SELECT system.main.count(*) FROM ");
	rql_put_qualified(&sql, f->structure->database, schema, table);
	rql_strbuf_printf(&sql, " WHERE rowid >= %llu", (unsigned long long)LEAST_LOCAL_ID);
	rql_status status = sql.failed ? rql_error_memory(err, 0, "changed rows")
	                               : rql_host_query_int(con, rql_strbuf_text(&sql), out, err);
	rql_strbuf_free(&sql);
	return status;
}

bool rql_follow_found(const struct rql_follow *f)
{
	return f->found;
}

bool rql_follow_kept_ids(const struct rql_follow *f, struct rql_host_con *con)
{
	int64_t added = 0;
	return !f->update || (rql_follow_count_added(f, con, &added, NULL) == RQL_OK && !added);
}

void rql_follow_drop_added(struct rql_follow *f)
{
	int64_t *ids = f->update ? f->changes.renewed : f->changes.gone;
	uint64_t *count = f->update ? &f->changes.renewed_count : &f->changes.gone_count, kept = 0;
	for (uint64_t i = 0; i < *count; i++)
		if ((uint64_t)ids[i] < LEAST_LOCAL_ID)
			ids[kept++] = ids[i];
	*count = kept;
}

struct rql_row_changes *rql_follow_changes(struct rql_follow *f)
{
	return &f->changes;
}

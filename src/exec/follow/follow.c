/* DELETE and UPDATE that columns of their table can follow: the ids of the rows that they will change, asked for in the
 * same transaction, so by the same snapshot, with the statement's own tables and condition:
 *
 *   [WITH ...] DELETE FROM t [USING ...] [WHERE ...]         SELECT t.rowid FROM t, ... WHERE ...
 *   [WITH ...] UPDATE t SET ... [FROM ...] [WHERE ...]
 *   TRUNCATE t         MERGE INTO t USING ... ON ...         INSERT INTO t ... ON CONFLICT DO UPDATE ...
 *
 * The query must say the same when it is asked twice. The plain form, of one table and with a condition of nothing but
 * columns that are held, literals, parameters, operators and functions that are not volatile, is known by its tokens.
 * All others are known by the host's plan of the query (follow_plan.c). What is not known leaves columns stale, as any
 * write did before.
 *
 * Some UPDATEs are deletions and insertions to the host: of a column of lists, or one that an index of its own has.
 * Their rows have other ids afterwards. That is seen before they are committed: they are followed as what they are. */
#include "exec/follow/follow.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define FEW_ROWS 1024u /* with other values, of a table of any size; else */
#define SHARE 4u       /* a part of it: what changes more is read much faster as a whole */

/* ---- who follows ---- */

/* of: as the host's plan has it; NULL: of whatever schema. */
static bool is_of(const struct rql_structure *s, const char *name, const struct rql_table_ref *of)
{
	const char *database, *schema, *table;
	rql_table_name(s->tables[0], &database, &schema, &table);
	if (of && (strcasecmp(of->schema, schema) != 0 || strcasecmp(of->catalog, database) != 0))
		return false;
	return strcasecmp(table, name) == 0 && (!of || strcasecmp(of->table, table) == 0);
}

/* Columns of a table of this name, retained; NULL: there are none, or of several tables. */
static struct rql_structure *find_follower(struct rql_catalog *catalog, const char *name,
                                           const struct rql_table_ref *of)
{
	struct rql_arena *arena = rql_catalog_structure_count(catalog) ? rql_arena_new() : NULL;
	struct rql_structure **list = NULL, *found = NULL;
	uint32_t count = 0;
	bool several = false;
	if (arena && rql_catalog_structures(catalog, arena, &list, &count, NULL) == RQL_OK) {
		for (uint32_t i = 0; i < count; i++) {
			struct rql_structure *s = list[i];
			if (rql_structure_follows(s) && is_of(s, name, of) &&
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

/* ---- which statements ---- */

/* The plain form, whose table is the only one of its name. */
static bool takes_plain(struct rql_follow *f, const struct rql_call *call, const struct rql_follow_form *form,
                        const char *name)
{
	struct rql_session *s = call->s;
	const char *database, *schema, *table;
	f->structure = form->plain ? find_follower(s->db->catalog, name, NULL) : NULL;
	const struct rql_follow_names names = {.snapshot = f->structure ? f->structure->snapshot : NULL,
	                                       .parameters = call->prepared != NULL,
	                                       .is_stable = rql_follow_is_stable,
	                                       .state = s};
	if (!f->structure || rql_follow_has_namesakes(s) || rql_follow_has_macro_operators(s) ||
	    !rql_follow_is_repeatable(call->sql, form, &names))
		return false;
	struct rql_strbuf text = {0};
	rql_table_name(f->structure->tables[0], &database, &schema, &table);
	rql_put_qualified(&text, f->structure->database, schema, table);
	const bool good =
		!text.failed && rql_follow_ask_rows(call->sql, form, rql_strbuf_text(&text), NULL, call->prepared, &f->question);
	rql_strbuf_free(&text);
	return good;
}

/* The table of an upsert must be known before there is a plan. */
static bool ask_rows(struct rql_follow *f, const struct rql_call *call, const struct rql_follow_form *form,
                     const char *name)
{
	struct rql_session *s = call->s;
	struct rql_follow_keys keys = {0};
	if (!form->upsert)
		return rql_follow_ask_rows(call->sql, form, NULL, NULL, call->prepared, &f->question);
	struct rql_structure *structure = find_follower(s->db->catalog, name, NULL);
	const bool good = structure && !rql_follow_has_namesakes(s) && !rql_follow_has_macro_operators(s) &&
	                  rql_follow_keys_find(s, call->sql, form, structure->tables[0], &keys) &&
	                  rql_follow_ask_rows(call->sql, form, NULL, &keys, call->prepared, &f->question);
	rql_follow_keys_clear(&keys);
	rql_structure_release(structure);
	return good;
}

/* Any other, by the plan of the query for its rows. */
static bool takes_planned(struct rql_follow *f, const struct rql_call *call, const struct rql_follow_form *form,
                          const char *name)
{
	struct rql_session *s = call->s;
	struct rql_table_ref table;
	struct rql_arena *arena = rql_arena_new();
	const bool good = arena && ask_rows(f, call, form, name) && f->question.planned &&
	                  rql_follow_plan_is_repeatable(s, f->question.planned, arena, &table);
	f->structure = good ? find_follower(s->db->catalog, name, &table) : NULL;
	rql_arena_free(arena);
	return f->structure != NULL;
}

static bool anybody_follows(struct rql_catalog *catalog, const char *name)
{
	struct rql_arena *arena = rql_catalog_structure_count(catalog) ? rql_arena_new() : NULL;
	struct rql_structure **list = NULL;
	uint32_t count = 0;
	bool any = false;
	if (arena && rql_catalog_structures(catalog, arena, &list, &count, NULL) == RQL_OK)
		for (uint32_t i = 0; i < count; i++) {
			any = any || (rql_structure_follows(list[i]) && is_of(list[i], name, NULL));
			rql_structure_release(list[i]);
		}
	rql_arena_free(arena);
	return any;
}

struct rql_follow *rql_follow_new(const struct rql_call *call, const struct rql_effects *effects)
{
	struct rql_session *s = call->s;
	struct rql_follow_form form;
	if (effects->schema || effects->set.everything || effects->set.count != 1 || effects->appends.count ||
	    rql_host_watched(s->host))
		return NULL;
	const char *name = effects->set.names[0];
	if (!rql_follow_read(call->sql, &form) || !anybody_follows(s->db->catalog, name))
		return NULL;
	struct rql_follow *f = calloc(1, sizeof *f);
	if (!f)
		return NULL;
	f->update = form.update;
	bool taken = takes_plain(f, call, &form, name);
	if (!taken) {
		rql_structure_release(f->structure);
		rql_follow_question_clear(&f->question);
		taken = takes_planned(f, call, &form, name);
	}
	if (taken) {
		f->changes.table = f->structure->tables[0];
		return f;
	}
	rql_follow_free(f);
	return NULL;
}

void rql_follow_free(struct rql_follow *f)
{
	if (!f)
		return;
	rql_structure_release(f->structure);
	rql_row_changes_clear(&f->changes);
	rql_follow_question_clear(&f->question);
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
	struct rql_strbuf sql = {0};
	rql_strbuf_printf(&sql, "%s\nLIMIT %llu", f->question.text, (unsigned long long)most + 1);
	rql_status status = rql_host_prepare(con, rql_strbuf_sql(&sql), stmt, NULL);
	for (uint32_t i = 0; i < f->question.count && status == RQL_OK; i++)
		status = rql_host_bind(*stmt, i + 1, f->question.values[i], NULL);
	rql_strbuf_free(&sql);
	return status;
}

static uint64_t most_rows(const struct rql_follow *f)
{
	const uint64_t share = f->structure->snapshot->rows / SHARE, all = RQL_FOLLOW_ROWS_MOST;
	if (!f->update || share > all)
		return all;
	return share < FEW_ROWS ? FEW_ROWS : share;
}

rql_status rql_follow_find(struct rql_follow *f, struct rql_host_con *con, struct rql_error *err)
{
	const uint64_t most = most_rows(f);
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

bool rql_follow_found(const struct rql_follow *f)
{
	return f->found;
}

/* ---- afterwards ---- */

/* Rows that a transaction added have ids far beyond those of any table. */
#define LEAST_LOCAL_ID (INT64_C(1) << 50)

static rql_status has_row(const struct rql_follow *f, struct rql_host_con *con, int64_t id, bool *out,
                          struct rql_error *err)
{
	const char *database, *schema, *table;
	struct rql_strbuf sql = {0};
	int64_t count = 0;
	rql_table_name(f->changes.table, &database, &schema, &table);
	rql_strbuf_put(&sql, "SELECT system.main.count(*) FROM ");
	rql_put_qualified(&sql, f->structure->database, schema, table);
	rql_strbuf_printf(&sql, " WHERE rowid = %lld", (long long)id);
	rql_status status = rql_host_query_int(con, rql_strbuf_sql(&sql), &count, err);
	rql_strbuf_free(&sql);
	*out = count != 0;
	return status;
}

/* Rows that the transaction itself has added need not be followed: they are not there before it is committed. */
static void drop_added(struct rql_follow *f)
{
	int64_t *ids = f->update ? f->changes.renewed : f->changes.gone;
	uint64_t *count = f->update ? &f->changes.renewed_count : &f->changes.gone_count, kept = 0;
	for (uint64_t i = 0; i < *count; i++)
		if (ids[i] < LEAST_LOCAL_ID)
			ids[kept++] = ids[i];
	*count = kept;
}

/* An UPDATE keeps the ids of all its rows, or of none: the host decides it when it binds the statement. So one row
 * tells, and who takes them over finds all of them, or none. The host keeps no bounds of row ids: to look for one costs
 * 0.4 ns for each row of the table, and for two at once 25 times as much. */
rql_status rql_follow_settle(struct rql_follow *f, struct rql_host_con *con, struct rql_error *err)
{
	struct rql_row_changes *c = &f->changes;
	bool kept = true;
	drop_added(f);
	if (!c->renewed_count)
		return RQL_OK;
	RQL_TRY(has_row(f, con, c->renewed[0], &kept, err));
	if (!kept) { /* they were deleted, and are among the added ones */
		c->gone = c->renewed;
		c->gone_count = c->renewed_count;
		c->renewed = NULL;
		c->renewed_count = 0;
	}
	return RQL_OK;
}

struct rql_row_changes *rql_follow_changes(struct rql_follow *f)
{
	return &f->changes;
}

/* DELETE and UPDATE that columns of their table can follow: the ids of the rows that they will change, asked for in the
 * same transaction, so by the same snapshot. Only statements outside a transaction of the user's, of a plain form:
 *
 *   DELETE FROM t [WHERE condition]         UPDATE t SET ... [WHERE condition]
 *
 * The condition must say the same when it is asked twice. So it consists of nothing but columns that are held, literals
 * and the host's own operators: a function may be random, and a subquery may read anything. The host takes a macro of an
 * operator's name for the operator, so while there is one, nothing is followed. All other statements leave columns stale,
 * as any write did before.
 *
 * Some UPDATEs are deletions and insertions to the host: of a column of lists, or one that an index of its own has. Their
 * rows have other ids afterwards, which is seen before they are committed. */
#include "exec/exec_internal.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "exec/text.h"

#define MOST_ROWS (1u << 17)    /* changed by one statement */
#define FEW_ROWS 1024u          /* ... of a table of any size; else */
#define SHARE 4u                /* a part of it: what changes more is read faster as a whole */

struct rql_follow {
	struct rql_structure *structure; /* one that is to follow; its table is the statement's */
	const char *condition;           /* from WHERE on, in `text`; "" without */
	char *text;                      /* the statement, without what may follow the condition */
	bool update;
	struct rql_row_changes changes;
};

/* ---- the text ---- */
struct form {
	bool update;
	uint32_t where, end; /* bytes of the condition; where == end: there is none */
};

static const struct rql_token none = {.kind = RQL_TOKEN_END};

/* A name without quotes inside. */
static bool is_name(const char *sql, struct rql_token t)
{
	return t.kind == RQL_TOKEN_WORD ||
	       (t.kind == RQL_TOKEN_QUOTED_WORD && t.length > 2 && !memchr(sql + t.start + 1, '"', t.length - 2));
}

/* The tokens from `t` to the end: WHERE at most once outside parentheses, and nothing else that brings other tables. */
static bool find_condition(const char *sql, struct rql_token t, uint32_t *position, struct form *out)
{
	static const char *const others[] = {"FROM", "USING", "RETURNING", "LIMIT", "ORDER"};
	uint32_t depth = 0;
	bool where = false;
	for (; t.kind != RQL_TOKEN_END; t = rql_token_next(sql, position)) {
		const bool over = !depth && rql_token_is_symbol(sql, t, ';');
		if (t.kind == RQL_TOKEN_BROKEN || (!where && !depth && RQL_TOKEN_IS_ANY(sql, t, others)))
			return false;
		if (over)
			break;
		depth += rql_token_is_symbol(sql, t, '(');
		depth -= depth && rql_token_is_symbol(sql, t, ')');
		if (!depth && !where && rql_token_is(sql, t, "WHERE")) {
			where = true;
			out->where = t.start;
		}
		out->end = t.start + t.length;
	}
	if (!where)
		out->where = out->end;
	return true;
}

static bool read_form(const char *sql, struct form *out)
{
	uint32_t position = 0;
	struct rql_token t = rql_token_next(sql, &position);
	*out = (struct form){.update = rql_token_is(sql, t, "UPDATE")};
	if (!out->update && !rql_token_is(sql, t, "DELETE"))
		return false;
	t = rql_token_next(sql, &position);
	if (!out->update) {
		if (!rql_token_is(sql, t, "FROM"))
			return false;
		t = rql_token_next(sql, &position);
	}
	if (!is_name(sql, t)) /* the write set has it */
		return false;
	t = rql_token_next(sql, &position);
	const bool ends = t.kind == RQL_TOKEN_END || rql_token_is_symbol(sql, t, ';') || rql_token_is(sql, t, "WHERE");
	return (out->update ? rql_token_is(sql, t, "SET") : ends) && find_condition(sql, t, &position, out);
}

static bool is_column(const char *sql, struct rql_token t, const struct rql_store_snapshot *snapshot)
{
	const bool quoted = t.kind == RQL_TOKEN_QUOTED_WORD;
	const char *text = sql + t.start + quoted;
	const size_t length = t.length - (quoted ? 2 : 0);
	for (uint32_t c = 0; c < snapshot->column_count; c++)
		if (strlen(snapshot->columns[c].name) == length && strncasecmp(snapshot->columns[c].name, text, length) == 0)
			return true;
	return length == 5 && strncasecmp(text, "rowid", 5) == 0;
}

/* Does it say the same of a row whenever it is asked? */
static bool is_repeatable(const char *sql, uint32_t from, uint32_t end, const struct rql_store_snapshot *snapshot)
{
	static const char *const words[] = {"WHERE", "AND", "OR", "NOT", "IN", "IS", "NULL", "BETWEEN", "TRUE", "FALSE",
	                                    "LIKE", "ILIKE", "DISTINCT", "FROM", "DATE", "TIMESTAMP", "TIME"};
	static const char *const before_parenthesis[] = {"WHERE", "AND", "OR", "NOT",   "IN",
	                                                   "BETWEEN", "LIKE", "ILIKE", "FROM"};
	static const char symbols[] = "()<>=!,+-*/%";
	struct rql_token before = none;
	while (from < end) {
		const struct rql_token t = rql_token_next(sql, &from);
		const bool word = t.kind == RQL_TOKEN_WORD;
		if (t.kind == RQL_TOKEN_END)
			break;
		if (word && !RQL_TOKEN_IS_ANY(sql, t, words) && !is_column(sql, t, snapshot))
			return false;
		if (word && rql_token_is(sql, t, "FROM") && !rql_token_is(sql, before, "DISTINCT"))
			return false; /* (FROM t) is a subquery */
		if (t.kind == RQL_TOKEN_QUOTED_WORD && !is_column(sql, t, snapshot))
			return false;
		for (uint32_t i = 0; t.kind == RQL_TOKEN_SYMBOL && i < t.length; i++)
			if (!strchr(symbols, sql[t.start + i]))
				return false;
		if (t.kind == RQL_TOKEN_PARAMETER || t.kind == RQL_TOKEN_BROKEN)
			return false;
		if (rql_token_is_symbol(sql, t, '(') && (before.kind == RQL_TOKEN_WORD || before.kind == RQL_TOKEN_QUOTED_WORD) &&
		    !RQL_TOKEN_IS_ANY(sql, before, before_parenthesis))
			return false;
		before = t;
	}
	return true;
}

/* Is an operator a macro of the user's? Names of operators begin with no letter; comparisons are no functions. */
static bool has_macro_operators(struct rql_session *s)
{
	return rql_session_finds(
		s, &s->operators,
		"SELECT system.main.count(*) FROM system.main.duckdb_functions() WHERE NOT internal AND function_type IN ('macro', "
		"'table_macro') AND (function_name < 'A' OR function_name >= '{' OR (function_name >= '[' AND function_name < '_'))");
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

struct rql_follow *rql_follow_new(struct rql_session *s, const char *sql, const struct rql_effects *effects)
{
	struct form form;
	struct rql_follow *f = NULL;
	if (effects->schema || effects->set.everything || effects->set.count != 1 || effects->appends.count ||
	    rql_host_watched(s->host))
		return NULL;
	const bool plain = read_form(sql, &form);
	struct rql_structure *follower = plain ? find_follower(s->db->catalog, effects->set.names[0]) : NULL;
	if (follower && is_repeatable(sql, form.where, form.end, follower->snapshot) && !has_macro_operators(s))
		f = calloc(1, sizeof *f);
	if (f) {
		f->text = strndup(sql, form.end);
		f->condition = f->text ? f->text + form.where : NULL;
		f->update = form.update;
		f->changes.table = follower->tables[0];
		f->structure = follower;
		follower = NULL;
	}
	rql_structure_release(follower);
	if (f && !f->text) {
		rql_follow_free(f);
		f = NULL;
	}
	return f;
}

void rql_follow_free(struct rql_follow *f)
{
	if (!f)
		return;
	rql_structure_release(f->structure);
	rql_row_changes_clear(&f->changes);
	free(f->text);
	free(f);
}

/* ---- the rows ---- */

static bool take_ids(int64_t **ids, uint64_t *count, const struct rql_batch *chunk)
{
	int64_t *grown = realloc(*ids, (*count + chunk->rows + 1) * sizeof *grown);
	if (!grown)
		return false;
	memcpy(grown + *count, chunk->columns[0].data, chunk->rows * sizeof *grown);
	*ids = grown;
	*count += chunk->rows;
	return true;
}

bool rql_follow_find(struct rql_follow *f, struct rql_host_con *con)
{
	const uint64_t share = f->structure->snapshot->rows / SHARE;
	const uint64_t most = share < FEW_ROWS ? FEW_ROWS : share < MOST_ROWS ? share : MOST_ROWS;
	int64_t **ids = f->update ? &f->changes.renewed : &f->changes.gone;
	uint64_t *count = f->update ? &f->changes.renewed_count : &f->changes.gone_count;
	const char *database, *schema, *table;
	struct rql_host_result *res = NULL;
	struct rql_batch *chunk = NULL;
	struct rql_strbuf sql = {0};
	rql_table_name(f->changes.table, &database, &schema, &table);
	rql_strbuf_put(&sql, "SELECT rowid FROM ");
	rql_put_qualified(&sql, f->structure->database, schema, table);
	rql_strbuf_printf(&sql, " %s\nLIMIT %llu", f->condition, (unsigned long long)most + 1);
	bool found = !sql.failed && rql_host_query(con, rql_strbuf_text(&sql), &res, NULL) == RQL_OK;
	rql_status status = RQL_OK;
	while (found && (status = rql_host_fetch(res, &chunk, NULL)) == RQL_OK && chunk) {
		found = take_ids(ids, count, chunk);
		rql_batch_release(chunk);
	}
	rql_host_result_free(res);
	rql_strbuf_free(&sql);
	return found && status == RQL_OK && *count <= most;
}

/* Rows that a transaction added have ids far beyond those of any table. */
#define LEAST_LOCAL_ID (UINT64_C(1) << 50)

bool rql_follow_kept_ids(const struct rql_follow *f, struct rql_host_con *con)
{
	const char *database, *schema, *table;
	struct rql_strbuf sql = {0};
	int64_t count = 1;
	if (!f->update)
		return true;
	rql_table_name(f->changes.table, &database, &schema, &table);
	rql_strbuf_put(&sql, "SELECT system.main.count(*) FROM ");
	rql_put_qualified(&sql, f->structure->database, schema, table);
	rql_strbuf_printf(&sql, " WHERE rowid >= %llu", (unsigned long long)LEAST_LOCAL_ID);
	const bool good = !sql.failed && rql_host_query_int(con, rql_strbuf_text(&sql), &count, NULL) == RQL_OK;
	rql_strbuf_free(&sql);
	return good && !count;
}

struct rql_row_changes *rql_follow_changes(struct rql_follow *f)
{
	return &f->changes;
}

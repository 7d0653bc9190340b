/* Columns structures: compressed columns of one base table (column/store.h), by CREATE INDEX ... USING columns or by
 * rayql_auto_columns. Private to exec/. */
#ifndef RQL_EXEC_COLUMNS_H
#define RQL_EXEC_COLUMNS_H

#include "exec/exec_internal.h"

/* What a columns structure's query says of its table: `SELECT a, b FROM main.t`, or * for all columns. */
struct rql_columns_shape {
	struct rql_table_ref table;
	uint32_t count;
	const char **names; /* as the table spells them */
	struct rql_type *types;
	uint32_t *ids;       /* as in struct rql_structure */
	bool no_rowid;       /* the table has a column of that name, which hides the pseudo column */
	const char *skipped; /* of *: columns that cannot be held, "x (INTEGER[]), y (MAP(...))"; NULL: none */
};
/* The table (a name in SQL), as the connection finds it, and its columns: wanted[0..count), or all that can be held
 * when count is 0. RQL_ERROR_STATEMENT and RQL_ERROR_HOST: there is no such
 * table or column, or it cannot be held. */
rql_status rql_columns_shape_read(struct rql_host_con *con, const char *table, uint32_t count,
                                  const char *const *wanted, struct rql_arena *arena, struct rql_columns_shape *out,
                                  struct rql_error *err) RQL_MUST_CHECK;
/* Refuses temporary tables, those of other databases and RayQL's own. */
rql_status rql_columns_check_table(const struct rql_database *db, const struct rql_table_ref *table,
                                   struct rql_error *err) RQL_MUST_CHECK;
/* A new structure without contents, not yet published; all: its statement says (*). */
rql_status rql_columns_describe(const struct rql_database *db, const char *name, bool all,
                                const struct rql_columns_shape *shape, const struct rql_view_options *options,
                                struct rql_structure **out, struct rql_error *err) RQL_MUST_CHECK;
/* Gives s (unpublished) the one table, its columns and the hash of both; takes nothing over. */
rql_status rql_columns_define(struct rql_database *db, struct rql_structure *s, const struct rql_columns_shape *shape,
                              struct rql_error *err) RQL_MUST_CHECK;
/* The same from s's own statement, on the loader connection. */
rql_status rql_columns_bind(struct rql_database *db, struct rql_structure *s, struct rql_error *err) RQL_MUST_CHECK;
/* Reads the table and builds; on success s (unpublished) is READY with the versions of what was read. */
rql_status rql_columns_build(struct rql_session *session, struct rql_structure *s,
                             struct rql_error *err) RQL_MUST_CHECK;
/* s (unpublished, appendable): reads the rows that were added since and appends them. *done false: they cannot be told
 * apart any more (or are too many, or came in another order than the table's), so it must be built again. */
rql_status rql_columns_append(struct rql_session *session, struct rql_structure *s, bool *done,
                              struct rql_error *err) RQL_MUST_CHECK;
/* Gives s (unpublished, bound) the contents of its side file. */
rql_status rql_columns_read_side(struct rql_session *session, struct rql_structure *s,
                                 struct rql_error *err) RQL_MUST_CHECK;

#define RQL_COLUMNS_LEFT_OUT "left out," /* how a note about columns that * could not take begins */
/* What the two files of building share: s's table, qualified; one row of `count` integers. */
void rql_columns_put_table(struct rql_strbuf *out, const struct rql_database *db, const struct rql_structure *s);
rql_status rql_columns_count(struct rql_host_con *con, const char *sql, uint32_t count, int64_t *out,
                             struct rql_error *err) RQL_MUST_CHECK;

/* ---- statements ---- */
rql_status rql_columns_create(struct rql_session *s, const char *sql, const struct rql_statement *st,
                              struct rql_error *err) RQL_MUST_CHECK;
rql_status rql_columns_refresh(struct rql_session *s, const char *sql, const struct rql_statement *st,
                               struct rql_error *err) RQL_MUST_CHECK;
/* Is DROP INDEX's name one of ours? Else it is the host's. */
bool rql_columns_owns(struct rql_session *s, const char *sql, const struct rql_statement *st);
rql_status rql_columns_drop(struct rql_session *s, const char *sql, const struct rql_statement *st,
                            struct rql_error *err) RQL_MUST_CHECK;

/* ---- rayql_auto_columns (columns_auto.c) ---- */
/* Carries an RQL_PLAN_LOAD out. On failure the host answers; the reason is remembered until something changes. */
rql_status rql_columns_load(struct rql_session *s, const struct rql_plan_load *load,
                            struct rql_error *err) RQL_MUST_CHECK;

/* Gives up the automatic structure that was used longest ago, but `keep` (may be NULL); false: there is none. */
bool rql_columns_evict(struct rql_session *s, const struct rql_structure *keep);
struct rql_load_failures;
void rql_load_failures_free(struct rql_load_failures *failures); /* NULL accepted */

#endif

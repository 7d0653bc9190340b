/* The kind "columns": compressed columns of one base table (column/store/store.h), by CREATE INDEX ... USING columns or by
 * rayql_auto_columns. Of structure/ only this folder and the indexes of such columns
 * (index/) see it. */
#ifndef RQL_STRUCTURE_COLUMNS_COLUMNS_H
#define RQL_STRUCTURE_COLUMNS_COLUMNS_H

#include "structure/kind.h"

extern const struct rql_structure_kind rql_structure_columns;

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
/* A new structure without contents, not yet published, of this kind; every: its statement says (*). */
rql_status rql_columns_describe(const struct rql_structures *all, const struct rql_structure_kind *kind, const char *name, bool every,
                                const struct rql_columns_shape *shape, const struct rql_structure_options *options,
                                struct rql_structure **out, struct rql_error *err) RQL_MUST_CHECK;
/* The same of a CREATE INDEX, as rql_structure_kind.describe. check (may be NULL) looks at what it names. */
typedef rql_status rql_columns_check(const char *sql, const struct rql_statement *st,
                                     const struct rql_columns_shape *shape, struct rql_error *err);
rql_status rql_columns_describe_statement(const struct rql_structure_kind *kind, const struct rql_plan_context *plan,
                                          struct rql_structures *all, const char *sql, const struct rql_statement *st,
                                          rql_columns_check *check, const struct rql_structure_options *options,
                                          struct rql_structure **out, struct rql_error *err) RQL_MUST_CHECK;
/* rql_structure_kind.bind: of a structure whose statement is a CREATE INDEX. */
rql_status rql_columns_bind(struct rql_structures *all, struct rql_structure *s, struct rql_error *err) RQL_MUST_CHECK;
/* Refuses temporary tables, those of other databases and RayQL's own. */
rql_status rql_columns_check_table(const struct rql_structures *all, const struct rql_table_ref *table,
                                   struct rql_error *err) RQL_MUST_CHECK;
/* Gives s (unpublished) the one table, its columns and the hash of both; takes nothing over. */
rql_status rql_columns_define(struct rql_structures *all, struct rql_structure *s,
                              const struct rql_columns_shape *shape, struct rql_error *err) RQL_MUST_CHECK;
/* rql_structure_kind's. */
rql_status rql_columns_append(struct rql_build_context *ctx, struct rql_structure *s, bool *done,
                              struct rql_error *err) RQL_MUST_CHECK;

/* Rows of the table that changed since s was read (changes.c): those that s has, found by row ids. */
struct rql_columns_changed {
	struct rql_row_changes changes; /* ascending, each id once, none both gone and renewed */
	uint64_t gone_below, renewed_below; /* how many of them s has: ids up to its greatest */
	uint64_t *gone, *renewed;           /* [..._below]: their rows in s */
	int64_t *gaps; /* s's, and what is gone: what s is to have afterwards */
	uint64_t gap_count;
};
/* s was just read (unpublished): which ids up to its greatest are no row's, where there are some. A wish only: without
 * them s is read again after changes. */
void rql_columns_find_gaps(struct rql_structure *s, struct rql_host_con *con);
/* The changes since version `since` up to s's. *known: ids say which of s's rows they are; release them in any case. */
rql_status rql_columns_changed_find(const struct rql_structures *all, const struct rql_structure *s, uint64_t since,
                                    struct rql_columns_changed *out, bool *known, struct rql_error *err) RQL_MUST_CHECK;
void rql_columns_changed_clear(struct rql_columns_changed *changed);
/* In the transaction that reads the table: has no row an id of a row that is gone? Else ids were given anew. */
rql_status rql_columns_changed_check(const struct rql_structure *s, struct rql_host_con *con,
                                     const struct rql_columns_changed *changed, bool *same,
                                     struct rql_error *err) RQL_MUST_CHECK;
/* Reads renewed rows and changes s's store; *same false: not all of them are there. */
rql_status rql_columns_changed_apply(const struct rql_structure *s, struct rql_host_con *con,
                                     const struct rql_columns_changed *changed, bool *same,
                                     struct rql_error *err) RQL_MUST_CHECK;

#define RQL_COLUMNS_LEFT_OUT "left out," /* how a note about columns that * could not take begins */
/* What the two files of building share: s's table, qualified; one row of `count` integers. */
void rql_columns_put_table(struct rql_strbuf *out, const struct rql_structure *s);
rql_status rql_columns_count(struct rql_host_con *con, const char *sql, uint32_t count, int64_t *out,
                             struct rql_error *err) RQL_MUST_CHECK;

#endif

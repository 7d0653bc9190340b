/* What becomes of structures of every kind: bound after reopening, read from side files, rebuilt, invalidated, removed.
 * Private to exec/. */
#ifndef RQL_EXEC_STRUCTURE_H
#define RQL_EXEC_STRUCTURE_H

#include "exec/exec_internal.h"

/* DuckDB's own text of a view; malloc'ed, NULL: there is none. */
rql_status rql_view_text(struct rql_database *db, const char *schema, const char *name, char **out,
                         struct rql_error *err) RQL_MUST_CHECK;
/* The structure of this kind and name, retained; NULL: there is none. */
struct rql_structure *rql_structure_find(struct rql_database *db, const char *schema, const char *name,
                                         enum rql_structure_kind kind);
/* Builds the contents of v (unpublished, defined), whatever its kind. What rayql_auto_columns loaded makes room. */
rql_status rql_structure_build(struct rql_session *s, struct rql_structure *v, struct rql_error *err) RQL_MUST_CHECK;
/* With the build lock held; takes over the reference to old. use_side: its side file will do, when it is still right. A
 * columns structure whose table only grew is extended. */
rql_status rql_structure_rebuild(struct rql_session *s, struct rql_structure *old, bool use_side,
                                 struct rql_error *err) RQL_MUST_CHECK;
/* Gives the build lock back and does what others wanted done meanwhile. */
void rql_structures_unlock(struct rql_session *s);

#endif

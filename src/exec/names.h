/* What RayQL's own statements share. Private to exec/. */
#ifndef RQL_EXEC_NAMES_H
#define RQL_EXEC_NAMES_H

#include "exec/exec_internal.h"

/* RayQL's own statements that change something run outside transactions only, and not on a read-only database. */
rql_status rql_refuse_inside(const struct rql_session *s, const char *what, struct rql_error *err) RQL_MUST_CHECK;
rql_status rql_refuse_read_only(const struct rql_session *s, const char *type, struct rql_error *err) RQL_MUST_CHECK;

struct rql_name { /* in the database that was opened; malloc'ed */
	char *schema, *name;
};
void rql_name_free(struct rql_name *n);
/* As DuckDB finds a name: a.b may be schema.b or database.b; without a schema it is the current one. what:
 * "materialized views", for the message that they live in no other database. */
rql_status rql_name_resolve(struct rql_session *s, const char *sql, const struct rql_qualified_name *given,
                            const char *what, struct rql_name *out, struct rql_error *err) RQL_MUST_CHECK;
/* Has the committed catalog such an object (rql_put_objects)? It is asked on a connection of its own: the user's may have
 * a query log and a search path, and what fails there may abort a transaction. */
rql_status rql_host_has(struct rql_database *db, const char *function, const char *column, const char *schema,
                        const char *name, bool *out, struct rql_error *err) RQL_MUST_CHECK;
/* *kind: "View", "Table", or NULL: what DuckDB has under the name. */
rql_status rql_host_object(struct rql_database *db, const struct rql_name *n, const char **kind,
                           struct rql_error *err) RQL_MUST_CHECK;

#endif

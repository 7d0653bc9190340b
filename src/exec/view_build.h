/* Building a structure's contents. Private to exec/. */
#ifndef RQL_EXEC_VIEW_BUILD_H
#define RQL_EXEC_VIEW_BUILD_H

#include "exec/exec_internal.h"

/* Waits for the database's build lock, polling for an interrupt; try_only: RQL_ERROR_STALE when another session has
 * it. */
rql_status rql_build_lock(struct rql_session *s, bool try_only, struct rql_error *err) RQL_MUST_CHECK;
void rql_build_unlock(struct rql_session *s);
/* Gives s (unpublished) the definition, its tables and its hash; takes the definition's reference over, also on
 * failure. Refuses definitions
 * over anything but tables of the database itself. */
rql_status rql_build_define(struct rql_database *db, struct rql_structure *s, struct rql_definition *def,
                            struct rql_error *err) RQL_MUST_CHECK;
/* Plans s's query on the loader connection with the search path of its CREATE. */
rql_status rql_build_bind(struct rql_database *db, const struct rql_structure *s, struct rql_definition **out,
                          struct rql_error *err) RQL_MUST_CHECK;
/* Reads the rows and builds; on success s (unpublished, defined) is READY, with the versions of the snapshot that was
 * read. When
 * tables move meanwhile it is tried once more; what then comes out is stale and says so by its versions. */
rql_status rql_build_run(struct rql_session *session, struct rql_structure *s, struct rql_error *err) RQL_MUST_CHECK;
/* What builds of every kind need: */
char *rql_build_hash(const char *text); /* malloc'ed hex digest; NULL: out of memory */
/* The versions of s's tables now; waits some seconds for writes in flight, which would only make the contents stale before
 * they are there. */
rql_status rql_build_note_versions(struct rql_session *session, struct rql_structure *s,
                                   struct rql_error *err) RQL_MUST_CHECK;
uint64_t rql_build_estimate(const struct rql_structure *s, struct rql_host_con *con); /* rows of the largest table */
/* The connection that an interrupt of the session has to interrupt, too; NULL: none any more. */
void rql_build_set_running(struct rql_session *session, struct rql_host_con *con);
/* Writes the side file of s (unpublished, READY); a failure is kept as s->note. */
void rql_build_save(struct rql_database *db, struct rql_structure *s);

#endif

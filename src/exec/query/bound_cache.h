/* Bound statements by their shape: what a session has had the host bind, for other values of the literals. */
#ifndef RQL_EXEC_BOUND_CACHE_H
#define RQL_EXEC_BOUND_CACHE_H

#include "bind/normal/bound.h"
#include "exec/exec_internal.h"

/* A statement about to be planned: its literals, and the bound statement that serves it. */
struct rql_binding {
	struct rql_arena *arena; /* of the literals */
	struct rql_literals literals;
	bool readable;            /* the literals are known: the text ends where its tokens do */
	bool found;               /* bound was in the cache */
	struct rql_bound *bound;  /* retained */
	struct rql_columns *columns; /* of the result, retained; NULL: not asked for yet */
};

struct rql_bound_cache *rql_bound_cache_new(void);
void rql_bound_cache_free(struct rql_bound_cache *cache);

rql_status rql_binding_open(struct rql_binding *b, const char *sql, struct rql_error *err) RQL_MUST_CHECK;
void rql_binding_close(struct rql_binding *b);
/* Binds the statement, or finds what was bound under the epochs of `now`. */
rql_status rql_binding_get(const struct rql_session *s, const struct rql_plan_context *ctx, const char *sql,
                           const struct rql_cache_entry *now, struct rql_binding *b,
                           struct rql_error *err) RQL_MUST_CHECK;
/* Keeps b's bound statement with b's columns, which are known, for statements of its shape; or learns from it what may
 * differ in the one that is kept. */
void rql_bound_cache_put(struct rql_bound_cache *cache, const struct rql_cache_entry *now, const struct rql_binding *b);

#endif

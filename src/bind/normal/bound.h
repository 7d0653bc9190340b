/* A statement as the host binds it, read once, and planned for any values of its literals.
 *
 * To have a plan from DuckDB and to read it takes far longer than all that RayQL does with it. A bound statement is kept
 * by its shape (sql/literal.h); nothing of it depends on tables' contents. A literal may take other values once it is
 * proven: two statements that differed in it were both bound, and the second's plan was the first's with the second's
 * values. Each statement is then planned whole with its own values, so no decision of another one's stands. */
#ifndef RQL_BIND_BOUND_H
#define RQL_BIND_BOUND_H

#include "bind/context.h"

struct rql_bound {
	struct rql_arena *arena; /* counted references: plans hold what lies in it */
	uint32_t references;     /* of one connection: no lock */
	const struct rql_rel *root; /* NULL: it could not be had or read */
	const char *reason;         /* root NULL: why; else "" */
	struct rql_plan_facts facts;
	struct rql_literals literals;
	bool *free;    /* [literals.count]: may take other values */
	bool *proven;  /* ... and did */
	bool reusable; /* for other statements of the shape: some literal is free */
	struct rql_points points; /* rql_plan_point_literals */
};

/* Fails only for RQL_ERROR_MEMORY and RQL_ERROR_INTERRUPTED; the text is copied. */
rql_status rql_bound_make(const struct rql_plan_context *ctx, const char *sql, struct rql_bound **out,
                          struct rql_error *err) RQL_MUST_CHECK;
void rql_bound_retain(struct rql_bound *bound);
void rql_bound_release(struct rql_bound *bound); /* NULL accepted */
/* Is a statement with these literals this one with other values of its free literals? */
bool rql_bound_is_like(const struct rql_bound *bound, const struct rql_literals *literals);
/* ... of its proven ones? Then its plan is had from this one. */
bool rql_bound_serves(const struct rql_bound *bound, const struct rql_literals *literals);
/* `fresh` is like it, and was bound behind another offset. True: its plan is this one's with its values, which proves the
 * literals that differ. False: it is not, or nobody can tell. */
bool rql_bound_learn(struct rql_bound *bound, const struct rql_bound *fresh);
/* What the result's columns are called may come from a literal's text: such a literal is not free. */
void rql_bound_keep_names(struct rql_bound *bound, const char *const *names, uint32_t count);

#endif

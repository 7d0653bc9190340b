/* DELETE and UPDATE whose rows columns can follow: what follow.c, follow_text.c and follow_inside.c share. */
#ifndef RQL_EXEC_FOLLOW_H
#define RQL_EXEC_FOLLOW_H

#include "exec/exec_internal.h"

/* ---- the text (follow_text.c) ---- */
struct rql_follow_form {
	bool update;
	uint32_t where, end; /* bytes of the condition, from WHERE on; where == end: there is none */
};
/* False: it is of another form. */
bool rql_follow_read(const char *sql, struct rql_follow_form *out);

/* What names in a condition may be. */
struct rql_follow_names {
	const struct rql_store_snapshot *snapshot; /* columns */
	bool parameters;                           /* have values */
	bool (*is_stable)(void *state, const char *function, uint32_t length);
	void *state;
};
/* Does the condition say the same of a row whenever it is asked in one transaction? */
bool rql_follow_is_repeatable(const char *sql, const struct rql_follow_form *form,
                              const struct rql_follow_names *names);

#define RQL_FOLLOW_BINDS_MOST 64u
struct rql_follow_binds {
	uint32_t count;
	const struct rql_value *values[RQL_FOLLOW_BINDS_MOST]; /* borrowed from the prepared statement */
};
/* The condition with parameters $1, $2 ... of its own, malloc'ed. NULL: one has no value, or they are too many.
 * prepared NULL: there are none. */
char *rql_follow_condition(const char *sql, const struct rql_follow_form *form,
                           const struct rql_prepared_query *prepared, struct rql_follow_binds *out);

/* What the host says: a question for one integer that ends where "= the name, in lower case" follows. 0: it has failed. */
int64_t rql_follow_ask(struct rql_session *s, const char *question, const char *name);

/* ---- the rows (follow.c) ---- */
struct rql_follow {
	struct rql_structure *structure; /* one that is to follow; its table is the statement's */
	char *condition;                 /* from WHERE on; "" without */
	struct rql_follow_binds binds;
	bool update;
	bool found;                      /* `changes` has all of them */
	struct rql_row_changes changes;
};
/* Rows that the transaction itself has added need not be followed: they are not there before it is committed. */
void rql_follow_drop_added(struct rql_follow *f);
#define RQL_FOLLOW_ROWS_MOST (1u << 17) /* changed by one statement, or in one transaction */
/* Rows that the connection's own transaction has added to the table. */
rql_status rql_follow_count_added(const struct rql_follow *f, struct rql_host_con *con, int64_t *out,
                                  struct rql_error *err) RQL_MUST_CHECK;

#endif

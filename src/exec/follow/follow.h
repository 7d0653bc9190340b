/* DELETE and UPDATE whose rows columns can follow: what the files follow*.c share. */
#ifndef RQL_EXEC_FOLLOW_H
#define RQL_EXEC_FOLLOW_H

#include "exec/exec_internal.h"
#include "sql/rel/rel.h"

/* ---- the text (follow_text.c) ---- */
struct rql_follow_span {
	uint32_t start, end; /* bytes of the text; none where they are equal */
};
struct rql_follow_form {
	bool update;
	bool plain; /* a table without alias or qualification, and no other tables beside it */
	struct rql_follow_span with;   /* the tables before the verb */
	struct rql_follow_span table;  /* with its alias */
	struct rql_follow_span others; /* behind USING or FROM */
	struct rql_follow_span where;  /* the condition */
	struct rql_follow_span also;   /* another one */
	bool adds_only;                /* none of the rows that there are changes */
	bool upsert;                   /* INSERT that changes rows of the same key; `others` is its query */
	struct rql_follow_span columns; /* of upsert: that are given; none: all */
	struct rql_follow_span keys;    /* of upsert: by which rows are the same; none: the table's only ones */
	struct rql_token name;         /* that qualifies the table's columns */
};
/* False: it is of another form. */
bool rql_follow_read(const char *sql, struct rql_follow_form *out);

/* ---- VALUES of an upsert (follow_values.c) ---- */
/* Has each column of several rows literals of one kind, so that a common type changes none of them? */
bool rql_follow_are_values_alike(const char *sql, struct rql_follow_span query);

/* ---- the question (follow_question.c) ---- */
/* What names in a condition may be. */
struct rql_follow_names {
	const struct rql_store_snapshot *snapshot; /* columns */
	bool parameters;                           /* have values */
	bool (*is_stable)(void *state, const char *function, uint32_t length);
	void *state;
};
/* Does the condition of a plain form say the same of a row whenever it is asked in one transaction, as far as tokens
 * tell? */
bool rql_follow_is_repeatable(const char *sql, const struct rql_follow_form *form,
                              const struct rql_follow_names *names);

#define RQL_FOLLOW_BINDS_MOST 64u
struct rql_follow_question {
	char *text;    /* SELECT ... rowid FROM ..., with parameters $1, $2 ... of its own */
	char *planned; /* the same with their values; NULL: they have no text */
	uint32_t count;
	const struct rql_value *values[RQL_FOLLOW_BINDS_MOST]; /* borrowed from the prepared statement */
};
/* Of an upsert (follow_keys.c): names of the columns that are given, and the condition over the two. */
#define RQL_FOLLOW_OLD "rayql_old"
#define RQL_FOLLOW_NEW "rayql_new"
struct rql_follow_keys {
	char *columns, *condition; /* malloc'ed */
};
/* False: it cannot be told. */
bool rql_follow_keys_find(struct rql_session *s, const char *sql, const struct rql_follow_form *form,
                          const struct rql_table *table, struct rql_follow_keys *out);
void rql_follow_keys_clear(struct rql_follow_keys *keys);
/* The query for the row ids. table: in the place of the form's; NULL: as it was written. keys: of an upsert, else NULL.
 * prepared NULL: there are no parameters. False: one has no value, they are too many, or out of memory. */
bool rql_follow_ask_rows(const char *sql, const struct rql_follow_form *form, const char *table,
                         const struct rql_follow_keys *keys, const struct rql_prepared_query *prepared,
                         struct rql_follow_question *out);
void rql_follow_question_clear(struct rql_follow_question *question);

/* ---- the plan (follow_plan.c) ---- */
/* Does the query say the same whenever it is asked in one transaction? *table, in arena: whose row ids it gives. */
bool rql_follow_plan_is_repeatable(struct rql_session *s, const char *query, struct rql_arena *arena,
                                   struct rql_table_ref *table);

/* ---- the schema (follow_schema.c) ---- */
/* Is every function of the name the host's own, and not volatile? state: the session. */
bool rql_follow_is_stable(void *state, const char *function, uint32_t length);
/* Is an operator a macro of the user's? */
bool rql_follow_has_macro_operators(struct rql_session *s);
/* Inside a transaction: are there sequences, which a binding may move? */
bool rql_follow_has_sequences(struct rql_session *s);
/* Have two tables or views the same name, so that it depends on the search path which one is meant? */
bool rql_follow_has_namesakes(struct rql_session *s);

/* ---- the rows (follow.c) ---- */
struct rql_follow {
	struct rql_structure *structure; /* one that is to follow; its table is the statement's */
	struct rql_follow_question question;
	bool update;
	bool found;                      /* `changes` has all of them */
	struct rql_row_changes changes;
};
#define RQL_FOLLOW_ROWS_MOST (1u << 20) /* changed by one statement, or in one transaction */

#endif

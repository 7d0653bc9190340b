/* A statement's literals: what its plan may be bound to anew.
 *
 * Two statements of one shape differ in the values of their literals alone: DuckDB binds them to the same tree. A shape is
 * the text's tokens, each literal replaced by its class: a number's type, digits, and the integer types that it fits into
 * (what the binder makes of `k = 5` depends on that), or that it is a string. */
#ifndef RQL_SQL_LITERAL_H
#define RQL_SQL_LITERAL_H

#include "column/value/value.h"
#include "util/arena.h"
#include <stdint.h>

struct rql_literal {
	uint32_t start, length; /* in the text */
	struct rql_value value; /* what DuckDB makes of it; strings borrowed from the arena */
};

/* Lives in the arena that it was read into. */
struct rql_literals {
	uint32_t count;
	struct rql_literal *items; /* those that RayQL can read; the others are part of the shape as they are written */
	const char *text;          /* borrowed */
	const char *shape;         /* may hold bytes of 0 */
	size_t shape_length;
	uint32_t token_count;
	uint32_t *tokens; /* where each token begins, ascending */
};

/* false: out of memory, or the text ends within a token. */
bool rql_literals_read(struct rql_arena *arena, const char *sql, struct rql_literals *out);
/* The literal that begins at the position, or behind a minus sign there (*minus); NULL: there is none. */
const struct rql_literal *rql_literal_at(const struct rql_literals *literals, uint64_t position, bool *minus);
bool rql_literals_token_at(const struct rql_literals *literals, uint64_t position);
bool rql_literal_equal(const struct rql_literals *a, const struct rql_literals *b, uint32_t index);
/* -value, for a number. */
struct rql_value rql_literal_negated(struct rql_value value);

#endif

/* A growing string. An allocation failure is remembered: check `failed` once at the end. */
#ifndef RQL_UTIL_STRBUF_H
#define RQL_UTIL_STRBUF_H

#include <stdbool.h>
#include <stddef.h>
#include "util/status.h"

struct rql_strbuf {
	char *data; /* NUL-terminated when length > 0 or after rql_strbuf_text; malloc'ed */
	size_t length, capacity;
	bool failed;
};

void rql_strbuf_free(struct rql_strbuf *buf);
void rql_strbuf_clear(struct rql_strbuf *buf); /* keeps the capacity */
void rql_strbuf_put(struct rql_strbuf *buf, const char *text);
void rql_strbuf_put_n(struct rql_strbuf *buf, const char *text, size_t length);
void rql_strbuf_putc(struct rql_strbuf *buf, char c);
void rql_strbuf_printf(struct rql_strbuf *buf, const char *fmt, ...) RQL_PRINTF(2, 3);
/* Appends text as an SQL identifier ("a""b") or string literal ('it''s'). */
void rql_strbuf_put_ident(struct rql_strbuf *buf, const char *name);
void rql_strbuf_put_literal(struct rql_strbuf *buf, const char *text, size_t length);
/* The text so far, never NULL; valid until the next call on buf. */
const char *rql_strbuf_text(struct rql_strbuf *buf);
/* The same where no allocation failed, else NULL: for SQL, which must not be run when it is cut off. host/host.h takes NULL
 * as out of memory. */
const char *rql_strbuf_sql(struct rql_strbuf *buf);
/* Hands the malloc'ed text over and empties buf; NULL when an allocation failed. */
char *rql_strbuf_take(struct rql_strbuf *buf);

#endif

/* Shared by deparse.c and deparse_rel.c. Private to src/sql. */
#ifndef RQL_SQL_DEPARSE_INTERNAL_H
#define RQL_SQL_DEPARSE_INTERNAL_H

#include "sql/rel/rel.h"

/* false: a type that cannot be written in SQL with certainty. */
bool rql_type_print_sql(struct rql_strbuf *out, struct rql_type type);
/* Behind a VARCHAR: it is compared as bytes, whatever default_collation is. */
#define RQL_AS_BYTES " COLLATE \"binary\""
/* "ORDER BY a ASC NULLS LAST, ..."; nothing for no orders. */
bool rql_orders_print(struct rql_strbuf *out, const struct rql_order *orders, uint32_t count, rql_ref_printer *ref,
                      void *state);

#endif

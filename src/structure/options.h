/* WITH (...) of the statements that define structures (options.c): what each kind of statement may say. Read as
 * rql_structure_kind.options; printed are all that matter: "rollup = off, refresh = auto, order = (a, b)". */
#ifndef RQL_STRUCTURE_OPTIONS_H
#define RQL_STRUCTURE_OPTIONS_H

#include "structure/structure.h"

rql_status rql_view_options_read(struct rql_arena *arena, const char *sql, const struct rql_statement *st,
                                 struct rql_structure_options *out, struct rql_error *err) RQL_MUST_CHECK;
void rql_view_options_print(struct rql_strbuf *out, const struct rql_structure_options *options);
rql_status rql_columns_options_read(struct rql_arena *arena, const char *sql, const struct rql_statement *st,
                                    struct rql_structure_options *out, struct rql_error *err) RQL_MUST_CHECK;
void rql_columns_options_print(struct rql_strbuf *out, const struct rql_structure_options *options);

#endif

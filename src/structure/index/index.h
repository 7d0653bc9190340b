/* What kinds of indexes share: they hold no rows of their own, but are of the columns that a columns structure of their
 * table holds (index.c). Only this folder sees it. */
#ifndef RQL_STRUCTURE_INDEX_INDEX_H
#define RQL_STRUCTURE_INDEX_INDEX_H

#include "structure/columns/columns.h"
#include "structure/kind.h"

extern const struct rql_structure_kind rql_structure_sieve;
extern const struct rql_structure_kind rql_structure_rx_index;
extern const struct rql_structure_kind rql_structure_cgrx_index;

/* rql_structure_kind.describe, of those that have one to four key columns; check as of columns.h. */
rql_status rql_structure_index_describe(const struct rql_structure_kind *kind, const struct rql_plan_context *plan,
                                        struct rql_structures *all, const char *sql, const struct rql_statement *st,
                                        rql_columns_check *check, const struct rql_structure_options *options,
                                        struct rql_structure **out, struct rql_error *err) RQL_MUST_CHECK;
/* rays.c: do the options hold the keys of these columns? A new index fails where they do not; for another one this is
 * a notice of the statement, and its note. */
rql_status rql_structure_rays_check(struct rql_build_context *ctx, struct rql_structure *s,
                                    const struct rql_store_snapshot *snapshot, const struct rql_index_of *of,
                                    struct rql_error *err) RQL_MUST_CHECK;

/* rql_structure_kind's. */
rql_status rql_structure_index_bind(struct rql_structures *all, struct rql_structure *s,
                                    struct rql_error *err) RQL_MUST_CHECK;
rql_status rql_structure_index_build(struct rql_build_context *ctx, struct rql_structure *s,
                                     struct rql_error *err) RQL_MUST_CHECK;
void rql_structure_index_size(struct rql_structures *all, const struct rql_structure *s,
                              struct rql_structure_size *out);
rql_status rql_structure_index_save(struct rql_structures *all, const struct rql_structure *s,
                                    const struct rql_file_place *place, const char *identity,
                                    struct rql_error *err) RQL_MUST_CHECK;
rql_status rql_structure_index_load(struct rql_structures *all, struct rql_structure *s,
                                    const struct rql_file_place *place, const char *identity,
                                    struct rql_error *err) RQL_MUST_CHECK;
uint64_t rql_structure_index_on_device(struct rql_structures *all, const struct rql_structure *s,
                                       const struct rql_device *device, char *kinds, size_t size, double *ms,
                                       const char **failure);
uint64_t rql_structure_index_mark(struct rql_structures *all, const struct rql_structure *s);

#define RQL_INDEX_KIND(text)                                                                                           \
	.name = text, .refresh = "REFRESH INDEX", .first = "refresh, then look up", .suffix = "." text,                    \
	.moved = "its side file was not used: its table has other columns than when it was written",                       \
	.reads = RQL_READS_INDEX, .statement = RQL_STATEMENT_CREATE_INDEX,         \
	.bind = rql_structure_index_bind, .build = rql_structure_index_build, .size = rql_structure_index_size,     \
	.save = rql_structure_index_save, .load = rql_structure_index_load, .mark = rql_structure_index_mark,     \
	.on_device = rql_structure_index_on_device

#endif

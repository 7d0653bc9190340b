/* What the files of structure/ share, the kinds' among them. */
#ifndef RQL_STRUCTURE_STRUCTURE_INTERNAL_H
#define RQL_STRUCTURE_STRUCTURE_INTERNAL_H

#include "structure/side_internal.h"

/* ---- building (build.c) ---- */
/* A new structure without contents, not yet published, of this kind and these options; with database, schema, name. */
rql_status rql_structure_describe(const struct rql_structures *all, const struct rql_structure_kind *kind,
                                  const char *schema, const char *name, const struct rql_structure_options *options,
                                  struct rql_structure **out, struct rql_error *err) RQL_MUST_CHECK;
char *rql_structure_hash(const char *text); /* malloc'ed hex digest; NULL: out of memory */
/* Gives s (unpublished) its tables and the hash of its definition, a malloc'ed text that is taken over, also on
 * failure. A side file of another definition is not used any more. */
rql_status rql_structure_define(struct rql_structure *s, uint32_t count, struct rql_table *const *tables, char *hash,
                                struct rql_error *err) RQL_MUST_CHECK;
/* Is (database, schema, table) a table that a structure may read? RQL_ERROR_STATEMENT; `cannot` and `can` begin the
 * messages: "a materialized view cannot read". */
rql_status rql_structure_check_table(const struct rql_structures *all, const struct rql_table_ref *table,
                                     const char *cannot, const char *can, struct rql_error *err) RQL_MUST_CHECK;
/* The versions of s's tables now; waits some seconds for writes in flight, which would only make the contents stale
 * before they are there. */
rql_status rql_build_note_versions(struct rql_build_context *ctx, struct rql_structure *s,
                                   struct rql_error *err) RQL_MUST_CHECK;
/* Begins to show the progress of reading `rows`. */
void rql_build_show(struct rql_build_context *ctx, const char *phase, uint64_t rows);
uint64_t rql_build_estimate(const struct rql_structure *s, struct rql_host_con *con); /* rows of the largest table */
/* Runs read on con, which an interrupt reaches meanwhile. con is closed. */
rql_status rql_build_on(struct rql_build_context *ctx, struct rql_host_con *con,
                        rql_status (*read)(void *state, struct rql_host_con *con, struct rql_error *err), void *state,
                        struct rql_error *err) RQL_MUST_CHECK;
/* Calls once, which replaces the result of the call before, until s's tables have not moved meanwhile, or twice. */
rql_status rql_build_settled(struct rql_build_context *ctx, struct rql_structure *s,
                             rql_status (*once)(void *state, struct rql_error *err), void *state,
                             struct rql_error *err) RQL_MUST_CHECK;
/* The contents of before are given up; s is READY, the caller sets the new ones. start: rql_now_ns. */
void rql_build_ready(struct rql_structure *s, uint64_t start);

/* Publishes s, which it takes over; with the lock held. Indexes of columns that are published get what their side files
 * have of them. */
rql_status rql_structure_publish(struct rql_build_context *ctx, struct rql_structure *s,
                                 struct rql_error *err) RQL_MUST_CHECK;

/* ---- side files ---- */
/* Writes the side file of s (unpublished, READY); a failure is kept as s->note. */
void rql_structure_save(struct rql_structures *all, struct rql_structure *s);

/* ---- devices (place.c) ---- */
/* Puts s (unpublished, READY) on the devices that it and the session want. What does not work is a note of s and, with
 * rayql_fallback = 'notice', a notice of the statement: the CPU has the contents all the same. */
void rql_device_place(struct rql_build_context *ctx, struct rql_structure *s);
/* Writes what rql_device_place made there beside s's side file. */
void rql_device_save(struct rql_structures *all, const struct rql_structure *s);

/* Publishes a copy of what s is now that `mark` has changed; false of mark: there is nothing to say any more. */
void rql_device_mark(struct rql_structures *all, const struct rql_structure *s, const struct rql_device *device,
                     const char *message,
                     bool (*mark)(struct rql_structure *copy, const struct rql_structure *s,
                                  const struct rql_device *device, const char *message));

/* ---- automatic columns (columns/auto.c) ---- */
/* Gives up the automatic structure that was used longest ago, but `keep` (may be NULL); false: there is none. */
bool rql_columns_evict(struct rql_build_context *ctx, const struct rql_structure *keep);

#endif

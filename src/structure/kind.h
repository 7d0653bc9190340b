/* The contract of kinds of structures: one table of functions a kind, listed by rql_structure_kinds(). Who makes, keeps
 * and describes structures knows a kind only so. */
#ifndef RQL_STRUCTURE_KIND_H
#define RQL_STRUCTURE_KIND_H

#include "structure/structure.h"

/* What rayql_structures() says of contents. */
struct rql_structure_size {
	uint64_t rows, bytes;
	bool rolled_up, has_cells; /* has_cells false: neither cells nor rolled_up mean anything */
	uint64_t cells;
};

struct rql_structure_kind {
	const char *name;      /* "cube": in rayql.structures and in rayql_structures() */
	const char *refresh;   /* "REFRESH INDEX": the statement that makes it anew */
	const char *first;     /* "refresh, then scan": what a query of it would do first */
	const char *suffix;    /* of its side files: ".cube" */
	const char *moved;     /* why a side file is not used whose definition is another now */
	enum rql_reads reads;
	enum rql_statement_kind statement; /* that defines it */

	/* ---- definition ---- */
	/* Reads WITH (...) of such a statement. */
	rql_status (*options)(struct rql_arena *arena, const char *sql, const struct rql_statement *st,
	                      struct rql_structure_options *out, struct rql_error *err);
	/* Prints those of a CREATE INDEX, for the stored statement. NULL: it has none. */
	void (*put_options)(struct rql_strbuf *out, const struct rql_structure_options *options);
	/* What the statement says, as the session's connection (plan's) finds it: a new structure, not yet published. sql:
	 * for carets. schema: where a view lives; an index lives with its table. */
	rql_status (*describe)(const struct rql_plan_context *plan, struct rql_structures *all, const char *sql,
	                       const struct rql_statement *st, const char *schema,
	                       const struct rql_structure_options *options, struct rql_structure **out,
	                       struct rql_error *err);
	/* DuckDB's side of s (unpublished) is there now. NULL: there is none. */
	void (*stored)(struct rql_structures *all, struct rql_structure *s);
	/* Gives s (unpublished) its tables and what else its own statement says, as the loader connection finds it. */
	rql_status (*bind)(struct rql_structures *all, struct rql_structure *s, struct rql_error *err);
	/* What DuckDB keeps for it was dropped or replaced by plain SQL. NULL: it keeps nothing. */
	bool (*is_gone)(struct rql_structures *all, const struct rql_structure *s);

	/* ---- contents; s is unpublished and bound ---- */
	/* On success s is READY with the versions of the snapshot that was read. When tables move meanwhile it is tried
	 * once more; what then comes out is stale and says so by its versions. */
	rql_status (*build)(struct rql_build_context *ctx, struct rql_structure *s, struct rql_error *err);
	/* s is READY and nothing but rows were added to its table: adds them. *done false: they cannot be told apart any
	 * more (or are too many, or came in another order than the table's), so it must be built again. NULL: it never can.
	 */
	rql_status (*append)(struct rql_build_context *ctx, struct rql_structure *s, bool *done, struct rql_error *err);
	/* The payload of a side file; identity must be what was given to save. An index's is what is there of it: load is
	 * called when the columns that it is of are there, and is content with what fits them. */
	rql_status (*save)(struct rql_structures *all, const struct rql_structure *s, const struct rql_file_place *place,
	                   const char *identity, struct rql_error *err);
	rql_status (*load)(struct rql_structures *all, struct rql_structure *s, const struct rql_file_place *place,
	                   const char *identity, struct rql_error *err);
	/* What there is of an index, as a number: another one when that changes, 0 when nothing is. NULL: it is no index. */
	uint64_t (*mark)(struct rql_structures *all, const struct rql_structure *s);

	/* ---- devices ---- */
	/* How a method's contents are placed ahead of the first query. NULL: that query places what it reads. */
	const struct rql_contents *contents;
	/* Bytes on a device; kinds: "arrays in 0.4 ms", "3 of 17 columns in 2.1 ms"; *failure: why it is not used there. */
	uint64_t (*on_device)(struct rql_structures *all, const struct rql_structure *s, const struct rql_device *device,
	                      char *kinds, size_t size, double *ms, const char **failure);
	/* A run failed on the device: nobody's plans use s there any more, and what lies there is given up. */
	void (*fail)(struct rql_structures *all, const struct rql_structure *s, const struct rql_device *device,
	             const char *message);

	/* ---- what it is; s is READY ---- */
	void (*size)(struct rql_structures *all, const struct rql_structure *s, struct rql_structure_size *out);
	/* The columns of its key in their order. NULL: it has no key. */
	void (*put_order)(const struct rql_structure *s, struct rql_strbuf *out);
};

const struct rql_structure_kind *const *rql_structure_kinds(void); /* NULL-terminated */
const struct rql_structure_kind *rql_structure_kind_named(const char *name, size_t length); /* NULL: there is none */
/* The one that such a statement defines when it names none. */
const struct rql_structure_kind *rql_structure_kind_of(enum rql_statement_kind statement);

#endif

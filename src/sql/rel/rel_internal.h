/* Shared by the files that read DuckDB's plan JSON. Private to src/sql. */
#ifndef RQL_SQL_REL_INTERNAL_H
#define RQL_SQL_REL_INTERNAL_H

#include <json-c/json.h>
#include <string.h>
#include "sql/rel/rel_edit.h"

/* JSON nesting that is read at all (an expression level costs two to three) and the text that is read at all. */
#define RQL_PLAN_DEPTH 1500
#define RQL_PLAN_BYTES (256u << 20)
#define RQL_TYPE_DEPTH 32
#define RQL_PLAN_CTES 1000u /* common table expressions of a plan that are read at all */

/* The name of the DISTINCT node that stands for a DELIM_GET. */
#define RQL_DELIM_GET "LOGICAL_DELIM_GET"
/* The common table expressions that the reader makes of the outer sides of correlated subqueries have numbers from here
 * on: those of plans count from 0. */
#define RQL_DELIM_CTE (1ull << 62)

struct rql_cte_scope {
	uint64_t index;
	const struct rql_rel *definition;
	struct rql_cte_scope *next;
};

/* A DELIM_JOIN whose right side is being read: DELIM_GET reads the distinct values of its columns. */
struct rql_delim_scope {
	uint64_t cte;
	const struct rql_rel *outer;
	uint32_t column_count;
	struct rql_expr **columns; /* over outer's columns */
};

/* State of one parse. Running out of memory sets no_memory; what is returned is then NULL. */
struct rql_plan_reader {
	struct rql_arena *arena;
	enum rql_plan_dialect dialect;
	bool no_memory;
	struct rql_cte_scope *ctes, *seen_ctes; /* around what is read; all so far, without definitions */
	struct rql_delim_scope *delim;
	struct rql_plan_source *source; /* NULL: places in the text do not matter */
	uint64_t next_cte; /* numbers for CTEs that the plan does not have */
};

/* What an expression's BOUND_REFs may point to. */
struct rql_scope {
	uint32_t count;
	const struct rql_type *types;
};

/* ---- fields: absent and wrongly typed ones give the default, as the serialiser leaves defaults out ---- */
static inline struct json_object *rql_json_field(struct json_object *object, const char *name)
{
	struct json_object *value = NULL;
	if (!object || !json_object_is_type(object, json_type_object))
		return NULL;
	return json_object_object_get_ex(object, name, &value) ? value : NULL;
}

static inline const char *rql_json_text(struct json_object *object, const char *name)
{
	struct json_object *value = rql_json_field(object, name);
	return value && json_object_is_type(value, json_type_string) ? json_object_get_string(value) : "";
}

static inline bool rql_json_bool(struct json_object *object, const char *name, bool fallback)
{
	struct json_object *value = rql_json_field(object, name);
	return value && json_object_is_type(value, json_type_boolean) ? json_object_get_boolean(value) : fallback;
}

static inline uint64_t rql_json_index_value(struct json_object *value)
{
	return value && json_object_is_type(value, json_type_int) ? json_object_get_uint64(value) : 0;
}

static inline uint64_t rql_json_index(struct json_object *object, const char *name)
{
	return rql_json_index_value(rql_json_field(object, name));
}

/* 0 for what is no array. */
static inline size_t rql_json_length(struct json_object *array)
{
	return array && json_object_is_type(array, json_type_array) ? json_object_array_length(array) : 0;
}

static inline size_t rql_json_count(struct json_object *object, const char *name)
{
	return rql_json_length(rql_json_field(object, name));
}

/* ---- plan_fields.c ---- */
/* What a node, or an object that belongs to it, says beyond what RayQL knows of its kind; NULL: nothing, or out of
 * memory. */
const char *rql_plan_operator_trouble(struct rql_plan_reader *reader, struct json_object *json, const char *type);
const char *rql_plan_expr_trouble(struct rql_plan_reader *reader, struct json_object *json, const char *class);
const char *rql_plan_root_trouble(struct rql_plan_reader *reader, struct json_object *json);
/* The values of an outer row that a correlated subquery is computed for (plan_delim.c). */
static inline bool rql_rel_is_delim_get(const struct rql_rel *rel)
{
	return rel->kind == RQL_REL_DISTINCT && !strcmp(rel->name, RQL_DELIM_GET);
}

/* ---- plan_dialect.c ---- */
/* Brings plans of DuckDB 2 into the form of 1.5's. false: out of memory. */
bool rql_plan_from_2(struct json_object *plans);
/* e is an integer division whose divisor may be 0. That is NULL in 1.5, as in all of RayQL, and an error in 2. */
bool rql_plan_divides_by_zero(const struct rql_expr *e);
/* A constant of the type that stands at the place as DATE '...' or TIMESTAMP '...', as the cast of its literal. NULL: it is
 * another one, or there is no memory. */
struct rql_expr *rql_plan_cast_literal(struct rql_plan_reader *reader, uint64_t query_location, struct rql_type type);
/* Notes of each average of the aggregation how DuckDB 2 comes to it. */
void rql_plan_note_averages(struct rql_rel *aggregate);

/* ---- plan_facts.c ---- */
/* false: out of memory. */
bool rql_plan_facts_read(struct rql_arena *arena, struct json_object *json, struct rql_plan_facts *out);

/* ---- plan_type.c ---- */
struct rql_type rql_plan_type(struct rql_plan_reader *reader, struct json_object *json);
/* false: a value that RayQL cannot hold (nested, or not of the type's shape). */
bool rql_plan_value(struct rql_plan_reader *reader, struct json_object *json, struct rql_value *out);

/* ---- plan_rows.c ---- */
/* Are these calls of row(), all with as many fields, two at least and not too many in all? */
bool rql_plan_are_rows(struct json_object *const *rows, size_t count);
/* Of such ones: the first is among the others. Never NULL. NULL: out of memory. */
struct rql_expr *rql_plan_row_in(struct rql_plan_reader *reader, struct json_object *const *rows, size_t count,
                                 struct rql_scope scope);

/* ---- plan_expr.c ---- */
struct rql_expr *rql_plan_expr(struct rql_plan_reader *reader, struct json_object *json, struct rql_scope scope);
struct rql_expr *rql_plan_expr_new(struct rql_plan_reader *reader, enum rql_expr_kind kind, struct rql_type type,
                                   uint32_t child_count);
struct rql_expr *rql_plan_expr_ref(struct rql_plan_reader *reader, uint32_t index, struct rql_type type,
                                   const char *alias);
struct rql_expr *rql_plan_expr_opaque(struct rql_plan_reader *reader, struct rql_type type, const char *fmt, ...)
	RQL_PRINTF(3, 4);
/* "COMPARE_EQUAL" -> "="; NULL for what is no comparison of two values. */
const char *rql_plan_comparison(const char *type);
/* false: out of memory, or an order that is not understood (then *opaque says so). */
bool rql_plan_orders(struct rql_plan_reader *reader, struct json_object *json, struct rql_scope scope,
                     struct rql_order **out, uint32_t *count, bool *opaque);

/* ---- plan_scan.c ---- */
/* LOGICAL_GET: the table, its pushed filters above it, the projection above those. */
struct rql_rel *rql_plan_get(struct rql_plan_reader *reader, struct json_object *json, struct rql_rel *opaque);

/* ---- plan_delim.c ---- */
/* *rel: a DELIM_JOIN, over a reference to its outer side and, as children[!flipped], its inner one with its filters pushed
 * down; it may get a projection above it. true: the inner side does not read the outer one's values any more; *join is the
 * join. */
bool rql_plan_decorrelate(struct rql_plan_reader *reader, const struct rql_delim_scope *scope, struct rql_rel **rel,
                          bool flipped, struct rql_rel **join);

/* ---- plan_delim_cte.c ---- */
/* What a correlated subquery is computed for: DISTINCT(PROJECT(columns, CTE_REF)). */
struct rql_rel *rql_plan_delim_values(struct rql_plan_reader *reader, const struct rql_delim_scope *scope);
/* cte, or where it is the outer side of a correlated subquery as DuckDB 2 plans it, what plan_delim.c makes of that. */
struct rql_rel *rql_plan_delim_of_ctes(struct rql_plan_reader *reader, struct rql_rel *cte);
/* An aggregation without keys. */
bool rql_plan_is_one_row(const struct rql_rel *rel);
/* A cross product with such a row: where that is made of no rows, its values as constants. */
struct rql_rel *rql_plan_join_row(struct rql_plan_reader *reader, struct rql_rel *cross);

/* ---- plan_parse.c ---- */
struct rql_rel *rql_plan_cte_ref(struct rql_plan_reader *reader, uint64_t index, const struct rql_rel *definition);

/* ---- rel_exists.c ---- */
/* A common table expression that is EXISTS and no more: CTE(outer, MARK join). */
bool rql_rel_is_exists(const struct rql_rel *cte);
/* The semi (anti) join that it is where its mark must be true (false). NULL: out of memory. */
struct rql_rel *rql_rel_exists(struct rql_arena *arena, const struct rql_rel *cte, bool anti);

/* ---- plan_rel.c ---- */
struct rql_rel *rql_plan_rel_new(struct rql_plan_reader *reader, enum rql_rel_kind kind, const char *name,
                                 uint32_t column_count, uint32_t child_count);
/* A FILTER over child with room for `count` conjuncts. */
struct rql_rel *rql_plan_filter_over(struct rql_plan_reader *reader, struct rql_rel *child, uint32_t count);
/* A PROJECT over child of its columns `map`; child itself when the map is empty or changes nothing, an OPAQUE node when it
 * points outside. */
struct rql_rel *rql_plan_map_columns(struct rql_plan_reader *reader, struct rql_rel *child, struct json_object *map);
/* Turns rel into an OPAQUE node that keeps its children and columns. */
struct rql_rel *rql_plan_make_opaque(struct rql_plan_reader *reader, struct rql_rel *rel, const char *fmt, ...)
	RQL_PRINTF(3, 4);

#endif

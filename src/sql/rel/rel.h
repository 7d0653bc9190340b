/* RayQL's relational algebra: what a DuckDB plan says, typed and positional, in one arena.
 *
 * Every node produces columns 0..column_count-1 with types; an expression's RQL_EXPR_REF index is a column of the
 * node's input (for a join: the left input's columns, then the right's). The tree is read-only once made. What the plan
 * says and RayQL does not know becomes RQL_REL_OPAQUE or RQL_EXPR_OPAQUE with the reason in `name`: never an error. */
#ifndef RQL_SQL_REL_H
#define RQL_SQL_REL_H

#include "column/value/value.h"
#include "sql/literal.h"
#include "util/arena.h"

enum rql_expr_kind {
	RQL_EXPR_REF,      /* index: column of the input */
	RQL_EXPR_COLUMN,   /* table, index: column of a base table of a block (bind/block/block.h makes these from REFs) */
	RQL_EXPR_CONSTANT, /* value */
	RQL_EXPR_CAST,     /* child 0 to type; try_cast */
	RQL_EXPR_COMPARE,  /* name: = <> < <= > >= "IS DISTINCT FROM" "IS NOT DISTINCT FROM"; children 2 */
	RQL_EXPR_AND,      /* children >= 2 */
	RQL_EXPR_OR,
	RQL_EXPR_NOT,
	RQL_EXPR_IS_NULL,
	RQL_EXPR_IS_NOT_NULL,
	RQL_EXPR_IN, /* child 0 in children 1.. */
	RQL_EXPR_NOT_IN,
	RQL_EXPR_BETWEEN, /* child 0 between 1 and 2; name: "[]", "[)", "(]", "()" for which bounds are included */
	RQL_EXPR_CASE,    /* when, then, when, then, ..., else */
	RQL_EXPR_COALESCE,
	RQL_EXPR_FUNCTION,  /* name: DuckDB's scalar function or operator (+ - * / year ~~ ...) */
	RQL_EXPR_AGGREGATE, /* name: sum count avg min max count_star ...; children: arguments; distinct; filter */
	RQL_EXPR_WINDOW,    /* window: only the host evaluates it */
	RQL_EXPR_SUBQUERY,  /* reserved */
	RQL_EXPR_OPAQUE,    /* name: why */
};

enum rql_order_nulls { RQL_NULLS_FIRST, RQL_NULLS_LAST };

/* How DuckDB comes to the average of integers or DECIMALs; the last digit depends on it. 2 takes the sum, as a DOUBLE, by
 * the count where it computes one of them anyway, or has one group. */
enum rql_average { RQL_AVERAGE_OWN, RQL_AVERAGE_OF_SUM, RQL_AVERAGE_EITHER };

/* What several columns may be together, for whoever looks rows up: none of the values is NULL. */
struct rql_expr_tuples {
	uint32_t parts, count;
	const struct rql_value *const *values; /* [parts][count] */
};
struct rql_expr {
	enum rql_expr_kind kind;
	struct rql_type type;
	const char *name;  /* operator or function, as DuckDB names it (sum_no_overflow is given as sum); else NULL */
	const char *alias; /* the column's name in SQL when the plan has one, else NULL */
	uint32_t index, table;
	uint32_t child_count;
	struct rql_expr **children;
	struct rql_value value;
	/* CONSTANT of a plan that was read with its text: the literal's number there and 1; 0: none. While a statement is
	 * planned: the number of its point, and 1, whose value, in whatever type, is this one's. */
	uint32_t literal;
	bool negated;     /* ... it is minus the literal */
	bool try_cast, distinct, is_operator; /* is_operator: infix or prefix in SQL */
	enum rql_average average;             /* of avg */
	struct rql_expr *filter;              /* aggregates: FILTER (WHERE ...), or NULL */
	struct rql_order *orders;             /* aggregates with ORDER BY inside, windows */
	uint32_t order_count;
	struct rql_window *window;
	/* IN of a list: of its rows those may be dropped, and need not be, that are of no tuple, of which it tests this part. NULL:
	 * it is no such test. */
	const struct rql_expr_tuples *tuples;
	uint32_t part;
};

struct rql_order {
	struct rql_expr *expr;
	bool descending;
	enum rql_order_nulls nulls;
};

struct rql_window {
	uint32_t partition_count;
	struct rql_expr **partitions;
	const char *start,
		*end; /* DuckDB's boundary names: UNBOUNDED_PRECEDING, CURRENT_ROW_RANGE, EXPR_PRECEDING_ROWS, ... */
	struct rql_expr *start_expr, *end_expr, *offset_expr, *default_expr;
	const char *exclude; /* NO_OTHER, ... */
	bool ignore_nulls;
};

enum rql_rel_kind {
	RQL_REL_GET,       /* a base table's columns; filters already pushed into it are a FILTER node above it */
	RQL_REL_DUMMY,     /* one row, no columns */
	RQL_REL_EMPTY,     /* no rows, columns of types */
	RQL_REL_VALUES,    /* rows of expressions (LOGICAL_EXPRESSION_GET, LOGICAL_COLUMN_DATA_GET as constants) */
	RQL_REL_FILTER,    /* exprs: conjuncts, all must be true */
	RQL_REL_PROJECT,   /* exprs */
	RQL_REL_AGGREGATE, /* exprs: group_count group keys, then aggregates; one grouping set */
	RQL_REL_JOIN,      /* join; conditions */
	RQL_REL_ORDER,     /* orders */
	RQL_REL_TOP_N,     /* orders, limit, offset */
	RQL_REL_LIMIT,     /* limit, offset */
	RQL_REL_DISTINCT,  /* over all columns */
	RQL_REL_DISTINCT_ON, /* exprs, orders: of the rows with equal exprs the first by the orders; of several such any */
	RQL_REL_WINDOW,    /* the input's columns, then exprs */
	RQL_REL_SETOP,     /* setop: UNION ALL, UNION, EXCEPT [ALL], INTERSECT [ALL] */
	RQL_REL_CTE,       /* children: definition, then the plan that uses it; cte index */
	RQL_REL_CTE_REF,   /* reads cte index */
	RQL_REL_OPAQUE,    /* name: why */
};

enum rql_join_type {
	RQL_JOIN_INNER,
	RQL_JOIN_LEFT,
	RQL_JOIN_RIGHT,
	RQL_JOIN_FULL,
	RQL_JOIN_SEMI,
	RQL_JOIN_ANTI,
	RQL_JOIN_RIGHT_SEMI,
	RQL_JOIN_RIGHT_ANTI,
	RQL_JOIN_MARK,
	RQL_JOIN_SINGLE,
	RQL_JOIN_CROSS,
	/* Of each left row the one right row that the conditions leave whose value is the nearest: equalities, and one of < <=
	 * > >= whose first operand is the left one's. Which of several that are equally near is open. */
	RQL_JOIN_ASOF,
	RQL_JOIN_ASOF_LEFT
};
static inline bool rql_join_is_asof(enum rql_join_type join)
{
	return join == RQL_JOIN_ASOF || join == RQL_JOIN_ASOF_LEFT;
}
enum rql_setop_type { RQL_SETOP_UNION, RQL_SETOP_EXCEPT, RQL_SETOP_INTERSECT };

struct rql_table_ref {
	const char *catalog, *schema, *table; /* a DuckDB base table */
};
static inline bool rql_table_ref_same(const struct rql_table_ref *a, const struct rql_table_ref *b)
{
	return !strcmp(a->table, b->table) && !strcmp(a->schema, b->schema) && !strcmp(a->catalog, b->catalog);
}

struct rql_rel {
	enum rql_rel_kind kind;
	const char *name; /* OPAQUE: why; else DuckDB's operator name */
	uint32_t column_count;
	struct rql_type *types; /* of the output columns */
	const char **names;     /* of the output columns where the plan knows them, entries may be NULL */
	uint32_t child_count;
	struct rql_rel **children;
	uint32_t expr_count;
	struct rql_expr **exprs;
	uint32_t group_count;
	/* GET */
	struct rql_table_ref table;
	uint32_t *column_ids;      /* table column of each output column; UINT32_MAX: rowid */
	const char **column_names; /* name in the table of each output column */
	/* JOIN: conditions are conjuncts over (left columns, right columns); CROSS has none */
	enum rql_join_type join;
	/* ORDER, TOP_N, DISTINCT_ON: never none */
	struct rql_order *orders;
	uint32_t order_count;
	/* TOP_N, LIMIT: UINT64_MAX means no limit */
	uint64_t limit, offset;
	enum rql_setop_type setop;
	bool setop_all;
	uint64_t cte;
};

/* The form of a plan, which is that of its DuckDB. */
enum rql_plan_dialect { RQL_PLAN_1_5, RQL_PLAN_2 };
enum rql_plan_dialect rql_plan_dialect_of(const char *version); /* "v1.5.6" */

/* Reads the text of json_serialize_plan. *out is the root, in arena. Only text that is no plan at all fails
 * (RQL_ERROR_UNSUPPORTED: the plan's own "error" message; RQL_ERROR_CORRUPT: not JSON or not of the plan's shape).
 * Depth and size are bounded. */
rql_status rql_rel_parse(struct rql_arena *arena, enum rql_plan_dialect dialect, const char *json, size_t length,
                         struct rql_rel **out, struct rql_error *err) RQL_MUST_CHECK;

/* What a plan calls and reads, also where the tree is opaque: from all of its JSON. */
struct rql_plan_facts {
	uint32_t function_count, table_count;
	const char **functions;       /* each name once */
	struct rql_table_ref *tables; /* each once */
	bool tables_known;            /* false: something else is scanned, too (a file, a table function) */
	bool matches_rows;            /* there is an EXCEPT or INTERSECT */
};
/* The text that was planned, and what stood before it: constants know their places there. */
struct rql_plan_source {
	const struct rql_literals *literals;
	uint64_t offset; /* longer than what the host may bind of other texts (views, macros, generated columns), so that a place
	                    behind it is one of this text */
	bool foreign;    /* set when a place behind it is none of this text all the same */
};
/* As rql_rel_parse; *facts in arena. source: NULL, or constants are marked with their literals. */
rql_status rql_plan_read(struct rql_arena *arena, enum rql_plan_dialect dialect, const char *json, size_t length,
                         struct rql_plan_source *source, struct rql_rel **out, struct rql_plan_facts *facts,
                         struct rql_error *err) RQL_MUST_CHECK;

/* ---- other values (plan_bind.c) ---- */
/* Which literals may take other values of their class: those that only stand in conditions, beside what they are compared
 * with, alone or in casts, + - * and intervals. What else is made of a constant (a column's name, the type of
 * round(x, 2), LIMIT 5) may depend on its value. free: [literals->count]. */
void rql_plan_free_literals(const struct rql_rel *root, const struct rql_literals *literals, bool *free);
/* Literals that a statement over one table compares columns of it with, as a prepared statement's parameters are written:
 * `k = CAST('5' AS BIGINT)`, `s = 'five'`. A run of the plan may have other values for them ("points"). */
struct rql_points {
	uint32_t count;
	struct {
		uint32_t literal; /* its number and 1; 0: this one keeps the plan's value */
		struct rql_type type;
	} of[RQL_POINTS_MOST];
};
/* Those that stand nowhere else, the first RQL_POINTS_MOST of them. free: rql_plan_free_literals. */
void rql_plan_point_literals(const struct rql_rel *root, const struct rql_literals *literals, const bool *free,
                             struct rql_points *out);
/* A copy of the plan with the values of literals (of the same shape) where the plan's are free. Names and type infos are
 * shared: root's arena must outlive it; the literals need not. Only the constants of the points (NULL: none) are
 * marked in the copy. NULL: out of memory. */
struct rql_rel *rql_plan_with_literals(struct rql_arena *arena, const struct rql_rel *root,
                                       const struct rql_literals *literals, const bool *free,
                                       const struct rql_points *points);

/* Why the tree cannot be told completely: the reason of the OPAQUE node or expression that lies deepest, on which the
 * others follow. NULL: there is none. Borrowed from the tree. */
const char *rql_rel_reason(const struct rql_rel *rel);

/* ---- back to SQL (deparse.c) ---- */
/* How a REF is written: rel/expr are deparsed against a function that names input column `index`. */
typedef void rql_ref_printer(struct rql_strbuf *out, uint32_t index, void *state);
/* Appends expr as DuckDB SQL whose meaning and type are the expression's: casts are explicit, literals typed, operators
 * parenthesised. false: it holds something that cannot be written back (then the text is unusable). */
bool rql_expr_print(struct rql_strbuf *out, const struct rql_expr *expr, rql_ref_printer *ref, void *state);
/* The same for what is compared, ordered or grouped by: default_collation has no say in it. */
bool rql_key_print(struct rql_strbuf *out, const struct rql_expr *expr, rql_ref_printer *ref, void *state);
/* A relation as a SELECT with columns named c0, c1, ... `leaf` (may be NULL) is asked for each node first: when it
 * writes the node itself (as a table expression with columns c0..) it returns true. */
typedef bool rql_leaf_printer(struct rql_strbuf *out, const struct rql_rel *rel, void *state);
bool rql_rel_print(struct rql_strbuf *out, const struct rql_rel *rel, rql_leaf_printer *leaf, void *state);

/* What a node is, for messages: "a window function", "UNION, EXCEPT or INTERSECT", for an opaque one its reason. Static
 * text or the node's own. */
const char *rql_rel_phrase(const struct rql_rel *rel);

/* Does `a <name> b` hold when a compares to b as `order` says (< 0, 0, > 0)? name is one of = <> < <= > >=. */
bool rql_comparison_holds(const char *name, int order);

/* Of one type and bit for bit: 0.0 and -0.0 are two constants, as they can be told apart (1 / x). */
bool rql_value_identical(const struct rql_value *a, const struct rql_value *b);
/* Structural equality: same kind, name, type, children, constants; alias and positions ignored. */
bool rql_expr_equal(const struct rql_expr *a, const struct rql_expr *b);
/* sum, avg, min, max or a count, whatever FILTER and order it has. */
bool rql_expr_is_plain_aggregate(const struct rql_expr *e);
/* A deep copy in arena in which every REF is replaced by what map gives for it (NULL from map: fail). NULL on failure.
 */
typedef struct rql_expr *rql_ref_map(struct rql_arena *arena, const struct rql_expr *ref, void *state);
struct rql_expr *rql_expr_rewrite(struct rql_arena *arena, const struct rql_expr *expr, rql_ref_map *map, void *state);
/* ... whose REFs are `by` columns lower: of a join's right side, over that side alone. */
struct rql_expr *rql_expr_lowered(struct rql_arena *arena, const struct rql_expr *expr, uint32_t by);
/* A short human-readable form for EXPLAIN and reasons ("year(d) = 1993"). */
void rql_expr_describe(struct rql_strbuf *out, const struct rql_expr *expr);
char *rql_expr_text(struct rql_arena *arena, const struct rql_expr *expr); /* NULL: out of memory */
/* UNSUPPORTED, with that form between the two. */
rql_status rql_expr_refuse(struct rql_error *err, const char *before, const struct rql_expr *expr, const char *behind);

#endif

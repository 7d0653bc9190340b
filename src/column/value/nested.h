/* Columns whose values have parts: lists, structs, maps, arrays and unions, as a tree of columns in DuckDB's layout. */
#ifndef RQL_COLUMN_NESTED_H
#define RQL_COLUMN_NESTED_H

#include "column/value/value.h"

enum rql_nested_kind {
	RQL_NESTED_VALUE,  /* of column.type; OTHER with data NULL: only the host can read it */
	RQL_NESTED_LIST,   /* children[0]: the elements of all rows; entries say which are whose */
	RQL_NESTED_ARRAY,  /* children[0]: array_size elements a row, also of rows that are NULL */
	RQL_NESTED_STRUCT, /* children: as many rows as the struct */
	RQL_NESTED_MAP,    /* children[0] the keys and [1] the values of all rows, with entries */
	RQL_NESTED_UNION,  /* children: one a member, as many rows as the union; tags say which member a row is */
};

struct rql_entry {
	uint64_t offset, length; /* of rows of the children */
};

/* Data is borrowed from the batch, all else lies in an arena. */
struct rql_nested {
	enum rql_nested_kind kind;
	uint64_t rows;
	struct rql_type type;     /* the whole one: OTHER for what has parts, and for types by another name (JSON) */
	struct rql_column column; /* type, data and validity of the values themselves; of parts the validity alone */
	const char *text;         /* the type, as typeof() writes it */
	uint32_t child_count;
	struct rql_nested *children;
	const char **names; /* of a struct's or union's members; "" where they have none */
	uint64_t array_size;
	const struct rql_entry *entries;
	const uint8_t *tags;
};

/* Appends an expression that the host reads as the value, once it is cast to the type; functions are qualified, since a
 * database may have macros of their names. false: a part has a type that cannot be written. */
bool rql_nested_print(struct rql_strbuf *out, const struct rql_nested *nested, uint64_t row);

#endif

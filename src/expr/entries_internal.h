/* A node of an expression over entries. */
#ifndef RQL_EXPR_ENTRIES_INTERNAL_H
#define RQL_EXPR_ENTRIES_INTERNAL_H

#include "expr/entries.h"

enum rql_entry_op {
	RQL_ENTRY_OP_VALUE,
	RQL_ENTRY_OP_CONSTANT,
	RQL_ENTRY_OP_LIKE,
	RQL_ENTRY_OP_BYTES,
	RQL_ENTRY_OP_CHARACTERS,
	RQL_ENTRY_OP_POSITION,
	RQL_ENTRY_OP_SLICE,
	RQL_ENTRY_OP_LEFT,
	RQL_ENTRY_OP_RIGHT,
	RQL_ENTRY_OP_CASE,
	RQL_ENTRY_OP_REGEXP,
	RQL_ENTRY_OP_REPLACE,
	RQL_ENTRY_OP_COMPARE,
	RQL_ENTRY_OP_IN,
	RQL_ENTRY_OP_ARITHMETIC,
	RQL_ENTRY_OP_AND,
	RQL_ENTRY_OP_OR,
	RQL_ENTRY_OP_NOT,
	RQL_ENTRY_OP_IS_NULL,
	RQL_ENTRY_OP_CHOOSE,
};

/* What a match is replaced by: some bytes, or a group. */
struct rql_entry_part {
	const char *bytes; /* NULL: */
	uint32_t group;
	uint32_t length;
};

struct rql_entry {
	enum rql_entry_op op;
	enum rql_entry_kind kind;
	struct rql_entry *child[3];
	rql_int128 least, greatest; /* of an INTEGER */
	int64_t integer, count;     /* CONSTANT; SLICE's, LEFT's and RIGHT's arguments; ARITHMETIC's operator */
	struct rql_string text;     /* CONSTANT, and what POSITION looks for */
	bool truth;                 /* CONSTANT; CASE: upper; REGEXP: whole */
	bool null;                  /* CONSTANT; IN: one of the list is */
	bool fresh;                 /* of a TEXT: its bytes may be made for it */
	enum rql_entry_comparison comparison;
	struct rql_like *like;
	const struct rql_regexp *regexp;
	uint32_t part_count; /* REPLACE */
	struct rql_entry_part *parts;
	uint32_t list_count; /* IN: without NULLs */
	int64_t *integers;
	struct rql_string *strings;
	/* Made for one evaluation. */
	uint32_t number;       /* of its vector */
	bool ranged, only;     /* LIKE of the VALUE: no other codes than these match; all of them do */
	uint32_t first, behind;
	struct rql_needle needle;
};

#endif

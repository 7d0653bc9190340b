/* What the kernels over strings share. */
#ifndef RQL_COLUMN_TEXT_INTERNAL_H
#define RQL_COLUMN_TEXT_INTERNAL_H

#include "column/text/text.h"

extern const struct rql_text_kernels rql_text_kernels_portable;
#if defined(__x86_64__)
extern const struct rql_text_kernels rql_text_kernels_avx2;
#endif

/* Does a character begin here? */
static inline bool rql_is_character(char byte)
{
	return ((unsigned char)byte & 0xc0) != 0x80;
}

/* ---- LIKE ---- */
/* What lies between two %: bytes, and which of them stand for any character. */
struct rql_like_piece {
	char *bytes;
	bool *any; /* NULL: none */
	uint32_t length;
	uint32_t characters;
	struct rql_needle needle; /* of a piece without _ */
};
struct rql_like {
	bool open_start, open_end; /* a % there */
	uint32_t count;
	struct rql_like_piece *pieces;
	uint32_t least; /* bytes of the shortest match */
	/* The longest literal of all, where strings are searched for it before they are matched. */
	bool searches, search_is_all;
	struct rql_needle needle;
};

#endif

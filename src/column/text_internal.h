/* What the kernels over strings share. */
#ifndef RQL_COLUMN_TEXT_INTERNAL_H
#define RQL_COLUMN_TEXT_INTERNAL_H

#include "column/text.h"

extern const struct rql_text_kernels rql_text_kernels_portable;
#if defined(__x86_64__)
extern const struct rql_text_kernels rql_text_kernels_avx2;
#endif

/* Does a character begin here? */
static inline bool rql_is_character(char byte)
{
	return ((unsigned char)byte & 0xc0) != 0x80;
}

#endif

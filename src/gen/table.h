/* What a generated table is to its table function. */
#ifndef RQL_GEN_TABLE_H
#define RQL_GEN_TABLE_H

#include "column/batch.h"

struct rql_gen_column {
	const char *name;
	rql_type_id type;
};

/* Stores a copy of length bytes in a VARCHAR column of the batch. */
typedef void rql_gen_put_fn(struct rql_batch *out, uint32_t column, uint64_t row, const char *data, uint32_t length);

/* Short texts are stored without a call. */
static inline void rql_gen_put_text(rql_gen_put_fn *put, struct rql_batch *out, uint32_t column, uint64_t row,
                                    const char *text, uint32_t length)
{
	if (length <= RQL_STRING_INLINE)
		((struct rql_string *)out->columns[column].data)[row] = rql_string_make(text, length);
	else
		put(out, column, row, text, length);
}

#endif

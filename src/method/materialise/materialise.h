/* Rows of a form, fetched from a GPU, become a batch of the host: ordered, cut to a limit, decoded. For
 * materialise_*.c.
 *
 * Floor: over the link, the fields (4 or 8 bytes) of each column of the result, of the wanted rows. Of a limit without an
 * order they are the first, of an order the device finds them (materialise_top.h, materialise_sort.h). Of few rows, or of
 * a top-N in which very many tie, all fields that an output or an order key reads come instead, of all rows. Then for each
 * order key 8 bytes a row are written and read once to find the first ones, and, of the rows that are sorted, records of 8
 * bytes a key and 8 more, read and written by each pass. At last a field read and a value written, of the wanted rows. */
#ifndef RQL_METHOD_MATERIALISE_H
#define RQL_METHOD_MATERIALISE_H

#include "column/crew.h"
#include "method/method.h"

#define RQL_MATERIALISE_KEYS 16u

/* What is wanted: outputs and orders are copies, and read COLUMNs of the form alone. */
struct rql_materialise {
	const struct rql_store_snapshot *form;
	uint32_t output_count, order_count;
	struct rql_output *outputs;
	struct rql_row_order *orders;
	uint64_t limit, offset;
	bool order_there; /* as in the request */
	bool no_sort;     /* what it needs is more than the device gives in one piece: the host orders all rows */
	struct rql_budget *budget; /* may be NULL */
};
/* Rows from the first one of the order to the last one that is wanted. */
static inline uint64_t rql_materialise_wanted(const struct rql_materialise *m)
{
	return m->limit > UINT64_MAX - m->offset ? UINT64_MAX : m->limit + m->offset;
}
/* Rows on the host. Memory is the caller's. */
struct rql_materialise_rows {
	uint64_t count;      /* below 2^32 */
	const void **fields; /* [form's columns]: uint32_t or uint64_t[count]; NULL: nobody reads them */
	bool ordered;        /* these are the wanted ones, in their order */
};

/* Is the form's column `column` a part of the result? */
bool rql_materialise_gives(const struct rql_materialise *m, uint32_t column);

/* The column's field in a row, widened. 0 is NULL, but for codes, whose dictionary may have an entry for it, too. */
static inline uint64_t rql_materialise_field(const void *fields, uint32_t bits, uint64_t row)
{
	return bits == 32 ? ((const uint32_t *)fields)[row] : ((const uint64_t *)fields)[row];
}

/* How an order's key becomes a number that ascends as the order says (materialise_order.c). */
struct rql_materialise_key {
	uint32_t bits; /* of the number */
	bool real, descending, nulls_first;
	uint64_t null_field; /* of codes: the dictionary's entry of NULL plus 1; else 0 */
};
struct rql_materialise_key rql_materialise_key(const struct rql_materialise *m, const struct rql_row_order *order);

/* materialise_order.c: the wanted rows' numbers in their order, in the crew's memory; *picked NULL: those from the
 * offset on, as they stand. */
rql_status rql_materialise_order(const struct rql_materialise *m, const struct rql_materialise_rows *rows,
                                 const struct rql_crew *crew, const uint32_t **picked, uint64_t *count,
                                 struct rql_error *err) RQL_MUST_CHECK;
/* materialise_batch.c: their outputs. The caller releases the batch, which needs nothing of what it was made from. */
rql_status rql_materialise_batch(const struct rql_materialise *m, const struct rql_materialise_rows *rows,
                                 const struct rql_crew *crew, const uint32_t *picked, uint64_t count,
                                 struct rql_batch **out, struct rql_error *err) RQL_MUST_CHECK;

#endif

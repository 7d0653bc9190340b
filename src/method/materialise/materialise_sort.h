/* All rows of an order, or more of them than a top-N holds, put in order on the device: what is fetched is the result.
 * For materialise_compute.c.
 *
 * Keys lie side by side in words of 32 or 64 bits, the first key most significant. The last word is sorted first, by a
 * radix sort (primitive.h) that moves row numbers along. Each word before is made of its keys in the order so far, and
 * sorted in turn: the sort is stable. Then the result's columns are gathered. Floor, in bytes a row: for each 8 bits of
 * a word 3 words and 8 moved; for each column 4, a sector at any place, and a field written. The host, which sorts
 * else, moves 8 bytes a key and 8 more for each byte of the keys, and fetches the keys, too. */
#ifndef RQL_METHOD_MATERIALISE_SORT_H
#define RQL_METHOD_MATERIALISE_SORT_H

#include "method/materialise/materialise.h"

struct rql_materialise_sort {
	struct rql_columns_port in;
	struct rql_buffer *order; /* of the device: row numbers; then words and what the sort needs, or the result's fields */
};

/* Does it pay? Below some 2^15 rows the passes take longer than the host's sort. A few first rows are a top-N's. */
bool rql_materialise_sort_pays(const struct rql_materialise *m, double rows);
/* Of the device's memory, over an input with room for so many rows. */
uint64_t rql_materialise_sort_bytes(const struct rql_materialise *m, struct rql_device *device, uint64_t room);
/* Device time over so many rows. */
double rql_materialise_sort_ns(const struct rql_materialise *m, const struct rql_profile *profile, double rows);

rql_status rql_materialise_sort_open(const struct rql_materialise *m, struct rql_device *device,
                                     const struct rql_columns_port *in, struct rql_materialise_sort *out,
                                     struct rql_error *err) RQL_MUST_CHECK;
void rql_materialise_sort_close(struct rql_materialise_sort *sort);
rql_status rql_materialise_sort_record(const struct rql_materialise *m, const struct rql_materialise_sort *sort,
                                       struct rql_commands *commands, struct rql_error *err) RQL_MUST_CHECK;
/* The run is done, and rows->count rows were there: the wanted ones, in their order, in mem. */
rql_status rql_materialise_sort_take(const struct rql_materialise *m, const struct rql_materialise_sort *sort,
                                     struct rql_mem *mem, struct rql_materialise_rows *rows, uint64_t *bytes,
                                     struct rql_error *err) RQL_MUST_CHECK;

#endif

/* Stable sorts: of 32-bit items (row numbers, codes) by what they stand for, since qsort has no portable context
 * argument; and of words by their value. */
#ifndef RQL_UTIL_SORT_H
#define RQL_UTIL_SORT_H

#include <stdint.h>

/* < 0, 0, > 0 as items a and b are in order. */
typedef int rql_item_order(const void *context, uint32_t a, uint32_t b);
/* spare has room for count items. */
void rql_sort_items(uint32_t *items, uint32_t *spare, uint64_t count, rql_item_order *order, const void *context);
/* Ascending by the bits from `from` (0..63) on. spare has room for count words; the result is in one of the two arrays,
 * which is returned. */
uint64_t *rql_sort_words(uint64_t *words, uint64_t *spare, uint64_t count, unsigned from);

#endif

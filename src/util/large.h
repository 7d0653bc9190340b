/* Large blocks of memory. Their first use costs more than their work does: the system hands each page over by a fault and
 * clears it, and a virtual machine may have to ask its host for it (here 20 to 100 ms for 32 MiB, where writing 32 MiB
 * takes 3). So blocks that are freed are kept for whoever asks next, by all databases of the process: at most a
 * thirty-second of the machine's memory, and only what rayql_memory_limit leaves (rql_budget_charge gives the rest up).
 * Thread-safe. */
#ifndef RQL_UTIL_LARGE_H
#define RQL_UTIL_LARGE_H

#include <stdbool.h>
#include <stdint.h>
#include "util/threads.h"

/* Smaller blocks come from malloc and go back to it. */
#define RQL_LARGE_LEAST (UINT64_C(512) << 10)

/* Aligned to 64, with any content. NULL: out of memory. */
void *rql_large_alloc(uint64_t bytes);
/* Zeroed; by all threads of the pool where that takes long (NULL: by the caller). */
void *rql_large_zalloc(uint64_t bytes, struct rql_pool *pool);
uint64_t *rql_large_words(uint64_t words, struct rql_pool *pool); /* words of 0 */
/* For arrays of which each part is zeroed by whoever first writes there: *zero: it is zero already, else it has any
 * content. Its pages are small, so that no memory is asked for but what is written. */
void *rql_large_reserve(uint64_t bytes, bool *zero);
void rql_large_free(void *block); /* NULL accepted */
/* Bytes that are kept, and at most so many from now on. */
uint64_t rql_large_kept(void);
void rql_large_give_up(uint64_t most);

#endif

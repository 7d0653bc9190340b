/* A bump allocator: everything a statement's plan allocates is freed by one call. Not thread-safe. */
#ifndef RQL_UTIL_ARENA_H
#define RQL_UTIL_ARENA_H

#include <stddef.h>
#include "util/status.h"

struct rql_arena; /* grows in chunks; allocation failure aborts are not used: NULL is returned */

struct rql_arena *rql_arena_new(void); /* NULL when out of memory */
/* The same, whose first `room` bytes are there already: handing them out, each rounded up to 16, cannot fail. */
struct rql_arena *rql_arena_new_with(size_t room);
void rql_arena_free(struct rql_arena *arena); /* NULL accepted */
/* Zeroed, aligned to 16 bytes. size 0 gives a valid pointer. NULL when out of memory. */
void *rql_arena_alloc(struct rql_arena *arena, size_t size);
/* count * size with overflow check. */
void *rql_arena_array(struct rql_arena *arena, size_t count, size_t size);
char *rql_arena_strdup(struct rql_arena *arena, const char *text);
char *rql_arena_strndup(struct rql_arena *arena, const char *text, size_t length);
char *rql_arena_printf(struct rql_arena *arena, const char *fmt, ...) RQL_PRINTF(2, 3);
/* All that `from` handed out becomes `to`'s, and `from` is gone. */
void rql_arena_join(struct rql_arena *to, struct rql_arena *from);
/* Bytes handed out so far (for the plan cache's budget). */
size_t rql_arena_bytes(const struct rql_arena *arena);

#define RQL_NEW(arena, type) ((type *)rql_arena_alloc((arena), sizeof(type)))
#define RQL_NEW_ARRAY(arena, type, count) ((type *)rql_arena_array((arena), (count), sizeof(type)))

#endif

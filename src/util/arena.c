/* Chunks of memory, which grow up to a limit, and the strings that are made in them. */
#include "util/arena.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "util/large.h"

#define ALIGNMENT 16
#define FIRST_CHUNK ((size_t)4 << 10)
#define LARGEST_CHUNK ((size_t)1 << 20)

/* The data follow the header, whose size keeps them aligned. */
struct chunk {
	struct chunk *next;
	size_t used, size; /* bytes of data */
};

struct rql_arena {
	struct chunk *current; /* the one that small allocations come from; full ones hang behind it */
	size_t next_size;      /* data bytes of the next chunk */
	size_t bytes;
};

#define HEADER ((sizeof(struct chunk) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT)

struct rql_arena *rql_arena_new(void)
{
	struct rql_arena *arena = calloc(1, sizeof(*arena));
	if (arena)
		arena->next_size = FIRST_CHUNK;
	return arena;
}

static struct chunk *new_chunk(size_t bytes)
{
	return bytes < RQL_LARGE_LEAST ? calloc(1, bytes) : rql_large_zalloc(bytes, NULL);
}

static void free_chunk(struct chunk *chunk)
{
	if (HEADER + chunk->size < RQL_LARGE_LEAST)
		free(chunk);
	else
		rql_large_free(chunk);
}

void rql_arena_free(struct rql_arena *arena)
{
	if (!arena)
		return;
	for (struct chunk *chunk = arena->current, *next; chunk; chunk = next) {
		next = chunk->next;
		free_chunk(chunk);
	}
	free(arena);
}

/* A zeroed chunk with room for size bytes, put in front unless that would waste the rest of the current one. */
static struct chunk *add_chunk(struct rql_arena *arena, size_t size)
{
	bool own = size > arena->next_size / 2;
	size_t data = own ? size : arena->next_size;
	if (data > SIZE_MAX - HEADER)
		return NULL;
	struct chunk *chunk = new_chunk(HEADER + data);
	if (!chunk)
		return NULL;
	chunk->size = data;
	if (own && arena->current) {
		chunk->next = arena->current->next;
		arena->current->next = chunk;
		return chunk;
	}
	chunk->next = arena->current;
	arena->current = chunk;
	if (!own && arena->next_size < LARGEST_CHUNK)
		arena->next_size *= 2;
	return chunk;
}

struct rql_arena *rql_arena_new_with(size_t room)
{
	struct rql_arena *arena = rql_arena_new();
	if (arena && !add_chunk(arena, room)) {
		rql_arena_free(arena);
		return NULL;
	}
	return arena;
}

void *rql_arena_alloc(struct rql_arena *arena, size_t size)
{
	if (size > SIZE_MAX - HEADER - ALIGNMENT)
		return NULL;
	/* At least one unit, so that no two allocations share an address. */
	size_t rounded = size ? (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT : ALIGNMENT;
	struct chunk *chunk = arena->current;
	if (!chunk || chunk->size - chunk->used < rounded)
		chunk = add_chunk(arena, rounded);
	if (!chunk)
		return NULL;
	void *memory = (char *)chunk + HEADER + chunk->used;
	chunk->used += rounded;
	arena->bytes += rounded;
	return memory;
}

void *rql_arena_array(struct rql_arena *arena, size_t count, size_t size)
{
	size_t bytes;
	if (__builtin_mul_overflow(count, size, &bytes))
		return NULL;
	return rql_arena_alloc(arena, bytes);
}

char *rql_arena_strndup(struct rql_arena *arena, const char *text, size_t length)
{
	if (length == SIZE_MAX)
		return NULL;
	char *copy = rql_arena_alloc(arena, length + 1);
	if (copy && length)
		memcpy(copy, text, length);
	return copy;
}

char *rql_arena_strdup(struct rql_arena *arena, const char *text)
{
	return rql_arena_strndup(arena, text, strlen(text));
}

char *rql_arena_printf(struct rql_arena *arena, const char *fmt, ...)
{
	va_list args, again;
	va_start(args, fmt);
	va_copy(again, args);
	char *text = NULL;
	int length = vsnprintf(NULL, 0, fmt, args);
	if (length >= 0)
		text = rql_arena_alloc(arena, (size_t)length + 1);
	if (text)
		vsnprintf(text, (size_t)length + 1, fmt, again);
	va_end(again);
	va_end(args);
	return text;
}

void rql_arena_join(struct rql_arena *to, struct rql_arena *from)
{
	struct chunk *last = from->current;
	while (last && last->next)
		last = last->next;
	if (last && to->current) {
		last->next = to->current->next;
		to->current->next = from->current;
	} else if (last) {
		to->current = from->current;
	}
	to->bytes += from->bytes;
	free(from);
}

size_t rql_arena_bytes(const struct rql_arena *arena)
{
	return arena->bytes;
}

/* Random numbers, an arena, and texts that grow: what all files of this test use. */
#include "diff.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct dt_block {
	struct dt_block *next;
	size_t used, size;
};

static void *must(void *p)
{
	if (!p) {
		fputs("differential: out of memory\n", stderr);
		exit(2);
	}
	return p;
}

void *dt_alloc(struct dt_arena *arena, size_t size)
{
	size = (size + 15) & ~(size_t)15;
	struct dt_block *b = arena->blocks;
	size_t header = (sizeof *b + 15) & ~(size_t)15;
	if (!b || b->used + size > b->size) {
		size_t room = header + (size > 65536 ? size : 65536);
		b = must(calloc(1, room));
		b->used = header;
		b->size = room;
		b->next = arena->blocks;
		arena->blocks = b;
	}
	void *p = (char *)b + b->used;
	b->used += size;
	return p;
}

char *dt_printf(struct dt_arena *arena, const char *fmt, ...)
{
	va_list args, again;
	va_start(args, fmt);
	va_copy(again, args);
	int n = vsnprintf(NULL, 0, fmt, args);
	va_end(args);
	char *out = dt_alloc(arena, (size_t)n + 1);
	vsnprintf(out, (size_t)n + 1, fmt, again);
	va_end(again);
	return out;
}

void dt_arena_clear(struct dt_arena *arena)
{
	while (arena->blocks) {
		struct dt_block *next = arena->blocks->next;
		free(arena->blocks);
		arena->blocks = next;
	}
}

void dt_put_bytes(struct dt_text *t, const void *data, size_t length)
{
	if (t->length + length + 1 > t->capacity) {
		t->capacity = 2 * (t->length + length + 64);
		t->data = must(realloc(t->data, t->capacity));
	}
	if (length)
		memcpy(t->data + t->length, data, length);
	t->length += length;
	t->data[t->length] = '\0';
}

void dt_put(struct dt_text *t, const char *fmt, ...)
{
	char room[512];
	va_list args, again;
	va_start(args, fmt);
	va_copy(again, args);
	int n = vsnprintf(room, sizeof room, fmt, args);
	va_end(args);
	if ((size_t)n < sizeof room) {
		dt_put_bytes(t, room, (size_t)n);
	} else {
		char *big = must(malloc((size_t)n + 1));
		vsnprintf(big, (size_t)n + 1, fmt, again);
		dt_put_bytes(t, big, (size_t)n);
		free(big);
	}
	va_end(again);
}

void dt_text_free(struct dt_text *t)
{
	free(t->data);
	*t = (struct dt_text){0};
}

/* SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014). */
uint64_t dt_next(struct dt_random *r)
{
	uint64_t z = (r->state += 0x9e3779b97f4a7c15u);
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

uint32_t dt_below(struct dt_random *r, uint32_t n)
{
	return n ? (uint32_t)((dt_next(r) >> 32) * n >> 32) : 0;
}

bool dt_chance(struct dt_random *r, unsigned percent)
{
	return dt_below(r, 100) < percent;
}

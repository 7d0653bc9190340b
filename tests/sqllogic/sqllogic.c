/* What the runner's files share: memory that ends the program when there is none, and answers. */
#include "sqllogic.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const char *const sl_host_options[] = {"allow_unsigned_extensions",
                                       "true",
                                       "autoload_known_extensions",
                                       "false",
                                       "autoinstall_known_extensions",
                                       "false",
                                       "allow_unredacted_secrets",
                                       "true",
                                       NULL};

static void *need(void *p)
{
	if (!p) {
		fputs("test_sqllogic: out of memory\n", stderr);
		exit(2);
	}
	return p;
}

struct rql_arena *sl_arena_new(void)
{
	return need(rql_arena_new());
}

void *sl_alloc(struct rql_arena *arena, size_t size)
{
	return need(rql_arena_alloc(arena, size));
}

char *sl_copy(struct rql_arena *arena, const char *text, size_t length)
{
	char *copy = sl_alloc(arena, length + 1);
	if (length)
		memcpy(copy, text, length);
	return copy;
}

char *sl_printf(struct rql_arena *arena, const char *fmt, ...)
{
	va_list args;
	char *text = NULL;
	va_start(args, fmt);
	int length = vasprintf(&text, fmt, args);
	va_end(args);
	need(length < 0 ? NULL : text);
	char *copy = sl_copy(arena, text, (size_t)length);
	free(text);
	return copy;
}

char *sl_replace(struct rql_arena *arena, const char *text, const char *from, const char *to)
{
	struct rql_strbuf out = {0};
	size_t length = strlen(from);
	for (const char *at; (at = strstr(text, from)); text = at + length) {
		rql_strbuf_put_n(&out, text, (size_t)(at - text));
		rql_strbuf_put(&out, to);
	}
	rql_strbuf_put(&out, text);
	char *copy = sl_copy(arena, rql_strbuf_text(&out), out.length);
	rql_strbuf_free(&out);
	return copy;
}

void sl_list_add(struct rql_arena *arena, struct sl_list *list, const char *item)
{
	if (list->count == list->capacity) {
		const char **grown = sl_alloc(arena,
		                              (list->capacity = list->capacity ? 2 * list->capacity : 8) * sizeof *grown);
		if (list->count)
			memcpy(grown, list->items, list->count * sizeof *grown);
		list->items = grown;
	}
	list->items[list->count++] = item;
}

/* ---- answers ---- */
void sl_answer_free(struct sl_answer *a)
{
	free(a->cells);
	rql_arena_free(a->arena);
	*a = (struct sl_answer){0};
}

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15u;
	return h ^ h >> 29;
}

static uint64_t hash_row(const struct sl_cell *row, uint32_t columns)
{
	uint64_t h = columns;
	for (uint32_t c = 0; c < columns; c++) {
		h = mix(h, row[c].data ? row[c].length : UINT64_MAX);
		for (size_t i = 0; row[c].data && i < row[c].length; i++)
			h = mix(h, (unsigned char)row[c].data[i]);
	}
	return h;
}

void sl_answer_add(struct sl_answer *a, const struct sl_cell *row)
{
	uint32_t columns = a->column_count;
	a->row_count++;
	if (a->kept_rows * columns >= SL_MAX_CELLS) {
		uint64_t h = hash_row(row, columns);
		a->hash = mix(a->hash, h);
		a->sum += h;
		return;
	}
	if (a->kept_rows == a->capacity) {
		a->capacity = a->capacity ? 2 * a->capacity : 64;
		a->cells = need(realloc(a->cells, a->capacity * (columns ? columns : 1) * sizeof *a->cells));
	}
	for (uint32_t c = 0; c < columns; c++) {
		struct sl_cell *cell = &a->cells[a->kept_rows * columns + c];
		cell->length = row[c].length;
		cell->data = row[c].data ? sl_copy(a->arena, row[c].data, row[c].length) : NULL;
	}
	a->kept_rows++;
}

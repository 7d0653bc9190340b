/* Transcripts: what happened to a file on one engine, event by event, so that nothing is lost when the process dies. */
#include "sqllogic.h"

#include <stdlib.h>
#include <string.h>

/* ---- writing ---- */
static void put_number(FILE *out, uint64_t v)
{
	fwrite(&v, sizeof v, 1, out);
}

static void put_bytes(FILE *out, const char *data, size_t length)
{
	put_number(out, data ? length + 1 : 0);
	if (data)
		fwrite(data, 1, length, out);
}

static void put_text(FILE *out, const char *text)
{
	put_bytes(out, text, text ? strlen(text) : 0);
}

void sl_write_event(FILE *out, const struct sl_event *e)
{
	const struct sl_answer *a = &e->answer;
	fputc((int)e->kind, out);
	put_number(out, e->line);
	put_text(out, e->text);
	put_text(out, e->where);
	if (e->kind == SL_EVENT_ANSWER) {
		put_number(out, e->met);
		put_text(out, a->message);
		put_text(out, a->method);
		put_text(out, a->reason);
		put_number(out, a->shape);
		put_number(out, (uint64_t)(a->ms * 1000));
		put_number(out, a->column_count);
		for (uint32_t c = 0; c < a->column_count; c++) {
			put_text(out, a->names[c]);
			put_text(out, a->types[c]);
		}
		put_number(out, a->row_count);
		put_number(out, a->kept_rows);
		put_number(out, a->hash);
		put_number(out, a->sum);
		for (uint64_t i = 0; i < a->kept_rows * a->column_count; i++)
			put_bytes(out, a->cells[i].data, a->cells[i].length);
	}
	fflush(out);
}

/* ---- reading ---- */
struct reader {
	const char *at, *end;
	bool failed; /* the file ends within an event */
};

static uint64_t get_number(struct reader *r)
{
	uint64_t v = 0;
	if (r->failed || (size_t)(r->end - r->at) < sizeof v) {
		r->failed = true;
		return 0;
	}
	memcpy(&v, r->at, sizeof v);
	r->at += sizeof v;
	return v;
}

static struct sl_cell get_bytes(struct reader *r, struct rql_arena *arena)
{
	uint64_t n = get_number(r);
	struct sl_cell cell = {0};
	if (r->failed || !n)
		return cell;
	if ((size_t)(r->end - r->at) < n - 1) {
		r->failed = true;
		return cell;
	}
	cell.data = sl_copy(arena, r->at, n - 1);
	cell.length = n - 1;
	r->at += n - 1;
	return cell;
}

static void read_answer(struct reader *r, struct rql_arena *arena, struct sl_event *e)
{
	struct sl_answer *a = &e->answer;
	e->met = (enum sl_met)get_number(r);
	a->message = get_bytes(r, arena).data;
	a->method = get_bytes(r, arena).data;
	a->reason = get_bytes(r, arena).data;
	a->shape = (enum sl_shape)get_number(r);
	a->ms = (double)get_number(r) / 1000;
	a->column_count = (uint32_t)get_number(r);
	if (r->failed)
		return;
	a->names = sl_alloc(arena, (a->column_count + 1) * sizeof(char *));
	a->types = sl_alloc(arena, (a->column_count + 1) * sizeof(char *));
	for (uint32_t c = 0; c < a->column_count; c++) {
		a->names[c] = get_bytes(r, arena).data;
		a->types[c] = get_bytes(r, arena).data;
	}
	a->row_count = get_number(r);
	a->kept_rows = get_number(r);
	a->hash = get_number(r);
	a->sum = get_number(r);
	uint64_t cells = a->kept_rows * a->column_count;
	if (r->failed)
		return;
	a->cells = sl_alloc(arena, (cells + 1) * sizeof *a->cells);
	for (uint64_t i = 0; i < cells && !r->failed; i++)
		a->cells[i] = get_bytes(r, arena);
}

static char *read_all(const char *path, size_t *length)
{
	FILE *f = fopen(path, "rb");
	char *data = NULL;
	*length = 0;
	if (!f)
		return NULL;
	fseek(f, 0, SEEK_END);
	long size = ftell(f);
	rewind(f);
	if (size > 0 && (data = malloc((size_t)size)))
		*length = fread(data, 1, (size_t)size, f);
	fclose(f);
	return data;
}

static struct sl_event *new_event(struct sl_transcript *t)
{
	if (t->count == t->capacity) {
		t->capacity = t->capacity ? 2 * t->capacity : 256;
		struct sl_event *grown = sl_alloc(t->arena, t->capacity * sizeof *grown);
		if (t->count)
			memcpy(grown, t->events, t->count * sizeof *grown);
		t->events = grown;
	}
	return &t->events[t->count];
}

void sl_transcript_read(const char *path, struct sl_transcript *out)
{
	size_t length;
	char *data = read_all(path, &length);
	struct reader r = {data, data ? data + length : NULL, false};
	*out = (struct sl_transcript){.arena = sl_arena_new()};
	while (r.at < r.end) {
		struct sl_event *e = new_event(out);
		*e = (struct sl_event){.kind = (enum sl_event_kind)(unsigned char)*r.at++};
		e->line = (uint32_t)get_number(&r);
		e->text = get_bytes(&r, out->arena).data;
		e->where = get_bytes(&r, out->arena).data;
		if (e->kind == SL_EVENT_ANSWER)
			read_answer(&r, out->arena, e);
		if (r.failed)
			break;
		out->ended |= e->kind == SL_EVENT_END;
		out->count++;
	}
	free(data);
}

void sl_transcript_free(struct sl_transcript *t)
{
	rql_arena_free(t->arena);
	*t = (struct sl_transcript){0};
}

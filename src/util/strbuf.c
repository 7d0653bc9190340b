/* Growing strings: text appended plainly, by a format, or quoted as SQL. */
#include "util/strbuf.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Room for `more` bytes and the terminator behind the text. */
static bool reserve(struct rql_strbuf *buf, size_t more)
{
	if (buf->failed)
		return false;
	if (more < buf->capacity - buf->length)
		return true;
	size_t wanted, capacity = buf->capacity ? buf->capacity : 64;
	if (__builtin_add_overflow(buf->length, more, &wanted) || wanted >= SIZE_MAX / 2) {
		buf->failed = true;
		return false;
	}
	while (capacity <= wanted)
		capacity *= 2;
	char *data = realloc(buf->data, capacity);
	if (!data) {
		buf->failed = true;
		return false;
	}
	buf->data = data;
	buf->capacity = capacity;
	return true;
}

void rql_strbuf_free(struct rql_strbuf *buf)
{
	free(buf->data);
	*buf = (struct rql_strbuf){0};
}

void rql_strbuf_clear(struct rql_strbuf *buf)
{
	buf->length = 0;
	buf->failed = false;
	if (buf->data)
		buf->data[0] = '\0';
}

void rql_strbuf_put_n(struct rql_strbuf *buf, const char *text, size_t length)
{
	if (!length || !reserve(buf, length))
		return;
	memcpy(buf->data + buf->length, text, length);
	buf->length += length;
	buf->data[buf->length] = '\0';
}

void rql_strbuf_put(struct rql_strbuf *buf, const char *text)
{
	rql_strbuf_put_n(buf, text, strlen(text));
}

void rql_strbuf_putc(struct rql_strbuf *buf, char c)
{
	rql_strbuf_put_n(buf, &c, 1);
}

void rql_strbuf_printf(struct rql_strbuf *buf, const char *fmt, ...)
{
	va_list args, again;
	va_start(args, fmt);
	va_copy(again, args);
	int length = vsnprintf(NULL, 0, fmt, args);
	if (length < 0)
		buf->failed = true;
	else if (reserve(buf, (size_t)length)) {
		vsnprintf(buf->data + buf->length, (size_t)length + 1, fmt, again);
		buf->length += (size_t)length;
	}
	va_end(again);
	va_end(args);
}

/* text between two quotes, each quote inside doubled: both of SQL's quoting rules. */
static void put_quoted(struct rql_strbuf *buf, const char *text, size_t length, char quote)
{
	rql_strbuf_putc(buf, quote);
	while (length) {
		const char *found = memchr(text, quote, length);
		size_t part = found ? (size_t)(found - text) + 1 : length;
		rql_strbuf_put_n(buf, text, part);
		if (found)
			rql_strbuf_putc(buf, quote);
		text += part;
		length -= part;
	}
	rql_strbuf_putc(buf, quote);
}

void rql_strbuf_put_ident(struct rql_strbuf *buf, const char *name)
{
	put_quoted(buf, name, strlen(name), '"');
}

void rql_strbuf_put_literal(struct rql_strbuf *buf, const char *text, size_t length)
{
	put_quoted(buf, text, length, '\'');
}

const char *rql_strbuf_text(struct rql_strbuf *buf)
{
	/* Every put terminates the text, so there is nothing to allocate here and nothing to fail. */
	return buf->data && buf->length ? buf->data : "";
}

const char *rql_strbuf_sql(struct rql_strbuf *buf)
{
	const char *text = rql_strbuf_text(buf);
	return buf->failed ? NULL : text;
}

char *rql_strbuf_take(struct rql_strbuf *buf)
{
	char *text = NULL;
	/* An empty text is a text too; it needs its own byte. */
	if (reserve(buf, 0)) {
		buf->data[buf->length] = '\0';
		text = buf->data;
		buf->data = NULL;
	}
	rql_strbuf_free(buf);
	return text;
}

/* Does an Arrow array keep the rules of the C data interface, as far as can be seen without the buffers' sizes? DuckDB reads
 * what it is given, so lengths, counts, offsets, indices and text are looked at first
 * (https://arrow.apache.org/docs/format/CDataInterface.html, https://arrow.apache.org/docs/format/Columnar.html). */
#include "host/host_internal.h"

#include "rayql/arrow.h"
#include <stdlib.h>
#include <string.h>

/* ---- layouts ---- */
struct layout {
	int buffers;  /* -1: not known here; of views, without those of the data */
	int children; /* -1: any number */
	unsigned width;   /* bytes of an offset, 0: none */
	bool text, views, list;
};

static struct layout nested_layout(const char *format)
{
	switch (format[0]) {
	case 'l':
	case 'm':
		return (struct layout){.buffers = 2, .children = 1, .width = 4, .list = true};
	case 'L':
		return (struct layout){.buffers = 2, .children = 1, .width = 8, .list = true};
	case 'w':
		return (struct layout){.buffers = 1, .children = 1};
	case 's':
		return (struct layout){.buffers = 1, .children = -1};
	case 'v':
		return (struct layout){.buffers = 3, .children = 1};
	case 'u':
		return (struct layout){.buffers = format[1] == 'd' ? 2 : 1, .children = -1};
	case 'r':
		return (struct layout){.buffers = 0, .children = 2};
	default:
		return (struct layout){.buffers = -1};
	}
}

static struct layout layout_of(const char *format)
{
	switch (format[0]) {
	case 'n':
		return (struct layout){.buffers = 0};
	case 'z':
	case 'u':
		return (struct layout){.buffers = 3, .width = 4, .text = format[0] == 'u'};
	case 'Z':
	case 'U':
		return (struct layout){.buffers = 3, .width = 8, .text = format[0] == 'U'};
	case 'v':
		return (struct layout){.buffers = 3, .views = true, .text = format[1] == 'u'};
	case '+':
		return nested_layout(format + 1);
	default:
		return (struct layout){.buffers = format[0] && strchr("bcCsSiIlLefgdwt", format[0]) ? 2 : -1};
	}
}

/* ---- refusals ---- */
static rql_status wrong(const struct ArrowSchema *schema, const char *what, struct rql_error *err)
{
	return rql_error_set(err, RQL_ERROR_MISUSE, "the Arrow array of the field \"%s\" (%s) breaks Arrow's rules: %s",
	                     schema->name ? schema->name : "", schema->format, what);
}

static bool is_valid(const struct ArrowArray *array, int64_t row)
{
	const uint8_t *bits = array->n_buffers ? array->buffers[0] : NULL;
	int64_t at = row + array->offset;
	return !bits || bits[at / 8] >> (at % 8) & 1;
}

/* ---- text ---- */
static bool is_utf8(const unsigned char *s, uint64_t length)
{
	for (uint64_t i = 0; i < length;) {
		uint64_t word = 0;
		if (length - i >= sizeof word && (memcpy(&word, s + i, sizeof word), !(word & UINT64_C(0x8080808080808080)))) {
			i += sizeof word;
			continue;
		}
		unsigned char c = s[i];
		unsigned more = c < 0x80 ? 0 : c >= 0xC2 && c < 0xE0 ? 1 : c >= 0xE0 && c < 0xF0 ? 2 : c >= 0xF0 && c < 0xF5 ? 3 : 9;
		if (more > length - i - 1)
			return false;
		for (unsigned k = 1; k <= more; k++)
			if ((s[i + k] & 0xC0) != 0x80)
				return false;
		/* Overlong forms, surrogates, beyond U+10FFFF. */
		if (more > 1 && ((c == 0xE0 && s[i + 1] < 0xA0) || (c == 0xED && s[i + 1] > 0x9F) ||
		                 (c == 0xF0 && s[i + 1] < 0x90) || (c == 0xF4 && s[i + 1] > 0x8F)))
			return false;
		i += more + 1;
	}
	return true;
}

static int64_t offset_at(const struct ArrowArray *array, unsigned width, int64_t row)
{
	int64_t at = row + array->offset;
	return width == 4 ? ((const int32_t *)array->buffers[1])[at] : ((const int64_t *)array->buffers[1])[at];
}

static rql_status check_offsets(const struct ArrowSchema *schema, const struct ArrowArray *array, struct layout layout,
                                struct rql_error *err)
{
	int64_t last = offset_at(array, layout.width, 0);
	if (last < 0)
		return wrong(schema, "an offset is negative", err);
	for (int64_t r = 0; r < array->length; r++) {
		int64_t next = offset_at(array, layout.width, r + 1);
		if (next < last)
			return wrong(schema, "its offsets do not rise", err);
		if (!layout.list && next > last && !array->buffers[2])
			return wrong(schema, "it has no buffer of bytes", err);
		if (layout.text && next > last && is_valid(array, r) &&
		    !is_utf8((const unsigned char *)array->buffers[2] + last, (uint64_t)(next - last)))
			return wrong(schema, "a text is not UTF-8", err);
		last = next;
	}
	if (layout.list && array->length && last > array->children[0]->length)
		return wrong(schema, "its offsets lead beyond its values", err);
	return RQL_OK;
}

struct view {
	int32_t length;
	char prefix[4]; /* of the whole, when that has at most 12 bytes */
	int32_t buffer, offset;
};

static rql_status check_views(const struct ArrowSchema *schema, const struct ArrowArray *array, bool text,
                              struct rql_error *err)
{
	int64_t buffers = array->n_buffers - 3;
	const int64_t *sizes = array->buffers[array->n_buffers - 1];
	const struct view *views = (const struct view *)array->buffers[1] + array->offset;
	for (int64_t r = 0; r < array->length; r++) {
		const struct view *v = &views[r];
		if (!is_valid(array, r))
			continue;
		const char *bytes = v->prefix;
		if (v->length < 0)
			return wrong(schema, "a length is negative", err);
		if (v->length > 12) {
			if (v->buffer < 0 || v->buffer >= buffers || v->offset < 0 || !sizes ||
			    (int64_t)v->offset + v->length > sizes[v->buffer] || !array->buffers[2 + v->buffer])
				return wrong(schema, "a view leads beyond its buffers", err);
			bytes = (const char *)array->buffers[2 + v->buffer] + v->offset;
		}
		if (text && !is_utf8((const unsigned char *)bytes, (uint64_t)v->length))
			return wrong(schema, "a text is not UTF-8", err);
	}
	return RQL_OK;
}

/* ---- dictionaries ---- */
static int64_t index_at(const void *data, char format, int64_t at)
{
	switch (format) {
	case 'c':
		return ((const int8_t *)data)[at];
	case 'C':
		return ((const uint8_t *)data)[at];
	case 's':
		return ((const int16_t *)data)[at];
	case 'S':
		return ((const uint16_t *)data)[at];
	case 'i':
		return ((const int32_t *)data)[at];
	case 'I':
		return ((const uint32_t *)data)[at];
	case 'l':
	case 'L':
		return ((const int64_t *)data)[at];
	default:
		return -1;
	}
}

static rql_status check_indices(const struct ArrowSchema *schema, const struct ArrowArray *array, struct rql_error *err)
{
	for (int64_t r = 0; r < array->length; r++) {
		if (!is_valid(array, r))
			continue;
		int64_t index = index_at(array->buffers[1], schema->format[0], r + array->offset);
		if (index < 0 || index >= array->dictionary->length)
			return wrong(schema, "an index lies outside of its dictionary", err);
	}
	return RQL_OK;
}

/* ---- all of it ---- */
static rql_status check_counts(const struct ArrowSchema *schema, const struct ArrowArray *array, struct layout layout,
                               struct rql_error *err)
{
	if (array->length < 0 || array->offset < 0 || array->null_count < -1)
		return wrong(schema, "its length, its offset or its count of NULLs is negative", err);
	if (array->length > INT64_MAX - array->offset)
		return wrong(schema, "its length and its offset are too large", err);
	if (layout.views ? array->n_buffers < layout.buffers : array->n_buffers != layout.buffers)
		return wrong(schema, "it has another number of buffers than its format says", err);
	if (array->n_buffers && !array->buffers)
		return wrong(schema, "it has no buffers", err);
	if (array->n_children != schema->n_children || (array->n_children && !array->children) || schema->n_children < 0 ||
	    (schema->n_children && !schema->children) || (layout.children >= 0 && schema->n_children != layout.children))
		return wrong(schema, "it has another number of children than its format says", err);
	if (!array->dictionary != !schema->dictionary)
		return wrong(schema, "only one of array and schema has a dictionary", err);
	bool has_validity = array->n_buffers && strncmp(schema->format, "+u", 2) != 0;
	if (array->length && array->null_count > 0 && has_validity && !array->buffers[0])
		return wrong(schema, "it has NULLs and no validity bitmap", err);
	for (int64_t b = 1; array->length && b < array->n_buffers && b < 2; b++)
		if (!array->buffers[b])
			return wrong(schema, "a buffer is missing", err);
	return RQL_OK;
}

static rql_status check_children(const struct ArrowSchema *schema, const struct ArrowArray *array, struct rql_error *err)
{
	int64_t rows = array->length + array->offset, least = 0;
	const char *format = schema->format;
	if (strcmp(format, "+s") == 0 || strncmp(format, "+us", 3) == 0)
		least = rows;
	else if (strncmp(format, "+w:", 3) == 0 && __builtin_mul_overflow(rows, strtoll(format + 3, NULL, 10), &least))
		return wrong(schema, "its length is too large", err);
	for (int64_t c = 0; c < array->n_children; c++) {
		if (!array->children[c] || !schema->children[c])
			return wrong(schema, "a child is missing", err);
		if (array->children[c]->length < least)
			return wrong(schema, "a child is shorter than it", err);
		RQL_TRY(host_arrow_check(schema->children[c], array->children[c], err));
	}
	return RQL_OK;
}

rql_status host_arrow_check(const struct ArrowSchema *schema, const struct ArrowArray *array, struct rql_error *err)
{
	if (!schema->format)
		return rql_error_set(err, RQL_ERROR_MISUSE, "an Arrow schema has no format");
	struct layout layout = layout_of(schema->format);
	if (layout.buffers < 0)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "the field \"%s\" is of the Arrow format \"%s\", which is not known",
		                     schema->name ? schema->name : "", schema->format);
	RQL_TRY(check_counts(schema, array, layout, err));
	RQL_TRY(check_children(schema, array, err));
	if (schema->dictionary) {
		RQL_TRY(host_arrow_check(schema->dictionary, array->dictionary, err));
		return array->length ? check_indices(schema, array, err) : RQL_OK;
	}
	if (layout.width && array->length)
		return check_offsets(schema, array, layout, err);
	return layout.views && array->length ? check_views(schema, array, layout.text, err) : RQL_OK;
}

/* ---- an array of no rows ---- */
static void release_empty(struct ArrowArray *array)
{
	for (int64_t c = 0; c < array->n_children; c++) {
		if (array->children[c] && array->children[c]->release)
			array->children[c]->release(array->children[c]);
		free(array->children[c]);
	}
	if (array->dictionary && array->dictionary->release)
		array->dictionary->release(array->dictionary);
	free(array->dictionary);
	free(array->children);
	free(array->buffers);
	array->release = NULL;
}

bool host_arrow_empty(const struct ArrowSchema *schema, struct ArrowArray *out)
{
	static const int64_t zero[2];
	struct layout layout = layout_of(schema->format ? schema->format : "");
	*out = (struct ArrowArray){.n_buffers = layout.buffers > 0 ? layout.buffers : 0, .release = release_empty};
	out->buffers = calloc(4, sizeof *out->buffers);
	out->children = calloc((size_t)schema->n_children + 1, sizeof *out->children);
	bool ok = layout.buffers >= 0 && out->buffers && out->children;
	for (int b = 1; ok && b < layout.buffers; b++)
		out->buffers[b] = zero;
	for (int64_t c = 0; ok && c < schema->n_children; c++) {
		out->children[c] = calloc(1, sizeof **out->children);
		out->n_children = c + 1;
		ok = out->children[c] && schema->children[c] && host_arrow_empty(schema->children[c], out->children[c]);
	}
	if (ok && schema->dictionary) {
		out->dictionary = calloc(1, sizeof *out->dictionary);
		ok = out->dictionary && host_arrow_empty(schema->dictionary, out->dictionary);
	}
	if (!ok)
		release_empty(out);
	return ok;
}

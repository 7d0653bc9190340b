/* Which rows a box shows: all, or the first and the last ones. Batches in between are dropped as they come, so that a
 * result of any length takes the memory of its ends. */
#include <stdlib.h>
#include <string.h>

#include "duckbox.h"
#include "width.h"

/* Dots in place of rows take three lines themselves: hiding fewer rows than that gains nothing. */
enum { DOTS = 3 };

rayql_status rql_sh_box_keep(struct rql_sh_render *r, rayql_batch *batch)
{
	struct rql_sh_box *box = r->state;
	uint64_t rows = rayql_batch_rows(batch), bottom = box->max_rows / 2;
	if (!rows) {
		rayql_batch_free(batch);
		return RAYQL_OK;
	}
	if (box->kept_count == box->kept_capacity) {
		size_t capacity = box->kept_capacity ? 2 * box->kept_capacity : 8;
		struct rql_sh_box_kept *kept = realloc(box->kept, capacity * sizeof(*kept));
		if (!kept) {
			rayql_batch_free(batch);
			return RAYQL_ERROR_MEMORY;
		}
		box->kept = kept;
		box->kept_capacity = capacity;
	}
	bool head = box->max_rows > UINT64_MAX - DOTS || box->total < box->max_rows + DOTS;
	box->kept[box->kept_count++] = (struct rql_sh_box_kept){batch, box->total, rows};
	box->total += rows;
	if (head) {
		box->head_count = box->kept_count;
		return RAYQL_OK;
	}
	size_t drop = box->head_count;
	while (drop < box->kept_count && box->kept[drop].first + box->kept[drop].rows + bottom <= box->total)
		rayql_batch_free(box->kept[drop++].batch);
	memmove(box->kept + box->head_count, box->kept + drop, (box->kept_count - drop) * sizeof(*box->kept));
	box->kept_count -= drop - box->head_count;
	return RAYQL_OK;
}

bool rql_sh_readable_number(const char *number, char *text, size_t size)
{
	static const char *const names[] = {"million", "billion", "trillion", "quadrillion", "quintillion"};
	bool negative = *number == '-';
	uint64_t value = 0;
	for (const char *p = number + negative; *p && *p != '.'; p++) {
		if (*p < '0' || *p > '9' || value >= 1000000000000000000U)
			return false;
		value = value * 10 + (uint64_t)(*p - '0');
	}
	uint64_t base = 0, next = 1000000;
	const char *name = NULL;
	for (size_t i = 0; i < 5; i++, next *= 1000) {
		if (value + next / 200 < next) /* two decimals, rounded */
			break;
		base = next;
		name = names[i];
	}
	if (!name)
		return false;
	uint64_t hundredths = (value + base / 200) / (base / 100);
	snprintf(text, size, "%s%llu.%02llu %s", negative ? "-" : "", (unsigned long long)(hundredths / 100),
	         (unsigned long long)(hundredths % 100), name);
	return true;
}

/* Control characters would break the frame. */
static bool make_cell(struct rql_sh_box_cell *cell, const char *text, size_t length)
{
	static const char named[] = "\a\b\t\n\v\f\r\x1b", letters[] = "abtnvfre";
	struct rql_strbuf out = {0};
	size_t done = 0;
	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)text[i];
		if (c >= 32)
			continue;
		rql_strbuf_put_n(&out, text + done, i - done);
		done = i + 1;
		const char *name = c ? strchr(named, c) : NULL;
		if (name)
			rql_strbuf_printf(&out, "\\%c", letters[name - named]);
		else
			rql_strbuf_printf(&out, "\\%u", c);
	}
	rql_strbuf_put_n(&out, text + done, length - done);
	cell->length = out.length;
	rql_strbuf_text(&out);
	cell->text = rql_strbuf_take(&out);
	if (!cell->text) {
		cell->length = 0;
		return false;
	}
	cell->width = rql_sh_width(cell->text, cell->length);
	return true;
}

static bool equals(const char *type, size_t length, const char *name)
{
	return strlen(name) == length && !memcmp(type, name, length);
}

/* The type row: DuckDB writes int64 for BIGINT there, also inside a list, and everything else in lower case. */
static bool make_type(struct rql_sh_box_cell *cell, const char *type)
{
	static const char *const names[][2] = {{"TINYINT", "int8"}, {"SMALLINT", "int16"}, {"INTEGER", "int32"},
		{"BIGINT", "int64"}, {"HUGEINT", "int128"}, {"UTINYINT", "uint8"}, {"USMALLINT", "uint16"},
		{"UINTEGER", "uint32"}, {"UBIGINT", "uint64"}, {"UHUGEINT", "uint128"}};
	size_t length = strlen(type), lists = 0;
	struct rql_strbuf out = {0};
	while (length > 2 && !memcmp(type + length - 2, "[]", 2)) {
		length -= 2;
		lists++;
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !out.length; i++)
		if (equals(type, length, names[i][0]))
			rql_strbuf_put(&out, names[i][1]);
	if (!out.length)
		for (size_t i = 0; i < length; i++)
			rql_strbuf_putc(&out, type[i] >= 'A' && type[i] <= 'Z' ? (char)(type[i] + 32) : type[i]);
	while (lists--)
		rql_strbuf_put(&out, "[]");
	bool ok = !out.failed && make_cell(cell, rql_strbuf_text(&out), out.length);
	rql_strbuf_free(&out);
	return ok;
}

/* Cells of rows first..first+count of the result, from the shown row `at` on. */
static rayql_status fetch_rows(struct rql_sh_render *r, uint64_t first, uint64_t count, size_t at)
{
	struct rql_sh_box *box = r->state;
	const char *null = rql_sh_null(r);
	for (size_t i = 0; i < box->kept_count; i++) {
		const struct rql_sh_box_kept *kept = &box->kept[i];
		uint64_t from = kept->first > first ? kept->first : first;
		uint64_t to = kept->first + kept->rows < first + count ? kept->first + kept->rows : first + count;
		rayql_batch *text = NULL;
		if (from >= to)
			continue;
		rayql_status status = rayql_batch_to_text(r->result, kept->batch, &text, &r->error);
		if (status != RAYQL_OK)
			return status;
		for (uint64_t row = from; row < to && status == RAYQL_OK; row++) {
			struct rql_sh_box_cell *cells = box->cells + (at + (size_t)(row - first)) * r->column_count;
			for (uint32_t c = 0; c < r->column_count && status == RAYQL_OK; c++) {
				size_t length;
				const char *value = rql_sh_cell(text, c, row - kept->first, &length);
				if (!make_cell(&cells[c], value ? value : null, value ? length : strlen(null)))
					status = RAYQL_ERROR_MEMORY;
			}
		}
		rayql_batch_free(text);
		if (status != RAYQL_OK)
			return status;
	}
	return RAYQL_OK;
}

/* One row of large numbers only: a second row says them in words. */
static rayql_status add_readable(struct rql_sh_render *r)
{
	struct rql_sh_box *box = r->state;
	char (*texts)[64] = calloc(r->column_count, sizeof(*texts));
	if (!texts)
		return RAYQL_ERROR_MEMORY;
	bool all = true, ok = true;
	for (uint32_t c = 0; c < r->column_count && all; c++) {
		texts[c][0] = '(';
		all = r->columns[c].numeric && rql_sh_readable_number(box->cells[c].text, texts[c] + 1, sizeof(*texts) - 2);
	}
	for (uint32_t c = 0; c < r->column_count && all && ok; c++) {
		strcat(texts[c], ")");
		ok = make_cell(&box->cells[r->column_count + c], texts[c], strlen(texts[c]));
	}
	free(texts);
	box->readable_row = all && ok;
	return ok ? RAYQL_OK : RAYQL_ERROR_MEMORY;
}

rayql_status rql_sh_box_fetch(struct rql_sh_render *r)
{
	struct rql_sh_box *box = r->state;
	size_t columns = r->column_count ? r->column_count : 1;
	uint64_t bottom = 0, shown = box->total;
	if (box->total > DOTS && box->total - DOTS > box->max_rows) {
		shown = box->max_rows;
		bottom = box->max_rows / 2;
	}
	box->shown = (size_t)shown;
	box->top = (size_t)(shown - bottom);
	box->names = calloc(columns, sizeof(*box->names));
	box->types = calloc(columns, sizeof(*box->types));
	box->cells = calloc((box->shown + 1) * columns, sizeof(*box->cells));
	if (!box->names || !box->types || !box->cells)
		return RAYQL_ERROR_MEMORY;
	for (uint32_t c = 0; c < r->column_count; c++)
		if (!make_cell(&box->names[c], r->columns[c].name, strlen(r->columns[c].name)) ||
		    !make_type(&box->types[c], r->columns[c].type_name))
			return RAYQL_ERROR_MEMORY;
	rayql_status status = fetch_rows(r, 0, box->top, 0);
	if (status == RAYQL_OK && bottom)
		status = fetch_rows(r, box->total - bottom, bottom, box->top);
	if (status == RAYQL_OK && box->readable && box->total == 1 && r->column_count)
		status = add_readable(r);
	return status;
}

void rql_sh_box_release(struct rql_sh_render *r)
{
	struct rql_sh_box *box = r->state;
	for (size_t i = 0; i < box->kept_count; i++)
		rayql_batch_free(box->kept[i].batch);
	free(box->kept);
	for (uint32_t c = 0; c < r->column_count; c++) {
		if (box->names)
			free(box->names[c].text);
		if (box->types)
			free(box->types[c].text);
	}
	for (size_t i = 0; box->cells && i < (box->shown + 1) * r->column_count; i++)
		free(box->cells[i].text);
	free(box->names);
	free(box->types);
	free(box->cells);
	free(box->widths);
	free(box->pruned);
}

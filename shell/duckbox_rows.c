/* Which rows a box shows: all, or the first and the last ones. Batches in between are dropped as they come, so that a
 * result of any length takes the memory of its ends. */
#include <stdlib.h>
#include <string.h>

#include "duckbox.h"
#include "width.h"

/* Dots in place of rows take three lines themselves: hiding fewer rows than that gains nothing. */
enum { DOTS = 3 };
/* A result of so many values is kept whole, for .last; of a longer one the middle is dropped. */
enum { LAST_CELLS = 1 << 22 };

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
	if (!box->dropped && box->total < LAST_CELLS / r->column_count) {
		if (head)
			box->head_count = box->kept_count;
		return RAYQL_OK;
	}
	if (head) {
		box->head_count = box->kept_count;
		return RAYQL_OK;
	}
	size_t drop = box->head_count;
	while (drop < box->kept_count && box->kept[drop].first + box->kept[drop].rows + bottom <= box->total)
		rayql_batch_free(box->kept[drop++].batch);
	box->dropped = box->dropped || drop > box->head_count;
	memmove(box->kept + box->head_count, box->kept + drop, (box->kept_count - drop) * sizeof(*box->kept));
	box->kept_count -= drop - box->head_count;
	return RAYQL_OK;
}

bool rql_sh_readable_number(const char *number, char point, char *text, size_t size)
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
	snprintf(text, size, "%s%llu%c%02llu %s", negative ? "-" : "", (unsigned long long)(hundredths / 100),
	         point ? point : '.', (unsigned long long)(hundredths % 100), name);
	return true;
}

void rql_sh_box_number(const struct rql_sh_render *r, struct rql_strbuf *out, const char *number, size_t length)
{
	const struct rql_sh_box *box = r->state;
	char thousand = r->sh->thousand_sep, point = r->sh->decimal_sep, words[64];
	size_t sign = length && *number == '-', digits = 0;
	if (box->words == RQL_SH_WORDS_ALL && rql_sh_readable_number(number, point, words, sizeof(words))) {
		rql_strbuf_put(out, words);
		return;
	}
	while (sign + digits < length && number[sign + digits] >= '0' && number[sign + digits] <= '9')
		digits++;
	rql_strbuf_put_n(out, number, sign);
	for (size_t i = 0; i < digits; i++) {
		if (thousand && i && (digits - i) % 3 == 0)
			rql_strbuf_putc(out, thousand);
		rql_strbuf_putc(out, number[sign + i]);
	}
	for (size_t i = sign + digits; i < length; i++)
		rql_strbuf_putc(out, number[i] == '.' && point ? point : number[i]);
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

/* A value of column c; numbers hold no control characters, but separators. */
static bool make_value(struct rql_sh_render *r, uint32_t c, struct rql_sh_box_cell *cell, const char *text,
                       size_t length)
{
	const struct rql_sh_box *box = r->state;
	struct rql_strbuf number = {0};
	if (!r->columns[c].numeric || !(r->sh->thousand_sep || r->sh->decimal_sep || box->words == RQL_SH_WORDS_ALL))
		return make_cell(cell, text, length);
	char *terminated = strndup(text, length);
	if (terminated)
		rql_sh_box_number(r, &number, terminated, length);
	bool ok = terminated && !number.failed && make_cell(cell, rql_strbuf_text(&number), number.length);
	free(terminated);
	rql_strbuf_free(&number);
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
				if (!(value ? make_value(r, c, &cells[c], value, length) : make_cell(&cells[c], null, strlen(null))))
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
		all = r->columns[c].numeric &&
		      rql_sh_readable_number(box->cells[c].text, r->sh->decimal_sep, texts[c] + 1, sizeof(*texts) - 2);
	}
	for (uint32_t c = 0; c < r->column_count && all && ok; c++) {
		strcat(texts[c], ")");
		ok = make_cell(&box->cells[r->column_count + c], texts[c], strlen(texts[c]));
	}
	free(texts);
	box->readable_row = all && ok;
	return ok ? RAYQL_OK : RAYQL_ERROR_MEMORY;
}

/* The cells the other way round: a line for each column of the result, its name and type before its values. */
static rayql_status turn(struct rql_sh_render *r)
{
	struct rql_sh_box *box = r->state;
	size_t columns = 2 + box->shown, rows = r->column_count, hidden = (size_t)(box->total - box->shown);
	struct rql_sh_box_cell *names = calloc(columns, sizeof(*names)), *cells = calloc(rows * columns, sizeof(*cells));
	bool ok = names && cells && make_cell(&names[0], "Column", 6) && make_cell(&names[1], "Type", 4);
	for (size_t i = 0; i < box->shown && ok; i++) {
		char name[40];
		int length = snprintf(name, sizeof(name), "Row %zu", i + 1 + (i < box->top ? 0 : hidden));
		ok = make_cell(&names[2 + i], name, (size_t)length);
	}
	for (size_t row = 0; row < rows && ok; row++) {
		cells[row * columns] = box->names[row];
		cells[row * columns + 1] = box->types[row];
		for (size_t i = 0; i < box->shown; i++)
			cells[row * columns + 2 + i] = box->cells[i * rows + row];
	}
	if (!ok) {
		for (size_t i = 0; names && i < columns; i++)
			free(names[i].text);
		free(names);
		free(cells);
		return RAYQL_ERROR_MEMORY;
	}
	/* The texts have moved. */
	free(box->names);
	free(box->types);
	free(box->cells);
	box->names = names;
	box->types = NULL;
	box->cells = cells;
	box->cell_count = rows * columns;
	box->columns = columns;
	box->rows = rows;
	return RAYQL_OK;
}

static rayql_status choose_looks(struct rql_sh_render *r)
{
	struct rql_sh_box *box = r->state;
	box->looks = calloc(box->columns, sizeof(*box->looks));
	if (!box->looks)
		return RAYQL_ERROR_MEMORY;
	for (size_t c = 0; c < box->columns; c++)
		box->looks[c] = !box->types ? (struct rql_sh_box_column){.right = c > 1}
		                       : (struct rql_sh_box_column){r->columns[c].numeric, r->columns[c].nested};
	return RAYQL_OK;
}

rayql_status rql_sh_box_fetch(struct rql_sh_render *r)
{
	struct rql_sh_box *box = r->state;
	size_t columns = box->columns = r->column_count;
	uint64_t bottom = 0, shown = box->total;
	if (box->total > DOTS && box->total - DOTS > box->max_rows) {
		shown = box->max_rows;
		bottom = box->max_rows / 2;
	}
	box->shown = box->rows = (size_t)shown;
	box->top = (size_t)(shown - bottom);
	box->names = calloc(columns, sizeof(*box->names));
	box->types = calloc(columns, sizeof(*box->types));
	box->cell_count = (box->shown + 1) * columns;
	box->cells = calloc(box->cell_count, sizeof(*box->cells));
	if (!box->names || !box->types || !box->cells)
		return RAYQL_ERROR_MEMORY;
	for (uint32_t c = 0; c < r->column_count; c++)
		if (!make_cell(&box->names[c], r->columns[c].name, strlen(r->columns[c].name)) ||
		    !make_type(&box->types[c], r->columns[c].type_name))
			return RAYQL_ERROR_MEMORY;
	rayql_status status = fetch_rows(r, 0, box->top, 0);
	if (status == RAYQL_OK && bottom)
		status = fetch_rows(r, box->total - bottom, bottom, box->top);
	if (status == RAYQL_OK && box->words == RQL_SH_WORDS_FOOTER && !box->turned && box->total == 1)
		status = add_readable(r);
	box->rows += box->readable_row;
	if (status == RAYQL_OK && box->turned && box->shown)
		status = turn(r);
	return status == RAYQL_OK ? choose_looks(r) : status;
}

static void free_cells(struct rql_sh_box_cell *cells, size_t count)
{
	for (size_t i = 0; cells && i < count; i++)
		free(cells[i].text);
	free(cells);
}

void rql_sh_box_release(struct rql_sh_render *r)
{
	struct rql_sh_box *box = r->state;
	for (size_t i = 0; i < box->kept_count; i++)
		rayql_batch_free(box->kept[i].batch);
	free(box->kept);
	free_cells(box->names, box->columns);
	free_cells(box->types, box->columns);
	free_cells(box->cells, box->cell_count);
	free(box->looks);
	free(box->widths);
	free(box->pruned);
}

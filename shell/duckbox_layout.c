/* How wide each column of a box is, which columns are left out, and what the footer says. The rules are DuckDB's:
 *  - a box that fits is as wide as its values;
 *  - else the widest columns are cut down to a common width, but none below 20;
 *  - else columns are left out, from the middle outwards, and what room that leaves is given back from the left. */
#include <stdlib.h>
#include <string.h>

#include "duckbox.h"

static void say_count(const struct rql_sh_render *r, uint64_t count, const char *of, char *text, size_t size)
{
	struct rql_strbuf number = {0};
	char digits[32];
	int length = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)count);
	rql_sh_box_number(r, &number, digits, (size_t)length);
	snprintf(text, size, "%s %s", rql_strbuf_text(&number), of);
	rql_strbuf_free(&number);
}

static void say_rows(struct rql_sh_render *r)
{
	struct rql_sh_box *box = r->state;
	unsigned long long total = box->total;
	char words[64], number[32];
	snprintf(number, sizeof(number), "%llu", total);
	say_count(r, box->total, "rows", box->rows_text, sizeof(box->rows_text));
	if (box->words == RQL_SH_WORDS_FOOTER &&
	    rql_sh_readable_number(number, r->sh->decimal_sep, words, sizeof(words))) {
		snprintf(box->rows_text, sizeof(box->rows_text), "%.50s rows", words);
		snprintf(box->total_text, sizeof(box->total_text), "%llu total", total);
	}
	if (box->shown < box->total)
		say_count(r, box->shown, "shown", box->shown_text, sizeof(box->shown_text));
	snprintf(box->columns_text, sizeof(box->columns_text), "%u column%s", r->column_count,
	         r->column_count > 1 ? "s" : "");
	size_t rows = strlen(box->rows_text), shown = strlen(box->shown_text) + 2, all = strlen(box->total_text) + 2;
	box->footer_length = (rows > shown ? rows : shown) > all ? (rows > shown ? rows : shown) + 4 : all + 4;
}

static void natural_widths(struct rql_sh_render *r)
{
	struct rql_sh_box *box = r->state;
	box->length = 1;
	for (size_t c = 0; c < box->columns; c++) {
		size_t width = box->names[c].width;
		if (!box->turned && box->types[c].width > width)
			width = box->types[c].width;
		for (size_t row = 0; row < box->rows; row++)
			if (box->cells[row * box->columns + c].width > width)
				width = box->cells[row * box->columns + c].width;
		box->widths[c] = width;
		box->length += width + 3;
	}
}

static size_t above(const struct rql_sh_box *box, size_t level)
{
	size_t sum = 0;
	for (size_t c = 0; c < box->columns; c++)
		if (box->widths[c] > level)
			sum += box->widths[c] - level;
	return sum;
}

/* Lowers the widest columns to one level so that `excess` columns of the terminal are saved. The last one or few cells
 * that this saves too many go back to the narrowest of them, first come first. */
static void level_widths(struct rql_sh_render *r, size_t excess)
{
	struct rql_sh_box *box = r->state;
	size_t low = RQL_SH_BOX_COLUMN, high = low;
	for (size_t c = 0; c < box->columns; c++)
		if (box->widths[c] > high)
			high = box->widths[c];
	while (low + 1 < high) { /* above(low) >= excess > above(high) */
		size_t middle = low + (high - low) / 2;
		if (above(box, middle) >= excess)
			low = middle;
		else
			high = middle;
	}
	size_t surplus = above(box, low) - excess;
	for (; surplus; surplus--) {
		size_t best = box->columns;
		for (size_t c = 0; c < box->columns; c++)
			if (box->widths[c] > low && !box->pruned[c] && (best == box->columns || box->widths[c] < box->widths[best]))
				best = c;
		box->widths[best] = low + 1;
		box->pruned[best] = true; /* a mark, for this loop only */
	}
	for (size_t c = 0; c < box->columns; c++) {
		if (!box->pruned[c] && box->widths[c] > low)
			box->widths[c] = low;
		box->pruned[c] = false;
	}
	box->length -= excess;
}

/* The columns that go: the middle one, the one left of it, the one right of it, and so on outwards. */
static rayql_status prune(struct rql_sh_render *r)
{
	struct rql_sh_box *box = r->state;
	size_t *natural = malloc(box->columns * sizeof(*natural));
	if (!natural)
		return RAYQL_ERROR_MEMORY;
	memcpy(natural, box->widths, box->columns * sizeof(*natural));
	for (size_t c = 0; c < box->columns; c++) {
		if (box->widths[c] > RQL_SH_BOX_COLUMN) {
			box->length -= box->widths[c] - RQL_SH_BOX_COLUMN;
			box->widths[c] = RQL_SH_BOX_COLUMN;
		}
	}
	box->length += 4; /* the column of dots */
	int64_t offset = 0;
	while (box->length > box->max_width && box->pruned_count + 1 < box->columns) {
		size_t c = (size_t)((int64_t)(box->columns / 2) + offset);
		box->length -= box->widths[c] + 3;
		box->pruned[c] = true;
		box->pruned_count++;
		offset = offset >= 0 ? -offset - 1 : -offset;
	}
	for (size_t c = 0; c < box->columns && box->length < box->max_width; c++) {
		if (box->pruned[c])
			continue;
		size_t room = box->max_width - box->length, lost = natural[c] - box->widths[c];
		size_t back = room < lost ? room : lost;
		box->widths[c] += back;
		box->length += back;
	}
	free(natural);
	return RAYQL_OK;
}

rayql_status rql_sh_box_layout(struct rql_sh_render *r)
{
	struct rql_sh_box *box = r->state;
	rayql_status status = RAYQL_OK;
	bool cut = false;
	box->widths = calloc(box->columns, sizeof(*box->widths));
	box->pruned = calloc(box->columns, sizeof(*box->pruned));
	if (!box->widths || !box->pruned)
		return RAYQL_ERROR_MEMORY;
	say_rows(r);
	natural_widths(r);
	if ((box->shown < box->total || !box->total) && box->length < box->footer_length) {
		box->widths[0] += box->footer_length - box->length;
		box->length = box->footer_length;
	}
	if (box->length > box->max_width) {
		size_t excess = box->length - box->max_width;
		cut = true;
		if (above(box, RQL_SH_BOX_COLUMN) >= excess)
			level_widths(r, excess);
		else
			status = prune(r);
	}
	if (box->pruned_count && box->turned) {
		snprintf(box->shown_text, sizeof(box->shown_text), "%zu shown", box->columns - box->pruned_count - 2);
	} else if (box->pruned_count) {
		size_t length = strlen(box->columns_text);
		snprintf(box->columns_text + length, sizeof(box->columns_text) - length, " (%zu shown)",
		         box->columns - box->pruned_count);
	}
	/* Room for lines that would be left over is given to values that were cut. */
	size_t rows = box->rows;
	box->lines_per_row = 1;
	if (cut && !box->turned && !box->pruned_count && box->max_rows > 5 && rows < box->max_rows - 5)
		box->lines_per_row = (size_t)((box->max_rows - 5) / (rows ? rows : 1));
	return status;
}

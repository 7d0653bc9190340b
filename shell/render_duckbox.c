/* The duckbox mode: draws what duckbox_rows.c and duckbox_layout.c chose. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "duckbox.h"
#include "width.h"

enum align { LEFT, MIDDLE, RIGHT };

/* A value that goes on in further lines, as it is printed. */
struct piece {
	struct rql_strbuf text;
	size_t pos;
};

static void put_aligned(struct rql_sh_render *r, const char *text, size_t length, size_t width, enum align align)
{
	size_t taken = rql_sh_width(text, length);
	bool dots = taken > width;
	if (dots) {
		length = rql_sh_prefix(text, length, width ? width - 1 : 0, &taken);
		taken++;
	}
	size_t padding = (width > taken ? width - taken : 0) + 2;
	size_t before = align == LEFT ? 1 : align == RIGHT ? padding - 1 : padding / 2;
	rql_sh_put_run(r->out, " ", before);
	rql_sh_put(r, text, length);
	if (dots)
		fputs("…", r->out);
	rql_sh_put_run(r->out, " ", padding - before);
}

static bool first_pruned(const struct rql_sh_box *box, size_t c)
{
	return box->pruned[c] && (!c || !box->pruned[c - 1]);
}

static void put_rule(struct rql_sh_render *r, const char *left, const char *middle, const char *right)
{
	const struct rql_sh_box *box = r->state;
	fputs(left, r->out);
	for (size_t c = 0; c < box->columns; c++) {
		if (box->pruned[c] && !first_pruned(box, c))
			continue;
		if (c)
			fputs(middle, r->out);
		rql_sh_put_run(r->out, "─", (box->pruned[c] ? 1 : box->widths[c]) + 2);
	}
	fprintf(r->out, "%s\n", right);
}

static enum align alignment(const struct rql_sh_render *r, size_t c)
{
	const struct rql_sh_box *box = r->state;
	return box->readable_row ? MIDDLE : box->looks[c].right ? RIGHT : LEFT;
}

/* Names, types and rows alike; align < 0: each column's own. */
static void put_line(struct rql_sh_render *r, const struct rql_sh_box_cell *cells, int align)
{
	const struct rql_sh_box *box = r->state;
	for (size_t c = 0; c < box->columns; c++) {
		if (box->pruned[c] && !first_pruned(box, c))
			continue;
		fputs("│", r->out);
		if (box->pruned[c])
			fputs(" … ", r->out);
		else
			put_aligned(r, cells[c].text, cells[c].length, box->widths[c],
			            align < 0 ? alignment(r, c) : (enum align)align);
	}
	fputs("│\n", r->out);
}

/* A row whose values go on in up to lines_per_row further lines; the last of them takes the rest, cut. */
static rayql_status put_lines(struct rql_sh_render *r, const struct rql_sh_box_cell *cells, int align)
{
	const struct rql_sh_box *box = r->state;
	struct piece *pieces = calloc(box->columns, sizeof(*pieces));
	rayql_status status = pieces ? RAYQL_OK : RAYQL_ERROR_MEMORY;
	for (size_t c = 0; c < box->columns && status == RAYQL_OK; c++) {
		if (box->looks[c].nested && align < 0)
			rql_sh_nested_layout(&pieces[c].text, cells[c].text, cells[c].length, box->widths[c], box->lines_per_row);
		else
			rql_strbuf_put_n(&pieces[c].text, cells[c].text, cells[c].length);
		if (pieces[c].text.failed)
			status = RAYQL_ERROR_MEMORY;
	}
	bool more = status == RAYQL_OK;
	for (size_t line = 0; more; line++) {
		more = false;
		for (size_t c = 0; c < box->columns; c++) {
			struct piece *piece = &pieces[c];
			size_t used, left = piece->text.length - piece->pos;
			const char *text = left ? piece->text.data + piece->pos : "";
			size_t length = line < box->lines_per_row ? rql_sh_prefix(text, left, box->widths[c], &used) : left;
			fputs("│", r->out);
			put_aligned(r, text, length, box->widths[c], align < 0 ? alignment(r, c) : (enum align)align);
			piece->pos += length;
			if (piece->pos < piece->text.length && piece->text.data[piece->pos] == '\n')
				piece->pos++;
			more = more || piece->pos < piece->text.length;
		}
		fputs("│\n", r->out);
	}
	for (uint32_t c = 0; pieces && c < box->columns; c++)
		rql_strbuf_free(&pieces[c].text);
	free(pieces);
	return status;
}

/* Three dots below each other stand for the hidden rows, under the middle of the shorter neighbour. */
static void put_dots(struct rql_sh_render *r, const struct rql_sh_box_cell *above, const struct rql_sh_box_cell *below)
{
	const struct rql_sh_box *box = r->state;
	for (int line = 0; line < 3; line++) {
		for (size_t c = 0; c < box->columns; c++) {
			if (box->pruned[c] && !first_pruned(box, c))
				continue;
			fputs("│", r->out);
			if (box->pruned[c]) {
				fputs(" … ", r->out);
				continue;
			}
			size_t width = box->widths[c], up = above[c].width < width ? above[c].width : width;
			size_t down = below[c].width < width ? below[c].width : width;
			size_t shorter = !up ? down : !down || up < down ? up : down;
			size_t spaces = width + 1, half = shorter ? (shorter - 1) / 2 : 0;
			size_t before = !shorter ? (width + 1) / 2 : box->looks[c].right ? width - half : 1 + half;
			rql_sh_put_run(r->out, " ", before);
			fputs("·", r->out);
			rql_sh_put_run(r->out, " ", spaces - before);
		}
		fputs("│\n", r->out);
	}
}

static void put_shown(struct rql_sh_render *r, const char *text, enum align align)
{
	const struct rql_sh_box *box = r->state;
	char line[80];
	if (!*text)
		return;
	snprintf(line, sizeof(line), "(%s)", text);
	putc(' ', r->out);
	put_aligned(r, line, strlen(line), box->length - 4, align);
	putc('\n', r->out);
}

#define LAST_HINT "use .last to show entire result"

static void put_footer(struct rql_sh_render *r)
{
	const struct rql_sh_box *box = r->state;
	size_t rows = strlen(box->rows_text), columns = strlen(box->columns_text);
	bool hidden_columns = box->pruned_count && !box->turned;
	bool hidden_rows = box->shown < box->total || (box->pruned_count && box->turned);
	bool both = box->length >= rows + columns + 6 &&
	            ((hidden_columns && box->total) || (box->total >= 10 && box->columns > 1));
	if (!both && !(box->length >= box->footer_length && (!box->total || box->total >= 10)))
		return;
	size_t padding = box->length - rows - 4 - (both ? columns : 0);
	char extra[160] = "";
	if (hidden_rows) {
		snprintf(extra, sizeof(extra), " (%s%s%s)", box->shown_text, *box->total_text ? ", " : "", box->total_text);
		if (strlen(extra) > padding)
			extra[0] = '\0';
		padding -= strlen(extra);
	}
	const char *hint = both && (hidden_columns || hidden_rows) && padding >= strlen(LAST_HINT) + 10 ? LAST_HINT : "";
	size_t spaces = padding - strlen(hint), before = spaces / 2;
	fprintf(r->out, "  %*s%s%s%*s%s%*s%s\n", both ? 0 : (int)before, "", box->rows_text, extra,
	        both ? (int)before : 0, "", hint, (int)(spaces - before), "", both ? box->columns_text : "");
	if (*extra || (!*box->shown_text && !*box->total_text))
		return;
	size_t shown = strlen(box->shown_text), all = strlen(box->total_text);
	if (shown && all && shown + all + 4 <= box->length) {
		fprintf(r->out, "  %s%*s%s\n", box->shown_text, (int)(box->length - shown - all - 4), "", box->total_text);
		return;
	}
	put_shown(r, box->shown_text, both ? LEFT : MIDDLE);
	put_shown(r, box->total_text, both ? LEFT : MIDDLE);
}

static void limits(struct rql_sh_render *r)
{
	enum { LEAST_WIDTH = 80 };
	struct rql_sh_box *box = r->state;
	const struct rql_sh *sh = r->sh;
	bool terminal = sh->stdout_tty && !sh->out_name;
	bool file = sh->out_name && sh->out_name[0] != '|';
	box->max_rows = r->unlimited || (file && !sh->max_width) ? UINT64_MAX : sh->max_rows;
	box->max_width = r->unlimited    ? SIZE_MAX
	                 : sh->max_width ? sh->max_width
	                 : terminal      ? rql_sh_terminal_columns()
	                                 : SIZE_MAX;
	if (box->max_width < LEAST_WIDTH)
		box->max_width = LEAST_WIDTH;
	box->words = sh->words != RQL_SH_WORDS_AUTO ? sh->words : terminal ? RQL_SH_WORDS_FOOTER : RQL_SH_WORDS_NONE;
	box->turned = sh->columns;
}

static rayql_status box_batch(struct rql_sh_render *r, rayql_batch *batch)
{
	limits(r);
	return rql_sh_box_keep(r, batch);
}

static rayql_status draw(struct rql_sh_render *r)
{
	const struct rql_sh_box *box = r->state;
	size_t rows = box->rows;
	bool lines = box->lines_per_row > 1;
	rayql_status status = RAYQL_OK;
	put_rule(r, "┌", "┬", "┐");
	if (lines) {
		status = put_lines(r, box->names, MIDDLE);
		if (status == RAYQL_OK)
			status = put_lines(r, box->types, MIDDLE);
	} else {
		put_line(r, box->names, MIDDLE);
		if (!box->turned)
			put_line(r, box->types, MIDDLE);
	}
	for (size_t row = 0; row < rows && status == RAYQL_OK; row++) {
		const struct rql_sh_box_cell *cells = box->cells + row * box->columns;
		if (!row || lines)
			put_rule(r, "├", "┼", "┤");
		if (row == box->top && row && box->top < box->shown && !box->turned)
			put_dots(r, cells - box->columns, cells);
		if (lines)
			status = put_lines(r, cells, -1);
		else
			put_line(r, cells, -1);
	}
	put_rule(r, "└", "┴", "┘");
	return status;
}

/* The batches stay for .last. */
static void box_keep(struct rql_sh_render *r, struct rql_sh_last *last)
{
	struct rql_sh_box *box = r->state;
	last->batches = calloc(box->kept_count ? box->kept_count : 1, sizeof(*last->batches));
	if (box->dropped || !last->batches)
		return;
	last->whole = true;
	for (size_t i = 0; i < box->kept_count; i++)
		last->batches[last->count++] = box->kept[i].batch;
	box->kept_count = 0;
}

static rayql_status box_end(struct rql_sh_render *r)
{
	if (!r->column_count)
		return RAYQL_OK;
	limits(r);
	rayql_status status = rql_sh_box_fetch(r);
	if (status == RAYQL_OK)
		status = rql_sh_box_layout(r);
	if (status == RAYQL_OK)
		status = draw(r);
	if (status == RAYQL_OK)
		put_footer(r);
	return status;
}

const struct rql_sh_mode rql_sh_mode_duckbox = {.name = "duckbox", .help = "Tables with extensive features (default)",
	.state_size = sizeof(struct rql_sh_box), .raw = true, .whole = true, .batch = box_batch,
	.end = box_end, .keep = box_keep, .release = rql_sh_box_release};

/* Modes that need every row before the first can be printed, because columns are as wide as their widest value:
 * column, table, markdown, box, latex. */
#include <stdlib.h>
#include <string.h>

#include "render.h"
#include "width.h"

struct table {
	rayql_batch **batches;
	size_t count, capacity;
	size_t *widths;
	struct rql_strbuf escaped; /* the cell at hand, with escapes */
};

/* The frames. A cell is written between `open`, `between` and `close`; values pass through `escape`. */
struct frame {
	const char *open, *between, *close;
	char escape; /* '|': as \|; 'n': line breaks as \n; 0: nothing */
};
static const struct frame column_frame = {"", "  ", "\n", 0};
static const struct frame table_frame = {"| ", " | ", " |\n", 0};
static const struct frame markdown_frame = {"| ", " | ", " |\n", '|'};
static const struct frame box_frame = {"│ ", " │ ", " │\n", 'n'};
static const struct frame latex_frame = {"", " & ", " \\\\\n", 0};

static rayql_status table_batch(struct rql_sh_render *r, rayql_batch *batch)
{
	struct table *table = r->state;
	if (table->count == table->capacity) {
		size_t capacity = table->capacity ? 2 * table->capacity : 16;
		rayql_batch **batches = realloc(table->batches, capacity * sizeof(*batches));
		if (!batches) {
			rayql_batch_free(batch);
			return RAYQL_ERROR_MEMORY;
		}
		table->batches = batches;
		table->capacity = capacity;
	}
	table->batches[table->count++] = batch;
	return RAYQL_OK;
}

static void table_release(struct rql_sh_render *r)
{
	struct table *table = r->state;
	for (size_t i = 0; i < table->count; i++)
		rayql_batch_free(table->batches[i]);
	free(table->batches);
	free(table->widths);
	rql_strbuf_free(&table->escaped);
}

/* The value as it is printed; valid until the next call. */
static const char *escape(struct table *table, const struct frame *frame, const char *text, size_t *length)
{
	char special = frame->escape == 'n' ? '\n' : frame->escape;
	if (!special || !memchr(text, special, *length))
		return text;
	rql_strbuf_clear(&table->escaped);
	for (size_t i = 0; i < *length; i++) {
		if (text[i] == special)
			rql_strbuf_putc(&table->escaped, '\\');
		rql_strbuf_putc(&table->escaped, text[i] == special ? frame->escape : text[i]);
	}
	*length = table->escaped.length;
	return rql_strbuf_text(&table->escaped);
}

static size_t cell_width(struct table *table, const struct frame *frame, const char *text, size_t length)
{
	const char *printed = escape(table, frame, text, &length);
	return rql_sh_last_line_width(printed, length);
}

static void widen(size_t *width, size_t wanted)
{
	if (wanted > *width)
		*width = wanted;
}

static rayql_status measure(struct rql_sh_render *r, const struct frame *frame)
{
	struct table *table = r->state;
	const char *null = rql_sh_null(r);
	size_t null_width = rql_sh_last_line_width(null, strlen(null));
	table->widths = calloc(r->column_count ? r->column_count : 1, sizeof(*table->widths));
	if (!table->widths)
		return RAYQL_ERROR_MEMORY;
	for (uint32_t c = 0; c < r->column_count; c++) {
		size_t *width = &table->widths[c];
		if (c < RQL_SH_WIDTHS)
			*width = (size_t)abs(r->sh->widths[c]);
		widen(width, cell_width(table, frame, r->columns[c].name, strlen(r->columns[c].name)));
		for (size_t i = 0; i < table->count; i++) {
			uint64_t rows = rayql_batch_rows(table->batches[i]);
			for (uint64_t row = 0; row < rows; row++) {
				size_t length;
				const char *text = rql_sh_cell(table->batches[i], c, row, &length);
				widen(width, text ? cell_width(table, frame, text, length) : null_width);
			}
		}
	}
	return table->escaped.failed ? RAYQL_ERROR_MEMORY : RAYQL_OK;
}

enum align { LEFT, MIDDLE, RIGHT };

static void put_cell(struct rql_sh_render *r, const struct frame *frame, const char *text, size_t length, size_t width,
                     enum align align)
{
	const char *printed = escape(r->state, frame, text, &length);
	size_t taken = rql_sh_last_line_width(printed, length), spaces = width > taken ? width - taken : 0;
	size_t before = align == RIGHT ? spaces : align == MIDDLE ? spaces / 2 : 0;
	rql_sh_put_run(r->out, " ", before);
	rql_sh_put(r, printed, length);
	rql_sh_put_run(r->out, " ", spaces - before);
}

static void put_names(struct rql_sh_render *r, const struct frame *frame, enum align align)
{
	struct table *table = r->state;
	fputs(frame->open, r->out);
	for (uint32_t c = 0; c < r->column_count; c++) {
		enum align own = align == LEFT && c < RQL_SH_WIDTHS && r->sh->widths[c] < 0 ? RIGHT : align;
		if (c)
			fputs(frame->between, r->out);
		put_cell(r, frame, r->columns[c].name, strlen(r->columns[c].name), table->widths[c], own);
	}
	fputs(frame->close, r->out);
}

static void put_rows(struct rql_sh_render *r, const struct frame *frame)
{
	struct table *table = r->state;
	const char *null = rql_sh_null(r);
	for (size_t i = 0; i < table->count && !rql_sh_interrupted(r->sh); i++) {
		uint64_t rows = rayql_batch_rows(table->batches[i]);
		for (uint64_t row = 0; row < rows; row++) {
			fputs(frame->open, r->out);
			for (uint32_t c = 0; c < r->column_count; c++) {
				size_t length;
				const char *text = rql_sh_cell(table->batches[i], c, row, &length);
				if (c)
					fputs(frame->between, r->out);
				put_cell(r, frame, text ? text : null, text ? length : strlen(null), table->widths[c],
				         c < RQL_SH_WIDTHS && r->sh->widths[c] < 0 ? RIGHT : LEFT);
			}
			fputs(frame->close, r->out);
		}
	}
}

static void put_rule(struct rql_sh_render *r, const char *left, const char *line, const char *middle, const char *right)
{
	struct table *table = r->state;
	for (uint32_t c = 0; c < r->column_count; c++) {
		fputs(c ? middle : left, r->out);
		rql_sh_put_run(r->out, line, table->widths[c] + 2);
	}
	fprintf(r->out, "%s\n", right);
}

static rayql_status column_end(struct rql_sh_render *r)
{
	struct table *table = r->state;
	rayql_status status = measure(r, &column_frame);
	if (status != RAYQL_OK)
		return status;
	if (r->sh->header) {
		put_names(r, &column_frame, LEFT);
		for (uint32_t c = 0; c < r->column_count; c++) {
			fputs(c ? "  " : "", r->out);
			rql_sh_put_run(r->out, "-", table->widths[c]);
		}
		putc('\n', r->out);
	}
	put_rows(r, &column_frame);
	return RAYQL_OK;
}

static rayql_status table_end(struct rql_sh_render *r)
{
	rayql_status status = measure(r, &table_frame);
	if (status != RAYQL_OK)
		return status;
	put_rule(r, "+", "-", "+", "+");
	put_names(r, &table_frame, MIDDLE);
	put_rule(r, "+", "-", "+", "+");
	put_rows(r, &table_frame);
	put_rule(r, "+", "-", "+", "+");
	return RAYQL_OK;
}

static rayql_status box_end(struct rql_sh_render *r)
{
	rayql_status status = measure(r, &box_frame);
	if (status != RAYQL_OK)
		return status;
	put_rule(r, "┌", "─", "┬", "┐");
	put_names(r, &box_frame, MIDDLE);
	put_rule(r, "├", "─", "┼", "┤");
	put_rows(r, &box_frame);
	put_rule(r, "└", "─", "┴", "┘");
	return RAYQL_OK;
}

static rayql_status markdown_end(struct rql_sh_render *r)
{
	struct table *table = r->state;
	rayql_status status = measure(r, &markdown_frame);
	if (status != RAYQL_OK)
		return status;
	put_names(r, &markdown_frame, MIDDLE);
	for (uint32_t c = 0; c < r->column_count; c++) {
		putc('|', r->out);
		rql_sh_put_run(r->out, "-", table->widths[c] + (r->columns[c].numeric ? 1 : 2));
		if (r->columns[c].numeric)
			putc(':', r->out);
	}
	fputs("|\n", r->out);
	put_rows(r, &markdown_frame);
	return RAYQL_OK;
}

/* The signed integers, the floating types and DECIMAL: what DuckDB's shell aligns to the right here. */
static bool latex_number(rayql_type type)
{
	return (type >= RAYQL_TYPE_TINYINT && type <= RAYQL_TYPE_BIGINT) ||
	       (type >= RAYQL_TYPE_FLOAT && type <= RAYQL_TYPE_DECIMAL);
}

static rayql_status latex_end(struct rql_sh_render *r)
{
	rayql_status status = measure(r, &latex_frame);
	if (status != RAYQL_OK)
		return status;
	fputs("\\begin{tabular}{|", r->out);
	for (uint32_t c = 0; c < r->column_count; c++)
		putc(latex_number(r->columns[c].type) ? 'r' : 'l', r->out);
	fputs("|}\n\\hline\n", r->out);
	put_names(r, &latex_frame, MIDDLE);
	fputs("\\hline\n", r->out);
	put_rows(r, &latex_frame);
	fputs("\\hline\n\\end{tabular}\n", r->out);
	return RAYQL_OK;
}

#define TABLE(name_, help_, row_sep_)                                                                                  \
	const struct rql_sh_mode rql_sh_mode_##name_ = {.name = #name_, .help = help_,                                     \
		.state_size = sizeof(struct table), .whole = true, .row_sep = row_sep_, .batch = table_batch,                  \
		.end = name_##_end, .release = table_release}

TABLE(column, "Output in columns (see .width)", "\n");
TABLE(table, "ASCII-art table", NULL);
TABLE(box, "Tables of box-drawing characters", NULL);
TABLE(markdown, "Markdown table", NULL);
TABLE(latex, "LaTeX tabular environment code", NULL);

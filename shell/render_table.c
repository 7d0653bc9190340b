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
}

static bool escaped(char escape, char c)
{
	return (escape == '|' && c == '|') || (escape == 'n' && c == '\n');
}

static size_t cell_width(const struct frame *frame, const char *text, size_t length)
{
	size_t width = rql_sh_width(text, length);
	for (size_t i = 0; frame->escape && i < length; i++)
		if (escaped(frame->escape, text[i]))
			width += text[i] == '\n' ? 2 : 1;
	return width;
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
	table->widths = calloc(r->column_count ? r->column_count : 1, sizeof(*table->widths));
	if (!table->widths)
		return RAYQL_ERROR_MEMORY;
	for (uint32_t c = 0; c < r->column_count; c++) {
		size_t *width = &table->widths[c];
		if (c < RQL_SH_WIDTHS)
			*width = (size_t)abs(r->sh->widths[c]);
		widen(width, cell_width(frame, r->columns[c].name, strlen(r->columns[c].name)));
		for (size_t i = 0; i < table->count; i++) {
			uint64_t rows = rayql_batch_rows(table->batches[i]);
			for (uint64_t row = 0; row < rows; row++) {
				size_t length;
				const char *text = rql_sh_cell(table->batches[i], c, row, &length);
				widen(width, text ? cell_width(frame, text, length) : rql_sh_width(null, strlen(null)));
			}
		}
	}
	return RAYQL_OK;
}

enum align { LEFT, MIDDLE, RIGHT };

static void put_cell(struct rql_sh_render *r, const struct frame *frame, const char *text, size_t length, size_t width,
                     enum align align)
{
	size_t taken = cell_width(frame, text, length), spaces = width > taken ? width - taken : 0;
	size_t before = align == RIGHT ? spaces : align == MIDDLE ? spaces / 2 : 0;
	rql_sh_put_run(r->out, " ", before);
	if (!frame->escape) {
		rql_sh_put(r, text, length);
	} else {
		for (size_t i = 0; i < length; i++) {
			bool escape = escaped(frame->escape, text[i]);
			if (escape)
				putc('\\', r->out);
			putc(escape && text[i] == '\n' ? 'n' : text[i], r->out);
		}
	}
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

static rayql_status latex_end(struct rql_sh_render *r)
{
	rayql_status status = measure(r, &latex_frame);
	if (status != RAYQL_OK)
		return status;
	fputs("\\begin{tabular}{|", r->out);
	for (uint32_t c = 0; c < r->column_count; c++)
		putc(r->columns[c].numeric ? 'r' : 'l', r->out);
	fputs("|}\n\\hline\n", r->out);
	put_names(r, &latex_frame, MIDDLE);
	fputs("\\hline\n", r->out);
	put_rows(r, &latex_frame);
	fputs("\\hline\n\\end{tabular}\n", r->out);
	return RAYQL_OK;
}

#define TABLE(name_, help_)                                                                                            \
	const struct rql_sh_mode rql_sh_mode_##name_ = {.name = #name_, .help = help_,                                     \
		.state_size = sizeof(struct table), .whole = true, .null_value = "NULL", .batch = table_batch,                 \
		.end = name_##_end, .release = table_release}

TABLE(column, "Output in columns (see .width)");
TABLE(table, "ASCII-art table");
TABLE(box, "Tables of box-drawing characters");
TABLE(markdown, "Markdown table");
TABLE(latex, "LaTeX tabular environment code");

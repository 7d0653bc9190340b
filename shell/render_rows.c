/* Modes that print row by row as rows come: csv, tabs, list, ascii, line, quote, tcl, insert, html, trash, explain. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "render.h"

/* ---- separated values: list, tabs, ascii, csv, quote, tcl differ in how a value is written ---- */
typedef void (*put_fn)(struct rql_sh_render *r, const struct rql_sh_column *column, const char *text, size_t length);

static void put_plain(struct rql_sh_render *r, const struct rql_sh_column *column, const char *text, size_t length)
{
	(void)column;
	rql_sh_put(r, text, length);
}

static void put_doubled(struct rql_sh_render *r, const char *text, size_t length, char quote)
{
	putc(quote, r->out);
	for (size_t i = 0; i < length; i++) {
		if (text[i] == quote)
			putc(quote, r->out);
		putc(text[i], r->out);
	}
	putc(quote, r->out);
}

static bool contains(const char *text, size_t length, const char *part)
{
	size_t part_length = strlen(part);
	return part_length && memmem(text, length, part, part_length);
}

/* DuckDB quotes whatever another reader could take for something else: quotes, control and non-ASCII characters. */
static void put_csv(struct rql_sh_render *r, const struct rql_sh_column *column, const char *text, size_t length)
{
	bool quote = contains(text, length, r->sh->column_sep);
	(void)column;
	for (size_t i = 0; i < length && !quote; i++) {
		unsigned char c = (unsigned char)text[i];
		quote = c < 32 || c >= 127 || c == '"' || c == '\'';
	}
	if (quote)
		put_doubled(r, text, length, '"');
	else
		rql_sh_put(r, text, length);
}

static void put_quote(struct rql_sh_render *r, const struct rql_sh_column *column, const char *text, size_t length)
{
	if (column->numeric || column->type == RAYQL_TYPE_BOOLEAN)
		rql_sh_put(r, text, length);
	else
		put_doubled(r, text, length, '\'');
}

/* As C writes a string; what is not printable ASCII in octal. */
static void put_tcl(struct rql_sh_render *r, const struct rql_sh_column *column, const char *text, size_t length)
{
	(void)column;
	putc('"', r->out);
	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)text[i];
		if (c == '\t' || c == '\n' || c == '\r')
			fprintf(r->out, "\\%c", c == '\t' ? 't' : c == '\n' ? 'n' : 'r');
		else if (c == '"' || c == '\\')
			fprintf(r->out, "\\%c", c);
		else if (c < 32 || c >= 127)
			fprintf(r->out, "\\%03o", c);
		else
			putc(c, r->out);
	}
	putc('"', r->out);
}

static void separated_header(struct rql_sh_render *r, put_fn put, const char *column_sep, const char *row_sep)
{
	static const struct rql_sh_column text_column = {.type = RAYQL_TYPE_VARCHAR};
	if (!r->sh->header)
		return;
	for (uint32_t c = 0; c < r->column_count; c++) {
		if (c)
			fputs(column_sep, r->out);
		put(r, &text_column, r->columns[c].name, strlen(r->columns[c].name));
	}
	fputs(row_sep, r->out);
}

/* bare_null: NULL is written as it is, not as a value that happens to have its letters. */
static void separated_rows(struct rql_sh_render *r, const rayql_batch *batch, put_fn put, bool bare_null,
                           const char *column_sep, const char *row_sep)
{
	uint64_t rows = rayql_batch_rows(batch);
	const char *null = rql_sh_null(r);
	for (uint64_t row = 0; row < rows; row++) {
		for (uint32_t c = 0; c < r->column_count; c++) {
			size_t length;
			const char *text = rql_sh_cell(batch, c, row, &length);
			if (c)
				fputs(column_sep, r->out);
			if (text)
				put(r, &r->columns[c], text, length);
			else if (bare_null)
				fputs(null, r->out);
			else
				put(r, &r->columns[c], null, strlen(null));
		}
		fputs(row_sep, r->out);
	}
}

#define SEPARATED(name_, put_, bare_null_, column_sep_, row_sep_)                                                      \
	static rayql_status name_##_begin(struct rql_sh_render *r)                                                         \
	{                                                                                                                  \
		separated_header(r, put_, column_sep_, row_sep_);                                                              \
		return RAYQL_OK;                                                                                               \
	}                                                                                                                  \
	static rayql_status name_##_batch(struct rql_sh_render *r, rayql_batch *batch)                                     \
	{                                                                                                                  \
		separated_rows(r, batch, put_, bare_null_, column_sep_, row_sep_);                                             \
		return RAYQL_OK;                                                                                               \
	}

SEPARATED(list, put_plain, true, r->sh->column_sep, r->sh->row_sep)
SEPARATED(csv, put_csv, false, r->sh->column_sep, r->sh->row_sep)
SEPARATED(quote, put_quote, true, r->sh->column_sep, r->sh->row_sep)
SEPARATED(tcl, put_tcl, false, r->sh->column_sep, r->sh->row_sep)
/* DuckDB's shell prints lines here, whatever the separators are. */
SEPARATED(ascii, put_plain, true, "\n", "\n")

#define LIST_MODE(name_, help_, column_sep_, row_sep_, null_)                                                          \
	const struct rql_sh_mode rql_sh_mode_##name_ = {.name = #name_, .help = help_, .column_sep = column_sep_,          \
		.row_sep = row_sep_, .null_value = null_, .begin = name_##_begin, .batch = name_##_batch}

LIST_MODE(list, "Values delimited by \"|\"", "|", "\n", NULL);
LIST_MODE(ascii, "One value a line", "\x1f", "\x1e", NULL);
LIST_MODE(csv, "Comma-separated values", ",", "\r\n", NULL);
LIST_MODE(quote, "Values written as in SQL", ",", "\n", "NULL");
LIST_MODE(tcl, "TCL list elements", " ", "\n", NULL);
const struct rql_sh_mode rql_sh_mode_tabs = {.name = "tabs", .help = "Tab-separated values", .column_sep = "\t",
	.begin = list_begin, .batch = list_batch};

/* ---- line ---- */
static rayql_status line_batch(struct rql_sh_render *r, rayql_batch *batch)
{
	int widest = 5;
	for (uint32_t c = 0; c < r->column_count; c++)
		if (strlen(r->columns[c].name) > (size_t)widest)
			widest = (int)strlen(r->columns[c].name);
	uint64_t rows = rayql_batch_rows(batch);
	const char *null = rql_sh_null(r);
	for (uint64_t row = 0; row < rows; row++) {
		if (r->rows + row)
			fputs(r->sh->row_sep, r->out);
		for (uint32_t c = 0; c < r->column_count; c++) {
			size_t length;
			const char *text = rql_sh_cell(batch, c, row, &length);
			fprintf(r->out, "%*s = ", widest, r->columns[c].name);
			rql_sh_put(r, text ? text : null, text ? length : strlen(null));
			fputs(r->sh->row_sep, r->out);
		}
	}
	return RAYQL_OK;
}

const struct rql_sh_mode rql_sh_mode_line = {
	.name = "line", .help = "One value per line", .row_sep = "\n", .batch = line_batch};

/* ---- html ---- */
static void put_html(struct rql_sh_render *r, const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		switch (text[i]) {
		case '<': fputs("&lt;", r->out); break;
		case '>': fputs("&gt;", r->out); break;
		case '&': fputs("&amp;", r->out); break;
		case '"': fputs("&quot;", r->out); break;
		case '\'': fputs("&#39;", r->out); break;
		default: putc(text[i], r->out);
		}
	}
}

static rayql_status html_begin(struct rql_sh_render *r)
{
	if (!r->sh->header)
		return RAYQL_OK;
	fputs("<tr>", r->out);
	for (uint32_t c = 0; c < r->column_count; c++) {
		fputs("<th>", r->out);
		put_html(r, r->columns[c].name, strlen(r->columns[c].name));
		fputs("</th>\n", r->out);
	}
	fputs("</tr>\n", r->out);
	return RAYQL_OK;
}

static rayql_status html_batch(struct rql_sh_render *r, rayql_batch *batch)
{
	uint64_t rows = rayql_batch_rows(batch);
	const char *null = rql_sh_null(r);
	for (uint64_t row = 0; row < rows; row++) {
		fputs("<tr>", r->out);
		for (uint32_t c = 0; c < r->column_count; c++) {
			size_t length;
			const char *text = rql_sh_cell(batch, c, row, &length);
			fputs("<td>", r->out);
			put_html(r, text ? text : null, text ? length : strlen(null));
			fputs("</td>\n", r->out);
		}
		fputs("</tr>\n", r->out);
	}
	return RAYQL_OK;
}

const struct rql_sh_mode rql_sh_mode_html = {
	.name = "html", .help = "HTML <table> code", .begin = html_begin, .batch = html_batch};

/* ---- insert ---- */
/* Line breaks and NUL bytes as chr(), so that the script has one statement per line and no byte that ends it early. */
static void put_literal(struct rql_sh_render *r, const char *text, size_t length)
{
	bool broken = false;
	for (size_t i = 0; i < length && !broken && !r->sh->raw_newlines; i++)
		broken = text[i] == '\n' || text[i] == '\r' || !text[i];
	if (!broken) {
		put_doubled(r, text, length, '\'');
		return;
	}
	fputs("concat('", r->out);
	for (size_t i = 0; i < length; i++) {
		if (text[i] == '\n' || text[i] == '\r' || !text[i])
			fprintf(r->out, "', chr(%d), '", text[i]);
		else if (text[i] == '\'')
			fputs("''", r->out);
		else
			putc(text[i], r->out);
	}
	fputs("')", r->out);
}

static void insert_start(struct rql_sh_render *r)
{
	fprintf(r->out, "INSERT INTO %s", r->sh->insert_table);
	if (!r->sh->header) {
		fputs(" VALUES(", r->out);
		return;
	}
	for (uint32_t c = 0; c < r->column_count; c++) {
		putc(c ? ',' : '(', r->out);
		if (rql_sh_needs_quotes(r->sh, r->columns[c].name))
			put_doubled(r, r->columns[c].name, strlen(r->columns[c].name), '"');
		else
			fputs(r->columns[c].name, r->out);
	}
	fputs(") VALUES(", r->out);
}

static rayql_status insert_batch(struct rql_sh_render *r, rayql_batch *batch)
{
	uint64_t rows = rayql_batch_rows(batch);
	for (uint64_t row = 0; row < rows; row++) {
		insert_start(r);
		for (uint32_t c = 0; c < r->column_count; c++) {
			size_t length;
			const char *text = rql_sh_cell(batch, c, row, &length);
			if (c)
				putc(',', r->out);
			if (!text)
				fputs("NULL", r->out);
			else if (r->columns[c].numeric && !memchr(text, 'n', length)) /* inf and nan need quotes */
				rql_sh_put(r, text, length);
			else
				put_literal(r, text, length);
		}
		fputs(");\n", r->out);
	}
	return RAYQL_OK;
}

const struct rql_sh_mode rql_sh_mode_insert = {
	.name = "insert", .help = "SQL INSERT statements for TABLE", .null_value = "NULL", .batch = insert_batch};

/* ---- trash and explain ---- */
const struct rql_sh_mode rql_sh_mode_trash = {.name = "trash", .help = "No output", .raw = true};

static rayql_status explain_batch(struct rql_sh_render *r, rayql_batch *batch)
{
	uint64_t rows = rayql_batch_rows(batch);
	for (uint64_t row = 0; row < rows; row++) {
		size_t length;
		const char *text = rql_sh_cell(batch, 1, row, &length);
		if (!text)
			continue;
		rql_sh_put(r, text, length);
		if (!length || text[length - 1] != '\n')
			putc('\n', r->out);
	}
	return RAYQL_OK;
}

const struct rql_sh_mode rql_sh_mode_explain = {.name = "explain", .batch = explain_batch};

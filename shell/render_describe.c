/* DESCRIBE in the duckbox mode: a box that lists a table's columns as name, type and constraints, as DuckDB's shell
 * draws it. Many columns stand side by side in several groups. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "render.h"
#include "width.h"

enum { PARTS = 3, NAME = 0, TYPE = 1, CONSTRAINT = 2 };
/* More columns than this are split into groups; a part of a line is not cut to less than LEAST. */
enum { GROUP = 20, LEAST = 5, FRAME = 4 };
/* In terminal columns; WIDTH: in a file. */
enum { LEAST_WIDTH = 80, WIDTH = 120 };

struct line {
	struct rql_strbuf parts[PARTS];
	size_t widths[PARTS];
};

struct describe {
	struct line *lines;
	size_t count, capacity;
	size_t parts;          /* 2 when no column has a constraint */
	size_t widths[PARTS];  /* of each part, in all lines */
	size_t groups, width;  /* side by side; of the box */
	struct rql_strbuf title;
	size_t title_width;
};

/* ---- the statement ---- */
/* The next word, quoted identifier or single character, without quotes; NULL at the end. *name: it may be a name. */
static const char *next_token(const char *sql, struct rql_strbuf *token, bool *name)
{
	rql_strbuf_clear(token);
	for (;;) {
		sql += strspn(sql, " \t\r\n\f\v");
		if (sql[0] == '-' && sql[1] == '-') {
			sql += strcspn(sql, "\n");
		} else if (sql[0] == '/' && sql[1] == '*') {
			const char *end = strstr(sql + 2, "*/");
			sql = end ? end + 2 : sql + strlen(sql);
		} else {
			break;
		}
	}
	*name = *sql == '"' || *sql == '_' || isalpha((unsigned char)*sql) || (unsigned char)*sql >= 128;
	if (*sql == '"' || *sql == '\'') {
		char quote = *sql++;
		while (*sql && (*sql != quote || sql[1] == quote)) {
			sql += *sql == quote;
			rql_strbuf_putc(token, *sql++);
		}
		return *sql ? sql + 1 : sql;
	}
	if (!*name) {
		if (*sql)
			rql_strbuf_putc(token, *sql);
		return *sql ? sql + 1 : NULL;
	}
	while (*sql == '_' || *sql == '$' || isalnum((unsigned char)*sql) || (unsigned char)*sql >= 128)
		rql_strbuf_putc(token, *sql++);
	return sql;
}

static bool is_word(struct rql_strbuf *token, const char *word)
{
	return !strcasecmp(rql_strbuf_text(token), word);
}

static bool is_describe(const char *sql)
{
	struct rql_strbuf token = {0};
	bool name, is = sql && next_token(sql, &token, &name) &&
	                (is_word(&token, "DESCRIBE") || is_word(&token, "DESC") || is_word(&token, "SHOW"));
	rql_strbuf_free(&token);
	return is;
}

bool rql_sh_is_description(const struct rql_sh_render *r)
{
	static const char *const names[] = {"column_name", "column_type", "null", "key", "default", "extra"};
	enum { COUNT = sizeof(names) / sizeof(names[0]) };
	bool is = r->column_count == COUNT;
	for (uint32_t c = 0; c < COUNT && is; c++)
		is = !strcmp(r->columns[c].name, names[c]) && r->columns[c].type == RAYQL_TYPE_VARCHAR;
	return is && is_describe(r->sh->statement);
}

/* ---- the title: the table's name ---- */
/* The last part of a.b.c at sql, when nothing else of a FROM clause follows it: a query may go on with WHERE. */
static bool read_name(const char *sql, struct rql_strbuf *out)
{
	static const char *const others[] = {",", "JOIN", "CROSS", "LEFT", "RIGHT", "FULL", "INNER", "NATURAL", "ASOF",
		"POSITIONAL", "SEMI", "ANTI", "UNION", "EXCEPT", "INTERSECT", "PIVOT", "UNPIVOT"};
	struct rql_strbuf token = {0};
	bool name = true, ok = false;
	size_t depth = 0;
	sql = next_token(sql, &token, &name);
	while (sql && name) {
		rql_strbuf_clear(out);
		rql_strbuf_put(out, rql_strbuf_text(&token));
		sql = next_token(sql, &token, &name);
		ok = !sql || !is_word(&token, "("); /* else a table function */
		if (!sql || !is_word(&token, "."))
			break;
		sql = next_token(sql, &token, &name);
		ok = false;
	}
	for (; sql && ok; sql = next_token(sql, &token, &name)) {
		for (size_t i = 0; i < sizeof(others) / sizeof(others[0]) && ok && !depth; i++)
			ok = !is_word(&token, others[i]);
		depth += is_word(&token, "(");
		depth -= depth && is_word(&token, ")");
	}
	rql_strbuf_free(&token);
	return ok;
}

/* DESCRIBE t, DESC t, SHOW t; DESCRIBE SELECT ... FROM t, DESCRIBE FROM t. Anything else has no name. */
static void find_title(const char *sql, struct rql_strbuf *out)
{
	struct rql_strbuf token = {0};
	bool name, found = false;
	size_t depth = 0;
	const char *after = next_token(sql, &token, &name); /* DESCRIBE */
	sql = after ? next_token(after, &token, &name) : NULL;
	if (is_word(&token, "TABLE"))
		after = sql;
	bool query = is_word(&token, "SELECT") || is_word(&token, "FROM");
	for (; query && sql && (depth || !is_word(&token, "FROM")); sql = next_token(sql, &token, &name)) {
		depth += is_word(&token, "(");
		depth -= depth && is_word(&token, ")");
	}
	found = query ? sql && read_name(sql, out) : after && read_name(after, out);
	if (!found) {
		rql_strbuf_clear(out);
		rql_strbuf_put(out, "Describe");
	}
	rql_strbuf_free(&token);
}

/* ---- the lines ---- */
static void add_constraint(struct rql_strbuf *out, const char *words, const char *value, size_t length)
{
	rql_strbuf_put(out, out->length ? " " : "");
	rql_strbuf_put(out, words);
	rql_strbuf_put_n(out, value, length);
}

static void make_line(struct line *line, const rayql_batch *batch, uint64_t row)
{
	size_t length;
	const char *name = rql_sh_cell(batch, 0, row, &length);
	rql_strbuf_put_n(&line->parts[NAME], name ? name : "", name ? length : 0);
	const char *type = rql_sh_cell(batch, 1, row, &length);
	bool decimal = type && length >= 7 && !strncasecmp(type, "decimal", 7);
	for (size_t i = 0; type && i < (decimal ? 7 : length); i++)
		rql_strbuf_putc(&line->parts[TYPE], (char)tolower((unsigned char)type[i]));
	struct rql_strbuf *constraint = &line->parts[CONSTRAINT];
	const char *null = rql_sh_cell(batch, 2, row, &length);
	if (null && length == 2 && !memcmp(null, "NO", 2))
		add_constraint(constraint, "not null", "", 0);
	const char *key = rql_sh_cell(batch, 3, row, &length);
	if (key && length == 3 && !memcmp(key, "UNI", 3))
		add_constraint(constraint, "unique", "", 0);
	const char *value = rql_sh_cell(batch, 4, row, &length);
	if (value && length)
		add_constraint(constraint, "default ", value, length);
}

static rayql_status describe_batch(struct rql_sh_render *r, rayql_batch *batch)
{
	struct describe *d = r->state;
	uint64_t rows = rayql_batch_rows(batch);
	for (uint64_t row = 0; row < rows; row++) {
		if (d->count == d->capacity) {
			size_t capacity = d->capacity ? 2 * d->capacity : 32;
			struct line *lines = realloc(d->lines, capacity * sizeof(*lines));
			if (!lines)
				return RAYQL_ERROR_MEMORY;
			d->lines = lines;
			d->capacity = capacity;
		}
		struct line *line = &d->lines[d->count++];
		*line = (struct line){0};
		make_line(line, batch, row);
		if (line->parts[NAME].failed || line->parts[TYPE].failed || line->parts[CONSTRAINT].failed)
			return RAYQL_ERROR_MEMORY;
	}
	return RAYQL_OK;
}

/* ---- the layout ---- */
static size_t text_width(struct rql_strbuf *text)
{
	return rql_sh_last_line_width(rql_strbuf_text(text), text->length);
}

static size_t group_width(const struct describe *d)
{
	size_t width = FRAME + d->parts - 1;
	for (size_t p = 0; p < d->parts; p++)
		width += d->widths[p];
	return width;
}

static void measure(struct describe *d)
{
	d->parts = 2;
	for (size_t i = 0; i < d->count; i++)
		if (d->lines[i].parts[CONSTRAINT].length)
			d->parts = PARTS;
	for (size_t i = 0; i < d->count; i++) {
		for (size_t p = 0; p < d->parts; p++) {
			size_t width = d->lines[i].widths[p] = text_width(&d->lines[i].parts[p]);
			d->widths[p] = width > d->widths[p] ? width : d->widths[p];
		}
	}
	d->title_width = text_width(&d->title);
	d->width = d->title_width + FRAME > group_width(d) ? d->title_width + FRAME : group_width(d);
}

static void cut(struct rql_strbuf *text, size_t *width, size_t most)
{
	if (*width <= most)
		return;
	text->length = rql_sh_prefix(rql_strbuf_text(text), text->length, most - 1, width);
	rql_strbuf_put(text, "…");
	++*width;
}

/* Cuts names, then the other parts, until a line fits. */
static void shorten(struct describe *d, size_t most)
{
	if (d->width <= most)
		return;
	cut(&d->title, &d->title_width, most - FRAME);
	d->width = most;
	if (group_width(d) <= most)
		return;
	if (d->widths[NAME] + d->parts * LEAST > most)
		d->widths[NAME] = most - d->parts * LEAST;
	for (size_t p = 1; p < d->parts && group_width(d) > most; p++) {
		size_t excess = group_width(d) - most, spare = d->widths[p] > LEAST ? d->widths[p] - LEAST : 0;
		d->widths[p] -= excess < spare ? excess : spare;
	}
	for (size_t i = 0; i < d->count; i++)
		for (size_t p = 0; p < d->parts; p++)
			cut(&d->lines[i].parts[p], &d->lines[i].widths[p], d->widths[p]);
}

static void split(struct describe *d, size_t most)
{
	size_t wanted = (d->count + GROUP - 1) / GROUP, fit = most / group_width(d);
	d->groups = 1;
	if (wanted <= 1 || fit <= 1)
		return;
	d->groups = wanted < fit ? wanted : fit;
	if (d->groups * group_width(d) > d->width)
		d->width = d->groups * group_width(d);
}

/* ---- the drawing ---- */
static void put_rule(struct rql_sh_render *r, const char *left, const char *right)
{
	const struct describe *d = r->state;
	fputs(left, r->out);
	rql_sh_put_run(r->out, "─", d->width - 2);
	fprintf(r->out, "%s\n", right);
}

/* Line `row` of each group. A title that is wider than the lines leaves room, which goes behind their first parts. */
static void put_row(struct rql_sh_render *r, size_t row)
{
	struct describe *d = r->state;
	size_t extra = d->width - d->groups * group_width(d), share = extra / d->groups;
	for (size_t g = 0; g < d->groups; g++) {
		bool last = g + 1 == d->groups;
		struct line *line = row * d->groups + g < d->count ? &d->lines[row * d->groups + g] : NULL;
		fputs(g ? " " : "│", r->out);
		if (line)
			putc(' ', r->out);
		else
			rql_sh_put_run(r->out, " ", group_width(d) - 2);
		for (size_t p = 0; line && p < d->parts; p++) {
			size_t room = last ? extra : share < extra ? share : extra;
			rql_sh_put(r, rql_strbuf_text(&line->parts[p]), line->parts[p].length);
			rql_sh_put_run(r->out, " ", d->widths[p] - line->widths[p] + 1 + room);
			extra -= room;
		}
		fputs(last ? "│" : " ", r->out);
	}
	putc('\n', r->out);
}

static rayql_status describe_end(struct rql_sh_render *r)
{
	struct describe *d = r->state;
	size_t most = r->sh->max_width ? r->sh->max_width : r->sh->stdout_tty ? rql_sh_terminal_columns() : WIDTH;
	most = most < LEAST_WIDTH ? LEAST_WIDTH : most;
	find_title(r->sh->statement, &d->title);
	measure(d);
	shorten(d, most);
	split(d, most);
	if (d->title.failed)
		return RAYQL_ERROR_MEMORY;
	size_t room = d->width - d->title_width - 2;
	put_rule(r, "┌", "┐");
	fputs("│", r->out);
	rql_sh_put_run(r->out, " ", room / 2);
	rql_sh_put(r, rql_strbuf_text(&d->title), d->title.length);
	rql_sh_put_run(r->out, " ", room - room / 2);
	fputs("│\n│", r->out);
	rql_sh_put_run(r->out, " ", d->width - 2);
	fputs("│\n", r->out);
	for (size_t row = 0; row * d->groups < d->count; row++)
		put_row(r, row);
	put_rule(r, "└", "┘");
	return RAYQL_OK;
}

static void describe_release(struct rql_sh_render *r)
{
	struct describe *d = r->state;
	for (size_t i = 0; i < d->count; i++)
		for (size_t p = 0; p < PARTS; p++)
			rql_strbuf_free(&d->lines[i].parts[p]);
	free(d->lines);
	rql_strbuf_free(&d->title);
}

const struct rql_sh_mode rql_sh_mode_describe = {.name = "describe", .state_size = sizeof(struct describe),
	.batch = describe_batch, .end = describe_end, .release = describe_release};

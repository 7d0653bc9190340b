/* Output modes. A mode is a table of functions; render.c drives it over the batches of a result. */
#ifndef RQL_SHELL_RENDER_H
#define RQL_SHELL_RENDER_H

#include "shell.h"

struct rql_sh_column {
	const char *name, *type_name; /* borrowed from the result */
	rayql_type type;
	bool numeric;
	bool nested; /* a list, array, struct, map, union or JSON */
};

struct rql_sh_render {
	struct rql_sh *sh;
	FILE *out;
	rayql_result *result;
	struct rql_sh_column *columns;
	uint32_t column_count;
	uint64_t rows; /* in the batches before this one */
	void *state;   /* state_size bytes, zeroed */
	rayql_error *error; /* set by a function that fails for another reason than memory */
};

struct rql_sh_mode {
	const char *name, *help;
	size_t state_size;
	bool raw;   /* takes the result's own batches, not their text */
	bool whole; /* keeps the batches (owns them) and prints at the end */
	const char *null_value; /* when the user gave none */
	rayql_status (*begin)(struct rql_sh_render *r);
	rayql_status (*batch)(struct rql_sh_render *r, rayql_batch *batch);
	rayql_status (*end)(struct rql_sh_render *r);
	void (*release)(struct rql_sh_render *r); /* frees what state holds */
};

extern const struct rql_sh_mode rql_sh_mode_ascii, rql_sh_mode_box, rql_sh_mode_column, rql_sh_mode_csv,
	rql_sh_mode_duckbox, rql_sh_mode_explain, rql_sh_mode_html, rql_sh_mode_insert, rql_sh_mode_json,
	rql_sh_mode_jsonlines, rql_sh_mode_latex, rql_sh_mode_line, rql_sh_mode_list, rql_sh_mode_markdown,
	rql_sh_mode_quote, rql_sh_mode_table, rql_sh_mode_tabs, rql_sh_mode_tcl, rql_sh_mode_trash;

/* Mode by name (a unique prefix will do), or NULL; by index for lists. */
const struct rql_sh_mode *rql_sh_mode_find(const char *name);
const struct rql_sh_mode *rql_sh_mode_at(size_t index);

/* Prints a result in the session's mode. progress (may be NULL) is erased before the first byte. False after an error,
 * which has been printed. */
bool rql_sh_render_result(struct rql_sh *sh, rayql_result *result, struct rql_sh_progress *progress);

/* A value of a text batch; NULL for NULL. */
const char *rql_sh_cell(const rayql_batch *text, uint32_t column, uint64_t row, size_t *length);
/* What stands for NULL. */
const char *rql_sh_null(const struct rql_sh_render *r);
void rql_sh_put(struct rql_sh_render *r, const char *text, size_t length);
/* A run of one character or UTF-8 sequence. */
void rql_sh_put_run(FILE *out, const char *unit, size_t count);

/* render_json.c: text as a JSON string with its quotes */
void rql_sh_json_string(struct rql_strbuf *out, const char *text, size_t length);
/* json_nested.c: DuckDB's text of a nested value as JSON, after its type. False when the text does not read as that
 * type; out is then unchanged. */
bool rql_sh_json_nested(struct rql_strbuf *out, const char *type, const char *text, size_t length);

/* render_nested.c: breaks the text of a nested value into lines of at most `columns` columns, at most max_lines more
 * than one, as DuckDB lays it out in a box; the text as it is when that cannot be done. */
void rql_sh_nested_layout(struct rql_strbuf *out, const char *text, size_t length, size_t columns, size_t max_lines);

#endif

/* Output modes. A mode is a table of functions; render.c drives it over the batches of a result. */
#ifndef RQL_SHELL_RENDER_H
#define RQL_SHELL_RENDER_H

#include "shell.h"

struct rql_sh_column {
	const char *name, *type_name; /* borrowed from the result */
	rayql_type type;
	bool numeric;
	bool nested; /* a list, array, struct, map, union or JSON */
	bool json;   /* of a type whose text is JSON in a mode that asks for it */
};

struct rql_sh_render {
	struct rql_sh *sh;
	const struct rql_sh_mode *mode;
	FILE *out;
	rayql_result *result;
	struct rql_sh_column *columns;
	uint32_t column_count;
	uint64_t rows; /* in the batches before this one */
	bool unlimited; /* .last: no limit of rows and width */
	void *state;   /* state_size bytes, zeroed */
	rayql_error *error; /* set by a function that fails for another reason than memory */
};

/* What .last shows once more. */
struct rql_sh_last {
	rayql_result *result; /* fetched to its end; names and types */
	rayql_batch **batches;
	size_t count;
	bool whole; /* else it was too long to be kept, and there are no batches */
};

struct rql_sh_mode {
	const char *name, *help;
	size_t state_size;
	bool raw;   /* takes the result's own batches, not their text */
	bool whole; /* keeps the batches (owns them) and prints at the end */
	bool json;  /* wants columns of nested and floating types as JSON (rayql_batch_to_json) */
	const char *null_value; /* what is always printed for NULL; NULL: the user's .nullvalue */
	const char *column_sep, *row_sep; /* what .mode sets .separator to; NULL: left as they are */
	rayql_status (*begin)(struct rql_sh_render *r);
	rayql_status (*batch)(struct rql_sh_render *r, rayql_batch *batch);
	rayql_status (*end)(struct rql_sh_render *r);
	/* Hands the batches over after a success, or leaves last as it is: not whole. NULL: the mode shows all it got. */
	void (*keep)(struct rql_sh_render *r, struct rql_sh_last *last);
	void (*release)(struct rql_sh_render *r); /* frees what state holds */
};

extern const struct rql_sh_mode rql_sh_mode_ascii, rql_sh_mode_box, rql_sh_mode_column, rql_sh_mode_csv,
	rql_sh_mode_describe, rql_sh_mode_duckbox, rql_sh_mode_explain, rql_sh_mode_html, rql_sh_mode_insert,
	rql_sh_mode_json,
	rql_sh_mode_jsonlines, rql_sh_mode_latex, rql_sh_mode_line, rql_sh_mode_list, rql_sh_mode_markdown,
	rql_sh_mode_quote, rql_sh_mode_table, rql_sh_mode_tabs, rql_sh_mode_tcl, rql_sh_mode_trash;

/* Mode by name (a unique prefix will do), or NULL; by index for lists. */
const struct rql_sh_mode *rql_sh_mode_find(const char *name);
const struct rql_sh_mode *rql_sh_mode_at(size_t index);

/* Prints a result in the session's mode and frees it, or keeps it as sh->last. progress (may be NULL) is erased before
 * the first byte. False after an error, which has been printed. */
bool rql_sh_render_result(struct rql_sh *sh, rayql_result *result, struct rql_sh_progress *progress);
/* Prints sh->last without limits of rows and width. */
bool rql_sh_render_last(struct rql_sh *sh);
void rql_sh_last_free(struct rql_sh *sh);

/* A value of a text batch; NULL for NULL. */
const char *rql_sh_cell(const rayql_batch *text, uint32_t column, uint64_t row, size_t *length);
/* What stands for NULL. */
const char *rql_sh_null(const struct rql_sh_render *r);
void rql_sh_put(struct rql_sh_render *r, const char *text, size_t length);
/* A run of one character or UTF-8 sequence. */
void rql_sh_put_run(FILE *out, const char *unit, size_t count);

/* render_json.c: text as a JSON string with its quotes */
void rql_sh_json_string(struct rql_strbuf *out, const char *text, size_t length);
/* render_describe.c: are these the columns of DESCRIBE? */
bool rql_sh_is_description(const struct rql_sh_render *r);

/* render_nested.c: breaks the text of a nested value into lines of at most `columns` columns, at most max_lines more
 * than one, as DuckDB lays it out in a box; the text as it is when that cannot be done. */
void rql_sh_nested_layout(struct rql_strbuf *out, const char *text, size_t length, size_t columns, size_t max_lines);

#endif

/* Inside duckbox: rows to show (duckbox_rows.c), the layout (duckbox_layout.c), the drawing (render_duckbox.c). */
#ifndef RQL_SHELL_DUCKBOX_H
#define RQL_SHELL_DUCKBOX_H

#include "render.h"

struct rql_sh_box_cell {
	char *text; /* malloc'ed, control characters escaped */
	size_t length, width;
};

struct rql_sh_box_column {
	bool right, nested; /* aligned to the right; may be laid out over several lines */
};

struct rql_sh_box_kept {
	rayql_batch *batch;
	uint64_t first, rows; /* position in the result */
};

struct rql_sh_box {
	/* batches that may be shown: the first ones and the last ones, unless all of them are kept for .last */
	struct rql_sh_box_kept *kept;
	size_t kept_count, kept_capacity, head_count;
	uint64_t total;
	bool dropped; /* batches in between are gone */

	uint64_t max_rows;
	size_t max_width;
	enum rql_sh_words words; /* not AUTO */

	/* what is shown: rows 0..top from the beginning, then the last ones; cells are row-major */
	size_t top, shown;
	bool readable_row; /* the one row is followed by a row of numbers in words */
	bool turned;       /* .columns: a line for each column of the result */
	size_t columns, rows, cell_count; /* of cells, as they are drawn; allocated ones */
	struct rql_sh_box_cell *names, *types, *cells; /* types: NULL when turned */
	struct rql_sh_box_column *looks;

	size_t *widths; /* of every column */
	bool *pruned;   /* left out: they stand together, as one column of dots */
	size_t pruned_count, length; /* length: columns of the terminal that a whole line takes */
	size_t lines_per_row; /* more than 1: long values go on in further lines */

	char rows_text[64], total_text[64], shown_text[64], columns_text[64];
	size_t footer_length; /* least line length that the footer needs */
};

enum { RQL_SH_BOX_COLUMN = 20 }; /* a column is cut to this before columns are left out */

/* duckbox_rows.c */
rayql_status rql_sh_box_keep(struct rql_sh_render *r, rayql_batch *batch);
/* Chooses the rows and makes their cells. */
rayql_status rql_sh_box_fetch(struct rql_sh_render *r);
void rql_sh_box_release(struct rql_sh_render *r);
/* 1234567 -> "1.23 million" when it is about a million or more; false (and text untouched) otherwise. point: 0 for a
 * dot. */
bool rql_sh_readable_number(const char *number, char point, char *text, size_t size);
/* A number with the user's separators, or in words when the box has all numbers so. */
void rql_sh_box_number(const struct rql_sh_render *r, struct rql_strbuf *out, const char *number, size_t length);

/* duckbox_layout.c */
rayql_status rql_sh_box_layout(struct rql_sh_render *r);

#endif

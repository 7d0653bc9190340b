/* Inside duckbox: rows to show (duckbox_rows.c), the layout (duckbox_layout.c), the drawing (render_duckbox.c). */
#ifndef RQL_SHELL_DUCKBOX_H
#define RQL_SHELL_DUCKBOX_H

#include "render.h"

struct rql_sh_box_cell {
	char *text; /* malloc'ed, control characters escaped */
	size_t length, width;
};

struct rql_sh_box_kept {
	rayql_batch *batch;
	uint64_t first, rows; /* position in the result */
};

struct rql_sh_box {
	/* batches that may be shown: the first ones and the last ones */
	struct rql_sh_box_kept *kept;
	size_t kept_count, kept_capacity, head_count;
	uint64_t total;

	uint64_t max_rows;
	size_t max_width;
	bool readable; /* large numbers are also told in words */

	/* what is shown: rows 0..top from the beginning, then the last ones; cells are row-major */
	size_t top, shown;
	bool readable_row; /* the one row is followed by a row of numbers in words */
	struct rql_sh_box_cell *names, *types, *cells;

	size_t *widths; /* of every column of the result */
	bool *pruned;   /* left out: they stand together, as one column of dots */
	size_t pruned_count, length; /* length: columns of a whole line */
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
/* 1234567 -> "1.23 million" when it is about a million or more; false (and text untouched) otherwise. */
bool rql_sh_readable_number(const char *number, char *text, size_t size);

/* duckbox_layout.c */
rayql_status rql_sh_box_layout(struct rql_sh_render *r);

#endif

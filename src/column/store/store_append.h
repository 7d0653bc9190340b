/* What writes of a store share (store_append.c): a snapshot in the making. Private to src/column. */
#ifndef RQL_COLUMN_STORE_APPEND_H
#define RQL_COLUMN_STORE_APPEND_H

#include "column/store/store_internal.h"

struct rql_store_recoding {                  /* of one column's dictionary */
	struct rql_store_dictionary *dictionary; /* the new one, or NULL */
	struct rql_store_map *step;              /* from the codes before; NULL: they stay the same */
};
struct rql_store_writing {
	struct rql_store_schema *schema;
	const struct rql_store_state *before;
	const struct rql_store_kernels *kernels;
	struct rql_mem mem;
	struct rql_crew crew;
	struct rql_store_recoding *changes; /* [column_count] */
	uint32_t **codes;                   /* [column_count]: the new rows' codes */
	struct rql_store_piece *tail;       /* the open segment, when rows are appended to it, or NULL */
	struct rql_store_rows *rows, *spare;
	struct rql_store_piece **pieces; /* of the new snapshot; each retained once */
	struct rql_store_map **maps;     /* [piece_count * column_count], likewise */
	uint32_t piece_count, piece_capacity;
};

/* With store->writing held; ends with publish or finish, also after a failure. */
rql_status rql_store_writing_start(struct rql_store_writing *w, struct rql_store *store,
                                   struct rql_error *err) RQL_MUST_CHECK;
void rql_store_writing_finish(struct rql_store_writing *w);
/* Ends it, whatever comes of it. rows: how many have codes in w. */
rql_status rql_store_writing_publish(struct rql_store_writing *w, uint64_t rows, struct rql_store *store,
                                     struct rql_error *err) RQL_MUST_CHECK;
/* Codes of the batch's column in the dictionary, which grows when it must. */
rql_status rql_store_writing_code_column(struct rql_store_writing *w, uint32_t c, const struct rql_batch *batch,
                                         struct rql_error *err) RQL_MUST_CHECK;
/* All segments before but the tail, with maps to the dictionaries as they are now. */
rql_status rql_store_writing_keep_pieces(struct rql_store_writing *w, struct rql_error *err) RQL_MUST_CHECK;
/* Rows [first, first + count) of w->spare behind those of w->rows, which are encoded whenever they are a block. */
rql_status rql_store_writing_move_rows(struct rql_store_writing *w, uint32_t c, struct rql_store_sink *sink,
                                       uint32_t first, uint32_t count, struct rql_error *err) RQL_MUST_CHECK;
/* w->rows as a block. */
rql_status rql_store_writing_encode_rows(struct rql_store_writing *w, uint32_t c, struct rql_store_sink *sink,
                                         struct rql_error *err) RQL_MUST_CHECK;
rql_status rql_store_writing_finish_part(struct rql_store_writing *w, uint32_t c, struct rql_store_piece *piece,
                                         struct rql_store_sink *sink, struct rql_error *err) RQL_MUST_CHECK;

#endif

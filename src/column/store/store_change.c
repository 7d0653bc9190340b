/* Rows that are gone, and rows with other values. Segments that have some are written again, in full blocks; all others
 * are shared with the snapshot before, and so is whatever was made of them elsewhere: parts of indexes, copies on GPUs.
 *
 * A mask of the rows that are gone would leave all bytes where they are. But every reader of blocks would have to ask
 * it, on every device, and bounds, sums and counts of blocks would be wrong. */
#include "column/store/store_append.h"
#include "util/sort.h"

struct change {
	struct rql_store_writing w;
	const struct rql_store_changes *changes;
	uint64_t gone, renewed; /* how many lie in segments before */
};

static rql_status put_new(struct change *change, uint32_t c, struct rql_store_sink *sink, uint64_t row,
                          struct rql_error *err)
{
	struct rql_store_writing *w = &change->w;
	if (w->codes[c])
		rql_store_stage_codes(w->rows, w->codes[c] + row, 1);
	else
		rql_store_stage(w->rows, &change->changes->rows->columns[c], row, 1);
	return w->rows->rows == RQL_STORE_BLOCK ? rql_store_writing_encode_rows(w, c, sink, err) : RQL_OK;
}

/* The block in w.spare, whose first row is `first` of the snapshot. *gone and *renewed move on behind it. */
static rql_status put_block(struct change *change, uint32_t c, struct rql_store_sink *sink, uint64_t first,
                            uint64_t *gone, uint64_t *renewed, struct rql_error *err)
{
	const struct rql_store_changes *ch = change->changes;
	const uint64_t end = first + change->w.spare->rows;
	uint64_t row = first;
	while (row < end) {
		const uint64_t dead = *gone < ch->gone_count && ch->gone[*gone] < end ? ch->gone[*gone] : end;
		const uint64_t fresh =
			*renewed < ch->renewed_count && ch->renewed[*renewed] < end ? ch->renewed[*renewed] : end;
		const uint64_t stop = dead < fresh ? dead : fresh;
		RQL_TRY(rql_store_writing_move_rows(&change->w, c, sink, (uint32_t)(row - first), (uint32_t)(stop - row), err));
		row = stop;
		if (row == end)
			break;
		if (row == fresh)
			RQL_TRY(put_new(change, c, sink, (*renewed)++, err));
		else
			++*gone;
		row++;
	}
	return RQL_OK;
}

static rql_status rewrite_column(struct change *change, uint32_t p, uint32_t c, struct rql_store_piece *piece,
                                 struct rql_error *err)
{
	struct rql_store_writing *w = &change->w;
	const struct rql_store_schema_column *column = &w->schema->columns[c];
	const struct rql_store_piece *old = w->pieces[p];
	const struct rql_store_map *map = w->maps[(uint64_t)p * w->schema->column_count + c];
	struct rql_store_view view = rql_store_part_view(&old->parts[c], column->type, column->kind);
	struct rql_store_sink sink = {.mem = &w->mem};
	uint64_t first = w->before->snapshot.segments[p].first_row, gone = change->gone, renewed = change->renewed;
	view.translate = map ? map->map : NULL;
	rql_store_rows_clear(w->rows, column->type, column->kind);
	for (uint32_t b = 0; b < old->blocks; b++) {
		rql_store_rows_load(w->kernels, &view, b, w->spare);
		RQL_TRY(put_block(change, c, &sink, first, &gone, &renewed, err));
		first += w->spare->rows;
	}
	if (w->rows->rows)
		RQL_TRY(rql_store_writing_encode_rows(w, c, &sink, err));
	return rql_store_writing_finish_part(w, c, piece, &sink, err);
}

/* Puts what is left of piece p in its place. */
static rql_status rewrite(struct change *change, uint32_t p, struct rql_error *err)
{
	struct rql_store_writing *w = &change->w;
	const uint32_t columns = w->schema->column_count;
	struct rql_store_piece *piece;
	RQL_TRY(rql_store_piece_new(w->schema, &piece, err));
	piece->appended = w->pieces[p]->appended;
	for (uint32_t c = 0; c < columns; c++) {
		rql_status status = rewrite_column(change, p, c, piece, err);
		if (status != RQL_OK) {
			rql_store_piece_release(piece);
			return status;
		}
	}
	rql_store_piece_settle(piece, w->schema);
	rql_store_piece_release(w->pieces[p]);
	w->pieces[p] = piece;
	for (uint32_t c = 0; c < columns; c++) {
		rql_store_map_release(w->maps[(uint64_t)p * columns + c]);
		w->maps[(uint64_t)p * columns + c] = NULL;
	}
	return RQL_OK;
}

/* Pieces without rows are none. */
static void close_up(struct rql_store_writing *w)
{
	const uint32_t columns = w->schema->column_count;
	uint32_t kept = 0;
	for (uint32_t p = 0; p < w->piece_count; p++) {
		if (!w->pieces[p]->rows) { /* written anew, so without maps */
			rql_store_piece_release(w->pieces[p]);
			continue;
		}
		w->pieces[kept] = w->pieces[p];
		memmove(w->maps + (uint64_t)kept * columns, w->maps + (uint64_t)p * columns, columns * sizeof *w->maps);
		kept++;
	}
	w->piece_count = kept;
}

static rql_status run_change(struct change *change, struct rql_error *err)
{
	const struct rql_store_changes *ch = change->changes;
	struct rql_store_writing *w = &change->w;
	for (uint32_t c = 0; c < w->schema->column_count && ch->renewed_count; c++)
		if (w->schema->columns[c].kind == RQL_STORE_CODED)
			RQL_TRY(rql_store_writing_code_column(w, c, ch->rows, err));
	RQL_TRY(rql_store_writing_keep_pieces(w, err));
	for (uint32_t p = 0; p < w->piece_count; p++) {
		const struct rql_store_segment *segment = &w->before->snapshot.segments[p];
		const uint64_t end = segment->first_row + segment->rows;
		const uint64_t gone = rql_count_below(ch->gone, ch->gone_count, end);
		const uint64_t renewed = rql_count_below(ch->renewed, ch->renewed_count, end);
		if (gone > change->gone || renewed > change->renewed)
			RQL_TRY(rewrite(change, p, err));
		change->gone = gone;
		change->renewed = renewed;
	}
	close_up(w);
	return RQL_OK;
}

static bool ascend(const uint64_t *rows, uint64_t count, uint64_t below)
{
	for (uint64_t i = 1; i < count; i++)
		if (rows[i - 1] >= rows[i])
			return false;
	return !count || rows[count - 1] < below;
}

static rql_status check(const struct change *change, struct rql_error *err)
{
	const struct rql_store_changes *ch = change->changes;
	const uint64_t rows = change->w.before->snapshot.rows;
	if (!ascend(ch->gone, ch->gone_count, rows) || !ascend(ch->renewed, ch->renewed_count, rows) ||
	    (ch->renewed_count && ch->rows->rows != ch->renewed_count))
		return rql_error_set(err, RQL_ERROR_INTERNAL, "%s: changes of rows that it does not have",
		                     change->w.schema->name);
	return ch->renewed_count ? rql_store_check_batch(change->w.schema, ch->rows, err) : RQL_OK;
}

rql_status rql_store_change(struct rql_store *store, const struct rql_store_changes *changes, struct rql_error *err)
{
	struct change change = {.changes = changes};
	if (!changes->gone_count && !changes->renewed_count)
		return RQL_OK;
	pthread_mutex_lock(&store->writing);
	rql_status status = rql_store_writing_start(&change.w, store, err);
	if (status == RQL_OK)
		status = check(&change, err);
	if (status == RQL_OK)
		status = run_change(&change, err);
	if (status == RQL_OK)
		status = rql_store_writing_publish(&change.w, changes->renewed_count, store, err);
	else
		rql_store_writing_finish(&change.w);
	pthread_mutex_unlock(&store->writing);
	return status;
}

/* Appending and compacting. A new snapshot shares all segments with the one before but its open last one, which holds
 * fewer than 4096 appended rows and is rewritten with the new rows behind them. Full segments of appended rows are
 * joined with neighbours of their size, so that their number grows with the logarithm of the rows.
 *
 * New values make a new dictionary. Segments that stay get a map from their codes to its; maps that segments share are
 * composed once. */
#include "column/store/store_append.h"

#include <stdlib.h>

static struct rql_store_dictionary *dictionary_of(const struct rql_store_writing *append, uint32_t c)
{
	return append->changes[c].dictionary ? append->changes[c].dictionary : append->before->dictionaries[c];
}

static uint32_t null_code_of(const struct rql_store_writing *append, uint32_t c)
{
	const struct rql_store_dictionary *dictionary = dictionary_of(append, c);
	return dictionary && dictionary->dimension.has_null ? dictionary->dimension.count - 1 : RQL_STORE_NONE;
}

/* ---- dictionaries ---- */

static bool is_identity(const uint32_t *map, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (map[i] != i)
			return false;
	return true;
}

/* A dictionary of the values before and those of `fresh`; remaps[1] becomes the codes of fresh's. */
static rql_status grow_dictionary(struct rql_store_writing *append, uint32_t c, struct rql_dict *fresh,
                                  uint32_t **fresh_map, struct rql_error *err)
{
	const struct rql_dimension *old = &append->before->dictionaries[c]->dimension;
	struct rql_store_recoding *change = &append->changes[c];
	struct rql_dict known = {.type = old->type,
	                         .width = rql_type_bytes(old->type),
	                         .count = old->count,
	                         .null_code = old->has_null ? old->count - 1 : RQL_DICT_NO_CODE,
	                         .values = old->values.data};
	struct rql_dict *dicts[2] = {&known, fresh};
	uint32_t *remaps[2] = {NULL, NULL};
	RQL_TRY(rql_store_dictionary_new(append->schema, &change->dictionary, err));
	const struct rql_dict_merge merge = {.crew = &append->crew,
	                                     .type = append->schema->columns[c].type,
	                                     .dict_count = 2,
	                                     .dicts = dicts,
	                                     .mem = &change->dictionary->mem,
	                                     .arena = change->dictionary->arena};
	RQL_TRY(rql_dict_merge(&merge, remaps, &change->dictionary->dimension, err));
	change->dictionary->dimension.watch = &change->dictionary->watch;
	*fresh_map = remaps[1];
	if (is_identity(remaps[0], old->count))
		return RQL_OK;
	RQL_TRY(rql_store_map_new(append->schema, old->count, &change->step, err));
	memcpy(change->step->map, remaps[0], old->count * sizeof(uint32_t));
	rql_mem_free(&append->mem, remaps[0]);
	return RQL_OK;
}

/* Codes of the batch's column in the dictionary, which grows when it must. */
rql_status rql_store_writing_code_column(struct rql_store_writing *append, uint32_t c, const struct rql_batch *batch,
                                         struct rql_error *err)
{
	const struct rql_dimension *old = &append->before->dictionaries[c]->dimension;
	struct rql_dict fresh;
	uint32_t *map;
	bool known = true;
	rql_dict_init(&fresh, append->schema->columns[c].type);
	RQL_TRY(RQL_MEM_ARRAY(&append->mem, append->codes[c], batch->rows, err));
	for (uint64_t first = 0; first < batch->rows; first += RQL_DICT_SLICE) {
		uint32_t count = batch->rows - first < RQL_DICT_SLICE ? (uint32_t)(batch->rows - first) : RQL_DICT_SLICE;
		RQL_TRY(rql_dict_encode(&fresh, &append->mem, &batch->columns[c], first, count, append->codes[c] + first, err));
	}
	RQL_TRY(RQL_MEM_ARRAY(&append->mem, map, fresh.count, err));
	const struct rql_column values = {.type = old->type, .data = fresh.values};
	for (uint32_t i = 0; i < fresh.count && known; i++) {
		if (i == fresh.null_code)
			map[i] = old->has_null ? old->count - 1 : RQL_DICT_NO_CODE;
		else
			map[i] = rql_dimension_find(old, &values, i);
		known = map[i] != RQL_DICT_NO_CODE;
	}
	if (!known)
		RQL_TRY(grow_dictionary(append, c, &fresh, &map, err));
	for (uint64_t r = 0; r < batch->rows; r++)
		append->codes[c][r] = map[append->codes[c][r]];
	rql_dict_free(&fresh, &append->mem);
	return RQL_OK;
}

/* ---- new segments ---- */

rql_status rql_store_writing_encode_rows(struct rql_store_writing *append, uint32_t c, struct rql_store_sink *sink,
                                         struct rql_error *err)
{
	const struct rql_store_schema_column *column = &append->schema->columns[c];
	RQL_TRY(rql_store_encode(sink, column->type, column->kind, null_code_of(append, c), column->encoding, append->rows,
	                         err));
	rql_store_rows_clear(append->rows, column->type, column->kind);
	return RQL_OK;
}

rql_status rql_store_writing_move_rows(struct rql_store_writing *append, uint32_t c, struct rql_store_sink *sink,
                                       uint32_t first, uint32_t count, struct rql_error *err)
{
	while (count) {
		const uint32_t room = RQL_STORE_BLOCK - append->rows->rows, n = count < room ? count : room;
		rql_store_rows_append(append->rows, append->spare, first, n);
		first += n;
		count -= n;
		if (append->rows->rows == RQL_STORE_BLOCK)
			RQL_TRY(rql_store_writing_encode_rows(append, c, sink, err));
	}
	return RQL_OK;
}

/* The open segment's rows, with the new codes. */
static void load_tail(struct rql_store_writing *append, uint32_t c)
{
	const struct rql_store_state *before = append->before;
	uint32_t last = before->snapshot.segment_count - 1;
	rql_store_rows_load(append->kernels, &before->snapshot.segments[last].columns[c], 0, append->rows);
	if (append->changes[c].step) {
		for (uint32_t r = 0; r < append->rows->rows; r++)
			append->rows->words[r] = append->changes[c].step->map[append->rows->words[r]];
	}
}

rql_status rql_store_writing_finish_part(struct rql_store_writing *append, uint32_t c, struct rql_store_piece *piece,
                                         struct rql_store_sink *sink, struct rql_error *err)
{
	struct rql_store_part *part = &piece->parts[c];
	RQL_TRY(rql_store_piece_take(piece, c, sink, err));
	rql_store_sink_free(sink);
	part->null_code = null_code_of(append, c);
	if (dictionary_of(append, c))
		part->stored_codes = dictionary_of(append, c)->dimension.count;
	return RQL_OK;
}

/* Rows [first, first + count) of one column, behind the open segment's when they are the first. */
static rql_status append_column(struct rql_store_writing *append, uint32_t c, const struct rql_batch *batch,
                                uint64_t first, uint64_t count, struct rql_store_piece *piece, struct rql_error *err)
{
	const struct rql_store_schema_column *column = &append->schema->columns[c];
	struct rql_store_sink sink = {.mem = &append->mem};
	rql_store_rows_clear(append->rows, column->type, column->kind);
	if (append->tail && first == 0)
		load_tail(append, c);
	for (uint64_t end = first + count; first < end;) {
		uint32_t room = RQL_STORE_BLOCK - append->rows->rows;
		uint32_t n = end - first < room ? (uint32_t)(end - first) : room;
		if (append->codes[c])
			rql_store_stage_codes(append->rows, append->codes[c] + first, n);
		else
			rql_store_stage(append->rows, &batch->columns[c], first, n);
		first += n;
		if (append->rows->rows == RQL_STORE_BLOCK)
			RQL_TRY(rql_store_writing_encode_rows(append, c, &sink, err));
	}
	if (append->rows->rows)
		RQL_TRY(rql_store_writing_encode_rows(append, c, &sink, err));
	return rql_store_writing_finish_part(append, c, piece, &sink, err);
}

/* Takes over the caller's reference to piece, and one to each of maps (NULL: none). */
static rql_status add_piece(struct rql_store_writing *append, struct rql_store_piece *piece,
                            struct rql_store_map *const *maps, struct rql_error *err)
{
	uint32_t columns = append->schema->column_count;
	if (append->piece_count == append->piece_capacity) {
		uint32_t capacity =
			append->piece_capacity ? append->piece_capacity * 2 : append->before->snapshot.segment_count + 2;
		struct rql_store_piece **pieces;
		struct rql_store_map **all;
		rql_status status = RQL_MEM_ZARRAY(&append->mem, pieces, capacity, err);
		if (status == RQL_OK)
			status = RQL_MEM_ZARRAY(&append->mem, all, (uint64_t)capacity * columns, err);
		if (status != RQL_OK) {
			rql_store_piece_release(piece);
			return status;
		}
		if (append->piece_count) {
			memcpy(pieces, append->pieces, append->piece_count * sizeof(struct rql_store_piece *));
			memcpy(all, append->maps, (uint64_t)append->piece_count * columns * sizeof(struct rql_store_map *));
		}
		rql_mem_free(&append->mem, append->pieces);
		rql_mem_free(&append->mem, append->maps);
		append->pieces = pieces;
		append->maps = all;
		append->piece_capacity = capacity;
	}
	for (uint32_t c = 0; c < columns; c++)
		append->maps[(uint64_t)append->piece_count * columns + c] =
			maps && maps[c] ? rql_store_map_retain(maps[c]) : NULL;
	append->pieces[append->piece_count++] = piece;
	return RQL_OK;
}

static void drop_pieces(struct rql_store_writing *append, uint32_t from)
{
	uint32_t columns = append->schema->column_count;
	for (uint64_t i = (uint64_t)from * columns; i < (uint64_t)append->piece_count * columns; i++)
		rql_store_map_release(append->maps[i]);
	for (uint32_t p = from; p < append->piece_count; p++)
		rql_store_piece_release(append->pieces[p]);
	append->piece_count = from;
}

/* ---- segments that stay ---- */

/* old's codes (NULL: those before) to the new ones. Composed once for all segments that share old. */
static rql_status compose(struct rql_store_writing *append, uint32_t c, struct rql_store_map *old,
                          struct rql_store_map *const *known_old, struct rql_store_map *const *known_new,
                          uint32_t known, struct rql_store_map **out, struct rql_error *err)
{
	const struct rql_store_map *step = append->changes[c].step;
	if (!step || !old) {
		struct rql_store_map *same = step ? append->changes[c].step : old;
		*out = same ? rql_store_map_retain(same) : NULL;
		return RQL_OK;
	}
	for (uint32_t i = 0; i < known; i++) {
		if (known_old[(uint64_t)i * append->schema->column_count + c] == old) {
			*out = rql_store_map_retain(known_new[(uint64_t)i * append->schema->column_count + c]);
			return RQL_OK;
		}
	}
	RQL_TRY(rql_store_map_new(append->schema, old->count, out, err));
	for (uint32_t i = 0; i < old->count; i++)
		(*out)->map[i] = step->map[old->map[i]];
	return RQL_OK;
}

rql_status rql_store_writing_keep_pieces(struct rql_store_writing *append, struct rql_error *err)
{
	const struct rql_store_state *before = append->before;
	uint32_t columns = append->schema->column_count, kept = before->snapshot.segment_count - (append->tail != NULL);
	for (uint32_t p = 0; p < kept; p++) {
		RQL_TRY(add_piece(append, rql_store_piece_retain(before->pieces[p]), NULL, err));
		for (uint32_t c = 0; c < columns; c++)
			RQL_TRY(compose(append, c, before->maps[(uint64_t)p * columns + c], before->maps, append->maps, p,
			                &append->maps[(uint64_t)p * columns + c], err));
	}
	return RQL_OK;
}

/* ---- joining ---- */

/* Column c of pieces [from, to) in one sink: copied as it is, or decoded and encoded where a map or `repack` asks. */
static rql_status join_column(struct rql_store_writing *append, uint32_t c, uint32_t from, uint32_t to, bool repack,
                              struct rql_store_sink *sink, struct rql_error *err)
{
	const struct rql_store_schema_column *column = &append->schema->columns[c];
	uint32_t columns = append->schema->column_count;
	rql_store_rows_clear(append->rows, column->type, column->kind);
	for (uint32_t p = from; p < to; p++) {
		const struct rql_store_piece *piece = append->pieces[p];
		const struct rql_store_map *map = append->maps[(uint64_t)p * columns + c];
		struct rql_store_view view = rql_store_part_view(&piece->parts[c], column->type, column->kind);
		view.translate = map ? map->map : NULL;
		for (uint32_t b = 0; b < piece->blocks; b++) {
			rql_store_rows_load(append->kernels, &view, b, append->spare);
			RQL_TRY(rql_store_writing_move_rows(append, c, sink, 0, append->spare->rows, err));
			if (!repack && append->rows->rows)
				RQL_TRY(rql_store_writing_encode_rows(append, c, sink, err));
		}
	}
	return append->rows->rows ? rql_store_writing_encode_rows(append, c, sink, err) : RQL_OK;
}

/* Pieces [from, piece_count) become one. */
static rql_status join(struct rql_store_writing *append, uint32_t from, bool repack, struct rql_error *err)
{
	struct rql_store_piece *piece;
	RQL_TRY(rql_store_piece_new(append->schema, &piece, err));
	piece->appended = append->pieces[from]->appended;
	for (uint32_t c = 0; c < append->schema->column_count; c++) {
		struct rql_store_sink sink = {.mem = &append->mem};
		rql_status status = join_column(append, c, from, append->piece_count, repack, &sink, err);
		if (status == RQL_OK)
			status = rql_store_writing_finish_part(append, c, piece, &sink, err);
		if (status != RQL_OK) {
			rql_store_piece_release(piece);
			return status;
		}
	}
	rql_store_piece_settle(piece, append->schema);
	drop_pieces(append, from);
	return add_piece(append, piece, NULL, err);
}

static bool is_open(const struct rql_store_piece *piece)
{
	return piece->appended && piece->blocks == 1 && piece->rows < RQL_STORE_BLOCK;
}

/* While the last full segment of appended rows is as large as the one before, both become one. */
static rql_status join_equals(struct rql_store_writing *append, struct rql_error *err)
{
	while (append->piece_count >= 2) {
		const struct rql_store_piece *last = append->pieces[append->piece_count - 1],
									 *previous = append->pieces[append->piece_count - 2];
		if (!last->appended || !previous->appended || is_open(last) || previous->blocks > last->blocks ||
		    previous->blocks + last->blocks > RQL_STORE_SEGMENT)
			break;
		RQL_TRY(join(append, append->piece_count - 2, false, err));
	}
	return RQL_OK;
}

/* Full blocks make one segment, what is left the open one. */
static uint64_t segment_rows(const struct rql_store_writing *append, const struct rql_batch *batch, uint64_t first)
{
	uint64_t have = append->tail && first == 0 ? append->tail->rows : 0, left = batch->rows - first;
	uint64_t blocks = (have + left) / RQL_STORE_BLOCK;
	if (!blocks)
		return left;
	return (blocks < RQL_STORE_SEGMENT ? blocks : RQL_STORE_SEGMENT) * RQL_STORE_BLOCK - have;
}

static rql_status append_rows(struct rql_store_writing *append, const struct rql_batch *batch, struct rql_error *err)
{
	for (uint64_t first = 0, count; first < batch->rows; first += count) {
		struct rql_store_piece *piece;
		count = segment_rows(append, batch, first);
		RQL_TRY(rql_store_piece_new(append->schema, &piece, err));
		piece->appended = true;
		for (uint32_t c = 0; c < append->schema->column_count; c++) {
			rql_status status = append_column(append, c, batch, first, count, piece, err);
			if (status != RQL_OK) {
				rql_store_piece_release(piece);
				return status;
			}
		}
		rql_store_piece_settle(piece, append->schema);
		RQL_TRY(add_piece(append, piece, NULL, err));
		RQL_TRY(join_equals(append, err));
	}
	return RQL_OK;
}

/* ---- the front ---- */

rql_status rql_store_writing_start(struct rql_store_writing *append, struct rql_store *store, struct rql_error *err)
{
	append->before = store->state; /* only the holder of `writing` replaces it */
	append->schema = append->before->schema;
	append->kernels = rql_store_kernels_for(RQL_SIMD_AVX512);
	rql_mem_init(&append->mem, append->schema->budget, append->schema->name);
	append->crew.mem = &append->mem;
	RQL_TRY(RQL_MEM_ZARRAY(&append->mem, append->changes, append->schema->column_count, err));
	RQL_TRY(RQL_MEM_ZARRAY(&append->mem, append->codes, append->schema->column_count, err));
	RQL_TRY(RQL_MEM_ARRAY(&append->mem, append->rows, 1, err));
	return RQL_MEM_ARRAY(&append->mem, append->spare, 1, err);
}

void rql_store_writing_finish(struct rql_store_writing *append)
{
	drop_pieces(append, 0);
	for (uint32_t c = 0; append->changes && c < append->schema->column_count; c++) {
		rql_store_dictionary_release(append->changes[c].dictionary);
		rql_store_map_release(append->changes[c].step);
	}
	rql_mem_clear(&append->mem);
}

/* ---- dependencies ---- */

static rql_status extend(struct rql_store_writing *append, uint64_t rows, struct rql_store_dependencies **out,
                         struct rql_error *err)
{
	struct rql_store_growth *growth;
	RQL_TRY(RQL_MEM_ZARRAY(&append->mem, growth, append->schema->column_count, err));
	for (uint32_t c = 0; c < append->schema->column_count; c++)
		if (append->before->dictionaries[c])
			growth[c] = (struct rql_store_growth){
				.before = append->before->dictionaries[c]->dimension.count,
				.count = dictionary_of(append, c)->dimension.count,
				.step = append->changes[c].step ? append->changes[c].step->map : NULL,
				.codes = append->codes[c]};
	return rql_store_dependencies_extend(append->before->dependencies, append->schema, growth, rows, out, err);
}

/* rows: how many were appended. Without memory there are none; nothing else depends on them. */
static void relate(struct rql_store_writing *append, uint64_t rows, struct rql_store_state *state)
{
	struct rql_store_dependencies *before = append->before->dependencies, *now = NULL;
	struct rql_error why = {0};
	rql_status status = RQL_OK;
	if (!before || rql_store_dependencies_outgrown(before, state->snapshot.rows))
		status = rql_store_dependencies_find(&state->snapshot, append->schema, &append->crew, &now, &why);
	else if (rows)
		status = extend(append, rows, &now, &why);
	else
		now = rql_store_dependencies_retain(before);
	if (status == RQL_OK) {
		rql_store_state_relate(state, now);
		rql_store_dependencies_release(now);
	}
	rql_error_clear(&why);
}

/* Ends the append, whatever comes of it. rows: how many there were. */
rql_status rql_store_writing_publish(struct rql_store_writing *append, uint64_t rows, struct rql_store *store,
                                     struct rql_error *err)
{
	uint32_t columns = append->schema->column_count;
	struct rql_store_dictionary **dictionaries;
	struct rql_store_state *state, *old = store->state;
	rql_status status = RQL_MEM_ARRAY(&append->mem, dictionaries, columns, err);
	for (uint32_t c = 0; c < columns && status == RQL_OK; c++)
		dictionaries[c] = dictionary_of(append, c);
	if (status == RQL_OK)
		status = rql_store_state_new(append->schema, append->piece_count, append->pieces, dictionaries, append->maps,
		                             &state, err);
	if (status == RQL_OK)
		relate(append, rows, state);
	rql_store_writing_finish(append);
	if (status != RQL_OK)
		return status;
	pthread_mutex_lock(&store->lock);
	store->state = state;
	pthread_mutex_unlock(&store->lock);
	rql_store_snapshot_release(&old->snapshot);
	return RQL_OK;
}

static rql_status run_append(struct rql_store_writing *append, const struct rql_batch *rows, struct rql_error *err)
{
	const struct rql_store_state *before = append->before;
	uint32_t segments = before->snapshot.segment_count;
	if (segments && is_open(before->pieces[segments - 1]))
		append->tail = before->pieces[segments - 1];
	for (uint32_t c = 0; c < append->schema->column_count; c++) {
		if (append->schema->columns[c].kind == RQL_STORE_CODED)
			RQL_TRY(rql_store_writing_code_column(append, c, rows, err));
	}
	RQL_TRY(rql_store_writing_keep_pieces(append, err));
	return append_rows(append, rows, err);
}

rql_status rql_store_append(struct rql_store *store, const struct rql_batch *rows, struct rql_error *err)
{
	struct rql_store_writing append = {0};
	pthread_mutex_lock(&store->writing);
	rql_status status = rql_store_writing_start(&append, store, err);
	if (status == RQL_OK)
		status = rql_store_check_batch(append.schema, rows, err);
	if (status == RQL_OK && rows->rows)
		status = run_append(&append, rows, err);
	if (status == RQL_OK && rows->rows && rows->column_count)
		status = rql_store_writing_publish(&append, rows->rows, store, err);
	else
		rql_store_writing_finish(&append);
	pthread_mutex_unlock(&store->writing);
	return status;
}

/* ---- compaction ---- */

/* Has a segment a map, or a short block? */
static bool is_loose(const struct rql_store_writing *append, uint32_t p)
{
	uint32_t columns = append->schema->column_count;
	for (uint32_t c = 0; c < columns; c++)
		if (append->before->maps[(uint64_t)p * columns + c])
			return true;
	return append->before->pieces[p]->rows < (uint64_t)append->before->pieces[p]->blocks * RQL_STORE_BLOCK;
}

/* Groups of neighbours that fit a segment are written as one, unless a group is one tight segment. */
static rql_status run_compact(struct rql_store_writing *append, struct rql_error *err)
{
	const struct rql_store_state *before = append->before;
	uint32_t columns = append->schema->column_count;
	for (uint32_t p = 0; p < before->snapshot.segment_count;) {
		uint32_t first = append->piece_count, blocks = 0, n = 0;
		bool loose = false;
		while (p < before->snapshot.segment_count && blocks + before->pieces[p]->blocks <= RQL_STORE_SEGMENT) {
			RQL_TRY(add_piece(append, rql_store_piece_retain(before->pieces[p]), before->maps + (uint64_t)p * columns,
			                  err));
			blocks += before->pieces[p]->blocks;
			loose |= is_loose(append, p);
			n++;
			p++;
		}
		if (n > 1 || loose)
			RQL_TRY(join(append, first, true, err));
	}
	return RQL_OK;
}

rql_status rql_store_compact(struct rql_store *store, struct rql_error *err)
{
	struct rql_store_writing append = {0};
	pthread_mutex_lock(&store->writing);
	rql_status status = rql_store_writing_start(&append, store, err);
	if (status == RQL_OK)
		status = run_compact(&append, err);
	if (status == RQL_OK)
		status = rql_store_writing_publish(&append, 0, store, err);
	else
		rql_store_writing_finish(&append);
	pthread_mutex_unlock(&store->writing);
	return status;
}

/* Where pieces of a side come from, how their columns lie, and how all of them go into partitions. */
#include "primitive/host/host_internal.h"

#define READ_BYTES (UINT64_C(64) << 20) /* that are partitioned at a time */

struct rql_host_layout rql_host_side_layout(const struct rql_host_side *side, uint64_t rows)
{
	struct rql_host_layout layout = {.count = 1 + side->shape.column_count, .bits = {side->shape.key_bits}};
	memcpy(layout.bits + 1, side->shape.column_bits, side->shape.column_count * sizeof(*layout.bits));
	for (uint32_t c = 0; c < layout.count; c++)
		layout.at[c] = rql_temp_take(&layout.bytes, rows * layout.bits[c] / 8);
	return layout;
}

struct rql_host_layout rql_host_layout_of(const struct rql_host_join *join, const struct rql_host_side *side,
                                          uint64_t rows)
{
	struct rql_host_layout layout = {.count = 1};
	const struct rql_host_side *sides[] = {&join->build, &join->probe};
	for (int s = 0; s < 2; s++) {
		const struct rql_host_shape *shape = &sides[s]->shape;
		if (side ? sides[s] != side : s == 0 && !rql_join_gives_pairs(join->kind))
			continue;
		for (uint32_t c = 0; c < shape->column_count; c++)
			layout.bits[layout.count++] = shape->column_bits[c];
	}
	layout.bits[0] = side ? side->shape.key_bits : 0;
	for (uint32_t c = 0; c < layout.count; c++)
		layout.at[c] = rql_temp_take(&layout.bytes, rows * layout.bits[c] / 8);
	layout.bytes += layout.bytes ? 0 : 16;
	return layout;
}

struct rql_host_piece rql_host_piece_in(const struct rql_host_layout *layout, struct rql_buffer *buffer)
{
	struct rql_host_piece piece = {.rows = 0};
	if (!buffer)
		return piece;
	piece.keys = (struct rql_span){buffer, layout->at[0]};
	for (uint32_t c = 1; c < layout->count; c++)
		piece.columns[c - 1] = (struct rql_span){buffer, layout->at[c]};
	return piece;
}

struct rql_host_rows rql_host_rows_in(const struct rql_host_piece *piece, const struct rql_host_shape *shape)
{
	struct rql_host_rows rows = {.count = piece->rows, .keys = (uint8_t *)piece->keys.buffer->map + piece->keys.offset};
	for (uint32_t c = 0; c < shape->column_count; c++)
		rows.columns[c] = (uint8_t *)piece->columns[c].buffer->map + piece->columns[c].offset;
	return rows;
}

struct rql_host_rows rql_host_rows_behind(const struct rql_host_rows *rows, const struct rql_host_shape *shape,
                                          uint64_t first)
{
	struct rql_host_rows behind = {.count = rows->count - first,
	                               .keys = (uint8_t *)rows->keys + first * shape->key_bits / 8};
	for (uint32_t c = 0; c < shape->column_count; c++)
		behind.columns[c] = (uint8_t *)rows->columns[c] + first * shape->column_bits[c] / 8;
	return behind;
}

void rql_host_record_columns(struct rql_commands *c, const struct rql_host_piece *piece, uint64_t first, uint64_t rows,
                             const struct rql_host_layout *to, struct rql_buffer *buffer, uint64_t at)
{
	for (uint32_t i = 0; i < to->count; i++) {
		const struct rql_span *from = i ? &piece->columns[i - 1] : &piece->keys;
		const uint64_t bytes = to->bits[i] / 8;
		rql_record_copy(c, from->buffer, from->offset + first * bytes, buffer, to->at[i] + at * bytes, rows * bytes);
	}
}

static rql_status ask_side(struct rql_host_feed *feed, struct rql_device *device, struct rql_host_piece *piece,
                           struct rql_error *err)
{
	if (feed->lock)
		pthread_mutex_lock(feed->lock);
	const rql_status status = feed->side->next(feed->state ? feed->state : feed->side->state, device, piece, err);
	if (feed->lock)
		pthread_mutex_unlock(feed->lock);
	return status;
}

static void copy_rows(const struct rql_host_feed *feed, const struct rql_host_rows *to)
{
	const struct rql_host_shape *shape = &feed->side->shape;
	const struct rql_host_rows from = rql_host_rows_behind(feed->memory, shape, feed->at);
	memcpy(to->keys, from.keys, to->count * shape->key_bits / 8);
	for (uint32_t c = 0; c < shape->column_count; c++)
		memcpy(to->columns[c], from.columns[c], to->count * shape->column_bits[c] / 8);
}

rql_status rql_host_feed_next(struct rql_host_feed *feed, struct rql_device *device, uint64_t most,
                              struct rql_host_piece *piece, struct rql_error *err)
{
	piece->rows = most;
	if (!feed->store && !feed->memory) {
		RQL_TRY(ask_side(feed, device, piece, err));
		feed->at += piece->rows;
		return RQL_OK;
	}
	if (feed->rows - feed->at < most)
		piece->rows = feed->rows - feed->at;
	const struct rql_host_rows rows = rql_host_rows_in(piece, &feed->side->shape);
	if (feed->memory)
		copy_rows(feed, &rows);
	else
		RQL_TRY(rql_host_store_read(feed->store, feed->partition, feed->at, &rows, err));
	feed->at += rows.count;
	return RQL_OK;
}

/* ---- all rows into partitions ---- */

uint64_t rql_host_read_rows(const struct rql_host_side *side)
{
	const uint64_t most = READ_BYTES / rql_host_row_bytes(&side->shape), rows = side->rows + 4;
	return (rows < most ? rows : most) / 4 * 4;
}

static rql_status cancelled(const struct rql_progress *progress, struct rql_error *err)
{
	if (!progress || !atomic_load_explicit(&progress->cancel, memory_order_relaxed))
		return RQL_OK;
	return rql_error_set(err, RQL_ERROR_INTERRUPTED, "INTERRUPT Error: Interrupted!");
}

static rql_status take_source(const struct rql_host_side *side, struct rql_host_store *store,
                              const struct rql_progress *progress, struct rql_error *err)
{
	const uint64_t rows = side->source.rows, most = READ_BYTES / rql_host_row_bytes(&side->shape) / 64 * 64;
	for (uint64_t first = 0; first < rows; first += most) {
		RQL_TRY(rql_host_store_take(store, &side->source, first, rows - first < most ? rows : first + most, err));
		RQL_TRY(cancelled(progress, err));
	}
	return RQL_OK;
}

/* Pieces come in memory that the device reaches, too. */
static rql_status fill_store(struct rql_host_feed *feed, struct rql_device *device, struct rql_host_store *store,
                             struct rql_buffer *staging, struct rql_progress *progress, struct rql_error *err)
{
	const uint64_t most = rql_host_read_rows(feed->side);
	const struct rql_host_layout layout = rql_host_side_layout(feed->side, most);
	while (!rql_host_feed_ended(feed)) {
		struct rql_host_piece piece = rql_host_piece_in(&layout, staging);
		RQL_TRY(rql_host_feed_next(feed, device, most, &piece, err));
		if (!piece.rows)
			break;
		const struct rql_host_rows rows = rql_host_rows_in(&piece, &feed->side->shape);
		RQL_TRY(rql_host_store_add(store, &rows, err));
		RQL_TRY(cancelled(progress, err));
	}
	return RQL_OK;
}

rql_status rql_host_partition(struct rql_host_feed *feed, struct rql_device *device, const struct rql_host_store_spec *spec,
                              struct rql_progress *progress, struct rql_host_store **out, struct rql_error *err)
{
	const uint64_t bytes = rql_host_side_layout(feed->side, rql_host_read_rows(feed->side)).bytes;
	struct rql_buffer *staging = NULL;
	RQL_TRY(rql_host_store_new(spec, out, err));
	if (!feed->store && feed->side->source.read)
		return take_source(feed->side, *out, progress, err);
	if (feed->store || !feed->side->in_place)
		RQL_TRY(rql_buffer_new(device, bytes, RQL_MEMORY_READBACK, "rows to be partitioned", &staging, err));
	const rql_status status = fill_store(feed, device, *out, staging, progress, err);
	rql_buffer_free(staging);
	return status;
}

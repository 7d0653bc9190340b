/* Where pieces of a side come from, and how their columns lie. */
#include "primitive/host/host_internal.h"

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

rql_status rql_host_feed_next(struct rql_host_feed *feed, struct rql_device *device, uint64_t most,
                              struct rql_host_piece *piece, struct rql_error *err)
{
	piece->rows = most;
	if (!feed->store) {
		RQL_TRY(feed->side->next(feed->side->state, device, piece, err));
		feed->at += piece->rows;
		return RQL_OK;
	}
	if (feed->rows - feed->at < most)
		piece->rows = feed->rows - feed->at;
	const struct rql_host_rows rows = rql_host_rows_in(piece, &feed->side->shape);
	RQL_TRY(rql_host_store_read(feed->store, feed->part, feed->at, &rows, err));
	feed->at += rows.count;
	return RQL_OK;
}

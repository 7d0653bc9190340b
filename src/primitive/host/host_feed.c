/* Where pieces of a side come from, and how their columns lie. */
#include "primitive/host/host_internal.h"

struct rql_host_layout rql_host_layout_of(const struct rql_host_join *join, const struct rql_host_side *side,
                                          uint64_t rows)
{
	struct rql_host_layout layout = {.count = 1};
	const struct rql_host_side *sides[] = {&join->build, &join->probe};
	for (int s = 0; s < 2; s++) {
		const struct rql_host_shape *shape = &sides[s]->shape;
		const bool pairs = join->kind != RQL_JOIN_SEMI && join->kind != RQL_JOIN_ANTI;
		if (side ? sides[s] != side : s == 0 && !pairs)
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
	struct rql_host_piece piece = {.keys = {buffer, layout->at[0]}};
	for (uint32_t c = 1; c < layout->count; c++)
		piece.columns[c - 1] = (struct rql_span){buffer, layout->at[c]};
	return piece;
}

static void *memory_at(const struct rql_span *span)
{
	return span->buffer ? (uint8_t *)span->buffer->map + span->offset : NULL;
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
	struct rql_host_rows rows = {.count = feed->rows - feed->at < most ? feed->rows - feed->at : most,
	                             .keys = memory_at(&piece->keys)};
	for (uint32_t c = 0; c < feed->side->shape.column_count; c++)
		rows.columns[c] = memory_at(&piece->columns[c]);
	RQL_TRY(rql_host_store_read(feed->store, feed->part, feed->at, &rows, err));
	piece->rows = rows.count;
	feed->at += rows.count;
	return RQL_OK;
}

/* Which way a group-by from the host's memory goes, what a device has room for, and how groups lie. */
#include "primitive/host/host_group_internal.h"

#define PIECES 16u
#define PIECE_LEAST 16384u
#define PIECE_MOST (UINT64_C(1) << 24) /* half a GB of usual rows and groups: some 4 ms of a link */
#define ROWS_LEAST 1024u  /* smaller partitions: the limit is refused */
#define TABLE_SHARE 4u    /* groups a piece's row at most: each is added to the table once a piece, by some atomics */
#define SPARE 8u          /* one part in so many */
#define SPARE_LEAST 512u
#define STAGED_MOST (UINT64_C(1) << 22)

/* ---- outputs ---- */

static uint32_t sum_bits(const struct rql_host_group_column *column)
{
	return column->wide_sum ? 128 : 64;
}

uint64_t rql_host_group_bytes(const struct rql_host_group_by *by)
{
	uint64_t bytes = by->rows.shape.key_bits / 8 + 8;
	for (uint32_t c = 0; c < by->column_count; c++)
		bytes += (by->columns[c].sum ? sum_bits(&by->columns[c]) / 8 : 0) + (by->columns[c].min ? 8 : 0) +
		         (by->columns[c].max ? 8 : 0);
	return bytes;
}

struct rql_host_groups_layout rql_host_groups_layout_of(const struct rql_host_group_by *by, uint64_t groups)
{
	struct rql_host_groups_layout layout = {.bytes = 0};
	layout.keys = rql_temp_take(&layout.bytes, groups * by->rows.shape.key_bits / 8);
	layout.counts = rql_temp_take(&layout.bytes, groups * 8);
	for (uint32_t c = 0; c < by->column_count; c++) {
		const struct rql_host_group_column *column = &by->columns[c];
		layout.sum[c] = rql_temp_take(&layout.bytes, column->sum ? groups * sum_bits(column) / 8 : 0);
		layout.min[c] = rql_temp_take(&layout.bytes, column->min ? groups * 8 : 0);
		layout.max[c] = rql_temp_take(&layout.bytes, column->max ? groups * 8 : 0);
	}
	return layout;
}

struct rql_host_groups rql_host_groups_in(const struct rql_host_group_by *by, const struct rql_host_groups_layout *layout,
                                          struct rql_buffer *buffer)
{
	struct rql_host_groups groups = {.keys = {buffer, layout->keys}, .counts = {buffer, layout->counts}};
	for (uint32_t c = 0; c < by->column_count; c++) {
		if (by->columns[c].sum)
			groups.sum[c] = (struct rql_span){buffer, layout->sum[c]};
		if (by->columns[c].min)
			groups.min[c] = (struct rql_span){buffer, layout->min[c]};
		if (by->columns[c].max)
			groups.max[c] = (struct rql_span){buffer, layout->max[c]};
	}
	return groups;
}

static void add_move(const struct rql_span *from, uint64_t first, const struct rql_span *to, uint64_t rows, uint32_t bits,
                     struct rql_move *moves, uint32_t *count)
{
	if (from->buffer)
		moves[(*count)++] = (struct rql_move){.rows = rows, .bits = bits, .from = rql_span_at(from, first * bits / 8), .to = *to};
}

uint32_t rql_host_groups_moves(const struct rql_host_group_by *by, const struct rql_host_groups *from, uint64_t first,
                               const struct rql_host_groups *to, uint64_t rows, struct rql_move moves[RQL_HOST_GROUP_OUTPUTS])
{
	uint32_t count = 0;
	add_move(&from->keys, first, &to->keys, rows, by->rows.shape.key_bits, moves, &count);
	add_move(&from->counts, first, &to->counts, rows, 64, moves, &count);
	for (uint32_t c = 0; c < by->column_count; c++) {
		add_move(&from->sum[c], first, &to->sum[c], rows, sum_bits(&by->columns[c]), moves, &count);
		add_move(&from->min[c], first, &to->min[c], rows, 64, moves, &count);
		add_move(&from->max[c], first, &to->max[c], rows, 64, moves, &count);
	}
	return count;
}

/* ---- the group-by on a device ---- */

struct rql_group_by rql_host_group_relation(const struct rql_host_group_by *by, const struct rql_host_group_sizes *sizes,
                                            struct rql_buffer *in, struct rql_buffer *out)
{
	const struct rql_host_layout layout = rql_host_side_layout(&by->rows, sizes->rows);
	const struct rql_host_groups_layout groups = rql_host_groups_layout_of(by, sizes->groups);
	const struct rql_host_groups to = rql_host_groups_in(by, &groups, out);
	const bool table = sizes->way == RQL_HOST_TABLE;
	struct rql_group_by relation = {.key_bits = by->rows.shape.key_bits,
	                                .count = sizes->rows,
	                                .keys = {in, layout.at[0]},
	                                .guess = sizes->guess ? sizes->guess : sizes->groups,
	                                .spill = table ? 2 * sizes->groups : 0,
	                                .batches = table,
	                                .column_count = by->column_count,
	                                .capacity = sizes->groups,
	                                .keys_out = to.keys,
	                                .counts = to.counts};
	for (uint32_t c = 0; c < by->column_count; c++) {
		const struct rql_host_group_column *column = &by->columns[c];
		relation.columns[c] = (struct rql_group_by_column){.kind = column->kind,
		                                                   .bits = by->rows.shape.column_bits[column->values],
		                                                   .is_signed = column->is_signed,
		                                                   .wide_sum = column->wide_sum,
		                                                   .values = {in, layout.at[column->values + 1]},
		                                                   .sum = to.sum[c],
		                                                   .min = to.min[c],
		                                                   .max = to.max[c]};
	}
	return relation;
}

struct rql_raster_groups rql_host_group_drawing(const struct rql_host_group_by *by, const struct rql_group_by *relation)
{
	struct rql_raster_groups groups = {.by = {.count = 0}};
	rql_raster_groups_lay(&groups, relation, by->totals, NULL);
	return groups;
}

uint64_t rql_host_group_sizes_bytes(const struct rql_host_group_by *by, struct rql_device *device,
                                    const struct rql_host_group_sizes *sizes)
{
	struct rql_buffer fake = {.device = device};
	const struct rql_group_by relation = rql_host_group_relation(by, sizes, &fake, &fake);
	const bool whole = sizes->way == RQL_HOST_WHOLE, partitioned = sizes->way == RQL_HOST_PARTS;
	const uint64_t out = rql_host_groups_layout_of(by, sizes->groups).bytes;
	uint64_t bytes = rql_host_side_layout(&by->rows, sizes->rows).bytes * (whole ? 1 : 2) +
	                 (partitioned ? 2 : 1) * out + 2 * (32 + RQL_EXCHANGE_TABLE_BYTES);
	if (by->unit != RQL_UNIT_RASTER || sizes->way == RQL_HOST_TABLE)
		return bytes + rql_group_by_temp_bytes(&relation);
	struct rql_raster_groups drawing = rql_host_group_drawing(by, &relation);
	struct rql_image_spec specs[RQL_RASTER_GROUP_IMAGES];
	rql_raster_group_by_images(&drawing.drawing, specs);
	return bytes + rql_raster_groups_temp_bytes(&drawing) + rql_raster_images_bytes(specs, RQL_RASTER_GROUP_IMAGES) +
	       sizeof(struct rql_raster_group_points);
}

/* ---- the way ---- */

static uint64_t with_spare(uint64_t n, uint64_t most)
{
	n += n / SPARE + SPARE_LEAST;
	return (n < most ? n : most) / 4 * 4 + 4;
}

static uint64_t piece_of(const struct rql_host_group_by *by, uint64_t rows)
{
	uint64_t piece = rows / PIECES;
	piece = piece < PIECE_LEAST ? PIECE_LEAST : piece > PIECE_MOST ? PIECE_MOST : piece;
	if (by->piece_rows && piece > by->piece_rows)
		piece = by->piece_rows;
	return (piece + 3) / 4 * 4;
}

/* What a group-by takes, and what images there are, follows from a device's limits. */
static bool fits_on(const struct rql_host_group_by *by, struct rql_device *device, uint64_t limit, bool drawn,
                    const struct rql_host_group_sizes *sizes)
{
	struct rql_buffer fake = {.device = device};
	const struct rql_group_by relation = rql_host_group_relation(by, sizes, &fake, &fake);
	if (rql_host_group_sizes_bytes(by, device, sizes) > limit)
		return false;
	if (!drawn)
		return true;
	const struct rql_raster_groups drawing = rql_host_group_drawing(by, &relation);
	return !rql_raster_group_by_refusal(&drawing.drawing, device);
}

static bool fits(const struct rql_host_group_by *by, uint64_t limit, struct rql_host_group_sizes *sizes)
{
	const bool drawn = by->unit == RQL_UNIT_RASTER && sizes->way != RQL_HOST_TABLE;
	const uint64_t most = drawn ? RQL_RASTER_ROWS : RQL_RELATION_ROWS;
	sizes->staged = sizes->way == RQL_HOST_PARTS || sizes->groups < STAGED_MOST ? sizes->groups : STAGED_MOST;
	bool fit = sizes->rows <= most && (!drawn || sizes->groups <= RQL_RASTER_GROUPS);
	for (uint32_t i = 0; i < by->device_count && fit; i++)
		fit = fits_on(by, by->devices[i], limit, drawn, sizes);
	return fit;
}

bool rql_host_group_sizes_table(const struct rql_host_group_by *by, uint64_t limit, uint64_t groups,
                                struct rql_host_group_sizes *out)
{
	uint64_t piece = piece_of(by, by->rows.rows);
	for (; piece >= ROWS_LEAST; piece = piece / 8 * 4) {
		*out = (struct rql_host_group_sizes){
			.way = RQL_HOST_TABLE, .piece = piece, .rows = piece, .groups = with_spare(groups, UINT64_C(1) << 30), .guess = groups};
		if (fits(by, limit, out))
			return true;
	}
	return false;
}

static bool choose_partitions(const struct rql_host_group_by *by, uint64_t limit, uint64_t rows, uint64_t groups,
                              struct rql_host_group_sizes *out)
{
	const uint32_t least = by->device_count > 1 ? rql_log2_up(by->device_count) + 1 : 1;
	for (uint32_t bits = least; bits <= RQL_HOST_HASH_BITS; bits++) {
		const uint64_t piece = with_spare(rows >> bits, UINT64_MAX / 2);
		*out = (struct rql_host_group_sizes){.way = RQL_HOST_PARTS, .piece = piece, .rows = piece, .bits = bits};
		out->groups = with_spare(groups >> bits, piece);
		if (piece <= PIECE_MOST && fits(by, limit, out))
			return true;
		if (piece < ROWS_LEAST)
			break;
	}
	return false;
}

bool rql_host_group_sizes_choose(const struct rql_host_group_by *by, uint64_t limit, uint64_t rows, uint64_t groups,
                                 struct rql_host_group_sizes *out)
{
	groups = groups && groups < rows ? groups : rows;
	const bool few = by->unit == RQL_UNIT_COMPUTE && groups * TABLE_SHARE <= piece_of(by, rows);
	if (few && rql_host_group_sizes_table(by, limit, groups, out) && groups * TABLE_SHARE <= out->piece)
		return true;
	*out = (struct rql_host_group_sizes){
		.way = RQL_HOST_WHOLE, .piece = piece_of(by, rows), .rows = rows / 4 * 4 + 4, .groups = with_spare(groups, rows)};
	if (by->device_count == 1 && fits(by, limit, out))
		return true;
	return choose_partitions(by, limit, rows, groups, out);
}

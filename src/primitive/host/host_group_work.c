/* A device at work on a group-by. Step s brings piece s in, groups piece s - 1, which came in by the step before, and lets
 * the groups of piece s - 2 out, all in one recording, as host_work.c has it of joins. Of a table nothing goes out before
 * its end. WHOLE has no steps: rows come in by copies, are grouped once, and groups go out by copies. */
#include "primitive/host/host_group_internal.h"

#include <stdlib.h>

#define PASSES_MOST 256u
#define ROWS_AT 16u /* in a turn's `result`: rows of its piece */
#define RESULT_BYTES 16u

static double since(uint64_t start)
{
	return (double)(rql_now_ns() - start);
}

static bool is_drawn(const struct rql_host_group_worker *w)
{
	return w->by->unit == RQL_UNIT_RASTER && w->sizes.way != RQL_HOST_TABLE;
}

/* ---- memory ---- */

static rql_status device_buffer(struct rql_host_group_worker *w, uint64_t bytes, enum rql_memory memory,
                                struct rql_buffer **out, struct rql_error *err)
{
	RQL_TRY(rql_buffer_new(w->device, bytes, memory, "a group-by from the host's memory", out, err));
	if (memory == RQL_MEMORY_READBACK)
		return RQL_OK;
	w->taken += bytes;
	w->report.device_peak = w->taken > w->report.device_peak ? w->taken : w->report.device_peak;
	atomic_fetch_add(&w->device->request_bytes, bytes);
	return RQL_OK;
}

static rql_status open_turn(struct rql_host_group_worker *w, int t, struct rql_error *err)
{
	struct rql_host_group_turn *turn = &w->turn[t];
	const bool whole = w->sizes.way == RQL_HOST_WHOLE, partitioned = w->sizes.way == RQL_HOST_PARTS;
	if (!whole)
		RQL_TRY(device_buffer(w, w->in_layout.bytes, RQL_MEMORY_DEVICE, &turn->in, err));
	if (!t || partitioned)
		RQL_TRY(device_buffer(w, w->out_layout.bytes, RQL_MEMORY_DEVICE, &turn->out, err));
	RQL_TRY(device_buffer(w, RESULT_BYTES + 16, RQL_MEMORY_DEVICE, &turn->result, err));
	RQL_TRY(device_buffer(w, RQL_EXCHANGE_TABLE_BYTES, RQL_MEMORY_UPLOAD, &turn->table, err));
	if (w->by->room)
		return RQL_OK;
	return device_buffer(w, w->staging_layout.bytes, RQL_MEMORY_READBACK, &turn->staging, err);
}

static rql_status open_temp(struct rql_host_group_worker *w, struct rql_error *err)
{
	struct rql_buffer *in = w->rows ? w->rows : w->turn[0].in;
	const struct rql_group_by relation = rql_host_group_relation(w->by, &w->sizes, in, w->turn[0].out);
	if (!is_drawn(w))
		return device_buffer(w, rql_group_by_temp_bytes(&relation), RQL_MEMORY_DEVICE, &w->temp, err);
	struct rql_raster_groups drawing = rql_host_group_drawing(w->by, &relation);
	struct rql_image_spec specs[RQL_RASTER_GROUP_IMAGES];
	const char *why = rql_raster_group_by_refusal(&drawing.drawing, w->device);
	if (why)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "grouped on the unit raster: %s", why);
	rql_raster_group_by_images(&drawing.drawing, specs);
	RQL_TRY(device_buffer(w, rql_raster_groups_temp_bytes(&drawing), RQL_MEMORY_DEVICE, &w->temp, err));
	RQL_TRY(device_buffer(w, sizeof(struct rql_raster_group_points), RQL_MEMORY_DEVICE, &w->points, err));
	RQL_TRY(device_buffer(w, RQL_HOST_FLIGHT * sizeof(struct rql_raster_group_points), RQL_MEMORY_READBACK, &w->points_seen, err));
	RQL_TRY(rql_raster_images_new(w->device, specs, RQL_RASTER_GROUP_IMAGES, "a group-by's hash images", w->images, err));
	const uint64_t images = rql_raster_images_bytes(specs, RQL_RASTER_GROUP_IMAGES);
	w->report.device_peak = w->taken + images > w->report.device_peak ? w->taken + images : w->report.device_peak;
	w->report.image_bytes = images;
	w->report.pixel_bytes = rql_pixel_bytes(specs[0].format);
	return RQL_OK;
}

static rql_status open_memory(struct rql_host_group_worker *w, struct rql_error *err)
{
	const bool staged = !w->by->rows.in_place || w->sizes.way == RQL_HOST_PARTS || w->from_store;
	if (w->sizes.way == RQL_HOST_WHOLE)
		RQL_TRY(device_buffer(w, w->rows_layout.bytes, RQL_MEMORY_DEVICE, &w->rows, err));
	for (int t = 0; t < 2; t++)
		RQL_TRY(open_turn(w, t, err));
	for (uint32_t i = 0; i < (w->rows ? 2 : RQL_HOST_FLIGHT) && staged; i++)
		RQL_TRY(device_buffer(w, w->in_layout.bytes, RQL_MEMORY_READBACK, &w->slot[i].staging, err));
	RQL_TRY(device_buffer(w, RQL_HOST_FLIGHT * RESULT_BYTES, RQL_MEMORY_READBACK, &w->seen, err));
	return open_temp(w, err);
}

rql_status rql_host_group_worker_open(struct rql_host_group_worker *w, const struct rql_host_group_sizes *sizes,
                                      struct rql_error *err)
{
	const uint64_t start = rql_now_ns();
	if (w->open && w->sizes.way == sizes->way && w->sizes.piece == sizes->piece && w->sizes.groups == sizes->groups &&
	    w->sizes.guess == sizes->guess)
		return RQL_OK;
	rql_host_group_worker_close(w);
	w->open = true;
	w->sizes = *sizes;
	w->in_layout = rql_host_side_layout(&w->by->rows, sizes->piece);
	w->rows_layout = rql_host_side_layout(&w->by->rows, sizes->rows);
	w->out_layout = rql_host_groups_layout_of(w->by, sizes->groups);
	w->staging_layout = rql_host_groups_layout_of(w->by, sizes->staged);
	const rql_status status = open_memory(w, err);
	w->report.open_ns += since(start);
	return status;
}

static void free_buffer(struct rql_buffer **buffer)
{
	rql_buffer_free(*buffer);
	*buffer = NULL;
}

void rql_host_group_worker_close(struct rql_host_group_worker *w)
{
	for (uint32_t i = 0; i < RQL_HOST_FLIGHT; i++) {
		free_buffer(&w->slot[i].staging);
		w->slot[i] = (struct rql_host_group_slot){.rows = 0};
	}
	for (int t = 0; t < 2; t++) {
		struct rql_host_group_turn *turn = &w->turn[t];
		struct rql_buffer *buffers[] = {turn->in, turn->out, turn->result, turn->staging, turn->table};
		rql_commands_free(turn->commands);
		for (size_t i = 0; i < sizeof(buffers) / sizeof(*buffers); i++)
			rql_buffer_free(buffers[i]);
		*turn = (struct rql_host_group_turn){.ticket = 0};
	}
	free_buffer(&w->rows);
	free_buffer(&w->temp);
	free_buffer(&w->points);
	free_buffer(&w->points_seen);
	free_buffer(&w->seen);
	rql_raster_images_free(w->images, RQL_RASTER_GROUP_IMAGES);
	atomic_fetch_sub(&w->device->request_bytes, w->taken);
	w->taken = 0;
	w->open = false;
}

/* ---- the queue ---- */

static void count_times(struct rql_host_group_worker *w, struct rql_commands *c)
{
	struct rql_pass_time times[PASSES_MOST];
	double total;
	const uint32_t passes = rql_commands_times(c, times, PASSES_MOST, &total);
	for (uint32_t i = 0; i < passes && i < PASSES_MOST; i++)
		if (strcmp(times[i].pass, "exchange") == 0 || strcmp(times[i].pass, "copy") == 0)
			w->report.link_ns += times[i].ns;
	w->report.device_ns += total;
}

static rql_status wait_for(struct rql_host_group_worker *w, struct rql_host_group_turn *turn, struct rql_error *err)
{
	const uint64_t start = rql_now_ns();
	if (!turn->commands)
		return RQL_OK;
	RQL_TRY(rql_wait(w->device, turn->ticket, w->by->progress, err));
	count_times(w, turn->commands);
	rql_commands_free(turn->commands);
	turn->commands = NULL;
	w->report.wait_ns += since(start);
	return RQL_OK;
}

/* ---- rows that lie on the device ---- */

static struct rql_group_by group_on(const struct rql_host_group_worker *w, struct rql_buffer *in,
                                    const struct rql_host_group_turn *to)
{
	struct rql_buffer *out = to->out ? to->out : w->turn[0].out;
	struct rql_buffer *result = w->sizes.way == RQL_HOST_TABLE ? w->turn[0].result : to->result;
	struct rql_group_by group = rql_host_group_relation(w->by, &w->sizes, in, out);
	group.temp = (struct rql_span){w->temp, 0};
	group.result = (struct rql_span){result, 0};
	group.found = (struct rql_span){to->result, ROWS_AT};
	return group;
}

static rql_status record_rows(struct rql_commands *c, const struct rql_host_group_turn *turn, uint64_t rows,
                              struct rql_error *err)
{
	const struct rql_word_table table = {.words = {rows}, .count = 1};
	const struct rql_span to = {turn->result, ROWS_AT};
	return rql_record_words(c, &table, &to, err);
}

/* The group-by's two halves, beside the second of which other work may run. Images leave no such place. */
static rql_status record_partitions(struct rql_host_group_worker *w, struct rql_commands *c,
                                    const struct rql_group_by *group, struct rql_error *err)
{
	return is_drawn(w) ? RQL_OK : rql_record_group_by_partitions(c, group, err);
}

/* seen: the slot of what is drawn. */
static rql_status record_groups(struct rql_host_group_worker *w, struct rql_commands *c, const struct rql_group_by *group,
                                uint64_t seen, struct rql_error *err)
{
	const uint64_t bytes = sizeof(struct rql_raster_group_points);
	if (!is_drawn(w))
		return rql_record_group_by_groups(c, group, err);
	struct rql_raster_groups drawing = rql_host_group_drawing(w->by, group);
	memcpy(drawing.drawing.images, w->images, sizeof(w->images));
	drawing.drawing.points = (struct rql_span){w->points, 0};
	RQL_TRY(rql_record_raster_groups(c, &drawing, err));
	rql_record_copy(c, w->points, 0, w->points_seen, seen * bytes, bytes);
	return RQL_OK;
}

/* What was drawn for rows that are done. */
static void take_points(struct rql_host_group_worker *w, uint64_t seen)
{
	if (is_drawn(w))
		rql_raster_group_points_add(&w->report.points, (const struct rql_raster_group_points *)w->points_seen->map + seen);
}

/* ---- groups go out ---- */

static rql_status make_room(struct rql_host_group_worker *w, struct rql_buffer *staging, uint64_t groups,
                            struct rql_host_groups *out, struct rql_error *err)
{
	if (!w->by->room) {
		*out = rql_host_groups_in(w->by, &w->staging_layout, staging);
		out->rows = groups;
		return RQL_OK;
	}
	*out = (struct rql_host_groups){.rows = groups};
	pthread_mutex_lock(w->sink_lock);
	const rql_status status = w->by->room(w->by->state, w->device, out, err);
	pthread_mutex_unlock(w->sink_lock);
	return status;
}

static rql_status put(struct rql_host_group_worker *w, struct rql_host_groups *groups, uint64_t count, struct rql_error *err)
{
	const uint64_t start = rql_now_ns();
	groups->rows = count;
	if (!count)
		return RQL_OK;
	pthread_mutex_lock(w->sink_lock);
	const rql_status status = w->by->put(w->by->state, groups, err);
	pthread_mutex_unlock(w->sink_lock);
	w->refused = status != RQL_OK;
	w->report.groups += count;
	w->report.out_bytes += count * rql_host_group_bytes(w->by);
	w->report.put_ns += since(start);
	return status;
}

static void record_out(const struct rql_host_group_worker *w, struct rql_commands *c, uint64_t first,
                       const struct rql_host_groups *to, uint64_t count)
{
	struct rql_move moves[RQL_HOST_GROUP_OUTPUTS];
	const struct rql_host_groups from = rql_host_groups_in(w->by, &w->out_layout, w->turn[0].out);
	const uint32_t n = rql_host_groups_moves(w->by, &from, first, to, count, moves);
	for (uint32_t i = 0; i < n; i++)
		rql_record_copy(c, moves[i].from.buffer, moves[i].from.offset, moves[i].to.buffer, moves[i].to.offset,
		                moves[i].rows * moves[i].bits / 8);
}

/* Of WHOLE and TABLE: to the caller's room at once, or by two pieces of staging in turn. */
static rql_status put_all(struct rql_host_group_worker *w, uint64_t found, struct rql_error *err)
{
	struct rql_host_groups to[2] = {{.rows = 0}, {.rows = 0}};
	const uint64_t most = w->by->room ? found : w->sizes.staged;
	uint64_t first = 0, count[2] = {0, 0};
	for (uint32_t i = 0; first < found || count[0] || count[1]; i++) {
		struct rql_host_group_turn *turn = &w->turn[i % 2];
		struct rql_commands *c;
		RQL_TRY(wait_for(w, turn, err));
		RQL_TRY(put(w, &to[i % 2], count[i % 2], err));
		count[i % 2] = found - first < most ? found - first : most;
		if (!count[i % 2])
			continue;
		RQL_TRY(make_room(w, turn->staging, count[i % 2], &to[i % 2], err));
		RQL_TRY(rql_commands_new(w->device, w->by->timed ? RQL_COMMANDS_TIMED : 0, &c, err));
		record_out(w, c, first, &to[i % 2], count[i % 2]);
		RQL_TRY(rql_host_submit(c, RQL_OK, &turn->commands, &turn->ticket, err));
		first += count[i % 2];
	}
	return RQL_OK;
}

/* Runs what was recorded, and says how many groups the first turn's result has: at least one more than there is room for,
 * where there is no answer. */
static rql_status count_groups(struct rql_host_group_worker *w, struct rql_commands *c, rql_status status, uint64_t *found,
                               struct rql_error *err)
{
	double ns = 0;
	const uint64_t *seen = w->seen->map;
	if (status == RQL_OK)
		rql_record_copy(c, w->turn[0].result, 0, w->seen, 0, RESULT_BYTES);
	RQL_TRY(rql_commands_finish(c, status, w->by->progress, &ns, err));
	w->report.device_ns += ns;
	*found = seen[1] && seen[0] <= w->sizes.groups ? w->sizes.groups + 1 : seen[0];
	return *found <= w->sizes.groups ? put_all(w, *found, err) : RQL_OK;
}

/* ---- WHOLE ---- */

/* As many rows as come, by two of the slots. */
static rql_status load(struct rql_host_group_worker *w, struct rql_host_feed *feed, uint64_t *rows, struct rql_error *err)
{
	*rows = 0;
	for (uint32_t i = 0; !rql_host_feed_ended(feed); i++) {
		struct rql_host_group_turn *turn = &w->turn[i % 2];
		struct rql_host_piece piece = rql_host_piece_in(&w->in_layout, w->slot[i % 2].staging);
		const uint64_t left = w->sizes.rows - *rows, start = rql_now_ns();
		struct rql_commands *c;
		RQL_TRY(wait_for(w, turn, err));
		RQL_TRY(rql_host_feed_next(feed, w->device, left < w->sizes.piece ? left : w->sizes.piece, &piece, err));
		w->report.fill_ns += since(start);
		if (!piece.rows)
			break;
		RQL_TRY(rql_commands_new(w->device, w->by->timed ? RQL_COMMANDS_TIMED : 0, &c, err));
		rql_host_record_columns(c, &piece, 0, piece.rows, &w->rows_layout, w->rows, *rows);
		RQL_TRY(rql_host_submit(c, RQL_OK, &turn->commands, &turn->ticket, err));
		w->report.pieces++;
		*rows += piece.rows;
	}
	if (*rows > feed->side->rows)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "a group-by has more rows than it said");
	for (int t = 0; t < 2; t++)
		RQL_TRY(wait_for(w, &w->turn[t], err));
	return RQL_OK;
}

static rql_status group_whole(struct rql_host_group_worker *w, struct rql_host_feed *feed, uint64_t *found,
                              struct rql_error *err)
{
	struct rql_commands *c;
	uint64_t rows;
	*found = 0;
	RQL_TRY(load(w, feed, &rows, err));
	w->report.in_bytes += rows * rql_host_row_bytes(&feed->side->shape);
	w->report.partitions++;
	if (!rows)
		return RQL_OK;
	const struct rql_group_by group = group_on(w, w->rows, &w->turn[0]);
	RQL_TRY(rql_commands_new(w->device, w->by->timed ? RQL_COMMANDS_TIMED : 0, &c, err));
	rql_status status = record_rows(c, &w->turn[0], rows, err);
	if (status == RQL_OK)
		status = record_partitions(w, c, &group, err);
	if (status == RQL_OK)
		status = record_groups(w, c, &group, 0, err);
	RQL_TRY(count_groups(w, c, status, found, err));
	take_points(w, 0);
	return RQL_OK;
}

/* ---- the stream ---- */

/* What comes in: pieces of a feed (TABLE), or partitions. */
struct source {
	struct rql_host_feed *feed;
	struct rql_host_partitions *partitions;
	bool ended;
};

static rql_status keep_odd(struct rql_host_group_worker *w, uint64_t partition, struct rql_error *err)
{
	if (w->odd_count == w->odd_room) {
		const uint64_t room = 2 * w->odd_room + 16;
		uint64_t *more = realloc(w->odd, room * sizeof(*more));
		if (!more)
			return rql_error_memory(err, room * sizeof(*more), "a group-by's partitions");
		w->odd = more;
		w->odd_room = room;
	}
	w->odd[w->odd_count++] = partition;
	return RQL_OK;
}

static rql_status fill_partition(struct rql_host_group_worker *w, struct source *from, struct rql_host_group_slot *slot,
                                 struct rql_error *err)
{
	struct rql_host_partitions *p = from->partitions;
	while (!slot->rows && !from->ended) {
		slot->partition = atomic_fetch_add(&p->next, 1);
		from->ended = slot->partition >= p->end;
		const uint64_t rows = from->ended ? 0 : rql_host_store_rows(p->store, slot->partition);
		if (rows > w->sizes.piece)
			RQL_TRY(keep_odd(w, slot->partition, err));
		else
			slot->rows = rows;
	}
	struct rql_host_feed feed = {.side = p->side, .store = p->store, .partition = slot->partition, .rows = slot->rows};
	return slot->rows ? rql_host_feed_next(&feed, w->device, slot->rows, &slot->host, err) : RQL_OK;
}

static rql_status fill(struct rql_host_group_worker *w, struct source *from, struct rql_host_group_slot *slot,
                       struct rql_error *err)
{
	const uint64_t start = rql_now_ns();
	slot->host = rql_host_piece_in(&w->in_layout, slot->staging);
	if (from->partitions) {
		RQL_TRY(fill_partition(w, from, slot, err));
	} else {
		RQL_TRY(rql_host_feed_next(from->feed, w->device, w->sizes.piece, &slot->host, err));
		slot->rows = slot->host.rows;
		from->ended = !slot->rows || rql_host_feed_ended(from->feed);
	}
	w->report.pieces += slot->rows != 0;
	w->report.in_bytes += slot->rows * rql_host_row_bytes(&w->by->rows.shape);
	w->report.fill_ns += since(start);
	return RQL_OK;
}

/* Of piece s - 4, which is done. */
static rql_status take(struct rql_host_group_worker *w, struct source *from, uint64_t s, struct rql_error *err)
{
	struct rql_host_group_slot *slot = &w->slot[s % RQL_HOST_FLIGHT];
	const uint64_t *seen = (const uint64_t *)w->seen->map + 2 * (s % RQL_HOST_FLIGHT);
	if (slot->rows && from->partitions) {
		take_points(w, s % RQL_HOST_FLIGHT);
		if (seen[1] || seen[0] > w->sizes.groups) {
			RQL_TRY(keep_odd(w, slot->partition, err));
		} else {
			RQL_TRY(put(w, &slot->result, seen[0], err));
			rql_host_store_drop(from->partitions->store, slot->partition);
			w->report.partitions++;
		}
	}
	slot->rows = 0;
	return RQL_OK;
}

static void add_coming(const struct rql_host_group_worker *w, const struct rql_host_group_slot *slot, struct rql_buffer *in,
                       struct rql_exchange *exchange)
{
	for (uint32_t i = 0; i < w->in_layout.count; i++) {
		const struct rql_move move = {.rows = slot->rows,
		                              .bits = w->in_layout.bits[i],
		                              .from = i ? slot->host.columns[i - 1] : slot->host.keys,
		                              .to = {in, w->in_layout.at[i]}};
		rql_exchange_add(exchange, 0, &move);
	}
}

static rql_status add_going(struct rql_host_group_worker *w, struct rql_host_group_slot *slot,
                            const struct rql_host_group_turn *turn, struct rql_exchange *exchange, struct rql_error *err)
{
	struct rql_move moves[RQL_HOST_GROUP_OUTPUTS];
	const struct rql_host_groups from = rql_host_groups_in(w->by, &w->out_layout, turn->out);
	RQL_TRY(make_room(w, turn->staging, w->sizes.groups, &slot->result, err));
	const uint32_t count = rql_host_groups_moves(w->by, &from, 0, &slot->result, w->sizes.groups, moves);
	for (uint32_t i = 0; i < count; i++) {
		moves[i].found = (struct rql_span){turn->result, 0};
		rql_exchange_add(exchange, 1, &moves[i]);
	}
	return RQL_OK;
}

static rql_status record_step(struct rql_host_group_worker *w, uint64_t s, struct rql_commands *c, struct rql_error *err)
{
	struct rql_host_group_slot *coming = &w->slot[s % RQL_HOST_FLIGHT], *here = &w->slot[(s + 3) % RQL_HOST_FLIGHT];
	struct rql_host_group_slot *going = &w->slot[(s + 2) % RQL_HOST_FLIGHT];
	struct rql_host_group_turn *own = &w->turn[s % 2], *other = &w->turn[(s + 1) % 2];
	struct rql_exchange exchange = {.table = own->table, .after = here->rows ? w->temp : NULL};
	const struct rql_group_by group = group_on(w, other->in, other);
	if (here->rows) {
		RQL_TRY(record_rows(c, other, here->rows, err));
		RQL_TRY(record_partitions(w, c, &group, err));
	}
	add_coming(w, coming, own->in, &exchange);
	if (going->rows && w->sizes.way == RQL_HOST_PARTS)
		RQL_TRY(add_going(w, going, own, &exchange, err));
	RQL_TRY(rql_record_exchange(c, &exchange, err));
	if (!here->rows)
		return RQL_OK;
	RQL_TRY(record_groups(w, c, &group, (s + 3) % RQL_HOST_FLIGHT, err));
	if (w->sizes.way == RQL_HOST_PARTS)
		rql_record_copy(c, other->result, 0, w->seen, (s + 3) % RQL_HOST_FLIGHT * RESULT_BYTES, RESULT_BYTES);
	return RQL_OK;
}

static bool in_flight(const struct rql_host_group_worker *w)
{
	bool any = false;
	for (uint32_t i = 0; i < RQL_HOST_FLIGHT; i++)
		any |= w->slot[i].rows != 0;
	return any;
}

static rql_status stream(struct rql_host_group_worker *w, struct source *from, struct rql_error *err)
{
	for (uint64_t s = 0; !from->ended || in_flight(w); s++) {
		struct rql_host_group_slot *slot = &w->slot[s % RQL_HOST_FLIGHT];
		struct rql_host_group_turn *turn = &w->turn[s % 2];
		struct rql_commands *c;
		RQL_TRY(wait_for(w, turn, err));
		RQL_TRY(take(w, from, s, err));
		if (!from->ended)
			RQL_TRY(fill(w, from, slot, err));
		if (!slot->rows && !w->slot[(s + 3) % RQL_HOST_FLIGHT].rows && !w->slot[(s + 2) % RQL_HOST_FLIGHT].rows)
			continue;
		RQL_TRY(rql_commands_new(w->device, w->by->timed ? RQL_COMMANDS_TIMED : 0, &c, err));
		RQL_TRY(rql_host_submit(c, record_step(w, s, c, err), &turn->commands, &turn->ticket, err));
	}
	return RQL_OK;
}

static rql_status group_table(struct rql_host_group_worker *w, struct rql_host_feed *feed, uint64_t *found,
                              struct rql_error *err)
{
	struct source from = {.feed = feed};
	const struct rql_group_by group = group_on(w, w->turn[0].in, &w->turn[0]);
	struct rql_commands *c;
	w->report.partitions++;
	RQL_TRY(rql_commands_new(w->device, 0, &c, err));
	RQL_TRY(rql_commands_finish(c, rql_record_group_by_begin(c, &group, err), w->by->progress, NULL, err));
	RQL_TRY(stream(w, &from, err));
	RQL_TRY(rql_commands_new(w->device, w->by->timed ? RQL_COMMANDS_TIMED : 0, &c, err));
	return count_groups(w, c, rql_record_group_by_end(c, &group, err), found, err);
}

rql_status rql_host_group_worker_rows(struct rql_host_group_worker *w, struct rql_host_feed *feed, uint64_t *found,
                                      struct rql_error *err)
{
	return w->sizes.way == RQL_HOST_WHOLE ? group_whole(w, feed, found, err) : group_table(w, feed, found, err);
}

rql_status rql_host_group_worker_partitions(struct rql_host_group_worker *w, struct rql_host_partitions *partitions,
                                            struct rql_error *err)
{
	struct source from = {.partitions = partitions};
	return stream(w, &from, err);
}

/* ---- a rehearsal ---- */

rql_status rql_host_group_worker_rehearse(struct rql_host_group_worker *w, struct rql_error *err)
{
	const bool whole = w->sizes.way == RQL_HOST_WHOLE;
	const struct rql_group_by group = group_on(w, whole ? w->rows : w->turn[0].in, &w->turn[0]);
	struct rql_commands *c;
	for (uint32_t i = 0; i < RQL_HOST_FLIGHT; i++) {
		w->slot[i].host = rql_host_piece_in(&w->in_layout, w->slot[i].staging);
		w->slot[i].rows = w->sizes.piece;
	}
	RQL_TRY(rql_commands_new(w->device, 0, &c, err));
	rql_status status = whole ? record_partitions(w, c, &group, err) : record_step(w, 0, c, err);
	if (status == RQL_OK && whole)
		status = record_groups(w, c, &group, 0, err);
	if (status == RQL_OK && w->sizes.way == RQL_HOST_TABLE)
		status = rql_record_group_by_end(c, &group, err);
	rql_commands_free(c);
	return status;
}

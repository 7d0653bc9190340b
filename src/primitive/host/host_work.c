/* A device at work: build sides come in and are partitioned there, probe sides stream past them. Step s brings piece s in,
 * joins piece s - 1, which came in by the step before, and lets the result of piece s - 2 out, all in one recording. Two
 * steps are in the queue at a time; the CPU meanwhile takes the result of piece s - 4 and fills the piece after. */
#include "primitive/host/host_internal.h"

#define PASSES_MOST 64u
#define ALONE RQL_HOST_FLIGHT /* word of `seen` */

static double since(uint64_t start)
{
	return (double)(rql_now_ns() - start);
}

/* ---- memory ---- */

static rql_status device_buffer(struct rql_host_worker *w, uint64_t bytes, enum rql_memory memory,
                                struct rql_buffer **out, struct rql_error *err)
{
	RQL_TRY(rql_buffer_new(w->device, bytes, memory, "a join from the host's memory", out, err));
	if (memory == RQL_MEMORY_READBACK)
		return RQL_OK;
	w->report.device_peak += bytes;
	w->taken += bytes;
	atomic_fetch_add(&w->device->request_bytes, bytes);
	return RQL_OK;
}

static rql_status open_turn(struct rql_host_worker *w, struct rql_host_turn *turn, struct rql_error *err)
{
	RQL_TRY(device_buffer(w, w->probe_layout.bytes, RQL_MEMORY_DEVICE, &turn->in, err));
	RQL_TRY(device_buffer(w, w->out_layout.bytes, RQL_MEMORY_DEVICE, &turn->out, err));
	RQL_TRY(device_buffer(w, RQL_HOST_COUNT_BYTES, RQL_MEMORY_DEVICE, &turn->count, err));
	RQL_TRY(device_buffer(w, RQL_EXCHANGE_TABLE_BYTES, RQL_MEMORY_UPLOAD, &turn->table, err));
	if (w->join->room)
		return RQL_OK;
	return device_buffer(w, w->out_layout.bytes, RQL_MEMORY_READBACK, &turn->staging, err);
}

/* Build sides come in by two of the slots, and probe sides by all. */
static rql_status open_slots(struct rql_host_worker *w, struct rql_error *err)
{
	const uint64_t build = w->piece_layout.bytes, probe = w->probe_layout.bytes;
	if (w->join->build.in_place && w->join->probe.in_place && !w->sizes.bits)
		return RQL_OK;
	for (uint32_t i = 0; i < RQL_HOST_FLIGHT; i++)
		RQL_TRY(device_buffer(w, build > probe ? build : probe, RQL_MEMORY_READBACK, &w->slot[i].staging, err));
	return RQL_OK;
}

/* What is kept of a build side, and temporary memory. */
static rql_status open_join(struct rql_host_worker *w, struct rql_error *err)
{
	RQL_TRY(device_buffer(w, rql_join_built_bytes(&w->relation), RQL_MEMORY_DEVICE, &w->built, err));
	w->relation.built.buffer = w->built;
	RQL_TRY(device_buffer(w, rql_join_temp_bytes(&w->relation), RQL_MEMORY_DEVICE, &w->temp, err));
	w->relation.temp.buffer = w->temp;
	return RQL_OK;
}

static rql_status open_drawing(struct rql_host_worker *w, struct rql_error *err)
{
	const struct rql_raster_relation drawing = rql_host_drawing(&w->relation);
	const uint64_t points = sizeof(struct rql_raster_points);
	struct rql_image_spec specs[RQL_RASTER_JOIN_IMAGES];
	const char *why = rql_raster_join_refusal(&drawing.pairs, w->device);
	if (why)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "a join on the unit raster: %s", why);
	rql_raster_join_images(&drawing.pairs, specs);
	RQL_TRY(device_buffer(w, rql_raster_relation_temp_bytes(&drawing), RQL_MEMORY_DEVICE, &w->temp, err));
	w->relation.temp.buffer = w->temp;
	RQL_TRY(device_buffer(w, points, RQL_MEMORY_DEVICE, &w->points, err));
	RQL_TRY(device_buffer(w, (RQL_HOST_FLIGHT + 1) * points, RQL_MEMORY_READBACK, &w->points_seen, err));
	RQL_TRY(rql_raster_images_new(w->device, specs, RQL_RASTER_JOIN_IMAGES, "a join's hash images", w->images, err));
	w->report.image_bytes = rql_raster_images_bytes(specs, RQL_RASTER_JOIN_IMAGES);
	w->report.pixel_bytes = rql_raster_pixel_bytes(specs);
	w->report.device_peak += w->report.image_bytes;
	return RQL_OK;
}

rql_status rql_host_worker_open(struct rql_host_worker *w, struct rql_error *err)
{
	const struct rql_host_join *join = w->join;
	const uint64_t start = rql_now_ns();
	w->build_layout = rql_host_layout_of(join, &join->build, w->sizes.build);
	w->load = rql_host_load_rows(join, &w->sizes);
	w->piece_layout = rql_host_layout_of(join, &join->build, w->load);
	w->probe_layout = rql_host_layout_of(join, &join->probe, w->sizes.piece);
	w->out_layout = rql_host_layout_of(join, NULL, w->sizes.out);
	w->most = w->sizes.piece;
	w->block = w->sizes.build;
	RQL_TRY(device_buffer(w, w->build_layout.bytes, RQL_MEMORY_DEVICE, &w->build, err));
	w->relation = rql_host_relation(join, &w->sizes, w->build);
	RQL_TRY(join->drawn ? open_drawing(w, err) : open_join(w, err));
	RQL_TRY(device_buffer(w, (RQL_HOST_FLIGHT + 1) * 8, RQL_MEMORY_READBACK, &w->seen, err));
	for (int t = 0; t < 2; t++)
		RQL_TRY(open_turn(w, &w->turn[t], err));
	RQL_TRY(open_slots(w, err));
	w->report.open_ns = since(start);
	return RQL_OK;
}

void rql_host_worker_close(struct rql_host_worker *w)
{
	for (uint32_t i = 0; i < RQL_HOST_FLIGHT; i++)
		rql_buffer_free(w->slot[i].staging);
	for (int t = 0; t < 2; t++) {
		struct rql_host_turn *turn = &w->turn[t];
		struct rql_buffer *buffers[] = {turn->in, turn->out, turn->count, turn->staging, turn->table};
		rql_commands_free(turn->commands);
		for (size_t i = 0; i < sizeof(buffers) / sizeof(*buffers); i++)
			rql_buffer_free(buffers[i]);
	}
	rql_buffer_free(w->build);
	rql_buffer_free(w->built);
	rql_buffer_free(w->temp);
	rql_buffer_free(w->seen);
	rql_buffer_free(w->points);
	rql_buffer_free(w->points_seen);
	rql_raster_images_free(w->images, RQL_RASTER_JOIN_IMAGES);
	atomic_fetch_sub(&w->device->request_bytes, w->taken);
	w->taken = 0;
}

/* ---- the queue ---- */

/* Of a step that is done: what its passes took. */
static void count_times(struct rql_host_worker *w, struct rql_commands *c)
{
	struct rql_pass_time times[PASSES_MOST];
	double total;
	const uint32_t passes = rql_commands_times(c, times, PASSES_MOST, &total);
	for (uint32_t i = 0; i < passes && i < PASSES_MOST; i++) {
		if (strcmp(times[i].pass, "exchange") == 0 || strcmp(times[i].pass, "copy") == 0)
			w->report.link_ns += times[i].ns;
		else if (strcmp(times[i].pass, "join.order") == 0)
			w->report.order_ns += times[i].ns;
		else if (strcmp(times[i].pass, "join.probe") == 0)
			w->report.match_ns += times[i].ns;
	}
	w->report.device_ns += total;
}

static rql_status wait_for(struct rql_host_worker *w, struct rql_host_turn *turn, struct rql_error *err)
{
	const uint64_t start = rql_now_ns();
	if (!turn->commands)
		return RQL_OK;
	RQL_TRY(rql_wait(w->device, turn->ticket, w->join->progress, err));
	count_times(w, turn->commands);
	rql_commands_free(turn->commands);
	turn->commands = NULL;
	w->report.wait_ns += since(start);
	return RQL_OK;
}

/* ---- the build side ---- */

/* As many rows as there is room for; w->relation.build.count becomes their number. */
static rql_status load_build(struct rql_host_worker *w, struct rql_host_feed *feed, struct rql_error *err)
{
	uint64_t rows = 0;
	for (uint32_t i = 0; rows < w->block && !rql_host_feed_ended(feed); i++) {
		struct rql_host_turn *turn = &w->turn[i % 2];
		struct rql_host_piece piece = rql_host_piece_in(&w->piece_layout, w->slot[i % 2].staging);
		const uint64_t left = w->block - rows;
		struct rql_commands *c;
		RQL_TRY(wait_for(w, turn, err));
		RQL_TRY(rql_host_feed_next(feed, w->device, left < w->load ? left : w->load, &piece, err));
		if (!piece.rows)
			break;
		RQL_TRY(rql_commands_new(w->device, w->join->timed ? RQL_COMMANDS_TIMED : 0, &c, err));
		rql_host_record_columns(c, &piece, 0, piece.rows, &w->build_layout, w->build, rows);
		RQL_TRY(rql_host_submit(c, RQL_OK, &turn->commands, &turn->ticket, err));
		rows += piece.rows;
	}
	w->relation.build.count = rows;
	w->report.build_bytes += rows * rql_host_row_bytes(&feed->side->shape);
	return RQL_OK;
}

/* The join with the build side that is there, of a piece that lies in `in`. */
static struct rql_join join_on(const struct rql_host_worker *w, struct rql_buffer *in, struct rql_buffer *out,
                               struct rql_buffer *count, uint64_t rows)
{
	struct rql_join join = w->relation;
	uint32_t at = 1;
	join.probe.count = rows;
	join.probe.keys = (struct rql_span){in, w->probe_layout.at[0]};
	for (uint32_t c = 0; c < join.build.column_count; c++)
		join.build.columns[c].out = (struct rql_span){out, w->out_layout.at[at++]};
	for (uint32_t c = 0; c < join.probe.column_count; c++) {
		join.probe.columns[c].in = (struct rql_span){in, w->probe_layout.at[c + 1]};
		join.probe.columns[c].out = (struct rql_span){out, w->out_layout.at[at++]};
	}
	join.rows = (struct rql_span){count, 0};
	return join;
}

static rql_status partition_build(struct rql_host_worker *w, struct rql_error *err)
{
	struct rql_host_turn *turn = &w->turn[1]; /* the other one's step comes first */
	const struct rql_join join = join_on(w, turn->in, turn->out, turn->count, 0);
	struct rql_commands *c;
	RQL_TRY(wait_for(w, turn, err));
	w->report.ordered += rql_join_is_ordered(&join);
	RQL_TRY(rql_commands_new(w->device, w->join->timed ? RQL_COMMANDS_TIMED : 0, &c, err));
	return rql_host_submit(c, rql_record_join_built(c, &join, err), &turn->commands, &turn->ticket, err);
}

/* ---- by compute or drawn ---- */

/* Sizes are the largest ones, so that the images stay as they are: how many rows there are is told on the device. */
static rql_status record_drawing(struct rql_host_worker *w, const struct rql_join *join, struct rql_commands *c,
                                 struct rql_error *err)
{
	struct rql_join all = *join;
	const struct rql_word_table rows = {.words = {join->probe.count, join->build.count}, .count = 2};
	const struct rql_span rows_at = {join->rows.buffer, RQL_HOST_ROWS_AT};
	RQL_TRY(rql_record_words(c, &rows, &rows_at, err));
	all.probe.count = w->sizes.piece;
	all.probe.found = rows_at;
	all.build.count = w->sizes.build;
	all.build.found = (struct rql_span){join->rows.buffer, RQL_HOST_ROWS_AT + 8};
	struct rql_raster_relation drawing = rql_host_drawing(&all);
	memcpy(drawing.pairs.images, w->images, sizeof(w->images));
	drawing.pairs.points = (struct rql_span){w->points, 0};
	return rql_record_raster_relation(c, &drawing, err);
}

/* The join's two halves, beside the second of which other work may run. Images leave no such place. */
static rql_status record_partitions(const struct rql_host_worker *w, const struct rql_join *join,
                                    struct rql_commands *c, struct rql_error *err)
{
	return w->join->drawn ? RQL_OK : rql_record_join_partitions(c, join, err);
}

/* seen: of the words that say what was found. */
static rql_status record_matches(struct rql_host_worker *w, const struct rql_join *join, uint64_t seen,
                                 struct rql_commands *c, struct rql_error *err)
{
	RQL_TRY(w->join->drawn ? record_drawing(w, join, c, err) : rql_record_join_matches(c, join, err));
	rql_record_copy(c, join->rows.buffer, 0, w->seen, seen * 8, 8);
	if (w->join->drawn)
		rql_record_copy(c, w->points, 0, w->points_seen, seen * sizeof(struct rql_raster_points), sizeof(struct rql_raster_points));
	return RQL_OK;
}

/* What was drawn for rows that are done. */
static rql_status take_points(struct rql_host_worker *w, uint64_t seen, struct rql_error *err)
{
	if (!w->join->drawn)
		return RQL_OK;
	const struct rql_raster_points *p = (const struct rql_raster_points *)w->points_seen->map + seen;
	rql_raster_points_add(&w->report.points, p);
	return p->failed ? rql_error_set(err, RQL_ERROR_UNSUPPORTED, "a join drawn on device %s: a key comes 2^24 times or more, "
	                                 "which a counting pixel does not hold", w->device->id)
	                 : RQL_OK;
}

/* ---- a piece on the device ---- */

static void add_coming(const struct rql_host_worker *w, const struct rql_host_slot *slot, struct rql_buffer *in,
                       struct rql_exchange *exchange)
{
	for (uint32_t i = 0; i < w->probe_layout.count; i++) {
		const struct rql_move move = {.rows = slot->rows,
		                              .bits = w->probe_layout.bits[i],
		                              .from = i ? slot->host.columns[i - 1] : slot->host.keys,
		                              .to = {in, w->probe_layout.at[i]}};
		rql_exchange_add(exchange, 0, &move);
	}
}

static void add_going(const struct rql_host_worker *w, const struct rql_host_slot *slot, const struct rql_host_turn *turn,
                      struct rql_exchange *exchange)
{
	for (uint32_t i = 1; i < w->out_layout.count; i++) {
		const struct rql_move move = {.rows = w->sizes.out,
		                              .found = {turn->count, 0},
		                              .bits = w->out_layout.bits[i],
		                              .from = {turn->out, w->out_layout.at[i]},
		                              .to = slot->result.columns[i - 1]};
		rql_exchange_add(exchange, 1, &move);
	}
}

/* Where a result goes. */
static rql_status make_room(struct rql_host_worker *w, struct rql_buffer *staging, struct rql_host_piece *result,
                            struct rql_error *err)
{
	*result = rql_host_piece_in(&w->out_layout, staging);
	result->rows = w->sizes.out;
	if (!w->join->room)
		return RQL_OK;
	pthread_mutex_lock(w->sink_lock);
	const rql_status status = w->join->room(w->join->state, w->device, result, err);
	pthread_mutex_unlock(w->sink_lock);
	return status;
}

static rql_status put(struct rql_host_worker *w, struct rql_host_piece *result, uint64_t rows, struct rql_error *err)
{
	const uint64_t start = rql_now_ns();
	result->rows = rows;
	if (!rows)
		return RQL_OK;
	pthread_mutex_lock(w->sink_lock);
	const rql_status status = w->join->put(w->join->state, result, err);
	pthread_mutex_unlock(w->sink_lock);
	w->report.rows += rows;
	w->report.put_ns += since(start);
	for (uint32_t i = 1; i < w->out_layout.count; i++)
		w->report.result_bytes += rows * w->out_layout.bits[i] / 8;
	return status;
}

/* ---- alone: what was too much for a piece, and the rows of a full join that are left ---- */

/* Runs what was recorded; *found: rows of its result, in the turn's `out`. */
static rql_status count_alone(struct rql_host_worker *w, struct rql_commands *c, rql_status status, uint64_t *found,
                              struct rql_error *err)
{
	RQL_TRY(rql_commands_finish(c, status, w->join->progress, NULL, err));
	*found = ((const uint64_t *)w->seen->map)[ALONE];
	return RQL_OK;
}

static rql_status put_alone(struct rql_host_worker *w, const struct rql_host_turn *to, struct rql_buffer *staging,
                            uint64_t found, struct rql_error *err)
{
	struct rql_host_piece result;
	struct rql_commands *c;
	if (!found)
		return RQL_OK;
	RQL_TRY(make_room(w, staging, &result, err));
	RQL_TRY(rql_commands_new(w->device, 0, &c, err));
	for (uint32_t i = 1; i < w->out_layout.count; i++)
		rql_record_copy(c, to->out, w->out_layout.at[i], result.columns[i - 1].buffer, result.columns[i - 1].offset,
		                found * w->out_layout.bits[i] / 8);
	RQL_TRY(rql_commands_finish(c, RQL_OK, w->join->progress, NULL, err));
	return put(w, &result, found, err);
}

static rql_status record_alone(struct rql_host_worker *w, const struct rql_host_slot *slot, uint64_t first, uint64_t rows,
                               struct rql_buffer *in, struct rql_host_turn *to, struct rql_commands *c,
                               struct rql_error *err)
{
	const struct rql_join join = join_on(w, in, to->out, to->count, rows);
	rql_host_record_columns(c, &slot->host, first, rows, &w->probe_layout, in, 0);
	w->report.probe_bytes += rows * rql_host_row_bytes(&w->join->probe.shape);
	RQL_TRY(record_partitions(w, &join, c, err));
	return record_matches(w, &join, ALONE, c, err);
}

/* A row of a piece has `found` matches, more than there is room for. */
static rql_status put_heavy(struct rql_host_worker *w, const struct rql_host_slot *slot, uint64_t row, uint64_t found,
                            struct rql_error *err)
{
	struct rql_host_piece alone = slot->host;
	if (!w->join->heavy)
		return rql_error_set(err, RQL_ERROR_LIMIT, "a row has %llu matches in a join; device %s has room for %llu",
		                     (unsigned long long)found, w->device->id, (unsigned long long)w->sizes.out);
	alone.rows = 1;
	alone.keys.offset += row * w->probe_layout.bits[0] / 8;
	for (uint32_t i = 1; i < w->probe_layout.count; i++)
		alone.columns[i - 1].offset += row * w->probe_layout.bits[i] / 8;
	pthread_mutex_lock(w->sink_lock);
	const rql_status status = w->join->heavy(w->join->state, &alone, err);
	pthread_mutex_unlock(w->sink_lock);
	w->report.rows += found;
	return status;
}

/* A piece's rows, in as many parts as their result needs. */
static rql_status join_alone(struct rql_host_worker *w, struct rql_host_slot *slot, struct rql_host_turn *in,
                             struct rql_host_turn *to, struct rql_error *err)
{
	const uint64_t end = slot->rows;
	uint64_t first = 0, rows = end, found;
	struct rql_commands *c;
	while (first < end) {
		rows = rows < end - first ? rows : end - first;
		RQL_TRY(rql_commands_new(w->device, 0, &c, err));
		RQL_TRY(count_alone(w, c, record_alone(w, slot, first, rows, in->in, to, c, err), &found, err));
		RQL_TRY(take_points(w, ALONE, err));
		if (found > w->sizes.out && rows > 1) {
			rows = (rows + 1) / 2;
			continue;
		}
		RQL_TRY(found > w->sizes.out ? put_heavy(w, slot, first, found, err) : put_alone(w, to, in->staging, found, err));
		w->done += rows;
		first += rows;
		slot->joined = first;
		rows *= 2; /* a few rows with many matches do not make all parts behind them short */
	}
	return RQL_OK;
}

/* Before step s, when the result of piece s - 4 was too large: the step that runs is waited for. Then free are the turn
 * that brings piece s in, but for its `out`, and the other one's `out` and `count`. */
static rql_status repeat(struct rql_host_worker *w, uint64_t s, uint64_t found, struct rql_error *err)
{
	struct rql_host_slot *slot = &w->slot[s % RQL_HOST_FLIGHT];
	struct rql_host_turn *in = &w->turn[s % 2], *to = &w->turn[(s + 1) % 2];
	const uint64_t fitting = (uint64_t)((double)slot->rows * 0.875 * (double)w->sizes.out / (double)found) / 4 * 4;
	RQL_TRY(wait_for(w, to, err));
	w->report.repeated++;
	w->most = fitting < w->most ? fitting : w->most; /* pieces to come are as dense, it seems */
	w->most = w->most ? w->most : 4;
	return join_alone(w, slot, in, to, err);
}

/* ---- the stream ---- */

static rql_status take(struct rql_host_worker *w, uint64_t s, struct rql_error *err)
{
	struct rql_host_slot *slot = &w->slot[s % RQL_HOST_FLIGHT];
	const uint64_t found = ((const uint64_t *)w->seen->map)[s % RQL_HOST_FLIGHT];
	if (!slot->rows)
		return RQL_OK;
	RQL_TRY(take_points(w, s % RQL_HOST_FLIGHT, err));
	if (found > w->sizes.out) {
		RQL_TRY(repeat(w, s, found, err));
	} else {
		RQL_TRY(put(w, &slot->result, found, err));
		w->done += slot->rows;
	}
	if (found <= w->sizes.out / 4) /* what was dense is over */
		w->most = w->most <= w->sizes.piece / 2 ? w->most * 2 : w->sizes.piece;
	slot->rows = 0;
	return RQL_OK;
}

static rql_status fill(struct rql_host_worker *w, struct rql_host_feed *feed, struct rql_host_slot *slot,
                       struct rql_error *err)
{
	const uint64_t start = rql_now_ns();
	slot->host = rql_host_piece_in(&w->probe_layout, slot->staging);
	RQL_TRY(rql_host_feed_next(feed, w->device, w->most, &slot->host, err));
	slot->rows = slot->host.rows;
	slot->joined = 0;
	w->report.pieces += slot->rows != 0;
	w->report.probe_bytes += slot->rows * rql_host_row_bytes(&feed->side->shape);
	w->report.fill_ns += since(start);
	return RQL_OK;
}

/* The exchange begins when the piece that is joined lies in partitions, and runs beside the look for matches. */
static rql_status record_step(struct rql_host_worker *w, uint64_t s, struct rql_commands *c, struct rql_error *err)
{
	struct rql_host_slot *coming = &w->slot[s % RQL_HOST_FLIGHT], *here = &w->slot[(s + 3) % RQL_HOST_FLIGHT];
	struct rql_host_slot *going = &w->slot[(s + 2) % RQL_HOST_FLIGHT];
	struct rql_host_turn *own = &w->turn[s % 2], *other = &w->turn[(s + 1) % 2];
	struct rql_exchange exchange = {.table = own->table, .after = here->rows ? w->temp : NULL};
	const struct rql_join join = join_on(w, other->in, other->out, other->count, here->rows);
	if (here->rows)
		RQL_TRY(record_partitions(w, &join, c, err));
	add_coming(w, coming, own->in, &exchange);
	if (going->rows) {
		RQL_TRY(make_room(w, own->staging, &going->result, err));
		add_going(w, going, own, &exchange);
	}
	RQL_TRY(rql_record_exchange(c, &exchange, err));
	return here->rows ? record_matches(w, &join, (s + 3) % RQL_HOST_FLIGHT, c, err) : RQL_OK;
}

static bool in_flight(const struct rql_host_worker *w)
{
	bool any = false;
	for (uint32_t i = 0; i < RQL_HOST_FLIGHT; i++)
		any |= w->slot[i].rows != 0;
	return any;
}

static rql_status stream(struct rql_host_worker *w, struct rql_host_feed *feed, struct rql_error *err)
{
	bool ended = false;
	for (uint64_t s = 0; !ended || in_flight(w); s++) {
		struct rql_host_slot *slot = &w->slot[s % RQL_HOST_FLIGHT];
		struct rql_host_turn *turn = &w->turn[s % 2];
		struct rql_commands *c;
		RQL_TRY(wait_for(w, turn, err));
		RQL_TRY(take(w, s, err));
		if (!ended)
			RQL_TRY(fill(w, feed, slot, err));
		ended = ended || !slot->rows || rql_host_feed_ended(feed);
		if (!slot->rows && !w->slot[(s + 3) % RQL_HOST_FLIGHT].rows && !w->slot[(s + 2) % RQL_HOST_FLIGHT].rows)
			continue;
		RQL_TRY(rql_commands_new(w->device, w->join->timed ? RQL_COMMANDS_TIMED : 0, &c, err));
		RQL_TRY(rql_host_submit(c, record_step(w, s, c, err), &turn->commands, &turn->ticket, err));
	}
	return RQL_OK;
}

static rql_status put_unmatched(struct rql_host_worker *w, struct rql_error *err)
{
	struct rql_host_turn *turn = &w->turn[0];
	const struct rql_join join = join_on(w, turn->in, turn->out, turn->count, 0);
	struct rql_commands *c;
	uint64_t found;
	RQL_TRY(rql_commands_new(w->device, 0, &c, err));
	rql_status status = rql_record_join_unmatched(c, &join, err);
	if (status == RQL_OK)
		rql_record_copy(c, turn->count, 0, w->seen, ALONE * 8, 8);
	RQL_TRY(count_alone(w, c, status, &found, err));
	return put_alone(w, turn, turn->staging, found, err);
}

/* ---- a pair of partitions ---- */

static bool needs_build(const struct rql_host_join *join)
{
	return join->kind == RQL_JOIN_INNER || join->kind == RQL_JOIN_SEMI;
}

static rql_status join_block(struct rql_host_worker *w, struct rql_host_feed *build, struct rql_host_feed *probe,
                             struct rql_error *err)
{
	const uint64_t start = rql_now_ns();
	RQL_TRY(load_build(w, build, err));
	if (!w->relation.build.count && needs_build(w->join))
		return RQL_OK;
	if (!w->join->drawn)
		RQL_TRY(partition_build(w, err));
	w->report.build_ns += since(start);
	w->report.blocks++;
	RQL_TRY(stream(w, probe, err));
	return w->join->kind == RQL_JOIN_FULL ? put_unmatched(w, err) : RQL_OK;
}

rql_status rql_host_worker_join(struct rql_host_worker *w, struct rql_host_feed *build, struct rql_host_feed *probe,
                                struct rql_error *err)
{
	w->report.partitions++;
	do {
		w->block_at = build->at;
		w->done = probe->at;
		RQL_TRY(join_block(w, build, probe, err));
		probe->at = 0;
	} while (build->store && !rql_host_feed_ended(build));
	if (build->store || build->at < w->sizes.build)
		return RQL_OK;
	/* The side said that it has so many. */
	struct rql_host_piece more = rql_host_piece_in(&w->piece_layout, w->slot[0].staging);
	RQL_TRY(rql_host_feed_next(build, w->device, w->load, &more, err));
	return more.rows ? rql_error_set(err, RQL_ERROR_INTERNAL, "a side of a join has more rows than it said") : RQL_OK;
}

rql_status rql_host_worker_more(struct rql_host_worker *w, struct rql_host_feed *probe, struct rql_error *err)
{
	return stream(w, probe, err);
}

uint32_t rql_host_worker_left(const struct rql_host_worker *w, struct rql_host_rows left[RQL_HOST_FLIGHT])
{
	const struct rql_host_shape *shape = &w->join->probe.shape;
	uint32_t count = 0;
	for (uint32_t i = 0; i < RQL_HOST_FLIGHT; i++) {
		const struct rql_host_slot *slot = &w->slot[i];
		if (slot->rows <= slot->joined)
			continue;
		const struct rql_host_rows rows = rql_host_rows_in(&slot->host, shape);
		left[count++] = rql_host_rows_behind(&rows, shape, slot->joined);
	}
	return count;
}

/* ---- a rehearsal ---- */

rql_status rql_host_worker_rehearse(struct rql_host_worker *w, struct rql_error *err)
{
	struct rql_commands *c;
	w->relation.build.count = w->sizes.build;
	for (uint32_t i = 0; i < RQL_HOST_FLIGHT; i++) {
		w->slot[i].host = rql_host_piece_in(&w->probe_layout, w->slot[i].staging);
		w->slot[i].rows = w->sizes.piece;
	}
	RQL_TRY(rql_commands_new(w->device, 0, &c, err));
	const struct rql_join built = join_on(w, w->turn[1].in, w->turn[1].out, w->turn[1].count, 0);
	rql_status status = w->join->drawn ? RQL_OK : rql_record_join_built(c, &built, err);
	if (status == RQL_OK)
		status = record_step(w, 0, c, err);
	rql_commands_free(c);
	return status;
}

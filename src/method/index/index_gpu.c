/* Look-ups of an index on a GPU: see the header. */
#include "method/index/index_gpu.h"

#include <stdlib.h>
#include <string.h>

#include "column/store/store.h"
#include "method/index/index_kernels.h"
#include "method/method.h"
#include "method/rows.h"
#include "primitive/rt/rx.h"

#include "shaders/method/index/index_probes.comp.h"

static const struct rql_kernel probes_kernel = {"index.probes", rql_spv_index_probes_comp,
                                                sizeof(rql_spv_index_probes_comp), sizeof(struct rql_index_probes_args)};

struct context {
	struct rql_stage_context base;
	struct rql_index_found found;
	/* Keys that come in: where they lie, and room for them as probes of one segment at a time. Points: room for those of
	 * all segments, which the host writes. */
	struct rql_columns_port in;
	struct rql_buffer *probes;
	/* Rows as lists: READBACK, numbers of rows and then the rows; DEVICE, what is looked up. */
	struct rql_buffer *listed, *maps;
	uint32_t list_room; /* 0: bits */
};

static struct rql_index_gpu *gpu_of(const struct rql_stage *stage)
{
	return (struct rql_index_gpu *)(uintptr_t)stage;
}

/* ---- placing ---- */
static void unplace(struct rql_index_gpu *gpu)
{
	for (uint32_t s = 0; gpu->placed && s < gpu->snapshot->segment_count; s++)
		rql_placement_release(gpu->placed[s]);
	free(gpu->placed);
	free(gpu->batches);
	gpu->placed = NULL;
	gpu->batches = NULL;
	free(gpu->digits);
	gpu->digits = NULL;
	rql_stage_buffer_free(gpu->probes);
	gpu->probes = NULL;
}

#define PROBE_BYTES 16u /* a low and a high of 64 bits */

/* Of all segments. */
static uint64_t probes_bytes(const struct rql_index_gpu *gpu)
{
	return (uint64_t)gpu->look_ups * PROBE_BYTES * gpu->snapshot->segment_count + PROBE_BYTES;
}

/* So many probes of a segment, all lows and then all highs. */
static struct rql_index_batch batch_of(const struct rql_index_gpu *gpu, uint32_t s, struct rql_buffer *probes,
                                       uint64_t count)
{
	const uint64_t at = (uint64_t)gpu->look_ups * PROBE_BYTES * s;
	const uint64_t highs = at + (uint64_t)gpu->look_ups * gpu->ops->key_bytes(gpu, s);
	return (struct rql_index_batch){.lows = {probes, at}, .highs = {probes, highs}, .count = count};
}

/* Where probes of all segments lie: those of one, but for empty ranges where these may be left out. Their number. */
static uint64_t write_probes(const struct rql_index_gpu *gpu, uint32_t s, const struct rql_value *const *points,
                             uint8_t *to)
{
	const uint32_t width = gpu->ops->key_bytes(gpu, s);
	const struct rql_index_batch batch = batch_of(gpu, s, NULL, 0);
	uint64_t count = 0;
	for (uint32_t i = 0; i < gpu->look_ups; i++) {
		uint64_t low = 1, high = 0;
		if (!gpu->ops->probe(gpu, s, i, points, &low, &high)) {
			if (!gpu->points)
				continue;
			low = 1;
			high = 0;
		}
		memcpy(to + batch.lows.offset + count * width, &low, width); /* little-endian */
		memcpy(to + batch.highs.offset + count * width, &high, width);
		count++;
	}
	return count;
}

static rql_status upload_probes(struct rql_index_gpu *gpu, struct rql_error *err)
{
	const uint64_t bytes = probes_bytes(gpu);
	uint8_t *probes = calloc(1, bytes);
	if (!probes)
		return rql_error_memory(err, bytes, "a query on a GPU");
	rql_status status = rql_stage_buffer_new(gpu->stage.device, bytes, RQL_MEMORY_DEVICE, "the probes of a query",
	                                         &gpu->probes, err);
	for (uint32_t s = 0; s < gpu->snapshot->segment_count && status == RQL_OK; s++)
		gpu->batches[s] = batch_of(gpu, s, gpu->probes, write_probes(gpu, s, NULL, probes));
	if (status == RQL_OK)
		status = rql_buffer_upload(gpu->probes, 0, probes, bytes, err);
	free(probes);
	return status;
}

/* The digits of all segments' keys. */
static rql_status upload_digits(struct rql_index_gpu *gpu, struct rql_error *err)
{
	const uint64_t bytes = rql_index_gpu_keys_bytes(gpu) + 16;
	uint8_t *digits = calloc(1, bytes);
	uint64_t at = 0, last;
	gpu->digits = calloc(gpu->snapshot->segment_count + 1u, sizeof(*gpu->digits));
	if (!digits || !gpu->digits) {
		free(digits);
		return rql_error_memory(err, bytes, "the keys of a join on a GPU");
	}
	rql_status status =
		rql_stage_buffer_new(gpu->stage.device, bytes, RQL_MEMORY_DEVICE, "the keys of a join", &gpu->probes, err);
	for (uint32_t s = 0; s < gpu->snapshot->segment_count && status == RQL_OK; s++) {
		const struct rql_index_key *key = gpu->ops->key(gpu, s, &last);
		gpu->digits[s] = at;
		if (key)
			rql_index_keys_write(&gpu->keys, gpu->snapshot, s, key, gpu->probes->address + at, digits + at);
		at += rql_index_keys_bytes(&gpu->keys, gpu->snapshot, s);
	}
	if (status == RQL_OK)
		status = rql_buffer_upload(gpu->probes, 0, digits, bytes, err);
	gpu->stage.uploaded += bytes;
	free(digits);
	return status;
}

static rql_status place_all(struct rql_index_gpu *gpu, struct rql_progress *progress, struct rql_error *err)
{
	for (uint32_t s = 0; s < gpu->snapshot->segment_count; s++)
		RQL_TRY(gpu->ops->place(gpu, s, progress, &gpu->placed[s], err));
	if (gpu->points)
		return RQL_OK;
	return gpu->keys.in.from.method ? upload_digits(gpu, err) : upload_probes(gpu, err);
}

static rql_status place(struct rql_stage *stage, struct rql_progress *progress, bool *nothing, struct rql_error *err)
{
	struct rql_index_gpu *gpu = gpu_of(stage);
	const uint32_t segments = gpu->snapshot->segment_count + 1;
	(void)nothing; /* who reads the rows expects some bitmap */
	if (gpu->placed)
		return RQL_OK;
	gpu->placed = calloc(segments, sizeof(*gpu->placed));
	gpu->batches = calloc(segments, sizeof(*gpu->batches));
	rql_status status = gpu->placed && gpu->batches ? place_all(gpu, progress, err)
	                                                : rql_error_memory(err, segments * 48, "a query on a GPU");
	if (status != RQL_OK)
		unplace(gpu);
	return status;
}

/* ---- recording ---- */
uint64_t rql_index_gpu_rows_bytes(const struct rql_index_gpu *gpu)
{
	const uint64_t blocks = gpu->snapshot->blocks;
	return (blocks + !blocks) * RQL_ROWS_BLOCK_WORDS * sizeof(uint64_t);
}

static struct rql_index_batch probes_in(const struct rql_index_gpu *gpu, const struct context *x, uint32_t s)
{
	uint64_t last;
	if (!gpu->points)
		return gpu->batches[s];
	return batch_of(gpu, s, x->probes, gpu->ops->key(gpu, s, &last) ? gpu->look_ups : 0);
}

/* ---- few rows: as lists ---- */

#define LISTS_BYTES ((uint64_t)4 << 20) /* of all segments: the host reads them where they lie */

struct listing {
	struct rql_lookup_lists lists;
	struct rql_lookup_bits *maps; /* [segments] */
	uint32_t *first_rows;
};

static rql_status listing_make(const struct rql_index_gpu *gpu, const struct context *x, struct listing *out,
                               struct rql_error *err)
{
	const uint32_t segments = gpu->snapshot->segment_count;
	*out = (struct listing){.maps = calloc(segments + 1u, sizeof(*out->maps)),
	                        .first_rows = calloc(segments + 1u, sizeof(*out->first_rows))};
	if (!out->maps || !out->first_rows)
		return rql_error_memory(err, segments * sizeof(*out->maps), "a query on a GPU");
	for (uint32_t s = 0; s < segments; s++) {
		const struct rql_index_batch batch = probes_in(gpu, x, s);
		if (batch.count)
			gpu->ops->look_up(gpu, s, &batch, &out->maps[s]);
		out->first_rows[s] = (uint32_t)(gpu->snapshot->segments[s].first_block * RQL_STORE_BLOCK);
	}
	out->lists = (struct rql_lookup_lists){.map_count = segments,
	                                       .maps = out->maps,
	                                       .first_rows = out->first_rows,
	                                       .room = x->list_room,
	                                       .counts = {x->listed, 0},
	                                       .rows = {x->listed, segments * sizeof(uint32_t)},
	                                       .table = {x->maps, 0}};
	return RQL_OK;
}

static void listing_clear(struct listing *listing)
{
	free(listing->maps);
	free(listing->first_rows);
}

static uint64_t lists_bytes(const struct rql_index_gpu *gpu, uint64_t room)
{
	return (gpu->snapshot->segment_count + UINT64_C(1)) * (room + 1) * sizeof(uint32_t);
}

static rql_status upload_maps(const struct rql_index_gpu *gpu, struct context *x, const struct rql_lookup_lists *lists,
                              struct rql_error *err)
{
	const uint64_t bytes = rql_lookup_lists_bytes(lists);
	void *table = calloc(1, bytes);
	if (!table)
		return rql_error_memory(err, bytes, "a query on a GPU");
	rql_lookup_lists_write(lists, table);
	rql_status status = rql_stage_buffer_new(gpu->stage.device, bytes, RQL_MEMORY_DEVICE, "the maps of a query", &x->maps, err);
	if (status == RQL_OK)
		status = rql_buffer_upload(x->maps, 0, table, bytes, err);
	free(table);
	return status;
}

static rql_status open_lists(const struct rql_index_gpu *gpu, struct context *x, struct rql_error *err)
{
	struct listing listing;
	const uint64_t bytes = lists_bytes(gpu, x->list_room);
	RQL_TRY(rql_stage_buffer_new(gpu->stage.device, bytes, RQL_MEMORY_READBACK, "the rows of an index", &x->listed, err));
	memset(x->listed->map, 0, gpu->snapshot->segment_count * sizeof(uint32_t)); /* segments without the keys write nothing */
	rql_status status = listing_make(gpu, x, &listing, err);
	if (status == RQL_OK)
		status = upload_maps(gpu, x, &listing.lists, err);
	listing_clear(&listing);
	return status;
}

static rql_status record_lists(const struct rql_index_gpu *gpu, const struct context *x, struct rql_commands *commands,
                               struct rql_error *err)
{
	struct listing listing;
	rql_status status = listing_make(gpu, x, &listing, err);
	if (status == RQL_OK)
		status = rql_record_lookup_lists(commands, &listing.lists, err);
	listing_clear(&listing);
	return status;
}

static bool list_rows(struct rql_stage *stage, uint64_t room)
{
	struct rql_index_gpu *gpu = gpu_of(stage);
	const bool can = gpu->ops->look_up && !gpu->keys.in.from.method && gpu->look_ups <= RQL_LOOKUP_LISTS_PROBES &&
	                 room <= LISTS_BYTES && lists_bytes(gpu, room) <= LISTS_BYTES &&
	                 gpu->snapshot->blocks <= UINT32_MAX / RQL_STORE_BLOCK;
	uint64_t roomy = 1; /* so that not each longer list is a run for nothing */
	while (can && roomy < room)
		roomy *= 2;
	roomy = lists_bytes(gpu, roomy) <= LISTS_BYTES ? roomy : room;
	pthread_mutex_lock(&stage->lock);
	if (!can || !room)
		gpu->list_room = 0;
	else if (roomy > gpu->list_room)
		gpu->list_room = (uint32_t)roomy;
	pthread_mutex_unlock(&stage->lock);
	return can;
}

bool rql_index_gpu_lists(const struct rql_index_gpu *gpu)
{
	pthread_mutex_t *lock = &gpu_of(&gpu->stage)->stage.lock;
	pthread_mutex_lock(lock);
	const bool lists = gpu->list_room != 0;
	pthread_mutex_unlock(lock);
	return lists;
}

static bool fits(const struct rql_stage *stage, const struct rql_stage_context *base)
{
	return ((const struct context *)base)->list_room == gpu_of(stage)->list_room;
}

/* ---- contexts ---- */

static rql_status open_context(struct rql_stage *stage, struct rql_stage_context *const *inputs,
                               struct rql_stage_context **out, struct rql_error *err)
{
	const struct rql_index_gpu *gpu = gpu_of(stage);
	struct context *x = calloc(1, sizeof(*x));
	if (!x)
		return rql_error_memory(err, sizeof(*x), "the rows of an index");
	*out = &x->base;
	if (gpu->keys.in.from.method) {
		stage->inputs[0]->ops->columns(stage->inputs[0], inputs[0], &x->in);
		RQL_TRY(rql_stage_buffer_new(stage->device, x->in.room * PROBE_BYTES, RQL_MEMORY_DEVICE, "the probes of a query",
		                             &x->probes, err));
	}
	if (gpu->points)
		RQL_TRY(rql_stage_buffer_new(stage->device, probes_bytes(gpu), RQL_MEMORY_UPLOAD, "the probes of a query",
		                             &x->probes, err));
	x->list_room = gpu->list_room;
	if (x->list_room)
		return open_lists(gpu, x, err);
	if (gpu->state_bytes)
		RQL_TRY(rql_stage_buffer_new(stage->device, gpu->state_bytes, RQL_MEMORY_DEVICE, "the state of look-ups",
		                             &x->found.state, err));
	return rql_stage_buffer_new(stage->device, rql_index_gpu_rows_bytes(gpu), RQL_MEMORY_DEVICE, "the rows of an index",
	                            &x->found.rows, err);
}

static void close_context(struct rql_stage *stage, struct rql_stage_context *base)
{
	struct context *x = (struct context *)base;
	(void)stage;
	rql_stage_buffer_free(x->found.rows);
	rql_stage_buffer_free(x->found.state);
	rql_stage_buffer_free(x->probes);
	rql_stage_buffer_free(x->listed);
	rql_stage_buffer_free(x->maps);
	free(x);
}

/* ---- keys that come in ---- */
static struct rql_index_probes_args probes_of(const struct rql_index_gpu *gpu, const struct context *x, uint32_t s)
{
	const uint32_t key = gpu->keys.in.key;
	const uint64_t lows = x->probes->address;
	return (struct rql_index_probes_args){.fields = x->in.values->address + rql_columns_field(&x->in, key),
	                                      .rows = x->in.count->address + x->in.count_at,
	                                      .lows = lows,
	                                      .highs = lows + x->in.room * PROBE_BYTES / 2,
	                                      .digits = gpu->probes->address + gpu->digits[s],
	                                      .room = x->in.room,
	                                      .field_bits = rql_form_bits(&x->in.form->columns[key]),
	                                      .key_bits = gpu->ops->key_bytes(gpu, s) * 8,
	                                      .digit_count = rql_index_columns(&gpu->keys.of)};
}

/* Points, each from itself to itself, or ranges; rows without one are empty ranges. */
static rql_status record_keys(const struct rql_index_gpu *gpu, const struct context *x, uint32_t s,
                              const struct rql_index_found *to, struct rql_commands *commands, struct rql_error *err)
{
	const uint32_t threads = RQL_INDEX_THREADS;
	const struct rql_use uses[] = {
		{x->in.values, RQL_READ}, {x->in.count, RQL_READ}, {gpu->probes, RQL_READ}, {x->probes, RQL_WRITE}};
	const struct rql_pipeline *pipeline;
	uint64_t last;
	if (!gpu->ops->key(gpu, s, &last))
		return RQL_OK;
	struct rql_index_probes_args args = probes_of(gpu, x, s);
	args.last = last;
	RQL_TRY(rql_pipeline_get(gpu->stage.device, &probes_kernel, &threads, 1, &pipeline, err));
	rql_record_dispatch(commands, "index.probes", pipeline, &args, (x->in.room + threads - 1) / threads, uses, 4);
	const struct rql_index_batch batch = {.lows = {x->probes, 0},
	                                      .highs = {x->probes, x->in.room * PROBE_BYTES / 2},
	                                      .count = x->in.room};
	return gpu->ops->record(gpu, s, &batch, to, commands, err);
}

double rql_index_gpu_probes_ns(const struct rql_index_gpu *gpu)
{
	const struct rql_profile *profile = &gpu->stage.device->profile;
	const double segments = gpu->snapshot->segment_count, rows = gpu->keys.in.from.rows;
	return gpu->keys.in.from.method ? segments * (profile->pass_ns + rows * 2 * PROBE_BYTES / profile->read_gbps) : 0;
}

rql_status rql_index_gpu_see(const struct rql_index_gpu *gpu, rql_see_kernel *see, void *state, struct rql_error *err)
{
	const uint32_t threads = RQL_INDEX_THREADS;
	const struct rql_kernel_use use = {.kernel = &probes_kernel, .constants = &threads, .count = 1};
	return gpu->keys.in.from.method ? see(state, &use, err) : RQL_OK;
}

uint64_t rql_index_gpu_keys_bytes(const struct rql_index_gpu *gpu)
{
	uint64_t bytes = 0;
	for (uint32_t s = 0; s < gpu->snapshot->segment_count && gpu->keys.in.from.method; s++)
		bytes += rql_index_keys_bytes(&gpu->keys, gpu->snapshot, s);
	return bytes;
}

/* ---- the recording ---- */
/* counts: where each segment's state is to say what was met; NULL: nobody asks. */
static rql_status record_segments(struct rql_stage *stage, struct rql_stage_context *base, struct rql_buffer *counts,
                                  struct rql_commands *commands, struct rql_error *err)
{
	const struct rql_index_gpu *gpu = gpu_of(stage);
	const struct context *x = (const struct context *)base;
	rql_record_fill(commands, x->found.rows, 0, rql_index_gpu_rows_bytes(gpu), 0);
	for (uint32_t s = 0; s < gpu->snapshot->segment_count; s++) {
		const struct rql_index_found counted = {x->found.rows, counts, s * gpu->state_bytes, true};
		const struct rql_index_found *to = counts ? &counted : &x->found;
		if (gpu->keys.in.from.method) {
			RQL_TRY(record_keys(gpu, x, s, to, commands, err));
			continue;
		}
		const struct rql_index_batch batch = probes_in(gpu, x, s);
		if (batch.count)
			RQL_TRY(gpu->ops->record(gpu, s, &batch, to, commands, err));
	}
	return RQL_OK;
}

static rql_status record(struct rql_stage *stage, struct rql_stage_context *base, struct rql_commands *commands,
                         struct rql_error *err)
{
	const struct rql_index_gpu *gpu = gpu_of(stage);
	const struct context *x = (const struct context *)base;
	return x->list_room ? record_lists(gpu, x, commands, err) : record_segments(stage, base, NULL, commands, err);
}

/* ---- counting ---- */
static rql_status count(struct rql_stage *stage, struct rql_stage_context *base, struct rql_port *port,
                        struct rql_error *err)
{
	const struct rql_index_gpu *gpu = gpu_of(stage);
	const uint32_t segments = gpu->snapshot->segment_count;
	const uint64_t bytes = segments * gpu->state_bytes, words = gpu->state_bytes / sizeof(uint64_t);
	if (!bytes)
		return RQL_OK;
	uint64_t *met = malloc(bytes);
	if (!met)
		return rql_error_memory(err, bytes, "what look-ups met");
	rql_status status = rql_stage_count(stage, base, record_segments, met, bytes, err);
	for (uint32_t s = 0; s < segments && status == RQL_OK; s++) {
		const struct rql_selected selected = {.rays = met[s * words + RQL_RX_STATE_RAYS],
		                                      .hits = met[s * words + RQL_RX_STATE_HITS]};
		rql_selected_add(&port->selected, &selected);
	}
	free(met);
	return status;
}

/* The recording reads them in the host's memory: a look-up's few bytes are no upload. */
static void write_points(const struct rql_stage *stage, const struct rql_stage_context *base,
                         const struct rql_value *const *points)
{
	const struct rql_index_gpu *gpu = gpu_of(stage);
	const struct context *x = (const struct context *)base;
	for (uint32_t s = 0; s < gpu->snapshot->segment_count && gpu->points; s++)
		write_probes(gpu, s, points, x->probes->map);
}

static void give_rows(const struct rql_stage *stage, const struct rql_stage_context *base, struct rql_rows *out)
{
	const struct context *x = (const struct context *)base;
	*out = (struct rql_rows){.buffer = x->found.rows};
	if (x->list_room)
		*out = (struct rql_rows){
			.listed = x->listed->map, .list_count = gpu_of(stage)->snapshot->segment_count, .list_room = x->list_room};
}

static uint64_t context_bytes(const struct rql_stage *stage)
{
	const struct rql_index_gpu *gpu = gpu_of(stage);
	const double room = gpu->keys.in.from.method ? gpu->keys.in.from.rows : 0;
	if (gpu->list_room)
		return lists_bytes(gpu, gpu->list_room) + (gpu->points ? probes_bytes(gpu) : 0);
	return rql_index_gpu_rows_bytes(gpu) + gpu->state_bytes + (uint64_t)room * PROBE_BYTES +
	       (gpu->points ? probes_bytes(gpu) : 0);
}

static const struct rql_stage_ops stage_ops = {.place = place,
                                               .open = open_context,
                                               .close = close_context,
                                               .record = record,
                                               .count = count,
                                               .write_points = write_points,
                                               .rows = give_rows,
                                               .list_rows = list_rows,
                                               .fits = fits,
                                               .bytes = context_bytes};

/* ---- the whole ---- */
rql_status rql_index_gpu_init(struct rql_index_gpu *gpu, const struct rql_index_gpu_ops *ops,
                              const struct rql_store_snapshot *snapshot, struct rql_device *device,
                              struct rql_error *err)
{
	gpu->ops = ops;
	gpu->snapshot = snapshot;
	return rql_stage_init(&gpu->stage, &stage_ops, device, err);
}

/* Why the keys of a request are not to be had; NULL: they are. */
static const char *keys_lack(const struct rql_request *request, unsigned forms)
{
	const char *why = rql_index_keys_refusal(request);
	struct rql_index_keys keys;
	if (!why && !rql_index_keys_choose(request, forms, &keys))
		why = "the keys' columns have no index that the unit looks up in";
	return why;
}

/* *choice becomes what is looked up, and is to be cleared after an error, too. */
static rql_status init_keys(struct rql_index_gpu *gpu, const struct rql_index_gpu_ops *ops,
                            const struct rql_request *request, unsigned forms, struct rql_device *device,
                            struct rql_index_choice *choice, struct rql_error *err)
{
	const struct rql_columns_source *from = &request->keys->from;
	struct rql_index_keys keys;
	(void)rql_index_keys_choose(request, forms, &keys);
	*choice = (struct rql_index_choice){.forms = forms,
	                                    .snapshot = rql_store_snapshot_retain(request->snapshot),
	                                    .of = keys.of,
	                                    .points = rql_index_keys_are_points(&keys),
	                                    .covered = keys.covered,
	                                    .found = keys.found};
	RQL_TRY(rql_index_gpu_init(gpu, ops, choice->snapshot, device, err));
	gpu->keys = keys;
	gpu->look_ups = from->rows < UINT32_MAX ? (uint32_t)from->rows : UINT32_MAX;
	rql_stage_read(&gpu->stage, from->method->stage(from->prepared));
	return rql_index_keys_take(&gpu->keys, gpu->snapshot, err);
}

/* Also of zeroes. */
static void clear_gpu(struct rql_index_gpu *gpu)
{
	rql_stage_clear(&gpu->stage);
	unplace(gpu);
	rql_index_keys_clear(&gpu->keys);
}

/* In the host's memory, beside the struct. */
static uint64_t gpu_bytes(const struct rql_index_gpu *gpu)
{
	return gpu->snapshot->segment_count * (sizeof(*gpu->placed) + sizeof(*gpu->batches));
}

/* ---- what the methods on a GPU share ---- */
enum rql_offer rql_index_gpu_offer(const struct rql_request *request, const struct rql_device *device, unsigned forms,
                                   enum rql_unit unit)
{
	if (request->under.method || !request->conjunct_count || device->kind == RQL_DEVICE_CPU || !device->units[unit] ||
	    !device->host)
		return RQL_OFFER_NO;
	for (uint32_t c = 0; c < request->conjunct_count; c++)
		if (!rql_index_answers(forms, request, &request->conjuncts[c]))
			return RQL_OFFER_NO;
	return rql_index_is_exact(request) ? RQL_OFFER_FULL : RQL_OFFER_SUPERSET;
}

enum rql_offer rql_index_gpu_offer_keys(const struct rql_request *request, const struct rql_device *device, unsigned forms,
                                        enum rql_unit unit, const char **reason)
{
	const char *why = rql_device_lacks(device, unit);
	return rql_offer_unless(why ? why : keys_lack(request, forms), reason);
}

rql_status rql_index_gpu_prepare_keys(const struct rql_request *request, struct rql_device *device, unsigned forms,
                                      const struct rql_index_gpu_ops *ops, uint64_t state_bytes,
                                      struct rql_prepared **out, struct rql_error *err)
{
	struct rql_prepared *p = calloc(1, sizeof(*p));
	if (!p)
		return rql_error_memory(err, sizeof(*p), "look-ups");
	const rql_status status = init_keys(&p->gpu, ops, request, forms, device, &p->choice, err);
	p->gpu.state_bytes = state_bytes;
	if (status == RQL_OK)
		*out = p;
	else
		rql_index_gpu_free(p);
	return status;
}

void rql_index_gpu_free(struct rql_prepared *p)
{
	if (!p)
		return;
	clear_gpu(&p->gpu);
	rql_index_choice_clear(&p->choice);
	free(p);
}

uint64_t rql_index_gpu_prepared_bytes(const struct rql_prepared *p)
{
	return sizeof(*p) + rql_index_choice_bytes(&p->choice) + gpu_bytes(&p->gpu);
}

uint32_t rql_index_gpu_number(const struct rql_prepared *p)
{
	return p->choice.of.number;
}

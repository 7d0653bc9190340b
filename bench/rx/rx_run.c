/* The forms of a shape of rayql bench rx and thesis, one after another: built, looked up in, checked, reported with rays,
 * hits, bytes a key, and what a card with ray-tracing hardware should need. */
#include <string.h>

#include "bench/common/json.h"
#include "bench/flat/predict.h"
#include "bench/relation/lookup_cpu.h"
#include "bench/rx/rx.h"
#include "primitive/lookup/lookup.h"

struct running {
	struct rql_relation_case base; /* first */
	struct rql_rx_world *w;
	const struct rql_rx_form *form;
	struct rql_rx *rx;
	struct rql_cgrx *cgrx;
	struct rql_cgrx_nodes *nodes;
	struct rql_lookup_map map;
	struct rql_span map_temp; /* of its own partitions */
	uint64_t bytes;
	double build_ms, refit_ms, update_ms;
	uint64_t updated; /* entries that were deleted and inserted */
	bool rebuilt;
	bool tally;
	uint64_t rays, hits;
};

/* From a byte on. */
static struct rql_span part_of(struct rql_span span, uint64_t bytes)
{
	if (span.buffer)
		span.offset += bytes;
	return span;
}

/* ---- structures ---- */

static struct rql_key_space space_of(const struct rql_rx_world *w, const struct rql_rx_form *f)
{
	uint32_t bits = w->shape->uniform ? w->shape->key_bits : w->data.log2_distinct;
	if (f->stride)
		return rql_key_space_extended(f->stride);
	/* Rays along x want a short x (notes/h200.md, "Aspect ratio"); those across do not mind. */
	bool scaled = f->scaled || f->kind == RQL_RX_KIND_CGRX || w->shape->width || f->ray != RQL_KEY_PERPENDICULAR;
	struct rql_key_space space = rql_key_space_lattice(bits, scaled);
	if (f->bits[0]) {
		uint32_t left = bits;
		space = (struct rql_key_space){.stride = 0};
		for (unsigned axis = 0; axis < 3; axis++) {
			space.bits[axis] = left < f->bits[axis] ? left : f->bits[axis];
			left -= space.bits[axis];
		}
	}
	return space;
}

static rql_status build_rx(struct running *r, struct rql_error *err)
{
	struct rql_rx_world *w = r->w;
	const struct rql_rx_form *f = r->form;
	const struct rql_rx_spec spec = {.key_bits = w->shape->key_bits, .count = w->keys, .keys = w->key, .last = w->last,
	                                 .space = space_of(w, f), .primitive = f->primitive, .aim = f->aim,
	                                 .compact = !f->loose, .refit = f->refit,
	                                 .sorted = !f->unordered && !f->refit && !w->shape->ordered, .parts = f->parts};
	RQL_TRY(rql_rx_build(&spec, NULL, &r->rx, err));
	r->bytes = r->rx->bytes;
	r->build_ms = r->rx->build_ms;
	return RQL_OK;
}

static struct rql_sort keys_sort(const struct running *r)
{
	const struct rql_rx_world *w = r->w;
	return (struct rql_sort){.key_bits = w->shape->key_bits, .value_bits = 32, .high_bit = w->shape->key_bits,
	                         .count = w->keys, .keys_in = w->key, .keys_out = r->map.keys,
	                         .values_out = r->map.rows, .temp = r->map_temp};
}

/* Rows that an update adds. */
static uint64_t added_rows(const struct running *r)
{
	const uint32_t one_of = r->w->shape->added;
	return r->form->log2_node && one_of ? r->w->keys / one_of : 0;
}

/* In nodes of twice as many keys as they have at first, mostly. */
static rql_status build_nodes(struct running *r, const struct rql_cgrx_spec *cgrx, struct rql_error *err)
{
	struct rql_cgrx_nodes_spec spec = {.cgrx = *cgrx, .log2_node = r->form->log2_node};
	spec.cgrx.count -= added_rows(r);
	RQL_TRY(rql_cgrx_nodes_build(&spec, NULL, &r->nodes, err));
	r->bytes = r->nodes->bytes;
	r->build_ms = r->nodes->build_ms;
	return RQL_OK;
}

static rql_status build_cgrx(struct running *r, struct rql_error *err)
{
	struct rql_rx_world *w = r->w;
	const struct rql_rx_form *f = r->form;
	struct rql_cgrx_spec spec = {.key_bits = w->shape->key_bits, .count = w->keys, .keys = w->key, .last = w->last,
	                             .space = space_of(w, f), .log2_bucket = f->log2_bucket, .lines = f->lines,
	                             .aim = f->aim, .compact = !f->loose, .parts = f->parts, .value_bits = 32};
	if (w->sum_out.buffer && !f->scan && !f->log2_node)
		spec.values = w->value;
	if (f->drop)
		rql_cgrx_choose_space(&spec);
	if (f->log2_node)
		return build_nodes(r, &spec, err);
	RQL_TRY(rql_cgrx_build(&spec, NULL, &r->cgrx, err));
	r->bytes = r->cgrx->bytes;
	r->build_ms = r->cgrx->build_ms;
	return RQL_OK;
}

/* Of the probes. The keys' sort belongs to the run. */
static rql_status build_inverse(struct running *r, struct rql_error *err)
{
	struct rql_rx_world *w = r->w;
	const struct rql_cgrx_spec spec = {.key_bits = w->shape->key_bits, .count = w->probes, .keys = w->point, .lines = true,
	                                   .last = w->shape->key_bits == 64 ? UINT64_MAX : UINT32_MAX, .compact = true,
	                                   .space = rql_key_space_lattice(w->shape->key_bits, true),
	                                   .parts = r->form->parts};
	RQL_TRY(rql_cgrx_build(&spec, NULL, &r->cgrx, err));
	r->bytes = r->cgrx->bytes;
	r->build_ms = r->cgrx->build_ms;
	RQL_TRY(rql_relation_buffer(w->b, w->keys * w->shape->key_bits / 8, &r->map.keys.buffer, err));
	RQL_TRY(rql_relation_buffer(w->b, w->keys * 4, &r->map.rows.buffer, err));
	const struct rql_sort sort = keys_sort(r);
	return rql_relation_buffer(w->b, rql_sort_temp_bytes(&sort), &r->map_temp.buffer, err);
}

static rql_status record_inverse(struct running *r, struct rql_commands *c, struct rql_error *err)
{
	struct rql_rx_world *w = r->w;
	const struct rql_sort sort = keys_sort(r);
	RQL_TRY(rql_record_sort(c, &sort, err));
	const struct rql_cgrx_inverse v = {.probes = r->cgrx, .count = w->keys, .keys = r->map.keys, .key_rows = r->map.rows,
	                                   .rows = w->row_out, .sums = w->sum_out, .value_bits = 32, .values = w->value,
	                                   .value_count = w->keys, .state = w->state, .tally = r->tally};
	return rql_record_cgrx_inverse(c, &v, err);
}

static rql_status tree_memory(struct running *r, struct rql_error *err)
{
	struct rql_rx_world *w = r->w;
	struct rql_lookup_map *map = &r->map;
	map->form = RQL_LOOKUP_BTREE;
	map->high = w->last;
	const uint64_t keys = rql_lookup_tree_keys(map) * map->key_bits / 8, nodes = rql_lookup_tree_lines(map) * 64;
	r->bytes = keys + nodes + w->keys * (w->sum_out.buffer ? 12 : 4);
	RQL_TRY(rql_relation_buffer(w->b, keys, &map->keys.buffer, err));
	RQL_TRY(rql_relation_buffer(w->b, nodes, &map->nodes.buffer, err));
	RQL_TRY(rql_relation_buffer(w->b, w->keys * 4, &map->rows.buffer, err));
	return w->sum_out.buffer ? rql_relation_buffer(w->b, (w->keys + 1) * 8, &map->sums.buffer, err) : RQL_OK;
}

static rql_status kary_memory(struct running *r, struct rql_error *err)
{
	struct rql_rx_world *w = r->w;
	struct rql_lookup_map *map = &r->map;
	map->form = RQL_LOOKUP_KARY;
	map->high = w->last;
	if (w->sum_out.buffer)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "a search tree in the keys' own memory has no sums");
	const uint64_t keys = rql_lookup_kary_keys(map) * map->key_bits / 8;
	r->bytes = keys + w->keys * 4;
	RQL_TRY(rql_relation_buffer(w->b, keys, &map->keys.buffer, err));
	return rql_relation_buffer(w->b, w->keys * 4, &map->rows.buffer, err);
}

static rql_status map_memory(struct running *r, struct rql_error *err)
{
	struct rql_rx_world *w = r->w;
	struct rql_lookup_map *map = &r->map;
	if (r->form->hashed) {
		map->form = RQL_LOOKUP_HASHED;
		if (w->sum_out.buffer || !rql_lookup_choose_parts(map))
			return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "a hash has rows of keys that come once");
		r->bytes = rql_lookup_slots(map) * rql_lookup_slot_bytes(map);
		RQL_TRY(rql_relation_buffer(w->b, r->bytes, &map->slots.buffer, err));
		return rql_relation_buffer(w->b, 8, &map->failed.buffer, err);
	}
	if (r->form->tree)
		return tree_memory(r, err);
	if (r->form->kary)
		return kary_memory(r, err);
	if (r->form->interpolation) {
		map->search = RQL_LOOKUP_INTERPOLATION;
		map->high = w->last;
		map->shift = 63;
	}
	if (r->form->directory) {
		map->high = w->last;
		map->shift = rql_lookup_choose_shift(w->keys, 0, w->last);
	}
	r->bytes = w->keys * (map->key_bits / 8 + 4) + rql_lookup_starts(map) * 4 + (w->sum_out.buffer ? w->keys * 8 : 0);
	bool pairs = map->key_bits == 32;
	RQL_TRY(rql_relation_buffer(w->b, w->keys * 8, &map->keys.buffer, err));
	if (!pairs)
		RQL_TRY(rql_relation_buffer(w->b, w->keys * 4, &map->rows.buffer, err));
	if (w->sum_out.buffer)
		RQL_TRY(rql_relation_buffer(w->b, (w->keys + 1) * 8, &map->sums.buffer, err));
	return rql_relation_buffer(w->b, rql_lookup_starts(map) * 4, &map->starts.buffer, err);
}

static struct rql_lookup_batch map_lookup(const struct running *r, struct rql_span point, struct rql_span end,
                                    struct rql_span out, uint64_t count)
{
	const bool sums = r->w->sum_out.buffer != NULL;
	return (struct rql_lookup_batch){.map = r->map, .count = count, .points = point, .ends = end, .temp = r->map_temp,
	                           .rows = sums ? (struct rql_span){NULL, 0} : out,
	                           .sums = sums ? out : (struct rql_span){NULL, 0}};
}

/* A map partitions its probes by itself. */
static rql_status map_partitions(struct running *r, struct rql_error *err)
{
	struct rql_rx_world *w = r->w;
	const struct rql_lookup_batch l = map_lookup(r, w->point, w->end, w->sum_out.buffer ? w->sum_out : w->row_out, w->probes);
	const uint64_t bytes = w->shape->partitioned ? rql_lookup_temp_bytes(&l) : 0;
	return bytes ? rql_relation_buffer(w->b, bytes, &r->map_temp.buffer, err) : RQL_OK;
}

static rql_status build_map(struct running *r, struct rql_error *err)
{
	struct rql_rx_world *w = r->w;
	struct rql_lookup_map *map = &r->map;
	struct rql_commands *c;
	*map = (struct rql_lookup_map){.key_bits = w->shape->key_bits, .count = w->keys};
	RQL_TRY(map_memory(r, err));
	struct rql_lookup_build build = {.map = *map, .keys = w->key, .value_bits = 32, .values = w->value};
	RQL_TRY(rql_relation_buffer(w->b, rql_lookup_build_temp_bytes(&build), &build.temp.buffer, err));
	RQL_TRY(rql_commands_new(w->b->device, RQL_COMMANDS_TIMED, &c, err));
	rql_status status =
		rql_commands_finish(c, rql_record_lookup_build(c, &build, err), NULL, &r->build_ms, err);
	r->build_ms /= 1e6;
	return status == RQL_OK ? map_partitions(r, err) : status;
}

/* Pairs of rows change their keys. Gives how many. */
static rql_status swap_keys(struct running *r, uint64_t *pairs, struct rql_error *err)
{
	struct rql_rx_world *w = r->w;
	struct rql_rx_bench_args args = w->data;
	*pairs = args.rows = w->shape->moved < w->keys / 2 ? w->shape->moved : w->keys / 2;
	args.keys = w->key.buffer->address;
	args.values = w->value.buffer->address;
	return args.rows ? rql_rx_run_data(w, RQL_RX_BENCH_SWAP, &args, err) : RQL_OK;
}

/* Numbers of rows from `first` on. */
static rql_status make_rows(struct running *r, uint64_t first, uint64_t count, struct rql_span *out,
                            struct rql_error *err)
{
	RQL_TRY(rql_relation_buffer(r->w->b, count * 4, &out->buffer, err));
	const struct rql_rx_bench_args args = {.keys = first, .out_items = out->buffer->address, .rows = count};
	return rql_rx_run_data(r->w, RQL_RX_BENCH_ROWS, &args, err);
}

/* A copy of the first keys. */
static rql_status copy_keys(struct running *r, uint64_t count, struct rql_span *out, struct rql_error *err)
{
	const uint64_t bytes = count * r->w->shape->key_bits / 8;
	struct rql_commands *c;
	RQL_TRY(rql_relation_buffer(r->w->b, bytes, &out->buffer, err));
	RQL_TRY(rql_commands_new(r->w->b->device, 0, &c, err));
	rql_record_copy(c, r->w->key.buffer, 0, out->buffer, 0, bytes);
	return rql_commands_finish(c, RQL_OK, NULL, NULL, err);
}

/* Drivers compile when they first run a kernel: one row goes and comes again before anything is timed. */
static rql_status warm_up(struct running *r, struct rql_error *err)
{
	struct rql_cgrx_update u = {.deletes = 1, .inserts = 1, .insert_keys = r->w->key, .rebuild = r->form->anew};
	struct rql_cgrx_updated updated;
	RQL_TRY(copy_keys(r, 1, &u.delete_keys, err));
	RQL_TRY(make_rows(r, 0, 1, &u.delete_rows, err));
	u.insert_rows = u.delete_rows;
	return rql_cgrx_nodes_update(r->nodes, &u, NULL, &updated, err);
}

/* Rows are added, or change their keys: then they are deleted with the old ones and inserted with the new ones. */
static rql_status update_nodes(struct running *r, struct rql_error *err)
{
	struct rql_rx_world *w = r->w;
	const uint64_t added = added_rows(r), moved = 2 * (w->shape->moved < w->keys / 2 ? w->shape->moved : w->keys / 2);
	struct rql_cgrx_update u = {.rebuild = r->form->anew};
	struct rql_cgrx_updated updated;
	uint64_t pairs;
	if (!r->nodes || !(added + moved))
		return RQL_OK;
	RQL_TRY(warm_up(r, err));
	if (added) {
		u.inserts = added;
		u.insert_keys = part_of(w->key, (w->keys - added) * w->shape->key_bits / 8);
		RQL_TRY(make_rows(r, w->keys - added, added, &u.insert_rows, err));
	} else {
		u.deletes = u.inserts = moved;
		RQL_TRY(copy_keys(r, moved, &u.delete_keys, err));
		RQL_TRY(make_rows(r, 0, moved, &u.delete_rows, err));
		RQL_TRY(swap_keys(r, &pairs, err));
		u.insert_keys = w->key;
		u.insert_rows = u.delete_rows;
	}
	RQL_TRY(rql_cgrx_nodes_update(r->nodes, &u, NULL, &updated, err));
	r->update_ms = updated.ms;
	r->rebuilt = updated.rebuilt;
	r->updated = u.deletes + u.inserts;
	r->bytes = r->nodes->bytes;
	return RQL_OK;
}

/* The structure follows rows that change their keys (RX, section 3.6). */
static rql_status refit(struct running *r, struct rql_error *err)
{
	struct rql_rx_world *w = r->w;
	uint64_t pairs;
	if (!r->form->refit || !w->shape->moved)
		return RQL_OK;
	RQL_TRY(swap_keys(r, &pairs, err));
	uint64_t start = rql_now_ns();
	rql_status status = rql_rx_refit(r->rx, &w->key, err);
	r->refit_ms = (double)(rql_now_ns() - start) / 1e6;
	return status;
}

/* ---- recording ---- */

/* Probes [first, first + count). A map's answers to sorted probes are put in order behind it. */
static rql_status record_batch(struct running *r, struct rql_commands *c, uint64_t first, uint64_t count,
                               struct rql_error *err)
{
	struct rql_rx_world *w = r->w;
	const bool sorted = w->shape->sorted, map = r->form->kind == RQL_RX_KIND_MAP;
	const bool parts = w->shape->partitioned && !map, ends_moved = w->shape->width && (parts || (sorted && map));
	const uint64_t key_bytes = w->shape->key_bits / 8;
	struct rql_span point = part_of(sorted || parts ? w->sorted_point : w->point, first * key_bytes);
	struct rql_span end = part_of(ends_moved ? w->sorted_end : w->end, first * key_bytes);
	struct rql_span rows = part_of(w->row_out, first * 4), sums = part_of(w->sum_out, first * 8);
	if (parts)
		*(w->sum_out.buffer ? &sums : &rows) = w->moved_out;
	struct rql_span places = sorted ? w->places : (struct rql_span){NULL, 0};
	if (r->form->kind == RQL_RX_KIND_RX) {
		const struct rql_rx_lookup l = {.rx = r->rx, .form = w->shape->width ? RQL_KEY_OFFSET : r->form->ray,
		                                .hits = r->form->hits, .count = count, .points = point, .ends = end,
		                                .places = places, .rows = rows, .sums = sums, .value_bits = 32,
		                                .values = w->value, .state = w->state, .tally = r->tally};
		return rql_record_rx(c, &l, err);
	}
	if (r->nodes) {
		const struct rql_cgrx_nodes_lookup l = {.nodes = r->nodes, .count = count, .points = point, .ends = end,
		                                        .places = places, .rows = rows, .sums = sums, .value_bits = 32,
		                                        .value_count = w->keys, .values = w->value, .state = w->state,
		                                        .tally = r->tally};
		return rql_record_cgrx_nodes(c, &l, err);
	}
	if (!map) {
		const struct rql_cgrx_lookup l = {.cgrx = r->cgrx, .run = r->form->run, .count = count, .points = point,
		                                  .ends = end, .places = places, .rows = rows, .sums = sums,
		                                  .value_bits = 32, .values = w->value, .state = w->state, .tally = r->tally};
		return rql_record_cgrx(c, &l, err);
	}
	const struct rql_lookup_batch l = map_lookup(r, point, end, sorted ? w->moved_out : rows.buffer ? rows : sums, count);
	return rql_record_lookup(c, &l, err);
}

static rql_status record_sort(struct running *r, struct rql_commands *c, struct rql_error *err)
{
	struct rql_rx_world *w = r->w;
	const struct rql_sort sort = {.key_bits = w->shape->key_bits, .value_bits = 32, .high_bit = w->bits,
	                              .count = w->probes, .keys_in = w->point, .keys_out = w->sorted_point,
	                              .values_out = w->places, .temp = w->temp};
	RQL_TRY(rql_record_sort(c, &sort, err));
	struct rql_rx_bench_args args = {.keys = w->data.ends, .places = w->places.buffer->address, .rows = w->probes};
	if (!w->shape->width || r->form->kind != RQL_RX_KIND_MAP)
		return RQL_OK;
	args.out_items = w->sorted_end.buffer->address;
	return rql_rx_record_data(w, c, "ends", RQL_RX_BENCH_FETCH, &args, err);
}

static rql_status record(struct rql_relation_case *base, struct rql_commands *c, struct rql_error *err)
{
	struct running *r = base->state;
	struct rql_rx_world *w = r->w;
	uint64_t batches = UINT64_C(1) << w->shape->log2_batches, each = w->probes / batches;
	const bool parts = w->shape->partitioned && r->form->kind != RQL_RX_KIND_MAP;
	if (r->form->inverse)
		return record_inverse(r, c, err);
	if (w->shape->sorted)
		RQL_TRY(record_sort(r, c, err));
	if (parts)
		RQL_TRY(rql_record_partition(c, &w->partition, err));
	if (!each) {
		batches = 1;
		each = w->probes;
	}
	for (uint64_t i = 0; i < batches; i++)
		RQL_TRY(record_batch(r, c, i * each, each, err));
	const bool sums = w->sum_out.buffer != NULL;
	if (parts)
		return rql_record_unpartition(c, &w->partition, sums ? 64 : 32, &w->moved_out, sums ? &w->sum_out : &w->row_out,
		                              err);
	if (!w->shape->sorted || r->form->kind != RQL_RX_KIND_MAP)
		return RQL_OK;
	const struct rql_rx_bench_args args = {.keys = w->moved_out.buffer->address, .rows = w->probes,
	                                       .places = w->places.buffer->address, .width = sums ? 64 : 32,
	                                       .out_items = (sums ? w->sum_out : w->row_out).buffer->address};
	return rql_rx_record_data(w, c, "put back", RQL_RX_BENCH_MOVE, &args, err);
}

/* ---- checks and reports ---- */

static rql_status check(struct rql_relation_bench *b, struct rql_relation_case *base, bool *good, struct rql_error *err)
{
	struct running *r = base->state;
	uint64_t *results = rql_relation_results(b);
	memset(results, 0, RQL_RELATION_RESULTS * 8);
	RQL_TRY(rql_rx_run_data(r->w, RQL_RX_BENCH_CHECK, &r->w->data, err));
	*good = results[0] == 0;
	r->w->present = results[1];
	const struct rql_span out = r->w->sum_out.buffer ? r->w->sum_out : r->w->row_out;
	return rql_relation_fill(b, out.buffer, 0, out.buffer->bytes / 4 * 4, 0xdeadbeefu, err);
}

/* A run more, which counts rays and hits. */
static rql_status count_rays(struct running *r, struct rql_error *err)
{
	struct rql_commands *c;
	uint64_t state[RQL_RX_STATE_WORDS];
	if (r->form->kind == RQL_RX_KIND_MAP)
		return RQL_OK;
	r->tally = true;
	RQL_TRY(rql_commands_new(r->w->b->device, 0, &c, err));
	RQL_TRY(rql_commands_finish(c, record(&r->base, c, err), NULL, NULL, err));
	RQL_TRY(rql_buffer_download(r->w->state.buffer, 0, state, sizeof(state), err));
	const uint64_t batches = UINT64_C(1) << r->w->shape->log2_batches; /* the state is the last one's */
	r->rays = state[1] * batches;
	r->hits = state[2] * batches;
	if (state[0])
		return rql_error_set(err, RQL_ERROR_INTERNAL, "%llu probes were refused", (unsigned long long)state[0]);
	return RQL_OK;
}

/* Bytes that rays read of a structure: of sorted probes each once at most, else what does not lie in 72 MB of second-level
 * cache, 405 bytes a ray: RX's Table 7, 54.31 GB for 2^27 rays in 2.78 GB. */
static double predicted_ms(const struct running *r)
{
	const double bytes = (double)r->bytes, cache = 72e6, outside = bytes > cache ? 1 - cache / bytes : 0;
	double read = 405.0 * (double)r->rays * outside;
	if ((r->w->shape->sorted || r->w->shape->partitioned) && read > bytes)
		read = bytes;
	const bool any_hit = r->form->kind == RQL_RX_KIND_RX && r->form->hits == RQL_RX_ALL;
	const struct rql_flat_query q = {.rays = r->rays, .hits = any_hit ? r->hits : 0,
	                                 .bytes_read = (uint64_t)read + r->w->probes * 12};
	return rql_predict_us(&rql_cards[0], &q) / 1e3;
}

static void report(struct running *r, bool first)
{
	const struct rql_rx_shape *s = r->w->shape;
	struct rql_strbuf *j = &r->w->b->json;
	const bool rays = r->form->kind != RQL_RX_KIND_MAP;
	printf("  %.1f bytes a key, built in %.1f ms", (double)r->bytes / (double)r->w->keys, r->build_ms);
	if (r->cgrx)
		printf(", %.2f of them to find representatives", r->cgrx->find_ms);
	if (r->refit_ms > 0)
		printf(", refitted in %.1f", r->refit_ms);
	if (r->updated)
		printf(", %llu entries updated in %.2f %s", (unsigned long long)r->updated, r->update_ms,
		       r->rebuilt ? "by a build" : "in place");
	if (rays)
		printf(", %.3f rays and %.3f hits a probe, RTX 4090 predicted %.1f ms", (double)r->rays / (double)r->w->probes,
		       (double)r->hits / (double)r->w->probes, predicted_ms(r));
	if (first && s->paper_ms > 0)
		printf(", published %.1f", s->paper_ms);
	printf("\n");
	rql_strbuf_put(j, ",\n  {");
	rql_json_string(j, "case", r->base.name);
	rql_json_string(j, "variant", r->form->name);
	rql_json_string(j, "what", "structure");
	rql_json_number(j, "bytes_a_key", (double)r->bytes / (double)r->w->keys);
	rql_json_number(j, "build_ms", r->build_ms);
	if (r->cgrx)
		rql_json_number(j, "find_representatives_ms", r->cgrx->find_ms);
	rql_json_number(j, "refit_ms", r->refit_ms);
	rql_json_number(j, "update_ms", r->update_ms);
	rql_json_count(j, "updated", r->updated);
	rql_json_count(j, "rebuilt", r->rebuilt);
	rql_json_count(j, "keys", r->w->keys);
	rql_json_count(j, "probes", r->w->probes);
	rql_json_count(j, "probes_found", r->w->present);
	rql_json_count(j, "rays", r->rays);
	rql_json_count(j, "hits", r->hits);
	if (rays)
		rql_json_number(j, "predicted_rtx4090_ms", predicted_ms(r));
	if (first && s->paper_ms > 0)
		rql_json_number(j, "published_rtx4090_ms", s->paper_ms);
	rql_strbuf_put(j, "}");
}

static rql_status run_form(struct running *r, bool first, struct rql_error *err)
{
	const struct rql_relation_variant variant = {.name = r->form->name};
	RQL_TRY(r->form->kind == RQL_RX_KIND_RX     ? build_rx(r, err)
	        : r->form->inverse                  ? build_inverse(r, err)
	        : r->form->kind == RQL_RX_KIND_CGRX ? build_cgrx(r, err)
	                                            : build_map(r, err));
	RQL_TRY(refit(r, err));
	RQL_TRY(update_nodes(r, err));
	RQL_TRY(rql_relation_measure(r->w->b, &r->base, &variant, err));
	RQL_TRY(count_rays(r, err));
	report(r, first);
	return RQL_OK;
}

/* What does not fit a form is said and left out. */
static rql_status try_form(struct running *r, bool first, struct rql_error *err)
{
	struct rql_error why = {0};
	rql_status status = run_form(r, first, &why);
	rql_rx_free(r->rx);
	rql_cgrx_free(r->cgrx);
	rql_cgrx_nodes_free(r->nodes);
	if (status == RQL_ERROR_UNSUPPORTED || status == RQL_ERROR_LIMIT) {
		printf("%-44s %-26s left out: %s\n", r->base.name, r->form->name, rql_error_message(&why));
		rql_error_clear(&why);
		return RQL_OK;
	}
	rql_error_move(err, &why);
	return status;
}

rql_status rql_rx_shape_run(struct rql_relation_bench *b, const struct rql_rx_shape *shape, struct rql_error *err)
{
	struct rql_rx_world world;
	if (!rql_relation_wanted(b, shape->name))
		return RQL_OK;
	if (b->device->kind == RQL_DEVICE_CPU)
		return rql_lookup_cpu_run(b, shape, err);
	RQL_TRY(rql_rx_world_new(b, shape, &world, err));
	const uint32_t buffers = b->buffer_count;
	for (uint32_t f = 0; shape->forms[f]; f++) {
		if (!rql_relation_form_wanted(b, shape->forms[f]->name))
			continue;
		struct running r = {.w = &world, .form = shape->forms[f]};
		r.base = (struct rql_relation_case){.record = record, .check = check, .state = &r};
		r.base.floor_bytes = (double)world.probes * (shape->key_bits / 8 * (shape->width ? 2 : 1) +
		                                             (world.sum_out.buffer ? 8 : 4));
		snprintf(r.base.name, sizeof(r.base.name), "%s", shape->name);
		RQL_TRY(try_form(&r, f == 0, err));
		rql_relation_drop_to(b, buffers);
	}
	if (shape->paper)
		printf("  the paper: %s\n", shape->paper);
	rql_relation_drop(b);
	return RQL_OK;
}

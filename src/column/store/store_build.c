/* Building a store: each worker encodes its rows into blocks of its own as they come, with codes of its own
 * dictionaries; at the end these are merged, the blocks put in order (store_order.c) and the codes rewritten.
 *
 * An integer column whose coding is left to the data is encoded as values, while a dictionary counts how many there
 * are: when few values lie far apart, the dictionary's codes are the smaller, and the blocks are recoded. */
#include "column/store/store_internal.h"

#include <stdlib.h>

#define WORKERS 1024u
#define PROBE_MOST 65536u  /* values that a probing dictionary may hold */
#define PROBE_EARLY 65536u /* rows, from which on it must be worth it: a value in PROBE_SHARE rows at most */
#define PROBE_SHARE 8u

struct lane { /* a worker's column */
	struct rql_dict dict;
	bool coding; /* the rows are codes of dict */
	bool probing;
	uint32_t *remap; /* finish: the store's code of dict's */
	struct rql_store_rows *rows;
	struct rql_store_sink *sinks; /* [segment_capacity of the worker] */
	_Atomic uint64_t *left;       /* finish: [segments]: rows that are not yet in the store */
};
struct worker {
	struct lane *lanes;
	uint32_t *codes;                     /* [RQL_DICT_SLICE] */
	uint32_t segments, segment_capacity; /* the last is being filled; all blocks but the last one are full */
	struct rql_store_track track;
	uint64_t rows;
};
struct rql_store_builder {
	struct rql_store_schema *schema;
	struct rql_mem mem;
	struct rql_crew crew;
	struct worker *workers[WORKERS]; /* finish: compacted */
	uint32_t worker_count;
	bool *by_data; /* [column_count] */
	struct rql_store_dictionary **dictionaries;
	struct rql_store_order order;
	struct rql_store_piece **pieces;
	uint32_t piece_count;
	uint64_t rows;
};

/* ---- a builder ---- */

rql_status rql_store_builder_new(const struct rql_store_spec *spec, struct rql_store_builder **out,
                                 struct rql_error *err)
{
	struct rql_store_builder *builder = calloc(1, sizeof(*builder));
	if (!builder)
		return rql_error_memory(err, sizeof(*builder), "a column store");
	rql_mem_init(&builder->mem, spec->budget, "building columns");
	rql_status status = rql_store_schema_new(spec, &builder->schema, err);
	if (status == RQL_OK) {
		builder->mem.what = builder->schema->name;
		builder->crew = (struct rql_crew){.mem = &builder->mem, .pool = spec->pool, .progress = spec->progress};
		status = RQL_MEM_ZARRAY(&builder->mem, builder->by_data, spec->column_count, err);
	}
	if (status == RQL_OK)
		status = RQL_MEM_ZARRAY(&builder->mem, builder->dictionaries, spec->column_count, err);
	if (status != RQL_OK) {
		rql_store_builder_abort(builder);
		return status;
	}
	for (uint32_t c = 0; c < spec->column_count; c++) {
		unsigned bytes = rql_type_bytes(spec->columns[c].type);
		builder->by_data[c] = spec->columns[c].coding == RQL_STORE_BY_DATA && bytes >= 2 &&
		                      builder->schema->columns[c].kind == RQL_STORE_INTEGER &&
		                      !rql_store_type_wide(spec->columns[c].type);
	}
	rql_crew_phase(&builder->crew, "reading", 0);
	*out = builder;
	return RQL_OK;
}

void rql_store_builder_abort(struct rql_store_builder *builder)
{
	if (!builder)
		return;
	for (uint32_t p = 0; p < builder->piece_count; p++)
		rql_store_piece_release(builder->pieces[p]);
	for (uint32_t c = 0; builder->dictionaries && c < builder->schema->column_count; c++)
		rql_store_dictionary_release(builder->dictionaries[c]);
	rql_mem_clear(&builder->mem);
	rql_store_schema_release(builder->schema);
	free(builder);
}

/* ---- rows come in ---- */

static rql_status new_worker(struct rql_store_builder *builder, struct worker **out, struct rql_error *err)
{
	struct rql_mem *mem = &builder->mem;
	const struct rql_store_schema *schema = builder->schema;
	struct worker *worker;
	RQL_TRY(RQL_MEM_ZARRAY(mem, worker, 1, err));
	RQL_TRY(RQL_MEM_ZARRAY(mem, worker->lanes, schema->column_count, err));
	RQL_TRY(RQL_MEM_ARRAY(mem, worker->codes, RQL_DICT_SLICE, err));
	for (uint32_t c = 0; c < schema->column_count; c++) {
		struct lane *lane = &worker->lanes[c];
		lane->coding = schema->columns[c].kind == RQL_STORE_CODED;
		lane->probing = builder->by_data[c];
		rql_dict_init(&lane->dict, schema->columns[c].type);
		RQL_TRY(RQL_MEM_ARRAY(mem, lane->rows, 1, err));
		rql_store_rows_clear(lane->rows, schema->columns[c].type, schema->columns[c].kind);
	}
	*out = worker;
	return RQL_OK;
}

/* Makes room for one more segment in every lane. */
static rql_status new_segment(struct rql_store_builder *builder, struct worker *worker, struct rql_error *err)
{
	if (worker->segments == worker->segment_capacity) {
		uint32_t capacity = worker->segment_capacity ? worker->segment_capacity * 2 : 1;
		for (uint32_t c = 0; c < builder->schema->column_count; c++) {
			struct rql_store_sink *sinks;
			RQL_TRY(RQL_MEM_ZARRAY(&builder->mem, sinks, capacity, err));
			for (uint32_t s = 0; s < capacity; s++)
				sinks[s] =
					s < worker->segments ? worker->lanes[c].sinks[s] : (struct rql_store_sink){.mem = &builder->mem};
			rql_mem_free(&builder->mem, worker->lanes[c].sinks);
			worker->lanes[c].sinks = sinks;
		}
		worker->segment_capacity = capacity;
	}
	worker->segments++;
	return RQL_OK;
}

/* The rows of all lanes become a block. */
static rql_status flush(struct rql_store_builder *builder, struct worker *worker, struct rql_error *err)
{
	const struct rql_store_schema *schema = builder->schema;
	if (!schema->column_count || !worker->lanes[0].rows->rows)
		return RQL_OK;
	if (!worker->segments || worker->lanes[0].sinks[worker->segments - 1].block_count == RQL_STORE_SEGMENT)
		RQL_TRY(new_segment(builder, worker, err));
	for (uint32_t c = 0; c < schema->column_count; c++) {
		struct lane *lane = &worker->lanes[c];
		const struct rql_store_schema_column *column = &schema->columns[c];
		/* Local codes will be rewritten: what is quickest. */
		enum rql_store_encoding encoding = lane->coding ? RQL_STORE_PACKED : column->encoding;
		RQL_TRY(rql_store_encode(&lane->sinks[worker->segments - 1], column->type, column->kind, RQL_STORE_NONE,
		                         encoding, lane->rows, err));
		rql_store_rows_clear(lane->rows, column->type, column->kind);
	}
	return RQL_OK;
}

/* Counts values as long as a dictionary may still pay. */
static rql_status probe(struct rql_store_builder *builder, struct worker *worker, struct lane *lane,
                        const struct rql_column *column, uint64_t first, uint32_t count, struct rql_error *err)
{
	RQL_TRY(rql_dict_encode(&lane->dict, &builder->mem, column, first, count, worker->codes, err));
	if (lane->dict.count <= PROBE_MOST &&
	    (worker->rows < PROBE_EARLY || lane->dict.count <= worker->rows / PROBE_SHARE))
		return RQL_OK;
	rql_dict_free(&lane->dict, &builder->mem);
	lane->probing = false;
	return RQL_OK;
}

static rql_status add_slice(struct rql_store_builder *builder, struct worker *worker, const struct rql_batch *rows,
                            uint64_t first, uint32_t count, struct rql_error *err)
{
	for (uint32_t c = 0; c < builder->schema->column_count; c++) {
		struct lane *lane = &worker->lanes[c];
		const struct rql_column *column = &rows->columns[c];
		if (lane->coding) {
			RQL_TRY(rql_dict_encode(&lane->dict, &builder->mem, column, first, count, worker->codes, err));
			rql_store_stage_codes(lane->rows, worker->codes, count);
			continue;
		}
		rql_store_stage(lane->rows, column, first, count);
		if (lane->probing)
			RQL_TRY(probe(builder, worker, lane, column, first, count, err));
	}
	worker->rows += count;
	return RQL_OK;
}

rql_status rql_store_builder_add(struct rql_store_builder *builder, unsigned index, const struct rql_batch *rows,
                                 const int64_t *positions, struct rql_error *err)
{
	if (index >= WORKERS)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "%s: worker %u, at most %u are possible", builder->schema->name,
		                     index, WORKERS - 1);
	RQL_TRY(rql_store_check_batch(builder->schema, rows, err));
	if (rql_crew_cancelled(&builder->crew))
		return rql_crew_interrupted(err);
	if (!builder->schema->column_count || !rows->rows)
		return RQL_OK;
	if (!builder->workers[index])
		RQL_TRY(new_worker(builder, &builder->workers[index], err));
	struct worker *worker = builder->workers[index];
	RQL_TRY(rql_store_track_add(&worker->track, &builder->mem, worker->rows, positions, rows->rows, err));
	for (uint64_t first = 0; first < rows->rows;) {
		uint32_t room = RQL_STORE_BLOCK - worker->lanes[0].rows->rows;
		room = room < RQL_DICT_SLICE ? room : RQL_DICT_SLICE;
		uint32_t count = rows->rows - first < room ? (uint32_t)(rows->rows - first) : room;
		RQL_TRY(add_slice(builder, worker, rows, first, count, err));
		if (worker->lanes[0].rows->rows == RQL_STORE_BLOCK)
			RQL_TRY(flush(builder, worker, err));
		first += count;
	}
	rql_crew_advance(&builder->crew, rows->rows);
	return RQL_OK;
}

/* ---- dictionaries ---- */

/* Bytes of the values' blocks against those that codes of `count` values would take, dictionary included. */
static bool codes_pay(const struct rql_store_builder *builder, uint32_t column, uint64_t count)
{
	uint64_t values = 0, codes = count * rql_type_bytes(builder->schema->columns[column].type);
	uint32_t bits = rql_bits_for(count ? count - 1 : 0);
	for (uint32_t w = 0; w < builder->worker_count; w++) {
		const struct worker *worker = builder->workers[w];
		if (!worker->lanes[column].probing)
			return false;
		for (uint32_t s = 0; s < worker->segments; s++)
			values += worker->lanes[column].sinks[s].size;
		codes += worker->rows / 8 * bits;
	}
	return codes + codes / 4 < values;
}

static rql_status merge_dictionaries(struct rql_store_builder *builder, uint32_t c, struct rql_error *err)
{
	struct rql_mem *mem = &builder->mem;
	struct rql_dict **dicts;
	uint32_t **remaps;
	RQL_TRY(RQL_MEM_ARRAY(mem, dicts, builder->worker_count, err));
	RQL_TRY(RQL_MEM_ZARRAY(mem, remaps, builder->worker_count, err));
	for (uint32_t w = 0; w < builder->worker_count; w++)
		dicts[w] = &builder->workers[w]->lanes[c].dict;
	RQL_TRY(rql_store_dictionary_new(builder->schema, &builder->dictionaries[c], err));
	struct rql_store_dictionary *dictionary = builder->dictionaries[c];
	const struct rql_dict_merge merge = {.crew = &builder->crew,
	                                     .type = builder->schema->columns[c].type,
	                                     .dict_count = builder->worker_count,
	                                     .dicts = dicts,
	                                     .mem = &dictionary->mem,
	                                     .arena = dictionary->arena};
	RQL_TRY(rql_dict_merge(&merge, remaps, &dictionary->dimension, err));
	dictionary->dimension.watch = &dictionary->watch;
	for (uint32_t w = 0; w < builder->worker_count; w++) {
		struct lane *lane = &builder->workers[w]->lanes[c];
		lane->remap = remaps[w];
		if (lane->coding) /* one that probed still finds the codes of values */
			rql_dict_free(&lane->dict, mem);
	}
	rql_mem_free(mem, dicts);
	rql_mem_free(mem, remaps);
	return RQL_OK;
}

static rql_status settle_codings(struct rql_store_builder *builder, struct rql_error *err)
{
	for (uint32_t c = 0; c < builder->schema->column_count; c++) {
		if (builder->by_data[c]) {
			uint64_t least = 0;
			for (uint32_t w = 0; w < builder->worker_count; w++) {
				const struct rql_dict *dict = &builder->workers[w]->lanes[c].dict;
				least = dict->count > least ? dict->count : least;
			}
			if (!codes_pay(builder, c, least)) {
				for (uint32_t w = 0; w < builder->worker_count; w++)
					rql_dict_free(&builder->workers[w]->lanes[c].dict, &builder->mem);
				continue;
			}
			builder->schema->columns[c].kind = RQL_STORE_CODED;
		}
		if (builder->schema->columns[c].kind == RQL_STORE_CODED)
			RQL_TRY(merge_dictionaries(builder, c, err));
	}
	return RQL_OK;
}

/* ---- pieces ---- */

struct finish {
	struct rql_store_builder *builder;
	const struct rql_store_kernels *kernels;
	rql_status *status; /* [column * segment] */
	struct rql_error *errors;
};
struct gather { /* a job's buffers */
	struct rql_store_rows from, to;
	uint32_t codes[RQL_STORE_BLOCK];
	uint64_t native[RQL_STORE_BLOCK];
};

static struct rql_store_sink *sink_of(const struct rql_store_builder *builder, uint32_t c,
                                      const struct rql_store_cut *cut)
{
	return &builder->workers[cut->worker]->lanes[c].sinks[cut->block / RQL_STORE_SEGMENT];
}

/* Codes of a block that holds values: through the worker's dictionary, which knows all of them. */
static rql_status code_values(struct rql_store_builder *builder, struct lane *lane, struct rql_type type,
                              struct gather *g, struct rql_error *err)
{
	struct rql_column column = {
		.type = type, .data = g->native, .validity = g->from.has_null ? g->from.validity : NULL};
	rql_store_unstage(type, (const int64_t *)g->from.words, g->from.rows, g->native);
	for (uint32_t first = 0; first < g->from.rows; first += RQL_DICT_SLICE) {
		uint32_t count = g->from.rows - first < RQL_DICT_SLICE ? g->from.rows - first : RQL_DICT_SLICE;
		RQL_TRY(rql_dict_encode(&lane->dict, &builder->mem, &column, first, count, g->codes + first, err));
	}
	return RQL_OK;
}

/* The cut's rows, coded as the store's, go behind those in g->to. */
static rql_status load_cut(const struct finish *finish, uint32_t c, const struct rql_store_cut *cut, struct gather *g,
                           struct rql_error *err)
{
	struct rql_store_builder *builder = finish->builder;
	struct lane *lane = &builder->workers[cut->worker]->lanes[c];
	const struct rql_store_sink *sink = sink_of(builder, c, cut);
	const struct rql_store_schema_column *column = &builder->schema->columns[c];
	uint32_t block = cut->block % RQL_STORE_SEGMENT, rows = sink->blocks[block].rows;
	bool coded = builder->dictionaries[c] != NULL;
	const struct rql_store_view view = {.blocks = sink->blocks,
	                                    .bytes = sink->data,
	                                    .type = column->type,
	                                    .kind = !coded         ? column->kind
	                                            : lane->coding ? RQL_STORE_CODED
	                                                           : RQL_STORE_INTEGER};
	if (lane->coding) {
		rql_store_decode_codes(finish->kernels, &view, block, 0, rows, g->codes);
	} else {
		rql_store_rows_load(finish->kernels, &view, block, &g->from);
		if (!coded) {
			rql_store_rows_append(&g->to, &g->from, cut->first, cut->rows);
			return RQL_OK;
		}
		RQL_TRY(code_values(builder, lane, column->type, g, err));
	}
	finish->kernels->translate(g->codes, rows, lane->remap);
	rql_store_stage_codes(&g->to, g->codes + cut->first, cut->rows);
	return RQL_OK;
}

/* The rows that were gathered become a block. */
static rql_status flush_gathered(const struct finish *finish, uint32_t c, struct gather *g, struct rql_store_sink *out,
                                 struct rql_error *err)
{
	const struct rql_store_schema_column *column = &finish->builder->schema->columns[c];
	const struct rql_store_dictionary *dictionary = finish->builder->dictionaries[c];
	uint32_t null_code =
		dictionary && dictionary->dimension.has_null ? dictionary->dimension.count - 1 : RQL_STORE_NONE;
	if (g->to.rows)
		RQL_TRY(rql_store_encode(out, column->type, column->kind, null_code, column->encoding, &g->to, err));
	rql_store_rows_clear(&g->to, column->type, column->kind);
	return RQL_OK;
}

static rql_status fill_sink(const struct finish *finish, uint32_t c, uint32_t segment, struct gather *g,
                            struct rql_store_sink *out, struct rql_error *err)
{
	struct rql_store_builder *builder = finish->builder;
	const struct rql_store_order *order = &builder->order;
	RQL_TRY(flush_gathered(finish, c, g, out, err)); /* an empty one */
	for (uint64_t i = order->segments[segment], end = order->segments[segment + 1]; i < end; i++) {
		const struct rql_store_cut *cut = &order->cuts[i];
		struct rql_store_sink *sink = sink_of(builder, c, cut);
		uint32_t block = cut->block % RQL_STORE_SEGMENT;
		bool alone = cut->starts && (i + 1 == end || cut[1].starts) && cut->rows == sink->blocks[block].rows;
		if (rql_crew_cancelled(&builder->crew))
			return rql_crew_interrupted(err);
		if (cut->starts)
			RQL_TRY(flush_gathered(finish, c, g, out, err));
		if (alone && !builder->dictionaries[c])
			RQL_TRY(rql_store_sink_copy(out, sink, block, err));
		else
			RQL_TRY(load_cut(finish, c, cut, g, err));
		_Atomic uint64_t *left = &builder->workers[cut->worker]->lanes[c].left[cut->block / RQL_STORE_SEGMENT];
		if (atomic_fetch_sub(left, cut->rows) == cut->rows)
			rql_store_sink_free(sink);
	}
	return flush_gathered(finish, c, g, out, err);
}

static rql_status finish_part(const struct finish *finish, uint32_t c, uint32_t segment, struct rql_error *err)
{
	struct rql_store_builder *builder = finish->builder;
	const struct rql_store_dictionary *dictionary = builder->dictionaries[c];
	struct rql_store_piece *piece = builder->pieces[segment];
	struct rql_store_part *part = &piece->parts[c];
	struct rql_store_sink out = {.mem = &builder->mem};
	struct gather *g;
	RQL_TRY(RQL_MEM_ZARRAY(&builder->mem, g, 1, err));
	RQL_TRY(fill_sink(finish, c, segment, g, &out, err));
	RQL_TRY(rql_store_piece_take(piece, c, &out, err));
	part->null_code = RQL_STORE_NONE;
	if (dictionary) {
		part->stored_codes = dictionary->dimension.count;
		if (dictionary->dimension.has_null)
			part->null_code = dictionary->dimension.count - 1;
	}
	rql_store_sink_free(&out);
	rql_mem_free(&builder->mem, g);
	return RQL_OK;
}

/* Column by column: what it was made of is then freed as its segments are done. */
static void finish_job(void *state, uint64_t index, unsigned thread)
{
	(void)thread;
	struct finish *finish = state;
	struct rql_store_builder *builder = finish->builder;
	uint32_t c = (uint32_t)(index / builder->piece_count), segment = (uint32_t)(index % builder->piece_count);
	finish->status[index] = finish_part(finish, c, segment, &finish->errors[index]);
	rql_crew_advance(&builder->crew, builder->rows / builder->schema->column_count / builder->piece_count);
}

static rql_status note_left(struct rql_store_builder *builder, const struct worker *worker, struct rql_error *err)
{
	for (uint32_t c = 0; c < builder->schema->column_count; c++) {
		struct lane *lane = &worker->lanes[c];
		RQL_TRY(RQL_MEM_ZARRAY(&builder->mem, lane->left, worker->segments, err));
		for (uint32_t s = 0; s < worker->segments; s++)
			for (uint32_t b = 0; b < lane->sinks[s].block_count; b++)
				lane->left[s] += lane->sinks[s].blocks[b].rows;
	}
	return RQL_OK;
}

static rql_status make_pieces(struct rql_store_builder *builder, struct rql_error *err)
{
	struct rql_store_delivery *deliveries;
	RQL_TRY(RQL_MEM_ARRAY(&builder->mem, deliveries, builder->worker_count, err));
	for (uint32_t w = 0; w < builder->worker_count; w++) {
		const struct worker *worker = builder->workers[w];
		deliveries[w] = (struct rql_store_delivery){.track = &worker->track, .rows = worker->rows};
		RQL_TRY(note_left(builder, worker, err));
	}
	RQL_TRY(rql_store_order_make(deliveries, builder->worker_count, &builder->mem, &builder->order, err));
	builder->schema->ordered = builder->order.ordered;
	rql_mem_free(&builder->mem, deliveries);
	RQL_TRY(RQL_MEM_ZARRAY(&builder->mem, builder->pieces, builder->order.segment_count, err));
	for (; builder->piece_count < builder->order.segment_count; builder->piece_count++)
		RQL_TRY(rql_store_piece_new(builder->schema, &builder->pieces[builder->piece_count], err));
	return RQL_OK;
}

static rql_status fill_pieces(struct rql_store_builder *builder, struct rql_error *err)
{
	struct finish finish = {.builder = builder, .kernels = rql_store_kernels_for(RQL_SIMD_AVX512)};
	rql_status status = RQL_OK;
	RQL_TRY(make_pieces(builder, err));
	uint64_t jobs = (uint64_t)builder->piece_count * builder->schema->column_count;
	RQL_TRY(RQL_MEM_ZARRAY(&builder->mem, finish.status, jobs, err));
	RQL_TRY(RQL_MEM_ZARRAY(&builder->mem, finish.errors, jobs, err));
	rql_crew_run(&builder->crew, jobs, finish_job, &finish);
	for (uint64_t j = 0; j < jobs; j++) {
		if (finish.status[j] != RQL_OK && status == RQL_OK) {
			status = finish.status[j];
			if (err)
				rql_error_move(err, &finish.errors[j]);
		}
		rql_error_clear(&finish.errors[j]);
	}
	for (uint32_t p = 0; p < builder->piece_count && status == RQL_OK; p++)
		rql_store_piece_settle(builder->pieces[p], builder->schema);
	return status;
}

/* They make queries faster, no more: a build does not fail for want of memory for them. */
static rql_status find_dependencies(struct rql_store_builder *builder, struct rql_store_state *state,
                                    struct rql_error *err)
{
	struct rql_store_dependencies *found;
	struct rql_error why = {0};
	rql_crew_phase(&builder->crew, "comparing", builder->rows);
	rql_status status =
		rql_store_dependencies_find(&state->snapshot, builder->schema, &builder->crew, &found, &why);
	if (status == RQL_OK) {
		rql_store_state_relate(state, found);
		rql_store_dependencies_release(found);
	} else if (status == RQL_ERROR_INTERRUPTED) {
		rql_error_move(err, &why);
		return status;
	}
	rql_error_clear(&why);
	return RQL_OK;
}

static rql_status run_stages(struct rql_store_builder *builder, struct rql_store **out, struct rql_error *err)
{
	struct rql_store_state *state;
	if (rql_crew_cancelled(&builder->crew))
		return rql_crew_interrupted(err);
	for (uint32_t w = 0; w < WORKERS; w++) {
		struct worker *worker = builder->workers[w];
		if (!worker)
			continue;
		RQL_TRY(flush(builder, worker, err));
		for (uint32_t c = 0; c < builder->schema->column_count; c++)
			rql_mem_free(&builder->mem, worker->lanes[c].rows);
		builder->rows += worker->rows;
		builder->workers[builder->worker_count++] = worker;
	}
	rql_crew_phase(&builder->crew, "encoding", builder->rows);
	RQL_TRY(settle_codings(builder, err));
	RQL_TRY(fill_pieces(builder, err));
	RQL_TRY(rql_store_state_new(builder->schema, builder->piece_count, builder->pieces, builder->dictionaries, NULL,
	                            &state, err));
	rql_status status = find_dependencies(builder, state, err);
	if (status == RQL_OK)
		status = rql_store_new(state, out, err);
	if (status != RQL_OK)
		rql_store_snapshot_release(&state->snapshot);
	return status;
}

rql_status rql_store_builder_finish(struct rql_store_builder *builder, struct rql_store **out, struct rql_error *err)
{
	rql_status status = run_stages(builder, out, err);
	rql_crew_phase(&builder->crew, NULL, 0);
	rql_store_builder_abort(builder);
	return status;
}

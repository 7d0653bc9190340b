/* What a store is made of, and who holds it: schema, pieces (segments' memory), dictionaries and maps are immutable
 * once they are shared, and live as long as a snapshot does that refers to them. */
#include "column/store/store_internal.h"

#include <stdlib.h>

#define RETAIN(object) atomic_fetch_add_explicit(&(object)->references, 1, memory_order_relaxed)
/* Was it the last? */
#define DROP(object) (atomic_fetch_sub_explicit(&(object)->references, 1, memory_order_acq_rel) == 1)

/* ---- schema ---- */

static rql_status check_column(const struct rql_store_spec *spec, const struct rql_store_column_spec *column,
                               struct rql_store_schema_column *out, struct rql_error *err)
{
	bool coded_only;
	if (!rql_store_kind_of(column->type, &out->kind, &coded_only)) {
		struct rql_strbuf text = {0};
		rql_type_print(&text, column->type);
		rql_status status = rql_error_set(err, RQL_ERROR_UNSUPPORTED,
		                                  "columns %s: column %s of type %s cannot be held as compressed columns; "
		                                  "leave it out, or cast it to VARCHAR in a table of its own",
		                                  spec->name, column->name, rql_strbuf_text(&text));
		rql_strbuf_free(&text);
		return status;
	}
	if (coded_only && column->coding == RQL_STORE_VALUES)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "columns %s: column %s of type %s needs a dictionary",
		                     spec->name, column->name, rql_type_id_name(column->type.id));
	if (column->coding == RQL_STORE_CODES)
		out->kind = RQL_STORE_CODED;
	out->encoding = column->encoding;
	return RQL_OK;
}

rql_status rql_store_schema_new(const struct rql_store_spec *spec, struct rql_store_schema **out, struct rql_error *err)
{
	struct rql_store_schema *schema = calloc(1, sizeof(*schema));
	rql_status status = RQL_OK;
	if (!schema || !(schema->arena = rql_arena_new()))
		goto memory;
	atomic_init(&schema->references, 1);
	schema->budget = spec->budget;
	schema->column_count = spec->column_count;
	schema->name = rql_arena_printf(schema->arena, "building columns %s", spec->name);
	schema->columns = RQL_NEW_ARRAY(schema->arena, struct rql_store_schema_column, spec->column_count);
	if (!schema->name || !schema->columns)
		goto memory;
	for (uint32_t c = 0; c < spec->column_count && status == RQL_OK; c++) {
		status = check_column(spec, &spec->columns[c], &schema->columns[c], err);
		schema->columns[c].type = rql_type_copy(schema->arena, spec->columns[c].type);
		schema->columns[c].name = rql_arena_strdup(schema->arena, spec->columns[c].name);
		if (status == RQL_OK && (!schema->columns[c].name || schema->columns[c].type.id != spec->columns[c].type.id))
			goto memory;
	}
	if (status == RQL_OK)
		*out = schema;
	else
		rql_store_schema_release(schema);
	return status;
memory:
	if (schema)
		rql_arena_free(schema->arena);
	free(schema);
	return rql_error_memory(err, sizeof(*schema), "a column store");
}

struct rql_store_schema *rql_store_schema_retain(struct rql_store_schema *schema)
{
	RETAIN(schema);
	return schema;
}

void rql_store_schema_release(struct rql_store_schema *schema)
{
	if (!schema || !DROP(schema))
		return;
	rql_arena_free(schema->arena);
	free(schema);
}

rql_status rql_store_check_batch(const struct rql_store_schema *schema, const struct rql_batch *rows,
                                 struct rql_error *err)
{
	if (rows->column_count != schema->column_count)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "%s: %u columns came, %u were declared", schema->name,
		                     rows->column_count, schema->column_count);
	for (uint32_t c = 0; c < schema->column_count; c++) {
		struct rql_type type = schema->columns[c].type, came = rows->columns[c].type;
		if (came.id != type.id || rql_type_bytes(came) != rql_type_bytes(type))
			return rql_error_set(err, RQL_ERROR_INTERNAL, "%s: column %s came as %s, %s was declared", schema->name,
			                     schema->columns[c].name, rql_type_id_name(came.id), rql_type_id_name(type.id));
	}
	return RQL_OK;
}

/* ---- pieces ---- */

rql_status rql_store_piece_new(const struct rql_store_schema *schema, struct rql_store_piece **out,
                               struct rql_error *err)
{
	struct rql_store_piece *piece = calloc(1, sizeof(*piece));
	if (!piece)
		return rql_error_memory(err, sizeof(*piece), schema->name);
	atomic_init(&piece->references, 1);
	atomic_init(&piece->gone, NULL);
	rql_mem_init(&piece->mem, schema->budget, schema->name);
	rql_status status = RQL_MEM_ZARRAY(&piece->mem, piece->parts, schema->column_count, err);
	if (status == RQL_OK)
		*out = piece;
	else
		rql_store_piece_release(piece);
	return status;
}

struct rql_store_piece *rql_store_piece_retain(struct rql_store_piece *piece)
{
	RETAIN(piece);
	return piece;
}

void rql_store_piece_release(struct rql_store_piece *piece)
{
	if (!piece || !DROP(piece))
		return;
	void (*gone)(const void *) = atomic_load(&piece->gone);
	if (gone)
		gone(piece);
	rql_mem_clear(&piece->mem);
	free(piece);
}

rql_status rql_store_piece_take(struct rql_store_piece *piece, uint32_t column, const struct rql_store_sink *sink,
                                struct rql_error *err)
{
	struct rql_store_part *part = &piece->parts[column];
	part->byte_count = sink->size + RQL_PACKED_SLACK;
	RQL_TRY(RQL_MEM_ARRAY(&piece->mem, part->bytes, part->byte_count, err));
	RQL_TRY(RQL_MEM_ARRAY(&piece->mem, part->blocks, sink->block_count, err));
	if (sink->size)
		memcpy(part->bytes, sink->data, sink->size);
	memset(part->bytes + sink->size, 0, RQL_PACKED_SLACK);
	if (sink->block_count)
		memcpy(part->blocks, sink->blocks, sink->block_count * sizeof(*part->blocks));
	if (column == 0) {
		piece->blocks = sink->block_count;
		for (uint32_t b = 0; b < sink->block_count; b++)
			piece->rows += sink->blocks[b].rows;
	}
	return RQL_OK;
}

static void widen_bounds(struct rql_store_part *part, struct rql_type type, enum rql_store_kind kind, rql_int128 least,
                         rql_int128 greatest)
{
	if (kind == RQL_STORE_REAL) {
		uint64_t low = rql_real_place(rql_store_real((uint64_t)least)),
				 high = rql_real_place(rql_store_real((uint64_t)greatest));
		if (!part->any || low < rql_real_place(rql_store_real((uint64_t)part->least)))
			part->least = least;
		if (!part->any || high > rql_real_place(rql_store_real((uint64_t)part->greatest)))
			part->greatest = greatest;
	} else {
		if (!part->any || rql_store_less(type, least, part->least))
			part->least = least;
		if (!part->any || rql_store_less(type, part->greatest, greatest))
			part->greatest = greatest;
		part->wide |=
			least != (int64_t)least || greatest != (int64_t)greatest || (type.id == RQL_TYPE_UHUGEINT && greatest < 0);
	}
	part->any = true;
}

static void settle(struct rql_store_part *part, uint32_t blocks, struct rql_type type, enum rql_store_kind kind)
{
	part->any = part->wide = false;
	part->nulls = 0;
	for (uint32_t b = 0; b < blocks; b++) {
		const struct rql_store_block *block = &part->blocks[b];
		part->nulls += block->nulls;
		if (block->nulls < block->rows && kind != RQL_STORE_CODED)
			widen_bounds(part, type, kind, rql_store_wide(block->least), rql_store_wide(block->greatest));
	}
}

void rql_store_piece_settle(struct rql_store_piece *piece, const struct rql_store_schema *schema)
{
	for (uint32_t c = 0; c < schema->column_count; c++)
		settle(&piece->parts[c], piece->blocks, schema->columns[c].type, schema->columns[c].kind);
}

struct rql_store_view rql_store_part_view(const struct rql_store_part *part, struct rql_type type,
                                          enum rql_store_kind kind)
{
	return (struct rql_store_view){.blocks = part->blocks,
	                               .bytes = part->bytes,
	                               .byte_count = part->byte_count,
	                               .stored_codes = part->stored_codes,
	                               .null_code = part->null_code,
	                               .type = type,
	                               .kind = kind};
}

/* ---- dictionaries and maps ---- */

rql_status rql_store_dictionary_new(const struct rql_store_schema *schema, struct rql_store_dictionary **out,
                                    struct rql_error *err)
{
	struct rql_store_dictionary *dictionary = calloc(1, sizeof(*dictionary));
	if (!dictionary || !(dictionary->arena = rql_arena_new())) {
		free(dictionary);
		return rql_error_memory(err, sizeof(*dictionary), schema->name);
	}
	atomic_init(&dictionary->references, 1);
	rql_mem_init(&dictionary->mem, schema->budget, schema->name);
	atomic_init(&dictionary->watch.gone, NULL);
	dictionary->dimension.watch = &dictionary->watch;
	*out = dictionary;
	return RQL_OK;
}

struct rql_store_dictionary *rql_store_dictionary_retain(struct rql_store_dictionary *dictionary)
{
	RETAIN(dictionary);
	return dictionary;
}

void rql_store_dictionary_release(struct rql_store_dictionary *dictionary)
{
	if (!dictionary || !DROP(dictionary))
		return;
	void (*gone)(const void *) = atomic_load(&dictionary->watch.gone);
	if (gone)
		gone(&dictionary->watch);
	rql_mem_clear(&dictionary->mem);
	rql_arena_free(dictionary->arena);
	free(dictionary);
}

rql_status rql_store_map_new(const struct rql_store_schema *schema, uint32_t count, struct rql_store_map **out,
                             struct rql_error *err)
{
	struct rql_store_map *map = calloc(1, sizeof(*map));
	if (!map)
		return rql_error_memory(err, sizeof(*map), schema->name);
	atomic_init(&map->references, 1);
	rql_mem_init(&map->mem, schema->budget, schema->name);
	map->count = count;
	rql_status status = RQL_MEM_ARRAY(&map->mem, map->map, count, err);
	if (status == RQL_OK)
		*out = map;
	else
		rql_store_map_release(map);
	return status;
}

struct rql_store_map *rql_store_map_retain(struct rql_store_map *map)
{
	RETAIN(map);
	return map;
}

void rql_store_map_release(struct rql_store_map *map)
{
	if (!map || !DROP(map))
		return;
	rql_mem_clear(&map->mem);
	free(map);
}

/* ---- snapshots ---- */

static void release_state(struct rql_store_state *state)
{
	uint32_t segments = state->snapshot.segment_count, columns = state->snapshot.column_count;
	for (uint32_t s = 0; s < state->source_count; s++)
		rql_store_snapshot_release(state->sources[s]);
	for (uint32_t s = 0; state->pieces && s < segments; s++)
		rql_store_piece_release(state->pieces[s]);
	for (uint32_t c = 0; state->dictionaries && c < columns; c++)
		rql_store_dictionary_release(state->dictionaries[c]);
	for (uint64_t i = 0; state->maps && i < (uint64_t)segments * columns; i++)
		rql_store_map_release(state->maps[i]);
	rql_store_dependencies_release(state->dependencies);
	rql_store_schema_release(state->schema);
	rql_mem_clear(&state->mem);
	free(state);
}

/* One segment's columns folded into the snapshot's. */
static void add_part(struct rql_store_column *column, const struct rql_store_part *part, bool first)
{
	struct rql_store_part sum = {.any = !first, .least = column->least, .greatest = column->greatest};
	if (column->kind == RQL_STORE_REAL) {
		double low = column->real_least, high = column->real_greatest;
		uint64_t bits[2];
		memcpy(&bits[0], &low, 8);
		memcpy(&bits[1], &high, 8);
		sum.least = bits[0];
		sum.greatest = bits[1];
	}
	widen_bounds(&sum, column->type, column->kind, part->least, part->greatest);
	if (column->kind == RQL_STORE_REAL) {
		column->real_least = rql_store_real((uint64_t)sum.least);
		column->real_greatest = rql_store_real((uint64_t)sum.greatest);
	} else {
		column->least = sum.least;
		column->greatest = sum.greatest;
	}
}

static void describe_column(struct rql_store_state *state, uint32_t c, struct rql_store_column *column)
{
	const struct rql_store_schema_column *declared = &state->schema->columns[c];
	struct rql_store_map *seen = NULL;
	bool first = true;
	*column = (struct rql_store_column){.name = declared->name, .type = declared->type, .kind = declared->kind};
	for (uint32_t s = 0; s < state->snapshot.segment_count; s++) {
		const struct rql_store_part *part = &state->pieces[s]->parts[c];
		struct rql_store_map *map = state->maps[(uint64_t)s * state->snapshot.column_count + c];
		column->nulls += part->nulls;
		column->wide |= part->wide;
		column->bytes += part->byte_count + state->pieces[s]->blocks * sizeof(struct rql_store_block);
		if (map && map != seen)
			column->bytes += map->count * sizeof(*map->map);
		seen = map ? map : seen;
		if (part->any) {
			add_part(column, part, first);
			first = false;
		}
	}
	if (state->dictionaries[c]) {
		column->dimension = &state->dictionaries[c]->dimension;
		column->bytes += state->dictionaries[c]->mem.held;
	}
}

static void describe_segments(struct rql_store_state *state, struct rql_store_segment *segments,
                              struct rql_store_view *views)
{
	struct rql_store_snapshot *snapshot = &state->snapshot;
	for (uint32_t s = 0; s < snapshot->segment_count; s++) {
		const struct rql_store_piece *piece = state->pieces[s];
		segments[s] = (struct rql_store_segment){.first_row = snapshot->rows,
		                                         .rows = piece->rows,
		                                         .first_block = snapshot->blocks,
		                                         .blocks = piece->blocks,
		                                         .columns = views,
		                                         .identity = piece};
		for (uint32_t c = 0; c < snapshot->column_count; c++, views++) {
			const struct rql_store_schema_column *column = &state->schema->columns[c];
			const struct rql_store_map *map = state->maps[(uint64_t)s * snapshot->column_count + c];
			*views = rql_store_part_view(&piece->parts[c], column->type, column->kind);
			views->translate = map ? map->map : NULL;
		}
		snapshot->rows += piece->rows;
		snapshot->blocks += piece->blocks;
	}
}

rql_status rql_store_state_new(struct rql_store_schema *schema, uint32_t piece_count, struct rql_store_piece **pieces,
                               struct rql_store_dictionary **dictionaries, struct rql_store_map **maps,
                               struct rql_store_state **out, struct rql_error *err)
{
	uint32_t columns = schema->column_count;
	uint64_t cells = (uint64_t)piece_count * columns;
	struct rql_store_state *state = calloc(1, sizeof(*state));
	struct rql_store_column *described;
	struct rql_store_segment *segments;
	struct rql_store_view *views;
	if (!state)
		return rql_error_memory(err, sizeof(*state), schema->name);
	atomic_init(&state->references, 1);
	rql_mem_init(&state->mem, schema->budget, schema->name);
	state->schema = rql_store_schema_retain(schema);
	rql_status status = RQL_MEM_ZARRAY(&state->mem, state->pieces, piece_count, err);
	if (status == RQL_OK)
		status = RQL_MEM_ZARRAY(&state->mem, state->dictionaries, columns, err);
	if (status == RQL_OK)
		status = RQL_MEM_ZARRAY(&state->mem, state->maps, cells, err);
	if (status == RQL_OK)
		status = RQL_MEM_ZARRAY(&state->mem, described, columns, err);
	if (status == RQL_OK)
		status = RQL_MEM_ZARRAY(&state->mem, segments, piece_count, err);
	if (status == RQL_OK)
		status = RQL_MEM_ZARRAY(&state->mem, views, cells, err);
	if (status != RQL_OK) {
		release_state(state);
		return status;
	}
	state->snapshot = (struct rql_store_snapshot){.ordered = schema->ordered,
	                                              .column_count = columns,
	                                              .segment_count = piece_count,
	                                              .columns = described,
	                                              .segments = segments};
	for (uint32_t s = 0; s < piece_count; s++)
		state->pieces[s] = rql_store_piece_retain(pieces[s]);
	for (uint32_t c = 0; c < columns; c++)
		state->dictionaries[c] = dictionaries[c] ? rql_store_dictionary_retain(dictionaries[c]) : NULL;
	for (uint64_t i = 0; maps && i < cells; i++)
		state->maps[i] = maps[i] ? rql_store_map_retain(maps[i]) : NULL;
	describe_segments(state, segments, views);
	for (uint32_t c = 0; c < columns; c++) {
		describe_column(state, c, &described[c]);
		state->snapshot.bytes += described[c].bytes;
	}
	*out = state;
	return RQL_OK;
}

void rql_store_state_relate(struct rql_store_state *state, struct rql_store_dependencies *dependencies)
{
	struct rql_store_snapshot *snapshot = &state->snapshot;
	struct rql_store_column *columns = (struct rql_store_column *)(uintptr_t)snapshot->columns; /* state_new's */
	state->dependencies = rql_store_dependencies_retain(dependencies);
	snapshot->dependency_count = dependencies->count;
	snapshot->dependencies = dependencies->list;
	for (uint32_t d = 0; d < dependencies->count; d++) {
		struct rql_store_column *from = &columns[dependencies->list[d].from];
		uint64_t bytes = from->dimension->count * sizeof(uint32_t);
		from->bytes += bytes;
		snapshot->bytes += bytes;
	}
}

const struct rql_store_snapshot *rql_store_snapshot_retain(const struct rql_store_snapshot *snapshot)
{
	RETAIN((struct rql_store_state *)(uintptr_t)snapshot);
	return snapshot;
}

void rql_store_snapshot_release(const struct rql_store_snapshot *snapshot)
{
	struct rql_store_state *state = (struct rql_store_state *)(uintptr_t)snapshot;
	if (state && DROP(state))
		release_state(state);
}

void rql_store_segment_watch(const struct rql_store_segment *segment, void (*gone)(const void *identity))
{
	struct rql_store_piece *piece = (struct rql_store_piece *)(uintptr_t)segment->identity;
	atomic_store(&piece->gone, gone);
}

struct rql_budget *rql_store_budget(const struct rql_store_snapshot *snapshot)
{
	return ((const struct rql_store_state *)snapshot)->schema->budget;
}

const struct rql_store_segment *rql_store_locate(const struct rql_store_snapshot *snapshot, uint64_t block)
{
	uint32_t low = 0, high = snapshot->segment_count - 1;
	while (low < high) {
		uint32_t middle = low + (high - low + 1) / 2;
		if (snapshot->segments[middle].first_block <= block)
			low = middle;
		else
			high = middle - 1;
	}
	return &snapshot->segments[low];
}

/* ---- stores ---- */

rql_status rql_store_new(struct rql_store_state *state, struct rql_store **out, struct rql_error *err)
{
	struct rql_store *store = calloc(1, sizeof(*store));
	if (!store)
		return rql_error_memory(err, sizeof(*store), "a column store");
	atomic_init(&store->references, 1);
	pthread_mutex_init(&store->lock, NULL);
	pthread_mutex_init(&store->writing, NULL);
	store->state = state;
	*out = store;
	return RQL_OK;
}

struct rql_store *rql_store_retain(struct rql_store *store)
{
	RETAIN(store);
	return store;
}

void rql_store_release(struct rql_store *store)
{
	if (!store || !DROP(store))
		return;
	rql_store_snapshot_release(&store->state->snapshot);
	pthread_mutex_destroy(&store->lock);
	pthread_mutex_destroy(&store->writing);
	free(store);
}

const struct rql_store_snapshot *rql_store_snapshot(struct rql_store *store)
{
	pthread_mutex_lock(&store->lock);
	const struct rql_store_snapshot *snapshot = rql_store_snapshot_retain(&store->state->snapshot);
	pthread_mutex_unlock(&store->lock);
	return snapshot;
}

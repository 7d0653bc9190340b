/* The front of a build: checks what is asked, takes rows from many threads into each one's own buffers, and runs the
 * stages. */
#include "method/cube/building/cube_build.h"

#include <stdlib.h>

#define CHUNK_FIRST 2048u
#define CHUNK_ROWS 65536u /* multiple of 64: validity words of a chunk */

/* ---- shared by the stages ---- */

void rql_build_parallel(struct rql_relation_builder *builder, uint64_t count, rql_chunk_fn *fn, void *state)
{
	rql_crew_run(&builder->crew, count, fn, state);
}

bool rql_build_cancelled(const struct rql_relation_builder *builder)
{
	return rql_crew_cancelled(&builder->crew);
}

rql_status rql_build_interrupted(struct rql_error *err)
{
	return rql_crew_interrupted(err);
}

static void begin_phase(struct rql_relation_builder *builder, const char *phase)
{
	rql_crew_phase(&builder->crew, phase, builder->rows);
}

void rql_build_advance(struct rql_relation_builder *builder, uint64_t rows)
{
	rql_crew_advance(&builder->crew, rows);
}

void rql_vec_codes(const struct rql_vec *vec, uint32_t first, uint32_t count, uint32_t *out)
{
	if (vec->width == 1) {
		const uint8_t *codes = (const uint8_t *)vec->data + first;
		for (uint32_t i = 0; i < count; i++)
			out[i] = codes[i];
	} else if (vec->width == 2) {
		const uint16_t *codes = (const uint16_t *)vec->data + first;
		for (uint32_t i = 0; i < count; i++)
			out[i] = codes[i];
	} else {
		memcpy(out, (const uint32_t *)vec->data + first, count * sizeof(*out));
	}
}

/* ---- a builder ---- */

static rql_status unsupported(const struct rql_relation_spec *spec, const char *role, const char *name,
                              struct rql_type type, const char *what, struct rql_error *err)
{
	struct rql_strbuf text = {0};
	rql_type_print(&text, type);
	rql_status status = rql_error_set(err, RQL_ERROR_UNSUPPORTED, "cube %s: %s %s of type %s %s", spec->name, role,
	                                  name ? name : "?", rql_strbuf_text(&text), what);
	rql_strbuf_free(&text);
	return status;
}

static rql_status check_spec(const struct rql_relation_spec *spec, struct rql_error *err)
{
	if (spec->dimension_count > RQL_CUBE_MAX_DIMENSIONS || spec->measure_count > RQL_CUBE_MAX_MEASURES)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED,
		                     "cube %s has %u dimensions and %u measures; at most %u of each are possible", spec->name,
		                     spec->dimension_count, spec->measure_count, RQL_CUBE_MAX_DIMENSIONS);
	for (uint32_t d = 0; d < spec->dimension_count; d++) {
		if (!rql_cube_dimension_type(spec->dimension_types[d]))
			return unsupported(spec, "dimension", spec->dimension_names ? spec->dimension_names[d] : NULL,
			                   spec->dimension_types[d], "cannot be a dimension; leave it out, or cast it to VARCHAR",
			                   err);
	}
	for (uint32_t m = 0; m < spec->measure_count; m++) {
		const struct rql_measure_spec *measure = &spec->measures[m];
		enum rql_measure_kind kind;
		if (!rql_cube_measure_kind(measure->type, &kind))
			return unsupported(spec, "measure", measure->name, measure->type,
			                   "cannot be aggregated in a cube; leave it out", err);
		if (measure->sum && !rql_cube_summable(measure->type))
			return unsupported(spec, "measure", measure->name, measure->type,
			                   "cannot be summed in a cube; leave the sum out", err);
	}
	for (uint32_t i = 0; i < spec->order_count; i++) {
		if (spec->order[i] >= spec->dimension_count)
			return rql_error_set(err, RQL_ERROR_INTERNAL, "cube %s: order names dimension %u of %u", spec->name,
			                     spec->order[i], spec->dimension_count);
	}
	return RQL_OK;
}

/* The spec with everything it points to in the builder's arena. false: out of memory. */
static bool copy_spec(struct rql_relation_builder *builder, const struct rql_relation_spec *spec)
{
	struct rql_arena *arena = builder->arena;
	struct rql_type *types = RQL_NEW_ARRAY(arena, struct rql_type, spec->dimension_count);
	struct rql_measure_spec *measures = RQL_NEW_ARRAY(arena, struct rql_measure_spec, spec->measure_count);
	uint32_t *order = RQL_NEW_ARRAY(arena, uint32_t, spec->order_count);
	builder->spec = *spec;
	builder->spec.name = rql_arena_printf(arena, "building cube %s", spec->name);
	builder->spec.dimension_names = NULL; /* only the checks name them */
	builder->kinds = RQL_NEW_ARRAY(arena, enum rql_measure_kind, spec->measure_count);
	if (!types || !measures || !order || !builder->spec.name || !builder->kinds)
		return false;
	for (uint32_t d = 0; d < spec->dimension_count; d++) {
		types[d] = rql_type_copy(arena, spec->dimension_types[d]);
		if (types[d].id != spec->dimension_types[d].id)
			return false;
	}
	for (uint32_t m = 0; m < spec->measure_count; m++) {
		measures[m] = spec->measures[m];
		measures[m].name = NULL;
		measures[m].type = rql_type_copy(arena, spec->measures[m].type);
		if (measures[m].type.id != spec->measures[m].type.id)
			return false;
		(void)rql_cube_measure_kind(measures[m].type, &builder->kinds[m]);
	}
	for (uint32_t i = 0; i < spec->order_count; i++)
		order[i] = spec->order[i];
	builder->spec.dimension_types = types;
	builder->spec.measures = measures;
	builder->spec.order = order;
	return true;
}

/* The relation's descriptions, in the cube's own arena. */
static bool start_relation(struct rql_relation_builder *builder)
{
	struct rql_cube *cube = &builder->cube->cube;
	struct rql_dimension *dimensions = RQL_NEW_ARRAY(cube->arena, struct rql_dimension, builder->spec.dimension_count);
	struct rql_measure *measures = RQL_NEW_ARRAY(cube->arena, struct rql_measure, builder->spec.measure_count);
	if (!dimensions || !measures)
		return false;
	for (uint32_t m = 0; m < builder->spec.measure_count; m++) {
		measures[m].kind = builder->kinds[m];
		measures[m].type = rql_type_copy(cube->arena, builder->spec.measures[m].type);
		if (measures[m].type.id != builder->spec.measures[m].type.id)
			return false;
	}
	cube->relation.dimension_count = builder->spec.dimension_count;
	cube->relation.measure_count = builder->spec.measure_count;
	cube->relation.dimensions = dimensions;
	cube->relation.measures = measures;
	return true;
}

rql_status rql_cube_builder_new(const struct rql_relation_spec *spec, struct rql_relation_builder **out, struct rql_error *err)
{
	RQL_TRY(check_spec(spec, err));
	struct rql_relation_builder *builder = calloc(1, sizeof(*builder));
	if (!builder)
		return rql_error_memory(err, sizeof(*builder), "a cube builder");
	rql_status status = RQL_OK;
	rql_mem_init(&builder->mem, spec->budget, "building a cube");
	builder->crew.mem = &builder->mem;
	builder->arena = rql_arena_new();
	if (!builder->arena || !copy_spec(builder, spec)) {
		status = rql_error_memory(err, sizeof(*builder), "a cube builder");
		goto error;
	}
	builder->mem.what = builder->spec.name;
	builder->started_ns = rql_now_ns();
	builder->crew.pool = spec->device ? spec->device->pool : NULL;
	builder->crew.progress = spec->progress;
	status = rql_cube_new(spec->budget, spec->name, &builder->cube, err);
	if (status != RQL_OK)
		goto error;
	if (!start_relation(builder)) {
		status = rql_error_memory(err, sizeof(*builder), "a cube builder");
		goto error;
	}
	if (spec->progress)
		atomic_store(&spec->progress->phase, "reading");
	*out = builder;
	return RQL_OK;
error:
	rql_cube_builder_abort(builder);
	return status;
}

void rql_cube_builder_abort(struct rql_relation_builder *builder)
{
	if (!builder)
		return;
	if (builder->cube)
		rql_cube_release(&builder->cube->cube);
	rql_mem_clear(&builder->mem);
	rql_arena_free(builder->arena);
	free(builder);
}

/* ---- rows come in ---- */

static rql_status new_worker(struct rql_relation_builder *builder, struct rql_build_worker **out, struct rql_error *err)
{
	struct rql_mem *mem = &builder->mem;
	uint32_t dimensions = builder->spec.dimension_count, measures = builder->spec.measure_count;
	struct rql_build_worker *worker;
	RQL_TRY(RQL_MEM_ZARRAY(mem, worker, 1, err));
	RQL_TRY(RQL_MEM_ZARRAY(mem, worker->dims, dimensions, err));
	RQL_TRY(RQL_MEM_ZARRAY(mem, worker->codes, measures, err));
	RQL_TRY(RQL_MEM_ZARRAY(mem, worker->stats, measures, err));
	RQL_TRY(RQL_MEM_ZARRAY(mem, worker->dim_remap, dimensions, err));
	RQL_TRY(RQL_MEM_ZARRAY(mem, worker->code_remap, measures, err));
	RQL_TRY(RQL_MEM_ARRAY(mem, worker->scratch, RQL_BUILD_SLICE, err));
	for (uint32_t d = 0; d < dimensions; d++)
		rql_dict_init(&worker->dims[d], builder->spec.dimension_types[d]);
	for (uint32_t m = 0; m < measures; m++)
		rql_dict_init(&worker->codes[m], builder->spec.measures[m].type);
	*out = worker;
	return RQL_OK;
}

static rql_status new_chunk(struct rql_relation_builder *builder, struct rql_build_worker *worker, struct rql_error *err)
{
	struct rql_mem *mem = &builder->mem;
	uint32_t dimensions = builder->spec.dimension_count, vecs = dimensions + builder->spec.measure_count;
	struct rql_chunk *last = worker->chunk_count ? worker->chunks[worker->chunk_count - 1] : NULL, *chunk;
	if (worker->chunk_count == worker->chunk_capacity) {
		struct rql_chunk **chunks;
		uint32_t capacity = worker->chunk_capacity ? worker->chunk_capacity * 2 : 16;
		RQL_TRY(RQL_MEM_ARRAY(mem, chunks, capacity, err));
		if (worker->chunk_count)
			memcpy(chunks, worker->chunks, worker->chunk_count * sizeof(struct rql_chunk *));
		rql_mem_free(mem, worker->chunks);
		worker->chunks = chunks;
		worker->chunk_capacity = capacity;
	}
	RQL_TRY(RQL_MEM_ZARRAY(mem, chunk, 1, err));
	RQL_TRY(RQL_MEM_ZARRAY(mem, chunk->vecs, vecs, err));
	/* Small inputs get small chunks. */
	chunk->capacity = worker->rows < CHUNK_FIRST  ? CHUNK_FIRST
	                  : worker->rows < CHUNK_ROWS ? (uint32_t)worker->rows
	                                              : CHUNK_ROWS;
	chunk->capacity = (chunk->capacity + 63) / 64 * 64;
	for (uint32_t v = 0; v < vecs; v++) {
		/* As wide as in the chunk before: what has grown once will not shrink. */
		bool real = v >= dimensions && builder->kinds[v - dimensions] == RQL_MEASURE_REAL;
		bool integer = v >= dimensions && builder->kinds[v - dimensions] == RQL_MEASURE_INTEGER;
		chunk->vecs[v].width = last ? last->vecs[v].width : real ? 8 : integer ? 4 : 1;
		chunk->vecs[v].data = rql_mem_alloc(mem, chunk->capacity, chunk->vecs[v].width, err);
		if (!chunk->vecs[v].data)
			return rql_mem_failure(mem);
	}
	worker->chunks[worker->chunk_count++] = chunk;
	return RQL_OK;
}

static int64_t load_signed(const void *data, uint32_t width, uint32_t i)
{
	switch (width) {
	case 4:
		return ((const int32_t *)data)[i];
	default:
		return ((const int64_t *)data)[i];
	}
}

/* Gives a vec wider elements; the rows there already are converted. */
static rql_status widen_vec(struct rql_mem *mem, struct rql_vec *vec, const struct rql_chunk *chunk, uint32_t width,
                            bool is_signed, struct rql_error *err)
{
	void *data = rql_mem_alloc(mem, chunk->capacity, width, err);
	if (!data)
		return rql_mem_failure(mem);
	for (uint32_t i = 0; i < chunk->rows; i++) {
		if (is_signed && width == 16)
			((rql_int128 *)data)[i] = load_signed(vec->data, vec->width, i);
		else if (is_signed)
			((int64_t *)data)[i] = load_signed(vec->data, vec->width, i);
		else if (width == 2)
			((uint16_t *)data)[i] = ((const uint8_t *)vec->data)[i];
		else
			((uint32_t *)data)[i] =
				vec->width == 1 ? ((const uint8_t *)vec->data)[i] : ((const uint16_t *)vec->data)[i];
	}
	rql_mem_free(mem, vec->data);
	vec->data = data;
	vec->width = width;
	return RQL_OK;
}

static rql_status put_codes(struct rql_mem *mem, struct rql_vec *vec, const struct rql_chunk *chunk,
                            uint32_t dict_count, const uint32_t *codes, uint32_t count, struct rql_error *err)
{
	uint32_t width = dict_count <= 256 ? 1 : dict_count <= 65536 ? 2 : 4;
	if (width > vec->width)
		RQL_TRY(widen_vec(mem, vec, chunk, width, false, err));
	if (vec->width == 1) {
		uint8_t *to = (uint8_t *)vec->data + chunk->rows;
		for (uint32_t i = 0; i < count; i++)
			to[i] = (uint8_t)codes[i];
	} else if (vec->width == 2) {
		uint16_t *to = (uint16_t *)vec->data + chunk->rows;
		for (uint32_t i = 0; i < count; i++)
			to[i] = (uint16_t)codes[i];
	} else {
		memcpy((uint32_t *)vec->data + chunk->rows, codes, count * sizeof(*codes));
	}
	return RQL_OK;
}

/* Marks the NULL rows of a slice; the bitmap exists from the chunk's first NULL on. */
static rql_status put_validity(struct rql_mem *mem, struct rql_vec *vec, const struct rql_chunk *chunk,
                               const struct rql_column *column, uint64_t first, uint32_t count, bool *has_null,
                               struct rql_error *err)
{
	if (!column->validity)
		return RQL_OK;
	for (uint32_t i = 0; i < count; i++) {
		if (rql_column_valid(column, first + i))
			continue;
		*has_null = true;
		if (!vec->validity) {
			RQL_TRY(RQL_MEM_ARRAY(mem, vec->validity, chunk->capacity / 64, err));
			memset(vec->validity, 0xff, chunk->capacity / 8);
		}
		uint32_t row = chunk->rows + i;
		rql_bit_clear(vec->validity, row);
	}
	return RQL_OK;
}

/* ---- measures ---- */

/* Adds a slice of non-NULL values in [least, greatest] to what is known of the measure. */
static void note_integers(struct rql_measure_stats *stats, rql_int128 least, rql_int128 greatest, uint32_t count)
{
	const rql_int128 most = (rql_int128)(((rql_uint128)1 << 127) - 1), safe = most >> 13; /* times a slice and more */
	if (!stats->any || least < stats->least)
		stats->least = least;
	if (!stats->any || greatest > stats->greatest)
		stats->greatest = greatest;
	stats->any = true;
	if (greatest > safe || least < -safe) {
		stats->unbounded = true;
		return;
	}
	rql_int128 up = greatest > 0 ? greatest * count : 0, down = least < 0 ? least * count : 0;
	if (stats->unbounded || stats->positive > most - up || stats->negative < -most - down) {
		stats->unbounded = true;
		return;
	}
	stats->positive += up;
	stats->negative += down;
}

/* Integers of up to 8 bytes as int64; only UBIGINT and HUGEINT-sized ones can fail to fit, and are told apart before.
 */
static void load_int64(struct rql_type type, const void *data, uint64_t first, uint32_t count, int64_t *out)
{
#define LOAD(ctype)                                                                                                    \
	do {                                                                                                               \
		const ctype *values = (const ctype *)data + first;                                                             \
		for (uint32_t i = 0; i < count; i++)                                                                           \
			out[i] = (int64_t)values[i];                                                                               \
		return;                                                                                                        \
	} while (0)
	bool is_signed = rql_type_is_signed(type);
	switch (rql_type_bytes(type)) {
	case 1:
		if (is_signed)
			LOAD(int8_t);
		LOAD(uint8_t);
	case 2:
		if (is_signed)
			LOAD(int16_t);
		LOAD(uint16_t);
	case 4:
		if (is_signed)
			LOAD(int32_t);
		LOAD(uint32_t);
	case 8:
		LOAD(int64_t);
	default: /* the host aligns them to 8 bytes only: the low half is the number */
		for (uint32_t i = 0; i < count; i++)
			memcpy(&out[i], (const char *)data + (first + i) * sizeof(rql_int128), sizeof(out[i]));
	}
#undef LOAD
}

static rql_int128 load_one(const struct rql_column *column, uint64_t row)
{
	rql_int128 wide;
	if (rql_type_bytes(column->type) == 16) {
		memcpy(&wide, (const char *)column->data + row * sizeof(wide), sizeof(wide)); /* aligned to 8 bytes only */
		return wide;
	}
	return ((const uint64_t *)column->data)[row]; /* UBIGINT */
}

/* Does a slice need more than int64? Only asked of the two types where it can. */
static bool needs_wide(const struct rql_column *column, uint64_t first, uint32_t count)
{
	if (column->type.id != RQL_TYPE_UBIGINT && rql_type_bytes(column->type) != 16)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		rql_int128 value = rql_column_valid(column, first + i) ? load_one(column, first + i) : 0;
		if (value != (int64_t)value)
			return true;
	}
	return false;
}

static rql_status add_wide(struct rql_mem *mem, const struct rql_column *column, uint64_t first, uint32_t count,
                           struct rql_chunk *chunk, struct rql_vec *vec, struct rql_measure_stats *stats,
                           struct rql_error *err)
{
	if (vec->width < 16)
		RQL_TRY(widen_vec(mem, vec, chunk, 16, true, err));
	rql_int128 *to = (rql_int128 *)vec->data + chunk->rows;
	for (uint32_t i = 0; i < count; i++) {
		bool valid = rql_column_valid(column, first + i);
		to[i] = valid ? load_one(column, first + i) : 0;
		if (valid)
			note_integers(stats, to[i], to[i], 1);
	}
	return RQL_OK;
}

/* NULL rows become 0 in values; the bounds are of the others. Returns how many those are. */
static uint32_t bounds_of(const struct rql_column *column, uint64_t first, uint32_t count, int64_t *values,
                          int64_t *least, int64_t *greatest)
{
	int64_t low = INT64_MAX, high = INT64_MIN;
	uint32_t valid = count;
	if (!column->validity) {
		for (uint32_t i = 0; i < count; i++) {
			low = values[i] < low ? values[i] : low;
			high = values[i] > high ? values[i] : high;
		}
	} else {
		valid = 0;
		for (uint32_t i = 0; i < count; i++) {
			if (!rql_column_valid(column, first + i)) {
				values[i] = 0;
				continue;
			}
			low = values[i] < low ? values[i] : low;
			high = values[i] > high ? values[i] : high;
			valid++;
		}
	}
	*least = low;
	*greatest = high;
	return valid;
}

static rql_status add_integers(struct rql_mem *mem, const struct rql_column *column, uint64_t first, uint32_t count,
                               struct rql_chunk *chunk, struct rql_vec *vec, struct rql_measure_stats *stats,
                               struct rql_error *err)
{
	int64_t values[RQL_BUILD_SLICE], least, greatest;
	if (needs_wide(column, first, count))
		return add_wide(mem, column, first, count, chunk, vec, stats, err);
	load_int64(column->type, column->data, first, count, values);
	uint32_t valid = bounds_of(column, first, count, values, &least, &greatest);
	if (valid) {
		note_integers(stats, least, greatest, valid);
		if (vec->width < 8 && (least < INT32_MIN || greatest > INT32_MAX))
			RQL_TRY(widen_vec(mem, vec, chunk, 8, true, err));
	}
	if (vec->width == 4) {
		int32_t *to = (int32_t *)vec->data + chunk->rows;
		for (uint32_t i = 0; i < count; i++)
			to[i] = (int32_t)values[i];
	} else if (vec->width == 8) {
		memcpy((int64_t *)vec->data + chunk->rows, values, count * sizeof(*values));
	} else {
		rql_int128 *to = (rql_int128 *)vec->data + chunk->rows;
		for (uint32_t i = 0; i < count; i++)
			to[i] = values[i];
	}
	return RQL_OK;
}

static void add_reals(const struct rql_column *column, uint64_t first, uint32_t count, struct rql_chunk *chunk,
                      struct rql_vec *vec)
{
	double *to = (double *)vec->data + chunk->rows;
	for (uint32_t i = 0; i < count; i++) {
		if (!rql_column_valid(column, first + i))
			to[i] = 0;
		else if (column->type.id == RQL_TYPE_FLOAT)
			to[i] = (double)((const float *)column->data)[first + i];
		else
			to[i] = ((const double *)column->data)[first + i];
	}
}

static rql_status add_measure(struct rql_relation_builder *builder, struct rql_build_worker *worker, uint32_t m,
                              const struct rql_column *column, uint64_t first, uint32_t count, struct rql_error *err)
{
	struct rql_mem *mem = &builder->mem;
	struct rql_chunk *chunk = worker->chunks[worker->chunk_count - 1];
	struct rql_vec *vec = &chunk->vecs[builder->spec.dimension_count + m];
	struct rql_measure_stats *stats = &worker->stats[m];
	RQL_TRY(put_validity(mem, vec, chunk, column, first, count, &stats->has_null, err));
	switch (builder->kinds[m]) {
	case RQL_MEASURE_INTEGER:
		return add_integers(mem, column, first, count, chunk, vec, stats, err);
	case RQL_MEASURE_REAL:
		add_reals(column, first, count, chunk, vec);
		return RQL_OK;
	default:
		RQL_TRY(rql_dict_encode(&worker->codes[m], mem, column, first, count, worker->scratch, err));
		return put_codes(mem, vec, chunk, worker->codes[m].count, worker->scratch, count, err);
	}
}

static rql_status add_slice(struct rql_relation_builder *builder, struct rql_build_worker *worker,
                            const struct rql_batch *rows, uint64_t first, uint32_t count, struct rql_error *err)
{
	struct rql_chunk *chunk = worker->chunks[worker->chunk_count - 1];
	uint32_t dimensions = builder->spec.dimension_count;
	for (uint32_t d = 0; d < dimensions; d++) {
		RQL_TRY(
			rql_dict_encode(&worker->dims[d], &builder->mem, &rows->columns[d], first, count, worker->scratch, err));
		RQL_TRY(put_codes(&builder->mem, &chunk->vecs[d], chunk, worker->dims[d].count, worker->scratch, count, err));
	}
	for (uint32_t m = 0; m < builder->spec.measure_count; m++)
		RQL_TRY(add_measure(builder, worker, m, &rows->columns[dimensions + m], first, count, err));
	chunk->rows += count;
	worker->rows += count;
	return RQL_OK;
}

/* The rows must have the types that the builder was made for. */
static rql_status check_batch(const struct rql_relation_builder *builder, unsigned worker, const struct rql_batch *rows,
                              struct rql_error *err)
{
	uint32_t dimensions = builder->spec.dimension_count, columns = dimensions + builder->spec.measure_count;
	if (worker >= RQL_BUILD_WORKERS)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "%s: worker %u, at most %u are possible", builder->spec.name,
		                     worker, RQL_BUILD_WORKERS - 1);
	if (rows->column_count != columns)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "%s: %u columns came, %u were declared", builder->spec.name,
		                     rows->column_count, columns);
	for (uint32_t c = 0; c < columns; c++) {
		struct rql_type type =
			c < dimensions ? builder->spec.dimension_types[c] : builder->spec.measures[c - dimensions].type;
		if (rows->columns[c].type.id != type.id || rql_type_bytes(rows->columns[c].type) != rql_type_bytes(type))
			return rql_error_set(err, RQL_ERROR_INTERNAL, "%s: column %u came as %s, %s was declared",
			                     builder->spec.name, c, rql_type_id_name(rows->columns[c].type.id),
			                     rql_type_id_name(type.id));
	}
	return RQL_OK;
}

rql_status rql_cube_builder_add(struct rql_relation_builder *builder, unsigned worker_index, const struct rql_batch *rows,
                                struct rql_error *err)
{
	RQL_TRY(check_batch(builder, worker_index, rows, err));
	if (rql_build_cancelled(builder))
		return rql_build_interrupted(err);
	if (!builder->workers[worker_index])
		RQL_TRY(new_worker(builder, &builder->workers[worker_index], err));
	struct rql_build_worker *worker = builder->workers[worker_index];
	for (uint64_t first = 0; first < rows->rows;) {
		struct rql_chunk *chunk = worker->chunk_count ? worker->chunks[worker->chunk_count - 1] : NULL;
		if (!chunk || chunk->rows == chunk->capacity) {
			RQL_TRY(new_chunk(builder, worker, err));
			chunk = worker->chunks[worker->chunk_count - 1];
		}
		uint64_t count = rows->rows - first < RQL_BUILD_SLICE ? rows->rows - first : RQL_BUILD_SLICE;
		count = count < chunk->capacity - chunk->rows ? count : chunk->capacity - chunk->rows;
		RQL_TRY(add_slice(builder, worker, rows, first, (uint32_t)count, err));
		first += count;
	}
	rql_build_advance(builder, rows->rows);
	return RQL_OK;
}

/* ---- the stages ---- */

static void unite_stats(struct rql_measure_stats *into, const struct rql_measure_stats *other)
{
	const rql_int128 most = (rql_int128)(((rql_uint128)1 << 127) - 1);
	into->has_null |= other->has_null;
	into->unbounded |= other->unbounded;
	if (!other->any)
		return;
	if (!into->any || other->least < into->least)
		into->least = other->least;
	if (!into->any || other->greatest > into->greatest)
		into->greatest = other->greatest;
	into->any = true;
	if (into->unbounded || into->positive > most - other->positive || into->negative < -most - other->negative) {
		into->unbounded = true;
		return;
	}
	into->positive += other->positive;
	into->negative += other->negative;
}

/* Workers that brought no rows are dropped, the others closed up; totals over all. */
static rql_status unite_workers(struct rql_relation_builder *builder, struct rql_error *err)
{
	uint32_t measures = builder->spec.measure_count;
	builder->stats = RQL_NEW_ARRAY(builder->arena, struct rql_measure_stats, measures);
	if (!builder->stats)
		return rql_error_memory(err, measures * sizeof(*builder->stats), builder->spec.name);
	for (uint32_t w = 0; w < RQL_BUILD_WORKERS; w++) {
		struct rql_build_worker *worker = builder->workers[w];
		if (!worker || !worker->rows)
			continue;
		for (uint32_t m = 0; m < measures; m++)
			unite_stats(&builder->stats[m], &worker->stats[m]);
		builder->rows += worker->rows;
		builder->workers[builder->worker_count++] = worker;
	}
	return RQL_OK;
}

static rql_status sort_records(struct rql_relation_builder *builder, struct rql_error *err)
{
	uint64_t *scratch, *sorted;
	RQL_TRY(RQL_MEM_ARRAY(&builder->mem, scratch, builder->rows * builder->layout.words, err));
	const struct rql_records sort = {.records = builder->records,
	                              .scratch = scratch,
	                              .rows = builder->rows,
	                              .words = builder->layout.words,
	                              .limbs = builder->layout.limbs,
	                              .limb_bits = builder->layout.limb_bits,
	                              .progress = true};
	RQL_TRY(rql_sort_records(&builder->crew, &sort, &sorted, err));
	rql_mem_free(&builder->mem, sorted == scratch ? builder->records : scratch);
	builder->records = sorted;
	return RQL_OK;
}

static rql_status run_stages(struct rql_relation_builder *builder, struct rql_error *err)
{
	struct rql_cube *cube = &builder->cube->cube;
	uint64_t start = rql_now_ns();
	RQL_TRY(unite_workers(builder, err));
	begin_phase(builder, "encoding");
	RQL_TRY(rql_build_dictionaries(builder, err));
	RQL_TRY(rql_build_hierarchies(builder, err));
	RQL_TRY(rql_build_encode(builder, err));
	uint64_t encoded = rql_now_ns();
	begin_phase(builder, "sorting");
	RQL_TRY(sort_records(builder, err));
	uint64_t sorted = rql_now_ns();
	begin_phase(builder, "packing");
	RQL_TRY(rql_build_store(builder, err));
	RQL_TRY(rql_cube_settle(builder->cube, err));
	cube->read_ms = (double)(start - builder->started_ns) / 1e6;
	cube->encode_ms = (double)(encoded - start) / 1e6;
	cube->sort_ms = (double)(sorted - encoded) / 1e6;
	cube->pack_ms = (double)(rql_now_ns() - sorted) / 1e6;
	return RQL_OK;
}

rql_status rql_cube_builder_finish(struct rql_relation_builder *builder, struct rql_cube **out, struct rql_error *err)
{
	rql_status status = rql_build_cancelled(builder) ? rql_build_interrupted(err) : run_stages(builder, err);
	if (status == RQL_OK) {
		*out = &builder->cube->cube;
		builder->cube = NULL;
	}
	if (builder->spec.progress)
		atomic_store(&builder->spec.progress->phase, NULL);
	rql_cube_builder_abort(builder);
	return status;
}

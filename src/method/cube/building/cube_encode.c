/* Rows become records: the key's digits as bit fields from the top bit on, so that records ascend as the mixed-radix
 * key does (RTCUDB section 4.2; a field per digit costs under a bit more than the product of the radices and no
 * division), and the measures, as offsets from their least value, in the bits that are left (section 4.4 packs a
 * coordinate the same way). For most cubes a row is one 64-bit word, and the sort moves nothing else. A key longer than
 * 64 bits goes on in the next word. */
#include "method/cube/building/cube_build.h"

#include "method/cube/cube_pack.h"

/* ---- the layout ---- */

struct room {
	uint32_t *free_bits; /* [words] low bits not taken */
	uint32_t words;
};

static struct rql_field take_new(struct room *room, uint32_t bits)
{
	uint32_t word = room->words;
	if (bits == 128) {
		room->free_bits[word] = room->free_bits[word + 1] = 0;
		room->words += 2;
		return (struct rql_field){.word = word, .bits = bits};
	}
	room->free_bits[word] = 64 - bits;
	room->words++;
	return (struct rql_field){.word = word, .shift = 64 - bits, .bits = bits};
}

/* Key fields only ever go on in the last word; payload takes the first gap. */
static struct rql_field take(struct room *room, uint32_t bits, bool key)
{
	if (!bits)
		return (struct rql_field){0};
	for (uint32_t word = key && room->words ? room->words - 1 : 0; word < room->words && bits <= 64; word++) {
		if (room->free_bits[word] >= bits) {
			room->free_bits[word] -= bits;
			return (struct rql_field){.word = word, .shift = room->free_bits[word], .bits = bits};
		}
	}
	return take_new(room, bits);
}

static void place_measure(struct rql_relation_builder *builder, uint32_t m, struct room *room)
{
	struct rql_record_layout *layout = &builder->layout;
	const struct rql_measure_stats *stats = &builder->stats[m];
	uint32_t bits = 64;
	if (builder->kinds[m] == RQL_MEASURE_CODE) {
		uint32_t count = builder->cube->cube.relation.measures[m].dictionary.count;
		bits = count > 1 ? rql_bits_for(count - 1) : 0;
	} else if (builder->kinds[m] == RQL_MEASURE_INTEGER) {
		/* NULL rows are kept as 0. */
		rql_int128 least = stats->any ? stats->least : 0, greatest = stats->any ? stats->greatest : 0;
		if (stats->has_null) {
			least = least < 0 ? least : 0;
			greatest = greatest > 0 ? greatest : 0;
		}
		layout->base[m] = least;
		bits = rql_bits_for((rql_uint128)greatest - (rql_uint128)least);
		bits = bits > 64 ? 128 : bits;
	}
	layout->values[m] = take(room, bits, false);
	layout->valid[m] = take(room, stats->has_null, false);
}

static rql_status make_layout(struct rql_relation_builder *builder, struct rql_error *err)
{
	struct rql_record_layout *layout = &builder->layout;
	const struct rql_build_shape *shape = &builder->shape;
	struct rql_arena *arena = builder->arena;
	uint32_t measures = builder->spec.measure_count;
	struct room room = {.free_bits = RQL_NEW_ARRAY(arena, uint32_t, shape->digit_count + 3 * measures + 1)};
	layout->digits = RQL_NEW_ARRAY(arena, struct rql_field, shape->digit_count);
	layout->limb_bits = RQL_NEW_ARRAY(arena, uint32_t, shape->digit_count + 1);
	layout->values = RQL_NEW_ARRAY(arena, struct rql_field, measures);
	layout->valid = RQL_NEW_ARRAY(arena, struct rql_field, measures);
	layout->base = RQL_NEW_ARRAY(arena, rql_int128, measures);
	if (!room.free_bits || !layout->digits || !layout->limb_bits || !layout->values || !layout->valid || !layout->base)
		return rql_error_memory(err, sizeof(*layout), builder->mem.what);
	for (uint32_t i = 0; i < shape->digit_count; i++) {
		uint32_t radix = shape->digits[i].radix;
		layout->digits[i] = take(&room, radix > 1 ? rql_bits_for(radix - 1) : 0, true);
	}
	layout->limbs = room.words;
	for (uint32_t l = 0; l < layout->limbs; l++)
		layout->limb_bits[l] = 64 - room.free_bits[l];
	for (uint32_t m = 0; m < measures; m++)
		place_measure(builder, m, &room);
	layout->words = room.words ? room.words : 1;
	return RQL_OK;
}

/* ---- the rows ---- */

struct encode_task {
	struct rql_chunk *chunk;
	uint64_t **tables; /* [digit]: shifted field of each local code of the digit's dimension, this worker's */
	const struct rql_build_worker *worker;
	uint64_t first; /* record of the chunk's first row */
};
struct encode {
	struct rql_relation_builder *builder;
	struct encode_task *tasks;
};

#define STRIP 512u /* rows whose records are put together in the first-level cache */

/* ORs a measure's fields into the records; wide (128-bit) fields. */
static void encode_wide(const struct rql_record_layout *layout, uint32_t m, const struct rql_vec *vec, uint32_t first,
                        uint32_t count, uint64_t *records)
{
	for (uint32_t i = 0; i < count; i++) {
		rql_int128 value = 0;
		if (vec->width == 16)
			value = ((const rql_int128 *)vec->data)[first + i];
		else if (vec->width == 8)
			value = ((const int64_t *)vec->data)[first + i];
		else
			value = ((const int32_t *)vec->data)[first + i];
		rql_uint128 field = (rql_uint128)value - (rql_uint128)layout->base[m];
		uint64_t *record = records + (uint64_t)i * layout->words + layout->values[m].word;
		record[0] = (uint64_t)field;
		record[1] = (uint64_t)(field >> 64);
	}
}

#define ENCODE_VALUES(ctype)                                                                                           \
	for (uint32_t i = 0; i < count; i++)                                                                               \
	records[(uint64_t)i * words + field.word] |= ((uint64_t)((const ctype *)vec->data)[first + i] - base) << field.shift

static void encode_integers(const struct rql_record_layout *layout, uint32_t m, const struct rql_vec *vec,
                            uint32_t first, uint32_t count, uint64_t *records)
{
	struct rql_field field = layout->values[m];
	uint32_t words = layout->words;
	uint64_t base = (uint64_t)layout->base[m];
	if (!field.bits)
		return;
	if (field.bits == 128)
		encode_wide(layout, m, vec, first, count, records);
	else if (vec->width == 4)
		ENCODE_VALUES(int32_t);
	else if (vec->width == 8)
		ENCODE_VALUES(int64_t);
	else
		ENCODE_VALUES(rql_int128);
}

static void encode_codes(const struct rql_record_layout *layout, uint32_t m, const struct rql_vec *vec, uint32_t first,
                         uint32_t count, const uint32_t *remap, uint64_t *records)
{
	struct rql_field field = layout->values[m];
	uint32_t codes[STRIP];
	if (!field.bits)
		return;
	rql_vec_codes(vec, first, count, codes);
	for (uint32_t i = 0; i < count; i++)
		records[(uint64_t)i * layout->words + field.word] |= (uint64_t)remap[codes[i]] << field.shift;
}

static void encode_measure(const struct encode *encode, const struct encode_task *task, uint32_t m, uint32_t first,
                           uint32_t count, uint64_t *records)
{
	const struct rql_relation_builder *builder = encode->builder;
	const struct rql_record_layout *layout = &builder->layout;
	const struct rql_vec *vec = &task->chunk->vecs[builder->spec.dimension_count + m];
	struct rql_field field = layout->values[m], valid = layout->valid[m];
	if (builder->kinds[m] == RQL_MEASURE_CODE) {
		encode_codes(layout, m, vec, first, count, task->worker->code_remap[m], records);
	} else if (builder->kinds[m] == RQL_MEASURE_INTEGER) {
		encode_integers(layout, m, vec, first, count, records);
	} else {
		for (uint32_t i = 0; i < count; i++)
			records[(uint64_t)i * layout->words + field.word] = ((const uint64_t *)vec->data)[first + i];
	}
	if (!valid.bits)
		return;
	for (uint32_t i = 0; i < count; i++)
		if (rql_bit_valid(vec->validity, first + i))
			records[(uint64_t)i * layout->words + valid.word] |= UINT64_C(1) << valid.shift;
}

static void encode_strip(const struct encode *encode, const struct encode_task *task, uint32_t first, uint32_t count,
                         uint64_t *records)
{
	const struct rql_relation_builder *builder = encode->builder;
	const struct rql_record_layout *layout = &builder->layout;
	uint32_t codes[STRIP], words = layout->words;
	memset(records, 0, (uint64_t)count * words * 8);
	for (uint32_t d = 0; d < builder->shape.digit_count; d++) {
		const uint64_t *table = task->tables[d];
		if (!layout->digits[d].bits)
			continue;
		rql_vec_codes(&task->chunk->vecs[builder->shape.digits[d].dimension], first, count, codes);
		uint64_t *at = records + layout->digits[d].word;
		for (uint32_t i = 0; i < count; i++)
			at[(uint64_t)i * words] |= table[codes[i]];
	}
	for (uint32_t m = 0; m < builder->spec.measure_count; m++)
		encode_measure(encode, task, m, first, count, records);
}

static void encode_chunk(void *state, uint64_t index, unsigned thread)
{
	(void)thread;
	const struct encode *encode = state;
	struct rql_relation_builder *builder = encode->builder;
	struct encode_task *task = &encode->tasks[index];
	if (rql_build_cancelled(builder))
		return;
	for (uint32_t first = 0; first < task->chunk->rows; first += STRIP) {
		uint32_t count = task->chunk->rows - first < STRIP ? task->chunk->rows - first : STRIP;
		encode_strip(encode, task, first, count, builder->records + (task->first + first) * builder->layout.words);
	}
	rql_build_advance(builder, task->chunk->rows);
	/* The rows are in the records now. */
	for (uint32_t v = 0; v < builder->spec.dimension_count + builder->spec.measure_count; v++) {
		rql_mem_free(&builder->mem, task->chunk->vecs[v].data);
		rql_mem_free(&builder->mem, task->chunk->vecs[v].validity);
		task->chunk->vecs[v] = (struct rql_vec){0};
	}
}

/* The shifted digit field of every local code of one worker. */
static rql_status make_tables(struct rql_relation_builder *builder, const struct rql_build_worker *worker, uint64_t ***out,
                              struct rql_error *err)
{
	uint64_t **tables = RQL_NEW_ARRAY(builder->arena, uint64_t *, builder->shape.digit_count);
	if (!tables)
		return rql_error_memory(err, builder->shape.digit_count * sizeof(*tables), builder->mem.what);
	for (uint32_t d = 0; d < builder->shape.digit_count; d++) {
		const struct rql_build_digit *digit = &builder->shape.digits[d];
		uint32_t locals = worker->dims[digit->dimension].count;
		RQL_TRY(RQL_MEM_ARRAY(&builder->mem, tables[d], locals, err));
		for (uint32_t code = 0; code < locals; code++)
			tables[d][code] = (uint64_t)digit->digit_of_code[worker->dim_remap[digit->dimension][code]]
			                  << builder->layout.digits[d].shift;
	}
	*out = tables;
	return RQL_OK;
}

rql_status rql_build_encode(struct rql_relation_builder *builder, struct rql_error *err)
{
	struct encode encode = {.builder = builder};
	uint64_t task_count = 0, n = 0, first = 0;
	RQL_TRY(make_layout(builder, err));
	RQL_TRY(RQL_MEM_ARRAY(&builder->mem, builder->records, builder->rows * builder->layout.words, err));
	for (uint32_t w = 0; w < builder->worker_count; w++)
		task_count += builder->workers[w]->chunk_count;
	RQL_TRY(RQL_MEM_ARRAY(&builder->mem, encode.tasks, task_count, err));
	for (uint32_t w = 0; w < builder->worker_count; w++) {
		struct rql_build_worker *worker = builder->workers[w];
		uint64_t **tables = NULL;
		RQL_TRY(make_tables(builder, worker, &tables, err));
		for (uint32_t c = 0; c < worker->chunk_count; c++) {
			encode.tasks[n++] =
				(struct encode_task){.chunk = worker->chunks[c], .tables = tables, .worker = worker, .first = first};
			first += worker->chunks[c]->rows;
		}
	}
	rql_build_parallel(builder, task_count, encode_chunk, &encode);
	rql_mem_free(&builder->mem, encode.tasks);
	return rql_build_cancelled(builder) ? rql_build_interrupted(err) : RQL_OK;
}

/* A worker's vectors: columns, join payloads and programs of the rows that passed so far. */
#include "method/scan/scan_query.h"

#include <stdlib.h>

/* ---- memory ---- */

/* Hands out parts of one allocation; with base NULL it only counts. */
struct carver {
	char *base;
	uint64_t used;
};

static void *carve(struct carver *c, uint64_t bytes)
{
	void *at = c->base ? c->base + c->used : NULL;
	c->used += (bytes + 63) / 64 * 64;
	return at;
}

static uint64_t lane_bytes(enum rql_lane_kind lane)
{
	return lane == RQL_LANE_I128 ? 16 : 8; /* I32 has room to be widened */
}

/* Size query and layout are one function. */
static void lay_out(struct rql_scan_worker *w, struct carver *c)
{
	const struct rql_scan *scan = w->scan;
	const uint64_t valid = RQL_SCAN_VALID_WORDS * sizeof(uint64_t);
	uint32_t inputs = scan->input_count, most = 0;
	w->columns = carve(c, scan->column_count * sizeof(*w->columns));
	w->payloads = carve(c, scan->join_count * sizeof(*w->payloads));
	w->states = carve(c, scan->program_count * sizeof(struct rql_program_state *));
	w->measured = carve(c, scan->step_count * sizeof(*w->measured));
	w->order = carve(c, scan->step_count * sizeof(*w->order));
	for (uint32_t p = 0; p < scan->program_count; p++)
		most = scan->programs[p].program->input_count > most ? scan->programs[p].program->input_count : most;
	w->lanes = carve(c, most * sizeof(*w->lanes));
	w->inputs = carve(c, inputs * sizeof(void *));
	w->input_valid = carve(c, inputs * sizeof(uint64_t *));
	w->operands = carve(c, scan->operand_count * sizeof(void *));
	w->operand_valid = carve(c, scan->operand_count * sizeof(uint64_t *));
	w->mask = carve(c, valid);
	w->bits = carve(c, valid);
	w->other = carve(c, valid);
	w->narrow = carve(c, RQL_SCAN_ROOM * sizeof(*w->narrow));
	w->selected = carve(c, RQL_SCAN_ROOM * sizeof(*w->selected));
	w->groups = carve(c, RQL_VECTOR_ROWS * sizeof(*w->groups));
	w->high = carve(c, scan->layout.wide ? RQL_VECTOR_ROWS * sizeof(*w->high) : 0);
	w->rows = carve(c, RQL_VECTOR_ROWS * sizeof(*w->rows));
	for (uint32_t i = 0; i < scan->column_count; i++) {
		void *data = carve(c, RQL_SCAN_ROOM * lane_bytes(scan->columns[i].lane)), *bits = carve(c, valid);
		if (c->base)
			w->columns[i] = (struct rql_scan_loaded){.data = data, .valid = bits};
	}
	for (uint32_t j = 0; j < scan->join_count; j++) {
		void *data = carve(c, RQL_SCAN_ROOM * sizeof(uint32_t));
		if (c->base)
			w->payloads[j] = (struct rql_scan_loaded){.data = data};
	}
	for (uint32_t i = 0; i < inputs + scan->operand_count; i++) {
		void *data = carve(c, RQL_VECTOR_ROWS * 16), *bits = carve(c, RQL_VECTOR_WORDS * 8);
		if (!c->base)
			continue;
		if (i < inputs) {
			w->inputs[i] = data;
			w->input_valid[i] = bits;
		} else {
			w->operands[i - inputs] = data;
			w->operand_valid[i - inputs] = bits;
		}
	}
}

void rql_scan_worker_free(struct rql_scan_worker *w)
{
	if (!w)
		return;
	if (w->memory) {
		for (uint32_t p = 0; p < w->scan->program_count; p++)
			rql_program_state_free(w->states[p]);
		rql_groups_free(&w->table);
		free(w->memory);
	}
	rql_scan_keyed_free(w);
	rql_error_clear(&w->error);
	free(w);
}

rql_status rql_scan_worker_new(const struct rql_scan *scan, struct rql_scan_worker **out, struct rql_error *err)
{
	struct rql_scan_worker *w = calloc(1, sizeof(*w));
	struct carver c = {0};
	rql_status status = RQL_OK;
	if (!w)
		return rql_error_memory(err, sizeof(*w), "a scan's worker");
	w->scan = scan;
	lay_out(w, &c);
	w->memory = aligned_alloc(64, c.used);
	if (!w->memory) {
		status = rql_error_memory(err, c.used, "a scan's vectors");
		goto error;
	}
	memset(w->memory, 0, c.used);
	c = (struct carver){.base = w->memory};
	lay_out(w, &c);
	for (uint32_t p = 0; p < scan->program_count; p++) {
		status = rql_program_state_new(scan->programs[p].program, scan->simd, &w->states[p], err);
		if (status != RQL_OK)
			goto error;
	}
	for (uint32_t s = 0; s < scan->step_count; s++)
		w->order[s] = s;
	*out = w;
	return RQL_OK;
error:
	rql_scan_worker_free(w);
	return status;
}

/* ---- columns ---- */

uint64_t rql_scan_block_bytes(const struct rql_store_block *block)
{
	uint64_t bytes = sizeof(*block) + (block->validity == RQL_STORE_NONE ? 0 : (uint64_t)block->rows / 8);
	return block->encoding == RQL_STORE_CONSTANT ? bytes : bytes + ((uint64_t)block->rows * block->bits + 7) / 8;
}

/* Gathered values cost a cache line each until that is the whole block. */
static void count_bytes(struct rql_scan_worker *w, const struct rql_store_block *block)
{
	uint64_t whole = rql_scan_block_bytes(block), lines = 64 * (uint64_t)w->left + sizeof(*block);
	w->counts.bytes_read += !w->full && lines < whole ? lines : whole;
}

const struct rql_scan_loaded *rql_scan_load_column(struct rql_scan_worker *w, uint32_t column)
{
	const struct rql_scan *scan = w->scan;
	const struct rql_scan_column *c = &scan->columns[column];
	const struct rql_store_kernels *k = scan->store;
	struct rql_scan_loaded *out = &w->columns[column];
	if (out->generation == w->generation)
		return out;
	const struct rql_store_view *view = &w->segment->columns[c->column];
	uint32_t block = w->block, rows = w->block_rows;
	out->generation = w->generation;
	count_bytes(w, &view->blocks[block]);
	out->nulls = c->nullable && view->blocks[block].nulls > 0;
	if (w->full) {
		if (out->nulls)
			out->nulls = rql_store_decode_validity(k, view, block, 0, rows, out->valid);
		switch (c->lane) {
		case RQL_LANE_I32:
			rql_store_decode_codes(k, view, block, 0, rows, out->data);
			break;
		case RQL_LANE_F64:
			rql_store_decode_double(k, view, block, 0, rows, out->data);
			break;
		case RQL_LANE_I128:
			rql_store_decode_int128(k, view, block, 0, rows, out->data);
			break;
		default:
			rql_store_decode_int64(k, view, block, 0, rows, out->data);
			break;
		}
		return out;
	}
	if (out->nulls)
		(void)rql_store_gather_validity(k, view, block, 0, rows, w->mask, out->valid);
	if (rql_scan_fetch(w, c, out->data))
		return out;
	switch (c->lane) {
	case RQL_LANE_I32:
		(void)rql_store_gather_codes(k, view, block, 0, rows, w->mask, out->data);
		break;
	case RQL_LANE_F64:
		(void)rql_store_gather_double(k, view, block, 0, rows, w->mask, out->data);
		break;
	case RQL_LANE_I128:
		(void)rql_store_gather_int128(k, view, block, 0, rows, w->mask, out->data);
		break;
	default:
		(void)rql_store_gather_int64(k, view, block, 0, rows, w->mask, out->data);
		break;
	}
	return out;
}

/* ---- joins ---- */

#define AHEAD 16u /* rows between the prefetch of a hash table's place and its use */

static inline __attribute__((always_inline)) void probe_all(const struct rql_map *map, bool narrow, const int64_t *keys,
                                                            uint32_t n, uint32_t *out)
{
	const char *table = map->table;
	const uint64_t bytes = narrow ? sizeof(struct rql_map_narrow) : sizeof(struct rql_map_entry);
	for (uint32_t i = 0; i < n; i++) {
		if (i + AHEAD < n)
			__builtin_prefetch(table + rql_map_home(map, rql_map_word(map, keys[i + AHEAD])) * bytes);
		out[i] = rql_map_probe(map, narrow, keys[i]);
	}
}

static void probe_hashed(const struct rql_map *map, const int64_t *keys, uint32_t n, uint32_t *out)
{
	if (rql_map_is_narrow(map))
		probe_all(map, true, keys, n, out);
	else
		probe_all(map, false, keys, n, out);
}

static int64_t key_at(const struct rql_scan_loaded *keys, enum rql_lane_kind lane, uint32_t row)
{
	return lane == RQL_LANE_I32 ? ((const uint32_t *)keys->data)[row] : ((const int64_t *)keys->data)[row];
}

/* Keys of two columns. NULL joins nothing. */
static void probe_pairs(struct rql_scan_worker *w, const struct rql_scan_bound_join *join,
                        const struct rql_scan_loaded *keys, uint32_t *out)
{
	const struct rql_scan_column *a = &w->scan->columns[join->column], *b = &w->scan->columns[join->second];
	const struct rql_scan_loaded *others = rql_scan_load_column(w, join->second);
	for (uint32_t i = 0; i < w->left; i++) {
		int64_t x = key_at(keys, a->lane, i), y = key_at(others, b->lane, i);
		bool null = (a->lane == RQL_LANE_I32 && x == a->null_code) || (b->lane == RQL_LANE_I32 && y == b->null_code) ||
		            (others->nulls && !rql_bit(others->valid, i));
		out[i] = null ? 0 : rql_map_get(join->map, rql_pair_key(&join->pair, x, y));
	}
}

const struct rql_scan_loaded *rql_scan_load_payloads(struct rql_scan_worker *w, uint32_t j)
{
	const struct rql_scan_bound_join *join = &w->scan->joins[j];
	const struct rql_scan_column *c = &w->scan->columns[join->column];
	const struct rql_map *map = join->map;
	struct rql_scan_loaded *out = &w->payloads[j];
	if (out->generation == w->generation)
		return out;
	out->generation = w->generation;
	const struct rql_scan_loaded *keys = rql_scan_load_column(w, join->column);
	uint32_t n = w->left, *found = out->data;
	if (join->second != RQL_NONE) {
		probe_pairs(w, join, keys, found);
	} else if (c->lane == RQL_LANE_I32) {
		const uint32_t *codes = keys->data;
		for (uint32_t i = 0; i < n; i++)
			found[i] = codes[i] == c->null_code ? 0 : rql_map_get(map, codes[i]);
	} else if (map->dense) {
		const int64_t *values = keys->data;
		for (uint32_t i = 0; i < n; i++) {
			uint64_t at = (uint64_t)values[i] - (uint64_t)map->least;
			found[i] = at < map->span ? rql_map_place(map, at) : 0;
		}
	} else {
		probe_hashed(map, keys->data, n, found);
	}
	if (keys->nulls)
		for (uint32_t i = 0; i < n; i++)
			if (!rql_bit(keys->valid, i))
				found[i] = 0;
	for (uint32_t i = 0; i < n && join->absent; i++)
		found[i] = found[i] ? found[i] : join->absent;
	return out;
}

/* ---- sources as lanes ---- */

/* Values of a join's payloads [first, first + n) as int64, and which are NULL; false: none is. */
static bool payload_values(struct rql_scan_worker *w, const struct rql_source *s, uint32_t first, uint32_t n,
                           int64_t *out, uint64_t *valid)
{
	const uint32_t *found = (const uint32_t *)rql_scan_load_payloads(w, s->index)->data + first;
	uint32_t missing = 0;
	for (uint32_t i = 0; i < n; i++) {
		missing += found[i] == 0;
		out[i] = (int64_t)(found[i] - (found[i] != 0));
	}
	if (s->value_of_payload)
		for (uint32_t i = 0; i < n; i++)
			out[i] = found[i] ? s->value_of_payload[out[i]] : 0;
	if (!missing && !s->valid_of_payload)
		return false;
	for (uint32_t start = 0; start < n; start += 64) {
		uint32_t count = n - start < 64 ? n - start : 64;
		uint64_t word = 0;
		for (uint32_t i = 0; i < count; i++)
			word |= (uint64_t)(found[start + i] != 0) << i;
		for (uint32_t i = 0; i < count && s->valid_of_payload; i++)
			if (found[start + i] && !rql_bit(s->valid_of_payload, found[start + i] - 1))
				word &= ~(UINT64_C(1) << i);
		valid[start / 64] = word;
	}
	return true;
}

/* Bits of the codes that are not NULL's; false: all. */
static bool code_valid(const uint32_t *codes, uint32_t n, uint32_t null_code, uint64_t *valid)
{
	uint32_t missing = 0;
	for (uint32_t i = 0; i < n; i++)
		missing += codes[i] == null_code;
	if (!missing)
		return false;
	for (uint32_t first = 0; first < n; first += 64) {
		uint32_t count = n - first < 64 ? n - first : 64;
		uint64_t word = 0;
		for (uint32_t i = 0; i < count; i++)
			word |= (uint64_t)(codes[first + i] != null_code) << i;
		valid[first / 64] = word;
	}
	return true;
}

/* Integers and reals to another kind; to and from do not overlap. BOOL comes as 0 and not 0. */
static void convert(const void *from, enum rql_lane_kind kind, uint32_t n, void *to, enum rql_lane_kind wanted)
{
	const int32_t *i32 = from;
	const int64_t *i64 = from;
	const rql_int128 *i128 = from;
	const double *f64 = from;
	if (wanted == RQL_LANE_BOOL) {
		uint64_t *out = to;
		memset(out, 0, RQL_VECTOR_WORDS * sizeof(*out));
		for (uint32_t i = 0; i < n; i++)
			rql_bit_or(out, i, (kind == RQL_LANE_I32 ? i32[i] : i64[i]) != 0);
	} else if (wanted == RQL_LANE_F32) {
		for (uint32_t i = 0; i < n; i++)
			((float *)to)[i] = (float)f64[i];
	} else if (wanted == RQL_LANE_F64) {
		for (uint32_t i = 0; i < n; i++)
			((double *)to)[i] = ((const float *)from)[i];
	} else if (wanted == RQL_LANE_I128) {
		for (uint32_t i = 0; i < n; i++)
			((rql_int128 *)to)[i] = kind == RQL_LANE_I32 ? i32[i] : i64[i];
	} else if (wanted == RQL_LANE_I64 && kind == RQL_LANE_I32) {
		for (uint32_t i = 0; i < n; i++)
			((int64_t *)to)[i] = i32[i];
	} else if (wanted == RQL_LANE_I64) {
		for (uint32_t i = 0; i < n; i++)
			((int64_t *)to)[i] = (int64_t)i128[i];
	} else if (kind == RQL_LANE_I64) {
		for (uint32_t i = 0; i < n; i++)
			((int32_t *)to)[i] = (int32_t)i64[i];
	} else {
		for (uint32_t i = 0; i < n; i++)
			((int32_t *)to)[i] = (int32_t)i128[i];
	}
}

static unsigned bytes_of(enum rql_lane_kind lane)
{
	return lane == RQL_LANE_I32 || lane == RQL_LANE_F32 ? 4 : lane == RQL_LANE_I128 ? 16 : 8;
}

/* Rows [first, first + n) of a column or join as lanes of a kind: in place, or made in data and valid. */
static struct rql_lanes source_lanes(struct rql_scan_worker *w, const struct rql_source *s, uint32_t first, uint32_t n,
                                     enum rql_lane_kind wanted, void *data, uint64_t *valid)
{
	struct rql_lanes out = {.data = data};
	if (s->kind == RQL_SOURCE_LOOKUP) {
		int64_t *values = (int64_t *)w->groups; /* free until groups are numbered */
		out.valid = payload_values(w, s, first, n, wanted == RQL_LANE_I64 ? data : values, valid) ? valid : NULL;
		if (wanted != RQL_LANE_I64)
			convert(values, RQL_LANE_I64, n, data, wanted);
		return out;
	}
	uint32_t at = w->scan->column_of[s->index];
	const struct rql_scan_column *c = &w->scan->columns[at];
	const struct rql_scan_loaded *loaded = rql_scan_load_column(w, at);
	const char *from = (const char *)loaded->data + (size_t)first * bytes_of(c->lane);
	if (loaded->nulls)
		out.valid = loaded->valid + first / 64;
	if (c->null_code != RQL_NONE && code_valid((const void *)from, n, c->null_code, valid))
		out.valid = valid;
	if (c->lane == wanted)
		out.data = from;
	else
		convert(from, c->lane, n, data, wanted);
	return out;
}

rql_status rql_scan_run_program(struct rql_scan_worker *w, uint32_t program, uint32_t first, uint32_t n)
{
	const struct rql_scan_bound_program *bound = &w->scan->programs[program];
	for (uint32_t i = 0; i < bound->program->input_count; i++)
		w->lanes[i] = source_lanes(w, &bound->inputs[i], first, n, bound->program->inputs[i].kind,
		                           w->inputs[bound->first_input + i], w->input_valid[bound->first_input + i]);
	return rql_program_run(w->states[program], w->lanes, n, NULL, &w->error);
}

struct rql_scan_values rql_scan_operand_values(struct rql_scan_worker *w, uint32_t operand, uint32_t first, uint32_t n)
{
	const struct rql_scan_operand *o = &w->scan->operands[operand];
	struct rql_lanes lanes;
	if (o->source.kind == RQL_SOURCE_PROGRAM) {
		lanes = rql_program_result(w->states[o->source.index], o->source.result);
		if (o->from == RQL_LANE_BOOL) {
			int64_t *out = w->operands[operand];
			const uint64_t *bits = lanes.data;
			for (uint32_t i = 0; i < n; i++)
				out[i] = (int64_t)rql_bit(bits, i);
			lanes.data = out;
		} else if (o->from != o->lane) {
			convert(lanes.data, o->from, n, w->operands[operand], o->lane);
			lanes.data = w->operands[operand];
		}
	} else {
		lanes = source_lanes(w, &o->source, first, n, o->lane, w->operands[operand], w->operand_valid[operand]);
	}
	return (struct rql_scan_values){lanes.data, lanes.valid};
}

/* ---- group numbers ---- */

/* The key codes of one part; what is out of range counts as 0 and makes it false. */
static bool codes_of_values(const struct rql_scan_part *part, const int64_t *values, const int32_t *narrow,
                            const uint64_t *valid, uint32_t n, uint64_t *codes)
{
	bool fits = true;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t key = (uint64_t)(narrow ? narrow[i] : values[i]) - (uint64_t)part->least;
		if (!rql_bit_valid(valid, i))
			key = part->null_key;
		fits &= key < part->key.key_count;
		codes[i] = key < part->key.key_count ? key : 0;
	}
	return fits;
}

static void codes_of_reals(const double *values, uint32_t n, int64_t *codes)
{
	for (uint32_t i = 0; i < n; i++)
		codes[i] = (int64_t)rql_real_code(values[i]);
}

static bool codes_of_codes(const struct rql_scan_part *part, const uint32_t *from, uint32_t n, uint64_t *codes)
{
	bool fits = true;
	if (part->plain) {
		for (uint32_t i = 0; i < n; i++)
			codes[i] = from[i];
		return true;
	}
	for (uint32_t i = 0; i < n; i++) {
		bool known = from[i] < part->codes;
		fits &= known;
		codes[i] = part->key_of_code[known ? from[i] : 0];
	}
	return fits;
}

/* A missing payload is NULL. */
static bool codes_of_payloads(const struct rql_scan_part *part, const uint32_t *found, uint32_t n, uint64_t *codes)
{
	bool fits = true;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t key = found[i] ? part->key_of_code[found[i] - 1] : part->null_key;
		fits &= key < part->key.key_count;
		codes[i] = key < part->key.key_count ? key : 0;
	}
	return fits;
}

static bool program_codes(struct rql_scan_worker *w, const struct rql_scan_part *part, uint32_t n, uint64_t *codes)
{
	const struct rql_source *s = &part->source;
	struct rql_lanes lanes = rql_program_result(w->states[s->index], s->result);
	enum rql_lane_kind kind = w->scan->programs[s->index].program->results[s->result].kind;
	int64_t values[RQL_VECTOR_ROWS];
	if (part->real) {
		double reals[RQL_VECTOR_ROWS];
		if (kind == RQL_LANE_F32)
			convert(lanes.data, kind, n, reals, RQL_LANE_F64);
		codes_of_reals(kind == RQL_LANE_F32 ? reals : lanes.data, n, values);
		return codes_of_values(part, values, NULL, lanes.valid, n, codes);
	}
	if (kind == RQL_LANE_I32)
		return codes_of_values(part, NULL, lanes.data, lanes.valid, n, codes);
	if (kind != RQL_LANE_BOOL)
		return codes_of_values(part, lanes.data, NULL, lanes.valid, n, codes);
	const uint64_t *bits = lanes.data;
	for (uint32_t i = 0; i < n; i++)
		values[i] = (int64_t)rql_bit(bits, i);
	return codes_of_values(part, values, NULL, lanes.valid, n, codes);
}

static bool part_codes(struct rql_scan_worker *w, const struct rql_scan_part *part, uint32_t first, uint32_t n,
                       uint64_t *codes)
{
	const struct rql_scan *scan = w->scan;
	const struct rql_source *s = &part->source;
	if (s->kind == RQL_SOURCE_PROGRAM)
		return program_codes(w, part, n, codes);
	if (s->kind == RQL_SOURCE_LOOKUP) {
		int64_t values[RQL_VECTOR_ROWS];
		uint64_t valid[RQL_VECTOR_WORDS];
		if (part->key_of_code)
			return codes_of_payloads(part, (const uint32_t *)rql_scan_load_payloads(w, s->index)->data + first, n,
			                         codes);
		bool nulls = payload_values(w, s, first, n, values, valid);
		return codes_of_values(part, values, NULL, nulls ? valid : NULL, n, codes);
	}
	uint32_t at = scan->column_of[s->index];
	const struct rql_scan_loaded *loaded = rql_scan_load_column(w, at);
	const uint64_t *valid = loaded->nulls ? loaded->valid + first / 64 : NULL;
	if (scan->columns[at].lane == RQL_LANE_I32) {
		const uint32_t *narrow = (const uint32_t *)loaded->data + first;
		return part->plain || part->key_of_code ? codes_of_codes(part, narrow, n, codes)
		                                        : codes_of_values(part, NULL, (const int32_t *)narrow, NULL, n, codes);
	}
	if (part->real) {
		int64_t reals[RQL_VECTOR_ROWS];
		codes_of_reals((const double *)loaded->data + first, n, reals);
		return codes_of_values(part, reals, NULL, valid, n, codes);
	}
	return codes_of_values(part, (const int64_t *)loaded->data + first, NULL, valid, n, codes);
}

/* Codes side by side in 128 bits. */
static void put_wide(struct rql_scan_worker *w, const struct rql_scan_part *part, const uint64_t *codes, uint32_t n)
{
	uint32_t shift = part->key.shift;
	if (shift >= 64) {
		for (uint32_t i = 0; i < n; i++)
			w->high[i] |= codes[i] << (shift - 64);
		return;
	}
	for (uint32_t i = 0; i < n; i++)
		w->groups[i] |= codes[i] << shift;
	if (shift + part->key.bits > 64)
		for (uint32_t i = 0; i < n; i++)
			w->high[i] |= codes[i] >> (64 - shift);
}

bool rql_scan_number_groups(struct rql_scan_worker *w, uint32_t first, uint32_t n)
{
	const struct rql_scan *scan = w->scan;
	uint64_t codes[RQL_VECTOR_ROWS];
	bool fits = true;
	if (scan->part_count == 1 && !scan->layout.wide)
		return part_codes(w, &scan->parts[0], first, n, w->groups);
	memset(w->groups, 0, n * sizeof(*w->groups));
	if (scan->layout.wide)
		memset(w->high, 0, n * sizeof(*w->high));
	for (uint32_t p = 0; p < scan->part_count; p++) {
		const struct rql_scan_part *part = &scan->parts[p];
		fits &= part_codes(w, part, first, n, codes);
		if (scan->layout.wide)
			put_wide(w, part, codes, n);
		else
			for (uint32_t i = 0; i < n; i++)
				w->groups[i] += codes[i] * part->key.stride;
	}
	return fits;
}

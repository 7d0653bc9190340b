/* Vectors of any form as lanes of programs, as flat columns, and at other rows. */
#include <string.h>
#include "flow/rowset.h"

/* ---- which rows ---- */

const uint32_t *rql_rowset_rows(const struct rql_rowset *set, uint64_t first, uint32_t n, uint32_t *room)
{
	if (set->selection)
		return set->selection + first;
	for (uint32_t i = 0; i < n; i++)
		room[i] = (uint32_t)(first + i);
	return room;
}

bool rql_vector_nullable(const struct rql_vector *v)
{
	if (v->outer)
		return true;
	switch (v->kind) {
	case RQL_VECTOR_COLUMN:
		return v->values->validity != NULL;
	case RQL_VECTOR_CODES:
		return v->values ? v->values->validity != NULL : v->null_code != UINT32_MAX;
	case RQL_VECTOR_WIDE:
		return v->null_wide != UINT64_MAX;
	default:
		return v->valid != NULL;
	}
}

/* Where the rows lie in the vector itself. Rows that are not there are NULL, and read as row 0. */
static const uint32_t *resolve(const struct rql_vector *v, const uint32_t *rows, uint32_t n, uint32_t *room,
                               uint64_t *valid)
{
	if (!v->at)
		return rows;
	for (uint32_t i = 0; i < n; i++)
		room[i] = v->at[rows[i]];
	for (uint32_t i = 0; i < n && v->outer; i++)
		if (room[i] == RQL_NO_ROW) {
			room[i] = 0;
			rql_bit_clear(valid, i);
		}
	return room;
}

/* NULLs of rows that are there. */
static void find_nulls(const struct rql_vector *v, const uint32_t *at, uint32_t n, uint64_t *valid)
{
	const uint64_t *column = (v->kind == RQL_VECTOR_COLUMN || v->kind == RQL_VECTOR_CODES) && v->values
	                             ? v->values->validity
	                             : NULL;
	if (v->kind == RQL_VECTOR_CODES && column) {
		for (uint32_t i = 0; i < n; i++)
			if (!rql_bit(column, v->codes[at[i]]))
				rql_bit_clear(valid, i);
	} else if (v->kind == RQL_VECTOR_CODES && !v->values && v->null_code != UINT32_MAX) {
		for (uint32_t i = 0; i < n; i++)
			if (v->codes[at[i]] == v->null_code)
				rql_bit_clear(valid, i);
	} else if (v->kind == RQL_VECTOR_WIDE && v->null_wide != UINT64_MAX) {
		for (uint32_t i = 0; i < n; i++)
			if (v->wide[at[i]] == v->null_wide)
				rql_bit_clear(valid, i);
	}
	const uint64_t *bits = v->kind == RQL_VECTOR_COLUMN                                         ? column
	                       : v->kind == RQL_VECTOR_INTEGER || v->kind == RQL_VECTOR_REAL ? v->valid
	                                                                                     : NULL;
	for (uint32_t i = 0; bits && i < n; i++)
		if (!rql_bit(bits, at[i]))
			rql_bit_clear(valid, i);
}

/* ---- values ---- */

#define EACH(D, value)                                                                                                 \
	for (uint32_t i = 0; i < n; i++)                                                                                   \
	((D *)data)[i] = (D)(value)

/* The column's rows codes[at[i]], or at[i] where there are no codes. */
#define FROM(S, D)                                                                                                     \
	do {                                                                                                               \
		const S *from = column->data;                                                                                  \
		if (codes)                                                                                                     \
			EACH(D, from[codes[at[i]]]);                                                                               \
		else                                                                                                           \
			EACH(D, from[at[i]]);                                                                                      \
	} while (0)

#define FROM_COLUMN(D)                                                                                                 \
	do {                                                                                                               \
		if (column->type.id == RQL_TYPE_FLOAT)                                                                         \
			FROM(float, D);                                                                                            \
		else if (column->type.id == RQL_TYPE_DOUBLE)                                                                   \
			FROM(double, D);                                                                                           \
		else if (bytes == 16)                                                                                          \
			FROM(rql_int128, D);                                                                                       \
		else if (bytes == 8 && is_signed)                                                                              \
			FROM(int64_t, D);                                                                                          \
		else if (bytes == 8)                                                                                           \
			FROM(uint64_t, D);                                                                                         \
		else if (bytes == 4 && is_signed)                                                                              \
			FROM(int32_t, D);                                                                                          \
		else if (bytes == 4)                                                                                           \
			FROM(uint32_t, D);                                                                                         \
		else if (bytes == 2 && is_signed)                                                                              \
			FROM(int16_t, D);                                                                                          \
		else if (bytes == 2)                                                                                           \
			FROM(uint16_t, D);                                                                                         \
		else if (is_signed)                                                                                            \
			FROM(int8_t, D);                                                                                           \
		else                                                                                                           \
			FROM(uint8_t, D);                                                                                          \
	} while (0)

/* Of the vector's forms; integers wrap, as a lane's kind holds all values of the type. */
#define LOAD(D)                                                                                                        \
	static void load_##D(const struct rql_vector *v, const uint32_t *at, uint32_t n, D *data)                          \
	{                                                                                                                  \
		const struct rql_column *column = v->values;                                                                   \
		const uint32_t *codes = v->kind == RQL_VECTOR_CODES ? v->codes : NULL;                                         \
		const uint64_t least = (uint64_t)v->least;                                                                     \
		unsigned bytes = rql_type_bytes(v->type);                                                                      \
		bool is_signed = rql_type_is_signed(v->type);                                                                  \
		if (v->kind == RQL_VECTOR_INTEGER)                                                                             \
			EACH(D, v->integer[at[i]]);                                                                                \
		else if (v->kind == RQL_VECTOR_REAL)                                                                           \
			EACH(D, v->real[at[i]]);                                                                                   \
		else if (v->kind == RQL_VECTOR_WIDE)                                                                           \
			EACH(D, (int64_t)(least + v->wide[at[i]]));                                                                \
		else if (!column)                                                                                              \
			EACH(D, (int64_t)(least + codes[at[i]]));                                                                  \
		else                                                                                                           \
			FROM_COLUMN(D);                                                                                            \
	}
LOAD(int32_t)
LOAD(int64_t)
LOAD(rql_int128)
LOAD(float)
LOAD(double)

static void pack_bits(const int32_t *from, uint32_t n, uint64_t *data)
{
	memset(data, 0, RQL_VECTOR_WORDS * sizeof *data);
	for (uint32_t i = 0; i < n; i++)
		rql_bit_or(data, i, from[i] != 0);
}

void rql_vector_load(const struct rql_vector *v, const uint32_t *rows, uint32_t n, enum rql_lane_kind kind, void *data,
                     uint64_t *valid, struct rql_lanes *out)
{
	uint32_t room[RQL_VECTOR_ROWS];
	room[0] = 0;
	bool nullable = rql_vector_nullable(v);
	if (nullable)
		memset(valid, 0xff, RQL_VECTOR_WORDS * sizeof *valid);
	const uint32_t *at = resolve(v, rows, n, room, valid);
	if (nullable)
		find_nulls(v, at, n, valid);
	if (kind == RQL_LANE_BOOL) {
		int32_t wide[RQL_VECTOR_ROWS];
		load_int32_t(v, at, n, wide);
		pack_bits(wide, n, data);
	} else if (kind == RQL_LANE_I32) {
		load_int32_t(v, at, n, data);
	} else if (kind == RQL_LANE_I64) {
		load_int64_t(v, at, n, data);
	} else if (kind == RQL_LANE_I128) {
		load_rql_int128(v, at, n, data);
	} else if (kind == RQL_LANE_F32) {
		load_float(v, at, n, data);
	} else {
		load_double(v, at, n, data);
	}
	*out = (struct rql_lanes){data, nullable ? valid : NULL};
}

void rql_vector_valid(const struct rql_vector *v, const uint32_t *rows, uint32_t n, uint64_t *valid)
{
	uint32_t room[RQL_VECTOR_ROWS];
	room[0] = 0;
	memset(valid, 0xff, RQL_VECTOR_WORDS * sizeof *valid);
	find_nulls(v, resolve(v, rows, n, room, valid), n, valid);
}

/* ---- flat columns ---- */

rql_status rql_column_room(struct rql_running *r, struct rql_type type, uint64_t rows, bool nullable,
                           struct rql_column **out)
{
	struct rql_column *column = RQL_NEW(r->arena, struct rql_column);
	if (!column)
		return rql_error_memory(r->err, sizeof *column, "rows of an operator");
	column->type = type;
	if (!(column->data = rql_running_room(r, rows, rql_type_bytes(type))))
		return r->refused;
	if (nullable)
		RQL_TRY(RQL_ROOM(r, column->validity, (rows + 63) / 64));
	*out = column;
	return RQL_OK;
}

struct bytes16 {
	uint64_t word[2];
};

static void store_column(const struct rql_vector *v, const uint32_t *at, uint32_t n, void *data)
{
	const struct rql_column *column = v->values;
	const uint32_t *codes = v->kind == RQL_VECTOR_CODES ? v->codes : NULL;
	switch (rql_type_bytes(v->type)) {
	case 1:
		FROM(uint8_t, uint8_t);
		break;
	case 2:
		FROM(uint16_t, uint16_t);
		break;
	case 4:
		FROM(uint32_t, uint32_t);
		break;
	case 8:
		FROM(uint64_t, uint64_t);
		break;
	default: {
		const struct bytes16 *from = column->data;
		struct bytes16 *to = data;
		for (uint32_t i = 0; i < n; i++)
			to[i] = from[codes ? codes[at[i]] : at[i]];
	}
	}
}

static void narrow(const int64_t *wide, uint32_t n, unsigned bytes, void *data)
{
	if (bytes == 8)
		memcpy(data, wide, n * sizeof *wide);
	else if (bytes == 4)
		EACH(uint32_t, wide[i]);
	else if (bytes == 2)
		EACH(uint16_t, wide[i]);
	else
		EACH(uint8_t, wide[i]);
}

void rql_vector_store(const struct rql_vector *v, const uint32_t *rows, uint32_t n, struct rql_column *column,
                      uint64_t first)
{
	uint32_t room[RQL_VECTOR_ROWS];
	uint64_t valid[RQL_VECTOR_WORDS];
	room[0] = 0;
	unsigned bytes = rql_type_bytes(v->type);
	char *to = (char *)column->data + first * bytes;
	memset(valid, 0xff, sizeof valid);
	const uint32_t *at = resolve(v, rows, n, room, valid);
	if (column->validity) {
		find_nulls(v, at, n, valid);
		memcpy(column->validity + first / 64, valid, (n + 63) / 64 * sizeof *valid);
	}
	if (v->values) {
		store_column(v, at, n, to);
	} else if (v->kind == RQL_VECTOR_REAL && v->type.id == RQL_TYPE_FLOAT) {
		load_float(v, at, n, (float *)(void *)to);
	} else if (v->kind == RQL_VECTOR_REAL) {
		load_double(v, at, n, (double *)(void *)to);
	} else if (bytes == 16) {
		load_rql_int128(v, at, n, (rql_int128 *)(void *)to);
	} else {
		int64_t wide[RQL_VECTOR_ROWS];
		load_int64_t(v, at, n, wide);
		narrow(wide, n, bytes, to);
	}
}

struct storing {
	const struct rql_vector *vector;
	struct rql_column *column;
};

static rql_status store_rows(void *state, uint64_t first, uint64_t rows, unsigned worker, struct rql_error *err)
{
	const struct storing *s = state;
	uint32_t numbers[RQL_VECTOR_ROWS];
	(void)worker, (void)err;
	for (uint64_t i = 0; i < rows; i += RQL_VECTOR_ROWS) {
		uint32_t n = rql_vector_part(i, rows);
		for (uint32_t k = 0; k < n; k++)
			numbers[k] = (uint32_t)(first + i + k);
		rql_vector_store(s->vector, numbers, n, s->column, first + i);
	}
	return RQL_OK;
}

rql_status rql_vector_flatten(struct rql_running *r, const struct rql_rowset *set, struct rql_vector *v)
{
	struct storing s = {.vector = v};
	if (!v->at)
		return RQL_OK;
	RQL_TRY(rql_column_room(r, v->type, set->capacity, rql_vector_nullable(v), &s.column));
	RQL_TRY(rql_morsels_run(r, set->capacity, store_rows, &s));
	*v = (struct rql_vector){.kind = RQL_VECTOR_COLUMN, .type = v->type, .values = s.column};
	return RQL_OK;
}

/* ---- other rows of the same vectors ---- */

struct composing {
	const uint32_t *of, *at;
	uint32_t *out;
};

static rql_status compose(void *state, uint64_t first, uint64_t rows, unsigned worker, struct rql_error *err)
{
	const struct composing *c = state;
	(void)worker, (void)err;
	for (uint64_t i = first; i < first + rows; i++)
		c->out[i] = c->at[i] == RQL_NO_ROW ? RQL_NO_ROW : c->of[c->at[i]];
	return RQL_OK;
}

/* All rows are NULL: a vector without rows has no row 0 that could be read in their stead. */
static rql_status nothing(struct rql_running *r, struct rql_type type, const uint32_t *at, struct rql_vector *out)
{
	*out = (struct rql_vector){.kind = RQL_VECTOR_COLUMN, .type = type, .at = at, .outer = true};
	struct rql_column *column = NULL;
	RQL_TRY(rql_column_room(r, type, 1, true, &column));
	out->values = column;
	return RQL_OK;
}

rql_status rql_vectors_at(struct rql_running *r, const struct rql_rowset *set, const uint32_t *at, uint64_t rows,
                          bool outer, struct rql_vector *out)
{
	for (uint32_t v = 0; v < set->vector_count; v++) {
		const struct rql_vector *from = &set->vectors[v];
		uint32_t same = 0;
		if (!set->capacity) {
			RQL_TRY(nothing(r, from->type, at, &out[v]));
			continue;
		}
		out[v] = *from;
		out[v].outer |= outer;
		out[v].rank = 0;
		if (!from->at) {
			out[v].at = at;
			continue;
		}
		while (set->vectors[same].at != from->at)
			same++;
		if (same < v) { /* vectors that came together stay together */
			out[v].at = out[same].at;
			continue;
		}
		struct composing c = {.of = from->at, .at = at};
		RQL_TRY(RQL_ROOM(r, c.out, rows));
		RQL_TRY(rql_morsels_run(r, rows, compose, &c));
		out[v].at = c.out;
	}
	return RQL_OK;
}

rql_status rql_rowset_rebase(struct rql_running *r, struct rql_rowset *set)
{
	if (!set->selection) {
		set->capacity = set->rows;
		return RQL_OK;
	}
	struct rql_vector *vectors = RQL_NEW_ARRAY(r->arena, struct rql_vector, set->vector_count);
	if (!vectors)
		return rql_error_memory(r->err, 0, "rows of an operator");
	RQL_TRY(rql_vectors_at(r, set, set->selection, set->rows, false, vectors));
	for (uint32_t v = 0; v < set->vector_count; v++)
		vectors[v].rank = set->vectors[v].rank; /* the rows are in the same order */
	set->vectors = vectors;
	set->capacity = set->rows;
	set->selection = NULL;
	return RQL_OK;
}

rql_status rql_vector_constant(struct rql_running *r, const struct rql_value *value, uint64_t rows,
                               struct rql_vector *out)
{
	struct rql_column *column = NULL;
	uint32_t *zeros = NULL;
	RQL_TRY(rql_column_room(r, value->type, 1, value->is_null, &column));
	RQL_TRY(RQL_ROOM(r, zeros, rows));
	if (!value->is_null)
		rql_column_put(column, 0, value);
	*out = (struct rql_vector){.kind = RQL_VECTOR_COLUMN, .type = value->type, .values = column, .at = zeros};
	return RQL_OK;
}

/* Columns in the host's layout as lanes. */
#include "expr/expr_internal.h"

#define WIDEN(S, D)                                                                                                    \
	for (uint32_t r = 0; r < rows; r++)                                                                                \
		((D *)data)[r] = (D)((const S *)source)[r];                                                                    \
	return true;
#define WIDEN_TO(D)                                                                                                    \
	switch (bytes) {                                                                                                   \
	case 1:                                                                                                            \
		if (is_signed) {                                                                                               \
			WIDEN(int8_t, D)                                                                                           \
		}                                                                                                              \
		WIDEN(uint8_t, D)                                                                                              \
	case 2:                                                                                                            \
		if (is_signed) {                                                                                               \
			WIDEN(int16_t, D)                                                                                          \
		}                                                                                                              \
		WIDEN(uint16_t, D)                                                                                             \
	case 4:                                                                                                            \
		if (is_signed) {                                                                                               \
			WIDEN(int32_t, D)                                                                                          \
		}                                                                                                              \
		WIDEN(uint32_t, D)                                                                                             \
	case 8:                                                                                                            \
		if (is_signed) {                                                                                               \
			WIDEN(int64_t, D)                                                                                          \
		}                                                                                                              \
		WIDEN(uint64_t, D)                                                                                             \
	default:                                                                                                           \
		WIDEN(rql_int128, D)                                                                                           \
	}

static bool load_integers(const void *source, unsigned bytes, bool is_signed, enum rql_lane_kind kind, uint32_t rows,
                          void *data)
{
	if (kind == RQL_LANE_I32) {
		WIDEN_TO(int32_t)
	}
	if (kind == RQL_LANE_I64) {
		WIDEN_TO(int64_t)
	}
	WIDEN_TO(rql_int128)
}

static void load_bits(const uint8_t *source, uint32_t rows, uint64_t *data)
{
	memset(data, 0, RQL_VECTOR_WORDS * sizeof(*data));
	for (uint32_t r = 0; r < rows; r++)
		rql_bit_or(data, r, source[r] != 0);
}

bool rql_lanes_load(const struct rql_column *column, uint64_t first, uint32_t rows, enum rql_lane_kind kind, void *data,
                    uint64_t *valid, struct rql_lanes *out)
{
	unsigned bytes = rql_type_bytes(column->type);
	const uint8_t *source = (const uint8_t *)column->data + first * bytes;
	bool real = column->type.id == RQL_TYPE_FLOAT || column->type.id == RQL_TYPE_DOUBLE, done = true;
	bool integer = kind == RQL_LANE_I32 || kind == RQL_LANE_I64 || kind == RQL_LANE_I128;
	if (!column->data || rows > RQL_VECTOR_ROWS || (!real && !rql_type_is_integral(column->type)))
		return false;
	if (kind == RQL_LANE_BOOL && column->type.id == RQL_TYPE_BOOLEAN)
		load_bits(source, rows, data);
	else if (real && kind == (column->type.id == RQL_TYPE_FLOAT ? RQL_LANE_F32 : RQL_LANE_F64))
		memcpy(data, source, (size_t)rows * bytes);
	else if (!real && integer)
		done = load_integers(source, bytes, rql_type_is_signed(column->type), kind, rows, data);
	else
		return false;
	if (column->validity) {
		memset(valid, 0, RQL_VECTOR_WORDS * sizeof(*valid));
		rql_bits_copy(valid, 0, column->validity, first, rows);
	}
	*out = (struct rql_lanes){data, column->validity ? valid : NULL};
	return done;
}

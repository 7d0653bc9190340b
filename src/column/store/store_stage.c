/* Which types a store takes, and the way of their values into a block's rows and back. */
#include "column/store/store_internal.h"

bool rql_store_kind_of(struct rql_type type, enum rql_store_kind *kind, bool *coded_only)
{
	*coded_only = false;
	switch (type.id) {
	case RQL_TYPE_VARCHAR:
	case RQL_TYPE_BLOB:
	case RQL_TYPE_ENUM:
	case RQL_TYPE_UUID:
		*coded_only = true;
		*kind = RQL_STORE_CODED;
		return true;
	case RQL_TYPE_FLOAT:
	case RQL_TYPE_DOUBLE:
		*kind = RQL_STORE_REAL;
		return true;
	default:
		*kind = RQL_STORE_INTEGER;
		return rql_type_is_integral(type);
	}
}

bool rql_store_can_hold(struct rql_type type)
{
	enum rql_store_kind kind;
	bool coded_only;
	return rql_store_kind_of(type, &kind, &coded_only);
}

/* NULL bits behind those that are there; NULL: there are none. */
static void stage_validity(struct rql_store_rows *rows, const uint64_t *validity, uint64_t first, uint32_t count)
{
	rql_bits_copy(rows->validity, rows->rows, validity, first, count);
	if (validity)
		rows->has_null |= !rql_bits_all(rows->validity, rows->rows + count);
}

static void load(struct rql_type type, const void *data, uint64_t first, uint32_t count, uint64_t *out)
{
#define LOAD(ctype, convert)                                                                                           \
	do {                                                                                                               \
		const ctype *values = (const ctype *)data + first;                                                             \
		for (uint32_t i = 0; i < count; i++)                                                                           \
			out[i] = convert values[i];                                                                                \
		return;                                                                                                        \
	} while (0)
	bool is_signed = rql_type_is_signed(type) && type.id != RQL_TYPE_FLOAT;
	switch (rql_type_bytes(type)) {
	case 1:
		if (is_signed)
			LOAD(int8_t, (uint64_t)(int64_t));
		LOAD(uint8_t, );
	case 2:
		if (is_signed)
			LOAD(int16_t, (uint64_t)(int64_t));
		LOAD(uint16_t, );
	case 4:
		if (is_signed)
			LOAD(int32_t, (uint64_t)(int64_t));
		LOAD(uint32_t, ); /* FLOAT too: its bits */
	default:
		memcpy(out, (const uint64_t *)data + first, count * sizeof(*out));
	}
#undef LOAD
}

void rql_store_stage(struct rql_store_rows *rows, const struct rql_column *column, uint64_t first, uint32_t count)
{
	stage_validity(rows, column->validity, first, count);
	if (!rows->is_wide) {
		load(column->type, column->data, first, count, rows->words + rows->rows);
	} else if (rql_type_bytes(column->type) == 16) {
		memcpy(rows->wide + rows->rows, (const rql_int128 *)column->data + first, count * sizeof(rql_int128));
	} else {
		const uint64_t *values = (const uint64_t *)column->data + first; /* UBIGINT */
		for (uint32_t i = 0; i < count; i++)
			rows->wide[rows->rows + i] = values[i];
	}
	rows->rows += count;
}

void rql_store_stage_codes(struct rql_store_rows *rows, const uint32_t *codes, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		rows->words[rows->rows + i] = codes[i];
	rql_bits_copy(rows->validity, rows->rows, NULL, 0, count);
	rows->rows += count;
}

void rql_store_unstage(struct rql_type type, const int64_t *values, uint32_t count, void *out)
{
#define STORE(ctype)                                                                                                   \
	do {                                                                                                               \
		for (uint32_t i = 0; i < count; i++)                                                                           \
			((ctype *)out)[i] = (ctype)values[i];                                                                      \
		return;                                                                                                        \
	} while (0)
	switch (rql_type_bytes(type)) {
	case 1:
		STORE(uint8_t);
	case 2:
		STORE(uint16_t);
	case 4:
		STORE(uint32_t);
	default:
		STORE(uint64_t);
	}
#undef STORE
}

void rql_store_rows_clear(struct rql_store_rows *rows, struct rql_type type, enum rql_store_kind kind)
{
	rows->rows = 0;
	rows->has_null = false;
	rows->is_wide = kind == RQL_STORE_INTEGER && rql_store_type_wide(type);
	memset(rows->validity, 0, sizeof rows->validity);
}

void rql_store_rows_load(const struct rql_store_kernels *k, const struct rql_store_view *view, uint32_t block,
                         struct rql_store_rows *out)
{
	uint32_t count = view->blocks[block].rows;
	rql_store_rows_clear(out, view->type, view->kind);
	if (view->kind == RQL_STORE_CODED) {
		uint32_t codes[RQL_STORE_BLOCK];
		rql_store_decode_codes(k, view, block, 0, count, codes);
		rql_store_stage_codes(out, codes, count);
		return;
	}
	if (out->is_wide)
		rql_store_decode_int128(k, view, block, 0, count, out->wide);
	else
		rql_store_decode_words(k, view, &view->blocks[block], 0, count, out->words);
	out->rows = count;
	out->has_null = rql_store_decode_validity(k, view, block, 0, count, out->validity);
}

void rql_store_rows_append(struct rql_store_rows *to, const struct rql_store_rows *from, uint32_t first, uint32_t count)
{
	if (to->is_wide)
		memcpy(to->wide + to->rows, from->wide + first, count * sizeof(*to->wide));
	else
		memcpy(to->words + to->rows, from->words + first, count * sizeof(*to->words));
	stage_validity(to, from->has_null ? from->validity : NULL, first, count);
	to->rows += count;
}

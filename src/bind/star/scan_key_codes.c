/* Keys of a dimension's column as those of the fact table's column. */
#include "bind/star/scan_key_codes.h"
#include "bind/star/scan_map.h"

#include <stdatomic.h>

/* So many places a code, and some more, a table of a dictionary's integers may have; beyond they are searched for. */
#define PLACES_PER_CODE 8u
#define PLACES_ANYWAY 65536u

/* The code of a value in the fact table's dictionary. */
static bool code_of(const struct rql_dimension *d, const struct rql_value *value, int64_t *out)
{
	uint32_t low = 0, high = d->count - d->has_null;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		struct rql_value v = rql_column_get(&d->values, middle);
		int order = rql_value_compare(&v, value);
		if (order == 0) {
			*out = middle;
			return true;
		}
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

/* The key of row `row` of a column of the type of stored; false: no row of the fact table has it. */
static bool key_of_value(const struct rql_store_column *stored, const struct rql_column *column, uint64_t row,
                         int64_t *out)
{
	if (!rql_column_valid(column, row))
		return false;
	if (stored->kind == RQL_STORE_INTEGER && (column->type.id == RQL_TYPE_INTEGER || column->type.id == RQL_TYPE_BIGINT)) {
		*out = column->type.id == RQL_TYPE_BIGINT ? ((const int64_t *)column->data)[row]
		                                          : ((const int32_t *)column->data)[row];
		return *out >= stored->least && *out <= stored->greatest;
	}
	struct rql_value v = rql_column_get(column, row);
	if (stored->kind == RQL_STORE_CODED)
		return code_of(stored->dimension, &v, out);
	*out = (int64_t)v.integer;
	return v.integer >= stored->least && v.integer <= stored->greatest;
}

bool rql_key_of_row(const struct rql_scan_keys *at, const struct rql_column *columns, uint64_t row, int64_t *out)
{
	int64_t first, second;
	if (!key_of_value(at->first, &columns[0], row, &first))
		return false;
	*out = first;
	if (!at->second)
		return true;
	if (!key_of_value(at->second, &columns[1], row, &second))
		return false;
	*out = rql_pair_key(&at->pair, first, second);
	return true;
}

/* ---- of many rows ---- */

#define PIECE_ROWS (UINT64_C(1) << 14) /* that one thread reads at a time */

struct reading {
	const struct rql_scan_keys *at;
	const struct rql_column *columns;
	uint64_t rows;
	int64_t *keys;
	int32_t *payloads;
	_Atomic bool null;
};

static void read_piece(void *state, uint64_t index, unsigned worker)
{
	struct reading *r = state;
	uint64_t first = index * PIECE_ROWS, end = first + PIECE_ROWS < r->rows ? first + PIECE_ROWS : r->rows;
	bool null = false;
	(void)worker;
	for (uint64_t i = first; i < end; i++) {
		null |= !rql_column_valid(&r->columns[0], i) || (r->at->second && !rql_column_valid(&r->columns[1], i));
		r->payloads[i] = rql_key_of_row(r->at, r->columns, i, &r->keys[i]) ? (int32_t)i : -1;
	}
	if (null)
		r->null = true;
}

void rql_keys_of_rows(const struct rql_scan_keys *at, const struct rql_column *columns, uint64_t rows,
                      struct rql_pool *pool, int64_t *keys, int32_t *payloads, bool *null)
{
	struct reading r = {.at = at, .columns = columns, .rows = rows, .keys = keys, .payloads = payloads};
	rql_pool_each(pool, (rows + PIECE_ROWS - 1) / PIECE_ROWS, read_piece, &r);
	*null = r.null;
}

bool rql_keys_as_they_lie(const struct rql_scan_keys *at, const struct rql_column *column, struct rql_map_part *out)
{
	const struct rql_store_column *stored = at->first;
	bool narrow = column->type.id == RQL_TYPE_INTEGER;
	if (at->second || stored->kind != RQL_STORE_INTEGER || column->validity || (!narrow && column->type.id != RQL_TYPE_BIGINT))
		return false;
	*out = (struct rql_map_part){.keys = narrow ? NULL : column->data,
	                             .narrow = narrow ? column->data : NULL,
	                             .numbered = true,
	                             .least = stored->least,
	                             .greatest = stored->greatest};
	return true;
}

/* ---- of codes ---- */

/* Codes of one dictionary as what the other column has. */
static bool of_codes(struct rql_arena *arena, const struct rql_store_column *from, const struct rql_store_column *to,
                     struct rql_key_codes *out)
{
	uint32_t count = from->dimension->count;
	int64_t *keys = RQL_NEW_ARRAY(arena, int64_t, count);
	uint64_t *there = RQL_NEW_ARRAY(arena, uint64_t, count / 64 + 1u);
	if (!keys || !there)
		return false;
	for (uint32_t code = 0; code < count; code++)
		if (key_of_value(to, &from->dimension->values, code, &keys[code]))
			rql_bit_set(there, code);
	*out = (struct rql_key_codes){.greatest = (int64_t)count - 1, .keys = keys, .there = there};
	return true;
}

/* Integers as codes of a dictionary of integers, which ascend. */
static bool to_codes(struct rql_arena *arena, const struct rql_store_column *to, struct rql_key_codes *out)
{
	const struct rql_dimension *d = to->dimension;
	uint32_t count = d->count - d->has_null;
	int64_t *sorted = RQL_NEW_ARRAY(arena, int64_t, count + 1u);
	if (!sorted)
		return false;
	for (uint32_t code = 0; code < count; code++)
		sorted[code] = (int64_t)rql_column_get(&d->values, code).integer;
	*out = (struct rql_key_codes){.least = 1, .sorted = sorted, .sorted_count = count};
	if (!count)
		return true;
	out->least = sorted[0];
	out->greatest = sorted[count - 1];
	uint64_t places = (uint64_t)out->greatest - (uint64_t)out->least;
	if (places >= (uint64_t)count * PLACES_PER_CODE + PLACES_ANYWAY)
		return true;
	int64_t *keys = RQL_NEW_ARRAY(arena, int64_t, places + 1);
	uint64_t *there = RQL_NEW_ARRAY(arena, uint64_t, places / 64 + 1);
	if (!keys || !there)
		return false;
	for (uint32_t code = 0; code < count; code++) {
		uint64_t at = (uint64_t)sorted[code] - (uint64_t)out->least;
		keys[at] = code;
		rql_bit_set(there, at);
	}
	out->keys = keys;
	out->there = there;
	out->sorted = NULL;
	return true;
}

rql_status rql_key_codes_make(struct rql_arena *arena, const struct rql_store_column *from,
                              const struct rql_store_column *to, struct rql_key_codes *out, struct rql_error *err)
{
	bool ok = true;
	if (from->kind == RQL_STORE_CODED)
		ok = of_codes(arena, from, to, out);
	else if (to->kind == RQL_STORE_CODED)
		ok = to_codes(arena, to, out);
	else
		*out = (struct rql_key_codes){.least = (int64_t)to->least, .greatest = (int64_t)to->greatest};
	return ok ? RQL_OK : rql_error_memory(err, 0, "a join");
}

static rql_int128 span_of(const struct rql_store_column *column, int64_t *least)
{
	bool coded = column->kind == RQL_STORE_CODED;
	*least = coded ? 0 : (int64_t)column->least;
	return coded ? column->dimension->count + 1 : column->greatest - column->least + 1;
}

bool rql_scan_keys_make(const struct rql_store_column *first, const struct rql_store_column *second,
                        struct rql_scan_keys *out)
{
	*out = (struct rql_scan_keys){.first = first, .second = second};
	if (!second)
		return true;
	rql_int128 span = span_of(first, &out->pair.least), other = span_of(second, &out->pair.second_least);
	out->pair.second_span = (uint64_t)other;
	return other < ((rql_int128)1 << 62) && span < ((rql_int128)1 << 62) / other;
}

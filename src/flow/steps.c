/* What filters, projections, orders and limits do with rows; and rows as a batch. */
#include <string.h>
#include "flow/rowset.h"

static rql_status out_of_memory(const struct rql_rowset *set, struct rql_error *err)
{
	return rql_error_memory(err, set->rows * sizeof(struct rql_value), "finishing an answer");
}

static rql_status filter(struct rql_rowset *set, const struct rql_rel *rel, struct rql_error *err)
{
	uint32_t *kept = RQL_NEW_ARRAY(set->arena, uint32_t, set->rows);
	uint64_t n = 0;
	if (!kept)
		return out_of_memory(set, err);
	for (uint64_t i = 0; i < set->rows; i++) {
		uint32_t row = rql_rowset_row(set, i);
		bool pass = true;
		for (uint32_t c = 0; pass && c < rel->expr_count; c++) {
			struct rql_value v;
			RQL_TRY(rql_rowset_eval(set, rel->exprs[c], row, &v, err));
			pass = !v.is_null && v.integer;
		}
		if (pass)
			kept[n++] = row;
	}
	set->selection = kept;
	set->rows = n;
	return RQL_OK;
}

static rql_status project(struct rql_rowset *set, const struct rql_rel *rel, struct rql_error *err)
{
	struct rql_vector *vectors = RQL_NEW_ARRAY(set->arena, struct rql_vector, rel->expr_count);
	if (!vectors)
		return out_of_memory(set, err);
	for (uint32_t c = 0; c < rel->expr_count; c++) {
		const struct rql_expr *e = rel->exprs[c];
		if (e->kind == RQL_EXPR_REF) {
			vectors[c] = set->vectors[e->index];
			continue;
		}
		vectors[c] = (struct rql_vector){.kind = RQL_VECTOR_VALUES, .type = e->type};
		if (!(vectors[c].computed = RQL_NEW_ARRAY(set->arena, struct rql_value, set->capacity)))
			return out_of_memory(set, err);
		for (uint64_t i = 0; i < set->rows; i++) {
			uint32_t row = rql_rowset_row(set, i);
			RQL_TRY(rql_rowset_eval(set, e, row, &vectors[c].computed[row], err));
		}
	}
	set->vectors = vectors;
	set->vector_count = rel->expr_count;
	return RQL_OK;
}

static rql_status limit(struct rql_rowset *set, uint64_t count, uint64_t offset, struct rql_error *err)
{
	if (offset > set->rows)
		offset = set->rows;
	uint64_t rows = set->rows - offset < count ? set->rows - offset : count;
	if (offset) {
		uint32_t *kept = RQL_NEW_ARRAY(set->arena, uint32_t, rows);
		if (!kept)
			return out_of_memory(set, err);
		for (uint64_t i = 0; i < rows; i++)
			kept[i] = rql_rowset_row(set, offset + i);
		set->selection = kept;
	}
	set->rows = rows;
	return RQL_OK;
}

static uint64_t sum_saturated(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

rql_status rql_rowset_step(struct rql_rowset *set, const struct rql_rel *rel, struct rql_error *err)
{
	switch (rel->kind) {
	case RQL_REL_FILTER:
		return filter(set, rel, err);
	case RQL_REL_PROJECT:
		return project(set, rel, err);
	case RQL_REL_ORDER:
		return rql_rowset_sort(set, rel->orders, rel->order_count, UINT64_MAX, err);
	case RQL_REL_TOP_N:
		RQL_TRY(rql_rowset_sort(set, rel->orders, rel->order_count, sum_saturated(rel->limit, rel->offset), err));
		return limit(set, rel->limit, rel->offset, err);
	case RQL_REL_LIMIT:
		return limit(set, rel->limit, rel->offset, err);
	default:
		return rql_error_set(err, RQL_ERROR_INTERNAL, "%s is no native operator", rql_rel_phrase(rel));
	}
}

/* ---- rows to a batch ---- */

static bool put_string(struct rql_batch *batch, uint32_t c, uint64_t r, const struct rql_value *v)
{
	return rql_batch_set_string(batch, c, r, v->string.data, (uint32_t)v->string.length);
}

/* Dictionaries of fixed-width values and plain numbers are copied without a detour through rql_value: an answer may have
 * millions of groups. */
static rql_int128 integer_at(const struct rql_vector *v, uint32_t row)
{
	if (v->kind == RQL_VECTOR_WIDE)
		return rql_vector_wide(v, row);
	return v->kind == RQL_VECTOR_INTEGER ? v->integer[row] : (rql_int128)v->least + v->codes[row];
}

static bool is_null_at(const struct rql_vector *v, uint32_t row)
{
	if (v->kind == RQL_VECTOR_WIDE)
		return v->wide[row] == v->null_wide;
	return v->kind == RQL_VECTOR_CODES ? v->codes[row] == v->null_code
	                                   : v->valid && !(v->valid[row >> 6] >> (row & 63) & 1);
}

static inline __attribute__((always_inline)) void put_integers(const struct rql_rowset *set, const struct rql_vector *v,
                                                               char *to, unsigned bytes)
{
	for (uint64_t i = 0; i < set->rows; i++) {
		rql_int128 value = integer_at(v, rql_rowset_row(set, i)); /* little-endian: its first bytes are the narrower one */
		memcpy(to + i * bytes, &value, bytes);
	}
}

static void put_reals(const struct rql_rowset *set, const struct rql_vector *v, char *to, bool narrow)
{
	for (uint64_t i = 0; i < set->rows; i++) {
		double value = v->real[rql_rowset_row(set, i)];
		float single = (float)value;
		memcpy(to + i * (narrow ? sizeof single : sizeof value), narrow ? (void *)&single : (void *)&value,
		       narrow ? sizeof single : sizeof value);
	}
}

static bool is_plain(const struct rql_vector *v)
{
	return v->kind == RQL_VECTOR_INTEGER || v->kind == RQL_VECTOR_REAL || v->kind == RQL_VECTOR_WIDE ||
	       (v->kind == RQL_VECTOR_CODES && !v->values);
}

static bool copy_numbers(const struct rql_rowset *set, const struct rql_vector *v, struct rql_batch *batch, uint32_t c)
{
	char *to = batch->columns[c].data;
	unsigned bytes = rql_type_bytes(v->type);
	if (v->kind == RQL_VECTOR_REAL)
		put_reals(set, v, to, v->type.id == RQL_TYPE_FLOAT);
	else if (bytes == 8)
		put_integers(set, v, to, 8);
	else if (bytes == 4)
		put_integers(set, v, to, 4);
	else if (bytes == 16)
		put_integers(set, v, to, 16);
	else
		put_integers(set, v, to, bytes);
	bool nulls = v->kind == RQL_VECTOR_CODES  ? v->null_code != UINT32_MAX
	             : v->kind == RQL_VECTOR_WIDE ? v->null_wide != UINT64_MAX
	                                          : v->valid != NULL;
	for (uint64_t i = 0; i < set->rows && nulls; i++)
		if (is_null_at(v, rql_rowset_row(set, i)) && !rql_batch_set_null(batch, c, i))
			return false;
	return true;
}

static bool copy_codes(const struct rql_rowset *set, const struct rql_vector *v, struct rql_batch *batch, uint32_t c)
{
	unsigned bytes = rql_type_bytes(v->type);
	bool strings = v->type.id == RQL_TYPE_VARCHAR || v->type.id == RQL_TYPE_BLOB;
	for (uint64_t i = 0; i < set->rows; i++) {
		uint32_t code = v->codes[rql_rowset_row(set, i)];
		const char *from = (const char *)v->values->data + (size_t)code * bytes;
		bool ok = true;
		if (!rql_column_valid(v->values, code)) {
			ok = rql_batch_set_null(batch, c, i);
		} else if (strings) {
			const struct rql_string *s = (const struct rql_string *)(const void *)from;
			ok = rql_batch_set_string(batch, c, i, rql_string_data(s), s->length);
		} else {
			memcpy((char *)batch->columns[c].data + i * bytes, from, bytes);
		}
		if (!ok)
			return false;
	}
	return true;
}

static bool copy_values(const struct rql_rowset *set, const struct rql_vector *v, struct rql_batch *batch, uint32_t c)
{
	bool strings = v->type.id == RQL_TYPE_VARCHAR || v->type.id == RQL_TYPE_BLOB;
	for (uint64_t i = 0; i < set->rows; i++) {
		struct rql_value value = rql_vector_get(v, rql_rowset_row(set, i));
		if (value.is_null) {
			if (!rql_batch_set_null(batch, c, i))
				return false;
		} else if (strings) {
			if (!put_string(batch, c, i, &value))
				return false;
		} else {
			rql_column_put(&batch->columns[c], i, &value);
		}
	}
	return true;
}

rql_status rql_rowset_batch(const struct rql_rowset *set, struct rql_batch **out, struct rql_error *err)
{
	struct rql_type *types = RQL_NEW_ARRAY(set->arena, struct rql_type, set->vector_count);
	if (!types)
		return out_of_memory(set, err);
	for (uint32_t c = 0; c < set->vector_count; c++)
		types[c] = set->vectors[c].type;
	struct rql_batch *batch = rql_batch_new(set->vector_count, types, set->rows);
	if (!batch)
		return out_of_memory(set, err);
	for (uint32_t c = 0; c < set->vector_count; c++) {
		const struct rql_vector *v = &set->vectors[c];
		bool copied = is_plain(v)                     ? copy_numbers(set, v, batch, c)
		              : v->kind == RQL_VECTOR_CODES ? copy_codes(set, v, batch, c)
		                                            : copy_values(set, v, batch, c);
		if (!copied) {
			rql_batch_release(batch);
			return out_of_memory(set, err);
		}
	}
	*out = batch;
	return RQL_OK;
}

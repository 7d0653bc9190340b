/* The different keys of a batch: see the header. */
#include "plan/key_list.h"

#include <stdlib.h>

struct key_row {
	uint32_t parts;
	struct rql_value values[RQL_KEY_PARTS];
};

static int compare_rows(const void *a, const void *b)
{
	const struct key_row *x = a, *y = b;
	int order = 0;
	for (uint32_t k = 0; k < x->parts && !order; k++)
		order = rql_value_compare(&x->values[k], &y->values[k]);
	return order;
}

/* A row of the batch that has no NULL; false: it has one. *ok false: out of memory. */
static bool take_row(struct rql_arena *arena, const struct rql_batch *batch, const uint32_t *columns, uint64_t r,
                     struct key_row *out, bool *ok)
{
	for (uint32_t k = 0; k < out->parts; k++) {
		struct rql_value *value = &out->values[k];
		*value = rql_column_get(&batch->columns[columns[k]], r);
		if (value->is_null)
			return false;
		if (value->type.id == RQL_TYPE_VARCHAR || value->type.id == RQL_TYPE_BLOB) {
			value->string.data = rql_arena_strndup(arena, value->string.data, value->string.length);
			*ok = *ok && value->string.data;
		}
	}
	return true;
}

/* What a type points to (an ENUM's names) goes with the batch. */
static bool keep_types(struct rql_arena *arena, struct key_row *rows, uint32_t parts, uint32_t count)
{
	for (uint32_t k = 0; k < parts && count; k++) {
		const struct rql_type type = rql_type_copy(arena, rows[0].values[k].type);
		if (type.id != rows[0].values[k].type.id)
			return false;
		for (uint32_t i = 0; i < count; i++)
			rows[i].values[k].type = type;
	}
	return true;
}

static struct rql_expr_tuples *transpose(struct rql_arena *arena, const struct key_row *rows, uint32_t parts, uint32_t count)
{
	const struct rql_value **values = RQL_NEW_ARRAY(arena, const struct rql_value *, parts);
	struct rql_expr_tuples *out = RQL_NEW(arena, struct rql_expr_tuples);
	if (!values || !out)
		return NULL;
	for (uint32_t k = 0; k < parts; k++) {
		struct rql_value *part = RQL_NEW_ARRAY(arena, struct rql_value, count + 1);
		if (!part)
			return NULL;
		for (uint32_t i = 0; i < count; i++)
			part[i] = rows[i].values[k];
		values[k] = part;
	}
	*out = (struct rql_expr_tuples){.parts = parts, .count = count, .values = values};
	return out;
}

struct rql_expr_tuples *rql_key_list(struct rql_arena *arena, const struct rql_batch *batch, const uint32_t *columns,
                                     uint32_t parts)
{
	struct key_row *rows = RQL_NEW_ARRAY(arena, struct key_row, batch->rows + 1);
	uint32_t found = 0, count = 0;
	bool ok = rows != NULL;
	for (uint64_t r = 0; r < batch->rows && ok; r++) {
		rows[found].parts = parts;
		found += take_row(arena, batch, columns, r, &rows[found], &ok);
	}
	if (!ok)
		return NULL;
	if (found)
		qsort(rows, found, sizeof(*rows), compare_rows);
	for (uint32_t i = 0; i < found; i++)
		if (!i || compare_rows(&rows[i], &rows[count - 1]))
			rows[count++] = rows[i];
	return keep_types(arena, rows, parts, count) ? transpose(arena, rows, parts, count) : NULL;
}

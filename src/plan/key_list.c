/* The different keys of a batch: see the header. */
#include "plan/key_list.h"

#include "bind/block/tuples.h"

/* A row of the batch that has no NULL; false: it has one. *ok false: out of memory. */
static bool take_row(struct rql_arena *arena, const struct rql_batch *batch, const uint32_t *columns, uint32_t parts,
                     uint64_t r, struct rql_value *out, bool *ok)
{
	for (uint32_t k = 0; k < parts; k++) {
		struct rql_value *value = &out[k];
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
static bool keep_types(struct rql_arena *arena, struct rql_value *rows, uint32_t parts, uint32_t count)
{
	for (uint32_t k = 0; k < parts && count; k++) {
		const struct rql_type type = rql_type_copy(arena, rows[k].type);
		if (type.id != rows[k].type.id)
			return false;
		for (uint32_t i = 0; i < count; i++)
			rows[i * parts + k].type = type;
	}
	return true;
}

struct rql_expr_tuples *rql_key_list(struct rql_arena *arena, const struct rql_batch *batch, const uint32_t *columns,
                                     uint32_t parts)
{
	struct rql_value *rows = RQL_NEW_ARRAY(arena, struct rql_value, batch->rows * parts + parts);
	uint32_t found = 0;
	bool ok = rows != NULL;
	for (uint64_t r = 0; r < batch->rows && ok; r++)
		found += take_row(arena, batch, columns, parts, r, rows + found * parts, &ok);
	return ok && keep_types(arena, rows, parts, found) ? rql_tuples_of(arena, rows, parts, found) : NULL;
}

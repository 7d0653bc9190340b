/* Making batches, putting NULLs and strings into them, copying columns. */
#include "column/batch.h"

static void batch_release(struct rql_batch *batch)
{
	/* The batch itself lies in the arena. */
	rql_arena_free(batch->owner);
}

struct rql_batch *rql_batch_new(uint32_t column_count, const struct rql_type *types, uint64_t rows)
{
	struct rql_arena *arena = rql_arena_new();
	if (!arena)
		return NULL;
	struct rql_batch *batch = RQL_NEW(arena, struct rql_batch);
	if (!batch)
		goto error;
	batch->rows = rows;
	batch->column_count = column_count;
	batch->release = batch_release;
	batch->owner = arena;
	batch->columns = RQL_NEW_ARRAY(arena, struct rql_column, column_count);
	if (!batch->columns)
		goto error;
	for (uint32_t c = 0; c < column_count; c++) {
		unsigned bytes = rql_type_bytes(types[c]);
		/* The batch may outlive what the type names came from. */
		batch->columns[c].type = types[c].info ? rql_type_copy(arena, types[c]) : types[c];
		if (bytes == 0)
			continue;
		batch->columns[c].data = rql_arena_array(arena, rows, bytes);
		if (!batch->columns[c].data)
			goto error;
	}
	return batch;
error:
	rql_arena_free(arena);
	return NULL;
}

bool rql_batch_set_null(struct rql_batch *batch, uint32_t column, uint64_t row)
{
	struct rql_column *col = &batch->columns[column];
	if (!col->validity) {
		uint64_t words = (batch->rows + 63) / 64;
		col->validity = RQL_NEW_ARRAY(batch->owner, uint64_t, words);
		if (!col->validity)
			return false;
		memset(col->validity, 0xff, words * sizeof(uint64_t));
	}
	rql_bit_clear(col->validity, row);
	return true;
}

bool rql_batch_set_string(struct rql_batch *batch, uint32_t column, uint64_t row, const char *data, uint32_t length)
{
	if (length > RQL_STRING_INLINE) {
		char *copy = rql_arena_alloc(batch->owner, length);
		if (!copy)
			return false;
		memcpy(copy, data, length);
		data = copy;
	}
	struct rql_string *strings = batch->columns[column].data;
	strings[row] = rql_string_make(data, length);
	return true;
}

static bool copy_strings(struct rql_arena *arena, struct rql_column *column, uint64_t rows)
{
	struct rql_string *strings = column->data;
	for (uint64_t i = 0; i < rows; i++) {
		if (!rql_column_valid(column, i) || strings[i].length <= RQL_STRING_INLINE)
			continue;
		strings[i].pointer.data = rql_arena_strndup(arena, strings[i].pointer.data, strings[i].length);
		if (!strings[i].pointer.data)
			return false;
	}
	return true;
}

bool rql_column_copy(struct rql_arena *arena, const struct rql_column *column, uint64_t rows, struct rql_column *out)
{
	unsigned bytes = rql_type_bytes(column->type);
	*out = (struct rql_column){.type = rql_type_copy(arena, column->type),
	                           .data = rql_arena_array(arena, rows + 1, bytes),
	                           .validity = RQL_NEW_ARRAY(arena, uint64_t, rows / 64 + 1)};
	if (!out->data || !out->validity || out->type.id == RQL_TYPE_INVALID)
		return false;
	memcpy(out->data, column->data, rows * bytes);
	if (column->validity)
		memcpy(out->validity, column->validity, (rows + 63) / 64 * sizeof *out->validity);
	else
		memset(out->validity, 0xff, (rows / 64 + 1) * sizeof *out->validity);
	bool strings = out->type.id == RQL_TYPE_VARCHAR || out->type.id == RQL_TYPE_BLOB;
	return !strings || copy_strings(arena, out, rows);
}

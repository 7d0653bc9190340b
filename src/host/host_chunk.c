/* rql_batch over DuckDB's data chunks, and the other way round. Both sides have one layout, so reading is free and writing
 * is a memcpy, but for long strings, whose bytes DuckDB must own. */
#include "host/host_internal.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(struct rql_string) == sizeof(duckdb_string_t), "strings cross the boundary as they are");
_Static_assert(sizeof(struct rql_interval) == sizeof(duckdb_interval), "intervals, too");

static void batch_release(struct rql_batch *batch)
{
	struct host_batch *host = batch->owner;
	duckdb_destroy_data_chunk(&host->chunk);
	host_types_unref(host->types);
	free(host);
}

void host_columns_in(duckdb_data_chunk chunk, uint32_t first, const struct host_types *types,
                     struct rql_column *columns)
{
	for (uint32_t c = 0; c < types->count; c++) {
		duckdb_vector vector = duckdb_data_chunk_get_vector(chunk, first + c);
		columns[c].type = types->types[c];
		columns[c].data = columns[c].type.id == RQL_TYPE_OTHER ? (void *)vector : duckdb_vector_get_data(vector);
		columns[c].validity = duckdb_vector_get_validity(vector);
	}
}

struct rql_batch *host_batch_new(duckdb_data_chunk chunk, struct host_types *types)
{
	struct host_batch *batch = calloc(1, sizeof *batch + types->count * sizeof batch->columns[0]);
	if (!batch) {
		duckdb_destroy_data_chunk(&chunk);
		return NULL;
	}
	batch->chunk = chunk;
	batch->types = host_types_ref(types);
	batch->base = (struct rql_batch){
		.rows = duckdb_data_chunk_get_size(chunk),
		.column_count = types->count,
		.columns = batch->columns,
		.release = batch_release,
		.owner = batch,
	};
	host_columns_in(chunk, 0, types, batch->columns);
	return &batch->base;
}

static void strings_out(duckdb_vector vector, const struct rql_column *column, uint64_t from, uint64_t rows)
{
	const struct rql_string *strings = (const struct rql_string *)column->data + from;
	struct rql_string *target = duckdb_vector_get_data(vector);
	for (uint64_t r = 0; r < rows; r++) {
		if (!rql_column_valid(column, from + r))
			target[r] = (struct rql_string){.length = 0};
		else if (strings[r].length <= RQL_STRING_INLINE)
			target[r] = strings[r];
		else
			duckdb_unsafe_vector_assign_string_element_len(vector, r, strings[r].pointer.data, strings[r].length);
	}
}

static void validity_out(duckdb_vector vector, const uint64_t *words, uint64_t rows)
{
	duckdb_vector_ensure_validity_writable(vector);
	uint64_t *target = duckdb_vector_get_validity(vector);
	if (words)
		memcpy(target, words, (rows + 63) / 64 * sizeof *target);
	else
		memset(target, 0, (rows + 63) / 64 * sizeof *target);
}

bool host_column_out(duckdb_vector vector, const struct rql_column *column, uint64_t from, uint64_t rows)
{
	switch (column->type.id) {
	case RQL_TYPE_INVALID:
		return false;
	case RQL_TYPE_SQLNULL:
		validity_out(vector, NULL, rows);
		return true;
	case RQL_TYPE_OTHER:
		if (!column->data || from != 0)
			return false;
		duckdb_vector_reference_vector(vector, column->data);
		return true;
	case RQL_TYPE_VARCHAR:
	case RQL_TYPE_BLOB:
		strings_out(vector, column, from, rows);
		break;
	default: {
		unsigned bytes = rql_type_bytes(column->type);
		if (rows)
			memcpy(duckdb_vector_get_data(vector), (const char *)column->data + from * bytes, rows * bytes);
		break;
	}
	}
	if (column->validity)
		validity_out(vector, column->validity + from / 64, rows);
	return true;
}

/* A chunk has room for one vector's worth of rows; a larger batch goes into larger vectors that the chunk refers to. */
static bool column_to_chunk(duckdb_data_chunk chunk, uint32_t index, const struct rql_column *column,
                            duckdb_logical_type logical, uint64_t rows)
{
	duckdb_vector target = duckdb_data_chunk_get_vector(chunk, index);
	if (rows <= duckdb_vector_size() || column->type.id == RQL_TYPE_OTHER)
		return host_column_out(target, column, 0, rows);
	duckdb_vector large = duckdb_create_vector(logical, rows);
	bool copied = host_column_out(large, column, 0, rows);
	if (copied)
		duckdb_vector_reference_vector(target, large);
	duckdb_destroy_vector(&large);
	return copied;
}

rql_status host_chunk_new(struct rql_host_db *db, const struct rql_batch *batch, duckdb_data_chunk *out,
                          struct rql_error *err)
{
	rql_status status = RQL_OK;
	duckdb_data_chunk chunk = NULL;
	duckdb_logical_type *logical = calloc(batch->column_count + 1, sizeof(duckdb_logical_type));
	if (!logical)
		return rql_error_memory(err, batch->column_count * sizeof(duckdb_logical_type), "a chunk's types");
	for (uint32_t c = 0; c < batch->column_count; c++) {
		logical[c] = host_type_out(db, batch->columns[c].type);
		if (!logical[c]) {
			status = rql_error_set(err, RQL_ERROR_UNSUPPORTED, "column %u has a type that DuckDB cannot make", c);
			goto done;
		}
	}
	chunk = duckdb_create_data_chunk(logical, batch->column_count);
	for (uint32_t c = 0; c < batch->column_count; c++) {
		if (column_to_chunk(chunk, c, &batch->columns[c], logical[c], batch->rows))
			continue;
		status = rql_error_set(err, RQL_ERROR_UNSUPPORTED, "column %u is opaque and is not a vector of DuckDB's", c);
		goto done;
	}
	duckdb_data_chunk_set_size(chunk, batch->rows);
	*out = chunk;
	chunk = NULL;
done:
	duckdb_destroy_data_chunk(&chunk);
	for (uint32_t c = 0; c < batch->column_count; c++)
		duckdb_destroy_logical_type(&logical[c]);
	free(logical);
	return status;
}

/* ---- several batches as one chunk ---- */

/* Behind the `at` rows that are there. sel: the identity, of at least as many rows. */
static bool append_column(duckdb_vector vector, uint64_t at, const struct rql_column *column, uint64_t rows,
                          duckdb_selection_vector sel)
{
	unsigned bytes = rql_type_bytes(column->type);
	if (column->type.id == RQL_TYPE_INVALID || (column->type.id == RQL_TYPE_OTHER && !column->data))
		return false;
	if (column->type.id == RQL_TYPE_OTHER) {
		duckdb_vector_copy_sel(column->data, vector, sel, rows, 0, at);
		return true;
	}
	if (column->type.id == RQL_TYPE_VARCHAR || column->type.id == RQL_TYPE_BLOB) {
		const struct rql_string *strings = column->data;
		for (uint64_t r = 0; r < rows; r++)
			if (rql_column_valid(column, r))
				duckdb_unsafe_vector_assign_string_element_len(vector, at + r, rql_string_data(&strings[r]),
				                                               strings[r].length);
	} else if (column->type.id != RQL_TYPE_SQLNULL && rows) {
		memcpy((char *)duckdb_vector_get_data(vector) + at * bytes, column->data, rows * bytes);
	}
	if (!column->validity && column->type.id != RQL_TYPE_SQLNULL)
		return true;
	duckdb_vector_ensure_validity_writable(vector);
	uint64_t *words = duckdb_vector_get_validity(vector);
	for (uint64_t r = 0; r < rows; r++)
		if (column->type.id == RQL_TYPE_SQLNULL || !rql_column_valid(column, r))
			rql_bit_clear(words, at + r);
	return true;
}

static bool join_column(duckdb_vector target, uint32_t c, duckdb_logical_type type, struct rql_batch *const *batches,
                        uint64_t count, uint64_t rows, duckdb_selection_vector sel)
{
	duckdb_vector large = duckdb_create_vector(type, rows);
	bool copied = true;
	uint64_t at = 0;
	for (uint64_t i = 0; i < count && copied; i++) {
		copied = append_column(large, at, &batches[i]->columns[c], batches[i]->rows, sel);
		at += batches[i]->rows;
	}
	if (copied)
		duckdb_vector_reference_vector(target, large);
	duckdb_destroy_vector(&large);
	return copied;
}

rql_status host_chunk_join(struct rql_host_db *db, struct rql_batch *const *batches, uint64_t count,
                           duckdb_data_chunk *out, struct rql_error *err)
{
	uint32_t columns = batches[0]->column_count;
	uint64_t rows = 0, most = 0;
	for (uint64_t i = 0; i < count; i++) {
		rows += batches[i]->rows;
		most = batches[i]->rows > most ? batches[i]->rows : most;
	}
	rql_status status = RQL_OK;
	duckdb_data_chunk chunk = NULL;
	duckdb_selection_vector sel = duckdb_create_selection_vector(most);
	duckdb_logical_type *logical = calloc(columns + 1, sizeof(duckdb_logical_type));
	if (!logical || !sel) {
		status = rql_error_memory(err, most * sizeof(sel_t), "a batch of rows");
		goto done;
	}
	for (uint64_t i = 0; i < most; i++)
		duckdb_selection_vector_get_data_ptr(sel)[i] = (sel_t)i;
	for (uint32_t c = 0; c < columns && status == RQL_OK; c++)
		if (!(logical[c] = host_type_out(db, batches[0]->columns[c].type)))
			status = rql_error_set(err, RQL_ERROR_UNSUPPORTED, "column %u has a type that DuckDB cannot make", c);
	if (status != RQL_OK)
		goto done;
	chunk = duckdb_create_data_chunk(logical, columns);
	for (uint32_t c = 0; c < columns && status == RQL_OK; c++)
		if (!join_column(duckdb_data_chunk_get_vector(chunk, c), c, logical[c], batches, count, rows, sel))
			status = rql_error_set(err, RQL_ERROR_UNSUPPORTED, "column %u is no vector of DuckDB's", c);
	if (status != RQL_OK)
		goto done;
	duckdb_data_chunk_set_size(chunk, rows);
	*out = chunk;
	chunk = NULL;
done:
	duckdb_destroy_data_chunk(&chunk);
	for (uint32_t c = 0; logical && c < columns; c++)
		duckdb_destroy_logical_type(&logical[c]);
	free(logical);
	if (sel)
		duckdb_destroy_selection_vector(sel);
	return status;
}

/* Schemas and batches as Arrow's structs, made by DuckDB. */
#include "host/host_internal.h"

#include <stdlib.h>

rql_status rql_host_arrow_schema(struct rql_host_con *con, uint32_t columns, const struct rql_type *types,
                                 const char *const *names, struct ArrowSchema *out, struct rql_error *err)
{
	rql_status status = RQL_OK;
	duckdb_logical_type *logical = calloc(columns + 1, sizeof(duckdb_logical_type));
	if (!logical)
		return rql_error_memory(err, columns * sizeof(duckdb_logical_type), "an Arrow schema");
	for (uint32_t c = 0; c < columns; c++) {
		logical[c] = host_type_out(con->db, types[c]);
		if (!logical[c]) {
			status =
				rql_error_set(err, RQL_ERROR_UNSUPPORTED, "column \"%s\" has a type that DuckDB cannot make", names[c]);
			goto done;
		}
	}
	duckdb_arrow_options options;
	duckdb_connection_get_arrow_options(con->con, &options);
	status = host_error_data(duckdb_to_arrow_schema(options, logical, (const char **)(uintptr_t)names, columns, out),
	                         RQL_ERROR_HOST, "DuckDB cannot make the Arrow schema", err);
	duckdb_destroy_arrow_options(&options);
done:
	for (uint32_t c = 0; c < columns; c++)
		duckdb_destroy_logical_type(&logical[c]);
	free(logical);
	return status;
}

rql_status rql_host_arrow_batches(struct rql_host_con *con, struct rql_batch *const *batches, uint64_t count,
                                  struct ArrowArray *out, struct rql_error *err)
{
	duckdb_data_chunk chunk;
	RQL_TRY(count == 1 ? host_chunk_new(con->db, batches[0], &chunk, err)
	                   : host_chunk_join(con->db, batches, count, &chunk, err));
	duckdb_arrow_options options;
	duckdb_connection_get_arrow_options(con->con, &options);
	rql_status status = host_error_data(duckdb_data_chunk_to_arrow(options, chunk, out), RQL_ERROR_HOST,
	                                    "DuckDB cannot make the Arrow array", err);
	duckdb_destroy_arrow_options(&options);
	duckdb_destroy_data_chunk(&chunk);
	return status;
}

/* A user's first program, built against an installed RayQL: a view, a query that it answers, and the answer checked. */
#include <inttypes.h>
#include <rayql/rayql.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(rayql_status status, const char *what, const rayql_error *err)
{
	if (status == RAYQL_OK)
		return;
	fprintf(stderr, "%s: %s: %s\n", what, rayql_status_name(status), rayql_error_message(err));
	exit(1);
}

int main(void)
{
	rayql_error *err = NULL;
	rayql_database *db = NULL;
	rayql_connection *con = NULL;
	rayql_result *result = NULL;
	rayql_batch *batch = NULL;

	if (strcmp(rayql_version(), RAYQL_VERSION) != 0) {
		fprintf(stderr, "the header is %s, the library is %s\n", RAYQL_VERSION, rayql_version());
		return 1;
	}
	must(rayql_open(NULL, NULL, &db, &err), "open", err);
	must(rayql_connect(db, &con, &err), "connect", err);
	must(rayql_query(con,
	                 "CREATE TABLE sales AS SELECT i % 5 AS region, i AS amount FROM range(100000) r(i);"
	                 "CREATE MATERIALIZED VIEW by_region AS SELECT region, count(*) FROM sales GROUP BY region",
	                 NULL, &err),
	     "create", err);
	must(rayql_query(con, "SELECT count(*) FROM sales WHERE region = 3", &result, &err), "query", err);
	must(rayql_fetch(result, &batch, &err), "fetch", err);
	if (!batch || rayql_batch_rows(batch) != 1 || rayql_column_type(result, 0) != RAYQL_TYPE_BIGINT)
		return fputs("expected one row with a BIGINT\n", stderr), 1;
	int64_t count = *(const int64_t *)rayql_batch_data(batch, 0);
	printf("RayQL %s on DuckDB %s: %" PRId64 " rows, counted by %s\n", rayql_version(), rayql_host_version(), count,
	       rayql_result_method(result));
	if (count != 20000)
		return fputs("expected 20000\n", stderr), 1;

	rayql_batch_free(batch);
	rayql_result_free(result);
	rayql_disconnect(con);
	rayql_close(db);
	return 0;
}

/* Arrow data into a table and out of a query: cc arrow.c $(pkg-config --cflags --libs rayql) */
#include <rayql/arrow.h>
#include <rayql/rayql.h>
#include <stdio.h>

int main(void)
{
	rayql_database *db = NULL;
	rayql_connection *con = NULL;
	rayql_result *res = NULL;
	rayql_error *err = NULL;
	struct ArrowArrayStream stream = {0};
	struct ArrowArray array = {0};
	uint64_t rows = 0;
	if (rayql_open(NULL, NULL, &db, &err) || rayql_connect(db, &con, &err))
		goto done;
	/* Any Arrow C stream will do; here it is another query's. */
	if (rayql_query(con, "SELECT i, i % 10 AS g FROM range(100000) r(i)", &res, &err) ||
	    rayql_result_to_arrow(res, &stream, &err) || rayql_register_arrow(con, "numbers", &stream, &err) ||
	    rayql_query(con, "CREATE TABLE t AS SELECT * FROM numbers", NULL, &err) ||
	    rayql_query(con, "CREATE INDEX c ON t USING columns (*)", NULL, &err))
		goto done;
	rayql_result_free(res);
	res = NULL;
	if (rayql_query(con, "SELECT g, sum(i) FROM t GROUP BY g", &res, &err))
		goto done;
	printf("answered by: %s\n", rayql_result_method(res));
	if (rayql_result_to_arrow(res, &stream, &err))
		goto done;
	while (stream.get_next(&stream, &array) == 0 && array.release) {
		rows += (uint64_t)array.length;
		array.release(&array);
	}
	printf("%llu groups\n", (unsigned long long)rows);
done:
	if (err)
		fprintf(stderr, "%s\n", rayql_error_message(err));
	if (stream.release)
		stream.release(&stream);
	int failed = err != NULL;
	rayql_error_free(err);
	rayql_result_free(res);
	rayql_disconnect(con);
	rayql_close(db);
	return failed;
}

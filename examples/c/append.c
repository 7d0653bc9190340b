/* Rows into a table by an appender, a list read part by part, and a log: cc append.c $(pkg-config --cflags --libs rayql) */
#include <rayql/rayql.h>
#include <stdio.h>

static void note(void *state, rayql_log_level level, const char *text)
{
	(void)state;
	if (level == RAYQL_LOG_ERROR)
		fprintf(stderr, "failed: %s\n", text);
}

/* Column 0 of the batch, a list of DOUBLEs. */
static void print_lists(rayql_result *res, rayql_batch *batch)
{
	const rayql_vector *lists = NULL;
	if (rayql_batch_vector(res, batch, 0, &lists, NULL) || rayql_vector_type(lists) != RAYQL_TYPE_LIST)
		return;
	const rayql_entry *entries = rayql_vector_entries(lists);
	const double *elements = rayql_vector_data(rayql_vector_child(lists, 0));
	for (uint64_t row = 0; row < rayql_vector_rows(lists); row++) {
		for (uint64_t i = 0; i < entries[row].length; i++)
			printf("%s%g", i ? " " : "", elements[entries[row].offset + i]);
		putchar('\n');
	}
}

int main(void)
{
	rayql_database *db = NULL;
	rayql_connection *con = NULL;
	rayql_appender *app = NULL;
	rayql_result *res = NULL;
	rayql_batch *batch = NULL;
	rayql_error *err = NULL;
	if (rayql_open(NULL, NULL, &db, &err) || rayql_connect(db, &con, &err))
		goto done;
	rayql_set_log(con, RAYQL_LOG_ERROR, note, NULL);
	if (rayql_query(con, "CREATE TABLE t (id INTEGER PRIMARY KEY, price DOUBLE, day DATE DEFAULT today())", NULL, &err) ||
	    rayql_appender_open(con, NULL, NULL, "t", &app, &err))
		goto done;
	for (int i = 0; i < 6; i++) {
		rayql_append_int64(app, i);
		rayql_append_double(app, i * 0.5);
		rayql_append_default(app);
		if (rayql_appender_end_row(app, &err))
			goto done;
	}
	if (rayql_appender_close(app, &err))
		goto done;
	app = NULL;
	if (rayql_query(con, "SELECT list(price ORDER BY id) FROM t GROUP BY id % 2 ORDER BY id % 2", &res, &err))
		goto done;
	while (rayql_fetch(res, &batch, &err) == RAYQL_OK && batch) {
		print_lists(res, batch);
		rayql_batch_free(batch);
	}
done:
	if (err)
		fprintf(stderr, "%s\n", rayql_error_message(err));
	int failed = err != NULL;
	rayql_error_free(err);
	rayql_appender_free(app);
	rayql_result_free(res);
	rayql_disconnect(con);
	rayql_close(db);
	return failed;
}

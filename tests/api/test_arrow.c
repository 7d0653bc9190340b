/* Results as Arrow C streams. */
#include "check.h"

#include <rayql/arrow.h>

static void stream_of(rayql_connection *con, const char *sql, const char *method, struct ArrowArrayStream *out)
{
	rayql_result *res = NULL;
	rayql_batch *batch = (rayql_batch *)1;
	assert_int_equal(rayql_query(con, sql, &res, NULL), RAYQL_OK);
	assert_string_equal(rayql_result_method(res), method);
	assert_int_equal(rayql_result_to_arrow(res, out, NULL), RAYQL_OK);
	/* The result is empty now. */
	assert_int_equal(rayql_fetch(res, &batch, NULL), RAYQL_OK);
	assert_null(batch);
	rayql_result_free(res);
}

static void rows_of_the_host(void **state)
{
	struct session s = open_session(NULL, NULL);
	struct ArrowArrayStream stream;
	struct ArrowSchema schema;
	int64_t rows = 0, sum = 0;
	(void)state;
	stream_of(s.con, "SELECT i::BIGINT AS i, 'x' || i AS t FROM range(10000) r(i)", "host", &stream);
	/* The stream keeps what it needs. */
	close_session(&s);
	assert_int_equal(stream.get_schema(&stream, &schema), 0);
	assert_string_equal(schema.format, "+s");
	assert_int_equal(schema.n_children, 2);
	assert_string_equal(schema.children[0]->format, "l");
	assert_string_equal(schema.children[0]->name, "i");
	schema.release(&schema);
	for (;;) {
		struct ArrowArray array;
		assert_int_equal(stream.get_next(&stream, &array), 0);
		if (!array.release)
			break;
		const int64_t *values = array.children[0]->buffers[1];
		for (int64_t r = 0; r < array.length; r++)
			sum += values[array.children[0]->offset + r];
		rows += array.length;
		array.release(&array);
	}
	assert_int_equal(rows, 10000);
	assert_int_equal(sum, 49995000);
	stream.release(&stream);
	assert_null(stream.release);
}

static void rows_of_a_method(void **state)
{
	struct session s = open_session(NULL, NULL);
	struct ArrowArrayStream stream;
	struct ArrowSchema schema;
	struct ArrowArray array;
	(void)state;
	make_table(s.con, "t", 1000);
	run(s.con, "CREATE MATERIALIZED VIEW v AS SELECT g, a, count(*) FROM t GROUP BY g, a");
	stream_of(s.con, "SELECT a, count(*) AS n FROM t GROUP BY a ORDER BY a", "cube", &stream);
	assert_int_equal(stream.get_schema(&stream, &schema), 0);
	assert_string_equal(schema.children[0]->format, "i");
	assert_string_equal(schema.children[1]->name, "n");
	schema.release(&schema);
	assert_int_equal(stream.get_next(&stream, &array), 0);
	assert_int_equal(array.length, 7);
	assert_int_equal(((const int32_t *)array.children[0]->buffers[1])[6], 6);
	assert_int_equal(((const int64_t *)array.children[1]->buffers[1])[0], 143);
	array.release(&array);
	assert_int_equal(stream.get_next(&stream, &array), 0);
	assert_null(array.release);
	stream.release(&stream);
	close_session(&s);
}

static void errors_on_the_way(void **state)
{
	struct session s = open_session(NULL, NULL);
	struct ArrowArrayStream stream;
	struct ArrowArray array = {0};
	(void)state;
	/* A later statement closes the stream as it closes a result. */
	stream_of(s.con, "SELECT * FROM range(1000000)", "host", &stream);
	run(s.con, "SELECT 1");
	assert_int_not_equal(stream.get_next(&stream, &array), 0);
	assert_non_null(strstr(stream.get_last_error(&stream), "closed by a later statement"));
	stream.release(&stream);
	assert_int_equal(rayql_result_to_arrow(NULL, &stream, NULL), RAYQL_ERROR_MISUSE);
	close_session(&s);
}

/* Batches are large where there are rows for them, and hold what the small ones held: NULLs, long strings, nested
 * values, and rows of uneven chunks. */
static void arrays_are_large(void **state)
{
	struct session s = open_session(NULL, NULL);
	struct ArrowArrayStream stream;
	int64_t rows = 0, lists = 0, most = 0, wrong = 0;
	int arrays = 0;
	(void)state;
	stream_of(s.con,
	          "SELECT i AS i, CASE WHEN i % 3 > 0 THEN 'a rather long name, number ' || i END AS t, [i, NULL, i + 1] AS l, "
	          "NULL AS n, i::DECIMAL(9,2) AS d, {'a': 'text ' || i, 'b': i} AS s FROM range(400000) r(i) WHERE i % 7 <> 2",
	          "host", &stream);
	for (;; arrays++) {
		struct ArrowArray a;
		assert_int_equal(stream.get_next(&stream, &a), 0);
		if (!a.release)
			break;
		const int64_t *i = a.children[0]->buffers[1];
		const uint8_t *valid = a.children[1]->buffers[0];
		const int32_t *offsets = a.children[1]->buffers[1], *list = a.children[2]->buffers[1];
		const char *text = a.children[1]->buffers[2];
		const int64_t *item = a.children[2]->children[0]->buffers[1], *b = a.children[5]->children[1]->buffers[1];
		for (int64_t r = 0; r < a.length; r++) {
			char want[64];
			int length = i[r] % 3 ? snprintf(want, sizeof want, "a rather long name, number %lld", (long long)i[r]) : 0;
			wrong += (valid[r / 8] >> r % 8 & 1) != (i[r] % 3 > 0) || offsets[r + 1] - offsets[r] != length ||
			         memcmp(text + offsets[r], want, (size_t)length) != 0;
			wrong += list[r + 1] - list[r] != 3 || item[list[r]] != i[r] || item[list[r] + 2] != i[r] + 1 || b[r] != i[r];
			lists += list[r + 1] - list[r];
		}
		/* An array of type null has no buffers; DuckDB 2 counts no NULLs in it. */
		const struct ArrowArray *nulls = a.children[3];
		assert_true(nulls->null_count == a.length || (host_is_2() && nulls->n_buffers == 0));
		most = a.length > most ? a.length : most;
		rows += a.length;
		a.release(&a);
	}
	stream.release(&stream);
	assert_int_equal(wrong, 0);
	assert_int_equal(rows, 342857);
	assert_int_equal(lists, 3 * rows);
	assert_true(most > 100000);
	assert_true(arrays <= 4);
	close_session(&s);
}

/* Every type that is converted here and not by DuckDB, with NULLs at uneven places, comes back as it was. */
static void plain_types(void **state)
{
	struct session s = open_session(NULL, NULL), to = open_session(NULL, NULL);
	struct ArrowArrayStream stream;
	static const char sql[] =
		"SELECT i, CASE WHEN i % 3 > 0 THEN i % 5 < 2 END AS b, (i % 200 - 100)::TINYINT AS i8, (i - 9000)::SMALLINT AS i16, "
		"CASE WHEN i > 3000 THEN (-i)::INTEGER END AS i32, (i % 250)::UTINYINT AS u8, i::USMALLINT AS u16, "
		"(i * 200000)::UINTEGER AS u32, (i * 100000000000000)::UBIGINT AS u64, (i / 7)::FLOAT AS f, i / 7 AS d, "
		"(i % 999 - 500)::DECIMAL(4, 1) AS d4, (-i)::DECIMAL(9, 2) AS d9, CASE WHEN i % 7 <> 1 THEN -i::DECIMAL(18, 3) END "
		"AS d18, (i::HUGEINT * 1000000000000000000 - 5)::DECIMAL(38, 2) AS d38, 'x' || i % 100 AS t, CASE WHEN i % 4 > 0 "
		"THEN repeat('long text ', i % 9) || i END AS l, ('z' || i)::BLOB AS z, DATE '2020-01-01' - i::INTEGER AS day, "
		"TIME '00:00:00' + to_microseconds(i) AS tm, TIMESTAMP '1960-01-01' + to_seconds(i) AS ts, "
		"(TIMESTAMP '1960-01-01' + to_seconds(i))::TIMESTAMP_S AS tss, (TIMESTAMP '1960-01-01' + to_seconds(i))::TIMESTAMP_MS "
		"AS tsm, (TIMESTAMP '1960-01-01' + to_seconds(i))::TIMESTAMP_NS AS tsn, TIMESTAMPTZ '1960-01-01' + to_seconds(i) AS "
		"tz FROM range(20000) r(i) WHERE i % 11 <> 3 ORDER BY i";
	(void)state;
	run(s.con, "SET TimeZone = 'UTC'");
	run(to.con, "SET TimeZone = 'UTC'");
	char *want = rows_of(s.con, sql, NULL);
	stream_of(s.con, sql, "host", &stream);
	assert_int_equal(rayql_register_arrow(to.con, "frame", &stream, NULL), RAYQL_OK);
	char *have = rows_of(to.con, "FROM frame ORDER BY i", NULL);
	assert_string_equal(have, want);
	free(have);
	/* A setting that changes the formats: DuckDB converts. */
	run(s.con, "SET arrow_large_buffer_size = true");
	stream_of(s.con, sql, "host", &stream);
	assert_int_equal(rayql_register_arrow(to.con, "frame", &stream, NULL), RAYQL_OK);
	have = rows_of(to.con, "FROM frame ORDER BY i", NULL);
	assert_string_equal(have, want);
	free(have);
	free(want);
	close_session(&s);
	close_session(&to);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_of_the_host),
		cmocka_unit_test(rows_of_a_method),
		cmocka_unit_test(arrays_are_large),
		cmocka_unit_test(errors_on_the_way),
		cmocka_unit_test(plain_types),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Tables that grow under columns on a device: what an INSERT uploads, and random statements on two connections, with ever
 * other limits of the device's memory, against DuckDB. */
#include "device.h"

#include <pthread.h>
#include <stdatomic.h>

static uint64_t number(rayql_connection *con, const char *sql)
{
	char *rows = rows_of(con, sql, NULL);
	uint64_t answer = strtoull(rows, NULL, 10);
	free(rows);
	return answer;
}

static uint64_t random_state;
static unsigned roll(unsigned n)
{
	random_state += UINT64_C(0x9e3779b97f4a7c15);
	uint64_t x = random_state;
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return (unsigned)((x ^ x >> 31) % n);
}

/* Rows from `first` on: words whose dictionary grows at both ends and in the middle as rows are added, days, NULLs. */
static void put_rows(char *sql, size_t size, unsigned first, unsigned rows)
{
	snprintf(sql, size,
	         "SELECT i::INTEGER AS id, CASE WHEN i %% 97 = 0 THEN NULL ELSE (hash(i) %% 131072)::INTEGER END AS x, "
	         "chr(97 + (hash(i * 3) %% 20)::INTEGER) || (%u + (hash(i * 5) %% 9)::INTEGER) AS w, "
	         "DATE '1995-01-01' + (hash(i * 7) %% 900)::INTEGER + (%u)::INTEGER AS d FROM range(%u, %u) r(i)",
	         first / 5000 % 40, first / 3000 % 500, first, first + rows);
}

static const char uploaded_by[] = "SELECT bytes_uploaded FROM rayql_last_query()";
static const char placed_bytes[] = "SELECT sum(device_bytes)::BIGINT FROM rayql_structures()";
#define SUMS "SELECT w, count(*), sum(x), max(d) FROM g WHERE d >= DATE '1995-06-01' AND x < 100000 GROUP BY w ORDER BY w"

static void what_an_insert_uploads(void **state)
{
	enum { ROWS = 400000 };
	char sql[1024], insert[1100];
	(void)state;
	if (!has_unit("compute"))
		skip();
	struct session s = open_session(NULL, NULL);
	put_rows(sql, sizeof sql, 0, ROWS);
	snprintf(insert, sizeof insert, "CREATE TABLE g AS %s", sql);
	run(s.con, insert);
	run(s.con, "CREATE INDEX c ON g USING columns (*)");
	use(s.con, "compute");
	expect(s.con, SUMS, "scan", NULL);
	uint64_t first = number(s.con, uploaded_by), all = number(s.con, placed_bytes);
	assert_in_range(first, all, all + all / 10);
	expect(s.con, SUMS, "scan", NULL);
	expect(s.con, uploaded_by, NULL, "0\n"); /* warm */
	/* Plans come and go, columns stay. */
	run(s.con, "CREATE TABLE other AS SELECT 1 AS a; CREATE INDEX o ON other USING columns (a)");
	expect(s.con, SUMS, "scan", NULL);
	expect(s.con, "SELECT plan_cached FROM rayql_last_query()", NULL, "false\n");
	expect(s.con, SUMS " LIMIT 3", "scan", NULL);
	assert_true(number(s.con, uploaded_by) < all / 20);
	uint64_t made = ROWS;
	static const unsigned sizes[] = {1, 100, 4000, 1, 20000, 3};
	for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		uint64_t before = number(s.con, placed_bytes);
		put_rows(sql, sizeof sql, (unsigned)made, sizes[i]);
		snprintf(insert, sizeof insert, "INSERT INTO g %s", sql);
		run(s.con, insert);
		made += sizes[i];
		expect(s.con, SUMS, "scan", NULL);
		expect(s.con, "SELECT device FROM rayql_last_query()", NULL, "vulkan:0\n");
		/* The new rows and the block that they went to, and what every plan sends: a record for each block. */
		uint64_t uploaded = number(s.con, uploaded_by), most = (sizes[i] + 4096) * (all / ROWS + 2);
		assert_in_range(uploaded, 1, most + all / 20);
		assert_in_range(number(s.con, placed_bytes), before, before + most);
		expect(s.con, "SELECT count(*) FROM g WHERE x < 200000", "scan", NULL);
	}
	char *text = rows_of(s.con, "EXPLAIN ANALYZE SELECT min(x), max(id) FROM g", NULL);
	holds(text, " bytes uploaded");
	free(text);
	/* Rows that change make another table of it. */
	run(s.con, "UPDATE g SET x = 5 WHERE id = 7 + 0 * random()");
	run(s.con, "REFRESH INDEX c");
	expect(s.con, "SELECT device_bytes FROM rayql_structures() WHERE name = 'c'", NULL, "0\n");
	expect(s.con, SUMS, "scan", NULL);
	assert_true(number(s.con, uploaded_by) > all);
	run(s.con, "DROP INDEX c");
	close_session(&s);
}

/* ---- maps of dimensions ---- */
#define JOINED "SELECT count(*), sum(weight) FROM g JOIN big ON x = k WHERE part <> 3"
static const char map_bytes[] = "SELECT sum(device_bytes)::BIGINT FROM rayql_structures() WHERE kind = 'map'";

/* Maps are kept for a connection whose settings stand: the host answers first. */
static char *host_rows(rayql_connection *con, const char *sql)
{
	run(con, "SET rayql_enable_scan = off");
	char *rows = rows_of(con, sql, NULL);
	run(con, "RESET rayql_enable_scan");
	return rows;
}

/* A text that was never seen uploads nothing of a dimension whose map another text's plan has there. */
static void texts_share_maps(void **state)
{
	char sql[1024], create[1100];
	(void)state;
	if (!has_unit("compute"))
		skip();
	struct session s = open_session(NULL, NULL);
	put_rows(sql, sizeof sql, 0, 20000);
	snprintf(create, sizeof create, "CREATE TABLE g AS %s", sql);
	run(s.con, create);
	run(s.con, "CREATE TABLE big AS SELECT i::INTEGER AS k, (hash(i) % 1000)::INTEGER AS weight, (i % 10)::INTEGER AS part "
	           "FROM range(1000, 131000) r(i)");
	run(s.con, "CREATE INDEX c ON g USING columns (*); CREATE INDEX b ON big USING columns (*)");
	use(s.con, "compute");
	run(s.con, "SET rayql_force = on");
	char *rows = host_rows(s.con, JOINED);
	expect(s.con, JOINED, "scan", rows);
	uint64_t map = number(s.con, map_bytes);
	expect(s.con, "SELECT name, placed LIKE 'vulkan:0 (%payloads in % ms%): %KiB', place_ms > 0 FROM rayql_structures() "
	              "WHERE kind = 'map' AND device_bytes > 0",
	       NULL, "map of big|true|true\n");
	assert_true(map >= 2 * 130000); /* of more than 256 weights, for each key */
	expect(s.con, JOINED " -- another text", "scan", rows);
	assert_true(number(s.con, uploaded_by) < map / 4);
	assert_int_equal(number(s.con, map_bytes), map);
	/* The dimension's rows change: so does the map, and the other one goes with the plans that held it. */
	run(s.con, "INSERT INTO big VALUES (5, 7, 1), (131005, 9, 2)");
	free(rows);
	rows = host_rows(s.con, JOINED);
	expect(s.con, JOINED, "scan", rows);
	assert_true(number(s.con, uploaded_by) > map / 2);
	assert_in_range(number(s.con, map_bytes), map, map + 20000);
	free(rows);
	close_session(&s);
}

/* ---- random statements ---- */
static const char *const queries[] = {
	SUMS,
	"SELECT count(*), sum(x), min(id), max(id) FROM g",
	"SELECT d, sum(x) FROM g WHERE w > 'f' GROUP BY d ORDER BY d",
	"SELECT count(*) FROM g WHERE d BETWEEN DATE '1995-03-01' AND DATE '1996-02-29' AND x IS NOT NULL",
	"SELECT count(DISTINCT w) FROM g WHERE x % 2 = 0 OR x IS NULL",
	"SELECT sum(CASE WHEN w IN ('a3', 'b4', 'k7') THEN x ELSE 1 END) FROM g WHERE id > 300",
	"SELECT w, d, count(*) FROM g WHERE w LIKE '%5' GROUP BY w, d ORDER BY w, d",
	"SELECT max(w), min(d) FROM g WHERE x > 65536",
};
#define QUERIES (sizeof queries / sizeof *queries)

static void change(rayql_connection *con, unsigned *made)
{
	char sql[1024], insert[1100];
	switch (roll(10)) {
	case 0:
		snprintf(insert, sizeof insert, "UPDATE g SET x = x + 1 WHERE id %% 1000 = %u", roll(1000));
		run(con, insert);
		break;
	case 1:
		snprintf(insert, sizeof insert, "DELETE FROM g WHERE id = %u", roll(*made));
		run(con, insert);
		break;
	case 2:
		run(con, "REFRESH INDEX c");
		break;
	case 3: {
		unsigned kib = roll(3) ? roll(1500) : 0;
		if (!kib)
			snprintf(insert, sizeof insert, "RESET rayql_device_memory_limit");
		else
			snprintf(insert, sizeof insert, "SET rayql_device_memory_limit = '%uKiB'", kib);
		run(con, insert);
		break;
	}
	default: {
		unsigned rows = roll(2) ? 1 + roll(30) : 1 + roll(9000);
		put_rows(sql, sizeof sql, *made, rows);
		snprintf(insert, sizeof insert, "INSERT INTO g %s", sql);
		run(con, insert);
		*made += rows;
		break;
	}
	}
}

static void random_statements(void **state)
{
	(void)state;
	if (!has_unit("compute"))
		skip();
	unsigned on_device = 0;
	for (uint64_t seed = 1; seed <= (QUERY_STEP > 1 ? 1 : is_long() ? 3 : 2); seed++) {
		struct session s = open_session(NULL, NULL);
		rayql_connection *con[2] = {s.con, NULL}, *host = NULL;
		unsigned made = 20000;
		char sql[1024], create[1100];
		random_state = seed << 32;
		assert_int_equal(rayql_connect(s.db, &con[1], NULL), RAYQL_OK);
		assert_int_equal(rayql_connect(s.db, &host, NULL), RAYQL_OK);
		put_rows(sql, sizeof sql, 0, made);
		snprintf(create, sizeof create, "CREATE TABLE g AS %s", sql);
		run(s.con, create);
		run(s.con, "CREATE INDEX c ON g USING columns (*)");
		run(host, "SET rayql_enable_scan = off");
		for (unsigned c = 0; c < 2; c++)
			use(con[c], "compute");
		for (unsigned i = 0; i < (is_long() ? 120 : 60); i++) {
			rayql_connection *one = con[roll(2)];
			if (roll(3) == 0) {
				change(one, &made);
				continue;
			}
			const char *query = queries[roll(QUERIES)];
			char *want = rows_of(host, query, NULL);
			expect(one, query, NULL, want);
			on_device += number(one, "SELECT count(*) FROM rayql_last_query() WHERE device = 'vulkan:0'") == 1;
			free(want);
		}
		run(s.con, "DROP INDEX c");
		rayql_disconnect(host);
		rayql_disconnect(con[1]);
		close_session(&s);
	}
	assert_true(on_device > 20);
}

/* ---- at once ---- */
#define BATCH 100u
#define READERS 3u
struct reader {
	rayql_database *db;
	_Atomic bool *done;
	_Atomic unsigned *on_device; /* answers of all readers */
	unsigned number, answers;
	bool wrong;
};

/* Rows come BATCH at a time with x = 1: whatever a reader sees is whole, and never less than it saw before. */
static void *read_often(void *state)
{
	struct reader *r = state;
	rayql_connection *con = NULL;
	uint64_t seen = 0;
	if (rayql_connect(r->db, &con, NULL) != RAYQL_OK) {
		r->wrong = true;
		return NULL;
	}
	use(con, "compute");
	while (!atomic_load(r->done) || !r->answers) {
		char sql[128], *rows;
		unsigned long long count, sum, words;
		snprintf(sql, sizeof sql, "SELECT count(*), sum(x), count(w) FROM p WHERE x < %u", 2 + r->answers % 5);
		rows = rows_of(con, sql, NULL);
		r->wrong |= sscanf(rows, "%llu|%llu|%llu", &count, &sum, &words) != 3 || count != sum || count != words ||
		            count % BATCH || count < seen;
		seen = count;
		free(rows);
		if (number(con, "SELECT count(*) FROM rayql_last_query() WHERE device = 'vulkan:0'") == 1)
			atomic_fetch_add(r->on_device, 1);
		if (r->number == 0) { /* one of them takes the room away from the others */
			snprintf(sql, sizeof sql, "SET rayql_device_memory_limit = '%uKiB'", 50 + r->answers % 4 * 200);
			run(con, sql);
		}
		r->answers++;
	}
	rayql_disconnect(con);
	return NULL;
}

static void writers_and_readers(void **state)
{
	(void)state;
	if (!has_unit("compute"))
		skip();
	struct session s = open_session(NULL, NULL);
	struct reader readers[READERS];
	pthread_t threads[READERS];
	_Atomic bool done = false;
	_Atomic unsigned on_device = 0;
	run(s.con, "CREATE TABLE p AS SELECT 1 AS x, 'w' || (i % 50) AS w, i::BIGINT AS y FROM range(30000) r(i)");
	run(s.con, "CREATE INDEX c ON p USING columns (*)");
	for (unsigned i = 0; i < READERS; i++) {
		readers[i] = (struct reader){.db = s.db, .done = &done, .on_device = &on_device, .number = i};
		assert_int_equal(pthread_create(&threads[i], NULL, read_often, &readers[i]), 0);
	}
	/* On a busy machine the rows may all be there before a reader has its first pipeline. */
	for (unsigned i = 0; i < 40 || (i < 2000 && !atomic_load(&on_device)); i++) {
		char sql[160];
		snprintf(sql, sizeof sql, "INSERT INTO p SELECT 1, '%u', i FROM range(%u) r(i)", i, BATCH);
		run(s.con, sql);
		if (i % 10 == 9)
			run(s.con, "REFRESH INDEX c");
	}
	atomic_store(&done, true);
	for (unsigned i = 0; i < READERS; i++) {
		pthread_join(threads[i], NULL);
		assert_false(readers[i].wrong);
	}
	assert_true(atomic_load(&on_device) > 0);
	run(s.con, "DROP INDEX c");
	close_session(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_an_insert_uploads),
		cmocka_unit_test(texts_share_maps),
		cmocka_unit_test(random_statements),
		cmocka_unit_test(writers_and_readers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

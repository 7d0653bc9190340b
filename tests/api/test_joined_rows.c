/* Rows of joins on a GPU that are fetched themselves: random queries over columns of every type that has a field,
 * with NULLs, NaN, -0 and extremes, orders and limits; every answer beside DuckDB's. Joins that give more rows than
 * was expected, none at all, strings that outlive their dictionary, and devices that fail on the way. */
#include "check.h"
#include "device.h"

#define SEED 20261125u
#ifdef __SANITIZE_ADDRESS__ /* each query makes pipelines of its own, and each path is taken once */
#define KINDS 4
#else
#define KINDS 1
#endif

/* ---- data ---- */

static struct session rows_session(void)
{
	struct session s = open_session(NULL, NULL);
	run(s.con, "CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy', 'a mood with a long name')");
	run(s.con,
	    "CREATE TABLE x AS SELECT i::INTEGER id, (hash(i) % 300)::INTEGER k, (hash(i * 3) % 40)::SMALLINT g, "
	    "'s' || (hash(i * 5) % 30) t, DATE '2020-01-01' + (hash(i * 7) % 200)::INTEGER dt, hash(i * 9) % 2 = 0 bo, "
	    "((hash(i * 11) % 256)::INTEGER - 128)::TINYINT ti, (hash(i * 13) % 9223372036854775807)::BIGINT - 4611686018427387904 bi, (hash(i * 15) % 4611686018427387904)::UBIGINT ub, hash(i * 15) wide, "
	    "((hash(i * 17) % 1000)::DOUBLE - 500) / 8 d, ((hash(i * 19) % 1000)::FLOAT - 500) / 4 f, "
	    "(hash(i * 21) % 4)::UTINYINT % 3 c, ((hash(i * 23) % 100000)::BIGINT - 50000)::DECIMAL(9, 2) m, "
	    "((hash(i * 25) % 100000)::BIGINT * 1000000007)::DECIMAL(30, 4) mm, TIMESTAMP '2021-05-05 01:02:03' + "
	    "to_seconds((hash(i * 27) % 1000000)::INTEGER) ts, 'a text that is longer than twelve bytes ' || "
	    "(hash(i * 29) % 50) lt, (['sad', 'ok', 'happy', 'a mood with a long name'])[1 + (hash(i * 31) % 4)::INTEGER]::mood mo "
	    "FROM range(3000) r(i)");
	run(s.con, "CREATE TABLE y AS SELECT i::INTEGER id, (hash(i * 33) % 400)::INTEGER - 50 k, (hash(i * 35) % 50)::SMALLINT g, "
	           "'s' || (hash(i * 37) % 40) t, DATE '2020-02-01' + (hash(i * 39) % 200)::INTEGER dt, i::BIGINT * 3 w, "
	           "'another text, which is long ' || (hash(i * 41) % 500) lt, ((hash(i * 43) % 64)::DOUBLE - 32) / 4 d "
	           "FROM range(700) r(i)");
	run(s.con, "CREATE TABLE z (id INTEGER, k INTEGER, g SMALLINT, t VARCHAR, dt DATE, w BIGINT, lt VARCHAR, d DOUBLE)");
	run(s.con, "UPDATE x SET k = NULL WHERE id % 17 = 0; UPDATE x SET t = NULL WHERE id % 19 = 3; "
	           "UPDATE x SET d = CASE id % 4 WHEN 0 THEN 'NaN'::DOUBLE WHEN 1 THEN -0.0 WHEN 2 THEN '-inf'::DOUBLE END "
	           "WHERE id % 7 < 2; UPDATE x SET f = CASE id % 3 WHEN 0 THEN 'NaN'::FLOAT WHEN 1 THEN 'inf'::FLOAT END "
	           "WHERE id % 9 < 2; UPDATE x SET bi = 9223372036854775806 WHERE id = 5; UPDATE x SET ub = NULL WHERE id % 23 = 1; "
	           "UPDATE x SET dt = NULL, bo = NULL, ti = NULL WHERE id % 29 = 1; UPDATE x SET m = NULL, mm = NULL, ts = NULL "
	           "WHERE id % 31 = 4; UPDATE x SET lt = NULL, mo = NULL WHERE id % 13 = 4; "
	           "UPDATE y SET k = NULL WHERE id % 14 = 0; UPDATE y SET t = NULL, w = NULL WHERE id % 26 = 4; "
	           "UPDATE y SET lt = NULL, d = NULL WHERE id % 34 = 2");
	run(s.con, "CREATE INDEX cx ON x USING columns (*); CREATE INDEX cy ON y USING columns (*); "
	           "CREATE INDEX cz ON z USING columns (*)");
	use(s.con, "compute");
	return s;
}

/* ---- random queries ---- */

struct dice {
	uint64_t state;
};

static uint32_t roll(struct dice *d, uint32_t sides)
{
	d->state = d->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(d->state >> 33) % sides;
}
#define PICK(d, list) (list)[roll(d, sizeof(list) / sizeof *(list))]

static const char *const of_x[] = {"x.id", "x.k", "x.g", "x.t", "x.dt", "x.bo", "x.ti", "x.bi", "x.ub", "x.d", "x.f", "x.c",
                                   "x.m", "x.mm", "x.ts", "x.lt", "x.mo", "x.g * 2 + x.k", "x.t || '!'", "upper(x.lt)", "7",
                                   "x.d / 3"};
static const char *const of_y[] = {"y.id", "y.k", "y.g", "y.t", "y.dt", "y.w", "y.lt", "y.d", "y.w + x.id", "y.d * x.g",
                                   "x.t || y.t"};
static const char *const keys[] = {"x.k = y.k", "x.dt = y.dt", "x.t = y.t AND x.g = y.g", "x.k = y.k AND x.g = y.g", "x.g = y.g"};
static const char *const filters[] = {"x.id % 3 = 1", "x.m > 0", "x.t LIKE 's1%'", "y.id < 500", "x.bo", "x.d < 10", "y.t <> 's3'"};

struct query {
	char text[2048];
	size_t length;
	bool ordered;
};

static void add(struct query *q, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	q->length += (size_t)vsnprintf(q->text + q->length, sizeof q->text - q->length, format, args);
	va_end(args);
	assert_true(q->length < sizeof q->text);
}

static void add_order(struct dice *d, struct query *q)
{
	static const char *const ways[] = {"", " DESC", " NULLS FIRST", " DESC NULLS FIRST", " DESC NULLS LAST"};
	add(q, " ORDER BY ");
	for (uint32_t i = roll(d, 3); i > 0; i--) /* texts made of columns order nothing on a device */
		add(q, "%s%s, ", roll(d, 2) ? of_y[roll(d, 10)] : of_x[roll(d, 18)], PICK(d, ways));
	add(q, "x.id%s, y.id%s", PICK(d, ways), PICK(d, ways));
	if (roll(d, 3))
		add(q, " LIMIT %u", roll(d, 200));
	if (!roll(d, 4))
		add(q, " OFFSET %u", roll(d, 60));
}

static void make_query(struct dice *d, struct query *q)
{
	const uint32_t kind = roll(d, 4); /* inner three times, LEFT */
	*q = (struct query){.ordered = roll(d, 3) > 0};
	add(q, "SELECT x.id");
	for (uint32_t i = 1 + roll(d, 3); i > 0; i--)
		add(q, ", %s", PICK(d, of_x));
	for (uint32_t i = 1 + roll(d, 3); i > 0; i--)
		add(q, ", %s", PICK(d, of_y));
	add(q, " FROM x %sJOIN y ON %s WHERE true", kind == 3 ? "LEFT " : "", PICK(d, keys));
	for (uint32_t i = roll(d, 3); i > 0; i--)
		add(q, " AND %s", PICK(d, filters));
	if (kind < 3 && !roll(d, 3))
		add(q, " AND x.id + y.id > 700");
	if (!roll(d, 4))
		add(q, " AND %sEXISTS (SELECT 1 FROM y v WHERE v.g = x.g AND v.w > 900)", roll(d, 2) ? "NOT " : "");
	if (q->ordered)
		add_order(d, q);
}

/* ---- comparisons ---- */

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Lines in one order, where the query promises none. */
static void sort_lines(char *text)
{
	size_t count = 0, n = strlen(text);
	char *copy = malloc(n + 1), **lines = malloc((n + 1) * sizeof *lines), *at = text;
	assert_true(copy && lines);
	memcpy(copy, text, n + 1);
	/* memchr: strchr reads to the text's end each time, where a sanitizer checks its argument. */
	for (char *line = copy, *end; (end = memchr(line, '\n', (size_t)(copy + n - line))); line = end + 1) {
		*end = 0;
		lines[count++] = line;
	}
	qsort(lines, count, sizeof *lines, compare_lines);
	for (size_t i = 0; i < count; i++)
		at += sprintf(at, "%s\n", lines[i]);
	free(lines);
	free(copy);
}

/* DuckDB's rows; `by` gets who gave ours. */
static void same_rows(rayql_connection *con, const char *sql, bool ordered, char by[32])
{
	char *have = rows_of(con, sql, by);
	run(con, "SET rayql_enable_scan = off");
	char *want = rows_of(con, sql, NULL);
	run(con, "SET rayql_enable_scan = on");
	if (!ordered) {
		sort_lines(have);
		sort_lines(want);
	}
	if (strcmp(have, want) != 0)
		fail_msg("seed %u: %s\nby %s:\n%swant:\n%s", SEED, sql, by, have, want);
	free(have);
	free(want);
}

static void there(rayql_connection *con, const char *sql, bool ordered)
{
	char by[32];
	for (int i = 0; i < 2; i++) { /* then from the plan cache */
		same_rows(con, sql, ordered, by);
		if (strcmp(by, "materialise") != 0) {
			rayql_query_info info = {.size = sizeof info};
			(void)rayql_last_query(con, &info);
			fail_msg("%s\nanswered by %s: %s", sql, by, info.reason);
		}
	}
}

static void random_queries(void **state)
{
	struct dice d = {SEED};
	const uint32_t count = random_count(6, 60);
	uint32_t fetched = 0;
	(void)state;
	if (!has_unit("compute"))
		skip();
	struct session s = rows_session();
	for (uint32_t i = 0; i < count; i++) {
		struct query q;
		char by[32];
		make_query(&d, &q);
		same_rows(s.con, q.text, q.ordered, by);
		fetched += !strcmp(by, "materialise");
		if (getenv("RAYQL_TEST_VERBOSE"))
			print_message("%s: %s\n", by, q.text);
	}
	if (fetched + (QUERY_STEP > 1) < count * 3 / 4)
		fail_msg("seed %u: only %u of %u queries were answered by rows of a device", SEED, fetched, count);
	close_session(&s);
}

/* What must be had there: no order with a limit, none of the rows, all of them, conditions over two tables, three
 * tables, results that are read when what they were made of is gone. */
static void certain_queries(void **state)
{
	(void)state;
	if (!has_unit("compute"))
		skip();
	struct session s = rows_session();
	there(s.con, "SELECT x.id, y.lt, x.d FROM x JOIN y ON x.k = y.k", false);
	there(s.con, "SELECT x.id, y.lt FROM x JOIN y ON x.t = y.t WHERE x.t < 's2' AND y.t >= 's2' ORDER BY ALL", true);
	there(s.con, "SELECT x.id, z.lt, y.w FROM x JOIN y ON x.k = y.k LEFT JOIN z ON x.g = z.g WHERE x.id < 400", false);
	there(s.con, "SELECT x.t, y.w, x.d FROM x JOIN y ON x.k = y.k ORDER BY x.d DESC NULLS FIRST, x.id, y.id LIMIT 300", true);
	there(s.con, "SELECT x.id, y.id FROM x JOIN y ON x.k = y.k ORDER BY x.id, y.id LIMIT 0", true);
	there(s.con, "SELECT x.id, y.id FROM x JOIN y ON x.k = y.k ORDER BY x.id, y.id LIMIT 5 OFFSET 1000000", true);
	there(s.con, "SELECT x.id + y.id q, x.t FROM x JOIN y ON x.k = y.k WHERE x.m < y.w - 900 ORDER BY q DESC, x.id LIMIT 9", true);
	there(s.con, "SELECT x.id, y.t, v.lt FROM x JOIN y ON x.k = y.k JOIN y v ON y.dt = v.dt WHERE x.id < 300 ORDER BY ALL", true);
	char *count = rows_of(s.con, "SELECT x.g FROM x JOIN y ON x.k = y.k LIMIT 17", NULL);
	size_t lines = 0;
	for (const char *c = count; *c; c++)
		lines += *c == '\n';
	assert_int_equal(lines, 17);
	free(count);
	close_session(&s);
}

/* The first rows of many are found on the device, by first keys of every kind, up and down, NULLs first and last. Where
 * more tie than it has room for, all are fetched. */
static void first_rows(void **state)
{
	static const char *const first[] = {"x.k", "x.d", "x.f", "x.bi", "x.ub", "x.t", "x.mo", "x.dt", "x.m", "y.w", "y.d"};
	static const char *const ways[] = {"", "DESC", "NULLS FIRST", "DESC NULLS FIRST", "DESC NULLS LAST"};
	(void)state;
	if (!has_unit("compute"))
		skip();
	struct session s = rows_session();
	for (size_t i = 0; i < sizeof first / sizeof *first; i += KINDS) {
		char sql[256];
		snprintf(sql, sizeof sql, "SELECT x.id, y.id, x.lt, %s FROM x JOIN y ON x.g = y.g ORDER BY %s %s, x.id, y.id LIMIT %d OFFSET %d",
		         first[i], first[i], ways[i % 5], i % 2 ? 20 : 200, i % 3 ? 0 : 7);
		there(s.con, sql, true);
	}
	there(s.con, "SELECT x.id, y.id FROM x JOIN y ON x.g = y.g ORDER BY x.bo, x.id, y.id LIMIT 20", true);
	char *plan = rows_of(s.con, "EXPLAIN ANALYZE SELECT x.id, y.id FROM x JOIN y ON x.g = y.g ORDER BY x.id, y.id LIMIT 20", NULL);
	assert_non_null(strstr(plan, "materialise.top_words"));
	free(plan);
	close_session(&s);
}

/* One key has most of the rows, which no statistics say: the run counts them, and the next one has room. */
static void growth(void **state)
{
	(void)state;
	if (!has_unit("compute"))
		skip();
	struct session s = rows_session();
	run(s.con, "CREATE TABLE l AS SELECT CASE WHEN i % 10 < 7 THEN 42 ELSE i END::INTEGER k, i::INTEGER v FROM range(900) r(i); "
	           "CREATE TABLE r AS SELECT CASE WHEN i % 10 < 5 THEN 42 ELSE i END::INTEGER k, (i % 11)::INTEGER g FROM "
	           "range(300) r(i); CREATE INDEX cl ON l USING columns (*); CREATE INDEX cr ON r USING columns (*)");
	there(s.con, "SELECT v, g FROM l JOIN r ON l.k = r.k", false);
	there(s.con, "SELECT v, g FROM l JOIN r ON l.k = r.k WHERE v + g > 5 ORDER BY g, v LIMIT 20", true);
	close_session(&s);
}

/* What is not fetched from there has the host's answer, too. */
static void refusals(void **state)
{
	static const char *const queries[] = {
		"SELECT x.id, y.id FROM x JOIN y ON x.k = y.k WHERE x.t < y.t", /* texts of two dictionaries */
		"SELECT x.id, x.wide FROM x JOIN y ON x.k = y.k", /* numbers that have no field */
		"SET rayql_enable_materialise = off",
		"SELECT x.id, y.w FROM x JOIN y ON x.k = y.k",
	};
	char by[32];
	(void)state;
	if (!has_unit("compute"))
		skip();
	struct session s = rows_session();
	for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
		if (queries[i][2] == 'T') {
			run(s.con, queries[i]);
			continue;
		}
		same_rows(s.con, queries[i], false, by);
		if (!strcmp(by, "materialise"))
			fail_msg("%s: from a device", queries[i]);
	}
	close_session(&s);
}

/* A device that fails somewhere on the way to the rows: the right answer all the same, and a structure that says
 * so. */
static void faults(void **state)
{
	static const char make[] = "CREATE TABLE l AS SELECT (i % 40)::INTEGER k, i::INTEGER v FROM range(300) r(i); "
	                           "CREATE TABLE r AS SELECT (i % 50)::INTEGER k, (i % 11)::INTEGER g FROM range(200) r(i); "
	                           "CREATE INDEX cl ON l USING columns (*); CREATE INDEX cr ON r USING columns (*)";
	static const char sql[] = "SELECT v, g, v + g FROM l JOIN r ON l.k = r.k ORDER BY g, v LIMIT 50";
	(void)state;
	if (!has_unit("compute"))
		skip();
	survives_faults(make, sql, 17);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_queries), cmocka_unit_test(certain_queries), cmocka_unit_test(first_rows),
		cmocka_unit_test(growth),
		cmocka_unit_test(refusals),       cmocka_unit_test(faults),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

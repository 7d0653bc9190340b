/* What blocks of 4096 rows tell of their rows: random tables of which every column has blocks without a value, with few
 * NULLs, few values, one value, types' ends, values that ascend, and random ones. Orders with limits and offsets,
 * pages, filters and aggregates, on every unit that there is, beside the host's answers. */
#include "device.h"

#ifdef __SANITIZE_ADDRESS__
#define SHARE 8u
#else
#define SHARE 1u
#endif
#define ROWS 22000u /* five blocks and a short one */
#define BLOCKS 6u

static uint64_t random_state, first_seed;
static unsigned roll(unsigned n)
{
	random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)(random_state >> 33) % n;
}
#define PICK(list) (list)[roll(sizeof(list) / sizeof *(list))]

/* h is some 64-bit hash of the row's number i. */
static const struct type {
	const char *name;
	const char *few, *many, *ascending;
	const char *ends[6]; /* what comparisons are with, too */
	bool summed;
} types[] = {
	{"TINYINT", "h % 5", "(h % 256)::INT - 128", "i // 200 - 60", {"'-128'", "'127'", "'0'", "'3'"}, true},
	{"INTEGER",
     "h % 7",
     "(h % 4000000000)::BIGINT - 2000000000",
     "i - 11000",
     {"'-2147483648'", "'2147483647'", "'0'", "'-1'", "'4'"},
     true},
	{"BIGINT",
     "(h % 9)::BIGINT - 4",
     "(h // 2)::BIGINT - 4611686018427387904",
     "i * 1000000007",
     {"'-9223372036854775808'", "'9223372036854775807'", "'0'", "'2'"},
     false},
	{"UBIGINT", "h % 3", "h", "i * 3", {"'0'", "'18446744073709551615'", "'9223372036854775808'", "'1'"}, false},
	{"HUGEINT",
     "(h % 4)::HUGEINT",
     "(h::HUGEINT - 9000000000000000000) * 1000000007",
     "i::HUGEINT << 70",
     {"'-170141183460469231731687303715884105728'", "'170141183460469231731687303715884105727'", "'0'", "'1'"},
     false},
	{"UHUGEINT",
     "(h % 4)::UHUGEINT",
     "h::UHUGEINT * h::UHUGEINT",
     "i",
     {"'0'", "'340282366920938463463374607431768211455'", "'170141183460469231731687303715884105728'", "'2'"},
     false},
	{"DOUBLE",
     "(h % 5)::DOUBLE / 4",
     "(h::DOUBLE - 9e18) * 1e100",
     "i / 8 - 1000",
     {"'inf'", "'-inf'", "'nan'", "'-0.0'", "'0'", "'5e-324'"},
     false},
	{"FLOAT",
     "(h % 5)::FLOAT / 4",
     "(h::FLOAT - 9e18)",
     "i / 8 - 1000",
     {"'nan'", "'-inf'", "'inf'", "'0'", "'-0.0'", "'1e-45'"},
     false},
	{"VARCHAR",
     "['', 'a', 'b', 'a longer text than twelve'][1 + (h % 4)::BIGINT]",
     "'text ' || (h % 3000)",
     "'row ' || lpad(i::VARCHAR, 6, '0')",
     {"''", "'a'", "'text 17'", "'zzz'", "'row 011000'"},
     false},
	{"DATE",
     "DATE '1999-12-30' + (h % 5)::INT",
     "DATE '1970-01-01' + ((h % 40000)::INT - 20000)",
     "DATE '1990-01-01' + i::INT",
     {"'infinity'", "'-infinity'", "'1970-01-01'", "'2000-01-01'"},
     false},
	{"TIMESTAMP",
     "TIMESTAMP '1999-12-30' + to_days((h % 5)::INT)",
     "make_timestamp((h % 4000000000000000)::BIGINT - 2000000000000000)",
     "TIMESTAMP '1990-01-01' + to_hours(i)",
     {"'infinity'", "'-infinity'", "'1970-01-01'", "'2000-01-01 00:00:00'"},
     false},
	{"DECIMAL(12,2)",
     "(h % 5) / 2",
     "(h % 19000000000)::DECIMAL(18) - 9500000000",
     "i / 4",
     {"'9999999999.99'", "'-9999999999.99'", "'0'", "'1.5'"},
     true},
	{"DECIMAL(38,1)",
     "(h % 5) / 2",
     "h",
     "i * 100",
     {"'9999999999999999999999999999999999999.9'", "'-9999999999999999999999999999999999999.9'", "'0'", "'1.5'"},
     false},
	{"BOOLEAN", "h % 2 = 0", "h % 100 = 0", "i > 11000", {"'true'", "'false'"}, false},
};
#define COLUMNS ((unsigned)(sizeof types / sizeof *types))

/* ---- tables ---- */

struct text {
	char at[65536];
	size_t length;
};
static void put(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void put(struct text *t, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	t->length += (size_t)vsnprintf(t->at + t->length, sizeof t->at - t->length, fmt, args);
	va_end(args);
	assert_true(t->length < sizeof t->at);
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

/* A value with its h. */
static void put_value(struct text *t, const struct type *type, const char *value, unsigned salt)
{
	put(t, "(");
	for (const char *at = value; *at; at++) {
		bool alone = *at == 'h' && (at == value || !is_letter(at[-1])) && !is_letter(at[1]);
		if (alone)
			put(t, "hash(i * 7 + %u)", salt);
		else
			put(t, "%c", *at);
	}
	put(t, ")::%s", type->name);
}

/* One block's values of one column. */
static void put_block(struct text *t, const struct type *type, unsigned salt)
{
	static const unsigned nulls[] = {100, 100, 100, 99, 99, 50, 3, 0, 0}; /* percent; 99: but for a few rows */
	unsigned percent = PICK(nulls), ends = 0;
	while (ends < 6 && type->ends[ends])
		ends++;
	if (percent == 100) {
		put(t, "NULL");
		return;
	}
	if (percent)
		put(t, "CASE WHEN hash(i + %u) %% 10000 < %u THEN NULL ELSE ", salt, percent == 99 ? 9993 : percent * 100);
	switch (roll(6)) {
	case 0:
		put(t, "%s::%s", type->ends[roll(ends)], type->name);
		break;
	case 1:
		put(t, "([%s", type->ends[0]);
		for (unsigned e = 1; e < ends; e++)
			put(t, ", %s", type->ends[e]);
		put(t, "]::%s[])[1 + (hash(i * 3 + %u) %% %u)::BIGINT]", type->name, salt, ends);
		break;
	case 2:
		put_value(t, type, type->ascending, salt);
		break;
	case 3:
		put_value(t, type, type->many, salt);
		break;
	default:
		put_value(t, type, type->few, salt);
		break;
	}
	if (percent)
		put(t, " END");
}

static void make_blocks(rayql_connection *con)
{
	static struct text t;
	t.length = 0;
	put(&t, "CREATE OR REPLACE TABLE b AS SELECT i AS id");
	for (unsigned c = 0; c < COLUMNS; c++) {
		put(&t, ", (CASE i // 4096");
		for (unsigned block = 0; block < BLOCKS; block++) {
			put(&t, " WHEN %u THEN ", block);
			put_block(&t, &types[c], roll(100000));
		}
		put(&t, " END)::%s AS c%u", types[c].name, c);
	}
	put(&t, " FROM range(%u) AS q(i)", ROWS);
	run(con, t.at);
}

/* ---- queries ---- */

static void put_literal(struct text *t, unsigned c)
{
	unsigned ends = 0;
	while (ends < 6 && types[c].ends[ends])
		ends++;
	put(t, "%s::%s", types[c].ends[roll(ends)], types[c].name);
}

static void put_condition(struct text *t, unsigned c)
{
	static const char *const comparisons[] = {"<", "<=", "=", ">=", ">", "<>", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"};
	switch (roll(8)) {
	case 0:
		put(t, "c%u IS NULL", c);
		return;
	case 1:
		put(t, "c%u IS NOT NULL", c);
		return;
	case 2:
		put(t, "c%u BETWEEN ", c);
		put_literal(t, c);
		put(t, " AND ");
		put_literal(t, c);
		return;
	case 3:
		put(t, "c%u IN (", c);
		put_literal(t, c);
		put(t, ", ");
		put_literal(t, c);
		put(t, ")");
		return;
	default:
		put(t, "%s(c%u %s ", roll(5) ? "" : "NOT ", c, PICK(comparisons));
		put_literal(t, c);
		put(t, "%s)", roll(5) ? "" : ") OR (c0 IS NULL");
		return;
	}
}

static void put_where(struct text *t)
{
	for (unsigned i = 0, count = roll(3); i < count; i++) {
		put(t, i ? " AND (" : " WHERE (");
		put_condition(t, roll(COLUMNS));
		put(t, ")");
	}
}

static const char *random_end(void)
{
	static const char *const ends[] = {" NULLS FIRST", " NULLS LAST", " DESC NULLS FIRST", " DESC NULLS LAST"};
	return PICK(ends);
}

/* Rows in an order that tells all of them apart; or, alone, the first keys. Offsets end among values, among NULLs, and
 * beyond all. */
static void order_query(struct text *t)
{
	static const unsigned limits[] = {1, 2, 3, 10, 100, 5000, 30000};
	unsigned keys = 1 + roll(3), columns[3] = {roll(COLUMNS), roll(COLUMNS), roll(COLUMNS)};
	bool alone = roll(5) == 0;
	keys = alone ? 1 : keys;
	t->length = 0;
	put(t, "SELECT %sc%u", alone ? "" : "id, ", columns[0]);
	put(t, " FROM b");
	put_where(t);
	for (unsigned k = 0; k < keys; k++)
		put(t, "%s c%u%s", k ? "," : " ORDER BY", columns[k], random_end());
	if (!alone)
		put(t, ", id%s", random_end());
	if (roll(8))
		put(t, " LIMIT %u", PICK(limits));
	if (roll(2))
		put(t, " OFFSET %u", roll(3) ? roll(30) : roll(ROWS));
}

static void aggregate_query(struct text *t)
{
	static const unsigned keys[] = {0, 13, 8, 1, 6, 9};
	unsigned key = PICK(keys), c = roll(COLUMNS), d = roll(COLUMNS);
	bool grouped = roll(3);
	t->length = 0;
	put(t, "SELECT ");
	if (grouped)
		put(t, "c%u, ", key);
	put(t, "count(*), count(c%u), min(c%u), max(c%u), min(c%u), max(c%u)", c, c, c, d, d);
	put(t, types[c].summed ? ", sum(c%u)" : ", count(c%u)", c);
	put(t, " FROM b");
	put_where(t);
	if (grouped)
		put(t, " GROUP BY c%u ORDER BY c%u%s", key, key, random_end());
}

/* ---- who answers ---- */

struct asked {
	rayql_connection *con, *host;
	unsigned scans, cubes, all;
};

/* Rows as text. -0.0 is 0.0: a sort of DuckDB's forgets which of the two it was. */
static char *rows_by(rayql_connection *con, const char *sql, char *method)
{
	char *rows = rows_of(con, sql, method), *to = rows;
	for (const char *at = rows; *at; at++) {
		bool begins = at == rows || at[-1] == '|' || at[-1] == '\n';
		if (begins && strncmp(at, "-0.0", 4) == 0 && (at[4] == '|' || at[4] == '\n'))
			at++;
		*to++ = *at;
	}
	*to = '\0';
	return rows;
}

/* Where the line begins in which two texts differ. */
static size_t first_difference(const char *a, const char *b)
{
	size_t line = 0;
	for (size_t i = 0; a[i] && a[i] == b[i]; i++)
		line = a[i] == '\n' ? i + 1 : line;
	return line;
}

static void check(struct asked *a, const char *sql)
{
	char *want = rows_by(a->host, sql, NULL), method[32];
	for (int again = 0; again < 2; again++) { /* then from the plan cache */
		char *have = rows_by(a->con, sql, method);
		if (strcmp(have, want) != 0) {
			rayql_query_info info = {.size = sizeof info};
			(void)rayql_last_query(a->con, &info);
			size_t line = first_difference(have, want);
			print_error("%s\nby %s on %s: %s\nhave ...\n%.200s\nwant ...\n%.200s\n", sql, info.method, info.unit,
			            info.reason, have + line, want + line);
			fail();
		}
		free(have);
	}
	free(want);
	a->scans += strcmp(method, "scan") == 0;
	a->cubes += strcmp(method, "cube") == 0;
	a->all++;
}

/* Page by page, the rows come as in one result. */
static void check_pages(struct asked *a)
{
	static struct text whole, page;
	const unsigned size = 1 + roll(3000), first = roll(ROWS), pages = 4;
	whole.length = 0;
	put(&whole, "SELECT id, c%u FROM b", roll(COLUMNS));
	put_where(&whole);
	put(&whole, " ORDER BY c%u%s, c%u%s, id", roll(COLUMNS), random_end(), roll(COLUMNS), random_end());
	char *all = rows_by(a->host, whole.at, NULL), *at = all;
	for (unsigned skipped = 0; *at && skipped < first; skipped++)
		at = strchr(at, '\n') + 1;
	for (unsigned p = 0; p < pages; p++) {
		page.length = 0;
		put(&page, "%s LIMIT %u OFFSET %u", whole.at, size, first + p * size);
		char *have = rows_by(a->con, page.at, NULL);
		if (strncmp(have, at, strlen(have)) != 0 || (!*have && *at))
			fail_msg("%s\nhave:\n%.1500s\nwant:\n%.1500s\n", page.at, have, at);
		at += strlen(have);
		free(have);
	}
	free(all);
}

static void ask(struct asked *a, unsigned count)
{
	static struct text t;
	for (unsigned i = 0; i < count; i++) {
		if (roll(3))
			order_query(&t);
		else
			aggregate_query(&t);
		check(a, t.at);
	}
}

static struct session blocks_session(struct asked *a, const char *settings)
{
	struct session s = open_session(NULL, NULL);
	rayql_error *err = NULL;
	*a = (struct asked){.con = s.con};
	assert_int_equal(rayql_connect(s.db, &a->host, &err), RAYQL_OK);
	run(a->host, "SET rayql_enable_scan = off; SET rayql_enable_cube = off");
	run(s.con, settings);
	return s;
}

static void close_blocks(struct session *s, struct asked *a)
{
	rayql_disconnect(a->host);
	close_session(s);
}

/* ---- tests ---- */

/* How many tables of blocks, of each of which ASan asks a share. */
static unsigned seeds_to_ask(void)
{
	return SHARE > 1 || getenv("RAYQL_TEST_LONG") ? 4 : 2;
}

static void scans(void **state)
{
	struct asked a;
	struct session s = blocks_session(&a, "SET rayql_force = on");
	(void)state;
	for (unsigned seed = 1; seed <= seeds_to_ask(); seed++) {
		random_state = (first_seed + seed) * 1000003;
		make_blocks(s.con);
		run(s.con, "CREATE OR REPLACE INDEX bc ON b USING columns (*)");
		ask(&a, 60 / SHARE);
		check_pages(&a);
		/* Blocks of the same kinds behind the others, and a table that others' codes were made for. */
		run(s.con, "INSERT INTO b SELECT id + 100000, COLUMNS(* EXCLUDE (id)) FROM b WHERE id BETWEEN 3000 AND 12000");
		ask(&a, 20 / SHARE);
		check_pages(&a);
	}
	assert_in_range(a.scans, a.all * 3 / 4, a.all); /* the optimiser proves some to be empty */
	close_blocks(&s, &a);
}

static void scans_on_device(void **state)
{
	struct asked a;
	(void)state;
	if (!has_unit("compute"))
		skip();
	struct session s = blocks_session(
		&a, "SET rayql_force = on; SET rayql_device = 'vulkan:0'; SET rayql_unit = 'compute'");
	for (unsigned seed = 1; seed <= 2; seed++) {
		random_state = (first_seed + seed) * 7000003;
		make_blocks(s.con);
		run(s.con, "CREATE OR REPLACE INDEX bc ON b USING columns (*)");
		ask(&a, 24 / SHARE);
		check_pages(&a);
	}
	assert_in_range(a.scans, a.all / 4, a.all);
	close_blocks(&s, &a);
}

/* Four of the columns are dimensions, others measures: what prefix sums, hierarchies and runs make of NULLs. */
static void ask_cubes(const char *settings, unsigned seeds)
{
	static struct text t;
	struct asked a;
	struct session s = blocks_session(&a, settings);
	for (unsigned seed = 1; seed <= seeds; seed++) {
		unsigned d[4], m = roll(COLUMNS);
		random_state = (first_seed + seed) * 9000011;
		make_blocks(s.con);
		d[0] = 0;
		for (unsigned i = 1; i < 4; i++)
			d[i] = (d[i - 1] + 1 + roll(4)) % COLUMNS;
		t.length = 0;
		put(&t, "CREATE OR REPLACE MATERIALIZED VIEW v WITH (rollup = %s) AS SELECT c%u, c%u, c%u, c%u, count(*), ",
		    roll(2) ? "auto" : "off", d[0], d[1], d[2], d[3]);
		put(&t, "count(c%u), min(c%u), max(c%u), sum(c1), sum(c11), min(c%u) FROM b GROUP BY ALL", m, m, m, d[1]);
		run(s.con, t.at);
		for (unsigned i = 0; i < 25 / SHARE; i++) {
			t.length = 0;
			unsigned key = d[roll(4)];
			put(&t, "SELECT c%u, count(*), count(c%u), min(c%u), max(c%u), sum(c1), sum(c11), min(c%u) FROM b", key, m, m, m,
			    d[1]);
			for (unsigned k = 0, count = roll(3); k < count; k++) {
				put(&t, k ? " AND (" : " WHERE (");
				put_condition(&t, d[roll(4)]);
				put(&t, ")");
			}
			put(&t, " GROUP BY c%u ORDER BY c%u%s LIMIT %u OFFSET %u", key, key, random_end(), 1 + roll(2000), roll(5));
			check(&a, t.at);
		}
	}
	assert_in_range(a.cubes, a.all / 5, a.all);
	close_blocks(&s, &a);
}

static void cubes(void **state)
{
	(void)state;
	ask_cubes("SET rayql_enable_scan = off; SET rayql_force = on", seeds_to_ask());
}

static void cubes_on_device(void **state)
{
	static const char *const units[] = {"compute", "rt"};
	(void)state;
	for (unsigned u = 0; u < 2; u++) {
		char settings[160];
		if (!has_unit(units[u]))
			continue;
		snprintf(settings, sizeof settings,
		         "SET rayql_enable_scan = off; SET rayql_force = on; SET rayql_device = 'vulkan:0'; SET rayql_unit = '%s'",
		         units[u]);
		ask_cubes(settings, 2);
	}
}

/* An argument: a number of other tables. */
int main(int argc, char **argv)
{
	first_seed = argc > 1 ? strtoull(argv[1], NULL, 10) * 1000 : 0;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scans),
		cmocka_unit_test(cubes),
		cmocka_unit_test(scans_on_device),
		cmocka_unit_test(cubes_on_device),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

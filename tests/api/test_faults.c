/* A device that fails in the middle (RAYQL_FAULT): the right answer from somebody else, a mark, and life goes on. */
#include "device.h"

/* ---- faults: every one of them, until a run meets none ---- */
#define MANY 400
/* The checks of AddressSanitizer make a life several times as long, neighbouring faults strike the same code, and walks of one
 * unit make nearly the same calls. So a walk has one fault, another one each time. Each eighth goes on until nothing fails. Of
 * rays and of scans every second walk is left out. With -DALL_FAULTS (by hand) each has all of them. */
#ifdef ALL_FAULTS
#define STEP 1
#define MADE_STEP 1
#define IS_WHOLE(walk) true
#else
#define STEP 149
#define MADE_STEP 3
#define IS_WHOLE(walk) ((walk) % 8 == 0)
#endif

/* What a database lives with, besides a fault. */
struct life {
	const char *unit, *layout; /* layout: NULL, or one for rt */
	const char *query, *want;
	bool warm;
};

/* live: one life of a database with this fault; true: the fault struck nothing. */
static void walk_faults(bool (*live)(const char *fault, const struct life *), const struct life *life, const char *kind, unsigned walk)
{
	bool clean = false, struck = false;
	char fault[64];
	for (int n = 1 + (int)(walk % STEP); n < MANY && !clean && (!struck || IS_WHOLE(walk)); n += STEP) {
		snprintf(fault, sizeof fault, "vulkan:0 %s %d", kind, n);
		clean = live(fault, life);
		struck |= !clean;
	}
	assert_true(clean || !IS_WHOLE(walk));
	if (!struck) { /* there were fewer */
		snprintf(fault, sizeof fault, "vulkan:0 %s 1", kind);
		struck = !live(fault, life);
	}
	if (!struck)
		print_error("no %s ever failed on %s\n", kind, life->unit);
	assert_true(struck);
}

static bool live_with(const char *fault, const struct life *life)
{
	char text[64];
	const char *unit = life->unit, *want = life->want;
	snprintf(text, sizeof text, "SET rayql_layout = '%s'", life->layout ? life->layout : "auto");
	with_vulkan(fault);
	struct session s = open_session(NULL, NULL);
	make_data(s.con);
	use(s.con, unit);
	if (!life->warm) /* nothing is placed before the query */
		run(s.con, "SET rayql_unit = cpu");
	run(s.con, text); /* a layout is placed by its first query only */
	run(s.con, VIEW("rollup = off"));
	use(s.con, unit);
	for (int i = 0; i < 3; i++) /* the right answer, whoever gives it */
		expect(s.con, QUERY, NULL, want);
	char *info = rows_of(s.con, "SELECT method <> 'host' FROM rayql_last_query()", NULL);
	bool on_device = strcmp(info, "true\n") == 0;
	free(info);
	char *marked = rows_of(s.con, "SELECT count(*) FROM rayql_structures() WHERE reason LIKE '%vulkan:0%'", NULL);
	bool clean = strcmp(marked, "0\n") == 0;
	free(marked);
	/* What is not used on the device says so, and what says nothing is used. */
	assert_int_equal(on_device, clean);
	/* Later statements work: on what is left, and after a rebuild on the device again, unless it is lost. */
	run(s.con, "RESET rayql_device; RESET rayql_unit; RESET rayql_layout");
	expect(s.con, QUERY, "cube", want);
	run(s.con, "INSERT INTO t VALUES (6, 'g0', 0)");
	run(s.con, "REFRESH MATERIALIZED VIEW v");
	use(s.con, unit);
	run(s.con, text);
	expect(s.con, QUERY, strstr(fault, "lost") && !clean ? "host" : NULL, want);
	close_session(&s);
	return clean;
}

static char *right_answer(void)
{
	with_vulkan(NULL);
	struct session s = open_session(NULL, NULL);
	make_data(s.con);
	char *want = rows_of(s.con, QUERY, NULL);
	close_session(&s);
	return want;
}

static void faults_of(const char *unit, const char *layout)
{
	static unsigned walk;
	static const char *const kinds[] = {"allocation", "submission", "wait", "lost"};
	const bool other = strcmp(unit, "compute") != 0 && STEP > 1; /* compute has both of each kind */
	char *want = right_answer();
	for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
		for (int warm = other ? (int)k % 2 : 0; warm < 2; warm += other ? 2 : 1) /* another one each time */
			walk_faults(live_with, &(struct life){.unit = unit, .layout = layout, .want = want, .warm = warm}, kinds[k], walk++);
	free(want);
	with_vulkan(NULL);
}

static void faults_of_compute(void **state)
{
	(void)state;
	if (!has_unit("compute"))
		skip();
	faults_of("compute", NULL);
}

static void faults_of_rt(void **state)
{
	(void)state;
	if (!has_unit("rt"))
		skip();
	faults_of("rt", NULL);
}

static void faults_of_the_paper(void **state)
{
	(void)state;
	if (!has_unit("rt"))
		skip();
	faults_of("rt", "paper");
}

/* ---- columns ---- */
/* Many groups, so that a run also downloads. */
#define MANY_GROUPS "SELECT v, count(*), sum(a) FROM t GROUP BY v ORDER BY v LIMIT 3"
/* Rows themselves, and the first ones of an order. */
#define ROWS "SELECT v, g FROM t WHERE v > 9990 AND a = 6"
#define FIRST_ROWS "SELECT v, a, g FROM t WHERE a > 2 ORDER BY v DESC, a, g LIMIT 5"

static const char columns_marked[] =
	"SELECT count(*) FROM rayql_structures() WHERE reason LIKE '%not used on vulkan:0 (%'";
static const char on_device[] = "SELECT device = 'vulkan:0' FROM rayql_last_query()";

static bool is_true(rayql_connection *con, const char *sql)
{
	char *rows = rows_of(con, sql, NULL);
	bool answer = strcmp(rows, "true\n") == 0;
	free(rows);
	return answer;
}

/* The same of an index's columns. */
static bool columns_live_with(const char *fault, const struct life *life)
{
	const char *query = life->query, *want = life->want;
	with_vulkan(fault);
	struct session s = open_session(NULL, NULL);
	make_data(s.con);
	run(s.con, "CREATE INDEX c ON t USING columns (*)");
	use(s.con, "compute");
	for (int i = 0; i < 3; i++) /* the right answer, whoever gives it */
		expect(s.con, query, NULL, want);
	bool clean = is_true(s.con, on_device);
	/* What is not used on the device says so, and what says nothing is used; rows that are added change nothing. */
	expect(s.con, columns_marked, NULL, clean ? "0\n" : "1\n");
	run(s.con, "INSERT INTO t VALUES (6, 'g0', 0)");
	run(s.con, "INSERT INTO t VALUES (6, 'g0', 10000)");
	char *more = rows_of(s.con, query, NULL);
	assert_true(clean || !is_true(s.con, on_device));
	clean = is_true(s.con, on_device); /* or it struck now */
	run(s.con, "RESET rayql_device; RESET rayql_unit");
	expect(s.con, query, "scan", more);
	expect(s.con, "SELECT device FROM rayql_last_query()", NULL, "cpu\n");
	expect(s.con, columns_marked, NULL, clean ? "0\n" : "1\n");
	/* After a rebuild it is tried again, unless the device is lost. */
	run(s.con, "REFRESH INDEX c");
	expect(s.con, columns_marked, NULL, "0\n");
	use(s.con, "compute");
	expect(s.con, query, clean ? NULL : strstr(fault, "lost") ? "host" : "scan", more);
	clean &= is_true(s.con, on_device);
	free(more);
	close_session(&s);
	return clean;
}

static void faults_of_scans(void **state)
{
	static const char *const kinds[] = {"allocation", "submission", "wait", "lost"};
	static const char *const queries[] = {QUERY, MANY_GROUPS, ROWS, FIRST_ROWS};
	unsigned walk = 0;
	(void)state;
	if (!has_unit("compute"))
		skip();
	for (size_t q = 0; q < sizeof queries / sizeof *queries; q++) {
		struct session s = open_session(NULL, NULL);
		make_data(s.con);
		char *want = rows_of(s.con, queries[q], NULL);
		close_session(&s);
		for (size_t k = STEP > 1 ? q % 2 : 0; k < sizeof kinds / sizeof *kinds; k += STEP > 1 ? 2 : 1, walk++)
			walk_faults(columns_live_with, &(struct life){.unit = "compute", .query = queries[q], .want = want}, kinds[k], walk);
		free(want);
	}
	with_vulkan(NULL);
}

/* What a user reads: a notice with the reason, an error where the host may not answer, and the mark. */
static void what_a_failure_says(void **state)
{
	(void)state;
	if (!has_unit("compute"))
		skip();
	for (int off = 0; off < 2; off++) {
		with_vulkan("vulkan:0 lost 1");
		struct session s = open_session(NULL, NULL);
		make_data(s.con);
		run(s.con, VIEW("rollup = off, unit = cpu"));
		use(s.con, "compute");
		run(s.con, off ? "SET rayql_fallback = off" : "SET rayql_fallback = notice");
		rayql_result *res = NULL;
		rayql_error *err = NULL;
		rayql_status status = rayql_query(s.con, QUERY, &res, &err);
		if (off) {
			assert_int_equal(status, RAYQL_ERROR_UNSUPPORTED);
			holds(rayql_error_message(err), "the method \"cube\" failed on compute (");
			rayql_error_free(err);
		} else {
			assert_int_equal(status, RAYQL_OK);
			assert_string_equal(rayql_result_method(res), "host");
			holds(rayql_result_notice(res), "the method \"cube\" failed on compute (");
			holds(rayql_result_notice(res), ", vulkan:0): ");
			holds(rayql_result_notice(res), "lost");
		}
		rayql_result_free(res);
		expect(s.con, "SELECT reason LIKE 'not used on vulkan:0 (%) any more%' FROM rayql_structures()", NULL,
		       "true\n");
		expect(s.con, "SELECT note FROM rayql_devices() WHERE device = 'vulkan:0'", NULL,
		       "lost; restart the program to use it again\n");
		run(s.con, "RESET rayql_device; RESET rayql_unit");
		expect(s.con, QUERY, "cube", NULL);
		close_session(&s);
	}
	with_vulkan(NULL);
}

/* The first n that does not hold, of which all before do. By halves, for each n costs a life of a database; few are below 8. */
static int first_beyond(bool (*holds_at_n)(int n))
{
	int within = 0, beyond = 8;
	for (; holds_at_n(beyond); beyond *= 2) {
		within = beyond;
		assert_true(beyond < MANY);
	}
	while (beyond - within > 1) {
		const int middle = within + (beyond - within) / 2;
		if (holds_at_n(middle))
			within = middle;
		else
			beyond = middle;
	}
	return beyond;
}

static struct session two_views(int n)
{
	char fault[64];
	snprintf(fault, sizeof fault, "vulkan:0 lost %d", n);
	with_vulkan(fault);
	struct session s = open_session(NULL, NULL);
	make_data(s.con);
	use(s.con, "compute");
	run(s.con, "CREATE MATERIALIZED VIEW w WITH (rollup = off) AS SELECT a, count(*) FROM t GROUP BY a");
	run(s.con, VIEW("rollup = off"));
	run(s.con, QUERY);
	return s;
}

static bool lost_before(int n)
{
	struct session s = two_views(n);
	bool lost = is_true(s.con, "SELECT note LIKE 'lost;%' FROM rayql_devices() WHERE device = 'vulkan:0'");
	close_session(&s);
	return lost;
}

/* A lost device takes the other views' contents with it. */
static void lost_with_everything(void **state)
{
	(void)state;
	if (!has_unit("compute"))
		skip();
	struct session s = two_views(first_beyond(lost_before)); /* the next submission is the one */
	expect(s.con, "SELECT device_bytes > 0 FROM rayql_structures() WHERE name = 'w'", NULL, "true\n");
	expect(s.con, QUERY, "host", NULL);
	expect(s.con,
	       "SELECT regexp_replace(placed, '[0-9.]+ ms', 'T ms'), device_bytes FROM rayql_structures() WHERE name = 'w'",
	       NULL, "vulkan:0 (arrays in T ms): not used: the device was lost|0\n");
	close_session(&s);
	with_vulkan(NULL);
}

/* A view of which another plan has been run, with the n-th allocation failing. */
static struct session one_view(int n)
{
	char fault[64];
	snprintf(fault, sizeof fault, "vulkan:0 allocation %d", n);
	with_vulkan(fault);
	struct session s = open_session(NULL, NULL);
	make_data(s.con);
	use(s.con, "compute");
	run(s.con, VIEW("rollup = off"));
	run(s.con, "SELECT a, sum(v) FROM t GROUP BY a ORDER BY a");
	return s;
}

static const char nothing_marked[] =
	"SELECT count(*) = 0 FROM rayql_structures() WHERE reason IS NOT NULL OR placed LIKE '%not used%'";
static bool marked_before(int n)
{
	struct session s = one_view(n);
	const bool marked = !is_true(s.con, nothing_marked);
	close_session(&s);
	return marked;
}

/* Memory that runs out while plans that were run before keep some of it: they make room, and nothing is marked. */
static void makes_room(void **state)
{
	(void)state;
	if (!has_unit("compute"))
		skip();
	char *want = right_answer();
	const int first = first_beyond(marked_before); /* it strikes in the next run, which makes few buffers */
	for (int n = first; n < first + 9; n += MADE_STEP) {
		struct session s = one_view(n);
		expect(s.con, QUERY, "cube", want);
		expect(s.con, "SELECT device FROM rayql_last_query()", NULL, "vulkan:0\n");
		assert_true(is_true(s.con, nothing_marked));
		close_session(&s);
	}
	free(want);
	with_vulkan(NULL);
}

/* A calibration that fails leaves the constants as they were. */
static void calibration(void **state)
{
	(void)state;
	static const char *const faults[] = {"vulkan:0 allocation 12", "vulkan:0 allocation 20"};
	if (!has_unit("compute"))
		skip();
	for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
		with_vulkan(faults[i]);
		struct session s = open_session(NULL, NULL);
		rayql_error *err = NULL;
		char *before = rows_of(s.con, "SELECT measured, read_gbps, profile FROM rayql_devices() OFFSET 1", NULL);
		assert_int_equal(rayql_calibrate_device(s.db, "vulkan:0", &err), RAYQL_ERROR_LIMIT);
		holds(rayql_error_message(err), "RAYQL_FAULT");
		rayql_error_free(err);
		expect(s.con, "SELECT measured, read_gbps, profile FROM rayql_devices() OFFSET 1", NULL, before);
		free(before);
		close_session(&s);
	}
	with_vulkan(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_failure_says),  cmocka_unit_test(calibration),
		cmocka_unit_test(lost_with_everything), cmocka_unit_test(makes_room),
		cmocka_unit_test(faults_of_compute),    cmocka_unit_test(faults_of_rt),
		cmocka_unit_test(faults_of_the_paper),  cmocka_unit_test(faults_of_scans),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Devices and units: settings, view options, EXPLAIN, and what happens when a device is missing. Where there is no
 * GPU, only what holds without is tested. */
#include "device.h"

#include <dirent.h>
#include <pthread.h>
#include <sys/stat.h>
#include <time.h>

/* ---- without a GPU ---- */
static void no_gpu(void **state)
{
	(void)state;
	without_vulkan();
	struct session s = open_session(NULL, NULL);
	make_table(s.con, "t", 1000);
	expect(s.con, "SELECT device, kind, units, uuid, limits, note LIKE 'there is no GPU: %' FROM rayql_devices()", NULL,
	       "cpu|cpu|cpu|NULL|NULL|true\n");
	fails(s.con, "SET rayql_device = 'vulkan:0'", RAYQL_ERROR_STATEMENT, "expected 'auto', 'cpu' (");
	fails(s.con, "SET rayql_device = 'vulkan:0'", RAYQL_ERROR_STATEMENT, "there is no GPU");
	fails(s.con, VIEW("unit = rt"), RAYQL_ERROR_STATEMENT, "unit = rt needs a device that has it. there is no GPU");
	fails(s.con, VIEW("unit = compute"), RAYQL_ERROR_STATEMENT, "unit = compute needs a device");
	fails(s.con, VIEW("unit = compute"), RAYQL_ERROR_STATEMENT, "\nLINE 1: CREATE MATERIALIZED VIEW v WITH (unit");
	expect(s.con, "SELECT count(*) FROM rayql_structures()", NULL, "0\n");
	run(s.con, VIEW("unit = cpu"));
	expect(s.con, "SELECT unit, layout, options, placed, device_bytes FROM rayql_structures()", NULL,
	       "cpu|auto|rollup = auto, refresh = manual, unit = cpu|NULL|0\n");
	expect(s.con, "SELECT sum(v) FROM t", "cube", "499500\n");
	expect(s.con, "SELECT unit, device FROM rayql_last_query()", NULL, "cpu|cpu\n");
	run(s.con, "SET rayql_fallback = off; SET rayql_unit = rt");
	fails(s.con, "SELECT sum(v) FROM t", RAYQL_ERROR_UNSUPPORTED, "there is no GPU");
	fails(s.con, "SELECT sum(v) FROM t", RAYQL_ERROR_UNSUPPORTED, "rayql_unit says rt");
	run(s.con, "SET rayql_fallback = on");
	expect(s.con, "SELECT sum(v) FROM t", "host", "499500\n");
	expect(s.con, "SELECT unit, device FROM rayql_last_query()", NULL, "|\n");
	run(s.con, "SET rayql_unit = cpu");
	expect(s.con, "SELECT sum(v) FROM t", "cube", "499500\n");
	run(s.con, "RESET rayql_unit");
	close_session(&s);
}

static void settings_and_options(void **state)
{
	(void)state;
	without_vulkan();
	struct session s = open_session(NULL, NULL);
	make_table(s.con, "t", 1000);
	fails(s.con, VIEW("unit = raster"), RAYQL_ERROR_STATEMENT,
	      "no method of this version answers a view on the unit raster");
	fails(s.con, VIEW("unit = abacus"), RAYQL_ERROR_STATEMENT, "it is auto, cpu, compute or rt");
	fails(s.con, VIEW("layout = round"), RAYQL_ERROR_STATEMENT, "cannot be 'round'; it is one of: auto");
	fails(s.con, "SET rayql_unit = 'pixels'", RAYQL_ERROR_STATEMENT, "'auto', 'cpu', 'compute', 'rt' or 'raster'");
	fails(s.con, "SET rayql_layout = 'round'", RAYQL_ERROR_STATEMENT, "expected one of: auto");
	run(s.con, "SET rayql_layout = 'PAPER'");
	expect(s.con, "SELECT value FROM rayql_settings() WHERE name = 'rayql_layout'", NULL, "paper\n");
	run(s.con, "RESET rayql_layout");
	static const char *const bad_limits[] = {"-1", "0x10%", "-50%", "120%", "nan%", "%", ""};
	for (size_t i = 0; i < sizeof bad_limits / sizeof *bad_limits; i++) {
		char sql[128];
		snprintf(sql, sizeof sql, "SET rayql_device_memory_limit = '%s'", bad_limits[i]);
		fails(s.con, sql, RAYQL_ERROR_STATEMENT, "'auto', a size such as '8GB', or '50%'");
	}
	run(s.con, "SET rayql_device_memory_limit = '12.5 %'");
	expect(s.con, "SELECT value FROM rayql_settings() WHERE name = 'rayql_device_memory_limit'", NULL, "12.5%\n");
	run(s.con, "SET rayql_device_memory_limit = 0");
	expect(s.con, "SELECT value FROM rayql_settings() WHERE name = 'rayql_device_memory_limit'", NULL, "0 bytes\n");
	fails(s.con, "SET rayql_device_timing = 'maybe'", RAYQL_ERROR_STATEMENT, "expected on or off");
	fails(s.con, "SET rayql_device_memory_limit = 'much'", RAYQL_ERROR_STATEMENT, "'auto', a size such as");
	fails(s.con, "SET rayql_device_memory_limit = '101%'", RAYQL_ERROR_STATEMENT, "'auto', a size such as");
	run(s.con, "SET rayql_device_memory_limit = '2GiB'; SET rayql_unit = 'CPU'; SET rayql_device = 'CPU'; "
	           "SET rayql_device_timing = on");
	expect(s.con,
	       "SELECT name, value FROM rayql_settings() WHERE name IN ('rayql_unit', 'rayql_device', 'rayql_layout', "
	       "'rayql_device_timing', 'rayql_device_memory_limit') ORDER BY name",
	       NULL,
	       "rayql_device|cpu\nrayql_device_memory_limit|2.0 GiB\nrayql_device_timing|on\nrayql_layout|auto\n"
	       "rayql_unit|cpu\n");
	run(s.con, "RESET rayql_device_memory_limit; RESET rayql_unit; RESET rayql_device; RESET rayql_device_timing");
	expect(s.con,
	       "SELECT count(*) FROM rayql_settings() WHERE name IN ('rayql_unit', 'rayql_device', "
	       "'rayql_device_memory_limit') AND value = 'auto'",
	       NULL, "3\n");
	rayql_error *err = NULL;
	assert_int_equal(rayql_calibrate_device(s.db, "vulkan:7", &err), RAYQL_ERROR_STATEMENT);
	holds(rayql_error_message(err), "there is no device \"vulkan:7\"; the devices are cpu (");
	rayql_error_free(err);
	assert_int_equal(rayql_calibrate_device(s.db, NULL, NULL), RAYQL_ERROR_MISUSE);
	close_session(&s);
}

/* ---- on vulkan:0 ---- */
static void devices(void **state)
{
	(void)state;
	if (!has_unit("compute"))
		skip();
	with_vulkan(NULL);
	struct session s = open_session(NULL, NULL);
	char *uuid = rows_of(s.con, "SELECT uuid FROM rayql_devices() WHERE device = 'vulkan:0'", NULL), sql[128];
	assert_int_equal(strlen(uuid), 33);
	snprintf(sql, sizeof sql, "SET rayql_device = '%.32s'", uuid);
	free(uuid);
	run(s.con, sql);
	expect(s.con, "SELECT value FROM rayql_settings() WHERE name = 'rayql_device'", NULL, "vulkan:0\n");
	expect(s.con,
	       "SELECT memory > 0, memory_available > 0, limits LIKE 'subgroup %', profile LIKE 'submission %', (kind = "
	       "'software') = (note LIKE '%used only when rayql_device names it') FROM rayql_devices() WHERE device = "
	       "'vulkan:0'",
	       NULL, "true|true|true|true|true\n");
	fails(s.con, "SET rayql_device = 'vulkan:99'", RAYQL_ERROR_STATEMENT, "'vulkan:0' (");
	close_session(&s);
}

static void on_unit(const char *unit)
{
	char text[256];
	with_vulkan(NULL);
	struct session s = open_session(NULL, NULL);
	make_data(s.con);
	char *want = rows_of(s.con, QUERY, NULL);
	use(s.con, unit);
	snprintf(text, sizeof text, VIEW("rollup = off, unit = %s"), unit);
	run(s.con, text);
	expect(s.con, "SELECT reason, device_bytes > 0, placed LIKE 'vulkan:0 (%' FROM rayql_structures()", NULL,
	       "NULL|true|true\n");
	snprintf(text, sizeof text, "%s|vulkan:0|v\n", unit);
	for (int i = 0; i < 3; i++) { /* planned, then from the plan cache */
		expect(s.con, QUERY, "cube", want);
		expect(s.con, "SELECT unit, device, structure FROM rayql_last_query()", NULL, text);
	}
	run(s.con, "SET rayql_device_timing = on");
	expect(s.con, QUERY, "cube", want);
	expect(s.con, "SELECT device_ms > 0 FROM rayql_last_query()", NULL, "true\n");
	char *plan = rows_of(s.con, "EXPLAIN " QUERY, NULL);
	snprintf(text, sizeof text, "method: cube on %s (", unit);
	holds(plan, text);
	holds(plan, ", vulkan:0), structure v");
	snprintf(text, sizeof text, "* v by cube on %s (", unit);
	holds(plan, text);
	holds(plan, ", transfer ");
	if (strcmp(unit, "rt") == 0)
		holds(plan, " rays, ");
	free(plan);
	plan = rows_of(s.con, "EXPLAIN ANALYZE " QUERY, NULL);
	holds(plan, "\ndevice: ");
	holds(plan, ", device "); /* of the operator, and its passes below it */
	holds(plan, "\n        pass ");
	free(plan);
	/* Without the name a driver in software is not used, and the view's wish falls to the CPU, which says so. */
	run(s.con, "RESET rayql_device; RESET rayql_unit");
	expect(s.con, QUERY, "cube", want);
	snprintf(
		text, sizeof text,
		"SELECT (l.unit = '%s') = (d.kind <> 'software') AND (l.unit = '%s' OR l.reason LIKE '%%the view asks for unit "
		"= %s, which no device has%%') FROM rayql_last_query() l, rayql_devices() d WHERE d.device = 'vulkan:0'",
		unit, unit, unit);
	expect(s.con, text, NULL, "true\n");
	free(want);
	close_session(&s);
}

static void compute(void **state)
{
	(void)state;
	if (!has_unit("compute"))
		skip();
	on_unit("compute");
}

static void ray_tracing(void **state)
{
	(void)state;
	if (!has_unit("rt"))
		skip();
	on_unit("rt");
}

static void paper_layout(void **state)
{
	(void)state;
	if (!has_unit("rt"))
		skip();
	with_vulkan(NULL);
	struct session s = open_session(NULL, NULL);
	make_data(s.con);
	char *want = rows_of(s.con, QUERY, NULL);
	run(s.con, "SET rayql_device = 'vulkan:0'; SET rayql_force = on");
	fails(s.con, VIEW("unit = cpu, layout = paper"), RAYQL_ERROR_STATEMENT, "it does not go with unit = cpu");
	run(s.con, VIEW("rollup = off, layout = paper"));
	expect(s.con, "SELECT unit, layout, options FROM rayql_structures()", NULL,
	       "rt|paper|rollup = off, refresh = manual, unit = rt, layout = paper\n");
	expect(s.con, QUERY, "rtcudb", want);
	expect(s.con, "SELECT unit, device, rays > 0, hits > 0 FROM rayql_last_query()", NULL, "rt|vulkan:0|true|true\n");
	run(s.con, "SET rayql_enable_rtcudb = off");
	expect(s.con, QUERY, "host", want);
	run(s.con, "RESET rayql_enable_rtcudb; DROP MATERIALIZED VIEW v");
	/* The session's word stands above the view's. */
	run(s.con, VIEW("rollup = off, unit = rt"));
	expect(s.con, QUERY, "cube", want);
	run(s.con, "SET rayql_layout = paper");
	expect(s.con, QUERY, "rtcudb", want);
	free(want);
	close_session(&s);
}

/* What the view and the session ask for at once: the session wins, and the CPU answers rather than DuckDB. */
static void wishes(void **state)
{
	(void)state;
	static const struct {
		const char *view, *settings, *method, *unit, *reason;
	} cases[] = {
		{"unit = rt", "rayql_device = cpu", "cube", "cpu", "the view asks for unit = rt, and rayql_device says cpu"},
		{"layout = paper", "rayql_device = cpu", "cube", "cpu", "rayql_device says cpu"},
		{"layout = paper", "rayql_device = auto; SET rayql_unit = cpu", "cube", "cpu", "cheapest"},
		{"layout = paper", "rayql_unit = compute", "cube", "compute", "cheapest"},
		{"layout = paper", "rayql_unit = rt", "rtcudb", "rt", "cheapest"},
		{"unit = compute", "rayql_layout = Paper", "rtcudb", "rt", "cheapest"},
		{"unit = cpu", "rayql_layout = paper", "rtcudb", "rt", "cheapest"},
		{"unit = compute", "rayql_layout = paper; SET rayql_unit = compute", "host", "",
	     "layout = paper is one of the unit rt, and rayql_unit says compute"},
	};
	if (!has_unit("rt") || !has_unit("compute"))
		skip();
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char text[256];
		with_vulkan(NULL);
		struct session s = open_session(NULL, NULL);
		make_data(s.con);
		char *want = rows_of(s.con, QUERY, NULL);
		run(s.con, "SET rayql_device = 'vulkan:0'; SET rayql_force = on");
		snprintf(text, sizeof text, VIEW("rollup = off, %s"), cases[i].view);
		run(s.con, text);
		snprintf(text, sizeof text, "SET %s", cases[i].settings);
		run(s.con, text);
		expect(s.con, QUERY, cases[i].method, want);
		snprintf(text, sizeof text, "SELECT unit, reason LIKE '%%%s%%' FROM rayql_last_query()", cases[i].reason);
		char row[32];
		snprintf(row, sizeof row, "%s|true\n", cases[i].unit);
		expect(s.con, text, NULL, row);
		free(want);
		close_session(&s);
	}
}

/* Units survive in the file, and a machine without them answers all the same. */
static void reopened_elsewhere(void **state)
{
	char path[256];
	(void)state;
	if (!has_unit("compute"))
		skip();
	with_vulkan(NULL);
	struct session s = open_session(scratch_path(path, "units.db"), NULL);
	make_data(s.con);
	char *want = rows_of(s.con, QUERY, NULL);
	use(s.con, "compute");
	run(s.con, VIEW("rollup = off, unit = compute"));
	close_session(&s);
	for (int with = 1; with >= 0; with--) {
		if (with)
			with_vulkan(NULL);
		else
			without_vulkan();
		s = open_session(path, NULL);
		expect(s.con, "SELECT unit, options FROM rayql_structures()", NULL,
		       "compute|rollup = off, refresh = manual, unit = compute\n");
		run(s.con, "SET rayql_force = on");
		if (with)
			run(s.con, "SET rayql_device = 'vulkan:0'");
		expect(s.con, QUERY, "cube", want);
		expect(s.con, "SELECT unit FROM rayql_last_query()", NULL, with ? "compute\n" : "cpu\n");
		if (!with)
			expect(
				s.con,
				"SELECT reason LIKE '%answered by the CPU, as no device has the unit compute: there is no GPU%' FROM "
				"rayql_structures()",
				NULL, "true\n");
		close_session(&s);
	}
	free(want);
}

/* The one file in the folder whose name ends so; false: there is none. */
static bool find_file(const char *folder, const char *end, char *out, size_t size)
{
	DIR *dir = opendir(folder);
	bool found = false;
	for (struct dirent *e; dir && (e = readdir(dir));) {
		size_t length = strlen(e->d_name), tail = strlen(end);
		if (length > tail && strcmp(e->d_name + length - tail, end) == 0) {
			snprintf(out, size, "%s/%s", folder, e->d_name);
			found = true;
		}
	}
	if (dir)
		closedir(dir);
	return found;
}

static void damage(const char *path, long at)
{
	FILE *f = fopen(path, "r+");
	assert_non_null(f);
	fseek(f, at, SEEK_SET);
	int byte = fgetc(f);
	fseek(f, at, SEEK_SET);
	fputc(byte ^ 0x55, f);
	fclose(f);
}

/* The acceleration structure has a file of its own; whatever becomes of it, the answers stay. */
static void structure_files(void **state)
{
	char path[256], folder[300], file[600];
	(void)state;
	if (!has_unit("rt"))
		skip();
	with_vulkan(NULL);
	struct session s = open_session(scratch_path(path, "files.db"), NULL);
	make_data(s.con);
	char *want = rows_of(s.con, QUERY, NULL);
	use(s.con, "rt");
	run(s.con, VIEW("rollup = off, unit = rt"));
	close_session(&s);
	snprintf(folder, sizeof folder, "%s.rayql", path);
	assert_true(find_file(folder, ".rt", file, sizeof file));
	/* As it is, with one byte changed (head, middle), cut short, gone. */
	for (int i = 0; i < 5; i++) {
		if (i == 1 || i == 2)
			damage(file, i == 1 ? 20 : 40000);
		if (i == 3)
			assert_int_equal(truncate(file, 1000), 0);
		if (i == 4)
			assert_int_equal(unlink(file), 0);
		s = open_session(path, NULL);
		use(s.con, "rt");
		expect(s.con, QUERY, "cube", want);
		expect(s.con, "SELECT unit FROM rayql_last_query()", NULL, "rt\n");
		expect(s.con, "SELECT reason FROM rayql_structures()", NULL, "read from its side file\n");
		close_session(&s);
		/* What was not used was built, and the file replaced. */
		struct stat st;
		assert_true(find_file(folder, ".rt", file, sizeof file) && stat(file, &st) == 0 && st.st_size > 1000);
	}
	/* It goes with the view. */
	s = open_session(path, NULL);
	use(s.con, "rt");
	run(s.con, "REFRESH MATERIALIZED VIEW v");
	assert_true(find_file(folder, ".rt", file, sizeof file));
	run(s.con, "DROP MATERIALIZED VIEW v");
	close_session(&s);
	assert_false(find_file(folder, ".rt", file, sizeof file));
	free(want);
}

/* An interrupt at any moment: while planning, placing, waiting for the device, after the end. The answer is right or
 * the statement was interrupted, and the connection goes on. */
struct stopper {
	rayql_connection *con;
	long nanoseconds;
};

static void *stop(void *state)
{
	struct stopper *s = state;
	struct timespec pause = {.tv_nsec = s->nanoseconds};
	nanosleep(&pause, NULL);
	rayql_interrupt(s->con);
	return NULL;
}

static void interrupted_on(const char *unit)
{
	char sql[256];
	with_vulkan(NULL);
	struct session s = open_session(NULL, NULL);
	make_data(s.con);
	run(s.con, VIEW("rollup = off"));
	use(s.con, unit);
	char *want = rows_of(s.con, "SELECT min(a), sum(v) FROM (FROM t LIMIT 100000)", NULL);
	for (int i = 0; i < 40; i++) {
		struct stopper stopper = {s.con, 50000L * i};
		pthread_t thread;
		rayql_result *res = NULL;
		rayql_error *err = NULL;
		/* Every text is planned anew; every eighth contents are placed anew. */
		if (i % 8 == 0)
			run(s.con, "SET rayql_unit = cpu; REFRESH MATERIALIZED VIEW v"), use(s.con, unit);
		snprintf(sql, sizeof sql, "SELECT min(a), sum(v), %d FROM t", i);
		assert_int_equal(pthread_create(&thread, NULL, stop, &stopper), 0);
		rayql_status status = rayql_query(s.con, sql, &res, &err);
		pthread_join(thread, NULL);
		if (status != RAYQL_OK)
			assert_int_equal(rayql_error_status(err), RAYQL_ERROR_INTERRUPTED);
		rayql_error_free(err);
		rayql_result_free(res);
		expect(s.con, "SELECT min(a), sum(v) FROM t", "cube", want);
	}
	expect(s.con, "SELECT reason FROM rayql_structures()", NULL, "NULL\n");
	free(want);
	close_session(&s);
}

static void interrupts(void **state)
{
	(void)state;
	if (!has_unit("compute"))
		skip();
	interrupted_on("compute");
	if (has_unit("rt"))
		interrupted_on("rt");
}

static void device_memory_limit(void **state)
{
	(void)state;
	if (!has_unit("compute"))
		skip();
	with_vulkan(NULL);
	struct session s = open_session(NULL, NULL);
	make_data(s.con);
	char *want = rows_of(s.con, QUERY, NULL);
	use(s.con, "compute");
	run(s.con, "SET rayql_device_memory_limit = '1KiB'; SET rayql_fallback = notice");
	rayql_result *res = NULL;
	assert_int_equal(rayql_query(s.con, VIEW("rollup = off"), &res, NULL), RAYQL_OK);
	assert_non_null(rayql_result_notice(res));
	holds(rayql_result_notice(res), "v is not placed on vulkan:0 (");
	holds(rayql_result_notice(res), "rayql_device_memory_limit leaves 1.0 KiB");
	rayql_result_free(res);
	expect(s.con, "SELECT state, device_bytes, reason LIKE 'not placed on vulkan:0 (%' FROM rayql_structures()", NULL,
	       "ready|0|true\n");
	expect(s.con, QUERY, "host", want);
	expect(s.con, "SELECT reason LIKE '%rayql_device_memory_limit%' FROM rayql_last_query()", NULL, "true\n");
	run(s.con, "RESET rayql_device_memory_limit");
	expect(s.con, QUERY, "cube", want);
	expect(s.con, "SELECT device_bytes > 0, reason LIKE '% when it was built: %' FROM rayql_structures()", NULL,
	       "true|true\n"); /* what was true then is not said of now */
	free(want);
	close_session(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_gpu),
		cmocka_unit_test(settings_and_options),
		cmocka_unit_test(devices),
		cmocka_unit_test(compute),
		cmocka_unit_test(ray_tracing),
		cmocka_unit_test(paper_layout),
		cmocka_unit_test(wishes),
		cmocka_unit_test(reopened_elsewhere),
		cmocka_unit_test(structure_files),
		cmocka_unit_test(device_memory_limit),
		cmocka_unit_test(interrupts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

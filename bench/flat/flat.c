/* rayql bench ssb-flat at one scale: views built, rivals and DuckDB asked, queries timed and checked on each unit. */
#include "bench/flat/flat.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/common/stats.h"
#include "bench/flat/rival_kernels.h"
#include "bench/ssb/ssb_data.h"
#include "util/threads.h"

/* From this scale on the table has only the columns that the queries name: 38 would not be made and stored in time. */
#define NARROW_SCALE 10.0
#define NARROW_COLUMNS                                                                                                 \
	"LO_ORDERDATE, LO_QUANTITY, LO_EXTENDEDPRICE, LO_DISCOUNT, LO_REVENUE, LO_SUPPLYCOST, C_CITY, C_NATION, C_REGION, " \
	"S_CITY, S_NATION, S_REGION, P_MFGR, P_CATEGORY, P_BRAND"
#define HOST_RUNS 3u

struct bench {
	const struct rql_flat_options *options;
	const struct rql_flat_device *floors;
	struct rql_device *device; /* of the rivals; NULL: the CPU is benched */
	double awake_ns;           /* rql_flat_wake */
	struct rql_pool *pool;
	rayql_connection *con;
	struct rql_flat_run *run;
	uint64_t start; /* of this scale */
	char *sql[RQL_SSB_QUERIES];
	struct rql_strbuf answers[RQL_SSB_QUERIES]; /* what every other answer must equal; empty: none yet */
	struct rql_error *err;
};

static void say(const struct bench *b, const char *fmt, ...)
{
	va_list args;
	if (b->options->quiet)
		return;
	va_start(args, fmt);
	fprintf(stderr, "scale %g, %5.1f s: ", b->run->scale, (double)(rql_now_ns() - b->start) / 1e9);
	vfprintf(stderr, fmt, args);
	fputc('\n', stderr);
	va_end(args);
}

static bool wanted(const struct bench *b, uint32_t query)
{
	return b->options->query_mask >> query & 1;
}

/* ---- who answers ---- */

static rql_status set(struct bench *b, const char *name, const char *value)
{
	return rql_client_run(b->con, b->err, "SET %s = '%s'", name, value);
}

static rql_status use_host(struct bench *b)
{
	RQL_TRY(set(b, "rayql_fallback", "on"));
	RQL_TRY(set(b, "rayql_enable_cube", "off"));
	return set(b, "rayql_enable_rtcudb", "off");
}

/* That unit of that device answers, or the statement fails. */
static rql_status use_unit(struct bench *b, const struct rql_flat_unit *unit)
{
	RQL_TRY(set(b, "rayql_enable_cube", "on"));
	RQL_TRY(set(b, "rayql_enable_rtcudb", "on"));
	RQL_TRY(set(b, "rayql_device", strcmp(unit->unit, "cpu") ? b->floors->id : "cpu"));
	RQL_TRY(set(b, "rayql_unit", unit->unit));
	RQL_TRY(set(b, "rayql_layout", unit->layout));
	RQL_TRY(set(b, "rayql_force", "on"));
	return set(b, "rayql_fallback", "off");
}

/* ---- data ---- */

static rql_status load(struct bench *b)
{
	struct rql_ssb_source source = {.scale = b->run->scale, .seed = b->options->seed};
	bool exists;
	double rows;
	RQL_TRY(rql_ssb_table_exists(b->con, "lineorder_flat", &exists, b->err));
	b->run->reused = exists;
	if (!exists) {
		struct rql_ssb_loaded loaded;
		source.columns = b->run->scale >= NARROW_SCALE ? NARROW_COLUMNS : NULL;
		say(b, "making lineorder_flat");
		RQL_TRY(rql_ssb_load_table(b->con, "lineorder_flat", &source, &loaded, b->err));
		b->run->generate_s = loaded.seconds;
	}
	RQL_TRY(rql_client_number(b->con, &rows, b->err, "SELECT count(*) FROM lineorder_flat"));
	b->run->rows = (uint64_t)rows;
	return RQL_OK;
}

static char *query_text(const struct rql_ssb_query *q)
{
	char *sql;
	int length = asprintf(&sql, "SELECT %s FROM %s WHERE %s %s", q->select, q->from, q->where, q->tail);
	return length < 0 ? NULL : sql;
}

/* DuckDB's answers, which all others are compared with, and its times. */
static rql_status ask_host(struct bench *b)
{
	RQL_TRY(use_host(b));
	say(b, "DuckDB's answers");
	for (uint32_t i = 0; i < RQL_SSB_QUERIES; i++) {
		struct rql_samples samples = {0};
		if (!wanted(b, i))
			continue;
		for (uint32_t r = 0; r < HOST_RUNS; r++) {
			double ms;
			RQL_TRY(rql_client_time(b->con, b->sql[i], &ms, r ? NULL : &b->answers[i], NULL, b->err));
			rql_samples_add(&samples, ms);
		}
		b->run->host_ms[i] = rql_samples_median(&samples);
	}
	return RQL_OK;
}

/* ---- rivals ---- */

static int ascending(const void *x, const void *y)
{
	int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
	return a < b ? -1 : a > b;
}

/* The measure of an answer's rows, ascending, beside the rival's sums. The measure is the first column of flights 1 and
 * 2 and the last of the others; the answer's first line has the columns' names. */
static bool sums_equal(const struct rql_strbuf *answer, unsigned flight, const struct rql_rival_answer *rival)
{
	int64_t sums[RQL_RIVAL_MOST_SUMS];
	uint32_t count = 0;
	char *copy = answer->data ? strdup(answer->data) : NULL, *rest = copy;
	if (!copy)
		return false;
	(void)strsep(&rest, "\n");
	for (char *line; rest && *rest && (line = strsep(&rest, "\n")) && count < RQL_RIVAL_MOST_SUMS;) {
		const char *last = strrchr(line, '\t');
		const char *field = flight > 2 && last ? last + 1 : line;
		if (*field >= '0' && *field <= '9') /* NULL: nothing qualified, and a rival has no group then */
			sums[count++] = strtoll(field, NULL, 10);
	}
	free(copy);
	qsort(sums, count, sizeof *sums, ascending);
	return count == rival->count && (count == 0 || !memcmp(sums, rival->sums, count * sizeof *sums));
}

static rql_status run_rivals(struct bench *b)
{
	struct rql_rival *rival;
	uint64_t start = rql_now_ns();
	say(b, "making the rivals' columns");
	RQL_TRY(rql_rival_new(b->device, b->pool, b->run->scale, b->options->seed, &rival, b->err));
	b->run->rival_generate_s = (double)(rql_now_ns() - start) / 1e9;
	say(b, "the rivals' scans");
	rql_status status = rql_rival_compile(rival, b->options->query_mask, b->err);
	for (uint32_t f = 0; f < RQL_RIVAL_FORMS; f++)
		for (uint32_t i = 0; i < RQL_SSB_QUERIES && status == RQL_OK; i++) {
			struct rql_rival_answer *answer = &b->run->rivals[f][i];
			if (!wanted(b, i))
				continue;
			status = rql_flat_wake(b->device, &b->awake_ns, b->err);
			if (status == RQL_OK)
				status = rql_rival_run(rival, f, i, (uint32_t)b->options->runs, answer, b->err);
			b->run->rival_same[f][i] = status == RQL_OK && b->answers[i].length &&
			                           sums_equal(&b->answers[i], rql_ssb_flat.queries[i].flight, answer);
			b->run->different += status == RQL_OK && b->answers[i].length && !b->run->rival_same[f][i];
		}
	rql_rival_free(rival);
	return status;
}

/* ---- views ---- */

/* Placed on the device by the first query, whose time has it. */
static rql_status build_view(struct bench *b, struct rql_flat_group *group, uint32_t f)
{
	const struct rql_ssb_flight *flight = &rql_ssb_flat.flights[f];
	RQL_TRY(set(b, "rayql_device", "cpu"));
	uint64_t start = rql_now_ns();
	RQL_TRY(rql_client_run(b->con, b->err,
	                       "CREATE OR REPLACE MATERIALIZED VIEW %s WITH (rollup = %s) AS SELECT %s, %s AS %s FROM "
	                       "%s GROUP BY ALL",
	                       flight->name, rql_bench_rollup_names[group->rollup], flight->dimensions, flight->measure,
	                       flight->measure_name, flight->from));
	group->build_ms[f] = (double)(rql_now_ns() - start) / 1e6;
	RQL_TRY(rql_client_number(b->con, &group->cells[f], b->err,
	                          "SELECT cells FROM rayql_structures() WHERE name = '%s'", flight->name));
	return rql_client_number(b->con, &group->cube_bytes[f], b->err,
	                         "SELECT bytes FROM rayql_structures() WHERE name = '%s'", flight->name);
}

static rql_status drop_views(struct bench *b)
{
	for (uint32_t i = 0; i < RQL_SSB_FLIGHTS; i++)
		RQL_TRY(rql_client_run(b->con, b->err, "DROP MATERIALIZED VIEW IF EXISTS %s", rql_ssb_flat.flights[i].name));
	return RQL_OK;
}

/* ---- queries ---- */

static rql_status note_run(struct bench *b, struct rql_flat_query *q)
{
	rayql_query_info info = {.size = sizeof info};
	if (rayql_last_query(b->con, &info) != RAYQL_OK)
		return rql_error_set(b->err, RQL_ERROR_INTERNAL, "rayql_last_query failed");
	snprintf(q->method, sizeof q->method, "%s", info.method);
	snprintf(q->unit, sizeof q->unit, "%s", info.unit);
	snprintf(q->structure, sizeof q->structure, "%s", info.structure);
	q->cells_covered = info.cells_covered;
	q->cells_read = info.cells_read;
	q->bytes_read = info.bytes_read;
	q->intervals = info.intervals;
	q->rays = info.rays;
	q->hits = info.hits;
	q->estimated_us = info.estimated_ms * 1e3;
	return RQL_OK;
}

/* Statement to rows without measuring on the device, then again with it. */
static rql_status time_runs(struct bench *b, const char *sql, struct rql_flat_query *q)
{
	struct rql_samples warm = {0}, device = {0};
	rayql_query_info info = {.size = sizeof info};
	double ms;
	if (b->device)
		RQL_TRY(rql_flat_wake(b->device, &b->awake_ns, b->err));
	for (int64_t r = 0; r < b->options->runs; r++) {
		RQL_TRY(rql_client_time(b->con, sql, &ms, NULL, NULL, b->err));
		rql_samples_add(&warm, ms * 1e3);
	}
	q->warm_us = rql_samples_median(&warm);
	q->warm_least_us = rql_samples_min(&warm);
	RQL_TRY(set(b, "rayql_device_timing", "on"));
	rql_status status = RQL_OK;
	for (int64_t r = 0; r <= b->options->runs && status == RQL_OK; r++) {
		status = rql_client_time(b->con, sql, &ms, NULL, NULL, b->err);
		if (status == RQL_OK && r > 0 && rayql_last_query(b->con, &info) == RAYQL_OK)
			rql_samples_add(&device, info.device_ms * 1e3);
	}
	if (status == RQL_OK)
		status = note_run(b, q);
	RQL_TRY(set(b, "rayql_device_timing", "off"));
	q->device_us = rql_samples_median(&device);
	q->device_least_us = rql_samples_min(&device);
	return status;
}

static rql_status run_query(struct bench *b, uint32_t i, struct rql_flat_query *q)
{
	struct rql_strbuf answer = {0};
	if (b->device) /* the first query of a view puts it there, which is timed too */
		RQL_TRY(rql_flat_wake(b->device, &b->awake_ns, b->err));
	RQL_TRY(rql_client_time(b->con, b->sql[i], &q->first_ms, &answer, &q->rows, b->err));
	struct rql_strbuf *expected = &b->answers[i];
	q->same = !expected->length ||
	          (answer.length == expected->length && !memcmp(answer.data, expected->data, answer.length));
	if (!q->same)
		fprintf(stderr, "%s: the answers differ\n--- RayQL\n%.2000s--- expected\n%.2000s",
		        rql_ssb_flat.queries[i].name, answer.data ? answer.data : "", expected->data);
	if (!expected->length) {
		*expected = answer;
		answer = (struct rql_strbuf){0};
	}
	rql_strbuf_free(&answer);
	return time_runs(b, b->sql[i], q);
}

/* Every qualifying cell with all that the cube stores of it, read once, and one launch. */
static void set_floor(const struct bench *b, const struct rql_flat_group *group, uint32_t flight,
                      struct rql_flat_query *q)
{
	double cell = group->cells[flight] > 0 ? group->cube_bytes[flight] / group->cells[flight] : 0;
	if (b->floors->read_gbps > 0)
		q->floor_us = b->floors->launch_us + (double)q->cells_covered * cell / (b->floors->read_gbps * 1e3);
}

/* again: from a view built anew. */
static rql_status ask_unit(struct bench *b, struct rql_flat_group *group, uint32_t i, bool again)
{
	if (again)
		RQL_TRY(build_view(b, group, rql_ssb_flat.queries[i].flight - 1));
	RQL_TRY(use_unit(b, group->unit));
	return run_query(b, i, &group->queries[i]);
}

/* alone: no query was asked of the view before. The paper's layout has one structure for each query, all of which together
 * may not fit on the device where each does. */
static void answer_query(struct bench *b, struct rql_flat_group *group, uint32_t i, bool alone)
{
	struct rql_flat_query *q = &group->queries[i];
	rql_status status = ask_unit(b, group, i, false);
	if (status != RQL_OK && !alone && !strncmp(group->unit->layout, "paper", 5)) {
		rql_error_clear(b->err);
		status = ask_unit(b, group, i, true);
	}
	if (status != RQL_OK) {
		q->error = strdup(rql_error_message(b->err));
		q->same = false;
		say(b, "%s on %s: %s", rql_ssb_flat.queries[i].name, group->unit->name, rql_error_message(b->err));
		rql_error_clear(b->err);
	}
	set_floor(b, group, rql_ssb_flat.queries[i].flight - 1, q);
	b->run->different += !q->same;
}

/* A flight's queries, from a view of their own: what it holds on the device is for this unit alone, and goes with it. */
static rql_status run_flight(struct bench *b, struct rql_flat_group *group, uint32_t f, struct rql_strbuf *placements)
{
	const char *name = rql_ssb_flat.flights[f].name;
	bool built = false;
	for (uint32_t i = 0; i < RQL_SSB_QUERIES; i++) {
		if (!wanted(b, i) || rql_ssb_flat.queries[i].flight != f + 1)
			continue;
		if (!built)
			RQL_TRY(build_view(b, group, f));
		answer_query(b, group, i, !built);
		built = true;
	}
	RQL_TRY(set(b, "rayql_fallback", "on"));
	if (!built)
		return RQL_OK;
	rql_strbuf_put(placements, placements->length > 1 ? ", " : "");
	rql_json_text(placements, name);
	rql_strbuf_put(placements, ": ");
	RQL_TRY(rql_client_json(b->con, "SELECT name, placed, device_bytes, place_ms, reason FROM rayql_structures()",
	                        placements, b->err));
	RQL_TRY(rql_client_number(b->con, &group->device_bytes[f], b->err,
	                          "SELECT device_bytes FROM rayql_structures() WHERE name = '%s'", name));
	RQL_TRY(rql_client_number(b->con, &group->place_ms[f], b->err,
	                          "SELECT place_ms FROM rayql_structures() WHERE name = '%s'", name));
	return rql_client_run(b->con, b->err, "DROP MATERIALIZED VIEW %s", name);
}

static rql_status run_groups(struct bench *b)
{
	const struct rql_flat_options *o = b->options;
	rql_status status = RQL_OK;
	for (uint32_t r = 0; r < o->rollup_count; r++)
		for (uint32_t u = 0; u < o->unit_count && status == RQL_OK; u++) {
			struct rql_flat_group *group = &b->run->groups[b->run->group_count++];
			struct rql_strbuf placements = {0};
			group->unit = &o->units[u];
			group->rollup = o->rollups[r];
			say(b, "rollup %s, %s", rql_bench_rollup_names[group->rollup], group->unit->name);
			rql_strbuf_put(&placements, "{");
			for (uint32_t f = 0; f < RQL_SSB_FLIGHTS && status == RQL_OK; f++)
				status = run_flight(b, group, f, &placements);
			rql_strbuf_put(&placements, "}");
			group->placements = rql_strbuf_take(&placements);
		}
	return status;
}

/* ---- one scale ---- */

static rql_status run_all(struct bench *b, struct rql_strbuf *devices)
{
	RQL_TRY(load(b));
	rql_strbuf_clear(devices);
	RQL_TRY(rql_client_json(b->con, "SELECT * FROM rayql_devices()", devices, b->err));
	RQL_TRY(drop_views(b));
	if (b->options->check)
		RQL_TRY(ask_host(b));
	if (b->options->rivals && b->device)
		RQL_TRY(run_rivals(b));
	return run_groups(b);
}

static rql_status open_and_run(struct bench *b, struct rql_strbuf *devices)
{
	rayql_database *db = NULL;
	char *path;
	/* v1: of the generator's rows, as rayql bench ssb names it. */
	if (asprintf(&path, "%s/ssb%s-sf%g-seed%lld-v1.db", b->options->directory,
	             b->run->scale >= NARROW_SCALE ? "-narrow" : "", b->run->scale, (long long)b->options->seed) < 0)
		return rql_error_memory(b->err, strlen(b->options->directory), "a path");
	rql_status status = rql_client_open(path, (unsigned)b->options->threads, &db, &b->con, b->err);
	free(path);
	if (status != RQL_OK)
		return status;
	status = run_all(b, devices);
	(void)rql_client_run(b->con, NULL, "SET rayql_fallback = 'on'");
	rayql_disconnect(b->con);
	rayql_close(db);
	return status;
}

rql_status rql_flat_run_scale(const struct rql_flat_options *options, struct rql_device *device,
                              const struct rql_flat_device *floors, struct rql_pool *pool, double scale,
                              struct rql_flat_run *run, struct rql_strbuf *devices, struct rql_error *err)
{
	struct bench b = {
		.options = options, .floors = floors, .device = device, .pool = pool, .run = run, .start = rql_now_ns(), .err = err};
	*run = (struct rql_flat_run){.scale = scale};
	run->groups = calloc((size_t)options->rollup_count * options->unit_count, sizeof *run->groups);
	rql_status status = run->groups ? rql_make_directory(options->directory, err)
	                                : rql_error_memory(err, sizeof *run->groups, "the results");
	for (uint32_t i = 0; i < RQL_SSB_QUERIES && status == RQL_OK; i++)
		if (!(b.sql[i] = query_text(&rql_ssb_flat.queries[i])))
			status = rql_error_memory(err, 1024, "a statement");
	if (status == RQL_OK)
		status = open_and_run(&b, devices);
	for (uint32_t i = 0; i < RQL_SSB_QUERIES; i++) {
		free(b.sql[i]);
		rql_strbuf_free(&b.answers[i]);
	}
	return status;
}

void rql_flat_run_free(struct rql_flat_run *run)
{
	for (uint32_t f = 0; f < RQL_RIVAL_FORMS; f++)
		for (uint32_t i = 0; i < RQL_SSB_QUERIES; i++)
			free(run->rivals[f][i].sums);
	for (uint32_t g = 0; g < run->group_count; g++) {
		for (uint32_t i = 0; i < RQL_SSB_QUERIES; i++)
			free(run->groups[g].queries[i].error);
		free(run->groups[g].placements);
	}
	free(run->groups);
	*run = (struct rql_flat_run){0};
}

void rql_flat_means(const struct rql_flat_group *group, struct rql_flat_means *out)
{
	double device[RQL_SSB_QUERIES], warm[RQL_SSB_QUERIES], floor[RQL_SSB_QUERIES], over[RQL_SSB_QUERIES];
	struct rql_flat_means m = {0};
	for (uint32_t i = 0; i < RQL_SSB_QUERIES; i++) {
		const struct rql_flat_query *q = &group->queries[i];
		m.asked += q->error || q->method[0];
		m.same += q->same && !q->error && q->method[0];
		if (q->error || q->warm_us <= 0)
			continue;
		device[m.timed] = q->device_us;
		warm[m.timed] = q->warm_us;
		floor[m.timed] = q->floor_us;
		over[m.timed] = q->floor_us > 0 ? q->device_us / q->floor_us : 0;
		m.timed++;
	}
	m.device_us = rql_geometric_mean(device, m.timed);
	m.warm_us = rql_geometric_mean(warm, m.timed);
	m.floor_us = rql_geometric_mean(floor, m.timed);
	m.over_floor = rql_geometric_mean(over, m.timed);
	*out = m;
}

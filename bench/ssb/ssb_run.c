/* `rayql bench ssb` at one scale: data loaded, views built, queries timed in RayQL and in DuckDB and compared. */
#include "bench/ssb/ssb_run.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/common/machine.h"
#include "bench/common/stats.h"
#include "bench/ssb/ssb_data.h"
#include "util/threads.h"

const char *const rql_bench_rollup_names[RQL_BENCH_ROLLUPS] = {"off", "on", "auto"};

/* Texts that differ in a comment, for first runs. */
#define FIRST_RUNS 5u

struct bench {
	const struct rql_bench_options *options;
	const struct rql_machine *machine;
	const struct rql_ssb_form *form;
	rayql_connection *con;
	struct rql_bench_run *run;
	struct rql_error *err;
	unsigned next_comment;
};

/* What is going on, on standard error; gone with the next line when that is a terminal. */
static void say(const struct bench *b, const char *fmt, ...)
{
	if (b->options->quiet)
		return;
	va_list args;
	va_start(args, fmt);
	if (isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
	vfprintf(stderr, fmt, args);
	if (!isatty(STDERR_FILENO))
		fputc('\n', stderr);
	fflush(stderr);
	va_end(args);
}

static void say_nothing(const struct bench *b)
{
	if (!b->options->quiet && isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
}

/* From here on DuckDB answers, and nothing but DuckDB runs. */
static rql_status use_host(struct bench *b)
{
	RQL_TRY(rql_client_run(b->con, b->err, "SET rayql_fallback = 'on'"));
	return rql_client_run(b->con, b->err, "SET rayql_enable_cube = off");
}

/* From here on RayQL answers or the statement fails: no time of DuckDB's can pass for RayQL's. */
static rql_status use_rayql(struct bench *b)
{
	RQL_TRY(rql_client_run(b->con, b->err, "SET rayql_enable_cube = on"));
	return rql_client_run(b->con, b->err, "SET rayql_fallback = 'off'");
}

/* ---- data ---- */

static rql_status load(struct bench *b, double scale)
{
	struct rql_ssb_source source = {.scale = scale, .seed = b->options->seed};
	b->run->reused = true;
	for (const char *const *table = b->form->tables; *table; table++) {
		bool exists;
		struct rql_ssb_loaded loaded;
		RQL_TRY(rql_ssb_table_exists(b->con, *table, &exists, b->err));
		if (exists)
			continue;
		say(b, "scale %g: making %s", scale, *table);
		RQL_TRY(rql_ssb_load_table(b->con, *table, &source, &loaded, b->err));
		b->run->reused = false;
		b->run->generate_s += loaded.seconds;
	}
	double rows;
	RQL_TRY(rql_client_number(b->con, &rows, b->err, "SELECT count(*) FROM %s", b->form->fact));
	b->run->rows = (uint64_t)rows;
	return RQL_OK;
}

/* ---- views ---- */

static const char *where_word(const char *where)
{
	return *where ? " WHERE " : "";
}

/* DuckDB's time for the same grouping. Its sum keeps it from leaving the measure out; a subquery rather than CREATE
 * TEMP TABLE, so that no row needs to be stored. */
static rql_status time_group_by(struct bench *b, const struct rql_ssb_flight *flight, double *out)
{
	char *sql;
	if (asprintf(&sql, "SELECT count(*), sum(%s) FROM (SELECT %s, %s AS %s FROM %s%s%s GROUP BY ALL)",
	             flight->measure_name, flight->dimensions, flight->measure, flight->measure_name, flight->from,
	             where_word(flight->where), flight->where) < 0)
		return rql_error_memory(b->err, 512, "a statement");
	struct rql_samples samples = {0};
	rql_status status = RQL_OK;
	for (unsigned i = 0; i < 2 && status == RQL_OK; i++) {
		double ms;
		status = rql_client_time(b->con, sql, &ms, NULL, NULL, b->err);
		if (status == RQL_OK)
			rql_samples_add(&samples, ms);
	}
	free(sql);
	*out = rql_samples_min(&samples);
	return status;
}

static rql_status build_view(struct bench *b, const struct rql_ssb_flight *flight, enum rql_bench_rollup rollup,
                             struct rql_cube_result *cube)
{
	uint64_t start = rql_now_ns();
	RQL_TRY(rql_client_run(b->con, b->err,
	                       "CREATE MATERIALIZED VIEW %s WITH (rollup = %s) AS "
	                       "SELECT %s, %s AS %s FROM %s%s%s GROUP BY ALL",
	                       flight->name, rql_bench_rollup_names[rollup], flight->dimensions, flight->measure,
	                       flight->measure_name, flight->from, where_word(flight->where), flight->where));
	cube->build_ms = (double)(rql_now_ns() - start) / 1e6;
	RQL_TRY(rql_client_number(b->con, &cube->rows, b->err, "SELECT \"rows\" FROM rayql_structures() WHERE name = '%s'",
	                          flight->name));
	RQL_TRY(rql_client_number(b->con, &cube->cells, b->err, "SELECT cells FROM rayql_structures() WHERE name = '%s'",
	                          flight->name));
	return rql_client_number(b->con, &cube->bytes, b->err, "SELECT bytes FROM rayql_structures() WHERE name = '%s'",
	                         flight->name);
}

static rql_status build_views(struct bench *b, enum rql_bench_rollup rollup)
{
	const struct rql_ssb_flight *flights = b->form->flights;
	/* Another form's or an earlier run's views would be candidates too. */
	for (unsigned i = 0; i < RQL_SSB_FLIGHTS; i++) {
		RQL_TRY(rql_client_run(b->con, b->err, "DROP MATERIALIZED VIEW IF EXISTS %s", rql_ssb_flat.flights[i].name));
		const char *other = rql_ssb_normalised.flights[i].name;
		RQL_TRY(rql_client_run(b->con, b->err, "DROP MATERIALIZED VIEW IF EXISTS %s", other));
	}
	for (unsigned i = 0; i < RQL_SSB_FLIGHTS; i++) {
		struct rql_cube_result *cube = &b->run->cubes[i];
		cube->name = flights[i].name;
		say(b, "scale %g, rollup %s: grouping %s in DuckDB", b->run->scale, rql_bench_rollup_names[rollup], cube->name);
		RQL_TRY(use_host(b));
		RQL_TRY(time_group_by(b, &flights[i], &cube->group_by_ms));
		say(b, "scale %g, rollup %s: building %s", b->run->scale, rql_bench_rollup_names[rollup], cube->name);
		RQL_TRY(build_view(b, &flights[i], rollup, cube));
	}
	return RQL_OK;
}

static rql_status drop_views(struct bench *b)
{
	for (unsigned i = 0; i < RQL_SSB_FLIGHTS; i++)
		RQL_TRY(rql_client_run(b->con, b->err, "DROP MATERIALIZED VIEW IF EXISTS %s", b->form->flights[i].name));
	return RQL_OK;
}

/* ---- queries ---- */

static char *query_text(const struct rql_ssb_query *q)
{
	char *sql;
	const char *space = *q->tail ? " " : "";
	int length = asprintf(&sql, "SELECT %s FROM %s WHERE %s%s%s", q->select, q->from, q->where, space, q->tail);
	return length < 0 ? NULL : sql;
}

static void copy_text(char *out, size_t size, const char *text)
{
	snprintf(out, size, "%s", text ? text : "");
}

static rql_status note_first_run(struct bench *b, struct rql_query_result *r)
{
	rayql_query_info info = {.size = sizeof info};
	if (rayql_last_query(b->con, &info) != RAYQL_OK)
		return rql_error_set(b->err, RQL_ERROR_INTERNAL, "rayql_last_query failed after %s", r->query->name);
	copy_text(r->method, sizeof r->method, info.method);
	copy_text(r->unit, sizeof r->unit, info.unit);
	copy_text(r->structure, sizeof r->structure, info.structure);
	r->reason = strdup(info.reason ? info.reason : "");
	r->cells_read = info.cells_read;
	r->cells_covered = info.cells_covered;
	r->bytes_read = info.bytes_read;
	r->estimated_ms = info.estimated_ms;
	r->host_estimated_ms = info.host_estimated_ms;
	if (!strcmp(r->method, "host"))
		return rql_error_set(b->err, RQL_ERROR_UNSUPPORTED, "the host answered: %s", info.reason);
	return RQL_OK;
}

static rql_status time_rayql(struct bench *b, struct rql_query_result *r, struct rql_strbuf *answer)
{
	struct rql_samples total = {0}, plan = {0}, method = {0}, finish = {0};
	RQL_TRY(use_rayql(b));
	RQL_TRY(rql_client_time(b->con, r->sql, &r->first_ms, answer, &r->rows, b->err));
	RQL_TRY(note_first_run(b, r));
	for (int64_t i = 0; i < b->options->runs; i++) {
		double ms;
		rayql_query_info info = {.size = sizeof info};
		RQL_TRY(rql_client_time(b->con, r->sql, &ms, NULL, NULL, b->err));
		rql_samples_add(&total, ms);
		if (rayql_last_query(b->con, &info) == RAYQL_OK) {
			rql_samples_add(&plan, info.plan_ms * 1e3);
			rql_samples_add(&method, info.run_ms * 1e3);
			rql_samples_add(&finish, info.finish_ms * 1e3);
		}
	}
	r->warm_ms = rql_samples_median(&total);
	r->warm_least_ms = rql_samples_min(&total);
	r->plan_us = rql_samples_median(&plan);
	r->method_us = rql_samples_median(&method);
	r->finish_us = rql_samples_median(&finish);
	return RQL_OK;
}

/* Runs the statement under texts that were never seen, prefix before each ("EXPLAIN "); us: per text, of RayQL's
 * planning or (from_clock) of the whole call. */
static rql_status time_first_texts(struct bench *b, const char *sql, const char *prefix, bool from_clock, double *us)
{
	struct rql_samples samples = {0};
	for (unsigned i = 0; i < FIRST_RUNS; i++) {
		char *text;
		double ms;
		if (asprintf(&text, "%s%s /* first run %u */", prefix, sql, b->next_comment++) < 0)
			return rql_error_memory(b->err, strlen(sql), "a statement");
		rql_status status = rql_client_time(b->con, text, &ms, NULL, NULL, b->err);
		free(text);
		RQL_TRY(status);
		rayql_query_info info = {.size = sizeof info};
		if (!from_clock && rayql_last_query(b->con, &info) == RAYQL_OK)
			ms = info.plan_ms;
		rql_samples_add(&samples, ms * 1e3);
	}
	*us = rql_samples_median(&samples);
	return RQL_OK;
}

static rql_status time_host(struct bench *b, struct rql_query_result *r, struct rql_strbuf *answer)
{
	struct rql_samples total = {0};
	RQL_TRY(use_host(b));
	RQL_TRY(rql_client_time(b->con, r->sql, &r->host_first_ms, answer, NULL, b->err));
	for (int64_t i = 0; i < b->options->runs; i++) {
		double ms;
		RQL_TRY(rql_client_time(b->con, r->sql, &ms, NULL, NULL, b->err));
		rql_samples_add(&total, ms);
	}
	r->host_ms = rql_samples_median(&total);
	r->host_least_ms = rql_samples_min(&total);
	return RQL_OK;
}

static rql_status measure_query(struct bench *b, struct rql_query_result *r)
{
	struct rql_strbuf ours = {0}, hosts = {0};
	double selected = 0;
	rql_status status = use_host(b);
	if (status == RQL_OK)
		status = rql_client_number(b->con, &selected, b->err, "SELECT count(*) FROM %s WHERE %s", r->query->from,
		                           r->query->where);
	r->selectivity = b->run->rows ? 100 * selected / (double)b->run->rows : 0;
	if (status == RQL_OK)
		status = time_rayql(b, r, &ours);
	if (status == RQL_OK)
		status = time_first_texts(b, r->sql, "", false, &r->first_plan_us);
	if (status == RQL_OK)
		status = time_host(b, r, &hosts);
	if (status == RQL_OK)
		status = time_first_texts(b, r->sql, "EXPLAIN ", true, &r->host_plan_us);
	if (status == RQL_OK)
		r->same = ours.length && ours.length == hosts.length && !memcmp(ours.data, hosts.data, ours.length);
	if (status == RQL_OK && !r->same)
		fprintf(stderr, "%s: the answers differ\n--- RayQL\n%.2000s--- DuckDB\n%.2000s", r->query->name,
		        ours.data ? ours.data : "", hosts.data ? hosts.data : "");
	rql_strbuf_free(&ours);
	rql_strbuf_free(&hosts);
	return status;
}

/* Every cell that qualifies, with all that is stored of it, read once from memory. */
static void set_floor(struct bench *b, struct rql_query_result *r)
{
	const struct rql_cube_result *cube = &b->run->cubes[r->query->flight - 1];
	if (cube->cells > 0)
		r->floor_ms = (double)r->cells_covered * cube->bytes / cube->cells / (b->machine->read_gbps * 1e6);
}

static rql_status run_queries(struct bench *b)
{
	for (unsigned i = 0; i < RQL_SSB_QUERIES; i++) {
		struct rql_query_result *r = &b->run->queries[i];
		r->query = &b->form->queries[i];
		if (!(r->sql = query_text(r->query)))
			return rql_error_memory(b->err, 1024, "a statement");
		say(b, "scale %g, rollup %s: %s", b->run->scale, rql_bench_rollup_names[b->run->rollup], r->query->name);
		if (measure_query(b, r) != RQL_OK) {
			r->error = strdup(rql_error_message(b->err));
			say_nothing(b);
			fprintf(stderr, "%s: %s\n", r->query->name, rql_error_message(b->err));
			rql_error_clear(b->err);
		}
		set_floor(b, r);
		b->run->different += !r->same;
	}
	return RQL_OK;
}

/* ---- one scale ---- */

static char *database_path(const struct rql_bench_options *options, double scale)
{
	char *path;
	/* v1: of the generator's rows; a change of them needs a new number. */
	int length = asprintf(&path, "%s/ssb-sf%g-seed%lld-v1.db", options->directory, scale, (long long)options->seed);
	return length < 0 ? NULL : path;
}

static rql_status run_all(struct bench *b, struct rql_strbuf *devices)
{
	RQL_TRY(load(b, b->run->scale));
	if (b->options->force)
		RQL_TRY(rql_client_run(b->con, b->err, "SET rayql_force = on"));
	rql_strbuf_clear(devices);
	RQL_TRY(rql_client_json(b->con, "SELECT * FROM rayql_devices()", devices, b->err));
	RQL_TRY(build_views(b, b->run->rollup));
	RQL_TRY(run_queries(b));
	RQL_TRY(use_host(b));
	return drop_views(b);
}

rql_status rql_bench_run_ssb(const struct rql_bench_options *options, const struct rql_machine *machine, double scale,
                             enum rql_bench_rollup rollup, struct rql_bench_run *run, struct rql_strbuf *devices,
                             struct rql_error *err)
{
	*run = (struct rql_bench_run){.scale = scale, .rollup = rollup, .form = options->form};
	struct bench b = {.options = options, .machine = machine, .form = options->form, .run = run, .err = err};
	rayql_database *db = NULL;
	RQL_TRY(rql_make_directory(options->directory, err));
	char *path = database_path(options, scale);
	if (!path)
		return rql_error_memory(err, strlen(options->directory), "a path");
	rql_status status = rql_client_open(path, (unsigned)options->threads, &db, &b.con, err);
	free(path);
	if (status != RQL_OK)
		return status;
	status = run_all(&b, devices);
	say_nothing(&b);
	rayql_disconnect(b.con);
	rayql_close(db);
	return status;
}

void rql_bench_run_free(struct rql_bench_run *run)
{
	for (unsigned i = 0; i < RQL_SSB_QUERIES; i++) {
		free(run->queries[i].sql);
		free(run->queries[i].reason);
		free(run->queries[i].error);
		run->queries[i].sql = run->queries[i].reason = run->queries[i].error = NULL;
	}
}

void rql_bench_summarise(const struct rql_bench_run *run, struct rql_bench_summary *out)
{
	struct rql_bench_summary s = {0};
	struct rql_samples plan = {0}, over = {0};
	double warm[RQL_SSB_QUERIES], first[RQL_SSB_QUERIES], host[RQL_SSB_QUERIES], ratio[RQL_SSB_QUERIES];
	for (unsigned i = 0; i < RQL_SSB_QUERIES; i++) {
		const struct rql_query_result *r = &run->queries[i];
		s.same += r->same;
		if (r->error)
			continue;
		warm[s.timed] = r->warm_ms;
		first[s.timed] = r->first_ms;
		host[s.timed] = r->host_ms;
		ratio[s.timed] = r->warm_ms > 0 ? r->host_ms / r->warm_ms : 0;
		rql_samples_add(&plan, r->plan_us);
		rql_samples_add(&over, r->first_plan_us - r->host_plan_us);
		s.timed++;
	}
	s.warm_ms = rql_geometric_mean(warm, s.timed);
	s.first_ms = rql_geometric_mean(first, s.timed);
	s.host_ms = rql_geometric_mean(host, s.timed);
	s.ratio = rql_geometric_mean(ratio, s.timed);
	s.plan_us = rql_samples_median(&plan);
	s.first_over_us = rql_samples_median(&over);
	for (unsigned i = 0; i < RQL_SSB_FLIGHTS; i++) {
		s.build_ms += run->cubes[i].build_ms;
		s.group_by_ms += run->cubes[i].group_by_ms;
		s.bytes += run->cubes[i].bytes;
		s.rows += run->cubes[i].rows;
		s.cells += run->cubes[i].cells;
	}
	*out = s;
}

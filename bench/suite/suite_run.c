/* `rayql bench scan` at one size: indexes built, queries timed on each unit and in DuckDB, answers compared. */
#include "bench/suite/suite_run.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "bench/common/answer.h"
#include "bench/common/args.h"
#include "bench/common/machine.h"
#include "bench/common/stats.h"
#include "bench/ssb/ssb_data.h"
#include "bench/suite/suite_data.h"
#include "util/threads.h"

#define NEW_TEXTS 5u
#define DEVICE_RUNS 5u
#define WARM_NS UINT64_C(200000000)
#define SETTLE_NS UINT64_C(20000000000) /* longer than a driver takes for a kernel, else something is wrong and shows */

struct bench {
	const struct rql_suite_options *options;
	const struct rql_suite *suite;
	const struct rql_machine *machine;
	rayql_connection *con;
	struct rql_suite_run *run;
	struct rql_error *err;
	struct rql_suite_gpu gpu; /* while units other than cpu run */
	struct rql_suite_rivals rivals;
	bool has_rivals;
};

/* What is going on, on standard error; gone with the next line when that is a terminal. */
static void say(const struct bench *b, const char *fmt, ...)
{
	if (b->options->quiet || !isatty(STDERR_FILENO))
		return;
	va_list args;
	va_start(args, fmt);
	fputs("\r\033[K", stderr);
	vfprintf(stderr, fmt, args);
	fflush(stderr);
	va_end(args);
}

/* ---- who answers ---- */

static rql_status use_host(struct bench *b)
{
	if (b->options->columns == RQL_COLUMNS_AUTO)
		RQL_TRY(rql_client_run(b->con, b->err, "SET rayql_auto_columns = off"));
	return rql_client_methods(b->con, false, b->err);
}

static rql_status use_rayql(struct bench *b)
{
	if (b->options->columns == RQL_COLUMNS_AUTO)
		RQL_TRY(rql_client_run(b->con, b->err, "SET rayql_auto_columns = on"));
	return rql_client_methods(b->con, true, b->err);
}

static rql_status run_rivals(struct bench *b)
{
	if (b->has_rivals || !b->options->rivals)
		return RQL_OK;
	say(b, "%s %g: the rivals' scans", b->suite->name, b->run->size);
	RQL_TRY(
		rql_suite_gpu_rivals(&b->gpu, b->run->size, b->options->seed, (uint32_t)b->options->runs, &b->rivals, b->err));
	b->has_rivals = true;
	return RQL_OK;
}

/* With `auto` there may be no GPU: then the CPU is RayQL's choice. */
static rql_status open_gpu(struct bench *b, bool needed)
{
	if (b->gpu.devices)
		return RQL_OK;
	rql_status status = rql_suite_gpu_open(b->options->device, (unsigned)b->options->threads, &b->gpu, b->err);
	if (status == RQL_OK || needed || b->options->device)
		return status;
	rql_error_clear(b->err);
	return RQL_OK;
}

static rql_status use_unit(struct bench *b)
{
	const bool chooses = !strcmp(b->run->unit, "auto"), gpu = strcmp(b->run->unit, "cpu") != 0;
	b->run->read_gbps = b->machine->read_gbps;
	if (gpu)
		RQL_TRY(open_gpu(b, !chooses));
	const char *lacks = strcmp(b->run->unit, "raster") ? NULL : rql_device_lacks(b->gpu.device, RQL_UNIT_RASTER);
	if (lacks)
		return rql_error_set(b->err, RQL_ERROR_STATEMENT, "--units raster: %s: %s", b->gpu.device->id, lacks);
	if (gpu && b->gpu.device) {
		b->run->read_gbps = b->gpu.floors.read_gbps;
		b->run->launch_us = b->gpu.floors.launch_us;
		RQL_TRY(run_rivals(b));
	}
	if (chooses) /* they are opened in the background; this waits for them */
		RQL_TRY(rql_client_run(b->con, b->err, "SELECT count(*) FROM rayql_devices()"));
	RQL_TRY(rql_client_run(b->con, b->err, "SET rayql_device = '%s'",
	                       chooses ? "auto" : gpu ? b->gpu.device->id : "cpu"));
	return rql_client_run(b->con, b->err, "SET rayql_unit = '%s'", b->run->unit);
}

/* Before statements of a few microseconds: a GPU that idles is slower (rql_flat_wake), and falls back to its low clock
 * when what follows is too little work. So the statement itself is run for a while, too. */
static rql_status wake(struct bench *b, const char *sql)
{
	if (!strcmp(b->run->unit, "cpu") || !b->gpu.device || b->gpu.device->kind == RQL_DEVICE_SOFTWARE)
		return RQL_OK;
	b->gpu.awake_ns = 0; /* whatever a probe would say */
	RQL_TRY(rql_flat_wake(b->gpu.device, &b->gpu.awake_ns, b->err));
	for (uint64_t start = rql_now_ns(); rql_now_ns() - start < WARM_NS;)
		RQL_TRY(rql_client_time(b->con, sql, NULL, NULL, NULL, b->err));
	return RQL_OK;
}

/* ---- indexes ---- */

static rql_status plain_bytes(struct bench *b, const struct rql_suite_fact *fact, double rows, double *out)
{
	double width;
	RQL_TRY(rql_client_number(
		b->con, &width, b->err,
		"SELECT sum(CASE WHEN data_type LIKE 'DECIMAL%%' AND numeric_precision > 9 OR data_type IN "
		"('BIGINT', 'UBIGINT', 'DOUBLE') OR data_type LIKE 'TIME%%' THEN 8 ELSE 4 END) FROM "
		"duckdb_columns() WHERE database_name = current_database() AND lower(table_name) = '%s' AND (%s "
		"OR list_contains(string_split(lower('%s'), ', '), lower(column_name)))",
		fact->table, b->options->all_columns || !strcmp(fact->columns, "*") ? "true" : "false", fact->columns));
	*out = width * rows;
	return RQL_OK;
}

static rql_status build_index(struct bench *b, const struct rql_suite_fact *fact, struct rql_suite_index *index)
{
	RQL_TRY(rql_client_run(b->con, b->err, "DROP INDEX IF EXISTS %s_columns", fact->table));
	uint64_t start = rql_now_ns();
	RQL_TRY(rql_client_run(b->con, b->err, "CREATE INDEX %s_columns ON %s USING columns (%s)", fact->table, fact->table,
	                       b->options->all_columns ? "*" : fact->columns));
	index->build_ms = (double)(rql_now_ns() - start) / 1e6;
	return RQL_OK;
}

static rql_status describe_index(struct bench *b, const struct rql_suite_fact *fact, struct rql_suite_index *index)
{
	static const char kind[] = "FROM rayql_structures() WHERE kind = 'columns'";
	index->table = fact->table;
	RQL_TRY(rql_client_number(b->con, &index->rows, b->err, "SELECT count(*) FROM %s", fact->table));
	RQL_TRY(rql_client_number(b->con, &index->bytes, b->err, "SELECT sum(bytes) %s AND tables LIKE '%%%s%%'", kind,
	                          fact->table));
	RQL_TRY(rql_client_number(b->con, &index->device_bytes, b->err,
	                          "SELECT sum(device_bytes) %s AND tables LIKE '%%%s%%'", kind, fact->table));
	return plain_bytes(b, fact, index->rows, &index->plain_bytes);
}

/* The index on key i of the suite. */
static rql_status build_lookup(struct bench *b, uint32_t i)
{
	const struct rql_suite_key *key = &b->suite->keys[i];
	struct rql_suite_lookup *lookup = &b->run->lookups[i];
	snprintf(lookup->name, sizeof lookup->name, "%s_lookup%02u", key->table, i);
	say(b, "%s %g: %s on %s", b->suite->name, b->run->size, b->options->lookups, key->table);
	RQL_TRY(rql_client_run(b->con, b->err, "DROP INDEX IF EXISTS %s", lookup->name));
	uint64_t start = rql_now_ns();
	RQL_TRY(rql_client_run(b->con, b->err, "CREATE INDEX %s ON %s USING %s (%s)", lookup->name, key->table,
	                       b->options->lookups, key->columns));
	lookup->build_ms = (double)(rql_now_ns() - start) / 1e6;
	return RQL_OK;
}

static uint32_t lookup_count(const struct bench *b)
{
	return b->options->lookups ? b->suite->key_count : 0;
}

static rql_status describe_lookups(struct bench *b)
{
	for (uint32_t i = 0; i < lookup_count(b); i++) {
		struct rql_suite_lookup *lookup = &b->run->lookups[i];
		const char from[] = "FROM rayql_structures() WHERE name";
		RQL_TRY(rql_client_number(b->con, &lookup->bytes, b->err, "SELECT bytes %s = '%s'", from, lookup->name));
		RQL_TRY(rql_client_number(b->con, &lookup->device_bytes, b->err, "SELECT device_bytes %s = '%s'", from,
		                          lookup->name));
	}
	return RQL_OK;
}

static rql_status describe_indexes(struct bench *b)
{
	for (uint32_t i = 0; i < b->suite->fact_count; i++)
		RQL_TRY(describe_index(b, &b->suite->facts[i], &b->run->indexes[i]));
	b->run->rows = (uint64_t)b->run->indexes[0].rows;
	return describe_lookups(b);
}

/* ---- queries ---- */

static char *query_text(const struct rql_suite_query *q)
{
	struct rql_strbuf sql = {0};
	rql_strbuf_printf(&sql, "SELECT %s %s", q->select, q->rest);
	if (q->order)
		rql_strbuf_printf(&sql, " ORDER BY %s", q->order);
	if (q->limit)
		rql_strbuf_printf(&sql, " LIMIT %u", q->limit);
	if (q->offset)
		rql_strbuf_printf(&sql, " OFFSET %u", q->offset);
	return rql_strbuf_take(&sql);
}

static void copy_text(char *out, size_t size, const char *text)
{
	snprintf(out, size, "%s", text ? text : "");
}

/* Of the last warm run, when columns that are loaded by use are there. */
static rql_status note_run(struct bench *b, struct rql_suite_result *r)
{
	rayql_query_info info = {.size = sizeof info};
	if (rayql_last_query(b->con, &info) != RAYQL_OK)
		return rql_error_set(b->err, RQL_ERROR_INTERNAL, "rayql_last_query failed after %s", r->query->name);
	copy_text(r->method, sizeof r->method, info.method);
	copy_text(r->unit, sizeof r->unit, info.unit);
	copy_text(r->device, sizeof r->device, info.device);
	copy_text(r->structure, sizeof r->structure, info.structure);
	r->reason = strdup(info.reason ? info.reason : "");
	r->by_rayql = strcmp(r->method, "host") != 0;
	r->bytes_read = info.bytes_read;
	r->estimated_ms = info.estimated_ms;
	r->host_estimated_ms = info.host_estimated_ms;
	if (!r->by_rayql && (!info.reason || !*info.reason))
		return rql_error_set(b->err, RQL_ERROR_INTERNAL, "DuckDB answered and nothing says why");
	const bool on_cpu = !strcmp(r->unit, "cpu");
	const double gbps = on_cpu ? b->machine->read_gbps : b->run->read_gbps;
	if (r->by_rayql && gbps > 0)
		r->floor_ms = (double)r->bytes_read / (gbps * 1e6) + (on_cpu ? 0 : b->run->launch_us / 1e3);
	return RQL_OK;
}

/* Which of the indexes that were made for it the plan names. */
static rql_status note_lookups(struct bench *b, struct rql_suite_result *r)
{
	struct rql_strbuf explain = {0}, plan = {0};
	if (!lookup_count(b))
		return RQL_OK;
	rql_strbuf_printf(&explain, "EXPLAIN %s", r->sql);
	rql_status status = rql_client_json(b->con, rql_strbuf_text(&explain), &plan, b->err);
	const char *text = rql_strbuf_text(&plan), *others = strstr(text, "candidates:");
	for (uint32_t i = 0; i < lookup_count(b) && status == RQL_OK; i++) {
		const char *at = strstr(text, b->run->lookups[i].name);
		r->lookups |= (uint32_t)(at && (!others || at < others)) << i;
	}
	rql_strbuf_free(&plan);
	rql_strbuf_free(&explain);
	return status;
}

static rql_status time_device(struct bench *b, struct rql_suite_result *r)
{
	struct rql_samples device = {0};
	if (!r->by_rayql || !strcmp(r->unit, "cpu"))
		return RQL_OK;
	RQL_TRY(rql_client_run(b->con, b->err, "SET rayql_device_timing = on"));
	RQL_TRY(wake(b, r->sql));
	for (unsigned i = 0; i < DEVICE_RUNS; i++) {
		rayql_query_info info = {.size = sizeof info};
		RQL_TRY(rql_client_time(b->con, r->sql, NULL, NULL, NULL, b->err));
		if (rayql_last_query(b->con, &info) == RAYQL_OK)
			rql_samples_add(&device, info.device_ms * 1e3);
	}
	r->device_us = rql_samples_median(&device);
	return rql_client_run(b->con, b->err, "SET rayql_device_timing = off");
}

/* The statement as texts that were never seen, so that each is planned; what it reads is where it was. */
static rql_status time_new_texts(struct bench *b, struct rql_suite_result *r)
{
	struct rql_samples total = {0};
	RQL_TRY(wake(b, r->sql));
	for (unsigned i = 0; i < NEW_TEXTS; i++) {
		struct rql_strbuf text = {0};
		double ms;
		rql_strbuf_printf(&text, "%s -- %u", r->sql, i);
		rql_status status = rql_client_time(b->con, rql_strbuf_text(&text), &ms, NULL, NULL, b->err);
		rql_strbuf_free(&text);
		RQL_TRY(status);
		rql_samples_add(&total, ms);
	}
	r->new_ms = rql_samples_median(&total);
	return RQL_OK;
}

/* Warm runs are those of the plan that stays: while a driver compiles its kernels, another unit answers. */
static rql_status settle(struct bench *b, struct rql_suite_result *r)
{
	for (uint64_t start = rql_now_ns(); rql_now_ns() - start < SETTLE_NS;) {
		rayql_query_info info = {.size = sizeof info};
		if (rayql_last_query(b->con, &info) != RAYQL_OK || !info.reason || !strstr(info.reason, "is being compiled"))
			return RQL_OK;
		RQL_TRY(rql_client_time(b->con, r->sql, NULL, NULL, NULL, b->err));
	}
	return RQL_OK;
}

static rql_status time_rayql(struct bench *b, struct rql_suite_result *r, struct rql_answer *answer)
{
	struct rql_samples total = {0}, plan = {0}, method = {0}, finish = {0};
	RQL_TRY(use_rayql(b));
	RQL_TRY(rql_answer_of(b->con, r->sql, &r->first_ms, answer, b->err));
	RQL_TRY(settle(b, r));
	RQL_TRY(wake(b, r->sql));
	for (int64_t i = 0; i < b->options->runs; i++) {
		double ms;
		rayql_query_info info = {.size = sizeof info};
		RQL_TRY(rql_client_time(b->con, r->sql, &ms, NULL, &r->rows, b->err));
		rql_samples_add(&total, ms);
		if (rayql_last_query(b->con, &info) == RAYQL_OK) {
			rql_samples_add(&plan, info.plan_ms * 1e3);
			rql_samples_add(&method, info.run_ms * 1e3);
			rql_samples_add(&finish, info.finish_ms * 1e3);
		}
	}
	RQL_TRY(note_run(b, r));
	RQL_TRY(note_lookups(b, r));
	r->warm_ms = rql_samples_median(&total);
	r->warm_least_ms = rql_samples_min(&total);
	r->plan_us = rql_samples_median(&plan);
	r->method_us = rql_samples_median(&method);
	r->finish_us = rql_samples_median(&finish);
	RQL_TRY(time_new_texts(b, r));
	return time_device(b, r);
}

static rql_status time_host(struct bench *b, struct rql_suite_result *r, struct rql_answer *answer)
{
	struct rql_samples total = {0};
	RQL_TRY(use_host(b));
	RQL_TRY(rql_answer_of(b->con, r->sql, &r->host_first_ms, answer, b->err));
	for (int64_t i = 0; i < b->options->runs; i++) {
		double ms;
		RQL_TRY(rql_client_time(b->con, r->sql, &ms, NULL, NULL, b->err));
		rql_samples_add(&total, ms);
	}
	r->host_ms = rql_samples_median(&total);
	r->host_least_ms = rql_samples_min(&total);
	return RQL_OK;
}

static void note_rivals(struct bench *b, struct rql_suite_result *r, const struct rql_answer *host)
{
	uint32_t query = (uint32_t)(r->query - b->suite->queries); /* in the order of rql_ssb_flat */
	for (uint32_t f = 0; f < RQL_RIVAL_FORMS; f++) {
		const struct rql_rival_answer *rival = &b->rivals.answers[f][query];
		r->rival_us[f] = rival->median_ns / 1e3;
		r->rival_same[f] = rql_suite_rival_same(rival, query, host);
		b->run->failed += !r->rival_same[f];
		if (!r->rival_same[f])
			fprintf(stderr, "%s: the %s scan's sums differ\n", r->query->name, rql_rival_names[f]);
	}
}

static rql_status measure_query(struct bench *b, struct rql_suite_result *r)
{
	struct rql_answer ours = {0}, host = {0};
	struct rql_strbuf why = {0};
	rql_status status = time_rayql(b, r, &ours);
	if (status == RQL_OK)
		status = time_host(b, r, &host);
	if (status == RQL_OK)
		status = rql_answer_check(b->con, &r->sized, &ours, &host, &r->same, &why, b->err);
	if (status == RQL_OK && !r->same)
		r->difference = strdup(rql_strbuf_text(&why));
	if (status == RQL_OK && b->has_rivals && strcmp(b->run->unit, "cpu"))
		note_rivals(b, r, &host);
	rql_strbuf_free(&why);
	rql_answer_free(&ours);
	rql_answer_free(&host);
	return status;
}

static rql_status run_queries(struct bench *b)
{
	for (uint32_t i = 0; i < b->suite->query_count; i++) {
		struct rql_suite_result *r = &b->run->results[i];
		const struct rql_suite_query *query = &b->suite->queries[i];
		if (b->options->only && !rql_args_listed(b->options->only, query->name))
			continue;
		r->query = query;
		r->sized = rql_suite_sized(b->suite, query, b->run->size, &r->rest);
		if (!(r->sql = query_text(&r->sized)))
			return rql_error_memory(b->err, 1024, "a statement");
		say(b, "%s %g, %s: %s", b->suite->name, b->run->size, b->run->unit, query->name);
		if (measure_query(b, r) != RQL_OK) {
			r->error = strdup(rql_error_message(b->err));
			r->same = false;
			rql_error_clear(b->err);
		}
		say(b, "%s", "");
		if (!r->same)
			fprintf(stderr, "%s %s: %s\n", b->run->unit, query->name, r->error ? r->error : r->difference);
		b->run->failed += !r->same;
	}
	return use_host(b);
}

/* ---- one size ---- */

/* DuckDB knows counts and extremes exactly only of a table that it has read from its file, and answers from them. So the
 * database is opened anew when its tables have just been made: every run finds the same. */
static rql_status open_loaded(struct bench *b, const char *path, rayql_database **db)
{
	const struct rql_suite_options *o = b->options;
	struct rql_suite_source_options source = {
		.size = b->run->size, .seed = o->seed, .data = o->data, .quiet = o->quiet};
	RQL_TRY(rql_client_open(path, (unsigned)o->threads, db, &b->con, b->err));
	say(b, "%s %g: making the data", b->suite->name, b->run->size);
	RQL_TRY(rql_suite_load(b->con, b->suite, &source, &b->run->load_s, b->err));
	if (b->run->load_s == 0)
		return RQL_OK;
	rayql_disconnect(b->con);
	rayql_close(*db);
	b->con = NULL;
	*db = NULL;
	return rql_client_open(path, (unsigned)o->threads, db, &b->con, b->err);
}

static rql_status prepare(struct bench *b)
{
	const struct rql_suite_options *o = b->options;
	if (o->force)
		RQL_TRY(rql_client_run(b->con, b->err, "SET rayql_force = on"));
	for (uint32_t i = 0; i < b->suite->fact_count && o->columns == RQL_COLUMNS_INDEX; i++) {
		say(b, "%s %g: columns of %s", b->suite->name, b->run->size, b->suite->facts[i].table);
		RQL_TRY(build_index(b, &b->suite->facts[i], &b->run->indexes[i]));
	}
	for (uint32_t i = 0; i < lookup_count(b); i++)
		RQL_TRY(build_lookup(b, i));
	return RQL_OK;
}

static rql_status run_units(struct bench *b, struct rql_suite_run *runs, struct rql_strbuf *devices)
{
	rql_strbuf_clear(devices);
	RQL_TRY(rql_client_json(b->con, "SELECT * FROM rayql_devices()", devices, b->err));
	RQL_TRY(prepare(b));
	for (uint32_t u = 0; u < b->options->unit_count; u++) {
		struct rql_suite_run *run = &runs[u];
		run->load_s = runs[0].load_s;
		memcpy(run->indexes, runs[0].indexes, sizeof run->indexes);
		memcpy(run->lookups, runs[0].lookups, sizeof run->lookups);
		b->run = run;
		RQL_TRY(use_unit(b));
		RQL_TRY(run_queries(b));
		RQL_TRY(describe_indexes(b)); /* after the queries, since columns may be loaded by use */
	}
	for (uint32_t i = 0; i < b->suite->fact_count && b->options->columns == RQL_COLUMNS_INDEX; i++)
		RQL_TRY(rql_client_run(b->con, b->err, "DROP INDEX IF EXISTS %s_columns", b->suite->facts[i].table));
	for (uint32_t i = 0; i < lookup_count(b); i++)
		RQL_TRY(rql_client_run(b->con, b->err, "DROP INDEX IF EXISTS %s", b->run->lookups[i].name));
	return RQL_OK;
}

static char *database_path(const struct rql_suite_options *o, double size)
{
	char *path;
	/* v1: of the generators' rows; a change of them needs a new number. */
	int length = asprintf(&path, "%s/%s-%s%.10g-seed%lld-v1.db", o->directory, o->suite->name,
	                      o->suite->by_rows ? "rows" : "sf", size, (long long)o->seed);
	return length < 0 ? NULL : path;
}

rql_status rql_suite_run_size(const struct rql_suite_options *options, const struct rql_machine *machine, double size,
                              struct rql_suite_run *runs, struct rql_strbuf *devices, struct rql_error *err)
{
	struct bench b = {.options = options, .suite = options->suite, .machine = machine, .run = runs, .err = err};
	rayql_database *db = NULL;
	for (uint32_t u = 0; u < options->unit_count; u++) {
		runs[u] = (struct rql_suite_run){.size = size, .unit = options->units[u]};
		runs[u].results = calloc(options->suite->query_count, sizeof *runs[u].results);
		if (!runs[u].results)
			return rql_error_memory(err, options->suite->query_count * sizeof *runs[u].results, "the results");
	}
	RQL_TRY(rql_make_directory(options->directory, err));
	char *path = database_path(options, size);
	if (!path)
		return rql_error_memory(err, strlen(options->directory), "a path");
	rql_status status = open_loaded(&b, path, &db);
	free(path);
	if (status == RQL_OK)
		status = run_units(&b, runs, devices);
	if (b.has_rivals)
		rql_suite_rivals_free(&b.rivals);
	if (b.gpu.devices)
		rql_suite_gpu_close(&b.gpu);
	say(&b, "%s", "");
	rayql_disconnect(b.con);
	rayql_close(db);
	return status;
}

void rql_suite_run_free(const struct rql_suite_options *options, struct rql_suite_run *run)
{
	for (uint32_t i = 0; run->results && i < options->suite->query_count; i++) {
		free(run->results[i].sql);
		rql_strbuf_free(&run->results[i].rest);
		free(run->results[i].reason);
		free(run->results[i].error);
		free(run->results[i].difference);
	}
	free(run->results);
	run->results = NULL;
}

static void summarise_rival(const struct rql_suite_options *options, const struct rql_suite_run *run, uint32_t form,
                            struct rql_suite_summary *s)
{
	struct rql_samples times = {0}, ratios = {0};
	for (uint32_t i = 0; i < options->suite->query_count; i++) {
		const struct rql_suite_result *r = &run->results[i];
		if (r->rival_us[form] <= 0 || r->device_us <= 0)
			continue;
		rql_samples_add(&times, r->rival_us[form]);
		rql_samples_add(&ratios, r->rival_us[form] / r->device_us);
	}
	s->rival_us[form] = rql_geometric_mean(times.value, times.count);
	s->rival_least[form] = rql_samples_min(&ratios);
}

void rql_suite_summarise(const struct rql_suite_options *options, const struct rql_suite_run *run,
                         struct rql_suite_summary *out)
{
	struct rql_suite_summary s = {0};
	struct rql_samples warm = {0}, host = {0}, ratio = {0}, rayql = {0}, device = {0};
	for (uint32_t i = 0; i < options->suite->query_count; i++) {
		const struct rql_suite_result *r = &run->results[i];
		s.queries += r->query != NULL;
		s.same += r->same;
		if (!r->query || r->error || r->warm_ms <= 0)
			continue;
		double times = r->host_ms / r->warm_ms;
		s.timed++;
		s.by_rayql += r->by_rayql;
		rql_samples_add(&warm, r->warm_ms);
		rql_samples_add(&host, r->host_ms);
		rql_samples_add(&ratio, times);
		if (!r->by_rayql)
			continue;
		rql_samples_add(&rayql, times);
		if (r->device_us > 0)
			rql_samples_add(&device, r->device_us);
		s.slower += times < 1;
		if (!s.least_name || times < s.least_ratio) {
			s.least_ratio = times;
			s.least_name = r->query->name;
		}
	}
	s.warm_ms = rql_geometric_mean(warm.value, warm.count);
	s.host_ms = rql_geometric_mean(host.value, host.count);
	s.ratio = rql_geometric_mean(ratio.value, ratio.count);
	s.rayql_ratio = rql_geometric_mean(rayql.value, rayql.count);
	s.device_us = rql_geometric_mean(device.value, device.count);
	for (uint32_t f = 0; f < RQL_RIVAL_FORMS; f++)
		summarise_rival(options, run, f, &s);
	*out = s;
}

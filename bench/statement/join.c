/* What a join of two tables by a key takes, from SQL to rows, with an index on the key and without: sums, a selection of
 * rows, groups of the smaller side, an outer and a semi join. DuckDB answers the same statements in the same run, and every
 * answer is compared with its own. Keys are in no order on either side. */
#include "bench/statement/join.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/answer.h"
#include "bench/common/args.h"
#include "bench/common/client.h"
#include "bench/common/json.h"
#include "bench/common/machine.h"
#include "bench/common/stats.h"
#include "bench/ssb/report.h"
#include "util/threads.h"

/* The build side's row i has the key i * FACTOR % PRIME: no two are equal below PRIME rows. */
#define FACTOR 500000003ll
#define PRIME 1000000007ll
#define SIZES 8u

static const char help[] =
	"Usage: rayql bench join [options]\n"
	"\n"
	"Joins of a table `probe` with a table `build` whose key is unique, both with columns in memory: once so, and once\n"
	"with an index on the key of both. Each answer is compared with DuckDB's, which runs in turn. Times are from SQL to\n"
	"rows. First: a text that was never seen, and nothing is left of earlier joins. New: a text that was never seen. Warm:\n"
	"the same text again.\n"
	"\n"
	"  --sizes BxP,...     rows of build and of probe (default 1000000x10000000)\n"
	"  --index NAME        auto, sorted, btree or hash (default auto); none: columns alone\n"
	"  --queries Q,...     only these: sum,group\n"
	"  --runs N            of each, 1 to 1000 (default 5)\n"
	"  --threads T         threads of both engines (default: all CPUs)\n"
	"  --device NAME       cpu, vulkan:0 and so on (default auto: any); a GPU looks up by its compute unit. Its device time\n"
	"                      of warm texts is measured in more runs, as is whether rows are joined before they are grouped\n"
	"  --force             RayQL also where DuckDB looks cheaper\n"
	"  --json FILE         write all figures\n"
	"  --help              this text\n";

/* k is a key of build in every row of probe, h in half of them; g has 1000 values, v and w as many. */
static const struct rql_suite_query queries[] = {
	{.name = "sum", .select = "count(*), sum(p.v), sum(b.w)", .rest = "FROM probe p JOIN build b ON p.k = b.k"},
	{.name = "half", .select = "count(*), sum(p.v), sum(b.w)", .rest = "FROM probe p JOIN build b ON p.h = b.k"},
	{.name = "filter", .select = "count(*), sum(p.v), sum(b.w)",
     .rest = "FROM probe p JOIN build b ON p.k = b.k WHERE b.w < 100"},
	{.name = "few", .select = "count(*), sum(p.v), sum(b.w)",
     .rest = "FROM probe p JOIN build b ON p.k = b.k WHERE b.id < 100"},
	{.name = "group", .select = "b.g, count(*), sum(p.v)",
     .rest = "FROM probe p JOIN build b ON p.k = b.k GROUP BY b.g"},
	{.name = "left", .select = "count(*), count(b.w), sum(b.w)", .rest = "FROM probe p LEFT JOIN build b ON p.h = b.k"},
	{.name = "semi", .select = "count(*), sum(p.v)",
     .rest = "FROM probe p WHERE p.h IN (SELECT b.k FROM build b WHERE b.w < 500)"},
	{.name = "in", .select = "count(*), sum(p.v)",
     .rest = "FROM probe p WHERE p.k IN (SELECT b.k FROM build b WHERE b.id < 1000)"},
	{.name = "range", .select = "count(*), sum(p.v)", .rest = "FROM probe p WHERE p.k BETWEEN 500000000 AND 500100000"},
	{.name = "rows", .select = "p.k, p.v, b.w", .rest = "FROM probe p JOIN build b ON p.k = b.k WHERE p.v < 10"},
};
#define AWAKE_NS UINT64_C(300000000)
#define QUERIES (sizeof queries / sizeof *queries)

enum structures { COLUMNS, INDEXES, STRUCTURES };
static const char *const structure_names[STRUCTURES] = {"columns", "index"};

struct size {
	int64_t build, probe;
};

struct options {
	struct size sizes[SIZES];
	uint32_t size_count;
	const char *index, *device, *queries; /* device NULL: any; queries NULL: all */
	int64_t runs, threads;
	bool force;
	const char *json;
};

struct measured {
	struct rql_samples first, fresh, warm, host, device;
	char method[24], reason[256], first_method[24], first_reason[256];
	bool asked;     /* of --queries */
	bool looked_up; /* rows by an index, of either side */
	bool joined;    /* pairs are made, which what is above reads; else nothing is but its result */
	bool same;
};

struct run {
	const struct options *options;
	struct size size;
	rayql_database *db;
	rayql_connection *con;
	uint64_t texts, different;
	double build_ms[STRUCTURES], bytes[STRUCTURES];
	struct measured measured[STRUCTURES][QUERIES];
};

/* ---- data ---- */

static rql_status load(struct run *r, struct rql_error *err)
{
	RQL_TRY(rql_client_open(NULL, (unsigned)r->options->threads, &r->db, &r->con, err));
	RQL_TRY(rql_client_run(r->con, err,
	                       "CREATE TABLE build AS SELECT range::INTEGER AS id, (range * %lld %% %lld)::INTEGER AS k, "
	                       "(hash(range) %% 1000)::INTEGER AS g, (range %% 1000)::INTEGER AS w FROM range(%lld)",
	                       FACTOR, PRIME, (long long)r->size.build));
	RQL_TRY(rql_client_run(r->con, err,
	                       "CREATE TABLE probe AS SELECT ((r %% %lld)::BIGINT * %lld %% %lld)::INTEGER AS k, "
	                       "((r %% %lld)::BIGINT * %lld %% %lld)::INTEGER AS h, (i %% 1000)::INTEGER AS v "
	                       "FROM (SELECT range AS i, hash(range + 1) AS r FROM range(%lld))",
	                       (long long)r->size.build, FACTOR, PRIME, (long long)r->size.build * 2, FACTOR, PRIME,
	                       (long long)r->size.probe));
	if (r->options->device)
		RQL_TRY(rql_client_run(r->con, err, "SET rayql_device = '%s'", r->options->device));
	return rql_client_run(r->con, err, "SET rayql_force = %s", r->options->force ? "on" : "off");
}

static rql_status make_structures(struct run *r, enum structures which, struct rql_error *err)
{
	static const char *const tables[] = {"build", "probe"};
	double before, after;
	RQL_TRY(rql_client_number(r->con, &before, err, "SELECT sum(build_ms) FROM rayql_structures()"));
	for (uint32_t t = 0; t < 2; t++)
		if (which == COLUMNS)
			RQL_TRY(rql_client_run(r->con, err, "CREATE INDEX c_%s ON %s USING columns (*)", tables[t], tables[t]));
		else
			RQL_TRY(rql_client_run(r->con, err, "CREATE INDEX i_%s ON %s USING %s (k)", tables[t], tables[t],
			                       r->options->index));
	RQL_TRY(rql_client_number(r->con, &after, err, "SELECT sum(build_ms) FROM rayql_structures()"));
	r->build_ms[which] = after - before;
	return rql_client_number(r->con, &r->bytes[which], err, "SELECT sum(bytes) FROM rayql_structures()");
}

/* ---- one query ---- */

/* Maps of earlier plans go with any change of the schema. */
static rql_status forget(struct run *r, struct rql_error *err)
{
	return rql_client_run(r->con, err, "CREATE OR REPLACE TABLE forget AS SELECT %llu AS i",
	                      (unsigned long long)r->texts);
}

static rql_status time_text(struct run *r, const struct rql_suite_query *q, bool never_seen, struct rql_samples *out,
                            struct rql_error *err)
{
	struct rql_strbuf sql = {0};
	double ms;
	r->texts += never_seen;
	rql_strbuf_printf(&sql, "SELECT %s %s", q->select, q->rest);
	if (never_seen)
		rql_strbuf_printf(&sql, " -- %llu", (unsigned long long)r->texts);
	rql_status status = rql_client_time(r->con, rql_strbuf_text(&sql), &ms, NULL, NULL, err);
	rql_strbuf_free(&sql);
	if (status == RQL_OK)
		rql_samples_add(out, ms);
	return status;
}

static rql_status answer_of(struct run *r, const struct rql_suite_query *q, struct rql_answer *out, struct rql_error *err)
{
	struct rql_strbuf sql = {0};
	rql_strbuf_printf(&sql, "SELECT %s %s", q->select, q->rest);
	rql_status status = rql_answer_of(r->con, rql_strbuf_text(&sql), NULL, out, err);
	rql_strbuf_free(&sql);
	return status;
}

/* Who answered the last text, and why. */
static void note_method(struct run *r, char method[24], char reason[256])
{
	rayql_query_info info = {.size = sizeof info};
	if (rayql_last_query(r->con, &info) != RAYQL_OK)
		return;
	snprintf(method, 24, "%s", info.method ? info.method : "");
	snprintf(reason, 256, "%s", info.reason ? info.reason : "");
}

static rql_status note_index(struct run *r, const struct rql_suite_query *q, struct measured *m, struct rql_error *err)
{
	struct rql_strbuf sql = {0}, text = {0};
	double ms;
	rql_strbuf_printf(&sql, "EXPLAIN SELECT %s %s", q->select, q->rest);
	rql_status status = rql_client_time(r->con, rql_strbuf_text(&sql), &ms, &text, NULL, err);
	if (status == RQL_OK) {
		const char *plan = rql_strbuf_text(&text);
		m->looked_up = strstr(plan, "under rows of index") || strstr(plan, "under index");
		m->joined = strstr(plan, " on the device, keys need not be unique") || strstr(plan, "RayQL inner join");
	}
	rql_strbuf_free(&sql);
	rql_strbuf_free(&text);
	return status;
}

/* Runs of their own: to read a device's clock slows them. */
static rql_status time_device(struct run *r, const struct rql_suite_query *q, struct measured *m, struct rql_error *err)
{
	struct rql_samples unused = {0};
	rayql_query_info info = {.size = sizeof info};
	RQL_TRY(rql_client_run(r->con, err, "SET rayql_device_timing = on"));
	rql_status status = time_text(r, q, false, &unused, err);
	for (int64_t i = 0; i < r->options->runs && status == RQL_OK; i++) {
		status = time_text(r, q, false, &unused, err);
		if (status == RQL_OK && rayql_last_query(r->con, &info) == RAYQL_OK)
			rql_samples_add(&m->device, info.device_ms);
	}
	RQL_TRY(status);
	return rql_client_run(r->con, err, "SET rayql_device_timing = off");
}

/* A GPU that idled while texts were planned runs at its low clock at first: the statement itself brings it back. */
static rql_status wake(struct run *r, const struct rql_suite_query *q, struct rql_error *err)
{
	struct rql_samples unused = {0};
	for (uint64_t start = rql_now_ns(); r->options->device && rql_now_ns() - start < AWAKE_NS;) {
		unused.count = 0;
		RQL_TRY(time_text(r, q, false, &unused, err));
	}
	return RQL_OK;
}

static rql_status time_rayql(struct run *r, const struct rql_suite_query *q, struct measured *m, struct rql_error *err)
{
	for (int64_t i = 0; i < r->options->runs; i++) {
		RQL_TRY(forget(r, err));
		RQL_TRY(time_text(r, q, true, &m->first, err));
		note_method(r, m->first_method, m->first_reason);
		RQL_TRY(time_text(r, q, true, &m->fresh, err));
	}
	RQL_TRY(wake(r, q, err));
	for (int64_t i = 0; i < r->options->runs; i++)
		RQL_TRY(time_text(r, q, false, &m->warm, err));
	note_method(r, m->method, m->reason);
	if (r->options->device)
		RQL_TRY(time_device(r, q, m, err));
	return note_index(r, q, m, err);
}

static rql_status time_host(struct run *r, const struct rql_suite_query *q, struct measured *m, struct rql_error *err)
{
	for (int64_t i = 0; i < r->options->runs; i++)
		RQL_TRY(time_text(r, q, false, &m->host, err));
	return RQL_OK;
}

/* DuckDB is left on. */
static rql_status check(struct run *r, const struct rql_suite_query *q, struct measured *m, struct rql_error *err)
{
	struct rql_answer ours = {0}, host = {0};
	struct rql_strbuf why = {0};
	rql_status status = answer_of(r, q, &ours, err);
	if (status == RQL_OK)
		status = rql_client_methods(r->con, false, err);
	if (status == RQL_OK)
		status = answer_of(r, q, &host, err);
	if (status == RQL_OK)
		status = rql_answer_check(r->con, q, &ours, &host, &m->same, &why, err);
	if (status == RQL_OK && !m->same)
		fprintf(stderr, "%s: %s\n", q->name, rql_strbuf_text(&why));
	r->different += status == RQL_OK && !m->same;
	rql_strbuf_free(&why);
	rql_answer_free(&ours);
	rql_answer_free(&host);
	return status;
}

/* Without indexes the columns alone. */
static enum structures structures_of(const struct run *r)
{
	return strcmp(r->options->index, "none") == 0 ? INDEXES : STRUCTURES;
}

static rql_status measure(struct run *r, struct rql_error *err)
{
	RQL_TRY(load(r, err));
	for (enum structures s = 0; s < structures_of(r); s++) {
		RQL_TRY(make_structures(r, s, err));
		for (uint32_t i = 0; i < QUERIES; i++) {
			struct measured *m = &r->measured[s][i];
			m->asked = !r->options->queries || rql_args_listed(r->options->queries, queries[i].name);
			if (!m->asked)
				continue;
			RQL_TRY(rql_client_methods(r->con, true, err));
			RQL_TRY(time_rayql(r, &queries[i], m, err));
			RQL_TRY(check(r, &queries[i], m, err));
			RQL_TRY(time_host(r, &queries[i], m, err));
		}
	}
	return RQL_OK;
}

/* ---- report ---- */

static double median(const struct rql_samples *s)
{
	return rql_samples_median(s);
}

static double mean_ratio(const struct run *r, enum structures s, size_t of)
{
	double ratios[QUERIES];
	uint32_t count = 0;
	for (uint32_t i = 0; i < QUERIES; i++) {
		const struct measured *m = &r->measured[s][i];
		if (m->asked)
			ratios[count++] = median(&m->host) / median((const struct rql_samples *)((const char *)m + of));
	}
	return rql_geometric_mean(ratios, count);
}

static void print_run(const struct run *r)
{
	printf("\nbuild %lld x probe %lld rows, ms from SQL to rows, medians of %lld; index: %s\n",
	       (long long)r->size.build, (long long)r->size.probe, (long long)r->options->runs, r->options->index);
	for (enum structures s = 0; s < structures_of(r); s++) {
		printf("\n%s: made in %.0f ms, all structures %.1f MB\n", structure_names[s], r->build_ms[s], r->bytes[s] / 1e6);
		printf("query       first      new     warm   device   DuckDB  times: first  warm  by\n");
		for (uint32_t i = 0; i < QUERIES; i++) {
			const struct measured *m = &r->measured[s][i];
			const double host = median(&m->host);
			const bool other = strcmp(m->method, m->first_method) != 0;
			if (!m->asked)
				continue;
			printf("%-8s %8.2f %8.2f %8.2f %8.2f %8.2f %13.2f %5.2f  %s%s%s%s%s%s\n", queries[i].name, median(&m->first),
			       median(&m->fresh), median(&m->warm), m->device.count ? median(&m->device) : 0, host,
			       host / median(&m->first), host / median(&m->warm), m->method, m->looked_up ? ", index" : "",
			       m->joined ? ", joined" : "", other ? ", first: " : "", other ? m->first_method : "",
			       m->same ? "" : "  WRONG");
		}
		printf("%-53s %13.2f %5.2f\n", "times as fast as DuckDB, geometric mean",
		       mean_ratio(r, s, offsetof(struct measured, first)), mean_ratio(r, s, offsetof(struct measured, warm)));
	}
}

static void put_measured(struct rql_strbuf *out, const struct measured *m, const char *structures, const char *name)
{
	rql_strbuf_put(out, "{");
	rql_json_string(out, "structures", structures);
	rql_json_string(out, "query", name);
	rql_json_number(out, "first_ms", median(&m->first));
	rql_json_number(out, "new_ms", median(&m->fresh));
	rql_json_number(out, "warm_ms", median(&m->warm));
	rql_json_number(out, "host_ms", median(&m->host));
	if (m->device.count)
		rql_json_number(out, "device_ms", median(&m->device));
	rql_json_string(out, "method", m->method);
	rql_json_string(out, "reason", m->reason);
	rql_json_string(out, "first_method", m->first_method);
	rql_json_string(out, "first_reason", m->first_reason);
	rql_json_bool(out, "looked_up", m->looked_up);
	rql_json_bool(out, "joined", m->joined);
	rql_json_bool(out, "same", m->same);
	rql_strbuf_put(out, "}");
}

static void put_run(struct rql_strbuf *out, const struct run *r)
{
	rql_strbuf_put(out, "{");
	rql_json_count(out, "build_rows", (uint64_t)r->size.build);
	rql_json_count(out, "probe_rows", (uint64_t)r->size.probe);
	rql_json_number(out, "columns_build_ms", r->build_ms[COLUMNS]);
	rql_json_number(out, "columns_bytes", r->bytes[COLUMNS]);
	if (structures_of(r) == STRUCTURES) {
		rql_json_number(out, "index_build_ms", r->build_ms[INDEXES]);
		rql_json_number(out, "index_bytes", r->bytes[INDEXES] - r->bytes[COLUMNS]);
	}
	rql_json_key(out, "queries");
	rql_strbuf_put(out, "[");
	bool some = false;
	for (uint32_t i = 0; i < STRUCTURES * QUERIES; i++) {
		const uint32_t s = i / QUERIES, q = i % QUERIES;
		if (!r->measured[s][q].asked)
			continue;
		rql_strbuf_put(out, some ? ",\n" : "\n");
		some = true;
		put_measured(out, &r->measured[s][q], structure_names[s], queries[q].name);
	}
	rql_strbuf_put(out, "]}");
}

static rql_status write_json(const struct options *o, const struct rql_machine *machine, const struct run *runs,
                             struct rql_error *err)
{
	struct rql_strbuf out = {0};
	rql_strbuf_put(&out, "{");
	rql_json_string(&out, "benchmark", "join");
	rql_report_put_machine(&out, machine, "[]");
	rql_json_string(&out, "index", o->index);
	rql_json_string(&out, "device", o->device ? o->device : "auto");
	rql_json_count(&out, "runs_of_each", (uint64_t)o->runs);
	rql_json_bool(&out, "force", o->force);
	rql_json_key(&out, "runs");
	rql_strbuf_put(&out, "[");
	for (uint32_t i = 0; i < o->size_count; i++) {
		rql_strbuf_put(&out, i ? ",\n" : "\n");
		put_run(&out, &runs[i]);
	}
	rql_strbuf_put(&out, "]}\n");
	rql_status status = rql_json_file(o->json, &out, err);
	rql_strbuf_free(&out);
	return status;
}

static rql_status run_all(const struct options *o, struct run *runs, uint64_t *different, struct rql_error *err)
{
	struct rql_machine machine;
	RQL_TRY(rql_machine_measure((unsigned)o->threads, &machine, err));
	rql_report_machine(stdout, &machine);
	for (uint32_t i = 0; i < o->size_count; i++) {
		struct run *r = &runs[i];
		*r = (struct run){.options = o, .size = o->sizes[i]};
		rql_status status = measure(r, err);
		rayql_disconnect(r->con);
		rayql_close(r->db);
		RQL_TRY(status);
		print_run(r);
		*different += r->different;
	}
	return o->json ? write_json(o, &machine, runs, err) : RQL_OK;
}

/* ---- options ---- */

/* "1000000x10000000,..." */
static void parse_sizes(struct rql_args *args, const char *value, struct options *o)
{
	o->size_count = 0;
	for (const char *at = value; at && !args->failed;) {
		char *end;
		struct size size = {.build = strtoll(at, &end, 10)};
		if (*end == 'x')
			size.probe = strtoll(end + 1, &end, 10);
		const bool more = *end == ',';
		if (size.build < 1 || size.build > PRIME / 2 || size.probe < 1 || size.probe > 1000000000 || (*end && !more) ||
		    o->size_count == SIZES)
			rql_args_error(args, "--sizes %s: up to %u of ROWSxROWS, up to %lld and 1000000000", value, SIZES, PRIME / 2);
		else
			o->sizes[o->size_count++] = size;
		at = more ? end + 1 : NULL;
	}
}

static void check_queries(struct rql_args *args, const char *list)
{
	bool some = !list;
	for (uint32_t i = 0; i < QUERIES && !some; i++)
		some = rql_args_listed(list, queries[i].name);
	if (!some)
		rql_args_error(args, "--queries %s: it has no query of sum, half, filter, few, group, left, semi, in, range, rows", list);
}

static void parse_index(struct rql_args *args, const char *value, struct options *o)
{
	static const char *const names[] = {"auto", "sorted", "btree", "hash", "none"};
	o->index = NULL;
	for (uint32_t i = 0; i < sizeof names / sizeof *names; i++)
		if (value && !strcmp(value, names[i]))
			o->index = names[i];
	if (value && !o->index)
		rql_args_error(args, "--index %s: auto, sorted, btree, hash or none", value);
}

static bool parse(struct rql_args *args, struct options *o, bool *want_help)
{
	const char *value;
	for (args->at = 2; args->at < args->argc && !args->failed && !*want_help; args->at++) {
		if (rql_args_flag(args, "help"))
			*want_help = true;
		else if (rql_args_flag(args, "force"))
			o->force = true;
		else if (rql_args_value(args, "sizes", &value))
			parse_sizes(args, value, o);
		else if (rql_args_value(args, "index", &value))
			parse_index(args, value, o);
		else if (rql_args_value(args, "device", &o->device) || rql_args_value(args, "queries", &o->queries))
			continue;
		else if (rql_args_value(args, "runs", &value))
			rql_args_integer(args, "runs", value, 1, RQL_SAMPLES_MAX, &o->runs);
		else if (rql_args_value(args, "threads", &value))
			rql_args_integer(args, "threads", value, 1, 1024, &o->threads);
		else if (!rql_args_value(args, "json", &o->json))
			rql_args_error(args, "there is no option %s", args->argv[args->at]);
	}
	check_queries(args, o->queries);
	return !args->failed;
}

int rql_join_main(int argc, char **argv)
{
	struct rql_args args = {.argc = argc, .argv = argv, .program = "rayql bench"};
	struct options o = {.sizes = {{1000000, 10000000}}, .size_count = 1, .index = "auto", .runs = 5};
	struct rql_error err = {0};
	bool want_help = false;
	uint64_t different = 0;
	if (!parse(&args, &o, &want_help))
		return 2;
	if (want_help) {
		fputs(help, stdout);
		return 0;
	}
	struct run *runs = calloc(SIZES, sizeof *runs);
	rql_status status =
		runs ? run_all(&o, runs, &different, &err) : rql_error_memory(&err, SIZES * sizeof *runs, "the results");
	if (status != RQL_OK)
		fprintf(stderr, "rayql bench: %s\n", rql_error_message(&err));
	else if (different)
		fprintf(stderr, "rayql bench: %llu answers differ\n", (unsigned long long)different);
	free(runs);
	rql_error_clear(&err);
	return status != RQL_OK || different ? 1 : 0;
}

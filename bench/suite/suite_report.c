/* The table and the JSON of `rayql bench scan`. */
#include "bench/suite/suite_report.h"

#include <string.h>

#include "bench/common/json.h"
#include "bench/ssb/report.h"
#include "util/budget.h"

/* Three significant digits, in at most 7 characters. */
static const char *digits(char out[16], double value)
{
	int places = value >= 100 ? 0 : value >= 10 ? 1 : value >= 1 ? 2 : value >= 0.1 ? 3 : 4;
	snprintf(out, 16, "%.*f", places, value);
	return out;
}

static double times_of(const struct rql_suite_result *r)
{
	return r->warm_ms > 0 ? r->host_ms / r->warm_ms : 0;
}

/* ---- the table ---- */

static void print_query(FILE *out, const struct rql_suite_result *r)
{
	char a[7][16], who[56], bytes[32];
	snprintf(who, sizeof who, "%s%s%s%s", *r->method ? r->method : "-", *r->unit ? "/" : "", r->unit,
	         r->lookups ? "+index" : "");
	fprintf(out, "%-5s %-13s %8llu %9s %9s %9s %9s %8s %9s %8s %9s  %s", r->query->name, who,
	        (unsigned long long)r->rows, digits(a[0], r->first_ms), digits(a[6], r->new_ms), digits(a[1], r->warm_ms),
	        digits(a[2], r->host_ms), digits(a[3], times_of(r)), r->by_rayql ? rql_format_bytes(bytes, r->bytes_read) : "-",
	        r->floor_ms > 0 ? digits(a[4], r->floor_ms) : "-", r->device_us > 0 ? digits(a[5], r->device_us) : "-",
	        r->error  ? "failed"
	        : r->same ? "same"
	                  : "DIFFERS");
	if (r->rival_us[RQL_RIVAL_PLAIN] > 0)
		fprintf(out, "  plain %s us, dictionary %s us", digits(a[0], r->rival_us[RQL_RIVAL_PLAIN]),
		        digits(a[1], r->rival_us[RQL_RIVAL_DICTIONARY]));
	if (!r->by_rayql && r->reason)
		fprintf(out, "  %s", r->reason);
	fputc('\n', out);
}

static void print_indexes(FILE *out, const struct rql_suite_options *o, const struct rql_suite_run *run)
{
	char a[16], size[32], plain[32];
	for (uint32_t i = 0; i < o->suite->fact_count; i++) {
		const struct rql_suite_index *x = &run->indexes[i];
		if (x->bytes <= 0)
			continue;
		fprintf(out, "columns of %s: %s, %s of what arrays of 4 and 8-byte values take (%s)", x->table,
		        rql_format_bytes(size, (uint64_t)x->bytes),
		        digits(a, x->plain_bytes > 0 ? x->bytes / x->plain_bytes : 0),
		        rql_format_bytes(plain, (uint64_t)x->plain_bytes));
		if (x->build_ms > 0)
			fprintf(out, "; built in %s ms", digits(a, x->build_ms));
		if (x->device_bytes > 0)
			fprintf(out, "; %s on the device", rql_format_bytes(size, (uint64_t)x->device_bytes));
		fputc('\n', out);
	}
}

/* With how many of the queries' plans look rows up in each. */
static void print_lookups(FILE *out, const struct rql_suite_options *o, const struct rql_suite_run *run)
{
	for (uint32_t i = 0; o->lookups && i < o->suite->key_count; i++) {
		const struct rql_suite_lookup *x = &run->lookups[i];
		const struct rql_suite_key *key = &o->suite->keys[i];
		char a[16], size[32];
		uint32_t plans = 0;
		for (uint32_t q = 0; q < o->suite->query_count; q++)
			plans += run->results[q].lookups >> i & 1;
		fprintf(out, "%s, %s on %s (%s): %s; built in %s ms; looked up by %u queries\n", x->name, o->lookups,
		        key->table, key->columns, rql_format_bytes(size, (uint64_t)x->bytes), digits(a, x->build_ms), plans);
	}
}

void rql_suite_report(FILE *out, const struct rql_suite_options *options, const struct rql_suite_run *run)
{
	const struct rql_suite *suite = options->suite;
	struct rql_suite_summary s;
	char a[4][16];
	rql_suite_summarise(options, run, &s);
	fprintf(out, "\n%s, %s %g, unit %s: %llu rows in %s", suite->title, suite->by_rows ? "rows" : "scale", run->size,
	        run->unit, (unsigned long long)run->rows, suite->facts[0].table);
	if (run->load_s > 0)
		fprintf(out, " (made in %s s)\n\n", digits(a[0], run->load_s));
	else
		fprintf(out, " (data reused)\n\n");
	fprintf(out, "%-5s %-13s %8s %9s %9s %9s %9s %8s %9s %8s %9s  %s\n", "query", "answered by", "rows", "first ms",
	        "new ms", "warm ms", "DuckDB ms", "ratio", "read", "floor ms", "device us", "answer");
	for (uint32_t i = 0; i < suite->query_count; i++)
		if (run->results[i].query)
			print_query(out, &run->results[i]);
	fputc('\n', out);
	print_indexes(out, options, run);
	print_lookups(out, options, run);
	fprintf(out, "all %u: geometric means %s ms, DuckDB %s ms, ratio %s; %u of %u answers are the same\n", s.queries,
	        digits(a[0], s.warm_ms), digits(a[1], s.host_ms), digits(a[2], s.ratio), s.same, s.queries);
	fprintf(out, "RayQL answered %u of %u", s.by_rayql, s.queries);
	if (s.by_rayql)
		fprintf(out, ": geometric mean of their ratios %s, least %s (%s), %u slower than DuckDB",
		        digits(a[0], s.rayql_ratio), digits(a[1], s.least_ratio), s.least_name, s.slower);
	if (s.device_us > 0)
		fprintf(out, "; device time %s us (geometric mean)", digits(a[3], s.device_us));
	fputc('\n', out);
	for (uint32_t f = 0; f < RQL_RIVAL_FORMS; f++)
		if (s.rival_us[f] > 0)
			fprintf(out, "the %s scan: %s us (geometric mean), least %s times RayQL's device time\n",
			        rql_rival_names[f], digits(a[0], s.rival_us[f]), digits(a[1], s.rival_least[f]));
	fflush(out);
}

/* ---- JSON ---- */

static void put_looked_up(struct rql_strbuf *out, const struct rql_suite_result *r, const struct rql_suite_run *run)
{
	bool first = true;
	rql_json_key(out, "looked_up");
	rql_strbuf_put(out, "[");
	for (uint32_t i = 0; i < RQL_SUITE_KEYS; i++) {
		if (!(r->lookups >> i & 1))
			continue;
		rql_strbuf_put(out, first ? "" : ", ");
		rql_json_text(out, run->lookups[i].name);
		first = false;
	}
	rql_strbuf_put(out, "]");
}

static void put_query(struct rql_strbuf *out, const struct rql_suite_result *r, const struct rql_suite_run *run)
{
	rql_strbuf_put(out, "{");
	rql_json_string(out, "name", r->query->name);
	rql_json_string(out, "sql", r->sql);
	rql_json_bool(out, "same", r->same);
	rql_json_string(out, "error", r->error);
	rql_json_string(out, "difference", r->difference);
	rql_json_bool(out, "by_rayql", r->by_rayql);
	rql_json_string(out, "method", r->method);
	rql_json_string(out, "unit", r->unit);
	rql_json_string(out, "device", r->device);
	rql_json_string(out, "structure", r->structure);
	if (r->lookups)
		put_looked_up(out, r, run);
	rql_json_string(out, "reason", r->reason);
	rql_json_count(out, "rows", r->rows);
	rql_json_count(out, "bytes_read", r->bytes_read);
	rql_json_number(out, "first_ms", r->first_ms);
	rql_json_number(out, "new_ms", r->new_ms);
	rql_json_number(out, "warm_ms", r->warm_ms);
	rql_json_number(out, "warm_least_ms", r->warm_least_ms);
	rql_json_number(out, "plan_us", r->plan_us);
	rql_json_number(out, "method_us", r->method_us);
	rql_json_number(out, "finish_us", r->finish_us);
	rql_json_number(out, "device_us", r->device_us);
	for (uint32_t f = 0; f < RQL_RIVAL_FORMS && r->rival_us[f] > 0; f++) {
		static const char *const us[] = {"plain_us", "dictionary_us"}, *const same[] = {"plain_same",
		                                                                                "dictionary_same"};
		rql_json_number(out, us[f], r->rival_us[f]);
		rql_json_bool(out, same[f], r->rival_same[f]);
	}
	rql_json_number(out, "duckdb_first_ms", r->host_first_ms);
	rql_json_number(out, "duckdb_ms", r->host_ms);
	rql_json_number(out, "duckdb_least_ms", r->host_least_ms);
	rql_json_number(out, "ratio", times_of(r));
	rql_json_number(out, "estimated_ms", r->estimated_ms);
	rql_json_number(out, "duckdb_estimated_ms", r->host_estimated_ms);
	rql_json_number(out, "floor_ms", r->floor_ms);
	rql_strbuf_put(out, "}");
}

static void put_summary(struct rql_strbuf *out, const struct rql_suite_options *o, const struct rql_suite_run *run)
{
	struct rql_suite_summary s;
	rql_suite_summarise(o, run, &s);
	rql_json_key(out, "summary");
	rql_strbuf_put(out, "{");
	rql_json_count(out, "queries", s.queries);
	rql_json_count(out, "queries_timed", s.timed);
	rql_json_count(out, "answers_same", s.same);
	rql_json_count(out, "by_rayql", s.by_rayql);
	rql_json_count(out, "slower_than_duckdb", s.slower);
	rql_json_number(out, "warm_ms", s.warm_ms);
	rql_json_number(out, "duckdb_ms", s.host_ms);
	rql_json_number(out, "ratio", s.ratio);
	rql_json_number(out, "rayql_ratio", s.rayql_ratio);
	rql_json_number(out, "least_ratio", s.least_ratio);
	rql_json_string(out, "least_query", s.least_name);
	rql_json_number(out, "device_us", s.device_us);
	if (s.rival_us[RQL_RIVAL_PLAIN] > 0) {
		rql_json_number(out, "plain_us", s.rival_us[RQL_RIVAL_PLAIN]);
		rql_json_number(out, "dictionary_us", s.rival_us[RQL_RIVAL_DICTIONARY]);
		rql_json_number(out, "plain_least_times", s.rival_least[RQL_RIVAL_PLAIN]);
		rql_json_number(out, "dictionary_least_times", s.rival_least[RQL_RIVAL_DICTIONARY]);
	}
	rql_strbuf_put(out, "}");
}

static void put_index(struct rql_strbuf *out, const struct rql_suite_index *x)
{
	rql_strbuf_put(out, "{");
	rql_json_string(out, "table", x->table);
	rql_json_number(out, "rows", x->rows);
	rql_json_number(out, "bytes", x->bytes);
	rql_json_number(out, "plain_bytes", x->plain_bytes);
	rql_json_number(out, "build_ms", x->build_ms);
	rql_json_number(out, "device_bytes", x->device_bytes);
	rql_strbuf_put(out, "}");
}

static void put_lookups(struct rql_strbuf *out, const struct rql_suite_options *o, const struct rql_suite_run *run)
{
	rql_json_key(out, "lookups");
	rql_strbuf_put(out, "[");
	for (uint32_t i = 0; o->lookups && i < o->suite->key_count; i++) {
		const struct rql_suite_lookup *x = &run->lookups[i];
		rql_strbuf_put(out, i ? ", {" : "{");
		rql_json_string(out, "name", x->name);
		rql_json_string(out, "kind", o->lookups);
		rql_json_string(out, "columns", o->suite->keys[i].columns);
		rql_json_number(out, "bytes", x->bytes);
		rql_json_number(out, "build_ms", x->build_ms);
		rql_json_number(out, "device_bytes", x->device_bytes);
		rql_strbuf_put(out, "}");
	}
	rql_strbuf_put(out, "]");
}

static void put_run(struct rql_strbuf *out, const struct rql_suite_options *o, const struct rql_suite_run *run)
{
	rql_strbuf_put(out, "{");
	rql_json_number(out, o->suite->by_rows ? "table_rows" : "scale", run->size);
	rql_json_string(out, "unit", run->unit);
	rql_json_count(out, "rows", run->rows);
	rql_json_number(out, "load_s", run->load_s);
	rql_json_number(out, "read_gbps", run->read_gbps);
	rql_json_number(out, "launch_us", run->launch_us);
	put_summary(out, o, run);
	rql_json_key(out, "indexes");
	rql_strbuf_put(out, "[");
	for (uint32_t i = 0; i < o->suite->fact_count; i++) {
		rql_strbuf_put(out, i ? ", " : "");
		put_index(out, &run->indexes[i]);
	}
	rql_strbuf_put(out, "]");
	if (o->lookups)
		put_lookups(out, o, run);
	rql_json_key(out, "queries");
	rql_strbuf_put(out, "[");
	bool first = true;
	for (uint32_t i = 0; i < o->suite->query_count; i++) {
		if (!run->results[i].query)
			continue;
		rql_strbuf_put(out, first ? "\n    " : ",\n    ");
		put_query(out, &run->results[i], run);
		first = false;
	}
	rql_strbuf_put(out, "]}");
}

rql_status rql_suite_json(const char *path, const struct rql_suite_options *options, const struct rql_machine *machine,
                          const char *devices, const struct rql_suite_run *runs, uint32_t count, struct rql_error *err)
{
	static const char *const columns[] = {"index", "auto", "none"};
	struct rql_strbuf out = {0};
	rql_strbuf_put(&out, "{");
	rql_json_string(&out, "benchmark", "scan");
	rql_json_string(&out, "suite", options->suite->name);
	rql_json_string(&out, "date", machine->date);
	rql_json_string(&out, "rayql", rayql_version());
	rql_json_string(&out, "duckdb", rayql_host_version());
	rql_json_count(&out, "threads", machine->threads);
	rql_json_count(&out, "runs", (uint64_t)options->runs);
	rql_json_key(&out, "seed");
	rql_strbuf_printf(&out, "%lld", (long long)options->seed);
	rql_json_bool(&out, "forced", options->force);
	rql_json_string(&out, "columns", columns[options->columns]);
	rql_json_bool(&out, "all_columns", options->all_columns);
	rql_report_put_machine(&out, machine, devices);
	rql_json_key(&out, "results");
	rql_strbuf_put(&out, "[");
	for (uint32_t i = 0; i < count; i++) {
		rql_strbuf_put(&out, i ? ",\n  " : "\n  ");
		put_run(&out, options, &runs[i]);
	}
	rql_strbuf_put(&out, "]}\n");
	rql_status status = out.failed ? rql_error_memory(err, out.length, "the report") : rql_json_file(path, &out, err);
	rql_strbuf_free(&out);
	return status;
}

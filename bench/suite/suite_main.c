/* rayql bench scan: options and the order of things. */
#include "bench/suite/suite_main.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "bench/common/options.h"
#include "bench/common/stats.h"
#include "bench/ssb/report.h"
#include "bench/suite/suite_report.h"

static const char help[] =
	"Usage: rayql bench scan --suite S [options]\n"
	"\n"
	"Runs the queries of a benchmark on a table whose columns are in memory (CREATE INDEX ... USING columns), through\n"
	"RayQL and through DuckDB in the same process on the same threads, checks every answer, and says who answered: a\n"
	"method of RayQL, or DuckDB and why. Times are from the statement's text to its last row. docs/bench.md says what\n"
	"every figure is. The exit code is 1 when an answer differs or a query fails.\n"
	"\n"
	"  --suite S           ssb-flat, ssb-rows, ssb, tpch, clickbench, groupby, join, pairs, ranges\n"
	"  --sf N,...          scale factors of ssb[-flat, -rows] and tpch (default 1)\n"
	"  --rows N,...        rows of clickbench, groupby, join, pairs and ranges (default 1000000)\n"
	"  --queries Q,...     only these: q1.1,q3.4\n"
	"  --units U,...       cpu, compute, raster (joins and group-bys are drawn), or auto: RayQL's choice of unit and\n"
	"                      device for each query (default: cpu)\n"
	"  --device D          the device of other units than cpu, as rayql_devices() names it (default: RayQL's choice)\n"
	"  --runs N            warm runs of every query, 1 to 1000 (default 7)\n"
	"  --threads T         threads of both engines (default: all CPUs)\n"
	"  --seed S            of the data (default 42)\n"
	"  --data DIR          tpch: the folder with TABLE.parquet (default: where script/tpch-data puts that scale)\n"
	"  --db DIR            where the databases are kept and found again (default: the user's cache folder)\n"
	"  --json FILE         write all figures\n"
	"  --all-columns       index all columns instead of those that the queries name\n"
	"  --auto-columns      SET rayql_auto_columns = on instead of CREATE INDEX\n"
	"  --no-index          neither: what RayQL does without columns\n"
	"  --lookups KIND      also CREATE INDEX ... USING KIND (auto, hash, sorted, btree, rx, cgrx) on the keys of joins\n"
	"  --force             use columns also where DuckDB looks cheaper\n"
	"  --rivals            ssb-flat on compute: two hand-written scans of the same rows on the same device beside it\n"
	"  --least N           fail unless RayQL answers at least N of the queries\n"
	"  --quiet             no progress\n"
	"  --help              this text\n";

static void parse_sizes(struct rql_args *args, const char *name, const char *value, double least, double most,
                        struct rql_suite_options *o)
{
	if (!value)
		return;
	o->size_count = 0;
	char *copy = strdup(value), *rest = copy;
	for (char *item; copy && (item = strsep(&rest, ",")) && !args->failed;) {
		double size;
		if (o->size_count == RQL_SUITE_SIZES)
			rql_args_error(args, "--%s %s: at most %u sizes", name, value, RQL_SUITE_SIZES);
		else if (rql_args_double(args, name, item, least, most, &size))
			o->sizes[o->size_count++] = size;
	}
	free(copy);
}

static void parse_units(struct rql_args *args, const char *value, struct rql_suite_options *o)
{
	if (!value)
		return;
	o->unit_count = 0;
	char *copy = strdup(value), *rest = copy;
	for (char *item; copy && (item = strsep(&rest, ",")) && !args->failed;) {
		bool known = !strcmp(item, "cpu") || !strcmp(item, "compute") || !strcmp(item, "raster") || !strcmp(item, "auto");
		if (!known || o->unit_count == RQL_SUITE_UNITS)
			rql_args_error(args, "--units %s: expected cpu, compute, raster, auto, or several with commas", value);
		else
			snprintf(o->units[o->unit_count++], sizeof o->units[0], "%s", item);
	}
	free(copy);
}

struct given {
	const char *suite, *scales, *rows, *directory;
};

/* false: not an option with a value */
static bool parse_value(struct rql_args *args, struct rql_suite_options *o, struct given *given)
{
	const char *value;
	if (rql_args_value(args, "units", &value))
		parse_units(args, value, o);
	else if (rql_args_value(args, "runs", &value))
		rql_args_integer(args, "runs", value, 1, RQL_SAMPLES_MAX, &o->runs);
	else if (rql_args_value(args, "threads", &value))
		rql_args_integer(args, "threads", value, 1, 1024, &o->threads);
	else if (rql_args_value(args, "seed", &value))
		rql_args_integer(args, "seed", value, INT64_MIN, INT64_MAX, &o->seed);
	else if (rql_args_value(args, "least", &value))
		rql_args_integer(args, "least", value, 0, 1000, &o->least);
	else
		return rql_args_value(args, "suite", &given->suite) || rql_args_value(args, "sf", &given->scales) ||
		       rql_args_value(args, "rows", &given->rows) || rql_args_value(args, "db", &given->directory) ||
		       rql_args_value(args, "json", &o->json) || rql_args_value(args, "data", &o->data) ||
		       rql_args_value(args, "device", &o->device) || rql_args_value(args, "queries", &o->only) ||
		       rql_args_value(args, "lookups", &o->lookups);
	return true;
}

static void check_queries(struct rql_args *args, const struct rql_suite_options *o)
{
	char *copy = o->only ? strdup(o->only) : NULL, *rest = copy;
	for (char *item; copy && (item = strsep(&rest, ",")) && !args->failed;) {
		uint32_t i = 0;
		while (i < o->suite->query_count && strcasecmp(item, o->suite->queries[i].name))
			i++;
		if (i == o->suite->query_count)
			rql_args_error(args, "--queries %s: %s has no query %s", o->only, o->suite->name, item);
	}
	free(copy);
}

static void check_lookups(struct rql_args *args, const struct rql_suite_options *o)
{
	static const char *const kinds[] = {"auto", "hash", "sorted", "btree", "rx", "cgrx"};
	bool known = !o->lookups;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds && !known; i++)
		known = !strcmp(o->lookups, kinds[i]);
	if (!known)
		rql_args_error(args, "--lookups %s: expected auto, hash, sorted, btree, rx or cgrx", o->lookups);
	else if (o->lookups && !o->suite->key_count)
		rql_args_error(args, "--lookups: no query of %s joins", o->suite->name);
}

/* What depends on the suite. */
static void settle(struct rql_args *args, struct rql_suite_options *o, const struct given *given)
{
	if (!given->suite)
		rql_args_error(args, "say which benchmark's queries to run: --suite %s", rql_suite_names());
	else if (!(o->suite = rql_suite_find(given->suite)))
		rql_args_error(args, "--suite %s: expected %s", given->suite, rql_suite_names());
	else if (o->suite->by_rows && given->scales)
		rql_args_error(args, "%s has no scale factors: use --rows", o->suite->name);
	else if (!o->suite->by_rows && given->rows)
		rql_args_error(args, "%s is sized by --sf", o->suite->name);
	else if (o->rivals && o->suite != rql_suite_ssb(true))
		rql_args_error(args, "--rivals: they scan lineorder_flat only: use --suite ssb-flat");
	if (args->failed)
		return;
	o->sizes[0] = o->suite->by_rows ? 1e6 : 1;
	o->size_count = 1;
	parse_sizes(args, "sf", given->scales, 0.0001, 300, o);
	parse_sizes(args, "rows", given->rows, 1000, 1e9, o);
	check_queries(args, o);
	check_lookups(args, o);
	if (given->directory)
		o->directory = strdup(given->directory);
}

static bool parse(struct rql_args *args, struct rql_suite_options *o, bool *want_help)
{
	const char *benchmark = NULL;
	struct given given = {0};
	for (args->at = 1; args->at < args->argc && !args->failed; args->at++) {
		if (rql_args_flag(args, "help") || rql_args_flag(args, "h"))
			return *want_help = true;
		if (rql_args_flag(args, "all-columns"))
			o->all_columns = true;
		else if (rql_args_flag(args, "auto-columns"))
			o->columns = RQL_COLUMNS_AUTO;
		else if (rql_args_flag(args, "no-index"))
			o->columns = RQL_COLUMNS_NONE;
		else if (rql_args_flag(args, "force"))
			o->force = true;
		else if (rql_args_flag(args, "rivals"))
			o->rivals = true;
		else if (rql_args_flag(args, "quiet"))
			o->quiet = true;
		else if (!parse_value(args, o, &given))
			rql_args_benchmark(args, &benchmark);
	}
	if (!args->failed)
		settle(args, o, &given);
	return !args->failed;
}

/* Answers that RayQL owes by --least. */
static uint32_t count_missing(const struct rql_suite_options *o, const struct rql_suite_run *run)
{
	struct rql_suite_summary s;
	rql_suite_summarise(o, run, &s);
	if (s.by_rayql >= o->least)
		return 0;
	fprintf(stderr, "rayql bench: unit %s answered %u queries, --least wants %lld\n", run->unit, s.by_rayql,
	        (long long)o->least);
	return 1;
}

static rql_status run_sizes(const struct rql_suite_options *o, struct rql_suite_run *runs, uint32_t *failed,
                            struct rql_error *err)
{
	struct rql_machine machine;
	struct rql_strbuf devices = {0};
	uint32_t done = 0;
	RQL_TRY(rql_machine_measure((unsigned)o->threads, &machine, err));
	rql_report_machine(stdout, &machine);
	fflush(stdout);
	rql_status status = RQL_OK;
	for (uint32_t s = 0; s < o->size_count && status == RQL_OK; s++) {
		struct rql_suite_run *first = &runs[done];
		status = rql_suite_run_size(o, &machine, o->sizes[s], first, &devices, err);
		for (uint32_t u = 0; u < o->unit_count && status == RQL_OK; u++) {
			rql_suite_report(stdout, o, &first[u]);
			*failed += first[u].failed + count_missing(o, &first[u]);
		}
		done += status == RQL_OK ? o->unit_count : 0;
		for (uint32_t u = 0; u < o->unit_count && status != RQL_OK; u++)
			rql_suite_run_free(o, &first[u]);
	}
	if (o->json && done) { /* also what was measured before a failure */
		rql_status written =
			rql_suite_json(o->json, o, &machine, devices.data, runs, done, status == RQL_OK ? err : NULL);
		status = status == RQL_OK ? written : status;
	}
	for (uint32_t i = 0; i < done; i++)
		rql_suite_run_free(o, &runs[i]);
	rql_strbuf_free(&devices);
	return status;
}

int rql_suite_main(int argc, char **argv)
{
	struct rql_args args = {.argc = argc, .argv = argv, .program = "rayql bench scan"};
	struct rql_suite_options options = {.units = {"cpu"}, .unit_count = 1, .seed = 42, .runs = 7};
	struct rql_error err = {0};
	bool want_help = false;
	uint32_t failed = 0;
	rql_status status = RQL_ERROR_MEMORY;
	if (!parse(&args, &options, &want_help)) {
		free(options.directory);
		return 2;
	}
	if (want_help) {
		fputs(help, stdout);
		free(options.directory);
		return 0;
	}
	if (!options.directory)
		options.directory = rql_option_directory();
	struct rql_suite_run *runs = calloc((size_t)options.size_count * options.unit_count, sizeof *runs);
	if (!runs || !options.directory)
		(void)rql_error_memory(&err, sizeof *runs, "the results");
	else
		status = run_sizes(&options, runs, &failed, &err);
	if (status != RQL_OK)
		fprintf(stderr, "rayql bench: %s\n", rql_error_message(&err));
	else if (failed)
		fprintf(stderr, "rayql bench: %u answers differ or are missing\n", failed);
	free(runs);
	free(options.directory);
	rql_error_clear(&err);
	return status != RQL_OK || failed ? 1 : 0;
}

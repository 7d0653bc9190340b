/* rayql bench ssb: RayQL beside DuckDB on the same data, in the same process, on the same threads. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/common/args.h"
#include "bench/common/machine.h"
#include "bench/common/options.h"
#include "bench/common/stats.h"
#include "bench/flat/flat.h"
#include "bench/relation/relation_bench.h"
#include "bench/rtscan/rtscan.h"
#include "bench/rx/rx.h"
#include "bench/ssb/report.h"
#include "bench/ssb/ssb_run.h"
#include "bench/statement/join.h"
#include "bench/statement/plans.h"
#include "bench/statement/point.h"
#include "bench/suite/suite_main.h"

static const char help[] =
	"Usage: rayql bench ssb [options]\n"
	"       rayql bench ssb-flat --help      cubes on the units of a GPU, beside scans of columns there\n"
	"       rayql bench rtcudb --help        the experiments of the paper on RTCUDB\n"
	"       rayql bench rtscan --help        the experiments of the RTScan paper: conjunctions of predicates\n"
	"       rayql bench garuda --help        joins by hash images on the graphics pipeline beside compute, by device time\n"
	"       rayql bench rx --help            look-ups by rays: the experiments of the RTIndeX paper\n"
	"       rayql bench thesis --help        the same of the thesis on joins by ray tracing\n"
	"       rayql bench device --help        joins and group-bys of unindexed columns on a GPU, by device time\n"
	"       rayql bench scan --help          SSB, TPC-H, ClickBench and db-benchmark from columns in memory, without views\n"
	"       rayql bench join --help          joins by a key, with an index on it and without, beside DuckDB\n"
	"       rayql bench point --help         prepared point queries by an index, beside DuckDB's own index\n"
	"\n"
	"Runs the 13 queries of the Star Schema Benchmark through RayQL and through DuckDB, checks that every row is the\n"
	"same, and prints times: from the statement's text to its last row, medians of the warm runs. docs/ssb.md says\n"
	"what every figure is. The exit code is 1 when an answer differs or a query fails.\n"
	"\n"
	"  --sf N,...          scale factors (default 1)\n"
	"  --rollup off,on     how the cubes are built: off, on, auto (default: off,on)\n"
	"  --normalised        the five tables and joins instead of lineorder_flat\n"
	"  --units cpu         the unit used (others: rayql bench ssb-flat)\n"
	"  --runs N            warm runs of every query, 1 to 1000 (default 7)\n"
	"  --threads T         threads of both engines (default: all CPUs)\n"
	"  --seed S            of the data (default 42)\n"
	"  --db DIR            where the databases are kept and found again (default: the user's cache folder)\n"
	"  --json FILE         write all figures\n"
	"  --force             use cubes also where DuckDB looks cheaper (tiny scales)\n"
	"  --demo              a shorter table\n"
	"  --quiet             no progress\n"
	"  --help              this text\n";

/* false: not an option with a value */
static bool parse_value(struct rql_args *args, struct rql_bench_options *o, const char **directory)
{
	const char *value;
	if (rql_args_value(args, "sf", &value))
		rql_option_scales(args, value, o->scales, &o->scale_count);
	else if (rql_args_value(args, "rollup", &value))
		rql_option_rollups(args, value, o->rollups, &o->rollup_count);
	else if (rql_args_value(args, "runs", &value))
		rql_args_integer(args, "runs", value, 1, RQL_SAMPLES_MAX, &o->runs);
	else if (rql_args_value(args, "threads", &value))
		rql_args_integer(args, "threads", value, 1, 1024, &o->threads);
	else if (rql_args_value(args, "seed", &value))
		rql_args_integer(args, "seed", value, INT64_MIN, INT64_MAX, &o->seed);
	else if (rql_args_value(args, "units", &value)) {
		if (value && strcmp(value, "cpu"))
			rql_args_error(args, "--units %s: this benchmark runs on the cpu; ssb-flat has the other units", value);
	} else {
		return rql_args_value(args, "db", directory) || rql_args_value(args, "json", &o->json);
	}
	return true;
}

static bool parse(struct rql_args *args, struct rql_bench_options *o, bool *want_help)
{
	const char *benchmark = NULL, *directory = NULL;
	for (args->at = 1; args->at < args->argc && !args->failed; args->at++) {
		if (rql_args_flag(args, "help") || rql_args_flag(args, "h"))
			return *want_help = true;
		if (rql_args_flag(args, "normalised") || rql_args_flag(args, "normalized"))
			o->form = &rql_ssb_normalised;
		else if (rql_args_flag(args, "demo"))
			o->demo = true;
		else if (rql_args_flag(args, "force"))
			o->force = true;
		else if (rql_args_flag(args, "quiet"))
			o->quiet = true;
		else if (parse_value(args, o, &directory))
			continue;
		else
			rql_args_benchmark(args, &benchmark);
	}
	if (!args->failed && !benchmark)
		rql_args_error(args, "say which benchmark to run: ssb, ssb-flat, rtcudb, device or scan");
	else if (!args->failed && strcmp(benchmark, "ssb"))
		rql_args_error(args, "there is no benchmark %s: use ssb, ssb-flat, rtcudb, device or scan", benchmark);
	if (directory)
		o->directory = strdup(directory);
	return !args->failed;
}

static void introduce_demo(const struct rql_bench_options *o)
{
	printf("\nThe Star Schema Benchmark, %s, scale %g (about %.3g million rows). RayQL answers the 13 queries\n"
	       "from cubes: materialized views whose rows are sorted cells. DuckDB answers the same statements in the\n"
	       "same process on the same threads, and every answer is compared. Times are from the SQL text to the last\n"
	       "row: RayQL's first run, then medians of %lld warm runs of each. Build share: a cube's build time divided\n"
	       "by its flight's queries.\n",
	       o->form->name, o->scales[0], 6 * o->scales[0], (long long)o->runs);
	fflush(stdout);
}

static rql_status run_all(const struct rql_bench_options *o, struct rql_bench_run *runs, uint32_t *different,
                          struct rql_error *err)
{
	struct rql_machine machine;
	struct rql_strbuf devices = {0};
	uint32_t done = 0;
	RQL_TRY(rql_machine_measure((unsigned)o->threads, &machine, err));
	rql_report_machine(stdout, &machine);
	if (o->demo)
		introduce_demo(o);
	fflush(stdout);
	rql_status status = RQL_OK;
	for (uint32_t s = 0; s < o->scale_count && status == RQL_OK; s++) {
		for (uint32_t r = 0; r < o->rollup_count && status == RQL_OK; r++) {
			struct rql_bench_run *run = &runs[done];
			status = rql_bench_run_ssb(o, &machine, o->scales[s], o->rollups[r], run, &devices, err);
			if (status != RQL_OK) {
				rql_bench_run_free(run);
				break;
			}
			done++;
			*different += run->different;
			if (o->demo)
				rql_report_demo_run(stdout, run);
			else
				rql_report_run(stdout, run, &machine);
		}
	}
	if (o->json && done) { /* also what was measured before a failure */
		rql_status written =
			rql_report_json(o->json, o, &machine, devices.data, runs, done, status == RQL_OK ? err : NULL);
		status = status == RQL_OK ? written : status;
	}
	for (uint32_t i = 0; i < done; i++)
		rql_bench_run_free(&runs[i]);
	rql_strbuf_free(&devices);
	return status;
}

int rql_bench_main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "device"))
		return rql_relation_main(argc, argv);
	if (argc > 1 && !strcmp(argv[1], "join"))
		return rql_join_main(argc, argv);
	if (argc > 1 && !strcmp(argv[1], "rtscan"))
		return rql_rtscan_main(argc, argv);
	if (argc > 1 && !strcmp(argv[1], "rx"))
		return rql_rx_main(argc, argv);
	if (argc > 1 && !strcmp(argv[1], "thesis"))
		return rql_thesis_main(argc, argv);
	if (argc > 1 && !strcmp(argv[1], "garuda"))
		return rql_garuda_main(argc, argv);
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], "plans"))
			return rql_plans_main(argc, argv);
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], "point"))
			return rql_point_main(argc, argv);
	/* first: --suite ssb-flat is an option of it */
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], "scan"))
			return rql_suite_main(argc, argv);
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], "ssb-flat") || !strcmp(argv[i], "rtcudb"))
			return rql_flat_main(argc, argv);
	struct rql_args args = {.argc = argc, .argv = argv, .program = "rayql bench"};
	struct rql_bench_options options = {.scales = {1}, .scale_count = 1, .rollups = {RQL_BENCH_OFF, RQL_BENCH_ON},
		.rollup_count = 2, .form = &rql_ssb_flat, .seed = 42, .runs = 7};
	struct rql_error err = {0};
	bool want_help = false;
	uint32_t different = 0;
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
	struct rql_bench_run *runs = calloc((size_t)options.scale_count * options.rollup_count, sizeof *runs);
	if (!runs || !options.directory)
		(void)rql_error_memory(&err, sizeof *runs, "the results");
	else
		status = run_all(&options, runs, &different, &err);
	if (status != RQL_OK)
		fprintf(stderr, "rayql bench: %s\n", rql_error_message(&err));
	else if (different)
		fprintf(stderr, "rayql bench: %u answers differ or are missing\n", different);
	free(runs);
	free(options.directory);
	rql_error_clear(&err);
	return status != RQL_OK || different ? 1 : 0;
}

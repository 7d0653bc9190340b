/* rayql bench ssb-flat and rayql bench rtcudb: options and the order of things. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "bench/common/args.h"
#include "bench/common/options.h"
#include "bench/common/stats.h"
#include "bench/flat/flat.h"
#include "bench/flat/rtcudb.h"
#include "bench/ssb/report.h"

static const char help[] =
	"Usage: rayql bench ssb-flat --device DEVICE [options]\n"
	"       rayql bench rtcudb --figure all --device DEVICE [options]\n"
	"\n"
	"ssb-flat runs the 13 queries of the Star Schema Benchmark over lineorder_flat from cubes on units of one device,\n"
	"and beside them, in the same run, on the same rows and the same device, two scans of columns as GPU databases do\n"
	"them: one after Crystal (int32, every needed column read whole) and a hand-tuned one (byte codes, skipping, private\n"
	"groups). Every answer is compared with DuckDB's. rtcudb repeats the experiments of the paper on RTCUDB by their\n"
	"figure numbers. docs/bench.md says what every figure is. The exit code is 1 when an answer differs or is missing.\n"
	"\n"
	"  --device D          as rayql_devices() names it: vulkan:0, a UUID, a PCI address; cpu (default: the first GPU)\n"
	"  --sf N,...          scale factors (default 1); from 10 on only the 15 columns that the queries name are made\n"
	"  --units U,...       cpu, compute, rt, rt:paper, rt:paper:... (default: compute,rt,rt:paper; those not there are\n"
	"                      reported as failed)\n"
	"  --rollup off,on     how the cubes are built (default: off,on)\n"
	"  --queries Q,...     only these: q1.1,q3.4\n"
	"  --figure N,...      rtcudb: 11 whole queries beside the plain scan; 13 bytes moved; 14 one job for the whole query\n"
	"                      beside one per operator; 15 encoding beside splitting of Scan; 16 the same of GroupBy; all\n"
	"  --runs N            warm runs of every query, 1 to 1000 (default 15)\n"
	"  --threads T         threads of DuckDB and of building (default: all CPUs)\n"
	"  --seed S            of the data (default 42)\n"
	"  --db DIR            where the databases are kept and found again (default: the user's cache folder)\n"
	"  --json FILE         write all figures\n"
	"  --no-rivals         leave the scans out\n"
	"  --no-check          leave DuckDB out: answers are compared with the first unit's\n"
	"  --quiet             no progress\n"
	"  --help              this text\n";

static void parse_units(struct rql_args *args, const char *value, struct rql_flat_options *o)
{
	static const char *const units[] = {"cpu", "compute", "rt"};
	if (!value)
		return;
	o->unit_count = 0;
	char *copy = strdup(value), *rest = copy;
	for (char *item; copy && (item = strsep(&rest, ",")) && !args->failed;) {
		struct rql_flat_unit unit = {.layout = "auto"};
		char *layout = strchr(item, ':');
		snprintf(unit.name, sizeof unit.name, "%s", item);
		if (layout)
			snprintf(unit.layout, sizeof unit.layout, "%s", layout + 1);
		snprintf(unit.unit, sizeof unit.unit, "%.*s", (int)(layout ? layout - item : (long)strlen(item)), item);
		bool known = false;
		for (size_t i = 0; i < sizeof units / sizeof *units; i++)
			known |= !strcmp(unit.unit, units[i]);
		if (!known || o->unit_count == RQL_FLAT_UNITS)
			rql_args_error(args, "--units %s: expected at most %u of cpu, compute, rt, rt:paper", value, RQL_FLAT_UNITS);
		else
			o->units[o->unit_count++] = unit;
	}
	free(copy);
}

static void parse_queries(struct rql_args *args, const char *value, struct rql_flat_options *o)
{
	if (!value)
		return;
	o->query_mask = 0;
	char *copy = strdup(value), *rest = copy;
	for (char *item; copy && (item = strsep(&rest, ",")) && !args->failed;) {
		uint32_t i = 0;
		while (i < RQL_SSB_QUERIES && strcasecmp(item, rql_ssb_flat.queries[i].name))
			i++;
		if (i == RQL_SSB_QUERIES)
			rql_args_error(args, "--queries %s: there is no query %s; they are q1.1 to q4.3", value, item);
		o->query_mask |= i < RQL_SSB_QUERIES ? 1u << i : 0;
	}
	free(copy);
}

/* false: not an option with a value */
static bool parse_value(struct rql_args *args, struct rql_flat_options *o, const char **directory, const char **figures)
{
	const char *value;
	if (rql_args_value(args, "sf", &value))
		rql_option_scales(args, value, o->scales, &o->scale_count);
	else if (rql_args_value(args, "rollup", &value))
		rql_option_rollups(args, value, o->rollups, &o->rollup_count);
	else if (rql_args_value(args, "units", &value))
		parse_units(args, value, o);
	else if (rql_args_value(args, "queries", &value))
		parse_queries(args, value, o);
	else if (rql_args_value(args, "runs", &value))
		rql_args_integer(args, "runs", value, 1, RQL_SAMPLES_MAX, &o->runs);
	else if (rql_args_value(args, "threads", &value))
		rql_args_integer(args, "threads", value, 1, 1024, &o->threads);
	else if (rql_args_value(args, "seed", &value))
		rql_args_integer(args, "seed", value, INT64_MIN, INT64_MAX, &o->seed);
	else
		return rql_args_value(args, "device", &o->device) || rql_args_value(args, "db", directory) ||
		       rql_args_value(args, "json", &o->json) || rql_args_value(args, "figure", figures);
	return true;
}

/* *help: nothing else is wanted. */
static bool parse(struct rql_args *args, struct rql_flat_options *o, bool *help)
{
	const char *benchmark = NULL, *directory = NULL, *figures = NULL;
	for (args->at = 1; args->at < args->argc && !args->failed; args->at++) {
		if (rql_args_flag(args, "help") || rql_args_flag(args, "h"))
			return *help = true;
		if (rql_args_flag(args, "no-rivals"))
			o->rivals = false;
		else if (rql_args_flag(args, "no-check"))
			o->check = false;
		else if (rql_args_flag(args, "quiet"))
			o->quiet = true;
		else if (!parse_value(args, o, &directory, &figures))
			rql_args_benchmark(args, &benchmark);
	}
	if (!args->failed && benchmark && !strcmp(benchmark, "rtcudb") && !rql_rtcudb_prepare(figures, o))
		rql_args_error(args, "say which figures of the paper: --figure all, or of 11, 13, 14, 15 and 16 some: --figure 11,13");
	if (directory)
		o->directory = strdup(directory);
	return !args->failed;
}

struct rql_device *rql_flat_find_device(struct rql_devices *devices, const char *name, struct rql_error *err)
{
	rql_devices_find(devices);
	struct rql_device *found = name ? rql_devices_get(devices, name) : NULL;
	for (uint32_t i = 1; !name && !found && i < devices->count; i++)
		if (devices->device[i].units[RQL_UNIT_COMPUTE] && devices->device[i].kind != RQL_DEVICE_SOFTWARE)
			found = &devices->device[i];
	if (!found)
		rql_error_set(err, RQL_ERROR_STATEMENT, "there is no device %s here%s%s; SELECT * FROM rayql_devices() lists them",
		              name ? name : "that is a GPU", devices->no_gpu ? ": " : "", devices->no_gpu ? devices->no_gpu : "");
	return found;
}

struct session {
	struct rql_flat_options *options;
	struct rql_machine machine;
	struct rql_flat_device floors;
	struct rql_flat_run *runs;
	uint32_t done, different;
	struct rql_strbuf devices;
};

static rql_status run_scales(struct session *s, struct rql_device *device, struct rql_pool *pool, struct rql_error *err)
{
	struct rql_flat_options *o = s->options;
	rql_status status = RQL_OK;
	for (uint32_t i = 0; i < o->scale_count && status == RQL_OK; i++) {
		struct rql_flat_run *run = &s->runs[s->done++];
		status = rql_flat_run_scale(o, device, &s->floors, pool, o->scales[i], run, &s->devices, err);
		s->different += run->different;
		rql_flat_report(stdout, run);
		if (o->figures)
			rql_rtcudb_report(stdout, o, run, &s->floors);
	}
	if (o->json && s->done) { /* also what was measured before a failure */
		rql_status written = rql_flat_json(o->json, o, &s->machine, &s->floors, s->devices.data, s->runs, s->done,
		                                   status == RQL_OK ? err : NULL);
		status = status == RQL_OK ? written : status;
	}
	return status;
}

static rql_status run_session(struct session *s, struct rql_error *err)
{
	struct rql_devices *devices = NULL;
	RQL_TRY(rql_machine_measure((unsigned)s->options->threads, &s->machine, err));
	rql_report_machine(stdout, &s->machine);
	RQL_TRY(rql_devices_open((unsigned)s->options->threads, &devices, err));
	rql_status status = RQL_OK;
	struct rql_device *device = rql_flat_find_device(devices, s->options->device, err);
	if (!device)
		status = RQL_ERROR_STATEMENT;
	else if (device->kind != RQL_DEVICE_CPU)
		status = rql_flat_measure_device(device, &s->floors, err);
	else
		s->floors = (struct rql_flat_device){.id = "cpu", .read_gbps = s->machine.read_gbps};
	if (status == RQL_OK) {
		printf("device %s: %s, %s; an empty pass %.2f us, reads %.0f GB/s\n", device->id, device->name, device->driver,
		       s->floors.launch_us, s->floors.read_gbps);
		fflush(stdout);
		status = run_scales(s, device->kind == RQL_DEVICE_CPU ? NULL : device, devices->device[0].pool, err);
	}
	rql_devices_close(devices);
	return status;
}

int rql_flat_main(int argc, char **argv)
{
	struct rql_args args = {.argc = argc, .argv = argv, .program = "rayql bench"};
	struct rql_flat_options options = {
		.scales = {1},
		.scale_count = 1,
		.rollups = {RQL_BENCH_OFF, RQL_BENCH_ON},
		.rollup_count = 2,
		.units = {{"compute", "compute", "auto"}, {"rt", "rt", "auto"}, {"rt:paper", "rt", "paper"}},
		.unit_count = 3,
		.query_mask = (1u << RQL_SSB_QUERIES) - 1,
		.seed = 42,
		.runs = 15,
		.rivals = true,
		.check = true,
	};
	struct session s = {.options = &options};
	struct rql_error err = {0};
	rql_status status = RQL_ERROR_MEMORY;
	bool help_wanted = false;
	if (!parse(&args, &options, &help_wanted)) {
		free(options.directory);
		return 2;
	}
	if (help_wanted) {
		fputs(help, stdout);
		free(options.directory);
		return 0;
	}
	if (!options.directory)
		options.directory = rql_option_directory();
	s.runs = calloc(options.scale_count, sizeof *s.runs);
	if (!s.runs || !options.directory)
		(void)rql_error_memory(&err, sizeof *s.runs, "the results");
	else
		status = run_session(&s, &err);
	if (status != RQL_OK)
		fprintf(stderr, "rayql bench: %s\n", rql_error_message(&err));
	else if (s.different)
		fprintf(stderr, "rayql bench: %u answers differ or are missing\n", s.different);
	for (uint32_t i = 0; i < s.done; i++)
		rql_flat_run_free(&s.runs[i]);
	free(s.runs);
	rql_strbuf_free(&s.devices);
	free(options.directory);
	rql_error_clear(&err);
	return status != RQL_OK || s.different ? 1 : 0;
}

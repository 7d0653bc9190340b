/* rayql bench device: options and the order of things. */
#include <stdlib.h>
#include <string.h>

#include "bench/common/json.h"
#include "bench/relation/relation_bench.h"

static const char help[] =
	"Usage: rayql bench device [options]\n"
	"\n"
	"Joins, group-bys, look-ups, sorts and partitions of columns in a device's memory, without SQL around them: device\n"
	"time by timestamps, medians after a run to warm up. Every answer is checked in full, on the device. The floor is\n"
	"all inputs read once and all outputs written once at the read bandwidth that is measured first. docs/bench.md says\n"
	"more. The exit code is 1 when an answer is wrong.\n"
	"\n"
	"  --device D          as rayql_devices() names it: vulkan:0, a UUID, a PCI address (default: the first GPU);\n"
	"                      cpu has look-ups: --only lookup\n"
	"  --only W,...        of join, group, partition, lookup, sort (default: join,group)\n"
	"  --cases TEXT        only cases whose name has this text in it\n"
	"  --forms F,...       look-ups: only these forms, as binary search,interpolation,k-ary (default: all)\n"
	"  --log2-scale N      rows and groups times 2^N, -12 to 0 (default 0)\n"
	"  --variants          other sizes of tables, workgroups and partitions beside those that are chosen\n"
	"  --runs N            runs of each, 1 to 1000 (default 5)\n"
	"  --json FILE         write all figures\n"
	"  --help              this text\n";

static void parse_only(struct rql_args *args, const char *value, struct rql_relation_options *o)
{
	if (!value)
		return;
	o->join = o->group = o->partition = o->lookup = o->sort = false;
	char *copy = strdup(value), *rest = copy;
	for (char *item; copy && (item = strsep(&rest, ",")) && !args->failed;) {
		o->join |= !strcmp(item, "join");
		o->group |= !strcmp(item, "group");
		o->partition |= !strcmp(item, "partition");
		o->lookup |= !strcmp(item, "lookup");
		o->sort |= !strcmp(item, "sort");
		if (strcmp(item, "join") && strcmp(item, "group") && strcmp(item, "partition") && strcmp(item, "lookup") &&
		    strcmp(item, "sort"))
			rql_args_error(args, "--only %s: expected some of join, group, partition, lookup, sort", value);
	}
	free(copy);
}

/* *help: nothing else is wanted. */
static bool parse(struct rql_args *args, struct rql_relation_options *o, bool *help_wanted)
{
	const char *value, *benchmark = NULL;
	for (args->at = 1; args->at < args->argc && !args->failed; args->at++) {
		if (rql_args_flag(args, "help") || rql_args_flag(args, "h"))
			return *help_wanted = true;
		if (rql_args_flag(args, "variants"))
			o->variants = true;
		else if (rql_args_value(args, "only", &value))
			parse_only(args, value, o);
		else if (rql_args_value(args, "log2-scale", &value))
			rql_args_integer(args, "log2-scale", value, -12, 0, &o->log2_scale);
		else if (rql_args_value(args, "runs", &value))
			rql_args_integer(args, "runs", value, 1, 1000, &o->runs);
		else if (!rql_args_value(args, "device", &o->device) && !rql_args_value(args, "cases", &o->cases) &&
		         !rql_args_value(args, "forms", &o->forms) && !rql_args_value(args, "json", &o->json))
			rql_args_benchmark(args, &benchmark);
	}
	return !args->failed;
}

static rql_status device_cases(struct rql_relation_bench *b, struct rql_error *err)
{
	const struct rql_relation_options *o = b->options;
	rql_status status = RQL_OK;
	if (o->partition)
		status = rql_relation_partitions(b, err);
	if (status == RQL_OK && o->join)
		status = rql_relation_joins(b, err);
	if (status == RQL_OK && o->group)
		status = rql_relation_groups(b, err);
	if (status == RQL_OK && o->lookup)
		status = rql_relation_lookups(b, err);
	if (status == RQL_OK && o->sort)
		status = rql_relation_sorts(b, err);
	return status;
}

static rql_status run_cases(struct rql_relation_bench *b, struct rql_error *err)
{
	if (b->device->kind == RQL_DEVICE_CPU) /* has no buffers */
		return b->options->run(b, err);
	rql_status status = rql_buffer_new(b->device, RQL_RELATION_RESULTS * 8, RQL_MEMORY_READBACK, "the benchmark's checks",
	                                   &b->results, err);
	if (status == RQL_OK)
		status = b->options->run(b, err);
	rql_relation_drop(b);
	rql_buffer_free(b->results);
	return status;
}

/* Also what was measured before a failure. */
static rql_status write_json(const struct rql_relation_bench *b, const struct rql_error *failed, struct rql_error *err)
{
	struct rql_machine machine;
	struct rql_strbuf text = {0};
	RQL_TRY(rql_machine_measure(0, &machine, err));
	rql_strbuf_put(&text, "{");
	rql_json_string(&text, "benchmark", b->options->benchmark);
	rql_json_string(&text, "device", b->floors.name);
	rql_json_string(&text, "driver", b->floors.driver);
	rql_json_string(&text, "date", machine.date);
	rql_json_string(&text, "cpu", machine.cpu);
	rql_json_number(&text, "read_gbps", b->floors.read_gbps);
	rql_json_number(&text, "launch_us", b->floors.launch_us);
	rql_json_number(&text, "log2_scale", (double)b->options->log2_scale);
	if (b->options->figure)
		rql_json_count(&text, "figure", (uint64_t)b->options->figure);
	rql_json_count(&text, "runs", (uint64_t)b->options->runs);
	if (b->options->tpch) {
		rql_json_string(&text, "suite", "tpch");
		rql_json_number(&text, "scale", b->options->scale);
	}
	rql_json_string(&text, "error", failed ? rql_error_message(failed) : NULL);
	if (b->figures.data) {
		rql_json_key(&text, "figures");
		rql_strbuf_put(&text, "[");
		rql_strbuf_put(&text, b->figures.data);
		rql_strbuf_put(&text, "\n]");
	}
	rql_json_key(&text, "cases");
	rql_strbuf_put(&text, "[");
	rql_strbuf_put(&text, b->json.data ? b->json.data : "");
	rql_strbuf_put(&text, "\n]}\n");
	rql_status status = rql_json_file(b->options->json, &text, err);
	rql_strbuf_free(&text);
	return status;
}

static rql_status measure_cpu(struct rql_relation_bench *b, struct rql_error *err)
{
	struct rql_machine machine;
	RQL_TRY(rql_machine_measure(0, &machine, err));
	snprintf(b->floors.name, sizeof b->floors.name, "%s", machine.cpu);
	snprintf(b->floors.driver, sizeof b->floors.driver, "%u threads", machine.threads);
	b->floors.read_gbps = machine.read_gbps;
	return RQL_OK;
}

static rql_status run(struct rql_relation_bench *b, struct rql_error *err)
{
	struct rql_devices *devices = NULL;
	RQL_TRY(rql_devices_open(0, &devices, err));
	rql_status status = RQL_ERROR_STATEMENT;
	b->devices = devices;
	b->device = rql_flat_find_device(devices, b->options->device, err);
	const bool cpu = b->device && b->device->kind == RQL_DEVICE_CPU;
	if (cpu && !b->options->cpu)
		rql_error_set(err, RQL_ERROR_STATEMENT, "device cpu is no GPU: %s",
		              strcmp(b->options->benchmark, "device") ? "this benchmark is for those"
		                                                      : "of this benchmark it has look-ups alone (--only lookup)");
	else if (cpu)
		status = measure_cpu(b, err);
	else if (b->device && !b->device->units[b->options->unit])
		rql_error_set(err, RQL_ERROR_STATEMENT, "device %s has no unit %s: it %s", b->device->id,
		              rql_unit_name(b->options->unit), b->device->missing[b->options->unit]);
	else if (b->device)
		status = rql_flat_measure_device(b->device, &b->floors, err);
	if (status == RQL_OK) {
		printf("device %s: %s, %s; an empty pass %.2f us, reads %.0f GB/s\n", b->device->id, b->floors.name,
		       b->floors.driver, b->floors.launch_us, b->floors.read_gbps);
		status = run_cases(b, err);
		if (b->options->json && b->measured) {
			rql_status written = write_json(b, status == RQL_OK ? NULL : err, err);
			status = status == RQL_OK ? written : status;
		}
	}
	rql_devices_close(devices);
	return status;
}

int rql_relation_run(const struct rql_relation_options *options)
{
	struct rql_relation_bench bench = {.options = options};
	struct rql_error err = {0};
	rql_status status = run(&bench, &err);
	if (status != RQL_OK)
		fprintf(stderr, "rayql bench: %s\n", rql_error_message(&err));
	else if (bench.wrong)
		fprintf(stderr, "rayql bench: %u answers are wrong\n", bench.wrong);
	rql_strbuf_free(&bench.json);
	rql_strbuf_free(&bench.figures);
	rql_error_clear(&err);
	return status != RQL_OK || bench.wrong ? 1 : 0;
}

int rql_relation_main(int argc, char **argv)
{
	struct rql_args args = {.argc = argc - 1, .argv = argv + 1, .program = "rayql bench device"};
	struct rql_relation_options options = {.join = true,
	                                       .group = true,
	                                       .runs = 5,
	                                       .benchmark = "device",
	                                       .run = device_cases,
	                                       .unit = RQL_UNIT_COMPUTE};
	bool help_wanted = false;
	if (!parse(&args, &options, &help_wanted))
		return 2;
	options.cpu = options.lookup && !options.join && !options.group && !options.partition && !options.sort;
	if (!help_wanted)
		return rql_relation_run(&options);
	fputs(help, stdout);
	return 0;
}

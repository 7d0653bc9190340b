/* rayql bench garuda: options, and the joins of GARUDA's figures 8 to 11 (papers/004, section 6) over keys that are made,
 * which have the shapes of the paper's. Data and checks are those of rayql bench device. */
#include <stdio.h>
#include <string.h>

#include "bench/garuda/garuda.h"
#include "util/budget.h"

#define RESIDENT_SCALE 40 /* of TPC-H: an image has a pixel for each row of lineitem, and a group-by up to 2^26 groups */

static const char help[] =
	"Usage: rayql bench garuda [options]\n"
	"\n"
	"Joins and group-bys of the GARUDA paper's figures 8 to 13 in a device's memory: hash images on the graphics pipeline,\n"
	"and compute beside them. Device time by timestamps, medians after a run to warm up; every pair is checked on the device.\n"
	"docs/bench.md says more. The exit code is 1 when an answer is wrong.\n"
	"\n"
	"  --device D          as rayql_devices() names it: vulkan:0, a UUID, a PCI address (default: the first GPU)\n"
	"  --figure N,...      8 to 11: joins (default 8); 12, 13: group-bys; 8..13: all of them\n"
	"  --suite tpch        the paper's queries on TPC-H's tables (figures 8, 9, 11 to 13), checked against DuckDB and beside it;\n"
	"                      figure 10 and JO5 have keys of their own; with --host: JO1 to JO4, or with --groups the group-bys\n"
	"  --sf N              its scale factor, 0.001 to 40, with --host to 100 (default 1)\n"
	"  --data DIR          the folder with its TABLE.parquet (default: where script/tpch-data puts that scale)\n"
	"  --host              a join of 2^N rows a side from the host's memory to the host's memory instead\n"
	"  --groups            with it: group-bys of 2^N rows, by compute, by hash images and by the CPU\n"
	"  --duckdb            beside them DuckDB, on rows of the same shape\n"
	"  --device-limit S    with it: bytes of a device's memory ('8GB'): more is partitioned on the CPU (default: all)\n"
	"  --host-limit S      bytes of partitions in the host's memory; what goes beyond lies in a file (default: any)\n"
	"  --temp FOLDER       where that file is (default: TMPDIR, or /tmp)\n"
	"  --devices N         the first N GPUs of the device's name, each of which takes partitions (default 1)\n"
	"  --staged            rows lie in memory that no device reaches, and are copied on the way (so with --devices)\n"
	"  --log2-rows N       rows of the probe side, or of the group-by, 10 to 27, with --host to 30 (default 22)\n"
	"  --cases TEXT        only cases whose name has this text in it\n"
	"  --runs N            runs of each, 1 to 1000 (default 5)\n"
	"  --json FILE         write all figures\n"
	"  --help              this text\n";

static const struct shape {
	uint32_t figure, also; /* figures that have it; 0: no second one */
	const char *name;
	uint32_t log2_ratio; /* probe rows a build row */
	uint32_t log2_dups;  /* of a key in the build side */
	uint32_t zipf;       /* of the probe side, twice the exponent: 0 (uniform), 1 or 2 */
	bool self;           /* a self-join of keys with Zipf 0.5: both sides have the same rows */
	bool swapped;        /* the stack is built on the probe side */
} shapes[] = {
	{8, 9, "unique keys", .log2_ratio = 0},
	{8, 9, "JO1's shape (1:8)", .log2_ratio = 3},
	{8, 9, "JO2's shape (1:32)", .log2_ratio = 5},
	{8, 9, "JO3's shape (1:8, 4 a key)", .log2_ratio = 3, .log2_dups = 2},
	{8, 9, "JO4's shape (1:4)", .log2_ratio = 2},
	{10, 0, "100 % come out", .log2_dups = 0},
	{10, 0, "200 % come out", .log2_dups = 1},
	{10, 0, "400 % come out", .log2_dups = 2},
	{10, 0, "800 % come out", .log2_dups = 3},
	{10, 0, "1600 % come out", .log2_dups = 4},
	{10, 0, "Zipf 0.5 on the probe side", .zipf = 1},
	{10, 0, "Zipf 1.0 on the probe side", .zipf = 2},
	{10, 0, "Zipf 0.5 on both sides, a self-join", .self = true},
	{10, 0, "128 a key, more than layers", .log2_ratio = 3, .log2_dups = 7},
	{11, 0, "JO3's shape, built on the small side", .log2_ratio = 3, .log2_dups = 2},
	{11, 0, "JO3's shape, built on the large side", .log2_ratio = 3, .log2_dups = 2, .swapped = true},
};

/* Keys of both sides; how many pairs there are, and the sum of their mixes. */
static rql_status make_keys(struct rql_relation_bench *b, const struct shape *s, struct rql_garuda_join *join,
                            struct rql_error *err)
{
	uint32_t log2_probe = (uint32_t)b->options->log2_rows;
	uint32_t log2_build = log2_probe > s->log2_ratio + s->log2_dups ? log2_probe - s->log2_ratio : s->log2_dups + 1;
	struct rql_relation_bench_args *args = &join->data;
	*args = (struct rql_relation_bench_args){.log2_rows = log2_probe,
	                                         .log2_build = log2_build,
	                                         .log2_distinct = log2_build - s->log2_dups,
	                                         .log2_range = log2_build - s->log2_dups,
	                                         .zipf = s->zipf,
	                                         .flags = s->self ? RQL_BENCH_ZIPF_BUILD : 0};
	for (int side = 0; side < 2; side++) {
		join->rows[side] = args->rows = UINT64_C(1) << (side ? log2_probe : log2_build);
		RQL_TRY(rql_relation_buffer(b, args->rows * 4, &join->keys[side].buffer, err));
		args->keys = join->keys[side].buffer->address;
		RQL_TRY(rql_relation_data(b, side && !s->self ? RQL_BENCH_MAKE_PROBE : RQL_BENCH_MAKE_BUILD, args, err));
	}
	memset(rql_relation_results(b), 0, RQL_RELATION_RESULTS * 8);
	RQL_TRY(rql_relation_data(b, RQL_BENCH_JOIN_SUM, args, err));
	join->distinct = UINT64_C(1) << args->log2_distinct;
	join->pairs = rql_relation_results(b)[0];
	join->sum = rql_relation_results(b)[1];
	join->kernel = RQL_BENCH_PAIR_CHECK;
	return RQL_OK;
}

/* Of figure 11 the paper's partitions, which a snake join builds on either side: once, whatever the other order is. */
static uint32_t ways_of(const struct shape *s)
{
	if (s->figure != 11)
		return 1u << RQL_GARUDA_STACK | 1u << RQL_GARUDA_DENSE;
	return 1u << RQL_GARUDA_PARTS | (s->swapped ? 0 : 1u << RQL_GARUDA_SNAKE);
}

static rql_status run_joins(struct rql_relation_bench *b, struct rql_error *err)
{
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
		const struct shape *s = &shapes[i];
		struct rql_garuda_join join = {.swapped = s->swapped, .ways = ways_of(s)};
		if ((s->figure != b->figure && s->also != b->figure) || !rql_relation_wanted(b, s->name))
			continue;
		snprintf(join.name, sizeof(join.name), "%s", s->name);
		rql_status status = make_keys(b, s, &join, err);
		if (status == RQL_OK)
			status = rql_garuda_join_measure(b, &join, err);
		rql_relation_drop(b);
		RQL_TRY(status);
	}
	if (b->figure == 10)
		return rql_garuda_skew(b, err);
	return b->figure == 11 ? rql_garuda_snake(b, err) : RQL_OK;
}

/* TPC-H has figures of its own but for 10, and JO5, whose keys are made. */
static rql_status run_figure(struct rql_relation_bench *b, struct rql_garuda_tpch *tpch, uint32_t figure,
                             struct rql_error *err)
{
	rql_garuda_figure_begin(b, figure);
	if (!tpch || figure == 10)
		return figure < 12 ? run_joins(b, err) : rql_garuda_groups(b, err);
	RQL_TRY(rql_garuda_tpch_figure(tpch, figure, err));
	return figure == 11 ? rql_garuda_snake(b, err) : RQL_OK;
}

static rql_status run_figures(struct rql_relation_bench *b, struct rql_garuda_tpch *tpch, struct rql_error *err)
{
	for (uint32_t figure = RQL_GARUDA_FIRST; figure <= RQL_GARUDA_LAST; figure++)
		if (b->options->figures >> figure & 1)
			RQL_TRY(run_figure(b, tpch, figure, err));
	return RQL_OK;
}

static rql_status run_host(struct rql_relation_bench *b, struct rql_garuda_tpch *tpch, struct rql_error *err)
{
	if (tpch)
		return rql_garuda_tpch_host(tpch, err);
	return b->options->groups ? rql_garuda_host_groups(b, err) : rql_garuda_host(b, NULL, err);
}

static rql_status run_cases(struct rql_relation_bench *b, struct rql_error *err)
{
	const struct rql_relation_options *o = b->options;
	struct rql_garuda_tpch *tpch = NULL;
	if (o->tpch)
		RQL_TRY(rql_garuda_tpch_open(b, &tpch, err));
	rql_status status = o->host ? run_host(b, tpch, err) : run_figures(b, tpch, err);
	rql_garuda_tpch_close(tpch);
	if (status == RQL_OK && !b->measured)
		status = rql_error_set(err, RQL_ERROR_STATEMENT, "no case has \"%s\" in its name", o->cases);
	return status;
}

static void parse_size(struct rql_args *args, const char *name, const char *value, uint64_t *out)
{
	if (!rql_parse_bytes(value, out) || !*out)
		rql_args_error(args, "--%s %s: expected a size such as 8GB", name, value);
}

static void parse_suite(struct rql_args *args, const char *value, struct rql_relation_options *o)
{
	o->tpch = value && strcmp(value, "tpch") == 0;
	if (value && !o->tpch)
		rql_args_error(args, "--suite %s: expected tpch; without it keys are made", value);
}

static void parse_figures(struct rql_args *args, const char *value, uint32_t *out)
{
	if (value && !rql_garuda_figures_parse(value, out))
		rql_args_error(args, "--figure %s: expected figures from 8 to 13, such as 10, 8,10 or 8..13", value);
}

/* false: not an option with a value */
static bool parse_value(struct rql_args *args, struct rql_relation_options *o)
{
	const char *value;
	if (rql_args_value(args, "figure", &value))
		parse_figures(args, value, &o->figures);
	else if (rql_args_value(args, "suite", &value))
		parse_suite(args, value, o);
	else if (rql_args_value(args, "sf", &value))
		rql_args_double(args, "sf", value, 0.001, 100, &o->scale);
	else if (rql_args_value(args, "log2-rows", &value))
		rql_args_integer(args, "log2-rows", value, 10, 30, &o->log2_rows);
	else if (rql_args_value(args, "devices", &value))
		rql_args_integer(args, "devices", value, 1, RQL_DEVICES_MAX - 1, &o->devices);
	else if (rql_args_value(args, "device-limit", &value))
		parse_size(args, "device-limit", value, &o->device_limit);
	else if (rql_args_value(args, "host-limit", &value))
		parse_size(args, "host-limit", value, &o->host_limit);
	else if (rql_args_value(args, "runs", &value))
		rql_args_integer(args, "runs", value, 1, 1000, &o->runs);
	else
		return rql_args_value(args, "device", &o->device) || rql_args_value(args, "cases", &o->cases) ||
		       rql_args_value(args, "json", &o->json) || rql_args_value(args, "temp", &o->folder) ||
		       rql_args_value(args, "data", &o->data);
	return true;
}

/* What options need of each other. */
static void settle(struct rql_args *args, struct rql_relation_options *o)
{
	if (args->failed)
		return;
	if (!o->tpch && (o->scale || o->data))
		rql_args_error(args, "--sf and --data take --suite tpch");
	else if (!o->host && (o->groups || o->duckdb))
		rql_args_error(args, "--groups and --duckdb take --host");
	else if (!o->host && o->log2_rows > 27)
		rql_args_error(args, "--log2-rows %lld takes --host; without it 27 is the most", (long long)o->log2_rows);
	else if (!o->host && o->scale > RESIDENT_SCALE)
		rql_args_error(args, "--sf %g takes --host; without it %u is the most", o->scale, RESIDENT_SCALE);
	o->scale = o->scale ? o->scale : 1;
	o->unit = o->host ? RQL_UNIT_COMPUTE : RQL_UNIT_RASTER;
}

int rql_garuda_main(int argc, char **argv)
{
	struct rql_args args = {.argc = argc - 1, .argv = argv + 1, .program = "rayql bench garuda"};
	struct rql_relation_options o = {.runs = 5, .figures = 1u << 8, .log2_rows = 22, .devices = 1,
	                                 .benchmark = "garuda", .run = run_cases};
	const char *benchmark = NULL;
	for (args.at = 1; args.at < args.argc && !args.failed; args.at++) {
		if (rql_args_flag(&args, "help") || rql_args_flag(&args, "h")) {
			fputs(help, stdout);
			return 0;
		}
		if (rql_args_flag(&args, "host"))
			o.host = true;
		else if (rql_args_flag(&args, "groups"))
			o.groups = true;
		else if (rql_args_flag(&args, "duckdb"))
			o.duckdb = true;
		else if (rql_args_flag(&args, "staged"))
			o.staged = true;
		else if (!parse_value(&args, &o))
			rql_args_benchmark(&args, &benchmark);
	}
	settle(&args, &o);
	return args.failed ? 2 : rql_relation_run(&o);
}

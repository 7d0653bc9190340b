/* rayql bench garuda: the joins of GARUDA's figures 8 to 11 (papers/004, section 6) on one partition in a device's memory,
 * by hash images and by compute; figures 12 and 13 are in garuda_group.c. Data and checks are those of rayql bench
 * device. */
#include <stdio.h>
#include <string.h>

#include "garuda.h"
#include "json.h"
#include "primitive/raster/raster.h"
#include "util/budget.h"

static const char help[] =
	"Usage: rayql bench garuda [options]\n"
	"\n"
	"Joins and group-bys of the GARUDA paper's figures 8 to 13 in a device's memory: hash images on the graphics pipeline,\n"
	"and compute beside them. Device time by timestamps, medians after a run to warm up; every pair is checked on the device.\n"
	"docs/bench.md says more. The exit code is 1 when an answer is wrong.\n"
	"\n"
	"  --device D          as rayql_devices() names it: vulkan:0, a UUID, a PCI address (default: the first GPU)\n"
	"  --figure N,...      8 to 11: joins (default 8); 12, 13: group-bys; 8..13: all of them\n"
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

#define LAYERS 12u
#define LAYERS_A_ROW 6u /* of a key */

/* How the build rows are kept, and how probe rows meet them. */
enum way {
	STACK, /* layers, an instance of the probe rows for each (3.1 to 3.3); what they do not hold is flattened */
	DENSE, /* all in one dense image, down whose pixels a probe row walks (3.4.4) */
	WAYS
};

struct garuda_case {
	struct rql_relation_case base;
	struct rql_relation_bench_args data;
	bool swapped;
	enum way way;
	struct rql_raster_join raster;
	struct rql_join rival;
	uint64_t rows, sum;
	struct rql_raster_points points;
};

/* Keys of both sides; how many pairs there are, and the sum of their mixes. */
static rql_status make_keys(struct rql_relation_bench *b, const struct shape *s, struct garuda_case *one,
                            struct rql_span keys[2], struct rql_error *err)
{
	uint32_t log2_probe = (uint32_t)b->options->log2_rows;
	uint32_t log2_build = log2_probe > s->log2_ratio + s->log2_dups ? log2_probe - s->log2_ratio : s->log2_dups + 1;
	struct rql_relation_bench_args args = {.log2_rows = log2_probe,
	                                       .log2_build = log2_build,
	                                       .log2_distinct = log2_build - s->log2_dups,
	                                       .log2_range = log2_build - s->log2_dups,
	                                       .zipf = s->zipf,
	                                       .flags = s->self ? RQL_BENCH_ZIPF_BUILD : 0};
	for (int side = 0; side < 2; side++) {
		args.rows = UINT64_C(1) << (side ? log2_probe : log2_build);
		RQL_TRY(rql_relation_buffer(b, args.rows * 4, &keys[side].buffer, err));
		args.keys = keys[side].buffer->address;
		RQL_TRY(rql_relation_data(b, side && !s->self ? RQL_BENCH_MAKE_PROBE : RQL_BENCH_MAKE_BUILD, &args, err));
	}
	memset(rql_relation_results(b), 0, RQL_RELATION_RESULTS * 8);
	RQL_TRY(rql_relation_data(b, RQL_BENCH_JOIN_SUM, &args, err));
	one->rows = rql_relation_results(b)[0];
	one->sum = rql_relation_results(b)[1];
	one->data = args;
	return RQL_OK;
}

/* Rows a key of the side that is built, and its distinct keys. Instances want few layers, so pixels are 4 to 8 times the
 * keys; a walk takes what lies at a pixel, so 1 to 2 times do, and there is less to clear. */
static void choose_stack(const struct shape *s, struct garuda_case *one)
{
	uint32_t log2_rows = s->swapped ? one->data.log2_rows : one->data.log2_build;
	uint32_t log2_a_key = log2_rows - one->data.log2_distinct;
	uint32_t side = (one->data.log2_distinct + (one->way == DENSE ? 1 : 3)) / 2;
	uint32_t layers = log2_a_key ? LAYERS_A_ROW << log2_a_key : LAYERS;
	one->raster.log2_side = side < 14 ? side : 14;
	one->raster.layers = log2_a_key < 4 && layers < RQL_RASTER_LAYERS ? layers : RQL_RASTER_LAYERS;
	one->raster.cycles = one->way == DENSE ? 0 : 1;
}

/* Output, for both ways. */
static rql_status make_output(struct rql_relation_bench *b, const struct shape *s, struct garuda_case *one,
                              const struct rql_span keys[2], struct rql_error *err)
{
	struct rql_raster_join *j = &one->raster;
	j->key_bits = 32;
	j->build.keys = keys[s->swapped];
	j->build.count = UINT64_C(1) << (s->swapped ? one->data.log2_rows : one->data.log2_build);
	j->probe.keys = keys[!s->swapped];
	j->probe.count = UINT64_C(1) << (s->swapped ? one->data.log2_build : one->data.log2_rows);
	j->capacity = one->rows;
	RQL_TRY(rql_relation_buffer(b, j->capacity * 4, &j->build_rows.buffer, err));
	RQL_TRY(rql_relation_buffer(b, j->capacity * 4, &j->probe_rows.buffer, err));
	RQL_TRY(rql_relation_buffer(b, 8, &j->rows.buffer, err));
	RQL_TRY(rql_relation_buffer(b, sizeof(one->points), &j->points.buffer, err));
	one->base.floor_bytes = 4.0 * (double)(j->build.count + j->probe.count) + 8.0 * (double)one->rows;
	return RQL_OK;
}

static rql_status make_stack(struct rql_relation_bench *b, const struct shape *s, struct garuda_case *one,
                             struct rql_error *err)
{
	struct rql_raster_join *j = &one->raster;
	struct rql_image_spec specs[RQL_RASTER_JOIN_IMAGES];
	choose_stack(s, one);
	one->base.scratch_bytes = rql_raster_join_temp_bytes(j);
	RQL_TRY(rql_relation_buffer(b, one->base.scratch_bytes, &j->temp.buffer, err));
	rql_raster_join_images(j, specs);
	one->base.scratch_bytes += rql_raster_images_bytes(specs, RQL_RASTER_JOIN_IMAGES);
	return rql_raster_images_new(b->device, specs, RQL_RASTER_JOIN_IMAGES, "the benchmark's hash images", j->images, err);
}

/* The join of relation.h over the same sides, as pairs. */
static rql_status make_compute(struct rql_relation_bench *b, struct garuda_case *one, struct rql_error *err)
{
	struct rql_join *join = &one->rival;
	join->kind = RQL_JOIN_INNER;
	join->key_bits = 32;
	join->capacity = one->rows;
	join->build = (struct rql_join_side){.count = one->raster.build.count, .keys = one->raster.build.keys,
	                                     .column_count = 1};
	join->probe = (struct rql_join_side){.count = one->raster.probe.count, .keys = one->raster.probe.keys,
	                                     .column_count = 1};
	join->build.columns[0].bits = join->probe.columns[0].bits = 32;
	RQL_TRY(rql_relation_buffer(b, join->capacity * 4, &join->build.columns[0].out.buffer, err));
	RQL_TRY(rql_relation_buffer(b, join->capacity * 4, &join->probe.columns[0].out.buffer, err));
	RQL_TRY(rql_relation_buffer(b, 8, &join->rows.buffer, err));
	return rql_relation_buffer(b, rql_join_temp_bytes(join), &join->temp.buffer, err);
}

/* ---- measuring ---- */

static rql_status record_raster(struct rql_relation_case *base, struct rql_commands *c, struct rql_error *err)
{
	return rql_record_raster_join(c, &((struct garuda_case *)base->state)->raster, err);
}

static rql_status record_rival(struct rql_relation_case *base, struct rql_commands *c, struct rql_error *err)
{
	return rql_record_join(c, &((struct garuda_case *)base->state)->rival, err);
}

/* Checks one list of pairs and adds to the results; *rows: how many there are. Its number must not pass for the next
 * run's. */
static rql_status check_pairs(struct rql_relation_bench *b, const struct garuda_case *one, struct rql_span number,
                              struct rql_span build_rows, struct rql_span probe_rows, uint64_t *rows,
                              struct rql_error *err)
{
	struct rql_relation_bench_args args = one->data;
	RQL_TRY(rql_buffer_download(number.buffer, 0, rows, 8, err));
	RQL_TRY(rql_relation_fill(b, number.buffer, 0, 8, UINT32_MAX, err));
	if (*rows == 0 || *rows > one->rows)
		return RQL_OK;
	args.rows = *rows;
	args.column[0] = (one->swapped ? probe_rows : build_rows).buffer->address;
	args.column[2] = (one->swapped ? build_rows : probe_rows).buffer->address;
	return rql_relation_data(b, RQL_BENCH_PAIR_CHECK, &args, err);
}

static bool is_right(const struct rql_relation_bench *b, const struct garuda_case *one, uint64_t rows)
{
	return rows == one->rows && rql_relation_results(b)[2] == 0 && rql_relation_results(b)[3] == one->sum;
}

static rql_status check_raster(struct rql_relation_bench *b, struct rql_relation_case *base, bool *good,
                               struct rql_error *err)
{
	struct garuda_case *one = base->state;
	const struct rql_raster_join *j = &one->raster;
	uint64_t rows;
	memset(rql_relation_results(b), 0, RQL_RELATION_RESULTS * 8);
	RQL_TRY(check_pairs(b, one, j->rows, j->build_rows, j->probe_rows, &rows, err));
	RQL_TRY(rql_buffer_download(j->points.buffer, 0, &one->points, sizeof(one->points), err));
	*good = is_right(b, one, rows) && !one->points.failed;
	return RQL_OK;
}

static rql_status check_rival(struct rql_relation_bench *b, struct rql_relation_case *base, bool *good,
                              struct rql_error *err)
{
	struct garuda_case *one = base->state;
	const struct rql_join *j = &one->rival;
	uint64_t rows;
	memset(rql_relation_results(b), 0, RQL_RELATION_RESULTS * 8);
	RQL_TRY(check_pairs(b, one, j->rows, j->build.columns[0].out, j->probe.columns[0].out, &rows, err));
	*good = is_right(b, one, rows);
	return RQL_OK;
}

static void report_points(struct rql_relation_bench *b, const struct garuda_case *one)
{
	double rows = (double)(one->raster.build.count + one->raster.probe.count);
	uint64_t points = one->points.statistics + one->points.build + one->points.count + one->points.probe;
	printf("%-44s points %llu + %llu + %llu + %llu (%.2f a row), %llu layers in use%s\n", one->base.name,
	       (unsigned long long)one->points.statistics, (unsigned long long)one->points.build,
	       (unsigned long long)one->points.count, (unsigned long long)one->points.probe, (double)points / rows,
	       (unsigned long long)one->points.layers, one->points.flattened ? ", flattened" : "");
	struct rql_strbuf *j = &b->json;
	rql_strbuf_put(j, ",\n  {");
	rql_json_count(j, "figure", b->figure);
	rql_json_string(j, "case", one->base.name);
	rql_json_string(j, "variant", "points of hash images");
	rql_json_count(j, "statistics", one->points.statistics);
	rql_json_count(j, "build", one->points.build);
	rql_json_count(j, "count", one->points.count);
	rql_json_count(j, "probe", one->points.probe);
	rql_json_count(j, "layers", one->points.layers);
	rql_json_count(j, "flattened", one->points.flattened);
	rql_json_count(j, "pairs", one->rows);
	rql_strbuf_put(j, "}");
}

static rql_status measure(struct rql_relation_bench *b, const struct shape *s, struct garuda_case *one,
                          struct rql_error *err)
{
	static const struct rql_relation_variant ways[] = {[STACK] = {.name = "hash images, a stack"},
	                                                   [DENSE] = {.name = "hash images, dense"}};
	static const struct rql_relation_variant compute = {.name = "compute"};
	struct rql_span keys[2] = {{0}, {0}};
	RQL_TRY(make_keys(b, s, one, keys, err));
	RQL_TRY(make_output(b, s, one, keys, err));
	for (one->way = STACK; one->way < WAYS; one->way++) {
		const uint32_t kept = b->buffer_count;
		one->base.record = record_raster;
		one->base.check = check_raster;
		RQL_TRY(make_stack(b, s, one, err));
		RQL_TRY(rql_relation_measure(b, &one->base, &ways[one->way], err));
		report_points(b, one);
		rql_raster_images_free(one->raster.images, RQL_RASTER_JOIN_IMAGES);
		rql_relation_drop_to(b, kept);
	}
	/* The rival builds on the same side. */
	RQL_TRY(make_compute(b, one, err));
	one->base.scratch_bytes = rql_join_temp_bytes(&one->rival);
	one->base.record = record_rival;
	one->base.check = check_rival;
	return rql_relation_measure(b, &one->base, &compute, err);
}

static rql_status run_joins(struct rql_relation_bench *b, struct rql_error *err)
{
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
		const struct shape *s = &shapes[i];
		struct garuda_case one = {.swapped = s->swapped};
		if ((s->figure != b->figure && s->also != b->figure) || !rql_relation_wanted(b, s->name))
			continue;
		snprintf(one.base.name, sizeof(one.base.name), "%s", s->name);
		one.base.state = &one;
		rql_status status = measure(b, s, &one, err);
		rql_raster_images_free(one.raster.images, RQL_RASTER_JOIN_IMAGES);
		rql_relation_drop(b);
		RQL_TRY(status);
	}
	return RQL_OK;
}

static rql_status run_cases(struct rql_relation_bench *b, struct rql_error *err)
{
	if (b->options->host)
		return b->options->groups ? rql_garuda_host_groups(b, err) : rql_garuda_host(b, err);
	for (uint32_t figure = RQL_GARUDA_FIRST; figure <= RQL_GARUDA_LAST; figure++) {
		if (!(b->options->figures >> figure & 1))
			continue;
		rql_garuda_figure_begin(b, figure);
		RQL_TRY(figure < 12 ? run_joins(b, err) : rql_garuda_groups(b, err));
	}
	return RQL_OK;
}

static void parse_size(struct rql_args *args, const char *name, const char *value, uint64_t *out)
{
	if (!rql_parse_bytes(value, out) || !*out)
		rql_args_error(args, "--%s %s: expected a size such as 8GB", name, value);
}

static void parse_figures(struct rql_args *args, const char *value, uint32_t *out)
{
	if (value && !rql_garuda_figures_parse(value, out))
		rql_args_error(args, "--figure %s: expected figures from 8 to 13, such as 10, 8,10 or 8..13", value);
}

int rql_garuda_main(int argc, char **argv)
{
	struct rql_args args = {.argc = argc - 1, .argv = argv + 1, .program = "rayql bench garuda"};
	struct rql_relation_options o = {.runs = 5, .figures = 1u << 8, .log2_rows = 22, .devices = 1,
	                                 .benchmark = "garuda", .run = run_cases, .unit = RQL_UNIT_RASTER};
	const char *value, *benchmark = NULL;
	for (args.at = 1; args.at < args.argc && !args.failed; args.at++) {
		if (rql_args_flag(&args, "help") || rql_args_flag(&args, "h")) {
			fputs(help, stdout);
			return 0;
		}
		if (rql_args_value(&args, "figure", &value))
			parse_figures(&args, value, &o.figures);
		else if (rql_args_flag(&args, "host"))
			o.host = true;
		else if (rql_args_flag(&args, "groups"))
			o.groups = true;
		else if (rql_args_flag(&args, "duckdb"))
			o.duckdb = true;
		else if (rql_args_value(&args, "log2-rows", &value))
			rql_args_integer(&args, "log2-rows", value, 10, 30, &o.log2_rows);
		else if (rql_args_value(&args, "devices", &value))
			rql_args_integer(&args, "devices", value, 1, RQL_DEVICES_MAX - 1, &o.devices);
		else if (rql_args_flag(&args, "staged"))
			o.staged = true;
		else if (rql_args_value(&args, "device-limit", &value))
			parse_size(&args, "device-limit", value, &o.device_limit);
		else if (rql_args_value(&args, "host-limit", &value))
			parse_size(&args, "host-limit", value, &o.host_limit);
		else if (rql_args_value(&args, "runs", &value))
			rql_args_integer(&args, "runs", value, 1, 1000, &o.runs);
		else if (!rql_args_value(&args, "device", &o.device) && !rql_args_value(&args, "cases", &o.cases) &&
		         !rql_args_value(&args, "json", &o.json) && !rql_args_value(&args, "temp", &o.folder))
			rql_args_benchmark(&args, &benchmark);
	}
	if (!args.failed && !o.host && o.log2_rows > 27) {
		fprintf(stderr, "rayql bench garuda: --log2-rows %lld takes --host; without it 27 is the most\n",
		        (long long)o.log2_rows);
		return 2;
	}
	if (!args.failed && !o.host && (o.groups || o.duckdb)) {
		fputs("rayql bench garuda: --groups and --duckdb take --host\n", stderr);
		return 2;
	}
	o.unit = o.host ? RQL_UNIT_COMPUTE : RQL_UNIT_RASTER;
	return args.failed ? 2 : rql_relation_run(&o);
}

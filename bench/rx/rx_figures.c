/* rayql bench rx: the experiments of the RTIndeX paper (papers/003): its design choices (figures 3 to 9, tables 3 and 4) and
 * sections 4.2 to 4.10 (figures 10 to 18), with rivals on compute beside them. */
#include <stdio.h>

#include "bench/rx/rx.h"

static const char help[] =
	"Usage: rayql bench rx [options]\n"
	"\n"
	"Look-ups of keys by rays, as in the experiments of the RTIndeX paper: RX in its forms, cgRX, and look-ups in\n"
	"sorted keys by compute. Device time by timestamps, medians after a run to warm up; every answer is checked on the device.\n"
	"docs/bench.md says more. The exit code is 1 when an answer is wrong.\n"
	"\n"
	"  --device D          as rayql_devices() names it: vulkan:0, a UUID, a PCI address (default: the first GPU);\n"
	"                      cpu has the forms that cast no rays\n"
	"  --figure N          3, 6 to 18; 3: key modes, 6: rays of points, 7: primitives, 8, 9: cuts of the key's bits, 4: updates\n"
	"                      (table 4; cgRX in nodes), 5: origins of ranges (table 3), 10 to 18: sections 4.2 to 4.10 (default 10)\n"
	"  --log2-scale N      keys and probes times 2^N, -20 to 0 (default 0: 2^26 keys, 2^27 probes)\n"
	"  --cases TEXT        only cases whose name has this text in it\n"
	"  --forms F,...       only these forms, as RX,interpolation,k-ary (default: all)\n"
	"  --runs N            runs of each, 1 to 1000 (default 5)\n"
	"  --json FILE         write all figures\n"
	"  --help              this text\n";

#define POINTS .ray = RQL_KEY_PERPENDICULAR
static const struct rql_rx_form
	rx = {.name = "RX", POINTS},
	rx_first = {.name = "RX, first hit", POINTS, .hits = RQL_RX_FIRST},
	rx_fast = {.name = "RX, built fast", POINTS, .aim = RQL_ACCEL_FAST_BUILD},
	rx_loose = {.name = "RX, not compacted", POINTS, .loose = true},
	rx_boxes = {.name = "RX, boxes", POINTS, .primitive = RQL_RX_BOXES},
	rx_spheres = {.name = "RX, spheres", POINTS, .primitive = RQL_RX_SPHERES},
	rx_offset = {.name = "RX, parallel from offset", .ray = RQL_KEY_OFFSET},
	rx_zero = {.name = "RX, parallel from zero", .ray = RQL_KEY_ZERO},
	rx_extended = {.name = "RX, extended", POINTS, .stride = 6},
	rx_scaled = {.name = "RX, x as long as y", POINTS, .scaled = true},
	rx_unordered = {.name = "RX, keys as they come", POINTS, .unordered = true},
	rx_refit = {.name = "RX, refitted", POINTS, .refit = true, .loose = true},
	cgrx_5 = {.name = "cgRX, buckets of 32", .kind = RQL_RX_KIND_CGRX, .log2_bucket = 5},
	cgrx_drop = {.name = "cgRX, 32, low bits dropped", .kind = RQL_RX_KIND_CGRX, .log2_bucket = 5, .drop = true},
	cgrx_5_run = {.name = "cgRX, 32, runs of 32", .kind = RQL_RX_KIND_CGRX, .log2_bucket = 5, .run = 32},
	cgrx_8 = {.name = "cgRX, buckets of 256", .kind = RQL_RX_KIND_CGRX, .log2_bucket = 8},
	cgrx_nodes = {.name = "cgRX, 16 in nodes of 32", .kind = RQL_RX_KIND_CGRX, .log2_bucket = 4, .log2_node = 5},
	cgrx_anew = {.name = "cgRX in nodes, built anew", .kind = RQL_RX_KIND_CGRX, .log2_bucket = 4, .log2_node = 5,
	             .anew = true},
	rx_run = {.name = "RX, sorted keys, runs of 32", .kind = RQL_RX_KIND_CGRX, .run = 32},
	hash = {.name = "hash", .kind = RQL_RX_KIND_MAP, .hashed = true},
	sorted = {.name = "sorted array", .kind = RQL_RX_KIND_MAP},
	radix = {.name = "sorted, directory", .kind = RQL_RX_KIND_MAP, .directory = true},
	interpolation = {.name = "interpolation", .kind = RQL_RX_KIND_MAP, .interpolation = true},
	kary = {.name = "k-ary", .kind = RQL_RX_KIND_MAP, .kary = true},
	tree = {.name = "B+ tree", .kind = RQL_RX_KIND_MAP, .tree = true};
/* Figure 8's and 9's cuts of 26 bits: x, y, z. */
static const struct rql_rx_form
	cut_22_4 = {.name = "RX, 22 + 4 + 0", POINTS, .bits = {22, 4, 22}},
	cut_13_13 = {.name = "RX, 13 + 13 + 0", POINTS, .bits = {13, 13, 22}},
	cut_4_22 = {.name = "RX, 4 + 22 + 0", POINTS, .bits = {4, 22, 22}},
	cut_9_9 = {.name = "RX, 9 + 9 + 8", POINTS, .bits = {9, 9, 22}},
	cut_13_0_13 = {.name = "RX, 13 + 0 + 13", POINTS, .bits = {13, 0, 22}},
	cut_4_0_22 = {.name = "RX, 4 + 0 + 22", POINTS, .bits = {4, 0, 22}},
	cut_22_0_4 = {.name = "RX, 22 + 0 + 4", POINTS, .bits = {22, 0, 22}};

#define LIST(name, ...) static const struct rql_rx_form *const name[] = {__VA_ARGS__, NULL}
#define SEARCHED &sorted, &interpolation, &kary, &radix, &tree
LIST(all_points, &rx, &rx_first, &rx_boxes, &cgrx_5, &cgrx_8, SEARCHED, &hash);
LIST(all_parts, &rx, &rx_first, &rx_fast, &rx_boxes, &rx_scaled, &cgrx_5, &cgrx_8, SEARCHED, &hash);
LIST(all_sorted, &rx, &rx_first, &rx_boxes, &rx_run, &cgrx_5, &cgrx_5_run, &cgrx_8, SEARCHED, &hash);
LIST(some, &rx, &cgrx_5, SEARCHED, &hash);
LIST(some_sorted, &rx, &cgrx_5_run, SEARCHED, &hash);
LIST(sparse, &rx, &cgrx_5, &cgrx_drop, SEARCHED, &hash);
LIST(modes, &rx, &rx_extended);
LIST(rays, &rx, &rx_offset, &rx_zero);
LIST(range_rays, &rx_offset, &rx_zero);
LIST(primitives, &rx, &rx_loose, &rx_fast, &rx_boxes, &rx_spheres);
LIST(cuts, &cut_22_4, &cut_13_13, &cut_4_22, &cut_9_9, &cut_13_0_13, &cut_22_0_4, &cut_4_0_22);
LIST(range_cuts, &cut_22_4, &cut_13_13, &cut_4_22);
LIST(updates, &rx_refit, &rx, &cgrx_nodes, &cgrx_anew, &cgrx_5);
LIST(added, &rx, &cgrx_nodes, &cgrx_anew, &cgrx_5);
LIST(orders, &rx_unordered, &rx, SEARCHED, &hash);
LIST(ranges, &rx_offset, &cgrx_5, &sorted, &interpolation, &radix, &tree);

#define U32 .log2_keys = 26, .log2_probes = 27, .key_bits = 32
#define U64 .log2_keys = 26, .log2_probes = 27, .key_bits = 64
#define FEW .log2_keys = 26, .log2_probes = 22, .key_bits = 32 /* ranges: 2^27 of them take RX minutes */
static const struct rql_rx_shape shapes[] = {
	{3, "2^21 keys", .log2_keys = 21, .log2_probes = 27, .key_bits = 32, .forms = modes,
	 .paper = "modes do not differ up to 2^25 keys; extended mode is far slower beyond"},
	{3, "2^22 keys", .log2_keys = 22, .log2_probes = 27, .key_bits = 32, .forms = modes},
	{3, "2^24 keys", .log2_keys = 24, .log2_probes = 27, .key_bits = 32, .forms = modes},
	{4, "16 rows change", U32, .moved = 8, .forms = updates, .paper = "38.7 ms to refit, then 68.1 ms; a rebuild 126.5"},
	{4, "256 rows change", U32, .moved = 128, .forms = updates, .paper = "38.8 ms, then 129 ms"},
	{4, "2^20 rows change", U32, .moved = 1u << 19, .forms = updates},
	{4, "1 of 1024 rows is added", U32, .added = 1024, .forms = added},
	{4, "1 of 64 rows is added", U32, .added = 64, .forms = added},
	{4, "1 of 4 rows is added", U32, .added = 4, .forms = added, .paper = "RX is built anew: 126.5 ms"},
	{5, "ranges of 1", FEW, .width = 1, .forms = range_rays, .paper = "2^27 probes: 61 ms from offset, 61 from zero"},
	{5, "ranges of 16", FEW, .width = 16, .forms = range_rays, .paper = "2^27 probes: 580 ms from offset, 1652 from zero"},
	{5, "ranges of 256", FEW, .width = 256, .forms = range_rays, .paper = "2^27: 8025 ms from offset, 10196 from zero"},
	{6, "rays of points", U32, .forms = rays, .paper = "perpendicular rays are always faster"},
	{7, "primitives", U32, .forms = primitives,
	 .paper = "triangles fastest, spheres slowest; triangles take most memory, up to half is gained by compaction"},
	{8, "cuts, points", U32, .forms = cuts, .paper = "slower with more bits for z, along which rays run"},
	{9, "cuts, ranges of 16", FEW, .width = 16, .forms = range_cuts, .paper = "faster with more bits for x"},
	{10, "2^13 probes in 2^26 keys", .log2_keys = 26, .log2_probes = 13, .key_bits = 32, .forms = some},
	{10, "2^17 probes in 2^26 keys", .log2_keys = 26, .log2_probes = 17, .key_bits = 32, .forms = some},
	{10, "2^21 probes in 2^26 keys", .log2_keys = 26, .log2_probes = 21, .key_bits = 32, .forms = some,
	 .paper = "throughput saturates here"},
	{10, "2^27 probes in 2^26 keys", U32, .forms = all_points, .paper_ms = 75.7,
	 .paper = "RX 75.7 ms, hash 40.8, B+ tree 61.3, sorted array 148; 2.78 GB, 133 ms to build"},
	{10, "2^27 probes in 2^15 keys", .log2_keys = 15, .log2_probes = 27, .key_bits = 32, .forms = some, .paper_ms = 8.7,
	 .paper = "RX 8.7 ms, the fastest up to 2^19 keys; sorted array 9.5"},
	{10, "2^27 probes in 2^20 keys", .log2_keys = 20, .log2_probes = 27, .key_bits = 32, .forms = some},
	{11, "1 row a key", U32, .uniform = 100, .forms = some},
	{11, "4 rows a key", .log2_keys = 26, .log2_probes = 25, .key_bits = 32, .uniform = 100, .log2_dups = 2,
	 .forms = some, .paper = "RX wins narrowly from more than 4 rows a key on"},
	{11, "64 rows a key", .log2_keys = 26, .log2_probes = 22, .key_bits = 32, .uniform = 100, .log2_dups = 6,
	 .forms = some},
	{11, "256 rows a key", .log2_keys = 26, .log2_probes = 20, .key_bits = 32, .uniform = 100, .log2_dups = 8,
	 .forms = some},
	{12, "neither sorted", U32, .forms = orders, .paper_ms = 75.7, .paper = "the keys' order does not matter"},
	{12, "keys sorted", U32, .ordered = true, .forms = orders},
	{12, "probes sorted", U32, .sorted = true, .forms = all_sorted, .paper_ms = 27.8,
	 .paper = "RX 22.0 ms and 5.8 to sort; hash 22.0, sorted array 10.3; answers stay in sorted order there"},
	{12, "probes partitioned", U32, .partitioned = true, .forms = all_parts,
	 .paper = "not there; our own target on an H200 is 20 ms"},
	{12, "both sorted", U32, .ordered = true, .sorted = true, .forms = some_sorted},
	{13, "1 batch", U32, .forms = some},
	{13, "2^4 batches", U32, .log2_batches = 4, .forms = some},
	{13, "2^8 batches", U32, .log2_batches = 8, .forms = some, .paper = "constant up to 2^12 batches, where RX is best"},
	{13, "2^10 batches", U32, .log2_batches = 10, .forms = some},
	{14, "all hit", U32, .uniform = 100, .forms = some},
	{14, "50 % hit", U32, .uniform = 100, .miss = 500, .forms = some, .paper = "RX beats the B+ tree and the array"},
	{14, "10 % hit", U32, .uniform = 100, .miss = 900, .forms = some, .paper = "RX beats the hash table, too"},
	{14, "none hits", U32, .uniform = 100, .miss = 1000, .forms = some, .paper_ms = 24.8,
	 .paper = "RX 24.8 ms, hash 34.3"},
	{14, "none hits, beyond all keys", U32, .miss = 1000, .forms = some,
	 .paper = "RX is faster still: it ends at the root"},
	{14, "none hits, sorted", U32, .uniform = 100, .miss = 1000, .sorted = true, .forms = some_sorted},
	{15, "64-bit keys, dense", U64, .forms = some, .paper_ms = 76.5, .paper = "RX 76.5 ms as with 32 bits, hash 49.2"},
	{15, "64-bit keys, anywhere", U64, .uniform = 100, .forms = sparse},
	{15, "64-bit keys, partitioned", U64, .uniform = 100, .partitioned = true, .forms = sparse},
	{15, "64-bit keys, sorted", U64, .uniform = 100, .sorted = true, .forms = some_sorted, .paper_ms = 44.4,
	 .paper = "RX 22.0 ms and 22.4 to sort"},
	{16, "Zipf 0.5", U32, .zipf = 0.5f, .forms = some},
	{16, "Zipf 1.0", U32, .zipf = 1.0f, .forms = some, .paper = "cache hits make all faster"},
	{16, "Zipf 1.5", U32, .zipf = 1.5f, .forms = some, .paper_ms = 6.7, .paper = "RX 6.7 ms, hash 9.4"},
	{16, "Zipf 2.0", U32, .zipf = 2.0f, .forms = some},
	{16, "80 % of the keys dense, 20 % anywhere", U32, .uniform = 20, .forms = some,
	 .paper = "keys that are skewed leave all unaffected (without a figure)"},
	{17, "ranges of 1", FEW, .width = 1, .forms = ranges},
	{17, "ranges of 16", FEW, .width = 16, .forms = ranges},
	{17, "ranges of 16, partitioned", FEW, .width = 16, .partitioned = true, .forms = ranges},
	{17, "ranges of 64", FEW, .width = 64, .forms = ranges},
	{17, "ranges of 1024", .log2_keys = 26, .log2_probes = 17, .key_bits = 32, .width = 1024, .forms = ranges,
	 .paper = "2^27 ranges: RX 36,964 ms, B+ tree 18,186, sorted array 22,004 (sorted probes: 5,130, 971, 194)"},
	{18, "unsorted", U32, .forms = some, .paper_ms = 75.7,
	 .paper = "RX 75.7 ms on an RTX 4090, 103 on a 3090, 117 on an A6000, 246 on a 2080 Ti"},
	{18, "sorted", U32, .sorted = true, .forms = some_sorted, .paper_ms = 27.8},
};

static rql_status run_cases(struct rql_relation_bench *b, struct rql_error *err)
{
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++)
		if (shapes[i].figure == b->options->figure)
			RQL_TRY(rql_rx_shape_run(b, &shapes[i], err));
	return RQL_OK;
}

int rql_rx_options_run(int argc, char **argv, const char *text, struct rql_relation_options *o, int64_t least,
                       int64_t most)
{
	char program[32];
	snprintf(program, sizeof(program), "rayql bench %s", o->benchmark);
	struct rql_args args = {.argc = argc - 1, .argv = argv + 1, .program = program};
	const char *value, *benchmark = NULL;
	for (args.at = 1; args.at < args.argc && !args.failed; args.at++) {
		if (rql_args_flag(&args, "help") || rql_args_flag(&args, "h")) {
			fputs(text, stdout);
			return 0;
		}
		if (rql_args_value(&args, "figure", &value))
			rql_args_integer(&args, "figure", value, least, most, &o->figure);
		else if (rql_args_value(&args, "log2-scale", &value))
			rql_args_integer(&args, "log2-scale", value, -20, 0, &o->log2_scale);
		else if (rql_args_value(&args, "runs", &value))
			rql_args_integer(&args, "runs", value, 1, 1000, &o->runs);
		else if (!rql_args_value(&args, "device", &o->device) && !rql_args_value(&args, "cases", &o->cases) &&
		         !rql_args_value(&args, "forms", &o->forms) && !rql_args_value(&args, "json", &o->json))
			rql_args_benchmark(&args, &benchmark);
	}
	return args.failed ? 2 : rql_relation_run(o);
}

int rql_rx_main(int argc, char **argv)
{
	struct rql_relation_options o = {.runs = 5, .figure = 10, .benchmark = "rx", .run = run_cases, .unit = RQL_UNIT_RT,
	                                 .cpu = true};
	return rql_rx_options_run(argc, argv, help, &o, 3, 18);
}

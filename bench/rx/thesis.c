/* rayql bench thesis: the experiments of "Fast Database Join on Ray-tracing Core Equipped GPU" (papers/002, chapter 5):
 * what each change does to RX (figures 5.5 to 5.13), then the changed RX beside cgRX and rivals (5.15 to 5.25). */
#include <stdio.h>

#include "bench/rx/rx.h"

static const char help[] =
	"Usage: rayql bench thesis [options]\n"
	"\n"
	"Look-ups of keys by rays, as in the experiments of the thesis on joins by ray tracing (figures 5.5 to 5.25, given as 5\n"
	"to 25): RX, the thesis's forms of it, cgRX, and look-ups in sorted keys by compute. Device time by timestamps,\n"
	"medians after a run to warm up; every answer is checked on the device. docs/bench.md says more. The exit code is 1\n"
	"when an answer is wrong.\n"
	"\n"
	"  --device D          as rayql_devices() names it: vulkan:0, a UUID, a PCI address (default: the first GPU);\n"
	"                      cpu has the forms that cast no rays\n"
	"  --figure N          5, 6, 7 (with 8 and 9), 10 to 17 (with 18), 19 to 25 (default 19)\n"
	"  --log2-scale N      keys and probes times 2^N, -20 to 0 (default 0: 2^23 keys, 2^25 probes)\n"
	"  --cases TEXT        only cases whose name has this text in it\n"
	"  --forms F,...       only these forms, as thesis,interpolation,k-ary (default: all)\n"
	"  --runs N            runs of each, 1 to 1000 (default 5)\n"
	"  --json FILE         write all figures\n"
	"  --help              this text\n";

/* The changed RX: distinct sorted keys, closest hit, scan from there; 16 bottom levels. */
#define CHANGED .kind = RQL_RX_KIND_CGRX, .lines = true, .scan = true
static const struct rql_rx_form
	old = {.name = "RX", .ray = RQL_KEY_PERPENDICULAR},
	old_unordered = {.name = "RX, keys as they come", .ray = RQL_KEY_PERPENDICULAR, .unordered = true},
	old_ranges = {.name = "RX", .ray = RQL_KEY_OFFSET},
	changed = {.name = "thesis", CHANGED, .parts = 16},
	changed_sums = {.name = "thesis, prefix sums", .kind = RQL_RX_KIND_CGRX, .lines = true, .parts = 16},
	changed_run = {.name = "thesis, runs of 32", CHANGED, .parts = 16, .run = 32},
	markers = {.name = "thesis, markers", .kind = RQL_RX_KIND_CGRX, .scan = true, .parts = 16},
	inverse = {.name = "thesis, inverse", .kind = RQL_RX_KIND_CGRX, .inverse = true, .parts = 16},
	parts_0 = {.name = "thesis, 1 bottom level", CHANGED, .parts = 1},
	parts_2 = {.name = "thesis, 4 bottom levels", CHANGED, .parts = 4},
	parts_4 = {.name = "thesis, 16 bottom levels", CHANGED, .parts = 16},
	parts_6 = {.name = "thesis, 64 bottom levels", CHANGED, .parts = 64},
	parts_8 = {.name = "thesis, 256 bottom levels", CHANGED, .parts = 256},
	cgrx_5 = {.name = "cgRX, buckets of 32", .kind = RQL_RX_KIND_CGRX, .log2_bucket = 5, .scan = true},
	cgrx_8 = {.name = "cgRX, buckets of 256", .kind = RQL_RX_KIND_CGRX, .log2_bucket = 8, .scan = true},
	sorted = {.name = "sorted array", .kind = RQL_RX_KIND_MAP},
	radix = {.name = "sorted, directory", .kind = RQL_RX_KIND_MAP, .directory = true},
	interpolation = {.name = "interpolation", .kind = RQL_RX_KIND_MAP, .interpolation = true},
	kary = {.name = "k-ary", .kind = RQL_RX_KIND_MAP, .kary = true},
	hash = {.name = "hash", .kind = RQL_RX_KIND_MAP, .hashed = true},
	tree = {.name = "B+ tree", .kind = RQL_RX_KIND_MAP, .tree = true};

#define LIST(name, ...) static const struct rql_rx_form *const name[] = {__VA_ARGS__, NULL}
LIST(range_change, &old_ranges, &changed, &changed_sums);
LIST(point_change, &old, &changed);
LIST(mapping, &changed, &inverse);
LIST(levels, &parts_0, &parts_2, &parts_4, &parts_6, &parts_8);
LIST(order, &changed, &changed_run);
#define SEARCHED &sorted, &interpolation, &kary, &radix, &tree
LIST(compression, &changed);
LIST(points, &changed, &markers, &changed_run, &cgrx_5, &cgrx_8, SEARCHED, &hash);
LIST(sparse_points, &changed, &cgrx_5, &cgrx_8, SEARCHED, &hash);
LIST(insert_orders, &old_unordered, &old, &changed, &cgrx_5, &cgrx_8, SEARCHED, &hash);
LIST(ranges, &changed, &changed_sums, &cgrx_5, &cgrx_8, &sorted, &interpolation, &radix, &tree);

#define SIZE .log2_keys = 23, .log2_probes = 25, .key_bits = 32
#define RANGE .log2_keys = 23, .log2_probes = 20, .key_bits = 32 /* 2^25 of 1024 rows are 2^35 hits of the old RX */
#define COMPRESSED .log2_keys = 23, .log2_probes = 17, .key_bits = 32, .uniform = 100, .forms = compression
#define INSERTED(keys) .log2_keys = keys, .log2_probes = 25, .key_bits = 32, .uniform = 100, .sorted = true, \
	.forms = insert_orders
static const struct rql_rx_shape shapes[] = {
	{5, "ranges of 4", RANGE, .width = 4, .forms = range_change},
	{5, "ranges of 64", RANGE, .width = 64, .forms = range_change},
	{5, "ranges of 1024", RANGE, .width = 1024, .forms = range_change,
	 .paper = "the changed RX is 10 times as fast at 1024 (RTX 4060 Laptop)"},
	{6, "1 row a key", SIZE, .uniform = 100, .forms = point_change, .paper = "the old RX is faster"},
	{6, "16 rows a key", .log2_keys = 23, .log2_probes = 23, .key_bits = 32, .uniform = 100, .log2_dups = 4,
	 .forms = point_change},
	{6, "1024 rows a key", RANGE, .uniform = 100, .log2_dups = 10, .forms = point_change,
	 .paper = "2.5 times as fast, before duplicates are compressed"},
	{7, "bottom levels", SIZE, .forms = levels,
	 .paper = "no effect on probes; memory while building falls to a third; 16 build fastest, some 50 ms"},
	{10, "16 rows a key", .log2_keys = 23, .log2_probes = 23, .key_bits = 32, .uniform = 100, .log2_dups = 4,
	 .forms = point_change},
	{10, "1024 rows a key", RANGE, .uniform = 100, .log2_dups = 10, .forms = point_change,
	 .paper = "compressed duplicates are as fast as ranges; compressing takes 3 ms at most"},
	{11, "compressed, 1 row a key", COMPRESSED},
	{11, "compressed, 4 rows a key", COMPRESSED, .log2_dups = 2},
	{11, "compressed, 16 rows a key", COMPRESSED, .log2_dups = 4},
	{11, "compressed, 64 rows a key", COMPRESSED, .log2_dups = 6},
	{11, "compressed, 256 rows a key", COMPRESSED, .log2_dups = 8},
	{11, "compressed, 1024 rows a key", COMPRESSED, .log2_dups = 10,
	 .paper = "to find the different keys takes 3 ms at most, of a build of some 50"},
	{12, "unsorted", SIZE, .uniform = 100, .forms = order},
	{12, "sorted", SIZE, .uniform = 100, .sorted = true, .forms = order, .paper = "up to 3 times as fast, with the sort"},
	{13, "ranges, unsorted", RANGE, .width = 1024, .forms = order},
	{13, "ranges, sorted", RANGE, .width = 1024, .sorted = true, .forms = order,
	 .paper = "some 4 times as fast, with the sort"},
	{14, "2^21 keys, 2^23 probes", .log2_keys = 21, .log2_probes = 23, .key_bits = 32, .uniform = 100, .forms = point_change},
	{14, "2^23 keys, 2^21 probes", .log2_keys = 23, .log2_probes = 21, .key_bits = 32, .uniform = 100, .forms = mapping,
	 .paper = "built and probed, inverse mapping takes as long as the two sides the other way round: 3.5 times as fast"},
	{15, "2^15 keys", .log2_keys = 15, .log2_probes = 25, .key_bits = 32, .uniform = 100, .sorted = true,
	 .forms = points},
	{15, "2^19 keys", .log2_keys = 19, .log2_probes = 25, .key_bits = 32, .uniform = 100, .sorted = true,
	 .forms = points},
	{15, "2^23 keys", SIZE, .uniform = 100, .sorted = true, .forms = points,
	 .paper = "sorting pays for all but the B+ tree"},
	{16, "2^15 keys, as they come", INSERTED(15)},
	{16, "2^15 keys, inserted in order", INSERTED(15), .ordered = true},
	{16, "2^19 keys, as they come", INSERTED(19)},
	{16, "2^19 keys, inserted in order", INSERTED(19), .ordered = true},
	{16, "2^23 keys, as they come", INSERTED(23)},
	{16, "2^23 keys, inserted in order", INSERTED(23), .ordered = true,
	 .paper = "the B+ tree and the hash table gain nothing by sorted keys; RX, cgRX and the array get theirs sorted"},
	{17, "2^15 keys", .log2_keys = 15, .log2_probes = 17, .key_bits = 32, .uniform = 100, .forms = sparse_points},
	{17, "2^19 keys", .log2_keys = 19, .log2_probes = 17, .key_bits = 32, .uniform = 100, .forms = sparse_points},
	{17, "2^23 keys", .log2_keys = 23, .log2_probes = 17, .key_bits = 32, .uniform = 100, .forms = sparse_points,
	 .paper = "the changed RX takes 2.5 times cgRX's and the array's memory, and 5 to 15 times as long to build"},
	{19, "2^17 probes", .log2_keys = 23, .log2_probes = 17, .key_bits = 32, .uniform = 100, .sorted = true,
	 .forms = points},
	{19, "2^21 probes", .log2_keys = 23, .log2_probes = 21, .key_bits = 32, .uniform = 100, .sorted = true,
	 .forms = points},
	{19, "2^25 probes", SIZE, .uniform = 100, .sorted = true, .forms = points,
	 .paper = "the sorted array is fastest everywhere, twice as fast as any other; then the changed RX"},
	{20, "4 rows a key", SIZE, .uniform = 100, .log2_dups = 2, .sorted = true, .forms = sparse_points},
	{20, "256 rows a key", .log2_keys = 23, .log2_probes = 22, .key_bits = 32, .uniform = 100, .log2_dups = 8,
	 .sorted = true, .forms = sparse_points, .paper = "the changed RX is as fast as the array here, faster at 1024"},
	{21, "dense", SIZE, .sorted = true, .forms = points},
	{21, "20 % anywhere", SIZE, .uniform = 20, .sorted = true, .forms = sparse_points},
	{21, "all anywhere", SIZE, .uniform = 100, .sorted = true, .forms = sparse_points,
	 .paper = "the array twice as fast as the changed RX and cgRX; hash and B+ tree last"},
	{22, "10 % miss", SIZE, .uniform = 100, .miss = 100, .sorted = true, .forms = sparse_points},
	{22, "all miss", SIZE, .uniform = 100, .miss = 1000, .sorted = true, .forms = sparse_points},
	{22, "all miss, beyond all keys", SIZE, .miss = 1000, .sorted = true, .forms = sparse_points,
	 .paper = "the changed RX is faster than cgRX, but for misses beyond all keys"},
	{23, "Zipf 0.75", SIZE, .uniform = 100, .zipf = 0.75f, .sorted = true, .forms = sparse_points},
	{23, "Zipf 1.5", SIZE, .uniform = 100, .zipf = 1.5f, .sorted = true, .forms = sparse_points,
	 .paper = "cgRX is twice as fast as the changed RX from 1.0 on"},
	{24, "2^17 ranges of 1024", .log2_keys = 23, .log2_probes = 17, .key_bits = 32, .width = 1024, .sorted = true,
	 .forms = ranges},
	{24, "2^20 ranges of 1024", RANGE, .width = 1024, .sorted = true, .forms = ranges,
	 .paper = "the changed RX takes half of cgRX's time, a third of the B+ tree's; the array is slightly faster"},
	{25, "ranges of 1", RANGE, .width = 1, .sorted = true, .forms = ranges},
	{25, "ranges of 16", RANGE, .width = 16, .sorted = true, .forms = ranges},
	{25, "ranges of 256", RANGE, .width = 256, .sorted = true, .forms = ranges,
	 .paper = "of small ranges the array is up to twice as fast as the changed RX"},
};

static rql_status run_cases(struct rql_relation_bench *b, struct rql_error *err)
{
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++)
		if (shapes[i].figure == b->options->figure)
			RQL_TRY(rql_rx_shape_run(b, &shapes[i], err));
	return RQL_OK;
}

int rql_thesis_main(int argc, char **argv)
{
	struct rql_relation_options o = {
		.runs = 5, .figure = 19, .benchmark = "thesis", .run = run_cases, .unit = RQL_UNIT_RT, .cpu = true};
	return rql_rx_options_run(argc, argv, help, &o, 5, 25);
}

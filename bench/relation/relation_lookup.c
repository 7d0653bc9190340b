/* The look-ups of rayql bench device: keys without duplicates, rows and probes in random order, answers in the probes'
 * order. Sparse keys are a one-to-one mix of their numbers, dense ones the numbers themselves; relation_bench_kernels.h
 * has skewed ones, too. Each form of map is built, then probed by the probes as they come and in the order of its
 * parts. Rivals: to sort the probes and put the answers back, and sorted keys without a directory, searched by halves,
 * by interpolation, and as a k-ary search tree. */
#include <math.h>
#include <string.h>

#include "bench/relation/lookup_cpu.h"
#include "bench/relation/relation_bench.h"
#include "primitive/lookup/lookup.h"

static const struct shape {
	uint32_t key_bits;
	uint32_t spread; /* RQL_BENCH_SPARSE and below */
	uint32_t log2_match; /* one probe in 2^this has its key in the map */
	uint32_t width;      /* integers of a range, whose keys are counted and summed; 0: points, whose row is found */
} shapes[] = {
	{32, RQL_BENCH_SPARSE, 0, 0}, {32, RQL_BENCH_SPARSE, 1, 0}, {32, RQL_BENCH_SPARSE, 5, 0},
	{32, RQL_BENCH_DENSE, 0, 0},  {64, RQL_BENCH_SPARSE, 0, 0}, {64, RQL_BENCH_DENSE, 0, 0},
	{32, RQL_BENCH_DENSE, 0, 16}, {32, RQL_BENCH_DENSE, 0, 1024},
	{32, RQL_BENCH_CLUSTERED, 0, 0}, {64, RQL_BENCH_EXPONENTIAL, 0, 0},
};
static const char *const spreads[] = {"sparse", "dense", "clustered", "exponential"};

#define LOG2_KEYS 26
#define LOG2_PROBES 27
#define SECTOR 32.0 /* bytes of a random read */

struct form {
	const char *name;
	enum rql_lookup_form form;
	enum rql_lookup_search search;
	bool plain;  /* a directory of one entry */
	bool points; /* has no ranges */
	bool dense;  /* of dense keys alone */
	uint32_t node_bytes;
};
static const struct form forms[] = {
	{"sorted", .form = RQL_LOOKUP_SORTED},
	{"binary search", .form = RQL_LOOKUP_SORTED, .plain = true},
	{"interpolation", .form = RQL_LOOKUP_SORTED, .plain = true, .search = RQL_LOOKUP_INTERPOLATION},
	{"k-ary", .form = RQL_LOOKUP_KARY, .points = true},
	{"k-ary of 64 bytes", .form = RQL_LOOKUP_KARY, .points = true, .node_bytes = 64},
	{"B+ tree", .form = RQL_LOOKUP_BTREE},
	{"hashed", .form = RQL_LOOKUP_HASHED, .points = true},
	{"direct", .form = RQL_LOOKUP_DIRECT, .points = true, .dense = true},
};

struct lookup_case {
	struct rql_relation_case base;
	const struct form *form;
	struct rql_relation_bench_args data, scatter; /* data: of the check */
	struct rql_relation_bench *bench;
	struct rql_lookup_build build;
	struct rql_lookup_batch lookup;
	struct rql_sort sort; /* of the probes with their places: the rival */
	struct rql_buffer *sorted_rows;
};

static uint32_t scaled(const struct rql_relation_bench *b, uint32_t log2)
{
	int64_t at = (int64_t)log2 + b->options->log2_scale;
	return at < 4 ? 4 : (uint32_t)at;
}

static uint32_t key_bytes(const struct lookup_case *one)
{
	return one->build.map.key_bits / 8;
}

/* ---- data ---- */

/* Keys are the map's values, too, so that the sum of a range is known. */
static rql_status make_keys(struct rql_relation_bench *b, const struct shape *s, struct lookup_case *one,
                            struct rql_error *err)
{
	struct rql_lookup_map *map = &one->build.map;
	struct rql_relation_bench_args args = one->data;
	args.rows = map->count = UINT64_C(1) << args.log2_build;
	map->key_bits = one->build.value_bits = s->key_bits;
	map->high = s->spread == RQL_BENCH_DENSE ? map->count - 1 : s->key_bits == 64 ? UINT64_MAX : UINT32_MAX;
	RQL_TRY(rql_relation_buffer(b, map->count * key_bytes(one), &one->build.keys.buffer, err));
	args.keys = one->build.keys.buffer->address;
	return rql_relation_data(b, RQL_BENCH_MAKE_BUILD, &args, err);
}

static rql_status make_probes(struct rql_relation_bench *b, const struct shape *s, struct lookup_case *one,
                              struct rql_error *err)
{
	struct rql_lookup_batch *lookup = &one->lookup;
	struct rql_relation_bench_args *args = &one->data;
	lookup->count = args->rows;
	RQL_TRY(rql_relation_buffer(b, lookup->count * key_bytes(one), &lookup->points.buffer, err));
	args->keys = lookup->points.buffer->address;
	RQL_TRY(rql_relation_data(b, RQL_BENCH_MAKE_PROBE, args, err));
	if (!s->width) {
		RQL_TRY(rql_relation_buffer(b, lookup->count * 4, &lookup->rows.buffer, err));
		args->column_to[0] = lookup->rows.buffer->address;
		return RQL_OK;
	}
	RQL_TRY(rql_relation_buffer(b, lookup->count * 4, &lookup->ends.buffer, err));
	RQL_TRY(rql_relation_buffer(b, lookup->count * 8, &lookup->sums.buffer, err));
	args->keys_to = lookup->ends.buffer->address;
	args->column_to[1] = lookup->sums.buffer->address;
	return rql_relation_data(b, RQL_BENCH_MAKE_ENDS, args, err);
}

/* Keys in order, with their rows. */
static bool is_ordered(const struct rql_lookup_map *map)
{
	return map->form == RQL_LOOKUP_SORTED || map->form == RQL_LOOKUP_BTREE;
}

static rql_status make_ordered(struct rql_relation_bench *b, const struct shape *s, struct lookup_case *one,
                               struct rql_error *err)
{
	struct rql_lookup_map *map = &one->build.map;
	const bool tree = map->form == RQL_LOOKUP_BTREE, pairs = !tree && map->key_bits == 32;
	const uint64_t keys = tree ? rql_lookup_tree_keys(map) : map->count;
	RQL_TRY(rql_relation_buffer(b, keys * (pairs ? 8 : key_bytes(one)), &map->keys.buffer, err));
	if (!pairs)
		RQL_TRY(rql_relation_buffer(b, map->count * 4, &map->rows.buffer, err));
	if (tree)
		RQL_TRY(rql_relation_buffer(b, rql_lookup_tree_lines(map) * 64, &map->nodes.buffer, err));
	else
		RQL_TRY(rql_relation_buffer(b, rql_lookup_starts(map) * 4, &map->starts.buffer, err));
	one->build.values = one->build.keys;
	return s->width ? rql_relation_buffer(b, (map->count + 1) * 8, &map->sums.buffer, err) : RQL_OK;
}

static rql_status make_kary(struct rql_relation_bench *b, struct lookup_case *one, struct rql_error *err)
{
	struct rql_lookup_map *map = &one->build.map;
	RQL_TRY(rql_relation_buffer(b, rql_lookup_kary_keys(map) * key_bytes(one), &map->keys.buffer, err));
	return rql_relation_buffer(b, map->count * 4, &map->rows.buffer, err);
}

static rql_status make_map(struct rql_relation_bench *b, const struct shape *s, struct lookup_case *one,
                           struct rql_error *err)
{
	struct rql_lookup_map *map = &one->build.map;
	map->form = one->form->form;
	map->search = one->form->search;
	map->node_bytes = one->form->node_bytes;
	if (map->form == RQL_LOOKUP_SORTED)
		map->shift = one->form->plain ? 63 : rql_lookup_choose_shift(map->count, map->low, map->high);
	if (map->form == RQL_LOOKUP_KARY) {
		RQL_TRY(make_kary(b, one, err));
	} else if (is_ordered(map)) {
		RQL_TRY(make_ordered(b, s, one, err));
	} else {
		if (!rql_lookup_choose_parts(map))
			return rql_error_set(err, RQL_ERROR_INTERNAL, "too many keys for a hashed map");
		RQL_TRY(rql_relation_buffer(b, rql_lookup_slots(map) * rql_lookup_slot_bytes(map), &map->slots.buffer, err));
		RQL_TRY(rql_relation_buffer(b, 8, &map->failed.buffer, err));
	}
	one->base.scratch_bytes = rql_lookup_build_temp_bytes(&one->build);
	RQL_TRY(rql_relation_buffer(b, one->base.scratch_bytes, &one->build.temp.buffer, err));
	one->lookup.map = *map;
	return RQL_OK;
}

/* ---- bytes ---- */

static double map_bytes(const struct lookup_case *one)
{
	const struct rql_lookup_map *map = &one->build.map;
	if (!is_ordered(map) && map->form != RQL_LOOKUP_KARY)
		return (double)rql_lookup_slots(map) * rql_lookup_slot_bytes(map);
	uint32_t bytes = key_bytes(one) + 4 + (map->sums.buffer ? 8 : 0);
	if (map->form == RQL_LOOKUP_BTREE)
		return (double)map->count * bytes + 64.0 * (double)rql_lookup_tree_lines(map);
	if (map->form == RQL_LOOKUP_KARY)
		return (double)map->count * bytes;
	return (double)map->count * bytes + 4.0 * (double)rql_lookup_starts(map);
}

/* A partition in one or two passes: keys counted once, keys and rows read and written, but for the first pass's rows. */
static double partition_moves(double k, double passes)
{
	return k + passes * (2 * k + 8) - 4;
}

/* lookup_map.h has the reckoning. A sorted map whose ranges are crowded moves more. */
static double build_moves(const struct lookup_case *one)
{
	const struct rql_lookup_map *map = &one->build.map;
	double k = key_bytes(one), n = (double)map->count, sums = map->sums.buffer ? 24 + k : 0;
	if (map->form == RQL_LOOKUP_BTREE)
		return n * (partition_moves(k, 2) + 2 * k + 8 + sums) + 64.0 * (double)rql_lookup_tree_lines(map) * 2;
	if (map->form == RQL_LOOKUP_KARY)
		return n * (k * (3 * k + 8) + 2 * k + 8);
	if (one->form->plain) /* nothing tells how its keys are spread: a radix sort */
		return n * (k * (3 * k + 8) + k + sums) + 4.0 * (double)rql_lookup_starts(map);
	if (map->form == RQL_LOOKUP_SORTED)
		return n * (partition_moves(k, 2) + 2 * k + 8 + sums) + 4.0 * (double)rql_lookup_starts(map);
	double passes = map->form == RQL_LOOKUP_HASHED && map->part_bits > RQL_PARTITION_PASS_BITS ? 2 : 1;
	return n * (partition_moves(k, passes) + k + 4) + map_bytes(one) * (map->form == RQL_LOOKUP_DIRECT ? 3 : 1);
}

/* Sectors that a search of keys that come once reads, but for one, whose place the directory's has elsewhere. Of
 * interpolation: of evenly spread keys, whose guess is off by some sqrt(n) / 2 places, the next one by the root of
 * that, and so on; then a gallop's step and the keys before it. */
static double search_sectors(const struct lookup_case *one)
{
	const struct rql_lookup_map *map = &one->build.map;
	const double n = (double)map->count, in_sector = SECTOR * 8 / map->key_bits;
	const bool small = map->form == RQL_LOOKUP_KARY && !map->node_bytes; /* a node is a sector, else two */
	const uint32_t node = (small ? 256 : 512) / map->key_bits;
	double reads = 1;
	if (map->form == RQL_LOOKUP_BTREE || map->form == RQL_LOOKUP_KARY) {
		for (uint64_t left = map->count; left > node; reads++)
			left /= node + 1;
		return small ? reads - 1 : 2 * reads - 1;
	}
	if (!one->form->plain)
		return map->shift ? 1 : 0;
	if (map->search == RQL_LOOKUP_BINARY)
		return log2(n / in_sector);
	for (double off = sqrt(n) / 2; off > in_sector; off = sqrt(off))
		reads++;
	return reads;
}

/* A table is in memory of which a sector comes for each random read, or in order once as a whole. 0: not known, as of
 * searches in sorted keys that are skewed, but for those that halve them. */
static double probe_moves(const struct lookup_case *one, bool parted)
{
	const struct rql_lookup_batch *lookup = &one->lookup;
	const bool skewed = one->data.spread == RQL_BENCH_CLUSTERED || one->data.spread == RQL_BENCH_EXPONENTIAL;
	if (skewed && one->form->form == RQL_LOOKUP_SORTED && (!one->form->plain || one->form->search))
		return 0;
	bool ranges = lookup->ends.buffer != NULL;
	bool sorted = is_ordered(&one->build.map) || one->form->form == RQL_LOOKUP_KARY;
	double n = (double)lookup->count, k = key_bytes(one) * (ranges ? 2 : 1), answer = lookup->sums.buffer ? 8 : 4;
	double search = sorted ? 1 + search_sectors(one) : 0;
	double reads = n * SECTOR * (search * (ranges ? 2 : 1) + (lookup->sums.buffer ? 2 : 1));
	if (!parted)
		return n * (k + answer) + reads;
	double order = 2 * k + 2;
	return n * (order + k + answer + 2 * answer + 2) + (reads < map_bytes(one) ? reads : map_bytes(one));
}

/* ---- runs ---- */

static rql_status record_build(struct rql_relation_case *one, struct rql_commands *c, struct rql_error *err)
{
	return rql_record_lookup_build(c, &((struct lookup_case *)one->state)->build, err);
}

static rql_status record_lookup(struct rql_relation_case *one, struct rql_commands *c, struct rql_error *err)
{
	return rql_record_lookup(c, &((struct lookup_case *)one->state)->lookup, err);
}

/* The rival: probes sorted with their places, looked up in that order, answers scattered. */
static rql_status record_by_sort(struct rql_relation_case *base, struct rql_commands *c, struct rql_error *err)
{
	struct lookup_case *one = base->state;
	struct rql_lookup_batch lookup = one->lookup;
	RQL_TRY(rql_record_sort(c, &one->sort, err));
	lookup.points = one->sort.keys_out;
	lookup.rows = (struct rql_span){one->sorted_rows, 0};
	lookup.order = 1;
	RQL_TRY(rql_record_lookup(c, &lookup, err));
	return rql_relation_record_data(one->bench, c, RQL_BENCH_SCATTER, &one->scatter, err);
}

static rql_status check_lookup(struct rql_relation_bench *b, struct rql_relation_case *base, bool *good,
                               struct rql_error *err)
{
	struct lookup_case *one = base->state;
	uint64_t *results = rql_relation_results(b), failed = 0;
	memset(results, 0, RQL_RELATION_RESULTS * 8);
	RQL_TRY(rql_relation_data(b, RQL_BENCH_LOOKUP_CHECK, &one->data, err));
	*good = results[2] == 0;
	if (one->build.map.failed.buffer)
		RQL_TRY(rql_buffer_download(one->build.map.failed.buffer, 0, &failed, 8, err));
	*good = *good && !failed;
	return RQL_OK;
}

/* A map is right when all look-ups in it are. */
static rql_status check_build(struct rql_relation_bench *b, struct rql_relation_case *base, bool *good,
                              struct rql_error *err)
{
	struct rql_commands *c;
	RQL_TRY(rql_commands_new(b->device, 0, &c, err));
	rql_status status = rql_commands_finish(c, record_lookup(base, c, err), NULL, NULL, err);
	return status == RQL_OK ? check_lookup(b, base, good, err) : status;
}

static rql_status measure(struct rql_relation_bench *b, struct lookup_case *one, const char *what,
                          struct rql_error *err)
{
	char name[48];
	struct rql_relation_variant variant = {.name = name};
	struct rql_buffer *out = one->lookup.sums.buffer ? one->lookup.sums.buffer : one->lookup.rows.buffer;
	snprintf(name, sizeof name, "%s, %s", one->form->name, what);
	/* What an earlier run left must not pass for this one's. */
	RQL_TRY(rql_relation_fill(b, out, 0, one->lookup.count * (one->lookup.sums.buffer ? 8 : 4), 0xdeadbeefu, err));
	return rql_relation_measure(b, &one->base, &variant, err);
}

/* order: as in rql_lookup. */
static rql_status measure_probes(struct rql_relation_bench *b, struct lookup_case *one, uint32_t order,
                                 const char *what, struct rql_error *err)
{
	uint32_t kept = b->buffer_count;
	struct rql_lookup_batch *lookup = &one->lookup;
	lookup->order = order;
	one->base.scratch_bytes = rql_lookup_temp_bytes(lookup);
	one->base.moved_bytes = probe_moves(one, one->base.scratch_bytes != 0);
	if (one->base.scratch_bytes)
		RQL_TRY(rql_relation_buffer(b, one->base.scratch_bytes, &lookup->temp.buffer, err));
	RQL_TRY(measure(b, one, what, err));
	lookup->temp.buffer = NULL;
	lookup->order = 0;
	rql_relation_drop_to(b, kept);
	return RQL_OK;
}

static rql_status measure_sort(struct rql_relation_bench *b, struct lookup_case *one, struct rql_error *err)
{
	struct rql_sort *sort = &one->sort;
	uint64_t count = one->lookup.count, bytes = count * key_bytes(one);
	uint32_t kept = b->buffer_count;
	uint32_t bits = one->build.map.key_bits;
	*sort = (struct rql_sort){.key_bits = bits, .value_bits = 32, .high_bit = bits, .count = count,
	                          .keys_in = one->lookup.points};
	RQL_TRY(rql_relation_buffer(b, bytes, &sort->keys_out.buffer, err));
	RQL_TRY(rql_relation_buffer(b, count * 4, &sort->values_out.buffer, err));
	RQL_TRY(rql_relation_buffer(b, count * 4, &one->sorted_rows, err));
	one->base.scratch_bytes = rql_sort_temp_bytes(sort);
	RQL_TRY(rql_relation_buffer(b, one->base.scratch_bytes, &sort->temp.buffer, err));
	one->bench = b;
	one->scatter = (struct rql_relation_bench_args){.rows = count};
	one->scatter.column[0] = one->sorted_rows->address;
	one->scatter.column[1] = sort->values_out.buffer->address;
	one->scatter.column_to[0] = one->lookup.rows.buffer->address;
	one->base.record = record_by_sort;
	one->base.moved_bytes = 0;
	RQL_TRY(measure(b, one, "sort, search, scatter", err));
	rql_relation_drop_to(b, kept);
	return RQL_OK;
}

/* Other numbers of parts beside the chosen one. */
static rql_status measure_orders(struct rql_relation_bench *b, struct lookup_case *one, struct rql_error *err)
{
	char name[24];
	for (uint32_t bits = 4; bits <= 8; bits++) {
		snprintf(name, sizeof name, "%u parts", 1u << bits);
		RQL_TRY(measure_probes(b, one, bits + 1, name, err));
	}
	return RQL_OK;
}

static rql_status run_form(struct rql_relation_bench *b, const struct shape *s, struct lookup_case *one,
                           const struct form *form, struct rql_error *err)
{
	uint32_t kept = b->buffer_count;
	one->form = form;
	RQL_TRY(make_map(b, s, one, err));
	double n = (double)one->lookup.count, k = key_bytes(one) * (s->width ? 2 : 1);
	one->base.record = record_build;
	one->base.check = check_build;
	one->base.floor_bytes = (double)one->build.map.count * (key_bytes(one) + (s->width ? 4 : 0)) + map_bytes(one);
	one->base.moved_bytes = build_moves(one);
	RQL_TRY(measure(b, one, "build", err));
	one->base.record = record_lookup;
	one->base.check = check_lookup;
	one->base.floor_bytes = n * (k + (s->width ? 8 : 4));
	RQL_TRY(measure_probes(b, one, 1, "as they come", err));
	RQL_TRY(measure_probes(b, one, 0, "chosen", err));
	if (b->options->variants)
		RQL_TRY(measure_orders(b, one, err));
	if (form == &forms[0] && !s->width)
		RQL_TRY(measure_sort(b, one, err));
	rql_relation_drop_to(b, kept);
	struct rql_lookup_map empty = {.key_bits = one->build.map.key_bits, .count = one->build.map.count,
	                               .low = one->build.map.low, .high = one->build.map.high};
	one->build.map = empty;
	return RQL_OK;
}

static rql_status run_on_cpu(struct rql_relation_bench *b, const struct shape *s, const char *name,
                             struct rql_error *err)
{
	const struct rql_rx_shape shape = {.name = name, .log2_keys = LOG2_KEYS, .log2_probes = LOG2_PROBES,
	                                   .key_bits = s->key_bits, .uniform = s->spread == RQL_BENCH_DENSE ? 0 : 100,
	                                   .spread = s->spread, .miss = 1000 - (1000u >> s->log2_match),
	                                   .width = s->width, .forms = rql_lookup_cpu_forms};
	return rql_lookup_cpu_run(b, &shape, err);
}

static rql_status run_lookup(struct rql_relation_bench *b, const struct shape *s, struct rql_error *err)
{
	struct lookup_case one = {.base = {.record = record_build, .check = check_build}};
	struct rql_relation_bench_args *args = &one.data;
	char what[32] = "points", match[24] = "";
	one.base.state = &one;
	args->log2_build = args->log2_distinct = scaled(b, LOG2_KEYS);
	args->log2_rows = scaled(b, LOG2_PROBES);
	args->log2_range = args->log2_build + s->log2_match;
	args->rows = UINT64_C(1) << args->log2_rows;
	args->spread = s->spread;
	args->flags = s->key_bits == 64 ? RQL_BENCH_WIDE_KEYS : 0;
	args->part = s->width;
	if (s->width)
		snprintf(what, sizeof what, "ranges of %u", s->width);
	if (s->log2_match)
		snprintf(match, sizeof match, ", match 1/%u", 1u << s->log2_match);
	snprintf(one.base.name, sizeof one.base.name, "lookup 2^%u in 2^%u, u%u, %s, %s%s", args->log2_rows,
	         args->log2_build, s->key_bits, spreads[s->spread], what, match);
	if (!rql_relation_wanted(b, one.base.name))
		return RQL_OK;
	if (b->device->kind == RQL_DEVICE_CPU)
		return run_on_cpu(b, s, one.base.name, err);
	RQL_TRY(make_keys(b, s, &one, err));
	RQL_TRY(make_probes(b, s, &one, err));
	for (uint32_t f = 0; f < sizeof forms / sizeof *forms; f++)
		if (rql_relation_form_wanted(b, forms[f].name) && !(forms[f].points && s->width) &&
		    !(forms[f].dense && s->spread != RQL_BENCH_DENSE))
			RQL_TRY(run_form(b, s, &one, &forms[f], err));
	rql_relation_drop(b);
	return RQL_OK;
}

rql_status rql_relation_lookups(struct rql_relation_bench *b, struct rql_error *err)
{
	for (uint32_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
		RQL_TRY(run_lookup(b, &shapes[i], err));
	return RQL_OK;
}

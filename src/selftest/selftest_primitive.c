/* Prefix sum, compaction and selection against loops: recorded passes on a GPU, and selection on the CPU, too. */
#include "selftest/selftest_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "column/value/value.h"
#include "primitive/primitive.h"

/* Around workgroups (256), tiles (2048, 4096), single-workgroup limits (4 tiles) and chunks of the CPU (65536). */
static const uint64_t sizes[] = {0,    1,    2,    31,   32,   33,   63,   64,   65,    255,   256,   257,   2047,
                                 2048, 2049, 4095, 4096, 4097, 8191, 8192, 8193, 16384, 16385, 65535, 65537, 300001};
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };
#define LARGE UINT64_C(1500007)
#define HUGE_SIZE UINT64_C(40000003) /* thorough: more tiles than workgroups */

/* ---- prefix sum ---- */

struct scan_check {
	enum rql_prefix_kind kind;
	bool inclusive, in_place;
	uint64_t count;
};

static uint32_t scan_in_width(enum rql_prefix_kind kind)
{
	return kind == RQL_PREFIX_U64_U64 ? 8 : 4;
}
static uint32_t scan_out_width(enum rql_prefix_kind kind)
{
	return kind == RQL_PREFIX_U32_U32 ? 4 : 8;
}

static rql_status gpu_scan(struct rql_selftest *t, const struct scan_check *k, const void *in, void *out,
                           uint64_t *total, struct rql_error *err)
{
	struct rql_prefix_sum scan = {.kind = k->kind, .inclusive = k->inclusive, .count = k->count};
	struct rql_commands *c;
	uint64_t out_bytes = k->count * scan_out_width(k->kind);
	RQL_TRY(rql_selftest_buffer(t, k->count * scan_in_width(k->kind), in, "scan input", &scan.in.buffer, err));
	scan.out = scan.in;
	if (!k->in_place)
		RQL_TRY(rql_selftest_buffer(t, out_bytes, NULL, "scan output", &scan.out.buffer, err));
	RQL_TRY(rql_selftest_buffer(t, 8, NULL, "scan total", &scan.total.buffer, err));
	RQL_TRY(rql_selftest_buffer(t, rql_prefix_temp_bytes(&scan), NULL, "scan temp", &scan.temp.buffer, err));
	RQL_TRY(rql_selftest_record(t, &c, err));
	RQL_TRY(rql_record_prefix_sum(c, &scan, err));
	RQL_TRY(rql_selftest_execute(t, err));
	RQL_TRY(rql_buffer_download(scan.out.buffer, 0, out, out_bytes, err));
	RQL_TRY(rql_buffer_download(scan.total.buffer, 0, total, 8, err));
	rql_selftest_drop(t);
	return RQL_OK;
}

static void plain_scan(const struct scan_check *k, const void *in, void *out, uint64_t *total)
{
	uint64_t sum = 0;
	for (uint64_t i = 0; i < k->count; i++) {
		uint64_t value = k->kind == RQL_PREFIX_U64_U64 ? ((const uint64_t *)in)[i] : ((const uint32_t *)in)[i];
		uint64_t entry = k->inclusive ? sum + value : sum;
		sum += value;
		if (k->kind == RQL_PREFIX_U32_U32)
			((uint32_t *)out)[i] = (uint32_t)entry;
		else
			((uint64_t *)out)[i] = entry;
	}
	*total = k->kind == RQL_PREFIX_U32_U32 ? (uint32_t)sum : sum;
}

static rql_status check_scan(struct rql_selftest *t, const struct scan_check *k, struct rql_error *err)
{
	uint64_t got_total = 0, wanted_total = 0;
	char what[80];
	void *in = malloc(k->count * 8 + 8), *got = malloc(k->count * 8 + 8), *wanted = malloc(k->count * 8 + 8);
	rql_status status = in && got && wanted ? RQL_OK : rql_error_memory(err, k->count * 24, "a selftest's data");
	if (status != RQL_OK)
		goto done;
	for (uint64_t i = 0; i < k->count; i++) {
		if (k->kind == RQL_PREFIX_U64_U64)
			((uint64_t *)in)[i] = rql_selftest_random(t);
		else
			((uint32_t *)in)[i] = (uint32_t)rql_selftest_random(t);
	}
	snprintf(what, sizeof(what), "%s scan kind %d of %llu%s", k->inclusive ? "inclusive" : "exclusive", (int)k->kind,
	         (unsigned long long)k->count, k->in_place ? " in place" : "");
	plain_scan(k, in, wanted, &wanted_total);
	status = gpu_scan(t, k, in, got, &got_total, err);
	if (status == RQL_OK)
		status = rql_selftest_same(got, wanted, k->count, scan_out_width(k->kind), what, err);
	if (status == RQL_OK && got_total != wanted_total)
		status = rql_selftest_wrong(err, "%s: total %llu instead of %llu", what, (unsigned long long)got_total,
		                            (unsigned long long)wanted_total);
done:
	free(in);
	free(got);
	free(wanted);
	return status;
}

static rql_status test_scan(struct rql_selftest *t, struct rql_error *err)
{
	for (int kind = RQL_PREFIX_U32_U32; kind <= RQL_PREFIX_U64_U64; kind++) {
		struct scan_check k = {.kind = (enum rql_prefix_kind)kind};
		for (uint32_t i = 0; i < SIZES; i++) {
			k.count = sizes[i];
			k.inclusive = i % 2;
			k.in_place = kind != RQL_PREFIX_U32_U64 && i % 3 == 0;
			RQL_TRY(check_scan(t, &k, err));
		}
		k.count = t->thorough ? HUGE_SIZE : LARGE;
		k.inclusive = k.in_place = false;
		RQL_TRY(check_scan(t, &k, err));
	}
	return RQL_OK;
}

/* ---- compaction ---- */

struct compact_check {
	enum rql_compact_kind kind;
	uint32_t index_bits;
	uint64_t count;
	const void *in; /* whole 64-bit words of bits, or count flags */
};

static rql_status gpu_compact(struct rql_selftest *t, const struct compact_check *k, uint64_t room, void *out,
                              uint64_t *found, uint32_t *groups, struct rql_error *err)
{
	struct rql_compact compact = {.kind = k->kind, .index_bits = k->index_bits, .count = k->count};
	struct rql_span indirect = {0};
	struct rql_commands *c;
	uint64_t in_bytes = k->kind == RQL_COMPACT_BITS ? (k->count + 63) / 64 * 8 : k->count * 4;
	uint64_t out_bytes = room * k->index_bits / 8;
	RQL_TRY(rql_selftest_buffer(t, in_bytes, k->in, "compaction input", &compact.in.buffer, err));
	RQL_TRY(rql_selftest_buffer(t, out_bytes, NULL, "compaction output", &compact.out.buffer, err));
	RQL_TRY(rql_selftest_buffer(t, 8, NULL, "compaction count", &compact.found.buffer, err));
	RQL_TRY(rql_selftest_buffer(t, 12, NULL, "indirect counts", &indirect.buffer, err));
	RQL_TRY(
		rql_selftest_buffer(t, rql_compact_temp_bytes(&compact), NULL, "compaction temp", &compact.temp.buffer, err));
	RQL_TRY(rql_selftest_record(t, &c, err));
	RQL_TRY(rql_record_compact(c, &compact, err));
	RQL_TRY(rql_record_indirect(c, compact.found, 3, indirect, err));
	RQL_TRY(rql_selftest_execute(t, err));
	RQL_TRY(rql_buffer_download(compact.out.buffer, 0, out, out_bytes, err));
	RQL_TRY(rql_buffer_download(compact.found.buffer, 0, found, 8, err));
	RQL_TRY(rql_buffer_download(indirect.buffer, 0, groups, 12, err));
	rql_selftest_drop(t);
	return RQL_OK;
}

static uint64_t plain_compact(const struct compact_check *k, uint64_t *out)
{
	uint64_t found = 0;
	for (uint64_t i = 0; i < k->count; i++)
		if (k->kind == RQL_COMPACT_BITS ? rql_bit((const uint64_t *)k->in, i)
		                                : ((const uint32_t *)k->in)[i])
			out[found++] = i;
	return found;
}

static rql_status compare_compact(struct rql_selftest *t, const struct compact_check *k, uint64_t *wanted, void *got,
                                  struct rql_error *err)
{
	char what[80];
	uint64_t found = plain_compact(k, wanted), got_found = 0;
	uint32_t groups[3] = {0};
	snprintf(what, sizeof(what), "compaction kind %d of %llu to %u bits", (int)k->kind, (unsigned long long)k->count,
	         k->index_bits);
	RQL_TRY(gpu_compact(t, k, found, got, &got_found, groups, err));
	if (got_found != found)
		return rql_selftest_wrong(err, "%s: %llu found instead of %llu", what, (unsigned long long)got_found,
		                          (unsigned long long)found);
	if (groups[0] > 65535 || groups[1] < 1 || groups[2] != 1 || (uint64_t)groups[0] * groups[1] * 3 < found)
		return rql_selftest_wrong(err, "%s: %u x %u x %u workgroups for %llu items of 3", what, groups[0], groups[1],
		                          groups[2], (unsigned long long)found);
	if (k->index_bits == 32)
		for (uint64_t i = 0; i < found; i++)
			((uint32_t *)wanted)[i] = (uint32_t)wanted[i];
	return rql_selftest_same(got, wanted, found, k->index_bits / 8, what, err);
}

/* density: of 256; garbage beyond the end must not matter. */
static rql_status check_compact(struct rql_selftest *t, struct compact_check k, uint32_t density, struct rql_error *err)
{
	uint64_t words = k.count / 64 + 2;
	uint64_t *in = calloc(words, k.kind == RQL_COMPACT_BITS ? 8 : 256), *wanted = malloc(words * 512);
	void *got = malloc(words * 512);
	rql_status status = in && wanted && got ? RQL_OK : rql_error_memory(err, words * 1280, "a selftest's data");
	if (status == RQL_OK) {
		for (uint64_t i = 0; i < (k.count + 63) / 64 * 64; i++) {
			bool set = rql_selftest_below(t, 256) < density;
			if (k.kind == RQL_COMPACT_BITS)
				rql_bit_or(in, i, set);
			else
				((uint32_t *)in)[i] = set ? (uint32_t)rql_selftest_random(t) | 1u << i % 32 : 0;
		}
		k.in = in;
		status = compare_compact(t, &k, wanted, got, err);
	}
	free(in);
	free(wanted);
	free(got);
	return status;
}

static rql_status test_compact(struct rql_selftest *t, struct rql_error *err)
{
	static const uint32_t densities[] = {128, 0, 256, 2, 250};
	for (int kind = RQL_COMPACT_BITS; kind <= RQL_COMPACT_FLAGS; kind++) {
		struct compact_check k = {.kind = (enum rql_compact_kind)kind};
		for (uint32_t i = 0; i < SIZES; i++) {
			k.count = sizes[i];
			k.index_bits = i % 2 ? 64 : 32;
			RQL_TRY(check_compact(t, k, densities[(i + (uint32_t)kind) % 5], err));
		}
		k.count = LARGE;
		for (k.index_bits = 32; k.index_bits <= 64; k.index_bits += 32)
			RQL_TRY(check_compact(t, k, 100, err));
	}
	/* More tiles than workgroups. */
	struct compact_check k = {.kind = RQL_COMPACT_BITS, .index_bits = 32, .count = 3 * HUGE_SIZE};
	return t->thorough ? check_compact(t, k, 30, err) : RQL_OK;
}

/* ---- the n-th greatest ---- */

static rql_status gpu_nth(struct rql_selftest *t, const uint64_t *keys, uint64_t room, uint64_t count, uint64_t n,
                          uint64_t *out, struct rql_error *err)
{
	struct rql_nth nth = {.n = n, .count = room};
	struct rql_commands *c;
	RQL_TRY(rql_selftest_buffer(t, room * 8, keys, "keys of a selection", &nth.keys.buffer, err));
	RQL_TRY(rql_selftest_buffer(t, 8, NULL, "result of a selection", &nth.out.buffer, err));
	if (room != count)
		RQL_TRY(rql_selftest_buffer(t, 8, &count, "number of keys of a selection", &nth.found.buffer, err));
	RQL_TRY(rql_selftest_buffer(t, rql_nth_temp_bytes(&nth), NULL, "selection temp", &nth.temp.buffer, err));
	RQL_TRY(rql_selftest_record(t, &c, err));
	RQL_TRY(rql_record_nth(c, &nth, err));
	RQL_TRY(rql_selftest_execute(t, err));
	RQL_TRY(rql_buffer_download(nth.out.buffer, 0, out, 8, err));
	rql_selftest_drop(t);
	return RQL_OK;
}

static int descending(const void *x, const void *y)
{
	uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
	return (a < b) - (a > b);
}

/* Keys that differ in this mask alone; behind those that count there are others. */
static rql_status check_nth(struct rql_selftest *t, uint64_t count, uint64_t mask, struct rql_error *err)
{
	const uint64_t room = count + rql_selftest_below(t, 3) * 100, base = rql_selftest_random(t) & ~mask;
	const uint64_t ns[] = {1, 2, 10, count / 2 + 1, count, count + 1};
	uint64_t *keys = malloc(room * 8 + 8), *sorted = malloc(room * 8 + 8), got = 1;
	rql_status status = keys && sorted ? RQL_OK : rql_error_memory(err, room * 16, "a selftest's data");
	for (uint64_t i = 0; status == RQL_OK && i < room; i++)
		keys[i] = sorted[i] = i < count ? base | (rql_selftest_random(t) & mask) : UINT64_MAX - i;
	if (status == RQL_OK)
		qsort(sorted, count, 8, descending);
	for (size_t i = count % 3; i < sizeof ns / sizeof *ns && status == RQL_OK; i += 3) {
		const uint64_t n = ns[i] ? ns[i] : 1, wanted = n <= count ? sorted[n - 1] : 0;
		if (rql_selftest_on_cpu(t))
			got = rql_cpu_nth(keys, count, n);
		else
			status = gpu_nth(t, keys, room, count, n, &got, err);
		if (status == RQL_OK && got != wanted)
			status = rql_selftest_wrong(err, "key %llu of %llu, mask %#llx: %#llx instead of %#llx", (unsigned long long)n,
			                            (unsigned long long)count, (unsigned long long)mask, (unsigned long long)got,
			                            (unsigned long long)wanted);
		memcpy(keys, sorted, count * 8); /* a selection may change them */
	}
	free(keys);
	free(sorted);
	return status;
}

static rql_status test_nth(struct rql_selftest *t, struct rql_error *err)
{
	static const uint64_t masks[] = {UINT64_MAX, 0, 1, 0x1ff, UINT64_C(0xff) << 56, UINT64_C(0xffff) << 32, 0x7fffffff};
	for (uint32_t i = 0; i < SIZES; i++)
		RQL_TRY(check_nth(t, sizes[i], masks[i % (sizeof masks / sizeof *masks)], err));
	return check_nth(t, LARGE, UINT64_MAX >> 20, err);
}

#define COMPUTE RQL_SELFTEST_UNIT(RQL_UNIT_COMPUTE)
#define ANYWHERE (RQL_SELFTEST_UNIT(RQL_UNIT_CPU) | COMPUTE)
const struct rql_selftest_case rql_selftest_primitive[] = {
	{"primitive.scan", COMPUTE, test_scan},
	{"primitive.compact", COMPUTE, test_compact},
	{"primitive.nth", ANYWHERE, test_nth},
	{0},
};

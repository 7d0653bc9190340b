/* The column store's kernels by themselves: filters and decoding at 1 to 32 bits, one thread, beside the memory's
 * bandwidth.
 *
 *   store_bench [million rows]      (16)
 *
 * A line is a width; a figure is the best of five passes in rows per nanosecond, and in brackets the bytes read from
 * the blocks per nanosecond. `floor` is what this machine's bandwidth (one thread, reading, measured here) would allow
 * for the bytes of a row: of the filters those of the block, of decoding those too, since its output stays in the
 * first-level cache. Blocks of a few bits are read faster than that when all of them fit the last-level cache. */
#include <stdio.h>
#include <stdlib.h>

#include "column/pack.h"
#include "column/store/store.h"

#define PASSES 5

static uint64_t random_state = 88172645463325252;
static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static volatile uint64_t sink;

static double bandwidth(void)
{
	uint64_t bytes = UINT64_C(512) << 20, best = UINT64_MAX, *data = malloc(bytes);
	if (!data)
		return 0;
	memset(data, 1, bytes);
	for (int pass = 0; pass < PASSES; pass++) {
		uint64_t sum[8] = {0}, start = rql_now_ns();
		for (uint64_t i = 0; i < bytes / 8; i += 8)
			for (int k = 0; k < 8; k++)
				sum[k] += data[i + k];
		uint64_t took = rql_now_ns() - start;
		sink += sum[0] ^ sum[1] ^ sum[2] ^ sum[3] ^ sum[4] ^ sum[5] ^ sum[6] ^ sum[7];
		best = took < best ? took : best;
	}
	free(data);
	return (double)bytes / (double)best;
}

/* *build_ns: of adding and finishing, one thread, a row. */
static const struct rql_store_snapshot *make(uint32_t bits, uint64_t rows, bool codes, double *build_ns)
{
	uint64_t took = 0;
	struct rql_store_column_spec column = {.name = "x",
	                                       .type = {.id = RQL_TYPE_UINTEGER},
	                                       .coding = codes ? RQL_STORE_CODES : RQL_STORE_VALUES,
	                                       .encoding = RQL_STORE_PACKED};
	struct rql_store_spec spec = {.name = "bench", .column_count = 1, .columns = &column};
	struct rql_store_builder *builder;
	struct rql_store *store;
	struct rql_error err = {0};
	struct rql_batch *batch = rql_batch_new(1, &column.type, 65536);
	rql_status status = rql_store_builder_new(&spec, &builder, &err);
	for (uint64_t done = 0; batch && status == RQL_OK && done < rows; done += batch->rows) {
		uint32_t *values = batch->columns[0].data;
		for (uint64_t r = 0; r < batch->rows; r++)
			values[r] = (uint32_t)(next_random() & rql_bit_mask(bits));
		uint64_t start = rql_now_ns();
		status = rql_store_builder_add(builder, 0, batch, NULL, &err);
		took += rql_now_ns() - start;
	}
	uint64_t start = rql_now_ns();
	if (status == RQL_OK)
		status = rql_store_builder_finish(builder, &store, &err);
	*build_ns = (double)(took + rql_now_ns() - start) / (double)rows;
	rql_batch_release(batch);
	if (status != RQL_OK) {
		fprintf(stderr, "%s\n", rql_error_message(&err));
		exit(1);
	}
	const struct rql_store_snapshot *snapshot = rql_store_snapshot(store);
	rql_store_release(store);
	return snapshot;
}

enum what { RANGE, SET, DECODE32, DECODE64, GATHER, WHATS };

static void one_block(enum what what, const struct rql_store_kernels *k, const struct rql_store_view *view,
                      uint32_t block, const struct rql_store_filter *filter)
{
	static int64_t out[RQL_STORE_BLOCK];
	uint64_t mask[RQL_STORE_BLOCK / 64];
	uint32_t rows = view->blocks[block].rows;
	if (what == RANGE || what == SET) {
		memset(mask, 0xff, sizeof mask);
		sink += rql_store_filter(k, view, block, filter, 0, rows, mask);
	} else if (what == DECODE32) {
		rql_store_decode_int32(k, view, block, 0, rows, (int32_t *)(void *)out);
	} else if (what == DECODE64) {
		rql_store_decode_int64(k, view, block, 0, rows, out);
	} else { /* every eighth row */
		memset(mask, 0x10, sizeof mask);
		sink += rql_store_gather_int64(k, view, block, 0, rows, mask, out);
	}
}

/* Rows per nanosecond. */
static double measure(enum what what, const struct rql_store_kernels *k, const struct rql_store_snapshot *s,
                      const struct rql_store_filter *filter)
{
	uint64_t best = UINT64_MAX;
	for (int pass = 0; pass < PASSES; pass++) {
		uint64_t start = rql_now_ns();
		for (uint32_t i = 0; i < s->segment_count; i++)
			for (uint32_t b = 0; b < s->segments[i].blocks; b++)
				one_block(what, k, &s->segments[i].columns[0], b, filter);
		uint64_t took = rql_now_ns() - start;
		best = took < best ? took : best;
	}
	return (double)s->rows / (double)best;
}

static void run_width(uint32_t bits, uint64_t rows, double gbps)
{
	static const char *const simd_names[] = {"portable", "avx2", "avx512"};
	double bytes = bits / 8.0, build_ns[2] = {0};
	uint64_t codes = UINT64_C(1) << (bits < 20 ? bits : 20), *set = malloc(codes / 8 + 8);
	const struct rql_store_snapshot *values = make(bits, rows, false, &build_ns[0]),
									*coded = bits <= 16 ? make(bits, rows, true, &build_ns[1]) : NULL;
	const struct rql_store_filter range = {
		.kind = RQL_FILTER_INTEGER_RANGE, .least = 1, .greatest = (rql_int128)(rql_bit_mask(bits) / 2 + 1)};
	const struct rql_store_filter in_set = {.kind = RQL_FILTER_CODE_SET, .set = set};
	memset(set, 0x6a, codes / 8 + 8);
	printf("%4u  built in %.2f ns a row as values, %.2f as codes (0: not done)\n", bits, build_ns[0], build_ns[1]);
	for (enum rql_simd simd = RQL_SIMD_PORTABLE; simd <= RQL_SIMD_AVX512; simd++) {
		const struct rql_store_kernels *k = rql_store_kernels_for(simd);
		if (simd > RQL_SIMD_PORTABLE && k == rql_store_kernels_for((enum rql_simd)(simd - 1)))
			continue;
		printf("%4u  %-8s  floor %6.2f ", bits, simd_names[simd], gbps / bytes);
		for (enum what what = RANGE; what < WHATS; what++) {
			static const char *const names[WHATS] = {"range", "set", "int32", "int64", "gather 1/8"};
			if ((what == SET && !coded) || (what == DECODE32 && bits > 31))
				continue;
			double rate = measure(what, k, what == SET ? coded : values, what == SET ? &in_set : &range);
			printf("  %s %6.2f (%5.1f)", names[what], rate, rate * bytes);
		}
		printf("\n");
	}
	rql_store_snapshot_release(values);
	rql_store_snapshot_release(coded);
	free(set);
}

int main(int argc, char **argv)
{
	static const uint32_t widths[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 16, 17, 20, 24, 25, 26, 28, 32};
	uint64_t rows = (argc > 1 ? strtoull(argv[1], NULL, 10) : 16) * 1000000;
	double gbps = bandwidth();
	printf("%.0f million rows; reading memory: %.1f bytes/ns, one thread; rows/ns (bytes/ns)\n", (double)rows / 1e6,
	       gbps);
	for (uint32_t i = 0; i < sizeof widths / sizeof *widths; i++)
		run_width(widths[i], rows, gbps);
	return 0;
}

/* Fuzz target: the reader of a column store's side file, over any bytes, as they are and with their checksums made true
 * (so that what lies behind the checksums is reached). What it accepts must be safe to read, by every kernel. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "column/store/store_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_block(const struct rql_store_kernels *k, const struct rql_store_column *column,
                       const struct rql_store_view *view, uint32_t block)
{
	static rql_int128 wide[RQL_STORE_BLOCK];
	uint64_t words[RQL_STORE_BLOCK], mask[RQL_STORE_WORDS];
	uint32_t rows = view->blocks[block].rows;
	struct rql_store_filter filter = {.kind = RQL_FILTER_INTEGER_RANGE, .least = -5, .greatest = 1000};
	(void)rql_store_decode_validity(k, view, block, 0, rows, mask);
	if (column->kind == RQL_STORE_CODED) {
		uint64_t *set = malloc(column->dimension->count / 64 * 8 + 8);
		memset(set, 0x55, column->dimension->count / 64 * 8 + 8);
		rql_store_decode_codes(k, view, block, 0, rows, (uint32_t *)(void *)words);
		filter = (struct rql_store_filter){.kind = RQL_FILTER_CODE_SET, .set = set};
		(void)rql_store_filter(k, view, block, &filter, 0, rows, mask);
		filter = (struct rql_store_filter){.kind = RQL_FILTER_CODE_RANGE, .code_least = 1, .code_greatest = 3};
		(void)rql_store_filter(k, view, block, &filter, 0, rows, mask);
		free(set);
	} else if (column->kind == RQL_STORE_REAL) {
		rql_store_decode_double(k, view, block, 0, rows, (double *)(void *)wide);
		filter = (struct rql_store_filter){.kind = RQL_FILTER_REAL_RANGE, .real_least = -5, .real_greatest = 9};
		(void)rql_store_filter(k, view, block, &filter, 0, rows, mask);
	} else {
		rql_store_decode_int64(k, view, block, 0, rows, (int64_t *)words);
		rql_store_decode_int128(k, view, block, 0, rows, wide);
		(void)rql_store_filter(k, view, block, &filter, 0, rows, mask);
	}
}

static void read_snapshot(const struct rql_store_snapshot *s)
{
	for (enum rql_simd simd = RQL_SIMD_PORTABLE; simd <= RQL_SIMD_AVX512; simd++)
		for (uint32_t i = 0; i < s->segment_count; i++)
			for (uint32_t c = 0; c < s->column_count; c++)
				for (uint32_t b = 0; b < s->segments[i].blocks; b++)
					read_block(rql_store_kernels_for(simd), &s->columns[c], &s->segments[i].columns[c], b);
}

/* What is said about codes must be about codes that are there. */
static void read_dependencies(const struct rql_store_snapshot *s)
{
	for (uint32_t d = 0; d < s->dependency_count; d++) {
		const struct rql_store_dependency *known = &s->dependencies[d];
		for (uint32_t c = 0; c < s->columns[known->from].dimension->count; c++)
			if (known->map[c] != RQL_STORE_NONE && known->map[c] >= s->columns[known->to].dimension->count)
				abort();
	}
}

/* A row of NULLs: dictionaries grow, and dependencies with them. */
static void append_row(struct rql_store *store)
{
	const struct rql_store_snapshot *s = rql_store_snapshot(store);
	struct rql_type *types = calloc(s->column_count + 1, sizeof(*types));
	for (uint32_t c = 0; types && c < s->column_count; c++)
		types[c] = s->columns[c].type;
	struct rql_batch *row = types ? rql_batch_new(s->column_count, types, 1) : NULL;
	bool nulls = row != NULL;
	for (uint32_t c = 0; nulls && c < s->column_count; c++)
		nulls = rql_batch_set_null(row, c, 0);
	if (nulls && rql_store_append(store, row, NULL) == RQL_OK) {
		const struct rql_store_snapshot *after = rql_store_snapshot(store);
		read_snapshot(after);
		read_dependencies(after);
		rql_store_snapshot_release(after);
	}
	if (row)
		rql_batch_release(row);
	free(types);
	rql_store_snapshot_release(s);
}

static void read_image(const uint8_t *data, size_t size)
{
	struct rql_budget budget = {0};
	struct rql_store *store = NULL;
	char path[] = "/dev/shm/rayql-fuzz-XXXXXX"; /* not a link to a descriptor: those are not followed */
	int fd = mkstemp(path);
	if (fd < 0)
		return;
	atomic_store(&budget.limit, UINT64_C(64) << 20);
	bool written = write(fd, data, size) == (ssize_t)size;
	if (written && rql_store_file_read(RQL_PLACE(path), NULL, 0, &budget, &store, NULL) == RQL_OK) {
		const struct rql_store_snapshot *s = rql_store_snapshot(store);
		read_snapshot(s);
		read_dependencies(s);
		rql_store_snapshot_release(s);
		append_row(store);
		if (rql_store_compact(store, NULL) == RQL_OK) { /* what may be wrong is written anew */
			s = rql_store_snapshot(store);
			if (rql_store_check(s, NULL) != RQL_OK)
				abort();
			read_snapshot(s);
			rql_store_snapshot_release(s);
		}
		rql_store_release(store);
	}
	close(fd);
	(void)unlink(path);
	if (atomic_load(&budget.used) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	read_image(data, size);
	uint8_t *sealed = malloc(size ? size : 1);
	if (!sealed)
		return 0;
	memcpy(sealed, data, size);
	rql_store_file_seal(sealed, size);
	read_image(sealed, size);
	free(sealed);
	return 0;
}

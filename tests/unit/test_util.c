/* util: bits, arena, large blocks, status, strbuf, thread pool, keyed checksums, files of others. `test_util latency` prints what a
 * hand-over to the pool costs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/arena.h"
#include "util/bits.h"
#include "util/budget.h"
#include "util/files.h"
#include "util/large.h"
#include "util/mac.h"
#include "util/status.h"
#include "util/strbuf.h"
#include "util/sort.h"
#include "util/threads.h"

/* ---- arena ------------------------------------------------------------------------------------------------------ */

static void test_arena_aligned_zeroed_disjoint(void **state)
{
	(void)state;
	struct rql_arena *arena = rql_arena_new();
	assert_non_null(arena);
	enum { N = 3000 };
	static unsigned char *at[N];
	static size_t sizes[N];
	uint64_t seed = 42;
	size_t total = 0;
	for (int i = 0; i < N; i++) {
		seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		sizes[i] = (seed >> 33) % (i % 100 == 0 ? 100000 : 200);
		at[i] = rql_arena_alloc(arena, sizes[i]);
		assert_non_null(at[i]);
		assert_int_equal((uintptr_t)at[i] % 16, 0);
		for (size_t k = 0; k < sizes[i]; k++)
			assert_int_equal(at[i][k], 0);
		memset(at[i], i & 0xff, sizes[i]);
		total += sizes[i];
	}
	for (int i = 0; i < N; i++)
		for (size_t k = 0; k < sizes[i]; k++)
			assert_int_equal(at[i][k], i & 0xff);
	assert_true(rql_arena_bytes(arena) >= total);
	assert_true(rql_arena_bytes(arena) <= total + 16 * N);
	rql_arena_free(arena);
	rql_arena_free(NULL);
}

/* What another arena handed out stays where it is, whichever of the two has something. */
static void test_arena_join(void **state)
{
	(void)state;
	for (unsigned first = 0; first < 2; first++) {
		for (unsigned second = 0; second < 2; second++) {
			struct rql_arena *to = rql_arena_new(), *from = rql_arena_new();
			char *a = first ? rql_arena_strdup(to, "first") : NULL;
			char *b = second ? rql_arena_strdup(from, "second") : NULL;
			char *large = second ? rql_arena_alloc(from, 1000000) : NULL;
			size_t bytes = rql_arena_bytes(to) + rql_arena_bytes(from);
			rql_arena_join(to, from);
			assert_int_equal(rql_arena_bytes(to), bytes);
			char *c = rql_arena_strdup(to, "third");
			assert_true(!a || !strcmp(a, "first"));
			assert_true(!b || !strcmp(b, "second"));
			assert_true(!large || !large[999999]);
			assert_string_equal(c, "third");
			rql_arena_free(to);
		}
	}
}

/* ---- large blocks ----------------------------------------------------------------------------------------------- */

static void test_large_blocks(void **state)
{
	struct rql_error err = {0};
	struct rql_pool *pool = NULL;
	(void)state;
	assert_int_equal(rql_pool_new(3, &pool, &err), RQL_OK);
	rql_large_give_up(0);
	assert_int_equal(rql_large_kept(), 0);
	for (uint64_t bytes = 1000; bytes < UINT64_C(40) << 20; bytes = bytes * 3 + 7) {
		for (unsigned shared = 0; shared < 2; shared++) {
			unsigned char *dirty = rql_large_alloc(bytes);
			assert_int_equal((uintptr_t)dirty % 64, 0);
			memset(dirty, 0xa5, bytes);
			rql_large_free(dirty);
			assert_int_equal(rql_large_kept() >= bytes, bytes >= RQL_LARGE_LEAST);
			unsigned char *clean = rql_large_zalloc(bytes, shared ? pool : NULL);
			assert_true(bytes < RQL_LARGE_LEAST || clean == dirty);
			for (uint64_t i = 0; i < bytes; i++)
				if (clean[i])
					fail_msg("byte %llu of %llu", (unsigned long long)i, (unsigned long long)bytes);
			rql_large_free(clean);
		}
		rql_large_give_up(0);
		assert_int_equal(rql_large_kept(), 0);
	}
	assert_null(rql_large_alloc(UINT64_MAX));
	assert_null(rql_large_words(UINT64_MAX / 4, NULL));
	rql_large_free(NULL);
	rql_pool_free(pool);
}

/* The oldest go first; and a database takes its memory from them when its limit is near. */
static void test_large_give_up(void **state)
{
	struct rql_budget budget = {.limit = 9 << 20};
	struct rql_error err = {0};
	void *blocks[4];
	(void)state;
	rql_large_give_up(0);
	for (unsigned i = 0; i < 4; i++)
		blocks[i] = rql_large_alloc((2 << 20) - 1);
	for (unsigned i = 0; i < 4; i++)
		rql_large_free(blocks[i]);
	assert_int_equal(rql_large_kept(), 8 << 20);
	rql_large_give_up(5 << 20);
	assert_int_equal(rql_large_kept(), 4 << 20);
	assert_ptr_equal(rql_large_alloc(2 << 20), blocks[3]);
	assert_ptr_equal(rql_large_alloc(2 << 20), blocks[2]);
	rql_large_free(blocks[2]);
	rql_large_free(blocks[3]);
	assert_int_equal(rql_budget_charge(&budget, 5 << 20, "a test", &err), RQL_OK);
	assert_int_equal(rql_large_kept(), 4 << 20);
	assert_int_equal(rql_budget_charge(&budget, 1 << 20, "a test", &err), RQL_OK);
	assert_int_equal(rql_large_kept(), 2 << 20);
	rql_large_give_up(0);
}

#define BLOCK_ROUNDS 300u

static void *use_blocks(void *argument)
{
	uint64_t seed = (uintptr_t)argument;
	for (unsigned i = 0; i < BLOCK_ROUNDS; i++) {
		seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		uint64_t words = 65536 + (seed >> 33) % 65536;
		uint64_t *block = i % 2 ? rql_large_words(words, NULL) : rql_large_alloc(words * 8);
		if (!block || (i % 2 && block[words - 1]))
			return argument;
		block[0] = block[words - 1] = seed;
		if (i % 50 == 0)
			rql_large_give_up(1 << 20);
		if (block[0] != seed || block[words - 1] != seed)
			return argument;
		rql_large_free(block);
	}
	return NULL;
}

static void test_large_threads(void **state)
{
	pthread_t threads[4];
	(void)state;
	for (uintptr_t t = 0; t < 4; t++)
		assert_int_equal(pthread_create(&threads[t], NULL, use_blocks, (void *)(t + 1)), 0);
	for (unsigned t = 0; t < 4; t++) {
		void *failed;
		pthread_join(threads[t], &failed);
		assert_null(failed);
	}
	rql_large_give_up(0);
}

static void test_arena_empty_allocations(void **state)
{
	(void)state;
	struct rql_arena *arena = rql_arena_new();
	void *a = rql_arena_alloc(arena, 0);
	void *b = rql_arena_alloc(arena, 0);
	assert_non_null(a);
	assert_non_null(b);
	assert_ptr_not_equal(a, b);
	assert_non_null(rql_arena_array(arena, 0, SIZE_MAX));
	rql_arena_free(arena);
}

static void test_arena_overflow(void **state)
{
	(void)state;
	struct rql_arena *arena = rql_arena_new();
	assert_null(rql_arena_alloc(arena, SIZE_MAX));
	assert_null(rql_arena_alloc(arena, SIZE_MAX - 15));
	assert_null(rql_arena_array(arena, SIZE_MAX / 2, 3));
	assert_null(rql_arena_array(arena, (size_t)1 << 33, (size_t)1 << 33));
	assert_null(rql_arena_strndup(arena, "", SIZE_MAX));
	assert_int_equal(rql_arena_bytes(arena), 0);
	assert_non_null(rql_arena_alloc(arena, 1)); /* still usable */
	rql_arena_free(arena);
}

static void test_arena_text(void **state)
{
	(void)state;
	struct rql_arena *arena = rql_arena_new();
	assert_string_equal(rql_arena_strdup(arena, "city"), "city");
	assert_string_equal(rql_arena_strdup(arena, ""), "");
	assert_string_equal(rql_arena_strndup(arena, "nation", 3), "nat");
	assert_string_equal(rql_arena_printf(arena, "%s=%d", "x", -7), "x=-7");
	char *wide = rql_arena_printf(arena, "%9000d", 1);
	assert_int_equal(strlen(wide), 9000);
	rql_arena_free(arena);
}

/* ---- status ----------------------------------------------------------------------------------------------------- */

static void test_error_set_and_move(void **state)
{
	(void)state;
	struct rql_error a = {0}, b = {0};
	assert_string_equal(rql_error_message(&a), "");
	assert_string_equal(rql_error_message(NULL), "");
	assert_int_equal(rql_error_set(&a, RQL_ERROR_IO, "cannot read %s", "x.db"), RQL_ERROR_IO);
	assert_string_equal(rql_error_message(&a), "cannot read x.db");
	/* The old message may be an argument of the new one. */
	rql_error_set(&a, RQL_ERROR_CORRUPT, "side file: %s", a.message);
	assert_string_equal(rql_error_message(&a), "side file: cannot read x.db");
	assert_int_equal(a.status, RQL_ERROR_CORRUPT);

	rql_error_set(&b, RQL_ERROR_HOST, "old");
	rql_error_move(&b, &a);
	assert_int_equal(b.status, RQL_ERROR_CORRUPT);
	assert_string_equal(rql_error_message(&b), "side file: cannot read x.db");
	assert_int_equal(a.status, RQL_OK);
	assert_null(a.message);
	rql_error_move(&b, &b);
	assert_string_equal(rql_error_message(&b), "side file: cannot read x.db");
	rql_error_move(NULL, &b);
	assert_null(b.message);

	assert_int_equal(rql_error_set(NULL, RQL_ERROR_IO, "dropped"), RQL_ERROR_IO);
	assert_int_equal(rql_error_memory(&a, 1ull << 40, "cells"), RQL_ERROR_MEMORY);
	assert_string_equal(a.message, "out of memory (1099511627776 bytes for cells); drop a structure, or lower "
	                               "rayql_memory_limit");
	rql_error_memory(&a, 0, "a plan");
	assert_string_equal(a.message, "out of memory (for a plan); drop a structure, or lower rayql_memory_limit");
	rql_error_clear(&a);
	rql_error_clear(&a);
	rql_error_clear(NULL);
}

/* Bit by bit, as they are defined. */
static void test_bits(void **state)
{
	(void)state;
	enum { COUNT = 240 };
	for (uint32_t at = 0; at < 140; at += 7)
		for (uint32_t first = 0; first < 130; first += 13)
			for (uint32_t count = 0; count < 70; count += count < 3 ? 1 : 11) {
				uint64_t from[5], to[5] = {0}, all[5] = {0};
				for (uint32_t w = 0; w < 5; w++)
					from[w] = UINT64_C(0x9e3779b97f4a7c15) * (w + 1 + at);
				rql_bit_set(to, 3);
				rql_bits_copy(to, at, from, first, count);
				rql_bits_set(all, at, at + count);
				uint32_t set = 0;
				for (uint32_t i = 0; i < COUNT; i++) {
					bool in = i >= at && i < at + count;
					assert_int_equal(rql_bit(to, i), i == 3 || (in && rql_bit(from, first + i - at)));
					assert_int_equal(rql_bit(all, i), in);
					set += rql_bit(to, i) != 0;
					assert_int_equal(rql_bits_count(to, i + 1), set);
					assert_int_equal(rql_bits_all(to, i + 1), set == i + 1);
				}
				assert_int_equal(rql_bits_next(all, COUNT, 0, true), count ? at : COUNT);
				assert_int_equal(rql_bits_next(all, COUNT, at, false), at + count);
				rql_bits_set(all, at + 1, at); /* none */
				assert_int_equal(rql_bits_count(all, COUNT), count);
			}
	uint64_t bits[3] = {UINT64_MAX, UINT64_MAX, UINT64_MAX};
	rql_bits_fill(bits, 70);
	assert_int_equal(bits[0], UINT64_MAX);
	assert_int_equal(bits[1], 63);
	assert_int_equal(bits[2], UINT64_MAX);
	assert_true(rql_bits_all(bits, 70) && !rql_bits_all(bits, 71) && rql_bits_all(bits, 0));
	rql_bit_clear(bits, 64);
	assert_false(rql_bit_valid(bits, 64));
	assert_true(rql_bit_valid(NULL, 64));
	rql_bit_or(bits, 64, false);
	assert_int_equal(bits[1], 62);
	rql_bit_or(bits, 64, true);
	assert_int_equal(bits[1], 63);
	assert_int_equal(rql_bit_mask(0), 0);
	assert_int_equal(rql_bit_mask(64), UINT64_MAX);
}

static void test_status_names_differ(void **state)
{
	(void)state;
	for (int i = 0; i <= RQL_ERROR_INTERNAL; i++)
		for (int k = 0; k < i; k++)
			assert_string_not_equal(rql_status_name((rql_status)i), rql_status_name((rql_status)k));
	assert_string_equal(rql_status_name((rql_status)99), "unknown status");
}

static rql_status give(rql_status status)
{
	RQL_TRY(status);
	return RQL_ERROR_INTERNAL;
}

static void test_try(void **state)
{
	(void)state;
	assert_int_equal(give(RQL_ERROR_STALE), RQL_ERROR_STALE);
	assert_int_equal(give(RQL_OK), RQL_ERROR_INTERNAL);
}

/* ---- strbuf ----------------------------------------------------------------------------------------------------- */

static void test_strbuf_puts(void **state)
{
	(void)state;
	struct rql_strbuf buf = {0};
	assert_string_equal(rql_strbuf_text(&buf), "");
	rql_strbuf_put(&buf, "select ");
	rql_strbuf_put_n(&buf, "sum(x)", 4);
	rql_strbuf_putc(&buf, 'y');
	rql_strbuf_printf(&buf, ") from t%d", 12);
	rql_strbuf_put(&buf, "");
	assert_string_equal(rql_strbuf_text(&buf), "select sum(y) from t12");
	assert_int_equal(buf.length, strlen("select sum(y) from t12"));
	size_t capacity = buf.capacity;
	rql_strbuf_clear(&buf);
	assert_string_equal(rql_strbuf_text(&buf), "");
	assert_int_equal(buf.capacity, capacity);
	rql_strbuf_put_n(&buf, "a\0b", 3); /* bytes, not C strings */
	assert_int_equal(buf.length, 3);
	assert_memory_equal(buf.data, "a\0b", 4);
	assert_ptr_equal(rql_strbuf_sql(&buf), rql_strbuf_text(&buf));
	buf.failed = true; /* what is cut off is no SQL */
	assert_null(rql_strbuf_sql(&buf));
	rql_strbuf_free(&buf);
}

static void test_strbuf_grows(void **state)
{
	(void)state;
	struct rql_strbuf buf = {0};
	for (int i = 0; i < 100000; i++)
		rql_strbuf_putc(&buf, (char)('a' + i % 26));
	rql_strbuf_printf(&buf, "%*d", 70000, 5);
	assert_false(buf.failed);
	assert_int_equal(buf.length, 170000);
	for (int i = 0; i < 100000; i++)
		assert_int_equal(buf.data[i], 'a' + i % 26);
	assert_int_equal(buf.data[169999], '5');
	assert_int_equal(buf.data[170000], '\0');
	rql_strbuf_free(&buf);
}

static void test_strbuf_quotes(void **state)
{
	(void)state;
	static const struct {
		const char *text, *ident, *literal;
	} cases[] = {
		{"city", "\"city\"", "'city'"},
		{"", "\"\"", "''"},
		{"a\"b", "\"a\"\"b\"", "'a\"b'"},
		{"it's", "\"it's\"", "'it''s'"},
		{"\"", "\"\"\"\"", "'\"'"},
		{"''", "\"''\"", "''''''"},
		{"\"\"x\"", "\"\"\"\"\"x\"\"\"", "'\"\"x\"'"},
		{"order", "\"order\"", "'order'"},
		{"\xc3\xa9\\n", "\"\xc3\xa9\\n\"", "'\xc3\xa9\\n'"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rql_strbuf buf = {0};
		rql_strbuf_put_ident(&buf, cases[i].text);
		assert_string_equal(rql_strbuf_text(&buf), cases[i].ident);
		rql_strbuf_clear(&buf);
		rql_strbuf_put_literal(&buf, cases[i].text, strlen(cases[i].text));
		assert_string_equal(rql_strbuf_text(&buf), cases[i].literal);
		rql_strbuf_free(&buf);
	}
	struct rql_strbuf buf = {0};
	rql_strbuf_put_literal(&buf, "a'\0'b", 5);
	assert_int_equal(buf.length, 9);
	assert_memory_equal(buf.data, "'a''\0''b'", 10);
	rql_strbuf_free(&buf);
}

static void test_strbuf_take(void **state)
{
	(void)state;
	struct rql_strbuf buf = {0};
	char *text = rql_strbuf_take(&buf);
	assert_string_equal(text, "");
	free(text);
	rql_strbuf_put(&buf, "abc");
	text = rql_strbuf_take(&buf);
	assert_string_equal(text, "abc");
	free(text);
	assert_null(buf.data);
	assert_int_equal(buf.length, 0);
	rql_strbuf_put(&buf, "d");
	rql_strbuf_clear(&buf);
	text = rql_strbuf_take(&buf);
	assert_string_equal(text, "");
	free(text);
}

static void test_strbuf_failure_is_remembered(void **state)
{
	(void)state;
	struct rql_strbuf buf = {0};
	rql_strbuf_put(&buf, "abc");
	rql_strbuf_put_n(&buf, "x", SIZE_MAX - 1); /* refused before anything is read */
	assert_true(buf.failed);
	rql_strbuf_put(&buf, "def");
	assert_string_equal(rql_strbuf_text(&buf), "abc");
	assert_null(rql_strbuf_take(&buf));
	assert_false(buf.failed); /* take empties it */
	assert_null(buf.data);
}

/* ---- budget ----------------------------------------------------------------------------------------------------- */

static void test_format_bytes(void **state)
{
	(void)state;
	static const struct {
		uint64_t bytes;
		const char *text;
	} cases[] = {
		{0, "0 bytes"},
		{1023, "1023 bytes"},
		{1024, "1.0 KiB"},
		{1536, "1.5 KiB"},
		{(1 << 20) - 1, "1.0 MiB"},
		{512 << 20, "512.0 MiB"},
		{UINT64_C(8) << 30, "8.0 GiB"},
		{UINT64_MAX, "16.0 EiB"},
	};
	char text[24];
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(rql_format_bytes(text, cases[i].bytes), cases[i].text);
}

static void test_parse_bytes(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		uint64_t bytes;
	} good[] = {
		{"8GB", UINT64_C(8000000000)},
		{"512 MiB", UINT64_C(512) << 20},
		{"1000000", 1000000},
		{" 1.5gb ", 1500000000},
		{"1e3 kb", 1000000},
		{"4 gigabytes", 4000000000},
		{"7 bytes", 7},
		{"2TiB", UINT64_C(2) << 40},
		{"3K", 3000},
	};
	static const char *const bad[] = {"",      "GB",  "-1",    "+8GB", "8 parsecs", "1 GB x", "0",
	                                  "0.1 b", "inf", "0x10b", "nan",  "1e30 TB",   "..GB",   "%"};
	uint64_t bytes = 0;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_true(rql_parse_bytes(good[i].text, &bytes));
		assert_int_equal(bytes, good[i].bytes);
	}
	bytes = 77;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_false(rql_parse_bytes(bad[i], &bytes));
		assert_int_equal(bytes, 77);
	}
	assert_true(rql_parse_bytes("50%", &bytes));
	assert_true(bytes <= rql_machine_memory() / 2 && bytes > rql_machine_memory() / 3);
}

static void test_budget_charges(void **state)
{
	(void)state;
	struct rql_budget budget = {0};
	struct rql_error err = {0};
	assert_int_equal(rql_budget_charge(&budget, UINT64_C(1) << 40, "x", &err), RQL_OK); /* no limit */
	rql_budget_release(&budget, UINT64_C(1) << 40);
	budget.limit = UINT64_C(8) << 30;
	assert_int_equal(rql_budget_charge(&budget, UINT64_C(8) << 30, "x", &err), RQL_OK); /* to the byte */
	rql_budget_release(&budget, UINT64_C(256) << 20);
	assert_int_equal(rql_budget_charge(&budget, UINT64_C(512) << 20, "building cube v", &err), RQL_ERROR_LIMIT);
	assert_string_equal(rql_error_message(&err),
	                    "memory limit of 8.0 GiB reached: building cube v needs 512.0 MiB more, 7.8 GiB are in use; "
	                    "raise it with SET rayql_memory_limit, or drop a structure");
	assert_int_equal(budget.used, (UINT64_C(8) << 30) - (256 << 20)); /* a refusal charges nothing */
	assert_int_equal(rql_budget_charge(&budget, UINT64_MAX, "x", NULL), RQL_ERROR_LIMIT);
	rql_error_clear(&err);
}

static void *charging(void *argument)
{
	struct rql_budget *budget = argument;
	for (int i = 0; i < 20000; i++)
		if (rql_budget_charge(budget, 3, "x", NULL) == RQL_OK) {
			assert_true(atomic_load(&budget->used) <= atomic_load(&budget->limit));
			rql_budget_release(budget, 3);
		}
	return NULL;
}

static void test_budget_is_shared(void **state)
{
	(void)state;
	struct rql_budget budget = {.limit = 7}; /* two fit, three do not */
	pthread_t threads[3];
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, charging, &budget), 0);
	for (size_t i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(budget.used, 0);
}

/* ---- thread pool ------------------------------------------------------------------------------------------------ */

#define MAX_WORKERS 16

struct loop {
	struct rql_pool *pool;
	uint64_t count;
	_Atomic uint8_t *seen;                /* how often each index came */
	uint64_t sums[MAX_WORKERS][8];        /* plain, so TSan proves that a worker's state is private and handed back */
	_Atomic unsigned inside[MAX_WORKERS]; /* threads that use a worker's state right now */
};

static void count_chunk(void *state, uint64_t index, unsigned worker)
{
	struct loop *loop = state;
	assert_true(worker < rql_pool_threads(loop->pool));
	assert_int_equal(atomic_fetch_add(&loop->inside[worker], 1), 0);
	assert_true(index < loop->count);
	atomic_fetch_add(&loop->seen[index], 1);
	loop->sums[worker][0] += index;
	atomic_fetch_sub(&loop->inside[worker], 1);
}

/* Every index once, and all worker states readable when the loop has returned. */
static void check_loop(struct rql_pool *pool, uint64_t count)
{
	struct loop *loop = calloc(1, sizeof(*loop));
	assert_non_null(loop);
	loop->pool = pool;
	loop->count = count;
	loop->seen = calloc(count + 1, sizeof(*loop->seen));
	assert_non_null(loop->seen);
	rql_pool_run(pool, count, count_chunk, loop);
	uint64_t sum = 0;
	for (unsigned w = 0; w < rql_pool_threads(pool); w++)
		sum += loop->sums[w][0];
	assert_int_equal(sum, count ? count * (count - 1) / 2 : 0);
	for (uint64_t i = 0; i < count; i++)
		assert_int_equal(loop->seen[i], 1);
	free((void *)loop->seen);
	free(loop);
}

static struct rql_pool *new_pool(unsigned threads)
{
	struct rql_pool *pool = NULL;
	struct rql_error err = {0};
	assert_int_equal(rql_pool_new(threads, &pool, &err), RQL_OK);
	assert_non_null(pool);
	return pool;
}

static void test_pool_sizes(void **state)
{
	(void)state;
	static const unsigned threads[] = {1, 2, 3, 16};
	static const uint64_t counts[] = {0, 1, 2, 3, 17, 1000, 20000};
	for (size_t t = 0; t < sizeof(threads) / sizeof(threads[0]); t++) {
		struct rql_pool *pool = new_pool(threads[t]);
		assert_int_equal(rql_pool_threads(pool), threads[t]);
		for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++)
			check_loop(pool, counts[c]);
		rql_pool_free(pool);
	}
	struct rql_pool *pool = new_pool(0);
	assert_true(rql_pool_threads(pool) >= 1);
	rql_pool_free(pool);
	rql_pool_free(NULL);
}

static void test_pool_too_large(void **state)
{
	(void)state;
	struct rql_pool *pool = NULL;
	struct rql_error err = {0};
	assert_int_equal(rql_pool_new(1u << 30, &pool, &err), RQL_ERROR_MISUSE);
	assert_null(pool);
	assert_non_null(strstr(rql_error_message(&err), "1073741824 threads"));
	rql_error_clear(&err);
}

/* Loop after loop without a pause, and with pauses in which the workers fall asleep. */
static void test_pool_many_loops(void **state)
{
	(void)state;
	static const unsigned threads[] = {2, 5};
	for (size_t t = 0; t < sizeof(threads) / sizeof(threads[0]); t++) {
		struct rql_pool *pool = new_pool(threads[t]);
		for (int i = 0; i < 3000; i++)
			check_loop(pool, (uint64_t)(i % 9));
		for (int i = 0; i < 200; i++) {
			usleep(i % 3 ? 40 : 300); /* around the time that workers poll before they sleep */
			check_loop(pool, 8);
		}
		rql_pool_free(pool);
	}
}

static void slow_chunk(void *state, uint64_t index, unsigned worker)
{
	count_chunk(state, index, worker);
	usleep(200);
}

/* Chunks longer than the polling time: the caller sleeps until the last worker leaves. */
static void test_pool_long_chunks(void **state)
{
	(void)state;
	struct rql_pool *pool = new_pool(4);
	for (int i = 0; i < 50; i++) {
		_Atomic uint8_t seen[7] = {0};
		struct loop loop = {.pool = pool, .count = 7, .seen = seen};
		rql_pool_run(pool, 7, slow_chunk, &loop);
		for (int k = 0; k < 7; k++)
			assert_int_equal(seen[k], 1);
	}
	rql_pool_free(pool);
}

static void nested_chunk(void *state, uint64_t index, unsigned worker)
{
	(void)index;
	(void)worker;
	check_loop(state, 50);
}

static void test_pool_nested(void **state)
{
	(void)state;
	struct rql_pool *pool = new_pool(3);
	for (int i = 0; i < 20; i++)
		rql_pool_run(pool, 20, nested_chunk, pool);
	rql_pool_free(pool);
}

static void *busy_caller(void *argument)
{
	for (int i = 0; i < 300; i++)
		check_loop(argument, 40);
	return NULL;
}

/* Several callers at once share the workers, and nobody's chunks are lost. */
static void test_pool_concurrent_callers(void **state)
{
	(void)state;
	struct rql_pool *pool = new_pool(3);
	pthread_t callers[19]; /* more than have the workers at once */
	for (size_t i = 0; i < 19; i++)
		assert_int_equal(pthread_create(&callers[i], NULL, busy_caller, pool), 0);
	busy_caller(pool);
	for (size_t i = 0; i < 19; i++)
		pthread_join(callers[i], NULL);
	rql_pool_free(pool);
}

static void meet(void *state, uint64_t index, unsigned worker)
{
	(void)index;
	(void)worker;
	_Atomic int *arrived = state;
	atomic_fetch_add(arrived, 1);
	while (atomic_load(arrived) < 3)
		usleep(10);
}

/* Chunks that wait for each other end only if three threads really work at once. */
static void test_pool_is_parallel(void **state)
{
	(void)state;
	struct rql_pool *pool = new_pool(3);
	for (int i = 0; i < 100; i++) {
		_Atomic int arrived = 0;
		rql_pool_run(pool, 3, meet, &arrived);
		assert_int_equal(arrived, 3);
	}
	rql_pool_free(pool);
}

struct two_loops {
	struct rql_pool *pool;
	_Atomic int arrived;              /* in the second loop */
	_Atomic bool second, met;         /* the second one is to begin; two threads were in it at once */
	_Atomic uint64_t before, behind;  /* chunks of the first one */
};

static void long_loop_chunk(void *state, uint64_t index, unsigned worker)
{
	struct two_loops *two = state;
	(void)index;
	(void)worker;
	if (atomic_load(&two->met)) {
		atomic_fetch_add(&two->behind, 1);
		return;
	}
	if (atomic_fetch_add(&two->before, 1) == 20)
		atomic_store(&two->second, true);
	usleep(100);
}

static void meeting_chunk(void *state, uint64_t index, unsigned worker)
{
	struct two_loops *two = state;
	(void)index;
	(void)worker;
	atomic_fetch_add(&two->arrived, 1);
	while (atomic_load(&two->arrived) < 2)
		usleep(10);
	atomic_store(&two->met, true);
}

static void *second_caller(void *argument)
{
	struct two_loops *two = argument;
	while (!atomic_load(&two->second))
		usleep(10);
	rql_pool_run(two->pool, 2, meeting_chunk, two);
	return NULL;
}

/* A loop that begins when all threads are at work in another one has some of them before that one ends. */
static void test_pool_shares_its_threads(void **state)
{
	(void)state;
	struct two_loops two = {.pool = new_pool(3)};
	pthread_t other;
	assert_int_equal(pthread_create(&other, NULL, second_caller, &two), 0);
	rql_pool_run(two.pool, 20000, long_loop_chunk, &two);
	assert_true(two.behind);
	pthread_join(other, NULL);
	rql_pool_free(two.pool);
}

/* Items are places in an array of keys with many ties: equal keys must keep their order. */
static int by_key(const void *context, uint32_t a, uint32_t b)
{
	const uint32_t *keys = context;
	return (keys[a] > keys[b]) - (keys[a] < keys[b]);
}

static void test_sort_is_stable(void **state)
{
	enum { MOST = 1000 };
	uint32_t keys[MOST] = {0}, items[MOST], spare[MOST], seed = 1;
	(void)state;
	for (uint32_t count = 0; count <= MOST; count = count * 2 + 1) {
		for (uint32_t i = 0; i < count; i++) {
			seed = seed * 1664525u + 1013904223u;
			keys[i] = (seed >> 16) % 7;
			items[i] = i;
		}
		rql_sort_items(items, spare, count, by_key, keys);
		for (uint32_t i = 1; i < count; i++) {
			assert_true(keys[items[i - 1]] <= keys[items[i]]);
			if (keys[items[i - 1]] == keys[items[i]])
				assert_true(items[i - 1] < items[i]);
		}
	}
}

/* The low bits hold the place where a word was, and do not count. */
static void test_sort_of_words_is_stable(void **state)
{
	enum { MOST = 3000, PLACE = 12 };
	uint64_t words[MOST], spare[MOST], random = 1;
	(void)state;
	for (uint32_t count = 0; count <= MOST; count = count * 3 / 2 + 1) {
		for (unsigned cut = 0; cut < 64 - PLACE; cut++) { /* from words of 52 random bits to words of 1 */
			for (uint32_t i = 0; i < count; i++) {
				random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
				words[i] = random >> PLACE >> cut << PLACE | i;
			}
			const uint64_t *sorted = rql_sort_words(words, spare, count, PLACE);
			for (uint32_t i = 1; i < count; i++)
				assert_true(sorted[i - 1] < sorted[i]);
		}
	}
}

static void test_sort_of_keyed_items_is_stable(void **state)
{
	enum { MOST = 3000 };
	struct item {
		uint32_t place;
		uint64_t key;
	} items[MOST], spare[MOST];
	uint64_t random = 1;
	(void)state;
	for (uint32_t count = 0; count <= MOST; count = count * 3 / 2 + 1) {
		for (unsigned cut = 0; cut <= 64; cut += 8) { /* from keys of 64 random bits to equal ones */
			for (uint32_t i = 0; i < count; i++) {
				random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
				items[i] = (struct item){i, cut < 64 ? random >> cut : 7};
			}
			const struct item *sorted =
				rql_sort_keyed(items, spare, count, sizeof *items, offsetof(struct item, key));
			for (uint32_t i = 1; i < count; i++)
				assert_true(sorted[i - 1].key < sorted[i].key ||
				            (sorted[i - 1].key == sorted[i].key && sorted[i - 1].place < sorted[i].place));
		}
	}
}

static void test_now_is_monotonic(void **state)
{
	(void)state;
	uint64_t before = rql_now_ns();
	for (int i = 0; i < 10000; i++) {
		uint64_t now = rql_now_ns();
		assert_true(now >= before);
		before = now;
	}
}

/* ---- `test_util latency`: a report, no test --------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

static void spin_chunk(void *state, uint64_t index, unsigned worker)
{
	(void)index;
	(void)worker;
	uint64_t until = rql_now_ns() + *(uint64_t *)state;
	while (rql_now_ns() < until) {
	}
}

static void print_latency(struct rql_pool *pool, unsigned pause_us, uint64_t chunk_ns)
{
	enum { LOOPS = 2000 };
	static uint64_t times[LOOPS];
	for (int i = 0; i < LOOPS; i++) {
		for (uint64_t until = rql_now_ns() + pause_us * UINT64_C(1000); rql_now_ns() < until;) {
		}
		uint64_t start = rql_now_ns();
		rql_pool_run(pool, 2, spin_chunk, &chunk_ns);
		times[i] = rql_now_ns() - start;
	}
	qsort(times, LOOPS, sizeof(times[0]), by_value);
	printf("%8u us %10.1f us %10.1f us %10.1f us\n", pause_us, (double)chunk_ns / 1e3, (double)times[LOOPS / 2] / 1e3,
	       (double)times[LOOPS * 99 / 100] / 1e3);
}

static int report_latency(void)
{
	struct rql_pool *pool = NULL;
	if (rql_pool_new(0, &pool, NULL) != RQL_OK)
		return 1;
	printf("%u threads, two chunks a loop\n%11s %13s %13s %13s\n", rql_pool_threads(pool), "pause", "chunk",
	       "loop, median", "loop, p99");
	static const unsigned pauses[] = {0, 20, 200};
	static const uint64_t chunks[] = {0, 10000, 50000, 200000};
	for (size_t p = 0; p < 3; p++)
		for (size_t c = 0; c < 4; c++)
			print_latency(pool, pauses[p], chunks[c]);
	rql_pool_free(pool);
	return 0;
}

/* ---- mac -------------------------------------------------------------------------------------------------------- */

/* The key 00..0f over 00, 01, ...: the first two outputs of the authors' list of 128-bit vectors. */
static void test_mac_of_known_texts(void **state)
{
	static const uint8_t want[2][16] = {
		{0xa3, 0x81, 0x7f, 0x04, 0xba, 0x25, 0xa8, 0xe6, 0x6d, 0xf6, 0x72, 0x14, 0xc7, 0x55, 0x02, 0x93},
		{0xda, 0x87, 0xc1, 0xd8, 0x6b, 0x99, 0xaf, 0x44, 0x34, 0x76, 0x59, 0x11, 0x9b, 0x22, 0xfc, 0x45}};
	const struct rql_mac_key key = {{UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)}}, other = {{1, 0}};
	uint8_t text[40] = {0};
	uint64_t out[2], again[2];
	(void)state;
	for (unsigned n = 0; n < 2; n++) {
		rql_mac(&key, text, n, out);
		for (unsigned i = 0; i < 16; i++)
			assert_int_equal((uint8_t)(out[i / 8] >> 8 * (i % 8)), want[n][i]);
	}
	/* Every bit of the text, its length and the key count. */
	rql_mac(&key, text, sizeof text, out);
	for (unsigned bit = 0; bit < 8 * sizeof text; bit++) {
		text[bit / 8] ^= (uint8_t)(1u << bit % 8);
		rql_mac(&key, text, sizeof text, again);
		assert_true(again[0] != out[0] && again[1] != out[1]);
		text[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	rql_mac(&key, text, sizeof text - 1, again);
	assert_true(again[0] != out[0]);
	rql_mac(&other, text, sizeof text, again);
	assert_true(again[0] != out[0]);
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static void refuses(const struct rql_file_place *place, const char *text)
{
	struct rql_error err = {0};
	int fd = -1;
	assert_int_equal(rql_file_open(place, &fd, &err), RQL_ERROR_IO);
	if (!strstr(rql_error_message(&err), text))
		fail_msg("%s", rql_error_message(&err));
	rql_error_clear(&err);
}

static void test_files_of_others(void **state)
{
	char folder[] = "/tmp/rayql-util-XXXXXX", link[64], command[64];
	struct rql_file_place place = {.name = "file", .path = "file", .mode = 0600};
	struct rql_file_stamp stamp;
	struct iovec parts[] = {{"one ", 4}, {"two", 3}};
	char *data = NULL;
	uint64_t size = 0;
	int fd = 7;
	(void)state;
	assert_non_null(mkdtemp(folder));
	assert_int_equal(rql_folder_open(folder, false, 0700, &place.folder, NULL), RQL_OK);
	assert_int_equal(rql_file_open(&place, &fd, NULL), RQL_OK);
	assert_int_equal(fd, -1);
	/* A link that waits under the temporary name is not followed. */
	assert_int_equal(symlinkat("/tmp/rayql-util-no-such-file", place.folder, "file.tmp"), 0);
	assert_int_equal(rql_file_put(&place, "tmp", parts, 2, NULL), RQL_OK);
	assert_int_equal(rql_file_get(&place, 100, &data, &size, NULL), RQL_OK);
	assert_string_equal(data, "one two");
	assert_int_equal(size, 7);
	free(data);
	assert_int_equal(rql_file_get(&place, 6, &data, &size, NULL), RQL_ERROR_IO);
	assert_true(rql_file_stamp(place.folder, "file", &stamp));
	place.stamp = &stamp;
	assert_int_equal(rql_file_open(&place, &fd, NULL), RQL_OK);
	close(fd);
	assert_int_equal(fchmodat(place.folder, "file", 0620, 0), 0);
	refuses(&place, "others may write");
	assert_int_equal(fchmodat(place.folder, "file", 0600, 0), 0);
	refuses(&place, "not the file that RayQL left");
	place.stamp = NULL;
	assert_int_equal(renameat(place.folder, "file", place.folder, "there"), 0);
	assert_int_equal(symlinkat("there", place.folder, "file"), 0);
	refuses(&place, "symbolic link");
	assert_false(rql_file_stamp(place.folder, "file", &stamp));
	assert_int_equal(unlinkat(place.folder, "file", 0), 0);
	assert_int_equal(mkfifoat(place.folder, "file", 0600), 0);
	refuses(&place, "no regular file");
	close(place.folder);
	/* Folders. */
	snprintf(link, sizeof link, "%s.link", folder);
	assert_int_equal(symlink(folder, link), 0);
	assert_int_equal(rql_folder_open(link, true, 0700, &fd, NULL), RQL_ERROR_IO);
	assert_int_equal(unlink(link), 0);
	assert_int_equal(rql_folder_open(link, false, 0700, &fd, NULL), RQL_OK);
	assert_int_equal(fd, -1);
	snprintf(command, sizeof command, "rm -r '%s'", folder);
	assert_int_equal(system(command), 0);
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "latency") == 0)
		return report_latency();
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arena_aligned_zeroed_disjoint),
		cmocka_unit_test(test_arena_empty_allocations),
		cmocka_unit_test(test_arena_join),
		cmocka_unit_test(test_large_blocks),
		cmocka_unit_test(test_large_give_up),
		cmocka_unit_test(test_large_threads),
		cmocka_unit_test(test_arena_overflow),
		cmocka_unit_test(test_arena_text),
		cmocka_unit_test(test_error_set_and_move),
		cmocka_unit_test(test_status_names_differ),
		cmocka_unit_test(test_bits),
		cmocka_unit_test(test_try),
		cmocka_unit_test(test_strbuf_puts),
		cmocka_unit_test(test_strbuf_grows),
		cmocka_unit_test(test_strbuf_quotes),
		cmocka_unit_test(test_strbuf_take),
		cmocka_unit_test(test_strbuf_failure_is_remembered),
		cmocka_unit_test(test_format_bytes),
		cmocka_unit_test(test_parse_bytes),
		cmocka_unit_test(test_budget_charges),
		cmocka_unit_test(test_budget_is_shared),
		cmocka_unit_test(test_pool_sizes),
		cmocka_unit_test(test_pool_too_large),
		cmocka_unit_test(test_pool_many_loops),
		cmocka_unit_test(test_pool_long_chunks),
		cmocka_unit_test(test_pool_nested),
		cmocka_unit_test(test_pool_concurrent_callers),
		cmocka_unit_test(test_pool_is_parallel),
		cmocka_unit_test(test_pool_shares_its_threads),
		cmocka_unit_test(test_sort_is_stable),
		cmocka_unit_test(test_sort_of_words_is_stable),
		cmocka_unit_test(test_sort_of_keyed_items_is_stable),
		cmocka_unit_test(test_now_is_monotonic),
		cmocka_unit_test(test_mac_of_known_texts),
		cmocka_unit_test(test_files_of_others),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Partitions in the host's memory, by several threads: each row once, with its columns, equal keys in one partition, the
 * same of a second pass, with and without a file. What threads of devices that fail leave to the others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "primitive/host/host_share.h"
#include "primitive/host/host_store.h"
#include "util/threads.h"

#define ROWS 200000u

struct rows {
	uint64_t *keys, *wide;
	uint32_t *narrow;
};

static struct rql_host_rows described(const struct rows *r, uint64_t first, uint64_t count)
{
	return (struct rql_host_rows){.count = count, .keys = r->keys + first, .columns = {r->narrow + first, r->wide + first}};
}

static struct rows rows_new(void)
{
	struct rows r = {malloc(ROWS * 8), malloc(ROWS * 8), malloc(ROWS * 4)};
	assert_true(r.keys && r.wide && r.narrow);
	return r;
}

static void rows_free(struct rows *r)
{
	free(r->keys);
	free(r->wide);
	free(r->narrow);
}

static struct rql_host_store *store_new(struct rql_host_memory *memory, struct rql_pool *pool, uint32_t bits, uint32_t used)
{
	const struct rql_host_store_spec spec = {.shape = {.key_bits = 64, .column_count = 2, .column_bits = {32, 64}},
	                                         .bits = bits, .used = used, .memory = memory, .pool = pool};
	struct rql_host_store *store = NULL;
	assert_int_equal(rql_host_store_new(&spec, &store, NULL), RQL_OK);
	return store;
}

/* Rows of a partition in two parts, which begin anywhere in blocks; part_of[key]: one partition. */
static void check_part(const struct rql_host_store *store, uint32_t part, uint8_t *seen, uint32_t *part_of)
{
	const uint64_t rows = rql_host_store_rows(store, part), half = rows / 3;
	struct rows back = rows_new();
	const struct rql_host_rows first = described(&back, 0, half), second = described(&back, half, rows - half);
	assert_int_equal(rql_host_store_read(store, part, 0, &first, NULL), RQL_OK);
	assert_int_equal(rql_host_store_read(store, part, half, &second, NULL), RQL_OK);
	for (uint64_t i = 0; i < rows; i++) {
		const uint32_t row = back.narrow[i];
		assert_true(row < ROWS && !seen[row]++);
		assert_true(back.keys[i] == row % 5000 && back.wide[i] == ~(uint64_t)row);
		assert_true(!part_of[row % 5000] || part_of[row % 5000] == part + 1);
		part_of[row % 5000] = part + 1;
	}
	rows_free(&back);
}

static uint64_t check_all(const struct rql_host_store *store, uint32_t bits)
{
	uint8_t *seen = calloc(ROWS, 1);
	uint32_t *part_of = calloc(5000, 4);
	uint64_t rows = 0, most = 0;
	for (uint32_t p = 0; p < 1u << bits; p++) {
		check_part(store, p, seen, part_of);
		rows += rql_host_store_rows(store, p);
		most = rql_host_store_rows(store, p) > most ? rql_host_store_rows(store, p) : most;
	}
	free(seen);
	free(part_of);
	assert_true(most < 2 * (rows >> bits) + 200); /* they are alike */
	return rows;
}

/* Of the source's rows those whose number is no multiple of 7, which are all's one after the other. */
struct source {
	const struct rows *all;
};

static uint64_t source_rows(uint64_t number)
{
	return number / 6 * 7 + number % 6 + 1; /* 0, 7, 14, ... are left out */
}

static void read_source(void *state, uint64_t first, struct rql_host_rows *rows)
{
	const struct source *s = state;
	uint64_t n = 0;
	for (uint64_t i = first; i < first + rows->count; i++) {
		if (i % 7 == 0)
			continue;
		const uint64_t from = i / 7 * 6 + i % 7 - 1;
		((uint64_t *)rows->keys)[n] = s->all->keys[from];
		((uint32_t *)rows->columns[0])[n] = s->all->narrow[from];
		((uint64_t *)rows->columns[1])[n++] = s->all->wide[from];
	}
	rows->count = n;
}

static void check(uint64_t limit, uint32_t bits, const char *folder)
{
	struct rql_host_memory *memory = NULL;
	struct rql_pool *pool = NULL;
	struct rows all = rows_new(), part = rows_new();
	for (uint32_t i = 0; i < ROWS; i++) {
		all.keys[i] = i % 5000;
		all.narrow[i] = i;
		all.wide[i] = ~(uint64_t)i;
	}
	assert_int_equal(rql_pool_new(4, &pool, NULL), RQL_OK);
	assert_int_equal(rql_host_memory_new(limit, folder, 0, &memory, NULL), RQL_OK);
	struct rql_host_store *store = store_new(memory, pool, bits, 0), *again = store_new(memory, pool, 2, bits);
	const uint64_t lie = ROWS - 70001; /* in memory; those before it come from a source, in two parts */
	struct source state = {.all = &all};
	const struct rql_host_source source = {.read = read_source, .state = &state, .rows = source_rows(lie - 1) + 1};
	const struct rql_host_rows rest = described(&all, lie, 70001);
	assert_int_equal(rql_host_store_take(store, &source, 0, 64000, NULL), RQL_OK);
	assert_int_equal(rql_host_store_take(store, &source, 64000, source.rows, NULL), RQL_OK);
	assert_int_equal(rql_host_store_add(store, &rest, NULL), RQL_OK);
	assert_int_equal(check_all(store, bits), ROWS);
	assert_true(!limit || rql_host_memory_peak(memory) <= limit);
	assert_int_equal(rql_host_memory_spilled(memory) != 0, limit != 0);
	const uint64_t rows = rql_host_store_rows(store, 1);
	const struct rql_host_rows one = described(&part, 0, rows);
	assert_int_equal(rql_host_store_read(store, 1, 0, &one, NULL), RQL_OK);
	rql_host_store_drop(store, 1);
	assert_int_equal(rql_host_store_add(again, &one, NULL), RQL_OK);
	assert_int_equal(check_all(again, 2), rows);
	assert_true(!limit || rql_host_memory_peak(memory) <= limit);
	rql_host_store_free(store);
	rql_host_store_free(again);
	rql_host_memory_free(memory);
	rql_pool_free(pool);
	rows_free(&all);
	rows_free(&part);
}

static void test_partitions(void **state)
{
	(void)state;
	check(0, 3, NULL);
	check(2000000, 4, "/tmp");
}

/* Without a folder what is beyond the limit is refused. */
static void test_limit(void **state)
{
	(void)state;
	struct rql_host_memory *memory = NULL;
	struct rql_error err = {0};
	struct rows all = rows_new();
	memset(all.keys, 7, ROWS * 8);
	memset(all.narrow, 0, ROWS * 4);
	memset(all.wide, 0, ROWS * 8);
	assert_int_equal(rql_host_memory_new(100000, NULL, 0, &memory, NULL), RQL_OK);
	struct rql_host_store *store = store_new(memory, NULL, 1, 0);
	const struct rql_host_rows rows = described(&all, 0, ROWS);
	assert_int_equal(rql_host_store_add(store, &rows, &err), RQL_ERROR_LIMIT);
	assert_non_null(strstr(rql_error_message(&err), "no folder for temporary files"));
	rql_error_clear(&err);
	rql_host_store_free(store);
	rql_host_memory_free(memory);
	rows_free(&all);
}

#define SHARED 4000u
#define SHARERS 4u
struct sharing {
	struct rql_host_share share;
	_Atomic uint64_t next;
	_Atomic uint32_t done[SHARED];
	uint32_t failing; /* so many threads fail, each with its fifth number */
	bool whole;       /* and then it is an error of all */
};
struct sharer {
	struct sharing *s;
	struct rql_device device; /* a name and a number */
	uint32_t number;
};

static void *share_main(void *state)
{
	struct sharer *me = state;
	struct sharing *s = me->s;
	struct rql_error why = {0};
	for (uint32_t i = 0;; i++) {
		struct rql_host_rest rest = {.of = s, .partition = atomic_fetch_add(&s->next, 1)};
		if (rest.partition >= SHARED && !rql_host_share_wait(&s->share, &rest))
			return NULL;
		if (i < 4 || me->number >= s->failing) {
			atomic_fetch_add(&s->done[rest.partition], 1);
			continue;
		}
		assert_int_equal(rql_host_share_put(&s->share, &rest, NULL), RQL_OK);
		(void)rql_error_set(&why, RQL_ERROR_DEVICE, "%u fails", me->number);
		rql_host_share_leave(&s->share, &me->device, !s->whole, false, RQL_ERROR_DEVICE, &why);
		rql_error_clear(&why);
		return NULL;
	}
}

/* Each number is done once, as long as a thread is left. */
static void check_share(uint32_t failing, bool whole)
{
	struct sharing s = {.failing = failing, .whole = whole};
	struct sharer sharers[SHARERS];
	struct rql_error err = {0};
	pthread_t threads[SHARERS];
	rql_host_share_open(&s.share, SHARERS);
	for (uint32_t i = 0; i < SHARERS; i++) {
		sharers[i] = (struct sharer){.s = &s, .device = {.index = i}, .number = i};
		assert_int_equal(pthread_create(&threads[i], NULL, share_main, &sharers[i]), 0);
	}
	for (uint32_t i = 0; i < SHARERS; i++)
		pthread_join(threads[i], NULL);
	const bool well = failing < SHARERS && !whole;
	struct rql_device *failed, *full;
	struct rql_left_devices left = {0};
	assert_int_equal(rql_host_share_end(&s.share, s.next >= SHARED, &failed, &full, &left, &err),
	                 well ? RQL_OK : RQL_ERROR_DEVICE);
	assert_true(well || strstr(rql_error_message(&err), " fails"));
	assert_true(failing < SHARERS || left.failed == (1u << SHARERS) - 1);
	/* Each one's own reason stays with it. */
	for (uint32_t i = 0; i < SHARERS; i++) {
		assert_int_equal(left.failed >> i & 1, sharers[i].device.left != NULL);
		assert_true(!sharers[i].device.left || strtoul(sharers[i].device.left, NULL, 10) == i);
		free(sharers[i].device.left);
	}
	for (uint32_t i = 0; i < SHARED && well; i++)
		assert_int_equal(s.done[i], 1);
	rql_error_clear(&err);
}

static void test_share(void **state)
{
	(void)state;
	check_share(0, false);
	check_share(SHARERS, false);
	check_share(SHARERS, true);
	for (int i = 0; i < 20; i++)
		check_share(1 + i % 3, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_partitions), cmocka_unit_test(test_limit), cmocka_unit_test(test_share)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

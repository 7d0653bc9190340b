/* The code of a request: its tests of 32 rows here, what is done with a row that passed them in scan_code_row.c. */
#include "method/scan/scan_compute.h"

#include <pthread.h>
#include <stdlib.h>

#include "shaders/method/scan/scan_kernel_plain.comp.h"
#include "shaders/method/scan/scan_kernel_real.comp.h"

#define CALL(c, function, type, ...)                                                                                   \
	rql_spirv_call(&(c)->m, function, type, sizeof((uint32_t[]){__VA_ARGS__}) / 4, (const uint32_t[]){__VA_ARGS__})
#define OP2(c, op, type, a, b) rql_spirv_op2(&(c)->m, RQL_SPIRV_##op, RQL_SPIRV_##type, a, b)
#define OP1(c, op, type, a) rql_spirv_op1(&(c)->m, RQL_SPIRV_##op, RQL_SPIRV_##type, a)
#define U32(c, v) rql_spirv_u32(&(c)->m, v)

/* ---- tests of 32 rows ---- */

#define FIELD_WORDS_MAX 32u
struct loaded {
	uint32_t ref, head, rest, fast;
	uint32_t words[FIELD_WORDS_MAX];
};

static void load_words(struct rql_scan_coder *c, const struct rql_scan_chunk_test *t, uint32_t chunk, uint32_t live,
                       struct loaded *l)
{
	uint32_t width = t->bits % 4 == 0 ? 4 : t->bits % 2 == 0 ? 2 : 1;
	uint32_t at = CALL(c, "scan_chunk_at", RQL_SPIRV_U64, l->head, chunk, U32(c, 4 * t->bits));
	static const char *const loads[] = {NULL, "scan_load1", "scan_load2", NULL, "scan_load4"};
	static const enum rql_spirv_type types[] = {RQL_SPIRV_VOID, RQL_SPIRV_U32, RQL_SPIRV_U32X2, RQL_SPIRV_VOID,
	                                            RQL_SPIRV_U32X4};
	for (uint32_t w = 0; w < t->bits; w += width) {
		uint32_t v = CALL(c, loads[width], types[width], at, U32(c, 4 * w), live);
		for (uint32_t k = 0; k < width; k++) {
			const uint32_t part[] = {v, k};
			l->words[w + k] = width == 1 ? v : rql_spirv_op(&c->m, RQL_SPIRV_COMPOSITE_EXTRACT, RQL_SPIRV_U32, 2, part);
		}
	}
}

static uint32_t part_of(struct rql_scan_coder *c, uint32_t vector, uint32_t index)
{
	const uint32_t part[] = {vector, index};
	return rql_spirv_op(&c->m, RQL_SPIRV_COMPOSITE_EXTRACT, RQL_SPIRV_U32, 2, part);
}

static void load_test(struct rql_scan_coder *c, uint32_t index, uint32_t chunk, uint32_t mask, struct loaded *l)
{
	const struct rql_scan_chunk_test *t = &c->plan->tests[index];
	l->ref = CALL(c, "scan_ref_of", RQL_SPIRV_U64, c->item, U32(c, index));
	l->head = CALL(c, "scan_ref_head", RQL_SPIRV_U32X4, l->ref);
	l->rest = CALL(c, "scan_ref_rest", RQL_SPIRV_U32X4, l->ref);
	l->fast = rql_spirv_bool(&c->m, false);
	if (t->kind == RQL_SCAN_TEST_NULL || t->bits == 0)
		return;
	uint32_t form = part_of(c, l->head, 2), how = t->global ? RQL_SCAN_HOW_GLOBAL : RQL_SCAN_HOW_TEST;
	l->fast = OP2(c, EQUAL, BOOL, OP2(c, AND, U32, form, U32(c, 0xffff)), U32(c, t->bits | how << 8));
	/* An eager one does not even wait for the item's head, which the mask comes from. */
	uint32_t rows = OP2(c, SHIFT_RIGHT, U32, form, U32(c, 16)), first = OP2(c, SHIFT_LEFT, U32, chunk, U32(c, 5));
	uint32_t some = t->eager ? OP2(c, U_LESS, BOOL, first, rows) : OP2(c, NOT_EQUAL, BOOL, mask, U32(c, 0));
	load_words(c, t, chunk, OP2(c, LOGICAL_AND, BOOL, l->fast, some), l);
}

/* Field j in the upper bits of a word, with anything below. */
static uint32_t upper_field(struct rql_scan_coder *c, const struct loaded *l, uint32_t j, uint32_t bits)
{
	uint32_t w = j * bits / 32, shift = j * bits % 32, word = l->words[w];
	if (shift + bits <= 32)
		return shift + bits == 32 ? word : OP2(c, SHIFT_LEFT, U32, word, U32(c, 32 - bits - shift));
	uint32_t next = shift + bits - 32; /* bits in the next word */
	return OP2(c, OR, U32, OP2(c, SHIFT_LEFT, U32, l->words[w + 1], U32(c, 32 - next)),
	           OP2(c, SHIFT_RIGHT, U32, word, U32(c, next)));
}

static uint32_t whole_field(struct rql_scan_coder *c, const struct loaded *l, uint32_t j, uint32_t bits)
{
	uint32_t w = j * bits / 32, shift = j * bits % 32, word = l->words[w], all = U32(c, UINT32_MAX >> (32 - bits));
	if (shift)
		word = OP2(c, SHIFT_RIGHT, U32, word, U32(c, shift));
	if (shift + bits > 32)
		word = OP2(c, OR, U32, word, OP2(c, SHIFT_LEFT, U32, l->words[w + 1], U32(c, 32 - shift)));
	return shift + bits == 32 ? word : OP2(c, AND, U32, word, all);
}

/* Of 32 rows whose fields' places are known, those that are in the ranges of all of `count` tests. A block whose
 * fields lie elsewhere passes here. Four words of bits, because each is a chain. */
static uint32_t range_fields(struct rql_scan_coder *c, const struct rql_scan_chunk_test *tests,
                             const struct loaded *loaded, uint32_t count)
{
	uint32_t zero = U32(c, 0), ones = U32(c, UINT32_MAX), found[4] = {zero, zero, zero, zero};
	uint32_t(*a)[2] = rql_arena_array(c->plan->arena, count, sizeof(*a));
	uint32_t(*b)[2] = rql_arena_array(c->plan->arena, count, sizeof(*b));
	if (!a || !b) {
		c->out_of_memory = true;
		return ones;
	}
	for (uint32_t t = 0; t < count; t++)
		for (uint32_t k = 0; k < (tests[t].twice ? 2u : 1u); k++) {
			const struct loaded *l = &loaded[t];
			uint32_t from = k ? part_of(c, l->rest, 2) : part_of(c, l->head, 3), span = part_of(c, l->rest, k ? 3 : 0);
			a[t][k] = rql_spirv_select(&c->m, RQL_SPIRV_U32, l->fast, from, zero);
			b[t][k] = rql_spirv_select(&c->m, RQL_SPIRV_U32, l->fast, span, ones);
		}
	for (uint32_t j = 0; j < RQL_SCAN_CHUNK; j++) {
		uint32_t all = 0;
		for (uint32_t t = 0; t < count; t++) {
			uint32_t field = upper_field(c, &loaded[t], j, tests[t].bits), pass;
			pass = OP2(c, U_LESS_EQUAL, BOOL, OP2(c, SUB, U32, field, a[t][0]), b[t][0]);
			if (tests[t].twice)
				pass = OP2(c, LOGICAL_OR, BOOL, pass,
				           OP2(c, U_LESS_EQUAL, BOOL, OP2(c, SUB, U32, field, a[t][1]), b[t][1]));
			all = all ? OP2(c, LOGICAL_AND, BOOL, all, pass) : pass;
		}
		found[j % 4] =
			OP2(c, OR, U32, found[j % 4], rql_spirv_select(&c->m, RQL_SPIRV_U32, all, U32(c, UINT32_C(1) << j), zero));
	}
	return OP2(c, OR, U32, OP2(c, OR, U32, found[0], found[1]), OP2(c, OR, U32, found[2], found[3]));
}

/* The same for one test with a set; only rows of the mask are looked up in device memory. */
static uint32_t set_fields(struct rql_scan_coder *c, const struct rql_scan_chunk_test *t, const struct loaded *l,
                           uint32_t mask)
{
	uint32_t a = part_of(c, l->head, 3), b = part_of(c, l->rest, 0), at = part_of(c, l->rest, 1), zero = U32(c, 0);
	uint32_t found[4] = {zero, zero, zero, zero}, table = 0, wanted = 0;
	if (t->global) {
		table = CALL(c, "scan_table_of", RQL_SPIRV_U64, l->rest);
		wanted = rql_spirv_select(&c->m, RQL_SPIRV_U32, l->fast, mask, zero);
	}
	for (uint32_t j = 0; j < RQL_SCAN_CHUNK; j++) {
		uint32_t place = OP2(c, ADD, U32, whole_field(c, l, j, t->bits), a), bit;
		if (t->global)
			bit = CALL(c, "scan_in_table", RQL_SPIRV_U32, place, b, table,
			           OP2(c, AND, U32, wanted, U32(c, UINT32_C(1) << j)));
		else
			bit = CALL(c, "scan_in_set", RQL_SPIRV_U32, place, b, at);
		bit = j ? OP2(c, SHIFT_LEFT, U32, bit, U32(c, j)) : bit;
		found[j % 4] = OP2(c, OR, U32, found[j % 4], bit);
	}
	uint32_t all = OP2(c, OR, U32, OP2(c, OR, U32, found[0], found[1]), OP2(c, OR, U32, found[2], found[3]));
	return rql_spirv_select(&c->m, RQL_SPIRV_U32, l->fast, all, U32(c, UINT32_MAX));
}

/* Ranges without NULLs, whose conditions meet in one bit a row. */
static bool is_plain(const struct rql_scan_chunk_test *t)
{
	return t->kind == RQL_SCAN_TEST_RANGE && t->bits && !t->nullable && !t->negate;
}

static uint32_t slow_test(struct rql_scan_coder *c, const struct rql_scan_chunk_test *t, const struct loaded *l,
                          uint32_t chunk, uint32_t mask)
{
	return CALL(c, "scan_slow_test", RQL_SPIRV_U32, l->head, l->rest, chunk, mask, l->fast,
	            rql_spirv_bool(&c->m, t->kind == RQL_SCAN_TEST_SET));
}

static uint32_t apply_test(struct rql_scan_coder *c, const struct rql_scan_chunk_test *t, const struct loaded *l,
                           uint32_t chunk, uint32_t mask)
{
	uint32_t pass, ones = U32(c, UINT32_MAX), valid = 0;
	bool null = t->kind == RQL_SCAN_TEST_NULL;
	if (null || t->nullable)
		valid = CALL(c, "scan_valid_word", RQL_SPIRV_U32, l->ref, chunk);
	if (null) {
		pass = valid;
	} else {
		pass = slow_test(c, t, l, chunk, mask);
		if (t->bits && t->kind == RQL_SCAN_TEST_SET)
			pass = OP2(c, AND, U32, pass, set_fields(c, t, l, mask));
		else if (t->bits)
			pass = OP2(c, AND, U32, pass, range_fields(c, t, l, 1));
		if (t->nullable)
			pass = OP2(c, AND, U32, pass, valid);
	}
	if (t->negate)
		pass = OP1(c, NOT, U32, pass);
	if (t->or_null && t->nullable && !null)
		pass = OP2(c, OR, U32, pass, OP1(c, NOT, U32, valid));
	if (null || t->nullable || t->negate) {
		uint32_t all = CALL(c, "scan_is_all", RQL_SPIRV_BOOL, l->head);
		pass = rql_spirv_select(&c->m, RQL_SPIRV_U32, all, ones, pass);
	}
	return OP2(c, AND, U32, mask, pass);
}

/* Tests [first, end), whose words are loaded. */
static uint32_t apply_tests(struct rql_scan_coder *c, const struct loaded *loaded, uint32_t first, uint32_t end,
                            uint32_t chunk, uint32_t mask)
{
	const struct rql_scan_chunk_test *tests = c->plan->tests;
	for (uint32_t t = first, next; t < end; t = next) {
		next = t + 1;
		if (!is_plain(&tests[t])) {
			mask = apply_test(c, &tests[t], &loaded[t], chunk, mask);
			continue;
		}
		while (next < end && is_plain(&tests[next]))
			next++;
		mask = OP2(c, AND, U32, mask, range_fields(c, &tests[t], &loaded[t], next - t));
		for (uint32_t i = t; i < next; i++)
			mask = OP2(c, AND, U32, mask, slow_test(c, &tests[i], &loaded[i], chunk, mask));
	}
	return mask;
}

static void code_tests(struct rql_scan_coder *c)
{
	struct rql_scan_plan *plan = c->plan;
	uint32_t params[3], count = plan->test_count;
	struct loaded *loaded = calloc(count + 1u, sizeof(*loaded));
	rql_spirv_begin(&c->m, "scan_test_rows", params, 3);
	c->item = params[0];
	uint32_t mask = params[2];
	c->out_of_memory |= !loaded;
	for (uint32_t first = 0, next; loaded && first < count; first = next) {
		next = first + 1;
		while (plan->tests[first].eager && next < count && plan->tests[next].eager)
			next++;
		for (uint32_t t = first; t < next; t++)
			load_test(c, t, params[1], mask, &loaded[t]);
		mask = apply_tests(c, loaded, first, next, params[1], mask);
	}
	free(loaded);
	rql_spirv_end(&c->m, mask);
}

/* ---- kernels ---- */

/* Every kernel that was ever made, by its code. Pipelines are kept by the device under their kernel's address and are
 * as long-lived, so kernels stay too; a program has a few dozen shapes of requests, and at most so many. */
#define KERNELS_MAX 1024u
static pthread_mutex_t kernels_lock = PTHREAD_MUTEX_INITIALIZER;
static struct known_kernel {
	struct known_kernel *next;
	struct rql_kernel kernel;
} * kernels;
static uint32_t kernel_count;

/* Takes the words. */
static rql_status kernel_of(uint32_t *words, uint64_t bytes, const struct rql_kernel **out, struct rql_error *err)
{
	rql_status status = RQL_OK;
	pthread_mutex_lock(&kernels_lock);
	struct known_kernel *k = kernels;
	while (k && (k->kernel.spirv_bytes != bytes || memcmp(k->kernel.spirv, words, bytes) != 0))
		k = k->next;
	if (k) {
		free(words);
	} else if (kernel_count >= KERNELS_MAX) {
		free(words);
		status = rql_error_set(err, RQL_ERROR_LIMIT,
		                       "more than %u kinds of scans were made for devices by this process", KERNELS_MAX);
	} else if (!(k = calloc(1, sizeof(*k)))) {
		free(words);
		status = rql_error_memory(err, sizeof(*k), "a kernel");
	} else {
		k->kernel = (struct rql_kernel){
			.name = "scan.request", .spirv = words, .spirv_bytes = bytes, .args_bytes = sizeof(struct rql_scan_args)};
		k->next = kernels;
		kernels = k;
		kernel_count++;
	}
	pthread_mutex_unlock(&kernels_lock);
	if (status == RQL_OK)
		*out = &k->kernel;
	return status;
}

rql_status rql_scan_code(struct rql_scan_plan *plan, const struct rql_kernel **out, struct rql_error *err)
{
	const struct rql_scan *scan = plan->scan;
	struct rql_scan_coder c = {.plan = plan};
	uint32_t *words = NULL;
	uint64_t bytes = 0;
	c.columns = RQL_NEW_ARRAY(plan->arena, struct rql_scan_value, scan->column_count);
	c.found = RQL_NEW_ARRAY(plan->arena, uint32_t, scan->join_count);
	c.results = RQL_NEW_ARRAY(plan->arena, struct rql_scan_value *, scan->program_count);
	if (!c.columns || !c.found || !c.results)
		return rql_error_memory(err, scan->column_count * sizeof(*c.columns), "a kernel's code");
	if (plan->real)
		rql_spirv_open(&c.m, rql_spv_scan_kernel_real_comp, sizeof(rql_spv_scan_kernel_real_comp));
	else
		rql_spirv_open(&c.m, rql_spv_scan_kernel_plain_comp, sizeof(rql_spv_scan_kernel_plain_comp));
	code_tests(&c);
	rql_scan_code_row(&c);
	rql_status status = rql_spirv_finish(&c.m, &words, &bytes, err);
	rql_spirv_free(&c.m);
	if (status == RQL_OK && (c.out_of_memory || plan->blob.out_of_memory)) {
		free(words);
		return rql_error_memory(err, plan->blob.room, "a query's tables");
	}
	return status == RQL_OK ? kernel_of(words, bytes, out, err) : status;
}

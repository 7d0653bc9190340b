/* The code of a request: its tests of 32 rows here, what is done with a row that passed them in scan_code_row.c. */
#include "method/scan/code/scan_code.h"

#include <stdlib.h>

#include "shaders/method/scan/scan_kernel_plain.comp.h"
#include "shaders/method/scan/scan_kernel_real.comp.h"

/* ---- tests by planes: words of 32 rows, a lane's four or one side by side ---- */

static enum rql_spirv_type words_type(const struct rql_scan_coder *c)
{
	return c->plan->words == 4 ? RQL_SPIRV_U32X4 : c->plan->words == 2 ? RQL_SPIRV_U32X2 : RQL_SPIRV_U32;
}

/* One word in all places. */
static uint32_t all_words(struct rql_scan_coder *c, uint32_t word)
{
	const uint32_t words[] = {word, word, word, word};
	return c->plan->words == 1
	           ? word
	           : rql_spirv_op(&c->m, RQL_SPIRV_COMPOSITE_CONSTRUCT, words_type(c), c->plan->words, words);
}

static uint32_t words2(struct rql_scan_coder *c, enum rql_spirv_op op, uint32_t a, uint32_t b)
{
	return rql_spirv_op2(&c->m, op, words_type(c), a, b);
}

static uint32_t words_not(struct rql_scan_coder *c, uint32_t a)
{
	return rql_spirv_op1(&c->m, RQL_SPIRV_NOT, words_type(c), a);
}

static uint32_t part_of(struct rql_scan_coder *c, uint32_t vector, uint32_t index)
{
	const uint32_t part[] = {vector, index};
	return rql_spirv_op(&c->m, RQL_SPIRV_COMPOSITE_EXTRACT, RQL_SPIRV_U32, 2, part);
}

struct planes {
	uint32_t ref, low[RQL_SCAN_RANGES_MAX], high[RQL_SCAN_RANGES_MAX];
	uint32_t words[RQL_SCAN_PLANES_MAX];
};

/* The reference and all wanted planes of a chunk, whose loads are in flight at once. */
static void load_planes(struct rql_scan_coder *c, uint32_t index, uint32_t chunk, struct planes *p)
{
	const struct rql_scan_chunk_test *t = &c->plan->tests[index];
	static const char *const loads[] = {NULL, "scan_load1", "scan_load2", NULL, "scan_load4"};
	p->ref = CALL(c, "scan_ref_of", RQL_SPIRV_U64, c->item, U32(c, index));
	if (t->kind == RQL_SCAN_TEST_NULL)
		return;
	uint32_t head = CALL(c, "scan_ref_head", RQL_SPIRV_U32X4, p->ref), wanted = part_of(c, head, 2);
	uint32_t ranges[2] = {CALL(c, "scan_ref_rest", RQL_SPIRV_U32X4, p->ref), 0};
	if (t->range_count > 2)
		ranges[1] = CALL(c, "scan_ref_ranges", RQL_SPIRV_U32X4, p->ref);
	for (uint32_t r = 0; r < t->range_count; r++) {
		p->low[r] = part_of(c, ranges[r / 2], r % 2 * 2);
		p->high[r] = part_of(c, ranges[r / 2], r % 2 * 2 + 1);
	}
	uint32_t at = CALL(c, "scan_chunk_at", RQL_SPIRV_U64, head, chunk, U32(c, 4 * c->plan->words));
	for (uint32_t j = t->skip; j < t->bits; j++) {
		uint32_t bit = OP2(c, AND, U32, wanted, U32(c, UINT32_C(1) << j)), live;
		live = OP2(c, NOT_EQUAL, BOOL, bit, U32(c, 0));
		p->words[j] = CALL(c, loads[c->plan->words], words_type(c), at, U32(c, j * RQL_SCAN_PLANE_STEP), live);
	}
}

/* The bit of a bound in all bits. */
static uint32_t spread(struct rql_scan_coder *c, uint32_t bound, uint32_t j)
{
	uint32_t top = j == 31 ? bound : OP2(c, SHIFT_LEFT, U32, bound, U32(c, 31 - j));
	return all_words(c, OP2(c, SHIFT_RIGHT_SIGNED, U32, top, U32(c, 31)));
}

/* The carry of an addition's column: what at least two of the three have. */
static uint32_t majority(struct rql_scan_coder *c, uint32_t a, uint32_t b, uint32_t carry)
{
	uint32_t either = words2(c, RQL_SPIRV_AND, carry, words2(c, RQL_SPIRV_OR, a, b));
	return words2(c, RQL_SPIRV_OR, words2(c, RQL_SPIRV_AND, a, b), either);
}

/* Which rows' numbers are `low`. */
static uint32_t is_equal(struct rql_scan_coder *c, const struct rql_scan_chunk_test *t, const struct planes *p,
                         uint32_t r)
{
	uint32_t equal = all_words(c, U32(c, UINT32_MAX));
	for (uint32_t j = 0; j < t->bits; j++) {
		uint32_t differ = words2(c, RQL_SPIRV_XOR, p->words[j], spread(c, p->low[r], j));
		equal = words2(c, RQL_SPIRV_AND, equal, words_not(c, differ));
	}
	return equal;
}

/* Which rows' numbers are from low to high: x - low and high - x borrow nothing. From the lowest plane up, one carry
 * for each (BitWeaving/V compares from the top and keeps two words; planes that are not wanted are zero here). */
static uint32_t in_range(struct rql_scan_coder *c, const struct rql_scan_chunk_test *t, const struct planes *p,
                         uint32_t r)
{
	uint32_t above = all_words(c, U32(c, UINT32_MAX)), below = above;
	for (uint32_t j = t->skip; j < t->bits; j++) {
		uint32_t low = spread(c, p->low[r], j), high = spread(c, p->high[r], j);
		above = majority(c, p->words[j], words_not(c, low), above);
		below = majority(c, words_not(c, p->words[j]), high, below);
	}
	return words2(c, RQL_SPIRV_AND, above, below);
}

static uint32_t apply_planes(struct rql_scan_coder *c, const struct rql_scan_chunk_test *t, const struct planes *p,
                             uint32_t chunk)
{
	uint32_t pass = 0, valid = 0;
	static const char *const loads[] = {NULL, "scan_valid_word", "scan_valid_pair", NULL, "scan_valid_words"};
	bool null = t->kind == RQL_SCAN_TEST_NULL;
	if (null || t->nullable)
		valid = CALL(c, loads[c->plan->words], words_type(c), p->ref, chunk);
	for (uint32_t r = 0; r < (null ? 0 : t->range_count); r++) {
		uint32_t in = t->single ? is_equal(c, t, p, r) : in_range(c, t, p, r);
		pass = pass ? words2(c, RQL_SPIRV_OR, pass, in) : in;
	}
	if (valid)
		pass = pass ? words2(c, RQL_SPIRV_AND, pass, valid) : valid;
	if (t->negate)
		pass = words_not(c, pass);
	return t->or_null && valid && !null ? words2(c, RQL_SPIRV_OR, pass, words_not(c, valid)) : pass;
}

/* ---- tests by sets, of a word's rows ---- */

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
		for (uint32_t k = 0; k < width; k++)
			l->words[w + k] = width == 1 ? v : part_of(c, v, k);
	}
}

static void load_set(struct rql_scan_coder *c, uint32_t index, uint32_t chunk, uint32_t mask, struct loaded *l)
{
	const struct rql_scan_chunk_test *t = &c->plan->tests[index];
	l->ref = CALL(c, "scan_ref_of", RQL_SPIRV_U64, c->item, U32(c, index));
	l->head = CALL(c, "scan_ref_head", RQL_SPIRV_U32X4, l->ref);
	l->rest = CALL(c, "scan_ref_rest", RQL_SPIRV_U32X4, l->ref);
	l->fast = rql_spirv_bool(&c->m, false);
	if (t->bits == 0)
		return;
	uint32_t form = part_of(c, l->head, 2), how = t->global ? RQL_SCAN_HOW_GLOBAL : RQL_SCAN_HOW_TEST;
	l->fast = OP2(c, EQUAL, BOOL, OP2(c, AND, U32, form, U32(c, 0xffff)), U32(c, t->bits | how << 8));
	/* An eager one does not even wait for the item's head, which the mask comes from. */
	uint32_t rows = OP2(c, SHIFT_RIGHT, U32, form, U32(c, 16)), first = OP2(c, SHIFT_LEFT, U32, chunk, U32(c, 5));
	uint32_t some = t->eager ? OP2(c, U_LESS, BOOL, first, rows) : OP2(c, NOT_EQUAL, BOOL, mask, U32(c, 0));
	load_words(c, t, chunk, OP2(c, LOGICAL_AND, BOOL, l->fast, some), l);
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

/* Of 32 rows whose fields' places are known, those in the set; only rows of the mask are looked up in device memory. A
 * block whose fields lie elsewhere passes here. Four words of bits, because each is a chain. */
static uint32_t set_fields(struct rql_scan_coder *c, const struct rql_scan_chunk_test *t, const struct loaded *l,
                           uint32_t mask)
{
	uint32_t a = part_of(c, l->head, 3), b = part_of(c, l->rest, 0), at = part_of(c, l->rest, 1), zero = U32(c, 0);
	uint32_t found[4] = {zero, zero, zero, zero}, table = 0, wanted = 0;
	if (t->global) {
		table = CALL(c, "scan_table_of", RQL_SPIRV_U64, l->rest);
		wanted = rql_spirv_select(&c->m, RQL_SPIRV_U32, l->fast, mask, zero);
	}
	for (uint32_t j = 0; j < RQL_SCAN_TEST_ROWS; j++) {
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

static uint32_t apply_set(struct rql_scan_coder *c, const struct rql_scan_chunk_test *t, const struct loaded *l,
                          uint32_t chunk, uint32_t mask)
{
	uint32_t pass = CALL(c, "scan_slow_test", RQL_SPIRV_U32, l->head, l->rest, chunk, mask, l->fast), valid = 0;
	if (t->bits)
		pass = OP2(c, AND, U32, pass, set_fields(c, t, l, mask));
	if (t->nullable) {
		valid = CALL(c, "scan_valid_word", RQL_SPIRV_U32, l->ref, chunk);
		pass = OP2(c, AND, U32, pass, valid);
	}
	if (t->negate)
		pass = OP1(c, NOT, U32, pass);
	if (t->or_null && valid)
		pass = OP2(c, OR, U32, pass, OP1(c, NOT, U32, valid));
	if (t->nullable || t->negate) {
		uint32_t all = CALL(c, "scan_is_all", RQL_SPIRV_BOOL, l->head);
		pass = rql_spirv_select(&c->m, RQL_SPIRV_U32, all, U32(c, UINT32_MAX), pass);
	}
	return OP2(c, AND, U32, mask, pass);
}

/* ---- the first stage ---- */

static uint32_t code_sets(struct rql_scan_coder *c, uint32_t first, uint32_t chunk, uint32_t mask)
{
	struct rql_scan_plan *plan = c->plan;
	for (uint32_t next, count = plan->test_count; first < count; first = next) {
		struct loaded loaded[4];
		next = first + 1;
		while (plan->tests[first].eager && next < count && plan->tests[next].eager && next - first < 4)
			next++;
		for (uint32_t t = first; t < next; t++)
			load_set(c, t, chunk, mask, &loaded[t - first]);
		for (uint32_t t = first; t < next; t++)
			mask = apply_set(c, &plan->tests[t], &loaded[t - first], chunk, mask);
	}
	return mask;
}

static void code_tests(struct rql_scan_coder *c)
{
	struct rql_scan_plan *plan = c->plan;
	uint32_t params[3], zero = U32(c, 0), planes = 0;
	rql_spirv_begin(&c->m, "scan_test_rows", params, 3);
	c->item = params[0];
	uint32_t mask = params[2];
	if (plan->words == 1) {
		mask = part_of(c, mask, 0);
	} else if (plan->words == 2) {
		const uint32_t two[] = {part_of(c, mask, 0), part_of(c, mask, 1)};
		mask = rql_spirv_op(&c->m, RQL_SPIRV_COMPOSITE_CONSTRUCT, RQL_SPIRV_U32X2, 2, two);
	}
	if (plan->scan->under) {
		static const char *const loads[] = {NULL, "scan_under_word", "scan_under_pair", NULL, "scan_under_words"};
		mask = words2(c, RQL_SPIRV_AND, mask, CALL(c, loads[plan->words], words_type(c), c->item, params[1]));
	}
	while (planes < plan->test_count && plan->tests[planes].kind != RQL_SCAN_TEST_SET)
		planes++;
	struct planes *loaded = calloc(planes + 1u, sizeof(*loaded));
	c->out_of_memory |= !loaded;
	for (uint32_t t = 0; loaded && t < planes; t++)
		load_planes(c, t, params[1], &loaded[t]);
	for (uint32_t t = 0; loaded && t < planes; t++)
		mask = words2(c, RQL_SPIRV_AND, mask, apply_planes(c, &plan->tests[t], &loaded[t], params[1]));
	free(loaded);
	if (plan->words < 4) {
		bool one = plan->words == 1;
		const uint32_t four[] = {one ? code_sets(c, planes, params[1], mask) : part_of(c, mask, 0),
		                         one ? zero : part_of(c, mask, 1), zero, zero};
		mask = rql_spirv_op(&c->m, RQL_SPIRV_COMPOSITE_CONSTRUCT, RQL_SPIRV_U32X4, 4, four);
	}
	rql_spirv_end(&c->m, mask);
}

/* ---- the whole ---- */

rql_status rql_scan_code(struct rql_scan_plan *plan, uint32_t **out, uint64_t *out_bytes, struct rql_error *err)
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
	RQL_TRY(status);
	*out = words;
	*out_bytes = bytes;
	return RQL_OK;
}

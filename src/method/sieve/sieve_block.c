/* One block under all predicates: vectors first, then the values of the rows that these leave undecided.
 *
 * Floor, in bytes a row of the block: 1/8 for each vector read (2 or 4 a predicate with one side, twice that with two),
 * 1/8 for the bitmap, and a cache line for each row that is tested. Rows are tested only where all other predicates may
 * be true, so the last predicates cost little where few rows pass. */
#include "column/pack.h"
#include "method/sieve/sieve_query.h"

#define WORDS RQL_SIEVE_WORDS

/* ---- binding ---- */
rql_status rql_sieve_test_make(struct rql_sieve_test *test, const struct rql_sieve_predicate *predicate,
                               const struct rql_store_view *view, struct rql_arena *arena, struct rql_error *err)
{
	test->view = view;
	RQL_TRY(rql_sieve_predicate_in(predicate, view, arena, &test->predicate, err));
	if (!test->run)
		return RQL_OK;
	RQL_TRY(rql_sieve_spans_make(&test->run->shape.bins, &test->predicate, arena, &test->spans, err));
	test->cuts = RQL_NEW_ARRAY(arena, struct rql_sieve_cut, 2 * test->spans.count + 1);
	if (!test->cuts)
		return rql_error_memory(err, test->spans.count * sizeof(*test->cuts), "bins of a sieve");
	for (uint32_t s = 0; s < test->spans.count; s++) {
		test->cuts[2 * s] = rql_sieve_cut(test->run, test->spans.spans[s].from);
		test->cuts[2 * s + 1] = rql_sieve_cut(test->run, test->spans.spans[s].to);
	}
	return RQL_OK;
}

/* Cuts of neighbouring spans and bins share vectors, which are in the first cache then. */
uint32_t rql_sieve_test_reads(const struct rql_sieve_test *test)
{
	const uint64_t *seen[3] = {NULL, NULL, NULL};
	uint32_t reads = test->predicate.nulls && test->run && rql_sieve_valid(test->run);
	for (uint32_t c = 0; test->run && c < 2 * test->spans.count; c++) {
		const uint64_t *now[3] = {test->cuts[c].first, test->cuts[c].second, test->cuts[c].third};
		for (unsigned i = 0; i < 3; i++)
			reads += now[i] && now[i] != seen[0] && now[i] != seen[1] && now[i] != seen[2];
		memcpy(seen, now, sizeof(seen));
	}
	return reads;
}

/* ---- vectors ---- */
static void put_live(uint32_t rows, uint64_t *out)
{
	for (uint32_t w = 0; w < WORDS; w++)
		out[w] = rql_rows_live(rows, w);
}

static void put_cut(const struct rql_sieve_cut *cut, uint32_t block, uint32_t rows, uint64_t *out)
{
	const uint64_t at = (uint64_t)block * WORDS;
	if (cut->all) {
		put_live(rows, out);
		return;
	}
	if (cut->first)
		memcpy(out, cut->first + at, WORDS * sizeof(*out));
	else
		memset(out, 0, WORDS * sizeof(*out));
	if (!cut->third)
		return;
	const uint64_t *third = cut->third + at, *second = cut->second ? cut->second + at : third;
	for (uint32_t w = 0; w < WORDS; w++)
		out[w] |= second[w] & third[w];
}

/* What the bins of a block say: of all its rows with a key the same, or nothing. */
enum block_says { NO_ROW, ALL_ROWS, ANY_ROW };
static enum block_says ask_block(const struct rql_sieve_test *t, const struct rql_sieve_block *block)
{
	const bool some = block->least <= block->greatest, none_null = !t->predicate.nulls || !block->nulls;
	const struct rql_sieve_span *span = t->spans.spans, *end = span + t->spans.count;
	while (span < end && span->to <= block->least)
		span++;
	if (!some || span == end || span->from > block->greatest)
		return none_null ? NO_ROW : ANY_ROW;
	const bool all = span->sure && span->from <= block->least && block->greatest < span->to;
	return all && (!block->nulls || t->predicate.nulls) ? ALL_ROWS : ANY_ROW;
}

/* Rows that pass, and rows that may. */
static void put_spans(const struct rql_sieve_test *t, uint32_t block, uint64_t *sure, uint64_t *maybe)
{
	const uint32_t rows = t->run->blocks[block].rows;
	const uint64_t *valid = rql_sieve_valid(t->run);
	uint64_t cuts[2][WORDS], *low = cuts[0], *high = cuts[1];
	memset(sure, 0, WORDS * sizeof(*sure));
	memset(maybe, 0, WORDS * sizeof(*maybe));
	for (uint32_t s = 0; s < t->spans.count; s++) {
		const struct rql_sieve_span *span = &t->spans.spans[s];
		uint64_t *out = span->sure ? sure : maybe, *next;
		if (!s || span[-1].to != span->from)
			put_cut(&t->cuts[2 * s], block, rows, low);
		put_cut(&t->cuts[2 * s + 1], block, rows, high);
		for (uint32_t w = 0; w < WORDS; w++)
			out[w] |= high[w] & ~low[w];
		next = high;
		high = low;
		low = next;
	}
	if (!t->predicate.nulls || !valid)
		return;
	put_live(rows, low);
	for (uint32_t w = 0; w < WORDS; w++)
		sure[w] |= low[w] & ~valid[(uint64_t)block * WORDS + w];
}

/* ---- values ---- */
/* Those of the rows `bits` of a word, which have keys, that pass. */
static uint64_t test_packed(const struct rql_sieve_test *t, const struct rql_store_block *block, uint32_t first,
                            uint64_t bits)
{
	const struct rql_packed packed = {.data = (uint8_t *)(uintptr_t)t->view->bytes + (uint64_t)block->data * 64,
	                                  .bits = block->encoding == RQL_STORE_PACKED ? block->bits : 0};
	uint64_t kept = 0;
	for (uint64_t left = bits; left; left &= left - 1) {
		const unsigned r = (unsigned)__builtin_ctzll(left);
		const uint64_t key = rql_sieve_packed_key(t->view, block, &packed, first + r);
		kept |= (uint64_t)rql_sieve_passes(&t->predicate, key) << r;
	}
	return kept;
}

static uint64_t test_decoded(const struct rql_sieve_test *t, const struct rql_store_kernels *kernels, uint32_t block,
                             uint32_t first, uint64_t bits)
{
	const uint32_t left = t->view->blocks[block].rows - first, rows = left < 64 ? left : 64;
	uint64_t keys[64], valid[1], kept = 0;
	rql_sieve_decode(kernels, t->view, block, first, rows, keys, valid);
	for (uint32_t r = 0; r < rows; r++)
		kept |= (uint64_t)(valid[0] >> r & 1 ? rql_sieve_passes(&t->predicate, keys[r]) : t->predicate.nulls) << r;
	return kept & bits;
}

/* Rows that may pass but do not lose their bit. maybe NULL: all may. Returns whether some is left. */
static bool test_values(const struct rql_sieve_test *t, const struct rql_store_kernels *kernels, uint32_t block,
                        const uint64_t *maybe, uint64_t *bits, uint64_t *tested)
{
	const struct rql_store_block *of = &t->view->blocks[block];
	const bool packed = maybe && (of->encoding == RQL_STORE_PACKED || of->encoding == RQL_STORE_CONSTANT);
	uint64_t some = 0;
	for (uint32_t w = 0; w < WORDS; w++) {
		const uint64_t asked = maybe ? bits[w] & maybe[w] : bits[w];
		if (asked) {
			const uint64_t kept = packed ? test_packed(t, of, w * 64, asked)
			                             : test_decoded(t, kernels, block, w * 64, asked);
			*tested += (uint64_t)__builtin_popcountll(asked);
			bits[w] &= kept | ~asked;
		}
		some |= bits[w];
	}
	return some;
}

/* ---- a block ---- */
bool rql_sieve_block_vectors(const struct rql_sieve_test *tests, uint32_t count, uint32_t block, uint64_t *bits,
                             struct rql_sieve_doubt *doubt)
{
	uint64_t sure[WORDS];
	bool some = true;
	doubt->tests = 0;
	put_live(tests[0].run ? tests[0].run->blocks[block].rows : tests[0].view->blocks[block].rows, bits);
	for (uint32_t t = 0; t < count && some; t++) {
		uint64_t *maybe = doubt->maybe + (uint64_t)t * WORDS, any = 0, rows = 0;
		const enum block_says says = tests[t].run ? ask_block(&tests[t], &tests[t].run->blocks[block]) : ALL_ROWS;
		if (says == NO_ROW)
			return false;
		if (says == ALL_ROWS)
			continue;
		put_spans(&tests[t], block, sure, maybe);
		for (uint32_t w = 0; w < WORDS; w++) {
			rows |= maybe[w];
			bits[w] &= sure[w] | maybe[w];
			any |= bits[w];
		}
		doubt->tests |= rows ? UINT64_C(1) << t : 0;
		some = any != 0;
	}
	return some;
}

static const uint8_t *value_at(const struct rql_store_view *view, const struct rql_store_block *block, uint64_t row)
{
	return view->bytes + (uint64_t)block->data * 64 + row * block->bits / 8;
}

/* A line of memory takes as long as fifty of these steps, and a core has a dozen of them under way: so all are asked
 * for before the first is read. */
void rql_sieve_block_fetch(const struct rql_sieve_test *tests, uint32_t count, uint32_t block, const uint64_t *bits,
                           const struct rql_sieve_doubt *doubt)
{
	for (uint32_t t = 0; t < count; t++) {
		const struct rql_store_block *of = &tests[t].view->blocks[block];
		const uint64_t *maybe = doubt->maybe + (uint64_t)t * WORDS;
		if (!(doubt->tests >> t & 1) || of->encoding != RQL_STORE_PACKED)
			continue;
		for (uint32_t w = 0; w < WORDS; w++)
			for (uint64_t left = bits[w] & maybe[w]; left; left &= left - 1)
				__builtin_prefetch(value_at(tests[t].view, of, w * 64 + (unsigned)__builtin_ctzll(left)));
	}
}

bool rql_sieve_block_values(const struct rql_sieve_test *tests, uint32_t count, const struct rql_store_kernels *kernels,
                            uint32_t block, const struct rql_sieve_doubt *doubt, uint64_t *bits, uint64_t *tested)
{
	bool some = true;
	for (uint32_t t = 0; t < count && some; t++)
		if (!tests[t].run)
			some = test_values(&tests[t], kernels, block, NULL, bits, tested);
		else if (doubt->tests >> t & 1)
			some = test_values(&tests[t], kernels, block, doubt->maybe + (uint64_t)t * WORDS, bits, tested);
	return some;
}

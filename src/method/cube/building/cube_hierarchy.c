/* Hierarchies (design.md, "What a cube is made of"): which dimension determines which, what is folded into what, and in
 * which order the digits and their codes come.
 *
 * A dimension b is compared with the ROOTS only: the dimensions with at least as many codes that nothing found so far
 * determines (whatever determines b through a folded dimension is determined by its root). The test reads the rows'
 * local codes and stops at the first row that contradicts; it is done per worker, and the workers' maps are then
 * brought together in global codes. What holds between two folded dimensions follows from their maps over the root's
 * dictionary, without rows.
 *
 * A root of nearly as many codes as rows determines everything by accident; folding into it would tear the other
 * dimensions' intervals apart for nothing. It takes two rows per code on average to be believed.
 *
 * Order of the digits: as given, then by ascending radix (RTCUDB section 4.2: a range on a late digit is one
 * interval per combination of the digits before it, so what has many values, and wide ranges, comes late). */
#include "method/cube/building/cube_build.h"

#define UNSET UINT32_MAX
#define EVIDENCE 2u /* rows per code of the determining dimension */

struct pair_test {
	struct rql_relation_builder *builder;
	uint32_t a; /* a root: does it determine b? */
	uint32_t b;
	uint32_t **maps; /* [worker_count]: local b of local a */
	atomic_bool refuted;
};

static uint64_t card(const struct rql_relation_builder *builder, uint32_t d)
{
	return builder->cube->cube.relation.dimensions[d].count;
}

/* ---- does a determine b in the rows of one worker? ---- */

static bool test_chunk(const struct pair_test *test, const struct rql_chunk *chunk, uint32_t *map)
{
	uint32_t codes_a[RQL_BUILD_SLICE], codes_b[RQL_BUILD_SLICE];
	for (uint32_t first = 0; first < chunk->rows; first += RQL_BUILD_SLICE) {
		uint32_t count = chunk->rows - first < RQL_BUILD_SLICE ? chunk->rows - first : RQL_BUILD_SLICE;
		rql_vec_codes(&chunk->vecs[test->a], first, count, codes_a);
		rql_vec_codes(&chunk->vecs[test->b], first, count, codes_b);
		for (uint32_t i = 0; i < count; i++) {
			uint32_t known = map[codes_a[i]];
			if (known == codes_b[i])
				continue;
			if (known != UNSET)
				return false;
			map[codes_a[i]] = codes_b[i];
		}
	}
	return true;
}

static void test_worker(void *state, uint64_t index, unsigned thread)
{
	(void)thread;
	struct pair_test *tests = state;
	struct rql_relation_builder *builder = tests[0].builder;
	struct pair_test *test = &tests[index / builder->worker_count];
	uint32_t w = (uint32_t)(index % builder->worker_count);
	const struct rql_build_worker *worker = builder->workers[w];
	for (uint32_t c = 0; c < worker->chunk_count; c++) {
		if (atomic_load_explicit(&test->refuted, memory_order_relaxed) || rql_build_cancelled(builder))
			return;
		if (!test_chunk(test, worker->chunks[c], test->maps[w])) {
			atomic_store_explicit(&test->refuted, true, memory_order_relaxed);
			return;
		}
	}
}

/* Brings the workers' maps together: global b of global a. false: they contradict each other. */
static bool unite(const struct pair_test *test, uint32_t *map)
{
	const struct rql_relation_builder *builder = test->builder;
	uint64_t count = card(builder, test->a);
	for (uint64_t i = 0; i < count; i++)
		map[i] = UNSET;
	for (uint32_t w = 0; w < builder->worker_count; w++) {
		const struct rql_build_worker *worker = builder->workers[w];
		uint32_t locals = worker->dims[test->a].count;
		for (uint32_t local = 0; local < locals; local++) {
			if (test->maps[w][local] == UNSET)
				continue;
			uint32_t a = worker->dim_remap[test->a][local], b = worker->dim_remap[test->b][test->maps[w][local]];
			if (map[a] != UNSET && map[a] != b)
				return false;
			map[a] = b;
		}
	}
	return true;
}

struct hierarchy {
	struct rql_relation_builder *builder;
	uint32_t root_count, *roots; /* in the order found: by descending cardinality */
	uint32_t *root_of;           /* [dimension]: itself when it is a root */
	uint32_t **map;              /* [dimension]: over its root's codes; NULL for roots */
};

static rql_status start_test(struct pair_test *test, struct rql_error *err)
{
	struct rql_relation_builder *builder = test->builder;
	test->maps = RQL_NEW_ARRAY(builder->arena, uint32_t *, builder->worker_count);
	if (!test->maps)
		return rql_error_memory(err, builder->worker_count * sizeof(*test->maps), builder->mem.what);
	for (uint32_t w = 0; w < builder->worker_count; w++) {
		uint64_t locals = builder->workers[w]->dims[test->a].count;
		RQL_TRY(RQL_MEM_ARRAY(&builder->mem, test->maps[w], locals, err));
		memset(test->maps[w], 0xff, locals * sizeof(uint32_t));
		if (!atomic_load(&test->refuted) && builder->workers[w]->chunk_count &&
		    !test_chunk(test, builder->workers[w]->chunks[0], test->maps[w]))
			atomic_store(&test->refuted, true);
	}
	return RQL_OK;
}

static void end_test(struct pair_test *test)
{
	for (uint32_t w = 0; w < test->builder->worker_count; w++)
		rql_mem_free(&test->builder->mem, test->maps[w]);
}

/* Can root a be believed to determine b? */
static bool worth_testing(const struct hierarchy *h, uint32_t a, uint32_t b)
{
	return card(h->builder, a) >= card(h->builder, b) &&
	       (card(h->builder, b) <= 1 || h->builder->rows >= EVIDENCE * card(h->builder, a));
}

/* Finds the smallest root that determines b, and the map; *found is the root's number, or UNSET. */
static rql_status find_root(struct hierarchy *h, uint32_t b, uint32_t *found, uint32_t **map, struct rql_error *err)
{
	struct rql_relation_builder *builder = h->builder;
	struct pair_test *tests = RQL_NEW_ARRAY(builder->arena, struct pair_test, h->root_count);
	uint32_t test_count = 0;
	*found = UNSET;
	if (!tests)
		return rql_error_memory(err, h->root_count * sizeof(*tests), builder->mem.what);
	for (uint32_t r = h->root_count; r-- > 0;) { /* smallest first */
		struct pair_test *test = &tests[test_count];
		if (!worth_testing(h, h->roots[r], b))
			continue;
		*test = (struct pair_test){.builder = builder, .a = h->roots[r], .b = b};
		RQL_TRY(start_test(test, err));
		if (atomic_load(&test->refuted))
			end_test(test);
		else
			test_count++;
	}
	if (test_count)
		rql_build_parallel(builder, (uint64_t)test_count * builder->worker_count, test_worker, tests);
	if (rql_build_cancelled(builder))
		return rql_build_interrupted(err);
	for (uint32_t t = 0; t < test_count; t++) {
		if (*found == UNSET && !atomic_load(&tests[t].refuted)) {
			RQL_TRY(RQL_MEM_ARRAY(&builder->mem, *map, card(builder, tests[t].a), err));
			if (unite(&tests[t], *map))
				*found = tests[t].a;
			else
				rql_mem_free(&builder->mem, *map);
		}
		end_test(&tests[t]);
	}
	return RQL_OK;
}

/* ---- the order of a digit's codes ---- */

/* Does folded dimension x determine folded dimension y? Both have maps over the same root of `count` codes. */
static bool implies(const uint32_t *x, const uint32_t *y, uint32_t count, uint32_t *scratch, uint32_t card_x)
{
	memset(scratch, 0xff, (uint64_t)card_x * sizeof(*scratch));
	for (uint32_t i = 0; i < count; i++) {
		if (scratch[x[i]] == UNSET)
			scratch[x[i]] = y[i];
		else if (scratch[x[i]] != y[i])
			return false;
	}
	return true;
}

/* Dimensions by ascending (or descending) number of codes, equal ones as they were declared. */
static void by_card(const struct rql_relation_builder *builder, uint32_t *list, uint32_t count, bool descending)
{
	for (uint32_t i = 1; i < count; i++) {
		uint32_t d = list[i], j = i;
		for (; j > 0; j--) {
			uint64_t before = card(builder, list[j - 1]), own = card(builder, d);
			if (before == own ? list[j - 1] < d : (before < own) != descending)
				break;
			list[j] = list[j - 1];
		}
		list[j] = d;
	}
}

/* The longest chain of levels, each determining the one before it: as many levels as possible are intervals then.
 * level[] is sorted by ascending cardinality; the chain is left in it, coarsest first. Returns its length. */
static uint32_t longest_chain(const struct hierarchy *h, uint32_t *level, uint32_t count, uint32_t root_card,
                              uint32_t *scratch)
{
	uint32_t length[RQL_CUBE_MAX_DIMENSIONS], before[RQL_CUBE_MAX_DIMENSIONS], best = 0;
	for (uint32_t i = 0; i < count; i++) {
		length[i] = 1;
		before[i] = UNSET;
		for (uint32_t j = 0; j < i; j++) {
			if (length[j] + 1 > length[i] &&
			    implies(h->map[level[i]], h->map[level[j]], root_card, scratch, (uint32_t)card(h->builder, level[i]))) {
				length[i] = length[j] + 1;
				before[i] = j;
			}
		}
		if (length[i] >= length[best])
			best = i;
	}
	uint32_t chain[RQL_CUBE_MAX_DIMENSIONS], n = length[best];
	for (uint32_t i = best, k = n; k-- > 0; i = before[i])
		chain[k] = level[i];
	memcpy(level, chain, n * sizeof(*level));
	return n;
}

/* Stable counting sort of the root's codes by a level's codes. */
static void sort_by_level(uint32_t *codes, uint32_t *other, uint32_t count, const uint32_t *map, uint32_t *starts,
                          uint32_t level_card)
{
	memset(starts, 0, ((uint64_t)level_card + 1) * sizeof(*starts));
	for (uint32_t i = 0; i < count; i++)
		starts[map[i] + 1]++;
	for (uint32_t i = 0; i < level_card; i++)
		starts[i + 1] += starts[i];
	for (uint32_t i = 0; i < count; i++)
		other[starts[map[codes[i]]]++] = codes[i];
	memcpy(codes, other, (uint64_t)count * sizeof(*codes));
}

static rql_status order_codes(const struct hierarchy *h, struct rql_build_digit *digit, struct rql_error *err)
{
	struct rql_relation_builder *builder = h->builder;
	struct rql_mem *mem = &builder->mem;
	uint32_t level[RQL_CUBE_MAX_DIMENSIONS], count = 0, *scratch, *other;
	for (uint32_t d = 0; d < builder->spec.dimension_count; d++) {
		if (h->root_of[d] == digit->dimension && h->map[d])
			level[count++] = d;
	}
	RQL_TRY(RQL_MEM_ARRAY(mem, digit->code_of_digit, digit->radix, err));
	RQL_TRY(RQL_MEM_ARRAY(mem, digit->digit_of_code, digit->radix, err));
	for (uint32_t i = 0; i < digit->radix; i++)
		digit->code_of_digit[i] = i;
	if (count && digit->radix) {
		RQL_TRY(
			RQL_MEM_ARRAY(mem, scratch, (uint64_t)digit->radix + 1, err)); /* no level has more codes than its root */
		RQL_TRY(RQL_MEM_ARRAY(mem, other, digit->radix, err));
		by_card(builder, level, count, false);
		count = longest_chain(h, level, count, digit->radix, scratch);
		while (count-- > 0)
			sort_by_level(digit->code_of_digit, other, digit->radix, h->map[level[count]], scratch,
			              (uint32_t)card(builder, level[count]));
		rql_mem_free(mem, scratch);
		rql_mem_free(mem, other);
	}
	for (uint32_t i = 0; i < digit->radix; i++)
		digit->digit_of_code[digit->code_of_digit[i]] = i;
	return RQL_OK;
}

/* ---- the order of the digits ---- */

static rql_status order_digits(const struct hierarchy *h, struct rql_error *err)
{
	struct rql_relation_builder *builder = h->builder;
	struct rql_build_shape *shape = &builder->shape;
	uint32_t ordered[RQL_CUBE_MAX_DIMENSIONS], count = 0;
	bool taken[RQL_CUBE_MAX_DIMENSIONS] = {false};
	/* A folded dimension that is named stands for its digit. */
	for (uint32_t i = 0; i < builder->spec.order_count; i++) {
		uint32_t root = h->root_of[builder->spec.order[i]];
		if (!taken[root])
			ordered[count++] = root;
		taken[root] = true;
	}
	uint32_t given = count;
	for (uint32_t r = 0; r < h->root_count; r++) {
		if (!taken[h->roots[r]])
			ordered[count++] = h->roots[r];
	}
	by_card(builder, ordered + given, count - given, false);
	shape->digit_count = count;
	shape->digits = RQL_NEW_ARRAY(builder->arena, struct rql_build_digit, count);
	shape->digit_of_dimension = RQL_NEW_ARRAY(builder->arena, uint32_t, builder->spec.dimension_count);
	if (!shape->digits || !shape->digit_of_dimension)
		return rql_error_memory(err, count * sizeof(*shape->digits), builder->mem.what);
	shape->coarse = h->map;
	for (uint32_t i = 0; i < count; i++) {
		shape->digits[i] =
			(struct rql_build_digit){.dimension = ordered[i], .radix = (uint32_t)card(builder, ordered[i])};
		RQL_TRY(order_codes(h, &shape->digits[i], err));
		for (uint32_t d = 0; d < builder->spec.dimension_count; d++) {
			if (h->root_of[d] == ordered[i])
				shape->digit_of_dimension[d] = i;
		}
	}
	return RQL_OK;
}

rql_status rql_build_hierarchies(struct rql_relation_builder *builder, struct rql_error *err)
{
	uint32_t n = builder->spec.dimension_count, order[RQL_CUBE_MAX_DIMENSIONS];
	struct hierarchy h = {.builder = builder};
	h.roots = RQL_NEW_ARRAY(builder->arena, uint32_t, n);
	h.root_of = RQL_NEW_ARRAY(builder->arena, uint32_t, n);
	h.map = RQL_NEW_ARRAY(builder->arena, uint32_t *, n);
	if (!h.roots || !h.root_of || !h.map)
		return rql_error_memory(err, n * sizeof(*h.roots), builder->mem.what);
	for (uint32_t d = 0; d < n; d++)
		order[d] = d;
	by_card(builder, order, n, true);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t b = order[i], root;
		RQL_TRY(find_root(&h, b, &root, &h.map[b], err));
		if (root == UNSET) {
			h.map[b] = NULL;
			h.roots[h.root_count++] = b;
			root = b;
		}
		h.root_of[b] = root;
	}
	return order_digits(&h, err);
}

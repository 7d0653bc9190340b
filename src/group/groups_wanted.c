/* Groups that are wanted (request.h): on the CPU, of those that exist. Every group gets a rank, the greater the more it is
 * wanted; the n-th greatest rank is the bound, and equal ones stay.
 *
 * Floor: every row's words are read once, 16 bytes of ranks are written and read for each group. Where HAVING drops most
 * groups of an array, these are never listed (groups_answer.c): a list is 24 bytes each, written and read. */
#include "group/groups.h"

#include <stdatomic.h>
#include "primitive/primitive.h"
#include "util/large.h"
#include "util/threads.h"

#define STRETCH (UINT64_C(1) << 16) /* groups that a thread takes at once */

struct keeping {
	const struct rql_groups_layout *layout;
	struct rql_groups_found *found;
	uint64_t count;
	uint64_t *ranks, *spare; /* [count]; NULL: no order */
	_Atomic uint64_t bound;  /* no group below it is among the first */
};

bool rql_groups_is_wanted(const struct rql_groups_layout *layout, const uint64_t *row)
{
	bool all = true;
	for (uint32_t i = 0; i < layout->wanted.test_count && all; i++) {
		const struct rql_group_test *test = &layout->wanted.tests[i];
		const struct rql_groups_value *value = &layout->values[test->agg];
		rql_int128 number = rql_groups_integer(layout, value, row);
		all = rql_groups_is_valid(layout, value, row) && test->least <= number && number <= test->greatest;
	}
	return all;
}

static uint64_t rank_of(const struct rql_groups_layout *layout, const struct rql_groups_found *f)
{
	const struct rql_wanted_groups *w = &layout->wanted;
	uint64_t rank;
	bool null;
	if (w->of_key) {
		rank = rql_groups_code(layout, &layout->keys[w->index], f);
		null = rank == w->null_key;
	} else {
		const struct rql_groups_value *value = &layout->values[w->index];
		double real = 0;
		null = !rql_groups_is_valid(layout, value, f->row);
		if (value->kind == RQL_MEASURE_REAL)
			real = rql_state_real(f->row[layout->states[value->state].word]);
		rank = value->kind == RQL_MEASURE_REAL ? rql_key_of_f64(real == 0 ? 0 : real) /* no -0 */
		                                        : rql_groups_integer_key(rql_groups_integer(layout, value, f->row));
	}
	if (null)
		return w->nulls_first ? UINT64_MAX : 0;
	return w->descending ? rank : ~rank;
}

/* Marks what does not pass by the row NULL. Where a stretch alone has enough groups, its own bound is one for all. */
static void rank_stretch(void *state, uint64_t index, unsigned worker)
{
	struct keeping *k = state;
	uint64_t begin = index * STRETCH, end = begin + STRETCH < k->count ? begin + STRETCH : k->count, n = 0;
	(void)worker;
	for (uint64_t i = begin; i < end; i++) {
		if (!rql_groups_is_wanted(k->layout, k->found[i].row))
			k->found[i].row = NULL;
		else if (k->ranks)
			k->spare[begin + n++] = k->ranks[i] = rank_of(k->layout, &k->found[i]);
	}
	if (!k->ranks || n < k->layout->wanted.first)
		return;
	uint64_t bound = rql_cpu_nth(k->spare + begin, n, k->layout->wanted.first), now = atomic_load(&k->bound);
	while (now < bound && !atomic_compare_exchange_weak(&k->bound, &now, bound))
		;
}

/* What is left of the found ones, in their order, with so many at most whose rank is the bound; their ranks go with them. */
static void close_up(struct keeping *k, uint64_t bound, uint64_t equal)
{
	uint64_t kept = 0;
	for (uint64_t i = 0; i < k->count; i++) {
		const bool last = k->ranks && k->ranks[i] == bound;
		if (!k->found[i].row || (k->ranks && k->ranks[i] < bound) || (last && !equal))
			continue;
		equal -= last;
		k->found[kept] = k->found[i];
		if (k->ranks)
			k->ranks[kept] = k->ranks[i];
		kept++;
	}
	k->count = kept;
}

/* How many of those are needed that are equal to the last of the first ones. Ranks at the ends may be several values'. */
static uint64_t equal_needed(const struct keeping *k, uint64_t bound)
{
	uint64_t greater = 0;
	if (!k->layout->wanted.ties_free || bound == 0 || bound == UINT64_MAX)
		return UINT64_MAX;
	for (uint64_t i = 0; i < k->count; i++)
		greater += k->ranks[i] > bound;
	return k->layout->wanted.first - greater;
}

rql_status rql_groups_keep_wanted(const struct rql_groups_layout *layout, struct rql_pool *pool, struct rql_groups_found *found,
                                uint64_t *count, struct rql_error *err)
{
	const uint64_t first = layout->wanted.first, stretches = (*count + STRETCH - 1) / STRETCH;
	struct keeping k = {.layout = layout, .found = found, .count = *count};
	if (!layout->wanted.test_count && (!first || first >= *count))
		return RQL_OK;
	if (first && !layout->wanted.any && !(k.ranks = rql_large_alloc(2 * *count * sizeof(uint64_t))))
		return rql_error_memory(err, 2 * *count * sizeof(uint64_t), "the groups of an answer");
	k.spare = k.ranks ? k.ranks + *count : NULL;
	rql_pool_each(pool, stretches, rank_stretch, &k);
	close_up(&k, atomic_load(&k.bound), UINT64_MAX);
	if (k.ranks && k.count > first) {
		memcpy(k.spare, k.ranks, k.count * sizeof(uint64_t));
		const uint64_t bound = rql_cpu_nth(k.spare, k.count, first);
		close_up(&k, bound, equal_needed(&k, bound));
	}
	if (layout->wanted.any && k.count > first)
		k.count = first;
	rql_large_free(k.ranks);
	*count = k.count;
	return RQL_OK;
}

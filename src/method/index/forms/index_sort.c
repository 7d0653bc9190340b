/* Sorting the pairs of a map: by the keys' top bits into parts, on all threads, then each part by itself, which lies in a
 * core's cache then. Floor: pairs read and written twice. */
#include "method/index/forms/index_map.h"

#include <stdlib.h>
#include <string.h>
#include "util/sort.h"

#define FEW (64u << 10) /* pairs that one thread sorts as fast */
#define LOG2_PARTS 8u
#define PARTS (1u << LOG2_PARTS)
#define CHUNKS 64u /* at most, whose pairs a thread takes at once */

struct sorting {
	struct rql_index_pair *pairs, *spare;
	uint64_t count, chunks;
	uint32_t shift;           /* of a key, to its part */
	uint32_t (*at)[PARTS];    /* [chunks]: numbers of pairs, then where the next one goes */
	uint32_t first[PARTS + 1]; /* of each part */
};

static struct rql_index_pair *sort_alone(struct rql_index_pair *pairs, struct rql_index_pair *spare, uint64_t count)
{
	return rql_sort_keyed(pairs, spare, count, sizeof(*pairs), offsetof(struct rql_index_pair, key));
}

static uint64_t chunk_begin(const struct sorting *s, uint64_t chunk)
{
	return s->count * chunk / s->chunks;
}

static void count_chunk(void *state, uint64_t chunk, unsigned worker)
{
	const struct sorting *s = state;
	const uint64_t end = chunk_begin(s, chunk + 1);
	(void)worker;
	for (uint64_t i = chunk_begin(s, chunk); i < end; i++)
		s->at[chunk][s->pairs[i].key >> s->shift]++;
}

/* Pairs of a part keep their order: a chunk's lie behind those of the chunks before it. */
static void lay_out(struct sorting *s)
{
	uint32_t sum = 0;
	for (uint32_t part = 0; part < PARTS; part++) {
		s->first[part] = sum;
		for (uint64_t chunk = 0; chunk < s->chunks; chunk++) {
			const uint32_t n = s->at[chunk][part];
			s->at[chunk][part] = sum;
			sum += n;
		}
	}
	s->first[PARTS] = sum;
}

static void scatter_chunk(void *state, uint64_t chunk, unsigned worker)
{
	const struct sorting *s = state;
	const uint64_t end = chunk_begin(s, chunk + 1);
	(void)worker;
	for (uint64_t i = chunk_begin(s, chunk); i < end; i++)
		s->spare[s->at[chunk][s->pairs[i].key >> s->shift]++] = s->pairs[i];
}

static void sort_part(void *state, uint64_t part, unsigned worker)
{
	const struct sorting *s = state;
	const uint32_t from = s->first[part], n = s->first[part + 1] - from;
	(void)worker;
	const struct rql_index_pair *sorted = sort_alone(s->spare + from, s->pairs + from, n);
	if (sorted != s->pairs + from)
		memcpy(s->pairs + from, sorted, n * sizeof(*sorted));
}

struct rql_index_pair *rql_index_pairs_sort(struct rql_index_pair *pairs, struct rql_index_pair *spare, uint32_t count,
                                            uint64_t greatest, struct rql_pool *pool)
{
	struct sorting s = {.pairs = pairs, .spare = spare, .count = count, .chunks = count / (FEW / 4) + 1};
	s.chunks = s.chunks < CHUNKS ? s.chunks : CHUNKS;
	while (greatest >> s.shift >> LOG2_PARTS)
		s.shift++;
	s.at = count > FEW ? calloc(s.chunks, sizeof(*s.at)) : NULL;
	if (!s.at)
		return sort_alone(pairs, spare, count);
	rql_pool_each(pool, s.chunks, count_chunk, &s);
	lay_out(&s);
	rql_pool_each(pool, s.chunks, scatter_chunk, &s);
	rql_pool_each(pool, PARTS, sort_part, &s);
	free(s.at);
	return pairs;
}

/* Compaction on the CPU: counts per chunk, their prefix sum, and each chunk writes its indices where they belong. One
 * chunk alone is written without being counted first. */
#include <stdlib.h>

#include "primitive/primitive_internal.h"

struct compact_state {
	struct rql_cpu_chunks chunks;
	enum rql_compact_kind kind;
	uint32_t index_bits;
	const void *in;
	void *out;
	uint64_t *starts; /* per chunk: its number of set entries, then where they go */
};

/* Entries [64 * word, ...) as bits; none beyond the end. */
static uint64_t load_word(const struct compact_state *s, uint64_t word)
{
	uint64_t left = s->chunks.count - word * 64, bits = 0;
	if (s->kind == RQL_COMPACT_BITS) {
		bits = ((const uint64_t *)s->in)[word];
		return left < 64 ? bits & ((UINT64_C(1) << left) - 1) : bits;
	}
	const uint32_t *flags = (const uint32_t *)s->in + word * 64;
	for (uint64_t i = 0; i < 64 && i < left; i++)
		bits |= (uint64_t)(flags[i] != 0) << i;
	return bits;
}

static void count_chunk(void *state, uint64_t chunk, unsigned worker)
{
	(void)worker;
	struct compact_state *s = state;
	uint64_t end = rql_div_up(rql_chunk_end(&s->chunks, chunk), 64), found = 0;
	for (uint64_t word = chunk * s->chunks.size / 64; word < end; word++)
		found += (uint64_t)__builtin_popcountll(load_word(s, word));
	s->starts[chunk] = found;
}

static uint64_t write_range(const struct compact_state *s, uint64_t first, uint64_t end, uint64_t to)
{
	uint32_t *narrow = s->out;
	uint64_t *wide = s->out;
	for (uint64_t word = first; word < end; word++) {
		for (uint64_t bits = load_word(s, word); bits; bits &= bits - 1) {
			uint64_t index = word * 64 + (uint64_t)__builtin_ctzll(bits);
			if (s->index_bits == 32)
				narrow[to++] = (uint32_t)index;
			else
				wide[to++] = index;
		}
	}
	return to;
}

static void write_chunk(void *state, uint64_t chunk, unsigned worker)
{
	(void)worker;
	struct compact_state *s = state;
	write_range(s, chunk * s->chunks.size / 64, rql_div_up(rql_chunk_end(&s->chunks, chunk), 64), s->starts[chunk]);
}

rql_status rql_cpu_compact(struct rql_device *cpu, enum rql_compact_kind kind, const void *in, uint64_t count,
                           uint32_t index_bits, void *out, uint64_t *found, struct rql_error *err)
{
	struct compact_state s = {rql_cpu_chunks(cpu, count), kind, index_bits, in, out, NULL};
	if ((unsigned)kind > RQL_COMPACT_FLAGS || (index_bits != 32 && index_bits != 64) ||
	    (index_bits == 32 && count > UINT64_C(1) << 32))
		return rql_error_set(err, RQL_ERROR_INTERNAL, "a compaction of kind %d of %llu entries to %u-bit indices",
		                     (int)kind, (unsigned long long)count, index_bits);
	if (s.chunks.number <= 1) {
		*found = write_range(&s, 0, rql_div_up(count, 64), 0);
		return RQL_OK;
	}
	s.starts = malloc(s.chunks.number * sizeof(*s.starts));
	if (!s.starts)
		return rql_error_memory(err, s.chunks.number * sizeof(*s.starts), "a compaction");
	rql_pool_run(cpu->pool, s.chunks.number, count_chunk, &s);
	uint64_t total = 0;
	for (uint64_t chunk = 0; chunk < s.chunks.number; chunk++) {
		uint64_t here = s.starts[chunk];
		s.starts[chunk] = total;
		total += here;
	}
	rql_pool_run(cpu->pool, s.chunks.number, write_chunk, &s);
	free(s.starts);
	*found = total;
	return RQL_OK;
}

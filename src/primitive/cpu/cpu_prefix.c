/* Prefix sum on the CPU: one pass when one thread does it, else sums per chunk and then the chunks. */
#include <stdlib.h>

#include "primitive/primitive_internal.h"

struct scan_state {
	struct rql_cpu_chunks chunks;
	enum rql_prefix_kind kind;
	bool inclusive;
	const void *in;
	void *out;
	uint64_t *starts; /* per chunk: its sum, then the sum of all before it */
	uint64_t total;
};

#define DEFINE_SCAN(name, in_type, out_type)                                                                           \
	static uint64_t scan_##name(const in_type *in, out_type *out, uint64_t first, uint64_t end, uint64_t start,        \
	                            bool inclusive)                                                                        \
	{                                                                                                                  \
		out_type sum = (out_type)start;                                                                                \
		for (uint64_t i = first; i < end; i++) {                                                                       \
			out_type before = sum;                                                                                     \
			sum += in[i];                                                                                              \
			out[i] = inclusive ? sum : before;                                                                         \
		}                                                                                                              \
		return sum;                                                                                                    \
	}
DEFINE_SCAN(32_32, uint32_t, uint32_t)
DEFINE_SCAN(32_64, uint32_t, uint64_t)
DEFINE_SCAN(64_64, uint64_t, uint64_t)

static uint64_t scan_range(const struct scan_state *s, uint64_t first, uint64_t end, uint64_t start)
{
	switch (s->kind) {
	case RQL_PREFIX_U32_U32:
		return scan_32_32(s->in, s->out, first, end, start, s->inclusive);
	case RQL_PREFIX_U32_U64:
		return scan_32_64(s->in, s->out, first, end, start, s->inclusive);
	default:
		return scan_64_64(s->in, s->out, first, end, start, s->inclusive);
	}
}

static void sum_chunk(void *state, uint64_t chunk, unsigned worker)
{
	(void)worker;
	struct scan_state *s = state;
	const uint32_t *narrow = s->in;
	const uint64_t *wide = s->in;
	uint64_t sum = 0, end = rql_chunk_end(&s->chunks, chunk);
	if (s->kind == RQL_PREFIX_U64_U64)
		for (uint64_t i = chunk * s->chunks.size; i < end; i++)
			sum += wide[i];
	else
		for (uint64_t i = chunk * s->chunks.size; i < end; i++)
			sum += narrow[i];
	s->starts[chunk] = sum;
}

static void scan_chunk(void *state, uint64_t chunk, unsigned worker)
{
	(void)worker;
	struct scan_state *s = state;
	scan_range(s, chunk * s->chunks.size, rql_chunk_end(&s->chunks, chunk), s->starts[chunk]);
}

rql_status rql_cpu_prefix_sum(struct rql_device *cpu, enum rql_prefix_kind kind, bool inclusive, const void *in, void *out,
                        uint64_t count, uint64_t *total, struct rql_error *err)
{
	struct scan_state s = {rql_cpu_chunks(cpu, count), kind, inclusive, in, out, NULL, 0};
	if ((unsigned)kind > RQL_PREFIX_U64_U64)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "there is no prefix sum of kind %d", (int)kind);
	if (s.chunks.number <= 1) {
		s.total = scan_range(&s, 0, count, 0);
	} else {
		s.starts = malloc(s.chunks.number * sizeof(*s.starts));
		if (!s.starts)
			return rql_error_memory(err, s.chunks.number * sizeof(*s.starts), "a prefix sum");
		rql_pool_run(cpu->pool, s.chunks.number, sum_chunk, &s);
		for (uint64_t chunk = 0; chunk < s.chunks.number; chunk++) {
			uint64_t sum = s.starts[chunk];
			s.starts[chunk] = s.total;
			s.total += sum;
		}
		rql_pool_run(cpu->pool, s.chunks.number, scan_chunk, &s);
		free(s.starts);
	}
	if (total)
		*total = kind == RQL_PREFIX_U32_U32 ? (uint32_t)s.total : s.total;
	return RQL_OK;
}

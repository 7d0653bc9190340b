/* Reduction on the CPU: partial results per chunk. */
#include <stdlib.h>

#include "primitive/primitive_internal.h"

struct partial {
	uint64_t low, high;
};
struct reduce_state {
	struct rql_cpu_chunks chunks;
	enum rql_reduce_kind kind;
	enum rql_word_type type;
	const void *in;
	struct partial *partials;
};

static uint64_t key_of(uint64_t bits, enum rql_word_type type)
{
	double value;
	if (type == RQL_WORD_U64)
		return bits;
	if (type == RQL_WORD_I64)
		return rql_key_of_i64((int64_t)bits);
	memcpy(&value, &bits, sizeof(value));
	return rql_key_of_f64(value);
}

static uint64_t bits_of(uint64_t key, enum rql_word_type type)
{
	uint64_t bits;
	if (type == RQL_WORD_U64)
		return key;
	if (type == RQL_WORD_I64)
		return (uint64_t)rql_i64_of_key(key);
	double value = rql_f64_of_key(key);
	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static struct partial neutral(const struct reduce_state *s)
{
	switch (s->kind) {
	case RQL_REDUCE_MIN:
		return (struct partial){s->type == RQL_WORD_F64 ? RQL_KEY_NAN : UINT64_MAX, 0};
	case RQL_REDUCE_MAX:
		return (struct partial){s->type == RQL_WORD_F64 ? rql_key_of_f64(-__builtin_inf()) : 0, 0};
	default:
		return (struct partial){0, 0};
	}
}

static void combine(const struct reduce_state *s, struct partial *to, struct partial more)
{
	if (s->kind == RQL_REDUCE_MIN) {
		to->low = more.low < to->low ? more.low : to->low;
	} else if (s->kind == RQL_REDUCE_MAX) {
		to->low = more.low > to->low ? more.low : to->low;
	} else {
		to->low += more.low;
		to->high += more.high + (to->low < more.low);
	}
}

/* Loops over one kind each, so that the compiler can vectorise them. */
static struct partial reduce_range(const struct reduce_state *s, uint64_t first, uint64_t end)
{
	const uint64_t *in = s->in;
	struct partial p = neutral(s);
	if (s->kind == RQL_REDUCE_SUM64) {
		for (uint64_t i = first; i < end; i++)
			p.low += in[i];
	} else if (s->kind == RQL_REDUCE_SUM128) {
		/* Halves of words do not overflow within 2^32 of them, and a chunk is shorter or is cut here. */
		for (uint64_t at = first; at < end; at += UINT64_C(1) << 31) {
			uint64_t stop = end - at > UINT64_C(1) << 31 ? at + (UINT64_C(1) << 31) : end;
			uint64_t low = 0, high = 0, negative = 0;
			for (uint64_t i = at; i < stop; i++) {
				low += (uint32_t)in[i];
				high += in[i] >> 32;
				negative += in[i] >> 63;
			}
			combine(s, &p, (struct partial){low, 0});
			combine(s, &p, (struct partial){high << 32, high >> 32});
			p.high -= s->type == RQL_WORD_I64 ? negative : 0;
		}
	} else {
		for (uint64_t i = first; i < end; i++)
			combine(s, &p, (struct partial){key_of(in[i], s->type), 0});
	}
	return p;
}

static void reduce_chunk(void *state, uint64_t chunk, unsigned worker)
{
	(void)worker;
	struct reduce_state *s = state;
	s->partials[chunk] = reduce_range(s, chunk * s->chunks.size, rql_chunk_end(&s->chunks, chunk));
}

rql_status rql_cpu_reduce(struct rql_device *cpu, enum rql_reduce_kind kind, enum rql_word_type type, const void *in,
                          uint64_t count, uint64_t *out, struct rql_error *err)
{
	struct reduce_state s = {rql_cpu_chunks(cpu, count), kind, type, in, NULL};
	bool sum = kind == RQL_REDUCE_SUM64 || kind == RQL_REDUCE_SUM128;
	if ((unsigned)kind > RQL_REDUCE_MAX || (unsigned)type > RQL_WORD_F64 || (sum && type == RQL_WORD_F64))
		return rql_error_set(err, RQL_ERROR_INTERNAL, "there is no reduction of kind %d of type %d", (int)kind,
		                     (int)type);
	struct partial result = neutral(&s);
	if (s.chunks.number <= 1) {
		result = reduce_range(&s, 0, count);
	} else {
		s.partials = malloc(s.chunks.number * sizeof(*s.partials));
		if (!s.partials)
			return rql_error_memory(err, s.chunks.number * sizeof(*s.partials), "a reduction");
		rql_pool_run(cpu->pool, s.chunks.number, reduce_chunk, &s);
		for (uint64_t chunk = 0; chunk < s.chunks.number; chunk++)
			combine(&s, &result, s.partials[chunk]);
		free(s.partials);
	}
	out[0] = sum ? result.low : bits_of(result.low, type);
	if (kind == RQL_REDUCE_SUM128)
		out[1] = result.high;
	return RQL_OK;
}

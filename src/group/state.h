/* States of aggregates: what a group's row holds. Word 0 counts the rows that went into it, which tells whether the group
 * exists. The other words belong to states, one or two each. Every method's groups are such rows once the host has them. */
#ifndef RQL_GROUP_STATE_H
#define RQL_GROUP_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "column/value/value.h"

enum rql_state_kind {
	RQL_STATE_COUNT,
	RQL_STATE_SUM,      /* 64 bits: the bounds prove that it fits */
	RQL_STATE_SUM_WIDE, /* 128 bits */
	RQL_STATE_SUM_REAL,
	RQL_STATE_MIN,
	RQL_STATE_MAX,
	RQL_STATE_MIN_WIDE,
	RQL_STATE_MAX_WIDE,
	RQL_STATE_MIN_REAL,
	RQL_STATE_MAX_REAL,
	RQL_STATE_MIN_FIELD, /* without a sign: values less the base */
	RQL_STATE_MAX_FIELD,
};
struct rql_state {
	enum rql_state_kind kind;
	uint32_t word;       /* of the row */
	rql_int128 base;     /* FIELD: what 0 stands for, modulo 2^128 */
};

static inline uint32_t rql_state_words(enum rql_state_kind kind)
{
	return kind == RQL_STATE_SUM_WIDE || kind == RQL_STATE_MIN_WIDE || kind == RQL_STATE_MAX_WIDE ? 2 : 1;
}
/* row[0, words) of a group without rows. Returns whether all of it is 0. */
bool rql_states_clear(const struct rql_state *states, uint32_t count, uint64_t *row, uint32_t words);
/* Adds row `from` to row `into`. false: a 128-bit sum overflowed; it is modulo 2^128 then. */
bool rql_states_add(const struct rql_state *states, uint32_t count, uint64_t *into, const uint64_t *from);

/* ---- one value into a word ---- */

static inline double rql_state_real(uint64_t word)
{
	double real;
	memcpy(&real, &word, sizeof(real));
	return real;
}

static inline uint64_t rql_state_word(double real)
{
	uint64_t word;
	memcpy(&word, &real, sizeof(word));
	return word;
}

/* false: overflow. */
static inline bool rql_state_add_wide(uint64_t *word, rql_int128 value)
{
	rql_int128 sum;
	memcpy(&sum, word, sizeof(sum));
	bool fits = !__builtin_add_overflow(sum, value, &sum);
	memcpy(word, &sum, sizeof(sum));
	return fits;
}

static inline void rql_state_fold_wide(uint64_t *word, rql_int128 value, bool max)
{
	rql_int128 now;
	memcpy(&now, word, sizeof(now));
	if (max ? value > now : value < now)
		memcpy(word, &value, sizeof(value));
}

static inline void rql_state_fold_field(uint64_t *word, uint64_t value, bool max)
{
	if (max ? value > *word : value < *word)
		*word = value;
}

static inline void rql_state_add_real(uint64_t *word, double value)
{
	*word = rql_state_word(rql_state_real(*word) + value);
}

/* NaN is the greatest. */
static inline bool rql_state_real_below(double a, double b)
{
	return a == a && (b != b || a < b);
}

static inline void rql_state_fold_real(uint64_t *word, double value, bool max)
{
	double now = rql_state_real(*word);
	if (max ? rql_state_real_below(now, value) : rql_state_real_below(value, now))
		*word = rql_state_word(value);
}

/* ---- the value of a word ---- */

/* Of states of integers and codes; of a sum of one word the bounds prove that it fits. */
static inline rql_int128 rql_state_integer(const struct rql_state *state, const uint64_t *row)
{
	const uint64_t *word = row + state->word;
	rql_int128 wide;
	switch (state->kind) {
	case RQL_STATE_COUNT:
		return (rql_int128)*word;
	case RQL_STATE_SUM_WIDE:
	case RQL_STATE_MIN_WIDE:
	case RQL_STATE_MAX_WIDE:
		memcpy(&wide, word, sizeof(wide));
		return wide;
	case RQL_STATE_MIN_FIELD:
	case RQL_STATE_MAX_FIELD:
		return (rql_int128)((rql_uint128)state->base + *word);
	default:
		return (int64_t)*word;
	}
}

#endif

/* Rows of states: empty ones, and one added to another. */
#include "group/state.h"

/* The value that any first one replaces. NaN is the greatest double (column/value/value.h). */
static void clear_state(enum rql_state_kind kind, uint64_t *word)
{
	switch (kind) {
	case RQL_STATE_MIN:
		*word = INT64_MAX;
		break;
	case RQL_STATE_MAX:
		*word = (uint64_t)INT64_MIN;
		break;
	case RQL_STATE_MIN_WIDE:
		word[0] = UINT64_MAX;
		word[1] = INT64_MAX;
		break;
	case RQL_STATE_MAX_WIDE:
		word[1] = (uint64_t)INT64_MIN;
		break;
	case RQL_STATE_MIN_REAL:
		*word = rql_state_word(__builtin_nan(""));
		break;
	case RQL_STATE_MAX_REAL:
		*word = rql_state_word(-__builtin_inf());
		break;
	case RQL_STATE_MIN_FIELD:
		*word = UINT64_MAX;
		break;
	default:
		break;
	}
}

bool rql_states_clear(const struct rql_state *states, uint32_t count, uint64_t *row, uint32_t words)
{
	uint64_t any = 0;
	memset(row, 0, words * sizeof(*row));
	for (uint32_t s = 0; s < count; s++)
		clear_state(states[s].kind, row + states[s].word);
	for (uint32_t w = 0; w < words; w++)
		any |= row[w];
	return any == 0;
}

bool rql_states_add(const struct rql_state *states, uint32_t count, uint64_t *into, const uint64_t *from)
{
	bool fits = true;
	into[0] += from[0];
	for (uint32_t s = 0; s < count; s++) {
		uint64_t *word = into + states[s].word;
		const uint64_t *other = from + states[s].word;
		const enum rql_state_kind kind = states[s].kind;
		rql_int128 wide;
		switch (kind) {
		case RQL_STATE_COUNT:
		case RQL_STATE_SUM:
			*word += *other;
			break;
		case RQL_STATE_MIN:
			*word = (int64_t)*other < (int64_t)*word ? *other : *word;
			break;
		case RQL_STATE_MAX:
			*word = (int64_t)*other > (int64_t)*word ? *other : *word;
			break;
		case RQL_STATE_MIN_FIELD:
		case RQL_STATE_MAX_FIELD:
			rql_state_fold_field(word, *other, kind == RQL_STATE_MAX_FIELD);
			break;
		case RQL_STATE_SUM_REAL:
			rql_state_add_real(word, rql_state_real(*other));
			break;
		case RQL_STATE_MIN_REAL:
		case RQL_STATE_MAX_REAL:
			rql_state_fold_real(word, rql_state_real(*other), kind == RQL_STATE_MAX_REAL);
			break;
		case RQL_STATE_SUM_WIDE:
			memcpy(&wide, other, sizeof(wide));
			fits &= rql_state_add_wide(word, wide);
			break;
		default:
			memcpy(&wide, other, sizeof(wide));
			rql_state_fold_wide(word, wide, kind == RQL_STATE_MAX_WIDE);
			break;
		}
	}
	return fits;
}

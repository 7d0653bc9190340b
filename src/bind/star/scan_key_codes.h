/* Keys of a dimension's column as those of the fact table's column: the same integers, or codes of two dictionaries. */
#ifndef RQL_BIND_SCAN_KEY_CODES_H
#define RQL_BIND_SCAN_KEY_CODES_H

#include "column/store.h"
#include "util/arena.h"

struct rql_key_codes {
	int64_t least, greatest; /* of what is translated; all else is no key of the fact table's */
	const int64_t *keys;     /* [greatest - least + 1]; NULL: the key is what is translated, or, with */
	const uint64_t *there;   /* ... whether there is one */
	const int64_t *sorted;   /* ... its place here */
	uint64_t sorted_count;
};
/* from, to: columns of one type, of up to 64 bits or coded. In arena. */
rql_status rql_key_codes_make(struct rql_arena *arena, const struct rql_store_column *from,
                              const struct rql_store_column *to, struct rql_key_codes *out,
                              struct rql_error *err) RQL_MUST_CHECK;
/* The key of row `row` of a column of the type of stored; false: no row of the fact table has it. */
bool rql_key_of_value(const struct rql_store_column *stored, const struct rql_column *column, uint64_t row,
                      int64_t *out);

static inline bool rql_key_code(const struct rql_key_codes *c, int64_t value, int64_t *out)
{
	if (value < c->least || value > c->greatest)
		return false;
	if (c->sorted) {
		uint64_t low = 0, high = c->sorted_count;
		while (low < high) {
			uint64_t middle = low + (high - low) / 2;
			if (c->sorted[middle] < value)
				low = middle + 1;
			else
				high = middle;
		}
		*out = (int64_t)low;
		return low < c->sorted_count && c->sorted[low] == value;
	}
	uint64_t at = (uint64_t)value - (uint64_t)c->least;
	*out = c->keys ? c->keys[at] : value;
	return !c->there || (c->there[at >> 6] >> (at & 63) & 1);
}

#endif

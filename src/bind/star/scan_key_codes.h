/* Keys of a dimension's column as those of the fact table's column: the same integers, or codes of two dictionaries. */
#ifndef RQL_BIND_SCAN_KEY_CODES_H
#define RQL_BIND_SCAN_KEY_CODES_H

#include "column/store/store.h"
#include "util/arena.h"
#include "util/threads.h"

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

/* payloads[r] = r, and keys[r] the key of row r, or pair of keys, of the first columns; a row that meets no row of the fact
 * table has the payload -1. *null: a key is NULL. By all threads of the pool where there are many rows. */
struct rql_scan_keys;
void rql_keys_of_rows(const struct rql_scan_keys *at, const struct rql_column *columns, uint64_t rows,
                      struct rql_pool *pool, int64_t *keys, int32_t *payloads, bool *null);
/* The same without reading them, where the column has the keys: *out is all of the part but its count. false: it has not. */
struct rql_map_part;
bool rql_keys_as_they_lie(const struct rql_scan_keys *at, const struct rql_column *column, struct rql_map_part *out);
/* The key of one row; false: no row of the fact table has it. */
bool rql_key_of_row(const struct rql_scan_keys *at, const struct rql_column *columns, uint64_t row, int64_t *out);

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
	return rql_bit_valid(c->there, at);
}

#endif

/* Maps: from an integer key (or a code) to a payload in [0, 2^31): what a dimension table filtered by its own
 * predicates comes down to for whoever joins it. Keys that lie densely are looked up in an array from the least one,
 * others in a hash table. Immutable once built: several readers may use one at once. map_layout.h is for inner loops. */
#ifndef RQL_COLUMN_MAP_H
#define RQL_COLUMN_MAP_H

#include <stdbool.h>
#include <stdint.h>
#include "util/status.h"
#include "util/threads.h"

struct rql_map;
/* keys[i] leads to payloads[i]; a negative payload is no entry at all (the dimension's row was filtered out), and
 * payloads NULL makes a set, for semi and anti joins: every payload is 0 and a key may come twice. Otherwise a key that
 * comes twice is RQL_ERROR_UNSUPPORTED (the join would multiply rows: the planner must aggregate the other side first,
 * or leave the join to the host), with the key in the message. NULL keys join nothing: leave them out. count up to
 * 2^31. Arrays are copied. */
rql_status rql_map_build(const int64_t *keys, const int32_t *payloads, uint64_t count, struct rql_map **out,
                         struct rql_error *err) RQL_MUST_CHECK;
/* The same from several arrays, by all threads of the pool (NULL: the caller's alone). once: without payloads every one
 * is 0, but a key must not come twice. Either all parts make a set, or none does. Columns are taken as they lie: keys may
 * have 32 bits, and numbered ones lead to their own places, without an array of these. */
struct rql_map_part {
	const int64_t *keys;
	const int32_t *payloads;
	uint64_t count;
	bool once;
	const int32_t *narrow; /* the keys; NULL: `keys` has them */
	bool numbered;         /* payloads is NULL; keys outside [least, greatest] are no entries */
	int64_t least, greatest;
};
rql_status rql_map_build_parts(const struct rql_map_part *parts, uint64_t part_count, struct rql_pool *pool,
                               struct rql_map **out, struct rql_error *err) RQL_MUST_CHECK;
/* A map that somebody else has made, array by array in the form of map_layout.h: `read` writes each to where it stays. */
enum rql_map_array {
	RQL_MAP_BITS,  /* dense: is the key there? rql_map_bit_words(span), whose bits beyond are 0 */
	RQL_MAP_FOUND, /* dense: payloads, rql_map_found_bytes(span, width); width 0: there are none, as of a set */
	RQL_MAP_TABLE, /* hashed */
};
struct rql_map_made {
	uint64_t entries, offered; /* offered: so many keys were found, some perhaps twice */
	uint32_t payloads;         /* one more than the greatest */
	int64_t least, greatest;   /* no key lies outside */
	uint64_t places;           /* greatest - least + 1 */
	uint32_t width;            /* dense: bytes of a payload */
	uint64_t capacity;         /* hashed: a power of 2, twice the entries or more; 0: dense */
};
typedef rql_status rql_map_read(void *state, enum rql_map_array array, void *to, uint64_t bytes, struct rql_error *err);
rql_status rql_map_take(const struct rql_map_made *made, rql_map_read *read, void *state, struct rql_map **out,
                        struct rql_error *err) RQL_MUST_CHECK;
static inline uint64_t rql_map_bit_words(uint32_t span)
{
	return (uint64_t)span / 32 + 2;
}
/* Vectors gather words at any place: there is room for 8 bytes more. */
static inline uint64_t rql_map_found_bytes(uint32_t span, uint32_t width)
{
	return width ? (uint64_t)span * width + 8 : 0;
}
/* Bytes of payloads + 1, up to this one. */
static inline uint32_t rql_map_width(uint64_t payloads)
{
	return payloads <= UINT8_MAX ? 1 : payloads <= UINT16_MAX ? 2 : 4;
}
/* Are arrays as good as a hash table for so many entries, whose keys lie in so many places? width 0: of a set. */
bool rql_map_suits_arrays(uint64_t places, uint32_t width, double entries);
/* The places of a hash table of up to so many. */
uint64_t rql_map_capacity(uint64_t entries);
/* Bytes of an entry of it whose keys lie in so many places; 0 says 2^64. */
uint32_t rql_map_entry_bytes(uint64_t places);
void rql_map_free(struct rql_map *map); /* NULL accepted */
/* Copies of the map lie elsewhere: gone is called with it before it goes. There is one such function in a process. */
void rql_map_watch(const struct rql_map *map, void (*gone)(const void *map));
uint64_t rql_map_bytes(const struct rql_map *map);
uint64_t rql_map_entries(const struct rql_map *map);
bool rql_map_is_dense(const struct rql_map *map);
/* One more than the greatest payload; 0: the map is empty. */
uint32_t rql_map_payloads(const struct rql_map *map);
/* Can a key of [least, greatest] be in it? false: none is. By the map's range, and by its bits or keys where looking through
 * them takes less than a block's rows. */
bool rql_map_may_meet(const struct rql_map *map, int64_t least, int64_t greatest);
/* Its keys, in any order, into room for `most`; their number, or UINT64_MAX: they are more. */
uint64_t rql_map_keys(const struct rql_map *map, uint64_t most, int64_t *out);
/* The payload of a key; -1: none. */
int32_t rql_map_find(const struct rql_map *map, int64_t key);

#endif

/* Maps from keys to rows: what an index keeps of one segment of a store. Keys are distances from the segment's least
 * value, so that most of them have 32 bits; rows are numbers below 2^31 that mean nothing here. Every row has one key,
 * a key any number of rows. Immutable once made; any thread may look up. */
#ifndef RQL_METHOD_INDEX_INDEX_MAP_H
#define RQL_METHOD_INDEX_INDEX_MAP_H

#include "method/request.h"
#include "util/mem.h"
#include "util/threads.h"

struct rql_index_pair {
	uint64_t key;
	uint32_t row;
};

#define RQL_INDEX_LEVELS 11u /* of 2^32 rows with 9 children a node */
struct rql_index_map {
	enum rql_index_form form; /* SORTED, BTREE, HASH or DIRECT */
	bool narrow;       /* keys are uint32_t, else uint64_t */
	uint32_t count;    /* rows */
	uint64_t greatest; /* key; 0 when there is none */
	struct rql_mem mem;
	void *keys;      /* SORTED, BTREE: of each row, ascending; HASH: of each slot; DIRECT: none */
	uint32_t *rows;  /* SORTED, BTREE, DIRECT: [count]; HASH: of each key with several rows their number, then they */
	/* SORTED: for each value of the keys' top bits its first row; HASH: of each slot (index_hash.c); DIRECT: for each
	 * integer its first row, or none (index_direct.c) */
	uint32_t *table;
	uint32_t shift;  /* SORTED: the other bits */
	uint32_t slots;  /* HASH */
	uint32_t listed; /* HASH: how long `rows` is */
	uint32_t level_count; /* BTREE: above the keys, which are the lowest, from below */
	void *levels[RQL_INDEX_LEVELS];
};

/* Takes `count` pairs, of each key with ascending rows, and sorts them on the pool's threads (NULL: the caller's alone);
 * spare has room for as many. DIRECT: it leaves them as they are, spare may be NULL, and a greatest key of some times
 * `count` is too much memory. Nothing is left behind on failure. */
rql_status rql_index_map_make(enum rql_index_form form, struct rql_index_pair *pairs, struct rql_index_pair *spare,
                              uint32_t count, struct rql_pool *pool, struct rql_budget *budget,
                              struct rql_index_map *out, struct rql_error *err) RQL_MUST_CHECK;
/* Its sort, which is stable (index_sort.c): in one of the two arrays, which is returned. greatest: no key is above it. */
struct rql_index_pair *rql_index_pairs_sort(struct rql_index_pair *pairs, struct rql_index_pair *spare, uint32_t count,
                                            uint64_t greatest, struct rql_pool *pool);
void rql_index_map_clear(struct rql_index_map *map);
/* How many rows have keys in [least, greatest], and where they stand: one behind another, of one key in ascending order.
 * HASH: least == greatest. */
uint32_t rql_index_map_find(const struct rql_index_map *map, uint64_t least, uint64_t greatest, const uint32_t **rows);

/* Asks the memory for what a search for the key reads first. */
void rql_index_map_fetch(const struct rql_index_map *map, uint64_t key);

/* Of a map that was read and not made: may it be searched? Its rows may be any numbers. */
bool rql_index_map_check(const struct rql_index_map *map);

/* ---- the forms, for index_map.c: pairs ascend by key, then row; of DIRECT they are in any order ---- */
rql_status rql_index_sorted_make(struct rql_index_map *map, const struct rql_index_pair *pairs, struct rql_error *err);
uint32_t rql_index_sorted_find(const struct rql_index_map *map, uint64_t least, uint64_t greatest,
                               const uint32_t **rows);
rql_status rql_index_hash_make(struct rql_index_map *map, const struct rql_index_pair *pairs, struct rql_error *err);
uint32_t rql_index_hash_find(const struct rql_index_map *map, uint64_t key, const uint32_t **rows);

rql_status rql_index_btree_make(struct rql_index_map *map, const struct rql_index_pair *pairs, struct rql_error *err);
uint32_t rql_index_btree_find(const struct rql_index_map *map, uint64_t least, uint64_t greatest,
                              const uint32_t **rows);
/* How long `keys` is: whole nodes. */
uint64_t rql_index_btree_keys(const struct rql_index_map *map);
/* Makes the levels above the keys, whatever these are. */
rql_status rql_index_btree_levels(struct rql_index_map *map, struct rql_error *err) RQL_MUST_CHECK;
bool rql_index_btree_check(const struct rql_index_map *map);
bool rql_index_hash_check(const struct rql_index_map *map);
uint32_t rql_index_hash_first(const struct rql_index_map *map, uint64_t key); /* the slot where it is looked for first */
/* How many rows a slot has, and where they stand. */
uint32_t rql_index_hash_slot(const struct rql_index_map *map, uint32_t slot, const uint32_t **rows);

rql_status rql_index_direct_make(struct rql_index_map *map, const struct rql_index_pair *pairs, struct rql_error *err);
uint32_t rql_index_direct_find(const struct rql_index_map *map, uint64_t least, uint64_t greatest,
                               const uint32_t **rows);

static inline uint64_t rql_index_key(const struct rql_index_map *map, uint32_t at)
{
	return map->narrow ? ((const uint32_t *)map->keys)[at] : ((const uint64_t *)map->keys)[at];
}
static inline void rql_index_set_key(const struct rql_index_map *map, uint32_t at, uint64_t key)
{
	if (map->narrow)
		((uint32_t *)map->keys)[at] = (uint32_t)key;
	else
		((uint64_t *)map->keys)[at] = key;
}

#endif

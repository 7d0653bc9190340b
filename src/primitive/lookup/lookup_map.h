/* Maps from unsigned keys to rows on a GPU, and their making. lookup.h tells the forms, and looks batches up in them. */
#ifndef RQL_PRIMITIVE_LOOKUP_MAP_H
#define RQL_PRIMITIVE_LOOKUP_MAP_H

#include "primitive/primitive.h"

#define RQL_LOOKUP_KEYS UINT64_C(0xffff0000) /* at most, of a map */

enum rql_lookup_form {
	RQL_LOOKUP_SORTED,
	RQL_LOOKUP_HASHED,
	RQL_LOOKUP_DIRECT,
	RQL_LOOKUP_BTREE,
	RQL_LOOKUP_KARY
};
/* How a sorted map is searched between two entries of its directory. */
enum rql_lookup_search { RQL_LOOKUP_BINARY, RQL_LOOKUP_INTERPOLATION };

struct rql_lookup_map {
	enum rql_lookup_form form;
	uint32_t key_bits; /* 32 or 64 */
	uint64_t count;    /* keys */
	/* All but HASHED: bounds of the keys, low <= high; of 32-bit keys below 2^32. DIRECT: high - low is below
	 * RQL_LOOKUP_KEYS. */
	uint64_t low, high;
	/* SORTED; keys, rows and sums also BTREE; keys and rows also KARY */
	uint32_t shift;         /* of the directory, 0 .. 63: (high - low) >> shift is below RQL_LOOKUP_KEYS */
	enum rql_lookup_search search; /* of batches (lookup.h); bits and lists always take binary search */
	struct rql_span keys; /* key_bits each; BTREE: room for rql_lookup_tree_keys, at a multiple of 16 bytes; KARY: for
	                       * rql_lookup_kary_keys, at a multiple of 32 */
	struct rql_span rows;   /* uint32_t each; left out: `keys` are pairs of 8 bytes, a key of 32 bits and its row */
	struct rql_span starts; /* uint32_t[rql_lookup_starts] */
	struct rql_span sums;   /* uint64_t[count + 1]: prefix sums of a value; may be left out */
	uint32_t node_bytes;   /* KARY: 32 or 64; 0: RQL_LOOKUP_NODE_BYTES */
	struct rql_span nodes; /* BTREE: rql_lookup_tree_lines of 64 bytes, at a multiple of 16 */
	/* HASHED, DIRECT */
	uint32_t part_bits, part_slots; /* HASHED: 2^part_bits partitions of as many slots (rql_lookup_choose_parts) */
	struct rql_span slots;  /* rql_lookup_slots, of rql_lookup_slot_bytes each; HASHED: at a multiple of 32 bytes */
	struct rql_span counts; /* uint32_t a slot: rows of its key; may be left out */
	/* uint64_t: not 0 after the build: rows whose key found no place (HASHED: a partition is full, which only keys that were
	 * chosen for it make likely; DIRECT: it is outside of the bounds). The map is useless then: build a SORTED one. */
	struct rql_span failed;
};
/* SORTED: the shift of the finest directory that has no more entries than there are keys (but two). */
uint32_t rql_lookup_choose_shift(uint64_t count, uint64_t low, uint64_t high);
/* Entries and one: the words of `starts`. */
uint64_t rql_lookup_starts(const struct rql_lookup_map *map);
/* BTREE: the keys in whole nodes, of which those behind the last are all ones, and the lines of the levels above: the
 * first one says in which line each of them begins, from the top, as uint32_t. */
uint64_t rql_lookup_tree_keys(const struct rql_lookup_map *map);
uint64_t rql_lookup_tree_lines(const struct rql_lookup_map *map);
/* KARY: the keys in whole nodes; those behind the last are all ones. */
#define RQL_LOOKUP_NODE_BYTES 32u /* a GPU's least read */
uint64_t rql_lookup_kary_keys(const struct rql_lookup_map *map);
/* HASHED: sets part_bits and part_slots by the keys' number and width: half load. False: too many keys. */
bool rql_lookup_choose_parts(struct rql_lookup_map *map);
/* HASHED, DIRECT. */
uint64_t rql_lookup_slots(const struct rql_lookup_map *map);
uint32_t rql_lookup_slot_bytes(const struct rql_lookup_map *map);

/* Makes a map of keys in any order; row i is the i-th of them.
 * Bytes moved for n keys of k bytes: SORTED and BTREE k, 2 k + 8 for each of up to two passes of the partition and as much
 * for the order in it, 4 bytes an entry, sums 24; where ranges of keys are crowded, or keys are few, 3 k + 8 for each 8 bits
 * of k and 8 bytes an entry. HASHED k, 2 k + 8 for each pass, k + 4 read and its slots written. DIRECT the same, one pass.
 * KARY 3 k + 8 for each 8 bits of k, and 2 k + 8 for its own order. */
struct rql_lookup_build {
	struct rql_lookup_map map; /* where it is put */
	struct rql_span keys;      /* not the map's */
	uint32_t value_bits;       /* 32 or 64; with the map's sums only */
	bool value_signed;         /* 32 bits are extended by their sign */
	struct rql_span values;
	struct rql_span temp;
};
uint64_t rql_lookup_build_temp_bytes(const struct rql_lookup_build *build);
rql_status rql_record_lookup_build(struct rql_commands *c, const struct rql_lookup_build *build,
                                   struct rql_error *err) RQL_MUST_CHECK;
/* BTREE: its levels, and what fills up the last node, where keys and rows lie there already in their order. */
rql_status rql_record_lookup_levels(struct rql_commands *c, const struct rql_lookup_map *map,
                                    struct rql_error *err) RQL_MUST_CHECK;

#endif

/* Batches of look-ups on a GPU: points and ranges in a map from unsigned keys to rows, answered in the probes' order.
 *
 * The map is an array of sorted keys with their row numbers, and a directory over it, which has an entry for each
 * run of 2^shift integers from `low` on. By its shift it is three of the known structures:
 *   - one entry: binary search;
 *   - some entries for each key: a radix table over the top bits, with short searches behind it;
 *   - shift 0: a direct table for dense keys, where nothing is searched.
 * Bounds are a hint: keys beyond them are found, too, only more slowly.
 *
 * As in relation.h the plan depends on the device, which is that of the keys' buffer: fill everything but `temp` before
 * asking for its size. Recording waits for nothing. Keys are unsigned; rql_key_of_i64 and its like make them of others.
 * Duplicates are kept; rows of equal keys ascend.
 *
 * Bytes of a map: key_bits / 8 + 4 a key, 4 an entry, and 8 a key for sums. A chosen directory has no more entries than
 * keys: at most 12 bytes a key of 32 bits, 16 of 64.
 * Floor of a batch: its probes read once and its answers written once, and random reads of the map. Those are of 32
 * bytes at least: the entry, a key unless shift is 0, and the row; a range takes the first two twice, and its sum two
 * more. A directory of 0.5 to 1 entries a key leaves one or two keys to search in an entry of evenly spread keys.
 * Not here: hashed keys, and probes that are partitioned first (notes/h200_joins.md has what they gain). */
#ifndef RQL_PRIMITIVE_LOOKUP_H
#define RQL_PRIMITIVE_LOOKUP_H

#include "primitive/primitive.h"

#define RQL_LOOKUP_KEYS UINT64_C(0xffff0000) /* at most, of a map */
#define RQL_LOOKUP_NO_ROW UINT32_MAX

struct rql_lookup_map {
	uint32_t key_bits; /* 32 or 64 */
	uint64_t count;    /* keys */
	uint64_t low, high; /* bounds of the keys, low <= high; of 32-bit keys below 2^32 */
	uint32_t shift;     /* of the directory, 0 .. 63: (high - low) >> shift is below RQL_LOOKUP_KEYS */
	struct rql_span keys;   /* key_bits each */
	struct rql_span rows;   /* uint32_t each */
	struct rql_span starts; /* uint32_t[rql_lookup_starts] */
	struct rql_span sums;   /* uint64_t[count + 1]: prefix sums of a value; may be left out */
};
/* The shift of the finest directory that has no more entries than there are keys (but two). */
uint32_t rql_lookup_choose_shift(uint64_t count, uint64_t low, uint64_t high);
/* Entries and one: the words of `starts`. */
uint64_t rql_lookup_starts(const struct rql_lookup_map *map);

/* Makes a map of keys in any order; row i is the i-th of them. */
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

/* Answers of a batch; what is left out is not made. Needs no temporary memory. */
struct rql_lookup {
	struct rql_lookup_map map;
	uint64_t count;         /* probes: a bound where `found` is given */
	struct rql_span found;  /* uint64_t on the device; may be left out */
	struct rql_span points; /* keys, or where ranges begin */
	struct rql_span ends;   /* last keys of ranges (within them); left out: points. Below its begin: an empty range */
	struct rql_span rows;   /* uint32_t: the least row of the least key that there is, or RQL_LOOKUP_NO_ROW */
	struct rql_span counts; /* uint32_t: rows */
	struct rql_span sums;   /* uint64_t: their sum, modulo 2^64; 0 of none. Needs the map's sums */
};
rql_status rql_record_lookup(struct rql_commands *c, const struct rql_lookup *lookup,
                             struct rql_error *err) RQL_MUST_CHECK;

#endif

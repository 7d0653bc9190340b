/* Batches of look-ups on a GPU: points and ranges in a map from unsigned keys to rows, answered in the probes' order.
 *
 * A map has one of three forms:
 *   - SORTED: an array of sorted keys with their row numbers, and a directory over it, which has an entry for each run
 *     of 2^shift integers from `low` on. By its shift it is binary search (one entry), a radix table over the top bits
 *     with short searches behind it, or for dense keys a table where nothing is searched (shift 0). It keeps order: it
 *     has ranges, and sums of a value by prefix sums, two look-ups a range of any length. Bounds are a hint: keys
 *     beyond them are found, too, only more slowly.
 *   - HASHED: an open-addressing table of the different keys, cut into parts by the top bits of the hash. A part is
 *     built in shared memory, and a key lies within its part, by linear probing. Points only.
 *   - DIRECT: a row number for each integer of [low, high]. Points only, for dense keys.
 *
 * Probes of a large map meet memory at random. So they are partitioned first by the part of the map that they meet, one
 * radix pass, where `temp` is given: then what is at work at a time fits the cache. The answers go back to the probes'
 * order tile by tile through shared memory (rql_record_unpartition).
 *
 * As in relation.h the plan depends on the device, which is that of the keys' buffer: fill everything but `temp` before
 * asking for its size. Recording waits for nothing. Keys are unsigned; rql_key_of_i64 and its like make them of others.
 * Keys may occur any number of times; rows of equal keys ascend.
 *
 * Bytes of a map: SORTED key_bits / 8 + 4 a key, 4 an entry, and 8 a key for sums; a chosen directory has no more
 * entries than keys. HASHED at half load 16 a key of 32 bits, 32 of 64. DIRECT 4 an integer of the bounds.
 * Floor of a batch: its probes read once and its answers written once. Bytes that the passes move beside random reads
 * of the map, for n probes of k bytes and answers of a: in the probes' order n * (k + a). Partitioned n * (3 * k + 2)
 * for the partition (ends of ranges: 2 * k more), n * (k + a) for the look-ups, n * (2 * a + 2) for the way back: of
 * points of 32 bits with their rows 32 bytes, 1.07 ms for 2^27 at 4.0 TB/s. Random reads are of 32 bytes each: HASHED
 * and DIRECT one, SORTED up to three (entry, key, row; two of pairs), and twice the first two for a range, plus two of
 * its sums. */
#ifndef RQL_PRIMITIVE_LOOKUP_H
#define RQL_PRIMITIVE_LOOKUP_H

#include "primitive/primitive.h"

#define RQL_LOOKUP_KEYS UINT64_C(0xffff0000) /* at most, of a map */
#define RQL_LOOKUP_NO_ROW UINT32_MAX

enum rql_lookup_form { RQL_LOOKUP_SORTED, RQL_LOOKUP_HASHED, RQL_LOOKUP_DIRECT };

struct rql_lookup_map {
	enum rql_lookup_form form;
	uint32_t key_bits; /* 32 or 64 */
	uint64_t count;    /* keys */
	/* SORTED, DIRECT: bounds of the keys, low <= high; of 32-bit keys below 2^32. DIRECT: high - low is below
	 * RQL_LOOKUP_KEYS. */
	uint64_t low, high;
	/* SORTED */
	uint32_t shift;         /* of the directory, 0 .. 63: (high - low) >> shift is below RQL_LOOKUP_KEYS */
	struct rql_span keys;   /* key_bits each */
	struct rql_span rows;   /* uint32_t each; left out: `keys` are pairs of 8 bytes, a key of 32 bits and its row */
	struct rql_span starts; /* uint32_t[rql_lookup_starts] */
	struct rql_span sums;   /* uint64_t[count + 1]: prefix sums of a value; may be left out */
	/* HASHED, DIRECT */
	uint32_t part_bits, part_slots; /* HASHED: 2^part_bits parts of as many slots (rql_lookup_choose_parts) */
	struct rql_span slots;  /* rql_lookup_slots, of rql_lookup_slot_bytes each */
	struct rql_span counts; /* uint32_t a slot: rows of its key; may be left out */
	/* uint64_t: not 0 after the build: rows whose key found no place (HASHED: a part is full, which only keys that were
	 * chosen for it make likely; DIRECT: it is outside of the bounds). The map is useless then: build a SORTED one. */
	struct rql_span failed;
};
/* SORTED: the shift of the finest directory that has no more entries than there are keys (but two). */
uint32_t rql_lookup_choose_shift(uint64_t count, uint64_t low, uint64_t high);
/* Entries and one: the words of `starts`. */
uint64_t rql_lookup_starts(const struct rql_lookup_map *map);
/* HASHED: sets part_bits and part_slots by the keys' number and width: half load. False: too many keys. */
bool rql_lookup_choose_parts(struct rql_lookup_map *map);
/* HASHED, DIRECT. */
uint64_t rql_lookup_slots(const struct rql_lookup_map *map);
uint32_t rql_lookup_slot_bytes(const struct rql_lookup_map *map);

/* Makes a map of keys in any order; row i is the i-th of them.
 * Bytes moved for n keys of k bytes: SORTED 3 k + 8 for each 8 bits of k, 8 bytes an entry, sums 24. HASHED 3 k + 8 for
 * each of one or two passes of the partition, k + 4 read and its slots written. DIRECT the same, one pass. */
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

/* Answers of a batch; what is left out is not made. */
struct rql_lookup {
	struct rql_lookup_map map;
	uint64_t count;         /* probes: a bound where `found` is given */
	struct rql_span found;  /* uint64_t on the device; may be left out */
	struct rql_span points; /* keys, or where ranges begin */
	struct rql_span ends;   /* last keys of ranges (within them); left out: points. Below its begin: an empty range */
	struct rql_span rows;   /* uint32_t: the least row of the least key that there is, or RQL_LOOKUP_NO_ROW */
	struct rql_span counts; /* uint32_t: rows. HASHED and DIRECT need the map's counts */
	struct rql_span sums;   /* uint64_t: their sum, modulo 2^64; 0 of none. Needs the map's sums */
	uint32_t order; /* log2 of the partitions that the probes are brought into, plus 1; 1: none; 0: chosen by sizes */
	struct rql_span temp;   /* left out: no partitions */
};
/* 0: the probes are best looked up as they come. */
uint64_t rql_lookup_temp_bytes(const struct rql_lookup *lookup);
rql_status rql_record_lookup(struct rql_commands *c, const struct rql_lookup *lookup,
                             struct rql_error *err) RQL_MUST_CHECK;

#endif

/* Batches of look-ups on a GPU: points and ranges in a map from unsigned keys to rows, answered in the probes' order.
 *
 * A map has one of five forms:
 *   - SORTED: an array of sorted keys with their row numbers, and a directory over it, which has an entry for each run
 *     of 2^shift integers from `low` on. By its shift it is binary search (one entry), a radix table over the top bits
 *     with short searches behind it, or for dense keys a table where nothing is searched (shift 0). It keeps order: it
 *     has ranges, and sums of a value by prefix sums, two look-ups a range of any length. Bounds are a hint: keys
 *     beyond them are found, too, only more slowly. Between two entries the search is binary. Or it interpolates: it
 *     guesses a place by the density of keys, jumps on from there, and gallops or halves what is left. Evenly spread
 *     keys take some six reads then without any directory, and no keys more than 6 + 2 log2 n.
 *   - BTREE: the same arrays under a B+ tree that is made once: nodes of a line of 64 bytes, 16 keys of 32 bits or 8 of
 *     64, level by level without pointers, since child c of node n is node n * (keys + 1) + c of the level below. A search
 *     reads a line a level. It has what a sorted map has, whatever the keys' distribution.
 *   - KARY: keys and rows in the order of a search tree, level by level, and nothing beside them: a node is 32 bytes,
 *     which a GPU reads at once (or 64), 8 keys of 32 bits or 4 of 64, and child c of node n is node n * (keys + 1) +
 *     c + 1. A thread compares a whole node: lanes that shared one would have fewer probes under way. A level costs
 *     half the bytes that it does in a B+ tree, and no key is there twice. But what follows each other does not lie
 *     together: points only, and their rows.
 *   - HASHED: an open-addressing table of the different keys, in partitions by the top bits of the hash. A partition is
 *     built in shared memory. A key lies in its group of slots, 32 bytes that are read at once, or in the first one
 *     behind it that has room. Points only.
 *   - DIRECT: a row number for each integer of [low, high]. Points only, for dense keys.
 *
 * Probes of a large map meet memory at random. So they are brought into the order of the map's partitions that they meet,
 * each tile of them for itself, where `temp` is given (gpu_lookup_tiles.c). Then they are looked up by partitions, over all
 * tiles, so that what is at work at a time fits the cache. The answers go back to the probes' order tile by tile.
 *
 * As in relation.h the plan depends on the device, which is that of the keys' buffer: fill everything but `temp` before
 * asking for its size. Recording waits for nothing. Keys are unsigned; rql_key_of_i64 and its like make them of others.
 * Keys may occur any number of times; rows of equal keys ascend.
 *
 * Rows of a batch as bits: lookup_bits.h, of all forms but KARY. Bytes of a map: KARY key_bits / 8 + 4 a key, BTREE
 * key_bits / 8 * 17 / 16 (9 / 8 of 64 bits) + 4 a key, SORTED
 * key_bits / 8 + 4 a key, 4 an entry, and 8 a key for sums; a chosen directory has no more
 * entries than keys. HASHED at half load 16 a key of 32 bits, 32 of 64. DIRECT 4 an integer of the bounds.
 * Floor of a batch: its probes read once and its answers written once. Bytes that the passes move beside random reads
 * of the map, for n probes of k bytes and answers of a: in the probes' order n * (k + a). In tiles n * (2 * k + 2) for
 * their order (ends of ranges: 2 * k more), n * (k + a) for the look-ups, n * (2 * a + 2) for the way back: of points of
 * 32 bits with their rows 28 bytes, 0.94 ms for 2^27 at 4.0 TB/s. Random reads are of 32 bytes each: HASHED
 * and DIRECT one, SORTED up to three (entry, key, row; two of pairs), and twice the first two for a range (whose rows
 * alone are asked for: once), plus two of its sums. */
#ifndef RQL_PRIMITIVE_LOOKUP_H
#define RQL_PRIMITIVE_LOOKUP_H

#include "primitive/lookup/lookup_map.h"

#define RQL_LOOKUP_NO_ROW UINT32_MAX

/* Answers of a batch; what is left out is not made. */
struct rql_lookup_batch {
	struct rql_lookup_map map;
	uint64_t count;         /* probes: a bound where `found` is given */
	struct rql_span found;  /* uint64_t on the device; may be left out */
	struct rql_span points; /* keys, or where ranges begin */
	struct rql_span ends;   /* last keys of ranges (within them); left out: points. Below its begin: an empty range */
	struct rql_span rows;   /* uint32_t: the least row of the least key that there is, or RQL_LOOKUP_NO_ROW */
	struct rql_span counts; /* uint32_t: rows. HASHED and DIRECT need the map's counts */
	struct rql_span sums;   /* uint64_t: their sum, modulo 2^64; 0 of none. Needs the map's sums */
	uint32_t order; /* log2 of the partitions by which probes are ordered, plus 1; 1: as they come; 0: chosen by sizes */
	struct rql_span temp;   /* left out: as they come */
};
/* 0: the probes are best looked up as they come. */
uint64_t rql_lookup_temp_bytes(const struct rql_lookup_batch *lookup);
rql_status rql_record_lookup(struct rql_commands *c, const struct rql_lookup_batch *lookup,
                             struct rql_error *err) RQL_MUST_CHECK;

#endif

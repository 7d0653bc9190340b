/* Building maps, by all threads where they are large.
 *
 * Floor of an entry: 8 bytes of key and 4 of payload read twice (once for the range), and one place written; in an array
 * that the keys go through in order that is some 2 ns of one thread. Keys that are taken as they lie have 4 bytes and no
 * payload: 10^7 of them move 80 MB read and 41 written. New pages cost more than all of it (util/large.h). A hash
 * table's places lie anywhere: entries are brought into the order of its regions first (8 or 16 bytes written and
 * read), each of which fits a core's cache. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "column/map/map_layout.h"
#include "util/large.h"

/* An array of so many places is taken in any case: a test of one bit beats a probe, and it is some megabytes at most.
 * Beyond, it may have so many bytes per entry, eight times a hash table's: tests read one bit in 33 of them (of a set one
 * in 9), and rows in the order of their keys (a fact table beside its orders) go through it from front to back, while
 * hashing would scatter them. TPC-H's orders leave three keys of four unused, and a condition on them most of the others. */
#define DENSE_ANYWAY (UINT64_C(1) << 22)
#define DENSE_BYTES 256u
#define LEAST_CAPACITY 16u
#define PIECE_ROWS (UINT64_C(1) << 14)    /* keys that one thread takes at a time */
#define LEAST_SHARED (4 * PIECE_ROWS)     /* fewer keys are not worth a hand-over */
#define BIT_WORDS 1024u                   /* words of bits that one thread makes at a time */
#define BITS_AFTER 8u                     /* with at least an entry in so many places the bits are made at the end */
#define LEAST_REGION (UINT64_C(1) << 13)  /* places of a hash table that one thread fills at a time */
#define MOST_REGIONS 1024u

struct piece {
	const struct rql_map_part *of;
	uint64_t first, count; /* of the part's keys */
	uint64_t entries;      /* keys with a payload */
	int64_t least, greatest;
	uint32_t payload_end;
	uint32_t *starts; /* [regions]: how many entries, then where the next one goes */
};

struct building {
	struct rql_map *map;
	const struct rql_map_part *parts;
	uint64_t part_count;
	struct rql_pool *pool;
	uint64_t piece_count;
	struct piece *pieces;
	bool set;
	_Atomic uint64_t entries; /* that are in the map */
	_Atomic bool twice;
	int64_t twice_key; /* of whoever set `twice` */
	/* hashed: entries by region */
	uint64_t region_places, region_count;
	uint32_t *starts; /* of all pieces */
	uint64_t *region_end;
	uint64_t *left; /* [region_count]: entries at the front of a region's list that found no place in it */
	void *listed; /* as they lie in the table */
};

static void note_twice(struct building *b, int64_t key)
{
	if (!atomic_exchange(&b->twice, true))
		b->twice_key = key;
}

/* Key i of the piece and its payload + 1; false: it is no entry. */
static inline bool entry_of(const struct piece *p, uint64_t i, int64_t *key, uint32_t *found)
{
	const struct rql_map_part *of = p->of;
	uint64_t at = p->first + i;
	*key = of->narrow ? of->narrow[at] : of->keys[at];
	*found = of->numbered ? (uint32_t)at + 1 : of->payloads ? (uint32_t)of->payloads[at] + 1 : 1;
	return of->numbered ? *key >= of->least && *key <= of->greatest : !of->payloads || of->payloads[at] >= 0;
}

/* ---- what there is ---- */

static void survey(void *state, uint64_t index, unsigned worker)
{
	struct piece *p = &((struct building *)state)->pieces[index];
	int64_t least = INT64_MAX, greatest = INT64_MIN;
	(void)worker;
	p->entries = 0;
	p->payload_end = 0;
	for (uint64_t i = 0; i < p->count; i++) {
		int64_t key;
		uint32_t found;
		if (!entry_of(p, i, &key, &found))
			continue;
		p->entries++;
		least = key < least ? key : least;
		greatest = key > greatest ? key : greatest;
		p->payload_end = found > p->payload_end ? found : p->payload_end;
	}
	p->least = least;
	p->greatest = greatest;
}

/* The range of the keys, inclusive. */
static uint64_t sum_up(struct building *b)
{
	struct rql_map *map = b->map;
	int64_t least = INT64_MAX, greatest = INT64_MIN;
	for (uint64_t i = 0; i < b->piece_count; i++) {
		const struct piece *p = &b->pieces[i];
		map->entries += p->entries;
		map->payloads = p->payload_end > map->payloads ? p->payload_end : map->payloads;
		least = p->least < least ? p->least : least;
		greatest = p->greatest > greatest ? p->greatest : greatest;
	}
	map->least = map->entries ? least : 0;
	map->greatest = map->entries ? greatest : 0;
	return map->entries ? (uint64_t)greatest - (uint64_t)least : 0;
}

/* Bits, and payloads of so many bytes, in so many places. */
static bool fills(uint64_t places, uint32_t width, double entries)
{
	return (double)places * (8 * width + 1) / 8 / DENSE_BYTES < entries;
}

bool rql_map_suits_arrays(uint64_t places, uint32_t width, double entries)
{
	return places <= DENSE_ANYWAY || (places < UINT64_C(1) << 31 && fills(places, width, entries));
}

uint64_t rql_map_capacity(uint64_t entries)
{
	uint64_t capacity = LEAST_CAPACITY;
	while (capacity < 2 * entries)
		capacity *= 2;
	return capacity;
}

uint32_t rql_map_entry_bytes(uint64_t places)
{
	const bool narrow = places && places < UINT32_MAX;
	return narrow ? sizeof(struct rql_map_narrow) : sizeof(struct rql_map_entry);
}

static uint64_t table_bytes(const struct rql_map *map)
{
	return map->capacity * map->width;
}

static void lay_table(struct rql_map *map, uint64_t places, uint64_t capacity)
{
	map->width = rql_map_entry_bytes(places);
	map->span = rql_map_is_narrow(map) ? (uint32_t)places : 0;
	map->capacity = capacity;
	map->bytes = sizeof *map + table_bytes(map);
}

static bool allocate(struct rql_map *map, uint64_t range, struct rql_pool *pool)
{
	const uint32_t width = rql_map_width(map->payloads);
	map->dense = range < DENSE_ANYWAY || (range < (UINT64_C(1) << 31) && fills(range, width, (double)map->entries));
	if (map->dense) {
		map->span = map->entries ? (uint32_t)range + 1 : 0;
		map->width = width;
		uint64_t words = rql_map_bit_words(map->span), bytes = rql_map_found_bytes(map->span, width);
		map->bytes = sizeof(*map) + words * 4 + bytes;
		map->bits = rql_large_zalloc(words * 4, pool);
		map->found = rql_large_zalloc(bytes, pool);
		return map->bits && map->found;
	}
	lay_table(map, range + 1, rql_map_capacity(map->entries));
	map->table = rql_large_zalloc(table_bytes(map), pool);
	return map->table != NULL;
}

/* ---- by one thread ---- */

static inline void put_found(struct rql_map *map, uint64_t at, uint32_t found)
{
	if (map->width == 1)
		__atomic_store_n((uint8_t *)map->found + at, (uint8_t)found, __ATOMIC_RELAXED);
	else if (map->width == 2)
		__atomic_store_n((uint16_t *)map->found + at, (uint16_t)found, __ATOMIC_RELAXED);
	else
		__atomic_store_n((uint32_t *)map->found + at, found, __ATOMIC_RELAXED);
}

/* false: the key is there already. */
static bool put_entry(struct rql_map *map, struct rql_map_entry entry)
{
	const bool narrow = rql_map_is_narrow(map);
	for (uint64_t at = rql_map_home(map, entry.word);; at = (at + 1) & (map->capacity - 1)) {
		const struct rql_map_entry there = rql_map_entry_at(map->table, narrow, at);
		if (!there.found) {
			rql_map_put_entry(map->table, narrow, at, entry);
			return true;
		}
		if (there.word == entry.word)
			return false;
	}
}

static bool put(struct rql_map *map, int64_t key, uint32_t found)
{
	if (!map->dense)
		return put_entry(map, (struct rql_map_entry){.word = rql_map_word(map, key), .found = found});
	uint64_t at = (uint64_t)key - (uint64_t)map->least;
	if (map->bits[at / 32] >> at % 32 & 1)
		return false;
	map->bits[at / 32] |= UINT32_C(1) << at % 32;
	put_found(map, at, found);
	return true;
}

static void fill_alone(struct building *b)
{
	uint64_t entries = 0;
	for (uint64_t i = 0; i < b->piece_count && !b->twice; i++) {
		const struct piece *p = &b->pieces[i];
		for (uint64_t k = 0; k < p->count; k++) {
			int64_t key;
			uint32_t found;
			if (!entry_of(p, k, &key, &found))
				continue;
			if (put(b->map, key, found)) {
				entries++;
			} else if (!b->set) {
				note_twice(b, key);
				break;
			}
		}
	}
	b->entries = entries;
}

/* ---- an array ---- */

/* Places only: their bits are made of them at the end. */
static void put_places(void *state, uint64_t index, unsigned worker)
{
	struct building *b = state;
	const struct piece *p = &b->pieces[index];
	uint64_t least = (uint64_t)b->map->least;
	(void)worker;
	for (uint64_t i = 0; i < p->count; i++) {
		int64_t key;
		uint32_t found;
		if (entry_of(p, i, &key, &found))
			put_found(b->map, (uint64_t)key - least, found);
	}
}

/* Bit k: byte, 16 or 32 bits k of the word are not zero. */
static inline uint32_t nonzero(uint64_t word, uint32_t width)
{
	if (width == 4)
		return ((uint32_t)word != 0) | (uint32_t)(word >> 32 != 0) << 1;
	uint64_t low = width == 1 ? UINT64_C(0x7f7f7f7f7f7f7f7f) : UINT64_C(0x7fff7fff7fff7fff);
	uint64_t high = (((word & low) + low) | word) & ~low;
	return width == 1 ? (uint32_t)((high >> 7) * UINT64_C(0x0102040810204080) >> 56)
	                  : (uint32_t)((high >> 15) * UINT64_C(0x0001000200040008) >> 48 & 15);
}

static uint64_t bits_of(const struct rql_map *map, uint64_t first, uint64_t end)
{
	const char *found = map->found;
	uint32_t width = map->width, step = 8 / width;
	uint64_t entries = 0;
	for (uint64_t w = first; w < end; w++) {
		uint32_t bits = 0;
		for (uint32_t k = 0; k < 32 && w * 32 + k < map->span; k += step) {
			uint64_t word;
			memcpy(&word, found + (w * 32 + k) * width, 8);
			bits |= nonzero(word, width) << k;
		}
		map->bits[w] = bits;
		entries += (uint64_t)__builtin_popcount(bits);
	}
	return entries;
}

static void make_bits(void *state, uint64_t index, unsigned worker)
{
	struct building *b = state;
	uint64_t words = ((uint64_t)b->map->span + 31) / 32, first = index * BIT_WORDS;
	(void)worker;
	atomic_fetch_add(&b->entries, bits_of(b->map, first, first + BIT_WORDS < words ? first + BIT_WORDS : words));
}

/* Few entries of many places: bit by bit. */
static void put_bits(void *state, uint64_t index, unsigned worker)
{
	struct building *b = state;
	struct rql_map *map = b->map;
	const struct piece *p = &b->pieces[index];
	uint64_t entries = 0;
	(void)worker;
	for (uint64_t i = 0; i < p->count; i++) {
		int64_t key;
		uint32_t found;
		if (!entry_of(p, i, &key, &found))
			continue;
		uint64_t at = (uint64_t)key - (uint64_t)map->least;
		uint32_t bit = UINT32_C(1) << at % 32;
		if (!(__atomic_fetch_or(&map->bits[at / 32], bit, __ATOMIC_RELAXED) & bit))
			entries++;
		else if (!b->set)
			note_twice(b, key);
		put_found(map, at, found);
	}
	atomic_fetch_add(&b->entries, entries);
}

static void fill_array(struct building *b)
{
	struct rql_map *map = b->map;
	if (map->entries < map->span / BITS_AFTER) {
		rql_pool_run(b->pool, b->piece_count, put_bits, b);
		return;
	}
	rql_pool_run(b->pool, b->piece_count, put_places, b);
	rql_pool_run(b->pool, ((uint64_t)map->span + 31) / 32 / BIT_WORDS + 1, make_bits, b);
	if (b->set || b->entries == map->entries)
		return;
	memset(map->bits, 0, ((uint64_t)map->span + 31) / 32 * 4);
	fill_alone(b); /* which one it is, for the message */
}

/* ---- a hash table ---- */

static void count_regions(void *state, uint64_t index, unsigned worker)
{
	struct building *b = state;
	const struct piece *p = &b->pieces[index];
	(void)worker;
	for (uint64_t i = 0; i < p->count; i++) {
		int64_t key;
		uint32_t found;
		if (entry_of(p, i, &key, &found))
			p->starts[rql_map_home(b->map, rql_map_word(b->map, key)) / b->region_places]++;
	}
}

static void list_entries(void *state, uint64_t index, unsigned worker)
{
	struct building *b = state;
	const struct piece *p = &b->pieces[index];
	const bool narrow = rql_map_is_narrow(b->map);
	(void)worker;
	for (uint64_t i = 0; i < p->count; i++) {
		struct rql_map_entry entry = {0};
		int64_t key;
		if (!entry_of(p, i, &key, &entry.found))
			continue;
		entry.word = rql_map_word(b->map, key);
		uint32_t *at = &p->starts[rql_map_home(b->map, entry.word) / b->region_places];
		rql_map_put_entry(b->listed, narrow, (*at)++, entry);
	}
}

/* Where each piece's entries of each region begin. */
static void place_regions(struct building *b)
{
	uint64_t at = 0;
	for (uint64_t r = 0; r < b->region_count; r++) {
		for (uint64_t i = 0; i < b->piece_count; i++) {
			uint32_t count = b->pieces[i].starts[r];
			b->pieces[i].starts[r] = (uint32_t)at;
			at += count;
		}
		b->region_end[r] = at;
	}
}

/* No thread leaves its region: what finds no place in it goes to the front of the region's list. */
static void fill_region(void *state, uint64_t index, unsigned worker)
{
	struct building *b = state;
	void *table = b->map->table;
	const bool narrow = rql_map_is_narrow(b->map);
	uint64_t first = index ? b->region_end[index - 1] : 0, left = first, entries = 0;
	uint64_t end = (index + 1) * b->region_places;
	(void)worker;
	for (uint64_t i = first; i < b->region_end[index]; i++) {
		const struct rql_map_entry entry = rql_map_entry_at(b->listed, narrow, i);
		struct rql_map_entry there = {.found = 1};
		uint64_t at = rql_map_home(b->map, entry.word);
		for (; at < end; at++) {
			there = rql_map_entry_at(table, narrow, at);
			if (!there.found || there.word == entry.word)
				break;
		}
		if (at == end) {
			rql_map_put_entry(b->listed, narrow, left++, entry);
		} else if (!there.found) {
			rql_map_put_entry(table, narrow, at, entry);
			entries++;
		} else if (!b->set) {
			note_twice(b, rql_map_key_of(b->map, entry.word));
		}
	}
	b->left[index] = left - first;
	atomic_fetch_add(&b->entries, entries);
}

static void fill_rest(struct building *b)
{
	for (uint64_t r = 0; r < b->region_count; r++) {
		uint64_t first = r ? b->region_end[r - 1] : 0;
		for (uint64_t i = first; i < first + b->left[r]; i++) {
			const struct rql_map_entry entry = rql_map_entry_at(b->listed, rql_map_is_narrow(b->map), i);
			if (put_entry(b->map, entry))
				b->entries++;
			else if (!b->set)
				note_twice(b, rql_map_key_of(b->map, entry.word));
		}
	}
}

/* false: out of memory. */
static bool fill_table(struct building *b)
{
	b->region_places = LEAST_REGION;
	while (b->map->capacity / b->region_places > MOST_REGIONS)
		b->region_places *= 2;
	b->region_count = (b->map->capacity + b->region_places - 1) / b->region_places;
	b->starts = calloc(b->piece_count * b->region_count, sizeof *b->starts);
	b->region_end = calloc(b->region_count, sizeof *b->region_end);
	b->left = calloc(b->region_count, sizeof *b->left);
	b->listed = rql_large_alloc(b->map->entries * b->map->width);
	bool ok = b->starts && b->region_end && b->left && b->listed;
	if (ok) {
		for (uint64_t i = 0; i < b->piece_count; i++)
			b->pieces[i].starts = b->starts + i * b->region_count;
		rql_pool_run(b->pool, b->piece_count, count_regions, b);
		place_regions(b);
		rql_pool_run(b->pool, b->piece_count, list_entries, b);
		rql_pool_run(b->pool, b->region_count, fill_region, b);
		fill_rest(b);
	}
	free(b->starts);
	free(b->region_end);
	free(b->left);
	rql_large_free(b->listed);
	return ok;
}

/* ---- the whole ---- */

/* shared: pieces of a thread's share; else the parts as they are. */
static bool cut(struct building *b, bool shared)
{
	uint64_t most = shared ? PIECE_ROWS : UINT64_MAX, count = 0;
	for (uint64_t i = 0; i < b->part_count; i++)
		count += b->parts[i].count / most + 1;
	if (!(b->pieces = calloc(count + 1, sizeof *b->pieces)))
		return false;
	for (uint64_t i = 0; i < b->part_count; i++) {
		const struct rql_map_part *part = &b->parts[i];
		b->set &= !part->payloads && !part->once && !part->numbered;
		for (uint64_t at = 0; at < part->count; at += b->pieces[b->piece_count++].count)
			b->pieces[b->piece_count] =
				(struct piece){.of = part, .first = at, .count = part->count - at < most ? part->count - at : most};
	}
	return true;
}

static int compare_keys(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

/* Few keys of a wide range once more in their order: whether blocks have any (rql_map_may_meet). */
static bool list_keys(struct rql_map *map)
{
	if (map->dense || !map->entries || map->entries > RQL_MAP_LISTED)
		return true;
	if (!(map->listed = malloc(map->entries * sizeof *map->listed)))
		return false;
	const uint64_t count = rql_map_keys(map, map->entries, map->listed);
	qsort(map->listed, count, sizeof *map->listed, compare_keys);
	map->bytes += count * sizeof *map->listed;
	return true;
}

static rql_status build(struct building *b, bool shared, struct rql_error *err)
{
	struct rql_map *map = b->map;
	if (!cut(b, shared))
		return rql_error_memory(err, 0, "a join map");
	for (uint64_t i = 0; i < b->piece_count && !shared; i++)
		survey(b, i, 0);
	if (shared)
		rql_pool_run(b->pool, b->piece_count, survey, b);
	if (!allocate(map, sum_up(b), shared ? b->pool : NULL))
		return rql_error_memory(err, 0, "a join map");
	if (!shared)
		fill_alone(b);
	else if (map->dense)
		fill_array(b);
	else if (!fill_table(b))
		return rql_error_memory(err, 0, "a join map");
	if (b->twice)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED,
		                     "key %lld occurs twice on the dimension's side of a join: rows would be multiplied",
		                     (long long)b->twice_key);
	map->entries = b->entries;
	return list_keys(map) ? RQL_OK : rql_error_memory(err, 0, "a join map");
}

rql_status rql_map_build_parts(const struct rql_map_part *parts, uint64_t part_count, struct rql_pool *pool,
                               struct rql_map **out, struct rql_error *err)
{
	struct building b = {.parts = parts, .part_count = part_count, .pool = pool, .set = true};
	uint64_t count = 0;
	for (uint64_t i = 0; i < part_count; i++)
		count += parts[i].count;
	if (count > UINT64_C(1) << 31)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "a join map takes at most 2^31 keys, not %llu",
		                     (unsigned long long)count);
	if (!(b.map = calloc(1, sizeof(*b.map))))
		return rql_error_memory(err, 0, "a join map");
	b.map->offered = count;
	rql_status status = build(&b, pool && rql_pool_threads(pool) > 1 && count >= LEAST_SHARED, err);
	free(b.pieces);
	if (status == RQL_OK)
		*out = b.map;
	else
		rql_map_free(b.map);
	return status;
}

/* ---- what others have made ---- */

static bool allocate_made(struct rql_map *map)
{
	const uint64_t bits = rql_map_bit_words(map->span) * sizeof(uint32_t);
	const uint64_t found = rql_map_found_bytes(map->span, map->width);
	if (!map->dense)
		return (map->table = rql_large_alloc(table_bytes(map))) != NULL;
	map->bytes = sizeof *map + bits + found;
	map->bits = rql_large_alloc(bits);
	map->found = found ? rql_large_alloc(found) : NULL;
	return map->bits && (!found || map->found);
}

static rql_status read_made(struct rql_map *map, rql_map_read *read, void *state, struct rql_error *err)
{
	if (!map->dense)
		return read(state, RQL_MAP_TABLE, map->table, table_bytes(map), err);
	RQL_TRY(read(state, RQL_MAP_BITS, map->bits, rql_map_bit_words(map->span) * sizeof(uint32_t), err));
	return map->found ? read(state, RQL_MAP_FOUND, map->found, rql_map_found_bytes(map->span, map->width), err) : RQL_OK;
}

rql_status rql_map_take(const struct rql_map_made *made, rql_map_read *read, void *state, struct rql_map **out,
                        struct rql_error *err)
{
	struct rql_map *map = calloc(1, sizeof *map);
	if (!map)
		return rql_error_memory(err, sizeof *map, "a join map");
	*map = (struct rql_map){.entries = made->entries,
	                        .offered = made->offered,
	                        .payloads = made->payloads,
	                        .dense = !made->capacity,
	                        .least = made->least,
	                        .greatest = made->greatest,
	                        .span = made->capacity ? 0 : (uint32_t)made->places,
	                        .width = made->width};
	if (made->capacity)
		lay_table(map, made->places, made->capacity);
	rql_status status =
		allocate_made(map) ? read_made(map, read, state, err) : rql_error_memory(err, map->bytes, "a join map");
	if (status == RQL_OK && !list_keys(map))
		status = rql_error_memory(err, map->bytes, "a join map");
	if (status == RQL_OK)
		*out = map;
	else
		rql_map_free(map);
	return status;
}

rql_status rql_map_build(const int64_t *keys, const int32_t *payloads, uint64_t count, struct rql_map **out,
                         struct rql_error *err)
{
	struct rql_map_part part = {.keys = keys, .payloads = payloads, .count = count};
	return rql_map_build_parts(&part, 1, NULL, out, err);
}

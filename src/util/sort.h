/* Stable sorts in one thread: of 32-bit items (row numbers, codes) by what they stand for, since qsort has no portable
 * context argument; of words by their value; and of items by a word that each holds. And a search in sorted words. */
#ifndef RQL_UTIL_SORT_H
#define RQL_UTIL_SORT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* < 0, 0, > 0 as items a and b are in order. */
typedef int rql_item_order(const void *context, uint32_t a, uint32_t b);
/* spare has room for count items. */
void rql_sort_items(uint32_t *items, uint32_t *spare, uint64_t count, rql_item_order *order, const void *context);
/* Ascending by the bits from `from` (0..63) on. spare has room for count words; the result is in one of the two arrays,
 * which is returned. */
uint64_t *rql_sort_words(uint64_t *words, uint64_t *spare, uint64_t count, unsigned from);

/* How many of the ascending words are below this one. */
static inline uint64_t rql_count_below(const uint64_t *words, uint64_t count, uint64_t word)
{
	uint64_t low = 0, high = count;
	while (low < high) {
		const uint64_t middle = low + (high - low) / 2;
		if (words[middle] < word)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static inline uint64_t rql_sort_key(const char *item, size_t key)
{
	uint64_t word;
	memcpy(&word, item + key, sizeof word);
	return word;
}

/* Ascending by the word that lies `key` bytes within each item of `size` bytes, both constants of the caller, by bytes
 * from the least significant. spare has room for count items; the result is in one of the two arrays, which is
 * returned. */
static inline __attribute__((always_inline)) void *rql_sort_keyed(void *items, void *spare, uint64_t count, size_t size,
                                                                  size_t key)
{
	char *from = items, *to = spare;
	uint64_t differ = 0;
	for (uint64_t i = 1; i < count; i++)
		differ |= rql_sort_key(from + i * size, key) ^ rql_sort_key(from, key);
	for (unsigned shift = 0; shift < 64; shift += 8) {
		if ((differ >> shift & 0xff) == 0)
			continue;
		uint64_t at[256] = {0}, sum = 0;
		for (uint64_t i = 0; i < count; i++)
			at[rql_sort_key(from + i * size, key) >> shift & 0xff]++;
		for (unsigned b = 0; b < 256; b++) {
			uint64_t n = at[b];
			at[b] = sum;
			sum += n;
		}
		for (uint64_t i = 0; i < count; i++)
			memcpy(to + at[rql_sort_key(from + i * size, key) >> shift & 0xff]++ * size, from + i * size, size);
		char *swap = from;
		from = to;
		to = swap;
	}
	return from;
}

#endif

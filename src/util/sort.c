/* A merge sort of items by an order, and a radix sort of words. */
#include "util/sort.h"

#include <string.h>

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Bottom-up merge sort: runs of 1, 2, 4, ... items. */
void rql_sort_items(uint32_t *items, uint32_t *spare, uint64_t count, rql_item_order *order, const void *context)
{
	for (uint64_t width = 1; width < count; width *= 2) {
		for (uint64_t from = 0; from < count; from += 2 * width) {
			uint64_t middle = least(from + width, count), to = least(middle + width, count), a = from, b = middle;
			for (uint64_t k = from; k < to; k++)
				spare[k] = b == to || (a < middle && order(context, items[a], items[b]) <= 0) ? items[a++] : items[b++];
		}
		memcpy(items, spare, count * sizeof *items);
	}
}

/* ---- words ---- */

enum {
	INSERTED = 32, /* up to so many words insertion is faster */
	DIGIT = 8,     /* bits, at most */
};

static void insert_words(uint64_t *words, uint64_t count, unsigned from)
{
	for (uint64_t i = 1; i < count; i++) {
		uint64_t word = words[i], hole = i;
		for (; hole && words[hole - 1] >> from > word >> from; hole--)
			words[hole] = words[hole - 1];
		words[hole] = word;
	}
}

static void scatter_words(const uint64_t *words, uint64_t *out, uint64_t count, unsigned shift, unsigned width)
{
	uint64_t at[1 << DIGIT] = {0}, mask = (UINT64_C(1) << width) - 1, sum = 0;
	for (uint64_t i = 0; i < count; i++)
		at[words[i] >> shift & mask]++;
	for (uint64_t digit = 0; digit <= mask; digit++) {
		uint64_t n = at[digit];
		at[digit] = sum;
		sum += n;
	}
	for (uint64_t i = 0; i < count; i++)
		out[at[words[i] >> shift & mask]++] = words[i];
}

/* By digits from the least significant, as few and as narrow as hold the bits that differ. */
uint64_t *rql_sort_words(uint64_t *words, uint64_t *spare, uint64_t count, unsigned from)
{
	if (count <= INSERTED) {
		insert_words(words, count, from);
		return words;
	}
	uint64_t differ = 0;
	for (uint64_t i = 1; i < count; i++)
		differ |= words[i] ^ words[0];
	differ >>= from;
	unsigned bits = differ ? 64 - (unsigned)__builtin_clzll(differ) : 0, digits = (bits + DIGIT - 1) / DIGIT,
			 width = digits ? (bits + digits - 1) / digits : 0;
	for (unsigned d = 0; d < digits; d++) {
		unsigned shift = d * width;
		if ((differ >> shift & ((UINT64_C(1) << width) - 1)) == 0)
			continue;
		scatter_words(words, spare, count, from + shift, width);
		uint64_t *swap = words;
		words = spare;
		spare = swap;
	}
	return words;
}

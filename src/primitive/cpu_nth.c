/* The n-th greatest key on the CPU: by eight bits from the highest on that differs; what has other bits there is left behind, so
 * that the second round reads few keys of most inputs. Bits that all keys share are not counted: codes differ in the lowest
 * bits alone, and to add to one counter again and again waits for each addition. */
#include "primitive/primitive.h"

/* The lowest bit of the eight highest that may differ; 64: none does. */
static unsigned highest_difference(const uint64_t *keys, uint64_t count)
{
	uint64_t differ = 0;
	for (uint64_t i = 1; i < count; i++)
		differ |= keys[i] ^ keys[0];
	if (!differ)
		return 64;
	const unsigned bits = 64 - (unsigned)__builtin_clzll(differ);
	return bits > 8 ? bits - 8 : 0;
}

uint64_t rql_cpu_nth(uint64_t *keys, uint64_t count, uint64_t n)
{
	if (!n || n > count)
		return 0;
	for (unsigned shift; (shift = highest_difference(keys, count)) < 64;) {
		uint64_t at[256] = {0}, kept = 0;
		unsigned digit = 255;
		for (uint64_t i = 0; i < count; i++)
			at[keys[i] >> shift & 0xff]++;
		for (; n > at[digit]; digit--)
			n -= at[digit];
		for (uint64_t i = 0; i < count; i++)
			if ((keys[i] >> shift & 0xff) == digit)
				keys[kept++] = keys[i];
		count = kept;
	}
	return keys[0];
}

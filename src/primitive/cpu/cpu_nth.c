/* The n-th greatest key on the CPU: by bytes from the top; what has another byte is left behind, so that the second round
 * reads few keys of most inputs. */
#include "primitive/primitive.h"

uint64_t rql_cpu_nth(uint64_t *keys, uint64_t count, uint64_t n)
{
	if (!n || n > count)
		return 0;
	for (unsigned shift = 64; shift > 0;) {
		uint64_t at[256] = {0}, kept = 0;
		unsigned digit = 255;
		shift -= 8;
		for (uint64_t i = 0; i < count; i++)
			at[keys[i] >> shift & 0xff]++;
		for (; n > at[digit]; digit--)
			n -= at[digit];
		if (at[digit] == count)
			continue;
		for (uint64_t i = 0; i < count; i++)
			if ((keys[i] >> shift & 0xff) == digit)
				keys[kept++] = keys[i];
		count = kept;
	}
	return keys[0];
}

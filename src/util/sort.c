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

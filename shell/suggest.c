/* What somebody may have meant who typed something else. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "shell.h"

/* Letters to add, drop, change or swap; the lengths are below LONGEST. */
enum { LONGEST = 40 };

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

size_t rql_sh_distance(const char *a, const char *b)
{
	size_t rows[3][LONGEST + 1], columns = strlen(b), height = strlen(a);
	if (columns >= LONGEST || height >= LONGEST)
		return LONGEST;
	for (size_t j = 0; j <= columns; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= height; i++) {
		size_t *now = rows[i % 3], *before = rows[(i + 2) % 3], *earlier = rows[(i + 1) % 3];
		now[0] = i;
		for (size_t j = 1; j <= columns; j++) {
			now[j] = least(least(before[j], now[j - 1]) + 1, before[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				now[j] = least(now[j], earlier[j - 2] + 1);
		}
	}
	return rows[height % 3][columns];
}

const char *rql_sh_suggest(const char *typed, const char *(*name_at)(size_t index))
{
	size_t length = strlen(typed), best_distance = length < 4 ? 2 : 3; /* below this */
	const char *best = NULL, *name;
	for (size_t i = 0; (name = name_at(i)); i++) {
		size_t distance = rql_sh_distance(typed, name);
		/* Nothing of a short word is left when all of its letters change. */
		if (distance < best_distance && distance < strlen(name)) {
			best = name;
			best_distance = distance;
		}
	}
	return best;
}

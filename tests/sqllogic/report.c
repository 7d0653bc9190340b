/* Counts of things by name, in named tables, and how often each was met. */
#include "sqllogic.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct entry {
	char *table, *key;
	uint64_t count;
};
struct sl_report {
	struct entry *entries;
	size_t count, capacity;
};

struct sl_report *sl_report_new(void)
{
	struct sl_report *r = calloc(1, sizeof *r);
	if (!r)
		exit(2);
	return r;
}

void sl_report_free(struct sl_report *r)
{
	for (size_t i = 0; i < r->count; i++) {
		free(r->entries[i].table);
		free(r->entries[i].key);
	}
	free(r->entries);
	free(r);
}

void sl_count(struct sl_report *r, const char *table, const char *key)
{
	for (size_t i = 0; i < r->count; i++)
		if (!strcmp(r->entries[i].key, key) && !strcmp(r->entries[i].table, table)) {
			r->entries[i].count++;
			return;
		}
	if (r->count == r->capacity) {
		struct entry *grown = realloc(r->entries, (r->capacity = r->capacity ? 2 * r->capacity : 64) * sizeof *grown);
		if (!grown)
			exit(2);
		r->entries = grown;
	}
	r->entries[r->count++] = (struct entry){strdup(table), strdup(key), 1};
}

uint64_t sl_report_sum(const struct sl_report *r, const char *table)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < r->count; i++)
		if (!strcmp(r->entries[i].table, table))
			sum += r->entries[i].count;
	return sum;
}

static int by_count(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	return x->count != y->count ? (x->count < y->count ? 1 : -1) : strcmp(x->key, y->key);
}

void sl_report_print(const struct sl_report *r, const char *table, const char *title, unsigned most)
{
	unsigned shown = 0, others = 0;
	qsort(r->entries, r->count, sizeof *r->entries, by_count);
	for (size_t i = 0; i < r->count; i++) {
		if (strcmp(r->entries[i].table, table))
			continue;
		if (shown == most) {
			others++;
			continue;
		}
		if (!shown++)
			printf("%s\n", title);
		printf("  %8llu  %s\n", (unsigned long long)r->entries[i].count, r->entries[i].key);
	}
	if (others)
		printf("            and %u others\n", others);
}

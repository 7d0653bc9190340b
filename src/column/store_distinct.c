/* How many different values a column has, as far as a dictionary, the bounds and one block tell. */
#include <math.h>
#include <string.h>

#include "column/store.h"

#define SLOTS 8192u /* twice a block's rows */
#define HALVINGS 48

/* Values that differ from the one before, and all that differ. */
struct seen {
	uint32_t runs, values;
};

static struct seen look(const int64_t *values, uint32_t count)
{
	uint16_t slots[SLOTS];
	struct seen seen = {0};
	memset(slots, 0, sizeof(slots));
	for (uint32_t i = 0; i < count; i++) {
		if (i && values[i] == values[i - 1])
			continue;
		seen.runs++;
		uint32_t at = (uint32_t)(((uint64_t)values[i] * UINT64_C(0x9e3779b97f4a7c15)) >> 51);
		while (slots[at] && values[slots[at] - 1] != values[i])
			at = (at + 1) % SLOTS;
		seen.values += !slots[at];
		slots[at] = (uint16_t)(i + 1);
	}
	return seen;
}

/* So many values, each as likely as another, of which `runs` draws show so many: values = d (1 - exp(-runs / d)). */
static double drawn_from(const struct seen *seen, double most)
{
	double low = seen->values, high = most;
	if (seen->values == seen->runs || low >= high)
		return high;
	for (uint32_t i = 0; i < HALVINGS; i++) {
		const double d = (low + high) / 2;
		if (-d * expm1(-(double)seen->runs / d) < seen->values)
			low = d;
		else
			high = d;
	}
	return high;
}

double rql_store_distinct(const struct rql_store_kernels *kernels, const struct rql_store_snapshot *snapshot,
                          uint32_t column)
{
	const struct rql_store_column *c = &snapshot->columns[column];
	const double rows = fmax(1, (double)snapshot->rows - (double)c->nulls);
	int64_t values[RQL_STORE_BLOCK];
	if (c->kind == RQL_STORE_CODED)
		return fmax(1, fmin(rows, (double)c->dimension->count - c->dimension->has_null));
	if (c->kind == RQL_STORE_REAL)
		return rows;
	const double bounded = c->wide ? rows : fmin(rows, (double)(c->greatest - c->least) + 1);
	if (c->wide || !snapshot->segment_count || c->nulls == snapshot->rows)
		return fmax(1, bounded);
	const uint64_t block = snapshot->blocks / 2;
	const struct rql_store_segment *segment = rql_store_locate(snapshot, block);
	const uint32_t at = (uint32_t)(block - segment->first_block), count = segment->columns[column].blocks[at].rows;
	rql_store_decode_int64(kernels, &segment->columns[column], at, 0, count, values);
	const struct seen seen = look(values, count);
	/* Rows of one value that lie together are one draw, here and elsewhere. */
	return fmax(1, fmin(bounded, drawn_from(&seen, rows * seen.runs / count)));
}

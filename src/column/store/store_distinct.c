/* How many different values a column has, as far as a dictionary, the bounds and one block tell. */
#include <math.h>
#include <string.h>

#include "column/store/store.h"

#define DRAWN 2048u /* rows of a block */
#define SLOTS 4096u
#define SLOTS_SHIFT 52
#define MANY_TIMES 8.0 /* where values come so often, each of the range is taken to be there */
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
		uint32_t at = (uint32_t)(((uint64_t)values[i] * UINT64_C(0x9e3779b97f4a7c15)) >> SLOTS_SHIFT);
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

/* Integers, or what stands for reals: equal where the host says so. */
static void draw(const struct rql_store_kernels *kernels, const struct rql_store_view *view, uint32_t block,
                 uint32_t count, int64_t *out)
{
	if (view->kind != RQL_STORE_REAL) {
		rql_store_decode_int64(kernels, view, block, 0, count, out);
		return;
	}
	double reals[DRAWN];
	rql_store_decode_double(kernels, view, block, 0, count, reals);
	for (uint32_t i = 0; i < count; i++)
		out[i] = (int64_t)rql_real_place(reals[i]);
}

double rql_store_distinct(const struct rql_store_kernels *kernels, const struct rql_store_snapshot *snapshot,
                          uint32_t column)
{
	const struct rql_store_column *c = &snapshot->columns[column];
	const double rows = fmax(1, (double)snapshot->rows - (double)c->nulls);
	int64_t values[DRAWN];
	if (c->kind == RQL_STORE_CODED)
		return fmax(1, fmin(rows, (double)c->dimension->count - c->dimension->has_null));
	const double bounded = c->wide || c->kind == RQL_STORE_REAL ? rows : fmin(rows, (double)(c->greatest - c->least) + 1);
	if (c->wide || !snapshot->segment_count || c->nulls == snapshot->rows || bounded * MANY_TIMES < rows)
		return fmax(1, bounded);
	const uint64_t block = snapshot->blocks / 2;
	const struct rql_store_segment *segment = rql_store_locate(snapshot, block);
	const uint32_t at = (uint32_t)(block - segment->first_block), all = segment->columns[column].blocks[at].rows;
	const uint32_t count = all < DRAWN ? all : DRAWN;
	draw(kernels, &segment->columns[column], at, count, values);
	const struct seen seen = look(values, count);
	/* Rows of one value that lie together are one draw, here and elsewhere. */
	return fmax(1, fmin(bounded, drawn_from(&seen, rows * seen.runs / count)));
}

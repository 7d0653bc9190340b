/* What a sieve keeps of one segment and column: bins, and bit vectors that say of every row in which it is. It lies in
 * the table of placements, as copies of segments on GPUs do: made by the first who needs it, found again by the
 * segment's identity, gone with the segment. So nothing of it can be stale.
 *
 * A vector has a bit for each row, blocks of 64 words as ROWS have. The vectors are nested (RTScan 4.3.1): C(i), the
 * rows of bins below i. Two forms are stored:
 *   one component    C(1) .. C(n - 1) of n bins: a cut reads one vector.
 *   two components   bins as numbers of two digits, bin = high * base + low, each digit's vectors nested (Chan and
 *                    Ioannidis, SIGMOD 1998, range-encoded): C(i) = high(h) | (high(h + 1) & low(l)) of
 *                    i = h * base + l. A cut reads three vectors, but v vectors make about (v / 2 + 1)^2 bins.
 * NULL rows are in no bin. C(n) has all others: a vector where the segment has NULLs, else all its rows.
 *
 * Bytes: rows / 8 a vector. A one-sided predicate cuts twice, below its boundary bin and behind it, and both cuts share
 * what they read mostly: 2 or 4 vectors. The rows between the cuts are tested, rows / bins of them. */
#ifndef RQL_METHOD_SIEVE_SIEVE_RUN_H
#define RQL_METHOD_SIEVE_SIEVE_RUN_H

#include "device/placement.h"
#include "method/sieve/sieve_bins.h"
#include "util/mem.h"

struct rql_sieve_block {
	uint16_t least, greatest; /* bins of its rows; least > greatest: all are NULL */
	uint16_t rows, nulls;
};
/* Bins and how vectors tell them apart. */
struct rql_sieve_shape {
	struct rql_sieve_bins bins;
	uint32_t base;        /* two components; 0: one */
	uint32_t highs, lows; /* vectors of the digits: high(1) .. high(highs); one component: C(1) .. C(highs) */
	bool has_null;        /* then C(bins.count) is a vector, behind those */
	uint32_t block_count;
};
static inline uint32_t rql_sieve_vector_count(const struct rql_sieve_shape *shape)
{
	return shape->highs + shape->lows + shape->has_null;
}
/* C(i) = first | (second & third), numbers of vectors or one of these two. */
#define RQL_SIEVE_NO_ROW UINT32_MAX
#define RQL_SIEVE_EVERY_ROW (UINT32_MAX - 1)
struct rql_sieve_vectors {
	uint32_t first, second, third;
};
struct rql_sieve_vectors rql_sieve_cut_vectors(const struct rql_sieve_shape *shape, uint32_t i);

/* How many bins a form makes at most. */
uint32_t rql_sieve_bins_most(const struct rql_sieve_form *form);
/* The shape of a segment's column, from a sample that is the same each time; bins.bounds and bins.bin have room for
 * rql_sieve_bins_most. Of bin, only the number of rows is set: a guess, by the sample. Scratch is of mem. */
rql_status rql_sieve_shape_make(const struct rql_store_segment *segment, const struct rql_store_view *view,
                                const struct rql_sieve_form *form, const struct rql_store_kernels *kernels,
                                struct rql_mem *mem, struct rql_sieve_shape *shape,
                                struct rql_error *err) RQL_MUST_CHECK;

struct rql_sieve_part;
struct rql_sieve_run {
	struct rql_placement placement; /* first */
	struct rql_mem mem;
	struct rql_sieve_shape shape;
	struct rql_sieve_block *blocks; /* [block_count] */
	uint64_t *vectors;              /* [rql_sieve_vector_count][block_count][RQL_SIEVE_WORDS] */
	/* sieve_positions.h; NULL: the form has none. */
	struct rql_sieve_part *parts;
	uint32_t *starts;    /* [parts][bins.count + 1]: ranks in the part at which bins begin */
	uint32_t *positions; /* rows of a part by rank */
	uint32_t position_count;
};

/* The same as pointers. NULL of first and third: no row; of second, where third is not NULL: every row. all: every row,
 * without a vector. */
struct rql_sieve_cut {
	const uint64_t *first, *second, *third; /* [block_count][RQL_SIEVE_WORDS] */
	bool all;
};
struct rql_sieve_cut rql_sieve_cut(const struct rql_sieve_run *run, uint32_t i);
/* The vector of rows with a key; NULL: all have one. */
const uint64_t *rql_sieve_valid(const struct rql_sieve_run *run);

/* Does a run of the form have positions? */
static inline bool rql_sieve_has_positions(const struct rql_sieve_form *form)
{
	return form->refine == RQL_SIEVE_AUTO || form->refine == RQL_SIEVE_POSITIONS;
}
/* A run without contents, of the CPU; NULL: out of memory. Its placement's destroy frees it. */
struct rql_sieve_run *rql_sieve_run_new(struct rql_device *cpu, struct rql_budget *budget);
/* Where a segment's sieve is found, on any device; key: room for its text. */
struct rql_place rql_sieve_place_of(const struct rql_store_segment *segment, const struct rql_index_of *of,
                                    char key[32]);
/* Is it there? */
bool rql_sieve_run_there(const struct rql_store_segment *segment, const struct rql_index_of *of,
                         const struct rql_device *cpu);
/* The run, made where it is not there; release its placement. RQL_ERROR_LIMIT: there is no room for it. progress may be
 * NULL. */
rql_status rql_sieve_run_get(const struct rql_store_snapshot *snapshot, uint32_t segment, const struct rql_index_of *of,
                             struct rql_device *cpu, struct rql_progress *progress, struct rql_sieve_run **out,
                             struct rql_error *err) RQL_MUST_CHECK;

#endif

/* Runs: what an index keeps of one column of one segment of a store (index/, sieve/), as the table of placements of the
 * CPU holds them; and a side file of them (docs/format.md).
 *
 * A file names a segment by the digest of what it stores. So it is right for whatever holds the same rows in the same
 * order, and whoever reads it needs to know nothing of where it was written: what is of other segments is passed over,
 * and what a segment lacks is made when it is needed. */
#ifndef RQL_METHOD_RUNS_H
#define RQL_METHOD_RUNS_H

#include "column/frame.h"
#include "device/placement.h"
#include "method/contents.h"

#define RQL_RUN_KEY 48u /* of a place, at most */

/* What a family of runs can do. */
struct rql_run_family {
	const char *const *kinds; /* of its places, NULL-terminated */
	/* The i-th place at which the index may have a run of the segment; false: there are no more. key: for its text. */
	bool (*place)(const struct rql_store_segment *segment, const struct rql_index_of *of, uint32_t i,
	              struct rql_place *out, char key[RQL_RUN_KEY]);
	/* A run without contents that belongs to no place; NULL: out of memory. */
	struct rql_placement *(*open)(const char *kind, struct rql_device *cpu, struct rql_budget *budget);
	/* Its fields and arrays, to or from a file; then what it holds is charged. */
	rql_status (*visit)(struct rql_frame_file *file, struct rql_placement *run);
	/* NULL: of this column of the segment, and at this place, it is as safe to read as one that was made. Makes it whole. */
	const char *(*check)(const struct rql_store_segment *segment, const struct rql_place *at,
	                     struct rql_placement *run);
};
extern const struct rql_run_family rql_runs_of_indexes, rql_runs_of_sieves;

/* Where on a GPU that lies which rays look up in, made of the run at `run`: beside it, by what the index's options make of
 * it. `key` is filled. */
struct rql_place rql_index_rays_place(const struct rql_index_of *of, const struct rql_place *run, char key[RQL_RUN_KEY]);

/* Makes the checksums of an image true again, so that a fuzzer gets behind them. */
void rql_runs_seal(uint8_t *image, uint64_t size);

#endif

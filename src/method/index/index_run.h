/* Runs of an index: a map (index_map.h) of the keys (index_key.h) of one segment of a store. They lie in the table of
 * placements, as copies of segments on GPUs do: made by the first who needs one, found again by the segment's identity,
 * gone with the segment. So a row that is appended has a run of its own segment, and nothing can be stale. */
#ifndef RQL_METHOD_INDEX_INDEX_RUN_H
#define RQL_METHOD_INDEX_INDEX_RUN_H

#include "device/placement.h"
#include "method/index/forms/index_map.h"
#include "method/index/index_key.h"

struct rql_index_run {
	struct rql_placement placement; /* first */
	struct rql_mem mem;             /* of the key's values */
	struct rql_index_key key;
	struct rql_index_map map;       /* rows: of the segment, counted as if all its blocks were full */
};

/* The form that an index takes in a segment, for points alone or for ranges, too: of->form itself but for AUTO. */
struct rql_index_of rql_index_auto(const struct rql_store_segment *segment, const struct rql_index_of *of, bool points,
                                   const struct rql_device *cpu);
/* A run without contents, for a place of this kind; NULL: out of memory. Its placement's destroy frees it. */
struct rql_index_run *rql_index_run_new(const char *kind, struct rql_device *cpu, struct rql_budget *budget);
/* Where a segment's run is found. Here and below the form is not AUTO. `key` is filled: it tells the run from others that
 * begin with the same column by the numbers of the other ones. */
#define RQL_INDEX_KEY_BYTES 48u
struct rql_place rql_index_place_of(const struct rql_store_segment *segment, const struct rql_index_of *of,
                                    char key[RQL_INDEX_KEY_BYTES]);
/* Those of all segments that are there, in the form that rql_index_auto gives; NULL: it is not. Release them together. */
rql_status rql_index_runs_take(const struct rql_store_snapshot *snapshot, const struct rql_index_of *of, bool points,
                               const struct rql_device *cpu, struct rql_arena *arena, struct rql_placement **out,
                               struct rql_error *err) RQL_MUST_CHECK;
/* Is it there? */
bool rql_index_run_there(const struct rql_store_segment *segment, const struct rql_index_of *of,
                         const struct rql_device *cpu);
/* The run, made where it is not there; release its placement. RQL_ERROR_LIMIT: nobody else's is given up
 * for it. progress may be NULL. */
rql_status rql_index_run_get(const struct rql_store_snapshot *snapshot, uint32_t segment,
                             const struct rql_index_of *of, struct rql_device *cpu, struct rql_progress *progress,
                             struct rql_index_run **out, struct rql_error *err) RQL_MUST_CHECK;
/* The keys that rql_index_map_find is asked for (rql_index_key_range; false: none), and asks the memory for what that
 * will read first. */
bool rql_index_run_fetch(const struct rql_index_run *run, const struct rql_store_segment *segment,
                         const struct rql_index_range *sought, uint32_t count, uint64_t *least, uint64_t *greatest);

/* index_places.c, of a run whose key is placed: makes its values, and the segment's pairs, ascending, for which there is
 * room. */
rql_status rql_index_places_make(const struct rql_store_segment *segment, const struct rql_device *cpu,
                                 struct rql_progress *progress, struct rql_index_run *run, struct rql_index_pair *pairs,
                                 uint32_t *count, struct rql_error *err) RQL_MUST_CHECK;
/* The key of a run that outlives it: its values lie in `mem`. */
rql_status rql_index_places_copy(const struct rql_index_key *from, struct rql_mem *mem, struct rql_index_key *out,
                                 struct rql_error *err) RQL_MUST_CHECK;
/* NULL: a key that was read may be looked up; greatest: of its map. */
const char *rql_index_places_check(const struct rql_index_key *key, uint64_t greatest);

/* The rows whose first `count` key columns lie in these ranges (rql_index_key_range), as rql_index_map_find. */
uint32_t rql_index_run_find(const struct rql_index_run *run, const struct rql_store_segment *segment,
                            const struct rql_index_range *sought, uint32_t count, const uint32_t **rows);

#endif

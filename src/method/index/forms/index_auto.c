/* What an index that is AUTO keeps of a segment: a direct run where its values are dense, which answers everything. Else
 * a hashed one for points and a sorted one for ranges; points take the sorted one where there is no other. */
#include "method/contents.h"
#include "method/index/index_run.h"

/* Integers from the least to the greatest value, for each row. A direct run then takes 4 * (1 + DENSE) bytes a row at
 * most: less than the two others together. */
#define DENSE 3u

/* Descriptors say enough; NULL's code counts as one more. Places are dense. */
static bool is_dense(const struct rql_store_segment *segment, const struct rql_index_of *of)
{
	rql_int128 least, greatest;
	struct rql_index_key key;
	if (of->more_count)
		return false;
	rql_index_key_make(segment, of, &key);
	if (key.placed)
		return true;
	const uint64_t rows = rql_index_segment_bounds(segment, of->column, &least, &greatest);
	return ((rql_uint128)greatest - (rql_uint128)least) / DENSE < rows || !rows;
}

static bool is_there(const struct rql_store_segment *segment, const struct rql_index_of *of, enum rql_index_form form,
                     const struct rql_device *cpu)
{
	struct rql_index_of as = *of;
	as.form = form;
	return rql_index_run_there(segment, &as, cpu);
}

struct rql_index_of rql_index_auto(const struct rql_store_segment *segment, const struct rql_index_of *of, bool points,
                                   const struct rql_device *cpu)
{
	struct rql_index_of as = *of;
	if (of->form != RQL_INDEX_AUTO)
		return as;
	if (is_there(segment, of, RQL_INDEX_DIRECT, cpu))
		as.form = RQL_INDEX_DIRECT;
	else if (points && is_there(segment, of, RQL_INDEX_HASH, cpu))
		as.form = RQL_INDEX_HASH;
	else if (is_there(segment, of, RQL_INDEX_SORTED, cpu))
		as.form = RQL_INDEX_SORTED;
	else if (is_dense(segment, of))
		as.form = RQL_INDEX_DIRECT;
	else
		as.form = points ? RQL_INDEX_HASH : RQL_INDEX_SORTED;
	return as;
}

rql_status rql_index_runs_take(const struct rql_store_snapshot *snapshot, const struct rql_index_of *of, bool points,
                               const struct rql_device *cpu, struct rql_arena *arena, struct rql_placement **out,
                               struct rql_error *err)
{
	const enum rql_index_form tried[] = {of->form == RQL_INDEX_AUTO ? RQL_INDEX_DIRECT : of->form,
	                                     points ? RQL_INDEX_HASH : RQL_INDEX_SORTED, RQL_INDEX_SORTED};
	const uint32_t each = of->form != RQL_INDEX_AUTO ? 1 : points ? 3 : 2;
	struct rql_place *at = RQL_NEW_ARRAY(arena, struct rql_place, (size_t)snapshot->segment_count * each + 1);
	char key[RQL_INDEX_KEY_BYTES];
	if (!at)
		return rql_error_memory(err, (size_t)snapshot->segment_count * each * sizeof(*at), "a look-up");
	for (uint32_t s = 0; s < snapshot->segment_count; s++)
		for (uint32_t f = 0; f < each; f++) {
			struct rql_index_of as = *of;
			as.form = tried[f];
			at[s * each + f] = rql_index_place_of(&snapshot->segments[s], &as, key); /* one key for all */
		}
	rql_placements_take(at, each, snapshot->segment_count, cpu, out);
	return RQL_OK;
}

/* ---- ahead of the first query ---- */
static rql_status place(const struct rql_store_snapshot *snapshot, uint32_t segment, const struct rql_index_of *of,
                        struct rql_device *cpu, struct rql_progress *progress, struct rql_error *err)
{
	struct rql_index_run *run = NULL;
	RQL_TRY(rql_index_run_get(snapshot, segment, of, cpu, progress, &run, err));
	rql_placement_release(&run->placement);
	return RQL_OK;
}

static rql_status place_auto(const struct rql_store_snapshot *snapshot, uint32_t segment,
                             const struct rql_index_of *of, struct rql_device *cpu, struct rql_progress *progress,
                             struct rql_error *err)
{
	struct rql_index_of as = *of;
	as.form = RQL_INDEX_DIRECT;
	if (is_dense(&snapshot->segments[segment], of))
		return place(snapshot, segment, &as, cpu, progress, err);
	as.form = RQL_INDEX_HASH;
	RQL_TRY(place(snapshot, segment, &as, cpu, progress, err));
	as.form = RQL_INDEX_SORTED;
	return place(snapshot, segment, &as, cpu, progress, err);
}

rql_status rql_index_place(const struct rql_store_snapshot *snapshot, const struct rql_index_of *of,
                           struct rql_device *cpu, struct rql_progress *progress, struct rql_error *err)
{
	for (uint32_t s = 0; s < snapshot->segment_count; s++)
		RQL_TRY(of->form == RQL_INDEX_AUTO ? place_auto(snapshot, s, of, cpu, progress, err)
		                                   : place(snapshot, s, of, cpu, progress, err));
	return RQL_OK;
}

/* ---- what is there ---- */
static uint64_t run_bytes(const struct rql_store_snapshot *snapshot, uint32_t segment, const struct rql_index_of *of,
                          struct rql_device *cpu, uint64_t *rows)
{
	struct rql_index_run *run = NULL;
	if (!rql_index_run_there(&snapshot->segments[segment], of, cpu) ||
	    rql_index_run_get(snapshot, segment, of, cpu, NULL, &run, NULL) != RQL_OK)
		return 0;
	const uint64_t bytes = run->placement.bytes;
	*rows = run->map.count;
	rql_placement_release(&run->placement);
	return bytes;
}

uint64_t rql_index_bytes(const struct rql_store_snapshot *snapshot, const struct rql_index_of *of,
                         struct rql_device *cpu, uint64_t *rows)
{
	static const enum rql_index_form all[] = {RQL_INDEX_DIRECT, RQL_INDEX_HASH, RQL_INDEX_SORTED};
	uint64_t bytes = 0;
	*rows = 0;
	for (uint32_t s = 0; s < snapshot->segment_count; s++) {
		uint64_t keyed = 0; /* the same in each form */
		for (uint32_t f = 0; f < 3; f++) {
			struct rql_index_of as = *of;
			as.form = of->form == RQL_INDEX_AUTO ? all[f] : of->form;
			if (of->form == RQL_INDEX_AUTO || f == 0)
				bytes += run_bytes(snapshot, s, &as, cpu, &keyed);
		}
		*rows += keyed;
	}
	return bytes;
}

/* All rows in the order of a column (RQL_PORT_SORTED): the runs of its segments as they are, so that a join by a range
 * looks its rows up and sorts none. Nothing is copied; the runs are held until the port is released. */
#include "method/index/index_look.h"

#include <stdlib.h>

/* Ranges are found in it by places of 64 bits: one column, of which neither codes nor prefixes are the keys. */
static bool orders(const struct rql_request *request, const struct rql_index_of *of)
{
	const struct rql_store_column *column = &request->snapshot->columns[request->sorted_by];
	const bool narrow = column->kind == RQL_STORE_REAL ||
	                    (column->kind == RQL_STORE_INTEGER && rql_type_bytes(column->type) <= sizeof(uint64_t));
	return of->column == request->sorted_by && !of->more_count && of->form != RQL_INDEX_HASH &&
	       of->form != RQL_INDEX_SIEVE && narrow;
}

static const struct rql_index_of *find_index(const struct rql_request *request)
{
	for (uint32_t i = 0; i < request->index_count; i++)
		if (orders(request, &request->indexes[i]))
			return &request->indexes[i];
	return NULL;
}

bool rql_index_can_order(const struct rql_request *request)
{
	return !request->conjunct_count && !request->lookup_count && find_index(request);
}

void rql_index_prepare_order(const struct rql_request *request, struct rql_index_choice *out)
{
	out->snapshot = rql_store_snapshot_retain(request->snapshot);
	out->sorted = true;
	out->of = *find_index(request);
}

/* ---- the port ---- */
struct held {
	const struct rql_store_snapshot *snapshot; /* one reference */
	const struct rql_store_column *column;
	struct rql_index_run *runs[]; /* [segments]: references */
};

static void release(struct rql_sorted_rows *sorted)
{
	struct held *held = sorted->state;
	for (uint32_t s = 0; held && s < held->snapshot->segment_count; s++)
		rql_placement_release(held->runs[s] ? &held->runs[s]->placement : NULL);
	if (held)
		rql_store_snapshot_release(held->snapshot);
	free(held);
	sorted->state = NULL;
}

static rql_int128 value_of(const struct rql_store_column *column, uint64_t place, bool least)
{
	if (column->kind == RQL_STORE_REAL)
		return rql_index_of_place(place, least);
	return (rql_int128)place + (rql_type_is_signed(column->type) ? INT64_MIN : 0);
}

static uint32_t find(const struct rql_sorted_rows *sorted, uint32_t part, uint64_t least, uint64_t greatest,
                     const uint32_t **rows)
{
	const struct held *held = sorted->state;
	const struct rql_index_range range = {value_of(held->column, least, true), value_of(held->column, greatest, false)};
	return rql_index_run_find(held->runs[part], &held->snapshot->segments[part], &range, 1, rows);
}

/* Where each block of the segment begins: blocks may be short. */
static const uint64_t *starts_of(const struct rql_store_segment *segment, uint32_t column, struct rql_arena *arena)
{
	uint64_t *starts = RQL_NEW_ARRAY(arena, uint64_t, segment->blocks + 1u), at = segment->first_row;
	for (uint32_t b = 0; starts && b < segment->blocks; b++) {
		starts[b] = at;
		at += segment->columns[column].blocks[b].rows;
	}
	return starts;
}

static rql_status hold(const struct rql_index_choice *p, struct rql_device *device, const struct rql_run *how,
                       const uint64_t **starts, struct rql_sorted_rows *out, struct rql_error *err)
{
	struct held *held = out->state;
	for (uint32_t s = 0; s < p->snapshot->segment_count; s++) {
		const struct rql_store_segment *segment = &p->snapshot->segments[s];
		const struct rql_index_of as = rql_index_auto(segment, &p->of, false, device);
		if (how->progress && atomic_load(&how->progress->cancel))
			return rql_error_set(err, RQL_ERROR_INTERRUPTED, "INTERRUPT Error: Interrupted!");
		RQL_TRY(rql_index_run_get(p->snapshot, s, &as, device, how->progress, &held->runs[s], err));
		if (!(starts[s] = starts_of(segment, p->of.column, how->arena)))
			return rql_error_memory(err, segment->blocks * sizeof(**starts), "an index");
	}
	return RQL_OK;
}

rql_status rql_index_order(const struct rql_index_choice *p, struct rql_device *device, const struct rql_run *how,
                           struct rql_port *out, struct rql_error *err)
{
	const uint32_t segments = p->snapshot->segment_count;
	struct held *held = calloc(1, sizeof(*held) + segments * sizeof(*held->runs));
	const uint64_t **starts = RQL_NEW_ARRAY(how->arena, const uint64_t *, segments + 1u);
	if (!held || !starts) {
		free(held);
		return rql_error_memory(err, segments * sizeof(*starts), "an index");
	}
	held->snapshot = rql_store_snapshot_retain(p->snapshot);
	held->column = &p->snapshot->columns[p->of.column];
	*out = (struct rql_port){.kind = RQL_PORT_SORTED};
	out->sorted = (struct rql_sorted_rows){.rows = p->snapshot->rows,
	                                       .part_count = segments,
	                                       .starts = starts,
	                                       .state = held,
	                                       .find = find,
	                                       .release = release};
	rql_status status = hold(p, device, how, starts, &out->sorted, err);
	if (status != RQL_OK)
		release(&out->sorted);
	return status;
}

/* Joins by ranges and ASOF joins over an index: what bounds a row is looked up in the index's own runs, and nothing is
 * sorted. The table's rows are all rows of a leaf, so that the index's numbers of rows are the set's.
 *
 * What it must do for a row that looks up: a search in each part of the index, some 100 to 250 ns each. */
#include "flow/join/join_internal.h"

#define FOUND_AT_ONCE 256u

static const struct rql_leaf_sorted *sorted_of(struct joining *j)
{
	const struct rql_rowset *points = j->sides[j->build];
	const struct rql_expr *column = rql_range_column(j->keys.range.point, &j->cast);
	if (j->keys.key_count || !column)
		return NULL;
	const double probes = (double)j->sides[!j->build]->rows;
	const struct rql_leaf_sorted *sorted = rql_leaf_sorted_by(points->whole, column->index, probes);
	j->point = points->vectors[column->index];
	return sorted && sorted->rows == points->rows ? sorted : NULL;
}

/* Without room for the index the rows are sorted. */
rql_status rql_index_range_open(struct joining *j)
{
	const struct rql_leaf_sorted *sorted = sorted_of(j);
	const struct rql_run how = {.arena = j->r->arena, .progress = j->r->flow ? j->r->flow->progress : NULL};
	struct rql_port port = {0};
	struct rql_error why = {0};
	if (!sorted)
		return RQL_OK;
	rql_status status = sorted->method->run(sorted->prepared, sorted->device, &how, &port, &why);
	j->by_index = status == RQL_OK;
	if (j->by_index)
		j->index = port.sorted;
	if (status == RQL_ERROR_LIMIT || status == RQL_ERROR_MEMORY) {
		rql_error_clear(&why);
		return RQL_OK;
	}
	rql_error_move(j->r->err, &why);
	return status;
}

void rql_index_range_close(struct joining *j)
{
	if (j->by_index)
		j->index.release(&j->index);
	j->by_index = false;
}

/* ---- looking up ---- */

bool rql_index_range_of(const struct joining *j, const struct range_bounds *b, uint32_t i, uint64_t *least,
                        uint64_t *greatest)
{
	const struct rql_join_range *range = &j->keys.range;
	*least = range->bounds[0] ? b->places[0][i] : 0;
	*greatest = range->bounds[1] ? b->places[1][i] : UINT64_MAX;
	if (b->inclusive)
		return rql_bit(b->live, i) && *least <= *greatest;
	if (!rql_bit(b->live, i) || (range->bounds[0] && range->open[0] && *least == UINT64_MAX) ||
	    (range->bounds[1] && range->open[1] && !*greatest))
		return false;
	*least += range->bounds[0] && range->open[0];
	*greatest -= range->bounds[1] && range->open[1];
	return *least <= *greatest;
}

uint64_t rql_index_range_count(const struct joining *j, uint64_t least, uint64_t greatest)
{
	uint64_t count = 0;
	for (uint32_t part = 0; part < j->index.part_count; part++) {
		const uint32_t *rows;
		count += j->index.find(&j->index, part, least, greatest, &rows);
	}
	return count;
}

static uint64_t place_of(const struct joining *j, uint32_t row)
{
	struct rql_place_room room;
	uint64_t place[RQL_VECTOR_ROWS];
	(void)rql_narrow_places(&j->point, &row, 1, &room, place);
	return place[0];
}

/* Of the rows within the one bound that nearest to it; of several that are equally near the last one of the table, as
 * sorted rows give it. */
static uint32_t nearest(const struct joining *j, uint64_t least, uint64_t greatest)
{
	const bool from_above = !j->keys.range.bounds[1];
	uint32_t best = RQL_NO_ROW;
	uint64_t best_place = 0;
	for (uint32_t part = 0; part < j->index.part_count; part++) {
		const uint32_t *rows;
		uint32_t count = j->index.find(&j->index, part, least, greatest, &rows);
		if (!count)
			continue;
		uint32_t row = (uint32_t)rql_sorted_row(&j->index, part, rows[from_above ? 0 : count - 1]);
		const uint64_t place = place_of(j, row);
		if (from_above && count > 1 && (count = j->index.find(&j->index, part, place, place, &rows)))
			row = (uint32_t)rql_sorted_row(&j->index, part, rows[count - 1]);
		if (best != RQL_NO_ROW && (from_above ? place > best_place : place < best_place))
			continue;
		best = row;
		best_place = place;
	}
	return best;
}

static rql_status find_in_part(const struct joining *j, uint32_t part, const uint32_t *rows, uint32_t count,
                               rql_found_fn *found, void *state, struct rql_error *err)
{
	uint32_t of_set[FOUND_AT_ONCE];
	for (uint32_t at = 0, n; at < count; at += n) {
		n = count - at < FOUND_AT_ONCE ? count - at : FOUND_AT_ONCE;
		for (uint32_t i = 0; i < n; i++)
			of_set[i] = (uint32_t)rql_sorted_row(&j->index, part, rows[at + i]);
		RQL_TRY(found(state, of_set, n, err));
	}
	return RQL_OK;
}

rql_status rql_index_range_find(const struct joining *j, uint64_t least, uint64_t greatest, rql_found_fn *found,
                                void *state, struct rql_error *err)
{
	if (j->asof) {
		const uint32_t row = nearest(j, least, greatest);
		return row == RQL_NO_ROW ? RQL_OK : found(state, &row, 1, err);
	}
	for (uint32_t part = 0; part < j->index.part_count; part++) {
		const uint32_t *rows;
		const uint32_t count = j->index.find(&j->index, part, least, greatest, &rows);
		RQL_TRY(find_in_part(j, part, rows, count, found, state, err));
	}
	return RQL_OK;
}

/* UNION, EXCEPT and INTERSECT: the rows of all inputs one after the other, and for all but UNION ALL each different row once,
 * with how often it came from the left and from the right. */
#include <string.h>
#include "flow/keys/keys.h"

struct appending {
	const struct rql_rowset *set;
	struct rql_column **columns;
	uint64_t first; /* row of the whole, a multiple of 64 */
};

static rql_status append_morsel(void *state, uint64_t first, uint64_t rows, unsigned worker, struct rql_error *err)
{
	const struct appending *a = state;
	uint32_t room[RQL_VECTOR_ROWS];
	(void)worker, (void)err;
	for (uint64_t i = first; i < first + rows; i += RQL_VECTOR_ROWS) {
		uint32_t n = rql_vector_part(i, first + rows);
		const uint32_t *numbers = rql_rowset_rows(a->set, i, n, room);
		for (uint32_t c = 0; c < a->set->vector_count; c++)
			rql_vector_store(&a->set->vectors[c], numbers, n, a->columns[c], a->first + i);
	}
	return RQL_OK;
}

/* The inputs' rows in columns of their own, each input from a multiple of 64 on; the selection leaves the gaps out. */
static rql_status append_all(struct rql_running *r, const struct rql_rel *rel, const struct rql_rowset *inputs,
                             struct rql_rowset *out)
{
	struct rql_column **columns = RQL_NEW_ARRAY(r->arena, struct rql_column *, rel->column_count);
	uint64_t room = 0, rows = 0;
	for (uint32_t i = 0; i < rel->child_count; i++) {
		room += (inputs[i].rows + 63) / 64 * 64;
		rows += inputs[i].rows;
	}
	if (room >= RQL_NO_ROW)
		return rql_error_set(r->err, RQL_ERROR_UNSUPPORTED, "a union of 2^32 rows or more");
	*out = (struct rql_rowset){.arena = r->arena, .capacity = room, .rows = rows, .vector_count = rel->column_count};
	out->vectors = RQL_NEW_ARRAY(r->arena, struct rql_vector, rel->column_count);
	if (!columns || !out->vectors)
		return rql_error_memory(r->err, 0, "rows of an operator");
	RQL_TRY(RQL_ROOM(r, out->selection, rows));
	for (uint32_t c = 0; c < rel->column_count; c++) {
		bool nullable = false;
		for (uint32_t i = 0; i < rel->child_count; i++)
			nullable |= rql_vector_nullable(&inputs[i].vectors[c]);
		RQL_TRY(rql_column_room(r, rel->types[c], room, nullable, &columns[c]));
		out->vectors[c] = (struct rql_vector){.kind = RQL_VECTOR_COLUMN, .type = rel->types[c], .values = columns[c]};
	}
	struct appending a = {.columns = columns};
	for (uint32_t i = 0, n = 0; i < rel->child_count; i++) {
		a.set = &inputs[i];
		RQL_TRY(rql_morsels_run(r, a.set->rows, append_morsel, &a));
		for (uint64_t k = 0; k < a.set->rows; k++)
			out->selection[n++] = (uint32_t)(a.first + k);
		a.first += (a.set->rows + 63) / 64 * 64;
	}
	return RQL_OK;
}

/* How many of a row's copies stay. */
static uint64_t kept(const struct rql_rel *rel, uint64_t left, uint64_t right)
{
	if (rel->setop == RQL_SETOP_UNION)
		return 1;
	if (rel->setop == RQL_SETOP_INTERSECT)
		return rel->setop_all ? (left < right ? left : right) : left && right;
	return rel->setop_all ? (left > right ? left - right : 0) : left && !right;
}

rql_status rql_rowset_setop(struct rql_running *r, const struct rql_rel *rel, struct rql_rowset *inputs,
                            struct rql_rowset *out)
{
	bool equal[RQL_VECTOR_ROWS];
	memset(equal, 1, sizeof equal);
	RQL_TRY(append_all(r, rel, inputs, out));
	if (rel->setop == RQL_SETOP_UNION && rel->setop_all)
		return RQL_OK;
	struct rql_keys keys = {.columns = rel->column_count,
	                        .nulls_equal = equal,
	                        .side_count = 1,
	                        .sides = {{.set = out, .vectors = out->vectors}}};
	struct rql_key_groups groups;
	uint64_t *left, *right, n = 0;
	if (rel->column_count > RQL_VECTOR_ROWS)
		return rql_error_set(r->err, RQL_ERROR_UNSUPPORTED, "a union of %u columns", rel->column_count);
	RQL_TRY(rql_keys_make(r, &keys));
	RQL_TRY(rql_key_groups_make(r, keys.sides[0].words, out->rows, keys.bits, &groups));
	RQL_TRY(rql_key_groups_spread(r, &groups, out->rows));
	RQL_TRY(RQL_ZEROED_SCRATCH(r, left, groups.count));
	RQL_TRY(RQL_ZEROED_SCRATCH(r, right, groups.count));
	for (uint64_t i = 0; i < out->rows; i++)
		(i < inputs[0].rows ? left : right)[groups.group[i]]++;
	for (uint64_t g = 0; g < groups.count; g++)
		left[g] = kept(rel, left[g], right[g]);
	for (uint64_t i = 0; i < out->rows; i++)
		if (left[groups.group[i]]) {
			left[groups.group[i]]--;
			out->selection[n++] = out->selection[i];
		}
	out->rows = n;
	return RQL_OK;
}

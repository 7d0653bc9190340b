/* Functions of one column of strings: the rows' strings are taken by reference and evaluated as the entries of a dictionary
 * are, 1024 at a time on all threads. No expression here reads several columns: these are the host's.
 *
 * What it must do for a row: 16 bytes of string read and written, its text read, the result's 16 bytes or less. */
#include "flow/compute/strings.h"

#include <string.h>

#include "flow/compute/compile_entries.h"
#include "sql/rel/rel_edit.h"

struct only_ref {
	bool known, several;
	uint32_t index;
};

static bool note_ref(const struct rql_expr *leaf, void *state)
{
	struct only_ref *o = state;
	o->several |= leaf->kind != RQL_EXPR_REF || leaf->type.id != RQL_TYPE_VARCHAR || (o->known && o->index != leaf->index);
	o->known = true;
	o->index = leaf->index;
	return !o->several;
}

static bool only_column(const struct rql_expr *e, uint32_t *out)
{
	struct only_ref o = {0};
	rql_expr_leaves(e, note_ref, &o);
	*out = o.index;
	return o.known && !o.several;
}

struct rql_entry *rql_expr_of_string(struct rql_arena *arena, const struct rql_expr *e, uint32_t *column)
{
	return only_column(e, column) && rql_type_bytes(e->type) ? rql_compile_entries(arena, e) : NULL;
}

struct gathering {
	const struct rql_rowset *set;
	const struct rql_vector *vector;
	struct rql_column *strings;
};

/* A NULL is an empty string to whoever does not look at validity. */
static rql_status gather_morsel(void *state, uint64_t first, uint64_t rows, unsigned worker, struct rql_error *err)
{
	const struct gathering *g = state;
	struct rql_string *strings = g->strings->data;
	(void)worker;
	(void)err;
	for (uint64_t i = 0; i < rows; i += RQL_VECTOR_ROWS) {
		uint32_t room[RQL_VECTOR_ROWS], n = rql_vector_part(i, rows);
		rql_vector_store(g->vector, rql_rowset_rows(g->set, first + i, n, room), n, g->strings, first + i);
	}
	for (uint64_t i = first; i < first + rows && g->strings->validity; i++)
		if (!rql_column_valid(g->strings, i))
			strings[i] = (struct rql_string){0};
	return RQL_OK;
}

rql_status rql_rowset_compute_string(struct rql_running *r, const struct rql_rowset *set, struct rql_entry *tree,
                                     uint32_t column, struct rql_type type, struct rql_vector *out)
{
	struct gathering g = {.set = set, .vector = &set->vectors[column]};
	struct rql_column *result;
	struct rql_entry_run run = {.pool = r->flow->pool, .simd = r->flow->simd, .arena = r->arena, .unsorted = true};
	if (set->rows > UINT32_MAX - 1)
		return rql_error_set(r->err, RQL_ERROR_UNSUPPORTED, "a function of strings over %llu rows",
		                     (unsigned long long)set->rows);
	RQL_TRY(rql_column_room(r, type, set->rows + 1, true, &result));
	*out = (struct rql_vector){.kind = RQL_VECTOR_COLUMN, .type = type, .values = result};
	if (!set->rows)
		return RQL_OK;
	RQL_TRY(rql_column_room(r, rql_type_simple(RQL_TYPE_VARCHAR), set->rows + 1, rql_vector_nullable(g.vector), &g.strings));
	RQL_TRY(RQL_ROOM(r, run.unknown, set->rows / 64 + 1));
	RQL_TRY(rql_morsels_run(r, set->rows, gather_morsel, &g));
	const struct rql_dimension strings = {
		.type = rql_type_simple(RQL_TYPE_VARCHAR), .count = (uint32_t)set->rows, .values = *g.strings};
	run.dimension = &strings;
	RQL_TRY(rql_entry_evaluate(&run, tree, result, r->err));
	if (run.refused || run.unknown_count)
		return rql_error_set(r->err, RQL_ERROR_UNSUPPORTED, "a function of strings has letters that the host knows");
	return RQL_OK;
}

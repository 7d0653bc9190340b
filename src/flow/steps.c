/* What filters, projections, orders and limits do with rows; and rows as a batch. */
#include <string.h>
#include "flow/rowset.h"

/* ---- filters ---- */

struct filtering {
	struct rql_evaluator *e;
	const struct rql_rowset *set;
	uint32_t *kept;    /* [rows]: those of a morsel from its first row on */
	uint64_t *counts;  /* of each morsel */
};

static rql_status filter_morsel(void *state, uint64_t first, uint64_t rows, unsigned worker, struct rql_error *err)
{
	const struct filtering *f = state;
	uint32_t *kept = f->kept + first, room[RQL_VECTOR_ROWS];
	uint64_t count = 0;
	for (uint64_t i = 0; i < rows; i += RQL_VECTOR_ROWS) {
		uint32_t n = rql_vector_part(i, rows), left;
		uint64_t live[RQL_VECTOR_WORDS] = {0};
		rql_bits_fill(live, n);
		const uint32_t *numbers = rql_rowset_rows(f->set, first + i, n, room);
		RQL_TRY(rql_evaluator_filter(f->e, f->set, worker, numbers, n, live, &left, err));
		for (uint32_t w = 0; w < (n + 63) / 64; w++)
			for (uint64_t bits = live[w]; bits; bits &= bits - 1)
				kept[count++] = numbers[w * 64 + (uint32_t)__builtin_ctzll(bits)];
	}
	f->counts[first / RQL_MORSEL_ROWS] = count;
	return RQL_OK;
}

static rql_status filter(struct rql_running *r, struct rql_rowset *set, const struct rql_rel *rel)
{
	struct filtering f = {.set = set};
	uint64_t morsels = (set->rows + RQL_MORSEL_ROWS - 1) / RQL_MORSEL_ROWS, n = 0;
	RQL_TRY(RQL_SCRATCH(r, f.kept, set->rows));
	RQL_TRY(RQL_SCRATCH(r, f.counts, morsels));
	RQL_TRY(rql_evaluator_new(r, set, rel->exprs, rel->expr_count, true, set->rows, &f.e));
	rql_status status = rql_morsels_run(r, set->rows, filter_morsel, &f);
	rql_evaluator_free(f.e);
	if (status != RQL_OK)
		return status;
	for (uint64_t m = 0; m < morsels; m++)
		n += f.counts[m];
	RQL_TRY(RQL_ROOM(r, set->selection, n));
	n = 0;
	for (uint64_t m = 0; m < morsels; n += f.counts[m++])
		memcpy(set->selection + n, f.kept + m * RQL_MORSEL_ROWS, f.counts[m] * sizeof *f.kept);
	set->rows = n;
	return RQL_OK;
}

/* ---- projections, limits ---- */

static bool is_plain(const struct rql_rel *rel)
{
	for (uint32_t c = 0; c < rel->expr_count; c++)
		if (rel->exprs[c]->kind != RQL_EXPR_REF)
			return false;
	return true;
}

static rql_status project(struct rql_running *r, struct rql_rowset *set, const struct rql_rel *rel)
{
	struct rql_vector *vectors = RQL_NEW_ARRAY(r->arena, struct rql_vector, rel->expr_count);
	if (!vectors)
		return rql_error_memory(r->err, 0, "rows of an operator");
	if (!is_plain(rel))
		RQL_TRY(rql_rowset_rebase(r, set));
	for (uint32_t c = 0; c < rel->expr_count; c++)
		RQL_TRY(rql_rowset_compute(r, set, rel->exprs[c], &vectors[c]));
	set->vectors = vectors;
	set->vector_count = rel->expr_count;
	return RQL_OK;
}

static rql_status limit(struct rql_running *r, struct rql_rowset *set, uint64_t count, uint64_t offset)
{
	if (offset > set->rows)
		offset = set->rows;
	uint64_t rows = set->rows - offset < count ? set->rows - offset : count;
	if (offset) {
		uint32_t *kept;
		RQL_TRY(RQL_ROOM(r, kept, rows));
		for (uint64_t i = 0; i < rows; i++)
			kept[i] = rql_rowset_row(set, offset + i);
		set->selection = kept;
	}
	set->rows = rows;
	return RQL_OK;
}

static uint64_t sum_saturated(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* No row is left behind the offset. Keys that are computed may fail all the same. */
static bool skips_all(const struct rql_rowset *set, const struct rql_rel *rel)
{
	bool skips = rel->offset >= set->rows;
	for (uint32_t i = 0; i < rel->order_count && skips; i++)
		skips = rel->orders[i].expr->kind == RQL_EXPR_REF;
	return skips;
}

static rql_status first_rows(struct rql_running *r, struct rql_rowset *set, const struct rql_rel *rel)
{
	if (!skips_all(set, rel))
		RQL_TRY(rql_rowset_sort(r, set, rel->orders, rel->order_count, sum_saturated(rel->limit, rel->offset)));
	return limit(r, set, rel->limit, rel->offset);
}

/* ---- rows of constants ---- */

static rql_status values(struct rql_running *r, const struct rql_rel *rel, struct rql_rowset *out)
{
	uint64_t rows = rel->kind == RQL_REL_DUMMY   ? 1
	                : rel->kind == RQL_REL_EMPTY ? 0
	                                             : rel->expr_count / rel->column_count;
	*out = (struct rql_rowset){.arena = r->arena, .capacity = rows, .rows = rows, .vector_count = rel->column_count};
	if (!(out->vectors = RQL_NEW_ARRAY(r->arena, struct rql_vector, rel->column_count)))
		return rql_error_memory(r->err, 0, "rows of an operator");
	for (uint32_t c = 0; c < rel->column_count; c++) {
		struct rql_column *column = NULL;
		RQL_TRY(rql_column_room(r, rel->types[c], rows, true, &column));
		out->vectors[c] = (struct rql_vector){.kind = RQL_VECTOR_COLUMN, .type = rel->types[c], .values = column};
		for (uint64_t i = 0; i < rows && rel->kind == RQL_REL_VALUES; i++) {
			const struct rql_value *value = &rel->exprs[i * rel->column_count + c]->value;
			if (value->is_null)
				continue;
			rql_column_put(column, i, value);
			rql_bit_set(column->validity, i);
		}
	}
	return RQL_OK;
}

rql_status rql_rowset_step(struct rql_running *r, const struct rql_rel *rel, struct rql_rowset *inputs,
                           struct rql_rowset *out)
{
	struct rql_rowset *set = &inputs[0];
	rql_status status = RQL_OK;
	switch (rel->kind) {
	case RQL_REL_FILTER:
		status = filter(r, set, rel);
		break;
	case RQL_REL_PROJECT:
		status = project(r, set, rel);
		break;
	case RQL_REL_ORDER:
		status = rql_rowset_sort(r, set, rel->orders, rel->order_count, UINT64_MAX);
		break;
	case RQL_REL_TOP_N:
		status = first_rows(r, set, rel);
		break;
	case RQL_REL_LIMIT:
		status = limit(r, set, rel->limit, rel->offset);
		break;
	case RQL_REL_DISTINCT:
		status = rql_rowset_distinct(r, set);
		break;
	case RQL_REL_DISTINCT_ON:
		status = rql_rowset_distinct_on(r, set, rel);
		break;
	case RQL_REL_JOIN:
		return rql_rowset_join(r, rel, inputs, out);
	case RQL_REL_AGGREGATE:
		return rql_rowset_aggregate(r, rel, set, out);
	case RQL_REL_SETOP:
		return rql_rowset_setop(r, rel, inputs, out);
	case RQL_REL_VALUES:
	case RQL_REL_EMPTY:
	case RQL_REL_DUMMY:
		return values(r, rel, out);
	default:
		return rql_error_set(r->err, RQL_ERROR_INTERNAL, "%s is no native operator", rql_rel_phrase(rel));
	}
	*out = *set;
	return status;
}

/* ---- rows to a batch ---- */

struct giving {
	const struct rql_rowset *set;
	struct rql_batch *batch;
};

static bool is_string(struct rql_type type)
{
	return type.id == RQL_TYPE_VARCHAR || type.id == RQL_TYPE_BLOB;
}

static rql_status give_morsel(void *state, uint64_t first, uint64_t rows, unsigned worker, struct rql_error *err)
{
	const struct giving *g = state;
	uint32_t room[RQL_VECTOR_ROWS];
	(void)worker, (void)err;
	for (uint64_t i = 0; i < rows; i += RQL_VECTOR_ROWS) {
		uint32_t n = rql_vector_part(i, rows);
		const uint32_t *numbers = rql_rowset_rows(g->set, first + i, n, room);
		for (uint32_t c = 0; c < g->set->vector_count; c++)
			rql_vector_store(&g->set->vectors[c], numbers, n, &g->batch->columns[c], first + i);
	}
	return RQL_OK;
}

/* The batch outlives the dictionaries. */
static bool keep_strings(struct rql_batch *batch, uint32_t c)
{
	struct rql_string *strings = batch->columns[c].data;
	for (uint64_t i = 0; i < batch->rows; i++) {
		if (!rql_column_valid(&batch->columns[c], i))
			strings[i] = (struct rql_string){.length = 0};
		else if (strings[i].length > RQL_STRING_INLINE &&
		         !rql_batch_set_string(batch, c, i, strings[i].pointer.data, strings[i].length))
			return false;
	}
	return true;
}

rql_status rql_rowset_batch(struct rql_running *r, const struct rql_rowset *set, struct rql_batch **out)
{
	struct rql_type *types = RQL_NEW_ARRAY(r->arena, struct rql_type, set->vector_count);
	for (uint32_t c = 0; types && c < set->vector_count; c++)
		types[c] = set->vectors[c].type;
	struct rql_batch *batch = types ? rql_batch_new(set->vector_count, types, set->rows) : NULL;
	struct giving g = {set, batch};
	bool room = batch != NULL;
	for (uint32_t c = 0; room && c < set->vector_count && set->rows; c++)
		room = !rql_vector_nullable(&set->vectors[c]) || rql_batch_set_null(batch, c, 0); /* makes its bits */
	rql_status status = room ? rql_morsels_run(r, set->rows, give_morsel, &g) : RQL_OK;
	for (uint32_t c = 0; status == RQL_OK && room && c < set->vector_count; c++)
		room = !is_string(set->vectors[c].type) || keep_strings(batch, c);
	if (status == RQL_OK && !room)
		status = rql_error_memory(r->err, set->rows * sizeof(struct rql_string), "an answer");
	if (status != RQL_OK) {
		rql_batch_release(batch);
		return status;
	}
	*out = batch;
	return RQL_OK;
}

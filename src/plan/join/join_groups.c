/* The groups of a block as rows of a form, which stay on the device for what is above them: a column for each slot. */
#include <string.h>

#include "plan/join/join.h"
#include "util/sort.h"

/* Values whose codes do not ascend as they do are sorted while planning, up to so many. */
#define SORTED_VALUES (UINT32_C(1) << 20)
#define AVERAGE_DIGITS 18u /* 10 to their number has 64 bits */

struct forming {
	struct rql_arena *arena;
	struct rql_request *request;
	struct rql_form_column *columns; /* of the slots, then the lower halves of some */
	struct rql_group_output *outputs;
	uint32_t count;
	struct rql_error *err;
};

static rql_status refuse(struct forming *f, const char *why)
{
	return rql_error_set(f->err, RQL_ERROR_UNSUPPORTED, "groups that stay on a GPU: %s", why);
}

/* ---- keys ---- */

static int compare_values(const void *context, uint32_t a, uint32_t b)
{
	const struct rql_column *values = context;
	bool valid_a = rql_column_valid(values, a), valid_b = rql_column_valid(values, b);
	if (!valid_a || !valid_b)
		return (int)!valid_a - (int)!valid_b; /* NULL last */
	return rql_column_compare(values, a, values, b);
}

/* A dictionary of the values of `count` key codes, and the code that each of these has in it. */
static rql_status sort_values(struct forming *f, const struct rql_column *values, uint32_t count,
                              struct rql_dimension *out, uint32_t **code_of_key)
{
	uint32_t *order = RQL_NEW_ARRAY(f->arena, uint32_t, count + 1u);
	uint32_t *spare = RQL_NEW_ARRAY(f->arena, uint32_t, count + 1u);
	uint32_t *codes = RQL_NEW_ARRAY(f->arena, uint32_t, count + 1u);
	const size_t bytes = rql_type_bytes(values->type);
	if (count > SORTED_VALUES)
		return refuse(f, "a key has too many values that would have to be sorted");
	out->values = (struct rql_column){.type = values->type,
	                                  .data = rql_arena_array(f->arena, count + 1u, bytes),
	                                  .validity = RQL_NEW_ARRAY(f->arena, uint64_t, count / 64 + 1u)};
	if (!order || !spare || !codes || !out->values.data || !out->values.validity)
		return rql_error_memory(f->err, 0, "a plan");
	for (uint32_t k = 0; k < count; k++)
		order[k] = k;
	rql_sort_items(order, spare, count, compare_values, (void *)(uintptr_t)values);
	for (uint32_t i = 0; i < count; i++) {
		const uint32_t k = order[i];
		if (i && compare_values(values, order[i - 1], k) == 0) {
			codes[k] = out->count - 1;
			continue;
		}
		memcpy((char *)out->values.data + out->count * bytes, (const char *)values->data + k * bytes, bytes);
		if (rql_column_valid(values, k))
			rql_bit_set(out->values.validity, out->count);
		else
			out->has_null = true;
		codes[k] = out->count++;
	}
	*code_of_key = codes;
	return RQL_OK;
}

/* The codes of a column's own dictionary stand for themselves. */
static const struct rql_dimension *own_dictionary(const struct forming *f, const struct rql_group_key *key,
                                                  const struct rql_slot *slot)
{
	if (key->source.kind != RQL_SOURCE_COLUMN || key->key_of_code)
		return NULL;
	const struct rql_dimension *d = f->request->snapshot->columns[key->source.index].dimension;
	return d && d->count && slot->values == &d->values ? d : NULL;
}

static rql_status coded_key(struct forming *f, const struct rql_group_key *key, const struct rql_slot *slot,
                            struct rql_form_column *column, struct rql_group_output *out)
{
	const struct rql_dimension *own = own_dictionary(f, key, slot);
	struct rql_dimension *made = own ? NULL : RQL_NEW(f->arena, struct rql_dimension);
	uint32_t *codes = NULL;
	if (!own && !made)
		return rql_error_memory(f->err, 0, "a plan");
	if (!own) {
		made->type = slot->type;
		RQL_TRY(sort_values(f, slot->values, key->key_count, made, &codes));
	}
	const struct rql_dimension *d = own ? own : made;
	column->of.kind = RQL_STORE_CODED;
	column->of.dimension = d;
	column->nullable = d->has_null;
	out->number_of_key = codes;
	for (uint32_t k = 0; codes && d->has_null && k < key->key_count; k++)
		if (codes[k] == d->count - 1)
			out->null_key = k;
	if (own && d->has_null)
		out->null_key = d->count - 1;
	return RQL_OK;
}

/* A group has all reals that are equal, of which the host shows one that there is: its least, so that -0.0 keeps its
 * sign. */
static rql_status real_key(struct forming *f, const struct rql_group_key *key, struct rql_form_column *column,
                           struct rql_group_output *out)
{
	struct rql_agg *aggs = RQL_NEW_ARRAY(f->arena, struct rql_agg, f->request->agg_count + 1u);
	if (!aggs)
		return rql_error_memory(f->err, 0, "a plan");
	if (f->request->agg_count)
		memcpy(aggs, f->request->aggs, f->request->agg_count * sizeof *aggs);
	out->index = f->request->agg_count++;
	aggs[out->index] = (struct rql_agg){.kind = RQL_AGG_MIN, .source = key->source};
	f->request->aggs = aggs;
	if (key->source.kind == RQL_SOURCE_COLUMN)
		column->of = f->request->snapshot->columns[key->source.index];
	column->of.kind = RQL_STORE_REAL;
	column->of.has_total = false;
	column->nullable = true;
	return RQL_OK;
}

static rql_status key_column(struct forming *f, const struct rql_slot *slot, struct rql_form_column *column,
                             struct rql_group_output *out)
{
	const struct rql_group_key *key = &f->request->groups[slot->key];
	if (slot->of_real)
		return real_key(f, key, column, out);
	out->of_key = true;
	out->index = slot->key;
	if (slot->values)
		return coded_key(f, key, slot, column, out);
	const rql_int128 keys = slot->wide ? (rql_int128)key->wide_count : (rql_int128)key->key_count;
	out->null_key = rql_slot_null_code(slot);
	column->of.kind = RQL_STORE_INTEGER;
	column->nullable = out->null_key != UINT64_MAX;
	column->of.least = slot->least;
	column->of.greatest = slot->least + keys - 1 - column->nullable;
	return RQL_OK;
}

/* Two columns, the second one behind all others. */
static rql_status halves_key(struct forming *f, const struct rql_slot *slot, uint32_t column)
{
	const struct rql_slot *halves = slot->halves;
	const uint32_t at[2] = {column, f->count++};
	f->columns[at[1]].of = (struct rql_store_column){.name = f->columns[column].of.name, .type = halves[1].type};
	f->columns[at[0]].of.type = halves[0].type;
	for (uint32_t h = 0; h < 2; h++)
		RQL_TRY(key_column(f, &halves[h], &f->columns[at[h]], &f->outputs[at[h]]));
	f->columns[at[0]].of.low = at[1] + 1;
	return RQL_OK;
}

static rql_status any_key(struct forming *f, const struct rql_slot *slot, uint32_t column)
{
	return slot->kind == RQL_SLOT_KEY ? key_column(f, slot, &f->columns[column], &f->outputs[column])
	                                  : halves_key(f, slot, column);
}

/* ---- aggregates ---- */

/* All groups together have each row once: what these add up to is what the groups of any groups above do. */
static void set_total(struct rql_form_column *column, struct rql_store_total total)
{
	column->of.has_total = true;
	column->of.total = total;
}

static void count_column(const struct forming *f, const struct rql_slot *slot, struct rql_form_column *column,
                         struct rql_group_output *out)
{
	column->of.kind = RQL_STORE_INTEGER;
	column->of.greatest = (rql_int128)f->request->snapshot->rows;
	set_total(column, (struct rql_store_total){0, column->of.greatest});
	out->index = slot->count;
}

/* Of the single values that an aggregate reads. */
static rql_status bounds_of(struct forming *f, const struct rql_source *source, struct rql_bounds *out)
{
	if (source->kind == RQL_SOURCE_PROGRAM) {
		const struct rql_program_result *r = &f->request->programs[source->index].program->results[source->result];
		*out = r->kind == RQL_LANE_BOOL ? (struct rql_bounds){0, 1} : r->bounds;
		return RQL_OK;
	}
	if (source->kind != RQL_SOURCE_COLUMN)
		return refuse(f, "an aggregate reads a joined dimension");
	const struct rql_store_column *column = &f->request->snapshot->columns[source->index];
	*out = (struct rql_bounds){column->least, column->greatest};
	return RQL_OK;
}

static rql_int128 least_of(rql_int128 a, rql_int128 b)
{
	return a < b ? a : b;
}

/* Of what an aggregate reads, all rows together. False: nothing proves that it takes 64 bits. */
static bool total_of(const struct forming *f, const struct rql_source *source, const struct rql_bounds *b,
                     struct rql_store_total *out)
{
	const struct rql_store_snapshot *snapshot = f->request->snapshot;
	*out = (struct rql_store_total){0};
	return source->kind == RQL_SOURCE_COLUMN ? rql_store_total(snapshot, source->index, out)
	                                         : rql_store_total_add(out, snapshot->rows, b->low, b->high);
}

/* Two columns, the second one behind all others: a sum that may take more than 64 bits, or one of such sums, whose lower
 * halves were added up apart. */
static rql_status halve(struct forming *f, struct rql_form_column *column, struct rql_group_output *out,
                        rql_int128 least, rql_int128 greatest)
{
	struct rql_form_column halves[2] = {*column};
	if (!rql_form_halve(least, greatest, f->count, halves))
		return refuse(f, "a sum may take more than 94 bits");
	*column = halves[0];
	out->half = RQL_HALF_UPPER;
	f->columns[f->count] = halves[1];
	f->outputs[f->count] = *out;
	f->outputs[f->count++].half = RQL_HALF_LOWER;
	return RQL_OK;
}

/* Of all rows together, which need no 64 bits. False: it leaves 128. */
static bool wide_total(const struct forming *f, const struct rql_bounds *b, rql_int128 *least, rql_int128 *greatest)
{
	const rql_int128 rows = (rql_int128)f->request->snapshot->rows;
	return !__builtin_mul_overflow(b->low < 0 ? b->low : 0, rows, least) &&
	       !__builtin_mul_overflow(b->high > 0 ? b->high : 0, rows, greatest);
}

/* A group has one value at least, so that a sum of positive ones is no less than the least of them. */
static rql_status sum_column(struct forming *f, const struct rql_agg *agg, struct rql_form_column *column,
                             struct rql_group_output *out)
{
	struct rql_store_total total;
	struct rql_bounds b = {0, 0};
	RQL_TRY(bounds_of(f, &agg->source, &b));
	if (!total_of(f, &agg->source, &b, &total))
		return wide_total(f, &b, &total.low, &total.high) ? halve(f, column, out, total.low, total.high)
		                                                  : refuse(f, "a sum may take more than 94 bits");
	column->of.least = b.low > 0 ? b.low : least_of(b.low, total.low);
	column->of.greatest = b.high < 0 ? b.high : -least_of(-b.high, -total.high);
	set_total(column, total);
	return RQL_OK;
}

/* The sum of upper halves and that of lower ones, from a form below. */
static bool is_of_halves(const struct rql_slot *slot)
{
	return slot->kind == RQL_SLOT_SUM && slot->term_count == 2 &&
	       slot->terms[0].coefficient == (rql_int128)1 << RQL_FORM_LOW_BITS && slot->terms[1].coefficient == 1;
}

static rql_status halves_column(struct forming *f, const struct rql_slot *slot, struct rql_form_column *column,
                                struct rql_group_output *out)
{
	rql_int128 ends[2][2];
	for (uint32_t t = 0; t < 2; t++) {
		struct rql_bounds b;
		RQL_TRY(bounds_of(f, &f->request->aggs[slot->terms[t].agg].source, &b));
		if (!wide_total(f, &b, &ends[t][0], &ends[t][1]))
			return refuse(f, "a sum may take more than 94 bits");
	}
	out->index = slot->terms[0].agg;
	out->lower = slot->terms[1].agg + 1;
	column->of.kind = RQL_STORE_INTEGER;
	column->nullable = true;
	for (uint32_t e = 0; e < 2; e++)
		if (__builtin_mul_overflow(ends[0][e], slot->terms[0].coefficient, &ends[0][e]) ||
		    __builtin_add_overflow(ends[0][e], ends[1][e], &ends[0][e]))
			return refuse(f, "a sum may take more than 94 bits");
	return halve(f, column, out, ends[0][0], ends[0][1]);
}

static rql_status extreme_column(struct forming *f, const struct rql_agg *agg, const struct rql_slot *slot,
                                 struct rql_form_column *column)
{
	struct rql_bounds b;
	if (slot->values) {
		if (agg->source.kind != RQL_SOURCE_COLUMN)
			return refuse(f, "an extreme of a joined dimension");
		column->of.kind = RQL_STORE_CODED;
		column->of.dimension = f->request->snapshot->columns[agg->source.index].dimension;
		return RQL_OK;
	}
	RQL_TRY(bounds_of(f, &agg->source, &b));
	column->of.least = b.low;
	column->of.greatest = b.high;
	column->of.has_total = total_of(f, &agg->source, &b, &column->of.total);
	return RQL_OK;
}

/* DuckDB's own way to divide can be done with integers; one that begins with a DOUBLE of the sum is not known here. */
static rql_status average_column(struct forming *f, const struct rql_slot *slot, struct rql_group_output *out)
{
	if (!slot->real && slot->average != RQL_AVERAGE_OWN)
		return refuse(f, RQL_NO_AVERAGE);
	if (slot->scale > AVERAGE_DIGITS)
		return refuse(f, "an average of more than 18 decimal places");
	out->average = true;
	out->count = slot->count;
	out->scale = slot->scale;
	out->narrow = slot->narrow;
	return RQL_OK;
}

static rql_status agg_column(struct forming *f, const struct rql_slot *slot, struct rql_form_column *column,
                             struct rql_group_output *out)
{
	const bool average = slot->kind == RQL_SLOT_AVG;
	if (slot->kind == RQL_SLOT_COUNT && f->request->aggs[slot->count].kind == RQL_AGG_SUM) { /* over a join by ranges */
		out->index = slot->count;
		column->of.kind = RQL_STORE_INTEGER;
		return sum_column(f, &f->request->aggs[slot->count], column, out);
	}
	if (slot->kind == RQL_SLOT_COUNT) {
		count_column(f, slot, column, out);
		return RQL_OK;
	}
	if (slot->kind != RQL_SLOT_SUM && slot->kind != RQL_SLOT_VALUE && !average)
		return refuse(f, "an aggregate is made of several ones");
	if (is_of_halves(slot))
		return halves_column(f, slot, column, out);
	if (slot->term_count != 1 || slot->terms[0].coefficient != 1)
		return refuse(f, "a sum is made of several ones");
	const struct rql_agg *agg = &f->request->aggs[slot->terms[0].agg];
	out->index = slot->terms[0].agg;
	column->nullable = true; /* what no value was in */
	column->of.kind = slot->real || average ? RQL_STORE_REAL : RQL_STORE_INTEGER;
	if (average)
		return average_column(f, slot, out);
	if (slot->real)
		return RQL_OK;
	return slot->kind == RQL_SLOT_SUM ? sum_column(f, agg, column, out) : extreme_column(f, agg, slot, column);
}

/* ---- the whole ---- */

rql_status rql_join_groups_form(struct rql_arena *arena, const struct rql_slot *slots, uint32_t count,
                                struct rql_request *request, struct rql_error *err)
{
	struct forming f = {.arena = arena,
	                    .request = request,
	                    .columns = RQL_NEW_ARRAY(arena, struct rql_form_column, 2 * count + 1u),
	                    .outputs = RQL_NEW_ARRAY(arena, struct rql_group_output, 2 * count + 1u),
	                    .count = count,
	                    .err = err};
	if (!f.columns || !f.outputs)
		return rql_error_memory(f.err, 0, "a plan");
	for (uint32_t i = 0; i < count; i++) {
		f.columns[i].of = (struct rql_store_column){.name = "group", .type = slots[i].type};
		f.outputs[i].null_key = UINT64_MAX;
		RQL_TRY(slots[i].kind == RQL_SLOT_KEY || slots[i].kind == RQL_SLOT_KEY_HALVES
		            ? any_key(&f, &slots[i], i)
		            : agg_column(&f, &slots[i], &f.columns[i], &f.outputs[i]));
	}
	const struct rql_form_spec spec = {.rows = request->snapshot->rows,
	                                   .column_count = f.count,
	                                   .columns = f.columns,
	                                   .source_count = 1,
	                                   .sources = &request->snapshot};
	RQL_TRY(rql_form_new(&spec, &request->gives, err));
	request->wants = RQL_PORT_COLUMNS;
	request->group_output_count = f.count;
	request->group_outputs = f.outputs;
	return RQL_OK;
}

/* METHOD operators: a method is run, and its groups become columns as the slots say (shape.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "column/form.h"
#include "flow/rowset.h"

struct shaping {
	struct rql_arena *arena;
	const struct rql_leaf *leaf;
	const struct rql_port *answer;
	const struct rql_port *raw; /* before groups were put together; equal to answer without a hidden key */
	struct rql_hidden_groups hidden;
	struct rql_error *err;
};

/* ---- sums ---- */

static rql_status add_terms(struct shaping *s, const struct rql_slot *slot, rql_int128 *out)
{
	uint64_t n = s->answer->group_count;
	for (uint64_t g = 0; g < n; g++) {
		rql_int128 sum = 0, part;
		for (uint32_t t = 0; t < slot->term_count; t++)
			if (__builtin_mul_overflow(s->answer->aggs[slot->terms[t].agg].integer[g], slot->terms[t].coefficient,
			                           &part) ||
			    __builtin_add_overflow(sum, part, &sum))
				return rql_error_set(s->err, RQL_ERROR_UNSUPPORTED, "a derived sum leaves 128 bits");
		out[g] = sum;
	}
	return RQL_OK;
}

static rql_status integer_sum(struct shaping *s, const struct rql_slot *slot, const rql_int128 **out)
{
	if (slot->term_count == 1 && slot->terms[0].coefficient == 1) {
		*out = s->answer->aggs[slot->terms[0].agg].integer;
		return RQL_OK;
	}
	rql_int128 *sum = RQL_NEW_ARRAY(s->arena, rql_int128, s->answer->group_count);
	if (!sum)
		return rql_error_memory(s->err, 0, "an answer");
	*out = sum;
	return add_terms(s, slot, sum);
}

bool rql_integer_average(rql_int128 sum, rql_int128 count, unsigned scale, bool narrow, enum rql_average average,
                         double *out)
{
	long double power = 1;
	rql_int128 most = 1;
	for (unsigned i = 0; i < scale; i++)
		power *= 10;
	double own = narrow ? (double)sum / ((double)count * (double)power)
	                    : (double)((long double)sum / ((long double)count * power));
	*out = own;
	if (average == RQL_AVERAGE_OWN)
		return true;
	for (unsigned i = 0; i < 38; i++)
		most *= 10;
	if (sum <= -most || sum >= most)
		return false;
	*out = (scale ? rql_decimal_nearest(sum, scale) : rql_hugeint_to_double(sum)) / (double)count;
	return average == RQL_AVERAGE_OF_SUM || *out == own;
}

static rql_status average(struct shaping *s, const struct rql_slot *slot, struct rql_vector *v)
{
	const struct rql_agg_values *count = &s->answer->aggs[slot->count], *sum = &s->answer->aggs[slot->terms[0].agg];
	double *real = RQL_NEW_ARRAY(s->arena, double, s->answer->group_count);
	const rql_int128 *integer = NULL;
	if (!real)
		return rql_error_memory(s->err, 0, "an answer");
	if (!slot->real)
		RQL_TRY(integer_sum(s, slot, &integer));
	for (uint64_t g = 0; g < s->answer->group_count; g++) {
		if (!rql_bit_valid(sum->valid, g) || !count->integer[g])
			continue;
		if (slot->real)
			real[g] = sum->real[g] / (double)count->integer[g];
		else if (!rql_integer_average(integer[g], count->integer[g], slot->scale, slot->narrow, slot->average, &real[g]))
			return rql_error_set(s->err, RQL_ERROR_UNSUPPORTED, RQL_NO_AVERAGE);
	}
	v->kind = RQL_VECTOR_REAL;
	v->real = real;
	v->valid = sum->valid;
	return RQL_OK;
}

/* ---- aggregates of the hidden key ---- */

/* What one group's values of the hidden key add up to. */
struct key_totals {
	rql_int128 sum, rows;
	uint64_t distinct;
	uint32_t least, greatest; /* entries of the slot's values; meaningful when distinct > 0 */
};

/* seen[entry] == g + 1: the entry was met in this group already. */
static rql_status total_keys(struct shaping *s, const struct rql_slot *slot, uint64_t g, uint64_t *seen,
                             struct key_totals *out)
{
	const rql_int128 *weights = s->raw->aggs[slot->count].integer;
	bool sums = slot->kind == RQL_SLOT_KEY_SUM || slot->kind == RQL_SLOT_KEY_AVG;
	*out = (struct key_totals){0};
	for (uint64_t i = s->hidden.first[g]; i < s->hidden.first[g + 1]; i++) {
		uint32_t row = s->hidden.row[i], code = s->hidden.codes[row];
		uint32_t entry = slot->key_of_code ? slot->key_of_code[code] : code;
		rql_int128 product;
		if (!rql_column_valid(slot->values, entry))
			continue;
		if (!out->distinct || entry < out->least)
			out->least = entry;
		if (!out->distinct || entry > out->greatest)
			out->greatest = entry;
		out->distinct += seen[entry] != g + 1;
		seen[entry] = g + 1;
		out->rows += weights[row];
		if (sums && (__builtin_mul_overflow(rql_column_get(slot->values, entry).integer, weights[row], &product) ||
		             __builtin_add_overflow(out->sum, product, &out->sum)))
			return rql_error_set(s->err, RQL_ERROR_UNSUPPORTED, "a sum over a dimension leaves 128 bits");
	}
	return RQL_OK;
}

/* Without a map each code of the hidden key stands once in a group, so that the values need no second look. */
static rql_status count_codes(struct shaping *s, const struct rql_slot *slot, struct rql_vector *v)
{
	uint64_t n = s->answer->group_count;
	rql_int128 *counts = RQL_NEW_ARRAY(s->arena, rql_int128, n);
	uint32_t null_code = slot->values ? UINT32_MAX : slot->null_key;
	const uint32_t *group = s->hidden.group, *codes = s->hidden.codes;
	bool nulls = slot->values && slot->values->validity;
	if (!counts)
		return rql_error_memory(s->err, 0, "an answer");
	if (slot->wide)
		for (uint64_t i = 0; i < s->raw->group_count; i++)
			counts[group[i]] += s->hidden.wide[i] != slot->null_wide;
	else if (n == 1 && !nulls && null_code == UINT32_MAX)
		counts[0] = s->raw->group_count;
	else
		for (uint64_t i = 0; i < s->raw->group_count; i++)
			counts[group[i]] += codes[i] != null_code && !(nulls && !rql_column_valid(slot->values, codes[i]));
	v->kind = RQL_VECTOR_INTEGER;
	v->integer = counts;
	return RQL_OK;
}

/* A column of one value for each group, all NULL to begin with. */
static rql_status group_column(struct shaping *s, struct rql_type type, struct rql_vector *v, struct rql_column **out)
{
	struct rql_column *column = RQL_NEW(s->arena, struct rql_column);
	uint64_t n = s->answer->group_count;
	if (!column || !(column->data = rql_arena_array(s->arena, n, rql_type_bytes(type))) ||
	    !(column->validity = RQL_NEW_ARRAY(s->arena, uint64_t, (n + 63) / 64)))
		return rql_error_memory(s->err, 0, "an answer");
	column->type = type;
	v->kind = RQL_VECTOR_COLUMN;
	v->values = *out = column;
	return RQL_OK;
}

static void put_value(struct rql_column *column, uint64_t row, const struct rql_value *value)
{
	if (value->is_null)
		return;
	rql_column_put(column, row, value);
	rql_bit_set(column->validity, row);
}

static rql_status shape_of_key(struct shaping *s, const struct rql_slot *slot, struct rql_vector *v)
{
	if (slot->kind == RQL_SLOT_KEY_DISTINCT && !slot->key_of_code)
		return count_codes(s, slot, v);
	uint64_t n = s->answer->group_count, *seen = RQL_NEW_ARRAY(s->arena, uint64_t, slot->key_count);
	struct rql_column *column = NULL;
	if (!seen)
		return rql_error_memory(s->err, 0, "an answer");
	RQL_TRY(group_column(s, slot->type, v, &column));
	for (uint64_t g = 0; g < n; g++) {
		struct key_totals t;
		RQL_TRY(total_keys(s, slot, g, seen, &t));
		struct rql_value value = {.type = slot->type};
		if (slot->kind == RQL_SLOT_KEY_DISTINCT)
			value.integer = t.distinct;
		else if (slot->kind == RQL_SLOT_KEY_COUNT)
			value.integer = t.rows;
		else if (!t.distinct)
			value = rql_value_null(slot->type);
		else if (slot->kind == RQL_SLOT_KEY_SUM)
			value.integer = t.sum;
		else if (slot->kind != RQL_SLOT_KEY_AVG)
			value = rql_column_get(slot->values, slot->kind == RQL_SLOT_KEY_LEAST ? t.least : t.greatest);
		else if (!rql_integer_average(t.sum, t.rows, slot->scale, slot->narrow, slot->average, &value.real))
			return rql_error_set(s->err, RQL_ERROR_UNSUPPORTED, RQL_NO_AVERAGE);
		put_value(column, g, &value);
	}
	return RQL_OK;
}

/* ---- slots to vectors ---- */

/* The least or greatest value, as a code that is never looked at where there was none. */
static rql_status code_values(struct shaping *s, const struct rql_slot *slot, struct rql_vector *v)
{
	const struct rql_agg_values *a = &s->answer->aggs[slot->terms[0].agg];
	struct rql_column *column = NULL;
	RQL_TRY(group_column(s, slot->type, v, &column));
	for (uint64_t g = 0; g < s->answer->group_count; g++) {
		if (!rql_bit_valid(a->valid, g))
			continue;
		struct rql_value value = rql_column_get(slot->values, (uint64_t)a->integer[g]);
		put_value(column, g, &value);
	}
	return RQL_OK;
}

static rql_status reals_of_key(struct shaping *s, const struct rql_slot *slot, struct rql_vector *v)
{
	const uint64_t n = s->answer->group_count;
	const uint32_t *codes = s->answer->keys[slot->key];
	const uint64_t *wide = slot->wide ? s->answer->wide_keys[slot->key] : NULL;
	const uint64_t null = rql_slot_null_code(slot);
	double *real = RQL_NEW_ARRAY(s->arena, double, n);
	uint64_t *valid = RQL_NEW_ARRAY(s->arena, uint64_t, n / 64 + 1);
	if (!real || !valid)
		return rql_error_memory(s->err, 0, "an answer");
	for (uint64_t g = 0; g < n; g++) {
		const uint64_t code = wide ? wide[g] : codes[g];
		real[g] = code == null ? 0 : rql_real_of_code((uint64_t)slot->least + code);
		rql_bit_or(valid, g, code != null);
	}
	v->kind = RQL_VECTOR_REAL;
	v->real = real;
	v->valid = valid;
	return RQL_OK;
}

static uint64_t code_of(const struct rql_port *answer, const struct rql_slot *key, uint64_t group)
{
	return key->wide ? answer->wide_keys[key->key][group] : answer->keys[key->key][group];
}

static rql_status join_halves(struct shaping *s, const struct rql_slot *slot, struct rql_vector *v)
{
	const uint64_t n = s->answer->group_count;
	const struct rql_slot *upper = &slot->halves[0], *lower = &slot->halves[1];
	rql_int128 *integer = RQL_NEW_ARRAY(s->arena, rql_int128, n + 1);
	uint64_t *valid = RQL_NEW_ARRAY(s->arena, uint64_t, n / 64 + 1);
	if (!integer || !valid)
		return rql_error_memory(s->err, 0, "an answer");
	for (uint64_t g = 0; g < n; g++) {
		const uint64_t code = code_of(s->answer, upper, g);
		if (code == rql_slot_null_code(upper))
			continue;
		integer[g] = ((rql_int128)upper->least + (rql_int128)code) * ((rql_int128)1 << RQL_FORM_LOW_BITS) +
		             lower->least + (rql_int128)code_of(s->answer, lower, g);
		rql_bit_set(valid, g);
	}
	v->kind = RQL_VECTOR_INTEGER;
	v->integer = integer;
	v->valid = valid;
	return RQL_OK;
}

static rql_status shape(struct shaping *s, const struct rql_slot *slot, struct rql_vector *v)
{
	*v = (struct rql_vector){.type = slot->type};
	const struct rql_agg_values *a = slot->term_count ? &s->answer->aggs[slot->terms[0].agg] : NULL;
	switch (slot->kind) {
	case RQL_SLOT_KEY:
		if (slot->of_real)
			return reals_of_key(s, slot, v);
		v->kind = slot->wide ? RQL_VECTOR_WIDE : RQL_VECTOR_CODES;
		v->wide = slot->wide ? s->answer->wide_keys[slot->key] : NULL;
		v->null_wide = slot->null_wide;
		v->codes = s->answer->keys[slot->key];
		v->values = slot->values;
		v->least = slot->least;
		v->null_code = slot->null_key;
		v->ordered = slot->ordered;
		v->rank = slot->ordered ? slot->key + 1 : 0;
		return RQL_OK;
	case RQL_SLOT_KEY_HALVES:
		return join_halves(s, slot, v);
	case RQL_SLOT_COUNT:
		v->kind = RQL_VECTOR_INTEGER;
		v->integer = s->answer->aggs[slot->count].integer;
		return RQL_OK;
	case RQL_SLOT_AVG:
		return average(s, slot, v);
	case RQL_SLOT_VALUE:
		if (slot->values)
			return code_values(s, slot, v);
		break;
	case RQL_SLOT_SUM:
		break;
	default:
		return shape_of_key(s, slot, v);
	}
	v->valid = a->valid;
	v->kind = slot->real ? RQL_VECTOR_REAL : RQL_VECTOR_INTEGER;
	v->real = a->real;
	return slot->real ? RQL_OK : integer_sum(s, slot, &v->integer);
}

/* Passes of one name, as partitions and layers have them, are one line. */
static void count_pass(const struct rql_leaf *leaf, const struct rql_pass_time *pass, struct rql_run_profile *profile)
{
	uint32_t at = 0;
	while (at < profile->pass_count && (profile->pass_of[at] != leaf || strcmp(profile->pass[at].pass, pass->pass) != 0))
		at++;
	if (at == RQL_PASSES_MAX)
		return;
	if (at == profile->pass_count) {
		profile->pass_of[at] = leaf;
		profile->pass[at] = (struct rql_pass_time){.pass = pass->pass};
		profile->pass_times[at] = 0;
		profile->pass_count++;
	}
	profile->pass[at].ns += pass->ns;
	profile->pass_times[at]++;
}

static void count_run(const struct rql_leaf *leaf, const struct rql_port *answer, struct rql_run_stats *stats,
                      struct rql_run_profile *profile)
{
	stats->cells_read += answer->cells_read;
	stats->cells_covered += answer->cells_covered;
	stats->bytes_read += answer->bytes_read;
	stats->bytes_uploaded += answer->bytes_uploaded;
	stats->runs += answer->runs;
	stats->groups += answer->group_count;
	stats->rays += answer->rays + answer->selected.rays;
	stats->hits += answer->hits + answer->selected.hits;
	rql_selected_add(&stats->selected, &answer->selected);
	stats->device_ns += answer->device_ns;
	rql_drawn_add(&stats->drawn, &answer->drawn);
	for (uint32_t i = 0; profile && i < answer->pass_count; i++)
		count_pass(leaf, &answer->passes[i], profile);
}

rql_status rql_rowset_open(struct rql_rowset *set, struct rql_error *err)
{
	struct rql_batch *batch = set->batch;
	if (!batch || set->vectors)
		return RQL_OK;
	struct rql_vector *vectors = RQL_NEW_ARRAY(set->arena, struct rql_vector, batch->column_count);
	if (!vectors)
		return rql_error_memory(err, batch->column_count * sizeof(*vectors), "an answer");
	if (batch->rows >= RQL_NO_ROW)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "an operator over 2^32 rows or more");
	for (uint32_t c = 0; c < batch->column_count; c++)
		vectors[c] = (struct rql_vector){
			.kind = RQL_VECTOR_COLUMN, .type = batch->columns[c].type, .values = &batch->columns[c]};
	set->vector_count = batch->column_count;
	set->vectors = vectors;
	return RQL_OK;
}

static rql_status shape_groups(struct rql_running *r, const struct rql_leaf *leaf, const struct rql_port *answer,
                               struct rql_rowset *out)
{
	if (answer->group_count > UINT32_MAX)
		return rql_error_set(r->err, RQL_ERROR_UNSUPPORTED, "an answer of more than 2^32 groups");
	struct rql_port all = *answer, alike = *answer;
	if (!answer->keyed.list_count) /* else they are payloads, each with a number */
		RQL_TRY(rql_answer_put_together(leaf, r->arena, &all, &alike, r->err));
	struct rql_port visible = all;
	struct shaping s = {.arena = r->arena, .leaf = leaf, .answer = &visible, .raw = &all, .err = r->err};
	if (leaf->hidden_key)
		RQL_TRY(rql_answer_collapse(leaf, r->arena, &all, &alike, &visible, &s.hidden, r->err));
	*out = (struct rql_rowset){.arena = r->arena,
	                           .capacity = visible.group_count,
	                           .rows = visible.group_count,
	                           .vector_count = leaf->slot_count,
	                           .sorted_keys = visible.sorted_keys,
	                           .keyed = answer->keyed};
	out->vectors = RQL_NEW_ARRAY(r->arena, struct rql_vector, leaf->slot_count);
	if (!out->vectors)
		return rql_error_memory(s.err, 0, "an answer");
	for (uint32_t i = 0; i < leaf->slot_count; i++)
		RQL_TRY(shape(&s, &leaf->slots[i], &out->vectors[i]));
	return RQL_OK;
}

rql_status rql_leaf_run(struct rql_running *r, const struct rql_leaf *leaf, struct rql_rowset *out)
{
	struct rql_port port = {0};
	const struct rql_run how = {.flags = r->profile ? RQL_RUN_TIMED : 0,
	                            .arena = r->arena,
	                            .progress = r->flow->progress,
	                            .ahead = rql_leaf_ahead(r, leaf),
	                            .points = r->flow->points};
	RQL_TRY(leaf->method->run(leaf->prepared, leaf->device, &how, &port, r->err));
	count_run(leaf, &port, &r->stats, r->profile);
	return port.kind == RQL_PORT_BATCH ? rql_rowset_take(r, port.batch, out) : shape_groups(r, leaf, &port, out);
}

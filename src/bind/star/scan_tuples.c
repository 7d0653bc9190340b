/* Values of several columns that a row has together, or may be dropped (request.tuples): an index of these columns finds
 * rows by all of them. They are those that several IN test (rql_side_list), or a join by one or two columns and what else
 * must equal a column of its other side. */
#include <string.h>

#include "bind/star/scan_bind.h"
#include "column/text/dict.h"

#define TUPLES_MOST 4096u /* more keys no index looks up (plan/price/price_rows.h) */

static bool may_be_part(const struct rql_store_column *stored)
{
	return stored->kind != RQL_STORE_REAL && !stored->wide;
}

/* The column's code or integer; false: no row has the value. */
static bool stored_value(const struct rql_store_column *column, const struct rql_value *value, int64_t *out)
{
	if (value->is_null)
		return false;
	if (column->kind == RQL_STORE_CODED) {
		const uint32_t code = rql_dimension_find_value(column->dimension, value);
		*out = code;
		return code != RQL_DICT_NO_CODE;
	}
	*out = (int64_t)value->integer;
	return column->least <= value->integer && value->integer <= column->greatest;
}

static rql_status new_values(struct rql_scan_binding *b, uint32_t count, int64_t *values[RQL_INDEX_COLUMNS_MOST],
                             struct rql_value_tuples *out)
{
	out->count = 0;
	for (uint32_t part = 0; part < out->parts; part++)
		if (!(out->values[part] = values[part] = RQL_NEW_ARRAY(b->arena, int64_t, count + 1u)))
			return rql_error_memory(b->err, 0, "a plan");
	return RQL_OK;
}

/* ---- of several IN ---- */

/* The part's column among those of its tuples; the values follow when all parts are known. */
void rql_scan_note_part(struct rql_scan_binding *b, const struct rql_expr *e, uint32_t column)
{
	uint32_t at = 0;
	if (!e->tuples || e->kind != RQL_EXPR_IN || e->children[0]->kind != RQL_EXPR_COLUMN ||
	    !may_be_part(&b->snapshot->columns[column]))
		return;
	while (at < b->tuple_count && b->tuples_of[at] != e->tuples)
		at++;
	if (at == b->tuple_count)
		b->tuples_of[b->tuple_count++] = e->tuples;
	b->tuples[at].columns[e->part] = column;
	b->tuples[at].parts++;
}

static rql_status make_listed(struct rql_scan_binding *b, const struct rql_expr_tuples *from, struct rql_value_tuples *out)
{
	int64_t *values[RQL_INDEX_COLUMNS_MOST];
	RQL_TRY(new_values(b, from->count, values, out));
	for (uint32_t i = 0; i < from->count; i++) {
		bool there = true;
		for (uint32_t part = 0; part < from->parts && there; part++)
			there = stored_value(&b->snapshot->columns[out->columns[part]], &from->values[part][i], &values[part][out->count]);
		out->count += there;
	}
	return RQL_OK;
}

/* ---- of a join ---- */

/* What a column of the fact table must equal. */
struct equal {
	uint32_t column, output; /* of the subtree */
};

/* `column = REF of the subtree`, in any order, of columns of their own. */
static bool is_equal(const struct rql_scan_binding *b, const struct rql_expr *e, uint32_t subtree, struct equal *out)
{
	if (e->kind != RQL_EXPR_COMPARE || strcmp(e->name, "=") != 0)
		return false;
	const uint32_t side = e->children[0]->kind == RQL_EXPR_COLUMN ? 0 : 1;
	const struct rql_expr *column = e->children[side], *ref = e->children[!side];
	if (column->kind != RQL_EXPR_COLUMN || ref->kind != RQL_EXPR_REF || !rql_type_equal(column->type, ref->type) ||
	    RQL_STAR_REF_SUBTREE(ref->index) != subtree)
		return false;
	*out = (struct equal){rql_scan_find_column(b->snapshot, b->column_ids, column), RQL_STAR_REF_OUTPUT(ref->index)};
	return out->column != RQL_NONE && may_be_part(&b->snapshot->columns[out->column]);
}

static bool has_column(const struct rql_value_tuples *tuples, uint32_t column)
{
	bool some = false;
	for (uint32_t part = 0; part < tuples->parts; part++)
		some |= tuples->columns[part] == column;
	return some;
}

/* The equal columns, as parts behind the join's own ones. */
static void find_equals(const struct rql_scan_binding *b, uint32_t subtree, struct rql_value_tuples *out,
                        uint32_t outputs[RQL_INDEX_COLUMNS_MOST])
{
	struct equal equal;
	for (uint32_t i = 0; i < b->star->conjuncts.count && out->parts < RQL_INDEX_COLUMNS_MOST; i++)
		if (is_equal(b, b->star->conjuncts.items[i], subtree, &equal) && !has_column(out, equal.column)) {
			outputs[out->parts] = equal.output;
			out->columns[out->parts++] = equal.column;
		}
}

static rql_status make_joined(struct rql_scan_binding *b, const struct rql_lookup *lookup, const struct rql_scan_dim *dim,
                              const uint32_t *outputs, struct rql_value_tuples *out)
{
	int64_t *values[RQL_INDEX_COLUMNS_MOST], *keys = RQL_NEW_ARRAY(b->arena, int64_t, TUPLES_MOST + 1u);
	if (!keys)
		return rql_error_memory(b->err, 0, "a plan");
	const uint64_t count = rql_map_keys(lookup->map, TUPLES_MOST, keys);
	RQL_TRY(new_values(b, (uint32_t)count, values, out));
	for (uint64_t i = 0; i < count; i++) {
		const uint32_t at = out->count, payload = (uint32_t)rql_map_find(lookup->map, keys[i]);
		bool there = true;
		values[0][at] = keys[i];
		if (lookup->second)
			rql_pair_split(&lookup->pair, keys[i], &values[0][at], &values[1][at]);
		for (uint32_t part = lookup->second ? 2 : 1; part < out->parts && there; part++) {
			const struct rql_value value = rql_column_get(&dim->values[outputs[part]], payload);
			there = stored_value(&b->snapshot->columns[out->columns[part]], &value, &values[part][at]);
		}
		out->count += there;
	}
	return RQL_OK;
}

rql_status rql_scan_join_tuples(struct rql_scan_binding *b, const struct rql_lookup *lookups)
{
	for (uint32_t s = 0; s < b->star->subtree_count; s++) {
		const struct rql_lookup *lookup = &lookups[s];
		uint32_t outputs[RQL_INDEX_COLUMNS_MOST];
		struct rql_value_tuples made = {
			.parts = lookup->second ? 2 : 1, .of_lookup = true, .columns = {lookup->column}};
		if (lookup->second)
			made.columns[1] = lookup->second - 1;
		const uint32_t own = made.parts;
		if (lookup->kind != RQL_LOOKUP_INNER || rql_map_entries(lookup->map) > TUPLES_MOST)
			continue;
		find_equals(b, s, &made, outputs);
		if (made.parts == own)
			continue;
		RQL_TRY(make_joined(b, lookup, &b->dims[s], outputs, &made));
		b->tuples[b->tuple_count++] = made;
	}
	return RQL_OK;
}

/* ---- the whole ---- */

/* Only of tuples whose parts are all here it is known what they say. */
rql_status rql_scan_finish_tuples(struct rql_scan_binding *b)
{
	uint32_t whole = 0;
	for (uint32_t i = 0; i < b->tuple_count; i++) {
		if (b->tuples[i].parts != b->tuples_of[i]->parts)
			continue;
		b->tuples[whole] = b->tuples[i];
		RQL_TRY(make_listed(b, b->tuples_of[i], &b->tuples[whole++]));
	}
	b->tuple_count = whole;
	return RQL_OK;
}

/* Group keys of a scan. A coded column groups by its codes, an integer by its distance from the least one, and all keys
 * of one dimension subtree are one key: the number of their combination (a foreign key determines them all). */
#include <string.h>
#include "bind/relation/bind.h"
#include "bind/relation/codes.h"
#include "bind/star/distinct.h"
#include "bind/star/scan_bind.h"
#include "util/sort.h"

#define MAX_KEYS (UINT32_MAX - 2)
#define SORTED_KEYS 65536u /* so many values of a dimension are sorted, so that groups come out in their order */

static struct rql_group_key *add_key(struct rql_scan_binding *b, struct rql_slot *slot)
{
	slot->kind = RQL_SLOT_KEY;
	slot->key = b->group_count;
	struct rql_group_key *key = &b->groups[b->group_count++];
	*key = (struct rql_group_key){.null_key = RQL_NONE};
	return key;
}

/* ---- of the fact table ---- */

static rql_status coded_key(struct rql_scan_binding *b, uint32_t column, struct rql_slot *slot)
{
	const struct rql_dimension *d = b->snapshot->columns[column].dimension;
	struct rql_group_key *key = add_key(b, slot);
	key->source = (struct rql_source){.kind = RQL_SOURCE_COLUMN, .index = column};
	key->key_count = d->count ? d->count : 1;
	slot->values = &d->values;
	slot->ordered = true;
	return RQL_OK;
}

/* An expression of one coded column. Where the column itself is a key too, it follows from that one. */
static rql_status coded_expression_key(struct rql_scan_binding *b, const struct rql_expr *e, uint32_t column,
                                       struct rql_slot *slot)
{
	const struct rql_dimension *d = b->snapshot->columns[column].dimension;
	struct rql_expr *over_ref = rql_scan_over_ref(b->arena, e);
	struct rql_group_key mapped = {0};
	if (!over_ref)
		return rql_error_memory(b->err, 0, "a plan");
	for (uint32_t k = 0; k < b->group_count; k++) {
		const struct rql_group_key *other = &b->groups[k];
		if (other->source.kind != RQL_SOURCE_COLUMN || other->source.index != column || other->key_of_code)
			continue;
		struct rql_column *all = RQL_NEW(b->arena, struct rql_column);
		if (!all)
			return rql_error_memory(b->err, 0, "a plan");
		RQL_TRY(rql_codes_evaluate(b->ctx, b->arena, d, over_ref, all, b->err));
		slot->kind = RQL_SLOT_KEY;
		slot->key = k;
		slot->values = all;
		return RQL_OK;
	}
	RQL_TRY(rql_bind_dimension_group(b->ctx, b->arena, d, over_ref, &mapped, &slot->values, b->err));
	struct rql_group_key *key = add_key(b, slot);
	key->source = (struct rql_source){.kind = RQL_SOURCE_COLUMN, .index = column};
	key->key_of_code = mapped.key_of_code;
	key->key_count = mapped.key_count ? mapped.key_count : 1;
	slot->ordered = true;
	return RQL_OK;
}

/* The slot's codes are the key's. */
static void codes_slot(const struct rql_group_key *key, struct rql_slot *slot)
{
	slot->null_key = key->null_key;
	slot->wide = key->wide_count != 0;
	slot->null_wide = key->null_key == RQL_NONE ? UINT64_MAX : key->wide_count - 1;
	slot->of_real = key->real;
	slot->ordered = true;
}

/* So many codes, of which the last one is NULL's if there may be one. */
static void count_codes(uint64_t codes, bool nullable, struct rql_group_key *key, struct rql_slot *slot)
{
	if (codes > MAX_KEYS) {
		key->wide_count = codes;
		key->null_key = nullable ? 0 : RQL_NONE;
	} else {
		key->key_count = (uint32_t)codes;
		key->null_key = nullable ? key->key_count - 1 : RQL_NONE;
	}
	slot->least = key->least;
	codes_slot(key, slot);
}

/* Values least..greatest, and NULL behind them. */
static rql_status range_key(struct rql_scan_binding *b, const struct rql_expr *e, rql_int128 least, rql_int128 greatest,
                            bool nullable, struct rql_group_key *key, struct rql_slot *slot)
{
	rql_uint128 span = (rql_uint128)greatest - (rql_uint128)least + 1 + nullable;
	if (least < INT64_MIN || greatest > INT64_MAX || span >= UINT64_MAX)
		return rql_expr_refuse(b->err, "group key ", e, " has values in a range of 2^64");
	key->least = (int64_t)least;
	count_codes((uint64_t)span, nullable, key, slot);
	return RQL_OK;
}

/* Reals of these codes, all that are equal to one of them, and NULL. There are fewer than 2^64. */
static void reals_key(uint64_t least, uint64_t greatest, bool nullable, struct rql_group_key *key, struct rql_slot *slot)
{
	least -= least && rql_real_code_same(least - 1) == least; /* -0.0 */
	greatest = greatest == RQL_REAL_CODE_NAN ? greatest + 1 : greatest;
	key->real = true;
	key->least = (int64_t)least;
	count_codes(greatest - least + 1 + nullable, nullable, key, slot);
}

static void real_column_key(struct rql_scan_binding *b, uint32_t column, struct rql_slot *slot)
{
	const struct rql_store_column *stored = &b->snapshot->columns[column];
	struct rql_group_key *key = add_key(b, slot);
	key->source = (struct rql_source){.kind = RQL_SOURCE_COLUMN, .index = column};
	const uint64_t least = rql_real_code_same(rql_real_code(stored->real_least));
	reals_key(least, rql_real_code_same(rql_real_code(stored->real_greatest)), stored->nulls > 0, key, slot);
}

static rql_status integer_key(struct rql_scan_binding *b, const struct rql_expr *e, uint32_t column,
                              struct rql_slot *slot)
{
	const struct rql_store_column *stored = &b->snapshot->columns[column];
	struct rql_group_key *key = add_key(b, slot);
	key->source = (struct rql_source){.kind = RQL_SOURCE_COLUMN, .index = column};
	return range_key(b, e, stored->least, stored->greatest, stored->nulls > 0, key, slot);
}

/* Two keys, the upper half's before the lower one's: groups are those of the numbers that they are together. */
static rql_status halves_key(struct rql_scan_binding *b, const struct rql_expr *e, uint32_t upper,
                             struct rql_slot *slot)
{
	struct rql_slot *halves = RQL_NEW_ARRAY(b->arena, struct rql_slot, 2);
	if (!halves)
		return rql_error_memory(b->err, 0, "a plan");
	for (uint32_t h = 0; h < 2; h++) {
		const uint32_t column = h ? b->snapshot->columns[upper].low - 1 : upper;
		halves[h] = (struct rql_slot){.type = b->snapshot->columns[column].type, .null_key = RQL_NONE};
		RQL_TRY(integer_key(b, e, column, &halves[h]));
	}
	slot->kind = RQL_SLOT_KEY_HALVES;
	slot->key = halves[0].key;
	slot->halves = halves;
	return RQL_OK;
}

/* e is column + *offset, and neither it nor a part of it leaves its type over the column's values. */
static bool is_shifted(const struct rql_expr *e, const struct rql_store_column *stored, rql_int128 *offset)
{
	struct rql_bounds of_type;
	bool minus = e->kind == RQL_EXPR_FUNCTION && strcmp(e->name, "-") == 0;
	if (e->kind == RQL_EXPR_COLUMN) {
		*offset = 0;
	} else if (e->kind == RQL_EXPR_CAST && rql_type_is_integer(e->type) && rql_type_is_integer(e->children[0]->type)) {
		if (!is_shifted(e->children[0], stored, offset))
			return false;
	} else if ((minus || (e->kind == RQL_EXPR_FUNCTION && strcmp(e->name, "+") == 0)) && e->child_count == 2 &&
	           rql_type_is_integer(e->type) && e->children[1]->kind == RQL_EXPR_CONSTANT &&
	           rql_type_is_integer(e->children[1]->type) && !e->children[1]->value.is_null) {
		rql_int128 by = e->children[1]->value.integer;
		if (by > INT64_MAX || by < INT64_MIN || !is_shifted(e->children[0], stored, offset))
			return false;
		*offset += minus ? -by : by;
	} else {
		return false;
	}
	return rql_bounds_of_type(e->type, &of_type) && stored->least + *offset >= of_type.low &&
	       stored->greatest + *offset <= of_type.high;
}

/* Codes are distances from the least value, so that a shift moves only that one. Where the column is a key too, this one
 * follows from it. */
static rql_status shifted_key(struct rql_scan_binding *b, const struct rql_expr *e, uint32_t column, rql_int128 offset,
                              struct rql_slot *slot)
{
	const struct rql_store_column *stored = &b->snapshot->columns[column];
	uint32_t k = 0;
	while (k < b->group_count && (b->groups[k].source.kind != RQL_SOURCE_COLUMN || b->groups[k].source.index != column))
		k++;
	if (k == b->group_count)
		RQL_TRY(integer_key(b, e, column, slot));
	const struct rql_group_key *key = &b->groups[k];
	rql_int128 least = key->least + offset;
	if (least < INT64_MIN || stored->greatest + offset > INT64_MAX)
		return rql_expr_refuse(b->err, "group key ", e, " has values of more than 64 bits");
	slot->kind = RQL_SLOT_KEY;
	slot->key = k;
	slot->least = (int64_t)least;
	codes_slot(key, slot);
	return RQL_OK;
}

/* A folded constant: one group, whose value is the constant. */
static rql_status constant_key(struct rql_scan_binding *b, const struct rql_expr *e, struct rql_slot *slot)
{
	struct rql_expr *zero = rql_expr_new(b->arena, RQL_EXPR_CONSTANT, rql_type_simple(RQL_TYPE_INTEGER), 0);
	struct rql_column *value = RQL_NEW(b->arena, struct rql_column);
	unsigned bytes = rql_type_bytes(e->type);
	if (!bytes || e->type.id == RQL_TYPE_INTERVAL)
		return rql_scan_refuse_type(b, "group key ", e);
	if (!zero || !value)
		return rql_error_memory(b->err, 0, "a plan");
	zero->value = (struct rql_value){.type = zero->type};
	*value = (struct rql_column){
		.type = e->type, .data = rql_arena_array(b->arena, 2, bytes), .validity = RQL_NEW_ARRAY(b->arena, uint64_t, 1)};
	if (!value->data || !value->validity)
		return rql_error_memory(b->err, 0, "a plan");
	value->validity[0] = !e->value.is_null;
	if (!e->value.is_null)
		rql_column_put(value, 0, &e->value);
	struct rql_group_key *key = add_key(b, slot);
	key->key_count = 2; /* the program's other results may be NULL, so that this one has to have a key for it */
	key->null_key = 1;
	slot->values = value;
	slot->ordered = true;
	return rql_scan_add_answer(b, zero, &key->source);
}

/* A CASE over texts. */
static rql_status texts_key(struct rql_scan_binding *b, const struct rql_expr *e, struct rql_slot *slot)
{
	struct rql_error why = {0}, *err = b->err;
	struct rql_scan_texts texts;
	b->err = &why;
	rql_status status = rql_scan_bind_texts(b, e, &texts);
	b->err = err;
	if (status == RQL_ERROR_UNSUPPORTED || (status == RQL_OK && texts.count > MAX_KEYS - 1)) {
		const char *which = status == RQL_OK ? "too many texts" : rql_error_message(&why);
		const char *reason = rql_arena_printf(b->arena, " is one of %s", which);
		rql_error_clear(&why);
		return reason ? rql_expr_refuse(b->err, "group key ", e, reason) : rql_error_memory(b->err, 0, "a plan");
	}
	if (status != RQL_OK) {
		rql_error_move(err, &why);
		return status;
	}
	struct rql_group_key *key = add_key(b, slot);
	key->key_count = texts.count + 1;
	key->null_key = texts.count;
	slot->values = texts.values;
	return rql_scan_add_answer(b, texts.number, &key->source);
}

static rql_status program_key(struct rql_scan_binding *b, const struct rql_expr *e, struct rql_slot *slot)
{
	if (rql_scan_has_texts(e))
		return texts_key(b, e, slot);
	const bool real = rql_type_is_real(e->type);
	if (!real && (!rql_type_is_integral(e->type) || e->type.id == RQL_TYPE_UHUGEINT || e->type.id == RQL_TYPE_ENUM))
		return rql_expr_refuse(b->err, "group key ", e, " is no integer and no expression of one coded column");
	struct rql_group_key *key = add_key(b, slot);
	key->real = real;
	return rql_scan_add_answer(b, e, &key->source);
}

/* ---- days ---- */
#define DAY_MICROS INT64_C(86400000000)
#define DAYS_MOST (INT64_C(1) << 20)
#define TIMESTAMP_DAYS 106751000 /* TIMESTAMP holds some more on both sides */

/* A TIMESTAMP that is always the beginning of a day, of few days: of DATE_TRUNC, or of a DATE. Its groups are the days',
 * thousands rather than a range of microseconds. */
static bool is_day(const struct rql_expr *e, const struct rql_expr *only, const struct rql_store_column *stored)
{
	bool truncated = e->kind == RQL_EXPR_FUNCTION && e->child_count == 2 && e->children[1] == only &&
	                 (strcmp(e->name, "date_trunc") == 0 || strcmp(e->name, "datetrunc") == 0);
	bool cast = e->kind == RQL_EXPR_CAST && e->child_count == 1 && e->children[0] == only && !e->try_cast;
	rql_int128 unit = stored->type.id == RQL_TYPE_TIMESTAMP ? DAY_MICROS : 1;
	if (e->type.id != RQL_TYPE_TIMESTAMP || !(truncated || (cast && unit == 1)) ||
	    (stored->type.id != RQL_TYPE_DATE && stored->type.id != RQL_TYPE_TIMESTAMP))
		return false;
	return stored->kind == RQL_STORE_INTEGER && stored->least > -TIMESTAMP_DAYS * unit &&
	       stored->greatest < TIMESTAMP_DAYS * unit && (stored->greatest - stored->least) / unit < DAYS_MOST;
}

static rql_status day_key(struct rql_scan_binding *b, const struct rql_expr *e, struct rql_slot *slot)
{
	struct rql_expr *day = rql_expr_new(b->arena, RQL_EXPR_CAST, rql_type_simple(RQL_TYPE_DATE), 1);
	if (!day)
		return rql_error_memory(b->err, 0, "a plan");
	day->children[0] = (struct rql_expr *)(uintptr_t)e; /* read only */
	return rql_scan_add_answer(b, day, &add_key(b, slot)->source);
}

/* The TIMESTAMPs that the codes of such a key stand for. */
static rql_status day_values(struct rql_scan_binding *b, const struct rql_group_key *key, struct rql_slot *slot)
{
	struct rql_column *values = RQL_NEW(b->arena, struct rql_column);
	int64_t *micros = RQL_NEW_ARRAY(b->arena, int64_t, key->key_count);
	uint64_t *validity = RQL_NEW_ARRAY(b->arena, uint64_t, key->key_count / 64 + 1u);
	if (!values || !micros || !validity)
		return rql_error_memory(b->err, 0, "a plan");
	for (uint32_t code = 0; code < key->key_count; code++) {
		bool null = code == key->null_key;
		micros[code] = null ? 0 : (key->least + code) * DAY_MICROS;
		rql_bit_or(validity, code, !null);
	}
	*values = (struct rql_column){.type = slot->type, .data = micros, .validity = validity};
	slot->values = values;
	return RQL_OK;
}

static bool reads_nullable(const struct rql_scan_binding *b, const struct rql_program *program)
{
	for (uint32_t i = 0; i < program->input_count; i++) {
		const struct rql_source *s = &b->programs[b->program_count - 1].inputs[i];
		const struct rql_store_column *column = s->kind == RQL_SOURCE_COLUMN ? &b->snapshot->columns[s->index] : NULL;
		if (column && (column->nulls > 0 || (column->dimension && column->dimension->has_null)))
			return true;
	}
	return false;
}

rql_status rql_scan_finish_keys(struct rql_scan_binding *b, const struct rql_program *program)
{
	uint32_t slots = b->star->block->group_count + b->star->block->agg_count;
	for (uint32_t k = 0; k < b->group_count; k++) {
		struct rql_group_key *key = &b->groups[k];
		struct rql_slot made = {0};
		if (key->source.kind != RQL_SOURCE_PROGRAM || key->key_count || key->wide_count)
			continue;
		const struct rql_program_result *r = &program->results[key->source.result];
		bool truth = r->kind == RQL_LANE_BOOL, nullable = r->nullable || reads_nullable(b, program);
		if (key->real)
			reals_key(0, RQL_REAL_CODES - 1, nullable, key, &made);
		else
			RQL_TRY(range_key(b, b->answers.items[key->source.result], truth ? 0 : r->bounds.low,
			                  truth ? 1 : r->bounds.high, nullable, key, &made));
		for (uint32_t i = 0; i < slots; i++) {
			struct rql_slot *slot = &b->slots[i];
			if ((slot->kind != RQL_SLOT_KEY && !rql_slot_is_of_key(slot->kind)) || slot->key != k)
				continue;
			slot->least = made.least;
			codes_slot(key, slot);
			if (slot->kind == RQL_SLOT_KEY && !slot->wide && slot->type.id == RQL_TYPE_TIMESTAMP &&
			    b->answers.items[key->source.result]->type.id == RQL_TYPE_DATE)
				RQL_TRY(day_values(b, key, slot));
		}
	}
	return RQL_OK;
}

/* ---- of a dimension subtree ---- */

struct payload_key {
	const struct rql_scan_dim *dim;
	uint32_t count;    /* outputs in it */
	uint32_t *outputs; /* their numbers */
	uint32_t key_count;
	uint32_t *payload_of_key; /* one payload of each key */
	uint32_t *key_of_payload;
	bool as_they_are; /* each payload is a key, with its own number */
};

static int compare_payloads(const void *context, uint32_t a, uint32_t b)
{
	const struct payload_key *p = context;
	const struct rql_column *values = &p->dim->values[p->outputs[0]];
	bool valid_a = rql_column_valid(values, a), valid_b = rql_column_valid(values, b);
	if (!valid_a || !valid_b)
		return (int)!valid_a - (int)!valid_b; /* NULL last */
	return rql_column_compare(values, a, values, b);
}

/* Which payloads agree in all outputs of the key. */
static rql_status combine_payloads(struct rql_scan_binding *b, struct payload_key *p)
{
	struct rql_type *types = RQL_NEW_ARRAY(b->arena, struct rql_type, p->count);
	struct rql_column *columns = RQL_NEW_ARRAY(b->arena, struct rql_column, p->count);
	struct rql_distinct *distinct = NULL;
	if (!types || !columns)
		return rql_error_memory(b->err, 0, "a plan");
	for (uint32_t i = 0; i < p->count; i++) {
		columns[i] = p->dim->values[p->outputs[i]];
		types[i] = columns[i].type;
	}
	RQL_TRY(rql_distinct_new(types, p->count, &distinct, b->err));
	rql_status status =
		rql_distinct_add(distinct, columns, p->dim->payload_count, (int32_t *)p->key_of_payload, b->err);
	p->key_count = rql_distinct_count(distinct);
	rql_distinct_free(distinct);
	return status;
}

static rql_status number_payloads(struct rql_scan_binding *b, struct payload_key *p, bool all)
{
	uint32_t n = p->dim->payload_count;
	p->payload_of_key = RQL_NEW_ARRAY(b->arena, uint32_t, n + 1u);
	p->key_of_payload = RQL_NEW_ARRAY(b->arena, uint32_t, n + 1u);
	if (!p->payload_of_key || !p->key_of_payload)
		return rql_error_memory(b->err, 0, "a plan");
	p->key_count = n;
	for (uint32_t i = 0; i < n && all; i++)
		p->key_of_payload[i] = i;
	if (!all)
		RQL_TRY(combine_payloads(b, p));
	for (uint32_t i = n; i-- > 0;)
		p->payload_of_key[p->key_of_payload[i]] = i;
	p->as_they_are = all && (p->count > 1 || n > SORTED_KEYS);
	if (p->count > 1 || p->key_count > SORTED_KEYS)
		return RQL_OK;
	uint32_t *spare = RQL_NEW_ARRAY(b->arena, uint32_t, p->key_count),
			 *rank = RQL_NEW_ARRAY(b->arena, uint32_t, p->key_count);
	if (!spare || !rank)
		return rql_error_memory(b->err, 0, "a plan");
	rql_sort_items(p->payload_of_key, spare, p->key_count, compare_payloads, p);
	for (uint32_t k = 0; k < p->key_count; k++)
		rank[p->key_of_payload[p->payload_of_key[k]]] = k;
	for (uint32_t i = 0; i < n; i++)
		p->key_of_payload[i] = rank[p->key_of_payload[i]];
	return RQL_OK;
}

static rql_status values_by_key(struct rql_scan_binding *b, const struct payload_key *p, uint32_t output,
                                struct rql_slot *slot)
{
	const struct rql_column *from = &p->dim->values[output];
	unsigned bytes = rql_type_bytes(from->type);
	if (p->as_they_are) { /* the leaf keeps the map: millions of values need no copy */
		slot->values = from;
		return RQL_OK;
	}
	struct rql_column *values = RQL_NEW(b->arena, struct rql_column);
	if (!values)
		return rql_error_memory(b->err, 0, "a plan");
	*values = (struct rql_column){.type = from->type,
	                              .data = rql_arena_array(b->arena, p->key_count + 1u, bytes),
	                              .validity = RQL_NEW_ARRAY(b->arena, uint64_t, p->key_count / 64 + 1u)};
	if (!values->data || !values->validity)
		return rql_error_memory(b->err, 0, "a plan");
	for (uint32_t k = 0; k < p->key_count; k++) {
		uint32_t row = p->payload_of_key[k];
		memcpy((char *)values->data + (size_t)k * bytes, (const char *)from->data + (size_t)row * bytes, bytes);
		if (rql_column_valid(from, row))
			rql_bit_set(values->validity, k);
	}
	slot->values = values;
	slot->ordered = p->count == 1 && p->key_count <= SORTED_KEYS;
	return RQL_OK;
}

/* Has it a real that may equal another one which is printed apart? Their rows may have one payload. */
static bool may_have_twins(const struct rql_column *values, uint32_t count)
{
	bool has = false;
	for (uint32_t i = 0; i < count && !has && rql_type_is_real(values->type); i++) {
		const struct rql_value value = rql_column_get(values, i);
		has = !value.is_null && (value.real == 0 || value.real != value.real);
	}
	return has;
}

/* All keys among exprs that belong to the subtree of exprs[first]. */
static rql_status subtree_key(struct rql_scan_binding *b, struct rql_expr *const *exprs, uint32_t count, uint32_t first,
                              struct rql_slot *slots)
{
	uint32_t subtree = RQL_STAR_REF_SUBTREE(exprs[first]->index), key = b->group_count;
	uint32_t outputs = b->star->subtrees[subtree].outputs.count;
	struct payload_key p = {.dim = &b->dims[subtree], .outputs = RQL_NEW_ARRAY(b->arena, uint32_t, outputs)};
	if (!p.outputs)
		return rql_error_memory(b->err, 0, "a plan");
	for (uint32_t i = first; i < count; i++) {
		bool again = false;
		if (exprs[i]->kind != RQL_EXPR_REF || RQL_STAR_REF_SUBTREE(exprs[i]->index) != subtree)
			continue;
		const uint32_t output = RQL_STAR_REF_OUTPUT(exprs[i]->index);
		if (may_have_twins(&p.dim->values[output], p.dim->payload_count))
			return rql_expr_refuse(b->err, "group key ", b->star->subtrees[subtree].outputs.items[output],
			                       " has a 0 or a NaN, which may have a sign");
		for (uint32_t k = 0; k < p.count; k++)
			again |= p.outputs[k] == RQL_STAR_REF_OUTPUT(exprs[i]->index);
		if (!again)
			p.outputs[p.count++] = RQL_STAR_REF_OUTPUT(exprs[i]->index);
	}
	bool differ = p.count == outputs && !p.dim->repeats;
	for (uint32_t k = 0; k < p.count; k++)
		differ |= p.outputs[k] + 1 == p.dim->unique;
	RQL_TRY(number_payloads(b, &p, differ));
	for (uint32_t i = first; i < count; i++) {
		if (exprs[i]->kind != RQL_EXPR_REF || RQL_STAR_REF_SUBTREE(exprs[i]->index) != subtree)
			continue;
		slots[i].kind = RQL_SLOT_KEY;
		slots[i].key = key;
		RQL_TRY(values_by_key(b, &p, RQL_STAR_REF_OUTPUT(exprs[i]->index), &slots[i]));
	}
	struct rql_slot unused;
	struct rql_group_key *made = add_key(b, &unused);
	made->source = (struct rql_source){.kind = RQL_SOURCE_LOOKUP, .index = subtree};
	made->key_of_code = p.key_of_payload;
	made->key_count = p.key_count ? p.key_count : 1;
	return RQL_OK;
}

/* ---- the whole ---- */

static rql_status bind_key(struct rql_scan_binding *b, const struct rql_expr *e, struct rql_slot *slot)
{
	const struct rql_expr *only = rql_scan_only_column(e);
	uint32_t column = only ? rql_scan_find_column(b->snapshot, b->column_ids, only) : RQL_NONE;
	const uint32_t upper = rql_scan_find_halves(b->snapshot, b->column_ids, e);
	if (e->kind == RQL_EXPR_CONSTANT)
		return constant_key(b, e, slot);
	if (upper != RQL_NONE)
		return halves_key(b, e, upper, slot);
	if (column == RQL_NONE)
		return program_key(b, e, slot);
	const struct rql_store_column *stored = &b->snapshot->columns[column];
	if (stored->kind == RQL_STORE_CODED && e == only)
		return coded_key(b, column, slot);
	if (stored->kind == RQL_STORE_CODED) {
		struct rql_error why = {0}, *err = b->err;
		uint32_t before = b->group_count;
		b->err = &why;
		rql_status status = coded_expression_key(b, e, column, slot);
		b->err = err;
		if (status != RQL_ERROR_UNSUPPORTED) {
			if (status != RQL_OK)
				rql_error_move(err, &why);
			return status;
		}
		rql_error_clear(&why);
		b->group_count = before;
	}
	if (e == only && stored->kind == RQL_STORE_INTEGER && e->type.id != RQL_TYPE_UHUGEINT)
		return integer_key(b, e, column, slot);
	if (e == only && stored->kind == RQL_STORE_REAL) {
		real_column_key(b, column, slot);
		return RQL_OK;
	}
	rql_int128 offset;
	if (stored->kind == RQL_STORE_INTEGER && !stored->wide && rql_type_is_integer(stored->type) &&
	    is_shifted(e, stored, &offset))
		return shifted_key(b, e, column, offset, slot);
	if (is_day(e, only, stored))
		return day_key(b, e, slot);
	return program_key(b, e, slot);
}

rql_status rql_scan_bind_keys(struct rql_scan_binding *b, struct rql_expr *const *exprs, uint32_t count,
                              struct rql_slot *slots)
{
	/* Columns first: expressions of them may follow from their keys. */
	bool *done = RQL_NEW_ARRAY(b->arena, bool, count);
	if (!done)
		return rql_error_memory(b->err, 0, "a plan");
	for (uint32_t i = 0; i < count; i++)
		slots[i] = (struct rql_slot){.type = exprs[i]->type, .null_key = RQL_NONE};
	for (int columns = 1; columns >= 0; columns--) {
		for (uint32_t i = 0; i < count; i++) {
			if (done[i] || (columns && exprs[i]->kind != RQL_EXPR_COLUMN && exprs[i]->kind != RQL_EXPR_REF))
				continue;
			if (exprs[i]->kind != RQL_EXPR_REF) {
				RQL_TRY(bind_key(b, exprs[i], &slots[i]));
				done[i] = true;
				continue;
			}
			RQL_TRY(subtree_key(b, exprs, count, i, slots));
			for (uint32_t k = i; k < count; k++)
				done[k] |= exprs[k]->kind == RQL_EXPR_REF &&
				           RQL_STAR_REF_SUBTREE(exprs[k]->index) == RQL_STAR_REF_SUBTREE(exprs[i]->index);
		}
	}
	return RQL_OK;
}

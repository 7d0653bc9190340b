/* The code of a row that passed the tests of 32: what remains to be tested, its values, its group, what it adds. Integers
 * take 32 bits wherever bounds show that they hold them: a GPU has no others in its registers. */
#include "method/scan/code/scan_code.h"

#include <stdlib.h>

/* ---- parameters ---- */

static uint32_t param_of(struct rql_scan_coder *c, uint64_t value, enum rql_scan_param_kind kind)
{
	struct rql_scan_plan *plan = c->plan;
	uint32_t at = 0;
	while (at < plan->param_count && (plan->params[at].value != value || plan->params[at].kind != kind))
		at++;
	if (at == plan->param_room) {
		uint32_t room = plan->param_room ? 2 * plan->param_room : 32;
		struct rql_scan_param *grown = realloc(plan->params, room * sizeof(*grown));
		if (!grown) {
			c->out_of_memory = true;
			return 0;
		}
		plan->params = grown;
		plan->param_room = room;
	}
	if (at == plan->param_count)
		plan->params[plan->param_count++] = (struct rql_scan_param){value, kind};
	return CALL(c, at < RQL_SCAN_KEPT_PARAMS ? "scan_kept_param" : "scan_param", RQL_SPIRV_U64, U32(c, at));
}

uint32_t rql_scan_code_param(struct rql_scan_coder *c, uint64_t value, bool relative)
{
	return param_of(c, value, relative ? RQL_SCAN_PARAM_OFFSET : RQL_SCAN_PARAM_VALUE);
}

static uint32_t param32(struct rql_scan_coder *c, uint64_t value)
{
	return OP1(c, U_CONVERT, U32, rql_scan_code_param(c, (uint32_t)value, false));
}

static uint32_t table_param(struct rql_scan_coder *c, const void *data, uint64_t bytes)
{
	return rql_scan_code_param(c, rql_scan_blob_put(&c->plan->blob, data, bytes), true);
}

/* ---- values ---- */

enum rql_spirv_type rql_scan_code_type(enum rql_lane_kind kind)
{
	static const enum rql_spirv_type types[] = {
		[RQL_LANE_BOOL] = RQL_SPIRV_BOOL, [RQL_LANE_I32] = RQL_SPIRV_U32, [RQL_LANE_I64] = RQL_SPIRV_U64,
		[RQL_LANE_I128] = RQL_SPIRV_U64,  [RQL_LANE_F32] = RQL_SPIRV_F32, [RQL_LANE_F64] = RQL_SPIRV_F64};
	return types[kind];
}

bool rql_scan_code_fits32(struct rql_bounds bounds)
{
	return bounds.low >= INT32_MIN && bounds.high <= INT32_MAX;
}

struct rql_bounds rql_scan_code_bounds(const struct rql_scan_value *v)
{
	static const struct rql_bounds narrow = {INT32_MIN, INT32_MAX}, wide = {INT64_MIN, INT64_MAX};
	return v->bounded ? v->bounds : v->narrow || v->kind == RQL_LANE_I32 ? narrow : wide;
}

static void bound(struct rql_scan_value *v, rql_int128 low, rql_int128 high)
{
	v->bounded = low <= high;
	v->bounds = (struct rql_bounds){low, high};
}

bool rql_scan_code_has32(const struct rql_scan_value *v)
{
	return v->narrow || v->kind == RQL_LANE_I32;
}

uint32_t rql_scan_code_both(struct rql_scan_coder *c, uint32_t a, uint32_t b)
{
	return !a ? b : !b ? a : OP2(c, LOGICAL_AND, BOOL, a, b);
}

struct rql_scan_value rql_scan_code_convert(struct rql_scan_coder *c, struct rql_scan_value v, enum rql_lane_kind kind)
{
	enum rql_lane_kind from = v.narrow ? RQL_LANE_I32 : v.kind;
	bool real = from == RQL_LANE_F32 || from == RQL_LANE_F64, to_real = kind == RQL_LANE_F32 || kind == RQL_LANE_F64;
	bool positive = v.bounded && v.bounds.low >= 0;
	v.kind = kind;
	v.narrow = false;
	v.bounded &= !to_real && kind != RQL_LANE_BOOL;
	if (from == kind)
		return v;
	if (kind == RQL_LANE_BOOL)
		v.id = OP2(c, NOT_EQUAL, BOOL, v.id, from == RQL_LANE_I32 ? U32(c, 0) : rql_spirv_u64(&c->m, 0));
	else if (from == RQL_LANE_BOOL)
		v = rql_scan_code_convert(
			c,
			(struct rql_scan_value){.id = rql_spirv_select(&c->m, RQL_SPIRV_U32, v.id, U32(c, 1), U32(c, 0)),
		                            .valid = v.valid,
		                            .kind = RQL_LANE_I32,
		                            .bounded = true,
		                            .bounds = {0, 1}},
			kind);
	else
		v.id = rql_spirv_op1(&c->m,
		                     real && to_real         ? RQL_SPIRV_F_CONVERT
		                     : to_real               ? RQL_SPIRV_S_TO_F
		                     : positive && v.bounded ? RQL_SPIRV_U_CONVERT
		                                             : RQL_SPIRV_S_CONVERT,
		                     rql_scan_code_type(kind), v.id);
	return v;
}

static uint32_t wide_id(struct rql_scan_coder *c, struct rql_scan_value v)
{
	return rql_scan_code_convert(c, v, RQL_LANE_I64).id;
}

/* ---- columns ---- */

struct ref {
	uint32_t ref, head, width; /* ids */
};

/* A column's reference; its head and width are kept when there are few. */
static struct ref ref_of(struct rql_scan_coder *c, uint32_t column)
{
	struct rql_scan_plan *plan = c->plan;
	if (plan->ref_of[column] == RQL_NONE) {
		plan->refs[plan->ref_count] = column;
		plan->ref_of[column] = plan->ref_count++;
	}
	uint32_t index = plan->ref_of[column];
	struct ref r = {.ref = CALL(c, "scan_ref_of", RQL_SPIRV_U64, c->item, U32(c, plan->test_count + index))};
	if (!c->alone && index < RQL_SCAN_KEPT_HEADS) {
		r.head = CALL(c, "scan_kept_head", RQL_SPIRV_U32X4, U32(c, index));
		r.width = CALL(c, "scan_kept_width", RQL_SPIRV_U32, U32(c, index));
	} else {
		r.head = CALL(c, "scan_ref_head", RQL_SPIRV_U32X4, r.ref);
		r.width = CALL(c, "scan_width", RQL_SPIRV_U32, r.head);
	}
	return r;
}

static void load_coded(struct rql_scan_coder *c, uint32_t column, struct rql_scan_value *v)
{
	const struct rql_scan_column *about = &c->plan->scan->columns[column];
	struct ref r = ref_of(c, column);
	if (c->plan->translated[column])
		v->id = CALL(c, "scan_translated", RQL_SPIRV_U32, r.ref, r.head, r.width, c->row);
	else
		v->id = CALL(c, "scan_code", RQL_SPIRV_U32, r.head, r.width, c->row);
	bound(v, 0, (rql_int128)about->codes - 1);
	if (about->null_code != RQL_NONE)
		v->valid = OP2(c, NOT_EQUAL, BOOL, v->id, param32(c, about->null_code));
}

static void load_number(struct rql_scan_coder *c, uint32_t column, struct rql_scan_value *v)
{
	const struct rql_scan_column *about = &c->plan->scan->columns[column];
	struct ref r = ref_of(c, column);
	bool narrow = c->plan->field_bits[column] <= 32;
	if (about->kind == RQL_STORE_INTEGER)
		bound(v, about->least, about->greatest);
	v->narrow = narrow && about->kind == RQL_STORE_INTEGER && rql_scan_code_fits32(rql_scan_code_bounds(v));
	if (v->narrow)
		v->id = CALL(c, "scan_code", RQL_SPIRV_U32, r.head, r.width, c->row);
	else if (narrow)
		v->id = CALL(c, "scan_offset", RQL_SPIRV_U64, r.ref, r.head, r.width, c->row);
	else
		v->id = CALL(c, "scan_integer", RQL_SPIRV_U64, r.ref, r.head, c->row);
	if (about->nullable)
		v->valid = CALL(c, "scan_valid", RQL_SPIRV_BOOL, r.ref, c->row, c->live);
	if (about->lane == RQL_LANE_F64) {
		if (c->plan->scan->snapshot->columns[about->column].type.id == RQL_TYPE_FLOAT)
			v->id = CALL(c, "scan_widened", RQL_SPIRV_U64, v->id);
		v->id = OP1(c, BITCAST, F64, v->id);
	}
}

/* A column of rows that come in: its fields are whole words, and NULL is 0 (column/form.h). */
static void load_formed(struct rql_scan_coder *c, uint32_t column, struct rql_scan_value *v)
{
	const struct rql_scan_column *about = &c->plan->scan->columns[column];
	struct ref r = ref_of(c, column);
	bool short_field = c->plan->field_bits[column] == 32, null = about->nullable || about->null_code != RQL_NONE;
	uint32_t field = short_field ? CALL(c, "scan_code", RQL_SPIRV_U32, r.head, r.width, c->row)
	                             : CALL(c, "scan_integer", RQL_SPIRV_U64, r.ref, r.head, c->row);
	if (null)
		v->valid = OP2(c, NOT_EQUAL, BOOL, field, short_field ? U32(c, 0) : rql_spirv_u64(&c->m, 0));
	if (about->kind == RQL_STORE_CODED) {
		bound(v, 0, (rql_int128)about->codes - 1);
		v->id = OP2(c, SUB, U32, field, U32(c, 1));
		if (null)
			v->id = rql_spirv_select(&c->m, RQL_SPIRV_U32, v->valid, v->id, param32(c, about->null_code));
		return;
	}
	if (about->kind == RQL_STORE_REAL) {
		v->id = OP1(c, BITCAST, F64, OP1(c, NOT, U64, field));
		return;
	}
	const uint64_t before = (uint64_t)about->least - 1;
	bound(v, about->least, about->greatest);
	v->narrow = short_field && rql_scan_code_fits32(rql_scan_code_bounds(v));
	if (v->narrow)
		v->id = OP2(c, ADD, U32, field, param32(c, before));
	else
		v->id = OP2(c, ADD, U64, short_field ? OP1(c, U_CONVERT, U64, field) : field,
		            rql_scan_code_param(c, before, false));
}

/* Entry `column` of scan->columns. */
static struct rql_scan_value load_column(struct rql_scan_coder *c, uint32_t column)
{
	const struct rql_scan_column *about = &c->plan->scan->columns[column];
	struct rql_scan_value *v = &c->columns[column];
	if (v->id)
		return *v;
	*v = (struct rql_scan_value){.kind = about->lane};
	if (rql_is_form(c->plan->scan->snapshot))
		load_formed(c, column, v);
	else if (about->kind == RQL_STORE_CODED)
		load_coded(c, column, v);
	else
		load_number(c, column, v);
	return *v;
}

/* ---- joins ---- */

static struct rql_scan_value join_key(struct rql_scan_coder *c, uint32_t join)
{
	const struct rql_scan_bound_join *bound = &c->plan->scan->joins[join];
	struct rql_scan_value key = load_column(c, bound->column);
	if (bound->second == RQL_NONE)
		return key;
	/* rql_pair_key */
	struct rql_scan_value other = load_column(c, bound->second), pair = {.kind = RQL_LANE_I64};
	uint32_t first = OP2(c, SUB, U64, wide_id(c, key), rql_scan_code_param(c, (uint64_t)bound->pair.least, false));
	uint32_t second =
		OP2(c, SUB, U64, wide_id(c, other), rql_scan_code_param(c, (uint64_t)bound->pair.second_least, false));
	pair.id = OP2(c, ADD, U64, OP2(c, MUL, U64, first, rql_scan_code_param(c, bound->pair.second_span, false)), second);
	pair.valid = rql_scan_code_both(c, key.valid, other.valid);
	return pair;
}

/* The key's number in a map's dense range, as u32; at least the span, which has no entry, for keys outside. */
static uint32_t map_place(struct rql_scan_coder *c, const struct rql_map *map, struct rql_scan_value key)
{
	struct rql_bounds b = rql_scan_code_bounds(&key);
	uint32_t span = param32(c, map->span), at;
	/* In 32 bits keys below `least` wrap to beyond the span when they are not too far below. */
	rql_int128 wrap = (rql_int128)1 << 32;
	if (rql_scan_code_has32(&key) && b.low - map->least > map->span - wrap && b.high - map->least < wrap) {
		at = OP2(c, SUB, U32, key.id, param32(c, (uint64_t)map->least));
	} else {
		at = OP2(c, SUB, U64, wide_id(c, key), rql_scan_code_param(c, (uint64_t)map->least, false));
		uint32_t inside = OP2(c, U_LESS, BOOL, at, rql_scan_code_param(c, map->span, false));
		at = rql_spirv_select(&c->m, RQL_SPIRV_U32, inside, OP1(c, U_CONVERT, U32, at), span);
	}
	return key.valid ? rql_spirv_select(&c->m, RQL_SPIRV_U32, key.valid, at, span) : at;
}

/* The address of a part of the join's map. Two joins with one map have a parameter each: what the code is must not hang on
 * whether their maps are the same. */
static uint32_t map_param(struct rql_scan_coder *c, uint32_t join, enum rql_scan_map_part part)
{
	const struct rql_map *map = c->plan->scan->joins[join].map;
	const uint32_t at = join * RQL_SCAN_MAP_PARTS + part;
	if (!rql_scan_map_apart(map, part))
		return table_param(c, rql_scan_map_data(map, part), rql_scan_map_bytes(map, part));
	c->plan->maps[at] = true;
	return param_of(c, at, RQL_SCAN_PARAM_MAP);
}

/* Whether a dense map has the key: its bit. */
static uint32_t has_key(struct rql_scan_coder *c, uint32_t join)
{
	const struct rql_map *map = c->plan->scan->joins[join].map;
	uint32_t at = map_place(c, map, join_key(c, join));
	uint32_t inside = OP2(c, U_LESS, BOOL, at, param32(c, map->span));
	uint32_t bits = map_param(c, join, RQL_SCAN_MAP_BITS);
	return OP2(c, LOGICAL_AND, BOOL, inside, CALL(c, "scan_bit_at", RQL_SPIRV_BOOL, bits, at, inside));
}

/* rql_map_word of the key, as u64; of one that is none of a narrow table's, a word that no entry has. */
static uint32_t map_word(struct rql_scan_coder *c, const struct rql_map *map, struct rql_scan_value key)
{
	if (rql_map_is_narrow(map))
		return OP1(c, U_CONVERT, U64, OP2(c, ADD, U32, map_place(c, map, key), U32(c, 1)));
	return OP2(c, SUB, U64, wide_id(c, key), rql_scan_code_param(c, (uint64_t)map->least - 1, false));
}

/* payload + 1, 0: none */
static uint32_t look_up(struct rql_scan_coder *c, uint32_t join)
{
	const struct rql_map *map = c->plan->scan->joins[join].map;
	if (c->found[join])
		return c->found[join];
	if (map->dense && !map->width)
		return c->found[join] = rql_spirv_select(&c->m, RQL_SPIRV_U32, has_key(c, join), U32(c, 1), U32(c, 0));
	struct rql_scan_value key = join_key(c, join);
	if (map->dense) {
		uint32_t table = map_param(c, join, RQL_SCAN_MAP_FOUND);
		c->found[join] = CALL(c, "scan_payload", RQL_SPIRV_U32, table, map_place(c, map, key), param32(c, map->span),
		                      U32(c, map->width));
	} else {
		uint32_t table = map_param(c, join, RQL_SCAN_MAP_TABLE);
		c->found[join] = CALL(c, "scan_probe", RQL_SPIRV_U32, table, rql_scan_code_param(c, map->capacity - 1, false),
		                      U32(c, map->width), map_word(c, map, key), rql_scan_code_both(c, c->live, key.valid));
	}
	return c->found[join];
}

/* Values of payloads, in 32 bits where all of them fit. */
static void payload_values(struct rql_scan_coder *c, const int64_t *values, uint64_t count, uint32_t index,
                           uint32_t live, struct rql_scan_value *v)
{
	int64_t least = INT64_MAX, greatest = INT64_MIN;
	for (uint64_t i = 0; i < count; i++) {
		least = values[i] < least ? values[i] : least;
		greatest = values[i] > greatest ? values[i] : greatest;
	}
	v->kind = RQL_LANE_I64;
	bound(v, least, greatest);
	v->narrow = v->bounded && rql_scan_code_fits32(v->bounds);
	if (!v->narrow) {
		v->id = CALL(c, "scan_u64_at", RQL_SPIRV_U64, table_param(c, values, count * 8), index, live);
		return;
	}
	int32_t *halves = RQL_NEW_ARRAY(c->plan->arena, int32_t, count);
	c->out_of_memory |= !halves;
	for (uint64_t i = 0; halves && i < count; i++)
		halves[i] = (int32_t)values[i];
	v->id = CALL(c, "scan_u32_at", RQL_SPIRV_U32, table_param(c, halves, halves ? count * 4 : 0), index, live);
}

static struct rql_scan_value payload_value(struct rql_scan_coder *c, const struct rql_source *s)
{
	const struct rql_scan_bound_join *join = &c->plan->scan->joins[s->index];
	uint64_t payloads = rql_lookup_payloads(join->map, join->absent);
	uint32_t found = look_up(c, s->index), there = OP2(c, NOT_EQUAL, BOOL, found, U32(c, 0));
	if (join->absent)
		found = rql_spirv_select(&c->m, RQL_SPIRV_U32, there, found, param32(c, join->absent));
	struct rql_scan_value v = {.id = OP2(c, SUB, U32, found, U32(c, 1)), .kind = RQL_LANE_I32};
	uint32_t live = join->absent ? c->live : OP2(c, LOGICAL_AND, BOOL, c->live, there), index = v.id;
	bound(&v, 0, (rql_int128)payloads - 1);
	if (join->kind == RQL_LOOKUP_LEFT && !join->absent)
		v.valid = there;
	if (s->valid_of_payload)
		v.valid = rql_scan_code_both(c, v.valid,
		                             CALL(c, "scan_bit_at", RQL_SPIRV_BOOL,
		                                  table_param(c, s->valid_of_payload, (payloads + 63) / 64 * 8), index, live));
	if (s->value_of_payload)
		payload_values(c, s->value_of_payload, payloads, index, live, &v);
	return v;
}

struct rql_scan_value rql_scan_code_source(struct rql_scan_coder *c, const struct rql_source *s)
{
	if (s->kind == RQL_SOURCE_COLUMN)
		return load_column(c, c->plan->scan->column_of[s->index]);
	if (s->kind == RQL_SOURCE_LOOKUP)
		return payload_value(c, s);
	if (!c->results[s->index])
		rql_scan_code_program(c, s->index);
	return c->results[s->index] ? c->results[s->index][s->result] : (struct rql_scan_value){0};
}

/* ---- what remains to be tested ---- */

uint32_t rql_scan_code_real_key(struct rql_scan_coder *c, uint32_t real)
{
	return CALL(c, "scan_real_key", RQL_SPIRV_U64, OP1(c, BITCAST, U64, real));
}

/* low <= id <= high, signed. */
static uint32_t within(struct rql_scan_coder *c, uint32_t id, rql_int128 low, rql_int128 high)
{
	low = low < INT64_MIN ? INT64_MIN : low;
	high = high > INT64_MAX ? INT64_MAX : high;
	if (low > high)
		return rql_spirv_bool(&c->m, false);
	return OP2(c, LOGICAL_AND, BOOL, OP2(c, S_LESS_EQUAL, BOOL, rql_scan_code_param(c, (uint64_t)low, false), id),
	           OP2(c, S_LESS_EQUAL, BOOL, id, rql_scan_code_param(c, (uint64_t)high, false)));
}

static uint32_t late_set(struct rql_scan_coder *c, const struct rql_scan_step *step, struct rql_scan_value v)
{
	const struct rql_dimension *d = c->plan->scan->snapshot->columns[step->index].dimension;
	uint32_t words = d->count / 64 + 1;
	uint64_t *set = RQL_NEW_ARRAY(c->plan->arena, uint64_t, words);
	if (!set) {
		c->out_of_memory = true;
		return 0;
	}
	for (uint32_t code = 0; code + d->has_null < d->count; code++)
		if (step->filter.kind == RQL_FILTER_CODE_SET
		        ? rql_bit(step->filter.set, code)
		        : step->filter.code_least <= code && code <= step->filter.code_greatest)
			rql_bit_set(set, code);
	return CALL(c, "scan_bit_at", RQL_SPIRV_BOOL, table_param(c, set, words * 8ull), v.id, c->live);
}

static uint32_t late_column(struct rql_scan_coder *c, const struct rql_scan_step *step)
{
	const struct rql_store_filter *f = &step->filter;
	struct rql_scan_value v = load_column(c, c->plan->scan->column_of[step->index]);
	uint32_t pass;
	if (f->kind == RQL_FILTER_IS_NULL || f->kind == RQL_FILTER_IS_NOT_NULL) {
		uint32_t valid = v.valid ? v.valid : rql_spirv_bool(&c->m, true);
		return f->kind == RQL_FILTER_IS_NULL ? OP1(c, LOGICAL_NOT, BOOL, valid) : valid;
	}
	if (f->kind == RQL_FILTER_REAL_RANGE) {
		uint32_t key = rql_scan_code_real_key(c, v.id);
		uint32_t least = rql_scan_code_param(c, rql_key_of_f64(f->real_least + 0.0), false);
		uint32_t greatest = rql_scan_code_param(c, rql_key_of_f64(f->real_greatest + 0.0), false);
		pass = OP2(c, LOGICAL_AND, BOOL, OP2(c, U_LESS_EQUAL, BOOL, least, key),
		           OP2(c, U_LESS_EQUAL, BOOL, key, greatest));
	} else if (f->kind == RQL_FILTER_INTEGER_RANGE) {
		pass = within(c, wide_id(c, v), f->least, f->greatest);
	} else {
		pass = late_set(c, step, v);
	}
	if (v.valid)
		pass = step->or_null ? OP2(c, LOGICAL_OR, BOOL, pass, OP1(c, LOGICAL_NOT, BOOL, v.valid))
		                     : OP2(c, LOGICAL_AND, BOOL, pass, v.valid);
	return pass;
}

static uint32_t late_join(struct rql_scan_coder *c, const struct rql_scan_late *late, uint32_t join)
{
	const struct rql_scan_bound_join *bound = &c->plan->scan->joins[join];
	uint32_t has;
	if (bound->map->dense && (!late->found || c->alone))
		has = has_key(c, join);
	else
		has = OP2(c, NOT_EQUAL, BOOL, look_up(c, join), U32(c, 0));
	return bound->kind == RQL_LOOKUP_ANTI ? OP1(c, LOGICAL_NOT, BOOL, has) : has;
}

static void code_lates(struct rql_scan_coder *c)
{
	for (uint32_t i = 0; i < c->plan->late_count; i++) {
		const struct rql_scan_late *late = &c->plan->lates[i];
		const struct rql_scan_step *step = &c->plan->scan->steps[late->step];
		uint32_t pass;
		if (step->kind == RQL_SCAN_BY_JOIN) {
			pass = late_join(c, late, step->index);
		} else if (step->kind == RQL_SCAN_BY_TEST) {
			pass = late_column(c, step);
		} else {
			struct rql_source s = {.kind = RQL_SOURCE_PROGRAM, .index = step->index};
			struct rql_scan_value v = rql_scan_code_source(c, &s);
			pass = rql_scan_code_both(c, v.id, v.valid);
		}
		c->live = OP2(c, LOGICAL_AND, BOOL, c->live, pass);
		/* Who has dropped out reads what others have read. */
		c->row = rql_spirv_select(&c->m, RQL_SPIRV_U32, c->live, c->row, U32(c, 0));
	}
}

/* ---- groups ---- */

/* A key code, of 32 or 64 bits as the group number has. */
static uint32_t key_param(struct rql_scan_coder *c, uint64_t value)
{
	return c->group32 ? param32(c, value) : rql_scan_code_param(c, value, false);
}

/* value - least; live rows whose value is out of range fail. valid 0: all are. */
static uint32_t key_of_value(struct rql_scan_coder *c, const struct rql_scan_part *part, struct rql_scan_value v,
                             uint32_t valid)
{
	struct rql_bounds b = rql_scan_code_bounds(&v);
	bool inside = !part->real && b.low >= part->least && b.high < (rql_int128)part->least + part->key.key_count;
	enum rql_spirv_type type = c->group32 ? RQL_SPIRV_U32 : RQL_SPIRV_U64;
	if (inside && c->group32 && rql_scan_code_has32(&v))
		return part->least ? OP2(c, SUB, U32, v.id, param32(c, (uint64_t)part->least)) : v.id;
	uint32_t key = wide_id(c, v), zero = c->group32 ? U32(c, 0) : rql_spirv_u64(&c->m, 0);
	if (part->least)
		key = OP2(c, SUB, U64, key, rql_scan_code_param(c, (uint64_t)part->least, false));
	uint32_t known = inside ? 0 : OP2(c, U_LESS, BOOL, key, rql_scan_code_param(c, part->key.key_count, false));
	key = c->group32 ? OP1(c, U_CONVERT, U32, key) : key;
	if (!known)
		return key;
	(void)CALL(c, "scan_fail", RQL_SPIRV_VOID,
	           OP2(c, LOGICAL_AND, BOOL, OP1(c, LOGICAL_NOT, BOOL, known), rql_scan_code_both(c, c->live, valid)));
	return rql_spirv_select(&c->m, type, known, key, zero);
}

/* rql_real_code of a double; `same`: the one that stands for all that equal it. */
static struct rql_scan_value code_of_real(struct rql_scan_coder *c, struct rql_scan_value v, bool same)
{
	v = rql_scan_code_convert(c, v, RQL_LANE_F64);
	uint32_t bits = OP1(c, BITCAST, U64, v.id), one = rql_spirv_bool(&c->m, same);
	return (struct rql_scan_value){
		.id = CALL(c, "scan_real_code", RQL_SPIRV_U64, bits, one), .valid = v.valid, .kind = RQL_LANE_I64};
}

/* The part's key code. */
static uint32_t code_key(struct rql_scan_coder *c, const struct rql_scan_part *part)
{
	struct rql_scan_value v = rql_scan_code_source(c, &part->source);
	bool coded = part->source.kind == RQL_SOURCE_COLUMN &&
	             c->plan->scan->columns[c->plan->scan->column_of[part->source.index]].kind == RQL_STORE_CODED;
	if (part->real)
		v = code_of_real(c, v, c->plan->scan->groups_form); /* such groups nobody puts together */
	uint32_t key, valid = coded ? 0 : v.valid;
	enum rql_spirv_type type = c->group32 ? RQL_SPIRV_U32 : RQL_SPIRV_U64;
	if (part->key_of_code) {
		uint32_t table = table_param(c, part->key_of_code, part->codes * sizeof(uint32_t));
		key = CALL(c, "scan_u32_at", RQL_SPIRV_U32, table, v.id, rql_scan_code_both(c, c->live, valid));
		key = c->group32 ? key : OP1(c, U_CONVERT, U64, key);
	} else {
		key = key_of_value(c, part, v, valid);
	}
	return valid ? rql_spirv_select(&c->m, type, valid, key, key_param(c, part->null_key)) : key;
}

uint32_t rql_scan_code_number_of(struct rql_scan_coder *c, const struct rql_scan_part *parts, uint32_t count,
                                 uint64_t numbers)
{
	c->group32 = numbers <= INT32_MAX;
	enum rql_spirv_type type = c->group32 ? RQL_SPIRV_U32 : RQL_SPIRV_U64;
	uint32_t number = 0;
	for (uint32_t p = 0; p < count; p++) {
		uint32_t key = code_key(c, &parts[p]);
		if (parts[p].key.stride != 1)
			key = rql_spirv_op2(&c->m, RQL_SPIRV_MUL, type, key, key_param(c, parts[p].key.stride));
		number = number ? rql_spirv_op2(&c->m, RQL_SPIRV_ADD, type, number, key) : key;
	}
	return !number ? rql_spirv_u64(&c->m, 0) : c->group32 ? OP1(c, U_CONVERT, U64, number) : number;
}

static uint32_t either(struct rql_scan_coder *c, uint32_t bits, uint32_t more)
{
	return bits ? OP2(c, OR, U64, bits, more) : more;
}

/* The numbers of a wide scan: keys side by side (scan_kernels.h). */
static uint32_t code_wide_number(struct rql_scan_coder *c)
{
	const struct rql_scan *scan = c->plan->scan;
	const uint32_t low_bits = RQL_SCAN_LOW_BITS;
	uint32_t low = 0, high = 0;
	c->group32 = false;
	for (uint32_t p = 0; p < scan->part_count; p++) {
		const struct rql_scan_part *part = &scan->parts[p];
		const uint32_t key = code_key(c, part), shift = part->key.shift;
		uint32_t to = shift < low_bits ? shift : shift - low_bits;
		uint32_t moved = to ? OP2(c, SHIFT_LEFT, U64, key, rql_scan_code_param(c, to, false)) : key;
		if (shift >= low_bits) {
			high = either(c, high, moved);
		} else if (shift + part->key.bits <= low_bits) {
			low = either(c, low, moved);
		} else {
			low = either(c, low, OP2(c, AND, U64, moved, rql_spirv_u64(&c->m, UINT64_MAX >> (64 - low_bits))));
			high = either(c, high, OP2(c, SHIFT_RIGHT, U64, key, rql_scan_code_param(c, low_bits - shift, false)));
		}
	}
	return high ? OP2(c, OR, U64, CALL(c, "scan_low_bits", RQL_SPIRV_U64, low, c->live), high) : low;
}

static void code_slot(struct rql_scan_coder *c, const struct rql_scan_slot *slot)
{
	uint32_t live = c->live, value = rql_spirv_u64(&c->m, 1), about = c->plan->kinds[slot->state.word];
	uint32_t kind = about & RQL_SCAN_WORD_KINDS;
	struct rql_scan_value v = {0};
	if (slot->operand != RQL_NONE)
		v = rql_scan_code_source(c, &c->plan->scan->operands[slot->operand].source);
	if (slot->filter != RQL_NONE) {
		struct rql_source s = {.kind = RQL_SOURCE_PROGRAM, .index = slot->filter};
		struct rql_scan_value truth = rql_scan_code_source(c, &s);
		live = OP2(c, LOGICAL_AND, BOOL, live, rql_scan_code_both(c, truth.id, truth.valid));
	}
	live = rql_scan_code_both(c, live, v.valid);
	bool real = c->plan->scan->operands && slot->operand != RQL_NONE &&
	            c->plan->scan->operands[slot->operand].lane == RQL_LANE_F64;
	if (slot->state.kind != RQL_STATE_COUNT) {
		value = rql_scan_code_convert(c, v, real ? RQL_LANE_F64 : RQL_LANE_I64).id;
		if (real)
			value = OP1(c, BITCAST, U64, value);
		if (real && slot->state.kind != RQL_STATE_SUM_REAL)
			value = CALL(c, "scan_extreme_key", RQL_SPIRV_U64, value);
		else if (kind == RQL_SCAN_WORD_MIN || kind == RQL_SCAN_WORD_MAX)
			value = OP2(c, XOR, U64, value, rql_spirv_u64(&c->m, UINT64_C(1) << 63));
	}
	(void)CALL(c, "scan_add", RQL_SPIRV_VOID, U32(c, kind), U32(c, slot->state.word), U32(c, about >> RQL_SCAN_WORD_PLACE),
	           U32(c, about >> RQL_SCAN_WORD_LIMBS & 15), value, live);
}

static void code_take(struct rql_scan_coder *c)
{
	const struct rql_scan *scan = c->plan->scan;
	uint32_t params[3] = {0};
	rql_spirv_begin(&c->m, "scan_take_row", params, 3);
	c->item = params[0];
	c->row = params[1];
	c->live = params[2];
	if (!c->plan->staged)
		code_lates(c);
	if (c->plan->mode == RQL_SCAN_MODE_LIST) {
		(void)CALL(c, "scan_put_row", RQL_SPIRV_VOID, c->item, c->row, c->live);
		rql_spirv_end(&c->m, 0);
		return;
	}
	if (scan->gives) {
		rql_scan_code_emit(c);
		rql_spirv_end(&c->m, 0);
		return;
	}
	uint32_t group = scan->layout.wide ? code_wide_number(c)
	                            : rql_scan_code_number_of(c, scan->parts, scan->part_count, scan->layout.group_count);
	/* The values are there before the first addition, so that their loads are in flight at once. */
	for (uint32_t o = 0; o < scan->operand_count; o++)
		(void)rql_scan_code_source(c, &scan->operands[o].source);
	(void)CALL(c, "scan_begin_row", RQL_SPIRV_VOID, group, c->live);
	for (uint32_t s = 0; s < scan->slot_count; s++)
		code_slot(c, &scan->slots[s]);
	rql_spirv_end(&c->m, 0);
}

/* The same rows' tests by themselves. */
static void code_test(struct rql_scan_coder *c)
{
	const struct rql_scan *scan = c->plan->scan;
	uint32_t params[3] = {0};
	memset(c->columns, 0, scan->column_count * sizeof(*c->columns));
	memset(c->found, 0, scan->join_count * sizeof(*c->found));
	memset(c->results, 0, scan->program_count * sizeof(*c->results));
	rql_spirv_begin(&c->m, "scan_test_row", params, 3);
	c->item = params[0];
	c->row = params[1];
	c->live = params[2];
	c->alone = true;
	if (c->plan->staged)
		code_lates(c);
	rql_spirv_end(&c->m, c->live);
}

/* ---- before and after ---- */

/* Of the columns whose heads are kept: a dense tile's memory. */
static void code_touch(struct rql_scan_coder *c, uint32_t heads)
{
	const struct rql_scan_plan *plan = c->plan;
	uint32_t params[2] = {0}, all = U32(c, 0);
	rql_spirv_begin(&c->m, "scan_touch_part", params, 2);
	for (uint32_t r = 0; r < heads && r < RQL_SCAN_KEPT_HEADS; r++) {
		uint32_t bits = plan->field_bits[plan->refs[r]];
		if (bits > 32)
			continue; /* its width is not kept */
		uint32_t v =
			CALL(c, "scan_touch", RQL_SPIRV_U32, CALL(c, "scan_kept_head", RQL_SPIRV_U32X4, U32(c, r)),
		         CALL(c, "scan_kept_width", RQL_SPIRV_U32, U32(c, r)), params[0], params[1], U32(c, (bits + 7) / 8));
		all = OP2(c, OR, U32, all, v);
	}
	rql_spirv_end(&c->m, all);
}

/* What the bodies that are written have left to be kept: parameters, and the heads of the first `heads` columns. */
static void code_frame(struct rql_scan_coder *c, uint32_t heads)
{
	const struct rql_scan_plan *plan = c->plan;
	uint32_t item = 0, words = plan->mode == RQL_SCAN_MODE_SCALAR ? plan->scan->layout.row_words : 0;
	rql_spirv_begin(&c->m, "scan_open", NULL, 0);
	for (uint32_t p = 0; p < plan->param_count && p < RQL_SCAN_KEPT_PARAMS; p++)
		(void)CALL(c, "scan_keep_param", RQL_SPIRV_VOID, U32(c, p));
	for (uint32_t w = 0; w < words; w++)
		(void)CALL(c, "scan_start_word", RQL_SPIRV_VOID, U32(c, plan->kinds[w] & RQL_SCAN_WORD_KINDS), U32(c, w));
	rql_spirv_end(&c->m, 0);
	rql_spirv_begin(&c->m, "scan_open_item", &item, 1);
	for (uint32_t r = 0; r < heads && r < RQL_SCAN_KEPT_HEADS; r++)
		(void)CALL(c, "scan_keep_head", RQL_SPIRV_VOID, item, U32(c, plan->test_count + r), U32(c, r));
	rql_spirv_end(&c->m, 0);
	code_touch(c, heads);
	rql_spirv_begin(&c->m, "scan_close", NULL, 0);
	for (uint32_t w = 0; w < words; w++)
		if ((plan->kinds[w] & RQL_SCAN_WORD_KINDS) != RQL_SCAN_WORD_HIGH)
			(void)CALL(c, "scan_settle_word", RQL_SPIRV_VOID, U32(c, plan->kinds[w] & RQL_SCAN_WORD_KINDS), U32(c, w));
	rql_spirv_end(&c->m, 0);
}

void rql_scan_code_row(struct rql_scan_coder *c)
{
	code_take(c);
	uint32_t heads = c->plan->ref_count;
	code_test(c);
	code_frame(c, heads);
}

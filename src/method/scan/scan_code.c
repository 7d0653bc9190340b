/* The code of a request: its tests of 32 rows, and what is done with a row that passed them. */
#include "method/scan/scan_compute.h"

#include <pthread.h>
#include <stdlib.h>

#include "shaders/method/scan/scan_kernel_plain.comp.h"
#include "shaders/method/scan/scan_kernel_real.comp.h"

#define CALL(c, function, type, ...)                                                                                   \
	rql_spirv_call(&(c)->m, function, type, sizeof((uint32_t[]){__VA_ARGS__}) / 4, (const uint32_t[]){__VA_ARGS__})
#define OP2(c, op, type, a, b) rql_spirv_op2(&(c)->m, RQL_SPIRV_##op, RQL_SPIRV_##type, a, b)
#define OP1(c, op, type, a) rql_spirv_op1(&(c)->m, RQL_SPIRV_##op, RQL_SPIRV_##type, a)
#define U32(c, v) rql_spirv_u32(&(c)->m, v)
#define U64(c, v) rql_spirv_u64(&(c)->m, v)

uint32_t rql_scan_code_param(struct rql_scan_coder *c, uint64_t value, bool relative)
{
	struct rql_scan_plan *plan = c->plan;
	uint32_t at = 0;
	while (at < plan->param_count && (plan->params[at].value != value || plan->params[at].relative != relative))
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
		plan->params[plan->param_count++] = (struct rql_scan_param){value, relative};
	return CALL(c, "scan_param", RQL_SPIRV_U64, U32(c, at));
}

static uint32_t table_param(struct rql_scan_coder *c, const void *data, uint64_t bytes)
{
	return rql_scan_code_param(c, rql_scan_blob_put(&c->plan->blob, data, bytes), true);
}

enum rql_spirv_type rql_scan_code_type(enum rql_lane_kind kind)
{
	static const enum rql_spirv_type types[] = {
		[RQL_LANE_BOOL] = RQL_SPIRV_BOOL, [RQL_LANE_I32] = RQL_SPIRV_U32, [RQL_LANE_I64] = RQL_SPIRV_U64,
		[RQL_LANE_I128] = RQL_SPIRV_U64,  [RQL_LANE_F32] = RQL_SPIRV_F32, [RQL_LANE_F64] = RQL_SPIRV_F64};
	return types[kind];
}

/* ---- tests by planes: words of 32 rows, a lane's four or one side by side ---- */

static enum rql_spirv_type words_type(const struct rql_scan_coder *c)
{
	return c->plan->words == 4 ? RQL_SPIRV_U32X4 : c->plan->words == 2 ? RQL_SPIRV_U32X2 : RQL_SPIRV_U32;
}

/* One word in all places. */
static uint32_t all_words(struct rql_scan_coder *c, uint32_t word)
{
	const uint32_t words[] = {word, word, word, word};
	return c->plan->words == 1 ? word
	                           : rql_spirv_op(&c->m, RQL_SPIRV_COMPOSITE_CONSTRUCT, words_type(c), c->plan->words, words);
}

static uint32_t words2(struct rql_scan_coder *c, enum rql_spirv_op op, uint32_t a, uint32_t b)
{
	return rql_spirv_op2(&c->m, op, words_type(c), a, b);
}

static uint32_t words_not(struct rql_scan_coder *c, uint32_t a)
{
	return rql_spirv_op1(&c->m, RQL_SPIRV_NOT, words_type(c), a);
}

static uint32_t part_of(struct rql_scan_coder *c, uint32_t vector, uint32_t index)
{
	const uint32_t part[] = {vector, index};
	return rql_spirv_op(&c->m, RQL_SPIRV_COMPOSITE_EXTRACT, RQL_SPIRV_U32, 2, part);
}

struct planes {
	uint32_t ref, low[RQL_SCAN_RANGES_MAX], high[RQL_SCAN_RANGES_MAX];
	uint32_t words[RQL_SCAN_PLANES_MAX];
};

/* The reference and all wanted planes of a chunk, whose loads are in flight at once. */
static void load_planes(struct rql_scan_coder *c, uint32_t index, uint32_t chunk, struct planes *p)
{
	const struct rql_scan_chunk_test *t = &c->plan->tests[index];
	static const char *const loads[] = {NULL, "scan_load1", "scan_load2", NULL, "scan_load4"};
	p->ref = CALL(c, "scan_ref_of", RQL_SPIRV_U64, c->item, U32(c, index));
	if (t->kind == RQL_SCAN_TEST_NULL)
		return;
	uint32_t head = CALL(c, "scan_ref_head", RQL_SPIRV_U32X4, p->ref), wanted = part_of(c, head, 2);
	uint32_t ranges[2] = {CALL(c, "scan_ref_rest", RQL_SPIRV_U32X4, p->ref), 0};
	if (t->range_count > 2)
		ranges[1] = CALL(c, "scan_ref_ranges", RQL_SPIRV_U32X4, p->ref);
	for (uint32_t r = 0; r < t->range_count; r++) {
		p->low[r] = part_of(c, ranges[r / 2], r % 2 * 2);
		p->high[r] = part_of(c, ranges[r / 2], r % 2 * 2 + 1);
	}
	uint32_t at = CALL(c, "scan_chunk_at", RQL_SPIRV_U64, head, chunk, U32(c, 4 * c->plan->words));
	for (uint32_t j = 0; j < t->bits; j++) {
		uint32_t bit = OP2(c, AND, U32, wanted, U32(c, UINT32_C(1) << j)), live;
		live = OP2(c, NOT_EQUAL, BOOL, bit, U32(c, 0));
		p->words[j] = CALL(c, loads[c->plan->words], words_type(c), at, U32(c, j * RQL_SCAN_PLANE_STEP), live);
	}
}

/* The bit of a bound in all bits. */
static uint32_t spread(struct rql_scan_coder *c, uint32_t bound, uint32_t j)
{
	uint32_t top = j == 31 ? bound : OP2(c, SHIFT_LEFT, U32, bound, U32(c, 31 - j));
	return all_words(c, OP2(c, SHIFT_RIGHT_SIGNED, U32, top, U32(c, 31)));
}

/* The carry of an addition's column: what at least two of the three have. */
static uint32_t majority(struct rql_scan_coder *c, uint32_t a, uint32_t b, uint32_t carry)
{
	uint32_t either = words2(c, RQL_SPIRV_AND, carry, words2(c, RQL_SPIRV_OR, a, b));
	return words2(c, RQL_SPIRV_OR, words2(c, RQL_SPIRV_AND, a, b), either);
}

/* Which rows' numbers are from low to high: x - low and high - x borrow nothing. From the lowest plane up, one carry
 * for each (BitWeaving/V compares from the top and keeps two words; planes that are not wanted are zero here). */
static uint32_t in_range(struct rql_scan_coder *c, const struct planes *p, uint32_t r, uint32_t bits)
{
	uint32_t above = all_words(c, U32(c, UINT32_MAX)), below = above;
	for (uint32_t j = 0; j < bits; j++) {
		uint32_t low = spread(c, p->low[r], j), high = spread(c, p->high[r], j);
		above = majority(c, p->words[j], words_not(c, low), above);
		below = majority(c, words_not(c, p->words[j]), high, below);
	}
	return words2(c, RQL_SPIRV_AND, above, below);
}

static uint32_t apply_planes(struct rql_scan_coder *c, const struct rql_scan_chunk_test *t, const struct planes *p,
                             uint32_t chunk)
{
	uint32_t pass = 0, valid = 0;
	static const char *const loads[] = {NULL, "scan_valid_word", "scan_valid_pair", NULL, "scan_valid_words"};
	bool null = t->kind == RQL_SCAN_TEST_NULL;
	if (null || t->nullable)
		valid = CALL(c, loads[c->plan->words], words_type(c), p->ref, chunk);
	for (uint32_t r = 0; r < (null ? 0 : t->range_count); r++) {
		uint32_t in = in_range(c, p, r, t->bits);
		pass = pass ? words2(c, RQL_SPIRV_OR, pass, in) : in;
	}
	if (valid)
		pass = pass ? words2(c, RQL_SPIRV_AND, pass, valid) : valid;
	if (t->negate)
		pass = words_not(c, pass);
	return t->or_null && valid && !null ? words2(c, RQL_SPIRV_OR, pass, words_not(c, valid)) : pass;
}

/* ---- tests by sets, of a word's rows ---- */

#define FIELD_WORDS_MAX 32u
struct loaded {
	uint32_t ref, head, rest, fast;
	uint32_t words[FIELD_WORDS_MAX];
};

static void load_words(struct rql_scan_coder *c, const struct rql_scan_chunk_test *t, uint32_t chunk, uint32_t live,
                       struct loaded *l)
{
	uint32_t width = t->bits % 4 == 0 ? 4 : t->bits % 2 == 0 ? 2 : 1;
	uint32_t at = CALL(c, "scan_chunk_at", RQL_SPIRV_U64, l->head, chunk, U32(c, 4 * t->bits));
	static const char *const loads[] = {NULL, "scan_load1", "scan_load2", NULL, "scan_load4"};
	static const enum rql_spirv_type types[] = {RQL_SPIRV_VOID, RQL_SPIRV_U32, RQL_SPIRV_U32X2, RQL_SPIRV_VOID,
	                                            RQL_SPIRV_U32X4};
	for (uint32_t w = 0; w < t->bits; w += width) {
		uint32_t v = CALL(c, loads[width], types[width], at, U32(c, 4 * w), live);
		for (uint32_t k = 0; k < width; k++)
			l->words[w + k] = width == 1 ? v : part_of(c, v, k);
	}
}

static void load_set(struct rql_scan_coder *c, uint32_t index, uint32_t chunk, uint32_t mask, struct loaded *l)
{
	const struct rql_scan_chunk_test *t = &c->plan->tests[index];
	l->ref = CALL(c, "scan_ref_of", RQL_SPIRV_U64, c->item, U32(c, index));
	l->head = CALL(c, "scan_ref_head", RQL_SPIRV_U32X4, l->ref);
	l->rest = CALL(c, "scan_ref_rest", RQL_SPIRV_U32X4, l->ref);
	l->fast = rql_spirv_bool(&c->m, false);
	if (t->bits == 0)
		return;
	uint32_t form = part_of(c, l->head, 2), how = t->global ? RQL_SCAN_HOW_GLOBAL : RQL_SCAN_HOW_TEST;
	l->fast = OP2(c, EQUAL, BOOL, OP2(c, AND, U32, form, U32(c, 0xffff)), U32(c, t->bits | how << 8));
	/* An eager one does not even wait for the item's head, which the mask comes from. */
	uint32_t rows = OP2(c, SHIFT_RIGHT, U32, form, U32(c, 16)), first = OP2(c, SHIFT_LEFT, U32, chunk, U32(c, 5));
	uint32_t some = t->eager ? OP2(c, U_LESS, BOOL, first, rows) : OP2(c, NOT_EQUAL, BOOL, mask, U32(c, 0));
	load_words(c, t, chunk, OP2(c, LOGICAL_AND, BOOL, l->fast, some), l);
}

static uint32_t whole_field(struct rql_scan_coder *c, const struct loaded *l, uint32_t j, uint32_t bits)
{
	uint32_t w = j * bits / 32, shift = j * bits % 32, word = l->words[w], all = U32(c, UINT32_MAX >> (32 - bits));
	if (shift)
		word = OP2(c, SHIFT_RIGHT, U32, word, U32(c, shift));
	if (shift + bits > 32)
		word = OP2(c, OR, U32, word, OP2(c, SHIFT_LEFT, U32, l->words[w + 1], U32(c, 32 - shift)));
	return shift + bits == 32 ? word : OP2(c, AND, U32, word, all);
}

/* Of 32 rows whose fields' places are known, those in the set; only rows of the mask are looked up in device memory. A
 * block whose fields lie elsewhere passes here. Four words of bits, because each is a chain. */
static uint32_t set_fields(struct rql_scan_coder *c, const struct rql_scan_chunk_test *t, const struct loaded *l,
                           uint32_t mask)
{
	uint32_t a = part_of(c, l->head, 3), b = part_of(c, l->rest, 0), at = part_of(c, l->rest, 1), zero = U32(c, 0);
	uint32_t found[4] = {zero, zero, zero, zero}, table = 0, wanted = 0;
	if (t->global) {
		table = CALL(c, "scan_table_of", RQL_SPIRV_U64, l->rest);
		wanted = rql_spirv_select(&c->m, RQL_SPIRV_U32, l->fast, mask, zero);
	}
	for (uint32_t j = 0; j < RQL_SCAN_TEST_ROWS; j++) {
		uint32_t place = OP2(c, ADD, U32, whole_field(c, l, j, t->bits), a), bit;
		if (t->global)
			bit = CALL(c, "scan_in_table", RQL_SPIRV_U32, place, b, table,
			           OP2(c, AND, U32, wanted, U32(c, UINT32_C(1) << j)));
		else
			bit = CALL(c, "scan_in_set", RQL_SPIRV_U32, place, b, at);
		bit = j ? OP2(c, SHIFT_LEFT, U32, bit, U32(c, j)) : bit;
		found[j % 4] = OP2(c, OR, U32, found[j % 4], bit);
	}
	uint32_t all = OP2(c, OR, U32, OP2(c, OR, U32, found[0], found[1]), OP2(c, OR, U32, found[2], found[3]));
	return rql_spirv_select(&c->m, RQL_SPIRV_U32, l->fast, all, U32(c, UINT32_MAX));
}

static uint32_t apply_set(struct rql_scan_coder *c, const struct rql_scan_chunk_test *t, const struct loaded *l,
                          uint32_t chunk, uint32_t mask)
{
	uint32_t pass = CALL(c, "scan_slow_test", RQL_SPIRV_U32, l->head, l->rest, chunk, mask, l->fast), valid = 0;
	if (t->bits)
		pass = OP2(c, AND, U32, pass, set_fields(c, t, l, mask));
	if (t->nullable) {
		valid = CALL(c, "scan_valid_word", RQL_SPIRV_U32, l->ref, chunk);
		pass = OP2(c, AND, U32, pass, valid);
	}
	if (t->negate)
		pass = OP1(c, NOT, U32, pass);
	if (t->or_null && valid)
		pass = OP2(c, OR, U32, pass, OP1(c, NOT, U32, valid));
	if (t->nullable || t->negate) {
		uint32_t all = CALL(c, "scan_is_all", RQL_SPIRV_BOOL, l->head);
		pass = rql_spirv_select(&c->m, RQL_SPIRV_U32, all, U32(c, UINT32_MAX), pass);
	}
	return OP2(c, AND, U32, mask, pass);
}

/* ---- the first stage ---- */

static uint32_t code_sets(struct rql_scan_coder *c, uint32_t first, uint32_t chunk, uint32_t mask)
{
	struct rql_scan_plan *plan = c->plan;
	for (uint32_t next, count = plan->test_count; first < count; first = next) {
		struct loaded loaded[4];
		next = first + 1;
		while (plan->tests[first].eager && next < count && plan->tests[next].eager && next - first < 4)
			next++;
		for (uint32_t t = first; t < next; t++)
			load_set(c, t, chunk, mask, &loaded[t - first]);
		for (uint32_t t = first; t < next; t++)
			mask = apply_set(c, &plan->tests[t], &loaded[t - first], chunk, mask);
	}
	return mask;
}

static void code_tests(struct rql_scan_coder *c)
{
	struct rql_scan_plan *plan = c->plan;
	uint32_t params[3], zero = U32(c, 0), planes = 0;
	rql_spirv_begin(&c->m, "scan_test_rows", params, 3);
	c->item = params[0];
	uint32_t mask = params[2];
	if (plan->words == 1) {
		mask = part_of(c, mask, 0);
	} else if (plan->words == 2) {
		const uint32_t two[] = {part_of(c, mask, 0), part_of(c, mask, 1)};
		mask = rql_spirv_op(&c->m, RQL_SPIRV_COMPOSITE_CONSTRUCT, RQL_SPIRV_U32X2, 2, two);
	}
	while (planes < plan->test_count && plan->tests[planes].kind != RQL_SCAN_TEST_SET)
		planes++;
	struct planes *loaded = calloc(planes + 1u, sizeof(*loaded));
	c->out_of_memory |= !loaded;
	for (uint32_t t = 0; loaded && t < planes; t++)
		load_planes(c, t, params[1], &loaded[t]);
	for (uint32_t t = 0; loaded && t < planes; t++)
		mask = words2(c, RQL_SPIRV_AND, mask, apply_planes(c, &plan->tests[t], &loaded[t], params[1]));
	free(loaded);
	if (plan->words < 4) {
		bool one = plan->words == 1;
		const uint32_t four[] = {one ? code_sets(c, planes, params[1], mask) : part_of(c, mask, 0),
		                         one ? zero : part_of(c, mask, 1), zero, zero};
		mask = rql_spirv_op(&c->m, RQL_SPIRV_COMPOSITE_CONSTRUCT, RQL_SPIRV_U32X4, 4, four);
	}
	rql_spirv_end(&c->m, mask);
}

/* ---- values of a row ---- */

static uint32_t and_valid(struct rql_scan_coder *c, uint32_t a, uint32_t b)
{
	return !a ? b : !b ? a : OP2(c, LOGICAL_AND, BOOL, a, b);
}

static uint32_t ref_of(struct rql_scan_coder *c, uint32_t column)
{
	struct rql_scan_plan *plan = c->plan;
	if (plan->ref_of[column] == RQL_SCAN_NONE) {
		plan->refs[plan->ref_count] = column;
		plan->ref_of[column] = plan->ref_count++;
	}
	return CALL(c, "scan_ref_of", RQL_SPIRV_U64, c->item, U32(c, plan->test_count + plan->ref_of[column]));
}

/* Entry `column` of scan->columns. */
static struct rql_scan_value load_column(struct rql_scan_coder *c, uint32_t column)
{
	const struct rql_scan_column *about = &c->plan->scan->columns[column];
	struct rql_scan_value *v = &c->columns[column];
	if (v->id)
		return *v;
	uint32_t ref = ref_of(c, column);
	*v = (struct rql_scan_value){.kind = about->lane};
	if (about->kind == RQL_STORE_CODED) {
		v->id =
			CALL(c, c->plan->translated[column] ? "scan_translated" : "scan_code", RQL_SPIRV_U32, ref, c->row, c->live);
		if (about->null_code != RQL_SCAN_NONE) {
			uint32_t null = OP1(c, U_CONVERT, U32, rql_scan_code_param(c, about->null_code, false));
			v->valid = OP2(c, NOT_EQUAL, BOOL, v->id, null);
		}
		return *v;
	}
	v->id = CALL(c, "scan_integer", RQL_SPIRV_U64, ref, c->row, c->live);
	if (about->nullable)
		v->valid = CALL(c, "scan_valid", RQL_SPIRV_BOOL, ref, c->row, c->live);
	if (about->lane == RQL_LANE_F64) {
		if (c->plan->scan->snapshot->columns[about->column].type.id == RQL_TYPE_FLOAT)
			v->id = CALL(c, "scan_widened", RQL_SPIRV_U64, v->id);
		v->id = OP1(c, BITCAST, F64, v->id);
	}
	return *v;
}

/* The record of a join's map, written once; the layout that scan_kernel.comp says. */
static uint64_t map_record(struct rql_scan_coder *c, uint32_t join)
{
	struct rql_scan_plan *plan = c->plan;
	const struct rql_scan_map *map = plan->scan->joins[join].map;
	struct rql_scan_blob *blob = &plan->blob;
	if (plan->map_at[join] != UINT64_MAX)
		return plan->map_at[join];
	uint64_t record[6] = {0};
	if (map->dense) {
		record[0] = rql_scan_blob_put(blob, map->bits, ((uint64_t)map->span / 32 + 2) * 4);
		record[1] = rql_scan_blob_put(blob, map->found, (uint64_t)map->span * map->width + 8);
		record[2] = (uint64_t)map->least;
		record[3] = map->span | (uint64_t)map->width << 32;
	} else {
		record[4] = rql_scan_blob_put(blob, map->table, map->capacity * sizeof(*map->table));
		record[5] = map->capacity - 1;
	}
	uint64_t at = rql_scan_blob_put(blob, record, sizeof(record));
	for (uint32_t i = 0; i < 6; i++)
		if (map->dense ? i < 2 : i == 4)
			rql_scan_blob_relocate(blob, at + 8ull * i);
	plan->map_at[join] = at;
	return at;
}

/* The join's key as u64, and the rows that have one. */
static uint32_t join_key(struct rql_scan_coder *c, uint32_t join, uint32_t *live)
{
	const struct rql_scan_bound_join *bound = &c->plan->scan->joins[join];
	struct rql_scan_value key = load_column(c, bound->column);
	uint32_t id = key.kind == RQL_LANE_I32 ? OP1(c, U_CONVERT, U64, key.id) : key.id;
	*live = key.valid ? OP2(c, LOGICAL_AND, BOOL, c->live, key.valid) : c->live;
	if (bound->second == RQL_SCAN_NONE)
		return id;
	/* rql_scan_pair_key */
	struct rql_scan_value other = load_column(c, bound->second);
	uint32_t second = other.kind == RQL_LANE_I32 ? OP1(c, U_CONVERT, U64, other.id) : other.id;
	*live = other.valid ? OP2(c, LOGICAL_AND, BOOL, *live, other.valid) : *live;
	id = OP2(c, SUB, U64, id, rql_scan_code_param(c, (uint64_t)bound->pair.least, false));
	second = OP2(c, SUB, U64, second, rql_scan_code_param(c, (uint64_t)bound->pair.second_least, false));
	return OP2(c, ADD, U64, OP2(c, MUL, U64, id, rql_scan_code_param(c, bound->pair.second_span, false)), second);
}

/* payload + 1, 0: none */
static uint32_t look_up(struct rql_scan_coder *c, uint32_t join)
{
	if (!c->found[join]) {
		uint32_t live, key = join_key(c, join, &live), map = rql_scan_code_param(c, map_record(c, join), true);
		c->found[join] = CALL(c, "scan_map_found", RQL_SPIRV_U32, map, key, live);
	}
	return c->found[join];
}

static struct rql_scan_value payload_value(struct rql_scan_coder *c, const struct rql_scan_source *s)
{
	const struct rql_scan_bound_join *join = &c->plan->scan->joins[s->index];
	uint64_t payloads = rql_scan_map_payloads(join->map);
	uint32_t found = look_up(c, s->index), there = OP2(c, NOT_EQUAL, BOOL, found, U32(c, 0));
	struct rql_scan_value v = {.id = OP2(c, SUB, U32, found, U32(c, 1)), .kind = RQL_LANE_I32};
	uint32_t live = OP2(c, LOGICAL_AND, BOOL, c->live, there), index = OP1(c, U_CONVERT, U64, v.id);
	if (join->kind == RQL_SCAN_LEFT)
		v.valid = there;
	if (s->valid_of_payload)
		v.valid = and_valid(c, v.valid,
		                    CALL(c, "scan_bit_at", RQL_SPIRV_BOOL,
		                         table_param(c, s->valid_of_payload, (payloads + 63) / 64 * 8), index, live));
	if (s->value_of_payload) {
		v.kind = RQL_LANE_I64;
		v.id = CALL(c, "scan_u64_at", RQL_SPIRV_U64, table_param(c, s->value_of_payload, payloads * 8), index, live);
	}
	return v;
}

struct rql_scan_value rql_scan_code_source(struct rql_scan_coder *c, const struct rql_scan_source *s)
{
	if (s->kind == RQL_SCAN_COLUMN)
		return load_column(c, c->plan->scan->column_of[s->index]);
	if (s->kind == RQL_SCAN_JOIN)
		return payload_value(c, s);
	if (!c->results[s->index])
		rql_scan_code_program(c, s->index);
	return c->results[s->index] ? c->results[s->index][s->result] : (struct rql_scan_value){0};
}

struct rql_scan_value rql_scan_code_convert(struct rql_scan_coder *c, struct rql_scan_value v, enum rql_lane_kind kind)
{
	enum rql_lane_kind from = v.kind;
	bool real = from == RQL_LANE_F32 || from == RQL_LANE_F64, to_real = kind == RQL_LANE_F32 || kind == RQL_LANE_F64;
	v.kind = kind;
	if (from == kind)
		return v;
	if (kind == RQL_LANE_BOOL)
		v.id = OP2(c, NOT_EQUAL, BOOL, v.id, from == RQL_LANE_I32 ? U32(c, 0) : U64(c, 0));
	else if (from == RQL_LANE_BOOL)
		v = rql_scan_code_convert(
			c,
			(struct rql_scan_value){.id = rql_spirv_select(&c->m, RQL_SPIRV_U32, v.id, U32(c, 1), U32(c, 0)),
		                            .valid = v.valid,
		                            .kind = RQL_LANE_I32},
			kind);
	else
		v.id = rql_spirv_op1(&c->m,
		                     real && to_real ? RQL_SPIRV_F_CONVERT
		                     : to_real       ? RQL_SPIRV_S_TO_F
		                                     : RQL_SPIRV_S_CONVERT,
		                     rql_scan_code_type(kind), v.id);
	return v;
}

/* ---- single rows ---- */

static uint32_t real_key(struct rql_scan_coder *c, uint32_t real)
{
	return CALL(c, "scan_real_key", RQL_SPIRV_U64, OP1(c, BITCAST, U64, real));
}

static uint64_t key_of_real(double real)
{
	uint64_t bits;
	memcpy(&bits, &real, sizeof(bits));
	if (real != real)
		return UINT64_C(0xfff8000000000000);
	return real == 0 ? UINT64_C(1) << 63 : bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
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
		        ? step->filter.set[code / 64] >> code % 64 & 1
		        : step->filter.code_least <= code && code <= step->filter.code_greatest)
			set[code / 64] |= UINT64_C(1) << code % 64;
	return CALL(c, "scan_bit_at", RQL_SPIRV_BOOL, table_param(c, set, words * 8ull), OP1(c, U_CONVERT, U64, v.id),
	            c->live);
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
		uint32_t key = real_key(c, v.id);
		pass = OP2(c, LOGICAL_AND, BOOL,
		           OP2(c, U_LESS_EQUAL, BOOL, rql_scan_code_param(c, key_of_real(f->real_least), false), key),
		           OP2(c, U_LESS_EQUAL, BOOL, key, rql_scan_code_param(c, key_of_real(f->real_greatest), false)));
	} else if (f->kind == RQL_FILTER_INTEGER_RANGE) {
		pass = within(c, v.id, f->least, f->greatest);
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
	if (bound->map->dense && !late->found) {
		uint32_t live, key = join_key(c, join, &live), map = rql_scan_code_param(c, map_record(c, join), true);
		has = CALL(c, "scan_map_has", RQL_SPIRV_BOOL, map, key, live);
	} else {
		has = OP2(c, NOT_EQUAL, BOOL, look_up(c, join), U32(c, 0));
	}
	return bound->kind == RQL_SCAN_ANTI ? OP1(c, LOGICAL_NOT, BOOL, has) : has;
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
			struct rql_scan_source s = {.kind = RQL_SCAN_PROGRAM, .index = step->index};
			struct rql_scan_value v = rql_scan_code_source(c, &s);
			pass = and_valid(c, v.id, v.valid);
		}
		c->live = OP2(c, LOGICAL_AND, BOOL, c->live, pass);
	}
}

/* ---- groups ---- */

/* The part's key code as u64; live rows whose key is out of range fail. */
static uint32_t code_key(struct rql_scan_coder *c, const struct rql_scan_part *part)
{
	struct rql_scan_value v = rql_scan_code_source(c, &part->source);
	bool coded = part->source.kind == RQL_SCAN_COLUMN &&
	             c->plan->scan->columns[c->plan->scan->column_of[part->source.index]].kind == RQL_STORE_CODED;
	uint32_t key, live = c->live, valid = coded ? 0 : v.valid;
	if (valid)
		live = OP2(c, LOGICAL_AND, BOOL, live, valid);
	if (part->key_of_code) {
		uint32_t table = table_param(c, part->key_of_code, part->codes * sizeof(uint32_t));
		key = OP1(c, U_CONVERT, U64, CALL(c, "scan_u32_at", RQL_SPIRV_U32, table, OP1(c, U_CONVERT, U64, v.id), live));
	} else {
		key = rql_scan_code_convert(c, v, RQL_LANE_I64).id;
		if (part->least)
			key = OP2(c, SUB, U64, key, rql_scan_code_param(c, (uint64_t)part->least, false));
		uint32_t outside =
			OP1(c, LOGICAL_NOT, BOOL, OP2(c, U_LESS, BOOL, key, rql_scan_code_param(c, part->key_count, false)));
		uint32_t failed = OP2(c, LOGICAL_AND, BOOL, outside, live);
		(void)CALL(c, "scan_fail", RQL_SPIRV_VOID, failed);
		key = rql_spirv_select(&c->m, RQL_SPIRV_U64, outside, U64(c, 0), key);
	}
	if (valid)
		key = rql_spirv_select(&c->m, RQL_SPIRV_U64, valid, key, rql_scan_code_param(c, part->null_key, false));
	return key;
}

static uint32_t code_group(struct rql_scan_coder *c)
{
	const struct rql_scan *scan = c->plan->scan;
	uint32_t group = 0;
	for (uint32_t p = 0; p < scan->part_count; p++) {
		uint32_t key = code_key(c, &scan->parts[p]);
		if (scan->parts[p].stride != 1)
			key = OP2(c, MUL, U64, key, rql_scan_code_param(c, scan->parts[p].stride, false));
		group = group ? OP2(c, ADD, U64, group, key) : key;
	}
	return group ? group : U64(c, 0);
}

static void code_slot(struct rql_scan_coder *c, const struct rql_scan_slot *slot)
{
	uint32_t live = c->live, low = U64(c, 1), high = U64(c, 0), kind = c->plan->kinds[slot->word];
	struct rql_scan_value v = {0};
	if (slot->operand != RQL_SCAN_NONE)
		v = rql_scan_code_source(c, &c->plan->scan->operands[slot->operand].source);
	if (slot->filter != RQL_SCAN_NONE) {
		struct rql_scan_source s = {.kind = RQL_SCAN_PROGRAM, .index = slot->filter};
		struct rql_scan_value truth = rql_scan_code_source(c, &s);
		live = OP2(c, LOGICAL_AND, BOOL, live, and_valid(c, truth.id, truth.valid));
	}
	live = and_valid(c, live, v.valid);
	bool real = c->plan->scan->operands && slot->operand != RQL_SCAN_NONE &&
	            c->plan->scan->operands[slot->operand].lane == RQL_LANE_F64;
	if (slot->kind != RQL_SCAN_SLOT_COUNT) {
		low = rql_scan_code_convert(c, v, real ? RQL_LANE_F64 : RQL_LANE_I64).id;
		if (real)
			low = slot->kind == RQL_SCAN_SLOT_SUM_REAL ? OP1(c, BITCAST, U64, low) : real_key(c, low);
		else if (kind == RQL_SCAN_WORD_MIN || kind == RQL_SCAN_WORD_MAX)
			low = OP2(c, XOR, U64, low, U64(c, UINT64_C(1) << 63));
		if (kind == RQL_SCAN_WORD_WIDE)
			high = OP2(c, SHIFT_RIGHT_SIGNED, U64, low, U32(c, 63));
	}
	(void)CALL(c, "scan_add", RQL_SPIRV_VOID, U32(c, kind), U32(c, slot->word), low, high, live);
}

static void code_row(struct rql_scan_coder *c)
{
	const struct rql_scan *scan = c->plan->scan;
	uint32_t params[3] = {0};
	rql_spirv_begin(&c->m, "scan_take_row", params, 3);
	c->item = params[0];
	c->row = params[1];
	c->live = params[2];
	code_lates(c);
	uint32_t group = code_group(c);
	/* The values are there before the first addition, so that their loads are in flight at once. */
	for (uint32_t o = 0; o < scan->operand_count; o++)
		(void)rql_scan_code_source(c, &scan->operands[o].source);
	(void)CALL(c, "scan_begin_row", RQL_SPIRV_VOID, group, c->live);
	for (uint32_t s = 0; s < scan->slot_count; s++)
		code_slot(c, &scan->slots[s]);
	rql_spirv_end(&c->m, 0);
}

/* ---- kernels ---- */

/* Every kernel that was ever made, by its code. Pipelines are kept by the device under their kernel's address and are
 * as long-lived, so kernels stay too; a program has a few dozen shapes of requests, and at most so many. */
#define KERNELS_MAX 1024u
static pthread_mutex_t kernels_lock = PTHREAD_MUTEX_INITIALIZER;
static struct known_kernel {
	struct known_kernel *next;
	struct rql_kernel kernel;
} * kernels;
static uint32_t kernel_count;

/* Takes the words. */
static rql_status kernel_of(uint32_t *words, uint64_t bytes, const struct rql_kernel **out, struct rql_error *err)
{
	rql_status status = RQL_OK;
	pthread_mutex_lock(&kernels_lock);
	struct known_kernel *k = kernels;
	while (k && (k->kernel.spirv_bytes != bytes || memcmp(k->kernel.spirv, words, bytes) != 0))
		k = k->next;
	if (k) {
		free(words);
	} else if (kernel_count >= KERNELS_MAX) {
		free(words);
		status = rql_error_set(err, RQL_ERROR_LIMIT,
		                       "more than %u kinds of scans were made for devices by this process", KERNELS_MAX);
	} else if (!(k = calloc(1, sizeof(*k)))) {
		free(words);
		status = rql_error_memory(err, sizeof(*k), "a kernel");
	} else {
		k->kernel = (struct rql_kernel){
			.name = "scan.request", .spirv = words, .spirv_bytes = bytes, .args_bytes = sizeof(struct rql_scan_args)};
		k->next = kernels;
		kernels = k;
		kernel_count++;
	}
	pthread_mutex_unlock(&kernels_lock);
	if (status == RQL_OK)
		*out = &k->kernel;
	return status;
}

rql_status rql_scan_code(struct rql_scan_plan *plan, const struct rql_kernel **out, struct rql_error *err)
{
	const struct rql_scan *scan = plan->scan;
	struct rql_scan_coder c = {.plan = plan};
	uint32_t *words = NULL;
	uint64_t bytes = 0;
	c.columns = RQL_NEW_ARRAY(plan->arena, struct rql_scan_value, scan->column_count);
	c.found = RQL_NEW_ARRAY(plan->arena, uint32_t, scan->join_count);
	c.results = RQL_NEW_ARRAY(plan->arena, struct rql_scan_value *, scan->program_count);
	if (!c.columns || !c.found || !c.results)
		return rql_error_memory(err, scan->column_count * sizeof(*c.columns), "a kernel's code");
	if (plan->real)
		rql_spirv_open(&c.m, rql_spv_scan_kernel_real_comp, sizeof(rql_spv_scan_kernel_real_comp));
	else
		rql_spirv_open(&c.m, rql_spv_scan_kernel_plain_comp, sizeof(rql_spv_scan_kernel_plain_comp));
	code_tests(&c);
	code_row(&c);
	rql_status status = rql_spirv_finish(&c.m, &words, &bytes, err);
	rql_spirv_free(&c.m);
	if (status == RQL_OK && (c.out_of_memory || plan->blob.out_of_memory)) {
		free(words);
		return rql_error_memory(err, plan->blob.room, "a query's tables");
	}
	return status == RQL_OK ? kernel_of(words, bytes, out, err) : status;
}

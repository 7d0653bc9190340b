/* Expressions in a scan's generated code against the CPU's executor, value by value: random ones of every step that a GPU
 * takes, over rows with the ends of all types, infinities, NaN and NULLs, each row in a group of its own; and which of
 * them fail. The device is the one that RAYQL_TEST_DEVICE names, else vulkan:0, with the validation layer watching. */
#pragma GCC diagnostic ignored "-Wunused-function" /* of the world, only helpers are needed */
#include "scan_world.h"

#include <string.h>

#include "scan_device.h"

static int open_few(void **state)
{
	return open_keeping(state, "16");
}

/* ---- rows ---- */
#define ROWS 300u /* of random tables */
enum { ID, BIG_A, BIG_B, INT_A, INT_B, TINY, MONEY, DAY_OF, MOMENT, REAL_A, REAL_B, FLOAT_A, FLOAT_B, INPUTS };
#define DECIMAL_OF(w, s) ((struct rql_type){.id = RQL_TYPE_DECIMAL, .width = (w), .scale = (s)})
#define TYPE(name) rql_type_simple(RQL_TYPE_##name)

static struct rql_type type_of(uint32_t column)
{
	switch (column) {
	case BIG_A:
	case BIG_B:
		return TYPE(BIGINT);
	case TINY:
		return TYPE(TINYINT);
	case MONEY:
		return DECIMAL_OF(18, 4);
	case DAY_OF:
		return TYPE(DATE);
	case MOMENT:
		return TYPE(TIMESTAMP);
	case REAL_A:
	case REAL_B:
		return TYPE(DOUBLE);
	case FLOAT_A:
	case FLOAT_B:
		return TYPE(FLOAT);
	default:
		return TYPE(INTEGER);
	}
}

/* wild: the ends of the types and numbers of all magnitudes; else small ones, with which little overflows. */
static int64_t random_integer(uint32_t column, bool wild)
{
	static const int64_t edges[] = {INT64_MIN, INT64_MIN + 1, INT64_MAX, INT64_MAX - 1, -1, 0, 1, 2, -2, 10, 1000000};
	int64_t bits = (int64_t)roll(UINT64_MAX);
	if (column == MONEY)
		return wild ? bits % 1000000000000000000 >> roll(60) : bits % 2000000;
	if (column == DAY_OF)
		return roll(30) == 0 ? (roll(2) ? INT32_MAX : -INT32_MAX) : wild ? (int32_t)bits >> roll(20) : bits % 40000;
	if (column == MOMENT)
		return roll(30) == 0 ? (roll(2) ? INT64_MAX : -INT64_MAX)
		       : roll(4) == 0  ? (int64_t)roll(4000) * 86400000000 - 2000 * 86400000000 - (int64_t)roll(2)
		       : wild          ? bits >> roll(40)
		                       : bits % 4000000000000000;
	if (!wild)
		return bits % (column == TINY ? 12 : 2000);
	if (column == TINY)
		return (int8_t)bits;
	if (column == INT_A || column == INT_B)
		return roll(3) ? (int32_t)bits >> roll(31) : (int32_t)(edges[roll(11)] >> (roll(2) ? 32 : 0));
	return roll(3) ? bits >> roll(63) : edges[roll(11)];
}

static double random_real(bool wild)
{
	static const double edges[] = {0.0,    -0.0,   0.5,     -0.5,    1.5,  2.5,   -2.5,      127.5, -128.5, 9223372036854775807.0,
	                               4.9e-324, 1e308, -1e308, 2.2e-308, 1e-310, 3e9, 2147483647.5, 1e19,  INFINITY, NAN};
	uint64_t bits = roll(UINT64_MAX);
	double any;
	memcpy(&any, &bits, 8);
	return !wild ? (double)(int64_t)(bits % 20000) / 8 - 1000
	       : roll(3) == 0 ? edges[roll(20)]
	       : roll(3) == 0 ? any
	                      : (double)(int64_t)bits / (double)(UINT64_C(1) << roll(63));
}

/* With the ends of FLOAT, and what lies between two of them. */
static float random_float(bool wild)
{
	static const float edges[] = {1e-45f, -1e-45f, 1.1754944e-38f, 1.1754942e-38f, 3.4028235e38f, -3.4028235e38f, 16777216,
	                              0.1f};
	uint32_t bits = (uint32_t)roll(UINT64_MAX);
	float any;
	memcpy(&any, &bits, 4);
	return !wild || roll(3) == 0 ? (float)random_real(wild) : roll(3) ? any : edges[roll(8)];
}

static struct rql_batch *batch_new(uint32_t rows)
{
	struct rql_type types[INPUTS];
	for (uint32_t c = 0; c < INPUTS; c++)
		types[c] = type_of(c);
	struct rql_batch *batch = need(rql_batch_new(INPUTS, types, rows));
	for (uint32_t c = 0; c < INPUTS; c++)
		memset(batch->columns[c].data, 0, rows * rql_type_bytes(types[c]));
	for (uint32_t r = 0; r < rows; r++)
		((int32_t *)batch->columns[ID].data)[r] = (int32_t)r;
	return batch;
}

/* Releases the batch. */
static struct rql_store *store_of(struct rql_batch *batch)
{
	struct rql_store_column_spec columns[INPUTS];
	struct rql_error err = {0};
	struct rql_store_builder *builder = NULL;
	struct rql_store *store = NULL;
	for (uint32_t c = 0; c < INPUTS; c++)
		columns[c] = (struct rql_store_column_spec){
			.name = "x", .type = type_of(c), .coding = RQL_STORE_VALUES, .encoding = RQL_STORE_AUTO};
	struct rql_store_spec spec = {.name = "columns of x", .column_count = INPUTS, .columns = columns};
	ok(rql_store_builder_new(&spec, &builder, &err), &err);
	ok(rql_store_builder_add(builder, 0, batch, NULL, &err), &err);
	ok(rql_store_builder_finish(builder, &store, &err), &err);
	rql_batch_release(batch);
	return store;
}

static struct rql_store *make_rows(bool wild)
{
	struct rql_batch *batch = batch_new(ROWS);
	for (uint32_t c = BIG_A; c < INPUTS; c++)
		for (uint32_t r = 0; r < ROWS; r++) {
			size_t width = rql_type_bytes(type_of(c));
			double real = random_real(wild);
			float single = random_float(wild);
			int64_t integer = random_integer(c, wild);
			const void *value = c >= FLOAT_A ? (void *)&single : c >= REAL_A ? (void *)&real : (void *)&integer;
			memcpy((char *)batch->columns[c].data + r * width, value, width);
			if (roll(12) == 0)
				assert_true(rql_batch_set_null(batch, c, r));
		}
	return store_of(batch);
}

/* ---- expressions ---- */
struct writer {
	struct rql_builder *b;
	const struct rql_store_snapshot *snapshot;
};
typedef rql_value_number maker(struct writer *w, unsigned depth);
static maker big, integer, real, single, money, day, moment, truth;

static rql_value_number input(struct writer *w, uint32_t column)
{
	const struct rql_store_column *c = &w->snapshot->columns[column];
	struct rql_input_spec spec = {
		.column = column, .type = c->type, .bounds = {c->least, c->greatest}, .nullable = c->nulls > 0};
	if (column >= REAL_A)
		spec.kind = column >= FLOAT_A ? RQL_LANE_F32 : RQL_LANE_F64;
	else
		assert_true(rql_lane_kind_of(c->type, spec.bounds, &spec.kind));
	return rql_build_input(w->b, &spec);
}

static rql_value_number constant(struct writer *w, struct rql_type type, int64_t v)
{
	struct rql_value value = {.type = type, .integer = v};
	return rql_build_constant(w->b, &value);
}

static rql_value_number random_constant(struct writer *w, struct rql_type type)
{
	static const int64_t few[] = {-1, 0, 1, 2, 3, 7, 10, 100, -10, 86400, 127};
	return constant(w, type, few[roll(11)]);
}

/* x or y by a condition, under masks: rows that a branch is not for must not fail in it. */
static rql_value_number either(struct writer *w, maker *make, unsigned depth)
{
	rql_value_number when = truth(w, depth);
	rql_build_push(w->b, RQL_MASK_TRUE, when);
	rql_value_number x = make(w, depth);
	rql_build_pop(w->b);
	rql_build_push(w->b, RQL_MASK_NOT_TRUE, when);
	rql_value_number y = make(w, depth);
	rql_build_pop(w->b);
	return rql_build_choose(w->b, when, x, y);
}

static rql_value_number arithmetic(struct writer *w, maker *make, unsigned depth, struct rql_type type)
{
	static const char *const ops[] = {"//", "%", "//", "%", "+", "-", "*"};
	rql_value_number x = make(w, depth - 1), y = roll(2) ? make(w, depth - 1) : random_constant(w, type);
	return rql_build_arithmetic(w->b, ops[roll(7)], x, y, type, true);
}

static rql_value_number big(struct writer *w, unsigned depth)
{
	if (!depth || roll(6) == 0)
		return input(w, BIG_A + (uint32_t)roll(2));
	switch (roll(8)) {
	case 0:
		return rql_build_cast(w->b, (maker *const[]){real, single, money}[roll(3)](w, depth - 1), TYPE(BIGINT), roll(3) != 0);
	case 1:
		return rql_build_date_part(w->b, (enum rql_date_part)roll(RQL_PART_HOUR), day(w, depth - 1), TYPE(BIGINT));
	case 2:
		return rql_build_date_part(w->b, (enum rql_date_part)(roll(2) ? RQL_PART_HOUR + roll(3) : roll(RQL_PART_COUNT)),
		                           moment(w, depth - 1), TYPE(BIGINT));
	case 3:
		return either(w, big, depth - 1);
	case 4:
		return rql_build_cast(w->b, integer(w, depth - 1), TYPE(BIGINT), false);
	default:
		return arithmetic(w, big, depth, TYPE(BIGINT));
	}
}

static rql_value_number integer(struct writer *w, unsigned depth)
{
	if (!depth || roll(5) == 0)
		return input(w, INT_A + (uint32_t)roll(2));
	switch (roll(5)) {
	case 0:
		return rql_build_cast(w->b, roll(2) ? real(w, depth - 1) : big(w, depth - 1), TYPE(INTEGER), roll(4) != 0);
	case 1: {
		rql_value_number tiny = rql_build_cast(w->b, money(w, depth - 1), TYPE(TINYINT), true);
		tiny = rql_build_arithmetic(w->b, roll(2) ? "//" : "%", roll(2) ? tiny : input(w, TINY), input(w, TINY),
		                            TYPE(TINYINT), true);
		return rql_build_cast(w->b, tiny, TYPE(INTEGER), false);
	}
	case 2:
		return either(w, integer, depth - 1);
	default:
		return arithmetic(w, integer, depth, TYPE(INTEGER));
	}
}

static rql_value_number real(struct writer *w, unsigned depth)
{
	static const char *const ops[] = {"%", "%", "//", "/", "+", "-", "*"};
	if (!depth || roll(5) == 0)
		return input(w, REAL_A + (uint32_t)roll(2));
	if (roll(4) == 0)
		return rql_build_cast(w->b, (maker *const[]){integer, big, single}[roll(3)](w, depth - 1), TYPE(DOUBLE), false);
	if (roll(5) == 0)
		return either(w, real, depth - 1);
	return rql_build_arithmetic(w->b, ops[roll(7)], real(w, depth - 1), real(w, depth - 1), TYPE(DOUBLE), roll(2));
}

static rql_value_number single(struct writer *w, unsigned depth)
{
	static const char *const ops[] = {"+", "-", "*", "/", "%", "//", "*"};
	if (!depth || roll(5) == 0)
		return input(w, FLOAT_A + (uint32_t)roll(2));
	if (roll(3) == 0)
		return rql_build_cast(w->b, (maker *const[]){integer, big, real}[roll(3)](w, depth - 1), TYPE(FLOAT), roll(4) != 0);
	if (roll(5) == 0)
		return roll(2) ? rql_build_abs(w->b, single(w, depth - 1)) : either(w, single, depth - 1);
	return rql_build_arithmetic(w->b, ops[roll(7)], single(w, depth - 1), single(w, depth - 1), TYPE(FLOAT), roll(2));
}

/* Always DECIMAL(18, 4). */
static rql_value_number money(struct writer *w, unsigned depth)
{
	rql_value_number x = input(w, MONEY);
	if (!depth || roll(4) == 0)
		return x;
	if (roll(2))
		return rql_build_arithmetic(w->b, roll(2) ? "%" : "//", money(w, depth - 1), money(w, depth - 1),
		                            DECIMAL_OF(18, 4), true);
	/* there and back, rounded */
	uint8_t scale = (uint8_t)roll(4), width = (uint8_t)(18 - roll(3));
	x = rql_build_cast(w->b, money(w, depth - 1), DECIMAL_OF(width, scale), roll(2));
	return rql_build_cast(w->b, x, DECIMAL_OF(18, 4), roll(4) != 0);
}

static rql_value_number day(struct writer *w, unsigned depth)
{
	if (!depth || roll(3) == 0)
		return input(w, DAY_OF);
	if (roll(3) == 0)
		return rql_build_cast(w->b, moment(w, depth - 1), TYPE(DATE), false);
	return rql_build_date_trunc(w->b, (enum rql_date_part)roll(RQL_PART_WEEK + 1),
	                            roll(2) ? day(w, depth - 1) : moment(w, depth - 1), TYPE(DATE));
}

static rql_value_number moment(struct writer *w, unsigned depth)
{
	if (!depth || roll(3) == 0)
		return input(w, MOMENT);
	if (roll(3) == 0)
		return rql_build_cast(w->b, day(w, depth - 1), TYPE(TIMESTAMP), roll(3) != 0);
	return rql_build_date_trunc(w->b, (enum rql_date_part)roll(RQL_PART_WEEK + 1),
	                            roll(2) ? day(w, depth - 1) : moment(w, depth - 1), TYPE(TIMESTAMP));
}

/* Short lists and long ones, values that occur among them, and NULL. */
static rql_value_number in_list(struct writer *w, unsigned depth)
{
	struct rql_value list[100];
	static const rql_type_id types[] = {RQL_TYPE_BIGINT, RQL_TYPE_INTEGER, RQL_TYPE_DOUBLE, RQL_TYPE_FLOAT};
	static maker *const makers[] = {big, integer, real, single};
	uint32_t kind = (uint32_t)roll(4), count = roll(2) ? 1 + (uint32_t)roll(10) : 17 + (uint32_t)roll(80);
	for (uint32_t i = 0; i < count; i++) {
		list[i] = (struct rql_value){.type = rql_type_simple(types[kind])};
		if (kind < 2)
			list[i].integer = random_integer(kind ? INT_A : BIG_A, roll(2));
		else
			list[i].real = kind == 3 ? (double)random_float(roll(2)) : random_real(roll(2));
	}
	if (roll(4) == 0)
		list[roll(count)] = rql_value_null(rql_type_simple(types[kind]));
	return rql_build_in(w->b, makers[kind](w, depth), list, count);
}

static rql_value_number truth(struct writer *w, unsigned depth)
{
	unsigned below = depth ? depth - 1 : 0;
	enum rql_step_op op = (enum rql_step_op)(RQL_STEP_EQ + roll(8));
	switch (roll(6)) {
	case 5:
		return rql_build_compare(w->b, op, single(w, below), single(w, below));
	case 0:
		return in_list(w, below);
	case 1:
		return rql_build_compare(w->b, op, real(w, below), real(w, below));
	case 2:
		return rql_build_compare(w->b, op, day(w, below), day(w, below));
	case 3:
		return rql_build_is_null(w->b, integer(w, below), roll(2));
	default:
		return rql_build_compare(w->b, op, big(w, below), big(w, below));
	}
}

/* ---- requests ---- */
static unsigned ran, failed, unsupported, refused, steps_seen[RQL_STEP_COUNT];

static bool is_valid(const struct rql_agg_values *v, uint64_t g)
{
	return !v->valid || (v->valid[g / 64] >> g % 64 & 1);
}

/* The groups of both ascend by the id; `at`: which aggregate of b. */
static void same_answer(const struct rql_port *a, const struct rql_port *b, uint32_t at, const struct rql_program *p)
{
	assert_int_equal(a->group_count, b->group_count);
	for (uint64_t g = 0; g < a->group_count; g++) {
		const struct rql_agg_values *x = &a->aggs[0], *y = &b->aggs[at];
		bool known = is_valid(x, g), same = known == is_valid(y, g) && a->keys[0][g] == b->keys[0][g];
		if (same && known)
			same = x->kind == RQL_MEASURE_REAL ? order_real(x->real[g], y->real[g]) == 0 : x->integer[g] == y->integer[g];
		if (same)
			continue;
		struct rql_strbuf text = {0};
		rql_program_print(&text, p);
		if (x->kind == RQL_MEASURE_REAL)
			fail_msg("row %u: %.17g, not %.17g:\n%s", a->keys[0][g], y->real[g], x->real[g], rql_strbuf_text(&text));
		fail_msg("row %u: valid %d, %lld, not %d, %lld:\n%s", a->keys[0][g], is_valid(y, g), (long long)y->integer[g],
		         known, (long long)x->integer[g], rql_strbuf_text(&text));
	}
}

/* Expressions that share a kernel, which costs far more than what it computes; their rows are of one range. */
#define TOGETHER 10u
struct together {
	const struct rql_store_snapshot *snapshot;
	struct rql_arena *arena;
	struct rql_conjunct some;
	uint32_t count;
	struct rql_row_program programs[TOGETHER];
	struct rql_port want[TOGETHER];
};

/* part: of rows in some range, and rows outside must not fail. */
static struct together together_of(const struct rql_store_snapshot *snapshot, bool part)
{
	struct together t = {.snapshot = snapshot, .arena = need(rql_arena_new())};
	const rql_int128 rows = (rql_int128)snapshot->rows;
	t.some = (struct rql_conjunct){.test = RQL_TEST_IN_RANGE, .index = ID, .least = part ? roll(ROWS) : 0};
	t.some.greatest = part && roll(2) ? t.some.least + (rql_int128)roll(30) : rows;
	return t;
}

/* Minimum of each row and expression. On the CPU and, unless it is NULL, on the device: false if that refuses. */
static bool run_minima(struct together *t, struct rql_row_program *programs, uint32_t count, rql_status *cpu_status,
                       struct rql_port *want, rql_status *status, struct rql_port *have, struct rql_error *err)
{
	struct rql_device host = cpu(RQL_SIMD_AVX2, 0);
	struct rql_group_key key = {.source.index = ID, .key_count = (uint32_t)t->snapshot->rows, .null_key = RQL_NONE};
	struct rql_agg aggs[TOGETHER] = {0};
	for (uint32_t i = 0; i < count; i++)
		aggs[i] = (struct rql_agg){.kind = RQL_AGG_MIN, .source = {.kind = RQL_SOURCE_PROGRAM, .index = i}};
	struct rql_request request = {.snapshot = t->snapshot,
	                              .program_count = count,
	                              .programs = programs,
	                              .conjunct_count = 1,
	                              .conjuncts = &t->some,
	                              .group_count = 1,
	                              .groups = &key,
	                              .agg_count = count,
	                              .aggs = aggs};
	const char *why = NULL;
	if (rql_method_scan_compute.offer(&request, gpu, &why) == RQL_OFFER_NO) {
		assert_string_equal(why, "an expression has 128-bit integers inside");
		return false;
	}
	if (want) {
		struct rql_scan *scan = NULL;
		struct rql_scan_counts counts;
		ok(rql_scan_prepare(&request, &host, &scan, err), err);
		*cpu_status = rql_scan_run(scan, &host, NULL, t->arena, NULL, want, &counts, err);
		rql_error_clear(err);
		rql_scan_free(scan);
	}
	if (have) {
		struct rql_prepared *prepared = NULL;
		ok(rql_method_scan_compute.prepare(&request, gpu, &prepared, err), err);
		*status = rql_method_scan_compute.run(prepared, gpu, &(struct rql_run){.arena = t->arena}, have, err);
		rql_method_scan_compute.free(prepared);
	}
	return true;
}

/* Those that fail on no row, in one kernel. */
static void compare_together(struct together *t)
{
	struct rql_port have = {0};
	struct rql_error err = {0};
	rql_status status = RQL_OK;
	if (t->count) {
		assert_true(run_minima(t, t->programs, t->count, NULL, NULL, &status, &have, &err));
		ok(status, &err);
	}
	for (uint32_t i = 0; i < t->count; i++) {
		const struct rql_program *p = t->programs[i].program;
		same_answer(&t->want[i], &have, i, p);
		ran++;
		for (uint32_t s = 0; s < p->step_count; s++)
			steps_seen[p->steps[s].op]++;
	}
	rql_arena_free(t->arena);
}

/* The CPU's answer; one that fails there must fail in a kernel of its own. The program is of t's arena. */
static void add_program(struct together *t, const struct rql_program *p)
{
	struct rql_source *inputs = need(RQL_NEW_ARRAY(t->arena, struct rql_source, p->input_count + 1));
	struct rql_error err = {0};
	struct rql_port have = {0};
	rql_status status = RQL_OK, now = RQL_OK;
	assert_true(t->count < TOGETHER);
	for (uint32_t i = 0; i < p->input_count; i++)
		inputs[i].index = p->inputs[i].column;
	t->programs[t->count] = (struct rql_row_program){.program = p, .inputs = inputs};
	if (!run_minima(t, &t->programs[t->count], 1, &status, &t->want[t->count], NULL, NULL, &err)) {
		refused++;
		return;
	}
	if (status == RQL_OK) {
		t->count++;
		return;
	}
	assert_int_equal(status, RQL_ERROR_HOST);
	assert_true(run_minima(t, &t->programs[t->count], 1, NULL, NULL, &now, &have, &err));
	if (now != status) {
		struct rql_strbuf text = {0};
		rql_program_print(&text, p);
		fail_msg("%s, not %s: %s\n%s", rql_status_name(now), rql_status_name(status), rql_error_message(&err),
		         rql_strbuf_text(&text));
	}
	rql_error_clear(&err);
	failed++;
}

static void random_program(struct together *t)
{
	static maker *const makers[] = {big, integer, real, single, money, day, moment, truth};
	struct rql_error err = {0};
	struct writer w = {.b = need(rql_builder_new(t->arena)), .snapshot = t->snapshot};
	rql_value_number v = makers[roll(8)](&w, 1 + (unsigned)roll(3));
	if (rql_builder_status(w.b, &err) == RQL_OK && rql_builder_kind(w.b, v) == RQL_LANE_BOOL)
		v = rql_build_cast(w.b, v, TYPE(INTEGER), false);
	struct rql_program *p = NULL;
	if (rql_builder_status(w.b, &err) == RQL_OK && rql_builder_finish(w.b, &v, 1, &p, &err) == RQL_OK &&
	    p->step_count > 0)
		add_program(t, p);
	else
		unsupported++;
	rql_error_clear(&err);
}

static void test_random(void **state)
{
	static const enum rql_step_op wanted[] = {RQL_STEP_DIV,   RQL_STEP_MOD,    RQL_STEP_SCALE_DOWN, RQL_STEP_ROUND,
	                                          RQL_STEP_DAYS,  RQL_STEP_MICROS, RQL_STEP_DATE_TRUNC, RQL_STEP_DATE_PART,
	                                          RQL_STEP_TIME_PART, RQL_STEP_IN_LIST, RQL_STEP_CHOOSE};
	const char *from = getenv("RAYQL_TEST_SEED"), *more = getenv("RAYQL_TEST_CASES");
	uint64_t first = from ? strtoull(from, NULL, 10) : 1, cases = more ? strtoull(more, NULL, 10) : SLOW ? 3 : is_long() ? 40 : 5;
	(void)state;
	for (uint64_t seed = first; seed < first + cases; seed++) {
		random_state = seed * UINT64_C(0x9e3779b97f4a7c15);
		struct rql_store *store = make_rows(seed % 2);
		const struct rql_store_snapshot *snapshot = rql_store_snapshot(store);
		for (unsigned group = 0; group < 3; group++) {
			struct together t = together_of(snapshot, true);
			for (unsigned i = 0; i < TOGETHER; i++)
				random_program(&t);
			compare_together(&t);
		}
		rql_store_snapshot_release(snapshot);
		rql_store_release(store);
	}
	print_message("%u ran, %u failed on both, %u refused, %u not programs\n", ran, failed, refused, unsupported);
	assert_true(ran > 8 * cases && failed > 0);
	if (from || more || SLOW)
		return;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
		if (!steps_seen[wanted[i]])
			fail_msg("no step %u has run", wanted[i]);
}

/* ---- what random rows may miss ---- */

/* Expressions over all rows of a batch, which is released. */
static void compare_all(struct rql_batch *batch, rql_value_number (*make)(struct writer *w, unsigned which),
                        unsigned count)
{
	struct rql_store *store = store_of(batch);
	const struct rql_store_snapshot *snapshot = rql_store_snapshot(store);
	for (unsigned which = 0; which < count;) {
		struct together t = together_of(snapshot, false);
		for (unsigned i = 0; i < TOGETHER && which < count; i++, which++) {
			struct rql_error err = {0};
			struct writer w = {.b = need(rql_builder_new(t.arena)), .snapshot = snapshot};
			rql_value_number v = make(&w, which);
			struct rql_program *p = NULL;
			ok(rql_builder_status(w.b, &err), &err);
			ok(rql_builder_finish(w.b, &v, 1, &p, &err), &err);
			add_program(&t, p);
		}
		compare_together(&t);
	}
	rql_store_snapshot_release(snapshot);
	rql_store_release(store);
}

static rql_value_number divide_ends(struct writer *w, unsigned which)
{
	struct rql_type type = which < 2 ? TYPE(BIGINT) : TYPE(INTEGER);
	return rql_build_arithmetic(w->b, which % 2 ? "%" : "//", input(w, which < 2 ? BIG_A : INT_A),
	                            input(w, which < 2 ? BIG_B : INT_B), type, true);
}

static rql_value_number remainders_of_reals(struct writer *w, unsigned which)
{
	return rql_build_arithmetic(w->b, "%", input(w, REAL_A), input(w, REAL_B), TYPE(DOUBLE), which);
}

/* Every pair of ends, of numbers beside powers of two and of reals of all magnitudes. The least by -1 is an error: once
 * left out, once alone. */
static void test_ends(void **state)
{
	enum { EDGES = 24, REALS = 26, PAIRS = REALS * REALS };
	static const int64_t edges[EDGES] = {INT64_MIN,  INT64_MIN + 1, INT64_MAX, INT64_MAX - 1, -1, 0, 1, 2, -2, 3, -3, 10,
	                                     -10, INT32_MIN, INT32_MAX, INT64_C(1) << 32, (INT64_C(1) << 32) - 1,
	                                     -(INT64_C(1) << 32), 4294967297, -4294967297, 999999999999, -86400000000,
	                                     INT64_C(1) << 53, 7};
	static const double reals[REALS] = {0.0,     -0.0,   1.0,      -1.0,    0.1,     3.0,       -7.5,      1e300, 1e-300,
	                                    4.9e-324, 1e-323, 2.2e-308, 1.79e308, 5e-320,  INFINITY,  -INFINITY, NAN,   1e17,
	                                    9007199254740993.0, 3.14159, -2.71828, 1e-10, 65536.0, 1.0 / 3, 2.5e-310, 1e200};
	(void)state;
	for (unsigned failing = 0; failing < 2; failing++) {
		struct rql_batch *batch = batch_new(PAIRS);
		for (uint32_t r = 0; r < PAIRS; r++) {
			int64_t a = edges[r / EDGES % EDGES], b = edges[r % EDGES];
			int32_t x = (int32_t)a, y = (int32_t)b;
			((int64_t *)batch->columns[BIG_A].data)[r] = !failing && b == -1 && a == INT64_MIN ? 5 : a;
			((int64_t *)batch->columns[BIG_B].data)[r] = b;
			((int32_t *)batch->columns[INT_A].data)[r] = !failing && y == -1 && x == INT32_MIN ? 5 : x;
			((int32_t *)batch->columns[INT_B].data)[r] = y;
			((double *)batch->columns[REAL_A].data)[r] = reals[r / REALS];
			((double *)batch->columns[REAL_B].data)[r] = reals[r % REALS];
		}
		unsigned before = failed, done = ran;
		compare_all(batch, divide_ends, 4);
		assert_int_equal(failing ? failed - before : ran - done, 4);
	}
	struct rql_batch *batch = batch_new(PAIRS);
	for (uint32_t r = 0; r < PAIRS; r++) {
		((double *)batch->columns[REAL_A].data)[r] = reals[r / REALS];
		((double *)batch->columns[REAL_B].data)[r] = reals[r % REALS];
	}
	compare_all(batch, remainders_of_reals, 2);
}

/* 5: what a FLOAT makes of integers. */
static rql_value_number arithmetic_of_floats(struct writer *w, unsigned which)
{
	static const char *const ops[] = {"+", "-", "*", "/", "%"};
	if (which == 5)
		return rql_build_cast(w->b, input(w, BIG_A), TYPE(FLOAT), false);
	if (which == 6)
		return rql_build_cast(w->b, input(w, REAL_A), TYPE(FLOAT), true);
	return rql_build_arithmetic(w->b, ops[which], input(w, FLOAT_A), input(w, FLOAT_B), TYPE(FLOAT), true);
}

/* Many of all magnitudes, the smallest among them; integers and doubles half way between two FLOATs, and beside that. */
static void test_floats(void **state)
{
	enum { MANY = 20000 };
	(void)state;
	random_state = 9;
	struct rql_batch *batch = batch_new(MANY);
	for (uint32_t r = 0; r < MANY; r++) {
		int64_t digits = (int64_t)((roll(1u << 25) | 1u << 25) & ~UINT64_C(1)) + (int64_t)roll(2); /* 26 of them */
		uint32_t up = (uint32_t)roll(38);
		float a = random_float(true), b = random_float(true), small = (float)roll(1u << 24) * 1e-45f;
		((float *)batch->columns[FLOAT_A].data)[r] = r % 3 == 0 ? small : a;
		((float *)batch->columns[FLOAT_B].data)[r] = r % 3 == 1 ? small : r % 7 == 0 ? (float)roll(100) : b;
		((int64_t *)batch->columns[BIG_A].data)[r] =
			r % 2 ? random_integer(BIG_A, true) : (int64_t)((uint64_t)digits << up) + (int64_t)roll(3) - 1;
		((double *)batch->columns[REAL_A].data)[r] =
			r % 5 == 0 ? nextafter(ldexp((double)digits, -(int)roll(180)), roll(2) ? INFINITY : 0)
			: r % 2    ? ldexp((double)digits, 100 - (int)roll(300))
			           : random_real(true);
	}
	unsigned done = ran;
	compare_all(batch, arithmetic_of_floats, 7);
	assert_int_equal(ran - done, 7);
}

static rql_value_number truncate_day(struct writer *w, unsigned which)
{
	return rql_build_date_trunc(w->b, (enum rql_date_part)which, input(w, DAY_OF), TYPE(DATE));
}

static rql_value_number take_apart(struct writer *w, unsigned which)
{
	if (which == 0)
		return rql_build_cast(w->b, input(w, MOMENT), TYPE(DATE), false);
	if (which == 1)
		return rql_build_cast(w->b, input(w, DAY_OF), TYPE(TIMESTAMP), true);
	return rql_build_date_part(w->b, (enum rql_date_part)(RQL_PART_HOUR + which - 2), input(w, MOMENT), TYPE(BIGINT));
}

static rql_value_number round_real(struct writer *w, unsigned which)
{
	static const rql_type_id types[] = {RQL_TYPE_TINYINT, RQL_TYPE_INTEGER, RQL_TYPE_BIGINT, RQL_TYPE_UINTEGER};
	return rql_build_cast(w->b, input(w, REAL_A), rql_type_simple(types[which]), true);
}

static rql_value_number days_and_halves(struct writer *w, unsigned which)
{
	if (which <= RQL_PART_WEEK)
		return truncate_day(w, which);
	which -= RQL_PART_WEEK + 1;
	return which < 4 ? round_real(w, which) : take_apart(w, which - 4);
}

/* Days of four centuries and a few around the ends of DATE; microseconds around midnights and at the ends; halves and their neighbours around the ends of integers. */
static void test_days_and_halves(void **state)
{
	static const double around[] = {0, 127, -128, 2147483647, -2147483648, 4294967295, 9223372036854775807.0,
	                                -9223372036854775808.0, 4503599627370496, 1e6};
	(void)state;
	struct rql_batch *batch = batch_new(20000);
	for (uint32_t r = 0; r < 20000; r++) {
		static const int32_t far[] = {INT32_MIN, -INT32_MAX, INT32_MIN + 400, INT32_MAX - 800, -719162, -1000000400};
		int32_t day = r < 15000 ? -100000 + (int32_t)r * 13 + (int32_t)roll(13) : far[r % 6] + (int32_t)(r - 15000) / 6 % 800;
		double real = around[r % 10] + ((double)(r / 10 % 9) - 4) / 4;
		real = r % 7 == 0 ? nextafter(real, r % 2 ? INFINITY : -INFINITY) : real;
		((int32_t *)batch->columns[DAY_OF].data)[r] = day;
		((double *)batch->columns[REAL_A].data)[r] = real;
		((int64_t *)batch->columns[MOMENT].data)[r] =
			r % 3 == 0 ? (int64_t)(day % 100000000) * 86400000000 + (int64_t)roll(3) - 1 : random_integer(MOMENT, r % 2);
		((int64_t *)batch->columns[MOMENT].data)[r % 8] = (const int64_t[]){
			INT64_MIN, INT64_MAX, -INT64_MAX, INT64_MAX - 1, -1, 0, 86400000000 - 1, -86400000000}[r % 8];
	}
	unsigned done = ran;
	compare_all(batch, days_and_halves, RQL_PART_WEEK + 1 + 4 + 5);
	assert_int_equal(ran - done, RQL_PART_WEEK + 1 + 4 + 5);
}

int main(void)
{
	int skip = vulkan_skip_without(RQL_UNIT_COMPUTE);
	if (skip)
		return skip;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_floats),
		cmocka_unit_test(test_days_and_halves),
		cmocka_unit_test(test_random),
	};
	return cmocka_run_group_tests_name("unit.scan_expressions", tests, open_few, close_device);
}

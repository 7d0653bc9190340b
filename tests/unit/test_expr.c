/* Programs without a host: kernels of every instruction set agree, bounds decide kinds and checks, masks keep errors
 * away, the verifier refuses what could read or write elsewhere, dates are exact. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "expr/building/build.h"
#include "expr/expr_internal.h"

static struct rql_arena *arena;
static _Alignas(64) int32_t narrow[2][RQL_VECTOR_ROWS];
static _Alignas(64) int64_t wide[2][RQL_VECTOR_ROWS];
static uint64_t valid[RQL_VECTOR_WORDS];

static int set_up(void **state)
{
	(void)state;
	arena = rql_arena_new();
	return arena ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	rql_arena_free(arena);
	return 0;
}

static struct rql_type type_of(rql_type_id id)
{
	return rql_type_simple(id);
}

static rql_value_number input(struct rql_builder *b, uint32_t column, rql_type_id id, enum rql_lane_kind kind,
                              rql_int128 low, rql_int128 high)
{
	return rql_build_input(b, &(struct rql_input_spec){column, type_of(id), kind, {low, high}, true});
}

static rql_value_number number(struct rql_builder *b, rql_type_id id, rql_int128 v)
{
	return rql_build_constant(b, &(struct rql_value){.type = type_of(id), .integer = v});
}

static const struct rql_program *finished(struct rql_builder *b, rql_value_number v)
{
	struct rql_program *program = NULL;
	struct rql_error err = {0};
	if (rql_builder_finish(b, &v, 1, &program, &err) != RQL_OK)
		fail_msg("%s", rql_error_message(&err));
	return program;
}

static void expect_text(const struct rql_program *program, const char *expected)
{
	struct rql_strbuf text = {0};
	rql_program_print(&text, program);
	assert_string_equal(rql_strbuf_text(&text), expected);
	rql_strbuf_free(&text);
}

/* Columns 0 and 1 are narrow, 2 and 3 wide. */
static rql_status run(struct rql_program_state *state, const struct rql_program *program, const uint64_t *live,
                      const uint64_t *nulls, uint32_t rows, struct rql_error *err)
{
	struct rql_lanes lanes[8] = {{0}};
	for (uint32_t i = 0; i < program->input_count; i++) {
		uint32_t c = program->inputs[i].column;
		lanes[i] = (struct rql_lanes){c < 2 ? (const void *)narrow[c] : (const void *)wide[c - 2], nulls};
	}
	return rql_program_run(state, lanes, rows, live, err);
}

static struct rql_program_state *state_of(const struct rql_program *program, enum rql_simd simd)
{
	struct rql_program_state *state = NULL;
	assert_int_equal(rql_program_state_new(program, simd, &state, NULL), RQL_OK);
	return state;
}

/* ---- kinds and checks from bounds ---- */
static void test_bounds(void **state)
{
	(void)state;
	struct rql_builder *b = rql_builder_new(arena);
	rql_value_number x = input(b, 0, RQL_TYPE_BIGINT, RQL_LANE_I32, 0, 10000000);
	rql_value_number y = input(b, 1, RQL_TYPE_BIGINT, RQL_LANE_I32, 0, 1000);
	const struct rql_program *p = finished(b, rql_build_arithmetic(b, "*", x, y, type_of(RQL_TYPE_BIGINT), true));
	expect_text(p, "r2 = MUL_WIDE #0 #1 : I64\nresult r2 : BIGINT\n");
	assert_true(p->results[0].bounds.high == (rql_int128)10000000000 && p->results[0].bounds.low == 0);

	b = rql_builder_new(arena);
	x = input(b, 0, RQL_TYPE_BIGINT, RQL_LANE_I32, 0, 1000);
	y = input(b, 1, RQL_TYPE_BIGINT, RQL_LANE_I32, -5, 1000);
	p = finished(b, rql_build_arithmetic(b, "-", x, y, type_of(RQL_TYPE_BIGINT), true));
	expect_text(p, "r2 = SUB #0 #1 : I32\nresult r2 : BIGINT\n");
	assert_true(p->results[0].bounds.high == 1005 && p->results[0].bounds.low == -1000);

	b = rql_builder_new(arena);
	x = input(b, 2, RQL_TYPE_BIGINT, RQL_LANE_I64, 1, 0); /* not known */
	p = finished(b, rql_build_arithmetic(b, "+", x, x, type_of(RQL_TYPE_BIGINT), true));
	expect_text(p, "r1 = ADD_CHECKED #2 #2 [-9223372036854775808, 9223372036854775807] : I64\nresult r1 : BIGINT\n");

	/* INTEGER checks its own range in 64 bits */
	b = rql_builder_new(arena);
	x = input(b, 0, RQL_TYPE_INTEGER, RQL_LANE_I32, 1, 0);
	p = finished(b, rql_build_arithmetic(b, "*", x, x, type_of(RQL_TYPE_INTEGER), true));
	expect_text(p,
	            "r1 = CONVERT #0 : I64\nr2 = MUL_CHECKED r1 r1 [-2147483648, 2147483647] : I64\nresult r2 : INTEGER\n");
}

/* Two conditions on one column are one step, equal steps are one, and what nobody needs is none. */
static void test_sharing(void **state)
{
	(void)state;
	struct rql_builder *b = rql_builder_new(arena);
	rql_value_number x = input(b, 0, RQL_TYPE_INTEGER, RQL_LANE_I32, 0, 100);
	rql_value_number low = rql_build_compare(b, RQL_STEP_GE, x, number(b, RQL_TYPE_INTEGER, 3));
	rql_build_push(b, RQL_MASK_NOT_FALSE, low);
	rql_value_number high = rql_build_compare(b, RQL_STEP_LT, x, number(b, RQL_TYPE_INTEGER, 7));
	rql_build_pop(b);
	expect_text(finished(b, rql_build_and(b, low, high)), "r1 = INSIDE #0 [3, 6] : BOOL\nresult r1 : BOOLEAN\n");

	b = rql_builder_new(arena);
	x = input(b, 0, RQL_TYPE_INTEGER, RQL_LANE_I32, 0, 100);
	rql_value_number s =
		rql_build_arithmetic(b, "+", x, number(b, RQL_TYPE_INTEGER, 1), type_of(RQL_TYPE_INTEGER), true);
	rql_value_number t =
		rql_build_arithmetic(b, "+", x, number(b, RQL_TYPE_INTEGER, 1), type_of(RQL_TYPE_INTEGER), true);
	expect_text(finished(b, rql_build_arithmetic(b, "*", s, t, type_of(RQL_TYPE_INTEGER), true)),
	            "r2 = ADD #0 1 : I32\nr3 = MUL r2 r2 : I32\nresult r3 : INTEGER\n");
}

/* ---- masks and live rows ---- */
static void test_masks(void **state)
{
	(void)state;
	struct rql_error err = {0};
	uint64_t live[RQL_VECTOR_WORDS];
	for (uint32_t r = 0; r < RQL_VECTOR_ROWS; r++)
		wide[0][r] = r % 10 == 3 ? INT64_MAX : (int64_t)r;
	memset(valid, 0xff, sizeof(valid));
	memset(live, 0xff, sizeof(live));
	struct rql_builder *b = rql_builder_new(arena);
	rql_value_number x = input(b, 2, RQL_TYPE_BIGINT, RQL_LANE_I64, 1, 0);
	const struct rql_program *p =
		finished(b, rql_build_arithmetic(b, "+", x, number(b, RQL_TYPE_BIGINT, 1), type_of(RQL_TYPE_BIGINT), true));
	struct rql_program_state *s = state_of(p, RQL_SIMD_AVX512);
	assert_int_equal(run(s, p, live, NULL, 1000, &err), RQL_ERROR_HOST);
	assert_string_equal(rql_error_message(&err),
	                    "Out of Range Error: Overflow in addition of INT64 (9223372036854775807 + 1)!");
	assert_int_equal(run(s, p, live, NULL, 3, &err), RQL_OK); /* rows behind the last do not count */
	for (uint32_t r = 0; r < RQL_VECTOR_ROWS; r++)
		if (r % 10 == 3)
			live[r >> 6] &= ~(UINT64_C(1) << (r & 63));
	assert_int_equal(run(s, p, live, NULL, 1024, &err), RQL_OK); /* dead rows do not */
	memcpy(valid, live, sizeof(valid));
	assert_int_equal(run(s, p, NULL, valid, 1024, &err), RQL_OK); /* NULLs do not */
	struct rql_lanes out = rql_program_result(s, 0);
	assert_int_equal(((const int64_t *)out.data)[1022], 1023);
	assert_memory_equal(out.valid, valid, sizeof(valid));
	rql_program_state_free(s);

	/* CASE WHEN x < 9000 THEN x + 1 ELSE 0 END */
	b = rql_builder_new(arena);
	x = input(b, 2, RQL_TYPE_BIGINT, RQL_LANE_I64, 1, 0);
	rql_value_number when = rql_build_compare(b, RQL_STEP_LT, x, number(b, RQL_TYPE_BIGINT, 9000));
	rql_build_push(b, RQL_MASK_TRUE, when);
	rql_value_number then =
		rql_build_arithmetic(b, "+", x, number(b, RQL_TYPE_BIGINT, 1), type_of(RQL_TYPE_BIGINT), true);
	rql_build_pop(b);
	p = finished(b, rql_build_choose(b, when, then, number(b, RQL_TYPE_BIGINT, 0)));
	s = state_of(p, RQL_SIMD_AVX512);
	assert_int_equal(run(s, p, NULL, NULL, 1024, &err), RQL_OK);
	out = rql_program_result(s, 0);
	for (uint32_t r = 0; r < 1024; r++)
		assert_int_equal(((const int64_t *)out.data)[r], r % 10 == 3 ? 0 : r + 1);
	rql_program_state_free(s);
	rql_error_clear(&err);
}

static void test_filter(void **state)
{
	(void)state;
	uint64_t live[RQL_VECTOR_WORDS];
	uint32_t left;
	struct rql_lanes lane = {narrow[0], valid};
	memset(live, 0xff, sizeof(live));
	memset(valid, 0xff, sizeof(valid));
	valid[0] &= ~UINT64_C(2); /* row 1 is NULL */
	for (uint32_t r = 0; r < RQL_VECTOR_ROWS; r++)
		narrow[0][r] = (int32_t)(r % 4);
	struct rql_builder *b = rql_builder_new(arena);
	rql_value_number x = input(b, 0, RQL_TYPE_INTEGER, RQL_LANE_I32, 0, 100);
	const struct rql_program *p = finished(b, rql_build_compare(b, RQL_STEP_EQ, x, number(b, RQL_TYPE_INTEGER, 1)));
	struct rql_program_state *s = state_of(p, RQL_SIMD_AVX512);
	assert_int_equal(rql_program_filter(s, &lane, 100, live, &left, NULL), RQL_OK);
	assert_int_equal(left, 24);
	assert_true(live[0] == (UINT64_C(0x2222222222222222) & ~UINT64_C(2)) && live[1] == UINT64_C(0x222222222) &&
	            !live[2]);
	rql_program_state_free(s);
}

/* ---- instruction sets ---- */
static uint64_t next(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static rql_value_number every_step(struct rql_builder *b, unsigned which)
{
	struct rql_type big = type_of(RQL_TYPE_BIGINT);
	rql_value_number n0 = input(b, 0, RQL_TYPE_BIGINT, RQL_LANE_I32, INT32_MIN, INT32_MAX);
	rql_value_number n1 = input(b, 1, RQL_TYPE_BIGINT, RQL_LANE_I32, INT32_MIN, INT32_MAX);
	rql_value_number w0 = input(b, 2, RQL_TYPE_BIGINT, RQL_LANE_I64, 1, 0);
	rql_value_number w1 = input(b, 3, RQL_TYPE_BIGINT, RQL_LANE_I64, 1, 0), x;
	rql_value_number day = input(b, 0, RQL_TYPE_DATE, RQL_LANE_I32, 1, 0);
	rql_value_number micros = input(b, 2, RQL_TYPE_TIMESTAMP, RQL_LANE_I64, 1, 0);
	switch (which) {
	case 0:
	case 1:
	case 2:
		return rql_build_arithmetic(b, which == 0 ? "+" : which == 1 ? "-" : "*", n0, n1, big, true);
	case 3:
	case 4:
	case 5:
	case 6:
	case 7:
	case 8:
	case 9:
	case 10:
		return rql_build_compare(b, (enum rql_step_op)(RQL_STEP_EQ + which - 3), n0, n1);
	case 11:
	case 12:
	case 13:
	case 14:
	case 15:
	case 16:
		return rql_build_compare(b, (enum rql_step_op)(RQL_STEP_EQ + which - 11), w0, w1);
	case 17:
	case 18:
		return rql_build_compare(b, which == 17 ? RQL_STEP_LT : RQL_STEP_GE, n0, number(b, RQL_TYPE_BIGINT, 77));
	case 19:
		x = rql_build_compare(b, RQL_STEP_LT, n0, n1);
		return rql_build_choose(b, x, w0, w1);
	case 20:
		x = rql_build_compare(b, RQL_STEP_LT, w0, w1);
		return rql_build_choose(b, x, n0, n1);
	case 21:
		return rql_build_cast(b, w0, type_of(RQL_TYPE_DOUBLE), false);
	case 22:
		x = rql_build_cast(b, w0, type_of(RQL_TYPE_DOUBLE), false);
		return rql_build_compare(b, RQL_STEP_LE, x, rql_build_cast(b, w1, type_of(RQL_TYPE_DOUBLE), false));
	case 23:
		return rql_build_cast(b, micros, type_of(RQL_TYPE_DATE), false);
	case 24:
	case 25:
	case 26:
	case 27:
	case 28:
	case 29:
	case 30:
	case 31:
		return rql_build_date_part(b, (enum rql_date_part)(which - 24), day, big);
	default:
		return rql_build_cast(b, w0, type_of(RQL_TYPE_INTEGER), true);
	}
}

static void test_instruction_sets(void **state)
{
	(void)state;
	uint64_t seed = 88172645463325252u;
	for (uint32_t r = 0; r < RQL_VECTOR_ROWS; r++)
		for (unsigned c = 0; c < 2; c++) {
			narrow[c][r] = (int32_t)(next(&seed) >> (r % 3 * 12)) % (r % 5 == 0 ? 3 : 500000000);
			wide[c][r] = (int64_t)next(&seed) >> (next(&seed) % 63);
		}
	memset(valid, 0xf7, sizeof(valid));
	for (unsigned which = 0; which <= 32; which++) {
		struct rql_builder *b = rql_builder_new(arena);
		const struct rql_program *p = finished(b, every_step(b, which));
		struct rql_program_state *s[3];
		struct rql_lanes out[3];
		for (unsigned simd = 0; simd < 3; simd++) {
			s[simd] = state_of(p, (enum rql_simd)simd);
			assert_int_equal(run(s[simd], p, NULL, valid, RQL_VECTOR_ROWS, NULL), RQL_OK);
			out[simd] = rql_program_result(s[simd], 0);
		}
		size_t bytes = p->results[0].kind == RQL_LANE_BOOL
		                   ? sizeof(valid)
		                   : (size_t)rql_lane_bytes(p->results[0].kind) * RQL_VECTOR_ROWS;
		for (unsigned simd = 1; simd < 3; simd++) {
			assert_memory_equal(out[0].data, out[simd].data, bytes);
			assert_int_equal(out[0].valid != NULL, out[simd].valid != NULL);
			if (out[0].valid)
				assert_memory_equal(out[0].valid, out[simd].valid, sizeof(valid));
		}
		for (unsigned simd = 0; simd < 3; simd++)
			rql_program_state_free(s[simd]);
	}
}

/* ---- dates ---- */
/* Every day of eight centuries, and days far away, against a calendar that counts. */
static void test_calendar(void **state)
{
	(void)state;
	struct rql_builder *b = rql_builder_new(arena);
	rql_value_number day = input(b, 0, RQL_TYPE_DATE, RQL_LANE_I32, 1, 0), parts[8];
	struct rql_program *p;
	for (unsigned i = 0; i < 8; i++)
		parts[i] = rql_build_date_part(b, (enum rql_date_part)i, day, type_of(RQL_TYPE_BIGINT));
	assert_int_equal(rql_builder_finish(b, parts, 8, &p, NULL), RQL_OK);
	struct rql_program_state *s = state_of(p, RQL_SIMD_AVX512);
	int64_t first[] = {-146097 * 2, -536000000, 535990000, -2147483000, 2147480000, -719162};
	for (unsigned k = 0; k < 6; k++)
		for (unsigned v = 0; v < (k ? 3 : 285 * 2); v++) {
			for (uint32_t r = 0; r < RQL_VECTOR_ROWS; r++)
				narrow[0][r] = (int32_t)(first[k] + v * RQL_VECTOR_ROWS + r);
			assert_int_equal(run(s, p, NULL, NULL, RQL_VECTOR_ROWS, NULL), RQL_OK);
			for (unsigned i = 0; i < 8; i++) {
				const int32_t *out = rql_program_result(s, i).data;
				for (uint32_t r = 0; r < RQL_VECTOR_ROWS; r++)
					if (rql_day_finite(narrow[0][r]) && out[r] != rql_day_part((enum rql_date_part)i, narrow[0][r]))
						fail_msg("day %d part %u: %d, not %d", narrow[0][r], i, out[r],
						         rql_day_part((enum rql_date_part)i, narrow[0][r]));
			}
		}
	rql_program_state_free(s);
	struct rql_civil c = rql_civil_of_days(18321);
	assert_true(c.year == 2020 && c.month == 2 && c.day == 29 && c.day_of_year == 60);
	assert_int_equal(rql_day_part(RQL_PART_WEEK, 18262 + 3), 1);  /* 2020-01-04 */
	assert_int_equal(rql_day_part(RQL_PART_WEEK, 18628 + 2), 53); /* 2021-01-03 */
}

/* ---- tables ---- */
static void test_lookup(void **state)
{
	(void)state;
	const struct rql_type type = type_of(RQL_TYPE_BIGINT);
	struct rql_batch *values = rql_batch_new(1, &type, 3);
	for (uint32_t r = 0; r < RQL_VECTOR_ROWS; r++)
		narrow[0][r] = (int32_t)(r % 4) - (r == 1023);
	for (uint32_t i = 0; i < 3; i++)
		((int64_t *)values->columns[0].data)[i] = 100 + i;
	assert_true(rql_batch_set_null(values, 0, 1));
	struct rql_builder *b = rql_builder_new(arena);
	rql_value_number code = input(b, 0, RQL_TYPE_VARCHAR, RQL_LANE_I32, 0, 3);
	const struct rql_program *p = finished(b, rql_build_lookup(b, code, &values->columns[0], 3, false));
	assert_true(p->results[0].bounds.low == 100 && p->results[0].bounds.high == 102 && p->results[0].nullable);
	for (unsigned simd = 0; simd < 3; simd++) {
		struct rql_program_state *s = state_of(p, (enum rql_simd)simd);
		assert_int_equal(run(s, p, NULL, NULL, RQL_VECTOR_ROWS, NULL), RQL_OK);
		struct rql_lanes out = rql_program_result(s, 0);
		for (uint32_t r = 0; r < RQL_VECTOR_ROWS; r++) {
			bool there = out.valid[r >> 6] >> (r & 63) & 1;
			assert_int_equal(there, narrow[0][r] == 0 || narrow[0][r] == 2);
			if (there)
				assert_int_equal(((const int32_t *)out.data)[r], 100 + narrow[0][r]);
		}
		rql_program_state_free(s);
	}
	rql_batch_release(values);
}

/* ---- the verifier ---- */
static void test_verifier(void **state)
{
	(void)state;
	union rql_constant constants[] = {{.integer = -10}, {.integer = 10}, {.integer = 1}};
	struct rql_program_input inputs[] = {{.reg = 0, .kind = RQL_LANE_I64, .type = type_of(RQL_TYPE_BIGINT)}};
	struct rql_reg regs[] = {
		{RQL_LANE_I64, RQL_REG_INPUT, 0}, {RQL_LANE_I64, RQL_REG_STEP, 0}, {RQL_LANE_BOOL, RQL_REG_STEP, 0}};
	const struct rql_step good = {.op = RQL_STEP_ADD_CHECKED,
	                              .kind = RQL_LANE_I64,
	                              .dst = 1,
	                              .a = 0,
	                              .b = 0,
	                              .c = RQL_REG_NONE,
	                              .mask = RQL_REG_NONE,
	                              .detail = RQL_STEP_OVERFLOW_INT};
	struct rql_step step = good;
	struct rql_program_result result = {.reg = 1, .kind = RQL_LANE_I64, .type = type_of(RQL_TYPE_BIGINT)};
	struct rql_program p = {1, 3, 3, 1, 0, 1, &step, regs, constants, inputs, NULL, &result};
	assert_int_equal(rql_program_verify(&p, NULL), RQL_OK);
#define REFUSED(field, value)                                                                                          \
	do {                                                                                                               \
		step = good;                                                                                                   \
		step.field = (value);                                                                                          \
		assert_int_equal(rql_program_verify(&p, NULL), RQL_ERROR_CORRUPT);                                             \
	} while (0)
	REFUSED(op, RQL_STEP_COUNT);
	REFUSED(kind, RQL_LANE_KIND_COUNT);
	REFUSED(kind, RQL_LANE_I32);
	REFUSED(dst, 3);
	REFUSED(dst, 0); /* an input */
	REFUSED(dst, 2); /* of another kind */
	REFUSED(a, 1);   /* its own result, and not there yet */
	REFUSED(b, RQL_REG_NONE);
	REFUSED(c, 0);
	REFUSED(mask, 0);
	REFUSED(mask, 2); /* not there yet */
	REFUSED(detail, RQL_STEP_ERROR_COUNT);
	REFUSED(imm, 2);
	REFUSED(imm, UINT32_MAX);
	step = good;
	step.op = RQL_STEP_SCALE_DOWN;
	step.b = RQL_REG_NONE;
	assert_int_equal(rql_program_verify(&p, NULL), RQL_ERROR_CORRUPT); /* its factor is 1 */
	step = good;
	result.reg = 2;
	assert_int_equal(rql_program_verify(&p, NULL), RQL_ERROR_CORRUPT);
	result.reg = 1;
	regs[0].index = 7;
	assert_int_equal(rql_program_verify(&p, NULL), RQL_ERROR_CORRUPT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_bounds, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_sharing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_masks, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_filter, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_instruction_sets, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_calendar, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_lookup, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_verifier, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Micro-benchmark of programs: expr_bench [ROWS_IN_MILLIONS]: rows a second of the steps
 * that scans use, on one thread, over vectors that lie in the cache (as they do after decoding), beside the floor: the same
 * loop written by hand. Rows are counted with all steps of the program. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "expr/building/build.h"

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static _Alignas(64) int32_t columns[4][RQL_VECTOR_ROWS];
static _Alignas(64) int64_t wide[2][RQL_VECTOR_ROWS];
static uint64_t runs = 50000;

static rql_value_number column(struct rql_builder *b, uint32_t number, rql_int128 low, rql_int128 high)
{
	return rql_build_input(b, &(struct rql_input_spec){.column = number,
	                                                   .type = rql_type_simple(RQL_TYPE_BIGINT),
	                                                   .kind = number < 4 ? RQL_LANE_I32 : RQL_LANE_I64,
	                                                   .bounds = {low, high}});
}

static rql_value_number constant(struct rql_builder *b, rql_int128 v)
{
	return rql_build_constant(b, &(struct rql_value){.type = rql_type_simple(RQL_TYPE_BIGINT), .integer = v});
}

static rql_value_number arithmetic(struct rql_builder *b, const char *op, rql_value_number x, rql_value_number y)
{
	return rql_build_arithmetic(b, op, x, y, rql_type_simple(RQL_TYPE_BIGINT), true);
}

static void measure(struct rql_builder *b, const char *name, rql_value_number v)
{
	struct rql_program *program;
	struct rql_error err = {0};
	if (rql_builder_finish(b, &v, 1, &program, &err) != RQL_OK) {
		printf("%s: %s\n", name, rql_error_message(&err));
		rql_error_clear(&err);
		return;
	}
	printf("%-34s %2u steps", name, program->step_count);
	for (unsigned simd = RQL_SIMD_PORTABLE; simd <= RQL_SIMD_AVX512; simd++) {
		struct rql_program_state *state;
		struct rql_lanes lanes[8];
		if (rql_program_state_new(program, (enum rql_simd)simd, &state, &err) != RQL_OK)
			exit(1);
		for (uint32_t i = 0; i < program->input_count; i++) {
			uint32_t c = program->inputs[i].column;
			lanes[i] = (struct rql_lanes){c < 4 ? (const void *)columns[c] : (const void *)wide[c - 4], NULL};
		}
		double best = 1e9;
		for (unsigned k = 0; k < 5; k++) {
			double start = now();
			for (uint64_t r = 0; r < runs / 5; r++)
				if (rql_program_run(state, lanes, RQL_VECTOR_ROWS, NULL, &err) != RQL_OK)
					exit(1);
			double t = now() - start;
			best = t < best ? t : best;
		}
		printf(" %8.2f", (double)(runs / 5) * RQL_VECTOR_ROWS / best * 1e-9);
		rql_program_state_free(state);
	}
	printf("\n");
}

/* The floor: one loop over the vector, at the widest vectors that the program was compiled for. */
static int64_t floor_out[RQL_VECTOR_ROWS];
#if defined(__x86_64__)
__attribute__((noinline, target("avx512f,avx512dq,avx512bw,avx512vl,prefer-vector-width=512")))
#endif
static void
floor_loop(const int32_t *restrict a, const int32_t *restrict b)
{
	for (uint32_t r = 0; r < RQL_VECTOR_ROWS; r++)
		floor_out[r] = (int64_t)a[r] * b[r];
}

int main(int argc, char **argv)
{
	struct rql_arena *arena = rql_arena_new();
	if (argc > 1)
		runs = strtoull(argv[1], NULL, 10) * 1000000 / RQL_VECTOR_ROWS;
	for (uint32_t r = 0; r < RQL_VECTOR_ROWS; r++) {
		for (unsigned c = 0; c < 4; c++)
			columns[c][r] = (int32_t)((r * 2654435761u + c * 40503u) % 10000);
		wide[0][r] = (int64_t)r * 1000003;
		wide[1][r] = (int64_t)(r * 7919u % 1000);
	}
	printf("%-34s %8s %8s %8s %8s  rows/ns, one thread\n", "", "", "portable", "avx2", "avx512");
	struct rql_builder *b = rql_builder_new(arena);
	measure(b, "price * discount (i32 -> i64)", arithmetic(b, "*", column(b, 0, 0, 10000000), column(b, 1, 0, 10)));
	b = rql_builder_new(arena);
	measure(b, "price * discount (wide result)", arithmetic(b, "*", column(b, 0, 0, 10000000), column(b, 1, 0, 10000)));
	b = rql_builder_new(arena);
	measure(b, "a - b (i32)", arithmetic(b, "-", column(b, 0, 0, 10000), column(b, 1, 0, 10000)));
	b = rql_builder_new(arena);
	measure(b, "a - b (i64)", arithmetic(b, "-", column(b, 4, 0, (rql_int128)1 << 40), column(b, 5, 0, 1000)));
	b = rql_builder_new(arena);
	measure(b, "a + b (i64, checked)", arithmetic(b, "+", column(b, 4, INT64_MIN, INT64_MAX), column(b, 5, 0, 1000)));
	b = rql_builder_new(arena);
	measure(b, "a * b (i64, checked)", arithmetic(b, "*", column(b, 4, INT64_MIN, INT64_MAX), column(b, 5, 0, 1000)));
	b = rql_builder_new(arena);
	measure(b, "a * (100 - b)",
	        arithmetic(b, "*", column(b, 0, 0, 10000000), arithmetic(b, "-", constant(b, 100), column(b, 1, 0, 10))));
	b = rql_builder_new(arena);
	measure(b, "a < 5000 (i32)", rql_build_compare(b, RQL_STEP_LT, column(b, 0, 0, 10000), constant(b, 5000)));
	b = rql_builder_new(arena);
	measure(b, "a < b (i32)", rql_build_compare(b, RQL_STEP_LT, column(b, 0, 0, 10000), column(b, 1, 0, 10000)));
	b = rql_builder_new(arena);
	measure(b, "a < b (i64)",
	        rql_build_compare(b, RQL_STEP_LT, column(b, 4, 0, (rql_int128)1 << 40), column(b, 5, 0, 10000)));
	b = rql_builder_new(arena);
	rql_value_number x = column(b, 0, 0, 10000);
	measure(b, "a BETWEEN 100 AND 5000",
	        rql_build_and(b, rql_build_compare(b, RQL_STEP_GE, x, constant(b, 100)),
	                      rql_build_compare(b, RQL_STEP_LE, x, constant(b, 5000))));
	b = rql_builder_new(arena);
	x = rql_build_compare(b, RQL_STEP_LT, column(b, 0, 0, 10000), constant(b, 5000));
	rql_build_push(b, RQL_MASK_TRUE, x);
	rql_value_number then = arithmetic(b, "*", column(b, 1, 0, 10000), column(b, 2, 0, 10));
	rql_build_pop(b);
	measure(b, "CASE WHEN a < 5000 THEN b * c END", rql_build_choose(b, x, then, constant(b, 0)));
	b = rql_builder_new(arena);
	rql_value_number day = rql_build_input(
		b, &(struct rql_input_spec){
			   .column = 0, .type = rql_type_simple(RQL_TYPE_DATE), .kind = RQL_LANE_I32, .bounds = {0, 10000}});
	measure(b, "year(d)", rql_build_date_part(b, RQL_PART_YEAR, day, rql_type_simple(RQL_TYPE_BIGINT)));
	double best = 1e9;
	for (unsigned k = 0; k < 5; k++) {
		double start = now();
		for (uint64_t r = 0; r < runs / 5; r++) {
			floor_loop(columns[0], columns[1]);
			__asm__ volatile("" ::"r"(floor_out) : "memory");
		}
		double t = now() - start;
		best = t < best ? t : best;
	}
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx512dq"))
		printf("%-34s %35.2f\n", "floor: price * discount by hand", (double)(runs / 5) * RQL_VECTOR_ROWS / best * 1e-9);
#endif
	rql_arena_free(arena);
	return 0;
}

/* Programs of flat steps (expr/expr.h) in the three forms that executor_bench.c compares: words for an interpreter,
 * specialization constants, generated SPIR-V. Steps that the benchmark's programs lack are refused. */
#ifndef RQL_BENCH_EXECUTOR_H
#define RQL_BENCH_EXECUTOR_H

#include "bench/alone/executor_kernels.h"
#include "expr/expr.h"

#define RQL_EXECUTOR_COLUMNS 4u

/* Inputs are the columns 0..3, I32, in that order; results: two sums (I32 or I64) and which rows count (BOOL). */
struct rql_executor_code {
	uint32_t steps[RQL_EXECUTOR_STEPS][4];
	uint32_t step_count; /* the sums' two among them */
	uint32_t places;     /* of 32-bit words: registers, then two a constant (lanes > 0: all constants of a workgroup) */
	uint32_t constants_at; /* the first constant's place */
};
/* lanes: of a workgroup whose registers lie in shared memory; 0: each invocation has its own. RQL_ERROR_UNSUPPORTED
 * names a step; RQL_ERROR_LIMIT: too many of something. */
rql_status rql_executor_flatten(const struct rql_program *program, uint32_t lanes, struct rql_executor_code *out,
                                struct rql_error *err) RQL_MUST_CHECK;
/* The shader's words with the steps as the values of its specialization constants 16...: of more constants than
 * rql_pipeline_get takes, which for a driver is the same as handing them over. malloc'ed. */
rql_status rql_executor_specialize(const struct rql_executor_code *code, const uint32_t *spirv, uint64_t bytes,
                                   uint32_t **words, struct rql_error *err) RQL_MUST_CHECK;
/* The shader's words with the program as the body of executor_row. malloc'ed. */
rql_status rql_executor_generate(const struct rql_program *program, const uint32_t *spirv, uint64_t bytes,
                                 uint32_t **words, uint64_t *out_bytes, struct rql_error *err) RQL_MUST_CHECK;

#endif

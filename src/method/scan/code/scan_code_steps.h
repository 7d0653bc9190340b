/* What the files that write a program's steps share. */
#ifndef RQL_METHOD_SCAN_SCAN_CODE_STEPS_H
#define RQL_METHOD_SCAN_SCAN_CODE_STEPS_H

#include "method/scan/code/scan_code.h"

struct rql_scan_steps {
	struct rql_scan_coder *c;
	const struct rql_program *program;
	struct rql_scan_value *regs;
};

/* A constant of the program as a parameter. */
uint32_t rql_scan_code_constant(struct rql_scan_steps *st, uint32_t index, enum rql_lane_kind kind);
/* Of the step's kind, outside of constants imm and imm + 1; 0: never. */
uint32_t rql_scan_code_outside(struct rql_scan_steps *st, const struct rql_step *s, uint32_t a);
/* `bad` rows (0: none) fail, or become NULL in a TRY_CAST. `out` must have its final NULLs but for that. */
void rql_scan_code_judge(struct rql_scan_steps *st, const struct rql_step *s, uint32_t bad, struct rql_scan_value *out);

/* scan_code_number.c: quotients and remainders, rounding, dates and times; false: it is another step. */
bool rql_scan_code_number(struct rql_scan_steps *st, const struct rql_step *s, struct rql_scan_value a,
                          struct rql_scan_value b, struct rql_scan_value *out);
/* A double rounded to FLOAT; a value converted to it. */
uint32_t rql_scan_code_float(struct rql_scan_coder *c, uint32_t real);
void rql_scan_code_to_float(struct rql_scan_steps *st, const struct rql_step *s, struct rql_scan_value a,
                            struct rql_scan_value *out);
uint32_t rql_scan_code_in_list(struct rql_scan_steps *st, const struct rql_step *s, struct rql_scan_value a);

#endif

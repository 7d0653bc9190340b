/* Writing code into a compiled kernel: a module of SPIR-V (Khronos: SPIR-V Specification 1.5) whose functions were
 * compiled offline, some of whose bodies are replaced by straight lines of instructions made at run time. A body may
 * compute, choose and call the module's other functions, which have all the branches; so there are no blocks to keep
 * in order here.
 *
 * The template is compiled with its functions' names (RQL_NAMES in cmake/CompileShader.cmake), and parameters of
 * functions that are called or replaced are declared `const in`: glslang hands those over by value.
 *
 * Failures (out of memory, a name that the template lacks) are kept and returned by rql_spirv_finish; ids are 0 from
 * then on. */
#ifndef RQL_DEVICE_SPIRV_H
#define RQL_DEVICE_SPIRV_H

#include <stdbool.h>
#include <stdint.h>
#include "util/status.h"

/* Types of the template that generated code uses; integers without sign. */
enum rql_spirv_type {
	RQL_SPIRV_VOID,
	RQL_SPIRV_BOOL,
	RQL_SPIRV_U32,
	RQL_SPIRV_U64,
	RQL_SPIRV_F32, /* only in templates that use reals, as F64 */
	RQL_SPIRV_F64,
	RQL_SPIRV_U32X2,
	RQL_SPIRV_U32X4,
	RQL_SPIRV_TYPE_COUNT
};

/* Opcodes, as the specification numbers them. */
enum rql_spirv_op {
	RQL_SPIRV_COMPOSITE_CONSTRUCT = 80,
	RQL_SPIRV_COMPOSITE_EXTRACT = 81,
	RQL_SPIRV_S_TO_F = 111,
	RQL_SPIRV_U_CONVERT = 113,
	RQL_SPIRV_S_CONVERT = 114,
	RQL_SPIRV_F_CONVERT = 115,
	RQL_SPIRV_BITCAST = 124,
	RQL_SPIRV_F_NEGATE = 127,
	RQL_SPIRV_ADD = 128,
	RQL_SPIRV_F_ADD = 129,
	RQL_SPIRV_SUB = 130,
	RQL_SPIRV_F_SUB = 131,
	RQL_SPIRV_MUL = 132,
	RQL_SPIRV_F_MUL = 133,
	RQL_SPIRV_F_DIV = 136,
	RQL_SPIRV_LOGICAL_EQUAL = 164,
	RQL_SPIRV_LOGICAL_OR = 166,
	RQL_SPIRV_LOGICAL_AND = 167,
	RQL_SPIRV_LOGICAL_NOT = 168,
	RQL_SPIRV_SELECT = 169,
	RQL_SPIRV_EQUAL = 170,
	RQL_SPIRV_NOT_EQUAL = 171,
	RQL_SPIRV_U_LESS = 176,
	RQL_SPIRV_S_LESS = 177,
	RQL_SPIRV_U_LESS_EQUAL = 178,
	RQL_SPIRV_S_LESS_EQUAL = 179,
	RQL_SPIRV_SHIFT_RIGHT = 194,
	RQL_SPIRV_SHIFT_RIGHT_SIGNED = 195,
	RQL_SPIRV_SHIFT_LEFT = 196,
	RQL_SPIRV_OR = 197,
	RQL_SPIRV_XOR = 198,
	RQL_SPIRV_AND = 199,
	RQL_SPIRV_NOT = 200,
};

#define RQL_SPIRV_BODIES 8u
struct rql_spirv_words {
	uint32_t *words;
	uint64_t count, room;
};
struct rql_spirv {
	const uint32_t *words; /* the template's; borrowed */
	uint64_t count;
	uint64_t annotations_end, types_end; /* places in it */
	uint32_t bound;
	uint32_t types[RQL_SPIRV_TYPE_COUNT];
	struct rql_spirv_words annotations, constants;
	struct rql_spirv_words *body; /* of the function that is being written */
	struct rql_spirv_body {
		uint64_t first, last; /* of the template's words, that are left out */
		struct rql_spirv_words code;
	} bodies[RQL_SPIRV_BODIES + 1]; /* the last: of one that is not there */
	uint32_t body_count;
	bool out_of_memory;
	const char *missing; /* a function, or type, that the template lacks */
};

/* words must outlive it. Free it also when something failed. */
void rql_spirv_open(struct rql_spirv *m, const uint32_t *words, uint64_t bytes);
void rql_spirv_free(struct rql_spirv *m);
/* Begins a function's body; its parameters' ids go into params[count]. */
void rql_spirv_begin(struct rql_spirv *m, const char *function, uint32_t *params, uint32_t count);
/* result 0: void. */
void rql_spirv_end(struct rql_spirv *m, uint32_t result);
/* The module without the functions that its entry point does not reach, malloc'ed. RQL_ERROR_MEMORY, or RQL_ERROR_INTERNAL
 * naming what the template lacks. */
rql_status rql_spirv_finish(struct rql_spirv *m, uint32_t **words, uint64_t *bytes,
                            struct rql_error *err) RQL_MUST_CHECK;

/* One instruction with a result; operands are ids (COMPOSITE_EXTRACT: an id and an index). */
uint32_t rql_spirv_op(struct rql_spirv *m, enum rql_spirv_op op, enum rql_spirv_type type, uint32_t count,
                      const uint32_t *operands);
uint32_t rql_spirv_op1(struct rql_spirv *m, enum rql_spirv_op op, enum rql_spirv_type type, uint32_t a);
uint32_t rql_spirv_op2(struct rql_spirv *m, enum rql_spirv_op op, enum rql_spirv_type type, uint32_t a, uint32_t b);
uint32_t rql_spirv_select(struct rql_spirv *m, enum rql_spirv_type type, uint32_t c, uint32_t a, uint32_t b);
uint32_t rql_spirv_call(struct rql_spirv *m, const char *function, enum rql_spirv_type type, uint32_t count,
                        const uint32_t *args);
/* The result of an operation of reals is rounded as it stands: no fused multiply-add. */
void rql_spirv_no_contraction(struct rql_spirv *m, uint32_t id);
uint32_t rql_spirv_u32(struct rql_spirv *m, uint32_t value);
uint32_t rql_spirv_u64(struct rql_spirv *m, uint64_t value);
uint32_t rql_spirv_bool(struct rql_spirv *m, bool value);

#endif

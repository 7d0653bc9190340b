/* What the files that write a request's code share: values in a row, and the code so far. */
#ifndef RQL_METHOD_SCAN_SCAN_CODE_H
#define RQL_METHOD_SCAN_SCAN_CODE_H

#include "device/spirv.h"
#include "method/scan/gpu/scan_compute.h"
#include "primitive/primitive.h"

/* Instructions, short: CALL(c, "scan_valid", RQL_SPIRV_BOOL, ids ...), OP2(c, AND, U32, a, b), U32(c, 7). */
#define CALL(c, function, type, ...)                                                                                   \
	rql_spirv_call(&(c)->m, function, type, sizeof((uint32_t[]){__VA_ARGS__}) / 4, (const uint32_t[]){__VA_ARGS__})
#define OP2(c, op, type, a, b) rql_spirv_op2(&(c)->m, RQL_SPIRV_##op, RQL_SPIRV_##type, a, b)
#define OP1(c, op, type, a) rql_spirv_op1(&(c)->m, RQL_SPIRV_##op, RQL_SPIRV_##type, a)
#define U32(c, v) rql_spirv_u32(&(c)->m, v)

/* A value in a row. */
struct rql_scan_value {
	uint32_t id;
	uint32_t valid; /* bool; 0: never NULL */
	enum rql_lane_kind kind;
	bool narrow;              /* I64, but the id has 32 bits, signed, which hold every value */
	bool bounded;             /* `bounds` of valid values are known (I32, I64) */
	struct rql_bounds bounds; /* a row that is not live or NULL may have anything */
};
struct rql_scan_coder {
	struct rql_spirv m;
	struct rql_scan_plan *plan;
	uint32_t item, row, live;        /* of scan_take_row; live: now */
	bool group32;                    /* group numbers have 32 bits */
	bool alone;                      /* scan_test_row is written: nothing is kept for it */
	struct rql_scan_value *columns;  /* [scan->columns], id 0: not loaded */
	uint32_t *found;                 /* [joins], 0: not looked up */
	struct rql_scan_value **results; /* [programs][results], NULL: not run */
	bool out_of_memory;
};
uint32_t rql_scan_code_param(struct rql_scan_coder *c, uint64_t value, bool relative); /* u64 */
struct rql_scan_value rql_scan_code_source(struct rql_scan_coder *c, const struct rql_source *source);
/* Its id has all bits of the kind: not narrow. */
struct rql_scan_value rql_scan_code_convert(struct rql_scan_coder *c, struct rql_scan_value v, enum rql_lane_kind kind);
struct rql_bounds rql_scan_code_bounds(const struct rql_scan_value *v); /* of an I32 or I64 */
bool rql_scan_code_fits32(struct rql_bounds bounds);
bool rql_scan_code_has32(const struct rql_scan_value *v); /* its id has 32 bits, signed */
/* Both are true; 0: always. */
uint32_t rql_scan_code_both(struct rql_scan_coder *c, uint32_t a, uint32_t b);
/* A real's bits as an integer that orders as SQL does, unsigned: rql_key_of_f64, with -0.0 equal to 0.0. */
uint32_t rql_scan_code_real_key(struct rql_scan_coder *c, uint32_t real);
/* The number, u64, that parts make together, of which there are `numbers`. */
uint32_t rql_scan_code_number_of(struct rql_scan_coder *c, const struct rql_scan_part *parts, uint32_t count,
                                 uint64_t numbers);
/* scan_code_emit.c: the row's values to the columns that are wanted. */
void rql_scan_code_emit(struct rql_scan_coder *c);
/* The bodies of what is done with a row. */
void rql_scan_code_row(struct rql_scan_coder *c);
enum rql_spirv_type rql_scan_code_type(enum rql_lane_kind kind);
/* Runs a program's steps in the row; results[p] are set. */
void rql_scan_code_program(struct rql_scan_coder *c, uint32_t program);

#endif

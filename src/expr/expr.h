/* Scalar expressions as flat steps: an array of typed steps over numbered registers, without pointers between them, so
 * that the same array runs on the CPU (program_run) and can be sent to a kernel.
 *
 * A register is a vector of up to RQL_VECTOR_ROWS values of one *kind* (how values lie in memory) with an optional mask
 * of valid rows. A kind is not a SQL type: INTEGER, DATE, DECIMAL(9,2) and dictionary codes are all I32, and so is a BIGINT
 * whose bounds fit. What a SQL type adds (range checks, error texts, scales) was turned into steps by the builder.
 *
 * Programs come from the builder (expr/building/build.h), or from anywhere after rql_program_verify. A program is immutable and
 * shared by threads; a state is one thread's registers.
 *
 * Rows and errors. A run is over rows 0..rows-1 of which `live` ones count. Steps compute all rows (what lies in dead,
 * masked or NULL rows is arbitrary), but only a row that is live, in the step's mask, and whose operands are not NULL can
 * raise an error. Guaranteed by flow/compute/compile.c, as DuckDB does it: the operands of CASE and COALESCE, the conjuncts of a
 * filter, and the operands of AND and OR that select rows (in a filter, in a WHEN) are evaluated from left to right, one
 * after the other, and a row that an earlier one has decided is not in the mask of the later ones (AND: was false; OR: was
 * true; CASE: its WHEN was not true, or an earlier one was; COALESCE: was not NULL; filter: was false or NULL).
 * Everything else is evaluated in full. So whatever DuckDB raises for a row is raised here, but for the conjuncts of a
 * filter, whose order is its caller's matter; what is raised here DuckDB may not raise. The caller that gets
 * RQL_ERROR_HOST lets the host answer, whose error (or answer) counts. Which of several failing rows or operands is named
 * is not guaranteed, as with DuckDB. */
#ifndef RQL_EXPR_EXPR_H
#define RQL_EXPR_EXPR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "column/value/value.h"
#include "util/arena.h"
#include "util/simd.h"
#include "util/status.h"
#include "util/strbuf.h"

/* A VECTOR: what one run handles. 8 KiB a register of 64 bits: the three or four that live at once stay in the first
 * cache, and 1024 rows hide the cost of going from step to step. A block (4096 rows) is four of them. */
#define RQL_VECTOR_ROWS 1024u
#define RQL_VECTOR_WORDS (RQL_VECTOR_ROWS / 64)

/* Of rows [at, end) those of the next vector. */
static inline uint32_t rql_vector_part(uint64_t at, uint64_t end)
{
	return end - at < RQL_VECTOR_ROWS ? (uint32_t)(end - at) : RQL_VECTOR_ROWS;
}

/* name, bytes of a value */
#define RQL_LANE_KINDS(X)                                                                                              \
	X(BOOL, 0) /* one bit a row, row r is bit r % 64 of uint64_t r / 64: as all masks */                               \
	X(I32, 4)                                                                                                          \
	X(I64, 8)                                                                                                          \
	X(I128, 16) /* aligned to 16 bytes */                                                                              \
	X(F32, 4)                                                                                                          \
	X(F64, 8)

enum rql_lane_kind {
#define X(name, bytes) RQL_LANE_##name,
	RQL_LANE_KINDS(X)
#undef X
		RQL_LANE_KIND_COUNT
};

/* Values of rows 0..n-1 as inputs and results hand them over. data: RQL_VECTOR_ROWS values of the kind readable (also
 * when a run has fewer rows: steps compute whole vectors). BOOL: RQL_VECTOR_WORDS words. valid: bit set: not NULL; NULL:
 * no row is. Values in rows that are NULL or not live may be anything. */
struct rql_lanes {
	const void *data;
	const uint64_t *valid;
};

/* ---- steps ---- */
/* name, operands it reads (a b c as letters), what the rest is. K: the step's kind, BOOL: a mask. `->` the kind of dst
 * when it is not K. NULL in an operand gives NULL unless said otherwise. "checked": imm, imm + 1 are the least and the
 * greatest value allowed, `detail` the error (enum rql_step_error) of others. Integer arithmetic that is not checked
 * wraps: the builder has proven that it cannot.
 * CONVERT: integers to all but BOOL (they wrap), BOOL to I32, reals to reals; F64 to F32: infinity from a finite value
 * is an error. ROUND: checked first (imm <= a < imm + 1 plus one), then to nearest, ties to even, wrapped into the type
 * in `count`, as DuckDB does. */
#define RQL_STEPS(X)                                                                                                   \
	X(ADD, "ab") /* K I32 I64 I128 F32 F64 */                                                                          \
	X(SUB, "ab")                                                                                                       \
	X(MUL, "ab")                                                                                                       \
	X(MUL_WIDE, "ab")    /* K I32 -> I64, I64 -> I128 */                                                               \
	X(ADD_CHECKED, "ab") /* K I64 I128 */                                                                              \
	X(SUB_CHECKED, "ab")                                                                                               \
	X(MUL_CHECKED, "ab")                                                                                               \
	X(DIV, "ab") /* K I64 I128: truncated; NULL at 0; checked. K F32 F64: imm 1: NULL at 0, else IEEE */               \
	X(MOD, "ab") /* K I64 I128: sign of a; NULL at 0; checked. K F32 F64: fmod, imm as for DIV */                      \
	X(NEG, "a")  /* K I32 I64 I128 F32 F64 */                                                                          \
	X(ABS, "a")                                                                                                        \
	X(CHECK, "a")      /* K I32 I64 I128: a; checked */                                                                \
	X(CONVERT, "a")    /* K: the kind of dst */                                                                        \
	X(ROUND, "a")      /* K F64 -> I64 */                                                                              \
	X(SCALE_DOWN, "a") /* K I64 I128: a / constant imm + 2, rounded half away from zero; checked */                    \
	X(EQ, "ab")        /* K any -> BOOL. F32, F64: NaN equals NaN and is the greatest, -0 equals 0 */                  \
	X(NE, "ab")                                                                                                        \
	X(LT, "ab")                                                                                                        \
	X(LE, "ab")                                                                                                        \
	X(GT, "ab")                                                                                                        \
	X(GE, "ab")                                                                                                        \
	X(SAME, "ab")      /* K any -> BOOL, never NULL: IS NOT DISTINCT FROM */                                           \
	X(DIFFERENT, "ab") /* K any -> BOOL, never NULL: IS DISTINCT FROM */                                               \
	X(INSIDE, "a")     /* K I32 I64 I128 -> BOOL: constants imm <= a <= imm + 1 */                                     \
	X(IN_LIST, "a")    /* K I32 I64 I128 F32 F64 -> BOOL: among `count` ascending constants from imm */                \
	X(LOOKUP, "a")     /* K I32 -> kind of table imm: its value at a; at a code that it does not have: NULL */         \
	X(AND, "ab")       /* BOOL, three-valued */                                                                        \
	X(OR, "ab")                                                                                                        \
	X(NOT, "a")                                                                                                        \
	X(IS_NULL, "a") /* K any -> BOOL, never NULL */                                                                    \
	X(IS_NOT_NULL, "a")                                                                                                \
	X(MASK_TRUE, "a")      /* BOOL: rows of the step's mask where a is true; never NULL, as the other masks */         \
	X(MASK_NOT_TRUE, "a")  /* false or NULL */                                                                         \
	X(MASK_NOT_FALSE, "a") /* true or NULL */                                                                          \
	X(MASK_NULL, "a")      /* K any -> BOOL */                                                                         \
	X(CHOOSE, "abc")       /* K any: a where c (BOOL) is true, else b */                                               \
	X(DATE_PART, "a")      /* K I32 (days since 1970) -> I32; detail: enum rql_date_part. NULL at +-infinity */        \
	X(DATE_TRUNC, "a")     /* K I32 -> I32: day that begins the DAY MONTH QUARTER YEAR WEEK; infinities stay */        \
	X(DAYS, "a")           /* K I64 (microseconds) -> I32: the day; infinities stay */                                 \
	X(MICROS, "a")    /* K I32 -> I64: the day's first microsecond; infinities stay; an error outside TIMESTAMP */     \
	X(TIME_PART, "a") /* K I64 (microseconds) -> I64; detail HOUR MINUTE SECOND: NULL at +-infinity */

enum rql_step_op {
#define X(name, operands) RQL_STEP_##name,
	RQL_STEPS(X)
#undef X
		RQL_STEP_COUNT
};

enum rql_date_part {
	RQL_PART_YEAR,
	RQL_PART_MONTH,
	RQL_PART_DAY,
	RQL_PART_QUARTER,
	RQL_PART_WEEK,        /* ISO: 1..53 */
	RQL_PART_DAY_OF_WEEK, /* Sunday is 0 */
	RQL_PART_ISO_DAY,     /* Monday is 1, Sunday 7 */
	RQL_PART_DAY_OF_YEAR,
	RQL_PART_HOUR,
	RQL_PART_MINUTE,
	RQL_PART_SECOND,
	RQL_PART_COUNT
};

/* Register numbers. None: */
#define RQL_REG_NONE UINT16_MAX

struct rql_step {
	uint8_t op;       /* enum rql_step_op */
	uint8_t kind;     /* enum rql_lane_kind: K above */
	uint16_t dst;     /* never one of the operands, an input or a constant */
	uint16_t a, b, c; /* RQL_REG_NONE where the op has none */
	uint16_t mask;    /* BOOL register without NULLs: rows outside are not wanted; RQL_REG_NONE: all live rows */
	uint16_t detail;  /* enum rql_step_error (in checked steps) or enum rql_date_part */
	uint16_t from;    /* in the error's text: type of the operands, id | scale << 8 */
	uint32_t imm;     /* first constant, or table */
	uint32_t count;   /* entries of a list; casts: the type wanted, id | width << 8 | scale << 16; decimals: width */
};
_Static_assert(sizeof(struct rql_step) == 24, "the layout that a kernel reads");

/* What a checked step says; the texts are DuckDB's (expr/run/step_error.c). */
enum rql_step_error {
	RQL_STEP_NO_ERROR,         /* cannot fail */
	RQL_STEP_OVERFLOW_INT,     /* "Overflow in addition of INT32 (a + b)!", by op; from: the type */
	RQL_STEP_OVERFLOW_DECIMAL, /* the same for a DECIMAL; count: its width */
	RQL_STEP_OVERFLOW_DIVISION,
	RQL_STEP_OVERFLOW_NEGATION,
	RQL_STEP_OVERFLOW_ABS,
	RQL_STEP_CAST_RANGE, /* from an integer, real or date to `count` */
	RQL_STEP_CAST_TO_DECIMAL,
	RQL_STEP_CAST_FROM_DECIMAL,
	RQL_STEP_CAST_DECIMAL, /* from a decimal to another */
	RQL_STEP_TIMESTAMP_RANGE,
	RQL_STEP_TRY, /* no error: the row becomes NULL (TRY_CAST) */
	RQL_STEP_ERROR_COUNT
};

/* ---- programs ---- */
enum rql_reg_role { RQL_REG_STEP, RQL_REG_INPUT, RQL_REG_CONSTANT };

struct rql_reg {
	uint8_t kind;   /* enum rql_lane_kind */
	uint8_t role;   /* enum rql_reg_role */
	uint16_t index; /* INPUT: of inputs; CONSTANT: of constants, UINT16_MAX: NULL in every row */
};

union rql_constant {
	rql_int128 integer; /* I32 I64 I128 BOOL */
	double real;        /* F32 F64 */
};

struct rql_program_input {
	uint32_t column; /* the caller's number: table column, join payload, ... */
	uint16_t reg;
	enum rql_lane_kind kind; /* what the caller hands over */
	struct rql_type type;    /* VARCHAR, ...: I32 dictionary codes */
};

/* code -> value: what the host evaluated over a dictionary. */
struct rql_program_table {
	enum rql_lane_kind kind;
	uint32_t count;        /* codes 0..count-1 */
	const void *data;      /* count values of kind; BOOL: (count + 63) / 64 words */
	const uint64_t *valid; /* (count + 63) / 64 words, or NULL: no NULLs */
};

/* Bounds of an integer result: every valid value lies in [low, high]. */
struct rql_bounds {
	rql_int128 low, high;
};

struct rql_program_result {
	uint16_t reg;
	enum rql_lane_kind kind;
	struct rql_type type; /* a code of a dictionary column, when the result is such a column itself: its type */
	bool nullable;        /* false: no row is NULL when no NULLs come in where `nullable` inputs were not declared */
	struct rql_bounds bounds; /* integer kinds; so a sum of n rows lies in [n * low, n * high] (n >= 1) */
};

struct rql_program {
	uint32_t step_count, reg_count, constant_count, input_count, table_count, result_count;
	const struct rql_step *steps;
	const struct rql_reg *regs;
	const union rql_constant *constants;
	const struct rql_program_input *inputs;
	const struct rql_program_table *tables;
	const struct rql_program_result *results; /* one program may compute several, sharing what they have in common */
};

#define RQL_PROGRAM_MAX_STEPS 4096u
#define RQL_PROGRAM_MAX_REGS 4096u

/* RQL_OK: a run reads and writes nothing but its registers, tables and constants, whatever the inputs' values are.
 * RQL_ERROR_CORRUPT: the message names the step. */
rql_status rql_program_verify(const struct rql_program *program, struct rql_error *err) RQL_MUST_CHECK;
/* Whether some row of the inputs' types and bounds could raise an error: whatever the builder could not prove. */
bool rql_program_can_fail(const struct rql_program *program);
/* One line a step: "r3 = mul_wide r0 r1 : i64". For EXPLAIN and tests. */
void rql_program_print(struct rql_strbuf *out, const struct rql_program *program);
const char *rql_lane_kind_name(enum rql_lane_kind kind);
unsigned rql_lane_bytes(enum rql_lane_kind kind); /* of a value; 0 for BOOL */

/* ---- running on the CPU ---- */
struct rql_program_state; /* one thread's registers */

/* program (verified) must outlive the state. simd: the widest instructions to use, where the machine has them. */
rql_status rql_program_state_new(const struct rql_program *program, enum rql_simd simd, struct rql_program_state **out,
                                 struct rql_error *err) RQL_MUST_CHECK;
void rql_program_state_free(struct rql_program_state *state); /* NULL accepted */
/* Computes all results of rows 0..rows-1 (1..RQL_VECTOR_ROWS). inputs[i] belongs to program->inputs[i]; borrowed for the
 * call, and by results that are inputs. live: RQL_VECTOR_WORDS words, NULL: all rows. Allocates nothing.
 * RQL_ERROR_HOST: what DuckDB would raise, with its text; the results are then undefined. */
rql_status rql_program_run(struct rql_program_state *state, const struct rql_lanes *inputs, uint32_t rows,
                           const uint64_t *live, struct rql_error *err) RQL_MUST_CHECK;
/* Result r of the last run, until the next. Bits and values at and after `rows` are arbitrary. */
struct rql_lanes rql_program_result(const struct rql_program_state *state, uint32_t r);
/* Runs, and leaves in live (in and out, RQL_VECTOR_WORDS words) the rows where result 0 (BOOL) is true; rows from `rows` on
 * are cleared. Gives how many are left in *left. */
rql_status rql_program_filter(struct rql_program_state *state, const struct rql_lanes *inputs, uint32_t rows,
                              uint64_t *live, uint32_t *left, struct rql_error *err) RQL_MUST_CHECK;

/* Rows first..first+rows-1 of a column as it lies in a batch (DuckDB's layout) as lanes of kind, in `data`
 * (RQL_VECTOR_ROWS values) and `valid` (RQL_VECTOR_WORDS). false: the type is not one of programs (VARCHAR, ...) or does
 * not go into the kind. Integers that do not fit the kind wrap: the caller knows the column's bounds. */
bool rql_lanes_load(const struct rql_column *column, uint64_t first, uint32_t rows, enum rql_lane_kind kind, void *data,
                    uint64_t *valid, struct rql_lanes *out);

#endif

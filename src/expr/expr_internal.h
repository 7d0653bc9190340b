/* What the executor, its kernels and its error path share. */
#ifndef RQL_EXPR_EXPR_INTERNAL_H
#define RQL_EXPR_EXPR_INTERNAL_H

#include "expr/date.h"
#include "expr/expr.h"

/* ---- the catalogue ---- */
/* How the validity of dst follows. */
enum rql_step_nulls {
	RQL_NULLS_STRICT, /* NULL where an operand is; the executor does it before the kernel runs */
	RQL_NULLS_NEVER,  /* dst has no NULLs */
	RQL_NULLS_OWN,    /* the kernel does it */
};

struct rql_step_info {
	const char *name;     /* in lower case */
	const char *operands; /* letters of those it reads */
	enum rql_step_nulls nulls;
	uint8_t kinds; /* bit k: kind k is allowed as K */
	bool checked;  /* imm and imm + 1 are bounds */
	bool boolean;  /* dst is BOOL */
};

extern const struct rql_step_info rql_step_infos[RQL_STEP_COUNT];
/* The kind of dst, when the op's K and its own details determine it (not CONVERT, LOOKUP). */
enum rql_lane_kind rql_step_result_kind(enum rql_step_op op, enum rql_lane_kind kind);

/* Types inside a step: `from` is id | scale << 8, `count` of cast errors id | width << 8 | scale << 16. */
static inline uint16_t rql_step_pack_from(struct rql_type type)
{
	return (uint16_t)(type.id | type.scale << 8);
}

static inline uint32_t rql_step_pack_to(struct rql_type type)
{
	return (uint32_t)type.id | (uint32_t)type.width << 8 | (uint32_t)type.scale << 16;
}

static inline struct rql_type rql_step_unpack_to(uint32_t packed)
{
	return (struct rql_type){
		.id = (rql_type_id)(packed & 255), .width = (uint8_t)(packed >> 8), .scale = (uint8_t)(packed >> 16)};
}

/* ---- execution ---- */
/* Where the values of a register (struct rql_reg) lie while a program runs. */
struct rql_reg_slot {
	void *data;            /* of inputs: the caller's, never written */
	const uint64_t *valid; /* NULL: no NULLs */
	uint64_t *own_valid;   /* RQL_VECTOR_WORDS, of step registers */
	bool constant;         /* every row is the same: kernels may read row 0 only */
};

struct rql_exec {
	uint32_t words; /* of 64 rows, that are computed */
	const struct rql_program *program;
	struct rql_reg_slot *slots;
};

/* true: a row (perhaps a dead, masked or NULL one) may have failed or become NULL: rql_step_judge looks at each. */
typedef bool rql_step_fn(struct rql_exec *x, const struct rql_step *s);

struct rql_step_kernels {
	const char *name;
	rql_step_fn *ops[RQL_STEP_COUNT][RQL_LANE_KIND_COUNT];          /* by K; NULL: none, or by its own table below */
	rql_step_fn *convert[RQL_LANE_KIND_COUNT][RQL_LANE_KIND_COUNT]; /* from, to */
	rql_step_fn *lookup[RQL_LANE_KIND_COUNT];                       /* by kind of the table */
};

extern const struct rql_step_kernels rql_step_kernels_portable;
#if defined(__x86_64__)
extern const struct rql_step_kernels rql_step_kernels_avx2;
extern const struct rql_step_kernels rql_step_kernels_avx512;
#endif

/* After a kernel said true: goes through the rows of `rows` (words of the exec) that are not NULL, makes those NULL that
 * the step gives no value for, and raises the error of the first that has one. */
rql_status rql_step_judge(struct rql_exec *x, const struct rql_step *s, const uint64_t *rows, struct rql_error *err);

/* ---- days and dates, exact for every int32 (expr/date.h has the calendar) ---- */
/* Part of a finite day; WEEK, QUARTER, ... */
int32_t rql_day_part(enum rql_date_part part, int32_t day);
int32_t rql_day_trunc(enum rql_date_part part, int32_t day);

#define RQL_MICROS_INFINITY INT64_MAX
#define RQL_DAY_MICROS INT64_C(86400000000)
/* TIMESTAMP holds these whole days. */
#define RQL_DAY_TIMESTAMP_MAX 106751991

static inline bool rql_day_finite(int32_t day)
{
	return day != RQL_DAY_INFINITY && day != -RQL_DAY_INFINITY;
}

static inline bool rql_micros_finite(int64_t micros)
{
	return micros != RQL_MICROS_INFINITY && micros != -RQL_MICROS_INFINITY;
}

#endif

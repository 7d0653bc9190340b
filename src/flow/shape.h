/* How the columns of a METHOD operator are made of the groups that its method gives. */
#ifndef RQL_FLOW_SHAPE_H
#define RQL_FLOW_SHAPE_H

#include "method/method.h"
#include "sql/rel/rel.h"

enum rql_slot_kind {
	RQL_SLOT_KEY,   /* values[key code] of group key `key`; without values, least + key code, NULL for null_key (null_wide) */
	RQL_SLOT_KEY_HALVES, /* halves[0] << RQL_FORM_LOW_BITS | halves[1], both KEYs of integers, and NULL together */
	RQL_SLOT_COUNT, /* aggregate `count` */
	RQL_SLOT_SUM,   /* sum of coefficient * aggregate over terms; NULL when the first term's aggregate is not valid */
	RQL_SLOT_AVG,   /* SUM divided by aggregate `count` and by 10^scale; DOUBLE */
	/* MIN, MAX: aggregate terms[0], through the dictionary when the measure is one of codes; or SUM's terms, of two halves */
	RQL_SLOT_VALUE,
	/* Aggregates of a dimension: the method groups by it as well (a hidden last group key), and the groups that differ
	 * only in it are put together afterwards (collapse.c). */
	RQL_SLOT_KEY_DISTINCT, /* COUNT(DISTINCT d) */
	RQL_SLOT_KEY_COUNT,    /* COUNT(d): aggregate `count` over groups whose value is not NULL */
	RQL_SLOT_KEY_SUM,      /* SUM(d): values weighted by aggregate `count` */
	RQL_SLOT_KEY_AVG,
	RQL_SLOT_KEY_LEAST, /* MIN(d), MAX(d) */
	RQL_SLOT_KEY_GREATEST,
};
static inline bool rql_slot_is_of_key(enum rql_slot_kind kind)
{
	return kind >= RQL_SLOT_KEY_DISTINCT;
}
#define RQL_NO_AVERAGE "an average whose last digit depends on how DuckDB's optimiser has it computed"
struct rql_slot_term {
	uint32_t agg;
	rql_int128 coefficient;
};
struct rql_slot {
	enum rql_slot_kind kind;
	struct rql_type type;
	uint32_t key;
	const struct rql_column *values; /* KEY, KEY_*, and VALUE of codes: the dictionary; NULL: KEY's codes are integers */
	int64_t least;                   /* KEY and KEY_DISTINCT without values */
	uint32_t null_key;               /* the same; UINT32_MAX: never NULL */
	bool wide;                       /* the same: codes of 64 bits (rql_port.wide_keys), and NULL's: */
	uint64_t null_wide;              /* UINT64_MAX: never NULL */
	bool of_real;                    /* KEY without values: codes of reals (rql_group_key.real) */
	bool ordered;                    /* KEY: the values ascend with the codes, NULL last */
	const struct rql_slot *halves;   /* KEY_HALVES: two */
	struct rql_expr *of;             /* KEY_*: the argument, over one dimension, by which the method groups as well; */
	const uint32_t *key_of_code;     /* its entry of values for each code of that dimension, NULL: the code itself */
	uint32_t key_count;
	uint32_t term_count;
	struct rql_slot_term *terms;
	uint32_t count;
	uint8_t scale;
	enum rql_average average;
	bool narrow; /* AVG of a two-byte argument: DuckDB divides doubles there, long doubles elsewhere */
	bool real;   /* the terms' measure is REAL (then there is one term, of coefficient 1) */
};
/* NULL's code among those of a key without values; UINT64_MAX: it has none. */
static inline uint64_t rql_slot_null_code(const struct rql_slot *s)
{
	return s->wide ? s->null_wide : s->null_key == UINT32_MAX ? UINT64_MAX : s->null_key;
}

#endif

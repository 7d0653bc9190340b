/* The flat table's columns as numbers in device memory. For rival*.c only. */
#ifndef RQL_BENCH_RIVAL_DATA_H
#define RQL_BENCH_RIVAL_DATA_H

#include "device/work.h"

/* name, bytes of its dictionary code (4: the value itself), value of code 0. Regions to brands are numbered by the
 * generator: nation 5 * region + nation, city 10 * nation + digit, category 5 * manufacturer + category, brand
 * 40 * category + brand, all from 0. */
#define RQL_RIVAL_COLUMNS(X)                                                                                           \
	X(YEAR, 1, 1992)                                                                                                   \
	X(YEARMONTH, 1, 199201)                                                                                            \
	X(WEEK, 1, 0)                                                                                                      \
	X(DISCOUNT, 1, 0)                                                                                                  \
	X(QUANTITY, 1, 0)                                                                                                  \
	X(PRICE, 4, 0)                                                                                                     \
	X(REVENUE, 4, 0)                                                                                                   \
	X(COST, 4, 0)                                                                                                      \
	X(C_REGION, 1, 0)                                                                                                  \
	X(C_NATION, 1, 0)                                                                                                  \
	X(C_CITY, 1, 0)                                                                                                    \
	X(S_REGION, 1, 0)                                                                                                  \
	X(S_NATION, 1, 0)                                                                                                  \
	X(S_CITY, 1, 0)                                                                                                    \
	X(P_MFGR, 1, 0)                                                                                                    \
	X(P_CATEGORY, 1, 0)                                                                                                \
	X(P_BRAND, 2, 0)

enum rql_rival_column {
#define X(name, bytes, first) RQL_RIVAL_##name,
	RQL_RIVAL_COLUMNS(X)
#undef X
		RQL_RIVAL_COLUMN_COUNT
};

struct rql_rival_columns {
	uint64_t rows;
	struct rql_buffer *plain[RQL_RIVAL_COLUMN_COUNT]; /* int32 */
	struct rql_buffer *codes[RQL_RIVAL_COLUMN_COUNT]; /* NULL where the code is the value itself */
};

uint32_t rql_rival_code_bytes(enum rql_rival_column column);
/* The code of a value. */
uint32_t rql_rival_code(enum rql_rival_column column, int32_t value);
rql_status rql_rival_columns_make(struct rql_device *device, struct rql_pool *pool, double scale, int64_t seed,
                                  struct rql_rival_columns *out, struct rql_error *err) RQL_MUST_CHECK;
void rql_rival_columns_free(struct rql_rival_columns *columns);

#endif

/* What scan_bench's files share: SSB's data as columns, its queries and their requests, what is measured. A failure ends
 * the program. */
#ifndef RQL_BENCH_SCAN_BENCH_H
#define RQL_BENCH_SCAN_BENCH_H

#include "gen/ssb_row.h"
#include "method/scan/scan.h"

/* ---- scan_bench_data.c ---- */

enum {
	DATE_CODE,
	DISCOUNT,
	QUANTITY,
	PRICE,
	REVENUE,
	COST,
	C_REGION,
	C_NATION,
	C_CITY,
	S_REGION,
	S_NATION,
	S_CITY,
	P_MFGR,
	P_CATEGORY,
	P_BRAND,
	DATE_KEYS,
	CUSTOMER,
	SUPPLIER,
	PART,
	COLUMNS
};

struct day {
	int32_t year, month, week, key;
};
struct data {
	struct rql_ssb ssb;
	uint64_t rows;
	int32_t *plain[COLUMNS];
	struct day days[RQL_SSB_DATES];
	uint8_t *customer, *supplier; /* city of key - 1 */
	uint16_t *part;               /* brand */
	struct rql_store *store;
	const struct rql_store_snapshot *snapshot;
	double build_ms;
};

void bench_check(rql_status status, const struct rql_error *err);
void *bench_need(void *p); /* p, unless it is NULL */
/* The table at a scale, as int32 columns; then a store of it. */
void bench_generate(struct data *d, double scale, struct rql_pool *pool);
bool bench_is_coded(uint32_t column); /* in the store */
void bench_load(struct data *d, struct rql_pool *pool, enum rql_store_encoding encoding);

/* ---- scan_bench_query.c ---- */

#define MOST 4u
enum attribute { YEAR, YEARMONTH, WEEK, OTHER };
struct predicate {
	uint32_t column; /* DATE_CODE with an attribute, or a number */
	enum attribute attribute;
	int32_t least, greatest, other; /* other: one value more, or -1 */
};
struct group {
	uint32_t column; /* DATE_CODE: the year */
	int32_t first;
	uint32_t count;
};
struct query {
	const char *name;
	struct predicate predicates[MOST];
	uint32_t predicate_count;
	struct group groups[3];
	uint32_t group_count;
	enum { PRODUCT, SUM, PROFIT } operation;
	double duckdb_flat_ms; /* bench/results/2026-11-20-epyc-2cpu-ssb.json, SF 1, 2 threads */
};
extern const struct query bench_queries[13];

struct request {
	struct rql_request request;
	struct rql_conjunct conjuncts[MOST + 1];
	struct rql_lookup joins[4];
	struct rql_map *maps[4];
	struct rql_group_key groups[3];
	struct rql_source inputs[2];
	struct rql_row_program program;
	struct rql_agg agg;
	struct rql_arena *arena;
};

/* A plain loop over rows [first, end) of the int32 columns: the oracle, and a rival. */
void bench_plain(const struct data *d, const struct query *q, uint64_t first, uint64_t end, int64_t *sums);
/* On the flat table, or with joins as maps. */
void bench_flat_request(struct request *r, const struct data *d, const struct query *q);
void bench_star_request(struct request *r, const struct data *d, const struct query *q);
void bench_request_free(struct request *r);

/* ---- scan_bench_device.c ---- */

/* All of it on a device, beside the CPU's answers; gbps: of its memory. */
void bench_run_device(const struct data *d, struct rql_device *cpu, const char *name, unsigned runs, double gbps);

/* ---- scan_bench.c ---- */

int bench_ascending(const void *a, const void *b); /* doubles, for qsort */

#endif

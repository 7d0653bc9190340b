/* Running a suite at one size on one unit: data, indexes, queries, checks. What is inside every timer is said at its
 * field. Everything goes through the public API. */
#ifndef RQL_BENCH_SUITE_RUN_H
#define RQL_BENCH_SUITE_RUN_H

#include "bench/common/client.h"
#include "bench/suite/suite.h"
#include "bench/suite/suite_gpu.h"

#define RQL_SUITE_SIZES 16u
#define RQL_SUITE_UNITS 3u
#define RQL_SUITE_FACTS 8u

/* Where the columns come from. */
enum rql_suite_columns { RQL_COLUMNS_INDEX, RQL_COLUMNS_AUTO, RQL_COLUMNS_NONE };

struct rql_suite_options {
	const struct rql_suite *suite;
	double sizes[RQL_SUITE_SIZES]; /* scale factors, or rows */
	uint32_t size_count;
	char units[RQL_SUITE_UNITS][16];
	uint32_t unit_count;
	const char *device; /* rayql_device for units other than cpu; NULL: RayQL's choice */
	int64_t seed, threads, runs;
	int64_t least; /* fail unless so many queries are answered by RayQL, on every unit */
	enum rql_suite_columns columns;
	const char *lookups; /* CREATE INDEX ... USING that kind on the suite's keys, too; NULL: none */
	bool all_columns; /* USING columns (*) instead of those that the queries name */
	bool rivals;      /* ssb-flat on compute: the scans of rival.h beside it */
	bool force;       /* SET rayql_force = on: also where DuckDB looks cheaper */
	bool quiet;
	const char *json, *data; /* or NULL */
	const char *only;        /* "q1,q7": these queries; NULL: all */
	char *directory;         /* of the database files; malloc'ed */
};

struct rql_suite_index {
	const char *table;
	double rows, bytes; /* resident, as rayql_structures() says */
	double plain_bytes; /* its columns as arrays of 4-byte values, 8 where the type needs them; texts as 4-byte codes */
	double build_ms;    /* CREATE INDEX, call to return */
	double device_bytes; /* on GPUs, after the queries */
};

/* An index to look rows up by (--lookups). */
struct rql_suite_lookup {
	char name[32];
	double bytes, build_ms, device_bytes; /* as above */
};

struct rql_suite_result {
	const struct rql_suite_query *query; /* of the suite; `sized` is what was run */
	struct rql_suite_query sized;
	struct rql_strbuf rest; /* behind sized.rest */
	char *sql;
	char method[24], unit[24], device[32], structure[64];
	bool by_rayql;    /* a method answered, not the host */
	uint32_t lookups; /* bit i: its plan looks rows up in the suite's key i, as EXPLAIN says */
	char *reason;     /* RayQL's one line: why this plan, or why the host */
	char *error;      /* why there are no times; NULL when there are */
	char *difference; /* what is wrong with the answer; NULL when it is right */
	bool same;
	uint64_t rows, bytes_read;
	double first_ms;                      /* first run of the statement: text to rows */
	double new_ms;                        /* later, as a text that was never seen: median */
	double warm_ms, warm_least_ms;        /* later runs: text to rows; median, least */
	double plan_us, method_us, finish_us; /* parts of the warm runs, medians, as RayQL says */
	double device_us;                     /* GPUs: device time of all passes, median of runs of their own; else 0 */
	double rival_us[RQL_RIVAL_FORMS];     /* device time of rival.h's scans, median; 0: not run */
	bool rival_same[RQL_RIVAL_FORMS];     /* their sums are DuckDB's */
	double host_first_ms, host_ms, host_least_ms; /* DuckDB, the same statement */
	double estimated_ms, host_estimated_ms;       /* RayQL's prices */
	double floor_ms; /* the bytes read at the bandwidth measured, on a GPU and an empty pass; 0: the host answered */
};

struct rql_suite_run {
	double size;
	const char *unit;
	uint64_t rows;    /* of the first fact table */
	double load_s;    /* 0: the data were there */
	double launch_us; /* GPUs: device time of an empty pass */
	double read_gbps; /* of the unit's device, for floors */
	struct rql_suite_index indexes[RQL_SUITE_FACTS];
	struct rql_suite_lookup lookups[RQL_SUITE_KEYS]; /* suite->key_count of them, with --lookups */
	struct rql_suite_result *results; /* suite->query_count, those not run without a query */
	uint32_t failed;                  /* answers that differ or are missing */
};

struct rql_machine;

/* Fills runs[0 .. unit_count), which rql_suite_run_free frees (also after a failure). A query that fails is noted in
 * its result and does not fail the run; data or indexes that cannot be made do. *devices: rayql_devices() as JSON. */
rql_status rql_suite_run_size(const struct rql_suite_options *options, const struct rql_machine *machine, double size,
                              struct rql_suite_run *runs, struct rql_strbuf *devices,
                              struct rql_error *err) RQL_MUST_CHECK;
void rql_suite_run_free(const struct rql_suite_options *options, struct rql_suite_run *run);

struct rql_suite_summary {
	uint32_t queries, timed, same, by_rayql;
	uint32_t slower;                 /* answered by RayQL and slower than DuckDB */
	double warm_ms, host_ms, ratio;  /* geometric means over all that have times */
	double rayql_ratio, least_ratio; /* over those that RayQL answered: geometric mean, least */
	double device_us;                /* geometric mean over those that have it */
	const char *least_name;
	/* Rivals: geometric mean, and the least of their time over device_us, over queries that have both. */
	double rival_us[RQL_RIVAL_FORMS], rival_least[RQL_RIVAL_FORMS];
};
void rql_suite_summarise(const struct rql_suite_options *options, const struct rql_suite_run *run,
                         struct rql_suite_summary *out);

#endif

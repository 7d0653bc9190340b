/* The fused scan: one pass over the blocks of a column store that filters, joins to maps, groups and aggregates,
 * and writes nothing in between (A. Shanbhag, S. Madden, X. Yu: A Study of the Fundamental Performance Characteristics
 * of GPUs and CPUs for Database Analytics, SIGMOD 2020, section 3, "Crystal": a tile stays in the fast memory through
 * all operators; P. Boncz, M. Zukowski, N. Nes: MonetDB/X100, CIDR 2005: the same with vectors in a CPU's cache).
 *
 * A request speaks of a store's columns by number, of codes where a column has a dictionary, and of stored integers
 * elsewhere (dates as days, decimals without their point): the planner has translated everything else. An answer is the
 * struct rql_answer of method.h, so that what finishes a cube's answer finishes this one. */
#ifndef RQL_METHOD_SCAN_SCAN_H
#define RQL_METHOD_SCAN_SCAN_H

#include "column/store.h"
#include "expr/expr.h"
#include "method/method.h"

#define RQL_SCAN_NONE UINT32_MAX

/* ---- join maps ---- */
/* From an integer key (or a code) to a payload in [0, 2^31): what a dimension table filtered by its own predicates
 * comes down to. Keys that lie densely are looked up in an array from the least one, others in a hash table.
 * Immutable once built: several scans may use one at once. */
struct rql_scan_map;
/* keys[i] leads to payloads[i]; a negative payload is no entry at all (the dimension's row was filtered out), and
 * payloads NULL makes a set, for semi and anti joins: every payload is 0 and a key may come twice. Otherwise a key that
 * comes twice is RQL_ERROR_UNSUPPORTED (the join would multiply rows: the planner must aggregate the other side first,
 * or leave the join to the host), with the key in the message. NULL keys join nothing: leave them out. count up to
 * 2^31. Arrays are copied. */
rql_status rql_scan_map_build(const int64_t *keys, const int32_t *payloads, uint64_t count, struct rql_scan_map **out,
                              struct rql_error *err) RQL_MUST_CHECK;
void rql_scan_map_free(struct rql_scan_map *map); /* NULL accepted */
uint64_t rql_scan_map_bytes(const struct rql_scan_map *map);
uint64_t rql_scan_map_entries(const struct rql_scan_map *map);
bool rql_scan_map_is_dense(const struct rql_scan_map *map);
/* One more than the greatest payload; 0: the map is empty. */
uint32_t rql_scan_map_payloads(const struct rql_scan_map *map);
/* The payload of a key; -1: none. */
int32_t rql_scan_map_find(const struct rql_scan_map *map, int64_t key);

/* ---- requests ---- */
/* What a program, a group key or an aggregate reads in every row. */
enum rql_scan_source_kind {
	RQL_SCAN_COLUMN, /* index: column of the store. Of a coded column: the code */
	RQL_SCAN_JOIN,   /* index: join of the request; the payload, or what value_of_payload makes of it; NULL where a left
	                     join found nothing and has no payload for that */
	RQL_SCAN_PROGRAM, /* index: program of the request (not as a program's input) */
};
struct rql_scan_source {
	enum rql_scan_source_kind kind;
	uint32_t index;
	uint32_t result;                  /* PROGRAM: which of its results */
	const int64_t *value_of_payload;  /* JOIN: [rql_scan_join_payloads]; NULL: the payload itself */
	const uint64_t *valid_of_payload; /* JOIN: bitmap over payloads; NULL: all valid */
};

struct rql_scan_program {
	const struct rql_program *program;    /* verified */
	const struct rql_scan_source *inputs; /* one for each of the program's inputs; not PROGRAM */
};

/* One member of the WHERE clause's conjunction. A row passes when the test is true: a comparison with NULL is not. */
enum rql_scan_test {
	RQL_SCAN_IN_CODES, /* coded column: the code's bit in `codes` is set (NULL never passes) */
	RQL_SCAN_IN_RANGE, /* integer or coded column: least <= value <= greatest */
	RQL_SCAN_IN_REALS, /* DOUBLE or FLOAT: real_least <= value <= real_greatest; NaN is the greatest, as with DuckDB */
	RQL_SCAN_IS_NULL,
	RQL_SCAN_IS_NOT_NULL,
	RQL_SCAN_IS_TRUE, /* a program whose result 0 is boolean */
};
struct rql_scan_conjunct {
	enum rql_scan_test test;
	uint32_t index;        /* column, or of IS_TRUE the program */
	bool or_null;          /* NULL passes too (column tests) */
	/* The host tests nothing but such conditions before it: what can fail need not see the rows that this one drops. */
	bool at_first;
	const uint64_t *codes; /* bitmap over the column's codes */
	rql_int128 least, greatest;
	double real_least, real_greatest;
};

enum rql_scan_join_kind {
	RQL_SCAN_INNER, /* rows without a match are dropped */
	RQL_SCAN_SEMI,  /* the same, without a payload */
	RQL_SCAN_ANTI,  /* rows with a match are dropped; a NULL key has none (NOT EXISTS, not NOT IN) */
	RQL_SCAN_LEFT,  /* no row is dropped; without a match the payload is the join's `absent` */
};
struct rql_scan_join {
	enum rql_scan_join_kind kind;
	uint32_t column; /* integer or coded (its codes), up to 64 bits */
	const struct rql_scan_map *map;
	/* A key of two columns: the number of the other one plus 1; 0: there is none. The map's keys are then
	 * rql_scan_pair_key of both. Both columns' values must lie in the spans. */
	uint32_t second;
	struct rql_scan_pair {
		int64_t least, second_least;
		uint64_t second_span; /* values of the second column; times those of the first below 2^62 */
	} pair;
	uint32_t absent; /* LEFT: the payload of rows without a match, plus 1, up to 2^31; 0: it is NULL */
};
/* One more than the greatest payload that the join gives. */
static inline uint32_t rql_scan_join_payloads(const struct rql_scan_map *map, uint32_t absent)
{
	uint32_t payloads = rql_scan_map_payloads(map);
	return payloads > absent ? payloads : absent;
}
static inline int64_t rql_scan_pair_key(const struct rql_scan_pair *pair, int64_t value, int64_t second)
{
	return (int64_t)(((uint64_t)value - (uint64_t)pair->least) * pair->second_span +
	                 ((uint64_t)second - (uint64_t)pair->second_least));
}

/* A part of the group number: a row's key code in [0, key_count). NULL is a key like others. */
struct rql_scan_group_key {
	struct rql_scan_source source;
	/* Coded columns (NULL is one of the codes, null_key is not used) and joins (without value_of_payload and
	 * valid_of_payload): key code of the code or payload, entries below key_count. NULL: value - least. */
	const uint32_t *key_of_code;
	int64_t least;      /* without key_of_code: the value of key code 0; all values are below least + key_count */
	uint32_t key_count; /* NULL's included */
	uint32_t null_key;  /* below key_count, or RQL_SCAN_NONE: the source is never NULL */
	/* Instead of key_count, when it would be more: the answer has the key's codes in wide_keys. A null_key other than
	 * RQL_SCAN_NONE stands for wide_count - 1. Not with key_of_code, and not for GPUs. */
	uint64_t wide_count;
};

struct rql_scan_agg {
	enum rql_agg_kind kind;
	struct rql_scan_source source; /* not for COUNT_STAR */
	uint32_t filter;               /* FILTER clause: a program whose result 0 is boolean; RQL_SCAN_NONE: every row */
};

/* What a sample of the rows says about a request over its snapshot. All zero: not taken yet. */
#define RQL_SCAN_SAMPLED_STEPS 64u
struct rql_scan_sample {
	bool taken;
	double read_share; /* of blocks: what the zone maps leave */
	double pass;       /* of the rows in those: what passes everything */
	uint32_t step_count;
	/* Of each conjunct, then each join but left ones: of the rows in those blocks, what passes it; nanoseconds a row on one
	 * thread, negative where it was not timed. */
	double steps[RQL_SCAN_SAMPLED_STEPS], costs[RQL_SCAN_SAMPLED_STEPS];
	/* How many rows that pass it lie together: 1 when each lies anywhere, 4 of orders with four lines. */
	double runs[RQL_SCAN_SAMPLED_STEPS];
};

struct rql_scan_request {
	const struct rql_store_snapshot *snapshot; /* must outlive what is prepared from it */
	uint32_t program_count;
	const struct rql_scan_program *programs;
	uint32_t conjunct_count;
	const struct rql_scan_conjunct *conjuncts;
	uint32_t join_count;
	const struct rql_scan_join *joins; /* programs and maps are borrowed too, everything else is copied */
	uint32_t group_count;
	const struct rql_scan_group_key *groups;
	uint32_t agg_count;
	const struct rql_scan_agg *aggs;
	/* The sink is a map to build: columns of the store by number plus 1, integers of up to 64 bits or coded; 0: none. Of
	 * every row that passes the answer has their values (of coded columns the codes) and the row's group in its `keyed`,
	 * so that the groups become payloads. No aggregates then, on the CPU only, and groups with at most
	 * RQL_SCAN_KEYED_GROUPS numbers. */
	uint32_t keyed, keyed_second;
	/* In when it was taken, else out, so that the candidates that are prepared from one request sample once. NULL: each
	 * samples for itself. */
	struct rql_scan_sample *sample;
};
#define RQL_SCAN_KEYED_GROUPS (UINT64_C(1) << 20)

/* ---- running ---- */
struct rql_scan; /* a request bound to a snapshot; immutable: several threads may run it at once */

/* RQL_ERROR_UNSUPPORTED when it is no request that a scan can answer (a 128-bit join key, group keys with more than
 * 2^62 combinations, or together 128 bits): the message says which part. RQL_ERROR_INTERNAL: an index out of range. */
rql_status rql_scan_prepare(const struct rql_scan_request *request, struct rql_device *device, struct rql_scan **out,
                            struct rql_error *err) RQL_MUST_CHECK;
void rql_scan_free(struct rql_scan *scan); /* NULL accepted */
uint64_t rql_scan_bytes(const struct rql_scan *scan); /* without the workers at rest, the snapshot, maps and programs */

struct rql_scan_counts {
	uint64_t blocks, blocks_skipped; /* of them, by zone maps alone */
	uint64_t rows_read, rows_passed;
	uint64_t bytes_read; /* of compressed columns: whole blocks, or the cache lines of values fetched singly */
};
/* Answers in arena. Answers' columns: COUNT, SUM, MIN and MAX of integers as int128, of reals as double, MIN and
 * MAX of a coded column as codes (RQL_MEASURE_CODE). answer->cells_read: rows of the blocks that were not skipped;
 * cells_covered: rows that passed; runs: blocks read. counts may be NULL. An error of a program (overflow,
 * division, cast) stops the scan with the program's status and message. RQL_ERROR_INTERRUPTED when progress->cancel
 * is set; progress may be NULL. */
rql_status rql_scan_run(const struct rql_scan *scan, struct rql_device *device, struct rql_arena *arena,
                        struct rql_progress *progress, struct rql_answer *out, struct rql_scan_counts *counts,
                        struct rql_error *err) RQL_MUST_CHECK;

/* ---- prices ---- */
/* Measures the CPU's constants over a made-up store, on one thread in its processor time: about a tenth of a second, two
 * when thorough. The others in *out, and on failure all, stay as they are. */
rql_status rql_scan_calibrate(const struct rql_device *device, bool thorough, struct rql_scan_profile *out,
                              struct rql_error *err) RQL_MUST_CHECK;
/* Measures a GPU's, on its own clock: most of the time goes into two pipelines. On failure *out stays as it is. */
rql_status rql_scan_calibrate_gpu(struct rql_device *device, bool thorough, struct rql_scan_profile *out,
                                  struct rql_error *err) RQL_MUST_CHECK;
/* What a run will cost, from zone maps, the conjuncts' ranges, the device's bandwidth and the constants. */
void rql_scan_price(const struct rql_scan *scan, const struct rql_device *device,
                    const struct rql_scan_profile *profile, struct rql_cost *out);

#endif

/* What the parts of rayql bench garuda share. */
#ifndef RQL_GARUDA_H
#define RQL_GARUDA_H

#include "bench/relation/relation_bench.h"

#define RQL_GARUDA_FIRST 8u
#define RQL_GARUDA_LAST 13u
/* Figures of a list such as 8,10..12, a bit each at its number; false: it has others. */
bool rql_garuda_figures_parse(const char *text, uint32_t *out);
/* What follows belongs to this figure: prints what the paper found, and notes it for the JSON. */
void rql_garuda_figure_begin(struct rql_relation_bench *b, uint32_t number);

/* The least n with 2^n >= value. */
static inline uint32_t rql_garuda_log2_up(uint64_t value)
{
	return value > 1 ? 64u - (uint32_t)__builtin_clzll(value - 1) : 0;
}

/* Rows of keys that are made on the host lie in no order: row r is at place r * SPREAD of a table of 2^n rows. And back. */
#define RQL_GARUDA_SPREAD UINT32_C(0xa24baed5)
static inline uint32_t rql_garuda_inverse(uint32_t odd)
{
	uint32_t x = odd;
	for (int i = 0; i < 5; i++)
		x *= 2 - odd * x;
	return x;
}

/* ---- joins (garuda_join.c, garuda_host.c) ---- */

/* How the build rows are kept, and how probe rows meet them. */
enum rql_garuda_way {
	RQL_GARUDA_STACK, /* layers, an instance of the probe rows for each (3.1 to 3.3); what they do not hold is flattened */
	RQL_GARUDA_DENSE, /* all in one dense image, down whose pixels a probe row walks (3.4.4) */
	RQL_GARUDA_PARTS, /* stacks of the paper's sizes, one partition after the other (3.3.2, 5) */
	RQL_GARUDA_SNAKE, /* the same, each partition built on the side that takes fewer layers (3.4.3) */
	RQL_GARUDA_WAYS
};

/* Two sides of 32-bit keys, and the pairs of rows that must come out of their join. Side 0 is the build side. */
struct rql_garuda_join {
	char name[96];
	uint64_t rows[2], distinct;   /* distinct: about as many keys */
	struct rql_span keys[2];      /* on the device */
	const uint32_t *host_keys[2]; /* for joins from the host's memory; values are then rows' numbers */
	bool swapped;                 /* images are built of side 1 */
	uint32_t ways;                /* a bit each */
	uint32_t partition_bits;      /* of PARTS and SNAKE, at least */
	uint64_t pairs, sum;          /* how many, and the sum of their mixes */
	uint32_t kernel;              /* that checks pairs: RQL_BENCH_PAIR_CHECK or RQL_BENCH_PAIR_MIX ... */
	struct rql_relation_bench_args data; /* ... and what it is told beside them */
	double duckdb_ms; /* that DuckDB took; 0: it was not asked */
};
/* By each of its ways and by compute, in the device's memory. Buffers of the bench that were made before stay. */
rql_status rql_garuda_join_measure(struct rql_relation_bench *b, const struct rql_garuda_join *join,
                                   struct rql_error *err) RQL_MUST_CHECK;
/* Keys that lie in the host's memory go to the device, and PAIR_MIX is to check. */
rql_status rql_garuda_join_upload(struct rql_relation_bench *b, struct rql_garuda_join *join,
                                  struct rql_error *err) RQL_MUST_CHECK;
/* JO5 (6.3.3): half of the partitions are better built on one side, half on the other, in either order (garuda_snake.c). */
rql_status rql_garuda_snake(struct rql_relation_bench *b, struct rql_error *err) RQL_MUST_CHECK;

/* A self-join of keys with less skew than Zipf 0.5 (garuda_skew.c). */
rql_status rql_garuda_skew(struct rql_relation_bench *b, struct rql_error *err) RQL_MUST_CHECK;

/* A join from the host's memory to the host's memory. NULL: of generated keys that come once. */
rql_status rql_garuda_host(struct rql_relation_bench *b, const struct rql_garuda_join *join,
                           struct rql_error *err) RQL_MUST_CHECK;

/* The mix of two words of 32 bits, of which SQL is capable as well (garuda_tpch.c). relation_data.comp has the same. */
static inline uint64_t rql_garuda_mix(uint64_t a, uint64_t b)
{
	uint64_t x = (a * RQL_BENCH_MIX_A & UINT32_MAX) ^ (b * RQL_BENCH_MIX_B & UINT32_MAX);
	return (x ^ x >> 15) * RQL_BENCH_MIX_C >> 11 & UINT32_MAX;
}

/* ---- group-bys (garuda_group.c, garuda_host_group.c) ---- */

#define RQL_GARUDA_KEYS 3u
/* Rows to be grouped by up to three words of 32 bits, of which the first says the others, and the groups that must come
 * out: COUNT, and SUM of 32-bit values. */
struct rql_garuda_group {
	char name[96];
	uint64_t rows, groups;
	uint32_t key_words;
	bool sum;
	bool few_a_group; /* no group has more rows than a pass of blending adds up exactly */
	struct rql_span keys[RQL_GARUDA_KEYS], values; /* on the device */
	/* For group-bys from the host's memory. Keys are 32 bits wide, or 64: the second half has the second word, and above its
	 * 16 bits the third. */
	const void *host_keys;
	const int32_t *host_values;
	uint32_t host_key_bits;
	/* Is the answer right? Of it: rows, keys_to, column[0] counts, column[1] sums (0: none), flags. words: of the keys that
	 * it has. */
	rql_status (*check)(struct rql_relation_bench *b, const struct rql_garuda_group *group,
	                    const struct rql_relation_bench_args *answer, uint32_t words, bool *good, struct rql_error *err);
	const void *state; /* of the check */
	double duckdb_ms;  /* that DuckDB took; 0: it was not asked */
};
/* By hash images and by compute, in the device's memory. */
rql_status rql_garuda_group_measure(struct rql_relation_bench *b, const struct rql_garuda_group *group,
                                    struct rql_error *err) RQL_MUST_CHECK;
/* Runs the generated cases of figure 12 or 13: b->figure. */
rql_status rql_garuda_groups(struct rql_relation_bench *b, struct rql_error *err) RQL_MUST_CHECK;

/* Group-bys from the host's memory to the host's memory: the generated ones, and one of rows that are there. */
rql_status rql_garuda_host_groups(struct rql_relation_bench *b, struct rql_error *err) RQL_MUST_CHECK;
rql_status rql_garuda_host_group(struct rql_relation_bench *b, const struct rql_garuda_group *group,
                                 struct rql_error *err) RQL_MUST_CHECK;

/* ---- TPC-H (garuda_tpch.c) ---- */

struct rql_garuda_tpch;
/* A DuckDB in memory; tables come when a query wants them. */
rql_status rql_garuda_tpch_open(struct rql_relation_bench *b, struct rql_garuda_tpch **out,
                                struct rql_error *err) RQL_MUST_CHECK;
/* The paper's queries of that figure: 8, 9, 11, 12 or 13. */
rql_status rql_garuda_tpch_figure(struct rql_garuda_tpch *tpch, uint32_t figure, struct rql_error *err) RQL_MUST_CHECK;
/* The joins, or with --groups the group-bys, from the host's memory. */
rql_status rql_garuda_tpch_host(struct rql_garuda_tpch *tpch, struct rql_error *err) RQL_MUST_CHECK;
void rql_garuda_tpch_close(struct rql_garuda_tpch *tpch);

/* ---- what group-bys and joins from the host's memory share ---- */

/* Memory that the host and the device reach, its pages there. */
rql_status rql_garuda_memory(struct rql_relation_bench *b, uint64_t bytes, struct rql_buffer **out,
                             struct rql_error *err) RQL_MUST_CHECK;
/* The link's rates, bytes a nanosecond: in, out, and both at once (the bytes of one of the ways). rows: such memory. */
rql_status rql_garuda_link(struct rql_relation_bench *b, struct rql_buffer *rows, uint64_t bytes, double rates[3],
                           struct rql_error *err) RQL_MUST_CHECK;
/* Devices that --devices asks for, the benchmark's first; devices: [RQL_DEVICES_MAX], *count: 0 before. */
rql_status rql_garuda_devices(const struct rql_relation_bench *b, struct rql_device **devices, uint32_t *count,
                              struct rql_error *err) RQL_MUST_CHECK;

/* The group-by by the CPU's threads: COUNT and the sum of one column of int32 a group (garuda_cpu.c). */
struct rql_cpu_groups {
	uint64_t count, room;
	uint64_t *keys, *counts;
	int64_t *sums;
};
struct rql_cpu_rows {
	uint64_t rows;      /* of a chunk */
	const void *keys;   /* key_bits each */
	const int32_t *values;
};
rql_status rql_garuda_cpu_groups(struct rql_pool *pool, const struct rql_cpu_rows *chunks, uint32_t chunk_count,
                                 uint32_t key_bits, uint64_t groups, struct rql_cpu_groups *out,
                                 struct rql_error *err) RQL_MUST_CHECK;
void rql_cpu_groups_free(struct rql_cpu_groups *groups);

#endif

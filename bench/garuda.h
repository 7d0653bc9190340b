/* What the parts of rayql bench garuda share. */
#ifndef RQL_GARUDA_H
#define RQL_GARUDA_H

#include "relation_bench.h"

#define RQL_GARUDA_FIRST 8u
#define RQL_GARUDA_LAST 13u
/* Figures of a list such as 8,10..12, a bit each at its number; false: it has others. */
bool rql_garuda_figures_parse(const char *text, uint32_t *out);
/* What follows belongs to this figure: prints what the paper found, and notes it for the JSON. */
void rql_garuda_figure_begin(struct rql_relation_bench *b, uint32_t number);

/* A join from the host's memory to the host's memory. */
rql_status rql_garuda_host(struct rql_relation_bench *b, struct rql_error *err) RQL_MUST_CHECK;
/* Group-bys from the host's memory to the host's memory. */
rql_status rql_garuda_host_groups(struct rql_relation_bench *b, struct rql_error *err) RQL_MUST_CHECK;
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

/* Runs the cases of figure 12 or 13: b->figure. */
rql_status rql_garuda_groups(struct rql_relation_bench *b, struct rql_error *err) RQL_MUST_CHECK;

#endif

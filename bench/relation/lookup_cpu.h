/* Look-ups on the CPU, for rayql bench device, rx and thesis: the forms of indexes that need no GPU, by the code that
 * answers SQL, and rivals over sorted keys. Data are of the same shapes as on a GPU, and every answer is checked. */
#ifndef RQL_BENCH_LOOKUP_CPU_H
#define RQL_BENCH_LOOKUP_CPU_H

#include "bench/rx/rx.h"

struct rql_index_pair; /* method/index/forms/index_map.h */
#define RQL_LOOKUP_CPU_NO_ROW UINT32_MAX

/* ---- data (lookup_cpu_world.c) ---- */

struct rql_lookup_world {
	const struct rql_rx_shape *shape;
	uint64_t keys, probes, last, dense; /* last: the greatest key, or a bound; dense: as of rql_rx_bench_args */
	uint32_t log2_build, log2_distinct;
	bool narrow;     /* keys have 32 bits */
	void *key;       /* by row; uint32_t where narrow, else uint64_t */
	void *point;     /* of the probes, as wide */
	uint32_t *row;   /* answers: a row, or RQL_LOOKUP_CPU_NO_ROW; or */
	uint64_t *sum;   /* of ranges and of keys with several rows */
	uint64_t found;  /* probes whose key there is, as the check counts them */
};
rql_status rql_lookup_world_new(struct rql_relation_bench *b, const struct rql_rx_shape *shape,
                                struct rql_lookup_world *w, struct rql_error *err) RQL_MUST_CHECK;
void rql_lookup_world_free(struct rql_lookup_world *w);
/* Are all answers right? Forgets them. */
bool rql_lookup_world_check(struct rql_lookup_world *w);

static inline uint64_t rql_lookup_word(const void *words, bool narrow, uint64_t at)
{
	return narrow ? ((const uint32_t *)words)[at] : ((const uint64_t *)words)[at];
}
/* What a row adds to a sum. */
static inline uint32_t rql_lookup_value(const struct rql_lookup_world *w, uint64_t row)
{
	return (uint32_t)rql_lookup_word(w->key, w->narrow, row);
}

/* ---- searches (lookup_cpu_search.c): of a block of probes, whose reads of memory are under way together ---- */

#define RQL_SEARCH_BLOCK 16u
enum rql_search_way { RQL_SEARCH_BINARY, RQL_SEARCH_INTERPOLATION, RQL_SEARCH_KARY };
struct rql_searched {
	enum rql_search_way way;
	bool narrow;
	uint64_t count;
	void *keys; /* ascending; KARY: as a search tree of nodes of 64 bytes, whole ones, at a multiple of that */
	uint32_t *rows;
	double slope; /* INTERPOLATION: places a key's distance from the least, on average */
};
/* Takes pairs that ascend. */
rql_status rql_searched_make(enum rql_search_way way, bool narrow, const struct rql_index_pair *pairs, uint64_t count,
                             struct rql_searched *out, struct rql_error *err) RQL_MUST_CHECK;
void rql_searched_free(struct rql_searched *s);
/* The first place whose key is not below each of n keys, else the count. KARY: the place of the key, else the count. */
void rql_searched_find(const struct rql_searched *s, const uint64_t *keys, uint32_t n, uint64_t *places);

/* ---- runs (lookup_cpu.c) ---- */

/* All forms that the CPU has. */
extern const struct rql_rx_form *const rql_lookup_cpu_forms[];
rql_status rql_lookup_cpu_run(struct rql_relation_bench *b, const struct rql_rx_shape *shape,
                              struct rql_error *err) RQL_MUST_CHECK;

#endif

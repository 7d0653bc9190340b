/* The rows of `hits` before they become columns. Only for src/gen. */
#ifndef RQL_GEN_HITS_ROW_H
#define RQL_GEN_HITS_ROW_H

#include <stdbool.h>

#include "gen/hits.h"
#include "gen/random.h"

#define RQL_HITS_COUNTERS 6506u /* sites, as in the published data */
#define RQL_HITS_SITE_PAGES                                                                                            \
	1024u /* at most so many popular pages of a site; page numbers from COUNTERS * SITE_PAGES are the tail */
#define RQL_HITS_COUNTER_62 13u /* the rank of the site whose CounterID is 62, which seven queries ask for */
#define RQL_HITS_NONE UINT64_MAX
#define RQL_HITS_SPECIAL_REFERER (UINT64_MAX - 1) /* "http://yandex.ru/", whose hash query 41 asks for */

struct rql_hit {
	uint64_t user; /* rank; the users' attributes are hashes of it */
	uint64_t user_bits, visit_bits, hit_bits;
	uint32_t counter;       /* rank of the site */
	uint64_t page, referer; /* page numbers; referer may be RQL_HITS_NONE */
	uint64_t phrase;        /* number, or RQL_HITS_NONE */
	int64_t time;           /* seconds since 1970-01-01 */
	bool is_mobile;
	int16_t search_engine, adv_engine, traffic; /* ids as in the columns */
};

void rql_hits_row(const struct rql_hits *hits, uint64_t row, struct rql_hit *out);

/* A number in [0, n) for column `tag` that depends on the given bits alone. */
static inline uint32_t rql_hits_draw(uint64_t bits, uint32_t tag, uint32_t n)
{
	uint64_t random = rql_random_mix(bits + tag * RQL_RANDOM_GOLDEN);
	return (uint32_t)rql_random_take(&random, n);
}
static inline bool rql_hits_chance(uint64_t bits, uint32_t tag, uint32_t per_million)
{
	return rql_hits_draw(bits, tag, 1000000) < per_million;
}

int32_t rql_hits_counter_id(uint32_t counter);
int64_t rql_hits_user_id(const struct rql_hits *hits, uint64_t user);
/* The site that a page belongs to. */
uint32_t rql_hits_site(uint64_t page);
int64_t rql_hits_page_hash(uint64_t page);
int64_t rql_hits_referer_hash(uint64_t referer);

#endif

/* One row of `hits`: who visits which page when, drawn from hashes of its number. */
#include "gen/hits_row.h"

enum stream { VISIT = 1, USER, HIT };

#define MONTH_START 1372636800 /* 2013-07-01 00:00:00 */
#define MONTH_SECONDS (31 * 86400)

rql_status rql_hits_init(struct rql_hits *out, uint64_t rows, int64_t seed, struct rql_error *err)
{
	if (rows < 1 || rows > RQL_HITS_MAX_ROWS)
		return rql_error_set(err, RQL_ERROR_STATEMENT,
		                     "rayql_hits_rows(rows, seed, first, count): the table's rows must be 1 to %u",
		                     RQL_HITS_MAX_ROWS);
	/* Of n draws out of u, u (1 - exp(-n / u)) are distinct: 17 % of the rows for users (a visit every four rows,
	 * most by users of this kind), 19 % for addresses of pages, 46 % of the rows with a phrase for phrases. */
	uint64_t site_pages = rows >> 17; /* popular pages are few beside the tail, at every size */
	*out = (struct rql_hits){
		.rows = rows,
		.seed = (uint64_t)seed,
		.users = 1 + rows * 34 / 100,
		.addresses = 1 + rows / 8,
		.site_pages = site_pages < 4                     ? 4
	                  : site_pages > RQL_HITS_SITE_PAGES ? RQL_HITS_SITE_PAGES
	                                                     : site_pages,
		.tail_pages = 1 + rows * 30 / 100,
		.phrases = 1 + rows * 13 / 100,
	};
	return RQL_OK;
}

/* ---- ids ---- */

int32_t rql_hits_counter_id(uint32_t counter)
{
	if (counter == RQL_HITS_COUNTER_62)
		return 62;
	return (int32_t)(100 + rql_random_mix(counter + 1) % 10000000);
}

int64_t rql_hits_user_id(const struct rql_hits *hits, uint64_t user)
{
	if (user == 0)
		return 435090932899640449; /* the one that query 20 looks for */
	return (int64_t)(rql_random_at(hits->seed, USER, user) >> 1);
}

uint32_t rql_hits_site(uint64_t page)
{
	if (page < (uint64_t)RQL_HITS_COUNTERS * RQL_HITS_SITE_PAGES)
		return (uint32_t)(page / RQL_HITS_SITE_PAGES);
	uint64_t random = rql_random_mix(page);
	return (uint32_t)rql_random_rank(&random, RQL_HITS_COUNTERS);
}

int64_t rql_hits_page_hash(uint64_t page)
{
	if (page == (uint64_t)RQL_HITS_COUNTER_62 * RQL_HITS_SITE_PAGES)
		return 2868770270353813622; /* that site's first page, for query 42 */
	return (int64_t)rql_random_mix(page ^ RQL_RANDOM_GOLDEN);
}

int64_t rql_hits_referer_hash(uint64_t referer)
{
	if (referer == RQL_HITS_SPECIAL_REFERER)
		return 3594120000172545465;
	return referer == RQL_HITS_NONE ? -296158784638538920 : rql_hits_page_hash(referer);
}

/* ---- rows ---- */

/* Visits of 28 consecutive rows: 1 to 7 hits, in an order that looks like none. */
static uint64_t visit_of(uint64_t row, uint32_t *hit)
{
	static const uint8_t visit_at[28] = {0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 3, 3, 3, 3,
	                                     3, 3, 3, 4, 4, 5, 5, 5, 5, 5, 6, 6, 6, 6};
	static const uint8_t start[7] = {0, 3, 9, 10, 17, 19, 24};
	uint32_t at = (uint32_t)(row % 28);
	*hit = at - start[visit_at[at]];
	return row / 28 * 7 + visit_at[at];
}

/* One visit in 16 is by a heavy user, of whom a few make thousands; the others draw from all. */
static uint64_t draw_user(const struct rql_hits *hits, uint64_t visit, uint64_t random)
{
	if (visit == 0)
		return 0; /* so that query 20 finds something at every size */
	if (rql_random_take(&random, 16) == 0)
		return 1 + rql_random_rank(&random, 1 + hits->users / 1000) % hits->users;
	return rql_random_take(&random, hits->users);
}

static uint64_t draw_page(const struct rql_hits *hits, uint32_t counter, uint64_t random)
{
	if (rql_random_take(&random, 10) < 3)
		return (uint64_t)RQL_HITS_COUNTERS * RQL_HITS_SITE_PAGES + rql_random_take(&random, hits->tail_pages);
	return (uint64_t)counter * RQL_HITS_SITE_PAGES + rql_random_rank(&random, hits->site_pages);
}

static uint64_t draw_referer(const struct rql_hits *hits, const struct rql_hit *hit)
{
	if (rql_hits_chance(hit->hit_bits, 900, 190000))
		return RQL_HITS_NONE;
	if (hit->counter == RQL_HITS_COUNTER_62 && rql_hits_chance(hit->hit_bits, 901, 150000))
		return RQL_HITS_SPECIAL_REFERER;
	return draw_page(hits, hit->counter, rql_random_mix(hit->hit_bits + 902));
}

static uint64_t draw_phrase(const struct rql_hits *hits, uint64_t hit_bits)
{
	if (!rql_hits_chance(hit_bits, 903, 131700))
		return RQL_HITS_NONE;
	uint64_t random = rql_random_mix(hit_bits + 904);
	if (rql_random_take(&random, 10) < 6)
		return 1000000 + rql_random_take(&random, hits->phrases);
	return rql_random_rank(&random, 65536);
}

static int16_t draw_adv_engine(uint64_t bits)
{
	static const int16_t engines[] = {2, 27, 13, 45, 44, 3, 62, 52, 50, 28, 53, 25, 61, 21, 42, 16, 7, 22};
	uint64_t random = rql_random_mix(bits + 905);
	if (rql_random_take(&random, 1000000) >= 6305)
		return 0;
	return engines[rql_random_rank(&random, sizeof engines / sizeof *engines)];
}

static void draw_sources(struct rql_hit *hit)
{
	static const int16_t engines[] = {2, 3, 13, 1, 4, 55, 10, 29, 12, 54, 19, 47, 88, 24, 20};
	static const int16_t sources[] = {-1, -1, -1, 0, 0, 1, 1, 1, 5, 6, 6, 7, 8, 9};
	uint64_t random = rql_random_mix(hit->hit_bits + 906);
	hit->adv_engine = draw_adv_engine(hit->hit_bits);
	hit->search_engine =
		hit->phrase == RQL_HITS_NONE ? 0 : engines[rql_random_rank(&random, sizeof engines / sizeof *engines)];
	hit->traffic = hit->search_engine ? 2
	               : hit->adv_engine  ? 3
	                                  : sources[rql_random_take(&random, sizeof sources / sizeof *sources)];
}

void rql_hits_row(const struct rql_hits *hits, uint64_t row, struct rql_hit *out)
{
	uint32_t number;
	struct rql_hit hit;
	uint64_t visit = visit_of(row, &number);
	hit.visit_bits = rql_random_at(hits->seed, VISIT, visit);
	hit.hit_bits = rql_random_at(hits->seed, HIT, row);
	hit.user = draw_user(hits, visit, hit.visit_bits);
	hit.user_bits = rql_random_at(hits->seed, USER, hit.user);
	uint64_t random = rql_random_mix(hit.visit_bits + 907);
	hit.counter = (uint32_t)rql_random_rank(&random, RQL_HITS_COUNTERS);
	hit.time = MONTH_START + (int64_t)rql_random_take(&random, MONTH_SECONDS - 3600) + number * 37 +
	           rql_hits_draw(hit.hit_bits, 908, 30);
	hit.page = draw_page(hits, hit.counter, rql_random_mix(hit.hit_bits + 909));
	hit.phrase = draw_phrase(hits, hit.hit_bits);
	hit.referer = draw_referer(hits, &hit);
	hit.is_mobile = rql_hits_chance(hit.user_bits, 910, 56000);
	draw_sources(&hit);
	*out = hit;
}

/* Skew of GARUDA's figure 10(b) (papers/004, 6.3.2) below Zipf 0.5, which garuda.c has: a table joined with itself. The share of
 * rows whose key is among the first n of N is (n / N)^(1 - s). */
#include "bench/garuda/garuda.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define NAME "Zipf 0.25 on both sides, a self-join"
#define EXPONENT 0.25

/* Rows' places are their numbers times an odd one; keys rise with places. */
struct skewed {
	uint32_t log2_rows, inverse; /* inverse: of RQL_GARUDA_SPREAD */
	uint32_t *of_place, *of_row;
};

static uint32_t row_at(const struct skewed *s, uint32_t place)
{
	return place * s->inverse & ((1u << s->log2_rows) - 1);
}

static uint64_t make_keys(struct skewed *s)
{
	const double rows = (double)(UINT64_C(1) << s->log2_rows);
	uint64_t distinct = 0;
	for (uint32_t place = 0; place >> s->log2_rows == 0; place++) {
		const double share = ((double)place + 0.5) / rows;
		s->of_place[place] = (uint32_t)(rows * pow(share, 1 / (1 - EXPONENT)));
		distinct += !place || s->of_place[place] != s->of_place[place - 1];
		s->of_row[row_at(s, place)] = s->of_place[place];
	}
	return distinct;
}

/* All pairs, without a table: those of places side by side with one key. */
static void add_pairs(const struct skewed *s, struct rql_garuda_join *join)
{
	for (uint32_t first = 0, end = 0; first >> s->log2_rows == 0; first = end) {
		while (end >> s->log2_rows == 0 && s->of_place[end] == s->of_place[first])
			end++;
		for (uint32_t a = first; a < end; a++)
			for (uint32_t b = first; b < end; b++)
				join->sum += rql_garuda_mix(row_at(s, a), row_at(s, b));
		join->pairs += (uint64_t)(end - first) * (end - first);
	}
}

rql_status rql_garuda_skew(struct rql_relation_bench *b, struct rql_error *err)
{
	const uint64_t rows = UINT64_C(1) << b->options->log2_rows;
	struct rql_garuda_join join = {
		.name = NAME, .rows = {rows, rows}, .ways = 1u << RQL_GARUDA_STACK | 1u << RQL_GARUDA_DENSE};
	if (!rql_relation_wanted(b, NAME))
		return RQL_OK;
	struct skewed s = {.log2_rows = (uint32_t)b->options->log2_rows, .inverse = rql_garuda_inverse(RQL_GARUDA_SPREAD),
	                   .of_place = malloc(rows * 4), .of_row = malloc(rows * 4)};
	rql_status status = RQL_OK;
	if (!s.of_place || !s.of_row) {
		status = rql_error_memory(err, 8 * rows, "skewed keys");
	} else {
		join.distinct = make_keys(&s);
		join.host_keys[0] = join.host_keys[1] = s.of_row;
		add_pairs(&s, &join);
		status = rql_garuda_join_upload(b, &join, err);
	}
	if (status == RQL_OK)
		status = rql_garuda_join_measure(b, &join, err);
	free(s.of_place);
	free(s.of_row);
	rql_relation_drop(b);
	return status;
}

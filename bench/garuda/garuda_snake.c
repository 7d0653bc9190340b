/* JO5 of GARUDA's figure 11 (papers/004, 6.3.3): "tables R and S such that a subset of R has several duplicates in S and is
 * independent of a subset in S which also has several duplicates in R". Half of the partitions have keys that come often on
 * one side and once on the other; in the other half it is the other way round. So either order of the tables is as bad as the
 * other, and a snake join has few layers everywhere. The paper says no sizes: here a key comes eight times, and both sides
 * have 2^log2_rows rows. */
#include "bench/garuda/garuda.h"

#include <stdio.h>
#include <stdlib.h>

#define LOG2_DUPS 3u
#define PARTITION_BITS 3u /* at least two are needed, and the paper's 512M rows have about a hundred */

/* The word whose hash is h, by which partitions are chosen (rql_mix, primitive/relation/shaders/relation.glsl). Were that hash
 * another one, both kinds of keys would lie in every partition, and bench.garuda's test would see it. */
static uint32_t unhash(uint32_t h)
{
	h = (h ^ h >> 16) * rql_garuda_inverse(0x85ebca77);
	h = (h ^ h >> 15 ^ h >> 30) * rql_garuda_inverse(0x9e3779b1);
	return h ^ h >> 16;
}

/* Of a hash the top bit is the half, which so has partitions of its own. */
static uint32_t key_of(uint32_t half, uint32_t number)
{
	return unhash(half << 31 | (number * RQL_GARUDA_SPREAD & 0x7fffffff));
}

/* A row's place is its number times an odd one: the upper places are half 1. In half h, side h has a key often. */
struct side {
	uint32_t side, log2_rows;
};

static uint32_t row_at(const struct side *s, uint32_t half, uint32_t place)
{
	const uint32_t mask = (1u << s->log2_rows) - 1;
	return (half << (s->log2_rows - 1) | place) * rql_garuda_inverse(RQL_GARUDA_SPREAD) & mask;
}

static uint32_t *make_keys(const struct side *s)
{
	const uint32_t log2_half = s->log2_rows - 1;
	uint32_t *keys = malloc(UINT64_C(4) << s->log2_rows);
	for (uint32_t row = 0; keys && row >> s->log2_rows == 0; row++) {
		const uint32_t at = row * RQL_GARUDA_SPREAD & ((1u << s->log2_rows) - 1);
		const uint32_t half = at >> log2_half, place = at & ((1u << log2_half) - 1);
		keys[row] = key_of(half, half == s->side ? place & ((1u << (log2_half - LOG2_DUPS)) - 1) : place);
	}
	return keys;
}

/* All pairs, without a table: each row of the side that has a key often finds the one row of the other side. */
static void add_pairs(const struct side sides[2], struct rql_garuda_join *join)
{
	const uint32_t log2_half = sides[0].log2_rows - 1;
	for (uint32_t half = 0; half < 2; half++)
		for (uint32_t place = 0; place >> log2_half == 0; place++) {
			uint32_t rows[2];
			rows[half] = row_at(&sides[half], half, place);
			rows[!half] = row_at(&sides[!half], half, place & ((1u << (log2_half - LOG2_DUPS)) - 1));
			join->sum += rql_garuda_mix(rows[0], rows[1]);
			join->pairs++;
		}
}

static rql_status measure(struct rql_relation_bench *b, struct rql_garuda_join *join, struct rql_error *err)
{
	static const char *const names[] = {"JO5, built on R", "JO5, built on S"};
	RQL_TRY(rql_garuda_join_upload(b, join, err));
	for (int swapped = 0; swapped < 2; swapped++) {
		join->swapped = swapped;
		join->ways = 1u << RQL_GARUDA_PARTS | (swapped ? 0 : 1u << RQL_GARUDA_SNAKE);
		snprintf(join->name, sizeof(join->name), "%s", names[swapped]);
		if (rql_relation_wanted(b, join->name))
			RQL_TRY(rql_garuda_join_measure(b, join, err));
	}
	return RQL_OK;
}

rql_status rql_garuda_snake(struct rql_relation_bench *b, struct rql_error *err)
{
	const uint32_t log2_rows = (uint32_t)b->options->log2_rows;
	const uint64_t rows = UINT64_C(1) << log2_rows;
	const struct side sides[2] = {{0, log2_rows}, {1, log2_rows}};
	struct rql_garuda_join join = {.rows = {rows, rows}, .partition_bits = PARTITION_BITS};
	if (!rql_relation_wanted(b, "JO5, built on R") && !rql_relation_wanted(b, "JO5, built on S"))
		return RQL_OK;
	uint32_t *keys[2] = {make_keys(&sides[0]), make_keys(&sides[1])};
	rql_status status = RQL_OK;
	join.distinct = rows / 2;
	for (int side = 0; side < 2; side++)
		join.host_keys[side] = keys[side];
	if (!keys[0] || !keys[1])
		status = rql_error_memory(err, 8 * rows, "the keys of JO5");
	if (status == RQL_OK) {
		add_pairs(sides, &join);
		status = measure(b, &join, err);
	}
	free(keys[0]);
	free(keys[1]);
	rql_relation_drop(b);
	return status;
}

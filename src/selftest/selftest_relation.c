/* Joins and group-bys of unindexed columns, by compute and drawn, against loops over lists. */
#include "selftest/selftest_case.h"

#include <stdio.h>
#include <string.h>

#include "primitive/raster/group_by.h"
#include "primitive/raster/raster.h"

#define NO_ROW UINT32_MAX

/* One-to-one, so that keys stand for their numbers. */
static uint32_t key_of(uint32_t number)
{
	number = (number ^ number >> 16) * 0x2c1b3c6du;
	return number ^ number >> 15;
}

static uint64_t pair_mix(uint64_t build, uint64_t probe)
{
	uint64_t x = build << 32 | probe;
	x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
	return x ^ x >> 29;
}

struct join_arrays {
	uint32_t *numbers[2], *keys[2]; /* of the sides' rows */
	uint32_t *first, *next;         /* build rows of a number, as lists */
	uint32_t *pairs[2];
};

struct join_check {
	uint64_t build, probe, distinct;
	uint32_t bits; /* of the partitions; UINT32_MAX: chosen; of no use to what is drawn */
	bool skewed;   /* half of the rows have one number */
};

static void draw_sides(struct rql_selftest *t, const struct join_check *k, struct join_arrays *a)
{
	const uint64_t counts[] = {k->build, k->probe};
	for (uint64_t i = 0; i < 2 * k->distinct; i++)
		a->first[i] = NO_ROW;
	for (int side = 0; side < 2; side++) {
		for (uint64_t i = 0; i < counts[side]; i++) {
			/* The probe side has numbers that the build side lacks. */
			uint64_t number = rql_selftest_below(t, side ? 2 * k->distinct : k->distinct);
			if (k->skewed && side && rql_selftest_below(t, 2))
				number = 0;
			a->numbers[side][i] = (uint32_t)number;
			a->keys[side][i] = key_of((uint32_t)number);
		}
	}
	for (uint64_t i = 0; i < k->build; i++) {
		a->next[i] = a->first[a->numbers[0][i]];
		a->first[a->numbers[0][i]] = (uint32_t)i;
	}
}

/* Rows of the left join, and the sum of their mixes. */
static uint64_t wanted_rows(const struct join_check *k, const struct join_arrays *a, uint64_t *sum)
{
	uint64_t rows = 0;
	*sum = 0;
	for (uint64_t p = 0; p < k->probe; p++) {
		uint32_t b = a->first[a->numbers[1][p]];
		do {
			*sum += pair_mix(b, p);
			rows++;
			b = b == NO_ROW ? b : a->next[b];
		} while (b != NO_ROW);
	}
	return rows;
}

static rql_status run_join(struct rql_selftest *t, struct rql_join *join, struct rql_error *err)
{
	struct rql_commands *c;
	RQL_TRY(rql_selftest_buffer(t, rql_join_temp_bytes(join), NULL, "join temp", &join->temp.buffer, err));
	RQL_TRY(rql_selftest_record(t, &c, err));
	RQL_TRY(rql_record_join(c, join, err));
	return rql_selftest_execute(t, err);
}

static rql_status draw_join(struct rql_selftest *t, struct rql_join *join, struct rql_error *err)
{
	struct rql_image_spec specs[RQL_RASTER_JOIN_IMAGES];
	struct rql_raster_relation drawing;
	struct rql_commands *c;
	rql_raster_relation_lay(&drawing, join);
	RQL_TRY(rql_selftest_buffer(t, sizeof(struct rql_raster_points), NULL, "points of a join",
	                            &drawing.pairs.points.buffer, err));
	RQL_TRY(rql_selftest_buffer(t, rql_raster_relation_temp_bytes(&drawing), NULL, "temp of a drawn join",
	                            &drawing.join.temp.buffer, err));
	rql_raster_join_images(&drawing.pairs, specs);
	RQL_TRY(rql_raster_images_new(t->device, specs, RQL_RASTER_JOIN_IMAGES, "images of a join", drawing.pairs.images, err));
	rql_status status = rql_selftest_record(t, &c, err);
	if (status == RQL_OK)
		status = rql_record_raster_relation(c, &drawing, err);
	if (status == RQL_OK)
		status = rql_selftest_execute(t, err);
	rql_raster_images_free(drawing.pairs.images, RQL_RASTER_JOIN_IMAGES);
	return status;
}

typedef rql_status run_join_fn(struct rql_selftest *t, struct rql_join *join, struct rql_error *err);

static rql_status gpu_join(struct rql_selftest *t, const struct join_check *k, run_join_fn *way, struct join_arrays *a,
                           uint64_t capacity, uint64_t *rows, struct rql_error *err)
{
	struct rql_join join = {.kind = RQL_JOIN_LEFT, .key_bits = 32, .capacity = capacity};
	struct rql_join_side *sides[] = {&join.build, &join.probe};
	join.build.count = k->build;
	join.probe.count = k->probe;
	join.tuning.bits = k->bits + 1;
	for (int side = 0; side < 2; side++) {
		RQL_TRY(rql_selftest_buffer(t, sides[side]->count * 4, a->keys[side], "keys of a join",
		                            &sides[side]->keys.buffer, err));
		sides[side]->column_count = 1;
		sides[side]->columns[0].bits = 32;
		RQL_TRY(rql_selftest_buffer(t, capacity * 4, NULL, "pairs of a join", &sides[side]->columns[0].out.buffer, err));
	}
	RQL_TRY(rql_selftest_buffer(t, 8, NULL, "number of a join's rows", &join.rows.buffer, err));
	RQL_TRY(way(t, &join, err));
	RQL_TRY(rql_buffer_download(join.rows.buffer, 0, rows, 8, err));
	for (int side = 0; side < 2; side++)
		RQL_TRY(rql_buffer_download(sides[side]->columns[0].out.buffer, 0, a->pairs[side], capacity * 4, err));
	rql_selftest_drop(t);
	return RQL_OK;
}

static rql_status check_join(struct rql_selftest *t, const struct join_check *k, run_join_fn *way, struct rql_error *err)
{
	struct join_arrays a;
	uint64_t wanted_sum, rows, sum = 0;
	RQL_TRY(rql_selftest_alloc(t, k->build, 4, &a.numbers[0], err));
	RQL_TRY(rql_selftest_alloc(t, k->probe, 4, &a.numbers[1], err));
	RQL_TRY(rql_selftest_alloc(t, k->build, 4, &a.keys[0], err));
	RQL_TRY(rql_selftest_alloc(t, k->probe, 4, &a.keys[1], err));
	RQL_TRY(rql_selftest_alloc(t, 2 * k->distinct, 4, &a.first, err));
	RQL_TRY(rql_selftest_alloc(t, k->build, 4, &a.next, err));
	draw_sides(t, k, &a);
	uint64_t wanted = wanted_rows(k, &a, &wanted_sum);
	RQL_TRY(rql_selftest_alloc(t, wanted, 4, &a.pairs[0], err));
	RQL_TRY(rql_selftest_alloc(t, wanted, 4, &a.pairs[1], err));
	RQL_TRY(gpu_join(t, k, way, &a, wanted, &rows, err));
	if (rows != wanted)
		return rql_selftest_wrong(err, "a join of %llu and %llu rows has %llu rows instead of %llu",
		                          (unsigned long long)k->build, (unsigned long long)k->probe, (unsigned long long)rows,
		                          (unsigned long long)wanted);
	for (uint64_t i = 0; i < rows; i++)
		sum += pair_mix(a.pairs[0][i], a.pairs[1][i]);
	if (sum != wanted_sum)
		return rql_selftest_wrong(err, "a join of %llu and %llu rows has other pairs than it must have",
		                          (unsigned long long)k->build, (unsigned long long)k->probe);
	return RQL_OK;
}

/* In place, by one pass of partitions and by two, with tables that follow one another. */
static rql_status test_join(struct rql_selftest *t, struct rql_error *err)
{
	static const struct join_check checks[] = {
		{0, 1000, 5, UINT32_MAX, false},      {700, 20011, 500, UINT32_MAX, true}, {20011, 70001, 9000, UINT32_MAX, false},
		{20011, 50021, 20011, 12, true}, {3001, 9001, 30, 7, false},
	};
	for (uint32_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++)
		RQL_TRY(check_join(t, &checks[i], run_join, err));
	struct join_check large = {3000000, 7000000, 2000000, UINT32_MAX, true};
	return t->thorough ? check_join(t, &large, run_join, err) : RQL_OK;
}

static rql_status test_drawn_join(struct rql_selftest *t, struct rql_error *err)
{
	static const struct join_check checks[] = {
		{0, 1000, 5, 0, false}, {700, 5003, 500, 0, true}, {3001, 9001, 30, 0, false}};
	for (uint32_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++)
		RQL_TRY(check_join(t, &checks[i], draw_join, err));
	struct join_check large = {300000, 700000, 200000, 0, true};
	return t->thorough ? check_join(t, &large, draw_join, err) : RQL_OK;
}

/* ---- group-by ---- */

struct group_check {
	uint64_t rows, groups, guess;
};

struct group_arrays {
	uint64_t *keys, *counts, *sums; /* keys: a row's; the others: wanted, a group's */
	int32_t *values;
	uint64_t *reals; /* fields of the same values as doubles, whose sums are exact */
	int64_t *least, *greatest;
	uint64_t *keys_out, *counts_out, *words[3], *real_sums;
};

static uint64_t wide_key(uint64_t group)
{
	return group * UINT64_C(0x9e3779b97f4a7c15); /* odd: one-to-one */
}

/* The group of a key: the inverse of the multiplication. */
static uint64_t group_of(uint64_t key)
{
	return key * UINT64_C(0xf1de83e19937733d);
}

static void draw_groups(struct rql_selftest *t, const struct group_check *k, struct group_arrays *a)
{
	for (uint64_t i = 0; i < k->rows; i++) {
		/* A third of the rows are of one group. */
		uint64_t group = rql_selftest_below(t, 3) ? rql_selftest_below(t, k->groups) : k->groups / 2;
		int32_t value = (int32_t)rql_selftest_random(t);
		const double real = value;
		memcpy(&a->reals[i], &real, sizeof real);
		a->reals[i] = ~a->reals[i];
		a->keys[i] = wide_key(group);
		a->values[i] = value;
		if (!a->counts[group] || value < a->least[group])
			a->least[group] = value;
		if (!a->counts[group] || value > a->greatest[group])
			a->greatest[group] = value;
		a->sums[group] += (uint64_t)(int64_t)value;
		a->counts[group]++;
	}
}

static rql_status run_groups(struct rql_selftest *t, struct rql_group_by *g, struct rql_error *err)
{
	struct rql_commands *c;
	RQL_TRY(rql_selftest_buffer(t, rql_group_by_temp_bytes(g), NULL, "group-by temp", &g->temp.buffer, err));
	RQL_TRY(rql_selftest_record(t, &c, err));
	RQL_TRY(rql_record_group_by(c, g, err));
	return rql_selftest_execute(t, err);
}

static rql_status draw_group_by(struct rql_selftest *t, struct rql_group_by *g, struct rql_error *err)
{
	struct rql_image_spec specs[RQL_RASTER_GROUP_IMAGES];
	struct rql_raster_groups drawing;
	struct rql_commands *c;
	rql_raster_groups_lay(&drawing, g, RQL_RASTER_ATOMICS, NULL);
	RQL_TRY(rql_selftest_buffer(t, sizeof(struct rql_raster_group_points), NULL, "points of a group-by",
	                            &drawing.drawing.points.buffer, err));
	RQL_TRY(rql_selftest_buffer(t, rql_raster_groups_temp_bytes(&drawing), NULL, "temp of a drawn group-by",
	                            &drawing.by.temp.buffer, err));
	rql_raster_group_by_images(&drawing.drawing, specs);
	RQL_TRY(rql_raster_images_new(t->device, specs, RQL_RASTER_GROUP_IMAGES, "images of a group-by",
	                              drawing.drawing.images, err));
	rql_status status = rql_selftest_record(t, &c, err);
	if (status == RQL_OK)
		status = rql_record_raster_groups(c, &drawing, err);
	if (status == RQL_OK)
		status = rql_selftest_execute(t, err);
	rql_raster_images_free(drawing.drawing.images, RQL_RASTER_GROUP_IMAGES);
	return status;
}

/* A second column's sums, where the device adds doubles. */
static rql_status add_reals(struct rql_selftest *t, const struct group_check *k, struct group_arrays *a,
                            struct rql_group_by *g, struct rql_error *err)
{
	struct rql_group_by_column *column = &g->columns[g->column_count];
	if (!t->device->limits.float64)
		return RQL_OK;
	g->column_count++;
	*column = (struct rql_group_by_column){.kind = RQL_GROUP_BY_REAL_FIELDS, .bits = 64};
	RQL_TRY(rql_selftest_buffer(t, k->rows * 8, a->reals, "reals of a group-by", &column->values.buffer, err));
	return rql_selftest_buffer(t, k->groups * 8, NULL, "groups' sums of reals", &column->sum.buffer, err);
}

typedef rql_status run_groups_fn(struct rql_selftest *t, struct rql_group_by *g, struct rql_error *err);

static rql_status gpu_groups(struct rql_selftest *t, const struct group_check *k, run_groups_fn *way,
                             struct group_arrays *a, uint64_t result[2], struct rql_error *err)
{
	struct rql_group_by g = {.key_bits = 64, .count = k->rows, .guess = k->guess, .column_count = 1, .capacity = k->groups};
	struct rql_group_by_column *column = &g.columns[0];
	struct rql_span *spans[] = {&column->sum, &column->min, &column->max};
	column->bits = 32;
	column->is_signed = true;
	RQL_TRY(rql_selftest_buffer(t, k->rows * 8, a->keys, "keys of a group-by", &g.keys.buffer, err));
	RQL_TRY(rql_selftest_buffer(t, k->rows * 4, a->values, "values of a group-by", &column->values.buffer, err));
	RQL_TRY(rql_selftest_buffer(t, k->groups * 8, NULL, "groups' keys", &g.keys_out.buffer, err));
	RQL_TRY(rql_selftest_buffer(t, k->groups * 8, NULL, "groups' counts", &g.counts.buffer, err));
	for (uint32_t i = 0; i < 3; i++)
		RQL_TRY(rql_selftest_buffer(t, k->groups * 8, NULL, "groups' words", &spans[i]->buffer, err));
	RQL_TRY(rql_selftest_buffer(t, 16, NULL, "result of a group-by", &g.result.buffer, err));
	RQL_TRY(add_reals(t, k, a, &g, err));
	RQL_TRY(way(t, &g, err));
	RQL_TRY(rql_buffer_download(g.result.buffer, 0, result, 16, err));
	RQL_TRY(rql_buffer_download(g.keys_out.buffer, 0, a->keys_out, k->groups * 8, err));
	RQL_TRY(rql_buffer_download(g.counts.buffer, 0, a->counts_out, k->groups * 8, err));
	for (uint32_t i = 0; i < 3; i++)
		RQL_TRY(rql_buffer_download(spans[i]->buffer, 0, a->words[i], k->groups * 8, err));
	if (g.column_count == 2)
		RQL_TRY(rql_buffer_download(g.columns[1].sum.buffer, 0, a->real_sums, k->groups * 8, err));
	rql_selftest_drop(t);
	return RQL_OK;
}

static bool same_group(const struct group_arrays *a, bool reals, uint64_t i, uint64_t g)
{
	double sum;
	memcpy(&sum, &a->real_sums[i], sizeof sum);
	return a->counts_out[i] == a->counts[g] && a->counts[g] && a->words[0][i] == a->sums[g] &&
	       (int64_t)a->words[1][i] == a->least[g] && (int64_t)a->words[2][i] == a->greatest[g] &&
	       (!reals || sum == (double)(int64_t)a->sums[g]);
}

static rql_status compare_groups(const struct group_check *k, bool reals, struct group_arrays *a,
                                 const uint64_t result[2], struct rql_error *err)
{
	uint64_t there = 0;
	for (uint64_t g = 0; g < k->groups; g++)
		there += a->counts[g] != 0;
	if (result[1] || result[0] != there)
		return rql_selftest_wrong(err, "%llu rows have %llu groups instead of %llu, and %llu found no place",
		                          (unsigned long long)k->rows, (unsigned long long)result[0], (unsigned long long)there,
		                          (unsigned long long)result[1]);
	for (uint64_t i = 0; i < there; i++) {
		uint64_t g = group_of(a->keys_out[i]);
		if (g >= k->groups || !same_group(a, reals, i, g))
			return rql_selftest_wrong(err, "group-by of %llu rows: group %llu is wrong or comes twice",
			                          (unsigned long long)k->rows, (unsigned long long)g);
		a->counts[g] = 0; /* seen */
	}
	return RQL_OK;
}

static rql_status check_groups(struct rql_selftest *t, const struct group_check *k, run_groups_fn *way,
                               struct rql_error *err)
{
	struct group_arrays a;
	uint64_t result[2];
	RQL_TRY(rql_selftest_alloc(t, k->rows, 8, &a.keys, err));
	RQL_TRY(rql_selftest_alloc(t, k->rows, 8, &a.reals, err));
	RQL_TRY(rql_selftest_alloc(t, k->rows, 4, &a.values, err));
	uint64_t **arrays[] = {&a.counts,   &a.sums,     &a.keys_out, &a.counts_out,
	                       &a.words[0], &a.words[1], &a.words[2], &a.real_sums};
	for (uint32_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++)
		RQL_TRY(rql_selftest_alloc(t, k->groups, 8, arrays[i], err));
	RQL_TRY(rql_selftest_alloc(t, k->groups, 8, &a.least, err));
	RQL_TRY(rql_selftest_alloc(t, k->groups, 8, &a.greatest, err));
	draw_groups(t, k, &a);
	RQL_TRY(gpu_groups(t, k, way, &a, result, err));
	return compare_groups(k, t->device->limits.float64, &a, result, err);
}

/* In shared memory alone, by one pass of partitions and by two; more groups than were guessed. */
static rql_status test_groups(struct rql_selftest *t, struct rql_error *err)
{
	static const struct group_check checks[] = {
		{0, 1, 1}, {5000, 3, 3}, {100003, 900, 900}, {200003, 60000, 60000}, {300007, 100000, 3000000}, {50021, 3000, 500},
	};
	for (uint32_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++)
		RQL_TRY(check_groups(t, &checks[i], run_groups, err));
	struct group_check large = {20000003, 9000000, 9000000};
	return t->thorough ? check_groups(t, &large, run_groups, err) : RQL_OK;
}

static rql_status test_drawn_groups(struct rql_selftest *t, struct rql_error *err)
{
	static const struct group_check checks[] = {{0, 1, 1}, {5000, 3, 3}, {20011, 900, 900}};
	for (uint32_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++)
		RQL_TRY(check_groups(t, &checks[i], draw_group_by, err));
	struct group_check large = {1000003, 300000, 300000};
	return t->thorough ? check_groups(t, &large, draw_group_by, err) : RQL_OK;
}

const struct rql_selftest_case rql_selftest_relation[] = {
	{"relation.join", RQL_SELFTEST_UNIT(RQL_UNIT_COMPUTE), test_join},
	{"relation.group_by", RQL_SELFTEST_UNIT(RQL_UNIT_COMPUTE), test_groups},
	{"relation.join_drawn", RQL_SELFTEST_UNIT(RQL_UNIT_RASTER), test_drawn_join},
	{"relation.group_by_drawn", RQL_SELFTEST_UNIT(RQL_UNIT_RASTER), test_drawn_groups},
	{0},
};

/* The group-bys of GARUDA's figures 12 and 13 (papers/004, 6.4) on one partition in a device's memory: by hash images,
 * totals by atomics of fragments and by blending, and by compute. Rows are TPC-H's (garuda_tpch.c), or made here in such
 * shapes; data and checks are then those of rayql bench device. */
#include "bench/garuda/garuda.h"

#include <stdio.h>

#include "bench/common/json.h"
#include "primitive/raster/group_by.h"

static const struct shape {
	uint32_t figure;
	const char *name;
	uint32_t log2_groups, log2_a_group; /* one of them; 0: the other says it */
	uint32_t key_words;
	bool sum;
} shapes[] = {
	{12, "SGO1's shape (2^11 groups)", 11, 0, 1, true},
	{12, "SGO2's and SGO3's shape (4 rows a group)", 0, 2, 1, true},
	{12, "2^8 groups", 8, 0, 1, true},
	{12, "2^12 groups", 12, 0, 1, true},
	{12, "2^16 groups", 16, 0, 1, true},
	{12, "2^20 groups", 20, 0, 1, true},
	{12, "2^24 groups", 24, 0, 1, true},
	{13, "SGO2's shape, COUNT", 0, 2, 1, false},
	{13, "SGO2's shape, SUM", 0, 2, 1, true},
	{13, "MGO1's shape, 2 keys, COUNT", 0, 2, 2, false},
	{13, "MGO1's shape, 2 keys, SUM", 0, 2, 2, true},
	{13, "MGO2's shape, 3 keys, COUNT", 0, 2, 3, false},
	{13, "MGO2's shape, 3 keys, SUM", 0, 2, 3, true},
};

#define ROUNDS 16u
#define SAFE_ROWS (RQL_RASTER_EXACT_ROWS / 4) /* of a group in the mean, for one pass of blending */

struct group_case {
	struct rql_relation_case base;
	const struct rql_garuda_group *group;
	struct rql_raster_group_by raster;
	struct rql_group_by rival;
};

/* ---- hash images ---- */

static rql_status make_raster(struct rql_relation_bench *b, struct group_case *one, enum rql_raster_totals totals,
                              struct rql_error *err)
{
	struct rql_raster_group_by *by = &one->raster;
	struct rql_image_spec specs[RQL_RASTER_GROUP_IMAGES];
	by->totals = totals;
	by->hashed = 1; /* the most diverse */
	by->rounds = ROUNDS;
	by->log2_side = (rql_garuda_log2_up(one->group->groups) + 3) / 2; /* pixels: 4 to 8 times the groups */
	by->log2_side = by->log2_side < 14 ? by->log2_side : 14;
	by->column_count = one->group->sum;
	by->columns[0].bits = 32;
	by->columns[0].is_signed = by->columns[0].wide_sum = true;
	by->few_a_group = one->group->few_a_group;
	by->capacity = one->group->groups;
	RQL_TRY(rql_relation_buffer(b, by->capacity * 4, &by->heads.buffer, err));
	RQL_TRY(rql_relation_buffer(b, by->capacity * 8, &by->counts.buffer, err));
	RQL_TRY(rql_relation_buffer(b, by->capacity * 16, &by->columns[0].sum.buffer, err));
	RQL_TRY(rql_relation_buffer(b, 8, &by->groups.buffer, err));
	RQL_TRY(rql_relation_buffer(b, 8, &by->inexact.buffer, err));
	RQL_TRY(rql_relation_buffer(b, by->count * 4, &by->rest.buffer, err));
	RQL_TRY(rql_relation_buffer(b, sizeof(struct rql_raster_group_points), &by->points.buffer, err));
	one->base.scratch_bytes = rql_raster_group_by_temp_bytes(by);
	RQL_TRY(rql_relation_buffer(b, one->base.scratch_bytes, &by->temp.buffer, err));
	rql_raster_group_by_images(by, specs);
	one->base.scratch_bytes += rql_raster_images_bytes(specs, RQL_RASTER_GROUP_IMAGES);
	return rql_raster_images_new(b->device, specs, RQL_RASTER_GROUP_IMAGES, "the benchmark's images", by->images, err);
}

static rql_status record_raster(struct rql_relation_case *base, struct rql_commands *c, struct rql_error *err)
{
	return rql_record_raster_group_by(c, &((struct group_case *)base->state)->raster, err);
}

static rql_status check_raster(struct rql_relation_bench *b, struct rql_relation_case *base, bool *good,
                               struct rql_error *err)
{
	struct group_case *one = base->state;
	const struct rql_raster_group_by *by = &one->raster;
	const bool blends = by->totals == RQL_RASTER_BLENDING;
	uint64_t groups, inexact = 0;
	struct rql_raster_group_points points;
	RQL_TRY(rql_buffer_download(by->groups.buffer, 0, &groups, 8, err));
	RQL_TRY(rql_buffer_download(by->points.buffer, 0, &points, sizeof points, err));
	if (blends)
		RQL_TRY(rql_buffer_download(by->inexact.buffer, 0, &inexact, 8, err));
	const struct rql_relation_bench_args answer = {
		.rows = groups, .keys_to = by->heads.buffer->address, .flags = RQL_BENCH_HEADS | RQL_BENCH_WIDE_SUMS,
		.column = {by->counts.buffer->address, one->group->sum ? by->columns[0].sum.buffer->address : 0}};
	*good = groups == one->group->groups && points.rest == 0 && inexact == 0;
	if (*good)
		RQL_TRY(one->group->check(b, one->group, &answer, by->key_words, good, err));
	RQL_TRY(rql_relation_fill(b, by->counts.buffer, 0, by->counts.buffer->bytes, UINT32_MAX, err));
	return rql_relation_fill(b, by->groups.buffer, 0, 8, UINT32_MAX, err);
}

static rql_status report_points(struct rql_relation_bench *b, struct group_case *one, struct rql_error *err)
{
	struct rql_raster_group_points drawn;
	RQL_TRY(rql_buffer_download(one->raster.points.buffer, 0, &drawn, sizeof drawn, err));
	printf("%-44s points %llu + %llu (%.2f a row), %llu rounds in use, %llu groups\n", one->base.name,
	       (unsigned long long)drawn.hashed, (unsigned long long)drawn.totals,
	       (double)(drawn.hashed + drawn.totals) / (double)one->raster.count, (unsigned long long)drawn.rounds,
	       (unsigned long long)one->group->groups);
	struct rql_strbuf *j = &b->json;
	rql_strbuf_put(j, ",\n  {");
	rql_json_count(j, "figure", b->figure);
	rql_json_string(j, "case", one->base.name);
	rql_json_string(j, "variant", "points of hash images");
	rql_json_count(j, "grouping", drawn.hashed);
	rql_json_count(j, "totals", drawn.totals);
	rql_json_count(j, "rounds", drawn.rounds);
	rql_json_count(j, "groups", one->group->groups);
	rql_strbuf_put(j, "}");
	return RQL_OK;
}

static rql_status measure_raster(struct rql_relation_bench *b, struct group_case *one, enum rql_raster_totals totals,
                                 struct rql_error *err)
{
	static const struct rql_relation_variant variants[] = {
		[RQL_RASTER_ATOMICS] = {.name = "hash images, atomics"},
		[RQL_RASTER_BLENDING] = {.name = "hash images, blending"}};
	const uint32_t kept = b->buffer_count;
	one->base.record = record_raster;
	one->base.check = check_raster;
	rql_status status = make_raster(b, one, totals, err);
	if (status == RQL_OK)
		status = rql_relation_measure(b, &one->base, &variants[totals], err);
	if (status == RQL_OK && totals == RQL_RASTER_ATOMICS)
		status = report_points(b, one, err);
	rql_raster_images_free(one->raster.images, RQL_RASTER_GROUP_IMAGES);
	rql_relation_drop_to(b, kept);
	return status;
}

/* ---- compute ---- */

static rql_status record_rival(struct rql_relation_case *base, struct rql_commands *c, struct rql_error *err)
{
	return rql_record_group_by(c, &((struct group_case *)base->state)->rival, err);
}

static rql_status check_rival(struct rql_relation_bench *b, struct rql_relation_case *base, bool *good,
                              struct rql_error *err)
{
	struct group_case *one = base->state;
	const struct rql_group_by *g = &one->rival;
	uint64_t result[2];
	RQL_TRY(rql_buffer_download(g->result.buffer, 0, result, 16, err));
	const struct rql_relation_bench_args answer = {
		.rows = result[0], .keys_to = g->keys_out.buffer->address,
		.column = {g->counts.buffer->address, one->group->sum ? g->columns[0].sum.buffer->address : 0}};
	*good = result[0] == one->group->groups && result[1] == 0;
	if (*good)
		RQL_TRY(one->group->check(b, one->group, &answer, 1, good, err));
	RQL_TRY(rql_relation_fill(b, g->counts.buffer, 0, g->counts.buffer->bytes, UINT32_MAX, err));
	return rql_relation_fill(b, g->result.buffer, 0, 16, UINT32_MAX, err);
}

/* By the first word alone, which says the others: less to read than the images have. */
static rql_status measure_rival(struct rql_relation_bench *b, struct group_case *one, struct rql_error *err)
{
	static const struct rql_relation_variant compute = {.name = "compute"};
	struct rql_group_by *g = &one->rival;
	g->key_bits = 32;
	g->count = one->raster.count;
	g->keys = one->raster.keys[0];
	g->capacity = g->guess = one->group->groups;
	RQL_TRY(rql_relation_buffer(b, g->capacity * 4, &g->keys_out.buffer, err));
	RQL_TRY(rql_relation_buffer(b, g->capacity * 8, &g->counts.buffer, err));
	RQL_TRY(rql_relation_buffer(b, 16, &g->result.buffer, err));
	if (one->group->sum) {
		g->column_count = 1;
		g->columns[0] = (struct rql_group_by_column){.bits = 32, .is_signed = true, .values = one->raster.columns[0].values};
		RQL_TRY(rql_relation_buffer(b, g->capacity * 8, &g->columns[0].sum.buffer, err));
	}
	one->base.scratch_bytes = rql_group_by_temp_bytes(g);
	RQL_TRY(rql_relation_buffer(b, one->base.scratch_bytes, &g->temp.buffer, err));
	one->base.record = record_rival;
	one->base.check = check_rival;
	return rql_relation_measure(b, &one->base, &compute, err);
}

static rql_status measure_ways(struct rql_relation_bench *b, struct group_case *one, struct rql_error *err)
{
	RQL_TRY(measure_raster(b, one, RQL_RASTER_ATOMICS, err));
	RQL_TRY(measure_raster(b, one, RQL_RASTER_BLENDING, err));
	return measure_rival(b, one, err);
}

rql_status rql_garuda_group_measure(struct rql_relation_bench *b, const struct rql_garuda_group *group,
                                    struct rql_error *err)
{
	struct group_case one = {.group = group};
	const uint32_t kept = b->buffer_count;
	snprintf(one.base.name, sizeof(one.base.name), "%s", group->name);
	one.base.state = &one;
	one.base.floor_bytes = (double)group->rows * 4 * (group->key_words + group->sum) +
	                       (double)group->groups * (4 * group->key_words + 8 + 8 * group->sum);
	one.raster.count = group->rows;
	one.raster.key_words = group->key_words;
	for (uint32_t w = 0; w < group->key_words; w++)
		one.raster.keys[w] = group->keys[w];
	one.raster.columns[0].values = group->values;
	const rql_status status = measure_ways(b, &one, err);
	rql_relation_drop_to(b, kept);
	return status;
}

/* ---- rows that are made ---- */

/* What the check of rows that were made knows. */
struct made {
	struct rql_relation_bench_args data;
	struct rql_group_reference reference;
};

static rql_status check_made(struct rql_relation_bench *b, const struct rql_garuda_group *group,
                             const struct rql_relation_bench_args *answer, uint32_t words, bool *good, struct rql_error *err)
{
	const struct made *made = group->state;
	(void)words; /* each is the first one */
	return rql_group_reference_check(b, &made->data, &made->reference, 0, answer, good, err);
}

/* Keys, values and how many groups there are. Further words of a key follow from the first, as an order's date from its
 * number; they lie in memory of their own. */
static rql_status make_rows(struct rql_relation_bench *b, struct rql_garuda_group *group, struct made *made,
                            struct rql_error *err)
{
	made->data.rows = group->rows;
	RQL_TRY(rql_relation_buffer(b, group->rows * 4, &group->values.buffer, err));
	for (uint32_t w = group->key_words; w-- > 0;) { /* the first one at last: its address stays */
		RQL_TRY(rql_relation_buffer(b, group->rows * 4, &group->keys[w].buffer, err));
		made->data.keys = group->keys[w].buffer->address;
		made->data.column[0] = group->values.buffer->address;
		RQL_TRY(rql_relation_data(b, RQL_BENCH_MAKE_GROUPS, &made->data, err));
	}
	return rql_group_reference_new(b, &made->data, &made->reference, &group->groups, err);
}

rql_status rql_garuda_groups(struct rql_relation_bench *b, struct rql_error *err)
{
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
		const struct shape *s = &shapes[i];
		const uint32_t log2_rows = (uint32_t)b->options->log2_rows;
		struct made made = {.reference = {NULL}};
		struct rql_garuda_group group = {.rows = UINT64_C(1) << log2_rows, .key_words = s->key_words, .sum = s->sum,
		                                 .check = check_made, .state = &made};
		if (s->figure != b->figure || !rql_relation_wanted(b, s->name) || s->log2_groups > log2_rows)
			continue;
		snprintf(group.name, sizeof(group.name), "%s", s->name);
		made.data.log2_range = s->log2_groups ? s->log2_groups : log2_rows - s->log2_a_group;
		group.few_a_group = group.rows >> made.data.log2_range <= SAFE_ROWS;
		rql_status status = make_rows(b, &group, &made, err);
		if (status == RQL_OK)
			status = rql_garuda_group_measure(b, &group, err);
		rql_relation_drop(b);
		RQL_TRY(status);
	}
	return RQL_OK;
}

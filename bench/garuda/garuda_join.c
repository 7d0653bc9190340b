/* Joins of rayql bench garuda in a device's memory: by hash images in several ways, and by compute beside them. Keys come
 * from garuda.c, garuda_snake.c or garuda_tpch.c, with what the answer must be. */
#include "bench/garuda/garuda.h"

#include <stdio.h>
#include <string.h>

#include "bench/common/json.h"
#include "primitive/raster/raster.h"

#define LAYERS 12u
#define LAYERS_A_ROW 6u /* of a key */

struct join_case {
	struct rql_relation_case base;
	const struct rql_garuda_join *join;
	enum rql_garuda_way way;
	struct rql_raster_join raster;
	struct rql_join rival;
	struct rql_raster_points points;
};

/* Rows a key of the side that is built, and its distinct keys. Instances want few layers, so pixels are 4 to 8 times the
 * keys; a walk takes what lies at a pixel, so 1 to 2 times do, and there is less to clear. */
static void choose_stack(struct join_case *one)
{
	const struct rql_garuda_join *join = one->join;
	const uint64_t built = join->rows[join->swapped];
	const uint32_t log2_distinct = rql_garuda_log2_up(join->distinct);
	const uint32_t log2_a_key = rql_garuda_log2_up(built / join->distinct);
	const uint32_t side = (log2_distinct + (one->way == RQL_GARUDA_DENSE ? 1 : 3)) / 2;
	const uint32_t layers = log2_a_key ? LAYERS_A_ROW << log2_a_key : LAYERS;
	one->raster.log2_side = side < 14 ? side : 14;
	one->raster.layers = log2_a_key < 4 && layers < RQL_RASTER_LAYERS ? layers : RQL_RASTER_LAYERS;
	one->raster.cycles = one->way == RQL_GARUDA_DENSE ? 0 : 1;
	one->raster.partition_bits = 0;
	one->raster.snake = false;
}

/* The paper's sizes; more partitions than it takes have smaller images. */
static void choose_parts(struct join_case *one)
{
	struct rql_raster_join *j = &one->raster;
	const uint64_t rows = j->build.count;
	j->build.count = rows >> one->join->partition_bits;
	rql_raster_join_size_paper(j);
	j->build.count = rows;
	j->partition_bits += one->join->partition_bits;
	j->snake = one->way == RQL_GARUDA_SNAKE;
}

/* Output, for all ways. */
static rql_status make_output(struct rql_relation_bench *b, struct join_case *one, struct rql_error *err)
{
	struct rql_raster_join *j = &one->raster;
	const struct rql_garuda_join *join = one->join;
	j->key_bits = 32;
	j->build.keys = join->keys[join->swapped];
	j->build.count = join->rows[join->swapped];
	j->probe.keys = join->keys[!join->swapped];
	j->probe.count = join->rows[!join->swapped];
	j->capacity = join->pairs;
	RQL_TRY(rql_relation_buffer(b, j->capacity * 4, &j->build_rows.buffer, err));
	RQL_TRY(rql_relation_buffer(b, j->capacity * 4, &j->probe_rows.buffer, err));
	RQL_TRY(rql_relation_buffer(b, 8, &j->rows.buffer, err));
	RQL_TRY(rql_relation_buffer(b, sizeof(one->points), &j->points.buffer, err));
	one->base.floor_bytes = 4.0 * (double)(j->build.count + j->probe.count) + 8.0 * (double)join->pairs;
	return RQL_OK;
}

static rql_status make_images(struct rql_relation_bench *b, struct join_case *one, struct rql_error *err)
{
	struct rql_raster_join *j = &one->raster;
	struct rql_image_spec specs[RQL_RASTER_JOIN_IMAGES];
	if (one->way == RQL_GARUDA_STACK || one->way == RQL_GARUDA_DENSE)
		choose_stack(one);
	else
		choose_parts(one);
	const char *refusal = rql_raster_join_refusal(j, b->device);
	if (refusal)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "%s by hash images: %s", one->base.name, refusal);
	one->base.scratch_bytes = rql_raster_join_temp_bytes(j);
	RQL_TRY(rql_relation_buffer(b, one->base.scratch_bytes, &j->temp.buffer, err));
	rql_raster_join_images(j, specs);
	one->base.scratch_bytes += rql_raster_images_bytes(specs, RQL_RASTER_JOIN_IMAGES);
	return rql_raster_images_new(b->device, specs, RQL_RASTER_JOIN_IMAGES, "the benchmark's hash images", j->images, err);
}

/* The join of relation.h over the same sides, as pairs. */
static rql_status make_compute(struct rql_relation_bench *b, struct join_case *one, struct rql_error *err)
{
	struct rql_join *join = &one->rival;
	join->kind = RQL_JOIN_INNER;
	join->key_bits = 32;
	join->capacity = one->join->pairs;
	join->build = (struct rql_join_side){.count = one->raster.build.count, .keys = one->raster.build.keys,
	                                     .column_count = 1};
	join->probe = (struct rql_join_side){.count = one->raster.probe.count, .keys = one->raster.probe.keys,
	                                     .column_count = 1};
	join->build.columns[0].bits = join->probe.columns[0].bits = 32;
	RQL_TRY(rql_relation_buffer(b, join->capacity * 4, &join->build.columns[0].out.buffer, err));
	RQL_TRY(rql_relation_buffer(b, join->capacity * 4, &join->probe.columns[0].out.buffer, err));
	RQL_TRY(rql_relation_buffer(b, 8, &join->rows.buffer, err));
	return rql_relation_buffer(b, rql_join_temp_bytes(join), &join->temp.buffer, err);
}

/* ---- measuring ---- */

static rql_status record_raster(struct rql_relation_case *base, struct rql_commands *c, struct rql_error *err)
{
	return rql_record_raster_join(c, &((struct join_case *)base->state)->raster, err);
}

static rql_status record_rival(struct rql_relation_case *base, struct rql_commands *c, struct rql_error *err)
{
	return rql_record_join(c, &((struct join_case *)base->state)->rival, err);
}

/* Checks one list of pairs and adds to the results; *rows: how many there are. Its number must not pass for the next
 * run's. */
static rql_status check_pairs(struct rql_relation_bench *b, const struct join_case *one, struct rql_span number,
                              struct rql_span build_rows, struct rql_span probe_rows, uint64_t *rows,
                              struct rql_error *err)
{
	struct rql_relation_bench_args args = one->join->data;
	const bool swapped = one->join->swapped;
	memset(rql_relation_results(b), 0, RQL_RELATION_RESULTS * 8);
	RQL_TRY(rql_buffer_download(number.buffer, 0, rows, 8, err));
	RQL_TRY(rql_relation_fill(b, number.buffer, 0, 8, UINT32_MAX, err));
	if (*rows == 0 || *rows > one->join->pairs)
		return RQL_OK;
	args.rows = *rows;
	args.column[0] = (swapped ? probe_rows : build_rows).buffer->address;
	args.column[2] = (swapped ? build_rows : probe_rows).buffer->address;
	return rql_relation_data(b, one->join->kernel, &args, err);
}

static bool is_right(const struct rql_relation_bench *b, const struct join_case *one, uint64_t rows)
{
	return rows == one->join->pairs && rql_relation_results(b)[2] == 0 && rql_relation_results(b)[3] == one->join->sum;
}

static rql_status check_raster(struct rql_relation_bench *b, struct rql_relation_case *base, bool *good,
                               struct rql_error *err)
{
	struct join_case *one = base->state;
	const struct rql_raster_join *j = &one->raster;
	uint64_t rows;
	RQL_TRY(check_pairs(b, one, j->rows, j->build_rows, j->probe_rows, &rows, err));
	RQL_TRY(rql_buffer_download(j->points.buffer, 0, &one->points, sizeof(one->points), err));
	*good = is_right(b, one, rows) && !one->points.failed;
	return RQL_OK;
}

static rql_status check_rival(struct rql_relation_bench *b, struct rql_relation_case *base, bool *good,
                              struct rql_error *err)
{
	struct join_case *one = base->state;
	const struct rql_join *j = &one->rival;
	uint64_t rows;
	RQL_TRY(check_pairs(b, one, j->rows, j->build.columns[0].out, j->probe.columns[0].out, &rows, err));
	*good = is_right(b, one, rows);
	return RQL_OK;
}

static const struct rql_relation_variant ways[RQL_GARUDA_WAYS] = {
	[RQL_GARUDA_STACK] = {.name = "hash images, a stack"},
	[RQL_GARUDA_DENSE] = {.name = "hash images, dense"},
	[RQL_GARUDA_PARTS] = {.name = "hash images, partitions"},
	[RQL_GARUDA_SNAKE] = {.name = "hash images, snake join"}};

static void report_points(struct rql_relation_bench *b, const struct join_case *one)
{
	double rows = (double)(one->raster.build.count + one->raster.probe.count);
	uint64_t points = one->points.statistics + one->points.build + one->points.count + one->points.probe;
	printf("%-44s points %llu + %llu + %llu + %llu (%.2f a row), %llu layers in use%s", one->base.name,
	       (unsigned long long)one->points.statistics, (unsigned long long)one->points.build,
	       (unsigned long long)one->points.count, (unsigned long long)one->points.probe, (double)points / rows,
	       (unsigned long long)one->points.layers, one->points.flattened ? ", flattened" : "");
	if (one->way >= RQL_GARUDA_PARTS)
		printf(", %llu partitions, %llu of them built on the other side", (unsigned long long)one->points.partitions,
		       (unsigned long long)one->points.swapped);
	printf("\n");
	struct rql_strbuf *j = &b->json;
	rql_strbuf_put(j, ",\n  {");
	rql_json_count(j, "figure", b->figure);
	rql_json_string(j, "case", one->base.name);
	rql_json_string(j, "variant", "points of hash images");
	rql_json_count(j, "statistics", one->points.statistics);
	rql_json_count(j, "build", one->points.build);
	rql_json_count(j, "count", one->points.count);
	rql_json_count(j, "probe", one->points.probe);
	rql_json_count(j, "layers", one->points.layers);
	rql_json_count(j, "flattened", one->points.flattened);
	rql_json_string(j, "way", ways[one->way].name);
	rql_json_count(j, "partitions", one->points.partitions);
	rql_json_count(j, "swapped", one->points.swapped);
	rql_json_count(j, "pairs", one->join->pairs);
	rql_strbuf_put(j, "}");
}

static rql_status measure_raster(struct rql_relation_bench *b, struct join_case *one, struct rql_error *err)
{
	const uint32_t kept = b->buffer_count;
	one->base.record = record_raster;
	one->base.check = check_raster;
	rql_status status = make_images(b, one, err);
	if (status == RQL_OK)
		status = rql_relation_measure(b, &one->base, &ways[one->way], err);
	if (status == RQL_OK)
		report_points(b, one);
	rql_raster_images_free(one->raster.images, RQL_RASTER_JOIN_IMAGES);
	rql_relation_drop_to(b, kept);
	return status;
}

/* The rival builds on the same side. */
static rql_status measure_rival(struct rql_relation_bench *b, struct join_case *one, struct rql_error *err)
{
	static const struct rql_relation_variant compute = {.name = "compute"};
	RQL_TRY(make_compute(b, one, err));
	one->base.scratch_bytes = rql_join_temp_bytes(&one->rival);
	one->base.record = record_rival;
	one->base.check = check_rival;
	return rql_relation_measure(b, &one->base, &compute, err);
}

rql_status rql_garuda_join_measure(struct rql_relation_bench *b, const struct rql_garuda_join *join, struct rql_error *err)
{
	struct join_case one = {.join = join};
	const uint32_t kept = b->buffer_count;
	snprintf(one.base.name, sizeof(one.base.name), "%s", join->name);
	one.base.state = &one;
	rql_status status = make_output(b, &one, err);
	for (one.way = RQL_GARUDA_STACK; one.way < RQL_GARUDA_WAYS && status == RQL_OK; one.way++)
		if (join->ways >> one.way & 1)
			status = measure_raster(b, &one, err);
	if (status == RQL_OK)
		status = measure_rival(b, &one, err);
	rql_relation_drop_to(b, kept);
	return status;
}

rql_status rql_garuda_join_upload(struct rql_relation_bench *b, struct rql_garuda_join *join, struct rql_error *err)
{
	for (int side = 0; side < 2; side++) {
		RQL_TRY(rql_relation_buffer(b, join->rows[side] * 4, &join->keys[side].buffer, err));
		RQL_TRY(rql_buffer_upload(join->keys[side].buffer, 0, join->host_keys[side], join->rows[side] * 4, err));
		join->data.column_to[side] = join->rows[side];
	}
	join->kernel = RQL_BENCH_PAIR_MIX;
	join->data.keys = join->keys[1].buffer->address;
	join->data.keys_to = join->keys[0].buffer->address;
	return RQL_OK;
}

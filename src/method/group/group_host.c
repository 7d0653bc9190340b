/* Groups of rows whose keys lie in the host's memory (primitive/host), as a method: words, rows' numbers and fields go to a
 * device, groups come back. What the device has no room for is partitioned on the CPU first.
 *
 * What it must do: bring in a row's word, its number and its fields, and write them once into memory that the device
 * reaches; take out a group's first row, its count and its aggregates. Rows that are partitioned are read and written once
 * more. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "method/group/group.h"
#include "method/host_rows.h"
#include "primitive/host/host_group_by.h"

#define PARTITION_GBPS 1.1
#define GROUP_NS 10.0 /* a thread puts a group away for the operator above, twice; and each of its values */
#define GROUP_VALUE_NS 8.0
#define SAMPLE 8192u
#define BISECTIONS 60u
#define SPARE 1.25 /* of the groups that a sample speaks of */

struct rql_prepared {
	struct rql_grouping of;
	enum rql_unit unit;
	uint64_t partitions, staging; /* bytes of pieces on their way */
	enum rql_host_way way;
	struct rql_group_way totals; /* RASTER */
};

static double row_bytes(const struct rql_grouping *of)
{
	return 12.0 + 8.0 * of->value_count;
}

/* Word, first row, count; of a value how many there are, a sum and an extreme. */
static double group_bytes(const struct rql_grouping *of)
{
	return 24.0 + 32.0 * of->value_count;
}

/* ---- the description ---- */

/* Columns of the rows: their numbers, then values. Where a value's aggregates and its count stand among the group-by's. */
struct columns {
	uint32_t count, of_value[RQL_GROUPING_VALUES], present[RQL_GROUPING_VALUES];
};

static struct columns describe(const struct rql_run_value *values, uint32_t value_count, struct rql_host_group_by *by)
{
	struct columns c = {.count = 1};
	by->rows.shape.column_count = 1 + value_count;
	by->rows.shape.column_bits[0] = 32;
	by->columns[0] = (struct rql_host_group_column){.is_signed = by->unit == RQL_UNIT_RASTER, .min = true};
	for (uint32_t v = 0; v < value_count; v++) {
		by->rows.shape.column_bits[v + 1] = values[v].bits;
		c.of_value[v] = c.count;
		if (c.count < RQL_RELATION_COLUMNS)
			by->columns[c.count] = (struct rql_host_group_column){.kind = RQL_GROUP_BY_FIELDS, .values = v + 1,
			                                                      .wide_sum = true, .sum = values[v].sum,
			                                                      .min = values[v].least, .max = values[v].greatest};
		c.count += values[v].sum || values[v].least || values[v].greatest;
		c.present[v] = c.count;
		if (values[v].present && c.count < RQL_RELATION_COLUMNS)
			by->columns[c.count] = (struct rql_host_group_column){.kind = RQL_GROUP_BY_PRESENT, .values = v + 1, .sum = true};
		c.count += values[v].present;
	}
	by->column_count = c.count;
	return c;
}

static struct rql_host_group_by group_by_of(uint32_t key_bits, uint64_t rows, uint64_t groups, uint64_t device_bytes,
                                            enum rql_unit unit, const struct rql_group_way *totals,
                                            const struct rql_sharers *on)
{
	return (struct rql_host_group_by){.unit = unit,
	                                  .totals = totals->limbs ? RQL_RASTER_BLENDING : RQL_RASTER_ATOMICS,
	                                  .rows = {.shape = {.key_bits = key_bits}, .rows = rows},
	                                  .groups = groups,
	                                  .devices = on->device,
	                                  .device_count = on->count,
	                                  .device_limit = device_bytes};
}

static struct rql_host_group_by expected(const struct rql_grouping *of, enum rql_unit unit,
                                         const struct rql_group_way *totals)
{
	struct rql_run_value values[RQL_GROUPING_VALUES];
	struct rql_host_group_by by =
		group_by_of(64, (uint64_t)of->rows + 1, (uint64_t)(of->groups * SPARE) + 1, of->device_bytes, unit, totals, &of->on);
	for (uint32_t v = 0; v < of->value_count; v++)
		values[v] = (struct rql_run_value){.bits = 64, .sum = true};
	(void)describe(values, of->value_count, &by);
	return by;
}

/* ---- rows ---- */

struct feed {
	const struct rql_run_grouping *of;
	struct rql_pool *pool;
	uint32_t key_bits;
	uint64_t at;
};

struct filling {
	const struct feed *f;
	uint64_t first, count;
	void *keys;
	uint32_t *numbers;
};
#define CHUNK_ROWS 65536u

static void *memory_of(const struct rql_span *span)
{
	return (uint8_t *)span->buffer->map + span->offset;
}

static void fill_chunk(void *state, uint64_t index, unsigned worker)
{
	const struct filling *x = state;
	const uint64_t begin = index * CHUNK_ROWS, end = begin + CHUNK_ROWS < x->count ? begin + CHUNK_ROWS : x->count;
	const uint64_t *words = x->f->of->words + x->first;
	(void)worker;
	for (uint64_t i = begin; i < end; i++)
		x->numbers[i] = (uint32_t)(x->first + i);
	if (x->f->key_bits == 64)
		memcpy((uint64_t *)x->keys + begin, words + begin, (end - begin) * 8);
	for (uint64_t i = begin; i < end && x->f->key_bits == 32; i++)
		((uint32_t *)x->keys)[i] = (uint32_t)words[i];
}

static rql_status next_rows(void *state, struct rql_device *device, struct rql_host_piece *piece, struct rql_error *err)
{
	struct feed *f = state;
	const uint64_t left = f->of->rows - f->at;
	(void)device;
	piece->rows = left < piece->rows ? left : piece->rows;
	if (!piece->rows)
		return RQL_OK;
	struct filling x = {.f = f, .first = f->at, .count = piece->rows, .keys = memory_of(&piece->keys),
	                    .numbers = memory_of(&piece->columns[0])};
	rql_pool_each(f->pool, (piece->rows + CHUNK_ROWS - 1) / CHUNK_ROWS, fill_chunk, &x);
	for (uint32_t v = 0; v < f->of->value_count; v++)
		RQL_TRY(f->of->load(f->of->state, v, f->at, piece->rows, memory_of(&piece->columns[v + 1]), err));
	f->at += piece->rows;
	return RQL_OK;
}

static void again(void *state)
{
	((struct feed *)state)->at = 0;
}

static int ascending(const void *x, const void *y)
{
	const uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
	return (a > b) - (a < b);
}

/* Groups that are as often met in a sample as these rows' were, were they all of one size. Without memory for a sample, as
 * many as there are rows. */
static uint64_t sampled_groups(const struct rql_run_grouping *of)
{
	const uint64_t count = of->rows < SAMPLE ? of->rows : SAMPLE;
	uint64_t distinct = count != 0, *sample = malloc((count + 1) * sizeof(*sample));
	if (!sample)
		return of->rows + 1;
	for (uint64_t i = 0; i < count; i++)
		sample[i] = of->words[(uint64_t)((double)i * (double)of->rows / (double)count)];
	qsort(sample, count, sizeof(*sample), ascending);
	for (uint64_t i = 1; i < count; i++)
		distinct += sample[i] != sample[i - 1];
	free(sample);
	double low = (double)distinct, high = (double)of->rows;
	for (uint32_t i = 0; i < BISECTIONS && low < high; i++) {
		const double groups = sqrt(low * high), met = groups * -expm1(-(double)count / groups);
		if (met < (double)distinct)
			low = groups;
		else
			high = groups;
	}
	return (uint64_t)(low * SPARE) + 1;
}

/* ---- groups ---- */

struct sink {
	const struct rql_run_grouping *of;
	struct columns columns;
};

static const uint64_t *words_of(const struct rql_span *span)
{
	return span->buffer ? memory_of(span) : NULL;
}

static rql_status put_groups(void *state, const struct rql_host_groups *groups, struct rql_error *err)
{
	const struct sink *s = state;
	struct rql_run_groups out = {
		.count = groups->rows, .first = words_of(&groups->min[0]), .rows = words_of(&groups->counts)};
	for (uint32_t v = 0; v < s->of->value_count; v++) {
		const struct rql_run_value *value = &s->of->values[v];
		const uint32_t at = s->columns.of_value[v];
		out.values[v].present = value->present ? words_of(&groups->sum[s->columns.present[v]]) : NULL;
		out.values[v].sum = value->sum ? words_of(&groups->sum[at]) : NULL;
		out.values[v].least = value->least ? words_of(&groups->min[at]) : NULL;
		out.values[v].greatest = value->greatest ? words_of(&groups->max[at]) : NULL;
	}
	return s->of->put(s->of->state, &out, err);
}

/* ---- the method ---- */

static const char *refusal(const struct rql_request *request, enum rql_unit unit)
{
	const struct rql_grouping *of = request->grouping;
	const char *lack = rql_sharers_lack(&of->on, unit);
	if (lack)
		return lack;
	if (!of->device_bytes)
		return "rayql_device_memory_limit leaves nothing of the device's memory";
	if (of->value_count > RQL_GROUPING_VALUES)
		return "more columns are aggregated than go with a key";
	if (unit == RQL_UNIT_RASTER) /* whose integers have a sign */
		return of->rows > (double)RQL_RASTER_ROWS ? "there may be 2^31 rows or more" : NULL;
	return of->rows > (double)RQL_RELATION_ROWS ? "there may be 2^32 rows or more" : NULL;
}

static enum rql_offer offer(const struct rql_request *request, const struct rql_device *device, const char **reason)
{
	(void)device;
	return rql_offer_unless(refusal(request, RQL_UNIT_COMPUTE), reason);
}

static enum rql_offer offer_drawn(const struct rql_request *request, const struct rql_device *device, const char **reason)
{
	(void)device;
	return rql_offer_unless(refusal(request, RQL_UNIT_RASTER), reason);
}

/* Values of 64 bits, of which a sum is asked, and rows' numbers, of which the least. */
static struct rql_group_size size_of(const struct rql_grouping *of)
{
	struct rql_group_size size = {.device = of->on.device[0],
	                              .rows = of->rows,
	                              .row_bytes = row_bytes(of),
	                              .groups = of->groups,
	                              .key_bits = 64};
	rql_group_limbs_add(&size.limbs, RQL_GROUP_BY_INTEGERS, 32, false, true);
	for (uint32_t v = 0; v < of->value_count; v++)
		rql_group_limbs_add(&size.limbs, RQL_GROUP_BY_FIELDS, 64, true, false);
	return size;
}

static rql_status prepare_on(const struct rql_request *request, enum rql_unit unit, struct rql_prepared **out,
                             struct rql_error *err)
{
	struct rql_group_size size = size_of(request->grouping);
	const char *why = unit == RQL_UNIT_RASTER ? rql_group_limbs_refusal(&size.limbs, size.device, request->totals) : NULL;
	if (why)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "grouped on the unit raster: %s", why);
	if (unit == RQL_UNIT_RASTER)
		rql_group_choose_totals(&size.device->profile, request->totals, false, &size);
	const struct rql_host_group_by by = expected(request->grouping, unit, &size.way);
	enum rql_host_way way;
	const uint64_t partitions = rql_host_group_by_partitions(&by, &way);
	if (!partitions)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED,
		                     "rayql_device_memory_limit leaves too little for a partition of a group-by");
	struct rql_prepared *p = malloc(sizeof(*p));
	if (!p)
		return rql_error_memory(err, sizeof(*p), "a query's groups");
	*p = (struct rql_prepared){.of = *request->grouping,
	                           .unit = unit,
	                           .partitions = partitions,
	                           .staging = rql_host_group_by_staging(&by),
	                           .way = way,
	                           .totals = size.way};
	*out = p;
	return RQL_OK;
}

static rql_status prepare(const struct rql_request *request, struct rql_device *device, struct rql_prepared **out,
                          struct rql_error *err)
{
	(void)device;
	return prepare_on(request, RQL_UNIT_COMPUTE, out, err);
}

static rql_status prepare_drawn(const struct rql_request *request, struct rql_device *device, struct rql_prepared **out,
                                struct rql_error *err)
{
	(void)device;
	return prepare_on(request, RQL_UNIT_RASTER, out, err);
}

/* Rows and groups go one after the other, but for partitions. These, and tables' pieces, several devices share. Memory that is new to the process
 * has the partitions, the pieces on their way, and the groups of whoever takes them. */
static void price(const struct rql_prepared *p, const struct rql_device *device, struct rql_cost *out)
{
	const struct rql_profile *profile = &device->profile;
	const double row = row_bytes(&p->of), made = p->of.groups * group_bytes(&p->of), bytes = p->of.rows * row;
	const double threads = rql_pool_threads(device->pool);
	struct rql_group_size size = size_of(&p->of);
	size.way = p->totals;
	const double in = bytes / profile->upload_gbps, back = made / profile->download_gbps;
	const double on_cpu = (2 * bytes + 2 * made) / device->host->profile.read_gbps;
	const double put = p->of.groups * (GROUP_NS + GROUP_VALUE_NS * p->of.value_count);
	const bool parts = p->way == RQL_HOST_PARTS;
	const double split = parts ? bytes * 2 / (PARTITION_GBPS * threads) : 0;
	const double memory =
		rql_host_rows_memory_ns(parts ? bytes : 0, p->of.host_bytes, (double)p->staging + made, threads);
	const double grouped = p->unit == RQL_UNIT_RASTER && p->way != RQL_HOST_TABLE ? rql_group_raster_ns(profile, &size)
	                                                                             : rql_group_compute_ns(profile, &size);
	const uint32_t devices = p->way != RQL_HOST_WHOLE ? p->of.on.count : 1;
	*out = (struct rql_cost){.run_ns = grouped / devices + on_cpu + put + split + memory +
	                                   (RQL_HOST_ROWS_STEPS + (double)p->partitions / devices) * profile->submit_ns,
	                         .transfer_ns = (!parts ? in + back : in > back ? in : back) / devices,
	                         .rows_out = p->of.groups,
	                         .groups = p->of.groups,
	                         .device_bytes = p->of.device_bytes,
	                         .cells = p->of.rows,
	                         .runs = (double)p->partitions,
	                         .bytes = bytes + made};
}

static rql_status kernels(const struct rql_prepared *p, rql_see_kernel *see, void *state, struct rql_error *err)
{
	const struct rql_host_group_by by = expected(&p->of, p->unit, &p->totals);
	return rql_host_group_by_kernels(&by, see, state, err);
}

static void report(const struct rql_host_group_report *r, const struct rql_host_group_by *by, struct rql_port *out)
{
	struct rql_group_drawn drawn = {
		.key_words = by->rows.shape.key_bits / 32, .pixel_bytes = r->pixel_bytes, .image_bytes = r->image_bytes};
	struct rql_group_limbs limbs = {.sums = 0};
	for (uint32_t c = 0; c < by->column_count; c++) {
		const struct rql_host_group_column *column = &by->columns[c];
		rql_group_limbs_add(&limbs, column->kind, by->rows.shape.column_bits[column->values], column->sum,
		                    column->min || column->max);
	}
	drawn.draws = 1 + (by->totals == RQL_RASTER_BLENDING ? limbs.points : 0);
	for (uint32_t c = 0; c < by->column_count; c++)
		drawn.row_bytes += by->rows.shape.column_bits[by->columns[c].values] / 8 + 8;
	if (r->points.hashed)
		rql_group_tell(&r->points, &drawn, &out->drawn);
	out->kind = RQL_PORT_GROUPS;
	out->failed = r->failed;
	out->full = r->full;
	out->device_ns = r->device_ns;
	out->moved = (struct rql_moved){.partitions = r->partitions,
	                                .passes = r->passes,
	                                .in_bytes = r->in_bytes,
	                                .out_bytes = r->out_bytes,
	                                .spilled_bytes = r->spilled_bytes,
	                                .device_peak = r->device_peak,
	                                .host_peak = r->host_peak,
	                                .left = r->left};
}

/* There may be other rows and groups than was expected. */
static rql_status run(const struct rql_prepared *p, struct rql_device *device, const struct rql_run *how,
                      struct rql_port *out, struct rql_error *err)
{
	const struct rql_run_grouping *of = how->grouping;
	struct feed feed = {.of = of, .pool = device->pool, .key_bits = of->bits > 32 ? 64 : 32};
	struct sink sink = {.of = of};
	struct rql_host_group_report done = {0};
	const uint64_t groups = sampled_groups(of);
	struct rql_host_group_by by =
		group_by_of(feed.key_bits, of->rows, groups, of->device_bytes, p->unit, &p->totals, &p->of.on);
	if (p->unit == RQL_UNIT_RASTER && of->rows > RQL_RASTER_ROWS)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "rows of a group-by on the unit raster are numbered up to 2^31");
	sink.columns = describe(of->values, of->value_count, &by);
	by.rows.next = next_rows;
	by.rows.state = &feed;
	by.again = again;
	by.limited = of->limited;
	by.host_limit = of->host_bytes;
	by.folder = of->folder;
	by.file_limit = of->file_bytes;
	by.put = put_groups;
	by.state = &sink;
	by.progress = how->progress;
	by.timed = how->flags & RQL_RUN_TIMED;
	if (sink.columns.count > RQL_RELATION_COLUMNS)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "more columns are aggregated than go with a key");
	const uint64_t staging = of->budget ? rql_host_group_by_staging(&by) : 0;
	if (staging)
		RQL_TRY(rql_budget_charge(of->budget, staging, "pieces of a group-by", err));
	const rql_status status = rql_host_group_by_run(&by, &done, err);
	if (staging)
		rql_budget_release(of->budget, staging);
	report(&done, &by, out);
	return status;
}

/* Which way the rows go is only known when they have come: of few groups it is a table, which compute makes. */
static const char *way(const struct rql_prepared *p)
{
	return p->way == RQL_HOST_TABLE ? NULL : rql_group_totals_text(&p->totals);
}

static void free_prepared(struct rql_prepared *p)
{
	free(p);
}

static uint64_t bytes(const struct rql_prepared *p)
{
	return sizeof(*p);
}

extern const struct rql_method rql_method_group_host;
const struct rql_method rql_method_group_host = {
	.name = "group",
	.variant = "groups of rows in host memory",
	.description = "groups rows that lie in the host's memory on a GPU, by partitions where it has no room for them",
	.paper = "GARUDA (PVLDB 16(10)), sections 4, 5 and 6.1",
	.unit = RQL_UNIT_COMPUTE,
	.reads = RQL_READS_GROUPING,
	.gives = 1u << RQL_PORT_GROUPS,
	.offer = offer,
	.prepare = prepare,
	.price = price,
	.kernels = kernels,
	.run = run,
	.free = free_prepared,
	.bytes = bytes,
};

extern const struct rql_method rql_method_group_host_raster;
const struct rql_method rql_method_group_host_raster = {
	.name = "group",
	.variant = "groups of rows in host memory",
	.description = "groups rows that lie in the host's memory by drawing them on a GPU, by partitions where these are many",
	.paper = "GARUDA (PVLDB 16(10)), sections 4, 5 and 6.1",
	.unit = RQL_UNIT_RASTER,
	.reads = RQL_READS_GROUPING,
	.gives = 1u << RQL_PORT_GROUPS,
	.offer = offer_drawn,
	.prepare = prepare_drawn,
	.price = price,
	.kernels = kernels,
	.way = way,
	.run = run,
	.free = free_prepared,
	.bytes = bytes,
};

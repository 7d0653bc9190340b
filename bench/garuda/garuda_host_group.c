/* rayql bench garuda --host --groups: group-bys from the host's memory to the host's memory (papers/004, 6.4), of any size
 * beside a device's memory (primitive/host/host_group_by.h): COUNT and SUM of int32 values. Beside them the floor by the
 * link's measured rates, the CPU's own grouping (garuda_cpu.c), and DuckDB over rows of the same shape. */
#include "bench/garuda/garuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/client.h"
#include "bench/common/json.h"
#include "bench/common/stats.h"
#include "primitive/host/host_group_by.h"
#include "util/threads.h"

#define CHUNKS 8u /* that rows lie in, each a buffer for its keys and its values */

static const struct shape {
	const char *name;
	uint32_t log2_groups, log2_a_group; /* one of them; 0: the other says it */
	uint32_t key_bits;                  /* 64: several attributes side by side in one word */
} shapes[] = {
	{"SGO1's shape (2^11 groups)", 11, 0, 32},
	{"SGO2's and SGO3's shape (4 rows a group)", 0, 2, 32},
	{"MGO1's and MGO2's shape (keys of 64 bits, 4 rows a group)", 0, 2, 64},
	{"2^10 groups", 10, 0, 32},
	{"2^20 groups", 20, 0, 32},
	{"2^26 groups", 26, 0, 32},
};

/* Groups that came together: keys, counts and sums, `room` of each. */
struct result {
	struct rql_buffer *buffer; /* NULL: in memory that no device reaches */
	uint8_t *memory;
	uint64_t room, rows;
};

struct host_groups {
	struct rql_relation_bench *bench;
	const struct rql_garuda_group *group;
	enum rql_unit unit;
	uint32_t key_bits;
	uint64_t rows, chunk, groups, at;
	struct rql_buffer *in[CHUNKS];
	struct rql_buffer *out[3]; /* on the device: all groups, to be checked */
	struct result *results;
	uint64_t result_count, result_room, given;
	struct rql_device *devices[RQL_DEVICES_MAX];
	uint32_t device_count;
	struct rql_host_group_report report;
	double rates[3], cpu_ms, duckdb_ms;
};

static uint64_t key_bytes(const struct host_groups *h)
{
	return h->key_bits / 8;
}

/* ---- data ---- */

/* Chunks of whole pieces (host_join.h): a multiple of 4 rows. */
static rql_status make_chunks(struct host_groups *h, struct rql_error *err)
{
	h->chunk = (h->rows + 4 * CHUNKS - 1) / (4 * CHUNKS) * 4;
	for (uint32_t p = 0; p < CHUNKS; p++)
		RQL_TRY(rql_garuda_memory(h->bench, h->chunk * (key_bytes(h) + 4), &h->in[p], err));
	return RQL_OK;
}

static uint64_t rows_of_chunk(const struct host_groups *h, uint32_t p)
{
	const uint64_t first = p * h->chunk, left = h->rows > first ? h->rows - first : 0;
	return left < h->chunk ? left : h->chunk;
}

/* Rows that are there. */
static void take_rows(struct host_groups *h)
{
	const uint64_t key = key_bytes(h);
	for (uint32_t p = 0; p < CHUNKS; p++) {
		uint8_t *chunk = h->in[p]->map;
		if (!rows_of_chunk(h, p))
			continue;
		memcpy(chunk, (const uint8_t *)h->group->host_keys + p * h->chunk * key, rows_of_chunk(h, p) * key);
		memcpy(chunk + h->chunk * key, h->group->host_values + p * h->chunk, rows_of_chunk(h, p) * 4);
	}
}

/* Rows that are made on the device: of 32-bit keys, for the checks, which wide ones have as their low halves. */
struct made {
	struct rql_relation_bench_args data;
	struct rql_group_reference reference;
};

static rql_status make_rows(struct rql_relation_bench *b, uint32_t key_bits, struct made *made,
                            struct rql_garuda_group *group, struct rql_buffer *columns[2], struct rql_error *err)
{
	struct rql_buffer *keys;
	RQL_TRY(rql_relation_buffer(b, group->rows * 4, &keys, err));
	RQL_TRY(rql_relation_buffer(b, group->rows * 4, &columns[1], err));
	made->data.keys = keys->address;
	made->data.column[0] = columns[1]->address;
	RQL_TRY(rql_relation_data(b, RQL_BENCH_MAKE_GROUPS, &made->data, err));
	RQL_TRY(rql_group_reference_new(b, &made->data, &made->reference, &group->groups, err));
	columns[0] = keys;
	if (key_bits == 32)
		return RQL_OK;
	struct rql_relation_bench_args wide = made->data;
	RQL_TRY(rql_relation_buffer(b, group->rows * 8, &columns[0], err));
	wide.keys = columns[0]->address;
	wide.flags = RQL_BENCH_WIDE_KEYS;
	return rql_relation_data(b, RQL_BENCH_MAKE_GROUPS, &wide, err);
}

static rql_status move_out(struct host_groups *h, struct rql_buffer *const made[2], struct rql_error *err)
{
	const uint64_t bytes[2] = {key_bytes(h), 4};
	struct rql_commands *c;
	RQL_TRY(rql_commands_new(h->bench->device, 0, &c, err));
	for (int column = 0; column < 2; column++)
		for (uint32_t p = 0; p < CHUNKS; p++)
			rql_record_copy(c, made[column], p * h->chunk * bytes[column], h->in[p],
			                column ? h->chunk * bytes[0] : 0, h->chunk * bytes[column]);
	RQL_TRY(rql_commands_finish(c, RQL_OK, NULL, NULL, err));
	if (h->key_bits == 64) /* of no more use, and made last */
		rql_relation_drop_to(h->bench, h->bench->buffer_count - 1);
	return RQL_OK;
}

/* ---- what the group-by reads and writes ---- */

static rql_status next_rows(void *state, struct rql_device *device, struct rql_host_piece *piece, struct rql_error *err)
{
	struct host_groups *h = state;
	const uint64_t in_chunk = h->at % h->chunk, key = key_bytes(h);
	const uint64_t left = h->rows - h->at < h->chunk - in_chunk ? h->rows - h->at : h->chunk - in_chunk;
	struct rql_buffer *from = h->at < h->rows ? h->in[h->at / h->chunk] : NULL;
	const struct rql_span spans[2] = {{from, in_chunk * key}, {from, h->chunk * key + in_chunk * 4}};
	struct rql_span *to[2] = {&piece->keys, &piece->columns[0]};
	(void)device;
	piece->rows = !from ? 0 : piece->rows / 4 * 4 < left ? piece->rows / 4 * 4 : left;
	h->at += piece->rows;
	for (int column = 0; column < 2 && from; column++) {
		if (!h->bench->options->staged)
			*to[column] = spans[column];
		else
			RQL_TRY(rql_buffer_upload(to[column]->buffer, to[column]->offset, (const uint8_t *)from->map + spans[column].offset,
			                          piece->rows * (column ? 4 : key), err));
	}
	return RQL_OK;
}

static void again(void *state)
{
	((struct host_groups *)state)->at = 0;
}

static uint64_t offset_of(const struct host_groups *h, uint64_t room, int column)
{
	return column == 0 ? 0 : room * key_bytes(h) + (column == 2 ? room * 8 : 0);
}

/* Memory for the next groups: that of an earlier run, where it is large enough. */
static rql_status take_result(struct host_groups *h, uint64_t groups, struct result **out, struct rql_error *err)
{
	for (; h->given < h->result_count && h->results[h->given].room < groups; h->given++)
		h->results[h->given].rows = 0;
	if (h->given == h->result_count) {
		if (h->result_count == h->result_room) {
			const uint64_t room = 2 * h->result_room + 16;
			struct result *more = realloc(h->results, room * sizeof(*more));
			if (!more)
				return rql_error_memory(err, room * sizeof(*more), "the benchmark's result");
			h->results = more;
			h->result_room = room;
		}
		struct result r = {.room = (groups + 63) / 64 * 64};
		const uint64_t bytes = r.room * (key_bytes(h) + 16);
		if (!h->bench->options->staged) {
			RQL_TRY(rql_garuda_memory(h->bench, bytes, &r.buffer, err));
			r.memory = r.buffer->map;
		} else if (!(r.memory = malloc(bytes))) {
			return rql_error_memory(err, bytes, "the benchmark's result");
		}
		h->results[h->result_count++] = r;
	}
	*out = &h->results[h->given++];
	(*out)->rows = 0;
	return RQL_OK;
}

static rql_status make_room(void *state, struct rql_device *device, struct rql_host_groups *groups, struct rql_error *err)
{
	struct host_groups *h = state;
	struct result *r = NULL;
	struct rql_span *spans[] = {&groups->keys, &groups->counts, &groups->sum[0]};
	(void)device;
	RQL_TRY(take_result(h, groups->rows, &r, err));
	for (int column = 0; column < 3; column++)
		*spans[column] = (struct rql_span){r->buffer, offset_of(h, r->room, column)};
	return RQL_OK;
}

static rql_status put_groups(void *state, const struct rql_host_groups *groups, struct rql_error *err)
{
	struct host_groups *h = state;
	const struct rql_span *spans[] = {&groups->keys, &groups->counts, &groups->sum[0]};
	struct result *r = NULL;
	if (!h->bench->options->staged) {
		for (uint64_t i = 0; i < h->given; i++)
			if (h->results[i].buffer == groups->keys.buffer)
				h->results[i].rows = groups->rows;
		return RQL_OK;
	}
	RQL_TRY(take_result(h, groups->rows, &r, err));
	for (int column = 0; column < 3; column++)
		RQL_TRY(rql_buffer_download(spans[column]->buffer, spans[column]->offset, r->memory + offset_of(h, r->room, column),
		                            groups->rows * (column ? 8 : key_bytes(h)), err));
	r->rows = groups->rows;
	return RQL_OK;
}

/* ---- checks ---- */

static rql_status check_uploaded(struct host_groups *h, bool *good, struct rql_error *err)
{
	const struct rql_relation_bench_args answer = {
		.rows = h->groups, .keys_to = h->out[0]->address, .column = {h->out[1]->address, h->out[2]->address},
		.flags = h->key_bits == 64 ? RQL_BENCH_WIDE_KEYS : 0};
	return h->group->check(h->bench, h->group, &answer, h->group->key_words, good, err);
}

/* All groups are there, each right. Counts are not there twice: what is left must not pass for the next run's. */
static rql_status check(struct host_groups *h, bool *good, struct rql_error *err)
{
	uint64_t all = 0;
	for (uint64_t i = 0; i < h->given; i++)
		all += h->results[i].rows;
	*good = all == h->groups;
	all = 0;
	for (uint64_t i = 0; i < h->given && *good; i++) {
		const struct result *r = &h->results[i];
		if (!r->rows)
			continue;
		RQL_TRY(rql_buffer_upload(h->out[0], all * key_bytes(h), r->memory, r->rows * key_bytes(h), err));
		for (int column = 1; column < 3; column++)
			RQL_TRY(rql_buffer_upload(h->out[column], all * 8, r->memory + offset_of(h, r->room, column), r->rows * 8, err));
		memset(r->memory + offset_of(h, r->room, 1), 0xa5, r->rows * 8);
		all += r->rows;
	}
	return *good ? check_uploaded(h, good, err) : RQL_OK;
}

/* ---- rivals ---- */

static rql_status check_cpu(struct host_groups *h, const struct rql_cpu_groups *groups, bool *good, struct rql_error *err)
{
	const void *columns[3] = {groups->keys, groups->counts, groups->sums};
	uint32_t *low = NULL;
	rql_status status = RQL_OK;
	if (h->key_bits == 32) {
		if (!(low = malloc(groups->count * 4 + 1)))
			return rql_error_memory(err, groups->count * 4, "the benchmark's keys");
		for (uint64_t i = 0; i < groups->count; i++)
			low[i] = (uint32_t)groups->keys[i];
		columns[0] = low;
	}
	for (int column = 0; column < 3 && status == RQL_OK; column++)
		status = rql_buffer_upload(h->out[column], 0, columns[column], groups->count * (column ? 8 : key_bytes(h)), err);
	free(low);
	return status == RQL_OK ? check_uploaded(h, good, err) : status;
}

static rql_status measure_cpu(struct host_groups *h, bool *good, struct rql_error *err)
{
	struct rql_cpu_rows chunks[CHUNKS];
	struct rql_cpu_groups groups = {.room = 0};
	struct rql_samples samples = {0};
	rql_status status = RQL_OK;
	for (uint32_t p = 0; p < CHUNKS; p++)
		chunks[p] = (struct rql_cpu_rows){
			.rows = rows_of_chunk(h, p), .keys = h->in[p]->map,
			.values = (const int32_t *)(const void *)((const uint8_t *)h->in[p]->map + h->chunk * key_bytes(h))};
	for (int64_t i = 0; i <= h->bench->options->runs && i <= 3 && status == RQL_OK; i++) {
		if (i == 1)
			samples.count = 0;
		const uint64_t start = rql_now_ns();
		status = rql_garuda_cpu_groups(h->bench->device->pool, chunks, CHUNKS, h->key_bits, h->groups, &groups, err);
		rql_samples_add(&samples, (double)(rql_now_ns() - start));
	}
	h->cpu_ms = rql_samples_median(&samples) / 1e6;
	*good = status == RQL_OK && groups.count == h->groups;
	if (*good)
		status = check_cpu(h, &groups, good, err);
	rql_cpu_groups_free(&groups);
	return status;
}

/* Rows of the same shape: keys are a one-to-one mix of a group that a hash draws. From memory to memory, as the others. */
static rql_status run_duckdb(struct host_groups *h, uint64_t drawn, rayql_connection *con, struct rql_error *err)
{
	const char *type = h->key_bits == 64 ? "UBIGINT" : "UINTEGER";
	const unsigned long long rows = h->rows, groups = drawn, factor = 2654435761;
	struct rql_samples samples = {0};
	RQL_TRY(rql_client_methods(con, false, err));
	RQL_TRY(rql_client_run(con, err, "CREATE TABLE t AS SELECT ((hash(i) %% %llu) * %llu %% 4294967296)::%s AS k, "
	                       "(hash(i + 1) %% 2000001)::INTEGER - 1000000 AS v FROM range(%llu) AS r(i)", groups, factor, type, rows));
	for (int64_t i = 0; i <= h->bench->options->runs && i <= 3; i++) {
		double ms;
		if (i == 1)
			samples.count = 0;
		RQL_TRY(rql_client_time(con, "CREATE OR REPLACE TEMP TABLE r AS SELECT k, count(*) AS c, sum(v) AS s FROM t GROUP BY k",
		                        &ms, NULL, NULL, err));
		rql_samples_add(&samples, ms);
	}
	h->duckdb_ms = rql_samples_median(&samples);
	return RQL_OK;
}

static rql_status measure_duckdb(struct host_groups *h, uint64_t drawn, struct rql_error *err)
{
	rayql_database *db = NULL;
	rayql_connection *con = NULL;
	if (!h->bench->options->duckdb)
		return RQL_OK;
	RQL_TRY(rql_client_open(NULL, 0, &db, &con, err));
	const rql_status status = run_duckdb(h, drawn, con, err);
	rayql_disconnect(con);
	rayql_close(db);
	return status;
}

/* ---- figures ---- */

static const char *const ways[] = {
	[RQL_HOST_TABLE] = "a table", [RQL_HOST_WHOLE] = "all rows at once", [RQL_HOST_PARTS] = "partitions"};

static void report_json(struct host_groups *h, double ms, double floor_ms, bool good)
{
	const struct rql_host_group_report *r = &h->report;
	const struct {
		const char *name;
		double value;
	} numbers[] = {{"ms", ms}, {"floor_ms", floor_ms}, {"cpu_ms", h->cpu_ms}, {"duckdb_ms", h->duckdb_ms},
	               {"link_in_gbps", h->rates[0]}, {"link_out_gbps", h->rates[1]}, {"link_both_gbps", h->rates[2]},
	               {"open_ms", r->open_ns / 1e6}, {"partition_ms", r->partition_ns / 1e6}, {"fill_ms", r->fill_ns / 1e6},
	               {"wait_ms", r->wait_ns / 1e6}, {"put_ms", r->put_ns / 1e6}, {"device_ms", r->device_ns / 1e6},
	               {"device_link_ms", r->link_ns / 1e6}};
	const struct {
		const char *name;
		uint64_t value;
	} counts[] = {{"rows", h->rows}, {"groups", h->groups}, {"devices", h->device_count}, {"in_bytes", r->in_bytes},
	              {"out_bytes", r->out_bytes}, {"spilled_bytes", r->spilled_bytes}, {"device_peak_bytes", r->device_peak},
	              {"host_peak_bytes", r->host_peak}, {"partitions", r->partitions}, {"passes", r->passes},
	              {"pieces", r->pieces}, {"tables", r->tables}, {"restarts", r->restarts}};
	struct rql_strbuf *j = &h->bench->json;
	rql_strbuf_put(j, h->bench->measured ? ",\n  {" : "\n  {");
	rql_json_string(j, "case", h->group->name);
	rql_json_string(j, "variant", rql_unit_name(h->unit));
	rql_json_string(j, "way", ways[r->way]);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		rql_json_number(j, numbers[i].name, numbers[i].value);
	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++)
		rql_json_count(j, counts[i].name, counts[i].value);
	rql_json_bool(j, "staged", h->bench->options->staged);
	rql_json_bool(j, "right", good);
	rql_strbuf_put(j, "}");
}

/* Floor: all rows in, then all groups out; of partitions the longer of both, as both go at once. */
static void report(struct host_groups *h, const struct rql_samples *wall, bool good)
{
	const struct rql_host_group_report *r = &h->report;
	const bool parts = r->way == RQL_HOST_PARTS;
	const double in = (double)(h->rows * (key_bytes(h) + 4)) / (parts ? h->rates[2] : h->rates[0]) / 1e6;
	const double out = (double)(h->groups * (key_bytes(h) + 16)) / (parts ? h->rates[2] : h->rates[1]) / 1e6;
	const double floor_ms = !parts ? in + out : in > out ? in : out, ms = rql_samples_median(wall) / 1e6;
	printf("%s, %llu rows of %u+4 bytes, %llu groups, %s: %.3f ms  floor %.3f (%.2f of it)  CPU %.3f ms, DuckDB %.3f  "
	       "link in %.1f, out %.1f, both %.1f GB/s  %s\n",
	       h->group->name, (unsigned long long)h->rows, h->key_bits / 8, (unsigned long long)h->groups, rql_unit_name(h->unit), ms,
	       floor_ms, ms / floor_ms, h->cpu_ms, h->duckdb_ms, h->rates[0], h->rates[1], h->rates[2], good ? "right" : "WRONG");
	printf("  by %s; moved: in %.3f GB, out %.3f, to a file %.3f; %llu partitions in %llu passes, %llu pieces, %llu by a table, "
	       "%llu restarts; at most %.3f GB of a device, %.3f GB of partitions in memory\n",
	       ways[r->way], (double)r->in_bytes / 1e9, (double)r->out_bytes / 1e9, (double)r->spilled_bytes / 1e9,
	       (unsigned long long)r->partitions, (unsigned long long)r->passes, (unsigned long long)r->pieces,
	       (unsigned long long)r->tables, (unsigned long long)r->restarts, (double)r->device_peak / 1e9,
	       (double)r->host_peak / 1e9);
	printf("  ms: memory %.1f (not in the time), partitions %.1f, fill %.1f, wait %.1f, results %.1f; device %.1f, of that link "
	       "%.1f\n",
	       r->open_ns / 1e6, r->partition_ns / 1e6, r->fill_ns / 1e6, r->wait_ns / 1e6, r->put_ns / 1e6, r->device_ns / 1e6,
	       r->link_ns / 1e6);
	report_json(h, ms, floor_ms, good);
	h->bench->measured++;
	h->bench->wrong += !good;
}

/* Without the time in which devices give memory: a process has it once. wall NULL: by devices' clocks, which slows it. */
static rql_status one_run(struct host_groups *h, struct rql_samples *wall, struct rql_error *err)
{
	const struct rql_relation_options *o = h->bench->options;
	const char *folder = o->folder ? o->folder : getenv("TMPDIR");
	const struct rql_host_group_by by = {
		.unit = h->unit,
		.rows = {.shape = {.key_bits = h->key_bits, .column_count = 1, .column_bits = {32}},
	             .rows = h->rows, .next = next_rows, .in_place = !o->staged, .state = h},
		.again = again, .column_count = 1, .columns = {{.is_signed = true, .sum = true}}, .groups = h->groups,
		.devices = h->devices, .device_count = h->device_count, .device_limit = o->device_limit,
		.host_limit = o->host_limit, .folder = folder && folder[0] ? folder : "/tmp",
		.room = o->staged ? NULL : make_room, .put = put_groups, .state = h, .timed = !wall};
	h->at = h->given = 0;
	const uint64_t start = rql_now_ns();
	RQL_TRY(rql_host_group_by_run(&by, &h->report, err));
	if (wall)
		rql_samples_add(wall, (double)(rql_now_ns() - start) - h->report.open_ns / h->device_count);
	return RQL_OK;
}

static rql_status measure_unit(struct host_groups *h, struct rql_error *err)
{
	struct rql_samples wall = {0};
	bool good = true;
	rql_status status = RQL_OK;
	for (int64_t i = 0; i <= h->bench->options->runs + 1 && status == RQL_OK && good; i++) {
		if (i == 1) /* the first run warms up, one after the last tells what passes take */
			wall.count = 0;
		status = one_run(h, i <= h->bench->options->runs ? &wall : NULL, err);
		if (status == RQL_OK)
			status = check(h, &good, err);
	}
	if (status == RQL_OK)
		report(h, &wall, good);
	return status;
}

/* The rivals, then the units. Rows are in their chunks. */
static rql_status measure(struct host_groups *h, struct rql_error *err)
{
	bool good;
	for (int column = 0; column < 3; column++)
		RQL_TRY(rql_relation_buffer(h->bench, h->groups * (column ? 8 : key_bytes(h)), &h->out[column], err));
	RQL_TRY(rql_garuda_link(h->bench, h->in[0], h->chunk * 8, h->rates, err));
	RQL_TRY(measure_cpu(h, &good, err));
	h->bench->wrong += !good;
	for (h->unit = RQL_UNIT_COMPUTE; h->unit == RQL_UNIT_COMPUTE || h->unit == RQL_UNIT_RASTER;
	     h->unit = h->unit == RQL_UNIT_COMPUTE ? RQL_UNIT_RASTER : RQL_UNIT_CPU)
		if (h->bench->device->units[h->unit])
			RQL_TRY(measure_unit(h, err));
	return RQL_OK;
}

static void free_host(struct host_groups *h)
{
	for (uint32_t p = 0; p < CHUNKS; p++)
		rql_buffer_free(h->in[p]);
	for (uint64_t i = 0; i < h->result_count; i++) {
		if (!h->results[i].buffer)
			free(h->results[i].memory);
		rql_buffer_free(h->results[i].buffer);
	}
	free(h->results);
	rql_relation_drop(h->bench);
}

rql_status rql_garuda_host_group(struct rql_relation_bench *b, const struct rql_garuda_group *group,
                                 struct rql_error *err)
{
	struct host_groups h = {.bench = b, .group = group, .rows = group->rows, .groups = group->groups,
	                        .key_bits = group->host_key_bits, .duckdb_ms = group->duckdb_ms};
	rql_status status = rql_garuda_devices(b, h.devices, &h.device_count, err);
	if (status == RQL_OK)
		status = make_chunks(&h, err);
	if (status == RQL_OK) {
		take_rows(&h);
		status = measure(&h, err);
	}
	free_host(&h);
	return status;
}

/* ---- rows that are made ---- */

/* Of wide keys the low halves say all. */
static rql_status check_made(struct rql_relation_bench *b, const struct rql_garuda_group *group,
                             const struct rql_relation_bench_args *answer, uint32_t words, bool *good, struct rql_error *err)
{
	const struct made *made = group->state;
	(void)words;
	return rql_group_reference_check(b, &made->data, &made->reference, 0, answer, good, err);
}

static rql_status measure_made(struct host_groups *h, struct rql_garuda_group *group, struct made *made,
                               struct rql_error *err)
{
	struct rql_buffer *columns[2];
	RQL_TRY(rql_garuda_devices(h->bench, h->devices, &h->device_count, err));
	RQL_TRY(make_rows(h->bench, h->key_bits, made, group, columns, err));
	h->groups = group->groups;
	RQL_TRY(make_chunks(h, err));
	RQL_TRY(move_out(h, columns, err));
	RQL_TRY(measure_duckdb(h, UINT64_C(1) << made->data.log2_range, err));
	return measure(h, err);
}

rql_status rql_garuda_host_groups(struct rql_relation_bench *b, struct rql_error *err)
{
	const uint32_t log2_rows = (uint32_t)b->options->log2_rows;
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
		const struct shape *s = &shapes[i];
		struct made made = {
			.data = {.rows = UINT64_C(1) << log2_rows, .log2_rows = log2_rows,
		             .log2_range = s->log2_groups ? s->log2_groups : log2_rows - s->log2_a_group}};
		struct rql_garuda_group group = {.rows = made.data.rows, .key_words = 1, .sum = true, .host_key_bits = s->key_bits,
		                                 .check = check_made, .state = &made};
		struct host_groups h = {.bench = b, .group = &group, .rows = group.rows, .key_bits = s->key_bits};
		if (!rql_relation_wanted(b, s->name) || s->log2_groups > log2_rows)
			continue;
		snprintf(group.name, sizeof(group.name), "%s", s->name);
		const rql_status status = measure_made(&h, &group, &made, err);
		free_host(&h);
		RQL_TRY(status);
	}
	return RQL_OK;
}

/* rayql bench garuda --host: a join from the host's memory to the host's memory (papers/004, 6.1: from inputs in CPU memory
 * to the output in CPU memory), of any size beside a device's memory (primitive/host/host_join.h). Beside it the link's
 * measured rates and the floor that they give, what was moved, and what each stage took. */
#include "bench/garuda/garuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/json.h"
#include "bench/common/stats.h"
#include "primitive/host/host_join.h"
#include "util/threads.h"

#define CHUNKS 8u /* that a side lies in, each a buffer for its keys and its values */
#define LINK_BYTES (UINT64_C(1) << 28)

enum { KEYS, VALUES, COLUMNS };

struct result { /* rows of the result that came together */
	struct rql_buffer *buffer; /* NULL: in memory that no device reaches */
	uint32_t *values[2];       /* of the build side, of the probe side */
	uint64_t room, rows;
};

struct reader { /* of a side's rows */
	struct host_join *of;
	int side;
	uint64_t at; /* rows that have been given */
};

struct host_join {
	struct rql_relation_bench *bench;
	char name[128];
	uint64_t rows[2], chunk[2]; /* [side] */
	uint64_t pairs, sum;
	uint32_t kernel; /* that checks pairs, and what it is told */
	struct rql_relation_bench_args data;
	struct rql_buffer *in[2][CHUNKS];    /* in the host's memory: keys, then values */
	struct reader side[2], readers[RQL_DEVICES_MAX]; /* readers: of the build side, one for each device */
	struct result *results;
	uint64_t result_count, result_room, given;
	struct rql_device *devices[RQL_DEVICES_MAX];
	uint32_t device_count;
	struct rql_host_report report;
};

/* ---- data ---- */

rql_status rql_garuda_memory(struct rql_relation_bench *b, uint64_t bytes, struct rql_buffer **out, struct rql_error *err)
{
	RQL_TRY(rql_buffer_new(b->device, bytes + 256, RQL_MEMORY_READBACK, "the benchmark's rows", out, err));
	memset((*out)->map, 0xa5, bytes); /* its pages are there */
	return RQL_OK;
}

/* Chunks of whole pieces (host_join.h): a multiple of 4 rows. */
static rql_status make_chunks(struct host_join *h, struct rql_error *err)
{
	for (int side = 0; side < 2; side++) {
		h->chunk[side] = (h->rows[side] + 4 * CHUNKS - 1) / (4 * CHUNKS) * 4;
		for (uint32_t p = 0; p < CHUNKS; p++)
			RQL_TRY(rql_garuda_memory(h->bench, h->chunk[side] * 8, &h->in[side][p], err));
	}
	return RQL_OK;
}

static rql_status make_side(struct host_join *h, int side, struct rql_buffer *made[COLUMNS], struct rql_error *err)
{
	for (int column = 0; column < COLUMNS; column++)
		RQL_TRY(rql_relation_buffer(h->bench, h->rows[side] * 4, &made[column], err));
	h->data.keys = made[KEYS]->address;
	h->data.column[0] = made[VALUES]->address;
	return rql_relation_data(h->bench, side ? RQL_BENCH_MAKE_PROBE : RQL_BENCH_MAKE_BUILD, &h->data, err);
}

/* To the host's memory, chunk by chunk. */
static rql_status move_out(struct host_join *h, int side, struct rql_buffer *const made[COLUMNS], struct rql_error *err)
{
	const uint64_t bytes = h->chunk[side] * 4;
	struct rql_commands *c;
	RQL_TRY(rql_commands_new(h->bench->device, 0, &c, err));
	for (int column = 0; column < COLUMNS; column++)
		for (uint32_t p = 0; p < CHUNKS; p++)
			rql_record_copy(c, made[column], p * bytes, h->in[side][p], (uint64_t)column * bytes, bytes);
	return rql_commands_finish(c, RQL_OK, NULL, NULL, err);
}

/* Keys that come once. The probe side's stay on the device for the checks. */
static rql_status make_sides(struct host_join *h, struct rql_error *err)
{
	const uint32_t log2_rows = (uint32_t)h->bench->options->log2_rows;
	struct rql_buffer *made[COLUMNS];
	h->rows[0] = h->rows[1] = UINT64_C(1) << log2_rows;
	h->data = (struct rql_relation_bench_args){.rows = h->rows[0], .log2_rows = log2_rows, .log2_build = log2_rows,
	                                           .log2_distinct = log2_rows, .log2_range = log2_rows};
	snprintf(h->name, sizeof(h->name), "host to host, 2^%u x 2^%u rows", log2_rows, log2_rows);
	RQL_TRY(make_chunks(h, err));
	for (int side = 0; side < 2; side++) {
		RQL_TRY(make_side(h, side, made, err));
		RQL_TRY(move_out(h, side, made, err));
		rql_relation_drop_to(h->bench, side); /* of the probe side, made last, the keys alone stay */
	}
	memset(rql_relation_results(h->bench), 0, RQL_RELATION_RESULTS * 8);
	RQL_TRY(rql_relation_data(h->bench, RQL_BENCH_JOIN_SUM, &h->data, err));
	h->pairs = rql_relation_results(h->bench)[0];
	h->sum = rql_relation_results(h->bench)[1];
	h->kernel = RQL_BENCH_PAIR_CHECK;
	h->data.flags = RQL_BENCH_PAYLOADS;
	return RQL_OK;
}

/* Sides that are there. Values are their rows' numbers. */
static rql_status take_sides(struct host_join *h, const struct rql_garuda_join *join, struct rql_error *err)
{
	struct rql_garuda_join checked = *join;
	for (int side = 0; side < 2; side++)
		h->rows[side] = join->rows[side];
	RQL_TRY(make_chunks(h, err));
	for (int side = 0; side < 2; side++)
		for (uint64_t row = 0; row < h->rows[side]; row += h->chunk[side]) {
			const uint64_t left = h->rows[side] - row, rows = left < h->chunk[side] ? left : h->chunk[side];
			uint32_t *chunk = h->in[side][row / h->chunk[side]]->map;
			memcpy(chunk, &join->host_keys[side][row], rows * 4);
			for (uint64_t i = 0; i < rows; i++)
				chunk[h->chunk[side] + i] = (uint32_t)(row + i);
		}
	RQL_TRY(rql_garuda_join_upload(h->bench, &checked, err));
	snprintf(h->name, sizeof(h->name), "%s, host to host", join->name);
	h->kernel = checked.kernel;
	h->data = checked.data;
	h->pairs = join->pairs;
	h->sum = join->sum;
	return RQL_OK;
}

/* ---- what the join reads and writes ---- */

/* Rows into memory that a device reaches, by all threads. */
struct copying {
	uint8_t *to;
	const uint8_t *from;
	uint64_t bytes;
};
#define COPY_BYTES (UINT64_C(1) << 18) /* pieces of build sides are short */

static void copy_chunk(void *state, uint64_t index, unsigned worker)
{
	const struct copying *c = state;
	const uint64_t at = index * COPY_BYTES, left = c->bytes - at;
	(void)worker;
	memcpy(c->to + at, c->from + at, left < COPY_BYTES ? left : COPY_BYTES);
}

static void copy_rows(const struct rql_device *device, void *to, const void *from, uint64_t rows)
{
	struct copying c = {to, from, rows * 4};
	rql_pool_each(device->pool, (c.bytes + COPY_BYTES - 1) / COPY_BYTES, copy_chunk, &c);
}

static uint8_t *at(const struct rql_span *span)
{
	return (uint8_t *)span->buffer->map + span->offset;
}

static rql_status next_rows(void *state, struct rql_device *device, struct rql_host_piece *piece, struct rql_error *err)
{
	struct reader *r = state;
	const struct host_join *h = r->of;
	const uint64_t chunk = h->chunk[r->side], rows = h->rows[r->side], in_chunk = r->at % chunk;
	const uint64_t left = rows - r->at < chunk - in_chunk ? rows - r->at : chunk - in_chunk;
	struct rql_buffer *from = r->at < rows ? h->in[r->side][r->at / chunk] : NULL;
	const struct rql_span spans[COLUMNS] = {{from, in_chunk * 4}, {from, (chunk + in_chunk) * 4}};
	(void)err;
	piece->rows = !from ? 0 : piece->rows / 4 * 4 < left ? piece->rows / 4 * 4 : left;
	r->at += piece->rows;
	if (!h->bench->options->staged) {
		piece->keys = spans[KEYS];
		piece->columns[0] = spans[VALUES];
		return RQL_OK;
	}
	struct rql_span *to[COLUMNS] = {&piece->keys, &piece->columns[0]};
	for (int column = 0; column < COLUMNS && from; column++)
		copy_rows(device, at(to[column]), at(&spans[column]), piece->rows);
	return RQL_OK;
}

static void *open_reader(void *state, uint32_t index)
{
	const struct reader *r = state;
	r->of->readers[index] = *r;
	return &r->of->readers[index];
}

/* Memory for the next rows of the result: that of an earlier run, where it is large enough. */
static rql_status take_result(struct host_join *h, uint64_t rows, struct result **out, struct rql_error *err)
{
	for (; h->given < h->result_count && h->results[h->given].room < rows; h->given++)
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
		struct result r = {.room = (rows + 63) / 64 * 64};
		const uint64_t bytes = r.room * 8;
		if (!h->bench->options->staged) {
			RQL_TRY(rql_garuda_memory(h->bench, bytes, &r.buffer, err));
			r.values[0] = r.buffer->map;
		} else if (!(r.values[0] = malloc(bytes))) {
			return rql_error_memory(err, bytes, "the benchmark's result");
		}
		r.values[1] = r.values[0] + r.room;
		h->results[h->result_count++] = r;
	}
	*out = &h->results[h->given++];
	(*out)->rows = 0;
	return RQL_OK;
}

static rql_status make_room(void *state, struct rql_device *device, struct rql_host_piece *piece, struct rql_error *err)
{
	struct result *r = NULL;
	(void)device;
	RQL_TRY(take_result(state, piece->rows, &r, err));
	piece->columns[0] = (struct rql_span){r->buffer, 0};
	piece->columns[1] = (struct rql_span){r->buffer, r->room * 4};
	return RQL_OK;
}

static rql_status put_rows(void *state, const struct rql_host_piece *piece, struct rql_error *err)
{
	struct host_join *h = state;
	struct result *r = NULL;
	if (h->bench->options->staged) {
		RQL_TRY(take_result(h, piece->rows, &r, err));
		for (int side = 0; side < 2; side++)
			copy_rows(h->bench->device, r->values[side], at(&piece->columns[side]), piece->rows);
		r->rows = piece->rows;
		return RQL_OK;
	}
	for (uint64_t i = 0; i < h->given; i++)
		if (h->results[i].buffer == piece->columns[0].buffer)
			h->results[i].rows = piece->rows;
	return RQL_OK;
}

/* ---- checks ---- */

static rql_status check_result(struct host_join *h, const struct result *r, struct rql_error *err)
{
	struct rql_relation_bench_args args = h->data;
	struct rql_buffer *copies[2];
	const uint32_t kept = h->bench->buffer_count;
	for (int side = 0; side < 2; side++) {
		RQL_TRY(rql_relation_buffer(h->bench, r->rows * 4, &copies[side], err));
		RQL_TRY(rql_buffer_upload(copies[side], 0, r->values[side], r->rows * 4, err));
	}
	args.rows = r->rows;
	args.column[0] = copies[0]->address;
	args.column[2] = copies[1]->address;
	RQL_TRY(rql_relation_data(h->bench, h->kernel, &args, err));
	memset(r->values[0], 0xa5, r->rows * 4); /* it must not pass for the next run's */
	rql_relation_drop_to(h->bench, kept);
	return RQL_OK;
}

/* All pairs are there, each right. */
static rql_status check(struct host_join *h, bool *good, struct rql_error *err)
{
	uint64_t *results = rql_relation_results(h->bench), all = 0;
	results[2] = results[3] = 0;
	for (uint64_t i = 0; i < h->given; i++) {
		all += h->results[i].rows;
		if (h->results[i].rows)
			RQL_TRY(check_result(h, &h->results[i], err));
	}
	*good = all == h->pairs && results[2] == 0 && results[3] == h->sum;
	return RQL_OK;
}

/* ---- figures ---- */

rql_status rql_garuda_link(struct rql_relation_bench *b, struct rql_buffer *rows, uint64_t bytes, double rates[3],
                           struct rql_error *err)
{
	struct rql_buffer *device, *host;
	const uint32_t kept = b->buffer_count;
	bytes = bytes < LINK_BYTES ? bytes : LINK_BYTES;
	RQL_TRY(rql_relation_buffer(b, bytes, &device, err));
	RQL_TRY(rql_garuda_memory(b, bytes, &host, err));
	rql_status status = RQL_OK;
	for (int way = 0; way < 3; way++) {
		struct rql_samples samples = {0};
		for (int i = 0; i < 5 && status == RQL_OK; i++) {
			struct rql_commands *c;
			double ns;
			status = rql_commands_new(b->device, RQL_COMMANDS_TIMED, &c, err);
			if (status != RQL_OK)
				break;
			rql_record_copy(c, way == 1 ? device : rows, 0, way == 0 ? device : host, 0, bytes);
			status = rql_commands_finish(c, RQL_OK, NULL, &ns, err);
			if (status == RQL_OK)
				rql_samples_add(&samples, ns);
		}
		rates[way] = status == RQL_OK ? (double)bytes / rql_samples_median(&samples) : 0;
		if (status != RQL_OK)
			break;
	}
	rql_buffer_free(host);
	rql_relation_drop_to(b, kept);
	return status;
}

static void report_json(struct host_join *h, double ms, double floor_ms, const double rates[3], bool good)
{
	const struct rql_host_report *r = &h->report;
	const struct {
		const char *name;
		double value;
	} numbers[] = {{"ms", ms}, {"floor_ms", floor_ms}, {"link_in_gbps", rates[0]}, {"link_out_gbps", rates[1]},
	               {"link_both_gbps", rates[2]}, {"open_ms", r->open_ns / 1e6}, {"partition_ms", r->partition_ns / 1e6},
	               {"build_ms", r->build_ns / 1e6}, {"fill_ms", r->fill_ns / 1e6}, {"wait_ms", r->wait_ns / 1e6},
	               {"put_ms", r->put_ns / 1e6}, {"device_ms", r->device_ns / 1e6}, {"device_link_ms", r->link_ns / 1e6},
	               {"device_order_ms", r->order_ns / 1e6}, {"device_match_ms", r->match_ns / 1e6}};
	const struct {
		const char *name;
		uint64_t value;
	} counts[] = {{"rows", h->rows[1]}, {"build_rows", h->rows[0]}, {"result_rows", h->pairs},
	              {"devices", h->device_count}, {"build_bytes", r->build_bytes}, {"probe_bytes", r->probe_bytes}, {"result_bytes", r->result_bytes}, {"spilled_bytes", r->spilled_bytes},
	              {"device_peak_bytes", r->device_peak}, {"host_peak_bytes", r->host_peak},
	              {"partitions", r->partitions}, {"passes", r->passes}, {"blocks", r->blocks}, {"pieces", r->pieces},
	              {"repeated", r->repeated}, {"ordered", r->ordered}};
	struct rql_strbuf *j = &h->bench->json;
	rql_strbuf_put(j, h->bench->measured ? ",\n  {" : "\n  {");
	rql_json_string(j, "case", h->name);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		rql_json_number(j, numbers[i].name, numbers[i].value);
	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++)
		rql_json_count(j, counts[i].name, counts[i].value);
	rql_json_bool(j, "staged", h->bench->options->staged);
	rql_json_bool(j, "right", good);
	rql_strbuf_put(j, "}");
}

static void report(struct host_join *h, const struct rql_samples *wall, const double rates[3], bool good)
{
	const double both = rates[2] < rates[0] ? rates[2] : rates[0];
	const uint64_t longer = h->rows[1] > h->pairs ? h->rows[1] : h->pairs;
	/* Each device has a link. */
	const double floor_ms = 8.0 * ((double)h->rows[0] / rates[0] + (double)longer / both / h->device_count) / 1e6;
	const double ms = rql_samples_median(wall) / 1e6;
	const struct rql_host_report *r = &h->report;
	printf("%s of 4+4 bytes    %9.3f ms  floor %.3f (%.2f of it)  link in %.1f, out %.1f, both %.1f GB/s  %s\n", h->name, ms, floor_ms, ms / floor_ms, rates[0], rates[1], rates[2],
	       good ? "right" : "WRONG");
	printf("  moved: build %.3f GB, probe %.3f, result %.3f, to a file %.3f; %llu partitions in %llu passes, %llu build sides, "
	       "%llu of them in order, %llu pieces, %llu repeated; at most %.3f GB of a device, %.3f GB of partitions in memory\n",
	       (double)r->build_bytes / 1e9, (double)r->probe_bytes / 1e9, (double)r->result_bytes / 1e9,
	       (double)r->spilled_bytes / 1e9, (unsigned long long)r->partitions, (unsigned long long)r->passes,
	       (unsigned long long)r->blocks, (unsigned long long)r->ordered, (unsigned long long)r->pieces,
	       (unsigned long long)r->repeated,
	       (double)r->device_peak / 1e9, (double)r->host_peak / 1e9);
	printf("  ms of %u devices and their threads: memory %.1f (not in the time), partitions %.1f, build %.1f, fill %.1f, wait %.1f, "
	       "results %.1f; device %.1f, of that link %.1f, order %.1f, matches %.1f\n",
	       h->device_count, r->open_ns / 1e6, r->partition_ns / 1e6, r->build_ns / 1e6, r->fill_ns / 1e6, r->wait_ns / 1e6,
	       r->put_ns / 1e6, r->device_ns / 1e6, r->link_ns / 1e6, r->order_ns / 1e6, r->match_ns / 1e6);
	report_json(h, ms, floor_ms, rates, good);
	h->bench->measured++;
	h->bench->wrong += !good;
}

/* Without the time in which devices give memory: a process has it once. wall NULL: by devices' clocks, which slows it. */
static rql_status one_run(struct host_join *h, struct rql_samples *wall, struct rql_error *err)
{
	const struct rql_relation_options *o = h->bench->options;
	const struct rql_host_shape shape = {.key_bits = 32, .column_count = 1, .column_bits = {32}};
	const char *folder = o->folder ? o->folder : getenv("TMPDIR");
	const struct rql_host_join join = {
		.kind = RQL_JOIN_INNER,
		.build = {.shape = shape, .rows = h->rows[0], .next = next_rows, .in_place = !o->staged, .state = &h->side[0], .reader = open_reader},
		.probe = {.shape = shape, .rows = h->rows[1], .next = next_rows, .in_place = !o->staged, .state = &h->side[1]},
		.devices = h->devices, .device_count = h->device_count, .device_limit = o->device_limit,
		.host_limit = o->host_limit, .folder = folder && folder[0] ? folder : "/tmp",
		.room = o->staged ? NULL : make_room, .put = put_rows, .state = h, .timed = !wall};
	for (int side = 0; side < 2; side++)
		h->side[side] = (struct reader){.of = h, .side = side};
	h->given = 0;
	const uint64_t start = rql_now_ns();
	RQL_TRY(rql_host_join_run(&join, &h->report, err));
	if (wall)
		rql_samples_add(wall, (double)(rql_now_ns() - start) - h->report.open_ns / h->device_count);
	return RQL_OK;
}

rql_status rql_garuda_devices(const struct rql_relation_bench *b, struct rql_device **devices, uint32_t *count,
                              struct rql_error *err)
{
	const uint32_t wanted = (uint32_t)b->options->devices;
	devices[(*count)++] = b->device;
	for (uint32_t i = 0; i < b->devices->count && *count < wanted; i++) {
		struct rql_device *d = &b->devices->device[i];
		if (d != b->device && d->units[RQL_UNIT_COMPUTE] && strcmp(d->name, b->device->name) == 0)
			devices[(*count)++] = d;
	}
	if (*count < wanted)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "--devices %u: there is %u of %s", wanted, *count, b->device->name);
	if (wanted > 1 && !b->options->staged)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "--devices %u takes --staged: rows lie where one device reaches them",
		                     wanted);
	return RQL_OK;
}

static rql_status measure(struct host_join *h, const struct rql_garuda_join *join, struct rql_error *err)
{
	struct rql_samples wall = {0};
	double rates[3];
	bool good = true;
	RQL_TRY(rql_garuda_devices(h->bench, h->devices, &h->device_count, err));
	RQL_TRY(join ? take_sides(h, join, err) : make_sides(h, err));
	RQL_TRY(rql_garuda_link(h->bench, h->in[1][0], h->chunk[1] * 4, rates, err)); /* which are read alone */
	rql_status status = RQL_OK;
	for (int64_t i = 0; i <= h->bench->options->runs + 1 && status == RQL_OK && good; i++) {
		if (i == 1) /* the first run warms up, one after the last tells what passes take */
			wall.count = 0;
		status = one_run(h, i <= h->bench->options->runs ? &wall : NULL, err);
		if (status == RQL_OK)
			status = check(h, &good, err);
	}
	if (status == RQL_OK)
		report(h, &wall, rates, good);
	return status;
}

rql_status rql_garuda_host(struct rql_relation_bench *b, const struct rql_garuda_join *join, struct rql_error *err)
{
	struct host_join h = {.bench = b};
	rql_status status = measure(&h, join, err);
	for (int side = 0; side < 2; side++)
		for (uint32_t p = 0; p < CHUNKS; p++)
			rql_buffer_free(h.in[side][p]);
	for (uint64_t i = 0; i < h.result_count; i++) {
		if (!h.results[i].buffer)
			free(h.results[i].values[0]);
		rql_buffer_free(h.results[i].buffer);
	}
	free(h.results);
	rql_relation_drop(b);
	return status;
}

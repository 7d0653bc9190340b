/* rayql bench garuda --host: a join from the host's memory to the host's memory (papers/004, 6.1: from inputs in CPU
 * memory to the output in CPU memory). The build side comes in and becomes a hashed map; the probe side is joined piece
 * by piece while it comes in and the result goes out (primitive/stream_join.h). Beside it the link's measured rates and
 * the floor that they give. */
#include "garuda.h"

#include <stdio.h>
#include <string.h>

#include "json.h"
#include "primitive/stream_join.h"
#include "stats.h"
#include "util/threads.h"

#define PIECES 4u
#define LINK_BYTES (UINT64_C(1) << 28)

enum { KEYS, VALUES, COLUMNS };

struct host_join {
	struct rql_relation_bench *bench;
	uint64_t rows, piece;
	struct rql_relation_bench_args data;
	struct rql_buffer *made[2][COLUMNS];           /* [side], on the device: made there, and kept to check against */
	struct rql_buffer *in[2][COLUMNS][PIECES];     /* in the host's memory */
	struct rql_buffer *out[2][PIECES];             /* the same: values of the build side, of the probe side */
	struct rql_buffer *build[COLUMNS], *found;     /* on the device; found: matches of each piece */
	struct rql_lookup_build map;
	struct rql_buffer *owned[64]; /* of host memory */
	uint32_t owned_count;
};

static rql_status host_buffer(struct host_join *h, uint64_t bytes, struct rql_buffer **out, struct rql_error *err)
{
	RQL_TRY(rql_buffer_new(h->bench->device, bytes + 256, RQL_MEMORY_READBACK, "the benchmark's rows", out, err));
	h->owned[h->owned_count++] = *out;
	memset((*out)->map, 0xa5, bytes); /* its pages are there */
	return RQL_OK;
}

/* ---- data ---- */

static rql_status make_sides(struct host_join *h, struct rql_error *err)
{
	for (int side = 0; side < 2; side++) {
		for (int column = 0; column < COLUMNS; column++)
			RQL_TRY(rql_relation_buffer(h->bench, h->rows * 4, &h->made[side][column], err));
		h->data.keys = h->made[side][KEYS]->address;
		h->data.column[0] = h->made[side][VALUES]->address;
		RQL_TRY(rql_relation_data(h->bench, side ? RQL_BENCH_MAKE_PROBE : RQL_BENCH_MAKE_BUILD, &h->data, err));
	}
	h->data.keys = h->made[1][KEYS]->address;
	memset(rql_relation_results(h->bench), 0, RQL_RELATION_RESULTS * 8);
	return rql_relation_data(h->bench, RQL_BENCH_JOIN_SUM, &h->data, err);
}

/* To the host's memory, piece by piece, and room for the result there. */
static rql_status move_out(struct host_join *h, struct rql_error *err)
{
	struct rql_commands *c;
	for (int side = 0; side < 2; side++)
		for (uint32_t p = 0; p < PIECES; p++) {
			for (int column = 0; column < COLUMNS; column++)
				RQL_TRY(host_buffer(h, h->piece * 4, &h->in[side][column][p], err));
			RQL_TRY(host_buffer(h, h->piece * 4, &h->out[side][p], err));
		}
	RQL_TRY(rql_commands_new(h->bench->device, 0, &c, err));
	for (int side = 0; side < 2; side++)
		for (int column = 0; column < COLUMNS; column++)
			for (uint32_t p = 0; p < PIECES; p++)
				rql_record_copy(c, h->made[side][column], p * h->piece * 4, h->in[side][column][p], 0, h->piece * 4);
	return rql_commands_finish(c, RQL_OK, NULL, NULL, err);
}

static rql_status make_map(struct host_join *h, struct rql_error *err)
{
	struct rql_lookup_map *map = &h->map.map;
	*map = (struct rql_lookup_map){.form = RQL_LOOKUP_HASHED, .key_bits = 32, .count = h->rows, .high = UINT32_MAX};
	if (!rql_lookup_choose_parts(map))
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "a hashed map has no room for %llu keys",
		                     (unsigned long long)h->rows);
	for (int column = 0; column < COLUMNS; column++)
		RQL_TRY(rql_relation_buffer(h->bench, h->rows * 4, &h->build[column], err));
	RQL_TRY(rql_relation_buffer(h->bench, rql_lookup_slots(map) * rql_lookup_slot_bytes(map), &map->slots.buffer, err));
	RQL_TRY(rql_relation_buffer(h->bench, 8, &map->failed.buffer, err));
	RQL_TRY(rql_relation_buffer(h->bench, PIECES * 8, &h->found, err));
	h->map.keys.buffer = h->build[KEYS];
	return rql_relation_buffer(h->bench, rql_lookup_build_temp_bytes(&h->map), &h->map.temp.buffer, err);
}

/* ---- the join ---- */

static rql_status record(const struct host_join *h, struct rql_commands *c, struct rql_error *err)
{
	for (int column = 0; column < COLUMNS; column++)
		for (uint32_t p = 0; p < PIECES; p++)
			rql_record_copy(c, h->in[0][column][p], 0, h->build[column], p * h->piece * 4, h->piece * 4);
	RQL_TRY(rql_record_lookup_build(c, &h->map, err));
	rql_record_fill(c, h->found, 0, PIECES * 8, 0);
	for (uint32_t p = 0; p < PIECES; p++) {
		const struct rql_stream_join join = {.map = h->map.map,
		                                     .build_values.buffer = h->build[VALUES],
		                                     .count = h->piece,
		                                     .keys.buffer = h->in[1][KEYS][p],
		                                     .values.buffer = h->in[1][VALUES][p],
		                                     .capacity = h->piece,
		                                     .build_out.buffer = h->out[0][p],
		                                     .probe_out.buffer = h->out[1][p],
		                                     .rows = {h->found, p * UINT64_C(8)}};
		RQL_TRY(rql_record_stream_join(c, &join, err));
	}
	return RQL_OK;
}

/* All pairs are there, each right. */
static rql_status check(struct host_join *h, bool *good, struct rql_error *err)
{
	uint64_t *results = rql_relation_results(h->bench), found[PIECES], failed, all = 0;
	RQL_TRY(rql_buffer_download(h->found, 0, found, sizeof found, err));
	RQL_TRY(rql_buffer_download(h->map.map.failed.buffer, 0, &failed, 8, err));
	*good = !failed;
	results[2] = results[3] = 0;
	for (uint32_t p = 0; p < PIECES && *good; p++) {
		struct rql_relation_bench_args args = h->data;
		struct rql_buffer *copies[2];
		const uint32_t kept = h->bench->buffer_count;
		*good = found[p] <= h->piece;
		if (!*good || !found[p])
			continue;
		for (int side = 0; side < 2; side++) {
			RQL_TRY(rql_relation_buffer(h->bench, h->piece * 4, &copies[side], err));
			RQL_TRY(rql_buffer_upload(copies[side], 0, h->out[side][p]->map, found[p] * 4, err));
		}
		args.rows = found[p];
		args.column[0] = copies[0]->address;
		args.column[2] = copies[1]->address;
		args.flags = RQL_BENCH_PAYLOADS;
		RQL_TRY(rql_relation_data(h->bench, RQL_BENCH_PAIR_CHECK, &args, err));
		memset(h->out[0][p]->map, 0xa5, h->piece * 4);
		rql_relation_drop_to(h->bench, kept);
		all += found[p];
	}
	*good = *good && all == results[0] && results[2] == 0 && results[3] == results[1];
	return RQL_OK;
}

/* ---- figures ---- */

/* Bytes a nanosecond: in, out, and both at once (the bytes of one of the ways). */
static rql_status measure_link(struct host_join *h, double rates[3], struct rql_error *err)
{
	struct rql_buffer *device, *host[2] = {h->in[0][KEYS][0], h->out[0][0]};
	const uint64_t bytes = h->piece * 4 < LINK_BYTES ? h->piece * 4 : LINK_BYTES;
	RQL_TRY(rql_relation_buffer(h->bench, bytes, &device, err));
	for (int way = 0; way < 3; way++) {
		struct rql_samples samples = {0};
		rql_status status = RQL_OK;
		for (int i = 0; i < 5 && status == RQL_OK; i++) {
			struct rql_commands *c;
			double ns;
			status = rql_commands_new(h->bench->device, RQL_COMMANDS_TIMED, &c, err);
			if (status != RQL_OK)
				break;
			rql_record_copy(c, way == 1 ? device : host[0], 0, way == 0 ? device : host[1], 0, bytes);
			status = rql_commands_finish(c, RQL_OK, NULL, &ns, err);
			if (status == RQL_OK)
				rql_samples_add(&samples, ns);
		}
		rates[way] = status == RQL_OK ? (double)bytes / rql_samples_median(&samples) : 0;
		RQL_TRY(status);
	}
	return RQL_OK;
}

static void report(struct host_join *h, const struct rql_samples *device, const struct rql_samples *wall,
                   const double rates[3], bool good)
{
	const double bytes = 8.0 * (double)h->rows, both = rates[2] < rates[0] ? rates[2] : rates[0];
	const double floor_ms = (bytes / rates[0] + bytes / both) / 1e6;
	const double ms = rql_samples_median(wall) / 1e6;
	printf("host to host, 2^%u x 2^%u rows of 4+4 bytes    %9.3f ms (device %.3f)  floor %.3f (%.2f of it)  link in %.1f, out "
	       "%.1f, both %.1f GB/s  %s\n",
	       h->data.log2_build, h->data.log2_rows, ms, rql_samples_median(device) / 1e6, floor_ms, ms / floor_ms, rates[0],
	       rates[1], rates[2], good ? "right" : "WRONG");
	struct rql_strbuf *j = &h->bench->json;
	rql_strbuf_put(j, h->bench->measured ? ",\n  {" : "\n  {");
	rql_json_string(j, "case", "host to host");
	rql_json_count(j, "rows", h->rows);
	rql_json_number(j, "ms", ms);
	rql_json_number(j, "device_ms", rql_samples_median(device) / 1e6);
	rql_json_number(j, "floor_ms", floor_ms);
	rql_json_number(j, "link_in_gbps", rates[0]);
	rql_json_number(j, "link_out_gbps", rates[1]);
	rql_json_number(j, "link_both_gbps", rates[2]);
	rql_json_bool(j, "right", good);
	rql_strbuf_put(j, "}");
	h->bench->measured++;
	h->bench->wrong += !good;
}

static rql_status timed_run(struct host_join *h, struct rql_samples *device, struct rql_samples *wall,
                            struct rql_error *err)
{
	struct rql_commands *c;
	double ns;
	RQL_TRY(rql_commands_new(h->bench->device, RQL_COMMANDS_TIMED, &c, err));
	rql_status status = record(h, c, err);
	const uint64_t start = rql_now_ns();
	RQL_TRY(rql_commands_finish(c, status, NULL, &ns, err));
	rql_samples_add(wall, (double)(rql_now_ns() - start));
	rql_samples_add(device, ns);
	return RQL_OK;
}

static rql_status measure(struct host_join *h, struct rql_error *err)
{
	struct rql_samples device = {0}, wall = {0};
	double rates[3];
	bool good = true;
	RQL_TRY(make_sides(h, err));
	RQL_TRY(move_out(h, err));
	RQL_TRY(make_map(h, err));
	RQL_TRY(measure_link(h, rates, err));
	rql_status status = RQL_OK;
	for (int64_t i = 0; i <= h->bench->options->runs && status == RQL_OK && good; i++) {
		if (i == 1) /* the first run warms up */
			device.count = wall.count = 0;
		status = timed_run(h, &device, &wall, err);
		if (status == RQL_OK)
			status = check(h, &good, err);
	}
	if (status == RQL_OK)
		report(h, &device, &wall, rates, good);
	return status;
}

rql_status rql_garuda_host(struct rql_relation_bench *b, struct rql_error *err)
{
	const uint32_t log2_rows = (uint32_t)b->options->log2_rows;
	struct host_join h = {.bench = b, .rows = UINT64_C(1) << log2_rows, .piece = (UINT64_C(1) << log2_rows) / PIECES};
	h.data = (struct rql_relation_bench_args){.rows = h.rows,
	                                          .log2_rows = log2_rows,
	                                          .log2_build = log2_rows,
	                                          .log2_distinct = log2_rows,
	                                          .log2_range = log2_rows};
	rql_status status = measure(&h, err);
	for (uint32_t i = 0; i < h.owned_count; i++)
		rql_buffer_free(h.owned[i]);
	rql_relation_drop(b);
	return status;
}

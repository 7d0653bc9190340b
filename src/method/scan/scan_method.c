/* The method "scan" on the CPU. */
#include "method/scan/rows/scan_rows.h"

#include <stdlib.h>

struct rql_prepared {
	struct rql_scan *scan;      /* groups and aggregates, or */
	struct rql_scan_rows *rows; /* a selection */
	const struct rql_store_snapshot *snapshot; /* one reference */
	struct rql_rows_source under; /* owned; method NULL: none */
	uint32_t own_points;          /* bits: points of the request that it tests itself */
};

uint32_t rql_scan_own_points(const struct rql_request *request)
{
	uint32_t own = 0;
	for (uint32_t c = 0; c < request->conjunct_count; c++)
		own |= request->conjuncts[c].point ? 1u << (request->conjuncts[c].point - 1) : 0;
	return own;
}

uint32_t rql_scan_points(const struct rql_rows_source *under, uint32_t own)
{
	return under->method && under->method->points ? under->method->points(under->prepared) & ~own : 0;
}

static enum rql_offer offer(const struct rql_request *request, const struct rql_device *device, const char **reason)
{
	(void)request; /* what it cannot answer, preparing says */
	if (device->units[RQL_UNIT_CPU])
		return RQL_OFFER_FULL;
	if (reason)
		*reason = "the device is not a CPU";
	return RQL_OFFER_NO;
}

static void free_prepared(struct rql_prepared *prepared)
{
	if (!prepared)
		return;
	rql_scan_free(prepared->scan);
	rql_scan_rows_free(prepared->rows);
	rql_store_snapshot_release(prepared->snapshot);
	if (prepared->under.method)
		prepared->under.method->free(prepared->under.prepared);
	free(prepared);
}

static rql_status prepare(const struct rql_request *request, struct rql_device *device, struct rql_prepared **out,
                          struct rql_error *err)
{
	struct rql_prepared *prepared = calloc(1, sizeof *prepared);
	if (!prepared)
		return rql_error_memory(err, sizeof *prepared, "preparing a scan");
	rql_status status = request->wants == RQL_PORT_BATCH ? rql_scan_rows_prepare(request, device, &prepared->rows, err)
	                                                     : rql_scan_prepare(request, device, &prepared->scan, err);
	if (status != RQL_OK) {
		free(prepared);
		return status;
	}
	prepared->snapshot = rql_store_snapshot_retain(request->snapshot);
	prepared->under = request->under;
	prepared->own_points = rql_scan_own_points(request);
	*out = prepared;
	return RQL_OK;
}

static void price(const struct rql_prepared *prepared, const struct rql_device *device, struct rql_cost *out)
{
	if (prepared->rows)
		rql_scan_rows_price(prepared->rows, device, &device->profile.scan, out);
	else
		rql_scan_price(prepared->scan, device, &device->profile.scan, out);
	out->device_bytes = 0; /* the columns are where they are */
}

static rql_status run_rows(const struct rql_scan_rows *rows, struct rql_device *device, const struct rql_rows *under,
                           struct rql_progress *progress, struct rql_port *out, struct rql_error *err)
{
	struct rql_batch *batch;
	struct rql_scan_counts counts;
	RQL_TRY(rql_scan_rows_run(rows, device, under, progress, &batch, &counts, err));
	*out = (struct rql_port){.kind = RQL_PORT_BATCH,
	                         .batch = batch,
	                         .group_count = batch->rows,
	                         .cells_read = counts.rows_read,
	                         .cells_covered = counts.rows_passed,
	                         .bytes_read = counts.bytes_read,
	                         .runs = counts.blocks - counts.blocks_skipped};
	return RQL_OK;
}

static rql_status run(const struct rql_prepared *prepared, struct rql_device *device, const struct rql_run *how,
                      struct rql_port *out, struct rql_error *err)
{
	const struct rql_rows_source *under = &prepared->under;
	struct rql_port rows = {0};
	if (under->method)
		RQL_TRY(under->method->run(under->prepared, device, how, &rows, err));
	const struct rql_rows *come_in = under->method ? &rows.rows : NULL;
	if (prepared->rows)
		RQL_TRY(run_rows(prepared->rows, device, come_in, how->progress, out, err));
	else
		RQL_TRY(rql_scan_run(prepared->scan, device, come_in, how->arena, how->progress, out, NULL, err));
	out->selected = rows.selected;
	return RQL_OK;
}

static uint32_t points(const struct rql_prepared *prepared)
{
	return rql_scan_points(&prepared->under, prepared->own_points);
}

static uint64_t prepared_bytes(const struct rql_prepared *prepared)
{
	const struct rql_rows_source *under = &prepared->under;
	return sizeof *prepared + (under->method ? under->method->bytes(under->prepared) : 0) +
	       (prepared->rows ? rql_scan_rows_bytes(prepared->rows) : rql_scan_bytes(prepared->scan));
}

static rql_status calibrate(struct rql_device *device, bool thorough, struct rql_error *err)
{
	return rql_scan_calibrate(device, thorough, &device->profile.scan, err);
}

const struct rql_method rql_method_scan_cpu = {
	.name = "scan",
	.description = "filters, joins, groups, sums and selects compressed columns in one pass",
	.paper = "Crystal (SIGMOD 2020), section 3; MonetDB/X100 (CIDR 2005)",
	.unit = RQL_UNIT_CPU,
	.reads = RQL_READS_STORE,
	.gives = 1u << RQL_PORT_GROUPS | 1u << RQL_PORT_BATCH,
	.takes_rows = true,
	.offer = offer,
	.prepare = prepare,
	.price = price,
	.run = run,
	.points = points,
	.calibrate = calibrate,
	.free = free_prepared,
	.bytes = prepared_bytes,
};

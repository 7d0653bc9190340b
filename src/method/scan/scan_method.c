/* The method "scan" on the CPU. */
#include "method/scan/scan_rows.h"

#include <stdlib.h>

struct rql_prepared {
	struct rql_scan *scan;      /* groups and aggregates, or */
	struct rql_scan_rows *rows; /* a selection */
	const struct rql_store_snapshot *snapshot; /* one reference */
};

static enum rql_serve can_scan(const struct rql_scan_request *request, const struct rql_device *device,
                               const char **reason)
{
	(void)request; /* what it cannot answer, preparing says */
	if (device->units[RQL_UNIT_CPU])
		return RQL_SERVE_FULL;
	if (reason)
		*reason = "the device is not a CPU";
	return RQL_SERVE_NO;
}

static enum rql_serve can_rows(const struct rql_scan_rows_request *request, const struct rql_device *device,
                               const char **reason)
{
	return can_scan(&request->scan, device, reason);
}

static void free_prepared(struct rql_prepared *prepared)
{
	if (!prepared)
		return;
	rql_scan_free(prepared->scan);
	rql_scan_rows_free(prepared->rows);
	rql_store_snapshot_release(prepared->snapshot);
	free(prepared);
}

static rql_status prepare_scan(const struct rql_scan_request *request, struct rql_device *device,
                               struct rql_prepared **out, struct rql_error *err)
{
	struct rql_prepared *prepared = calloc(1, sizeof *prepared);
	if (!prepared)
		return rql_error_memory(err, sizeof *prepared, "preparing a scan");
	rql_status status = rql_scan_prepare(request, device, &prepared->scan, err);
	if (status != RQL_OK) {
		free(prepared);
		return status;
	}
	prepared->snapshot = rql_store_snapshot_retain(request->snapshot);
	*out = prepared;
	return RQL_OK;
}

static rql_status prepare_rows(const struct rql_scan_rows_request *request, struct rql_device *device,
                               struct rql_prepared **out, struct rql_error *err)
{
	struct rql_prepared *prepared = calloc(1, sizeof *prepared);
	if (!prepared)
		return rql_error_memory(err, sizeof *prepared, "preparing a selection of rows");
	rql_status status = rql_scan_rows_prepare(request, device, &prepared->rows, err);
	if (status != RQL_OK) {
		free(prepared);
		return status;
	}
	prepared->snapshot = rql_store_snapshot_retain(request->scan.snapshot);
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

static rql_status run(const struct rql_prepared *prepared, struct rql_device *device, unsigned flags,
                      struct rql_arena *arena, struct rql_progress *progress, struct rql_answer *out,
                      struct rql_error *err)
{
	(void)flags; /* one pass, which the caller times */
	return rql_scan_run(prepared->scan, device, arena, progress, out, NULL, err);
}

static rql_status run_rows(const struct rql_prepared *prepared, struct rql_device *device, unsigned flags,
                           struct rql_arena *arena, struct rql_progress *progress, struct rql_batch **rows,
                           struct rql_answer *out, struct rql_error *err)
{
	(void)flags;
	(void)arena;
	struct rql_scan_counts counts;
	RQL_TRY(rql_scan_rows_run(prepared->rows, device, progress, rows, &counts, err));
	*out = (struct rql_answer){.group_count = (*rows)->rows,
	                           .cells_read = counts.rows_read,
	                           .cells_covered = counts.rows_passed,
	                           .bytes_read = counts.bytes_read,
	                           .runs = counts.blocks - counts.blocks_skipped};
	return RQL_OK;
}

static uint64_t prepared_bytes(const struct rql_prepared *prepared)
{
	return sizeof *prepared + (prepared->rows ? rql_scan_rows_bytes(prepared->rows) : rql_scan_bytes(prepared->scan));
}

const struct rql_method rql_method_scan_cpu = {
	.name = "scan",
	.description = "filters, joins, groups, sums and selects compressed columns in one pass",
	.paper = "Crystal (SIGMOD 2020), section 3; MonetDB/X100 (CIDR 2005)",
	.unit = RQL_UNIT_CPU,
	.can_scan = can_scan,
	.prepare_scan = prepare_scan,
	.price = price,
	.run = run,
	.can_rows = can_rows,
	.prepare_rows = prepare_rows,
	.run_rows = run_rows,
	.free_prepared = free_prepared,
	.prepared_bytes = prepared_bytes,
};

/* The GPU of `rayql bench scan`: opened, its floors measured, its rivals run and compared with DuckDB. */
#include "bench/suite/suite_gpu.h"

#include <stdlib.h>
#include <string.h>

rql_status rql_suite_gpu_open(const char *name, unsigned threads, struct rql_suite_gpu *out, struct rql_error *err)
{
	struct rql_suite_gpu gpu = {0};
	RQL_TRY(rql_devices_open(threads, &gpu.devices, err));
	rql_status status = RQL_ERROR_STATEMENT;
	gpu.device = rql_flat_find_device(gpu.devices, name, err);
	if (gpu.device && gpu.device->kind == RQL_DEVICE_CPU)
		rql_error_set(err, RQL_ERROR_STATEMENT, "device %s has no unit compute: give a GPU", name);
	else if (gpu.device)
		status = rql_flat_measure_device(gpu.device, &gpu.floors, err);
	if (status != RQL_OK) {
		rql_devices_close(gpu.devices);
		return status;
	}
	*out = gpu;
	return RQL_OK;
}

void rql_suite_gpu_close(struct rql_suite_gpu *gpu)
{
	rql_devices_close(gpu->devices);
	*gpu = (struct rql_suite_gpu){0};
}

/* ---- rivals ---- */

rql_status rql_suite_gpu_rivals(struct rql_suite_gpu *gpu, double scale, int64_t seed, uint32_t runs,
                                struct rql_suite_rivals *out, struct rql_error *err)
{
	struct rql_rival *rival;
	*out = (struct rql_suite_rivals){0};
	RQL_TRY(rql_rival_new(gpu->device, gpu->devices->device[0].pool, scale, seed, &rival, err));
	rql_status status = rql_rival_compile(rival, (1u << RQL_SSB_QUERIES) - 1, err);
	for (uint32_t f = 0; f < RQL_RIVAL_FORMS; f++) {
		for (uint32_t i = 0; i < RQL_SSB_QUERIES && status == RQL_OK; i++) {
			status = rql_flat_wake(gpu->device, &gpu->awake_ns, err);
			if (status == RQL_OK)
				status = rql_rival_run(rival, (enum rql_rival_form)f, i, runs, &out->answers[f][i], err);
		}
	}
	rql_rival_free(rival);
	if (status != RQL_OK)
		rql_suite_rivals_free(out);
	return status;
}

void rql_suite_rivals_free(struct rql_suite_rivals *rivals)
{
	for (uint32_t f = 0; f < RQL_RIVAL_FORMS; f++) {
		for (uint32_t i = 0; i < RQL_SSB_QUERIES; i++) {
			free(rivals->answers[f][i].sums);
			rivals->answers[f][i].sums = NULL;
		}
	}
}

static int ascending(const void *x, const void *y)
{
	int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
	return (a > b) - (a < b);
}

bool rql_suite_rival_same(const struct rql_rival_answer *rival, uint32_t query, const struct rql_answer *host)
{
	/* The measure is the first column of flights 1 and 2, the last of the others. */
	uint32_t column = rql_ssb_flat.queries[query].flight > 2 ? host->columns - 1 : 0;
	int64_t *sums = calloc(host->rows ? host->rows : 1, sizeof *sums);
	uint64_t count = 0;
	if (!sums)
		return false;
	for (uint64_t row = 0; row < host->rows; row++) {
		const char *value = host->values[row * host->columns + column];
		if (value) /* NULL: nothing qualified, and a rival has no group then */
			sums[count++] = strtoll(value, NULL, 10);
	}
	qsort(sums, count, sizeof *sums, ascending);
	bool same = count == rival->count && (!count || !memcmp(sums, rival->sums, count * sizeof *sums));
	free(sums);
	return same;
}

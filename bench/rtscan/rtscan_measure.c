/* rayql bench rtscan: what one statement takes, by EXPLAIN ANALYZE, and what its rows take to the host. */
#include "bench/rtscan/rtscan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/stats.h"
#include "util/threads.h"

#define AWAKE_NS 300000000u

/* ---- one statement ---- */
/* A number behind the text; 0: it is not there. */
static double number_behind(const char *explain, const char *text)
{
	const char *at = strstr(explain, text);
	return at ? strtod(at + strlen(text), NULL) : 0;
}

/* "rows found: N rays, N hits, N rows tested at bounds, N bytes" */
static void read_found(const char *explain, struct rql_rtscan_case *one)
{
	const char *found = strstr(explain, "rows found:");
	const char *hits = found ? strstr(found, " rays, ") : NULL;
	const char *tested = found ? strstr(found, " rows tested at bounds, ") : NULL, *number = tested;
	if (!tested)
		return;
	one->rays = hits ? number_behind(found, "found:") : 0;
	one->hits = hits ? strtod(hits + strlen(" rays, "), NULL) : 0;
	while (number > found && number[-1] >= '0' && number[-1] <= '9')
		number--;
	one->tested = strtod(number, NULL);
	one->bytes = number_behind(tested, "tested at bounds, ");
}

/* "12.3 us" behind the text, in microseconds; negative: it is not there. */
static double time_behind(const char *explain, const char *text)
{
	const char *at = strstr(explain, text);
	char *unit = NULL;
	if (!at)
		return -1;
	const double value = strtod(at + strlen(text), &unit);
	return value * (!strncmp(unit, " ms", 3)   ? 1e3
	                : !strncmp(unit, " us", 3) ? 1
	                : !strncmp(unit, " ns", 3) ? 1e-3
	                                           : 1e6);
}

/* The passes of a run, "pass NAME: 12.3 us" each; of the scan only where it selects, or all. Their sum; negative: none. */
static double read_passes(const char *explain, bool scans, bool all, struct rql_rtscan_case *one)
{
	double sum = 0;
	one->pass_count = 0;
	for (const char *at = strstr(explain, "pass "); at; at = strstr(at, "pass ")) {
		at += strlen("pass ");
		const char *end = strchr(at, ':');
		const size_t length = end ? (size_t)(end - at) : 0;
		const bool scan = length >= 4 && strncmp(at, "scan", 4) == 0;
		struct rql_rtscan_pass *to = &one->passes[one->pass_count];
		if (!length || length >= sizeof to->name || (scan != scans && !all) || one->pass_count == RQL_RTSCAN_PASSES)
			continue;
		memcpy(to->name, at, length);
		to->name[length] = 0;
		to->us = time_behind(end, ": ");
		sum += to->us;
		one->pass_count++;
	}
	return one->pass_count ? sum : -1;
}

static double time_of_method(const char *explain, const char *pass, bool gpu, bool reader,
                             struct rql_rtscan_case *one)
{
	const bool sieve = strcmp(pass, "sieve") == 0;
	if (sieve != (strstr(explain, "under rows of sieve") != NULL))
		return -1;
	return gpu ? read_passes(explain, !sieve, reader, one) : time_behind(explain, "measured: ");
}

static rql_status read_answer(rayql_connection *con, struct rql_rtscan_case *one, struct rql_error *err)
{
	struct rql_strbuf text = {0};
	double ms;
	rql_status status = rql_client_time(con, one->sql, &ms, &text, NULL, err);
	const char *row = strchr(rql_strbuf_text(&text), '\n'); /* behind names and types */
	snprintf(one->answer, sizeof one->answer, "%s", row ? row + 1 : "");
	one->answer[strcspn(one->answer, "\n")] = 0;
	rql_strbuf_free(&text);
	return status;
}

rql_status rql_rtscan_measure(rayql_connection *con, const char *pass, bool gpu, bool reader, int64_t runs,
                              struct rql_rtscan_case *one, struct rql_error *err)
{
	char explain[640];
	struct rql_samples device = {0}, statement = {0};
	snprintf(explain, sizeof explain, "EXPLAIN ANALYZE %s", one->sql);
	one->device_us = -1;
	const uint64_t start = rql_now_ns();
	do /* a GPU that idles has low clocks, which short statements do not raise at once */
		RQL_TRY(read_answer(con, one, err));
	while (gpu && pass && rql_now_ns() - start < AWAKE_NS);
	for (int64_t r = 0; r < runs; r++) {
		double ms;
		RQL_TRY(rql_client_time(con, one->sql, &ms, NULL, NULL, err));
		rql_samples_add(&statement, ms * 1e3);
	}
	for (int64_t r = 0; r < runs && pass; r++) {
		struct rql_strbuf text = {0};
		double ms;
		rql_status status = rql_client_time(con, explain, &ms, &text, NULL, err);
		if (status == RQL_OK)
			read_found(rql_strbuf_text(&text), one);
		const double us = status == RQL_OK ? time_of_method(rql_strbuf_text(&text), pass, gpu, reader, one) : -1;
		rql_strbuf_free(&text);
		RQL_TRY(status);
		if (us >= 0)
			rql_samples_add(&device, us);
	}
	one->statement_us = rql_samples_median(&statement);
	one->least_us = rql_samples_min(&statement);
	if (device.count == (uint32_t)runs)
		one->device_us = rql_samples_median(&device);
	return RQL_OK;
}

/* ---- the rows' way to the host ---- */
static rql_status measure_copy(struct rql_device *device, uint64_t bytes, int64_t runs, double *us,
                               struct rql_error *err)
{
	struct rql_buffer *from = NULL, *to = NULL;
	struct rql_samples samples = {0};
	rql_status status = rql_buffer_new(device, bytes, RQL_MEMORY_DEVICE, "a bitmap", &from, err);
	if (status == RQL_OK)
		status = rql_buffer_new(device, bytes, RQL_MEMORY_READBACK, "a bitmap on the host", &to, err);
	for (int64_t r = 0; r <= runs && status == RQL_OK; r++) {
		struct rql_commands *commands;
		double ns = 0;
		status = rql_commands_new(device, RQL_COMMANDS_TIMED, &commands, err);
		if (status != RQL_OK)
			break;
		rql_record_copy(commands, from, 0, to, 0, bytes);
		status = rql_commands_finish(commands, RQL_OK, NULL, &ns, err);
		if (r) /* the first touches the pages */
			rql_samples_add(&samples, ns / 1e3);
	}
	rql_buffer_free(from);
	rql_buffer_free(to);
	*us = rql_samples_median(&samples);
	return status;
}

rql_status rql_rtscan_transfer(const char *device, int64_t rows, int64_t runs, double *us, struct rql_error *err)
{
	struct rql_devices *devices = NULL;
	RQL_TRY(rql_devices_open(1, &devices, err));
	struct rql_device *gpu = rql_devices_get(devices, device);
	rql_status status = gpu ? measure_copy(gpu, ((uint64_t)rows + 4095) / 4096 * 512, runs, us, err)
	                        : rql_error_set(err, RQL_ERROR_STATEMENT, "there is no device %s", device);
	rql_devices_close(devices);
	return status;
}

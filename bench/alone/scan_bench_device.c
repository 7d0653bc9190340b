/* The requests on a device, and a query like TPC-H's first: each run's answer is compared with the CPU's. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/alone/scan_bench.h"
#include "device/work.h"
#include "expr/building/build.h"

extern const struct rql_method rql_method_scan_compute;

#define WARM_NS 800000000u
struct device_timing {
	double first_ms, device_us, wall_us, bytes;
	uint64_t passed;
};

static void check_same(const char *name, const struct rql_port *a, const struct rql_port *b, uint32_t aggs,
                       uint32_t keys)
{
	bool same = a->group_count == b->group_count;
	for (uint32_t k = 0; same && k < keys; k++)
		same = memcmp(a->keys[k], b->keys[k], a->group_count * sizeof(uint32_t)) == 0;
	for (uint32_t i = 0; same && i < aggs; i++)
		for (uint64_t g = 0; same && g < a->group_count; g++)
			same = a->aggs[i].integer[g] == b->aggs[i].integer[g];
	if (same)
		return;
	fprintf(stderr, "scan_bench: %s: the device's answer differs\n", name);
	exit(1);
}

/* The CPU's answer is compared with every run's. */
static void measure_device(const char *name, const struct rql_request *request, struct rql_device *cpu,
                           struct rql_device *gpu, unsigned runs, struct device_timing *out)
{
	const struct rql_method *method = &rql_method_scan_compute;
	struct rql_error err = {0};
	struct rql_scan *scan = NULL;
	struct rql_prepared *prepared = NULL;
	struct rql_arena *arena = bench_need(rql_arena_new());
	struct rql_port want, have;
	double times[1000], walls[1000];
	const char *why = "";
	if (method->offer(request, gpu, &why) == RQL_OFFER_NO) {
		fprintf(stderr, "scan_bench: %s: %s\n", name, why);
		exit(1);
	}
	bench_check(rql_scan_prepare(request, cpu, &scan, &err), &err);
	bench_check(rql_scan_run(scan, cpu, NULL, arena, NULL, &want, NULL, &err), &err);
	uint64_t start = rql_now_ns();
	bench_check(method->prepare(request, gpu, &prepared, &err), &err);
	bench_check(method->run(prepared, gpu, &(struct rql_run){.arena = arena}, &have, &err), &err);
	out->first_ms = (double)(rql_now_ns() - start) / 1e6;
	/* A device that has idled while the kernel was compiled runs at a low clock for a while. */
	for (start = rql_now_ns(); rql_now_ns() - start < WARM_NS;) {
		struct rql_arena *scratch = bench_need(rql_arena_new());
		bench_check(method->run(prepared, gpu, &(struct rql_run){.arena = scratch}, &have, &err), &err);
		rql_arena_free(scratch);
	}
	for (unsigned i = 0; i < 2 * runs; i++) {
		const struct rql_run run = {.flags = i % 2 ? RQL_RUN_TIMED : 0, .arena = arena};
		start = rql_now_ns();
		bench_check(method->run(prepared, gpu, &run, &have, &err), &err);
		walls[i / 2] = i % 2 ? walls[i / 2] : (double)(rql_now_ns() - start) / 1e3;
		times[i / 2] = have.device_ns / 1e3;
		check_same(name, &want, &have, request->agg_count, request->group_count);
	}
	qsort(times, runs, sizeof(*times), bench_ascending);
	qsort(walls, runs, sizeof(*walls), bench_ascending);
	out->device_us = times[runs / 2];
	out->wall_us = walls[runs / 2];
	out->bytes = (double)have.bytes_read;
	out->passed = have.cells_covered;
	method->free(prepared);
	rql_scan_free(scan);
	rql_arena_free(arena);
}

static void print_device(const char *name, const struct device_timing *t, double gbps)
{
	double rate = t->bytes / t->device_us / 1e3;
	printf("%s  %9.1f %9.1f %9.1f %9.1f %9.0f %6.1f%%  %9.1f  %llu\n", name, t->device_us, t->wall_us,
	       t->wall_us - t->device_us, t->bytes / 1e6, rate, 100 * rate / gbps, t->first_ms,
	       (unsigned long long)t->passed);
	fflush(stdout);
}

static void report_device(const char *form, const struct data *d, struct rql_device *cpu, struct rql_device *gpu,
                          unsigned runs, double gbps)
{
	double log_us = 0, log_wall = 0;
	printf("\n%s on %s, %llu rows, warm runs, median\nquery  device us   wall us    beside   MB read      GB/s  of "
	       "%.0f  first ms  rows passed\n",
	       form, gpu->name, (unsigned long long)d->rows, gbps);
	for (unsigned i = 0; i < 13; i++) {
		struct request r;
		struct device_timing t;
		if (strcmp(form, "flat") == 0)
			bench_flat_request(&r, d, &bench_queries[i]);
		else
			bench_star_request(&r, d, &bench_queries[i]);
		measure_device(bench_queries[i].name, &r.request, cpu, gpu, runs, &t);
		print_device(bench_queries[i].name, &t, gbps);
		log_us += log(t.device_us);
		log_wall += log(t.wall_us);
		bench_request_free(&r);
	}
	printf("geometric mean %.1f us on the device, %.1f us wall\n", exp(log_us / 13), exp(log_wall / 13));
}

/* As TPC-H's first query: nearly all rows, few groups (two columns), sums of a column, of products of two and three. */
static void report_wide(const struct data *d, struct rql_device *cpu, struct rql_device *gpu, unsigned runs,
                        double gbps)
{
	static const uint32_t columns[3] = {PRICE, DISCOUNT, QUANTITY};
	struct rql_arena *arena = bench_need(rql_arena_new());
	struct rql_builder *b = bench_need(rql_builder_new(arena));
	struct rql_type bigint = rql_type_simple(RQL_TYPE_BIGINT);
	struct rql_source inputs[3];
	struct rql_error err = {0};
	rql_value_number v[3], results[2];
	for (uint32_t i = 0; i < 3; i++) {
		const struct rql_store_column *c = &d->snapshot->columns[columns[i]];
		struct rql_input_spec spec = {
			.column = i, .type = bigint, .kind = RQL_LANE_I64, .bounds = {c->least, c->greatest}};
		v[i] = rql_build_input(b, &spec);
		inputs[i] = (struct rql_source){.index = columns[i]};
	}
	results[0] = rql_build_arithmetic(b, "*", v[0], v[1], bigint, true);
	results[1] =
		rql_build_arithmetic(b, "*", results[0], rql_build_arithmetic(b, "+", v[1], v[2], bigint, true), bigint, true);
	struct rql_program *program = NULL;
	bench_check(rql_builder_finish(b, results, 2, &program, &err), &err);
	struct rql_row_program programs = {.program = program, .inputs = inputs};
	struct rql_conjunct date = {
		.test = RQL_TEST_IN_RANGE, .index = DATE_CODE, .least = 0, .greatest = RQL_SSB_DATES - 60};
	struct rql_group_key groups[2] = {{.source = {.index = P_MFGR}, .key_count = 5, .null_key = RQL_NONE},
	                                  {.source = {.index = S_REGION}, .key_count = 5, .null_key = RQL_NONE}};
	struct rql_agg aggs[5] = {{.kind = RQL_AGG_SUM, .source = {.index = QUANTITY}},
	                          {.kind = RQL_AGG_SUM, .source = {.index = PRICE}},
	                          {.kind = RQL_AGG_SUM, .source = {.kind = RQL_SOURCE_PROGRAM}},
	                          {.kind = RQL_AGG_SUM, .source = {.kind = RQL_SOURCE_PROGRAM, .result = 1}},
	                          {.kind = RQL_AGG_COUNT_STAR}};
	struct rql_request request = {.snapshot = d->snapshot,
	                              .program_count = 1,
	                              .programs = &programs,
	                              .conjunct_count = 1,
	                              .conjuncts = &date,
	                              .group_count = 2,
	                              .groups = groups,
	                              .agg_count = 5,
	                              .aggs = aggs};
	struct device_timing t;
	printf("\nlike TPC-H's first query, with and without groups\n");
	measure_device("h1", &request, cpu, gpu, runs, &t);
	print_device("h1  ", &t, gbps);
	request.group_count = 1;
	measure_device("h1 with five groups", &request, cpu, gpu, runs, &t);
	print_device("h1.5", &t, gbps);
	request.group_count = 0;
	measure_device("h1 without groups", &request, cpu, gpu, runs, &t);
	print_device("h1.0", &t, gbps);
	rql_arena_free(arena);
}

void bench_run_device(const struct data *d, struct rql_device *cpu, const char *name, unsigned runs, double gbps)
{
	struct rql_devices *devices = NULL;
	struct rql_error err = {0};
	bench_check(rql_devices_open(rql_pool_threads(cpu->pool), &devices, &err), &err);
	struct rql_device *gpu = rql_devices_get(devices, name);
	if (!gpu) {
		fprintf(stderr, "scan_bench: no device %s: %s\n", name, devices->no_gpu ? devices->no_gpu : "not there");
		exit(1);
	}
	report_device("flat", d, cpu, gpu, runs, gbps);
	report_device("star", d, cpu, gpu, runs, gbps);
	report_wide(d, cpu, gpu, runs, gbps);
	rql_devices_close(devices);
}

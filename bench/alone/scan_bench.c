/* The 13 SSB queries as scan requests made by hand, over columns that the generator fills: on the flat table, and
 * with the joins as maps. Statement to rows is not in it: what is timed is one warm run of a prepared scan.
 *
 *   scan_bench [scale [threads [runs [auto|packed [device [GB/s]]]]]]   (1, 2, 15, auto: the store chooses encodings)
 *
 * With a device ("vulkan:0") the same requests run there too, and a query like TPC-H's first; what is printed is the
 * device's time, bytes read over it, and that as a share of the read bandwidth that is given (4580).
 *
 * Every answer is checked against a plain loop over int32 columns. Beside each time stand the bytes read, their
 * floor at this machine's bandwidth (measured here, all threads), and the time of that plain loop without any
 * column store, one thread: the honest rival inside this program. DuckDB's figures are those of bench/results/. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/alone/scan_bench.h"

/* ---- measuring ---- */

int bench_ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void verify(const struct query *q, const struct rql_port *answer, const int64_t *sums, uint64_t groups)
{
	uint64_t at = 0;
	for (uint64_t g = 0; g < groups; g++) {
		if (!sums[g] && q->group_count)
			continue;
		uint64_t rest = g;
		bool same = at < answer->group_count && answer->aggs[0].integer[at] == sums[g];
		for (uint32_t k = q->group_count; same && k-- > 0; rest /= q->groups[k].count)
			same = answer->keys[k][at] == rest % q->groups[k].count;
		if (!same) {
			fprintf(stderr, "scan_bench: %s: group %llu differs\n", q->name, (unsigned long long)g);
			exit(1);
		}
		at++;
	}
	if (at != answer->group_count) {
		fprintf(stderr, "scan_bench: %s: %llu groups, not %llu\n", q->name, (unsigned long long)answer->group_count,
		        (unsigned long long)at);
		exit(1);
	}
}

struct timing {
	double ms, least_ms, cpu_ms, plain_ms, price_ms;
	struct rql_scan_counts counts;
};

/* Of all threads; on a machine that others use too, it says more than the wall clock. */
static double cpu_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void measure(const struct data *d, const struct query *q, const struct request *r, struct rql_device *device,
                    const struct rql_scan_profile *profile, unsigned runs, struct timing *out)
{
	struct rql_error err = {0};
	struct rql_scan *scan = NULL;
	struct rql_cost cost;
	double times[1000], cpu[1000];
	uint64_t groups = 1;
	for (uint32_t g = 0; g < q->group_count; g++)
		groups *= q->groups[g].count;
	int64_t *sums = bench_need(calloc(groups, sizeof(*sums)));
	uint64_t start = rql_now_ns();
	bench_plain(d, q, 0, d->rows, sums);
	out->plain_ms = (double)(rql_now_ns() - start) / 1e6;
	bench_check(rql_scan_prepare(&r->request, device, &scan, &err), &err);
	rql_scan_price(scan, device, profile, &cost);
	out->price_ms = cost.run_ns / 1e6;
	for (unsigned i = 0; i < runs + 2; i++) { /* two to warm up */
		struct rql_arena *arena = bench_need(rql_arena_new());
		struct rql_port answer;
		double cpu_start = cpu_ms();
		start = rql_now_ns();
		bench_check(rql_scan_run(scan, device, NULL, arena, NULL, &answer, &out->counts, &err), &err);
		times[i < 2 ? 0 : i - 2] = (double)(rql_now_ns() - start) / 1e6;
		cpu[i < 2 ? 0 : i - 2] = cpu_ms() - cpu_start;
		verify(q, &answer, sums, groups);
		rql_arena_free(arena);
	}
	qsort(times, runs, sizeof(*times), bench_ascending);
	out->ms = times[runs / 2];
	out->least_ms = times[0];
	qsort(cpu, runs, sizeof(*cpu), bench_ascending);
	out->cpu_ms = cpu[runs / 2];
	rql_scan_free(scan);
	free(sums);
}

static _Atomic uint64_t sink;
static void read_share(void *state, uint64_t index, unsigned worker)
{
	const uint64_t *words = (const uint64_t *)state + index * (1 << 17);
	uint64_t sum = 0;
	(void)worker;
	for (uint64_t i = 0; i < 1 << 17; i++)
		sum += words[i];
	sink += sum;
}

/* All threads reading 256 MB, bytes/ns. */
static double bandwidth(struct rql_pool *pool)
{
	uint64_t bytes = UINT64_C(256) << 20, best = UINT64_MAX;
	uint64_t *words = bench_need(malloc(bytes));
	memset(words, 1, bytes);
	for (unsigned i = 0; i < 7; i++) {
		uint64_t start = rql_now_ns();
		rql_pool_run(pool, bytes >> 20, read_share, words);
		uint64_t took = rql_now_ns() - start;
		best = took < best ? took : best;
	}
	free(words);
	return (double)bytes / (double)best;
}

static double load_average(void)
{
	double load = -1;
	FILE *f = fopen("/proc/loadavg", "r");
	if (f && fscanf(f, "%lf", &load) != 1)
		load = -1;
	if (f)
		fclose(f);
	return load;
}

static void report(const char *form, const struct data *d, struct rql_device *device,
                   const struct rql_scan_profile *profile, unsigned runs, bool duckdb)
{
	double log_ms = 0, log_duckdb = 0, log_plain = 0;
	printf("\n%s: %s, %llu rows, %u threads, load %.2f\n", form, "one warm run of a prepared scan, median",
	       (unsigned long long)d->rows, rql_pool_threads(device->pool), load_average());
	printf("query   ms      least   cpu     price   plain1  MB read floor   x floor %s  rows passed\n",
	       duckdb ? "duckdb  ratio" : "");
	for (unsigned i = 0; i < 13; i++) {
		const struct query *q = &bench_queries[i];
		struct request r;
		struct timing t;
		if (strcmp(form, "flat") == 0)
			bench_flat_request(&r, d, q);
		else
			bench_star_request(&r, d, q);
		measure(d, q, &r, device, profile, runs, &t);
		double floor_ms = (double)t.counts.bytes_read / device->profile.read_gbps / 1e6;
		printf("%s  %7.3f %7.3f %7.3f %7.3f %7.2f %7.2f %7.3f %7.1f", q->name, t.ms, t.least_ms, t.cpu_ms, t.price_ms,
		       t.plain_ms, (double)t.counts.bytes_read / 1e6, floor_ms, t.ms / floor_ms);
		if (duckdb)
			printf("  %6.2f %6.1f", q->duckdb_flat_ms, q->duckdb_flat_ms / t.ms);
		printf("  %llu\n", (unsigned long long)t.counts.rows_passed);
		log_ms += log(t.ms);
		log_plain += log(t.plain_ms);
		log_duckdb += log(q->duckdb_flat_ms);
		bench_request_free(&r);
	}
	printf("geometric mean %.3f ms, plain loop %.2f ms", exp(log_ms / 13), exp(log_plain / 13));
	if (duckdb)
		printf(", DuckDB %.2f ms: %.1f times", exp(log_duckdb / 13), exp((log_duckdb - log_ms) / 13));
	printf("\n");
}

int main(int argc, char **argv)
{
	double scale = argc > 1 ? atof(argv[1]) : 1;
	unsigned threads = argc > 2 ? (unsigned)atoi(argv[2]) : 2, runs = argc > 3 ? (unsigned)atoi(argv[3]) : 15;
	struct rql_error err = {0};
	static struct data d;
	struct rql_scan_profile profile = rql_profile_guess.scan;
	struct rql_device device = {.simd = RQL_SIMD_AVX512};
	const char *simd = getenv("RAYQL_SIMD");
	if (simd && strcmp(simd, "avx2") == 0)
		device.simd = RQL_SIMD_AVX2;
	else if (simd && strcmp(simd, "portable") == 0)
		device.simd = RQL_SIMD_PORTABLE;
	device.units[RQL_UNIT_CPU] = true;
	runs = runs < 1 ? 1 : runs > 900 ? 900 : runs;
	bench_check(rql_pool_new(threads, &device.pool, &err), &err);
	uint64_t start = rql_now_ns();
	bench_generate(&d, scale, device.pool);
	printf("%llu rows generated in %.0f ms\n", (unsigned long long)d.rows, (double)(rql_now_ns() - start) / 1e6);
	bench_load(&d, device.pool, argc > 4 && strcmp(argv[4], "packed") == 0 ? RQL_STORE_PACKED : RQL_STORE_AUTO);
	device.profile.read_gbps = bandwidth(device.pool);
	device.profile.handover_ns = 2000;
	bench_check(rql_scan_calibrate(&device, argc <= 5, &profile, &err), &err);
	uint64_t flat_bytes = 0;
	for (uint32_t c = 0; c <= P_BRAND; c++)
		flat_bytes += d.snapshot->columns[c].bytes;
	printf("bandwidth %.1f GB/s; store built in %.0f ms\n", device.profile.read_gbps, d.build_ms);
	printf("flat columns %.1f MB, %.2f bytes a row; as int32 %.1f MB: %.2f of it\n", (double)flat_bytes / 1e6,
	       (double)flat_bytes / (double)d.rows, (double)d.rows * 60 / 1e6, (double)flat_bytes / ((double)d.rows * 60));
	printf(
		"profile: test %.3f value %.3f gather %.3f touch %.1f probe %.3f row %.3f group %.2f step %.3f block %.1f ns\n",
		profile.test_ns, profile.value_ns, profile.gather_ns, profile.touch_ns, profile.probe_ns, profile.row_ns,
		profile.group_ns, profile.step_ns, profile.block_ns);
	if (argc > 5) {
		bench_run_device(&d, &device, argv[5], runs, argc > 6 ? atof(argv[6]) : 4580);
	} else {
		report("flat", &d, &device, &profile, runs, scale == 1);
		report("star", &d, &device, &profile, runs, false);
	}
	rql_store_snapshot_release(d.snapshot);
	rql_store_release(d.store);
	rql_pool_free(device.pool);
	for (uint32_t c = 0; c < COLUMNS; c++)
		free(d.plain[c]);
	free(d.customer);
	free(d.supplier);
	free(d.part);
	return 0;
}

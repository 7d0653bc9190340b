/* What `rayql bench ssb` measured, as tables for people. */
#include "bench/ssb/report.h"

#include <string.h>

#include "util/budget.h"

/* Three significant digits, in at most 7 characters. */
static const char *digits(char out[16], double value)
{
	int places = value >= 100 ? 0 : value >= 10 ? 1 : value >= 1 ? 2 : value >= 0.1 ? 3 : 4;
	snprintf(out, 16, "%.*f", places, value);
	return out;
}

static const char *percent(char out[16], double value)
{
	if (value > 0 && value < 0.001)
		snprintf(out, 16, "%.1e", value);
	else
		digits(out, value);
	return out;
}

static const char *check_mark(const struct rql_query_result *r)
{
	return r->error ? "failed" : r->same ? "same" : "DIFFERS";
}

void rql_report_machine(FILE *out, const struct rql_machine *m)
{
	char memory[32];
	fprintf(out, "%s, %u CPUs, %s, %s\nRayQL %s, DuckDB %s, %u threads each; reading memory: %.1f GB/s\n", m->cpu,
	        m->cpus, rql_format_bytes(memory, m->memory), m->kernel, rayql_version(), rayql_host_version(), m->threads,
	        m->read_gbps);
	if (m->load > 0.5)
		fprintf(out, "The machine is not idle (load %.1f): the times below are disturbed.\n", m->load);
}

/* ---- the benchmark's tables ---- */

static void print_queries(FILE *out, const struct rql_bench_run *run)
{
	char a[7][16];
	fprintf(out, "%-5s %8s %-6s %-12s %9s %9s %6s %9s %9s %8s %8s %9s %8s  %s\n", "query", "sel. %", "method", "cube",
	        "covered", "read", "rows", "first ms", "warm ms", "plan us", "run us", "DuckDB ms", "ratio", "answer");
	for (unsigned i = 0; i < RQL_SSB_QUERIES; i++) {
		const struct rql_query_result *r = &run->queries[i];
		char method[48];
		snprintf(method, sizeof method, "%s", *r->method ? r->method : "-");
		fprintf(out, "%-5s %8s %-6s %-12s %9llu %9llu %6llu %9s %9s %8s %8s %9s %8s  %s\n", r->query->name,
		        percent(a[0], r->selectivity), method, *r->structure ? r->structure : "-",
		        (unsigned long long)r->cells_covered, (unsigned long long)r->cells_read, (unsigned long long)r->rows,
		        digits(a[1], r->first_ms), digits(a[2], r->warm_ms), digits(a[3], r->plan_us),
		        digits(a[4], r->method_us), digits(a[5], r->host_ms),
		        digits(a[6], r->warm_ms > 0 ? r->host_ms / r->warm_ms : 0), check_mark(r));
	}
}

static void print_cubes(FILE *out, const struct rql_bench_run *run)
{
	char a[5][16], size[32];
	fprintf(out, "%-13s %12s %12s %12s %9s %11s %14s %8s\n", "cube", "rows", "cells", "bytes", "bytes/row", "build ms",
	        "GROUP BY ms", "times");
	for (unsigned i = 0; i < RQL_SSB_FLIGHTS; i++) {
		const struct rql_cube_result *c = &run->cubes[i];
		fprintf(out, "%-13s %12.0f %12.0f %12s %9s %11s %14s %8s\n", c->name, c->rows, c->cells,
		        rql_format_bytes(size, (uint64_t)c->bytes), digits(a[0], c->rows > 0 ? c->bytes / c->rows : 0),
		        digits(a[1], c->build_ms), digits(a[2], c->group_by_ms),
		        digits(a[3], c->group_by_ms > 0 ? c->build_ms / c->group_by_ms : 0));
	}
}

/* The queries whose run is long enough for memory to matter. */
static void print_floor(FILE *out, const struct rql_bench_run *run)
{
	char a[3][16];
	for (unsigned i = 0; i < RQL_SSB_QUERIES; i++) {
		const struct rql_query_result *r = &run->queries[i];
		if ((strcmp(r->query->name, "q3.1") && strcmp(r->query->name, "q4.1")) || r->error || r->floor_ms <= 0)
			continue;
		fprintf(out, "%s: reading all qualifying cells takes %s ms at this bandwidth; warm %s ms is %s times that\n",
		        r->query->name, digits(a[0], r->floor_ms), digits(a[1], r->warm_ms),
		        digits(a[2], r->warm_ms / r->floor_ms));
	}
}

void rql_report_run(FILE *out, const struct rql_bench_run *run, const struct rql_machine *machine)
{
	struct rql_bench_summary s;
	char a[8][16];
	(void)machine;
	rql_bench_summarise(run, &s);
	fprintf(out, "\nSSB %s, scale %g, rollup = %s: %llu rows in %s", run->form->name, run->scale,
	        rql_bench_rollup_names[run->rollup], (unsigned long long)run->rows, run->form->fact);
	if (run->reused)
		fprintf(out, " (data reused)\n\n");
	else
		fprintf(out, " (made in %s s)\n\n", digits(a[0], run->generate_s));
	print_queries(out, run);
	fputc('\n', out);
	print_cubes(out, run);
	fprintf(out,
	        "\ngeometric means of %u: RayQL %s ms warm, %s ms first; DuckDB %s ms; RayQL is %s times faster; %u of %u "
	        "answers are the same\n",
	        s.timed, digits(a[0], s.warm_ms), digits(a[1], s.first_ms), digits(a[2], s.host_ms), digits(a[3], s.ratio),
	        s.same, RQL_SSB_QUERIES);
	fprintf(out, "cubes: built in %s ms, %s times DuckDB's GROUP BY\n", digits(a[0], s.build_ms),
	        digits(a[1], s.group_by_ms > 0 ? s.build_ms / s.group_by_ms : 0));
	fprintf(out,
	        "cached statement, text to start of the method: %s us; first run above DuckDB's EXPLAIN of the same text: ",
	        digits(a[0], s.plan_us));
	fprintf(out, "%s%s us\n", s.first_over_us < 0 ? "-" : "",
	        digits(a[1], s.first_over_us < 0 ? -s.first_over_us : s.first_over_us));
	print_floor(out, run);
	fflush(out);
}

/* ---- the demo's table ---- */

void rql_report_demo_run(FILE *out, const struct rql_bench_run *run)
{
	struct rql_bench_summary s;
	char a[8][16], size[32];
	rql_bench_summarise(run, &s);
	fprintf(out, "\nFour cubes, one per query flight, WITH (rollup = %s): %s\n", rql_bench_rollup_names[run->rollup],
	        run->rollup == RQL_BENCH_OFF  ? "every row is a cell"
	        : run->rollup == RQL_BENCH_ON ? "rows with equal dimensions are one cell"
	                                      : "whichever of the two fits");
	for (unsigned i = 0; i < RQL_SSB_FLIGHTS; i++) {
		const struct rql_cube_result *c = &run->cubes[i];
		fprintf(out, "  %-12s %10.0f cells  %10s  built in %5.2f s (DuckDB groups the same in %.2f s)\n", c->name,
		        c->cells, rql_format_bytes(size, (uint64_t)c->bytes), c->build_ms / 1e3, c->group_by_ms / 1e3);
	}
	fprintf(out, "\n%-6s %8s %-9s %10s %12s %12s %11s %11s %9s  %s\n", "query", "sel. %", "method", "cells read",
	        "build share", "RayQL first", "RayQL warm", "DuckDB", "ratio", "answer");
	for (unsigned i = 0; i < RQL_SSB_QUERIES; i++) {
		const struct rql_query_result *r = &run->queries[i];
		char method[64];
		unsigned in_flight = 0;
		for (unsigned k = 0; k < RQL_SSB_QUERIES; k++)
			in_flight += run->queries[k].query->flight == r->query->flight;
		snprintf(method, sizeof method, "%s%s%s", r->method, *r->unit ? "/" : "", r->unit);
		fprintf(out, "%-6s %8s %-9s %10llu %9s ms %9s ms %8s ms %8s ms %8sx  %s\n", r->query->name,
		        percent(a[0], r->selectivity), method, (unsigned long long)r->cells_read,
		        digits(a[1], run->cubes[r->query->flight - 1].build_ms / in_flight), digits(a[2], r->first_ms),
		        digits(a[3], r->warm_ms), digits(a[4], r->host_ms),
		        digits(a[5], r->warm_ms > 0 ? r->host_ms / r->warm_ms : 0), check_mark(r));
	}
	fprintf(out, "Geometric means: RayQL %s ms, DuckDB %s ms: %s times faster.\n", digits(a[0], s.warm_ms),
	        digits(a[1], s.host_ms), digits(a[2], s.ratio));
	fprintf(out, "%u of %u answers equal DuckDB's, row for row.\n", s.same, RQL_SSB_QUERIES);
	fflush(out);
}

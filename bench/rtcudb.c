#include "rtcudb.h"

#include <string.h>

#include "stats.h"

struct figure {
	int number;
	const char *title;
	const char *layouts[2]; /* measured: the paper's layout, and what it is compared with (NULL: the plain scan) */
	bool grouped;           /* only queries with GROUP BY */
};
static const struct figure figures[] = {
	{11, "6.2: query time, RTCUDB's form beside the plain scan", {"paper", NULL}, false},
	{13, "6.4: bytes moved and throughput, RTCUDB's form beside the plain scan", {"paper", NULL}, false},
	{14, "6.5: one ray-tracing job for the whole query beside one per operator", {"paper", "paper:operators"}, false},
	{15, "6.6: encoding beside splitting on Scan", {"paper", "paper:split-scan"}, false},
	{16, "6.6: encoding beside splitting on GroupBy", {"paper", "paper:split-group"}, true},
};

static const struct figure *find(int number)
{
	for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
		if (figures[i].number == number)
			return &figures[i];
	return NULL;
}

bool rql_rtcudb_prepare(int number, struct rql_flat_options *o)
{
	const struct figure *f = find(number);
	if (!f)
		return false;
	o->rollup_count = 1;
	o->rollups[0] = RQL_BENCH_OFF; /* every row is a primitive, as in the paper */
	o->unit_count = 0;
	for (uint32_t i = 0; i < 2 && f->layouts[i]; i++) {
		struct rql_flat_unit *unit = &o->units[o->unit_count++];
		snprintf(unit->name, sizeof unit->name, "rt:%s", f->layouts[i]);
		snprintf(unit->unit, sizeof unit->unit, "rt");
		snprintf(unit->layout, sizeof unit->layout, "%s", f->layouts[i]);
	}
	o->rivals = f->layouts[1] == NULL;
	if (f->grouped)
		o->query_mask &= ~7u; /* q1.1 to q1.3 */
	return true;
}

static void report_throughput(FILE *out, const struct rql_flat_run *run, const struct rql_flat_device *device)
{
	fprintf(out, "%-6s %14s %10s %14s %10s %10s\n", "query", "plain bytes", "of memory", "rtcudb bytes", "of memory",
	        "of plain");
	for (uint32_t i = 0; i < RQL_SSB_QUERIES; i++) {
		const struct rql_flat_query *q = &run->groups[0].queries[i];
		const struct rql_rival_answer *plain = &run->rivals[RQL_RIVAL_PLAIN][i];
		if (q->error || q->device_us <= 0 || plain->median_ns <= 0)
			continue;
		double ours = (double)q->bytes_read, theirs = (double)plain->bytes;
		fprintf(out, "%-6s %14.0f %9.1f%% %14.0f %9.1f%% %9.1f%%\n", rql_ssb_flat.queries[i].name, theirs,
		        100 * theirs / plain->median_ns / device->read_gbps, ours,
		        100 * ours / (q->device_us * 1e3) / device->read_gbps, 100 * ours / theirs);
	}
	fprintf(out, "RTCUDB's bytes are those that its shaders read and write (rows hit, flag bits, results); what the\n"
	             "traversal reads of the acceleration structure is only seen by a vendor's profiler.\n");
}

static void report_times(FILE *out, const struct figure *f, const struct rql_flat_run *run)
{
	double ratios[RQL_SSB_QUERIES];
	uint32_t count = 0;
	const char *other = f->layouts[1] ? f->layouts[1] : "plain scan";
	fprintf(out, "%-6s %14s %20s %10s %12s %12s\n", "query", "paper us", other, "ratio", "rays", "any-hit calls");
	for (uint32_t i = 0; i < RQL_SSB_QUERIES; i++) {
		const struct rql_flat_query *q = &run->groups[0].queries[i];
		const struct rql_flat_query *second = run->group_count > 1 ? &run->groups[1].queries[i] : NULL;
		double us = second ? second->device_us : run->rivals[RQL_RIVAL_PLAIN][i].median_ns / 1e3;
		if (q->error || q->device_us <= 0 || us <= 0 || (second && second->error))
			continue;
		ratios[count++] = us / q->device_us;
		fprintf(out, "%-6s %14.1f %20.1f %10.2f %12llu %12llu\n", rql_ssb_flat.queries[i].name, q->device_us, us,
		        us / q->device_us, (unsigned long long)q->rays, (unsigned long long)q->hits);
	}
	fprintf(out, "geometric mean of the ratios: %.2f over %u queries\n", rql_geometric_mean(ratios, count), count);
}

void rql_rtcudb_report(FILE *out, int number, const struct rql_flat_run *run, const struct rql_flat_device *device)
{
	const struct figure *f = find(number);
	fprintf(out, "\nRTCUDB figure %d, section %s. Scale %g, %llu rows, %s.\n", number, f->title, run->scale,
	        (unsigned long long)run->rows, device->name);
	if (number == 13)
		report_throughput(out, run, device);
	else
		report_times(out, f, run);
	fflush(out);
}

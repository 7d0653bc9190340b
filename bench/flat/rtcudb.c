/* The paper's figures: which measurements each needs, what they say together, as tables and as JSON. */
#include "bench/flat/rtcudb.h"

#include <stdlib.h>
#include <string.h>

#include "bench/common/json.h"
#include "bench/common/stats.h"

/* Every figure sets the paper's own form beside something else: another layout, or (NULL) the plain scan. */
#define WHOLE "paper"
struct figure {
	uint32_t number;
	const char *title, *other;
	uint32_t first_query; /* 16: only queries with GROUP BY */
	const char *paper;    /* what the paper found */
};
static const struct figure figures[] = {
	{11, "6.2, query time beside a column scan after Crystal", NULL, 0,
     "RTX 4090, SF 20: 8.5 times as fast as Crystal on average, at most 18.3, slower on q1.1; 0.75 ms a query (section "
     "2.4). On a GPU without ray-tracing cores (figure 12: TITAN X, SF 1): 423 times slower than Crystal on average"},
	{13, "6.4, memory throughput beside a column scan after Crystal", NULL, 0,
     "RTX 4090, SF 20: RTCUDB 7.7 to 73.5 % of the bandwidth, 36.7 % on average; Crystal 97.4 %"},
	{14, "6.5, one ray-tracing job for the whole query beside one for Scan and one for the rest", "paper:operators", 0,
     "RTX 4090, SF 16, RTScan for Scan: the whole query 13.3 to 555.1 times as fast, 194.9 on average"},
	{15, "6.6, encoding beside splitting on Scan", "paper:split-scan", 0,
     "RTX 4090, SF 20: encoding 3.3 to 176.9 times as fast, 31.1 on average"},
	{16, "6.6, encoding beside splitting on GroupBy, flights 2 to 4", "paper:split-group", 3,
     "RTX 4090, SF 20: encoding 74.6 % faster on average"},
};
#define FIGURES (sizeof figures / sizeof *figures)

/* ---- what is measured ---- */

static uint32_t parse_figures(const char *text)
{
	uint32_t mask = 0, all = 0;
	for (size_t i = 0; i < FIGURES; i++)
		all |= 1u << figures[i].number;
	if (!strcmp(text, "all"))
		return all;
	char *copy = strdup(text), *rest = copy;
	for (char *item; copy && (item = strsep(&rest, ","));) {
		char *end;
		unsigned long number = strtoul(item, &end, 10);
		if (*end || number > 16 || !(all >> number & 1)) {
			mask = 0;
			break;
		}
		mask |= 1u << number;
	}
	free(copy);
	return mask;
}

static void add_unit(struct rql_flat_options *o, const char *layout)
{
	struct rql_flat_unit *unit = &o->units[o->unit_count++];
	snprintf(unit->name, sizeof unit->name, "rt:%s", layout);
	snprintf(unit->unit, sizeof unit->unit, "rt");
	snprintf(unit->layout, sizeof unit->layout, "%s", layout);
}

bool rql_rtcudb_prepare(const char *text, struct rql_flat_options *o)
{
	o->figures = text ? parse_figures(text) : 0;
	if (!o->figures)
		return false;
	o->rollup_count = 1;
	o->rollups[0] = RQL_BENCH_OFF; /* every row is a primitive, as in the paper */
	o->unit_count = 0;
	add_unit(o, WHOLE);
	bool scans = false;
	uint32_t first_query = RQL_SSB_QUERIES;
	for (size_t i = 0; i < FIGURES; i++) {
		if (!(o->figures >> figures[i].number & 1))
			continue;
		if (figures[i].other)
			add_unit(o, figures[i].other);
		scans |= !figures[i].other;
		if (figures[i].first_query < first_query)
			first_query = figures[i].first_query;
	}
	o->rivals &= scans;
	o->query_mask &= ~0u << first_query;
	return true;
}

/* ---- one query of a figure ---- */

struct row {
	const struct rql_flat_query *whole; /* NULL: one side has no time */
	double us, other_us, ratio;         /* ratio: how many times as fast the paper's form is */
	double bytes, other_bytes;          /* figure 13 */
};

static const struct rql_flat_group *find_group(const struct rql_flat_run *run, const char *layout)
{
	for (uint32_t g = 0; g < run->group_count; g++)
		if (!strcmp(run->groups[g].unit->layout, layout))
			return &run->groups[g];
	return NULL;
}

static struct row row_of(const struct figure *f, const struct rql_flat_run *run, uint32_t i)
{
	struct row row = {0};
	const struct rql_flat_group *whole = find_group(run, WHOLE), *other = f->other ? find_group(run, f->other) : NULL;
	if (!whole || (f->other && !other))
		return row;
	const struct rql_flat_query *q = &whole->queries[i], *second = other ? &other->queries[i] : NULL;
	const struct rql_rival_answer *plain = &run->rivals[RQL_RIVAL_PLAIN][i];
	row.us = q->error ? 0 : q->device_us;
	row.other_us = !second ? plain->median_ns / 1e3 : second->error ? 0 : second->device_us;
	if (row.us <= 0 || row.other_us <= 0)
		return row;
	row.whole = q;
	row.ratio = row.other_us / row.us;
	row.bytes = (double)q->bytes_read;
	row.other_bytes = second ? (double)second->bytes_read : (double)plain->bytes;
	return row;
}

/* The paper averages its ratios arithmetically; the geometric mean is what may be compared. */
struct summary {
	double least, greatest, arithmetic, geometric, us;
	uint32_t count;
};

static void summarise(const struct figure *f, const struct rql_flat_run *run, struct summary *out)
{
	double ratios[RQL_SSB_QUERIES] = {0};
	struct summary s = {0};
	for (uint32_t i = f->first_query; i < RQL_SSB_QUERIES; i++) {
		struct row row = row_of(f, run, i);
		if (!row.whole)
			continue;
		ratios[s.count] = row.ratio;
		s.least = s.count && s.least < row.ratio ? s.least : row.ratio;
		s.greatest = s.greatest > row.ratio ? s.greatest : row.ratio;
		s.arithmetic += row.ratio;
		s.us += row.us;
		s.count++;
	}
	s.geometric = rql_geometric_mean(ratios, s.count);
	s.arithmetic /= s.count ? s.count : 1;
	s.us /= s.count ? s.count : 1;
	*out = s;
}

static double share_of_bandwidth(const struct rql_flat_device *device, double bytes, double us)
{
	return device->read_gbps > 0 && us > 0 ? bytes / (us * 1e3) / device->read_gbps : 0;
}

/* ---- the report ---- */

static void report_throughput(FILE *out, const struct figure *f, const struct rql_flat_run *run,
                              const struct rql_flat_device *device)
{
	fprintf(out, "%-6s %14s %10s %14s %10s %10s\n", "query", "plain bytes", "bandwidth", "rtcudb bytes", "bandwidth",
	        "of plain");
	for (uint32_t i = f->first_query; i < RQL_SSB_QUERIES; i++) {
		struct row row = row_of(f, run, i);
		if (row.whole)
			fprintf(out, "%-6s %14.0f %9.1f%% %14.0f %9.1f%% %9.2f%%\n", rql_ssb_flat.queries[i].name, row.other_bytes,
			        100 * share_of_bandwidth(device, row.other_bytes, row.other_us), row.bytes,
			        100 * share_of_bandwidth(device, row.bytes, row.us), 100 * row.bytes / row.other_bytes);
	}
	fprintf(out, "RTCUDB's bytes are those that its shaders read and write (rows hit, flag bits, results). What the\n"
	             "traversal reads of the acceleration structure only a vendor's profiler sees; the paper's figure has it.\n");
}

static void report_times(FILE *out, const struct figure *f, const struct rql_flat_run *run)
{
	struct summary s;
	summarise(f, run, &s);
	fprintf(out, "%-6s %14s %20s %10s %12s %14s\n", "query", "paper's form us", f->other ? f->other : "plain scan us",
	        "times", "rays", "any-hit calls");
	for (uint32_t i = f->first_query; i < RQL_SSB_QUERIES; i++) {
		struct row row = row_of(f, run, i);
		if (row.whole)
			fprintf(out, "%-6s %14.1f %20.1f %10.3g %12llu %14llu\n", rql_ssb_flat.queries[i].name, row.us, row.other_us,
			        row.ratio, (unsigned long long)row.whole->rays, (unsigned long long)row.whole->hits);
	}
	fprintf(out,
	        "The paper's form takes %.2f ms a query on average here and is %.3g times as fast over %u queries (geometric "
	        "mean; arithmetic %.3g, %.3g to %.3g).\n",
	        s.us / 1e3, s.geometric, s.count, s.arithmetic, s.least, s.greatest);
}

void rql_rtcudb_report(FILE *out, const struct rql_flat_options *o, const struct rql_flat_run *run,
                       const struct rql_flat_device *device)
{
	for (size_t i = 0; i < FIGURES; i++) {
		const struct figure *f = &figures[i];
		if (!(o->figures >> f->number & 1))
			continue;
		fprintf(out, "\nRTCUDB figure %u, section %s. Scale %g, %llu rows, %s.\n", f->number, f->title, run->scale,
		        (unsigned long long)run->rows, device->name);
		if (f->number == 13)
			report_throughput(out, f, run, device);
		else
			report_times(out, f, run);
		fprintf(out, "The paper: %s.\n", f->paper);
	}
	fflush(out);
}

/* ---- JSON ---- */

static void put_row(struct rql_strbuf *out, const struct figure *f, const char *name, const struct row *row,
                    const struct rql_flat_device *device)
{
	rql_strbuf_put(out, "{");
	rql_json_string(out, "name", name);
	rql_json_number(out, "paper_form_us", row->us);
	rql_json_number(out, "other_us", row->other_us);
	rql_json_number(out, "times_as_fast", row->ratio);
	rql_json_count(out, "rays", row->whole->rays);
	rql_json_count(out, "any_hit_calls", row->whole->hits);
	if (f->number == 13) {
		rql_json_number(out, "paper_form_bytes", row->bytes);
		rql_json_number(out, "other_bytes", row->other_bytes);
		rql_json_number(out, "paper_form_of_bandwidth", share_of_bandwidth(device, row->bytes, row->us));
		rql_json_number(out, "other_of_bandwidth", share_of_bandwidth(device, row->other_bytes, row->other_us));
	}
	rql_strbuf_put(out, "}");
}

static void put_figure(struct rql_strbuf *out, const struct figure *f, const struct rql_flat_run *run,
                       const struct rql_flat_device *device)
{
	struct summary s;
	summarise(f, run, &s);
	rql_strbuf_put(out, "{");
	rql_json_count(out, "figure", f->number);
	rql_json_string(out, "title", f->title);
	rql_json_string(out, "beside", f->other ? f->other : rql_rival_names[RQL_RIVAL_PLAIN]);
	rql_json_string(out, "paper_found", f->paper);
	rql_json_number(out, "mean_us", s.us);
	rql_json_number(out, "times_as_fast_geometric", s.geometric);
	rql_json_number(out, "times_as_fast_arithmetic", s.arithmetic);
	rql_json_key(out, "queries");
	rql_strbuf_put(out, "[");
	bool first = true;
	for (uint32_t i = f->first_query; i < RQL_SSB_QUERIES; i++) {
		struct row row = row_of(f, run, i);
		if (!row.whole)
			continue;
		rql_strbuf_put(out, first ? "\n    " : ",\n    ");
		put_row(out, f, rql_ssb_flat.queries[i].name, &row, device);
		first = false;
	}
	rql_strbuf_put(out, "]}");
}

void rql_rtcudb_json(struct rql_strbuf *out, const struct rql_flat_options *o, const struct rql_flat_run *run,
                     const struct rql_flat_device *device)
{
	bool first = true;
	rql_strbuf_put(out, "[");
	for (size_t i = 0; i < FIGURES; i++) {
		if (!(o->figures >> figures[i].number & 1))
			continue;
		rql_strbuf_put(out, first ? "\n   " : ",\n   ");
		put_figure(out, &figures[i], run, device);
		first = false;
	}
	rql_strbuf_put(out, "]");
}

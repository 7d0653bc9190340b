/* What ssb-flat measured, as a table for people and as JSON for programs. */
#include <stdlib.h>
#include <string.h>

#include "bench/common/json.h"
#include "bench/common/stats.h"
#include "bench/flat/flat.h"
#include "bench/flat/predict.h"
#include "bench/flat/rtcudb.h"
#include "bench/ssb/report.h"

/* ---- the table ---- */

static void report_head(FILE *out, const struct rql_flat_run *run)
{
	fprintf(out, "\nscale %g, %llu rows. Device time in us (medians); SQL to rows in brackets.\n", run->scale,
	        (unsigned long long)run->rows);
	fprintf(out, "%-6s %12s %12s %12s", "query", "duckdb ms", "plain", "dictionary");
	for (uint32_t g = 0; g < run->group_count; g++) {
		char title[80];
		snprintf(title, sizeof title, "%s %s", run->groups[g].unit->name,
		         run->groups[g].rollup == RQL_BENCH_ON ? "rolled up" : "rows");
		fprintf(out, "  %22s", title);
	}
	fputc('\n', out);
}

static void report_query(FILE *out, const struct rql_flat_run *run, uint32_t i)
{
	fprintf(out, "%-6s %12.2f", rql_ssb_flat.queries[i].name, run->host_ms[i]);
	for (uint32_t f = 0; f < RQL_RIVAL_FORMS; f++) {
		char cell[32];
		bool wrong = run->rivals[f][i].median_ns > 0 && run->host_ms[i] > 0 && !run->rival_same[f][i];
		snprintf(cell, sizeof cell, "%.1f%s", run->rivals[f][i].median_ns / 1e3, wrong ? " WRONG" : "");
		fprintf(out, " %12s", cell);
	}
	for (uint32_t g = 0; g < run->group_count; g++) {
		const struct rql_flat_query *q = &run->groups[g].queries[i];
		char cell[64];
		if (q->error)
			snprintf(cell, sizeof cell, "no answer");
		else if (!q->method[0])
			snprintf(cell, sizeof cell, "-"); /* not asked for */
		else
			snprintf(cell, sizeof cell, "%.1f (%.1f)%s", q->device_us, q->warm_us, q->same ? "" : " WRONG");
		fprintf(out, "  %22s", cell);
	}
	fputc('\n', out);
}

static double rival_mean(const struct rql_flat_run *run, uint32_t form)
{
	double values[RQL_SSB_QUERIES];
	uint32_t count = 0;
	for (uint32_t i = 0; i < RQL_SSB_QUERIES; i++)
		if (run->rivals[form][i].median_ns > 0)
			values[count++] = run->rivals[form][i].median_ns / 1e3;
	return rql_geometric_mean(values, count);
}

static void report_group(FILE *out, const struct rql_flat_group *group, double rows)
{
	double cube = 0, device = 0, build = 0, place = 0;
	struct rql_flat_means m;
	rql_flat_means(group, &m);
	for (uint32_t f = 0; f < RQL_SSB_FLIGHTS; f++) {
		cube += group->cube_bytes[f];
		device += group->device_bytes[f];
		build += group->build_ms[f];
		place += group->place_ms[f];
	}
	fprintf(out,
	        "%-24s rollup %-4s %2u of %u answers equal; mean %.1f us on the device, %.1f us SQL to rows, floor %.1f us (%.2fx); "
	        "views %.2f, device %.2f bytes a row and view; built in %.0f ms, put on "
	        "the device in %.1f ms\n",
	        group->unit->name, rql_bench_rollup_names[group->rollup], m.same, m.asked, m.device_us, m.warm_us,
	        m.floor_us, m.over_floor, cube / rows / RQL_SSB_FLIGHTS, device / rows / RQL_SSB_FLIGHTS, build, place);
}

/* Each reason once, with the queries that it keeps from being answered. */
static void report_failures(FILE *out, const struct rql_flat_group *group)
{
	for (uint32_t i = 0; i < RQL_SSB_QUERIES; i++) {
		const char *reason = group->queries[i].error;
		bool said = false;
		for (uint32_t k = 0; k < i && reason; k++)
			said |= group->queries[k].error && !strcmp(group->queries[k].error, reason);
		if (!reason || said)
			continue;
		fprintf(out, "%-24s rollup %-4s without answer:", group->unit->name, rql_bench_rollup_names[group->rollup]);
		for (uint32_t k = i; k < RQL_SSB_QUERIES; k++)
			if (group->queries[k].error && !strcmp(group->queries[k].error, reason))
				fprintf(out, " %s", rql_ssb_flat.queries[k].name);
		fprintf(out, ": %s\n", reason);
	}
}

void rql_flat_report(FILE *out, const struct rql_flat_run *run)
{
	report_head(out, run);
	for (uint32_t i = 0; i < RQL_SSB_QUERIES; i++)
		report_query(out, run, i);
	fprintf(out, "geometric means: plain %.1f us, dictionary %.1f us\n", rival_mean(run, RQL_RIVAL_PLAIN),
	        rival_mean(run, RQL_RIVAL_DICTIONARY));
	for (uint32_t g = 0; g < run->group_count; g++)
		report_group(out, &run->groups[g], run->rows ? (double)run->rows : 1);
	for (uint32_t g = 0; g < run->group_count; g++)
		report_failures(out, &run->groups[g]);
	rql_predict_report(out, run);
	fflush(out);
}

/* ---- JSON ---- */

static void put_query(struct rql_strbuf *out, uint32_t i, const struct rql_flat_query *q)
{
	rql_strbuf_put(out, "{");
	rql_json_string(out, "name", rql_ssb_flat.queries[i].name);
	rql_json_bool(out, "same", q->same);
	rql_json_string(out, "error", q->error);
	rql_json_string(out, "method", q->method);
	rql_json_string(out, "unit", q->unit);
	rql_json_string(out, "structure", q->structure);
	rql_json_count(out, "rows", q->rows);
	rql_json_count(out, "intervals", q->intervals);
	rql_json_count(out, "rays", q->rays);
	rql_json_count(out, "hits", q->hits);
	rql_json_count(out, "cells_covered", q->cells_covered);
	rql_json_count(out, "cells_read", q->cells_read);
	rql_json_count(out, "bytes_read", q->bytes_read);
	rql_json_number(out, "device_us", q->device_us);
	rql_json_number(out, "device_least_us", q->device_least_us);
	rql_json_number(out, "warm_us", q->warm_us);
	rql_json_number(out, "warm_least_us", q->warm_least_us);
	rql_json_number(out, "first_ms", q->first_ms);
	rql_json_number(out, "estimated_us", q->estimated_us);
	rql_json_number(out, "floor_us", q->floor_us);
	rql_predict_json_query(out, q);
	rql_strbuf_put(out, "}");
}

static void put_view(struct rql_strbuf *out, const struct rql_flat_group *group, uint32_t f)
{
	rql_strbuf_put(out, "{");
	rql_json_string(out, "name", rql_ssb_flat.flights[f].name);
	rql_json_number(out, "cells", group->cells[f]);
	rql_json_number(out, "bytes", group->cube_bytes[f]);
	rql_json_number(out, "device_bytes", group->device_bytes[f]);
	rql_json_number(out, "build_ms", group->build_ms[f]);
	rql_json_number(out, "place_ms", group->place_ms[f]);
	rql_strbuf_put(out, "}");
}

static void put_group(struct rql_strbuf *out, const struct rql_flat_group *group)
{
	struct rql_flat_means m;
	rql_flat_means(group, &m);
	rql_strbuf_put(out, "{");
	rql_json_string(out, "unit", group->unit->name);
	rql_json_string(out, "rollup", rql_bench_rollup_names[group->rollup]);
	rql_json_count(out, "answers_asked", m.asked);
	rql_json_count(out, "answers_same", m.same);
	rql_json_number(out, "mean_device_us", m.device_us);
	rql_json_number(out, "mean_warm_us", m.warm_us);
	rql_json_number(out, "mean_floor_us", m.floor_us);
	rql_json_number(out, "mean_over_floor", m.over_floor);
	rql_predict_json_group(out, group);
	rql_json_key(out, "views");
	rql_strbuf_put(out, "[");
	for (uint32_t f = 0; f < RQL_SSB_FLIGHTS; f++) {
		rql_strbuf_put(out, f ? ",\n    " : "\n    ");
		put_view(out, group, f);
	}
	rql_strbuf_put(out, "]");
	rql_json_key(out, "placements");
	rql_strbuf_put(out, group->placements ? group->placements : "{}");
	rql_json_key(out, "queries");
	rql_strbuf_put(out, "[");
	bool first = true;
	for (uint32_t i = 0; i < RQL_SSB_QUERIES; i++) {
		if (!group->queries[i].method[0] && !group->queries[i].error)
			continue;
		rql_strbuf_put(out, first ? "\n    " : ",\n    ");
		put_query(out, i, &group->queries[i]);
		first = false;
	}
	rql_strbuf_put(out, "]}");
}

static void put_rivals(struct rql_strbuf *out, const struct rql_flat_run *run, uint32_t form)
{
	rql_json_key(out, rql_rival_names[form]);
	rql_strbuf_put(out, "[");
	bool first = true;
	for (uint32_t i = 0; i < RQL_SSB_QUERIES; i++) {
		const struct rql_rival_answer *a = &run->rivals[form][i];
		if (a->median_ns <= 0)
			continue;
		rql_strbuf_put(out, first ? "\n    {" : ",\n    {");
		rql_json_string(out, "name", rql_ssb_flat.queries[i].name);
		rql_json_bool(out, "same", run->rival_same[form][i]);
		rql_json_number(out, "device_us", a->median_ns / 1e3);
		rql_json_number(out, "device_least_us", a->least_ns / 1e3);
		rql_json_count(out, "bytes", a->bytes);
		rql_json_count(out, "kernels_tried", a->variants);
		rql_json_count(out, "eager_columns", a->eager);
		rql_json_count(out, "workgroups", a->workgroups);
		rql_json_string(out, "groups_in", a->place);
		rql_strbuf_put(out, "}");
		first = false;
	}
	rql_strbuf_put(out, "]");
}

static void put_run(struct rql_strbuf *out, const struct rql_flat_options *options, const struct rql_flat_run *run,
                    const struct rql_flat_device *device)
{
	rql_strbuf_put(out, "{");
	rql_json_number(out, "scale", run->scale);
	rql_json_count(out, "rows", run->rows);
	rql_json_bool(out, "data_reused", run->reused);
	rql_json_number(out, "generate_s", run->generate_s);
	rql_json_number(out, "rival_generate_s", run->rival_generate_s);
	rql_json_key(out, "duckdb_ms");
	rql_strbuf_put(out, "{");
	for (uint32_t i = 0; i < RQL_SSB_QUERIES; i++)
		rql_json_number(out, rql_ssb_flat.queries[i].name, run->host_ms[i]);
	rql_strbuf_put(out, "}");
	rql_json_key(out, "rivals");
	rql_strbuf_put(out, "{");
	for (uint32_t f = 0; f < RQL_RIVAL_FORMS; f++)
		put_rivals(out, run, f);
	rql_strbuf_put(out, "}");
	rql_json_key(out, "units");
	rql_strbuf_put(out, "[");
	for (uint32_t g = 0; g < run->group_count; g++) {
		rql_strbuf_put(out, g ? ",\n   " : "\n   ");
		put_group(out, &run->groups[g]);
	}
	rql_strbuf_put(out, "]");
	if (options->figures) {
		rql_json_key(out, "figures");
		rql_rtcudb_json(out, options, run, device);
	}
	rql_strbuf_put(out, "}");
}

rql_status rql_flat_json(const char *path, const struct rql_flat_options *options, const struct rql_machine *machine,
                         const struct rql_flat_device *device, const char *devices, const struct rql_flat_run *runs,
                         uint32_t count, struct rql_error *err)
{
	struct rql_strbuf out = {0};
	rql_strbuf_put(&out, "{");
	rql_json_string(&out, "benchmark", options->figures ? "rtcudb" : "ssb-flat");
	rql_json_string(&out, "date", machine->date);
	rql_json_string(&out, "rayql", rayql_version());
	rql_json_string(&out, "duckdb", rayql_host_version());
	rql_json_count(&out, "threads", machine->threads);
	rql_json_count(&out, "runs", (uint64_t)options->runs);
	rql_json_number(&out, "seed", (double)options->seed);
	rql_json_string(&out, "device", device->id);
	rql_json_string(&out, "device_name", device->name);
	rql_json_string(&out, "driver", device->driver);
	rql_json_number(&out, "launch_us", device->launch_us);
	rql_json_number(&out, "device_read_gbps", device->read_gbps);
	rql_report_put_machine(&out, machine, devices);
	rql_predict_json_cards(&out);
	rql_json_key(&out, "results");
	rql_strbuf_put(&out, "[");
	for (uint32_t i = 0; i < count; i++) {
		rql_strbuf_put(&out, i ? ",\n  " : "\n  ");
		put_run(&out, options, &runs[i], device);
	}
	rql_strbuf_put(&out, "]}\n");
	rql_status status = out.failed ? rql_error_memory(err, out.length, "the report") : rql_json_file(path, &out, err);
	rql_strbuf_free(&out);
	return status;
}

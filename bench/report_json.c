#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

static void key(struct rql_strbuf *out, const char *name)
{
	if (out->length && out->data[out->length - 1] != '{')
		rql_strbuf_put(out, ", ");
	rql_json_text(out, name);
	rql_strbuf_put(out, ": ");
}

static void put_number(struct rql_strbuf *out, const char *name, double value)
{
	key(out, name);
	if (isfinite(value))
		rql_strbuf_printf(out, "%.9g", value);
	else
		rql_strbuf_put(out, "null");
}

static void put_count(struct rql_strbuf *out, const char *name, uint64_t value)
{
	key(out, name);
	rql_strbuf_printf(out, "%llu", (unsigned long long)value);
}

static void put_text(struct rql_strbuf *out, const char *name, const char *value)
{
	key(out, name);
	rql_json_text(out, value);
}

static void put_bool(struct rql_strbuf *out, const char *name, bool value)
{
	key(out, name);
	rql_strbuf_put(out, value ? "true" : "false");
}

static void put_machine(struct rql_strbuf *out, const struct rql_machine *m, const char *devices)
{
	key(out, "machine");
	rql_strbuf_put(out, "{");
	put_text(out, "cpu", m->cpu);
	put_count(out, "cpus", m->cpus);
	put_count(out, "memory_bytes", m->memory);
	put_text(out, "kernel", m->kernel);
	put_number(out, "read_gbps", m->read_gbps);
	put_number(out, "load", m->load);
	key(out, "devices");
	rql_strbuf_put(out, devices && *devices ? devices : "[]");
	rql_strbuf_put(out, "}");
}

static void put_cube(struct rql_strbuf *out, const struct rql_cube_result *c)
{
	rql_strbuf_put(out, "{");
	put_text(out, "name", c->name);
	put_number(out, "rows", c->rows);
	put_number(out, "cells", c->cells);
	put_number(out, "bytes", c->bytes);
	put_number(out, "bytes_per_row", c->rows > 0 ? c->bytes / c->rows : 0);
	put_number(out, "build_ms", c->build_ms);
	put_number(out, "duckdb_group_by_ms", c->group_by_ms);
	rql_strbuf_put(out, "}");
}

static void put_query(struct rql_strbuf *out, const struct rql_query_result *r)
{
	rql_strbuf_put(out, "{");
	put_text(out, "name", r->query->name);
	put_text(out, "sql", r->sql);
	put_bool(out, "same", r->same);
	put_text(out, "error", r->error);
	put_number(out, "selectivity_percent", r->selectivity);
	put_number(out, "published_selectivity_percent", r->query->published);
	put_text(out, "method", r->method);
	put_text(out, "unit", r->unit);
	put_text(out, "structure", r->structure);
	put_text(out, "reason", r->reason);
	put_count(out, "rows", r->rows);
	put_count(out, "cells_covered", r->cells_covered);
	put_count(out, "cells_read", r->cells_read);
	put_count(out, "bytes_read", r->bytes_read);
	put_number(out, "first_ms", r->first_ms);
	put_number(out, "warm_ms", r->warm_ms);
	put_number(out, "warm_least_ms", r->warm_least_ms);
	put_number(out, "plan_us", r->plan_us);
	put_number(out, "method_us", r->method_us);
	put_number(out, "finish_us", r->finish_us);
	put_number(out, "first_plan_us", r->first_plan_us);
	put_number(out, "duckdb_plan_us", r->host_plan_us);
	put_number(out, "duckdb_first_ms", r->host_first_ms);
	put_number(out, "duckdb_ms", r->host_ms);
	put_number(out, "duckdb_least_ms", r->host_least_ms);
	put_number(out, "ratio", r->warm_ms > 0 ? r->host_ms / r->warm_ms : 0);
	put_number(out, "estimated_ms", r->estimated_ms);
	put_number(out, "duckdb_estimated_ms", r->host_estimated_ms);
	put_number(out, "floor_ms", r->floor_ms);
	rql_strbuf_put(out, "}");
}

static void put_summary(struct rql_strbuf *out, const struct rql_bench_run *run)
{
	struct rql_bench_summary s;
	rql_bench_summarise(run, &s);
	key(out, "summary");
	rql_strbuf_put(out, "{");
	put_count(out, "queries_timed", s.timed);
	put_count(out, "answers_same", s.same);
	put_number(out, "warm_ms", s.warm_ms);
	put_number(out, "first_ms", s.first_ms);
	put_number(out, "duckdb_ms", s.host_ms);
	put_number(out, "ratio", s.ratio);
	put_number(out, "cached_statement_us", s.plan_us);
	put_number(out, "first_run_above_explain_us", s.first_over_us);
	put_number(out, "build_ms", s.build_ms);
	put_number(out, "duckdb_group_by_ms", s.group_by_ms);
	put_number(out, "cube_bytes", s.bytes);
	rql_strbuf_put(out, "}");
}

static void put_run(struct rql_strbuf *out, const struct rql_bench_run *run)
{
	rql_strbuf_put(out, "{");
	put_text(out, "form", run->form->name);
	put_number(out, "scale", run->scale);
	put_text(out, "rollup", rql_bench_rollup_names[run->rollup]);
	put_count(out, "rows", run->rows);
	put_bool(out, "data_reused", run->reused);
	put_number(out, "generate_s", run->generate_s);
	put_summary(out, run);
	key(out, "cubes");
	rql_strbuf_put(out, "[");
	for (unsigned i = 0; i < RQL_SSB_FLIGHTS; i++) {
		rql_strbuf_put(out, i ? ",\n    " : "\n    ");
		put_cube(out, &run->cubes[i]);
	}
	rql_strbuf_put(out, "]");
	key(out, "queries");
	rql_strbuf_put(out, "[");
	for (unsigned i = 0; i < RQL_SSB_QUERIES; i++) {
		rql_strbuf_put(out, i ? ",\n    " : "\n    ");
		put_query(out, &run->queries[i]);
	}
	rql_strbuf_put(out, "]}");
}

static rql_status write_file(const char *path, const struct rql_strbuf *text, struct rql_error *err)
{
	FILE *file = fopen(path, "w");
	if (!file)
		return rql_error_set(err, RQL_ERROR_IO, "cannot write \"%s\": %s", path, strerror(errno));
	bool whole = fwrite(text->data, 1, text->length, file) == text->length;
	int saved = errno;
	if (fclose(file)) {
		whole = false;
		saved = errno;
	}
	return whole ? RQL_OK : rql_error_set(err, RQL_ERROR_IO, "cannot write \"%s\": %s", path, strerror(saved));
}

rql_status rql_report_json(const char *path, const struct rql_bench_options *options, const struct rql_machine *machine,
                           const char *devices, const struct rql_bench_run *runs, uint32_t count, struct rql_error *err)
{
	struct rql_strbuf out = {0};
	rql_strbuf_put(&out, "{");
	put_text(&out, "benchmark", "ssb");
	put_text(&out, "date", machine->date);
	put_text(&out, "rayql", rayql_version());
	put_text(&out, "duckdb", rayql_host_version());
	put_count(&out, "threads", machine->threads);
	put_count(&out, "runs", (uint64_t)options->runs);
	key(&out, "seed");
	rql_strbuf_printf(&out, "%lld", (long long)options->seed);
	put_bool(&out, "forced", options->force);
	put_machine(&out, machine, devices);
	key(&out, "results");
	rql_strbuf_put(&out, "[");
	for (uint32_t i = 0; i < count; i++) {
		rql_strbuf_put(&out, i ? ",\n  " : "\n  ");
		put_run(&out, &runs[i]);
	}
	rql_strbuf_put(&out, "]}\n");
	rql_status status = out.failed ? rql_error_memory(err, out.length, "the report") : write_file(path, &out, err);
	rql_strbuf_free(&out);
	return status;
}

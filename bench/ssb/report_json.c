/* What `rayql bench ssb` measured, as JSON for programs. */
#include "bench/common/json.h"
#include "bench/ssb/report.h"

void rql_report_put_machine(struct rql_strbuf *out, const struct rql_machine *m, const char *devices)
{
	rql_json_key(out, "machine");
	rql_strbuf_put(out, "{");
	rql_json_string(out, "cpu", m->cpu);
	rql_json_count(out, "cpus", m->cpus);
	rql_json_count(out, "memory_bytes", m->memory);
	rql_json_string(out, "kernel", m->kernel);
	rql_json_number(out, "read_gbps", m->read_gbps);
	rql_json_number(out, "load", m->load);
	rql_json_key(out, "devices");
	rql_strbuf_put(out, devices && *devices ? devices : "[]");
	rql_strbuf_put(out, "}");
}

static void put_cube(struct rql_strbuf *out, const struct rql_cube_result *c)
{
	rql_strbuf_put(out, "{");
	rql_json_string(out, "name", c->name);
	rql_json_number(out, "rows", c->rows);
	rql_json_number(out, "cells", c->cells);
	rql_json_number(out, "bytes", c->bytes);
	rql_json_number(out, "bytes_per_row", c->rows > 0 ? c->bytes / c->rows : 0);
	rql_json_number(out, "build_ms", c->build_ms);
	rql_json_number(out, "duckdb_group_by_ms", c->group_by_ms);
	rql_strbuf_put(out, "}");
}

static void put_query(struct rql_strbuf *out, const struct rql_query_result *r)
{
	rql_strbuf_put(out, "{");
	rql_json_string(out, "name", r->query->name);
	rql_json_string(out, "sql", r->sql);
	rql_json_bool(out, "same", r->same);
	rql_json_string(out, "error", r->error);
	rql_json_number(out, "selectivity_percent", r->selectivity);
	rql_json_number(out, "published_selectivity_percent", r->query->published);
	rql_json_string(out, "method", r->method);
	rql_json_string(out, "unit", r->unit);
	rql_json_string(out, "structure", r->structure);
	rql_json_string(out, "reason", r->reason);
	rql_json_count(out, "rows", r->rows);
	rql_json_count(out, "cells_covered", r->cells_covered);
	rql_json_count(out, "cells_read", r->cells_read);
	rql_json_count(out, "bytes_read", r->bytes_read);
	rql_json_number(out, "first_ms", r->first_ms);
	rql_json_number(out, "warm_ms", r->warm_ms);
	rql_json_number(out, "warm_least_ms", r->warm_least_ms);
	rql_json_number(out, "plan_us", r->plan_us);
	rql_json_number(out, "method_us", r->method_us);
	rql_json_number(out, "finish_us", r->finish_us);
	rql_json_number(out, "first_plan_us", r->first_plan_us);
	rql_json_number(out, "duckdb_plan_us", r->host_plan_us);
	rql_json_number(out, "duckdb_first_ms", r->host_first_ms);
	rql_json_number(out, "duckdb_ms", r->host_ms);
	rql_json_number(out, "duckdb_least_ms", r->host_least_ms);
	rql_json_number(out, "ratio", r->warm_ms > 0 ? r->host_ms / r->warm_ms : 0);
	rql_json_number(out, "estimated_ms", r->estimated_ms);
	rql_json_number(out, "duckdb_estimated_ms", r->host_estimated_ms);
	rql_json_number(out, "floor_ms", r->floor_ms);
	rql_strbuf_put(out, "}");
}

static void put_summary(struct rql_strbuf *out, const struct rql_bench_run *run)
{
	struct rql_bench_summary s;
	rql_bench_summarise(run, &s);
	rql_json_key(out, "summary");
	rql_strbuf_put(out, "{");
	rql_json_count(out, "queries_timed", s.timed);
	rql_json_count(out, "answers_same", s.same);
	rql_json_number(out, "warm_ms", s.warm_ms);
	rql_json_number(out, "first_ms", s.first_ms);
	rql_json_number(out, "duckdb_ms", s.host_ms);
	rql_json_number(out, "ratio", s.ratio);
	rql_json_number(out, "cached_statement_us", s.plan_us);
	rql_json_number(out, "first_run_above_explain_us", s.first_over_us);
	rql_json_number(out, "build_ms", s.build_ms);
	rql_json_number(out, "duckdb_group_by_ms", s.group_by_ms);
	rql_json_number(out, "cube_bytes", s.bytes);
	rql_strbuf_put(out, "}");
}

static void put_run(struct rql_strbuf *out, const struct rql_bench_run *run)
{
	rql_strbuf_put(out, "{");
	rql_json_string(out, "form", run->form->name);
	rql_json_number(out, "scale", run->scale);
	rql_json_string(out, "rollup", rql_bench_rollup_names[run->rollup]);
	rql_json_count(out, "rows", run->rows);
	rql_json_bool(out, "data_reused", run->reused);
	rql_json_number(out, "generate_s", run->generate_s);
	put_summary(out, run);
	rql_json_key(out, "cubes");
	rql_strbuf_put(out, "[");
	for (unsigned i = 0; i < RQL_SSB_FLIGHTS; i++) {
		rql_strbuf_put(out, i ? ",\n    " : "\n    ");
		put_cube(out, &run->cubes[i]);
	}
	rql_strbuf_put(out, "]");
	rql_json_key(out, "queries");
	rql_strbuf_put(out, "[");
	for (unsigned i = 0; i < RQL_SSB_QUERIES; i++) {
		rql_strbuf_put(out, i ? ",\n    " : "\n    ");
		put_query(out, &run->queries[i]);
	}
	rql_strbuf_put(out, "]}");
}

rql_status rql_report_json(const char *path, const struct rql_bench_options *options, const struct rql_machine *machine,
                           const char *devices, const struct rql_bench_run *runs, uint32_t count, struct rql_error *err)
{
	struct rql_strbuf out = {0};
	rql_strbuf_put(&out, "{");
	rql_json_string(&out, "benchmark", "ssb");
	rql_json_string(&out, "date", machine->date);
	rql_json_string(&out, "rayql", rayql_version());
	rql_json_string(&out, "duckdb", rayql_host_version());
	rql_json_count(&out, "threads", machine->threads);
	rql_json_count(&out, "runs", (uint64_t)options->runs);
	rql_json_key(&out, "seed");
	rql_strbuf_printf(&out, "%lld", (long long)options->seed);
	rql_json_bool(&out, "forced", options->force);
	rql_report_put_machine(&out, machine, devices);
	rql_json_key(&out, "results");
	rql_strbuf_put(&out, "[");
	for (uint32_t i = 0; i < count; i++) {
		rql_strbuf_put(&out, i ? ",\n  " : "\n  ");
		put_run(&out, &runs[i]);
	}
	rql_strbuf_put(&out, "]}\n");
	rql_status status = out.failed ? rql_error_memory(err, out.length, "the report") : rql_json_file(path, &out, err);
	rql_strbuf_free(&out);
	return status;
}

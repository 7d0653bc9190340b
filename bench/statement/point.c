/* What a prepared point query takes, from its values to its row: by a hashed, a sorted and an automatic index and a B+
 * tree over columns in memory, and by DuckDB with an ART index of its own in a database without RayQL's structures. Keys
 * are in no order, and asked at random; each answer is checked. */
#include "bench/statement/point.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/args.h"
#include "bench/common/client.h"
#include "bench/common/machine.h"
#include "bench/ssb/report.h"
#include "util/threads.h"

#define ROUNDS 5u
#define WARM 64u /* statements before the first that counts: the session learns what may differ */
/* Row i has the key i * FACTOR % PRIME: no two are equal below PRIME rows. Dense keys are modulo the rows. */
#define FACTOR UINT64_C(500000003)
#define PRIME UINT64_C(1000000007)

static const char help[] =
	"Usage: rayql bench point [options]\n"
	"\n"
	"A prepared statement asks for two columns of the row with one key, another key each time. Each answer is checked.\n"
	"Times are from binding the value to having the row, on one connection, in rounds that take turns: by an index that\n"
	"is hashed, sorted or a B+ tree, by one that chooses by itself, and by DuckDB with an ART index of its own, to which RayQL\n"
	"only hands on. With --device each index is looked up by the CPU and by that device's unit compute.\n"
	"\n"
	"  --index LIST        of hash, sorted, btree, auto, duckdb (default all); each has a table of its own in memory\n"
	"  --device NAME       vulkan:0 and so on\n"
	"  --rows N            rows of the table (default 1000000)\n"
	"  --dense             keys are 0 to N - 1, not spread over 10^9 values\n"
	"  --statements N      timed statements of each (default 10000)\n"
	"  --json FILE         write all figures\n"
	"  --help              this text\n";

struct options {
	int64_t rows, statements;
	bool dense;
	const char *json, *index, *device;
};

struct side {
	const char *name, *setup;
	bool method;        /* RayQL is to answer, by its index */
	const char *device; /* by its unit compute; NULL: by the CPU */
	bool borrowed;      /* the database is the side's before */
	rayql_database *db;
	rayql_connection *con;
	rayql_statement *statement;
	uint64_t random, done, wrong;
	double *us, planning_us;
};

static const struct side kinds[] = {
	{"hash", "CREATE INDEX c ON points USING columns (*); CREATE INDEX i ON points USING hash (k)", .method = true},
	{"sorted", "CREATE INDEX c ON points USING columns (*); CREATE INDEX i ON points USING sorted (k)", .method = true},
	{"btree", "CREATE INDEX c ON points USING columns (*); CREATE INDEX i ON points USING btree (k)", .method = true},
	{"auto", "CREATE INDEX c ON points USING columns (*); CREATE INDEX i ON points USING auto (k)", .method = true},
	{"duckdb", "CREATE UNIQUE INDEX i ON points (k)", .method = false},
};
#define KINDS (sizeof kinds / sizeof *kinds)

/* In the order that they take turns. */
struct sides {
	uint32_t count;
	struct side side[2 * KINDS];
};

static void choose_sides(const struct options *o, struct sides *out)
{
	out->count = 0;
	for (size_t k = 0; k < KINDS; k++) {
		if (o->index && !rql_args_listed(o->index, kinds[k].name))
			continue;
		out->side[out->count++] = kinds[k];
		if (!o->device || !kinds[k].method)
			continue;
		out->side[out->count] = kinds[k];
		out->side[out->count].device = o->device;
		out->side[out->count++].borrowed = true;
	}
}

static rql_status failed(rayql_error *error, struct rql_error *err)
{
	rql_error_set(err, RQL_ERROR_HOST, "%s", rayql_error_message(error));
	rayql_error_free(error);
	return RQL_ERROR_HOST;
}

/* ---- one statement ---- */

/* The id of its row; -1: there is none. */
static rql_status ask(struct side *s, uint64_t key, int64_t *id, struct rql_error *err)
{
	rayql_result *result = NULL;
	rayql_batch *batch = NULL;
	rayql_error *error = NULL;
	if (rayql_bind_int64(s->statement, 1, (int64_t)key) != RAYQL_OK)
		return rql_error_set(err, RQL_ERROR_MISUSE, "the key could not be bound");
	if (rayql_execute(s->statement, &result, &error) != RAYQL_OK)
		return failed(error, err);
	rayql_status status = rayql_fetch(result, &batch, &error);
	const int64_t *ids = batch ? rayql_batch_data(batch, 0) : NULL;
	*id = ids ? ids[0] : -1;
	rayql_batch_free(batch);
	rayql_result_free(result);
	return status == RAYQL_OK ? RQL_OK : failed(error, err);
}

static uint64_t modulus(const struct options *o)
{
	return o->dense ? (uint64_t)o->rows : PRIME;
}

static rql_status ask_random(struct side *s, const struct options *o, struct rql_error *err)
{
	rayql_query_info info = {.size = sizeof info};
	int64_t id = -1;
	s->random = s->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	const uint64_t row = (s->random >> 20) % (uint64_t)o->rows, start = rql_now_ns();
	RQL_TRY(ask(s, row * FACTOR % modulus(o), &id, err));
	s->us[s->done++] = (double)(rql_now_ns() - start) / 1e3;
	s->wrong += id != (int64_t)row;
	if (rayql_last_query(s->con, &info) != RAYQL_OK)
		return RQL_OK;
	s->planning_us += info.plan_ms * 1e3;
	return RQL_OK;
}

/* ---- all of them ---- */

static const char *unit_of(const struct side *s)
{
	return s->device ? "compute" : s->method ? "cpu" : "host";
}

/* Does RayQL look the row up there, and not scan for it? */
static rql_status check_method(const struct side *s, struct rql_error *err)
{
	struct rql_strbuf text = {0};
	char wanted[48];
	snprintf(wanted, sizeof wanted, "under rows of index on %s", unit_of(s));
	rql_status status = rql_client_json(s->con, "EXPLAIN SELECT id, v FROM points WHERE k = 0", &text, err);
	if (status == RQL_OK && !strstr(rql_strbuf_text(&text), wanted))
		status = rql_error_set(err, RQL_ERROR_INTERNAL, "%s: the index is not used: %s", s->name, rql_strbuf_text(&text));
	rql_strbuf_free(&text);
	return status;
}

static rql_status fill_side(struct side *s, const struct options *o, struct rql_error *err)
{
	RQL_TRY(rql_client_open(NULL, 0, &s->db, &s->con, err));
	RQL_TRY(rql_client_run(s->con, err,
	                       "CREATE TABLE points AS SELECT range AS id, (range * %llu %% %llu)::BIGINT AS k, "
	                       "(range %% 1000)::INTEGER AS v FROM range(%lld)",
	                       (unsigned long long)FACTOR, (unsigned long long)modulus(o), (long long)o->rows));
	return rql_client_run(s->con, err, "%s", s->setup);
}

static rql_status set_side(const struct side *s, struct rql_error *err)
{
	if (!s->method)
		return rql_client_run(s->con, err, "SET rayql_fallback = 'on'");
	if (s->device)
		RQL_TRY(rql_client_run(s->con, err, "SET rayql_unit = 'compute'"));
	return rql_client_run(s->con, err, "SET rayql_device = '%s'; SET rayql_force = rows; SET rayql_fallback = 'off'",
	                      s->device ? s->device : "cpu");
}

/* before: the side before it. */
static rql_status open_side(struct side *s, const struct side *before, const struct options *o, struct rql_error *err)
{
	rayql_error *error = NULL;
	s->us = calloc((size_t)o->statements + WARM, sizeof *s->us);
	if (!s->us)
		return rql_error_memory(err, 0, "times");
	if (!s->borrowed)
		RQL_TRY(fill_side(s, o, err));
	else if (rayql_connect(before->db, &s->con, &error) != RAYQL_OK)
		return failed(error, err);
	RQL_TRY(set_side(s, err));
	if (s->method)
		RQL_TRY(check_method(s, err));
	if (rayql_prepare(s->con, "SELECT id, v FROM points WHERE k = ?", &s->statement, &error) != RAYQL_OK)
		return failed(error, err);
	s->random = 42;
	for (uint32_t i = 0; i < WARM; i++)
		RQL_TRY(ask_random(s, o, err));
	s->done = 0;
	s->planning_us = 0;
	return RQL_OK;
}

static void close_side(struct side *s)
{
	rayql_statement_free(s->statement);
	rayql_disconnect(s->con);
	if (!s->borrowed)
		rayql_close(s->db);
	free(s->us);
}

static rql_status check(const struct side *s, struct rql_error *err)
{
	if (s->wrong)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "%s: %llu answers are wrong", s->name,
		                     (unsigned long long)s->wrong);
	return RQL_OK;
}

static int ascending(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double part(const struct side *s, double share)
{
	return s->us[(uint64_t)(share * (double)(s->done - 1))];
}

static rql_status measure(struct sides *sides, const struct options *o, struct rql_error *err)
{
	struct side *side = sides->side;
	for (uint32_t i = 0; i < sides->count; i++)
		RQL_TRY(open_side(&side[i], i ? &side[i - 1] : NULL, o, err));
	for (uint32_t round = 0; round < ROUNDS; round++)
		for (uint32_t i = 0; i < sides->count; i++)
			while (side[i].done < (uint64_t)o->statements * (round + 1) / ROUNDS)
				RQL_TRY(ask_random(&side[i], o, err));
	for (uint32_t i = 0; i < sides->count; i++) {
		RQL_TRY(check(&side[i], err));
		qsort(side[i].us, side[i].done, sizeof *side[i].us, ascending);
	}
	return RQL_OK;
}

/* ---- report ---- */

static rql_status write_json(const struct sides *sides, const struct options *o, const struct rql_machine *machine,
                             struct rql_error *err)
{
	struct rql_strbuf text = {0};
	rql_strbuf_put(&text, "{\"benchmark\":\"point\",\"cpu\":");
	rql_json_text(&text, machine->cpu);
	rql_strbuf_printf(&text, ",\"cpus\":%u,\"load\":%.2f,\"date\":", machine->cpus, machine->load);
	rql_json_text(&text, machine->date);
	rql_strbuf_put(&text, ",\"kernel\":");
	rql_json_text(&text, machine->kernel);
	rql_strbuf_printf(&text, ",\"rows\":%lld,\"dense\":%s,\"statements\":%lld,\"device\":", (long long)o->rows,
	                  o->dense ? "true" : "false", (long long)o->statements);
	rql_json_text(&text, o->device);
	rql_strbuf_put(&text, ",\"runs\":[");
	for (uint32_t i = 0; i < sides->count; i++) {
		const struct side *s = &sides->side[i];
		rql_strbuf_printf(&text,
		                  "%s\n{\"index\":\"%s\",\"unit\":\"%s\",\"median_us\":%.2f,\"p90_us\":%.2f,\"p99_us\":%.2f,"
		                  "\"planning_us\":%.2f}",
		                  i ? "," : "", s->name, unit_of(s), part(s, 0.5), part(s, 0.9), part(s, 0.99),
		                  s->planning_us / (double)s->done);
	}
	rql_strbuf_put(&text, "]}\n");
	FILE *file = text.failed ? NULL : fopen(o->json, "w");
	bool written = file && fwrite(text.data, 1, text.length, file) == text.length;
	written = file && fclose(file) == 0 && written;
	rql_strbuf_free(&text);
	return written ? RQL_OK : rql_error_set(err, RQL_ERROR_IO, "%s could not be written", o->json);
}

static void print(const struct sides *sides, const struct options *o)
{
	printf("\nus of a prepared point query, each answer checked; %lld rows, %s keys, %lld statements\n"
	       "index    unit       median      p90      p99  mean planning\n",
	       (long long)o->rows, o->dense ? "dense" : "sparse", (long long)o->statements);
	for (uint32_t i = 0; i < sides->count; i++) {
		const struct side *s = &sides->side[i];
		printf("%-8s %-7s %9.1f %8.1f %8.1f %14.1f\n", s->name, unit_of(s), part(s, 0.5), part(s, 0.9), part(s, 0.99),
		       s->planning_us / (double)s->done);
	}
}

static rql_status run(const struct options *o, struct rql_error *err)
{
	struct rql_machine machine;
	struct sides sides;
	choose_sides(o, &sides);
	if (!sides.count)
		return rql_error_set(err, RQL_ERROR_MISUSE, "--index %s: it has hash, sorted, btree, auto or duckdb", o->index);
	RQL_TRY(rql_machine_measure(0, &machine, err));
	rql_report_machine(stdout, &machine);
	rql_status status = measure(&sides, o, err);
	if (status == RQL_OK) {
		print(&sides, o);
		if (o->json)
			status = write_json(&sides, o, &machine, err);
	}
	for (uint32_t i = sides.count; i-- > 0;) /* who borrows a database first */
		close_side(&sides.side[i]);
	return status;
}

static bool parse(struct rql_args *args, struct options *o, bool *want_help)
{
	const char *value, *benchmark = NULL;
	for (args->at = 1; args->at < args->argc && !args->failed && !*want_help; args->at++) {
		if (rql_args_flag(args, "help"))
			*want_help = true;
		else if (rql_args_flag(args, "dense"))
			o->dense = true;
		else if (rql_args_value(args, "rows", &value))
			(void)(value && rql_args_integer(args, "rows", value, 1000, 500000000, &o->rows));
		else if (rql_args_value(args, "statements", &value))
			(void)(value && rql_args_integer(args, "statements", value, 10, 10000000, &o->statements));
		else if (!rql_args_value(args, "json", &o->json) && !rql_args_value(args, "index", &o->index) &&
		         !rql_args_value(args, "device", &o->device))
			rql_args_benchmark(args, &benchmark);
	}
	return !args->failed;
}

int rql_point_main(int argc, char **argv)
{
	struct rql_args args = {.argc = argc, .argv = argv, .program = "rayql bench"};
	struct options o = {.rows = 1000000, .statements = 10000};
	struct rql_error err = {0};
	bool want_help = false;
	if (!parse(&args, &o, &want_help))
		return 2;
	if (want_help) {
		fputs(help, stdout);
		return 0;
	}
	rql_status status = run(&o, &err);
	if (status != RQL_OK)
		fprintf(stderr, "rayql bench: %s\n", rql_error_message(&err));
	rql_error_clear(&err);
	return status == RQL_OK ? 0 : 1;
}

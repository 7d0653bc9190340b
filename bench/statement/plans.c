/* How many statements a second RayQL plans and answers when no text comes twice, by the number of connections, and what
 * planning one takes; beside a prepared statement with other parameters each time, one repeated text, and DuckDB. Each
 * answer is checked: the table is such that sums of its ranges are known. */
#include "bench/statement/plans.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench/common/args.h"
#include "bench/common/client.h"
#include "bench/common/machine.h"
#include "bench/ssb/report.h"
#include "util/threads.h"

#define MOST_CONNECTIONS 256u
#define MOST_COUNTS 16u

static const char help[] =
	"Usage: rayql bench plans [options]\n"
	"\n"
	"Statements that differ in their values, from several connections at once: a sum over a range of a table whose\n"
	"columns are in memory. Each answer is checked. `new` sends no text twice, `prepared` binds one statement to the\n"
	"same values, `repeated` sends one text a connection, `DuckDB` the new texts with RayQL switched off. Planning is the\n"
	"mean time from the call to the start of the method.\n"
	"\n"
	"  --connections N,... how many at once (default 1 and the number of CPUs)\n"
	"  --rows N            rows of the table (default 100000)\n"
	"  --seconds S         how long each is measured (default 3)\n"
	"  --json FILE         write all figures\n"
	"  --help              this text\n";

struct options {
	uint32_t count;
	int64_t connections[MOST_COUNTS];
	int64_t rows;
	double seconds;
	const char *json;
};

enum mode { NEW_TEXTS, PREPARED, REPEATED, DUCKDB, MODES };
static const char *const mode_names[MODES] = {"new", "prepared", "repeated", "duckdb"};

struct measured {
	int64_t connections;
	double per_second[MODES], planning_us[MODES];
};

struct worker {
	rayql_connection *con;
	rayql_statement *statement; /* PREPARED */
	double planning_ms;         /* of all its statements */
	const struct options *options;
	enum mode mode;
	uint64_t next; /* its texts are next, next + step, ... */
	uint64_t step, done, wrong;
	atomic_bool *go, *stop;
	struct rql_error err;
	rql_status status;
};

/* ---- one statement ---- */

static const char question[] = "SELECT sum(id)::BIGINT FROM plans WHERE id BETWEEN %s AND %s AND k < 1000 + %s";

static rql_status failed(struct worker *w, rayql_error *error)
{
	rql_error_set(&w->err, RQL_ERROR_HOST, "%s", rayql_error_message(error));
	rayql_error_free(error);
	return RQL_ERROR_HOST;
}

/* As a text of its own. */
static rayql_status ask_text(struct worker *w, uint64_t low, uint64_t high, uint64_t n, rayql_result **out,
                             rayql_error **error)
{
	char numbers[3][24], sql[256];
	const uint64_t values[] = {low, high, n};
	for (int i = 0; i < 3; i++)
		snprintf(numbers[i], sizeof numbers[i], "%llu", (unsigned long long)values[i]);
	snprintf(sql, sizeof sql, question, numbers[0], numbers[1], numbers[2]);
	return rayql_query(w->con, sql, out, error);
}

static rayql_status ask_prepared(struct worker *w, uint64_t low, uint64_t high, uint64_t n, rayql_result **out,
                                 rayql_error **error)
{
	const uint64_t values[] = {low, high, n};
	for (uint64_t i = 0; i < 3; i++)
		if (rayql_bind_int64(w->statement, i + 1, (int64_t)values[i]) != RAYQL_OK)
			return RAYQL_ERROR_MISUSE;
	return rayql_execute(w->statement, out, error);
}

/* The one number of the answer. */
static rayql_status read_number(rayql_result *result, int64_t *out, rayql_error **error)
{
	rayql_batch *batch = NULL;
	rayql_status status = rayql_fetch(result, &batch, error);
	const int64_t *values = batch ? rayql_batch_data(batch, 0) : NULL;
	*out = values ? values[0] : -1;
	rayql_batch_free(batch);
	rayql_result_free(result);
	return status;
}

/* A range of ids by the number n; the same one for every n where a text is repeated. */
static rql_status ask(struct worker *w, uint64_t n)
{
	uint64_t rows = (uint64_t)w->options->rows, low = n * 7919 % rows, high = low + (n / rows) % (rows - low);
	double want = ((double)low + (double)high) / 2 * (double)(high - low + 1);
	rayql_query_info info = {.size = sizeof info};
	rayql_result *result = NULL;
	rayql_error *error = NULL;
	int64_t have = 0;
	if ((w->mode == PREPARED ? ask_prepared : ask_text)(w, low, high, n, &result, &error) != RAYQL_OK ||
	    read_number(result, &have, &error) != RAYQL_OK)
		return failed(w, error);
	if (rayql_last_query(w->con, &info) == RAYQL_OK)
		w->planning_ms += info.plan_ms;
	w->wrong += (double)have != want;
	w->done++;
	return RQL_OK;
}

static void *work(void *state)
{
	struct worker *w = state;
	while (!atomic_load(w->go))
		usleep(100);
	while (!atomic_load(w->stop) && w->status == RQL_OK) {
		w->status = ask(w, w->next);
		if (w->mode != REPEATED)
			w->next += w->step;
	}
	return NULL;
}

/* ---- many connections ---- */

static rql_status prepare(struct worker *w, rayql_database *db, enum mode mode)
{
	rayql_error *error = NULL;
	char sql[256];
	if (rayql_connect(db, &w->con, &error) != RAYQL_OK)
		return failed(w, error);
	snprintf(sql, sizeof sql, question, "?", "?", "?");
	if (mode == PREPARED && rayql_prepare(w->con, sql, &w->statement, &error) != RAYQL_OK)
		return failed(w, error);
	if (mode == DUCKDB)
		return rql_client_run(w->con, &w->err, "SET rayql_enable_scan = off");
	RQL_TRY(rql_client_run(w->con, &w->err, "SET rayql_force = on"));
	return rql_client_run(w->con, &w->err, "SET rayql_fallback = 'off'");
}

static double run_threads(struct worker *workers, uint32_t count, double seconds, atomic_bool *go, atomic_bool *stop)
{
	pthread_t threads[MOST_CONNECTIONS];
	uint32_t started = 0;
	for (; started < count; started++)
		if (pthread_create(&threads[started], NULL, work, &workers[started]) != 0)
			break;
	for (uint32_t i = started; i < count; i++)
		workers[i].status =
			rql_error_set(&workers[i].err, RQL_ERROR_MEMORY, "the system gave no thread for connection %u", i);
	uint64_t start = rql_now_ns();
	atomic_store(go, true);
	struct timespec pause = {.tv_sec = (time_t)seconds, .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
	nanosleep(&pause, NULL);
	atomic_store(stop, true);
	for (uint32_t i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	return (double)(rql_now_ns() - start) / 1e9;
}

static rql_status sum_up(const struct worker *workers, uint32_t count, double seconds, double *per_second,
                         double *planning_us, struct rql_error *err)
{
	double planning_ms = 0;
	uint64_t done = 0, wrong = 0;
	for (uint32_t i = 0; i < count; i++) {
		if (workers[i].status != RQL_OK)
			return rql_error_set(err, workers[i].status, "%s", rql_error_message(&workers[i].err));
		done += workers[i].done;
		wrong += workers[i].wrong;
		planning_ms += workers[i].planning_ms;
	}
	if (wrong)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "%llu of %llu answers are wrong", (unsigned long long)wrong,
		                     (unsigned long long)done);
	*per_second = (double)done / seconds;
	*planning_us = done ? planning_ms * 1e3 / (double)done : 0;
	return RQL_OK;
}

/* offset: how far numbers of texts have been used already. */
static rql_status measure(rayql_database *db, const struct options *o, uint32_t count, enum mode mode, uint64_t offset,
                          double *per_second, double *planning_us, struct rql_error *err)
{
	struct worker *workers = calloc(count, sizeof *workers);
	atomic_bool go = false, stop = false;
	if (!workers)
		return rql_error_memory(err, count * sizeof *workers, "connections");
	rql_status status = RQL_OK;
	for (uint32_t i = 0; i < count && status == RQL_OK; i++) {
		workers[i] = (struct worker){
			.options = o, .mode = mode, .next = offset + i, .step = count, .go = &go, .stop = &stop};
		status = prepare(&workers[i], db, mode);
		if (status == RQL_OK)
			status = ask(&workers[i], workers[i].next + (mode == REPEATED ? 0 : UINT64_C(1) << 40)); /* warm */
		if (status != RQL_OK)
			rql_error_set(err, status, "%s", rql_error_message(&workers[i].err));
		workers[i].done = 0;
		workers[i].planning_ms = 0;
	}
	if (status == RQL_OK) {
		double seconds = run_threads(workers, count, o->seconds, &go, &stop);
		status = sum_up(workers, count, seconds, per_second, planning_us, err);
	}
	for (uint32_t i = 0; i < count; i++) {
		rayql_statement_free(workers[i].statement);
		rayql_disconnect(workers[i].con);
		rql_error_clear(&workers[i].err);
	}
	free(workers);
	return status;
}

/* ---- report ---- */

static rql_status write_json(const struct options *o, const struct rql_machine *machine, const struct measured *m,
                             struct rql_error *err)
{
	struct rql_strbuf text = {0};
	rql_strbuf_put(&text, "{\"benchmark\":\"plans\",\"cpu\":");
	rql_json_text(&text, machine->cpu);
	rql_strbuf_printf(&text, ",\"cpus\":%u,\"load\":%.2f,\"date\":", machine->cpus, machine->load);
	rql_json_text(&text, machine->date);
	rql_strbuf_put(&text, ",\"kernel\":");
	rql_json_text(&text, machine->kernel);
	rql_strbuf_printf(&text, ",\"rows\":%lld,\"seconds\":%g,\"runs\":[", (long long)o->rows, o->seconds);
	for (uint32_t i = 0; i < o->count; i++) {
		rql_strbuf_printf(&text, "%s\n{\"connections\":%lld", i ? "," : "", (long long)m[i].connections);
		for (int mode = 0; mode < MODES; mode++)
			rql_strbuf_printf(&text, ",\"%s_per_second\":%.1f,\"%s_planning_us\":%.2f", mode_names[mode],
			                  m[i].per_second[mode], mode_names[mode], m[i].planning_us[mode]);
		rql_strbuf_putc(&text, '}');
	}
	rql_strbuf_put(&text, "]}\n");
	FILE *file = text.failed ? NULL : fopen(o->json, "w");
	bool written = file && fwrite(text.data, 1, text.length, file) == text.length;
	written = file && fclose(file) == 0 && written;
	rql_strbuf_free(&text);
	return written ? RQL_OK : rql_error_set(err, RQL_ERROR_IO, "%s could not be written", o->json);
}

static void print_run(const struct measured *m, const struct measured *first)
{
	printf("%11lld %12.0f %8.2f %8.1f %12.0f %8.1f %12.0f %8.1f %12.0f\n", (long long)m->connections,
	       m->per_second[NEW_TEXTS], m->per_second[NEW_TEXTS] / first->per_second[NEW_TEXTS], m->planning_us[NEW_TEXTS],
	       m->per_second[PREPARED], m->planning_us[PREPARED], m->per_second[REPEATED], m->planning_us[REPEATED],
	       m->per_second[DUCKDB]);
}

static rql_status run(struct options *o, struct rql_error *err)
{
	struct rql_machine machine;
	struct measured measured[MOST_COUNTS] = {0};
	rayql_database *db = NULL;
	rayql_connection *con = NULL;
	uint64_t offset = 0;
	RQL_TRY(rql_machine_measure(0, &machine, err));
	rql_report_machine(stdout, &machine);
	if (!o->count) {
		o->connections[o->count++] = 1;
		o->connections[o->count++] = machine.cpus < MOST_CONNECTIONS ? machine.cpus : MOST_CONNECTIONS;
	}
	RQL_TRY(rql_client_open(NULL, 0, &db, &con, err));
	rql_status status = rql_client_run(
		con, err, "CREATE TABLE plans AS SELECT range AS id, (range %% 1000)::INTEGER AS k FROM range(%lld)", (long long)o->rows);
	if (status == RQL_OK)
		status = rql_client_run(con, err, "CREATE INDEX plans_columns ON plans USING columns (*)");
	if (status == RQL_OK)
		printf("\nstatements a second, each checked, and us of planning; %lld rows\nconnections          new      x 1       us     "
		       "prepared       us     repeated       us       DuckDB\n",
		       (long long)o->rows);
	for (uint32_t i = 0; i < o->count && status == RQL_OK; i++) {
		measured[i].connections = o->connections[i];
		for (int mode = 0; mode < MODES && status == RQL_OK; mode++) {
			status = measure(db, o, (uint32_t)o->connections[i], (enum mode)mode, offset, &measured[i].per_second[mode],
			                 &measured[i].planning_us[mode], err);
			offset += UINT64_C(100000000);
		}
		if (status == RQL_OK)
			print_run(&measured[i], &measured[0]);
		fflush(stdout);
	}
	rayql_disconnect(con);
	rayql_close(db);
	return status == RQL_OK && o->json ? write_json(o, &machine, measured, err) : status;
}

/* ---- options ---- */

static void parse_connections(struct rql_args *args, const char *value, struct options *o)
{
	char *copy = value ? strdup(value) : NULL, *rest = copy;
	o->count = 0;
	for (char *item; copy && (item = strsep(&rest, ",")) && !args->failed;) {
		if (o->count == MOST_COUNTS)
			rql_args_error(args, "--connections %s: at most %u numbers", value, MOST_COUNTS);
		else if (rql_args_integer(args, "connections", item, 1, MOST_CONNECTIONS, &o->connections[o->count]))
			o->count++;
	}
	free(copy);
}

static bool parse(struct rql_args *args, struct options *o, bool *want_help)
{
	const char *value, *benchmark = NULL;
	for (args->at = 1; args->at < args->argc && !args->failed && !*want_help; args->at++) {
		if (rql_args_flag(args, "help"))
			*want_help = true;
		else if (rql_args_value(args, "connections", &value))
			parse_connections(args, value, o);
		else if (rql_args_value(args, "rows", &value))
			(void)(value && rql_args_integer(args, "rows", value, 1000, 100000000, &o->rows));
		else if (rql_args_value(args, "seconds", &value))
			(void)(value && rql_args_double(args, "seconds", value, 0.01, 3600, &o->seconds));
		else if (!rql_args_value(args, "json", &o->json))
			rql_args_benchmark(args, &benchmark);
	}
	return !args->failed;
}

int rql_plans_main(int argc, char **argv)
{
	struct rql_args args = {.argc = argc, .argv = argv, .program = "rayql bench"};
	struct options o = {.rows = 100000, .seconds = 3};
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

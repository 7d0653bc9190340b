/* rayql bench rtscan: options, the order of things, and what is printed. */
#include "bench/rtscan/rtscan.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/args.h"
#include "bench/common/json.h"
#include "bench/common/machine.h"
#include "bench/common/stats.h"

static const char help[] =
	"Usage: rayql bench rtscan [options]\n"
	"\n"
	"The experiments of the RTScan paper, by figure number: conjunctions of predicates over columns of 32 bits,\n"
	"counted. Each form of sieve that the figure names, the fused scan and DuckDB answer the same statements in one\n"
	"run, and every count is checked. docs/bench.md says more. The exit code is 1 when an answer is wrong.\n"
	"\n"
	"  --figure N,...      of 15 to 29 and, of RayQL's own, 101 to 104 (default 15)\n"
	"  --form NAME,...     only forms of sieve whose name begins so, also slow ones: matrix, cells (default: all)\n"
	"  --device D          as rayql_devices() names it: cpu, vulkan:0 (default cpu)\n"
	"  --rows N            rows of the table (default 20000000; the paper has 100000000)\n"
	"  --runs N            runs of each statement, 1 to 1000 (default 7)\n"
	"  --threads N         (default: all)\n"
	"  --json FILE         write all figures\n"
	"  --help              this text\n";

struct options {
	const char *figures, *forms, *device, *json;
	int64_t rows, runs, threads;
};
/* Ways to answer that are there at once. */
enum way { HOST, SCAN, CUBE, SIEVE, WAYS };
static const char *const way_names[WAYS] = {"host", "scan", "cube", "sieve"};
/* How much longer the way that RayQL chooses takes than the best of those that were measured. */
struct regret {
	double log_sum, worst;
	uint32_t cases;
};
struct bench {
	const struct options *options;
	rayql_connection *con;
	bool gpu;
	struct rql_strbuf json;
	uint32_t wrong, measured;
	double transfer_us;               /* of a bitmap to the host; negative: not measured yet */
	struct regret regret;  /* of all cases */
};

static bool parse(struct rql_args *args, struct options *o, bool *help_wanted)
{
	const char *value, *benchmark = NULL;
	for (args->at = 1; args->at < args->argc && !args->failed; args->at++) {
		if (rql_args_flag(args, "help") || rql_args_flag(args, "h"))
			return *help_wanted = true;
		if (rql_args_value(args, "rows", &value))
			rql_args_integer(args, "rows", value, 1, 1000000000, &o->rows);
		else if (rql_args_value(args, "runs", &value))
			rql_args_integer(args, "runs", value, 1, RQL_SAMPLES_MAX, &o->runs);
		else if (rql_args_value(args, "threads", &value))
			rql_args_integer(args, "threads", value, 0, 1024, &o->threads);
		else if (!rql_args_value(args, "figure", &o->figures) && !rql_args_value(args, "form", &o->forms) &&
		         !rql_args_value(args, "device", &o->device) &&
		         !rql_args_value(args, "json", &o->json))
			rql_args_benchmark(args, &benchmark);
	}
	return !args->failed;
}

/* Is the figure's number in the list? */
static bool is_wanted(const char *list, uint32_t number)
{
	for (const char *at = list; at && *at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
		if (strtoul(at, NULL, 10) == number)
			return true;
	return false;
}

static bool are_known(struct rql_args *args, const char *list)
{
	for (const char *at = list; at && *at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
		const unsigned long number = strtoul(at, NULL, 10);
		const struct rql_rtscan_figure *f = rql_rtscan_figures;
		while (f->number && f->number != number)
			f++;
		if (!f->number)
			rql_args_error(args, "--figure %s: there is no such figure here", list);
	}
	return !args->failed;
}

/* ---- a figure ---- */
#define SAMPLE 1000000
struct figure_run {
	struct bench *b;
	const struct rql_rtscan_figure *figure;
	enum rql_rtscan_values values;
	uint32_t count;
	char names[RQL_RTSCAN_CASES][24]; /* selectivities, or names of conditions */
	double selectivities[RQL_RTSCAN_CASES]; /* NAN: a condition's */
	char answers[RQL_RTSCAN_CASES][64]; /* DuckDB's */
	/* SQL to rows, the fastest run of each way to answer, as measured last; negative: another plan was taken; 0: there is
	 * no such way. */
	double way_us[WAYS][RQL_RTSCAN_CASES];
	double tested, bytes, rays, hits; /* of the form, at the last case */
	char sql[RQL_RTSCAN_CASES][512];
};

/* The quantiles of a column at the selectivities of a figure, of a sample. */
static rql_status find_bounds(const struct figure_run *f, char column, double *bounds, struct rql_error *err)
{
	for (uint32_t s = 0; s < f->count; s++) {
		const double share = pow(f->selectivities[s], 1.0 / f->figure->predicates);
		RQL_TRY(rql_client_number(f->b->con, &bounds[s], err, "SELECT quantile_disc(%c, %.17g) FROM rtscan_sample",
		                          column, share));
	}
	return RQL_OK;
}

/* Each column's bound is the quantile that leaves the same share of it. */
static rql_status make_statements(struct figure_run *f, struct rql_error *err)
{
	char asked[96];
	snprintf(asked, sizeof asked, "SELECT %s FROM rtscan WHERE ", f->figure->select ? f->figure->select : "count(*)");
	for (; f->figure->selectivities && f->figure->selectivities[f->count] > 0; f->count++) {
		f->selectivities[f->count] = f->figure->selectivities[f->count];
		snprintf(f->names[f->count], sizeof f->names[0], "%g", f->selectivities[f->count]);
		snprintf(f->sql[f->count], sizeof f->sql[0], "%s", asked);
	}
	RQL_TRY(rql_client_run(f->b->con, err, "CREATE OR REPLACE TEMP TABLE rtscan_sample AS SELECT * FROM rtscan LIMIT %d",
	                       SAMPLE));
	for (uint32_t p = 0; p < f->figure->predicates && f->count; p++) {
		double bounds[RQL_RTSCAN_CASES];
		RQL_TRY(find_bounds(f, (char)('a' + p), bounds, err));
		for (uint32_t s = 0; s < f->count; s++) {
			const size_t used = strlen(f->sql[s]);
			snprintf(f->sql[s] + used, sizeof f->sql[s] - used, "%s%c <= %.0f", p ? " AND " : "", 'a' + p, bounds[s]);
		}
	}
	for (const struct rql_rtscan_condition *c = f->figure->conditions; c && c->name; c++, f->count++) {
		f->selectivities[f->count] = NAN;
		snprintf(f->names[f->count], sizeof f->names[0], "%s", c->name);
		snprintf(f->sql[f->count], sizeof f->sql[0], "%s%s", asked, c->sql);
	}
	return rql_client_run(f->b->con, err, "DROP TABLE rtscan_sample");
}

static void put_json(struct figure_run *f, const char *rival, uint32_t number, const struct rql_rtscan_case *one,
                     bool right)
{
	struct rql_strbuf *out = &f->b->json;
	rql_strbuf_put(out, f->b->measured++ ? ",\n{" : "{");
	rql_json_count(out, "figure", f->figure->number);
	rql_json_string(out, "values", rql_rtscan_values_names[f->values]);
	rql_json_count(out, "predicates", f->figure->predicates);
	rql_json_string(out, "case", f->names[number]);
	rql_json_number(out, "selectivity", f->selectivities[number]);
	rql_json_string(out, "by", rival);
	rql_json_number(out, "device_us", one->device_us >= 0 ? one->device_us : NAN);
	rql_json_number(out, "statement_us", one->statement_us);
	if (f->figure->transfer && f->b->gpu)
		rql_json_number(out, "transfer_us", f->b->transfer_us);
	if (one->bytes > 0) {
		rql_json_number(out, "rays", one->rays);
		rql_json_number(out, "hits", one->hits);
		rql_json_number(out, "tested", one->tested);
		rql_json_number(out, "bytes_read", one->bytes);
	}
	for (uint32_t p = 0; p < one->pass_count && f->figure->stages; p++)
		rql_json_number(out, one->passes[p].name, one->passes[p].us);
	rql_json_string(out, "answer", one->answer);
	rql_json_bool(out, "right", right);
	rql_strbuf_put(out, "}");
}

static void print_stages(const struct rql_rtscan_case *one)
{
	double sum = 0;
	for (uint32_t p = 0; p < one->pass_count; p++)
		sum += one->passes[p].us;
	for (uint32_t p = 0; p < one->pass_count && sum > 0; p++)
		printf("%s%s %.1f %%", p ? ", " : "    ", one->passes[p].name, 100 * one->passes[p].us / sum);
	printf("%s", one->pass_count ? "\n" : "");
}

/* pass NULL: DuckDB, whose answers the others must have. */
static rql_status run_rival(struct figure_run *f, enum way way, const char *rival, const char *pass, bool gpu,
                            struct rql_error *err)
{
	const struct options *o = f->b->options;
	struct rql_rtscan_case one = {0};
	printf("  %-30s", rival);
	for (uint32_t s = 0; s < f->count; s++) {
		one = (struct rql_rtscan_case){0};
		memcpy(one.sql, f->sql[s], sizeof one.sql);
		RQL_TRY(rql_rtscan_measure(f->b->con, pass, gpu, f->figure->reader, o->runs, &one, err));
		if (!pass)
			memcpy(f->answers[s], one.answer, sizeof one.answer);
		const bool right = strcmp(one.answer, f->answers[s]) == 0;
		const double transfer = gpu && f->figure->transfer ? f->b->transfer_us : 0;
		f->b->wrong += !right;
		put_json(f, rival, s, &one, right);
		if (!right)
			printf("   WRONG");
		else if (pass && one.device_us < 0)
			printf(" another");
		else
			printf(" %7.3f", (pass && !f->figure->statement ? one.device_us + transfer : one.statement_us) / 1e3);
		f->way_us[way][s] = pass && one.device_us < 0 ? -1 : one.least_us;
		fflush(stdout);
	}
	f->rays = one.rays;
	f->hits = one.hits;
	f->tested = one.tested;
	f->bytes = one.bytes;
	printf("\n");
	if (f->figure->stages && pass)
		print_stages(&one);
	return RQL_OK;
}

/* A cube of the columns, which answers without the scan. */
static rql_status run_cube(struct figure_run *f, struct rql_error *err)
{
	RQL_TRY(rql_client_run(f->b->con, err, "CREATE OR REPLACE MATERIALIZED VIEW rtscan_cube AS SELECT a, b, c, "
	                                       "count(*) AS rows FROM rtscan GROUP BY a, b, c"));
	RQL_TRY(rql_client_run(f->b->con, err, "SET rayql_enable_scan = off"));
	RQL_TRY(run_rival(f, CUBE, "cube (SQL to rows)", NULL, false, err));
	return rql_client_run(f->b->con, err, "SET rayql_enable_scan = on");
}

/* What answers the statement. */
static rql_status find_chosen(rayql_connection *con, const char *sql, enum way *out, struct rql_error *err)
{
	struct rql_strbuf text = {0};
	char explain[640];
	double ms;
	snprintf(explain, sizeof explain, "EXPLAIN %s", sql);
	rql_status status = rql_client_time(con, explain, &ms, &text, NULL, err);
	const char *plan = rql_strbuf_text(&text);
	*out = strstr(plan, "under rows of sieve") ? SIEVE
	       : strstr(plan, "method: scan")      ? SCAN
	       : strstr(plan, "method: cube")      ? CUBE
	                                           : HOST;
	rql_strbuf_free(&text);
	return status;
}

static void add_regret(struct regret *r, double regret)
{
	r->log_sum += log(regret);
	r->worst = regret > r->worst ? regret : r->worst;
	r->cases++;
}

/* What the planner would take of this form, the scan, the cube and DuckDB, and what that took beside the best of them: the
 * same measurements, so that a choice that is the best has no regret. */
static rql_status run_chosen(struct figure_run *f, const char *form, struct rql_error *err)
{
	struct regret here = {0};
	printf("    chosen%*s", 22, "");
	for (uint32_t s = 0; s < f->count; s++) {
		enum way chosen;
		double best = INFINITY;
		RQL_TRY(find_chosen(f->b->con, f->sql[s], &chosen, err));
		for (unsigned w = 0; w < WAYS; w++)
			if (f->way_us[w][s] > 0 && f->way_us[w][s] < best)
				best = f->way_us[w][s];
		const double took = f->way_us[chosen][s], regret = took > 0 ? took / best : 1;
		add_regret(&here, regret);
		add_regret(&f->b->regret, regret);
		printf(" %7s", way_names[chosen]);
		struct rql_strbuf *out = &f->b->json;
		rql_strbuf_put(out, f->b->measured++ ? ",\n{" : "{");
		rql_json_count(out, "figure", f->figure->number);
		rql_json_string(out, "values", rql_rtscan_values_names[f->values]);
		rql_json_string(out, "case", f->names[s]);
		rql_json_string(out, "beside", form);
		rql_json_string(out, "chosen", way_names[chosen]);
		rql_json_number(out, "regret", regret);
		rql_strbuf_put(out, "}");
	}
	printf("\n    regret %.2f (geometric mean), worst %.2f\n", here.cases ? exp(here.log_sum / here.cases) : 1, here.worst);
	return RQL_OK;
}

static rql_status run_form(struct figure_run *f, const struct rql_rtscan_form *form, struct rql_error *err)
{
	const char *own = rql_rtscan_columns(f->values), *columns = own ? own : "a, b, c, d, e, f, g";
	const int length = own ? (int)strlen(own) : (int)(3 * f->figure->predicates - 2);
	const bool gpu = f->b->gpu && !(form->flags & RQL_RTSCAN_ON_CPU);
	double bytes, ms, device;
	struct rql_strbuf placed = {0};
	RQL_TRY(rql_client_run(f->b->con, err, "SET rayql_device = '%s'", gpu ? f->b->options->device : "cpu"));
	RQL_TRY(rql_client_run(f->b->con, err,
	                       "CREATE OR REPLACE INDEX rtscan_sieve ON rtscan USING sieve (%.*s) WITH (%s)", length, columns,
	                       form->options));
	/* What CREATE made on the device, part by part: milliseconds of all threads together. */
	rql_status status = rql_client_json(
		f->b->con, "SELECT coalesce(placed, '') AS placed FROM rayql_structures() WHERE name = 'rtscan_sieve'", &placed, err);
	printf(gpu ? "    made %s\n" : "", rql_strbuf_text(&placed));
	rql_strbuf_free(&placed);
	RQL_TRY(status);
	/* The sieve itself, also where the planner would take the scan: its price is not what is measured. */
	RQL_TRY(rql_client_run(f->b->con, err, "SET rayql_force = rows"));
	RQL_TRY(rql_client_run(f->b->con, err, "SET rayql_enable_cube = off"));
	RQL_TRY(run_rival(f, SIEVE, form->name, "sieve", gpu, err));
	RQL_TRY(rql_client_run(f->b->con, err, "SET rayql_enable_cube = on"));
	RQL_TRY(rql_client_run(f->b->con, err, "SET rayql_force = off"));
	RQL_TRY(run_chosen(f, form->name, err));
	RQL_TRY(rql_client_run(f->b->con, err, "SET rayql_force = on"));
	RQL_TRY(rql_client_number(f->b->con, &bytes, err,
	                          "SELECT bytes FROM rayql_structures() WHERE name = 'rtscan_sieve'"));
	RQL_TRY(rql_client_number(f->b->con, &ms, err,
	                          "SELECT build_ms FROM rayql_structures() WHERE name = 'rtscan_sieve'"));
	RQL_TRY(rql_client_number(f->b->con, &device, err,
	                          "SELECT sum(device_bytes) FROM rayql_structures() WHERE name IN ('rtscan_columns', "
	                          "'rtscan_sieve')"));
	printf("    %.2f GB in memory, made in %.2f s", bytes / 1e9, ms / 1e3);
	printf(f->b->gpu ? "; %.2f GB on the device with what scans placed\n" : "\n", device / 1e9);
	if (f->bytes > 0 && f->rays > 0)
		printf("    at %s: %.3g rays, %.3g hits, %.3g rows tested, %.3g bytes\n", f->names[f->count - 1], f->rays, f->hits,
		       f->tested, f->bytes);
	else if (f->bytes > 0)
		printf("    at %s: %.3g rows tested at bounds, %.3g bytes\n", f->names[f->count - 1], f->tested, f->bytes);
	rql_strbuf_put(&f->b->json, f->b->measured++ ? ",\n{" : "{");
	rql_json_count(&f->b->json, "figure", f->figure->number);
	rql_json_string(&f->b->json, "values", rql_rtscan_values_names[f->values]);
	rql_json_string(&f->b->json, "form", form->name);
	rql_json_number(&f->b->json, "bytes", bytes);
	rql_json_number(&f->b->json, "build_ms", ms);
	rql_strbuf_put(&f->b->json, "}");
	RQL_TRY(rql_client_run(f->b->con, err, "SET rayql_device = '%s'", f->b->options->device));
	return rql_client_run(f->b->con, err, "DROP INDEX rtscan_sieve");
}

/* Does the list name the beginning of the form's name? */
static bool is_named(const char *list, const char *name)
{
	for (const char *at = list; at && *at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
		if (strncmp(at, name, strcspn(at, ",")) == 0)
			return true;
	return false;
}

static bool is_asked(const struct bench *b, const struct rql_rtscan_form *form)
{
	if ((form->flags & RQL_RTSCAN_ON_GPU) && !b->gpu)
		return false;
	return b->options->forms ? is_named(b->options->forms, form->name) : !(form->flags & RQL_RTSCAN_SLOW);
}

static rql_status run_values(struct bench *b, const struct rql_rtscan_figure *figure, enum rql_rtscan_values values,
                             struct rql_error *err)
{
	struct figure_run f = {.b = b, .figure = figure, .values = values};
	const uint32_t columns = figure->predicates > RQL_RTSCAN_COLUMNS ? figure->predicates : RQL_RTSCAN_COLUMNS;
	RQL_TRY(rql_rtscan_make(b->con, values, columns, b->options->rows, err));
	RQL_TRY(make_statements(&f, err));
	printf("figure %u: %s, %s; %" PRId64 " rows, ms\n", figure->number, figure->title, rql_rtscan_values_names[values],
	       b->options->rows);
	if (figure->found)
		printf("  the paper, RTX 3090: %s\n", figure->found);
	printf("  %-30s", figure->conditions ? "condition" : "selectivity");
	for (uint32_t s = 0; s < f.count; s++)
		printf(" %7s", f.names[s]);
	printf("\n");
	if (figure->transfer && b->gpu) {
		if (b->transfer_us < 0)
			RQL_TRY(rql_rtscan_transfer(b->options->device, b->options->rows, b->options->runs, &b->transfer_us, err));
		printf("  the bitmap's way to the host, part of the times on %s: %.3f\n", b->options->device, b->transfer_us / 1e3);
	}
	RQL_TRY(rql_client_run(b->con, err, "SET rayql_enable_scan = off"));
	RQL_TRY(run_rival(&f, HOST, "DuckDB (SQL to rows)", NULL, false, err));
	RQL_TRY(rql_client_run(b->con, err, "SET rayql_enable_scan = on"));
	RQL_TRY(run_rival(&f, SCAN, "fused scan", "scan", b->gpu, err));
	if (figure->cube)
		RQL_TRY(run_cube(&f, err));
	for (const struct rql_rtscan_form *form = figure->forms; form->name; form++)
		if (is_asked(b, form))
			RQL_TRY(run_form(&f, form, err));
	return figure->cube ? rql_client_run(b->con, err, "DROP MATERIALIZED VIEW rtscan_cube") : RQL_OK;
}

static rql_status run_figures(struct bench *b, struct rql_error *err)
{
	RQL_TRY(rql_client_run(b->con, err, "SET rayql_force = on"));
	RQL_TRY(rql_client_run(b->con, err, "SET rayql_device = '%s'", b->options->device));
	for (const struct rql_rtscan_figure *f = rql_rtscan_figures; f->number; f++)
		for (uint32_t v = 0; v < RQL_RTSCAN_VALUES && is_wanted(b->options->figures, f->number); v++)
			if (f->values >> v & 1)
				RQL_TRY(run_values(b, f, (enum rql_rtscan_values)v, err));
	return RQL_OK;
}

/* Also what was measured before a failure. */
static rql_status write_json(struct bench *b, const struct rql_machine *machine, const struct rql_error *failed,
                             struct rql_error *err)
{
	struct rql_strbuf text = {0};
	rql_strbuf_put(&text, "{");
	rql_json_string(&text, "benchmark", "rtscan");
	rql_json_string(&text, "date", machine->date);
	rql_json_string(&text, "cpu", machine->cpu);
	rql_json_count(&text, "threads", machine->threads);
	rql_json_number(&text, "load", machine->load);
	rql_json_string(&text, "device", b->options->device);
	rql_json_count(&text, "rows", (uint64_t)b->options->rows);
	rql_json_count(&text, "runs", (uint64_t)b->options->runs);
	rql_json_string(&text, "error", failed ? rql_error_message(failed) : NULL);
	rql_json_key(&text, "devices");
	rql_status status = rql_client_json(b->con, "SELECT device, name, driver FROM rayql_devices()", &text, err);
	rql_json_key(&text, "cases");
	rql_strbuf_printf(&text, "[%s\n]}\n", rql_strbuf_text(&b->json));
	if (status == RQL_OK)
		status = rql_json_file(b->options->json, &text, err);
	rql_strbuf_free(&text);
	return status;
}

static rql_status run(struct bench *b, struct rql_error *err)
{
	const struct options *o = b->options;
	struct rql_machine machine;
	rayql_database *db = NULL;
	RQL_TRY(rql_machine_measure((unsigned)o->threads, &machine, err));
	RQL_TRY(rql_client_open(NULL, (unsigned)o->threads, &db, &b->con, err));
	b->gpu = strcmp(o->device, "cpu") != 0;
	rql_status status = run_figures(b, err);
	if (status == RQL_OK && b->regret.cases)
		printf("regret of what RayQL chooses, %u cases: %.2f (geometric mean), worst %.2f\n", b->regret.cases,
		       exp(b->regret.log_sum / b->regret.cases), b->regret.worst);
	if (o->json) {
		rql_status written = write_json(b, &machine, status == RQL_OK ? NULL : err, err);
		status = status == RQL_OK ? written : status;
	}
	rayql_disconnect(b->con);
	rayql_close(db);
	return status;
}

int rql_rtscan_main(int argc, char **argv)
{
	struct rql_args args = {.argc = argc - 1, .argv = argv + 1, .program = "rayql bench rtscan"};
	struct options options = {.figures = "15", .device = "cpu", .rows = 20000000, .runs = 7};
	struct bench bench = {.options = &options, .transfer_us = -1};
	struct rql_error err = {0};
	bool help_wanted = false;
	if (!parse(&args, &options, &help_wanted) || (!help_wanted && !are_known(&args, options.figures)))
		return 2;
	if (help_wanted) {
		fputs(help, stdout);
		return 0;
	}
	const rql_status status = run(&bench, &err);
	if (status != RQL_OK)
		fprintf(stderr, "rayql bench: %s\n", rql_error_message(&err));
	else if (bench.wrong)
		fprintf(stderr, "rayql bench: %u answers are wrong\n", bench.wrong);
	rql_strbuf_free(&bench.json);
	rql_error_clear(&err);
	return status != RQL_OK || bench.wrong ? 1 : 0;
}

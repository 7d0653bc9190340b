/* rayql gen ssb: benchmark data into a database or into Parquet files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/bench.h"
#include "bench/common/args.h"
#include "bench/ssb/ssb_data.h"
#include "bench/ssb/ssb_queries.h"
#include "util/budget.h"

static const char help[] =
	"Usage: rayql gen ssb [options]\n"
	"\n"
	"Makes the data of the Star Schema Benchmark: lineorder, customer, supplier, part and date, or with --flat\n"
	"their join, lineorder_flat. The same scale and seed always give the same rows (see docs/ssb.md).\n"
	"\n"
	"  --sf N          scale factor, 0.0001 to 300; 1 is 6 million lines (default 1)\n"
	"  --flat          lineorder_flat instead of the five tables\n"
	"  --all           the five tables and lineorder_flat\n"
	"  --out FILE      the database to write into; it may exist (default ssb.db)\n"
	"  --parquet DIR   write DIR/TABLE/part-*.parquet instead\n"
	"  --seed S        another seed gives other rows (default 42)\n"
	"  --threads T     threads to use (default: all CPUs)\n"
	"  --replace       replace tables that exist\n"
	"  --help          this text\n";

struct gen_options {
	double scale;
	int64_t seed, threads;
	bool flat, all, replace, help;
	const char *out, *parquet;
};

static bool parse(struct rql_args *args, struct gen_options *o)
{
	const char *value, *benchmark = NULL;
	for (args->at = 1; args->at < args->argc && !args->failed; args->at++) {
		if (rql_args_flag(args, "help") || rql_args_flag(args, "h"))
			return o->help = true;
		if (rql_args_flag(args, "flat"))
			o->flat = true;
		else if (rql_args_flag(args, "all"))
			o->all = true;
		else if (rql_args_flag(args, "replace"))
			o->replace = true;
		else if (rql_args_value(args, "sf", &value))
			rql_args_double(args, "sf", value, 0.0001, 300, &o->scale);
		else if (rql_args_value(args, "seed", &value))
			rql_args_integer(args, "seed", value, INT64_MIN, INT64_MAX, &o->seed);
		else if (rql_args_value(args, "threads", &value))
			rql_args_integer(args, "threads", value, 1, 1024, &o->threads);
		else if (rql_args_value(args, "out", &o->out) || rql_args_value(args, "parquet", &o->parquet))
			continue;
		else
			rql_args_benchmark(args, &benchmark);
	}
	if (args->failed)
		return false;
	if (!benchmark)
		rql_args_error(args, "say which benchmark's data to make: ssb");
	else if (strcmp(benchmark, "ssb"))
		rql_args_error(args, "there is no benchmark %s: use ssb", benchmark);
	else if (o->out && o->parquet)
		rql_args_error(args, "--out and --parquet exclude each other");
	return !args->failed;
}

static uint64_t file_bytes(const char *path)
{
	struct stat st;
	return stat(path, &st) ? 0 : (uint64_t)st.st_size;
}

static void report(const char *table, const struct rql_ssb_loaded *loaded, uint64_t bytes)
{
	char size[32];
	printf("%-15s %12llu rows %8.1f s", table, (unsigned long long)loaded->rows, loaded->seconds);
	if (bytes)
		printf("  %s", rql_format_bytes(size, bytes));
	putchar('\n');
	fflush(stdout);
}

static rql_status check_table(rayql_connection *con, const char *table, const struct gen_options *o,
                              struct rql_error *err)
{
	bool exists;
	RQL_TRY(rql_ssb_table_exists(con, table, &exists, err));
	if (!exists)
		return RQL_OK;
	if (o->replace)
		return rql_client_run(con, err, "DROP TABLE \"%s\"", table);
	return rql_error_set(err, RQL_ERROR_STATEMENT,
	                     "\"%s\" has a table %s already: give --replace to replace it, or another file with --out",
	                     o->out, table);
}

static rql_status generate_form(rayql_connection *con, const struct rql_ssb_form *form, const struct gen_options *o,
                                struct rql_error *err)
{
	struct rql_ssb_source source = {.scale = o->scale, .seed = o->seed};
	struct rql_ssb_loaded loaded;
	uint64_t bytes = 0;
	for (const char *const *table = form->tables; *table; table++) {
		if (o->parquet) {
			RQL_TRY(rql_ssb_write_parquet(con, *table, &source, o->parquet, &loaded, &bytes, err));
		} else {
			RQL_TRY(check_table(con, *table, o, err));
			RQL_TRY(rql_ssb_load_table(con, *table, &source, &loaded, err));
		}
		report(*table, &loaded, bytes);
	}
	return RQL_OK;
}

static rql_status generate(const struct gen_options *o, struct rql_error *err)
{
	rayql_database *db = NULL;
	rayql_connection *con = NULL;
	bool existed = o->parquet || access(o->out, F_OK) == 0;
	RQL_TRY(rql_client_open(o->parquet ? NULL : o->out, (unsigned)o->threads, &db, &con, err));
	rql_status status = RQL_OK;
	if (o->all || !o->flat)
		status = generate_form(con, &rql_ssb_normalised, o, err);
	if (status == RQL_OK && (o->all || o->flat))
		status = generate_form(con, &rql_ssb_flat, o, err);
	if (status == RQL_OK && !o->parquet)
		status = rql_client_run(con, err, "CHECKPOINT");
	rayql_disconnect(con);
	rayql_close(db);
	if (status == RQL_OK && !o->parquet) {
		char size[32];
		printf("%s: %s\n", o->out, rql_format_bytes(size, file_bytes(o->out)));
	} else if (!existed) {
		unlink(o->out); /* a disk that was too small gets its space back */
	}
	return status;
}

int rql_gen_main(int argc, char **argv)
{
	struct rql_args args = {.argc = argc, .argv = argv, .program = "rayql gen"};
	struct gen_options options = {.scale = 1, .seed = 42};
	struct rql_error err = {0};
	if (!parse(&args, &options))
		return 2;
	if (options.help) {
		fputs(help, stdout);
		return 0;
	}
	if (!options.out)
		options.out = "ssb.db";
	if (generate(&options, &err) == RQL_OK)
		return 0;
	fprintf(stderr, "rayql gen: %s\n", rql_error_message(&err));
	rql_error_clear(&err);
	return 1;
}

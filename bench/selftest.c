/* rayql selftest: does every device do what the engine needs of it? */
#include <inttypes.h>
#include <stdio.h>

#include "bench/bench.h"
#include "bench/common/args.h"
#include "rayql/rayql.h"

static const char help[] = "Usage: rayql selftest [options]\n"
						   "\n"
						   "Runs the conformance suite: transfers, passes, ray tracing, the primitives and the methods "
                           "of each unit, on random\n"
						   "data, compared with plain loops. Exit status 1 when a case fails. Without options it runs "
                           "on all devices and then\n"
						   "checks a materialized view end to end.\n"
						   "\n"
						   "  --device D      cpu, vulkan:0, a UUID or PCI address, or all (default all)\n"
						   "  --seed N        another seed draws other data (default 42)\n"
						   "  --thorough      larger data: minutes instead of seconds\n"
						   "  --help          this text\n";

struct selftest_options {
	const char *device;
	int64_t seed;
	bool thorough, help;
};

static bool parse(struct rql_args *args, struct selftest_options *o)
{
	const char *value;
	for (args->at = 1; args->at < args->argc && !args->failed; args->at++) {
		if (rql_args_flag(args, "help") || rql_args_flag(args, "h"))
			return o->help = true;
		if (rql_args_flag(args, "thorough"))
			o->thorough = true;
		else if (rql_args_value(args, "seed", &value))
			rql_args_integer(args, "seed", value, 0, INT64_MAX, &o->seed);
		else if (!rql_args_value(args, "device", &o->device))
			rql_args_error(args, "there is no option %s", args->argv[args->at]);
	}
	return !args->failed;
}

static void print_line(void *state, const char *line)
{
	(void)state;
	puts(line);
	fflush(stdout);
}

int rql_selftest_main(int argc, char **argv)
{
	struct rql_args args = {.argc = argc, .argv = argv, .program = "rayql selftest"};
	struct selftest_options o = {.seed = 42};
	if (!parse(&args, &o))
		return 2;
	if (o.help) {
		fputs(help, stdout);
		return 0;
	}
	rayql_error *err = NULL;
	if (rayql_selftest(o.device, (uint64_t)o.seed, o.thorough, print_line, NULL, &err) == RAYQL_OK)
		return 0;
	fprintf(stderr, "rayql selftest: %s\n", rayql_error_message(err));
	rayql_error_free(err);
	return 1;
}

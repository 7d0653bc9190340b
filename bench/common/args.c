/* Reading the options of a subcommand, and saying what is wrong with them. */
#include "bench/common/args.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* What follows --name (one dash also does, as in the shell), or NULL when the argument is another. */
static const char *after_name(const struct rql_args *args, const char *name)
{
	const char *arg = args->argv[args->at];
	if (arg[0] != '-')
		return NULL;
	arg += arg[1] == '-' ? 2 : 1;
	size_t length = strlen(name);
	return strncmp(arg, name, length) ? NULL : arg + length;
}

bool rql_args_flag(struct rql_args *args, const char *name)
{
	const char *rest = after_name(args, name);
	return rest && !*rest;
}

bool rql_args_value(struct rql_args *args, const char *name, const char **value)
{
	const char *rest = after_name(args, name);
	if (!rest || (*rest && *rest != '='))
		return false;
	*value = NULL;
	if (*rest == '=')
		*value = rest + 1;
	else if (args->at + 1 < args->argc)
		*value = args->argv[++args->at];
	else
		rql_args_error(args, "--%s needs a value", name);
	return true;
}

void rql_args_error(struct rql_args *args, const char *fmt, ...)
{
	va_list list;
	va_start(list, fmt);
	fprintf(stderr, "%s: ", args->program);
	vfprintf(stderr, fmt, list);
	fprintf(stderr, "\nTry %s --help.\n", args->program);
	va_end(list);
	args->failed = true;
}

bool rql_args_double(struct rql_args *args, const char *name, const char *value, double least, double most, double *out)
{
	char *end;
	if (!value)
		return false;
	double number = strtod(value, &end);
	if (end == value || *end || !(number >= least && number <= most)) {
		rql_args_error(args, "--%s %s: expected a number from %g to %g", name, value, least, most);
		return false;
	}
	*out = number;
	return true;
}

bool rql_args_integer(struct rql_args *args, const char *name, const char *value, int64_t least, int64_t most,
                      int64_t *out)
{
	char *end;
	if (!value)
		return false;
	errno = 0;
	long long number = strtoll(value, &end, 10);
	if (end == value || *end || errno || number < least || number > most) {
		rql_args_error(args, "--%s %s: expected a whole number from %lld to %lld", name, value, (long long)least,
		               (long long)most);
		return false;
	}
	*out = number;
	return true;
}

void rql_args_benchmark(struct rql_args *args, const char **benchmark)
{
	const char *argument = args->argv[args->at];
	if (argument[0] == '-')
		rql_args_error(args, "there is no option %s", argument);
	else if (*benchmark)
		rql_args_error(args, "one benchmark at a time: %s", argument);
	else
		*benchmark = argument;
}

bool rql_args_listed(const char *list, const char *name)
{
	size_t length = strlen(name);
	for (const char *at = list; at; at = strchr(at, ',')) {
		at += *at == ',';
		if (!strncasecmp(at, name, length) && (at[length] == ',' || !at[length]))
			return true;
	}
	return false;
}

/* Options of the subcommands: --name VALUE or --name=VALUE, and flags. */
#ifndef RQL_BENCH_ARGS_H
#define RQL_BENCH_ARGS_H

#include <stdbool.h>
#include <stdint.h>

struct rql_args {
	int argc;
	char **argv;
	int at;             /* the argument looked at */
	const char *program; /* "rayql gen": in messages */
	bool failed;        /* a message was printed */
};

/* Is the argument the flag --name? */
bool rql_args_flag(struct rql_args *args, const char *name);
/* Is it --name with a value? Then *value is set; a missing value is an error (true, *value NULL). */
bool rql_args_value(struct rql_args *args, const char *name, const char **value);
/* Is name one of the list "q1,q7"? */
bool rql_args_listed(const char *list, const char *name);
/* Takes the argument as the benchmark's name; an unknown option and a second name are errors. */
void rql_args_benchmark(struct rql_args *args, const char **benchmark);
/* Prints "rayql gen: ..." and where to find help; sets failed. */
void rql_args_error(struct rql_args *args, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* value of option name as a number in [least, most], else an error. */
bool rql_args_double(struct rql_args *args, const char *name, const char *value, double least, double most,
                     double *out);
bool rql_args_integer(struct rql_args *args, const char *name, const char *value, int64_t least, int64_t most,
                      int64_t *out);

#endif

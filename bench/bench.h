/* The subcommands of the program beside the shell: `rayql gen`, `rayql bench` and `rayql selftest`. They use the public API
 * alone, as a user's program would. */
#ifndef RQL_BENCH_H
#define RQL_BENCH_H

/* argv[0] is the subcommand's own name ("gen", "bench", ...). The result is the process's exit code: 0 done; 1 something
 * failed (rql_bench_main: also when an answer differs from the host's); 2 the arguments are wrong. */
int rql_gen_main(int argc, char **argv);
int rql_bench_main(int argc, char **argv);
/* The devices' conformance; `rayql selftest` without options goes on to the shell's own check. */
int rql_selftest_main(int argc, char **argv);

#endif

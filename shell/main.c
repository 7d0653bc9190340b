/* rayql: the program. Picks the subcommand; without one it is the shell. */
#include <string.h>

#include "bench/bench.h"
#include "shell.h"

int main(int argc, char **argv)
{
	/* A database file of such a name can still be opened as ./gen. */
	if (argc > 1 && !strcmp(argv[1], "gen"))
		return rql_gen_main(argc - 1, argv + 1);
	if (argc > 1 && !strcmp(argv[1], "bench"))
		return rql_bench_main(argc - 1, argv + 1);
	if (argc > 1 && !strcmp(argv[1], "selftest")) {
		int code = rql_selftest_main(argc - 1, argv + 1);
		if (code || argc > 2)
			return code;
		/* Without options the whole installation is meant: a view and queries over it follow. */
	}
	return rql_sh_main(argc, argv);
}

/* Lists of scales and of roll-ups, and the folder where databases are kept. */
#include "bench/common/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void rql_option_scales(struct rql_args *args, const char *value, double *scales, uint32_t *count)
{
	if (!value)
		return;
	*count = 0;
	char *copy = strdup(value), *rest = copy;
	if (!copy) {
		rql_args_error(args, "out of memory");
		return;
	}
	for (char *item; (item = strsep(&rest, ",")) && !args->failed;) {
		double scale;
		if (*count == RQL_BENCH_SCALES)
			rql_args_error(args, "--sf %s: at most %u scales", value, RQL_BENCH_SCALES);
		else if (rql_args_double(args, "sf", item, 0.0001, 300, &scale))
			scales[(*count)++] = scale;
	}
	free(copy);
}

void rql_option_rollups(struct rql_args *args, const char *value, enum rql_bench_rollup *rollups, uint32_t *count)
{
	if (!value)
		return;
	*count = 0;
	char *copy = strdup(value), *rest = copy;
	if (!copy) {
		rql_args_error(args, "out of memory");
		return;
	}
	for (char *item; (item = strsep(&rest, ",")) && !args->failed;) {
		unsigned r = 0;
		while (r < RQL_BENCH_ROLLUPS && strcmp(item, rql_bench_rollup_names[r]))
			r++;
		if (r == RQL_BENCH_ROLLUPS || *count == RQL_BENCH_ROLLUPS)
			rql_args_error(args, "--rollup %s: expected off, on or auto, or several with commas", value);
		else
			rollups[(*count)++] = (enum rql_bench_rollup)r;
	}
	free(copy);
}

char *rql_option_directory(void)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	char *path;
	int length;
	if (cache && *cache)
		length = asprintf(&path, "%s/rayql/bench", cache);
	else
		length = asprintf(&path, "%s/.cache/rayql/bench", home && *home ? home : "/tmp");
	return length < 0 ? NULL : path;
}

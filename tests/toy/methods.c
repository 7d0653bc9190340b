/* The engine's list of methods, and the toys behind it. */
#define rql_methods rql_engine_methods
#include "method/methods.c"
#undef rql_methods

#include <pthread.h>

#include "toy.h"

#define MOST 64u /* methods, NULL included: as many as settings have bits */

static const struct rql_method *all[MOST];

static void join_lists(void)
{
	static const struct rql_method *const toys[] = {&rql_method_toy_all_cpu, &rql_method_toy_all_compute,
	                                                &rql_method_toy_exact_cpu, &rql_method_toy_exact_compute};
	uint32_t count = 0;
	for (const struct rql_method *const *m = rql_engine_methods(); *m && count < MOST - sizeof toys / sizeof *toys; m++)
		all[count++] = *m;
	for (uint32_t t = 0; t < sizeof toys / sizeof *toys; t++)
		all[count++] = toys[t];
}

const struct rql_method *const *rql_methods(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, join_lists);
	return all;
}

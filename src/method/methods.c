#include "method/method.h"

/* The vtables of the families; their own headers are not for this folder. */
extern const struct rql_method rql_method_cube_cpu;

const struct rql_method *const *rql_methods(void)
{
	static const struct rql_method *const methods[] = {
	    &rql_method_cube_cpu,
	    NULL,
	};
	return methods;
}

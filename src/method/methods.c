#include "method/method.h"

#include "method/cube/cube.h"

const struct rql_method *const *rql_methods(void)
{
	static const struct rql_method *const methods[] = {
	    &rql_method_cube_cpu,
	    NULL,
	};
	return methods;
}

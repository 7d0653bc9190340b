// Workgroups of an indirect dispatch, laid out in two dimensions as work.h says.
uvec3 rql_groups_of(uint groups)
{
	uint y = max((groups + 65534u) / 65535u, 1u);
	return uvec3((groups + y - 1u) / y, y, 1u);
}

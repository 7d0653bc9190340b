// axis.h for shaders, word for word; what is said there holds here.
#ifndef RQL_GEOMETRY_AXIS_GLSL
#define RQL_GEOMETRY_AXIS_GLSL

struct rql_axis_ray {
	vec3 origin;
	float step;   // direction (0, 0, step)
	float extent; // tmax; tmin is 0. Not above 0: nothing must be traced
};

void rql_axis_triangle(uvec3 point, float unit, out float corner[9])
{
	precise float x = float(point.x), y = float(point.y), z = float(point.z) * unit;
	corner[0] = x - 0.5;
	corner[1] = y - 0.5;
	corner[2] = z;
	corner[3] = x + 0.5;
	corner[4] = y - 0.5;
	corner[5] = z;
	corner[6] = x;
	corner[7] = y + 0.5;
	corner[8] = z;
}

float rql_axis_length(uint low, uint high, float unit)
{
	return low > high ? 0.0 : float(high - low + 1) * unit;
}

rql_axis_ray rql_axis_ray_up(uint x, uint y, uint low, uint high, float unit)
{
	precise float z = (float(low) - 0.5) * unit;
	return rql_axis_ray(vec3(float(x), float(y), z), 1.0, rql_axis_length(low, high, unit));
}

rql_axis_ray rql_axis_ray_down(uint x, uint y, uint low, uint high, float unit)
{
	precise float z = (float(high) + 0.5) * unit;
	return rql_axis_ray(vec3(float(x), float(y), z), -1.0, rql_axis_length(low, high, unit));
}

#endif

// grid.h for shaders; what is said there holds here.
#ifndef RQL_GEOMETRY_GRID_GLSL
#define RQL_GEOMETRY_GRID_GLSL

float rql_grid_ray(uint leg, uint center, uint index)
{
	return float(int((index + 1u) << (leg - 1u)) - int(center)) - 0.5;
}

// The value at a coordinate.
uint rql_grid_value(uint center, float coordinate)
{
	return uint(int(coordinate) + int(center));
}

// The corners of the triangle whose right-angle corner is there.
void rql_grid_triangle(vec3 corner, float leg_x, float leg_y, out float corners[9])
{
	precise float x = corner.x + leg_x, y = corner.y + leg_y;
	corners[0] = corner.x;
	corners[1] = corner.y;
	corners[2] = corner.z;
	corners[3] = x;
	corners[4] = corner.y;
	corners[5] = corner.z;
	corners[6] = corner.x;
	corners[7] = y;
	corners[8] = corner.z;
}
#endif

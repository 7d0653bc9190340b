// The primitives of matrix.h in shaders.
#ifndef RQL_GEOMETRY_MATRIX_GLSL
#define RQL_GEOMETRY_MATRIX_GLSL

float rql_matrix_place(uint value, uint center)
{
	return float(int(value) - int(center));
}

void rql_matrix_cube(uvec3 value, uvec3 center, uint width, out float box[6])
{
	for (uint axis = 0u; axis < 3u; axis++) {
		float at = rql_matrix_place(value[axis], center[axis]), around = 0.5 * float(width);
		precise float below = at - around, above = at + around;
		box[axis] = below;
		box[3u + axis] = above;
	}
}

void rql_matrix_leg(uint value, uint center, uint leg, out float corner[9])
{
	float at = rql_matrix_place(value, center), s = float(leg);
	precise float end = at + s;
	corner = float[9](end, 0.0, 0.0, at, 0.0, s, at, s, -s);
}

void rql_matrix_cell(uvec3 value, float unit_x, out float corner[9])
{
	float x = float(value.x) * unit_x, y = float(value.y), z = float(value.z), around = 0.5 * unit_x;
	precise float left = x - around, right = x + around;
	corner = float[9](right, y - 0.5, z, left, y, z + 0.5, x, y + 0.5, z - 0.5);
}

#endif

#version 460
// The row's matches at once: blending adds them to 0.
layout(location = 0) flat in uvec2 point;
layout(location = 0) out vec4 count;

void main()
{
	count = vec4(point.y);
}

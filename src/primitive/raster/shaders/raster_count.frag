#version 460
// One, to be added.
layout(location = 0) out vec4 count;

void main()
{
	count = vec4(1.0);
}

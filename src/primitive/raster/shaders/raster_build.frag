#version 460
// The point's key and row: the last one drawn stays.
layout(location = 0) flat in uvec4 value;
layout(location = 0) out uvec4 pixel;

void main()
{
	pixel = value;
}

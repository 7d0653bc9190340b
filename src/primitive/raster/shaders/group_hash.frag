#version 460
// The row's number and key: the last one drawn stays.
layout(location = 0) flat in uvec4 first;
layout(location = 0) out uvec4 pixel;
#if ATTACHMENTS > 1
layout(location = 1) flat in uvec4 second;
layout(location = 1) out uvec4 more;
#endif

void main()
{
	pixel = first;
#if ATTACHMENTS > 1
	more = second;
#endif
}

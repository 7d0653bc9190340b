#version 460
// The row's bit: the drawing ORs it into the word.
layout(location = 0) flat in uint bit;
layout(location = 0) out uint word;

void main()
{
	word = bit;
}

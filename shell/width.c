#include "width.h"

#include <stdbool.h>

#include "width_table.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { ZERO_WIDTH_JOINER = 0x200d, REPLACEMENT = 0xfffd };

static bool in_ranges(const struct rql_sh_range *ranges, size_t count, uint32_t code_point)
{
	size_t low = 0, high = count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (code_point > ranges[middle].last)
			low = middle + 1;
		else
			high = middle;
	}
	return low < count && code_point >= ranges[low].first;
}

unsigned rql_sh_char_width(uint32_t code_point)
{
	if (code_point < 0x20 || (code_point >= 0x7f && code_point < 0xa0))
		return 0;
	if (code_point < 0x300)
		return 1;
	if (in_ranges(zero_width, COUNT(zero_width), code_point))
		return 0;
	return in_ranges(double_width, COUNT(double_width), code_point) ? 2 : 1;
}

/* Colours the character before it and is shown in its place. */
static bool is_skin_tone(uint32_t code_point)
{
	return code_point >= 0x1f3fb && code_point <= 0x1f3ff;
}

uint32_t rql_sh_decode(const char *text, size_t length, size_t *bytes)
{
	static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
	const unsigned char *byte = (const unsigned char *)text;
	*bytes = 1;
	if (byte[0] < 0x80)
		return byte[0];
	size_t need = byte[0] >= 0xf0 && byte[0] < 0xf8 ? 4 : byte[0] >= 0xe0 ? 3 : byte[0] >= 0xc0 ? 2 : 0;
	if (!need || byte[0] >= 0xf8 || need > length)
		return REPLACEMENT;
	uint32_t code_point = byte[0] & (0x7fU >> need);
	for (size_t i = 1; i < need; i++) {
		if ((byte[i] & 0xc0) != 0x80)
			return REPLACEMENT;
		code_point = code_point << 6 | (byte[i] & 0x3f);
	}
	/* Overlong forms, surrogates and what lies beyond Unicode are no characters. */
	if (code_point < smallest[need] || code_point > 0x10ffff || (code_point >= 0xd800 && code_point < 0xe000))
		return REPLACEMENT;
	*bytes = need;
	return code_point;
}

size_t rql_sh_width(const char *text, size_t length)
{
	size_t width = 0;
	bool joined = false;
	for (size_t pos = 0, bytes; pos < length; pos += bytes) {
		uint32_t code_point = rql_sh_decode(text + pos, length - pos, &bytes);
		if (code_point < 0x7f && code_point >= 0x20)
			width++;
		else if (!joined && !(pos && is_skin_tone(code_point)))
			width += rql_sh_char_width(code_point);
		joined = code_point == ZERO_WIDTH_JOINER;
	}
	return width;
}

size_t rql_sh_prefix(const char *text, size_t length, size_t columns, size_t *used)
{
	size_t pos = 0, width = 0;
	bool joined = false;
	while (pos < length && text[pos] != '\n') {
		size_t bytes;
		uint32_t code_point = rql_sh_decode(text + pos, length - pos, &bytes);
		unsigned wide = pos && is_skin_tone(code_point) ? 0 : rql_sh_char_width(code_point);
		/* What a joiner glues on is part of the character before it and is shown in its place. */
		if (!joined && width + wide > columns)
			break;
		if (!joined)
			width += wide;
		joined = code_point == ZERO_WIDTH_JOINER;
		pos += bytes;
	}
	*used = width;
	return pos;
}

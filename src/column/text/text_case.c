/* Pieces of strings by characters, and upper and lower case. */
#include <string.h>
#include "column/text/text_internal.h"

/* The first byte of character `index` (from 0), or the end where there are not so many. */
static const char *character_at(const char *data, const char *end, uint64_t index)
{
	for (; data < end; data++)
		if (rql_is_character(*data) && index-- == 0)
			return data;
	return end;
}

/* Characters [from, to) of n, both within. */
static struct rql_string cut(const struct rql_text_kernels *kernels, const struct rql_string *s, int64_t from, int64_t to)
{
	const char *data = rql_string_data(s), *end = data + s->length;
	if (from >= to)
		return rql_string_make("", 0);
	uint64_t bytes = (uint64_t)to < s->length ? (uint64_t)to : s->length;
	if (kernels->is_ascii(data, bytes))
		return (uint64_t)from < bytes ? rql_string_make(data + from, (uint32_t)(bytes - (uint64_t)from))
		                              : rql_string_make("", 0);
	const char *begin = character_at(data, end, (uint64_t)from);
	const char *behind = character_at(begin, end, (uint64_t)(to - from));
	return rql_string_make(begin, (uint32_t)(behind - begin));
}

/* Counted from the front all characters are numbers from 0 on; 0 stands for the place before the first one. */
bool rql_text_slice(const struct rql_text_kernels *kernels, const struct rql_string *s, int64_t from, int64_t count,
                    struct rql_string *out)
{
	int64_t begin = from - 1;
	if (from < 0 || count < 0) {
		int64_t all = (int64_t)kernels->characters(rql_string_data(s), s->length);
		begin = from < 0 ? all + from : begin;
		if (count > 0 ? begin < 0 && begin + count < all : count < 0 && begin > all && all > 0)
			return false;
	}
	int64_t end = count < 0 ? begin : begin + count;
	begin = count < 0 ? begin + count : begin;
	*out = cut(kernels, s, begin > 0 ? begin : 0, end > 0 ? end : 0);
	return true;
}

/* ---- case ---- */

/* Distance of the other case, and whether it is known at all: letters of Latin-1, Greek and Russian, characters of scripts
 * that have no case. tests/unit/test_text_host.c compares every code point with the host's. */
static bool other_case(uint32_t c, bool upper, int32_t *distance)
{
	*distance = 0;
	if (c < 0xc0) /* of Latin-1 before the letters only the micro sign has an upper case */
		return c != 0xb5;
	if (c < 0x100) {
		bool is_small = c >= 0xe0;
		if (c == 0xdf || c == 0xff)
			return !upper;
		if (c != 0xd7 && c != 0xf7 && is_small == upper)
			*distance = upper ? -0x20 : 0x20;
		return true;
	}
	if (c >= 0x391 && c <= 0x3a9 && c != 0x3a2) {
		*distance = upper ? 0 : 0x20;
		return true;
	}
	if (c >= 0x3b1 && c <= 0x3c9 && c != 0x3c2) {
		*distance = upper ? -0x20 : 0;
		return true;
	}
	if (c >= 0x400 && c <= 0x45f) {
		bool is_small = c >= 0x430;
		if (is_small == upper)
			*distance = (c >= 0x450 || c < 0x410 ? 0x50 : 0x20) * (upper ? -1 : 1);
		return true;
	}
	return (c >= 0x5d0 && c <= 0x6d3) || (c >= 0x2010 && c <= 0x205e) || (c >= 0x3041 && c <= 0x30ff) ||
	       (c >= 0x4e00 && c <= 0x9fff) || (c >= 0xac00 && c <= 0xd7a3) || (c >= 0x1f300 && c <= 0x1faff);
}

static unsigned char ascii_case(unsigned char c, bool upper)
{
	unsigned char first = upper ? 'a' : 'A';
	return (unsigned char)(c - first) < 26 ? c ^ 0x20 : c;
}

/* The character at data as a number, and its bytes. UTF-8 is checked by the host. */
static uint32_t decode(const unsigned char *data, uint32_t left, uint32_t *bytes)
{
	static const unsigned char masks[5] = {0, 0x7f, 0x1f, 0x0f, 0x07};
	uint32_t n = data[0] < 0x80 ? 1 : data[0] < 0xe0 ? 2 : data[0] < 0xf0 ? 3 : 4;
	*bytes = n = n < left ? n : left;
	uint32_t c = data[0] & masks[n];
	for (uint32_t i = 1; i < n; i++)
		c = c << 6 | (data[i] & 0x3f);
	return c;
}

bool rql_text_case(const char *data, uint32_t length, bool upper, char *out)
{
	const unsigned char *from = (const unsigned char *)data;
	unsigned char any = 0;
	for (uint32_t i = 0; i < length; i++) {
		any |= from[i];
		out[i] = (char)ascii_case(from[i], upper);
	}
	if (any < 0x80)
		return true;
	for (uint32_t i = 0, bytes; i < length; i += bytes) {
		uint32_t c = decode(from + i, length - i, &bytes);
		int32_t distance = 0;
		if (bytes == 1)
			continue;
		if (!other_case(c, upper, &distance))
			return false;
		if (bytes > 2 || !distance) /* no letter that is known has three bytes */
			continue;
		c += (uint32_t)distance;
		out[i] = (char)(0xc0 | c >> 6);
		out[i + 1] = (char)(0x80 | (c & 0x3f));
	}
	return true;
}

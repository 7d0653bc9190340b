/* Widths of characters and of what is drawn as one: UTF-8 decoded, looked up in tables of ranges, and put together. */
#include "width.h"

#include <stdbool.h>

#include "width_table.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { SOFT_HYPHEN = 0xad, ZERO_WIDTH_JOINER = 0x200d, REPLACEMENT = 0xfffd };

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

/* ---- what is one character to a reader (Unicode's grapheme clusters): it is as wide as its first code point ---- */
enum kind { OTHER, CONTROL, PREPENDED, REGIONAL, HANGUL_L, HANGUL_V, HANGUL_T, HANGUL_LV, HANGUL_LVT };

struct cluster {
	enum kind last;
	bool pictograph, joined;   /* begins with a pictograph; and ends with a joiner */
	bool consonant, virama;    /* begins with a consonant; and has a virama */
	bool flag;                 /* is the first letter of a flag */
};

static enum kind hangul(uint32_t c)
{
	if ((c >= 0x1100 && c <= 0x115f) || (c >= 0xa960 && c <= 0xa97c))
		return HANGUL_L;
	if ((c >= 0x1160 && c <= 0x11a7) || (c >= 0xd7b0 && c <= 0xd7c6))
		return HANGUL_V;
	if ((c >= 0x11a8 && c <= 0x11ff) || (c >= 0xd7cb && c <= 0xd7fb))
		return HANGUL_T;
	if (c >= 0xac00 && c <= 0xd7a3)
		return (c - 0xac00) % 28 ? HANGUL_LVT : HANGUL_LV;
	return OTHER;
}

static enum kind kind_of(uint32_t c)
{
	if (c < 0x20 || (c >= 0x7f && c < 0xa0) || c == SOFT_HYPHEN)
		return CONTROL;
	if (c < 0x300)
		return OTHER;
	if (c >= 0x1f1e6 && c <= 0x1f1ff)
		return REGIONAL;
	return in_ranges(prepended, COUNT(prepended), c) ? PREPENDED : hangul(c);
}

static bool is_virama(uint32_t c)
{
	return c == 0x94d || c == 0x9cd || c == 0xacd || c == 0xb4d || c == 0xc4d || c == 0xd4d;
}

/* Syllables are written with up to three letters. */
static bool same_syllable(enum kind a, enum kind b)
{
	bool begins = a == HANGUL_L && b >= HANGUL_L && b != HANGUL_T;
	bool vowel = (a == HANGUL_LV || a == HANGUL_V) && (b == HANGUL_V || b == HANGUL_T);
	return begins || vowel || ((a == HANGUL_LVT || a == HANGUL_T) && b == HANGUL_T);
}

/* The columns that one more code point takes; first: nothing is before it. */
static unsigned cluster_width(struct cluster *cluster, uint32_t c, bool first)
{
	unsigned width = rql_sh_char_width(c);
	enum kind kind = kind_of(c), last = first ? CONTROL : cluster->last;
	bool control = kind == CONTROL || last == CONTROL, plain = c < 0x300;
	bool extends = !plain && (!width || in_ranges(extending, COUNT(extending), c)) && kind != PREPENDED;
	bool pictograph = (!plain || c == 0xa9 || c == 0xae) && in_ranges(pictographs, COUNT(pictographs), c);
	bool consonant = !plain && in_ranges(consonants, COUNT(consonants), c);
	bool part = !control && (extends || last == PREPENDED || same_syllable(last, kind) ||
	                         (cluster->joined && pictograph) || (cluster->virama && consonant) ||
	                         (cluster->flag && kind == REGIONAL));
	if (part && extends) {
		cluster->joined = cluster->pictograph && c == ZERO_WIDTH_JOINER;
		cluster->virama = cluster->consonant && (cluster->virama || is_virama(c));
		cluster->flag = false;
		cluster->last = OTHER;
		return 0;
	}
	cluster->flag = kind == REGIONAL && !(part && cluster->flag);
	*cluster = (struct cluster){.last = kind, .pictograph = pictograph, .consonant = consonant, .flag = cluster->flag};
	return part ? 0 : width;
}

size_t rql_sh_width(const char *text, size_t length)
{
	size_t width = 0;
	struct cluster cluster = {0};
	for (size_t pos = 0, bytes; pos < length; pos += bytes)
		width += cluster_width(&cluster, rql_sh_decode(text + pos, length - pos, &bytes), !pos);
	return width;
}

/* The bytes of a terminal's control sequence at text (ESC [ ... letter, or ESC and one byte), or 0. */
static size_t escape_length(const char *text, size_t length)
{
	size_t pos = 2;
	if (text[0] != 0x1b)
		return 0;
	if (length < 2 || text[1] != '[')
		return length < 2 ? length : 2;
	while (pos < length && !(text[pos] >= '@' && text[pos] <= '~'))
		pos++;
	return pos < length ? pos + 1 : pos;
}

size_t rql_sh_last_line_width(const char *text, size_t length)
{
	enum { TAB = 8 };
	size_t width = 0, bytes;
	struct cluster cluster = {0};
	for (size_t pos = 0; pos < length; pos += bytes) {
		bytes = escape_length(text + pos, length - pos);
		if (bytes)
			continue;
		uint32_t code_point = rql_sh_decode(text + pos, length - pos, &bytes);
		unsigned wide = cluster_width(&cluster, code_point, !pos);
		if (code_point == '\r' && pos + 1 < length && text[pos + 1] == '\n')
			bytes = 2; /* one character, and none that begins a line */
		width = code_point == '\n' ? 0 : code_point == '\t' ? width + TAB - width % TAB : width + wide;
	}
	return width;
}

size_t rql_sh_prefix(const char *text, size_t length, size_t columns, size_t *used)
{
	size_t pos = 0, width = 0;
	struct cluster cluster = {0};
	while (pos < length && text[pos] != '\n') {
		size_t bytes;
		unsigned wide = cluster_width(&cluster, rql_sh_decode(text + pos, length - pos, &bytes), !pos);
		if (width + wide > columns)
			break;
		width += wide;
		pos += bytes;
	}
	*used = width;
	return pos;
}

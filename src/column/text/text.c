/* Searching many strings at once; and the portable kernels, which the others must equal. */
#include "column/text/text_internal.h"

#include <string.h>

const struct rql_text_kernels *rql_text_kernels_for(enum rql_simd simd)
{
#if defined(__x86_64__)
	if (simd >= RQL_SIMD_AVX2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2"))
		return &rql_text_kernels_avx2;
#endif
	(void)simd;
	return &rql_text_kernels_portable;
}

/* ---- needles ---- */

#define SAMPLED 64u /* strings whose bytes are counted */

void rql_text_common(const struct rql_string *strings, uint64_t count, uint32_t common[256])
{
	memset(common, 0, 256 * sizeof *common);
	for (uint64_t i = 0; i < SAMPLED && i < count; i++) {
		const struct rql_string *s = &strings[count <= SAMPLED ? i : i * (count / SAMPLED)];
		const unsigned char *data = (const unsigned char *)rql_string_data(s);
		for (uint32_t b = 0; b < s->length && b < 256; b++)
			common[data[b]]++;
	}
}

/* How often the byte is met by chance, where nobody has counted: letters and blanks often, a character's first byte of
 * two always. */
static uint32_t commonness(unsigned char byte, const uint32_t *common)
{
	if (common)
		return common[byte];
	return byte >= 0xc0 ? 3 : byte == ' ' || byte == 'e' || byte == 'a' ? 2 : 1;
}

struct rql_needle rql_needle_make(const char *bytes, uint32_t length, const uint32_t common[256])
{
	uint32_t best = 0, next = length - 1;
	const unsigned char *data = (const unsigned char *)bytes;
	for (uint32_t i = 0; i < length; i++)
		if (commonness(data[i], common) < commonness(data[best], common))
			best = i;
	if (next == best)
		next = 0;
	for (uint32_t i = 0; i < length; i++)
		if (i != best && commonness(data[i], common) < commonness(data[next], common))
			next = i;
	return (struct rql_needle){
		.bytes = bytes, .length = length, .near = best < next ? best : next, .far = best < next ? next : best};
}

/* ---- portable ---- */

static const char *find(const char *from, const char *end, const struct rql_needle *n)
{
	if (end - from < (ptrdiff_t)n->length)
		return NULL;
	const char *last = end - n->length, *at = from;
	while (at <= last) {
		const char *hit = memchr(at + n->near, n->bytes[n->near], (size_t)(last - at) + 1);
		if (!hit)
			return NULL;
		hit -= n->near;
		if (hit[n->far] == n->bytes[n->far] && !memcmp(hit, n->bytes, n->length))
			return hit;
		at = hit + 1;
	}
	return NULL;
}

static uint64_t characters(const char *data, uint64_t length)
{
	uint64_t count = 0;
	for (uint64_t i = 0; i < length; i++)
		count += rql_is_character(data[i]);
	return count;
}

static bool is_ascii(const char *data, uint64_t length)
{
	unsigned char any = 0;
	for (uint64_t i = 0; i < length; i++)
		any |= (unsigned char)data[i];
	return any < 0x80;
}

const struct rql_text_kernels rql_text_kernels_portable = {find, characters, is_ascii};

/* ---- many strings ---- */

/* Texts that lie side by side. */
struct run {
	const struct rql_text_kernels *kernels;
	const struct rql_needle *needle;
	const char *begin, *end;
	uint32_t count;
	uint32_t ends[RQL_TEXT_VECTOR]; /* of each, from begin */
	uint16_t number[RQL_TEXT_VECTOR];
};

/* A find may lie across two texts, and is none then; where one is found, the rest of that text does not matter. */
static void search(struct run *run, uint64_t *out)
{
	const char *at = run->begin, *hit;
	uint32_t k = 0;
	while (run->count && (hit = run->kernels->find(at, run->end, run->needle))) {
		uint64_t place = (uint64_t)(hit - run->begin);
		while (run->ends[k] <= place)
			k++;
		if (place + run->needle->length <= run->ends[k]) {
			rql_bit_set(out, run->number[k]);
			at = run->begin + run->ends[k];
		} else {
			at = hit + 1;
		}
	}
	run->count = 0;
}

static bool in_short(const struct rql_string *s, const struct rql_needle *n)
{
	for (uint32_t i = 0; i + n->length <= s->length; i++)
		if (s->inlined[i + n->near] == n->bytes[n->near] && !memcmp(s->inlined + i, n->bytes, n->length))
			return true;
	return false;
}

/* Runs stay below 4 GiB: what lies beyond begins another one. */
static void add_text(struct run *run, const struct rql_string *s, uint32_t i, uint64_t *out)
{
	if (!run->count || s->pointer.data != run->end || (uint64_t)(run->end - run->begin) + s->length > UINT32_MAX) {
		search(run, out);
		run->begin = run->end = s->pointer.data;
	}
	run->end += s->length;
	run->ends[run->count] = (uint32_t)(run->end - run->begin);
	run->number[run->count++] = (uint16_t)i;
}

void rql_text_holding(const struct rql_text_kernels *kernels, const struct rql_string *strings, uint32_t count,
                      const struct rql_needle *needle, const uint64_t *mask, uint64_t *out)
{
	uint32_t words = (count + 63) / 64;
	struct run run;
	run.kernels = kernels;
	run.needle = needle;
	run.count = 0;
	memset(out, 0, words * sizeof *out);
	for (uint32_t w = 0; w < words; w++)
		for (uint64_t left = mask[w]; left; left &= left - 1) {
			uint32_t i = w * 64 + (uint32_t)__builtin_ctzll(left);
			if (strings[i].length > RQL_STRING_INLINE)
				add_text(&run, &strings[i], i, out);
			else if (in_short(&strings[i], needle))
				out[w] |= left & -left;
		}
	search(&run, out);
}

/* ---- UTF-8 ---- */
/* Bytes of the character at data, 0 where none begins. */
static unsigned character_bytes(const unsigned char *data, uint64_t left)
{
	static const struct {
		unsigned below, bytes;
	} leads[] = {{0x80, 1}, {0xc2, 0}, {0xe0, 2}, {0xf0, 3}, {0xf5, 4}, {0x100, 0}};
	unsigned lead = 0;
	while (data[0] >= leads[lead].below)
		lead++;
	unsigned bytes = leads[lead].bytes;
	if (bytes > left)
		return 0;
	for (unsigned i = 1; i < bytes; i++)
		if ((data[i] & 0xc0) != 0x80)
			return 0;
	bool longer = (data[0] == 0xe0 && data[1] < 0xa0) || (data[0] == 0xf0 && data[1] < 0x90);
	bool beyond = (data[0] == 0xed && data[1] >= 0xa0) || (data[0] == 0xf4 && data[1] >= 0x90);
	return longer || beyond ? 0 : bytes;
}

bool rql_text_is_utf8(const char *data, uint64_t length)
{
	uint64_t at = 0;
	while (at < length) {
		uint64_t eight;
		if (length - at >= 8) {
			memcpy(&eight, data + at, 8);
			if (!(eight & UINT64_C(0x8080808080808080))) {
				at += 8;
				continue;
			}
		}
		unsigned bytes = character_bytes((const unsigned char *)data + at, length - at);
		if (!bytes)
			return false;
		at += bytes;
	}
	return true;
}

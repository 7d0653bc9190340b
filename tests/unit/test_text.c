/* The kernels over strings (column/text/text.h) against naive ones: random texts of one to four bytes a character, alone and as
 * a dictionary holds them, in every instruction set. test_text [ROUNDS [SEED]] */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "column/text/text.h"
#include "util/arena.h"

static unsigned rounds = 1000;
static uint64_t seed = 20261123;

static uint32_t roll(uint32_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 20) % n;
}

static const enum rql_simd simds[] = {RQL_SIMD_PORTABLE, RQL_SIMD_AVX2, RQL_SIMD_AVX512};

/* Few letters, so that things are found; `odd` of 10 are longer than a byte. */
static uint32_t make_text(char *out, uint32_t characters, unsigned odd)
{
	static const char *const wide[] = {"é", "ж", "ß", "€", "日", "😀", "z"};
	uint32_t length = 0;
	for (uint32_t i = 0; i < characters; i++) {
		if (roll(10) < odd) {
			const char *c = wide[roll(7)];
			memcpy(out + length, c, strlen(c));
			length += (uint32_t)strlen(c);
		} else {
			out[length++] = "abcab%_.\\"[roll(roll(4) ? 5 : 9)];
		}
	}
	return length;
}

/* In memory of their own, so that a byte read behind them is seen. */
static char *exactly(const char *data, uint32_t length)
{
	char *copy = malloc(length ? length : 1);
	assert_non_null(copy);
	memcpy(copy, data, length);
	return copy;
}

static const char *naive_find(const char *from, const char *end, const char *needle, uint32_t length)
{
	for (; end - from >= (ptrdiff_t)length; from++)
		if (!memcmp(from, needle, length))
			return from;
	return NULL;
}

static bool begins(char c)
{
	return ((unsigned char)c & 0xc0) != 0x80;
}

static uint64_t naive_characters(const char *data, uint64_t length)
{
	uint64_t n = 0;
	for (uint64_t i = 0; i < length; i++)
		n += begins(data[i]);
	return n;
}

static void test_find(void **state)
{
	(void)state;
	char buffer[2000], word[64];
	for (unsigned r = 0; r < rounds; r++) {
		uint32_t length = make_text(buffer, roll(roll(3) ? 40 : 300), roll(5)), n = 0;
		while (!n)
			n = make_text(word, 1 + roll(roll(3) ? 3 : 12), roll(3));
		if (length > n && roll(2)) {
			n = 1 + roll(n);
			memcpy(word, buffer + roll(length - n + 1), n);
		}
		uint32_t common[256] = {0};
		for (uint32_t i = 0; i < length; i++)
			common[(unsigned char)buffer[i]]++;
		char *data = exactly(buffer, length), *needle_data = exactly(word, n);
		struct rql_needle needle = rql_needle_make(needle_data, n, roll(2) ? common : NULL);
		assert_true(needle.near <= needle.far && needle.far < n);
		for (unsigned s = 0; s < 3; s++) {
			const struct rql_text_kernels *k = rql_text_kernels_for(simds[s]);
			assert_ptr_equal(k->find(data, data + length, &needle), naive_find(data, data + length, word, n));
			assert_int_equal(k->characters(data, length), naive_characters(data, length));
			assert_int_equal(k->is_ascii(data, length), naive_characters(data, length) == length &&
			                                                !memchr(data, 0xc3, length));
		}
		free(data);
		free(needle_data);
	}
}

/* ---- LIKE, as its definition says ---- */

static bool naive_like(const char *s, const char *end, const char *p, const char *behind, char escape)
{
	if (p == behind)
		return s == end;
	if (escape && *p == escape)
		return s < end && *s == p[1] && naive_like(s + 1, end, p + 2, behind, escape);
	if (*p == '%') {
		for (const char *from = s; from <= end; from++)
			if (naive_like(from, end, p + 1, behind, escape))
				return true;
		return false;
	}
	if (s == end)
		return false;
	if (*p != '_')
		return *s == *p && naive_like(s + 1, end, p + 1, behind, escape);
	for (s++; s < end && !begins(*s);)
		s++;
	return naive_like(s, end, p + 1, behind, escape);
}

/* What text is, and what patterns are made of. */
static uint32_t make_pattern(char *out)
{
	uint32_t length = 0;
	for (uint32_t parts = roll(5); parts; parts--) {
		unsigned kind = roll(6);
		if (kind < 2)
			out[length++] = '%';
		else if (kind == 2)
			out[length++] = '_';
		else
			length += make_text(out + length, 1 + roll(4), roll(3));
	}
	return length;
}

static bool ends_in_escape(const char *pattern, uint32_t length, char escape)
{
	bool open = false;
	for (uint32_t i = 0; i < length; i++)
		open = !open && escape && pattern[i] == escape;
	return open;
}

#define STRINGS RQL_TEXT_VECTOR
struct strings {
	uint32_t count;
	char *bytes;
	struct rql_string *items;
};

/* Long ones side by side, as in a dictionary, or not. */
static void make_strings(struct strings *out, bool together)
{
	char buffer[1000];
	size_t used = 0;
	out->count = 1 + roll(roll(2) ? STRINGS : 100);
	out->items = calloc(out->count, sizeof *out->items);
	out->bytes = malloc(out->count * 1000u);
	assert_true(out->items && out->bytes);
	unsigned odd = roll(5);
	for (uint32_t i = 0; i < out->count; i++) {
		uint32_t length = make_text(buffer, roll(roll(4) ? 30 : 120), odd);
		memcpy(out->bytes + used, buffer, length);
		out->items[i] = rql_string_make(out->bytes + used, length);
		used += length > RQL_STRING_INLINE ? length : 0;
		used += !together && roll(3) == 0;
	}
	/* no byte more than there is */
	char *moved = malloc(used ? used : 1);
	assert_non_null(moved);
	memcpy(moved, out->bytes, used);
	for (uint32_t i = 0; i < out->count; i++)
		if (out->items[i].length > RQL_STRING_INLINE)
			out->items[i].pointer.data = moved + (out->items[i].pointer.data - out->bytes);
	free(out->bytes);
	out->bytes = moved;
}

static void free_strings(struct strings *s)
{
	free(s->bytes);
	free(s->items);
}

static void make_mask(uint64_t *mask, uint32_t count)
{
	memset(mask, 0, RQL_TEXT_WORDS * sizeof *mask);
	unsigned density = roll(3);
	for (uint32_t i = 0; i < count; i++)
		if (density == 2 || roll(density ? 2 : 20) == 0)
			mask[i >> 6] |= UINT64_C(1) << (i & 63);
}

static void compare_like(const struct rql_like *like, const struct strings *s, const uint64_t *mask, const char *pattern,
                         uint32_t length, char escape)
{
	uint32_t prefix_length;
	bool only;
	const char *prefix = rql_like_prefix(like, &prefix_length, &only);
	for (unsigned k = 0; k < 3; k++) {
		uint64_t out[RQL_TEXT_WORDS];
		const struct rql_text_kernels *kernels = rql_text_kernels_for(simds[k]);
		rql_like_select(kernels, like, s->items, s->count, mask, out);
		for (uint32_t i = 0; i < s->count; i++) {
			const char *data = rql_string_data(&s->items[i]), *end = data + s->items[i].length;
			bool wanted = mask[i >> 6] >> (i & 63) & 1, got = out[i >> 6] >> (i & 63) & 1;
			bool match = naive_like(data, end, pattern, pattern + length, escape);
			bool has_prefix = !prefix_length ||
			                  (s->items[i].length >= prefix_length && !memcmp(data, prefix, prefix_length));
			if (got != (wanted && match) || rql_like_matches(kernels, like, data, s->items[i].length) != match ||
			    (match && !has_prefix) || (only && has_prefix && !match))
				fail_msg("'%.*s' LIKE '%.*s' ESCAPE '%c'", (int)s->items[i].length, data, (int)length, pattern,
				         escape ? escape : ' ');
		}
	}
}

static void test_like(void **state)
{
	(void)state;
	for (unsigned r = 0; r < rounds / 10; r++) {
		struct strings s;
		uint64_t mask[RQL_TEXT_WORDS];
		uint32_t common[256];
		make_strings(&s, roll(4) > 0);
		rql_text_common(s.items, s.count, common);
		for (unsigned p = 0; p < 20; p++) {
			struct rql_arena *arena = rql_arena_new();
			char buffer[200], escape = (char)(roll(4) ? 0 : ".\\a"[roll(3)]);
			uint32_t length = make_pattern(buffer);
			char *pattern = exactly(buffer, length);
			bool refused;
			struct rql_like *like = rql_like_parse(arena, pattern, length, escape, &refused);
			assert_int_equal(refused, ends_in_escape(pattern, length, escape));
			assert_int_equal(!like, refused);
			make_mask(mask, s.count);
			if (like && roll(2))
				rql_like_aim(like, common);
			if (like)
				compare_like(like, &s, mask, pattern, length, escape);
			rql_arena_free(arena);
			free(pattern);
		}
		free_strings(&s);
	}
}

/* prefix, suffix and contains: nothing in them is special. */
static void test_literal(void **state)
{
	(void)state;
	for (unsigned r = 0; r < rounds / 10; r++) {
		struct strings s;
		uint64_t mask[RQL_TEXT_WORDS], out[RQL_TEXT_WORDS];
		make_strings(&s, true);
		make_mask(mask, s.count);
		for (unsigned form = 0; form < 3; form++) {
			struct rql_arena *arena = rql_arena_new();
			char word[64];
			uint32_t n = make_text(word, roll(5), 2);
			struct rql_like *like = rql_like_literal(arena, (enum rql_like_form)form, word, n);
			assert_non_null(like);
			rql_like_select(rql_text_kernels_for(RQL_SIMD_AVX2), like, s.items, s.count, mask, out);
			for (uint32_t i = 0; i < s.count; i++) {
				const char *data = rql_string_data(&s.items[i]);
				uint32_t length = s.items[i].length;
				const char *at = form == RQL_LIKE_PREFIX || length < n ? data : data + length - n;
				bool holds = form == RQL_LIKE_WITHIN ? naive_find(data, data + length, word, n) != NULL
				                                     : length >= n && !memcmp(at, word, n);
				assert_int_equal(out[i >> 6] >> (i & 63) & 1, holds && (mask[i >> 6] >> (i & 63) & 1));
			}
			rql_arena_free(arena);
		}
		free_strings(&s);
	}
}

static void test_slice(void **state)
{
	(void)state;
	char buffer[600];
	for (unsigned r = 0; r < rounds; r++) {
		uint32_t length = make_text(buffer, roll(20), roll(4)), starts[100], n = 0;
		char *data = exactly(buffer, length);
		for (uint32_t i = 0; i < length; i++)
			if (begins(data[i]))
				starts[n++] = i;
		starts[n] = length;
		int64_t from = (int64_t)roll(50) - 25, count = roll(5) ? (int64_t)roll(50) - 25 : UINT32_MAX;
		struct rql_string s = rql_string_make(data, length), out;
		int64_t first = from > 0 ? from - 1 : from < 0 ? (int64_t)n + from : -1, last = first + count;
		if (count < 0) {
			last = first;
			first += count;
		}
		bool clear = !(from < 0 && (int64_t)n + from < 0 && count > 0 && last < n) && !(count < 0 && last > n && n);
		for (unsigned k = 0; k < 3; k++) {
			bool done = rql_text_slice(rql_text_kernels_for(simds[k]), &s, from, count, &out);
			assert_int_equal(done, clear);
			if (!done)
				continue;
			int64_t a = first < 0 ? 0 : first > n ? n : first, b = last < 0 ? 0 : last > n ? n : last;
			b = b < a ? a : b;
			assert_int_equal(out.length, starts[b] - starts[a]);
			assert_memory_equal(rql_string_data(&out), data + starts[a], out.length);
		}
		free(data);
	}
}

static void test_case(void **state)
{
	(void)state;
	static const struct {
		const char *text, *upper, *lower; /* NULL: not known */
	} cases[] = {
		{"", "", ""},
		{"aZ[`{@", "AZ[`{@", "az[`{@"},
		{"Straße", NULL, "straße"},
		{"ÀÉÞ×÷àéþ", "ÀÉÞ×÷ÀÉÞ", "àéþ×÷àéþ"},
		{"Привет Ёлка ѓ", "ПРИВЕТ ЁЛКА Ѓ", "привет ёлка ѓ"},
		{"Αθω", "ΑΘΩ", "αθω"},
		{"日本😀€", NULL, NULL}, /* U+20AC is of no script in the tables */
		{"日本 😀", "日本 😀", "日本 😀"},
		{"İ", NULL, NULL},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		for (unsigned upper = 0; upper < 2; upper++) {
			const char *want = upper ? cases[i].upper : cases[i].lower;
			uint32_t length = (uint32_t)strlen(cases[i].text);
			char *data = exactly(cases[i].text, length), out[100];
			assert_int_equal(rql_text_case(data, length, upper, out), want != NULL);
			if (want)
				assert_memory_equal(out, want, length);
			free(data);
		}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_find),    cmocka_unit_test(test_like), cmocka_unit_test(test_literal),
		cmocka_unit_test(test_slice), cmocka_unit_test(test_case),
	};
	if (argc > 1)
		rounds = (unsigned)strtoul(argv[1], NULL, 10);
	if (argc > 2)
		seed = strtoull(argv[2], NULL, 10);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

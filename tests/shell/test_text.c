/* The shell's text handling, without a database: widths, layout of nested values, JSON strings, the progress
 * line. Random bytes too: the sanitizers are the judge there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../shell/duckbox.h"
#include "../../shell/width.h"

static uint64_t state = 88172645463325252U;

static uint64_t next_random(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static size_t width_of(const char *text)
{
	return rql_sh_width(text, strlen(text));
}

static void test_width(void **unused)
{
	(void)unused;
	assert_int_equal(width_of(""), 0);
	assert_int_equal(width_of("abc"), 3);
	assert_int_equal(width_of("日本語"), 6);
	assert_int_equal(width_of("é"), 1);
	assert_int_equal(width_of("e\u0301"), 1);
	assert_int_equal(width_of("👩\u200d👩\u200d👧"), 2);
	assert_int_equal(width_of("👍🏽"), 2);
	assert_int_equal(width_of("🇩🇪"), 1); /* DuckDB counts a flag's first letter */
	assert_int_equal(width_of("🇩🇪🇫🇷x"), 3);
	assert_int_equal(width_of("क्ष"), 1);                  /* two consonants, one cluster */
	assert_int_equal(width_of("कक"), 2);
	assert_int_equal(width_of("\u1100\u1161\u11a8"), 2); /* a syllable in three letters */
	assert_int_equal(width_of("\u1161\u1161"), 1);
	assert_int_equal(width_of("x\u200dy"), 2);            /* a joiner glues pictographs only */
	assert_int_equal(width_of("\u0600x"), 0);
	assert_int_equal(width_of("\u200b"), 0);
	assert_int_equal(width_of("\x1b\n\t"), 0);
	assert_int_equal(rql_sh_width("a\0b", 3), 2);
	/* invalid: every byte is one column */
	assert_int_equal(width_of("\xff\xfe"), 2);
	assert_int_equal(width_of("\xe6\x97"), 2);                 /* cut off */
	assert_int_equal(width_of("\xc0\xaf"), 2);                 /* overlong */
	assert_int_equal(width_of("\xed\xa0\x80"), 3);             /* a surrogate */
	assert_int_equal(width_of("\xf4\x90\x80\x80"), 4);         /* beyond Unicode */
	assert_int_equal(width_of("\xf8\x88\x80\x80\x80"), 5);
}

static size_t last_line(const char *text)
{
	return rql_sh_last_line_width(text, strlen(text));
}

static void test_last_line_width(void **unused)
{
	(void)unused;
	assert_int_equal(last_line("one\nthree"), 5);
	assert_int_equal(last_line("one\n"), 0);
	assert_int_equal(last_line("one\r\n"), 3);
	assert_int_equal(last_line("\t"), 8);
	assert_int_equal(last_line("12345678\tx"), 17);
	assert_int_equal(last_line("\x1b[1;31mred\x1b[0m"), 3);
	assert_int_equal(last_line("\x1b[1;31"), 0);
	assert_int_equal(last_line("\x1b"), 0);
	assert_int_equal(last_line("日本\t!"), 9);
}

static void test_prefix(void **unused)
{
	size_t used;
	(void)unused;
	assert_int_equal(rql_sh_prefix("abcdef", 6, 3, &used), 3);
	assert_int_equal(used, 3);
	assert_int_equal(rql_sh_prefix("日本語", 9, 3, &used), 3);
	assert_int_equal(used, 2);
	assert_int_equal(rql_sh_prefix("e\u0301x", 4, 1, &used), 3); /* the mark stays with its letter */
	assert_int_equal(rql_sh_prefix("ab\ncd", 5, 10, &used), 2);
	assert_int_equal(rql_sh_prefix("日", 3, 1, &used), 0);
	assert_int_equal(rql_sh_prefix("", 0, 5, &used), 0);
}

static void check_layout(const char *text, size_t columns, size_t lines, const char *expected)
{
	struct rql_strbuf out = {0};
	rql_sh_nested_layout(&out, text, strlen(text), columns, lines);
	assert_string_equal(rql_strbuf_text(&out), expected);
	rql_strbuf_free(&out);
}

static void test_layout(void **unused)
{
	(void)unused;
	check_layout("[1, 2, 3]", 40, 10, "[1, 2, 3]");
	check_layout("[1, 2, 3, 4, 5]", 8, 10, "[1, 2, \n 3, 4, \n 5]");
	check_layout("{'a': 1, 'b': 22222222}", 15, 10, "{\n  'a': 1,\n  'b': 22222222\n}");
	check_layout("{'a': 1, 'b': 22222222}", 15, 1, "{'a': 1, 'b': 22222222}"); /* no room: as it was */
	check_layout("", 15, 10, "");
}

static void test_json_string(void **unused)
{
	struct rql_strbuf out = {0};
	(void)unused;
	rql_sh_json_string(&out, "a\"\\\b\n\x01\0z", 8);
	assert_string_equal(rql_strbuf_text(&out), "\"a\\\"\\\\\\b\\n\\u0001\\u0000z\"");
	rql_strbuf_free(&out);
}

static void test_random_bytes(void **unused)
{
	static const char likely[] = "[]{}(),:='\"\\ NULL nan 1a\n";
	struct rql_strbuf out = {0};
	(void)unused;
	for (int round = 0; round < 20000; round++) {
		size_t length = next_random() % 60, used;
		char *text = malloc(length ? length : 1); /* exact: an overrun shows */
		assert_non_null(text);
		for (size_t i = 0; i < length; i++)
			text[i] = next_random() % 4 ? likely[next_random() % (sizeof(likely) - 1)] : (char)next_random();
		size_t columns = next_random() % 30, prefix = rql_sh_prefix(text, length, columns, &used);
		assert_true(prefix <= length && used <= columns);
		assert_true(rql_sh_width(text, length) <= 2 * length);
		rql_strbuf_clear(&out);
		rql_sh_nested_layout(&out, text, length, columns, next_random() % 8);
		assert_true(rql_sh_last_line_width(text, length) <= 8 * length);
		free(text);
	}
	rql_strbuf_free(&out);
}

static void check_number(const char *number, const char *expected)
{
	char text[64] = "";
	assert_int_equal(rql_sh_readable_number(number, 0, text, sizeof(text)), expected != NULL);
	assert_string_equal(text, expected ? expected : "");
}

static void test_readable_number(void **unused)
{
	(void)unused;
	check_number("999", NULL);
	check_number("994999", NULL);
	check_number("995000", "1.00 million");
	check_number("1234567", "1.23 million");
	check_number("-1234567.99", "-1.23 million");
	check_number("1500000000", "1.50 billion");
	check_number("2000000000000000000", "2.00 quintillion");
	check_number("1e20", NULL);
	check_number("170141183460469231731687303715884105727", NULL);
}

static void check_progress(double percentage, uint64_t rows, uint64_t total, const char *phase, double seconds,
                           size_t columns, const char *part)
{
	struct rql_strbuf text = {0};
	rayql_progress_info info = {.percentage = percentage, .rows = rows, .total_rows = total, .phase = phase};
	rql_sh_progress_text(&text, &info, seconds, columns);
	if (*part)
		assert_non_null(strstr(rql_strbuf_text(&text), part));
	else
		assert_string_equal(rql_strbuf_text(&text), "");
	/* a line that wraps cannot be erased */
	assert_true(rql_sh_width(rql_strbuf_text(&text), text.length) < columns);
	rql_strbuf_free(&text);
}

static void check_progress_fits(size_t columns)
{
	struct rql_strbuf text = {0};
	rayql_progress_info info = {.percentage = 50, .rows = 1234567, .total_rows = 6000000, .phase = "reading"};
	rql_sh_progress_text(&text, &info, 3, columns);
	assert_true(rql_sh_width(rql_strbuf_text(&text), text.length) < columns);
	rql_strbuf_free(&text);
}

static void test_progress(void **unused)
{
	(void)unused;
	check_progress(-1, 0, 0, NULL, 3, 80, "");
	check_progress(50, 0, 0, NULL, 621, 80, " 50% ▕");
	check_progress(50, 0, 0, NULL, 621, 80, "(~10.35 minutes remaining)");
	check_progress(99.9, 0, 0, NULL, 10, 80, "(<1 second remaining)");
	check_progress(50, 0, 0, NULL, 1, 80, "(~1 second remaining)");
	check_progress(50, 0, 0, NULL, 30, 80, "(~30 seconds remaining)");
	check_progress(1, 0, 0, NULL, 100, 80, "(~2.75 hours remaining)");
	check_progress(-1, 1234567, 6000000, "reading", 3, 120, " reading 1,234,567 of 6,000,000 rows");
	check_progress(-1, 1234567, 0, "sorting", 3, 80, " sorting 1,234,567 rows");
	check_progress(150, 0, 0, NULL, 3, 80, "100% ");
	for (size_t columns = 10; columns < 200; columns++)
		check_progress_fits(columns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_width),
		cmocka_unit_test(test_last_line_width),
		cmocka_unit_test(test_prefix),
		cmocka_unit_test(test_layout),
		cmocka_unit_test(test_json_string),
		cmocka_unit_test(test_random_bytes),
		cmocka_unit_test(test_readable_number),
		cmocka_unit_test(test_progress),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

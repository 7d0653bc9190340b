/* Conditions over a dictionary's strings on a GPU against the CPU's kernels: random strings of one to four bytes a
 * character, empty, long, with bytes 0; random patterns, lengths, pieces, letters' cases, and truths of them. */
#include "selftest/selftest_case.h"

#include <string.h>

#include "column/text/text.h"
#include "primitive/text.h"

#define LONGEST 3000u

/* ---- strings ---- */

/* Few letters, so that things are found. */
static uint32_t draw_text(struct rql_selftest *t, char *out, uint64_t characters, uint64_t odd)
{
	static const char *const wide[] = {"é", "ж", "ß", "€", "日", "😀", "z"};
	uint32_t length = 0;
	for (uint64_t i = 0; i < characters; i++) {
		if (rql_selftest_below(t, 10) < odd) {
			const char *c = wide[rql_selftest_below(t, 7)];
			memcpy(out + length, c, strlen(c));
			length += (uint32_t)strlen(c);
		} else {
			out[length++] = "abcabAB@[`{%_.\0"[rql_selftest_below(t, rql_selftest_below(t, 3) ? 5 : 15)];
		}
	}
	return length;
}

static rql_status draw_dictionary(struct rql_selftest *t, uint32_t count, struct rql_dimension *d,
                                  struct rql_error *err)
{
	struct rql_string *strings;
	char *bytes;
	RQL_TRY(rql_selftest_alloc(t, count + 1, sizeof *strings, &strings, err));
	RQL_TRY(rql_selftest_alloc(t, 1, sizeof(struct rql_watch), &d->watch, err));
	d->type = d->values.type = rql_type_simple(RQL_TYPE_VARCHAR);
	d->values.data = strings;
	d->count = count + 1;
	d->has_null = true;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t most = i % 97 == 96 ? LONGEST / 4 : rql_selftest_below(t, 3) ? 20 : 70;
		RQL_TRY(rql_selftest_alloc(t, LONGEST, 1, &bytes, err));
		uint32_t length = draw_text(t, bytes, rql_selftest_below(t, most), i % 3 ? 0 : 4);
		strings[i] = rql_string_make(bytes, length);
	}
	return RQL_OK;
}

/* ---- conditions: written as words, and known of each string ---- */

enum test_kind { LIKE, BYTES, CHARACTERS, COMPARE, TEST_KINDS };
struct drawn_test {
	enum test_kind kind;
	uint32_t fold; /* RQL_TEXT_SMALL, RQL_TEXT_CAPITAL, 0 */
	bool slices, sliced_first;
	uint32_t from, count; /* characters */
	struct rql_like *like;
	uint32_t holds, number;
	char *bytes;
	uint32_t length;
};

static rql_status draw_like(struct rql_selftest *t, struct drawn_test *d, struct rql_error *err)
{
	bool refused, escapes = !rql_selftest_below(t, 4);
	char pattern[64];
	uint32_t length = 0;
	do {
		static const char *const parts[] = {"%", "%", "_", "a", "ab", "ca", "b", "é", "日", "", "\\%"};
		uint64_t wanted = rql_selftest_below(t, 7);
		length = 0;
		for (uint64_t i = 0; i < wanted; i++) {
			const char *part = parts[rql_selftest_below(t, 11)];
			memcpy(pattern + length, part, strlen(part));
			length += (uint32_t)strlen(part);
		}
		d->like = rql_like_parse(t->arena, pattern, length, escapes ? '\\' : 0, &refused);
	} while (refused);
	return d->like ? RQL_OK : rql_error_memory(err, length, "a pattern");
}

static rql_status draw_test(struct rql_selftest *t, const struct rql_dimension *from, struct drawn_test *d,
                            struct rql_error *err)
{
	static const uint32_t folds[] = {0, 0, RQL_TEXT_SMALL, RQL_TEXT_CAPITAL};
	const struct rql_string *strings = from->values.data;
	uint64_t sources = from->count - 1;
	*d = (struct drawn_test){.kind = (enum test_kind)rql_selftest_below(t, TEST_KINDS),
	                         .fold = folds[rql_selftest_below(t, 4)],
	                         .slices = !rql_selftest_below(t, 3),
	                         .sliced_first = rql_selftest_below(t, 2),
	                         .from = (uint32_t)rql_selftest_below(t, 6),
	                         .count = rql_selftest_below(t, 4) ? (uint32_t)rql_selftest_below(t, 9) : UINT32_MAX,
	                         .holds = 1 + (uint32_t)rql_selftest_below(t, 6),
	                         .number = (uint32_t)rql_selftest_below(t, 30)};
	if (d->kind == LIKE)
		return draw_like(t, d, err);
	RQL_TRY(rql_selftest_alloc(t, LONGEST, 1, &d->bytes, err));
	const struct rql_string *s = &strings[rql_selftest_below(t, sources)];
	d->length = rql_selftest_below(t, 2) ? draw_text(t, d->bytes, rql_selftest_below(t, 4), 2) : s->length;
	if (d->length == s->length)
		memcpy(d->bytes, rql_string_data(s), s->length);
	return RQL_OK;
}

static void write_test(struct rql_text_program *p, const struct drawn_test *d)
{
	rql_text_program_step(p, RQL_TEXT_WHOLE, 0, 0);
	for (uint32_t i = 0; i < 2; i++) {
		if (d->slices && d->sliced_first == (i == 0))
			rql_text_program_step(p, RQL_TEXT_SLICE, d->from, d->count);
		else if (d->fold && (!d->slices || d->sliced_first == (i == 1)) && (d->slices || !i))
			rql_text_program_step(p, d->fold, 0, 0);
	}
	if (d->kind == LIKE)
		rql_text_program_like(p, d->like, !d->slices && d->fold != RQL_TEXT_CAPITAL, d->fold == RQL_TEXT_SMALL);
	else if (d->kind == COMPARE)
		rql_text_program_compare(p, d->holds, d->bytes, d->length);
	else
		rql_text_program_step(p, d->kind == BYTES ? RQL_TEXT_BYTES : RQL_TEXT_CHARACTERS, d->holds, d->number);
}

static bool holds(const struct drawn_test *d, int order)
{
	return (d->holds & (order < 0 ? RQL_TEXT_LESS : order > 0 ? RQL_TEXT_GREATER : RQL_TEXT_EQUAL)) != 0;
}

/* By the CPU's kernels. s is ASCII where the test folds. */
static bool is_true(const struct drawn_test *d, const struct rql_text_kernels *kernels, struct rql_string s, char *room)
{
	struct rql_string cut;
	if (d->slices && rql_text_slice(kernels, &s, d->from + 1, d->count, &cut))
		s = cut;
	if (d->fold && rql_text_case(rql_string_data(&s), s.length, d->fold == RQL_TEXT_CAPITAL, room))
		s = rql_string_make(room, s.length);
	const char *data = rql_string_data(&s);
	uint64_t characters = kernels->characters(data, s.length);
	uint32_t common = s.length < d->length ? s.length : d->length;
	switch (d->kind) {
	case LIKE:
		return rql_like_matches(kernels, d->like, data, s.length);
	case BYTES:
		return holds(d, (s.length > d->number) - (s.length < d->number));
	case CHARACTERS:
		return holds(d, (characters > d->number) - (characters < d->number));
	default:
		break;
	}
	int order = memcmp(data, d->bytes, common);
	return holds(d, order ? order : (s.length > d->length) - (s.length < d->length));
}

/* ---- the cases ---- */

#define MOST_TESTS 5u
struct drawn_condition {
	uint32_t count;
	struct drawn_test tests[MOST_TESTS];
	bool negated[MOST_TESTS], both[MOST_TESTS];
	struct rql_text_program program;
};

static rql_status draw_condition(struct rql_selftest *t, const struct rql_dimension *d, struct drawn_condition *c,
                                 struct rql_error *err)
{
	c->count = rql_selftest_below(t, 2) ? 1 : 1 + (uint32_t)rql_selftest_below(t, MOST_TESTS);
	rql_text_program_begin(&c->program, t->arena);
	for (uint32_t i = 0; i < c->count; i++) {
		RQL_TRY(draw_test(t, d, &c->tests[i], err));
		c->negated[i] = !rql_selftest_below(t, 3);
		c->both[i] = rql_selftest_below(t, 2);
		write_test(&c->program, &c->tests[i]);
		if (c->negated[i])
			rql_text_program_step(&c->program, RQL_TEXT_NOT, 0, 0);
		if (i)
			rql_text_program_step(&c->program, c->both[i] ? RQL_TEXT_AND : RQL_TEXT_OR, 0, 0);
	}
	return rql_text_program_finish(&c->program) ? RQL_OK : rql_error_memory(err, 0, "a condition");
}

static rql_status check_condition(struct rql_selftest *t, const struct rql_dimension *d, struct rql_texts *texts,
                                  uint32_t number, struct rql_error *err)
{
	const struct rql_string *strings = d->values.data;
	const struct rql_text_kernels *kernels = rql_text_kernels_for(RQL_SIMD_PORTABLE);
	struct drawn_condition c;
	uint64_t *set;
	char room[LONGEST];
	RQL_TRY(rql_selftest_alloc(t, d->count / 64 + 1, sizeof *set, &set, err));
	RQL_TRY(draw_condition(t, d, &c, err));
	RQL_TRY(rql_texts_select(texts, &c.program, NULL, set, err));
	for (uint32_t i = 0; i < d->count - 1; i++) {
		bool is_wide = rql_bit(texts->wide, i), got = rql_bit(set, i), want = false;
		if (is_wide == kernels->is_ascii(rql_string_data(&strings[i]), strings[i].length))
			return rql_selftest_wrong(err, "string %u is said to be %s", i, is_wide ? "more than ASCII" : "ASCII");
		if (is_wide && c.program.folds)
			continue;
		for (uint32_t k = 0; k < c.count; k++) {
			bool truth = is_true(&c.tests[k], kernels, strings[i], room) != c.negated[k];
			want = !k ? truth : c.both[k] ? want && truth : want || truth;
		}
		if (got != want)
			return rql_selftest_wrong(err, "condition %u of %u tests (the first: %d) is %s for string %u, \"%.*s\"",
			                          number, c.count, (int)c.tests[0].kind, got ? "true" : "false", i,
			                          (int)strings[i].length, rql_string_data(&strings[i]));
	}
	return RQL_OK;
}

static rql_status test_select(struct rql_selftest *t, struct rql_error *err)
{
	static const uint32_t counts[] = {1, 63, 64, 1023, 1025, 4500};
	uint32_t conditions = t->thorough ? 400 : 60;
	for (uint32_t k = 0; k < sizeof(counts) / sizeof(counts[0]); k++) {
		struct rql_dimension d = {.count = 0};
		struct rql_texts *texts = NULL;
		RQL_TRY(draw_dictionary(t, counts[k], &d, err));
		if (rql_texts_are_placed(&d, t->device))
			return rql_selftest_wrong(err, "a dictionary is placed before anybody placed it");
		rql_status status = rql_texts_place(&d, t->device, &texts, err);
		for (uint32_t i = 0; i < conditions && status == RQL_OK; i++)
			status = check_condition(t, &d, texts, i, err);
		rql_texts_release(texts);
		if (status == RQL_OK && !rql_texts_are_placed(&d, t->device))
			status = rql_selftest_wrong(err, "a dictionary did not stay where it was placed");
		rql_placements_drop(d.watch);
		RQL_TRY(status);
	}
	return RQL_OK;
}

/* What a device cannot hold, or nobody would take away again, is not placed. */
static rql_status test_refused(struct rql_selftest *t, struct rql_error *err)
{
	struct rql_dimension d = {.count = 0};
	struct rql_texts *texts = NULL;
	RQL_TRY(draw_dictionary(t, 5, &d, err));
	struct rql_string *strings = d.values.data;
	if (!rql_texts_bytes(&d, t->device))
		return rql_selftest_wrong(err, "a small dictionary cannot be placed");
	for (uint32_t i = 0; i < 3; i++)
		strings[i].length = UINT32_MAX / 2;
	if (rql_texts_bytes(&d, t->device) || rql_texts_place(&d, t->device, &texts, NULL) != RQL_ERROR_LIMIT)
		return rql_selftest_wrong(err, "6 GiB of strings have places of 32 bits");
	strings[0].length = strings[1].length = strings[2].length = 0;
	d.watch = NULL;
	if (rql_texts_bytes(&d, t->device) || rql_texts_place(&d, t->device, &texts, NULL) != RQL_ERROR_INTERNAL)
		return rql_selftest_wrong(err, "a dictionary without a watch can be placed");
	return RQL_OK;
}

const struct rql_selftest_case rql_selftest_text[] = {
	{"text.select", RQL_SELFTEST_UNIT(RQL_UNIT_COMPUTE), test_select},
	{"text.refused", RQL_SELFTEST_UNIT(RQL_UNIT_COMPUTE), test_refused},
	{0},
};

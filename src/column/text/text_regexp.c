/* Regular expressions without alternatives and without loops over groups: characters, sets of them and literals one after
 * the other, with ? * +, groups that are there or may be missing, ^ at the beginning and $ at the end. They match as RE2
 * says: the leftmost match, and of those the one that a greedy search finds first. */
#include <string.h>
#include "column/text/text_internal.h"
#include "util/arena.h"

#define MOST_ITEMS 64u
#define MOST_STEPS 4096u /* of one string: beyond, somebody else may try */
#define NO_LIMIT UINT32_MAX

enum kind {
	LITERAL, /* bytes */
	SET,
	OPEN,
	CLOSE,
	OPTION, /* the items up to `behind`, or none of them */
};
struct item {
	enum kind kind;
	uint32_t least, most; /* LITERAL, SET: of one character, unless both are 1 */
	const char *bytes;
	uint32_t length;
	uint64_t ascii[2]; /* SET */
	bool beyond;       /* SET: all characters that are not ASCII */
	uint32_t group;    /* OPEN, CLOSE; OPTION: the first group in it */
	uint32_t last_group, behind; /* OPTION */
};
struct rql_regexp {
	bool from_begin, to_end;
	uint32_t count, groups; /* groups: group 0, the whole match, among them */
	struct item items[MOST_ITEMS];
};

/* ---- reading ---- */

struct reader {
	struct rql_regexp *re;
	const char *at, *end;
	bool refused;
};

static struct item *add_item(struct reader *r, enum kind kind)
{
	if (r->re->count == MOST_ITEMS) {
		r->refused = true;
		return NULL;
	}
	struct item *t = &r->re->items[r->re->count++];
	*t = (struct item){.kind = kind, .least = 1, .most = 1};
	return t;
}

static void put_range(struct item *t, unsigned from, unsigned to)
{
	for (unsigned c = from; c <= to; c++)
		rql_bit_set(t->ascii, c);
}

static bool is_word(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* \d, \w, \s, which are ASCII, and their opposites; false: c is none of these. */
static bool put_named(struct item *t, char c)
{
	struct item named = {0};
	switch (c | 0x20) {
	case 'd':
		put_range(&named, '0', '9');
		break;
	case 'w':
		put_range(&named, '0', '9');
		put_range(&named, 'A', 'Z');
		put_range(&named, 'a', 'z');
		put_range(&named, '_', '_');
		break;
	case 's':
		put_range(&named, '\t', '\n');
		put_range(&named, '\f', '\r');
		put_range(&named, ' ', ' ');
		break;
	default:
		return false;
	}
	bool opposite = !(c & 0x20);
	for (unsigned i = 0; i < 2; i++)
		t->ascii[i] |= opposite ? ~named.ascii[i] : named.ascii[i];
	t->beyond |= opposite;
	return true;
}

/* A character of [...], plain or behind a backslash. */
static bool read_member(struct reader *r, struct item *t, unsigned char *out, bool *is_set)
{
	*is_set = false;
	if (r->at == r->end || (unsigned char)*r->at >= 0x80 || *r->at == '[')
		return false;
	*out = (unsigned char)*r->at++;
	if (*out != '\\')
		return true;
	if (r->at == r->end)
		return false;
	*out = (unsigned char)*r->at++;
	*is_set = put_named(t, (char)*out);
	return *is_set || (*out < 0x80 && *out > ' ' && *out != 0x7f && !is_word((char)*out));
}

static bool read_set(struct reader *r, struct item *t)
{
	bool opposite = r->at < r->end && *r->at == '^', is_set;
	unsigned char from, to;
	r->at += opposite;
	if (r->at < r->end && *r->at == ']') /* as the first it would be a member */
		return false;
	while (r->at < r->end && *r->at != ']') {
		if (!read_member(r, t, &from, &is_set))
			return false;
		if (is_set)
			continue;
		to = from;
		if (r->end - r->at >= 2 && r->at[0] == '-' && r->at[1] != ']') {
			r->at++;
			if (!read_member(r, t, &to, &is_set) || is_set || to < from)
				return false;
		}
		put_range(t, from, to);
	}
	if (r->at == r->end)
		return false;
	r->at++;
	for (unsigned i = 0; i < 2 && opposite; i++)
		t->ascii[i] = ~t->ascii[i];
	t->beyond ^= opposite;
	return true;
}

/* ? * + behind what was read; nothing more about it. */
static bool read_times(struct reader *r, uint32_t *least, uint32_t *most)
{
	*least = *most = 1;
	if (r->at < r->end && strchr("?*+", *r->at) && *r->at) {
		*least = *r->at == '+';
		*most = *r->at == '?' ? 1 : NO_LIMIT;
		r->at++;
	}
	return r->at == r->end || !strchr("?*+{", *r->at);
}

/* One character as it stands, its bytes in the pattern. */
static bool read_literal(struct reader *r)
{
	struct rql_regexp *re = r->re;
	const char *from = r->at++;
	while (r->at < r->end && !rql_is_character(*r->at))
		r->at++;
	struct item *last = re->count ? &re->items[re->count - 1] : NULL, *t = add_item(r, LITERAL);
	if (!t)
		return false;
	t->bytes = from;
	t->length = (uint32_t)(r->at - from);
	if (!read_times(r, &t->least, &t->most))
		return false;
	bool follows = last && last->kind == LITERAL && last->least == 1 && last->most == 1 &&
	               last->bytes + last->length == from;
	if (follows && t->least == 1 && t->most == 1) {
		last->length += t->length;
		re->count--;
	}
	return true;
}

static bool read_escape(struct reader *r)
{
	if (++r->at == r->end)
		return false;
	if (strchr("dwsDWS", *r->at)) {
		struct item *t = add_item(r, SET);
		return t && *r->at && put_named(t, *r->at++) && read_times(r, &t->least, &t->most);
	}
	unsigned char c = (unsigned char)*r->at;
	return c > ' ' && c < 0x7f && !is_word((char)c) && read_literal(r);
}

static bool read_items(struct reader *r, unsigned depth);

static uint32_t least_bytes(const struct rql_regexp *re, uint32_t from)
{
	uint32_t sum = 0;
	for (uint32_t i = from; i < re->count; i++) {
		if (re->items[i].kind == OPTION)
			i = re->items[i].behind - 1;
		else if (re->items[i].kind <= SET)
			sum += re->items[i].least;
	}
	return sum;
}

static bool read_group(struct reader *r, unsigned depth)
{
	struct rql_regexp *re = r->re;
	uint32_t least, most, option = re->count, group = re->groups;
	bool catches = !(r->end - r->at >= 3 && r->at[1] == '?');
	if (depth > 8 || (!catches && r->at[2] != ':') || group == RQL_REGEXP_GROUPS)
		return false;
	r->at += catches ? 1 : 3;
	re->groups += catches;
	struct item *t = add_item(r, OPTION), *open = catches ? add_item(r, OPEN) : NULL;
	if (!t || (catches && !open))
		return false;
	if (open)
		open->group = group;
	if (!read_items(r, depth + 1) || r->at == r->end || *r->at++ != ')')
		return false;
	struct item *close = catches ? add_item(r, CLOSE) : NULL;
	if (catches && !close)
		return false;
	if (close)
		close->group = group;
	if (!read_times(r, &least, &most) || most != 1 || (!least && !least_bytes(re, option + 1)))
		return false;
	t->least = least; /* 1: no choice */
	t->group = group;
	t->last_group = re->groups;
	t->behind = re->count;
	return true;
}

static bool read_items(struct reader *r, unsigned depth)
{
	while (r->at < r->end && *r->at != ')') {
		char c = *r->at;
		struct item *t;
		bool done = false;
		switch (c) {
		case '(':
			done = read_group(r, depth);
			break;
		case '[':
		case '.':
			r->at++;
			if (!(t = add_item(r, SET)))
				return false;
			if (c == '.') {
				t->ascii[0] = t->ascii[1] = ~UINT64_C(0);
				t->ascii[0] &= ~(UINT64_C(1) << '\n');
				t->beyond = true;
			}
			done = (c == '.' || read_set(r, t)) && read_times(r, &t->least, &t->most);
			break;
		case '\\':
			done = read_escape(r);
			break;
		case '$':
			r->re->to_end = done = depth == 0 && ++r->at == r->end;
			break;
		case '\0':
			break;
		default:
			done = !strchr("*+?{}^|]", c) && read_literal(r);
		}
		if (!done || r->refused)
			return false;
	}
	return true;
}

struct rql_regexp *rql_regexp_parse(struct rql_arena *arena, const char *pattern, uint32_t length)
{
	struct rql_regexp *re = RQL_NEW(arena, struct rql_regexp);
	struct reader r = {.re = re, .at = pattern, .end = pattern + length};
	if (!re)
		return NULL;
	re->groups = 1;
	re->from_begin = length && pattern[0] == '^';
	r.at += re->from_begin;
	return read_items(&r, 0) && r.at == r.end ? re : NULL;
}

uint32_t rql_regexp_groups(const struct rql_regexp *re)
{
	return re->groups;
}

bool rql_regexp_is_whole(const struct rql_regexp *re)
{
	return re->from_begin && re->to_end;
}

/* ---- matching ---- */

struct matcher {
	const struct rql_regexp *re;
	const char *end;
	bool to_end;
	uint32_t steps;
	struct rql_regexp_match *match;
};

/* Behind the character at `at`, when it is one of the item's; NULL: it is not. */
static inline const char *one(const struct item *t, const char *at, const char *end)
{
	if (t->kind == LITERAL)
		return (uint64_t)(end - at) >= t->length && !memcmp(at, t->bytes, t->length) ? at + t->length : NULL;
	if (at == end)
		return NULL;
	unsigned char c = (unsigned char)*at++;
	if (c < 0x80)
		return rql_bit(t->ascii, c) ? at : NULL;
	if (!t->beyond)
		return NULL;
	while (at < end && !rql_is_character(*at))
		at++;
	return at;
}

/* Behind the match of the items from i on; NULL: there is none, or too many steps were taken. */
static const char *match(struct matcher *m, uint32_t i, const char *at)
{
	for (; i < m->re->count; i++) {
		const struct item *t = &m->re->items[i];
		const char *behind, *first = at;
		if (!m->steps || !--m->steps)
			return NULL;
		if (t->kind == OPEN) {
			m->match->begin[t->group] = at;
		} else if (t->kind == CLOSE) {
			m->match->end[t->group] = at;
		} else if (t->kind == OPTION) {
			if (t->least)
				continue;
			if ((behind = match(m, i + 1, at)))
				return behind;
			for (uint32_t g = t->group; g < t->last_group; g++)
				m->match->begin[g] = m->match->end[g] = NULL;
			i = t->behind - 1;
		} else if (t->least == 1 && t->most == 1) {
			if (!(at = one(t, at, m->end)))
				return NULL;
		} else {
			/* As many as there are, then fewer. */
			if (t->least && !(first = at = one(t, at, m->end)))
				return NULL;
			for (uint32_t n = t->least; n < t->most && (behind = one(t, at, m->end)); n++)
				at = behind;
			for (; at > first; at -= t->kind == LITERAL ? t->length : 1) {
				if ((t->kind == LITERAL || at == m->end || rql_is_character(*at)) && (behind = match(m, i + 1, at)))
					return behind;
				if (!m->steps)
					return NULL;
			}
		}
	}
	return !m->to_end || at == m->end ? at : NULL;
}

enum rql_regexp_found rql_regexp_search(const struct rql_regexp *re, const char *data, uint32_t length, bool whole,
                                        struct rql_regexp_match *out)
{
	struct matcher m = {re, data + length, whole || re->to_end, MOST_STEPS, out};
	for (const char *at = data;; at++) {
		if (at == data || at == m.end || rql_is_character(*at)) {
			memset(out, 0, sizeof *out);
			out->end[0] = match(&m, 0, at);
			out->begin[0] = at;
			if (out->end[0])
				return RQL_REGEXP_YES;
		}
		if (!m.steps)
			return RQL_REGEXP_UNKNOWN;
		if (at == m.end || whole || re->from_begin)
			return RQL_REGEXP_NO;
	}
}

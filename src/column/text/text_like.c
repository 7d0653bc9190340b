/* LIKE: a pattern as the pieces between its %, and what of a string each must match. */
#include <string.h>
#include "column/text/text_internal.h"
#include "util/arena.h"

/* ---- making ---- */

static bool add_byte(struct rql_like_piece *p, char byte, bool any, struct rql_arena *arena, uint32_t room)
{
	if (any && !p->any && !(p->any = RQL_NEW_ARRAY(arena, bool, room)))
		return false;
	if (any)
		p->any[p->length] = true;
	p->characters += any || rql_is_character(byte);
	p->bytes[p->length++] = byte;
	return true;
}

static struct rql_like *new_like(struct rql_arena *arena, uint32_t room)
{
	struct rql_like *like = RQL_NEW(arena, struct rql_like);
	if (!like || !(like->pieces = RQL_NEW_ARRAY(arena, struct rql_like_piece, room)))
		return NULL;
	return like;
}

static struct rql_like_piece *new_piece(struct rql_like *like, struct rql_arena *arena, uint32_t room)
{
	struct rql_like_piece *p = &like->pieces[like->count++];
	p->bytes = RQL_NEW_ARRAY(arena, char, room);
	return p->bytes ? p : NULL;
}

/* The longest run of a piece's bytes without _. */
static void longest_literal(const struct rql_like_piece *p, const char **bytes, uint32_t *length)
{
	uint32_t from = 0;
	for (uint32_t i = 0; i <= p->length; i++) {
		if (i < p->length && !(p->any && p->any[i]))
			continue;
		if (i - from > *length) {
			*bytes = p->bytes + from;
			*length = i - from;
		}
		from = i + 1;
	}
}

void rql_like_aim(struct rql_like *like, const uint32_t common[256])
{
	const char *bytes = NULL;
	uint32_t length = 0;
	like->least = 0;
	for (uint32_t i = 0; i < like->count; i++) {
		struct rql_like_piece *p = &like->pieces[i];
		like->least += p->length;
		if (!p->any && p->length)
			p->needle = rql_needle_make(p->bytes, p->length, common);
		longest_literal(p, &bytes, &length);
	}
	/* Beginnings and ends are looked at more cheaply than all bytes are searched. */
	like->searches = like->open_start && like->open_end && length;
	if (like->searches)
		like->needle = rql_needle_make(bytes, length, common);
	like->search_is_all = like->searches && like->count == 1 && !like->pieces[0].any;
}

struct rql_like *rql_like_parse(struct rql_arena *arena, const char *pattern, uint32_t length, char escape,
                                bool *refused)
{
	uint32_t room = length + 1, i = 0;
	struct rql_like *like = new_like(arena, room);
	struct rql_like_piece *p = NULL;
	*refused = escape == '%' || escape == '_';
	if (!like || *refused)
		return NULL;
	like->open_start = length && pattern[0] == '%' && escape != '%';
	for (; i < length; i++) {
		bool literal = escape && pattern[i] == escape;
		if (literal && ++i == length) {
			*refused = true;
			return NULL;
		}
		like->open_end = !literal && pattern[i] == '%';
		if (like->open_end) {
			p = NULL;
			continue;
		}
		if ((!p && !(p = new_piece(like, arena, room))) ||
		    !add_byte(p, pattern[i], !literal && pattern[i] == '_', arena, room))
			return NULL;
	}
	if (!length && !new_piece(like, arena, room)) /* '' matches '' */
		return NULL;
	rql_like_aim(like, NULL);
	return like;
}

struct rql_like *rql_like_literal(struct rql_arena *arena, enum rql_like_form form, const char *bytes, uint32_t length)
{
	struct rql_like *like = new_like(arena, 1);
	if (!like)
		return NULL;
	like->open_start = form != RQL_LIKE_PREFIX || !length;
	like->open_end = form != RQL_LIKE_SUFFIX || !length;
	if (length) {
		struct rql_like_piece *p = new_piece(like, arena, length);
		for (uint32_t i = 0; p && i < length; i++)
			if (!add_byte(p, bytes[i], false, arena, length))
				return NULL;
		if (!p)
			return NULL;
	}
	rql_like_aim(like, NULL);
	return like;
}

const char *rql_like_prefix(const struct rql_like *like, uint32_t *length, bool *only)
{
	const struct rql_like_piece *p = like->count ? &like->pieces[0] : NULL;
	*length = 0;
	*only = false;
	if (!p || like->open_start)
		return NULL;
	while (*length < p->length && !(p->any && p->any[*length]))
		++*length;
	*only = like->count == 1 && like->open_end && *length == p->length;
	return p->bytes;
}

bool rql_like_searches(const struct rql_like *like)
{
	return like->searches;
}

/* ---- matching ---- */

/* Behind the piece where it begins at `at`; NULL: it does not. */
static const char *match_at(const struct rql_like_piece *p, const char *at, const char *end)
{
	if (!p->any)
		return (uint64_t)(end - at) >= p->length && !memcmp(at, p->bytes, p->length) ? at + p->length : NULL;
	for (uint32_t i = 0; i < p->length; i++) {
		if (at == end || (!p->any[i] && *at != p->bytes[i]))
			return NULL;
		at++;
		while (p->any[i] && at < end && !rql_is_character(*at))
			at++;
	}
	return at;
}

/* Behind the first place where the piece lies: an earlier one never ends later. */
static const char *match_within(const struct rql_text_kernels *kernels, const struct rql_like_piece *p, const char *at,
                                const char *end)
{
	const char *behind;
	if (!p->any) {
		const char *hit = kernels->find(at, end, &p->needle);
		return hit ? hit + p->length : NULL;
	}
	for (; at < end; at++)
		if ((behind = match_at(p, at, end)))
			return behind;
	return NULL;
}

/* A piece has as many characters as what it matches. */
static bool match_end(const struct rql_like_piece *p, const char *at, const char *end)
{
	const char *from = end;
	if (!p->any)
		return (uint64_t)(end - at) >= p->length && !memcmp(end - p->length, p->bytes, p->length);
	for (uint32_t left = p->characters; left; left -= rql_is_character(*from))
		if (from-- == at)
			return false;
	return match_at(p, from, end) == end;
}

bool rql_like_matches(const struct rql_text_kernels *kernels, const struct rql_like *like, const char *data,
                      uint32_t length)
{
	const char *at = data, *end = data + length;
	uint32_t first = 0, last = like->count;
	if (length < like->least)
		return false;
	if (!like->open_start) {
		if (!(at = match_at(&like->pieces[first++], at, end)))
			return false;
		if (first == like->count)
			return like->open_end || at == end;
	}
	if (!like->open_end && !match_end(&like->pieces[--last], at, end))
		return false;
	/* What is left of the last piece's match is no place for the others. */
	if (last < like->count && !like->pieces[last].any)
		end -= like->pieces[last].length;
	for (; first < last; first++)
		if (!(at = match_within(kernels, &like->pieces[first], at, end)))
			return false;
	return last == like->count || !like->pieces[last].any || match_end(&like->pieces[last], at, data + length);
}

void rql_like_select(const struct rql_text_kernels *kernels, const struct rql_like *like,
                     const struct rql_string *strings, uint32_t count, const uint64_t *mask, uint64_t *out)
{
	uint32_t words = (count + 63) / 64;
	if (like->searches)
		rql_text_holding(kernels, strings, count, &like->needle, mask, out);
	else
		memcpy(out, mask, words * sizeof *out);
	if (like->search_is_all || (!like->count && like->open_start))
		return;
	for (uint32_t w = 0; w < words; w++)
		for (uint64_t left = out[w]; left; left &= left - 1) {
			const struct rql_string *s = &strings[w * 64 + (uint32_t)__builtin_ctzll(left)];
			if (!rql_like_matches(kernels, like, rql_string_data(s), s->length))
				out[w] &= ~(left & -left);
		}
}

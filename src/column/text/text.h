/* Kernels over the bytes of strings: searching, LIKE, characters, case. Strings are UTF-8, as the host has checked; a
 * character is a code point. What is searched is many strings at once, as a dictionary holds them: a selection of them
 * is a mask, 64 strings a word. */
#ifndef RQL_COLUMN_TEXT_H
#define RQL_COLUMN_TEXT_H

#include "column/batch.h"
#include "util/simd.h"

/* What is searched for. Two of its bytes are compared first: its rarest. */
struct rql_needle {
	const char *bytes; /* borrowed */
	uint32_t length;   /* 1 or more */
	uint32_t near, far; /* places of the two, near <= far */
};
/* common: how often each byte occurs in what will be searched, roughly; NULL: nobody knows. */
struct rql_needle rql_needle_make(const char *bytes, uint32_t length, const uint32_t common[256]);
/* Counts the bytes of some of the strings, for the above. */
void rql_text_common(const struct rql_string *strings, uint64_t count, uint32_t common[256]);

struct rql_text_kernels {
	/* Where the needle lies first, whole, in [from, end); NULL: nowhere. */
	const char *(*find)(const char *from, const char *end, const struct rql_needle *needle);
	uint64_t (*characters)(const char *data, uint64_t length);
	bool (*is_ascii)(const char *data, uint64_t length);
};
const struct rql_text_kernels *rql_text_kernels_for(enum rql_simd simd);

/* Of the strings in mask, those that hold the needle; no other string is looked at. At most RQL_TEXT_VECTOR strings.
 * Texts that lie side by side, as those of a dictionary do, are searched as one. */
#define RQL_TEXT_VECTOR 1024u
#define RQL_TEXT_WORDS (RQL_TEXT_VECTOR / 64)
void rql_text_holding(const struct rql_text_kernels *kernels, const struct rql_string *strings, uint32_t count,
                      const struct rql_needle *needle, const uint64_t *mask, uint64_t *out);

/* ---- LIKE (text_like.c) ---- */

struct rql_like; /* immutable */
/* A pattern of LIKE: % stands for any bytes, _ for one character. escape: what stands before a literal character, or 0.
 * NULL with *refused false: out of memory; with *refused true: a pattern that the host may call wrong, or that reads
 * differently from place to place. */
struct rql_like *rql_like_parse(struct rql_arena *arena, const char *pattern, uint32_t length, char escape,
                                bool *refused);
/* What begins with, ends with, or holds these bytes, whatever they are. NULL: out of memory. */
enum rql_like_form { RQL_LIKE_PREFIX, RQL_LIKE_SUFFIX, RQL_LIKE_WITHIN };
struct rql_like *rql_like_literal(struct rql_arena *arena, enum rql_like_form form, const char *bytes,
                                  uint32_t length);
/* Before it is used: which bytes are rare in what will be searched. */
void rql_like_aim(struct rql_like *like, const uint32_t common[256]);
/* What every match begins with; *length 0: nothing. *only: whatever begins so matches. */
const char *rql_like_prefix(const struct rql_like *like, uint32_t *length, bool *only);
bool rql_like_matches(const struct rql_text_kernels *kernels, const struct rql_like *like, const char *data,
                      uint32_t length);
/* Of the strings in mask, those that match: as rql_text_holding. */
void rql_like_select(const struct rql_text_kernels *kernels, const struct rql_like *like,
                     const struct rql_string *strings, uint32_t count, const uint64_t *mask, uint64_t *out);
/* Will bytes be searched, or only beginnings and ends looked at? */
bool rql_like_searches(const struct rql_like *like);

/* ---- regular expressions (text_regexp.c) ---- */

#define RQL_REGEXP_GROUPS 10u
struct rql_regexp; /* immutable */
/* NULL: out of memory, or something in it is not known here. The pattern is borrowed. */
struct rql_regexp *rql_regexp_parse(struct rql_arena *arena, const char *pattern, uint32_t length);
uint32_t rql_regexp_groups(const struct rql_regexp *re); /* group 0, the whole match, among them */
bool rql_regexp_is_whole(const struct rql_regexp *re);   /* ^...$: a match is the whole string */
struct rql_regexp_match {
	const char *begin[RQL_REGEXP_GROUPS], *end[RQL_REGEXP_GROUPS]; /* NULL: the group is not in the match */
};
enum rql_regexp_found {
	RQL_REGEXP_NO,
	RQL_REGEXP_YES,
	RQL_REGEXP_UNKNOWN, /* it takes too long */
};
/* The first match; whole: only of all of the string. */
enum rql_regexp_found rql_regexp_search(const struct rql_regexp *re, const char *data, uint32_t length, bool whole,
                                        struct rql_regexp_match *out);

/* ---- pieces and case (text_case.c) ---- */

/* Is it UTF-8 as DuckDB has it: no surrogates, no longer forms, nothing beyond U+10FFFF? */
bool rql_text_is_utf8(const char *data, uint64_t length);
/* The host's substring(s, from, count): characters from `from` on (1 is the first, -1 the last), `count` of them, or
 * those before it when it is negative. false: from lies before the first character, or behind the last one and it goes
 * back: then the host's answer depends on what it knows of the column. */
bool rql_text_slice(const struct rql_text_kernels *kernels, const struct rql_string *s, int64_t from, int64_t count,
                    struct rql_string *out);
/* Upper or lower case into out, of the same length. false: it holds a character whose case is not known here; out is
 * undefined then. */
bool rql_text_case(const char *data, uint32_t length, bool upper, char *out);

#endif

/* Expressions over the entries of one dictionary of strings: trees of functions of strings, integers and truths,
 * evaluated for every entry, 1024 at a time, by all threads of a pool. They stand for the host's functions and give the
 * host's answers, bit for bit; none of them can raise an error. What is not known of an entry (a letter whose case is not
 * in the tables) is said by a bit, and somebody else must be asked. */
#ifndef RQL_EXPR_ENTRIES_H
#define RQL_EXPR_ENTRIES_H

#include "column/map/dimension.h"
#include "column/text/text.h"
#include "column/text/text_program.h"
#include "column/value/value.h"
#include "util/arena.h"
#include "util/threads.h"

enum rql_entry_kind { RQL_ENTRY_TEXT, RQL_ENTRY_INTEGER, RQL_ENTRY_TRUTH };
enum rql_entry_comparison {
	RQL_ENTRY_EQ,
	RQL_ENTRY_NE,
	RQL_ENTRY_LT,
	RQL_ENTRY_LE,
	RQL_ENTRY_GT,
	RQL_ENTRY_GE,
	RQL_ENTRY_DISTINCT,
	RQL_ENTRY_NOT_DISTINCT,
};

struct rql_entry; /* a node: immutable once it is evaluated */
enum rql_entry_kind rql_entry_kind(const struct rql_entry *e);

/* ---- making ----
 * Each gives NULL when there is no memory, when an argument is NULL, or when it is not for it: kinds that do not fit,
 * integers that might leave 64 bits. A node has one parent. */
struct rql_entry *rql_entry_value(struct rql_arena *arena); /* the entry itself */
struct rql_entry *rql_entry_text(struct rql_arena *arena, const char *data, uint32_t length); /* copied */
struct rql_entry *rql_entry_integer(struct rql_arena *arena, int64_t value);
struct rql_entry *rql_entry_truth(struct rql_arena *arena, bool value);
struct rql_entry *rql_entry_null(struct rql_arena *arena, enum rql_entry_kind kind);
/* like: see column/text/text.h; it is aimed at the dictionary when it is evaluated. */
struct rql_entry *rql_entry_like(struct rql_arena *arena, struct rql_entry *text, struct rql_like *like);
struct rql_entry *rql_entry_bytes(struct rql_arena *arena, struct rql_entry *text);
struct rql_entry *rql_entry_characters(struct rql_arena *arena, struct rql_entry *text);
/* Where the needle begins, in characters from 1; 0: nowhere. */
struct rql_entry *rql_entry_position(struct rql_arena *arena, struct rql_entry *text, const char *needle,
                                     uint32_t length);
/* |from|, |count| <= UINT32_MAX */
struct rql_entry *rql_entry_slice(struct rql_arena *arena, struct rql_entry *text, int64_t from, int64_t count);
struct rql_entry *rql_entry_left(struct rql_arena *arena, struct rql_entry *text, int64_t count);
struct rql_entry *rql_entry_right(struct rql_arena *arena, struct rql_entry *text, int64_t count);
struct rql_entry *rql_entry_case(struct rql_arena *arena, struct rql_entry *text, bool upper);
/* Is there a match; whole: of all of the text? */
struct rql_entry *rql_entry_regexp(struct rql_arena *arena, struct rql_entry *text, const struct rql_regexp *re,
                                   bool whole);
/* The first match replaced: \0 to \9 in `by` are groups, \\ is a backslash; NULL where there is anything else behind one. */
struct rql_entry *rql_entry_replace(struct rql_arena *arena, struct rql_entry *text, const struct rql_regexp *re,
                                    const char *by, uint32_t length);
struct rql_entry *rql_entry_compare(struct rql_arena *arena, enum rql_entry_comparison op, struct rql_entry *a,
                                    struct rql_entry *b);
/* text or integer among constants; some may be NULL. */
struct rql_entry *rql_entry_in(struct rql_arena *arena, struct rql_entry *a, struct rql_entry *const *list,
                               uint32_t count);
/* op: '+', '-', '*'. Refused where the result may leave [least, greatest] of its type. */
struct rql_entry *rql_entry_arithmetic(struct rql_arena *arena, char op, struct rql_entry *a, struct rql_entry *b,
                                       rql_int128 least, rql_int128 greatest);
/* The integer as one of another type, in which it surely fits. */
struct rql_entry *rql_entry_within(struct rql_entry *a, rql_int128 least, rql_int128 greatest);
struct rql_entry *rql_entry_and(struct rql_arena *arena, struct rql_entry *a, struct rql_entry *b);
struct rql_entry *rql_entry_or(struct rql_arena *arena, struct rql_entry *a, struct rql_entry *b);
struct rql_entry *rql_entry_not(struct rql_arena *arena, struct rql_entry *a);
struct rql_entry *rql_entry_is_null(struct rql_arena *arena, struct rql_entry *a);
struct rql_entry *rql_entry_choose(struct rql_arena *arena, struct rql_entry *when, struct rql_entry *then,
                                   struct rql_entry *otherwise);

/* What it takes, nanoseconds of one thread for an entry of so many bytes, roughly. */
double rql_entry_ns(const struct rql_entry *e, double bytes);

/* ---- for a kernel ---- */
/* The condition e (negated: its opposite) as words for a kernel, over the entries that are not NULL; for NULL it is not
 * true, negated or not. Where out->folds, it speaks for entries of ASCII alone. Searches are aimed at d. false:
 * something in e has no such form, or memory does not suffice. */
bool rql_entry_words(struct rql_arena *arena, const struct rql_entry *e, bool negated, const struct rql_dimension *d,
                     struct rql_text_program *out);

/* ---- evaluating ---- */
struct rql_entry_run {
	const struct rql_dimension *dimension; /* of VARCHAR */
	struct rql_pool *pool;                 /* NULL: the calling thread alone */
	enum rql_simd simd;
	struct rql_arena *arena; /* where results live */
	bool unsorted;           /* the entries are rows, in any order */
	/* Which entries are wanted, a bit each; NULL: all. What the results say of the others does not matter. */
	const uint64_t *within;
	/* Out, (count + 63) / 64 words, zeroed by the caller: entries of which the result is not known. */
	uint64_t *unknown;
	uint64_t unknown_count;
	bool refused; /* out: the host's answer depends on more than the entry */
};
/* The entries for which e, a TRUTH, is true (negated: false), as bits; set is zeroed by the caller. */
rql_status rql_entry_select(struct rql_entry_run *run, struct rql_entry *e, bool negated, uint64_t *set,
                            struct rql_error *err) RQL_MUST_CHECK;
/* e for every entry. out: type, and room for all entries and their validity, are the caller's; an INTEGER goes into a
 * type of integers, a TRUTH into BOOLEAN, a TEXT into VARCHAR, whose bytes lie in the dictionary or in the arena. */
rql_status rql_entry_evaluate(struct rql_entry_run *run, struct rql_entry *e, struct rql_column *out,
                              struct rql_error *err) RQL_MUST_CHECK;

#endif

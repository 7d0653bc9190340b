/* A condition over single strings as words: what a kernel runs for each entry of a dictionary, on a GPU. Truths are
 * true or false; strings are not NULL. The layout is here for C and GLSL; text_program.c writes it.
 *
 * Words: RQL_TEXT_SEARCHES searches of RQL_TEXT_SEARCH_WORDS each, then steps of RQL_TEXT_STEP_WORDS, then constants.
 * Steps name constants by their place among all words. A step has an operator and two operands. It works on one text, a
 * piece of the entry, and on a stack of truths.
 *
 * A search is what strings must hold to match: the kernel looks through the bytes of many entries at once, and runs a
 * LIKE that has one for the entries that hold it. */
#ifndef RQL_COLUMN_TEXT_PROGRAM_H
#define RQL_COLUMN_TEXT_PROGRAM_H

#define RQL_TEXT_STEP_WORDS 3u
#define RQL_TEXT_STACK 32u /* truths at most */
#define RQL_TEXT_SEARCHES 4u
/* A search: its first four bytes or fewer that are compared, the mask of these, how many bytes lie before them and how
 * many behind their first, and whether strings are searched as small letters. */
#define RQL_TEXT_SEARCH_WORDS 5u

#define RQL_TEXT_WHOLE 0u   /* the text is the entry */
#define RQL_TEXT_SLICE 1u   /* a: characters left out, b: characters kept */
#define RQL_TEXT_SMALL 2u   /* letters of ASCII become small; capital: */
#define RQL_TEXT_CAPITAL 3u
#define RQL_TEXT_LIKE 4u    /* pushes a truth. a: its pattern, b: its search plus 1, or 0 */
#define RQL_TEXT_BYTES 5u   /* a: a comparison, b: the number that the length is compared with */
#define RQL_TEXT_CHARACTERS 6u
#define RQL_TEXT_COMPARE 7u /* a: a comparison, b: a string: its length, its bytes */
#define RQL_TEXT_TRUTH 8u   /* a: the truth */
#define RQL_TEXT_NOT 9u
#define RQL_TEXT_AND 10u
#define RQL_TEXT_OR 11u

/* A comparison: the orders for which it holds. */
#define RQL_TEXT_LESS 1u
#define RQL_TEXT_EQUAL 2u
#define RQL_TEXT_GREATER 4u

/* A pattern: flags, the least bytes of a match, how many pieces, the place of each. A piece: bytes, characters, the
 * place of its bits (of the bytes that stand for any character; 0: none), the bytes. */
#define RQL_TEXT_OPEN_START 1u
#define RQL_TEXT_OPEN_END 2u
#define RQL_TEXT_LIKE_PIECES 3u
#define RQL_TEXT_PIECE_BYTES 3u

#ifndef RQL_GLSL
#include <stdbool.h>
#include <stdint.h>
#include "column/text/text.h"
#include "util/arena.h"

struct rql_text_program {
	struct rql_arena *arena;
	uint32_t count, room;
	uint32_t *words;
	uint32_t search_count, step_count;
	uint32_t steps_at; /* the first step's place; of the finished program */
	uint32_t depth;    /* of the stack */
	/* The text is made small or capital somewhere: only entries of ASCII alone have a result. */
	bool folds;
	bool failed; /* out of memory, or too much: the program is useless */
	/* While it is made: */
	uint32_t constant_count, constant_room;
	uint32_t *steps, *constants, step_room;
	uint32_t searches[RQL_TEXT_SEARCHES * RQL_TEXT_SEARCH_WORDS];
};
/* Making: steps in their order, then finish. Errors are kept; false of finish: there is no program. */
void rql_text_program_begin(struct rql_text_program *p, struct rql_arena *arena);
/* op: any but LIKE and COMPARE. */
void rql_text_program_step(struct rql_text_program *p, uint32_t op, uint32_t a, uint32_t b);
/* whole: the text is the entry, as it is or (small) in small letters; then it may be searched. */
void rql_text_program_like(struct rql_text_program *p, const struct rql_like *like, bool whole, bool small);
void rql_text_program_compare(struct rql_text_program *p, uint32_t comparison, const char *bytes, uint32_t length);
bool rql_text_program_finish(struct rql_text_program *p);
#endif
#endif

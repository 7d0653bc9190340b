/* Conditions over strings as words: writing them. */
#include "column/text/text_program.h"

#include <string.h>
#include "column/text/text_internal.h"

#define WORDS_MOST (1u << 20)
/* Places of constants in steps are relative to the first of them until all steps are there. */

static bool reserve(struct rql_text_program *p, uint32_t **array, uint32_t *room, uint32_t wanted)
{
	if (p->failed || wanted > WORDS_MOST) {
		p->failed = true;
		return false;
	}
	if (wanted <= *room)
		return true;
	uint32_t more = wanted + wanted / 2 + 64, *grown = RQL_NEW_ARRAY(p->arena, uint32_t, more);
	if (!grown) {
		p->failed = true;
		return false;
	}
	if (*room)
		memcpy(grown, *array, *room * sizeof *grown);
	*array = grown;
	*room = more;
	return true;
}

/* Room for constants, of zeros; their place, 0 when there is none. */
static uint32_t constants(struct rql_text_program *p, uint32_t words)
{
	uint32_t at = p->constant_count;
	if (!reserve(p, &p->constants, &p->constant_room, at + words))
		return 0;
	p->constant_count += words;
	return at;
}

static void put_bytes(struct rql_text_program *p, uint32_t at, const char *bytes, uint32_t length)
{
	for (uint32_t i = 0; i < length && !p->failed; i++)
		p->constants[at + i / 4] |= (uint32_t)(uint8_t)bytes[i] << i % 4 * 8;
}

void rql_text_program_begin(struct rql_text_program *p, struct rql_arena *arena)
{
	*p = (struct rql_text_program){.arena = arena};
	(void)constants(p, 1); /* no constant has place 0 */
}

static void push(struct rql_text_program *p, uint32_t op)
{
	p->depth += op >= RQL_TEXT_LIKE && op <= RQL_TEXT_TRUTH;
	p->depth -= op == RQL_TEXT_AND || op == RQL_TEXT_OR;
	p->failed |= p->depth > RQL_TEXT_STACK;
	p->folds |= op == RQL_TEXT_SMALL || op == RQL_TEXT_CAPITAL;
}

void rql_text_program_step(struct rql_text_program *p, uint32_t op, uint32_t a, uint32_t b)
{
	uint32_t at = p->step_count * RQL_TEXT_STEP_WORDS;
	if (!reserve(p, &p->steps, &p->step_room, at + RQL_TEXT_STEP_WORDS))
		return;
	p->steps[at] = op;
	p->steps[at + 1] = a;
	p->steps[at + 2] = b;
	p->step_count++;
	push(p, op);
}

/* A piece's place. */
static uint32_t put_piece(struct rql_text_program *p, const struct rql_like_piece *piece)
{
	uint32_t words = (piece->length + 3) / 4, bits = piece->any ? (piece->length + 31) / 32 : 0;
	uint32_t at = constants(p, RQL_TEXT_PIECE_BYTES + words + bits);
	if (p->failed)
		return 0;
	p->constants[at] = piece->length;
	p->constants[at + 1] = piece->characters;
	p->constants[at + 2] = bits ? at + RQL_TEXT_PIECE_BYTES + words : 0;
	put_bytes(p, at + RQL_TEXT_PIECE_BYTES, piece->bytes, piece->length);
	for (uint32_t i = 0; bits && i < piece->length; i++)
		p->constants[p->constants[at + 2] + i / 32] |= (uint32_t)piece->any[i] << i % 32;
	return at;
}

/* The four bytes that are compared first: among them the needle's rarest. */
static uint32_t put_search(struct rql_text_program *p, const struct rql_needle *n, bool small)
{
	uint32_t compared = n->length < 4 ? n->length : 4, before = n->near, word = 0;
	if (p->search_count == RQL_TEXT_SEARCHES)
		return 0;
	before = before > n->length - compared ? n->length - compared : before;
	for (uint32_t i = 0; i < compared; i++)
		word |= (uint32_t)(uint8_t)n->bytes[before + i] << i * 8;
	uint32_t *to = &p->searches[p->search_count++ * RQL_TEXT_SEARCH_WORDS];
	to[0] = word;
	to[1] = UINT32_MAX >> (32 - compared * 8);
	to[2] = before;
	to[3] = n->length - before;
	to[4] = small;
	return p->search_count;
}

void rql_text_program_like(struct rql_text_program *p, const struct rql_like *like, bool whole, bool small)
{
	uint32_t at = constants(p, RQL_TEXT_LIKE_PIECES + like->count);
	for (uint32_t i = 0; i < like->count; i++) {
		uint32_t piece = put_piece(p, &like->pieces[i]);
		if (!p->failed)
			p->constants[at + RQL_TEXT_LIKE_PIECES + i] = piece;
	}
	if (p->failed)
		return;
	p->constants[at] =
		(like->open_start ? RQL_TEXT_OPEN_START : 0) | (like->open_end ? RQL_TEXT_OPEN_END : 0);
	p->constants[at + 1] = like->least;
	p->constants[at + 2] = like->count;
	uint32_t search = whole && like->searches ? put_search(p, &like->needle, small) : 0;
	rql_text_program_step(p, RQL_TEXT_LIKE, at, search);
}

void rql_text_program_compare(struct rql_text_program *p, uint32_t comparison, const char *bytes, uint32_t length)
{
	uint32_t at = length <= WORDS_MOST ? constants(p, 1 + (length + 3) / 4) : 0;
	p->failed |= length > WORDS_MOST;
	if (p->failed)
		return;
	p->constants[at] = length;
	put_bytes(p, at + 1, bytes, length);
	rql_text_program_step(p, RQL_TEXT_COMPARE, comparison, at);
}

/* Places of constants become those among all words. */
static void relocate(struct rql_text_program *p, uint32_t base)
{
	for (uint32_t s = 0; s < p->step_count; s++) {
		uint32_t *step = &p->words[p->steps_at + s * RQL_TEXT_STEP_WORDS];
		if (step[0] == RQL_TEXT_COMPARE)
			step[2] += base;
		if (step[0] != RQL_TEXT_LIKE)
			continue;
		uint32_t *like = &p->words[step[1] += base];
		for (uint32_t i = 0; i < like[2]; i++) {
			uint32_t *piece = &p->words[like[RQL_TEXT_LIKE_PIECES + i] += base];
			piece[2] += piece[2] ? base : 0;
		}
	}
}

bool rql_text_program_finish(struct rql_text_program *p)
{
	uint32_t steps = p->step_count * RQL_TEXT_STEP_WORDS;
	if (p->depth != 1)
		p->failed = true;
	p->steps_at = RQL_TEXT_SEARCHES * RQL_TEXT_SEARCH_WORDS;
	if (!reserve(p, &p->words, &p->room, p->steps_at + steps + p->constant_count))
		return false;
	memcpy(p->words, p->searches, sizeof p->searches);
	memcpy(p->words + p->steps_at, p->steps, steps * sizeof *p->words);
	memcpy(p->words + p->steps_at + steps, p->constants, p->constant_count * sizeof *p->words);
	p->count = p->steps_at + steps + p->constant_count;
	relocate(p, p->steps_at + steps);
	return true;
}

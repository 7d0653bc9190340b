/* Conditions over a dictionary's entries as words for a kernel (column/text/text_program.h). */
#include "expr/entries_internal.h"

struct writing {
	struct rql_text_program *out;
	const uint32_t *common;
};

static bool condition(struct writing *w, const struct rql_entry *e);

/* The text that the next test looks at; *whole: it is the entry, *small: in small letters. */
static bool text(struct writing *w, const struct rql_entry *e, bool *whole, bool *small)
{
	bool case_of = e->op == RQL_ENTRY_OP_CASE, left = e->op == RQL_ENTRY_OP_LEFT && e->count >= 0;
	bool slice = e->op == RQL_ENTRY_OP_SLICE && e->integer >= 1 && e->count >= 0;
	*whole = e->op == RQL_ENTRY_OP_VALUE;
	*small = false;
	if (*whole) {
		rql_text_program_step(w->out, RQL_TEXT_WHOLE, 0, 0);
		return true;
	}
	if ((!case_of && !left && !slice) || !text(w, e->child[0], whole, small))
		return false;
	if (case_of) {
		*whole = *whole && !e->truth;
		*small = !e->truth;
		rql_text_program_step(w->out, e->truth ? RQL_TEXT_CAPITAL : RQL_TEXT_SMALL, 0, 0);
		return true;
	}
	*whole = false;
	rql_text_program_step(w->out, RQL_TEXT_SLICE, slice ? (uint32_t)(e->integer - 1) : 0, (uint32_t)e->count);
	return true;
}

/* ---- comparisons ---- */

/* 0: not of two values that are not NULL. */
static uint32_t orders(enum rql_entry_comparison op)
{
	static const uint32_t all[] = {
		[RQL_ENTRY_EQ] = RQL_TEXT_EQUAL,
		[RQL_ENTRY_NE] = RQL_TEXT_LESS | RQL_TEXT_GREATER,
		[RQL_ENTRY_LT] = RQL_TEXT_LESS,
		[RQL_ENTRY_LE] = RQL_TEXT_LESS | RQL_TEXT_EQUAL,
		[RQL_ENTRY_GT] = RQL_TEXT_GREATER,
		[RQL_ENTRY_GE] = RQL_TEXT_GREATER | RQL_TEXT_EQUAL,
	};
	return op < RQL_ENTRY_DISTINCT ? all[op] : 0;
}

static uint32_t turned(uint32_t orders)
{
	return (orders & RQL_TEXT_EQUAL) | (orders & RQL_TEXT_LESS ? RQL_TEXT_GREATER : 0) |
	       (orders & RQL_TEXT_GREATER ? RQL_TEXT_LESS : 0);
}

static bool compare_length(struct writing *w, const struct rql_entry *e, uint32_t holds, int64_t value)
{
	bool whole, small;
	if ((e->op != RQL_ENTRY_OP_BYTES && e->op != RQL_ENTRY_OP_CHARACTERS) || !text(w, e->child[0], &whole, &small))
		return false;
	if (value < 0 || value > UINT32_MAX)
		rql_text_program_step(w->out, RQL_TEXT_TRUTH, (holds & (value < 0 ? RQL_TEXT_GREATER : RQL_TEXT_LESS)) != 0, 0);
	else
		rql_text_program_step(w->out, e->op == RQL_ENTRY_OP_BYTES ? RQL_TEXT_BYTES : RQL_TEXT_CHARACTERS, holds,
		                      (uint32_t)value);
	return true;
}

static bool compare_text(struct writing *w, const struct rql_entry *e, uint32_t holds, const struct rql_string *with)
{
	bool whole, small;
	if (!text(w, e, &whole, &small))
		return false;
	rql_text_program_compare(w->out, holds, rql_string_data(with), with->length);
	return true;
}

static bool compare(struct writing *w, const struct rql_entry *e)
{
	const struct rql_entry *a = e->child[0], *b = e->child[1];
	uint32_t holds = orders(e->comparison);
	if (a->op == RQL_ENTRY_OP_CONSTANT) {
		b = a;
		a = e->child[1];
		holds = turned(holds);
	}
	if (!holds || b->op != RQL_ENTRY_OP_CONSTANT || b->null)
		return false;
	if (a->kind == RQL_ENTRY_INTEGER)
		return compare_length(w, a, holds, b->integer);
	return a->kind == RQL_ENTRY_TEXT && compare_text(w, a, holds, &b->text);
}

static bool in_list(struct writing *w, const struct rql_entry *e)
{
	const struct rql_entry *a = e->child[0];
	if (e->null)
		return false;
	rql_text_program_step(w->out, RQL_TEXT_TRUTH, 0, 0);
	for (uint32_t i = 0; i < e->list_count; i++) {
		if (!(a->kind == RQL_ENTRY_INTEGER ? compare_length(w, a, RQL_TEXT_EQUAL, e->integers[i])
		                                   : compare_text(w, a, RQL_TEXT_EQUAL, &e->strings[i])))
			return false;
		rql_text_program_step(w->out, RQL_TEXT_OR, 0, 0);
	}
	return true;
}

/* ---- truths ---- */

static bool like(struct writing *w, const struct rql_entry *e)
{
	bool whole, small;
	if (!text(w, e->child[0], &whole, &small))
		return false;
	rql_like_aim(e->like, w->common);
	rql_text_program_like(w->out, e->like, whole, small);
	return true;
}

static bool condition(struct writing *w, const struct rql_entry *e)
{
	switch (e->op) {
	case RQL_ENTRY_OP_LIKE:
		return like(w, e);
	case RQL_ENTRY_OP_COMPARE:
		return compare(w, e);
	case RQL_ENTRY_OP_IN:
		return in_list(w, e);
	case RQL_ENTRY_OP_NOT:
		if (!condition(w, e->child[0]))
			return false;
		rql_text_program_step(w->out, RQL_TEXT_NOT, 0, 0);
		return true;
	case RQL_ENTRY_OP_AND:
	case RQL_ENTRY_OP_OR:
		if (!condition(w, e->child[0]) || !condition(w, e->child[1]))
			return false;
		rql_text_program_step(w->out, e->op == RQL_ENTRY_OP_AND ? RQL_TEXT_AND : RQL_TEXT_OR, 0, 0);
		return true;
	default: /* what is true or false of NULL among them: constants, IS NULL */
		return false;
	}
}

bool rql_entry_words(struct rql_arena *arena, const struct rql_entry *e, bool negated, const struct rql_dimension *d,
                     struct rql_text_program *out)
{
	uint32_t common[256];
	struct writing w = {out, common};
	if (e->kind != RQL_ENTRY_TRUTH)
		return false;
	rql_text_common(d->values.data, d->count - d->has_null, common);
	rql_text_program_begin(out, arena);
	if (!condition(&w, e))
		return false;
	if (negated)
		rql_text_program_step(out, RQL_TEXT_NOT, 0, 0);
	return rql_text_program_finish(out);
}

/* A query with other values in its conditions: what RayQL plans from the plan of the one before. */
#include <ctype.h>
#include <string.h>

#include "diff.h"

/* Digits stay as many, so that the values' class stays nearly always; letters stay letters. */
static char other_character(struct dt_random *r, char c, bool first)
{
	if (isdigit((unsigned char)c))
		return (char)(first ? '1' + (char)dt_below(r, 9) : '0' + (char)dt_below(r, 10));
	if (islower((unsigned char)c))
		return (char)('a' + dt_below(r, 26));
	return c;
}

/* 'x' at text: the position behind it. */
static size_t change_string(struct dt_random *r, char *text, size_t at)
{
	bool change = dt_chance(r, 40);
	for (at++; text[at] && text[at] != '\''; at++)
		if (change && dt_chance(r, 30))
			text[at] = other_character(r, text[at], false);
	return text[at] ? at + 1 : at;
}

static bool in_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '{' || c == '"';
}

/* {n} stands for an item, and c3 is a name: only numbers and strings are values. */
static const char *other_text(struct dt_arena *arena, struct dt_random *r, const char *text)
{
	char *out = dt_printf(arena, "%s", text);
	for (size_t at = 0; out[at];) {
		if (out[at] == '\'') {
			at = change_string(r, out, at);
		} else if (isdigit((unsigned char)out[at]) && (at == 0 || !in_word(out[at - 1]))) {
			bool change = dt_chance(r, 60), alone = !isdigit((unsigned char)out[at + 1]);
			for (bool first = !alone; isdigit((unsigned char)out[at]); at++, first = false)
				if (change)
					out[at] = other_character(r, out[at], first);
		} else if (in_word(out[at])) {
			while (in_word(out[at]))
				at++;
		} else {
			at++;
		}
	}
	return out;
}

static struct dt_pred *other_predicate(struct dt_arena *arena, struct dt_random *r, const struct dt_pred *p)
{
	struct dt_pred *copy = dt_alloc(arena, sizeof *copy);
	*copy = *p;
	copy->text = p->text ? other_text(arena, r, p->text) : NULL;
	copy->a = p->a ? other_predicate(arena, r, p->a) : NULL;
	copy->b = p->b ? other_predicate(arena, r, p->b) : NULL;
	return copy;
}

struct dt_select *dt_query_other_values(struct dt_arena *arena, struct dt_random *r, const struct dt_select *q)
{
	struct dt_select *copy = dt_alloc(arena, sizeof *copy);
	*copy = *q;
	copy->eligible = false;
	for (uint32_t i = 0; i < q->where_count; i++)
		copy->where[i] = other_predicate(arena, r, q->where[i]);
	for (uint32_t i = 0; i < q->having_count; i++)
		copy->having[i] = other_text(arena, r, q->having[i]);
	return copy;
}

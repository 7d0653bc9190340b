/* Sets of codes found before, by the text of their conditions. */
#include "bind/relation/codes_memo.h"

#include <string.h>
#include "util/arena.h"
#include "util/strbuf.h"

/* A condition over fewer entries is found again faster than its text is made. */
#define LEAST_ENTRIES 4096u

struct known {
	struct known *next;
	const struct rql_dimension *dimension;
	const char *text;
	bool negated;
	const uint64_t *set;
};

struct held {
	struct held *next;
	struct rql_placement *placement;
};

struct rql_codes_memo {
	struct rql_arena *arena;
	struct known *known;
	struct held *held;
};

struct rql_codes_memo *rql_codes_memo_new(void)
{
	struct rql_arena *arena = rql_arena_new();
	struct rql_codes_memo *memo = arena ? RQL_NEW(arena, struct rql_codes_memo) : NULL;
	if (memo)
		memo->arena = arena;
	else
		rql_arena_free(arena);
	return memo;
}

void rql_codes_memo_free(struct rql_codes_memo *memo)
{
	if (!memo)
		return;
	for (struct held *h = memo->held; h; h = h->next)
		rql_placement_release(h->placement);
	rql_arena_free(memo->arena);
}

bool rql_codes_memo_hold(struct rql_codes_memo *memo, struct rql_placement *placement)
{
	struct held *h = RQL_NEW(memo->arena, struct held);
	if (!h)
		return false;
	*h = (struct held){memo->held, placement};
	memo->held = h;
	return true;
}

static void print_dimension(struct rql_strbuf *out, uint32_t index, void *state)
{
	(void)index, (void)state;
	rql_strbuf_putc(out, '#');
}

/* false: it cannot be written. */
static bool print(struct rql_strbuf *out, const struct rql_expr *expr)
{
	return rql_expr_print(out, expr, print_dimension, NULL) && !out->failed;
}

const uint64_t *rql_codes_memo_find(const struct rql_codes_memo *memo, const struct rql_dimension *d,
                                    const struct rql_expr *expr, bool negated)
{
	const uint64_t *found = NULL;
	struct rql_strbuf text = {0};
	if (!memo || d->count < LEAST_ENTRIES)
		return NULL;
	bool known = print(&text, expr);
	for (const struct known *k = memo->known; k && known && !found; k = k->next)
		if (k->dimension == d && k->negated == negated && !strcmp(k->text, rql_strbuf_text(&text)))
			found = k->set;
	rql_strbuf_free(&text);
	return found;
}

void rql_codes_memo_put(struct rql_codes_memo *memo, const struct rql_dimension *d, const struct rql_expr *expr,
                        bool negated, const uint64_t *set)
{
	size_t words = (d->count + 63) / 64;
	struct rql_strbuf text = {0};
	if (!memo || d->count < LEAST_ENTRIES || !print(&text, expr)) {
		rql_strbuf_free(&text);
		return;
	}
	struct known *k = RQL_NEW(memo->arena, struct known);
	const char *copy = rql_arena_strdup(memo->arena, rql_strbuf_text(&text));
	uint64_t *codes = RQL_NEW_ARRAY(memo->arena, uint64_t, words);
	rql_strbuf_free(&text);
	if (!k || !copy || !codes)
		return;
	memcpy(codes, set, words * sizeof *codes);
	*k = (struct known){memo->known, d, copy, negated, codes};
	memo->known = k;
}

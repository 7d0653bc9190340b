/* Equalities of a join: see the header. */
#include "flow/join_keys.h"

#include <string.h>
#include "flow/keys.h"

/* Bit 0: it reads the left child, bit 1: the right one. */
static unsigned reads(const struct rql_expr *e, uint32_t lefts)
{
	unsigned sides = e->kind == RQL_EXPR_REF ? (e->index < lefts ? 1 : 2) : 0;
	for (uint32_t i = 0; i < e->child_count; i++)
		sides |= reads(e->children[i], lefts);
	return sides;
}

static struct rql_expr *shifted(struct rql_arena *arena, const struct rql_expr *ref, void *state)
{
	struct rql_expr *copy = RQL_NEW(arena, struct rql_expr);
	if (copy) {
		*copy = *ref;
		copy->index -= *(const uint32_t *)state;
	}
	return copy;
}

/* Which child the first operand is of: 0, 1; 2: it is no equality of the two. */
static unsigned equality(const struct rql_expr *e, uint32_t lefts)
{
	if (e->kind != RQL_EXPR_COMPARE || (strcmp(e->name, "=") && strcmp(e->name, "IS NOT DISTINCT FROM")))
		return 2;
	const struct rql_expr *a = e->children[0], *b = e->children[1];
	if (!rql_type_equal(a->type, b->type) || !rql_key_type(a->type))
		return 2;
	unsigned sides = reads(a, lefts) | reads(b, lefts) << 2;
	return sides == (1 | 2 << 2) ? 0 : sides == (2 | 1 << 2) ? 1 : 2;
}

bool rql_join_keys_find(struct rql_arena *arena, const struct rql_rel *rel, struct rql_join_keys *out)
{
	uint32_t lefts = rel->children[0]->column_count, n = rel->expr_count;
	*out = (struct rql_join_keys){.nulls_equal = RQL_NEW_ARRAY(arena, bool, n),
	                              .rest = RQL_NEW_ARRAY(arena, struct rql_expr *, n),
	                              .sides = {RQL_NEW_ARRAY(arena, struct rql_expr *, n),
	                                        RQL_NEW_ARRAY(arena, struct rql_expr *, n)}};
	if (!out->nulls_equal || !out->rest || !out->sides[0] || !out->sides[1])
		return false;
	for (uint32_t i = 0; i < n; i++) {
		struct rql_expr *e = rel->exprs[i];
		unsigned first = equality(e, lefts);
		if (first == 2) {
			out->rest[out->rest_count++] = e;
			continue;
		}
		uint32_t k = out->key_count++;
		out->nulls_equal[k] = e->name[0] != '=';
		out->sides[0][k] = e->children[first];
		if (!(out->sides[1][k] = rql_expr_rewrite(arena, e->children[!first], shifted, &lefts)))
			return false;
	}
	return true;
}

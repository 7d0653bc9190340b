/* The structure's groups become the request's: rows of the device's form into the host's (group/groups.h), codes into keys,
 * and groups that are finer than asked for are added up. */
#include <stdlib.h>

#include "method/cube/paper/cube_paper.h"

/* ---- rows ---- */

/* The device sums stored values without their bases, and keeps minima inverted. */
static void convert_row(const struct rql_prepared *p, uint64_t *row)
{
	for (uint32_t s = 0; s < p->slot_count; s++) {
		const struct rql_cube_slot *slot = &p->slots[s];
		uint64_t *word = row + slot->state.word;
		if (slot->state.kind == RQL_STATE_MIN_FIELD)
			*word = ~*word;
		else if (slot->state.kind == RQL_STATE_SUM_WIDE)
			(void)rql_state_add_wide(word, (rql_int128)((rql_uint128)slot->values->base * row[0]));
		else if (slot->state.kind != RQL_STATE_MAX_FIELD)
			*word += (uint64_t)slot->values->base * row[0];
	}
}

/* ---- keys ---- */

/* A request's key from a structure's group attribute, which is the key's dimension or determines it. */
struct key_source {
	uint32_t attribute;
	const uint32_t *digit_of_code; /* of the attribute; NULL: the code is the dimension's own */
	const uint32_t *code_of_digit;
};

static rql_status find_source(const struct rql_paper_structure *s, const struct rql_cube *cube, uint32_t dimension,
                              struct rql_arena *scratch, struct key_source *out, struct rql_error *err)
{
	uint32_t finest = rql_paper_finest(cube, dimension);
	*out = (struct key_source){0};
	for (uint32_t i = 0; i < s->spec.group_count; i++)
		if (s->spec.group[i] == dimension) {
			out->attribute = i;
			return RQL_OK;
		}
	while (s->spec.group[out->attribute] != finest) /* covers() has seen it */
		out->attribute++;
	const struct rql_cube_digit *digit = &cube->digits[cube->dimensions[dimension].digit];
	uint32_t *inverse = RQL_NEW_ARRAY(scratch, uint32_t, cube->relation.dimensions[finest].count);
	if (!inverse)
		return rql_error_memory(err, 0, "the groups of an answer");
	for (uint32_t v = 0; v < digit->radix; v++)
		inverse[cube->dimensions[finest].code_of_digit[v]] = v;
	out->digit_of_code = inverse;
	out->code_of_digit = cube->dimensions[dimension].code_of_digit;
	return RQL_OK;
}

struct groups {
	uint64_t found, distinct;
	uint64_t *number; /* [found] of the structure */
	uint64_t *rank;   /* [found] of its keys among the distinct ones */
	uint32_t **keys;  /* [group key][distinct] */
};

/* Ranks the found groups by one more key; keys_of gets this key's codes. */
static rql_status rank_by(const struct rql_paper_prepared *p, const struct rql_paper_structure *s, uint32_t g,
                          struct groups *groups, uint32_t *key, struct rql_arena *scratch, struct rql_error *err)
{
	const struct rql_group_key *wanted = &p->groups[g];
	struct key_source source;
	RQL_TRY(find_source(s, p->bound.cube, wanted->source.index, scratch, &source, err));
	bool ascending = true;
	struct rql_cube_pair *pairs = RQL_NEW_ARRAY(scratch, struct rql_cube_pair, groups->found);
	struct rql_cube_pair *other = RQL_NEW_ARRAY(scratch, struct rql_cube_pair, groups->found);
	if (!pairs || !other)
		return rql_error_memory(err, 0, "the groups of an answer");
	for (uint64_t i = 0; i < groups->found; i++) {
		uint32_t code = rql_paper_group_code(p->bound.cube, s, groups->number[i], source.attribute);
		code = source.digit_of_code ? source.code_of_digit[source.digit_of_code[code]] : code;
		key[i] = wanted->key_of_code ? wanted->key_of_code[code] : code;
		/* Ranks and keys are below 2^32. */
		pairs[i] = (struct rql_cube_pair){groups->rank[i] << 32 | key[i], i};
		ascending &= i == 0 || pairs[i].key >= pairs[i - 1].key;
	}
	if (!ascending)
		pairs = rql_cube_sort_pairs(pairs, other, groups->found);
	groups->distinct = 0;
	for (uint64_t i = 0; i < groups->found; i++) {
		groups->distinct += i == 0 || pairs[i].key != pairs[i - 1].key;
		groups->rank[pairs[i].value] = groups->distinct - 1;
	}
	return RQL_OK;
}

static rql_status rank_groups(const struct rql_paper_prepared *p, const struct rql_paper_structure *s,
                              const uint64_t *rows, struct rql_arena *scratch, struct groups *groups,
                              struct rql_error *err)
{
	uint32_t words = p->bound.layout.row_words, key_count = p->bound.layout.key_count;
	uint64_t all = s ? s->groups.count : 0;
	for (uint64_t i = 0; i < all; i++)
		groups->found += rows[i * words] != 0;
	groups->number = RQL_NEW_ARRAY(scratch, uint64_t, groups->found);
	groups->rank = RQL_NEW_ARRAY(scratch, uint64_t, groups->found); /* zeroed */
	groups->keys = RQL_NEW_ARRAY(scratch, uint32_t *, key_count);
	if (!groups->number || !groups->rank || !groups->keys)
		return rql_error_memory(err, 0, "the groups of an answer");
	for (uint64_t i = 0, n = 0; i < all; i++)
		if (rows[i * words])
			groups->number[n++] = i;
	groups->distinct = groups->found > 0 || p->bound.layout.scalar;
	for (uint32_t g = 0; g < key_count; g++) {
		uint32_t *key = RQL_NEW_ARRAY(scratch, uint32_t, groups->found);
		if (!key)
			return rql_error_memory(err, 0, "the groups of an answer");
		RQL_TRY(rank_by(p, s, g, groups, key, scratch, err));
		groups->keys[g] = key; /* by found group until all are ranked */
	}
	return RQL_OK;
}

/* ---- the answer ---- */

static rql_status finish(const struct rql_paper_prepared *p, const struct rql_paper_structure *s, uint64_t *rows,
                         struct rql_arena *arena, struct rql_arena *scratch, struct rql_port *out,
                         struct rql_error *err)
{
	struct groups groups = {0};
	struct rql_groups_layout layout = p->bound.layout;
	const uint32_t words = layout.row_words;
	if (s || layout.scalar)
		RQL_TRY(rank_groups(p, s, rows, scratch, &groups, err));
	uint64_t *merged = RQL_NEW_ARRAY(scratch, uint64_t, groups.distinct * words);
	struct rql_groups_key *group_keys = RQL_NEW_ARRAY(scratch, struct rql_groups_key, layout.key_count);
	if (!merged || !group_keys)
		return rql_error_memory(err, 0, "the groups of an answer");
	for (uint64_t r = 0; r < groups.distinct; r++)
		memcpy(merged + r * words, layout.row_template, words * sizeof(uint64_t));
	for (uint64_t i = 0; i < groups.found; i++) {
		uint64_t *row = rows + groups.number[i] * words;
		convert_row(&p->bound, row);
		(void)rql_states_add(layout.states, layout.state_count, merged + groups.rank[i] * words, row);
	}
	for (uint32_t g = 0; g < layout.key_count; g++) {
		uint32_t *keys = RQL_NEW_ARRAY(scratch, uint32_t, groups.distinct);
		if (!keys)
			return rql_error_memory(err, 0, "the groups of an answer");
		for (uint64_t i = 0; i < groups.found; i++)
			keys[groups.rank[i]] = groups.keys[g][i];
		group_keys[g] = (struct rql_groups_key){.keys = keys, .key_count = groups.distinct ? groups.distinct : 1, .stride = 1};
	}
	layout.keys = group_keys; /* all of them on the group's rank */
	layout.group_count = groups.distinct;
	const struct rql_groups merged_groups = {
		.layout = &layout, .rows = merged, .capacity = groups.distinct, .copies = 1, .ready = true};
	return rql_groups_answer(&merged_groups, arena, out, err);
}

rql_status rql_paper_finish(const struct rql_paper_prepared *p, const struct rql_paper_structure *s, uint64_t *rows,
                            struct rql_arena *arena, struct rql_port *out, struct rql_error *err)
{
	struct rql_arena *scratch = rql_arena_new();
	if (!scratch)
		return rql_error_memory(err, 0, "the groups of an answer");
	rql_status status = finish(p, s, rows, arena, scratch, out, err);
	rql_arena_free(scratch);
	return status;
}

/* The structure's groups become the request's: rows of the device's form into the CPU's (cube_query.h), codes into keys,
 * and groups that are finer than asked for are added up. */
#include <stdlib.h>

#include "method/cube/cube_paper.h"

static rql_status no_memory(struct rql_error *err)
{
	return rql_error_memory(err, 0, "the groups of an answer");
}

/* ---- rows ---- */

static void add128(uint64_t *word, rql_uint128 value)
{
	rql_uint128 sum;
	memcpy(&sum, word, sizeof(sum));
	sum += value;
	memcpy(word, &sum, sizeof(sum));
}

/* The device sums stored values without their bases, and keeps minima inverted. */
static void convert_row(const struct rql_prepared *p, uint64_t *row)
{
	for (uint32_t s = 0; s < p->slot_count; s++) {
		const struct rql_cube_slot *slot = &p->slots[s];
		uint64_t *word = row + slot->word;
		if (slot->kind == RQL_SLOT_MIN)
			*word = ~*word;
		else if (slot->kind == RQL_SLOT_SUM_WIDE)
			add128(word, (rql_uint128)slot->values->base * row[0]);
		else if (slot->kind != RQL_SLOT_MAX)
			*word += (uint64_t)slot->values->base * row[0];
	}
}

static void add_row(const struct rql_prepared *p, uint64_t *into, const uint64_t *row)
{
	into[0] += row[0];
	for (uint32_t s = 0; s < p->slot_count; s++) {
		uint64_t *to = into + p->slots[s].word;
		const uint64_t *from = row + p->slots[s].word;
		rql_uint128 wide;
		switch (p->slots[s].kind) {
		case RQL_SLOT_MIN:
			*to = *from < *to ? *from : *to;
			break;
		case RQL_SLOT_MAX:
			*to = *from > *to ? *from : *to;
			break;
		case RQL_SLOT_SUM_WIDE:
			memcpy(&wide, from, sizeof(wide));
			add128(to, wide);
			break;
		default:
			*to += *from;
			break;
		}
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
		return no_memory(err);
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
		return no_memory(err);
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
	uint32_t words = p->bound.row_words, key_count = p->bound.group_key_count;
	uint64_t all = s ? s->groups.count : 0;
	for (uint64_t i = 0; i < all; i++)
		groups->found += rows[i * words] != 0;
	groups->number = RQL_NEW_ARRAY(scratch, uint64_t, groups->found);
	groups->rank = RQL_NEW_ARRAY(scratch, uint64_t, groups->found); /* zeroed */
	groups->keys = RQL_NEW_ARRAY(scratch, uint32_t *, key_count);
	if (!groups->number || !groups->rank || !groups->keys)
		return no_memory(err);
	for (uint64_t i = 0, n = 0; i < all; i++)
		if (rows[i * words])
			groups->number[n++] = i;
	groups->distinct = groups->found > 0 || p->bound.scalar;
	for (uint32_t g = 0; g < key_count; g++) {
		uint32_t *key = RQL_NEW_ARRAY(scratch, uint32_t, groups->found);
		if (!key)
			return no_memory(err);
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
	struct rql_prepared view = p->bound;
	uint32_t words = view.row_words;
	if (s || view.scalar)
		RQL_TRY(rank_groups(p, s, rows, scratch, &groups, err));
	uint64_t *merged = RQL_NEW_ARRAY(scratch, uint64_t, groups.distinct * words);
	struct rql_cube_group_digit digit = {.count = groups.distinct ? (uint32_t)groups.distinct : 1, .stride = 1};
	digit.key_of_gid = RQL_NEW_ARRAY(scratch, uint32_t *, view.group_key_count);
	if (!merged || !digit.key_of_gid)
		return no_memory(err);
	for (uint64_t r = 0; r < groups.distinct; r++)
		memcpy(merged + r * words, view.row_template, words * sizeof(uint64_t));
	for (uint64_t i = 0; i < groups.found; i++) {
		uint64_t *row = rows + groups.number[i] * words;
		convert_row(&view, row);
		add_row(&view, merged + groups.rank[i] * words, row);
	}
	for (uint32_t g = 0; g < view.group_key_count; g++) {
		digit.key_of_gid[g] = RQL_NEW_ARRAY(scratch, uint32_t, groups.distinct);
		if (!digit.key_of_gid[g])
			return no_memory(err);
		for (uint64_t i = 0; i < groups.found; i++)
			digit.key_of_gid[g][groups.rank[i]] = groups.keys[g][i];
	}
	view.group_digits = &digit; /* the one that all keys are on */
	view.group_digit_count = 1;
	view.sorted_keys = view.group_key_count;
	struct rql_cube_groups accumulated = {
		.prepared = &view, .rows = merged, .capacity = groups.distinct, .ready = true};
	return rql_cube_answer(&accumulated, arena, out, err);
}

rql_status rql_paper_finish(const struct rql_paper_prepared *p, const struct rql_paper_structure *s, uint64_t *rows,
                            struct rql_arena *arena, struct rql_port *out, struct rql_error *err)
{
	struct rql_arena *scratch = rql_arena_new();
	if (!scratch)
		return no_memory(err);
	rql_status status = finish(p, s, rows, arena, scratch, out, err);
	rql_arena_free(scratch);
	return status;
}

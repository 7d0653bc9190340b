/* From accumulator rows to an answer: the groups that exist, ascending, their keys and values. */
#include "method/cube/cube_query.h"

#include <stdlib.h>

/* The groups that exist: their numbers and rows. */
struct found {
	uint64_t count;
	struct rql_cube_pair *pairs; /* key: group number, value: row index */
	void *memory;                /* malloc'ed */
};

static rql_status find_groups(const struct rql_cube_groups *g, struct found *out, struct rql_error *err)
{
	const struct rql_prepared *p = g->prepared;
	uint64_t words = p->row_words, count = 0;
	if (p->scalar) {
		count = 1;
	} else {
		for (uint64_t i = 0; i < g->capacity; i++)
			count += g->rows[i * words] != 0;
	}
	/* Hashed groups come in any order: the sort needs as much again. */
	uint64_t entries = (count ? count : 1) * (g->hashed ? 2 : 1);
	struct rql_cube_pair *pairs = malloc(entries * sizeof(*pairs));
	if (!pairs)
		return rql_error_memory(err, entries * sizeof(*pairs), "the groups of an answer");
	out->memory = pairs;
	out->count = count;
	out->pairs = pairs;
	if (p->scalar) {
		pairs[0] = (struct rql_cube_pair){0, 0};
		return RQL_OK;
	}
	uint64_t n = 0;
	for (uint64_t i = 0; i < g->capacity; i++)
		if (g->rows[i * words])
			pairs[n++] = (struct rql_cube_pair){g->hashed ? g->keys[i] - 1 : i, i};
	if (g->hashed)
		out->pairs = rql_cube_sort_pairs(pairs, pairs + count, count);
	return RQL_OK;
}

static bool put_keys(const struct rql_prepared *p, const struct found *found, struct rql_arena *arena,
                     struct rql_port *out)
{
	out->keys = RQL_NEW_ARRAY(arena, uint32_t *, p->group_key_count);
	if (!out->keys)
		return false;
	for (uint32_t k = 0; k < p->group_key_count; k++) {
		const struct rql_cube_group_digit *digit = &p->group_digits[p->group_keys[k].group_digit];
		const uint32_t *key_of_gid = digit->key_of_gid[p->group_keys[k].key];
		uint32_t *keys = RQL_NEW_ARRAY(arena, uint32_t, found->count);
		if (!keys)
			return false;
		for (uint64_t i = 0; i < found->count; i++)
			keys[i] = key_of_gid[found->pairs[i].key / digit->stride % digit->count];
		out->keys[k] = keys;
	}
	return true;
}

/* A slot's word of a row as the integer that it stands for. */
static rql_int128 integer_of(const struct rql_cube_slot *slot, const uint64_t *row)
{
	const uint64_t *word = row + slot->word;
	rql_int128 wide;
	switch (slot->kind) {
	case RQL_SLOT_SUM:
		return (int64_t)*word; /* the bounds prove that it fits */
	case RQL_SLOT_MIN:
	case RQL_SLOT_MAX:
		return (rql_int128)((rql_uint128)slot->values->base + *word);
	case RQL_SLOT_SUM_WIDE:
	case RQL_SLOT_MIN_WIDE:
	case RQL_SLOT_MAX_WIDE:
		memcpy(&wide, word, sizeof(wide));
		return wide;
	default:
		return (rql_int128)*word;
	}
}

static bool put_values(const struct rql_cube_groups *g, const struct rql_cube_output *output, const struct found *found,
                       struct rql_arena *arena, struct rql_agg_values *out)
{
	const struct rql_prepared *p = g->prepared;
	const struct rql_cube_slot *slot = output->slot == RQL_CUBE_NO_SLOT ? NULL : &p->slots[output->slot];
	out->kind = output->kind;
	if (output->kind == RQL_MEASURE_REAL)
		out->real = RQL_NEW_ARRAY(arena, double, found->count);
	else
		out->integer = RQL_NEW_ARRAY(arena, rql_int128, found->count);
	/* Nothing qualified: only an answer without group keys has a row then. */
	bool nothing = p->scalar && g->rows[0] == 0;
	bool nullable = !output->counts && (nothing || output->valid != RQL_CUBE_NO_SLOT);
	if (nullable)
		out->valid = RQL_NEW_ARRAY(arena, uint64_t, (found->count + 63) / 64);
	if ((!out->real && !out->integer) || (nullable && !out->valid))
		return false;
	if (nothing)
		return true; /* zeros, not valid */
	uint32_t valid_word = nullable ? p->slots[output->valid].word : 0;
	for (uint64_t i = 0; i < found->count; i++) {
		const uint64_t *row = g->rows + found->pairs[i].value * p->row_words;
		if (nullable && row[valid_word] == 0)
			continue;
		if (nullable)
			out->valid[i >> 6] |= UINT64_C(1) << (i & 63);
		if (output->kind == RQL_MEASURE_REAL)
			memcpy(&out->real[i], row + slot->word, sizeof(double));
		else
			out->integer[i] = slot ? integer_of(slot, row) : (rql_int128)row[0];
	}
	return true;
}

rql_status rql_cube_answer(const struct rql_cube_groups *g, struct rql_arena *arena, struct rql_port *out,
                           struct rql_error *err)
{
	const struct rql_prepared *p = g->prepared;
	struct found found = {0};
	RQL_TRY(find_groups(g, &found, err));
	struct rql_port answer = {
		.group_count = found.count,
		.sorted_keys = p->sorted_keys,
		.cells_read = g->cells_read,
		.cells_covered = g->cells_covered,
		.bytes_read = g->bytes_read,
		.runs = g->runs,
	};
	bool done = put_keys(p, &found, arena, &answer);
	answer.aggs = done ? RQL_NEW_ARRAY(arena, struct rql_agg_values, p->output_count) : NULL;
	done = answer.aggs != NULL;
	for (uint32_t a = 0; done && a < p->output_count; a++)
		done = put_values(g, &p->outputs[a], &found, arena, &answer.aggs[a]);
	free(found.memory);
	if (!done)
		return rql_error_memory(err, found.count * 16, "an answer's columns");
	*out = answer;
	return RQL_OK;
}

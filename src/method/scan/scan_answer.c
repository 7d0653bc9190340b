/* From group rows to an answer: the groups that exist, ascending, their keys and values. */
#include "method/scan/scan_query.h"

#include <stdlib.h>

struct pair {
	uint64_t group, row;
};

/* The groups that exist. */
struct found {
	uint64_t count;
	struct pair *pairs;
	void *memory; /* malloc'ed */
};

/* Sorts by group, stably, by bytes from the least significant. The result is in one of the two arrays, which is
 * returned. */
static struct pair *sort_pairs(struct pair *pairs, struct pair *scratch, uint64_t count)
{
	uint64_t differ = 0;
	for (uint64_t i = 1; i < count; i++)
		differ |= pairs[i].group ^ pairs[0].group;
	for (unsigned shift = 0; shift < 64; shift += 8) {
		if ((differ >> shift & 0xff) == 0)
			continue;
		uint64_t at[256] = {0}, sum = 0;
		for (uint64_t i = 0; i < count; i++)
			at[pairs[i].group >> shift & 0xff]++;
		for (unsigned b = 0; b < 256; b++) {
			uint64_t n = at[b];
			at[b] = sum;
			sum += n;
		}
		for (uint64_t i = 0; i < count; i++)
			scratch[at[pairs[i].group >> shift & 0xff]++] = pairs[i];
		struct pair *swap = pairs;
		pairs = scratch;
		scratch = swap;
	}
	return pairs;
}

static rql_status find_groups(const struct rql_scan *scan, const struct rql_scan_groups *g, struct found *out,
                              struct rql_error *err)
{
	uint64_t words = scan->row_words, count = 0, n = 0;
	for (uint64_t i = 0; i < g->capacity; i++)
		count += g->rows[i * words] != 0;
	count = scan->scalar ? 1 : count;
	/* Hashed groups come in any order: the sort needs as much again. */
	uint64_t entries = (count ? count : 1) * (g->keys ? 2 : 1);
	struct pair *pairs = malloc(entries * sizeof(*pairs));
	if (!pairs)
		return rql_error_memory(err, entries * sizeof(*pairs), "the groups of an answer");
	*out = (struct found){.count = count, .pairs = pairs, .memory = pairs};
	if (scan->scalar) {
		pairs[0] = (struct pair){0, 0};
		return RQL_OK;
	}
	for (uint64_t i = 0; i < g->capacity; i++)
		if (g->rows[i * words])
			pairs[n++] = (struct pair){g->keys ? g->keys[i] - 1 : i, i};
	if (g->keys)
		out->pairs = sort_pairs(pairs, pairs + count, count);
	return RQL_OK;
}

static bool put_keys(const struct rql_scan *scan, const struct found *found, struct rql_arena *arena,
                     struct rql_answer *out)
{
	out->keys = RQL_NEW_ARRAY(arena, uint32_t *, scan->part_count);
	if (!out->keys)
		return false;
	for (uint32_t p = 0; p < scan->part_count; p++) {
		const struct rql_scan_part *part = &scan->parts[p];
		uint32_t *keys = RQL_NEW_ARRAY(arena, uint32_t, found->count);
		if (!keys)
			return false;
		for (uint64_t i = 0; i < found->count; i++)
			keys[i] = (uint32_t)(found->pairs[i].group / part->stride % part->key_count);
		out->keys[p] = keys;
	}
	return true;
}

static rql_int128 integer_of(enum rql_scan_slot_kind kind, const uint64_t *word)
{
	rql_int128 wide;
	switch (kind) {
	case RQL_SCAN_SLOT_COUNT:
		return (rql_int128)*word;
	case RQL_SCAN_SLOT_SUM_WIDE:
	case RQL_SCAN_SLOT_MIN_WIDE:
	case RQL_SCAN_SLOT_MAX_WIDE:
		memcpy(&wide, word, sizeof(wide));
		return wide;
	default:
		return (int64_t)*word;
	}
}

static bool put_values(const struct rql_scan *scan, const struct rql_scan_groups *g, uint32_t a,
                       const struct found *found, struct rql_arena *arena, struct rql_agg_values *out)
{
	const struct rql_scan_output *output = &scan->outputs[a];
	const struct rql_scan_slot *slot = output->slot == RQL_SCAN_NONE ? NULL : &scan->slots[output->slot];
	out->kind = output->kind;
	if (output->kind == RQL_MEASURE_REAL)
		out->real = RQL_NEW_ARRAY(arena, double, found->count);
	else
		out->integer = RQL_NEW_ARRAY(arena, rql_int128, found->count);
	/* Nothing passed: only an answer without group keys has a row then. */
	bool nothing = scan->scalar && g->rows[0] == 0;
	bool nullable = !output->counts && (nothing || output->valid != RQL_SCAN_NONE);
	if (nullable)
		out->valid = RQL_NEW_ARRAY(arena, uint64_t, (found->count + 63) / 64);
	if ((!out->real && !out->integer) || (nullable && !out->valid))
		return false;
	if (nothing)
		return true; /* zeros, not valid */
	uint32_t valid_word = nullable ? scan->slots[output->valid].word : 0;
	for (uint64_t i = 0; i < found->count; i++) {
		const uint64_t *row = g->rows + found->pairs[i].row * scan->row_words;
		if (nullable && row[valid_word] == 0)
			continue;
		if (nullable)
			out->valid[i >> 6] |= UINT64_C(1) << (i & 63);
		if (output->kind == RQL_MEASURE_REAL)
			memcpy(&out->real[i], row + slot->word, sizeof(double));
		else
			out->integer[i] = slot ? integer_of(slot->kind, row + slot->word) : (rql_int128)row[0];
	}
	return true;
}

rql_status rql_scan_answer(const struct rql_scan *scan, struct rql_scan_groups *g, struct rql_arena *arena,
                           struct rql_answer *out, struct rql_error *err)
{
	struct found found = {0};
	RQL_TRY(find_groups(scan, g, &found, err));
	struct rql_answer answer = {.group_count = found.count, .sorted_keys = scan->part_count};
	bool done = put_keys(scan, &found, arena, &answer);
	answer.aggs = done ? RQL_NEW_ARRAY(arena, struct rql_agg_values, scan->output_count) : NULL;
	done = answer.aggs != NULL;
	for (uint32_t a = 0; done && a < scan->output_count; a++)
		done = put_values(scan, g, a, &found, arena, &answer.aggs[a]);
	free(found.memory);
	if (!done)
		return rql_error_memory(err, found.count * 16, "an answer's columns");
	*out = answer;
	return RQL_OK;
}

/* Fewer group numbers: of a group key's codes, those that rows which pass can have. A condition on the key's own column
 * says so, and one on a column that the key's determines (every city lies in one nation: `dependencies` of the
 * snapshot). Groups that then fit a workgroup's shared memory, or a core's caches, cost a fraction: SSB's q3.2 has 600
 * of 437,500. */
#include "method/scan/scan_query.h"

#include <stdlib.h>

#define WORTH 8u /* one in so many keys has to go: a code is looked up afterwards that was a key before */

static bool passes_code(const struct rql_scan_step *step, const struct rql_dimension *dimension, uint32_t code)
{
	return rql_scan_passes_code(step, code, dimension->has_null && code + 1 == dimension->count);
}

/* Drops the codes of `column` that a step on it, or on what it determines, does not let pass. false: none says anything. */
static bool drop_codes(const struct rql_scan *scan, uint32_t column, bool *may)
{
	const struct rql_store_snapshot *snapshot = scan->snapshot;
	const uint32_t codes = snapshot->columns[column].dimension->count;
	bool some = false;
	for (uint32_t s = 0; s < scan->step_count; s++) {
		const struct rql_scan_step *step = &scan->steps[s];
		if (step->kind != RQL_SCAN_BY_TEST || !snapshot->columns[step->index].dimension)
			continue;
		const struct rql_dimension *dimension = snapshot->columns[step->index].dimension;
		for (uint32_t code = 0; step->index == column && code < codes; code++)
			may[code] &= passes_code(step, dimension, code);
		some |= step->index == column;
		for (uint32_t d = 0; d < snapshot->dependency_count; d++) {
			const struct rql_store_dependency *known = &snapshot->dependencies[d];
			if (known->from != column || known->to != step->index)
				continue;
			for (uint32_t code = 0; code < codes; code++)
				may[code] &= known->map[code] != RQL_STORE_NONE && passes_code(step, dimension, known->map[code]);
			some = true;
		}
	}
	return some;
}

/* Marks the keys that codes which may occur have; returns how many they are. */
static uint64_t mark_keys(const struct rql_scan_part *part, const bool *may, uint32_t codes, bool *used)
{
	uint64_t count = 0;
	for (uint32_t code = 0; code < codes; code++) {
		bool *key = &used[part->key_of_code ? part->key_of_code[code] : code];
		count += may[code] && !*key;
		*key |= may[code];
	}
	return count;
}

/* New numbers for the keys that are left, in their order. */
static bool renumber(struct rql_scan *scan, const bool *may, uint32_t codes, const bool *used, uint64_t count,
                     struct rql_scan_part *part)
{
	uint32_t *keys = RQL_NEW_ARRAY(scan->arena, uint32_t, count + 1),
			 *number = malloc(part->key.key_count * sizeof(*number));
	uint32_t *key_of_code = RQL_NEW_ARRAY(scan->arena, uint32_t, codes), n = 0;
	bool done = keys && number && key_of_code;
	for (uint32_t key = 0; done && key < part->key.key_count; key++)
		if (used[key]) {
			number[key] = n;
			keys[n++] = key;
		}
	for (uint32_t code = 0; done && code < codes; code++)
		key_of_code[code] = may[code] ? number[part->key_of_code ? part->key_of_code[code] : code] : 0;
	free(number);
	if (!done)
		return false;
	part->plain = false;
	part->codes = codes;
	part->key_of_code = key_of_code;
	part->key.key_count = count ? count : 1;
	part->key.keys = keys;
	return true;
}

static bool narrow_codes(struct rql_scan *scan, uint32_t codes, struct rql_scan_part *part)
{
	bool *may = malloc(codes + 1), *used = calloc(part->key.key_count, 1), done = may && used;
	if (done) {
		memset(may, true, codes);
		if (drop_codes(scan, part->source.index, may)) {
			uint64_t count = mark_keys(part, may, codes, used);
			if (part->key.key_count - count > part->key.key_count / WORTH)
				done = renumber(scan, may, codes, used, count, part);
		}
	}
	free(may);
	free(used);
	return done;
}

/* A range of integers that a condition on the column itself leaves; no NULL passes one. */
static void narrow_range(const struct rql_scan *scan, struct rql_scan_part *part)
{
	bool nulls = part->null_key != RQL_NONE, some = false;
	if (nulls && part->null_key + 1 != part->key.key_count)
		return;
	rql_int128 least = part->least, greatest = least + part->key.key_count - nulls - 1;
	for (uint32_t s = 0; s < scan->step_count; s++) {
		const struct rql_scan_step *step = &scan->steps[s];
		if (step->kind != RQL_SCAN_BY_TEST || step->index != part->source.index || step->or_null ||
		    step->filter.kind != RQL_FILTER_INTEGER_RANGE)
			continue;
		least = step->filter.least > least ? step->filter.least : least;
		greatest = step->filter.greatest < greatest ? step->filter.greatest : greatest;
		some = true;
	}
	if (!some || least > greatest)
		return; /* nothing passes: whatever the keys are */
	part->key.first_key = (uint64_t)(least - part->least);
	part->least = (int64_t)least;
	part->key.key_count = (uint64_t)(greatest - least) + 1;
	part->null_key = nulls ? 0 : part->null_key;
}

bool rql_scan_narrow(struct rql_scan *scan, struct rql_scan_part *part)
{
	if (part->source.kind != RQL_SOURCE_COLUMN || part->key.wide)
		return true;
	const struct rql_store_column *column = &scan->snapshot->columns[part->source.index];
	if (column->kind == RQL_STORE_INTEGER && !part->key_of_code)
		narrow_range(scan, part);
	else if (column->kind == RQL_STORE_CODED && (part->plain || part->codes >= column->dimension->count))
		return narrow_codes(scan, column->dimension->count, part);
	return true;
}

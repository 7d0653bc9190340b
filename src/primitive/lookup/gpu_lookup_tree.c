/* B+ trees on a GPU: sorted keys in nodes of a line each, and above them levels that are made of them side by side. */
#include "primitive/lookup/lookup_internal.h"

#include "shaders/primitive/lookup_tree_32.comp.h"
#include "shaders/primitive/lookup_tree_64.comp.h"

#define LINE 64u

static const struct rql_kernel tree_kernels[2] = {RQL_LOOKUP_KERNEL(lookup_tree_32, rql_lookup_tree_args),
                                                  RQL_LOOKUP_KERNEL(lookup_tree_64, rql_lookup_tree_args)};

static uint32_t node_keys(const struct rql_lookup_map *map)
{
	return LINE * 8 / map->key_bits;
}

uint64_t rql_lookup_tree_keys(const struct rql_lookup_map *map)
{
	return rql_div_up(map->count, node_keys(map)) * node_keys(map);
}

struct rql_lookup_tree rql_lookup_tree_of(const struct rql_lookup_map *map)
{
	const uint32_t keys = node_keys(map);
	struct rql_lookup_tree tree = {.levels = 0};
	uint64_t below[RQL_LOOKUP_LEVELS], step[RQL_LOOKUP_LEVELS], nodes = rql_div_up(map->count, keys), line = 1;
	for (uint64_t each = keys; nodes > 1; each *= keys + 1) {
		nodes = rql_div_up(nodes, keys + 1);
		below[tree.levels] = nodes;
		step[tree.levels++] = each;
	}
	for (uint32_t l = 0; l < tree.levels; l++) { /* from the top */
		tree.nodes[l] = below[tree.levels - 1 - l];
		tree.step[l] = step[tree.levels - 1 - l];
		tree.lines[l] = (uint32_t)line;
		line += tree.nodes[l];
	}
	return tree;
}

uint64_t rql_lookup_tree_lines(const struct rql_lookup_map *map)
{
	const struct rql_lookup_tree tree = rql_lookup_tree_of(map);
	return tree.levels ? tree.lines[tree.levels - 1] + tree.nodes[tree.levels - 1] : 1;
}

/* Keys that stand at every `step`-th place of the map's, behind the first, and all ones behind the last. */
static rql_status record_level(struct rql_commands *c, const struct rql_lookup_map *map, const struct rql_span *to,
                               uint64_t entries, uint64_t step, struct rql_error *err)
{
	struct rql_uses uses = {.count = 0};
	const struct rql_lookup_tree_args args = {
		.keys = rql_span_address(&map->keys),
		.out_items = rql_span_address(to),
		.entries = entries,
		.step = step,
		.count = (uint32_t)map->count,
	};
	if (!entries)
		return RQL_OK;
	rql_uses_add(&uses, &map->keys, RQL_READ);
	rql_uses_add(&uses, to, RQL_WRITE);
	return rql_lookup_record(c, "lookup.tree", rql_lookup_device(map), &tree_kernels[map->key_bits == 64], &args, entries,
	                         &uses, err);
}

rql_status rql_record_lookup_levels(struct rql_commands *c, const struct rql_lookup_map *map, struct rql_error *err)
{
	RQL_TRY(rql_lookup_check_map(map, err));
	const struct rql_lookup_tree tree = rql_lookup_tree_of(map);
	const struct rql_span rest = rql_span_at(&map->keys, map->count * map->key_bits / 8);
	struct rql_word_table words = {.count = LINE / 8};
	for (uint32_t l = 0; l < tree.levels; l++)
		words.words[l / 2] |= (uint64_t)tree.lines[l] << l % 2 * 32;
	RQL_TRY(rql_record_words(c, &words, &map->nodes, err));
	RQL_TRY(record_level(c, map, &rest, rql_lookup_tree_keys(map) - map->count, map->count, err));
	for (uint32_t l = 0; l < tree.levels; l++) {
		const struct rql_span to = rql_span_at(&map->nodes, (uint64_t)tree.lines[l] * LINE);
		RQL_TRY(record_level(c, map, &to, tree.nodes[l] * node_keys(map), tree.step[l], err));
	}
	return RQL_OK;
}

/* Looking for leaves: which structures and methods could answer a node, the cheapest of them, and why others cannot. */
#include "plan/leaf.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "bind/block/beyond.h"
#include "bind/relation/bind.h"
#include "method/request.h"
#include "plan/map_cache.h"
#include "plan/price/await.h"
#include "plan/price/price_tree.h"
#include "plan/star/scan_sorted.h"
#include "util/threads.h"

void rql_planning_reason(struct rql_planning *p, int rank, const char *fmt, ...)
{
	char text[512];
	if (p->why_not && rank <= p->why_not_rank)
		return;
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	const char *copy = rql_arena_strdup(p->arena, text);
	if (copy) {
		p->why_not = copy;
		p->why_not_rank = rank;
	}
}

/* A row that is put together with those of other values of a DISTINCT argument. */
#define COLLAPSED_ROW_NS 10.0

double rql_leaf_price(const struct rql_leaf *leaf)
{
	return rql_cost_expected(&leaf->cost) + (leaf->hidden_key ? leaf->cost.rows_out * COLLAPSED_ROW_NS : 0);
}

void rql_leaf_clear(struct rql_leaf *leaf)
{
	if (leaf->prepared)
		leaf->method->free(leaf->prepared);
	for (uint32_t m = 0; leaf->scan && m < leaf->scan->map_count; m++)
		rql_kept_map_release(leaf->scan->maps[m]);
	if (leaf->scan)
		rql_scan_sorted_clear(leaf->scan);
	if (leaf->structure)
		rql_structure_release(leaf->structure);
	*leaf = (struct rql_leaf){0};
}

rql_status rql_planning_swallow(struct rql_planning *p, rql_status status, struct rql_error *why, int rank,
                                const char *structure)
{
	if (status == RQL_ERROR_MEMORY || status == RQL_ERROR_INTERRUPTED) {
		rql_error_move(p->err, why);
		return status;
	}
	if (status != RQL_OK)
		rql_planning_reason(p, rank, "%s%s%s", structure ? structure : "", structure ? ": " : "",
		                    rql_error_message(why));
	rql_error_clear(why);
	return RQL_OK;
}

struct rql_candidate *rql_candidate_add(struct rql_planning *p, const struct rql_structure *s)
{
	struct rql_plan_nodes *n = p->nodes;
	if (n->candidate_count == n->candidate_capacity) {
		uint32_t capacity = n->candidate_capacity ? 2 * n->candidate_capacity : 8;
		struct rql_candidate *grown = RQL_NEW_ARRAY(p->arena, struct rql_candidate, capacity);
		if (!grown)
			return NULL;
		if (n->candidate_count)
			memcpy(grown, n->candidates, n->candidate_count * sizeof *grown);
		n->candidates = grown;
		n->candidate_capacity = capacity;
	}
	struct rql_candidate *c = &n->candidates[n->candidate_count++];
	*c = (struct rql_candidate){.structure = rql_arena_strdup(p->arena, s->name), .of = s, .method = "", .unit = ""};
	return c;
}

const char *rql_leaf_unusable(struct rql_planning *p, const struct rql_structure *s, bool *refresh)
{
	const char *database, *schema, *table;
	*refresh = false;
	if (s->state == RQL_STATE_INVALID)
		return rql_arena_printf(p->arena, "its definition no longer binds: %s", s->reason ? s->reason : "");
	if (s->state == RQL_STATE_BUILDING)
		return "it is being built";
	const struct rql_table *moved = s->state == RQL_STATE_READY ? rql_structure_moved_table(p->ctx->catalog, s) : NULL;
	if (s->state == RQL_STATE_READY && !moved) {
		for (uint32_t i = 0; p->ctx->snapshot_stamp && i < s->table_count; i++)
			if (rql_table_moved(p->ctx->catalog, s->tables[i]) > p->ctx->snapshot_stamp)
				return "a table of it changed after this transaction began";
		return NULL;
	}
	for (uint32_t i = 0; i < s->table_count; i++) {
		if (rql_table_being_written(p->ctx->catalog, s->tables[i])) {
			rql_table_name(s->tables[i], &database, &schema, &table);
			return rql_arena_printf(p->arena, "table %s is being written", table);
		}
	}
	const char *failed = p->ctx->build_failure ? p->ctx->build_failure(p->ctx->load_state, s) : NULL;
	if (failed) {
		p->plan->unsettled = true;
		const char *copy = rql_arena_strdup(p->arena, failed);
		return copy ? copy : "its last build failed";
	}
	bool columns = s->reads == RQL_READS_STORE;
	*refresh = !p->ctx->snapshot_stamp && (s->state == RQL_STATE_UNBUILT || s->refresh == RQL_REFRESH_AUTO ||
	                                       (columns && rql_structure_appendable(p->ctx->catalog, s)));
	if (s->state == RQL_STATE_UNBUILT)
		return "it has no contents yet";
	rql_table_name(moved, &database, &schema, &table);
	return rql_arena_printf(p->arena, "stale: table %s changed since it was built; REFRESH %s %s", table,
	                        columns ? "INDEX" : "MATERIALIZED VIEW", s->name);
}

/* ---- one structure for one block ---- */

struct binding {
	struct rql_planning *p;
	const struct rql_block *block;
	const struct rql_match *match;
	struct rql_leaf *leaf;
	struct rql_request request;
};

/* The hidden key that aggregates of a dimension need: all of them must be of the same one, or of expressions of it. */
static rql_status bind_hidden_key(struct binding *b, struct rql_slot *slots, uint32_t count,
                                  struct rql_group_key *hidden, struct rql_error *err)
{
	for (uint32_t i = 0; i < count; i++) {
		struct rql_group_key key;
		if (!rql_slot_is_of_key(slots[i].kind))
			continue;
		RQL_TRY(rql_bind_group(b->p->ctx, b->p->arena, b->leaf->relation, slots[i].of, &key, &slots[i].values, err));
		if (b->leaf->hidden_key && hidden->source.index != key.source.index)
			return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "it aggregates two different dimensions at once");
		slots[i].key_of_code = key.key_of_code;
		slots[i].key_count = key.key_count;
		*hidden = (struct rql_group_key){.source = {.index = key.source.index},
		                                 .key_count = b->leaf->relation->dimensions[key.source.index].count};
		b->leaf->hidden_key = true;
	}
	return RQL_OK;
}

static rql_status bind_request(struct binding *b, const struct rql_definition *def, struct rql_error *err)
{
	struct rql_arena *arena = b->p->arena;
	const struct rql_relation *relation = b->leaf->relation;
	uint32_t groups = b->block->group_count, aggs = b->block->agg_count;
	struct rql_group_key *keys = RQL_NEW_ARRAY(arena, struct rql_group_key, groups + 1);
	struct rql_agg *wanted = RQL_NEW_ARRAY(arena, struct rql_agg, RQL_SLOT_MAX_AGGS);
	struct rql_box_list *boxes = RQL_NEW(arena, struct rql_box_list);
	struct rql_slot *slots = RQL_NEW_ARRAY(arena, struct rql_slot, groups + aggs);
	if (!keys || !wanted || !boxes || !slots)
		return rql_error_memory(err, 0, "a plan");
	uint32_t agg_count = 0;
	for (uint32_t i = 0; i < aggs; i++)
		RQL_TRY(rql_slot_make(arena, def, relation, b->match->aggs[i], &slots[groups + i], wanted, &agg_count, err));
	RQL_TRY(
		rql_bind_predicates(b->p->ctx, arena, relation, b->match->predicates, b->match->predicate_count, boxes, err));
	for (uint32_t i = 0; i < groups; i++) {
		slots[i] =
			(struct rql_slot){.kind = RQL_SLOT_KEY, .type = b->match->groups[i]->type, .key = i, .ordered = true};
		RQL_TRY(rql_bind_group(b->p->ctx, arena, relation, b->match->groups[i], &keys[i], &slots[i].values, err));
	}
	RQL_TRY(bind_hidden_key(b, slots + groups, aggs, &keys[groups], err));
	b->request = (struct rql_request){.relation = relation,
	                                  .group_count = groups + b->leaf->hidden_key,
	                                  .groups = keys,
	                                  .box_count = boxes->count,
	                                  .boxes = boxes->boxes,
	                                  .agg_count = agg_count,
	                                  .aggs = wanted};
	b->leaf->slots = slots;
	b->leaf->slot_count = groups + aggs;
	b->leaf->group_count = groups;
	b->leaf->agg_count = agg_count;
	b->leaf->aggs = wanted;
	b->leaf->host_columns = b->block->column_count;
	return RQL_OK;
}

static bool has_table(const struct rql_block *block, const struct rql_table_ref *table)
{
	bool has = false;
	for (uint32_t i = 0; i < block->table_count && !has; i++)
		has = rql_table_ref_same(&block->tables[i], table);
	return has;
}

/* A view over the query's own tables has the reason that a user wants to read, one over some of them lacks or joins
 * others, and one over none of them says nothing about the query. */
static int rank_of_mismatch(const struct rql_block *block, const struct rql_block *view)
{
	uint32_t shared = 0;
	for (uint32_t i = 0; i < view->table_count; i++)
		shared += has_table(block, &view->tables[i]);
	if (!shared)
		return RQL_REASON_UNRELATED;
	return shared == view->table_count && shared == block->table_count ? RQL_REASON_NO_MATCH : RQL_REASON_OTHER_TABLES;
}

/* Does the structure read a table of the block? */
static bool is_related(const struct rql_structure *s, const struct rql_block *block)
{
	bool some = false;
	for (uint32_t i = 0; i < s->table_count && !some; i++) {
		struct rql_table_ref of;
		rql_table_name(s->tables[i], &of.catalog, &of.schema, &of.table);
		some = has_table(block, &of);
	}
	return some;
}

int rql_rank_beyond(const struct rql_rows_block *rows)
{
	return rows && !rows->is_result ? RQL_REASON_NO_STRUCTURE : RQL_REASON_BEYOND;
}

void rql_planning_opaque(struct rql_planning *p, const struct rql_rel *rel)
{
	const char *beyond = rql_beyond_outputs(p->arena, rel);
	rql_planning_reason(p, RQL_REASON_OTHER_TABLES, "%s%s%s", rql_rel_phrase(rel),
	                    beyond ? "; no structure holds " : "", beyond ? beyond : "");
}

/* Nothing is built over what the block reads. A selection's reason may be one of an aggregate around it. */
static void say_unrelated(struct rql_planning *p, const struct rql_block *block, bool rows)
{
	struct rql_strbuf text = {0};
	for (uint32_t i = 0; i < p->structure_count; i++)
		if (is_related(p->structures[i], block) && (!rows || p->structures[i]->reads == RQL_READS_STORE))
			return;
	for (uint32_t i = 0; i < block->table_count; i++)
		rql_strbuf_printf(&text, "%s%s", !i ? "" : i + 1 < block->table_count ? ", " : " or ", block->tables[i].table);
	if (text.length)
		rql_planning_reason(p, rows ? 0 : RQL_REASON_NO_STRUCTURE, "%sno columns index is of table %s",
		                    rows ? "" : "no materialized view and ", rql_strbuf_text(&text));
	rql_strbuf_free(&text);
}

/* Fills leaf when s serves the block now. Reasons are kept; only memory and interruption fail. */
static rql_status try_structure(struct rql_planning *p, const struct rql_block *block, struct rql_structure *s,
                                struct rql_leaf *leaf)
{
	struct rql_error why = {0};
	struct rql_match *match;
	const struct rql_definition *def = s->definition;
	if (!def)
		return RQL_OK; /* loading it failed; its state says why */
	rql_status status = rql_match(p->arena, block, def, &match, &why);
	if (status != RQL_OK)
		return rql_planning_swallow(p, status, &why, rank_of_mismatch(block, def->block), s->name);
	struct rql_candidate *c = rql_candidate_add(p, s);
	if (!c)
		return rql_error_memory(p->err, 0, "a plan");
	bool refresh;
	if ((c->reason = rql_beyond_aggregate(p->arena, block))) { /* nor would it be one when it is fresh */
		c->reason = rql_arena_printf(p->arena, "no cube computes %s", c->reason);
		return RQL_OK;
	}
	if ((c->reason = rql_leaf_unusable(p, s, &refresh))) {
		rql_planning_reason(p, RQL_REASON_NOT_FRESH, "%s: %s", s->name, c->reason);
		if (refresh && !p->to_refresh)
			p->to_refresh = s;
		return RQL_OK;
	}
	leaf->structure = s;
	rql_structure_retain(s);
	leaf->relation = s->relation;
	struct binding b = {.p = p, .block = block, .match = match, .leaf = leaf};
	status = bind_request(&b, def, &why);
	if (status == RQL_OK)
		status = rql_price_methods(p, s, &b.request, leaf, c, &why);
	if (status == RQL_OK)
		return RQL_OK;
	rql_leaf_clear(leaf);
	if (!c->reason)
		c->reason = rql_arena_strdup(p->arena, rql_error_message(&why));
	return rql_planning_swallow(p, status, &why, RQL_REASON_NO_METHOD, s->name);
}

static struct rql_leaf *add_leaf(struct rql_planning *p)
{
	struct rql_plan_nodes *n = p->nodes;
	if (n->leaf_count == n->leaf_capacity) {
		uint32_t capacity = n->leaf_capacity ? 2 * n->leaf_capacity : 4;
		struct rql_leaf *grown = RQL_NEW_ARRAY(p->arena, struct rql_leaf, capacity);
		if (!grown)
			return NULL;
		if (n->leaf_count)
			memcpy(grown, n->leaves, n->leaf_count * sizeof *grown);
		n->leaves = grown;
		n->leaf_capacity = capacity;
	}
	return &n->leaves[n->leaf_count++];
}

static bool definition_loaded(struct rql_planning *p, uint32_t i)
{
	struct rql_structure *s = p->structures[i];
	bool columns = s->reads == RQL_READS_STORE;
	if (!(columns ? s->table_count != 0 : s->definition != NULL) && s->state != RQL_STATE_INVALID && p->ctx->load) {
		struct rql_structure *loaded = p->ctx->load(p->ctx->load_state, s);
		if (loaded) {
			rql_structure_release(s);
			p->structures[i] = s = loaded;
		}
	}
	return columns ? s->table_count != 0 : s->definition != NULL;
}

/* Same or worse in everything: never worth taking, whatever the weights. */
static bool dominates(const struct rql_cost *a, const struct rql_cost *b)
{
	return a->setup_ns <= b->setup_ns && a->compile_ns <= b->compile_ns && a->run_ns <= b->run_ns && a->transfer_ns <= b->transfer_ns &&
	       a->device_bytes <= b->device_bytes;
}

static void mark_candidates(struct rql_planning *p, uint32_t first, const struct rql_leaf *best)
{
	for (uint32_t i = first; i < p->nodes->candidate_count; i++) {
		struct rql_candidate *c = &p->nodes->candidates[i];
		if (c->reason)
			continue;
		c->chosen = c->of == best->structure && c->device == best->device && !strcmp(c->method, best->method->name) &&
		            !strcmp(c->unit, rql_unit_name(best->method->unit)) &&
		            c->under == (best->under ? best->under->name : NULL) &&
		            c->joined == (best->scan && best->scan->joins);
		c->dominated = !c->chosen && dominates(&best->cost, &c->cost);
	}
}

/* rows NULL: groups and aggregates of the block. */
static rql_status try_any(struct rql_planning *p, const struct rql_block *block, const struct rql_rows_block *rows,
                          struct rql_structure *s, struct rql_leaf *leaf)
{
	if (s->reads != RQL_READS_STORE)
		return rows || p->keyed ? RQL_OK : try_structure(p, block, s, leaf);
	return rows ? rql_scan_leaf_try_rows(p, rows, s, leaf) : rql_scan_leaf_try(p, block, s, leaf);
}

/* A leaf that only hands rows to a GPU is no rival. */
static rql_status try_joined(struct rql_planning *p, const struct rql_block *block, const struct rql_rows_block *rows,
                             struct rql_leaf *best)
{
	struct rql_leaf joined = {0};
	if (!best->feeds)
		return rql_join_leaf_try(p, block, rows, best);
	RQL_TRY(rql_join_leaf_try(p, block, rows, &joined));
	if (joined.prepared) {
		rql_leaf_clear(best);
		*best = joined;
	}
	return RQL_OK;
}

/* What a method reads on a device that the session allows is better than rows that are only handed there. */
static bool is_better(const struct rql_leaf *leaf, const struct rql_leaf *than)
{
	if (leaf->feeds != than->feeds)
		return !leaf->feeds;
	return rql_cost_expected(&leaf->cost) < rql_cost_expected(&than->cost);
}

/* Once one leaf reads a table's columns, others of the same columns are no better. */
static bool is_read(const struct rql_leaf *best, const struct rql_structure *s)
{
	return best->scan && !best->feeds && best->structure->tables[0] == s->tables[0];
}

rql_status rql_leaf_choose_block(struct rql_planning *p, const struct rql_rel *rel, const struct rql_block *block,
                                 const struct rql_rows_block *rows, bool *found)
{
	rql_status status = RQL_OK;
	struct rql_leaf best = {0};
	uint32_t first_candidate = p->nodes->candidate_count;
	p->best_ns = 0;
	say_unrelated(p, block, rows != NULL);
	if ((p->beyond = rql_beyond(p->arena, block)))
		rql_planning_reason(p, rql_rank_beyond(rows), "%s", p->beyond);
	/* Cubes first: where one answers, dimensions are not read for a scan that cannot beat it. */
	for (uint32_t n = 0; n < 2 * p->structure_count && status == RQL_OK; n++) {
		struct rql_leaf leaf = {0};
		uint32_t i = n % p->structure_count;
		bool columns = p->structures[i]->reads == RQL_READS_STORE;
		if (columns != (n >= p->structure_count) || !definition_loaded(p, i))
			continue;
		if (is_read(&best, p->structures[i]))
			continue;
		status = try_any(p, block, rows, p->structures[i], &leaf);
		if (!leaf.prepared)
			continue;
		if (best.prepared && !is_better(&leaf, &best)) {
			rql_await_leaf(p, &leaf, rql_leaf_price(&best));
			rql_leaf_clear(&leaf);
			continue;
		}
		if (best.prepared)
			rql_await_leaf(p, &best, rql_leaf_price(&leaf));
		rql_leaf_clear(&best);
		best = leaf;
		p->best_ns = rql_cost_expected(&best.cost);
	}
	if (status == RQL_OK)
		status = try_joined(p, block, rows, &best);
	if (status == RQL_OK && best.prepared && best.hidden_key)
		status = rql_leaf_distinct_over_groups(p, rel, &best);
	if (status == RQL_OK && best.prepared) {
		struct rql_leaf *leaf = add_leaf(p);
		if (leaf) {
			mark_candidates(p, first_candidate, &best);
			*leaf = best;
			leaf->rel = rel;
			*found = true;
			return RQL_OK;
		}
		status = rql_error_memory(p->err, 0, "a plan");
	}
	/* Columns are worth loading for a selection that is the query and reads all of a table. */
	if (status == RQL_OK && (!rows || (rows->is_result && (rows->order_count || block->conjunct_count))))
		status = rql_scan_leaf_wish(p, block);
	rql_leaf_clear(&best);
	return status;
}

/* ---- over groups that stay on a device ---- */

rql_status rql_planning_alternative(struct rql_planning *p, const struct rql_rel *rel, const struct rql_rel *as,
                                    double host_ns)
{
	struct rql_plan_nodes *n = p->nodes;
	if (n->alternative_count == n->alternative_capacity) {
		uint32_t capacity = n->alternative_capacity ? 2 * n->alternative_capacity : 4;
		struct rql_alternative *grown = RQL_NEW_ARRAY(p->arena, struct rql_alternative, capacity);
		if (!grown)
			return rql_error_memory(p->err, 0, "a plan");
		if (n->alternative_count)
			memcpy(grown, n->alternatives, n->alternative_count * sizeof *grown);
		n->alternatives = grown;
		n->alternative_capacity = capacity;
	}
	n->alternatives[n->alternative_count++] = (struct rql_alternative){rel, as, host_ns};
	return RQL_OK;
}

rql_status rql_leaf_look_below(struct rql_planning *p, const struct rql_rel *rel)
{
	const struct rql_above here = {rel, p->above}, *above = p->above;
	rql_status status = RQL_OK;
	bool all = true;
	if (p->ctx->settings->force || p->ctx->settings->unit_forced)
		return RQL_OK;
	p->above = &here;
	for (uint32_t i = 0; i < rel->child_count && all && status == RQL_OK; i++)
		status = rql_planning_cover(p, rel->children[i], &all);
	p->above = above;
	return status;
}

rql_status rql_leaf_choose_over(struct rql_planning *p, const struct rql_rel *rel, const struct rql_block *block,
                                const struct rql_rows_block *rows, bool *found)
{
	struct rql_leaf leaf = {0};
	const uint32_t first_candidate = p->nodes->candidate_count;
	p->beyond = NULL;
	RQL_TRY(rql_join_leaf_try(p, block, rows, &leaf));
	if (!leaf.prepared)
		return RQL_OK;
	mark_candidates(p, first_candidate, &leaf);
	struct rql_leaf *to = add_leaf(p);
	if (!to) {
		rql_leaf_clear(&leaf);
		return rql_error_memory(p->err, 0, "a plan");
	}
	*to = leaf;
	to->rel = rel;
	*found = true;
	return rql_leaf_look_below(p, rel);
}

static rql_status choose_over_groups(struct rql_planning *p, const struct rql_rel *rel, bool *found)
{
	struct rql_error why = {0};
	struct rql_block *block;
	rql_status status = rql_block_make_over(p->arena, rel, &block, &why);
	if (status != RQL_OK)
		return rql_planning_swallow(p, status, &why, RQL_REASON_UNRELATED, NULL);
	RQL_TRY(rql_leaf_choose_over(p, rel, block, NULL, found));
	return *found ? RQL_OK : rql_leaf_choose_wide(p, rel, block, found);
}

static bool has_union_below(const struct rql_rel *rel)
{
	bool has = false;
	for (uint32_t i = 0; i < rel->child_count && !has; i++)
		has = (rel->children[i]->kind == RQL_REL_SETOP && rel->children[i]->setop == RQL_SETOP_UNION) ||
		      has_union_below(rel->children[i]);
	return has;
}

/* Another aggregate below has reasons of its own. */
static bool has_aggregate(const struct rql_rel *rel)
{
	for (uint32_t i = 0; i < rel->child_count; i++)
		if (rel->children[i]->kind == RQL_REL_AGGREGATE || rel->children[i]->kind == RQL_REL_DISTINCT ||
		    has_aggregate(rel->children[i]))
			return true;
	return false;
}

/* Of few wanted rows the groups' own leaf finds the first ones. */
static bool wants_many(const struct rql_planning *p, const struct rql_rows_block *rows)
{
	return rows->order_count && (p->ctx->settings->force_order || (double)rows->limit >= RQL_ORDERED_ROWS_LEAST);
}

rql_status rql_leaf_choose_rows_over(struct rql_planning *p, const struct rql_rel *rel, bool *found)
{
	struct rql_error why = {0};
	struct rql_rows_block *rows;
	*found = false;
	const bool of_union = has_union_below(rel);
	if (!of_union && !has_aggregate(rel))
		return RQL_OK;
	rql_status status = rql_block_make_rows_over(p->arena, rel, &rows, &why);
	if (status != RQL_OK)
		return rql_planning_swallow(p, status, &why, -1, NULL);
	rows->is_result = rel == p->nodes->root;
	if (!rows->order_count || !(of_union || wants_many(p, rows))) /* without one the first input's rows are the first */
		return RQL_OK;
	return rql_leaf_choose_over(p, rel, rows->block, rows, found);
}

rql_status rql_leaf_choose(struct rql_planning *p, const struct rql_rel *rel, bool *found)
{
	struct rql_error why = {0};
	struct rql_block *block;
	*found = false;
	if (p->structure_count == 0)
		rql_planning_reason(p, RQL_REASON_NO_STRUCTURE, "there is no materialized view and no columns index");
	rql_status status = rql_block_make(p->arena, rel, &block, &why);
	const bool aggregate = has_aggregate(rel);
	if (status != RQL_OK && (aggregate || has_union_below(rel))) {
		RQL_TRY(rql_planning_swallow(p, status, &why, aggregate ? RQL_REASON_UNRELATED : RQL_REASON_NO_BLOCK, NULL));
		return choose_over_groups(p, rel, found);
	}
	if (status != RQL_OK)
		return rql_planning_swallow(p, status, &why, RQL_REASON_NO_BLOCK, NULL);
	RQL_TRY(rql_leaf_choose_block(p, rel, block, NULL, found));
	if (*found || rel->kind != RQL_REL_AGGREGATE || !rql_block_counts_several(block))
		return RQL_OK;
	return rql_leaf_choose_distincts(p, rel, found);
}

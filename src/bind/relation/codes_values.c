/* Placements of a dictionary's watch: what an expression over it gives for every code, found by the expression's text. */
#include "bind/relation/codes_values.h"

#include <stdlib.h>
#include <string.h>
#include "bind/relation/codes.h"
#include "bind/relation/codes_memo.h"
#include "bind/star/distinct.h"
#include "device/placement.h"
#include "flow/compute/compile_entries.h"
#include "util/sort.h"

/* Values of fewer entries are made again faster than they are found. */
#define LEAST_ENTRIES 4096u
#define PART_OF_LIMIT 16u
#define KEYS_MOST 4096u      /* values that are few */
#define KEYS_AT_ONCE 65536u  /* entries; a multiple of 64 */
#define KIND "values"

struct values {
	struct rql_placement placement;
	struct rql_arena *arena;
	struct rql_column column;
	struct rql_codes_keys keys; /* of_code NULL: they are many */
	bool complete; /* else the kernels do not know some entry, and the column is not kept */
	struct rql_budget *budget;
};
struct wanted {
	const struct rql_plan_context *ctx;
	const struct rql_dimension *dimension;
	const struct rql_expr *expr;
};

static _Atomic uint64_t kept_bytes; /* of all */

static void print_dimension(struct rql_strbuf *out, uint32_t index, void *state)
{
	(void)index, (void)state;
	rql_strbuf_putc(out, '#');
}

/* A form's dictionary may be a store's with NULL behind it, under the same watch. */
static bool print(struct rql_strbuf *out, const struct rql_dimension *d, const struct rql_expr *expr)
{
	rql_strbuf_printf(out, "%u %d ", d->count, d->has_null);
	return rql_expr_print(out, expr, print_dimension, NULL) && !out->failed;
}

static struct rql_place place_of(const struct rql_dimension *d, struct rql_strbuf *text)
{
	return (struct rql_place){.owner = d->watch, .kind = KIND, .key = rql_strbuf_text(text)};
}

static bool may_be_shared(const struct rql_plan_context *ctx, const struct rql_dimension *d)
{
	return ctx->codes && d->watch && d->type.id == RQL_TYPE_VARCHAR && d->count >= LEAST_ENTRIES;
}

/* ---- one that is kept ---- */

static void destroy(struct rql_placement *placement)
{
	struct values *v = (struct values *)placement;
	atomic_fetch_sub(&kept_bytes, v->placement.bytes);
	if (v->budget)
		rql_budget_release(v->budget, v->placement.bytes);
	rql_arena_free(v->arena);
	free(v);
}

/* Those of them that nobody has read longest make room. */
static bool has_room(struct rql_device *cpu, const struct rql_budget *budget, uint64_t bytes)
{
	const uint64_t limit = budget ? atomic_load(&budget->limit) : 0;
	const uint64_t most = (limit ? limit : rql_machine_memory()) / PART_OF_LIMIT, used = atomic_load(&kept_bytes);
	if (bytes > most)
		return false;
	if (used + bytes > most)
		(void)rql_placements_evict_kind(cpu, KIND, used + bytes - most, rql_now_ns());
	return atomic_load(&kept_bytes) + bytes <= most;
}

/* What does not fit is forgotten again. That it does not is known until its place gives way: then it is tried anew. */
static void forget(struct values *v)
{
	rql_arena_free(v->arena);
	v->arena = NULL;
	v->keys.of_code = NULL;
	v->complete = false;
}

static void charge(struct values *v, const char *key, struct rql_device *cpu, struct rql_budget *budget)
{
	const uint64_t bytes = v->complete ? rql_arena_bytes(v->arena) : 0;
	struct rql_error why = {0};
	if (bytes && has_room(cpu, budget, bytes) &&
	    (!budget || rql_budget_charge(budget, bytes, "functions of strings", &why) == RQL_OK)) {
		v->budget = budget;
		v->placement.bytes = bytes;
	} else {
		forget(v);
		v->placement.bytes = sizeof *v + strlen(key);
		(void)has_room(cpu, budget, v->placement.bytes);
	}
	rql_error_clear(&why);
	atomic_fetch_add(&kept_bytes, v->placement.bytes);
}

/* of[]: the number of each entry's value. *few false: there are more than KEYS_MOST. */
static rql_status number_values(struct rql_distinct *numbers, const struct rql_column *all, uint32_t count, int32_t *of,
                                bool *few, struct rql_error *err)
{
	*few = true;
	for (uint32_t first = 0; first < count && *few; first += KEYS_AT_ONCE) {
		const struct rql_column part = {.type = all->type,
		                                .data = (char *)all->data + (size_t)first * rql_type_bytes(all->type),
		                                .validity = all->validity ? all->validity + first / 64 : NULL};
		const uint32_t left = count - first;
		RQL_TRY(rql_distinct_add(numbers, &part, left < KEYS_AT_ONCE ? left : KEYS_AT_ONCE, of + first, err));
		*few = rql_distinct_count(numbers) <= KEYS_MOST;
	}
	return RQL_OK;
}

/* Numbers in the order in which values were met become numbers in the order of the values. */
static rql_status order_values(struct values *v, const struct rql_column *met, uint32_t count, const int32_t *of,
                               uint32_t entries, struct rql_error *err)
{
	const unsigned bytes = rql_type_bytes(met->type);
	struct rql_dimension *d = &v->keys.values;
	uint32_t *codes = RQL_NEW_ARRAY(v->arena, uint32_t, entries + 1u);
	uint32_t *order = RQL_NEW_ARRAY(v->arena, uint32_t, 3 * (size_t)count + 1), *spare = order + count, *rank = spare + count;
	*d = (struct rql_dimension){.type = met->type, .count = count, .values = {.type = met->type}};
	d->values.data = rql_arena_array(v->arena, count + 1u, bytes);
	d->values.validity = RQL_NEW_ARRAY(v->arena, uint64_t, count / 64 + 1u);
	if (!codes || !order || !d->values.data || !d->values.validity)
		return rql_error_memory(err, 0, "functions of strings");
	for (uint32_t i = 0; i < count; i++)
		order[i] = i;
	rql_sort_items(order, spare, count, rql_codes_compare, met);
	for (uint32_t i = 0; i < count; i++) {
		rank[order[i]] = i;
		memcpy((char *)d->values.data + (size_t)i * bytes, (const char *)met->data + (size_t)order[i] * bytes, bytes);
		if (rql_column_valid(met, order[i]))
			rql_bit_set(d->values.validity, i);
		else
			d->has_null = true; /* the last */
	}
	for (uint32_t c = 0; c < entries; c++)
		codes[c] = rank[of[c]];
	v->keys.of_code = codes;
	return RQL_OK;
}

/* Reals have values that are equal and not the same. */
static rql_status find_keys(struct values *v, uint32_t entries, struct rql_error *err)
{
	struct rql_distinct *numbers = NULL;
	struct rql_column *met = NULL;
	bool few = false;
	if (!v->complete || rql_type_is_real(v->column.type) || !rql_type_bytes(v->column.type) ||
	    v->column.type.id == RQL_TYPE_INTERVAL) /* what rql_distinct_new refuses */
		return RQL_OK;
	int32_t *of = malloc((entries + 1u) * sizeof *of);
	rql_status status = of ? rql_distinct_new(&v->column.type, 1, &numbers, err)
	                       : rql_error_memory(err, entries * sizeof *of, "functions of strings");
	if (status == RQL_OK)
		status = number_values(numbers, &v->column, entries, of, &few, err);
	if (status == RQL_OK && few)
		status = rql_distinct_columns(numbers, v->arena, &met, err);
	if (status == RQL_OK && few)
		status = order_values(v, met, rql_distinct_count(numbers), of, entries, err);
	rql_distinct_free(numbers);
	free(of);
	return status;
}

static rql_status make(const struct rql_place *at, struct rql_device *cpu, void *state, struct rql_placement **out,
                       struct rql_error *err)
{
	const struct wanted *w = state;
	struct values *v = calloc(1, sizeof *v);
	if (!v || !(v->arena = rql_arena_new())) {
		free(v);
		return rql_error_memory(err, sizeof *v, "functions of strings");
	}
	v->placement = (struct rql_placement){.device = cpu, .destroy = destroy};
	rql_status status =
		rql_codes_evaluate_here(w->ctx, v->arena, w->dimension, w->expr, &v->column, &v->complete, err);
	if (status == RQL_OK)
		status = find_keys(v, w->dimension->count, err);
	if (status != RQL_OK) {
		destroy(&v->placement);
		return status;
	}
	charge(v, at->key, cpu, w->ctx->budget);
	*out = &v->placement;
	return RQL_OK;
}

/* ---- finding ---- */

/* What all plans share; it lives as long as ctx->codes. NULL: nothing is. */
static rql_status share(const struct rql_plan_context *ctx, struct rql_arena *arena, const struct rql_dimension *d,
                        const struct rql_expr *expr, const struct values **out, struct rql_error *err)
{
	struct wanted wanted = {ctx, d, expr};
	struct rql_placement *placement = NULL;
	struct rql_strbuf text = {0};
	rql_status status = RQL_OK;
	*out = NULL;
	if (may_be_shared(ctx, d) && print(&text, d, expr) && rql_compile_entries(arena, expr)) {
		const struct rql_place at = place_of(d, &text);
		atomic_store(&d->watch->gone, rql_placements_drop);
		status = rql_placement_get(&at, &ctx->devices->device[0], make, &wanted, &placement, err);
	}
	rql_strbuf_free(&text);
	RQL_TRY(status);
	if (placement && ((struct values *)placement)->complete && rql_codes_memo_hold(ctx->codes, placement))
		*out = (struct values *)placement;
	else
		rql_placement_release(placement);
	return RQL_OK;
}

rql_status rql_codes_values(const struct rql_plan_context *ctx, struct rql_arena *arena, const struct rql_dimension *d,
                            const struct rql_expr *expr, struct rql_column *out, bool *shared, struct rql_error *err)
{
	const struct values *v;
	RQL_TRY(share(ctx, arena, d, expr, &v, err));
	*shared = v != NULL;
	if (!v)
		return rql_codes_evaluate(ctx, arena, d, expr, out, err);
	*out = v->column;
	return RQL_OK;
}

rql_status rql_codes_keys(const struct rql_plan_context *ctx, struct rql_arena *arena, const struct rql_dimension *d,
                          const struct rql_expr *expr, const struct rql_codes_keys **out, struct rql_error *err)
{
	const struct values *v;
	RQL_TRY(share(ctx, arena, d, expr, &v, err));
	*out = v && v->keys.of_code ? &v->keys : NULL;
	return RQL_OK;
}

struct sought {
	const char *key;
	bool complete;
};

static void look(void *state, const struct rql_place *at, const struct rql_placement *placement)
{
	struct sought *s = state;
	if (strcmp(at->kind, KIND) == 0 && strcmp(at->key, s->key) == 0)
		s->complete = ((const struct values *)placement)->complete;
}

bool rql_codes_values_there(const struct rql_plan_context *ctx, const struct rql_dimension *d, const struct rql_expr *expr)
{
	struct rql_strbuf text = {0};
	bool there = may_be_shared(ctx, d) && print(&text, d, expr);
	struct sought sought = {.key = rql_strbuf_text(&text)};
	if (there) /* a price waits for nobody who is at it */
		rql_placements_each(d->watch, &ctx->devices->device[0], look, &sought);
	rql_strbuf_free(&text);
	return sought.complete;
}

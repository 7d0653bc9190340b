/* Placements of a dictionary's watch: what an expression over it gives for every code, found by the expression's text. */
#include "bind/relation/codes_values.h"

#include <stdlib.h>
#include <string.h>
#include "bind/relation/codes.h"
#include "bind/relation/codes_memo.h"
#include "device/placement.h"
#include "flow/compile_entries.h"

/* Values of fewer entries are made again faster than they are found. */
#define LEAST_ENTRIES 4096u
#define PART_OF_LIMIT 16u
#define KIND "values"

struct values {
	struct rql_placement placement;
	struct rql_arena *arena;
	struct rql_column column;
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
	if (status != RQL_OK) {
		destroy(&v->placement);
		return status;
	}
	charge(v, at->key, cpu, w->ctx->budget);
	*out = &v->placement;
	return RQL_OK;
}

/* ---- finding ---- */

rql_status rql_codes_values(const struct rql_plan_context *ctx, struct rql_arena *arena, const struct rql_dimension *d,
                            const struct rql_expr *expr, struct rql_column *out, bool *shared, struct rql_error *err)
{
	struct wanted wanted = {ctx, d, expr};
	struct rql_placement *placement = NULL;
	struct rql_strbuf text = {0};
	rql_status status = RQL_OK;
	*shared = false;
	if (may_be_shared(ctx, d) && print(&text, d, expr) && rql_compile_entries(arena, expr)) {
		const struct rql_place at = place_of(d, &text);
		atomic_store(&d->watch->gone, rql_placements_drop);
		status = rql_placement_get(&at, &ctx->devices->device[0], make, &wanted, &placement, err);
	}
	rql_strbuf_free(&text);
	RQL_TRY(status);
	if (placement && ((struct values *)placement)->complete && rql_codes_memo_hold(ctx->codes, placement)) {
		*out = ((struct values *)placement)->column;
		*shared = true;
		return RQL_OK;
	}
	rql_placement_release(placement);
	return rql_codes_evaluate(ctx, arena, d, expr, out, err);
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

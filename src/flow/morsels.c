/* Loops of operators over rows, on all threads of the CPU; and the room that rows take. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "flow/rowset.h"
#include "util/large.h"

struct loop {
	struct rql_running *r;
	uint64_t rows, each;
	rql_morsel_fn *fn;
	void *state;
	_Atomic int failed;   /* the first failure's status; others are dropped */
	struct rql_error err; /* written by whoever set it */
};

unsigned rql_running_threads(const struct rql_running *r)
{
	return r->flow && r->flow->pool ? rql_pool_threads(r->flow->pool) : 1;
}

rql_status rql_running_ask(const struct rql_running *r, struct rql_error *err)
{
	const struct rql_progress *progress = r->flow ? r->flow->progress : NULL;
	return progress && atomic_load_explicit(&progress->cancel, memory_order_relaxed)
	           ? rql_error_set(err, RQL_ERROR_INTERRUPTED, "interrupted")
	           : RQL_OK;
}

static void run_one(void *state, uint64_t index, unsigned worker)
{
	struct loop *l = state;
	uint64_t first = index * l->each, rows = l->rows - first < l->each ? l->rows - first : l->each;
	struct rql_error err = {0};
	int none = RQL_OK;
	if (atomic_load_explicit(&l->failed, memory_order_relaxed))
		return;
	rql_status status = rql_running_ask(l->r, &err);
	if (status == RQL_OK)
		status = l->fn(l->state, first, rows, worker, &err);
	if (status != RQL_OK && atomic_compare_exchange_strong(&l->failed, &none, (int)status))
		rql_error_move(&l->err, &err);
	else
		rql_error_clear(&err);
}

static rql_status run_loop(struct loop *l)
{
	uint64_t count = (l->rows + l->each - 1) / l->each;
	if (count > 1 && rql_running_threads(l->r) > 1)
		rql_pool_run(l->r->flow->pool, count, run_one, l);
	else
		for (uint64_t i = 0; i < count; i++)
			run_one(l, i, 0);
	rql_status status = (rql_status)atomic_load(&l->failed);
	if (status != RQL_OK)
		rql_error_move(l->r->err, &l->err);
	return status;
}

rql_status rql_morsels_run(struct rql_running *r, uint64_t rows, rql_morsel_fn *fn, void *state)
{
	struct loop l = {.r = r, .rows = rows, .each = RQL_MORSEL_ROWS, .fn = fn, .state = state};
	return run_loop(&l);
}

rql_status rql_parts_run(struct rql_running *r, uint64_t parts, rql_morsel_fn *fn, void *state)
{
	struct loop l = {.r = r, .rows = parts, .each = 1, .fn = fn, .state = state};
	return run_loop(&l);
}

void rql_part_places(uint64_t *counts, uint64_t morsels, uint64_t parts, uint64_t *part_rows)
{
	uint64_t at = 0;
	for (uint64_t p = 0; p < parts; p++) {
		part_rows[p] = at;
		for (uint64_t m = 0; m < morsels; m++) {
			uint64_t count = counts[m * parts + p];
			counts[m * parts + p] = at;
			at += count;
		}
	}
	part_rows[parts] = at;
}

/* ---- room ---- */

#define CHARGED_FROM 65536u /* bytes; less is not worth asking for */

static bool charge(struct rql_running *r, uint64_t bytes)
{
	r->refused = RQL_OK;
	if (bytes < CHARGED_FROM || !r->flow || !r->flow->budget)
		return true;
	r->refused = rql_budget_charge(r->flow->budget, bytes, "putting rows together", r->err);
	if (r->refused == RQL_OK)
		r->charged += bytes;
	return r->refused == RQL_OK;
}

static uint64_t product(uint64_t count, size_t size)
{
	uint64_t bytes;
	return __builtin_mul_overflow(count, (uint64_t)size, &bytes) ? UINT64_MAX : bytes;
}

void *rql_running_room(struct rql_running *r, uint64_t count, size_t size)
{
	uint64_t bytes = product(count, size);
	if (!charge(r, bytes))
		return NULL;
	void *room = rql_arena_array(r->arena, count, size);
	if (!room)
		r->refused = rql_error_memory(r->err, bytes, "rows of an operator");
	return room;
}

struct rql_scratch {
	struct rql_scratch *next;
	uint64_t bytes;
	bool used;
	_Alignas(64) char data[];
};

/* The smallest block that is large enough, and not much larger. */
static struct rql_scratch *find_block(const struct rql_running *r, uint64_t bytes)
{
	struct rql_scratch *best = NULL;
	for (struct rql_scratch *s = r->scratch; s; s = s->next)
		if (!s->used && s->bytes >= bytes && s->bytes / 8 <= bytes && (!best || s->bytes < best->bytes))
			best = s;
	return best;
}

static struct rql_scratch *new_block(struct rql_running *r, uint64_t bytes)
{
	if (bytes > UINT64_MAX / 2 || !charge(r, bytes)) {
		r->refused = r->refused == RQL_OK ? rql_error_memory(r->err, bytes, "rows of an operator") : r->refused;
		return NULL;
	}
	struct rql_scratch *s = rql_large_alloc(sizeof *s + bytes);
	if (!s) {
		r->refused = rql_error_memory(r->err, bytes, "rows of an operator");
		return NULL;
	}
	*s = (struct rql_scratch){.next = r->scratch, .bytes = bytes};
	r->scratch = s;
	return s;
}

void *rql_running_scratch(struct rql_running *r, uint64_t count, size_t size, bool zero)
{
	uint64_t bytes = product(count, size);
	struct rql_scratch *s = find_block(r, bytes);
	r->refused = RQL_OK;
	if (!s && !(s = new_block(r, bytes)))
		return NULL;
	s->used = true;
	return zero ? memset(s->data, 0, bytes) : s->data;
}

void rql_scratch_give_back(struct rql_running *r)
{
	for (struct rql_scratch *s = r->scratch; s; s = s->next)
		s->used = false;
}

void rql_scratch_free(struct rql_running *r)
{
	for (struct rql_scratch *s = r->scratch, *next; s; s = next) {
		next = s->next;
		rql_large_free(s);
	}
	r->scratch = NULL;
}

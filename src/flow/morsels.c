/* Loops of operators over rows, on all threads of the CPU; and the room that rows take. */
#include <stdatomic.h>
#include <string.h>
#include "flow/rowset.h"

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

static bool cancelled(const struct rql_running *r)
{
	return r->flow && r->flow->progress && atomic_load_explicit(&r->flow->progress->cancel, memory_order_relaxed);
}

static void run_one(void *state, uint64_t index, unsigned worker)
{
	struct loop *l = state;
	uint64_t first = index * l->each, rows = l->rows - first < l->each ? l->rows - first : l->each;
	struct rql_error err = {0};
	rql_status status = RQL_OK;
	int none = RQL_OK;
	if (atomic_load_explicit(&l->failed, memory_order_relaxed))
		return;
	if (cancelled(l->r))
		status = rql_error_set(&err, RQL_ERROR_INTERRUPTED, "interrupted");
	else
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

#define CHARGED_FROM 65536u /* bytes; less is not worth asking for */

void *rql_running_room(struct rql_running *r, uint64_t count, size_t size)
{
	uint64_t bytes;
	void *room = NULL;
	r->refused = RQL_OK;
	if (__builtin_mul_overflow(count, (uint64_t)size, &bytes))
		bytes = UINT64_MAX;
	if (bytes >= CHARGED_FROM && r->flow && r->flow->budget) {
		r->refused = rql_budget_charge(r->flow->budget, bytes, "putting rows together", r->err);
		if (r->refused != RQL_OK)
			return NULL;
		r->charged += bytes;
	}
	room = rql_arena_array(r->arena, count, size);
	if (!room)
		r->refused = rql_error_memory(r->err, bytes, "rows of an operator");
	return room;
}

/* Charged memory: what a build or a structure holds is known at every moment and freed as a whole on any path. */
#include "util/mem.h"

#include <stdlib.h>
#include <string.h>
#include "util/large.h"

#define CACHE_LINE 64u

struct rql_mem_block {
	_Alignas(CACHE_LINE) struct rql_mem_block *next;
	struct rql_mem_block *previous;
	uint64_t bytes; /* this header included */
};
_Static_assert(sizeof(struct rql_mem_block) == CACHE_LINE, "the data behind the header are aligned to a cache line");

void rql_mem_init(struct rql_mem *mem, struct rql_budget *budget, const char *what)
{
	*mem = (struct rql_mem){.budget = budget, .what = what, .failed = RQL_ERROR_MEMORY};
	pthread_mutex_init(&mem->lock, NULL);
}

static void *fail(struct rql_mem *mem, rql_status status)
{
	pthread_mutex_lock(&mem->lock);
	mem->failed = status;
	pthread_mutex_unlock(&mem->lock);
	return NULL;
}

void *rql_mem_alloc(struct rql_mem *mem, uint64_t count, uint64_t size, struct rql_error *err)
{
	uint64_t bytes;
	if (__builtin_mul_overflow(count, size, &bytes) || bytes > (uint64_t)PTRDIFF_MAX / 2)
		return fail(mem, rql_error_memory(err, UINT64_MAX, mem->what));
	bytes = (bytes + 2 * CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
	if (mem->budget) {
		rql_status status = rql_budget_charge(mem->budget, bytes, mem->what, err);
		if (status != RQL_OK)
			return fail(mem, status);
	}
	struct rql_mem_block *block = rql_large_alloc(bytes);
	if (!block) {
		if (mem->budget)
			rql_budget_release(mem->budget, bytes);
		return fail(mem, rql_error_memory(err, bytes, mem->what));
	}
	block->bytes = bytes;
	block->previous = NULL;
	pthread_mutex_lock(&mem->lock);
	block->next = mem->blocks;
	if (mem->blocks)
		mem->blocks->previous = block;
	mem->blocks = block;
	mem->held += bytes;
	pthread_mutex_unlock(&mem->lock);
	return block + 1;
}

void *rql_mem_zalloc(struct rql_mem *mem, uint64_t count, uint64_t size, struct rql_error *err)
{
	void *pointer = rql_mem_alloc(mem, count, size, err);
	if (pointer)
		memset(pointer, 0, count * size);
	return pointer;
}

rql_status rql_mem_failure(struct rql_mem *mem)
{
	pthread_mutex_lock(&mem->lock);
	rql_status status = mem->failed;
	pthread_mutex_unlock(&mem->lock);
	return status;
}

void rql_mem_free(struct rql_mem *mem, void *pointer)
{
	if (!pointer)
		return;
	struct rql_mem_block *block = (struct rql_mem_block *)pointer - 1;
	uint64_t bytes = block->bytes;
	pthread_mutex_lock(&mem->lock);
	if (block->previous)
		block->previous->next = block->next;
	else
		mem->blocks = block->next;
	if (block->next)
		block->next->previous = block->previous;
	mem->held -= bytes;
	pthread_mutex_unlock(&mem->lock);
	rql_large_free(block);
	if (mem->budget)
		rql_budget_release(mem->budget, bytes);
}

void rql_mem_clear(struct rql_mem *mem)
{
	for (struct rql_mem_block *block = mem->blocks, *next; block; block = next) {
		next = block->next;
		rql_large_free(block);
	}
	if (mem->budget)
		rql_budget_release(mem->budget, mem->held);
	mem->blocks = NULL;
	mem->held = 0;
	pthread_mutex_destroy(&mem->lock);
}

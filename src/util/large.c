/* Freed blocks by size, and by age for giving up. One pool for the process: memory has no database. */
#include "util/large.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "util/budget.h"

/* Nobody may touch a block that is kept, nor what lies beyond the bytes that were asked for. */
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define POISON(memory, bytes) ASAN_POISON_MEMORY_REGION((memory), (bytes))
#define UNPOISON(memory, bytes) ASAN_UNPOISON_MEMORY_REGION((memory), (bytes))
#else
#define POISON(memory, bytes) ((void)(memory), (void)(bytes))
#define UNPOISON(memory, bytes) ((void)(memory), (void)(bytes))
#endif

#define ALIGNMENT 64u
#define HUGE_PAGE (UINT64_C(2) << 20)
#define CLASSES 256u      /* four sizes for each power of two */
#define MOST_SHARE 32u    /* of the machine's memory */

struct block {
	_Alignas(ALIGNMENT) void *base; /* what malloc gave */
	uint64_t bytes;                 /* behind the header; 0: not of a class, never kept */
	uint32_t size_class;
	struct block *next, *previous;  /* of its class, while it is kept */
	struct block *newer, *older;
};
_Static_assert(sizeof(struct block) == ALIGNMENT, "what follows is aligned");

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct block *by_class[CLASSES], *newest, *oldest;
static _Atomic uint64_t kept, most_kept; /* most_kept 0: not known yet */

/* The class whose blocks hold so many bytes, and what they hold: a quarter more at most. */
static uint32_t class_of(uint64_t *bytes)
{
	uint32_t power = 63 - (uint32_t)__builtin_clzll(*bytes);
	uint64_t step = UINT64_C(1) << (power - 2), steps = (*bytes + step - 1) / step; /* 4 to 8 */
	*bytes = steps * step;
	return steps == 8 ? (power + 1) * 4 : power * 4 + (uint32_t)steps - 4;
}

/* ---- kept blocks, under the lock ---- */

static void take_out(struct block *b)
{
	*(b->previous ? &b->previous->next : &by_class[b->size_class]) = b->next;
	if (b->next)
		b->next->previous = b->previous;
	*(b->newer ? &b->newer->older : &newest) = b->older;
	*(b->older ? &b->older->newer : &oldest) = b->newer;
	atomic_fetch_sub(&kept, b->bytes);
}

static void put_in(struct block *b)
{
	b->previous = NULL;
	b->next = by_class[b->size_class];
	if (b->next)
		b->next->previous = b;
	by_class[b->size_class] = b;
	b->newer = NULL;
	b->older = newest;
	*(newest ? &newest->newer : &oldest) = b;
	newest = b;
	atomic_fetch_add(&kept, b->bytes);
}

/* The oldest blocks beyond `most` bytes, in a list by `older`. */
static struct block *take_oldest(uint64_t most)
{
	struct block *list = NULL;
	while (oldest && atomic_load(&kept) > most) {
		struct block *b = oldest;
		take_out(b);
		b->older = list;
		list = b;
	}
	return list;
}

/* ---- what everybody calls ---- */

static void free_block(struct block *b)
{
	UNPOISON(b + 1, b->bytes);
	free(b->base);
}

uint64_t rql_large_kept(void)
{
	return atomic_load_explicit(&kept, memory_order_relaxed);
}

void rql_large_give_up(uint64_t most)
{
	pthread_mutex_lock(&lock);
	struct block *list = take_oldest(most);
	pthread_mutex_unlock(&lock);
	while (list) {
		struct block *next = list->older;
		free_block(list);
		list = next;
	}
}

static void ask_huge(void *memory, uint64_t bytes)
{
#ifdef MADV_HUGEPAGE
	uintptr_t begin = ((uintptr_t)memory + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
	uintptr_t end = ((uintptr_t)memory + bytes) / HUGE_PAGE * HUGE_PAGE;
	if (end > begin)
		(void)madvise((void *)begin, end - begin, MADV_HUGEPAGE); /* advice: nothing depends on it */
#else
	(void)memory;
	(void)bytes;
#endif
}

/* bytes: as the class has them, or any that are too few for one. */
static struct block *new_block(uint64_t bytes, uint32_t size_class, bool zero, bool huge)
{
	uint64_t size = bytes + sizeof(struct block) + ALIGNMENT;
	void *base = zero ? calloc(1, size) : malloc(size);
	if (!base && rql_large_kept()) {
		rql_large_give_up(0);
		base = zero ? calloc(1, size) : malloc(size);
	}
	if (!base)
		return NULL;
	if (huge && bytes >= 2 * HUGE_PAGE)
		ask_huge(base, size);
	struct block *b = (struct block *)(((uintptr_t)base + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
	*b = (struct block){.base = base, .bytes = size_class ? bytes : 0, .size_class = size_class};
	return b;
}

static struct block *take_kept(uint32_t size_class)
{
	if (!rql_large_kept())
		return NULL;
	pthread_mutex_lock(&lock);
	struct block *b = by_class[size_class];
	if (b)
		take_out(b);
	pthread_mutex_unlock(&lock);
	return b;
}

/* huge: of huge pages, if it is new. *clean: it is zero already. */
static struct block *take(uint64_t bytes, bool zero, bool huge, bool *clean)
{
	uint64_t room = bytes;
	*clean = zero;
	if (bytes > PTRDIFF_MAX / 2)
		return NULL;
	if (bytes < RQL_LARGE_LEAST)
		return new_block(bytes, 0, zero, false);
	uint32_t size_class = class_of(&room);
	struct block *b = take_kept(size_class);
	if (b)
		*clean = false;
	else if (!(b = new_block(room, size_class, zero, huge)))
		return NULL;
	UNPOISON(b + 1, bytes);
	POISON((char *)(b + 1) + bytes, room - bytes);
	return b;
}

void *rql_large_alloc(uint64_t bytes)
{
	bool clean;
	struct block *b = take(bytes, false, true, &clean);
	return b ? b + 1 : NULL;
}

void *rql_large_reserve(uint64_t bytes, bool *zero)
{
	struct block *b = take(bytes, true, false, zero);
	return b ? b + 1 : NULL;
}

struct zeroing {
	char *memory;
	uint64_t bytes, first; /* as far as the first huge page begins */
};

/* A huge page is one thread's: it is cleared as a whole when somebody first writes to it. */
static void zero_part(void *state, uint64_t index, unsigned worker)
{
	const struct zeroing *z = state;
	uint64_t begin = index ? z->first + (index - 1) * HUGE_PAGE : 0, end = z->first + index * HUGE_PAGE;
	(void)worker;
	if (begin < z->bytes)
		memset(z->memory + begin, 0, (end < z->bytes ? end : z->bytes) - begin);
}

/* With a pool also what is zero is written, so that its pages are there. They are small ones: threads share these faults,
 * and a machine whose host takes free huge pages away needs 100 ms to get 32 MiB of them back, and 25 for small ones. */
void *rql_large_zalloc(uint64_t bytes, struct rql_pool *pool)
{
	bool clean;
	struct block *b = take(bytes, true, !pool, &clean);
	if (!b)
		return NULL;
	struct zeroing z = {(char *)(b + 1), bytes, HUGE_PAGE - (uintptr_t)(b + 1) % HUGE_PAGE};
	if (pool && bytes >= HUGE_PAGE)
		rql_pool_run(pool, bytes / HUGE_PAGE + 2, zero_part, &z);
	else if (!clean)
		memset(z.memory, 0, bytes);
	return z.memory;
}

uint64_t *rql_large_words(uint64_t words, struct rql_pool *pool)
{
	return words > UINT64_MAX / sizeof(uint64_t) ? NULL : rql_large_zalloc(words * sizeof(uint64_t), pool);
}

static uint64_t most(void)
{
	uint64_t bytes = atomic_load_explicit(&most_kept, memory_order_relaxed);
	if (!bytes) {
		bytes = rql_machine_memory() / MOST_SHARE + 1;
		atomic_store(&most_kept, bytes);
	}
	return bytes;
}

void rql_large_free(void *memory)
{
	if (!memory)
		return;
	struct block *b = (struct block *)memory - 1;
	if (!b->bytes || b->bytes > most() / 2) {
		free_block(b);
		return;
	}
	POISON(b + 1, b->bytes);
	pthread_mutex_lock(&lock);
	put_in(b);
	bool full = atomic_load(&kept) > most();
	pthread_mutex_unlock(&lock);
	if (full)
		rql_large_give_up(most());
}

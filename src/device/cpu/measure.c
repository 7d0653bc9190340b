/* What the cost model needs to know of a CPU whatever the method: read bandwidth and the price of a hand-over. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "device/device_internal.h"

#define CHUNK_WORDS ((uint64_t)1 << 16) /* 512 KiB: many for each thread, few enough to be handed out */
#define SHORT_BYTES ((uint64_t)64 << 20)
#define THOROUGH_BYTES ((uint64_t)512 << 20)
#define LONGEST_NS 100000 /* a hand-over that takes longer found the threads asleep */

struct reading {
	const uint64_t *words;
	uint64_t *sums; /* one a chunk, so that the reads are not optimised away */
};

/* Floor: 8 bytes a word from memory; additions keep ahead of any memory. */
static void read_chunk(void *state, uint64_t index, unsigned worker)
{
	(void)worker;
	struct reading *reading = state;
	const uint64_t *words = reading->words + index * CHUNK_WORDS;
	uint64_t part[8] = {0};
	for (uint64_t i = 0; i < CHUNK_WORDS; i += 8)
		for (unsigned k = 0; k < 8; k++)
			part[k] += words[i + k];
	uint64_t sum = 0;
	for (unsigned k = 0; k < 8; k++)
		sum += part[k];
	reading->sums[index] = sum;
}

static void fill_chunk(void *state, uint64_t index, unsigned worker)
{
	(void)worker;
	struct reading *reading = state;
	memset((uint64_t *)(uintptr_t)reading->words + index * CHUNK_WORDS, (int)(index & 0x7f) + 1, CHUNK_WORDS * 8);
}

static void measure_bandwidth(struct rql_device *device, uint64_t bytes, unsigned rounds)
{
	uint64_t chunks = bytes / (CHUNK_WORDS * 8);
	uint64_t *words = aligned_alloc(4096, bytes), *sums = calloc(chunks, sizeof(*sums));
	if (words && sums) { /* else the guess stays */
		struct reading reading = {.words = words, .sums = sums};
		rql_pool_run(device->pool, chunks, fill_chunk, &reading);
		uint64_t best = UINT64_MAX;
		for (unsigned r = 0; r < rounds; r++) {
			uint64_t start = rql_now_ns();
			rql_pool_run(device->pool, chunks, read_chunk, &reading);
			uint64_t took = rql_now_ns() - start;
			best = took < best ? took : best;
		}
		if (best > 0 && best != UINT64_MAX)
			device->profile.read_gbps = (double)bytes / (double)best;
	}
	free(words);
	free(sums);
}

struct meeting {
	_Atomic unsigned arrived;
	unsigned threads;
	uint64_t until;
};

/* Returns when every thread has come, or when waiting for them would cost more than any loop that depends on it. */
static void meet(void *state, uint64_t index, unsigned worker)
{
	(void)index;
	(void)worker;
	struct meeting *meeting = state;
	atomic_fetch_add(&meeting->arrived, 1);
	for (unsigned i = 0; atomic_load_explicit(&meeting->arrived, memory_order_relaxed) < meeting->threads; i++)
		if (i % 64 == 63 && rql_now_ns() > meeting->until)
			return;
}

static int ascending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

/* Back-to-back loops in which every thread takes part: what a warm query sees, whose workers still poll
 * (util/threads.h). The fastest tenth, because on a busy machine the others measure when a thread was given a CPU. */
static bool measure_handover(struct rql_device *device, unsigned rounds)
{
	unsigned threads = rql_pool_threads(device->pool);
	uint64_t took[256];
	rounds = rounds < 256 ? rounds : 256;
	for (unsigned r = 0; r < rounds; r++) {
		uint64_t start = rql_now_ns();
		struct meeting meeting = {.threads = threads, .until = start + LONGEST_NS};
		rql_pool_run(device->pool, threads, meet, &meeting);
		took[r] = rql_now_ns() - start;
	}
	qsort(took, rounds, sizeof(*took), ascending);
	uint64_t fast = took[rounds / 10];
	if (fast >= LONGEST_NS)
		return false; /* the threads got no CPU at all: that says nothing of the machine, so the guess stays */
	device->profile.handover_ns = fast > 100 ? (double)fast : 100; /* never 0: one thread is a plain call */
	return true;
}

/* What this process measured in short, with so many threads: the next database that it opens finds the same CPU. */
static struct {
	pthread_mutex_t mutex; /* also held while measuring: two at once would measure each other */
	unsigned threads;      /* 0: nothing yet */
	double read_gbps, handover_ns;
} known = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void measure_once(struct rql_device *device)
{
	struct rql_profile *profile = &device->profile;
	unsigned threads = rql_pool_threads(device->pool);
	pthread_mutex_lock(&known.mutex);
	if (known.threads != threads) {
		measure_bandwidth(device, SHORT_BYTES, 3);
		known.threads = measure_handover(device, 64) ? threads : 0;
		known.read_gbps = profile->read_gbps;
		known.handover_ns = profile->handover_ns;
	}
	profile->read_gbps = known.read_gbps;
	profile->handover_ns = known.handover_ns;
	pthread_mutex_unlock(&known.mutex);
}

void rql_cpu_measure(struct rql_device *device, bool thorough)
{
	if (!thorough) {
		measure_once(device);
		return;
	}
	measure_bandwidth(device, THOROUGH_BYTES, 7);
	measure_handover(device, 256);
}

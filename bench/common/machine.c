/* The name of the CPU, the memory, and the bandwidth with which all threads read it. */
#include "bench/common/machine.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "util/budget.h"
#include "util/threads.h"

static void cpu_name(char *out, size_t size)
{
	snprintf(out, size, "unknown");
	FILE *file = fopen("/proc/cpuinfo", "r");
	if (!file)
		return;
	char line[256];
	while (fgets(line, sizeof line, file)) {
		char *colon = strchr(line, ':');
		if (strncmp(line, "model name", 10) || !colon)
			continue;
		colon[1 + strcspn(colon + 1, "\n")] = '\0';
		snprintf(out, size, "%s", colon + 1 + strspn(colon + 1, " "));
		break;
	}
	fclose(file);
}

/* ---- bandwidth: every thread sums its own part of an array that no cache holds ---- */

#define CHUNK_WORDS (1u << 17) /* 1 MiB */
#define ARRAY_BYTES (512u << 20)

struct reading {
	const uint64_t *words;
	_Atomic uint64_t sum;
};

static void read_chunk(void *state, uint64_t index, unsigned worker)
{
	struct reading *reading = state;
	const uint64_t *words = reading->words + index * CHUNK_WORDS;
	uint64_t sums[8] = {0};
	(void)worker;
	for (uint32_t i = 0; i < CHUNK_WORDS; i += 8)
		for (unsigned k = 0; k < 8; k++)
			sums[k] += words[i + k];
	uint64_t sum = 0;
	for (unsigned k = 0; k < 8; k++)
		sum += sums[k];
	atomic_fetch_add(&reading->sum, sum); /* keeps the reads */
}

static rql_status measure_reads(unsigned threads, struct rql_machine *machine, struct rql_error *err)
{
	uint64_t *words = malloc(ARRAY_BYTES);
	if (!words)
		return rql_error_memory(err, ARRAY_BYTES, "measuring memory bandwidth");
	memset(words, 1, ARRAY_BYTES);
	struct rql_pool *pool = NULL;
	rql_status status = rql_pool_new(threads, &pool, err);
	if (status == RQL_OK) {
		struct reading reading = {.words = words};
		machine->threads = rql_pool_threads(pool);
		for (unsigned pass = 0; pass < 6; pass++) {
			uint64_t start = rql_now_ns();
			rql_pool_run(pool, ARRAY_BYTES / 8 / CHUNK_WORDS, read_chunk, &reading);
			double gbps = ARRAY_BYTES / (double)(rql_now_ns() - start);
			machine->read_gbps = gbps > machine->read_gbps ? gbps : machine->read_gbps;
		}
		rql_pool_free(pool);
	}
	free(words);
	return status;
}

rql_status rql_machine_measure(unsigned threads, struct rql_machine *out, struct rql_error *err)
{
	struct rql_machine machine = {.memory = rql_machine_memory()};
	struct utsname name;
	time_t now = time(NULL);
	struct tm utc;
	cpu_name(machine.cpu, sizeof machine.cpu);
	if (uname(&name) == 0)
		snprintf(machine.kernel, sizeof machine.kernel, "%.40s %.60s %.40s", name.sysname, name.release, name.machine);
	strftime(machine.date, sizeof machine.date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
	machine.cpus = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
	if (getloadavg(&machine.load, 1) != 1)
		machine.load = -1;
	RQL_TRY(measure_reads(threads, &machine, err));
	*out = machine;
	return RQL_OK;
}

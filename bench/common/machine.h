/* What a measurement was made on. */
#ifndef RQL_BENCH_MACHINE_H
#define RQL_BENCH_MACHINE_H

#include <stdint.h>

#include "util/status.h"

struct rql_machine {
	char cpu[128];    /* the processor's own name, "unknown" */
	char kernel[160]; /* "Linux 6.1.0 x86_64" */
	char date[32];    /* of the run, UTC: "2026-11-20T08:00:00Z" */
	uint32_t cpus;    /* online */
	uint64_t memory;  /* bytes */
	double read_gbps; /* 10^9 bytes a second that `threads` threads read together from memory */
	uint32_t threads;
	double load;      /* programs that wanted a CPU in the minute before the run; below 0: not known */
};

/* Measures with `threads` threads (0: one per CPU); about half a second. */
rql_status rql_machine_measure(unsigned threads, struct rql_machine *out, struct rql_error *err) RQL_MUST_CHECK;

#endif

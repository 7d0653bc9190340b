/* What a case is, and what helps to write one. To add cases: a file selftest_SUBJECT.c with a table of them that ends
 * with {0}, a declaration below, and a line in selftest.c and CMakeLists.txt. */
#ifndef RQL_SELFTEST_CASE_H
#define RQL_SELFTEST_CASE_H

#include "device/work.h"
#include "selftest/selftest.h"
#include "util/arena.h"

#define RQL_SELFTEST_BUFFERS 64u

/* One run of one case. */
struct rql_selftest {
	struct rql_device *device; /* under test */
	struct rql_device *cpu;    /* for methods' CPU versions as oracles; the device itself when that is tested */
	bool thorough;
	struct rql_arena *arena; /* freed after the case */
	uint64_t random;         /* state of the generator; the same for a seed and a case's name */
	struct rql_buffer *buffers[RQL_SELFTEST_BUFFERS];
	uint64_t buffer_bytes[RQL_SELFTEST_BUFFERS]; /* without the guard */
	uint32_t buffer_count;
	struct rql_commands *commands;
};

struct rql_selftest_case {
	const char *name; /* NULL: the end of a table */
	unsigned units;   /* RQL_SELFTEST_UNIT(...) | ...: it runs on devices that have one of them */
	/* RQL_OK: right. RQL_ERROR_UNSUPPORTED: skipped, for the reason in err. Anything else: failed. */
	rql_status (*run)(struct rql_selftest *t, struct rql_error *err);
};
#define RQL_SELFTEST_UNIT(unit) (1u << (unit))

extern const struct rql_selftest_case rql_selftest_work[];
extern const struct rql_selftest_case rql_selftest_trace[];
extern const struct rql_selftest_case rql_selftest_draw[];
extern const struct rql_selftest_case rql_selftest_primitive[];
extern const struct rql_selftest_case rql_selftest_sort[];
extern const struct rql_selftest_case rql_selftest_relation[];
extern const struct rql_selftest_case rql_selftest_bits[];
extern const struct rql_selftest_case rql_selftest_lookup[];
extern const struct rql_selftest_case rql_selftest_ranged[];
extern const struct rql_selftest_case rql_selftest_text[];
extern const struct rql_selftest_case rql_selftest_geometry[];
extern const struct rql_selftest_case rql_selftest_key[];
extern const struct rql_selftest_case rql_selftest_keyray[];
extern const struct rql_selftest_case rql_selftest_rx[];
extern const struct rql_selftest_case rql_selftest_cgrx[];
extern const struct rql_selftest_case rql_selftest_cgrx_nodes[];
extern const struct rql_selftest_case rql_selftest_cube[];
extern const struct rql_selftest_case rql_selftest_cube_rt[];

static inline bool rql_selftest_on_cpu(const struct rql_selftest *t)
{
	return t->device->kind == RQL_DEVICE_CPU;
}

uint64_t rql_selftest_random(struct rql_selftest *t);
static inline uint64_t rql_selftest_below(struct rql_selftest *t, uint64_t end)
{
	return rql_selftest_random(t) % end;
}
/* Zeroed memory until the case ends. */
rql_status rql_selftest_alloc(struct rql_selftest *t, uint64_t count, uint64_t size, void *out,
                              struct rql_error *err) RQL_MUST_CHECK;
/* "wrong: ..." as RQL_ERROR_DEVICE. */
rql_status rql_selftest_wrong(struct rql_error *err, const char *fmt, ...) RQL_PRINTF(2, 3);
/* Compares `count` items of `size` bytes and says where the first difference is. */
rql_status rql_selftest_same(const void *got, const void *wanted, uint64_t count, uint32_t size, const char *what,
                             struct rql_error *err) RQL_MUST_CHECK;

/* ---- GPUs ---- */
/* Device memory with a guard behind it, filled with data (NULL: with a pattern). Freed by rql_selftest_drop. */
rql_status rql_selftest_buffer(struct rql_selftest *t, uint64_t bytes, const void *data, const char *what,
                               struct rql_buffer **out, struct rql_error *err) RQL_MUST_CHECK;
/* A recording; one at a time, freed by rql_selftest_drop. */
rql_status rql_selftest_record(struct rql_selftest *t, struct rql_commands **out, struct rql_error *err) RQL_MUST_CHECK;
/* Ends and runs it and checks all guards. */
rql_status rql_selftest_execute(struct rql_selftest *t, struct rql_error *err) RQL_MUST_CHECK;
/* Frees buffers and recording; the end of a case does it too. */
void rql_selftest_drop(struct rql_selftest *t);

#endif

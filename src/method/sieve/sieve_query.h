/* A request bound to sieves: predicates, and what each segment says of them. */
#ifndef RQL_METHOD_SIEVE_SIEVE_QUERY_H
#define RQL_METHOD_SIEVE_SIEVE_QUERY_H

#include "method/method.h"
#include "method/sieve/sieve_run.h"

struct rql_sieve_gpu; /* sieve_gpu.h */
struct rql_prepared {
	const struct rql_store_snapshot *snapshot; /* one reference */
	struct rql_sieve_gpu *gpu;                 /* NULL: on the CPU */
	uint32_t count;
	struct rql_sieve_predicate *predicates; /* [count] */
	struct rql_index_of *of;                /* [count]: the sieve of each */
	/* Expected, of what was there when it was prepared; shares of the snapshot's rows. */
	double share;         /* that pass all */
	double tested;        /* by values: whose values are read */
	bool together;        /* rows that pass are neighbours, by all predicates */
	double open;          /* of all predicates, rows in the bins that bounds cut */
	double reads;         /* ... vectors, as many as a segment reads on average */
	bool positions;       /* all segments are answered by them on the CPU; else by values, as on GPUs */
	double ranks;         /* by positions: bounds searched for, in all parts together */
	double rank_reads;    /* ... vectors */
	double turned;        /* ... rows turned over, as a share */
	double missing;       /* of all predicates' rows, those without a run */
	double missing_bytes; /* that the runs will take which are not there */
};

/* One predicate in one segment. */
struct rql_sieve_test {
	const struct rql_store_view *view;
	struct rql_sieve_run *run; /* a reference; NULL: there is no room for one, so that every row is tested */
	struct rql_sieve_predicate predicate;
	struct rql_sieve_spans spans;
	struct rql_sieve_cut *cuts; /* [2 * spans.count]: of each span's from and to */
};
/* Everything but the run. */
rql_status rql_sieve_test_make(struct rql_sieve_test *test, const struct rql_sieve_predicate *predicate,
                               const struct rql_store_view *view, struct rql_arena *arena,
                               struct rql_error *err) RQL_MUST_CHECK;
/* Vectors that the test reads, each once. */
uint32_t rql_sieve_test_reads(const struct rql_sieve_test *test);

/* The rows of a block that vectors leave undecided. */
struct rql_sieve_doubt {
	uint64_t tests;  /* a bit for each test that has some */
	uint64_t *maybe; /* [tests][RQL_SIEVE_WORDS] */
};
/* A block of the segment under `count` tests, in three steps, which are as many passes over some blocks: the rows that
 * pass or may, as ROWS have them (false: none does); their values asked for ahead; and those that pass (false: none
 * does). *tested grows by the values that were read. */
bool rql_sieve_block_vectors(const struct rql_sieve_test *tests, uint32_t count, uint32_t block, uint64_t *bits,
                             struct rql_sieve_doubt *doubt);
void rql_sieve_block_fetch(const struct rql_sieve_test *tests, uint32_t count, uint32_t block, const uint64_t *bits,
                           const struct rql_sieve_doubt *doubt);
bool rql_sieve_block_values(const struct rql_sieve_test *tests, uint32_t count, const struct rql_store_kernels *kernels,
                            uint32_t block, const struct rql_sieve_doubt *doubt, uint64_t *bits, uint64_t *tested);

/* ---- for the vtables (sieve_method.c, sieve_cost.c) ---- */
enum rql_offer rql_sieve_offer(const struct rql_request *request, const struct rql_device *device, enum rql_unit unit);
/* Do all sieves that a unit would answer by leave to it how? */
bool rql_sieve_is_automatic(const struct rql_request *request, const struct rql_device *device, enum rql_unit unit);
/* Binds the request to the sieves that a unit of the device answers by, and expects what their runs on the CPU say; gpu
 * is NULL. */
rql_status rql_sieve_bind(const struct rql_request *request, struct rql_device *cpu, const struct rql_device *device,
                          enum rql_unit unit, struct rql_prepared **out, struct rql_error *err) RQL_MUST_CHECK;
void rql_sieve_unbind(struct rql_prepared *p); /* NULL accepted */
uint64_t rql_sieve_bound_bytes(const struct rql_prepared *p);
/* gpu NULL: on the CPU. */
rql_status rql_sieve_expect(struct rql_prepared *p, struct rql_device *cpu, struct rql_device *gpu,
                            struct rql_error *err) RQL_MUST_CHECK;
void rql_sieve_price(const struct rql_prepared *p, const struct rql_device *cpu, struct rql_cost *out);
rql_status rql_sieve_select(const struct rql_prepared *p, struct rql_device *cpu, const struct rql_run *how,
                            struct rql_port *out, struct rql_error *err) RQL_MUST_CHECK;

#endif

/* The Star Schema Benchmark's data (P. O'Neil, E. O'Neil, X. Chen: Star Schema Benchmark, revision 3, 2009), written
 * from its rules. docs/ssb.md says what the specification leaves open and how it is decided here.
 *
 * Every row is a function of (table, scale, seed, row number): attributes are hashes of counters, so any range of rows
 * can be made by any thread in any order, and memory does not grow with the scale. What must be balanced (lines per
 * order; cities of customers and suppliers; brands of parts) is dealt like cards, block by block, in a shuffled order,
 * so that counts are known beforehand and selectivities hold at every scale. */
#ifndef RQL_GEN_SSB_H
#define RQL_GEN_SSB_H

#include "gen/table.h"
#include "util/status.h"

enum rql_ssb_table {
	RQL_SSB_LINEORDER,
	RQL_SSB_CUSTOMER,
	RQL_SSB_SUPPLIER,
	RQL_SSB_PART,
	RQL_SSB_DATE,
	RQL_SSB_FLAT, /* lineorder_flat: the join of lineorder, customer, supplier and part, ClickHouse's 38 columns */
};

#define RQL_SSB_MAX_SCALE 300.0 /* order keys are INTEGER, up to 6,000,000 x scale */
#define RQL_SSB_MIN_SCALE 0.0001

struct rql_ssb {
	enum rql_ssb_table table;
	uint64_t rows; /* of the table */
	uint64_t orders, customers, suppliers, parts;
	uint64_t seed;
};

/* name as SQL has it ("lineorder", ..., "lineorder_flat"; any case). RQL_ERROR_STATEMENT for an unknown table or a
 * scale out of [RQL_SSB_MIN_SCALE, RQL_SSB_MAX_SCALE]. */
rql_status rql_ssb_init(struct rql_ssb *out, const char *name, double scale, int64_t seed,
                        struct rql_error *err) RQL_MUST_CHECK;

/* The table's columns in order; *count receives their number. Static. */
const struct rql_gen_column *rql_ssb_columns(enum rql_ssb_table table, uint32_t *count);

struct rql_ssb_scratch; /* one thread's working memory, about 300 KiB */
struct rql_ssb_scratch *rql_ssb_scratch_new(void); /* NULL when out of memory */
void rql_ssb_scratch_free(struct rql_ssb_scratch *scratch);

/* Most rows of one call. */
#define RQL_SSB_CHUNK 2048u
/* Writes rows [first, first + count) of the table into rows [0, count) of out, whose columns are rql_ssb_columns'. The
 * range lies within the table, count <= RQL_SSB_CHUNK. */
void rql_ssb_fill(const struct rql_ssb *ssb, uint64_t first, uint32_t count, struct rql_batch *out,
                  struct rql_ssb_scratch *scratch, rql_gen_put_fn *put);

#endif

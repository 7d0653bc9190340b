/* rayql bench device: joins, group-bys, look-ups, sorts and partitions of columns that lie on a device, by device time.
 * Every answer is checked in full, on the device, by kernels that share no code with what is measured. */
#ifndef RQL_RELATION_BENCH_H
#define RQL_RELATION_BENCH_H

#include "bench/common/args.h"
#include "bench/flat/flat.h"
#include "bench/relation/relation_bench_kernels.h"
#include "primitive/relation/relation.h"
#include "util/strbuf.h"

struct rql_relation_bench;
struct rql_relation_options {
	const char *device, *json, *cases;
	const char *forms; /* of look-ups: a list of their names; NULL: all */
	bool join, group, partition, lookup, sort, variants;
	int64_t log2_scale; /* sizes are multiplied by 2^this */
	int64_t runs;
	const char *benchmark; /* its name, for messages and JSON */
	rql_status (*run)(struct rql_relation_bench *b, struct rql_error *err);
	enum rql_unit unit; /* that the device must have, if it is no CPU */
	bool cpu;           /* may be one */
	int64_t figure;    /* of rayql bench rx and thesis; 0: has none */
	uint32_t figures;  /* of rayql bench garuda: a bit each */
	int64_t log2_rows; /* the same */
	bool host;         /* the same: from host memory to host memory (garuda_host.c) */
	bool groups, duckdb; /* of --host: group-bys; and DuckDB beside them */
	bool staged;
	bool tpch;           /* of rayql bench garuda: TPC-H's tables, ... */
	double scale;        /* ... their scale factor, and ... */
	const char *data;    /* ... the folder with their files; NULL: the usual one */
	int64_t devices;
	uint64_t device_limit, host_limit;
	const char *folder;
};

#define RQL_RELATION_BUFFERS 48u
struct rql_relation_bench {
	const struct rql_relation_options *options;
	struct rql_devices *devices; /* all that there are */
	struct rql_device *device;
	struct rql_flat_device floors;
	double awake_ns;
	struct rql_buffer *buffers[RQL_RELATION_BUFFERS]; /* of the case that runs */
	uint32_t buffer_count;
	struct rql_buffer *results; /* RQL_RELATION_RESULTS words, mapped */
	struct rql_strbuf json;    /* objects of the cases */
	struct rql_strbuf figures; /* the same of the figures, where there may be several */
	uint32_t figure;           /* that the cases belong to; 0: none */
	uint32_t wrong, measured;
};
#define RQL_RELATION_RESULTS 4u

/* One way to run a case. */
struct rql_relation_variant {
	const char *name;
	bool random_keys; /* the keys' own bits instead of a hash */
	struct rql_relation_tuning tuning;
};

/* What is measured: records itself; check sets *good. */
struct rql_relation_case {
	char name[96];
	double floor_bytes; /* inputs and outputs once */
	double moved_bytes; /* that the passes of this variant move; 0: not counted */
	uint64_t scratch_bytes;
	rql_status (*record)(struct rql_relation_case *one, struct rql_commands *c, struct rql_error *err);
	rql_status (*check)(struct rql_relation_bench *b, struct rql_relation_case *one, bool *good, struct rql_error *err);
	void *state;
};

/* Memory until rql_relation_drop. */
rql_status rql_relation_buffer(struct rql_relation_bench *b, uint64_t bytes, struct rql_buffer **out,
                               struct rql_error *err) RQL_MUST_CHECK;
void rql_relation_drop(struct rql_relation_bench *b);
/* Frees the buffers that were made after the first `count`. */
void rql_relation_drop_to(struct rql_relation_bench *b, uint32_t count);
/* Runs one of relation_data.comp's kernels over args->rows rows. */
rql_status rql_relation_data(struct rql_relation_bench *b, uint32_t what, struct rql_relation_bench_args *args,
                             struct rql_error *err) RQL_MUST_CHECK;
/* The same, as one more pass of a recording. */
rql_status rql_relation_record_data(struct rql_relation_bench *b, struct rql_commands *c, uint32_t what,
                                    struct rql_relation_bench_args *args, struct rql_error *err) RQL_MUST_CHECK;
rql_status rql_relation_fill(struct rql_relation_bench *b, struct rql_buffer *buffer, uint64_t offset, uint64_t bytes,
                             uint32_t word, struct rql_error *err) RQL_MUST_CHECK;
/* Warms up, runs, checks, reports. */
rql_status rql_relation_measure(struct rql_relation_bench *b, struct rql_relation_case *one,
                                const struct rql_relation_variant *variant, struct rql_error *err) RQL_MUST_CHECK;
/* Is the case asked for (--cases: part of its name)? */
bool rql_relation_wanted(const struct rql_relation_bench *b, const char *name);
/* Is the form of a look-up asked for (--forms)? */
bool rql_relation_form_wanted(const struct rql_relation_bench *b, const char *name);

static inline uint64_t *rql_relation_results(const struct rql_relation_bench *b)
{
	return b->results->map;
}

/* What a group-by must give, worked out by plain atomics: rows, and the sum, the least and the greatest value of one
 * column, of each of 2^log2_range possible groups. */
struct rql_group_reference {
	struct rql_buffer *counts, *of_column[3];
};
/* Makes room, and says how many groups there are. data: the rows. */
rql_status rql_group_reference_new(struct rql_relation_bench *b, const struct rql_relation_bench_args *data,
                                   struct rql_group_reference *out, uint64_t *groups,
                                   struct rql_error *err) RQL_MUST_CHECK;
/* Is what `answer` says of value column `column` right? Of the answer: keys_to, column, rows, flags. The first column
 * goes first, since it takes the groups away that were found. */
rql_status rql_group_reference_check(struct rql_relation_bench *b, const struct rql_relation_bench_args *data,
                                     const struct rql_group_reference *reference, uint32_t column,
                                     const struct rql_relation_bench_args *answer, bool *good,
                                     struct rql_error *err) RQL_MUST_CHECK;

rql_status rql_relation_joins(struct rql_relation_bench *b, struct rql_error *err) RQL_MUST_CHECK;
rql_status rql_relation_groups(struct rql_relation_bench *b, struct rql_error *err) RQL_MUST_CHECK;
rql_status rql_relation_lookups(struct rql_relation_bench *b, struct rql_error *err) RQL_MUST_CHECK;
rql_status rql_relation_partitions(struct rql_relation_bench *b, struct rql_error *err) RQL_MUST_CHECK;
rql_status rql_relation_sorts(struct rql_relation_bench *b, struct rql_error *err) RQL_MUST_CHECK;
/* Opens the device, measures its floors, runs the options' cases, writes the JSON; the process's exit code. */
int rql_relation_run(const struct rql_relation_options *options);
int rql_relation_main(int argc, char **argv);
int rql_garuda_main(int argc, char **argv);

#endif

/* rayql bench rx and rayql bench thesis: look-ups by rays and their rivals, on data of one shape at a time. */
#ifndef RQL_BENCH_RX_H
#define RQL_BENCH_RX_H

#include "bench/relation/relation_bench.h"
#include "bench/rx/rx_bench_kernels.h"
#include "primitive/lookup/lookup_map.h"
#include "primitive/rt/cgrx_nodes.h"

/* A structure and a way to look up in it. */
enum rql_rx_kind { RQL_RX_KIND_RX, RQL_RX_KIND_CGRX, RQL_RX_KIND_MAP };
struct rql_rx_form {
	const char *name;
	enum rql_rx_kind kind;
	/* RX */
	enum rql_rx_primitive primitive;
	enum rql_key_form ray; /* of points; ranges are along x */
	enum rql_rx_hits hits;
	enum rql_accel_aim aim;
	uint8_t bits[3];  /* a cut of the keys' bits; 0: as long an x as may be */
	uint32_t stride;  /* extended */
	bool scaled;      /* x and z no longer than y, also for points */
	bool loose;       /* not compacted */
	bool refit;
	bool unordered;   /* built in the rows' order; else in the keys' */
	uint32_t parts;
	/* cgRX; a map: by a directory, else by binary search */
	uint32_t log2_bucket, run;
	bool lines, scan, directory; /* scan: no prefix sums */
	bool inverse; /* cgRX of the probes; rays from the keys, which are sorted first */
	bool drop; /* cgRX's scene has the bits that it chooses, else all */
	bool hashed; /* a map: points of keys that come once */
	bool tree;   /* a map: a B+ tree */
	bool interpolation; /* a map: searched so, without a directory */
	bool kary;   /* a map: a search tree in the keys' own memory; rows, no sums */
	bool direct; /* a map: of dense keys; on the CPU alone */
	/* cgRX in nodes of so many keys, which takes the shape's changes: in place, or anew. 0: it is not in nodes */
	uint32_t log2_node;
	bool anew;
};

/* A figure's point. */
struct rql_rx_shape {
	int figure;
	const char *name;
	int log2_keys, log2_probes; /* at scale 0 */
	uint32_t key_bits;
	uint32_t uniform;   /* percent of the keys that lie anywhere; the others are 0, 1, 2, ... */
	uint32_t spread;    /* on the CPU alone: RQL_BENCH_CLUSTERED or _EXPONENTIAL, with uniform 100; else 0 */
	uint32_t log2_dups; /* of each key */
	uint32_t miss;      /* probes in a thousand */
	float zipf;
	uint32_t width;     /* of ranges */
	uint32_t log2_batches;
	bool sorted;        /* probes are sorted first, and answers put in the probes' order again */
	bool partitioned;   /* the same by 2^10 ranges of keys instead (primitive/relation/relation.h); maps do it themselves */
	bool ordered;       /* keys come ascending */
	uint32_t moved;     /* pairs of rows that change keys before a refit or an update: all of them, or none */
	uint32_t added;     /* one of so many rows comes by an update, or none; other forms have them from the first */
	const struct rql_rx_form *const *forms; /* NULL at the end */
	const char *paper;  /* what it found; NULL: nothing there */
	double paper_ms;    /* of the first form, RTX 4090, where it is known; 0: not */
};

/* Data of a shape, on the device. */
struct rql_rx_world {
	struct rql_relation_bench *b;
	const struct rql_rx_shape *shape;
	struct rql_rx_bench_args data; /* of the check */
	uint64_t keys, probes, present; /* present: probes that have their key */
	uint64_t last;  /* the greatest key, or a bound */
	uint32_t bits;  /* of it */
	struct rql_span key, value, point, end;
	struct rql_span row_out, sum_out, state;
	struct rql_span places, sorted_point, sorted_end, moved_out, temp; /* of sorted or partitioned probes */
	struct rql_partition partition;
};
rql_status rql_rx_world_new(struct rql_relation_bench *b, const struct rql_rx_shape *shape, struct rql_rx_world *w,
                            struct rql_error *err) RQL_MUST_CHECK;
/* Records one of rx_data.comp's kernels over args->rows rows. */
rql_status rql_rx_record_data(struct rql_rx_world *w, struct rql_commands *c, const char *pass, uint32_t what,
                              const struct rql_rx_bench_args *args, struct rql_error *err) RQL_MUST_CHECK;
rql_status rql_rx_run_data(struct rql_rx_world *w, uint32_t what, const struct rql_rx_bench_args *args,
                           struct rql_error *err) RQL_MUST_CHECK;
/* All forms of a shape: builds, looks up, checks, reports. */
rql_status rql_rx_shape_run(struct rql_relation_bench *b, const struct rql_rx_shape *shape,
                            struct rql_error *err) RQL_MUST_CHECK;

/* Reads options into *o, whose defaults are set, and runs it; the process's exit code. Figures are least to most. */
int rql_rx_options_run(int argc, char **argv, const char *help, struct rql_relation_options *o, int64_t least,
                       int64_t most);
int rql_rx_main(int argc, char **argv);
int rql_thesis_main(int argc, char **argv);

#endif

/* rayql bench ssb-flat: the 13 queries over lineorder_flat, from cubes on the units of one device, beside plain scans of
 * the same rows on the same device (rival.h) and DuckDB. What is inside every timer is said at its field. */
#ifndef RQL_BENCH_FLAT_H
#define RQL_BENCH_FLAT_H

#include <stdio.h>

#include "bench/common/client.h"
#include "bench/common/machine.h"
#include "bench/flat/rival.h"
#include "bench/ssb/ssb_run.h"

#define RQL_FLAT_UNITS 8u

/* "cpu", "compute", "rt", "rt:paper", "rt:paper:split-scan": a unit and after the first colon a layout. */
struct rql_flat_unit {
	char name[48], unit[16], layout[32]; /* layout "auto": RayQL's own */
};

struct rql_flat_options {
	double scales[RQL_BENCH_SCALES];
	uint32_t scale_count;
	enum rql_bench_rollup rollups[RQL_BENCH_ROLLUPS];
	uint32_t rollup_count;
	struct rql_flat_unit units[RQL_FLAT_UNITS];
	uint32_t unit_count;
	uint32_t query_mask; /* bit i: query i is run */
	uint32_t figures;    /* rtcudb: bit n: figure n of the paper; 0: ssb-flat */
	const char *device;  /* "vulkan:0", a UUID or a PCI address */
	int64_t seed, threads, runs;
	bool rivals, check, quiet;
	const char *json;
	char *directory; /* malloc'ed */
};

struct rql_flat_query {
	char *error; /* why there are no times; NULL when there are */
	bool same;   /* every row equal to DuckDB's, types included; without --check to the first unit's */
	char method[24], unit[24], structure[64];
	uint64_t rows, cells_covered, cells_read, bytes_read, intervals, rays, hits;
	double first_ms;                 /* first run of the statement, with what it had to put on the device */
	double warm_us, warm_least_us;   /* later runs, SQL text to rows: median, least */
	double device_us, device_least_us; /* device time of such runs, all passes; 0 on the CPU */
	double estimated_us;
	double floor_us;                 /* one empty launch, plus the bytes of the qualifying cells at the device's bandwidth */
};

/* One unit over views of one kind. */
struct rql_flat_group {
	const struct rql_flat_unit *unit;
	enum rql_bench_rollup rollup;
	struct rql_flat_query queries[RQL_SSB_QUERIES];
	double cells[RQL_SSB_FLIGHTS], cube_bytes[RQL_SSB_FLIGHTS];   /* of the views themselves */
	double device_bytes[RQL_SSB_FLIGHTS];                         /* what they hold on the device for this unit */
	double place_ms[RQL_SSB_FLIGHTS];                             /* uploads, and builds of what is on the device */
	double build_ms[RQL_SSB_FLIGHTS];                             /* CREATE MATERIALIZED VIEW, call to return */
	char *placements; /* what rayql_structures() says of each after its queries, as a JSON object */
};

struct rql_flat_run {
	double scale;
	uint64_t rows;
	bool reused;
	double generate_s;
	double host_ms[RQL_SSB_QUERIES]; /* DuckDB, text to rows, median of 3 */
	double rival_generate_s;
	struct rql_rival_answer rivals[RQL_RIVAL_FORMS][RQL_SSB_QUERIES];
	bool rival_same[RQL_RIVAL_FORMS][RQL_SSB_QUERIES];
	uint32_t group_count;
	struct rql_flat_group *groups; /* malloc'ed */
	uint32_t different;            /* answers that differ or are missing */
};

/* What the device does without any work: measured by the benchmark itself, for floors. */
struct rql_flat_device {
	char id[32], name[128], driver[160];
	double launch_us; /* device time of an empty pass */
	double read_gbps;
};
rql_status rql_flat_measure_device(struct rql_device *device, struct rql_flat_device *out,
                                   struct rql_error *err) RQL_MUST_CHECK;
/* Work enough for the device to leave the clocks that it idles at, after which statements of a few microseconds do not
 * bring it back: on an H200 everything but memory is then 3.4 times slower. Nothing when it is awake, which *awake_ns, 0
 * at first, tells, and on software devices. */
rql_status rql_flat_wake(struct rql_device *device, double *awake_ns, struct rql_error *err) RQL_MUST_CHECK;
/* How much longer a fixed work of one workgroup takes now than when the device was awake: what its clock is. 1: it cannot
 * be told. */
#define RQL_FLAT_SLOW 1.1
rql_status rql_flat_slowness(struct rql_device *device, double awake_ns, double *slowness,
                             struct rql_error *err) RQL_MUST_CHECK;

rql_status rql_flat_run_scale(const struct rql_flat_options *options, struct rql_device *device,
                              const struct rql_flat_device *floors, struct rql_pool *pool, double scale,
                              struct rql_flat_run *run, struct rql_strbuf *devices,
                              struct rql_error *err) RQL_MUST_CHECK;
void rql_flat_run_free(struct rql_flat_run *run);

/* Geometric means over the queries that have times, in us; 0 when there is none. */
struct rql_flat_means {
	double device_us, warm_us, floor_us, over_floor;
	uint32_t asked, timed, same;
};
void rql_flat_means(const struct rql_flat_group *group, struct rql_flat_means *out);

void rql_flat_report(FILE *out, const struct rql_flat_run *run);
rql_status rql_flat_json(const char *path, const struct rql_flat_options *options, const struct rql_machine *machine,
                         const struct rql_flat_device *device, const char *devices, const struct rql_flat_run *runs,
                         uint32_t count, struct rql_error *err) RQL_MUST_CHECK;

/* The device of that name, or with NULL the first that is a GPU; NULL with *err set when there is none. */
struct rql_device *rql_flat_find_device(struct rql_devices *devices, const char *name, struct rql_error *err);

int rql_flat_main(int argc, char **argv); /* arguments behind "rayql bench"; exit code as rql_bench_main */

#endif

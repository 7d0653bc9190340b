/* The fused scan: one pass over the blocks of a column store that filters, joins to maps, groups and aggregates,
 * and writes nothing in between (A. Shanbhag, S. Madden, X. Yu: A Study of the Fundamental Performance Characteristics
 * of GPUs and CPUs for Database Analytics, SIGMOD 2020, section 3, "Crystal": a tile stays in the fast memory through
 * all operators; P. Boncz, M. Zukowski, N. Nes: MonetDB/X100, CIDR 2005: the same with vectors in a CPU's cache).
 *
 * Requests are those of method/request.h that read a store; answers are ports of groups, so that what finishes a cube's
 * answer finishes this one. Selections of rows: scan_rows.h. */
#ifndef RQL_METHOD_SCAN_SCAN_H
#define RQL_METHOD_SCAN_SCAN_H

#include "expr/expr.h"
#include "method/method.h"

/* ---- running ---- */
struct rql_scan; /* a request bound to a snapshot; immutable: several threads may run it at once */

/* RQL_ERROR_UNSUPPORTED when it is no request that a scan can answer (a 128-bit join key, group keys with more than
 * 2^62 combinations, or together 128 bits): the message says which part. RQL_ERROR_INTERNAL: an index out of range. */
rql_status rql_scan_prepare(const struct rql_request *request, struct rql_device *device, struct rql_scan **out,
                            struct rql_error *err) RQL_MUST_CHECK;
void rql_scan_free(struct rql_scan *scan); /* NULL accepted */
uint64_t rql_scan_bytes(const struct rql_scan *scan); /* without the workers at rest, the snapshot, maps and programs */

struct rql_scan_counts {
	uint64_t blocks, blocks_skipped; /* of them, by zone maps alone */
	uint64_t rows_read, rows_passed;
	uint64_t bytes_read; /* of compressed columns: whole blocks, or the cache lines of values fetched singly */
};
/* Answers in arena. Answers' columns: COUNT, SUM, MIN and MAX of integers as int128, of reals as double, MIN and
 * MAX of a coded column as codes (RQL_MEASURE_CODE). answer->cells_read: rows of the blocks that were not skipped;
 * cells_covered: rows that passed; runs: blocks read. counts may be NULL. An error of a program (overflow,
 * division, cast) stops the scan with the program's status and message. RQL_ERROR_INTERRUPTED when progress->cancel
 * is set; progress may be NULL. under: of a request under ROWS those (port.h), else NULL. */
rql_status rql_scan_run(const struct rql_scan *scan, struct rql_device *device, const struct rql_rows *under,
                        struct rql_arena *arena, struct rql_progress *progress, struct rql_port *out,
                        struct rql_scan_counts *counts, struct rql_error *err) RQL_MUST_CHECK;

/* ---- prices ---- */
/* Measures the CPU's constants over a made-up store, on one thread in its processor time: about a tenth of a second, two
 * when thorough. The others in *out, and on failure all, stay as they are. */
rql_status rql_scan_calibrate(const struct rql_device *device, bool thorough, struct rql_scan_profile *out,
                              struct rql_error *err) RQL_MUST_CHECK;
/* Measures a GPU's, on its own clock: most of the time goes into two pipelines. On failure *out stays as it is. */
rql_status rql_scan_calibrate_gpu(struct rql_device *device, bool thorough, struct rql_scan_profile *out,
                                  struct rql_error *err) RQL_MUST_CHECK;
/* What a run will cost, from zone maps, the conjuncts' ranges, the device's bandwidth and the constants. */
void rql_scan_price(const struct rql_scan *scan, const struct rql_device *device,
                    const struct rql_scan_profile *profile, struct rql_cost *out);

/* Bits: points of the request (rql_method's points) that a scan tests itself; and those that the ROWS under it take,
 * where nothing in the scan depends on the value. */
uint32_t rql_scan_own_points(const struct rql_request *request);
uint32_t rql_scan_points(const struct rql_rows_source *under, uint32_t own);

#endif

/* Selections of rows: the filters and joins of a scan (scan.h), then the rows themselves instead of groups, in table order
 * or in the order of some keys, the first ones or all. Nothing but row numbers is made before it is known which rows are
 * wanted: their columns are fetched last ("late materialisation": D. Abadi, D. Myers, D. DeWitt, S. Madden:
 * Materialization Strategies in a Column-Oriented DBMS, ICDE 2007, section 3). */
#ifndef RQL_METHOD_SCAN_SCAN_ROWS_H
#define RQL_METHOD_SCAN_SCAN_ROWS_H

#include "method/scan/scan.h"

struct rql_scan_rows; /* bound to its snapshot, which it retains; immutable: several threads may run it at once */

/* Programs and maps are borrowed, everything else is copied. Errors as rql_scan_prepare; RQL_ERROR_UNSUPPORTED also for
 * order keys of more than 1024 bits together. */
rql_status rql_scan_rows_prepare(const struct rql_request *request, struct rql_device *device,
                                 struct rql_scan_rows **out, struct rql_error *err) RQL_MUST_CHECK;
void rql_scan_rows_free(struct rql_scan_rows *rows);            /* NULL accepted */
uint64_t rql_scan_rows_bytes(const struct rql_scan_rows *rows); /* that it holds between runs, without its workers */

/* The rows as one batch, which the caller releases and which needs nothing of what it was read from. Rows that the order
 * keys do not tell apart are as they stand in the snapshot: the same request gives the same rows on any number of
 * threads. Programs of outputs and order keys that can fail run for all rows that pass, also where a limit or an offset
 * does not want them, but not behind a limit without an order. counts may be NULL; with a limit it tells what was looked at before it was reached. Errors as rql_scan_run; RQL_ERROR_LIMIT: the
 * budget; RQL_ERROR_UNSUPPORTED: more than 2^32 - 1 rows. */
rql_status rql_scan_rows_run(const struct rql_scan_rows *rows, struct rql_device *device, const struct rql_rows *under,
                             struct rql_progress *progress, struct rql_batch **out, struct rql_scan_counts *counts,
                             struct rql_error *err) RQL_MUST_CHECK;

/* What a run will cost, as rql_scan_price does. */
void rql_scan_rows_price(const struct rql_scan_rows *rows, const struct rql_device *device,
                         const struct rql_scan_profile *profile, struct rql_cost *out);

#endif

/* Between scan_placed.c, which knows what lies where, and scan_place.c, which writes and uploads it. */
#ifndef RQL_METHOD_SCAN_SCAN_PLACE_INTERNAL_H
#define RQL_METHOD_SCAN_SCAN_PLACE_INTERNAL_H

#include "method/scan/scan_place.h"

/* Fills blocks and buffer of one whose device, column and layout are set. On failure it may have either: destroy it. */
rql_status rql_scan_placed_make(struct rql_scan_placed *placed, const struct rql_store_snapshot *snapshot,
                                const struct rql_store_segment *segment, struct rql_error *err) RQL_MUST_CHECK;

#endif

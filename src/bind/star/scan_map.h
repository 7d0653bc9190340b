/* A dimension subtree as a scan reads it: a map from the fact table's key to a payload, and what payloads stand for. */
#ifndef RQL_BIND_SCAN_MAP_H
#define RQL_BIND_SCAN_MAP_H

#include "bind/star/scan_star.h"
#include "column/batch.h"
#include "method/request.h"

struct rql_scan_dim {
	struct rql_map *map;
	uint32_t payload_count;    /* combinations of the outputs' values; 1 when there are none */
	bool repeats;              /* two payloads may have the same values */
	uint32_t unique;           /* plus 1: an output in which all payloads that have a key differ; 0: none is known */
	struct rql_column *values; /* [outputs]: payload_count entries each */
	uint64_t rows;             /* that it was made from */
	const char *how;           /* who gave them, for EXPLAIN */
	double build_ms;           /* from asking for the rows to the map */
	uint32_t absent;           /* LEFT and MARK sides: the payload of rows without a match, plus 1; else 0 */
	bool null_key;             /* a row of a side has a NULL among its keys */
};

/* The columns of tree->fact and fact2 in the structure; without fact2 second is NULL. */
struct rql_scan_keys {
	const struct rql_store_column *first, *second;
	struct rql_key_pair pair; /* with second */
};
/* false: two keys have more than 2^62 combinations. */
bool rql_scan_keys_make(const struct rql_store_column *first, const struct rql_store_column *second,
                        struct rql_scan_keys *out);

#endif

/* cgRX that changes: buckets of nodes, as the authors of cgRX have them for updates. The scene is that of cgrx.h and
 * stays as it was built. A bucket is a node behind its representative, with room to spare, and nodes chained to it. Its
 * entries, keys with their rows, ascend by both together, so that equal keys have an order, too, and a chain is one
 * array that is cut in nodes: all but the last are full. An entry belongs to the first bucket whose representative, an
 * entry as well, does not come before it; what follows the last one belongs to the last bucket. So any key finds a
 * bucket, also one beyond the scene's bounds.
 *
 * A batch is sorted, its entries' buckets are found by rays, and a thread changes each bucket that it meets. That is
 * done only when a pass that changes nothing has found that every row is there as it must be and that no chain grows
 * beyond its bound. Otherwise structure and batch are merged into one list and all is built anew. An update that fails
 * leaves the structure as it was.
 *
 * Floor of an update: the batch sorted twice, by rows and by keys, a look-up an entry, and the entries of the buckets
 * that it meets read and written once. Of a look-up: as cgrx.h, and 8 to 12 bytes of the representative that was found.
 * A range reads a node's last key where all of the node lies in it, and no row that is not put out.
 *
 * Bytes a key after a build: (key_bits / 8 + 4) times the slots of a bucket's node over the keys that it is made of. */
#ifndef RQL_PRIMITIVE_CGRX_NODES_H
#define RQL_PRIMITIVE_CGRX_NODES_H

#include "primitive/rt/cgrx.h"
#include "primitive/rt/rt_kernels.h"

#define RQL_CGRX_LOG2_NODE 10u /* at most */

struct rql_cgrx_nodes_spec {
	/* Without lines and values. log2_bucket: keys of a bucket when it is built. Given rows ascend where keys are equal. */
	struct rql_cgrx_spec cgrx;
	uint32_t log2_node; /* entries that a node has room for: log2_bucket at least */
	uint32_t chain;     /* nodes of a bucket at most, 1 to RQL_NODES_CHAIN; 0: that */
	uint64_t spare;     /* nodes beside one a bucket; 0: one for each fourth */
	uint64_t version;   /* of the table that it is built of: whatever the caller counts by */
};

/* Read-only. */
struct rql_cgrx_nodes {
	struct rql_cgrx_nodes_spec spec;
	struct rql_device *device;
	struct rql_cgrx *scene; /* without its keys and rows */
	struct rql_span keys, rows, next, sizes, last_keys, last_rows, header;
	uint64_t count, version; /* entries now; of the table that they are */
	uint64_t buckets, room, used; /* nodes; `used` of them are buckets or chained */
	uint64_t bytes;  /* resident, all of it */
	double build_ms; /* device time */
};
/* Waits. RQL_ERROR_UNSUPPORTED: the space does not hold the keys. */
rql_status rql_cgrx_nodes_build(const struct rql_cgrx_nodes_spec *spec, struct rql_progress *progress,
                                struct rql_cgrx_nodes **out, struct rql_error *err) RQL_MUST_CHECK;
void rql_cgrx_nodes_free(struct rql_cgrx_nodes *nodes); /* NULL: nothing */

/* Entries in any order; a row that changes its key is deleted and inserted. */
struct rql_cgrx_update {
	uint64_t before, after; /* versions of the table: `before` is the structure's */
	uint64_t deletes, inserts;
	struct rql_span delete_keys, delete_rows; /* each is there */
	struct rql_span insert_keys, insert_rows; /* none is there, unless it is deleted */
	bool rebuild; /* in any case */
};
struct rql_cgrx_updated {
	bool rebuilt; /* a chain or the room was too small */
	double ms;    /* device time */
};
/* Waits; nobody may look up meanwhile. RQL_ERROR_UNSUPPORTED: an entry is not there, or is, or the version is another
 * one. After any error the structure is what it was before. */
rql_status rql_cgrx_nodes_update(struct rql_cgrx_nodes *nodes, const struct rql_cgrx_update *update,
                                 struct rql_progress *progress, struct rql_cgrx_updated *out,
                                 struct rql_error *err) RQL_MUST_CHECK;

/* As struct rql_cgrx_lookup, less its runs: what is left out is not made. */
struct rql_cgrx_nodes_lookup {
	const struct rql_cgrx_nodes *nodes;
	uint64_t count;
	struct rql_span points, ends, places;
	struct rql_span rows;   /* the least row of the least key that there is */
	struct rql_span counts, sums;
	uint32_t value_bits;
	bool value_signed;
	uint64_t value_count;
	struct rql_span values; /* by row, with sums */
	struct rql_span bits;
	struct rql_span state;
	bool tally;
};
rql_status rql_record_cgrx_nodes(struct rql_commands *c, const struct rql_cgrx_nodes_lookup *lookup,
                                 struct rql_error *err) RQL_MUST_CHECK;
/* Entries' buckets, uint32_t each: keys and rows of `count` entries. */
rql_status rql_record_cgrx_locate(struct rql_commands *c, const struct rql_cgrx_nodes *nodes, uint64_t count,
                                  const struct rql_span *keys, const struct rql_span *rows, const struct rql_span *out,
                                  struct rql_error *err) RQL_MUST_CHECK;

#endif

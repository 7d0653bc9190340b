/* Rows in the host's memory by partitions of a hash of their keys, as both sides of a join are before partitions go to
 * devices (papers/004, 3 and 5). What goes beyond a limit of memory lies in a temporary file (util/spill.h), block by
 * block.
 *
 * The hash shares no bits with that of the partitions on a device, so that a partition is cut further there. More
 * partitions than a pass makes well are made in a second pass, over a store's partition, by the next bits of the hash.
 *
 * Bytes a row and pass: read once, written once, both streaming; between them a chunk is ordered in a core's cache. */
#ifndef RQL_PRIMITIVE_HOST_STORE_H
#define RQL_PRIMITIVE_HOST_STORE_H

#include "primitive/relation/relation.h"
#include "util/budget.h"

#define RQL_HOST_PASS_BITS 9u   /* more partitions: runs of less than 128 rows of a chunk */
#define RQL_HOST_HASH_BITS 28u  /* of all passes together */

struct rql_host_shape {
	uint32_t key_bits, column_count;
	uint32_t column_bits[RQL_RELATION_COLUMNS];
};
uint64_t rql_host_row_bytes(const struct rql_host_shape *shape);

struct rql_host_rows {
	uint64_t count;
	void *keys, *columns[RQL_RELATION_COLUMNS];
};

/* What several stores share. */
struct rql_host_memory;
/* limit: bytes of blocks that stay in memory; 0: all. folder: of the temporary file; NULL: there is none, and more than
 * the limit is RQL_ERROR_LIMIT. So is more than file_limit in the file; 0: any. */
rql_status rql_host_memory_new(uint64_t limit, const char *folder, uint64_t file_limit, struct rql_host_memory **out,
                               struct rql_error *err) RQL_MUST_CHECK;
void rql_host_memory_free(struct rql_host_memory *memory);
uint64_t rql_host_memory_peak(const struct rql_host_memory *memory);
uint64_t rql_host_memory_spilled(const struct rql_host_memory *memory); /* bytes written to the file in all */

struct rql_host_store;
/* 2^bits partitions, by the hash's bits behind the first `used` ones. */
struct rql_host_store_spec {
	struct rql_host_shape shape;
	uint32_t bits, used;
	struct rql_host_memory *memory;
	struct rql_pool *pool; /* may be NULL */
};
rql_status rql_host_store_new(const struct rql_host_store_spec *spec, struct rql_host_store **out,
                              struct rql_error *err) RQL_MUST_CHECK;
void rql_host_store_free(struct rql_host_store *store);
/* Rows that any thread may ask for, in any order. */
struct rql_host_source {
	/* Of the rows [first, first + rows->count) those that may have a partner, to where `rows` points; rows->count becomes
	 * their number. first is a multiple of 64. NULL: there is no source. */
	void (*read)(void *state, uint64_t first, struct rql_host_rows *rows);
	void *state;
	uint64_t rows; /* that can be asked for */
};
/* Rows [first, end) of the source, each read into a core's cache and put into order there. By one thread at a time, on the
 * pool's threads. first is a multiple of 64. */
rql_status rql_host_store_take(struct rql_host_store *store, const struct rql_host_source *source, uint64_t first,
                               uint64_t end, struct rql_error *err) RQL_MUST_CHECK;
/* The same of rows that lie in memory. */
rql_status rql_host_store_add(struct rql_host_store *store, const struct rql_host_rows *rows,
                              struct rql_error *err) RQL_MUST_CHECK;
uint64_t rql_host_store_rows(const struct rql_host_store *store, uint64_t partition);
/* rows->count rows of a partition, from `first` on, to where `rows` points. All have been added. */
rql_status rql_host_store_read(const struct rql_host_store *store, uint64_t partition, uint64_t first,
                               const struct rql_host_rows *rows, struct rql_error *err) RQL_MUST_CHECK;
/* The partition is not read again. */
void rql_host_store_drop(struct rql_host_store *store, uint64_t partition);

#endif

/* Shared by the catalog's files. Private to src/catalog. */
#ifndef RQL_CATALOG_INTERNAL_H
#define RQL_CATALOG_INTERNAL_H

#include "catalog/catalog.h"
#include <pthread.h>

/* Writes are known by unqualified names (what stands in INSERT INTO a.b.t is looked up by DuckDB, not by us), so
 * versions
 * belong to names, folded to lower case. Entries live as long as the catalog: readers go through pointers to them
 * without a lock. */
struct rql_name_version {
	char *name;
	_Atomic uint64_t version;
	_Atomic uint64_t moved;
	/* What rql_table_version said right after the last move that may have been more than an append. */
	_Atomic uint64_t rewritten;
	/* The same of the last move that may have changed rows that nobody knows; and those that are known since, guarded by
	 * names_lock. */
	_Atomic uint64_t unknown;
	struct rql_kept_changes *changes; /* newest first */
	_Atomic uint32_t writers;
	struct rql_name_version *next; /* in its hash bucket */
};

struct rql_kept_changes {
	struct rql_row_changes changes;
	uint64_t version; /* rql_table_version right after them */
	struct rql_kept_changes *next;
};

struct rql_table {
	char *database, *schema, *name;
	struct rql_name_version *entry;
	bool counted; /* guarded by names_lock, as the next two */
	uint64_t rows, rows_version;
	struct rql_table *next;
};

#define RQL_CATALOG_BUCKETS 256u

struct rql_catalog {
	/* tables and names */
	pthread_mutex_t names_lock; /* the two hash tables' links; the entries' counters are atomic */
	struct rql_name_version *names[RQL_CATALOG_BUCKETS];
	struct rql_table *tables[RQL_CATALOG_BUCKETS];
	struct rql_name_version everything;
	_Atomic uint64_t stamp;
	/* A write could not be recorded for want of memory: from then on nothing is known to be fresh. */
	_Atomic bool lost;
	_Atomic uint64_t schema_epoch;
	/* structures */
	pthread_mutex_t lock; /* the list */
	struct rql_structure **structures;
	uint32_t capacity;
	_Atomic uint32_t count;
	uint64_t next_id;
	_Atomic uint64_t structure_epoch;
};

/* rql_table_version of the name's tables. */
static inline uint64_t rql_name_version_now(const struct rql_catalog *catalog, const struct rql_name_version *entry)
{
	return atomic_load(&entry->version) + atomic_load(&catalog->everything.version);
}

/* Both with names_lock held. Takes the arrays over; NULL: nobody knows them. Before the move that ends the write. */
void rql_name_keep_changes(struct rql_catalog *catalog, struct rql_name_version *entry,
                           struct rql_row_changes *changes);
void rql_name_forget_changes(struct rql_name_version *entry);

#endif

/* Tables and their versions: the freshness protocol of catalog.h. */
#include "catalog/catalog_internal.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "util/hash.h"

static char fold(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static struct rql_name_version **name_slot(struct rql_catalog *catalog, const char *name)
{
	uint64_t hash = RQL_HASH_START;
	for (const char *at = name; *at; at++)
		hash = rql_hash_bytes(hash, &(char){fold(*at)}, 1);
	struct rql_name_version **slot = &catalog->names[hash % RQL_CATALOG_BUCKETS];
	while (*slot && strcasecmp((*slot)->name, name) != 0)
		slot = &(*slot)->next;
	return slot;
}

/* With names_lock held. NULL: out of memory. */
static struct rql_name_version *name_intern(struct rql_catalog *catalog, const char *name)
{
	struct rql_name_version **slot = name_slot(catalog, name);
	if (*slot)
		return *slot;
	struct rql_name_version *entry = calloc(1, sizeof *entry);
	char *copy = strdup(name);
	if (!entry || !copy) {
		free(entry);
		free(copy);
		return NULL;
	}
	entry->name = copy;
	/* Nobody has a version of it yet, so nothing is lost when all that was before counts as more than an append. */
	atomic_store(&entry->rewritten, atomic_load(&catalog->everything.version));
	atomic_store(&entry->unknown, atomic_load(&catalog->everything.version));
	*slot = entry;
	return entry;
}

struct rql_table *rql_catalog_table(struct rql_catalog *catalog, const char *database, const char *schema,
                                    const char *name)
{
	uint64_t hash = rql_hash_text(rql_hash_text(rql_hash_text(RQL_HASH_START, database), schema), name);
	pthread_mutex_lock(&catalog->names_lock);
	struct rql_table **slot = &catalog->tables[hash % RQL_CATALOG_BUCKETS];
	while (*slot && (strcmp((*slot)->name, name) != 0 || strcmp((*slot)->schema, schema) != 0 ||
	                 strcmp((*slot)->database, database) != 0))
		slot = &(*slot)->next;
	struct rql_table *table = *slot;
	if (!table) {
		struct rql_name_version *entry = name_intern(catalog, name);
		table = entry ? calloc(1, sizeof *table) : NULL;
		if (table) {
			table->database = strdup(database);
			table->schema = strdup(schema);
			table->name = strdup(name);
			table->entry = entry;
		}
		if (table && table->database && table->schema && table->name) {
			*slot = table;
		} else if (table) {
			free(table->database);
			free(table->schema);
			free(table->name);
			free(table);
			table = NULL;
		}
	}
	pthread_mutex_unlock(&catalog->names_lock);
	return table;
}

void rql_table_name(const struct rql_table *table, const char **database, const char **schema, const char **name)
{
	*database = table->database;
	*schema = table->schema;
	*name = table->name;
}

/* The sum of two counters that only grow moves whenever either does. */
uint64_t rql_table_version(const struct rql_catalog *catalog, const struct rql_table *table)
{
	return rql_name_version_now(catalog, table->entry);
}

bool rql_table_being_written(const struct rql_catalog *catalog, const struct rql_table *table)
{
	return atomic_load(&table->entry->writers) != 0 || atomic_load(&catalog->everything.writers) != 0 ||
	       atomic_load(&catalog->lost);
}

bool rql_table_only_grew(const struct rql_catalog *catalog, const struct rql_table *table, uint64_t version)
{
	return !rql_table_being_written(catalog, table) && atomic_load(&table->entry->rewritten) <= version;
}

uint64_t rql_table_moved(const struct rql_catalog *catalog, const struct rql_table *table)
{
	uint64_t own = atomic_load(&table->entry->moved), all = atomic_load(&catalog->everything.moved);
	return own > all ? own : all;
}

uint64_t rql_catalog_stamp(const struct rql_catalog *catalog)
{
	return atomic_load(&catalog->stamp);
}

/* ---- counts ---- */

bool rql_table_rows(struct rql_catalog *catalog, const struct rql_table *table, uint64_t *rows)
{
	pthread_mutex_lock(&catalog->names_lock);
	bool known = table->counted && table->rows_version == rql_table_version(catalog, table) &&
	             !rql_table_being_written(catalog, table);
	if (known)
		*rows = table->rows;
	pthread_mutex_unlock(&catalog->names_lock);
	return known;
}

void rql_table_keep_rows(struct rql_catalog *catalog, struct rql_table *table, uint64_t version, uint64_t rows)
{
	pthread_mutex_lock(&catalog->names_lock);
	if (version == rql_table_version(catalog, table) && !rql_table_being_written(catalog, table)) {
		table->counted = true;
		table->rows = rows;
		table->rows_version = version;
	}
	pthread_mutex_unlock(&catalog->names_lock);
}

/* ---- write sets ---- */
bool rql_write_set_add(struct rql_write_set *set, const char *name)
{
	for (uint32_t i = 0; i < set->count; i++)
		if (strcasecmp(set->names[i], name) == 0)
			return true;
	if (set->count == set->capacity) {
		uint32_t capacity = set->capacity ? set->capacity * 2 : 4;
		char **names = realloc(set->names, capacity * sizeof *names);
		if (!names) {
			set->everything = true;
			return false;
		}
		set->names = names;
		set->capacity = capacity;
	}
	char *copy = strdup(name);
	if (!copy) {
		set->everything = true;
		return false;
	}
	set->names[set->count++] = copy;
	return true;
}

void rql_write_set_merge(struct rql_write_set *set, const struct rql_write_set *other)
{
	set->everything = set->everything || other->everything;
	for (uint32_t i = 0; i < other->count; i++)
		(void)rql_write_set_add(set, other->names[i]); /* a failure has set `everything` */
}

void rql_write_set_clear(struct rql_write_set *set)
{
	for (uint32_t i = 0; i < set->count; i++)
		free(set->names[i]);
	free(set->names);
	*set = (struct rql_write_set){0};
}

/* ---- the protocol ---- */
static void entry_move(struct rql_catalog *catalog, struct rql_name_version *entry)
{
	/* The version first: who sees the new stamp must not see the old version. */
	atomic_fetch_add(&entry->version, 1);
	atomic_store(&entry->moved, atomic_fetch_add(&catalog->stamp, 1) + 1);
}

/* A move of one name; with names_lock held, as all moves are: so `rewritten` is exactly the version that comes, and it is
 * there before the version is. */
enum move { MOVE_APPENDS, MOVE_CHANGES /* known rows */, MOVE_ANYTHING };
static void name_move(struct rql_catalog *catalog, struct rql_name_version *entry, enum move move)
{
	if (move != MOVE_APPENDS)
		atomic_store(&entry->rewritten, rql_name_version_now(catalog, entry) + 1);
	if (move == MOVE_ANYTHING)
		rql_name_keep_changes(catalog, entry, NULL);
	entry_move(catalog, entry);
}

static void everything_move(struct rql_catalog *catalog)
{
	pthread_mutex_lock(&catalog->names_lock);
	uint64_t all = atomic_load(&catalog->everything.version) + 1;
	for (uint32_t i = 0; i < RQL_CATALOG_BUCKETS; i++)
		for (struct rql_name_version *n = catalog->names[i]; n; n = n->next) {
			atomic_store(&n->rewritten, atomic_load(&n->version) + all);
			rql_name_keep_changes(catalog, n, NULL);
		}
	entry_move(catalog, &catalog->everything);
	pthread_mutex_unlock(&catalog->names_lock);
}

static void names_begin(struct rql_catalog *catalog, const struct rql_write_set *set, enum move move)
{
	pthread_mutex_lock(&catalog->names_lock);
	for (uint32_t i = 0; i < set->count; i++) {
		struct rql_name_version *entry = name_intern(catalog, set->names[i]);
		if (!entry) {
			atomic_store(&catalog->lost, true);
			continue;
		}
		atomic_fetch_add(&entry->writers, 1);
		name_move(catalog, entry, move);
	}
	pthread_mutex_unlock(&catalog->names_lock);
}

/* changes: of MOVE_CHANGES, of the set's only name; NULL: nobody knows them after all. */
static void names_end(struct rql_catalog *catalog, const struct rql_write_set *set, enum move move,
                      struct rql_row_changes *changes)
{
	pthread_mutex_lock(&catalog->names_lock);
	for (uint32_t i = 0; i < set->count; i++) {
		struct rql_name_version *entry = *name_slot(catalog, set->names[i]);
		if (!entry)
			continue; /* write_begin had no memory for it: the catalog is `lost` */
		if (move == MOVE_CHANGES)
			rql_name_keep_changes(catalog, entry, set->count == 1 ? changes : NULL);
		name_move(catalog, entry, move);
		if (atomic_load(&entry->writers) > 0)
			atomic_fetch_sub(&entry->writers, 1);
	}
	pthread_mutex_unlock(&catalog->names_lock);
}

void rql_catalog_write_begin(struct rql_catalog *catalog, const struct rql_write_set *set)
{
	if (!set->everything) {
		names_begin(catalog, set, MOVE_ANYTHING);
		return;
	}
	atomic_fetch_add(&catalog->everything.writers, 1);
	everything_move(catalog);
}

void rql_catalog_write_end(struct rql_catalog *catalog, const struct rql_write_set *set)
{
	if (!set->everything) {
		names_end(catalog, set, MOVE_ANYTHING, NULL);
		return;
	}
	everything_move(catalog);
	atomic_fetch_sub(&catalog->everything.writers, 1);
}

void rql_catalog_write_begin_appending(struct rql_catalog *catalog, const struct rql_write_set *set)
{
	if (set->everything) /* a set that ran out of memory */
		rql_catalog_write_begin(catalog, set);
	else
		names_begin(catalog, set, MOVE_APPENDS);
}

void rql_catalog_write_end_appending(struct rql_catalog *catalog, const struct rql_write_set *set)
{
	if (set->everything)
		rql_catalog_write_end(catalog, set);
	else
		names_end(catalog, set, MOVE_APPENDS, NULL);
}

void rql_catalog_write_begin_known(struct rql_catalog *catalog, const struct rql_write_set *set)
{
	if (set->everything)
		rql_catalog_write_begin(catalog, set);
	else
		names_begin(catalog, set, MOVE_CHANGES);
}

void rql_catalog_write_end_known(struct rql_catalog *catalog, const struct rql_write_set *set,
                                 struct rql_row_changes *changes)
{
	if (set->everything)
		rql_catalog_write_end(catalog, set);
	else
		names_end(catalog, set, MOVE_CHANGES, changes);
}

bool rql_tables_unmoved(const struct rql_catalog *catalog, const struct rql_table_seen *tables, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (rql_table_being_written(catalog, tables[i].table) ||
		    rql_table_version(catalog, tables[i].table) != tables[i].version)
			return false;
	return true;
}

uint64_t rql_catalog_schema_epoch(const struct rql_catalog *catalog)
{
	return atomic_load(&catalog->schema_epoch);
}

void rql_catalog_schema_changed(struct rql_catalog *catalog)
{
	atomic_fetch_add(&catalog->schema_epoch, 1);
}

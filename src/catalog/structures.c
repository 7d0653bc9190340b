/* The list of structures. A structure is immutable once published; a change is a new object under the same id. */
#include "catalog/catalog_internal.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

rql_status rql_catalog_new(struct rql_catalog **out, struct rql_error *err)
{
	struct rql_catalog *catalog = calloc(1, sizeof *catalog);
	if (!catalog)
		return rql_error_memory(err, sizeof *catalog, "the catalog");
	if (pthread_mutex_init(&catalog->names_lock, NULL) != 0) {
		free(catalog);
		return rql_error_memory(err, sizeof *catalog, "the catalog's lock");
	}
	if (pthread_mutex_init(&catalog->lock, NULL) != 0) {
		pthread_mutex_destroy(&catalog->names_lock);
		free(catalog);
		return rql_error_memory(err, sizeof *catalog, "the catalog's lock");
	}
	atomic_store(&catalog->stamp, RQL_FIRST_STAMP);
	*out = catalog;
	return RQL_OK;
}

void rql_catalog_free(struct rql_catalog *catalog)
{
	if (!catalog)
		return;
	for (uint32_t i = 0; i < catalog->count; i++)
		rql_structure_release(catalog->structures[i]);
	free(catalog->structures);
	for (uint32_t i = 0; i < RQL_CATALOG_BUCKETS; i++) {
		for (struct rql_table *t = catalog->tables[i], *next; t; t = next) {
			next = t->next;
			free(t->database);
			free(t->schema);
			free(t->name);
			free(t);
		}
		for (struct rql_name_version *n = catalog->names[i], *next; n; n = next) {
			next = n->next;
			rql_name_forget_changes(n);
			free(n->name);
			free(n);
		}
	}
	pthread_mutex_destroy(&catalog->lock);
	pthread_mutex_destroy(&catalog->names_lock);
	free(catalog);
}

/* ---- one structure ---- */
struct rql_structure *rql_structure_new(void)
{
	struct rql_structure *s = calloc(1, sizeof *s);
	if (!s)
		return NULL;
	atomic_store(&s->references, 1);
	s->state = RQL_STATE_UNBUILT;
	s->greatest_rowid = RQL_NO_ROWID;
	return s;
}

bool rql_structure_set_text(char **field, const char *text)
{
	char *copy = text ? strdup(text) : NULL;
	if (text && !copy)
		return false;
	free(*field);
	*field = copy;
	return true;
}

const char *rql_structure_failed_on(const struct rql_structure *s, const struct rql_device *device)
{
	for (uint32_t i = 0; i < s->failure_count; i++)
		if (s->failures[i].device == device)
			return s->failures[i].reason;
	return NULL;
}

bool rql_structure_mark_failed(struct rql_structure *s, const struct rql_device *device, const char *reason)
{
	if (rql_structure_failed_on(s, device))
		return true;
	struct rql_structure_failure *grown = realloc(s->failures, (s->failure_count + 1) * sizeof *grown);
	char *copy = grown ? strdup(reason) : NULL;
	if (grown)
		s->failures = grown;
	if (!copy)
		return false;
	grown[s->failure_count++] = (struct rql_structure_failure){device, copy};
	return true;
}

void rql_structure_forget_failures(struct rql_structure *s)
{
	for (uint32_t i = 0; i < s->failure_count; i++)
		free(s->failures[i].reason);
	free(s->failures);
	s->failures = NULL;
	s->failure_count = 0;
}

static bool copy_texts(struct rql_structure *copy, const struct rql_structure *s)
{
	return rql_structure_set_text(&copy->database, s->database) &&
	       rql_structure_set_text(&copy->schema, s->schema) && rql_structure_set_text(&copy->name, s->name) &&
	       rql_structure_set_text(&copy->statement, s->statement) &&
	       rql_structure_set_text(&copy->query, s->query) && rql_structure_set_text(&copy->options, s->options) &&
	       rql_structure_set_text(&copy->layout, s->layout) &&
	       rql_structure_set_text(&copy->reason, s->reason) && rql_structure_set_text(&copy->note, s->note) &&
	       rql_structure_set_text(&copy->search_path, s->search_path) &&
	       rql_structure_set_text(&copy->view_sql, s->view_sql) &&
	       rql_structure_set_text(&copy->side_file, s->side_file) &&
	       rql_structure_set_text(&copy->side_missing, s->side_missing) &&
	       rql_structure_set_text(&copy->definition_hash, s->definition_hash);
}

struct rql_structure *rql_structure_clone(const struct rql_structure *s)
{
	struct rql_structure *copy = rql_structure_new();
	if (!copy)
		return NULL;
	copy->kind = s->kind;
	copy->reads = s->reads;
	copy->state = s->state;
	copy->failed = s->failed;
	copy->refresh = s->refresh;
	copy->unit_wanted = s->unit_wanted;
	copy->unit = s->unit;
	copy->build_ms = s->build_ms;
	copy->id = s->id;
	copy->side_file_valid = s->side_file_valid;
	copy->side_mark = s->side_mark;
	copy->greatest_rowid = s->greatest_rowid;
	copy->index_form = s->index_form;
	copy->sieve = s->sieve;
	copy->rays = s->rays;
	copy->automatic = s->automatic;
	atomic_store(&copy->used, atomic_load(&s->used));
	bool ok = copy_texts(copy, s);
	if (ok && s->table_count) {
		copy->tables = calloc(s->table_count, sizeof *copy->tables);
		copy->versions = calloc(s->table_count, sizeof *copy->versions);
		ok = copy->tables && copy->versions;
	}
	if (ok && s->gap_count) {
		copy->gaps = malloc(s->gap_count * sizeof *copy->gaps);
		ok = copy->gaps != NULL;
	}
	if (ok && s->column_ids) {
		copy->column_ids = calloc(s->column_count + 1, sizeof *copy->column_ids);
		ok = copy->column_ids != NULL;
	}
	for (uint32_t i = 0; ok && i < s->failure_count; i++)
		ok = rql_structure_mark_failed(copy, s->failures[i].device, s->failures[i].reason);
	if (!ok) {
		rql_structure_release(copy);
		return NULL;
	}
	copy->table_count = s->table_count;
	if (s->table_count) {
		memcpy(copy->tables, s->tables, s->table_count * sizeof *copy->tables);
		memcpy(copy->versions, s->versions, s->table_count * sizeof *copy->versions);
	}
	copy->gap_count = s->gap_count;
	if (s->gap_count)
		memcpy(copy->gaps, s->gaps, s->gap_count * sizeof *copy->gaps);
	copy->column_count = s->column_count;
	if (s->column_ids)
		memcpy(copy->column_ids, s->column_ids, s->column_count * sizeof *copy->column_ids);
	copy->retain_relation = s->retain_relation;
	copy->release_relation = s->release_relation;
	copy->relation = s->relation;
	if (s->relation)
		s->retain_relation(s->relation);
	copy->snapshot = s->snapshot ? rql_store_snapshot_retain(s->snapshot) : NULL;
	copy->store = s->store ? rql_store_retain(s->store) : NULL;
	if (s->definition) {
		s->retain_definition(s->definition);
		copy->definition = s->definition;
		copy->retain_definition = s->retain_definition;
		copy->release_definition = s->release_definition;
	}
	return copy;
}

void rql_structure_set_gaps(struct rql_structure *s, int64_t *gaps, uint64_t count)
{
	free(s->gaps);
	s->gaps = gaps;
	s->gap_count = count;
}

void rql_structure_clear(struct rql_structure *s)
{
	if (s->relation)
		s->release_relation(s->relation);
	rql_store_snapshot_release(s->snapshot);
	rql_store_release(s->store);
	s->relation = NULL;
	s->snapshot = NULL;
	s->store = NULL;
	s->greatest_rowid = RQL_NO_ROWID;
	rql_structure_set_gaps(s, NULL, 0);
	rql_structure_forget_failures(s);
}

void rql_structure_retain(struct rql_structure *s)
{
	atomic_fetch_add(&s->references, 1);
}

void rql_structure_release(struct rql_structure *s)
{
	if (!s || atomic_fetch_sub(&s->references, 1) != 1)
		return;
	rql_structure_clear(s);
	if (s->definition)
		s->release_definition(s->definition);
	char *texts[] = {s->database, s->schema, s->name,        s->statement, s->query,     s->options,      s->layout,
	                 s->reason,   s->note,   s->search_path, s->view_sql,  s->side_file, s->side_missing, s->definition_hash};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		free(texts[i]);
	free(s->tables);
	free(s->versions);
	free(s->column_ids);
	free(s->gaps);
	free(s);
}

const struct rql_table *rql_structure_moved_table(const struct rql_catalog *catalog, const struct rql_structure *s)
{
	for (uint32_t i = 0; i < s->table_count && s->reads != RQL_READS_INDEX; i++)
		/* Writers first: a write that ends between the two has moved the version. */
		if (rql_table_being_written(catalog, s->tables[i]) ||
		    rql_table_version(catalog, s->tables[i]) != s->versions[i])
			return s->tables[i];
	return NULL;
}

bool rql_structure_fresh(const struct rql_catalog *catalog, const struct rql_structure *s)
{
	return s->state == RQL_STATE_READY && (s->relation || s->snapshot || s->reads == RQL_READS_INDEX) &&
	       !rql_structure_moved_table(catalog, s);
}

/* Columns of one table of which the greatest row id is known. */
static bool has_rowids(const struct rql_structure *s)
{
	return s->reads == RQL_READS_STORE && s->state == RQL_STATE_READY && s->snapshot && s->table_count == 1 &&
	       s->greatest_rowid != RQL_NO_ROWID;
}

bool rql_structure_follows(const struct rql_structure *s)
{
	return has_rowids(s) && s->snapshot->ordered &&
	       s->snapshot->rows + s->gap_count == (uint64_t)(s->greatest_rowid + 1);
}

bool rql_structure_appendable(struct rql_catalog *catalog, const struct rql_structure *s)
{
	return has_rowids(s) && s->store && rql_table_version(catalog, s->tables[0]) != s->versions[0] &&
	       (rql_table_only_grew(catalog, s->tables[0], s->versions[0]) ||
	        (rql_structure_follows(s) && rql_table_followed(catalog, s->tables[0], s->versions[0])));
}

/* ---- the list ---- */
uint64_t rql_catalog_structure_epoch(const struct rql_catalog *catalog)
{
	return atomic_load(&catalog->structure_epoch);
}

uint32_t rql_catalog_structure_count(const struct rql_catalog *catalog)
{
	return atomic_load(&catalog->count);
}

rql_status rql_catalog_structures(struct rql_catalog *catalog, struct rql_arena *arena, struct rql_structure ***out,
                                  uint32_t *count, struct rql_error *err)
{
	pthread_mutex_lock(&catalog->lock);
	uint32_t n = atomic_load(&catalog->count);
	struct rql_structure **list = RQL_NEW_ARRAY(arena, struct rql_structure *, n);
	for (uint32_t i = 0; list && i < n; i++) {
		list[i] = catalog->structures[i];
		rql_structure_retain(list[i]);
	}
	pthread_mutex_unlock(&catalog->lock);
	if (!list)
		return rql_error_memory(err, n * sizeof *list, "the list of structures");
	*out = list;
	*count = n;
	return RQL_OK;
}

struct rql_structure *rql_catalog_find(struct rql_catalog *catalog, const char *database, const char *schema,
                                       const char *name)
{
	struct rql_structure *found = NULL;
	pthread_mutex_lock(&catalog->lock);
	for (uint32_t i = 0; i < atomic_load(&catalog->count) && !found; i++) {
		struct rql_structure *s = catalog->structures[i];
		if (strcasecmp(s->name, name) == 0 && (!schema || strcasecmp(s->schema, schema) == 0) &&
		    (!database || strcasecmp(s->database, database) == 0))
			found = s;
	}
	if (found)
		rql_structure_retain(found);
	pthread_mutex_unlock(&catalog->lock);
	return found;
}

/* Under the lock. */
static bool has_room(struct rql_catalog *catalog)
{
	if (atomic_load(&catalog->count) < catalog->capacity)
		return true;
	uint32_t capacity = catalog->capacity ? catalog->capacity * 2 : 8;
	struct rql_structure **list = realloc(catalog->structures, capacity * sizeof(struct rql_structure *));
	if (!list)
		return false;
	catalog->structures = list;
	catalog->capacity = capacity;
	return true;
}

static rql_status no_room(struct rql_error *err)
{
	return rql_error_memory(err, sizeof(struct rql_structure *), "the list of structures");
}

rql_status rql_catalog_reserve(struct rql_catalog *catalog, struct rql_error *err)
{
	pthread_mutex_lock(&catalog->lock);
	const bool room = has_room(catalog);
	pthread_mutex_unlock(&catalog->lock);
	return room ? RQL_OK : no_room(err);
}

rql_status rql_catalog_publish(struct rql_catalog *catalog, struct rql_structure *s, struct rql_error *err)
{
	struct rql_structure *old = NULL;
	pthread_mutex_lock(&catalog->lock);
	uint32_t n = atomic_load(&catalog->count);
	if (s->id) {
		for (uint32_t i = 0; i < n && !old; i++) {
			if (catalog->structures[i]->id == s->id) {
				old = catalog->structures[i];
				catalog->structures[i] = s;
			}
		}
		if (!old) { /* removed meanwhile: what comes late must not come back */
			pthread_mutex_unlock(&catalog->lock);
			rql_error_set(err, RQL_ERROR_STALE, "structure \"%s\" was dropped meanwhile", s->name);
			rql_structure_release(s);
			return RQL_ERROR_STALE;
		}
	} else {
		if (!has_room(catalog)) {
			pthread_mutex_unlock(&catalog->lock);
			rql_structure_release(s);
			return no_room(err);
		}
		s->id = ++catalog->next_id;
		catalog->structures[n] = s;
		atomic_store(&catalog->count, n + 1);
	}
	atomic_fetch_add(&catalog->structure_epoch, 1);
	pthread_mutex_unlock(&catalog->lock);
	rql_structure_release(old);
	return RQL_OK;
}

bool rql_catalog_replace(struct rql_catalog *catalog, const struct rql_structure *expected, struct rql_structure *s)
{
	bool replaced = false;
	pthread_mutex_lock(&catalog->lock);
	for (uint32_t i = 0; i < atomic_load(&catalog->count) && !replaced; i++) {
		if (catalog->structures[i] == expected) {
			catalog->structures[i] = s;
			replaced = true;
			atomic_fetch_add(&catalog->structure_epoch, 1);
		}
	}
	pthread_mutex_unlock(&catalog->lock);
	/* The list's reference to the old one; the caller holds its own to `expected`, so it cannot be another object. */
	rql_structure_release(replaced ? (struct rql_structure *)(uintptr_t)expected : s);
	return replaced;
}

struct rql_structure *rql_catalog_find_id(struct rql_catalog *catalog, uint64_t id)
{
	struct rql_structure *found = NULL;
	pthread_mutex_lock(&catalog->lock);
	for (uint32_t i = 0; i < atomic_load(&catalog->count) && !found; i++)
		if (catalog->structures[i]->id == id)
			found = catalog->structures[i];
	if (found)
		rql_structure_retain(found);
	pthread_mutex_unlock(&catalog->lock);
	return found;
}

void rql_catalog_remove(struct rql_catalog *catalog, uint64_t id)
{
	struct rql_structure *old = NULL;
	pthread_mutex_lock(&catalog->lock);
	uint32_t n = atomic_load(&catalog->count);
	for (uint32_t i = 0; i < n && !old; i++) {
		if (catalog->structures[i]->id == id) {
			old = catalog->structures[i];
			memmove(&catalog->structures[i], &catalog->structures[i + 1], (n - i - 1) * sizeof(struct rql_structure *));
			atomic_store(&catalog->count, n - 1);
			atomic_fetch_add(&catalog->structure_epoch, 1);
		}
	}
	pthread_mutex_unlock(&catalog->lock);
	rql_structure_release(old);
}

/* ---- indexes ---- */
static uint32_t find_column(const struct rql_structure *c, uint32_t column_id)
{
	for (uint32_t k = 0; k < c->column_count; k++)
		if (c->column_ids[k] == column_id)
			return k;
	return RQL_NONE;
}

bool rql_structure_index_of(const struct rql_structure *s, const struct rql_structure *c, uint32_t from,
                            struct rql_index_of *out)
{
	const bool together = s->index_form != RQL_INDEX_SIEVE;
	*out = (struct rql_index_of){.column = find_column(c, s->column_ids[from]),
	                             .form = s->index_form,
	                             .sieve = s->sieve,
	                             .rays = s->rays,
	                             .options = s->options};
	if (together && from)
		return false;
	for (uint32_t k = 1; k < s->column_count && together; k++) {
		const uint32_t column = k <= RQL_INDEX_COLUMNS_MOST - 1 ? find_column(c, s->column_ids[k]) : RQL_NONE;
		if (column == RQL_NONE)
			return false;
		out->more[out->more_count++] = column;
	}
	return out->column != RQL_NONE;
}

/* Rows that statements changed, as far as anybody knows which: so that columns can follow them. */
#include "catalog/catalog_internal.h"

#include <stdlib.h>
#include <string.h>

#define MOST_ROWS (1u << 22) /* remembered of a name, 8 bytes each; older ones make room */

/* From this one on. */
static void forget(struct rql_kept_changes **first)
{
	while (*first) {
		struct rql_kept_changes *next = (*first)->next;
		rql_row_changes_clear(&(*first)->changes);
		free(*first);
		*first = next;
	}
}

void rql_name_forget_changes(struct rql_name_version *entry)
{
	forget(&entry->changes);
}

void rql_row_changes_clear(struct rql_row_changes *changes)
{
	free(changes->gone);
	free(changes->renewed);
	*changes = (struct rql_row_changes){0};
}

/* Newest first. What has no room any more is as if nobody had known it. */
static void make_room(struct rql_name_version *entry)
{
	struct rql_kept_changes **k = &entry->changes;
	uint64_t rows = 0;
	for (; *k; k = &(*k)->next) {
		rows += (*k)->changes.gone_count + (*k)->changes.renewed_count + 1; /* empty ones are not for nothing */
		if (rows > MOST_ROWS)
			break;
	}
	if (*k && atomic_load(&entry->unknown) < (*k)->version)
		atomic_store(&entry->unknown, (*k)->version);
	forget(k);
}

void rql_name_keep_changes(struct rql_catalog *catalog, struct rql_name_version *entry, struct rql_row_changes *changes)
{
	struct rql_kept_changes *kept = changes ? calloc(1, sizeof *kept) : NULL;
	const uint64_t version = rql_name_version_now(catalog, entry) + 1; /* that the move will make */
	if (!kept) {
		rql_name_forget_changes(entry);
		atomic_store(&entry->unknown, version);
		return;
	}
	*kept = (struct rql_kept_changes){.changes = *changes, .version = version, .next = entry->changes};
	*changes = (struct rql_row_changes){0};
	entry->changes = kept;
	make_room(entry);
}

bool rql_table_followed(struct rql_catalog *catalog, const struct rql_table *table, uint64_t version)
{
	pthread_mutex_lock(&catalog->names_lock);
	bool known = !rql_table_being_written(catalog, table) && atomic_load(&table->entry->unknown) <= version;
	for (const struct rql_kept_changes *k = table->entry->changes; known && k && k->version > version; k = k->next)
		known = k->changes.table == table; /* another table of that name, or this one after all */
	pthread_mutex_unlock(&catalog->names_lock);
	return known;
}

static bool extend(int64_t **ids, uint64_t *count, const int64_t *more, uint64_t n)
{
	int64_t *grown = n ? realloc(*ids, (*count + n) * sizeof **ids) : *ids;
	if (n && !grown)
		return false;
	if (n)
		memcpy(grown + *count, more, n * sizeof **ids);
	*ids = grown;
	*count += n;
	return true;
}

bool rql_row_changes_add(struct rql_row_changes *to, const struct rql_row_changes *more)
{
	return extend(&to->gone, &to->gone_count, more->gone, more->gone_count) &&
	       extend(&to->renewed, &to->renewed_count, more->renewed, more->renewed_count);
}

rql_status rql_table_changes(struct rql_catalog *catalog, const struct rql_table *table, uint64_t since, uint64_t until,
                             struct rql_row_changes *out, bool *known, struct rql_error *err)
{
	bool room = true;
	*out = (struct rql_row_changes){.table = table};
	pthread_mutex_lock(&catalog->names_lock);
	*known = atomic_load(&table->entry->unknown) <= since; /* others may have made room since that was asked */
	for (const struct rql_kept_changes *k = table->entry->changes; room && k && k->version > since; k = k->next)
		if (k->version <= until)
			room = rql_row_changes_add(out, &k->changes);
	pthread_mutex_unlock(&catalog->names_lock);
	if (room)
		return RQL_OK;
	rql_row_changes_clear(out);
	return rql_error_memory(err, 0, "changed rows");
}

void rql_table_forget_changes(struct rql_catalog *catalog, const struct rql_table *table)
{
	pthread_mutex_lock(&catalog->names_lock);
	rql_name_forget_changes(table->entry);
	atomic_store(&table->entry->unknown, rql_name_version_now(catalog, table->entry));
	pthread_mutex_unlock(&catalog->names_lock);
}

/* Types that DuckDB's C API cannot make again, neither from parts nor from their text: structs whose members have no
 * names, and what holds such. One of each is kept from a result that had it, by its text. */
#include "host/host_internal.h"

#include <stdlib.h>
#include <string.h>

struct host_kept {
	struct host_kept *next;
	duckdb_logical_type type;
	char text[];
};

static bool child_is_unnamed(duckdb_logical_type child)
{
	bool unnamed = host_type_is_unnamed(child);
	duckdb_destroy_logical_type(&child);
	return unnamed;
}

static bool struct_is_unnamed(duckdb_logical_type type)
{
	bool unnamed = false;
	for (idx_t i = 0; !unnamed && i < duckdb_struct_type_child_count(type); i++) {
		char *name = duckdb_struct_type_child_name(type, i);
		unnamed = !name || !*name || child_is_unnamed(duckdb_struct_type_child_type(type, i));
		duckdb_free(name);
	}
	return unnamed;
}

bool host_type_is_unnamed(duckdb_logical_type type)
{
	bool unnamed = false;
	switch (duckdb_get_type_id(type)) {
	case DUCKDB_TYPE_LIST:
		return child_is_unnamed(duckdb_list_type_child_type(type));
	case DUCKDB_TYPE_ARRAY:
		return child_is_unnamed(duckdb_array_type_child_type(type));
	case DUCKDB_TYPE_MAP:
		return child_is_unnamed(duckdb_map_type_key_type(type)) || child_is_unnamed(duckdb_map_type_value_type(type));
	case DUCKDB_TYPE_STRUCT:
		return struct_is_unnamed(type);
	case DUCKDB_TYPE_UNION:
		for (idx_t i = 0; !unnamed && i < duckdb_union_type_member_count(type); i++)
			unnamed = child_is_unnamed(duckdb_union_type_member_type(type, i));
		return unnamed;
	default:
		return false;
	}
}

/* The C API copies no type; a list's child is a copy. */
static duckdb_logical_type copy_of(duckdb_logical_type type)
{
	duckdb_logical_type list = duckdb_create_list_type(type);
	duckdb_logical_type copy = list ? duckdb_list_type_child_type(list) : NULL;
	duckdb_destroy_logical_type(&list);
	return copy;
}

static struct host_kept *find(struct rql_host_db *db, const char *text)
{
	struct host_kept *kept = db->kept;
	while (kept && strcmp(kept->text, text) != 0)
		kept = kept->next;
	return kept;
}

bool host_kept_put(struct rql_host_db *db, const char *text, duckdb_logical_type type)
{
	duckdb_logical_type copy = copy_of(type);
	if (!copy)
		return false;
	pthread_mutex_lock(&db->registry);
	struct host_kept *kept = find(db, text);
	if (kept) { /* the newest: a type that it names may have been made anew */
		duckdb_destroy_logical_type(&kept->type);
	} else if ((kept = malloc(sizeof *kept + strlen(text) + 1))) {
		strcpy(kept->text, text);
		kept->next = db->kept;
		db->kept = kept;
	}
	if (kept)
		kept->type = copy;
	else
		duckdb_destroy_logical_type(&copy);
	pthread_mutex_unlock(&db->registry);
	return kept != NULL;
}

duckdb_logical_type host_kept_get(struct rql_host_db *db, const char *text)
{
	pthread_mutex_lock(&db->registry);
	struct host_kept *kept = find(db, text);
	duckdb_logical_type copy = kept ? copy_of(kept->type) : NULL;
	pthread_mutex_unlock(&db->registry);
	return copy;
}

void host_kept_free(struct rql_host_db *db)
{
	while (db->kept) {
		struct host_kept *next = db->kept->next;
		duckdb_destroy_logical_type(&db->kept->type);
		free(db->kept);
		db->kept = next;
	}
}

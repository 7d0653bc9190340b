/* What a plan calls and reads, whether or not RayQL understands the operator around it: a cached answer depends on all of
 * it. */
#include <stdlib.h>
#include <string.h>
#include "sql/rel/rel_internal.h"

struct reading {
	struct rql_arena *arena;
	struct rql_plan_facts *facts;
	uint32_t function_capacity, table_capacity;
	bool no_memory;
};

static void *grow(struct reading *r, void *list, uint32_t count, uint32_t *capacity, size_t size)
{
	if (count < *capacity)
		return list;
	uint32_t wanted = *capacity ? 2 * *capacity : 16;
	void *grown = rql_arena_array(r->arena, wanted, size);
	r->no_memory |= !grown;
	if (!grown)
		return NULL;
	if (count)
		memcpy(grown, list, count * size);
	*capacity = wanted;
	return grown;
}

static const char *keep(struct reading *r, const char *text)
{
	const char *copy = rql_arena_strdup(r->arena, text);
	r->no_memory |= !copy;
	return copy;
}

static void add_function(struct reading *r, const char *name)
{
	struct rql_plan_facts *f = r->facts;
	f->functions = grow(r, f->functions, f->function_count, &r->function_capacity, sizeof *f->functions);
	if (f->functions && (name = keep(r, name)))
		f->functions[f->function_count++] = name;
}

static void add_table(struct reading *r, const struct rql_table_ref *t)
{
	struct rql_plan_facts *f = r->facts;
	f->tables = grow(r, f->tables, f->table_count, &r->table_capacity, sizeof *f->tables);
	struct rql_table_ref kept = {keep(r, t->catalog), keep(r, t->schema), keep(r, t->table)};
	if (!r->no_memory)
		f->tables[f->table_count++] = kept;
}

static void read_scan(struct reading *r, struct json_object *json)
{
	struct json_object *data = rql_json_field(json, "function_data");
	struct rql_table_ref t = {rql_json_text(data, "catalog"), rql_json_text(data, "schema"),
	                          rql_json_text(data, "table")};
	if (t.table[0])
		add_table(r, &t);
	else
		r->facts->tables_known = false;
}

/* Whatever has a name may be a function: a name too many costs a look into a list. */
static void read(struct reading *r, struct json_object *json)
{
	if (r->no_memory || !json)
		return;
	if (json_object_is_type(json, json_type_array)) {
		for (size_t i = 0; i < json_object_array_length(json); i++)
			read(r, json_object_array_get_idx(json, i));
		return;
	}
	if (!json_object_is_type(json, json_type_object))
		return;
	const char *name = rql_json_text(json, "name");
	if (name[0])
		add_function(r, name);
	const char *type = rql_json_text(json, "type");
	if (!strcmp(type, "LOGICAL_GET"))
		read_scan(r, json);
	r->facts->matches_rows |= !strcmp(type, "LOGICAL_EXCEPT") || !strcmp(type, "LOGICAL_INTERSECT");
	json_object_object_foreach(json, key, value)
	{
		(void)key;
		read(r, value);
	}
}

static int compare_functions(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int compare_tables(const void *a, const void *b)
{
	const struct rql_table_ref *x = a, *y = b;
	int order = strcmp(x->catalog, y->catalog);
	order = order ? order : strcmp(x->schema, y->schema);
	return order ? order : strcmp(x->table, y->table);
}

/* Sorts the list; gives how many different items it has, which come first. */
static uint32_t each_once(void *list, uint32_t count, size_t size, int (*compare)(const void *, const void *))
{
	char *items = list;
	uint32_t kept = count ? 1 : 0;
	if (count)
		qsort(items, count, size, compare);
	for (uint32_t i = 1; i < count; i++)
		if (compare(items + (kept - 1) * size, items + i * size) != 0)
			memmove(items + kept++ * size, items + i * size, size);
	return kept;
}

bool rql_plan_facts_read(struct rql_arena *arena, struct json_object *json, struct rql_plan_facts *out)
{
	*out = (struct rql_plan_facts){.tables_known = true};
	struct reading r = {.arena = arena, .facts = out};
	read(&r, json);
	if (r.no_memory)
		return false;
	out->function_count = each_once(out->functions, out->function_count, sizeof *out->functions, compare_functions);
	out->table_count = each_once(out->tables, out->table_count, sizeof *out->tables, compare_tables);
	return true;
}

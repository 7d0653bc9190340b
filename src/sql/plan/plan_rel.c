/* Nodes: what every reader of operators uses. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "sql/rel/rel_internal.h"

struct rql_rel *rql_plan_rel_new(struct rql_plan_reader *reader, enum rql_rel_kind kind, const char *name,
                                 uint32_t column_count, uint32_t child_count)
{
	struct rql_rel *rel = rql_rel_new(reader->arena, kind, name, column_count, child_count);
	reader->no_memory |= !rel;
	return rel;
}

struct rql_rel *rql_plan_make_opaque(struct rql_plan_reader *reader, struct rql_rel *rel, const char *fmt, ...)
{
	char text[200];
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (!rel)
		return NULL;
	rel->kind = RQL_REL_OPAQUE;
	uint32_t kept = 0;
	for (uint32_t i = 0; i < rel->expr_count; i++) /* what had been read so far */
		if (rel->exprs[i])
			rel->exprs[kept++] = rel->exprs[i];
	rel->expr_count = kept;
	rel->name = rql_arena_strdup(reader->arena, text);
	reader->no_memory |= !rel->name;
	return rel->name ? rel : NULL;
}

struct rql_rel *rql_plan_filter_over(struct rql_plan_reader *reader, struct rql_rel *child, uint32_t count)
{
	struct rql_rel *filter = rql_rel_over(reader->arena, RQL_REL_FILTER, "LOGICAL_FILTER", child, count);
	reader->no_memory |= !filter;
	return filter;
}

static bool map_is_identity(struct json_object *map, uint32_t column_count)
{
	size_t count = rql_json_length(map);
	for (size_t i = 0; i < count; i++)
		if (rql_json_index_value(json_object_array_get_idx(map, i)) != i)
			return false;
	return count == 0 || count == column_count;
}

struct rql_rel *rql_plan_map_columns(struct rql_plan_reader *reader, struct rql_rel *child, struct json_object *map)
{
	uint32_t count = (uint32_t)rql_json_length(map);
	if (!child || map_is_identity(map, child->column_count))
		return child;
	struct rql_rel *project = rql_plan_rel_new(reader, RQL_REL_PROJECT, "LOGICAL_PROJECTION", count, 1);
	if (!project || !(project->exprs = RQL_NEW_ARRAY(reader->arena, struct rql_expr *, count))) {
		reader->no_memory = true;
		return NULL;
	}
	project->children[0] = child;
	project->expr_count = count;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t index = rql_json_index_value(json_object_array_get_idx(map, i));
		if (index >= child->column_count) {
			project->expr_count = 0;
			project->column_count = 0;
			return rql_plan_make_opaque(reader, project, "a projection of columns that RayQL cannot read");
		}
		project->types[i] = child->types[index];
		project->names[i] = child->names[index];
		project->exprs[i] = rql_plan_expr_ref(reader, (uint32_t)index, child->types[index], child->names[index]);
		if (!project->exprs[i])
			return NULL;
	}
	return project;
}

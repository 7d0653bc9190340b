/* Nested columns: DuckDB's vectors with children as a tree of columns. */
#include "host/host_internal.h"

#include <string.h>

_Static_assert(sizeof(struct rql_entry) == sizeof(duckdb_list_entry), "entries of lists cross the boundary as they are");

struct reader {
	struct rql_host_db *db;
	struct rql_arena *arena;
};

static bool read_vector(const struct reader *r, duckdb_vector vector, uint64_t rows, struct rql_nested *out);

static bool add_children(const struct reader *r, uint32_t count, struct rql_nested *out)
{
	out->child_count = count;
	out->children = RQL_NEW_ARRAY(r->arena, struct rql_nested, count);
	out->names = RQL_NEW_ARRAY(r->arena, const char *, count);
	for (uint32_t i = 0; out->names && i < count; i++)
		out->names[i] = "";
	return out->children && out->names;
}

static bool take_name(const struct reader *r, struct rql_nested *out, uint32_t member, char *name)
{
	out->names[member] = rql_arena_strdup(r->arena, name ? name : "");
	duckdb_free(name);
	return out->names[member] != NULL;
}

static bool read_list(const struct reader *r, duckdb_vector vector, bool map, struct rql_nested *out)
{
	duckdb_vector elements = duckdb_list_vector_get_child(vector);
	uint64_t count = duckdb_list_vector_get_size(vector);
	out->kind = map ? RQL_NESTED_MAP : RQL_NESTED_LIST;
	out->entries = duckdb_vector_get_data(vector);
	if (!add_children(r, map ? 2 : 1, out))
		return false;
	if (!map)
		return read_vector(r, elements, count, &out->children[0]);
	out->names[0] = "key";
	out->names[1] = "value";
	return read_vector(r, duckdb_struct_vector_get_child(elements, 0), count, &out->children[0]) &&
	       read_vector(r, duckdb_struct_vector_get_child(elements, 1), count, &out->children[1]);
}

static bool read_array(const struct reader *r, duckdb_vector vector, duckdb_logical_type type, struct rql_nested *out)
{
	out->kind = RQL_NESTED_ARRAY;
	out->array_size = duckdb_array_type_array_size(type);
	return add_children(r, 1, out) &&
	       read_vector(r, duckdb_array_vector_get_child(vector), out->rows * out->array_size, &out->children[0]);
}

static bool read_struct(const struct reader *r, duckdb_vector vector, duckdb_logical_type type, struct rql_nested *out)
{
	uint32_t count = (uint32_t)duckdb_struct_type_child_count(type);
	out->kind = RQL_NESTED_STRUCT;
	bool ok = add_children(r, count, out);
	for (uint32_t i = 0; ok && i < count; i++)
		ok = take_name(r, out, i, duckdb_struct_type_child_name(type, i)) &&
		     read_vector(r, duckdb_struct_vector_get_child(vector, i), out->rows, &out->children[i]);
	return ok;
}

/* A union is a struct of the tag and the members. */
static bool read_union(const struct reader *r, duckdb_vector vector, duckdb_logical_type type, struct rql_nested *out)
{
	uint32_t count = (uint32_t)duckdb_union_type_member_count(type);
	out->kind = RQL_NESTED_UNION;
	out->tags = duckdb_vector_get_data(duckdb_struct_vector_get_child(vector, 0));
	bool ok = add_children(r, count, out);
	for (uint32_t i = 0; ok && i < count; i++)
		ok = take_name(r, out, i, duckdb_union_type_member_name(type, i)) &&
		     read_vector(r, duckdb_struct_vector_get_child(vector, i + 1), out->rows, &out->children[i]);
	return ok;
}

static void read_value(duckdb_vector vector, duckdb_logical_type type, struct rql_nested *out)
{
	struct rql_type plain = out->type.id == RQL_TYPE_OTHER ? host_type_plain(type) : out->type;
	out->kind = RQL_NESTED_VALUE;
	if (plain.id == RQL_TYPE_INVALID)
		plain = out->type;
	out->column.type = plain;
	out->column.data = plain.id == RQL_TYPE_OTHER ? NULL : duckdb_vector_get_data(vector);
}

static bool read_vector(const struct reader *r, duckdb_vector vector, uint64_t rows, struct rql_nested *out)
{
	struct rql_strbuf text = {0};
	duckdb_logical_type type = duckdb_vector_get_column_type(vector);
	bool ok = host_type_in(r->db, r->arena, type, &out->type);
	rql_type_print(&text, out->type);
	out->text = ok && !text.failed ? rql_arena_strdup(r->arena, rql_strbuf_text(&text)) : NULL;
	rql_strbuf_free(&text);
	ok = out->text != NULL;
	out->rows = rows;
	out->column = (struct rql_column){.type = out->type, .validity = duckdb_vector_get_validity(vector)};
	switch (ok ? duckdb_get_type_id(type) : DUCKDB_TYPE_INVALID) {
	case DUCKDB_TYPE_LIST:
	case DUCKDB_TYPE_MAP:
		ok = read_list(r, vector, duckdb_get_type_id(type) == DUCKDB_TYPE_MAP, out);
		break;
	case DUCKDB_TYPE_ARRAY:
		ok = read_array(r, vector, type, out);
		break;
	case DUCKDB_TYPE_STRUCT:
		ok = read_struct(r, vector, type, out);
		break;
	case DUCKDB_TYPE_UNION:
		ok = read_union(r, vector, type, out);
		break;
	default:
		read_value(vector, type, out);
		break;
	}
	duckdb_destroy_logical_type(&type);
	return ok;
}

rql_status rql_host_nested(struct rql_host_db *db, const struct rql_column *column, uint64_t rows,
                           struct rql_arena *arena, struct rql_nested *out, struct rql_error *err)
{
	struct reader r = {db, arena};
	memset(out, 0, sizeof *out);
	if (column->type.id == RQL_TYPE_OTHER && column->data)
		return read_vector(&r, column->data, rows, out) ? RQL_OK : rql_error_memory(err, 0, "a column's parts");
	struct rql_strbuf text = {0};
	rql_type_print(&text, column->type);
	*out = (struct rql_nested){.kind = RQL_NESTED_VALUE, .rows = rows, .type = column->type, .column = *column};
	out->text = text.failed ? NULL : rql_arena_strdup(arena, rql_strbuf_text(&text));
	rql_strbuf_free(&text);
	return out->text ? RQL_OK : rql_error_memory(err, 0, "a column's type");
}

/* DuckDB's logical types as rql_type and back. */
#include "host/host_internal.h"

#include <stdlib.h>
#include <string.h>

/* Names, and what an ENUM or a nested type has beside its id. */
#define ROOM_OF_ALL 1024u
#define ROOM_OF_EACH 64u

struct host_types *host_types_room(uint32_t count)
{
	struct rql_arena *arena = rql_arena_new_with(ROOM_OF_ALL + (size_t)count * ROOM_OF_EACH);
	if (!arena)
		return NULL;
	struct host_types *types = RQL_NEW(arena, struct host_types);
	if (!types) {
		rql_arena_free(arena);
		return NULL;
	}
	atomic_init(&types->refs, 1);
	types->arena = arena;
	return types;
}

bool host_types_set_count(struct host_types *types, uint32_t count)
{
	types->types = RQL_NEW_ARRAY(types->arena, struct rql_type, count);
	types->count = types->types ? count : 0;
	return types->types;
}

struct host_types *host_types_new(uint32_t count)
{
	struct host_types *types = host_types_room(count);
	if (types && !host_types_set_count(types, count)) {
		host_types_unref(types);
		return NULL;
	}
	return types;
}

struct host_types *host_types_ref(struct host_types *types)
{
	atomic_fetch_add_explicit(&types->refs, 1, memory_order_relaxed);
	return types;
}

void host_types_unref(struct host_types *types)
{
	if (types && atomic_fetch_sub_explicit(&types->refs, 1, memory_order_acq_rel) == 1)
		rql_arena_free(types->arena);
}

/* ---- from DuckDB ---- */

/* One entry for each type whose name alone is the type. */
static const struct {
	rql_type_id ours;
	duckdb_type theirs;
} simple_types[] = {
	{RQL_TYPE_BOOLEAN, DUCKDB_TYPE_BOOLEAN},
	{RQL_TYPE_TINYINT, DUCKDB_TYPE_TINYINT},
	{RQL_TYPE_SMALLINT, DUCKDB_TYPE_SMALLINT},
	{RQL_TYPE_INTEGER, DUCKDB_TYPE_INTEGER},
	{RQL_TYPE_BIGINT, DUCKDB_TYPE_BIGINT},
	{RQL_TYPE_HUGEINT, DUCKDB_TYPE_HUGEINT},
	{RQL_TYPE_UTINYINT, DUCKDB_TYPE_UTINYINT},
	{RQL_TYPE_USMALLINT, DUCKDB_TYPE_USMALLINT},
	{RQL_TYPE_UINTEGER, DUCKDB_TYPE_UINTEGER},
	{RQL_TYPE_UBIGINT, DUCKDB_TYPE_UBIGINT},
	{RQL_TYPE_UHUGEINT, DUCKDB_TYPE_UHUGEINT},
	{RQL_TYPE_FLOAT, DUCKDB_TYPE_FLOAT},
	{RQL_TYPE_DOUBLE, DUCKDB_TYPE_DOUBLE},
	{RQL_TYPE_VARCHAR, DUCKDB_TYPE_VARCHAR},
	{RQL_TYPE_BLOB, DUCKDB_TYPE_BLOB},
	{RQL_TYPE_DATE, DUCKDB_TYPE_DATE},
	{RQL_TYPE_TIME, DUCKDB_TYPE_TIME},
	{RQL_TYPE_TIMESTAMP, DUCKDB_TYPE_TIMESTAMP},
	{RQL_TYPE_TIMESTAMP_S, DUCKDB_TYPE_TIMESTAMP_S},
	{RQL_TYPE_TIMESTAMP_MS, DUCKDB_TYPE_TIMESTAMP_MS},
	{RQL_TYPE_TIMESTAMP_NS, DUCKDB_TYPE_TIMESTAMP_NS},
	{RQL_TYPE_TIMESTAMP_TZ, DUCKDB_TYPE_TIMESTAMP_TZ},
	{RQL_TYPE_INTERVAL, DUCKDB_TYPE_INTERVAL},
	{RQL_TYPE_UUID, DUCKDB_TYPE_UUID},
	{RQL_TYPE_SQLNULL, DUCKDB_TYPE_SQLNULL},
};
#define SIMPLE_TYPES (sizeof simple_types / sizeof simple_types[0])

static rql_type_id simple_in(duckdb_type theirs)
{
	for (size_t i = 0; i < SIMPLE_TYPES; i++) {
		if (simple_types[i].theirs == theirs)
			return simple_types[i].ours;
	}
	return RQL_TYPE_INVALID;
}

/* Types that no cell of a cube is made of, but that have a name alone, too. */
static const char *rare_name(duckdb_type theirs)
{
	switch ((int)theirs) {
	case DUCKDB_TYPE_BIT:
		return "BIT";
	case DUCKDB_TYPE_TIME_TZ:
		return "TIME WITH TIME ZONE";
	case DUCKDB_TYPE_TIME_NS:
		return "TIME_NS";
	case DUCKDB_TYPE_BIGNUM:
		return "BIGNUM";
	case HOST_TYPE_GEOMETRY:
		return "GEOMETRY";
	case HOST_TYPE_VARIANT:
		return "VARIANT";
	case HOST_TYPE_TIMESTAMP_TZ_NS:
		return "TIMESTAMPTZ_NS";
	default:
		return NULL;
	}
}

/* A member name as typeof() writes it, and a space: quoted only where it must be, nothing for row(1, 2)'s. */
static void put_member(struct rql_host_db *db, struct rql_strbuf *out, char *name)
{
	bool plain = name[0] != '\0';
	for (size_t i = 0; name[i] && plain; i++) {
		char c = name[i];
		bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
		plain = letter || (i > 0 && c >= '0' && c <= '9');
	}
	plain = plain && !rql_host_is_keyword(db, name, strlen(name));
	if (plain)
		rql_strbuf_put(out, name);
	else if (*name)
		rql_strbuf_put_ident(out, name);
	if (*name)
		rql_strbuf_putc(out, ' ');
	duckdb_free(name);
}

static void put_logical(struct rql_host_db *db, struct rql_strbuf *out, duckdb_logical_type logical);

static void put_child(struct rql_host_db *db, struct rql_strbuf *out, duckdb_logical_type child)
{
	put_logical(db, out, child);
	duckdb_destroy_logical_type(&child);
}

static void put_enum(struct rql_strbuf *out, duckdb_logical_type logical)
{
	uint32_t count = duckdb_enum_dictionary_size(logical);
	rql_strbuf_put(out, "ENUM(");
	for (uint32_t i = 0; i < count; i++) {
		char *name = duckdb_enum_dictionary_value(logical, i);
		rql_strbuf_put(out, i ? ", " : "");
		rql_strbuf_put_literal(out, name, strlen(name));
		duckdb_free(name);
	}
	rql_strbuf_putc(out, ')');
}

static void put_members(struct rql_host_db *db, struct rql_strbuf *out, duckdb_logical_type logical, bool is_union)
{
	idx_t count = is_union ? duckdb_union_type_member_count(logical) : duckdb_struct_type_child_count(logical);
	char *first = is_union || !count ? NULL : duckdb_struct_type_child_name(logical, 0);
	bool tuple = first && !*first && rql_host_major() >= 2; /* what typeof() calls a struct without names there */
	duckdb_free(first);
	rql_strbuf_put(out, is_union ? "UNION" : tuple ? "TUPLE" : "STRUCT");
	if (!count) /* DuckDB 2 has empty ones */
		return;
	rql_strbuf_putc(out, '(');
	for (idx_t i = 0; i < count; i++) {
		rql_strbuf_put(out, i ? ", " : "");
		put_member(db, out,
		           is_union ? duckdb_union_type_member_name(logical, i) : duckdb_struct_type_child_name(logical, i));
		put_child(db, out,
		          is_union ? duckdb_union_type_member_type(logical, i) : duckdb_struct_type_child_type(logical, i));
	}
	rql_strbuf_putc(out, ')');
}

static void put_unaliased(struct rql_host_db *db, struct rql_strbuf *out, duckdb_logical_type logical)
{
	duckdb_type id = duckdb_get_type_id(logical);
	const char *rare = rare_name(id);
	if (rare) {
		rql_strbuf_put(out, rare);
		return;
	}
	switch (id) {
	case DUCKDB_TYPE_DECIMAL:
		rql_strbuf_printf(out, "DECIMAL(%u,%u)", (unsigned)duckdb_decimal_width(logical),
		                  (unsigned)duckdb_decimal_scale(logical));
		break;
	case DUCKDB_TYPE_ENUM:
		put_enum(out, logical);
		break;
	case DUCKDB_TYPE_LIST:
		put_child(db, out, duckdb_list_type_child_type(logical));
		rql_strbuf_put(out, "[]");
		break;
	case DUCKDB_TYPE_ARRAY:
		put_child(db, out, duckdb_array_type_child_type(logical));
		rql_strbuf_printf(out, "[%llu]", (unsigned long long)duckdb_array_type_array_size(logical));
		break;
	case DUCKDB_TYPE_MAP:
		rql_strbuf_put(out, "MAP(");
		put_child(db, out, duckdb_map_type_key_type(logical));
		rql_strbuf_put(out, ", ");
		put_child(db, out, duckdb_map_type_value_type(logical));
		rql_strbuf_putc(out, ')');
		break;
	case DUCKDB_TYPE_STRUCT:
	case DUCKDB_TYPE_UNION:
		put_members(db, out, logical, id == DUCKDB_TYPE_UNION);
		break;
	default:
		rql_type_print(out, rql_type_simple(simple_in(id)));
		break;
	}
}

static void put_logical(struct rql_host_db *db, struct rql_strbuf *out, duckdb_logical_type logical)
{
	char *alias = duckdb_logical_type_get_alias(logical);
	if (alias)
		rql_strbuf_put(out, alias);
	else
		put_unaliased(db, out, logical);
	duckdb_free(alias);
}

static struct rql_type_info *make_info(struct rql_host_db *db, struct rql_arena *arena, duckdb_logical_type logical)
{
	struct rql_strbuf text = {0};
	put_logical(db, &text, logical);
	struct rql_type_info *info = RQL_NEW(arena, struct rql_type_info);
	if (info)
		info->text = text.failed ? NULL : rql_arena_strdup(arena, rql_strbuf_text(&text));
	rql_strbuf_free(&text);
	return info && info->text ? info : NULL;
}

static bool enum_in(struct rql_arena *arena, duckdb_logical_type logical, struct rql_type_info *info)
{
	info->name_count = duckdb_enum_dictionary_size(logical);
	const char **names = RQL_NEW_ARRAY(arena, const char *, info->name_count);
	if (!names)
		return false;
	for (uint32_t i = 0; i < info->name_count; i++) {
		char *name = duckdb_enum_dictionary_value(logical, i);
		names[i] = rql_arena_strdup(arena, name);
		duckdb_free(name);
		if (!names[i])
			return false;
	}
	info->names = names;
	return true;
}

struct rql_type host_type_plain(duckdb_logical_type logical)
{
	struct rql_type type = rql_type_simple(simple_in(duckdb_get_type_id(logical)));
	if (duckdb_get_type_id(logical) == DUCKDB_TYPE_DECIMAL)
		type = (struct rql_type){RQL_TYPE_DECIMAL, duckdb_decimal_width(logical), duckdb_decimal_scale(logical), NULL};
	return type;
}

bool host_type_in(struct rql_host_db *db, struct rql_arena *arena, duckdb_logical_type logical, struct rql_type *out)
{
	duckdb_type id = duckdb_get_type_id(logical);
	char *alias = id == DUCKDB_TYPE_ENUM ? NULL : duckdb_logical_type_get_alias(logical);
	bool aliased = alias != NULL; /* JSON is a VARCHAR by another name, and must stay JSON */
	duckdb_free(alias);
	struct rql_type type = {.id = aliased ? RQL_TYPE_INVALID : simple_in(id)};
	if (type.id == RQL_TYPE_INVALID) {
		if (!aliased && id == DUCKDB_TYPE_INVALID) {
			*out = type;
			return true;
		}
		if (!aliased && id == DUCKDB_TYPE_DECIMAL) {
			type.id = RQL_TYPE_DECIMAL;
			type.width = duckdb_decimal_width(logical);
			type.scale = duckdb_decimal_scale(logical);
			*out = type;
			return true;
		}
		struct rql_type_info *info = make_info(db, arena, logical);
		if (!info || (id == DUCKDB_TYPE_ENUM && !enum_in(arena, logical, info)))
			return false;
		if (host_type_is_unnamed(logical) && !host_kept_put(db, info->text, logical))
			return false;
		type.id = id == DUCKDB_TYPE_ENUM ? RQL_TYPE_ENUM : RQL_TYPE_OTHER;
		type.info = info;
	}
	*out = type;
	return true;
}

/* ---- to DuckDB ---- */

/* DuckDB reads the type's text itself: prepares a NULL of it and takes the column's type. */
static duckdb_logical_type logical_of_text(struct rql_host_db *db, const char *text)
{
	struct rql_strbuf sql = {0};
	rql_strbuf_put(&sql, "SELECT CAST(NULL AS ");
	rql_strbuf_put(&sql, text);
	rql_strbuf_putc(&sql, ')');
	duckdb_logical_type logical = NULL;
	if (!sql.failed) {
		duckdb_prepared_statement prepared = NULL;
		pthread_mutex_lock(&db->service_lock);
		if (duckdb_prepare(db->service, rql_strbuf_text(&sql), &prepared) == DuckDBSuccess)
			logical = duckdb_prepared_statement_column_logical_type(prepared, 0);
		duckdb_destroy_prepare(&prepared);
		pthread_mutex_unlock(&db->service_lock);
	}
	rql_strbuf_free(&sql);
	return logical;
}

duckdb_logical_type host_type_out(struct rql_host_db *db, struct rql_type type)
{
	switch (type.id) {
	case RQL_TYPE_DECIMAL:
		return duckdb_create_decimal_type(type.width, type.scale);
	case RQL_TYPE_ENUM: {
		/* The C API takes char pointers without const, and copies them. */
		const char **names = (const char **)(uintptr_t)type.info->names;
		return duckdb_create_enum_type(names, type.info->name_count);
	}
	case RQL_TYPE_OTHER: {
		duckdb_logical_type kept = type.info ? host_kept_get(db, type.info->text) : NULL;
		return kept || !type.info ? kept : logical_of_text(db, type.info->text);
	}
	default:
		for (size_t i = 0; i < SIMPLE_TYPES; i++) {
			if (simple_types[i].ours == type.id)
				return duckdb_create_logical_type(simple_types[i].theirs);
		}
		return NULL;
	}
}

/* As a value's, so that a name that is none is told and aborts no transaction. */
rql_status rql_host_type_named(struct rql_host_con *con, const char *text, struct rql_arena *arena, struct rql_type *out,
                               struct rql_error *err)
{
	struct rql_strbuf sql = {0};
	duckdb_value value = NULL;
	rql_strbuf_printf(&sql, "CAST(NULL AS %s)", text);
	rql_status status = sql.failed ? rql_error_memory(err, strlen(text), "a type")
	                               : host_fold_value(con, rql_strbuf_text(&sql), &value, err);
	rql_strbuf_free(&sql);
	if (status != RQL_OK)
		return status;
	/* The type is the value's. */
	if (!host_type_in(con->db, arena, duckdb_get_value_type(value), out))
		status = rql_error_memory(err, 0, "a type");
	duckdb_destroy_value(&value);
	return status;
}

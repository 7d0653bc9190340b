/* Types and constants of the plan JSON. */
#include <math.h>
#include <string.h>
#include "sql/rel/rel_internal.h"

static bool is_collated(struct json_object *json)
{
	return rql_json_text(rql_json_field(json, "type_info"), "collation")[0] != '\0';
}

static rql_type_id type_id_of(const char *name)
{
	if (strcmp(name, "\"NULL\"") == 0)
		return RQL_TYPE_SQLNULL;
	for (int id = RQL_TYPE_INVALID + 1; id < RQL_TYPE_OTHER; id++)
		if (strcmp(name, rql_type_id_name((rql_type_id)id)) == 0)
			return (rql_type_id)id;
	return RQL_TYPE_OTHER;
}

/* ---- the SQL text of types that only the host can read ---- */
static void other_type_print(struct rql_strbuf *out, struct json_object *json, unsigned depth);

static void struct_fields_print(struct rql_strbuf *out, struct json_object *fields, unsigned depth)
{
	rql_strbuf_putc(out, '(');
	for (size_t i = 0; i < rql_json_length(fields); i++) {
		struct json_object *field = json_object_array_get_idx(fields, i);
		if (i)
			rql_strbuf_put(out, ", ");
		rql_strbuf_put_ident(out, rql_json_text(field, "first"));
		rql_strbuf_putc(out, ' ');
		other_type_print(out, rql_json_field(field, "second"), depth + 1);
	}
	rql_strbuf_putc(out, ')');
}

/* A MAP is a list of STRUCT(key, value). */
static void map_type_print(struct rql_strbuf *out, struct json_object *info, unsigned depth)
{
	struct json_object *entry = rql_json_field(rql_json_field(info, "child_type"), "type_info");
	struct json_object *fields = rql_json_field(entry, "child_types");
	rql_strbuf_put(out, "MAP(");
	for (size_t i = 0; i < rql_json_length(fields); i++) {
		if (i)
			rql_strbuf_put(out, ", ");
		other_type_print(out, rql_json_field(json_object_array_get_idx(fields, i), "second"), depth + 2);
	}
	rql_strbuf_putc(out, ')');
}

static void enum_type_print(struct rql_strbuf *out, struct json_object *values)
{
	rql_strbuf_put(out, "ENUM(");
	for (size_t i = 0; i < rql_json_length(values); i++) {
		const char *name = json_object_get_string(json_object_array_get_idx(values, i));
		if (i)
			rql_strbuf_put(out, ", ");
		rql_strbuf_put_literal(out, name ? name : "", name ? strlen(name) : 0);
	}
	rql_strbuf_putc(out, ')');
}

static void other_type_print(struct rql_strbuf *out, struct json_object *json, unsigned depth)
{
	const char *id = rql_json_text(json, "id");
	struct json_object *info = rql_json_field(json, "type_info");
	const char *alias = rql_json_text(info, "alias");
	if (depth > RQL_TYPE_DEPTH) {
		rql_strbuf_putc(out, '?');
	} else if (alias[0]) {
		rql_strbuf_put(out, alias);
	} else if (strcmp(id, "LIST") == 0) {
		other_type_print(out, rql_json_field(info, "child_type"), depth + 1);
		rql_strbuf_put(out, "[]");
	} else if (strcmp(id, "ARRAY") == 0) {
		other_type_print(out, rql_json_field(info, "child_type"), depth + 1);
		rql_strbuf_printf(out, "[%llu]", (unsigned long long)rql_json_index(info, "size"));
	} else if (strcmp(id, "STRUCT") == 0 || strcmp(id, "UNION") == 0) {
		rql_strbuf_put(out, id);
		struct_fields_print(out, rql_json_field(info, "child_types"), depth);
	} else if (strcmp(id, "MAP") == 0) {
		map_type_print(out, info, depth);
	} else if (strcmp(id, "DECIMAL") == 0) {
		rql_strbuf_printf(out, "DECIMAL(%llu,%llu)", (unsigned long long)rql_json_index(info, "width"),
		                  (unsigned long long)rql_json_index(info, "scale"));
	} else if (strcmp(id, "ENUM") == 0) {
		enum_type_print(out, rql_json_field(info, "values"));
	} else {
		rql_strbuf_put(out, id[0] ? id : "?");
		if (is_collated(json))
			rql_strbuf_printf(out, " COLLATE %s", rql_json_text(info, "collation"));
	}
}

static struct rql_type type_with_info(struct rql_plan_reader *reader, rql_type_id id, struct json_object *json)
{
	struct rql_type type = {.id = id};
	struct json_object *values = rql_json_field(rql_json_field(json, "type_info"), "values");
	uint32_t count = id == RQL_TYPE_ENUM ? (uint32_t)rql_json_length(values) : 0;
	struct rql_type_info *info = RQL_NEW(reader->arena, struct rql_type_info);
	const char **names = RQL_NEW_ARRAY(reader->arena, const char *, count);
	struct rql_strbuf text = {0};
	other_type_print(&text, json, 0);
	char *copy = text.failed ? NULL : rql_arena_strdup(reader->arena, rql_strbuf_text(&text));
	rql_strbuf_free(&text);
	if (!info || !names || !copy)
		goto no_memory;
	for (uint32_t i = 0; i < count; i++) {
		const char *name = json_object_get_string(json_object_array_get_idx(values, i));
		names[i] = rql_arena_strdup(reader->arena, name ? name : "");
		if (!names[i])
			goto no_memory;
	}
	*info = (struct rql_type_info){.text = copy, .name_count = count, .names = names};
	type.info = info;
	return type;
no_memory:
	reader->no_memory = true;
	return rql_type_simple(RQL_TYPE_INVALID);
}

/* Beside a name of its own, a type has what is said of its kind. */
static bool info_fits(rql_type_id id, const char *kind)
{
	if (strcmp(kind, "GENERIC_TYPE_INFO") == 0)
		return true;
	return id == RQL_TYPE_DECIMAL   ? strcmp(kind, "DECIMAL_TYPE_INFO") == 0
	       : id == RQL_TYPE_VARCHAR ? strcmp(kind, "STRING_TYPE_INFO") == 0
	                                : false;
}

struct rql_type rql_plan_type(struct rql_plan_reader *reader, struct json_object *json)
{
	struct json_object *info = rql_json_field(json, "type_info");
	const char *alias = rql_json_text(info, "alias");
	rql_type_id id = type_id_of(rql_json_text(json, "id"));
	if (id == RQL_TYPE_ENUM) {
		/* A named enum type compares and casts as its values do; its name does not matter. */
		size_t count = rql_json_count(info, "values");
		if (count == 0 || count > UINT32_MAX || count != rql_json_index(info, "values_count"))
			id = RQL_TYPE_OTHER;
		return type_with_info(reader, id, json);
	}
	if (id == RQL_TYPE_OTHER || alias[0] || is_collated(json) || rql_json_field(info, "extension_info") ||
	    (info && !info_fits(id, rql_json_text(info, "type"))))
		return type_with_info(reader, RQL_TYPE_OTHER, json);
	struct rql_type type = rql_type_simple(id);
	if (id == RQL_TYPE_DECIMAL) {
		uint64_t width = rql_json_index(info, "width"), scale = rql_json_index(info, "scale");
		if (width < 1 || width > 38 || scale > width)
			return type_with_info(reader, RQL_TYPE_OTHER, json);
		type.width = (uint8_t)width;
		type.scale = (uint8_t)scale;
	}
	return type;
}

/* ---- values ---- */
static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* DuckDB writes a BLOB as text with \xNN escapes. */
static bool blob_read(struct rql_plan_reader *reader, const char *text, size_t length, struct rql_value *out)
{
	char *data = rql_arena_alloc(reader->arena, length + 1);
	size_t n = 0;
	if (!data) {
		reader->no_memory = true;
		return false;
	}
	for (size_t i = 0; i < length; i++) {
		if (text[i] != '\\') {
			data[n++] = text[i];
			continue;
		}
		if (length - i < 4 || text[i + 1] != 'x' || hex_digit(text[i + 2]) < 0 || hex_digit(text[i + 3]) < 0)
			return false;
		data[n++] = (char)(hex_digit(text[i + 2]) * 16 + hex_digit(text[i + 3]));
		i += 3;
	}
	out->string.data = data;
	out->string.length = n;
	return true;
}

static bool text_read(struct rql_plan_reader *reader, struct json_object *json, struct rql_value *out)
{
	if (!json_object_is_type(json, json_type_string))
		return false;
	const char *text = json_object_get_string(json);
	size_t length = (size_t)json_object_get_string_len(json);
	if (out->type.id == RQL_TYPE_BLOB)
		return blob_read(reader, text, length, out);
	out->string.data = rql_arena_strndup(reader->arena, text, length);
	out->string.length = length;
	reader->no_memory |= !out->string.data;
	return out->string.data != NULL;
}

static rql_int128 int_read(struct json_object *json)
{
	/* json-c keeps values above INT64_MAX as uint64 and saturates: equal only when it fits int64. */
	int64_t value = json_object_get_int64(json);
	if (value == INT64_MAX)
		return (rql_int128)json_object_get_uint64(json);
	return value;
}

static bool integral_read(struct json_object *json, struct rql_value *out)
{
	if (json_object_is_type(json, json_type_boolean)) {
		out->integer = json_object_get_boolean(json);
		return out->type.id == RQL_TYPE_BOOLEAN;
	}
	if (json_object_is_type(json, json_type_object)) {
		struct json_object *upper = rql_json_field(json, "upper"), *lower = rql_json_field(json, "lower");
		if (!json_object_is_type(upper, json_type_int) || !json_object_is_type(lower, json_type_int))
			return false;
		rql_uint128 bits = (rql_uint128)int_read(upper) << 64;
		out->integer = (rql_int128)(bits | rql_json_index_value(lower));
		return rql_type_bytes(out->type) == 16;
	}
	if (!json_object_is_type(json, json_type_int) || out->type.id == RQL_TYPE_BOOLEAN || rql_type_bytes(out->type) == 16)
		return false;
	out->integer = int_read(json);
	unsigned bits = rql_type_bytes(out->type) * 8;
	if (bits < 128) {
		bool is_signed = rql_type_is_signed(out->type);
		rql_int128 low = is_signed ? -((rql_int128)1 << (bits - 1)) : 0;
		rql_int128 high = ((rql_int128)1 << (is_signed ? bits - 1 : bits)) - 1;
		if (out->integer < low || out->integer > high)
			return false;
	}
	return out->type.id != RQL_TYPE_ENUM || out->integer < (rql_int128)out->type.info->name_count;
}

static bool interval_read(struct json_object *json, struct rql_value *out)
{
	struct json_object *months = rql_json_field(json, "months"), *days = rql_json_field(json, "days");
	struct json_object *micros = rql_json_field(json, "micros");
	if (!json_object_is_type(json, json_type_object))
		return false;
	out->interval.months = months ? json_object_get_int(months) : 0;
	out->interval.days = days ? json_object_get_int(days) : 0;
	out->interval.micros = micros ? json_object_get_int64(micros) : 0;
	return true;
}

bool rql_plan_value(struct rql_plan_reader *reader, struct json_object *json, struct rql_value *out)
{
	struct rql_value value = {.type = rql_plan_type(reader, rql_json_field(json, "type"))};
	struct json_object *content = rql_json_field(json, "value");
	bool known;
	if (rql_json_bool(json, "is_null", false)) {
		*out = rql_value_null(value.type);
		return value.type.id != RQL_TYPE_INVALID;
	}
	switch (value.type.id) {
	case RQL_TYPE_INVALID:
	case RQL_TYPE_OTHER:
	case RQL_TYPE_SQLNULL:
		return false;
	case RQL_TYPE_FLOAT:
	case RQL_TYPE_DOUBLE:
		known = json_object_is_type(content, json_type_double) || json_object_is_type(content, json_type_int);
		value.real = json_object_get_double(content);
		break;
	case RQL_TYPE_VARCHAR:
	case RQL_TYPE_BLOB:
		known = text_read(reader, content, &value);
		break;
	case RQL_TYPE_INTERVAL:
		known = interval_read(content, &value);
		break;
	default:
		known = integral_read(content, &value);
	}
	if (known)
		*out = value;
	return known;
}

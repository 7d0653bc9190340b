/* Types: their names and sizes, their texts, comparing and copying them. */
#include "column/value/type.h"

#include <string.h>

static const struct {
	const char *name;
	unsigned bytes;
} type_table[RQL_TYPE_COUNT] = {
#define X(id, name, bytes) [RQL_TYPE_##id] = {name, bytes},
	RQL_TYPES(X)
#undef X
};

const char *rql_type_id_name(rql_type_id id)
{
	return (unsigned)id < RQL_TYPE_COUNT ? type_table[id].name : "INVALID";
}

unsigned rql_type_bytes(struct rql_type type)
{
	switch (type.id) {
	case RQL_TYPE_DECIMAL:
		return type.width <= 4 ? 2 : type.width <= 9 ? 4 : type.width <= 18 ? 8 : 16;
	case RQL_TYPE_ENUM: {
		uint32_t members = type.info ? type.info->name_count : 0;
		return members <= UINT8_MAX ? 1 : members <= UINT16_MAX ? 2 : 4;
	}
	default:
		return (unsigned)type.id < RQL_TYPE_COUNT ? type_table[type.id].bytes : 0;
	}
}

static bool info_equal(const struct rql_type_info *a, const struct rql_type_info *b)
{
	if (a == b)
		return true;
	if (!a || !b || a->name_count != b->name_count || strcmp(a->text, b->text) != 0)
		return false;
	for (uint32_t i = 0; i < a->name_count; i++) {
		if (strcmp(a->names[i], b->names[i]) != 0)
			return false;
	}
	return true;
}

bool rql_type_equal(struct rql_type a, struct rql_type b)
{
	if (a.id != b.id)
		return false;
	switch (a.id) {
	case RQL_TYPE_DECIMAL:
		return a.width == b.width && a.scale == b.scale;
	case RQL_TYPE_ENUM:
	case RQL_TYPE_OTHER:
		return info_equal(a.info, b.info);
	default:
		return true;
	}
}

#define DECIMAL_TEXT "DECIMAL(%u,%u)"

/* Of all types but DECIMAL. */
static const char *plain_text(struct rql_type type)
{
	if (type.id == RQL_TYPE_SQLNULL) /* typeof(NULL) */
		return "\"NULL\"";
	return type.info ? type.info->text : rql_type_id_name(type.id);
}

void rql_type_print(struct rql_strbuf *out, struct rql_type type)
{
	if (type.id == RQL_TYPE_DECIMAL)
		rql_strbuf_printf(out, DECIMAL_TEXT, (unsigned)type.width, (unsigned)type.scale);
	else
		rql_strbuf_put(out, plain_text(type));
}

const char *rql_type_text(struct rql_arena *arena, struct rql_type type)
{
	if (type.id == RQL_TYPE_DECIMAL)
		return rql_arena_printf(arena, DECIMAL_TEXT, (unsigned)type.width, (unsigned)type.scale);
	return rql_arena_strdup(arena, plain_text(type));
}

bool rql_type_is_integer(struct rql_type type)
{
	return type.id >= RQL_TYPE_TINYINT && type.id <= RQL_TYPE_UHUGEINT;
}

bool rql_type_is_real(struct rql_type type)
{
	return type.id == RQL_TYPE_FLOAT || type.id == RQL_TYPE_DOUBLE;
}

bool rql_type_widens(struct rql_type from, struct rql_type to)
{
	return rql_type_is_integer(from) && rql_type_is_integer(to) && rql_type_bytes(from) < rql_type_bytes(to) &&
	       (!rql_type_is_signed(from) || rql_type_is_signed(to));
}

bool rql_type_is_integral(struct rql_type type)
{
	return (type.id >= RQL_TYPE_BOOLEAN && type.id <= RQL_TYPE_UHUGEINT) || type.id == RQL_TYPE_DECIMAL ||
	       (type.id >= RQL_TYPE_DATE && type.id <= RQL_TYPE_TIMESTAMP_TZ) || type.id == RQL_TYPE_ENUM;
}

bool rql_type_is_signed(struct rql_type type)
{
	return (type.id >= RQL_TYPE_TINYINT && type.id <= RQL_TYPE_HUGEINT) || type.id == RQL_TYPE_DECIMAL ||
	       (type.id >= RQL_TYPE_DATE && type.id <= RQL_TYPE_TIMESTAMP_TZ);
}

struct rql_type rql_type_copy(struct rql_arena *arena, struct rql_type type)
{
	if (!type.info)
		return type;
	const struct rql_type invalid = {.id = RQL_TYPE_INVALID};
	struct rql_type_info *info = RQL_NEW(arena, struct rql_type_info);
	if (!info)
		return invalid;
	info->text = rql_arena_strdup(arena, type.info->text);
	if (!info->text)
		return invalid;
	info->name_count = type.info->name_count;
	const char **names = RQL_NEW_ARRAY(arena, const char *, info->name_count);
	if (!names)
		return invalid;
	for (uint32_t i = 0; i < info->name_count; i++) {
		names[i] = rql_arena_strdup(arena, type.info->names[i]);
		if (!names[i])
			return invalid;
	}
	info->names = names;
	type.info = info;
	return type;
}

/* Single values: parameters of statements and arguments of table functions. */
#include "host/host_internal.h"

#include <string.h>

static duckdb_hugeint huge(rql_int128 number)
{
	return (duckdb_hugeint){.lower = (uint64_t)number, .upper = (int64_t)(number >> 64)};
}

static duckdb_uhugeint uhuge(rql_uint128 number)
{
	return (duckdb_uhugeint){.lower = (uint64_t)number, .upper = (uint64_t)(number >> 64)};
}

static duckdb_value number_out(const struct rql_value *value)
{
	rql_int128 number = value->integer;
	switch (value->type.id) {
	case RQL_TYPE_BOOLEAN:
		return duckdb_create_bool(number != 0);
	case RQL_TYPE_TINYINT:
		return duckdb_create_int8((int8_t)number);
	case RQL_TYPE_SMALLINT:
		return duckdb_create_int16((int16_t)number);
	case RQL_TYPE_INTEGER:
		return duckdb_create_int32((int32_t)number);
	case RQL_TYPE_BIGINT:
		return duckdb_create_int64((int64_t)number);
	case RQL_TYPE_HUGEINT:
		return duckdb_create_hugeint(huge(number));
	case RQL_TYPE_UTINYINT:
		return duckdb_create_uint8((uint8_t)number);
	case RQL_TYPE_USMALLINT:
		return duckdb_create_uint16((uint16_t)number);
	case RQL_TYPE_UINTEGER:
		return duckdb_create_uint32((uint32_t)number);
	case RQL_TYPE_UBIGINT:
		return duckdb_create_uint64((uint64_t)number);
	case RQL_TYPE_UHUGEINT:
		return duckdb_create_uhugeint(uhuge((rql_uint128)number));
	case RQL_TYPE_UUID: /* the C API takes a UUID's own bits, columns store them with the top bit flipped */
		return duckdb_create_uuid(uhuge((rql_uint128)number ^ (rql_uint128)1 << 127));
	case RQL_TYPE_DECIMAL:
		return duckdb_create_decimal((duckdb_decimal){value->type.width, value->type.scale, huge(number)});
	default:
		return NULL;
	}
}

static duckdb_value time_out(const struct rql_value *value)
{
	int64_t number = (int64_t)value->integer;
	switch (value->type.id) {
	case RQL_TYPE_DATE:
		return duckdb_create_date((duckdb_date){(int32_t)number});
	case RQL_TYPE_TIME:
		return duckdb_create_time((duckdb_time){number});
	case RQL_TYPE_TIMESTAMP:
		return duckdb_create_timestamp((duckdb_timestamp){number});
	case RQL_TYPE_TIMESTAMP_S:
		return duckdb_create_timestamp_s((duckdb_timestamp_s){number});
	case RQL_TYPE_TIMESTAMP_MS:
		return duckdb_create_timestamp_ms((duckdb_timestamp_ms){number});
	case RQL_TYPE_TIMESTAMP_NS:
		return duckdb_create_timestamp_ns((duckdb_timestamp_ns){number});
	case RQL_TYPE_TIMESTAMP_TZ:
		return duckdb_create_timestamp_tz((duckdb_timestamp){number});
	default:
		return NULL;
	}
}

duckdb_value host_value_out(struct rql_host_db *db, const struct rql_value *value)
{
	if (value->is_null)
		return duckdb_create_null_value();
	switch (value->type.id) {
	case RQL_TYPE_FLOAT:
		return duckdb_create_float((float)value->real);
	case RQL_TYPE_DOUBLE:
		return duckdb_create_double(value->real);
	case RQL_TYPE_VARCHAR:
		return duckdb_create_varchar_length(value->string.data, value->string.length);
	case RQL_TYPE_BLOB:
		return duckdb_create_blob((const uint8_t *)value->string.data, value->string.length);
	case RQL_TYPE_INTERVAL:
		return duckdb_create_interval(
			(duckdb_interval){value->interval.months, value->interval.days, value->interval.micros});
	case RQL_TYPE_ENUM: {
		duckdb_logical_type logical = host_type_out(db, value->type);
		duckdb_value out = logical ? duckdb_create_enum_value(logical, (uint64_t)value->integer) : NULL;
		duckdb_destroy_logical_type(&logical);
		return out;
	}
	default: {
		duckdb_value out = number_out(value);
		return out ? out : time_out(value);
	}
	}
}

/* The text of a VARCHAR, copied into arena. */
static bool text_in(struct rql_arena *arena, duckdb_value value, struct rql_value *out)
{
	char *text = duckdb_get_varchar(value);
	char *copy = text ? rql_arena_strdup(arena, text) : NULL;
	duckdb_free(text);
	if (!copy)
		return false;
	out->string.data = copy;
	out->string.length = strlen(copy);
	return true;
}

struct rql_value host_value_in(struct rql_arena *arena, duckdb_value value)
{
	struct rql_value out = rql_value_null(rql_type_simple(RQL_TYPE_INVALID));
	if (!value || duckdb_is_null_value(value)) {
		out.type.id = RQL_TYPE_SQLNULL;
		return out;
	}
	out.is_null = false;
	switch (duckdb_get_type_id(duckdb_get_value_type(value))) {
	case DUCKDB_TYPE_BOOLEAN:
		out.type.id = RQL_TYPE_BOOLEAN;
		out.integer = duckdb_get_bool(value);
		break;
	case DUCKDB_TYPE_INTEGER:
		out.type.id = RQL_TYPE_INTEGER;
		out.integer = duckdb_get_int32(value);
		break;
	case DUCKDB_TYPE_BIGINT:
		out.type.id = RQL_TYPE_BIGINT;
		out.integer = duckdb_get_int64(value);
		break;
	case DUCKDB_TYPE_UBIGINT:
		out.type.id = RQL_TYPE_UBIGINT;
		out.integer = (rql_int128)duckdb_get_uint64(value);
		break;
	case DUCKDB_TYPE_DOUBLE:
		out.type.id = RQL_TYPE_DOUBLE;
		out.real = duckdb_get_double(value);
		break;
	case DUCKDB_TYPE_DATE:
		out.type.id = RQL_TYPE_DATE;
		out.integer = duckdb_get_date(value).days;
		break;
	case DUCKDB_TYPE_TIMESTAMP:
		out.type.id = RQL_TYPE_TIMESTAMP;
		out.integer = duckdb_get_timestamp(value).micros;
		break;
	case DUCKDB_TYPE_VARCHAR:
		out.type.id = text_in(arena, value, &out) ? RQL_TYPE_VARCHAR : RQL_TYPE_INVALID;
		break;
	default:
		break;
	}
	return out;
}

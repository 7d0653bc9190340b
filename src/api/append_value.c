/* An appender's values: which column takes which, and where they lie until they are inserted. */
#include "api/append.h"
#include "column/text/text.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- room ---- */
static bool grow(struct rql_column *column, uint64_t from, uint64_t to)
{
	uint64_t words = (to + 63) / 64, before = from / 64;
	void *data = realloc(column->data, to * rql_type_bytes(column->type));
	if (data)
		column->data = data;
	uint64_t *validity = data ? realloc(column->validity, words * sizeof *validity) : NULL;
	if (!validity)
		return false;
	memset(validity + before, 0, (words - before) * sizeof *validity);
	column->validity = validity;
	return true;
}

static bool grow_bits(uint64_t **bits, uint64_t from, uint64_t to)
{
	uint64_t words = (to + 63) / 64;
	uint64_t *grown = realloc(*bits, words * sizeof *grown);
	if (!grown)
		return false;
	memset(grown + from / 64, 0, (words - from / 64) * sizeof *grown);
	*bits = grown;
	return true;
}

/* Makes room for as many rows. */
static rql_status make_room(rayql_appender *app, uint64_t rows, struct rql_error *err)
{
	if (rows <= app->room)
		return RQL_OK;
	for (uint32_t c = 0; c < app->count; c++) {
		struct rql_append_column *column = &app->columns[c];
		bool ok = column->values.type.id == RQL_TYPE_INVALID || grow(&column->values, app->room, rows);
		bool texts = column->texts.data || column->values.type.id == RQL_TYPE_INVALID;
		ok = ok && (!texts || grow(&column->texts, app->room, rows));
		ok = ok && (!column->defaults || grow_bits(&column->defaults, app->room, rows));
		if (!ok)
			return rql_error_memory(err, rows, "an appender's rows");
	}
	app->room = rows;
	return RQL_OK;
}

static void clear_bit(uint64_t *bits, uint64_t row)
{
	if (bits)
		rql_bit_clear(bits, row);
}

void rql_append_drop_row(rayql_appender *app)
{
	for (uint32_t c = 0; c < app->count && app->rows < app->room; c++) {
		clear_bit(app->columns[c].values.validity, app->rows);
		clear_bit(app->columns[c].texts.validity, app->rows);
		clear_bit(app->columns[c].defaults, app->rows);
	}
	app->at = 0;
	rql_error_clear(&app->row);
}

static void clear_bits(uint64_t *bits, uint64_t rows)
{
	if (bits)
		memset(bits, 0, (rows + 63) / 64 * sizeof *bits);
}

void rql_append_drop_all(rayql_appender *app)
{
	for (uint32_t c = 0; c < app->count; c++) {
		clear_bits(app->columns[c].values.validity, app->room);
		clear_bits(app->columns[c].texts.validity, app->room);
		clear_bits(app->columns[c].defaults, app->room);
	}
	rql_arena_free(app->bytes);
	app->bytes = NULL;
	app->rows = 0;
	app->at = 0;
	app->any_default = app->stuck = false;
	rql_error_clear(&app->row);
}

void rql_append_columns_free(rayql_appender *app)
{
	for (uint32_t c = 0; c < app->count; c++) {
		free(app->columns[c].values.data);
		free(app->columns[c].values.validity);
		free(app->columns[c].texts.data);
		free(app->columns[c].texts.validity);
		free(app->columns[c].defaults);
	}
	rql_arena_free(app->bytes);
}

/* ---- which column takes which value ---- */
static bool is_number(struct rql_type type)
{
	return rql_type_is_integer(type) || type.id == RQL_TYPE_BOOLEAN;
}

static bool integer_fits(struct rql_type type, rql_int128 number)
{
	unsigned bits = 8 * rql_type_bytes(type);
	if (type.id == RQL_TYPE_BOOLEAN)
		return number == 0 || number == 1;
	if (bits == 128)
		return type.id == RQL_TYPE_HUGEINT || number >= 0;
	rql_int128 half = (rql_int128)1 << (bits - 1);
	return rql_type_is_signed(type) ? number >= -half && number < half : number >= 0 && number < 2 * half;
}

static rql_int128 power_of_ten(unsigned exponent)
{
	rql_int128 power = 1;
	while (exponent--)
		power *= 10;
	return power;
}

/* number * 10^-scale, as one of type; false: it does not fit, or would lose digits. */
static bool to_decimal(rql_int128 number, unsigned scale, struct rql_type type, rql_int128 *out)
{
	if (scale > type.scale) {
		rql_int128 divisor = power_of_ten(scale - type.scale);
		if (number % divisor)
			return false;
		number /= divisor;
		scale = type.scale;
	}
	rql_int128 most = power_of_ten(type.width), factor = power_of_ten(type.scale - scale);
	if (number > (most - 1) / factor || number < -((most - 1) / factor))
		return false;
	*out = number * factor;
	return true;
}

static bool to_timestamp(rql_int128 micros, struct rql_type type, rql_int128 *out)
{
	bool infinite = micros == INT64_MAX || micros == -(rql_int128)INT64_MAX;
	rql_int128 divisor = type.id == RQL_TYPE_TIMESTAMP_S ? 1000000 : type.id == RQL_TYPE_TIMESTAMP_MS ? 1000 : 1;
	if (infinite)
		divisor = 1;
	if (micros % divisor)
		return false;
	*out = !infinite && type.id == RQL_TYPE_TIMESTAMP_NS ? micros * 1000 : micros / divisor;
	rql_int128 most = infinite ? INT64_MAX : INT64_MAX - 1; /* which means infinity */
	return *out >= -most && *out <= most;
}

enum takes { TAKES, TAKES_NOT, DOES_NOT_FIT };

/* The number of a value of UHUGEINT from 2^127 on is negative here. */
static enum takes from_integer(const struct rql_value *value, struct rql_type type, struct rql_value *out)
{
	bool large = value->type.id == RQL_TYPE_UHUGEINT && value->integer < 0;
	if (type.id == RQL_TYPE_FLOAT || type.id == RQL_TYPE_DOUBLE) {
		out->real = large ? (double)(rql_uint128)value->integer : (double)value->integer;
		return TAKES;
	}
	if (type.id == RQL_TYPE_DECIMAL)
		return !large && to_decimal(value->integer, 0, type, &out->integer) ? TAKES : DOES_NOT_FIT;
	if (!is_number(type))
		return TAKES_NOT;
	out->integer = value->integer;
	if (large)
		return type.id == RQL_TYPE_UHUGEINT ? TAKES : DOES_NOT_FIT;
	return integer_fits(type, value->integer) ? TAKES : DOES_NOT_FIT;
}

static bool is_naive_timestamp(struct rql_type type)
{
	return type.id == RQL_TYPE_TIMESTAMP || type.id == RQL_TYPE_TIMESTAMP_S || type.id == RQL_TYPE_TIMESTAMP_MS ||
	       type.id == RQL_TYPE_TIMESTAMP_NS;
}

/* value as one of the column's type. No value is rounded or cut. */
static enum takes convert(const struct rql_value *value, struct rql_type type, struct rql_value *out)
{
	*out = *value;
	out->type = type;
	switch (value->type.id) {
	case RQL_TYPE_BOOLEAN:
		return type.id == RQL_TYPE_BOOLEAN ? TAKES : TAKES_NOT;
	case RQL_TYPE_DOUBLE:
		if (type.id == RQL_TYPE_FLOAT && isfinite(value->real) && !isfinite((float)value->real))
			return DOES_NOT_FIT;
		return type.id == RQL_TYPE_FLOAT || type.id == RQL_TYPE_DOUBLE ? TAKES : TAKES_NOT;
	case RQL_TYPE_DECIMAL:
		if (type.id != RQL_TYPE_DECIMAL)
			return TAKES_NOT;
		return to_decimal(value->integer, value->type.scale, type, &out->integer) ? TAKES : DOES_NOT_FIT;
	case RQL_TYPE_TIMESTAMP:
		if (!is_naive_timestamp(type))
			return TAKES_NOT;
		return to_timestamp(value->integer, type, &out->integer) ? TAKES : DOES_NOT_FIT;
	case RQL_TYPE_TIME:
		if (type.id == RQL_TYPE_TIME && (value->integer < 0 || value->integer > INT64_C(86400000000)))
			return DOES_NOT_FIT;
		return type.id == RQL_TYPE_TIME ? TAKES : TAKES_NOT;
	default:
		if (rql_type_is_integer(value->type))
			return from_integer(value, type, out);
		return value->type.id == type.id ? TAKES : TAKES_NOT;
	}
}

/* ---- storing ---- */
static rql_status refuse(rayql_appender *app, const struct rql_value *value, enum takes why)
{
	const struct rql_append_column *column = &app->columns[app->at];
	struct rql_strbuf text = {0};
	bool shown = why == DOES_NOT_FIT && rql_value_print(&text, value);
	rql_status status =
		rql_error_set(&app->row, RQL_ERROR_MISUSE, "column %u (\"%s\", of type %s) %s %s%s", app->at + 1, column->name,
	                  column->type_text, why == DOES_NOT_FIT ? "cannot hold" : "takes no",
	                  shown ? rql_strbuf_text(&text) : "", shown ? "" : rql_type_id_name(value->type.id));
	rql_strbuf_free(&text);
	return status;
}

static rql_status put(rayql_appender *app, struct rql_column *column, const struct rql_value *value)
{
	struct rql_value stored = *value;
	bool string = value->type.id == RQL_TYPE_VARCHAR || value->type.id == RQL_TYPE_BLOB;
	if (string && value->string.length > UINT32_MAX)
		return rql_error_set(&app->row, RQL_ERROR_MISUSE, "a string of %llu bytes: DuckDB's have 4 GiB at most",
		                     (unsigned long long)value->string.length);
	if (value->type.id == RQL_TYPE_VARCHAR && !rql_text_is_utf8(value->string.data, value->string.length))
		return rql_error_set(&app->row, RQL_ERROR_MISUSE,
		                     "column %u (\"%s\"): the text is not valid UTF-8; append it as a BLOB", app->at + 1,
		                     app->columns[app->at].name);
	if (string && value->string.length > RQL_STRING_INLINE) {
		if (!app->bytes)
			app->bytes = rql_arena_new();
		char *copy = app->bytes ? rql_arena_alloc(app->bytes, value->string.length) : NULL;
		if (!copy)
			return rql_error_memory(&app->row, value->string.length, "a string");
		memcpy(copy, value->string.data, value->string.length);
		stored.string.data = copy;
	}
	rql_bit_set(column->validity, app->rows);
	stored.is_null = false;
	rql_column_put(column, app->rows, &stored);
	return RQL_OK;
}

static rql_status put_text(rayql_appender *app, const struct rql_value *value)
{
	struct rql_column *texts = &app->columns[app->at].texts;
	if (!texts->data && !grow(texts, 0, app->room))
		return rql_error_memory(&app->row, app->room, "an appender's texts");
	return put(app, texts, value);
}

static rql_status next_column(rayql_appender *app)
{
	if (app->row.status != RQL_OK)
		return app->row.status;
	if (app->stuck)
		return rql_error_set(&app->row, RQL_ERROR_MISUSE,
		                     "the appender's rows could not be inserted: flush it again, or drop them by "
		                     "rayql_appender_clear");
	if (app->at == app->count)
		return rql_error_set(&app->row, RQL_ERROR_MISUSE, "%s has %u columns, and the row has more values", app->table,
		                     app->count);
	if (app->rows == app->room)
		return make_room(app, app->room ? 2 * app->room : 1920, &app->row);
	return RQL_OK;
}

rql_status rql_append_value(rayql_appender *app, const struct rql_value *value)
{
	RQL_TRY(next_column(app));
	struct rql_append_column *column = &app->columns[app->at];
	struct rql_value converted;
	if (!value->is_null) {
		bool text = value->type.id == RQL_TYPE_VARCHAR && column->type.id != RQL_TYPE_VARCHAR;
		enum takes takes = text                                            ? TAKES
		                   : column->values.type.id == RQL_TYPE_INVALID ? TAKES_NOT
		                                                                   : convert(value, column->type, &converted);
		if (takes != TAKES)
			return refuse(app, value, takes);
		RQL_TRY(text ? put_text(app, value) : put(app, &column->values, &converted));
	}
	app->at++;
	return RQL_OK;
}

rql_status rql_append_default(rayql_appender *app)
{
	RQL_TRY(next_column(app));
	struct rql_append_column *column = &app->columns[app->at];
	if (!column->defaults && !grow_bits(&column->defaults, 0, app->room))
		return rql_error_memory(&app->row, app->room / 8, "an appender's defaults");
	rql_bit_set(column->defaults, app->rows);
	app->any_default = true;
	app->at++;
	return RQL_OK;
}

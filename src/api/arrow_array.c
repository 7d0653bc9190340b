/* Arrow arrays of plain types from batches: each value is copied once, from DuckDB's vector to the array's buffer.
 * DuckDB's own conversion takes a chunk, so that many small ones have to be joined for it first. */
#include "api/arrow_array.h"
#include "column/value/value.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ---- which columns ---- */
/* Formats of types whose values Arrow has as they are: the whole format, or its beginning where it ends with a colon.
 * */
static const struct {
	rql_type_id type;
	const char *format;
} plain[] = {
	{RQL_TYPE_BOOLEAN, "b"},      {RQL_TYPE_TINYINT, "c"},      {RQL_TYPE_SMALLINT, "s"},     {RQL_TYPE_INTEGER, "i"},
	{RQL_TYPE_BIGINT, "l"},       {RQL_TYPE_UTINYINT, "C"},     {RQL_TYPE_USMALLINT, "S"},    {RQL_TYPE_UINTEGER, "I"},
	{RQL_TYPE_UBIGINT, "L"},      {RQL_TYPE_FLOAT, "f"},        {RQL_TYPE_DOUBLE, "g"},       {RQL_TYPE_VARCHAR, "u"},
	{RQL_TYPE_BLOB, "z"},         {RQL_TYPE_DATE, "tdD"},       {RQL_TYPE_TIME, "ttu"},
	{RQL_TYPE_TIMESTAMP, "tsu:"},
	{RQL_TYPE_TIMESTAMP_S, "tss:"}, {RQL_TYPE_TIMESTAMP_MS, "tsm:"}, {RQL_TYPE_TIMESTAMP_NS, "tsn:"},
	{RQL_TYPE_TIMESTAMP_TZ, "tsu:"},
};

/* d:WIDTH,SCALE or d:WIDTH,SCALE,128. */
static bool is_decimal128(const char *format)
{
	if (strncmp(format, "d:", 2) != 0)
		return false;
	const char *first = strchr(format, ','), *second = first ? strchr(first + 1, ',') : NULL;
	return first && (!second || strcmp(second, ",128") == 0);
}

static bool is_plain(const char *format, struct rql_type type)
{
	if (type.id == RQL_TYPE_DECIMAL)
		return is_decimal128(format);
	for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
		size_t length = strlen(plain[i].format);
		bool begins = plain[i].format[length - 1] == ':';
		if (plain[i].type == type.id)
			return begins ? strncmp(format, plain[i].format, length) == 0 : strcmp(format, plain[i].format) == 0;
	}
	return false;
}

bool rql_arrow_is_plain(const struct ArrowSchema *schema, const struct rql_type *types, uint32_t count)
{
	bool all = schema->n_children == count;
	for (uint32_t c = 0; c < count && all; c++)
		all = !schema->children[c]->dictionary && is_plain(schema->children[c]->format, types[c]);
	return all;
}

/* ---- one column ---- */
struct made_column {
	const void *buffers[3];
};

static void release_column(struct ArrowArray *array)
{
	struct made_column *made = array->private_data;
	for (unsigned i = 0; i < 3; i++)
		free((void *)(uintptr_t)made->buffers[i]);
	free(made);
	array->release = NULL;
}

/* Aligned as Arrow recommends it. */
static void *buffer(uint64_t bytes)
{
	return aligned_alloc(64, (bytes + 63) / 64 * 64 + 64);
}

/* NULL where no batch has a NULL. *ok false: out of memory. */
static uint64_t *validity_of(struct rql_batch *const *batches, uint64_t count, uint32_t c, uint64_t rows,
                             int64_t *null_count, bool *ok)
{
	bool any = false;
	for (uint64_t i = 0; i < count && !any; i++)
		any = batches[i]->columns[c].validity != NULL;
	*null_count = 0;
	if (!any)
		return NULL;
	uint64_t words = rows / 64 + 2, at = 0, set = 0, *bits = buffer(words * sizeof *bits);
	*ok = bits != NULL;
	if (!bits)
		return NULL;
	memset(bits, 0, words * sizeof *bits);
	for (uint64_t i = 0; i < count; at += batches[i++]->rows)
		rql_bits_copy(bits, at, batches[i]->columns[c].validity, 0, batches[i]->rows);
	for (uint64_t w = 0; w < words; w++)
		set += (uint64_t)__builtin_popcountll(bits[w]);
	*null_count = (int64_t)(rows - set);
	return bits;
}

static void copy_decimals(rql_int128 *to, const struct rql_column *column, uint64_t rows)
{
	const void *data = column->data;
	switch (rql_type_bytes(column->type)) {
	case 2:
		for (uint64_t r = 0; r < rows; r++)
			to[r] = ((const int16_t *)data)[r];
		break;
	case 4:
		for (uint64_t r = 0; r < rows; r++)
			to[r] = ((const int32_t *)data)[r];
		break;
	case 8:
		for (uint64_t r = 0; r < rows; r++)
			to[r] = ((const int64_t *)data)[r];
		break;
	default:
		memcpy(to, data, rows * sizeof *to);
		break;
	}
}

static void copy_booleans(uint8_t *to, uint64_t at, const uint8_t *from, uint64_t rows)
{
	for (uint64_t r = 0; r < rows; r++)
		to[(at + r) / 8] |= (uint8_t)((from[r] != 0) << (at + r) % 8);
}

static bool make_values(struct rql_batch *const *batches, uint64_t count, uint32_t c, uint64_t rows,
                        struct made_column *made)
{
	struct rql_type type = batches[0]->columns[c].type;
	bool bits = type.id == RQL_TYPE_BOOLEAN, decimal = type.id == RQL_TYPE_DECIMAL;
	unsigned bytes = decimal ? 16 : rql_type_bytes(type);
	char *values = buffer(bits ? rows / 8 + 1 : rows * bytes);
	uint64_t at = 0;
	made->buffers[1] = values;
	if (!values)
		return false;
	if (bits)
		memset(values, 0, rows / 8 + 1);
	for (uint64_t i = 0; i < count; at += batches[i++]->rows) {
		const struct rql_column *column = &batches[i]->columns[c];
		if (bits)
			copy_booleans((uint8_t *)values, at, column->data, batches[i]->rows);
		else if (decimal)
			copy_decimals((rql_int128 *)(void *)values + at, column, batches[i]->rows);
		else if (batches[i]->rows)
			memcpy(values + at * bytes, column->data, batches[i]->rows * bytes);
	}
	return true;
}

/* ---- strings ---- */
static uint64_t total_bytes(struct rql_batch *const *batches, uint64_t count, uint32_t c)
{
	uint64_t bytes = 0;
	for (uint64_t i = 0; i < count; i++) {
		const struct rql_column *column = &batches[i]->columns[c];
		const struct rql_string *strings = column->data;
		for (uint64_t r = 0; r < batches[i]->rows; r++)
			bytes += rql_column_valid(column, r) ? strings[r].length : 0;
	}
	return bytes;
}

/* Short ones are copied whole, with the bytes behind them, which the next one overwrites: the buffer has room for
 * that. */
static char *copy_strings(char *text, const char *begin, int32_t *ends, const struct rql_column *column, uint64_t rows)
{
	const struct rql_string *strings = column->data;
	for (uint64_t r = 0; r < rows; r++) {
		const struct rql_string *s = &strings[r];
		if (rql_column_valid(column, r)) {
			if (s->length <= RQL_STRING_INLINE)
				memcpy(text, s->inlined, RQL_STRING_INLINE);
			else
				memcpy(text, s->pointer.data, s->length);
			text += s->length;
		}
		ends[r] = (int32_t)(text - begin);
	}
	return text;
}

static rql_status make_strings(struct rql_batch *const *batches, uint64_t count, uint32_t c, uint64_t rows,
                               struct made_column *made, struct rql_error *err)
{
	uint64_t bytes = total_bytes(batches, count, c), at = 0;
	if (bytes > INT32_MAX)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "an Arrow array cannot have more than 2 GiB of strings");
	int32_t *offsets = buffer((rows + 1) * sizeof *offsets);
	char *begin = buffer(bytes + RQL_STRING_INLINE), *text = begin;
	made->buffers[1] = offsets;
	made->buffers[2] = begin;
	if (!offsets || !begin)
		return rql_error_memory(err, bytes, "an Arrow array");
	offsets[0] = 0;
	for (uint64_t i = 0; i < count; at += batches[i++]->rows)
		text = copy_strings(text, begin, offsets + at + 1, &batches[i]->columns[c], batches[i]->rows);
	return RQL_OK;
}

static rql_status make_column(struct rql_batch *const *batches, uint64_t count, uint32_t c, uint64_t rows,
                              struct ArrowArray *out, struct rql_error *err)
{
	rql_type_id type = batches[0]->columns[c].type.id;
	bool strings = type == RQL_TYPE_VARCHAR || type == RQL_TYPE_BLOB, ok = true;
	struct made_column *made = calloc(1, sizeof *made);
	if (!made)
		return rql_error_memory(err, sizeof *made, "an Arrow array");
	*out = (struct ArrowArray){.length = (int64_t)rows,
	                           .n_buffers = strings ? 3 : 2,
	                           .buffers = made->buffers,
	                           .release = release_column,
	                           .private_data = made};
	made->buffers[0] = validity_of(batches, count, c, rows, &out->null_count, &ok);
	if (!ok)
		return rql_error_memory(err, rows / 8, "an Arrow array");
	if (strings)
		return make_strings(batches, count, c, rows, made, err);
	return make_values(batches, count, c, rows, made) ? RQL_OK : rql_error_memory(err, rows * 8, "an Arrow array");
}

/* ---- all columns ---- */
struct made_array {
	const void *buffers[1];
	struct ArrowArray **pointers;
	struct ArrowArray children[];
};

static void release_array(struct ArrowArray *array)
{
	struct made_array *made = array->private_data;
	for (int64_t c = 0; c < array->n_children; c++)
		if (made->children[c].release) /* a reader may have taken it */
			made->children[c].release(&made->children[c]);
	free(made->pointers);
	free(made);
	array->release = NULL;
}

rql_status rql_arrow_array(struct rql_batch *const *batches, uint64_t count, struct ArrowArray *out,
                           struct rql_error *err)
{
	uint32_t columns = batches[0]->column_count;
	uint64_t rows = 0;
	for (uint64_t i = 0; i < count; i++)
		rows += batches[i]->rows;
	struct made_array *made = calloc(1, sizeof *made + columns * sizeof made->children[0]);
	struct ArrowArray **pointers = calloc(columns + 1, sizeof *pointers);
	if (!made || !pointers) {
		free(made);
		free(pointers);
		return rql_error_memory(err, columns * sizeof made->children[0], "an Arrow array");
	}
	made->pointers = pointers;
	struct ArrowArray array = {.length = (int64_t)rows,
	                           .n_buffers = 1,
	                           .n_children = columns,
	                           .buffers = made->buffers,
	                           .children = pointers,
	                           .release = release_array,
	                           .private_data = made};
	rql_status status = RQL_OK;
	for (uint32_t c = 0; c < columns; c++)
		pointers[c] = &made->children[c];
	for (uint32_t c = 0; c < columns && status == RQL_OK; c++)
		status = make_column(batches, count, c, rows, pointers[c], err);
	if (status == RQL_OK)
		*out = array;
	else
		release_array(&array);
	return status;
}

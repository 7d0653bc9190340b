#include "plan/distinct.h"

#include <stdlib.h>

#define FIRST_CAPACITY 256u
#define AHEAD 16u /* rows between the prefetch of a place and its use */

struct rql_distinct {
	uint32_t column_count, count, capacity; /* rows, and room for them */
	struct rql_column *columns;             /* validity is there always */
	uint64_t *hashes;                       /* [capacity] */
	uint32_t *places;                       /* number + 1; 0: free. Twice the capacity, a power of two */
	struct rql_arena *strings;
};

static rql_status out_of_memory(struct rql_error *err)
{
	return rql_error_memory(err, 0, "the distinct values of a dimension");
}

void rql_distinct_free(struct rql_distinct *d)
{
	if (!d)
		return;
	for (uint32_t c = 0; c < d->column_count && d->columns; c++) {
		free(d->columns[c].data);
		free(d->columns[c].validity);
	}
	free(d->columns);
	free(d->hashes);
	free(d->places);
	rql_arena_free(d->strings);
	free(d);
}

static void put_place(struct rql_distinct *d, uint32_t number)
{
	uint64_t mask = 2 * (uint64_t)d->capacity - 1, at = d->hashes[number] & mask;
	while (d->places[at])
		at = (at + 1) & mask;
	d->places[at] = number + 1;
}

static bool grow(struct rql_distinct *d)
{
	uint32_t capacity = d->capacity ? 2 * d->capacity : FIRST_CAPACITY;
	void *p = realloc(d->hashes, capacity * sizeof(uint64_t));
	if (!p)
		return false;
	d->hashes = p;
	for (uint32_t c = 0; c < d->column_count; c++) {
		struct rql_column *column = &d->columns[c];
		if (!(p = realloc(column->data, (size_t)capacity * rql_type_bytes(column->type))))
			return false;
		column->data = p;
		if (!(p = realloc(column->validity, capacity / 8)))
			return false;
		column->validity = p;
	}
	free(d->places);
	if (!(d->places = calloc(2 * (size_t)capacity, sizeof(uint32_t))))
		return false;
	d->capacity = capacity;
	for (uint32_t i = 0; i < d->count; i++)
		put_place(d, i);
	return true;
}

rql_status rql_distinct_new(const struct rql_type *types, uint32_t count, struct rql_distinct **out,
                            struct rql_error *err)
{
	for (uint32_t c = 0; c < count; c++)
		if (!rql_type_bytes(types[c]) || types[c].id == RQL_TYPE_INTERVAL)
			return rql_error_set(err, RQL_ERROR_UNSUPPORTED,
			                     "a dimension's column has the type %s, which RayQL does not hold",
			                     rql_type_id_name(types[c].id));
	struct rql_distinct *d = calloc(1, sizeof *d);
	if (!d)
		return out_of_memory(err);
	d->column_count = count;
	d->columns = calloc(count + 1u, sizeof *d->columns);
	d->strings = rql_arena_new();
	for (uint32_t c = 0; c < count && d->columns; c++)
		d->columns[c].type = types[c];
	if (!d->columns || !d->strings || !grow(d)) {
		rql_distinct_free(d);
		return out_of_memory(err);
	}
	*out = d;
	return RQL_OK;
}

/* ---- hashing ---- */

static uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0xff51afd7ed558ccdu;
	return hash ^ hash >> 32;
}

static uint64_t hash_bytes(uint64_t hash, const char *data, uint32_t length)
{
	hash = mix(hash, length);
	while (length) {
		uint64_t word = 0;
		uint32_t n = length < 8 ? length : 8;
		memcpy(&word, data, n);
		hash = mix(hash, word);
		data += n;
		length -= n;
	}
	return hash;
}

static bool is_string(struct rql_type type)
{
	return type.id == RQL_TYPE_VARCHAR || type.id == RQL_TYPE_BLOB;
}

static uint64_t hash_value(uint64_t hash, const struct rql_column *column, uint64_t row, unsigned bytes)
{
	uint64_t words[2] = {0, 0};
	const char *at = (const char *)column->data + row * bytes;
	if (!rql_column_valid(column, row))
		return mix(hash, 0x9e3779b97f4a7c15u);
	if (is_string(column->type)) {
		const struct rql_string *s = (const struct rql_string *)(const void *)at;
		return hash_bytes(hash, rql_string_data(s), s->length);
	}
	memcpy(words, at, bytes);
	hash = mix(hash, words[0]);
	return bytes > 8 ? mix(hash, words[1]) : hash;
}

/* ---- rows ---- */

static bool same_value(const struct rql_column *a, uint64_t row_a, const struct rql_column *b, uint64_t row_b)
{
	bool valid = rql_column_valid(a, row_a);
	unsigned bytes = rql_type_bytes(a->type);
	const char *x = (const char *)a->data + row_a * bytes, *y = (const char *)b->data + row_b * bytes;
	if (valid != rql_column_valid(b, row_b))
		return false;
	if (!valid)
		return true;
	if (!is_string(a->type))
		return memcmp(x, y, bytes) == 0;
	const struct rql_string *s = (const struct rql_string *)(const void *)x;
	const struct rql_string *t = (const struct rql_string *)(const void *)y;
	return s->length == t->length && memcmp(rql_string_data(s), rql_string_data(t), s->length) == 0;
}

static bool same_row(const struct rql_distinct *d, uint32_t number, const struct rql_column *columns, uint64_t row)
{
	for (uint32_t c = 0; c < d->column_count; c++)
		if (!same_value(&d->columns[c], number, &columns[c], row))
			return false;
	return true;
}

static bool put_value(struct rql_distinct *d, uint32_t c, const struct rql_column *from, uint64_t row)
{
	struct rql_column *column = &d->columns[c];
	unsigned bytes = rql_type_bytes(column->type);
	char *to = (char *)column->data + (size_t)d->count * bytes;
	uint64_t bit = UINT64_C(1) << (d->count & 63);
	memset(to, 0, bytes);
	column->validity[d->count >> 6] &= ~bit;
	if (!rql_column_valid(from, row))
		return true;
	column->validity[d->count >> 6] |= bit;
	memcpy(to, (const char *)from->data + row * bytes, bytes);
	struct rql_string *s = (struct rql_string *)(void *)to;
	if (is_string(column->type) && s->length > RQL_STRING_INLINE) {
		s->pointer.data = rql_arena_strndup(d->strings, s->pointer.data, s->length);
		return s->pointer.data != NULL;
	}
	return true;
}

static rql_status add_row(struct rql_distinct *d, const struct rql_column *columns, uint64_t row, uint64_t hash,
                          struct rql_error *err)
{
	if (d->count == INT32_MAX)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "a dimension has more than 2^31 different rows");
	if (d->count == d->capacity && !grow(d))
		return out_of_memory(err);
	for (uint32_t c = 0; c < d->column_count; c++)
		if (!put_value(d, c, &columns[c], row))
			return out_of_memory(err);
	d->hashes[d->count] = hash;
	put_place(d, d->count++);
	return RQL_OK;
}

static uint64_t hash_row(const struct rql_distinct *d, const struct rql_column *columns, uint64_t row)
{
	uint64_t hash = 0;
	for (uint32_t c = 0; c < d->column_count; c++)
		hash = hash_value(hash, &columns[c], row, rql_type_bytes(columns[c].type));
	return hash ^ hash >> 29;
}

/* A table of many rows lies in memory: places are asked for some rows ahead. */
rql_status rql_distinct_add(struct rql_distinct *d, const struct rql_column *columns, uint64_t rows, int32_t *numbers,
                            struct rql_error *err)
{
	uint64_t hashes[AHEAD] = {0};
	for (uint64_t r = 0; r < rows + AHEAD; r++) {
		uint64_t mask = 2 * (uint64_t)d->capacity - 1, hash = hashes[r % AHEAD];
		if (r < rows) {
			hashes[r % AHEAD] = hash_row(d, columns, r);
			__builtin_prefetch(&d->places[hashes[r % AHEAD] & mask]);
		}
		if (r < AHEAD)
			continue;
		uint64_t at = hash & mask, row = r - AHEAD;
		while (d->places[at] && (d->hashes[d->places[at] - 1] != hash || !same_row(d, d->places[at] - 1, columns, row)))
			at = (at + 1) & mask;
		if (d->places[at]) {
			numbers[row] = (int32_t)(d->places[at] - 1);
			continue;
		}
		numbers[row] = (int32_t)d->count;
		RQL_TRY(add_row(d, columns, row, hash, err));
	}
	return RQL_OK;
}

uint32_t rql_distinct_count(const struct rql_distinct *d)
{
	return d->count;
}

/* ---- the result ---- */

rql_status rql_distinct_columns(const struct rql_distinct *d, struct rql_arena *arena, struct rql_column **out,
                                struct rql_error *err)
{
	struct rql_column *columns = RQL_NEW_ARRAY(arena, struct rql_column, d->column_count);
	for (uint32_t c = 0; c < d->column_count && columns; c++)
		if (!rql_column_copy(arena, &d->columns[c], d->count, &columns[c]))
			return out_of_memory(err);
	if (!columns)
		return out_of_memory(err);
	*out = columns;
	return RQL_OK;
}

/* Numbers for distinct rows: a hash table with open addressing.
 *
 * Floor of a row that is new: its values and its hash written, and a line of the table that no cache holds read and
 * written. Of a million doubles that differ, that is 65 ns a row more than to number them unseen. */
#include "bind/star/distinct.h"

#include <stdlib.h>

#define FIRST_CAPACITY 256u
#define MANY (1u << 16) /* rows: a table of more grows by more at a time, since each row moves */
#define CHUNK 256u /* rows that are hashed together */
#define TRIED MANY /* rows after which a relaxed table decides */
#define NULL_WORD UINT64_C(0x9e3779b97f4a7c15)

/* Most rows that are not the one looked for are told apart by the tag, without a look at them. */
struct place {
	uint32_t number; /* + 1; 0: free */
	uint32_t tag;    /* upper half of the hash */
};

struct rql_distinct {
	uint32_t column_count, count, capacity; /* rows, and room for them */
	struct rql_column *columns;             /* validity is there always */
	uint64_t *hashes;                       /* [capacity] */
	struct place *places;                   /* twice the capacity, a power of two */
	struct rql_arena *strings;
	uint64_t added; /* rows, as long as they are looked for */
	bool relaxed, repeats;
};

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
	while (d->places[at].number)
		at = (at + 1) & mask;
	d->places[at] = (struct place){number + 1, (uint32_t)(d->hashes[number] >> 32)};
}

static bool grow(struct rql_distinct *d)
{
	uint32_t capacity = !d->capacity ? FIRST_CAPACITY : (d->capacity < MANY || d->capacity > UINT32_MAX / 8 ? 2 : 4) * d->capacity;
	void *p;
	for (uint32_t c = 0; c < d->column_count; c++) {
		struct rql_column *column = &d->columns[c];
		if (!(p = realloc(column->data, (size_t)capacity * rql_type_bytes(column->type))))
			return false;
		column->data = p;
		if (!(p = realloc(column->validity, capacity / 8)))
			return false;
		column->validity = p;
	}
	if (d->repeats) {
		d->capacity = capacity;
		return true;
	}
	if (!(p = realloc(d->hashes, capacity * sizeof(uint64_t))))
		return false;
	d->hashes = p;
	free(d->places);
	if (!(d->places = calloc(2 * (size_t)capacity, sizeof *d->places)))
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
		return rql_error_memory(err, 0, "the distinct values of a dimension");
	d->column_count = count;
	d->columns = calloc(count + 1u, sizeof *d->columns);
	d->strings = rql_arena_new();
	for (uint32_t c = 0; c < count && d->columns; c++)
		d->columns[c].type = types[c];
	if (!d->columns || !d->strings || !grow(d)) {
		rql_distinct_free(d);
		return rql_error_memory(err, 0, "the distinct values of a dimension");
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

/* The copy has a known size in each case, which the compiler makes one instruction of. */
static inline void copy_value(void *to, const void *from, unsigned bytes)
{
	switch (bytes) {
	case 1:
		memcpy(to, from, 1);
		break;
	case 2:
		memcpy(to, from, 2);
		break;
	case 4:
		memcpy(to, from, 4);
		break;
	case 8:
		memcpy(to, from, 8);
		break;
	default:
		memcpy(to, from, 16);
	}
}

static void hash_strings(const struct rql_column *column, uint64_t first, uint32_t n, uint64_t *hashes)
{
	const struct rql_string *s = (const struct rql_string *)column->data + first;
	for (uint32_t i = 0; i < n; i++)
		hashes[i] = rql_column_valid(column, first + i) ? hash_bytes(hashes[i], rql_string_data(&s[i]), s[i].length)
		                                                : mix(hashes[i], NULL_WORD);
}

static inline void hash_words(const struct rql_column *column, uint64_t first, uint32_t n, unsigned bytes,
                              uint64_t *hashes)
{
	const char *at = (const char *)column->data + first * bytes;
	for (uint32_t i = 0; i < n; i++, at += bytes) {
		uint64_t words[2] = {NULL_WORD, 0};
		if (rql_column_valid(column, first + i)) {
			words[0] = 0;
			copy_value(words, at, bytes);
		}
		hashes[i] = mix(hashes[i], words[0]);
		if (bytes == 16)
			hashes[i] = mix(hashes[i], words[1]);
	}
}

/* Rows [first, first + n) of all columns, one column after the other. */
static void hash_rows(const struct rql_distinct *d, const struct rql_column *columns, uint64_t first, uint32_t n,
                      uint64_t *hashes)
{
	memset(hashes, 0, n * sizeof *hashes);
	for (uint32_t c = 0; c < d->column_count; c++) {
		if (is_string(columns[c].type))
			hash_strings(&columns[c], first, n, hashes);
		else if (rql_type_bytes(columns[c].type) == 8)
			hash_words(&columns[c], first, n, 8, hashes);
		else if (rql_type_bytes(columns[c].type) == 4)
			hash_words(&columns[c], first, n, 4, hashes);
		else
			hash_words(&columns[c], first, n, rql_type_bytes(columns[c].type), hashes);
	}
	for (uint32_t i = 0; i < n; i++)
		hashes[i] ^= hashes[i] >> 29;
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
	if (!is_string(a->type)) {
		uint64_t left[2] = {0, 0}, right[2] = {0, 0};
		copy_value(left, x, bytes);
		copy_value(right, y, bytes);
		return left[0] == right[0] && left[1] == right[1];
	}
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
	rql_bit_clear(column->validity, d->count);
	if (!rql_column_valid(from, row)) {
		memset(to, 0, bytes);
		return true;
	}
	rql_bit_set(column->validity, d->count);
	copy_value(to, (const char *)from->data + row * bytes, bytes);
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
		return rql_error_memory(err, 0, "the distinct values of a dimension");
	for (uint32_t c = 0; c < d->column_count; c++)
		if (!put_value(d, c, &columns[c], row))
			return rql_error_memory(err, 0, "the distinct values of a dimension");
	if (!d->repeats) {
		d->hashes[d->count] = hash;
		put_place(d, d->count);
	}
	d->count++;
	return RQL_OK;
}

/* The place of a row, or the free one where it belongs. */
static uint64_t find(const struct rql_distinct *d, const struct rql_column *columns, uint64_t row, uint64_t hash)
{
	uint64_t mask = 2 * (uint64_t)d->capacity - 1, at = hash & mask;
	while (d->places[at].number &&
	       (d->places[at].tag != (uint32_t)(hash >> 32) || !same_row(d, d->places[at].number - 1, columns, row)))
		at = (at + 1) & mask;
	return at;
}

void rql_distinct_relax(struct rql_distinct *d)
{
	d->relaxed = true;
}

bool rql_distinct_repeats(const struct rql_distinct *d)
{
	return d->repeats;
}

/* Whether rows are still looked for. */
static bool looks(struct rql_distinct *d)
{
	if (d->relaxed && !d->repeats && d->added >= TRIED && d->count >= d->added - d->added / 8) {
		d->repeats = true;
		free(d->hashes);
		free(d->places);
		d->hashes = NULL;
		d->places = NULL;
	}
	return !d->repeats;
}

static rql_status number_all(struct rql_distinct *d, const struct rql_column *columns, uint64_t first, uint64_t rows,
                             int32_t *numbers, struct rql_error *err)
{
	for (uint64_t r = first; r < rows; r++) {
		numbers[r] = (int32_t)d->count;
		RQL_TRY(add_row(d, columns, r, 0, err));
	}
	return RQL_OK;
}

/* A table of many rows lies in memory: the places of a chunk are asked for at once. */
rql_status rql_distinct_add(struct rql_distinct *d, const struct rql_column *columns, uint64_t rows, int32_t *numbers,
                            struct rql_error *err)
{
	uint64_t hashes[CHUNK];
	for (uint64_t first = 0; first < rows; first += CHUNK) {
		uint32_t n = rows - first < CHUNK ? (uint32_t)(rows - first) : CHUNK;
		if (!looks(d))
			return number_all(d, columns, first, rows, numbers, err);
		d->added += n;
		hash_rows(d, columns, first, n, hashes);
		for (uint32_t i = 0; i < n; i++)
			__builtin_prefetch(&d->places[hashes[i] & (2 * (uint64_t)d->capacity - 1)]);
		for (uint32_t i = 0; i < n; i++) {
			uint32_t number = d->places[find(d, columns, first + i, hashes[i])].number;
			numbers[first + i] = (int32_t)(number ? number - 1 : d->count);
			if (!number)
				RQL_TRY(add_row(d, columns, first + i, hashes[i], err));
		}
	}
	return RQL_OK;
}

rql_status rql_distinct_most_differ(struct rql_distinct *d, const struct rql_column *columns, uint64_t rows, bool *out,
                                    struct rql_error *err)
{
	*out = false;
	if (rows <= TRIED || !d->relaxed)
		return RQL_OK;
	int32_t *numbers = malloc(TRIED * sizeof *numbers);
	rql_status status = numbers ? rql_distinct_add(d, columns, TRIED, numbers, err)
	                            : rql_error_memory(err, 0, "the distinct values of a dimension");
	free(numbers);
	*out = status == RQL_OK && !looks(d);
	return status;
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
			return rql_error_memory(err, 0, "the distinct values of a dimension");
	if (!columns)
		return rql_error_memory(err, 0, "the distinct values of a dimension");
	*out = columns;
	return RQL_OK;
}

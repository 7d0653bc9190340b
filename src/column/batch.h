/* Columns of values, in the physical layout of DuckDB's flat vectors, so that data crosses the host
 * boundary without conversion in either direction. */
#ifndef RQL_COLUMN_BATCH_H
#define RQL_COLUMN_BATCH_H

#include "column/value/type.h"
#include "util/bits.h"
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* A string of up to 12 bytes is stored inline, a longer one by pointer with its first 4 bytes beside
 * (T. Neumann, M. Freitag: Umbra, CIDR 2020, section 3.1; DuckDB's duckdb_string_t is the same). */
struct rql_string {
	union {
		struct {
			uint32_t length;
			char inlined[12];
		};
		struct {
			uint32_t length; /* the same one */
			char prefix[4];
			const char *data;
		} pointer;
	};
};
_Static_assert(sizeof(struct rql_string) == 16, "the host's string layout");

#define RQL_STRING_INLINE 12u

static inline const char *rql_string_data(const struct rql_string *s)
{
	return s->length <= RQL_STRING_INLINE ? s->inlined : s->pointer.data;
}
/* The bytes behind a string longer than 12 are borrowed: they must outlive it. */
static inline struct rql_string rql_string_make(const char *data, uint32_t length)
{
	struct rql_string s = {.length = length};
	if (length <= RQL_STRING_INLINE) {
		memcpy(s.inlined, data, length);
	} else {
		memcpy(s.pointer.prefix, data, 4);
		s.pointer.data = data;
	}
	return s;
}

struct rql_interval {
	int32_t months, days;
	int64_t micros;
};

struct rql_column {
	struct rql_type type;
	void *data;         /* rows values of rql_type_bytes(type); OTHER: the host's own handle, or NULL (not readable) */
	uint64_t *validity; /* bit r set: row r is not NULL; NULL: no NULLs. (rows + 63) / 64 words */
};

static inline bool rql_column_valid(const struct rql_column *column, uint64_t row)
{
	return rql_bit_valid(column->validity, row);
}

/* A copy whose data, strings and type lie in arena. false: out of memory. */
struct rql_arena;
bool rql_column_copy(struct rql_arena *arena, const struct rql_column *column, uint64_t rows, struct rql_column *out);

struct rql_batch {
	uint64_t rows;
	uint32_t column_count;
	struct rql_column *columns;
	/* Frees everything behind the batch and the batch itself; NULL for a borrowed one. */
	void (*release)(struct rql_batch *batch);
	void *owner; /* release's private state (a host chunk, an arena) */
};

static inline void rql_batch_release(struct rql_batch *batch)
{
	if (batch && batch->release)
		batch->release(batch);
}

/* A new batch with room for rows values per column, all valid, zeroed, in an arena of its own that
 * release frees. columns[i].validity is NULL until rql_batch_set_null. The types' infos are borrowed: they must outlive
 * the batch. NULL: out of memory. */
struct rql_batch *rql_batch_new(uint32_t column_count, const struct rql_type *types, uint64_t rows);
/* Only for batches of rql_batch_new. false: out of memory. */
bool rql_batch_set_null(struct rql_batch *batch, uint32_t column, uint64_t row);
/* Copies length bytes into the batch's arena (when too long to inline) and stores the string. */
bool rql_batch_set_string(struct rql_batch *batch, uint32_t column, uint64_t row, const char *data, uint32_t length);

#endif

/* The SQL types of the host, as values. One line of RQL_TYPES is a type: enum, DuckDB's name (as the
 * plan JSON and typeof() spell it), bytes of one value in a column (0: opaque to RayQL). */
#ifndef RQL_COLUMN_TYPE_H
#define RQL_COLUMN_TYPE_H

#include <stdbool.h>
#include <stdint.h>
#include "util/arena.h"
#include "util/strbuf.h"

#define RQL_TYPES(X)                                                                                                   \
	X(INVALID, "INVALID", 0)                                                                                           \
	X(BOOLEAN, "BOOLEAN", 1)                                                                                           \
	X(TINYINT, "TINYINT", 1)                                                                                           \
	X(SMALLINT, "SMALLINT", 2)                                                                                         \
	X(INTEGER, "INTEGER", 4)                                                                                           \
	X(BIGINT, "BIGINT", 8)                                                                                             \
	X(HUGEINT, "HUGEINT", 16)                                                                                          \
	X(UTINYINT, "UTINYINT", 1)                                                                                         \
	X(USMALLINT, "USMALLINT", 2)                                                                                       \
	X(UINTEGER, "UINTEGER", 4)                                                                                         \
	X(UBIGINT, "UBIGINT", 8)                                                                                           \
	X(UHUGEINT, "UHUGEINT", 16)                                                                                        \
	X(FLOAT, "FLOAT", 4)                                                                                               \
	X(DOUBLE, "DOUBLE", 8)                                                                                             \
	X(DECIMAL, "DECIMAL", 16)               /* bytes by width: 2 (<=4), 4 (<=9), 8 (<=18), 16 (<=38) */               \
	X(VARCHAR, "VARCHAR", 16)               /* struct rql_string */                                                    \
	X(BLOB, "BLOB", 16)                     /* struct rql_string */                                                    \
	X(DATE, "DATE", 4)                      /* int32 days since 1970-01-01; +-infinity are INT32_MAX, -INT32_MAX */   \
	X(TIME, "TIME", 8)                      /* int64 microseconds */                                                   \
	X(TIMESTAMP, "TIMESTAMP", 8)            /* int64 microseconds since 1970 */                                        \
	X(TIMESTAMP_S, "TIMESTAMP_S", 8)                                                                                   \
	X(TIMESTAMP_MS, "TIMESTAMP_MS", 8)                                                                                 \
	X(TIMESTAMP_NS, "TIMESTAMP_NS", 8)                                                                                 \
	X(TIMESTAMP_TZ, "TIMESTAMP WITH TIME ZONE", 8)                                                                     \
	X(INTERVAL, "INTERVAL", 16)             /* int32 months, int32 days, int64 micros */                               \
	X(UUID, "UUID", 16)                     /* int128, top bit flipped, as DuckDB stores it */                         \
	X(ENUM, "ENUM", 4)                      /* bytes by member count: 1 (<=255), 2 (<=65535), 4; info->names */        \
	X(SQLNULL, "NULL", 4)                   /* the type of a bare NULL; every value is NULL */                          \
	X(OTHER, "", 0)                         /* nested and rare types: only the host can read them; info->text */

typedef enum rql_type_id {
#define X(id, name, bytes) RQL_TYPE_##id,
	RQL_TYPES(X)
#undef X
	    RQL_TYPE_COUNT
} rql_type_id;

/* Details of ENUM and OTHER types; immutable, owned by whoever made it (an arena, a structure). */
struct rql_type_info {
	const char *text;         /* the type in SQL: ENUM('a', 'b'), INTEGER[], ...; never NULL */
	uint32_t name_count;      /* ENUM: members, in their order */
	const char *const *names; /* ENUM: UTF-8, NUL-terminated */
};

struct rql_type {
	rql_type_id id;
	uint8_t width, scale; /* DECIMAL */
	const struct rql_type_info *info; /* ENUM and OTHER, else NULL */
};

static inline struct rql_type rql_type_simple(rql_type_id id)
{
	return (struct rql_type){.id = id};
}

const char *rql_type_id_name(rql_type_id id);
/* Bytes of one value in a column of the type; 0 for INVALID and OTHER. */
unsigned rql_type_bytes(struct rql_type type);
bool rql_type_equal(struct rql_type a, struct rql_type b);
/* Appends the type as SQL: DECIMAL(12,2), ENUM('a', 'b'), ... */
void rql_type_print(struct rql_strbuf *out, struct rql_type type);
/* The same in the arena; NULL: out of memory. */
const char *rql_type_text(struct rql_arena *arena, struct rql_type type);
/* Integers of every width, DECIMAL, BOOLEAN, DATE, TIME, TIMESTAMP*, ENUM: a value is an (u)int of rql_type_bytes. */
bool rql_type_is_integral(struct rql_type type);
/* TINYINT..UHUGEINT */
bool rql_type_is_integer(struct rql_type type);
bool rql_type_is_signed(struct rql_type type); /* of the integral ones */
bool rql_type_is_real(struct rql_type type);   /* FLOAT, DOUBLE */
/* Both are integers, and `to` has more bytes and every value of `from`. */
bool rql_type_widens(struct rql_type from, struct rql_type to);
/* A deep copy whose info lives in arena; an INVALID type when out of memory. */
struct rql_type rql_type_copy(struct rql_arena *arena, struct rql_type type);

#endif

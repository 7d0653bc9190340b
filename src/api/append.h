/* What an appender holds: rows that are not in their table yet. Private to src/api. */
#ifndef RQL_API_APPEND_H
#define RQL_API_APPEND_H

#include "api/api_internal.h"

/* Values of one column. A bit of `validity` is set where the row has one. */
struct rql_append_column {
	const char *name;      /* in the appender's arena, as the type */
	const char *type_text; /* as typeof() writes it */
	struct rql_type type;
	struct rql_column values; /* of the column's own type; data NULL where all values come as text */
	struct rql_column texts;  /* that DuckDB is to cast when they are inserted; data NULL until there is one */
	uint64_t *defaults;       /* bit set: DEFAULT; NULL until there is one */
};

struct rayql_appender {
	rayql_connection *connection;
	struct rql_arena *arena;  /* names and types */
	const char *table;        /* qualified, in SQL */
	struct rql_arena *bytes;  /* of long strings; emptied with the rows */
	struct rql_append_column *columns;
	uint32_t count, at; /* columns; the next value's, in the row that is being written */
	uint64_t rows, room;
	bool any_default;
	bool stuck;           /* a flush failed */
	struct rql_error row; /* why the row that is being written cannot be taken; OK: nothing */
};

/* Stores the next value of the row. On failure the row is lost, and app->row says why. */
rql_status rql_append_value(rayql_appender *app, const struct rql_value *value);
rql_status rql_append_default(rayql_appender *app);
/* Forgets the values of one row, or of all. */
void rql_append_drop_row(rayql_appender *app);
void rql_append_drop_all(rayql_appender *app);
/* Inserts rows [0, app->rows), all or none. */
rql_status rql_append_insert(rayql_appender *app, struct rql_error *err) RQL_MUST_CHECK;
void rql_append_columns_free(rayql_appender *app);

#endif

/* The table functions of generated data: their arguments, and which rows each thread makes. */
#include "gen/gen.h"

#include <stdatomic.h>
#include <stdlib.h>
#include "gen/groupby.h"
#include "gen/hits.h"
#include "gen/ssb.h"

/* A thread takes this many rows at a time, about a row group of DuckDB, so that threads write runs of neighbours. */
#define RANGE_ROWS (RQL_SSB_CHUNK * 60u)
#define MAX_THREADS 256u

struct worker {
	struct rql_ssb_scratch *scratch; /* made on the worker's first call; rayql_ssb only */
	uint64_t next, end;              /* what is left of the worker's range */
};

/* A table that can be made; its description is a copy of one of these. */
union table {
	struct rql_ssb ssb;
	struct rql_hits hits;
	struct rql_groupby groupby;
};

struct scan {
	union table table;
	uint64_t end;                /* of the rows asked for */
	_Atomic uint64_t next_range; /* the first row that no worker has taken */
	unsigned worker_count;
	struct worker workers[];
};

static void scan_free(void *state)
{
	struct scan *scan = state;
	if (!scan)
		return;
	for (unsigned i = 0; i < scan->worker_count; i++)
		rql_ssb_scratch_free(scan->workers[i].scratch);
	free(scan);
}

/* ---- binding ---- */

/* The part of the table to make: at_first: the argument that is the first row, with the count after it; 0: all. */
static rql_status bind_part(struct rql_host_tf_bind *bind, const char *usage, uint32_t at_first, uint64_t rows,
                            uint64_t *from, uint64_t *end, struct rql_error *err)
{
	*from = 0;
	*end = rows;
	if (!at_first)
		return RQL_OK;
	struct rql_value first = rql_host_tf_argument(bind, at_first);
	struct rql_value count = rql_host_tf_argument(bind, at_first + 1);
	if (first.is_null || count.is_null || first.integer < 0 || count.integer < 0)
		return rql_error_set(err, RQL_ERROR_STATEMENT, "%s: first and count must be 0 or more", usage);
	*from = (uint64_t)first.integer < rows ? (uint64_t)first.integer : rows;
	uint64_t most = rows - *from;
	*end = *from + ((uint64_t)count.integer < most ? (uint64_t)count.integer : most);
	return RQL_OK;
}

/* Columns, rows and threads of the bound table; *state receives the scan. */
static rql_status bind_scan(struct rql_host_tf_bind *bind, const union table *table,
                            const struct rql_gen_column *column, uint32_t columns, uint64_t from, uint64_t end,
                            void **state, struct rql_error *err)
{
	for (uint32_t i = 0; i < columns; i++)
		RQL_TRY(rql_host_tf_column(bind, column[i].name, rql_type_simple(column[i].type)));
	uint64_t ranges = (end - from + RANGE_ROWS - 1) / RANGE_ROWS;
	unsigned threads = ranges < MAX_THREADS ? (unsigned)ranges : MAX_THREADS;
	threads = threads ? threads : 1;
	size_t bytes = sizeof(struct scan) + threads * sizeof(struct worker);
	struct scan *scan = calloc(1, bytes);
	if (!scan)
		return rql_error_memory(err, bytes, "a generated table");
	scan->table = *table;
	scan->next_range = from;
	scan->end = end;
	scan->worker_count = threads;
	rql_host_tf_rows(bind, end - from);
	rql_host_tf_threads(bind, threads);
	*state = scan;
	return RQL_OK;
}

static rql_status bind_ssb(struct rql_host_tf_bind *bind, uint32_t at_first, void **state, struct rql_error *err)
{
	struct rql_value name = rql_host_tf_argument(bind, 0);
	struct rql_value scale = rql_host_tf_argument(bind, 1);
	struct rql_value seed = rql_host_tf_argument(bind, 2);
	if (name.is_null || scale.is_null || seed.is_null)
		return rql_error_set(
			err, RQL_ERROR_STATEMENT,
			"rayql_ssb(table, scale, seed): no argument may be NULL, as in rayql_ssb('lineorder', 1, 42)");
	char text[32];
	size_t length = name.string.length < sizeof text - 1 ? name.string.length : sizeof text - 1;
	memcpy(text, name.string.data, length);
	text[length] = '\0';
	union table table;
	uint64_t from, end;
	uint32_t columns;
	RQL_TRY(rql_ssb_init(&table.ssb, text, scale.real, (int64_t)seed.integer, err));
	RQL_TRY(bind_part(bind, "rayql_ssb_rows(table, scale, seed, first, count)", at_first, table.ssb.rows, &from, &end,
	                  err));
	const struct rql_gen_column *column = rql_ssb_columns(table.ssb.table, &columns);
	return bind_scan(bind, &table, column, columns, from, end, state, err);
}

static rql_status ssb_bind(struct rql_host_tf_bind *bind, void *extra, void **state, struct rql_error *err)
{
	(void)extra;
	return bind_ssb(bind, 0, state, err);
}

static rql_status ssb_rows_bind(struct rql_host_tf_bind *bind, void *extra, void **state, struct rql_error *err)
{
	(void)extra;
	return bind_ssb(bind, 3, state, err);
}

/* The first `count` arguments as whole numbers of 0 or more, the last of them (the seed) any. */
static rql_status bind_numbers(struct rql_host_tf_bind *bind, const char *usage, uint32_t count, int64_t *out,
                               struct rql_error *err)
{
	for (uint32_t i = 0; i < count; i++) {
		struct rql_value value = rql_host_tf_argument(bind, i);
		if (value.is_null || (value.integer < 0 && i + 1 < count))
			return rql_error_set(err, RQL_ERROR_STATEMENT, "%s: argument %u must be a whole number, 0 or more", usage,
			                     i + 1);
		out[i] = (int64_t)value.integer;
	}
	return RQL_OK;
}

static rql_status hits_bind(struct rql_host_tf_bind *bind, void *extra, void **state, struct rql_error *err)
{
	static const char usage[] = "rayql_hits_rows(rows, seed, first, count)";
	union table table;
	int64_t argument[2] = {0};
	uint64_t from, end;
	uint32_t columns;
	(void)extra;
	RQL_TRY(bind_numbers(bind, usage, 2, argument, err));
	RQL_TRY(rql_hits_init(&table.hits, (uint64_t)argument[0], argument[1], err));
	RQL_TRY(bind_part(bind, usage, 2, table.hits.rows, &from, &end, err));
	const struct rql_gen_column *column = rql_hits_columns(&columns);
	return bind_scan(bind, &table, column, columns, from, end, state, err);
}

static rql_status groupby_bind(struct rql_host_tf_bind *bind, void *extra, void **state, struct rql_error *err)
{
	static const char usage[] = "rayql_groupby_rows(rows, groups, seed, first, count)";
	union table table;
	int64_t argument[3] = {0};
	uint64_t from, end;
	uint32_t columns;
	(void)extra;
	RQL_TRY(bind_numbers(bind, usage, 3, argument, err));
	RQL_TRY(rql_groupby_init(&table.groupby, (uint64_t)argument[0], (uint64_t)argument[1], argument[2], err));
	RQL_TRY(bind_part(bind, usage, 3, table.groupby.rows, &from, &end, err));
	const struct rql_gen_column *column = rql_groupby_columns(&columns);
	return bind_scan(bind, &table, column, columns, from, end, state, err);
}

/* ---- filling ---- */

/* The rows that this thread makes next: [*first, *first + *count), at most capacity; *count 0 at the end. */
static rql_status next_rows(struct scan *scan, unsigned thread, uint64_t capacity, uint64_t *first, uint32_t *count,
                            struct rql_error *err)
{
	if (thread >= scan->worker_count)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "a generated table: thread %u of %u", thread, scan->worker_count);
	struct worker *worker = &scan->workers[thread];
	*count = 0;
	if (worker->next == worker->end) {
		uint64_t start = atomic_fetch_add(&scan->next_range, RANGE_ROWS);
		if (start >= scan->end)
			return RQL_OK;
		worker->next = start;
		worker->end = start + RANGE_ROWS < scan->end ? start + RANGE_ROWS : scan->end;
	}
	uint64_t n = worker->end - worker->next;
	n = n < capacity ? n : capacity;
	n = n < RQL_SSB_CHUNK ? n : RQL_SSB_CHUNK;
	*first = worker->next;
	*count = (uint32_t)n;
	worker->next += n;
	return RQL_OK;
}

static rql_status ssb_fill(void *state, unsigned thread, struct rql_batch *out, uint64_t capacity,
                           struct rql_error *err)
{
	struct scan *scan = state;
	uint64_t first = 0;
	uint32_t count = 0;
	RQL_TRY(next_rows(scan, thread, capacity, &first, &count, err));
	struct worker *worker = &scan->workers[thread];
	if (!worker->scratch && !(worker->scratch = rql_ssb_scratch_new()))
		return rql_error_memory(err, 1 << 19, "rayql_ssb");
	out->rows = 0;
	if (count)
		rql_ssb_fill(&scan->table.ssb, first, count, out, worker->scratch, rql_host_tf_string);
	return RQL_OK;
}

static rql_status hits_fill(void *state, unsigned thread, struct rql_batch *out, uint64_t capacity,
                            struct rql_error *err)
{
	struct scan *scan = state;
	uint64_t first = 0;
	uint32_t count = 0;
	RQL_TRY(next_rows(scan, thread, capacity, &first, &count, err));
	out->rows = 0;
	if (count)
		rql_hits_fill(&scan->table.hits, first, count, out, rql_host_tf_string);
	return RQL_OK;
}

static rql_status groupby_fill(void *state, unsigned thread, struct rql_batch *out, uint64_t capacity,
                               struct rql_error *err)
{
	struct scan *scan = state;
	uint64_t first = 0;
	uint32_t count = 0;
	RQL_TRY(next_rows(scan, thread, capacity, &first, &count, err));
	out->rows = 0;
	if (count)
		rql_groupby_fill(&scan->table.groupby, first, count, out, rql_host_tf_string);
	return RQL_OK;
}

rql_status rql_gen_register(struct rql_host_con *con, struct rql_error *err)
{
	static const rql_type_id ssb[] = {RQL_TYPE_VARCHAR, RQL_TYPE_DOUBLE, RQL_TYPE_BIGINT, RQL_TYPE_BIGINT,
	                                  RQL_TYPE_BIGINT};
	static const rql_type_id numbers[] = {RQL_TYPE_BIGINT, RQL_TYPE_BIGINT, RQL_TYPE_BIGINT, RQL_TYPE_BIGINT,
	                                      RQL_TYPE_BIGINT};
	static const struct rql_host_table_function functions[] = {
		{"rayql_ssb", 3, ssb, ssb_bind, ssb_fill, scan_free, NULL},
		{"rayql_ssb_rows", 5, ssb, ssb_rows_bind, ssb_fill, scan_free, NULL},
		{"rayql_hits_rows", 4, numbers, hits_bind, hits_fill, scan_free, NULL},
		{"rayql_groupby_rows", 5, numbers, groupby_bind, groupby_fill, scan_free, NULL},
	};
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
		RQL_TRY(rql_host_register(con, &functions[i], err));
	return RQL_OK;
}

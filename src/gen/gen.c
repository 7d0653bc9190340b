#include "gen/gen.h"

#include <stdatomic.h>
#include <stdlib.h>
#include "gen/ssb.h"

/* A thread takes this many rows at a time, about a row group of DuckDB, so that threads write runs of neighbours. */
#define RANGE_ROWS (RQL_SSB_CHUNK * 60u)
#define MAX_THREADS 256u

struct worker {
	struct rql_ssb_scratch *scratch; /* made on the worker's first call */
	uint64_t next, end;              /* what is left of the worker's range */
};

struct scan {
	struct rql_ssb ssb;
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

/* Arguments 3 and 4 of rayql_ssb_rows: the first row and how many; both are cut to the table. */
static rql_status bind_rows(struct rql_host_tf_bind *bind, struct scan *scan, struct rql_error *err)
{
	struct rql_value first = rql_host_tf_argument(bind, 3);
	struct rql_value count = rql_host_tf_argument(bind, 4);
	if (first.is_null || count.is_null || first.integer < 0 || count.integer < 0)
		return rql_error_set(err, RQL_ERROR_STATEMENT,
		                     "rayql_ssb_rows(table, scale, seed, first, count): first and count must be 0 or more");
	uint64_t rows = scan->ssb.rows;
	uint64_t from = (uint64_t)first.integer < rows ? (uint64_t)first.integer : rows;
	uint64_t most = rows - from;
	scan->next_range = from;
	scan->end = from + ((uint64_t)count.integer < most ? (uint64_t)count.integer : most);
	return RQL_OK;
}

static rql_status bind_table(struct rql_host_tf_bind *bind, struct rql_ssb *out, struct rql_error *err)
{
	struct rql_value name = rql_host_tf_argument(bind, 0);
	struct rql_value scale = rql_host_tf_argument(bind, 1);
	struct rql_value seed = rql_host_tf_argument(bind, 2);
	if (name.is_null || scale.is_null || seed.is_null)
		return rql_error_set(
			err, RQL_ERROR_STATEMENT,
			"rayql_ssb(table, scale, seed): no argument may be NULL, as in rayql_ssb('lineorder', 1, 42)");
	char table[32];
	size_t length = name.string.length < sizeof table - 1 ? name.string.length : sizeof table - 1;
	memcpy(table, name.string.data, length);
	table[length] = '\0';
	return rql_ssb_init(out, table, scale.real, (int64_t)seed.integer, err);
}

static rql_status bind_scan(struct rql_host_tf_bind *bind, bool part, void **state, struct rql_error *err)
{
	struct rql_ssb ssb;
	RQL_TRY(bind_table(bind, &ssb, err));
	uint32_t columns;
	const struct rql_ssb_column *column = rql_ssb_columns(ssb.table, &columns);
	for (uint32_t i = 0; i < columns; i++)
		RQL_TRY(rql_host_tf_column(bind, column[i].name, rql_type_simple(column[i].type)));
	uint64_t ranges = (ssb.rows + RANGE_ROWS - 1) / RANGE_ROWS;
	unsigned threads = ranges < MAX_THREADS ? (unsigned)ranges : MAX_THREADS;
	size_t bytes = sizeof(struct scan) + threads * sizeof(struct worker);
	struct scan *scan = calloc(1, bytes);
	if (!scan)
		return rql_error_memory(err, bytes, "rayql_ssb");
	scan->ssb = ssb;
	scan->end = ssb.rows;
	scan->worker_count = threads;
	if (part) {
		rql_status status = bind_rows(bind, scan, err);
		if (status != RQL_OK) {
			scan_free(scan);
			return status;
		}
	}
	rql_host_tf_rows(bind, scan->end - scan->next_range);
	rql_host_tf_threads(bind, threads);
	*state = scan;
	return RQL_OK;
}

static rql_status ssb_bind(struct rql_host_tf_bind *bind, void *extra, void **state, struct rql_error *err)
{
	(void)extra;
	return bind_scan(bind, false, state, err);
}

static rql_status ssb_rows_bind(struct rql_host_tf_bind *bind, void *extra, void **state, struct rql_error *err)
{
	(void)extra;
	return bind_scan(bind, true, state, err);
}

static rql_status ssb_fill(void *state, unsigned thread, struct rql_batch *out, uint64_t capacity,
                           struct rql_error *err)
{
	struct scan *scan = state;
	if (thread >= scan->worker_count)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "rayql_ssb: thread %u of %u", thread, scan->worker_count);
	struct worker *worker = &scan->workers[thread];
	if (!worker->scratch && !(worker->scratch = rql_ssb_scratch_new()))
		return rql_error_memory(err, 1 << 19, "rayql_ssb");
	if (worker->next == worker->end) {
		uint64_t first = atomic_fetch_add(&scan->next_range, RANGE_ROWS);
		uint64_t end = first + RANGE_ROWS < scan->end ? first + RANGE_ROWS : scan->end;
		out->rows = 0;
		if (first >= scan->end)
			return RQL_OK;
		worker->next = first;
		worker->end = end;
	}
	uint64_t count = worker->end - worker->next;
	count = count < capacity ? count : capacity;
	count = count < RQL_SSB_CHUNK ? count : RQL_SSB_CHUNK;
	rql_ssb_fill(&scan->ssb, worker->next, (uint32_t)count, out, worker->scratch, rql_host_tf_string);
	worker->next += count;
	return RQL_OK;
}

rql_status rql_gen_register(struct rql_host_con *con, struct rql_error *err)
{
	static const rql_type_id parameters[] = {RQL_TYPE_VARCHAR, RQL_TYPE_DOUBLE, RQL_TYPE_BIGINT, RQL_TYPE_BIGINT,
		RQL_TYPE_BIGINT};
	struct rql_host_table_function function = {
		.name = "rayql_ssb",
		.parameter_count = 3,
		.parameters = parameters,
		.bind = ssb_bind,
		.fill = ssb_fill,
		.free_state = scan_free,
	};
	RQL_TRY(rql_host_register(con, &function, err));
	function.name = "rayql_ssb_rows";
	function.parameter_count = 5;
	function.bind = ssb_rows_bind;
	return rql_host_register(con, &function, err);
}

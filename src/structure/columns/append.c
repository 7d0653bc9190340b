/* The rows that were added to a table since its columns were read, and those that changed (changes.c).
 *
 * They are told apart by DuckDB's rowids, which grow while rows are only added. A checkpoint may move rows to lower
 * rowids where others were deleted before; rows never move up. So when as many rows lie at or below the greatest
 * rowid of the last read as were read then, these are the very rows, and all others are new. That is checked in the
 * transaction that reads the new ones. So is their order, which becomes the store's: DuckDB delivers rows by ascending
 * rowids unless preserve_insertion_order is off, so sorting them would be work for nothing. */
#include "structure/columns/columns.h"

#include "structure/structure_internal.h"
#include <stdlib.h>
#include <string.h>

#define SLICE_ROWS (128u << 10)    /* appended at once: what is copied beside DuckDB's own chunks */
#define APPEND_ALWAYS (256u << 10) /* rows that are appended to a table of any size */
#define APPEND_SHARE 10u           /* a larger part of the table is read faster by a build, on all threads */

/* ---- rows of several chunks as one batch; the chunks keep what long strings point to ---- */
struct slice {
	struct rql_batch *rows; /* with room for its `rows` */
	uint64_t filled;
	struct rql_batch *chunks[SLICE_ROWS / 2048 * 2 + 2];
	uint32_t chunk_count;
};
#define SLICE_CHUNKS (sizeof((struct slice *)0)->chunks / sizeof(struct rql_batch *))

static void slice_clear(struct slice *slice)
{
	for (uint32_t i = 0; i < slice->chunk_count; i++)
		rql_batch_release(slice->chunks[i]);
	rql_batch_release(slice->rows);
	slice->rows = NULL;
	slice->filled = 0;
	slice->chunk_count = 0;
}

static rql_status slice_start(struct slice *slice, const struct rql_store_snapshot *snapshot, uint64_t left,
                              struct rql_error *err)
{
	struct rql_type *types = calloc(snapshot->column_count + 1, sizeof *types);
	for (uint32_t c = 0; types && c < snapshot->column_count; c++)
		types[c] = snapshot->columns[c].type;
	slice->rows = types ? rql_batch_new(snapshot->column_count, types, left < SLICE_ROWS ? left : SLICE_ROWS) : NULL;
	free(types);
	return slice->rows ? RQL_OK : rql_error_memory(err, 0, "appended rows");
}

/* Rows [first, first + count) of the chunk. */
static rql_status slice_add(struct slice *slice, const struct rql_batch *chunk, uint64_t first, uint64_t count,
                            struct rql_error *err)
{
	struct rql_batch *to = slice->rows;
	for (uint32_t c = 0; c < to->column_count; c++) {
		const struct rql_column *from = &chunk->columns[c];
		size_t width = rql_type_bytes(to->columns[c].type);
		memcpy((char *)to->columns[c].data + slice->filled * width, (const char *)from->data + first * width,
		       count * width);
		for (uint64_t r = 0; from->validity && r < count; r++)
			if (!rql_column_valid(from, first + r) && !rql_batch_set_null(to, c, slice->filled + r))
				return rql_error_memory(err, 0, "appended rows");
	}
	slice->filled += count;
	return RQL_OK;
}

static rql_status slice_flush(struct slice *slice, struct rql_store *store, struct rql_error *err)
{
	struct rql_batch rows = *slice->rows; /* borrowed */
	rows.rows = slice->filled;
	rows.release = NULL;
	rql_status status = rql_store_append(store, &rows, err);
	slice_clear(slice);
	return status;
}

/* ---- reading ---- */
struct append {
	struct rql_build_context *ctx;
	struct rql_structure *s;
	struct rql_host_con *con;
	int64_t greatest_rowid, last_rowid; /* of the table; of what was taken */
	uint64_t found, taken;
	struct rql_columns_changed changed;
	bool same, disordered;
	struct slice slice;
};

static void put_where(struct rql_strbuf *sql, const struct append *a)
{
	rql_strbuf_put(sql, " FROM ");
	rql_columns_put_table(sql, a->s);
	rql_strbuf_printf(sql, " WHERE rowid > %lld", (long long)a->s->greatest_rowid);
}

/* Are the rows that are there those that were read, and how many are new? */
static rql_status look(struct append *a, bool *same, struct rql_error *err)
{
	struct rql_strbuf sql = {0};
	int64_t total = 0, numbers[2] = {0};
	rql_strbuf_put(&sql, "SELECT system.main.count(*) FROM ");
	rql_columns_put_table(&sql, a->s);
	rql_status status = rql_columns_count(a->con, rql_strbuf_sql(&sql), 1, &total, err);
	rql_strbuf_clear(&sql);
	rql_strbuf_printf(&sql, "SELECT system.main.count(*), coalesce(system.main.max(rowid), %lld)",
	                  (long long)a->s->greatest_rowid);
	put_where(&sql, a);
	if (status == RQL_OK)
		status = rql_columns_count(a->con, rql_strbuf_sql(&sql), 2, numbers, err);
	rql_strbuf_free(&sql);
	RQL_TRY(status);
	a->found = (uint64_t)numbers[0];
	a->greatest_rowid = numbers[1];
	*same = (uint64_t)total == a->s->snapshot->rows - a->changed.gone_below + a->found &&
	        (a->found <= APPEND_ALWAYS || a->found <= (uint64_t)total / APPEND_SHARE);
	return RQL_OK;
}

/* Chunks have one more column than the store. */
static bool in_order(struct append *a, const struct rql_batch *chunk)
{
	const int64_t *rowids = chunk->columns[chunk->column_count - 1].data;
	bool ascending = true;
	for (uint64_t r = 0; r < chunk->rows; r++) {
		ascending = ascending && rowids[r] > a->last_rowid;
		a->last_rowid = rowids[r];
	}
	return ascending;
}

/* Takes the chunk over. */
static rql_status take_chunk(struct append *a, struct rql_batch *chunk, struct rql_error *err)
{
	struct slice *slice = &a->slice;
	uint64_t rows = chunk->rows;
	if (rows > a->found - a->taken) {
		rql_batch_release(chunk);
		return rql_error_set(err, RQL_ERROR_INTERNAL, "%s: more rows than were counted", a->s->name);
	}
	for (uint64_t first = 0, count; first < rows; first += count) {
		if (!slice->rows) {
			rql_status status = slice_start(slice, a->s->snapshot, a->found - a->taken, err);
			if (status != RQL_OK) {
				rql_batch_release(chunk);
				return status;
			}
		}
		uint64_t room = slice->rows->rows - slice->filled;
		count = rows - first < room ? rows - first : room;
		rql_status status = slice_add(slice, chunk, first, count, err);
		a->taken += count;
		if (status == RQL_OK && first + count < rows)
			status = slice_flush(slice, a->s->store, err);
		if (status != RQL_OK) {
			rql_batch_release(chunk);
			return status;
		}
	}
	slice->chunks[slice->chunk_count++] = chunk;
	if (slice->filled == slice->rows->rows || slice->chunk_count == SLICE_CHUNKS)
		return slice_flush(slice, a->s->store, err);
	return RQL_OK;
}

static rql_status read_rows(struct append *a, struct rql_error *err)
{
	struct rql_host_stmt *stmt = NULL;
	struct rql_host_result *res = NULL;
	struct rql_batch *chunk = NULL;
	struct rql_strbuf sql = {0};
	rql_strbuf_put(&sql, "SELECT ");
	for (uint32_t c = 0; c < a->s->snapshot->column_count; c++) {
		rql_strbuf_put_ident(&sql, a->s->snapshot->columns[c].name);
		rql_strbuf_put(&sql, ", ");
	}
	rql_strbuf_put(&sql, "rowid");
	put_where(&sql, a);
	rql_status status = rql_host_prepare(a->con, rql_strbuf_sql(&sql), &stmt, err);
	if (status == RQL_OK)
		status = rql_host_execute(stmt, true, &res, err);
	while (status == RQL_OK && !a->disordered && (status = rql_host_fetch(res, &chunk, err)) == RQL_OK && chunk) {
		status = atomic_load(&a->ctx->progress->cancel) ? rql_interrupted(err) : RQL_OK;
		a->disordered = !in_order(a, chunk);
		if (status == RQL_OK && !a->disordered)
			status = take_chunk(a, chunk, err);
		else
			rql_batch_release(chunk);
		atomic_store(&a->ctx->progress->rows, a->taken);
	}
	if (status == RQL_OK && a->slice.rows && !a->disordered)
		status = slice_flush(&a->slice, a->s->store, err);
	if (status == RQL_OK && a->taken != a->found && !a->disordered)
		status = rql_error_set(err, RQL_ERROR_INTERNAL, "%s: fewer rows than were counted", a->s->name);
	slice_clear(&a->slice);
	rql_host_result_free(res);
	rql_host_stmt_free(stmt);
	rql_strbuf_free(&sql);
	return status;
}

/* All of it in one transaction, so of one state of the table. */
static rql_status read_added(void *state, struct rql_host_con *con, struct rql_error *err)
{
	struct append *a = state;
	a->con = con;
	RQL_TRY(rql_host_query(con, "BEGIN TRANSACTION", NULL, err));
	rql_status status = look(a, &a->same, err);
	rql_build_show(a->ctx, "reading added rows", a->found);
	if (status == RQL_OK && a->same)
		status = rql_columns_changed_check(a->s, con, &a->changed, &a->same, err);
	if (status == RQL_OK && a->same)
		status = rql_columns_changed_apply(a->s, con, &a->changed, &a->same, err);
	if (status == RQL_OK && a->same)
		status = read_rows(a, err);
	a->same = a->same && !a->disordered;
	(void)rql_host_query(con, "ROLLBACK", NULL, NULL); /* it has read only */
	return status;
}

/* Is the store's present state what the structure holds? Not after an append that failed half-way. */
static bool is_present(const struct rql_structure *s)
{
	const struct rql_store_snapshot *present = rql_store_snapshot(s->store);
	bool same = present == s->snapshot;
	rql_store_snapshot_release(present);
	return same;
}

static void take_over(struct append *a, uint64_t start)
{
	struct rql_structure *s = a->s;
	struct rql_strbuf note = {0};
	/* What the build left out stays to be read. */
	if (s->note && strncmp(s->note, RQL_COLUMNS_LEFT_OUT, sizeof RQL_COLUMNS_LEFT_OUT - 1) == 0)
		rql_strbuf_printf(&note, "%.*s; ", (int)strcspn(s->note, ";"), s->note);
	rql_store_snapshot_release(s->snapshot);
	s->snapshot = rql_store_snapshot(s->store);
	s->greatest_rowid = a->greatest_rowid;
	const uint64_t gaps = a->changed.gap_count;
	if (gaps && a->changed.gaps[gaps - 1] > s->greatest_rowid) /* added and gone again */
		s->greatest_rowid = a->changed.gaps[gaps - 1];
	rql_structure_set_gaps(s, a->changed.gaps, a->changed.gap_count);
	a->changed.gaps = NULL;
	s->side_file_valid = false;
	rql_side_replaced(&a->ctx->structures->side, s->side_file);
	(void)rql_structure_set_text(&s->side_file, NULL); /* it is written again when the database is closed */
	const double ms = (double)(rql_now_ns() - start) / 1e6;
	const uint64_t gone = a->changed.gone_below, renewed = a->changed.renewed_below;
	if (gone || renewed)
		rql_strbuf_printf(&note, "%llu deleted, %llu updated and %llu added rows were taken over in %.1f ms",
		                  (unsigned long long)gone, (unsigned long long)renewed, (unsigned long long)a->found, ms);
	else
		rql_strbuf_printf(&note, "%llu added rows were appended in %.1f ms", (unsigned long long)a->found, ms);
	(void)rql_structure_set_text(&s->note, rql_strbuf_text(&note));
	rql_strbuf_free(&note);
}

rql_status rql_columns_append(struct rql_build_context *ctx, struct rql_structure *s, bool *done, struct rql_error *err)
{
	struct append *a = calloc(1, sizeof *a);
	struct rql_host_con *con = NULL;
	uint64_t since = s->versions[0], start = rql_now_ns();
	*done = false;
	if (!a)
		return rql_error_memory(err, sizeof *a, "appended rows");
	*a = (struct append){.ctx = ctx, .s = s, .last_rowid = s->greatest_rowid};
	rql_status status = rql_build_note_versions(ctx, s, err);
	if (status != RQL_OK || !is_present(s))
		goto done;
	bool known = false;
	status = rql_columns_changed_find(ctx->structures, s, since, &a->changed, &known, err);
	if (status != RQL_OK || !known)
		goto done;
	status = rql_host_connect_own(ctx->structures->host, &con, err);
	if (status == RQL_OK)
		status = rql_build_on(ctx, con, read_added, a, err);
	*done = status == RQL_OK && a->same;
	if (*done)
		take_over(a, start);
	/* A build gives up the old contents first, so it may find the room that this did not. */
	if (status == RQL_ERROR_LIMIT) {
		rql_error_clear(err);
		status = RQL_OK;
	}
done:
	rql_columns_changed_clear(&a->changed);
	free(a);
	return status;
}

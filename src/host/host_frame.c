/* Frames: rows that come in as an Arrow C stream, and `rayql_arrow(N)`, which reads them in any statement. DuckDB turns the
 * arrays into its vectors, by reference where the layouts agree. A frame that is kept can be read as often as wanted; one
 * that is not is read once, array by array, so that a load of any size needs the memory of a few arrays. */
#include "host/host_internal.h"

#include "rayql/arrow.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Rows that a thread takes at a time: DuckDB's row group has twice as many. */
#define PIECE_ROWS 61440u

struct rql_host_frame {
	struct rql_host_frame *next; /* lent ones; guarded by rql_host_db.registry */
	atomic_uint references;
	struct rql_host_db *db;
	uint64_t number;
	bool keep;
	pthread_mutex_t lock; /* guards what follows, but for schema, types, names and columns */
	duckdb_connection con; /* for conversions alone: those of a connection lock it */
	struct ArrowArrayStream stream;
	struct ArrowSchema schema;
	duckdb_arrow_converted_schema converted;
	uint32_t columns;
	char **names;
	duckdb_logical_type *types;
	duckdb_data_chunk *chunks;
	uint64_t chunk_count, chunk_room, rows;
	bool started; /* one that is not kept is being read */
};

void rql_host_frame_release(struct rql_host_frame *frame)
{
	if (!frame || atomic_fetch_sub(&frame->references, 1) != 1)
		return;
	for (uint64_t i = 0; i < frame->chunk_count; i++)
		duckdb_destroy_data_chunk(&frame->chunks[i]);
	free(frame->chunks);
	for (uint32_t c = 0; c < frame->columns; c++) {
		free(frame->names[c]);
		if (frame->types[c])
			duckdb_destroy_logical_type(&frame->types[c]);
	}
	free(frame->names);
	free(frame->types);
	if (frame->converted)
		duckdb_destroy_arrow_converted_schema(&frame->converted);
	if (frame->schema.release)
		frame->schema.release(&frame->schema);
	if (frame->stream.release)
		frame->stream.release(&frame->stream);
	if (frame->con)
		duckdb_disconnect(&frame->con);
	pthread_mutex_destroy(&frame->lock);
	free(frame);
}

/* ---- from Arrow ---- */
static rql_status stream_failed(struct rql_host_frame *frame, int code, struct rql_error *err)
{
	const char *said = frame->stream.get_last_error ? frame->stream.get_last_error(&frame->stream) : NULL;
	return rql_error_set(err, code == ENOMEM ? RQL_ERROR_MEMORY : RQL_ERROR_IO, "the Arrow stream failed: %s",
	                     said && *said ? said : strerror(code));
}

/* Takes array over. */
static rql_status convert(struct rql_host_frame *frame, struct ArrowArray *array, duckdb_data_chunk *out,
                          struct rql_error *err)
{
	rql_status status = host_arrow_check(&frame->schema, array, err);
	if (status == RQL_OK && array->offset) /* DuckDB reads the columns from their own beginnings */
		status = rql_error_set(err, RQL_ERROR_UNSUPPORTED, "a record batch has an offset, which its columns should have");
	if (status == RQL_OK)
		status = host_error_data(duckdb_data_chunk_from_arrow(frame->con, array, frame->converted, out),
		                         RQL_ERROR_UNSUPPORTED, "DuckDB cannot read the Arrow array", err);
	if (array->release)
		array->release(array);
	return status;
}

/* The next array of the stream; *out NULL at the end. With the lock held. */
static rql_status pull(struct rql_host_frame *frame, duckdb_data_chunk *out, struct rql_error *err)
{
	struct ArrowArray array;
	*out = NULL;
	if (!frame->stream.release)
		return RQL_OK;
	memset(&array, 0, sizeof array);
	int code = frame->stream.get_next(&frame->stream, &array);
	if (code != 0)
		return stream_failed(frame, code, err);
	if (array.release) {
		RQL_TRY(convert(frame, &array, out, err));
		frame->rows += duckdb_data_chunk_get_size(*out);
		return RQL_OK;
	}
	frame->stream.release(&frame->stream);
	frame->stream.release = NULL;
	return RQL_OK;
}

static rql_status keep_chunk(struct rql_host_frame *frame, duckdb_data_chunk chunk, struct rql_error *err)
{
	if (frame->chunk_count == frame->chunk_room) {
		uint64_t room = frame->chunk_room ? 2 * frame->chunk_room : 16;
		duckdb_data_chunk *grown = realloc(frame->chunks, room * sizeof *grown);
		if (!grown) {
			duckdb_destroy_data_chunk(&chunk);
			return rql_error_memory(err, room * sizeof *grown, "a frame");
		}
		frame->chunks = grown;
		frame->chunk_room = room;
	}
	frame->chunks[frame->chunk_count++] = chunk;
	return RQL_OK;
}

static rql_status keep_all(struct rql_host_frame *frame, struct rql_error *err)
{
	for (;;) {
		duckdb_data_chunk chunk;
		RQL_TRY(pull(frame, &chunk, err));
		if (!chunk)
			return RQL_OK;
		RQL_TRY(keep_chunk(frame, chunk, err));
	}
}

/* A name that earlier columns have gets a number, as DuckDB does it with Arrow's tables. */
static char *unique_name(const struct rql_host_frame *frame, uint32_t column, const char *name)
{
	char *text = NULL;
	for (unsigned number = 0;; number++) {
		bool taken = false;
		free(text);
		if ((number ? asprintf(&text, "%s_%u", name, number) : asprintf(&text, "%s", name)) < 0)
			return NULL;
		for (uint32_t c = 0; c < column && !taken; c++)
			taken = strcasecmp(frame->names[c], text) == 0;
		if (!taken)
			return text;
	}
}

/* The columns' types are those of a conversion of no rows. */
static rql_status read_schema(struct rql_host_frame *frame, struct rql_error *err)
{
	int code = frame->stream.get_schema(&frame->stream, &frame->schema);
	if (code != 0)
		return stream_failed(frame, code, err);
	if (!frame->schema.format || strcmp(frame->schema.format, "+s") != 0)
		return rql_error_set(err, RQL_ERROR_MISUSE, "the Arrow stream is no stream of record batches (its format is \"%s\")",
		                     frame->schema.format ? frame->schema.format : "");
	uint32_t count = (uint32_t)frame->schema.n_children;
	frame->names = calloc(count + 1, sizeof *frame->names);
	frame->types = calloc(count + 1, sizeof *frame->types);
	struct ArrowArray empty = {0};
	if (!frame->names || !frame->types)
		return rql_error_memory(err, count * sizeof *frame->names, "a frame");
	if (count == 0)
		return rql_error_set(err, RQL_ERROR_MISUSE, "the Arrow stream has no columns");
	RQL_TRY(host_error_data(duckdb_schema_from_arrow(frame->con, &frame->schema, &frame->converted),
	                        RQL_ERROR_UNSUPPORTED, "DuckDB cannot read the Arrow schema", err));
	if (!host_arrow_empty(&frame->schema, &empty))
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "the Arrow schema has a format that is not known");
	duckdb_data_chunk chunk = NULL;
	RQL_TRY(convert(frame, &empty, &chunk, err));
	bool ok = true;
	for (uint32_t c = 0; c < count && ok; c++) {
		const char *name = frame->schema.children[c]->name;
		frame->types[c] = duckdb_vector_get_column_type(duckdb_data_chunk_get_vector(chunk, c));
		frame->columns = c + 1;
		ok = (frame->names[c] = unique_name(frame, c, name ? name : "")) != NULL;
	}
	duckdb_destroy_data_chunk(&chunk);
	return ok ? RQL_OK : rql_error_memory(err, 0, "a frame's names");
}

rql_status rql_host_frame_new(struct rql_host_con *con, struct ArrowArrayStream *stream, bool keep,
                              struct rql_host_frame **out, struct rql_error *err)
{
	struct rql_host_frame *frame = calloc(1, sizeof *frame);
	struct ArrowArrayStream taken = *stream;
	stream->release = NULL;
	if (!frame) {
		taken.release(&taken);
		return rql_error_memory(err, sizeof *frame, "a frame");
	}
	atomic_store(&frame->references, 1);
	pthread_mutex_init(&frame->lock, NULL);
	frame->db = con->db;
	frame->keep = keep;
	frame->stream = taken;
	rql_status status = RQL_OK;
	if (duckdb_connect(con->db->db, &frame->con) != DuckDBSuccess)
		status = rql_error_set(err, RQL_ERROR_HOST, "DuckDB refused another connection to the database");
	if (status == RQL_OK)
		status = read_schema(frame, err);
	if (status == RQL_OK && keep)
		status = keep_all(frame, err);
	if (status != RQL_OK) {
		rql_host_frame_release(frame);
		return status;
	}
	*out = frame;
	return RQL_OK;
}

uint64_t rql_host_frame_rows(const struct rql_host_frame *frame)
{
	return frame->rows;
}

uint32_t rql_host_frame_columns(const struct rql_host_frame *frame)
{
	return frame->columns;
}

/* ---- lending ---- */
uint64_t rql_host_frame_lend(struct rql_host_frame *frame)
{
	struct rql_host_db *db = frame->db;
	atomic_fetch_add(&frame->references, 1);
	pthread_mutex_lock(&db->registry);
	frame->number = ++db->next_number;
	frame->next = db->frames;
	db->frames = frame;
	pthread_mutex_unlock(&db->registry);
	return frame->number;
}

void rql_host_frame_unlend(struct rql_host_frame *frame)
{
	struct rql_host_db *db = frame->db;
	bool lent = false;
	pthread_mutex_lock(&db->registry);
	for (struct rql_host_frame **at = &db->frames; *at && !lent; at = &(*at)->next) {
		lent = *at == frame;
		if (lent) {
			*at = frame->next;
			break;
		}
	}
	pthread_mutex_unlock(&db->registry);
	if (lent)
		rql_host_frame_release(frame);
}

static struct rql_host_frame *find(struct rql_host_db *db, uint64_t number)
{
	struct rql_host_frame *found = NULL;
	pthread_mutex_lock(&db->registry);
	for (struct rql_host_frame *f = db->frames; f && !found; f = f->next)
		if (f->number == number)
			found = f;
	if (found)
		atomic_fetch_add(&found->references, 1);
	pthread_mutex_unlock(&db->registry);
	return found;
}

/* ---- rayql_arrow(N) ---- */
struct scan {
	struct rql_host_frame *frame;
	uint64_t chunk, row; /* of a kept frame: where the next piece begins; guarded by the frame's lock */
	uint64_t column_count;
	uint64_t columns[];
};

struct piece {
	duckdb_data_chunk chunk;
	bool owned; /* of a frame that is not kept */
	uint64_t at, end;
	duckdb_selection_vector sel;
};

static void scan_free(void *state)
{
	struct scan *scan = state;
	HOST_CROSS();
	rql_host_frame_release(scan->frame);
	free(scan);
}

static void piece_free(void *state)
{
	struct piece *piece = state;
	HOST_CROSS();
	if (piece->owned)
		duckdb_destroy_data_chunk(&piece->chunk);
	if (piece->sel)
		duckdb_destroy_selection_vector(piece->sel);
	free(piece);
}

static void frame_bind(duckdb_bind_info info)
{
	HOST_CROSS();
	duckdb_value argument = duckdb_bind_get_parameter(info, 0);
	uint64_t *number = malloc(sizeof *number);
	if (number)
		*number = argument && !duckdb_is_null_value(argument) ? (uint64_t)duckdb_get_int64(argument) : 0;
	duckdb_destroy_value(&argument);
	struct rql_host_frame *frame = number ? find(duckdb_bind_get_extra_info(info), *number) : NULL;
	if (!frame) {
		free(number);
		duckdb_bind_set_error(info, "rayql_arrow(N) reads Arrow data that was registered: there is none of this number");
		return;
	}
	duckdb_bind_set_bind_data(info, number, free);
	for (uint32_t c = 0; c < frame->columns; c++)
		duckdb_bind_add_result_column(info, frame->names[c], frame->types[c]);
	if (frame->keep)
		duckdb_bind_set_cardinality(info, frame->rows, true);
	rql_host_frame_release(frame);
	HOST_CROSS();
}

static void frame_init(duckdb_init_info info)
{
	HOST_CROSS();
	const uint64_t *number = duckdb_init_get_bind_data(info);
	struct rql_host_frame *frame = find(duckdb_init_get_extra_info(info), *number);
	uint64_t count = duckdb_init_get_column_count(info);
	struct scan *scan = frame ? calloc(1, sizeof *scan + count * sizeof scan->columns[0]) : NULL;
	bool again = false;
	if (scan) {
		pthread_mutex_lock(&frame->lock);
		again = !frame->keep && frame->started;
		frame->started = true;
		pthread_mutex_unlock(&frame->lock);
	}
	if (!scan || again) {
		duckdb_init_set_error(info, again   ? "rayql_arrow: this Arrow stream can be read once only"
		                            : frame ? "rayql_arrow: out of memory"
		                                    : "rayql_arrow: the Arrow data is registered no more");
		rql_host_frame_release(frame);
		free(scan);
		return;
	}
	scan->frame = frame;
	scan->column_count = count;
	for (uint64_t i = 0; i < count; i++)
		scan->columns[i] = duckdb_init_get_column_index(info, i);
	uint64_t pieces = frame->keep ? frame->rows / PIECE_ROWS + 1 : 64;
	duckdb_init_set_max_threads(info, pieces);
	duckdb_init_set_init_data(info, scan, scan_free);
	HOST_CROSS();
}

static void frame_thread_init(duckdb_init_info info)
{
	HOST_CROSS();
	struct piece *piece = calloc(1, sizeof *piece);
	if (piece)
		piece->sel = duckdb_create_selection_vector(duckdb_vector_size());
	if (!piece || !piece->sel) {
		free(piece);
		duckdb_init_set_error(info, "rayql_arrow: out of memory");
		return;
	}
	duckdb_init_set_init_data(info, piece, piece_free);
	HOST_CROSS();
}

/* piece->at == piece->end afterwards: there is nothing left. */
static rql_status next_piece(struct scan *scan, struct piece *piece, struct rql_error *err)
{
	struct rql_host_frame *frame = scan->frame;
	rql_status status = RQL_OK;
	if (piece->owned)
		duckdb_destroy_data_chunk(&piece->chunk);
	piece->owned = false;
	piece->at = piece->end = 0;
	pthread_mutex_lock(&frame->lock);
	while (frame->keep && scan->chunk < frame->chunk_count && piece->at == piece->end) {
		piece->chunk = frame->chunks[scan->chunk];
		uint64_t rows = duckdb_data_chunk_get_size(piece->chunk);
		piece->at = scan->row;
		piece->end = rows - scan->row > PIECE_ROWS ? scan->row + PIECE_ROWS : rows;
		scan->row = piece->end;
		if (scan->row == rows) {
			scan->chunk++;
			scan->row = 0;
		}
	}
	while (!frame->keep && status == RQL_OK && piece->at == piece->end) {
		if (piece->owned)
			duckdb_destroy_data_chunk(&piece->chunk);
		piece->owned = false;
		status = pull(frame, &piece->chunk, err);
		if (status != RQL_OK || !piece->chunk)
			break;
		piece->owned = true;
		piece->end = duckdb_data_chunk_get_size(piece->chunk);
	}
	pthread_mutex_unlock(&frame->lock);
	return status;
}

static void frame_fill(duckdb_function_info info, duckdb_data_chunk output)
{
	HOST_CROSS();
	struct scan *scan = duckdb_function_get_init_data(info);
	struct piece *piece = duckdb_function_get_local_init_data(info);
	struct rql_error err = {0};
	if (piece->at == piece->end && next_piece(scan, piece, &err) != RQL_OK) {
		char *text = host_error_pack(err.status, rql_error_message(&err));
		duckdb_function_set_error(info, text ? text : "rayql_arrow: out of memory");
		free(text);
		rql_error_clear(&err);
		HOST_CROSS();
		return;
	}
	uint64_t rows = piece->end - piece->at, room = duckdb_vector_size();
	rows = rows < room ? rows : room;
	bool whole = piece->chunk && piece->at == 0 && rows == duckdb_data_chunk_get_size(piece->chunk);
	for (uint64_t r = 0; r < rows && !whole; r++)
		duckdb_selection_vector_get_data_ptr(piece->sel)[r] = (sel_t)(piece->at + r);
	for (uint64_t i = 0; i < scan->column_count && rows; i++) {
		if (scan->columns[i] >= scan->frame->columns) /* a row id: nobody reads it */
			continue;
		duckdb_vector to = duckdb_data_chunk_get_vector(output, i);
		duckdb_vector_reference_vector(to, duckdb_data_chunk_get_vector(piece->chunk, scan->columns[i]));
		if (!whole)
			duckdb_slice_vector(to, piece->sel, rows);
	}
	piece->at += rows;
	duckdb_data_chunk_set_size(output, rows);
	HOST_CROSS();
}

rql_status host_frame_register(struct rql_host_db *db, struct rql_error *err)
{
	duckdb_table_function function = duckdb_create_table_function();
	duckdb_logical_type number = duckdb_create_logical_type(DUCKDB_TYPE_BIGINT);
	duckdb_table_function_set_name(function, "rayql_arrow");
	duckdb_table_function_add_parameter(function, number);
	duckdb_table_function_set_extra_info(function, db, NULL);
	duckdb_table_function_set_bind(function, frame_bind);
	duckdb_table_function_set_init(function, frame_init);
	duckdb_table_function_set_local_init(function, frame_thread_init);
	duckdb_table_function_set_function(function, frame_fill);
	duckdb_table_function_supports_projection_pushdown(function, true);
	duckdb_state state = duckdb_register_table_function(db->service, function);
	duckdb_destroy_logical_type(&number);
	duckdb_destroy_table_function(&function);
	if (state != DuckDBSuccess)
		return rql_error_set(err, RQL_ERROR_HOST, "DuckDB refused the table function rayql_arrow");
	return RQL_OK;
}

/* ---- rows as values ---- */
/* Copied into flat vectors: what came from Arrow may be a dictionary or a constant. */
rql_status rql_host_frame_next(struct rql_host_frame *frame, struct rql_batch **out, struct rql_error *err)
{
	duckdb_data_chunk chunk = NULL, flat = NULL;
	struct rql_batch *batch = NULL;
	RQL_TRY(pull(frame, &chunk, err));
	*out = NULL;
	if (!chunk)
		return RQL_OK;
	uint64_t rows = duckdb_data_chunk_get_size(chunk);
	struct host_types *types = host_types_new(frame->columns);
	duckdb_selection_vector sel = duckdb_create_selection_vector(rows + 1);
	bool ok = types && sel && (flat = duckdb_create_data_chunk(frame->types, frame->columns));
	for (uint64_t r = 0; ok && r < rows; r++)
		duckdb_selection_vector_get_data_ptr(sel)[r] = (sel_t)r;
	for (uint32_t c = 0; ok && c < frame->columns; c++) {
		duckdb_vector large = duckdb_create_vector(frame->types[c], rows + 1);
		duckdb_vector_copy_sel(duckdb_data_chunk_get_vector(chunk, c), large, sel, rows, 0, 0);
		duckdb_vector_reference_vector(duckdb_data_chunk_get_vector(flat, c), large);
		duckdb_destroy_vector(&large);
		ok = host_type_in(frame->db, types->arena, frame->types[c], &types->types[c]);
	}
	if (ok) {
		duckdb_data_chunk_set_size(flat, rows);
		batch = host_batch_new(flat, types);
		flat = NULL;
	}
	if (flat)
		duckdb_destroy_data_chunk(&flat);
	if (sel)
		duckdb_destroy_selection_vector(sel);
	host_types_unref(types);
	duckdb_destroy_data_chunk(&chunk);
	*out = batch;
	return batch ? RQL_OK : rql_error_memory(err, rows, "parameters");
}

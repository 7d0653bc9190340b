/* Statements run over the public API: timed, their rows visited, or written as JSON. */
#include "bench/common/client.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/threads.h"

/* Frees the API's error. Its address is taken, since the call that sets it is an argument too. */
static rql_status take_error(rayql_status status, rayql_error **error, struct rql_error *err)
{
	if (status == RAYQL_OK)
		return RQL_OK;
	rql_error_set(err, (rql_status)status, "%s", *error ? rayql_error_message(*error) : rayql_status_name(status));
	rayql_error_free(*error);
	return (rql_status)status;
}

rql_status rql_client_open(const char *path, unsigned threads, rayql_database **db, rayql_connection **con,
                           struct rql_error *err)
{
	rayql_config config = {.size = sizeof config, .threads = threads};
	rayql_database *opened = NULL;
	rayql_error *error = NULL;
	RQL_TRY(take_error(rayql_open(path, &config, &opened, &error), &error, err));
	error = NULL;
	rql_status status = take_error(rayql_connect(opened, con, &error), &error, err);
	if (status != RQL_OK) {
		rayql_close(opened);
		return status;
	}
	*db = opened;
	return RQL_OK;
}

/* ---- one statement's rows, all fetched ---- */

struct rows {
	rayql_result *result;
	rayql_batch **batches;
	uint64_t count, capacity;
};

static void rows_free(struct rows *rows)
{
	for (uint64_t i = 0; i < rows->count; i++)
		rayql_batch_free(rows->batches[i]);
	free(rows->batches);
	rayql_result_free(rows->result);
	*rows = (struct rows){0};
}

static rql_status keep_batch(struct rows *rows, rayql_batch *batch, struct rql_error *err)
{
	if (rows->count == rows->capacity) {
		uint64_t capacity = rows->capacity ? rows->capacity * 2 : 16;
		rayql_batch **grown = realloc(rows->batches, capacity * sizeof *grown);
		if (!grown) {
			rayql_batch_free(batch);
			return rql_error_memory(err, capacity * sizeof *grown, "an answer");
		}
		rows->batches = grown;
		rows->capacity = capacity;
	}
	rows->batches[rows->count++] = batch;
	return RQL_OK;
}

/* *rows is empty on failure. */
static rql_status run(rayql_connection *con, const char *sql, struct rows *rows, struct rql_error *err)
{
	rayql_error *error = NULL;
	*rows = (struct rows){0};
	RQL_TRY(take_error(rayql_query(con, sql, &rows->result, &error), &error, err));
	rql_status status = RQL_OK;
	while (status == RQL_OK) {
		rayql_batch *batch = NULL;
		error = NULL;
		status = take_error(rayql_fetch(rows->result, &batch, &error), &error, err);
		if (status == RQL_OK && !batch)
			return RQL_OK;
		if (status == RQL_OK)
			status = keep_batch(rows, batch, err);
	}
	rows_free(rows);
	return status;
}

/* Calls fn with each row's texts (NULL: a NULL). */
typedef void row_fn(void *state, const rayql_batch *text, uint64_t row);
static rql_status each_row(const struct rows *rows, row_fn *fn, void *state, struct rql_error *err)
{
	for (uint64_t b = 0; b < rows->count; b++) {
		rayql_batch *text = NULL;
		rayql_error *error = NULL;
		RQL_TRY(take_error(rayql_batch_to_text(rows->result, rows->batches[b], &text, &error), &error, err));
		for (uint64_t row = 0; row < rayql_batch_rows(text); row++)
			fn(state, text, row);
		rayql_batch_free(text);
	}
	return RQL_OK;
}

static rql_status run_formatted(rayql_connection *con, struct rows *rows, struct rql_error *err, const char *fmt,
                                va_list args)
{
	char *sql = NULL;
	if (vasprintf(&sql, fmt, args) < 0)
		return rql_error_memory(err, strlen(fmt), "a statement");
	rql_status status = run(con, sql, rows, err);
	free(sql);
	return status;
}

rql_status rql_client_run(rayql_connection *con, struct rql_error *err, const char *fmt, ...)
{
	struct rows rows;
	va_list args;
	va_start(args, fmt);
	rql_status status = run_formatted(con, &rows, err, fmt, args);
	va_end(args);
	if (status == RQL_OK)
		rows_free(&rows);
	return status;
}

/* ---- single values ---- */

struct first {
	bool seen, failed;
	char *text;
};

static void first_row(void *state, const rayql_batch *text, uint64_t row)
{
	struct first *first = state;
	if (first->seen)
		return;
	first->seen = true;
	if (rayql_batch_is_null(text, 0, row))
		return;
	size_t length;
	const char *data = rayql_batch_text(text, 0, row, &length);
	first->text = strndup(data, length);
	first->failed = !first->text;
}

static rql_status first_value(rayql_connection *con, char **out, struct rql_error *err, const char *fmt, va_list args)
{
	struct rows rows;
	struct first first = {0};
	RQL_TRY(run_formatted(con, &rows, err, fmt, args));
	rql_status status = each_row(&rows, first_row, &first, err);
	rows_free(&rows);
	if (status == RQL_OK && first.failed)
		status = rql_error_memory(err, 0, "a value");
	if (status == RQL_OK)
		*out = first.text;
	else
		free(first.text);
	return status;
}

rql_status rql_client_number(rayql_connection *con, double *out, struct rql_error *err, const char *fmt, ...)
{
	char *text = NULL;
	va_list args;
	va_start(args, fmt);
	rql_status status = first_value(con, &text, err, fmt, args);
	va_end(args);
	if (status == RQL_OK)
		*out = text ? strtod(text, NULL) : 0;
	free(text);
	return status;
}

/* ---- whole answers ---- */

struct printer {
	struct rql_strbuf *out;
	const rayql_result *result;
	uint32_t columns;
	uint64_t rows;
};

static void print_row(void *state, const rayql_batch *text, uint64_t row)
{
	struct printer *p = state;
	for (uint32_t c = 0; c < p->columns; c++) {
		size_t length;
		if (rayql_batch_is_null(text, c, row)) {
			rql_strbuf_put(p->out, "\\N");
		} else {
			const char *data = rayql_batch_text(text, c, row, &length);
			rql_strbuf_put_n(p->out, data, length);
		}
		rql_strbuf_putc(p->out, c + 1 < p->columns ? '\t' : '\n');
	}
	p->rows++;
}

rql_status rql_client_time(rayql_connection *con, const char *sql, double *ms, struct rql_strbuf *answer,
                           uint64_t *rows, struct rql_error *err)
{
	struct rows fetched;
	uint64_t start = rql_now_ns();
	RQL_TRY(run(con, sql, &fetched, err));
	uint64_t end = rql_now_ns();
	rql_status status = RQL_OK;
	if (ms)
		*ms = (double)(end - start) / 1e6;
	if (answer) {
		struct printer p = {answer, fetched.result, rayql_column_count(fetched.result), 0};
		for (uint32_t c = 0; c < p.columns; c++)
			rql_strbuf_printf(answer, "%s %s%c", rayql_column_name(fetched.result, c),
			                  rayql_column_type_name(fetched.result, c), c + 1 < p.columns ? '\t' : '\n');
		status = each_row(&fetched, print_row, &p, err);
		if (status == RQL_OK && answer->failed)
			status = rql_error_memory(err, answer->length, "an answer");
	}
	if (rows) {
		*rows = 0;
		for (uint64_t i = 0; i < fetched.count; i++)
			*rows += rayql_batch_rows(fetched.batches[i]);
	}
	rows_free(&fetched);
	return status;
}

struct visitor {
	rql_client_row_fn *row;
	void *state;
	bool failed;
};

static void visit_row(void *state, const rayql_batch *text, uint64_t row)
{
	struct visitor *visitor = state;
	visitor->failed = visitor->failed || !visitor->row(visitor->state, text, row);
}

rql_status rql_client_each(rayql_connection *con, const char *sql, double *ms, rql_client_begin_fn *begin,
                           rql_client_row_fn *row, void *state, struct rql_error *err)
{
	struct rows fetched;
	uint64_t start = rql_now_ns();
	RQL_TRY(run(con, sql, &fetched, err));
	if (ms)
		*ms = (double)(rql_now_ns() - start) / 1e6;
	struct visitor visitor = {.row = row, .state = state, .failed = !begin(state, fetched.result)};
	rql_status status = RQL_OK;
	if (!visitor.failed)
		status = each_row(&fetched, visit_row, &visitor, err);
	rows_free(&fetched);
	if (status == RQL_OK && visitor.failed)
		status = rql_error_memory(err, 0, "an answer");
	return status;
}

rql_status rql_client_batches(rayql_connection *con, const char *sql, rql_client_batch_fn *fn, void *state,
                              struct rql_error *err)
{
	rayql_result *result = NULL;
	rayql_error *error = NULL;
	RQL_TRY(take_error(rayql_query(con, sql, &result, &error), &error, err));
	rql_status status = RQL_OK;
	while (status == RQL_OK) {
		rayql_batch *batch = NULL;
		error = NULL;
		status = take_error(rayql_fetch(result, &batch, &error), &error, err);
		if (status != RQL_OK || !batch)
			break;
		status = fn(state, batch, err);
		rayql_batch_free(batch);
	}
	rayql_result_free(result);
	return status;
}

/* ---- who answers ---- */

struct names {
	char name[32][32];
	uint32_t count;
};

static bool begin_names(void *state, const rayql_result *result)
{
	(void)state, (void)result;
	return true;
}

static bool add_name(void *state, const rayql_batch *text, uint64_t row)
{
	struct names *names = state;
	size_t length;
	const char *data = rayql_batch_text(text, 0, row, &length);
	if (names->count < sizeof names->name / sizeof *names->name)
		snprintf(names->name[names->count++], sizeof names->name[0], "%.*s", (int)length, data);
	return true;
}

rql_status rql_client_methods(rayql_connection *con, bool on, struct rql_error *err)
{
	struct names names = {0};
	RQL_TRY(rql_client_each(con, "SELECT DISTINCT name FROM rayql_methods()", NULL, begin_names, add_name, &names, err));
	for (uint32_t i = 0; i < names.count; i++)
		RQL_TRY(rql_client_run(con, err, "SET rayql_enable_%s = %s", names.name[i], on ? "on" : "off"));
	return RQL_OK;
}

/* ---- JSON ---- */

void rql_json_text_n(struct rql_strbuf *out, const char *text, size_t length)
{
	rql_strbuf_putc(out, '"');
	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)text[i];
		if (c == '"' || c == '\\')
			rql_strbuf_printf(out, "\\%c", c);
		else if (c < 0x20)
			rql_strbuf_printf(out, "\\u%04x", c);
		else
			rql_strbuf_putc(out, (char)c);
	}
	rql_strbuf_putc(out, '"');
}

void rql_json_text(struct rql_strbuf *out, const char *text)
{
	if (text)
		rql_json_text_n(out, text, strlen(text));
	else
		rql_strbuf_put(out, "null");
}

static void json_row(void *state, const rayql_batch *text, uint64_t row)
{
	struct printer *p = state;
	rql_strbuf_put(p->out, p->rows++ ? ", {" : "{");
	for (uint32_t c = 0; c < p->columns; c++) {
		rql_strbuf_put(p->out, c ? ", " : "");
		rql_json_text(p->out, rayql_column_name(p->result, c));
		rql_strbuf_put(p->out, ": ");
		size_t length;
		if (rayql_batch_is_null(text, c, row)) {
			rql_strbuf_put(p->out, "null");
		} else {
			const char *data = rayql_batch_text(text, c, row, &length);
			rql_json_text_n(p->out, data, length);
		}
	}
	rql_strbuf_putc(p->out, '}');
}

rql_status rql_client_json(rayql_connection *con, const char *sql, struct rql_strbuf *out, struct rql_error *err)
{
	struct rows rows;
	RQL_TRY(run(con, sql, &rows, err));
	struct printer p = {out, rows.result, rayql_column_count(rows.result), 0};
	rql_strbuf_putc(out, '[');
	rql_status status = each_row(&rows, json_row, &p, err);
	rql_strbuf_putc(out, ']');
	rows_free(&rows);
	return status;
}

/* The json and jsonlines modes. */
#include <stdlib.h>
#include <string.h>

#include "render.h"

void rql_sh_json_string(struct rql_strbuf *out, const char *text, size_t length)
{
	static const char named[] = "\b\f\n\r\t", letters[] = "bfnrt";
	rql_strbuf_putc(out, '"');
	for (size_t i = 0, done = 0; i <= length; i++) {
		unsigned char c = i < length ? (unsigned char)text[i] : 0;
		if (i < length && c > 0x1f && c != '"' && c != '\\')
			continue;
		rql_strbuf_put_n(out, text + done, i - done);
		done = i + 1;
		if (i == length)
			break;
		const char *name = c ? strchr(named, c) : NULL;
		if (name)
			rql_strbuf_printf(out, "\\%c", letters[name - named]);
		else if (c > 0x1f)
			rql_strbuf_printf(out, "\\%c", c);
		else
			rql_strbuf_printf(out, "\\u%04x", c);
	}
	rql_strbuf_putc(out, '"');
}

struct json {
	struct rql_strbuf line, *keys; /* keys: each column's name as JSON */
};

static rayql_status json_begin(struct rql_sh_render *r)
{
	struct json *json = r->state;
	json->keys = calloc(r->column_count ? r->column_count : 1, sizeof(*json->keys));
	if (!json->keys)
		return RAYQL_ERROR_MEMORY;
	for (uint32_t c = 0; c < r->column_count; c++) {
		rql_sh_json_string(&json->keys[c], r->columns[c].name, strlen(r->columns[c].name));
		rql_strbuf_putc(&json->keys[c], ':');
		if (json->keys[c].failed)
			return RAYQL_ERROR_MEMORY;
	}
	return RAYQL_OK;
}

/* Numbers that readers would round to a double are strings, by their type, so that a column is of one kind. */
static bool is_number(const struct rql_sh_column *column)
{
	return column->numeric && column->type != RAYQL_TYPE_UBIGINT && column->type != RAYQL_TYPE_HUGEINT &&
	       column->type != RAYQL_TYPE_UHUGEINT && column->type != RAYQL_TYPE_DECIMAL;
}

static void put_value(struct rql_strbuf *out, const struct rql_sh_column *column, const char *text, size_t length)
{
	if (!text)
		rql_strbuf_put(out, "null");
	else if (column->json || is_number(column) || column->type == RAYQL_TYPE_BOOLEAN)
		rql_strbuf_put_n(out, text, length);
	else
		rql_sh_json_string(out, text, length);
}

static rayql_status put_objects(struct rql_sh_render *r, rayql_batch *batch, bool array)
{
	struct json *json = r->state;
	uint64_t rows = rayql_batch_rows(batch);
	for (uint64_t row = 0; row < rows; row++) {
		rql_strbuf_clear(&json->line);
		if (r->rows + row)
			rql_strbuf_put(&json->line, array ? ",\n" : "\n");
		rql_strbuf_putc(&json->line, '{');
		for (uint32_t c = 0; c < r->column_count; c++) {
			size_t length;
			const char *text = rql_sh_cell(batch, c, row, &length);
			if (c)
				rql_strbuf_putc(&json->line, ',');
			rql_strbuf_put_n(&json->line, json->keys[c].data, json->keys[c].length);
			put_value(&json->line, &r->columns[c], text, length);
		}
		rql_strbuf_putc(&json->line, '}');
		if (json->line.failed)
			return RAYQL_ERROR_MEMORY;
		rql_sh_put(r, json->line.data, json->line.length);
	}
	return RAYQL_OK;
}

static rayql_status array_begin(struct rql_sh_render *r)
{
	putc('[', r->out);
	return json_begin(r);
}

static rayql_status array_batch(struct rql_sh_render *r, rayql_batch *batch)
{
	return put_objects(r, batch, true);
}

static rayql_status array_end(struct rql_sh_render *r)
{
	fputs("]\n", r->out);
	return RAYQL_OK;
}

static rayql_status lines_batch(struct rql_sh_render *r, rayql_batch *batch)
{
	return put_objects(r, batch, false);
}

static rayql_status lines_end(struct rql_sh_render *r)
{
	putc('\n', r->out);
	return RAYQL_OK;
}

static void json_release(struct rql_sh_render *r)
{
	struct json *json = r->state;
	for (uint32_t c = 0; json->keys && c < r->column_count; c++)
		rql_strbuf_free(&json->keys[c]);
	free(json->keys);
	rql_strbuf_free(&json->line);
}

const struct rql_sh_mode rql_sh_mode_json = {.name = "json", .help = "Results in a JSON array",
	.state_size = sizeof(struct json), .json = true, .null_value = "null", .begin = array_begin, .batch = array_batch,
	.end = array_end, .release = json_release};
const struct rql_sh_mode rql_sh_mode_jsonlines = {.name = "jsonlines", .help = "Results as one JSON object a line",
	.state_size = sizeof(struct json), .json = true, .null_value = "null", .begin = json_begin, .batch = lines_batch,
	.end = lines_end, .release = json_release};

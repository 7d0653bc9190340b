/* Drives an output mode over the batches of a result. */
#include "render.h"

#include <stdlib.h>
#include <string.h>

static const struct rql_sh_mode *const modes[] = {
	&rql_sh_mode_ascii, &rql_sh_mode_box, &rql_sh_mode_csv, &rql_sh_mode_column, &rql_sh_mode_duckbox,
	&rql_sh_mode_html, &rql_sh_mode_insert, &rql_sh_mode_json, &rql_sh_mode_jsonlines, &rql_sh_mode_latex,
	&rql_sh_mode_line, &rql_sh_mode_list, &rql_sh_mode_markdown, &rql_sh_mode_quote, &rql_sh_mode_table,
	&rql_sh_mode_tabs, &rql_sh_mode_tcl, &rql_sh_mode_trash,
};

const struct rql_sh_mode *rql_sh_mode_at(size_t index)
{
	return index < sizeof(modes) / sizeof(modes[0]) ? modes[index] : NULL;
}

const struct rql_sh_mode *rql_sh_mode_find(const char *name)
{
	const struct rql_sh_mode *found = NULL;
	size_t length = strlen(name);
	for (size_t i = 0; rql_sh_mode_at(i); i++) {
		if (!strcmp(modes[i]->name, name))
			return modes[i];
		/* The first in the list wins ("c" is csv), as sqlite and DuckDB have it. */
		if (!found && length && !strncmp(modes[i]->name, name, length))
			found = modes[i];
	}
	return found;
}

const char *rql_sh_cell(const rayql_batch *text, uint32_t column, uint64_t row, size_t *length)
{
	if (rayql_batch_is_null(text, column, row))
		return NULL;
	const char *value = rayql_batch_text(text, column, row, length);
	if (!value)
		*length = 0;
	return value ? value : "";
}

const char *rql_sh_null(const struct rql_sh_render *r)
{
	return r->mode->null_value ? r->mode->null_value : r->sh->null_value;
}

void rql_sh_put(struct rql_sh_render *r, const char *text, size_t length)
{
	fwrite(text, 1, length, r->out);
}

void rql_sh_put_run(FILE *out, const char *unit, size_t count)
{
	for (size_t i = 0; i < count; i++)
		fputs(unit, out);
}

static bool is_numeric(rayql_type type)
{
	return type >= RAYQL_TYPE_TINYINT && type <= RAYQL_TYPE_DECIMAL;
}

static bool is_nested(const char *type)
{
	size_t length = strlen(type);
	return (length && type[length - 1] == ']') || !strncmp(type, "STRUCT(", 7) || !strncmp(type, "MAP(", 4) ||
	       !strncmp(type, "UNION(", 6) || !strcmp(type, "JSON");
}

static rayql_status describe(struct rql_sh_render *r)
{
	r->column_count = rayql_column_count(r->result);
	r->columns = calloc(r->column_count ? r->column_count : 1, sizeof(*r->columns));
	if (!r->columns)
		return RAYQL_ERROR_MEMORY;
	for (uint32_t i = 0; i < r->column_count; i++) {
		struct rql_sh_column *column = &r->columns[i];
		column->name = rayql_column_name(r->result, i);
		column->type_name = rayql_column_type_name(r->result, i);
		if (!column->name)
			column->name = "";
		if (!column->type_name)
			column->type_name = "";
		column->type = rayql_column_type(r->result, i);
		column->numeric = is_numeric(column->type);
		column->nested = is_nested(column->type_name);
		column->json = column->type == RAYQL_TYPE_FLOAT || column->type == RAYQL_TYPE_DOUBLE ||
		               column->type == RAYQL_TYPE_OTHER;
	}
	return RAYQL_OK;
}

/* EXPLAIN answers with drawings; a box around them would only break them. DESCRIBE has a box of its own. */
static const struct rql_sh_mode *choose(const struct rql_sh_render *r)
{
	if (r->sh->mode->whole && r->column_count == 2 && !strcmp(r->columns[0].name, "explain_key") &&
	    !strcmp(r->columns[1].name, "explain_value"))
		return &rql_sh_mode_explain;
	if (r->sh->mode == &rql_sh_mode_duckbox && rql_sh_is_description(r))
		return &rql_sh_mode_describe;
	return r->sh->mode;
}

/* For modes that print text. */
static rayql_status put_text(struct rql_sh_render *r, const rayql_batch *batch)
{
	const struct rql_sh_mode *mode = r->mode;
	rayql_batch *text = NULL;
	rayql_status status =
		(mode->json ? rayql_batch_to_json : rayql_batch_to_text)(r->result, batch, &text, &r->error);
	if (status == RAYQL_OK)
		status = mode->batch(r, text);
	/* A mode that prints at the end has taken the text over, also when it failed. */
	if (!mode->whole)
		rayql_batch_free(text);
	return status;
}

/* Takes the batch over. */
static rayql_status feed(struct rql_sh_render *r, rayql_batch *batch)
{
	rayql_status status = RAYQL_OK;
	uint64_t rows = rayql_batch_rows(batch);
	if (r->mode->raw && r->mode->batch)
		status = r->mode->batch(r, batch);
	else if (r->mode->batch)
		status = put_text(r, batch);
	if (!r->mode->raw || !r->mode->batch)
		rayql_batch_free(batch);
	r->rows += rows;
	return status;
}

static rayql_status stream(struct rql_sh_render *r, struct rql_sh_progress **progress)
{
	const struct rql_sh_mode *mode = r->mode;
	rayql_status status = RAYQL_OK;
	bool begun = false;
	for (;;) {
		rayql_batch *batch = NULL;
		status = rayql_fetch(r->result, &batch, &r->error);
		if (status != RAYQL_OK)
			break;
		if (!begun && (!mode->whole || !batch)) {
			rql_sh_progress_stop(*progress);
			*progress = NULL;
			begun = true;
			if (mode->begin && (status = mode->begin(r)) != RAYQL_OK) {
				rayql_batch_free(batch);
				break;
			}
		}
		if (!batch)
			break;
		status = feed(r, batch);
		if (status == RAYQL_OK && rql_sh_interrupted(r->sh))
			status = RAYQL_ERROR_INTERRUPTED;
		/* A reader that has gone or a disk that is full: the session says which. */
		if (status != RAYQL_OK || ferror(r->out))
			break;
	}
	if (status == RAYQL_OK && mode->end && !ferror(r->out))
		status = mode->end(r);
	return status;
}

static bool report(struct rql_sh *sh, const struct rql_sh_render *r, rayql_status status)
{
	if (status == RAYQL_OK)
		return true;
	if (r->error)
		rql_sh_error(sh, "%s", rayql_error_message(r->error));
	else if (status == RAYQL_ERROR_INTERRUPTED)
		rql_sh_error(sh, "INTERRUPT Error: Interrupted!");
	else
		rql_sh_error(sh, "Error: out of memory while printing the result; print less of it (LIMIT, .maxrows) or "
		                 "a mode that streams (.mode csv)");
	return false;
}

static rayql_status begin(struct rql_sh_render *r)
{
	rayql_status status = describe(r);
	r->mode = status == RAYQL_OK ? choose(r) : r->sh->mode;
	if (status == RAYQL_OK && r->mode->state_size) {
		r->state = calloc(1, r->mode->state_size);
		if (!r->state)
			status = RAYQL_ERROR_MEMORY;
	}
	return status;
}

static bool finish(struct rql_sh_render *r, rayql_status status)
{
	if (r->state && r->mode->release)
		r->mode->release(r);
	free(r->state);
	free(r->columns);
	bool ok = report(r->sh, r, status);
	rayql_error_free(r->error);
	return ok;
}

bool rql_sh_render_result(struct rql_sh *sh, rayql_result *result, struct rql_sh_progress *progress)
{
	struct rql_sh_render r = {.sh = sh, .out = sh->out, .result = result};
	rayql_status status = begin(&r);
	if (status == RAYQL_OK)
		status = stream(&r, &progress);
	rql_sh_progress_stop(progress);
	struct rql_sh_last *last = status == RAYQL_OK && r.mode->keep ? calloc(1, sizeof(*last)) : NULL;
	if (last) {
		r.mode->keep(&r, last);
		rql_sh_last_free(sh);
		sh->last = last;
		last->result = result;
	}
	bool ok = finish(&r, status);
	if (!last)
		rayql_result_free(result);
	return ok;
}

bool rql_sh_render_last(struct rql_sh *sh)
{
	struct rql_sh_last *last = sh->last;
	if (!last)
		return true;
	if (!last->whole) {
		rql_sh_error(sh, "Error: .last has no more of the last result than was shown, for it was too long to be kept; "
		                 "run the statement once more with .maxrows 0, or in a mode that streams (.mode csv)");
		return false;
	}
	struct rql_sh_render r = {.sh = sh, .out = sh->out, .result = last->result, .unlimited = true};
	rayql_status status = begin(&r);
	if (status == RAYQL_OK && r.mode->begin)
		status = r.mode->begin(&r);
	for (size_t i = 0; i < last->count && status == RAYQL_OK && !ferror(r.out) && r.mode->batch; i++) {
		rayql_batch *batch = last->batches[i];
		if (r.mode->raw) {
			last->batches[i] = NULL; /* it comes back below */
			status = r.mode->batch(&r, batch);
		} else {
			status = put_text(&r, batch);
		}
		r.rows += rayql_batch_rows(batch);
		if (status == RAYQL_OK && rql_sh_interrupted(sh))
			status = RAYQL_ERROR_INTERRUPTED;
	}
	if (status == RAYQL_OK && r.mode->end && !ferror(r.out))
		status = r.mode->end(&r);
	if (status == RAYQL_OK && r.mode->keep) {
		free(last->batches);
		*last = (struct rql_sh_last){.result = last->result};
		r.mode->keep(&r, last);
	}
	return finish(&r, status);
}

void rql_sh_last_free(struct rql_sh *sh)
{
	struct rql_sh_last *last = sh->last;
	if (!last)
		return;
	for (size_t i = 0; i < last->count; i++)
		rayql_batch_free(last->batches[i]);
	free(last->batches);
	rayql_result_free(last->result);
	free(last);
	sh->last = NULL;
}

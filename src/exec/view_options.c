/* WITH (...) of CREATE MATERIALIZED VIEW, and the texts around it. */
#include "exec/exec_internal.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

rql_status rql_error_at(struct rql_error *err, const char *sql, uint32_t position, const char *fmt, ...)
{
	struct rql_error plain = {0};
	va_list args;
	va_start(args, fmt);
	rql_error_vset(&plain, RQL_ERROR_STATEMENT, fmt, args);
	va_end(args);
	struct rql_strbuf text = {0};
	rql_strbuf_put(&text, rql_error_message(&plain));
	rql_statement_caret(&text, sql, position);
	rql_status status = rql_error_set(err, RQL_ERROR_STATEMENT, "%s", rql_strbuf_text(&text));
	rql_strbuf_free(&text);
	rql_error_clear(&plain);
	return status;
}

/* DuckDB's reserved words (duckdb_keywords()): a name that is one must be quoted. */
static bool reserved(const char *name)
{
	static const char words[] =
		" all analyse analyze and any array as asc asymmetric both case cast check collate column constraint create "
	    "default "
		"deferrable desc describe distinct do else end except false fetch for foreign from group having in initially "
		"intersect into lambda lateral leading limit not null offset on only or order pivot pivot_longer pivot_wider "
	    "placing "
		"primary qualify references returning select show some summarize symmetric table then to trailing true union "
	    "unique "
		"unpivot using variadic when where window with ";
	char padded[72];
	if (strlen(name) > 64)
		return false;
	snprintf(padded, sizeof padded, " %s ", name);
	return strstr(words, padded) != NULL;
}

void rql_put_name(struct rql_strbuf *out, const char *name)
{
	bool plain = islower((unsigned char)name[0]) || name[0] == '_';
	for (const char *c = name; *c && plain; c++)
		plain = islower((unsigned char)*c) || isdigit((unsigned char)*c) || *c == '_';
	if (plain && !reserved(name))
		rql_strbuf_put(out, name);
	else
		rql_strbuf_put_ident(out, name);
}

/* ---- reading ---- */
static rql_status bad_value(const char *sql, const struct rql_option *o, const char *expected, struct rql_error *err)
{
	return rql_error_at(err, sql, o->position, "Binder Error: the option %s cannot be '%s'; it is %s", o->name,
	                    o->value, expected);
}

static rql_status read_rollup(const char *sql, const struct rql_option *o, struct rql_view_options *out,
                              struct rql_error *err)
{
	if (strcasecmp(o->value, "auto") == 0)
		out->rollup = RQL_ROLLUP_AUTO;
	else if (strcasecmp(o->value, "on") == 0 || strcasecmp(o->value, "true") == 0)
		out->rollup = RQL_ROLLUP_ON;
	else if (strcasecmp(o->value, "off") == 0 || strcasecmp(o->value, "false") == 0)
		out->rollup = RQL_ROLLUP_OFF;
	else
		return bad_value(sql, o, "auto, on or off", err);
	return RQL_OK;
}

static rql_status read_refresh(const char *sql, const struct rql_option *o, struct rql_view_options *out,
                               struct rql_error *err)
{
	if (strcasecmp(o->value, "auto") == 0)
		out->refresh = RQL_REFRESH_AUTO;
	else if (strcasecmp(o->value, "manual") == 0)
		out->refresh = RQL_REFRESH_MANUAL;
	else
		return bad_value(sql, o, "auto or manual", err);
	return RQL_OK;
}

static rql_status read_unit(const char *sql, const struct rql_option *o, struct rql_error *err)
{
	if (strcasecmp(o->value, "auto") == 0 || strcasecmp(o->value, "cpu") == 0)
		return RQL_OK;
	if (strcasecmp(o->value, "rt") == 0 || strcasecmp(o->value, "compute") == 0 || strcasecmp(o->value, "raster") == 0)
		return rql_error_at(
			err, sql, o->position,
			"Not implemented Error: this version of RayQL runs cubes on the CPU only; unit = %s is not available. "
			"Use unit = auto or unit = cpu",
			o->value);
	return bad_value(sql, o, "auto or cpu (compute, rt and raster are not available in this version)", err);
}

/* a, "b c", d: names separated by commas, quoted or not, with or without parentheses around. */
static rql_status read_order(struct rql_arena *arena, const char *sql, const struct rql_option *o,
                             struct rql_view_options *out, struct rql_error *err)
{
	size_t length = strlen(o->value);
	out->order = RQL_NEW_ARRAY(arena, const char *, length + 1);
	char *text = rql_arena_array(arena, 2, length + 1);
	if (!out->order || !text)
		return rql_error_memory(err, length, "a statement");
	out->order_position = o->position;
	for (const char *c = o->value; *c;) {
		while (isspace((unsigned char)*c) || *c == ',' || *c == '(' || *c == ')')
			c++;
		if (!*c)
			break;
		out->order[out->order_count++] = text;
		if (*c == '"') {
			for (c++; *c && (*c != '"' || c[1] == '"'); c++) {
				*text++ = *c;
				c += *c == '"';
			}
			c += *c == '"';
		} else {
			while (*c && *c != ',' && *c != ')' && !isspace((unsigned char)*c))
				*text++ = *c++;
		}
		*text++ = 0;
	}
	if (out->order_count == 0)
		return bad_value(sql, o, "a list of dimensions, as in order = (region, nation)", err);
	return RQL_OK;
}

rql_status rql_view_options_read(struct rql_arena *arena, const char *sql, const struct rql_statement *st,
                                 struct rql_view_options *out, struct rql_error *err)
{
	*out = (struct rql_view_options){.rollup = RQL_ROLLUP_AUTO, .refresh = RQL_REFRESH_MANUAL};
	for (uint32_t i = 0; i < st->option_count; i++) {
		const struct rql_option *o = &st->options[i];
		rql_status status;
		if (strcmp(o->name, "rollup") == 0)
			status = read_rollup(sql, o, out, err);
		else if (strcmp(o->name, "refresh") == 0)
			status = read_refresh(sql, o, out, err);
		else if (strcmp(o->name, "unit") == 0)
			status = read_unit(sql, o, err);
		else if (strcmp(o->name, "order") == 0)
			status = read_order(arena, sql, o, out, err);
		else
			status = rql_error_at(
				err, sql, o->position,
				"Binder Error: CREATE MATERIALIZED VIEW has no option \"%s\"; its options are rollup (auto, on, "
				"off), refresh (manual, auto), order (a list of dimensions) and unit (auto, cpu)",
				o->name);
		RQL_TRY(status);
	}
	return RQL_OK;
}

void rql_view_options_print(struct rql_strbuf *out, const struct rql_view_options *options)
{
	static const char *const rollup[] = {[RQL_ROLLUP_AUTO] = "auto", [RQL_ROLLUP_ON] = "on", [RQL_ROLLUP_OFF] = "off"};
	rql_strbuf_printf(out, "rollup = %s, refresh = %s", rollup[options->rollup],
	                  options->refresh == RQL_REFRESH_AUTO ? "auto" : "manual");
	if (options->order_count == 0)
		return;
	rql_strbuf_put(out, ", order = (");
	for (uint32_t i = 0; i < options->order_count; i++) {
		rql_strbuf_put(out, i ? ", " : "");
		rql_put_name(out, options->order[i]);
	}
	rql_strbuf_put(out, ")");
}

/* WITH (...) of CREATE MATERIALIZED VIEW and CREATE INDEX. */
#include "structure/options.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- reading ---- */
static rql_status bad_value(const char *sql, const struct rql_option *o, const char *expected, struct rql_error *err)
{
	return rql_error_at(err, sql, o->position, "Binder Error: the option %s cannot be '%s'; it is %s", o->name,
	                    o->value, expected);
}

static rql_status read_rollup(const char *sql, const struct rql_option *o, struct rql_structure_options *out,
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

static rql_status read_refresh(const char *sql, const struct rql_option *o, struct rql_structure_options *out,
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

static rql_status read_unit(const char *sql, const struct rql_option *o, struct rql_structure_options *out,
                            struct rql_error *err)
{
	out->unit_wanted = false;
	if (strcasecmp(o->value, "auto") == 0)
		return RQL_OK;
	if (strcasecmp(o->value, "raster") == 0)
		return rql_error_at(
			err, sql, o->position,
			"Not implemented Error: no method of this version answers a view on the unit raster; unit is "
			"auto, cpu, compute or rt");
	for (int u = 0; u < RQL_UNIT_COUNT; u++) {
		if (strcasecmp(o->value, rql_unit_name((enum rql_unit)u)) == 0) {
			out->unit_wanted = true;
			out->unit = (enum rql_unit)u;
			out->unit_position = o->position;
			return RQL_OK;
		}
	}
	return bad_value(sql, o, "auto, cpu, compute or rt", err);
}

static rql_status read_layout(struct rql_arena *arena, const char *sql, const struct rql_option *o,
                              struct rql_structure_options *out, struct rql_error *err)
{
	char *value = rql_arena_strdup(arena, o->value);
	if (!value)
		return rql_error_memory(err, strlen(o->value), "a statement");
	for (char *c = value; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	out->layout = NULL;
	if (strcmp(value, "auto") == 0)
		return RQL_OK;
	if (!rql_layout_method(value)) {
		struct rql_strbuf known = {0};
		rql_strbuf_put(&known, "one of: ");
		rql_put_layouts(&known);
		rql_status status = bad_value(sql, o, rql_strbuf_text(&known), err);
		rql_strbuf_free(&known);
		return status;
	}
	out->layout = value;
	return RQL_OK;
}

/* A layout is one unit's: which one, its method says. */
static rql_status join_layout_and_unit(const char *sql, uint32_t position, struct rql_structure_options *out,
                                       struct rql_error *err)
{
	if (!out->layout)
		return RQL_OK;
	enum rql_unit unit = rql_layout_method(out->layout)->unit;
	if (out->unit_wanted && out->unit != unit)
		return rql_error_at(err, sql, position,
		                    "Binder Error: layout = %s is one of the unit %s; it does not go with unit = %s",
		                    out->layout, rql_unit_name(unit), rql_unit_name(out->unit));
	if (!out->unit_wanted)
		out->unit_position = position;
	out->unit_wanted = true;
	out->unit = unit;
	return RQL_OK;
}

/* a, "b c", d: names separated by commas, quoted or not, with or without parentheses around. */
static rql_status read_order(struct rql_arena *arena, const char *sql, const struct rql_option *o,
                             struct rql_structure_options *out, struct rql_error *err)
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
                                 struct rql_structure_options *out, struct rql_error *err)
{
	*out = (struct rql_structure_options){.rollup = RQL_ROLLUP_AUTO, .refresh = RQL_REFRESH_MANUAL};
	uint32_t layout_position = 0;
	for (uint32_t i = 0; i < st->option_count; i++) {
		const struct rql_option *o = &st->options[i];
		rql_status status;
		if (strcmp(o->name, "rollup") == 0)
			status = read_rollup(sql, o, out, err);
		else if (strcmp(o->name, "refresh") == 0)
			status = read_refresh(sql, o, out, err);
		else if (strcmp(o->name, "unit") == 0)
			status = read_unit(sql, o, out, err);
		else if (strcmp(o->name, "layout") == 0)
			layout_position = o->position, status = read_layout(arena, sql, o, out, err);
		else if (strcmp(o->name, "order") == 0)
			status = read_order(arena, sql, o, out, err);
		else
			status = rql_error_at(
				err, sql, o->position,
				"Binder Error: CREATE MATERIALIZED VIEW has no option \"%s\"; its options are rollup (auto, on, "
				"off), refresh (manual, auto), order (a list of dimensions), unit (auto, cpu, compute, rt) and layout "
				"(auto, paper)",
				o->name);
		RQL_TRY(status);
	}
	return join_layout_and_unit(sql, layout_position, out, err);
}

rql_status rql_columns_options_read(struct rql_arena *arena, const char *sql, const struct rql_statement *st,
                                    struct rql_structure_options *out, struct rql_error *err)
{
	(void)arena; /* its values are words */
	*out = (struct rql_structure_options){.refresh = RQL_REFRESH_MANUAL};
	for (uint32_t i = 0; i < st->option_count; i++) {
		const struct rql_option *o = &st->options[i];
		if (strcmp(o->name, "refresh") == 0)
			RQL_TRY(read_refresh(sql, o, out, err));
		else if (strcmp(o->name, "unit") == 0 && strcasecmp(o->value, "rt") == 0)
			return bad_value(sql, o, "auto, cpu or compute: nothing scans columns by tracing rays", err);
		else if (strcmp(o->name, "unit") == 0)
			RQL_TRY(read_unit(sql, o, out, err));
		else
			return rql_error_at(err, sql, o->position,
			                    "Binder Error: CREATE INDEX ... USING columns has no option \"%s\"; its options are "
			                    "refresh (manual, auto) and unit (auto, cpu, compute)",
			                    o->name);
	}
	return RQL_OK;
}

void rql_columns_options_print(struct rql_strbuf *out, const struct rql_structure_options *options)
{
	rql_strbuf_printf(out, "refresh = %s", options->refresh == RQL_REFRESH_AUTO ? "auto" : "manual");
	if (options->unit_wanted)
		rql_strbuf_printf(out, ", unit = %s", rql_unit_name(options->unit));
}

void rql_view_options_print(struct rql_strbuf *out, const struct rql_structure_options *options)
{
	static const char *const rollup[] = {[RQL_ROLLUP_AUTO] = "auto", [RQL_ROLLUP_ON] = "on", [RQL_ROLLUP_OFF] = "off"};
	rql_strbuf_printf(out, "rollup = %s, refresh = %s", rollup[options->rollup],
	                  options->refresh == RQL_REFRESH_AUTO ? "auto" : "manual");
	if (options->unit_wanted)
		rql_strbuf_printf(out, ", unit = %s", rql_unit_name(options->unit));
	if (options->layout) {
		bool plain = strspn(options->layout, "abcdefghijklmnopqrstuvwxyz_") == strlen(options->layout);
		rql_strbuf_put(out, ", layout = ");
		if (plain)
			rql_strbuf_put(out, options->layout);
		else
			rql_strbuf_put_literal(out, options->layout, strlen(options->layout));
	}
	if (options->order_count == 0)
		return;
	rql_strbuf_put(out, ", order = (");
	for (uint32_t i = 0; i < options->order_count; i++) {
		rql_strbuf_put(out, i ? ", " : "");
		rql_put_name(out, options->order[i]);
	}
	rql_strbuf_put(out, ")");
}

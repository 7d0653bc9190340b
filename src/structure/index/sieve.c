/* The kind "sieve": bit vectors of one or more columns, by which conjunctions of predicates become rows. What CREATE
 * INDEX says; index.c does the rest. */
#include <stdlib.h>
#include <strings.h>
#include "structure/columns/columns.h"
#include "structure/index/index.h"

/* So many vectors take less than a column of 32-bit values does, and tell some 200 bins apart. */
#define VECTORS 26u

/* A whole number of the option; false: it is none in [least, most]. */
static bool read_number(const struct rql_option *o, uint32_t least, uint32_t most, uint32_t *out)
{
	char *end = NULL;
	const unsigned long value = strtoul(o->value, &end, 10);
	if (o->value[0] < '0' || o->value[0] > '9' || *end || value < least || value > most)
		return false;
	*out = (uint32_t)value;
	return true;
}

static const char *const refines[RQL_SIEVE_REFINES] = {
	[RQL_SIEVE_AUTO] = "auto",   [RQL_SIEVE_VALUES] = "values", [RQL_SIEVE_POSITIONS] = "positions",
	[RQL_SIEVE_BLOCKS] = "blocks",
	[RQL_SIEVE_DRAWN] = "drawn", [RQL_SIEVE_RTC1] = "rtc1",     [RQL_SIEVE_RTC3] = "rtc3",
	[RQL_SIEVE_MATRIX] = "matrix", [RQL_SIEVE_CELLS] = "cells",
};

static bool read_refine(const struct rql_option *o, enum rql_sieve_refine *refine)
{
	unsigned r = 0;
	while (r < RQL_SIEVE_REFINES && strcasecmp(o->value, refines[r]) != 0)
		r++;
	*refine = r < RQL_SIEVE_REFINES ? (enum rql_sieve_refine)r : RQL_SIEVE_AUTO;
	return r < RQL_SIEVE_REFINES;
}

static const char *const rows_forms[RQL_SIEVE_ROWS_FORMS] = {
	[RQL_SIEVE_ROWS_AUTO] = "auto", [RQL_SIEVE_ROWS_BITMAPS] = "bitmaps", [RQL_SIEVE_ROWS_LISTS] = "lists"};

static bool read_rows(const struct rql_option *o, enum rql_sieve_rows *rows)
{
	unsigned r = 0;
	while (r < RQL_SIEVE_ROWS_FORMS && strcasecmp(o->value, rows_forms[r]) != 0)
		r++;
	*rows = r < RQL_SIEVE_ROWS_FORMS ? (enum rql_sieve_rows)r : RQL_SIEVE_ROWS_AUTO;
	return r < RQL_SIEVE_ROWS_FORMS;
}

static bool read_encoding(const struct rql_option *o, bool *by_value)
{
	*by_value = strcasecmp(o->value, "values") == 0;
	return *by_value || strcasecmp(o->value, "ranks") == 0;
}

static bool read_option(const struct rql_option *o, struct rql_sieve_form *sieve, bool *known)
{
	*known = true;
	if (strcmp(o->name, "vectors") == 0)
		return read_number(o, 1, RQL_SIEVE_VECTORS_MOST, &sieve->vectors);
	if (strcmp(o->name, "components") == 0)
		return read_number(o, 1, 2, &sieve->components);
	if (strcmp(o->name, "refine") == 0)
		return read_refine(o, &sieve->refine);
	if (strcmp(o->name, "rows") == 0)
		return read_rows(o, &sieve->rows);
	if (strcmp(o->name, "interval") == 0)
		return read_number(o, 1, 100, &sieve->interval);
	if (strcmp(o->name, "spacing") == 0)
		return read_number(o, 0, 100, &sieve->spacing);
	if (strcmp(o->name, "encoding") == 0)
		return read_encoding(o, &sieve->by_value);
	return *known = false;
}

static rql_status read_options(struct rql_arena *arena, const char *sql, const struct rql_statement *st,
                               struct rql_structure_options *out, struct rql_error *err)
{
	(void)arena;
	*out = (struct rql_structure_options){
		.refresh = RQL_REFRESH_MANUAL,
		.sieve = {.vectors = VECTORS, .components = 2, .interval = 100, .spacing = 100}};
	for (uint32_t i = 0; i < st->option_count; i++) {
		const struct rql_option *o = &st->options[i];
		bool known;
		if (read_option(o, &out->sieve, &known))
			continue;
		if (!known)
			return rql_error_at(err, sql, o->position,
			                    "Binder Error: CREATE INDEX ... USING sieve has no option \"%s\"; its options are "
			                    "vectors (1 to %u), components (1, 2), refine (auto, values, positions, blocks, drawn, "
			                    "rtc1, rtc3, matrix, cells), rows (auto, bitmaps, lists), interval (1 to 100), spacing "
			                    "(0 to 100) and encoding (ranks, values)",
			                    o->name, RQL_SIEVE_VECTORS_MOST);
		return rql_error_at(err, sql, o->position,
		                    "Binder Error: the option %s cannot be '%s'; vectors is a number from 1 to %u, "
		                    "components is 1 or 2, refine is auto, values, positions, blocks, drawn, rtc1, rtc3, matrix or "
		                    "cells, rows is auto, bitmaps or lists, interval is 1 to 100, spacing is 0 to 100, encoding "
		                    "is ranks or values",
		                    o->name, o->value, RQL_SIEVE_VECTORS_MOST);
	}
	return RQL_OK;
}

static void put_options(struct rql_strbuf *out, const struct rql_structure_options *options)
{
	const struct rql_sieve_form *sieve = &options->sieve;
	rql_strbuf_printf(out, "vectors = %u, components = %u, refine = %s", sieve->vectors, sieve->components,
	                  refines[sieve->refine]);
	if (sieve->rows != RQL_SIEVE_ROWS_AUTO)
		rql_strbuf_printf(out, ", rows = %s", rows_forms[sieve->rows]);
	if (sieve->refine == RQL_SIEVE_MATRIX)
		rql_strbuf_printf(out, ", interval = %u, spacing = %u, encoding = %s", sieve->interval, sieve->spacing,
		                  sieve->by_value ? "values" : "ranks");
}

static rql_status describe(const struct rql_plan_context *plan, struct rql_structures *all, const char *sql,
                           const struct rql_statement *st, const char *schema,
                           const struct rql_structure_options *options, struct rql_structure **out,
                           struct rql_error *err)
{
	(void)schema;
	if (st->column_count == 1 && st->columns[0][0] == '*' && !st->columns[0][1])
		return rql_error_at(err, sql, st->name.position,
		                    "Binder Error: a sieve names its columns: those that conditions are about");
	return rql_columns_describe_statement(&rql_structure_sieve, plan, all, sql, st, NULL, options, out, err);
}

const struct rql_structure_kind rql_structure_sieve = {
	RQL_INDEX_KIND("sieve"), .options = read_options, .put_options = put_options, .describe = describe};

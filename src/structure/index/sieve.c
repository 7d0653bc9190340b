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

static bool read_refine(const struct rql_option *o, bool *positions)
{
	*positions = strcasecmp(o->value, "positions") == 0;
	return *positions || strcasecmp(o->value, "values") == 0;
}

static rql_status read_options(struct rql_arena *arena, const char *sql, const struct rql_statement *st,
                               struct rql_structure_options *out, struct rql_error *err)
{
	(void)arena;
	*out = (struct rql_structure_options){.refresh = RQL_REFRESH_MANUAL,
	                                      .sieve = {.vectors = VECTORS, .components = 2, .positions = true}};
	for (uint32_t i = 0; i < st->option_count; i++) {
		const struct rql_option *o = &st->options[i];
		bool known = true;
		if (strcmp(o->name, "vectors") == 0)
			known = read_number(o, 1, RQL_SIEVE_VECTORS_MOST, &out->sieve.vectors);
		else if (strcmp(o->name, "components") == 0)
			known = read_number(o, 1, 2, &out->sieve.components);
		else if (strcmp(o->name, "refine") == 0)
			known = read_refine(o, &out->sieve.positions);
		else
			return rql_error_at(err, sql, o->position,
			                    "Binder Error: CREATE INDEX ... USING sieve has no option \"%s\"; its options are "
			                    "vectors (1 to %u), components (1, 2) and refine (values, positions)",
			                    o->name, RQL_SIEVE_VECTORS_MOST);
		if (!known)
			return rql_error_at(err, sql, o->position,
			                    "Binder Error: the option %s cannot be '%s'; vectors is a number from 1 to %u, "
			                    "components is 1 or 2, refine is values or positions",
			                    o->name, o->value, RQL_SIEVE_VECTORS_MOST);
	}
	return RQL_OK;
}

static void put_options(struct rql_strbuf *out, const struct rql_structure_options *options)
{
	rql_strbuf_printf(out, "vectors = %u, components = %u, refine = %s", options->sieve.vectors,
	                  options->sieve.components, options->sieve.positions ? "positions" : "values");
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

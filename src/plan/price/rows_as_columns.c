/* Rows are fetched from a GPU as columns, so what is more than that (conditions, expressions, what maps say of keys) is a
 * pass of its own on the device before: it makes a column of each. */
#include "plan/price/rows_as_columns.h"

#include "expr/expr.h"

struct splitting {
	struct rql_arena *arena;
	const struct rql_request *wanted;
	uint32_t count;
	struct rql_output *outputs; /* of the pass before: each source once */
	struct rql_error *err;
};

/* Of a source that is no column, and whose type nobody says: an order key's, or what counts entries of a table of values.
 * Fields do not depend on it. */
static struct rql_type type_of(const struct rql_request *request, const struct rql_source *source)
{
	if (source->kind != RQL_SOURCE_PROGRAM)
		return rql_type_simple(RQL_TYPE_BIGINT);
	const struct rql_program_result *r = &request->programs[source->index].program->results[source->result];
	return rql_type_simple(r->kind == RQL_LANE_F32   ? RQL_TYPE_FLOAT
	                       : r->kind == RQL_LANE_F64 ? RQL_TYPE_DOUBLE
	                                                 : RQL_TYPE_BIGINT);
}

static bool same_source(const struct rql_source *a, const struct rql_source *b)
{
	return a->kind == b->kind && a->index == b->index && (a->kind != RQL_SOURCE_PROGRAM || a->result == b->result) &&
	       (a->kind != RQL_SOURCE_LOOKUP ||
	        (a->value_of_payload == b->value_of_payload && a->valid_of_payload == b->valid_of_payload));
}

static uint32_t put_output(struct splitting *s, const struct rql_source *source, struct rql_type type)
{
	uint32_t at = 0;
	while (at < s->count && !same_source(&s->outputs[at].source, source))
		at++;
	if (at == s->count)
		s->outputs[s->count++] = (struct rql_output){.source = *source, .type = type};
	return at;
}

/* The source becomes that of the column which the pass before makes of it; the lower half of such a column goes with it.
 * type NULL: nobody says it. */
static void put_source(struct splitting *s, struct rql_source *source, const struct rql_type *type)
{
	const bool plain = source->kind == RQL_SOURCE_COLUMN;
	const struct rql_store_column *column = plain ? &s->wanted->snapshot->columns[source->index] : NULL;
	const uint32_t at = put_output(s, source, column ? column->type : type ? *type : type_of(s->wanted, source));
	if (column && column->low) {
		const struct rql_source lower = {.kind = RQL_SOURCE_COLUMN, .index = column->low - 1};
		put_output(s, &lower, column->type);
	}
	*source = (struct rql_source){.kind = RQL_SOURCE_COLUMN, .index = at};
}

static rql_status make_form(struct splitting *s, struct rql_request *project)
{
	struct rql_form_column *columns = RQL_NEW_ARRAY(s->arena, struct rql_form_column, s->count + 1u);
	const struct rql_form_spec spec = {.rows = s->wanted->snapshot->rows,
	                                   .column_count = s->count,
	                                   .columns = columns,
	                                   .source_count = 1,
	                                   .sources = &s->wanted->snapshot};
	if (!columns)
		return rql_error_memory(s->err, 0, "a plan");
	for (uint32_t i = 0; i < s->count; i++) {
		const struct rql_output *o = &project->outputs[i];
		const char *why = rql_request_describe(project, &o->source, &columns[i]);
		if (why)
			return rql_error_set(s->err, RQL_ERROR_UNSUPPORTED, "as columns on a GPU: %s", why);
		if (o->source.kind == RQL_SOURCE_PROGRAM)
			columns[i].of.type = o->type;
		const struct rql_source lower = {.kind = RQL_SOURCE_COLUMN, .index = columns[i].of.low - 1};
		if (columns[i].of.low)
			columns[i].of.low = put_output(s, &lower, columns[i].of.type) + 1;
	}
	return rql_form_new(&spec, &project->gives, s->err);
}

rql_status rql_rows_as_columns(struct rql_arena *arena, const struct rql_request *wanted, struct rql_request *project,
                               struct rql_request *rows, struct rql_error *err)
{
	const uint32_t outputs = wanted->output_count, orders = wanted->order_count;
	struct splitting s = {.arena = arena,
	                      .wanted = wanted,
	                      .outputs = RQL_NEW_ARRAY(arena, struct rql_output, 2 * (outputs + orders) + 1u),
	                      .err = err};
	struct rql_output *to = RQL_NEW_ARRAY(arena, struct rql_output, outputs + 1u);
	struct rql_row_order *by = RQL_NEW_ARRAY(arena, struct rql_row_order, orders + 1u);
	if (!s.outputs || !to || !by)
		return rql_error_memory(err, 0, "a plan");
	for (uint32_t i = 0; i < outputs; i++) {
		to[i] = wanted->outputs[i];
		put_source(&s, &to[i].source, to[i].values ? NULL : &to[i].type);
	}
	for (uint32_t i = 0; i < orders; i++) {
		by[i] = wanted->orders[i];
		put_source(&s, &by[i].source, NULL);
	}
	*project = *wanted;
	project->wants = RQL_PORT_COLUMNS;
	project->output_count = s.count;
	project->outputs = s.outputs;
	project->order_count = 0;
	project->order_there = false;
	project->limit = UINT64_MAX;
	project->offset = 0;
	project->budget = NULL;
	RQL_TRY(make_form(&s, project));
	*rows = (struct rql_request){.snapshot = project->gives,
	                             .wants = RQL_PORT_BATCH,
	                             .output_count = outputs,
	                             .outputs = to,
	                             .order_count = orders,
	                             .orders = by,
	                             .order_there = wanted->order_there,
	                             .limit = wanted->limit,
	                             .offset = wanted->offset,
	                             .budget = wanted->budget};
	return RQL_OK;
}

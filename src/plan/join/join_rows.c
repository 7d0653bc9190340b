/* Rows of a chain of joins that are wanted themselves. They are fetched as columns, so what is more than that
 * (conditions over several tables, expressions) is a pass of its own on the device before: it makes a column of
 * each. */
#include "bind/block/price_host.h"
#include "plan/join/join.h"

struct splitting {
	struct rql_join_graph *g;
	const struct rql_request *wanted;
	uint32_t count;
	struct rql_output *outputs; /* of the pass before: each source once */
};

/* Of an order key's program: fields do not depend on it. */
static struct rql_type type_of(const struct rql_request *request, const struct rql_source *source)
{
	const struct rql_program_result *r = &request->programs[source->index].program->results[source->result];
	return rql_type_simple(r->kind == RQL_LANE_F32   ? RQL_TYPE_FLOAT
	                       : r->kind == RQL_LANE_F64 ? RQL_TYPE_DOUBLE
	                                                 : RQL_TYPE_BIGINT);
}

static bool same_source(const struct rql_source *a, const struct rql_source *b)
{
	return a->kind == b->kind && a->index == b->index && (a->kind != RQL_SOURCE_PROGRAM || a->result == b->result);
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
 * type NULL: an order key's. */
static rql_status put_source(struct splitting *s, struct rql_source *source, const struct rql_type *type,
                             bool has_values)
{
	const bool program = source->kind == RQL_SOURCE_PROGRAM;
	const bool plain = source->kind == RQL_SOURCE_COLUMN;
	const struct rql_store_column *column = plain ? &s->wanted->snapshot->columns[source->index] : NULL;
	if ((source->kind != RQL_SOURCE_COLUMN && !program) || (program && has_values))
		return rql_error_set(s->g->err, RQL_ERROR_UNSUPPORTED,
		                     "joined as columns on a GPU: a column of the result is made from a table of values");
	const uint32_t at = put_output(s, source, column ? column->type : type ? *type : type_of(s->wanted, source));
	if (column && column->low) {
		const struct rql_source lower = {.kind = RQL_SOURCE_COLUMN, .index = column->low - 1};
		put_output(s, &lower, column->type);
	}
	*source = (struct rql_source){.kind = RQL_SOURCE_COLUMN, .index = at};
	return RQL_OK;
}

static rql_status make_form(struct splitting *s, struct rql_request *project)
{
	struct rql_join_graph *g = s->g;
	struct rql_form_column *columns = RQL_NEW_ARRAY(g->p->arena, struct rql_form_column, s->count + 1u);
	const struct rql_form_spec spec = {.rows = s->wanted->snapshot->rows,
	                                   .column_count = s->count,
	                                   .columns = columns,
	                                   .source_count = 1,
	                                   .sources = &s->wanted->snapshot};
	if (!columns)
		return rql_error_memory(g->err, 0, "a plan");
	for (uint32_t i = 0; i < s->count; i++) {
		RQL_TRY(rql_join_describe_any(g, project, i, &columns[i]));
		const struct rql_source lower = {.kind = RQL_SOURCE_COLUMN, .index = columns[i].of.low - 1};
		if (columns[i].of.low)
			columns[i].of.low = put_output(s, &lower, columns[i].of.type) + 1;
	}
	return rql_form_new(&spec, &project->gives, g->err);
}

rql_status rql_join_rows_split(struct rql_join_graph *g, const struct rql_request *wanted, struct rql_request *project,
                               struct rql_request *rows)
{
	struct rql_arena *arena = g->p->arena;
	const uint32_t outputs = wanted->output_count, orders = wanted->order_count;
	struct splitting s = {
		.g = g, .wanted = wanted, .outputs = RQL_NEW_ARRAY(arena, struct rql_output, 2 * (outputs + orders) + 1u)};
	struct rql_output *to = RQL_NEW_ARRAY(arena, struct rql_output, outputs + 1u);
	struct rql_row_order *by = RQL_NEW_ARRAY(arena, struct rql_row_order, orders + 1u);
	if (!s.outputs || !to || !by)
		return rql_error_memory(g->err, 0, "a plan");
	for (uint32_t i = 0; i < outputs; i++) {
		to[i] = wanted->outputs[i];
		RQL_TRY(put_source(&s, &to[i].source, &to[i].type, to[i].values != NULL));
	}
	for (uint32_t i = 0; i < orders; i++) {
		by[i] = wanted->orders[i];
		RQL_TRY(put_source(&s, &by[i].source, NULL, false));
	}
	*project = *wanted;
	project->wants = RQL_PORT_COLUMNS;
	project->output_count = s.count;
	project->outputs = s.outputs;
	project->order_count = 0;
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
	                             .limit = wanted->limit,
	                             .offset = wanted->offset,
	                             .budget = wanted->budget};
	return RQL_OK;
}

double rql_join_rows_host_values(const struct rql_rows_block *rows, const struct rql_cost *cost)
{
	const double each = rows->is_result ? RQL_HOST_RESULT_VALUE : RQL_HOST_INNER_VALUE;
	double values = cost->rows_out * rows->output_count * each;
	if (rows->order_count)
		values += rows->limit == UINT64_MAX ? cost->cells * RQL_HOST_SORTED_ROW
		                                    : cost->cells + cost->rows_out * RQL_HOST_SORTED_ROW;
	return values;
}

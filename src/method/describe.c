/* What a request says of the values that it reads. */
#include "method/request.h"

#include "expr/expr.h"

static bool column_nullable(const struct rql_store_column *column)
{
	return column->nulls || (column->kind == RQL_STORE_CODED && column->dimension->has_null);
}

static bool program_nullable(const struct rql_request *request, const struct rql_source *source)
{
	const struct rql_row_program *p = &request->programs[source->index];
	bool some = p->program->results[source->result].nullable;
	for (uint32_t i = 0; i < p->program->input_count; i++)
		some |= p->inputs[i].kind != RQL_SOURCE_COLUMN ||
		        column_nullable(&request->snapshot->columns[p->inputs[i].index]);
	return some;
}

static void describe_lookup(const struct rql_request *request, const struct rql_source *source,
                            struct rql_form_column *out)
{
	const struct rql_lookup *lookup = &request->lookups[source->index];
	const uint32_t payloads = rql_lookup_payloads(lookup->map, lookup->absent);
	out->nullable = (lookup->kind == RQL_LOOKUP_LEFT && !lookup->absent) || source->valid_of_payload;
	out->of.greatest = payloads;
	for (uint32_t p = 0; source->value_of_payload && p < payloads; p++) {
		const int64_t value = source->value_of_payload[p];
		out->of.least = !p || value < out->of.least ? value : out->of.least;
		out->of.greatest = !p || value > out->of.greatest ? value : out->of.greatest;
	}
}

const char *rql_request_describe(const struct rql_request *request, const struct rql_source *source,
                                 struct rql_form_column *out)
{
	if (source->kind == RQL_SOURCE_COLUMN) {
		*out = (struct rql_form_column){.of = request->snapshot->columns[source->index]};
		out->nullable = column_nullable(&out->of);
		out->of.has_total = rql_store_total(request->snapshot, source->index, &out->of.total);
		return out->of.type.id == RQL_TYPE_UHUGEINT && out->of.kind == RQL_STORE_INTEGER ? "a column is a UHUGEINT" : NULL;
	}
	*out = (struct rql_form_column){
		.of = {.name = "expression", .type = rql_type_simple(RQL_TYPE_BIGINT), .kind = RQL_STORE_INTEGER}};
	if (source->kind == RQL_SOURCE_LOOKUP) {
		describe_lookup(request, source, out);
		return NULL;
	}
	const struct rql_program_result *result = &request->programs[source->index].program->results[source->result];
	const bool real = result->kind == RQL_LANE_F32 || result->kind == RQL_LANE_F64;
	out->of.type = result->type;
	out->of.kind = real ? RQL_STORE_REAL : RQL_STORE_INTEGER;
	out->of.least = result->kind == RQL_LANE_BOOL ? 0 : result->bounds.low;
	out->of.greatest = result->kind == RQL_LANE_BOOL ? 1 : result->bounds.high;
	out->nullable = program_nullable(request, source);
	return NULL;
}

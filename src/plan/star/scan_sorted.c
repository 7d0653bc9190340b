/* Indexes of a leaf's columns as orders of its rows. */
#include "plan/star/scan_sorted.h"

static bool is_whole(const struct rql_request *request)
{
	return !request->conjunct_count && !request->lookup_count && !request->order_count && !request->offset &&
	       request->limit == UINT64_MAX && !request->from.method;
}

static bool is_column(const struct rql_output *output)
{
	return output->source.kind == RQL_SOURCE_COLUMN && !output->values && !output->part_count;
}

/* The first method that has the rows in the order of the column. */
static rql_status prepare(struct rql_planning *p, struct rql_request *request, struct rql_leaf_sorted *out)
{
	struct rql_device *cpu = &p->ctx->devices->device[0];
	for (uint32_t m = 0; rql_methods()[m] && !out->prepared; m++) {
		const struct rql_method *method = rql_methods()[m];
		if (p->ctx->settings->disabled_methods >> m & 1 || !rql_method_takes(method, request) ||
		    method->offer(request, cpu, NULL) != RQL_OFFER_FULL)
			continue;
		RQL_TRY(method->prepare(request, cpu, &out->prepared, p->err));
		out->method = method;
		out->device = cpu;
		out->index = request->indexes[method->index(out->prepared)].name;
	}
	return RQL_OK;
}

rql_status rql_scan_sorted(struct rql_planning *p, const struct rql_structure *s, const struct rql_request *request,
                           struct rql_leaf *leaf)
{
	struct rql_leaf_scan *scan = leaf->scan;
	if (!request->index_count || !is_whole(request))
		return RQL_OK;
	scan->sorted = RQL_NEW_ARRAY(p->arena, struct rql_leaf_sorted, request->output_count + 1u);
	if (!scan->sorted)
		return rql_error_memory(p->err, 0, "a plan");
	for (uint32_t i = 0; i < request->output_count; i++) {
		struct rql_request one = {.snapshot = request->snapshot,
		                          .index_count = request->index_count,
		                          .indexes = request->indexes,
		                          .wants = RQL_PORT_SORTED,
		                          .sorted_by = request->outputs[i].source.index};
		struct rql_leaf_sorted *to = &scan->sorted[scan->sorted_count];
		*to = (struct rql_leaf_sorted){
			.column = i, .parts = s->snapshot->segment_count, .rows = s->snapshot->rows};
		if (is_column(&request->outputs[i]))
			RQL_TRY(prepare(p, &one, to));
		scan->sorted_count += to->prepared != NULL;
	}
	return RQL_OK;
}

void rql_scan_sorted_clear(struct rql_leaf_scan *scan)
{
	for (uint32_t i = 0; i < scan->sorted_count; i++)
		scan->sorted[i].method->free(scan->sorted[i].prepared);
	scan->sorted_count = 0;
}

uint64_t rql_scan_sorted_bytes(const struct rql_leaf_scan *scan)
{
	uint64_t bytes = 0;
	for (uint32_t i = 0; i < scan->sorted_count; i++)
		bytes += scan->sorted[i].method->bytes(scan->sorted[i].prepared);
	return bytes;
}

/* The two sides of a join: see the header. */
#include "method/join/pair.h"

static double row_bytes(const struct rql_store_snapshot *form)
{
	return rql_form_offset(form, form->column_count);
}

struct rql_pair_size rql_pair_size_of(const struct rql_pair *pair, const struct rql_store_snapshot *form, double expected)
{
	return (struct rql_pair_size){.rows = {pair->probe.rows, pair->build.rows},
	                              .row_bytes = {row_bytes(pair->probe.form), row_bytes(pair->build.form)},
	                              .out_rows = expected,
	                              .out_bytes = row_bytes(form)};
}

void rql_pair_price_sides(const struct rql_pair *pair, const struct rql_device *device, struct rql_cost *cost)
{
	const struct rql_columns_source *sides[] = {&pair->probe, &pair->build};
	for (uint32_t s = 0; s < 2; s++) {
		struct rql_cost in;
		sides[s]->method->price(sides[s]->prepared, device, &in);
		rql_cost_add(cost, &in);
	}
}

rql_status rql_pair_kernels(const struct rql_pair *pair, rql_see_kernel *see, void *state, struct rql_error *err)
{
	RQL_TRY(rql_columns_kernels(&pair->probe, see, state, err));
	return rql_columns_kernels(&pair->build, see, state, err);
}

uint64_t rql_pair_host_bytes(const struct rql_pair *pair)
{
	return pair->column_count * sizeof(*pair->columns) + pair->probe.method->bytes(pair->probe.prepared) +
	       pair->build.method->bytes(pair->build.prepared);
}

void rql_pair_drop_sides(const struct rql_pair *pair)
{
	pair->probe.method->free(pair->probe.prepared);
	pair->build.method->free(pair->build.prepared);
}

void rql_pair_columns(const struct rql_stage *stage, const struct rql_store_snapshot *form,
                      const struct rql_columns_port *in, struct rql_columns_port *out)
{
	struct rql_columns_port next[RQL_STAGE_INPUTS_MAX];
	if (!in) {
		rql_stage_next_columns(stage, next);
		in = next;
	}
	*out = (struct rql_columns_port){.form = form, .room = in[0].room};
}

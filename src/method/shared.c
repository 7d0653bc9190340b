/* COLUMNS that several prepared requests read, of which one will be kept: whoever is prepared last to go frees them. */
#include "method/method.h"

#include <stdlib.h>

struct rql_prepared {
	struct rql_columns_source of;
	uint32_t holders;
};

static void price(const struct rql_prepared *p, const struct rql_device *device, struct rql_cost *out)
{
	p->of.method->price(p->of.prepared, device, out);
}

static rql_status kernels(const struct rql_prepared *p, rql_see_kernel *see, void *state, struct rql_error *err)
{
	return rql_columns_kernels(&p->of, see, state, err);
}

static struct rql_stage *stage(const struct rql_prepared *p)
{
	return p->of.method->stage(p->of.prepared);
}

static rql_status run(const struct rql_prepared *p, struct rql_device *device, const struct rql_run *how,
                      struct rql_port *out, struct rql_error *err)
{
	return p->of.method->run(p->of.prepared, device, how, out, err);
}

static uint64_t bytes(const struct rql_prepared *p)
{
	return p->of.method->bytes(p->of.prepared);
}

static void drop(struct rql_prepared *p)
{
	if (!p || --p->holders)
		return;
	if (p->of.prepared)
		p->of.method->free(p->of.prepared);
	free(p);
}

static const struct rql_method shared = {
	.name = "shared",
	.description = "rows that several requests read",
	.unit = RQL_UNIT_COMPUTE,
	.gives = 1u << RQL_PORT_COLUMNS,
	.price = price,
	.kernels = kernels,
	.stage = stage,
	.run = run,
	.free = drop,
	.bytes = bytes,
};

rql_status rql_columns_share(const struct rql_columns_source *of, struct rql_columns_source *out, struct rql_error *err)
{
	*out = *of;
	if (!of->method)
		return RQL_OK;
	struct rql_prepared *p = malloc(sizeof(*p));
	if (!p)
		return rql_error_memory(err, sizeof(*p), "a plan");
	*p = (struct rql_prepared){.of = *of, .holders = 1};
	out->method = &shared;
	out->prepared = p;
	return RQL_OK;
}

void rql_columns_hold(const struct rql_columns_source *source)
{
	if (source->method)
		source->prepared->holders++;
}

void rql_columns_unshare(struct rql_columns_source *source, bool give_back)
{
	if (!source->method)
		return;
	if (give_back)
		source->prepared->of.prepared = NULL;
	drop(source->prepared);
}

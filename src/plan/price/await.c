/* What only a text's first plan takes: a driver's compiler, which is started in the background, and preparation. */
#include "plan/price/await.h"

#include <math.h>

#include "util/strbuf.h"

bool rql_await_is_forced(const struct rql_planning *p)
{
	const struct rql_settings *s = p->ctx->settings;
	return s->force || s->unit_forced || s->only;
}

void rql_await_devices(struct rql_planning *p, bool wait)
{
	const struct rql_plan_context *ctx = p->ctx;
	if (wait || rql_await_is_forced(p) || !ctx->devices_open) {
		rql_devices_find(ctx->devices);
		return;
	}
	if (p->awaits_devices || ctx->devices_open(ctx->load_state, NULL))
		return;
	if (!p->plan->awaited && !(p->plan->awaited = rql_awaited_new()))
		return; /* memory is short: the plan stays as it is */
	p->awaits_devices = true;
	(void)ctx->devices_open(ctx->load_state, p->plan->awaited);
}

bool rql_await_device(const struct rql_planning *p, struct rql_device *device, bool wait)
{
	const struct rql_plan_context *ctx = p->ctx;
	return device->kind == RQL_DEVICE_CPU || !ctx->device_ready ||
	       ctx->device_ready(ctx->load_state, device, wait || rql_await_is_forced(p));
}

struct looking {
	struct rql_device *device;
	struct rql_awaited *later; /* NULL: looks only */
	uint32_t missing;
};

static rql_status look(void *state, const struct rql_kernel_use *use, struct rql_error *err)
{
	struct looking *l = state;
	enum rql_kernel_state found;
	RQL_TRY(rql_kernel_look(l->device, use, &found, err));
	if (found == RQL_KERNEL_READY)
		return RQL_OK;
	l->missing++;
	return l->later ? rql_kernel_compile_later(l->device, use, l->later, err) : RQL_OK;
}

bool rql_await_price(const struct rql_planning *p, const struct rql_method *method,
                     const struct rql_prepared *prepared, struct rql_device *device, struct rql_cost *cost,
                     const char **reason)
{
	struct looking l = {.device = device};
	struct rql_error why = {0};
	if (rql_await_is_forced(p) || !method->kernels)
		return true;
	const bool possible = method->kernels(prepared, look, &l, &why) == RQL_OK;
	cost->compile_ns = l.missing * device->profile.scan.compile_ns;
	if (!possible)
		*reason = rql_arena_strdup(p->arena, rql_error_message(&why));
	rql_error_clear(&why);
	return possible;
}

/* "compute (vulkan:0, ...) is being compiled", once for a device. */
static void say(struct rql_planning *p, const struct rql_leaf *leaf)
{
	struct rql_strbuf text = {0};
	if (p->plan->awaiting)
		return;
	rql_strbuf_printf(&text, "%s (", rql_unit_name(leaf->method->unit));
	rql_put_device(&text, leaf->device);
	rql_strbuf_printf(&text, ") is being compiled, about %.0f ms", leaf->cost.compile_ns / 1e6);
	p->plan->awaiting = rql_arena_strdup(p->arena, rql_strbuf_text(&text));
	rql_strbuf_free(&text);
}

void rql_await_leaf(struct rql_planning *p, const struct rql_leaf *leaf, double against_ns)
{
	if (rql_leaf_price(leaf) - rql_cost_first(&leaf->cost) >= against_ns)
		return;
	p->plan->swayed |= leaf->cost.prepared_ns > 0;
	if (leaf->cost.compile_ns <= 0)
		return;
	if (!p->plan->awaited && !(p->plan->awaited = rql_awaited_new()))
		return; /* memory is short: the plan stays as it is */
	struct looking l = {.device = leaf->device, .later = p->plan->awaited};
	struct rql_error why = {0};
	if (leaf->method->kernels(leaf->prepared, look, &l, &why) == RQL_OK)
		say(p, leaf);
	rql_error_clear(&why); /* whatever it was, the next plan of the text sees it */
}

void rql_await_leaves(struct rql_planning *p)
{
	for (uint32_t i = 0; i < p->nodes->leaf_count; i++)
		rql_await_leaf(p, &p->nodes->leaves[i], INFINITY);
}

double rql_await_sum(const struct rql_plan_nodes *nodes)
{
	double sum = 0;
	for (uint32_t i = 0; i < nodes->leaf_count; i++)
		sum += rql_cost_first(&nodes->leaves[i].cost);
	return sum;
}

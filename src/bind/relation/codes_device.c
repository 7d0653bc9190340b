/* Conditions over a dictionary's strings on a GPU: which one, at what price, and the codes that are left to the CPU. */
#include "bind/relation/codes_device.h"

#include "bind/relation/codes.h"
#include "primitive/text.h"
#include "util/threads.h"

/* Below this the CPU is not worth being asked for less: a submission takes as long. */
#define WORTH_NS 50e3
/* What a submission takes beside the empty one of the profile: two buffers and a recording. */
#define RECORD_NS 20e3
/* Threads that walk through strings of their own read so much more than the bytes. */
#define WALK_READS 8.0

static bool is_forced(const struct rql_settings *s)
{
	return s->unit_forced && s->unit == RQL_UNIT_COMPUTE;
}

static double price_on(const struct rql_device *device, const struct rql_dimension *d, bool searches, double bytes)
{
	const struct rql_profile *p = &device->profile;
	double sum = p->submit_ns + RECORD_NS + d->count / 8.0 / p->download_gbps;
	sum += d->count * p->scan.tested_row_ns + bytes * (searches ? 1 : WALK_READS) / p->read_gbps;
	return rql_texts_are_placed(d, device) ? sum : sum + bytes / p->upload_gbps / RQL_SETUP_REUSES;
}

/* The cheapest GPU that may be used; NULL: none is cheaper than the CPU. */
static struct rql_device *choose(const struct rql_plan_context *ctx, const struct rql_dimension *d, bool searches,
                                 const struct rql_entry_price *price, double *least)
{
	struct rql_device *best = NULL;
	*least = price->cpu_ns;
	for (uint32_t i = 1; i < atomic_load(&ctx->devices->count); i++) {
		struct rql_device *device = &ctx->devices->device[i];
		if (rql_device_refused(ctx->settings, device, RQL_UNIT_COMPUTE))
			continue;
		if (ctx->device_ready && !ctx->device_ready(ctx->load_state, device, is_forced(ctx->settings)))
			continue; /* it is opened in the background */
		double ns = price_on(device, d, searches, price->mean_bytes * d->count);
		if (ns < *least || (!best && is_forced(ctx->settings))) {
			best = device;
			*least = ns;
		}
	}
	return best;
}

/* May a GPU be asked at all? Then the condition as words. */
static bool begin(const struct rql_plan_context *ctx, struct rql_arena *arena, const struct rql_dimension *d,
                  const struct rql_entry *e, bool negated, const struct rql_entry_price *price,
                  struct rql_text_program *out)
{
	const struct rql_settings *settings = ctx->settings;
	if (!d->watch || atomic_load(&ctx->devices->count) < 2 || (settings->unit_forced && !is_forced(settings)) ||
	    (price->cpu_ns < WORTH_NS && !is_forced(settings)))
		return false;
	return rql_entry_words(arena, e, negated, d, out);
}

double rql_codes_device_price(const struct rql_plan_context *ctx, struct rql_arena *arena,
                              const struct rql_dimension *d, const struct rql_entry *e,
                              const struct rql_entry_price *price)
{
	struct rql_text_program program;
	double least = price->cpu_ns;
	if (begin(ctx, arena, d, e, false, price, &program))
		(void)choose(ctx, d, program.search_count > 0, price, &least);
	return least;
}

/* A driver compiles behind everybody's back, and the CPU does it meanwhile, unless the user wants this unit. */
static bool is_compiled(const struct rql_plan_context *ctx, struct rql_device *device)
{
	const struct rql_kernel_use use = rql_texts_kernel();
	enum rql_kernel_state state = RQL_KERNEL_MISSING;
	if (is_forced(ctx->settings) || rql_kernel_look(device, &use, &state, NULL) != RQL_OK)
		return is_forced(ctx->settings);
	if (state == RQL_KERNEL_READY)
		return true;
	struct rql_awaited *awaited = rql_awaited_new();
	if (awaited && rql_kernel_compile_later(device, &use, awaited, NULL) != RQL_OK)
		state = RQL_KERNEL_MISSING;
	rql_awaited_release(awaited);
	return false;
}

static bool has_room(const struct rql_plan_context *ctx, struct rql_device *device, const struct rql_dimension *d,
                     struct rql_arena *arena)
{
	const char *why = NULL;
	uint64_t since = rql_now_ns(), bytes = rql_texts_are_placed(d, device) ? 0 : rql_texts_bytes(d, device);
	if (rql_texts_are_placed(d, device))
		return true;
	while (bytes && ctx->device_fits && !ctx->device_fits(ctx->load_state, device, bytes, arena, &why))
		if (!ctx->device_make_room || !ctx->device_make_room(ctx->load_state, device, bytes, bytes, since))
			return false;
	return bytes != 0;
}

static rql_status select_on(const struct rql_plan_context *ctx, struct rql_device *device,
                            const struct rql_dimension *d, const struct rql_text_program *program, uint64_t *set,
                            uint64_t *left, struct rql_error *err)
{
	struct rql_texts *texts = NULL;
	RQL_TRY(rql_texts_place(d, device, &texts, err));
	rql_status status = rql_texts_select(texts, program, ctx->progress, set, err);
	for (uint32_t w = 0; w < (texts->count + 63) / 64 && status == RQL_OK && program->folds; w++) {
		set[w] &= ~texts->wide[w];
		left[w] = texts->wide[w];
	}
	rql_texts_release(texts);
	return status;
}

rql_status rql_codes_on_device(const struct rql_plan_context *ctx, struct rql_arena *arena,
                               const struct rql_dimension *d, const struct rql_entry *e, bool negated,
                               const struct rql_entry_price *price, uint64_t *set, uint64_t **left, bool *done,
                               struct rql_error *err)
{
	struct rql_text_program program;
	struct rql_error why = {0};
	double least;
	*done = false;
	if (!begin(ctx, arena, d, e, negated, price, &program))
		return RQL_OK;
	struct rql_device *device = choose(ctx, d, program.search_count > 0, price, &least);
	if (!device || !is_compiled(ctx, device) || !has_room(ctx, device, d, arena))
		return RQL_OK;
	if (!(*left = rql_codes_new(arena, d)))
		return rql_error_memory(err, 0, "a plan");
	rql_status status = select_on(ctx, device, d, &program, set, *left, &why);
	*done = status == RQL_OK;
	if (status == RQL_ERROR_INTERRUPTED) {
		rql_error_move(err, &why);
		return status;
	}
	rql_error_clear(&why); /* the CPU does it */
	return RQL_OK;
}

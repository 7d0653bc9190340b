/* Contexts, their pool, and a run from submission to port. */
#include "method/stage.h"

#include "util/threads.h"

#define SMALL_CONTEXT ((uint64_t)64 << 20) /* bytes of device memory */

rql_status rql_stage_init(struct rql_stage *stage, const struct rql_stage_ops *ops, struct rql_device *device,
                          struct rql_error *err)
{
	*stage = (struct rql_stage){.device = device};
	if (pthread_mutex_init(&stage->lock, NULL) != 0)
		return rql_error_memory(err, sizeof(stage->lock), "a query's lock");
	stage->ops = ops;
	return RQL_OK;
}

rql_status rql_stage_buffer_new(struct rql_device *device, uint64_t bytes, enum rql_memory memory, const char *what,
                                struct rql_buffer **out, struct rql_error *err)
{
	RQL_TRY(rql_buffer_new(device, bytes, memory, what, out, err));
	if (memory == RQL_MEMORY_DEVICE)
		atomic_fetch_add(&device->request_bytes, bytes);
	return RQL_OK;
}

void rql_stage_buffer_free(struct rql_buffer *buffer)
{
	if (buffer && buffer->memory == RQL_MEMORY_DEVICE)
		atomic_fetch_sub(&buffer->device->request_bytes, buffer->bytes);
	rql_buffer_free(buffer);
}

void rql_stage_read(struct rql_stage *stage, struct rql_stage *input)
{
	stage->inputs[stage->input_count++] = input;
}

/* ---- contexts ---- */

/* An input that several stages of a tree read has one context in it, which the first of them owns. So it is recorded
 * once, before all of these, and looked at once. */
static bool owns(const struct rql_stage_context *context, uint32_t input)
{
	return !(context->borrowed >> input & 1);
}

/* Contexts that were opened for one tree so far: an input beyond them has one for each of its readers. */
#define OPENED_MOST 64u
struct opened {
	uint32_t count;
	struct {
		const struct rql_stage *stage;
		struct rql_stage_context *context;
	} of[OPENED_MOST];
};

static struct rql_stage_context *find_opened(const struct opened *opened, const struct rql_stage *stage)
{
	struct rql_stage_context *found = NULL;
	for (uint32_t i = 0; i < opened->count && !found; i++)
		found = opened->of[i].stage == stage ? opened->of[i].context : NULL;
	return found;
}

static void close_context(struct rql_stage *stage, struct rql_stage_context *context)
{
	if (!context)
		return;
	rql_commands_free(context->commands);
	rql_commands_free(context->timed);
	for (uint32_t i = 0; i < stage->input_count; i++)
		if (owns(context, i))
			close_context(stage->inputs[i], context->inputs[i]);
	stage->ops->close(stage, context);
}

void rql_stage_clear(struct rql_stage *stage)
{
	if (!stage->ops)
		return;
	while (stage->contexts) {
		struct rql_stage_context *context = stage->contexts;
		stage->contexts = context->next;
		close_context(stage, context);
	}
	pthread_mutex_destroy(&stage->lock);
}

/* lock held; inputs' locks are taken behind it. */
static rql_status place(struct rql_stage *stage, struct rql_progress *progress, bool *nothing, uint64_t *uploaded,
                        struct rql_error *err)
{
	for (uint32_t i = 0; i < stage->input_count && !*nothing; i++) {
		struct rql_stage *input = stage->inputs[i];
		pthread_mutex_lock(&input->lock);
		rql_status status = place(input, progress, nothing, uploaded, err);
		pthread_mutex_unlock(&input->lock);
		RQL_TRY(status);
	}
	rql_status status = *nothing || !stage->ops->place ? RQL_OK : stage->ops->place(stage, progress, nothing, err);
	*uploaded += stage->uploaded;
	stage->uploaded = 0;
	return status;
}

static bool fits(struct rql_stage *stage, const struct rql_stage_context *context)
{
	bool all = !stage->ops->fits || stage->ops->fits(stage, context);
	for (uint32_t i = 0; i < stage->input_count && all; i++) {
		if (!owns(context, i))
			continue;
		pthread_mutex_lock(&stage->inputs[i]->lock);
		all = fits(stage->inputs[i], context->inputs[i]);
		pthread_mutex_unlock(&stage->inputs[i]->lock);
	}
	return all;
}

/* Over the COLUMNS of the inputs' contexts. */
static rql_status open_on(struct rql_stage *stage, struct rql_stage_context *const *inputs, struct rql_stage_context **out,
                          struct rql_error *err)
{
	struct rql_columns_port ports[RQL_STAGE_INPUTS_MAX];
	for (uint32_t i = 0; i < stage->input_count; i++)
		stage->inputs[i]->ops->columns(stage->inputs[i], inputs[i], &ports[i]);
	return stage->ops->open_on(stage, stage->device, ports, out, err);
}

static rql_status open_context(struct rql_stage *stage, struct opened *opened, struct rql_stage_context **out,
                               struct rql_error *err);

/* ... or the one that another stage of the tree has. */
static rql_status open_input(struct rql_stage *input, struct opened *opened, struct rql_stage_context **out,
                             bool *borrowed, struct rql_error *err)
{
	if ((*out = find_opened(opened, input))) {
		*borrowed = true;
		return RQL_OK;
	}
	pthread_mutex_lock(&input->lock);
	rql_status status = open_context(input, opened, out, err);
	pthread_mutex_unlock(&input->lock);
	return status;
}

/* The inputs' first: what a stage needs follows from what they have room for. */
static rql_status open_context(struct rql_stage *stage, struct opened *opened, struct rql_stage_context **out,
                               struct rql_error *err)
{
	struct rql_stage_context *inputs[RQL_STAGE_INPUTS_MAX] = {NULL}, *context = NULL;
	bool borrowed[RQL_STAGE_INPUTS_MAX] = {false};
	rql_status status = RQL_OK;
	for (uint32_t i = 0; i < stage->input_count && status == RQL_OK; i++)
		status = open_input(stage->inputs[i], opened, &inputs[i], &borrowed[i], err);
	if (status == RQL_OK)
		status = stage->ops->open ? stage->ops->open(stage, inputs, &context, err) : open_on(stage, inputs, &context, err);
	for (uint32_t i = 0; i < stage->input_count; i++) {
		if (context) {
			context->inputs[i] = inputs[i];
			context->borrowed |= (uint32_t)borrowed[i] << i;
		} else if (!borrowed[i])
			close_context(stage->inputs[i], inputs[i]);
	}
	if (status != RQL_OK) {
		close_context(stage, context);
		return status;
	}
	if (opened->count < OPENED_MOST) {
		opened->of[opened->count].stage = stage;
		opened->of[opened->count++].context = context;
	}
	*out = context;
	return RQL_OK;
}

static rql_status record_passes(struct rql_stage *stage, struct rql_stage_context *context,
                                struct rql_commands *commands, struct rql_error *err)
{
	for (uint32_t i = 0; i < stage->input_count; i++) {
		if (!owns(context, i))
			continue;
		pthread_mutex_lock(&stage->inputs[i]->lock);
		rql_status status = record_passes(stage->inputs[i], context->inputs[i], commands, err);
		pthread_mutex_unlock(&stage->inputs[i]->lock);
		RQL_TRY(status);
	}
	return stage->ops->record(stage, context, commands, err);
}

static rql_status record(struct rql_stage *stage, struct rql_stage_context *context, bool timed, struct rql_error *err)
{
	struct rql_commands **out = timed ? &context->timed : &context->commands, *commands;
	if (*out)
		return RQL_OK;
	RQL_TRY(rql_commands_new(stage->device, timed ? RQL_COMMANDS_TIMED : 0, &commands, err));
	rql_status status = record_passes(stage, context, commands, err);
	if (status == RQL_OK)
		status = rql_commands_end(commands, err);
	if (status == RQL_OK)
		*out = commands;
	else
		rql_commands_free(commands);
	return status;
}

/* A context that nobody uses and the device is done with; a new one when there is none. lock held. */
static rql_status find_context(struct rql_stage *stage, bool timed, struct rql_stage_context **out,
                               struct rql_error *err)
{
	struct rql_stage_context **at = &stage->contexts, *context = NULL;
	while (*at && !context) {
		if (!rql_is_done(stage->device, (*at)->ticket)) {
			at = &(*at)->next;
			continue;
		}
		context = *at;
		*at = context->next;
		if (!fits(stage, context)) { /* the next ones have grown since */
			close_context(stage, context);
			context = NULL;
		}
	}
	struct opened opened = {.count = 0};
	rql_status status = context ? RQL_OK : open_context(stage, &opened, &context, err);
	if (status == RQL_OK)
		status = record(stage, context, timed, err);
	if (status == RQL_OK)
		*out = context;
	else
		close_context(stage, context);
	return status;
}

static uint64_t context_bytes(const struct rql_stage *stage)
{
	uint64_t bytes = stage->ops->bytes(stage);
	for (uint32_t i = 0; i < stage->input_count; i++)
		bytes += context_bytes(stage->inputs[i]);
	return bytes;
}

static void give_context(struct rql_stage *stage, struct rql_stage_context *context)
{
	pthread_mutex_lock(&stage->lock);
	/* A cached plan keeps one large context for its next run, not as many as ran at once. */
	if (!stage->contexts || context_bytes(stage) <= SMALL_CONTEXT) {
		context->next = stage->contexts;
		stage->contexts = context;
		context = NULL;
	}
	pthread_mutex_unlock(&stage->lock);
	close_context(stage, context);
}

/* ---- rehearsals ---- */

void rql_stage_next_columns(const struct rql_stage *stage, struct rql_columns_port *out)
{
	for (uint32_t i = 0; i < stage->input_count; i++) {
		struct rql_stage *input = stage->inputs[i];
		pthread_mutex_lock(&input->lock);
		input->ops->columns(input, NULL, &out[i]);
		pthread_mutex_unlock(&input->lock);
	}
}

/* The context is opened, recorded and closed as in a run. lock held. */
static rql_status rehearse(struct rql_stage *stage, struct rql_rehearsal *rehearsal, struct rql_error *err)
{
	struct rql_device *device = rql_rehearsal_device(rehearsal);
	struct rql_columns_port inputs[RQL_STAGE_INPUTS_MAX];
	struct rql_stage_context *context = NULL;
	struct rql_commands *commands;
	rql_stage_next_columns(stage, inputs);
	for (uint32_t i = 0; i < stage->input_count; i++)
		inputs[i].values = inputs[i].count = rql_rehearsal_buffer(rehearsal);
	RQL_TRY(rql_commands_new(device, 0, &commands, err));
	rql_status status = stage->ops->open_on(stage, device, inputs, &context, err);
	if (status == RQL_OK)
		status = stage->ops->record(stage, context, commands, err);
	if (status == RQL_OK)
		status = rql_commands_end(commands, err);
	rql_commands_free(commands);
	if (context)
		stage->ops->close(stage, context);
	return status;
}

rql_status rql_stage_rehearse(struct rql_stage *stage, rql_see_kernel *see, void *state, struct rql_error *err)
{
	struct rql_rehearsal *rehearsal;
	RQL_TRY(rql_rehearsal_new(stage->device, see, state, &rehearsal, err));
	pthread_mutex_lock(&stage->lock);
	rql_status status = rehearse(stage, rehearsal, err);
	pthread_mutex_unlock(&stage->lock);
	rql_rehearsal_free(rehearsal);
	return status;
}

/* ---- runs ---- */

static void write_points(struct rql_stage *stage, struct rql_stage_context *context,
                         const struct rql_value *const *points)
{
	for (uint32_t i = 0; i < stage->input_count; i++)
		if (owns(context, i))
			write_points(stage->inputs[i], context->inputs[i], points);
	if (stage->ops->write_points)
		stage->ops->write_points(stage, context, points);
}

static rql_status run_before(struct rql_stage *stage, struct rql_stage_context *context,
                             bool timed, struct rql_progress *progress, struct rql_error *err)
{
	for (uint32_t i = 0; i < stage->input_count; i++)
		RQL_TRY(owns(context, i) ? run_before(stage->inputs[i], context->inputs[i], timed, progress, err) : RQL_OK);
	return stage->ops->before ? stage->ops->before(stage, context, timed, progress, err) : RQL_OK;
}

/* What an input had no room for is not looked at further: this stage has read too little of it. */
static rql_status check(struct rql_stage *stage, struct rql_stage_context *context, bool *again, struct rql_error *err)
{
	rql_status status = RQL_OK;
	for (uint32_t i = 0; i < stage->input_count && status == RQL_OK && !*again; i++)
		status = owns(context, i) ? check(stage->inputs[i], context->inputs[i], again, err) : RQL_OK;
	if (status != RQL_OK || *again || !stage->ops->check)
		return status;
	pthread_mutex_lock(&stage->lock);
	status = stage->ops->check(stage, context, again, err);
	pthread_mutex_unlock(&stage->lock);
	return status;
}

/* The stage is placed, and there is a context that may be submitted; *context NULL: nothing qualifies. */
static rql_status begin(struct rql_stage_ahead *run, bool timed, struct rql_progress *progress, struct rql_error *err)
{
	struct rql_stage *stage = run->stage;
	struct rql_stage_context **context = &run->context;
	bool nothing = false;
	*context = NULL;
	pthread_mutex_lock(&stage->lock);
	rql_status status = place(stage, progress, &nothing, &run->uploaded, err);
	if (status == RQL_OK && !nothing)
		status = find_context(stage, timed, context, err);
	pthread_mutex_unlock(&stage->lock);
	if (status != RQL_OK || nothing)
		return status;
	write_points(stage, *context, run->points);
	status = run_before(stage, *context, timed, progress, err);
	if (status == RQL_OK)
		return RQL_OK;
	close_context(stage, *context);
	*context = NULL;
	return status;
}

static void tell(const struct rql_stage *stage, const struct rql_stage_context *context, struct rql_drawn *drawn)
{
	for (uint32_t i = 0; i < stage->input_count; i++)
		if (owns(context, i))
			tell(stage->inputs[i], context->inputs[i], drawn);
	if (stage->ops->tell)
		stage->ops->tell(stage, context, drawn);
}

/* Of inputs, too. */
static rql_status count_passes(struct rql_stage *stage, struct rql_stage_context *context, struct rql_port *port,
                               struct rql_error *err)
{
	for (uint32_t i = 0; i < stage->input_count; i++)
		RQL_TRY(owns(context, i) ? count_passes(stage->inputs[i], context->inputs[i], port, err) : RQL_OK);
	return stage->ops->count ? stage->ops->count(stage, context, port, err) : RQL_OK;
}

static rql_status take(struct rql_stage *stage, struct rql_stage_context *context, const struct rql_stage_run *run,
                       struct rql_error *err)
{
	if (!stage->ops->take)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "what one step of a plan leaves for another is asked for by itself");
	return stage->ops->take(stage, context, run, err);
}

/* Waits for what was submitted. */
static rql_status finish(struct rql_stage *stage, struct rql_stage_context *context, const struct rql_stage_run *run,
                         bool *again, struct rql_error *err)
{
	if (!context)
		return take(stage, NULL, run, err);
	rql_status status = rql_wait(stage->device, context->ticket, run->progress, err);
	bool goes_on = status == RQL_ERROR_INTERRUPTED;
	if (status == RQL_OK)
		status = check(stage, context, again, err);
	if (status == RQL_OK && !*again)
		status = take(stage, context, run, err);
	if (status == RQL_OK && !*again)
		tell(stage, context, &run->port->drawn);
	if (status == RQL_OK && !*again && run->timed)
		status = count_passes(stage, context, run->port, err);
	/* An interrupted run goes on; its context is looked at again when it is done. */
	if (status == RQL_OK || status == RQL_ERROR_HOST || goes_on)
		give_context(stage, context);
	else
		close_context(stage, context);
	return status;
}

static rql_status run_once(struct rql_stage *stage, const struct rql_stage_run *run, struct rql_stage_ahead *ahead,
                           bool *again, uint64_t *uploaded, struct rql_error *err)
{
	struct rql_stage_ahead alone = {.stage = stage, .points = run->points};
	*again = false;
	if (!ahead || !ahead->started) {
		ahead = &alone;
		RQL_TRY(rql_stage_start(ahead, 1, run->timed, run->progress, err));
	}
	ahead->started = false;
	*uploaded += ahead->uploaded;
	return finish(stage, ahead->context, run, again, err);
}

rql_status rql_stage_run(struct rql_stage *stage, const struct rql_run *run, void *own, struct rql_port *out,
                         struct rql_error *err)
{
	struct rql_progress *progress = run->progress;
	const struct rql_stage_run taken = {.timed = (run->flags & RQL_RUN_TIMED) != 0,
	                                    .progress = progress,
	                                    .arena = run->arena,
	                                    .port = out,
	                                    .own = own,
	                                    .points = run->points};
	rql_status status;
	uint64_t uploaded = 0;
	bool again = false;
	if (progress && atomic_load_explicit(&progress->cancel, memory_order_relaxed))
		return rql_error_set(err, RQL_ERROR_INTERRUPTED, "the query was interrupted");
	do
		status = run_once(stage, &taken, run->ahead, &again, &uploaded, err);
	while (status == RQL_OK && again);
	if (status == RQL_OK)
		out->bytes_uploaded = uploaded;
	return status;
}

static rql_status run_counting(struct rql_stage *stage, struct rql_stage_context *context,
                               rql_stage_record_counting *record, struct rql_buffer *counts, struct rql_error *err)
{
	struct rql_commands *commands;
	RQL_TRY(rql_commands_new(stage->device, 0, &commands, err));
	rql_record_fill(commands, counts, 0, counts->bytes, 0);
	return rql_commands_finish(commands, record(stage, context, counts, commands, err), NULL, NULL, err);
}

rql_status rql_stage_count(struct rql_stage *stage, struct rql_stage_context *context, rql_stage_record_counting *record,
                           void *met, uint64_t bytes, struct rql_error *err)
{
	struct rql_buffer *counts = NULL;
	RQL_TRY(rql_stage_buffer_new(stage->device, bytes, RQL_MEMORY_DEVICE, "what a run's passes met", &counts, err));
	rql_status status = run_counting(stage, context, record, counts, err);
	if (status == RQL_OK)
		status = rql_buffer_download(counts, 0, met, bytes, err);
	rql_stage_buffer_free(counts);
	return status;
}

/* ---- runs that start together ---- */

static rql_status submit(struct rql_stage_ahead *runs, uint32_t count, bool timed, struct rql_error *err)
{
	struct rql_commands *list[RQL_SUBMIT_MOST];
	uint32_t submitted = 0;
	uint64_t ticket = 0;
	for (uint32_t i = 0; i < count; i++)
		if (runs[i].context)
			list[submitted++] = timed ? runs[i].context->timed : runs[i].context->commands;
	RQL_TRY(submitted ? rql_submit_all(list, submitted, &ticket, err) : RQL_OK);
	for (uint32_t i = 0; i < count; i++) {
		if (runs[i].context)
			runs[i].context->ticket = ticket;
		runs[i].started = true;
	}
	return RQL_OK;
}

rql_status rql_stage_start(struct rql_stage_ahead *runs, uint32_t count, bool timed, struct rql_progress *progress,
                           struct rql_error *err)
{
	rql_status status = RQL_OK;
	if (count > RQL_SUBMIT_MOST)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "%u runs cannot start together", count);
	for (uint32_t i = 0; i < count && status == RQL_OK; i++)
		status = begin(&runs[i], timed, progress, err);
	if (status == RQL_OK)
		status = submit(runs, count, timed, err);
	for (uint32_t i = 0; i < count && status != RQL_OK; i++) {
		close_context(runs[i].stage, runs[i].context); /* what ran before the recording is not at rest */
		runs[i].context = NULL;
	}
	return status;
}

void rql_stage_abandon(struct rql_stage_ahead *run)
{
	if (run->started && run->context)
		give_context(run->stage, run->context);
	run->started = false;
}

rql_status rql_stage_times(const struct rql_stage_context *context, struct rql_arena *arena, struct rql_port *out,
                           struct rql_error *err)
{
	out->pass_count = rql_commands_times(context->timed, NULL, 0, &out->device_ns);
	out->passes = RQL_NEW_ARRAY(arena, struct rql_pass_time, out->pass_count);
	if (!out->passes)
		return rql_error_memory(err, out->pass_count * sizeof(*out->passes), "a query's timings");
	rql_commands_times(context->timed, out->passes, out->pass_count, NULL);
	return RQL_OK;
}

rql_status rql_stage_on_host(rql_status status, struct rql_error *err)
{
	if (status != RQL_ERROR_LIMIT && status != RQL_ERROR_MEMORY)
		return status;
	if (err)
		err->status = RQL_ERROR_UNSUPPORTED;
	return RQL_ERROR_UNSUPPORTED;
}

struct rql_stage *rql_prepared_stage(const struct rql_prepared *prepared)
{
	return (struct rql_stage *)(uintptr_t)prepared;
}

rql_status rql_prepared_run(const struct rql_prepared *prepared, struct rql_device *device, const struct rql_run *run,
                            struct rql_port *out, struct rql_error *err)
{
	(void)device;
	return rql_stage_run(rql_prepared_stage(prepared), run, NULL, out, err);
}

/* Selections of rows with a GPU: it finds which rows pass, as a list of their numbers, and the host does the rest as ever
 * (scan_rows.c): splits them by block, orders, limits, and gathers the outputs from its own columns, which are always there.
 * So the device reads nothing but what conditions and joins need.
 *
 * The first rows of an order need not all be listed. Before a first run the host looks at some blocks, and what the first
 * key of the last wanted row is there becomes one more test (rql_rows_bound): zone maps and the device drop what is behind
 * it. It holds as long as the snapshot does. Rows that are wanted as they stand, up to a limit, are looked for in as many
 * blocks as the sample says will do; where they do not, in more.
 *
 * Floor: what the conditions' columns need on the device, 4 bytes a listed row over the link, and the host's gathering. */
#include "method/scan/gpu/scan_compute_run.h"

#include <math.h>

#include "method/scan/rows/scan_rows_query.h"

_Static_assert(RQL_ROWS_BITS == 12, "an entry of the list has 12 bits for the row, as a row's place has");
/* Room in a list beyond what is expected, and for the sake of estimates that are wrong where little is expected. */
#define LIST_ROOM 2.0
#define LIST_LEAST 4096.0
/* Blocks for a limit in table order: as many times those expected to do, and so many more, which a device has at once
 * (an H200: a subgroup each), if they do not list more rows than that. A run that finds too little is followed by one over
 * GROW_ITEMS times as many. */
#define ITEMS_ROOM 1.5
#define ITEMS_LEAST 2048.0
#define ROWS_AHEAD 65536.0
#define GROW_ITEMS 8u

struct rql_scan_list {
	struct rql_mem mem; /* of the entries: charged */
	uint32_t *entries;
	uint64_t count;
};

/* ---- the conditions alone ---- */

struct reducing {
	const struct rql_request *from;
	struct rql_arena *arena;
	bool *needed;    /* [programs]: some condition is one */
	bool *looked_up; /* [joins]: a needed program has its payload */
	uint32_t *place; /* [joins] in the reduced request */
	struct rql_conjunct *conjuncts;
	struct rql_request to;
};

static bool note_needed(struct reducing *r)
{
	r->needed = RQL_NEW_ARRAY(r->arena, bool, r->from->program_count);
	r->looked_up = RQL_NEW_ARRAY(r->arena, bool, r->from->lookup_count);
	r->place = RQL_NEW_ARRAY(r->arena, uint32_t, r->from->lookup_count);
	if (!r->needed || !r->looked_up || !r->place)
		return false;
	for (uint32_t c = 0; c < r->from->conjunct_count; c++) {
		const struct rql_conjunct *conjunct = &r->from->conjuncts[c];
		if (conjunct->test != RQL_TEST_IS_TRUE || conjunct->index >= r->from->program_count)
			continue; /* prepare speaks of those that are none */
		const struct rql_row_program *p = &r->from->programs[conjunct->index];
		r->needed[conjunct->index] = true;
		for (uint32_t i = 0; i < p->program->input_count; i++)
			if (p->inputs[i].kind == RQL_SOURCE_LOOKUP && p->inputs[i].index < r->from->lookup_count)
				r->looked_up[p->inputs[i].index] = true;
	}
	return true;
}

/* Left joins drop no row: they are left out unless a condition reads their payloads. */
static bool reduce_joins(struct reducing *r)
{
	struct rql_lookup *joins = RQL_NEW_ARRAY(r->arena, struct rql_lookup, r->from->lookup_count);
	for (uint32_t j = 0; joins && j < r->from->lookup_count; j++) {
		if (r->from->lookups[j].kind == RQL_LOOKUP_LEFT && !r->looked_up[j])
			continue;
		r->place[j] = r->to.lookup_count;
		joins[r->to.lookup_count++] = r->from->lookups[j];
	}
	r->to.lookups = joins;
	return joins != NULL;
}

static const struct rql_source *reduce_inputs(struct reducing *r, const struct rql_row_program *p)
{
	struct rql_source *inputs = RQL_NEW_ARRAY(r->arena, struct rql_source, p->program->input_count);
	for (uint32_t i = 0; inputs && i < p->program->input_count; i++) {
		inputs[i] = p->inputs[i];
		if (inputs[i].kind == RQL_SOURCE_LOOKUP && inputs[i].index < r->from->lookup_count)
			inputs[i].index = r->place[inputs[i].index];
	}
	return inputs;
}

/* Programs of conditions, and room for one more condition. */
static bool reduce_conjuncts(struct reducing *r)
{
	const struct rql_request *from = r->from;
	struct rql_row_program *programs = RQL_NEW_ARRAY(r->arena, struct rql_row_program, from->program_count);
	struct rql_conjunct *conjuncts = RQL_NEW_ARRAY(r->arena, struct rql_conjunct, (size_t)from->conjunct_count + 1);
	uint32_t *place = RQL_NEW_ARRAY(r->arena, uint32_t, from->program_count);
	if (!programs || !conjuncts || !place)
		return false;
	for (uint32_t p = 0; p < from->program_count; p++) {
		if (!r->needed[p])
			continue;
		place[p] = r->to.program_count;
		programs[r->to.program_count++] = (struct rql_row_program){.program = from->programs[p].program,
		                                                           .inputs = reduce_inputs(r, &from->programs[p])};
		if (!programs[place[p]].inputs)
			return false;
	}
	for (uint32_t c = 0; c < from->conjunct_count; c++) {
		conjuncts[c] = from->conjuncts[c];
		if (conjuncts[c].test == RQL_TEST_IS_TRUE && conjuncts[c].index < from->program_count)
			conjuncts[c].index = place[conjuncts[c].index];
	}
	r->to.programs = programs;
	r->to.conjunct_count = from->conjunct_count;
	r->to.conjuncts = r->conjuncts = conjuncts;
	return true;
}

/* What of a selection decides which rows pass, in arena: a request without groups and aggregates. *more: room for one
 * condition behind the others. */
static bool reduce(const struct rql_request *from, struct rql_arena *arena, struct rql_request *out,
                   struct rql_conjunct **more)
{
	struct reducing r = {.from = from, .arena = arena, .to = {.snapshot = from->snapshot}};
	if (!arena || !note_needed(&r) || !reduce_joins(&r) || !reduce_conjuncts(&r))
		return false;
	*out = r.to;
	out->under = from->under;
	*more = r.conjuncts + from->conjunct_count;
	return true;
}

static bool can_fail(const struct rql_request *scan, const struct rql_source *s)
{
	return s->kind == RQL_SOURCE_PROGRAM && s->index < scan->program_count &&
	       rql_program_can_fail(scan->programs[s->index].program);
}

/* Whether something of the result can fail in rows that are not wanted: then all that pass are listed. */
static bool checks(const struct rql_request *r)
{
	bool some = false;
	for (uint32_t i = 0; i < r->output_count; i++)
		some |= can_fail(r, &r->outputs[i].source);
	for (uint32_t i = 0; i < r->order_count; i++)
		some |= can_fail(r, &r->orders[i].source);
	for (uint32_t c = 0; c < r->conjunct_count; c++) {
		const struct rql_source program = {.kind = RQL_SOURCE_PROGRAM, .index = r->conjuncts[c].index};
		some |= r->conjuncts[c].test == RQL_TEST_IS_TRUE && can_fail(r, &program);
	}
	return some && rql_rows_leaves_rows(r);
}

/* Whether the first key of the wanted rows may become a test: they are few, and it is a column. */
static bool may_bound(const struct rql_request *r, const struct rql_device *device)
{
	return !checks(r) && !r->under.method && r->order_count && r->limit <= RQL_ROWS_TOP && r->offset <= RQL_ROWS_TOP - r->limit &&
	       r->orders[0].source.kind == RQL_SOURCE_COLUMN && r->orders[0].source.index < r->snapshot->column_count &&
	       !rql_scan_column_refusal(r->snapshot, r->orders[0].source.index, device);
}

/* Whether something may drop a row. */
static bool drops(const struct rql_request *conditions)
{
	bool some = conditions->conjunct_count > 0 || conditions->under.method;
	for (uint32_t j = 0; j < conditions->lookup_count; j++)
		some |= conditions->lookups[j].kind != RQL_LOOKUP_LEFT;
	return some;
}

enum rql_offer rql_scan_list_offer(const struct rql_request *request, const struct rql_device *device,
                                   const char **reason)
{
	struct rql_arena *arena = rql_arena_new();
	struct rql_request conditions;
	struct rql_conjunct *more;
	const char *why = "out of memory";
	if (request->snapshot->blocks > RQL_SCAN_BLOCKS_MOST)
		why = "the table has more than 2^20 blocks";
	else if (reduce(request, arena, &conditions, &more))
		why = drops(&conditions) || may_bound(request, device)
		          ? rql_scan_compute_refusal(&conditions, device)
		          : "no condition drops a row, so there is nothing to find";
	rql_arena_free(arena);
	if (why && reason)
		*reason = why;
	return why ? RQL_OFFER_NO : RQL_OFFER_FULL;
}

/* ---- a bound for the first key ---- */

/* All values: the place of the step that the bound will be. */
static struct rql_conjunct anything(uint32_t index, const struct rql_store_column *column)
{
	struct rql_conjunct c = {.test = RQL_TEST_IN_RANGE, .index = index, .or_null = true};
	if (column->kind == RQL_STORE_REAL) {
		c.test = RQL_TEST_IN_REALS;
		c.real_least = -(double)INFINITY;
		c.real_greatest = (double)NAN;
	} else if (column->kind == RQL_STORE_CODED) {
		c.greatest = column->dimension->count;
	} else {
		c.least = column->least;
		c.greatest = column->greatest;
	}
	return c;
}

/* The sample that others have taken, with a step more, which drops nothing. False: it has no room for that. */
static bool sample_with(const struct rql_sample *sample, uint32_t step, struct rql_sample *out)
{
	*out = *sample;
	if (!sample->taken || sample->step_count == RQL_SAMPLED_STEPS || step > sample->step_count)
		return false;
	for (uint32_t s = out->step_count++; s > step; s--) {
		out->steps[s] = out->steps[s - 1];
		out->costs[s] = out->costs[s - 1];
		out->runs[s] = out->runs[s - 1];
	}
	out->steps[step] = 1;
	out->costs[step] = -1;
	out->runs[step] = 1;
	return true;
}

rql_status rql_scan_list_prepare(struct rql_prepared *p, const struct rql_request *request, struct rql_error *err)
{
	struct rql_request sampled = *request;
	struct rql_sample sample = {0}, bounded;
	struct rql_request conditions;
	struct rql_conjunct *more;
	if (!sampled.sample)
		sampled.sample = &sample;
	p->bound_step = RQL_NONE;
	RQL_TRY(rql_scan_rows_prepare(&sampled, p->stage.device, &p->rows, err));
	struct rql_arena *arena = rql_arena_new();
	bool reduced = reduce(request, arena, &conditions, &more);
	conditions.sample = sampled.sample;
	const uint32_t step = reduced ? conditions.conjunct_count : 0;
	if (reduced && may_bound(request, p->stage.device) && rql_rows_boundable(p->rows) &&
	    sample_with(sampled.sample, step, &bounded)) {
		const uint32_t key = p->rows->fields[0].column;
		*more = anything(key, &p->snapshot->columns[key]);
		conditions.conjunct_count++;
		conditions.sample = &bounded;
		p->bound_step = step;
		p->bound_rows = rql_rows_bound_guess(p->rows);
	}
	rql_status status = reduced ? rql_scan_prepare(&conditions, p->stage.device, &p->scan, err)
	                            : rql_error_memory(err, 4096, "a query on a GPU");
	rql_arena_free(arena);
	return status;
}

/* Ranges of codes may have NULL's, the last one, in them. Those that are a request's never mean it. */
static bool has_null_code(const struct rql_scan *scan, const struct rql_scan_step *step)
{
	const struct rql_dimension *d = scan->snapshot->columns[step->index].dimension;
	return step->filter.kind == RQL_FILTER_CODE_RANGE && d->has_null && step->filter.code_greatest + 1 >= d->count;
}

rql_status rql_scan_list_bound(struct rql_prepared *p, struct rql_progress *progress, struct rql_error *err)
{
	struct rql_scan *scan = p->scan;
	struct rql_rows_run run;
	struct rql_scan_step step;
	bool found = false;
	if (p->bound_step == RQL_NONE)
		return RQL_OK;
	rql_status status = rql_rows_open(&run, p->rows, p->stage.device, NULL, progress, err);
	if (status == RQL_OK)
		status = rql_rows_bound(&run, &step, &p->bound_rows, &found, err);
	rql_rows_close(&run);
	if (status == RQL_ERROR_HOST) { /* an expression fails in some row: the run itself will say whether it is wanted */
		rql_error_clear(err);
		status = RQL_OK;
	}
	RQL_TRY(rql_stage_on_host(status, err));
	struct rql_scan_step *at = &scan->steps[p->bound_step];
	if (found) {
		step.cost = at->cost;
		step.pass = at->pass;
		step.or_null |= has_null_code(scan, &step);
		*at = step;
		rql_scan_estimate(scan, NULL);
		rql_scan_dismiss(scan);
	} else {
		scan->step_count--;
		memmove(at, at + 1, (scan->step_count - p->bound_step) * sizeof(*at));
		p->bound_rows = 0;
	}
	p->bound_step = RQL_NONE;
	rql_scan_compute_plan_free(&p->plan);
	return RQL_OK;
}

/* ---- sizes ---- */

static double all_items(const struct rql_prepared *p)
{
	return p->placed ? p->table.item_count : (double)p->snapshot->blocks * p->scan->read_share;
}

double rql_scan_list_part(const struct rql_prepared *p)
{
	double items = all_items(p);
	return items > 0 ? fmin(1, p->items / items) : 1;
}

/* Rows that share the last wanted one's value of the first key: at least as many as in even shares. */
static double expected_ties(const struct rql_scan_rows *rows)
{
	const struct rql_rows_field *first = &rows->fields[0];
	double passed = rows->scan->pass * (double)rows->scan->snapshot->rows;
	return first->real ? 0 : passed / ((double)first->span + 1);
}

/* Of all blocks. What a run has counted is better than an estimate. */
static double expected(const struct rql_prepared *p)
{
	double passed = p->scan->pass * (double)p->snapshot->rows;
	if (p->counted)
		return (double)p->counted;
	return p->bound_rows > 0 ? fmin(passed, p->bound_rows * (double)p->rows->wanted + expected_ties(p->rows)) : passed;
}

double rql_scan_list_expected(const struct rql_prepared *p)
{
	return expected(p) * rql_scan_list_part(p);
}

/* Room for the rows that `items` blocks are expected to list. */
static uint64_t capacity_for(const struct rql_prepared *p, double items)
{
	double all = fmax(all_items(p), 1), listed = expected(p) * fmin(1, items / all);
	return (uint64_t)fmin(LIST_ROOM * listed + LIST_LEAST, fmax(items, 1) * RQL_STORE_BLOCK);
}

/* Whether the first rows that are found will do. */
static bool is_limited(const struct rql_prepared *p)
{
	return !p->rows->field_count && p->rows->wanted != UINT64_MAX;
}

void rql_scan_list_size(struct rql_prepared *p)
{
	double items = all_items(p), passed = expected(p), wanted = (double)p->rows->wanted;
	if (is_limited(p) && wanted < passed)
		items = fmin(items, 1 + fmin(ITEMS_LEAST, ROWS_AHEAD * items / passed) + ITEMS_ROOM * items * wanted / passed);
	p->items = (uint32_t)ceil(items);
	p->capacity = capacity_for(p, items);
}

bool rql_scan_list_direct(uint64_t capacity)
{
	return capacity * sizeof(uint32_t) <= RQL_SCAN_DIRECT_BYTES;
}

bool rql_scan_list_grow(struct rql_prepared *p, const struct rql_scan_context *x, uint64_t found)
{
	uint64_t room = x->capacity;
	if (x->items == p->table.item_count)
		p->counted = found;
	if (found > x->capacity) {
		room = found + found / 8;
	} else if (x->items < p->table.item_count && !(is_limited(p) && found >= p->rows->wanted)) {
		uint64_t items = (x->items + UINT64_C(1)) * GROW_ITEMS;
		items = items < p->table.item_count ? items : p->table.item_count;
		p->items = items > p->items ? (uint32_t)items : p->items;
		room = capacity_for(p, p->items);
	} else {
		return false;
	}
	p->capacity = room > p->capacity ? room : p->capacity;
	return true;
}

/* ---- runs ---- */

static rql_status fetch(const struct rql_scan_context *x, uint64_t count, uint32_t *to, struct rql_error *err)
{
	const uint64_t bytes = count * sizeof(*to);
	if (x->rows)
		return rql_buffer_download(x->rows, 0, to, bytes, err);
	memcpy(to, (const uint64_t *)x->result->map + RQL_SCAN_STATE_WORDS, bytes);
	return RQL_OK;
}

/* ---- rows that others have listed ---- */

#define LISTED_ROOM UINT64_C(256) /* rows of a segment, at first */
#define LISTED_MOST 4096.0        /* rows that are expected in all: they are looked up by few threads */
#define LISTED_GROWN UINT64_C(65536) /* rows of a segment that runs may find: one workgroup writes them, in some 6 ms */

void rql_scan_list_ask(struct rql_prepared *p)
{
	const struct rql_scan *scan = p->scan;
	struct rql_stage *input = p->stage.inputs[0];
	p->listed = !scan->step_count && !scan->join_count && !scan->under_lists && expected(p) <= LISTED_MOST &&
	            input->ops->list_rows && input->ops->list_rows(input, LISTED_ROOM);
}

static void listed_rows(const struct rql_prepared *p, const struct rql_scan_context *x, struct rql_rows *out)
{
	p->stage.inputs[0]->ops->rows(p->stage.inputs[0], x->base.inputs[0], out);
}

bool rql_scan_listed_grow(struct rql_prepared *p, const struct rql_scan_context *x)
{
	struct rql_stage *input = p->stage.inputs[0];
	struct rql_rows rows;
	uint64_t most = 0;
	listed_rows(p, x, &rows);
	for (uint32_t i = 0; i < rows.list_count; i++)
		most = rows.listed[i] > most ? rows.listed[i] : most;
	if (most <= rows.list_room)
		return false;
	p->listed = p->listed && most <= LISTED_GROWN && input->ops->list_rows(input, most);
	if (!p->listed) /* for good: values differ, and the longest counts */
		(void)input->ops->list_rows(input, 0);
	return true;
}

/* All lists as one, each row once. */
static rql_status take_listed(const struct rql_prepared *p, const struct rql_scan_context *x,
                              const struct rql_stage_run *run, struct rql_error *err)
{
	struct rql_scan_list *list = run->own;
	struct rql_rows rows;
	uint64_t count = 0, kept = 0;
	listed_rows(p, x, &rows);
	for (uint32_t i = 0; i < rows.list_count; i++)
		count += rows.listed[i];
	RQL_TRY(rql_stage_on_host(RQL_MEM_ARRAY(&list->mem, list->entries, count, err), err));
	const uint32_t *from = rows.listed + rows.list_count;
	for (uint32_t i = 0; i < rows.list_count; i++, from += rows.list_room) {
		memcpy(list->entries + kept, from, rows.listed[i] * sizeof(*from));
		kept += rows.listed[i];
	}
	rql_rows_ascend(list->entries, count);
	for (uint64_t i = kept = 0; i < count; i++)
		if (!i || list->entries[i] != list->entries[i - 1])
			list->entries[kept++] = list->entries[i];
	if (run->timed)
		RQL_TRY(rql_stage_times(&x->base, run->arena, run->port, err));
	list->count = kept;
	run->port->cells_read = run->port->cells_covered = kept;
	run->port->runs = rows.list_count;
	run->port->bytes_read = count * sizeof(*from);
	return RQL_OK;
}

/* The list is taken out of the context, which the next run may then have. */
rql_status rql_scan_list_take(struct rql_prepared *p, struct rql_scan_context *x, const struct rql_stage_run *run,
                              struct rql_error *err)
{
	struct rql_port *answer = run->port;
	if (!x)
		return RQL_OK;
	if (x->listed)
		return take_listed(p, x, run, err);
	const uint64_t count = ((const uint64_t *)x->result->map)[RQL_SCAN_STATE_FOUND];
	const uint64_t most = (uint64_t)x->items * RQL_STORE_BLOCK, rows = most < p->table.rows ? most : p->table.rows;
	const double part = (double)x->items / p->table.item_count;
	struct rql_scan_list *list = run->own;
	RQL_TRY(rql_stage_on_host(RQL_MEM_ARRAY(&list->mem, list->entries, count, err), err));
	if (count)
		RQL_TRY(fetch(x, count, list->entries, err));
	if (run->timed)
		RQL_TRY(rql_stage_times(&x->base, run->arena, answer, err));
	list->count = count;
	answer->cells_read = rows;
	answer->cells_covered = count;
	answer->runs = x->items;
	answer->bytes_read =
		(uint64_t)(part * (p->table.bytes + rql_scan_late_bytes(p, rows ? (double)count / (double)rows : 0)));
	return RQL_OK;
}

bool rql_scan_list_empty(const struct rql_prepared *p)
{
	return !p->rows->limit;
}

rql_status rql_scan_list_run(const struct rql_prepared *prepared, struct rql_device *device, const struct rql_run *run,
                             struct rql_port *out, struct rql_error *err)
{
	struct rql_scan_list list = {0};
	struct rql_port answer = {.kind = RQL_PORT_BATCH};
	struct rql_batch *batch = NULL;
	/* What a run keeps for the next one is not part of what others see. */
	struct rql_prepared *p = (struct rql_prepared *)(uintptr_t)prepared;
	rql_status status = RQL_OK;
	rql_mem_init(&list.mem, prepared->rows->budget, "the rows of a query");
	if (!rql_scan_list_empty(prepared))
		status = rql_stage_run(&p->stage, run, &list, &answer, err);
	if (status == RQL_OK) {
		status = rql_rows_run_listed(prepared->rows, device, run->progress, list.entries, list.count, &batch, err);
		status = rql_stage_on_host(status, err);
	}
	rql_mem_clear(&list.mem);
	RQL_TRY(status);
	answer.batch = batch;
	answer.group_count = batch->rows;
	*out = answer;
	return RQL_OK;
}

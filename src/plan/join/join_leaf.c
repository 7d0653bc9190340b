/* The chain of methods that joins a block's relations on a GPU, and the leaf above it, on one device: of several methods
 * the cheapest. */
#include <math.h>
#include <string.h>

#include "bind/block/price_host.h"
#include "flow/join/join_keys.h"
#include "plan/join/join.h"
#include "plan/join/join_order.h"
#include "plan/price/await.h"
#include "plan/price/rows_as_columns.h"

/* Rows that a join may give, for each that is expected: what is found beyond is the host's. */
#define ROWS_PER_EXPECTED 64.0
#define ROWS_LEAST ((uint64_t)1 << 22)
#define ROWS_MOST UINT64_C(0xf0000000)
#define RIVALS_MOST 4u /* methods that are compared for one request */

/* What there is so far: rows of several relations, by one method. */
struct chain {
	struct rql_columns_source source;
	uint32_t column_count;
	struct chained { /* where a column of the form is from */
		uint32_t relation, column;
	} * columns;
	struct rql_form_column *form;
};

struct building {
	struct rql_join_graph *g;
	struct rql_device *device;
	bool joined[RQL_JOIN_RELATIONS];
	uint32_t next; /* step */
	struct rql_error *err;
};

static bool switched_off(const struct rql_planning *p, uint32_t m)
{
	return p->ctx->settings->disabled_methods >> m & 1;
}

/* Rows are read and put out by the compute unit. Where the raster unit is asked for, it does the joins, and the groups that
 * it can do. */
static bool may_use(const struct building *b, const struct rql_method *method, const struct rql_request *request)
{
	const struct rql_settings *settings = b->g->p->ctx->settings;
	const bool raster = rql_join_wants_raster(settings);
	if (method->unit == RQL_UNIT_COMPUTE)
		return !raster || !request->pair;
	return method->unit == RQL_UNIT_RASTER && (raster || !settings->unit_forced) &&
	       !rql_device_refused(settings, b->device, RQL_UNIT_RASTER);
}

static void keep_raster(const struct rql_method **methods, uint32_t *count)
{
	uint32_t kept = 0;
	for (uint32_t m = 0; m < *count; m++)
		if (methods[m]->unit == RQL_UNIT_RASTER)
			methods[kept++] = methods[m];
	*count = kept ? kept : *count;
}

/* The methods that take the request on the device; *reason: why another does not. */
static uint32_t offers(struct building *b, const struct rql_request *request, const struct rql_method **out,
                       const char **reason)
{
	const struct rql_settings *settings = b->g->p->ctx->settings;
	uint32_t count = 0;
	for (uint32_t m = 0; rql_methods()[m]; m++) {
		const struct rql_method *method = rql_methods()[m];
		if (may_use(b, method, request) && !switched_off(b->g->p, m) && rql_method_takes(method, request) &&
		    method->offer(request, b->device, reason) == RQL_OFFER_FULL && count < RIVALS_MOST)
			out[count++] = method;
	}
	if (rql_join_wants_raster(settings))
		keep_raster(out, &count);
	return count;
}

/* Of those that join two sides. */
static const struct rql_method *cheapest_join(const struct building *b, const struct rql_request *request,
                                              const struct rql_method *const *rivals, uint32_t count)
{
	const struct rql_store_snapshot *forms[] = {request->pair->probe.form, request->pair->build.form, request->gives};
	const struct rql_pair_size size = {.rows = {request->pair->probe.rows, request->pair->build.rows},
	                                   .row_bytes = {rql_form_offset(forms[0], forms[0]->column_count),
	                                                 rql_form_offset(forms[1], forms[1]->column_count)},
	                                   .out_rows = request->expected,
	                                   .out_bytes = rql_form_offset(forms[2], forms[2]->column_count)};
	const struct rql_method *best = rivals[0];
	for (uint32_t r = 1; r < count; r++)
		if (rivals[r]->pair_ns(&b->device->profile, &size) < best->pair_ns(&b->device->profile, &size))
			best = rivals[r];
	return best;
}

/* One of several that read the same rows, or the same table. */
static rql_status prepare_rival(struct building *b, const struct rql_request *request, const struct rql_method *method,
                                struct rql_prepared **out, struct rql_cost *cost)
{
	rql_columns_hold(&request->from);
	rql_status status = method->prepare(request, b->device, out, b->g->err);
	if (status == RQL_OK)
		method->price(*out, b->device, cost);
	else
		rql_columns_unshare((struct rql_columns_source *)(uintptr_t)&request->from, false);
	return status;
}

/* The cheapest of them: the rows that come in are its own afterwards, or the caller's after an error. */
static rql_status choose(struct building *b, const struct rql_request *request, const struct rql_method **rivals,
                         uint32_t count, const struct rql_method **method, struct rql_prepared **out)
{
	struct rql_request mine = *request;
	rql_status status = RQL_OK;
	double least = 0;
	*out = NULL;
	RQL_TRY(rql_columns_share(&request->from, &mine.from, b->g->err));
	for (uint32_t r = 0; r < count && status != RQL_ERROR_MEMORY; r++) {
		struct rql_prepared *prepared;
		struct rql_cost cost;
		if (*out)
			rql_error_clear(b->g->err);
		status = prepare_rival(b, &mine, rivals[r], &prepared, &cost);
		if (status != RQL_OK)
			continue;
		if (*out && least <= rql_cost_expected(&cost)) {
			rivals[r]->free(prepared);
			continue;
		}
		if (*out)
			(*method)->free(*out);
		*out = prepared;
		*method = rivals[r];
		least = rql_cost_expected(&cost);
	}
	if (*out)
		rql_error_clear(b->g->err);
	rql_columns_unshare(&mine.from, !*out);
	return *out ? RQL_OK : status;
}

/* The cheapest method that takes the request on the device. */
static rql_status prepare(struct building *b, const struct rql_request *request, const struct rql_method **method,
                          struct rql_prepared **out)
{
	const struct rql_method *rivals[RIVALS_MOST];
	const char *reason = NULL;
	const uint32_t count = offers(b, request, rivals, &reason);
	struct rql_request mine = *request;
	if (!count)
		return rql_error_set(b->g->err, RQL_ERROR_UNSUPPORTED, "joined as columns on a GPU: %s",
		                     reason ? reason : "the method is switched off");
	mine.totals = b->g->p->ctx->settings->totals;
	if (count > 1 && !request->pair)
		return choose(b, &mine, rivals, count, method, out);
	*method = count > 1 ? cheapest_join(b, request, rivals, count) : rivals[0];
	return (*method)->prepare(&mine, b->device, out, b->g->err);
}

rql_status rql_join_leaf_prepare(struct rql_join_graph *g, struct rql_device *device, const struct rql_request *request,
                                 const struct rql_method **method, struct rql_prepared **out)
{
	struct building b = {.g = g, .device = device};
	return prepare(&b, request, method, out);
}

void rql_join_drop_source(struct rql_columns_source *source)
{
	if (source->prepared)
		source->method->free(source->prepared);
	if (source->form)
		rql_store_snapshot_release(source->form);
	*source = (struct rql_columns_source){0};
}

/* ---- relations ---- */

/* Rows of one relation, all columns of its form. */
static rql_status open_relation(struct building *b, uint32_t relation, struct chain *out)
{
	struct rql_join_graph *g = b->g;
	struct rql_join_relation *r = &g->relations[relation];
	const struct rql_store_snapshot *snapshot = r->structure->snapshot;
	const struct rql_form_spec spec = {.rows = snapshot->rows,
	                                   .column_count = r->form_count,
	                                   .columns = r->form,
	                                   .source_count = 1,
	                                   .sources = &snapshot};
	struct rql_cost cost;
	*out = (struct chain){.column_count = r->form_count,
	                      .form = r->form,
	                      .columns = RQL_NEW_ARRAY(g->p->arena, struct chained, r->form_count)};
	if (!out->columns)
		return rql_error_memory(g->err, 0, "a plan");
	for (uint32_t c = 0; c < r->form_count; c++)
		out->columns[c] = (struct chained){relation, c};
	RQL_TRY(rql_form_new(&spec, &out->source.form, g->err));
	struct rql_request request = rql_join_relation_request(r, out->source.form);
	request.from = r->source;
	RQL_TRY(prepare(b, &request, &out->source.method, &out->source.prepared));
	r->source.prepared = NULL; /* what was prepared has it now */
	rql_join_drop_source(&r->source);
	out->source.method->price(out->source.prepared, b->device, &cost);
	out->source.rows = cost.rows_out;
	return rql_join_under(g, b->device, r, &request, &out->source);
}

/* ---- joins ---- */

static uint32_t find_column(const struct chain *c, uint32_t relation, uint32_t column)
{
	uint32_t at = 0;
	while (at < c->column_count && (c->columns[at].relation != relation || c->columns[at].column != column))
		at++;
	return at < c->column_count ? at : RQL_NONE;
}

static bool is_read_by(const struct rql_join_graph *g, const struct rql_join_step *step, const struct chained *c)
{
	bool read = step->owner == c->relation && step->outer_column == c->column;
	for (uint32_t i = 0; step->ranges && i < g->ranges->sum_count; i++) {
		const struct rql_join_sum *sum = &g->ranges->sums[i];
		read |= sum->of && sum->relation == c->relation && sum->column == c->column;
	}
	for (uint32_t i = 0; i < step->condition_count; i++)
		read |= step->conditions[i].relation == c->relation && step->conditions[i].outer_column == c->column;
	return read;
}

/* Is a column read by whoever comes behind the step that is made now? */
static bool is_wanted(const struct building *b, const struct chained *c)
{
	const struct rql_join_relation *r = &b->g->relations[c->relation];
	bool wanted = c->column < r->columns.count + r->low_count;
	for (uint32_t s = b->next + 1; s < b->g->step_count && !wanted; s++)
		wanted = is_read_by(b->g, &b->g->steps[s], c);
	return wanted || c->column == RQL_JOIN_MARK || rql_join_is_sum(c->column);
}

/* Rows that a step gives, as far as is known. */
static double expected_rows(const struct rql_join_step *step, const struct chain *outer, const struct chain *inner)
{
	const double rows = rql_join_order_rows(step->kind, outer->source.rows, inner->source.rows, step->distinct);
	return step->mark || step->nearest || step->ranges ? outer->source.rows : step->full ? rows + inner->source.rows : rows;
}

static uint64_t most_rows(const struct rql_join_step *step, const struct chain *outer, double expected)
{
	if (step->kind == RQL_LOOKUP_SEMI || step->kind == RQL_LOOKUP_ANTI || step->mark || step->nearest ||
	    step->ranges)
		return outer->source.form->rows;
	double most = expected * ROWS_PER_EXPECTED;
	return most < (double)ROWS_LEAST ? ROWS_LEAST : most < (double)ROWS_MOST ? (uint64_t)most : ROWS_MOST;
}

/* Where the lower half of each column is in the chain now: both are there. */
static void keep_halves(const struct building *b, struct chain *c)
{
	for (uint32_t i = 0; i < c->column_count; i++) {
		const struct rql_join_relation *r = &b->g->relations[c->columns[i].relation];
		if (c->columns[i].column < r->columns.count && c->form[i].of.low)
			c->form[i].of.low = find_column(c, c->columns[i].relation, r->form[c->columns[i].column].of.low - 1) + 1;
	}
}

/* The columns that go on, of both chains; at least one, so that there are rows to count. mark: the relation that has one;
 * RQL_NONE: none. */
static bool keep_columns(const struct building *b, const struct chain *outer, const struct chain *probe,
                         const struct chain *build, const struct rql_join_step *step, uint32_t probe_key, uint32_t mark,
                         struct chain *out, struct rql_pair_column *columns)
{
	const struct chain *chains[] = {probe, build};
	/* No row of the outer chain comes twice, so that its rows add up to no more than before. */
	const bool once = step->kind == RQL_LOOKUP_SEMI || step->kind == RQL_LOOKUP_ANTI || step->mark || step->single ||
	                  step->nearest || step->ranges;
	struct rql_arena *arena = b->g->p->arena;
	const uint32_t most = probe->column_count + build->column_count + 2 + RQL_PAIR_SUMS;
	out->columns = RQL_NEW_ARRAY(arena, struct chained, most);
	out->form = RQL_NEW_ARRAY(arena, struct rql_form_column, most);
	if (!out->columns || !out->form)
		return false;
	for (uint32_t s = 0; s < 2; s++)
		for (uint32_t c = 0; c < chains[s]->column_count; c++) {
			if (!is_wanted(b, &chains[s]->columns[c]))
				continue;
			out->columns[out->column_count] = chains[s]->columns[c];
			out->form[out->column_count] = chains[s]->form[c];
			out->form[out->column_count].nullable |= step->full || (s && step->kind == RQL_LOOKUP_LEFT);
			out->form[out->column_count].of.has_total &= once && chains[s] == outer;
			columns[out->column_count++] = (struct rql_pair_column){.of_build = s, .column = c};
		}
	if (mark != RQL_NONE) {
		out->columns[out->column_count] = (struct chained){mark, RQL_JOIN_MARK};
		out->form[out->column_count] = (struct rql_form_column){.of = {.name = "mark",
		                                                               .type = rql_type_simple(RQL_TYPE_BOOLEAN),
		                                                               .kind = RQL_STORE_INTEGER,
		                                                               .greatest = 1},
		                                                        .nullable = true};
		columns[out->column_count++] = (struct rql_pair_column){.of_build = true, .column = RQL_PAIR_MARK};
	}
	keep_halves(b, out);
	if (out->column_count)
		return true;
	out->columns[0] = probe->columns[probe_key];
	out->form[0] = probe->form[probe_key];
	out->form[0].nullable |= step->full;
	out->form[0].of.has_total = false; /* its rows may come again */
	columns[out->column_count++] = (struct rql_pair_column){.column = probe_key};
	return true;
}

/* The step's conditions, by columns of both chains. swap: the outer one is built from; then all are equalities. */
static rql_status add_conditions(struct building *b, const struct rql_join_step *step, const struct chain *outer,
                                 const struct chain *inner, bool swap, struct rql_pair *pair)
{
	for (uint32_t i = 0; i < step->condition_count; i++) {
		const struct rql_join_test_of *c = &step->conditions[i];
		struct rql_pair_condition *to = &pair->conditions[pair->condition_count++];
		*to = (struct rql_pair_condition){
			.test = c->test,
			.canonical = c->canonical,
			.of_key = c->of_key,
			.text = c->text,
			.probe_bytes = swap ? c->inner_bytes : c->outer_bytes,
			.build_bytes = swap ? c->outer_bytes : c->inner_bytes,
			.probe = find_column(outer, c->relation, c->outer_column),
			.build = c->inner ? find_column(inner, step->relation, c->inner_column) : RQL_PAIR_TRUE};
		if (to->probe == RQL_NONE || to->build == RQL_NONE)
			return rql_error_set(b->g->err, RQL_ERROR_INTERNAL, "what a join's condition reads is not among its columns");
		const uint32_t probe = to->probe;
		if (swap) {
			to->probe = to->build;
			to->build = probe;
		}
	}
	return RQL_OK;
}

/* A join by ranges: the numbers of each row's matches, behind the columns that go on. */
static rql_status add_sums(struct building *b, const struct chain *outer, const struct chain *inner, struct chain *out,
                           struct rql_pair *pair)
{
	const struct rql_join_ranges *ranges = b->g->ranges;
	struct rql_pair_sum *sums = RQL_NEW_ARRAY(b->g->p->arena, struct rql_pair_sum, RQL_PAIR_SUMS);
	if (!sums)
		return rql_error_memory(b->g->err, 0, "a plan");
	for (uint32_t i = 0; i < ranges->sum_count; i++) {
		const struct rql_join_sum *sum = &ranges->sums[i];
		const bool of_build = sum->relation == ranges->relation;
		const struct chain *side = of_build ? inner : outer;
		sums[i] = (struct rql_pair_sum){.kind = sum->kind, .of_build = of_build};
		if (sum->of && (sums[i].column = find_column(side, sum->relation, sum->column)) == RQL_NONE)
			return rql_error_set(b->g->err, RQL_ERROR_INTERNAL, "what a join by ranges adds up is not among its columns");
		out->columns[out->column_count] = (struct chained){ranges->relation, RQL_JOIN_SUM(i)};
		RQL_TRY(rql_join_sum_column(b->g, sum, side->source.form, sums[i].column, inner->source.form->rows,
		                            &out->form[out->column_count++]));
	}
	pair->sums = sums;
	pair->sum_count = ranges->sum_count;
	return RQL_OK;
}

/* May rows of the side be dropped that have no key of the other one's? Only a relation's own are. */
static bool may_look_up(const struct building *b, const struct rql_join_step *step, bool of_inner)
{
	bool may = !step->full && !step->not_in && !step->mark && !step->nearest && !step->ranges && !step->texts;
	for (uint32_t k = 0; k < step->key_count; k++)
		may &= !step->keys[k].null_safe;
	if (!may)
		return false;
	return of_inner || (!b->next && (step->kind == RQL_LOOKUP_INNER || step->kind == RQL_LOOKUP_SEMI));
}

static void take_looked(const struct building *b, struct rql_join_looked *l, struct chain *of, bool takes)
{
	struct rql_cost cost;
	if (!l->prepared)
		return;
	if (!takes) {
		of->source.method->free(l->prepared);
		return;
	}
	of->source.method->free(of->source.prepared);
	of->source.prepared = l->prepared;
	of->source.method->price(l->prepared, b->device, &cost);
	of->source.rows = cost.rows_out;
	l->relation->under = l->under;
}

/* One of the sides is what an index finds by the other one's keys, where that saves time. It reads these where they lie, and
 * so does the join: they are made once. */
static rql_status look_up_keys(struct building *b, const struct rql_join_step *step, struct chain *outer,
                               struct chain *inner, const uint32_t keys[2], double expected)
{
	struct rql_join_graph *g = b->g;
	struct chain *sides[] = {outer, inner};
	struct rql_join_looked looked[2] = {{.prepared = NULL}};
	const bool forced = g->p->ctx->settings->force_rows;
	struct rql_pair_size size = {.out_rows = expected};
	rql_status status = RQL_OK;
	for (unsigned s = 0; s < 2; s++) {
		size.rows[s] = sides[s]->source.rows;
		size.row_bytes[s] = rql_form_offset(sides[s]->source.form, sides[s]->source.form->column_count);
	}
	for (unsigned s = 0; s < 2 && status == RQL_OK; s++) {
		const struct chain *own = sides[s], *other = sides[!s];
		if (!may_look_up(b, step, s))
			continue;
		looked[s] = (struct rql_join_looked){.relation = &g->relations[s ? step->relation : g->first],
		                                     .rows = &own->source,
		                                     .keys = &other->source,
		                                     .rows_key = keys[s],
		                                     .keys_key = keys[!s],
		                                     .share = fmin(1, other->source.rows / step->distinct),
		                                     .side = s,
		                                     .size = size};
		status = rql_join_look_up(g, b->device, &looked[s]);
	}
	const unsigned best = looked[1].prepared && (!looked[0].prepared || looked[1].saved_ns >= looked[0].saved_ns);
	for (unsigned s = 0; s < 2; s++)
		take_looked(b, &looked[s], sides[s],
		            status == RQL_OK && s == best && (looked[s].saved_ns > 0 || forced));
	return status;
}

/* outer becomes its join with inner. What is prepared takes both sources over. */
static rql_status join(struct building *b, const struct rql_join_step *step, struct chain *outer, struct chain *inner)
{
	struct rql_join_graph *g = b->g;
	const uint32_t outer_key = find_column(outer, step->owner, step->outer_column);
	const uint32_t inner_key = find_column(inner, step->relation, step->inner_column);
	const double expected = expected_rows(step, outer, inner);
	if (outer_key == RQL_NONE || inner_key == RQL_NONE)
		return rql_error_set(g->err, RQL_ERROR_INTERNAL, "a join's key is not among its columns");
	if (expected > (double)ROWS_MOST)
		return rql_error_set(g->err, RQL_ERROR_UNSUPPORTED, "joined as columns on a GPU: a join gives about %.3g rows, more than "
		                     "the %.3g that columns there have at most", expected, (double)ROWS_MOST);
	RQL_TRY(look_up_keys(b, step, outer, inner, (const uint32_t[]){outer_key, inner_key}, expected));
	const bool either = (step->kind == RQL_LOOKUP_INNER && !step->nearest && !step->ranges) ||
	                    (step->full && step->condition_count == step->beside);
	const bool swap = either && inner->source.rows > outer->source.rows;
	const struct chain *probe = swap ? inner : outer, *build = swap ? outer : inner;
	struct chain next = {0};
	struct rql_pair_column *columns =
		RQL_NEW_ARRAY(g->p->arena, struct rql_pair_column, outer->column_count + inner->column_count + 2u);
	const struct rql_store_snapshot *sources[] = {outer->source.form, inner->source.form};
	struct rql_pair pair = {.kind = step->kind,
	                        .not_in = step->not_in,
	                        .mark = step->mark,
	                        .full = step->full,
	                        .single = step->single,
	                        .nearest = step->nearest,
	                        .ranges = step->ranges,
	                        .keyless = step->nearest && !step->key_count,
	                        .null_fails = step->nearest && step->key_count && rql_join_null_finds(),
	                        .probe = probe->source,
	                        .build = build->source,
	                        .probe_key = swap ? inner_key : outer_key,
	                        .build_key = swap ? outer_key : inner_key,
	                        .values = step->distinct,
	                        .texts = step->texts,
	                        .probe_bytes = swap ? step->inner_bytes : step->outer_bytes,
	                        .build_bytes = swap ? step->outer_bytes : step->inner_bytes,
	                        .columns = columns};
	RQL_TRY(add_conditions(b, step, outer, inner, swap, &pair));
	if (!columns || !keep_columns(b, outer, probe, build, step, pair.probe_key,
	                              step->mark ? step->relation : RQL_NONE, &next, columns))
		return rql_error_memory(g->err, 0, "a plan");
	pair.column_count = next.column_count;
	if (step->ranges)
		RQL_TRY(add_sums(b, outer, inner, &next, &pair));
	const struct rql_form_spec spec = {.rows = most_rows(step, outer, expected),
	                                   .column_count = next.column_count,
	                                   .columns = next.form,
	                                   .source_count = 2,
	                                   .sources = sources};
	RQL_TRY(rql_form_new(&spec, &next.source.form, g->err));
	const char *layout = g->p->ctx->settings->layout;
	const struct rql_request request = {.wants = RQL_PORT_COLUMNS,
	                                    .pair = &pair,
	                                    .gives = next.source.form,
	                                    .expected = expected,
	                                    .layout = layout[0] ? layout : NULL};
	rql_status status = prepare(b, &request, &next.source.method, &next.source.prepared);
	if (status != RQL_OK) {
		rql_join_drop_source(&next.source);
		return status;
	}
	next.source.rows = expected;
	g->steps[b->next].unit = rql_unit_name(next.source.method->unit);
	g->steps[b->next].drawn = (struct rql_drawn){.points = 0};
	if (next.source.method->draws)
		next.source.method->draws(next.source.prepared, &g->steps[b->next].drawn);
	outer->source.prepared = inner->source.prepared = NULL; /* the join's */
	rql_join_drop_source(&outer->source);
	rql_join_drop_source(&inner->source);
	*outer = next;
	return RQL_OK;
}

static rql_status join_all(struct building *b, struct chain *out)
{
	struct rql_join_graph *g = b->g;
	RQL_TRY(open_relation(b, g->first, out));
	for (b->next = 0; b->next < g->step_count; b->next++) {
		const struct rql_join_step *step = &g->steps[b->next];
		struct chain inner;
		rql_status status = open_relation(b, step->relation, &inner);
		if (status == RQL_OK)
			status = join(b, step, out, &inner);
		rql_join_drop_source(&inner.source);
		RQL_TRY(status);
	}
	return RQL_OK;
}

/* ---- above ---- */

struct rewriting {
	const struct rql_join_graph *g;
	const struct chain *chain;
};

/* Where the chain has a column of the block. A mark is three-valued: it says what both of a MARK side's columns say. */
static uint32_t column_in(const struct rewriting *w, uint32_t relation, uint32_t index)
{
	const struct rql_join_relation *of = &w->g->relations[relation];
	if (of->side && of->side->kind == RQL_SIDE_MARK)
		return find_column(w->chain, relation, RQL_JOIN_MARK);
	if (rql_join_is_ranged(w->g, relation))
		return find_column(w->chain, relation, RQL_JOIN_SUM(index));
	for (uint32_t c = 0; c < of->columns.count; c++)
		if (of->columns.items[c]->index == index)
			return find_column(w->chain, relation, c);
	return RQL_NONE;
}

static struct rql_expr *to_chain(struct rql_arena *arena, const struct rql_expr *e, void *state)
{
	const struct rewriting *w = state;
	if (e->kind != RQL_EXPR_COLUMN)
		return NULL;
	for (uint32_t r = 0; r < w->g->relation_count; r++) {
		uint32_t at = w->g->relations[r].number == e->table ? column_in(w, r, e->index) : RQL_NONE;
		if (at == RQL_NONE)
			continue;
		struct rql_expr *copy = rql_expr_new(arena, RQL_EXPR_COLUMN, e->type, 0);
		if (copy) {
			copy->index = at;
			copy->alias = e->alias;
		}
		return copy;
	}
	return NULL;
}

static struct rql_expr **rewrite_all(const struct rewriting *w, struct rql_expr *const *from, uint32_t count)
{
	struct rql_arena *arena = w->g->p->arena;
	struct rql_expr **out = RQL_NEW_ARRAY(arena, struct rql_expr *, count + 1u);
	for (uint32_t i = 0; out && i < count; i++)
		if (!(out[i] = rql_expr_transform(arena, from[i], to_chain, (void *)(uintptr_t)w)))
			return NULL;
	return out;
}

/* What is above over the chain's rows, as over a table's. */
static rql_status over_chain(struct rql_join_graph *g, const struct chain *chain, struct rql_block **out,
                             struct rql_structure *rows)
{
	const struct rewriting w = {g, chain};
	struct rql_block *block = RQL_NEW(g->p->arena, struct rql_block);
	struct rql_table_ref *table = RQL_NEW(g->p->arena, struct rql_table_ref);
	uint32_t *ids = RQL_NEW_ARRAY(g->p->arena, uint32_t, chain->column_count + 1u);
	if (!block || !table || !ids)
		return rql_error_memory(g->err, 0, "a plan");
	for (uint32_t c = 0; c < chain->column_count; c++)
		ids[c] = c;
	*table = (struct rql_table_ref){.table = g->relations[g->largest].table};
	*block = g->above;
	block->table_count = 1;
	block->tables = table;
	block->conjuncts = rewrite_all(&w, g->above.conjuncts, g->above.conjunct_count);
	block->groups = rewrite_all(&w, g->above.groups, g->above.group_count);
	block->aggs = rewrite_all(&w, g->above.aggs, g->above.agg_count);
	if (!block->conjuncts || !block->groups || !block->aggs)
		return rql_error_memory(g->err, 0, "a plan");
	*out = block;
	*rows = (struct rql_structure){.snapshot = chain->source.form, .column_ids = ids};
	return RQL_OK;
}

static rql_status bind_above(struct rql_join_graph *g, const struct chain *chain, struct rql_scan_bound *out)
{
	struct rql_structure rows;
	struct rql_block *block;
	struct rql_star *star;
	RQL_TRY(over_chain(g, chain, &block, &rows));
	RQL_TRY(rql_star_make(g->p->arena, block, 0, NULL, &star, g->err));
	return rql_scan_bind(g->p->ctx, g->p->arena, star, &rows, NULL, out, g->err);
}

/* The same over the one relation that there is: nothing is joined, so that it need not be rows before. */
static rql_status bind_alone(struct rql_join_graph *g, struct rql_scan_bound *out)
{
	struct rql_star *star;
	RQL_TRY(rql_star_make(g->p->arena, g->block, 0, NULL, &star, g->err));
	return rql_scan_bind(g->p->ctx, g->p->arena, star, g->relations[0].structure, NULL, out, g->err);
}

/* A condition over rows that are joined sees others than the host's. */
static rql_status check_above(const struct rql_join_graph *g, const struct rql_request *request)
{
	for (uint32_t c = 0; c < request->conjunct_count; c++) {
		const struct rql_source tested = {.kind = RQL_SOURCE_PROGRAM, .index = request->conjuncts[c].index};
		if (request->conjuncts[c].test == RQL_TEST_IS_TRUE && rql_join_can_fail(request, &tested))
			return rql_error_set(g->err, RQL_ERROR_UNSUPPORTED,
			                     "joined as columns on a GPU: a condition over several tables can raise an error");
	}
	return RQL_OK;
}

/* The rows themselves, of a chain, or of the one relation that there is. */
static rql_status bind_rows(struct rql_join_graph *g, const struct chain *chain, struct rql_request *out)
{
	struct rql_rows_block rows = *g->rows;
	struct rql_structure structure;
	struct rql_star *star;
	rows.block = (struct rql_block *)(uintptr_t)g->block;
	if (chain)
		RQL_TRY(over_chain(g, chain, &rows.block, &structure));
	else
		structure = *g->relations[0].structure;
	RQL_TRY(rql_star_make(g->p->arena, rows.block, 0, NULL, &star, g->err));
	RQL_TRY(rql_scan_bind_rows(g->p->ctx, g->p->arena, star, &rows, &structure, NULL, out, g->err));
	return check_above(g, out);
}

/* What is no column of theirs is made before, and *from becomes what gives that. */
static rql_status bind_rows_above(struct building *b, const struct chain *chain, struct rql_request *out,
                                  struct rql_columns_source *from)
{
	struct rql_join_graph *g = b->g;
	struct rql_request wanted, project;
	struct rql_columns_source made = {0};
	struct rql_cost cost;
	RQL_TRY(bind_rows(g, chain, &wanted));
	wanted.order_there = g->p->ctx->settings->force_order;
	*out = wanted;
	if (!wanted.conjunct_count && !wanted.program_count)
		return RQL_OK;
	wanted.from = *from;
	RQL_TRY(rql_rows_as_columns(g->p->arena, &wanted, &project, out, g->err));
	made.form = project.gives;
	rql_status status = prepare(b, &project, &made.method, &made.prepared);
	if (status != RQL_OK) {
		rql_join_drop_source(&made);
		return status;
	}
	from->prepared = NULL; /* what makes them has it now */
	rql_join_drop_source(from);
	made.method->price(made.prepared, b->device, &cost);
	made.rows = cost.rows_out;
	*from = made;
	return RQL_OK;
}

static rql_status fill_leaf(struct rql_join_graph *g, const struct rql_scan_bound *bound, struct rql_leaf *leaf)
{
	struct rql_leaf_scan *scan = RQL_NEW(g->p->arena, struct rql_leaf_scan);
	struct rql_structure *base = rql_join_base(g);
	const char *catalog, *schema;
	if (!scan || !(scan->joins = rql_join_explain(g)))
		return rql_error_memory(g->err, 0, "a plan");
	rql_table_name(base->tables[0], &catalog, &schema, &scan->table);
	scan->rows = base->snapshot->rows;
	scan->blocks = base->snapshot->blocks;
	scan->host_values = rql_join_host_values(g, &leaf->cost);
	scan->wanted = g->wanted;
	leaf->scan = scan;
	leaf->structure = base;
	rql_structure_retain(leaf->structure);
	leaf->host_columns = g->block->column_count;
	if (g->rows) {
		scan->selection = g->rows;
		return RQL_OK;
	}
	leaf->slots = bound->slots;
	leaf->slot_count = g->block->group_count + g->block->agg_count;
	leaf->group_count = bound->key_count;
	leaf->hidden_key = bound->hidden_key;
	leaf->aggs = bound->request.aggs;
	leaf->agg_count = bound->request.agg_count;
	return RQL_OK;
}

static rql_status open_below(struct rql_join_graph *g, struct rql_join_relation *r, struct rql_device *device);

/* Is it a constant, or a column that lies as codes? */
static bool has_codes(struct rql_join_graph *g, const struct rql_expr *e)
{
	const uint32_t at = e->kind == RQL_EXPR_COLUMN ? rql_join_relation_of(g, e->table) : RQL_NONE;
	const struct rql_join_relation *r = at == RQL_NONE ? NULL : &g->relations[at];
	if (!r || (r->side && r->side->kind == RQL_SIDE_MARK))
		return e->kind == RQL_EXPR_CONSTANT;
	const struct rql_expr *own = rql_join_over_own(g, r, e);
	return own && rql_join_is_coded(r, own);
}

/* A branch's outputs that are numbers are those of a UNION ALL as numbers. */
static rql_status make_numbers(struct rql_join_graph *g)
{
	struct rql_block *block = RQL_NEW(g->p->arena, struct rql_block);
	struct rql_expr **outputs = RQL_NEW_ARRAY(g->p->arena, struct rql_expr *, g->block->group_count + 1u);
	if (!block || !outputs)
		return rql_error_memory(g->err, 0, "a plan");
	for (uint32_t i = 0; i < g->block->group_count; i++) {
		outputs[i] = g->block->groups[i];
		if (has_codes(g, outputs[i]) &&
		    !(outputs[i] = (struct rql_expr *)(uintptr_t)rql_join_value(g, outputs[i])))
			return rql_error_memory(g->err, 0, "a plan");
	}
	*block = *g->block;
	block->groups = outputs;
	g->block = block;
	return RQL_OK;
}

/* Groups and aggregates, or rows, over what the relations give on a device. `from` is the caller's to drop, also after an error. */
static rql_status bind_all(struct rql_join_graph *g, struct rql_device *device, struct rql_scan_bound *bound,
                           struct rql_columns_source *from)
{
	struct building b = {.g = g, .device = device};
	struct chain chain = {0};
	*from = (struct rql_columns_source){0};
	for (uint32_t r = 0; r < g->relation_count; r++)
		RQL_TRY(g->relations[r].groups ? open_below(g, &g->relations[r], device) : RQL_OK);
	if (g->is_below && g->rows)
		RQL_TRY(make_numbers(g));
	RQL_TRY(rql_join_steps(g, device));
	if (!g->step_count) {
		*from = g->relations[0].source;
		g->relations[0].source = (struct rql_columns_source){0};
		RQL_TRY(!g->rows      ? bind_alone(g, bound)
		        : g->is_below ? bind_rows(g, NULL, &bound->request)
		                      : bind_rows_above(&b, NULL, &bound->request, from));
	} else {
		RQL_TRY(rql_join_bind(g));
		rql_status status = join_all(&b, &chain);
		*from = chain.source;
		RQL_TRY(status);
		RQL_TRY(!g->rows      ? bind_above(g, &chain, bound)
		        : g->is_below ? bind_rows(g, &chain, &bound->request)
		                      : bind_rows_above(&b, &chain, &bound->request, from));
	}
	bound->request.from = *from;
	return check_above(g, &bound->request);
}

rql_status rql_join_bind_branch(struct rql_join_graph *g, struct rql_device *device, struct rql_request *out,
                                struct rql_columns_source *from)
{
	struct rql_scan_bound bound = {0};
	RQL_TRY(bind_all(g, device, &bound, from));
	*out = bound.request;
	return RQL_OK;
}

/* What stands for a structure whose rows these are. */
static rql_status stand_in(struct rql_join_graph *g, struct rql_join_relation *r)
{
	const struct rql_store_snapshot *form = r->source.form;
	struct rql_structure *structure = RQL_NEW(g->p->arena, struct rql_structure);
	uint32_t *ids = RQL_NEW_ARRAY(g->p->arena, uint32_t, form->column_count + 1u);
	if (!structure || !ids)
		return rql_error_memory(g->err, 0, "a plan");
	for (uint32_t c = 0; c < form->column_count; c++)
		ids[c] = c;
	structure->snapshot = form;
	structure->column_ids = ids;
	r->structure = structure;
	return RQL_OK;
}

/* The groups of the graph below, as columns on the device. */
static rql_status open_groups(struct rql_join_relation *r, struct rql_device *device)
{
	struct rql_join_graph *g = r->groups;
	struct building b = {.g = g, .device = device};
	struct rql_scan_bound bound;
	struct rql_columns_source from, *out = &r->source;
	rql_status status = bind_all(g, device, &bound, &from);
	if (status == RQL_OK && bound.hidden_key)
		status = rql_error_set(g->err, RQL_ERROR_UNSUPPORTED, "groups that stay on a GPU: a DISTINCT argument is counted");
	if (status == RQL_OK)
		status = rql_join_groups_form(g->p->arena, bound.slots, g->block->group_count + g->block->agg_count,
		                              &bound.request, g->err);
	if (status == RQL_OK) {
		out->form = bound.request.gives;
		status = prepare(&b, &bound.request, &out->method, &out->prepared);
	}
	if (status == RQL_OK)
		from.prepared = NULL; /* the groups' */
	rql_join_drop_source(&from);
	return status;
}

static rql_status open_below(struct rql_join_graph *g, struct rql_join_relation *r, struct rql_device *device)
{
	struct rql_columns_source *out = &r->source;
	rql_join_drop_source(out);
	RQL_TRY(r->groups->rows ? rql_join_open_union(r->groups, device, out) : open_groups(r, device));
	RQL_TRY(stand_in(g, r));
	out->method->price(out->prepared, device, &r->cost);
	out->rows = r->cost.rows_out;
	r->by = out->method->name;
	return RQL_OK;
}

void rql_join_drop_sources(struct rql_join_graph *g)
{
	for (uint32_t r = 0; r < g->relation_count; r++) {
		struct rql_join_relation *relation = &g->relations[r];
		if (!relation->groups)
			continue;
		rql_join_drop_source(&relation->source);
		relation->structure = NULL;
		for (struct rql_join_graph *below = relation->groups; below; below = below->next)
			rql_join_drop_sources(below);
	}
}

rql_status rql_join_try_device(struct rql_join_graph *g, struct rql_device *device, struct rql_leaf *leaf)
{
	struct building b = {.g = g, .device = device};
	struct rql_scan_bound bound = {0};
	struct rql_columns_source from;
	rql_status status = bind_all(g, device, &bound, &from);
	if (status == RQL_OK && !g->rows && !bound.hidden_key &&
	    !rql_wanted_groups(g->p->arena, g->p->above, bound.slots, g->block->group_count + g->block->agg_count,
	                       &bound.request, &bound.request.wanted, &g->wanted))
		status = rql_error_memory(g->err, 0, "a plan");
	if (status == RQL_OK)
		status = prepare(&b, &bound.request, &leaf->method, &leaf->prepared);
	if (status == RQL_OK) {
		from.prepared = NULL; /* the scan's */
		leaf->device = device;
		leaf->method->price(leaf->prepared, device, &leaf->cost);
		status = fill_leaf(g, &bound, leaf);
	}
	rql_join_drop_source(&from);
	rql_join_drop_sources(g);
	if (status != RQL_OK)
		rql_leaf_clear(leaf);
	return status;
}

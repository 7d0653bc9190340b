/* The rows of a UNION ALL on a device: each branch is a graph of its own, whose outputs become columns of one form. Numbers
 * get one range; texts of different dictionaries the codes of one, which has the values of all. A side that is joined itself
 * is a single branch, whose rows are handed on as they are. */
#include <string.h>

#include "plan/join/join.h"

/* Values of merged dictionaries at most: they are merged while planning. */
#define MERGED_VALUES (UINT32_C(1) << 20)

struct branch {
	struct rql_join_graph *g;
	struct rql_request request;
	struct rql_columns_source from; /* owned; what the request reads */
	struct rql_output *outputs;
	struct rql_form_column *form;
};

struct uniting {
	struct rql_join_graph *g; /* the first branch's */
	struct rql_device *device;
	uint32_t count, column_count;
	struct branch branches[RQL_APPEND_MOST];
	struct rql_form_column *form; /* of the rows of all */
};

static rql_status refuse(const struct uniting *u, const char *why)
{
	return rql_error_set(u->g->err, RQL_ERROR_UNSUPPORTED, "UNION ALL as columns on a GPU: %s", why);
}

/* ---- branches ---- */

static rql_status bind_branch(struct uniting *u, struct rql_join_graph *g)
{
	struct branch *b = &u->branches[u->count++];
	struct rql_arena *arena = g->p->arena;
	*b = (struct branch){.g = g};
	RQL_TRY(rql_join_bind_branch(g, u->device, &b->request, &b->from));
	const uint32_t n = b->request.output_count;
	b->outputs = RQL_NEW_ARRAY(arena, struct rql_output, 2 * n + 1u);
	b->form = RQL_NEW_ARRAY(arena, struct rql_form_column, 2 * n + 1u);
	if (!b->outputs || !b->form)
		return rql_error_memory(u->g->err, 0, "a plan");
	if (n)
		memcpy(b->outputs, b->request.outputs, n * sizeof *b->outputs);
	for (uint32_t c = 0; c < n; c++)
		RQL_TRY(rql_join_describe_any(g, &b->request, c, &b->form[c]));
	u->column_count = n;
	return RQL_OK;
}

/* ---- halves ---- */

/* Column c is the upper half, and `lower` the other one: of a number that is two columns already, or of one that is
 * whole. */
static rql_status halve_output(struct uniting *u, struct branch *b, uint32_t c, uint32_t lower)
{
	struct rql_form_column halves[2] = {b->form[c]};
	const uint32_t low = b->form[c].of.low;
	if (b->form[c].of.kind != RQL_STORE_INTEGER)
		return refuse(u, "a column that is a number in one and a code in another");
	b->outputs[c].type = rql_type_simple(RQL_TYPE_BIGINT);
	b->outputs[lower] = b->outputs[c];
	if (low) {
		b->outputs[lower].source.index = low - 1;
		RQL_TRY(rql_join_describe_any(b->g, &(struct rql_request){.snapshot = b->request.snapshot, .outputs = b->outputs},
		                              lower, &b->form[lower]));
		b->form[c].of.low = lower + 1;
		return RQL_OK;
	}
	if (!rql_form_halve(halves[0].of.least, halves[0].of.greatest, lower, halves))
		return refuse(u, "a number of more than 94 bits");
	b->form[c] = halves[0];
	b->form[lower] = halves[1];
	b->outputs[c].half = RQL_HALF_UPPER;
	b->outputs[lower].half = RQL_HALF_LOWER;
	return RQL_OK;
}

/* A number that is two columns in one branch is so in all: the lower halves lie behind all columns. */
static rql_status halve_columns(struct uniting *u)
{
	const uint32_t columns = u->column_count;
	for (uint32_t c = 0; c < columns; c++) {
		bool halves = false;
		for (uint32_t b = 0; b < u->count; b++)
			halves |= u->branches[b].form[c].of.low != 0;
		for (uint32_t b = 0; b < u->count && halves; b++)
			RQL_TRY(halve_output(u, &u->branches[b], c, u->column_count));
		u->column_count += halves;
	}
	return RQL_OK;
}

/* ---- one dictionary ---- */

static uint32_t values_in(const struct rql_dimension *d)
{
	return d->count - d->has_null;
}

/* The values of both, ascending, each once; maps[s]: the code there of each of side s's. */
static rql_status merge(const struct uniting *u, const struct rql_dimension *const of[2], struct rql_dimension *out,
                        uint32_t *const maps[2])
{
	const uint32_t ends[2] = {values_in(of[0]), values_in(of[1])}, most = ends[0] + ends[1];
	const size_t bytes = rql_type_bytes(of[0]->type);
	uint32_t at[2] = {0};
	*out = (struct rql_dimension){.type = of[0]->type};
	out->values = (struct rql_column){.type = of[0]->type,
	                                  .data = rql_arena_array(u->g->p->arena, most + 1u, bytes),
	                                  .validity = RQL_NEW_ARRAY(u->g->p->arena, uint64_t, most / 64 + 1u)};
	if (!out->values.data || !out->values.validity)
		return rql_error_memory(u->g->err, 0, "a plan");
	while (at[0] < ends[0] || at[1] < ends[1]) {
		const int order = at[0] == ends[0]   ? 1
		                  : at[1] == ends[1] ? -1
		                                     : rql_column_compare(&of[0]->values, at[0], &of[1]->values, at[1]);
		const uint32_t s = order <= 0 ? 0 : 1, code = out->count++;
		memcpy((char *)out->values.data + code * bytes, (const char *)of[s]->values.data + at[s] * bytes, bytes);
		rql_bit_set(out->values.validity, code);
		if (order <= 0)
			maps[0][at[0]++] = code;
		if (order >= 0)
			maps[1][at[1]++] = code;
	}
	return RQL_OK;
}

/* Codes of a column that is in all branches become those of *all: maps[b] is branch b's way there. */
static rql_status merge_all(const struct uniting *u, uint32_t c, struct rql_dimension *all, uint32_t **maps)
{
	struct rql_arena *arena = u->g->p->arena;
	uint64_t values = 0;
	*all = (struct rql_dimension){.type = u->branches[0].form[c].of.dimension->type};
	for (uint32_t b = 0; b < u->count; b++) {
		const struct rql_dimension *d = u->branches[b].form[c].of.dimension;
		if (!rql_type_equal(d->type, all->type))
			return refuse(u, "texts of several types");
		if ((values += d->count) > MERGED_VALUES)
			return refuse(u, "texts of different dictionaries, with more than 2^20 values");
		if (!(maps[b] = RQL_NEW_ARRAY(arena, uint32_t, d->count + 1u)))
			return rql_error_memory(u->g->err, 0, "a plan");
	}
	for (uint32_t b = 0; b < u->count; b++) {
		const struct rql_dimension before = *all, *of[2] = {&before, u->branches[b].form[c].of.dimension};
		uint32_t *moved = RQL_NEW_ARRAY(arena, uint32_t, before.count + 1u);
		if (!moved)
			return rql_error_memory(u->g->err, 0, "a plan");
		RQL_TRY(merge(u, of, all, (uint32_t *const[]){moved, maps[b]}));
		for (uint32_t earlier = 0; earlier < b; earlier++)
			for (uint32_t code = 0; code < values_in(u->branches[earlier].form[c].of.dimension); code++)
				maps[earlier][code] = moved[maps[earlier][code]];
	}
	return RQL_OK;
}

/* ---- columns ---- */

/* The branch's column has numbers instead of codes, whose fields are those of the merged dictionary's codes. */
static rql_status map_output(const struct uniting *u, struct branch *b, uint32_t c, const struct rql_dimension *all,
                             const uint32_t *map)
{
	struct rql_group_key *part = RQL_NEW(u->g->p->arena, struct rql_group_key);
	const uint32_t count = all->count ? all->count : 1;
	if (!part)
		return rql_error_memory(u->g->err, 0, "a plan");
	*part = (struct rql_group_key){
		.source = b->outputs[c].source, .key_of_code = map, .key_count = count, .null_key = RQL_NONE};
	b->outputs[c] =
		(struct rql_output){.type = rql_type_simple(RQL_TYPE_BIGINT), .part_count = 1, .parts = part};
	b->form[c] = (struct rql_form_column){.of = {.name = "code",
	                                             .type = rql_type_simple(RQL_TYPE_BIGINT),
	                                             .kind = RQL_STORE_INTEGER,
	                                             .greatest = (rql_int128)count - 1},
	                                      .nullable = true};
	return RQL_OK;
}

static rql_status unite_codes(struct uniting *u, uint32_t c)
{
	struct rql_dimension *all = RQL_NEW(u->g->p->arena, struct rql_dimension);
	uint32_t *maps[RQL_APPEND_MOST];
	bool same = true;
	for (uint32_t b = 1; b < u->count; b++)
		same &= u->branches[b].form[c].of.dimension->values.data == u->branches[0].form[c].of.dimension->values.data;
	if (same)
		return RQL_OK;
	if (!all)
		return rql_error_memory(u->g->err, 0, "a plan");
	RQL_TRY(merge_all(u, c, all, maps));
	for (uint32_t b = 0; b < u->count; b++)
		RQL_TRY(map_output(u, &u->branches[b], c, all, maps[b]));
	u->form[c].of.dimension = all;
	return RQL_OK;
}

static void add_total(struct rql_store_column *to, const struct rql_store_column *from)
{
	to->has_total &= from->has_total && rql_store_total_add(&to->total, 1, from->total.low, from->total.high);
}

/* What is known of a column in all branches. Integers count from the least value of all. */
static rql_status unite_column(struct uniting *u, uint32_t c)
{
	struct rql_form_column *all = &u->form[c];
	*all = u->branches[0].form[c];
	for (uint32_t b = 1; b < u->count; b++) {
		const struct rql_form_column *one = &u->branches[b].form[c];
		if (one->of.kind != all->of.kind || !rql_type_equal(one->of.type, all->of.type))
			return refuse(u, "a column that is a number in one and a code in another");
		all->nullable |= one->nullable;
		all->of.least = one->of.least < all->of.least ? one->of.least : all->of.least;
		all->of.greatest = one->of.greatest > all->of.greatest ? one->of.greatest : all->of.greatest;
		add_total(&all->of, &one->of);
	}
	if (all->of.kind == RQL_STORE_CODED)
		return unite_codes(u, c);
	for (uint32_t b = 0; b < u->count; b++) {
		u->branches[b].form[c].of.least = all->of.least;
		u->branches[b].form[c].of.greatest = all->of.greatest;
	}
	return RQL_OK;
}

/* ---- the whole ---- */

static rql_status open_branch(struct uniting *u, struct branch *b, struct rql_columns_source *out)
{
	const struct rql_form_spec spec = {.rows = b->request.snapshot->rows,
	                                   .column_count = u->column_count,
	                                   .columns = b->form,
	                                   .source_count = 1,
	                                   .sources = &b->request.snapshot};
	struct rql_cost *cost = &b->g->cost;
	struct rql_request request = b->request;
	RQL_TRY(rql_form_new(&spec, &out->form, u->g->err));
	request.wants = RQL_PORT_COLUMNS;
	request.gives = out->form;
	request.outputs = b->outputs;
	request.output_count = u->column_count;
	request.order_count = 0;
	request.limit = UINT64_MAX;
	request.budget = NULL;
	request.from = b->from;
	RQL_TRY(rql_join_leaf_prepare(b->g, u->device, &request, &out->method, &out->prepared));
	b->from.prepared = NULL; /* what was prepared has it now */
	out->method->price(out->prepared, u->device, cost);
	out->rows = cost->rows_out;
	return RQL_OK;
}

static rql_status append(struct uniting *u, struct rql_columns_source *out)
{
	struct rql_append append = {.count = u->count};
	const struct rql_store_snapshot *sources[RQL_APPEND_MOST];
	struct rql_form_spec spec = {
		.column_count = u->column_count, .columns = u->form, .source_count = u->count, .sources = sources};
	struct rql_request request = {.wants = RQL_PORT_COLUMNS, .append = &append};
	rql_status status = RQL_OK;
	for (uint32_t b = 0; b < u->count && status == RQL_OK; b++) {
		status = open_branch(u, &u->branches[b], &append.of[b]);
		sources[b] = u->branches[b].request.snapshot;
		spec.rows += sources[b]->rows;
		request.expected += append.of[b].rows;
	}
	if (status == RQL_OK)
		status = rql_form_new(&spec, &out->form, u->g->err);
	request.gives = out->form;
	if (status == RQL_OK)
		status = rql_join_leaf_prepare(u->g, u->device, &request, &out->method, &out->prepared);
	for (uint32_t b = 0; b < u->count; b++) {
		if (status == RQL_OK)
			append.of[b].prepared = NULL; /* the method's */
		rql_join_drop_source(&append.of[b]);
	}
	return status;
}

rql_status rql_join_open_union(struct rql_join_graph *first, struct rql_device *device, struct rql_columns_source *out)
{
	struct uniting u = {.g = first, .device = device};
	rql_status status = RQL_OK;
	for (struct rql_join_graph *g = first; g && status == RQL_OK; g = g->next)
		status = bind_branch(&u, g);
	if (status == RQL_OK)
		status = halve_columns(&u);
	if (status == RQL_OK && !(u.form = RQL_NEW_ARRAY(first->p->arena, struct rql_form_column, u.column_count + 1u)))
		status = rql_error_memory(u.g->err, 0, "a plan");
	for (uint32_t c = 0; c < u.column_count && status == RQL_OK; c++)
		status = unite_column(&u, c);
	if (status == RQL_OK)
		status = u.count == 1 ? open_branch(&u, &u.branches[0], out) : append(&u, out);
	for (uint32_t b = 0; b < u.count; b++)
		rql_join_drop_source(&u.branches[b].from);
	return status;
}

/* A dimension's rows as a map that a GPU makes of its columns: a scan, or joins, give keys and outputs of the rows that
 * pass as COLUMNS, and the method of maps (RQL_PORT_MAP) makes the map of them, in one submission. The host reads
 * nothing but what the payloads stand for. The map lies on that device from then on, for the scan that joins with it.
 *
 * Keys are one or two columns: integers on both sides, or codes of a dictionary on either one, which a table makes the
 * other side's. Outputs are integers and codes, with up to 2^62 combinations by their ranges. Who else makes the map
 * says why no GPU does. */

#include <math.h>

#include "bind/block/price_host.h"
#include "bind/star/scan_key_codes.h"
#include "column/map/map_layout.h"
#include "plan/join/join.h"
#include "plan/price/await.h"

/* Fields of a key that are translated: one by one, while planning. */
#define PLACES_MOST (UINT32_C(1) << 24)

/* Fields of a key, as the map's keys: of a dictionary, which several devices' forms share. */
struct translated {
	const struct rql_dimension *of;
	const uint32_t *places;
};

struct setting {
	struct rql_planning *p;
	struct rql_rows_block *rows;
	const struct rql_scan_keys *on;
	uint32_t key_count;
	double cpu_ns; /* 0: nobody knows */
	bool no_nulls; /* rows without a key are none of them */
	struct rql_leaf best; /* of one request on one device; the others are cleared */
	const struct rql_store_snapshot *form; /* of the rows that it reads: the best leaf's */
	struct translated translated[2];
	double sent_bytes;  /* of the map that is priced: what the CPU would have to send, too */
	const char *reason; /* why no GPU makes it; NULL: none was asked */
	struct rql_error why;
};

/* Keys that both columns can have; false: there is none. */
static bool common_range(const struct rql_store_column *from, const struct rql_store_column *to, int64_t *start,
                         uint64_t *span)
{
	if (from->kind != RQL_STORE_INTEGER || to->kind != RQL_STORE_INTEGER)
		return false;
	const rql_int128 least = from->least > to->least ? from->least : to->least;
	const rql_int128 greatest = from->greatest < to->greatest ? from->greatest : to->greatest;
	if (least > greatest || least < INT64_MIN || greatest >= INT64_MAX || greatest - least >= INT64_MAX)
		return false;
	*start = (int64_t)least;
	*span = (uint64_t)(greatest - least) + 1;
	return true;
}

/* Fields that the column can have, with NULL's; 0: they are too many to be translated. */
static uint32_t fields_of(const struct rql_store_column *from)
{
	const rql_int128 values = from->kind == RQL_STORE_CODED ? from->dimension->count : from->greatest - from->least + 1;
	return values >= 0 && values < PLACES_MOST ? (uint32_t)values + 1 : 0;
}

/* What each field of `from` is as a key of `to`, less `least`, plus 1. */
static rql_status fill_places(struct setting *s, const struct rql_store_column *from, const struct rql_store_column *to,
                              int64_t least, uint32_t *places, uint32_t count)
{
	const bool coded = from->kind == RQL_STORE_CODED;
	const int64_t first = coded ? 0 : (int64_t)from->least;
	struct rql_key_codes codes;
	RQL_TRY(rql_key_codes_make(s->p->arena, from, to, &codes, &s->why));
	places[0] = RQL_MAP_NULL_PLACE;
	for (uint32_t f = 1; f < count; f++) {
		int64_t key;
		if (rql_key_code(&codes, first + (int64_t)(f - 1), &key))
			places[f] = (uint32_t)((uint64_t)key - (uint64_t)least) + 1;
	}
	if (coded && from->dimension->has_null)
		places[count - 1] = RQL_MAP_NULL_PLACE;
	return RQL_OK;
}

/* Keys of which a side has codes. *why: they are too many. */
static rql_status translate(struct setting *s, const struct rql_store_column *from, const struct rql_store_column *to,
                            uint32_t k, struct rql_map_keys *out, const char **why)
{
	const bool coded = to->kind == RQL_STORE_CODED;
	const rql_int128 span = coded ? (rql_int128)to->dimension->count : to->greatest - to->least + 1;
	const uint32_t count = fields_of(from);
	struct translated *t = &s->translated[k];
	if (!count || span >= RQL_MAP_NULL_PLACE) {
		*why = "the keys' codes are too many to be translated";
		return RQL_OK;
	}
	out->least[k] = coded ? 0 : (int64_t)to->least;
	out->span[k] = span > 0 ? (uint64_t)span : 1;
	if (!t->of || t->of != from->dimension) {
		uint32_t *places = RQL_NEW_ARRAY(s->p->arena, uint32_t, count);
		if (!places)
			return rql_error_memory(&s->why, count * sizeof *places, "the keys of a map");
		RQL_TRY(fill_places(s, from, to, out->least[k], places, count));
		*t = (struct translated){from->dimension, places};
	}
	out->places[k] = t->places;
	out->place_count[k] = count;
	return RQL_OK;
}

/* Which keys there may be, and whether they lie densely. *why: there is no such map. */
static rql_status lay_keys(struct setting *s, const struct rql_columns_source *rows, struct rql_map_keys *out,
                           const char **why)
{
	const struct rql_store_column *to[] = {s->on->first, s->on->second};
	const uint64_t numbers = rql_map_numbers(rows->form, s->key_count);
	*out = (struct rql_map_keys){.count = s->key_count, .pair = s->on->pair};
	for (uint32_t k = 0; k < s->key_count && !*why; k++) {
		const struct rql_store_column *from = &rows->form->columns[k];
		if (from->low)
			*why = "a key may take more than 64 bits";
		else if (from->kind == RQL_STORE_CODED || to[k]->kind == RQL_STORE_CODED)
			RQL_TRY(translate(s, from, to[k], k, out, why));
		else if (!common_range(from, to[k], &out->least[k], &out->span[k]))
			*why = "no integer is a key on both sides";
	}
	if (!numbers)
		*why = RQL_MAP_NO_NUMBERS;
	if (*why)
		return RQL_OK;
	const uint32_t width = rows->form->column_count > s->key_count ? rql_map_width(numbers) : 0;
	const uint64_t places = rql_map_places(out);
	const double table = (double)rql_map_capacity((uint64_t)rows->rows) * rql_map_entry_bytes(places);
	const double arrays = (double)places / 8 + (double)places * width;
	/* Arrays of nearly nothing are as fast as a table only where the device's cache holds them. */
	out->hashed = !rql_map_suits_arrays(places, width, rows->rows) || arrays > fmax(table, (double)RQL_MAP_CACHED_BYTES);
	s->sent_bytes = out->hashed ? table : arrays;
	return RQL_OK;
}

/* Of the columns that come in, which are the method's then. */
static rql_status prepare_over(struct rql_join_graph *g, struct setting *s, struct rql_device *device,
                               struct rql_columns_source *keys, struct rql_leaf *out,
                               const struct rql_store_snapshot **form)
{
	struct rql_request request = {.snapshot = keys->form, .from = *keys, .wants = RQL_PORT_MAP};
	RQL_TRY(lay_keys(s, keys, &request.map_keys, &s->reason));
	if (s->reason)
		return RQL_OK;
	RQL_TRY(rql_join_leaf_prepare(g, device, &request, &out->method, &out->prepared));
	keys->prepared = NULL;
	*form = keys->form; /* for as long as the leaf is prepared */
	out->device = device;
	out->method->price(out->prepared, device, &out->cost);
	return RQL_OK;
}

/* out->prepared NULL: the device is none for it. */
static rql_status prepare(struct setting *s, struct rql_device *device, struct rql_leaf *out,
                          const struct rql_store_snapshot **form)
{
	struct rql_join_graph *g = RQL_NEW(s->p->arena, struct rql_join_graph);
	struct rql_columns_source keys = {0};
	if (!g)
		return rql_error_memory(&s->why, 0, "a plan");
	*g = (struct rql_join_graph){.p = s->p, .block = s->rows->block, .rows = s->rows, .is_below = true, .err = &s->why};
	RQL_TRY(rql_join_shape(g));
	const struct rql_plan_context *ctx = s->p->ctx;
	if (ctx->device_failure && (s->reason = ctx->device_failure(rql_join_base(g), device)))
		return RQL_OK;
	rql_status status = rql_join_open_union(g, device, &keys);
	if (status == RQL_OK)
		status = prepare_over(g, s, device, &keys, out, form);
	rql_join_drop_source(&keys);
	rql_join_drop_sources(g);
	return status;
}

/* What the CPU takes for the same where the rows that look keys up lie on the device. That is so where nothing else may
 * answer; else it is taken for granted where all that the map is made of lies there already. */
static double against_ns(const struct setting *s, const struct rql_leaf *leaf)
{
	const struct rql_settings *settings = s->p->ctx->settings;
	const struct rql_profile *profile = &leaf->device->profile;
	const bool is_there = settings->unit_forced || settings->only || (leaf->cost.placed_bytes && !leaf->cost.missing_bytes);
	const struct rql_profile *cpu = &s->p->ctx->devices->device[0].profile;
	const double of_host = cpu->host_statement_ns + leaf->cost.cells * s->rows->block->column_count *
	                                                    cpu->host_value_ns * RQL_HOST_INNER_VALUE;
	const double sent = is_there ? profile->submit_ns + s->sent_bytes / profile->upload_gbps : 0;
	return (s->cpu_ns > 0 ? s->cpu_ns : of_host) + sent;
}

static bool lose(struct setting *s, const char *why)
{
	s->reason = why;
	return false;
}

/* It is made for this statement, so that it pays alone for what must be put there first. Who has named the device gets it
 * also where at least half of it lies there. */
static bool pays(struct setting *s, struct rql_leaf *leaf)
{
	const struct rql_plan_context *ctx = s->p->ctx;
	const char *why = NULL;
	struct rql_cost *cost = &leaf->cost;
	if (ctx->device_fits &&
	    !ctx->device_fits(ctx->load_state, leaf->device, cost->device_bytes - cost->placed_bytes, s->p->arena, &why))
		return lose(s, why);
	if (!rql_await_price(s->p, leaf->method, leaf->prepared, leaf->device, cost, &why))
		return lose(s, why);
	const double against = against_ns(s, leaf);
	const bool half_there = rql_await_is_forced(s->p) && cost->missing_bytes <= cost->placed_bytes;
	if (half_there || rql_cost_total(cost) < against)
		return true;
	rql_await_leaf(s->p, leaf, against);
	return lose(s, rql_arena_printf(s->p->arena, "%.3f ms, %.3f ms with the CPU's", rql_cost_total(cost) / 1e6, against / 1e6));
}

static bool may_make(const struct rql_planning *p, const struct rql_device *device)
{
	return device->kind != RQL_DEVICE_CPU && !rql_device_refused(p->ctx->settings, device, RQL_UNIT_COMPUTE);
}

/* Whatever it was, the CPU goes on. */
static rql_status give_up(struct setting *s, rql_status status)
{
	s->reason = rql_arena_strdup(s->p->arena, rql_error_message(&s->why));
	return rql_planning_swallow(s->p, status, &s->why, -1, NULL);
}

static rql_status try_device(struct setting *s, struct rql_device *device)
{
	struct rql_leaf leaf = {0};
	const struct rql_store_snapshot *form = NULL;
	if (!may_make(s->p, device) || !rql_await_device(s->p, device, false))
		return RQL_OK;
	s->reason = NULL;
	rql_status status = prepare(s, device, &leaf, &form);
	if (status != RQL_OK)
		return give_up(s, status);
	if (!leaf.prepared)
		return RQL_OK;
	if (!pays(s, &leaf) || (s->best.prepared && rql_cost_total(&s->best.cost) <= rql_cost_total(&leaf.cost))) {
		rql_leaf_clear(&leaf);
		return RQL_OK;
	}
	rql_leaf_clear(&s->best);
	s->best = leaf;
	s->form = form;
	return RQL_OK;
}

/* ---- what payloads stand for ---- */

/* Of the output's column, for each field; 0 is NULL. */
static void put_value(const struct rql_store_column *column, uint64_t field, struct rql_column *to, uint64_t i)
{
	struct rql_value value = rql_value_null(to->type);
	if (field && column->kind == RQL_STORE_CODED)
		value = rql_column_get(&column->dimension->values, field - 1); /* it may have a NULL as well */
	else if (field)
		value = (struct rql_value){.type = to->type, .integer = column->least + (rql_int128)(field - 1)};
	rql_column_put(to, i, &value);
}

/* Values of so many payloads are made by one thread: whole words of validity. */
#define VALUES_AT_ONCE 16384u

struct making_values {
	const struct rql_store_column *column;
	uint64_t stride, fields;
	const struct rql_port *port;
	struct rql_column *to;
};

static void put_values(void *state, uint64_t chunk, unsigned worker)
{
	const struct making_values *m = state;
	const uint64_t begin = chunk * VALUES_AT_ONCE, count = m->port->map_number_count;
	const uint64_t end = begin + VALUES_AT_ONCE < count ? begin + VALUES_AT_ONCE : count;
	(void)worker;
	for (uint64_t i = begin; i < end; i++)
		put_value(m->column, m->port->map_numbers[i] / m->stride % m->fields, m->to, i);
}

/* One column of values: field number / stride % fields of each payload. Texts are the dictionary's still. */
static rql_status make_values(const struct setting *s, uint32_t output, uint64_t stride, const struct rql_port *port,
                              struct rql_column *to)
{
	const struct rql_store_column *column = &s->form->columns[s->key_count + output];
	const uint64_t count = port->map_number_count;
	struct rql_arena *arena = s->p->arena;
	struct making_values m = {column, stride, rql_map_fields(column), port, to};
	to->type = s->rows->block->groups[s->key_count + output]->type;
	to->data = rql_arena_array(arena, count + 1, rql_type_bytes(to->type));
	to->validity = RQL_NEW_ARRAY(arena, uint64_t, count / 64 + 1);
	if (!to->data || !to->validity)
		return rql_error_memory(s->p->err, count * sizeof(uint64_t), "a map");
	rql_pool_each(s->p->ctx->devices->device[0].pool, (count + VALUES_AT_ONCE - 1) / VALUES_AT_ONCE, put_values, &m);
	return RQL_OK;
}

static rql_status take_values(const struct setting *s, const struct rql_port *port, struct rql_subplan_map *out)
{
	const uint32_t outputs = s->form->column_count - s->key_count;
	uint64_t stride = 1;
	if (!outputs)
		return RQL_OK;
	out->values = RQL_NEW(s->p->arena, struct rql_batch);
	struct rql_column *columns = RQL_NEW_ARRAY(s->p->arena, struct rql_column, outputs);
	if (!out->values || !columns)
		return rql_error_memory(s->p->err, 0, "a map");
	for (uint32_t o = 0; o < outputs; o++) {
		const struct rql_store_column *column = &s->form->columns[s->key_count + o];
		RQL_TRY(make_values(s, o, stride, port, &columns[o]));
		/* A dictionary's NULL, and a field of none, are two numbers for one value. */
		out->repeats |= column->kind == RQL_STORE_CODED && column->dimension->has_null;
		stride *= rql_map_fields(column);
	}
	*out->values = (struct rql_batch){.rows = port->map_number_count, .column_count = outputs, .columns = columns};
	return RQL_OK;
}

static rql_status run(struct setting *s, struct rql_subplan_map *out)
{
	struct rql_port port = {0};
	struct rql_arena *arena = rql_arena_new();
	const struct rql_run how = {.arena = arena, .progress = s->p->ctx->progress};
	if (!arena)
		return rql_error_memory(s->p->err, 0, "a map");
	rql_status status = s->best.method->run(s->best.prepared, s->best.device, &how, &port, &s->why);
	if (status != RQL_OK) {
		rql_arena_free(arena);
		return give_up(s, status);
	}
	status = take_values(s, &port, out);
	rql_arena_free(arena);
	out->made = port.map;
	out->made_rows = port.map_rows - (s->no_nulls ? port.map_nulls : 0);
	out->made_nulls = s->no_nulls ? 0 : port.map_nulls;
	out->made_twice = port.map_twice;
	return status;
}

static const char *describe(const struct setting *s)
{
	struct rql_strbuf text = {0};
	rql_strbuf_put(&text, "stay on a GPU, where the map was made (");
	rql_put_device(&text, s->best.device);
	rql_strbuf_put(&text, ")");
	const char *copy = rql_arena_strdup(s->p->arena, rql_strbuf_text(&text));
	rql_strbuf_free(&text);
	return copy ? copy : "";
}

/* NULLs are no keys of a map: that its only key is none need not be tested, for which its planes would be placed. */
static rql_status drop_null_test(struct setting *s)
{
	struct rql_block *block = s->rows->block;
	struct rql_expr **kept = RQL_NEW_ARRAY(s->p->arena, struct rql_expr *, block->conjunct_count + 1u);
	uint32_t count = 0;
	if (!kept)
		return rql_error_memory(s->p->err, 0, "a plan");
	for (uint32_t i = 0; i < block->conjunct_count; i++) {
		const struct rql_expr *e = block->conjuncts[i];
		if (e->kind == RQL_EXPR_IS_NOT_NULL && rql_expr_equal(e->children[0], block->groups[0]))
			s->no_nulls = true;
		else
			kept[count++] = block->conjuncts[i];
	}
	block->conjuncts = kept;
	block->conjunct_count = count;
	return RQL_OK;
}

/* Tables, groups or unions, joined or not, with conditions on them. */
static rql_status is_plain(struct setting *s, const struct rql_rel *rel, bool *plain)
{
	*plain = false;
	rql_status status = rql_block_make_rows_over(s->p->arena, rel, &s->rows, &s->why);
	if (status != RQL_OK)
		return give_up(s, status);
	const struct rql_rows_block *rows = s->rows;
	*plain = rows->output_count == rel->column_count && rows->output_count >= s->key_count && !rows->order_count &&
	         !rows->offset && rows->limit == UINT64_MAX;
	return *plain && s->key_count == 1 ? drop_null_test(s) : RQL_OK;
}

/* Sub-plans run on the CPU. */
bool rql_subplan_may_make(struct rql_planning *p)
{
	const struct rql_settings *settings = p->ctx->settings;
	bool some = false;
	if (p->is_subplan || (settings->unit_forced && settings->unit != RQL_UNIT_COMPUTE))
		return false;
	if (!settings->only)
		rql_await_devices(p, false);
	for (uint32_t d = 0; d < atomic_load(&p->ctx->devices->count) && !some; d++)
		some = may_make(p, &p->ctx->devices->device[d]);
	return some;
}

rql_status rql_subplan_make(struct rql_planning *p, struct rql_rel *rel, uint32_t key_count,
                            const struct rql_scan_keys *on, double cpu_ns, struct rql_subplan_map *out, bool *found,
                            const char **how)
{
	struct setting s = {.p = p, .on = on, .key_count = key_count, .cpu_ns = cpu_ns};
	bool plain;
	*found = false;
	RQL_TRY(is_plain(&s, rel, &plain));
	rql_status status = RQL_OK;
	for (uint32_t d = 0; d < atomic_load(&p->ctx->devices->count) && status == RQL_OK && plain; d++)
		status = try_device(&s, &p->ctx->devices->device[d]);
	if (status == RQL_OK && s.best.prepared)
		status = run(&s, out);
	*found = out->made != NULL;
	if (*found)
		*how = describe(&s);
	else
		out->no_gpu = s.reason ? s.reason : "its rows are no plain rows of tables";
	rql_leaf_clear(&s.best);
	return status;
}

/* Rows of a key and values, which another method leaves on the device, aggregated by a group-by of primitive/relation/relation.h, on
 * one of several units (group.h); and the unit compute, by partitions. Groups go to the host, or stay as COLUMNS. The
 * output has room for the groups that are expected; what is found beyond it is counted, and the
 * next run has room for that. */
#include "method/group/group.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "util/large.h"

#define ROOM 1.125
#define ROOM_LEAST 4096u
#define RESULT_BYTES 16u
#define COUNT_BYTES 8u
#define DIRECT_BYTES (UINT64_C(1) << 20) /* of groups that come with the run itself */
/* Possible groups: those of fewer lie in shared memory in one pass over the columns as they are. */
#define NUMBERS_LEAST (UINT64_C(1) << 13)
/* Bytes of a row as many times at the speed of reading: no partitions, one pass of them, two (an H200, 2^27 rows of 8
 * bytes: 1.35, 2.91, 6.7 ms). And about how many groups each takes. */
static const double moved[] = {5, 11, 22};
#define PART_GROUPS 700.0
#define PASS_GROUPS (PART_GROUPS * (1u << RQL_PARTITION_PASS_BITS))
#define PASSES 8.0 /* dispatches */

struct rql_prepared {
	struct rql_stage stage; /* first (rql_stage_prepared); its lock: what grows */
	const struct rql_group_unit *unit;
	struct rql_arena *arena;
	struct rql_group_shape shape;
	struct rql_columns_source rows; /* owned */
	uint64_t table_rows;            /* of the snapshot */
	double expected;                /* groups */
	uint64_t capacity, guess, spill;
	struct rql_group_way way;
	uint32_t hashed;  /* of more keys */
	const char *says; /* in the arena: for EXPLAIN */
	struct rql_buffer *tables; /* of fields, for COLUMNS; NULL: there are none, or not yet */
};

struct context {
	struct rql_stage_context base;
	struct rql_buffer *groups, *result, *seen /* READBACK: result */, *direct /* READBACK: groups; NULL: too many */;
	struct rql_buffer *values, *count; /* COLUMNS; NULL: GROUPS */
	uint64_t capacity, guess, spill;
	bool few;
	uint32_t hashed;
	struct rql_group_by by; /* as it is recorded */
	void *own;              /* the unit's */
};

/* ---- what is recorded ---- */

static struct rql_span field_of(const struct rql_columns_port *in, uint32_t column)
{
	return (struct rql_span){in->values, rql_columns_field(in, column)};
}

static struct rql_span output_of(const struct context *x, uint64_t at)
{
	return (struct rql_span){x->groups, at * x->capacity};
}

static void lay_column(const struct context *x, const struct rql_columns_port *in, const struct rql_group_state *state,
                       struct rql_group_by_column *out)
{
	*out = (struct rql_group_by_column){.kind = state->kind,
	                                    .bits = rql_form_bits(&in->form->columns[state->column]),
	                                    .wide_sum = state->wide,
	                                    .values = field_of(in, state->column)};
	if (state->sum)
		out->sum = output_of(x, state->sum_at);
	if (state->min)
		out->min = output_of(x, state->min_at);
	if (state->max)
		out->max = output_of(x, state->max_at);
}

static struct rql_group_by lay_group_by(const struct rql_prepared *p, const struct context *x,
                                        const struct rql_columns_port *in)
{
	const struct rql_group_shape *shape = &p->shape;
	struct rql_group_by by = {.key_bits = shape->key_bits,
	                          .count = in->room,
	                          .found = {in->count, in->count_at},
	                          .keys = field_of(in, 0),
	                          .guess = x->guess,
	                          .spill = x->spill,
	                          .column_count = shape->state_count,
	                          .capacity = x->capacity,
	                          .keys_out = output_of(x, 0),
	                          .counts = output_of(x, shape->key_bits / 8),
	                          .result = {x->result, 0}};
	for (uint32_t s = 0; s < shape->state_count; s++)
		lay_column(x, in, &shape->states[s], &by.columns[s]);
	return by;
}

/* ---- the stage ---- */

/* All that is read is its input's, but for tables of fields. */
static rql_status place(struct rql_stage *stage, struct rql_progress *progress, bool *nothing, struct rql_error *err)
{
	struct rql_prepared *p = rql_stage_prepared(stage);
	struct rql_buffer *tables;
	(void)progress;
	(void)nothing;
	if (!p->shape.table_words || p->tables)
		return RQL_OK;
	RQL_TRY(rql_stage_buffer_new(stage->device, p->shape.table_words * 4, RQL_MEMORY_DEVICE, "the keys of a query's groups",
	                             &tables, err));
	rql_status status = rql_group_fields_upload(&p->shape, tables, err);
	if (status != RQL_OK) {
		rql_stage_buffer_free(tables);
		return status;
	}
	stage->uploaded += p->shape.table_words * 4;
	p->tables = tables;
	return RQL_OK;
}

static rql_status open_columns(const struct rql_prepared *p, struct rql_device *device, struct context *x,
                               struct rql_error *err)
{
	RQL_TRY(rql_stage_buffer_new(device, rql_form_bytes(p->shape.gives, x->capacity), RQL_MEMORY_DEVICE,
	                             "the groups between two steps of a query", &x->values, err));
	return rql_stage_buffer_new(device, COUNT_BYTES, RQL_MEMORY_DEVICE, "the number of groups", &x->count, err);
}

static uint64_t group_bytes(const struct rql_prepared *p, uint64_t capacity)
{
	return p->shape.group_bytes * capacity;
}

static rql_status open_on(struct rql_stage *stage, struct rql_device *device, const struct rql_columns_port *inputs,
                          struct rql_stage_context **out, struct rql_error *err)
{
	const struct rql_prepared *p = rql_stage_prepared(stage);
	struct context *x = calloc(1, sizeof(*x));
	if (!x)
		return rql_error_memory(err, sizeof(*x), "a query's groups");
	*out = &x->base;
	x->capacity = p->capacity;
	x->guess = p->guess;
	x->spill = p->spill;
	x->few = p->way.few;
	x->hashed = p->hashed;
	const uint64_t bytes = group_bytes(p, x->capacity);
	RQL_TRY(rql_stage_buffer_new(device, bytes, RQL_MEMORY_DEVICE, "the groups of a query", &x->groups, err));
	RQL_TRY(rql_stage_buffer_new(device, RESULT_BYTES, RQL_MEMORY_DEVICE, "the number of groups", &x->result, err));
	RQL_TRY(rql_stage_buffer_new(device, RESULT_BYTES, RQL_MEMORY_READBACK, "the number of groups", &x->seen, err));
	if (p->shape.gives)
		RQL_TRY(open_columns(p, device, x, err));
	else if (bytes <= DIRECT_BYTES)
		RQL_TRY(rql_stage_buffer_new(device, bytes, RQL_MEMORY_READBACK, "the groups of a query", &x->direct, err));
	x->by = lay_group_by(p, x, &inputs[0]);
	struct rql_group_more more = {.count = p->shape.more_count, .hashed = x->hashed};
	for (uint32_t k = 0; k < more.count; k++) {
		more.key[k].bits = p->shape.more[k].bits;
		more.key[k].keys = field_of(&inputs[0], k + 1);
		more.key[k].keys_out = output_of(x, p->shape.more[k].at);
	}
	return p->unit->open(device, &x->by, &more, &p->way, &x->own, err);
}

static void close_context(struct rql_stage *stage, struct rql_stage_context *base)
{
	struct context *x = (struct context *)base;
	struct rql_buffer *buffers[] = {x->groups, x->result, x->seen, x->direct, x->values, x->count};
	for (size_t i = 0; i < sizeof(buffers) / sizeof(*buffers); i++)
		rql_stage_buffer_free(buffers[i]);
	rql_stage_prepared(stage)->unit->close(x->own);
	free(x);
}

static bool fits(const struct rql_stage *stage, const struct rql_stage_context *base)
{
	const struct context *x = (const struct context *)base;
	const struct rql_prepared *p = rql_stage_prepared(stage);
	return x->capacity == p->capacity && x->guess == p->guess && x->spill == p->spill && x->few == p->way.few &&
	       x->hashed == p->hashed;
}

static rql_status record(struct rql_stage *stage, struct rql_stage_context *base, struct rql_commands *commands,
                         struct rql_error *err)
{
	const struct context *x = (const struct context *)base;
	const struct rql_prepared *p = rql_stage_prepared(stage);
	RQL_TRY(p->unit->record(commands, &x->by, x->own, err));
	if (p->shape.gives) {
		/* A rehearsal records on a device of its own, where the tables do not lie. */
		struct rql_buffer *tables = p->tables && p->tables->device == x->groups->device ? p->tables : NULL;
		const struct rql_group_fields fields = {.groups = x->groups,
		                                        .result = x->result,
		                                        .tables = tables,
		                                        .values = x->values,
		                                        .count = x->count,
		                                        .room = x->capacity};
		RQL_TRY(rql_group_fields_record(&p->shape, &fields, commands, err));
	}
	rql_record_copy(commands, x->result, 0, x->seen, 0, RESULT_BYTES);
	if (x->direct)
		rql_record_copy(commands, x->groups, 0, x->direct, 0, group_bytes(p, x->capacity));
	return RQL_OK;
}

static uint64_t room_for(const struct rql_prepared *p, double groups)
{
	const uint64_t rows = p->shape.form->rows, possible = p->shape.numbers < rows ? p->shape.numbers : rows;
	return rql_form_room(groups < (double)possible ? groups : (double)possible);
}

static rql_status check(struct rql_stage *stage, struct rql_stage_context *base, bool *again, struct rql_error *err)
{
	struct rql_prepared *p = rql_stage_prepared(stage);
	const struct context *x = (const struct context *)base;
	const uint64_t *seen = x->seen->map, found = seen[0], unplaced = seen[1];
	(void)err;
	if (unplaced) {
		p->hashed = p->shape.more_count; /* many groups may share what some keys have */
		struct rql_group_by more = {.guess = x->guess, .spill = x->spill};
		rql_group_by_retry(&more, found);
		p->guess = more.guess > p->guess ? more.guess : p->guess;
		p->spill = more.spill > p->spill ? more.spill : p->spill;
	}
	if (found > x->capacity) {
		const uint64_t room = room_for(p, (double)found * ROOM);
		p->capacity = room > p->capacity ? room : p->capacity;
	}
	const bool inexact = p->unit->inexact && p->unit->inexact(x->own);
	p->way.few &= !inexact;
	*again = unplaced || inexact || found > x->capacity;
	return RQL_OK;
}

/* Bytes of what begins there of a group. */
static uint64_t width_at(const struct rql_group_shape *shape, uint64_t at)
{
	uint64_t width = at ? 8 : shape->key_bits / 8;
	for (uint32_t s = 0; s < shape->state_count; s++)
		if (shape->states[s].wide && shape->states[s].sum_at == at)
			width = 16;
	for (uint32_t k = 0; k < shape->more_count; k++)
		if (shape->more[k].at == at)
			width = shape->more[k].bits / 8;
	return width;
}

/* Each output's groups, as they lie in memory for `count` of them. */
static rql_status download(const struct rql_group_shape *shape, const struct context *x, uint64_t count, uint8_t *to,
                           struct rql_error *err)
{
	for (uint64_t at = 0; at < shape->group_bytes; at += width_at(shape, at))
		RQL_TRY(rql_buffer_download(x->groups, at * x->capacity, to + at * count, width_at(shape, at) * count, err));
	return RQL_OK;
}

static rql_status take(struct rql_stage *stage, struct rql_stage_context *context, const struct rql_stage_run *run,
                       struct rql_error *err)
{
	const struct rql_prepared *p = rql_stage_prepared(stage);
	const struct context *x = (const struct context *)context;
	struct rql_group_found found = {0};
	struct rql_port answer;
	uint8_t *memory = NULL;
	rql_status status = RQL_OK;
	if (x) {
		found.count = *(const uint64_t *)x->seen->map;
		found.room = x->direct ? x->capacity : found.count;
		found.bytes = x->direct ? x->direct->map : NULL;
	}
	if (!found.bytes && found.count) {
		const uint64_t bytes = p->shape.group_bytes * found.count;
		found.bytes = memory = rql_large_alloc(bytes);
		status = memory ? download(&p->shape, x, found.count, memory, err)
		                : rql_error_memory(err, bytes, "the groups of a query");
	}
	if (status == RQL_OK)
		status = rql_stage_on_host(
			rql_group_answer(&p->shape, &found, stage->device->pool, run->arena, &answer, err), err);
	rql_large_free(memory);
	if (status != RQL_OK)
		return status;
	if (x) {
		answer.cells_read = p->table_rows;
		answer.runs = p->table_rows / RQL_STORE_BLOCK + 1;
	}
	if (x && run->timed)
		RQL_TRY(rql_stage_times(context, run->arena, &answer, err));
	*run->port = answer;
	return RQL_OK;
}

static void columns(const struct rql_stage *stage, const struct rql_stage_context *context, struct rql_columns_port *out)
{
	const struct rql_prepared *p = rql_stage_prepared(stage);
	const struct context *x = (const struct context *)context;
	*out = (struct rql_columns_port){.form = p->shape.gives, .room = x ? x->capacity : p->capacity};
	if (x) {
		out->values = x->values;
		out->count = x->count;
	}
}

static struct rql_group_size size_of(const struct rql_prepared *p, const struct rql_device *device, double groups)
{
	struct rql_group_size size = {.device = device,
	                              .rows = p->rows.rows,
	                              .row_bytes = rql_form_offset(p->shape.form, p->shape.form->column_count),
	                              .groups = groups,
	                              .key_bits = p->shape.key_bits,
	                              .key_words = p->shape.key_bits / 32,
	                              .way = p->way};
	for (uint32_t k = 0; k < p->shape.more_count; k++)
		size.key_words += p->shape.more[k].bits / 32;
	for (uint32_t s = 0; s < p->shape.state_count; s++) {
		const struct rql_group_state *state = &p->shape.states[s];
		rql_group_limbs_add(&size.limbs, state->kind, rql_form_bits(&p->shape.form->columns[state->column]), state->sum,
		                    state->min || state->max);
	}
	return size;
}

static uint64_t bytes_of(const struct rql_stage *stage)
{
	const struct rql_prepared *p = rql_stage_prepared(stage);
	const struct rql_group_size size = size_of(p, stage->device, (double)p->capacity);
	const uint64_t given = p->shape.gives ? rql_form_bytes(p->shape.gives, p->capacity) + p->shape.table_words * 4 : 0;
	return group_bytes(p, p->capacity) + given + (uint64_t)p->unit->bytes(&size);
}

static void tell(const struct rql_stage *stage, const struct rql_stage_context *context, struct rql_drawn *drawn)
{
	const struct rql_prepared *p = rql_stage_prepared(stage);
	if (p->unit->tell)
		p->unit->tell(((const struct context *)context)->own, drawn);
}

static const struct rql_stage_ops ops = {.place = place,
                                         .open_on = open_on,
                                         .close = close_context,
                                         .fits = fits,
                                         .record = record,
                                         .check = check,
                                         .take = take,
                                         .tell = tell,
                                         .columns = columns,
                                         .bytes = bytes_of};

/* ---- the method ---- */

static bool many_groups(const struct rql_request *request)
{
	double numbers = 1;
	for (uint32_t g = 0; g < request->group_count; g++)
		numbers *= request->groups[g].wide_count ? (double)request->groups[g].wide_count
		                                         : (double)request->groups[g].key_count;
	return numbers >= (double)NUMBERS_LEAST;
}

enum rql_offer rql_group_offer(const struct rql_request *request, const struct rql_device *device,
                               const struct rql_group_unit *unit, const char **reason)
{
	const char *why = rql_device_lacks(device, unit->unit);
	if (!why && request->wants == RQL_PORT_COLUMNS && !request->group_output_count)
		return RQL_OFFER_NO; /* whoever gives rows says why not */
	if (!why && unit->for_many && !many_groups(request))
		why = "few groups are possible, which need no partitions";
	return rql_offer_unless(why, reason);
}

/* The first method of the device's compute unit that leaves the rows there. It takes over what they are read from. */
static rql_status prepare_rows(struct rql_prepared *p, const struct rql_request *rows, struct rql_error *err)
{
	const char *reason = "no method gives rows on a device";
	for (uint32_t m = 0; rql_methods()[m]; m++) {
		const struct rql_method *method = rql_methods()[m];
		if (method->unit != RQL_UNIT_COMPUTE || !rql_method_takes(method, rows) ||
		    method->offer(rows, p->stage.device, &reason) != RQL_OFFER_FULL)
			continue;
		RQL_TRY(method->prepare(rows, p->stage.device, &p->rows.prepared, err));
		p->rows.method = method;
		p->rows.form = p->shape.form;
		return RQL_OK;
	}
	return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "grouped by partitions: %s", reason);
}

void rql_group_free(struct rql_prepared *p)
{
	if (!p)
		return;
	rql_stage_clear(&p->stage);
	if (p->rows.method)
		p->rows.method->free(p->rows.prepared);
	rql_stage_buffer_free(p->tables);
	rql_store_snapshot_release(p->shape.form);
	rql_store_snapshot_release(p->shape.gives);
	rql_arena_free(p->arena);
	free(p);
}

static void choose_sizes(struct rql_prepared *p)
{
	struct rql_cost cost;
	const double numbers = p->shape.more_count ? p->shape.distinct : (double)p->shape.numbers;
	p->rows.method->price(p->rows.prepared, p->stage.device, &cost);
	p->rows.rows = cost.rows_out;
	p->expected = numbers * -expm1(-p->rows.rows / numbers); /* rows thrown into groups leave some of them empty */
	p->capacity = room_for(p, p->expected * ROOM + ROOM_LEAST);
	p->guess = (uint64_t)(p->expected * ROOM) + 1;
}

static bool reads_reals(const struct rql_group_shape *shape)
{
	bool some = false;
	for (uint32_t s = 0; s < shape->state_count; s++)
		some |= shape->states[s].kind == RQL_GROUP_BY_REAL_FIELDS;
	return some;
}

rql_status rql_group_prepare(const struct rql_request *request, struct rql_device *device, const struct rql_group_unit *unit,
                             struct rql_prepared **out, struct rql_error *err)
{
	struct rql_request rows;
	struct rql_prepared *p = calloc(1, sizeof(*p));
	struct rql_arena *arena = rql_arena_new();
	rql_status status = p && arena ? RQL_OK : rql_error_memory(err, sizeof(*p), "a query's groups");
	if (status == RQL_OK)
		status = rql_stage_init(&p->stage, &ops, device, err);
	if (status != RQL_OK) {
		rql_arena_free(arena);
		free(p);
		return status;
	}
	p->unit = unit;
	p->arena = arena;
	p->table_rows = request->from.method ? 0 : request->snapshot->rows;
	status = rql_group_bind(request, unit->takes, arena, &p->shape, &rows, err);
	p->hashed = p->shape.hashed;
	if (status == RQL_OK && reads_reals(&p->shape) && !device->limits.float64)
		status = rql_error_set(err, RQL_ERROR_UNSUPPORTED, "grouped by partitions: the device has no doubles");
	const char *why = status == RQL_OK && unit->refusal ? unit->refusal(&p->shape, device, request->totals) : NULL;
	if (why)
		status = rql_error_set(err, RQL_ERROR_UNSUPPORTED, "grouped on the unit %s: %s", rql_unit_name(unit->unit), why);
	if (status == RQL_OK)
		status = prepare_rows(p, &rows, err);
	if (status != RQL_OK) {
		rql_group_free(p);
		return status;
	}
	rql_stage_read(&p->stage, p->rows.method->stage(p->rows.prepared));
	choose_sizes(p);
	if (unit->choose) {
		struct rql_group_size size = size_of(p, device, p->expected);
		unit->choose(&device->profile, request->totals, true, &size);
		p->way = size.way;
		p->says = rql_arena_printf(arena, "%s%s", p->shape.says, rql_group_totals_text(&size.way));
	}
	*out = p;
	return RQL_OK;
}

void rql_group_price(const struct rql_prepared *p, const struct rql_device *device, struct rql_cost *out)
{
	const struct rql_profile *profile = &device->profile;
	const struct rql_store_snapshot *gives = p->shape.gives;
	const double made = p->expected * (double)p->shape.group_bytes;
	const double fields = gives ? p->expected * rql_form_offset(gives, gives->column_count) : 0;
	const struct rql_group_size size = size_of(p, device, p->expected);
	struct rql_cost in;
	p->rows.method->price(p->rows.prepared, device, &in);
	*out = (struct rql_cost){
		.run_ns = profile->submit_ns + p->unit->ns(profile, &size) + (gives ? gives->column_count : 0) * profile->pass_ns +
	              (2 * made + 2 * fields) / profile->read_gbps,
		.transfer_ns = gives ? 0
	                         : made / profile->download_gbps + p->expected * profile->scan.answer_group_ns +
	                               (made > (double)DIRECT_BYTES ? profile->submit_ns : 0),
		.rows_out = p->expected,
		.groups = p->expected,
		.device_bytes = bytes_of(&p->stage),
		.cells = p->rows.rows,
		.runs = in.runs};
	rql_cost_add(out, &in);
}

rql_status rql_group_kernels(const struct rql_prepared *p, rql_see_kernel *see, void *state, struct rql_error *err)
{
	RQL_TRY(rql_columns_kernels(&p->rows, see, state, err));
	/* Drawing is not looked for: its pipelines are of other kinds. */
	return p->unit->unit == RQL_UNIT_COMPUTE ? rql_stage_rehearse(rql_prepared_stage(p), see, state, err) : RQL_OK;
}

uint64_t rql_group_bytes(const struct rql_prepared *p)
{
	return sizeof(*p) + rql_arena_bytes(p->arena) + p->rows.method->bytes(p->rows.prepared);
}

const char *rql_group_way_of(const struct rql_prepared *p)
{
	return p->says;
}

/* ---- the unit compute: the partitioned group-by of primitive/relation/relation.h ---- */

static rql_status open_groups(struct rql_device *device, struct rql_group_by *by, const struct rql_group_more *more,
                              const struct rql_group_way *way, void **own, struct rql_error *err)
{
	struct rql_buffer *temp = NULL;
	(void)more;
	(void)way;
	rql_status status = rql_stage_buffer_new(device, rql_group_by_temp_bytes(by), RQL_MEMORY_DEVICE,
	                                         "the partitions of a query's groups", &temp, err);
	*own = temp;
	by->temp = (struct rql_span){temp, 0};
	return status;
}

static void close_groups(void *own)
{
	rql_stage_buffer_free(own);
}

static rql_status record_groups(struct rql_commands *c, const struct rql_group_by *by, void *own, struct rql_error *err)
{
	(void)own;
	return rql_record_group_by(c, by, err);
}

double rql_group_compute_ns(const struct rql_profile *profile, const struct rql_group_size *size)
{
	const double passes = moved[size->groups <= PART_GROUPS ? 0 : size->groups <= PASS_GROUPS ? 1 : 2];
	return PASSES * profile->pass_ns + size->rows * size->row_bytes * passes / profile->read_gbps;
}

/* The rows once more where they are partitioned, twice where there are two passes. */
static double temp_bytes(const struct rql_group_size *size)
{
	return 2 * size->rows * size->row_bytes;
}

static const struct rql_group_unit by_compute = {.unit = RQL_UNIT_COMPUTE,
                                                 .takes = {.states = RQL_RELATION_COLUMNS},
                                                 .for_many = true,
                                                 .ns = rql_group_compute_ns,
                                                 .open = open_groups,
                                                 .close = close_groups,
                                                 .record = record_groups,
                                                 .bytes = temp_bytes};

static enum rql_offer offer(const struct rql_request *request, const struct rql_device *device, const char **reason)
{
	return rql_group_offer(request, device, &by_compute, reason);
}

static rql_status prepare(const struct rql_request *request, struct rql_device *device, struct rql_prepared **out,
                          struct rql_error *err)
{
	return rql_group_prepare(request, device, &by_compute, out, err);
}

extern const struct rql_method rql_method_group_compute;
const struct rql_method rql_method_group_compute = {
	.name = "group",
	.description = "groups rows on a GPU by partitions of a hash, any number of groups",
	.paper = "Sioulas et al., ICDE 2019, section 4; Karnagel et al., ADMS 2015",
	.unit = RQL_UNIT_COMPUTE,
	.reads = RQL_READS_STORE,
	.takes_columns = true,
	.takes_rows = true,
	.gives = 1u << RQL_PORT_GROUPS | 1u << RQL_PORT_COLUMNS,
	.offer = offer,
	.prepare = prepare,
	.price = rql_group_price,
	.kernels = rql_group_kernels,
	.stage = rql_prepared_stage,
	.run = rql_prepared_run,
	.free = rql_group_free,
	.bytes = rql_group_bytes,
};

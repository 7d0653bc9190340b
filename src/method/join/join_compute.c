/* The join of two sides that other stages leave on a GPU: a stage around a join of primitive/relation/relation.h, whose sides, keys
 * and payloads are columns of forms, on one of several units (join.h), and its unit compute. The output has room for what is
 * expected; what is found beyond it is counted, and the next run has room for that. */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "method/join/join.h"
#include "method/join/pair.h"

#define ROOM 1.125
#define ROOM_LEAST 4096u
#define SIDE_ROWS (RQL_RELATION_ROWS - RQL_FORM_ROWS)
#define COUNT_BYTES 16u /* rows; and of a scalar subquery, was there a second row? */
/* Passes over both sides' keys and payloads, and over the output, as bytes at the speed of reading (an H200 takes 6.2 ms
 * for 2^26 x 2^27 rows of 8 bytes: bench/results, 2026-11-23). */
#define SIDE_PASSES 12.0
#define OUTPUT_PASSES 4.0
#define PASSES 8.0 /* dispatches */

struct rql_prepared {
	struct rql_stage stage; /* first (rql_stage_prepared); its lock: capacity, beyond, failed */
	const struct rql_join_unit *unit;
	struct rql_pair pair;   /* its sources are owned, its columns are ours */
	struct rql_pair_column *columns;
	const struct rql_store_snapshot *form; /* retained: of the rows that come out */
	uint32_t key_bits;
	double expected;
	uint64_t capacity;
	uint64_t beyond;    /* rows that a run has found, more than the form may have; 0: none has */
	const char *failed; /* why a run's output was not to be used; NULL: none was so */
};

struct context {
	struct rql_stage_context base;
	struct rql_buffer *values, *count, *seen /* READBACK: count, as the host reads it */;
	uint64_t capacity;
	struct rql_join join; /* as it is recorded */
	void *own;            /* the unit's */
};

/* ---- what is recorded ---- */

static struct rql_span field_of(const struct rql_columns_port *in, uint32_t column)
{
	return (struct rql_span){in->values, rql_columns_field(in, column)};
}

static struct rql_span output_of(const struct rql_prepared *p, const struct context *x, uint32_t column)
{
	return (struct rql_span){x->values, x->capacity * rql_form_offset(p->form, column)};
}

/* A column that goes with a side's keys, each once; without an output it is a condition's. Where: its number. */
static uint32_t lay_column(struct rql_join_side *side, uint32_t bits, struct rql_span in, struct rql_span out)
{
	uint32_t at = out.buffer ? side->column_count : 0;
	while (at < side->column_count &&
	       (side->columns[at].in.buffer != in.buffer || side->columns[at].in.offset != in.offset))
		at++;
	if (at == side->column_count)
		side->columns[side->column_count++] = (struct rql_relation_column){.bits = bits, .in = in, .out = out};
	return at;
}

static void lay_side(const struct rql_prepared *p, const struct context *x, bool build, const struct rql_columns_port *in,
                     struct rql_join_side *out)
{
	*out = (struct rql_join_side){.count = in->room,
	                              .found = {in->count, in->count_at},
	                              .keys = field_of(in, build ? p->pair.build_key : p->pair.probe_key)};
	for (uint32_t c = 0; c < p->pair.column_count; c++) {
		const struct rql_pair_column *column = &p->columns[c];
		if (column->of_build == build && column->column != RQL_PAIR_MARK)
			lay_column(out, rql_form_bits(&p->form->columns[c]), field_of(in, column->column), output_of(p, x, c));
	}
}

static void lay_conditions(const struct rql_prepared *p, const struct rql_columns_port *probe,
                           const struct rql_columns_port *build, struct rql_join *join)
{
	static const enum rql_join_test tests[] = {[RQL_PAIR_EQ] = RQL_JOIN_EQ, [RQL_PAIR_NE] = RQL_JOIN_NE,
	                                           [RQL_PAIR_LT] = RQL_JOIN_LT, [RQL_PAIR_LE] = RQL_JOIN_LE,
	                                           [RQL_PAIR_GT] = RQL_JOIN_GT, [RQL_PAIR_GE] = RQL_JOIN_GE};
	const struct rql_span nowhere = {.buffer = NULL};
	for (uint32_t i = 0; i < p->pair.condition_count; i++) {
		const struct rql_pair_condition *from = &p->pair.conditions[i];
		const struct rql_store_column *column = &probe->form->columns[from->probe];
		join->conditions[join->condition_count++] = (struct rql_join_condition){
			.test = tests[from->test],
			.real = column->kind == RQL_STORE_REAL && !from->canonical,
			.probe = lay_column(&join->probe, rql_form_bits(column), field_of(probe, from->probe), nowhere),
			.build = from->build == RQL_PAIR_TRUE ? RQL_JOIN_TRUE
			                                      : lay_column(&join->build, rql_form_bits(&build->form->columns[from->build]),
			                                                   field_of(build, from->build), nowhere)};
	}
}

enum rql_join_kind rql_join_kind_of(const struct rql_pair *pair)
{
	static const enum rql_join_kind kinds[] = {[RQL_LOOKUP_INNER] = RQL_JOIN_INNER,
	                                           [RQL_LOOKUP_LEFT] = RQL_JOIN_LEFT,
	                                           [RQL_LOOKUP_SEMI] = RQL_JOIN_SEMI,
	                                           [RQL_LOOKUP_ANTI] = RQL_JOIN_ANTI};
	return pair->mark     ? RQL_JOIN_MARK
	       : pair->not_in ? RQL_JOIN_NOT_IN
	       : pair->full   ? RQL_JOIN_FULL
	                      : kinds[pair->kind];
}

static struct rql_join lay_join(const struct rql_prepared *p, const struct rql_columns_port *probe,
                                const struct rql_columns_port *build, const struct context *x)
{
	struct rql_join join = {.kind = rql_join_kind_of(&p->pair),
	                        .key_bits = p->key_bits,
	                        .has_null_key = true, /* the field of NULL */
	                        .single = p->pair.single,
	                        .capacity = x->capacity,
	                        .rows = {x->count, 0}};
	lay_side(p, x, false, probe, &join.probe);
	lay_side(p, x, true, build, &join.build);
	lay_conditions(p, probe, build, &join);
	for (uint32_t c = 0; c < p->pair.column_count; c++)
		if (p->columns[c].column == RQL_PAIR_MARK)
			join.mark = output_of(p, x, c);
	return join;
}

/* ---- the stage ---- */

static rql_status too_many(const struct rql_prepared *p, struct rql_error *err)
{
	return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "a join gives %llu rows, more than the %llu that the plan was made for",
	                     (unsigned long long)p->beyond, (unsigned long long)p->form->rows);
}

static rql_status failed(const struct rql_prepared *p, struct rql_error *err)
{
	return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "a join on the unit %s: %s", rql_unit_name(p->unit->unit), p->failed);
}

/* All that is read is its inputs'. What one run has found to be too much is not tried again. */
static rql_status place(struct rql_stage *stage, struct rql_progress *progress, bool *nothing, struct rql_error *err)
{
	const struct rql_prepared *p = rql_stage_prepared(stage);
	(void)progress;
	(void)nothing;
	return p->failed ? failed(p, err) : p->beyond ? too_many(p, err) : RQL_OK;
}

static rql_status open_on(struct rql_stage *stage, struct rql_device *device, const struct rql_columns_port *inputs,
                          struct rql_stage_context **out, struct rql_error *err)
{
	const struct rql_prepared *p = rql_stage_prepared(stage);
	struct context *x = calloc(1, sizeof(*x));
	if (!x)
		return rql_error_memory(err, sizeof(*x), "a query's join");
	*out = &x->base;
	x->capacity = p->capacity;
	RQL_TRY(rql_stage_buffer_new(device, rql_form_bytes(p->form, x->capacity), RQL_MEMORY_DEVICE,
	                             "the rows of a join", &x->values, err));
	RQL_TRY(rql_stage_buffer_new(device, COUNT_BYTES, RQL_MEMORY_DEVICE, "the number of rows of a join", &x->count, err));
	RQL_TRY(rql_stage_buffer_new(device, COUNT_BYTES, RQL_MEMORY_READBACK, "the number of rows of a join", &x->seen,
	                             err));
	x->join = lay_join(p, &inputs[0], &inputs[1], x);
	return p->unit->open(device, &p->pair, &x->join, &x->own, err);
}

static void close_context(struct rql_stage *stage, struct rql_stage_context *base)
{
	struct context *x = (struct context *)base;
	struct rql_buffer *buffers[] = {x->values, x->count, x->seen};
	for (size_t i = 0; i < sizeof(buffers) / sizeof(*buffers); i++)
		rql_stage_buffer_free(buffers[i]);
	rql_stage_prepared(stage)->unit->close(x->own);
	free(x);
}

static bool fits(const struct rql_stage *stage, const struct rql_stage_context *base)
{
	return ((const struct context *)base)->capacity == rql_stage_prepared(stage)->capacity;
}

static rql_status record(struct rql_stage *stage, struct rql_stage_context *base, struct rql_commands *commands,
                         struct rql_error *err)
{
	const struct context *x = (const struct context *)base;
	struct rql_prepared *p = rql_stage_prepared(stage);
	RQL_TRY(p->unit->record(commands, &x->join, x->own, err));
	rql_record_copy(commands, x->count, 0, x->seen, 0, p->pair.single ? COUNT_BYTES : COUNT_BYTES / 2);
	return RQL_OK;
}

static rql_status check(struct rql_stage *stage, struct rql_stage_context *base, bool *again, struct rql_error *err)
{
	struct rql_prepared *p = rql_stage_prepared(stage);
	const struct context *x = (const struct context *)base;
	const uint64_t found = *(const uint64_t *)x->seen->map;
	if (p->pair.single && ((const uint64_t *)x->seen->map)[1])
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "a scalar subquery gives more than one row");
	if (p->unit->check && (p->failed = p->unit->check(x->own)))
		return failed(p, err);
	if (found > p->form->rows) {
		p->beyond = found;
		return too_many(p, err);
	}
	if (found <= x->capacity)
		return RQL_OK;
	uint64_t room = rql_form_room((double)found * ROOM), most = rql_form_room((double)p->form->rows);
	room = room < most ? room : most;
	p->capacity = room > p->capacity ? room : p->capacity;
	*again = true;
	return RQL_OK;
}

static void columns(const struct rql_stage *stage, const struct rql_stage_context *context, struct rql_columns_port *out)
{
	const struct context *x = (const struct context *)context;
	const struct rql_prepared *p = rql_stage_prepared(stage);
	*out = (struct rql_columns_port){.form = p->form, .room = x ? x->capacity : p->capacity};
	if (x) {
		out->values = x->values;
		out->count = x->count;
	}
}

static void tell(const struct rql_stage *stage, const struct rql_stage_context *context, struct rql_drawn *drawn)
{
	const struct rql_prepared *p = rql_stage_prepared(stage);
	if (p->unit->tell)
		p->unit->tell(((const struct context *)context)->own, drawn);
}

static uint64_t bytes_of(const struct rql_stage *stage)
{
	const struct rql_prepared *p = rql_stage_prepared(stage);
	return rql_form_bytes(p->form, p->capacity) + (uint64_t)p->unit->bytes(stage->device, &p->pair, p->capacity);
}

static const struct rql_stage_ops ops = {.place = place,
                                         .open_on = open_on,
                                         .close = close_context,
                                         .fits = fits,
                                         .record = record,
                                         .check = check,
                                         .columns = columns,
                                         .tell = tell,
                                         .bytes = bytes_of};

/* ---- the method ---- */

static uint32_t key_bits(const struct rql_columns_source *side, uint32_t key)
{
	return key < side->form->column_count ? rql_form_bits(&side->form->columns[key]) : 0;
}

/* The fields of both keys say the same: they count from one value on, in as many bits, or in one dictionary. */
static bool same_fields(const struct rql_store_column *a, const struct rql_store_column *b)
{
	if (a->kind != b->kind || rql_form_bits(a) != rql_form_bits(b))
		return false;
	return a->kind == RQL_STORE_INTEGER ? a->least == b->least
	       : a->kind == RQL_STORE_REAL  ? true
	       : a->kind == RQL_STORE_CODED && a->dimension->values.data == b->dimension->values.data;
}

/* Both keys are codes of texts. */
static bool are_texts(const struct rql_store_column *a, const struct rql_store_column *b)
{
	return a->kind == RQL_STORE_CODED && b->kind == RQL_STORE_CODED && rql_type_equal(a->type, b->type) &&
	       (a->type.id == RQL_TYPE_VARCHAR || a->type.id == RQL_TYPE_BLOB);
}

/* Columns of a side that go with its keys: those that are handed on, and those of conditions at most. */
static uint32_t carried(const struct rql_pair *pair, bool of_build)
{
	uint32_t count = 0;
	for (uint32_t c = 0; c < pair->column_count; c++)
		count += pair->columns[c].of_build == of_build && pair->columns[c].column != RQL_PAIR_MARK;
	for (uint32_t i = 0; i < pair->condition_count; i++)
		count += !of_build || pair->conditions[i].build != RQL_PAIR_TRUE;
	return count;
}

static const char *kind_refusal(const struct rql_pair *pair)
{
	if ((pair->full || pair->single || pair->mark) && pair->kind != RQL_LOOKUP_LEFT)
		return "a full join, a scalar subquery or a mark is no left join";
	return pair->full + pair->single + pair->mark > 1 ? "a full join with a mark, or of a scalar subquery" : NULL;
}

static const char *condition_refusal(const struct rql_pair *pair)
{
	if (pair->condition_count > RQL_PAIR_CONDITIONS || (pair->condition_count && (pair->mark || pair->not_in)))
		return "an IN with conditions, or a join with more than 4";
	for (uint32_t i = 0; i < pair->condition_count; i++) {
		const struct rql_store_column *a = &pair->probe.form->columns[pair->conditions[i].probe];
		const uint32_t build = pair->conditions[i].build;
		if (build == RQL_PAIR_TRUE ? a->kind != RQL_STORE_INTEGER || a->least
		                           : !(pair->conditions[i].text ? are_texts : same_fields)(a, &pair->build.form->columns[build]))
			return "the columns that a join's condition compares are not of one form";
	}
	return NULL;
}

static const char *refusal(const struct rql_request *request)
{
	const struct rql_pair *pair = request->pair;
	uint32_t of_build = 0;
	for (uint32_t c = 0; c < pair->column_count; c++)
		of_build += pair->columns[c].of_build && pair->columns[c].column != RQL_PAIR_MARK;
	if (carried(pair, true) > RQL_RELATION_COLUMNS || carried(pair, false) > RQL_RELATION_COLUMNS)
		return "a join hands on more than 8 columns of a side, those of conditions included";
	if (!request->gives || request->gives->column_count != pair->column_count)
		return "no form says what a join gives";
	if (!key_bits(&pair->probe, pair->probe_key) || !key_bits(&pair->build, pair->build_key) ||
	    !(pair->texts ? are_texts : same_fields)(&pair->probe.form->columns[pair->probe_key],
	                                             &pair->build.form->columns[pair->build_key]))
		return "the keys of a join are not of one form";
	if (pair->probe.form->rows > SIDE_ROWS || pair->build.form->rows > SIDE_ROWS)
		return "a side of a join may have 2^32 rows or more";
	if (of_build && (pair->kind == RQL_LOOKUP_SEMI || pair->kind == RQL_LOOKUP_ANTI || pair->mark))
		return "a semi or anti join hands on columns of its build side";
	const char *why = kind_refusal(pair);
	return why ? why : condition_refusal(pair);
}

enum rql_offer rql_join_offer(const struct rql_request *request, const struct rql_device *device,
                              const struct rql_join_unit *unit, const char **reason)
{
	if (request->pair->nearest || request->pair->ranges) /* nearest_compute.c and ranges_compute.c say why not */
		return RQL_OFFER_NO;
	const char *why = rql_device_lacks(device, unit->unit);
	if (!why)
		why = refusal(request);
	if (!why && request->pair->texts && unit->unit != RQL_UNIT_RASTER)
		why = "texts of two dictionaries are joined where they are drawn";
	if (!why && unit->refusal)
		why = unit->refusal(request, device);
	return rql_offer_unless(why, reason);
}

rql_status rql_join_prepare(const struct rql_request *request, struct rql_device *device, const struct rql_join_unit *unit,
                            struct rql_prepared **out, struct rql_error *err)
{
	const struct rql_pair *pair = request->pair;
	const uint64_t bytes = pair->column_count * sizeof(*pair->columns);
	struct rql_prepared *p = calloc(1, sizeof(*p));
	struct rql_pair_column *copies = malloc(bytes + 1);
	rql_status status = p && copies ? RQL_OK : rql_error_memory(err, bytes + sizeof(*p), "a query's join");
	if (status == RQL_OK)
		status = rql_stage_init(&p->stage, &ops, device, err);
	if (status != RQL_OK) {
		free(copies);
		free(p);
		return status;
	}
	if (bytes)
		memcpy(copies, pair->columns, bytes);
	p->unit = unit;
	p->pair = *pair;
	p->pair.columns = p->columns = copies;
	p->form = rql_store_snapshot_retain(request->gives);
	p->key_bits = key_bits(&pair->probe, pair->probe_key);
	p->expected = request->expected;
	double room = p->expected * ROOM + ROOM_LEAST, most = (double)p->form->rows;
	p->capacity = rql_form_room(room < most ? room : most);
	rql_stage_read(&p->stage, pair->probe.method->stage(pair->probe.prepared));
	rql_stage_read(&p->stage, pair->build.method->stage(pair->build.prepared));
	*out = p;
	return RQL_OK;
}

#define CROWDED_PAIR 47.0
double rql_join_crowded_ns(const struct rql_pair_size *size)
{
	const double keys = fmax(1, size->rows[0] * size->rows[1] / fmax(1, size->out_rows));
	return fmax(0, size->rows[0] / keys - 1) * fmax(0, size->rows[1] / keys - 1) * CROWDED_PAIR;
}

void rql_join_price(const struct rql_prepared *p, const struct rql_device *device, struct rql_cost *out)
{
	const struct rql_pair_size size = rql_pair_size_of(&p->pair, p->form, p->expected);
	*out = (struct rql_cost){.run_ns = p->unit->pair_ns(&device->profile, &size),
	                         .rows_out = p->expected,
	                         .device_bytes = bytes_of(&p->stage),
	                         .cells = p->expected,
	                         .bytes = p->unit->pair_bytes(&size)};
	rql_pair_price_sides(&p->pair, device, out);
}

rql_status rql_join_kernels(const struct rql_prepared *p, rql_see_kernel *see, void *state, struct rql_error *err)
{
	RQL_TRY(rql_pair_kernels(&p->pair, see, state, err));
	/* Drawing is not looked for: its pipelines are of other kinds. */
	return p->unit->unit == RQL_UNIT_COMPUTE ? rql_stage_rehearse(rql_prepared_stage(p), see, state, err) : RQL_OK;
}

void rql_join_free(struct rql_prepared *p)
{
	if (!p)
		return;
	rql_stage_clear(&p->stage);
	rql_pair_drop_sides(&p->pair);
	rql_store_snapshot_release(p->form);
	free(p->columns);
	free(p);
}

void rql_join_draws(const struct rql_prepared *p, struct rql_drawn *out)
{
	if (p->unit->expect)
		p->unit->expect(&p->pair, out);
}

uint64_t rql_join_bytes(const struct rql_prepared *p)
{
	return sizeof(*p) + rql_pair_host_bytes(&p->pair);
}

/* ---- the unit compute: the partitioned hash join of primitive/relation/relation.h ---- */

static rql_status open_join(struct rql_device *device, const struct rql_pair *pair, struct rql_join *join, void **own,
                            struct rql_error *err)
{
	struct rql_buffer *temp = NULL;
	(void)pair;
	rql_status status = rql_stage_buffer_new(device, rql_join_temp_bytes(join), RQL_MEMORY_DEVICE,
	                                         "the partitions of a join", &temp, err);
	*own = temp;
	join->temp = (struct rql_span){temp, 0};
	return status;
}

static void close_join(void *own)
{
	rql_stage_buffer_free(own);
}

static rql_status record_join(struct rql_commands *c, const struct rql_join *join, void *own, struct rql_error *err)
{
	(void)own;
	return rql_record_join(c, join, err);
}

/* Partitions hold both sides once more, twice where there are two passes. */
static double temp_bytes(const struct rql_device *device, const struct rql_pair *pair, uint64_t capacity)
{
	(void)device;
	const struct rql_columns_source *sides[] = {&pair->probe, &pair->build};
	double bytes = 0;
	(void)capacity;
	for (uint32_t s = 0; s < 2; s++)
		bytes += 2 * sides[s]->rows * rql_form_offset(sides[s]->form, sides[s]->form->column_count);
	return bytes;
}

static double pair_bytes(const struct rql_pair_size *size)
{
	return (size->rows[0] * size->row_bytes[0] + size->rows[1] * size->row_bytes[1]) * SIDE_PASSES +
	       size->out_rows * size->out_bytes * OUTPUT_PASSES;
}

static double pair_ns(const struct rql_profile *profile, const struct rql_pair_size *size)
{
	return PASSES * profile->pass_ns + pair_bytes(size) / profile->read_gbps + rql_join_crowded_ns(size);
}

static const struct rql_join_unit by_compute = {.unit = RQL_UNIT_COMPUTE,
                                                .pair_bytes = pair_bytes,
                                                .pair_ns = pair_ns,
                                                .open = open_join,
                                                .close = close_join,
                                                .record = record_join,
                                                .bytes = temp_bytes};

static enum rql_offer offer(const struct rql_request *request, const struct rql_device *device, const char **reason)
{
	return rql_join_offer(request, device, &by_compute, reason);
}

static rql_status prepare(const struct rql_request *request, struct rql_device *device, struct rql_prepared **out,
                          struct rql_error *err)
{
	return rql_join_prepare(request, device, &by_compute, out, err);
}

const struct rql_method rql_method_join_compute = {
	.name = "join",
	.description = "joins rows of unindexed columns by hash on a GPU, any number of them to a key on both sides",
	.paper = "Sioulas et al., ICDE 2019, sections 4 and 5",
	.unit = RQL_UNIT_COMPUTE,
	.reads = RQL_READS_PAIR,
	.gives = 1u << RQL_PORT_COLUMNS,
	.offer = offer,
	.prepare = prepare,
	.price = rql_join_price,
	.pair_ns = pair_ns,
	.kernels = rql_join_kernels,
	.stage = rql_prepared_stage,
	.run = rql_prepared_run,
	.free = rql_join_free,
	.bytes = rql_join_bytes,
};

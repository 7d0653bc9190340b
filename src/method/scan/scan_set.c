/* A map to build as a sink on a GPU: which keys rows have that lie there as COLUMNS. Their bits are a map's form
 * (column/map_layout.h), so that the buffer becomes the map's placement, and no scan on the device waits for it again.
 * They come to the host, too, a byte for eight keys: whoever plans takes samples by them and leaves blocks out
 * (rql_map_may_meet), and a plan may yet run on the CPU. The rows themselves stay where they are. */
#include <stdlib.h>

#include "column/form.h"
#include "method/method.h"
#include "method/scan/scan_kernels.h"
#include "method/scan/scan_map.h"
#include "shaders/method/scan/scan_set.comp.h"

#define SET_SIZE 256u /* of a workgroup */
#define SEEN_BYTES (RQL_SCAN_SET_SEEN * sizeof(uint32_t))
#define COUNT_BYTES sizeof(uint64_t)

struct rql_prepared {
	struct rql_stage stage; /* first (rql_stage_prepared) */
	struct rql_columns_source from; /* owned */
	const struct rql_store_snapshot *form; /* retained */
	int64_t least;
	uint32_t span;
};

struct context {
	struct rql_stage_context base;
	struct rql_columns_port in;
	struct rql_buffer *bits; /* becomes the map's: NULL then */
	struct rql_buffer *tally;
	struct rql_buffer *seen; /* READBACK: the number of rows, the tally */
};

static const struct rql_kernel set_kernel = {.name = "scan.set",
                                             .spirv = rql_spv_scan_set_comp,
                                             .spirv_bytes = sizeof(rql_spv_scan_set_comp),
                                             .args_bytes = sizeof(struct rql_scan_set_args)};

static uint64_t bits_bytes(const struct rql_prepared *p)
{
	return rql_map_bit_words(p->span) * sizeof(uint32_t);
}

/* ---- the stage ---- */

static rql_status open_on(struct rql_stage *stage, struct rql_device *device, const struct rql_columns_port *inputs,
                          struct rql_stage_context **out, struct rql_error *err)
{
	struct context *x = calloc(1, sizeof *x);
	if (!x)
		return rql_error_memory(err, sizeof *x, "keys of a map");
	*out = &x->base;
	x->in = inputs[0];
	RQL_TRY(rql_buffer_new(device, bits_bytes(rql_stage_prepared(stage)), RQL_MEMORY_DEVICE, "a map of a join", &x->bits,
	                       err));
	RQL_TRY(rql_stage_buffer_new(device, SEEN_BYTES, RQL_MEMORY_DEVICE, "the number of keys of a map", &x->tally, err));
	return rql_stage_buffer_new(device, COUNT_BYTES + SEEN_BYTES, RQL_MEMORY_READBACK, "what a map has", &x->seen, err);
}

static void close_context(struct rql_stage *stage, struct rql_stage_context *base)
{
	struct context *x = (struct context *)base;
	(void)stage;
	rql_buffer_free(x->bits);
	rql_stage_buffer_free(x->tally);
	rql_stage_buffer_free(x->seen);
	free(x);
}

/* A run's bits may be a map by now. */
static bool fits(const struct rql_stage *stage, const struct rql_stage_context *base)
{
	(void)stage;
	return ((const struct context *)base)->bits != NULL;
}

static uint32_t group_size(const struct rql_device *device)
{
	return device->limits.group_size < SET_SIZE ? device->limits.group_size : SET_SIZE;
}

static rql_status record(struct rql_stage *stage, struct rql_stage_context *base, struct rql_commands *commands,
                         struct rql_error *err)
{
	const struct rql_prepared *p = rql_stage_prepared(stage);
	const struct context *x = (const struct context *)base;
	const struct rql_store_column *key = &p->form->columns[0];
	const uint32_t size = group_size(x->bits->device), constants[] = {size, rql_form_bits(key)};
	const struct rql_pipeline *pipeline;
	RQL_TRY(rql_pipeline_get(x->bits->device, &set_kernel, constants, 2, &pipeline, err));
	const struct rql_scan_set_args args = {.count = x->in.count->address + x->in.count_at,
	                                       .room = x->in.room,
	                                       .fields = x->in.values->address + rql_columns_field(&x->in, 0),
	                                       .first = (uint64_t)(int64_t)key->least - (uint64_t)p->least - 1,
	                                       .bits = x->bits->address,
	                                       .seen = x->tally->address,
	                                       .span = p->span};
	const struct rql_use uses[] = {
		{x->in.values, RQL_READ}, {x->in.count, RQL_READ}, {x->bits, RQL_READ_WRITE}, {x->tally, RQL_READ_WRITE}};
	rql_record_fill(commands, x->bits, 0, bits_bytes(p), 0);
	rql_record_fill(commands, x->tally, 0, SEEN_BYTES, 0);
	rql_record_dispatch(commands, set_kernel.name, pipeline, &args, (x->in.room + size - 1) / size, uses, 4);
	rql_record_copy(commands, x->in.count, x->in.count_at, x->seen, 0, COUNT_BYTES);
	rql_record_copy(commands, x->tally, 0, x->seen, COUNT_BYTES, SEEN_BYTES);
	return RQL_OK;
}

static rql_status read_bits(void *state, uint32_t *words, uint64_t bytes, struct rql_error *err)
{
	const struct context *x = state;
	return rql_buffer_download(x->bits, 0, words, bytes, err);
}

static rql_status no_bits(void *state, uint32_t *words, uint64_t bytes, struct rql_error *err)
{
	(void)state, (void)err;
	memset(words, 0, bytes);
	return RQL_OK;
}

/* Bits up to RQL_SCAN_MAP_COPIED lie in each plan's own table. */
static rql_status take(struct rql_stage *stage, struct rql_stage_context *base, const struct rql_stage_run *run,
                       struct rql_error *err)
{
	const struct rql_prepared *p = rql_stage_prepared(stage);
	struct context *x = (struct context *)base;
	struct rql_port *out = run->port;
	if (!x)
		return rql_map_of_bits(p->least, p->span, 0, 0, no_bits, NULL, &out->map, err);
	const uint64_t rows = *(const uint64_t *)x->seen->map;
	const uint32_t *seen = (const uint32_t *)x->seen->map + COUNT_BYTES / sizeof(uint32_t);
	if (rows > x->in.room)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "more rows are on a device than there is room for");
	out->map_rows = out->cells_read = out->cells_covered = rows;
	out->map_nulls = seen[RQL_SCAN_SET_NULLS];
	out->map_twice = seen[RQL_SCAN_SET_FRESH] < seen[RQL_SCAN_SET_KEYS];
	if (run->timed)
		RQL_TRY(rql_stage_times(base, run->arena, out, err));
	RQL_TRY(rql_map_of_bits(p->least, p->span, seen[RQL_SCAN_SET_FRESH], seen[RQL_SCAN_SET_KEYS], read_bits, x,
	                        &out->map, err));
	rql_status status = RQL_OK;
	if (rql_scan_map_apart(out->map, RQL_SCAN_MAP_BITS))
		status = rql_scan_map_adopt(out->map, RQL_SCAN_MAP_BITS, &x->bits, err);
	if (status == RQL_OK)
		return RQL_OK;
	rql_map_free(out->map);
	out->map = NULL;
	return status;
}

static uint64_t bytes_of(const struct rql_stage *stage)
{
	return bits_bytes(rql_stage_prepared(stage)) + SEEN_BYTES;
}

static const struct rql_stage_ops ops = {.open_on = open_on,
                                         .close = close_context,
                                         .fits = fits,
                                         .record = record,
                                         .take = take,
                                         .bytes = bytes_of};

/* ---- the method ---- */

static const char *refusal(const struct rql_request *request)
{
	const struct rql_store_snapshot *form = request->from.form;
	if (!request->from.method || !request->from.method->stage || form != request->snapshot)
		return "no rows come in";
	if (form->column_count != 1 || form->columns[0].kind != RQL_STORE_INTEGER || !rql_form_bits(&form->columns[0]))
		return "the keys of a map are no column of integers";
	return request->conjunct_count || request->lookup_count || request->under.method
	           ? "keys are taken as they are: no condition is tested"
	           : NULL;
}

static enum rql_offer offer(const struct rql_request *request, const struct rql_device *device, const char **reason)
{
	const char *why = rql_device_lacks(device, RQL_UNIT_COMPUTE);
	why = why ? why : refusal(request);
	return rql_offer_unless(why, reason);
}

static rql_status prepare(const struct rql_request *request, struct rql_device *device, struct rql_prepared **out,
                          struct rql_error *err)
{
	struct rql_prepared *p = calloc(1, sizeof *p);
	if (!p)
		return rql_error_memory(err, sizeof *p, "a map of a join");
	rql_status status = rql_stage_init(&p->stage, &ops, device, err);
	if (status != RQL_OK) {
		free(p);
		return status;
	}
	p->form = rql_store_snapshot_retain(request->snapshot);
	p->from = request->from;
	p->least = request->keys_least;
	p->span = request->keys_span;
	rql_stage_read(&p->stage, p->from.method->stage(p->from.prepared));
	*out = p;
	return RQL_OK;
}

/* The bits are cleared, written and fetched; a row costs a field and, anywhere in them, a word. */
static void price(const struct rql_prepared *p, const struct rql_device *device, struct rql_cost *out)
{
	const struct rql_profile *profile = &device->profile;
	const double rows = p->from.rows, bits = (double)bits_bytes(p);
	const double read = rows * (rql_form_bits(&p->form->columns[0]) / 8) + bits;
	struct rql_cost in;
	*out = (struct rql_cost){.run_ns = profile->submit_ns + profile->pass_ns + read / profile->read_gbps +
	                                   rows * profile->scan.taken_row_ns,
	                         .transfer_ns = profile->submit_ns + bits / profile->download_gbps,
	                         .rows_out = rows,
	                         .cells = rows,
	                         .bytes = read,
	                         .device_bytes = bits_bytes(p)};
	p->from.method->price(p->from.prepared, device, &in);
	rql_cost_add(out, &in);
}

static rql_status kernels(const struct rql_prepared *p, rql_see_kernel *see, void *state, struct rql_error *err)
{
	RQL_TRY(rql_columns_kernels(&p->from, see, state, err));
	return rql_stage_rehearse(rql_prepared_stage(p), see, state, err);
}

static rql_status run(const struct rql_prepared *prepared, struct rql_device *device, const struct rql_run *how,
                      struct rql_port *out, struct rql_error *err)
{
	struct rql_port answer = {.kind = RQL_PORT_MAP};
	(void)device;
	rql_status status = rql_stage_run(rql_prepared_stage(prepared), how, NULL, &answer, err);
	if (status != RQL_OK) {
		rql_map_free(answer.map); /* one of a run that was to be timed again */
		return status;
	}
	*out = answer;
	return RQL_OK;
}

static void free_prepared(struct rql_prepared *p)
{
	if (!p)
		return;
	rql_stage_clear(&p->stage);
	p->from.method->free(p->from.prepared);
	rql_store_snapshot_release(p->form);
	free(p);
}

static uint64_t prepared_bytes(const struct rql_prepared *p)
{
	return sizeof(*p) + p->from.method->bytes(p->from.prepared);
}

extern const struct rql_method rql_method_map_compute;
const struct rql_method rql_method_map_compute = {
	.name = "map",
	.description = "makes a join's map of rows that lie on a GPU: which keys they have",
	.paper = "Shanbhag et al., SIGMOD 2020, section 3",
	.unit = RQL_UNIT_COMPUTE,
	.reads = RQL_READS_COLUMNS,
	.gives = 1u << RQL_PORT_MAP,
	.offer = offer,
	.prepare = prepare,
	.price = price,
	.kernels = kernels,
	.stage = rql_prepared_stage,
	.run = run,
	.free = free_prepared,
	.bytes = prepared_bytes,
};

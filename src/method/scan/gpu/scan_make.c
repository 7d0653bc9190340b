/* A map to build as a sink on a GPU: of rows that lie there as COLUMNS. Its arrays are in a map's form
 * (column/map/map_layout.h), so that the buffers become the map's placements, and no scan on the device waits for it again.
 * They come to the host, too: whoever plans takes samples by them and leaves blocks out (rql_map_may_meet), and a plan
 * may yet run on the CPU. The rows themselves stay where they are.
 *
 * A payload is what the columns behind the key say, as one number: first a bit for each number that there is, then
 * ranks of these, and the rows' ranks at last. So payloads are as few as the different rows, and the host gets the
 * numbers alone. Where there may be many numbers, those that there are lie in a hash table beside their ranks. */
#include <stdlib.h>

#include "column/form.h"
#include "method/method.h"
#include "method/scan/gpu/scan_kernels.h"
#include "method/scan/gpu/scan_map.h"
#include "shaders/method/scan/scan_make.comp.h"

#define MAKE_SIZE 256u /* of a workgroup; scan_make.comp has as many sums */
#define SEEN_BYTES (RQL_SCAN_MAKE_SEEN * sizeof(uint32_t))
#define COUNT_BYTES sizeof(uint64_t)
#define ARRAYS RQL_SCAN_MAP_PARTS

struct rql_prepared {
	struct rql_stage stage; /* first (rql_stage_prepared) */
	struct rql_columns_source from; /* owned */
	const struct rql_store_snapshot *form; /* retained */
	struct rql_map_keys keys;
	int64_t least;   /* the map's first key, which has place 0 */
	uint64_t places; /* of keys that it may have */
	uint64_t strides[2]; /* of each key's column */
	uint32_t *named;     /* the places of both keys' fields, one behind the other; owned; NULL: they have none */
	uint64_t named_count;
	struct rql_buffer *tables; /* these, on the device */
	uint64_t numbers; /* of payloads; 1: there are none */
	uint32_t width; /* of a payload; hashed: of an entry */
};

struct context {
	struct rql_stage_context base;
	struct rql_columns_port in;
	uint64_t capacity; /* of a hash table */
	struct rql_buffer *arrays[ARRAYS]; /* become the map's: NULL then; NULL: it has none such */
	struct rql_buffer *columns; /* UPLOAD: struct rql_scan_make_column of each */
	struct rql_buffer *used;    /* with payloads: bits of the numbers, then their ranks; or a hash table of both */
	struct rql_buffer *listed;  /* ... then the number of each rank; else NULL */
	struct rql_buffer *tally;
	struct rql_buffer *seen; /* READBACK: the number of rows, the tally, the bits of the numbers */
};

static const struct rql_kernel make_kernel = {.name = "scan.make",
                                              .spirv = rql_spv_scan_make_comp,
                                              .spirv_bytes = sizeof(rql_spv_scan_make_comp),
                                              .args_bytes = sizeof(struct rql_scan_make_args)};

static bool has_payloads(const struct rql_prepared *p)
{
	return p->form->column_count > p->keys.count;
}

/* Numbers are in a hash table. */
static bool is_listed(const struct rql_prepared *p)
{
	return p->numbers > RQL_KEYED_GROUPS;
}

/* Of bits; 0: there are none. */
static uint64_t used_words(const struct rql_prepared *p)
{
	return has_payloads(p) && !is_listed(p) ? p->numbers / 32 + 1 : 0;
}

/* In a hash table, of so many rows. */
static uint64_t most_listed(const struct rql_prepared *p, uint64_t rows)
{
	return !is_listed(p) ? 0 : rows < p->numbers ? rows : p->numbers;
}

/* Bits and their ranks, or a hash table. */
static uint64_t used_bytes(const struct rql_prepared *p, uint64_t rows)
{
	return is_listed(p) ? rql_map_capacity(most_listed(p, rows)) * RQL_SCAN_MAKE_NUMBER_BYTES
	                    : 2 * used_words(p) * sizeof(uint32_t);
}

/* Whole words; 0: the map has no such array. */
static uint64_t array_bytes(const struct rql_prepared *p, enum rql_map_array array, uint64_t capacity)
{
	if (array == RQL_MAP_TABLE)
		return capacity * p->width;
	if (p->keys.hashed)
		return 0;
	return array == RQL_MAP_BITS ? rql_map_bit_words((uint32_t)p->places) * sizeof(uint32_t)
	                             : (rql_map_found_bytes((uint32_t)p->places, p->width) + 3) / 4 * 4;
}

/* Places for so many rows. A context has room for all that may come; the kernel uses as many as those need that came. */
static uint64_t capacity_for(const struct rql_prepared *p, uint64_t rows)
{
	return p->keys.hashed ? rql_map_capacity(rows < p->places ? rows : p->places) : 0;
}

/* ---- the stage ---- */

/* What a key's fields stand for, on the device; 0: they stand for themselves. */
static uint64_t places_at(const struct rql_prepared *p, uint32_t key)
{
	const uint64_t before = key ? p->keys.place_count[0] : 0;
	return p->keys.place_count[key] && p->tables ? p->tables->address + before * sizeof(uint32_t) : 0;
}

/* All else that is read is the input's. */
static rql_status place(struct rql_stage *stage, struct rql_progress *progress, bool *nothing, struct rql_error *err)
{
	struct rql_prepared *p = rql_stage_prepared(stage);
	const uint64_t bytes = p->named_count * sizeof(uint32_t);
	struct rql_buffer *tables;
	(void)progress, (void)nothing;
	if (!bytes || p->tables)
		return RQL_OK;
	RQL_TRY(rql_stage_buffer_new(stage->device, bytes, RQL_MEMORY_DEVICE, "the keys of a map", &tables, err));
	rql_status status = rql_buffer_upload(tables, 0, p->named, bytes, err);
	if (status != RQL_OK) {
		rql_stage_buffer_free(tables);
		return status;
	}
	stage->uploaded += bytes;
	p->tables = tables;
	return RQL_OK;
}

/* What the kernel knows of the form's columns. */
static void lay_columns(const struct rql_prepared *p, const struct rql_columns_port *in,
                        struct rql_scan_make_column *out)
{
	uint64_t stride = 1;
	for (uint32_t c = 0; c < p->form->column_count; c++) {
		const struct rql_store_column *column = &p->form->columns[c];
		out[c] = (struct rql_scan_make_column){.at = rql_columns_field(in, c), .bits = rql_form_bits(column)};
		if (c < p->keys.count) {
			out[c].first = (uint64_t)(int64_t)column->least - (uint64_t)p->keys.least[c] - 1;
			out[c].count = p->keys.span[c];
			out[c].stride = p->strides[c];
			out[c].places = places_at(p, c);
			continue;
		}
		out[c].stride = stride;
		stride *= rql_map_fields(column);
	}
}

static rql_status open_on(struct rql_stage *stage, struct rql_device *device, const struct rql_columns_port *inputs,
                          struct rql_stage_context **out, struct rql_error *err)
{
	const struct rql_prepared *p = rql_stage_prepared(stage);
	const uint64_t words = used_words(p) * sizeof(uint32_t), used = used_bytes(p, inputs[0].room);
	const uint64_t columns = p->form->column_count * sizeof(struct rql_scan_make_column);
	struct context *x = calloc(1, sizeof *x);
	if (!x)
		return rql_error_memory(err, sizeof *x, "keys of a map");
	*out = &x->base;
	x->in = inputs[0];
	x->capacity = capacity_for(p, x->in.room);
	for (unsigned a = 0; a < ARRAYS; a++) {
		const uint64_t bytes = array_bytes(p, (enum rql_map_array)a, x->capacity);
		if (bytes)
			RQL_TRY(rql_buffer_new(device, bytes, RQL_MEMORY_DEVICE, "a map of a join", &x->arrays[a], err));
	}
	if (used)
		RQL_TRY(rql_stage_buffer_new(device, used, RQL_MEMORY_DEVICE, "the payloads of a map", &x->used, err));
	if (is_listed(p))
		RQL_TRY(rql_stage_buffer_new(device, (most_listed(p, x->in.room) + 1) * sizeof(uint64_t), RQL_MEMORY_DEVICE,
		                             "the payloads of a map", &x->listed, err));
	RQL_TRY(rql_stage_buffer_new(device, columns, RQL_MEMORY_UPLOAD, "the columns of a map", &x->columns, err));
	lay_columns(p, &x->in, x->columns->map);
	RQL_TRY(rql_stage_buffer_new(device, SEEN_BYTES, RQL_MEMORY_DEVICE, "the number of keys of a map", &x->tally, err));
	return rql_stage_buffer_new(device, COUNT_BYTES + SEEN_BYTES + words, RQL_MEMORY_READBACK, "what a map has", &x->seen,
	                            err);
}

static void close_context(struct rql_stage *stage, struct rql_stage_context *base)
{
	struct context *x = (struct context *)base;
	(void)stage;
	for (unsigned a = 0; a < ARRAYS; a++)
		rql_buffer_free(x->arrays[a]);
	rql_stage_buffer_free(x->used);
	rql_stage_buffer_free(x->listed);
	rql_stage_buffer_free(x->columns);
	rql_stage_buffer_free(x->tally);
	rql_stage_buffer_free(x->seen);
	free(x);
}

/* A run's arrays may be a map by now. */
static bool fits(const struct rql_stage *stage, const struct rql_stage_context *base)
{
	const struct context *x = (const struct context *)base;
	const struct rql_prepared *p = rql_stage_prepared(stage);
	bool all = true;
	for (unsigned a = 0; a < ARRAYS; a++)
		all &= x->arrays[a] || !array_bytes(p, (enum rql_map_array)a, x->capacity);
	return all;
}

static uint32_t group_size(const struct rql_device *device)
{
	return device->limits.group_size < MAKE_SIZE ? device->limits.group_size : MAKE_SIZE;
}

/* ---- passes ---- */

static struct rql_scan_make_args args_of(const struct rql_prepared *p, const struct context *x)
{
	const struct rql_buffer *table = x->arrays[p->keys.hashed ? RQL_MAP_TABLE : RQL_MAP_BITS];
	struct rql_scan_make_args args = {.rows = x->in.count->address + x->in.count_at,
	                                  .room = x->in.room,
	                                  .values = x->in.values->address,
	                                  .columns = x->columns->address,
	                                  .table = table->address,
	                                  .seen = x->tally->address,
	                                  .mask = x->capacity - 1,
	                                  .least_mask = (uint32_t)rql_map_capacity(0) - 1};
	if (x->arrays[RQL_MAP_FOUND])
		args.found = x->arrays[RQL_MAP_FOUND]->address;
	if (x->used) {
		args.used = x->used->address;
		args.ranks = x->listed ? x->listed->address : x->used->address + used_words(p) * sizeof(uint32_t);
		args.used_words = (uint32_t)used_words(p);
		args.used_mask = rql_map_capacity(most_listed(p, x->in.room)) - 1;
	}
	return args;
}

/* Everything that the map's arrays are made in. */
static uint32_t list_uses(const struct rql_prepared *p, const struct context *x, struct rql_use *uses)
{
	/* A rehearsal records on a device of its own, where the tables do not lie. */
	const bool placed = p->tables && p->tables->device == x->tally->device;
	struct rql_buffer *written[] = {x->tally, x->used, x->listed, x->arrays[0], x->arrays[1], x->arrays[2]};
	uint32_t count = 0;
	uses[count++] = (struct rql_use){x->in.values, RQL_READ};
	uses[count++] = (struct rql_use){x->in.count, RQL_READ};
	uses[count++] = (struct rql_use){x->columns, RQL_READ};
	if (placed)
		uses[count++] = (struct rql_use){p->tables, RQL_READ};
	for (size_t i = 0; i < sizeof written / sizeof *written; i++)
		if (written[i])
			uses[count++] = (struct rql_use){written[i], RQL_READ_WRITE};
	return count;
}

static rql_status record_pass(const struct rql_prepared *p, const struct context *x, struct rql_commands *commands,
                              uint32_t pass, uint64_t threads, struct rql_error *err)
{
	static const char *const names[] = {"map.values", "map.ranks", "map"};
	const uint32_t size = group_size(x->tally->device), keys = p->keys.count;
	const uint32_t constants[] = {size, pass, p->width, keys, p->form->column_count - keys, is_listed(p)};
	const struct rql_scan_make_args args = args_of(p, x);
	const struct rql_pipeline *pipeline;
	struct rql_use uses[10];
	const uint32_t use_count = list_uses(p, x, uses);
	RQL_TRY(rql_pipeline_get(x->tally->device, &make_kernel, constants, 6, &pipeline, err));
	rql_record_dispatch(commands, names[pass], pipeline, &args, (threads + size - 1) / size, uses, use_count);
	return RQL_OK;
}

static rql_status record(struct rql_stage *stage, struct rql_stage_context *base, struct rql_commands *commands,
                         struct rql_error *err)
{
	const struct rql_prepared *p = rql_stage_prepared(stage);
	const struct context *x = (const struct context *)base;
	for (unsigned a = 0; a < ARRAYS; a++)
		if (x->arrays[a])
			rql_record_fill(commands, x->arrays[a], 0, array_bytes(p, (enum rql_map_array)a, x->capacity), 0);
	rql_record_fill(commands, x->tally, 0, SEEN_BYTES, 0);
	if (x->used) {
		const uint64_t bits = used_words(p) * sizeof(uint32_t);
		rql_record_fill(commands, x->used, 0, x->listed ? used_bytes(p, x->in.room) : bits, 0);
		RQL_TRY(record_pass(p, x, commands, RQL_SCAN_MAKE_MARK, x->in.room, err));
		if (bits) {
			RQL_TRY(record_pass(p, x, commands, RQL_SCAN_MAKE_RANK, 1, err));
			rql_record_copy(commands, x->used, 0, x->seen, COUNT_BYTES + SEEN_BYTES, bits);
		}
	}
	RQL_TRY(record_pass(p, x, commands, RQL_SCAN_MAKE_PUT, x->in.room, err));
	rql_record_copy(commands, x->in.count, x->in.count_at, x->seen, 0, COUNT_BYTES);
	rql_record_copy(commands, x->tally, 0, x->seen, COUNT_BYTES, SEEN_BYTES);
	return RQL_OK;
}

/* ---- what comes back ---- */

static rql_status read_array(void *state, enum rql_map_array array, void *to, uint64_t bytes, struct rql_error *err)
{
	const struct context *x = state;
	return rql_buffer_download(x->arrays[array], 0, to, bytes, err);
}

static rql_status read_nothing(void *state, enum rql_map_array array, void *to, uint64_t bytes, struct rql_error *err)
{
	(void)state, (void)array, (void)err;
	memset(to, 0, bytes);
	return RQL_OK;
}

static struct rql_map_made describe(const struct rql_prepared *p, uint64_t capacity)
{
	return (struct rql_map_made){.least = p->least,
	                             .greatest = (int64_t)((uint64_t)p->least + p->places - 1),
	                             .places = p->places,
	                             .width = p->width,
	                             .capacity = capacity};
}

/* Parts up to RQL_SCAN_MAP_COPIED lie in each plan's own table. */
static rql_status adopt(struct context *x, const struct rql_map *map, struct rql_error *err)
{
	for (unsigned a = 0; a < ARRAYS; a++)
		if (rql_scan_map_apart(map, (enum rql_scan_map_part)a))
			RQL_TRY(rql_scan_map_adopt(map, (enum rql_scan_map_part)a, &x->arrays[a], err));
	return RQL_OK;
}

/* The numbers that there are, by their ranks: those of bits are read already, the others lie on the device. */
static rql_status list_numbers(const struct rql_prepared *p, const struct context *x, const uint32_t *seen,
                               struct rql_arena *arena, struct rql_port *out, struct rql_error *err)
{
	const uint32_t *used = seen + RQL_SCAN_MAKE_SEEN;
	uint64_t count = x->listed ? seen[RQL_SCAN_MAKE_NUMBERS] : 0;
	for (uint64_t w = 0; w < used_words(p); w++)
		count += (uint32_t)__builtin_popcount(used[w]);
	if (count > INT32_MAX)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "a map of a join has %llu different payloads, more than 2^31",
		                     (unsigned long long)count);
	if (!(out->map_numbers = RQL_NEW_ARRAY(arena, uint64_t, count + 1)))
		return rql_error_memory(err, count * sizeof *out->map_numbers, "the payloads of a map");
	out->map_number_count = (uint32_t)count;
	if (x->listed)
		return count ? rql_buffer_download(x->listed, 0, out->map_numbers, count * sizeof(uint64_t), err) : RQL_OK;
	uint64_t *to = out->map_numbers;
	for (uint64_t w = 0; w < used_words(p); w++)
		for (uint32_t left = used[w]; left; left &= left - 1)
			*to++ = w * 32 + (uint32_t)__builtin_ctz(left);
	return RQL_OK;
}

static rql_status take(struct rql_stage *stage, struct rql_stage_context *base, const struct rql_stage_run *run,
                       struct rql_error *err)
{
	const struct rql_prepared *p = rql_stage_prepared(stage);
	struct context *x = (struct context *)base;
	struct rql_port *out = run->port;
	const uint64_t rows = x ? *(const uint64_t *)x->seen->map : 0;
	struct rql_map_made made = describe(p, capacity_for(p, rows));
	if (!x)
		return rql_map_take(&made, read_nothing, NULL, &out->map, err);
	const uint32_t *seen = (const uint32_t *)x->seen->map + COUNT_BYTES / sizeof(uint32_t);
	if (rows > x->in.room)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "more rows are on a device than there is room for");
	out->map_rows = out->cells_read = out->cells_covered = rows;
	out->map_nulls = seen[RQL_SCAN_MAKE_NULLS];
	out->map_twice = seen[RQL_SCAN_MAKE_FRESH] < seen[RQL_SCAN_MAKE_KEYS];
	made.entries = seen[RQL_SCAN_MAKE_FRESH];
	made.offered = seen[RQL_SCAN_MAKE_KEYS];
	made.payloads = made.entries ? 1 : 0;
	if (x->used) {
		RQL_TRY(list_numbers(p, x, seen, run->arena, out, err));
		made.payloads = out->map_number_count;
	}
	if (run->timed)
		RQL_TRY(rql_stage_times(base, run->arena, out, err));
	RQL_TRY(rql_map_take(&made, read_array, x, &out->map, err));
	rql_status status = adopt(x, out->map, err);
	if (status == RQL_OK)
		return RQL_OK;
	rql_map_free(out->map);
	out->map = NULL;
	return status;
}

static uint64_t map_bytes(const struct rql_prepared *p)
{
	const uint64_t capacity = capacity_for(p, p->from.rows > 0 ? (uint64_t)p->from.rows : 0);
	uint64_t bytes = 0;
	for (unsigned a = 0; a < ARRAYS; a++)
		bytes += array_bytes(p, (enum rql_map_array)a, capacity);
	return bytes;
}

static uint64_t bytes_of(const struct rql_stage *stage)
{
	const struct rql_prepared *p = rql_stage_prepared(stage);
	const uint64_t rows = p->from.rows > 0 ? (uint64_t)p->from.rows : 0;
	return map_bytes(p) + p->named_count * sizeof(uint32_t) + used_bytes(p, rows) +
	       most_listed(p, rows) * sizeof(uint64_t) + SEEN_BYTES;
}

static const struct rql_stage_ops ops = {.place = place,
                                         .open_on = open_on,
                                         .close = close_context,
                                         .fits = fits,
                                         .record = record,
                                         .take = take,
                                         .bytes = bytes_of};

/* ---- the method ---- */

static const char *refusal(const struct rql_request *request)
{
	const struct rql_store_snapshot *form = request->from.form;
	const struct rql_map_keys *keys = &request->map_keys;
	if (!request->from.method || !request->from.method->stage || form != request->snapshot)
		return "no rows come in";
	if (!keys->count || keys->count > 2 || form->column_count < keys->count)
		return "a map has a key of one or two columns";
	for (uint32_t k = 0; k < keys->count; k++)
		if ((form->columns[k].kind != RQL_STORE_INTEGER && !keys->places[k]) || !rql_form_bits(&form->columns[k]))
			return "the keys of a map are no columns of integers, nor codes";
	if (!rql_map_numbers(form, keys->count))
		return RQL_MAP_NO_NUMBERS;
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

static bool copy_places(struct rql_prepared *p)
{
	uint64_t at = 0;
	p->named_count = (uint64_t)p->keys.place_count[0] + p->keys.place_count[1];
	if (p->named_count && !(p->named = malloc(p->named_count * sizeof *p->named)))
		return false;
	for (uint32_t k = 0; k < 2; at += p->keys.place_count[k++])
		if (p->keys.place_count[k])
			memcpy(p->named + at, p->keys.places[k], p->keys.place_count[k] * sizeof *p->named);
	return true;
}

/* Where the keys' places begin, and how many there are. */
static void lay_keys(struct rql_prepared *p)
{
	const struct rql_map_keys *keys = &p->keys;
	p->least = keys->least[0];
	p->strides[0] = 1;
	p->places = rql_map_places(keys);
	if (keys->count == 1)
		return;
	p->least = rql_pair_key(&keys->pair, keys->least[0], keys->least[1]);
	p->strides[0] = keys->pair.second_span;
	p->strides[1] = 1;
}

static rql_status prepare(const struct rql_request *request, struct rql_device *device, struct rql_prepared **out,
                          struct rql_error *err)
{
	struct rql_prepared *p = calloc(1, sizeof *p);
	if (!p)
		return rql_error_memory(err, sizeof *p, "a map of a join");
	p->keys = request->map_keys;
	rql_status status = copy_places(p) ? rql_stage_init(&p->stage, &ops, device, err)
	                                   : rql_error_memory(err, p->named_count * sizeof *p->named, "a map of a join");
	if (status != RQL_OK) {
		free(p->named);
		free(p);
		return status;
	}
	p->form = rql_store_snapshot_retain(request->snapshot);
	p->from = request->from;
	lay_keys(p);
	p->numbers = rql_map_numbers(p->form, p->keys.count);
	p->width = has_payloads(p) ? rql_map_width(p->numbers) : 0;
	if (p->keys.hashed)
		p->width = rql_map_entry_bytes(p->places);
	rql_stage_read(&p->stage, p->from.method->stage(p->from.prepared));
	*out = p;
	return RQL_OK;
}

/* The arrays are cleared, written and fetched; a row costs its fields, once or twice, and a word anywhere in them.
 * Numbers in a hash table are two words more. */
static void price(const struct rql_prepared *p, const struct rql_device *device, struct rql_cost *out)
{
	const struct rql_profile *profile = &device->profile;
	const double rows = p->from.rows, bytes = (double)map_bytes(p), passes = has_payloads(p) ? 3 : 1;
	const double tables = p->tables ? 0 : (double)p->named_count * sizeof(*p->named);
	const double listed = (double)most_listed(p, (uint64_t)rows), words = listed > 0 ? 3 : 1;
	const double read = rows * rql_form_offset(p->form, p->form->column_count) * (has_payloads(p) ? 2 : 1) + bytes +
	                    (listed > 0 ? (double)used_bytes(p, (uint64_t)rows) : 0);
	struct rql_cost in;
	*out = (struct rql_cost){.run_ns = profile->submit_ns + passes * profile->pass_ns +
	                                   read / profile->read_gbps + rows * words * profile->scan.taken_row_ns,
	                         .transfer_ns = profile->submit_ns +
	                                        (bytes + listed * sizeof(uint64_t)) / profile->download_gbps,
	                         .rows_out = rows,
	                         .cells = rows,
	                         .bytes = read,
	                         .setup_ns = p->named_count ? profile->submit_ns + tables / profile->upload_gbps : 0,
	                         .device_bytes = bytes_of(&p->stage)};
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
	rql_stage_buffer_free(p->tables);
	free(p->named);
	free(p);
}

static uint64_t prepared_bytes(const struct rql_prepared *p)
{
	return sizeof(*p) + p->named_count * sizeof(*p->named) + p->from.method->bytes(p->from.prepared);
}

extern const struct rql_method rql_method_map_compute;
const struct rql_method rql_method_map_compute = {
	.name = "map",
	.description = "makes a join's map of rows that lie on a GPU: their keys, and what belongs to these",
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

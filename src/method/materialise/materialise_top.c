/* Records a top-N, and reads what it leaves. */
#include "method/materialise/materialise_top.h"

#include "method/materialise/materialise_kernels.h"
#include "method/stage.h"
#include "primitive/primitive.h"
#include "shaders/method/materialise/top_gather.comp.h"
#include "shaders/method/materialise/top_pick.comp.h"
#include "shaders/method/materialise/top_words.comp.h"
#include "util/sort.h"

#define MOST_WANTED UINT64_C(16384)
#define PLACE_BITS 16u /* of a row in the list */
#define SPREAD_BITS 4u /* of a word, beyond those that number the rows */

#define KERNEL(name)                                                                                                   \
	{"materialise." #name, rql_spv_##name##_comp, sizeof(rql_spv_##name##_comp), sizeof(struct rql_top_args)}
static const struct rql_kernel words_kernel = KERNEL(top_words), pick_kernel = KERNEL(top_pick),
							   gather_kernel = KERNEL(top_gather);

/* Where things lie in the two buffers, in bytes. */
struct places {
	uint64_t bound, kept, list, nth, words_bytes; /* of words, behind the words themselves */
	uint64_t numbers, fields, out_bytes;          /* of out, behind the number of rows */
};

bool rql_materialise_gives(const struct rql_materialise *m, uint32_t column)
{
	bool some = false;
	for (uint32_t i = 0; i < m->output_count && !some; i++)
		some = m->outputs[i].source.index == column || m->form->columns[m->outputs[i].source.index].low == column + 1;
	return some;
}

bool rql_materialise_reads(const struct rql_materialise *m, uint32_t column)
{
	bool some = rql_materialise_gives(m, column);
	for (uint32_t i = 0; i < m->order_count && !some; i++)
		some = m->orders[i].source.index == column;
	return some;
}

uint32_t rql_materialise_top_room(const struct rql_materialise *m)
{
	return (uint32_t)(rql_materialise_wanted(m) * 4 < 1024 ? 1024 : rql_materialise_wanted(m) * 4); /* ties among them */
}

bool rql_materialise_top_pays(const struct rql_materialise *m, double rows)
{
	const uint64_t wanted = rql_materialise_wanted(m);
	return m->order_count && wanted && wanted <= MOST_WANTED && rows >= RQL_ORDERED_ROWS_LEAST &&
	       rows >= 4.0 * rql_materialise_top_room(m);
}

uint32_t rql_materialise_key_flags(const struct rql_materialise_key *key)
{
	return (key->real ? RQL_ORDER_REAL : 0) | (key->descending ? RQL_ORDER_DESCENDING : 0) |
	       (key->nulls_first ? RQL_ORDER_NULLS_FIRST : 0);
}

uint32_t rql_materialise_top_keys(const struct rql_materialise *m, uint64_t rows)
{
	const uint32_t enough = 64 - (uint32_t)__builtin_clzll(rows | 1) + SPREAD_BITS;
	uint32_t count = 0, bits = 0;
	for (; count < m->order_count && bits < enough; count++) {
		const uint32_t more = rql_materialise_key(m, &m->orders[count]).bits;
		if (bits + more > 64)
			break;
		bits += more;
	}
	return count;
}

static uint64_t take_bytes(uint64_t *at, uint64_t bytes)
{
	const uint64_t first = *at;
	*at += (bytes + 15) / 16 * 16;
	return first;
}

static uint64_t field_bytes(const struct rql_materialise *m, uint32_t column)
{
	return rql_form_bits(&m->form->columns[column]) / 8;
}

static struct rql_nth nth_of(const struct rql_materialise *m, const struct rql_materialise_top *top,
                             const struct places *p)
{
	return (struct rql_nth){.n = rql_materialise_wanted(m),
	                        .count = top->in.room,
	                        .found = {top->in.count, top->in.count_at},
	                        .keys = {top->words, 0},
	                        .out = {top->words, p->bound},
	                        .temp = {top->words, p->nth}};
}

static struct places places_of(const struct rql_materialise *m, const struct rql_materialise_top *top)
{
	struct places p = {0};
	uint64_t at = top->in.room * 8;
	p.bound = take_bytes(&at, 8);
	p.kept = take_bytes(&at, 8);
	p.list = take_bytes(&at, top->list_room * UINT64_C(4));
	p.nth = take_bytes(&at, 0);
	const struct rql_nth nth = nth_of(m, top, &p);
	p.words_bytes = at + rql_nth_temp_bytes(&nth);
	at = 16;
	p.numbers = take_bytes(&at, top->list_room * UINT64_C(4));
	p.fields = at;
	for (uint32_t c = 0; c < m->form->column_count; c++)
		if (rql_materialise_reads(m, c))
			(void)take_bytes(&at, top->list_room * field_bytes(m, c));
	p.out_bytes = at;
	return p;
}

uint64_t rql_materialise_top_bytes(const struct rql_materialise *m, uint64_t room)
{
	const struct rql_materialise_top top = {.in = {.room = room}, .list_room = rql_materialise_top_room(m)};
	return places_of(m, &top).words_bytes;
}

rql_status rql_materialise_top_open(const struct rql_materialise *m, struct rql_device *device,
                                    const struct rql_columns_port *in, struct rql_materialise_top *out,
                                    struct rql_error *err)
{
	*out = (struct rql_materialise_top){.in = *in, .list_room = rql_materialise_top_room(m)};
	const struct places p = places_of(m, out);
	RQL_TRY(rql_stage_buffer_new(device, p.words_bytes, RQL_MEMORY_DEVICE, "the order of a query's rows", &out->words,
	                             err));
	return rql_stage_buffer_new(device, p.out_bytes, RQL_MEMORY_READBACK, "the first rows of a query", &out->out, err);
}

void rql_materialise_top_close(struct rql_materialise_top *top)
{
	rql_stage_buffer_free(top->words);
	rql_stage_buffer_free(top->out);
}

/* ---- recording ---- */

static rql_status dispatch(struct rql_commands *c, struct rql_device *device, const struct rql_kernel *kernel,
                           const struct rql_materialise_top *top, const struct rql_top_args *args, uint64_t items,
                           struct rql_error *err)
{
	const uint32_t threads = RQL_TOP_THREADS;
	const struct rql_use uses[] = {{top->in.values, RQL_READ},
	                               {top->in.count, RQL_READ},
	                               {top->words, RQL_READ_WRITE},
	                               {top->out, RQL_WRITE}};
	const struct rql_pipeline *pipeline;
	RQL_TRY(rql_pipeline_get(device, kernel, &threads, 1, &pipeline, err));
	rql_record_dispatch(c, kernel->name, pipeline, args, (items + threads - 1) / threads, uses, 4);
	return RQL_OK;
}

static void set_fields(const struct rql_materialise *m, const struct rql_materialise_top *top, uint32_t column,
                       struct rql_top_args *args)
{
	args->fields = top->in.values->address + rql_columns_field(&top->in, column);
	args->field_bits = rql_form_bits(&m->form->columns[column]);
}

static rql_status record_words(const struct rql_materialise *m, const struct rql_materialise_top *top,
                               struct rql_top_args args, struct rql_commands *c, struct rql_error *err)
{
	const uint32_t count = rql_materialise_top_keys(m, top->in.room);
	uint32_t left = 64;
	bool more = false;
	for (uint32_t k = 0; k < count; k++) {
		const struct rql_row_order *order = &m->orders[k];
		const struct rql_materialise_key key = rql_materialise_key(m, order);
		if (!key.bits && (more || k + 1 < count))
			continue;
		args.null_field = key.null_field;
		args.key_bits = key.bits;
		left -= key.bits;
		args.shift = left & 63; /* a key without bits is 0 */
		args.flags = rql_materialise_key_flags(&key) | (more ? RQL_ORDER_MORE : 0);
		set_fields(m, top, order->source.index, &args);
		RQL_TRY(dispatch(c, top->words->device, &words_kernel, top, &args, top->in.room, err));
		more = true;
	}
	return RQL_OK;
}

static rql_status gather(const struct rql_materialise *m, const struct rql_materialise_top *top,
                         const struct places *p, struct rql_top_args *args, struct rql_commands *c,
                         struct rql_error *err)
{
	uint64_t at = p->fields;
	for (uint32_t column = 0; column < m->form->column_count; column++) {
		if (!rql_materialise_reads(m, column))
			continue;
		set_fields(m, top, column, args);
		args->gathered = top->out->address + take_bytes(&at, top->list_room * field_bytes(m, column));
		RQL_TRY(dispatch(c, top->words->device, &gather_kernel, top, args, top->list_room, err));
	}
	return RQL_OK;
}

rql_status rql_materialise_top_record(const struct rql_materialise *m, const struct rql_materialise_top *top,
                                      struct rql_commands *c, struct rql_error *err)
{
	const struct places p = places_of(m, top);
	const struct rql_nth nth = nth_of(m, top, &p);
	struct rql_top_args args = {
		.count = top->in.count->address + top->in.count_at,
		.words = top->words->address,
		.bound = top->words->address + p.bound,
		.list = top->words->address + p.list,
		.kept = top->words->address + p.kept,
		.room = top->in.room,
		.list_room = top->list_room,
	};
	rql_record_fill(c, top->words, p.kept, 8, 0);
	RQL_TRY(record_words(m, top, args, c, err));
	RQL_TRY(rql_record_nth(c, &nth, err));
	RQL_TRY(dispatch(c, top->words->device, &pick_kernel, top, &args, top->in.room, err));
	RQL_TRY(gather(m, top, &p, &args, c, err));
	rql_record_copy(c, top->words, p.kept, top->out, 0, 8);
	rql_record_copy(c, top->words, p.list, top->out, p.numbers, top->list_room * UINT64_C(4));
	return RQL_OK;
}

/* ---- reading ---- */

/* Places in the list, in the order of the rows, which makes ties fall as they would among all rows. */
static rql_status in_row_order(const uint32_t *numbers, uint64_t count, struct rql_mem *mem, const uint64_t **out,
                               struct rql_error *err)
{
	uint64_t *words, *spare;
	RQL_TRY(RQL_MEM_ARRAY(mem, words, count + 1, err));
	RQL_TRY(RQL_MEM_ARRAY(mem, spare, count + 1, err));
	for (uint64_t i = 0; i < count; i++)
		words[i] = (uint64_t)numbers[i] << PLACE_BITS | i;
	*out = rql_sort_words(words, spare, count, PLACE_BITS);
	return RQL_OK;
}

rql_status rql_materialise_top_take(const struct rql_materialise *m, const struct rql_materialise_top *top,
                                    struct rql_mem *mem, struct rql_materialise_rows *out, uint64_t *bytes,
                                    bool *found, struct rql_error *err)
{
	const struct places p = places_of(m, top);
	const uint8_t *map = top->out->map;
	const uint64_t kept = *(const uint64_t *)(const void *)map;
	const uint64_t *order;
	uint64_t at = p.fields;
	*found = kept <= top->list_room;
	if (!*found)
		return RQL_OK;
	RQL_TRY(in_row_order((const uint32_t *)(const void *)(map + p.numbers), kept, mem, &order, err));
	out->count = kept;
	*bytes += p.numbers + kept * 4;
	for (uint32_t c = 0; c < m->form->column_count; c++) {
		if (!rql_materialise_reads(m, c))
			continue;
		const uint64_t width = field_bytes(m, c);
		const uint8_t *from = map + take_bytes(&at, top->list_room * width);
		uint8_t *to = rql_mem_alloc(mem, kept * width + 1, 1, err);
		if (!to)
			return rql_mem_failure(mem);
		for (uint64_t i = 0; i < kept; i++)
			memcpy(to + i * width, from + (order[i] & ((UINT64_C(1) << PLACE_BITS) - 1)) * width, width);
		out->fields[c] = to;
		*bytes += kept * width;
	}
	return RQL_OK;
}

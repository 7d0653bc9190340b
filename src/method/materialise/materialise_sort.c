/* Records an order of all rows, and fetches them in it. */
#include "method/materialise/materialise_sort.h"

#include "method/materialise/materialise_kernels.h"
#include "method/materialise/materialise_top.h"
#include "method/stage.h"
#include "primitive/primitive.h"
#include "shaders/method/materialise/order_gather.comp.h"
#include "shaders/method/materialise/order_words.comp.h"

#define MOST_ROWS 4294967295.0 /* numbers of 32 bits */
#define DIGIT_BITS 8u
#define DIGIT_PASSES 5 /* of the sort, for each digit: count, prefix sums, scatter */
/* What a digit moves comes in runs of equal digits, whose ends are not whole sectors. An H200 takes 6.5 ms for the four
 * of 2^27 keys and row numbers of 32 bits (bench/results, 2026-11-28-h200-lookup.json): so many times their bytes. */
#define SCATTERED 2.6
/* Fields that the device's cache holds are gathered at its speed. */
#define CACHED_BYTES 3e7

#define KERNEL(name)                                                                                                   \
	{"materialise." #name, rql_spv_##name##_comp, sizeof(rql_spv_##name##_comp), sizeof(struct rql_order_args)}
static const struct rql_kernel words_kernel = KERNEL(order_words), gather_kernel = KERNEL(order_gather);

/* ---- words ---- */

/* Neighbouring keys that are sorted by at once. */
struct word {
	uint32_t first, count; /* of m->orders */
	uint32_t bits;         /* of the keys: in the low ones of the word */
};
struct words {
	uint32_t count;
	struct word of[RQL_MATERIALISE_KEYS];
};

/* No key is cut: words that are not full cost no digit more. */
static struct words words_of(const struct rql_materialise *m)
{
	struct words w = {.count = 0};
	for (uint32_t k = 0; k < m->order_count; k++) {
		const uint32_t bits = rql_materialise_key(m, &m->orders[k]).bits;
		struct word *last = w.count ? &w.of[w.count - 1] : NULL;
		if (last && last->bits + bits <= 64) {
			last->count++;
			last->bits += bits;
		} else if (bits) { /* else all of its values are one */
			w.of[w.count++] = (struct word){.first = k, .count = 1, .bits = bits};
		}
	}
	return w;
}

static uint32_t width_of(const struct word *word)
{
	return word->bits > 32 ? 64 : 32;
}

bool rql_materialise_sort_pays(const struct rql_materialise *m, double rows)
{
	return !m->no_sort && words_of(m).count && rql_materialise_wanted(m) && m->limit && (m->order_there || rows >= RQL_ORDERED_ROWS_LEAST) &&
	       rows <= MOST_ROWS && !rql_materialise_top_pays(m, rows);
}

double rql_materialise_sort_ns(const struct rql_materialise *m, const struct rql_profile *profile, double rows)
{
	const struct words words = words_of(m);
	double bytes = 0, passes = 0, sectors = 0;
	for (uint32_t w = 0; w < words.count; w++) {
		const uint32_t digits = (words.of[w].bits + DIGIT_BITS - 1) / DIGIT_BITS, width = width_of(&words.of[w]) / 8;
		bytes += words.of[w].count * (8.0 + 2 * width) + digits * (3.0 * width + 8) * SCATTERED;
		passes += words.of[w].count + DIGIT_PASSES * digits;
		sectors += w + 1 < words.count ? words.of[w].count : 0;
	}
	for (uint32_t c = 0; c < m->form->column_count; c++) {
		const uint32_t width = rql_form_bits(&m->form->columns[c]) / 8;
		if (!rql_materialise_gives(m, c))
			continue;
		bytes += 4 + 2 * width;
		passes++;
		sectors += rows * width > CACHED_BYTES;
	}
	return passes * profile->pass_ns + rows * (bytes / profile->read_gbps + sectors * profile->sector_ns);
}

/* ---- memory ---- */

/* Where things lie in the buffer, in bytes. */
struct places {
	uint64_t words, temp;
	uint64_t fields, most; /* rows of the result that there is room for */
	uint64_t bytes;
};

static uint64_t round_up(uint64_t bytes)
{
	return (bytes + 255) / 256 * 256;
}

static struct rql_sort sort_of(const struct word *word, struct rql_buffer *order, const struct places *p, uint64_t room,
                               bool first)
{
	const struct rql_span rows = {order, 0}, words = {order, p->words};
	return (struct rql_sort){.key_bits = width_of(word),
	                         .value_bits = 32,
	                         .high_bit = word->bits,
	                         .count = room,
	                         .keys_in = words,
	                         .values_in = first ? (struct rql_span){0} : rows,
	                         .keys_out = words,
	                         .values_out = rows,
	                         .temp = {order, p->temp}};
}

/* The result's fields lie where words were, once these are sorted. */
static struct places places_of(const struct rql_materialise *m, struct rql_device *device, uint64_t room)
{
	const struct words words = words_of(m);
	struct rql_buffer none = {.device = device}; /* the sort's memory depends on that alone */
	struct places p = {.words = round_up(room * 4), .fields = round_up(room * 4)};
	uint64_t temp = 0;
	p.temp = p.words + round_up(room * 8);
	for (uint32_t w = 0; w < words.count; w++) {
		const struct rql_sort sort = sort_of(&words.of[w], &none, &p, room, true);
		const uint64_t bytes = rql_sort_temp_bytes(&sort);
		temp = bytes > temp ? bytes : temp;
	}
	p.most = room < m->limit ? room : m->limit;
	p.bytes = p.fields;
	for (uint32_t c = 0; c < m->form->column_count; c++)
		if (rql_materialise_gives(m, c))
			p.bytes += round_up(p.most * (rql_form_bits(&m->form->columns[c]) / 8));
	p.bytes = p.bytes > p.temp + temp ? p.bytes : p.temp + temp;
	return p;
}

uint64_t rql_materialise_sort_bytes(const struct rql_materialise *m, struct rql_device *device, uint64_t room)
{
	return places_of(m, device, room).bytes;
}

rql_status rql_materialise_sort_open(const struct rql_materialise *m, struct rql_device *device,
                                     const struct rql_columns_port *in, struct rql_materialise_sort *out,
                                     struct rql_error *err)
{
	*out = (struct rql_materialise_sort){.in = *in};
	return rql_stage_buffer_new(device, places_of(m, device, in->room).bytes, RQL_MEMORY_DEVICE,
	                            "the order of a query's rows", &out->order, err);
}

void rql_materialise_sort_close(struct rql_materialise_sort *sort)
{
	rql_stage_buffer_free(sort->order);
}

/* ---- recording ---- */

struct recording {
	const struct rql_materialise *m;
	const struct rql_materialise_sort *sort;
	struct places places;
	struct rql_commands *commands;
	struct rql_error *err;
};

static rql_status dispatch(const struct recording *r, const struct rql_kernel *kernel, uint32_t column,
                           struct rql_order_args args, uint64_t items)
{
	const struct rql_columns_port *in = &r->sort->in;
	const uint32_t threads = RQL_ORDER_THREADS;
	const struct rql_use uses[] = {{in->values, RQL_READ}, {in->count, RQL_READ}, {r->sort->order, RQL_READ_WRITE}};
	const struct rql_pipeline *pipeline;
	args.count = in->count->address + in->count_at;
	args.fields = in->values->address + rql_columns_field(in, column);
	args.field_bits = rql_form_bits(&r->m->form->columns[column]);
	args.room = in->room;
	RQL_TRY(rql_pipeline_get(r->sort->order->device, kernel, &threads, 1, &pipeline, r->err));
	rql_record_dispatch(r->commands, kernel->name, pipeline, &args, (items + threads - 1) / threads, uses, 3);
	return RQL_OK;
}

/* first: no order was made yet. */
static rql_status sort_word(const struct recording *r, const struct word *word, bool first)
{
	const struct rql_buffer *order = r->sort->order;
	const struct rql_sort sort = sort_of(word, r->sort->order, &r->places, r->sort->in.room, first);
	uint32_t left = word->bits;
	for (uint32_t k = 0; k < word->count; k++) {
		const struct rql_row_order *by = &r->m->orders[word->first + k];
		const struct rql_materialise_key key = rql_materialise_key(r->m, by);
		left -= key.bits;
		const struct rql_order_args args = {.rows = first ? 0 : order->address,
		                                    .to = order->address + r->places.words,
		                                    .null_field = key.null_field,
		                                    .word_bits = sort.key_bits,
		                                    .key_bits = key.bits,
		                                    .shift = left,
		                                    .flags = rql_materialise_key_flags(&key) | (k ? RQL_ORDER_MORE : 0)};
		if (key.bits)
			RQL_TRY(dispatch(r, &words_kernel, by->source.index, args, r->sort->in.room));
	}
	return rql_record_sort(r->commands, &sort, r->err);
}

static uint64_t field_place(const struct rql_materialise *m, const struct places *p, uint32_t column)
{
	uint64_t at = p->fields;
	for (uint32_t c = 0; c < column; c++)
		if (rql_materialise_gives(m, c))
			at += round_up(p->most * (rql_form_bits(&m->form->columns[c]) / 8));
	return at;
}

rql_status rql_materialise_sort_record(const struct rql_materialise *m, const struct rql_materialise_sort *sort,
                                       struct rql_commands *commands, struct rql_error *err)
{
	const struct recording r = {m, sort, places_of(m, sort->order->device, sort->in.room), commands, err};
	const struct words words = words_of(m);
	for (uint32_t w = words.count; w-- > 0;)
		RQL_TRY(sort_word(&r, &words.of[w], w + 1 == words.count));
	for (uint32_t c = 0; c < m->form->column_count; c++) {
		const struct rql_order_args args = {.rows = sort->order->address,
		                                    .to = sort->order->address + field_place(m, &r.places, c),
		                                    .first = m->offset,
		                                    .most = r.places.most};
		if (rql_materialise_gives(m, c))
			RQL_TRY(dispatch(&r, &gather_kernel, c, args, r.places.most));
	}
	return RQL_OK;
}

/* ---- reading ---- */

rql_status rql_materialise_sort_take(const struct rql_materialise *m, const struct rql_materialise_sort *sort,
                                     struct rql_mem *mem, struct rql_materialise_rows *rows, uint64_t *bytes,
                                     struct rql_error *err)
{
	const struct places p = places_of(m, sort->order->device, sort->in.room);
	const uint64_t left = rows->count > m->offset ? rows->count - m->offset : 0;
	rows->ordered = true;
	rows->count = left < p.most ? left : p.most;
	for (uint32_t c = 0; c < m->form->column_count && rows->count; c++) {
		const uint64_t size = rows->count * (rql_form_bits(&m->form->columns[c]) / 8);
		if (!rql_materialise_gives(m, c))
			continue;
		void *fields = rql_mem_alloc(mem, size, 1, err);
		if (!fields)
			return rql_stage_on_host(rql_mem_failure(mem), err);
		rows->fields[c] = fields;
		RQL_TRY(rql_buffer_download(sort->order, field_place(m, &p, c), fields, size, err));
		*bytes += size;
	}
	return RQL_OK;
}

/* The order of rows that were fetched. A field becomes a number that ascends as the order says, with NULL at its
 * end, in as many bits as the column's values need. Fields ascend as values do, so that one operation does: with
 * fields f from 1 on, 0 for NULL, and n bits, f - 1 modulo 2^n puts NULL last, -f descends with NULL first, the
 * complement with NULL last.
 *
 * Of the first rows, the words of the first key are looked through once: a heap has the least ones, and no row
 * behind the greatest of these is sorted. */
#include "method/materialise/materialise.h"

#include "column/pack.h"
#include "column/record_sort.h"
#include "column/value/value.h"

#define CHUNK UINT64_C(65536) /* rows of a worker at once */
#define HEAP_MOST UINT64_C(65536)

struct key {
	const void *fields;
	uint32_t field_bits;
	struct rql_materialise_key of;
};

struct ordering {
	uint32_t key_count;
	struct key keys[RQL_MATERIALISE_KEYS];
	uint64_t count;
	uint64_t *first; /* [count]: words of the first key */
	/* records of the rows that are sorted */
	uint32_t words;
	const uint32_t *rows; /* NULL: all */
	uint64_t *records;
};

struct rql_materialise_key rql_materialise_key(const struct rql_materialise *m, const struct rql_row_order *order)
{
	const struct rql_store_column *c = &m->form->columns[order->source.index];
	const rql_uint128 most = c->kind == RQL_STORE_CODED ? c->dimension->count
	                                                    : (rql_uint128)(c->greatest - c->least) + 1;
	return (struct rql_materialise_key){
		.bits = c->kind == RQL_STORE_REAL ? 64 : rql_bits_for(most),
		.real = c->kind == RQL_STORE_REAL,
		.descending = order->descending,
		.nulls_first = order->nulls_first,
		.null_field = c->kind == RQL_STORE_CODED && c->dimension->has_null ? c->dimension->count : 0};
}

static struct key key_of(const struct rql_materialise *m, const struct rql_materialise_rows *rows,
                         const struct rql_row_order *order)
{
	return (struct key){.fields = rows->fields[order->source.index],
	                    .field_bits = rql_form_bits(&m->form->columns[order->source.index]),
	                    .of = rql_materialise_key(m, order)};
}

/* The key's bits of a row, in the most significant ones of a word. */
static uint64_t word_of(const struct key *k, uint64_t row)
{
	uint64_t f = rql_materialise_field(k->fields, k->field_bits, row);
	f = f == k->of.null_field ? 0 : f;
	if (k->of.real && f) { /* no number's place is 0 */
		const uint64_t bits = ~f;
		double value;
		memcpy(&value, &bits, sizeof value);
		f = rql_real_place(value);
	}
	if (k->of.descending)
		f = k->of.nulls_first ? 0 - f : ~f;
	else
		f = k->of.nulls_first ? f : f - 1;
	return k->of.bits ? f << (64 - k->of.bits) : 0;
}

static void first_words(void *state, uint64_t chunk, unsigned worker)
{
	struct ordering *o = state;
	const uint64_t end = (chunk + 1) * CHUNK < o->count ? (chunk + 1) * CHUNK : o->count;
	(void)worker;
	for (uint64_t r = chunk * CHUNK; r < end; r++)
		o->first[r] = word_of(&o->keys[0], r);
}

/* ---- the first ones ---- */

static void sink(uint64_t *heap, uint64_t count, uint64_t hole, uint64_t word)
{
	for (uint64_t child; (child = 2 * hole + 1) < count; hole = child) {
		child += child + 1 < count && heap[child] < heap[child + 1];
		if (word >= heap[child])
			break;
		heap[hole] = heap[child];
	}
	heap[hole] = word;
}

/* The wanted-th least of the words; wanted is from 1 to count. */
static uint64_t nth_word(const struct ordering *o, uint64_t *heap, uint64_t wanted)
{
	memcpy(heap, o->first, wanted * sizeof(*heap));
	for (uint64_t i = wanted / 2; i-- > 0;)
		sink(heap, wanted, i, heap[i]);
	for (uint64_t r = wanted; r < o->count; r++)
		if (o->first[r] < heap[0])
			sink(heap, wanted, 0, o->first[r]);
	return heap[0];
}

/* Leaves in o->rows those that may be wanted. */
static rql_status drop_later(struct ordering *o, uint64_t wanted, const struct rql_crew *crew, struct rql_error *err)
{
	uint64_t *heap, kept = 0;
	uint32_t *rows;
	RQL_TRY(RQL_MEM_ARRAY(crew->mem, heap, wanted, err));
	const uint64_t bound = nth_word(o, heap, wanted);
	for (uint64_t r = 0; r < o->count; r++)
		kept += o->first[r] <= bound;
	RQL_TRY(RQL_MEM_ARRAY(crew->mem, rows, kept, err));
	kept = 0;
	for (uint64_t r = 0; r < o->count; r++)
		if (o->first[r] <= bound)
			rows[kept++] = (uint32_t)r;
	o->rows = rows;
	o->count = kept;
	return RQL_OK;
}

/* ---- all that are left ---- */

static void fill_records(void *state, uint64_t chunk, unsigned worker)
{
	struct ordering *o = state;
	const uint64_t end = (chunk + 1) * CHUNK < o->count ? (chunk + 1) * CHUNK : o->count;
	(void)worker;
	for (uint64_t i = chunk * CHUNK; i < end; i++) {
		const uint64_t row = o->rows ? o->rows[i] : i;
		uint64_t *record = o->records + i * o->words;
		record[0] = o->first[row];
		for (uint32_t k = 1; k < o->key_count; k++)
			record[k] = word_of(&o->keys[k], row);
		record[o->key_count] = row;
	}
}

static rql_status sort_rows(struct ordering *o, const struct rql_crew *crew, const uint64_t **sorted,
                            struct rql_error *err)
{
	uint32_t bits[RQL_MATERIALISE_KEYS];
	struct rql_records sort = {.rows = o->count, .words = o->words, .limbs = o->key_count, .limb_bits = bits};
	uint64_t *out;
	for (uint32_t k = 0; k < o->key_count; k++)
		bits[k] = o->keys[k].of.bits;
	RQL_TRY(RQL_MEM_ARRAY(crew->mem, sort.records, o->count * o->words, err));
	RQL_TRY(RQL_MEM_ARRAY(crew->mem, sort.scratch, o->count * o->words, err));
	o->records = sort.records;
	rql_crew_run(crew, (o->count + CHUNK - 1) / CHUNK, fill_records, o);
	RQL_TRY(rql_sort_records(crew, &sort, &out, err));
	*sorted = out;
	return RQL_OK;
}

rql_status rql_materialise_order(const struct rql_materialise *m, const struct rql_materialise_rows *rows,
                                 const struct rql_crew *crew, const uint32_t **picked, uint64_t *count,
                                 struct rql_error *err)
{
	struct ordering o = {.key_count = m->order_count, .words = m->order_count + 1, .count = rows->count};
	const uint64_t left = rows->count > m->offset ? rows->count - m->offset : 0;
	const uint64_t *sorted;
	uint32_t *out;
	*picked = NULL;
	*count = rows->ordered ? rows->count : left < m->limit ? left : m->limit;
	const uint64_t wanted = *count + m->offset;
	if (!m->order_count || rows->ordered || !*count)
		return RQL_OK;
	for (uint32_t k = 0; k < m->order_count; k++)
		o.keys[k] = key_of(m, rows, &m->orders[k]);
	RQL_TRY(RQL_MEM_ARRAY(crew->mem, o.first, o.count, err));
	rql_crew_run(crew, (o.count + CHUNK - 1) / CHUNK, first_words, &o);
	if (wanted <= HEAP_MOST && wanted < o.count / 2)
		RQL_TRY(drop_later(&o, wanted, crew, err));
	RQL_TRY(sort_rows(&o, crew, &sorted, err));
	RQL_TRY(RQL_MEM_ARRAY(crew->mem, out, *count, err));
	for (uint64_t i = 0; i < *count; i++)
		out[i] = (uint32_t)sorted[(m->offset + i) * o.words + o.key_count];
	*picked = out;
	return RQL_OK;
}

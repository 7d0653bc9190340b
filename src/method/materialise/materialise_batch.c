/* Fields become values in the host's layout, a chunk of the result by one worker at a time. Rows may outlive
 * everything else, the database too: they have their own copies of strings and types. */
#include "method/materialise/materialise.h"

#include <stdlib.h>

#define CHUNK UINT64_C(16384) /* rows of a worker at once: whole words of validity */
_Static_assert(CHUNK % 64 == 0, "no two workers write one word of validity");

struct owner {
	struct rql_batch batch;
	struct rql_mem mem;
	struct rql_arena *arena; /* types */
};

struct decoding {
	const struct rql_materialise *m;
	const struct rql_materialise_rows *rows;
	const struct rql_crew *crew;
	const uint32_t *picked;
	struct owner *owner;
	uint64_t count;
	_Atomic rql_status status; /* the first failure */
	struct rql_error *err;     /* of whoever has set that */
};

static void release(struct rql_batch *batch)
{
	struct owner *o = batch->owner;
	rql_mem_clear(&o->mem);
	rql_arena_free(o->arena);
	free(o);
}

/* A column of the form, and what its codes stand for. */
struct source {
	const struct rql_store_column *column;
	const void *fields;
	uint32_t bits;
	const struct rql_column *values; /* NULL: numbers */
	uint32_t value_count;
};

static struct source source_of(const struct decoding *d, const struct rql_output *output)
{
	const struct rql_store_column *c = &d->m->form->columns[output->source.index];
	struct source s = {.column = c,
	                   .fields = d->rows->fields[output->source.index],
	                   .bits = rql_form_bits(c),
	                   .values = output->values,
	                   .value_count = output->value_count};
	if (c->kind == RQL_STORE_CODED && !s.values) {
		s.values = &c->dimension->values;
		s.value_count = c->dimension->count;
	}
	return s;
}

static struct source lower_of(const struct decoding *d, const struct source *upper)
{
	const uint32_t at = upper->column->low - 1;
	const struct rql_store_column *c = &d->m->form->columns[at];
	return (struct source){.column = c, .fields = d->rows->fields[at], .bits = rql_form_bits(c)};
}

static uint64_t field_at(const struct decoding *d, const struct source *s, uint64_t i)
{
	const uint64_t as_they_stand = d->rows->ordered ? i : d->m->offset + i;
	return rql_materialise_field(s->fields, s->bits, d->picked ? d->picked[i] : as_they_stand);
}

/* ---- values of rows [first, end) ---- */

static void put_null(struct rql_column *to, uint64_t i)
{
	rql_bit_clear(to->validity, i);
}

#define NUMBERS(TYPE, VALUE)                                                                                           \
	for (uint64_t i = first; i < end; i++) {                                                                           \
		const uint64_t f = field_at(d, s, i);                                                                          \
		((TYPE *)to->data)[i] = f ? (TYPE)(VALUE) : (TYPE)0;                                                           \
		if (!f)                                                                                                        \
			put_null(to, i);                                                                                           \
	}

static void put_integers(const struct decoding *d, const struct source *s, uint64_t first, uint64_t end,
                         struct rql_column *to)
{
	const rql_int128 least = s->column->least;
	const uint64_t low = (uint64_t)least - 1; /* modulo 2^64, as the value is */
	switch (rql_type_bytes(to->type)) {
	case 1:
		NUMBERS(uint8_t, low + f)
		break;
	case 2:
		NUMBERS(uint16_t, low + f)
		break;
	case 4:
		NUMBERS(uint32_t, low + f)
		break;
	case 8:
		NUMBERS(uint64_t, low + f)
		break;
	default:
		NUMBERS(rql_int128, least + (rql_int128)(f - 1))
		break;
	}
}

/* Both halves of a column (column/form.h). */
static void put_halves(const struct decoding *d, const struct source *s, uint64_t first, uint64_t end,
                       struct rql_column *to)
{
	const struct source lower = lower_of(d, s);
	for (uint64_t i = first; i < end; i++) {
		const uint64_t f = field_at(d, s, i), low = field_at(d, &lower, i);
		const rql_int128 upper = s->column->least + (rql_int128)f - 1;
		((rql_int128 *)to->data)[i] = f ? (upper * ((rql_int128)1 << RQL_FORM_LOW_BITS)) + (rql_int128)(low - 1) : 0;
		if (!f)
			put_null(to, i);
	}
}

static double real_of(uint64_t field)
{
	const uint64_t bits = ~field;
	double value;
	memcpy(&value, &bits, sizeof value);
	return value;
}

static void put_reals(const struct decoding *d, const struct source *s, uint64_t first, uint64_t end,
                      struct rql_column *to)
{
	if (rql_type_bytes(to->type) == sizeof(float))
		NUMBERS(float, real_of(f))
	else
		NUMBERS(double, real_of(f))
}

/* The number of a row's entry, plus 1; 0: NULL. Numbers are codes, or integers that count entries. */
static uint64_t entry_at(const struct decoding *d, const struct source *s, uint64_t i)
{
	const uint64_t f = field_at(d, s, i);
	return f && s->column->kind == RQL_STORE_INTEGER ? f + (uint64_t)s->column->least : f;
}

struct wide_value { /* 16 bytes of any type */
	uint64_t half[2];
};

#define ENTRIES(TYPE)                                                                                                  \
	for (uint64_t i = first; i < end; i++) {                                                                           \
		const uint64_t f = entry_at(d, s, i);                                                                          \
		const bool there = f && f <= s->value_count && rql_column_valid(s->values, f - 1);                             \
		((TYPE *)to->data)[i] = there ? ((const TYPE *)s->values->data)[f - 1] : (TYPE){0};                            \
		if (!there)                                                                                                    \
			put_null(to, i);                                                                                           \
	}

static void put_entries(const struct decoding *d, const struct source *s, uint64_t first, uint64_t end,
                        struct rql_column *to)
{
	switch (rql_type_bytes(to->type)) {
	case 1:
		ENTRIES(uint8_t)
		break;
	case 2:
		ENTRIES(uint16_t)
		break;
	case 4:
		ENTRIES(uint32_t)
		break;
	case 8:
		ENTRIES(uint64_t)
		break;
	default:
		ENTRIES(struct wide_value)
		break;
	}
}

/* What is too long to lie in the value itself, in one piece of the batch's memory. */
static rql_status own_strings(struct decoding *d, uint64_t first, uint64_t end, struct rql_column *to,
                              struct rql_error *err)
{
	struct rql_string *strings = to->data;
	uint64_t bytes = 0;
	for (uint64_t i = first; i < end; i++)
		bytes += strings[i].length > RQL_STRING_INLINE ? strings[i].length : 0;
	if (!bytes)
		return RQL_OK;
	char *text = rql_mem_alloc(&d->owner->mem, bytes, 1, err);
	if (!text)
		return rql_mem_failure(&d->owner->mem);
	for (uint64_t i = first; i < end; i++) {
		if (strings[i].length <= RQL_STRING_INLINE)
			continue;
		memcpy(text, strings[i].pointer.data, strings[i].length);
		strings[i].pointer.data = text;
		text += strings[i].length;
	}
	return RQL_OK;
}

static rql_status decode(struct decoding *d, uint64_t first, uint64_t end, struct rql_error *err)
{
	for (uint32_t c = 0; c < d->m->output_count; c++) {
		struct rql_column *to = &d->owner->batch.columns[c];
		const struct source s = source_of(d, &d->m->outputs[c]);
		if (s.values)
			put_entries(d, &s, first, end, to);
		else if (s.column->kind == RQL_STORE_REAL)
			put_reals(d, &s, first, end, to);
		else if (s.column->low && rql_type_bytes(to->type) == sizeof(rql_int128))
			put_halves(d, &s, first, end, to);
		else
			put_integers(d, &s, first, end, to);
		if (to->type.id == RQL_TYPE_VARCHAR || to->type.id == RQL_TYPE_BLOB)
			RQL_TRY(own_strings(d, first, end, to, err));
	}
	return RQL_OK;
}

/* ---- the whole ---- */

static void decode_chunk(void *state, uint64_t chunk, unsigned worker)
{
	struct decoding *d = state;
	const uint64_t end = (chunk + 1) * CHUNK < d->count ? (chunk + 1) * CHUNK : d->count;
	struct rql_error why = {0};
	rql_status none = RQL_OK, status;
	(void)worker;
	if (atomic_load_explicit(&d->status, memory_order_relaxed) != RQL_OK)
		return;
	status = rql_crew_cancelled(d->crew) ? rql_crew_interrupted(&why) : decode(d, chunk * CHUNK, end, &why);
	if (status != RQL_OK && atomic_compare_exchange_strong(&d->status, &none, status))
		rql_error_move(d->err, &why);
	rql_error_clear(&why);
}

static rql_status make_columns(struct decoding *d, struct rql_error *err)
{
	struct owner *o = d->owner;
	const uint64_t words = (d->count + 63) / 64;
	o->batch.columns = o->arena ? RQL_NEW_ARRAY(o->arena, struct rql_column, d->m->output_count) : NULL;
	if (!o->batch.columns)
		return rql_error_memory(err, d->m->output_count * sizeof(struct rql_column), "the rows of a query");
	for (uint32_t c = 0; c < d->m->output_count; c++) {
		struct rql_column *column = &o->batch.columns[c];
		column->type = rql_type_copy(o->arena, d->m->outputs[c].type);
		column->data = rql_mem_alloc(&o->mem, d->count, rql_type_bytes(column->type), err);
		if (!column->data)
			return rql_mem_failure(&o->mem);
		RQL_TRY(RQL_MEM_ARRAY(&o->mem, column->validity, words, err));
		memset(column->validity, 0xff, words * sizeof(*column->validity));
	}
	return RQL_OK;
}

rql_status rql_materialise_batch(const struct rql_materialise *m, const struct rql_materialise_rows *rows,
                                 const struct rql_crew *crew, const uint32_t *picked, uint64_t count,
                                 struct rql_batch **out, struct rql_error *err)
{
	struct owner *o = calloc(1, sizeof(*o));
	if (!o)
		return rql_error_memory(err, sizeof(*o), "the rows of a query");
	rql_mem_init(&o->mem, m->budget, "the rows of a query");
	o->arena = rql_arena_new();
	o->batch = (struct rql_batch){.rows = count, .column_count = m->output_count, .release = release, .owner = o};
	struct decoding d = {
		.m = m, .rows = rows, .crew = crew, .picked = picked, .owner = o, .count = count, .status = RQL_OK, .err = err};
	rql_status status = make_columns(&d, err);
	if (status == RQL_OK) {
		rql_crew_run(crew, (count + CHUNK - 1) / CHUNK, decode_chunk, &d);
		status = atomic_load(&d.status);
	}
	if (status == RQL_OK)
		*out = &o->batch;
	else
		release(&o->batch);
	return status;
}

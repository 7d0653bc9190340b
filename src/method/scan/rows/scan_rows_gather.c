/* The outputs of the rows that are wanted, and of no others: straight from packed blocks into columns of the host's
 * layout, whose size is known by now, each block by one worker.
 *
 * Floor: of each block with many wanted rows its packed bytes, else a cache line a value; a value's width written; for
 * strings 16 bytes read (from the dictionary, which stays cached while it is small) and 16 written. */
#include "method/scan/rows/scan_rows_query.h"

#include <stdlib.h>

/* Where a dictionary has fewer entries than a result has rows, by this factor, it is copied as a whole. */
#define SHARED_TEXTS 4u

/* ---- binding ---- */

static rql_status wrong(uint32_t output, const char *what, struct rql_error *err)
{
	return rql_error_set(err, RQL_ERROR_INTERNAL, "rows of a scan: output %u: %s", output, what);
}

static rql_status bind_output(struct rql_scan_rows *rows, uint32_t i, const struct rql_output *from, uint32_t operand,
                              struct rql_error *err)
{
	const struct rql_scan *scan = rows->scan;
	const struct rql_scan_operand *o = &scan->operands[operand];
	struct rql_rows_output *out = &rows->outputs[i];
	*out = (struct rql_rows_output){
		.type = rql_type_copy(scan->arena, from->type),
		.bytes = rql_type_bytes(from->type),
		.operand = operand,
		.column = RQL_NONE,
		.values = from->values,
		.value_count = from->value_count,
		.nullable = o->nullable || (from->values && from->values->validity),
	};
	if (!out->bytes)
		return wrong(i, "a type that has no columns", err);
	if (o->source.kind == RQL_SOURCE_PROGRAM)
		rows->gathered[o->source.index] = true;
	if (o->source.kind == RQL_SOURCE_COLUMN) {
		const struct rql_store_column *column = &scan->snapshot->columns[o->source.index];
		out->column = scan->column_of[o->source.index];
		if (o->kind == RQL_MEASURE_CODE && !out->values) {
			out->values = &column->dimension->values;
			out->value_count = column->dimension->count;
		}
	}
	bool strings = from->type.id == RQL_TYPE_VARCHAR || from->type.id == RQL_TYPE_BLOB;
	out->strings = strings;
	if (out->values && rql_type_bytes(out->values->type) != out->bytes)
		return wrong(i, "its values have another type", err);
	if (out->values ? o->kind == RQL_MEASURE_REAL : strings || rql_type_is_real(from->type) != (o->kind == RQL_MEASURE_REAL))
		return wrong(i, "its source has another kind of value", err);
	return RQL_OK;
}

rql_status rql_rows_bind_outputs(struct rql_scan_rows *rows, const struct rql_request *request,
                                 const uint32_t *operands, struct rql_error *err)
{
	for (; rows->output_count < request->output_count; rows->output_count++)
		RQL_TRY(bind_output(rows, rows->output_count, &request->outputs[rows->output_count],
		                    operands[rows->output_count], err));
	return RQL_OK;
}

/* ---- the batch ---- */

/* Rows may outlive everything else, the database too: they have their own copies of strings and types. */

struct owner {
	struct rql_batch batch;
	struct rql_mem mem;
	struct rql_arena *arena; /* types */
};

static void release(struct rql_batch *batch)
{
	struct owner *o = batch->owner;
	rql_mem_clear(&o->mem);
	rql_arena_free(o->arena);
	free(o);
}

static rql_status make_column(const struct rql_rows_run *run, struct owner *o, uint32_t c, struct rql_error *err)
{
	const struct rql_rows_output *output = &run->rows->outputs[c];
	struct rql_column *column = &o->batch.columns[c];
	uint64_t words = (run->result_rows + 63) / 64;
	column->type = rql_type_copy(o->arena, output->type);
	column->data = rql_mem_alloc(&o->mem, run->result_rows, output->bytes, err);
	if (!column->data)
		return rql_mem_failure(&o->mem);
	if (!output->nullable)
		return RQL_OK;
	RQL_TRY(RQL_MEM_ARRAY(&o->mem, column->validity, words, err));
	memset(column->validity, 0xff, words * sizeof(*column->validity));
	return RQL_OK;
}

/* The strings of a dictionary that is small beside the result: copied once, all rows that have one share it. */
static rql_status copy_dictionary(struct rql_rows_run *run, struct owner *o, uint32_t c, struct rql_error *err)
{
	const struct rql_rows_output *output = &run->rows->outputs[c];
	const struct rql_string *from = output->values ? output->values->data : NULL;
	uint64_t bytes = 0;
	if (!output->strings || output->value_count > run->result_rows / SHARED_TEXTS)
		return RQL_OK;
	for (uint32_t i = 0; i < output->value_count; i++)
		bytes += rql_column_valid(output->values, i) && from[i].length > RQL_STRING_INLINE ? from[i].length : 0;
	struct rql_string *copies = rql_mem_zalloc(&run->mem, output->value_count, sizeof(*copies), err);
	if (!copies)
		return rql_mem_failure(&run->mem);
	char *text = rql_mem_alloc(&o->mem, bytes, 1, err);
	if (!text)
		return rql_mem_failure(&o->mem);
	for (uint32_t i = 0; i < output->value_count; i++) {
		if (!rql_column_valid(output->values, i))
			continue;
		copies[i] = from[i];
		if (from[i].length <= RQL_STRING_INLINE)
			continue;
		memcpy(text, from[i].pointer.data, from[i].length);
		copies[i].pointer.data = text;
		text += from[i].length;
	}
	run->texts[c] = copies;
	return RQL_OK;
}

static rql_status make_batch(struct rql_rows_run *run, struct rql_error *err)
{
	const struct rql_scan_rows *rows = run->rows;
	struct owner *o = calloc(1, sizeof(*o));
	if (!o)
		return rql_error_memory(err, sizeof(*o), "the rows of a query");
	rql_mem_init(&o->mem, rows->budget, "the rows of a query");
	o->arena = rql_arena_new();
	o->batch = (struct rql_batch){
		.rows = run->result_rows, .column_count = rows->output_count, .release = release, .owner = o};
	run->batch = &o->batch;
	o->batch.columns = o->arena ? RQL_NEW_ARRAY(o->arena, struct rql_column, rows->output_count) : NULL;
	if (!o->batch.columns)
		return rql_error_memory(err, rows->output_count * sizeof(struct rql_column), "the rows of a query");
	RQL_TRY(RQL_MEM_ZARRAY(&run->mem, run->texts, rows->output_count, err));
	for (uint32_t c = 0; c < rows->output_count; c++) {
		RQL_TRY(make_column(run, o, c, err));
		RQL_TRY(copy_dictionary(run, o, c, err));
	}
	return RQL_OK;
}

/* ---- values ---- */

#define COPY(TO, FROM)                                                                                                 \
	do {                                                                                                               \
		TO *out_ = data;                                                                                               \
		const FROM *in_ = values;                                                                                      \
		if (to.at)                                                                                                     \
			for (uint32_t i = 0; i < n; i++)                                                                           \
				out_[to.at[i]] = (TO)in_[i];                                                                           \
		else                                                                                                           \
			for (uint32_t i = 0; i < n; i++)                                                                           \
				out_[to.base + i] = (TO)in_[i];                                                                        \
	} while (0)

static void copy_numbers(const void *values, enum rql_lane_kind lane, uint32_t n, const struct rql_rows_output *output,
                         struct rql_rows_target to, void *data)
{
	bool wide = lane == RQL_LANE_I128;
	if (lane == RQL_LANE_F64) {
		if (output->bytes == 4)
			COPY(float, double);
		else
			COPY(double, double);
		return;
	}
	switch (output->bytes) {
	case 1:
		if (wide)
			COPY(uint8_t, rql_int128);
		else
			COPY(uint8_t, int64_t);
		break;
	case 2:
		if (wide)
			COPY(uint16_t, rql_int128);
		else
			COPY(uint16_t, int64_t);
		break;
	case 4:
		if (wide)
			COPY(uint32_t, rql_int128);
		else
			COPY(uint32_t, int64_t);
		break;
	case 8:
		if (wide)
			COPY(uint64_t, rql_int128);
		else
			COPY(uint64_t, int64_t);
		break;
	default:
		if (wide)
			COPY(rql_int128, rql_int128);
		else
			COPY(rql_int128, int64_t);
		break;
	}
}

struct wide_value { /* 16 bytes of any type */
	uint64_t half[2];
};

/* What a code stands for; codes are entries of the table. */
#define LOOK_UP(TO)                                                                                                    \
	do {                                                                                                               \
		TO *out_ = data;                                                                                               \
		const TO *in_ = values;                                                                                        \
		if (to.at)                                                                                                     \
			for (uint32_t i = 0; i < n; i++)                                                                           \
				out_[to.at[i]] = in_[codes[i]];                                                                        \
		else                                                                                                           \
			for (uint32_t i = 0; i < n; i++)                                                                           \
				out_[to.base + i] = in_[codes[i]];                                                                     \
	} while (0)

static void look_up(const uint32_t *codes, uint32_t n, const void *values, unsigned bytes, struct rql_rows_target to,
                    void *data)
{
	switch (bytes) {
	case 1:
		LOOK_UP(uint8_t);
		break;
	case 2:
		LOOK_UP(uint16_t);
		break;
	case 4:
		LOOK_UP(uint32_t);
		break;
	case 8:
		LOOK_UP(uint64_t);
		break;
	default:
		LOOK_UP(struct wide_value);
		break;
	}
}

/* ---- NULLs ---- */

/* Workers share words where their blocks meet, or anywhere in an order: bits are cleared atomically, a word at once where
 * rows follow each other. */
static void clear_bits(uint64_t *validity, uint64_t word, uint64_t bits)
{
	if (bits)
		__atomic_fetch_and(&validity[word], ~bits, __ATOMIC_RELAXED);
}

static bool mark_nulls(const uint64_t *nulls, uint32_t n, struct rql_rows_target to, uint64_t *validity)
{
	uint64_t any = 0;
	for (uint32_t first = 0; first < n; first += 64) {
		uint64_t word = nulls[first / 64];
		word &= rql_bit_mask(n - first);
		any |= word;
		if (!to.at) {
			uint64_t at = to.base + first;
			clear_bits(validity, at / 64, word << at % 64);
			if (at % 64)
				clear_bits(validity, at / 64 + 1, word >> (64 - at % 64));
			continue;
		}
		for (; word; word &= word - 1) {
			uint32_t at = to.at[first + (uint32_t)__builtin_ctzll(word)];
			clear_bits(validity, at / 64, UINT64_C(1) << at % 64);
		}
	}
	return any != 0;
}

/* ---- a vector of one output ---- */

/* Codes from a source's integers; what is no entry, which only NULLs can be, becomes one. */
static void codes_of(const int64_t *values, uint32_t n, uint32_t count, uint32_t *codes)
{
	for (uint32_t i = 0; i < n; i++)
		codes[i] = (uint64_t)values[i] < count ? (uint32_t)values[i] : 0;
}

/* The rows' long strings, in one piece of the batch's memory. */
static rql_status own_strings(struct rql_rows_run *run, const uint64_t *nulls, uint32_t n, struct rql_rows_target to,
                              struct rql_string *strings, struct rql_error *err)
{
	struct owner *o = run->batch->owner;
	uint64_t bytes = 0;
	char *text = NULL;
	for (unsigned pass = 0; pass < 2; pass++) {
		for (uint32_t i = 0; i < n; i++) {
			struct rql_string *s = &strings[to.at ? to.at[i] : to.base + i];
			if (rql_bit(nulls, i) || s->length <= RQL_STRING_INLINE)
				continue;
			if (pass) {
				memcpy(text, s->pointer.data, s->length);
				s->pointer.data = text;
				text += s->length;
			}
			bytes += s->length;
		}
		if (!bytes)
			return RQL_OK;
		if (!pass && !(text = rql_mem_alloc(&o->mem, bytes, 1, err)))
			return rql_mem_failure(&o->mem);
	}
	return RQL_OK;
}

static rql_status gather_vector(struct rql_rows_run *run, struct rql_scan_worker *w, uint32_t c, uint32_t first,
                                uint32_t n, struct rql_rows_target to)
{
	const struct rql_rows_output *output = &run->rows->outputs[c];
	const struct rql_scan_operand *o = &run->rows->scan->operands[output->operand];
	struct rql_column *column = &run->batch->columns[c];
	const uint32_t *codes = NULL;
	uint32_t room[RQL_VECTOR_ROWS];
	uint64_t nulls[RQL_VECTOR_WORDS] = {0};
	struct rql_scan_values values = {NULL, NULL};
	if (output->column != RQL_NONE && o->kind == RQL_MEASURE_CODE) {
		codes = (const uint32_t *)rql_scan_load_column(w, output->column)->data + first;
	} else {
		values = rql_scan_operand_values(w, output->operand, first, n);
		for (uint32_t i = 0; values.valid && i < RQL_VECTOR_WORDS; i++)
			nulls[i] = ~values.valid[i];
	}
	if (!codes && output->values) {
		codes_of(values.data, n, output->value_count, room);
		codes = room;
	}
	if (codes && !output->value_count) /* nothing but NULLs */
		memset(nulls, 0xff, sizeof(nulls));
	else if (codes)
		look_up(codes, n, run->texts[c] ? (const void *)run->texts[c] : output->values->data, output->bytes, to,
		        column->data);
	else
		copy_numbers(values.data, o->lane, n, output, to, column->data);
	if (codes && output->value_count && output->values->validity)
		for (uint32_t i = 0; i < n; i++)
			rql_bit_or(nulls, i, !rql_column_valid(output->values, codes[i]));
	if (output->nullable && mark_nulls(nulls, n, to, column->validity))
		__atomic_store_n(&run->null_seen[c], true, __ATOMIC_RELAXED);
	return output->strings && !run->texts[c] ? own_strings(run, nulls, n, to, column->data, &w->error) : RQL_OK;
}

/* ---- a block ---- */

/* Of the rows that passed, those from the low-th to before the high-th stay. */
static void trim(struct rql_scan_worker *w, uint64_t low, uint64_t high)
{
	uint32_t words = (w->block_rows + 63) / 64, rows[RQL_SCAN_ROOM];
	if (low == 0 && high == w->left)
		return;
	(void)w->scan->kernels->select(w->mask, words, rows);
	memset(w->mask, 0, words * sizeof(*w->mask));
	for (uint64_t i = low; i < high; i++)
		rql_bit_set(w->mask, rows[i]);
	w->left = (uint32_t)(high - low);
	w->full = w->left == w->block_rows;
}

/* The picked rows of a block under its mask, and where each goes. */
static const uint32_t *enter_picks(struct rql_rows_run *run, struct rql_scan_worker *w, uint32_t thread, uint64_t block)
{
	uint32_t *places = run->places[thread], rows[RQL_SCAN_ROOM];
	uint32_t *of_row = places + RQL_SCAN_ROOM, words = (w->block_rows + 63) / 64;
	memset(w->mask, 0, RQL_SCAN_MASK_WORDS * sizeof(*w->mask));
	for (uint64_t p = run->pick_first[block]; p < run->pick_first[block + 1]; p++) {
		uint32_t row = (uint32_t)(run->picks[p] >> 32);
		rql_bit_set(w->mask, row);
		of_row[row] = (uint32_t)run->picks[p];
	}
	w->left = w->scan->kernels->select(w->mask, words, rows);
	w->full = w->left == w->block_rows;
	for (uint32_t i = 0; i < w->left; i++)
		places[i] = of_row[rows[i]];
	return places;
}

static rql_status gather_block(struct rql_rows_run *run, struct rql_scan_worker *w, uint32_t thread, uint64_t block)
{
	const struct rql_scan_rows *rows = run->rows;
	struct rql_rows_target to = {0, NULL};
	if (run->picks) {
		if (run->pick_first[block] == run->pick_first[block + 1])
			return RQL_OK;
		rql_rows_enter(run, w, block);
		to.at = enter_picks(run, w, thread, block);
	} else {
		uint64_t end = run->skipped + run->result_rows, low = run->first[block], high = run->first[block + 1];
		uint64_t from = low > run->skipped ? low : run->skipped, until = high < end ? high : end;
		if (from >= until && !run->listed) /* lists are checked as a whole: others' rows would move */
			return RQL_OK;
		rql_rows_enter(run, w, block);
		RQL_TRY(rql_rows_restore(run, w, block));
		if (from >= until)
			return RQL_OK;
		trim(w, from - low, until - low);
		to.base = from - run->skipped;
	}
	for (uint32_t first = 0; first < w->left; first += RQL_VECTOR_ROWS) {
		uint32_t n = w->left - first < RQL_VECTOR_ROWS ? w->left - first : RQL_VECTOR_ROWS;
		struct rql_rows_target part = {to.base + first, to.at ? to.at + first : NULL};
		for (uint32_t p = 0; p < rows->scan->program_count; p++)
			if (rows->gathered[p])
				RQL_TRY(rql_scan_run_program(w, p, first, n));
		for (uint32_t c = 0; c < rows->output_count; c++)
			RQL_TRY(gather_vector(run, w, c, first, n, part));
	}
	return RQL_OK;
}

/* ---- the whole ---- */

/* The result's entries by block: a sort by counting. */
static rql_status sort_picks(struct rql_rows_run *run, struct rql_error *err)
{
	const struct rql_scan_rows *rows = run->rows;
	uint32_t words = rows->words_per_entry;
	uint64_t n = run->result_rows, sum = 0;
	RQL_TRY(RQL_MEM_ZARRAY(&run->mem, run->pick_first, run->blocks + 2, err));
	RQL_TRY(RQL_MEM_ARRAY(&run->mem, run->picks, n, err));
	uint64_t *next = run->pick_first + 1; /* ends as the starts of the blocks after */
	for (uint64_t i = 0; i < n; i++)
		next[run->picked[i * words + words - 1] >> RQL_ROWS_BITS]++;
	for (uint64_t b = 0; b < run->blocks; b++) {
		uint64_t count = next[b];
		next[b] = sum;
		sum += count;
	}
	for (uint64_t i = 0; i < n; i++) {
		uint64_t place = run->picked[i * words + words - 1];
		run->picks[next[place >> RQL_ROWS_BITS]++] = (place & (RQL_STORE_BLOCK - 1)) << 32 | i;
	}
	RQL_TRY(RQL_MEM_ARRAY(&run->mem, run->places, run->threads, err));
	for (uint32_t t = 0; t < run->threads; t++)
		RQL_TRY(RQL_MEM_ARRAY(&run->mem, run->places[t], 2 * RQL_SCAN_ROOM, err));
	return RQL_OK;
}

rql_status rql_rows_gather(struct rql_rows_run *run, struct rql_error *err)
{
	const struct rql_scan_rows *rows = run->rows;
	if (run->result_rows > UINT32_MAX)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "a result of more than 2^32 - 1 rows");
	if (run->picked)
		RQL_TRY(sort_picks(run, err));
	RQL_TRY(make_batch(run, err));
	RQL_TRY(RQL_MEM_ZARRAY(&run->mem, run->null_seen, rows->output_count, err));
	const struct rql_rows_pass pass = {
		.blocks = run->blocks,
		.shared = rql_rows_worth_sharing(run, &rows->gathered_columns, run->result_rows, rows->output_count),
		.columns = &rows->gathered_columns,
		.fn = gather_block,
	};
	if (run->result_rows)
		RQL_TRY(rql_rows_each_block(run, &pass, err));
	for (uint32_t c = 0; c < rows->output_count; c++)
		if (!run->null_seen[c])
			run->batch->columns[c].validity = NULL;
	struct owner *o = run->batch->owner;
	if (o->mem.budget) { /* from here on they are the caller's */
		rql_budget_release(o->mem.budget, o->mem.held);
		o->mem.budget = NULL;
	}
	return RQL_OK;
}

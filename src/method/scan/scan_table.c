/* What a scan's kernel reads beside columns: one record for each block that the zone maps leave, made once per request,
 * so that a warm run asks no descriptor anything. */
#include "method/scan/scan_compute.h"

#include <stddef.h>
#include <stdlib.h>

struct making {
	struct rql_scan_plan *plan;
	struct rql_scan_table *table;
	struct rql_error *err;
	const struct rql_store_segment *segment;
	uint64_t segment_at; /* number */
	uint64_t *sets;      /* [tests]: of this segment's stored codes, in the blob; UINT64_MAX: none of its own */
	uint32_t *stored_count;
	rql_int128 (*low)[2], (*high)[2]; /* [tests]: RANGE of codes, in stored codes */
};

uint32_t rql_scan_plan_column(const struct rql_scan_plan *plan, uint32_t i)
{
	return i < plan->test_count ? plan->tests[i].column : plan->scan->columns[plan->refs[i - plan->test_count]].column;
}

static struct rql_scan_placed *placed_of(const struct making *m, uint32_t column)
{
	return m->table->placed[m->segment_at * m->plan->scan->snapshot->column_count + column];
}

static rql_status place_columns(const struct rql_scan_plan *plan, struct rql_device *device,
                                struct rql_scan_table *table, struct rql_error *err)
{
	const struct rql_store_snapshot *snapshot = plan->scan->snapshot;
	table->placed = calloc((uint64_t)snapshot->segment_count * snapshot->column_count + 1, sizeof(*table->placed));
	if (!table->placed)
		return rql_error_memory(err, snapshot->segment_count * 8ull, "columns on a device");
	for (uint32_t s = 0; s < snapshot->segment_count; s++)
		for (uint32_t i = 0; i < plan->test_count + plan->ref_count; i++) {
			uint32_t column = rql_scan_plan_column(plan, i);
			struct rql_scan_placed **at = &table->placed[(uint64_t)s * snapshot->column_count + column];
			if (!*at)
				RQL_TRY(rql_scan_place(snapshot, &snapshot->segments[s], column, device, at, err));
		}
	return RQL_OK;
}

void rql_scan_table_free(const struct rql_scan_plan *plan, struct rql_scan_table *table)
{
	uint64_t count =
		plan->scan ? (uint64_t)plan->scan->snapshot->segment_count * plan->scan->snapshot->column_count : 0;
	for (uint64_t i = 0; table->placed && i < count; i++)
		rql_scan_placed_release(table->placed[i]);
	free(table->placed);
	*table = (struct rql_scan_table){0};
}

/* ---- tests of a segment with codes of its own ---- */

/* The first stored code whose code is at least `code`. */
static uint32_t stored_from(const struct rql_store_view *view, rql_int128 code)
{
	uint32_t low = 0, high = view->stored_codes;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if ((rql_int128)view->translate[middle] < code)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static rql_status begin_segment(struct making *m)
{
	for (uint32_t i = 0; i < m->plan->test_count; i++) {
		const struct rql_scan_chunk_test *t = &m->plan->tests[i];
		const struct rql_store_view *view = &m->segment->columns[t->column];
		m->sets[i] = UINT64_MAX;
		for (uint32_t k = 0; k < 2; k++) {
			m->low[i][k] = t->low[k];
			m->high[i][k] = t->high[k];
		}
		if (!view->translate || t->kind == RQL_SCAN_TEST_NULL)
			continue;
		if (t->kind == RQL_SCAN_TEST_RANGE) {
			for (uint32_t k = 0; k < 2; k++) {
				m->low[i][k] = stored_from(view, t->low[k]);
				m->high[i][k] = (rql_int128)stored_from(view, t->high[k] + 1) - 1;
			}
			continue;
		}
		uint32_t words = view->stored_codes / 32 + 2, *set = calloc(words, sizeof(*set));
		if (!set)
			return rql_error_memory(m->err, words * 4ull, "a set of codes");
		for (uint32_t code = 0; code < view->stored_codes; code++) {
			uint32_t now = view->translate[code];
			set[code / 32] |= (t->set[now / 32] >> now % 32 & 1) << code % 32;
		}
		m->sets[i] = rql_scan_blob_put(&m->plan->blob, set, words * 4ull);
		m->stored_count[i] = view->stored_codes;
		free(set);
	}
	return RQL_OK;
}

/* ---- references ---- */

/* x - a <= b with the fields in the upper bits; false: no field of the block is in the range. */
static bool range_of(rql_int128 low, rql_int128 high, const struct rql_scan_placed_block *p, uint32_t *a, uint32_t *b)
{
	/* A coded column's base is a code, an integer's is signed. */
	rql_int128 base = (int64_t)p->base, most = ((rql_int128)1 << p->bits) - 1;
	low = low - base < 0 ? 0 : low - base;
	high = high - base > most ? most : high - base;
	*a = *b = 0;
	if (low > high)
		return false;
	if (p->bits) {
		*a = (uint32_t)((uint64_t)low << (32 - p->bits));
		*b = (uint32_t)(((uint64_t)(high - low + 1) << (32 - p->bits)) - 1);
	}
	return true;
}

static void put_range(const struct making *m, uint32_t i, const struct rql_scan_placed_block *p,
                      struct rql_scan_ref *ref)
{
	uint32_t a[2], b[2];
	bool some[2];
	for (uint32_t k = 0; k < 2; k++)
		some[k] = range_of(m->low[i][k], m->high[i][k], p, &a[k], &b[k]);
	uint32_t first = some[0] ? 0 : 1, second = some[1] ? 1 : 0;
	ref->bits_how = p->bits | (some[0] || some[1] ? RQL_SCAN_HOW_TEST : RQL_SCAN_HOW_NONE) << 8;
	ref->a = a[first];
	ref->b = b[first];
	ref->table = a[second] | (uint64_t)b[second] << 32;
}

static void put_set(const struct making *m, uint32_t i, const struct rql_scan_placed_block *p, struct rql_scan_ref *ref)
{
	const struct rql_scan_chunk_test *t = &m->plan->tests[i];
	bool own = m->sets[i] != UINT64_MAX;
	rql_int128 offset = (rql_int128)(int64_t)p->base - t->least;
	/* Fields have 31 bits at most, so the sum wraps only where no key is. */
	bool far = offset >= (rql_int128)1 << 31 || offset < -((rql_int128)1 << 31);
	uint32_t how = far ? RQL_SCAN_HOW_NONE : own || t->global ? RQL_SCAN_HOW_GLOBAL : RQL_SCAN_HOW_TEST;
	ref->bits_how = p->bits | how << 8;
	ref->a = (uint32_t)(int64_t)offset;
	ref->b = own ? m->stored_count[i] : t->span;
	ref->set_at = t->set_at;
	ref->table = own ? m->sets[i] : t->global ? t->table : 0;
}

static uint64_t valid_of(const struct rql_scan_placed *placed, const struct rql_scan_placed_block *p,
                         const struct rql_store_block *b)
{
	if (p->validity != RQL_STORE_NONE)
		return placed->buffer->address + (uint64_t)p->validity * 64;
	return b->nulls == b->rows;
}

static struct rql_scan_ref ref_of(const struct making *m, uint32_t i, uint32_t block, enum rql_store_match match)
{
	const struct rql_scan_plan *plan = m->plan;
	uint32_t column = rql_scan_plan_column(plan, i);
	const struct rql_scan_placed *placed = placed_of(m, column);
	const struct rql_scan_placed_block *p = &placed->blocks[block];
	const struct rql_store_view *view = &m->segment->columns[column];
	struct rql_scan_ref ref = {.bits_how = p->bits, .a = (uint32_t)p->base, .b = (uint32_t)(p->base >> 32)};
	ref.data = placed->buffer ? placed->buffer->address + (uint64_t)p->data * 64 : 0;
	if (view->kind != RQL_STORE_CODED)
		ref.valid = valid_of(placed, p, &view->blocks[block]);
	if (i >= plan->test_count)
		return ref;
	ref.a = ref.b = 0;
	ref.bits_how = p->bits | RQL_SCAN_HOW_TEST << 8;
	if (match == RQL_MATCH_ALL)
		ref.bits_how = p->bits | RQL_SCAN_HOW_ALL << 8;
	else if (plan->tests[i].kind == RQL_SCAN_TEST_RANGE)
		put_range(m, i, p, &ref);
	else if (plan->tests[i].kind == RQL_SCAN_TEST_SET)
		put_set(m, i, p, &ref);
	return ref;
}

static uint64_t block_bytes(uint32_t rows, uint32_t bits)
{
	return ((uint64_t)rows * bits + 7) / 8;
}

static void put_block(struct making *m, uint32_t block, const enum rql_store_match *matches, const uint64_t *translated)
{
	const struct rql_scan_plan *plan = m->plan;
	struct rql_scan_table *table = m->table;
	struct rql_scan_blob *blob = &m->plan->blob;
	uint64_t at = table->items + (uint64_t)table->item_count++ * table->item_bytes;
	uint32_t rows = m->segment->columns[0].blocks[block].rows;
	memcpy(blob->bytes + at, &rows, sizeof(rows));
	for (uint32_t i = 0; i < plan->test_count + plan->ref_count; i++) {
		enum rql_store_match match = i < plan->test_count ? matches[plan->tests[i].step] : RQL_MATCH_SOME;
		if (i < plan->test_count && plan->tests[i].also != RQL_SCAN_NONE && match == RQL_MATCH_ALL)
			match = matches[plan->tests[i].also];
		struct rql_scan_ref ref = ref_of(m, i, block, match);
		uint64_t to = at + RQL_SCAN_ITEM_HEAD + (uint64_t)i * sizeof(ref);
		if (i >= plan->test_count && translated[i - plan->test_count] != UINT64_MAX)
			ref.table = translated[i - plan->test_count];
		ref.bits_how |= rows << 16;
		if (ref.table && (i >= plan->test_count || plan->tests[i].kind == RQL_SCAN_TEST_SET))
			rql_scan_blob_relocate(blob, to + offsetof(struct rql_scan_ref, table));
		if (i >= plan->test_count && (ref.bits_how & 0xff) == 0) {
			ref.data = table->items; /* no fields, but readable words */
			rql_scan_blob_relocate(blob, to + offsetof(struct rql_scan_ref, data));
		}
		memcpy(blob->bytes + to, &ref, sizeof(ref));
		uint32_t bits = ref.bits_how & 0xff, how = ref.bits_how >> 8 & 0xff;
		if (i < plan->test_count && plan->tests[i].eager && how != RQL_SCAN_HOW_ALL)
			table->bytes += block_bytes(rows, bits);
		else if (i >= plan->test_count || how != RQL_SCAN_HOW_ALL)
			table->lazy_row_bytes += (double)block_bytes(rows, bits);
	}
	table->rows += rows;
	table->bytes += table->item_bytes;
}

static rql_status put_segment(struct making *m, enum rql_store_match *matches, uint64_t *translated)
{
	const struct rql_scan_plan *plan = m->plan;
	RQL_TRY(begin_segment(m));
	for (uint32_t i = 0; i < plan->ref_count; i++) {
		const struct rql_store_view *view = &m->segment->columns[rql_scan_plan_column(plan, plan->test_count + i)];
		translated[i] = UINT64_MAX;
		if (view->translate)
			translated[i] = rql_scan_blob_put(&m->plan->blob, view->translate, view->stored_codes * sizeof(uint32_t));
	}
	for (uint32_t block = 0; block < m->segment->blocks && !plan->blob.out_of_memory; block++) {
		bool read = true;
		for (uint32_t s = 0; s < plan->scan->step_count && read; s++) {
			matches[s] = rql_scan_match(plan->scan, m->segment, block, s);
			read = matches[s] != RQL_MATCH_NONE;
		}
		if (read)
			put_block(m, block, matches, translated);
	}
	return RQL_OK;
}

/* ---- the whole ---- */

static rql_status put_items(struct making *m)
{
	const struct rql_scan_plan *plan = m->plan;
	struct rql_scan_table *table = m->table;
	const struct rql_store_snapshot *snapshot = plan->scan->snapshot;
	uint32_t tests = plan->test_count + 1u, steps = plan->scan->step_count + 1u, refs = plan->ref_count + 1u;
	m->sets = RQL_NEW_ARRAY(plan->arena, uint64_t, tests);
	m->stored_count = RQL_NEW_ARRAY(plan->arena, uint32_t, tests);
	m->low = rql_arena_array(plan->arena, tests, sizeof(*m->low));
	m->high = rql_arena_array(plan->arena, tests, sizeof(*m->high));
	enum rql_store_match *matches = RQL_NEW_ARRAY(plan->arena, enum rql_store_match, steps);
	uint64_t *translated = RQL_NEW_ARRAY(plan->arena, uint64_t, refs);
	if (!m->sets || !m->stored_count || !m->low || !m->high || !matches || !translated)
		return rql_error_memory(m->err, tests * 64ull, "a query's tables");
	table->item_bytes =
		RQL_SCAN_ITEM_HEAD + (plan->test_count + plan->ref_count) * (uint32_t)sizeof(struct rql_scan_ref);
	for (uint32_t i = 0; i < plan->test_count; i++)
		if (plan->tests[i].global)
			plan->tests[i].table =
				rql_scan_blob_put(&m->plan->blob, plan->tests[i].set, (plan->tests[i].span / 32 + 1) * 4ull);
	/* Room for every block: records are written where they will lie, between the other tables. */
	table->items = rql_scan_blob_put(&m->plan->blob, NULL, snapshot->blocks * table->item_bytes);
	for (uint32_t s = 0; s < snapshot->segment_count && !plan->blob.out_of_memory; s++) {
		m->segment = &snapshot->segments[s];
		m->segment_at = s;
		RQL_TRY(put_segment(m, matches, translated));
	}
	return RQL_OK;
}

static uint64_t put_sets(struct rql_scan_plan *plan)
{
	uint64_t at = rql_scan_blob_put(&plan->blob, NULL, plan->set_words * 4ull);
	for (uint32_t i = 0; i < plan->test_count && !plan->blob.out_of_memory; i++) {
		const struct rql_scan_chunk_test *t = &plan->tests[i];
		if (t->kind == RQL_SCAN_TEST_SET && !t->global)
			memcpy(plan->blob.bytes + at + 4ull * t->set_at, t->set, t->span / 32 * 4ull + (t->span % 32 ? 4 : 0));
	}
	return at;
}

static uint64_t put_params(struct rql_scan_plan *plan)
{
	struct rql_scan_blob *blob = &plan->blob;
	uint64_t at = rql_scan_blob_put(blob, NULL, plan->param_count * sizeof(uint64_t));
	for (uint32_t i = 0; i < plan->param_count && !blob->out_of_memory; i++) {
		memcpy(blob->bytes + at + 8ull * i, &plan->params[i].value, sizeof(uint64_t));
		if (plan->params[i].relative)
			rql_scan_blob_relocate(blob, at + 8ull * i);
	}
	return at;
}

rql_status rql_scan_table_make(struct rql_scan_plan *plan, struct rql_device *device, struct rql_scan_table *out,
                               struct rql_error *err)
{
	struct making m = {.plan = plan, .table = out, .err = err};
	*out = (struct rql_scan_table){0};
	RQL_TRY(place_columns(plan, device, out, err));
	RQL_TRY(put_items(&m));
	out->sets = put_sets(plan);
	out->params = put_params(plan);
	out->kinds = rql_scan_blob_put(&plan->blob, plan->kinds, plan->scan->row_words * sizeof(uint32_t));
	if (plan->blob.out_of_memory)
		return rql_error_memory(err, plan->blob.room, "a query's tables");
	return RQL_OK;
}

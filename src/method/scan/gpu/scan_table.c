/* What a scan's kernel reads beside columns: one record for each block that the zone maps leave, made once per request,
 * so that a warm run asks no descriptor anything. */
#include "method/scan/gpu/scan_compute.h"

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
	rql_int128 (*low)[RQL_SCAN_RANGES_MAX], (*high)[RQL_SCAN_RANGES_MAX]; /* [tests]: PLANES; of codes: stored ones */
	struct rql_scan_numbering *numbering; /* [tests]: PLANES */
};

static uint32_t plan_column(const struct rql_scan_plan *plan, uint32_t i)
{
	return i < plan->test_count ? plan->tests[i].column : plan->scan->columns[plan->refs[i - plan->test_count]].column;
}

enum rql_scan_layout rql_scan_plan_layout(const struct rql_scan_plan *plan, uint32_t i)
{
	return i < plan->test_count && plan->tests[i].kind != RQL_SCAN_TEST_SET ? RQL_SCAN_PLANES : RQL_SCAN_FIELDS;
}

static struct rql_scan_placed **placed_at(const struct rql_scan_plan *plan, const struct rql_scan_table *table,
                                          uint64_t segment, uint32_t i)
{
	uint64_t columns = plan->scan->snapshot->column_count;
	return &table->placed[(segment * columns + plan_column(plan, i)) * RQL_SCAN_LAYOUTS +
	                      rql_scan_plan_layout(plan, i)];
}

static const struct rql_scan_placed *placed_of(const struct making *m, uint32_t i)
{
	return *placed_at(m->plan, m->table, m->segment_at, i);
}

uint64_t rql_scan_table_places(const struct rql_scan_plan *plan)
{
	const struct rql_store_snapshot *snapshot = plan->scan->snapshot;
	return (uint64_t)snapshot->segment_count * snapshot->column_count * RQL_SCAN_LAYOUTS;
}

uint64_t rql_scan_table_maps(const struct rql_scan_plan *plan)
{
	return (uint64_t)plan->scan->join_count * RQL_SCAN_MAP_PARTS;
}

static rql_status place_maps(const struct rql_scan_plan *plan, struct rql_device *device, struct rql_scan_table *table,
                             struct rql_error *err)
{
	table->maps = calloc(rql_scan_table_maps(plan) + 1, sizeof(struct rql_scan_placed_map *));
	if (!table->maps)
		return rql_error_memory(err, rql_scan_table_maps(plan) * 8, "maps on a device");
	for (uint32_t i = 0; i < rql_scan_table_maps(plan); i++)
		if (plan->maps[i])
			RQL_TRY(rql_scan_map_place(plan->scan->joins[i / RQL_SCAN_MAP_PARTS].map,
			                           (enum rql_scan_map_part)(i % RQL_SCAN_MAP_PARTS), device, &table->uploaded,
			                           &table->maps[i], err));
	return RQL_OK;
}

static rql_status place_columns(const struct rql_scan_plan *plan, struct rql_device *device,
                                struct rql_scan_table *table, struct rql_error *err)
{
	const struct rql_store_snapshot *snapshot = plan->scan->snapshot;
	table->placed = calloc(rql_scan_table_places(plan) + 1, sizeof(*table->placed));
	if (!table->placed)
		return rql_error_memory(err, snapshot->segment_count * 8ull, "columns on a device");
	for (uint32_t s = 0; s < snapshot->segment_count; s++)
		for (uint32_t i = 0; i < plan->test_count + plan->ref_count; i++) {
			struct rql_scan_placed **at = placed_at(plan, table, s, i);
			if (!*at)
				RQL_TRY(rql_scan_place(snapshot, &snapshot->segments[s], plan_column(plan, i),
				                       rql_scan_plan_layout(plan, i), device, &table->uploaded, at, err));
		}
	return RQL_OK;
}

void rql_scan_table_free(const struct rql_scan_plan *plan, struct rql_scan_table *table)
{
	uint64_t count = plan->scan ? rql_scan_table_places(plan) : 0;
	for (uint64_t i = 0; table->placed && i < count; i++)
		if (table->placed[i])
			rql_scan_placed_release(table->placed[i]);
	free(table->placed);
	for (uint64_t i = 0; table->maps && plan->scan && i < rql_scan_table_maps(plan); i++)
		rql_scan_map_release(table->maps[i]);
	free(table->maps);
	*table = (struct rql_scan_table){0};
}

/* ---- tests of a segment with codes of its own ---- */

static rql_status begin_segment(struct making *m)
{
	for (uint32_t i = 0; i < m->plan->test_count; i++) {
		const struct rql_scan_chunk_test *t = &m->plan->tests[i];
		const struct rql_store_view *view = &m->segment->columns[t->column];
		m->sets[i] = UINT64_MAX;
		if (t->kind == RQL_SCAN_TEST_PLANES)
			m->numbering[i] = rql_scan_numbering_of(m->plan->scan->snapshot, m->segment, t->column);
		for (uint32_t k = 0; k < t->range_count; k++) {
			m->low[i][k] = t->low[k];
			m->high[i][k] = t->high[k];
		}
		if (!view->translate || t->kind == RQL_SCAN_TEST_NULL)
			continue;
		if (t->kind == RQL_SCAN_TEST_PLANES) {
			for (uint32_t k = 0; k < t->range_count; k++) {
				m->low[i][k] = rql_store_stored_from(view, t->low[k]);
				m->high[i][k] = (rql_int128)rql_store_stored_from(view, t->high[k] + 1) - 1;
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

/* A column, or a test with a set. */
static struct rql_scan_ref field_ref(const struct making *m, uint32_t i, uint32_t block, enum rql_store_match match)
{
	const struct rql_scan_plan *plan = m->plan;
	const struct rql_scan_placed *placed = placed_of(m, i);
	const struct rql_scan_placed_block *p = &placed->blocks[block];
	const struct rql_store_view *view = &m->segment->columns[plan_column(plan, i)];
	struct rql_scan_ref ref = {.bits_how = p->bits, .a = (uint32_t)p->base, .b = (uint32_t)(p->base >> 32)};
	ref.data = placed->buffer ? placed->buffer->address + (uint64_t)p->data * 64 : 0;
	if (view->kind != RQL_STORE_CODED)
		ref.valid = valid_of(placed, p, &view->blocks[block]);
	if (i >= plan->test_count)
		return ref;
	if (match == RQL_MATCH_ALL)
		ref.bits_how = p->bits | RQL_SCAN_HOW_ALL << 8;
	else
		put_set(m, i, p, &ref);
	return ref;
}

/* The ranges of a block's numbers, rounded to the planes that are read, and those that decide; with `single` the number
 * in each, and all planes. */
static uint32_t block_ranges(const struct making *m, uint32_t i, const struct rql_scan_numbers *numbers,
                             struct rql_scan_range *ranges)
{
	const struct rql_scan_chunk_test *t = &m->plan->tests[i];
	const struct rql_scan_range none = {UINT32_MAX, 0};
	bool some = false;
	for (uint32_t r = 0; r < RQL_SCAN_RANGES_MAX; r++) {
		rql_int128 at = r < t->range_count ? m->low[i][r] - numbers->first : 0;
		if (r >= t->range_count)
			ranges[r] = none;
		else if (!t->single)
			ranges[r] = rql_scan_range_rounded(rql_scan_numbers_range(numbers, m->low[i][r], m->high[i][r]), t->skip);
		else if (at >= 0 && at < (rql_int128)numbers->count && m->low[i][r] <= m->high[i][r])
			ranges[r] = (struct rql_scan_range){(uint32_t)at, (uint32_t)at};
		else
			ranges[r] = none;
		some |= ranges[r].low <= ranges[r].high;
	}
	if (!t->single)
		return rql_scan_planes_wanted(numbers, ranges, t->range_count);
	for (uint32_t r = 0; some && r < RQL_SCAN_RANGES_MAX; r++) /* what is not there would be equal to planes' zeros */
		for (uint32_t k = 0; ranges[r].low > ranges[r].high; k++)
			ranges[r] = ranges[k];
	return some && numbers->bits ? UINT32_MAX >> (32 - numbers->bits) : 0;
}

static struct rql_scan_plane_ref plane_ref(const struct making *m, uint32_t i, uint32_t block,
                                           enum rql_store_match match)
{
	const struct rql_scan_chunk_test *t = &m->plan->tests[i];
	const struct rql_scan_placed *placed = placed_of(m, i);
	const struct rql_scan_placed_block *p = &placed->blocks[block];
	const struct rql_store_block *b = &m->segment->columns[t->column].blocks[block];
	/* All pass (with NOT before it: none does): no plane is read, so that all numbers are 0. */
	struct rql_scan_range ranges[RQL_SCAN_RANGES_MAX] = {
		{t->negate ? UINT32_MAX : 0, t->negate ? 0 : UINT32_MAX}, {UINT32_MAX, 0}, {UINT32_MAX, 0}, {UINT32_MAX, 0}};
	struct rql_scan_plane_ref ref = {0};
	bool null = t->kind == RQL_SCAN_TEST_NULL, all = match == RQL_MATCH_ALL;
	if ((null || !all) && m->segment->columns[t->column].kind != RQL_STORE_CODED)
		ref.valid = valid_of(placed, p, b);
	if (!null && !all) {
		struct rql_scan_numbers numbers = rql_scan_numbers_in(&m->numbering[i], b);
		ref.data = placed->buffer ? placed->buffer->address + (uint64_t)p->data * 64 : 0;
		ref.wanted = block_ranges(m, i, &numbers, ranges);
	}
	ref.low_0 = ranges[0].low;
	ref.high_0 = ranges[0].high;
	ref.low_1 = ranges[1].low;
	ref.high_1 = ranges[1].high;
	ref.low_2 = ranges[2].low;
	ref.high_2 = ranges[2].high;
	ref.low_3 = ranges[3].low;
	ref.high_3 = ranges[3].high;
	return ref;
}

static double block_bytes(uint32_t rows, uint32_t bits)
{
	return (double)rows * bits / 8;
}

static void put_planes(struct making *m, uint32_t i, uint32_t block, enum rql_store_match match, uint64_t to)
{
	struct rql_scan_plane_ref ref = plane_ref(m, i, block, match);
	uint32_t planes = (uint32_t)__builtin_popcount(ref.wanted) + (ref.valid > 1);
	memcpy(m->plan->blob.bytes + to, &ref, sizeof(ref));
	m->table->bytes += block_bytes(RQL_STORE_BLOCK, planes);
}

static void put_fields(struct making *m, uint32_t i, uint32_t block, enum rql_store_match match, uint64_t translated,
                       uint64_t to)
{
	const struct rql_scan_plan *plan = m->plan;
	struct rql_scan_ref ref = field_ref(m, i, block, match);
	uint32_t rows = m->segment->columns[0].blocks[block].rows, bits = ref.bits_how & 0xff;
	if (translated != UINT64_MAX)
		ref.table = translated;
	if (ref.table && (i >= plan->test_count || plan->tests[i].map == RQL_NONE))
		rql_scan_blob_relocate(&m->plan->blob, to + offsetof(struct rql_scan_ref, table));
	if (i >= plan->test_count && bits == 0) { /* no fields, but readable words */
		ref.data = m->table->items;
		rql_scan_blob_relocate(&m->plan->blob, to + offsetof(struct rql_scan_ref, data));
	}
	if (i < plan->test_count)
		ref.bits_how |= rows << 16;
	else if (plan->field_bits[plan->refs[i - plan->test_count]] <= 32)
		ref.bits_how = (uint32_t)((UINT64_C(1) << bits) - 1);
	memcpy(m->plan->blob.bytes + to, &ref, sizeof(ref));
	if (i < plan->test_count)
		m->table->bytes += match == RQL_MATCH_ALL ? 0 : block_bytes(rows, bits);
	else
		m->table->column_bytes[i - plan->test_count] += block_bytes(rows, bits);
}

/* translated: of a column's stored codes, UINT64_MAX: none. */
static void put_block(struct making *m, uint32_t block, const enum rql_store_match *matches, const uint64_t *translated)
{
	const struct rql_scan_plan *plan = m->plan;
	struct rql_scan_table *table = m->table;
	struct rql_scan_blob *blob = &m->plan->blob;
	uint64_t at = table->items + (uint64_t)table->item_count++ * table->item_bytes;
	const uint32_t rows = m->segment->columns[0].blocks[block].rows;
	const uint32_t head[2] = {rows, (uint32_t)m->segment->first_block + block};
	memcpy(blob->bytes + at, head, sizeof(head));
	for (uint32_t i = 0; i < plan->test_count + plan->ref_count; i++) {
		enum rql_store_match match = i < plan->test_count ? matches[plan->tests[i].step] : RQL_MATCH_SOME;
		uint64_t to = at + RQL_SCAN_ITEM_HEAD + (uint64_t)i * RQL_SCAN_REF_BYTES;
		if (i < plan->test_count && plan->tests[i].also != RQL_NONE && match == RQL_MATCH_ALL)
			match = matches[plan->tests[i].also];
		if (rql_scan_plan_layout(plan, i) == RQL_SCAN_PLANES)
			put_planes(m, i, block, match, to);
		else
			put_fields(m, i, block, match, i < plan->test_count ? UINT64_MAX : translated[i - plan->test_count], to);
	}
	table->rows += rows;
	table->bytes += table->item_bytes;
}

/* Lists are found by their block, so that each has an item. No row of this one is taken, nor its references read. */
static void put_nothing(struct making *m, uint32_t block)
{
	struct rql_scan_table *table = m->table;
	const uint64_t at = table->items + (uint64_t)table->item_count++ * table->item_bytes;
	const uint32_t head[2] = {0, (uint32_t)m->segment->first_block + block};
	memcpy(m->plan->blob.bytes + at, head, sizeof(head));
	table->bytes += RQL_SCAN_ITEM_HEAD;
}

static rql_status put_segment(struct making *m, enum rql_store_match *matches, uint64_t *translated)
{
	const struct rql_scan_plan *plan = m->plan;
	RQL_TRY(begin_segment(m));
	for (uint32_t i = 0; i < plan->ref_count; i++) {
		const struct rql_store_view *view = &m->segment->columns[plan_column(plan, plan->test_count + i)];
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
		else if (plan->scan->under_lists)
			put_nothing(m, block);
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
	m->numbering = RQL_NEW_ARRAY(plan->arena, struct rql_scan_numbering, tests);
	enum rql_store_match *matches = RQL_NEW_ARRAY(plan->arena, enum rql_store_match, steps);
	uint64_t *translated = RQL_NEW_ARRAY(plan->arena, uint64_t, refs);
	table->column_bytes = RQL_NEW_ARRAY(plan->arena, double, refs);
	if (!table->column_bytes || !m->sets || !m->stored_count || !m->low || !m->high || !m->numbering ||
	    !matches || !translated)
		return rql_error_memory(m->err, tests * 64ull, "a query's tables");
	table->item_bytes = RQL_SCAN_ITEM_HEAD + (plan->test_count + plan->ref_count) * RQL_SCAN_REF_BYTES;
	for (uint32_t i = 0; i < plan->test_count; i++)
		if (plan->tests[i].map != RQL_NONE)
			plan->tests[i].table = table->maps[plan->tests[i].map]->buffer->address;
		else if (plan->tests[i].global)
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

/* Of rows that come in, which the device itself makes items of: a reference for each column. */
static rql_status put_templates(struct rql_scan_plan *plan, struct rql_scan_table *table, struct rql_error *err)
{
	const struct rql_store_snapshot *form = plan->scan->snapshot;
	table->item_bytes = RQL_SCAN_ITEM_HEAD + plan->ref_count * RQL_SCAN_REF_BYTES;
	table->column_bytes = RQL_NEW_ARRAY(plan->arena, double, plan->ref_count + 1u);
	if (!table->column_bytes)
		return rql_error_memory(err, plan->ref_count * sizeof(double), "a query's tables");
	table->items = rql_scan_blob_put(&plan->blob, NULL, plan->ref_count * sizeof(struct rql_scan_ref));
	for (uint32_t i = 0; i < plan->ref_count && !plan->blob.out_of_memory; i++) {
		bool whole = plan->field_bits[plan->refs[i]] == 64;
		const struct rql_scan_ref ref = {.data = rql_form_offset(form, plan_column(plan, i)),
		                                 .bits_how = whole ? 64 : UINT32_MAX};
		memcpy(plan->blob.bytes + table->items + i * sizeof(ref), &ref, sizeof(ref));
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

static uint64_t put_params(struct rql_scan_plan *plan, const struct rql_scan_table *table)
{
	struct rql_scan_blob *blob = &plan->blob;
	uint64_t at = rql_scan_blob_put(blob, NULL, plan->param_count * sizeof(uint64_t));
	for (uint32_t i = 0; i < plan->param_count && !blob->out_of_memory; i++) {
		const struct rql_scan_param *param = &plan->params[i];
		uint64_t value = param->kind == RQL_SCAN_PARAM_MAP ? table->maps[param->value]->buffer->address : param->value;
		memcpy(blob->bytes + at + 8ull * i, &value, sizeof value);
		if (param->kind == RQL_SCAN_PARAM_OFFSET)
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
	RQL_TRY(place_maps(plan, device, out, err));
	RQL_TRY(rql_is_form(plan->scan->snapshot) ? put_templates(plan, out, err) : put_items(&m));
	out->sets = put_sets(plan);
	out->params = put_params(plan, out);
	out->kinds = rql_scan_blob_put(&plan->blob, plan->kinds, plan->scan->layout.row_words * sizeof(uint32_t));
	out->wanted = rql_scan_wanted_put(plan);
	out->columns = rql_scan_group_columns_put(plan);
	if (plan->blob.out_of_memory)
		return rql_error_memory(err, plan->blob.room, "a query's tables");
	return RQL_OK;
}

/* How a bound request runs on a GPU: which steps test 32 rows at once, where groups meet. */
#include "method/scan/scan_compute.h"

#include <math.h>
#include <stdlib.h>

#include "column/pack.h"

/* Shared memory of a workgroup beside sets and rows: the list of closed-up rows, masks, odds and ends. */
#define OTHER_SHARED_BYTES 6144u
/* Rows of groups there have up to so many words: more would be too much to merge. */
#define SHARED_WORDS 2048u
#define SHARED_COPIES 32u /* at most; a power of two */
/* Rows of up to so many words lie in an array, whatever share of them is used: 32 MiB, which a large GPU's cache
 * holds. */
#define DENSE_WORDS (UINT64_C(1) << 22)
/* Up to so many words of rows are put out by the last workgroup of the scan. */
#define WHOLE_WORDS 4096u
/* A column is read for all lanes, without waiting for earlier tests, when at least this share of them has rows left. */
#define EAGER_LANES 0.6
#define USELESS_PASS 0.95
/* Widest fields that are tested 32 at once. */
#define FIELD_BITS 32u
#define KEY_BITS 31u

/* ---- what devices cannot do ---- */

static const char *refuse_column(const struct rql_scan_request *r, uint32_t index, const struct rql_device *device)
{
	if (index >= r->snapshot->column_count)
		return NULL; /* prepare says so */
	const struct rql_store_column *c = &r->snapshot->columns[index];
	if (c->kind == RQL_STORE_INTEGER && c->wide)
		return "a column's values need more than 64 bits";
	if (c->kind == RQL_STORE_REAL && !device->limits.float64)
		return "the device has no double precision";
	return NULL;
}

static const char *refuse_source(const struct rql_scan_request *r, const struct rql_scan_source *s,
                                 const struct rql_device *device)
{
	return s->kind == RQL_SCAN_COLUMN ? refuse_column(r, s->index, device) : NULL;
}

static const char *refuse_join(const struct rql_scan_request *r, const struct rql_scan_join *join,
                               const struct rql_device *device)
{
	const char *why = refuse_column(r, join->column, device);
	return !why && join->second ? refuse_column(r, join->second - 1, device) : why;
}

static const char *refuse_program(const struct rql_scan_request *r, const struct rql_scan_program *p,
                                  const struct rql_device *device)
{
	const char *why = rql_scan_code_refusal(p->program);
	for (uint32_t i = 0; !why && i < p->program->reg_count; i++) {
		enum rql_lane_kind kind = (enum rql_lane_kind)p->program->regs[i].kind;
		if ((kind == RQL_LANE_F32 || kind == RQL_LANE_F64) && !device->limits.float64)
			why = "the device has no double precision";
	}
	for (uint32_t i = 0; !why && i < p->program->input_count; i++)
		why = refuse_source(r, &p->inputs[i], device);
	return why;
}

const char *rql_scan_compute_refusal(const struct rql_scan_request *r, const struct rql_device *device)
{
	const char *why = NULL;
	if (!device->units[RQL_UNIT_COMPUTE])
		return device->missing[RQL_UNIT_COMPUTE] ? device->missing[RQL_UNIT_COMPUTE] : "the device has no compute unit";
	for (uint32_t p = 0; !why && p < r->program_count; p++)
		why = refuse_program(r, &r->programs[p], device);
	for (uint32_t c = 0; !why && c < r->conjunct_count; c++)
		if (r->conjuncts[c].test != RQL_SCAN_IS_TRUE)
			why = refuse_column(r, r->conjuncts[c].index, device);
	for (uint32_t j = 0; !why && j < r->join_count; j++)
		why = refuse_join(r, &r->joins[j], device);
	for (uint32_t g = 0; !why && g < r->group_count; g++)
		why = r->groups[g].wide_count ? "a group key has values in a range of more than 2^32"
		                              : refuse_source(r, &r->groups[g].source, device);
	for (uint32_t a = 0; !why && a < r->agg_count; a++)
		if (r->aggs[a].kind != RQL_AGG_COUNT_STAR)
			why = refuse_source(r, &r->aggs[a].source, device);
	return why;
}

/* ---- tables ---- */

uint64_t rql_scan_blob_put(struct rql_scan_blob *blob, const void *data, uint64_t bytes)
{
	uint64_t at = (blob->count + 63) / 64 * 64, end = at + bytes + 8; /* shaders read words: some bytes more */
	if (end > blob->room) {
		uint64_t room = end * 2;
		uint8_t *grown = realloc(blob->bytes, room);
		if (!grown) {
			blob->out_of_memory = true;
			return 0;
		}
		memset(grown + blob->room, 0, room - blob->room);
		blob->bytes = grown;
		blob->room = room;
	}
	if (data && bytes)
		memcpy(blob->bytes + at, data, bytes);
	blob->count = end;
	return at;
}

void rql_scan_blob_relocate(struct rql_scan_blob *blob, uint64_t at)
{
	if (blob->relocation_count == blob->relocation_room) {
		uint64_t room = blob->relocation_room ? 2 * blob->relocation_room : 256;
		uint64_t *grown = realloc(blob->relocations, room * sizeof(*grown));
		if (!grown) {
			blob->out_of_memory = true;
			return;
		}
		blob->relocations = grown;
		blob->relocation_room = room;
	}
	blob->relocations[blob->relocation_count++] = at;
}

void rql_scan_blob_free(struct rql_scan_blob *blob)
{
	free(blob->bytes);
	free(blob->relocations);
	*blob = (struct rql_scan_blob){0};
}

/* ---- tests ---- */

static uint32_t placed_bits(const struct rql_store_block *b)
{
	if (b->encoding == RQL_STORE_CONSTANT)
		return 0;
	return b->encoding == RQL_STORE_DELTA ? rql_packed_width(rql_bits_for(b->greatest[0] - b->least[0])) : b->bits;
}

/* The widest field of a column, and the width that most of its blocks have, constant ones apart. */
static void survey(const struct rql_store_snapshot *snapshot, uint32_t column, uint32_t *widest, uint32_t *most)
{
	uint64_t blocks[129] = {0};
	*widest = *most = 0;
	for (uint32_t s = 0; s < snapshot->segment_count; s++) {
		const struct rql_store_segment *segment = &snapshot->segments[s];
		for (uint32_t b = 0; b < segment->blocks; b++)
			blocks[placed_bits(&segment->columns[column].blocks[b])]++;
	}
	for (uint32_t bits = 1; bits <= 128; bits++) {
		*widest = blocks[bits] ? bits : *widest;
		*most = blocks[bits] > blocks[*most] || (blocks[bits] && !*most) ? bits : *most;
	}
}

static bool is_translated(const struct rql_store_snapshot *snapshot, uint32_t column)
{
	bool some = false;
	for (uint32_t s = 0; s < snapshot->segment_count; s++)
		some |= snapshot->segments[s].columns[column].translate != NULL;
	return some;
}

static bool passes_code(const struct rql_scan_step *step, uint32_t code, bool null)
{
	const struct rql_store_filter *f = &step->filter;
	if (f->kind == RQL_FILTER_IS_NULL || f->kind == RQL_FILTER_IS_NOT_NULL)
		return null == (f->kind == RQL_FILTER_IS_NULL);
	if (null)
		return step->or_null;
	if (f->kind == RQL_FILTER_CODE_SET)
		return f->set[code / 64] >> code % 64 & 1;
	return f->code_least <= code && code <= f->code_greatest;
}

/* A set of codes as one range, or two, when it has no more runs. */
static void shape_codes(struct rql_scan_chunk_test *t)
{
	uint32_t runs = 0;
	t->kind = RQL_SCAN_TEST_RANGE;
	t->low[0] = t->low[1] = 0;
	t->high[0] = t->high[1] = -1;
	for (uint32_t code = 0; code < t->span; code++) {
		bool now = t->set[code / 32] >> code % 32 & 1,
			 before = code && (t->set[(code - 1) / 32] >> (code - 1) % 32 & 1);
		if (!now)
			continue;
		if (!before && ++runs > 2) {
			t->kind = RQL_SCAN_TEST_SET;
			return;
		}
		if (!before)
			t->low[runs - 1] = code;
		t->high[runs - 1] = code;
	}
	t->twice = runs == 2;
	if (runs == 1) {
		t->low[1] = t->low[0];
		t->high[1] = t->high[0];
	}
}

/* A test of a coded column as a set of codes. */
static bool code_test(struct rql_scan_plan *plan, const struct rql_scan_step *step, struct rql_scan_chunk_test *t)
{
	const struct rql_dimension *d = plan->scan->snapshot->columns[step->index].dimension;
	uint32_t *set = RQL_NEW_ARRAY(plan->arena, uint32_t, d->count / 32 + 2);
	if (!set)
		return false;
	for (uint32_t code = 0; code < d->count; code++)
		if (passes_code(step, code, d->has_null && code + 1 == d->count))
			set[code / 32] |= UINT32_C(1) << code % 32;
	t->set = set;
	t->span = d->count;
	shape_codes(t);
	return true;
}

/* Two tests of one coded column are one of the codes that pass both. false: there is none to join. */
static bool merge_test(struct rql_scan_plan *plan, const struct rql_scan_chunk_test *t)
{
	if (plan->scan->snapshot->columns[t->column].kind != RQL_STORE_CODED || !t->own)
		return false;
	for (uint32_t i = 0; i < plan->test_count; i++) {
		struct rql_scan_chunk_test *o = &plan->tests[i];
		if (o->column != t->column || !o->own || o->also != RQL_SCAN_NONE)
			continue;
		uint32_t codes = 0, *set = (uint32_t *)(uintptr_t)o->set; /* made by code_test */
		for (uint32_t word = 0; word < t->span / 32 + 1; word++) {
			set[word] &= t->set[word];
			codes += (uint32_t)__builtin_popcount(set[word]);
		}
		o->also = t->step;
		o->pass = (double)codes / t->span;
		shape_codes(o);
		return true;
	}
	return false;
}

static void join_test(const struct rql_scan_plan *plan, const struct rql_scan_bound_join *join,
                      struct rql_scan_chunk_test *t)
{
	const struct rql_scan_column *c = &plan->scan->columns[join->column];
	const struct rql_scan_map *map = join->map;
	t->kind = RQL_SCAN_TEST_SET;
	t->set = map->bits;
	t->least = map->least;
	t->span = map->span;
	t->negate = join->kind == RQL_SCAN_ANTI;
	/* NULL's code is the last, and joins nothing. */
	if (c->null_code != RQL_SCAN_NONE && map->least + (int64_t)map->span > (int64_t)c->null_code)
		t->span = map->least < (int64_t)c->null_code ? (uint32_t)((int64_t)c->null_code - map->least) : 0;
}

/* Whether some value comes from a join's payload. */
static bool payload_used(const struct rql_scan *scan, uint32_t join)
{
	bool used = false;
#define USES(s) ((s).kind == RQL_SCAN_JOIN && (s).index == join)
	for (uint32_t p = 0; p < scan->part_count; p++)
		used |= USES(scan->parts[p].source);
	for (uint32_t o = 0; o < scan->operand_count; o++)
		used |= USES(scan->operands[o].source);
	for (uint32_t p = 0; p < scan->program_count; p++)
		for (uint32_t i = 0; i < scan->programs[p].program->input_count; i++)
			used |= USES(scan->programs[p].inputs[i]);
#undef USES
	return used;
}

/* Whether a step can be a test, with what it needs. */
static rql_status make_test(struct rql_scan_plan *plan, uint32_t s, bool *out, struct rql_error *err)
{
	const struct rql_scan *scan = plan->scan;
	const struct rql_scan_step *step = &scan->steps[s];
	struct rql_scan_chunk_test t = {
		.step = s, .also = RQL_SCAN_NONE, .column = step->index, .or_null = step->or_null, .pass = step->pass};
	const struct rql_scan_bound_join *join = NULL;
	uint32_t widest;
	*out = false;
	if (step->kind == RQL_SCAN_BY_PROGRAM)
		return RQL_OK;
	if (step->kind == RQL_SCAN_BY_JOIN) {
		join = &scan->joins[step->index];
		t.column = scan->columns[join->column].column;
	}
	const struct rql_store_column *column = &scan->snapshot->columns[t.column];
	survey(scan->snapshot, t.column, &widest, &t.bits);
	t.nullable = column->kind != RQL_STORE_CODED && column->nulls > 0;
	if (join) {
		/* One that drops next to nothing is left to the look-up of its payload. */
		bool useless = step->pass > USELESS_PASS && payload_used(scan, step->index);
		if (useless || join->second != RQL_SCAN_NONE || !join->map->dense || widest > KEY_BITS ||
		    is_translated(scan->snapshot, t.column))
			return RQL_OK;
		join_test(plan, join, &t);
	} else if (column->kind == RQL_STORE_CODED) {
		if (!code_test(plan, step, &t))
			return rql_error_memory(err, column->dimension->count / 8, "a set of codes");
	} else if (step->filter.kind == RQL_FILTER_IS_NULL || step->filter.kind == RQL_FILTER_IS_NOT_NULL) {
		t.kind = RQL_SCAN_TEST_NULL;
		t.negate = step->filter.kind == RQL_FILTER_IS_NULL;
	} else if (step->filter.kind == RQL_FILTER_INTEGER_RANGE && widest <= FIELD_BITS) {
		t.kind = RQL_SCAN_TEST_RANGE;
		/* Open ends are the ends of int128, whose distances overflow. */
		t.low[0] = t.low[1] = step->filter.least > INT64_MIN ? step->filter.least : INT64_MIN;
		t.high[0] = t.high[1] = step->filter.greatest < INT64_MAX ? step->filter.greatest : INT64_MAX;
	} else {
		return RQL_OK;
	}
	t.own = !join && column->kind == RQL_STORE_CODED;
	if (!merge_test(plan, &t))
		plan->tests[plan->test_count++] = t;
	*out = true;
	return RQL_OK;
}

/* Sets go into shared memory as long as there is room; the small ones first would leave the most for it, but they are
 * few: in the order of the tests. */
static void place_sets(struct rql_scan_plan *plan, uint32_t room)
{
	for (uint32_t i = 0; i < plan->test_count; i++) {
		struct rql_scan_chunk_test *t = &plan->tests[i];
		uint32_t words = t->kind == RQL_SCAN_TEST_SET ? t->span / 32 + 1 : 0;
		t->global = words > room - plan->set_words;
		t->set_at = plan->set_words;
		plan->set_words += t->global ? 0 : words;
	}
}

static int by_pass(const struct rql_scan *scan, uint32_t a, uint32_t b)
{
	return (scan->steps[a].pass > scan->steps[b].pass) - (scan->steps[a].pass < scan->steps[b].pass);
}

/* Few pass first: then the others wait for them where that saves reading. */
static void order_tests(struct rql_scan_plan *plan)
{
	double pass = 1;
	for (uint32_t i = 1; i < plan->test_count; i++) {
		struct rql_scan_chunk_test t = plan->tests[i];
		uint32_t at = i;
		for (; at > 0 && plan->tests[at - 1].pass > t.pass; at--)
			plan->tests[at] = plan->tests[at - 1];
		plan->tests[at] = t;
	}
	for (uint32_t i = 0; i < plan->test_count; i++) {
		plan->tests[i].eager = 1 - pow(1 - pass, RQL_SCAN_CHUNK) >= EAGER_LANES;
		pass *= plan->tests[i].pass;
	}
}

/* Joins and tests of columns before programs, which may fail in rows that those drop. */
static void order_lates(struct rql_scan_plan *plan)
{
	const struct rql_scan_step *steps = plan->scan->steps;
	for (uint32_t i = 1; i < plan->late_count; i++) {
		struct rql_scan_late l = plan->lates[i];
		uint32_t at = i;
		for (; at > 0; at--) {
			uint32_t before = plan->lates[at - 1].step;
			bool program = steps[before].kind == RQL_SCAN_BY_PROGRAM, mine = steps[l.step].kind == RQL_SCAN_BY_PROGRAM;
			if (program < mine || (program == mine && (program || by_pass(plan->scan, before, l.step) <= 0)))
				break;
			plan->lates[at] = plan->lates[at - 1];
		}
		plan->lates[at] = l;
	}
}

/* ---- groups ---- */

static void word_kinds(struct rql_scan_plan *plan)
{
	for (uint32_t s = 0; s < plan->scan->slot_count; s++) {
		const struct rql_scan_slot *slot = &plan->scan->slots[s];
		uint32_t *kind = &plan->kinds[slot->word];
		switch (slot->kind) {
		case RQL_SCAN_SLOT_SUM_WIDE:
			kind[0] = RQL_SCAN_WORD_WIDE;
			kind[1] = RQL_SCAN_WORD_HIGH;
			break;
		case RQL_SCAN_SLOT_SUM_REAL:
			*kind = RQL_SCAN_WORD_REAL;
			break;
		case RQL_SCAN_SLOT_MIN:
		case RQL_SCAN_SLOT_MIN_REAL:
			*kind = RQL_SCAN_WORD_MIN;
			break;
		case RQL_SCAN_SLOT_MAX:
		case RQL_SCAN_SLOT_MAX_REAL:
			*kind = RQL_SCAN_WORD_MAX;
			break;
		default:
			*kind = RQL_SCAN_WORD_SUM;
			break;
		}
		}
}

/* Rows that one invocation takes at most: the tiles of its subgroup, each of which has a chunk's rows for it, whether
 * they come from the list or not (take_tiles in scan_kernel.comp), and a last list that is not full. */
static uint64_t rows_of_invocation(const struct rql_scan *scan, uint32_t subgroup)
{
	uint64_t blocks = scan->snapshot->blocks / RQL_SCAN_WORKGROUPS + 1;
	blocks = blocks < 3 ? 3 : blocks; /* few blocks: each workgroup has two, and some one more */
	uint64_t tiles = blocks * RQL_SCAN_CHUNKS / RQL_SCAN_WORKGROUP + 1 + RQL_SCAN_CHUNKS / subgroup;
	return tiles * RQL_SCAN_CHUNK + 1;
}

static uint32_t bits_of(uint64_t n)
{
	return n ? 64 - (uint32_t)__builtin_clzll(n) : 0;
}

/* Limbs that a sum needs for its top one not to leave 32 bits; count: bits of the additions to a copy. Beyond the 64
 * bits of most sums it may. */
static uint32_t limbs_of(struct rql_bounds b, bool wide, uint32_t count)
{
	uint32_t bits = 32 - count, limbs = 2;
	if (b.low >= 0 && b.high < (rql_int128)1 << bits)
		return 1;
	while (limbs * bits < 64 && (b.low < -((rql_int128)1 << (limbs * bits - 1)) || b.high >= (rql_int128)1 << (limbs * bits - 1)))
		limbs++;
	if (limbs * bits >= 64)
		limbs = (63 + bits) / bits;
	uint32_t whole = 1 + (32 + bits - 1) / bits; /* the top one begins at bit 32 or above: what leaves it leaves the sum */
	return !wide && whole < limbs ? whole : limbs;
}

/* Where the words of a group's row lie in shared memory when a copy has `copies`th of the workgroup's additions. */
static void lay_out(struct rql_scan_plan *plan, uint32_t copies, uint32_t subgroup)
{
	const struct rql_scan *scan = plan->scan;
	uint64_t additions = rows_of_invocation(scan, subgroup) * (RQL_SCAN_WORKGROUP / copies);
	plan->copies = copies;
	plan->limb_bits = 32 - bits_of(additions);
	plan->kinds[0] = RQL_SCAN_WORD_SUM | 1u << RQL_SCAN_WORD_LIMBS;
	plan->row_sums = 1;
	plan->row_extremes = 0;
	for (uint32_t s = 0; s < scan->slot_count; s++) {
		const struct rql_scan_slot *slot = &scan->slots[s];
		uint32_t kind = plan->kinds[slot->word] & RQL_SCAN_WORD_KINDS, limbs = 0, place = plan->row_extremes;
		if (kind >= RQL_SCAN_WORD_REAL) {
			plan->row_extremes++;
		} else {
			const struct rql_scan_operand *o = &scan->operands[slot->operand == RQL_SCAN_NONE ? 0 : slot->operand];
			struct rql_bounds b = {0, 1};
			if (slot->kind != RQL_SCAN_SLOT_COUNT)
				b = (struct rql_bounds){o->least, o->greatest};
			limbs = limbs_of(b, kind == RQL_SCAN_WORD_WIDE, bits_of(additions));
			place = plan->row_sums;
			plan->row_sums += limbs;
		}
		plan->kinds[slot->word] = kind | limbs << RQL_SCAN_WORD_LIMBS | place << RQL_SCAN_WORD_PLACE;
	}
}

/* As many copies as lanes come at once, so that none waits for another's addition, where there is room and where there
 * are rows enough that clearing and merging them is little beside. */
static void choose_copies(struct rql_scan_plan *plan, uint32_t room, uint32_t subgroup)
{
	const struct rql_scan *scan = plan->scan;
	double rows = (double)scan->snapshot->rows * scan->pass / RQL_SCAN_WORKGROUPS;
	for (uint32_t copies = SHARED_COPIES; plan->mode == RQL_SCAN_MODE_SHARED; copies /= 2) {
		lay_out(plan, copies, subgroup);
		uint64_t words = scan->group_count * copies * (plan->row_sums + 2ull * plan->row_extremes);
		if (words * 4 <= room && (copies == 1 || (double)words <= rows))
			return;
		if (copies == 1)
			plan->mode = RQL_SCAN_MODE_GLOBAL;
	}
}

static void choose_groups(struct rql_scan_plan *plan, const struct rql_device *device, uint32_t room)
{
	const struct rql_scan *scan = plan->scan;
	uint64_t groups = scan->group_count, words = scan->row_words;
	uint32_t subgroup = device->limits.subgroup_size ? device->limits.subgroup_size : 1;
	plan->copies = 1;
	if (groups == 1 && words <= RQL_SCAN_SCALAR_WORDS && RQL_SCAN_WORKGROUP / subgroup * words * 8 <= room)
		plan->mode = RQL_SCAN_MODE_SCALAR;
	else
		plan->mode = groups <= SHARED_WORDS / words ? RQL_SCAN_MODE_SHARED : RQL_SCAN_MODE_GLOBAL;
	choose_copies(plan, room, subgroup);
	bool large = groups > DENSE_WORDS / words;
	plan->hashed = groups > RQL_SCAN_DENSE_WORDS / words || (large && (double)groups > 4 * scan->rows_out);
	plan->whole = !plan->hashed && groups <= WHOLE_WORDS / words;
}

/* ---- the whole ---- */

static bool allocate(struct rql_scan_plan *plan)
{
	const struct rql_scan *scan = plan->scan;
	plan->tests = RQL_NEW_ARRAY(plan->arena, struct rql_scan_chunk_test, scan->step_count);
	plan->lates = RQL_NEW_ARRAY(plan->arena, struct rql_scan_late, scan->step_count);
	plan->joined = RQL_NEW_ARRAY(plan->arena, bool, scan->join_count);
	plan->translated = RQL_NEW_ARRAY(plan->arena, bool, scan->column_count);
	plan->refs = RQL_NEW_ARRAY(plan->arena, uint32_t, scan->column_count);
	plan->ref_of = RQL_NEW_ARRAY(plan->arena, uint32_t, scan->column_count);
	plan->narrow = RQL_NEW_ARRAY(plan->arena, bool, scan->column_count);
	plan->kinds = RQL_NEW_ARRAY(plan->arena, uint32_t, scan->row_words + 1u);
	return plan->tests && plan->lates && plan->joined && plan->translated && plan->narrow && plan->refs &&
	       plan->ref_of && plan->kinds;
}

static bool needs_reals(const struct rql_scan *scan)
{
	bool real = false;
	for (uint32_t c = 0; c < scan->column_count; c++)
		real |= scan->columns[c].lane == RQL_LANE_F64;
	for (uint32_t p = 0; p < scan->program_count; p++)
		for (uint32_t r = 0; r < scan->programs[p].program->reg_count; r++)
			real |= scan->programs[p].program->regs[r].kind == RQL_LANE_F64 ||
			        scan->programs[p].program->regs[r].kind == RQL_LANE_F32;
	return real;
}

rql_status rql_scan_compute_plan(const struct rql_scan *scan, const struct rql_device *device, struct rql_arena *arena,
                                 struct rql_scan_plan *out, struct rql_error *err)
{
	struct rql_scan_plan *plan = out;
	uint32_t shared = device->limits.shared_bytes, room;
	shared = shared > OTHER_SHARED_BYTES ? shared - OTHER_SHARED_BYTES : 0;
	*plan = (struct rql_scan_plan){.scan = scan, .arena = arena};
	if (!allocate(plan))
		return rql_error_memory(err, scan->step_count * sizeof(*plan->tests), "a query on a GPU");
	room = shared / 8 < RQL_SCAN_SET_WORDS ? shared / 8 : RQL_SCAN_SET_WORDS;
	for (uint32_t s = 0; s < scan->step_count; s++) {
		bool test;
		RQL_TRY(make_test(plan, s, &test, err));
		if (test && scan->steps[s].kind == RQL_SCAN_BY_JOIN)
			plan->joined[scan->steps[s].index] = true;
		if (!test)
			plan->lates[plan->late_count++] = (struct rql_scan_late){s, scan->steps[s].kind == RQL_SCAN_BY_JOIN &&
			                                                                payload_used(scan, scan->steps[s].index)};
	}
	order_tests(plan);
	order_lates(plan);
	place_sets(plan, room);
	for (uint32_t c = 0; c < scan->column_count; c++) {
		uint32_t widest, most;
		plan->ref_of[c] = RQL_SCAN_NONE;
		survey(scan->snapshot, scan->columns[c].column, &widest, &most);
		plan->narrow[c] = widest <= 32;
		plan->translated[c] =
			scan->columns[c].kind == RQL_STORE_CODED && is_translated(scan->snapshot, scan->columns[c].column);
	}
	plan->real = needs_reals(scan);
	word_kinds(plan);
	choose_groups(plan, device, shared - plan->set_words * 4);
	return RQL_OK;
}

void rql_scan_compute_plan_free(struct rql_scan_plan *plan)
{
	free(plan->params);
	rql_scan_blob_free(&plan->blob);
	*plan = (struct rql_scan_plan){0};
}

/* How a bound request runs on a GPU: what a device cannot do, the tables of a run, where groups meet. */
#include "method/scan/gpu/scan_compute.h"

#include <stdlib.h>

#define OTHER_SHARED_BYTES 64u /* of a workgroup: arrays that are never empty, their alignment, the last one's flag */
/* Rows of groups in shared memory have up to so many words: more would be too much to merge. */
#define SHARED_WORDS 2048u
/* Copies of them at most; a power of two. On an H200 lanes that meet cost less than memory that the first-level cache
 * then lacks: a query like TPC-H's first (25 groups, 6.4 KB) takes 0.81 ms with 8, 1.34 with 16 and 1.25 with 32. */
#define SHARED_COPIES 8u
#define WORKGROUP_LEAST 256u /* not to be halved for their sake */
#define FEW_TESTED 0.004     /* of all rows: their tests may as well come with the rest of what is done with them */
/* Rows of up to so many words lie in an array, whatever share of them is used: 32 MiB, which a large GPU's cache
 * holds. */
#define DENSE_WORDS (UINT64_C(1) << 22)
/* Arrays of rows in device memory at most, words of all of them, and rows that a group should have for each. */
#define SPREAD_MOST 16u
#define SPREAD_WORDS (UINT64_C(1) << 18)
#define SPREAD_ROWS 8.0
/* Up to so many words of rows are put out by the last workgroup of the scan. */
#define WHOLE_WORDS 4096u

/* ---- workgroups ---- */

/* Lists of rows and masks of tiles, as scan_kernel.comp declares them. */
static uint32_t list_bytes(uint32_t workgroup, uint32_t words, bool staged)
{
	return workgroup * (RQL_SCAN_LIST_ROWS + (staged ? RQL_SCAN_SECOND_ROWS : 0) + words) * 4 + OTHER_SHARED_BYTES;
}

static uint32_t subgroup_of(const struct rql_gpu_limits *limits)
{
	return limits->subgroup_size ? limits->subgroup_size : 1;
}

uint32_t rql_scan_workgroup(const struct rql_gpu_limits *limits)
{
	uint32_t subgroup = subgroup_of(limits), size = RQL_SCAN_WORKGROUP;
	while (size > limits->group_size || (size && list_bytes(size, RQL_SCAN_WORDS_MAX, true) > limits->shared_bytes))
		size /= 2;
	/* A tile, of a word a lane at least, does not leave its block. */
	return size >= subgroup && subgroup <= RQL_SCAN_BLOCK_WORDS ? size : 0;
}

uint32_t rql_scan_shared_room(const struct rql_scan_plan *plan, const struct rql_device *device)
{
	uint64_t used =
		list_bytes(plan->workgroup, plan->words, plan->staged) + plan->set_words * 4ull + plan->scan->layout.row_words * 4ull;
	return device->limits.shared_bytes > used ? (uint32_t)(device->limits.shared_bytes - used) : 0;
}

/* ---- what devices cannot do ---- */

const char *rql_scan_column_refusal(const struct rql_store_snapshot *snapshot, uint32_t column,
                                    const struct rql_device *device)
{
	if (column >= snapshot->column_count)
		return NULL; /* prepare says so */
	const struct rql_store_column *c = &snapshot->columns[column];
	if (c->kind == RQL_STORE_INTEGER && c->wide)
		return "a column's values need more than 64 bits";
	if (c->kind == RQL_STORE_REAL && !device->limits.float64)
		return "the device has no double precision";
	return NULL;
}

static const char *refuse_source(const struct rql_request *r, const struct rql_source *s,
                                 const struct rql_device *device)
{
	return s->kind == RQL_SOURCE_COLUMN ? rql_scan_column_refusal(r->snapshot, s->index, device) : NULL;
}

static const char *refuse_join(const struct rql_request *r, const struct rql_lookup *join,
                               const struct rql_device *device)
{
	const char *why = rql_scan_column_refusal(r->snapshot, join->column, device);
	return !why && join->second ? rql_scan_column_refusal(r->snapshot, join->second - 1, device) : why;
}

static const char *refuse_program(const struct rql_request *r, const struct rql_row_program *p,
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

/* A device tests each row by what is left of it: what can fail would not see the rows that others drop. */
static const char *refuse_checks(const struct rql_request *r)
{
	uint32_t others = 0, failing = 0;
	for (uint32_t c = 0; c < r->conjunct_count; c++) {
		const struct rql_conjunct *conjunct = &r->conjuncts[c];
		others += !conjunct->at_first;
		failing += conjunct->test == RQL_TEST_IS_TRUE && conjunct->index < r->program_count &&
		           rql_program_can_fail(r->programs[conjunct->index].program);
	}
	for (uint32_t j = 0; j < r->lookup_count; j++)
		others += r->lookups[j].kind != RQL_LOOKUP_LEFT;
	return failing && others > 1 ? "a condition can fail in rows that another one drops" : NULL;
}

const char *rql_scan_compute_refusal(const struct rql_request *r, const struct rql_device *device)
{
	const char *why = rql_device_lacks(device, RQL_UNIT_COMPUTE);
	if (why)
		return why;
	if (!rql_scan_workgroup(&device->limits))
		return "the device's workgroups, or their shared memory, are too small for scans";
	if (r->keyed)
		return "maps are built on the CPU";
	for (uint32_t p = 0; !why && p < r->program_count; p++)
		why = refuse_program(r, &r->programs[p], device);
	for (uint32_t c = 0; !why && c < r->conjunct_count; c++)
		if (r->conjuncts[c].test != RQL_TEST_IS_TRUE)
			why = rql_scan_column_refusal(r->snapshot, r->conjuncts[c].index, device);
	for (uint32_t j = 0; !why && j < r->lookup_count; j++)
		why = refuse_join(r, &r->lookups[j], device);
	for (uint32_t g = 0; !why && g < r->group_count; g++)
		why = refuse_source(r, &r->groups[g].source, device);
	for (uint32_t a = 0; !why && a < r->agg_count; a++)
		if (r->aggs[a].kind != RQL_AGG_COUNT_STAR)
			why = refuse_source(r, &r->aggs[a].source, device);
	return why ? why : refuse_checks(r);
}

/* ---- tables ---- */

uint64_t rql_scan_blob_put(struct rql_scan_blob *blob, const void *data, uint64_t bytes)
{
	uint64_t at = blob->count ? (blob->count + 63) / 64 * 64 : 64; /* 0 is no table to those that refer to one */
	uint64_t end = at + bytes + 8;                                 /* shaders read words: some bytes more */
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

/* ---- groups ---- */

static void word_kinds(struct rql_scan_plan *plan)
{
	for (uint32_t s = 0; s < plan->scan->slot_count; s++) {
		const struct rql_scan_slot *slot = &plan->scan->slots[s];
		uint32_t *kind = &plan->kinds[slot->state.word];
		switch (slot->state.kind) {
		case RQL_STATE_SUM_WIDE:
			kind[0] = RQL_SCAN_WORD_WIDE;
			kind[1] = RQL_SCAN_WORD_HIGH;
			break;
		case RQL_STATE_SUM_REAL:
			*kind = RQL_SCAN_WORD_REAL;
			break;
		case RQL_STATE_MIN:
		case RQL_STATE_MIN_REAL:
			*kind = RQL_SCAN_WORD_MIN;
			break;
		case RQL_STATE_MAX:
		case RQL_STATE_MAX_REAL:
			*kind = RQL_SCAN_WORD_MAX;
			break;
		default:
			*kind = RQL_SCAN_WORD_SUM;
			break;
		}
	}
}

/* Additions to a copy at most: the rows of a workgroup's tiles, which all lanes of a subgroup share evenly, whether they
 * come from lists or not (take_tiles in scan_kernel.comp), but for each subgroup's last list. ROWS as lists: blocks that
 * have more rows are dealt out once more, to others. */
static uint64_t additions_of(const struct rql_scan_plan *plan, uint32_t copies, uint32_t subgroup)
{
	uint64_t of_block = RQL_SCAN_BLOCK_WORDS / plan->words / subgroup, subgroups = plan->workgroup / subgroup;
	uint64_t most = plan->scan->snapshot->blocks * of_block / (RQL_SCAN_INVOCATIONS / plan->workgroup) + 1;
	/* Few blocks: as many workgroups as can give each subgroup a tile. Neighbours that it takes beyond its share: visit_of
	 * in scan_compute.c. */
	uint64_t tiles = (most < 2 * subgroups ? 2 * subgroups : most) + of_block * subgroups;
	tiles *= plan->scan->under_lists ? 2 : 1;
	return (tiles * plan->words * RQL_SCAN_TEST_ROWS + subgroups) * (subgroup / copies);
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
	for (rql_int128 top; limbs * bits < 64; limbs++) {
		top = (rql_int128)1 << (limbs * bits - 1);
		if (b.low >= -top && b.high < top)
			break;
	}
	if (limbs * bits >= 64)
		limbs = (63 + bits) / bits;
	/* A top one that begins at bit 32 or above: what leaves it leaves the sum. */
	uint32_t whole = 1 + (32 + bits - 1) / bits;
	return !wide && whole < limbs ? whole : limbs;
}

/* With fewer, a sum has more limbs than a word's kind can say. */
#define LIMB_BITS_LEAST 5u

/* Where the words of a group's row lie in shared memory when a copy has `copies`th of the workgroup's additions. Returns
 * how many words that are; UINT64_MAX: there are too many rows for limbs. */
static uint64_t lay_out(struct rql_scan_plan *plan, uint32_t copies, uint32_t subgroup)
{
	const struct rql_scan *scan = plan->scan;
	uint64_t additions = additions_of(plan, copies, subgroup);
	if (bits_of(additions) + LIMB_BITS_LEAST > 32)
		return UINT64_MAX;
	plan->copies = copies;
	plan->limb_bits = 32 - bits_of(additions);
	plan->kinds[0] = RQL_SCAN_WORD_SUM | 1u << RQL_SCAN_WORD_LIMBS;
	plan->row_sums = 1;
	plan->row_extremes = 0;
	for (uint32_t s = 0; s < scan->slot_count; s++) {
		const struct rql_scan_slot *slot = &scan->slots[s];
		uint32_t kind = plan->kinds[slot->state.word] & RQL_SCAN_WORD_KINDS, limbs = 0, place = plan->row_extremes;
		if (kind >= RQL_SCAN_WORD_REAL) {
			plan->row_extremes++;
		} else {
			const struct rql_scan_operand *o = &scan->operands[slot->operand == RQL_NONE ? 0 : slot->operand];
			struct rql_bounds b = {0, 1};
			if (slot->state.kind != RQL_STATE_COUNT)
				b = (struct rql_bounds){o->least, o->greatest};
			limbs = limbs_of(b, kind == RQL_SCAN_WORD_WIDE, bits_of(additions));
			place = plan->row_sums;
			plan->row_sums += limbs;
		}
		plan->kinds[slot->state.word] = kind | limbs << RQL_SCAN_WORD_LIMBS | place << RQL_SCAN_WORD_PLACE;
	}
	return scan->layout.group_count * copies * (plan->row_sums + 2ull * plan->row_extremes);
}

/* Copies, so that few lanes wait for another's addition, where there is room, and where there are rows enough that
 * clearing and merging them is little beside. */
static void choose_copies(struct rql_scan_plan *plan, uint32_t room, uint32_t subgroup)
{
	const struct rql_scan *scan = plan->scan;
	uint64_t chunks = (uint64_t)scan->snapshot->blocks * RQL_SCAN_BLOCK_WORDS / plan->words;
	uint64_t invocations = chunks < RQL_SCAN_INVOCATIONS ? chunks + 1 : RQL_SCAN_INVOCATIONS;
	double rows = (double)scan->snapshot->rows * scan->pass * plan->workgroup / (double)invocations;
	for (uint32_t copies = SHARED_COPIES < subgroup ? SHARED_COPIES : subgroup; plan->mode == RQL_SCAN_MODE_SHARED;
	     copies /= 2) {
		uint64_t words = lay_out(plan, copies, subgroup);
		if (words <= room / 4 && (copies == 1 || (double)words <= rows))
			return;
		if (copies == 1) {
			plan->mode = RQL_SCAN_MODE_GLOBAL;
			plan->row_sums = plan->row_extremes = 0; /* or the kernel would clear what is not there */
		}
	}
}

/* Additions to one address take turns (2.5 ns each on an H200), and it is not known how few of the possible groups all
 * rows fall into: several arrays of rows, where there are rows enough that clearing and folding them is little beside. */
static void choose_spread(struct rql_scan_plan *plan)
{
	const struct rql_scan *scan = plan->scan;
	double rows = (double)scan->snapshot->rows * scan->pass;
	bool can = plan->mode == RQL_SCAN_MODE_GLOBAL && !plan->hashed;
	for (uint32_t w = 0; w < scan->layout.row_words; w++) {
		uint32_t kind = plan->kinds[w] & RQL_SCAN_WORD_KINDS;
		can &= kind == RQL_SCAN_WORD_SUM || kind == RQL_SCAN_WORD_MIN || kind == RQL_SCAN_WORD_MAX;
	}
	plan->spread = 1;
	while (can && plan->spread < SPREAD_MOST &&
	       2 * plan->spread * scan->layout.group_count * scan->layout.row_words <= SPREAD_WORDS &&
	       rows > SPREAD_ROWS * plan->spread * (double)scan->layout.group_count)
		plan->spread *= 2;
}

static bool fits_shared(struct rql_scan_plan *plan, const struct rql_device *device, uint32_t subgroup)
{
	plan->mode = RQL_SCAN_MODE_SHARED;
	choose_copies(plan, rql_scan_shared_room(plan, device), subgroup);
	return plan->mode == RQL_SCAN_MODE_SHARED;
}

/* Rows in shared memory. Where few rows are left to be tested, the list of those that pass is given up for them (H200,
 * SSB q4.3: 62 us, with workgroups of half the size 66). A smaller workgroup has shorter lists, too; GLOBAL where that does
 * not help either. */
static void choose_shared(struct rql_scan_plan *plan, const struct rql_device *device, uint32_t subgroup)
{
	const uint32_t most = plan->workgroup;
	const bool staged = plan->staged;
	if (fits_shared(plan, device, subgroup))
		return;
	plan->staged = staged && plan->tested_pass > FEW_TESTED;
	for (;; plan->workgroup /= 2) {
		if (fits_shared(plan, device, subgroup))
			return;
		plan->staged = staged;
		if (plan->workgroup <= WORKGROUP_LEAST || plan->workgroup / 2 < subgroup)
			break;
	}
	plan->workgroup = most;
}

static void choose_groups(struct rql_scan_plan *plan, const struct rql_device *device)
{
	const struct rql_scan *scan = plan->scan;
	uint64_t groups = scan->layout.group_count, words = scan->layout.row_words;
	uint32_t subgroup = subgroup_of(&device->limits), room = rql_scan_shared_room(plan, device);
	plan->copies = plan->spread = 1;
	if (plan->mode >= RQL_SCAN_MODE_LIST) {
		plan->whole = true; /* the last workgroup puts the state out, and there are no rows of groups */
		return;
	}
	if (groups == 1 && words <= RQL_SCAN_SCALAR_WORDS && plan->workgroup / subgroup * words * 8 <= room)
		plan->mode = RQL_SCAN_MODE_SCALAR;
	else if (groups <= SHARED_WORDS / words)
		choose_shared(plan, device, subgroup);
	else
		plan->mode = RQL_SCAN_MODE_GLOBAL;
	uint32_t rows = plan->mode == RQL_SCAN_MODE_SHARED ? (uint32_t)groups * plan->copies : 0;
	plan->shared_sums = rows * plan->row_sums;
	plan->shared_extremes =
		plan->mode == RQL_SCAN_MODE_SCALAR ? plan->workgroup / subgroup * scan->layout.row_words : rows * plan->row_extremes;
	bool large = groups > DENSE_WORDS / words;
	plan->wide = scan->layout.wide && rql_scan_number_bits(scan) > RQL_SCAN_LOW_BITS;
	plan->hashed = groups > RQL_GROUPS_DENSE_WORDS / words || (large && (double)groups > 4 * scan->rows_out);
	choose_spread(plan);
	plan->whole = !plan->hashed && plan->spread == 1 && groups <= WHOLE_WORDS / words && !scan->groups_form;
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
	plan->field_bits = RQL_NEW_ARRAY(plan->arena, uint32_t, scan->column_count);
	plan->kinds = RQL_NEW_ARRAY(plan->arena, uint32_t, scan->layout.row_words + 1u);
	plan->maps = RQL_NEW_ARRAY(plan->arena, bool, rql_scan_table_maps(plan) + 1);
	return plan->maps && plan->tests && plan->lates && plan->joined && plan->translated && plan->field_bits && plan->refs &&
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

rql_status rql_scan_compute_plan(const struct rql_scan *scan, bool listed, const struct rql_device *device,
                                 struct rql_arena *arena, struct rql_scan_plan *out, struct rql_error *err)
{
	struct rql_scan_plan *plan = out;
	*plan = (struct rql_scan_plan){.scan = scan,
	                               .arena = arena,
	                               .workgroup = rql_scan_workgroup(&device->limits),
	                               .mode = listed        ? RQL_SCAN_MODE_LIST
	                                       : scan->gives ? RQL_SCAN_MODE_EMIT
	                                                     : RQL_SCAN_MODE_GLOBAL};
	if (!allocate(plan))
		return rql_error_memory(err, scan->step_count * sizeof(*plan->tests), "a query on a GPU");
	RQL_TRY(rql_scan_compute_tests(plan, device, err));
	if (scan->gives && plan->late_count)
		plan->mode = RQL_SCAN_MODE_SIFT;
	for (uint32_t c = 0; c < scan->column_count; c++) {
		const uint32_t column = scan->columns[c].column;
		uint32_t most;
		plan->ref_of[c] = RQL_NONE;
		if (rql_is_form(scan->snapshot))
			plan->field_bits[c] = rql_form_bits(&scan->snapshot->columns[column]);
		else
			rql_scan_survey(scan->snapshot, column, &plan->field_bits[c], &most);
		plan->translated[c] = rql_scan_is_translated(scan->snapshot, column);
	}
	plan->real = needs_reals(scan);
	word_kinds(plan);
	choose_groups(plan, device);
	return RQL_OK;
}

void rql_scan_compute_plan_free(struct rql_scan_plan *plan)
{
	free(plan->params);
	free(plan->code);
	rql_scan_blob_free(&plan->blob);
	*plan = (struct rql_scan_plan){0};
}

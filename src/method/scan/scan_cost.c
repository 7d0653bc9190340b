/* What a scan will cost (design.md, "Cost model"): blocks that the zone maps leave, rows through the steps in the
 * order in which they would be tried, what passes through the answer's columns, programs and groups. */
#include "method/scan/scan_query.h"

#include <math.h>

/* Memory that was never touched before: a page fault and the zeroing. */
#define FRESH_BYTE_NS 0.25
#define RANK_BYTES 40.0 /* of a group, where some are chosen: its place, its rank, and both once more */
/* A look-up beyond the second-level cache. */
#define FAR_BYTES ((uint64_t)1 << 20)
#define FAR_NS 8.0
#define LINE 64.0 /* bytes */
/* So many bytes are found in a cache when a query comes again; what one thread reads of the others while it decodes. */
#define NEAR_BYTES 8e6
#define THREAD_GBPS 12.0
/* A group of a hash table that is larger than that: put in, handed to its partition and merged there. */
#define HASHED_GROUP_NS 25.0
/* Hash tables lie in huge pages, which are had at a quarter of the price. */
#define FRESH_HASHED_BYTE_NS 0.06

/* Key codes of reals are far more than there are values. */
static double groups_possible(const struct rql_scan *scan)
{
	double groups = 1;
	bool reals = false;
	for (uint32_t p = 0; p < scan->part_count; p++) {
		const struct rql_scan_part *part = &scan->parts[p];
		double codes = (double)part->key.key_count;
		if (part->real && part->source.kind == RQL_SOURCE_COLUMN)
			codes = fmin(codes, rql_store_distinct(scan->store, scan->snapshot, part->source.index) + 1);
		reals |= part->real;
		groups *= codes;
	}
	return reals ? fmin(groups, (double)scan->layout.group_count) : (double)scan->layout.group_count;
}

void rql_scan_estimate(struct rql_scan *scan, struct rql_sample *sample)
{
	struct rql_sample own = {0}, *taken = sample ? sample : &own;
	if (!taken->taken)
		rql_scan_take_sample(scan, taken);
	scan->read_share = taken->read_share;
	scan->pass = taken->read_share * taken->pass * scan->under_share;
	for (uint32_t s = 0; s < taken->step_count; s++) {
		struct rql_scan_step *step = &scan->steps[s];
		step->pass = taken->steps[s];
		step->cost = taken->costs[s] >= 0 ? taken->costs[s] : step->cost;
		step->run = taken->runs[s];
	}
	/* Passing rows thrown into the groups at random leave some of them empty. */
	double rows = scan->pass * (double)scan->snapshot->rows, groups = groups_possible(scan);
	scan->rows_out = scan->layout.scalar ? 1 : groups * -expm1(-rows / groups);
	scan->layout.hashed = scan->layout.wide || rql_groups_should_hash(&scan->layout, scan->rows_out);
}

/* Blocks in which something is left, when that lies anywhere. */
static double touched_blocks(const struct rql_scan_effort *sum)
{
	double blocks = sum->rows / RQL_STORE_BLOCK;
	return blocks > 0 ? blocks * -expm1(-sum->left / blocks) : 0;
}

/* Bytes of a column that come from memory for what is left in `rows` rows: its cache lines, each at most once. */
static void add_bytes(const struct rql_scan *scan, uint32_t column, double rows, struct rql_scan_effort *sum)
{
	const struct rql_store_snapshot *snapshot = scan->snapshot;
	double lines = rows * (double)snapshot->columns[column].bytes / (double)snapshot->rows / LINE;
	if (lines > 0)
		sum->bytes += LINE * lines * -expm1(-sum->left / lines);
}

/* A column is read: whole blocks, or the rows that are left. */
static void add_column(const struct rql_scan *scan, uint32_t column, struct rql_scan_effort *sum)
{
	const struct rql_scan_profile *profile = sum->profile;
	double touched = touched_blocks(sum), decoded = touched * RQL_STORE_BLOCK * profile->value_ns;
	/* Decoded values of which some are thrown away are moved once more. */
	double packed = sum->left > 0.99 * sum->rows ? 0 : sum->left * profile->value_ns;
	sum->work += fmin(decoded + packed, touched * profile->touch_ns + sum->left * profile->gather_ns);
	add_bytes(scan, column, sum->rows, sum);
}

/* Packed values of all rows of the blocks in which something is left are compared. */
static void add_test(const struct rql_scan *scan, uint32_t column, struct rql_scan_effort *sum)
{
	double rows = touched_blocks(sum) * RQL_STORE_BLOCK;
	sum->work += rows * sum->profile->test_ns;
	add_bytes(scan, column, rows, sum);
}

static void add_probe(const struct rql_scan *scan, uint32_t j, struct rql_scan_effort *sum)
{
	const struct rql_scan_bound_join *join = &scan->joins[j];
	add_column(scan, scan->columns[join->column].column, sum);
	if (join->second != RQL_NONE)
		add_column(scan, scan->columns[join->second].column, sum);
	double far = rql_map_bytes(join->map) > FAR_BYTES ? FAR_NS : 0;
	sum->work += sum->left * (sum->profile->probe_ns * (join->map->dense ? 1 : 3) + far);
}

static void add_program(const struct rql_scan *scan, uint32_t p, struct rql_scan_effort *sum)
{
	const struct rql_scan_bound_program *bound = &scan->programs[p];
	for (uint32_t i = 0; i < bound->program->input_count; i++)
		if (bound->inputs[i].kind == RQL_SOURCE_COLUMN)
			add_column(scan, bound->inputs[i].index, sum);
	sum->work += sum->left * sum->profile->step_ns * bound->program->step_count;
}

static void add_steps(const struct rql_scan *scan, struct rql_scan_effort *sum)
{
	uint64_t done = 0;
	for (uint32_t i = 0; i < scan->step_count && i < 64; i++) {
		uint32_t best = RQL_NONE;
		double least = HUGE_VAL;
		for (uint32_t s = 0; s < scan->step_count && s < 64; s++) {
			double rank = rql_scan_first_rank(&scan->steps[s]);
			if (!(done >> s & 1) && rank < least) {
				least = rank;
				best = s;
			}
		}
		if (best == RQL_NONE)
			break; /* infinite ranks: no guess */
		done |= UINT64_C(1) << best;
		const struct rql_scan_step *step = &scan->steps[best];
		if (step->kind == RQL_SCAN_BY_JOIN) {
			add_probe(scan, step->index, sum);
		} else if (step->kind == RQL_SCAN_BY_PROGRAM) {
			add_program(scan, step->index, sum);
		} else {
			add_test(scan, step->index, sum);
		}
		sum->left *= step->pass;
	}
}

static void add_source(const struct rql_scan *scan, const struct rql_source *source, struct rql_scan_effort *sum)
{
	if (source->kind == RQL_SOURCE_COLUMN)
		add_column(scan, source->index, sum);
	else if (source->kind == RQL_SOURCE_LOOKUP)
		add_probe(scan, source->index, sum);
}

/* A key of a map to build that is listed, and put into it. */
#define KEYED_ROW_NS 6.0

static void add_answer(const struct rql_scan *scan, struct rql_scan_effort *sum)
{
	if (scan->known && !scan->step_count && !scan->under) /* no row is read: what the blocks cost is there already */
		return;
	for (uint32_t p = 0; p < scan->part_count; p++)
		add_source(scan, &scan->parts[p].source, sum);
	for (uint32_t p = 0; p < scan->program_count; p++)
		if (scan->programs[p].in_answer)
			add_program(scan, p, sum);
	for (uint32_t o = 0; o < scan->operand_count; o++)
		add_source(scan, &scan->operands[o].source, sum);
	for (uint32_t k = 0; k < scan->keyed_count; k++) {
		struct rql_source key = {.kind = RQL_SOURCE_COLUMN, .index = scan->columns[scan->keyed[k]].column};
		add_source(scan, &key, sum);
		sum->work += sum->left * KEYED_ROW_NS;
	}
	if (scan->layout.scalar) {
		sum->work += sum->left * sum->profile->value_ns * scan->slot_count;
		return;
	}
	double groups = scan->rows_out, out = fmin(groups, rql_scan_wanted_out(scan)), columns = out * (16.0 + 4 * scan->part_count + 16 * scan->layout.value_count);
	double rows = scan->layout.hashed ? groups * (1 + scan->layout.wide) + groups * scan->layout.row_words
	                           : (double)scan->layout.group_count * scan->layout.row_words;
	double far = rows * 8 > (double)FAR_BYTES ? FAR_NS : 0;
	if (scan->layout.hashed && far > 0)
		sum->work += groups * HASHED_GROUP_NS;
	sum->work += sum->left * (sum->profile->row_ns * (1 + scan->slot_count + scan->part_count) / 3 + far);
	/* The answer is put out by all threads. */
	sum->work += out * sum->profile->group_ns * (scan->part_count + scan->layout.value_count) / 4;
	if (out < groups)
		sum->work += groups * (sum->profile->group_ns + RANK_BYTES * FRESH_BYTE_NS);
	sum->work += rows * 8 * (scan->layout.hashed ? FRESH_HASHED_BYTE_NS : FRESH_BYTE_NS) + columns * FRESH_BYTE_NS;
}

double rql_scan_effort_filters(const struct rql_scan *scan, const struct rql_scan_profile *profile,
                               struct rql_scan_effort *out)
{
	double rows = (double)scan->snapshot->rows, share = scan->read_share;
	*out = (struct rql_scan_effort){.rows = rows * share, .left = rows * share, .profile = profile};
	out->work = scan->under_blocks * profile->block_ns;
	out->left *= scan->under_share; /* wherever they lie: blocks without any of them are not read */
	add_steps(scan, out);
	out->left = rows * scan->pass; /* steps may hang together */
	return share;
}

void rql_scan_effort_source(const struct rql_scan *scan, const struct rql_source *source,
                            struct rql_scan_effort *effort)
{
	if (source->kind == RQL_SOURCE_PROGRAM)
		add_program(scan, source->index, effort);
	else
		add_source(scan, source, effort);
}

/* Memory is waited for: what columns beyond the caches take longer is added. */
double rql_scan_effort_shared(const struct rql_scan_effort *effort, const struct rql_device *device)
{
	double threads = rql_pool_threads(device->pool), far = fmax(0, effort->bytes - NEAR_BYTES);
	double alone = effort->work + far / fmin(THREAD_GBPS, device->profile.read_gbps);
	double shared = effort->work / threads + far / fmin(THREAD_GBPS * threads, device->profile.read_gbps);
	return threads > 1 ? fmin(alone, shared + device->profile.handover_ns) : alone;
}

void rql_scan_price(const struct rql_scan *scan, const struct rql_device *device,
                    const struct rql_scan_profile *profile, struct rql_cost *out)
{
	struct rql_scan_effort sum;
	double share = rql_scan_effort_filters(scan, profile, &sum);
	add_answer(scan, &sum);
	*out = (struct rql_cost){
		.run_ns = rql_scan_effort_shared(&sum, device),
		.rows_out = fmin(scan->rows_out, rql_scan_wanted_out(scan)),
		.groups = scan->rows_out,
		.device_bytes = scan->snapshot->bytes,
		.cells = sum.left,
		.runs = scan->under_blocks * share,
		.bytes = sum.bytes,
	};
}

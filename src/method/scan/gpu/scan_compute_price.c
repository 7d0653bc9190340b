/* What a scan on a GPU will cost: bytes at the memory's speed, or rows through the tests, whichever takes longer; rows
 * that pass; groups, or what the host does with listed rows; and what a first run uploads. What it waits for in the driver's compiler
 * is no part of it (method.h, `kernels`). */
#include "method/scan/gpu/scan_compute_run.h"

#include <math.h>

#include "method/scan/rows/scan_rows_query.h"

/* Of a test: the bits of ROWS that come in, of each row where nothing else is tested. Measured on an H200: 16 to 30 us
 * for 10^8 rows of which 0.01 to 1 % are set. */
#define UNDER_PART 0.25
#define LISTS_PART (UNDER_PART / 8) /* a lane takes eight times as many rows' lists at once as it does bits */
/* A key is looked up at the speed of the tests where the map is in the cache, beyond that by a random read of memory.
 * 10^8 keys in a table of 33 MB, or in bits of 125 MB, took an H100 2.6 to 15 ms longer than the bytes of their column, in
 * a table of 17 MB 2.2 (bench/results, 2026-11-26). */
#define CACHED_BYTES ((double)RQL_MAP_CACHED_BYTES)
#define UPLOADS 2.0 /* of a first run, which upload no column: the tables, and what is put at rest */

/* ---- what is read ---- */

static bool reads(const struct rql_source *source, uint32_t column)
{
	return source->kind == RQL_SOURCE_COLUMN && source->index == column;
}

static bool program_reads(const struct rql_scan_bound_program *program, uint32_t column)
{
	bool some = false;
	for (uint32_t i = 0; i < program->program->input_count; i++)
		some |= reads(&program->inputs[i], column);
	return some;
}

static bool join_reads(const struct rql_scan *scan, uint32_t index, uint32_t column)
{
	const struct rql_scan_bound_join *join = &scan->joins[index];
	return scan->columns[join->column].column == column ||
	       (join->second != RQL_NONE && scan->columns[join->second].column == column);
}

static bool step_reads(const struct rql_scan *scan, const struct rql_scan_step *step, uint32_t column)
{
	if (step->kind == RQL_SCAN_BY_JOIN)
		return join_reads(scan, step->index, column);
	if (step->kind == RQL_SCAN_BY_PROGRAM)
		return program_reads(&scan->programs[step->index], column);
	return step->index == column;
}

/* For what share of rows a column of the store is read: those that are left when its first test comes, or, for groups and
 * aggregates, that passed; as if they lay anywhere. Of the tests before, the shares are guesses. */
static double share_wanted(const struct rql_prepared *p, uint32_t column, double passed)
{
	const struct rql_scan *scan = p->scan;
	struct rql_scan_left left = {scan->under_share, 1, scan->under_share};
	for (uint32_t i = 0; i < p->plan.test_count; i++)
		rql_scan_drop(&left, p->plan.tests[i].pass, p->plan.tests[i].run);
	for (uint32_t i = 0; i < p->plan.late_count; i++) {
		const struct rql_scan_late *late = &p->plan.lates[i];
		const struct rql_scan_step *step = &scan->steps[late->step];
		if (step_reads(scan, step, column))
			return rql_scan_left_spots(&left);
		rql_scan_drop(&left, late->pass, step->run);
	}
	left.pass = passed;
	return rql_scan_left_spots(&left);
}

double rql_scan_late_bytes(const struct rql_prepared *p, double passed)
{
	double bytes = 0;
	for (uint32_t i = 0; i < p->plan.ref_count; i++) {
		uint32_t column = p->scan->columns[p->plan.refs[i]].column;
		double bits = 8 * p->table.column_bytes[i] / (double)(p->table.rows + 1);
		bytes += p->table.column_bytes[i] * rql_scan_sector_share(bits, share_wanted(p, column, passed));
	}
	return bytes;
}

/* ---- the price ---- */

/* Do single rows read a column of the store? Before the code is made: might they? */
static bool is_late(const struct rql_prepared *p, uint32_t column)
{
	const struct rql_scan *scan = p->scan;
	bool late = false;
	for (uint32_t i = 0; p->placed && i < p->plan.ref_count; i++)
		late |= scan->columns[p->plan.refs[i]].column == column;
	if (p->placed)
		return late;
	for (uint32_t i = 0; i < scan->operand_count; i++)
		late |= reads(&scan->operands[i].source, column);
	for (uint32_t i = 0; i < scan->part_count; i++)
		late |= reads(&scan->parts[i].source, column);
	for (uint32_t i = 0; i < scan->program_count; i++)
		late |= program_reads(&scan->programs[i], column);
	for (uint32_t i = 0; i < scan->join_count; i++)
		late |= join_reads(scan, i, column);
	for (uint32_t i = 0; i < p->plan.late_count; i++)
		late |= step_reads(scan, &scan->steps[p->plan.lates[i].step], column);
	return late;
}

/* What a run reads of a column of the store, and what it needs on the device. */
struct wanted {
	double read; /* bytes */
	uint64_t resident, missing;
};
static void want_layout(const struct rql_prepared *p, uint32_t column, enum rql_scan_layout layout, struct wanted *w)
{
	for (uint32_t s = 0; s < p->snapshot->segment_count; s++) {
		const struct rql_store_segment *segment = &p->snapshot->segments[s];
		uint64_t bytes = rql_scan_place_bound(p->snapshot, segment, column, layout);
		w->resident += bytes;
		w->missing += rql_scan_is_placed(segment, column, layout, p->stage.device) ? 0 : bytes;
	}
}

/* pass: of the rows in blocks that are read. */
static struct wanted want_column(const struct rql_prepared *p, uint32_t column, double pass)
{
	const struct rql_store_snapshot *snapshot = p->snapshot;
	double bytes = (double)snapshot->columns[column].bytes, bits = 8 * bytes / (double)(snapshot->rows + 1);
	struct wanted w = {0};
	bool tested[RQL_SCAN_LAYOUTS] = {false}, late = is_late(p, column);
	for (uint32_t t = 0; t < p->plan.test_count; t++)
		if (p->plan.tests[t].column == column)
			tested[rql_scan_plan_layout(&p->plan, t)] = true;
	for (uint32_t layout = 0; layout < RQL_SCAN_LAYOUTS; layout++) {
		if (tested[layout] || (late && layout == RQL_SCAN_FIELDS))
			want_layout(p, column, (enum rql_scan_layout)layout, &w);
		w.read += tested[layout] ? bytes : 0;
	}
	if (late)
		w.read += bytes * rql_scan_sector_share(bits, share_wanted(p, column, pass));
	return w;
}

/* The same of rows that come in, which are in memory and nowhere else: all fields that are read. */
static struct wanted want_field(const struct rql_prepared *p, uint32_t column)
{
	const uint32_t bytes = rql_form_bits(&p->snapshot->columns[column]) / 8;
	return (struct wanted){.read = is_late(p, column) ? p->scan->expected_rows * bytes : 0};
}

/* Of a map's part, in the plan's table. */
static uint64_t copied_bytes(const struct rql_map *map, enum rql_scan_map_part part)
{
	return rql_scan_map_apart(map, part) ? 0 : rql_scan_map_bytes(map, part);
}

/* Which parts of a join's map its code will read: bits where the key is tested, what is found where it is needed. */
static bool reads_part(const struct rql_prepared *p, uint32_t join, enum rql_scan_map_part part)
{
	const struct rql_scan *scan = p->scan;
	if (p->placed)
		return p->plan.maps[join * RQL_SCAN_MAP_PARTS + part];
	if (part == RQL_SCAN_MAP_FOUND)
		return scan->gives || rql_scan_payload_used(scan, join);
	return part == RQL_SCAN_MAP_TABLE || scan->joins[join].kind != RQL_LOOKUP_LEFT;
}

/* Maps that lie by themselves. */
static void want_maps(const struct rql_prepared *p, uint64_t *resident, uint64_t *missing)
{
	for (uint32_t i = 0; i < p->scan->join_count * RQL_SCAN_MAP_PARTS; i++) {
		const struct rql_map *map = p->scan->joins[i / RQL_SCAN_MAP_PARTS].map;
		const enum rql_scan_map_part part = (enum rql_scan_map_part)(i % RQL_SCAN_MAP_PARTS);
		if (!rql_scan_map_apart(map, part) || !reads_part(p, i / RQL_SCAN_MAP_PARTS, part))
			continue;
		*resident += rql_scan_map_bytes(map, part);
		*missing += rql_scan_map_is_placed(map, part, p->stage.device) ? 0 : rql_scan_map_bytes(map, part);
	}
}

/* Rows that look a key up: those that the steps before leave; without a step of its own those that pass. */
static double asking_rows(const struct rql_scan *scan, uint32_t join, double rows, double passed)
{
	double left = rows;
	for (uint32_t i = 0; i < scan->step_count; i++) {
		if (scan->steps[i].kind == RQL_SCAN_BY_JOIN && scan->steps[i].index == join)
			return left;
		left *= scan->steps[i].pass;
	}
	return passed;
}

/* Look-ups in maps that the device's cache does not hold. */
static double maps_ns(const struct rql_prepared *p, const struct rql_profile *profile, double rows, double passed)
{
	double sectors = 0;
	for (uint32_t i = 0; i < p->scan->join_count * RQL_SCAN_MAP_PARTS; i++) {
		const uint32_t join = i / RQL_SCAN_MAP_PARTS;
		const enum rql_scan_map_part part = (enum rql_scan_map_part)(i % RQL_SCAN_MAP_PARTS);
		const double bytes = (double)rql_scan_map_bytes(p->scan->joins[join].map, part);
		if (bytes <= CACHED_BYTES || !reads_part(p, join, part))
			continue;
		const double asking = part == RQL_SCAN_MAP_FOUND ? passed : asking_rows(p->scan, join, rows, passed);
		sectors += asking * (1 - CACHED_BYTES / bytes);
	}
	return sectors * profile->sector_ns;
}

/* What a run keeps on the device beside columns: the tables as they are or will be, and a context. */
static uint64_t scratch_bytes(const struct rql_prepared *p)
{
	const struct rql_scan *scan = p->scan;
	uint64_t refs = p->plan.test_count + scan->column_count;
	uint64_t bytes = rql_scan_context_bytes(p) + p->plan.blob.count + p->plan.set_words * sizeof(uint32_t);
	if (p->tables)
		return rql_scan_context_bytes(p) + p->tables->bytes;
	for (uint32_t j = 0; j < scan->join_count; j++)
		for (uint32_t part = 0; part < RQL_SCAN_MAP_PARTS; part++)
			bytes += copied_bytes(scan->joins[j].map, (enum rql_scan_map_part)part);
	const uint64_t blocks =
		p->from.method ? (uint64_t)(scan->expected_rows / RQL_STORE_BLOCK) + 1 : p->snapshot->blocks;
	return bytes + blocks * (RQL_SCAN_ITEM_HEAD + refs * sizeof(struct rql_scan_ref));
}

/* What is the same for groups and rows. */
struct reading {
	double share, rows;    /* of the blocks; in those that are read */
	double passed, wanted; /* rows that pass; bytes that are read */
	uint64_t missing, resident;
};
static struct reading reading_of(const struct rql_prepared *p)
{
	const struct rql_scan *scan = p->scan;
	const double part = p->rows ? rql_scan_list_part(p) : 1, all = (double)p->snapshot->rows;
	struct reading r = {.share = scan->read_share * part, .rows = scan->expected_rows * scan->read_share * part};
	r.passed = p->rows ? rql_scan_list_expected(p) : fmin(r.rows, all * scan->pass);
	for (uint32_t c = 0; c < scan->column_count; c++) {
		const uint32_t column = scan->columns[c].column;
		struct wanted w = p->from.method ? want_field(p, column)
		                                 : want_column(p, column, r.rows > 0 ? r.passed / r.rows : 0);
		r.wanted += w.read * r.share;
		r.missing += w.missing;
		r.resident += w.resident;
	}
	want_maps(p, &r.resident, &r.missing);
	return r;
}

/* Of rows that are tested. A row under ROWS that has no test of its own is a bit, and most words of them are zero. */
static double tests_ns(const struct rql_prepared *p, const struct rql_scan_profile *profile, double rows)
{
	const double under = p->scan->under_lists ? LISTS_PART : p->under.method && !p->plan.test_count ? UNDER_PART : 1;
	return rows * profile->tested_row_ns * under;
}

/* Of ROWS that come in. */
static double under_bytes(const struct rql_prepared *p, double rows)
{
	return p->scan->under_lists ? rows / RQL_STORE_BLOCK * RQL_ROWS_LIST_BYTES : p->under.method ? rows / 8 : 0;
}

/* lock held */
static void price_locked(const struct rql_prepared *p, const struct rql_device *device, struct rql_cost *out)
{
	const struct rql_profile *profile = &device->profile;
	const struct rql_scan *scan = p->scan;
	struct reading r = reading_of(p);
	r.wanted += under_bytes(p, r.rows);
	const double made = p->rows || scan->gives ? 0 : scan->rows_out;
	const double groups = fmin(made, rql_scan_wanted_out(scan)), given = scan->gives ? r.passed : groups;
	double work = fmax(r.wanted / profile->read_gbps, tests_ns(p, &profile->scan, r.rows));
	work += r.passed * profile->scan.taken_row_ns + maps_ns(p, profile, r.rows, r.passed);
	if (p->gives)
		work += given * rql_form_offset(p->gives, p->gives->column_count) / profile->read_gbps;
	double result = (p->plan.whole ? (double)scan->layout.group_count : groups) * (scan->layout.row_words + 1) * 8;
	double upload = (double)r.missing / profile->upload_gbps;
	*out = (struct rql_cost){
		.setup_ns = r.missing > 0 || !p->placed ? upload + UPLOADS * profile->submit_ns : 0,
		.run_ns = (p->gives ? profile->pass_ns : profile->submit_ns) +
		          (p->plan.whole && !p->from.method ? 0 : profile->pass_ns) + work + made * profile->group_ns,
		.transfer_ns = result / profile->download_gbps + groups * profile->scan.answer_group_ns,
		.rows_out = groups,
		.groups = made,
		.device_bytes = r.resident + scratch_bytes(p),
		.placed_bytes = r.resident - r.missing,
		.missing_bytes = r.missing,
		.cells = r.passed,
		.runs = (double)p->snapshot->blocks * r.share,
		.bytes = r.wanted,
	};
	if (p->gives) {
		out->rows_out = given;
		out->transfer_ns = 0;
	}
}

/* What comes in is made in the same run. So are ROWS: of COLUMNS they are a part of the price, since their reader adds it to
 * its own; of all else the planner adds them (plan/price/price.c). */
static void add_source(const struct rql_prepared *p, const struct rql_device *device, struct rql_cost *out)
{
	struct rql_cost in;
	if (p->gives && p->under.method) {
		p->under.method->price(p->under.prepared, device, &in);
		rql_cost_add(out, &in);
	}
	if (!p->from.method)
		return;
	p->from.method->price(p->from.prepared, device, &in);
	rql_cost_add(out, &in);
}

/* The list comes over the link, and the host does the rest. lock held. */
static void price_list(const struct rql_prepared *p, const struct rql_device *device, struct rql_cost *out)
{
	const struct rql_device *host = device->host ? device->host : device;
	const struct rql_scan_profile *profile = device->host ? &device->host->profile.scan : &rql_profile_guess.scan;
	double listed = rql_scan_list_expected(p), passed = p->rows->scan->pass * (double)p->snapshot->rows;
	price_locked(p, device, out);
	out->transfer_ns = listed * sizeof(uint32_t) / device->profile.download_gbps +
	                   (rql_scan_list_direct(p->capacity) ? 0 : device->profile.submit_ns) +
	                   rql_rows_price_listed(p->rows, host, profile, listed);
	out->rows_out = rql_rows_price_out(p->rows, passed);
	out->cells = passed; /* whether the device lists them all or not */
}

void rql_scan_compute_price(const struct rql_prepared *p, const struct rql_device *device, struct rql_cost *out)
{
	/* A first run on another thread changes what is placed. */
	pthread_mutex_t *lock = &((struct rql_prepared *)(uintptr_t)p)->stage.lock;
	pthread_mutex_lock(lock);
	if (p->rows)
		price_list(p, device, out);
	else
		price_locked(p, device, out);
	pthread_mutex_unlock(lock);
	add_source(p, device, out);
}

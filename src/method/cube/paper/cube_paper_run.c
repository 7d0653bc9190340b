/* The ray-tracing job of a query (RTCUDB section 3.2 and Algorithm 1), and its groups on the way out. */
#include <stdlib.h>

#include "method/cube/paper/cube_paper.h"
#include "shaders/method/cube/cube_paper_trace.rahit.h"
#include "shaders/method/cube/cube_paper_trace.rgen.h"
#include "shaders/method/cube/cube_paper_trace.rmiss.h"

#define COUNTER_BYTES (UINT64_C(8) * RQL_PAPER_COUNTERS)
#define MAX_PASSES 8u

static const struct rql_trace_kernel trace_kernel = {
	.name = "cube.paper",
	.raygen = {rql_spv_cube_paper_trace_rgen, sizeof(rql_spv_cube_paper_trace_rgen)},
	.miss = {rql_spv_cube_paper_trace_rmiss, sizeof(rql_spv_cube_paper_trace_rmiss)},
	.any_hit = {rql_spv_cube_paper_trace_rahit, sizeof(rql_spv_cube_paper_trace_rahit)},
	.args_bytes = sizeof(struct rql_paper_args),
};

/* One run's memory on the device. Two sets of areas when there are two jobs: the query's, and the plane z = 0. */
struct job {
	const struct rql_paper_prepared *p;
	struct rql_paper_structure *s;
	struct rql_device *device;
	struct rql_buffer *input;   /* areas, addresses of sets, sets */
	struct rql_buffer *flags;   /* a bit a row */
	struct rql_buffer *scanned; /* OPERATORS: the bit vector */
	struct rql_buffer *results; /* counters, then a row of words for every group */
	struct rql_buffer *back;
	uint64_t sets_offset, plane_offset, flag_bytes, result_bytes;
	struct rql_commands *commands;
	struct rql_use *uses;
	uint32_t use_count;
	bool timed;
	struct rql_progress *progress; /* may be NULL */
	/* Of the submissions so far: one, but for very many rays. */
	double device_ns;
	uint32_t pass_count;
	struct rql_pass_time passes[MAX_PASSES];
};

static void job_free(struct job *job)
{
	rql_commands_free(job->commands);
	rql_buffer_free(job->input);
	rql_buffer_free(job->flags);
	rql_buffer_free(job->scanned);
	rql_buffer_free(job->results);
	rql_buffer_free(job->back);
	free(job->uses);
}

/* ---- what the shaders read ---- */

static struct rql_paper_area area_of(const struct rql_paper_structure *s, const struct rql_paper_interval *interval)
{
	return (struct rql_paper_area){.low = rql_grid_coordinate(&s->axis[2], interval->low) - 0.5f,
	                               .high = rql_grid_coordinate(&s->axis[2], interval->high) + 0.5f,
	                               .box = interval->box};
}

static rql_status write_input(struct job *job, struct rql_error *err)
{
	const struct rql_paper_areas *areas = &job->p->areas;
	uint64_t set_count = (uint64_t)areas->box_count * areas->test_count, words = 0;
	for (uint64_t i = 0; i < set_count; i++)
		words += areas->sets[i] ? areas->set_words[i % areas->test_count] : 0;
	job->plane_offset = areas->count * sizeof(struct rql_paper_area);
	job->sets_offset = (job->plane_offset + sizeof(struct rql_paper_area) + 7) / 8 * 8;
	uint64_t bytes = job->sets_offset + (set_count + words) * 8;
	RQL_TRY(rql_buffer_new(job->device, bytes, RQL_MEMORY_UPLOAD, "a query's areas", &job->input, err));
	struct rql_paper_area *out = job->input->map;
	for (uint64_t i = 0; i < areas->count; i++)
		out[i] = area_of(job->s, &areas->intervals[i]);
	out[areas->count] = (struct rql_paper_area){.low = -0.5f, .high = 0.5f};
	uint64_t *table = (uint64_t *)(void *)((uint8_t *)job->input->map + job->sets_offset), at = set_count;
	for (uint64_t i = 0; i < set_count; i++) {
		uint32_t n = areas->sets[i] ? areas->set_words[i % areas->test_count] : 0;
		table[i] = n ? job->input->address + job->sets_offset + at * 8 : 0;
		if (n)
			memcpy(table + at, areas->sets[i], n * sizeof(uint64_t));
		at += n;
	}
	return RQL_OK;
}

static rql_status make_memory(struct job *job, struct rql_error *err)
{
	struct rql_device *device = job->device;
	job->flag_bytes = (job->s->rows + 31) / 32 * 4;
	job->result_bytes = COUNTER_BYTES + job->s->groups.count * job->p->bound.layout.row_words * 8;
	RQL_TRY(write_input(job, err));
	RQL_TRY(rql_buffer_new(device, job->flag_bytes, RQL_MEMORY_DEVICE, "a query's flag bits", &job->flags, err));
	if (job->s->flat)
		RQL_TRY(rql_buffer_new(device, job->flag_bytes, RQL_MEMORY_DEVICE, "a query's bit vector", &job->scanned, err));
	RQL_TRY(rql_buffer_new(device, job->result_bytes, RQL_MEMORY_DEVICE, "a query's groups", &job->results, err));
	return rql_buffer_new(device, job->result_bytes, RQL_MEMORY_READBACK, "a query's groups", &job->back, err);
}

static void add_use(struct job *job, struct rql_buffer *buffer, enum rql_access access)
{
	if (buffer)
		job->uses[job->use_count++] = (struct rql_use){buffer, access};
}

static rql_status list_uses(struct job *job, struct rql_error *err)
{
	const struct rql_paper_structure *s = job->s;
	uint64_t most = s->part_count + 8 + RQL_PAPER_COLUMNS + RQL_PAPER_TESTS + RQL_PAPER_GROUP_ARRAYS;
	job->uses = calloc(most, sizeof(*job->uses));
	if (!job->uses)
		return rql_error_memory(err, most * sizeof(*job->uses), "a query");
	for (uint32_t p = 0; p < s->part_count; p++)
		add_use(job, s->corner_parts[p], RQL_READ);
	add_use(job, s->corners, RQL_READ);
	add_use(job, s->tables, RQL_READ);
	for (uint32_t i = 0; i < RQL_PAPER_COLUMNS; i++)
		add_use(job, s->rest[i], RQL_READ);
	for (uint32_t i = 0; i < RQL_PAPER_TESTS; i++)
		add_use(job, s->test[i], RQL_READ);
	for (uint32_t i = 0; i < RQL_PAPER_GROUP_ARRAYS; i++)
		add_use(job, s->group[i], RQL_READ);
	add_use(job, job->input, RQL_READ);
	add_use(job, job->flags, RQL_READ_WRITE);
	add_use(job, job->scanned, RQL_READ_WRITE);
	add_use(job, job->results, RQL_READ_WRITE);
	return RQL_OK;
}

/* ---- recording ---- */

static uint32_t slot_kind(enum rql_state_kind kind)
{
	switch (kind) {
	case RQL_STATE_SUM_WIDE:
		return RQL_PAPER_SUM_WIDE;
	case RQL_STATE_MIN_FIELD:
		return RQL_PAPER_MIN;
	case RQL_STATE_MAX_FIELD:
		return RQL_PAPER_MAX;
	default:
		return RQL_PAPER_SUM;
	}
}

static rql_status get_pipeline(struct job *job, uint32_t kind, const struct rql_pipeline **out, struct rql_error *err)
{
	const struct rql_paper_prepared *p = job->p;
	bool scan = kind == RQL_PAPER_JOB_SCAN, rest = kind == RQL_PAPER_JOB_REST;
	uint32_t slots = scan ? 0 : p->bound.slot_count, arrays = scan ? 0 : job->s->groups.array_count;
	uint32_t constants[RQL_PAPER_CONSTANTS] = {RQL_PAPER_SHAPE(kind, slots, rest ? 0 : job->s->test_count, arrays)};
	for (uint32_t i = 0; i < slots; i++) {
		const struct rql_cube_slot *slot = &p->bound.slots[i];
		constants[RQL_PAPER_CONSTANT_SLOT + i] =
			RQL_PAPER_SLOT(slot_kind(slot->state.kind), p->slot_column[i], slot->state.word, p->slot_valid[i]);
	}
	for (uint32_t c = 0; c < job->s->spec.column_count; c++) {
		const struct rql_paper_field *f = &job->s->field[c];
		constants[RQL_PAPER_CONSTANT_COLUMN + c] = RQL_PAPER_COLUMN(f->shift, f->bits, f->rest_bits, f->rest_log);
	}
	return rql_trace_pipeline_get(job->device, &trace_kernel, constants, RQL_PAPER_CONSTANTS, out, err);
}

static rql_status begin(struct job *job, struct rql_error *err)
{
	return rql_commands_new(job->device, job->timed ? RQL_COMMANDS_TIMED : 0, &job->commands, err);
}

/* A pass that went on in another submission is one. */
static void add_times(struct job *job)
{
	struct rql_pass_time passes[MAX_PASSES];
	double ns;
	uint32_t count = rql_commands_times(job->commands, passes, MAX_PASSES, &ns);
	job->device_ns += ns;
	for (uint32_t i = 0; i < count && i < MAX_PASSES; i++) {
		struct rql_pass_time *last = job->pass_count ? &job->passes[job->pass_count - 1] : NULL;
		if (i == 0 && last && strcmp(last->pass, passes[i].pass) == 0)
			last->ns += passes[i].ns;
		else if (job->pass_count < MAX_PASSES)
			job->passes[job->pass_count++] = passes[i];
	}
}

/* Runs what is recorded so far. */
static rql_status submit(struct job *job, struct rql_error *err)
{
	if (job->progress && atomic_load_explicit(&job->progress->cancel, memory_order_relaxed))
		return rql_error_set(err, RQL_ERROR_INTERRUPTED, "the query was interrupted");
	RQL_TRY(rql_commands_end(job->commands, err));
	RQL_TRY(rql_commands_run(job->commands, job->progress, err));
	if (job->timed)
		add_times(job);
	rql_commands_free(job->commands);
	job->commands = NULL;
	return RQL_OK;
}

/* In several submissions when there are very many: an interrupt ends between two. */
static rql_status record_pieces(struct job *job, const char *pass, const struct rql_pipeline *pipeline,
                                struct rql_paper_args *args, struct rql_accel *accel, struct rql_error *err)
{
	const struct rql_profile *profile = &job->device->profile;
	double work_ns = (double)args->rays * profile->ray_ns + job->p->hits * profile->hit_ns;
	uint64_t piece = rql_trace_piece(job->device, args->rays, work_ns);
	for (uint64_t first = 0; first < args->rays; first += piece) {
		uint64_t rest = args->rays - first;
		if (first) {
			RQL_TRY(submit(job, err));
			RQL_TRY(begin(job, err));
		}
		args->first_ray = first;
		rql_record_trace(job->commands, pass, pipeline, args, rest < piece ? rest : piece, &accel, 1, job->uses,
		                 job->use_count);
	}
	return RQL_OK;
}

static rql_status record_trace(struct job *job, const char *pass, uint32_t kind, struct rql_error *err)
{
	struct rql_paper_structure *s = job->s;
	const struct rql_pipeline *pipeline;
	RQL_TRY(get_pipeline(job, kind, &pipeline, err));
	bool rest = kind == RQL_PAPER_JOB_REST, scan = kind == RQL_PAPER_JOB_SCAN;
	struct rql_accel *accel = rest ? s->flat : s->accel;
	uint64_t per_area = (uint64_t)s->axis[0].rays * s->axis[1].rays, areas = rest ? 1 : job->p->areas.count;
	struct rql_paper_args args = {
		.accel = accel->address,
		.areas = job->input->address + (rest ? job->plane_offset : 0),
		.sets = job->input->address + job->sets_offset,
		.corners = s->corners->address,
		.flags = scan ? job->scanned->address : job->flags->address,
		.scanned = rest ? job->scanned->address : 0,
		.results = job->results->address + COUNTER_BYTES,
		.counters = job->results->address,
		.tables = s->tables->address,
		.part_rows = s->part_rows,
		.rays = areas * per_area,
		.rays_x = s->axis[0].rays,
		.rays_y = s->axis[1].rays,
		.legs = s->axis[0].leg | s->axis[1].leg << 8,
		.center_x = s->axis[0].center,
		.center_y = s->axis[1].center,
		.row_words = job->p->bound.layout.row_words,
	};
	return record_pieces(job, pass, pipeline, &args, accel, err);
}

static rql_status trace_all(struct job *job, struct rql_error *err)
{
	RQL_TRY(begin(job, err));
	rql_record_fill(job->commands, job->flags, 0, job->flag_bytes, 0);
	if (job->scanned)
		rql_record_fill(job->commands, job->scanned, 0, job->flag_bytes, 0);
	rql_record_fill(job->commands, job->results, 0, job->result_bytes, 0);
	if (job->s->flat) {
		RQL_TRY(record_trace(job, "scan", RQL_PAPER_JOB_SCAN, err));
		RQL_TRY(record_trace(job, "aggregate", RQL_PAPER_JOB_REST, err));
	} else {
		RQL_TRY(record_trace(job, "query", RQL_PAPER_JOB_WHOLE, err));
	}
	rql_record_copy(job->commands, job->results, 0, job->back, 0, job->result_bytes);
	return submit(job, err);
}

/* ---- figures ---- */

/* Bytes that the method itself moved: corners and flag words of every call, codes that were tested, what a counted row
 * fetched and added; the flags and results cleared before. The traversal's own reads cannot be seen from here. */
static void count(const struct job *job, struct rql_port *out)
{
	const struct rql_paper_structure *s = job->s;
	const uint64_t *counters = job->back->map, *rows = counters + RQL_PAPER_COUNTERS;
	uint32_t words = job->p->bound.layout.row_words;
	uint64_t calls = 0, taken = 0;
	for (uint32_t i = 0; i < RQL_PAPER_COUNTERS; i++)
		calls += counters[i];
	for (uint64_t g = 0; g < s->groups.count; g++)
		taken += rows[g * words];
	uint64_t per_area = (uint64_t)s->axis[0].rays * s->axis[1].rays, jobs = s->flat ? 2 : 1;
	out->rays = per_area * (job->p->areas.count + (s->flat ? 1 : 0));
	out->hits = calls;
	out->runs = job->p->areas.count;
	out->cells_read = out->cells_covered = taken;
	out->bytes_read = calls * (12 + 4 * jobs + UINT64_C(4) * s->test_count) +
	                  taken * (s->row_bytes + UINT64_C(8) * words) + job->flag_bytes * jobs +
	                  s->groups.count * words * 8;
}

static rql_status put_times(struct job *job, struct rql_arena *arena, struct rql_port *out, struct rql_error *err)
{
	out->passes = RQL_NEW_ARRAY(arena, struct rql_pass_time, MAX_PASSES);
	if (!out->passes)
		return rql_error_memory(err, MAX_PASSES * sizeof(*out->passes), "an answer's times");
	memcpy(out->passes, job->passes, sizeof(job->passes));
	out->pass_count = job->pass_count;
	out->device_ns = job->device_ns;
	return RQL_OK;
}

/* ---- the run ---- */

static rql_status run_job(struct job *job, struct rql_arena *arena, struct rql_port *out, struct rql_error *err)
{
	RQL_TRY(make_memory(job, err));
	RQL_TRY(list_uses(job, err));
	RQL_TRY(trace_all(job, err));
	struct rql_port figures = {0};
	count(job, &figures);
	if (job->timed)
		RQL_TRY(put_times(job, arena, &figures, err));
	uint64_t words = job->s->groups.count * job->p->bound.layout.row_words, *rows = RQL_NEW_ARRAY(arena, uint64_t, words);
	if (!rows)
		return rql_error_memory(err, words * 8, "the groups of a query");
	memcpy(rows, (const uint64_t *)job->back->map + RQL_PAPER_COUNTERS, words * 8);
	RQL_TRY(rql_paper_finish(job->p, job->s, rows, arena, out, err));
	out->rays = figures.rays;
	out->hits = figures.hits;
	out->runs = figures.runs;
	out->cells_read = figures.cells_read;
	out->cells_covered = figures.cells_covered;
	out->bytes_read = figures.bytes_read;
	out->device_ns = figures.device_ns;
	out->passes = figures.passes;
	out->pass_count = figures.pass_count;
	return RQL_OK;
}

rql_status rql_paper_run(const struct rql_prepared *prepared, struct rql_device *device, const struct rql_run *run,
                         struct rql_port *out, struct rql_error *err)
{
	const struct rql_paper_prepared *p = (const struct rql_paper_prepared *)prepared;
	if (p->areas.count == 0 || p->bound.cube->relation.cells == 0)
		return rql_paper_finish(p, NULL, NULL, run->arena, out, err);
	struct rql_placement *placement = NULL;
	RQL_TRY(rql_cube_get(p->bound.cube, device, RQL_PAPER, p->key, rql_paper_build, (void *)(uintptr_t)&p->spec,
	                     &placement, err));
	struct job job = {.p = p,
	                  .s = (struct rql_paper_structure *)placement,
	                  .device = device,
	                  .timed = (run->flags & RQL_RUN_TIMED) != 0,
	                  .progress = run->progress};
	struct rql_error why = {0};
	rql_status status = run_job(&job, run->arena, out, &why);
	if (status == RQL_ERROR_DEVICE)
		rql_placements_fail(p->bound.cube, device, rql_error_message(&why));
	if (status != RQL_OK)
		rql_error_set(err, status, "%s", rql_error_message(&why));
	rql_error_clear(&why);
	job_free(&job);
	rql_placement_release(placement);
	return status;
}

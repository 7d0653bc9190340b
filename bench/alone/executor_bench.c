/* Three ways to execute a query's expressions on a GPU, in one and the same frame (shaders/executor.comp): an interpreter
 * of flat steps, a shader unrolled over specialization constants, and generated SPIR-V.
 *
 *   executor_bench [device [million rows [GB/s]]]     (vulkan:0, 60, 4580: an H200's bandwidth of reading, for floors)
 *
 * Every answer is checked against the CPU's run of the same program. Device times are medians of 15 warm runs with the
 * best of three sizes of the grid; "first ms" is a first run: code, if any, pipeline, dispatch. To see that whole, give
 * XDG_CACHE_HOME a new folder. An interpreter whose pipeline an earlier program made shows what that saves. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/alone/executor.h"
#include "bench/common/stats.h"
#include "device/work.h"
#include "expr/building/build.h"
#include "shaders/bench/executor_generated.comp.h"
#include "shaders/bench/executor_local1.comp.h"
#include "shaders/bench/executor_local4.comp.h"
#include "shaders/bench/executor_shared1.comp.h"
#include "shaders/bench/executor_shared4.comp.h"
#include "shaders/bench/executor_special1.comp.h"
#include "shaders/bench/executor_special4.comp.h"

#define LANES 128u          /* of a workgroup; fewer where shared memory does not hold the registers of so many */
#define SHARED_BESIDE 2048u /* bytes, at most, of what else the shader keeps there */
#define RUNS 15u
#define WARM_NS 500000000u
#define GRIDS 3u
static const uint64_t grids[GRIDS] = {1024, 2048, 4096};

enum form { INTERPRET, INTERPRET_SHARED, SPECIAL, GENERATED };
#define SHADER(form, name, rows, text)                                                                                 \
	{                                                                                                                  \
		form, rows, text, rql_spv_executor_##name##_comp, sizeof rql_spv_executor_##name##_comp                        \
	}
static const struct executor {
	enum form form;
	uint32_t rows; /* that a step handles */
	const char *name;
	const uint32_t *spirv;
	uint64_t bytes;
} executors[] = {
	SHADER(GENERATED, generated, 1, "generated SPIR-V"),
	SHADER(SPECIAL, special1, 1, "specialised"),
	SHADER(SPECIAL, special4, 4, "specialised, 4 rows a step"),
	SHADER(INTERPRET_SHARED, shared1, 1, "interpreter, shared memory"),
	SHADER(INTERPRET_SHARED, shared4, 4, "interpreter, shared, 4 rows"),
	SHADER(INTERPRET, local1, 1, "interpreter, array"),
	SHADER(INTERPRET, local4, 4, "interpreter, array, 4 rows"),
};
#define EXECUTORS (sizeof executors / sizeof *executors)

/* Hundredths; days since 1970. As TPC-H has them. */
enum { PRICE, DISCOUNT, TAX, SHIPPED };
static const int32_t bounds[RQL_EXECUTOR_COLUMNS][2] = {{90000, 10494950}, {0, 10}, {0, 8}, {8036, 10561}};

static void check(rql_status status, const struct rql_error *err)
{
	if (status == RQL_OK)
		return;
	fprintf(stderr, "executor_bench: %s: %s\n", rql_status_name(status), rql_error_message(err));
	exit(1);
}

static void *need(void *p)
{
	if (p)
		return p;
	fprintf(stderr, "executor_bench: out of memory\n");
	exit(1);
}

/* ---- programs ---- */

static rql_value_number constant(struct rql_builder *b, int64_t v)
{
	return rql_build_constant(b, &(struct rql_value){.type = rql_type_simple(RQL_TYPE_BIGINT), .integer = v});
}

static rql_value_number arithmetic(struct rql_builder *b, const char *op, rql_value_number x, rql_value_number y)
{
	return rql_build_arithmetic(b, op, x, y, rql_type_simple(RQL_TYPE_BIGINT), true);
}

/* Nothing but the frame: two columns, one test. */
static void frame_program(struct rql_builder *b, const rql_value_number *v, rql_value_number *results)
{
	results[0] = v[PRICE];
	results[1] = v[TAX];
	results[2] = rql_build_compare(b, RQL_STEP_LE, v[SHIPPED], constant(b, 10471));
}

/* TPC-H's first query: extendedprice * (1 - discount), the same * (1 + tax); shipdate <= DATE '1998-09-02'. */
static void first_program(struct rql_builder *b, const rql_value_number *v, rql_value_number *results)
{
	results[0] = arithmetic(b, "*", v[PRICE], arithmetic(b, "-", constant(b, 100), v[DISCOUNT]));
	results[1] = arithmetic(b, "*", results[0], arithmetic(b, "+", constant(b, 100), v[TAX]));
	results[2] = rql_build_compare(b, RQL_STEP_LE, v[SHIPPED], constant(b, 10471));
}

/* The same and more: CASE WHEN discount > 4 AND shipdate < x THEN charge - 7 * bonus ELSE charge + 3 * price END ... */
static void long_program(struct rql_builder *b, const rql_value_number *v, rql_value_number *results)
{
	rql_value_number revenue = arithmetic(b, "*", v[PRICE], arithmetic(b, "-", constant(b, 100), v[DISCOUNT]));
	rql_value_number charge = arithmetic(b, "*", revenue, arithmetic(b, "+", constant(b, 100), v[TAX]));
	rql_value_number bonus = arithmetic(b, "*", revenue, arithmetic(b, "-", v[TAX], v[DISCOUNT]));
	rql_value_number early = rql_build_and(b, rql_build_compare(b, RQL_STEP_GT, v[DISCOUNT], constant(b, 4)),
	                                       rql_build_compare(b, RQL_STEP_LT, v[SHIPPED], constant(b, 9400)));
	rql_value_number less = arithmetic(b, "-", charge, arithmetic(b, "*", bonus, constant(b, 7)));
	rql_value_number more = arithmetic(b, "+", charge, arithmetic(b, "*", v[PRICE], constant(b, 3)));
	results[0] = rql_build_choose(b, early, less, more);
	rql_value_number cheap = rql_build_compare(b, RQL_STEP_LT, v[PRICE], v[SHIPPED]);
	results[1] = rql_build_choose(b, rql_build_or(b, cheap, rql_build_compare(b, RQL_STEP_EQ, v[TAX], constant(b, 4))),
	                              bonus, arithmetic(b, "+", revenue, v[SHIPPED]));
	results[2] = rql_build_compare(b, RQL_STEP_LE, v[SHIPPED], constant(b, 10471));
}

static const struct {
	const char *name;
	void (*build)(struct rql_builder *b, const rql_value_number *v, rql_value_number *results);
} programs[] = {{"two columns", frame_program}, {"TPC-H's first", first_program}, {"a longer one", long_program}};
#define PROGRAMS (sizeof programs / sizeof *programs)

static const struct rql_program *build_program(struct rql_arena *arena, uint32_t which)
{
	struct rql_builder *b = need(rql_builder_new(arena));
	rql_value_number v[RQL_EXECUTOR_COLUMNS], results[3];
	struct rql_program *program;
	struct rql_error err = {0};
	for (uint32_t c = 0; c < RQL_EXECUTOR_COLUMNS; c++) {
		struct rql_input_spec spec = {.column = c,
		                              .type = rql_type_simple(RQL_TYPE_BIGINT),
		                              .kind = RQL_LANE_I32,
		                              .bounds = {bounds[c][0], bounds[c][1]}};
		v[c] = rql_build_input(b, &spec);
	}
	programs[which].build(b, v, results);
	check(rql_builder_finish(b, results, 3, &program, &err), &err);
	return program;
}

/* ---- the CPU's answer ---- */

static int64_t value_at(const struct rql_program *p, const struct rql_lanes *lanes, uint32_t result, uint32_t row)
{
	return p->results[result].kind == RQL_LANE_I64 ? ((const int64_t *)lanes->data)[row]
	                                               : ((const int32_t *)lanes->data)[row];
}

/* rows: a multiple of RQL_VECTOR_ROWS. */
static void run_cpu(const struct rql_program *p, int32_t *const *columns, uint64_t rows, int64_t *sums)
{
	struct rql_program_state *state;
	struct rql_error err = {0};
	sums[0] = sums[1] = 0;
	check(rql_program_state_new(p, RQL_SIMD_AVX2, &state, &err), &err);
	for (uint64_t at = 0; at < rows; at += RQL_VECTOR_ROWS) {
		struct rql_lanes inputs[RQL_EXECUTOR_COLUMNS], out[3];
		for (uint32_t c = 0; c < RQL_EXECUTOR_COLUMNS; c++)
			inputs[c] = (struct rql_lanes){columns[c] + at, NULL};
		check(rql_program_run(state, inputs, RQL_VECTOR_ROWS, NULL, &err), &err);
		for (uint32_t r = 0; r < 3; r++)
			out[r] = rql_program_result(state, r);
		const uint64_t *pass = out[2].data;
		for (uint32_t i = 0; i < RQL_VECTOR_ROWS; i++)
			for (uint32_t r = 0; r < 2 && pass[i / 64] >> i % 64 & 1; r++)
				sums[r] += value_at(p, &out[r], r, i);
	}
	rql_program_state_free(state);
}

/* ---- on the device ---- */

struct bench {
	struct rql_device *device;
	uint64_t rows;
	double gbps;
	int32_t *columns[RQL_EXECUTOR_COLUMNS];
	struct rql_buffer *buffers[RQL_EXECUTOR_COLUMNS];
	struct rql_buffer *parameters; /* steps, then constants */
	struct rql_buffer *sums, *answer;
};
#define CONSTANTS_OFFSET (sizeof(uint32_t) * 4 * RQL_EXECUTOR_STEPS)

/* Columns of made-up values (a multiply and shift of the row's number), the same every time. */
static void fill_columns(struct bench *b)
{
	struct rql_error err = {0};
	uint64_t bytes = b->rows * sizeof(int32_t);
	for (uint32_t c = 0; c < RQL_EXECUTOR_COLUMNS; c++) {
		b->columns[c] = need(malloc(bytes));
		uint64_t span = (uint64_t)(bounds[c][1] - bounds[c][0]) + 1;
		for (uint64_t i = 0; i < b->rows; i++) {
			uint64_t x = (i * RQL_EXECUTOR_COLUMNS + c + 1) * UINT64_C(0x9e3779b97f4a7c15);
			x = (x ^ x >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
			b->columns[c][i] = bounds[c][0] + (int32_t)((x >> 32) * span >> 32);
		}
		check(rql_buffer_new(b->device, bytes, RQL_MEMORY_DEVICE, "a column", &b->buffers[c], &err), &err);
		check(rql_buffer_upload(b->buffers[c], 0, b->columns[c], bytes, &err), &err);
	}
	check(rql_buffer_new(b->device, CONSTANTS_OFFSET + 8 * RQL_EXECUTOR_KEPT, RQL_MEMORY_DEVICE, "steps",
	                     &b->parameters, &err),
	      &err);
	check(rql_buffer_new(b->device, 16, RQL_MEMORY_DEVICE, "sums", &b->sums, &err), &err);
	check(rql_buffer_new(b->device, 16, RQL_MEMORY_READBACK, "sums", &b->answer, &err), &err);
}

/* The pipeline, and what it takes to make it. */
static const struct rql_pipeline *make_pipeline(const struct bench *b, const struct executor *e,
                                                const struct rql_program *program, struct rql_executor_code *code,
                                                double *ms)
{
	struct rql_error err = {0};
	const struct rql_pipeline *pipeline;
	struct rql_kernel kernel = {"bench.executor", e->spirv, e->bytes, sizeof(struct rql_executor_args)};
	uint32_t *words = NULL, lanes = LANES;
	bool shared = e->form == INTERPRET_SHARED;
	uint64_t start = rql_now_ns();
	check(rql_executor_flatten(program, shared ? lanes : 0, code, &err), &err);
	while (shared && lanes > 1 && code->places * 4 * e->rows + SHARED_BESIDE > b->device->limits.shared_bytes)
		check(rql_executor_flatten(program, lanes /= 2, code, &err), &err);
	/* An array's size costs an interpreter nothing: one for all programs. */
	const uint32_t constants[3] = {lanes, e->form == INTERPRET ? 128 : code->places,
	                               e->form == SPECIAL ? code->constants_at : 0};
	if (e->form == SPECIAL)
		check(rql_executor_specialize(code, e->spirv, e->bytes, &words, &err), &err);
	if (e->form == GENERATED)
		check(rql_executor_generate(program, e->spirv, e->bytes, &words, &kernel.spirv_bytes, &err), &err);
	if (words)
		kernel.spirv = words;
	check(rql_pipeline_get_generated(b->device, &kernel, constants, 3, &pipeline, &err), &err);
	*ms = (double)(rql_now_ns() - start) / 1e6;
	free(words);
	return pipeline;
}

static struct rql_commands *record(const struct bench *b, const struct rql_pipeline *pipeline,
                                   const struct rql_executor_code *code, const struct rql_program *program,
                                   uint64_t groups)
{
	struct rql_commands *c;
	struct rql_error err = {0};
	struct rql_executor_args args = {.column0 = b->buffers[0]->address,
	                                 .column1 = b->buffers[1]->address,
	                                 .column2 = b->buffers[2]->address,
	                                 .column3 = b->buffers[3]->address,
	                                 .steps = b->parameters->address,
	                                 .constants = b->parameters->address + CONSTANTS_OFFSET,
	                                 .sums = b->sums->address,
	                                 .quads = b->rows / 4,
	                                 .groups = groups,
	                                 .step_count = code->step_count,
	                                 .constant_count = program->constant_count,
	                                 .constants_at = code->constants_at};
	struct rql_use uses[] = {{b->buffers[0], RQL_READ}, {b->buffers[1], RQL_READ}, {b->buffers[2], RQL_READ},
	                         {b->buffers[3], RQL_READ}, {b->parameters, RQL_READ}, {b->sums, RQL_READ_WRITE}};
	check(rql_commands_new(b->device, RQL_COMMANDS_TIMED, &c, &err), &err);
	rql_record_fill(c, b->sums, 0, 16, 0);
	rql_record_dispatch(c, "executor", pipeline, &args, groups, uses, 6);
	rql_record_copy(c, b->sums, 0, b->answer, 0, 16);
	check(rql_commands_end(c, &err), &err);
	return c;
}

static double run_once(const struct bench *b, struct rql_commands *c, const char *name, const int64_t *want)
{
	struct rql_error err = {0};
	struct rql_pass_time times[4];
	check(rql_commands_run(c, NULL, &err), &err);
	uint32_t count = rql_commands_times(c, times, 4, NULL);
	if (memcmp(b->answer->map, want, 16) != 0) {
		const int64_t *have = b->answer->map;
		fprintf(stderr, "executor_bench: %s: %lld and %lld, not %lld and %lld\n", name, (long long)have[0],
		        (long long)have[1], (long long)want[0], (long long)want[1]);
		exit(1);
	}
	for (uint32_t i = 0; i < count && i < 4; i++)
		if (strcmp(times[i].pass, "executor") == 0)
			return times[i].ns;
	return 0;
}

/* Compiled code leaves out a column that nothing reads; the interpreters' frame cannot. */
static uint32_t columns_read(const struct rql_program *p)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < p->input_count; i++) {
		uint16_t reg = p->inputs[i].reg;
		bool read = false;
		for (uint32_t s = 0; s < p->step_count; s++)
			read |= p->steps[s].a == reg || p->steps[s].b == reg || p->steps[s].c == reg;
		for (uint32_t r = 0; r < p->result_count; r++)
			read |= p->results[r].reg == reg;
		count += read;
	}
	return count;
}

static void measure(const struct bench *b, const struct executor *e, const struct rql_program *program,
                    const int64_t *want)
{
	struct rql_executor_code code;
	struct rql_error err = {0};
	uint64_t parameters[CONSTANTS_OFFSET / 8 + RQL_EXECUTOR_KEPT] = {0}, grid = 0;
	double ms, best = 0, first = 0;
	const struct rql_pipeline *pipeline = make_pipeline(b, e, program, &code, &ms);
	memcpy(parameters, code.steps, CONSTANTS_OFFSET);
	for (uint32_t i = 0; i < program->constant_count; i++)
		parameters[CONSTANTS_OFFSET / 8 + i] = (uint64_t)program->constants[i].integer;
	check(rql_buffer_upload(b->parameters, 0, parameters, sizeof parameters, &err), &err);
	for (uint32_t g = 0; g < GRIDS; g++) {
		struct rql_commands *c = record(b, pipeline, &code, program, grids[g]);
		struct rql_samples samples = {0};
		/* A device that has idled while the kernel was made runs at a low clock for a while. */
		uint64_t start = rql_now_ns(), warm = g || b->device->kind == RQL_DEVICE_SOFTWARE ? 0 : WARM_NS;
		(void)run_once(b, c, e->name, want);
		if (!g)
			first = ms + (double)(rql_now_ns() - start) / 1e6;
		do
			(void)run_once(b, c, e->name, want);
		while (rql_now_ns() - start < warm);
		for (uint32_t i = 0; i < RUNS; i++)
			rql_samples_add(&samples, run_once(b, c, e->name, want));
		double ns = rql_samples_median(&samples);
		if (!grid || ns < best) {
			best = ns;
			grid = grids[g];
		}
		rql_commands_free(c);
	}
	rql_pipeline_release(pipeline);
	double floor_ns = (double)(b->rows * sizeof(int32_t) * columns_read(program)) / b->gbps;
	printf("%-28s %12.1f %9.2f %12.3f %9.1f %6llu\n", e->name, best / 1e3, best / floor_ns,
	       best / (double)b->rows * 1e3, first, (unsigned long long)grid);
	fflush(stdout);
}

static void report(const struct bench *b, uint32_t which)
{
	struct rql_arena *arena = need(rql_arena_new());
	const struct rql_program *program = build_program(arena, which);
	struct rql_strbuf text = {0};
	int64_t want[2];
	run_cpu(program, b->columns, b->rows, want);
	rql_program_print(&text, program);
	printf("\n%s: %u steps and two sums\n%s", programs[which].name, program->step_count, text.data);
	printf("%-28s %12s %9s %12s %9s %6s\n", "", "device us", "x floor", "ps a row", "first ms", "groups");
	for (uint32_t e = 0; e < EXECUTORS; e++)
		measure(b, &executors[e], program, want);
	rql_strbuf_free(&text);
	rql_arena_free(arena);
}

int main(int argc, char **argv)
{
	struct rql_devices *devices = NULL;
	struct rql_error err = {0};
	double millions = argc > 2 ? atof(argv[2]) : 60;
	/* The driver's own cache would hide what making a pipeline takes. */
	if (setenv("__GL_SHADER_DISK_CACHE", "0", 1) != 0 || setenv("MESA_SHADER_CACHE_DISABLE", "true", 1) != 0)
		return 1;
	check(rql_devices_open(2, &devices, &err), &err);
	struct bench b = {.device = rql_devices_get(devices, argc > 1 ? argv[1] : "vulkan:0"),
	                  .rows = (uint64_t)(millions * 1e6) / RQL_VECTOR_ROWS * RQL_VECTOR_ROWS,
	                  .gbps = argc > 3 ? atof(argv[3]) : 4580};
	if (!b.device || !b.device->units[RQL_UNIT_COMPUTE] || !b.rows || !(b.gbps > 0)) {
		fprintf(stderr, "executor_bench: no such device, or no rows: executor_bench [device [million rows [GB/s]]]\n");
		return 1;
	}
	fill_columns(&b);
	printf("%s, %llu rows of %u columns; floor: the columns that a program reads, at %.0f GB/s\n", b.device->name,
	       (unsigned long long)b.rows, RQL_EXECUTOR_COLUMNS, b.gbps);
	for (uint32_t p = 0; p < PROGRAMS; p++)
		report(&b, p);
	for (uint32_t c = 0; c < RQL_EXECUTOR_COLUMNS; c++) {
		rql_buffer_free(b.buffers[c]);
		free(b.columns[c]);
	}
	rql_buffer_free(b.parameters);
	rql_buffer_free(b.sums);
	rql_buffer_free(b.answer);
	rql_devices_close(devices);
	return 0;
}

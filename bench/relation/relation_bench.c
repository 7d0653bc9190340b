/* What the cases of rayql bench device share: memory, the kernels of data and checks, timed runs, a line and a JSON
 * object for each. */
#include "bench/relation/relation_bench.h"

#include <stdlib.h>
#include <string.h>

#include "bench/common/json.h"
#include "bench/common/stats.h"
#include "shaders/bench/relation_data.comp.h"

#define GROUP_SIZE 256u
#define PASSES 128u
#define ATTEMPTS 3u
#define POISON 0xdeadbeefu

static const struct rql_kernel kernel = {"bench.relation", rql_spv_relation_data_comp, sizeof rql_spv_relation_data_comp,
                                         sizeof(struct rql_relation_bench_args)};

rql_status rql_relation_fill(struct rql_relation_bench *b, struct rql_buffer *buffer, uint64_t offset, uint64_t bytes,
                             uint32_t word, struct rql_error *err)
{
	struct rql_commands *c;
	RQL_TRY(rql_commands_new(b->device, 0, &c, err));
	rql_record_fill(c, buffer, offset, bytes, word);
	return rql_commands_finish(c, RQL_OK, NULL, NULL, err);
}

rql_status rql_relation_buffer(struct rql_relation_bench *b, uint64_t bytes, struct rql_buffer **out,
                               struct rql_error *err)
{
	if (b->buffer_count == RQL_RELATION_BUFFERS)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "a benchmark's case has more than %u buffers", RQL_RELATION_BUFFERS);
	uint64_t room = (bytes + 255) / 256 * 256 + 256;
	RQL_TRY(rql_buffer_new(b->device, room, RQL_MEMORY_DEVICE, "the benchmark's columns", out, err));
	b->buffers[b->buffer_count++] = *out;
	return rql_relation_fill(b, *out, 0, room, POISON, err);
}

void rql_relation_drop_to(struct rql_relation_bench *b, uint32_t count)
{
	while (b->buffer_count > count)
		rql_buffer_free(b->buffers[--b->buffer_count]);
}

void rql_relation_drop(struct rql_relation_bench *b)
{
	rql_relation_drop_to(b, 0);
}

/* All memory of the case may be read and written: one pass, no care. */
rql_status rql_relation_record_data(struct rql_relation_bench *b, struct rql_commands *c, uint32_t what,
                                    struct rql_relation_bench_args *args, struct rql_error *err)
{
	const uint32_t constants[] = {GROUP_SIZE, what};
	const struct rql_pipeline *pipeline;
	struct rql_use uses[RQL_RELATION_BUFFERS + 1];
	args->results = b->results->address;
	uses[0] = (struct rql_use){b->results, RQL_READ_WRITE};
	for (uint32_t i = 0; i < b->buffer_count; i++)
		uses[i + 1] = (struct rql_use){b->buffers[i], RQL_READ_WRITE};
	RQL_TRY(rql_pipeline_get(b->device, &kernel, constants, 2, &pipeline, err));
	rql_record_dispatch(c, "data", pipeline, args, (args->rows + GROUP_SIZE - 1) / GROUP_SIZE, uses, b->buffer_count + 1);
	return RQL_OK;
}

rql_status rql_relation_data(struct rql_relation_bench *b, uint32_t what, struct rql_relation_bench_args *args,
                             struct rql_error *err)
{
	struct rql_commands *c;
	RQL_TRY(rql_commands_new(b->device, 0, &c, err));
	return rql_commands_finish(c, rql_relation_record_data(b, c, what, args, err), NULL, NULL, err);
}

bool rql_relation_wanted(const struct rql_relation_bench *b, const char *name)
{
	return !b->options->cases || strstr(name, b->options->cases) != NULL;
}

bool rql_relation_form_wanted(const struct rql_relation_bench *b, const char *name)
{
	return !b->options->forms || rql_args_listed(b->options->forms, name);
}

/* ---- runs ---- */

struct phase {
	const char *name;
	double ns;
};

/* Device time by the passes' names. */
static uint32_t add_up(const struct rql_pass_time *times, uint32_t count, struct phase *phases)
{
	uint32_t used = 0;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t at = 0;
		while (at < used && strcmp(phases[at].name, times[i].pass))
			at++;
		if (at == used)
			phases[used++] = (struct phase){times[i].pass, 0};
		phases[at].ns += times[i].ns;
	}
	return used;
}

static void report(struct rql_relation_bench *b, const struct rql_relation_case *one,
                   const struct rql_relation_variant *variant, const struct rql_samples *samples, double slowness,
                   bool good, const struct phase *phases, uint32_t phase_count)
{
	double ms = rql_samples_median(samples) / 1e6, floor_ms = one->floor_bytes / b->floors.read_gbps / 1e6;
	printf("%-44s %-26s %9.3f ms  floor %7.3f  ", one->name, variant->name, ms, floor_ms);
	if (one->moved_bytes > 0)
		printf("passes %7.3f  ", one->moved_bytes / b->floors.read_gbps / 1e6);
	printf("scratch %8.1f MB  %s ", (double)one->scratch_bytes / 1e6, good ? "right" : "WRONG");
	if (slowness >= RQL_FLAT_SLOW)
		printf(" SLOW CLOCK %.2f", slowness);
	for (uint32_t i = 0; i < phase_count; i++)
		printf(" %s %.3f", phases[i].name, phases[i].ns / 1e6);
	printf("\n");
	fflush(stdout);
	struct rql_strbuf *j = &b->json;
	rql_strbuf_put(j, b->measured ? ",\n  {" : "\n  {");
	if (b->figure)
		rql_json_count(j, "figure", b->figure);
	rql_json_string(j, "case", one->name);
	rql_json_string(j, "variant", variant->name);
	rql_json_number(j, "ms", ms);
	rql_json_number(j, "least_ms", rql_samples_min(samples) / 1e6);
	rql_json_number(j, "floor_ms", floor_ms);
	if (one->moved_bytes > 0)
		rql_json_number(j, "passes_floor_ms", one->moved_bytes / b->floors.read_gbps / 1e6);
	rql_json_count(j, "scratch_bytes", one->scratch_bytes);
	rql_json_bool(j, "right", good);
	rql_json_number(j, "slowness", slowness);
	rql_json_key(j, "passes_ms");
	rql_strbuf_put(j, "{");
	for (uint32_t i = 0; i < phase_count; i++)
		rql_json_number(j, phases[i].name, phases[i].ns / 1e6);
	rql_strbuf_put(j, "}}");
	b->measured++;
	b->wrong += !good;
}

static rql_status timed_runs(struct rql_relation_bench *b, struct rql_commands *c, struct rql_samples *samples,
                             struct phase *phases, uint32_t *phase_count, struct rql_error *err)
{
	struct rql_pass_time times[PASSES];
	for (int64_t i = 0; i <= b->options->runs; i++) {
		double total;
		RQL_TRY(rql_commands_run(c, NULL, err));
		uint32_t count = rql_commands_times(c, times, PASSES, &total);
		*phase_count = add_up(times, count < PASSES ? count : PASSES, phases);
		if (i)
			rql_samples_add(samples, total);
	}
	return RQL_OK;
}

/* A case that its device ended with a slower clock is run again. */
static rql_status awake_runs(struct rql_relation_bench *b, struct rql_commands *c, struct rql_samples *samples,
                             struct phase *phases, uint32_t *phase_count, double *slowness, struct rql_error *err)
{
	*slowness = RQL_FLAT_SLOW;
	for (uint32_t i = 0; i < ATTEMPTS && *slowness >= RQL_FLAT_SLOW; i++) {
		*samples = (struct rql_samples){0};
		RQL_TRY(rql_flat_wake(b->device, &b->awake_ns, err));
		RQL_TRY(timed_runs(b, c, samples, phases, phase_count, err));
		RQL_TRY(rql_flat_slowness(b->device, b->awake_ns, slowness, err));
	}
	return RQL_OK;
}

rql_status rql_relation_measure(struct rql_relation_bench *b, struct rql_relation_case *one,
                                const struct rql_relation_variant *variant, struct rql_error *err)
{
	struct rql_samples samples = {0};
	struct phase phases[PASSES];
	struct rql_commands *c;
	uint32_t phase_count = 0;
	double slowness = 1;
	bool good = false;
	RQL_TRY(rql_commands_new(b->device, RQL_COMMANDS_TIMED, &c, err));
	rql_status status = one->record(one, c, err);
	if (status == RQL_OK)
		status = rql_commands_end(c, err);
	if (status == RQL_OK)
		status = awake_runs(b, c, &samples, phases, &phase_count, &slowness, err);
	rql_commands_free(c);
	if (status == RQL_OK)
		status = one->check(b, one, &good, err);
	if (status == RQL_OK)
		report(b, one, variant, &samples, slowness, good, phases, phase_count);
	return status;
}

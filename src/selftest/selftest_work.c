/* What work.h promises: transfers, dispatches of any size, the order of passes that depend on each other, several
 * submissions in flight, indirect dispatches, buffers freed early. */
#include "selftest/selftest_case.h"

#include <string.h>

#include "selftest/selftest_kernels.h"
#include "shaders/selftest/step.comp.h"

static const struct rql_kernel step_kernel = {
	.name = "selftest.step",
	.spirv = rql_spv_step_comp,
	.spirv_bytes = sizeof(rql_spv_step_comp),
	.args_bytes = sizeof(struct rql_step_args),
};

static rql_status step_pipeline(struct rql_selftest *t, const struct rql_pipeline **out, struct rql_error *err)
{
	const uint32_t constants[] = {RQL_STEP_THREADS};
	return rql_pipeline_get(t->device, &step_kernel, constants, 1, out, err);
}

static rql_status record_step(struct rql_selftest *t, struct rql_commands *c, struct rql_buffer *from,
                              struct rql_buffer *to, uint64_t count, uint64_t factor, uint64_t add,
                              struct rql_error *err)
{
	const struct rql_pipeline *pipeline;
	RQL_TRY(step_pipeline(t, &pipeline, err));
	uint64_t groups = (count + RQL_STEP_THREADS - 1) / RQL_STEP_THREADS;
	const struct rql_step_args args = {from->address, to->address, count, factor, add, groups};
	const struct rql_use uses[] = {{from, RQL_READ}, {to, RQL_WRITE}};
	rql_record_dispatch(c, "step", pipeline, &args, groups, uses, 2);
	return RQL_OK;
}

static void plain_step(uint64_t *items, uint64_t count, uint64_t factor, uint64_t add)
{
	for (uint64_t i = 0; i < count; i++)
		items[i] = items[i] * factor + add + i;
}

static rql_status draw(struct rql_selftest *t, uint64_t count, uint64_t **items, uint64_t **got, struct rql_error *err)
{
	RQL_TRY(rql_selftest_alloc(t, count, 8, items, err));
	RQL_TRY(rql_selftest_alloc(t, count, 8, got, err));
	for (uint64_t i = 0; i < count; i++)
		(*items)[i] = rql_selftest_random(t);
	return RQL_OK;
}

/* Pieces of all sizes, at offsets that are no multiples of anything, over older content; every kind of memory. */
static rql_status test_transfer(struct rql_selftest *t, struct rql_error *err)
{
	static const uint64_t sizes[] = {1, 3, 4, 64, 4093, 65537, 1048576, 9000001};
	uint64_t room = t->thorough ? UINT64_C(300000000) : UINT64_C(12000000);
	uint8_t *data, *got;
	struct rql_buffer *buffer;
	RQL_TRY(rql_selftest_alloc(t, room, 1, &data, err));
	RQL_TRY(rql_selftest_alloc(t, room, 1, &got, err));
	for (uint64_t i = 0; i + 8 <= room; i += 8) {
		uint64_t word = rql_selftest_random(t);
		memcpy(data + i, &word, 8);
	}
	RQL_TRY(rql_selftest_buffer(t, room, data, "transfers", &buffer, err));
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint64_t at = rql_selftest_below(t, room - sizes[i] + 1), from = rql_selftest_below(t, room - sizes[i] + 1);
		memmove(data + at, data + from, sizes[i]);
		RQL_TRY(rql_buffer_upload(buffer, at, data + at, sizes[i], err));
		at = rql_selftest_below(t, room - sizes[i] + 1);
		RQL_TRY(rql_buffer_download(buffer, at, got, sizes[i], err));
		RQL_TRY(rql_selftest_same(got, data + at, sizes[i], 1, "a part of a buffer", err));
	}
	RQL_TRY(rql_buffer_download(buffer, 0, got, room, err));
	return rql_selftest_same(got, data, room, 1, "a whole buffer", err);
}

/* Upload and readback memory is mapped: the CPU writes, a kernel reads, a kernel writes, the CPU reads. */
static rql_status mapped_step(struct rql_selftest *t, struct rql_buffer *from, struct rql_buffer *to, uint64_t count,
                              struct rql_error *err)
{
	struct rql_commands *c;
	uint64_t *items, *got;
	RQL_TRY(draw(t, count, &items, &got, err));
	if (!from->map || !to->map)
		return rql_selftest_wrong(err, "upload or readback memory is not mapped");
	memcpy(from->map, items, count * 8);
	RQL_TRY(rql_selftest_record(t, &c, err));
	RQL_TRY(record_step(t, c, from, to, count, 7, 1, err));
	RQL_TRY(rql_selftest_execute(t, err));
	plain_step(items, count, 7, 1);
	memcpy(got, to->map, count * 8);
	return rql_selftest_same(got, items, count, 8, "mapped memory", err);
}

static rql_status test_mapped(struct rql_selftest *t, struct rql_error *err)
{
	const uint64_t count = 50001;
	struct rql_buffer *from = NULL, *to = NULL;
	rql_status status = rql_buffer_new(t->device, count * 8, RQL_MEMORY_UPLOAD, "mapped input", &from, err);
	if (status == RQL_OK)
		status = rql_buffer_new(t->device, count * 8, RQL_MEMORY_READBACK, "mapped output", &to, err);
	if (status == RQL_OK)
		status = mapped_step(t, from, to, count, err);
	rql_buffer_free(from);
	rql_buffer_free(to);
	return status;
}

static rql_status test_dispatch(struct rql_selftest *t, struct rql_error *err)
{
	/* The last but one has more workgroups than one dimension holds everywhere. */
	static const uint64_t counts[] = {0, 1, 63, 64, 65, 100003, 65535 * RQL_STEP_THREADS, 65537 * RQL_STEP_THREADS};
	for (unsigned i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		struct rql_buffer *from, *to;
		struct rql_commands *c;
		uint64_t *items, *got, count = counts[i];
		RQL_TRY(draw(t, count, &items, &got, err));
		RQL_TRY(rql_selftest_buffer(t, count * 8, items, "dispatch input", &from, err));
		RQL_TRY(rql_selftest_buffer(t, count * 8, NULL, "dispatch output", &to, err));
		RQL_TRY(rql_selftest_record(t, &c, err));
		RQL_TRY(record_step(t, c, from, to, count, 3, 5, err));
		RQL_TRY(rql_selftest_execute(t, err));
		RQL_TRY(rql_buffer_download(to, 0, got, count * 8, err));
		plain_step(items, count, 3, 5);
		RQL_TRY(rql_selftest_same(got, items, count, 8, "dispatch", err));
		rql_selftest_drop(t);
	}
	return RQL_OK;
}

/* Every pass needs the one before: through the same buffer, another one, a copy, a fill. */
static rql_status test_dependencies(struct rql_selftest *t, struct rql_error *err)
{
	const uint64_t count = 30011;
	struct rql_buffer *a, *b;
	struct rql_commands *c;
	uint64_t *items, *got;
	RQL_TRY(draw(t, count, &items, &got, err));
	RQL_TRY(rql_selftest_buffer(t, count * 8, items, "dependencies a", &a, err));
	RQL_TRY(rql_selftest_buffer(t, count * 8, NULL, "dependencies b", &b, err));
	RQL_TRY(rql_selftest_record(t, &c, err));
	for (uint64_t pass = 0; pass < 40; pass++) {
		RQL_TRY(record_step(t, c, a, b, count, 3, pass, err));
		plain_step(items, count, 3, pass);
		RQL_TRY(record_step(t, c, b, b, count, 5, pass, err));
		plain_step(items, count, 5, pass);
		rql_record_copy(c, b, 0, a, 0, count * 8);
		uint64_t first = rql_selftest_below(t, count), length = rql_selftest_below(t, count - first);
		rql_record_fill(c, a, first * 8, length * 8, (uint32_t)pass);
		for (uint64_t i = first; i < first + length; i++)
			items[i] = pass << 32 | pass;
	}
	RQL_TRY(rql_selftest_execute(t, err));
	RQL_TRY(rql_buffer_download(a, 0, got, count * 8, err));
	return rql_selftest_same(got, items, count, 8, "40 rounds of dependent passes", err);
}

/* One recording submitted several times, each on the result of the one before. */
static rql_status test_resubmit(struct rql_selftest *t, struct rql_error *err)
{
	const uint64_t count = 5003;
	struct rql_buffer *a;
	struct rql_commands *c;
	uint64_t *items, *got;
	RQL_TRY(draw(t, count, &items, &got, err));
	RQL_TRY(rql_selftest_buffer(t, count * 8, items, "resubmitted", &a, err));
	RQL_TRY(rql_selftest_record(t, &c, err));
	RQL_TRY(record_step(t, c, a, a, count, 3, 11, err));
	RQL_TRY(rql_selftest_execute(t, err));
	plain_step(items, count, 3, 11);
	for (uint32_t i = 0; i < 5; i++) {
		RQL_TRY(rql_commands_run(c, NULL, err));
		plain_step(items, count, 3, 11);
	}
	RQL_TRY(rql_buffer_download(a, 0, got, count * 8, err));
	return rql_selftest_same(got, items, count, 8, "six runs of one recording", err);
}

#define FLIGHTS 8u
/* Recordings that depend on each other, submitted without waiting in between. */
static rql_status fly(struct rql_selftest *t, struct rql_commands **c, uint64_t count, struct rql_error *err)
{
	struct rql_buffer *a, *gone;
	uint64_t *items, *got, ticket = 0, last = 0;
	RQL_TRY(draw(t, count, &items, &got, err));
	RQL_TRY(rql_selftest_buffer(t, count * 8, items, "in flight", &a, err));
	for (uint32_t i = 0; i < FLIGHTS; i++) {
		/* A buffer that only the recording uses is freed before it runs; so is the recording itself. */
		RQL_TRY(rql_buffer_new(t->device, count * 8, RQL_MEMORY_DEVICE, "freed early", &gone, err));
		rql_status status = rql_commands_new(t->device, RQL_COMMANDS_TIMED, &c[i], err);
		if (status == RQL_OK)
			status = record_step(t, c[i], a, gone, count, 3, i, err);
		if (status == RQL_OK)
			status = record_step(t, c[i], gone, a, count, 1, 0, err);
		if (status == RQL_OK)
			status = rql_commands_end(c[i], err);
		if (status == RQL_OK)
			status = rql_submit(c[i], &ticket, err);
		rql_buffer_free(gone);
		RQL_TRY(status);
		if (ticket <= last)
			return rql_selftest_wrong(err, "ticket %llu follows %llu", (unsigned long long)ticket,
			                          (unsigned long long)last);
		last = ticket;
		if (i % 2) {
			rql_commands_free(c[i]);
			c[i] = NULL;
		}
		plain_step(items, count, 3, i);
		plain_step(items, count, 1, 0);
	}
	RQL_TRY(rql_wait(t->device, ticket, NULL, err));
	if (!rql_is_done(t->device, ticket))
		return rql_selftest_wrong(err, "a ticket that was waited for is not done");
	RQL_TRY(rql_buffer_download(a, 0, got, count * 8, err));
	return rql_selftest_same(got, items, count, 8, "submissions in flight", err);
}

static rql_status test_in_flight(struct rql_selftest *t, struct rql_error *err)
{
	struct rql_commands *c[FLIGHTS] = {0};
	rql_status status = fly(t, c, 200003, err);
	for (uint32_t i = 0; i < FLIGHTS; i++)
		rql_commands_free(c[i]);
	return status;
}

static rql_status test_indirect(struct rql_selftest *t, struct rql_error *err)
{
	static const uint32_t groups[][3] = {{0, 1, 1}, {1, 1, 1}, {7, 1, 1}, {5, 9, 1}};
	const uint64_t count = 45 * RQL_STEP_THREADS;
	const struct rql_pipeline *pipeline;
	RQL_TRY(step_pipeline(t, &pipeline, err));
	for (unsigned i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		struct rql_buffer *a, *counts;
		struct rql_commands *c;
		uint64_t *items, *got;
		RQL_TRY(draw(t, count, &items, &got, err));
		RQL_TRY(rql_selftest_buffer(t, count * 8, items, "indirect", &a, err));
		RQL_TRY(rql_selftest_buffer(t, 24, NULL, "indirect counts", &counts, err));
		RQL_TRY(rql_selftest_record(t, &c, err));
		/* The counts are written by the recording itself. */
		for (unsigned d = 0; d < 3; d++)
			rql_record_fill(c, counts, 8 + 4 * d, 4, groups[i][d]);
		const struct rql_step_args args = {a->address, a->address, count, 9, 2, 45};
		const struct rql_use use = {a, RQL_READ_WRITE};
		rql_record_dispatch_indirect(c, "step", pipeline, &args, counts, 8, &use, 1);
		RQL_TRY(rql_selftest_execute(t, err));
		RQL_TRY(rql_buffer_download(a, 0, got, count * 8, err));
		plain_step(items, (uint64_t)groups[i][0] * groups[i][1] * RQL_STEP_THREADS, 9, 2);
		RQL_TRY(rql_selftest_same(got, items, count, 8, "indirect dispatch", err));
		rql_selftest_drop(t);
	}
	return RQL_OK;
}

#define COMPUTE RQL_SELFTEST_UNIT(RQL_UNIT_COMPUTE)
const struct rql_selftest_case rql_selftest_work[] = {
	{"work.transfer", COMPUTE, test_transfer}, {"work.mapped", COMPUTE, test_mapped},
	{"work.dispatch", COMPUTE, test_dispatch}, {"work.dependencies", COMPUTE, test_dependencies},
	{"work.resubmit", COMPUTE, test_resubmit}, {"work.in_flight", COMPUTE, test_in_flight},
	{"work.indirect", COMPUTE, test_indirect}, {0},
};

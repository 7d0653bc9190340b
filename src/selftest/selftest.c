/* The conformance suite: its cases, run one after the other on one device, and what they say. */
#include "selftest/selftest_case.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/hash.h"
#include "util/threads.h"

static const struct rql_selftest_case *const tables[] = {
	/* clang-format off: a line each */
	rql_selftest_work,
	rql_selftest_trace,
	rql_selftest_draw,
	rql_selftest_geometry,
	rql_selftest_key,
	rql_selftest_keyray,
	rql_selftest_primitive,
	rql_selftest_sort,
	rql_selftest_relation,
	rql_selftest_lookup,
	rql_selftest_ranged,
	rql_selftest_bits,
	rql_selftest_rx,
	rql_selftest_cgrx,
	rql_selftest_cgrx_nodes,
	rql_selftest_text,
	rql_selftest_cube,
	rql_selftest_cube_rt,
	/* clang-format on */
};

#define GUARD_BYTES 256u
#define PATTERN 0xa5

/* splitmix64 */
uint64_t rql_selftest_random(struct rql_selftest *t)
{
	uint64_t z = t->random += UINT64_C(0x9e3779b97f4a7c15);
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

rql_status rql_selftest_alloc(struct rql_selftest *t, uint64_t count, uint64_t size, void *out, struct rql_error *err)
{
	void *memory = rql_arena_array(t->arena, count, size);
	if (!memory)
		return rql_error_memory(err, count * size, "a selftest's data");
	memcpy(out, &memory, sizeof(memory));
	return RQL_OK;
}

rql_status rql_selftest_wrong(struct rql_error *err, const char *fmt, ...)
{
	char text[400];
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return rql_error_set(err, RQL_ERROR_DEVICE, "wrong: %s", text);
}

rql_status rql_selftest_same(const void *got, const void *wanted, uint64_t count, uint32_t size, const char *what,
                             struct rql_error *err)
{
	const uint8_t *g = got, *w = wanted;
	for (uint64_t i = 0; i < count; i++, g += size, w += size) {
		if (!memcmp(g, w, size))
			continue;
		uint64_t a = 0, b = 0;
		memcpy(&a, g, size < 8 ? size : 8);
		memcpy(&b, w, size < 8 ? size : 8);
		return rql_selftest_wrong(err, "%s: item %llu of %llu is %#llx instead of %#llx", what, (unsigned long long)i,
		                          (unsigned long long)count, (unsigned long long)a, (unsigned long long)b);
	}
	return RQL_OK;
}

/* ---- GPUs ---- */

rql_status rql_selftest_buffer(struct rql_selftest *t, uint64_t bytes, const void *data, const char *what,
                               struct rql_buffer **out, struct rql_error *err)
{
	uint8_t guard[GUARD_BYTES];
	if (t->buffer_count == RQL_SELFTEST_BUFFERS)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "a selftest uses more than %u buffers", RQL_SELFTEST_BUFFERS);
	uint64_t room = (bytes + 7) / 8 * 8;
	struct rql_buffer *buffer;
	RQL_TRY(rql_buffer_new(t->device, room + GUARD_BYTES, RQL_MEMORY_DEVICE, what, &buffer, err));
	t->buffers[t->buffer_count] = buffer;
	t->buffer_bytes[t->buffer_count++] = room;
	memset(guard, PATTERN, sizeof(guard));
	RQL_TRY(rql_buffer_upload(buffer, room, guard, sizeof(guard), err));
	if (data)
		RQL_TRY(rql_buffer_upload(buffer, 0, data, bytes, err));
	*out = buffer;
	return RQL_OK;
}

rql_status rql_selftest_record(struct rql_selftest *t, struct rql_commands **out, struct rql_error *err)
{
	rql_commands_free(t->commands);
	t->commands = NULL;
	RQL_TRY(rql_commands_new(t->device, 0, &t->commands, err));
	*out = t->commands;
	return RQL_OK;
}

rql_status rql_selftest_execute(struct rql_selftest *t, struct rql_error *err)
{
	RQL_TRY(rql_commands_end(t->commands, err));
	RQL_TRY(rql_commands_run(t->commands, NULL, err));
	for (uint32_t i = 0; i < t->buffer_count; i++) {
		uint8_t guard[GUARD_BYTES];
		RQL_TRY(rql_buffer_download(t->buffers[i], t->buffer_bytes[i], guard, sizeof(guard), err));
		for (uint32_t b = 0; b < GUARD_BYTES; b++)
			if (guard[b] != PATTERN)
				return rql_selftest_wrong(err, "byte %u behind the end of buffer %u (%llu bytes) was written", b, i,
				                          (unsigned long long)t->buffer_bytes[i]);
	}
	return RQL_OK;
}

void rql_selftest_drop(struct rql_selftest *t)
{
	rql_commands_free(t->commands);
	t->commands = NULL;
	for (uint32_t i = 0; i < t->buffer_count; i++)
		rql_buffer_free(t->buffers[i]);
	t->buffer_count = 0;
}

/* ---- the run ---- */

static bool has_unit(const struct rql_device *device, unsigned units)
{
	for (unsigned unit = 0; unit < RQL_UNIT_COUNT; unit++)
		if (device->units[unit] && units & RQL_SELFTEST_UNIT(unit))
			return true;
	return false;
}

static const char *why_not(const struct rql_device *device, unsigned units)
{
	for (unsigned unit = 0; unit < RQL_UNIT_COUNT; unit++)
		if (units & RQL_SELFTEST_UNIT(unit) && device->missing[unit])
			return device->missing[unit];
	return "the device has no such unit";
}

static rql_status run_case(struct rql_selftest *t, const struct rql_selftest_case *one, uint64_t seed,
                           struct rql_selftest_result *result, struct rql_error *why)
{
	t->random = rql_hash_bytes(seed, one->name, strlen(one->name)); /* the same data whatever runs before it */
	t->arena = rql_arena_new();
	if (!t->arena)
		return rql_error_memory(why, 0, "a selftest");
	uint64_t start = rql_now_ns();
	rql_status status = one->run(t, why);
	rql_selftest_drop(t);
	result->ms = (double)(rql_now_ns() - start) / 1e6;
	rql_arena_free(t->arena);
	result->outcome = status == RQL_OK                  ? RQL_SELFTEST_OK
	                  : status == RQL_ERROR_UNSUPPORTED ? RQL_SELFTEST_SKIPPED
	                                                    : RQL_SELFTEST_FAILED;
	result->text = rql_error_message(why);
	return RQL_OK;
}

static void count(struct rql_selftest_counts *counts, enum rql_selftest_outcome outcome)
{
	counts->ok += outcome == RQL_SELFTEST_OK;
	counts->failed += outcome == RQL_SELFTEST_FAILED;
	counts->skipped += outcome == RQL_SELFTEST_SKIPPED;
}

rql_status rql_selftest_run(struct rql_devices *devices, struct rql_device *device, uint64_t seed, bool thorough,
                            rql_selftest_report *report, void *state, struct rql_selftest_counts *counts,
                            struct rql_error *err)
{
	struct rql_selftest t = {.device = device, .cpu = &devices->device[0], .thorough = thorough};
	for (unsigned table = 0; table < sizeof(tables) / sizeof(tables[0]); table++) {
		for (const struct rql_selftest_case *one = tables[table]; one->name; one++) {
			struct rql_selftest_result result = {.device = device, .name = one->name, .outcome = RQL_SELFTEST_SKIPPED};
			struct rql_error why = {0};
			if (!has_unit(device, one->units)) {
				result.text = why_not(device, one->units);
			} else if (run_case(&t, one, seed, &result, &why) != RQL_OK) {
				rql_error_move(err, &why);
				return RQL_ERROR_MEMORY;
			}
			count(counts, result.outcome);
			if (report)
				report(state, &result);
			rql_error_clear(&why);
		}
	}
	return RQL_OK;
}

/* Profiles are kept between runs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <json-c/json.h>

#include "device/device_internal.h"
#include "util/files.h"
#include "util/strbuf.h"

#define LONGEST (UINT64_C(1) << 20) /* more is no profile */

/* Of the file: moves when a constant is added or changes its meaning. Other formats are measured anew. */
#define FORMAT 6

/* Who must have a constant; for the others it may be 0, and is kept all the same. */
enum owner { EVERYONE, THE_CPU, A_GPU, AN_RT_UNIT, A_RASTER_UNIT };

/* Every constant of struct rql_profile and its owner. */
#define CONSTANTS(X)                                                                                                   \
	X(read_gbps, EVERYONE)                                                                                             \
	X(handover_ns, THE_CPU)                                                                                            \
	X(run_ns, EVERYONE)                                                                                                \
	X(cell_ns, EVERYONE)                                                                                               \
	X(tested_cell_ns, EVERYONE)                                                                                        \
	X(group_ns, EVERYONE)                                                                                              \
	X(statement_ns, THE_CPU)                                                                                           \
	X(host_statement_ns, THE_CPU)                                                                                      \
	X(host_value_ns, THE_CPU)                                                                                          \
	X(submit_ns, A_GPU)                                                                                                \
	X(pass_ns, A_GPU)                                                                                                  \
	X(upload_gbps, A_GPU)                                                                                              \
	X(download_gbps, A_GPU)                                                                                            \
	X(sector_ns, A_GPU)                                                                                                \
	X(ray_ns, AN_RT_UNIT)                                                                                              \
	X(hit_ns, AN_RT_UNIT)                                                                                              \
	X(primitive_ns, AN_RT_UNIT)                                                                                        \
	X(primitive_bytes, AN_RT_UNIT)                                                                                     \
	X(point_ns, A_RASTER_UNIT)                                                                                         \
	X(atomic_ns, A_RASTER_UNIT)                                                                                        \
	X(blend_ns, A_RASTER_UNIT)                                                                                         \
	X(scan.test_ns, THE_CPU)                                                                                           \
	X(scan.value_ns, THE_CPU)                                                                                          \
	X(scan.gather_ns, THE_CPU)                                                                                         \
	X(scan.touch_ns, THE_CPU)                                                                                          \
	X(scan.probe_ns, THE_CPU)                                                                                          \
	X(scan.row_ns, THE_CPU)                                                                                            \
	X(scan.group_ns, THE_CPU)                                                                                          \
	X(scan.step_ns, THE_CPU)                                                                                           \
	X(scan.block_ns, THE_CPU)                                                                                          \
	X(scan.tested_row_ns, A_GPU)                                                                                       \
	X(scan.taken_row_ns, A_GPU)                                                                                        \
	X(scan.compile_ns, A_GPU)                                                                                          \
	X(scan.answer_group_ns, A_GPU)

/* A small server of 2025, rounded. */
const struct rql_profile rql_profile_guess = {
	.read_gbps = 20,
	.handover_ns = 2000,
	.run_ns = 20,
	.cell_ns = 0.2,
	.tested_cell_ns = 1.5,
	.group_ns = 10,
	.statement_ns = 5000,
	.host_statement_ns = 500000,
	.host_value_ns = 0.5,
	.scan = {.test_ns = 0.05,
	         .value_ns = 0.15,
	         .gather_ns = 1,
	         .touch_ns = 150,
	         .probe_ns = 0.5,
	         .row_ns = 1.5,
	         .group_ns = 12,
	         .step_ns = 0.1,
	         .block_ns = 15},
};

/* A data-centre GPU of 2024 (notes/h200.md), cautiously; an RT core would be faster at rays. */
static const struct rql_profile guess_discrete = {
	.read_gbps = 2000,
	.run_ns = 0.1,
	.cell_ns = 0.002,
	.tested_cell_ns = 0.01,
	.group_ns = 0.5,
	.submit_ns = 30000,
	.pass_ns = 3000,
	.upload_gbps = 20,
	.download_gbps = 20,
	.sector_ns = 0.03,
	.ray_ns = 0.5,
	.hit_ns = 1,
	.primitive_ns = 2,
	.primitive_bytes = 80,
	.point_ns = 2,
	.atomic_ns = 0.05,
	.blend_ns = 3.5,
	.scan = {.tested_row_ns = 0.001, .taken_row_ns = 0.015, .compile_ns = 2e8, .answer_group_ns = 75},
};

/* A GPU that shares the processor's memory, or a slice of a large one. */
static const struct rql_profile guess_integrated = {
	.read_gbps = 50,
	.run_ns = 2,
	.cell_ns = 0.05,
	.tested_cell_ns = 0.2,
	.group_ns = 5,
	.submit_ns = 60000,
	.pass_ns = 10000,
	.upload_gbps = 8,
	.download_gbps = 8,
	.sector_ns = 1,
	.ray_ns = 10,
	.hit_ns = 20,
	.primitive_ns = 30,
	.primitive_bytes = 80,
	.point_ns = 5,
	.atomic_ns = 1,
	.blend_ns = 5,
	.scan = {.tested_row_ns = 0.006, .taken_row_ns = 0.4, .compile_ns = 2e8, .answer_group_ns = 75},
};

/* lavapipe on two cores (notes/vulkan.md 1.1): no plan should choose it where the CPU's own kernels can do the work. */
static const struct rql_profile guess_software = {
	.read_gbps = 5,
	.run_ns = 100,
	.cell_ns = 2,
	.tested_cell_ns = 10,
	.group_ns = 50,
	.submit_ns = 200000,
	.pass_ns = 50000,
	.upload_gbps = 2,
	.download_gbps = 2,
	.sector_ns = 20,
	.ray_ns = 300,
	.hit_ns = 100,
	.primitive_ns = 250,
	.primitive_bytes = 104,
	.point_ns = 150,
	.atomic_ns = 10,
	.blend_ns = 20,
	.scan = {.tested_row_ns = 0.25, .taken_row_ns = 20, .compile_ns = 2e8, .answer_group_ns = 75},
};

static struct rql_profile guess_of(const struct rql_device *device)
{
	if (device->kind == RQL_DEVICE_CPU)
		return rql_profile_guess;
	struct rql_profile guess = device->kind == RQL_DEVICE_DISCRETE   ? guess_discrete
	                           : device->kind == RQL_DEVICE_SOFTWARE ? guess_software
	                                                                 : guess_integrated;
	if (!device->units[RQL_UNIT_RT])
		guess.ray_ns = guess.hit_ns = guess.primitive_ns = guess.primitive_bytes = 0;
	if (!device->units[RQL_UNIT_RASTER])
		guess.point_ns = guess.atomic_ns = guess.blend_ns = 0;
	return guess;
}

void rql_profile_guess_gpu(struct rql_device *device)
{
	device->profile = guess_of(device);
}

static bool must_have(const struct rql_device *device, enum owner owner)
{
	bool gpu = device->kind != RQL_DEVICE_CPU;
	return owner == EVERYONE || (owner == THE_CPU && !gpu) || (owner == A_GPU && gpu) ||
	       (owner == AN_RT_UNIT && device->units[RQL_UNIT_RT]) ||
	       (owner == A_RASTER_UNIT && device->units[RQL_UNIT_RASTER]);
}

static int threads_of(const struct rql_device *device)
{
	return device->kind == RQL_DEVICE_CPU && device->pool ? (int)rql_pool_threads(device->pool) : 0;
}

/* profile-<uuid or id>.json, with a hyphen for the id's colon: a GPU's place in the loader's order moves when another
 * is put in. False: out of memory. */
static bool profile_name(const struct rql_device *device, struct rql_strbuf *out)
{
	rql_strbuf_put(out, "profile-");
	for (const char *c = device->uuid ? device->uuid : device->id; *c; c++)
		rql_strbuf_putc(out, *c == ':' ? '-' : *c);
	rql_strbuf_put(out, ".json");
	return !out->failed;
}

static json_object *profile_json(const struct rql_device *device)
{
	json_object *root = json_object_new_object();
	if (!root)
		return NULL;
	int bad = json_object_object_add(root, "format", json_object_new_int(FORMAT));
	bad |= json_object_object_add(root, "name", json_object_new_string(device->name));
	bad |= json_object_object_add(root, "driver", json_object_new_string(device->driver));
	bad |= json_object_object_add(root, "threads", json_object_new_int(threads_of(device)));
#define X(field, owner)                                                                                               \
	bad |= json_object_object_add(root, #field, json_object_new_double(device->profile.field));
	CONSTANTS(X)
#undef X
	if (!bad)
		return root;
	json_object_put(root);
	return NULL;
}

static rql_status write_profile(const char *name, const char *text, struct rql_error *err)
{
	char end[32];
	int folder = -1;
	struct rql_file_place place = {.name = name, .path = name, .mode = 0600};
	const struct iovec part = {(void *)(uintptr_t)text, strlen(text)};
	RQL_TRY(rql_cache_open(true, &folder, err));
	place.folder = folder;
	snprintf(end, sizeof end, "%ld.tmp", (long)getpid());
	rql_status status = rql_file_put(&place, end, &part, 1, err);
	close(folder);
	return status;
}

rql_status rql_profile_save(const struct rql_device *device, struct rql_error *err)
{
	struct rql_strbuf name = {0};
	struct rql_error failed = {0};
	json_object *root = profile_name(device, &name) ? profile_json(device) : NULL;
	const char *text = root ? json_object_to_json_string_ext(root, JSON_C_TO_STRING_PRETTY) : NULL;
	rql_status status = text ? write_profile(rql_strbuf_text(&name), text, &failed)
	                         : rql_error_memory(&failed, 4096, "a device's profile");
	if (status == RQL_ERROR_IO)
		rql_error_set(err, status,
		              "cannot keep the device's profile: %s; set XDG_CACHE_HOME to a folder that can be written",
		              rql_error_message(&failed));
	else
		rql_error_move(err, &failed);
	rql_error_clear(&failed);
	json_object_put(root);
	rql_strbuf_free(&name);
	return status;
}

static json_object *read_profile(const char *name)
{
	struct rql_file_place place = {.name = name, .path = name};
	json_object *root = NULL;
	char *text = NULL;
	uint64_t size = 0;
	int folder = -1;
	if (rql_cache_open(false, &folder, NULL) != RQL_OK || folder < 0)
		return NULL;
	place.folder = folder;
	if (rql_file_get(&place, LONGEST, &text, &size, NULL) == RQL_OK && text)
		root = json_tokener_parse(text);
	free(text);
	close(folder);
	return root;
}

static bool same_text(json_object *root, const char *key, const char *wanted)
{
	json_object *value;
	return json_object_object_get_ex(root, key, &value) && json_object_is_type(value, json_type_string) &&
	       strcmp(json_object_get_string(value), wanted) == 0;
}

static bool same_number(json_object *root, const char *key, int64_t wanted)
{
	json_object *value;
	return json_object_object_get_ex(root, key, &value) && json_object_is_type(value, json_type_int) &&
	       json_object_get_int64(value) == wanted;
}

/* A constant is a positive, finite number that a machine could have; 0 where the device has no use for it. */
static bool read_constant(json_object *root, const char *key, bool needed, double *out)
{
	json_object *value;
	if (!json_object_object_get_ex(root, key, &value) ||
	    !(json_object_is_type(value, json_type_double) || json_object_is_type(value, json_type_int)))
		return false;
	double number = json_object_get_double(value);
	if (!isfinite(number) || number < 0 || (needed && number == 0) || number > 1e12)
		return false;
	*out = number;
	return true;
}

bool rql_profile_load(struct rql_device *device)
{
	struct rql_strbuf name = {0};
	json_object *root = NULL;
	struct rql_profile profile = guess_of(device);
	bool good = false;
	if (profile_name(device, &name))
		root = read_profile(rql_strbuf_text(&name));
	if (json_object_is_type(root, json_type_object)) {
		good = same_number(root, "format", FORMAT) && same_text(root, "name", device->name) &&
		       same_text(root, "driver", device->driver) && same_number(root, "threads", threads_of(device));
#define X(field, owner) good = good && read_constant(root, #field, must_have(device, owner), &profile.field);
		CONSTANTS(X)
#undef X
	}
	if (good) {
		device->profile = profile;
		device->profile.measured = true;
	}
	json_object_put(root);
	rql_strbuf_free(&name);
	return good;
}

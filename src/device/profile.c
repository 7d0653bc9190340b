/* Profiles are kept between runs. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <json-c/json.h>

#include "device/device_internal.h"
#include "util/strbuf.h"

#define FORMAT 1 /* of the file; moves when a constant changes its meaning */

/* Every constant of struct rql_profile. */
#define CONSTANTS(X)                                                                                                   \
	X(read_gbps)                                                                                                       \
	X(handover_ns)                                                                                                     \
	X(run_ns)                                                                                                          \
	X(cell_ns)                                                                                                         \
	X(tested_cell_ns)                                                                                                  \
	X(group_ns)                                                                                                        \
	X(statement_ns)                                                                                                    \
	X(host_statement_ns)                                                                                               \
	X(host_value_ns)

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
};

/* <cache>/rayql/profile-<id>.json, with a hyphen for the id's colon. false: no home, or out of memory. */
static bool profile_path(const struct rql_device *device, struct rql_strbuf *out, bool make_folder)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	if (cache && cache[0] == '/')
		rql_strbuf_put(out, cache);
	else if (home && home[0])
		rql_strbuf_printf(out, "%s/.cache", home);
	else
		return false;
	if (make_folder)
		(void)mkdir(rql_strbuf_text(out), 0700); /* what is wrong with it shows when the file is written */
	rql_strbuf_put(out, "/rayql");
	if (make_folder)
		(void)mkdir(rql_strbuf_text(out), 0700);
	rql_strbuf_put(out, "/profile-");
	for (const char *c = device->id; *c; c++)
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
	bad |= json_object_object_add(root, "threads", json_object_new_int((int)rql_pool_threads(device->pool)));
#define X(field) bad |= json_object_object_add(root, #field, json_object_new_double(device->profile.field));
	CONSTANTS(X)
#undef X
	if (!bad)
		return root;
	json_object_put(root);
	return NULL;
}

/* Writes text beside path and renames it, so that a reader never sees half a file. */
static rql_status write_file(const char *path, const char *text, struct rql_error *err)
{
	struct rql_strbuf beside = {0};
	rql_strbuf_printf(&beside, "%s.%ld.tmp", path, (long)getpid());
	rql_status status = RQL_OK;
	FILE *file = beside.failed ? NULL : fopen(rql_strbuf_text(&beside), "we");
	bool written = file && fputs(text, file) >= 0;
	int reason = errno;
	if (file && fclose(file) != 0) {
		written = false;
		reason = errno;
	}
	if (written && rename(rql_strbuf_text(&beside), path) != 0) {
		written = false;
		reason = errno;
	}
	if (!written) {
		if (file)
			(void)unlink(rql_strbuf_text(&beside));
		status = rql_error_set(
			err, RQL_ERROR_IO,
			"cannot keep the device's profile in %s: %s; set XDG_CACHE_HOME to a folder that can be written", path,
			strerror(reason));
	}
	rql_strbuf_free(&beside);
	return status;
}

rql_status rql_profile_save(const struct rql_device *device, struct rql_error *err)
{
	struct rql_strbuf path = {0};
	rql_status status;
	json_object *root = NULL;
	if (!profile_path(device, &path, true)) {
		status = rql_error_set(err, RQL_ERROR_IO,
		                       "cannot keep the device's profile: neither XDG_CACHE_HOME nor HOME names a folder");
		goto done;
	}
	root = profile_json(device);
	const char *text = root ? json_object_to_json_string_ext(root, JSON_C_TO_STRING_PRETTY) : NULL;
	status = text ? write_file(rql_strbuf_text(&path), text, err) : rql_error_memory(err, 4096, "a device's profile");
done:
	json_object_put(root);
	rql_strbuf_free(&path);
	return status;
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

/* A constant is a positive, finite number that a machine could have. */
static bool read_constant(json_object *root, const char *key, double *out)
{
	json_object *value;
	if (!json_object_object_get_ex(root, key, &value) ||
	    !(json_object_is_type(value, json_type_double) || json_object_is_type(value, json_type_int)))
		return false;
	double number = json_object_get_double(value);
	if (!isfinite(number) || number <= 0 || number > 1e12)
		return false;
	*out = number;
	return true;
}

bool rql_profile_load(struct rql_device *device)
{
	struct rql_strbuf path = {0};
	json_object *root = NULL;
	struct rql_profile profile = {.measured = true};
	bool good = false;
	if (profile_path(device, &path, false))
		root = json_object_from_file(rql_strbuf_text(&path));
	if (json_object_is_type(root, json_type_object)) {
		good = same_number(root, "format", FORMAT) && same_text(root, "name", device->name) &&
		       same_text(root, "driver", device->driver) &&
		       same_number(root, "threads", (int64_t)rql_pool_threads(device->pool));
#define X(field) good = good && read_constant(root, #field, &profile.field);
		CONSTANTS(X)
#undef X
	}
	if (good)
		device->profile = profile;
	json_object_put(root);
	rql_strbuf_free(&path);
	return good;
}

/* Structures on devices: what may be placed where, what is placed ahead when they are built, and what happens when a
 * device fails. The CPU always has the structure; a GPU is only ever a faster place. */
#include "structure/structure_internal.h"

#include "device/placement.h"
#include "method/contents.h"
#include <stdlib.h>
#include <string.h>

/* ---- memory ---- */
const char *rql_device_failure(const struct rql_structure *s, const struct rql_device *device)
{
	/* Of no kind in particular: what holds for the whole device. The methods know of their own kinds' failures. */
	const char *failure = NULL;
	const struct rql_place any = {.owner = s->relation, .kind = "", .kept = true};
	if (s->relation)
		(void)rql_placement_there(&any, device, &failure);
	return failure ? failure : rql_structure_failed_on(s, device);
}

/* What may still be taken, if `freed` bytes of that were given back. */
static uint64_t room_on(struct rql_structures *all, struct rql_device *device, uint64_t freed)
{
	uint64_t available = 0, total = 0, value = atomic_load(&all->device_limit.value);
	enum rql_device_limit_kind kind = (enum rql_device_limit_kind)atomic_load(&all->device_limit.kind);
	rql_device_memory(device, &available, &total);
	if (kind == RQL_LIMIT_AUTO)
		return (available + freed) / 5 * 4;
	if (kind == RQL_LIMIT_PERCENT)
		value = (uint64_t)((double)total * (double)value / 100000);
	uint64_t used = rql_placements_bytes(device, false) + atomic_load(&device->request_bytes);
	used = used > freed ? used - freed : 0;
	return value > used ? value - used : 0;
}

/* Gives up what nobody uses, as much as `missing` bytes need. False: there is nothing. */
static bool evict_movable(struct rql_structures *all, struct rql_device *device, uint64_t missing, uint64_t since)
{
	uint64_t room = room_on(all, device, 0);
	return missing > room && rql_placements_evict(device, missing - room, since) > 0;
}

bool rql_device_make_room(void *state, struct rql_device *device, uint64_t bytes, uint64_t missing, uint64_t since)
{
	struct rql_build_context *ctx = state;
	uint64_t most = rql_placements_bytes(device, true) + atomic_load(&device->request_bytes);
	return bytes <= room_on(ctx->structures, device, most) &&
	       (evict_movable(ctx->structures, device, missing, since) || ctx->drop_plan_on(ctx->session, device));
}

uint64_t rql_device_room(void *state, struct rql_device *device)
{
	const struct rql_build_context *ctx = state;
	return room_on(ctx->structures, device, 0);
}

bool rql_device_fits(void *state, struct rql_device *device, uint64_t bytes, struct rql_arena *arena,
                     const char **why)
{
	const struct rql_build_context *ctx = state;
	uint64_t room = room_on(ctx->structures, device, 0);
	char need[32], have[32];
	if (bytes <= room)
		return true;
	*why = rql_arena_printf(arena,
	                        "it needs %s of the device's memory and rayql_device_memory_limit leaves %s; raise the "
	                        "limit, or drop a view or an index",
	                        rql_format_bytes(need, bytes), rql_format_bytes(have, room));
	if (!*why)
		*why = "it needs more of the device's memory than rayql_device_memory_limit leaves";
	return false;
}

/* ---- placing after a build ---- */
static void add_note(struct rql_build_context *ctx, struct rql_structure *s, const struct rql_device *device,
                     const char *message)
{
	struct rql_strbuf text = {0};
	rql_strbuf_printf(&text, "%s%snot placed on %s (%s) when it was built: %s", s->note ? s->note : "",
	                  s->note ? "; " : "", device->id, device->name, message);
	(void)rql_structure_set_text(&s->note, rql_strbuf_text(&text));
	rql_strbuf_clear(&text);
	rql_strbuf_printf(&text, "%s is not placed on %s (%s): %s", s->name, device->id, device->name, message);
	free(ctx->notice);
	ctx->notice = rql_strbuf_take(&text);
}

static void place_on(struct rql_build_context *ctx, struct rql_structure *s, struct rql_device *device,
                     enum rql_unit unit, struct rql_arena *arena)
{
	struct rql_error failed = {0};
	const char *why = NULL;
	struct rql_structures *all = ctx->structures;
	uint64_t bytes = s->kind->contents->place_bytes(s->relation, device, unit);
	while (evict_movable(all, device, bytes, UINT64_MAX))
		;
	if (!rql_device_fits(ctx, device, bytes, arena, &why)) {
		add_note(ctx, s, device, why);
		return;
	}
	atomic_store(&ctx->progress->phase, "placing on the device");
	bool kept = unit == RQL_UNIT_RT && s->side_file && s->side_file_valid;
	bool read = kept && rql_side_read_placed(&all->side, s, device);
	if (s->kind->contents->place(s->relation, device, unit, &failed) != RQL_OK)
		add_note(ctx, s, device, rql_error_message(&failed));
	else if (kept && !read) /* a damaged file, or another driver's, gives way */
		rql_side_write_placed(&all->side, s, device);
	atomic_store(&ctx->progress->phase, NULL);
	rql_error_clear(&failed);
}

static bool some_method(enum rql_unit unit, uint64_t disabled)
{
	for (uint32_t m = 0; rql_methods()[m]; m++)
		if (rql_methods()[m]->unit == unit && !rql_methods()[m]->layouts && !(disabled >> m & 1))
			return true;
	return false;
}

void rql_device_place(struct rql_build_context *ctx, struct rql_structure *s)
{
	const struct rql_settings *settings = ctx->settings;
	struct rql_devices *devices = ctx->structures->devices;
	bool wanted = settings->unit_forced || s->unit_wanted;
	enum rql_unit unit = settings->unit_forced ? settings->unit : s->unit_wanted ? s->unit : RQL_UNIT_COMPUTE;
	/* The paper's layouts are for comparison, several to a view: each is made by the first query that wants it. */
	if (!s->kind->contents || unit == RQL_UNIT_CPU || s->layout || settings->layout[0] ||
	    !some_method(unit, settings->disabled_methods))
		return;
	struct rql_arena *arena = rql_arena_new();
	if (!arena)
		return; /* the first query places it */
	if (!settings->only)
		rql_devices_find(devices);
	for (uint32_t i = 0; i < atomic_load(&devices->count); i++) {
		struct rql_device *device = &devices->device[i];
		if (device->kind != RQL_DEVICE_CPU && !rql_device_refused(settings, device, unit))
			place_on(ctx, s, device, unit, arena);
	}
	if (wanted && s->unit_wanted && !rql_unit_available(devices, settings, unit, NULL)) {
		struct rql_strbuf why = {0}, note = {0};
		(void)rql_unit_available(devices, settings, unit, &why);
		rql_strbuf_printf(&note, "%s%sanswered by the CPU, as no device has the unit %s: %s", s->note ? s->note : "",
		                  s->note ? "; " : "", rql_unit_name(unit), rql_strbuf_text(&why));
		(void)rql_structure_set_text(&s->note, rql_strbuf_text(&note));
		rql_strbuf_free(&why);
		rql_strbuf_free(&note);
	}
	rql_arena_free(arena);
}

void rql_device_save(struct rql_structures *all, const struct rql_structure *s)
{
	for (uint32_t i = 1; s->kind->contents && i < atomic_load(&all->devices->count); i++)
		rql_side_write_placed(&all->side, s, &all->devices->device[i]);
}

/* ---- failures ---- */
void rql_device_put_failure(struct rql_strbuf *out, const struct rql_structure *s, const struct rql_device *device,
                            const char *message)
{
	rql_strbuf_printf(out, "not used on %s (%s) any more, where a query failed: %s; ", device->id, device->name,
	                  message);
	if (atomic_load(&device->lost))
		rql_strbuf_put(out, "open the database in a new process to use the device again");
	else
		rql_strbuf_printf(out, "%s lets it try again", s->kind->refresh);
}

void rql_device_mark(struct rql_structures *all, const struct rql_structure *s, const struct rql_device *device,
                     const char *message,
                     bool (*mark)(struct rql_structure *copy, const struct rql_structure *s,
                                  const struct rql_device *device, const char *message))
{
	bool done = false;
	while (!done) { /* again when another session has replaced it meanwhile: rows appended, a mark of its own */
		struct rql_structure *now = rql_catalog_find_id(all->catalog, s->id);
		struct rql_structure *copy = now ? rql_structure_clone(now) : NULL;
		done = !copy || !mark(copy, s, device, message);
		if (done)
			rql_structure_release(copy);
		else
			done = rql_catalog_replace(all->catalog, now, copy);
		rql_structure_release(now);
	}
}

void rql_device_retry(const struct rql_structure *s, const struct rql_device *device)
{
	if (s->relation)
		rql_placements_forgive(s->relation, device);
}

/* ---- WITH (unit = ...) ---- */
rql_status rql_device_check_unit(const struct rql_build_context *ctx, const char *sql,
                                 const struct rql_structure_options *options, struct rql_error *err)
{
	if (!options->unit_wanted || options->unit == RQL_UNIT_CPU)
		return RQL_OK;
	struct rql_devices *devices = ctx->structures->devices;
	struct rql_strbuf why = {0};
	rql_devices_find(devices);
	if (rql_unit_available(devices, ctx->settings, options->unit, &why)) {
		rql_strbuf_free(&why);
		return RQL_OK;
	}
	rql_status status = rql_error_at(
		err, sql, options->unit_position,
		"Not implemented Error: unit = %s needs a device that has it. %s. Use unit = auto, which takes what "
		"there is, or unit = cpu",
		rql_unit_name(options->unit), rql_strbuf_text(&why));
	rql_strbuf_free(&why);
	return status;
}

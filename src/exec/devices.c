/* Structures on devices: what may be placed where, what is placed when a view is built, and what happens when a device
 * fails. The CPU always has the structure; a GPU is only ever a faster place. */
#include "exec/exec_internal.h"

#include "device/placement.h"
#include <stdlib.h>
#include <string.h>

/* ---- the first use: constants ---- */
void rql_device_first_use(void *session, struct rql_device *device)
{
	struct rql_session *s = session;
	struct rql_database *db = s->db;
	uint32_t bit = 1u << device->index;
	if (atomic_load(&db->devices_ready) & bit)
		return;
	pthread_mutex_lock(&db->devices_lock);
	if (!(atomic_load(&db->devices_ready) & bit)) {
		/* A driver in software has no constants worth a second of everybody's time: rayql calibrate measures it. */
		if (device->kind != RQL_DEVICE_SOFTWARE && device->kind != RQL_DEVICE_CPU)
			rql_calibrate_first_start(device);
		atomic_fetch_or(&db->devices_ready, bit);
	}
	pthread_mutex_unlock(&db->devices_lock);
}

/* ---- memory ---- */
const char *rql_device_failure(const struct rql_structure *s, const struct rql_device *device)
{
	/* Of no kind in particular: what holds for the whole device. The methods know of their own kinds' failures. */
	const char *failure = NULL;
	if (s->cube)
		(void)rql_placement_there(&(struct rql_place){.owner = s->cube, .kind = "", .kept = true}, device, &failure);
	return failure ? failure : rql_structure_failed_on(s, device);
}

/* What may still be taken, if `freed` bytes of that were given back. */
static uint64_t room_on(struct rql_database *db, struct rql_device *device, uint64_t freed)
{
	uint64_t available = 0, total = 0, value = atomic_load(&db->device_limit.value);
	enum rql_device_limit_kind kind = (enum rql_device_limit_kind)atomic_load(&db->device_limit.kind);
	rql_device_memory(device, &available, &total);
	if (kind == RQL_LIMIT_AUTO)
		return (available + freed) / 5 * 4;
	if (kind == RQL_LIMIT_PERCENT)
		value = (uint64_t)((double)total * (double)value / 100000);
	uint64_t used = rql_placements_bytes(device, false) + atomic_load(&device->request_bytes);
	used = used > freed ? used - freed : 0;
	return value > used ? value - used : 0;
}

/* Gives up idle columns, as many as `missing` bytes need. False: there are none. */
static bool evict_columns(struct rql_database *db, struct rql_device *device, uint64_t missing, uint64_t since)
{
	uint64_t room = room_on(db, device, 0);
	return missing > room && rql_placements_evict(device, missing - room, since) > 0;
}

bool rql_device_make_room(void *session, struct rql_device *device, uint64_t bytes, uint64_t missing, uint64_t since)
{
	struct rql_session *s = session;
	uint64_t most = rql_placements_bytes(device, true) + atomic_load(&device->request_bytes);
	return bytes <= room_on(s->db, device, most) &&
	       (evict_columns(s->db, device, missing, since) || rql_plan_cache_drop_scan(s->cache, device));
}

bool rql_device_fits(void *session, struct rql_device *device, uint64_t bytes, struct rql_arena *arena,
                     const char **why)
{
	struct rql_session *s = session;
	uint64_t room = room_on(s->db, device, 0);
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

/* More than it will be: the arrays are the cube's own, an acceleration structure has a triangle a cell at most. */
static uint64_t estimate_bytes(const struct rql_cube *cube, const struct rql_device *device, enum rql_unit unit)
{
	double triangle = device->profile.primitive_bytes > 0 ? device->profile.primitive_bytes : 64;
	uint64_t cells = unit == RQL_UNIT_RT ? (uint64_t)((double)cube->relation.cells * triangle) : 0;
	return cube->bytes + cells;
}

static void add_note(struct rql_session *session, struct rql_structure *s, const struct rql_device *device,
                     const char *message)
{
	struct rql_strbuf text = {0};
	rql_strbuf_printf(&text, "%s%snot placed on %s (%s) when it was built: %s", s->note ? s->note : "",
	                  s->note ? "; " : "", device->id, device->name, message);
	(void)rql_structure_set_text(&s->note, rql_strbuf_text(&text));
	rql_strbuf_clear(&text);
	rql_strbuf_printf(&text, "%s is not placed on %s (%s): %s", s->name, device->id, device->name, message);
	free(session->notice);
	session->notice = rql_strbuf_take(&text);
}

static void place_on(struct rql_session *session, struct rql_structure *s, struct rql_device *device,
                     enum rql_unit unit, struct rql_arena *arena)
{
	struct rql_error failed = {0};
	const char *why = NULL;
	uint64_t bytes = estimate_bytes(s->cube, device, unit);
	while (evict_columns(session->db, device, bytes, UINT64_MAX))
		;
	if (!rql_device_fits(session, device, bytes, arena, &why)) {
		add_note(session, s, device, why);
		return;
	}
	atomic_store(&session->progress.phase, "placing on the device");
	struct rql_side *side = &session->db->side;
	bool kept = unit == RQL_UNIT_RT && s->side_file && s->side_file_valid;
	bool read = kept && rql_side_read_rt(side, s->side_file, s->cube, device);
	if (rql_cube_place_for(s->cube, device, unit, &failed) != RQL_OK)
		add_note(session, s, device, rql_error_message(&failed));
	else if (kept && !read) /* a damaged file, or another driver's, gives way */
		rql_side_write_rt(side, s->side_file, s->cube, device);
	atomic_store(&session->progress.phase, NULL);
	rql_error_clear(&failed);
}

static bool some_method(enum rql_unit unit, uint32_t disabled)
{
	for (uint32_t m = 0; rql_methods()[m]; m++)
		if (rql_methods()[m]->unit == unit && !rql_methods()[m]->layouts && !(disabled >> m & 1))
			return true;
	return false;
}

void rql_device_place(struct rql_session *session, struct rql_structure *s)
{
	const struct rql_settings *settings = &session->settings;
	struct rql_devices *devices = session->db->devices;
	bool wanted = settings->unit_forced || s->unit_wanted;
	enum rql_unit unit = settings->unit_forced ? settings->unit : s->unit_wanted ? s->unit : RQL_UNIT_COMPUTE;
	/* The paper's layouts are for comparison, several to a view: each is made by the first query that wants it. */
	if (unit == RQL_UNIT_CPU || s->layout || settings->layout[0] || !some_method(unit, settings->disabled_methods))
		return;
	struct rql_arena *arena = rql_arena_new();
	if (!arena)
		return; /* the first query places it */
	if (!settings->only)
		rql_devices_find(devices);
	for (uint32_t i = 0; i < atomic_load(&devices->count); i++) {
		struct rql_device *device = &devices->device[i];
		if (device->kind != RQL_DEVICE_CPU && !rql_device_refused(settings, device, unit))
			place_on(session, s, device, unit, arena);
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

void rql_device_save(struct rql_database *db, const struct rql_structure *s)
{
	for (uint32_t i = 1; s->side_file && i < atomic_load(&db->devices->count); i++)
		rql_side_write_rt(&db->side, s->side_file, s->cube, &db->devices->device[i]);
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
		rql_strbuf_printf(out, "REFRESH %s lets it try again",
		                  s->kind == RQL_STRUCTURE_COLUMNS ? "INDEX" : "MATERIALIZED VIEW");
}

/* Columns have no memory of their own for it: the structure does, as long as its contents are these. */
static void mark_columns(struct rql_catalog *catalog, const struct rql_structure *s, const struct rql_device *device,
                         const char *message)
{
	bool done = false;
	while (!done) { /* again when another session has replaced it meanwhile: rows appended, a mark of its own */
		struct rql_structure *now = rql_catalog_find_id(catalog, s->id), *marked = NULL;
		if (now && now->store == s->store && !rql_structure_failed_on(now, device))
			marked = rql_structure_clone(now);
		done = !marked || !rql_structure_mark_failed(marked, device, message);
		if (done)
			rql_structure_release(marked);
		else
			done = rql_catalog_replace(catalog, now, marked);
		rql_structure_release(now);
	}
}

void rql_device_failed(struct rql_session *session, const struct rql_structure *s, const struct rql_device *device,
                       const char *message)
{
	struct rql_catalog *catalog = session->db->catalog;
	if (s->store) {
		mark_columns(catalog, s, device, message);
		for (uint32_t i = 0; s->snapshot && i < s->snapshot->segment_count; i++)
			rql_placements_forget(s->snapshot->segments[i].identity, device);
	}
	if (!s->cube)
		return;
	rql_placements_fail(s->cube, device, message);
	/* Other sessions look at the structure epoch before they use a cached plan: a new object moves it. */
	struct rql_structure *now = rql_catalog_find_id(catalog, s->id);
	struct rql_structure *marked = now && now->cube == s->cube ? rql_structure_clone(now) : NULL;
	if (marked) {
		struct rql_strbuf note = {0};
		rql_device_put_failure(&note, s, device, message);
		(void)rql_structure_set_text(&marked->note, rql_strbuf_text(&note));
		rql_strbuf_free(&note);
		(void)rql_catalog_replace(catalog, now, marked);
	}
	rql_structure_release(now);
}

void rql_device_retry(const struct rql_structure *s, const struct rql_device *device)
{
	if (s->cube)
		rql_placements_forgive(s->cube, device);
}

/* ---- WITH (unit = ...) ---- */
rql_status rql_device_check_unit(struct rql_session *session, const char *sql, bool wanted, enum rql_unit unit,
                                 uint32_t position, struct rql_error *err)
{
	if (!wanted || unit == RQL_UNIT_CPU)
		return RQL_OK;
	struct rql_devices *devices = session->db->devices;
	struct rql_strbuf why = {0};
	rql_devices_find(devices);
	if (rql_unit_available(devices, &session->settings, unit, &why)) {
		rql_strbuf_free(&why);
		return RQL_OK;
	}
	rql_status status = rql_error_at(
		err, sql, position,
		"Not implemented Error: unit = %s needs a device that has it. %s. Use unit = auto, which takes what "
		"there is, or unit = cpu",
		rql_unit_name(unit), rql_strbuf_text(&why));
	rql_strbuf_free(&why);
	return status;
}

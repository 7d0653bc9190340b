/* Opening and closing a database. */
#include "exec/exec_internal.h"
#include "plan/map_cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "util/large.h"

static bool is_memory(const char *path)
{
	return !path || !*path || strcmp(path, ":memory:") == 0;
}

/* What is done with the file before DuckDB opens it. */
static rql_status open_file(struct rql_database *db, const char *path, struct rql_error *err)
{
	char *local = NULL;
	if (!rql_local_path(path, &local))
		return rql_error_memory(err, strlen(path), "a path");
	if (!local)
		return RQL_OK;
	rql_status status = rql_open_file_check(local, db->read_only, err);
	if (status == RQL_OK)
		status = rql_open_file_enter(local, db->read_only, &db->open_file, err);
	if (status == RQL_OK)
		status = rql_side_open(local, db->open_file ? db->open_file->fd : -1, db->read_only, &db->structures.side, err);
	free(local);
	return status;
}

/* What is done with it afterwards. */
static rql_status hold_file(struct rql_database *db, struct rql_error *err)
{
	if (db->structures.side.database && !db->open_file) /* DuckDB has made it */
		RQL_TRY(rql_open_file_enter(db->structures.side.database, db->read_only, &db->open_file, err));
	if (!db->open_file)
		return RQL_OK;
	RQL_TRY(rql_open_file_hold(db->open_file, db->structures.side.database, err));
	rql_side_recheck(&db->structures.side, db->open_file->fd);
	return RQL_OK;
}

static rql_status open_host(struct rql_database *db, const char *path, const struct rql_database_config *config,
                            struct rql_error *err)
{
	unsigned count = 0;
	char threads[16];
	struct rql_host_option *options = calloc(config->host_option_count + 2, sizeof *options);
	if (!options)
		return rql_error_memory(err, sizeof *options, "options");
	for (unsigned i = 0; i < config->host_option_count; i++) {
		if (rql_setting_is_own(config->host_options[i].name))
			continue; /* rql_settings_open */
		options[count++] = config->host_options[i];
		if (strcasecmp(config->host_options[i].name, "access_mode") == 0)
			db->read_only = strcasecmp(config->host_options[i].value, "read_only") == 0;
	}
	if (config->read_only) {
		db->read_only = true;
		options[count++] = (struct rql_host_option){"access_mode", "READ_ONLY"};
	}
	if (config->threads) {
		snprintf(threads, sizeof threads, "%u", config->threads);
		options[count++] = (struct rql_host_option){"threads", threads};
	}
	rql_status status = path ? open_file(db, path, err) : RQL_OK;
	if (status == RQL_OK)
		status = rql_host_open(path, options, count, &db->host, err);
	free(options);
	return status;
}

/* The options are RayQL's own: DuckDB's were given when it was opened. */
static rql_status adopt_host(struct rql_database *db, const struct rql_database_config *config, struct rql_error *err)
{
	for (unsigned i = 0; i < config->host_option_count; i++)
		if (!rql_setting_is_own(config->host_options[i].name))
			return rql_error_set(err, RQL_ERROR_MISUSE, "the option \"%s\" is DuckDB's, and the database is open already",
			                     config->host_options[i].name);
	return rql_host_adopt(config->database, &db->host, err);
}

/* As it was opened by somebody else, it keeps no side files; its file is guarded like any. */
static rql_status hold_adopted(struct rql_database *db, struct rql_error *err)
{
	char *mode = NULL, *path = NULL;
	rql_status status =
		rql_host_query_text(db->structures.loader, "SELECT lower(system.main.current_setting('access_mode'))", &mode, err);
	db->read_only = mode && strcmp(mode, "read_only") == 0;
	if (status == RQL_OK)
		status = rql_host_query_text(db->structures.loader,
		                             "SELECT path FROM system.main.duckdb_databases() WHERE database_name = "
		                             "system.main.current_database()",
		                             &path, err);
	if (status == RQL_OK && path)
		status = rql_open_file_enter(path, db->read_only, &db->open_file, err);
	if (status == RQL_OK && db->open_file)
		status = rql_open_file_hold(db->open_file, path, err);
	free(mode);
	free(path);
	return status;
}

static rql_status open_parts(struct rql_database *db, const struct rql_database_config *config, struct rql_error *err)
{
	RQL_TRY(hold_file(db, err));
	RQL_TRY(rql_catalog_new(&db->catalog, err));
	if (!(db->maps = rql_map_cache_new()))
		return rql_error_memory(err, 0, "a database's maps");
	RQL_TRY(rql_planner_new(&db->planner, err));
	RQL_TRY(rql_devices_open(config->threads, &db->devices, err));
	rql_calibrate_first_start(&db->devices->device[0], NULL);
	db->threads = db->devices->device[0].pool ? rql_pool_threads(db->devices->device[0].pool) : 1;
	RQL_TRY(rql_host_connect_own(db->host, &db->structures.loader, err));
	rql_host_guard_plans(db->structures.loader, true);
	if (config->database)
		RQL_TRY(hold_adopted(db, err));
	RQL_TRY(rql_host_query_text(db->structures.loader, "SELECT system.main.current_database()", &db->name, err));
	db->structures.host = db->host;
	db->structures.catalog = db->catalog;
	db->structures.devices = db->devices;
	db->structures.planner = db->planner;
	db->structures.budget = &db->budget;
	db->structures.name = db->name;
	db->structures.read_only = db->read_only;
	db->structures.settings_epoch = &db->settings_epoch;
	RQL_TRY(rql_functions_register(db, db->structures.loader, err));
	RQL_TRY(rql_definitions_read(&db->structures, err));
	return rql_settings_open(db, config, err);
}

rql_status rql_database_open(const char *path, const struct rql_database_config *config, struct rql_database **out,
                             struct rql_error *err)
{
	struct rql_database_config with_threads = *config;
	RQL_TRY(rql_settings_threads(config, &with_threads.threads, err));
	config = &with_threads;
	struct rql_database *db = calloc(1, sizeof *db);
	if (!db)
		return rql_error_memory(err, sizeof *db, "a database");
	pthread_mutex_init(&db->settings.lock, NULL);
	atomic_store(&db->settings.stamp, 1);
	pthread_mutex_init(&db->sessions_lock, NULL);
	pthread_mutex_init(&db->structures.loader_lock, NULL);
	pthread_mutex_init(&db->structures.build_lock, NULL);
	pthread_mutex_init(&db->devices_lock, NULL);
	rql_opening_init(&db->opening);
	db->in_memory = is_memory(path);
	atomic_store(&db->budget.limit, config->memory_limit ? config->memory_limit : rql_machine_memory() / 2);
	rql_status status =
		config->database ? adopt_host(db, config, err) : open_host(db, db->in_memory ? NULL : path, config, err);
	if (status == RQL_OK)
		status = open_parts(db, config, err);
	if (status != RQL_OK) {
		db->structures.side.writable = false; /* nothing on disk changes because an opening failed */
		rql_database_close(db);
		return status;
	}
	*out = db;
	return RQL_OK;
}

struct rql_host_con *rql_database_host(struct rql_database *db)
{
	return db->structures.loader;
}

static void close_side(struct rql_database *db, struct rql_structure **list, uint32_t count)
{
	rql_structures_save_appended(&db->structures, list, count);
	struct rql_error failed = {0};
	rql_status status = rql_host_query(db->structures.loader, "CHECKPOINT", NULL, &failed);
	rql_side_seal(&db->structures.side, status == RQL_OK ? NULL : rql_error_message(&failed));
	rql_error_clear(&failed);
	rql_host_disconnect(db->structures.loader);
	db->structures.loader = NULL;
	struct rql_side_entry *kept = calloc(count + 1, sizeof *kept);
	uint32_t n = kept && list ? rql_structures_kept(&db->structures, list, count, kept) : 0;
	/* DuckDB checkpoints and closes first: the manifest describes the file that it leaves. */
	rql_host_close(db->host);
	db->host = NULL;
	if (kept)
		rql_side_close(&db->structures.side, kept, n);
	free(kept);
}

void rql_database_close(struct rql_database *db)
{
	if (!db)
		return;
	rql_opening_end(db);
	if (db->host && db->structures.loader && db->catalog && db->structures.side.folder && db->structures.side.writable) {
		struct rql_arena *arena = rql_arena_new();
		struct rql_structure **list = NULL;
		uint32_t count = 0;
		if (arena && rql_catalog_structures(db->catalog, arena, &list, &count, NULL) != RQL_OK)
			count = 0;
		close_side(db, list, count);
		for (uint32_t i = 0; i < count; i++)
			rql_structure_release(list[i]);
		rql_arena_free(arena);
	}
	rql_host_disconnect(db->structures.loader);
	rql_host_close(db->host);
	rql_map_cache_free(db->maps);
	rql_catalog_free(db->catalog);
	rql_planner_free(db->planner);
	rql_devices_close(db->devices);
	rql_side_free(&db->structures.side);
	rql_open_file_leave(db->open_file);
	pthread_mutex_destroy(&db->settings.lock);
	pthread_mutex_destroy(&db->sessions_lock);
	pthread_mutex_destroy(&db->structures.loader_lock);
	pthread_mutex_destroy(&db->structures.build_lock);
	pthread_mutex_destroy(&db->devices_lock);
	rql_load_failures_free(db->structures.load_failures);
	rql_large_give_up(0);
	free(db->functions);
	free(db->name);
	free(db);
}

/* ---- connections of the host's own ---- */

/* One long write of everything: structures are used only while none of their tables is being written. */
static const struct rql_write_set everything = {.everything = true};

rql_status rql_database_lend(struct rql_database *db, void **out, struct rql_error *err)
{
	RQL_TRY(rql_host_lend_connection(db->host, out, err));
	rql_catalog_write_begin(db->catalog, &everything);
	return RQL_OK;
}

void rql_database_unlend(struct rql_database *db, void *con)
{
	rql_host_unlend_connection(db->host, con);
	rql_catalog_write_end(db->catalog, &everything);
	rql_catalog_schema_changed(db->catalog);
	atomic_fetch_add(&db->settings_epoch, 1);
	rql_structures_sync(&db->structures);
}

static rql_status calibrate_one(struct rql_database *db, struct rql_device *device, struct rql_error *err)
{
	pthread_mutex_lock(&db->devices_lock);
	rql_status status = rql_calibrate_device(device, true, err);
	atomic_fetch_or(&db->devices_ready, 1u << device->index);
	pthread_mutex_unlock(&db->devices_lock);
	atomic_fetch_add(&db->settings_epoch, 1); /* plans were priced with the old constants */
	RQL_TRY(status);
	return rql_profile_save(device, err);
}

static rql_status no_such_device(const struct rql_devices *devices, const char *name, struct rql_error *err)
{
	struct rql_strbuf known = {0};
	for (uint32_t i = 0; i < atomic_load(&devices->count); i++)
		rql_strbuf_printf(&known, "%s%s (%s)", i ? ", " : "", devices->device[i].id, devices->device[i].name);
	if (devices->no_gpu)
		rql_strbuf_printf(&known, "; there is no GPU: %s", devices->no_gpu);
	rql_error_set(err, RQL_ERROR_STATEMENT, "there is no device \"%s\"; the devices are %s", name,
	              rql_strbuf_text(&known));
	rql_strbuf_free(&known);
	return RQL_ERROR_STATEMENT;
}

rql_status rql_database_calibrate(struct rql_database *db, const char *device, struct rql_error *err)
{
	struct rql_devices *devices = db->devices;
	if (device) {
		struct rql_device *named = rql_devices_get(devices, device);
		return named ? calibrate_one(db, named, err) : no_such_device(devices, device, err);
	}
	rql_devices_find(devices);
	for (uint32_t i = 0; i < atomic_load(&devices->count); i++)
		if (devices->device[i].kind != RQL_DEVICE_SOFTWARE)
			RQL_TRY(calibrate_one(db, &devices->device[i], err));
	return RQL_OK;
}

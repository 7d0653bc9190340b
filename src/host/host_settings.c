/* DuckDB's settings, all of them in one table: what each means for an answer that RayQL gives, and what RayQL's own
 * connections hold it at. */
#include "host/host_internal.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "util/hash.h"

enum verdict {
	HARMLESS, /* no answer depends on it */
	READ,     /* the plan shows what it does, and RayQL's own text binds to what the plan shows, whatever it is */
	REFUSES,  /* a statement means something by it that its plan does not show: the host answers while it is changed */
	FORBIDS,  /* the same, but it is the whole database's: RayQL's own connections, which build of rows, pass over it */
	WATCHES,  /* while it is set, DuckDB reports each statement of a connection: the host answers, so that all of them
	           * are there, and RayQL asks for plans without a statement, so that no other one is */
};

/* Names are compared in any case; one that ends in * stands for all with that beginning. */
struct setting {
	const char *name;
	enum verdict verdict;
	/* DuckDB's default: what "changed" is measured by, and what RayQL's own connections hold. NULL: they follow the
	 * database. "*": the default is the machine's, and RESET gives it. "A|B": written either way. */
	const char *standard;
	unsigned of; /* the DuckDB that has it (1, 2), or that has it with this default; 0: all */
};

/* What changes the meaning of a statement, or the way it is read. */
static const struct setting meaning[] = {
	/* json_serialize_plan parses with the default options: `/` is another operator there. */
	{"integer_division", REFUSES, "false", 0},
	{"allow_parser_override_extension", REFUSES, "DEFAULT", 0},
	/* Another division under the same name: NULL for x / 0.0, where the standard has infinity. */
	{"ieee_floating_point_ops", REFUSES, "true", 0},
	/* // and % by 0: plans look alike. */
	{"error_on_division_by_zero", REFUSES, "true", 2},
	/* json_serialize_plan parses with the default options. */
	{"active_grammar_extensions", REFUSES, "[]", 2},
	{"current_dialect", REFUSES, "*", 2}, /* NULL unless it is set */
	{"dialect_compatibility_mode", REFUSES, "NONE", 2},
	/* What type a NULL of a result has is decided behind the plan. */
	{"legacy_disable_null_type", REFUSES, "false", 2},
	/* The last digit of an average depends on whether it is computed of a sum. */
	{"disabled_optimizers", FORBIDS, "", 2},
	{"enable_optimizer", FORBIDS, "true", 2},
	/* The join that finds a second row looks at it when it runs. */
	{"scalar_subquery_error_on_multiple_rows", REFUSES, "true", 0},

	/* The functions that it puts around values are in the plan, but for EXCEPT and INTERSECT: see unseen_nodes. */
	{"default_collation", READ, "", 0},
	/* Orders have both spelt out in the plan. list_sort and its kin look at them too, but what is computed of lists is
	 * the host's. */
	{"default_null_order", READ, "NULLS_LAST", 0},
	{"null_order", READ, NULL, 0}, /* its other name */
	{"default_order", READ, "ASCENDING|ASC", 0},
	/* Cast and constants are in the plan; values that differ by it are evaluated on the user's connection only. */
	{"TimeZone", READ, "*", 0},
	{"Calendar", READ, "*", 0},
	/* What the binder does with the text is in the plan, and RayQL writes every cast, name and type out. */
	{"disable_timestamptz_casts", READ, "false", 0},
	{"old_implicit_casting", READ, "false", 1},
	{"lambda_syntax", READ, "DEFAULT", 1},
	{"deprecated_using_key_syntax", READ, "DEFAULT", 1},
	{"table_function_identifier_conversion", READ, "DEFAULT", 2},
	{"show_behavior", READ, "AUTO", 2},
	{"regex_match_operator_semantics", READ, "partial", 2},
	{"order_by_non_integer_literal", READ, "false", 0},
	{"ignore_unknown_crs", READ, "false", 0},
	/* names of columns come from the statement, not from the plan */
	{"preserve_identifier_case", READ, "true", 1},
	{"preserve_identifier_case", READ, "preserve_case", 2},
	{"max_expression_depth", READ, "1000", 0},
	{"pivot_limit", READ, NULL, 0},
	/* Tables have their database and schema in the plan. A definition brings the search path of its CREATE. */
	{"search_path", READ, NULL, 0},
	{"schema", READ, NULL, 0},

	{"enable_profiling", WATCHES, NULL, 0},
	{"log_query_path", WATCHES, "", 0},
	/* Only the words of an error depend on it; RayQL reads those of its own connections. */
	{"errors_as_json", HARMLESS, "false", 0},
};

/* How fast, how much, where to, who may: whatever these are, a query has the same rows. */
static const char *const harmless[] = {
	/* memory, threads, files of its own */
	"access_mode", "allocator_*", "async_threads", "block_allocator_memory", "cache_local_files", "duckdb_api",
	"enable_caching_operators", "enable_external_file_cache", "external_file_cache_*", "enable_fsst_vectors",
	"enable_http_metadata_cache", "enable_object_cache", "external_threads", "home_directory",
	"immediate_transaction_mode", "lock_configuration", "max_execution_time", "max_memory",
	"max_streaming_buffer_size", "max_temp_directory_size", "memory_limit", "operator_memory_limit", "password",
	"pin_threads", "read_ahead_depth", "scheduler_process_partial", "standard_vector_size", "streaming_buffer_size",
	"temp_directory", "temp_file_encryption", "threads", "user", "username", "validate_external_file_cache",
	"worker_threads",
	/* storage and checkpoints */
	"auto_checkpoint_skip_wal_threshold", "checkpoint_on_detach", "checkpoint_threshold", "default_block_size",
	"disable_database_invalidation", "disabled_compression_methods", "enable_optimistic_write",
	"experimental_metadata_reuse", "force_bitpacking_mode", "force_column_metadata_reuse", "force_compression",
	"force_mbedtls_unsafe", "force_variant_shredding", "fsync_mode", "geometry_minimum_shredding_size",
	"initial_column_segment_size", "max_vacuum_tasks", "storage_block_prefetch", "storage_compatibility_version",
	"vacuum_rebuild_indexes", "variant_minimum_shredding_size", "wal_autocheckpoint", "wal_autocheckpoint_entries",
	"write_buffer_row_group_*", "zstd_min_string_length",
	/* how a plan is made and run; without preserve_insertion_order any order will do, that of the table too */
	"approximate_join_order_threshold", "asof_loop_join_threshold", "debug_*", "delim_join_as_cte",
	"disabled_optimizers", "dynamic_or_filter_threshold", "enable_optimizer", "index_scan_*",
	"late_materialization_max_rows", "merge_join_threshold", "nested_loop_join_threshold",
	"ordered_aggregate_threshold", "perfect_ht_threshold", "pivot_filter_threshold", "prefer_range_joins",
	"preserve_insertion_order",
	/* reading and writing other files, which the host does */
	"__delta_only_variant_encoding_enabled", "arrow_*", "binary_as_string", "disable_parquet_prefetching",
	"enable_geoparquet_conversion", "file_search_path", "json_geometry_format", "parquet_metadata_cache",
	"parquet_prefetch_column_gap", "partitioned_write_*", "prefetch_all_parquet_files", "produce_arrow_string_view",
	/* messages, logs, progress */
	"catalog_error_max_schemas", "custom_profiling_settings", "custom_user_agent", "disabled_log_types",
	"enable_http_logging", "enable_logging", "enable_progress_bar", "enable_progress_bar_print", "enabled_log_types",
	"explain_output", "http_logging_output", "logging_*", "profile_output", "profiling_coverage", "profiling_mode",
	"profiling_output", "profiling_renderer_settings", "progress_bar_time", "redact_http_logs", "tracked_metrics",
	"warnings_as_errors",
	/* what is allowed, and where things come from */
	"allow_community_extensions", "allow_extension_repositories", "allow_extensions_metadata_mismatch",
	"allow_persistent_secrets", "allow_unredacted_secrets", "allow_unsigned_extensions", "allowed_configs",
	"allowed_directories", "allowed_paths", "autoinstall_*", "autoload_known_extensions",
	"current_transaction_invalidation_policy", "custom_extension_repository", "default_secret_storage",
	"default_transaction_invalidation_policy", "disabled_filesystems", "enable_external_access",
	"enable_macro_dependencies", "enable_view_dependencies", "extension_directories", "extension_directory",
	"extension_repository_directory", "secret_directory",
	/* extensions for files and other databases, whose tables RayQL keeps no copy of */
	"allow_asterisks_in_http_paths", "auto_fallback_to_full_download", "azure_*", "ca_cert_file", "ducklake_*",
	"enable_curl_server_cert_verification", "enable_global_s3_configuration", "enable_server_cert_verification",
	"force_download*", "hf_*", "http_*", "httpfs_*", "iceberg_*", "ignore_row_group_size_for_partitioned_tables",
	"ignore_target_file_size_for_partitioned_tables", "merge_http_secret_into_s3_request", "mysql_*", "pg_*",
	"quack_*", "rtree_index_scan_*", "s3_*", "sqlite_*", "ui_*", "unsafe_disable_etag_checks",
	"unsafe_enable_version_guessing", "unsafe_iceberg_ignore_sort_order", "whoami_*",
	/* RayQL's own */
	"rayql_*",
};

/* A setting that the table does not have: of an extension, or of a later DuckDB. */
struct host_unknown {
	struct host_unknown *next;
	char *name;
	char *standard; /* its value when it was first seen; NULL: it was given when the database was opened */
};

/* ---- the table ---- */
static bool is_named(const char *entry, const char *name)
{
	size_t length = strlen(entry);
	if (length && entry[length - 1] == '*')
		return strncasecmp(entry, name, length - 1) == 0;
	return strcasecmp(entry, name) == 0;
}

/* Has this DuckDB it? */
static bool applies(const struct setting *s)
{
	return !s->of || s->of == rql_host_major();
}

bool rql_host_setting_known(const char *name)
{
	for (size_t i = 0; i < sizeof meaning / sizeof *meaning; i++)
		if (applies(&meaning[i]) && is_named(meaning[i].name, name))
			return true;
	for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
		if (is_named(harmless[i], name))
			return true;
	return false;
}

/* ---- settings that the table does not have ---- */
static bool is_listed(const struct rql_host_db *db, const char *name)
{
	for (const struct host_unknown *u = db->unknown; u; u = u->next)
		if (strcasecmp(u->name, name) == 0)
			return true;
	return false;
}

/* Takes standard over. The registry is held. */
static rql_status add_unknown(struct rql_host_db *db, const char *name, char *standard, struct rql_error *err)
{
	struct host_unknown *u = calloc(1, sizeof *u);
	char *copy = strdup(name);
	if (!u || !copy) {
		free(u);
		free(copy);
		free(standard);
		return rql_error_memory(err, strlen(name), "the name of a setting");
	}
	*u = (struct host_unknown){db->unknown, copy, standard};
	db->unknown = u;
	return RQL_OK;
}

void host_settings_free(struct rql_host_db *db)
{
	while (db->unknown) {
		struct host_unknown *next = db->unknown->next;
		free(db->unknown->name);
		free(db->unknown->standard);
		free(db->unknown);
		db->unknown = next;
	}
}

/* Lists the unknown ones among the names of one chunk, with their values of now. */
static rql_status list_names(struct rql_host_db *db, duckdb_client_context context, duckdb_data_chunk chunk,
                             struct rql_error *err)
{
	const struct rql_string *names = duckdb_vector_get_data(duckdb_data_chunk_get_vector(chunk, 0));
	rql_status status = RQL_OK;
	for (idx_t i = 0; i < duckdb_data_chunk_get_size(chunk) && status == RQL_OK; i++) {
		char *name = strndup(rql_string_data(&names[i]), names[i].length);
		if (!name)
			return rql_error_memory(err, names[i].length, "the name of a setting");
		if (!rql_host_setting_known(name)) {
			char *value = host_option(context, name);
			pthread_mutex_lock(&db->registry);
			if (is_listed(db, name))
				free(value);
			else if (!value && !(value = strdup("")))
				status = rql_error_memory(err, 1, "the value of a setting");
			else
				status = add_unknown(db, name, value, err);
			pthread_mutex_unlock(&db->registry);
		}
		free(name);
	}
	return status;
}

/* Lists the settings that the table lacks, with their values of now. */
static rql_status list_unknown(struct rql_host_db *db, struct rql_error *err)
{
	duckdb_result result;
	duckdb_client_context context = NULL;
	memset(&result, 0, sizeof result);
	pthread_mutex_lock(&db->service_lock);
	duckdb_state state = duckdb_query(db->service, "SELECT name FROM system.main.duckdb_settings()", &result);
	rql_status status = state == DuckDBSuccess ? RQL_OK : host_error_result(err, &result);
	duckdb_connection_get_client_context(db->service, &context);
	while (status == RQL_OK) {
		duckdb_data_chunk chunk = duckdb_fetch_chunk(result);
		if (!chunk)
			break;
		status = list_names(db, context, chunk, err);
		duckdb_destroy_data_chunk(&chunk);
	}
	duckdb_destroy_client_context(&context);
	duckdb_destroy_result(&result);
	pthread_mutex_unlock(&db->service_lock);
	atomic_store(&db->settings_unlisted, status != RQL_OK);
	return status;
}

rql_status host_settings_open(struct rql_host_db *db, const struct rql_host_option *options, unsigned option_count,
                              struct rql_error *err)
{
	for (unsigned i = 0; i < option_count; i++)
		if (!rql_host_setting_known(options[i].name) && !is_listed(db, options[i].name))
			RQL_TRY(add_unknown(db, options[i].name, NULL, err));
	atomic_store(&db->settings_stamp, 1);
	return list_unknown(db, err);
}

/* ---- what a connection's settings allow ---- */
static bool is_standard(const struct setting *s, const char *value)
{
	const char *word = s->standard;
	for (;;) {
		size_t length = strcspn(word, "|");
		if (strlen(value) == length && strncasecmp(value, word, length) == 0)
			return true;
		if (!word[length])
			return false;
		word += length + 1;
	}
}

static bool is_changed(const struct setting *s, const char *value)
{
	if (s->verdict == WATCHES)
		return value && *value;
	return value && !is_standard(s, value);
}

static bool has_collation(const char *value)
{
	static const char *const none[] = {"", "binary", "c", "posix"};
	for (size_t i = 0; value && i < sizeof none / sizeof *none; i++)
		if (strcasecmp(value, none[i]) == 0)
			return false;
	return value != NULL;
}

static const char *changed_unknown(struct rql_host_con *con)
{
	const char *found = NULL;
	if (atomic_load(&con->db->settings_unlisted) && list_unknown(con->db, NULL) != RQL_OK)
		return "(of an extension)";
	pthread_mutex_lock(&con->db->registry);
	for (const struct host_unknown *u = con->db->unknown; u && !found; u = u->next) {
		char *value = u->standard ? host_option(con->context, u->name) : NULL;
		if (!u->standard || (value && strcmp(value, u->standard) != 0))
			found = u->name; /* lives as long as the database */
		free(value);
	}
	pthread_mutex_unlock(&con->db->registry);
	return found;
}

/* Does DuckDB's own log take down statements? It is the whole instance's: level, and the types that are in it or
 * not. */
static bool is_logged(struct rql_host_con *con)
{
	static const char *const names[] = {"enable_logging", "logging_level", "logging_mode", "enabled_log_types",
	                                    "disabled_log_types"};
	char *values[5];
	for (size_t i = 0; i < 5; i++)
		values[i] = host_option(con->context, names[i]);
	const char *level = values[1] ? values[1] : "INFO", *mode = values[2] ? values[2] : "LEVEL_ONLY";
	bool enabled = values[0] && (strcmp(values[0], "1") == 0 || strcasecmp(values[0], "true") == 0);
	bool above = strcasecmp(level, "WARNING") == 0 || strcasecmp(level, "ERROR") == 0 ||
	             strcasecmp(level, "FATAL") == 0;
	bool logged = enabled && !above; /* statements are of the type QueryLog and the level INFO */
	if (strcasecmp(mode, "ENABLE_SELECTED") == 0)
		logged = logged && values[3] && strcasestr(values[3], "QueryLog");
	else if (strcasecmp(mode, "DISABLE_SELECTED") == 0)
		logged = logged && !(values[4] && strcasestr(values[4], "QueryLog"));
	for (size_t i = 0; i < 5; i++)
		free(values[i]);
	return logged;
}

static void read_settings(struct rql_host_con *con)
{
	struct host_settings *s = &con->settings;
	s->forbids = s->watches = NULL;
	s->meaning = RQL_HASH_START;
	for (size_t i = 0; i < sizeof meaning / sizeof *meaning; i++) {
		const struct setting *m = &meaning[i];
		char *value = applies(m) ? host_option(con->context, m->name) : NULL;
		if ((m->verdict == REFUSES || m->verdict == FORBIDS) && !s->forbids && is_changed(m, value))
			s->forbids = m->name;
		if (m->verdict == WATCHES && !s->watches && is_changed(m, value))
			s->watches = m->name;
		if (strcmp(m->name, "default_collation") == 0)
			s->collation = has_collation(value);
		if (m->verdict == READ || m->verdict == REFUSES || m->verdict == FORBIDS)
			s->meaning = rql_hash_text(s->meaning, value ? value : "");
		free(value);
	}
	if (!s->watches && is_logged(con))
		s->watches = "enable_logging";
	s->unknown = changed_unknown(con);
}

static const struct host_settings *settings_of(struct rql_host_con *con)
{
	uint64_t stamp = atomic_load(&con->db->settings_stamp);
	if (con->settings.stamp != stamp) {
		read_settings(con);
		con->settings.stamp = stamp;
	}
	return &con->settings;
}

void host_settings_moved(struct rql_host_db *db, bool loaded)
{
	/* Before anybody can set what an extension has brought. */
	if (loaded)
		(void)!list_unknown(db, NULL); /* else settings_unlisted says that it is still to be done */
	atomic_fetch_add(&db->settings_stamp, 1);
}

uint64_t rql_host_meaning(struct rql_host_con *con)
{
	return settings_of(con)->meaning;
}

rql_status host_settings_allow(struct rql_host_con *con, struct rql_error *err)
{
	const struct host_settings *s = settings_of(con);
	if (s->forbids)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED,
		                     "the setting %s is changed, which DuckDB's plans as JSON do not show", s->forbids);
	if (s->unknown)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED,
		                     "the setting %s is changed, and RayQL does not know what it means", s->unknown);
	return RQL_OK;
}

const char *rql_host_watched(struct rql_host_con *con)
{
	return settings_of(con)->watches;
}

bool rql_host_collates_late(struct rql_host_con *con)
{
	return settings_of(con)->collation;
}

/* ---- RayQL's own connections ---- */

/* The first that is not at its default. */
static const char *first_changed(struct rql_host_con *con)
{
	for (size_t i = 0; i < sizeof meaning / sizeof *meaning; i++) {
		const struct setting *m = &meaning[i];
		if (!applies(m) || !m->standard || *m->standard == '*' || m->verdict == WATCHES || m->verdict == FORBIDS || m->verdict == HARMLESS)
			continue;
		char *value = host_option(con->context, m->name);
		bool changed = value && !is_standard(m, value);
		free(value);
		if (changed)
			return m->name;
	}
	return NULL;
}

rql_status rql_host_hold_settings(struct rql_host_con *con, struct rql_error *err)
{
	struct rql_strbuf sql = {0};
	if (con->settings.held)
		return RQL_OK;
	for (size_t i = 0; i < sizeof meaning / sizeof *meaning; i++) {
		const struct setting *m = &meaning[i];
		if (!m->standard || !applies(m) || m->verdict == FORBIDS)
			continue;
		rql_strbuf_printf(&sql, *m->standard == '*' ? "RESET SESSION %s" : "SET SESSION %s = ", m->name);
		if (*m->standard != '*')
			rql_strbuf_put_literal(&sql, m->standard, strcspn(m->standard, "|"));
		rql_strbuf_put(&sql, "; ");
	}
	if (sql.failed) {
		rql_strbuf_free(&sql);
		return rql_error_memory(err, 0, "a statement");
	}
	con->settings.held = duckdb_query(con->con, rql_strbuf_text(&sql), NULL) == DuckDBSuccess;
	rql_strbuf_free(&sql);
	con->settings.stamp = 0; /* read again */
	const char *changed = con->settings.held ? NULL : first_changed(con);
	if (changed)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED,
		                     "the setting %s is changed, and DuckDB does not let RayQL have its default on a connection "
		                     "of its own (lock_configuration)",
		                     changed);
	return RQL_OK;
}

rql_status rql_host_connect_own(struct rql_host_db *db, struct rql_host_con **out, struct rql_error *err)
{
	RQL_TRY(rql_host_connect(db, out, err));
	if (first_changed(*out))
		(void)!rql_host_hold_settings(*out, NULL); /* names are still found, if under their collation */
	return RQL_OK;
}

/* ---- settings of RayQL's own ---- */
rql_status rql_host_add_option(struct rql_host_db *db, const char *name, const char *value, const char *description,
                               bool global, struct rql_error *err)
{
	host_config_option option = duckdb_create_config_option();
	duckdb_logical_type type = duckdb_create_logical_type(DUCKDB_TYPE_VARCHAR);
	duckdb_value standard = duckdb_create_varchar(value);
	duckdb_state state = DuckDBError;
	if (option && type && standard) {
		duckdb_config_option_set_name(option, name);
		duckdb_config_option_set_type(option, type);
		duckdb_config_option_set_default_value(option, standard);
		duckdb_config_option_set_default_scope(option, global ? HOST_SCOPE_GLOBAL : HOST_SCOPE_SESSION);
		duckdb_config_option_set_description(option, description);
		pthread_mutex_lock(&db->service_lock);
		state = duckdb_register_config_option(db->service, option);
		pthread_mutex_unlock(&db->service_lock);
	}
	duckdb_destroy_value(&standard);
	duckdb_destroy_logical_type(&type);
	duckdb_destroy_config_option(&option);
	return state == DuckDBSuccess ? RQL_OK
	                              : rql_error_set(err, RQL_ERROR_HOST, "DuckDB refused the setting %s", name);
}

bool rql_host_option_is(struct rql_host_con *con, const char *name, const char *value)
{
	char *have = host_option(con->context, name);
	bool same = have && strcmp(have, value) == 0;
	free(have);
	return same;
}

/* As DuckDB writes sizes: "878.9 KiB", "0 bytes". UINT64_MAX: it is no number of bytes, as "90% of available disk space". */
static uint64_t parse_bytes(const char *text)
{
	static const char units[] = "KMGTP";
	char *end = NULL;
	double bytes = text ? strtod(text, &end) : -1;
	if (!text || end == text || bytes < 0 || *end == '%')
		return UINT64_MAX;
	while (*end == ' ')
		end++;
	const char *unit = *end ? strchr(units, *end) : NULL;
	for (long i = unit ? unit - units + 1 : 0; i > 0; i--)
		bytes *= end[1] == 'i' ? 1024 : 1000;
	return bytes < 0x1p63 ? (uint64_t)bytes : UINT64_MAX;
}

char *rql_host_temporary_folder(struct rql_host_con *con, uint64_t *bytes)
{
	char *folder = host_option(con->context, "temp_directory"), *most = host_option(con->context, "max_temp_directory_size");
	*bytes = parse_bytes(most);
	const bool none = !folder || !*folder || !*bytes;
	free(most);
	if (none)
		free(folder);
	return none ? NULL : folder;
}

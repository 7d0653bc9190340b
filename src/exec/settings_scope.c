/* Whose value of a setting counts: a connection's own; else the database's, given by SET GLOBAL, by whoever opened it,
 * by the environment, or kept in the database by SET PERSISTENT; else the default. DuckDB knows the settings too
 * (duckdb_settings(), current_setting()): it is told each value, and never asked. */
#include "exec/exec_internal.h"
#include "exec/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The setting's number in rql_settings_row, and its row; false: there is no such setting. */
static bool find_row(const struct rql_session *s, const char *name, uint32_t *index, struct rql_setting_row *row)
{
	for (*index = 0; rql_settings_row(s, *index, row); (*index)++)
		if (strcasecmp(row->name, name) == 0)
			return true;
	return false;
}

/* ---- the database's values ---- */
static struct rql_global_setting *find_global(struct rql_global_settings *g, const char *name)
{
	for (uint32_t i = 0; i < g->count; i++)
		if (strcasecmp(g->values[i].name, name) == 0)
			return &g->values[i];
	return NULL;
}

/* value NULL: the default, which nobody has given. */
static void note_global(struct rql_database *db, const char *name, const char *value)
{
	struct rql_global_settings *g = &db->settings;
	pthread_mutex_lock(&g->lock);
	struct rql_global_setting *v = find_global(g, name);
	if (!v && value && g->count < RQL_SETTINGS_MAX)
		v = &g->values[g->count++];
	if (v && value)
		*v = (struct rql_global_setting){0};
	if (v && value) {
		snprintf(v->name, sizeof v->name, "%s", name);
		snprintf(v->value, sizeof v->value, "%s", value);
	} else if (v) {
		*v = g->values[--g->count];
	}
	atomic_fetch_add(&g->stamp, 1);
	pthread_mutex_unlock(&g->lock);
}

/* What counts where a connection has no value of its own. */
static void global_value(struct rql_database *db, const char *name, char *out, size_t size)
{
	struct rql_global_settings *g = &db->settings;
	char room[32];
	pthread_mutex_lock(&g->lock);
	const struct rql_global_setting *v = find_global(g, name);
	snprintf(out, size, "%s", v ? v->value : rql_setting_default(name, room, sizeof room));
	pthread_mutex_unlock(&g->lock);
}

/* ---- telling DuckDB ---- */
static rql_status tell(struct rql_session *s, const struct rql_setting_row *row, bool global, struct rql_error *err)
{
	struct rql_strbuf sql = {0};
	if (!global && rql_host_option_is(s->host, row->name, row->value))
		return RQL_OK;
	if (rql_host_watched(s->host)) { /* its log is of the user's statements: said when nobody logs any more */
		if (rql_host_option_is(s->host, "lock_configuration", "true"))
			return rql_error_set(err, RQL_ERROR_HOST,
			                     "Invalid Input Error: Cannot change configuration option \"%s\" - the configuration has "
			                     "been locked",
			                     row->name);
		s->settings_untold = true;
		return RQL_OK;
	}
	rql_strbuf_printf(&sql, "SET %s %s = ", global ? "GLOBAL" : "SESSION", row->name);
	rql_strbuf_put_literal(&sql, row->value, strlen(row->value));
	rql_status status = rql_host_query(s->host, rql_strbuf_sql(&sql), NULL, err);
	rql_strbuf_free(&sql);
	return status;
}

/* ---- kept in the database ---- */
static void put_table(struct rql_strbuf *sql, const struct rql_database *db)
{
	rql_strbuf_put_ident(sql, db->name);
	rql_strbuf_put(sql, ".rayql.settings");
}

static rql_status keep_within(struct rql_host_con *con, struct rql_database *db, const char *name, const char *value,
                              struct rql_error *err)
{
	struct rql_strbuf sql = {0};
	rql_strbuf_put(&sql, "BEGIN TRANSACTION; CREATE SCHEMA IF NOT EXISTS ");
	rql_strbuf_put_ident(&sql, db->name);
	rql_strbuf_put(&sql, ".rayql; CREATE TABLE IF NOT EXISTS ");
	put_table(&sql, db);
	rql_strbuf_put(&sql, " (name VARCHAR, value VARCHAR); DELETE FROM ");
	put_table(&sql, db);
	rql_strbuf_put(&sql, " WHERE name = ");
	rql_strbuf_put_literal(&sql, name, strlen(name));
	if (value) {
		rql_strbuf_put(&sql, "; INSERT INTO ");
		put_table(&sql, db);
		rql_strbuf_put(&sql, " (name, value) VALUES (");
		rql_strbuf_put_literal(&sql, name, strlen(name));
		rql_strbuf_put(&sql, ", ");
		rql_strbuf_put_literal(&sql, value, strlen(value));
		rql_strbuf_putc(&sql, ')');
	}
	rql_strbuf_put(&sql, "; COMMIT");
	rql_status status = rql_host_query(con, rql_strbuf_sql(&sql), NULL, err);
	rql_strbuf_free(&sql);
	return status;
}

/* value NULL: it is kept no longer. */
static rql_status keep(struct rql_session *s, const char *name, const char *value, struct rql_error *err)
{
	struct rql_database *db = s->db;
	struct rql_host_con *con = NULL;
	RQL_TRY(rql_host_connect_own(db->host, &con, err));
	rql_status status = keep_within(con, db, name, value, err);
	rql_host_disconnect(con); /* rolls back what did not get to its end */
	rql_catalog_schema_changed(db->catalog);
	return status;
}

static rql_status may_keep(struct rql_session *s, const char *name, struct rql_error *err)
{
	if (strcasecmp(name, "rayql_threads") == 0)
		return RQL_OK; /* has its own message */
	RQL_TRY(rql_refuse_inside(s, "SET PERSISTENT", err));
	return rql_refuse_read_only(s, "SET", err);
}

/* ---- SET and RESET ---- */

/* What a failure puts back. */
struct before {
	struct rql_settings settings;
	uint64_t memory, device_memory, own;
	int device_memory_kind;
};

static struct before state_of(const struct rql_session *s)
{
	struct rql_database *db = s->db;
	return (struct before){.settings = s->settings,
	                       .own = s->own_settings,
	                       .memory = atomic_load(&db->budget.limit),
	                       .device_memory = atomic_load(&db->structures.device_limit.value),
	                       .device_memory_kind = atomic_load(&db->structures.device_limit.kind)};
}

static void put_back(struct rql_session *s, const struct before *before)
{
	struct rql_database *db = s->db;
	s->settings = before->settings;
	s->own_settings = before->own;
	atomic_store(&db->budget.limit, before->memory);
	atomic_store(&db->structures.device_limit.value, before->device_memory);
	atomic_store(&db->structures.device_limit.kind, before->device_memory_kind);
	s->epoch++;
}

/* given NULL: RESET, or DEFAULT. */
static rql_status set_local(struct rql_session *s, const char *name, const char *given, struct rql_error *err)
{
	char value[RQL_SETTING_VALUE_MAX];
	struct rql_setting_row row;
	uint32_t index;
	global_value(s->db, name, value, sizeof value);
	RQL_TRY(rql_setting_apply(s, name, given ? given : value, err));
	if (!find_row(s, name, &index, &row))
		return RQL_OK;
	s->own_settings = given ? s->own_settings | UINT64_C(1) << index : s->own_settings & ~(UINT64_C(1) << index);
	return tell(s, &row, false, err);
}

/* DuckDB has been told what does not come to be. The caller puts s back. */
static void take_back(struct rql_session *s, const char *name)
{
	char value[RQL_SETTING_VALUE_MAX];
	struct rql_setting_row row;
	uint32_t index;
	global_value(s->db, name, value, sizeof value);
	if (rql_setting_apply(s, name, value, NULL) == RQL_OK && find_row(s, name, &index, &row))
		(void)!tell(s, &row, true, NULL);
}

static rql_status set_global(struct rql_session *s, const char *name, const char *given, bool persistent,
                             const struct before *before, struct rql_error *err)
{
	char room[32];
	struct rql_setting_row row;
	uint32_t index;
	if (given && strlen(given) >= RQL_SETTING_VALUE_MAX)
		return rql_error_set(err, RQL_ERROR_STATEMENT, "Invalid Input Error: the value of %s is too long", name);
	if (persistent)
		RQL_TRY(may_keep(s, name, err));
	RQL_TRY(rql_setting_apply(s, name, given ? given : rql_setting_default(name, room, sizeof room), err));
	if (!find_row(s, name, &index, &row))
		return RQL_OK;
	RQL_TRY(tell(s, &row, true, err));
	rql_status status = persistent ? keep(s, name, given, err) : RQL_OK;
	if (status != RQL_OK) {
		take_back(s, name);
		return status;
	}
	note_global(s->db, name, given);
	if (s->own_settings >> index & 1) { /* the connection's own goes on to count for it */
		s->settings = before->settings;
		return RQL_OK;
	}
	return tell(s, &row, false, err);
}

rql_status rql_settings_set(struct rql_session *s, const struct rql_statement *st, struct rql_error *err)
{
	const char *name = st->name.name, *given = st->kind == RQL_STATEMENT_SET ? st->value : NULL;
	bool shared = rql_setting_is_shared(name);
	struct before before = state_of(s);
	rql_status status;
	if (shared && st->scope == RQL_SCOPE_SESSION)
		return rql_error_set(err, RQL_ERROR_STATEMENT, "Catalog Error: option \"%s\" cannot be set locally", name);
	if (shared || st->scope == RQL_SCOPE_GLOBAL || st->scope == RQL_SCOPE_PERSISTENT)
		status = set_global(s, name, given, st->scope == RQL_SCOPE_PERSISTENT, &before, err);
	else
		status = set_local(s, name, given, err);
	if (status == RQL_OK)
		return RQL_OK;
	put_back(s, &before);
	s->txn.failed = s->txn.failed || (status == RQL_ERROR_HOST && s->txn.open);
	return status;
}

/* ---- connections ---- */
rql_status rql_settings_follow(struct rql_session *s, struct rql_error *err)
{
	uint64_t stamp = atomic_load(&s->db->settings.stamp);
	struct rql_setting_row row;
	if (s->settings_untold && !rql_host_watched(s->host)) {
		s->settings_untold = false;
		for (uint32_t i = 0; rql_settings_row(s, i, &row); i++)
			(void)!tell(s, &row, false, NULL);
	}
	if (s->settings_stamp == stamp)
		return RQL_OK;
	s->settings_stamp = stamp;
	for (uint32_t i = 0; rql_settings_row(s, i, &row); i++) {
		char value[RQL_SETTING_VALUE_MAX];
		if (rql_setting_is_shared(row.name) || s->own_settings >> i & 1)
			continue;
		global_value(s->db, row.name, value, sizeof value);
		if (strcasecmp(value, row.value) == 0)
			continue;
		RQL_TRY(rql_setting_apply(s, row.name, value, err));
		if (rql_settings_row(s, i, &row))
			(void)!tell(s, &row, false, NULL); /* where DuckDB's settings are locked it shows the old one */
	}
	return RQL_OK;
}

/* ---- opening ---- */
bool rql_setting_is_own(const char *name)
{
	return strncasecmp(name, "rayql_", 6) == 0;
}

/* RAYQL_FALLBACK for rayql_fallback. */
static const char *of_environment(const char *name)
{
	char variable[64];
	size_t i = 0;
	for (; name[i] && i + 1 < sizeof variable; i++)
		variable[i] = (char)(name[i] >= 'a' && name[i] <= 'z' ? name[i] - 'a' + 'A' : name[i]);
	variable[i] = '\0';
	return secure_getenv(variable);
}

static const char *of_options(const struct rql_database_config *config, const char *name)
{
	const char *value = NULL;
	for (unsigned i = 0; i < config->host_option_count; i++)
		if (strcasecmp(config->host_options[i].name, name) == 0)
			value = config->host_options[i].value;
	return value;
}

rql_status rql_settings_threads(const struct rql_database_config *config, uint32_t *out, struct rql_error *err)
{
	const char *name = "rayql_threads", *text = of_options(config, name);
	char *end = NULL;
	*out = config->threads;
	if (config->threads || !(text || (text = of_environment(name))))
		return RQL_OK;
	unsigned long threads = strtoul(text, &end, 10);
	if (end == text || *end || threads < 1 || threads > 4096)
		return rql_error_set(err, RQL_ERROR_STATEMENT,
		                     "Invalid Input Error: rayql_threads is \"%s\", expected a number from 1 to 4096", text);
	*out = (uint32_t)threads;
	return RQL_OK;
}

/* One that is given twice counts as given last. */
static rql_status give(struct rql_session *probe, const char *name, const char *value, const char *by,
                       struct rql_error *err)
{
	struct rql_error wrong = {0};
	rql_status status = strlen(value) < RQL_SETTING_VALUE_MAX
	                        ? rql_setting_apply(probe, name, value, &wrong)
	                        : rql_error_set(&wrong, RQL_ERROR_STATEMENT, "the value of %s is too long", name);
	if (status == RQL_OK)
		note_global(probe->db, name, value);
	else
		rql_error_set(err, status, "%s (%s)", rql_error_message(&wrong), by);
	rql_error_clear(&wrong);
	return status;
}

/* What does not fit this machine (a device) or this version is passed over: the database must open. */
static void give_kept(struct rql_session *probe)
{
	struct rql_database *db = probe->db;
	struct rql_strbuf sql = {0};
	struct rql_host_result *res = NULL;
	struct rql_batch *rows = NULL;
	int64_t ours = 0;
	rql_strbuf_put(&sql, "SELECT system.main.count(*) FROM system.main.duckdb_columns() WHERE schema_name = 'rayql' AND "
	                     "table_name = 'settings' AND data_type = 'VARCHAR' AND column_name IN ('name', 'value') AND "
	                     "table_oid IN (SELECT table_oid FROM system.main.duckdb_tables() WHERE table_name = 'settings' "
	                     "AND schema_name = 'rayql') AND database_name = ");
	rql_strbuf_put_literal(&sql, db->name, strlen(db->name));
	if (rql_host_query_int(db->structures.loader, rql_strbuf_sql(&sql), &ours, NULL) != RQL_OK || ours != 2)
		goto done;
	rql_strbuf_clear(&sql);
	rql_strbuf_put(&sql, "SELECT name, value FROM ");
	put_table(&sql, db);
	rql_strbuf_printf(&sql, " WHERE name IS NOT NULL AND value IS NOT NULL LIMIT %u", RQL_SETTINGS_MAX);
	if (rql_host_query(db->structures.loader, rql_strbuf_sql(&sql), &res, NULL) != RQL_OK ||
	    rql_host_fetch(res, &rows, NULL) != RQL_OK || !rows)
		goto done;
	for (uint64_t r = 0; r < rows->rows; r++) {
		struct rql_value n = rql_column_get(&rows->columns[0], r), v = rql_column_get(&rows->columns[1], r);
		char name[64], value[RQL_SETTING_VALUE_MAX];
		struct rql_error ignored = {0};
		if (n.string.length >= sizeof name || v.string.length >= sizeof value)
			continue;
		snprintf(name, sizeof name, "%.*s", (int)n.string.length, n.string.data);
		snprintf(value, sizeof value, "%.*s", (int)v.string.length, v.string.data);
		if (rql_setting_is_own(name))
			(void)!give(probe, name, value, "kept in the database", &ignored);
		rql_error_clear(&ignored);
	}
done:
	rql_batch_release(rows);
	rql_host_result_free(res);
	rql_strbuf_free(&sql);
}

static rql_status give_opened(struct rql_session *probe, const struct rql_database_config *config,
                              struct rql_error *err)
{
	struct rql_setting_row row;
	for (uint32_t i = 0; rql_settings_row(probe, i, &row); i++) {
		if (strcasecmp(row.name, "rayql_threads") == 0)
			continue;
		bool limit = config->memory_limit && strcasecmp(row.name, "rayql_memory_limit") == 0;
		const char *value = of_options(config, row.name);
		if (!value && limit)
			continue;
		const char *by = value ? "given when the database was opened" : "given by the environment";
		if (value || (value = of_environment(row.name)))
			RQL_TRY(give(probe, row.name, value, by, err));
	}
	for (unsigned i = 0; i < config->host_option_count; i++) {
		uint32_t index;
		const char *name = config->host_options[i].name;
		if (rql_setting_is_own(name) && !find_row(probe, name, &index, &row))
			return rql_setting_apply(probe, name, config->host_options[i].value, err); /* says what it may be */
	}
	return RQL_OK;
}

rql_status rql_settings_open(struct rql_database *db, const struct rql_database_config *config, struct rql_error *err)
{
	struct rql_session probe = {.db = db, .settings = {.device = "auto"}};
	struct rql_setting_row row;
	uint64_t memory = config->memory_limit;
	give_kept(&probe);
	if (memory)
		atomic_store(&db->budget.limit, memory);
	RQL_TRY(give_opened(&probe, config, err));
	for (uint32_t i = 0; rql_settings_row(&probe, i, &row); i++)
		RQL_TRY(rql_host_add_option(db->host, row.name, row.value, row.description, rql_setting_is_shared(row.name),
		                            err));
	return RQL_OK;
}

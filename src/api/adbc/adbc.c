/* The ADBC driver (https://arrow.apache.org/adbc): its entry point, databases and their options. */
#include "api/adbc/adbc_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "rayql/adbc.h"

/* ---- options ---- */
AdbcStatusCode adbc_give_text(const char *text, char *value, size_t *length)
{
	size_t need = strlen(text) + 1;
	if (value && *length >= need)
		memcpy(value, text, need);
	*length = need;
	return ADBC_OK;
}

AdbcStatusCode adbc_unknown_option(struct AdbcError *error, const char *what, const char *key)
{
	return adbc_fail(error, ADBC_NOT_IMPLEMENTED, "0A000", "a %s has no option \"%s\"", what, key ? key : "");
}

bool adbc_boolean(const char *value, bool *out)
{
	if (value && strcmp(value, "true") == 0)
		*out = true;
	else if (value && strcmp(value, "false") == 0)
		*out = false;
	else
		return false;
	return true;
}

/* ---- databases ---- */
static AdbcStatusCode database_new(struct AdbcDatabase *database, struct AdbcError *error)
{
	database->private_data = calloc(1, sizeof(struct adbc_database));
	return database->private_data ? ADBC_OK : adbc_fail(error, ADBC_INTERNAL, "53200", "out of memory for a database");
}

static struct adbc_database *database_of(const struct AdbcDatabase *database, struct AdbcError *error)
{
	if (!database->private_data)
		adbc_fail(error, ADBC_INVALID_STATE, "55000", "the database was not made by AdbcDatabaseNew, or is released");
	return database->private_data;
}

/* Behind the scheme: "rayql:///x.db" is /x.db, "rayql:x.db" and "rayql://x.db" are x.db. */
static const char *path_of_uri(const char *uri)
{
	if (strncasecmp(uri, "rayql:", 6) != 0)
		return uri;
	uri += 6;
	return strncmp(uri, "//", 2) == 0 ? uri + 2 : uri;
}

static bool keep_option(struct adbc_database *db, const char *key, const char *value)
{
	for (size_t i = 0; i < db->count; i++) {
		if (strcasecmp(db->options[2 * i], key) != 0)
			continue;
		char *copy = strdup(value);
		if (copy) {
			free(db->options[2 * i + 1]);
			db->options[2 * i + 1] = copy;
		}
		return copy;
	}
	char **grown = realloc(db->options, (2 * db->count + 3) * sizeof *grown);
	if (!grown)
		return false;
	db->options = grown;
	grown[2 * db->count] = strdup(key);
	grown[2 * db->count + 1] = strdup(value);
	if (!grown[2 * db->count] || !grown[2 * db->count + 1]) {
		free(grown[2 * db->count]);
		free(grown[2 * db->count + 1]);
		return false;
	}
	grown[2 * ++db->count] = NULL;
	return true;
}

static AdbcStatusCode database_set_option(struct AdbcDatabase *database, const char *key, const char *value,
                                          struct AdbcError *error)
{
	struct adbc_database *db = database_of(database, error);
	if (!db)
		return ADBC_INVALID_STATE;
	if (!key || !value)
		return adbc_fail(error, ADBC_INVALID_ARGUMENT, "22023", "an option without a name or a value");
	if (db->db)
		return adbc_fail(error, ADBC_INVALID_STATE, "55000",
		                 "the option \"%s\" cannot be changed while the database is open; use SET in SQL", key);
	if (strncmp(key, "adbc.", 5) == 0)
		return adbc_unknown_option(error, "database", key);
	bool kept = true;
	if (strcmp(key, "uri") == 0 || strcmp(key, "path") == 0) {
		char *path = strdup(strcmp(key, "uri") == 0 ? path_of_uri(value) : value);
		kept = path;
		free(db->path);
		db->path = path;
	} else if (strcmp(key, "username") == 0 || strcmp(key, "password") == 0) {
		return adbc_fail(error, ADBC_NOT_IMPLEMENTED, "0A000", "a DuckDB database has no users: leave \"%s\" out", key);
	} else {
		kept = keep_option(db, key, value);
	}
	return kept ? ADBC_OK : adbc_fail(error, ADBC_INTERNAL, "53200", "out of memory for an option");
}

static AdbcStatusCode database_init(struct AdbcDatabase *database, struct AdbcError *error)
{
	struct adbc_database *db = database_of(database, error);
	rayql_error *err = NULL;
	if (!db)
		return ADBC_INVALID_STATE;
	if (db->db)
		return adbc_fail(error, ADBC_INVALID_STATE, "55000", "the database is open already");
	const rayql_config config = {.size = sizeof config, .host_options = (const char *const *)db->options};
	if (rayql_open(db->path, &config, &db->db, &err) != RAYQL_OK)
		return adbc_fail_with(error, err);
	return ADBC_OK;
}

static AdbcStatusCode database_release(struct AdbcDatabase *database, struct AdbcError *error)
{
	struct adbc_database *db = database_of(database, error);
	if (!db)
		return ADBC_INVALID_STATE;
	rayql_close(db->db);
	for (size_t i = 0; i < 2 * db->count; i++)
		free(db->options[i]);
	free(db->options);
	free(db->path);
	free(db);
	database->private_data = NULL;
	return ADBC_OK;
}

static AdbcStatusCode database_get_option(struct AdbcDatabase *database, const char *key, char *value, size_t *length,
                                          struct AdbcError *error)
{
	struct adbc_database *db = database_of(database, error);
	if (!db)
		return ADBC_INVALID_STATE;
	if (strcmp(key, "uri") == 0 || strcmp(key, "path") == 0)
		return adbc_give_text(db->path ? db->path : ":memory:", value, length);
	for (size_t i = 0; i < db->count; i++)
		if (strcasecmp(db->options[2 * i], key) == 0)
			return adbc_give_text(db->options[2 * i + 1], value, length);
	return adbc_fail(error, ADBC_NOT_FOUND, "42704", "the database has no option \"%s\"", key);
}

/* Numbers are texts to DuckDB's configuration. */
static AdbcStatusCode database_set_int(struct AdbcDatabase *database, const char *key, int64_t value,
                                       struct AdbcError *error)
{
	char text[24];
	snprintf(text, sizeof text, "%lld", (long long)value);
	return database_set_option(database, key, text, error);
}

static AdbcStatusCode database_set_double(struct AdbcDatabase *database, const char *key, double value,
                                          struct AdbcError *error)
{
	char text[40];
	snprintf(text, sizeof text, "%.17g", value);
	return database_set_option(database, key, text, error);
}

static AdbcStatusCode database_set_bytes(struct AdbcDatabase *database, const char *key, const uint8_t *value,
                                         size_t length, struct AdbcError *error)
{
	(void)database, (void)value, (void)length;
	return adbc_unknown_option(error, "database", key);
}

static AdbcStatusCode database_get_bytes(struct AdbcDatabase *database, const char *key, uint8_t *value, size_t *length,
                                         struct AdbcError *error)
{
	(void)database, (void)value, (void)length;
	return adbc_fail(error, ADBC_NOT_FOUND, "42704", "the database has no option \"%s\" of bytes", key);
}

static AdbcStatusCode no_number(const char *key, struct AdbcError *error)
{
	return adbc_fail(error, ADBC_NOT_FOUND, "42704", "the option \"%s\" is no number", key);
}

/* An option that was given as a number, or reads as one. */
static AdbcStatusCode number_of(struct AdbcDatabase *database, const char *key, char text[40], struct AdbcError *error)
{
	size_t length = 40;
	AdbcStatusCode status = database_get_option(database, key, text, &length, error);
	return status == ADBC_OK && length > 40 ? no_number(key, error) : status;
}

static AdbcStatusCode database_get_int(struct AdbcDatabase *database, const char *key, int64_t *value,
                                       struct AdbcError *error)
{
	char text[40], *end = text;
	AdbcStatusCode status = number_of(database, key, text, error);
	if (status != ADBC_OK)
		return status;
	*value = strtoll(text, &end, 10);
	return end != text && !*end ? ADBC_OK : no_number(key, error);
}

static AdbcStatusCode database_get_double(struct AdbcDatabase *database, const char *key, double *value,
                                          struct AdbcError *error)
{
	char text[40], *end = text;
	AdbcStatusCode status = number_of(database, key, text, error);
	if (status != ADBC_OK)
		return status;
	*value = strtod(text, &end);
	return end != text && !*end ? ADBC_OK : no_number(key, error);
}

/* ---- the driver ---- */
static AdbcStatusCode driver_release(struct AdbcDriver *driver, struct AdbcError *error)
{
	(void)driver, (void)error; /* it holds nothing */
	return ADBC_OK;
}

static void database_functions(struct AdbcDriver *driver, bool details)
{
	driver->DatabaseNew = database_new;
	driver->DatabaseInit = database_init;
	driver->DatabaseSetOption = database_set_option;
	driver->DatabaseRelease = database_release;
	if (!details)
		return;
	driver->DatabaseGetOption = database_get_option;
	driver->DatabaseGetOptionBytes = database_get_bytes;
	driver->DatabaseGetOptionInt = database_get_int;
	driver->DatabaseGetOptionDouble = database_get_double;
	driver->DatabaseSetOptionBytes = database_set_bytes;
	driver->DatabaseSetOptionInt = database_set_int;
	driver->DatabaseSetOptionDouble = database_set_double;
}

uint8_t AdbcRayqlInit(int version, void *raw_driver, struct AdbcError *error)
{
	struct AdbcDriver *driver = raw_driver;
	bool details = version == ADBC_1_1;
	if (version != ADBC_1_0 && version != ADBC_1_1)
		return adbc_fail(error, ADBC_NOT_IMPLEMENTED, "0A000", "RayQL's driver has the versions 1.0.0 and 1.1.0 of ADBC");
	if (!driver)
		return adbc_fail(error, ADBC_INVALID_ARGUMENT, "22023", "AdbcRayqlInit: driver is NULL");
	memset(driver, 0, details ? sizeof *driver : ADBC_DRIVER_1_0_SIZE);
	driver->release = driver_release;
	database_functions(driver, details);
	adbc_connection_functions(driver, details);
	adbc_statement_functions(driver, details);
	if (details) {
		driver->ErrorGetDetailCount = adbc_detail_count;
		driver->ErrorGetDetail = adbc_detail;
		driver->ErrorFromArrayStream = adbc_error_of_stream;
	}
	return ADBC_OK;
}

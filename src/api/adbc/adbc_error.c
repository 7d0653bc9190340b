/* Errors of the ADBC driver: RayQL's and DuckDB's, with ADBC's status, an SQLSTATE, and details. */
#include "api/adbc/adbc_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a 1.1 caller's error carries besides its text. */
struct details {
	rayql_status status;
};

static void release(struct AdbcError *error)
{
	free(error->message);
	if (error->vendor_code == ADBC_HAS_DETAILS)
		free(error->private_data);
	error->message = NULL;
	error->release = NULL;
}

static AdbcStatusCode set(struct AdbcError *error, AdbcStatusCode code, const char *sqlstate, rayql_status status,
                          char *message)
{
	if (!error) {
		free(message);
		return code;
	}
	bool has_details = error->vendor_code == ADBC_HAS_DETAILS;
	if (error->release)
		error->release(error);
	error->message = message;
	memcpy(error->sqlstate, sqlstate, sizeof error->sqlstate);
	error->release = release;
	error->vendor_code = has_details ? ADBC_HAS_DETAILS : (int32_t)status;
	if (has_details) {
		struct details *details = malloc(sizeof *details);
		if (details)
			details->status = status;
		error->private_data = details;
	}
	return code;
}

AdbcStatusCode adbc_fail(struct AdbcError *error, AdbcStatusCode status, const char *sqlstate, const char *format, ...)
{
	char *message = NULL;
	va_list args;
	va_start(args, format);
	if (vasprintf(&message, format, args) < 0)
		message = NULL;
	va_end(args);
	return set(error, status, sqlstate, RAYQL_ERROR_MISUSE, message);
}

/* DuckDB's classes of errors stand in front of its messages. What is more special comes first. */
static const struct {
	const char *begins, *contains, *sqlstate;
	AdbcStatusCode code;
} classes[] = {
	{"Catalog Error", "already exists", "42P07", ADBC_ALREADY_EXISTS},
	{"Catalog Error", "Table with name", "42P01", ADBC_NOT_FOUND},
	{"Catalog Error", "does not exist", "42704", ADBC_NOT_FOUND},
	{"Catalog Error", "", "42000", ADBC_INVALID_ARGUMENT},
	{"Parser Error", "", "42601", ADBC_INVALID_ARGUMENT},
	{"Binder Error", "Referenced column", "42703", ADBC_INVALID_ARGUMENT},
	{"Binder Error", "Referenced table", "42P01", ADBC_NOT_FOUND},
	{"Binder Error", "", "42000", ADBC_INVALID_ARGUMENT},
	{"Constraint Error", "NOT NULL", "23502", ADBC_INTEGRITY},
	{"Constraint Error", "foreign key", "23503", ADBC_INTEGRITY},
	{"Constraint Error", "Duplicate key", "23505", ADBC_INTEGRITY},
	{"Constraint Error", "CHECK", "23514", ADBC_INTEGRITY},
	{"Constraint Error", "", "23000", ADBC_INTEGRITY},
	{"Conversion Error", "", "22018", ADBC_INVALID_DATA},
	{"Out of Range Error", "", "22003", ADBC_INVALID_DATA},
	{"Invalid Input Error", "", "22023", ADBC_INVALID_ARGUMENT},
	{"Mismatch Type Error", "", "42804", ADBC_INVALID_ARGUMENT},
	{"TransactionContext Error", "onflict", "40001", ADBC_INVALID_STATE},
	{"TransactionContext Error", "", "25000", ADBC_INVALID_STATE},
	{"Permission Error", "", "42501", ADBC_INVALID_STATE},
	{"Not implemented Error", "", "0A000", ADBC_NOT_IMPLEMENTED},
	{"IO Error", "", "58030", ADBC_IO},
	{"Out of Memory Error", "", "53200", ADBC_INTERNAL},
	{"INTERRUPT Error", "", "57014", ADBC_CANCELLED},
};

static const struct {
	rayql_status status;
	const char *sqlstate;
	AdbcStatusCode code;
} statuses[] = {
	{RAYQL_ERROR_STATEMENT, "42000", ADBC_INVALID_ARGUMENT},  {RAYQL_ERROR_UNSUPPORTED, "0A000", ADBC_NOT_IMPLEMENTED},
	{RAYQL_ERROR_MEMORY, "53200", ADBC_INTERNAL},             {RAYQL_ERROR_LIMIT, "53200", ADBC_INTERNAL},
	{RAYQL_ERROR_IO, "58030", ADBC_IO},                       {RAYQL_ERROR_CORRUPT, "XX001", ADBC_IO},
	{RAYQL_ERROR_STALE, "55000", ADBC_INVALID_STATE},         {RAYQL_ERROR_INTERRUPTED, "57014", ADBC_CANCELLED},
	{RAYQL_ERROR_DEVICE, "58000", ADBC_INTERNAL},             {RAYQL_ERROR_MISUSE, "22023", ADBC_INVALID_ARGUMENT},
	{RAYQL_ERROR_INTERNAL, "XX000", ADBC_INTERNAL},
};

AdbcStatusCode adbc_fail_with(struct AdbcError *error, rayql_error *err)
{
	rayql_status status = rayql_error_status(err);
	const char *message = rayql_error_message(err), *sqlstate = "HY000";
	AdbcStatusCode code = ADBC_UNKNOWN;
	for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
		if (statuses[i].status == status) {
			code = statuses[i].code;
			sqlstate = statuses[i].sqlstate;
		}
	}
	for (size_t i = 0; i < sizeof classes / sizeof classes[0] && status == RAYQL_ERROR_HOST; i++) {
		if (strncmp(message, classes[i].begins, strlen(classes[i].begins)) == 0 && strstr(message, classes[i].contains)) {
			code = classes[i].code;
			sqlstate = classes[i].sqlstate;
			break;
		}
	}
	char *copy = strdup(message);
	rayql_error_free(err);
	return set(error, code, sqlstate, status, copy);
}

int adbc_detail_count(const struct AdbcError *error)
{
	return error && error->release == release && error->vendor_code == ADBC_HAS_DETAILS && error->private_data ? 1 : 0;
}

struct AdbcErrorDetail adbc_detail(const struct AdbcError *error, int index)
{
	if (index != 0 || adbc_detail_count(error) == 0)
		return (struct AdbcErrorDetail){0};
	const struct details *details = error->private_data;
	const char *name = rayql_status_name(details->status);
	return (struct AdbcErrorDetail){"rayql.status", (const uint8_t *)name, strlen(name)};
}

/* ADBC 1.1 as a binary interface (https://arrow.apache.org/adbc/current/format/specification.html): the structs that a
 * driver and its manager exchange, in their order, and the numbers and names that this driver uses. Private to src/api. */
#ifndef RQL_API_ADBC_ABI_H
#define RQL_API_ADBC_ABI_H

#include "rayql/arrow.h"
#include <stddef.h>
#include <stdint.h>

typedef uint8_t AdbcStatusCode;
enum {
	ADBC_OK,
	ADBC_UNKNOWN,
	ADBC_NOT_IMPLEMENTED,
	ADBC_NOT_FOUND,
	ADBC_ALREADY_EXISTS,
	ADBC_INVALID_ARGUMENT,
	ADBC_INVALID_STATE,
	ADBC_INVALID_DATA,
	ADBC_INTEGRITY,
	ADBC_INTERNAL,
	ADBC_IO,
	ADBC_CANCELLED,
};
#define ADBC_1_0 1000000
#define ADBC_1_1 1001000
#define ADBC_HAS_DETAILS INT32_MIN /* a caller's vendor_code: its struct has the members of 1.1 */

struct AdbcDriver;
struct AdbcError {
	char *message;
	int32_t vendor_code;
	char sqlstate[5];
	void (*release)(struct AdbcError *error);
	void *private_data; /* from here on: 1.1 */
	struct AdbcDriver *private_driver;
};
struct AdbcErrorDetail {
	const char *key;
	const uint8_t *value;
	size_t value_length;
};
struct AdbcDatabase {
	void *private_data;
	struct AdbcDriver *private_driver;
};
struct AdbcConnection {
	void *private_data;
	struct AdbcDriver *private_driver;
};
struct AdbcStatement {
	void *private_data;
	struct AdbcDriver *private_driver;
};
struct AdbcPartitions;

#define ADBC_OPTIONS(Object)                                                                                           \
	AdbcStatusCode (*Object##GetOption)(struct Adbc##Object *, const char *, char *, size_t *, struct AdbcError *);    \
	AdbcStatusCode (*Object##GetOptionBytes)(struct Adbc##Object *, const char *, uint8_t *, size_t *,                 \
	                                         struct AdbcError *);                                                      \
	AdbcStatusCode (*Object##GetOptionDouble)(struct Adbc##Object *, const char *, double *, struct AdbcError *);      \
	AdbcStatusCode (*Object##GetOptionInt)(struct Adbc##Object *, const char *, int64_t *, struct AdbcError *)
#define ADBC_SET_OPTIONS(Object)                                                                                       \
	AdbcStatusCode (*Object##SetOptionBytes)(struct Adbc##Object *, const char *, const uint8_t *, size_t,             \
	                                         struct AdbcError *);                                                      \
	AdbcStatusCode (*Object##SetOptionDouble)(struct Adbc##Object *, const char *, double, struct AdbcError *);        \
	AdbcStatusCode (*Object##SetOptionInt)(struct Adbc##Object *, const char *, int64_t, struct AdbcError *)

struct AdbcDriver {
	void *private_data, *private_manager;
	AdbcStatusCode (*release)(struct AdbcDriver *, struct AdbcError *);
	AdbcStatusCode (*DatabaseInit)(struct AdbcDatabase *, struct AdbcError *);
	AdbcStatusCode (*DatabaseNew)(struct AdbcDatabase *, struct AdbcError *);
	AdbcStatusCode (*DatabaseSetOption)(struct AdbcDatabase *, const char *, const char *, struct AdbcError *);
	AdbcStatusCode (*DatabaseRelease)(struct AdbcDatabase *, struct AdbcError *);
	AdbcStatusCode (*ConnectionCommit)(struct AdbcConnection *, struct AdbcError *);
	AdbcStatusCode (*ConnectionGetInfo)(struct AdbcConnection *, const uint32_t *, size_t, struct ArrowArrayStream *,
	                                    struct AdbcError *);
	AdbcStatusCode (*ConnectionGetObjects)(struct AdbcConnection *, int, const char *, const char *, const char *,
	                                       const char **, const char *, struct ArrowArrayStream *, struct AdbcError *);
	AdbcStatusCode (*ConnectionGetTableSchema)(struct AdbcConnection *, const char *, const char *, const char *,
	                                           struct ArrowSchema *, struct AdbcError *);
	AdbcStatusCode (*ConnectionGetTableTypes)(struct AdbcConnection *, struct ArrowArrayStream *, struct AdbcError *);
	AdbcStatusCode (*ConnectionInit)(struct AdbcConnection *, struct AdbcDatabase *, struct AdbcError *);
	AdbcStatusCode (*ConnectionNew)(struct AdbcConnection *, struct AdbcError *);
	AdbcStatusCode (*ConnectionSetOption)(struct AdbcConnection *, const char *, const char *, struct AdbcError *);
	AdbcStatusCode (*ConnectionReadPartition)(struct AdbcConnection *, const uint8_t *, size_t,
	                                          struct ArrowArrayStream *, struct AdbcError *);
	AdbcStatusCode (*ConnectionRelease)(struct AdbcConnection *, struct AdbcError *);
	AdbcStatusCode (*ConnectionRollback)(struct AdbcConnection *, struct AdbcError *);
	AdbcStatusCode (*StatementBind)(struct AdbcStatement *, struct ArrowArray *, struct ArrowSchema *,
	                                struct AdbcError *);
	AdbcStatusCode (*StatementBindStream)(struct AdbcStatement *, struct ArrowArrayStream *, struct AdbcError *);
	AdbcStatusCode (*StatementExecuteQuery)(struct AdbcStatement *, struct ArrowArrayStream *, int64_t *,
	                                        struct AdbcError *);
	AdbcStatusCode (*StatementExecutePartitions)(struct AdbcStatement *, struct ArrowSchema *, struct AdbcPartitions *,
	                                             int64_t *, struct AdbcError *);
	AdbcStatusCode (*StatementGetParameterSchema)(struct AdbcStatement *, struct ArrowSchema *, struct AdbcError *);
	AdbcStatusCode (*StatementNew)(struct AdbcConnection *, struct AdbcStatement *, struct AdbcError *);
	AdbcStatusCode (*StatementPrepare)(struct AdbcStatement *, struct AdbcError *);
	AdbcStatusCode (*StatementRelease)(struct AdbcStatement *, struct AdbcError *);
	AdbcStatusCode (*StatementSetOption)(struct AdbcStatement *, const char *, const char *, struct AdbcError *);
	AdbcStatusCode (*StatementSetSqlQuery)(struct AdbcStatement *, const char *, struct AdbcError *);
	AdbcStatusCode (*StatementSetSubstraitPlan)(struct AdbcStatement *, const uint8_t *, size_t, struct AdbcError *);
	/* From here on: 1.1. */
	int (*ErrorGetDetailCount)(const struct AdbcError *);
	struct AdbcErrorDetail (*ErrorGetDetail)(const struct AdbcError *, int);
	const struct AdbcError *(*ErrorFromArrayStream)(struct ArrowArrayStream *, AdbcStatusCode *);
	ADBC_OPTIONS(Database);
	ADBC_SET_OPTIONS(Database);
	AdbcStatusCode (*ConnectionCancel)(struct AdbcConnection *, struct AdbcError *);
	ADBC_OPTIONS(Connection);
	AdbcStatusCode (*ConnectionGetStatistics)(struct AdbcConnection *, const char *, const char *, const char *, char,
	                                          struct ArrowArrayStream *, struct AdbcError *);
	AdbcStatusCode (*ConnectionGetStatisticNames)(struct AdbcConnection *, struct ArrowArrayStream *,
	                                              struct AdbcError *);
	ADBC_SET_OPTIONS(Connection);
	AdbcStatusCode (*StatementCancel)(struct AdbcStatement *, struct AdbcError *);
	AdbcStatusCode (*StatementExecuteSchema)(struct AdbcStatement *, struct ArrowSchema *, struct AdbcError *);
	ADBC_OPTIONS(Statement);
	ADBC_SET_OPTIONS(Statement);
};
#define ADBC_DRIVER_1_0_SIZE offsetof(struct AdbcDriver, ErrorGetDetailCount)

#endif

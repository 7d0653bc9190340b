/* RayQL as an ADBC driver (https://arrow.apache.org/adbc): the entry point that driver managers look for in the library.
 * Programs use their manager's header; docs/adbc.md has the options. */
#ifndef RAYQL_ADBC_H
#define RAYQL_ADBC_H

#include <rayql/rayql.h>

#ifdef __cplusplus
extern "C" {
#endif

struct AdbcError;
/* Fills the struct AdbcDriver at driver with the functions of that version: 1000000 (1.0.0) or 1001000 (1.1.0). Gives an
 * AdbcStatusCode; 2 (not implemented) for any other version. */
RAYQL_API uint8_t AdbcRayqlInit(int version, void *driver, struct AdbcError *error);

#ifdef __cplusplus
}
#endif
#endif

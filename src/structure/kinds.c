/* The kinds of structures that are compiled in: one line each. */
#include <string.h>
#include "structure/kind.h"

/* The kinds' tables; their own headers are not for this file. */
extern const struct rql_structure_kind rql_structure_cube;
extern const struct rql_structure_kind rql_structure_columns;
extern const struct rql_structure_kind rql_structure_sorted_index;
extern const struct rql_structure_kind rql_structure_btree_index;
extern const struct rql_structure_kind rql_structure_hash_index;
extern const struct rql_structure_kind rql_structure_auto_index;
extern const struct rql_structure_kind rql_structure_rx_index;
extern const struct rql_structure_kind rql_structure_cgrx_index;
extern const struct rql_structure_kind rql_structure_sieve;

const struct rql_structure_kind *const *rql_structure_kinds(void)
{
	static const struct rql_structure_kind *const kinds[] = {
		&rql_structure_cube,
		&rql_structure_columns,
		&rql_structure_sorted_index,
		&rql_structure_btree_index,
		&rql_structure_hash_index,
		&rql_structure_auto_index,
		&rql_structure_rx_index,
		&rql_structure_cgrx_index,
		&rql_structure_sieve,
		NULL,
	};
	return kinds;
}

const struct rql_structure_kind *rql_structure_kind_named(const char *name, size_t length)
{
	const struct rql_structure_kind *const *k = rql_structure_kinds();
	while (*k && (strlen((*k)->name) != length || memcmp((*k)->name, name, length) != 0))
		k++;
	return *k;
}

const struct rql_structure_kind *rql_structure_kind_of(enum rql_statement_kind statement)
{
	const struct rql_structure_kind *const *k = rql_structure_kinds();
	while (*k && (*k)->statement != statement)
		k++;
	return *k;
}

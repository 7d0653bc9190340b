/* Forms: what rows look like that a plan has on a device, between its operators. A form is a store's snapshot without
 * segments: it has columns with types, bounds and dictionaries, and no values, so that whoever binds a request to a
 * store binds one to such rows in the same way.
 *
 * VALUES. Of each row a column has a field of 32 or 64 bits. 0 is NULL, so that a join which finds no row leaves NULLs
 * where it writes zeros. Else it is, CODED: the code plus 1; INTEGER: the value less the column's least plus 1; REAL:
 * the complement of the double's bits (also of a FLOAT's, widened; the NaN without a zero among its bits is another).
 * Fields of one column lie side by side; column k begins behind `room` fields of each column before it.
 *
 * HALVES. A number that may take more than 64 bits is two columns, BIGINTs: value >> RQL_FORM_LOW_BITS, rounded down,
 * whose `low` names the other, and the bits below. Where it is NULL both are. So few bits lie below that they have a
 * field of 32, and that those of 2^32 rows add up within 64. */
#ifndef RQL_COLUMN_FORM_H
#define RQL_COLUMN_FORM_H

#include "column/store/store.h"

struct rql_form_column {
	/* As a snapshot has it: name, type, kind, bounds, dictionary. Its name and dictionary are those of a source. */
	struct rql_store_column of;
	bool nullable; /* some row may be NULL, whatever `of` says */
};
struct rql_form_spec {
	uint64_t rows; /* there will never be more */
	uint32_t column_count;
	const struct rql_form_column *columns;
	uint32_t source_count; /* snapshots that names and dictionaries are from: retained */
	const struct rql_store_snapshot *const *sources;
};
/* RQL_ERROR_UNSUPPORTED: a column's values have no field. Release it as a snapshot. */
rql_status rql_form_new(const struct rql_form_spec *spec, const struct rql_store_snapshot **out,
                        struct rql_error *err) RQL_MUST_CHECK;
/* 32 or 64; 0: values of the column have no field. */
uint32_t rql_form_bits(const struct rql_store_column *column);
/* Bytes of a row in the columns before `column`; with column == column_count those of a whole row. */
uint32_t rql_form_offset(const struct rql_store_snapshot *form, uint32_t column);
#define RQL_FORM_LOW_BITS 31u
#define RQL_FORM_LOW_MASK ((INT64_C(1) << RQL_FORM_LOW_BITS) - 1)
/* The halves' bounds, of what lies between these; false: the upper one takes more than 64 bits. low: of the column
 * `low`, which has the other's name. */
bool rql_form_halve(rql_int128 least, rql_int128 greatest, uint32_t low, struct rql_form_column out[2]);
static inline bool rql_is_form(const struct rql_store_snapshot *snapshot)
{
	return !snapshot->segment_count && snapshot->blocks;
}
/* Rows are given room for in multiples of so many, so that every column begins aligned. */
#define RQL_FORM_ROWS 64u
/* The room for so many rows, and some more; and its bytes: behind the last field there are readable ones. */
static inline uint64_t rql_form_room(double rows)
{
	return ((uint64_t)rows / RQL_FORM_ROWS + 1) * RQL_FORM_ROWS;
}
static inline uint64_t rql_form_bytes(const struct rql_store_snapshot *form, uint64_t room)
{
	return room * rql_form_offset(form, form->column_count) + 64;
}

#endif

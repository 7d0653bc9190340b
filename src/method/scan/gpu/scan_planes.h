/* Columns of segments as bit planes: what tests of 32 rows at once read on a GPU.
 *
 * The rows of a block have NUMBERS of `bits` bits that ascend with their values. Plane j of a block has bit j of the
 * numbers of its 4096 rows, 512 bytes; plane 0 lies first. Whether 32 numbers are in a range takes two operations a
 * plane and word, whatever the width, instead of several a row (BitWeaving/V: Li and Patel, SIGMOD 2013, section 4),
 * neighbouring lanes load neighbouring words, and planes below the lowest bit that matters to a range are not read.
 *
 * So numbers are made to have low bits that do not matter: those of a DATE are year, month and day side by side, and a
 * range of whole years or months ends at a power of two. Where no value lies between two ends, the rounder one is
 * taken. */
#ifndef RQL_METHOD_SCAN_SCAN_PLANES_H
#define RQL_METHOD_SCAN_SCAN_PLANES_H

#include "column/store/store.h"

#define RQL_SCAN_PLANE_BYTES (RQL_STORE_BLOCK / 8)
#define RQL_SCAN_PLANES_MAX 32u /* wider numbers have none */

/* The numbers of a segment's column, or of one of its blocks: value first + i has the i-th one. Points into the
 * snapshot. */
struct rql_scan_numbers {
	int64_t first;  /* of a coded column: a stored code */
	uint64_t count; /* values that have one, at least 1 */
	uint32_t bits;
	bool calendar; /* the i-th number is the date's calendar number; else i */
	int64_t epoch; /* the calendar number that is 0 */
	/* coded and calendar: the dates by code, and the codes of stored ones, or NULL */
	const struct rql_dimension *dates;
	const uint32_t *translate;
};
/* Of a coded column, of dates with calendar numbers, and of integers that are about as wide in all blocks, a segment's
 * blocks share their numbers: true, and those. Else every block has its own. Same segment, same numbers, whatever the
 * snapshot. */
bool rql_scan_numbers_of_segment(const struct rql_store_snapshot *snapshot, const struct rql_store_segment *segment,
                                 uint32_t column, struct rql_scan_numbers *out);
void rql_scan_numbers_of_block(const struct rql_store_block *block, struct rql_scan_numbers *out);
/* The numbers of a segment's blocks, shared or each its own. Points into the snapshot. */
struct rql_scan_numbering {
	bool shared;
	struct rql_scan_numbers numbers; /* shared */
};
struct rql_scan_numbering rql_scan_numbering_of(const struct rql_store_snapshot *snapshot,
                                                const struct rql_store_segment *segment, uint32_t column);
struct rql_scan_numbers rql_scan_numbers_in(const struct rql_scan_numbering *numbering,
                                            const struct rql_store_block *block);
/* The widest of any block of the column. */
uint32_t rql_scan_numbers_widest(const struct rql_store_snapshot *snapshot, uint32_t column);

/* A range of numbers; empty: low > high, also when low planes are left out of both. */
struct rql_scan_range {
	uint32_t low, high;
};
/* Of the values (stored codes) low to high: as many of its ends' low bits as possible do not matter. */
struct rql_scan_range rql_scan_numbers_range(const struct rql_scan_numbers *numbers, rql_int128 low, rql_int128 high);
/* The range with its ends' low bits rounded outwards: what a test finds that does not read the lowest `planes` planes. */
struct rql_scan_range rql_scan_range_rounded(struct rql_scan_range range, uint32_t planes);
/* How many values have numbers in the range. */
uint64_t rql_scan_numbers_within(const struct rql_scan_numbers *numbers, struct rql_scan_range range);
/* The planes, bit j for plane j, that decide whether a number is in one of the ranges. */
uint32_t rql_scan_planes_wanted(const struct rql_scan_numbers *numbers, const struct rql_scan_range *ranges,
                                uint32_t count);

/* The numbers of the first values, [min(count, RQL_SCAN_NUMBER_TABLE)], malloc'ed; NULL where they are their indexes
 * (and when out of memory). */
#define RQL_SCAN_NUMBER_TABLE (1u << 20)
uint32_t *rql_scan_numbers_table(const struct rql_scan_numbers *numbers);
/* Writes the planes of a block, bits * RQL_SCAN_PLANE_BYTES; rows behind the block's end are zeros. table: of numbers,
 * for calendar ones. Floor: the packed bytes read and as many written; about five operations a row and eight planes.
 * false: out of memory. */
bool rql_scan_planes_write(const struct rql_scan_numbers *numbers, const uint32_t *table,
                           const struct rql_store_kernels *kernels, const struct rql_store_view *view, uint32_t block,
                           uint32_t *planes);

#endif

/* One row of each table as numbers: what is random about it. ssb_text.h makes texts from them. For src/gen and the rivals of bench. */
#ifndef RQL_GEN_SSB_ROW_H
#define RQL_GEN_SSB_ROW_H

#include "gen/ssb.h"

#define RQL_SSB_MAX_LINES 7u
#define RQL_SSB_LINES_PER_BLOCK 28u /* 1 + 2 + ... + 7: every block of 7 orders has one order of each length */
#define RQL_SSB_DATES 2556u         /* 1992-01-01 .. 1998-12-30 */
#define RQL_SSB_ORDER_DATES 2406u   /* 1992-01-01 .. 1998-08-02 */
#define RQL_SSB_FIRST_DAY 8035      /* 1992-01-01 in days since 1970-01-01 */

struct rql_ssb_line {
	uint32_t order_key, customer_key, part_key, supplier_key;
	int32_t order_day, commit_day; /* since 1970-01-01 */
	int32_t extended_price, order_total, revenue, supply_cost; /* cents */
	uint8_t number, priority, quantity, discount, tax, mode;
};
/* A customer or a supplier. */
struct rql_ssb_party {
	uint8_t region, nation, city; /* 0..4, 0..4 within the region, 0..9 within the nation */
	uint8_t segment;              /* customers: 0..4 */
	uint32_t key;
};
struct rql_ssb_part_row {
	uint32_t key;
	uint8_t manufacturer, category, brand; /* 1..5, 1..5 within it, 1..40 within the category */
	uint8_t color, second_color, type, size, container;
};

/* Lines of the orders [0, orders). */
uint64_t rql_ssb_lines_before(const struct rql_ssb *ssb, uint64_t orders);
/* The order that holds line `row` of the table, and the number of that order's first line. */
uint64_t rql_ssb_order_of_line(const struct rql_ssb *ssb, uint64_t row, uint64_t *first_line);
/* All lines of one order: 1 to 7. */
unsigned rql_ssb_order(const struct rql_ssb *ssb, uint64_t order, struct rql_ssb_line out[RQL_SSB_MAX_LINES]);
/* Keys count from 1. */
struct rql_ssb_party rql_ssb_customer(const struct rql_ssb *ssb, uint32_t key);
struct rql_ssb_party rql_ssb_supplier(const struct rql_ssb *ssb, uint32_t key);
struct rql_ssb_part_row rql_ssb_part(const struct rql_ssb *ssb, uint32_t key);

/* Independent random sequences: a hash of (seed, stream, counter). */
enum rql_ssb_stream {
	RQL_SSB_STREAM_ORDER_LENGTH = 1,
	RQL_SSB_STREAM_ORDER,
	RQL_SSB_STREAM_LINE_KEYS,
	RQL_SSB_STREAM_LINE,
	RQL_SSB_STREAM_CUSTOMER,
	RQL_SSB_STREAM_CUSTOMER_CITY, /* and the two after it */
	RQL_SSB_STREAM_CUSTOMER_TEXT = 10,
	RQL_SSB_STREAM_SUPPLIER_CITY, /* and the two after it */
	RQL_SSB_STREAM_SUPPLIER_TEXT = 15,
	RQL_SSB_STREAM_PART,
	RQL_SSB_STREAM_PART_BRAND, /* and the two after it */
};
uint64_t rql_ssb_random(const struct rql_ssb *ssb, enum rql_ssb_stream stream, uint64_t counter);
/* Takes a uniform number in [0, n) out of the bits of *random: the high digits of a fraction in base n. A 64-bit hash
 * holds enough digits as long as the product of the n's stays far below 2^64. */
static inline uint32_t rql_ssb_take(uint64_t *random, uint32_t n)
{
	__extension__ unsigned __int128 wide = (unsigned __int128)*random * n;
	*random = (uint64_t)wide;
	return (uint32_t)(wide >> 64);
}

#endif

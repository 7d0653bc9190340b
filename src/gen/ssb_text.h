/* The words of the Star Schema Benchmark (lists: TPC-H specification 4.2.2.13 and 4.2.3, which SSB takes over) and the
 * texts made from them. Every function writes into `out` (at least RQL_SSB_TEXT bytes, not NUL-terminated) and returns
 * the length. Only for src/gen. */
#ifndef RQL_GEN_SSB_TEXT_H
#define RQL_GEN_SSB_TEXT_H

#include "gen/ssb_row.h"

#define RQL_SSB_TEXT 40u

/* "Customer#000000001", "Supplier#000000001" */
uint32_t rql_ssb_text_name(char *out, const char *kind, uint32_t key);
/* 10 to 25 random letters, digits, commas and blanks */
uint32_t rql_ssb_text_address(char *out, const struct rql_ssb *ssb, enum rql_ssb_stream stream, uint32_t key);
/* "UNITED KI1": the nation's first 9 characters, padded with blanks, and a digit */
uint32_t rql_ssb_text_city(char *out, const struct rql_ssb_party *party);
uint32_t rql_ssb_text_nation(char *out, const struct rql_ssb_party *party);
uint32_t rql_ssb_text_region(char *out, const struct rql_ssb_party *party);
/* "33-617-354-1222": the nation's number + 10, the rest random */
uint32_t rql_ssb_text_phone(char *out, const struct rql_ssb *ssb, enum rql_ssb_stream stream,
                            const struct rql_ssb_party *party);
uint32_t rql_ssb_text_segment(char *out, uint32_t segment);
uint32_t rql_ssb_text_priority(char *out, uint32_t priority);
uint32_t rql_ssb_text_mode(char *out, uint32_t mode);
uint32_t rql_ssb_text_part_name(char *out, const struct rql_ssb_part_row *part); /* "lace spring" */
uint32_t rql_ssb_text_color(char *out, const struct rql_ssb_part_row *part);     /* the name's first word */
uint32_t rql_ssb_text_mfgr(char *out, const struct rql_ssb_part_row *part);      /* "MFGR#1" */
uint32_t rql_ssb_text_category(char *out, const struct rql_ssb_part_row *part);  /* "MFGR#12" */
uint32_t rql_ssb_text_brand(char *out, const struct rql_ssb_part_row *part);     /* "MFGR#121" .. "MFGR#1240" */
uint32_t rql_ssb_text_type(char *out, const struct rql_ssb_part_row *part);      /* "PROMO BURNISHED TIN" */
uint32_t rql_ssb_text_container(char *out, const struct rql_ssb_part_row *part); /* "JUMBO BOX" */

/* ---- dates ---- */
struct rql_ssb_day {
	int32_t day; /* since 1970-01-01 */
	int32_t year;
	uint8_t month, day_of_month; /* from 1 */
	uint8_t weekday;             /* 1: Sunday .. 7: Saturday */
	uint16_t day_of_year;        /* from 1 */
	bool last_of_month;
};
struct rql_ssb_day rql_ssb_day_of(int32_t day);
int32_t rql_ssb_day_key(int32_t day); /* yyyymmdd */
uint32_t rql_ssb_text_date(char *out, const struct rql_ssb_day *day); /* "January 1, 1992" */
uint32_t rql_ssb_text_weekday(char *out, const struct rql_ssb_day *day);
uint32_t rql_ssb_text_month(char *out, const struct rql_ssb_day *day);
uint32_t rql_ssb_text_year_month(char *out, const struct rql_ssb_day *day); /* "Mar1992" */
uint32_t rql_ssb_text_season(char *out, const struct rql_ssb_day *day);
bool rql_ssb_is_holiday(const struct rql_ssb_day *day);

#endif

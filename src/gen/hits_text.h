/* Texts of `hits`: UTF-8, as in the published data mostly two bytes a letter. Every function writes into `out` (at
 * least RQL_HITS_TEXT bytes, not NUL-terminated) and returns the length. Only for src/gen. */
#ifndef RQL_GEN_HITS_TEXT_H
#define RQL_GEN_HITS_TEXT_H

#include "gen/hits_row.h"

#define RQL_HITS_TEXT 512u

uint32_t rql_hits_text_url(char *out, uint64_t page);
/* A page of the site, a search engine's page with the phrase, or "". */
uint32_t rql_hits_text_referer(char *out, const struct rql_hit *hit);
uint32_t rql_hits_text_title(char *out, uint64_t page);    /* one in ten is "" */
uint32_t rql_hits_text_phrase(char *out, uint64_t phrase); /* "" for RQL_HITS_NONE */
uint32_t rql_hits_text_phone_model(char *out, uint32_t rank);
uint32_t rql_hits_text_original(char *out, const struct rql_hit *hit); /* the URL with a mark, in one of five rows */
uint32_t rql_hits_text_version(char *out, uint32_t number);
/* Entry `index` of a small list of column `tag`, or "". */
uint32_t rql_hits_text_language(char *out, uint32_t rank);
uint32_t rql_hits_text_country(char *out, uint32_t rank);
uint32_t rql_hits_text_charset(char *out, uint32_t rank);
/* Rare tags (UTMSource and the like): "" but for `per_million` of the rows, else one of `n` words. */
uint32_t rql_hits_text_tag(char *out, uint64_t bits, uint32_t tag, uint32_t per_million, uint32_t n);

#endif

/* How many terminal columns a text takes, and where it may be cut. Any bytes are accepted: an invalid UTF-8 byte counts
 * as one character of one column. */
#ifndef RQL_SHELL_WIDTH_H
#define RQL_SHELL_WIDTH_H

#include <stddef.h>
#include <stdint.h>

/* The code point at text (length > 0) and the number of its bytes; an invalid byte gives 0xfffd and 1. */
uint32_t rql_sh_decode(const char *text, size_t length, size_t *bytes);
/* 0, 1 or 2 columns. */
unsigned rql_sh_char_width(uint32_t code_point);
/* Columns of the whole text; control characters count 0. */
size_t rql_sh_width(const char *text, size_t length);
/* Columns of what follows the last newline, as a terminal would draw it: tabs go to the next multiple of 8, control
 * sequences (ESC [ ... m) take none. DuckDB's shell measures the cells of its tables so. */
size_t rql_sh_last_line_width(const char *text, size_t length);
/* Bytes of the longest prefix that fits into `columns`, never splitting a character from its combining marks. Stops
 * before a newline. *used: the columns of that prefix. */
size_t rql_sh_prefix(const char *text, size_t length, size_t columns, size_t *used);

#endif

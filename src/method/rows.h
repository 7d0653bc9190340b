/* ROWS of a block on a CPU, in the smallest of three forms: a bitmap, a list of rows, or ranges of rows. Whoever selects
 * packs the bits that it has found; whoever comes next unpacks them into a mask. */
#ifndef RQL_METHOD_ROWS_H
#define RQL_METHOD_ROWS_H

#include <stdatomic.h>
#include "column/store/store.h"
#include "method/rows_kernels.h"

#define RQL_ROWS_BLOCK_WORDS (RQL_STORE_BLOCK / 64)
/* Bits of a word of a block that are its rows. */
static inline uint64_t rql_rows_live(uint32_t rows, uint32_t word)
{
	return rows >= (word + 1) * 64 ? UINT64_MAX : rows <= word * 64 ? 0 : UINT64_MAX >> (64 - rows % 64);
}

enum rql_rows_form {
	RQL_ROWS_BITMAP, /* 512 bytes */
	RQL_ROWS_LIST,   /* 2 bytes a row */
	RQL_ROWS_RANGES, /* 4 bytes a range */
	RQL_ROWS_FORMS
};
const char *rql_rows_form_name(enum rql_rows_form form); /* "bitmaps" */
/* A list has up to RQL_ROWS_LIST_MOST rows. */
#define RQL_ROWS_RANGES_MOST 8u
struct rql_rows_range {
	uint16_t first, last;
};
struct rql_rows_part {
	enum rql_rows_form form;
	uint32_t count; /* of a list its rows, of ranges the ranges */
	union {
		const uint64_t *bits;                /* [RQL_ROWS_BLOCK_WORDS]; beyond the block's rows anything */
		const uint16_t *list;                /* [count], ascending */
		const struct rql_rows_range *ranges; /* [count], ascending, with rows between them */
	};
};
static inline struct rql_rows_part rql_rows_part_of_bits(const uint64_t *bits)
{
	return (struct rql_rows_part){.form = RQL_ROWS_BITMAP, .bits = bits};
}

/* Memory for the parts of a run, of which its threads take pieces: as much is touched as the forms need. */
struct rql_rows_room {
	uint8_t *bytes; /* [rql_rows_room_bytes] */
	_Atomic uint64_t used;
};
struct rql_rows_piece { /* of one thread; of zeros: none yet */
	uint8_t *at, *end;
};
uint64_t rql_rows_room_bytes(uint64_t blocks, unsigned threads);
/* False: none of the block's `rows` rows has its bit. */
bool rql_rows_pack(struct rql_rows_room *room, struct rql_rows_piece *piece, const uint64_t *bits, uint32_t rows,
                   struct rql_rows_part *out);
/* All of them. */
void rql_rows_pack_all(struct rql_rows_room *room, struct rql_rows_piece *piece, uint32_t rows,
                       struct rql_rows_part *out);
/* The block's rows, a bit each, none beyond them. Returns how many they are; UINT32_MAX: they were not counted. */
uint32_t rql_rows_unpack(const struct rql_rows_part *part, uint32_t rows, uint64_t *mask);
uint64_t rql_rows_part_bytes(const struct rql_rows_part *part);
/* The form that most blocks will have that have some, when a share of all rows is left. together: they are neighbours. */
enum rql_rows_form rql_rows_form_expected(double share, bool together);
/* Bytes of the blocks that have some, written once and read once. */
double rql_rows_bytes_expected(enum rql_rows_form form, double rows, double blocks);

#endif

/* What a scan's kernel reads, declared once for C (scan_table.c fills it) and GLSL (shaders/). All addresses are of
 * device memory. Compiled by both, so: no enum, no typedef, no array. */
#ifndef RQL_METHOD_SCAN_SCAN_KERNELS_H
#define RQL_METHOD_SCAN_SCAN_KERNELS_H

#include "device/kernel_types.h"

/* Rows are tested by words of 32; a block has 4096 / 32 of them. A lane takes one, two or four neighbouring words at
 * once: a CHUNK. */
#define RQL_SCAN_TEST_ROWS 32u
#define RQL_SCAN_BLOCK_WORDS 128u
#define RQL_SCAN_PLANE_STEP 512u /* bytes of a plane of a block */
#define RQL_SCAN_LISTS_STEP 256u

/* Where sums meet. */
#define RQL_SCAN_MODE_SCALAR 0u /* one group: registers, then a row in shared memory, then the row */
#define RQL_SCAN_MODE_SHARED 1u /* few groups: rows in shared memory, in copies when very few */
#define RQL_SCAN_MODE_GLOBAL 2u /* an array or hash table of rows */
#define RQL_SCAN_MODE_LIST 3u   /* nowhere: the rows themselves are wanted, and their numbers are listed, */
#define RQL_SCAN_MODE_EMIT 4u   /* or their values are put into columns; */
#define RQL_SCAN_MODE_SIFT 5u   /* the same of rows of which some still fail a test when they are taken */
/* Words of a row that the scalar mode keeps in registers. */
#define RQL_SCAN_SCALAR_WORDS 24u

/* What a block's part of a test with a set asks for. */
#define RQL_SCAN_HOW_ALL 0u    /* nothing: the zone map says that all rows pass */
#define RQL_SCAN_HOW_TEST 1u   /* a set in shared memory */
#define RQL_SCAN_HOW_GLOBAL 2u /* a set in device memory */
#define RQL_SCAN_HOW_NONE 3u   /* no value passes; NULL may */

/* An item is a block that is read: `rows`, its number in the snapshot and 8 bytes of nothing, then a reference of 64 bytes
 * for each test, and one for each column. */
#define RQL_SCAN_ITEM_HEAD 16u
#define RQL_SCAN_REF_BYTES 64u
/* Rows a lane in the kernel's lists of rows that passed: the first stage, and in a second one what was tested then. */
#define RQL_SCAN_LIST_ROWS 4u
#define RQL_SCAN_SECOND_ROWS 3u
#define RQL_SCAN_RANGES_MAX 4u

/* Packed fields of a block (scan_place.h: FIELDS; bits 0: every value is the base): a column, or a test with a set. */
struct rql_scan_ref {
	uint64_t data;
	uint32_t bits_how; /* test: bits | how << 8 | the block's rows << 16. Column: a field's mask; bits, if some block of
	                    * it has more than 32 */
	uint32_t a, b;     /* column: the base. Set: its bits field + a < b */
	uint32_t set_at;   /* of a set in shared memory: first word */
	uint64_t table;    /* column of codes: code of a stored one, or 0. Test: the set in device memory */
	uint64_t valid;    /* bitmap; 0: no NULL, 1: nothing but NULLs */
	uint64_t unused_1, unused_2, unused_3;
};
RQL_KERNEL_STRUCT_SIZE(rql_scan_ref, 64);

/* Bit planes of a block: a test whether its numbers are in one of up to four ranges. Where all rows pass, no plane is
 * wanted and the ranges have everything; a test for NULL alone has only `valid`. */
struct rql_scan_plane_ref {
	uint64_t data;
	uint32_t wanted; /* bit j: plane j matters */
	uint32_t unused;
	uint32_t low_0, high_0, low_1, high_1; /* beyond the last range: low > high */
	uint64_t valid;                        /* as above; 0 also where NULLs pass with all others */
	uint64_t unused_2;
	uint32_t low_2, high_2, low_3, high_3;
};
RQL_KERNEL_STRUCT_SIZE(rql_scan_plane_ref, 64);

/* How words of a row are folded: a word of kind WIDE and the next one make 128 bits. Extremes are unsigned: signed
 * integers with the top bit flipped, doubles as keys that order like them. */
#define RQL_SCAN_WORD_SUM 0u
#define RQL_SCAN_WORD_WIDE 1u
#define RQL_SCAN_WORD_HIGH 2u
#define RQL_SCAN_WORD_REAL 3u
#define RQL_SCAN_WORD_MIN 4u
#define RQL_SCAN_WORD_MAX 5u
/* What the kernel's table says of a word: its kind; the limbs that it has in shared memory (0: it is whole, among the
 * extremes); its first place there, in a group's row. */
#define RQL_SCAN_WORD_KINDS 7u
#define RQL_SCAN_WORD_LIMBS 4u  /* bits */
#define RQL_SCAN_WORD_PLACE 16u /* bits */

/* Where a run adds up: at rest (rows have their identities, the rest is zero) before and after a run. And the RESULT that
 * the host reads: the state, then groups. Few of them are put there by the scan's last workgroup, all their rows as they
 * lie. Of many, the collecting pass puts out those that exist, in any order, as a LIST: the number + 1 of each, then the
 * row of each. The first ones are a list in the result, as long as it has room; the others a second one, in memory of the
 * device.
 * Mode LIST: `rows` is a uint32_t[mask] for the rows that passed, in any order: the block's number << 12 | the row in it.
 * FOUND says how many there were, also when they were more.
 * Modes EMIT and SIFT: `rows` are the columns of a form (column/form.h), with room for `mask` rows each; FOUND as with lists. */
#define RQL_SCAN_STATE_TICKET 0u
#define RQL_SCAN_STATE_OVERFLOW 1u /* the hash table was full */
#define RQL_SCAN_STATE_FAILED 2u   /* an expression failed in some row, or a key was out of range */
#define RQL_SCAN_STATE_FOUND 3u    /* groups put out by the collecting pass; LIST: rows that passed */
#define RQL_SCAN_STATE_PASSED 4u   /* rows in groups, also in those that are not wanted; by the collecting pass */
/* Of the result alone, where the first groups of an order are chosen: those of a higher rank than the last of them, those of
 * the same, and this rank. The list has the first of these from 0 on, the second from where the first are not beyond. */
#define RQL_SCAN_STATE_CHOSEN 5u
#define RQL_SCAN_STATE_EQUAL 6u
#define RQL_SCAN_STATE_BOUND 7u
#define RQL_SCAN_STATE_WORDS 8u
/* Of wide numbers, up to 95 bits, the low ones are put into a hash table of their own, and where they lie there is the upper
 * half of a number of 64 bits, below which are the high ones. In lists such a group has two words: its high bits + 1, and
 * the low ones. */
#define RQL_SCAN_LOW_BITS 63u
#define RQL_SCAN_HIGH_BITS 32u
struct rql_scan_accumulator {
	uint64_t rows;   /* uint64_t[spread][capacity][row_words] */
	/* Hashed: uint64_t[capacity], group number + 1, 0: free; wide: behind them the same of low bits. 0: rows are found by
	 * group number. */
	uint64_t keys;
	uint64_t mask;   /* hashed: capacity - 1; LIST: entries that there is room for */
	uint64_t state;  /* uint64_t[RQL_SCAN_STATE_WORDS] */
	uint64_t result; /* the state as it was at the end, then groups: uint64_t[RQL_SCAN_STATE_WORDS], uint64_t[] */
	uint64_t kinds;  /* uint32_t[row_words]: kind | limbs << 4 | place << 16 */
	uint64_t stride; /* bytes from one array of rows to the next, when there are several of them: */
	uint32_t spread; /* a power of two; workgroups take turns, and the collecting pass folds them. Hashed: 1 */
	uint32_t wide;   /* numbers are */
};
RQL_KERNEL_STRUCT_SIZE(rql_scan_accumulator, 64);

struct rql_scan_args {
	RQL_STRUCT(rql_scan_accumulator) accumulator;
	uint64_t items;
	uint64_t params; /* uint64_t[]: what the generated code reads */
	uint64_t sets;   /* what goes into shared memory */
	uint32_t item_count, item_bytes;
	uint32_t groups;      /* workgroups */
	uint32_t group_count; /* modes SCALAR and SHARED */
	uint32_t set_words;
	uint32_t visit;  /* 1 << visit neighbouring tiles are one workgroup's */
	uint32_t copies; /* of groups' rows in shared memory */
	/* ROWS that come in: uint32_t[blocks][RQL_SCAN_BLOCK_WORDS] at `under`, and their lists (method/rows_kernels.h) so many
	 * times RQL_SCAN_LISTS_STEP bytes behind that. Not read by code of other requests. */
	uint32_t lists;
	uint64_t under;
};
RQL_KERNEL_STRUCT_SIZE(rql_scan_args, 128);

/* Rows that come in as COLUMNS: items are made for them on the device. A template of a reference for each column, whose
 * `data` is the bytes of a row in the columns before. */
struct rql_scan_items_args {
	uint64_t items, templates; /* struct rql_scan_ref[ref_count] */
	uint64_t values, room;     /* as struct rql_columns_port has them */
	uint64_t count;            /* the address of their number */
	uint32_t item_count, item_bytes, ref_count, unused;
};
RQL_KERNEL_STRUCT_SIZE(rql_scan_items_args, 56);

/* Entries of a map that a device makes a part of by itself. Of its bits they are uint32_t places, of its payloads and of
 * a hash table's narrow entries the first (a word of the key is its place then), of wide ones the second. */
struct rql_scan_map_place {
	uint32_t place, found;
};
struct rql_scan_map_key {
	uint32_t low, high, found;
};
RQL_KERNEL_STRUCT_SIZE(rql_scan_map_key, 12);
struct rql_scan_map_args {
	uint64_t entries, count;
	uint64_t to;   /* zeroed */
	uint64_t mask; /* of a hash table's places */
	uint32_t width, unused;
};
RQL_KERNEL_STRUCT_SIZE(rql_scan_map_args, 40);

/* A map made of COLUMNS that lie on the device. */
#define RQL_SCAN_MAKE_MARK 0u   /* which numbers of payloads there are; of a hash table their ranks, too */
#define RQL_SCAN_MAKE_RANK 1u   /* of bits, how many are before each word: one workgroup */
#define RQL_SCAN_MAKE_PUT 2u    /* the entries */
#define RQL_SCAN_MAKE_HASHED 8u /* a form from here on is the bytes of a hash table's entry, not those of a payload */
#define RQL_SCAN_MAKE_NULLS 0u
#define RQL_SCAN_MAKE_KEYS 1u  /* rows whose key is in the range */
#define RQL_SCAN_MAKE_FRESH 2u /* of these, the first with its key */
#define RQL_SCAN_MAKE_NUMBERS 3u /* different numbers in a hash table */
#define RQL_SCAN_MAKE_SEEN 4u    /* uint32_t of each */
#define RQL_SCAN_MAKE_NUMBER_BYTES 16u /* of a place in that: the number plus 1 (0: none), its rank plus 1 */
struct rql_scan_make_column {
	uint64_t at;     /* its fields, from `values` */
	uint64_t first;  /* a key: plus a field, modulo 2^64, its place in its own range */
	uint64_t count;  /* a key: of that range */
	uint64_t stride; /* of the place, or (a field itself) of the number of the payload */
	uint64_t places; /* a key: uint32_t of each field, its place plus 1, 0 or ~0 for NULL; 0: the field is a distance */
	uint32_t bits, unused;
};
RQL_KERNEL_STRUCT_SIZE(rql_scan_make_column, 48);
struct rql_scan_make_args {
	uint64_t rows, room;      /* the address of their number; most of them */
	uint64_t values, columns; /* of COLUMNS; struct rql_scan_make_column of each */
	uint64_t table, found;    /* zeroed: bits, or a hash table; payloads */
	uint64_t used, ranks;     /* numbers of payloads: zeroed bits, and a rank for each word of them; or a zeroed hash
	                             table, and the number of each rank */
	uint64_t seen;            /* zeroed */
	uint64_t mask;            /* of a hash table's places, were there as many rows as may come */
	uint64_t used_mask;       /* ... of the numbers' places */
	uint32_t used_words;
	uint32_t least_mask; /* of both, if none came */
};
RQL_KERNEL_STRUCT_SIZE(rql_scan_make_args, 96);

struct rql_scan_collect_args {
	RQL_STRUCT(rql_scan_accumulator) accumulator;
	uint64_t capacity; /* rows */
	uint64_t room;     /* of the list in the result: numbers, then uint64_t[room][row_words] */
	uint64_t others;   /* the second list, with room for capacity - room; 0: none is needed */
	uint32_t groups, row_words;
	uint32_t reset;        /* only puts everything at rest */
	uint32_t column_count; /* COLUMNS are given instead of lists: the values begin at `others`, with room for `room` rows */
	uint64_t wanted;       /* struct rql_scan_wanted_args; 0: all groups are */
	uint64_t ranks;        /* uint64_t[capacity], of the listed groups; 0: none are needed */
	uint64_t columns;      /* struct rql_scan_group_column[column_count] */
};
RQL_KERNEL_STRUCT_SIZE(rql_scan_collect_args, 128);

/* Which groups are wanted (method/request.h). A word of a row as an unsigned key that orders as its values do: */
#define RQL_SCAN_KEY_INTEGER 0u      /* a signed integer */
#define RQL_SCAN_KEY_EXTREME 1u      /* such a key already */
#define RQL_SCAN_KEY_REAL 2u         /* a double */
#define RQL_SCAN_KEY_REAL_EXTREME 3u /* a key of one */
#define RQL_SCAN_KEY_GROUP 4u        /* no word: a part of the group's number */
#define RQL_SCAN_KEY_NONE 5u
#define RQL_SCAN_KEY_BITS 6u /* as GROUP, of numbers whose parts lie side by side: number >> stride & key_count */
#define RQL_SCAN_KEY_AVERAGE 7u      /* of columns only: of INTEGER, or of two words */
#define RQL_SCAN_KEY_REAL_AVERAGE 8u /* of REAL */
#define RQL_SCAN_KEY_UPPER 9u        /* of columns only: a half of INTEGER, or of two words (column/form.h) */
#define RQL_SCAN_KEY_LOWER 10u
#define RQL_SCAN_NO_WORD 0xffffffffu
/* Behind it tests, RQL_GROUP_TESTS at most. */
struct rql_scan_wanted_args {
	uint32_t test_count, kind; /* of the rank */
	uint32_t word, valid;      /* valid: a count that is 0 for NULL, or RQL_SCAN_NO_WORD */
	uint32_t descending, nulls_first;
	uint64_t stride, key_count; /* GROUP: number / stride % key_count, and NULL's */
	uint64_t null_key;
};
RQL_KERNEL_STRUCT_SIZE(rql_scan_wanted_args, 48);
struct rql_scan_group_test {
	uint32_t kind, word, valid, unused;
	uint64_t least, greatest; /* keys */
};
RQL_KERNEL_STRUCT_SIZE(rql_scan_group_test, 32);

/* A column of the form (column/form.h) that groups are given in: a word of their rows, or a part of their number. A field is
 * what there is less `less`, as 64 bits go, or of reals the complement. */
#define RQL_SCAN_AVERAGE_WIDE 1u   /* the sum has two words */
#define RQL_SCAN_AVERAGE_NARROW 2u /* by doubles */
#define RQL_SCAN_HALF_OF_TWO 4u    /* the sum of UPPER or LOWER is an upper half: the lower one's is another word's */
#define RQL_SCAN_HALF_LOW_WIDE 8u  /* ... and of two */
struct rql_scan_group_column {
	uint32_t kind;   /* RQL_SCAN_KEY_*, not NONE */
	uint32_t bits;   /* of its fields */
	uint32_t word;   /* not GROUP or BITS */
	uint32_t valid;  /* ... a count that is 0 for NULL, or RQL_SCAN_NO_WORD */
	uint64_t offset; /* bytes of a row in the columns before */
	uint64_t less;
	uint64_t stride, key_count; /* GROUP: number / stride % key_count; BITS. AVERAGE: the count's word; 10^scale.
	                             * OF_TWO: the lower half's word */
	uint64_t null_key;          /* NULL's; UINT64_MAX: there is none. AVERAGE, UPPER, LOWER: flags */
	uint64_t fields;            /* and uint32_t[key_count]: their fields; 0: as above */
};
RQL_KERNEL_STRUCT_SIZE(rql_scan_group_column, 64);

/* Of the listed groups those that have no rank below the bound. */
struct rql_scan_choose_args {
	uint64_t list;  /* uint64_t[capacity][key_words], uint64_t[capacity][row_words] */
	uint64_t ranks; /* uint64_t[capacity] */
	uint64_t bound; /* the address of it */
	uint64_t head;  /* the result's state */
	uint64_t to;    /* uint64_t[room][key_words], uint64_t[room][row_words] */
	uint64_t capacity, room;
	uint32_t groups, row_words;
	uint32_t key_words, unused; /* of a number */
	uint64_t first;             /* so many are wanted */
};
RQL_KERNEL_STRUCT_SIZE(rql_scan_choose_args, 80);

#endif

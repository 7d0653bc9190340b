/* The compressed columns of one base table: what fused scans read, on the CPU and, from the same bytes, on GPUs.
 *
 *   store -> snapshot -> segments (at most RQL_STORE_SEGMENT blocks) -> blocks (at most 4096 rows) of every column
 *
 * All columns share the block boundaries: row r of block b is the same row in each. Blocks hold 1..4096 rows, and any
 * block may be short, so read `rows`. In an ORDERED snapshot, rows stand as in the table: as the positions that the
 * builder was given ascend, appended rows behind them. Else each worker's rows stand as it delivered them.
 *
 * Readers work on a SNAPSHOT: immutable, reference-counted, complete in itself. rql_store_append makes a new one out of
 * new segments and the old ones; nothing that a reader sees ever moves or changes. Building and appending are charged
 * to the budget; what a snapshot holds is released with the last snapshot that holds it.
 *
 * KINDS of columns. CODED: codes of a dictionary (VARCHAR, BLOB, ENUM, UUID always; others when that is smaller, or on
 * request; never reals unasked, because a dictionary makes -0.0 and 0.0 one value). INTEGER: integers of all widths,
 * BOOLEAN, DECIMAL, DATE, TIME, TIMESTAMP*. REAL: FLOAT and DOUBLE, bit for bit. All other types are
 * RQL_ERROR_UNSUPPORTED, naming the column.
 *
 * DICTIONARIES AND APPENDING. A snapshot's dictionary of a column is always sorted, NULL last, so that codes ascend
 * with the values. When an append brings values that the dictionary lacks, a new dictionary is merged and older
 * segments keep their bytes: their codes refer to the older dictionary, and a monotone map (`translate`: stored code ->
 * code of this snapshot) stands beside them. Being monotone, it turns a range of codes into a range of stored codes,
 * so range filters run at full speed; decoding takes one more lookup. rql_store_compact rewrites such segments. The
 * functions below translate by themselves: their codes are always the snapshot's.
 *
 * BLOCKS, AS A SHADER READS THEM. A view has `blocks`, an array of 64-byte descriptors, and `bytes`. Everything is
 * little-endian, all offsets are in units of 64 bytes from `bytes`, and 64 readable bytes follow the last block's data.
 * field(p, i, bits) is the unsigned number of `bits` bits that starts at bit i * bits of p (bit k of byte n is bit 8 n
 * + k); bits is 0..57, 64 or 128, so an unaligned 8-byte load always holds a field of at most 57 bits. Additions are
 * modulo 2^128 (modulo 2^64 is enough where the column is not `wide`). With p = bytes + 64 * data:
 *   CONSTANT  value(r) = base
 *   PACKED    value(r) = base + field(p, r, bits)
 *   RUNS      p: `runs` run ends (uint16, exclusive, ascending, the last is `rows`), padded to 64 bytes: q;
 *             value(r) = base + field(q, k, bits), k the first run with r < end(k)
 *   DELTA     p: 16 anchors (int64): q = p + 128; value(r) = anchor(r / 256) + the sum over i in (r / 256 * 256, r] of
 *             (base + field(q, i, bits)): the first row of each group of 256 is its anchor, base is the least step
 * A value is: CODED: the stored code; INTEGER: the integer; REAL: the bits of the float (32) or double (64).
 * Packed fields of PACKED and DELTA are padded with zeros to a multiple of 64 rows.
 * validity != RQL_STORE_NONE: a bitmap of 64 words at bytes + 64 * validity, bit r set when row r is not NULL; without
 * one, the rows are all NULL when nulls == rows, and none is when nulls == 0. CODED columns have no bitmap: NULL is a
 * code. What lies under a NULL is any value of the block's range. */
#ifndef RQL_COLUMN_STORE_H
#define RQL_COLUMN_STORE_H

#include "column/map/dimension.h"
#include "column/value/value.h"
#include "util/budget.h"
#include "util/files.h"
#include "util/simd.h"
#include "util/threads.h"

#define RQL_STORE_BLOCK 4096u   /* most rows of a block */
#define RQL_STORE_SEGMENT 1024u /* most blocks of a segment */
#define RQL_STORE_NONE UINT32_MAX
#define RQL_STORE_DELTA_GROUP 256u

enum rql_store_kind { RQL_STORE_CODED, RQL_STORE_INTEGER, RQL_STORE_REAL };
enum rql_store_encoding {
	RQL_STORE_CONSTANT,
	RQL_STORE_PACKED,
	RQL_STORE_RUNS,
	RQL_STORE_DELTA,
	RQL_STORE_AUTO /* in a spec only: whatever is smallest */
};

struct rql_store_block {
	uint32_t data;     /* offset / 64 */
	uint32_t validity; /* offset / 64, or RQL_STORE_NONE */
	uint16_t rows;     /* 1..4096 */
	uint16_t nulls;    /* NULL rows */
	uint16_t runs;     /* RUNS: how many; else 0 */
	uint8_t encoding, bits;
	uint64_t base[2]; /* low, high */
	/* Of the non-NULL rows (CODED: of all, stored codes), inclusive; without such rows both are 0. INTEGER: int128
	 * (UHUGEINT: its bits, unsigned). REAL: the bits of doubles in the host's order (-0.0 as 0.0, NaN the greatest). */
	uint64_t least[2], greatest[2];
};
_Static_assert(sizeof(struct rql_store_block) == 64, "shaders read it");

/* One column of one segment. */
struct rql_store_view {
	const struct rql_store_block *blocks;
	const uint8_t *bytes;
	uint64_t byte_count;       /* slack included */
	const uint32_t *translate; /* CODED: this snapshot's code of a stored one, strictly ascending; NULL: the same */
	uint32_t stored_codes;     /* CODED: entries of translate; codes of the segment are below it */
	uint32_t null_code;        /* CODED: the stored code of NULL, or RQL_STORE_NONE */
	struct rql_type type;
	enum rql_store_kind kind;
};

struct rql_store_segment {
	uint64_t first_row, rows;
	uint64_t first_block; /* in the snapshot */
	uint32_t blocks;
	const struct rql_store_view *columns; /* [column_count] */
	const void *identity; /* the same pointer as long as the segment's bytes are the same: the key of copies on GPUs */
};

/* What any rows of a column add up to, each of them once, lies between these, of 64 bits: 0 does. */
struct rql_store_total {
	rql_int128 low, high;
};
struct rql_store_column {
	const char *name;
	struct rql_type type;
	enum rql_store_kind kind;
	bool wide;                             /* INTEGER: some value does not fit int64: decode it with ..._int128 */
	uint64_t nulls;                        /* NULL rows, CODED ones too */
	rql_int128 least, greatest;            /* INTEGER, of the non-NULL rows, when any; UHUGEINT: bits */
	bool has_total;                        /* of a form's column: whoever made it knows more than bounds say */
	struct rql_store_total total;
	uint32_t low;                          /* of a form's column: its lower bits' (form.h), plus 1; 0: it has all of them */
	double real_least, real_greatest;      /* REAL */
	uint64_t bytes;                        /* resident: blocks, descriptors, dictionary, maps, dependencies */
	const struct rql_dimension *dimension; /* CODED, else NULL */
};

/* A functional dependency: all rows with one code in column `from` have one code in column `to`, NULL's codes
 * included. Not all that hold are known (store_depend.c). */
struct rql_store_dependency {
	uint32_t from, to;   /* CODED columns */
	const uint32_t *map; /* [codes of from]: the code in `to`; RQL_STORE_NONE: no row has this one */
};

struct rql_store_snapshot {
	uint64_t rows, blocks;
	uint64_t bytes; /* of all columns */
	bool ordered;   /* as the table is */
	uint32_t column_count, segment_count, dependency_count;
	const struct rql_store_column *columns;
	const struct rql_store_segment *segments;
	const struct rql_store_dependency *dependencies;
};

/* ---- building ---- */
enum rql_store_coding {
	RQL_STORE_BY_DATA, /* the smaller of the two, where the type allows both */
	RQL_STORE_CODES,   /* a dictionary */
	RQL_STORE_VALUES   /* no dictionary; UNSUPPORTED for the types that are always coded */
};
struct rql_store_column_spec {
	const char *name;
	struct rql_type type;
	enum rql_store_coding coding;
	enum rql_store_encoding encoding; /* AUTO; another one is used wherever it is possible, else PACKED (tests) */
};
struct rql_store_spec {
	const char *name; /* for messages: "columns c of table t" */
	uint32_t column_count;
	const struct rql_store_column_spec *columns;
	struct rql_budget *budget;     /* may be NULL */
	struct rql_progress *progress; /* may be NULL */
	struct rql_pool *pool;         /* its threads do the work after the rows are in; NULL: the caller's */
};

bool rql_store_can_hold(struct rql_type type); /* false: UNSUPPORTED */

struct rql_store;
struct rql_store_builder;
/* The spec is copied, deeply. */
rql_status rql_store_builder_new(const struct rql_store_spec *spec, struct rql_store_builder **out,
                                 struct rql_error *err) RQL_MUST_CHECK;
/* Takes rows: the declared columns. Called from several threads at once with different workers (any value < 1024);
 * never twice at once with the same. Blocks are encoded as they fill, so a build holds little more than its result.
 * positions: each row's in the table (rowids), batches in any order; rows of a batch whose positions ascend must be
 * neighbours, the gaps between them rows that are nowhere. NULL: no order is wanted. The store is ordered when all
 * batches had positions, none lies between those of such neighbours, and none occurs twice. */
rql_status rql_store_builder_add(struct rql_store_builder *builder, unsigned worker, const struct rql_batch *rows,
                                 const int64_t *positions, struct rql_error *err) RQL_MUST_CHECK;
/* Merges dictionaries, puts blocks in order, recodes, cuts segments. Frees the builder, also on failure. */
rql_status rql_store_builder_finish(struct rql_store_builder *builder, struct rql_store **out,
                                    struct rql_error *err) RQL_MUST_CHECK;
void rql_store_builder_abort(struct rql_store_builder *builder); /* NULL accepted */

/* ---- the store ---- */
struct rql_store *rql_store_retain(struct rql_store *store);
void rql_store_release(struct rql_store *store); /* NULL accepted; snapshots live on */
/* The present snapshot; release it. Any thread, any time. */
const struct rql_store_snapshot *rql_store_snapshot(struct rql_store *store) RQL_MUST_CHECK;
const struct rql_store_snapshot *rql_store_snapshot_retain(const struct rql_store_snapshot *snapshot);
void rql_store_snapshot_release(const struct rql_store_snapshot *snapshot); /* NULL accepted */
/* Appends rows, behind all others; they are in every snapshot taken afterwards, all of them or, on failure, none. Any
 * thread; appends take turns. Those of an ordered store must come in the table's order. */
rql_status rql_store_append(struct rql_store *store, const struct rql_batch *rows,
                            struct rql_error *err) RQL_MUST_CHECK;
/* Rows of the present snapshot that are gone, and others whose values are those of `rows`, in order; both ascend, no row is
 * in both. Segments without such rows stay as they are. All of it or, on failure, nothing; takes turns with appends. */
struct rql_store_changes {
	uint64_t gone_count, renewed_count;
	const uint64_t *gone, *renewed;
	const struct rql_batch *rows; /* [renewed_count]; may be NULL without */
};
rql_status rql_store_change(struct rql_store *store, const struct rql_store_changes *changes,
                            struct rql_error *err) RQL_MUST_CHECK;
/* Rewrites segments with older dictionaries and joins small ones. Readers go on; appends wait. */
rql_status rql_store_compact(struct rql_store *store, struct rql_error *err) RQL_MUST_CHECK;

/* For copies of a segment elsewhere, which must go when it does: gone(identity) is called when the last snapshot that
 * holds the segment is released, on that thread, while no other segment can have the identity yet. One function to a
 * segment, whoever keeps how many copies; the caller holds a snapshot with the segment. Any thread. */
void rql_store_segment_watch(const struct rql_store_segment *segment, void (*gone)(const void *identity));

/* Equal of two columns of segments when what they store is: what was made of the one is right for the other. It says so
 * by chance once in 2^128. Reads descriptors and bytes once. */
#define RQL_STORE_DIGEST 3u
void rql_store_digest(const struct rql_store_segment *segment, uint32_t column, uint64_t digest[RQL_STORE_DIGEST]);

/* What the store's memory is charged to, and copies of its segments on the host should be; may be NULL. */
struct rql_budget *rql_store_budget(const struct rql_store_snapshot *snapshot);

/* The segment that holds a block of the snapshot (block < blocks). */
const struct rql_store_segment *rql_store_locate(const struct rql_store_snapshot *snapshot, uint64_t block);

/* Checks every invariant of a snapshot (descriptors, offsets, widths, bounds, codes): whatever passes can be read
 * without leaving an allocation. Side files must pass it. */
rql_status rql_store_check(const struct rql_store_snapshot *snapshot, struct rql_error *err) RQL_MUST_CHECK;

/* Side file (docs/format.md): written whole to NAME.tmp, synced, renamed. Reading verifies magic, version, byte
 * order, every checksum and all counts before anything is used; identity must be what was given to write.
 * RQL_ERROR_CORRUPT says what was wrong; the caller then builds anew. */
rql_status rql_store_file_write(const struct rql_store_snapshot *snapshot, const struct rql_file_place *place,
                                const void *identity, uint32_t identity_size, struct rql_error *err) RQL_MUST_CHECK;
rql_status rql_store_file_read(const struct rql_file_place *place, const void *identity, uint32_t identity_size,
                               struct rql_budget *budget, struct rql_store **out, struct rql_error *err) RQL_MUST_CHECK;

/* ---- reading: rows [first, first + count) of one block; first is a multiple of 64, first + count <= rows ----
 *
 * Outputs of decode have room for count rounded up to a multiple of 64, and what lies behind `count` is overwritten
 * with anything. A NULL row decodes to some value of the block's range (CODED: to NULL's code). None of these fails.
 * Masks: bit r % 64 of word r / 64, counted from `first`; the bits behind `count` are 0 or become it. */
struct rql_store_kernels; /* one table per instruction set */
const struct rql_store_kernels *rql_store_kernels_for(enum rql_simd simd);

/* CODED with `translate`: the first stored code whose present one is not below `code`; stored_codes: none is. */
uint32_t rql_store_stored_from(const struct rql_store_view *view, rql_int128 code);
/* CODED. Floor: bits / 8 bytes read and 4 written a row. */
void rql_store_decode_codes(const struct rql_store_kernels *k, const struct rql_store_view *view, uint32_t block,
                            uint32_t first, uint32_t count, uint32_t *out);
/* INTEGER, modulo 2^64 (so exact unless the column is `wide`). Floor: bits / 8 read and 8 written. */
void rql_store_decode_int64(const struct rql_store_kernels *k, const struct rql_store_view *view, uint32_t block,
                            uint32_t first, uint32_t count, int64_t *out);
/* INTEGER whose block lies in int32 (rql_store_fits32), half the bytes of int64. Floor: bits / 8 read and 4 written. */
void rql_store_decode_int32(const struct rql_store_kernels *k, const struct rql_store_view *view, uint32_t block,
                            uint32_t first, uint32_t count, int32_t *out);
bool rql_store_fits32(const struct rql_store_view *view, uint32_t block);
/* INTEGER. Floor: bits / 8 read and 16 written. */
void rql_store_decode_int128(const struct rql_store_kernels *k, const struct rql_store_view *view, uint32_t block,
                             uint32_t first, uint32_t count, rql_int128 *out);
/* REAL; a FLOAT widened. Floor: 4 or 8 read and 8 written. */
void rql_store_decode_double(const struct rql_store_kernels *k, const struct rql_store_view *view, uint32_t block,
                             uint32_t first, uint32_t count, double *out);
/* Every kind: bit set: not NULL. Returns whether some row in the range is NULL; if not, out is all ones up to count. */
bool rql_store_decode_validity(const struct rql_store_kernels *k, const struct rql_store_view *view, uint32_t block,
                               uint32_t first, uint32_t count, uint64_t *out);

/* How many values a column has, NULL aside: a dictionary's count, else an estimate from its bounds and one block, in which
 * values are taken to come as they do elsewhere. At least 1, at most the rows. Of a form: what its bounds say. */
double rql_store_distinct(const struct rql_store_kernels *kernels, const struct rql_store_snapshot *snapshot,
                          uint32_t column);
/* A proof by statistics: a form's total, else rows times bounds; where those leave 64 bits, block by block. False: there is
 * none, or the column is not INTEGER. */
bool rql_store_total(const struct rql_store_snapshot *snapshot, uint32_t column, struct rql_store_total *out);
/* So many values more between these. False: the total may leave 64 bits. */
bool rql_store_total_add(struct rql_store_total *total, uint64_t rows, rql_int128 least, rql_int128 greatest);

/* The same for the rows whose mask bit is set only, closed up. They return how many those are; out has room as for
 * decode. */
uint32_t rql_store_gather_codes(const struct rql_store_kernels *k, const struct rql_store_view *view, uint32_t block,
                                uint32_t first, uint32_t count, const uint64_t *mask, uint32_t *out);
uint32_t rql_store_gather_int64(const struct rql_store_kernels *k, const struct rql_store_view *view, uint32_t block,
                                uint32_t first, uint32_t count, const uint64_t *mask, int64_t *out);
uint32_t rql_store_gather_int128(const struct rql_store_kernels *k, const struct rql_store_view *view, uint32_t block,
                                 uint32_t first, uint32_t count, const uint64_t *mask, rql_int128 *out);
uint32_t rql_store_gather_double(const struct rql_store_kernels *k, const struct rql_store_view *view, uint32_t block,
                                 uint32_t first, uint32_t count, const uint64_t *mask, double *out);
/* Bit i of out: the i-th of them is not NULL. */
uint32_t rql_store_gather_validity(const struct rql_store_kernels *k, const struct rql_store_view *view, uint32_t block,
                                   uint32_t first, uint32_t count, const uint64_t *mask, uint64_t *out);

/* Filters: rows that do not pass lose their bit in mask. NULL passes only IS_NULL, and CODES whose set or range has
 * NULL's code. Floor: bits / 8 bytes a row read, 1/8 written; nothing but the descriptor when least and greatest
 * decide. */
enum rql_store_filter_kind {
	RQL_FILTER_CODE_RANGE,    /* CODED: code_least <= code <= code_greatest */
	RQL_FILTER_CODE_SET,      /* CODED: bit `code` of set; it has bits for all codes of the snapshot's dictionary */
	RQL_FILTER_INTEGER_RANGE, /* INTEGER: least <= value <= greatest (UHUGEINT: unsigned) */
	RQL_FILTER_REAL_RANGE,    /* REAL: the host's order: NaN is greatest and equals NaN; rql_real_next for < and > */
	RQL_FILTER_IS_NULL,
	RQL_FILTER_IS_NOT_NULL
};
struct rql_store_filter {
	enum rql_store_filter_kind kind;
	uint32_t code_least, code_greatest;
	const uint64_t *set;
	rql_int128 least, greatest;
	double real_least, real_greatest;
};
enum rql_store_match {
	RQL_MATCH_NONE, /* no bit is left (the mask is cleared) */
	RQL_MATCH_ALL,  /* the descriptor says that every row passes: the mask was neither read nor written */
	RQL_MATCH_SOME  /* anything else */
};
enum rql_store_match rql_store_filter(const struct rql_store_kernels *k, const struct rql_store_view *view,
                                      uint32_t block, const struct rql_store_filter *filter, uint32_t first,
                                      uint32_t count, uint64_t *mask);
/* What the descriptor alone says about the whole block: NONE, ALL, or SOME (must be read). */
enum rql_store_match rql_store_may_match(const struct rql_store_view *view, uint32_t block,
                                         const struct rql_store_filter *filter);
/* The next double above (below) x in the host's order: x > 5 is the range [rql_real_next(5, true), NaN]. Above the
 * infinite is NaN; above NaN, and below -infinity, is nothing: false. */
bool rql_real_next(double x, bool above, double *out);

#endif

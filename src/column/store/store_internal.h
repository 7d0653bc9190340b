/* What the files of the column store share and nobody else includes. */
#ifndef RQL_COLUMN_STORE_INTERNAL_H
#define RQL_COLUMN_STORE_INTERNAL_H

#include <stdatomic.h>
#include "column/crew.h"
#include "column/pack.h"
#include "column/store/store.h"
#include "column/text/dict.h"

#define RQL_STORE_WORDS (RQL_STORE_BLOCK / 64)
#define RQL_STORE_ALIGN 64u
#define RQL_STORE_RUN_BYTES(runs) (((uint64_t)(runs)*2 + RQL_STORE_ALIGN - 1) / RQL_STORE_ALIGN * RQL_STORE_ALIGN)
#define RQL_STORE_ANCHOR_BYTES (RQL_STORE_BLOCK / RQL_STORE_DELTA_GROUP * 8)

static inline uint32_t rql_round64(uint32_t rows)
{
	return (rows + 63) / 64 * 64;
}
static inline rql_int128 rql_store_wide(const uint64_t halves[2])
{
	return (rql_int128)((rql_uint128)halves[1] << 64 | halves[0]);
}

/* ---- kernels (store_simd*.c). Rows come in whole words of 64: packed arrays and outputs are padded so ---- */
struct rql_store_kernels {
	const char *name;
	/* out[i] = base + field i; bits 0..32, modulo 2^32. Floor: bits / 8 bytes read and 4 written a row. */
	void (*unpack32)(const uint8_t *data, uint32_t bits, uint32_t words, uint32_t base, uint32_t *out);
	/* out[i] = base + field i; bits 0..57 or 64, modulo 2^64. Floor: bits / 8 bytes read and 8 written a row. */
	void (*unpack64)(const uint8_t *data, uint32_t bits, uint32_t words, uint64_t base, uint64_t *out);
	/* Clears the bits of the rows whose field is not in [low, low + span] (unsigned); bits 1..57 or 64; low + span <
	 * 2^bits. Floor: bits / 8 bytes read a row; words of mask that are 0 are skipped. */
	void (*range)(const uint8_t *data, uint32_t bits, uint32_t words, uint64_t low, uint64_t span, uint64_t *mask);
	/* Clears the bits of the rows whose code base + field is not in the set; bits 1..32; no code is above last. Floor: as
	 * range while the block's part of the set fits registers (8 bits with AVX2, 10 with AVX-512); else a lookup in the
	 * first-level cache a row. */
	void (*in_set)(const uint8_t *data, uint32_t bits, uint32_t words, uint32_t base, uint32_t last,
	               const uint64_t *set, uint64_t *mask);
	/* Clears the bits of the rows outside [low, high]; neither is NaN; nan: NaN stays. Floor: 8 (4) bytes a row. */
	void (*range_double)(const uint8_t *data, uint32_t words, double low, double high, bool nan, uint64_t *mask);
	void (*range_float)(const uint8_t *data, uint32_t words, double low, double high, bool nan, uint64_t *mask);
	/* values[i] = start + the sum of values[0..i], modulo 2^64; n a multiple of 64. */
	void (*prefix)(uint64_t *values, uint32_t n, uint64_t start);
	void (*widen)(const float *from, uint32_t n, double *out);           /* n a multiple of 64 */
	void (*translate)(uint32_t *codes, uint32_t n, const uint32_t *map); /* any n */
	/* Closes up the values whose bit is set; returns how many. `out` has room for words * 64 and may be `in`. */
	uint32_t (*compress32)(const uint32_t *in, const uint64_t *mask, uint32_t words, uint32_t *out);
	uint32_t (*compress64)(const uint64_t *in, const uint64_t *mask, uint32_t words, uint64_t *out);
};
/* Bits [base, last] of a set, moved to begin at bit 0 of `words` words; the rest is 0. */
void rql_store_set_window(const uint64_t *set, uint32_t base, uint32_t last, uint64_t *window, uint32_t words);
extern const struct rql_store_kernels rql_store_kernels_portable;
#if defined(__x86_64__)
extern const struct rql_store_kernels rql_store_kernels_avx2;
extern const struct rql_store_kernels rql_store_kernels_avx512; /* needs VBMI */
#endif

/* Values modulo 2^64 of any encoding and kind (codes as stored, reals as bits); out rounded up to whole words. */
void rql_store_decode_words(const struct rql_store_kernels *k, const struct rql_store_view *view,
                            const struct rql_store_block *block, uint32_t first, uint32_t count, uint64_t *out);
/* RUNS: the first run that ends behind row. */
uint32_t rql_store_find_run(const uint16_t *ends, uint32_t runs, uint32_t row);

/* ---- types ---- */
/* The kind of a column; false: the type cannot be stored. *coded_only: strings and the like. */
bool rql_store_kind_of(struct rql_type type, enum rql_store_kind *kind, bool *coded_only);
/* INTEGER values that may need 128 bits. */
static inline bool rql_store_type_wide(struct rql_type type)
{
	return rql_type_bytes(type) == 16 || type.id == RQL_TYPE_UBIGINT;
}
/* a < b as values of the type. */
static inline bool rql_store_less(struct rql_type type, rql_int128 a, rql_int128 b)
{
	return type.id == RQL_TYPE_UHUGEINT ? (rql_uint128)a < (rql_uint128)b : a < b;
}
static inline double rql_store_real(uint64_t bits)
{
	double x;
	memcpy(&x, &bits, 8);
	return x;
}

/* ---- encoding (store_encode.c) ---- */
struct rql_store_sink { /* a column's bytes while they grow */
	struct rql_mem *mem;
	uint8_t *data; /* the first `size` bytes count; the rest of `capacity`, RQL_PACKED_SLACK at least, is zero */
	uint64_t size, capacity;
	struct rql_store_block *blocks;
	uint32_t block_count, block_capacity;
};
/* The rows of one block: of words (codes, int64, bits of reals) or, for types that may be wide, int128. What lies under
 * NULLs is overwritten. */
struct rql_store_rows {
	union {
		uint64_t words[RQL_STORE_BLOCK];
		rql_int128 wide[RQL_STORE_BLOCK];
	};
	uint64_t validity[RQL_STORE_WORDS];
	uint32_t rows;
	bool is_wide, has_null; /* has_null: validity says where (INTEGER and REAL) */
};
/* Appends the block. null_code: CODED, to count NULLs. */
rql_status rql_store_encode(struct rql_store_sink *sink, struct rql_type type, enum rql_store_kind kind,
                            uint32_t null_code, enum rql_store_encoding wanted, struct rql_store_rows *rows,
                            struct rql_error *err) RQL_MUST_CHECK;
void rql_store_sink_free(struct rql_store_sink *sink);
/* Puts rows [first, first + count) of a batch's column behind those of `rows` (INTEGER and REAL). */
void rql_store_stage(struct rql_store_rows *rows, const struct rql_column *column, uint64_t first, uint32_t count);
void rql_store_stage_codes(struct rql_store_rows *rows, const uint32_t *codes, uint32_t count);
/* Back to a batch's column: count values of the type from int64s (the types that fit). */
void rql_store_unstage(struct rql_type type, const int64_t *values, uint32_t count, void *out);

/* Appends a block of another sink as it is. */
rql_status rql_store_sink_copy(struct rql_store_sink *sink, const struct rql_store_sink *from, uint32_t block,
                               struct rql_error *err) RQL_MUST_CHECK;

/* ---- the order of a build's rows (store_order.c) ---- */
struct rql_store_stretch { /* rows that a worker delivered one after another and that stand so in the table */
	int64_t first, last;   /* their positions */
	uint64_t row, rows;    /* the rows before them that the worker delivered, and they */
	uint32_t worker;       /* set when all stretches are put in order */
};
struct rql_store_track { /* of one worker */
	struct rql_store_stretch *stretches;
	uint64_t count, capacity;
	bool unknown; /* rows came without positions */
};
struct rql_store_delivery {
	const struct rql_store_track *track;
	uint64_t rows; /* that the worker delivered */
};
struct rql_store_cut { /* rows of a worker's block */
	uint32_t worker, block;
	uint16_t first, rows;
	bool starts; /* a block of the store, which goes on to the next one that starts */
};
struct rql_store_order {
	bool ordered; /* by the positions; else as workers delivered, worker by worker */
	struct rql_store_cut *cuts;
	uint64_t cut_count;
	uint64_t *segments; /* [segment_count + 1]: the first cut of each */
	uint32_t segment_count;
};
/* The next `rows` rows of a worker that has delivered `row` before. positions may be NULL. */
rql_status rql_store_track_add(struct rql_store_track *track, struct rql_mem *mem, uint64_t row,
                               const int64_t *positions, uint64_t rows, struct rql_error *err) RQL_MUST_CHECK;
/* All rows, in blocks and segments of the store. out is zero before, its memory is mem's. */
rql_status rql_store_order_make(const struct rql_store_delivery *deliveries, uint32_t workers, struct rql_mem *mem,
                                struct rql_store_order *out, struct rql_error *err) RQL_MUST_CHECK;

/* ---- what is shared, by reference counts ---- */
struct rql_store_schema { /* of all snapshots of a store */
	_Atomic uint64_t references;
	struct rql_arena *arena;
	struct rql_budget *budget;
	const char *name;
	bool ordered;
	uint32_t column_count;
	struct rql_store_schema_column {
		const char *name;
		struct rql_type type;
		enum rql_store_kind kind;
		enum rql_store_encoding encoding;
	} * columns;
};
struct rql_store_part { /* one column of a segment */
	struct rql_store_block *blocks;
	uint8_t *bytes;
	uint64_t byte_count; /* with the slack */
	uint32_t stored_codes, null_code;
	/* of all blocks */
	bool wide, any;
	uint64_t nulls;
	rql_int128 least, greatest; /* REAL: the doubles' bits */
};
struct rql_store_piece { /* a segment's memory */
	_Atomic uint64_t references;
	void (*_Atomic gone)(const void *identity); /* rql_store_segment_watch's, or NULL */
	struct rql_mem mem;
	uint64_t rows;
	uint32_t blocks;
	bool appended;
	struct rql_store_part *parts; /* [column_count] */
};
struct rql_store_dictionary {
	_Atomic uint64_t references;
	struct rql_mem mem;
	struct rql_arena *arena;
	struct rql_watch watch;
	struct rql_dimension dimension; /* its watch is the above */
};
struct rql_store_map { /* stored code -> present code */
	_Atomic uint64_t references;
	struct rql_mem mem;
	uint32_t count;
	uint32_t *map;
};
struct rql_store_dependencies { /* of a snapshot (store_depend.c) */
	_Atomic uint64_t references;
	struct rql_mem mem;
	uint64_t rows; /* when they were looked for: later ones can only fall */
	uint32_t count;
	struct rql_store_dependency *list;
};
struct rql_store_state {                /* a snapshot and what it holds */
	struct rql_store_snapshot snapshot; /* first */
	_Atomic uint64_t references;
	struct rql_mem mem;
	struct rql_store_schema *schema;
	struct rql_store_piece **pieces;            /* [segment_count] */
	struct rql_store_dictionary **dictionaries; /* [column_count]: NULL unless CODED */
	struct rql_store_map **maps;                /* [segment_count * column_count]: NULL: none */
	struct rql_store_dependencies *dependencies; /* NULL: not looked for */
	uint32_t source_count;                       /* of a form (form.h): the snapshots behind it, retained */
	const struct rql_store_snapshot **sources;
};
struct rql_store {
	_Atomic uint64_t references;
	pthread_mutex_t lock;    /* of `state` */
	pthread_mutex_t writing; /* held by appends and compactions */
	struct rql_store_state *state;
};

rql_status rql_store_schema_new(const struct rql_store_spec *spec, struct rql_store_schema **out,
                                struct rql_error *err) RQL_MUST_CHECK;
struct rql_store_schema *rql_store_schema_retain(struct rql_store_schema *schema);
void rql_store_schema_release(struct rql_store_schema *schema);
rql_status rql_store_piece_new(const struct rql_store_schema *schema, struct rql_store_piece **out,
                               struct rql_error *err) RQL_MUST_CHECK;
struct rql_store_piece *rql_store_piece_retain(struct rql_store_piece *piece);
void rql_store_piece_release(struct rql_store_piece *piece); /* NULL accepted, as by the others */
/* Copies a sink's blocks into the piece, at their exact size. */
rql_status rql_store_piece_take(struct rql_store_piece *piece, uint32_t column, const struct rql_store_sink *sink,
                                struct rql_error *err) RQL_MUST_CHECK;
/* Fills the parts' statistics from their descriptors. */
void rql_store_piece_settle(struct rql_store_piece *piece, const struct rql_store_schema *schema);
rql_status rql_store_dictionary_new(const struct rql_store_schema *schema, struct rql_store_dictionary **out,
                                    struct rql_error *err) RQL_MUST_CHECK;
struct rql_store_dictionary *rql_store_dictionary_retain(struct rql_store_dictionary *dictionary);
void rql_store_dictionary_release(struct rql_store_dictionary *dictionary);
rql_status rql_store_map_new(const struct rql_store_schema *schema, uint32_t count, struct rql_store_map **out,
                             struct rql_error *err) RQL_MUST_CHECK;
struct rql_store_map *rql_store_map_retain(struct rql_store_map *map);
void rql_store_map_release(struct rql_store_map *map);
/* A snapshot of these pieces, with one reference. Retains all that it is given; maps may be NULL. */
rql_status rql_store_state_new(struct rql_store_schema *schema, uint32_t piece_count, struct rql_store_piece **pieces,
                               struct rql_store_dictionary **dictionaries, struct rql_store_map **maps,
                               struct rql_store_state **out, struct rql_error *err) RQL_MUST_CHECK;
/* Before anybody else has the snapshot. Retains them. */
void rql_store_state_relate(struct rql_store_state *state, struct rql_store_dependencies *dependencies);
/* A store whose present snapshot is state; takes the caller's reference, on success. */
rql_status rql_store_new(struct rql_store_state *state, struct rql_store **out, struct rql_error *err) RQL_MUST_CHECK;
/* The view that a part makes, without a map. */
struct rql_store_view rql_store_part_view(const struct rql_store_part *part, struct rql_type type,
                                          enum rql_store_kind kind);

/* ---- dependencies (store_depend.c) ---- */
rql_status rql_store_dependencies_new(const struct rql_store_schema *schema, uint32_t room,
                                      struct rql_store_dependencies **out, struct rql_error *err) RQL_MUST_CHECK;
struct rql_store_dependencies *rql_store_dependencies_retain(struct rql_store_dependencies *dependencies);
void rql_store_dependencies_release(struct rql_store_dependencies *dependencies); /* NULL accepted */
/* Those of all rows. */
rql_status rql_store_dependencies_find(const struct rql_store_snapshot *snapshot, const struct rql_store_schema *schema,
                                       struct rql_crew *crew, struct rql_store_dependencies **out,
                                       struct rql_error *err) RQL_MUST_CHECK;
struct rql_store_growth { /* of a column by an append */
	uint32_t before, count; /* codes */
	const uint32_t *step;   /* [before]: the new codes; NULL: the same */
	const uint32_t *codes;  /* of the rows that were appended, new */
};
/* Those of `before` that the appended rows keep; growth: [columns], read where they are CODED. */
rql_status rql_store_dependencies_extend(const struct rql_store_dependencies *before,
                                         const struct rql_store_schema *schema,
                                         const struct rql_store_growth *growth, uint64_t rows,
                                         struct rql_store_dependencies **out, struct rql_error *err) RQL_MUST_CHECK;
/* Whether a store has grown so much that they are better looked for again. */
bool rql_store_dependencies_outgrown(const struct rql_store_dependencies *before, uint64_t rows);

/* The batch must have the columns that the schema declares. */
rql_status rql_store_check_batch(const struct rql_store_schema *schema, const struct rql_batch *rows,
                                 struct rql_error *err) RQL_MUST_CHECK;
/* An empty block's rows. */
void rql_store_rows_clear(struct rql_store_rows *rows, struct rql_type type, enum rql_store_kind kind);
/* A whole block, decoded; codes are the snapshot's. */
void rql_store_rows_load(const struct rql_store_kernels *k, const struct rql_store_view *view, uint32_t block,
                         struct rql_store_rows *out);
/* Appends rows [first, first + count) of from. */
void rql_store_rows_append(struct rql_store_rows *to, const struct rql_store_rows *from, uint32_t first,
                           uint32_t count);

/* Makes the checksums of a side file's image true again, so that a fuzzer gets behind them. */
void rql_store_file_seal(uint8_t *image, uint64_t size);

#endif

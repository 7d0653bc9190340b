/* The stages of a build, in their order: rows come in (cube_build.c, column/text/dict.h), dictionaries are merged,
 * hierarchies found (cube_hierarchy.c), rows become records (cube_encode.c), records are sorted (column/record_sort.h) and
 * stored as cells (cube_store.c). Included by those files only. */
#ifndef RQL_METHOD_CUBE_CUBE_BUILD_H
#define RQL_METHOD_CUBE_CUBE_BUILD_H

#include <stdatomic.h>
#include "column/record_sort.h"
#include "column/text/dict.h"
#include "method/cube/cube_internal.h"

#define RQL_BUILD_WORKERS 1024u
#define RQL_BUILD_SLICE RQL_DICT_SLICE /* rows handled at once */
#define RQL_BUILD_NO_CODE RQL_DICT_NO_CODE

/* ---- rows as they came in ---- */
struct rql_vec {
	void *data;
	uint32_t width;     /* codes 1, 2, 4; integers 4, 8, 16; reals 8 */
	uint64_t *validity; /* measures: NULL while no NULL came */
};
struct rql_chunk {
	uint32_t rows, capacity;
	struct rql_vec *vecs; /* dimensions, then measures */
};
struct rql_measure_stats {
	bool any, has_null;
	rql_int128 least, greatest; /* of the non-NULL integers */
	/* No sum over any subset of the rows leaves [negative, positive]; past 128 bits: unbounded. */
	rql_int128 negative, positive;
	bool unbounded;
};
struct rql_build_worker {
	struct rql_dict *dims;  /* [dimension_count] */
	struct rql_dict *codes; /* [measure_count], CODE measures only */
	struct rql_measure_stats *stats;
	struct rql_chunk **chunks; /* full ones and the last */
	uint32_t chunk_count, chunk_capacity;
	uint64_t rows;
	uint32_t *scratch;     /* [RQL_BUILD_SLICE] */
	uint32_t **dim_remap;  /* [dimension_count]: global code of a local one */
	uint32_t **code_remap; /* [measure_count] */
};

/* ---- digits: what the hierarchies leave of the dimensions ---- */
struct rql_build_digit {
	uint32_t dimension; /* the finest */
	uint32_t radix;
	uint32_t *code_of_digit; /* [radix] of the finest dimension */
	uint32_t *digit_of_code; /* its inverse */
};
struct rql_build_shape {
	uint32_t digit_count;
	struct rql_build_digit *digits;
	uint32_t *digit_of_dimension;
	uint32_t *
		*coarse; /* [dimension]: code of this dimension for each code of its digit's finest one; NULL for the finest */
};

/* ---- records: a row's key and measures as bits of `words` 64-bit words ---- */
struct rql_field {
	uint32_t word, shift, bits; /* never straddles a word, but for 128 bits, which take two */
};
struct rql_record_layout {
	uint32_t words;
	uint32_t limbs;           /* the first of them hold the key, from their top bits on */
	uint32_t *limb_bits;      /* [limbs] key bits in each */
	struct rql_field *digits; /* [digit_count] */
	struct rql_field *values; /* [measure_count]: value - base; the bits of a double */
	struct rql_field *valid;  /* [measure_count]: 1 bit; bits == 0: no NULLs */
	rql_int128 *base;         /* [measure_count] */
};

struct rql_relation_builder {
	struct rql_relation_spec spec; /* a copy */
	enum rql_measure_kind *kinds;
	struct rql_arena *arena; /* the spec's copy, small structs */
	struct rql_mem mem;
	struct rql_crew crew; /* of `mem` */
	struct rql_build_worker *workers[RQL_BUILD_WORKERS];
	struct rql_cube_owned *cube;
	uint64_t started_ns;

	/* from here on: finish */
	uint32_t worker_count; /* workers are compacted */
	uint64_t rows;
	struct rql_measure_stats *stats;
	struct rql_build_shape shape;
	struct rql_record_layout layout;
	uint64_t *records; /* rows * layout.words */
};

/* A parallel loop on the builder's threads, or inline. */
void rql_build_parallel(struct rql_relation_builder *builder, uint64_t count, rql_chunk_fn *fn, void *state);
bool rql_build_cancelled(const struct rql_relation_builder *builder);
rql_status rql_build_interrupted(struct rql_error *err);
void rql_build_advance(struct rql_relation_builder *builder, uint64_t rows);

/* Codes [first, first + count) of a vec, widened. */
void rql_vec_codes(const struct rql_vec *vec, uint32_t first, uint32_t count, uint32_t *out);

/* Merges the workers' dictionaries of every dimension and CODE measure into the cube's. */
rql_status rql_build_dictionaries(struct rql_relation_builder *builder, struct rql_error *err) RQL_MUST_CHECK;
/* Fills builder->shape. */
rql_status rql_build_hierarchies(struct rql_relation_builder *builder, struct rql_error *err) RQL_MUST_CHECK;
/* Fills builder->layout and builder->records; frees the chunks. */
rql_status rql_build_encode(struct rql_relation_builder *builder, struct rql_error *err) RQL_MUST_CHECK;
/* Stores the sorted records as the cube's cells. */
rql_status rql_build_store(struct rql_relation_builder *builder, struct rql_error *err) RQL_MUST_CHECK;

#endif

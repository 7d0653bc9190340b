/* The cube (RTCUDB): rows of a relation as sorted cells of one key.
 *
 * Build (sections 3.1, 4.2, 4.3; design.md "What a cube is made of"): every dimension is dictionary-encoded; where one
 * dimension determines another, the coarser is folded into the finer (a map over its codes) and the finer's codes are
 * ordered by the hierarchy, coarsest first, so that a predicate on a coarse level is one interval of the fine digit.
 * What is left are the DIGITS of a mixed-radix key (the paper's bijection encoding), most significant first; cells are
 * sorted by it.
 *
 *   key = digit[0] .. digit[p-1] | digit[p] .. digit[k-1]
 *         the directory: a dense array of cell offsets over all    the residual digits: bit-packed codes per cell
 *         combinations of the first p digits (a CSR), as deep as
 *         its bytes pay for themselves
 *
 * Cells hold measures bit-packed (frame of reference) or raw; every RQL_CUBE_BLOCK cells a cumulative sum, so that the
 * sum of a long interval of cells costs two lookups and two partial blocks, whatever its length. Sums are exact:
 * modular 64-bit when the bounds prove that no sum of the whole cube overflows, else 128-bit. rollup off: every row is
 * a cell (count 1, implicit). rollup on: equal keys are one cell with counts and per-cell aggregates. */
#ifndef RQL_METHOD_CUBE_CUBE_H
#define RQL_METHOD_CUBE_CUBE_H

#include "column/pack.h"
#include "method/contents.h"
#include "method/method.h"

#define RQL_CUBE_BLOCK 64u /* cells per cumulative sum */
#define RQL_CUBE_MAX_DIMENSIONS 64u
#define RQL_CUBE_MAX_MEASURES 64u

/* ---- what is stored ---- */

struct rql_cube_digit {
	uint32_t radix;
	uint32_t dimension;      /* the finest dimension, which the digit encodes */
	uint32_t *code_of_digit; /* [radix]: that dimension's dictionary code */
};

struct rql_cube_dimension {
	uint32_t digit;
	uint32_t *code_of_digit; /* [radix of digit]: this dimension's code for each digit value (a map when folded) */
};

struct rql_cube_measure {
	/* Integer sums: per cell sum of the non-NULL values, NULL-only cells hold 0 after base (see has_null). Row-level
	 * cubes hold the value itself, which serves sum, min and max. Real measures: double per cell in `real`. */
	struct rql_packed sum;
	double *real;
	/* cumulative[b]: modular 64-bit sum (base included) of all cells before b * RQL_CUBE_BLOCK; wide128 when 64 bits
	 * are not proven enough. NULL for real measures (differences of floating-point sums are not exact). */
	uint64_t *cumulative;
	rql_uint128 *cumulative128;
	bool wide;
	/* Non-NULL rows per cell: NULL data when the measure has no NULLs (then the cell's row count serves). */
	struct rql_packed valid;    /* row-level: 1 bit */
	uint64_t *valid_cumulative; /* per block */
	/* Rolled up only: per cell extremes where asked (base-encoded integers, or order-preserving codes). */
	struct rql_packed min, max;
	double *real_min, *real_max;
};

struct rql_cube {
	struct rql_relation relation; /* first: what the planner sees */
	uint32_t digit_count;
	struct rql_cube_digit *digits; /* most significant first */
	uint32_t directory_digits;     /* p */
	uint64_t directory_size;       /* H = product of the first p radices */
	uint32_t *directory32;         /* H + 1 offsets: one of the two, by the number of cells */
	uint64_t *directory64;
	struct rql_packed *residual; /* [digit_count - p] */
	struct rql_cube_dimension *dimensions;
	struct rql_cube_measure *measures;
	struct rql_packed count;    /* rolled up: rows per cell */
	uint64_t *count_cumulative; /* rolled up: rows before each block */
	uint64_t bytes;
	struct rql_budget *budget; /* what `bytes` are charged to */
	struct rql_arena *arena;   /* small things: dictionaries' strings, maps, this struct */
	uint32_t *order_chosen;    /* [digit_count] dimensions in key order, for EXPLAIN and rayql_structures() */
	/* build statistics */
	double read_ms, encode_ms, sort_ms, pack_ms;
};

/* ---- building (method/contents.h) ---- */
/* Unsupported types (nested, INTERVAL as a dimension, ...) are RQL_ERROR_UNSUPPORTED, naming the column. */
rql_status rql_cube_builder_new(const struct rql_relation_spec *spec, struct rql_relation_builder **out,
                                struct rql_error *err) RQL_MUST_CHECK;
/* Takes rows: columns are the dimensions, then the measures. Called from several threads at once with different
 * workers (any value < 1024); never twice at once with the same. */
rql_status rql_cube_builder_add(struct rql_relation_builder *builder, unsigned worker, const struct rql_batch *rows,
                                struct rql_error *err) RQL_MUST_CHECK;
/* Encodes, folds, sorts, packs. Frees the builder, also on failure. */
rql_status rql_cube_builder_finish(struct rql_relation_builder *builder, struct rql_cube **out,
                                   struct rql_error *err) RQL_MUST_CHECK;
void rql_cube_builder_abort(struct rql_relation_builder *builder);

/* Reference-counted: a cached plan and a running query keep the cube they read. New cubes have one reference. */
struct rql_cube *rql_cube_retain(const struct rql_cube *cube);
void rql_cube_release(struct rql_cube *cube);

/* Checks every invariant (sorted, offsets monotone, maps in range, cumulative sums true): for tests and debug builds.
 */
rql_status rql_cube_check(const struct rql_cube *cube, struct rql_error *err);

/* Side file (docs/format.md): written whole to NAME.tmp, synced, renamed. Read back verifies magic, version, byte
 * order, the checksum of every section and all counts before anything is used; the identity bytes must match what was
 * given to write. RQL_ERROR_CORRUPT says what was wrong; the caller then rebuilds. */
rql_status rql_cube_write(const struct rql_cube *cube, const struct rql_file_place *place, const void *identity,
                          uint32_t identity_size, struct rql_error *err) RQL_MUST_CHECK;
rql_status rql_cube_read(const struct rql_file_place *place, const void *identity, uint32_t identity_size,
                         struct rql_budget *budget, struct rql_cube **out, struct rql_error *err) RQL_MUST_CHECK;

/* Puts the cube where a unit of a device needs it, ahead of the first query: its arrays for COMPUTE, its acceleration
 * structure for RT. What the first query would do otherwise. */
rql_status rql_cube_place_for(const struct rql_cube *cube, struct rql_device *device, enum rql_unit unit,
                              struct rql_error *err) RQL_MUST_CHECK;

extern const struct rql_method rql_method_cube_cpu;
extern const struct rql_method rql_method_cube_compute;
extern const struct rql_method rql_method_cube_rt;
extern const struct rql_method rql_method_cube_paper; /* the paper's own layout, for comparison: layout = paper */
/* Measures run_ns, cell_ns, tested_cell_ns and group_ns of the CPU's profile over a made-up cube: about 50 ms, thorough
 * 0.5 s. Only fails for want of memory, and then leaves the profile as it was. */
rql_status rql_cube_calibrate(struct rql_device *device, bool thorough, struct rql_error *err);
/* The same of a GPU's profile, and ray_ns, hit_ns, primitive_ns and primitive_bytes: on its own clock, over a cube that
 * fills it. On failure the profile stays as it was. */
rql_status rql_cube_calibrate_compute(struct rql_device *device, bool thorough, struct rql_error *err);
rql_status rql_cube_calibrate_rt(struct rql_device *device, bool thorough, struct rql_error *err);

#endif
